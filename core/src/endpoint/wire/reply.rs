//! The header of a Reply: written by a Responder, read by a Requester.

use crate::endpoint::version::{SpeaksTwo, Version};
use crate::error::EncodeError;
use crate::lists::{Chunks, ReadList, ReplyError};
use crate::prefix::Prefix;
use crate::v1::{self, Body, ErrorBody};
use crate::v2::family_a::{self, HeaderFlags};
use crate::v2::{self, Credit, ErrorBodyV2, ErrorCode, Family, HeaderV2, MessageV2, ReplyHeaderV2, family_b};

/// The header of a Reply to send.
#[derive(Clone, Copy, Debug)]
pub(in crate::endpoint) enum AnyReplyHeader<'a> {
    V1(v1::ReplyHeader<'a>),
    V2(ReplyHeaderV2<'a>, SpeaksTwo),
}

impl<'a> AnyReplyHeader<'a> {
    /// Creates an inline Reply to a Call that `provided` these chunks, all unused. Credits of version 2 have another
    /// field.
    #[inline]
    pub(in crate::endpoint) const fn new(version: Version, xid: u32, credit: u32, provided: &Chunks<'a>) -> Self {
        match version.two() {
            None => Self::V1(v1::ReplyHeader::new(xid, credit, provided)),
            Some((family, two)) => Self::V2(ReplyHeaderV2::new(family, xid, Credit(0), provided), two),
        }
    }

    /// Sets the octets in the Write chunks.
    #[inline]
    pub(in crate::endpoint) fn with_writes(self, written: &'a [u64]) -> Result<Self, ReplyError> {
        match self {
            Self::V1(header) => header.with_writes(written).map(Self::V1),
            Self::V2(header, two) => header.with_writes(written).map(|header| Self::V2(header, two)),
        }
    }

    /// Puts the Payload stream in the Reply chunk.
    #[inline]
    pub(in crate::endpoint) fn with_reply(self, length: u64) -> Result<Self, ReplyError> {
        match self {
            Self::V1(header) => header.with_reply(length).map(Self::V1),
            Self::V2(header, two) => header.with_reply(length).map(|header| Self::V2(header, two)),
        }
    }

    /// Puts the Payload stream in Read chunks of the Responder. Returns `None` in version 2, which does not have that.
    pub(in crate::endpoint) const fn with_reads(self, reads: ReadList<'a>) -> Option<Self> {
        match self {
            Self::V1(header) => Some(Self::V1(header.with_reads(reads))),
            Self::V2(..) => None,
        }
    }

    #[inline]
    pub(in crate::endpoint) fn encoded_len(&self) -> usize {
        match self {
            Self::V1(header) => header.encoded_len(),
            Self::V2(header, _) => length_2(header),
        }
    }

    // In firmware, where size counts, replies of every kind share this function.
    #[cfg_attr(target_os = "none", inline(never))]
    #[cfg_attr(not(target_os = "none"), inline)]
    pub(in crate::endpoint) fn encode(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        match self {
            Self::V1(header) => header.encode(buffer),
            Self::V2(header, _) => encode_2(header, buffer),
        }
    }

    /// Returns the length of the longest header of a Reply to a Call with these chunks, in octets.
    #[inline]
    pub(in crate::endpoint) fn longest(version: Version, xid: u32, provided: &Chunks<'a>) -> usize {
        let inline = Self::new(version, xid, 0, provided);
        match version.family() {
            // It has all chunks in any case.
            None => inline.encoded_len(),
            Some(_) => inline.with_reply(0).unwrap_or(inline).encoded_len(),
        }
    }
}

// Apart from version 1, which they would slow down.
#[inline(never)]
fn length_2(header: &ReplyHeaderV2<'_>) -> usize {
    header.encoded_len()
}

#[inline(never)]
fn encode_2(header: &ReplyHeaderV2<'_>, buffer: &mut [u8]) -> Result<usize, EncodeError> {
    header.encode(buffer)
}

/// A Reply or an error that was received.
#[derive(Clone, Copy, Debug)]
pub(in crate::endpoint) struct ReceivedReply<'a> {
    pub(in crate::endpoint) xid: u32,
    /// Credits granted; `None` in version 2, whose credits the Channel counts.
    pub(in crate::endpoint) credit: Option<u32>,
    pub(in crate::endpoint) body: ReplyBody<'a>,
    pub(in crate::endpoint) header_length: usize,
    /// The octets after the header.
    pub(in crate::endpoint) payload: &'a [u8],
}

#[derive(Clone, Copy, Debug)]
pub(in crate::endpoint) enum ReplyBody<'a> {
    /// The Payload stream follows the header.
    Inline(Chunks<'a>),
    /// A part of the Payload stream follows the header, and others will come. The last part is [`Self::Inline`].
    Part(SpeaksTwo),
    /// The Payload stream is in a chunk.
    Long(Chunks<'a>),
    Error(ErrorBody),
    ErrorV2(ErrorBodyV2, SpeaksTwo),
    /// The reply cannot be decoded; version 2 ends the Call then.
    Undecodable(SpeaksTwo),
}

impl<'a> ReceivedReply<'a> {
    /// Reads a Reply or an error. Returns `None` if the Send is something else.
    #[inline(always)]
    pub(in crate::endpoint) fn decode(version: Version, octets: &'a [u8]) -> Option<Self> {
        match version.two() {
            None => Self::decode_1(octets),
            Some((family, two)) => Self::decode_2(family, two, octets),
        }
    }

    #[inline(always)]
    fn decode_1(octets: &'a [u8]) -> Option<Self> {
        let (header, payload) = v1::Header::decode(octets).ok()?;
        let header_length = octets.len().saturating_sub(payload.len());
        let body = match header.body {
            Body::Msg(chunks) => ReplyBody::Inline(chunks),
            Body::Nomsg(chunks) => ReplyBody::Long(chunks),
            Body::Error(error) => ReplyBody::Error(error),
            Body::Msgp { .. } | Body::Done => return None,
        };
        Some(Self { xid: header.xid, credit: Some(header.credit), body, header_length, payload })
    }

    #[inline(never)]
    fn decode_2(family: Family, two: SpeaksTwo, octets: &'a [u8]) -> Option<Self> {
        let Ok(MessageV2 { header, header_length, payload }) = MessageV2::decode(family, octets) else {
            return Self::undecodable(octets, two);
        };
        let body = match header {
            HeaderV2::A(header) if !header.flags.contains(HeaderFlags::RESPONSE) => return None,
            HeaderV2::A(header) => match header.body {
                family_a::Body::Msg(_) if header.flags.contains(HeaderFlags::MORE) => ReplyBody::Part(two),
                family_a::Body::Msg(lists) => ReplyBody::Inline(lists.chunks),
                family_a::Body::Nomsg(lists) => ReplyBody::Long(lists.chunks),
                family_a::Body::Error(error) => known_error(error, two)?,
                family_a::Body::Connprop(_) | family_a::Body::Grant => return None,
            },
            HeaderV2::B(b) => match b.body {
                family_b::Body::ReplyMiddle { .. } => ReplyBody::Part(two),
                family_b::Body::ReplyInline { .. } => ReplyBody::Inline(header.chunks()?),
                family_b::Body::ReplyExternal { .. } => ReplyBody::Long(header.chunks()?),
                family_b::Body::Error(error) => known_error(error, two)?,
                _ => return None,
            },
        };
        Some(Self { xid: header.xid(), credit: None, body, header_length, payload })
    }

    /// Handles a Send of version 2 of which only the XID can be read.
    #[cold]
    fn undecodable(octets: &'a [u8], two: SpeaksTwo) -> Option<Self> {
        let prefix = Prefix::decode(octets).ok().filter(|prefix| prefix.version == v2::VERSION)?;
        Some(Self { xid: prefix.xid, credit: None, body: ReplyBody::Undecodable(two), header_length: 0, payload: &[] })
    }
}

/// Returns the error, if the code is known. An unknown error is discarded (version two draft -07 section 7), and one
/// about transport properties answers no Call.
fn known_error<'a>(error: ErrorBodyV2, two: SpeaksTwo) -> Option<ReplyBody<'a>> {
    let answers_calls = error.code() != ErrorCode::BAD_PROPVAL && error.code().name().is_some();
    answers_calls.then_some(ReplyBody::ErrorV2(error, two))
}

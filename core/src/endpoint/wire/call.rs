//! The header of a Call: written by a Requester, read by a Responder.

use crate::endpoint::version::{SpeaksTwo, Version};
use crate::error::{DecodeError, EncodeError, Reaction, Role};
use crate::lists::{Chunks, ReadList};
use crate::prefix::{Prefix, Procedure};
use crate::sink::{self, Emit, Sink};
use crate::v1::{self, Body, ErrorReply};
use crate::v2::family_a::{self, HeaderFlags};
use crate::v2::{
    self, ChunkLists, Credit, ErrorBodyV2, ErrorCode, ErrorReplyV2, Family, HeaderV2, MessageV2, ReactionV2, family_b,
};

/// Form in which a Call carries the Payload stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::endpoint) enum CallForm {
    /// After the header, without the items that are reduced.
    #[default]
    Inline,
    /// After the header, unreduced and in several Sends, of which this is the last. Not in version 1.
    Continued,
    /// In a chunk, with each reduced item in a chunk of its own: a Long Call (RFC 8166 section 3.5.3).
    Long,
}

/// Parts of the header of a Call.
#[derive(Clone, Copy, Debug)]
pub(in crate::endpoint) struct CallParts<'a> {
    pub(in crate::endpoint) xid: u32,
    /// Credits requested; version 2 has another field for credits.
    pub(in crate::endpoint) credit: u32,
    pub(in crate::endpoint) form: CallForm,
    /// The handle that the Responder may invalidate in version 2; 0 for none.
    pub(in crate::endpoint) inv_handle: u32,
    /// In the Read list, entries at Position 0 come first.
    pub(in crate::endpoint) chunks: Chunks<'a>,
}

impl<'a> CallParts<'a> {
    #[inline(always)]
    pub(in crate::endpoint) fn encoded_len(&self, version: Version) -> usize {
        match version.family() {
            None => sink::encoded_len(&Version1(self)),
            Some(family) => self.version_2(family, |header| header.encoded_len()),
        }
    }

    #[inline(always)]
    pub(in crate::endpoint) fn encode(&self, version: Version, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        match version.family() {
            None => sink::encode(&Version1(self), buffer),
            Some(family) => self.version_2(family, |header| header.encode(buffer)),
        }
    }

    // Apart from version 1, which it would slow down.
    #[inline(never)]
    fn version_2<R>(&self, family: Family, then: impl FnOnce(HeaderV2<'a>) -> R) -> R {
        then(match family {
            Family::A => HeaderV2::A(self.family_a()),
            Family::B => HeaderV2::B(self.family_b()),
        })
    }

    fn family_a(&self) -> family_a::Header<'a> {
        use family_a::Body;
        let lists = ChunkLists { inv_handle: self.inv_handle, chunks: self.chunks };
        let body = match self.form {
            CallForm::Inline | CallForm::Continued => Body::Msg(lists),
            CallForm::Long => Body::Nomsg(lists),
        };
        family_a::Header { xid: self.xid, credit: Credit(0), flags: HeaderFlags::empty(), body }
    }

    fn family_b(&self) -> family_b::Header<'a> {
        use family_b::{Body, CallExternal};
        let (call, reads) = self.chunks.reads.split_position_zero();
        let lists = ChunkLists { inv_handle: self.inv_handle, chunks: Chunks { reads, ..self.chunks } };
        let body = match self.form {
            CallForm::Inline | CallForm::Continued => Body::CallInline(lists),
            CallForm::Long => Body::CallExternal(CallExternal { lists, call }),
        };
        family_b::Header { xid: self.xid, credit: Credit(0), body }
    }
}

/// The header of a Call of version 1. [`v1::Header`] would include the other procedures.
struct Version1<'c>(&'c CallParts<'c>);

impl Emit for Version1<'_> {
    #[inline(always)]
    fn emit<S: Sink>(&self, sink: &mut S) {
        let CallParts { xid, credit, form, chunks, .. } = *self.0;
        let procedure = match form {
            CallForm::Inline | CallForm::Continued => Procedure::RDMA_MSG,
            CallForm::Long => Procedure::RDMA_NOMSG,
        };
        Prefix { xid, version: v1::VERSION, credit, procedure }.emit(sink);
        chunks.emit(sink, None);
    }
}

/// The chunks of a Call.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::endpoint) struct CallLists<'a> {
    pub(in crate::endpoint) chunks: Chunks<'a>,
    /// The Call chunk of family B. Other formats have the Call chunk in the Read list, at Position 0.
    pub(in crate::endpoint) call: ReadList<'a>,
    /// The handle that the Reply may invalidate, 0 for none. Version 1 has no such field.
    pub(in crate::endpoint) inv_handle: u32,
}

/// A Call that was received.
#[derive(Clone, Copy, Debug)]
pub(in crate::endpoint) struct ReceivedCall<'a> {
    pub(in crate::endpoint) form: CallForm,
    pub(in crate::endpoint) lists: CallLists<'a>,
    pub(in crate::endpoint) header_length: usize,
    /// The octets after the header.
    pub(in crate::endpoint) payload: &'a [u8],
}

/// A part of a continued Call, other than the last.
#[derive(Clone, Copy, Debug)]
pub(in crate::endpoint) struct ReceivedPart {
    pub(in crate::endpoint) header_length: usize,
    /// Length of this part of the Payload stream, which follows the header, in octets.
    pub(in crate::endpoint) length: usize,
}

/// Meaning of a Send to a Responder.
#[derive(Clone, Copy, Debug)]
pub(in crate::endpoint) enum CallReceived<'a> {
    /// A Call that parses, or the last part of one.
    Call(Prefix, ReceivedCall<'a>),
    /// A part of a Call; others follow.
    Part(Prefix, ReceivedPart, SpeaksTwo),
    /// `RDMA_DONE` of version 1, with this XID.
    Done(u32),
    /// A Send without an answer.
    Nothing,
    /// A Send that is answered with this error; version 1 has fewer errors, see [`ErrorHeader`](super::ErrorHeader).
    Fault(Prefix, ErrorBodyV2),
}

impl<'a> CallReceived<'a> {
    #[inline(always)]
    pub(in crate::endpoint) fn decode(version: Version, octets: &'a [u8]) -> Self {
        match version.two() {
            None => Self::decode_1(octets),
            Some((family, two)) => Self::decode_2(family, two, octets),
        }
    }

    #[inline(always)]
    fn decode_1(octets: &'a [u8]) -> Self {
        let (header, payload) = match v1::Header::decode(octets) {
            Ok(decoded) => decoded,
            // An error is never answered, whatever version it refuses (RFC 8166 section 4.2.4).
            Err(_) if ErrorReply::decode(octets).is_ok() => return Self::Nothing,
            Err(error) => return Self::undecodable_1(octets, error),
        };
        let (form, chunks) = match header.body {
            Body::Msg(chunks) => (CallForm::Inline, chunks),
            Body::Nomsg(chunks) => (CallForm::Long, chunks),
            Body::Msgp { .. } => return Self::Fault(header.prefix(), ErrorBodyV2::Void(ErrorCode::BAD_XDR)),
            Body::Done => return Self::Done(header.xid),
            Body::Error(_) => return Self::Nothing,
        };
        let lists = CallLists { chunks, ..CallLists::default() };
        let header_length = octets.len().saturating_sub(payload.len());
        Self::Call(header.prefix(), ReceivedCall { form, lists, header_length, payload })
    }

    #[cold]
    fn undecodable_1(octets: &[u8], error: DecodeError) -> Self {
        match (error.reaction(Role::Responder), Prefix::decode(octets)) {
            (Reaction::ErrVers, Ok(prefix)) => {
                Self::Fault(prefix, ErrorBodyV2::Vers { low: v1::VERSION, high: v1::VERSION })
            }
            (Reaction::ErrChunk, Ok(prefix)) => Self::Fault(prefix, ErrorBodyV2::Void(ErrorCode::BAD_XDR)),
            (Reaction::Discard, _) | (_, Err(_)) => Self::Nothing,
        }
    }

    #[inline(never)]
    pub(in crate::endpoint) fn decode_2(family: Family, two: SpeaksTwo, octets: &'a [u8]) -> Self {
        let MessageV2 { header, header_length, payload } = match MessageV2::decode(family, octets) {
            Ok(message) => message,
            Err(_) if ErrorReplyV2::decode(family, octets).is_ok() => return Self::Nothing,
            Err(error) => return Self::undecodable_2(octets, error),
        };
        let part = || Self::Part(header.prefix(), ReceivedPart { header_length, length: payload.len() }, two);
        let (form, lists) = match header {
            HeaderV2::A(header) if header.is_grant() || header.flags.contains(HeaderFlags::RESPONSE) => {
                return Self::Nothing;
            }
            HeaderV2::A(header) => match header.body {
                family_a::Body::Msg(_) if header.flags.contains(HeaderFlags::MORE) => return part(),
                family_a::Body::Msg(lists) => (CallForm::Inline, CallLists::new(lists, ReadList::new(&[]))),
                family_a::Body::Nomsg(lists) => (CallForm::Long, CallLists::new(lists, ReadList::new(&[]))),
                _ => return Self::Nothing,
            },
            HeaderV2::B(header) => match header.body {
                family_b::Body::CallMiddle { .. } => return part(),
                family_b::Body::CallInline(lists) => (CallForm::Inline, CallLists::new(lists, ReadList::new(&[]))),
                family_b::Body::CallExternal(external) => {
                    (CallForm::Long, CallLists::new(external.lists, external.call))
                }
                _ => return Self::Nothing,
            },
        };
        if lists.are_sound(family, form) {
            Self::Call(header.prefix(), ReceivedCall { form, lists, header_length, payload })
        } else {
            Self::Fault(header.prefix(), ErrorBodyV2::Void(ErrorCode::BAD_XDR))
        }
    }

    #[cold]
    fn undecodable_2(octets: &[u8], error: DecodeError) -> Self {
        // Version 1 is one of those that the end may support; only its `Channel` knows the version of this connection.
        let answer = ReactionV2::to(error, Role::Responder).error(v2::VERSION, v2::VERSION);
        match (Prefix::decode(octets), answer) {
            (Ok(prefix), Some(error)) => Self::Fault(prefix, error),
            _ => Self::Nothing,
        }
    }
}

impl<'a> CallLists<'a> {
    const fn new(lists: ChunkLists<'a>, call: ReadList<'a>) -> Self {
        Self { chunks: lists.chunks, call, inv_handle: lists.inv_handle }
    }

    /// Returns true if the Read lists are valid in version 2: Positions are multiples of four and do not descend
    /// (drafts -02 and later, "XDR Errors"), and in family B the Payload stream is in the Call chunk and nowhere else
    /// (-07 sections 6.3.5 and 6.3.7).
    fn are_sound(&self, family: Family, form: CallForm) -> bool {
        let ascend = self.chunks.reads.iter().map(|read| read.position).is_sorted();
        let aligned = self.chunks.reads.iter().all(|read| read.position.is_multiple_of(4));
        let placed = match (family, form) {
            (Family::A, _) => true,
            (Family::B, form) => {
                let has_call = form == CallForm::Long;
                // Position Zero in the Read list as well is found when the Call is assembled.
                self.call.is_empty() != has_call && self.call.iter().all(|read| read.position == 0)
            }
        };
        ascend && aligned && placed
    }

    /// Returns true if there are no chunks.
    #[inline]
    pub(in crate::endpoint) const fn is_empty(&self) -> bool {
        self.chunks.is_empty() && self.call.is_empty()
    }

    /// Returns true if there is anything to read.
    pub(in crate::endpoint) const fn have_reads(&self) -> bool {
        !self.chunks.reads.is_empty() || !self.call.is_empty()
    }

    /// Returns the segments of the chunk at this Position.
    pub(in crate::endpoint) fn segments_at(
        &self,
        position: u32,
    ) -> Option<impl Iterator<Item = crate::segment::Segment> + use<'a>> {
        let mut chunks = self.call.chunks().chain(self.chunks.reads.chunks());
        let chunk = chunks.find(|chunk| chunk.position == position)?;
        Some(chunk.segments.iter().map(|read| read.target))
    }
}

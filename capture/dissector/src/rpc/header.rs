//! Header of a Send, in any version and wire format, with access to the fields that all share.

use core::fmt;

use rpcrdma::error::{self, DecodeError, Role};
use rpcrdma::lists::{Chunks, ReadList};
use rpcrdma::prefix::Prefix;
use rpcrdma::segment::Segment;
use rpcrdma::v2::{self, Family};
use rpcrdma::{v1, v2::family_a, v2::family_b};

/// The version and wire format in which a message is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// Version 1 (RFC 8166), and any unknown version.
    #[default]
    Version1,
    /// Version 2, in one of the draft wire formats.
    Version2(Family),
    /// Version 2, while no message of the connection has shown the wire format yet.
    Version2Unknown,
}

/// A transport header of either version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header<'a> {
    /// Version 1.
    V1(v1::Header<'a>),
    /// Version 2.
    V2(v2::HeaderV2<'a>),
}

/// One Send: the header, and the octets after the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded<'a> {
    /// The transport header.
    pub header: Header<'a>,
    /// Octets the header has.
    pub header_length: usize,
    /// Octets after the header. These belong to the Payload stream only if [`Header::place`] says so.
    pub payload: &'a [u8],
}

/// Place of the Payload stream of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadPlace {
    /// After the header; in version 2, earlier messages may have brought parts of the Payload stream.
    Inline,
    /// A part of the Payload stream after the header; the rest comes in later messages.
    Part,
    /// In a Position Zero Read chunk or the Reply chunk.
    Chunk,
    /// There is none.
    Nowhere,
}

/// Content of an RDMA_ERROR, in either version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnyErrorBody {
    /// Version 1.
    V1(v1::ErrorBody),
    /// Version 2.
    V2(v2::ErrorBodyV2),
}

/// Reaction that is required of the receiver of a bad message, in either version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// Version 1.
    V1(error::Reaction),
    /// Version 2.
    V2(v2::ReactionV2),
}

impl Reaction {
    /// Returns the reaction of a receiver in this role to a header of this dialect that does not parse.
    #[must_use]
    pub const fn to(error: DecodeError, dialect: Dialect, role: Role) -> Self {
        match dialect {
            Dialect::Version1 | Dialect::Version2Unknown => Self::V1(error.reaction(role)),
            Dialect::Version2(_) => Self::V2(v2::ReactionV2::to(error, role)),
        }
    }

    /// Returns true if nothing goes back.
    #[must_use]
    pub const fn is_discard(self) -> bool {
        matches!(self, Self::V1(error::Reaction::Discard) | Self::V2(v2::ReactionV2::Discard))
    }
}

impl fmt::Display for Reaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V1(reaction) => reaction.fmt(f),
            Self::V2(reaction) => reaction.fmt(f),
        }
    }
}

impl Dialect {
    /// Returns the dialect of a Send, on a connection that has shown `family`, or nothing yet. Records in `family` the
    /// wire format that the Send shows. `octets` are the Send's beginning, or all of the Send if `is_whole`.
    pub(crate) fn recognise(octets: &[u8], is_whole: bool, family: &mut Option<Family>) -> Self {
        // The version is in the same place in all of them (RFC 8166 section 4.2.2).
        if octets.get(4..8) != Some(&v2::VERSION.to_be_bytes()) {
            return Self::Version1;
        }
        // For header types that both formats have, sometimes only the length of the Send shows which it is.
        let is_of_both = Prefix::decode(octets).is_ok_and(|prefix| matches!(prefix.procedure.0, 4..=6));
        if family.is_none() && (is_whole || !is_of_both) {
            *family = Family::detect(octets);
        }
        let is_possible = |family| v2::MessageV2::decode(family, octets).is_ok();
        match family {
            Some(family) if is_whole && is_refusal_of_version_1(*family, octets) => Self::Version1,
            Some(family) => Self::Version2(*family),
            // A version 1 peer refuses version 2 in its own layout, under the version it refuses.
            None if v1::ErrorReply::decode(octets).is_ok() => Self::Version1,
            None if is_possible(Family::A) || is_possible(Family::B) || !is_whole => Self::Version2Unknown,
            None => Self::Version1,
        }
    }
}

/// Octets of an ERR_VERS in the layout of family A.
const ERR_VERS_OF_FAMILY_A: usize = 32;

/// Returns true if the Send is an ERR_VERS of version 1, and not an error of version 2. Family A has another layout, in
/// which an ERR_VERS has 32 octets: a Send of that length is read in the layout of family A. In any other Send, the
/// octets after the error have no meaning in either layout, so the reading that leaves fewer such octets wins. Family B
/// has the same layout, but an end that speaks version 2 does not leave version 2 out of the supported versions.
fn is_refusal_of_version_1(family: Family, octets: &[u8]) -> bool {
    let Ok((reply, rest)) = v1::ErrorReply::decode(octets) else { return false };
    let v1::ErrorBody::Vers { low, high } = reply.error() else { return false };
    match family {
        Family::A => match v2::MessageV2::decode(family, octets) {
            Ok(message) => octets.len() != ERR_VERS_OF_FAMILY_A && message.payload.len() > rest.len(),
            Err(_) => true,
        },
        Family::B => !(low..=high).contains(&v2::VERSION),
    }
}

impl<'a> Decoded<'a> {
    /// Reads one Send.
    ///
    /// # Errors
    /// A [`DecodeError`] if the Send does not begin with a header of this dialect.
    pub fn decode(dialect: Dialect, octets: &'a [u8]) -> Result<Self, DecodeError> {
        match dialect {
            Dialect::Version1 | Dialect::Version2Unknown => {
                let v1::Message { header, header_length, payload } = v1::Message::decode(octets)?;
                Ok(Self { header: Header::V1(header), header_length, payload })
            }
            Dialect::Version2(family) => {
                let v2::MessageV2 { header, header_length, payload } = v2::MessageV2::decode(family, octets)?;
                Ok(Self { header: Header::V2(header), header_length, payload })
            }
        }
    }

    /// Returns the message, if the message is of version 1.
    #[must_use]
    pub const fn v1(&self) -> Option<v1::Message<'a>> {
        let Self { header, header_length, payload } = *self;
        match header {
            Header::V1(header) => Some(v1::Message { header, header_length, payload }),
            Header::V2(_) => None,
        }
    }
}

impl<'a> Header<'a> {
    /// `rdma_xid`.
    #[must_use]
    pub const fn xid(&self) -> u32 {
        match self {
            Self::V1(header) => header.xid,
            Self::V2(header) => header.xid(),
        }
    }

    /// Returns the chunks, if this kind of header has lists of chunks. The Call chunk of family B is separate:
    /// [`call_chunk`](Self::call_chunk).
    #[must_use]
    pub const fn chunks(&self) -> Option<Chunks<'a>> {
        match self {
            Self::V1(header) => header.chunks(),
            Self::V2(header) => header.chunks(),
        }
    }

    /// The segments of the Call chunk (version two draft -07 section 6.3.4), which is a Position Zero Read chunk that
    /// is not in the Read list; empty if there is none.
    #[must_use]
    pub fn call_chunk(&self) -> ReadList<'a> {
        match self {
            Self::V1(_) => None,
            Self::V2(header) => header.call_chunk(),
        }
        .unwrap_or_default()
    }

    /// Returns the segments of all chunks, in the order of the header.
    pub(crate) fn segments(&self) -> impl Iterator<Item = Segment> + use<'a> {
        let chunks = self.chunks().unwrap_or_default();
        let reads = self.call_chunk().iter().chain(chunks.reads.iter()).map(|read| read.target);
        reads.chain(chunks.writes.iter().chain(chunks.reply).flat_map(|chunk| chunk.iter()))
    }

    /// Returns the place of the Payload stream.
    #[must_use]
    pub const fn place(&self) -> PayloadPlace {
        match self {
            Self::V1(header) => match header.body {
                v1::Body::Msg(_) | v1::Body::Msgp { .. } => PayloadPlace::Inline,
                v1::Body::Nomsg(_) => PayloadPlace::Chunk,
                v1::Body::Done | v1::Body::Error(_) => PayloadPlace::Nowhere,
            },
            Self::V2(v2::HeaderV2::A(header)) => match header.body {
                family_a::Body::Msg(_) if header.flags.contains(family_a::HeaderFlags::MORE) => PayloadPlace::Part,
                family_a::Body::Msg(_) => PayloadPlace::Inline,
                family_a::Body::Nomsg(_) if !header.is_grant() => PayloadPlace::Chunk,
                _ => PayloadPlace::Nowhere,
            },
            Self::V2(v2::HeaderV2::B(header)) => match header.body {
                family_b::Body::CallInline(_) | family_b::Body::ReplyInline { .. } => PayloadPlace::Inline,
                family_b::Body::CallMiddle { .. } | family_b::Body::ReplyMiddle { .. } => PayloadPlace::Part,
                family_b::Body::CallExternal(_) | family_b::Body::ReplyExternal { .. } => PayloadPlace::Chunk,
                _ => PayloadPlace::Nowhere,
            },
        }
    }
}

impl AnyErrorBody {
    /// Returns the name of the error, or of the error's kind.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::V1(error) => error.name(),
            Self::V2(error) => match error.code().name() {
                Some(name) => name,
                None => "RDMA2_ERROR",
            },
        }
    }

    /// `rdma_err`.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::V1(v1::ErrorBody::Vers { .. }) => v1::ErrorBody::ERR_VERS,
            Self::V1(v1::ErrorBody::Chunk) => v1::ErrorBody::ERR_CHUNK,
            Self::V2(error) => error.code().0,
        }
    }
}

impl fmt::Display for AnyErrorBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V1(error) => error.fmt(f),
            Self::V2(error) => error.fmt(f),
        }
    }
}

/// Position and length of each Read chunk that is a data item.
#[must_use]
pub fn read_chunks(chunks: &Chunks<'_>) -> Vec<(u64, u64)> {
    chunks.reads.chunks().map(|chunk| (u64::from(chunk.position), chunk.segments.length())).collect()
}

/// Length of each Write chunk.
#[must_use]
pub fn write_lengths(chunks: &Chunks<'_>) -> Vec<u64> {
    chunks.writes.iter().map(|chunk| chunk.length()).collect()
}

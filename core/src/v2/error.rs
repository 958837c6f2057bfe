//! The body of `RDMA2_ERROR`, and the answers of a receiver (version two draft -01, "Error Handling"; -07 section 7).
//!
//! ```text
//! 1 low high    VERS                   8 max     SEGMENTS
//! 6 max         READ_CHUNKS            9 index n WRITE_RESOURCE
//! 7 max         WRITE_CHUNKS          10 n       REPLY_RESOURCE       any other number has no body
//! ```
//!
//! The numbers are from -01 and all later drafts. Draft -00 had others, and nothing on the wire tells that draft apart.

use core::fmt;

use super::credit::Credit;
use super::family::Family;
use super::flags::HeaderFlags;
use crate::codes::named;
use crate::error::{DecodeError, DecodeErrorKind, Role};
use crate::prefix::{Prefix, Procedure};
use crate::reader::{EndOfInput, Reader};
use crate::sink::{Emit, Sink, encodable};

/// `rdma_htype` of `RDMA2_ERROR` in both wire formats, and of `RDMA_ERROR` in version 1.
pub(super) const ERROR: u32 = 4;

/// `rdma_err`; any number can be represented, with or without a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ErrorCode(pub u32);

named! {
    ErrorCode of "the drafts", prefix "RDMA2_ERR_", field "rdma_err";

    /// The version is not supported. Permanent.
    VERS = 1,
    /// The header cannot be parsed. Permanent.
    BAD_XDR = 2,
    /// A transport property cannot be parsed; no property of the message was applied.
    BAD_PROPVAL = 3,
    /// The header type is not known, or not allowed here. Permanent.
    INVAL_HTYPE = 4,
    /// Something is wrong with a sequence of messages. Permanent.
    INVAL_CONT = 5,
    /// More Read chunks than the Responder can take.
    READ_CHUNKS = 6,
    /// More Write chunks than the Responder can return.
    WRITE_CHUNKS = 7,
    /// More segments in a chunk than the Responder can process.
    SEGMENTS = 8,
    /// A Write chunk is too small for the result.
    WRITE_RESOURCE = 9,
    /// The Reply chunk is too small, and there is no other way to reply.
    REPLY_RESOURCE = 10,
    /// The version is not the one this connection has used so far (since draft -05).
    VERS_MISMATCH = 11,
    /// Something else is wrong with the Responder. Permanent.
    SYSTEM = 100,
}

/// Error that the sender of an `RDMA2_ERROR` reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorBodyV2 {
    /// [`ErrorCode::VERS`].
    Vers {
        /// `rdma_vers_low`: the lowest supported version.
        low: u32,
        /// `rdma_vers_high`: the highest supported version.
        high: u32,
    },
    /// [`ErrorCode::READ_CHUNKS`].
    ReadChunks {
        /// `rdma_max_chunks`: maximum number of Read chunks that the Responder can process; 0 for none.
        max_chunks: u32,
    },
    /// [`ErrorCode::WRITE_CHUNKS`].
    WriteChunks {
        /// `rdma_max_chunks`: maximum number of Write chunks that the Responder can return.
        max_chunks: u32,
    },
    /// [`ErrorCode::SEGMENTS`].
    Segments {
        /// `rdma_max_segments`: maximum number of segments that the Responder can process.
        max_segments: u32,
    },
    /// [`ErrorCode::WRITE_RESOURCE`].
    WriteResource {
        /// `rdma_chunk_index`: the first Write chunk that is too small, from 1; 0 if that is not known.
        chunk_index: u32,
        /// `rdma_length_needed`: length of the result in octets; 0 if that is not known.
        length_needed: u32,
    },
    /// [`ErrorCode::REPLY_RESOURCE`].
    ReplyResource {
        /// `rdma_length_needed`: length of the reply in octets; 0 if that is not known.
        length_needed: u32,
    },
    /// Any other code, without a body. An unknown code is to be discarded. (A code with a body is written without the
    /// body.)
    Void(ErrorCode),
}

impl ErrorBodyV2 {
    /// Reads the body. An `RDMA2_ERROR` that is cut is not answered, because an error never is.
    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut word = |is_there: bool| {
            let word = if is_there { reader.u32() } else { Ok(0) };
            word.map_err(|end: EndOfInput| DecodeError::short(end.offset))
        };
        let code = ErrorCode(word(true)?);
        let words = match code {
            ErrorCode::VERS | ErrorCode::WRITE_RESOURCE => 2,
            ErrorCode::READ_CHUNKS | ErrorCode::WRITE_CHUNKS | ErrorCode::SEGMENTS | ErrorCode::REPLY_RESOURCE => 1,
            _ => 0,
        };
        let (first, second) = (word(words > 0)?, word(words > 1)?);
        Ok(match code {
            ErrorCode::VERS => Self::Vers { low: first, high: second },
            ErrorCode::READ_CHUNKS => Self::ReadChunks { max_chunks: first },
            ErrorCode::WRITE_CHUNKS => Self::WriteChunks { max_chunks: first },
            ErrorCode::SEGMENTS => Self::Segments { max_segments: first },
            ErrorCode::WRITE_RESOURCE => Self::WriteResource { chunk_index: first, length_needed: second },
            ErrorCode::REPLY_RESOURCE => Self::ReplyResource { length_needed: first },
            code => Self::Void(code),
        })
    }

    /// Returns `rdma_err`.
    #[must_use]
    pub const fn code(self) -> ErrorCode {
        match self {
            Self::Vers { .. } => ErrorCode::VERS,
            Self::ReadChunks { .. } => ErrorCode::READ_CHUNKS,
            Self::WriteChunks { .. } => ErrorCode::WRITE_CHUNKS,
            Self::Segments { .. } => ErrorCode::SEGMENTS,
            Self::WriteResource { .. } => ErrorCode::WRITE_RESOURCE,
            Self::ReplyResource { .. } => ErrorCode::REPLY_RESOURCE,
            Self::Void(code) => code,
        }
    }
}

impl Emit for ErrorBodyV2 {
    fn emit<S: Sink>(&self, sink: &mut S) {
        sink.word(self.code().0);
        match *self {
            Self::Vers { low: one, high: two } | Self::WriteResource { chunk_index: one, length_needed: two } => {
                sink.word(one);
                sink.word(two);
            }
            Self::ReadChunks { max_chunks: one }
            | Self::WriteChunks { max_chunks: one }
            | Self::Segments { max_segments: one }
            | Self::ReplyResource { length_needed: one } => sink.word(one),
            Self::Void(_) => {}
        }
    }
}

impl fmt::Display for ErrorBodyV2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.code().fmt(f)?;
        match self {
            Self::Vers { low, high } => write!(f, " {low} to {high}"),
            Self::ReadChunks { max_chunks: most }
            | Self::WriteChunks { max_chunks: most }
            | Self::Segments { max_segments: most } => write!(f, " at most {most}"),
            Self::WriteResource { chunk_index, length_needed } => {
                write!(f, " chunk {chunk_index} needs {length_needed} octets")
            }
            Self::ReplyResource { length_needed } => write!(f, " {length_needed} octets needed"),
            Self::Void(_) => Ok(()),
        }
    }
}

/// Reaction of the receiver of a bad version 2 message, which is never processed further.
///
/// ```
/// use rpcrdma::error::Role;
/// use rpcrdma::v2::{ErrorCode, ReactionV2, family_b};
///
/// let send = [0, 0, 0, 9, 0, 0, 0, 2, 0, 1, 0, 1, 0, 0, 0, 14];
/// let error = family_b::Header::decode(&send).unwrap_err();
/// assert_eq!(ReactionV2::to(error, Role::Responder), ReactionV2::Answer(ErrorCode::INVAL_HTYPE));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReactionV2 {
    /// No answer.
    Discard,
    /// An `RDMA2_ERROR` with this code.
    Answer(ErrorCode),
}

impl ReactionV2 {
    /// Returns the reaction of the receiver to a header that cannot be decoded, by the drafts (-01 "Error Handling";
    /// -07 section 7).
    ///
    /// - Shorter than the prefix, or an `RDMA2_ERROR` that is cut: silence.
    /// - An unknown header type: `INVAL_HTYPE`, from either role (-07 section 6.1 speaks of any implementation, section
    ///   7.1.3 of the Responder only).
    /// - A bad transport property: `BAD_PROPVAL`, from either role, as properties have no direction (-07 section 5.1).
    /// - Another version: `VERS`. Anything else: `BAD_XDR`. Both from a Responder only. (Since draft -05, a version
    ///   that is
    ///   supported, but is not the one this connection uses, is answered with `VERS_MISMATCH`: only the caller knows.)
    #[must_use]
    pub const fn to(error: DecodeError, role: Role) -> Self {
        let code = match error.kind {
            DecodeErrorKind::HeaderShort | DecodeErrorKind::ErrorCode => return Self::Discard,
            DecodeErrorKind::HeaderType | DecodeErrorKind::Procedure => ErrorCode::INVAL_HTYPE,
            DecodeErrorKind::PropertyValue => ErrorCode::BAD_PROPVAL,
            DecodeErrorKind::Version => ErrorCode::VERS,
            DecodeErrorKind::ListFlag
            | DecodeErrorKind::ListTruncated
            | DecodeErrorKind::SegmentCount
            | DecodeErrorKind::HeaderTruncated => ErrorCode::BAD_XDR,
        };
        Self::by(code, role)
    }

    /// Returns the reaction of a receiver in this role to what a Responder answers with `code`.
    #[must_use]
    pub const fn by(code: ErrorCode, role: Role) -> Self {
        match (code, role) {
            (ErrorCode::INVAL_HTYPE | ErrorCode::BAD_PROPVAL, _) | (_, Role::Responder) => Self::Answer(code),
            (_, Role::Requester) => Self::Discard,
        }
    }

    /// Returns the body of the answer, by a receiver that supports the versions from `low` to `high`; `None` if nothing
    /// is sent.
    #[must_use]
    pub const fn error(self, low: u32, high: u32) -> Option<ErrorBodyV2> {
        match self {
            Self::Discard => None,
            Self::Answer(ErrorCode::VERS) => Some(ErrorBodyV2::Vers { low, high }),
            Self::Answer(code) => Some(ErrorBodyV2::Void(code)),
        }
    }
}

impl fmt::Display for ReactionV2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Discard => f.write_str("discard"),
            Self::Answer(code) => code.fmt(f),
        }
    }
}

/// The `RDMA2_ERROR` that answers a message, with the XID and the version of that message, even a version that is not
/// supported. 20 to 28 octets in family B, 4 more in family A.
///
/// ```
/// use rpcrdma::prefix::Prefix;
/// use rpcrdma::v2::{Credit, ErrorBodyV2, ErrorCode, ErrorReplyV2, Family};
///
/// let request = Prefix::decode(&[0, 0, 0, 7, 0, 0, 0, 2, 0, 1, 0, 1, 0, 0, 0, 10])?;
/// let error = ErrorBodyV2::Void(ErrorCode::BAD_XDR);
/// let mut send = [0; 24];
/// let reply = ErrorReplyV2::new(Family::B, &request, Credit(0x10_0001), error);
/// assert_eq!(reply.encode(&mut send), Ok(20));
/// assert_eq!(send[..20], [0, 0, 0, 7, 0, 0, 0, 2, 0, 0x10, 0, 1, 0, 0, 0, 4, 0, 0, 0, 2]);
/// // Family A has the flags, with RDMA2_F_RESPONSE, before it.
/// let reply = ErrorReplyV2::new(Family::A, &request, Credit(0x10_0001), error);
/// assert_eq!(reply.encode(&mut send), Ok(24));
/// assert_eq!(send[16..], [0, 0, 0, 1, 0, 0, 0, 2]);
/// # Ok::<(), rpcrdma::error::DecodeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ErrorReplyV2 {
    family: Family,
    prefix: Prefix,
    flags: HeaderFlags,
    error: ErrorBodyV2,
}

impl ErrorReplyV2 {
    /// Creates the answer to the message that began with `request`, in the layout of `family`, granting `credit`.
    #[must_use]
    pub const fn new(family: Family, request: &Prefix, credit: Credit, error: ErrorBodyV2) -> Self {
        let prefix = Prefix { credit: credit.0, procedure: Procedure(ERROR), ..*request };
        Self { family, prefix, flags: HeaderFlags::RESPONSE, error }
    }

    /// Reads an `RDMA2_ERROR` of any version in the layout of `family` and returns the error and the octets that
    /// follow.
    ///
    /// # Errors
    /// A [`DecodeError`] if this is another header type, or incomplete.
    pub fn decode(family: Family, octets: &[u8]) -> Result<(Self, &[u8]), DecodeError> {
        let prefix = Prefix::decode(octets)?;
        if prefix.procedure != Procedure(ERROR) {
            return Err(DecodeError::new(DecodeErrorKind::HeaderType, 12));
        }
        let mut reader = Reader::new(octets);
        let short = |end: EndOfInput| DecodeError::short(end.offset);
        reader.array::<{ Prefix::LEN }>().map_err(short)?;
        let flags = match family {
            Family::A => HeaderFlags::from_bits_retain(reader.u32().map_err(short)?),
            Family::B => HeaderFlags::RESPONSE,
        };
        let error = ErrorBodyV2::decode(&mut reader)?;
        Ok((Self { family, prefix, flags, error }, reader.rest()))
    }

    /// Returns the wire format.
    #[must_use]
    pub const fn family(&self) -> Family {
        self.family
    }

    /// Returns the first four words.
    #[must_use]
    pub const fn prefix(&self) -> Prefix {
        self.prefix
    }

    /// Its error.
    #[must_use]
    pub const fn error(&self) -> ErrorBodyV2 {
        self.error
    }
}

encodable! {
    ErrorReplyV2, "answer"
}

impl Emit for ErrorReplyV2 {
    fn emit<S: Sink>(&self, sink: &mut S) {
        self.prefix.emit(sink);
        if self.family == Family::A {
            sink.word(self.flags.bits());
        }
        self.error.emit(sink);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_back() {
        let answer = ReactionV2::Answer;
        for (kind, responder, requester) in [
            (DecodeErrorKind::HeaderShort, ReactionV2::Discard, ReactionV2::Discard),
            (DecodeErrorKind::Version, answer(ErrorCode::VERS), ReactionV2::Discard),
            (DecodeErrorKind::HeaderType, answer(ErrorCode::INVAL_HTYPE), answer(ErrorCode::INVAL_HTYPE)),
            (DecodeErrorKind::PropertyValue, answer(ErrorCode::BAD_PROPVAL), answer(ErrorCode::BAD_PROPVAL)),
            (DecodeErrorKind::HeaderTruncated, answer(ErrorCode::BAD_XDR), ReactionV2::Discard),
            (DecodeErrorKind::ListFlag, answer(ErrorCode::BAD_XDR), ReactionV2::Discard),
            (DecodeErrorKind::ListTruncated, answer(ErrorCode::BAD_XDR), ReactionV2::Discard),
            (DecodeErrorKind::SegmentCount, answer(ErrorCode::BAD_XDR), ReactionV2::Discard),
        ] {
            let error = DecodeError::new(kind, 0);
            assert_eq!(ReactionV2::to(error, Role::Responder), responder, "{kind:?}");
            assert_eq!(ReactionV2::to(error, Role::Requester), requester, "{kind:?}");
        }
    }

    #[test]
    fn only_a_refused_version_has_a_range() {
        assert_eq!(ReactionV2::Discard.error(1, 2), None);
        assert_eq!(ReactionV2::Answer(ErrorCode::VERS).error(1, 2), Some(ErrorBodyV2::Vers { low: 1, high: 2 }));
        let void = Some(ErrorBodyV2::Void(ErrorCode::INVAL_CONT));
        assert_eq!(ReactionV2::Answer(ErrorCode::INVAL_CONT).error(1, 2), void);
    }
}

//! What can be wrong with a transport header, and what the receiver has to do about it (RFC 8166 section 4.5).

use core::fmt;

/// Why a Send is not a valid transport header, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DecodeError {
    /// What is wrong.
    pub kind: DecodeErrorKind,
    /// Octets from the start of the Send to the item that is wrong, or that is not there whole.
    pub offset: usize,
}

/// What is wrong with a transport header.
// As wide as what it shares its place with in a `Result`: otherwise the decoder takes its pointers apart octet by octet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(usize)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// Fewer octets than the smallest header of this procedure has: 28, or 16 for `RDMA_DONE`, 20 for `RDMA_ERROR` with
    /// `ERR_CHUNK` (section 4.5 says 28 for all of them, which would discard every `ERR_CHUNK` unseen).
    HeaderShort,
    /// `rdma_vers` is not 1 (section 4.5.1).
    Version,
    /// `rdma_proc` is none of the five (section 4.5.2).
    Procedure,
    /// `rdma_err` is neither `ERR_VERS` nor `ERR_CHUNK`.
    ErrorCode,
    /// A word that says whether an entry follows is neither 0 nor 1 (RFC 4506 section 4.4).
    ListFlag,
    /// The octets end within a chunk list.
    ListTruncated,
    /// A chunk counts more segments than the rest of the Send can hold.
    SegmentCount,
}

impl DecodeErrorKind {
    /// A name for programs, in snake case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::HeaderShort => "header_short",
            Self::Version => "version",
            Self::Procedure => "procedure",
            Self::ErrorCode => "error_code",
            Self::ListFlag => "list_flag",
            Self::ListTruncated => "list_truncated",
            Self::SegmentCount => "segment_count",
        }
    }

    const fn explanation(self) -> &'static str {
        match self {
            Self::HeaderShort => "shorter than the smallest transport header",
            Self::Version => "a version of RPC-over-RDMA other than 1",
            Self::Procedure => "an unknown rdma_proc",
            Self::ErrorCode => "an unknown rdma_err",
            Self::ListFlag => "neither 0 nor 1 where a list says whether it goes on",
            Self::ListTruncated => "the message ends within a chunk list",
            Self::SegmentCount => "more segments counted than the message holds",
        }
    }
}

/// Which side of the connection received the message, for the direction its RPC goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Sends Calls, receives Replies.
    Requester,
    /// Receives Calls, sends Replies.
    Responder,
}

/// What the receiver of a bad transport header has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reaction {
    /// Nothing goes back.
    Discard,
    /// An `RDMA_ERROR` with `ERR_CHUNK` goes back (section 4.5.2).
    ErrChunk,
    /// An `RDMA_ERROR` with `ERR_VERS` goes back (section 4.5.1).
    ErrVers,
}

impl DecodeError {
    pub(crate) const fn new(kind: DecodeErrorKind, offset: usize) -> Self {
        Self { kind, offset }
    }

    /// The Send has only `length` octets: the word that is not whole is where it goes wrong.
    pub(crate) const fn short(length: usize) -> Self {
        Self { kind: DecodeErrorKind::HeaderShort, offset: length & !3 }
    }

    /// What RFC 8166 section 4.5 asks of the receiver.
    ///
    /// A Requester never answers a bad header. A Responder answers it, unless the message is too short for its XID to be
    /// trusted, or is itself an `RDMA_ERROR`.
    #[must_use]
    pub const fn reaction(self, role: Role) -> Reaction {
        match (role, self.kind) {
            (Role::Requester, _) | (_, DecodeErrorKind::HeaderShort | DecodeErrorKind::ErrorCode) => Reaction::Discard,
            (_, DecodeErrorKind::Version) => Reaction::ErrVers,
            (
                _,
                DecodeErrorKind::Procedure
                | DecodeErrorKind::ListFlag
                | DecodeErrorKind::ListTruncated
                | DecodeErrorKind::SegmentCount,
            ) => Reaction::ErrChunk,
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "octet {}: {}", self.offset, self.kind.explanation())
    }
}

impl core::error::Error for DecodeError {}

impl fmt::Display for Reaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Discard => "discard",
            Self::ErrChunk => "ERR_CHUNK",
            Self::ErrVers => "ERR_VERS",
        })
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Requester => "requester",
            Self::Responder => "responder",
        })
    }
}

/// The buffer is too small for what is to be encoded; nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EncodeError {
    /// Octets the whole item has.
    pub needed: usize,
    /// Octets the buffer lacks.
    pub missing: usize,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} octets needed, {} more than the buffer has", self.needed, self.missing)
    }
}

impl core::error::Error for EncodeError {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn a_responder_answers_and_a_requester_does_not() {
        for (kind, reaction) in [
            (DecodeErrorKind::HeaderShort, Reaction::Discard),
            (DecodeErrorKind::Version, Reaction::ErrVers),
            (DecodeErrorKind::Procedure, Reaction::ErrChunk),
            (DecodeErrorKind::ErrorCode, Reaction::Discard),
            (DecodeErrorKind::ListFlag, Reaction::ErrChunk),
            (DecodeErrorKind::ListTruncated, Reaction::ErrChunk),
            (DecodeErrorKind::SegmentCount, Reaction::ErrChunk),
        ] {
            let error = DecodeError::new(kind, 16);
            assert_eq!(error.reaction(Role::Responder), reaction, "{kind:?}");
            assert_eq!(error.reaction(Role::Requester), Reaction::Discard, "{kind:?}");
        }
    }

    #[test]
    fn an_error_says_where() {
        let error = DecodeError::new(DecodeErrorKind::Version, 4);
        assert_eq!(error.to_string(), "octet 4: a version of RPC-over-RDMA other than 1");
    }
}

//! Errors of a transport header, and the receiver's reaction.
//!
//! The kinds cover all versions. The reaction is specified by RFC 8166 section 4.5 for version 1
//! ([`DecodeError::reaction`]); for version 2 see [`v2::ReactionV2`](crate::v2::ReactionV2).

use core::fmt;

use crate::reader::EndOfInput;

/// Reason why a Send is not a valid transport header, and the offset of the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DecodeError {
    /// Kind of error.
    pub kind: DecodeErrorKind,
    /// Octets from the start of the Send to the invalid or incomplete item.
    pub offset: usize,
}

/// Kind of error in a transport header.
// As wide as the value that it shares its memory with in a `Result`; otherwise the compiler handles the pointers octet
// by octet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(usize)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// Fewer octets than the smallest header of this procedure: 28, or 16 for `RDMA_DONE`, 20 for `RDMA_ERROR` with
    /// `ERR_CHUNK` (section 4.5 says 28 for all procedures, which would discard every `ERR_CHUNK` unseen). In version
    /// 2: fewer than the prefix has, or an `RDMA2_ERROR` that is incomplete.
    HeaderShort,
    /// `rdma_vers` is not the version that is decoded (section 4.5.1).
    Version,
    /// `rdma_proc` is none of the five (section 4.5.2).
    Procedure,
    /// `rdma_htype` has no meaning in this wire format of version 2.
    HeaderType,
    /// `rdma_err` is neither `ERR_VERS` nor `ERR_CHUNK`.
    ErrorCode,
    /// The word before a list entry is neither 0 nor 1 (RFC 4506 section 4.4).
    ListFlag,
    /// The octets end within a chunk list.
    ListTruncated,
    /// A chunk counts more segments than the rest of the Send can hold.
    SegmentCount,
    /// The octets of a version 2 message end within the header, outside of a chunk list.
    HeaderTruncated,
    /// A transport property of version 2 has a value of the wrong type, or a value that extends past the end of the
    /// message.
    PropertyValue,
}

impl DecodeErrorKind {
    /// Returns a name for programs, in snake case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::HeaderShort => "header_short",
            Self::Version => "version",
            Self::Procedure => "procedure",
            Self::HeaderType => "header_type",
            Self::ErrorCode => "error_code",
            Self::ListFlag => "list_flag",
            Self::ListTruncated => "list_truncated",
            Self::SegmentCount => "segment_count",
            Self::HeaderTruncated => "header_truncated",
            Self::PropertyValue => "property_value",
        }
    }

    /// Returns the answer of a Responder to such a version 1 header (RFC 8166 section 4.5).
    ///
    /// A Responder answers, unless the message is too short for the XID to be trusted, or is an `RDMA_ERROR`.
    #[must_use]
    pub const fn answer(self) -> Reaction {
        match self {
            Self::HeaderShort | Self::ErrorCode => Reaction::Discard,
            Self::Version => Reaction::ErrVers,
            Self::Procedure
            | Self::HeaderType
            | Self::ListFlag
            | Self::ListTruncated
            | Self::SegmentCount
            | Self::HeaderTruncated
            | Self::PropertyValue => Reaction::ErrChunk,
        }
    }

    const fn explanation(self) -> &'static str {
        match self {
            Self::HeaderShort => "shorter than the smallest transport header",
            Self::Version => "another version of RPC-over-RDMA",
            Self::Procedure => "an unknown rdma_proc",
            Self::HeaderType => "an unknown rdma_htype",
            Self::ErrorCode => "an unknown rdma_err",
            Self::ListFlag => "neither 0 nor 1 where a list says whether it goes on",
            Self::ListTruncated => "the message ends within a chunk list",
            Self::SegmentCount => "more segments counted than the message holds",
            Self::HeaderTruncated => "the message ends within its header",
            Self::PropertyValue => "a transport property with a value that is not of its type",
        }
    }
}

/// Side of the connection that received the message, in the direction of the RPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Sends Calls, receives Replies.
    Requester,
    /// Receives Calls, sends Replies.
    Responder,
}

/// Reaction to a bad transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reaction {
    /// No answer.
    Discard,
    /// An `RDMA_ERROR` with `ERR_CHUNK` (section 4.5.2).
    ErrChunk,
    /// An `RDMA_ERROR` with `ERR_VERS` (section 4.5.1).
    ErrVers,
}

impl DecodeError {
    pub(crate) const fn new(kind: DecodeErrorKind, offset: usize) -> Self {
        Self { kind, offset }
    }

    /// Returns the error of a Send of only `length` octets, at the offset of the incomplete word.
    pub(crate) const fn short(length: usize) -> Self {
        Self { kind: DecodeErrorKind::HeaderShort, offset: length & !3 }
    }

    pub(crate) const fn truncated(end: EndOfInput) -> Self {
        Self { kind: DecodeErrorKind::HeaderTruncated, offset: end.offset }
    }

    /// Returns the reaction of the receiver of a version 1 header (RFC 8166 section 4.5): [`DecodeErrorKind::answer`]
    /// of a Responder; a Requester discards the header.
    #[must_use]
    pub const fn reaction(self, role: Role) -> Reaction {
        self.kind.answer().for_role(role)
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "octet {}: {}", self.offset, self.kind.explanation())
    }
}

impl core::error::Error for DecodeError {}

impl Reaction {
    /// Returns the reaction in this role, if `self` is the reaction of a Responder. A Requester never answers.
    #[must_use]
    pub const fn for_role(self, role: Role) -> Self {
        match role {
            Role::Responder => self,
            Role::Requester => Self::Discard,
        }
    }
}

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

/// The buffer is too small for the encoded item; nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EncodeError {
    /// Length of the whole item in octets.
    pub needed: usize,
    /// Number of octets that the buffer lacks.
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
    use std::string::ToString;

    use super::*;

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
        assert_eq!(error.to_string(), "octet 4: another version of RPC-over-RDMA");
    }
}

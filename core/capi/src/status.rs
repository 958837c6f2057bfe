//! Status that functions return.

use rpcrdma::error::{DecodeErrorKind, Role};
use rpcrdma::lists::ReplyError;
use rpcrdma::v2::ReactionV2;
use rpcrdma::{DecodeError, Reaction};

/// Outcome of a call. Unless it is RPCRDMA_OK, nothing was written except what the function names.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum rpcrdma_status {
    /// The function succeeded.
    RPCRDMA_OK = 0,
    /// A pointer is NULL where there has to be something.
    RPCRDMA_NULL = 1,
    /// A pointer to a structure or to numbers is not aligned as its type asks. Octets may lie anywhere.
    RPCRDMA_UNALIGNED = 2,
    /// Output would overlap input.
    RPCRDMA_OVERLAP = 3,
    /// A length is more than half of the address space, or a range passes the end.
    RPCRDMA_TOO_LONG = 4,
    /// A number has no meaning as this argument.
    RPCRDMA_INVALID = 5,
    /// The octets are not what the function decodes. The error that the function returns says why, and where.
    RPCRDMA_NOT_DECODED = 6,
    /// The buffer is too small. The length says how many octets are needed.
    RPCRDMA_NO_ROOM = 7,
    /// There is no such thing.
    RPCRDMA_NOT_FOUND = 8,
    /// More octets than fit into a chunk.
    RPCRDMA_CHUNK_TOO_SMALL = 9,
    /// The connection is over.
    RPCRDMA_CLOSED = 10,
    /// Another call has this XID, or other memory has this handle.
    RPCRDMA_IN_USE = 11,
    /// More than the table or array has.
    RPCRDMA_TOO_MANY = 12,
    /// This event is impossible in this state.
    RPCRDMA_UNEXPECTED = 13,
    /// Outputs have to be taken first.
    RPCRDMA_POLL_FIRST = 14,
    /// The version of the connection, or the peer, does not offer this function.
    RPCRDMA_NOT_SUPPORTED = 15,
    /// The library was built with other sizes than the header that the program was compiled with, or is another version.
    RPCRDMA_OTHER_BUILD = 16,
}

/// Reason why a Send is not a transport header, and the offset of the error.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct rpcrdma_decode_error {
    /// One of RPCRDMA_HEADER_SHORT and so on.
    pub kind: u32,
    /// Octets from the start of the Send to the item that is wrong, or that is incomplete.
    pub offset: usize,
    /// The rdma_err that a Responder answers with, or 0 if it discards the Send (RFC 8166 section 4.5). A Requester
    /// discards the Send, except for RPCRDMA_UNKNOWN_HEADER_TYPE and RPCRDMA_PROPERTY_VALUE of version 2, which either
    /// end answers.
    pub answer: u32,
}

/// ERR_VERS: the Responder does not support the version.
pub const RPCRDMA_ERR_VERS: u32 = 1;
/// ERR_CHUNK: the Responder cannot make sense of the header, or cannot reply.
pub const RPCRDMA_ERR_CHUNK: u32 = 2;

/// Fewer octets than the smallest header of this procedure.
pub const RPCRDMA_HEADER_SHORT: u32 = 1;
/// rdma_vers is not the version that is decoded (RFC 8166 section 4.5.1).
pub const RPCRDMA_OTHER_VERSION: u32 = 2;
/// rdma_proc is none of the five (section 4.5.2).
pub const RPCRDMA_UNKNOWN_PROCEDURE: u32 = 3;
/// rdma_htype has no meaning in this wire format of version 2.
pub const RPCRDMA_UNKNOWN_HEADER_TYPE: u32 = 4;
/// rdma_err is neither ERR_VERS nor ERR_CHUNK.
pub const RPCRDMA_UNKNOWN_ERROR: u32 = 5;
/// A word that says whether an entry follows is neither 0 nor 1.
pub const RPCRDMA_LIST_FLAG: u32 = 6;
/// The octets end within a chunk list.
pub const RPCRDMA_LIST_TRUNCATED: u32 = 7;
/// A chunk counts more segments than the rest of the Send can hold.
pub const RPCRDMA_SEGMENT_COUNT: u32 = 8;
/// The octets of a version 2 message end within the header, outside of a chunk list.
pub const RPCRDMA_HEADER_TRUNCATED: u32 = 9;
/// A transport property of version 2 has a value of the wrong type.
pub const RPCRDMA_PROPERTY_VALUE: u32 = 10;
/// Something that a later version of this library knows.
pub const RPCRDMA_OTHER_ERROR: u32 = 0;

impl From<DecodeError> for rpcrdma_decode_error {
    fn from(error: DecodeError) -> Self {
        Self { kind: kind(error.kind), offset: error.offset, answer: answer(error.kind.answer()) }
    }
}

impl rpcrdma_decode_error {
    pub(crate) fn of_version_2(error: DecodeError) -> Self {
        let answer = match ReactionV2::to(error, Role::Responder) {
            ReactionV2::Discard => 0,
            ReactionV2::Answer(code) => code.0,
        };
        Self { kind: kind(error.kind), offset: error.offset, answer }
    }
}

const fn kind(kind: DecodeErrorKind) -> u32 {
    match kind {
        DecodeErrorKind::HeaderShort => RPCRDMA_HEADER_SHORT,
        DecodeErrorKind::Version => RPCRDMA_OTHER_VERSION,
        DecodeErrorKind::Procedure => RPCRDMA_UNKNOWN_PROCEDURE,
        DecodeErrorKind::HeaderType => RPCRDMA_UNKNOWN_HEADER_TYPE,
        DecodeErrorKind::ErrorCode => RPCRDMA_UNKNOWN_ERROR,
        DecodeErrorKind::ListFlag => RPCRDMA_LIST_FLAG,
        DecodeErrorKind::ListTruncated => RPCRDMA_LIST_TRUNCATED,
        DecodeErrorKind::SegmentCount => RPCRDMA_SEGMENT_COUNT,
        DecodeErrorKind::HeaderTruncated => RPCRDMA_HEADER_TRUNCATED,
        DecodeErrorKind::PropertyValue => RPCRDMA_PROPERTY_VALUE,
        _ => RPCRDMA_OTHER_ERROR,
    }
}

/// Returns `rdma_err` of the answer of version 1; 0 for none.
pub(crate) const fn answer(reaction: Reaction) -> u32 {
    match reaction {
        Reaction::Discard => 0,
        Reaction::ErrVers => RPCRDMA_ERR_VERS,
        Reaction::ErrChunk => RPCRDMA_ERR_CHUNK,
    }
}

impl From<ReplyError> for rpcrdma_status {
    fn from(error: ReplyError) -> Self {
        match error {
            ReplyError::NoChunk => Self::RPCRDMA_NOT_FOUND,
            ReplyError::ChunkTooSmall { .. } => Self::RPCRDMA_CHUNK_TOO_SMALL,
            _ => Self::RPCRDMA_INVALID,
        }
    }
}

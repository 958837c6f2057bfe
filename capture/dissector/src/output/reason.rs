//! Reasons why RPCs were not rebuilt, to count them by.

use crate::rpc::not_rebuilt::{ChunkName, NotRebuilt};

/// The kind of a [`NotRebuilt`], without its numbers.
pub(crate) const fn reason(error: &NotRebuilt) -> &'static str {
    match error {
        NotRebuilt::Send => "the Send is not all in the capture",
        NotRebuilt::Earlier => "messages before it with parts of its Payload stream are not all in the capture",
        NotRebuilt::Padding => "where the padding before its data is, is not known",
        NotRebuilt::Chunk { .. } => "a chunk is not all in the capture",
        NotRebuilt::NotMoved { chunk: ChunkName::Read(_), .. } => "no RDMA Read asked for all of a Read chunk",
        NotRebuilt::NotMoved { .. } => "the responder did not write all of the length that it returns",
        NotRebuilt::Refused { .. } => "the requester's adapter refused access to memory",
        NotRebuilt::CallMissing => "the call is not in the capture",
        NotRebuilt::ForeignChunks => "the reply's chunks are not the call's",
        NotRebuilt::Position(_) => "a Position is not within the Payload stream",
        NotRebuilt::PositionZeroInMessage => "a Position Zero Read chunk beside an inline Payload stream",
        NotRebuilt::Results(error) => error.reason,
        NotRebuilt::Error(_) => "answered by RDMA_ERROR",
        NotRebuilt::Header => "the header cannot be read",
        NotRebuilt::NoPayload => "the message has no Payload stream",
        NotRebuilt::TooMuch => "more octets waited for their replies than may be kept",
    }
}

/// Adds one to the count of `name`. There are as many names as this program knows, so the list stays short.
pub(crate) fn count(counts: &mut Vec<(&'static str, u64)>, name: &'static str) {
    match counts.iter_mut().find(|(known, _)| *known == name) {
        Some((_, count)) => *count += 1,
        None => counts.push((name, 1)),
    }
}

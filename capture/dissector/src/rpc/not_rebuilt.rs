//! Reasons why an RPC message could not be put back together.

use core::fmt;

use super::header::AnyErrorBody;
use crate::nfs::WalkError;

/// Reason why an RPC message could not be put back together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotRebuilt {
    /// The capture does not hold all of the Send.
    Send,
    /// The capture lacks an earlier message that brought a part of the Payload stream (version 2).
    Earlier,
    /// There is padding before data (RDMA_MSGP, RFC 5666 section 3.9), at an unknown place.
    Padding,
    /// The capture does not hold all of a chunk.
    Chunk {
        /// The chunk.
        chunk: ChunkName,
        /// Octets of the chunk before the first missing one.
        captured: u64,
        /// Octets of the chunk.
        length: u64,
    },
    /// The responder asked for no data of these octets of a Read chunk, or did not write octets that the reply returns
    /// in a Write chunk or the Reply chunk. The capture misses no packet that could have moved the octets. Octets are
    /// counted from the start of the chunk's content.
    NotMoved {
        /// The chunk.
        chunk: ChunkName,
        /// First octet that was not moved.
        first: u64,
        /// Last octet that was not moved.
        last: u64,
    },
    /// Octets of a Read chunk are missing, and the requester's adapter refused the responder access to memory while
    /// data of the call was still to come: the requester withdrew the memory, or never registered the memory (RFC 8166
    /// section 4.5.3).
    Refused {
        /// The chunk.
        chunk: ChunkName,
        /// First missing octet of the chunk, counted from 0.
        first: u64,
        /// Octets of the chunk.
        length: u64,
    },
    /// The call is not in the capture, so nothing is known of the reply's chunks.
    CallMissing,
    /// The reply's chunks differ from the call's chunks.
    ForeignChunks,
    /// A Read chunk's Position is not within the Payload stream.
    Position(u32),
    /// There is a Position Zero Read chunk and an inline Payload stream: no specification says which comes first.
    PositionZeroInMessage,
    /// The place of the reduced results is unknown.
    Results(WalkError),
    /// The server ended the RPC with RDMA_ERROR: there is no RPC message.
    Error(AnyErrorBody),
    /// The header cannot be read.
    Header,
    /// The message has no Payload stream.
    NoPayload,
    /// The RPC is known from a kernel trace, which holds no messages.
    KernelTrace,
    /// More was held than [`Config::memory`](crate::dissector::Config::memory) allows.
    TooMuch,
}

/// Names a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkName {
    /// The Read chunk at a Position.
    Read(u32),
    /// A Write chunk, counted from 0.
    Write(usize),
    /// The Reply chunk.
    Reply,
}

impl fmt::Display for ChunkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(position) => write!(f, "Read chunk at Position {position}"),
            Self::Write(index) => write!(f, "Write chunk {index}"),
            Self::Reply => f.write_str("Reply chunk"),
        }
    }
}

impl fmt::Display for NotRebuilt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send => f.write_str("the Send is not all in the capture"),
            Self::Earlier => {
                f.write_str("messages before it with parts of its Payload stream are not all in the capture")
            }
            Self::Padding => f.write_str("where the padding before its data is, is not known"),
            Self::Chunk { chunk, captured, length } => {
                write!(f, "{chunk}: the capture holds {captured} of {length} octets before the first that is missing")
            }
            Self::NotMoved { chunk: chunk @ ChunkName::Read(_), first, last } => {
                write!(f, "{chunk}: no RDMA Read asked for octets {first} to {last}")
            }
            Self::NotMoved { chunk, first, last } => {
                write!(f, "{chunk}: octets {first} to {last} of the returned length were not written")
            }
            Self::Refused { chunk, first, length } => {
                write!(f, "{chunk}: access from octet {first} of {length} was refused")
            }
            Self::CallMissing => f.write_str("the call is not in the capture"),
            Self::ForeignChunks => f.write_str("the reply's chunks are not the call's"),
            Self::Position(position) => write!(f, "Position {position} is not within the Payload stream"),
            Self::PositionZeroInMessage => f.write_str("a Position Zero Read chunk beside an inline Payload stream"),
            Self::Results(error) => write!(f, "the place of the reduced results is not known: {error}"),
            Self::Error(error) => write!(f, "{error}"),
            Self::Header => f.write_str("the header cannot be read"),
            Self::NoPayload => f.write_str("the message has no Payload stream"),
            Self::KernelTrace => f.write_str("a kernel trace holds no messages"),
            Self::TooMuch => f.write_str("too many octets are waiting for their replies"),
        }
    }
}

impl NotRebuilt {
    /// Returns the kind of reason, without numbers, to count RPCs by.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Send => "the Send is not all in the capture",
            Self::Earlier => "messages before it with parts of its Payload stream are not all in the capture",
            Self::Padding => "where the padding before its data is, is not known",
            Self::Chunk { .. } => "a chunk is not all in the capture",
            Self::NotMoved { chunk: ChunkName::Read(_), .. } => "no RDMA Read asked for all of a Read chunk",
            Self::NotMoved { .. } => "not all of the returned length was written",
            Self::Refused { .. } => "an adapter refused access to memory",
            Self::CallMissing => "the call is not in the capture",
            Self::ForeignChunks => "the reply's chunks are not the call's",
            Self::Position(_) => "a Position is not within the Payload stream",
            Self::PositionZeroInMessage => "a Position Zero Read chunk beside an inline Payload stream",
            Self::Results(error) => error.reason,
            Self::Error(_) => "answered by RDMA_ERROR",
            Self::Header => "the header cannot be read",
            Self::NoPayload => "the message has no Payload stream",
            Self::KernelTrace => "a kernel trace holds no messages",
            Self::TooMuch => "more octets waited for their replies than may be kept",
        }
    }
}

impl core::error::Error for NotRebuilt {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Results(error) => Some(error),
            _ => None,
        }
    }
}

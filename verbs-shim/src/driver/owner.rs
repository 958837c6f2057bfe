//! Who owns registered memory.

use super::resources::SINK;
use crate::message::stream::Part;
use crate::verbs::Access;

/// Whose memory it is.
#[derive(Clone, Copy)]
pub(super) enum Owner {
    /// Memory of a call of this end.
    Call(CallMemory),
    /// Memory of a call of the other side, or of its reply.
    Answer(AnswerMemory),
}

/// Whose memory it is.
#[derive(Clone, Copy)]
pub(super) struct CallMemory {
    pub(super) ticket: usize,
    /// The number of its region; none for the room for a reply that is pulled.
    pub(super) region: Option<u16>,
    pub(super) home: Home,
}

/// Where a registered buffer belongs.
#[derive(Clone, Copy)]
pub(super) enum Home {
    Message(Part),
    /// Nowhere: it was assembled for this.
    Copy,
    Result(usize),
    Reply,
}

/// Whose memory it is.
#[derive(Clone, Copy)]
pub(super) struct AnswerMemory {
    pub(super) answer: usize,
    pub(super) of: Of,
}

/// What the memory is for.
#[derive(Clone, Copy)]
pub(super) enum Of {
    /// The memory in which the call is put together.
    Call,
    Reply(Source),
    /// The same, for the other side to pull.
    Provided(Source),
}

/// Which part of a reply is in a registered buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Part(Part),
    /// A copy of what begins there; items in it have no Write chunk.
    Copy(u32),
}

impl Owner {
    /// What memory is registered for.
    pub(super) const fn access(self) -> Access {
        match self {
            Self::Call(owner) => owner.access(),
            Self::Answer(owner) => owner.access(),
        }
    }
}

impl CallMemory {
    /// What the memory is registered for.
    pub(super) const fn access(self) -> Access {
        match (self.region, self.home) {
            (None, _) => SINK,
            (_, Home::Message(_) | Home::Copy) => Access::REMOTE_READ,
            (_, Home::Result(_) | Home::Reply) => Access::LOCAL_WRITE.union(Access::REMOTE_WRITE),
        }
    }
}

impl AnswerMemory {
    /// What the memory is registered for.
    pub(super) const fn access(self) -> Access {
        match self.of {
            Of::Call => SINK,
            Of::Reply(_) => Access::empty(),
            Of::Provided(_) => Access::REMOTE_READ,
        }
    }
}

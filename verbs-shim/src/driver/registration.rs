//! Registered memory: the call that owns each buffer, the role of the buffer, and the access rights.

use super::resources::SINK;
use crate::message::stream::Part;
use crate::verbs::Access;

/// Buffers to register together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slab {
    pub(super) count: usize,
    /// Length of each buffer in octets.
    pub(super) length: usize,
}

/// Identifies a buffer that is registered, or being registered.
#[derive(Clone, Copy)]
pub(super) enum RegistrationId {
    Call(CallRegistration),
    Answer(AnswerRegistration),
}

/// A buffer of a call of this end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CallRegistration {
    pub(super) ticket: usize,
    /// Number of the region. `None` for the buffer of a provided reply.
    pub(super) region: Option<u16>,
    pub(super) kind: CallBuffer,
}

/// Role of a registered buffer in a call of this end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallBuffer {
    Message(Part),
    /// A copy made for the registration.
    Copy,
    Result(usize),
    Reply,
}

/// A buffer of a call of the other side, or of the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AnswerRegistration {
    pub(super) answer: usize,
    pub(super) kind: AnswerBuffer,
}

/// Role of a registered buffer in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerBuffer {
    /// The memory in which the call is assembled.
    Call,
    Reply(Source),
    /// A reply for the other side to read.
    Provided(Source),
}

/// Contents of a registered buffer of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Part(Part),
    /// A copy of the octets from this position on; items in this range have no Write chunk.
    Copy(u32),
}

impl From<CallRegistration> for RegistrationId {
    fn from(registration: CallRegistration) -> Self {
        Self::Call(registration)
    }
}

impl From<AnswerRegistration> for RegistrationId {
    fn from(registration: AnswerRegistration) -> Self {
        Self::Answer(registration)
    }
}

impl AnswerBuffer {
    /// Returns the contents of a buffer of a reply. `None` for the memory in which a call is assembled.
    pub(super) const fn source(self) -> Option<Source> {
        match self {
            Self::Call => None,
            Self::Reply(source) | Self::Provided(source) => Some(source),
        }
    }
}

impl RegistrationId {
    /// Returns the access rights of the memory.
    pub(super) const fn access(self) -> Access {
        match self {
            Self::Call(registration) => registration.access(),
            Self::Answer(registration) => registration.access(),
        }
    }
}

impl CallRegistration {
    /// Returns true for the buffer of a provided reply.
    pub(super) fn is_provided_reply(self) -> bool {
        self.region.is_none()
    }

    /// Returns the access rights of the memory.
    pub(super) const fn access(self) -> Access {
        match (self.region, self.kind) {
            (None, _) => SINK,
            (_, CallBuffer::Message(_) | CallBuffer::Copy) => Access::REMOTE_READ,
            (_, CallBuffer::Result(_) | CallBuffer::Reply) => Access::LOCAL_WRITE.union(Access::REMOTE_WRITE),
        }
    }
}

impl AnswerRegistration {
    /// Returns the access rights of the memory.
    pub(super) const fn access(self) -> Access {
        match self.kind {
            AnswerBuffer::Call => SINK,
            AnswerBuffer::Reply(_) => Access::empty(),
            AnswerBuffer::Provided(_) => Access::REMOTE_READ,
        }
    }
}

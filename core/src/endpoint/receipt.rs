//! State of the Receive that an endpoint has handled last.

use super::CallId;

/// A Receive to be released, or a part of a message that is to be copied out of the Receive first.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Receipt {
    /// No Receive, or a Receive that is kept.
    #[default]
    Nothing,
    Release(u32),
    Place(Placement),
}

/// Octets of a Receive, and their position in the assembled message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placement {
    pub(super) call: CallId,
    pub(super) receive: u32,
    /// Offset in the Receive.
    pub(super) from: usize,
    pub(super) length: u32,
    /// Offset in the message.
    pub(super) at: u32,
}

impl Receipt {
    pub(super) const fn is_due(&self) -> bool {
        !matches!(self, Self::Nothing)
    }

    /// Returns the next output about the Receive, for either endpoint. A Receive is released after the octets were
    /// copied.
    // Apart from `poll`, which it would slow down.
    #[inline(never)]
    pub(super) fn next<O>(&mut self, release: impl FnOnce(u32) -> O, place: impl FnOnce(Placement) -> O) -> Option<O> {
        match *self {
            Self::Nothing => None,
            Self::Release(receive) => {
                *self = Self::Nothing;
                Some(release(receive))
            }
            Self::Place(placement) => {
                *self = Self::Release(placement.receive);
                Some(place(placement))
            }
        }
    }
}

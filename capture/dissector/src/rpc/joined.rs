//! The wait of an RPC whose call was sent before the capture began.

use super::recovery::Recovery;
use crate::carrier::operation::Stamp;

/// The least that an RPC waited of which the capture holds no call: the call was sent before the first frame of its connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JoinedWait {
    /// The first frame of the connection.
    pub since: Stamp,
    /// The frame that completed the reply's Send, or the last one before it that was lost at first.
    pub until: Stamp,
    /// Recovery of what the responder sent meanwhile for no known call. Its time is in the phase of the responder.
    pub recovery: Recovery,
}

impl JoinedWait {
    /// Leaves out what came after the wait, and adds up the time of recovery.
    pub(crate) fn cut(mut self) -> Self {
        self.recovery.end(self.until.time);
        let stretches: u64 = self.recovery.stretches.iter().map(|(from, until)| until.0 - from.0).sum();
        let all = stretches.saturating_add(self.recovery.stretches_left_out);
        self.recovery.phases.responder = all.min(self.nanoseconds());
        self
    }

    /// Nanoseconds of the wait, or more.
    #[must_use]
    pub const fn nanoseconds(&self) -> u64 {
        self.until.time.0.saturating_sub(self.since.time.0)
    }
}

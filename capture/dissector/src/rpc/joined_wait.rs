//! The wait of an RPC whose call was sent before the capture began.

use super::recovery::Recovery;
use crate::carrier::operation::Stamp;

/// Minimum wait of an RPC whose call the capture lacks: the call was sent before the first frame of the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JoinedWait {
    /// The first frame of the connection.
    pub since: Stamp,
    /// Frame that completed the reply's Send, or the last frame before that was lost at first.
    pub until: Stamp,
    /// Recovery of packets that the responder sent meanwhile for no known call. The time counts in the phase of the
    /// responder.
    pub recovery: Recovery,
}

impl JoinedWait {
    /// Leaves out what came after the wait, and adds up the time of recovery.
    pub(crate) fn cut(mut self) -> Self {
        self.recovery.end_at(self.until.time);
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

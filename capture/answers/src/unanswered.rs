//! Time for which calls without a reply waited.

use rpcrdma_dissector::{CaptureEnd, Delivery, Owed, Stamp, Transaction, WaitEnd};

/// The most calls without a reply that are kept.
pub(super) const UNANSWERED_KEPT: usize = 10_000;

/// Wait of a call without a reply: to the end of the connection or of the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnansweredWait {
    /// The frame that the call began with.
    pub began: Stamp,
    /// Event that ended the wait.
    pub end: WaitEnd,
}

impl UnansweredWait {
    /// The wait of an RPC. `None` if the RPC was answered, if another call took the same XID, or if the capture does not show
    /// that the call waited: the reply may be missing, or may have arrived.
    #[must_use]
    pub fn from_transaction(transaction: &Transaction) -> Option<Self> {
        let waiting = transaction.waiting?;
        if matches!(waiting.owed, Owed::Unknown(_)) || matches!(waiting.reply_delivery, Some(Delivery::Unknown)) {
            return None;
        }
        if matches!(waiting.end, WaitEnd::Repeated | WaitEnd::Connection | WaitEnd::GivenUp) {
            return None;
        }
        let began = transaction.began.or(transaction.call.as_ref().map(|call| call.stamp))?;
        Some(Self { began, end: waiting.end })
    }

    /// Nanoseconds of the wait in a capture with this end. If the clock was set back during the wait, only the time since then counts.
    #[must_use]
    pub fn time(self, end: CaptureEnd) -> u64 {
        self.over(end).at_least_since(self.began)
    }

    /// Nanoseconds of the wait in a capture with this end. `None` if the clock was set back during the wait.
    #[must_use]
    pub fn known_time(self, end: CaptureEnd) -> Option<u64> {
        self.over(end).since(self.began)
    }

    /// The end of the wait: the frame that ended the connection, or the end of the capture.
    fn over(self, end: CaptureEnd) -> CaptureEnd {
        match self.end {
            WaitEnd::Disconnected { stamp, .. } => end.earlier(stamp),
            _ => end,
        }
    }
}

/// Calls without a reply, each with a key for counting.
#[derive(Clone, Debug)]
pub(super) struct UnansweredWaits<K>(Vec<(K, UnansweredWait)>);

impl<K> Default for UnansweredWaits<K> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K> UnansweredWaits<K> {
    /// Takes an RPC, of which only the wait of a call without a reply is kept.
    pub(super) fn add_rpc(&mut self, transaction: &Transaction, key: impl FnOnce() -> K) {
        if self.0.len() < UNANSWERED_KEPT
            && let Some(wait) = UnansweredWait::from_transaction(transaction)
        {
            self.0.push((key(), wait));
        }
    }

    /// Each wait, with the key.
    pub(super) fn into_waits(self) -> impl Iterator<Item = (K, UnansweredWait)> {
        self.0.into_iter()
    }

    /// Nanoseconds for which each call waited in a capture with this end.
    pub(super) fn times(self, end: CaptureEnd) -> impl Iterator<Item = (K, u64)> {
        self.into_waits().map(move |(key, wait)| (key, wait.time(end)))
    }
}

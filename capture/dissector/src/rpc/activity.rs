//! Times of the messages of a connection.

use crate::carrier::operation::{Side, Sides, Stamp};

/// Times of the messages of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessageTimes {
    /// Number of messages.
    pub messages: u64,
    /// The first message.
    pub first: Option<Stamp>,
    /// The last message.
    pub last: Option<Stamp>,
    /// The longest time without a message while no call waited.
    pub longest_idle: Option<IdleTime>,
    /// Calls of each end that wait.
    waiting: Sides<u32>,
}

/// Time without a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IdleTime {
    /// The message before.
    pub since: Stamp,
    /// Length in nanoseconds, up to the next message.
    pub length: u64,
}

/// Calls of an end that wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitingCalls {
    pub(crate) requester: Side,
    pub(crate) calls: u32,
}

impl MessageTimes {
    /// Takes a message. `waiting` is the number of calls that the requester of the message's RPC has waiting now, if
    /// known.
    pub(crate) fn message(&mut self, stamp: Stamp, waiting: Option<WaitingCalls>) {
        self.messages += 1;
        self.first.get_or_insert(stamp);
        let is_idle = self.waiting.active == 0 && self.waiting.passive == 0;
        if let Some(since) = self.last.filter(|_| is_idle) {
            let length = stamp.time.0.saturating_sub(since.time.0);
            if self.longest_idle.is_none_or(|longest| longest.length < length) {
                self.longest_idle = Some(IdleTime { since, length });
            }
        }
        self.last = Some(stamp);
        if let Some(WaitingCalls { requester, calls }) = waiting {
            *self.waiting.get_mut(requester) = calls;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Time;

    #[test]
    fn time_in_which_a_call_waits_is_not_idle() {
        let mut activity = MessageTimes::default();
        let messages =
            [(100, Side::Active, 1), (900, Side::Active, 0), (1000, Side::Passive, 1), (1500, Side::Passive, 0)];
        for (frame, (time, requester, waiting)) in (1..).zip(messages) {
            activity.message(Stamp { frame, time: Time(time) }, Some(WaitingCalls { requester, calls: waiting }));
        }
        activity.message(Stamp { frame: 5, time: Time(1540) }, None);
        let IdleTime { since, length } = activity.longest_idle.unwrap();
        assert_eq!((activity.messages, since.frame, length), (5, 2, 100));
    }
}

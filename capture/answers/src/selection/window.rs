//! Times: the window that a selection shows, and the time that an RPC or an event takes.

use rpcrdma_dissector::{Event, Recovered, RecoveryKind, Time, Transaction, WaitEnd};

/// Time span of an RPC or an event, from beginning to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeSpan {
    /// The beginning.
    pub from: Time,
    /// The end; `None` if the span lasts beyond the end of the capture.
    pub until: Option<Time>,
}

impl TimeSpan {
    /// A single moment.
    #[must_use]
    pub const fn at(time: Time) -> Self {
        Self { from: time, until: Some(time) }
    }

    /// Time of an RPC: from the first packet of the call to the copy of the reply that the requester accepted. A call without a
    /// reply lasts until the end of the connection, or beyond the end of the capture. For a reply without a call, only the
    /// reply counts.
    #[must_use]
    pub fn of_transaction(transaction: &Transaction) -> Self {
        let Transaction { began, call, reply, waiting, .. } = transaction;
        let reply = reply.as_ref().map(|reply| reply.stamp.time);
        let call = began.map(|began| began.time).or(call.as_ref().map(|call| call.stamp.time));
        let from = call.or(reply).unwrap_or_default();
        let until = match waiting.map(|waiting| waiting.end) {
            _ if reply.is_some() => reply,
            Some(WaitEnd::Disconnected { stamp, .. }) => Some(stamp.time),
            // Another call took its XID, so nothing waits for the reply any longer.
            Some(WaitEnd::Repeated) => Some(from),
            _ => None,
        };
        Self { from, until }
    }

    /// Time of an indication of loss: the silence before a time-out, or the moment of the packet.
    fn of_recovered(recovered: &Recovered) -> Self {
        let until = recovered.stamp.time;
        let silence = match recovered.kind {
            RecoveryKind::TimedOut { silence } => silence,
            _ => 0,
        };
        Self { from: Time(until.0.saturating_sub(silence)), until: Some(until) }
    }
}

/// Time that a selection shows. A bound that is `None` is that of the capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// The first moment.
    pub since: Option<Time>,
    /// The last moment.
    pub until: Option<Time>,
}

impl Window {
    /// Returns true if the window has a bound.
    #[must_use]
    pub const fn is_bounded(&self) -> bool {
        self.since.is_some() || self.until.is_some()
    }

    /// Returns true if an event has a moment in the window. The end of a connection and what the capture lacks concern every moment.
    #[must_use]
    pub fn shows(&self, event: &Event) -> bool {
        if !self.is_bounded() {
            return true;
        }
        let span = match event {
            Event::Message(message) => TimeSpan::at(message.stamp.time),
            Event::Transaction(transaction) => TimeSpan::of_transaction(transaction),
            Event::Recovery(recovered) => TimeSpan::of_recovered(recovered),
            Event::Rejected(rejected) => TimeSpan::at(rejected.stamp.time),
            Event::UnansweredRequest(request) => {
                TimeSpan { from: request.asked.first.time, until: Some(request.asked.last.time) }
            }
            Event::Promise(promise) => TimeSpan { from: promise.began.time, until: Some(promise.opened.time) },
            Event::Terminated(terminated) => TimeSpan::at(terminated.stamp.time),
            _ => return true,
        };
        self.overlaps(span)
    }

    /// Returns true if a moment is in the window.
    #[must_use]
    pub fn contains(&self, time: Time) -> bool {
        self.overlaps(TimeSpan::at(time))
    }

    /// Returns true if a span and the window have a moment in common.
    #[must_use]
    pub fn overlaps(&self, span: TimeSpan) -> bool {
        let begins_in_time = self.until.is_none_or(|until| span.from <= until);
        let ends_in_time = self.since.is_none_or(|since| span.until.is_none_or(|until| until >= since));
        begins_in_time && ends_in_time
    }

    /// Returns true if a span begins before the window and ends after the window, so that nothing in the window shows either.
    #[must_use]
    pub fn is_within(&self, span: TimeSpan) -> bool {
        let begins_before = self.since.is_some_and(|since| span.from < since);
        let ends_after = span.until.is_none_or(|end| self.until.is_some_and(|until| end > until));
        begins_before && ends_after
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(from: u64, until: u64) -> TimeSpan {
        TimeSpan { from: Time(from), until: Some(Time(until)) }
    }

    #[test]
    fn a_window_shows_spans_that_overlap_it() {
        let window = Window { since: Some(Time(10)), until: Some(Time(20)) };
        for (span, overlaps, is_within) in [
            (span(0, 9), false, false),
            (span(0, 10), true, false),
            (span(0, 21), true, true),
            (span(10, 21), true, false),
            (span(12, 13), true, false),
            (span(20, 30), true, false),
            (span(21, 30), false, false),
            (TimeSpan { from: Time(0), until: None }, true, true),
            (TimeSpan { from: Time(21), until: None }, false, false),
        ] {
            assert_eq!((window.overlaps(span), window.is_within(span)), (overlaps, is_within), "{span:?}");
        }
    }

    #[test]
    fn a_window_without_an_end_ends_with_the_capture() {
        let window = Window { since: Some(Time(10)), until: None };
        assert!(window.overlaps(span(0, 10)) && !window.is_within(span(0, 99)));
        assert!(window.is_within(TimeSpan { from: Time(0), until: None }));
        assert!(!Window::default().is_within(TimeSpan { from: Time(0), until: None }));
    }
}

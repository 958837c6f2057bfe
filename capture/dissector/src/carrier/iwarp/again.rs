//! Which segments TCP sent again, and why.
//!
//! TCP sends a segment again because duplicate or selective acknowledgements say that it is missing (a fast retransmission: RFC
//! 5681 section 3.2, RFC 6675 section 2), or because no acknowledgement came in time (RFC 6298).

use crate::carrier::recovery::{RecoveryKind, SILENCE, Signs, TIMER};
use crate::file::Time;

/// Duplicate acknowledgements that make TCP send a segment again (RFC 5681 section 3.2). With fewer, segments may just have come
/// out of order.
const DUPLICATES: u8 = 3;

/// Data that one end has sent again, and was asked for.
#[derive(Debug, Default)]
pub(super) struct Again {
    /// The place after the last octet that it is known to have sent.
    sent: u64,
    /// When its last segment was captured that had data, or shows that it has sent more.
    last_time: Time,
    /// The holes that the other end reported last: the place of the first one, and the one after the last.
    asked: Option<(u64, u64)>,
    /// When the other end last reported a hole.
    asked_at: Time,
    /// When the other end last acknowledged what it had not acknowledged before, and up to which place.
    progress: (u64, Time),
    /// The last segment was sent again, up to this place.
    run: Option<u64>,
    /// The last acknowledgement of the other end, and its window.
    acknowledged: Option<(u64, u16)>,
    /// Number of times after the first.
    duplicates: u8,
    /// The place after everything that it had sent when it began to send again what was lost.
    recovery: Option<u64>,
}

/// An acknowledgement of what an end sends.
#[derive(Clone, Copy, Debug)]
pub(super) struct TcpAcknowledgement {
    /// Everything before this place has arrived.
    pub(super) place: u64,
    /// Where the last of what has arrived behind holes begins.
    pub(super) beyond: Option<u64>,
    pub(super) window: u16,
    /// True if the segment is nothing but an acknowledgement.
    pub(super) is_bare: bool,
    pub(super) time: Time,
}

/// Time that an end had waited when it sent something again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waited {
    /// Nanoseconds since it had sent anything.
    pub(super) silence: u64,
    /// When what is to be acknowledged was sent, if that is known.
    pub(super) unacknowledged: Option<Time>,
}

impl Again {
    /// A segment of this end: the nanoseconds since its last one with data, and how far this end had sent. That it acknowledges
    /// what the other end sent in between does not end its wait for an acknowledgement.
    pub(super) fn segment(&mut self, time: Time, end: u64, has_data: bool) -> (u64, u64) {
        let (last, sent) = (self.last_time, self.sent);
        let is_sending = has_data || end > sent;
        (self.last_time, self.sent) = (if is_sending { last.max(time) } else { last }, sent.max(end));
        (time.0.saturating_sub(last.0), sent)
    }

    /// The other end acknowledges what this end sends. Whether it reports a hole that it has not reported before.
    pub(super) fn acknowledge(&mut self, acknowledgement: TcpAcknowledgement) -> bool {
        let TcpAcknowledgement { place, beyond, window, is_bare, time } = acknowledgement;
        let before = self.acknowledged.replace((place, window));
        // A segment with data is no duplicate, and does not end a row of them (RFC 5681 section 2).
        let is_duplicate = is_bare && before == Some((place, window)) && place < self.sent;
        if is_duplicate {
            self.duplicates = self.duplicates.saturating_add(1);
        } else if is_bare || before.is_none_or(|(before, _)| before != place) {
            self.duplicates = 0;
        }
        self.asked.take_if(|(_, end)| *end <= place);
        if place > self.progress.0 {
            self.progress = (place, time);
            self.recovery.take_if(|until| *until <= place);
            // A partial acknowledgement shows the next hole (RFC 6582 section 3.2).
            if self.recovery.is_some() && beyond.is_none() {
                self.asked = Some((place, place + 1));
            }
        }
        // Without selective acknowledgements, all that is known is where the hole begins.
        let is_reported = self.duplicates >= DUPLICATES;
        let Some(end) = beyond.or(is_reported.then_some(place + 1)) else { return false };
        self.asked_at = time;
        self.recovery = self.recovery.or(Some(self.sent));
        let before = self.asked.filter(|(first, _)| *first >= place);
        self.asked = Some(before.map_or((place, end), |(first, known)| (first, known.max(end))));
        before.is_none()
    }

    /// A segment of what was captured before.
    pub(super) fn copy(&mut self, (place, end): (u64, u64), waited: Waited) -> Signs {
        [self.go_back((place, end), waited), Some(RecoveryKind::SentAgain)]
    }

    /// Takes a segment that is captured for the first time, after one that follows it. It was sent again, unless it may
    /// just be late.
    pub(super) fn filling(&mut self, (place, end): (u64, u64), waited: Waited) -> Option<Signs> {
        if !self.is_asked(place) && waited.silence < SILENCE {
            return None;
        }
        Some([self.go_back((place, end), waited), Some(RecoveryKind::Replaced)])
    }

    /// Something is sent again: returns why, unless something seen before says so.
    fn go_back(&mut self, (place, end): (u64, u64), waited: Waited) -> Option<RecoveryKind> {
        let cause = self.cause(place, waited);
        self.run = Some(end);
        self.recovery = self.recovery.or(cause.and(Some(self.sent)));
        cause
    }

    /// Why this is sent again; `None` if something seen before says so.
    fn cause(&self, place: u64, Waited { silence, unacknowledged }: Waited) -> Option<RecoveryKind> {
        let since = |time: Time| self.last_time.0.saturating_sub(time.0);
        let (_, progress) = self.progress;
        // Without acknowledgements in the capture, nothing is known of those.
        let unacknowledged = unacknowledged.filter(|_| progress > Time(0)).map_or(0, since);
        // Each acknowledgement of something new begins the wait anew.
        let is_enough = |wait: &u64| (*wait).min(since(progress.max(self.asked_at))) >= TIMER;
        match [silence, unacknowledged].into_iter().find(is_enough) {
            Some(silence) => Some(RecoveryKind::TimedOut { silence }),
            None if self.is_asked(place) => None,
            None => Some(RecoveryKind::CauseNotSeen),
        }
    }

    /// Returns true if this end has sent data since then.
    pub(super) fn has_sent_since(&self, since: Time) -> bool {
        self.last_time > since
    }

    /// A segment with which this end goes on.
    pub(super) const fn go_on(&mut self) {
        self.run = None;
    }

    /// Returns true if the other end asked for this, or this end is sending again what is before it.
    pub(super) fn is_asked(&self, place: u64) -> bool {
        self.asked.is_some_and(|(first, end)| (first..end).contains(&place)) || self.run.is_some_and(|run| place >= run)
    }
}

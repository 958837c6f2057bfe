//! Which segments TCP sent again, and why.
//!
//! TCP sends a segment again because duplicate acknowledgements say that it is missing (RFC 5681 section 3.2, RFC 6675
//! section 2), or because no acknowledgement came in time (RFC 6298).

use crate::carrier::recovery::{RecoveryKind, SILENCE, Signs, timed_out};
use crate::file::Time;

/// Duplicate acknowledgements that make TCP send a segment again (RFC 5681 section 3.2). With fewer, the capture may have doubled
/// an acknowledgement.
const DUPLICATES: u8 = 3;

/// What one end has sent again, and was asked for.
#[derive(Debug, Default)]
pub(super) struct Again {
    /// The place after the last octet that it is known to have sent.
    sent: u64,
    /// When its last segment was captured that had data, or shows that it has sent more.
    last_time: Time,
    /// The hole that the other end reported last: its first place, and the one after its last.
    asked: Option<(u64, u64)>,
    /// The last segment was sent again, up to this place.
    run: Option<u64>,
    /// What the other end acknowledged last, and its window, if the segment was nothing but that.
    acknowledged: Option<(u64, u16)>,
    /// How many times after the first.
    duplicates: u8,
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

    /// The other end acknowledges what this end sends up to `place`, and perhaps what is `beyond` a hole; a segment that is
    /// nothing but that has a `window`. Whether it reports a hole that it has not reported before.
    pub(super) fn acknowledge(&mut self, place: u64, beyond: Option<u64>, window: Option<u16>) -> bool {
        let acknowledged = window.map(|window| (place, window));
        let is_duplicate = acknowledged.is_some() && acknowledged == self.acknowledged && place < self.sent;
        self.acknowledged = acknowledged;
        self.duplicates = if is_duplicate { self.duplicates.saturating_add(1) } else { 0 };
        self.asked.take_if(|(_, end)| *end <= place);
        // Without selective acknowledgements, all that is known is where the hole begins.
        let is_reported = self.duplicates == DUPLICATES;
        let Some(end) = beyond.or(is_reported.then_some(place + 1)) else { return false };
        let is_new = self.asked.is_none_or(|(first, _)| first < place);
        if is_new {
            self.asked = Some((place, end));
        }
        is_new
    }

    /// A segment of what was captured before. `is_last` says that nothing after it was captured.
    pub(super) fn copy(&mut self, (place, end): (u64, u64), silence: u64, is_last: bool) -> Signs {
        let is_asked = self.is_asked(place);
        if !is_asked && silence < SILENCE && is_last {
            return [None, Some(RecoveryKind::Duplicate)];
        }
        self.run = Some(end);
        [timed_out(is_asked, silence), Some(RecoveryKind::SentAgain)]
    }

    /// Takes a segment that is captured for the first time, after one that follows it. It was sent again, unless it may
    /// just be late.
    pub(super) fn filling(&mut self, (place, end): (u64, u64), silence: u64) -> Option<Signs> {
        let is_asked = self.is_asked(place);
        if !is_asked && silence < SILENCE {
            return None;
        }
        self.run = Some(end);
        Some([timed_out(is_asked, silence), Some(RecoveryKind::Replaced)])
    }

    /// A segment with which this end goes on.
    pub(super) const fn go_on(&mut self) {
        self.run = None;
    }

    /// Whether the other end asked for this, or this end is sending again what is before it.
    fn is_asked(&self, place: u64) -> bool {
        self.asked.is_some_and(|(first, end)| (first..end).contains(&place)) || self.run.is_some_and(|run| place >= run)
    }
}

//! Segments that TCP retransmitted, and the cause of each.
//!
//! TCP retransmits a segment because duplicate or selective acknowledgements report a gap (a fast retransmission: RFC
//! 5681 section 3.2, RFC 6675 section 2), or because no acknowledgement came in time (RFC 6298).

use crate::carrier::operation::Places;
use crate::carrier::recovery::{Indications, RecoveryKind, SILENCE, TIMER};
use crate::file::Time;

/// Duplicate acknowledgements that make TCP retransmit a segment (RFC 5681 section 3.2). With fewer, segments may just have come
/// out of order.
const DUPLICATES: u8 = 3;

/// Data that one end has retransmitted, and data that was asked for.
#[derive(Debug, Default)]
pub(super) struct Again {
    /// Place after the last octet that the end is known to have sent.
    sent: u64,
    /// Time of the last segment with data, or of one that shows later octets.
    last_time: Time,
    /// The gaps that the other end reported last.
    asked: Option<ReportedGaps>,
    /// Time of the other end's last report of a gap.
    asked_at: Time,
    /// Time of the other end's last acknowledgement of something new, and the acknowledged place.
    progress: (u64, Time),
    /// The last segment was retransmitted, up to this place.
    run: Option<u64>,
    /// Nanoseconds that the end had waited at the last time-out.
    timer: u64,
    /// The place after everything that was retransmitted since the last time-out.
    filled: u64,
    /// Places from the first late segment to the last, as far as they were not acknowledged then. The other end may
    /// report these places as missing, because the segments are late there too.
    late: Option<Places>,
    /// Last acknowledgement of the other end, and the advertised window.
    acknowledged: Option<(u64, u16)>,
    /// Number of times after the first.
    duplicates: u8,
    /// The other end reports what has arrived behind gaps.
    is_selective: bool,
    /// Last recovery of lost data that the end began.
    recovery: Option<LossRecovery>,
    /// Time of the last retransmitted segment.
    again_at: Option<Time>,
    /// Last retransmitted segment, unless a gap of the other end was filled by that segment.
    last: Option<Places>,
    /// Number of retransmitted segments that filled no gap so far: each may have been there, and makes one duplicate
    /// acknowledgement.
    in_vain: u32,
}

/// Gaps that an end reported.
#[derive(Clone, Copy, Debug)]
struct ReportedGaps {
    /// The place of the first one, and the place after the last.
    first: u64,
    end: u64,
    /// Time of the first report, and the place from which on later reports came first.
    since: Time,
    newest: (u64, Time),
    /// Place after the last gap in the last report. Duplicate acknowledgements that may answer useless retransmissions
    /// report no gap.
    certain: u64,
}

/// An end sends again what was lost.
#[derive(Clone, Copy, Debug)]
struct LossRecovery {
    /// Place after everything that the end had sent at the beginning of the recovery.
    until: u64,
    /// True if something was lost.
    is_certain: bool,
}

/// Evidence of gaps in an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GapReport {
    /// True if there is one that was not reported before.
    pub(super) is_new: bool,
    /// True if what is missing did not just come out of order.
    pub(super) is_lost: bool,
}

/// An acknowledgement of what an end sends.
#[derive(Clone, Copy, Debug)]
pub(super) struct TcpAcknowledgement {
    /// Everything before this place has arrived.
    pub(super) place: u64,
    /// Beginning of the last octets that have arrived behind gaps.
    pub(super) beyond: Option<u64>,
    pub(super) window: u16,
    /// True if the segment is nothing but an acknowledgement.
    pub(super) is_bare: bool,
    pub(super) time: Time,
    /// Nanoseconds that the other end takes at least to acknowledge, if measured.
    pub(super) least: Option<u64>,
}

/// State of an end before a segment is sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct SenderState {
    /// Nanoseconds since the end last sent data.
    pub(super) silence: u64,
    /// Place after everything that the end had sent.
    pub(super) sent: u64,
}

/// Time that an end had waited before a retransmission.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waited {
    /// Nanoseconds since the end last sent anything.
    pub(super) silence: u64,
    /// Time at which the octets to be acknowledged were sent, if that is known.
    pub(super) unacknowledged: Option<Time>,
    /// Least number of nanoseconds in which the end reacts to the other end, if known.
    pub(super) reaction: Option<u64>,
}

impl ReportedGaps {
    fn contain(&self, place: u64) -> bool {
        (self.first..self.end).contains(&place)
    }

    /// Returns when the gap at this place was reported first.
    fn since(&self, place: u64) -> Time {
        let (first, since) = self.newest;
        if place >= first { since } else { self.since }
    }
}

impl Again {
    /// Takes a segment of this end, up to the place `end`. Returns the state of the end before. A segment without data does not end the
    /// wait for an acknowledgement.
    pub(super) fn take_segment(&mut self, time: Time, end: u64, has_data: bool) -> SenderState {
        let (last, sent) = (self.last_time, self.sent);
        let is_sending = has_data || end > sent;
        (self.last_time, self.sent) = (if is_sending { last.max(time) } else { last }, sent.max(end));
        SenderState { silence: time.0.saturating_sub(last.0), sent }
    }

    /// The other end acknowledges what this end sends. Returns the reported gaps, if there is a report.
    pub(super) fn acknowledge(&mut self, acknowledgement: TcpAcknowledgement) -> Option<GapReport> {
        let TcpAcknowledgement { place, beyond, window, is_bare, time, least } = acknowledgement;
        let before = self.acknowledged.replace((place, window));
        // A segment with data is no duplicate, and does not end a row of them (RFC 5681 section 2).
        let is_duplicate = is_bare && before == Some((place, window)) && place < self.sent;
        if is_duplicate {
            self.duplicates = self.duplicates.saturating_add(1);
        } else if is_bare || before.is_none_or(|(before, _)| before != place) {
            self.duplicates = 0;
        }
        if place > self.progress.0 {
            let is_answer = |again: Time| least.is_some_and(|least| time.0.saturating_sub(again.0) >= least);
            let has_filled = self.last.filter(|last| last.first >= self.progress.0 && last.end <= place);
            if has_filled.is_some() && self.again_at.is_some_and(is_answer) {
                (self.in_vain, self.last) = (self.in_vain.saturating_sub(1), None);
            }
            self.progress = (place, time);
            if self.recovery.is_some() || self.asked.is_some() {
                self.make_progress(place, beyond.is_some());
            }
        }
        self.is_selective |= beyond.is_some();
        // Without selective acknowledgements, all that is known is where the gap begins.
        let is_reported = self.duplicates >= DUPLICATES;
        let end = beyond.or(is_reported.then_some(place + 1))?;
        self.asked_at = time;
        let is_recent = self.again_at.is_some_and(|again| time.0.saturating_sub(again.0) < SILENCE);
        let is_answer = self.in_vain > 0 && is_recent;
        if is_duplicate && !is_recent {
            // The retransmission was lost, too.
            self.filled = self.filled.min(place);
        }
        // With selective acknowledgements, it would show what has arrived behind a gap (RFC 2018 section 4).
        let is_no_gap = self.is_selective && beyond.is_none();
        let is_certain = beyond.is_some() || !is_answer && !is_no_gap;
        self.recovery = self.recovery.or(Some(LossRecovery { until: self.sent, is_certain }));
        let before = self.asked.filter(|gaps| gaps.first >= place);
        let found =
            before.unwrap_or(ReportedGaps { first: place, end, since: time, newest: (place, time), certain: 0 });
        let certain = if is_certain { end } else { found.certain };
        let newest = if end > found.end { (found.end, time) } else { found.newest };
        self.asked = Some(ReportedGaps { end: found.end.max(end), newest, certain, ..found });
        let is_lost = is_duplicate && self.duplicates == DUPLICATES && is_certain && place >= self.filled;
        let is_new = !is_no_gap && before.is_none_or(|before| before.end < end);
        Some(GapReport { is_new, is_lost })
    }

    /// Everything before a place has arrived. `is_selective` says that the acknowledgement reports gaps itself.
    fn make_progress(&mut self, place: u64, is_selective: bool) {
        self.recovery.take_if(|recovery| recovery.until <= place);
        // The next of the gaps that were reported is known already.
        self.asked.take_if(|gaps| gaps.end <= place);
        self.asked.iter_mut().for_each(|gaps| gaps.first = gaps.first.max(place));
        // A partial acknowledgement shows the next gap (RFC 6582 section 3.2).
        if let Some(LossRecovery { is_certain, .. }) = self.recovery.filter(|_| !is_selective) {
            let certain = if is_certain { place + 1 } else { 0 };
            let (_, since) = self.progress;
            self.asked = Some(ReportedGaps { first: place, end: place + 1, since, newest: (place, since), certain });
        }
    }

    /// A segment of what was captured before.
    pub(super) fn copy(&mut self, segment: Places, waited: Waited) -> Indications {
        [self.go_back(segment, waited), Some(RecoveryKind::Retransmitted)]
    }

    /// Takes a segment that is captured for the first time, after a later one. Such a segment is a retransmission,
    /// unless it may just be late; `is_again` says so if the segment itself shows that.
    pub(super) fn filling(&mut self, segment: Places, waited: Waited, is_again: Option<bool>) -> Option<Indications> {
        let may_answer = || self.may_answer(segment.first, waited.reaction) || waited.silence >= SILENCE;
        if !is_again.unwrap_or_else(may_answer) {
            let before = self.late.filter(|late| late.end > self.progress.0).unwrap_or(segment);
            self.late = Some(Places { first: before.first.min(segment.first), end: before.end.max(segment.end) });
            return None;
        }
        Some([self.go_back(segment, waited), Some(RecoveryKind::Replaced)])
    }

    /// Something is retransmitted: returns why, unless something seen before says so.
    fn go_back(&mut self, segment: Places, waited: Waited) -> Option<RecoveryKind> {
        let Places { first: place, end } = segment;
        let cause = self.cause(place, waited);
        self.run = Some(end);
        let is_timeout = matches!(cause, Some(RecoveryKind::TimedOut { .. }));
        if let Some(RecoveryKind::TimedOut { silence }) = cause {
            self.timer = silence;
        }
        self.filled = if is_timeout { end } else { self.filled.max(end) };
        // A retransmission that was not asked for begins a recovery of everything sent until then (RFC 6582 section 4).
        self.recovery = cause.and(Some(LossRecovery { until: self.sent, is_certain: is_timeout })).or(self.recovery);
        self.again_at = Some(self.last_time);
        (self.in_vain, self.last) = (self.in_vain.saturating_add(1), Some(segment));
        // Nothing was missing any more: its sender had not yet got the acknowledgement of that.
        cause.filter(|cause| *cause != RecoveryKind::CauseNotSeen || !self.is_acknowledged(place + 1))
    }

    /// Returns why this is retransmitted; `None` if something seen before says so.
    fn cause(&self, place: u64, Waited { silence, unacknowledged, .. }: Waited) -> Option<RecoveryKind> {
        let since = |time: Time| self.last_time.0.saturating_sub(time.0);
        let (_, progress) = self.progress;
        // Without acknowledgements in the capture, nothing is known of those.
        let unacknowledged = unacknowledged.filter(|_| progress > Time(0)).map_or(0, since);
        // Each acknowledgement of something new begins the wait anew.
        let is_enough = |wait: &u64| (*wait).min(since(progress.max(self.asked_at))) >= TIMER;
        match [silence, unacknowledged].into_iter().find(is_enough) {
            // It goes on where it stopped once that is acknowledged; its timer runs for longer after each time-out (RFC 6298 section 5.5).
            Some(silence) if self.run != Some(place) || silence >= self.timer / 2 => {
                Some(RecoveryKind::TimedOut { silence })
            }
            _ if self.is_asked(place) => None,
            // It still recovers from what was reported (RFC 6582 section 3.2, RFC 6675 section 5).
            _ if self.recovery.is_some_and(|recovery| place < recovery.until) => None,
            _ => Some(RecoveryKind::CauseNotSeen),
        }
    }

    /// Returns true if this segment may be a requested retransmission. A sender takes some time to react to a request.
    fn may_answer(&self, place: u64, reaction: Option<u64>) -> bool {
        let soonest = reaction.map_or(SILENCE, |reaction| reaction / 2);
        let is_soon = |gaps: &ReportedGaps| self.last_time.0.saturating_sub(gaps.since(place).0) < soonest;
        self.is_asked(place) && !self.asked.as_ref().is_some_and(is_soon)
    }

    /// Returns true if the other end has reported that this octet is missing, and the octet was not retransmitted
    /// since.
    pub(super) fn is_missing(&self, place: u64) -> bool {
        let is_reported = self.asked.is_some_and(|gaps| gaps.contain(place) && place < gaps.certain);
        is_reported && !self.is_late(place) && place >= self.filled
    }

    /// Returns true if this octet came late, and was not acknowledged then.
    pub(super) fn is_late(&self, place: u64) -> bool {
        self.late.is_some_and(|late| (late.first..late.end).contains(&place))
    }

    /// Returns true if this end has sent data since then.
    pub(super) fn has_sent_since(&self, since: Time) -> bool {
        self.last_time > since
    }

    /// A segment with which this end goes on.
    pub(super) const fn go_on(&mut self) {
        self.run = None;
    }

    /// Returns true if the other end has acknowledged everything before this place.
    pub(super) fn is_acknowledged(&self, end: u64) -> bool {
        self.acknowledged.is_some_and(|(place, _)| place >= end)
    }

    /// Returns true if the other end asked for this octet, or this end is retransmitting earlier octets.
    pub(super) fn is_asked(&self, place: u64) -> bool {
        self.asked.is_some_and(|gaps| gaps.contain(place)) || self.run.is_some_and(|run| place >= run)
    }
}

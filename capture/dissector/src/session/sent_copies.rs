//! Copies of a message, and what the receiver said about the copies.

use super::gaps::{Evidence, Filled};
use crate::carrier::operation::{Places, Stamp};
use crate::carrier::recovery::SILENCE;
use crate::file::Time;
use crate::rpc::waiting::{Delivery, PacketRefusal};

/// Copies of a message, and what the receiver said about the copies.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentCopies {
    /// The place after the message's last packet or octet, in everything that the sender sends.
    pub(super) end: u64,
    /// Number of copies that the receiver may have accepted: the copies since the last refusal of the message.
    candidates: u32,
    /// The first copy that the receiver may have accepted.
    pub(super) candidate: Stamp,
    /// Number of copies in all.
    pub(super) sent: u32,
    /// The first that was captured.
    first: Stamp,
    /// The last copy but one, and the last.
    previous: Stamp,
    pub(super) last: Stamp,
    /// The place that the receiver asked for, and how, if what was sent since does not fill that gap.
    refused: Option<(u64, PacketRefusal)>,
    /// The packet that filled the last gap before the end of the message, if no copy of the message came since
    /// (InfiniBand): a receiver that keeps what follows a gap accepts the message with that packet.
    filled: Option<Stamp>,
    gap: EarlierGap,
}

/// Octets before the end of a message that were lost or late, and whose arrival the capture does not show yet (TCP).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EarlierGap {
    /// No octets.
    None,
    /// The receiver reported octets as missing.
    Reported,
    /// The sender retransmitted octets.
    Retransmitted,
}

/// The copy of a message that the receiver accepted, if known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Acceptance {
    /// No copy so far.
    None,
    At(Stamp),
    /// One of the copies from the first of these to the second.
    Between(Stamp, Stamp),
}

impl Acceptance {
    /// The first copy that may have been accepted.
    pub(super) const fn first(self) -> Option<Stamp> {
        match self {
            Self::None => None,
            Self::At(stamp) | Self::Between(stamp, _) => Some(stamp),
        }
    }
}

/// Copies of a message that were captured before the last one.
#[derive(Clone, Copy, Debug)]
pub(super) struct EarlierCopies {
    pub(super) count: u32,
    /// True if the receiver refused the copies.
    pub(super) are_refused: bool,
}

impl SentCopies {
    /// A message up to the place `end`, last captured at `stamp`.
    pub(super) const fn new(end: u64, stamp: Stamp, earlier: EarlierCopies) -> Self {
        let sent = earlier.count.saturating_add(1);
        let candidates = if earlier.are_refused { 1 } else { sent };
        Self {
            end,
            candidates,
            candidate: stamp,
            sent,
            first: stamp,
            previous: stamp,
            last: stamp,
            refused: None,
            filled: None,
            gap: EarlierGap::None,
        }
    }

    /// Returns the same copies if the receiver may have accepted the copy whose last packet was captured here, or a
    /// later copy.
    pub(super) const fn doubtful_since(self, stamp: Stamp) -> Self {
        Self { candidates: self.candidates.saturating_add(1), candidate: stamp, ..self }
    }

    /// Returns the state of delivery while the message is not acknowledged. A message arrives after all octets or
    /// packets that precede the message.
    pub(super) const fn delivery(&self) -> Delivery {
        let gap = if self.filled.is_some() { EarlierGap::Retransmitted } else { self.gap };
        match (self.refused, self.sent, gap) {
            (Some((_, refusal)), ..) => Delivery::Refused(refusal),
            (None, 0 | 1, EarlierGap::Retransmitted) => Delivery::Unacknowledged { times: 1 },
            (None, 0 | 1, EarlierGap::None | EarlierGap::Reported) => Delivery::Unknown,
            (None, times, _) => Delivery::Unacknowledged { times },
        }
    }

    /// Returns true if packets or octets before the end of the message were lost or late, and the capture does not show
    /// that all came: over InfiniBand, most receivers need another copy of the message as well.
    pub(super) const fn is_doubtful(&self) -> bool {
        !matches!(self.gap, EarlierGap::None) || self.filled.is_some()
    }

    /// The copy that arrived, if the message was acknowledged and no other copy may have been accepted.
    pub(super) const fn accepted(&self) -> Option<Stamp> {
        if let Acceptance::At(stamp) = self.acceptance() { Some(stamp) } else { None }
    }

    /// The copy that arrived, if one did.
    pub(super) const fn acceptance(&self) -> Acceptance {
        match (self.candidates, self.filled) {
            (0, None) => Acceptance::None,
            (0, Some(stamp)) => Acceptance::At(stamp),
            (1, None) => Acceptance::At(self.candidate),
            (_, None) => Acceptance::Between(self.candidate, self.last),
            (_, Some(stamp)) => Acceptance::Between(self.candidate, stamp),
        }
    }

    /// Takes a refusal: a packet of the message, or one before the message, is missing.
    pub(super) const fn refuse(&mut self, place: u64, refusal: PacketRefusal) {
        if place < self.end {
            self.refused = Some((place, refusal));
            (self.candidates, self.filled) = (0, None);
        }
    }

    /// Takes a report of a gap at this place. What fills the gap may only be late.
    pub(super) const fn suspect(&mut self, place: u64) {
        if place < self.end && matches!(self.gap, EarlierGap::None) {
            self.gap = EarlierGap::Reported;
        }
    }

    /// Takes a refusal of the copies before this frame. The receiver may have accepted a copy that was sent in this
    /// frame, or since.
    pub(super) fn doubt(&mut self, since: u64) {
        let is_since = |copy: Stamp| copy.frame >= since;
        self.filled = None;
        let is_either = self.previous.frame < self.last.frame && is_since(self.previous);
        self.candidate = if is_either { self.previous } else { self.last };
        self.candidates = u32::from(is_since(self.last)) + u32::from(is_either);
    }

    /// Takes packets that are retransmitted over InfiniBand: most receivers keep nothing that follows a gap, and some do.
    pub(super) fn again(&mut self, places: Places, stamp: Stamp, evidence: Option<Evidence>) {
        if places.first >= self.end {
            return;
        }
        let was_refused = self.refused.take_if(|(place, _)| places.first <= *place).is_some();
        if places.end >= self.end {
            if self.refused.is_none() {
                (self.candidates, self.filled) =
                    if evidence == Some(Evidence::Lost) { (0, None) } else { (self.candidates, None) };
                self.add_candidate(stamp);
            }
            self.sent = self.sent.saturating_add(1);
            (self.previous, self.last) = (self.last, stamp);
        } else if self.refused.is_none() && (was_refused || evidence.is_some()) {
            self.wait_behind(stamp, was_refused || evidence == Some(Evidence::Lost));
        }
    }

    /// Notes a packet that filled a gap before the end of the message. `is_certain` says that the receiver had accepted
    /// no copy of the message before.
    pub(super) const fn wait_behind(&mut self, stamp: Stamp, is_certain: bool) {
        self.filled = Some(stamp);
        if is_certain {
            self.candidates = 0;
        }
    }

    /// Takes a retransmitted segment. The message arrives with the last segment that the receiver lacked before the end
    /// of the message. That is this segment, or a later one, if the receiver is known to have lacked this segment.
    /// `low` is the last acknowledgement.
    pub(super) fn fill(&mut self, places: Places, stamp: Stamp, is_missing: bool, low: Option<Stamp>) {
        if places.first >= self.end {
            return;
        }
        // An acknowledgement long after a copy shows that the copy did not arrive, because the message still waits: it named a place
        // before its end.
        let is_behind = low.is_some_and(|acknowledged| acknowledged.time.0.saturating_sub(self.last.time.0) >= SILENCE);
        if self.refused.is_some() || is_behind || is_missing {
            self.refused.take_if(|(place, _)| places.first <= *place);
            self.candidates = 0;
        }
        self.add_candidate(stamp);
        self.send_again(places, stamp);
    }

    /// Notes a retransmitted TCP segment with octets before the end of the message.
    pub(super) fn send_again(&mut self, places: Places, stamp: Stamp) {
        (self.last, self.gap) = (stamp, EarlierGap::Retransmitted);
        self.sent = self.sent.saturating_add(u32::from(places.end >= self.end));
    }

    /// Takes an acknowledgement at this time; none takes less than about `least` nanoseconds. If what filled a gap was
    /// sent just before that, the gap may have been closed by a copy that was late (TCP).
    pub(super) fn answered(&mut self, time: Time, least: u64) {
        let is_too_soon = time.0.saturating_sub(self.candidate.time.0) < least / 2;
        if self.gap == EarlierGap::Retransmitted && self.candidates == 1 && is_too_soon {
            (self.candidates, self.candidate) = (2, self.first);
        }
    }

    /// Makes the message wait for this segment, which was captured after the message and fills a gap before the end of
    /// the message.
    pub(super) fn wait_for(&mut self, filled: &Filled) {
        self.candidate = filled.stamp;
        if filled.again_for.is_some() {
            self.send_again(filled.places, filled.stamp);
        }
    }

    pub(super) const fn add_candidate(&mut self, stamp: Stamp) {
        if self.candidates == 0 {
            self.candidate = stamp;
        }
        self.candidates = self.candidates.saturating_add(1);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::carrier::recovery::RecoveryKind;

    pub(in super::super) const NO_COPIES: EarlierCopies = EarlierCopies { count: 0, are_refused: false };

    pub(in super::super) fn at(time: u64) -> Stamp {
        Stamp { frame: time, time: crate::file::Time(time * 1_000_000) }
    }

    pub(in super::super) fn nak(time: u64) -> PacketRefusal {
        PacketRefusal { kind: RecoveryKind::SequenceError, stamp: at(time) }
    }

    /// A message in the places 10 to 12 that was captured at 1 ms.
    pub(in super::super) fn message() -> SentCopies {
        SentCopies::new(13, at(1), NO_COPIES)
    }

    pub(in super::super) fn place(first: u64) -> Places {
        Places::one(first)
    }

    #[test]
    fn of_one_copy_the_only_one_was_accepted() {
        assert_eq!(message().accepted(), Some(at(1)));
        assert_eq!(message().delivery(), Delivery::Unknown);
    }

    #[test]
    fn an_unrequested_duplicate_leaves_open_which_was_accepted() {
        for keeps in [false, true] {
            let mut message = message();
            if keeps {
                message.fill(place(12), at(5), false, None);
            } else {
                message.again(place(12), at(5), None);
            }
            assert_eq!((message.accepted(), message.delivery()), (None, Delivery::Unacknowledged { times: 2 }));
        }
    }

    #[test]
    fn a_message_behind_a_gap_is_accepted_between_two_times() {
        let copies = SentCopies::new(13, at(9), NO_COPIES).doubtful_since(at(5));
        assert_eq!(copies.acceptance(), Acceptance::Between(at(5), at(9)));
    }

    #[test]
    fn tcp_keeps_what_follows_a_gap() {
        let mut message = message();
        message.refuse(8, nak(2));
        message.fill(Places { first: 8, end: 10 }, at(3), false, None);
        assert_eq!(message.accepted(), Some(at(3)));
        let behind = Delivery::Unacknowledged { times: 1 };
        assert_eq!((message.delivery(), message.is_doubtful()), (behind, true), "the gap is filled");
        message.fill(Places { first: 11, end: 12 }, at(4), true, None);
        assert_eq!(message.accepted(), Some(at(4)), "another gap");
        message.fill(Places { first: 12, end: 13 }, at(5), false, None);
        assert_eq!(message.acceptance(), Acceptance::Between(at(4), at(5)), "nothing asked for that");
        assert_eq!(message.delivery(), Delivery::Unacknowledged { times: 2 });
    }

    /// The gap was reported, and was closed by the segment that had been overtaken.
    #[test]
    fn a_segment_acknowledged_at_once_may_not_fill_the_gap() {
        for (acknowledged, acceptance) in [(7, Acceptance::Between(at(1), at(5))), (9, Acceptance::At(at(5)))] {
            let mut message = message();
            message.fill(Places { first: 8, end: 13 }, at(5), true, None);
            message.answered(at(acknowledged).time, 8_000_000);
            assert_eq!(message.acceptance(), acceptance, "{acknowledged}");
        }
    }

    #[test]
    fn a_segment_behind_the_gap_does_not_fill_it() {
        let mut message = message();
        message.refuse(8, nak(2));
        message.fill(Places { first: 11, end: 13 }, at(3), false, None);
        assert_eq!(message.delivery(), Delivery::Refused(nak(2)));
    }

    #[test]
    fn an_acknowledgement_that_stays_below_shows_a_lost_segment() {
        for (low, expected) in [(Some(at(3)), Some(at(500))), (Some(at(1)), None), (None, None)] {
            let mut message = message();
            message.fill(Places { first: 10, end: 13 }, at(500), false, low);
            assert_eq!(message.accepted(), expected, "{low:?}");
        }
    }
}

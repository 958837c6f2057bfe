//! Arrival of calls and replies, inferred from acknowledgements.
//!
//! A message that was sent has not always arrived. A responder has a call only after accepting a copy of that call, and
//! an RPC ends with the copy of the reply that the requester accepted. So calls and replies wait here until they are
//! acknowledged.
//!
//! - An acknowledgement says that the message arrived. If only one copy may have been accepted, the receiver accepted
//!   that copy.
//! - A negative acknowledgement names a place. The receiver accepted no copy from before the negative acknowledgement,
//!   nothing that follows the place, and nothing that is sent until the sender goes back to the place. Most adapters
//!   discard what follows a gap. TCP and some adapters keep what follows a gap, so the message arrives with what fills
//!   the gap, unless a copy of the message comes after that. If the sender had gone back before, because a response to
//!   an RDMA Read was missing, the negative acknowledgement may already have been on the way: then the receiver may
//!   have accepted copies that were sent since.
//! - A copy that nothing asked for leaves open which of the two was accepted.

use std::collections::VecDeque;

use super::credit_account::CreditAccount;
use super::gaps::{Evidence, Filled, StreamGaps};
use super::passes::Passes;
use super::sent_copies::{Acceptance, SentCopies};
use super::timeline::{FilledGap, Timeline};
use crate::carrier::operation::{Places, Stamp};
use crate::carrier::recovery::{AgainFor, Backfill};
use crate::rpc::transaction::Transaction;
use crate::rpc::waiting::{Delivery, PacketRefusal};

/// Maximum number of messages of one end that wait to be acknowledged: more than are in flight at a time. Beyond this
/// number, the arrival of the oldest message is left open.
const UNACKNOWLEDGED: usize = 512;
/// Stands for the call of a reply that was sent before the capture.
pub(super) const BEFORE_CAPTURE: u64 = 0;

/// A message that was not acknowledged yet.
#[derive(Debug)]
pub(super) struct Unacknowledged {
    /// This call, or the call that this reply answers.
    pub(super) call: u64,
    pub(super) copies: SentCopies,
    /// The RPC, if the message is a reply.
    pub(super) ended: Option<Box<EndedRpc>>,
}

/// Result of adding a message to the ones that wait to be acknowledged.
#[derive(Debug)]
pub(super) enum Added {
    Waits,
    /// The message had been acknowledged already.
    Arrived(Unacknowledged),
    /// Too many waited: the oldest no longer does.
    GivenUp(Unacknowledged),
}

/// An RPC whose reply was sent.
#[derive(Debug)]
pub(super) struct EndedRpc {
    pub(super) transaction: Box<Transaction>,
    pub(super) timeline: Timeline,
    /// Number of indications of loss, when the reply was sent, that belong to no known RPC.
    pub(super) unassigned: u64,
    pub(super) credit: ReturnedCredit,
}

/// The credit that a reply returned, for as long as the capture may still show that the receiver did not accept this
/// copy of the reply.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReturnedCredit {
    /// The account before the reply.
    pub(super) before: CreditAccount,
    /// Credits that the reply grants.
    pub(super) granted: Option<u32>,
    /// The last call before the reply was captured.
    pub(super) last_call: u64,
    /// The copy that the account took for the accepted one.
    pub(super) counted: Acceptance,
}

/// Properties of packets that are retransmitted over InfiniBand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retransmitted {
    /// True if the capture does not have the packets from an earlier transmission.
    pub(super) is_replaced: bool,
    pub(super) again_for: AgainFor,
}

/// The calls and replies of one end that were not acknowledged yet, in the order of their places.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    waiting: VecDeque<Unacknowledged>,
    /// The highest place that the other end acknowledged.
    acknowledged: Option<u64>,
    /// Evidence of gaps; `None` until there is some.
    gaps: Option<Box<StreamGaps>>,
    /// Runs of retransmitted packets, for as long as a refusal sent before such a run may be on its way.
    passes: Passes,
    /// Octets of memory that the RPCs take.
    held: usize,
}

impl Unacknowledged {
    /// Returns the memory used by a reply, in octets. A call that waits counts its own memory, so 0 is returned for a
    /// call.
    fn memory_used(&self) -> usize {
        self.ended.as_ref().map_or(0, |ended| {
            let halves = [&ended.transaction.call, &ended.transaction.reply].into_iter().flatten();
            let data = halves.filter_map(|half| half.message.as_ref().ok()).map(|message| message.len());
            size_of::<Self>()
                + size_of::<EndedRpc>()
                + size_of::<Transaction>()
                + ended.timeline.memory_used()
                + data.sum::<usize>()
        })
    }
}

impl Arrivals {
    /// Adds a message, unless the message was acknowledged before being captured.
    pub(super) fn send(&mut self, mut message: Unacknowledged, keeps: bool) -> Added {
        let copies = &mut message.copies;
        if let Some(gaps) = &self.gaps {
            // Whatever is sent for the first time while a gap is open is behind the gap. So is what was captured before a gap that was
            // never filled, which InfiniBand hands over only at the end.
            let is_behind = |refusal: PacketRefusal| copies.sent == 1 || copies.last.frame < refusal.stamp.frame;
            if let Some((place, refusal)) = gaps.refused.filter(|(_, refusal)| !keeps && is_behind(*refusal)) {
                copies.refuse(place, refusal);
            }
            if let Some(reported) = gaps.reported {
                copies.suspect(reported.first);
            }
            // What follows a gap may be handed over only when the gap is filled.
            let filled = gaps.filled_before(copies.end, |_| true);
            if let Some(filled) = filled.filter(|filled| filled.stamp.frame > copies.candidate.frame) {
                match filled.evidence {
                    None => copies.wait_for(&filled),
                    // A copy of its own may have come later.
                    Some(evidence) => {
                        copies.wait_behind(filled.stamp, evidence == Evidence::Lost && copies.sent == 1);
                    }
                }
            }
        }
        if self.acknowledged.is_some_and(|acknowledged| acknowledged + 1 >= copies.end) {
            return Added::Arrived(message);
        }
        self.passes.end = self.passes.end.max(message.copies.end);
        self.held += message.memory_used();
        self.waiting.push_back(message);
        let is_full = self.waiting.len() > UNACKNOWLEDGED;
        if is_full { self.pop().map_or(Added::Waits, Added::GivenUp) } else { Added::Waits }
    }

    /// The other end acknowledged everything up to this place: returns the first message that has arrived by that.
    pub(super) fn acknowledge(&mut self, place: u64, stamp: Stamp, keeps: bool) -> Option<Unacknowledged> {
        self.acknowledged = self.acknowledged.max(Some(place));
        if let Some(gaps) = &mut self.gaps {
            gaps.refused.take_if(|(refused, _)| *refused <= place);
            gaps.reported = gaps
                .reported
                .filter(|reported| reported.end > place + 1)
                .map(|reported| Places { first: reported.first.max(place + 1), ..reported });
        }
        let first = self.waiting.front()?;
        if first.copies.end <= place + 1 {
            return self.pop();
        }
        if keeps {
            self.gaps.get_or_insert_default().low = Some(stamp);
        }
        None
    }

    /// The oldest message that was not acknowledged.
    fn pop(&mut self) -> Option<Unacknowledged> {
        let first = self.waiting.pop_front()?;
        self.held -= first.memory_used();
        Some(first)
    }

    /// Takes the replies that were not acknowledged.
    pub(super) fn take_replies(&mut self) -> Vec<(SentCopies, Box<EndedRpc>)> {
        self.held = 0;
        let (mut replies, waiting) = (Vec::new(), core::mem::take(&mut self.waiting));
        for Unacknowledged { call, copies, ended } in waiting {
            match ended {
                Some(ended) => replies.push((copies, ended)),
                None => self.waiting.push_back(Unacknowledged { call, copies, ended: None }),
            }
        }
        replies
    }

    /// Returns true if a reply was sent and not acknowledged.
    pub(super) fn has_unacknowledged_reply(&self) -> bool {
        self.waiting.iter().any(|message| message.ended.is_some())
    }

    /// The RPC with this XID whose reply was sent and not acknowledged.
    pub(super) fn unacknowledged_reply(&self, xid: u32) -> Option<&Transaction> {
        let replies = self.waiting.iter().filter_map(|message| Some(&*message.ended.as_ref()?.transaction));
        replies.rev().find(|transaction| transaction.xid == xid && transaction.call.is_some())
    }

    /// Takes the reply with this XID that was not acknowledged.
    pub(super) fn take_reply(&mut self, xid: u32) -> Option<(SentCopies, Box<EndedRpc>)> {
        let is_it = |message: &Unacknowledged| message.ended.as_ref().is_some_and(|ended| ended.transaction.xid == xid);
        let message = self.waiting.remove(self.waiting.iter().rposition(is_it)?)?;
        self.held -= message.memory_used();
        Some((message.copies, message.ended?))
    }

    /// Takes a report of the other end that octets in these places are missing. The octets may only be late (TCP).
    pub(super) fn suspect(&mut self, places: Places) {
        if !self.is_acknowledged(places) {
            let reported = &mut self.gaps.get_or_insert_default().reported;
            let Places { first, end } = reported.unwrap_or(places);
            *reported = Some(Places { first: first.min(places.first), end: end.max(places.end) });
        }
        self.waiting.iter_mut().for_each(|message| message.copies.suspect(places.first));
    }

    /// The other end refuses what is sent from this place on.
    pub(super) fn refuse(&mut self, place: u64, refusal: PacketRefusal) {
        let since = self.passes.refuse(place, refusal);
        if since.is_none() {
            self.gaps.get_or_insert_default().refused = Some((place, refusal));
        }
        for copies in self.waiting.iter_mut().map(|message| &mut message.copies).filter(|copies| place < copies.end) {
            match since {
                Some(since) => copies.doubt(since),
                None => copies.refuse(place, refusal),
            }
        }
    }

    /// Notes that the sender goes back to a place after a time-out: no refusal is on its way.
    pub(super) fn time_out(&mut self, place: u64) {
        self.passes.clear();
        self.gaps.get_or_insert_default().timed_out = Some(place);
    }

    /// Takes packets that are retransmitted over InfiniBand. Returns true if the packets fill a gap of the receiver.
    pub(super) fn again(&mut self, places: Places, stamp: Stamp, again: Retransmitted) -> bool {
        self.passes.again(places, stamp.frame);
        if self.is_acknowledged(places) {
            return false;
        }
        let evidence = self.fill(places, stamp, again);
        self.waiting.iter_mut().for_each(|message| message.copies.again(places, stamp, evidence));
        evidence.is_some()
    }

    /// Notes retransmitted packets. Returns the evidence that the packets fill a gap of the receiver, if any.
    fn fill(&mut self, places: Places, stamp: Stamp, again: Retransmitted) -> Option<Evidence> {
        let Retransmitted { is_replaced, again_for } = again;
        let gaps = self.gaps.get_or_insert_default();
        let refused = gaps.refused.take_if(|(place, _)| places.first <= *place);
        let is_refused = refused.is_some_and(|(place, _)| place == places.first);
        let is_timed_out = gaps.timed_out.take_if(|place| *place == places.first).is_some();
        let evidence = match is_refused || is_replaced {
            true => Evidence::Lost,
            false if is_timed_out => Evidence::Suspected,
            false => {
                // Its sender goes on with what follows the gap.
                let last = gaps.filled.back_mut().filter(|last| last.places.end == places.first);
                last.into_iter().for_each(|last| (last.places.end, last.stamp) = (places.end, stamp));
                return None;
            }
        };
        let filled = Filled { places, stamp, again_for: Some(again_for), evidence: Some(evidence) };
        gaps.fill(filled, self.acknowledged.unwrap_or_default());
        Some(evidence)
    }

    /// A TCP segment with octets from before what was captured already.
    pub(super) fn backfill(&mut self, places: Places, stamp: Stamp, backfill: Backfill) {
        let Backfill { is_again, is_filling, is_missing, .. } = backfill;
        if is_filling {
            let (gaps, acknowledged) = (self.gaps.get_or_insert_default(), self.acknowledged.unwrap_or_default());
            let again_for = is_again.then_some(AgainFor::Loss);
            gaps.fill(Filled { places, stamp, again_for, evidence: None }, acknowledged);
        }
        if is_again && !self.is_acknowledged(places) {
            let low = self.gaps.as_ref().and_then(|gaps| gaps.low);
            self.waiting.iter_mut().for_each(|message| message.copies.fill(places, stamp, is_missing, low));
        }
    }

    /// Returns the last packet that filled a gap of the receiver before this place, and was captured after this frame.
    pub(super) fn filled_after(&self, end: u64, frame: u64) -> Option<FilledGap> {
        let filled = self.gaps.as_ref()?.filled_before(end, |filled| filled.again_for.is_some())?;
        let Filled { stamp, again_for, .. } = filled;
        again_for.filter(|_| stamp.frame > frame).map(|again_for| FilledGap { stamp, again_for })
    }

    /// Returns true if the other end has acknowledged all of these places.
    pub(super) fn is_acknowledged(&self, places: Places) -> bool {
        self.acknowledged.is_some_and(|acknowledged| places.end <= acknowledged + 1)
    }

    /// Returns the state of delivery of a call that was not acknowledged.
    pub(super) fn delivery(&self, call: u64) -> Option<Delivery> {
        let is_it = |message: &&Unacknowledged| message.call == call && message.ended.is_none();
        self.waiting.iter().find(is_it).map(|message| message.copies.delivery())
    }

    /// Drops a call that was given up.
    pub(super) fn forget(&mut self, call: u64) {
        if let Some(place) = self.waiting.iter().position(|message| message.call == call && message.ended.is_none()) {
            self.waiting.remove(place);
        }
        if self.waiting.is_empty() {
            self.waiting = VecDeque::new();
        }
    }

    /// Changes the RPC of a call with `use_it`, if the reply was sent and not acknowledged. Returns the result of
    /// `use_it`.
    pub(super) fn change<T>(&mut self, call: u64, use_it: impl FnOnce(&mut EndedRpc) -> T) -> Option<T> {
        let message = self.waiting.iter_mut().find(|message| message.call == call && message.ended.is_some())?;
        let before = message.memory_used();
        let result = message.ended.as_mut().map(|ended| use_it(ended));
        self.held = self.held + message.memory_used() - before;
        result
    }

    /// The replies to known calls that were not acknowledged, in the order of their places.
    pub(super) fn replies(&mut self) -> impl Iterator<Item = (u64, Acceptance, &mut EndedRpc)> {
        let waiting = self.waiting.iter_mut().filter(|message| message.call != BEFORE_CAPTURE);
        waiting.filter_map(|message| Some((message.call, message.copies.acceptance(), &mut **message.ended.as_mut()?)))
    }

    /// Octets of memory that replies take here.
    pub(super) const fn memory_used(&self) -> usize {
        self.held
    }
}

#[cfg(test)]
mod tests {
    use super::super::sent_copies::EarlierCopies;
    use super::super::sent_copies::tests::{NO_COPIES, at, message, nak, place};
    use super::*;
    use crate::carrier::recovery::RecoveryKind;

    /// The packet of this number is retransmitted, and was captured before.
    fn again(arrivals: &mut Arrivals, number: u64, time: u64) {
        arrivals.again(place(number), at(time), Retransmitted { is_replaced: false, again_for: AgainFor::Loss });
    }

    #[test]
    fn infiniband_discards_what_follows_a_gap_until_filled() {
        let mut message = message();
        message.refuse(8, nak(2));
        assert_eq!(message.delivery(), Delivery::Refused(nak(2)));
        // It was on its way when the other end refused it.
        message.again(place(12), at(3), None);
        assert_eq!(message.accepted(), None);
        for (number, time) in (8..13).zip(4..) {
            // A receiver that keeps what follows a gap would accept it with what fills the gap.
            assert_eq!(message.accepted(), (number > 8).then(|| at(4)));
            message.again(place(number), at(time), None);
        }
        assert_eq!(message.accepted(), Some(at(8)));
        message.refuse(13, nak(9));
        assert_eq!(message.accepted(), Some(at(8)), "what follows it is missing");
    }

    /// The receiver refuses the place 8 when the sender has just gone back to the place 6, because of a missing
    /// response or a time-out.
    fn refused_after_going_back(is_late: bool) -> Arrivals {
        let mut arrivals = Arrivals::default();
        arrivals.send(Unacknowledged { call: 1, copies: message(), ended: None }, false);
        if is_late {
            arrivals.time_out(6);
        }
        (6..13).for_each(|number| again(&mut arrivals, number, number - 1));
        arrivals.refuse(8, nak(20));
        arrivals
    }

    #[test]
    fn a_refusal_in_transit_may_concern_earlier_duplicates() {
        let accepted = |arrivals: &mut Arrivals| arrivals.acknowledge(12, at(40), false).unwrap().copies.acceptance();
        let refused = refused_after_going_back(true);
        assert_eq!(refused.delivery(1), Some(Delivery::Refused(nak(20))));
        let mut doubtful = refused_after_going_back(false);
        assert_eq!(doubtful.delivery(1), Some(Delivery::Unacknowledged { times: 2 }));
        assert_eq!(accepted(&mut doubtful), Acceptance::At(at(11)), "the last one");
        let mut doubtful = refused_after_going_back(false);
        (8..13).for_each(|number| again(&mut doubtful, number, number + 20));
        assert_eq!(accepted(&mut doubtful), Acceptance::Between(at(11), at(32)), "either");
    }

    /// The message was handed over when what follows the gap had come again.
    #[test]
    fn a_message_recognised_late_may_have_arrived_by_itself() {
        for (before, accepted) in [(0, Some(at(20))), (1, None)] {
            let mut arrivals = Arrivals::default();
            arrivals.refuse(8, nak(10));
            again(&mut arrivals, 8, 20);
            let copies = SentCopies::new(13, at(5), EarlierCopies { count: before, are_refused: false });
            arrivals.send(Unacknowledged { call: 1, copies, ended: None }, false);
            assert_eq!(arrivals.acknowledge(12, at(40), false).unwrap().copies.accepted(), accepted, "{before}");
        }
    }

    /// The sender goes back to the message, of one packet, when the refusal was on its way.
    #[test]
    fn the_duplicate_its_sender_went_back_to_may_be_accepted() {
        let mut arrivals = Arrivals::default();
        let copies = SentCopies::new(11, at(1), NO_COPIES);
        arrivals.send(Unacknowledged { call: 1, copies, ended: None }, false);
        for frame in [5, 20] {
            again(&mut arrivals, 10, frame);
            if frame == 5 {
                arrivals.refuse(10, nak(7));
            }
        }
        let arrived = arrivals.acknowledge(10, at(40), false).unwrap();
        assert_eq!(arrived.copies.acceptance(), Acceptance::Between(at(5), at(20)));
    }

    #[test]
    fn refusing_what_follows_a_message_says_nothing_of_its_duplicates() {
        let mut arrivals = Arrivals::default();
        arrivals.send(waiting(1), false);
        (6..14).for_each(|number| again(&mut arrivals, number, number - 1));
        arrivals.refuse(13, nak(40));
        let arrived = arrivals.acknowledge(12, at(50), false).unwrap();
        assert_eq!(arrived.copies.acceptance(), Acceptance::Between(at(1), at(11)));
    }

    /// The refusal may be of the first copy: the sender has gone back twice without having seen the refusal.
    #[test]
    fn after_two_missing_responses_a_refusal_is_ambiguous() {
        for (resent, accepted) in [(8, at(11)), (13, at(28))] {
            let mut arrivals = Arrivals::default();
            arrivals.send(Unacknowledged { call: 1, copies: message(), ended: None }, false);
            (6..13).for_each(|number| again(&mut arrivals, number, number - 1));
            (7..resent).for_each(|number| again(&mut arrivals, number, number + 16));
            arrivals.refuse(12, nak(30));
            let acceptance = arrivals.acknowledge(12, at(40), false).unwrap().copies.acceptance();
            let expected = if resent == 8 { Acceptance::At(accepted) } else { Acceptance::Between(at(11), accepted) };
            assert_eq!(acceptance, expected, "sent again up to {resent}");
        }
    }

    /// A receiver that refused a place refuses the next place only after the first came: that copy was on its way as
    /// well.
    #[test]
    fn two_refusals_may_be_on_their_way() {
        let mut arrivals = Arrivals::default();
        (6..10).for_each(|number| again(&mut arrivals, number, number - 1));
        arrivals.refuse(7, nak(20));
        (7..10).for_each(|number| again(&mut arrivals, number, number + 14));
        arrivals.send(Unacknowledged { call: 1, copies: SentCopies::new(13, at(25), NO_COPIES), ended: None }, false);
        arrivals.refuse(8, nak(26));
        assert_eq!(arrivals.delivery(1), Some(Delivery::Unknown));
        arrivals.refuse(8, nak(50));
        assert_eq!(arrivals.delivery(1), Some(Delivery::Refused(nak(50))));
    }

    /// The sender had gone back to the place 7 before the refusal of that place was captured, and gone on with a
    /// message. The receiver took the message or was not ready for the message.
    #[test]
    fn a_message_first_sent_after_going_back_is_not_refused() {
        let mut arrivals = Arrivals::default();
        arrivals.send(Unacknowledged { call: 0, copies: SentCopies::new(10, at(1), NO_COPIES), ended: None }, false);
        (6..10).for_each(|number| again(&mut arrivals, number, number - 1));
        arrivals.send(Unacknowledged { call: 1, copies: SentCopies::new(13, at(9), NO_COPIES), ended: None }, false);
        arrivals.refuse(7, nak(20));
        (8..13).for_each(|number| again(&mut arrivals, number, number + 14));
        (7..13).for_each(|number| again(&mut arrivals, number, number + 33));
        arrivals.refuse(12, PacketRefusal { kind: RecoveryKind::NotReady { wait: 1 }, stamp: at(50) });
        let mut arrived = std::iter::from_fn(|| arrivals.acknowledge(12, at(60), false));
        let acceptance = arrived.find(|arrived| arrived.call == 1).unwrap().copies.acceptance();
        assert_eq!(acceptance, Acceptance::Between(at(26), at(45)));
    }

    /// The sender has gone back once more since, so the refusal that caused the sender to go back had come.
    #[test]
    fn after_going_back_twice_a_refusal_concerns_the_earlier_duplicates() {
        let mut arrivals = refused_after_going_back(false);
        (8..13).for_each(|number| again(&mut arrivals, number, number + 20));
        arrivals.refuse(8, nak(50));
        assert_eq!(arrivals.delivery(1), Some(Delivery::Refused(nak(50))));
    }

    /// TCP: a segment that the receiver has is retransmitted in vain.
    #[test]
    fn a_retransmitted_acknowledged_segment_is_no_duplicate_of_the_next() {
        for (end, accepted) in [(10, Some(at(1))), (11, None)] {
            let mut arrivals = Arrivals::default();
            arrivals.acknowledge(9, at(1), true);
            arrivals.send(waiting(1), true);
            let backfill = Backfill { is_again: true, is_filling: false, is_missing: false, is_timed_out: false };
            arrivals.backfill(Places { first: 8, end }, at(2), backfill);
            assert_eq!(arrivals.acknowledge(12, at(9), true).unwrap().copies.accepted(), accepted, "{end}");
        }
    }

    /// Over TCP, a message behind a gap of the capture is known only when the gap is filled.
    #[test]
    fn a_message_arrives_with_what_fills_the_gap_before_it() {
        for (gap, accepted) in [(12, at(5)), (13, at(1))] {
            let mut arrivals = Arrivals::default();
            arrivals.backfill(
                place(gap),
                at(5),
                Backfill { is_again: true, is_filling: true, is_missing: false, is_timed_out: false },
            );
            arrivals.send(waiting(1), true);
            let arrived = arrivals.acknowledge(12, at(9), true).unwrap();
            assert_eq!(arrived.copies.accepted(), Some(accepted), "{gap}");
        }
    }

    /// A message behind a gap of the capture is known only when the capture ends.
    #[test]
    fn a_message_behind_a_reported_gap_is_doubtful_until_acknowledged() {
        for (acknowledged, is_doubtful) in [(7, true), (10, true), (11, false)] {
            let mut arrivals = Arrivals::default();
            arrivals.suspect(Places { first: 8, end: 12 });
            arrivals.acknowledge(acknowledged, at(3), true);
            arrivals.send(waiting(1), true);
            assert_eq!(arrivals.waiting[0].copies.is_doubtful(), is_doubtful, "{acknowledged}");
        }
    }

    /// Each message waits for what fills a gap before that message, whichever gap was filled last.
    #[test]
    fn a_message_behind_a_capture_gap_arrives_when_filled() {
        let mut arrivals = Arrivals::default();
        let backfill = Backfill { is_again: false, is_filling: true, is_missing: false, is_timed_out: false };
        arrivals.backfill(Places { first: 8, end: 10 }, at(3), backfill);
        arrivals.backfill(Places { first: 13, end: 15 }, at(4), backfill);
        arrivals.send(waiting(1), true);
        let arrived = arrivals.acknowledge(12, at(5), true).unwrap().copies;
        assert_eq!((arrived.accepted(), arrived.delivery()), (Some(at(3)), Delivery::Unknown));
    }

    fn waiting(call: u64) -> Unacknowledged {
        Unacknowledged { call, copies: message(), ended: None }
    }

    /// The message ends before the place 13.
    #[test]
    fn a_message_that_was_acknowledged_before_it_came_has_arrived() {
        for (acknowledged, has_arrived) in [(11, false), (12, true)] {
            let mut arrivals = Arrivals::default();
            arrivals.acknowledge(acknowledged, at(1), false);
            let added = arrivals.send(waiting(1), false);
            assert_eq!(matches!(added, Added::Arrived(_)), has_arrived, "{acknowledged}");
        }
    }

    #[test]
    fn of_too_many_messages_the_oldest_is_given_up() {
        let mut arrivals = Arrivals::default();
        let calls = 0..UNACKNOWLEDGED as u64;
        assert!(calls.clone().all(|call| matches!(arrivals.send(waiting(call), false), Added::Waits)));
        assert!(matches!(arrivals.send(waiting(calls.end), false), Added::GivenUp(Unacknowledged { call: 0, .. })));
    }

    #[test]
    fn a_call_that_is_given_up_takes_no_other_along() {
        let mut arrivals = Arrivals::default();
        for call in [1, 2] {
            arrivals.send(waiting(call), false);
        }
        arrivals.forget(2);
        arrivals.forget(3);
        assert_eq!([1, 2].map(|call| arrivals.delivery(call)), [Some(Delivery::Unknown), None]);
    }
}

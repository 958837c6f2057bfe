//! Arrival of calls and replies, as far as acknowledgements show it.
//!
//! A message that was sent has not always arrived: a call is the responder's only once it was accepted, and a reply
//! ends its RPC with the copy that the requester accepted. So each of them waits here until it is acknowledged.
//!
//! - An acknowledgement says that it arrived. If only one copy may have been accepted, it was that one.
//! - A negative acknowledgement says that no copy before it was accepted, and neither was what follows the place that it names.
//!   InfiniBand throws away what follows a hole; TCP keeps it, so the reply arrives with what fills the hole. If the sender had gone
//!   back before, because a response to an RDMA Read was missing, it may have been on its way already: then the copies that were sent
//!   since may have been accepted.
//! - A copy that nothing asked for leaves open which of the two was accepted.

use std::collections::VecDeque;

use super::credits::CreditAccount;
use super::timeline::Timeline;
use crate::carrier::operation::{Places, Stamp};
use crate::carrier::recovery::{Backfill, SILENCE};
use crate::rpc::transaction::Transaction;
use crate::rpc::waiting::{Delivery, Refusal};

/// The most messages of one end that wait to be acknowledged: more than are under way at a time. Past that, it is left open
/// whether the oldest arrived.
const UNACKNOWLEDGED: usize = 512;
/// The most segments that are remembered because they filled holes: more than pass before an acknowledgement.
const FILLED: usize = 64;

/// The copies of a message, and what its receiver said about them.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentCopies {
    /// The place after its last, in everything that its sender sends.
    end: u64,
    /// Number of copies that the receiver may have accepted: the ones since it last refused the message.
    candidates: u32,
    /// The first copy that the receiver may have accepted.
    candidate: Stamp,
    /// Number of copies in all.
    sent: u32,
    /// The last copy but one, and the last.
    previous: Stamp,
    last: Stamp,
    /// The place that the receiver asked for, and how, if what was sent since does not fill that hole.
    refused: Option<(u64, Refusal)>,
    hole: Hole,
}

/// Octets before the end of a message that were lost or late, and of which the capture does not show yet that they came (TCP).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hole {
    /// No octets.
    None,
    /// The receiver reported them as missing.
    Reported,
    /// Their sender retransmitted them.
    Retransmitted,
}

/// The copy of a message that its receiver accepted, as far as it is known.
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

/// Stands for the call of a reply that was sent before the capture.
pub(super) const BEFORE_CAPTURE: u64 = 0;

/// A message that was not acknowledged yet.
#[derive(Debug)]
pub(super) struct Unacknowledged {
    /// The call that it is, or that it answers.
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
    /// Number of signs of loss, when the reply was sent, that belong to no known RPC.
    pub(super) unassigned: u64,
    pub(super) credit: ReturnedCredit,
}

/// The credit that a reply returned, as long as the capture may still show that this copy of it was not accepted.
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

/// The calls and replies of one end that were not acknowledged yet, in the order of their places.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    waiting: VecDeque<Unacknowledged>,
    /// The highest place that the other end acknowledged.
    acknowledged: Option<u64>,
    /// Evidence of holes; `None` until there is some.
    holes: Option<Box<Holes>>,
    /// Octets of memory that the RPCs take.
    held: usize,
}

/// Evidence of holes in what an end sends.
#[derive(Clone, Debug, Default)]
struct Holes {
    /// The last refusal by the other end, and the place that it named.
    refused: Option<(u64, Refusal)>,
    /// The last acknowledgement that left the oldest message waiting (TCP).
    low: Option<Stamp>,
    /// The last packets that filled holes of the capture, and their places (TCP).
    filled: VecDeque<Filled>,
    /// Packets that were sent again last, if neither a refusal nor a time-out was the cause.
    unasked: Option<Unasked>,
}

/// Packets that an end sends again although nothing that was captured refused them: it went back once, or again before it was through.
#[derive(Clone, Copy, Debug)]
struct Unasked {
    /// Places of all these packets.
    places: Places,
    /// The place after the last packet.
    next: u64,
    /// The frame of the first packet.
    since: u64,
    /// The last place of them that was refused: its sender goes back to it, while what it sent since the first packet is on its way.
    refused: Option<u64>,
}

/// A TCP segment that filled a hole of the capture.
#[derive(Clone, Copy, Debug)]
struct Filled {
    places: Places,
    stamp: Stamp,
    /// True if it was sent again; otherwise it may just be late.
    is_again: bool,
}

impl Holes {
    /// A segment fills a hole of the capture. What was acknowledged before needs it no more.
    fn fill(&mut self, filled: Filled, acknowledged: u64) {
        self.filled.retain(|filled| filled.places.end > acknowledged);
        if self.filled.len() == FILLED {
            self.filled.pop_front();
        }
        self.filled.push_back(filled);
    }

    /// The last segment that filled a hole before this place.
    fn filled_before(&self, end: u64) -> Option<Filled> {
        self.filled.iter().rev().find(|filled| filled.places.first < end).copied()
    }
}

impl SentCopies {
    /// A message up to the place `end`, last captured at `stamp`, of which `before` copies were captured before; the receiver
    /// refused those if `is_refused`.
    pub(super) const fn new(end: u64, stamp: Stamp, (before, is_refused): (u32, bool)) -> Self {
        let sent = before.saturating_add(1);
        let candidates = if is_refused { 1 } else { sent };
        Self { end, candidates, candidate: stamp, sent, previous: stamp, last: stamp, refused: None, hole: Hole::None }
    }

    /// The same if the copy of its last packet that was captured here may have been accepted, or one that was sent later.
    pub(super) const fn doubtful_since(self, stamp: Stamp) -> Self {
        Self { candidates: self.candidates.saturating_add(1), candidate: stamp, ..self }
    }

    /// Returns the state of delivery while the message is not acknowledged. Over TCP, a message arrives after all octets before it.
    pub(super) const fn delivery(&self) -> Delivery {
        match (self.refused, self.sent, self.hole) {
            (Some((_, refusal)), ..) => Delivery::Refused(refusal),
            (None, 0 | 1, Hole::Retransmitted) => Delivery::Unacknowledged { times: 1 },
            (None, 0 | 1, Hole::None | Hole::Reported) => Delivery::Unknown,
            (None, times, _) => Delivery::Unacknowledged { times },
        }
    }

    /// Returns true if octets before its end were lost or late, and the capture does not show that they came (TCP).
    pub(super) const fn is_doubtful(&self) -> bool {
        !matches!(self.hole, Hole::None)
    }

    /// The copy that arrived, if the message was acknowledged and no other copy may have been accepted.
    pub(super) const fn accepted(&self) -> Option<Stamp> {
        if let Acceptance::At(stamp) = self.acceptance() { Some(stamp) } else { None }
    }

    /// The copy that arrived, if one did.
    pub(super) const fn acceptance(&self) -> Acceptance {
        match self.candidates {
            0 => Acceptance::None,
            1 => Acceptance::At(self.candidate),
            _ => Acceptance::Between(self.candidate, self.last),
        }
    }

    /// The receiver refuses it: a packet of the message, or one before it, is missing.
    const fn refuse(&mut self, place: u64, refusal: Refusal) {
        if place < self.end {
            self.refused = Some((place, refusal));
            self.candidates = 0;
        }
    }

    /// The receiver reports a hole at this place. What fills it may only be late.
    const fn suspect(&mut self, place: u64) {
        if place < self.end && matches!(self.hole, Hole::None) {
            self.hole = Hole::Reported;
        }
    }

    /// The receiver refused the copies before this frame; it may have accepted one that was sent in it, or since.
    fn doubt(&mut self, since: u64) {
        let is_since = |copy: Stamp| copy.frame >= since;
        let is_either = self.previous.frame < self.last.frame && is_since(self.previous);
        self.candidate = if is_either { self.previous } else { self.last };
        self.candidates = u32::from(is_since(self.last)) + u32::from(is_either);
    }

    /// Packets are sent again, and their receiver keeps nothing that follows a hole.
    fn again(&mut self, places: Places, stamp: Stamp) {
        if places.first >= self.end {
            return;
        }
        self.refused.take_if(|(place, _)| places.first <= *place);
        if places.end >= self.end {
            if self.refused.is_none() {
                self.add_candidate(stamp);
            }
            self.sent = self.sent.saturating_add(1);
            (self.previous, self.last) = (self.last, stamp);
        }
    }

    /// A segment is sent again. The message arrives with the last one that its receiver lacked before the end of the message: that
    /// is this one, or a later one, if the receiver is known to have lacked it. `low` is the last acknowledgement.
    fn fill(&mut self, places: Places, stamp: Stamp, is_missing: bool, low: Option<Stamp>) {
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

    /// A TCP segment with octets before its end is sent again.
    fn send_again(&mut self, places: Places, stamp: Stamp) {
        (self.last, self.hole) = (stamp, Hole::Retransmitted);
        self.sent = self.sent.saturating_add(u32::from(places.end >= self.end));
    }

    /// The message was captured before this segment, which fills a hole before its end.
    fn wait_for(&mut self, filled: &Filled) {
        self.candidate = filled.stamp;
        if filled.is_again {
            self.send_again(filled.places, filled.stamp);
        }
    }

    const fn add_candidate(&mut self, stamp: Stamp) {
        if self.candidates == 0 {
            self.candidate = stamp;
        }
        self.candidates = self.candidates.saturating_add(1);
    }
}

impl Unacknowledged {
    /// Octets of memory that it takes, if it is a reply; a call that waits counts itself.
    fn held(&self) -> usize {
        self.ended.as_ref().map_or(0, |ended| {
            let halves = [&ended.transaction.call, &ended.transaction.reply].into_iter().flatten();
            let data = halves.filter_map(|half| half.message.as_ref().ok()).map(|message| message.len());
            size_of::<Self>()
                + size_of::<EndedRpc>()
                + size_of::<Transaction>()
                + ended.timeline.held()
                + data.sum::<usize>()
        })
    }
}

impl Arrivals {
    /// Adds a message, unless it was acknowledged before it was captured.
    pub(super) fn send(&mut self, mut message: Unacknowledged, keeps: bool) -> Added {
        let copies = &mut message.copies;
        if self.acknowledged.is_some_and(|acknowledged| acknowledged + 1 >= copies.end) {
            return Added::Arrived(message);
        }
        // InfiniBand hands over what follows a hole that was never filled only at the end.
        let is_before = |(_, refusal): &(u64, Refusal)| copies.last.frame < refusal.stamp.frame;
        let refused = self.holes.as_ref().and_then(|holes| holes.refused);
        if let Some((place, refusal)) = refused.filter(|refused| !keeps && is_before(refused)) {
            copies.refuse(place, refusal);
        }
        // TCP hands over what follows a hole when the hole is filled.
        let filled = self.holes.as_ref().filter(|_| keeps).and_then(|holes| holes.filled_before(copies.end));
        if let Some(filled) = filled.filter(|filled| filled.stamp.frame > copies.candidate.frame) {
            copies.wait_for(&filled);
        }
        self.held += message.held();
        self.waiting.push_back(message);
        let is_full = self.waiting.len() > UNACKNOWLEDGED;
        if is_full { self.pop().map_or(Added::Waits, Added::GivenUp) } else { Added::Waits }
    }

    /// The other end acknowledged everything up to this place: returns the first message that has arrived by that.
    pub(super) fn acknowledge(&mut self, place: u64, stamp: Stamp, keeps: bool) -> Option<Unacknowledged> {
        self.acknowledged = self.acknowledged.max(Some(place));
        let first = self.waiting.front()?;
        if first.copies.end <= place + 1 {
            return self.pop();
        }
        if keeps {
            self.holes.get_or_insert_default().low = Some(stamp);
        }
        None
    }

    /// The oldest message that was not acknowledged.
    fn pop(&mut self) -> Option<Unacknowledged> {
        let first = self.waiting.pop_front()?;
        self.held -= first.held();
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

    /// The other end reports a hole at this place. What fills it may only be late (TCP).
    pub(super) fn suspect(&mut self, place: u64) {
        self.waiting.iter_mut().for_each(|message| message.copies.suspect(place));
    }

    /// The other end refuses what is sent from this place on.
    pub(super) fn refuse(&mut self, place: u64, refusal: Refusal) {
        let holes = self.holes.get_or_insert_default();
        // A receiver refuses a place once.
        let is_on_its_way =
            |run: &&mut Unasked| (run.places.first..run.places.end).contains(&place) && run.refused != Some(place);
        if let Some(run) = holes.unasked.as_mut().filter(is_on_its_way) {
            run.refused = Some(place);
            let since = run.since;
            let refused =
                self.waiting.iter_mut().map(|message| &mut message.copies).filter(|copies| place < copies.end);
            return refused.for_each(|copies| copies.doubt(since));
        }
        (holes.refused, holes.unasked) = (Some((place, refusal)), None);
        self.waiting.iter_mut().for_each(|message| message.copies.refuse(place, refusal));
    }

    /// The sender goes back to a place, with this frame. `is_late` says that a time-out is the cause: then no refusal is on its way.
    pub(super) fn go_back(&mut self, place: u64, frame: u64, is_late: bool) {
        if is_late {
            self.holes.iter_mut().for_each(|holes| holes.unasked = None);
            return;
        }
        let unasked = &mut self.holes.get_or_insert_default().unasked;
        // A refusal may still be of the copies before it went back for the first time.
        unasked.take_if(|run| place >= run.places.end);
        let places = Places { first: place, end: place };
        let run = unasked.get_or_insert(Unasked { places, next: place, since: frame, refused: None });
        (run.places.first, run.next) = (run.places.first.min(place), place);
    }

    /// Packets are sent again, and their receiver keeps nothing that follows a hole.
    pub(super) fn again(&mut self, places: Places, stamp: Stamp) {
        self.run_on(places);
        if !self.is_acknowledged(places) {
            self.waiting.iter_mut().for_each(|message| message.copies.again(places, stamp));
        }
    }

    /// A TCP segment with octets from before what was captured already.
    pub(super) fn backfill(&mut self, places: Places, stamp: Stamp, backfill: Backfill) {
        let Backfill { is_again, is_filling, is_missing, .. } = backfill;
        if is_filling {
            let (holes, acknowledged) = (self.holes.get_or_insert_default(), self.acknowledged.unwrap_or_default());
            holes.fill(Filled { places, stamp, is_again }, acknowledged);
        }
        self.run_on(places);
        if is_again && !self.is_acknowledged(places) {
            let low = self.holes.as_ref().and_then(|holes| holes.low);
            self.waiting.iter_mut().for_each(|message| message.copies.fill(places, stamp, is_missing, low));
        }
    }

    /// The sender goes on with what it sends again, or goes back to what was refused.
    fn run_on(&mut self, places: Places) {
        let Some(holes) = &mut self.holes else { return };
        holes.unasked.take_if(|run| places.first < run.next && run.refused != Some(places.first));
        if let Some(run) = &mut holes.unasked {
            (run.next, run.places.end) = (places.end, run.places.end.max(places.end));
        }
    }

    /// Returns the last packet that filled a hole of the receiver before this place, and was captured after this frame (TCP).
    pub(super) fn filled_after(&self, end: u64, frame: u64) -> Option<Stamp> {
        let filled =
            self.holes.as_ref()?.filled.iter().rev().find(|filled| filled.is_again && filled.places.first < end)?;
        Some(filled.stamp).filter(|stamp| stamp.frame > frame)
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

    /// The RPC of a call, if its reply was sent and not acknowledged; `use_it` may change it.
    pub(super) fn change<T>(&mut self, call: u64, use_it: impl FnOnce(&mut EndedRpc) -> T) -> Option<T> {
        let message = self.waiting.iter_mut().find(|message| message.call == call && message.ended.is_some())?;
        let before = message.held();
        let result = message.ended.as_mut().map(|ended| use_it(ended));
        self.held = self.held + message.held() - before;
        result
    }

    /// The replies to known calls that were not acknowledged, in the order of their places.
    pub(super) fn replies(&mut self) -> impl Iterator<Item = (u64, Acceptance, &mut EndedRpc)> {
        let waiting = self.waiting.iter_mut().filter(|message| message.call != BEFORE_CAPTURE);
        waiting.filter_map(|message| Some((message.call, message.copies.acceptance(), &mut **message.ended.as_mut()?)))
    }

    /// Octets of memory that replies take here.
    pub(super) const fn held(&self) -> usize {
        self.held
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::carrier::recovery::RecoveryKind;

    fn at(time: u64) -> Stamp {
        Stamp { frame: time, time: crate::file::Time(time * 1_000_000) }
    }

    fn nak(time: u64) -> Refusal {
        Refusal { kind: RecoveryKind::SequenceError, stamp: at(time) }
    }

    /// A message in the places 10 to 12 that was captured at 1 ms.
    fn message() -> SentCopies {
        SentCopies::new(13, at(1), (0, false))
    }

    fn place(first: u64) -> Places {
        Places::one(first)
    }

    #[test]
    fn of_one_copy_the_only_one_was_accepted() {
        assert_eq!(message().accepted(), Some(at(1)));
        assert_eq!(message().delivery(), Delivery::Unknown);
    }

    #[test]
    fn a_copy_that_nothing_asked_for_leaves_open_which_was_accepted() {
        for keeps in [false, true] {
            let mut message = message();
            if keeps {
                message.fill(place(12), at(5), false, None);
            } else {
                message.again(place(12), at(5));
            }
            assert_eq!((message.accepted(), message.delivery()), (None, Delivery::Unacknowledged { times: 2 }));
        }
    }

    #[test]
    fn infiniband_discards_what_follows_a_hole_until_the_hole_is_filled() {
        let mut message = message();
        message.refuse(8, nak(2));
        assert_eq!(message.delivery(), Delivery::Refused(nak(2)));
        // It was on its way when the other end refused it.
        message.again(place(12), at(3));
        assert_eq!(message.accepted(), None);
        for (number, time) in (8..13).zip(4..) {
            assert_eq!(message.accepted(), None);
            message.again(place(number), at(time));
        }
        assert_eq!(message.accepted(), Some(at(8)));
        message.refuse(13, nak(9));
        assert_eq!(message.accepted(), Some(at(8)), "what follows it is missing");
    }

    /// The receiver refuses the place 8 when its sender has just gone back to the place 6, because a response was missing or a time-out.
    fn refused_after_going_back(is_late: bool) -> Arrivals {
        let mut arrivals = Arrivals::default();
        arrivals.send(Unacknowledged { call: 1, copies: message(), ended: None }, false);
        arrivals.go_back(6, 5, is_late);
        (6..13).for_each(|number| arrivals.again(place(number), at(number - 1)));
        arrivals.refuse(8, nak(20));
        arrivals
    }

    #[test]
    fn a_refusal_that_was_on_its_way_may_be_of_copies_before() {
        let accepted = |arrivals: &mut Arrivals| arrivals.acknowledge(12, at(40), false).unwrap().copies.acceptance();
        let refused = refused_after_going_back(true);
        assert_eq!(refused.delivery(1), Some(Delivery::Refused(nak(20))));
        let mut doubtful = refused_after_going_back(false);
        assert_eq!(doubtful.delivery(1), Some(Delivery::Unacknowledged { times: 2 }));
        assert_eq!(accepted(&mut doubtful), Acceptance::At(at(11)), "the last one");
        let mut doubtful = refused_after_going_back(false);
        (8..13).for_each(|number| doubtful.again(place(number), at(number + 20)));
        assert_eq!(accepted(&mut doubtful), Acceptance::Between(at(11), at(32)), "either");
    }

    #[test]
    fn a_message_behind_a_hole_was_accepted_with_its_own_copy_or_with_what_filled_the_hole() {
        let copies = SentCopies::new(13, at(9), (0, false)).doubtful_since(at(5));
        assert_eq!(copies.acceptance(), Acceptance::Between(at(5), at(9)));
    }

    /// The sender goes back to the message itself, of one packet, when the refusal was on its way.
    #[test]
    fn the_copy_that_its_sender_went_back_to_may_have_been_accepted() {
        let mut arrivals = Arrivals::default();
        let copies = SentCopies::new(11, at(1), (0, false));
        arrivals.send(Unacknowledged { call: 1, copies, ended: None }, false);
        arrivals.go_back(10, 5, false);
        for frame in [5, 20] {
            arrivals.again(place(10), at(frame));
            if frame == 5 {
                arrivals.refuse(10, nak(7));
            }
        }
        let arrived = arrivals.acknowledge(10, at(40), false).unwrap();
        assert_eq!(arrived.copies.acceptance(), Acceptance::Between(at(5), at(20)));
    }

    #[test]
    fn a_refusal_of_what_follows_a_message_says_nothing_of_its_copies() {
        let mut arrivals = Arrivals::default();
        arrivals.send(waiting(1), false);
        arrivals.go_back(6, 5, false);
        (6..14).for_each(|number| arrivals.again(place(number), at(number - 1)));
        arrivals.refuse(13, nak(40));
        let arrived = arrivals.acknowledge(12, at(50), false).unwrap();
        assert_eq!(arrived.copies.acceptance(), Acceptance::Between(at(1), at(11)));
    }

    /// The refusal may be of the copy that was sent first: its sender has gone back twice without having seen it.
    #[test]
    fn a_refusal_after_two_responses_were_missing_may_be_of_copies_before_either() {
        for (resent, accepted) in [(8, at(11)), (13, at(28))] {
            let mut arrivals = Arrivals::default();
            arrivals.send(Unacknowledged { call: 1, copies: message(), ended: None }, false);
            arrivals.go_back(6, 5, false);
            (6..13).for_each(|number| arrivals.again(place(number), at(number - 1)));
            arrivals.go_back(7, 22, false);
            (7..resent).for_each(|number| arrivals.again(place(number), at(number + 16)));
            arrivals.refuse(12, nak(30));
            let acceptance = arrivals.acknowledge(12, at(40), false).unwrap().copies.acceptance();
            let expected = if resent == 8 { Acceptance::At(accepted) } else { Acceptance::Between(at(11), accepted) };
            assert_eq!(acceptance, expected, "sent again up to {resent}");
        }
    }

    /// A receiver that refused a place refuses the next one only after the first came: that copy was on its way as well.
    #[test]
    fn two_refusals_may_be_on_their_way() {
        let mut arrivals = Arrivals::default();
        arrivals.go_back(6, 5, false);
        (6..10).for_each(|number| arrivals.again(place(number), at(number - 1)));
        arrivals.refuse(7, nak(20));
        (7..10).for_each(|number| arrivals.again(place(number), at(number + 14)));
        arrivals.send(Unacknowledged { call: 1, copies: SentCopies::new(13, at(25), (0, false)), ended: None }, false);
        arrivals.refuse(8, nak(26));
        assert_eq!(arrivals.delivery(1), Some(Delivery::Unknown));
        arrivals.refuse(8, nak(50));
        assert_eq!(arrivals.delivery(1), Some(Delivery::Refused(nak(50))));
    }

    /// The sender has gone back once more since, so the refusal that made it do so had come.
    #[test]
    fn a_refusal_after_the_sender_went_back_twice_is_of_the_copies_before() {
        let mut arrivals = refused_after_going_back(false);
        (8..13).for_each(|number| arrivals.again(place(number), at(number + 20)));
        arrivals.refuse(8, nak(50));
        assert_eq!(arrivals.delivery(1), Some(Delivery::Refused(nak(50))));
    }

    /// TCP: a segment that the receiver has is sent again in vain.
    #[test]
    fn what_was_acknowledged_and_is_sent_again_is_no_copy_of_what_follows() {
        for (end, accepted) in [(10, Some(at(1))), (11, None)] {
            let mut arrivals = Arrivals::default();
            arrivals.acknowledge(9, at(1), true);
            arrivals.send(waiting(1), true);
            let backfill = Backfill { is_again: true, is_filling: false, is_missing: false, is_timed_out: false };
            arrivals.backfill(Places { first: 8, end }, at(2), backfill);
            assert_eq!(arrivals.acknowledge(12, at(9), true).unwrap().copies.accepted(), accepted, "{end}");
        }
    }

    /// Over TCP, a message behind a hole of the capture is known only when the hole is filled.
    #[test]
    fn a_message_arrives_with_what_fills_a_hole_before_its_end() {
        for (hole, accepted) in [(12, at(5)), (13, at(1))] {
            let mut arrivals = Arrivals::default();
            arrivals.backfill(
                place(hole),
                at(5),
                Backfill { is_again: true, is_filling: true, is_missing: false, is_timed_out: false },
            );
            arrivals.send(waiting(1), true);
            let arrived = arrivals.acknowledge(12, at(9), true).unwrap();
            assert_eq!(arrived.copies.accepted(), Some(accepted), "{hole}");
        }
    }

    #[test]
    fn tcp_keeps_what_follows_a_hole() {
        let mut message = message();
        message.refuse(8, nak(2));
        message.fill(Places { first: 8, end: 10 }, at(3), false, None);
        assert_eq!(message.accepted(), Some(at(3)));
        let behind = Delivery::Unacknowledged { times: 1 };
        assert_eq!((message.delivery(), message.is_doubtful()), (behind, true), "the hole is filled");
        message.fill(Places { first: 11, end: 12 }, at(4), true, None);
        assert_eq!(message.accepted(), Some(at(4)), "another hole");
        message.fill(Places { first: 12, end: 13 }, at(5), false, None);
        assert_eq!(message.acceptance(), Acceptance::Between(at(4), at(5)), "nothing asked for that");
        assert_eq!(message.delivery(), Delivery::Unacknowledged { times: 2 });
    }

    #[test]
    fn a_segment_behind_the_hole_does_not_fill_it() {
        let mut message = message();
        message.refuse(8, nak(2));
        message.fill(Places { first: 11, end: 13 }, at(3), false, None);
        assert_eq!(message.delivery(), Delivery::Refused(nak(2)));
    }

    #[test]
    fn an_acknowledgement_that_stays_below_shows_that_a_segment_did_not_arrive() {
        for (low, expected) in [(Some(at(3)), Some(at(500))), (Some(at(1)), None), (None, None)] {
            let mut message = message();
            message.fill(Places { first: 10, end: 13 }, at(500), false, low);
            assert_eq!(message.accepted(), expected, "{low:?}");
        }
    }

    /// Each message waits for what fills a hole before it, whichever hole was filled last.
    #[test]
    fn a_message_behind_a_hole_of_the_capture_arrives_with_what_fills_it() {
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

//! Deliveries of calls and replies: a message waits until the receiver has acknowledged the message, and an RPC ends when its
//! reply has arrived.

use super::arrivals::{Added, Arrivals, BEFORE_CAPTURE, EndedRpc, ReturnedCredit, Unacknowledged};
use super::assembly::Span;
use super::credit_account::CreditAccount;
use super::credits::CreditRecount;
use super::sent_copies::{Acceptance, EarlierCopies, SentCopies};
use super::state::{Context, Session};
use super::timeline::{SentPlaces, Timeline};
use crate::carrier::acknowledgement::Acknowledgement;
use crate::carrier::operation::{Origin, Places, Side, Sides, Stamp};
use crate::event::{Event, Recounted};
use crate::rpc::message::{Captured, Message};
use crate::rpc::phases::NotTimed;
use crate::rpc::steps::PacketRun;
use crate::rpc::transaction::Transaction;
use crate::rpc::waiting::{Delivery, Owed, OwedUnknown, Step, WaitEnd, Waiting};

/// A reply that was not acknowledged, and will not be.
pub(super) struct LostReply {
    pub(super) end: WaitEnd,
    pub(super) owed: Owed,
    pub(super) delivery: Delivery,
}

impl Session {
    /// Returns the places of a packet, and what filled the last gap before the packet.
    #[inline]
    pub(super) fn sent(&self, from: Side, places: Places, stamp: Stamp) -> SentPlaces {
        SentPlaces { from, places, filled: self.arrivals.get(from).filled_after(places.end, stamp.frame) }
    }

    /// A call waits to be acknowledged.
    pub(super) fn await_acknowledgement(&mut self, id: u64, context: &mut Context<'_>) {
        let Some(call) = self.calls.get(id).filter(|call| call.answers.is_none()) else { return };
        let requester = call.message.sender;
        let copies = self.copies(&call.message);
        self.await_arrival(requester, Unacknowledged { call: id, copies, ended: None }, context);
    }

    /// Takes the reply to a call: the RPC ends when the reply arrives.
    pub(super) fn await_end(
        &mut self,
        message: &Message,
        call: u64,
        transaction: Transaction,
        timeline: Timeline,
        before: CreditAccount,
        context: &mut Context<'_>,
    ) {
        let unassigned = self.recoveries.unassigned;
        let copies = self.copies(message);
        // InfiniBand throws away what follows a gap, so a later copy may be the accepted one, unless only the capture has the gap.
        let Span { ended, first_sent, .. } = self.sends.current.span;
        let has_gap = first_sent.is_some() && message.stamp.frame < ended.frame;
        let is_behind_gap = (has_gap || timeline.recovered_after(ended)) && !self.keeps;
        let copies = if is_behind_gap { copies.doubtful_since(message.stamp) } else { copies };
        self.credits.keep_answer(message.sender.other());
        let credit = self.returned_credit(message, before);
        let ended = Some(Box::new(EndedRpc { transaction: Box::new(transaction), timeline, unassigned, credit }));
        self.await_arrival(message.sender, Unacknowledged { call, copies, ended }, context);
    }

    /// A reply was sent whose call was sent before the capture: the RPC ends when the reply arrives.
    pub(super) fn await_joined(
        &mut self,
        message: &Message,
        transaction: Transaction,
        before: CreditAccount,
        context: &mut Context<'_>,
    ) {
        let mut timeline = Timeline::new(self.sends.current.span, None);
        timeline.refuse(NotTimed::CallMissing);
        let credit = self.returned_credit(message, before);
        let (transaction, unassigned) = (Box::new(transaction), self.recoveries.unassigned);
        let ended = Some(Box::new(EndedRpc { transaction, timeline, unassigned, credit }));
        let copies = self.copies(message);
        self.await_arrival(message.sender, Unacknowledged { call: BEFORE_CAPTURE, copies, ended }, context);
    }

    /// Returns the credit that a reply has just returned. `before` is the requester's account before that.
    fn returned_credit(&self, message: &Message, before: CreditAccount) -> ReturnedCredit {
        let counted = Acceptance::At(self.sends.current.span.ended);
        ReturnedCredit { before, granted: message.credits(), last_call: self.calls.last(), counted }
    }

    /// Counts the credits of an end again if replies to that end were not accepted when the account counted the
    /// replies.
    pub(super) fn recount_credits(&mut self, requester: Side, stamp: Stamp, context: &mut Context<'_>) {
        let arrivals = self.arrivals.get_mut(requester.other());
        let recount = self.credits.recount(requester, stamp.time, arrivals, &mut self.calls);
        if let Some((connection, recount)) = self.number.zip(recount) {
            let CreditRecount { since, waited_ns, at_limit_ns, credit_use } = recount;
            let recounted = Recounted { connection, requester, stamp, since, waited_ns, at_limit_ns, credit_use };
            context.events.push_back(Event::Recounted(recounted));
        }
    }

    /// Extends the wait of an RPC whose call was sent before the capture to the packet that ended the RPC, if that
    /// packet is known.
    fn join_until(&self, transaction: &mut Transaction, accepted: Option<Stamp>) {
        let responder = transaction.requester.other();
        if let (Some(joined), Some(wait), Some(accepted)) = (&self.joined, &mut transaction.joined, accepted)
            && accepted.frame > wait.until.frame
        {
            **wait = joined.wait_until(responder, accepted);
        }
    }

    /// The copies of the message that is looked at.
    fn copies(&self, message: &Message) -> SentCopies {
        let Span { ended, first_sent, .. } = self.sends.current.span;
        // If its end was not captured, there is at least one more packet or octet.
        let end = self.sends.current.places.end + u64::from(message.captured == Captured::Head);
        let earlier = EarlierCopies { count: message.retransmitted, are_refused: first_sent.is_some() };
        SentCopies::new(end, ended, earlier)
    }

    fn await_arrival(&mut self, sender: Side, message: Unacknowledged, context: &mut Context<'_>) {
        let keeps = self.keeps;
        match self.arrivals.get_mut(sender).send(message, keeps) {
            Added::Waits => self.recount_credits(sender.other(), self.sends.current.span.ended, context),
            Added::Arrived(message) => self.arrived(message, context),
            Added::GivenUp(Unacknowledged { copies, ended, .. }) => {
                if let Some(ended) = ended {
                    self.settle_reply(copies, *ended, WaitEnd::GivenUp, context);
                }
            }
        }
    }

    /// Takes an acknowledgement by an end of what the other end sends.
    pub(crate) fn acknowledged(&mut self, by: Origin, acknowledgement: Acknowledgement, context: &mut Context<'_>) {
        let (Origin { from, stamp }, Acknowledgement { place, is_bare }) = (by, acknowledgement);
        self.coverage.speak(from);
        self.refusals.accept(self.number, from.other(), place, context.events);
        let keeps = self.keeps;
        while let Some(mut arrived) = self.arrivals.get_mut(from.other()).acknowledge(place, stamp, keeps) {
            if let Some(least) = self.clocks.least_round_trip(from) {
                arrived.copies.answered(stamp.time, least);
            }
            // If the responder has done something before, that shows the arrival already.
            if arrived.ended.is_none() && is_bare {
                self.calls.change(arrived.call, |call, held| {
                    if call.responder_last.is_none() {
                        call.timeline.log(PacketRun::one(from, Some(Step::Acknowledgement), stamp, 0), held);
                    }
                });
            }
            self.arrived(arrived, context);
        }
    }

    /// A call or a reply arrived.
    fn arrived(&mut self, message: Unacknowledged, context: &mut Context<'_>) {
        let Unacknowledged { call, copies, ended } = message;
        match ended {
            Some(mut ended) => {
                ended.transaction.is_acknowledged = true;
                self.end_rpc(*ended, Ok(copies.accepted()), context);
            }
            None => {
                if let Some(call) = self.calls.get_mut(call) {
                    // TCP acknowledges octets, so of a call whose end the capture lacks, it may have acknowledged a part.
                    call.is_accepted = !self.keeps || call.message.captured != Captured::Head;
                }
            }
        }
    }

    /// Replies that were not acknowledged will not be: `end` says why.
    pub(super) fn settle_replies(&mut self, end: WaitEnd, context: &mut Context<'_>) {
        let Sides { active, passive } = &mut *self.arrivals;
        let mut replies: Vec<_> = [active, passive].into_iter().flat_map(Arrivals::take_replies).collect();
        replies.sort_by_key(|(_, ended)| ended.transaction.reply.as_ref().map(|reply| reply.stamp.frame));
        for (copies, ended) in replies {
            self.settle_reply(copies, *ended, end, context);
        }
    }

    /// A reply that was not acknowledged will not be: `end` says why.
    fn settle_reply(&mut self, copies: SentCopies, ended: EndedRpc, end: WaitEnd, context: &mut Context<'_>) {
        let delivery = copies.delivery();
        let outcome = match delivery {
            _ if end == WaitEnd::GivenUp => Ok(copies.accepted().filter(|_| !copies.is_doubtful())),
            Delivery::Unknown if copies.is_doubtful() => Err(Owed::Unknown(OwedUnknown::GapReported)),
            Delivery::Accepted | Delivery::Unknown => Ok(copies.accepted()),
            Delivery::Refused(refusal) => Err(Owed::ReplyAgain(refusal)),
            Delivery::Unacknowledged { times } => Err(Owed::ReplyArrival(times)),
        };
        self.end_rpc(ended, outcome.map_err(|owed| LostReply { end, owed, delivery }), context);
    }

    /// Ends an RPC whose reply was sent: with the packet that completed the RPC, if known, or without such a packet.
    pub(super) fn end_rpc(
        &mut self,
        ended: EndedRpc,
        outcome: Result<Option<Stamp>, LostReply>,
        context: &mut Context<'_>,
    ) {
        let EndedRpc { mut transaction, mut timeline, unassigned, .. } = ended;
        let since = self.recoveries.unassigned - unassigned;
        match outcome {
            Ok(accepted) => {
                if transaction.reply.as_ref().is_some_and(|reply| self.clocks.is_late(reply.stamp.frame)) {
                    timeline.refuse(NotTimed::OutOfOrder);
                }
                timeline.arrive(accepted, since);
                transaction.take_time(timeline, accepted);
                self.join_until(&mut transaction, accepted);
                transaction.round_trips = self.clocks.round_trips(transaction.requester);
                self.clocks.see_end(self.client.unwrap_or(Side::Active), &transaction);
                if self.clocks.are_two() {
                    transaction.forget_times();
                }
            }
            // Without its call, the RPC is known by its reply alone.
            Err(_) if transaction.call.is_none() => {}
            Err(LostReply { end, owed, delivery: reply_delivery }) => {
                let owed = if end == WaitEnd::Capture { owed } else { Owed::over(end) };
                let credits = self.credits.usage(transaction.requester);
                transaction.lose_reply(timeline, |requester, responder| Waiting {
                    end,
                    requester,
                    responder,
                    delivery: Delivery::Accepted,
                    reply_delivery: Some(reply_delivery),
                    owed,
                    credits,
                });
            }
        }
        context.give(transaction);
    }
}

//! Indications of loss, and the RPC of each.
//!
//! An indication names a place in what an end sends. The session remembers the first place of each message and of each
//! RDMA operation, and the call of each. An indication may come before the operation that is its subject, because what
//! the receiver refused is used only when the packet comes again; then the indication waits.

use super::arrivals::{
    Acceptance, Added, Arrivals, BEFORE_CAPTURE, EarlierCopies, EndedRpc, Retransmitted, ReturnedCredit, SentCopies,
    Unacknowledged,
};
use super::assembly::Span;
use super::call::Call;
use super::credit_account::CreditAccount;
use super::credits::CreditRecount;
use super::owners::{Owner, WAITING, WaitingSign};
use super::state::{Context, Session};
use super::timeline::{FilledHole, InOrder, RepeatedPacket, SentPlaces, Timeline};
use crate::carrier::acknowledgement::Acknowledgement;
use crate::carrier::operation::{Operation, OperationKind, OperationType, Origin, Places, Side, Sides, Stamp};
use crate::carrier::recovery::{AgainFor, Backfill, RecoveryKind, Sign};
use crate::event::{Event, Recounted, Recovered, RefusedCall};
use crate::file::Time;
use crate::rpc::credits::CreditLimit;
use crate::rpc::message::{Captured, Message};
use crate::rpc::phases::NotTimed;
use crate::rpc::steps::PacketRun;
use crate::rpc::transaction::Transaction;
use crate::rpc::waiting::{Delivery, Owed, OwedUnknown, Refusal, Step, WaitEnd, Waiting};

/// A reply that was not acknowledged, and will not be.
pub(super) struct LostReply {
    pub(super) end: WaitEnd,
    pub(super) owed: Owed,
    pub(super) delivery: Delivery,
}

impl Session {
    /// Notes the owner of the data that an end sends from a place on.
    #[inline]
    pub(super) fn own(&mut self, from: Side, owner: Owner) {
        if !self.recoveries.is_wanted {
            return;
        }
        self.recoveries.owners.get_mut(from).note(owner);
    }

    /// Notes this call as the owner of the data that an end sends from a place on.
    #[inline]
    pub(super) fn own_for(&mut self, from: Side, first: u64, call: u64) {
        if !self.recoveries.is_wanted {
            return;
        }
        let message = self.calls.get(call).map(|call| &call.message);
        let (xid, requester) = (message.map(Message::xid), message.map(|message| message.sender));
        let owner = Owner { first, call: Some(call), xid, requester };
        self.own(from, owner);
        if let Some(earlier) = self.sends.current.earlier_parts {
            self.recoveries.owners.get_mut(from).claim(earlier, owner);
        }
    }

    /// Notes that the data an end sends next belongs to no known call, up to the beginning of the next operation.
    pub(super) fn own_unknown(&mut self, from: Side) {
        let first = self.recoveries.owners.get(from).known;
        self.own(from, Owner::unknown(first));
    }

    /// Takes an indication of loss. The packet before the indication of the same sender came at the time `after`, if
    /// the connection was joined.
    pub(super) fn recover(&mut self, operation: &Operation<'_>, after: Time, context: &mut Context<'_>) {
        self.data_flows.disturb();
        let Operation { from, stamp, places, kind, .. } = *operation;
        let (of, place, sign, operation, missing) = match kind {
            OperationKind::Sign { of, place, sign, operation, missing } => (of, place, sign, operation, missing),
            OperationKind::Backfill(backfill) => {
                return self.backfill(Origin { from, stamp }, places, backfill, context);
            }
            OperationKind::Missing => {
                let refusal = Refusal { kind: RecoveryKind::SequenceError, stamp };
                self.arrivals.get_mut(from.other()).refuse(places.first, refusal);
                return self.recount_credits(from, stamp, context);
            }
            _ => return,
        };
        let is_of_use = sign != Sign::Discarded || context.steps.is_any();
        // Signs before the first message of a connection wait until that shows that it carries RPC-over-RDMA.
        let is_wanted = self.recoveries.is_wanted || (self.number.is_none() && context.recovery);
        if !is_wanted || !is_of_use {
            return;
        }
        let mut waiting = WaitingSign {
            from,
            stamp,
            after,
            of,
            place,
            end: None,
            sign,
            operation,
            missing,
            times: None,
            again_for: AgainFor::Loss,
            refused: None,
            xid: None,
            requester: None,
        };
        if let Sign::Recovery(kind) = sign {
            waiting.again_for = self.recoveries.reason(of, place, kind);
            self.note_arrivals(&waiting, places, kind, context);
            waiting.end = (kind.is_sent_again() && self.keeps).then_some(places.end);
            let is_counted = kind.is_sent_again() && context.recovery;
            waiting.times = is_counted.then(|| self.recoveries.send_again(from, of, place));
            let is_not_ready = matches!(kind, RecoveryKind::NotReady { .. });
            waiting.refused = if is_not_ready { self.refused_call(of, place) } else { None };
        }
        if place < self.recoveries.owners.get(of).known {
            self.assign(&mut waiting);
        }
        self.recoveries.waiting.push_back(waiting);
        self.report(context);
    }

    /// Returns the places of a packet, and what filled the last gap before the packet.
    #[inline]
    pub(super) fn sent(&self, from: Side, places: Places, stamp: Stamp) -> SentPlaces {
        SentPlaces { from, places, filled: self.arrivals.get(from).filled_after(places.end, stamp.frame) }
    }

    /// Returns the call at this place for which the receiver was not ready. Returns `None` if there is no such call, or
    /// if calls or credits of the requester may not be known.
    fn refused_call(&self, requester: Side, place: u64) -> Option<RefusedCall> {
        let owners = self.recoveries.owners.get(requester);
        let owner = owners.find(place).filter(|owner| place < owners.known && owner.requester == Some(requester))?;
        let usage = self.credits.usage(requester);
        let granted = usage.granted.filter(|_| usage.limit != CreditLimit::Unknown)?.get();
        let before = self.calls.range(..owner.call?).map(|(_, call)| call);
        let taken = before.filter(|call| call.message.sender == requester && call.answers.is_none()).count();
        Some(RefusedCall { taken: u32::try_from(taken).ok()?, granted })
    }

    /// Notes that everything that an end sent up to the end of these places is known. Indications that waited for this
    /// are assigned to the calls of the end.
    #[inline]
    pub(super) fn settle(&mut self, from: Side, places: Places, context: &mut Context<'_>) {
        let known = &mut self.recoveries.owners.get_mut(from).known;
        *known = places.end.max(*known);
        if !self.recoveries.waiting.is_empty() && self.number.is_some() {
            self.assign_waiting(context);
        }
    }

    /// Assigns the indications whose subject is known, and reports the assigned indications.
    pub(super) fn assign_waiting(&mut self, context: &mut Context<'_>) {
        let mut waiting = core::mem::take(&mut self.recoveries.waiting);
        let Sides { active, passive } = &self.recoveries.owners;
        let known = Sides { active: active.known, passive: passive.known };
        for sign in waiting.iter_mut().filter(|sign| sign.xid.is_none() && sign.place < *known.get(sign.of)) {
            self.assign(sign);
        }
        self.recoveries.waiting = waiting;
        self.report(context);
    }

    /// Settles the indications that still wait: their subject will not be known.
    pub(super) fn settle_all(&mut self, context: &mut Context<'_>) {
        if self.number.is_none() {
            return self.recoveries.waiting.clear();
        }
        let mut waiting = core::mem::take(&mut self.recoveries.waiting);
        waiting.iter_mut().filter(|sign| sign.xid.is_none()).for_each(|sign| self.assign(sign));
        self.recoveries.waiting = waiting;
        self.report(context);
    }

    /// Counts an indication for the RPC of the subject.
    fn assign(&mut self, sign: &mut WaitingSign) {
        let WaitingSign { from, stamp, after, of, place, sign: shown, operation, again_for, .. } = *sign;
        let owners = self.recoveries.owners.get(of);
        let owner = owners.find(place).filter(|_| place < owners.known).copied();
        self.recoveries.unassigned += u64::from(owner.is_none() && shown != Sign::Discarded);
        let id = owner.and_then(|owner| owner.call).filter(|id| self.calls.get(*id).is_some());
        if let Some(id) = id {
            self.recover_call(id, sign);
        } else if let Some((id, requester)) = owner.and_then(|owner| owner.call.zip(owner.requester)) {
            // The reply was sent, and did not arrive yet.
            self.arrivals.get_mut(requester.other()).change(id, |ended| {
                if let Sign::Recovery(kind) = shown {
                    ended.timeline.recover(kind, again_for, stamp);
                }
                let step = operation.map(|operation| step(operation, from == requester));
                ended.timeline.log(PacketRun::shown(shown, Origin { from, stamp }, step), &mut 0);
            });
        } else if let Sign::Recovery(kind) = shown {
            self.joined.iter_mut().for_each(|joined| joined.recover(of, kind, after, stamp));
        }
        sign.xid = Some(owner.and_then(|owner| owner.xid));
        sign.requester = owner.and_then(|owner| owner.requester);
    }

    /// Counts an indication for a call that waits.
    fn recover_call(&mut self, id: u64, sign: &WaitingSign) {
        let WaitingSign { from, stamp, place, sign: shown, operation, again_for, .. } = *sign;
        let is_last = operation == Some(OperationType::ReadResponse) && self.calls.ends_read(id, place);
        self.calls.change(id, |call, held| {
            if let Sign::Recovery(kind) = shown {
                call.timeline.recover(kind, again_for, stamp);
                if let Some(operation) = operation.filter(|_| kind.is_sent_again()) {
                    let is_outstanding = call.is_pulled();
                    call.timeline.repeat(&RepeatedPacket { operation, place, is_last, is_outstanding, stamp });
                }
                if kind.is_sent_again() && from != call.requester() {
                    call.timeline.note_again(place);
                }
            }
            let step = operation.map(|operation| step(operation, from == call.requester()));
            call.timeline.log(PacketRun::shown(shown, Origin { from, stamp }, step), held);
        });
    }

    /// Reports the assigned indications, in the order in which the indications were captured.
    fn report(&mut self, context: &mut Context<'_>) {
        while let Some(first) = self.recoveries.waiting.front() {
            let is_due = first.xid.is_some() && self.number.is_some();
            if !is_due && self.recoveries.waiting.len() <= WAITING {
                return;
            }
            let Some(mut sign) = self.recoveries.waiting.pop_front() else { return };
            if sign.xid.is_none() {
                self.assign(&mut sign);
            }
            let Some((number, ends)) = self.number.zip(self.addresses).filter(|_| context.recovery) else { continue };
            let Sign::Recovery(kind) = sign.sign else { continue };
            if self.clocks.are_two() && !kind.is_refusal() {
                continue;
            }
            let WaitingSign { from, stamp, of, place, end, operation, missing, times, again_for, refused, .. } = sign;
            context.events.push_back(Event::Recovery(Recovered {
                stamp,
                connection: number,
                from: *ends.get(from),
                to: *ends.get(from.other()),
                kind,
                place: (*ends.get(of), place),
                end,
                operation: operation.filter(|_| times.is_some()),
                times,
                again_for: times.map(|_| again_for),
                missing,
                refused,
                xid: sign.xid.flatten(),
                requester: sign.requester.map(|side| *ends.get(side)),
                client: self.client.map(|side| *ends.get(side)),
            }));
        }
    }

    /// Takes what an indication says of arrivals: which packets were refused, and which fill a gap.
    fn note_arrivals(&mut self, sign: &WaitingSign, places: Places, kind: RecoveryKind, context: &mut Context<'_>) {
        let WaitingSign { from, stamp, of, place, operation, again_for, .. } = *sign;
        let filled = FilledHole { stamp, again_for };
        let arrivals = self.arrivals.get_mut(of);
        if of == from && matches!(kind, RecoveryKind::TimedOut { .. }) {
            arrivals.time_out(places.first);
        } else if of == from && kind.is_sent_again() && !self.keeps {
            let is_replaced = kind == RecoveryKind::Replaced;
            if arrivals.again(places, stamp, Retransmitted { is_replaced, again_for }) {
                let timelines = self.calls.iter_mut().map(|call| &mut call.timeline);
                timelines.for_each(|timeline| timeline.fill(InOrder::SentBy(from), place, filled));
            }
            self.recount_credits(of.other(), stamp, context);
        } else if of != from && kind.is_refusal() {
            match self.keeps {
                true => arrivals.suspect(places),
                false => arrivals.refuse(place, Refusal { kind, stamp }),
            }
            self.recount_credits(of.other(), stamp, context);
        }
        // RDMA Reads are completed in the order of their requests.
        let is_read = matches!(operation, Some(OperationType::ReadRequest | OperationType::ReadResponse));
        if is_read && kind.is_sent_again() && !self.keeps {
            let calls = self.calls.iter_mut().filter(|call| call.requester() != of);
            calls.for_each(|call| call.timeline.fill(InOrder::Responses, place, filled));
        }
    }

    /// Takes a TCP segment with octets that were captured before, or that others follow which were captured before.
    fn backfill(&mut self, origin: Origin, places: Places, backfill: Backfill, context: &mut Context<'_>) {
        let Origin { from, stamp } = origin;
        self.arrivals.get_mut(from).backfill(places, stamp, backfill);
        if !self.arrivals.get(from).is_acknowledged(places) {
            let filled = FilledHole { stamp, again_for: AgainFor::Loss };
            for Call { timeline, .. } in self.calls.iter_mut() {
                match backfill.is_filling_hole() {
                    true => timeline.fill(InOrder::SentBy(from), places.first, filled),
                    false if backfill.is_again => timeline.await_data(from, places.first, stamp),
                    false => {}
                }
            }
        }
        self.recount_credits(from.other(), stamp, context);
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
        let has_hole = first_sent.is_some() && message.stamp.frame < ended.frame;
        let is_behind_hole = (has_hole || timeline.recovered_after(ended)) && !self.keeps;
        let copies = if is_behind_hole { copies.doubtful_since(message.stamp) } else { copies };
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
    fn recount_credits(&mut self, requester: Side, stamp: Stamp, context: &mut Context<'_>) {
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
        self.refusals.accept(self.number, from.other(), place, context);
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
                self.end(*ended, Ok(copies.accepted()), context);
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
            Delivery::Unknown if copies.is_doubtful() => Err(Owed::Unknown(OwedUnknown::HoleReported)),
            Delivery::Accepted | Delivery::Unknown => Ok(copies.accepted()),
            Delivery::Refused(refusal) => Err(Owed::ReplyAgain(refusal)),
            Delivery::Unacknowledged { times } => Err(Owed::ReplyArrival(times)),
        };
        self.end(ended, outcome.map_err(|owed| LostReply { end, owed, delivery }), context);
    }

    /// Ends an RPC whose reply was sent: with the packet that completed the RPC, if known, or without such a packet.
    pub(super) fn end(
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

/// Returns the step of a packet for an RPC.
const fn step(operation: OperationType, is_requester: bool) -> Step {
    match operation {
        OperationType::Send if is_requester => Step::Call,
        OperationType::Send => Step::Reply,
        OperationType::Write => Step::Write,
        OperationType::ReadRequest => Step::ReadRequest,
        OperationType::ReadResponse => Step::ReadResponse,
    }
}

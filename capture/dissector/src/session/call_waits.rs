//! Waits of calls: the beginning of a wait, and the end without a reply.

use super::call::{Call, Followed};
use super::rpc_end::ConcludedCall;
use super::sequence::CurrentSend;
use super::state::{Context, Session};
use crate::carrier::operation::Places;
use crate::rpc::phases::NotTimed;
use crate::rpc::transaction::Transaction;
use crate::rpc::waiting::{Delivery, LastStep, Owed, OwedUnknown, Step, WaitEnd};

impl Session {
    /// Makes a call wait for its reply.
    pub(super) fn wait(&mut self, mut call: Call, context: &mut Context<'_>) {
        let (Some(xid), requester) = (call.message.rdma_xid(), call.message.sender) else { return };
        let id = self.calls.number();
        call.sent = self.watch.progress.sent;
        call.shows_reply = self.coverage.is_heard(requester.other());
        if context.operations {
            self.shared(&call, xid, context);
        }
        let is_wanted = context.transactions || context.operations;
        let may_lack = self.unmatched.may_be_for(&call);
        call.timeline.wait(self.unmatched.count(), self.recoveries.unassigned);
        call.timeline.sent(self.sent(requester, self.sends.current.places, self.sends.current.span.ended));
        if call.answers.is_none() {
            call.timeline.watch_from(self.data_flows.times(requester.other()), self.sends.current.span.ended.time);
        }
        if call.message.is_broken() || may_lack {
            call.timeline.refuse(NotTimed::Missed);
        } else if call.is_repeated {
            call.timeline.refuse(NotTimed::SameXid);
        }
        if is_wanted && call.shows_reply && !call.is_repeated && !may_lack {
            call.followed = Followed::Since(self.unmatched.counts());
        }
        self.calls.advertise(id, &mut call);
        if call.answers.is_none() {
            self.credits.call(&mut call, context.set_backs);
        }
        if self.clocks.is_late(call.message.stamp.frame) {
            call.timeline.refuse(NotTimed::OutOfOrder);
        }
        self.calls.insert(id, xid, call);
        let CurrentSend { places, earlier_parts, .. } = &self.sends.current;
        self.recoveries.own_for(requester, places.first, *earlier_parts, id, &self.calls);
        self.await_acknowledgement(id, context);
        if self.calls.are_too_many()
            && let Some(oldest) = self.calls.oldest()
        {
            self.give_up(oldest, WaitEnd::GivenUp, context);
        }
    }

    /// Removes a call from the waiting calls; the memory of the call is no longer advertised.
    pub(super) fn take_call(&mut self, id: u64) -> Option<Call> {
        let mut call = self.calls.remove(id)?;
        call.timeline.end_wait(self.unmatched.count(), self.recoveries.unassigned);
        call.followed = call.followed.until(self.unmatched.counts(), call.message.sender);
        Some(call)
    }

    /// Gives up a call that waits: `end` says why.
    pub(super) fn give_up(&mut self, id: u64, end: WaitEnd, context: &mut Context<'_>) {
        let Some(call) = self.take_call(id) else { return };
        if end == WaitEnd::GivenUp {
            self.credits.forget(id, &call);
        }
        self.watch.given_up |= call.may_be_served();
        let requester = call.message.sender;
        self.unanswered(id, call, end, context);
        self.arrivals.get_mut(requester).forget(id);
    }

    /// Ends a call that was not answered.
    pub(super) fn unanswered(&self, id: u64, mut call: Call, end: WaitEnd, context: &mut Context<'_>) {
        let delivery = self.delivery(id, &call);
        let mut waiting = call.waiting(end, delivery, self.credits.usage(call.message.sender));
        if !self.coverage.has_spoken(call.requester().other()) {
            waiting.owed = Owed::Unknown(OwedUnknown::DirectionMissing);
        } else if self.clocks.are_two() {
            waiting.owed = Owed::Unknown(OwedUnknown::TwoClocks);
        } else if matches!(end, WaitEnd::Capture | WaitEnd::Disconnected { .. })
            && matches!(waiting.owed, Owed::Reply | Owed::Nothing)
            && self.is_writing_in_vain(&call)
        {
            waiting.owed = Owed::Unknown(OwedUnknown::WriteArrival);
        }
        // Data that was not moved yet may still be moved.
        let is_to_end = matches!(end, WaitEnd::Capture | WaitEnd::Disconnected { .. }) && call.answers.is_none();
        let knows_requests = is_to_end && call.followed != Followed::No;
        call.followed = if knows_requests { Followed::Requests } else { Followed::No };
        if call.answers.is_none() || !call.is_read() {
            call.timeline.refuse(NotTimed::ReplyMissing);
        }
        if call.is_doubtful {
            call.forget();
        }
        if call.answers.is_some() && !call.is_read() {
            return call.leave_unread(waiting, context);
        }
        if call.answers.is_some() || call.is_reply() {
            return call.conclude(context);
        }
        let xid = call.message.xid();
        if context.transactions {
            let transaction = ConcludedCall::new(Some(call), None, xid);
            context.ended(transaction.map(|ConcludedCall { transaction, timeline }| {
                let steps = timeline.and_then(|mut timeline| timeline.steps());
                Transaction { waiting: Some(waiting), steps, ..transaction }
            }));
        }
    }

    /// Returns true if the responder retransmitted RDMA Writes that nothing acknowledges: the responder may be unable
    /// to send the reply.
    fn is_writing_in_vain(&self, call: &Call) -> bool {
        let arrivals = self.arrivals.get(call.requester().other());
        let is_last = matches!(call.responder_last, Some(LastStep { step: Step::Write, .. }));
        is_last && call.timeline.sent_again().is_some_and(|place| !arrivals.is_acknowledged(Places::one(place)))
    }

    /// Returns the state of a call's delivery to the responder.
    fn delivery(&self, id: u64, call: &Call) -> Delivery {
        if call.is_accepted || call.responder_last.is_some() {
            return Delivery::Accepted;
        }
        self.arrivals.get(call.message.sender).delivery(id).unwrap_or(Delivery::Unknown)
    }
}

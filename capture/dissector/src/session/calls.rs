//! The calls that wait, and the replies to waiting calls.

use super::call::{Call, Followed};
use super::memory::SegmentPlace;
use super::reply::Reply;
use super::rpc_end::{ConcludedCall, ReplyMessage};
use super::state::{CALLS, Context, Session};
use super::step_log::StepLog;
use super::timeline::Timeline;
use crate::carrier::connection::Connection;
use crate::carrier::operation::{MemoryAddress, Places, Side};
use crate::nfs::Procedure;
use crate::rpc::credits::CreditWaitUnknown;
use crate::rpc::describe::{self, Described, DescribedCall};
use crate::rpc::header::{Dialect, read_chunks, write_lengths};
use crate::rpc::joined_wait::JoinedWait;
use crate::rpc::message::{Captured, Detail, Message};
use crate::rpc::phases::NotTimed;
use crate::rpc::properties::Direction;
use crate::rpc::transaction::Transaction;
use crate::rpc::waiting::{Delivery, LastStep, Owed, OwedUnknown, Step, WaitEnd};

impl Session {
    /// Records a call. Returns the message of the call with what is known about the call.
    pub(super) fn call(&mut self, mut message: Message, context: &mut Context<'_>) -> Message {
        let requester = message.sender;
        let mut description = None;
        let mut way = self.way;
        way.reverse = self.client == Some(requester.other());
        if let Some((msgp, payload, chunks)) = message.msgp() {
            message.padding = msgp.padding_of_call(payload, way, &read_chunks(&chunks));
        }
        if let Ok(decoded) = message.decode() {
            let reads = decoded.header.chunks().as_ref().map(read_chunks).unwrap_or_default();
            description = describe::call(&message.stream(&decoded), way, &reads);
            if let Some(DescribedCall { called, described }) = &mut description {
                if message.padding.is_none() {
                    described.forget_body();
                }
                if matches!(called.procedure.program, Procedure::NFS | Procedure::MOUNT | Procedure::NFSACL) {
                    self.client.get_or_insert(requester);
                }
                self.way.announce(described);
            }
        }
        let described = description.as_ref().map(|call| &call.described);
        message.rpc = described.map(|described| described.rpc.clone());
        let detail = context.operations.then(|| {
            let walked = described.map(Described::to_walked);
            Box::new(Detail { walked, ..self.watch.detail(Direction::Call) })
        });
        let steps = context.steps.includes(message.xid()).then(|| {
            let mut steps = StepLog::new();
            steps.add_send(requester, Step::Call, &self.sends.current.parts);
            steps
        });
        let timeline = Timeline::new(self.sends.current.span, steps);
        let mut call = Call::new(message.clone(), timeline, description, way, context.transactions);
        if self.replaces(&mut call, context) {
            self.wait(call, context);
        } else {
            self.credits.get_mut(requester).hide(message.stamp.time);
        }
        message.detail = detail;
        message
    }

    /// Returns true if `call` may wait. An earlier call with the same XID is then given up. A call that can be carried
    /// out does not make way for one that cannot.
    pub(super) fn replaces(&mut self, call: &mut Call, context: &mut Context<'_>) -> bool {
        let xids = self.xids.get(call.message.sender);
        let before = call.message.rdma_xid().and_then(|xid| xids.get(&xid)).copied();
        let can_wait = |id| self.calls.get(&id).is_some_and(|before| call.is_empty() && !before.is_empty());
        if before.is_some_and(can_wait) {
            return false;
        }
        before.into_iter().for_each(|before| self.supersede(before, call, context));
        true
    }

    /// Gives up a waiting call whose XID is used by a new call. The responder may still serve the old call. If the new
    /// call is a copy, what was moved for the old call is in the memory of the new one, and the data that was asked for
    /// comes there.
    fn supersede(&mut self, id: u64, call: &mut Call, context: &mut Context<'_>) {
        let Some(mut before) = self.take(id) else { return };
        self.forget_credit(id, &before);
        call.is_repeated = true;
        self.watch.supersede(&before);
        if call.is_copy_of(&before) {
            call.inherit(&mut before);
            let places = self.reads.iter_mut().map(|read| &mut read.place);
            places.filter(|place| place.call == id).for_each(|place| place.call = self.last_call + 1);
        }
        self.unanswered(id, before, WaitEnd::Repeated, context);
    }

    pub(super) fn wait(&mut self, mut call: Call, context: &mut Context<'_>) {
        let (Some(xid), requester) = (call.message.rdma_xid(), call.message.sender) else { return };
        self.last_call += 1;
        let id = self.last_call;
        call.sent = self.watch.progress.sent;
        call.shows_reply = self.coverage.is_heard(requester.other());
        if context.operations {
            self.shared(&call, xid, context);
        }
        let is_wanted = context.transactions || context.operations;
        let may_lack = self.unplaced.may_be_for(&call);
        call.timeline.wait(self.unplaced.count(), self.recoveries.unassigned);
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
            call.followed = Followed::Since(self.unplaced.counts());
        }
        let memory = self.memory.get_mut(requester);
        let mut others = Vec::new();
        for (index, segment) in call.segments.iter().enumerate() {
            let place = SegmentPlace { call: id, segment: index };
            let address = MemoryAddress { handle: segment.handle, offset: segment.offset };
            others.extend(memory.advertise(segment.access, address, segment.length, place));
        }
        if !others.is_empty() {
            call.shares_memory();
        }
        others.iter().for_each(|other| self.calls.get_mut(other).into_iter().for_each(Call::shares_memory));
        let named = if call.answers.is_none() { &mut self.xids } else { &mut self.provided };
        named.get_mut(requester).insert(xid, id);
        if call.answers.is_none() {
            let (began, sent) = (call.timeline.began.time, call.message.stamp.time);
            let account = self.credits.get_mut(requester);
            call.credit_wait = match call.message.dialect {
                Dialect::Version1 => account.call(began, sent),
                Dialect::Version2(_) | Dialect::Version2Unknown => account.call_v2(sent),
            };
            // The reply or grant that a call waited for came after the call before it.
            let frame = call.message.stamp.frame;
            let before = core::mem::replace(self.last_call_frame.get_mut(requester), frame);
            if call.credit_wait.is_ok() && context.set_backs.is_between(before, frame) {
                call.credit_wait = Err(CreditWaitUnknown::ClockSetBack);
            }
        }
        if self.clocks.is_late(call.message.stamp.frame) {
            call.timeline.refuse(NotTimed::OutOfOrder);
        }
        self.held += call.held();
        self.calls.insert(id, call);
        self.own_for(requester, self.sends.current.places.first, id);
        self.await_acknowledgement(id, context);
        if self.calls.len() > CALLS
            && let Some((&oldest, _)) = self.calls.first_key_value()
        {
            self.give_up(oldest, WaitEnd::GivenUp, context);
        }
    }

    /// Removes a call from the waiting calls; the memory of the call is no longer advertised.
    pub(super) fn take(&mut self, id: u64) -> Option<Call> {
        let mut call = self.calls.remove(&id)?;
        let requester = call.message.sender;
        let memory = self.memory.get_mut(requester);
        let mut handles: Vec<u32> = call.segments.iter().map(|segment| segment.handle).collect();
        handles.sort_unstable();
        handles.dedup();
        for handle in handles {
            memory.withdraw(handle, id);
        }
        if let Some(xid) = call.message.rdma_xid() {
            // It is the only waiting call with its XID: the one before it was given up.
            let named = if call.answers.is_none() { &mut self.xids } else { &mut self.provided };
            named.get_mut(requester).remove(&xid);
        }
        self.held -= call.held();
        call.timeline.take(self.unplaced.count(), self.recoveries.unassigned);
        call.followed = call.followed.until(self.unplaced.counts(), requester);
        Some(call)
    }

    pub(super) fn give_up(&mut self, id: u64, end: WaitEnd, context: &mut Context<'_>) {
        let Some(call) = self.take(id) else { return };
        if end == WaitEnd::GivenUp {
            self.forget_credit(id, &call);
        }
        self.watch.given_up |= call.may_be_served();
        let requester = call.message.sender;
        self.unanswered(id, call, end, context);
        self.arrivals.get_mut(requester).forget(id);
    }

    /// Counts a call that is not followed any more as hidden: the call may still wait.
    pub(super) fn forget_credit(&mut self, id: u64, call: &Call) {
        let (credits, time) = (self.credits.get_mut(call.message.sender), self.sends.current.span.ended.time);
        if call.answers.is_none() {
            credits.end(id, time);
            credits.hide(time);
        }
    }

    /// Ends a call that was not answered.
    fn unanswered(&self, id: u64, mut call: Call, end: WaitEnd, context: &mut Context<'_>) {
        let delivery = self.delivery(id, &call);
        let mut waiting = call.waiting(end, delivery, self.credits.get(call.message.sender).usage());
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
            return self.unread(call, waiting, context);
        }
        if call.answers.is_some() || call.is_reply() {
            return self.conclude(call, context);
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

    /// Assigns a reply to a call. Returns the message of the reply with what is known about the reply.
    pub(super) fn reply(&mut self, mut message: Message, context: &mut Context<'_>) -> Message {
        let xid = message.xid();
        let id = self.xids.get(message.sender.other()).get(&xid).copied();
        if context.operations {
            self.note_reply(&message, id);
        }
        if let Some(id) = id {
            self.own_for(message.sender, self.sends.current.places.first, id);
            // Signs of loss before the reply count from what was there before; those of the reply, from when it was sent.
            self.settle(message.sender, Places { first: 0, end: self.sends.current.places.first }, context);
            if let Some(call) = self.calls.get_mut(&id) {
                call.timeline.reply(self.sends.current.span);
                let (requester, responder) = (message.sender.other(), message.sender);
                let [requester, responder] = [requester, responder].map(|end| self.data_flows.times(end));
                call.timeline.watch(requester, responder, self.sends.current.span.ended.time);
            }
            self.settle(message.sender, self.sends.current.places, context);
        } else if self.joined.is_some() {
            self.settle(message.sender, Places { first: 0, end: self.sends.current.places.first }, context);
        }
        let account = self.credits.get_mut(message.sender.other());
        let before = *account;
        account.answer(id, message.credits(), message.stamp.time);
        let mut call = id.and_then(|id| self.take(id));
        if let Some(call) = &mut call {
            call.timeline.log_send(message.sender, Step::Reply, &self.sends.current.parts);
            if message.captured == Captured::Head {
                call.timeline.refuse(NotTimed::ReplyMissing);
            } else if message.is_broken() {
                call.timeline.refuse(NotTimed::Missed);
            }
            // If the reply was captured before its call, so may be what was moved, when no call was known that it was for.
            if message.stamp.frame < call.message.stamp.frame {
                call.followed = Followed::No;
            }
        }
        let mut long = None;
        if let Some(call) = &mut call
            && call.described.is_none()
        {
            long = call.describe_long();
            call.described.iter().for_each(|described| self.way.announce(described));
        }
        if let Some(call) = call.take_if(|_| message.provides_payload()) {
            return self.provide(message, call, long, context);
        }
        if let Some((msgp, payload, chunks)) = message.msgp() {
            let written = write_lengths(&chunks);
            let called = call.as_ref().and_then(|call| call.called.as_ref());
            message.padding = called.and_then(|called| msgp.padding_of_reply(payload, called, &written));
        }
        let reply = Reply::new(&message, call.as_mut());
        let rpc = reply.rpc().or_else(|| call.as_ref().and_then(Call::reply));
        message.rpc = rpc;
        if context.operations {
            message.detail = Some(Box::new(self.answered(call.as_ref(), long, &reply)));
        }
        let is_stray = call.is_none() && message.error().is_some();
        if context.transactions && !is_stray {
            let ended = ConcludedCall::new(call, Some(ReplyMessage { message: &message, reply }), xid);
            match (ended, id) {
                (Some(ConcludedCall { transaction, timeline: Some(timeline) }), Some(id)) => {
                    self.await_end(&message, id, transaction, timeline, before, context);
                }
                (Some(ConcludedCall { transaction, .. }), None) => match self.joined_wait(message.sender) {
                    Some(joined) => {
                        let transaction = Transaction { joined: Some(joined), ..transaction };
                        self.await_joined(&message, transaction, before, context);
                    }
                    None => context.ended(Some(transaction)),
                },
                (ended, _) => context.ended(ended.map(|ended| ended.transaction)),
            }
        }
        message
    }

    /// Returns the least that an RPC without a call waited whose reply is looked at. Of more calls than can wait at a time, none was sent
    /// before the capture.
    fn joined_wait(&self, responder: Side) -> Option<Box<JoinedWait>> {
        let joined = self.joined.as_ref().filter(|_| self.last_call <= CALLS as u64)?;
        joined.wait(responder, self.sends.current.span, self.sends.current.places)
    }

    /// Ends the session: calls that wait will not be answered.
    pub(crate) fn finish(&mut self, connection: &Connection, end: WaitEnd, context: &mut Context<'_>) {
        self.abandon(connection, context);
        self.settle_all(context);
        self.settle_replies(end, context);
        self.finish_refused(end, context);
        while let Some((&id, _)) = self.calls.first_key_value() {
            self.give_up(id, end, context);
        }
    }

    /// Releases about `excess` octets: the data of the oldest calls, and if that is not enough, the calls.
    pub(crate) fn let_go(&mut self, connection: &Connection, excess: usize, context: &mut Context<'_>) {
        let enough = self.held().saturating_sub(excess);
        self.settle_all(context);
        if self.held() > enough {
            self.settle_replies(WaitEnd::GivenUp, context);
        }
        let mut held = self.held();
        for call in self.calls.values_mut().filter(|call| !call.overflowed) {
            if held <= enough {
                break;
            }
            held -= call.overflow();
        }
        self.held -= self.held() - held;
        while self.held() > enough
            && let Some((&oldest, _)) = self.calls.first_key_value()
        {
            self.give_up(oldest, WaitEnd::GivenUp, context);
        }
        if self.held() > enough {
            self.reads.clear();
            [Side::Active, Side::Passive].into_iter().for_each(|end| self.sends.forget_sequence(end));
            self.joined = None;
            self.clocks.forget_packets();
            self.abandon(connection, context);
        }
    }
}

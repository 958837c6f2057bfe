//! Which RPC a sign of loss is about.
//!
//! Such a sign names a place in what an end sends. The session remembers with which place each message and each RDMA operation
//! began, and which call that was for. A sign may come before the operation that it is about, because what the receiver
//! refused is used only when it comes again; then it waits.

use super::owners::{Owner, WAITING, WaitingSign};
use super::state::{CALLS, Context, Session};
use crate::carrier::operation::{Operation, OperationKind, OperationType, Places, Side, Stamp};
use crate::carrier::recovery::Sign;
use crate::event::{Event, Recovered};
use crate::rpc::message::Message;
use crate::rpc::steps::PacketRun;
use crate::rpc::waiting::Step;

impl Session {
    /// What an end sends from a place on is for this call.
    #[inline]
    pub(super) fn own(&mut self, from: Side, owner: Owner) {
        if !self.recoveries.is_wanted {
            return;
        }
        self.recoveries.owners.get_mut(from).note(owner);
    }

    /// What an end sends from a place on is for this call.
    #[inline]
    pub(super) fn own_for(&mut self, from: Side, first: u64, call: u64) {
        if !self.recoveries.is_wanted {
            return;
        }
        let message = self.calls.get(&call).map(|call| &call.message);
        let (xid, requester) = (message.map(Message::xid), message.map(|message| message.sender));
        self.own(from, Owner { first, call: Some(call), xid, requester });
    }

    /// What an end sends next is for no known call, up to where the next operation begins.
    pub(super) fn own_unknown(&mut self, from: Side) {
        let first = self.recoveries.owners.get(from).known;
        self.own(from, Owner::unknown(first));
    }

    /// Takes a sign of loss.
    pub(super) fn recover(&mut self, operation: &Operation<'_>, context: &mut Context<'_>) {
        let Operation { from, stamp, kind: OperationKind::Sign { of, place, sign, operation }, .. } = *operation else {
            return;
        };
        let is_of_use = sign != Sign::Discarded || context.steps.is_any();
        if self.number.is_none() || !self.recoveries.is_wanted || !is_of_use {
            return;
        }
        let is_again = matches!(sign, Sign::Recovery(kind) if kind.is_sent_again());
        let times = (is_again && context.recovery).then(|| self.recoveries.send_again(from, of, place));
        let mut waiting = WaitingSign { from, stamp, of, place, sign, operation, times, xid: None, requester: None };
        if place < self.recoveries.owners.get(of).known {
            self.assign(&mut waiting);
        }
        self.recoveries.waiting.push_back(waiting);
        self.report(context);
    }

    /// All that an end sent up to the end of these places is known: signs that waited for that are for its calls.
    #[inline]
    pub(super) fn settle(&mut self, from: Side, places: Places, context: &mut Context<'_>) {
        let known = &mut self.recoveries.owners.get_mut(from).known;
        *known = places.end.max(*known);
        if !self.recoveries.waiting.is_empty() {
            self.assign_waiting(context);
        }
    }

    fn assign_waiting(&mut self, context: &mut Context<'_>) {
        let mut waiting = core::mem::take(&mut self.recoveries.waiting);
        for sign in waiting.iter_mut().filter(|sign| sign.xid.is_none()) {
            if sign.place < self.recoveries.owners.get(sign.of).known {
                self.assign(sign);
            }
        }
        self.recoveries.waiting = waiting;
        self.report(context);
    }

    /// What the signs that still wait are about will not be known.
    pub(super) fn settle_all(&mut self, context: &mut Context<'_>) {
        let mut waiting = core::mem::take(&mut self.recoveries.waiting);
        waiting.iter_mut().filter(|sign| sign.xid.is_none()).for_each(|sign| self.assign(sign));
        self.recoveries.waiting = waiting;
        self.report(context);
    }

    /// Counts a sign for its RPC.
    fn assign(&mut self, sign: &mut WaitingSign) {
        let WaitingSign { from, stamp, of, place, sign: shown, operation, .. } = *sign;
        let owners = self.recoveries.owners.get(of);
        let owner = owners.find(place).filter(|_| place < owners.known).copied();
        self.recoveries.unassigned += u64::from(owner.is_none() && shown != Sign::Discarded);
        if let Some(call) = owner.and_then(|owner| owner.call).and_then(|id| self.calls.get_mut(&id)) {
            if let Sign::Recovery(kind) = shown {
                call.timeline.recover(kind, stamp);
            }
            let step = operation.map(|operation| step(operation, from == call.requester()));
            call.timeline.log(PacketRun::shown(shown, (from, stamp), step), &mut self.held);
        }
        sign.xid = Some(owner.and_then(|owner| owner.xid));
        sign.requester = owner.and_then(|owner| owner.requester);
    }

    /// Reports the signs that are assigned, in the order in which they were captured.
    fn report(&mut self, context: &mut Context<'_>) {
        while let Some(first) = self.recoveries.waiting.front() {
            if first.xid.is_none() && self.recoveries.waiting.len() <= WAITING {
                return;
            }
            let Some(mut sign) = self.recoveries.waiting.pop_front() else { return };
            if sign.xid.is_none() {
                self.assign(&mut sign);
            }
            let Some((number, ends)) = self.number.zip(self.addresses).filter(|_| context.recovery) else { continue };
            let WaitingSign { from, stamp, sign: Sign::Recovery(kind), operation, times, xid, requester, .. } = sign
            else {
                continue;
            };
            context.events.push_back(Event::Recovery(Recovered {
                stamp,
                connection: number,
                from: *ends.get(from),
                to: *ends.get(from.other()),
                kind,
                operation: operation.filter(|_| times.is_some()),
                times,
                xid: xid.flatten(),
                requester: requester.map(|side| *ends.get(side)),
                client: self.client.map(|side| *ends.get(side)),
            }));
        }
    }

    /// A call waits to be acknowledged, if that is kept.
    pub(super) fn await_acknowledgement(&mut self, requester: Side, id: u64) {
        let call = self.calls.get(&id).filter(|call| call.timeline.is_followed() && call.answers.is_none());
        if call.is_some() {
            let waiting = self.unacknowledged.get_mut(requester);
            waiting.push_back((self.places.end.saturating_sub(1), id));
            if waiting.len() > CALLS {
                waiting.pop_front();
            }
        }
    }

    /// An end acknowledged what the other sends, up to this place.
    pub(crate) fn acknowledged(&mut self, (from, stamp): (Side, Stamp), place: u64) {
        *self.spoke.get_mut(from) = true;
        let waiting = self.unacknowledged.get_mut(from.other());
        while let Some((_, id)) = waiting.front().copied().filter(|(last, _)| *last <= place) {
            waiting.pop_front();
            // What the responder did before shows the same.
            if let Some(call) = self.calls.get_mut(&id).filter(|call| call.responder_last.is_none()) {
                call.timeline.log(PacketRun::one(from, Some(Step::Acknowledgement), stamp, 0), &mut self.held);
            }
        }
    }
}

/// What a packet did for an RPC.
const fn step(operation: OperationType, is_requester: bool) -> Step {
    match operation {
        OperationType::Send if is_requester => Step::Call,
        OperationType::Send => Step::Reply,
        OperationType::Write => Step::Write,
        OperationType::ReadRequest => Step::ReadRequest,
        OperationType::ReadResponse => Step::ReadResponse,
    }
}

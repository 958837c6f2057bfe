//! Which RPC a sign of loss is about.
//!
//! Such a sign names a place in what an end sends. The session remembers with which place each message and each RDMA operation
//! began, and which call that was for. A sign may come before the operation that it is about, because what the receiver
//! refused is used only when it comes again; then it waits.

use super::owners::{Owner, WAITING, WaitingSign};
use super::state::{Context, Session};
use crate::carrier::operation::{Operation, OperationKind, Places, Side};
use crate::event::{Event, Recovered};

impl Session {
    /// What an end sends from a place on is for this call.
    #[inline]
    pub(super) fn own(&mut self, from: Side, first: u64, call: Option<u64>, xid: Option<u32>) {
        if !self.recoveries.is_wanted {
            return;
        }
        self.recoveries.owners.get_mut(from).note(Owner { first, call, xid });
    }

    /// What an end sends from a place on is for this call.
    #[inline]
    pub(super) fn own_for(&mut self, from: Side, first: u64, call: u64) {
        if !self.recoveries.is_wanted {
            return;
        }
        let xid = self.calls.get(&call).map(|call| call.message.xid());
        self.own(from, first, Some(call), xid);
    }

    /// What an end sends next is for no known call, up to where the next operation begins.
    pub(super) fn own_unknown(&mut self, from: Side) {
        let first = self.recoveries.owners.get(from).known;
        self.own(from, first, None, None);
    }

    /// Takes a sign of loss.
    pub(super) fn recover(&mut self, operation: &Operation<'_>, context: &mut Context<'_>) {
        let Operation { from, stamp, kind: OperationKind::Recovery { of, place, kind }, .. } = *operation else {
            return;
        };
        if self.number.is_none() || !self.recoveries.is_wanted {
            return;
        }
        let mut sign = WaitingSign { from, stamp, of, place, kind, xid: None };
        if place < self.recoveries.owners.get(of).known {
            self.assign(&mut sign);
        }
        self.recoveries.waiting.push_back(sign);
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
        let owners = self.recoveries.owners.get(sign.of);
        let owner = owners.find(sign.place).filter(|_| sign.place < owners.known).copied();
        self.recoveries.unassigned += u64::from(owner.is_none());
        if let Some(call) = owner.and_then(|owner| owner.call).and_then(|id| self.calls.get_mut(&id)) {
            call.timeline.recover(sign.kind, sign.stamp);
        }
        sign.xid = Some(owner.and_then(|owner| owner.xid));
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
            let WaitingSign { from, stamp, kind, xid, .. } = sign;
            context.events.push_back(Event::Recovery(Recovered {
                stamp,
                connection: number,
                from: *ends.get(from),
                to: *ends.get(from.other()),
                kind,
                xid: xid.flatten(),
                client: self.client.map(|side| *ends.get(side)),
            }));
        }
    }
}

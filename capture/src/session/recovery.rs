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
        let sign = WaitingSign { from, stamp, of, place, kind };
        if place < self.recoveries.owners.get(of).known {
            return self.assign(&sign, context);
        }
        if self.recoveries.waiting.len() == WAITING
            && let Some(first) = self.recoveries.waiting.pop_front()
        {
            self.assign(&first, context);
        }
        self.recoveries.waiting.push_back(sign);
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
        let waiting = core::mem::take(&mut self.recoveries.waiting);
        for sign in waiting {
            if sign.place < self.recoveries.owners.get(sign.of).known {
                self.assign(&sign, context);
            } else {
                self.recoveries.waiting.push_back(sign);
            }
        }
    }

    /// What the signs that still wait are about will not be known.
    pub(super) fn settle_all(&mut self, context: &mut Context<'_>) {
        for sign in core::mem::take(&mut self.recoveries.waiting) {
            self.assign(&sign, context);
        }
    }

    /// Counts a sign for its RPC, and reports it.
    fn assign(&mut self, sign: &WaitingSign, context: &mut Context<'_>) {
        let WaitingSign { from, stamp, of, place, kind } = *sign;
        let owners = self.recoveries.owners.get(of);
        let owner = owners.find(place).filter(|_| place < owners.known).copied();
        self.recoveries.unassigned += u64::from(owner.is_none());
        if let Some(call) = owner.and_then(|owner| owner.call).and_then(|id| self.calls.get_mut(&id)) {
            call.timeline.recover(kind, stamp);
        }
        if let Some((number, ends)) = self.number.zip(self.addresses).filter(|_| context.recovery) {
            let (from, to) = (*ends.get(from), *ends.get(from.other()));
            let xid = owner.and_then(|owner| owner.xid);
            context.events.push_back(Event::Recovery(Recovered { stamp, connection: number, from, to, kind, xid }));
        }
    }
}

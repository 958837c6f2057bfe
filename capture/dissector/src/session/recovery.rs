//! Indications of loss, and the RPC of each.
//!
//! An indication names a place in what an end sends. The first place of each message and of each RDMA operation is
//! remembered, and the call of each. An indication may come before the operation that is its subject, because what
//! the receiver refused is used only when the packet comes again; then the indication waits.

use std::collections::{BTreeMap, VecDeque};

use super::arrivals::Arrivals;
use super::calls::Calls;
use super::joined_wait::Joined;
use super::owners::{Owner, Owners};
use super::timeline::RepeatedPacket;
use crate::carrier::operation::{OperationType, Origin, Places, Side, Sides, Stamp};
use crate::carrier::recovery::{AgainFor, Indication, MissingPacket, RecoveryKind};
use crate::event::RefusedCall;
use crate::file::Time;
use crate::rpc::credits::{CreditLimit, CreditUse};
use crate::rpc::message::Message;
use crate::rpc::steps::PacketRun;
use crate::rpc::waiting::Step;

/// The most indications of one connection that wait.
const WAITING: usize = 1024;

/// The most packets of one end that were retransmitted and are counted apart.
const AGAIN: usize = 4096;

/// An indication whose subject is not known yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitingIndication {
    pub(super) from: Side,
    pub(super) stamp: Stamp,
    /// Time of the sender's packet before the indication, if the connection was joined.
    pub(super) after: Time,
    pub(super) of: Side,
    pub(super) place: u64,
    /// The place after a TCP segment that was retransmitted.
    pub(super) end: Option<u64>,
    pub(super) sign: Indication,
    /// Type of the operation in the packet, if the packet was retransmitted and the carrier knows the type.
    pub(super) operation: Option<OperationType>,
    /// If the receiver reports a packet as missing: the state of the packet in the capture, if known.
    pub(super) missing: Option<MissingPacket>,
    /// If the packet was retransmitted: the number of transmissions by now.
    pub(super) times: Option<u32>,
    pub(super) again_for: AgainFor,
    /// The call that is refused, if that is known.
    pub(super) refused: Option<RefusedCall>,
    /// The `rdma_xid` of the subject, once that is known or will not be.
    pub(super) xid: Option<Option<u32>>,
    /// The end that called, if the call of the subject is known.
    pub(super) requester: Option<Side>,
}

/// RPCs that an indication of loss may belong to.
pub(super) struct RecoveredRpcs<'a> {
    /// Calls that wait.
    pub(super) calls: &'a mut Calls,
    /// Replies that were sent, and did not arrive yet.
    pub(super) arrivals: &'a mut Sides<Arrivals>,
    /// RPCs whose calls were sent before the capture.
    pub(super) joined: &'a mut Option<Box<Joined>>,
}

/// State for assigning each indication to an RPC.
#[derive(Debug, Default)]
pub(super) struct Recoveries {
    owners: Sides<Owners>,
    waiting: VecDeque<WaitingIndication>,
    /// Number of retransmissions of packets, by their sender, their place, and the end that the place is counted for.
    again: Sides<BTreeMap<(u64, Side), u32>>,
    /// Place from which an end sends again because the other end was not ready.
    not_ready: Sides<Option<u64>>,
    /// Number of indications whose RPC is not known.
    pub(super) unassigned: u64,
    /// True if anyone asks.
    pub(super) is_wanted: bool,
}

impl Recoveries {
    /// Notes the owner of the data that an end sends from a place on.
    #[inline]
    pub(super) fn own(&mut self, from: Side, owner: Owner) {
        if !self.is_wanted {
            return;
        }
        self.owners.get_mut(from).note(owner);
    }

    /// Notes this call as the owner of the data that an end sends from a place on, and of the parts of the same message
    /// from the place `earlier` on.
    #[inline]
    pub(super) fn own_for(&mut self, from: Side, first: u64, earlier: Option<u64>, id: u64, calls: &Calls) {
        if !self.is_wanted {
            return;
        }
        let message = calls.get(id).map(|call| &call.message);
        let (xid, requester) = (message.map(Message::xid), message.map(|message| message.sender));
        let owner = Owner { first, call: Some(id), xid, requester };
        self.own(from, owner);
        if let Some(earlier) = earlier {
            self.owners.get_mut(from).claim(earlier, owner);
        }
    }

    /// Notes that the data an end sends next belongs to no known call, up to the beginning of the next operation.
    pub(super) fn own_unknown(&mut self, from: Side) {
        let first = self.owners.get(from).known;
        self.own(from, Owner::unknown(first));
    }

    /// Notes that everything that an end sent up to the end of these places is known. Returns true if indications wait.
    #[inline]
    pub(super) fn settle(&mut self, from: Side, places: Places) -> bool {
        let known = &mut self.owners.get_mut(from).known;
        *known = places.end.max(*known);
        !self.waiting.is_empty()
    }

    /// Adds an indication, and assigns the indication if its subject is known.
    pub(super) fn add_indication(&mut self, mut sign: WaitingIndication, rpcs: &mut RecoveredRpcs<'_>) {
        if sign.place < self.owners.get(sign.of).known {
            self.assign(&mut sign, rpcs);
        }
        self.waiting.push_back(sign);
    }

    /// Assigns the indications whose subject is known.
    pub(super) fn assign_known(&mut self, rpcs: &mut RecoveredRpcs<'_>) {
        let mut waiting = core::mem::take(&mut self.waiting);
        let Sides { active, passive } = &self.owners;
        let known = Sides { active: active.known, passive: passive.known };
        for sign in waiting.iter_mut().filter(|sign| sign.xid.is_none() && sign.place < *known.get(sign.of)) {
            self.assign(sign, rpcs);
        }
        self.waiting = waiting;
    }

    /// Settles the indications that still wait: their subject will not be known.
    pub(super) fn assign_all(&mut self, rpcs: &mut RecoveredRpcs<'_>) {
        let mut waiting = core::mem::take(&mut self.waiting);
        waiting.iter_mut().filter(|sign| sign.xid.is_none()).for_each(|sign| self.assign(sign, rpcs));
        self.waiting = waiting;
    }

    /// Forgets the indications that wait.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Takes the first indication, in the order in which the indications were captured, if the indication is assigned
    /// and `may_report`, or if too many wait.
    pub(super) fn take_due(&mut self, may_report: bool, rpcs: &mut RecoveredRpcs<'_>) -> Option<WaitingIndication> {
        let is_due = self.waiting.front()?.xid.is_some() && may_report;
        if !is_due && self.waiting.len() <= WAITING {
            return None;
        }
        let mut sign = self.waiting.pop_front()?;
        if sign.xid.is_none() {
            self.assign(&mut sign, rpcs);
        }
        Some(sign)
    }

    /// Counts an indication for the RPC of the subject.
    fn assign(&mut self, sign: &mut WaitingIndication, rpcs: &mut RecoveredRpcs<'_>) {
        let RecoveredRpcs { calls, arrivals, joined } = rpcs;
        let WaitingIndication { from, stamp, after, of, place, sign: shown, operation, again_for, .. } = *sign;
        let owners = self.owners.get(of);
        let owner = owners.find(place).filter(|_| place < owners.known).copied();
        self.unassigned += u64::from(owner.is_none() && shown != Indication::Discarded);
        let id = owner.and_then(|owner| owner.call).filter(|id| calls.get(*id).is_some());
        if let Some(id) = id {
            Self::recover_call(id, sign, calls);
        } else if let Some((id, requester)) = owner.and_then(|owner| owner.call.zip(owner.requester)) {
            // The reply was sent, and did not arrive yet.
            arrivals.get_mut(requester.other()).change(id, |ended| {
                if let Indication::Recovery(kind) = shown {
                    ended.timeline.recover(kind, again_for, stamp);
                }
                let step = operation.map(|operation| step(operation, from == requester));
                ended.timeline.log(PacketRun::shown(shown, Origin { from, stamp }, step), &mut 0);
            });
        } else if let Indication::Recovery(kind) = shown {
            joined.iter_mut().for_each(|joined| joined.recover(of, kind, after, stamp));
        }
        sign.xid = Some(owner.and_then(|owner| owner.xid));
        sign.requester = owner.and_then(|owner| owner.requester);
    }

    /// Counts an indication for a call that waits.
    fn recover_call(id: u64, sign: &WaitingIndication, calls: &mut Calls) {
        let WaitingIndication { from, stamp, place, sign: shown, operation, again_for, .. } = *sign;
        let is_last = operation == Some(OperationType::ReadResponse) && calls.ends_read(id, place);
        calls.change(id, |call, held| {
            if let Indication::Recovery(kind) = shown {
                call.timeline.recover(kind, again_for, stamp);
                if let Some(operation) = operation.filter(|_| kind.is_retransmission()) {
                    let is_outstanding = call.is_pulled();
                    call.timeline.repeat(&RepeatedPacket { operation, place, is_last, is_outstanding, stamp });
                }
                if kind.is_retransmission() && from != call.requester() {
                    call.timeline.note_again(place);
                }
            }
            let step = operation.map(|operation| step(operation, from == call.requester()));
            call.timeline.log(PacketRun::shown(shown, Origin { from, stamp }, step), held);
        });
    }

    /// Returns the call at this place for which the receiver was not ready. Returns `None` if there is no such call, or
    /// if calls or credits of the requester may not be known.
    pub(super) fn refused_call(
        &self,
        requester: Side,
        place: u64,
        usage: CreditUse,
        calls: &Calls,
    ) -> Option<RefusedCall> {
        let owners = self.owners.get(requester);
        let owner = owners.find(place).filter(|owner| place < owners.known && owner.requester == Some(requester))?;
        let granted = usage.granted.filter(|_| usage.limit != CreditLimit::Unknown)?.get();
        let before = calls.range(..owner.call?).map(|(_, call)| call);
        let taken = before.filter(|call| call.message.sender == requester && call.answers.is_none()).count();
        Some(RefusedCall { taken: u32::try_from(taken).ok()?, granted })
    }

    /// Notes a retransmission of a packet. Returns the number of transmissions by now.
    pub(super) fn send_again(&mut self, from: Side, of: Side, place: u64) -> u32 {
        let again = self.again.get_mut(from);
        let times = again.entry((place, of)).or_insert(1);
        *times += 1;
        let times = *times;
        if again.len() > AGAIN {
            // It is the one that was sent first.
            again.pop_first();
        }
        times
    }

    /// Takes an indication about what `of` sends. Returns the reason for retransmitting the packet at this place, if
    /// the indication is a retransmission.
    pub(super) fn reason(&mut self, of: Side, place: u64, kind: RecoveryKind) -> AgainFor {
        let not_ready = self.not_ready.get_mut(of);
        match kind {
            RecoveryKind::NotReady { .. } => *not_ready = Some(place),
            RecoveryKind::Retransmitted | RecoveryKind::Replaced | RecoveryKind::Failed => {}
            _ => *not_ready = None,
        }
        if not_ready.is_some_and(|from| place >= from) { AgainFor::NotReady } else { AgainFor::Loss }
    }

    /// Octets of memory taken by what waits, and by what was retransmitted.
    pub(super) fn memory_used(&self) -> usize {
        let again = self.again.active.len() + self.again.passive.len();
        self.waiting.len() * size_of::<WaitingIndication>() + again * size_of::<((u64, Side), u32)>()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_packet_that_was_sent_again_is_held_once() {
        let mut recoveries = Recoveries::default();
        let times = [7, 8, 8].map(|place| recoveries.send_again(Side::Active, Side::Active, place));
        assert_eq!(times, [2, 2, 3]);
        assert_eq!(recoveries.memory_used(), 2 * size_of::<((u64, Side), u32)>());
        (100..5000).for_each(|place| assert_eq!(recoveries.send_again(Side::Active, Side::Active, place), 2));
        assert_eq!(recoveries.memory_used(), AGAIN * size_of::<((u64, Side), u32)>());
    }
}

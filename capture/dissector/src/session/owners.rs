//! Calls that the data of each end belongs to, by place, and the indications of loss that wait for their subject.

use std::collections::{BTreeMap, VecDeque};

use crate::carrier::operation::{OperationType, Side, Sides, Stamp};
use crate::carrier::recovery::{AgainFor, MissingPacket, RecoveryKind, Sign};
use crate::event::RefusedCall;
use crate::file::Time;

/// The most operations of one end that are remembered, more than are under way at a time.
const OWNERS: usize = 128;
/// The most indications of one connection that wait.
pub(super) const WAITING: usize = 1024;

/// The most packets of one end that were retransmitted and are counted apart.
const AGAIN: usize = 4096;

/// Owner of the data that an end sent from a place on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner {
    pub(super) first: u64,
    /// The call, if known; the call may have been answered.
    pub(super) call: Option<u64>,
    /// The `rdma_xid` of the call.
    pub(super) xid: Option<u32>,
    /// The end that called, if the call is known.
    pub(super) requester: Option<Side>,
}

impl Owner {
    /// Returns the owner of data for no known call, from a place on.
    pub(super) const fn unknown(first: u64) -> Self {
        Self { first, call: None, xid: None, requester: None }
    }
}

/// Owners of the data that an end sent, by place.
#[derive(Debug, Default)]
pub(super) struct Owners {
    /// Owners in the order of the data.
    owners: VecDeque<Owner>,
    /// The place after the last packet or octet whose owner is known.
    pub(super) known: u64,
}

/// An indication whose subject is not known yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitingSign {
    pub(super) from: Side,
    pub(super) stamp: Stamp,
    /// Time of the sender's packet before the indication, if the connection was joined.
    pub(super) after: Time,
    pub(super) of: Side,
    pub(super) place: u64,
    /// The place after a TCP segment that was retransmitted.
    pub(super) end: Option<u64>,
    pub(super) sign: Sign,
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

/// State for assigning each indication to an RPC.
#[derive(Debug, Default)]
pub(super) struct Recoveries {
    pub(super) owners: Sides<Owners>,
    pub(super) waiting: VecDeque<WaitingSign>,
    /// Number of retransmissions of packets, by their sender, their place, and the end that the place is counted for.
    again: Sides<BTreeMap<(u64, Side), u32>>,
    /// Place from which an end sends again because the other end was not ready.
    not_ready: Sides<Option<u64>>,
    /// Number of indications whose RPC is not known.
    pub(super) unassigned: u64,
    /// True if anyone asks.
    pub(super) is_wanted: bool,
}

impl Owners {
    pub(super) fn note(&mut self, owner: Owner) {
        // An owner that came late goes before others.
        let place = match self.owners.back() {
            Some(last) if last.first >= owner.first => self.owners.partition_point(|before| before.first < owner.first),
            _ => self.owners.len(),
        };
        let before = place.checked_sub(1).and_then(|before| self.owners.get(before));
        if before.is_some_and(|before| before.call.is_some() && before.call == owner.call) && place == self.owners.len()
        {
            return;
        }
        match self.owners.get_mut(place) {
            Some(same) if same.first == owner.first => *same = owner,
            _ => self.owners.insert(place, owner),
        }
        if self.owners.len() > OWNERS {
            self.owners.pop_front();
        }
    }

    /// Assigns messages from a place on to the message of `owner`. Such messages have the XID of `owner` and no call of
    /// their own, because each was a part.
    pub(super) fn claim(&mut self, first: u64, owner: Owner) {
        let parts = self.owners.iter_mut().rev().take_while(|part| part.first >= first);
        for part in parts.filter(|part| part.call.is_none() && part.xid == owner.xid) {
            *part = Owner { first: part.first, ..owner };
        }
    }

    pub(super) fn find(&self, place: u64) -> Option<&Owner> {
        if let Some(last) = self.owners.back().filter(|last| last.first <= place) {
            return Some(last);
        }
        let after = self.owners.partition_point(|owner| owner.first <= place);
        self.owners.get(after.checked_sub(1)?)
    }
}

impl Recoveries {
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
            RecoveryKind::SentAgain | RecoveryKind::Replaced | RecoveryKind::Failed => {}
            _ => *not_ready = None,
        }
        if not_ready.is_some_and(|from| place >= from) { AgainFor::NotReady } else { AgainFor::Loss }
    }

    /// Octets of memory taken by what waits, and by what was retransmitted.
    pub(super) fn held(&self) -> usize {
        let again = self.again.active.len() + self.again.passive.len();
        self.waiting.len() * size_of::<WaitingSign>() + again * size_of::<((u64, Side), u32)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_owner_is_placed_between_its_neighbours() {
        let mut owners = Owners::default();
        for (first, call) in [(5, 1), (9, 2), (7, 3), (5, 4)] {
            owners.note(Owner { call: Some(call), ..Owner::unknown(first) });
        }
        let calls = [4, 5, 6, 7, 8, 9, 10].map(|place| owners.find(place).and_then(|owner| owner.call));
        assert_eq!(calls, [None, Some(4), Some(4), Some(3), Some(3), Some(2), Some(2)]);
        assert_eq!(owners.owners.len(), 3, "one for each place");
    }

    #[test]
    fn each_packet_that_was_sent_again_is_held_once() {
        let mut recoveries = Recoveries::default();
        let times = [7, 8, 8].map(|place| recoveries.send_again(Side::Active, Side::Active, place));
        assert_eq!(times, [2, 2, 3]);
        assert_eq!(recoveries.held(), 2 * size_of::<((u64, Side), u32)>());
        (100..5000).for_each(|place| assert_eq!(recoveries.send_again(Side::Active, Side::Active, place), 2));
        assert_eq!(recoveries.held(), AGAIN * size_of::<((u64, Side), u32)>());
    }
}

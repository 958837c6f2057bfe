//! Calls that the data of each end belongs to, by place.

use std::collections::VecDeque;

use crate::carrier::operation::Side;

/// The most operations of one end that are remembered, more than are under way at a time.
const OWNERS: usize = 128;
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
}

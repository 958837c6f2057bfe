//! Checksums (ICRC) of the few packets that are worth a check: a receiver drops a packet with a wrong one without a word, so what an
//! end retransmits in vain may have one.
//!
//! A wrong one proves something only if the capture holds the checksums that are on the wire. Some captures hold zeros, or packets
//! whose addresses were changed. So a few other packets of each end are checked too: messages of connection management, and packets
//! whose connection is not known yet.

use std::collections::BTreeMap;

use crate::carrier::operation::Side;
use crate::link::Address;

/// The most ends that are remembered.
const ENDS: usize = 10_000;
/// The most packets of an end that are checked in search of a right checksum.
const SAMPLES: u32 = 16;

/// A packet whose checksum is wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unverified {
    /// One of the packets of an end that show what the capture holds.
    Sample(Address),
    /// A packet that was retransmitted and not acknowledged.
    Again(RetransmittedPacket),
}

/// A packet that was retransmitted and not acknowledged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RetransmittedPacket {
    /// Name of the connection.
    pub(super) key: u64,
    /// Sender of the packet.
    pub(super) from: Side,
    /// Packet sequence number, extended to 64 bits.
    pub(super) number: u64,
    /// Frame of the packet.
    pub(super) frame: u64,
}

/// Packets of an end that were checked.
#[derive(Clone, Copy, Debug, Default)]
struct CheckedPackets {
    packets: u32,
    has_right: bool,
}

/// Ends by what their packets show.
#[derive(Debug, Default)]
pub(super) struct CheckedEnds(BTreeMap<Address, CheckedPackets>);

impl CheckedEnds {
    /// Returns true if another packet of this end is worth a check.
    pub(super) fn is_wanted(&self, end: Address) -> bool {
        match self.0.get(&end) {
            Some(checked) => !checked.has_right && checked.packets < SAMPLES,
            None => self.0.len() < ENDS,
        }
    }

    pub(super) fn take_verdict(&mut self, end: Address, is_right: bool) {
        if self.0.len() < ENDS || self.0.contains_key(&end) {
            let checked = self.0.entry(end).or_default();
            checked.packets += 1;
            checked.has_right |= is_right;
        }
    }

    /// Returns true if a packet of this end has a right checksum: the capture holds the checksums of this end.
    pub(super) fn are_recorded(&self, end: Address) -> bool {
        self.0.get(&end).is_some_and(|checked| checked.has_right)
    }
}

//! Packets of a connection that wait for an earlier one.

use std::collections::BTreeMap;

use super::transport::Transport;
use crate::carrier::operation::{Operation, OperationKind, Origin, Places, Side, Stamp};
use crate::file::Time;

/// The most packets that are buffered for one connection.
const HELD_PACKETS: usize = 4096;
/// The most octets that are buffered for one connection.
const HELD_OCTETS: usize = 8 << 20;

/// Responses to an RDMA Read request that were asked for again.
#[derive(Clone, Copy, Debug)]
pub(super) struct RepeatedResponses {
    /// The lowest number.
    pub(super) from: u64,
    /// Time at which some were asked for again first.
    pub(super) at: Time,
}

impl RepeatedResponses {
    /// Adds what is asked for again later.
    pub(super) fn merge_into(all: &mut Option<Self>, more: Self) {
        let before = all.get_or_insert(more);
        before.from = before.from.min(more.from);
    }
}

/// A packet that waits.
#[derive(Debug)]
pub(super) struct BufferedPacket {
    pub(super) from: Side,
    pub(super) stamp: Stamp,
    pub(super) began: Stamp,
    pub(super) octets: Box<[u8]>,
    pub(super) length: usize,
    pub(super) retransmitted: u32,
    pub(super) first_sent: Option<Time>,
    pub(super) acknowledged: Option<u64>,
    pub(super) is_request: bool,
    pub(super) asked_again: Option<RepeatedResponses>,
    /// Packet sequence number when the packet was buffered; the packet may have been renumbered meanwhile.
    pub(super) number: u64,
}

/// Packets that wait, and their size in octets.
#[derive(Debug, Default)]
pub(super) struct Packets {
    pub(super) packets: BTreeMap<u64, BufferedPacket>,
    pub(super) octets: usize,
}

impl Packets {
    pub(super) fn insert(&mut self, key: u64, held: BufferedPacket) {
        self.octets += held.size();
        self.octets -= self.packets.insert(key, held).map_or(0, |before| before.size());
    }

    pub(super) fn remove(&mut self, key: u64) -> Option<BufferedPacket> {
        let held = self.packets.remove(&key)?;
        self.octets -= held.size();
        Some(held)
    }

    pub(super) fn first_key(&self) -> Option<u64> {
        self.packets.first_key_value().map(|(key, _)| *key)
    }

    /// Releases the packets before `key`.
    pub(super) fn forget_before(&mut self, key: u64) {
        while self.first_key().is_some_and(|first| first < key) {
            let held = self.packets.pop_first();
            self.octets -= held.map_or(0, |(_, held)| held.size());
        }
    }

    /// Takes the packets from `key` on.
    pub(super) fn take_from(&mut self, key: u64) -> Self {
        let packets = self.packets.split_off(&key);
        let octets = packets.values().map(BufferedPacket::size).sum();
        self.octets -= octets;
        Self { packets, octets }
    }

    pub(super) fn is_full(&self) -> bool {
        self.packets.len() > HELD_PACKETS || self.octets > HELD_OCTETS
    }
}

/// The packet being handled.
#[derive(Clone, Copy)]
pub(super) struct Arrival<'a> {
    pub(super) from: Side,
    pub(super) stamp: Stamp,
    /// Frame of the first copy, if the receiver refused that copy; otherwise `stamp`.
    pub(super) began: Stamp,
    pub(super) octets: &'a [u8],
    pub(super) length: usize,
    pub(super) retransmitted: u32,
    /// For a retransmitted packet: the time at which the content, or the next content, was first sent.
    pub(super) first_sent: Option<Time>,
    /// Nanoseconds since the sender last sent a request or got a response.
    pub(super) silence: u64,
    /// Highest number of the other end's requests that the sender had acknowledged.
    pub(super) acknowledged: Option<u64>,
    /// Responses that were asked for again before this RDMA Read request was used.
    pub(super) asked_again: Option<RepeatedResponses>,
    pub(super) packet: &'a Transport<'a>,
}

impl Arrival<'_> {
    /// Sender and frame of the packet.
    pub(super) const fn origin(&self) -> Origin {
        Origin { from: self.from, stamp: self.stamp }
    }
}

impl BufferedPacket {
    pub(super) fn new(arrival: &Arrival<'_>, number: u64) -> Self {
        let Arrival { from, stamp, began, octets, length, retransmitted, first_sent, acknowledged, .. } = *arrival;
        let Arrival { asked_again, packet, .. } = *arrival;
        let is_request = packet.is_request();
        Self {
            from,
            stamp,
            began,
            octets: octets.into(),
            length,
            retransmitted,
            first_sent,
            acknowledged,
            is_request,
            asked_again,
            number,
        }
    }

    /// Returns the memory used by the packet and the entry, in octets.
    pub(super) const fn size(&self) -> usize {
        self.octets.len() + 2 * size_of::<Self>()
    }

    pub(super) fn arrival<'a>(&'a self, packet: &'a Transport<'a>) -> Arrival<'a> {
        let Self { from, stamp, began, ref octets, length, retransmitted, first_sent, acknowledged, .. } = *self;
        let (silence, asked_again) = (0, self.asked_again);
        Arrival {
            from,
            stamp,
            began,
            octets,
            length,
            retransmitted,
            first_sent,
            silence,
            acknowledged,
            asked_again,
            packet,
        }
    }

    /// Returns the time at which the content was first sent, as far as the capture shows.
    pub(super) fn first_sent(&self) -> Time {
        self.first_sent.unwrap_or(self.stamp.time)
    }
}

impl Arrival<'_> {
    /// Returns the operation of the packet, at the place `number`.
    pub(super) const fn operation<'b>(&self, number: u64, kind: OperationKind<'b>) -> Operation<'b> {
        let Self { from, stamp, began, retransmitted, first_sent, .. } = *self;
        Operation { from, stamp, began, retransmitted, first_sent, places: Places::one(number), kind }
    }
}

#[cfg(test)]
mod tests {
    use super::super::transport::LEN;
    use super::*;

    /// A packet that takes this much memory.
    fn packet_of_size(size: usize) -> BufferedPacket {
        let overhead = BufferedPacket { octets: [].into(), ..packet_of(vec![0; LEN]) }.size();
        let held = packet_of(vec![0; size - overhead]);
        assert_eq!(held.size(), size);
        held
    }

    fn packet_of(octets: Vec<u8>) -> BufferedPacket {
        let (length, packet) = (octets.len(), Transport::decode(&octets, octets.len()).unwrap());
        let arrival = Arrival {
            from: Side::Active,
            stamp: Stamp::default(),
            began: Stamp::default(),
            octets: &octets,
            length,
            retransmitted: 0,
            first_sent: None,
            silence: 0,
            acknowledged: None,
            asked_again: None,
            packet: &packet,
        };
        BufferedPacket::new(&arrival, 1)
    }

    #[test]
    fn more_than_8_mebibytes_are_too_many() {
        for (size, is_full) in [(HELD_OCTETS, false), (HELD_OCTETS + 1, true), (2 * HELD_OCTETS, true)] {
            let mut packets = Packets::default();
            packets.insert(1, packet_of_size(size));
            assert_eq!(packets.is_full(), is_full);
        }
    }

    #[test]
    fn a_replaced_packet_frees_its_octets() {
        let mut packets = Packets::default();
        for size in [1000, 2000, 500] {
            packets.insert(1, packet_of_size(size));
            assert_eq!(packets.octets, size);
        }
        packets.insert(7, packet_of_size(900));
        packets.insert(8, packet_of_size(800));
        packets.forget_before(7);
        assert_eq!(packets.octets, 1700);
        _ = packets.take_from(8);
        assert_eq!(packets.octets, 900);
        assert!(packets.remove(7).is_some());
        assert_eq!(packets.octets, 0);
    }
}

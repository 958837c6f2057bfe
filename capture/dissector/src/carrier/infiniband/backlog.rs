//! Packets of both ends that wait for other packets, in the order of the capture.

use std::collections::BTreeSet;

use super::reorder_buffer::{Arrival, BufferedPacket, Packets, RepeatedResponses};
use super::stream::{GRACE, RequestStream, responses};
use super::transport::{PacketKind, Transport};
use crate::carrier::operation::{Places, Side, Sides, Stamp};
use crate::file::Time;

/// Reasons why a packet cannot be used yet.
#[derive(Clone, Copy, Debug)]
pub(super) enum Early {
    /// An earlier request of this end is missing.
    Gap(Side),
    /// The packet refers to something unknown, which may be in a late packet of this end.
    Unknown(Side),
}

impl Early {
    /// The end whose next request is awaited.
    pub(super) const fn side(self) -> Side {
        match self {
            Self::Gap(side) | Self::Unknown(side) => side,
        }
    }
}

/// The buffered packet that blocks the others.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockedPacket {
    pub(super) key: u64,
    pub(super) reason: Early,
}

/// Packets that wait. The key of each is the count of packets until its arrival.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    queue: Packets,
    blocked: Option<BlockedPacket>,
    arrivals: u64,
}

impl Backlog {
    /// Counts a packet, and returns the count.
    pub(super) const fn count_arrival(&mut self) -> u64 {
        self.arrivals += 1;
        self.arrivals
    }

    /// Returns the count of packets until now.
    pub(super) const fn arrivals(&self) -> u64 {
        self.arrivals
    }

    /// Returns true if nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.queue.packets.is_empty()
    }

    /// Octets of memory taken by what waits.
    pub(super) const fn octets(&self) -> usize {
        self.queue.octets
    }

    /// Buffers the packet that came last; `stream` has the requests of the sender.
    pub(super) fn hold(&mut self, arrival: &Arrival<'_>, number: u64, stream: &mut RequestStream) {
        if arrival.packet.is_request() {
            stream.held.insert(number, self.arrivals);
        }
        self.queue.insert(self.arrivals, BufferedPacket::new(arrival, number));
    }

    /// Returns the key of the packet that came first.
    pub(super) fn first_key(&self) -> Option<u64> {
        self.queue.first_key()
    }

    /// Returns the frame of the packet that came first.
    pub(super) fn first_stamp(&self) -> Option<Stamp> {
        self.queue.packets.first_key_value().map(|(_, held)| held.stamp)
    }

    pub(super) fn get(&self, key: u64) -> Option<&BufferedPacket> {
        self.queue.packets.get(&key)
    }

    pub(super) fn remove(&mut self, key: u64) -> Option<BufferedPacket> {
        self.queue.remove(key)
    }

    /// Puts a packet back that could not be used.
    pub(super) fn put_back(&mut self, key: u64, held: BufferedPacket) {
        self.queue.insert(key, held);
    }

    /// Notes that a packet blocks the others.
    pub(super) const fn block(&mut self, key: u64, reason: Early) {
        self.blocked = Some(BlockedPacket { key, reason });
    }

    /// Notes that no packet waits.
    pub(super) const fn unblock(&mut self) {
        self.blocked = None;
    }

    /// Returns the packet that blocks the others.
    pub(super) const fn blocked(&self) -> Option<BlockedPacket> {
        self.blocked
    }

    /// Returns the first answer of an end among the packets that came first.
    pub(super) fn first_answer(&self, side: Side) -> Option<u64> {
        let is_answer = |(key, held): (&u64, &BufferedPacket)| (held.from == side && !held.is_request).then_some(*key);
        self.queue.packets.iter().take(GRACE as usize).find_map(is_answer)
    }

    /// Returns true if what is buffered has waited long enough, or has become too much.
    pub(super) fn is_overdue(&self, streams: &Sides<RequestStream>) -> bool {
        let Some(BlockedPacket { key, reason }) = self.blocked else { return false };
        let waited = match reason {
            Early::Gap(side) => {
                let stream = streams.get(side);
                stream.arrived.is_some_and(|(highest, since)| {
                    stream.next.is_some_and(|next| highest >= next) && self.arrivals - since > GRACE
                })
            }
            Early::Unknown(_) => self.arrivals - key > GRACE,
        };
        waited || self.queue.is_full()
    }

    /// Sets the requests aside that the receiver discarded, from this number on, as far as they were not used yet.
    pub(super) fn move_refused(&mut self, number: u64, stream: &mut RequestStream) {
        stream.refused_from = Some(number);
        let ahead = stream.held.split_off(&number);
        for (number, arrival) in ahead {
            if let Some(held) = self.queue.remove(arrival) {
                stream.refused.insert(number, held);
            }
        }
    }

    /// Notes that a buffered request came again. Returns false if the request is not buffered.
    pub(super) fn repeat_request(&mut self, arrival: &Arrival<'_>, number: u64, stream: &RequestStream) -> bool {
        let Some(held) = stream.held.get(&number).and_then(|key| self.queue.packets.get_mut(key)) else { return false };
        held.retransmitted += 1;
        RepeatedResponses::merge_into(
            &mut held.asked_again,
            RepeatedResponses { from: number, at: arrival.stamp.time },
        );
        // Of copies since the receiver refused the first, any may be the accepted one.
        let is_last_of_send = arrival.packet.last && arrival.packet.operation == PacketKind::Send;
        held.first_sent.take_if(|_| is_last_of_send);
        true
    }

    /// If a request that was not seen fills a gap: when what is behind the gap was first sent.
    pub(super) fn first_after(&self, number: u64, stream: &RequestStream, mtu: Option<u32>) -> Option<Time> {
        stream.next.filter(|next| number >= *next && !self.is_within_read(number, stream, mtu))?;
        let held = stream.held.range(number..).next().and_then(|(_, key)| self.queue.packets.get(key));
        let refused = stream.refused.packets.range(number..).next().map(|(_, held)| held);
        held.into_iter().chain(refused).min_by_key(|held| held.number).map(BufferedPacket::first_sent)
    }

    /// Returns true if a buffered request is an RDMA Read with a response of this number, which is then asked for again.
    pub(super) fn ask_read_again(
        &mut self,
        asked: RepeatedResponses,
        stream: &RequestStream,
        mtu: Option<u32>,
    ) -> bool {
        let number = asked.from;
        // Without the path MTU, the number may be that of another request.
        if mtu.is_none() || !self.is_within_read(number, stream, mtu) {
            return false;
        }
        let before = stream.held.range(..number).next_back();
        let Some(held) = before.and_then(|(_, key)| self.queue.packets.get_mut(key)) else { return false };
        RepeatedResponses::merge_into(&mut held.asked_again, asked);
        true
    }

    /// Returns true if a request that waits is an RDMA Read with a response of this number. The rest of the responses
    /// is asked for again, which counts when the first request is used.
    fn is_within_read(&self, number: u64, stream: &RequestStream, mtu: Option<u32>) -> bool {
        let held = stream.held.range(..number).next_back().and_then(|(_, key)| self.queue.packets.get(key));
        let refused = stream.refused.packets.range(..number).next_back().map(|(_, held)| held);
        let before = held.into_iter().chain(refused).max_by_key(|held| held.number);
        before.is_some_and(|held| {
            let packet = Transport::decode(&held.octets, held.length).ok();
            let read = packet.filter(|packet| packet.operation == PacketKind::ReadRequest);
            let length = read.and_then(|packet| packet.target).map_or(0, |target| target.length);
            length > 0 && number < held.number + responses(length, mtu.unwrap_or(256))
        })
    }

    /// Buffered responses to an end in these places but the first of each: those take the numbers of a Read request,
    /// which is one packet.
    pub(super) fn later_responses(&self, side: Side, places: Places) -> u64 {
        let is_within = |held: &&BufferedPacket| {
            held.from != side && !held.is_request && (places.first..places.end).contains(&held.number)
        };
        let is_later = |held: &&BufferedPacket| {
            let packet = Transport::decode(&held.octets, held.length).ok();
            packet.is_some_and(|packet| packet.operation == PacketKind::ReadResponse && !packet.first)
        };
        let held = self.queue.packets.values().filter(is_within).filter(is_later);
        held.map(|held| held.number).collect::<BTreeSet<_>>().len() as u64
    }
}

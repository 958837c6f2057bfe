//! Packets that two captures hold, and packets that one capture lacks.
//!
//! All transmissions of a packet have one identity, so what is counted is: the file at the sender holds a packet three times, and the
//! other file twice. Then one was lost in between, whichever. Only packets that their sender retransmits are counted, and only if both
//! files hold the packet: a packet that a file lacks altogether may be lacking because of the capture.

use std::collections::VecDeque;

use super::clock_offset::{ClockOffset, SeenPacket};
use super::packet_id::PacketId;
use crate::carrier::operation::Stamp;
use crate::carrier::table::Map;
use crate::event::{LostBetween, WitnessedCopies};
use crate::file::Time;
use crate::link::Address;

/// The most packets that are remembered.
const PACKETS: usize = 1 << 16;
/// Nanoseconds after the latest copy of a packet at which no other copy comes to the other place any more.
const LATE: u64 = 1_000_000_000;
/// Nanoseconds before the end of a capture in which the capture need not hold a packet that was sent.
const EDGE: u64 = 10_000_000;

/// One of two captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Witness {
    First,
    Second,
}

/// A packet, as far as both captures show the packet.
#[derive(Clone, Copy, Debug)]
struct WitnessedPacket {
    first: WitnessedCopies,
    second: WitnessedCopies,
    from: Address,
    to: Address,
    is_repeated: bool,
    /// Number of lost copies that were reported.
    reported: u32,
}

/// The time that a capture covers, by the clock of the capture.
#[derive(Clone, Copy, Debug)]
struct CoveredTime {
    since: Time,
    until: Time,
}

/// Packets of both captures.
#[derive(Debug)]
pub(super) struct PacketMatcher {
    /// The address of the end that is nearer to the first capture, and that of the other end.
    near_first: Address,
    near_second: Address,
    packets: Map<u64, WitnessedPacket>,
    /// The packets in the order of the first observation.
    order: VecDeque<u64>,
    /// Packets that one file holds more often, each with the time by the clock of the first capture until which copies may come.
    repeated: VecDeque<(Time, u64)>,
    /// The times of either capture.
    covered: [Option<CoveredTime>; 2],
    pub(super) clock: ClockOffset,
    /// Number of packets that both captures hold.
    pub(super) matched: u64,
}

impl PacketMatcher {
    pub(super) fn new(near_first: Address, near_second: Address) -> Self {
        Self {
            near_first,
            near_second,
            packets: Map::default(),
            order: VecDeque::new(),
            repeated: VecDeque::new(),
            covered: [None; 2],
            clock: ClockOffset::default(),
            matched: 0,
        }
    }

    /// Takes a packet of one capture. `lost` takes copies that were lost in between.
    pub(super) fn see(&mut self, by: Witness, id: PacketId, stamp: Stamp, lost: &mut VecDeque<LostBetween>) {
        if let Some(covered) = self.covered.get_mut(usize::from(by == Witness::Second)) {
            let CoveredTime { since, until } = covered.unwrap_or(CoveredTime { since: stamp.time, until: stamp.time });
            *covered = Some(CoveredTime { since: since.min(stamp.time), until: until.max(stamp.time) });
        }
        if !self.packets.contains_key(&id.digest) {
            self.make_place(lost);
            self.order.push_back(id.digest);
        }
        let PacketId { digest, from, to, is_repeated } = id;
        let none = WitnessedPacket {
            first: WitnessedCopies::default(),
            second: WitnessedCopies::default(),
            from,
            to,
            is_repeated,
            reported: 0,
        };
        let packet = self.packets.entry(digest).or_insert(none);
        let copies = if by == Witness::First { &mut packet.first } else { &mut packet.second };
        copies.add_copy(stamp);
        let copied = copies.count;
        if (packet.first.count, packet.second.count) == (1, 1) {
            self.matched += 1;
            let (first, second) = (packet.first.earliest.time, packet.second.earliest.time);
            let difference = second.nanoseconds_after(first);
            if let Some(sender) = self.place_of_sender(from, to) {
                let is_from_first = sender == Witness::First;
                self.clock.take_packet(SeenPacket { is_from_first, time: first, difference });
            }
        }
        let is_earlier = self.repeated.back().is_some_and(|(_, last)| *last == digest);
        if is_repeated && copied > 1 && !is_earlier {
            let time = if by == Witness::First { Some(stamp.time) } else { self.by_first_clock(stamp.time) };
            if let Some(time) = time {
                self.repeated.push_back((Time(time.0.saturating_add(LATE)), digest));
                self.bound_repeated(lost);
            }
        }
    }

    /// Returns the capture that is nearer to the sender of a packet, for packets of the two ends.
    fn place_of_sender(&self, from: Address, to: Address) -> Option<Witness> {
        if from == self.near_first && to == self.near_second {
            Some(Witness::First)
        } else {
            (from == self.near_second && to == self.near_first).then_some(Witness::Second)
        }
    }

    /// Returns a time of the second clock by the first.
    fn by_first_clock(&self, time: Time) -> Option<Time> {
        let offset = self.clock.latest()?.middle();
        time.0.checked_add_signed(offset.checked_neg()?).map(Time)
    }

    /// Reports what was lost of packets of which no other copy comes, where both captures were read up to this time of the first clock.
    pub(super) fn settle_until(&mut self, time: Time, lost: &mut VecDeque<LostBetween>) {
        while self.repeated.front().is_some_and(|(until, _)| *until <= time) {
            if let Some((_, digest)) = self.repeated.pop_front() {
                self.settle(digest, lost);
            }
        }
    }

    /// Reports what was lost of the oldest repeated packet if there are too many: their time may stand still.
    fn bound_repeated(&mut self, lost: &mut VecDeque<LostBetween>) {
        if self.repeated.len() > PACKETS
            && let Some((_, digest)) = self.repeated.pop_front()
        {
            self.settle(digest, lost);
        }
    }

    /// Reports what was lost of one packet.
    fn settle(&mut self, digest: u64, lost: &mut VecDeque<LostBetween>) {
        let Some(packet) = self.packets.get(&digest) else { return };
        let WitnessedPacket { first, second, from, to, is_repeated, reported } = *packet;
        let Some(sender) = self.place_of_sender(from, to) else { return };
        let is_from_first = sender == Witness::First;
        let (sent, arrived) = if is_from_first { (first, second) } else { (second, first) };
        let count = if !is_repeated || arrived.count == 0 { 0 } else { sent.count.saturating_sub(arrived.count) };
        if count > reported && self.would_hold(if is_from_first { Witness::Second } else { Witness::First }, &sent) {
            self.packets.entry(digest).and_modify(|packet| packet.reported = count);
            lost.push_back(LostBetween { from, to, count: count - reported, first, second, is_from_first });
        }
    }

    /// Returns true if a capture was running when these copies, which the other end sent, would have arrived.
    fn would_hold(&self, by: Witness, sent: &WitnessedCopies) -> bool {
        let (place, back) = if by == Witness::Second { (1, false) } else { (0, true) };
        let Some((covered, bounds)) = self.covered.get(place).copied().flatten().zip(self.clock.latest()) else {
            return false;
        };
        let offset = if back { bounds.middle().saturating_neg() } else { bounds.middle() };
        let by_its_clock = |time: Time| time.0.saturating_add_signed(offset);
        by_its_clock(sent.earliest.time) >= covered.since.0.saturating_add(bounds.uncertainty())
            && by_its_clock(sent.latest.time).saturating_add(bounds.uncertainty() + EDGE) <= covered.until.0
    }

    /// Reports what was lost of all packets that are remembered.
    pub(super) fn settle_all(&mut self, lost: &mut VecDeque<LostBetween>) {
        for digest in core::mem::take(&mut self.order) {
            self.settle(digest, lost);
        }
    }

    /// Forgets the oldest packet if there are too many.
    fn make_place(&mut self, lost: &mut VecDeque<LostBetween>) {
        if self.order.len() < PACKETS {
            return;
        }
        if let Some(digest) = self.order.pop_front() {
            self.settle(digest, lost);
            self.packets.remove(&digest);
        }
    }

    /// Octets of memory.
    pub(super) fn memory_used(&self) -> usize {
        self.packets.len() * (size_of::<WitnessedPacket>() + 2 * size_of::<u64>())
            + self.repeated.len() * size_of::<(Time, u64)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_packets_are_bounded_while_time_stands_still() {
        let [from, to] = [1, 2].map(Address::Lid);
        let mut matcher = PacketMatcher::new(from, to);
        let mut lost = VecDeque::new();
        for number in 0..2 * PACKETS as u64 + 10 {
            let id = PacketId { digest: number % 2, from, to, is_repeated: true };
            matcher.see(Witness::First, id, Stamp::default(), &mut lost);
        }
        assert_eq!((matcher.repeated.len(), matcher.packets.len(), lost.len()), (PACKETS, 2, 0));
    }
}

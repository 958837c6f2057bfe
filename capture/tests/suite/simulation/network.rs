//! The network between two ends, and the point of it where packets are captured.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::synthetic::By::{self, Client, Server};
use crate::synthetic::Packet;
use crate::transcode::Random;

/// Microseconds that a packet takes from one end to the other.
pub(super) const DISTANCE: u64 = 40;

/// Properties of the network, and everything else that is left to chance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chances {
    pub(super) seed: u64,
    /// Packets of 1,000 that are lost before the capture, and behind it.
    pub(super) lost: [u64; 2],
    /// Packets of 1,000 that are late, before the capture, and behind it. Only TCP keeps what comes out of order.
    pub(super) late: [u64; 2],
    /// Messages of 1,000 for which there is no Receive yet.
    pub(super) not_ready: u64,
    /// Calls of 1,000 that are never answered.
    pub(super) hung: u64,
    /// Calls of 1,000 whose arguments the server reads.
    pub(super) read: u64,
    /// Microseconds from the client to where packets are captured.
    pub(super) tap: u64,
    /// Calls that wait at a time, and the most microseconds from one to the next.
    pub(super) in_flight: u32,
    pub(super) pause: u64,
}

impl Chances {
    /// Returns the chances of a seed.
    pub(super) fn from_seed(seed: u64) -> Self {
        let mut random = Random(seed);
        let mut one_of = |values: &[u64]| values[random.below(values.len() as u64) as usize];
        Self {
            seed,
            lost: [one_of(&[0, 2, 10, 50]), one_of(&[0, 2, 10, 50])],
            not_ready: one_of(&[0, 0, 20]),
            hung: one_of(&[0, 0, 30]),
            tap: one_of(&[0, DISTANCE / 2, DISTANCE]),
            read: one_of(&[0, 300, 700]),
            late: [one_of(&[0, 0, 20]), one_of(&[0, 0, 20])],
            in_flight: 16,
            pause: 300,
        }
    }

    /// Returns the chances of a seed with more calls in flight, or with fewer.
    pub(super) fn crowded(seed: u64) -> Self {
        let in_flight = [1, 4, 32, 64][seed as usize % 4];
        Self { in_flight, pause: 20, ..Self::from_seed(seed) }
    }
}

/// A second place where packets are captured, between the first and the server.
pub(super) struct FarTap {
    /// Microseconds from the client to the place.
    pub(super) at: u64,
    /// Microseconds between the two places that only packets of the server take, on top of the distance.
    back: u64,
    /// Packets of 1,000 that are lost between the two places, and between the second place and the server.
    pub(super) lost: [u64; 2],
    /// The most microseconds that packets wait between the two places.
    jitter: u64,
    random: Random,
    /// Times when the last packets of the client and of the server left the network between the places.
    left: [u64; 2],
    /// Packets that were captured there, each with the time and with the time at the first place, if the packet passed both.
    pub(super) captured: Vec<FarPacket>,
    /// Packets of the client and of the server that were lost between the two places, except for acknowledgements.
    pub(super) dropped: [u64; 2],
}

/// A packet that was captured at the second place.
#[derive(Clone)]
pub(super) struct FarPacket {
    pub(super) time: u64,
    pub(super) from: By,
    pub(super) near: Option<u64>,
    pub(super) octets: Packet,
}

impl FarTap {
    /// Returns the second place of a seed.
    pub(super) fn from_seed(seed: u64) -> Self {
        let mut random = Random(seed ^ 0xfa2);
        let mut one_of = |values: &[u64]| values[random.below(values.len() as u64) as usize];
        let at = one_of(&[DISTANCE / 2 + 5, DISTANCE]);
        let back = one_of(&[0, 0, 30, 3_000]);
        let lost = [one_of(&[0, 5, 20, 40]), if at == DISTANCE { 0 } else { one_of(&[0, 0, 10]) }];
        let jitter = one_of(&[0, 5, 200]);
        Self { at, back, lost, jitter, random, left: [0; 2], captured: Vec::new(), dropped: [0; 2] }
    }

    /// Passes a packet from one place to the other. Packets of an end stay in order.
    fn pass(&mut self, from: By, time: u64, distance: u64) -> u64 {
        let wait = if self.jitter > 0 { self.random.below(self.jitter) } else { 0 };
        let back = if from == Server { self.back } else { 0 };
        let left = &mut self.left[usize::from(from == Server)];
        *left = (time + distance + back + wait).max(*left + 1);
        *left
    }

    /// Returns true if a packet is to be lost. Losses of acknowledgements, which no end repeats, are not counted.
    fn is_lost_between(&mut self, from: By, octets: &[u8]) -> bool {
        let is_lost = self.random.happens(self.lost[0]);
        // Behind the headers of IPv4 and UDP: ACKNOWLEDGE. Behind the header of IPv4: a TCP header alone.
        let is_acknowledgement = match octets[9] {
            6 => octets.len() == 20 + usize::from(octets[32] >> 4) * 4,
            _ => octets[28] == 0x11,
        };
        self.dropped[usize::from(from == Server)] += u64::from(is_lost && !is_acknowledgement);
        is_lost
    }
}

/// Time at which a packet was captured, and time of its arrival; `None` if it was lost before that.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passage {
    /// Time at which it passes the place of the capture, if it is not lost before that or late.
    pub(super) due: u64,
    pub(super) captured: Option<u64>,
    pub(super) arrives: Option<u64>,
}

/// The network, and what is to happen.
pub(super) struct Network<E> {
    pub(super) chances: Chances,
    pub(super) random: Random,
    pub(super) now: u64,
    /// Packets with the times when they were captured.
    pub(super) captured: Vec<(u64, Packet)>,
    queue: BinaryHeap<Reverse<(u64, u64, E)>>,
    order: u64,
    /// Time from which on the link of each end is free.
    free: [u64; 2],
    /// Packets of the client and of the server that were lost before the capture, and behind it.
    pub(super) dropped: [[u64; 2]; 2],
    /// A second place where packets are captured.
    pub(super) far: Option<FarTap>,
}

impl<E: Ord> Network<E> {
    /// A network on which the connection was set up by these packets.
    pub(super) fn new(chances: Chances, captured: Vec<(u64, Packet)>) -> Self {
        let (random, queue) = (Random(chances.seed), BinaryHeap::new());
        Self { chances, random, now: 1_000, captured, queue, order: 0, free: [0; 2], dropped: [[0; 2]; 2], far: None }
    }

    /// Lets something happen later.
    pub(super) fn at(&mut self, time: u64, event: E) {
        self.order += 1;
        self.queue.push(Reverse((time, self.order, event)));
    }

    /// Returns the next event, at its time.
    pub(super) fn next(&mut self) -> Option<E> {
        let Reverse((time, _, event)) = self.queue.pop()?;
        self.now = time;
        Some(event)
    }

    /// Passes a packet. One microsecond is between any two of an end.
    pub(super) fn pass(&mut self, from: By, octets: Packet) -> Passage {
        let free = &mut self.free[usize::from(from == Client)];
        let sent = self.now.max(*free);
        *free = sent + 1;
        if let Some(far) = &mut self.far {
            return Self::pass_two(far, from, sent, octets, &mut self.captured, self.chances);
        }
        let before = if from == Client { self.chances.tap } else { DISTANCE - self.chances.tap };
        let Chances { lost, late, .. } = self.chances;
        let (due, dropped) = (sent + before, &mut self.dropped[usize::from(from == Server)]);
        if self.random.happens(lost[0]) {
            dropped[0] += 1;
            return Passage { due, captured: None, arrives: None };
        }
        let captured = due + self.delay(late[0]);
        self.captured.push((captured, octets));
        let arrives = captured + DISTANCE - before + self.delay(late[1]);
        let is_lost = self.random.happens(lost[1]);
        self.dropped[usize::from(from == Server)][1] += u64::from(is_lost);
        Passage { due, captured: Some(captured), arrives: (!is_lost).then_some(arrives) }
    }

    /// Passes a packet by two places.
    fn pass_two(
        far: &mut FarTap,
        from: By,
        sent: u64,
        octets: Packet,
        captured: &mut Vec<(u64, Packet)>,
        chances: Chances,
    ) -> Passage {
        let Chances { tap, lost, .. } = chances;
        let between = far.at - tap;
        if from == Client {
            let due = sent + tap;
            if tap > 0 && far.random.happens(lost[0]) {
                return Passage { due, captured: None, arrives: None };
            }
            captured.push((due, octets.clone()));
            if far.is_lost_between(from, &octets) {
                return Passage { due, captured: Some(due), arrives: None };
            }
            let time = far.pass(from, due, between);
            far.captured.push(FarPacket { time, from, near: Some(due), octets });
            let is_lost = far.random.happens(far.lost[1]);
            return Passage { due, captured: Some(due), arrives: (!is_lost).then_some(time + DISTANCE - far.at) };
        }
        let time = sent + DISTANCE - far.at;
        let due = time + between + far.back;
        if far.random.happens(far.lost[1]) {
            return Passage { due, captured: None, arrives: None };
        }
        if far.is_lost_between(from, &octets) {
            far.captured.push(FarPacket { time, from, near: None, octets });
            return Passage { due, captured: None, arrives: None };
        }
        let near = far.pass(from, time, between);
        far.captured.push(FarPacket { time, from, near: Some(near), octets: octets.clone() });
        captured.push((near, octets));
        let is_lost = tap > 0 && far.random.happens(lost[1]);
        Passage { due, captured: Some(near), arrives: (!is_lost).then_some(near + tap) }
    }

    /// Microseconds that a packet is late.
    fn delay(&mut self, per_mille: u64) -> u64 {
        if self.random.happens(per_mille) { 1 + self.random.below(2_u64) } else { 0 }
    }
}

//! Which packets the capture holds twice.
//!
//! A mirror of two ports, or a tap on both sides of a router, captures each packet twice, and a network may double some. Nobody
//! sent such a copy again, so it is left out before anything is concluded from it. It is told from a retransmission by
//!
//! - the **identification** that its host gave it, if the host gives each packet another one;
//! - **where** it was captured: not where the packet was captured before;
//! - **time**, if neither says anything: it comes within a millisecond, nothing asked for it, and copies come in the order of their
//!   packets. If most packets of this end are there twice, what comes as soon as other copies did is a copy too, even if it was
//!   asked for.

use core::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;

use super::operation::Side;
use super::recovery::SILENCE;
use crate::file::Time;
use crate::link::Sighting;

/// Packets that are remembered, in sets of four: more than pass while a copy is on its way.
const SETS: usize = 1 << 11;
const OF_SET: usize = 4;
/// No copy comes this many nanoseconds after its packet, or later: a host may use the same identification again by then.
const LATE: u64 = 10_000_000;
/// This many copies show that packets are captured twice.
const ENOUGH: u32 = 4;

/// The packets that were captured last, of all connections.
#[derive(Debug, Default)]
pub(super) struct RecentPackets {
    /// Always the same, so that a capture gives the same answers each time.
    state: FixedState,
    sets: Vec<[RecentPacket; OF_SET]>,
}

/// A packet as it was sent once.
#[derive(Clone, Copy, Debug, Default)]
struct RecentPacket {
    /// Digest of what all copies have in common; 0 if there is no packet.
    content: u64,
    time: Time,
    /// Where it was captured first, and last.
    points: [u32; 2],
    /// Its number among the packets of its end.
    number: u32,
    copies: u32,
}

/// Per-end state about copies of packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Copies {
    packets: u32,
    copies: u32,
    /// The number of the packet whose copy came last.
    copied: u32,
    /// The last identification; 0 if there was none.
    identification: u16,
    /// Two packets had different identifications.
    is_identified: bool,
    /// The most nanoseconds between a packet and its copy: fewer than `LATE`.
    apart: u32,
}

impl RecentPackets {
    /// Digest of what all copies of a packet of an end have in common, in the words of its headers.
    #[inline]
    pub(super) fn digest(&self, (key, from): (u64, Side), words: [u64; 3], rest: &[u8], sighting: Sighting) -> u64 {
        let mut hasher = self.state.build_hasher();
        hasher.write_u64(key << 17 | u64::from(from == Side::Passive) << 16 | u64::from(sighting.identification));
        words.iter().for_each(|word| hasher.write_u64(*word));
        if !rest.is_empty() {
            hasher.write(rest);
        }
        hasher.finish().max(1)
    }

    /// Returns true if a packet of this content was captured before and was not sent again since. `is_asked` says
    /// whether something has asked for it since a time.
    #[inline]
    pub(super) fn is_copy(
        &mut self,
        (content, time): (u64, Time),
        sighting: Sighting,
        end: &mut Copies,
        is_asked: impl FnOnce(Time) -> bool,
    ) -> bool {
        if self.sets.is_empty() {
            self.sets = vec![Default::default(); SETS];
        }
        let Some(set) = self.sets.get_mut(content as usize % SETS) else { return false };
        let Sighting { identification, point } = sighting;
        let known = set.iter_mut().find(|recent| recent.content == content);
        let entry = match known {
            Some(known) => {
                if known.is_repeated_by(time, sighting, end, is_asked) {
                    return true;
                }
                known
            }
            None => {
                let Some(oldest) = set.iter_mut().min_by_key(|recent| recent.time) else { return false };
                oldest
            }
        };
        end.send(identification);
        let number = end.packets;
        *entry = RecentPacket { content, time, points: [point; 2], number, copies: 0 };
        false
    }
}

impl RecentPacket {
    /// Returns true if a packet of the same content is a copy, which is then counted.
    #[cold]
    fn is_repeated_by(
        &mut self,
        time: Time,
        Sighting { identification, point }: Sighting,
        end: &mut Copies,
        is_asked: impl FnOnce(Time) -> bool,
    ) -> bool {
        let age = time.0.abs_diff(self.time.0);
        let is_elsewhere = !self.points.contains(&point);
        let is_expected = end.is_doubled() && self.copies == 0 && age <= 2 * u64::from(end.apart);
        let is_copy = if is_elsewhere {
            age < LATE
        } else if end.is_identified && identification != 0 {
            age < LATE && (is_expected || !is_asked(self.time))
        } else {
            let is_in_order = self.number == end.packets || self.number == end.copied.wrapping_add(1);
            age < SILENCE && (is_expected || (is_in_order && !is_asked(self.time)))
        };
        if is_copy {
            self.points[1] = point;
            self.copies += 1;
            end.copies = end.copies.saturating_add(1);
            end.copied = self.number;
            if !is_expected {
                end.apart = end.apart.max(age as u32);
            }
        }
        is_copy
    }
}

impl Copies {
    /// This end sent a packet.
    #[inline]
    fn send(&mut self, identification: u16) {
        self.packets = self.packets.wrapping_add(1);
        if identification != 0 {
            self.is_identified |= self.identification != 0 && self.identification != identification;
            self.identification = identification;
        }
    }

    /// `true` if most of its packets are there twice, or, of the first few, all before the last.
    const fn is_doubled(&self) -> bool {
        let is_most = self.copies >= ENOUGH && self.copies >= self.packets / 2;
        is_most || self.copies > 0 && self.copies.saturating_add(1) >= self.packets
    }
}

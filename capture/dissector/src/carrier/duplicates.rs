//! Packets that the capture holds twice.
//!
//! A mirror of two ports, or a tap on both sides of a router, captures each packet twice, and a network may double
//! some. No end retransmitted such a duplicate, so duplicates are left out before anything is concluded. A duplicate
//! is told from a retransmission by
//!
//! - the **identification** of the packet, if the host gives each packet another one;
//! - the **capture point**: not where the packet was captured before;
//! - **time**, if neither says anything: a duplicate comes within a millisecond, nothing asked for the packet again,
//!   and duplicates come in the order of their packets. If most packets of this end are there twice, a packet that
//!   comes with the usual delay of duplicates is a duplicate too, even if something asked for the packet. The packet
//!   may have been retransmitted meanwhile;
//! - **need**, for later packets: a mirror may hold copies back, and a file of both ends of a network shows each packet
//!   at one end and then at the other. No sender repeats acknowledged data, or anything before the shortest time-out.

use core::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;

use super::operation::{Origin, Side, Stamp};
use super::recovery::{SILENCE, TIMER};
use crate::file::Time;
use crate::link::PacketObservation;

/// Packets that are remembered, in sets of four: more than pass before a duplicate comes.
const SETS: usize = 1 << 11;
const OF_SET: usize = 4;
/// A host may use the same identification again so many nanoseconds later.
const LATE: u64 = 10_000_000;
/// Least number of nanoseconds after a packet at which no copy of the packet comes any more.
const FAR: u64 = 2_000_000_000;
/// An end may repeat a message that sets a connection up so many nanoseconds later.
pub(super) const REPEATED: u64 = 200_000_000;
/// Nanoseconds by which a copy may come earlier or later than others.
const JITTER: u64 = 1_000;
/// Number of packets that an end may send before the duplicate of the first one comes.
const FIRST: u32 = 16;
/// This many copies show that packets are captured twice.
const ENOUGH: u32 = 4;

/// Frame of a packet, and the marks that tell copies of the packet from retransmissions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketCapture {
    pub(crate) stamp: Stamp,
    pub(crate) observation: PacketObservation,
}

/// Sender of a packet, and the capture of the packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentPacket {
    pub(super) from: Side,
    pub(super) captured: PacketCapture,
}

impl SentPacket {
    /// Sender and frame of the packet.
    pub(super) const fn origin(&self) -> Origin {
        Origin { from: self.from, stamp: self.captured.stamp }
    }
}

/// Need for a packet that is captured once more, as far as other packets show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// A later packet asked for this one again.
    Asked,
    /// No captured packet asked for the packet: the sender may have got no acknowledgement.
    Unasked,
    /// The other end acknowledged the packet.
    Met,
}

impl Need {
    /// The need for a packet that was asked for, or that the other end has.
    pub(super) const fn from_evidence(is_asked: bool, is_met: bool) -> Self {
        match (is_asked, is_met) {
            (true, _) => Self::Asked,
            (false, true) => Self::Met,
            (false, false) => Self::Unasked,
        }
    }
}

/// The packets that were captured last, of all connections.
#[derive(Debug, Default)]
pub(super) struct RecentPackets {
    /// Always the same, so that a capture gives the same answers each time.
    state: FixedState,
    sets: Vec<[RecentPacket; OF_SET]>,
}

/// One transmission of a packet.
#[derive(Clone, Copy, Debug, Default)]
struct RecentPacket {
    /// Digest of what all copies have in common; 0 if there is no packet.
    content: u64,
    time: Time,
    /// Capture points of the first capture and of the last.
    points: [u32; 2],
    /// Number of the packet among those of its sender.
    number: u32,
    copies: u32,
    /// An earlier transmission of the same packet that has no duplicate yet.
    earlier: Option<EarlierPacket>,
}

/// A packet that was retransmitted before the duplicate came.
#[derive(Clone, Copy, Debug)]
struct EarlierPacket {
    number: u32,
    /// Nanoseconds between packet and retransmission.
    before: u32,
}

/// Per-end state about copies of packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Duplicates {
    packets: u32,
    copies: u32,
    /// The number of the packet whose copy came last.
    copied: u32,
    /// The last identification; 0 if there was none.
    identification: u16,
    /// Two packets had different identifications.
    is_identified: bool,
    /// A packet was retransmitted with the same identification.
    keeps_identification: bool,
    /// Usual number of nanoseconds between a packet and the duplicate: fewer than `FAR`.
    apart: u32,
    /// Duplicates in a row that came earlier or later.
    unusual: u32,
}

impl RecentPackets {
    /// Returns a digest of what all copies of a packet have in common: words of the headers, and octets after them.
    #[inline]
    pub(super) fn digest(
        &self,
        key: u64,
        from: Side,
        words: [u64; 3],
        rest: &[u8],
        observation: PacketObservation,
    ) -> u64 {
        let mut hasher = self.state.build_hasher();
        hasher.write_u64(key << 17 | u64::from(from == Side::Passive) << 16 | u64::from(observation.identification));
        words.iter().for_each(|word| hasher.write_u64(*word));
        if !rest.is_empty() {
            hasher.write(rest);
        }
        hasher.finish().max(1)
    }

    /// Returns when a packet of this content was captured before, if this is a copy: the packet was not retransmitted
    /// since. `need` returns the need for the packet since a time. Before there is a copy of this `end`, copies of
    /// `others` show how late copies are.
    #[inline]
    pub(super) fn original(
        &mut self,
        content: u64,
        captured: PacketCapture,
        end: &mut Duplicates,
        others: impl Fn() -> Duplicates,
        need: impl FnOnce(Time) -> Need,
    ) -> Option<Time> {
        if self.add_packet(content, captured, end) {
            return None;
        }
        let set = self.sets.get_mut(content as usize % SETS)?;
        let known = set.iter_mut().find(|recent| recent.content == content)?;
        let original = known.repeated_by(captured, end, others, need);
        if original.is_none() {
            let earlier = known.without_copy(captured.stamp.time);
            *known = RecentPacket { earlier, ..RecentPacket::new(content, captured, end) };
        }
        original
    }

    /// Adds a packet of this `end`, unless one of this content was captured before. Returns true if the packet was
    /// added.
    #[inline]
    pub(super) fn add_packet(&mut self, content: u64, captured: PacketCapture, end: &mut Duplicates) -> bool {
        if self.sets.is_empty() {
            self.sets = vec![Default::default(); SETS];
        }
        let Some(set) = self.sets.get_mut(content as usize % SETS) else { return false };
        if set.iter().any(|recent| recent.content == content) {
            return false;
        }
        if let Some(entry) = set.iter_mut().min_by_key(|recent| recent.time) {
            *entry = RecentPacket::new(content, captured, end);
        }
        true
    }
}

impl RecentPacket {
    /// The next packet of this `end`.
    #[inline]
    fn new(content: u64, captured: PacketCapture, end: &mut Duplicates) -> Self {
        let PacketCapture { stamp: Stamp { time, .. }, observation: PacketObservation { identification, point, .. } } =
            captured;
        end.send(identification);
        Self { content, time, points: [point; 2], number: end.packets, copies: 0, earlier: None }
    }

    /// Returns the time of this packet if one of the same content is a copy, which is then counted.
    #[cold]
    fn repeated_by(
        &mut self,
        captured: PacketCapture,
        end: &mut Duplicates,
        others: impl Fn() -> Duplicates,
        need: impl FnOnce(Time) -> Need,
    ) -> Option<Time> {
        let PacketCapture { stamp: Stamp { time, .. }, observation: PacketObservation { identification, point, .. } } =
            captured;
        let age = time.0.abs_diff(self.time.0);
        let is_elsewhere = !self.points.contains(&point);
        let earlier = self.earlier.filter(|earlier| {
            let age = age.saturating_add(earlier.before.into());
            let is_due = end.expects(earlier.number, age, &others) || end.is_doubled() && end.is_usual(age);
            !is_elsewhere && is_due
        });
        if let Some(earlier) = earlier {
            self.earlier = None;
            end.copy(earlier.number, None);
            return Some(Time(self.time.0.saturating_sub(earlier.before.into())));
        }
        let is_expected = self.copies == 0 && end.expects(self.number, age, &others);
        let need = need(self.time);
        let is_copy = if is_elsewhere {
            age < LATE || age < FAR && need != Need::Asked
        } else if identification != 0 && (end.is_identified || end.packets == 1) {
            let is_in_time = age < LATE && (!end.keeps_identification || is_expected || need != Need::Asked);
            is_in_time || self.is_identified_later(age, need, end, &others)
        } else {
            // The mirror may lose copies.
            let is_doubled = self.copies == 0 && end.is_doubled() && end.is_usual(age);
            let is_in_order = self.number == end.packets || end.is_next(self.number);
            age < FAR
                && match need {
                    _ if is_expected => true,
                    Need::Asked => false,
                    Need::Unasked => is_doubled || is_in_order && age < SILENCE,
                    Need::Met => is_doubled || is_in_order && age < TIMER,
                }
        };
        end.keeps_identification |= age >= LATE && identification != 0 && end.is_identified && !is_copy;
        if is_copy {
            self.points[1] = point;
            self.copies += 1;
            end.copy(self.number, (self.copies == 1).then_some(age as u32));
        }
        is_copy.then_some(self.time)
    }

    /// Returns true if a packet with the same identification is a duplicate, although a long time has passed: a host
    /// gives a retransmission another identification, unless this `end` is known to keep the old one.
    fn is_identified_later(&self, age: u64, need: Need, end: &Duplicates, others: impl Fn() -> Duplicates) -> bool {
        let is_followed = end.is_followed() || end.copies == 0 && self.number <= FIRST && others().is_followed();
        let is_next = self.copies == 0 && end.is_soon(self.number) && is_followed;
        age < FAR
            && !end.keeps_identification
            && (need == Need::Met || need == Need::Unasked && (age < TIMER || is_next))
    }

    /// Returns this transmission if the duplicate is still to come. `time` is that of the retransmission.
    fn without_copy(&self, time: Time) -> Option<EarlierPacket> {
        let before = u32::try_from(time.0.checked_sub(self.time.0)?).ok()?;
        (self.copies == 0).then_some(EarlierPacket { number: self.number, before })
    }
}

impl Duplicates {
    /// The identification of the packet that was sent last; 0 if no packet had one.
    pub(super) const fn identification(&self) -> u16 {
        self.identification
    }

    /// Returns these, or others if there are none.
    pub(super) const fn or(self, others: Self) -> Self {
        if self.copies > 0 { self } else { others }
    }

    /// This end sent a packet.
    #[inline]
    fn send(&mut self, identification: u16) {
        self.packets = self.packets.wrapping_add(1);
        if identification != 0 {
            self.is_identified |= self.packets > 1 && self.identification != identification;
            self.identification = identification;
        }
    }

    /// Notes the duplicate of the packet of this number, `age` nanoseconds after the packet.
    fn copy(&mut self, number: u32, age: Option<u32>) {
        self.copies = self.copies.saturating_add(1);
        // A packet that was retransmitted at once looks like a copy of one before.
        if number.wrapping_sub(self.copied).cast_signed() > 0 {
            self.copied = number;
        }
        let Some(age) = age else { return };
        if self.copies > 1 && (self.apart / 2..=self.apart.saturating_mul(2)).contains(&age) {
            // A part of the difference, so that a single one changes little.
            self.apart = self.apart - self.apart / 8 + age / 8;
            self.unusual = 0;
            return;
        }
        self.unusual += 1;
        if self.copies == 1 || self.unusual >= ENOUGH {
            (self.apart, self.unusual) = (age, 0);
        }
    }

    /// Returns true if a duplicate has about the usual delay.
    fn is_usual(&self, age: u64) -> bool {
        let apart = u64::from(self.apart);
        age.abs_diff(apart) <= apart / 16 + JITTER
    }

    /// Returns true if the copy of the packet of this number, which was captured so many nanoseconds ago, is due now. Of the first
    /// packets, copies of `others` show that.
    fn expects(&self, number: u32, age: u64, others: impl Fn() -> Self) -> bool {
        if self.copies == 0 {
            let others = others();
            return number <= FIRST && others.is_followed() && others.is_usual(age);
        }
        self.is_usual(age) && self.is_next(number) && self.is_followed()
    }

    /// Returns true if the copy of the packet of this number is the next, if copies come in the order of their packets.
    const fn is_next(&self, number: u32) -> bool {
        number == self.copied.wrapping_add(1)
    }

    /// Returns true if the packet of this number comes soon after the one that was copied last.
    const fn is_soon(&self, number: u32) -> bool {
        number.wrapping_sub(self.copied).wrapping_sub(1) < FIRST
    }

    /// Returns true if most packets up to the one that was copied last are there twice: the copies of the others are still to come.
    const fn is_followed(&self) -> bool {
        self.are_most_of(self.copied)
    }

    /// Returns true if most packets of the end are there twice, or, of the first few, all but the last.
    const fn is_doubled(&self) -> bool {
        self.are_most_of(self.packets)
    }

    /// Returns true if there is a copy of most of so many packets, or, of the first few, of all but one.
    const fn are_most_of(&self, packets: u32) -> bool {
        let is_most = self.copies >= ENOUGH && self.copies >= packets / 2;
        is_most || self.copies > 0 && self.copies.saturating_add(1) >= packets
    }
}

//! Disturbances of captures: cut frames, missing frames, frames twice, frames in another order.

use super::Record;

#[path = "../../../../testdata/random.rs"]
mod random;

pub use random::Random;

impl Random {
    pub fn happens(&mut self, per_mille: u64) -> bool {
        self.below(1000) < per_mille
    }
}

/// Every frame cut to at most `octets` (snaplen).
pub fn cut(records: &[Record], octets: usize) -> Vec<Record> {
    let mut records = records.to_vec();
    records.iter_mut().for_each(|record| record.data.truncate(octets));
    records
}

/// As if the capture had begun later.
pub fn without_first<T: Clone>(records: &[T], count: usize) -> Vec<T> {
    records[count.min(records.len())..].to_vec()
}

/// As if the capture had missed frames, at random.
pub fn dropping<T: Clone>(records: &[T], seed: u64, per_mille: u64) -> Vec<T> {
    let mut random = Random(seed);
    records.iter().filter(|_| !random.happens(per_mille)).cloned().collect()
}

/// Frames captured twice in a row, at random.
pub fn duplicating<T: Clone>(records: &[T], seed: u64, per_mille: u64) -> Vec<T> {
    let mut random = Random(seed);
    records.iter().flat_map(|record| vec![record.clone(); if random.happens(per_mille) { 2 } else { 1 }]).collect()
}

/// A mirror that copies each frame.
#[derive(Clone, Copy, Debug)]
pub struct Mirror {
    /// Nanoseconds later.
    pub delay: u64,
    pub kind: MirrorKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MirrorKind {
    /// Of the same octets.
    Same,
    /// Behind a router: with other MAC addresses, and a hop limit that is one less.
    Routed,
    /// With a tag of a VLAN.
    Tagged,
}

/// Each frame for which `is_doubled`, and its copy, in the order of their times, with the place of each among the frames.
pub fn doubling(records: &[Record], mirror: Mirror, is_doubled: impl Fn(&Record) -> bool) -> Vec<(usize, Record)> {
    let tagged = if mirror.kind == MirrorKind::Tagged { super::with_vlan(records) } else { records.to_vec() };
    let copies = tagged.into_iter().zip(records).enumerate().filter(|(_, (_, record))| is_doubled(record));
    let copies = copies.map(|(place, (mut copy, record))| {
        copy.time_ns = record.time_ns + mirror.delay;
        if mirror.kind == MirrorKind::Routed {
            route(&mut copy.data);
        }
        (place, copy)
    });
    let mut all: Vec<_> = records.iter().cloned().enumerate().chain(copies).collect();
    // Stable: of two at the same time, the packet comes before its copy.
    all.sort_by_key(|(_, record)| record.time_ns);
    all
}

/// IPv4 packets in Ethernet frames without an identification, as adapters and hosts send them that never fragment (RFC 6864).
pub fn without_identification(records: &[Record]) -> Vec<Record> {
    let clear = |record: &Record| {
        let mut record = record.clone();
        if record.data[12..14] == [0x08, 0] {
            record.data[18..20].fill(0);
        }
        record
    };
    records.iter().map(clear).collect()
}

/// Changes an Ethernet frame as a router does.
fn route(frame: &mut [u8]) {
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 0x11, 2, 0, 0, 0, 0, 0x12]);
    match frame[12..14] {
        // The checksum (RFC 1141) grows by what the time to live, in the upper half of its word, has become less.
        [0x08, 0] => {
            frame[22] -= 1;
            let sum = u32::from(u16::from_be_bytes([frame[24], frame[25]])) + 0x100;
            frame[24..26].copy_from_slice(&((sum & 0xffff) + (sum >> 16)).to_be_bytes()[2..]);
        }
        [0x86, 0xdd] | [0x89, 0x15] => frame[21] -= 1,
        _ => {}
    }
}

/// Frames that changed place with one of the next `distance` frames, at random; the times stay in order.
pub fn reordering(records: &[Record], seed: u64, per_mille: u64, distance: usize) -> Vec<Record> {
    let mut disturbed = shuffling(records, seed, per_mille, distance);
    disturbed.iter_mut().zip(records).for_each(|(to, from)| to.time_ns = from.time_ns);
    disturbed
}

/// The same of anything, with all that belongs to it.
pub fn shuffling<T: Clone>(items: &[T], seed: u64, per_mille: u64, distance: usize) -> Vec<T> {
    let mut random = Random(seed);
    let mut disturbed = items.to_vec();
    for at in 0..disturbed.len() {
        let other = at + 1 + random.number() as usize % distance;
        if random.happens(per_mille) && other < disturbed.len() {
            disturbed.swap(at, other);
        }
    }
    disturbed
}

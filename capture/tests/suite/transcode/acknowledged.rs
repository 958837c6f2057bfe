//! Packets that their receiver acknowledged, by what the frames say alone.

use std::collections::{BTreeSet, HashMap};

use super::Record;

/// A frame of a reliable transport over IPv4 and Ethernet.
struct Packet<'a> {
    from: &'a [u8],
    to: &'a [u8],
    /// Of TCP the two ports; of RoCE nothing, because a packet names only the queue pair of its receiver.
    ports: [u16; 2],
    queue_pair: u32,
    /// The place of its first octet or packet, and the place after its last; the same if it carries nothing.
    places: [u32; 2],
    /// The first place that it does not acknowledge.
    acknowledges: Option<u32>,
    /// Number of bits of a place.
    bits: u32,
}

fn big_endian(octets: &[u8]) -> u32 {
    octets.iter().fold(0, |number, octet| number << 8 | u32::from(*octet))
}

impl<'a> Packet<'a> {
    fn from_record(record: &'a Record) -> Option<Self> {
        let data = &record.data[..];
        let (from, to) = (data.get(26..30)?, data.get(30..34)?);
        let payload = data.get(34..)?;
        if data[12..14] != [8, 0] || data[14] != 0x45 {
            return None;
        }
        let length = usize::from(data[16]) << 8 | usize::from(data[17]);
        let ports = [0, 2].map(|at| payload.get(at..at + 2).map(big_endian));
        let [Some(source), Some(destination)] = ports else { return None };
        match (data[23], destination) {
            (17, 4791) => Self::roce(from, to, payload.get(8..)?),
            (6, _) => Self::tcp(from, to, [source as u16, destination as u16], payload, length.checked_sub(20)?),
            _ => None,
        }
    }

    fn roce(from: &'a [u8], to: &'a [u8], transport: &[u8]) -> Option<Self> {
        let header = transport.get(..12)?;
        let (operation, number) = (header[0], big_endian(&header[9..12]));
        let next = number.wrapping_add(1) & 0xff_ffff;
        let extended = transport.get(12..16).map(big_endian);
        let acknowledges = match (operation, extended) {
            (14, _) => Some(next),
            (13 | 15..=17, Some(extended)) if extended >> 29 == 0 => Some(next),
            (17, Some(_)) => Some(number),
            _ => None,
        };
        let is_request = operation < 13 || matches!(operation, 18..=23);
        let end = if is_request { next } else { number };
        let queue_pair = big_endian(&header[5..8]);
        Some(Self { from, to, ports: [0; 2], queue_pair, places: [number, end], acknowledges, bits: 24 })
    }

    fn tcp(from: &'a [u8], to: &'a [u8], ports: [u16; 2], segment: &[u8], length: usize) -> Option<Self> {
        let header = segment.get(..20)?;
        let (first, acknowledged) = (big_endian(&header[4..8]), big_endian(&header[8..12]));
        let data = length.checked_sub(usize::from(header[12] >> 4) * 4)?;
        let end = first.wrapping_add(data as u32);
        let acknowledges = (header[13] & 0x10 != 0).then_some(acknowledged);
        Some(Self { from, to, ports, queue_pair: 0, places: [first, end], acknowledges, bits: 32 })
    }

    /// Returns true if a place is before another, in numbers that begin again at 0.
    fn is_before(&self, place: u32, other: u32) -> bool {
        let shift = 32 - self.bits;
        place != other && ((other << shift).wrapping_sub(place << shift) as i32) > 0
    }
}

/// The places in a list of frames of packets that no later frame acknowledges before they are retransmitted.
pub fn unacknowledged(records: &[&Record]) -> BTreeSet<usize> {
    let mut lost = BTreeSet::new();
    let mut sent: HashMap<_, Vec<(usize, u32, [u32; 2])>> = HashMap::new();
    for (place, record) in records.iter().enumerate() {
        let Some(packet) = Packet::from_record(record) else { continue };
        let [source, destination] = packet.ports;
        if let Some(acknowledged) = packet.acknowledges
            && let Some(sent) = sent.get_mut(&(packet.to, packet.from, [destination, source]))
        {
            sent.retain(|(_, _, [_, end])| packet.is_before(acknowledged, *end));
        }
        if packet.places[0] != packet.places[1] {
            let sent = sent.entry((packet.from, packet.to, packet.ports)).or_default();
            let is_copy = |(_, queue_pair, [first, _]): &mut (_, u32, [u32; 2])| {
                *queue_pair == packet.queue_pair && *first == packet.places[0]
            };
            lost.extend(sent.extract_if(.., is_copy).map(|(place, ..)| place));
            sent.push((place, packet.queue_pair, packet.places));
        }
    }
    lost.extend(sent.into_values().flatten().map(|(place, ..)| place));
    lost
}

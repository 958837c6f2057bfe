//! Recognition of two captures of the same packets, by the beginnings of their files.

use std::io::Read;

use super::clock_offset::{ClockOffset, SeenPacket};
use super::packet_id::packet_id;
use crate::carrier::table::Map;
use crate::dissector::{Config, Dissector};
use crate::event::Event;
use crate::file::{FileError, Frame, Reader, Time};
use crate::link::Address;
use crate::rpc::properties::MessageDirection;

/// Frames of each file that are compared: so many from the beginning, and so many from where the other file begins.
const FRAMES: usize = 10_000;
/// Octets of these frames.
const OCTETS: usize = 16 << 20;
/// Octets of a file among which the place is looked for where the other file begins.
const SKIPPED: u64 = 256 << 20;
/// The clocks of the captures may differ by so many nanoseconds if one begins long before the other.
const CLOCKS: u64 = 10_000_000_000;
/// Packets in both files that show that the files hold the same traffic.
const ENOUGH: usize = 8;
/// Nanoseconds by which the ways of packets must show that there is a network between the places.
const LEAST_WAY: u64 = 1_000;
/// Octets that are read at a time.
const BUFFER: usize = 64 << 10;

/// Two capture files with the same packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SamePackets {
    /// The first file was captured nearer to the client.
    ClientFirst(SecondFile),
    /// The second file was.
    ClientSecond(SecondFile),
    /// No network lies between the two places.
    SamePlace,
}

/// The capture at the server, as compared with the capture at the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecondFile {
    /// The client, and the server.
    pub(super) client: Address,
    pub(super) server: Address,
    /// About the time by the clock of the server's capture minus that of the client's.
    pub(super) offset: i64,
}

/// A packet in the beginning of a file.
#[derive(Clone, Copy, Debug)]
struct SampledPacket {
    time: Time,
    from: Address,
    to: Address,
    /// True if the file holds several of this identity.
    is_repeated: bool,
}

/// The beginning of a file.
struct Sample {
    /// In the order of the file.
    order: Vec<u64>,
    packets: Map<u64, SampledPacket>,
    /// The client, if the file holds a call.
    client: Option<Address>,
    dissector: Dissector,
}

/// Compares the beginnings of two files. Returns nothing if the files have too little in common, or if neither shows who the client is.
///
/// # Errors
/// If a file is no capture. Damage behind the beginning is reported when the file is read.
pub fn recognise(first: impl Read + Send, second: impl Read + Send) -> Result<Option<SamePackets>, FileError> {
    let mut readers = [Reader::with_capacity(BUFFER, first)?, Reader::with_capacity(BUFFER, second)?];
    let mut samples = [Sample::new(), Sample::new()];
    let mut begun = [Time::default(); 2];
    for ((reader, sample), begun) in readers.iter_mut().zip(&mut samples).zip(&mut begun) {
        let Some(Ok(frame)) = reader.next() else { return Ok(None) };
        *begun = frame.time;
        sample.add_frame(&frame);
    }
    let [first_begun, second_begun] = begun;
    let later = first_begun.max(second_begun);
    for (reader, sample) in readers.iter_mut().zip(&mut samples) {
        sample.fill(reader, Time(later.0.saturating_sub(CLOCKS)));
    }
    let [first, second] = samples;
    Ok(compare(&first, &second))
}

impl Sample {
    fn new() -> Self {
        let dissector = Dissector::new(Config::for_messages());
        Self { order: Vec::new(), packets: Map::default(), client: None, dissector }
    }

    fn add_frame(&mut self, frame: &Frame<'_>) {
        if self.client.is_none() {
            self.dissector.frame(frame);
            self.look_for_call();
        }
        let Some(id) = packet_id(frame) else { return };
        if !id.is_repeated {
            return;
        }
        self.order.push(id.digest);
        let packet = SampledPacket { time: frame.time, from: id.from, to: id.to, is_repeated: false };
        self.packets.entry(id.digest).and_modify(|packet| packet.is_repeated = true).or_insert(packet);
    }

    /// Looks for a message from or to the client.
    fn look_for_call(&mut self) {
        while let Some(event) = self.dissector.event() {
            let Event::Message(message) = event else { continue };
            let Some(rpc) = message.rpc.as_ref().filter(|rpc| !rpc.reverse) else { continue };
            self.client = Some(if rpc.direction == MessageDirection::Call { message.from } else { message.to });
            return;
        }
    }

    /// Reads the beginning, and what follows a time.
    fn fill(&mut self, reader: &mut Reader<'_>, from: Time) {
        let (mut frames, mut octets, mut is_behind) = (0, 0, false);
        while let Some(Ok(frame)) = reader.next() {
            if !is_behind && (frames >= FRAMES || octets >= OCTETS) {
                (frames, octets, is_behind) = (0, 0, true);
            }
            if is_behind && frame.time < from {
                if reader.offset() > SKIPPED {
                    return;
                }
                continue;
            }
            self.add_frame(&frame);
            (frames, octets) = (frames + 1, octets + frame.data.len());
            if is_behind && (frames >= FRAMES || octets >= OCTETS) {
                return;
            }
        }
    }
}

/// Compares what the beginnings have in common.
fn compare(first: &Sample, second: &Sample) -> Option<SamePackets> {
    let client = first.client.or(second.client)?;
    let mut servers: Map<Address, Vec<SeenPacket>> = Map::default();
    for digest in &first.order {
        let (Some(seen), Some(again)) = (first.packets.get(digest), second.packets.get(digest)) else { continue };
        if seen.is_repeated || again.is_repeated || ![seen.from, seen.to].contains(&client) {
            continue;
        }
        let server = if seen.from == client { seen.to } else { seen.from };
        let difference = again.time.nanoseconds_after(seen.time);
        let packet = SeenPacket { is_from_first: seen.from == client, time: seen.time, difference };
        servers.entry(server).or_default().push(packet);
    }
    let (server, packets) = servers.into_iter().max_by_key(|(server, packets)| (packets.len(), *server))?;
    if packets.len() < ENOUGH {
        return None;
    }
    // As if the client were nearer to the first capture, and as if it were nearer to the second.
    let [near_first, near_second] = [false, true].map(|is_turned| {
        let mut clock = ClockOffset::default();
        packets.iter().for_each(|packet| {
            clock.take_packet(SeenPacket { is_from_first: packet.is_from_first != is_turned, ..*packet });
        });
        clock
    });
    let file = |offset: i64| SecondFile { client, server, offset };
    match (fits(&near_first, packets.len()), fits(&near_second, packets.len())) {
        (Some(offset), None) => Some(SamePackets::ClientFirst(file(offset))),
        (None, Some(offset)) => Some(SamePackets::ClientSecond(file(offset.saturating_neg()))),
        _ => Some(SamePackets::SamePlace),
    }
}

/// Returns the offset of the clocks if few packets contradict the bounds of the others, and there is a way between the places.
fn fits(clock: &ClockOffset, packets: usize) -> Option<i64> {
    let bounds = clock.before_step()?;
    let is_apart = bounds.uncertainty() >= LEAST_WAY / 2;
    (is_apart && clock.contradicted as usize <= packets / 8).then(|| bounds.middle())
}

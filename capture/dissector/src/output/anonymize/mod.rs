//! Writes a copy of a capture without its confidential content: addresses, names and identifiers are replaced, and data is
//! overwritten.
//!
//! ```text
//! frame ── FrameLayout ──→ held ──→ rewritten ──→ file
//! Send, chunk ── message ──→ what takes the place of the data in its frames
//! ```
//! A copy of a frame begins as zeros, and what is understood is written into it (`packet.rs`, `management.rs`). The data of a
//! packet stays zero unless a message is found in it: then `message.rs` keeps its structure, and replaces the values in it.
//! So whatever is not understood, or becomes known too late, is overwritten, and never passed through.
//!
//! A message is known when its last packet is, and one in chunks when its RPC is over. So frames are held, up to 65,536 of them
//! and 64 MiB.

mod key;
mod management;
mod message;
mod octets;
mod packet;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::io::{self, Write};

use crate::carrier::connection::Connection;
use crate::carrier::infiniband::transport::PacketKind;
use crate::carrier::operation::Side;
use crate::dissector::Config;
use crate::event::Event;
use crate::file::{Frame, LinkType, Time};
use crate::link::{self, Address, Carrier, Content};
use crate::nfs::Callback;
use crate::output::export::capture_file::{PcapFile, PcapngFile, WrittenFrame};
use crate::rpc::header::{PayloadPlace, read_chunks, write_lengths};
use crate::rpc::known::Direction;
use crate::rpc::message::Message;
use crate::rpc::placement::{FramePlacement, PlacedPart};
use crate::rpc::transaction::Transaction;
pub use key::Key;
use key::Replacer;
use message::{ChunkLengths, RpcContext};
use packet::FrameLayout;

/// The most frames that are held until it is known what is in them.
const HELD_FRAMES: usize = 65_536;
/// The most octets of frames that are held until it is known what is in them, and of the data of packets that is remembered.
const HELD_OCTETS: usize = 64 << 20;
/// The most connections, retransmitted packets and long messages that are remembered.
const REMEMBERED: usize = 65_536;

/// Takes frames and what is known of them, and writes a copy of the capture without its confidential content.
///
/// ```
/// use rpcrdma_dissector::output::anonymize::{Anonymizer, Key, config};
/// use rpcrdma_dissector::{Capture, Dissector};
///
/// let mut capture = Capture::from_paths(["examples/nfs.pcap"]);
/// let (mut file, mut dissector) = (Vec::new(), Dissector::new(config()));
/// let mut anonymizer = Anonymizer::new(&mut file, &Key::random()?)?;
/// while let Some(frame) = capture.next() {
///     let frame = frame?;
///     anonymizer.frame(&frame)?;
///     dissector.frame(&frame);
///     while let Some(event) = dissector.event() {
///         anonymizer.event(&event)?;
///     }
/// }
/// dissector.finish();
/// while let Some(event) = dissector.event() {
///     anonymizer.event(&event)?;
/// }
/// let anonymized = anonymizer.finish()?;
/// // The others are ICMPv6 and ARP.
/// assert_eq!((anonymized.frames, anonymized.others), (25, 16));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Anonymizer<W: Write> {
    file: WrittenFile<W>,
    replacer: Replacer,
    /// By number, none left out.
    held: VecDeque<UnreadFrame>,
    /// Octets of them.
    octets: usize,
    /// The ends of RPC-over-RDMA connections.
    ends: HashSet<(Address, u32)>,
    /// The addresses of the ends of RPC-over-RDMA connections, and of requests for them that were refused.
    pairs: HashSet<[Address; 2]>,
    /// Replaced data of recent packets, by digest: the copies of a retransmitted packet stay equal.
    packets: HashMap<[u8; 16], Vec<u8>>,
    /// Octets of that data.
    packet_octets: usize,
    /// The chunks of long calls and long replies whose RPC is not over: connection, requester, XID.
    long: HashMap<(u32, Side, u32, Direction), ChunkLengths>,
    anonymized: Anonymized,
}

#[derive(Debug)]
enum WrittenFile<W: Write> {
    Pcap(PcapFile<W>),
    Pcapng(PcapngFile<W>),
}

/// A frame that waits until it is known what is in it.
#[derive(Debug)]
struct UnreadFrame {
    number: u64,
    time: Time,
    link: LinkType,
    octets: Vec<u8>,
    length: u32,
    /// `None` if its headers are not understood.
    layout: Option<FrameLayout>,
    /// `true` if an InfiniBand packet is in it.
    is_packet: bool,
    /// Replacement for its data. `None` for zeros.
    data: Option<Vec<u8>>,
}

/// Counts of what was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Anonymized {
    /// Frames that were written.
    pub frames: u64,
    /// Frames that belong to no RPC-over-RDMA connection, and were left out.
    pub others: u64,
    /// Frames with an InfiniBand packet that were left out, because their headers are not understood.
    pub unknown: u64,
    /// Long messages that became known too late, or never, and were overwritten whole.
    pub overwritten: u64,
}

/// Returns what the dissector has to look for.
#[must_use]
pub fn config() -> Config {
    Config { operations: true, placements: true, ..Config::default() }
}

impl<W: Write> Anonymizer<W> {
    /// Starts a pcap file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(write: W, key: &Key) -> io::Result<Self> {
        Ok(Self::writing(WrittenFile::Pcap(PcapFile::new(write)?), key))
    }

    /// Starts a pcapng file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn pcapng(write: W, key: &Key) -> io::Result<Self> {
        Ok(Self::writing(WrittenFile::Pcapng(PcapngFile::new(write)?), key))
    }

    fn writing(file: WrittenFile<W>, key: &Key) -> Self {
        Self {
            file,
            replacer: Replacer::new(key),
            held: VecDeque::new(),
            octets: 0,
            ends: HashSet::new(),
            pairs: HashSet::new(),
            packets: HashMap::new(),
            packet_octets: 0,
            long: HashMap::new(),
            anonymized: Anonymized::default(),
        }
    }

    /// Takes the next frame of the capture. It has to come before what is known of it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn frame(&mut self, frame: &Frame<'_>) -> io::Result<()> {
        self.octets += frame.data.len();
        self.held.push_back(UnreadFrame {
            number: frame.number,
            time: frame.time,
            link: frame.link,
            octets: frame.data.to_vec(),
            length: frame.length,
            layout: FrameLayout::of(frame),
            is_packet: matches!(link::decode(frame), Content::InfiniBand(_)),
            data: None,
        });
        while self.held.len() > HELD_FRAMES || (self.octets > HELD_OCTETS && self.held.len() > 1) {
            self.write_oldest()?;
        }
        Ok(())
    }

    /// Takes what was found in the frames.
    ///
    /// # Errors
    /// A connection whose carrier is not supported: its messages would be missing from the copy.
    pub fn event(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Opened(opened) => self.connection(&opened.connection)?,
            Event::Connection(report) if report.number.is_some() => self.connection(&report.connection)?,
            Event::Rejected(rejected) => self.pair(rejected.from, rejected.to),
            Event::Message(message) => self.message(message),
            Event::Transaction(transaction) => self.transaction(transaction),
            _ => {}
        }
        Ok(())
    }

    fn connection(&mut self, connection: &Connection) -> io::Result<()> {
        let unsupported = match connection.carrier {
            Carrier::RoceV2 | Carrier::RoceV1 => None,
            Carrier::Iwarp => Some("iWARP"),
            Carrier::InfiniBand => Some("InfiniBand without Ethernet"),
        };
        if let Some(name) = unsupported {
            let text =
                format!("{name} cannot be anonymized yet: the copy would lack all messages of these connections");
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
        let ends = [connection.ends.active, connection.ends.passive];
        for end in ends {
            if let Some(queue_pair) = end.queue_pair
                && self.ends.len() < REMEMBERED
            {
                self.ends.insert((end.address, queue_pair));
            }
        }
        let [active, passive] = ends.map(|end| end.address);
        self.pair(active, passive);
        Ok(())
    }

    fn pair(&mut self, one: Address, other: Address) {
        if self.pairs.len() < REMEMBERED {
            self.pairs.insert([one.min(other), one.max(other)]);
        }
    }

    fn message(&mut self, message: &Message) {
        let data = message::send(message, &self.replacer);
        self.put(message.placements.as_slice(), &data);
        let Ok(decoded) = message.decode() else { return };
        let Some(direction) = message.direction().filter(|_| decoded.header.place() == PayloadPlace::Chunk) else {
            return;
        };
        let chunks = decoded.header.chunks().unwrap_or_default();
        let (reads, writes) = (read_chunks(&chunks), write_lengths(&chunks));
        let (requester, payload) = match direction {
            Direction::Call => {
                let position_zero = reads.iter().filter(|chunk| chunk.0 == 0).map(|chunk| chunk.1);
                let call_chunk = decoded.header.call_chunk().iter().map(|segment| u64::from(segment.target.length));
                (message.sender, position_zero.chain(call_chunk).sum())
            }
            Direction::Reply => (message.sender.other(), chunks.reply.map_or(0, |chunk| chunk.length())),
        };
        let lengths = ChunkLengths { reads, writes, payload };
        if self.long.len() < REMEMBERED {
            self.long.insert((message.connection, requester, message.xid(), direction), lengths);
        }
    }

    /// Rewrites the messages of an RPC that were in chunks.
    fn transaction(&mut self, transaction: &Transaction) {
        let Transaction { connection, requester, xid, procedure, callback, security, .. } = *transaction;
        let known = RpcContext {
            procedure,
            is_callback: callback.is_callback(),
            is_guessed: callback == Callback::Guessed,
            security,
            is_whole: false,
        };
        for (direction, part) in [(Direction::Call, PlacedPart::Call), (Direction::Reply, PlacedPart::Reply)] {
            // The reply may be one that did not arrive: then the RPC has none.
            let lengths = self.long.remove(&(connection, requester, xid, direction));
            let mut placements: Vec<_> =
                transaction.placements.as_slice().iter().filter(|placement| placement.part == part).copied().collect();
            if placements.is_empty() {
                continue;
            }
            placements.sort_by_key(|placement| placement.at);
            let mut payload = self.gather(&placements);
            match lengths.filter(|_| !payload.is_empty()) {
                Some(lengths) => {
                    payload.truncate(usize::try_from(lengths.payload).unwrap_or(usize::MAX));
                    let known = RpcContext { is_whole: payload.len() as u64 == lengths.payload, ..known };
                    let data = message::rpc((xid, &payload), known, &lengths, &self.replacer);
                    self.put(&placements, &data);
                }
                None => self.anonymized.overwritten += 1,
            }
        }
    }

    /// The octets of a chunk from its first one, as far as the frames with them are held.
    fn gather(&self, placements: &[FramePlacement]) -> Vec<u8> {
        let mut payload = Vec::new();
        for placement in placements {
            let Some(data) = self.held(placement.frame).and_then(UnreadFrame::data) else { break };
            let reached = payload.len() as u64;
            // What was sent again may overlap.
            let Some(skipped) = reached.checked_sub(placement.at) else { break };
            let fresh = usize::try_from(skipped).ok().and_then(|skipped| data.get(skipped..));
            payload.extend_from_slice(fresh.unwrap_or_default());
            if (data.len() as u64) < placement.length {
                break;
            }
        }
        payload
    }

    /// Writes octets to the frames that carried those that they replace.
    fn put(&mut self, placements: &[FramePlacement], octets: &[u8]) {
        for placement in placements {
            let Ok(at) = usize::try_from(placement.at) else { continue };
            let Some(first) = self.held.front().map(|first| first.number) else { return };
            let index = placement.frame.checked_sub(first).and_then(|index| usize::try_from(index).ok());
            let Some(held) = index.and_then(|index| self.held.get_mut(index)) else { continue };
            let Some((layout, original)) = held.layout.as_ref().zip(held.data()) else { continue };
            if !layout.carries(placement.part) {
                continue;
            }
            let octets = octets.get(at..).unwrap_or_default();
            let mut data = vec![0; original.len()];
            data.iter_mut().zip(octets).for_each(|(to, from)| *to = *from);
            if self.packets.len() >= REMEMBERED || self.packet_octets > HELD_OCTETS {
                self.packets.clear();
                self.packet_octets = 0;
            }
            self.packets.insert(digest(&self.replacer, layout, original), data.clone());
            self.packet_octets += data.len();
            held.data = Some(data);
        }
    }

    fn held(&self, frame: u64) -> Option<&UnreadFrame> {
        let first = self.held.front()?.number;
        self.held.get(usize::try_from(frame.checked_sub(first)?).ok()?)
    }

    /// Writes what is held, and ends the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(mut self) -> io::Result<Anonymized> {
        while !self.held.is_empty() {
            self.write_oldest()?;
        }
        match self.file {
            WrittenFile::Pcap(file) => file.finish()?,
            WrittenFile::Pcapng(file) => file.finish()?,
        }
        Ok(self.anonymized)
    }

    fn write_oldest(&mut self) -> io::Result<()> {
        let Some(held) = self.held.pop_front() else { return Ok(()) };
        self.octets = self.octets.saturating_sub(held.octets.len());
        let Some(layout) = &held.layout else {
            *(if held.is_packet { &mut self.anonymized.unknown } else { &mut self.anonymized.others }) += 1;
            return Ok(());
        };
        let (source, destination) = (layout.source, layout.destination);
        let is_ours = match layout.is_management {
            true => self.pairs.contains(&[source.min(destination), source.max(destination)]),
            false => self.ends.contains(&(destination, layout.queue_pair)),
        };
        if !is_ours {
            self.anonymized.others += 1;
            return Ok(());
        }
        let original = held.data().unwrap_or_default();
        let known = || self.packets.get(&digest(&self.replacer, layout, original)).map(Vec::as_slice);
        let data = held.data.as_deref().or_else(known).unwrap_or_default().to_vec();
        let Some(copy) = layout.rewrite(&held.frame(), &data, &mut self.replacer) else {
            self.anonymized.others += 1;
            return Ok(());
        };
        let UnreadFrame { time, link, length, .. } = held;
        let frame = WrittenFrame { time, link, data: Cow::Owned(copy), length };
        self.anonymized.frames += 1;
        match &mut self.file {
            WrittenFile::Pcap(file) => file.frame(frame),
            WrittenFile::Pcapng(file) => file.frame(frame, core::iter::empty()),
        }
    }
}

/// Names the data of a packet.
fn digest(replacer: &Replacer, layout: &FrameLayout, data: &[u8]) -> [u8; 16] {
    let FrameLayout { queue_pair, sequence, destination, operation, .. } = layout;
    let header = format!("{destination} {queue_pair} {sequence} {operation:?}");
    replacer.digest(&[header.as_bytes(), data])
}

impl UnreadFrame {
    fn frame(&self) -> Frame<'_> {
        let Self { number, time, link, ref octets, length, .. } = *self;
        Frame { number, time, link, data: octets, length }
    }

    /// The data after the transport headers.
    fn data(&self) -> Option<&[u8]> {
        self.octets.get(self.layout.as_ref()?.data.clone())
    }
}

impl FrameLayout {
    /// Returns `true` if a packet of this kind can carry that part of an RPC.
    const fn carries(&self, part: PlacedPart) -> bool {
        matches!(
            (self.operation, part),
            (PacketKind::Send, PlacedPart::Send)
                | (PacketKind::ReadResponse, PlacedPart::Call)
                | (PacketKind::Write, PlacedPart::Reply)
        )
    }
}

impl fmt::Display for Anonymized {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { frames, others, unknown, overwritten } = self;
        write!(f, "frames written: {frames}; left out: {others} of no RPC-over-RDMA connection")?;
        if *unknown > 0 {
            write!(f, ", {unknown} whose headers are not understood")?;
        }
        if *overwritten > 0 {
            write!(f, "; long messages that could not be rebuilt and were overwritten whole: {overwritten}")?;
        }
        Ok(())
    }
}

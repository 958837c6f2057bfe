//! Writes a copy of a capture without its confidential content: addresses, names and identifiers are replaced, and data is
//! overwritten.
//!
//! ```text
//! frame ── FrameLayout ──→ held ──→ rewritten ──→ file
//! Send, chunk ── message ──→ replacement for the data in the packets or FPDUs
//! ```
//! A frame stands for the innermost packet (`bare.rs`). The copy of a frame begins as zeros, and every understood field is
//! written into the copy: `network.rs` does so for Ethernet, InfiniBand's link layer and IP, `packet.rs` and
//! `management.rs` for InfiniBand packets, `segment.rs` for TCP, `fpdu.rs` and `streams.rs` for iWARP over TCP. The data of
//! a packet stays zero unless a message is found in the data: then `message.rs` keeps the structure of the message, and
//! replaces the values. Octets that are not understood, or become known too late, are overwritten, and never passed
//! through.
//!
//! A message is known once the last packet has arrived, and a message in chunks once the RPC is over. So frames are held, up to 65,536 frames and 64 MiB.

mod bare;
mod bounds;
mod fpdu;
mod key;
mod management;
mod message;
mod network;
mod octets;
mod packet;
mod segment;
mod streams;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::io::{self, Write};

use rpcrdma_dissector::link::{self, Content};
use rpcrdma_dissector::nfs::Callback;
use rpcrdma_dissector::packets::{FramePlacement, PlacedPart, read_chunks, transport::PacketKind, write_lengths};
use rpcrdma_dissector::{
    Address, Carrier, Config, Connection, Event, Frame, LinkType, Message, MessageDirection, PayloadPlace, Side, Time,
    Transaction,
};

use crate::export::capture_file::{CaptureFile, WrittenFrame};
use bare::BareFrame;
use bounds::{HELD_FRAMES, HELD_OCTETS, REMEMBERED};
pub use key::Key;
use key::Replacer;
use message::{ChunkLengths, RpcContext};
use packet::PacketLayout;
use segment::SegmentLayout;
use streams::{StreamEnds, StreamName, Streams};

/// Takes frames and their events, and writes a copy of the capture without confidential content.
///
/// ```
/// use rpcrdma_answers::anonymize::{Anonymizer, Key, config};
/// use rpcrdma_dissector::{Capture, Dissector};
///
/// let mut capture = Capture::from_paths(["examples/nfs.pcap"]);
/// let (mut file, mut dissector) = (Vec::new(), Dissector::new(config()));
/// let mut anonymizer = Anonymizer::new(&mut file, &Key::random()?);
/// while let Some(frame) = capture.next() {
///     let frame = frame?;
///     anonymizer.frame(&frame)?;
///     dissector.frame(&frame);
///     while let Some(event) = dissector.event() {
///         anonymizer.event(&event);
///     }
/// }
/// dissector.finish();
/// while let Some(event) = dissector.event() {
///     anonymizer.event(&event);
/// }
/// let anonymized = anonymizer.finish()?;
/// // The others are ICMPv6 and ARP.
/// assert_eq!((anonymized.frames, anonymized.others), (25, 16));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Anonymizer<W: Write> {
    file: CaptureFile<W>,
    replacer: Replacer,
    /// By number, none left out.
    held: VecDeque<UnreadFrame>,
    /// Octets of the held frames.
    octets: usize,
    /// The ends of RPC-over-RDMA connections.
    ends: HashSet<(Address, u32)>,
    /// Addresses of the ends of RPC-over-RDMA connections, and of refused connection requests.
    pairs: HashSet<[Address; 2]>,
    /// Recent packets with replaced data: two copies of the same packet stay equal, as far as both were captured.
    packets: HashMap<PacketName, ReplacedData>,
    /// Total octets of the data in `packets`, original and replaced.
    packet_octets: usize,
    /// The FPDUs of iWARP.
    streams: Streams,
    /// The chunks of long calls and long replies whose RPC is not over: connection, requester, XID.
    long: HashMap<(u32, Side, u32, MessageDirection), ChunkLengths>,
    anonymized: Anonymized,
}

/// Offsets of the parts of a frame.
#[derive(Debug)]
enum FrameLayout {
    Packet(PacketLayout),
    Segment(SegmentLayout),
}

/// Buffered frame whose content is not known yet.
#[derive(Debug)]
struct UnreadFrame {
    number: u64,
    time: Time,
    link: LinkType,
    octets: Vec<u8>,
    length: u32,
    layout: Result<FrameLayout, NotUnderstood>,
    /// Replacement for the data. `None` for zeros.
    data: Option<Vec<u8>>,
}

/// Properties that all copies of a packet share, apart from the data: destination, queue pair, sequence number, operation, and length.
type PacketName = (Address, u32, u32, PacketKind, usize);

/// The data of a packet.
#[derive(Debug)]
struct ReplacedData {
    original: Vec<u8>,
    data: Vec<u8>,
}

/// Content of a frame whose headers are not all understood.
#[derive(Clone, Copy, Debug)]
enum NotUnderstood {
    /// An InfiniBand packet.
    Packet,
    /// A TCP segment between these ends.
    Segment(StreamEnds),
    Other,
}

impl NotUnderstood {
    fn from_frame(frame: &Frame<'_>) -> Self {
        match link::decode(frame) {
            Content::InfiniBand(_) => Self::Packet,
            Content::Tcp(segment) => {
                Self::Segment(((segment.source, segment.source_port), (segment.destination, segment.destination_port)))
            }
            _ => Self::Other,
        }
    }
}

/// Counts of what was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Anonymized {
    /// Frames that were written.
    pub frames: u64,
    /// Frames that belong to no RPC-over-RDMA connection, and were left out.
    pub others: u64,
    /// Frames with an InfiniBand packet, or with a segment of a connection that carries RPC-over-RDMA, that were left out because
    /// their headers are not understood.
    pub unknown: u64,
    /// Long messages that became known too late, or never, and were overwritten whole.
    pub overwritten: u64,
}

/// Returns what the dissector has to look for.
#[must_use]
pub fn config() -> Config {
    let mut config = Config::default();
    config.joins_tries = false;
    config.operations = true;
    config.placements = true;
    config
}

impl<W: Write> Anonymizer<W> {
    /// Starts a pcap file, which holds either Ethernet or InfiniBand.
    pub fn new(write: W, key: &Key) -> Self {
        Self::writing(CaptureFile::Begun(Some(write)), key)
    }

    /// Starts a pcapng file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn pcapng(write: W, key: &Key) -> io::Result<Self> {
        Ok(Self::writing(CaptureFile::pcapng(write)?, key))
    }

    fn writing(file: CaptureFile<W>, key: &Key) -> Self {
        Self {
            file,
            replacer: Replacer::new(key),
            held: VecDeque::new(),
            octets: 0,
            ends: HashSet::new(),
            pairs: HashSet::new(),
            packets: HashMap::new(),
            packet_octets: 0,
            streams: Streams::default(),
            long: HashMap::new(),
            anonymized: Anonymized::default(),
        }
    }

    /// Takes the next frame of the capture. Call this before the events of the frame.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn frame(&mut self, frame: &Frame<'_>) -> io::Result<()> {
        let BareFrame { link, octets, length } = BareFrame::from_frame(frame);
        let bare = Frame { link, data: &octets, length, ..*frame };
        let layout = FrameLayout::from_frame(&bare).ok_or_else(|| NotUnderstood::from_frame(frame));
        self.octets += octets.len();
        let (number, time, octets) = (frame.number, frame.time, octets.into_owned());
        self.held.push_back(UnreadFrame { number, time, link, octets, length, layout, data: None });
        while self.held.len() > HELD_FRAMES || (self.octets > HELD_OCTETS && self.held.len() > 1) {
            self.write_oldest()?;
        }
        Ok(())
    }

    /// Takes what was found in the frames.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Opened(opened) => self.connection(opened.number, &opened.connection),
            Event::Connection(report) => {
                if let Some(number) = report.number {
                    self.connection(number, &report.connection);
                }
            }
            Event::Framed(framed) => self.streams.add_part(framed),
            Event::Rejected(rejected) => self.pair(rejected.from, rejected.to),
            Event::UnansweredRequest(request) if request.is_for_rpc => self.pair(request.from, request.to),
            Event::Message(message) => self.message(message),
            Event::Transaction(transaction) => self.transaction(transaction),
            _ => {}
        }
    }

    fn connection(&mut self, number: u32, connection: &Connection) {
        if connection.carrier == Carrier::Iwarp {
            self.streams.open(number, connection.key, connection.ends);
            return;
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
    }

    fn pair(&mut self, one: Address, other: Address) {
        if self.pairs.len() < REMEMBERED {
            self.pairs.insert([one.min(other), one.max(other)]);
        }
    }

    fn message(&mut self, message: &Message) {
        let data = message::send(message, &self.replacer);
        let stream = StreamName { connection: message.connection, sender: message.sender };
        self.write_replacement(stream, message.placements(), &data);
        let Ok(decoded) = message.decode() else { return };
        let Some(direction) = message.direction().filter(|_| decoded.header.place() == PayloadPlace::Chunk) else {
            return;
        };
        let chunks = decoded.header.chunks().unwrap_or_default();
        let (reads, writes) = (read_chunks(&chunks), write_lengths(&chunks));
        let (requester, payload) = match direction {
            MessageDirection::Call => {
                let position_zero = reads.iter().filter(|chunk| chunk.0 == 0).map(|chunk| chunk.1);
                let call_chunk = decoded.header.call_chunk().iter().map(|segment| u64::from(segment.target.length));
                (message.sender, position_zero.chain(call_chunk).sum())
            }
            MessageDirection::Reply => (message.sender.other(), chunks.reply.map_or(0, |chunk| chunk.length())),
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
        for (direction, part) in
            [(MessageDirection::Call, PlacedPart::Call), (MessageDirection::Reply, PlacedPart::Reply)]
        {
            // The reply may be one that did not arrive: then the RPC has none.
            let lengths = self.long.remove(&(connection, requester, xid, direction));
            let mut placements: Vec<_> =
                transaction.placements().iter().filter(|placement| placement.part == part).copied().collect();
            if placements.is_empty() {
                continue;
            }
            placements.sort_by_key(|placement| placement.at);
            // Data of a Read chunk comes from the requester, and data of the Reply chunk goes to it.
            let sender = if part == PlacedPart::Call { requester } else { requester.other() };
            let stream = StreamName { connection, sender };
            let mut payload = self.gather(stream, &placements);
            match lengths.filter(|_| !payload.is_empty()) {
                Some(lengths) => {
                    payload.truncate(usize::try_from(lengths.payload).unwrap_or(usize::MAX));
                    let known = RpcContext { is_whole: payload.len() as u64 == lengths.payload, ..known };
                    let data = message::rpc(xid, &payload, known, &lengths, &self.replacer);
                    self.write_replacement(stream, &placements, &data);
                }
                None => self.anonymized.overwritten += 1,
            }
        }
    }

    /// Collects the octets of a chunk from the first octet on, as far as the frames of the chunk are held.
    fn gather(&mut self, stream: StreamName, placements: &[FramePlacement]) -> Vec<u8> {
        let mut payload = Vec::new();
        for placement in placements {
            let of_stream = self.streams.data(stream, placement).map(Cow::Owned);
            let held = |place| self.held.get(place).and_then(UnreadFrame::data);
            let of_frame = || self.place(placement.frame).and_then(held).map(Cow::Borrowed);
            let Some(data) = of_stream.or_else(of_frame) else { break };
            let reached = payload.len() as u64;
            // Data that was retransmitted may overlap.
            let Some(skipped) = reached.checked_sub(placement.at) else { break };
            let fresh = usize::try_from(skipped).ok().and_then(|skipped| data.get(skipped..));
            payload.extend_from_slice(fresh.unwrap_or_default());
            if (data.len() as u64) < placement.length {
                break;
            }
        }
        payload
    }

    /// Writes octets to the packets or FPDUs that carried the replaced octets.
    fn write_replacement(&mut self, stream: StreamName, placements: &[FramePlacement], octets: &[u8]) {
        for placement in placements {
            let Ok(at) = usize::try_from(placement.at) else { continue };
            let octets = octets.get(at..).unwrap_or_default();
            if self.streams.replace_data(stream, placement, octets) {
                continue;
            }
            let Some(held) = self.place(placement.frame).and_then(|place| self.held.get_mut(place)) else { continue };
            let Some((FrameLayout::Packet(layout), original)) = held.layout.as_ref().ok().zip(held.data()) else {
                continue;
            };
            if !layout.carries(placement.part) {
                continue;
            }
            let mut data = vec![0; original.len()];
            data.iter_mut().zip(octets).for_each(|(to, from)| *to = *from);
            if self.packets.len() >= REMEMBERED || self.packet_octets > HELD_OCTETS {
                self.packets.clear();
                self.packet_octets = 0;
            }
            self.packet_octets += original.len() + data.len();
            self.packets.insert(layout.name(), ReplacedData { original: original.to_vec(), data: data.clone() });
            held.data = Some(data);
        }
    }

    /// Index of a frame among the held frames.
    fn place(&self, frame: u64) -> Option<usize> {
        usize::try_from(frame.checked_sub(self.held.front()?.number)?).ok()
    }

    /// Writes what is held, and ends the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(mut self) -> io::Result<Anonymized> {
        while !self.held.is_empty() {
            self.write_oldest()?;
        }
        self.file.finish()?;
        Ok(self.anonymized)
    }

    fn write_oldest(&mut self) -> io::Result<()> {
        let Some(held) = self.held.pop_front() else { return Ok(()) };
        self.octets = self.octets.saturating_sub(held.octets.len());
        let copy = match &held.layout {
            Ok(FrameLayout::Packet(layout)) => self.packet(&held, layout),
            Ok(FrameLayout::Segment(layout)) => self.segment(&held, layout),
            Err(content) if self.is_lacking(*content) => {
                self.anonymized.unknown += 1;
                return Ok(());
            }
            Err(_) => None,
        };
        let Some(copy) = copy else {
            self.anonymized.others += 1;
            return Ok(());
        };
        let UnreadFrame { time, link, length, .. } = held;
        let frame = WrittenFrame { time, link, data: Cow::Owned(copy), length };
        self.anonymized.frames += 1;
        self.file.frame(frame, None::<&str>)
    }

    /// Copies a frame with an InfiniBand packet. `None` if the packet belongs to no RPC-over-RDMA connection.
    fn packet(&mut self, held: &UnreadFrame, layout: &PacketLayout) -> Option<Vec<u8>> {
        let (source, destination) = (layout.source, layout.destination);
        let is_ours = match layout.is_management {
            true => self.pairs.contains(&[source.min(destination), source.max(destination)]),
            false => self.ends.contains(&(destination, layout.queue_pair)),
        };
        if !is_ours {
            return None;
        }
        let original = held.data().unwrap_or_default();
        let known = || {
            let known = self.packets.get(&layout.name())?;
            // The capture may have cut either.
            let is_same = known.original.starts_with(original) || original.starts_with(&known.original);
            is_same.then_some(known.data.as_slice())
        };
        let data = held.data.as_deref().or_else(known).unwrap_or_default().to_vec();
        layout.rewrite(&held.frame(), &data, &mut self.replacer)
    }

    /// Returns true if the copy lacks something because the headers of a frame were not understood.
    fn is_lacking(&self, content: NotUnderstood) -> bool {
        match content {
            NotUnderstood::Packet => true,
            NotUnderstood::Segment(ends) => self.streams.carry(ends),
            NotUnderstood::Other => false,
        }
    }

    /// Copies a frame with a TCP segment. `None` if the segment belongs to no RPC-over-RDMA connection.
    fn segment(&mut self, held: &UnreadFrame, layout: &SegmentLayout) -> Option<Vec<u8>> {
        let data = self.streams.copy(layout, held.data().unwrap_or_default())?;
        layout.rewrite(&held.frame(), &data, &mut self.replacer)
    }
}

impl UnreadFrame {
    fn frame(&self) -> Frame<'_> {
        let Self { number, time, link, ref octets, length, .. } = *self;
        Frame { number, time, link, data: octets, length }
    }

    /// The data after the transport headers.
    fn data(&self) -> Option<&[u8]> {
        let data = match self.layout.as_ref().ok()? {
            FrameLayout::Packet(layout) => &layout.data,
            FrameLayout::Segment(layout) => &layout.data,
        };
        self.octets.get(data.clone())
    }
}

impl FrameLayout {
    /// Finds the parts of a frame; `None` if some header is not understood.
    fn from_frame(frame: &Frame<'_>) -> Option<Self> {
        let packet = PacketLayout::from_frame(frame).map(Self::Packet);
        packet.or_else(|| SegmentLayout::from_frame(frame).map(Self::Segment))
    }
}

impl PacketLayout {
    const fn name(&self) -> PacketName {
        (self.destination, self.queue_pair, self.sequence, self.operation, self.transport_length)
    }

    /// Returns true if a packet of this kind can carry that part of an RPC.
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

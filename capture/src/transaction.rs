//! An RPC put back together: the call and the reply, their inline parts and their chunks.

use core::fmt;

use rpcrdma::lists::{Chunks, ReadChunk, WriteChunk};
use rpcrdma::reader::padding;
use rpcrdma::rpc::MessageType;

use crate::header::{Decoded, ErrorBody, Header, Place};
use crate::link::Address;
use crate::memory::{Access, Extents};
use crate::message::{Answered, Captured, Message, Rpc, Security, Status};
use crate::nfs::{Callback, DataItem, Operation, Procedure, WalkError};
use crate::operation::{Side, Stamp};
use crate::ranges::{self, Ranges};
use crate::rpc::{self, Called, Described, Way};

/// A call and what became of it.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// Number of the connection.
    pub connection: u32,
    /// Which end called.
    pub requester: Side,
    /// Address of the requester.
    pub from: Address,
    /// Address of the responder.
    pub to: Address,
    /// The server called the client (RFC 8167).
    pub reverse: bool,
    /// Whether the program is that of NFSv4's callbacks, and how that is known.
    pub callback: Callback,
    /// `rdma_xid`.
    pub xid: u32,
    /// The call; `None` where the capture does not hold it.
    pub call: Option<Half>,
    /// The reply; `None` where the capture does not hold it.
    pub reply: Option<Half>,
    /// What was called.
    pub procedure: Option<Procedure>,
    /// The name of that.
    pub name: Option<&'static str>,
    /// The operations of an NFSv4 COMPOUND: those of the reply with their status, then those of the call that were not
    /// reached.
    pub operations: Vec<Operation>,
    /// How RPCSEC_GSS protected it.
    pub security: Option<Security>,
    /// How it ended; `None` without a reply.
    pub status: Option<Status>,
    /// Octets that the responder pulled from Read chunks.
    pub read_octets: u64,
    /// Octets that the responder put into Write chunks and the Reply chunk.
    pub write_octets: u64,
}

/// A call or a reply.
#[derive(Clone, Debug)]
pub struct Half {
    /// The frame that completed its Send.
    pub stamp: Stamp,
    /// How it was sent.
    pub form: Form,
    /// Octets of the Payload stream that were in the Send.
    pub inline: usize,
    /// The whole RPC message, beginning with its XID; of an RDMA_ERROR nothing.
    pub message: Result<Rebuilt, NotRebuilt>,
}

/// An RPC message as it was before it was reduced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rebuilt {
    /// Its octets, XDR padding restored.
    pub octets: Vec<u8>,
    /// DDP-eligible data items in it, reduced or not; [`DataItem::at`] counts from the start of `octets`.
    pub items: Vec<DataItem>,
}

impl Rebuilt {
    /// The data of an item.
    #[must_use]
    pub fn data(&self, item: &DataItem) -> &[u8] {
        self.octets.get(item.at..).and_then(|rest| rest.get(..item.length as usize)).unwrap_or_default()
    }
}

/// How an RPC message was sent (RFC 8166 section 3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    /// In one Send.
    Short,
    /// In a Send and chunks.
    Chunked,
    /// In a Position Zero Read chunk or the Reply chunk.
    Long,
    /// In several Sends (version 2).
    Continued,
}

/// Why an RPC message could not be put back together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotRebuilt {
    /// The capture does not hold all of the Send.
    Send,
    /// The capture does not hold all messages that brought parts of its Payload stream before (version 2).
    Earlier,
    /// Data is preceded by padding (RDMA_MSGP, RFC 5666 section 3.9), and where is not known.
    Padding,
    /// The capture does not hold all of a chunk.
    Chunk {
        /// Which one.
        chunk: ChunkName,
        /// Octets of it that are there before the first that is not.
        captured: u64,
        /// Octets it has.
        length: u64,
    },
    /// Octets of a Read chunk were not read, or octets that a reply returns in a Write chunk or the Reply chunk not written,
    /// though the capture misses nothing. They are counted from the start of what the chunk holds.
    NotMoved {
        /// Which one.
        chunk: ChunkName,
        /// The first of them.
        first: u64,
        /// The last of them.
        last: u64,
    },
    /// The call is not in the capture, so nothing is known of the reply's chunks.
    CallMissing,
    /// The reply's chunks are not those of the call.
    ForeignChunks,
    /// A Read chunk's Position is not within the Payload stream.
    Position(u32),
    /// A Position Zero Read chunk beside an inline Payload stream: no specification says which comes first.
    PositionZeroInMessage,
    /// Where the reduced results belong is not known.
    Results(WalkError),
    /// The server ended the RPC with RDMA_ERROR: there is no RPC message.
    Error(ErrorBody),
    /// The header cannot be read.
    Header,
    /// The message has no Payload stream.
    NoPayload,
    /// More was held than [`Config::memory`](crate::dissector::Config::memory) allows.
    TooMuch,
}

/// Names a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkName {
    /// The Read chunk at a Position.
    Read(u32),
    /// A Write chunk, counted from 0.
    Write(usize),
    /// The Reply chunk.
    Reply,
}

impl fmt::Display for ChunkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(position) => write!(f, "Read chunk at Position {position}"),
            Self::Write(index) => write!(f, "Write chunk {index}"),
            Self::Reply => f.write_str("Reply chunk"),
        }
    }
}

impl fmt::Display for NotRebuilt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send => f.write_str("the Send is not all in the capture"),
            Self::Earlier => {
                f.write_str("messages before it with parts of its Payload stream are not all in the capture")
            }
            Self::Padding => f.write_str("where the padding before its data is, is not known"),
            Self::Chunk { chunk, captured, length } => {
                write!(f, "{chunk}: {captured} of {length} octets are in the capture before the first that is not")
            }
            Self::NotMoved { chunk: chunk @ ChunkName::Read(_), first, last } => {
                write!(f, "{chunk}: octets {first} to {last} were not read")
            }
            Self::NotMoved { chunk, first, last } => {
                write!(f, "{chunk}: the responder did not write octets {first} to {last} of the returned length")
            }
            Self::CallMissing => f.write_str("the call is not in the capture"),
            Self::ForeignChunks => f.write_str("the reply's chunks are not the call's"),
            Self::Position(position) => write!(f, "Position {position} is not within the Payload stream"),
            Self::PositionZeroInMessage => f.write_str("a Position Zero Read chunk beside an inline Payload stream"),
            Self::Results(error) => write!(f, "where the reduced results belong is not known: {error}"),
            Self::Error(error) => write!(f, "{error}"),
            Self::Header => f.write_str("the header cannot be read"),
            Self::NoPayload => f.write_str("the message has no Payload stream"),
            Self::TooMuch => f.write_str("more octets wait for their replies than may be kept"),
        }
    }
}

impl core::error::Error for NotRebuilt {}

/// A segment that a call advertises, and what was moved.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) access: Access,
    pub(crate) handle: u32,
    pub(crate) offset: u64,
    pub(crate) length: u32,
    /// What is moved is kept, not only counted.
    pub(crate) is_kept: bool,
    pub(crate) data: Extents,
    /// What was moved of it, where that is followed.
    moved: Ranges,
}

impl Segment {
    /// Octets of memory that what was moved takes.
    pub(crate) fn held(&self) -> usize {
        self.data.held() + self.moved.held()
    }
}

/// A call that waits for its reply.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) message: Message,
    /// Its direction, as far as was known when it was sent.
    pub(crate) way: Way,
    /// Those of the Call chunk, of the Read list, of the Write list, of the Reply chunk.
    pub(crate) segments: Vec<Segment>,
    /// How many of them are the first two's.
    read_segments: usize,
    /// This is no call but a reply, in memory that the requester reads: the call that it answers.
    pub(crate) answers: Option<Box<Call>>,
    pub(crate) called: Option<Called>,
    pub(crate) described: Option<Described>,
    /// Octets that the responder asked for with RDMA Read.
    pub(crate) asked_octets: u64,
    pub(crate) read_octets: u64,
    pub(crate) write_octets: u64,
    /// What was held was let go.
    pub(crate) overflowed: bool,
    /// Something was moved of which only a reply can tell that it was for this call.
    pub(crate) is_doubtful: bool,
    /// One with its XID was sent before it and not answered: what the other end moved for that may be for this.
    pub(crate) is_repeated: bool,
    /// How much is known of what the other end moves for it.
    pub(crate) followed: Followed,
}

/// How much is known of what is moved for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Followed {
    /// All of it, as long as the session misses nothing and places all: this is its count of what it did not.
    Since(u64),
    /// Nothing says that what is not known was not moved.
    No,
}

/// Position and length of each Read chunk that is a data item.
pub(crate) fn read_chunks(chunks: &Chunks<'_>) -> Vec<(u64, u64)> {
    chunks.reads.chunks().map(|chunk| (u64::from(chunk.position), chunk.segments.length())).collect()
}

/// Length of each Write chunk.
pub(crate) fn write_lengths(chunks: &Chunks<'_>) -> Vec<u64> {
    chunks.writes.iter().map(|chunk| chunk.length()).collect()
}

impl Call {
    /// A call of which the data items are kept if it is to be rebuilt `whole`; else only what holds a Payload stream.
    pub(crate) fn new(
        message: Message,
        (called, described): (Option<Called>, Option<Described>),
        way: Way,
        whole: bool,
    ) -> Self {
        let (segments, read_segments) = match message.decode() {
            Ok(decoded) => {
                let reads = decoded.header.chunks().unwrap_or_default().reads.len();
                (segments(&decoded.header, whole), decoded.header.call_chunk().len() + reads)
            }
            Err(_) => (Vec::new(), 0),
        };
        Self {
            message,
            way,
            segments,
            read_segments,
            answers: None,
            called,
            described,
            asked_octets: 0,
            read_octets: 0,
            write_octets: 0,
            overflowed: false,
            is_doubtful: false,
            is_repeated: false,
            followed: Followed::No,
        }
    }

    /// The other end moves so many octets of a segment from `at` on, whatever of them was captured. `held` is what calls
    /// take, in octets of memory.
    pub(crate) fn moves(&mut self, segment: usize, at: u64, length: u64, held: &mut usize) {
        if self.followed == Followed::No {
            return;
        }
        let Some(segment) = self.segments.get_mut(segment) else { return };
        let (before, end) = (segment.moved.held(), at.saturating_add(length));
        // What leaves the segment may be meant for the next one.
        if end > u64::from(segment.length) || !segment.moved.add(at..end) {
            self.followed = Followed::No;
        }
        *held = *held + segment.moved.held() - before;
    }

    /// There is no RPC message in it, nor in memory that the responder could read: nothing of it can be carried out.
    pub(crate) fn is_empty(&self) -> bool {
        self.message.captured == Captured::Whole && self.called.is_none() && self.read_segments == 0
    }

    /// Octets of memory it takes.
    pub(crate) fn held(&self) -> usize {
        let message =
            self.message.octets.len() + self.message.earlier.as_ref().map_or(0, |earlier| earlier.octets.len());
        let answers = self.answers.as_ref().map_or(0, |call| call.held());
        size_of::<Self>() + message + self.segments.len() * Self::SEGMENT + self.moved() + answers
    }

    /// Octets of memory that a segment takes, here and in the list of what is advertised.
    const SEGMENT: usize = size_of::<Segment>() + 64;

    /// Octets of memory that what was moved takes.
    fn moved(&self) -> usize {
        self.segments.iter().map(Segment::held).sum()
    }

    /// Lets go what was moved; the call cannot be rebuilt any more. Gives the octets of memory that are free.
    pub(crate) fn overflow(&mut self) -> usize {
        let moved = self.moved();
        if moved > 0 {
            self.overflowed = true;
            self.forget();
        }
        moved
    }

    /// Lets go what was moved.
    pub(crate) fn forget(&mut self) {
        self.followed = Followed::No;
        for segment in &mut self.segments {
            segment.data = Extents::default();
            segment.moved = Ranges::default();
        }
    }

    /// The octets of a chunk whose segments begin at `first` and have these lengths.
    fn chunk(&self, name: ChunkName, first: usize, lengths: impl Iterator<Item = u32> + Clone) -> Chunk {
        if self.overflowed {
            return Err(NotRebuilt::TooMuch);
        }
        let mut octets = Vec::new();
        for (segment, length) in self.segments.iter().skip(first).zip(lengths.clone()) {
            if segment.data.copy(u64::from(length), &mut octets).is_err() {
                return Err(self.lacks(name, first, lengths, octets.len() as u64));
            }
        }
        Ok(octets)
    }

    /// Why a chunk is there only as far as its octet `captured`: the capture lacks the rest, or it was not moved.
    fn lacks(
        &self,
        chunk: ChunkName,
        first: usize,
        lengths: impl Iterator<Item = u32> + Clone,
        captured: u64,
    ) -> NotRebuilt {
        let length = lengths.clone().map(u64::from).sum();
        let moved = self.segments.iter().skip(first).map(|segment| &segment.moved);
        match ranges::gap(moved.zip(lengths.map(u64::from))) {
            Some(gap) if self.followed != Followed::No && gap.start == captured => {
                NotRebuilt::NotMoved { chunk, first: gap.start, last: gap.end - 1 }
            }
            _ => NotRebuilt::Chunk { chunk, captured, length },
        }
    }

    /// The whole call.
    pub(crate) fn rebuild(&self) -> Result<Vec<u8>, NotRebuilt> {
        let decoded = self.message.decode().map_err(|_| self.message.unreadable())?;
        let (call_chunk, reads) = (decoded.header.call_chunk(), decoded.header.chunks().unwrap_or_default().reads);
        if !call_chunk.is_empty() && reads.iter().any(|segment| segment.position == 0) {
            return Err(NotRebuilt::Position(0));
        }
        let mut chunks = Vec::new();
        let mut first = 0;
        let call_chunk = (!call_chunk.is_empty()).then_some(ReadChunk { position: 0, segments: call_chunk });
        for ReadChunk { position, segments } in call_chunk.into_iter().chain(reads.chunks()) {
            let lengths = segments.iter().map(|segment| segment.target.length);
            chunks.push((position, self.chunk(ChunkName::Read(position), first, lengths)?));
            first += segments.len();
        }
        self.message.check_whole()?;
        // No rule sorts the Read list, nor keeps the segments of a chunk side by side (section 3.4.5).
        chunks.sort_by_key(|(position, _)| *position);
        chunks.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                earlier.1.append(&mut later.1);
            }
            same
        });
        let reduced = match decoded.header.place() {
            Place::Chunk if chunks.first().is_some_and(|(position, _)| *position == 0) => chunks.remove(0).1,
            Place::Chunk | Place::Nowhere => Vec::new(),
            Place::Inline | Place::Part if chunks.iter().any(|(position, _)| *position == 0) => {
                return Err(NotRebuilt::PositionZeroInMessage);
            }
            Place::Inline | Place::Part => self.message.stream(&decoded).into_owned(),
        };
        if chunks.is_empty() {
            return Ok(reduced);
        }
        insert(&reduced, chunks.iter().map(|(position, data)| (*position, data.as_slice())))
    }

    /// The returned Write chunks of a reply, in list order.
    fn returned(&self, returned: &Chunks<'_>) -> Result<Vec<Vec<u8>>, NotRebuilt> {
        let decoded = self.message.decode().map_err(|_| NotRebuilt::ForeignChunks)?;
        let provided = decoded.header.chunks().unwrap_or_default();
        let mut first = self.read_segments;
        let mut chunks = Vec::new();
        let mut provided = provided.writes.iter();
        for (index, chunk) in returned.writes.iter().enumerate() {
            let offered = provided.next().ok_or(NotRebuilt::ForeignChunks)?;
            // RFC 8267 lets an unused chunk come back empty; RFC 8166 wants its segments, all of length 0.
            if !chunk.is_empty() {
                self.check(first, &offered, &chunk)?;
            }
            chunks.push(self.chunk(ChunkName::Write(index), first, chunk.iter().map(|segment| segment.length))?);
            first += offered.len();
        }
        Ok(chunks)
    }

    fn returned_reply_chunk(&self, returned: &Chunks<'_>) -> Chunk {
        let decoded = self.message.decode().map_err(|_| NotRebuilt::ForeignChunks)?;
        let provided = decoded.header.chunks().unwrap_or_default();
        let (Some(offered), Some(chunk)) = (provided.reply, returned.reply) else {
            return Err(NotRebuilt::ForeignChunks);
        };
        let first = self.read_segments + provided.writes.iter().map(|chunk| chunk.len()).sum::<usize>();
        self.check(first, &offered, &chunk)?;
        self.chunk(ChunkName::Reply, first, chunk.iter().map(|segment| segment.length))
    }

    /// A returned chunk must be the offered one but for its lengths (RFC 8166 section 3.4.6).
    fn check(&self, first: usize, offered: &WriteChunk<'_>, returned: &WriteChunk<'_>) -> Result<(), NotRebuilt> {
        let same = offered.len() == returned.len()
            && self.segments.iter().skip(first).zip(returned.iter()).all(|(ours, theirs)| {
                (ours.handle, ours.offset) == (theirs.handle, theirs.offset) && theirs.length <= ours.length
            });
        if same { Ok(()) } else { Err(NotRebuilt::ForeignChunks) }
    }
}

type Chunk = Result<Vec<u8>, NotRebuilt>;

/// A reply that was put together as far as its chunks allow: its Payload stream, still reduced, and the Write chunks.
pub(crate) struct Reply {
    payload: Result<Vec<u8>, NotRebuilt>,
    writes: Result<Vec<Vec<u8>>, NotRebuilt>,
    pub(crate) described: Option<Described>,
}

impl Reply {
    /// Puts a reply together. Without the call nothing is known but what is in the Send.
    pub(crate) fn new(message: &Message, call: Option<&Call>) -> Self {
        let Ok(decoded) = message.decode() else {
            let error = message.error().map_or_else(|| message.unreadable(), NotRebuilt::Error);
            return Self { payload: Err(error), writes: Ok(Vec::new()), described: None };
        };
        let payload = match (decoded.header.place(), call) {
            (Place::Chunk, None) => Err(NotRebuilt::CallMissing),
            (Place::Chunk, Some(call)) => call.returned_reply_chunk(&decoded.header.chunks().unwrap_or_default()),
            _ => Ok(message.stream(&decoded).into_owned()),
        };
        Self::with_payload(message, call, payload)
    }

    /// The same, where the Payload stream is known.
    pub(crate) fn with_payload(message: &Message, call: Option<&Call>, payload: Chunk) -> Self {
        let returned = message.decode().ok().and_then(|decoded| decoded.header.chunks()).unwrap_or_default();
        let writes = match call {
            _ if returned.writes.is_empty() => Ok(Vec::new()),
            None => Err(NotRebuilt::CallMissing),
            Some(call) => call.returned(&returned),
        };
        let written = write_lengths(&returned);
        let called = call.and_then(|call| call.called.as_ref());
        let mut described = payload.as_ref().ok().and_then(|payload| rpc::reply(payload, called, &written));
        if let Some(described) = described.as_mut().filter(|_| message.padding.is_none()) {
            described.forget_body();
        }
        let payload = message.check_whole().and(payload);
        Self { payload, writes, described }
    }

    /// XID of the RPC message, where its Payload stream is there.
    pub(crate) fn xid(&self) -> Option<u32> {
        first_word(self.payload.as_ref().ok()?)
    }

    /// What is known of it.
    pub(crate) fn rpc(&self) -> Option<Rpc> {
        self.described.as_ref().map(|described| described.rpc.clone())
    }

    fn rebuild(self) -> Result<Rebuilt, NotRebuilt> {
        let (payload, writes) = (self.payload?, self.writes?);
        let (mut items, walked) = match self.described {
            Some(described) => (described.items, described.walked),
            None => (Vec::new(), Ok(())),
        };
        if writes.iter().all(Vec::is_empty) {
            return Ok(Rebuilt { octets: payload, items });
        }
        walked.map_err(NotRebuilt::Results)?;
        let mut chunks = Vec::new();
        for item in &mut items {
            if let Some(data) = item.chunk.and_then(|chunk| writes.get(chunk)) {
                let position = u32::try_from(item.at).map_err(|_| NotRebuilt::Header)?;
                chunks.push((position, data.as_slice()));
            }
        }
        Ok(Rebuilt { octets: insert(&payload, chunks.into_iter())?, items })
    }
}

/// The first word of a Payload stream: its XID.
pub(crate) fn first_word(payload: &[u8]) -> Option<u32> {
    payload.first_chunk().map(|word| u32::from_be_bytes(*word))
}

fn with_payload(octets: Vec<u8>) -> Result<Vec<u8>, NotRebuilt> {
    if octets.is_empty() { Err(NotRebuilt::NoPayload) } else { Ok(octets) }
}

/// Puts reduced data items back where they belong, and after each the XDR padding it needs.
fn insert<'a>(reduced: &[u8], chunks: impl Iterator<Item = (u32, &'a [u8])>) -> Result<Vec<u8>, NotRebuilt> {
    let mut octets = Vec::new();
    let mut rest = reduced;
    for (position, data) in chunks {
        let before = (position as usize).checked_sub(octets.len()).ok_or(NotRebuilt::Position(position))?;
        let (head, tail) = rest.split_at_checked(before).ok_or(NotRebuilt::Position(position))?;
        octets.extend_from_slice(head);
        octets.extend_from_slice(data);
        // A Requester may have put the padding into the chunk (section 3.4.5.2): then the length is a multiple of four.
        octets.resize(octets.len() + padding(data.len()), 0);
        rest = tail;
    }
    octets.extend_from_slice(rest);
    Ok(octets)
}

fn segments(header: &Header<'_>, whole: bool) -> Vec<Segment> {
    let chunks = header.chunks().unwrap_or_default();
    let call_chunk = header.call_chunk().iter().map(|segment| (Access::Read, segment.target, true));
    let reads = chunks.reads.iter().map(|segment| (Access::Read, segment.target, whole || segment.position == 0));
    let writes = chunks.writes.iter().flat_map(|chunk| chunk.iter()).map(|segment| (Access::Write, segment, whole));
    let reply = chunks.reply.into_iter().flat_map(|chunk| chunk.iter()).map(|segment| (Access::Write, segment, true));
    let segment = |(access, segment, is_kept): (Access, rpcrdma::segment::Segment, bool)| Segment {
        access,
        handle: segment.handle,
        offset: segment.offset,
        length: segment.length,
        is_kept,
        data: Extents::default(),
        moved: Ranges::default(),
    };
    call_chunk.chain(reads).chain(writes).chain(reply).map(segment).collect()
}

fn form(decoded: &Decoded<'_>, is_call: bool) -> Form {
    match decoded.header.place() {
        Place::Chunk => Form::Long,
        Place::Part => Form::Continued,
        Place::Inline => {
            let chunks = decoded.header.chunks().unwrap_or_default();
            let moved = if is_call { chunks.reads.length() } else { chunks.writes.iter().map(|c| c.length()).sum() };
            if moved > 0 { Form::Chunked } else { Form::Short }
        }
        Place::Nowhere => Form::Short,
    }
}

impl Message {
    fn unreadable(&self) -> NotRebuilt {
        if self.captured == Captured::Whole { NotRebuilt::Header } else { NotRebuilt::Send }
    }

    fn check_whole(&self) -> Result<(), NotRebuilt> {
        match (self.earlier_missing(), &self.padding) {
            _ if self.captured != Captured::Whole => Err(NotRebuilt::Send),
            (Some(reason), _) => Err(reason),
            (None, None) => Err(NotRebuilt::Padding),
            (None, Some(_)) => Ok(()),
        }
    }

    fn half(&self, is_call: bool, message: Result<Rebuilt, NotRebuilt>) -> Half {
        let decoded = self.decode().ok();
        let form = match &decoded {
            Some(_) if self.earlier.is_some() => Form::Continued,
            Some(decoded) => form(decoded, is_call),
            None => Form::Short,
        };
        let earlier = usize::try_from(self.earlier_length()).unwrap_or(usize::MAX);
        let inline = decoded.as_ref().map_or(0, |decoded| match decoded.header.place() {
            Place::Inline | Place::Part => self.length.saturating_sub(decoded.header_length).saturating_add(earlier),
            Place::Chunk | Place::Nowhere => 0,
        });
        Half { stamp: self.stamp, form, inline, message }
    }
}

impl Transaction {
    /// Ends a call. `reply` is what answered it, if anything did.
    pub(crate) fn new(call: Option<Call>, reply: Option<(&Message, Reply)>, xid: u32) -> Option<Self> {
        let replied = reply.as_ref().map(|(message, _)| *message);
        let (requester, of) = match (&call, replied) {
            (Some(call), _) => (call.message.sender, &call.message),
            (None, Some(message)) => (message.sender.other(), message),
            (None, None) => return None,
        };
        let (from, to) = if of.sender == requester { (of.from, of.to) } else { (of.to, of.from) };
        let mut transaction = Self {
            connection: of.connection,
            requester,
            from,
            to,
            reverse: false,
            callback: Callback::No,
            xid,
            call: None,
            reply: None,
            procedure: None,
            name: None,
            operations: Vec::new(),
            security: None,
            status: None,
            read_octets: 0,
            write_octets: 0,
        };
        if let Some(call) = call {
            transaction.take_call(call);
        }
        if let Some((message, reply)) = reply {
            transaction.take_reply(message, reply);
        }
        Some(transaction)
    }

    fn take_call(&mut self, mut call: Call) {
        let rebuilt = call.rebuild().and_then(with_payload);
        call.describe_long();
        let mut items = Vec::new();
        if let Some(described) = call.described {
            self.procedure = described.rpc.procedure;
            self.name = described.rpc.name;
            self.operations = described.rpc.operations;
            self.security = described.rpc.security;
            self.reverse = described.rpc.reverse;
            self.callback = described.rpc.callback;
            items = described.items;
        }
        self.read_octets = call.read_octets;
        self.write_octets = call.write_octets;
        self.call = Some(call.message.half(true, rebuilt.map(|octets| Rebuilt { octets, items })));
    }

    fn take_reply(&mut self, message: &Message, reply: Reply) {
        if let Some(rpc) = message.rpc.as_ref() {
            self.status = rpc.status;
            for (mine, theirs) in self.operations.iter_mut().zip(&rpc.operations) {
                *mine = *theirs;
            }
            if self.operations.is_empty() {
                self.operations.clone_from(&rpc.operations);
            }
        }
        let rebuilt = match message.error() {
            Some(error) => {
                self.status = Some(Status::Error(error));
                Err(NotRebuilt::Error(error))
            }
            None => reply.rebuild(),
        };
        let rebuilt = rebuilt.and_then(|rebuilt| {
            let Rebuilt { octets, items } = rebuilt;
            with_payload(octets).map(|octets| Rebuilt { octets, items })
        });
        self.reply = Some(message.half(false, rebuilt));
    }

    /// Nanoseconds from the call to the reply.
    #[must_use]
    pub fn latency(&self) -> Option<u64> {
        let (call, reply) = (self.call.as_ref()?, self.reply.as_ref()?);
        reply.stamp.time.0.checked_sub(call.stamp.time.0)
    }
}

impl Call {
    /// What a long call is about is known only when its Position Zero Read chunk was pulled. The data items beside that need
    /// not be kept. Gives the XID of the RPC message, where all of the chunk is there.
    pub(crate) fn describe_long(&mut self) -> Option<u32> {
        let payload = self.long_payload(u64::MAX)?;
        let chunks = self.message.decode().ok()?.header.chunks().unwrap_or_default();
        let reads = read_chunks(&chunks);
        self.describe(&payload, &reads);
        first_word(&payload)
    }

    /// What a reply tells of the call that it answers. `long_xid` is what [`describe_long`](Self::describe_long) gave.
    pub(crate) fn answered(&self, long_xid: Option<u32>) -> Answered {
        let mut call = self.message.clone();
        let walked = self.described.as_ref().map(Described::to_walked);
        let walked_late = walked.is_some() && call.rpc.is_none();
        call.rpc = call.rpc.or_else(|| self.described.as_ref().map(|described| described.rpc.clone()));
        let is_followed = self.followed != Followed::No;
        let moved = is_followed.then(|| self.segments.iter().map(|segment| segment.moved.clone()).collect());
        Answered { call, walked, walked_late, moved, long_xid }
    }

    /// Whether this was taken for a long call and is a long reply, which its responder provides: what was pulled says so.
    /// The call that it answers is not in the capture.
    pub(crate) fn is_reply(&self) -> bool {
        let is_long = || self.message.decode().is_ok_and(|decoded| decoded.header.place() == Place::Chunk);
        let pulls = || self.long_payload(8).and_then(|payload| MessageType::peek(&payload));
        self.described.is_none() && is_long() && pulls().is_some_and(|(_, kind)| kind == MessageType::REPLY)
    }

    /// The octets of the Position Zero Read chunk, or so many of them at most.
    fn long_payload(&self, most: u64) -> Option<Vec<u8>> {
        let decoded = self.message.decode().ok()?;
        let reads = decoded.header.chunks().unwrap_or_default().reads;
        let entries = decoded.header.call_chunk().iter().chain(reads.iter());
        let mut payload = Vec::new();
        for (segment, entry) in self.segments.iter().zip(entries).filter(|(_, entry)| entry.position == 0) {
            let length = u64::from(entry.target.length).min(most.saturating_sub(payload.len() as u64));
            segment.data.copy(length, &mut payload).ok()?;
        }
        Some(payload)
    }

    fn describe(&mut self, payload: &[u8], reads: &[(u64, u64)]) {
        if self.described.is_none()
            && let Some((called, described)) = rpc::call(payload, self.way, reads)
        {
            self.called = Some(called);
            self.described = Some(described);
        }
    }
}

//! A call that waits for a reply, and what was moved for the call.

use rpcrdma::lists::{Chunks, ReadChunk, WriteChunk};
use rpcrdma::rpc::MessageType;

use super::arrivals::Unacknowledged;
use super::chunk::{self, Chunk};
use super::data_flow::DataFlows;
use super::memory::{Access, Extents};
use super::timeline::Timeline;
use crate::carrier::operation::{Side, Sides};
use crate::file::Time;
use crate::rpc::credits::{CreditUse, CreditWaitUnknown};
use crate::rpc::describe::{self, Called, Described, DescribedCall, Way};
use crate::rpc::header::{Header, PayloadPlace, read_chunks};
use crate::rpc::message::{Answered, Beginning, Captured, Message};
use crate::rpc::not_rebuilt::{ChunkName, NotRebuilt};
use crate::rpc::phases::NotTimed;
use crate::rpc::pieces::Pieces;
use crate::rpc::placement::{FramePlacement, PlacedPart};
use crate::rpc::properties::{MessageDirection, Rpc};
use crate::rpc::ranges::{self, Ranges};
use crate::rpc::waiting::{Delivery, LastStep, Owed, Step, WaitEnd, Waiting};

/// The most frames of one call whose octets are placed.
const PLACEMENTS: usize = 16_384;

/// A segment that a call advertises, and what was moved.
#[derive(Debug)]
pub(crate) struct CallSegment {
    pub(crate) access: Access,
    pub(crate) handle: u32,
    pub(crate) offset: u64,
    pub(crate) length: u32,
    /// True if what is moved is kept, not only counted.
    pub(crate) is_kept: bool,
    pub(crate) data: Extents,
    /// Moved octets of the segment, if moves are followed.
    moved: Ranges,
}

impl CallSegment {
    /// Memory used for moved data, in octets.
    pub(crate) fn memory_used(&self) -> usize {
        self.data.memory_used() + self.moved.memory_used()
    }
}

/// A packet that moved octets of a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlacedPacket {
    pub(super) frame: u64,
    /// Place of the packet in everything that the sender sends.
    pub(super) place: u64,
}

/// A call that waits for a reply.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) message: Message,
    /// Place of the call in everything that the sender sends.
    pub(crate) sent: u64,
    /// Direction of the call, if known when the call was sent.
    pub(crate) way: Way,
    /// The segments of the Call chunk, the Read list, the Write list and the Reply chunk, in that order.
    pub(crate) segments: Vec<CallSegment>,
    /// Number of segments in the Call chunk and the Read list.
    read_segments: usize,
    /// If this is not a call but a reply in memory that the requester reads: the call that the reply answers.
    pub(crate) answers: Option<Box<Call>>,
    pub(crate) called: Option<Called>,
    pub(crate) described: Option<Described>,
    /// Octets that the responder asked for with RDMA Read.
    pub(crate) asked_octets: u64,
    pub(crate) read_octets: u64,
    /// True if the capture lacks some of the data that came for these requests.
    pub(super) lacks_response: bool,
    pub(crate) write_octets: u64,
    /// True if what was held was released.
    pub(crate) overflowed: bool,
    /// True if something was moved that only a reply can show to be for this call.
    pub(crate) is_doubtful: bool,
    /// True if an earlier call with the same XID was not answered: what the other end moved for one may be for the
    /// other.
    pub(crate) is_repeated: bool,
    /// True if the requester's adapter refused access to memory while data of the call was still to come.
    is_refused: bool,
    /// True if the responder's adapter acknowledged the call.
    pub(super) is_accepted: bool,
    /// Extent to which the moves of the other end for the call are known.
    pub(crate) followed: Followed,
    /// The responder was heard before: if the capture lacks the reply, that shows.
    pub(super) shows_reply: bool,
    /// Number of nanoseconds for which the requester had had no credit for the call.
    pub(super) credit_wait: Result<u64, CreditWaitUnknown>,
    /// Phases of the call so far.
    pub(super) timeline: Timeline,
    /// Last step of the requester for the call, and last step of the responder.
    pub(super) requester_last: LastStep,
    pub(super) responder_last: Option<LastStep>,
}

/// Extent to which the moves for a call are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Followed {
    /// All moves, while these counts of missed or unmatched items of each end stay the same in the session.
    Since(Sides<u32>),
    /// All RDMA Read requests, whatever was missed of the call's sender. More may have been written than is known.
    Requests,
    /// Not all: more may have been moved than is known.
    No,
}

impl Followed {
    /// Returns true if everything that was moved is known.
    const fn is_whole(self) -> bool {
        matches!(self, Self::Since(_))
    }

    /// Returns what is known at the end of a call of this sender, where the session has missed or failed to place these numbers of
    /// operations.
    pub(super) fn until(self, unmatched: Sides<u32>, sender: Side) -> Self {
        match self {
            Self::Since(before) if before == unmatched => self,
            Self::Since(before) if before.get(sender.other()) == unmatched.get(sender.other()) => Self::Requests,
            _ => Self::No,
        }
    }
}

impl Call {
    /// Creates a call. If `whole`, the call is to be rebuilt and all data items are kept; otherwise only data items
    /// that hold a Payload stream.
    pub(super) fn new(
        message: Message,
        timeline: Timeline,
        description: Option<DescribedCall>,
        way: Way,
        whole: bool,
    ) -> Self {
        let (called, described) = description.map(|DescribedCall { called, described }| (called, described)).unzip();
        let (segments, read_segments) = match message.decode() {
            Ok(decoded) => {
                let reads = decoded.header.chunks().unwrap_or_default().reads.len();
                (segments(&decoded.header, whole), decoded.header.call_chunk().len() + reads)
            }
            Err(_) => (Vec::new(), 0),
        };
        let requester_last = LastStep { step: Step::Call, stamp: message.stamp };
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
            lacks_response: false,
            write_octets: 0,
            overflowed: false,
            is_doubtful: false,
            is_repeated: false,
            is_refused: false,
            sent: 0,
            is_accepted: false,
            followed: Followed::No,
            shows_reply: false,
            credit_wait: Err(CreditWaitUnknown::CallMissing),
            timeline,
            requester_last,
            responder_last: None,
        }
    }

    /// The end that called.
    pub(super) const fn requester(&self) -> Side {
        match self.answers {
            Some(_) => self.message.sender.other(),
            None => self.message.sender,
        }
    }

    /// Counts the times of the end whose data the call waited for, if from this time on the call waits for the other
    /// end.
    pub(super) fn watch_sender(&mut self, flows: &DataFlows, time: Time) {
        // A reply that the responder provides is read from the responder's memory.
        if self.answers.is_none() && self.timeline.is_sender_changed() {
            let requester = self.message.sender;
            self.timeline.watch(flows.times(requester), flows.times(requester.other()), time);
        }
    }

    /// Another call that waits advertises a handle of this one: which of the two is meant is not known.
    pub(super) fn shares_memory(&mut self) {
        self.followed = Followed::No;
        self.timeline.refuse(NotTimed::SharedMemory);
    }

    /// Returns the state of the wait when the wait is over and nothing more of the call will be seen.
    pub(super) fn waiting(&self, end: WaitEnd, delivery: Delivery, credits: CreditUse) -> Waiting {
        let Self { requester_last: requester, responder_last: responder, .. } = *self;
        let owed = self.owed(end, delivery);
        Waiting { end, requester, responder, delivery, reply_delivery: None, owed, credits }
    }

    /// Returns the step that is owed for the call, if the capture shows all of the call.
    fn owed(&self, end: WaitEnd, delivery: Delivery) -> Owed {
        if matches!(end, WaitEnd::Repeated | WaitEnd::Connection | WaitEnd::GivenUp) {
            return Owed::over(end);
        }
        if !self.followed.is_whole() || self.lacks_response || self.message.is_broken() {
            let reason = self.timeline.phases().err().unwrap_or(NotTimed::Missed);
            return Owed::Unknown(reason.into());
        }
        match (self.asked_octets.saturating_sub(self.read_octets), delivery) {
            _ if end != WaitEnd::Capture => Owed::Nothing,
            (_, Delivery::Refused(refusal)) => Owed::Call(refusal),
            (_, Delivery::Unacknowledged { times }) => Owed::Acknowledgement(times),
            (0, _) => Owed::Reply,
            (octets, _) => Owed::ReadResponse(octets),
        }
    }

    /// Returns true if all of the memory that the call advertises was read. Of a reply that the responder provides, the
    /// requester then has all octets.
    pub(super) fn is_read(&self) -> bool {
        let length: u64 = self.segments.iter().map(|segment| u64::from(segment.length)).sum();
        self.read_octets >= length
    }

    /// Returns true if data that was requested by RDMA Read is still to come.
    pub(super) const fn is_pulled(&self) -> bool {
        self.read_octets < self.asked_octets
    }

    /// Takes a refusal of memory access by the requester's adapter; the session has missed or failed to place
    /// `unmatched` operations. The refusal explains what is still to come only if nothing since the call was missed or
    /// went elsewhere.
    pub(super) fn refuse(&mut self, unmatched: Sides<u32>) {
        // A reply that the responder provides is read from the responder's memory.
        self.is_refused = self.is_pulled() && self.answers.is_none() && self.followed == Followed::Since(unmatched);
    }

    /// Counts octets of a segment that the other end moves: `length` octets from `at` on, whichever part of the octets
    /// was captured. `held` is the memory used by calls, in octets.
    pub(crate) fn moves(&mut self, segment: usize, at: u64, length: u64, held: &mut usize) {
        if self.followed == Followed::No {
            return;
        }
        let Some(segment) = self.segments.get_mut(segment) else { return };
        let (before, end) = (segment.moved.memory_used(), at.saturating_add(length));
        // Octets beyond the segment may be meant for the next one.
        if end > u64::from(segment.length) || !segment.moved.add_range(at..end) {
            self.followed = Followed::No;
        }
        *held = *held + segment.moved.memory_used() - before;
    }

    /// Returns true if neither the call nor memory that the responder could read has an RPC message, so that nothing
    /// can be carried out.
    pub(crate) fn is_empty(&self) -> bool {
        self.message.captured == Captured::Whole && self.called.is_none() && self.read_segments == 0
    }

    /// Returns true if the responder may still serve the call after the call is given up.
    pub(super) fn may_be_served(&self) -> bool {
        !self.is_empty() && self.answers.is_none() && !self.is_reply()
    }

    /// Returns true if this is a copy of `before`: all is the same except for the requested credits.
    pub(super) fn is_copy_of(&self, before: &Self) -> bool {
        let (mine, theirs) = (&self.message, &before.message);
        let is_whole = mine.captured == Captured::Whole && theirs.captured == Captured::Whole;
        is_whole && but_credit(&mine.octets) == but_credit(&theirs.octets) && mine.earlier == theirs.earlier
    }

    /// Takes over what was moved for a copy of this call that was sent before.
    pub(super) fn inherit(&mut self, before: &mut Self) {
        for (mine, theirs) in self.segments.iter_mut().zip(&before.segments) {
            mine.data = theirs.data.clone();
        }
        self.asked_octets = before.asked_octets;
        self.lacks_response = before.lacks_response;
        self.read_octets = core::mem::take(&mut before.read_octets);
        self.write_octets = core::mem::take(&mut before.write_octets);
        self.overflowed = before.overflowed;
        // The placements of the Send before it were given with its message.
        self.message.placements = core::mem::take(&mut before.message.placements);
        self.is_doubtful = before.is_doubtful;
        self.responder_last = before.responder_last;
    }

    /// Returns true if a chunk is the Reply chunk of this call, used or not.
    pub(super) fn offers(&self, returned: &WriteChunk<'_>) -> bool {
        let Ok(decoded) = self.message.decode() else { return false };
        let offered = decoded.header.chunks().unwrap_or_default();
        let first = self.read_segments + offered.writes.iter().map(|chunk| chunk.len()).sum::<usize>();
        offered.reply.is_some_and(|offered| check(&self.segments, first, &offered, returned).is_ok())
    }

    /// Memory used by the call, in octets.
    pub(crate) fn memory_used(&self) -> usize {
        let message =
            self.message.octets.len() + self.message.earlier.as_ref().map_or(0, |earlier| earlier.octets.len());
        let answers = self.answers.as_ref().map_or(0, |call| call.memory_used());
        let segments = self.segments.len() * Self::SEGMENT;
        let unacknowledged = size_of::<Unacknowledged>();
        let placements = size_of_val(self.message.placements.as_slice());
        size_of::<Self>()
            + placements
            + unacknowledged
            + message
            + segments
            + self.moved()
            + answers
            + self.timeline.memory_used()
    }

    /// Records the packet that moved octets of a segment with a Payload stream. Returns by how many octets the memory in use has grown.
    pub(super) fn place(&mut self, segment: usize, packet: PlacedPacket, at: u64, length: u64) -> usize {
        let Some((part, before)) = self.message.decode().ok().and_then(|decoded| placed(&decoded.header, segment))
        else {
            return 0;
        };
        if self.message.placements.as_slice().len() >= PLACEMENTS {
            return 0;
        }
        let PlacedPacket { frame, place } = packet;
        self.message.placements.push(FramePlacement { frame, place, part, at: before.saturating_add(at), length });
        size_of::<FramePlacement>()
    }

    /// Octets of memory that a segment takes, here and in the list of what is advertised.
    const SEGMENT: usize = size_of::<CallSegment>() + 64;

    /// Memory used for moved data, in octets.
    fn moved(&self) -> usize {
        self.segments.iter().map(CallSegment::memory_used).sum()
    }

    /// Releases what was moved; the call can no longer be rebuilt. Returns the octets of memory that this frees.
    pub(crate) fn overflow(&mut self) -> usize {
        let moved = self.moved();
        if moved > 0 {
            self.overflowed = true;
            self.forget();
        }
        moved
    }

    /// Releases what was moved.
    pub(crate) fn forget(&mut self) {
        self.followed = Followed::No;
        for segment in &mut self.segments {
            segment.data = Extents::default();
            segment.moved = Ranges::default();
        }
    }

    /// Returns the Send, and what was moved for the call.
    fn split(&mut self) -> (&Message, MovedData<'_>) {
        let Self { message, segments, overflowed, is_refused, followed, .. } = self;
        (message, MovedData { segments, overflowed: *overflowed, is_refused: *is_refused, followed: *followed })
    }

    /// Rebuilds the whole call. The data that was moved becomes part of the result, and is taken from here.
    pub(crate) fn rebuild(&mut self) -> Result<Pieces, NotRebuilt> {
        let (message, mut moved) = self.split();
        let decoded = message.decode().map_err(|_| message.unreadable())?;
        let (call_chunk, reads) = (decoded.header.call_chunk(), decoded.header.chunks().unwrap_or_default().reads);
        if !call_chunk.is_empty() && reads.iter().any(|segment| segment.position == 0) {
            return Err(NotRebuilt::Position(0));
        }
        let mut chunks = Vec::new();
        let mut first = 0;
        let call_chunk = (!call_chunk.is_empty()).then_some(ReadChunk { position: 0, segments: call_chunk });
        for ReadChunk { position, segments } in call_chunk.into_iter().chain(reads.chunks()) {
            let lengths = segments.iter().map(|segment| segment.target.length);
            chunks.push((position, moved.chunk(ChunkName::Read(position), first, lengths)?));
            first += segments.len();
        }
        message.check_whole()?;
        // No rule sorts the Read list or keeps the segments of a chunk together (section 3.4.5).
        chunks.sort_by_key(|(position, _)| *position);
        chunks.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                earlier.1.append(core::mem::take(&mut later.1));
            }
            same
        });
        let reduced = match decoded.header.place() {
            PayloadPlace::Chunk if chunks.first().is_some_and(|(position, _)| *position == 0) => chunks.remove(0).1,
            PayloadPlace::Chunk | PayloadPlace::Nowhere => Pieces::default(),
            PayloadPlace::Inline | PayloadPlace::Part if chunks.iter().any(|(position, _)| *position == 0) => {
                return Err(NotRebuilt::PositionZeroInMessage);
            }
            PayloadPlace::Inline | PayloadPlace::Part => message.stream(&decoded).into_owned().into(),
        };
        if chunks.is_empty() {
            return Ok(reduced);
        }
        chunk::insert(reduced.octets(), chunks.into_iter())
    }

    /// The returned Write chunks of a reply, in list order.
    pub(super) fn returned(&mut self, returned: &Chunks<'_>) -> Result<Vec<Pieces>, NotRebuilt> {
        let read_segments = self.read_segments;
        let (message, mut moved) = self.split();
        let decoded = message.decode().map_err(|_| NotRebuilt::ForeignChunks)?;
        let provided = decoded.header.chunks().unwrap_or_default();
        let mut first = read_segments;
        let mut chunks = Vec::new();
        let mut provided = provided.writes.iter();
        for (index, chunk) in returned.writes.iter().enumerate() {
            let offered = provided.next().ok_or(NotRebuilt::ForeignChunks)?;
            // RFC 8267 lets an unused chunk come back empty; RFC 8166 requires its segments, all with length 0.
            if !chunk.is_empty() {
                check(moved.segments, first, &offered, &chunk)?;
            }
            chunks.push(moved.chunk(ChunkName::Write(index), first, chunk.iter().map(|segment| segment.length))?);
            first += offered.len();
        }
        Ok(chunks)
    }

    pub(super) fn returned_reply_chunk(&mut self, returned: &Chunks<'_>) -> Chunk {
        let read_segments = self.read_segments;
        let (message, mut moved) = self.split();
        let decoded = message.decode().map_err(|_| NotRebuilt::ForeignChunks)?;
        let provided = decoded.header.chunks().unwrap_or_default();
        let (Some(offered), Some(chunk)) = (provided.reply, returned.reply) else {
            return Err(NotRebuilt::ForeignChunks);
        };
        let first = read_segments + provided.writes.iter().map(|chunk| chunk.len()).sum::<usize>();
        check(moved.segments, first, &offered, &chunk)?;
        moved.chunk(ChunkName::Reply, first, chunk.iter().map(|segment| segment.length))
    }
}

/// Data that was moved for a call.
struct MovedData<'a> {
    segments: &'a mut [CallSegment],
    overflowed: bool,
    is_refused: bool,
    followed: Followed,
}

impl MovedData<'_> {
    /// Takes the octets of a chunk whose segments begin at `first` and have these lengths. The octets are moved out: no
    /// other chunk can use the octets.
    fn chunk(&mut self, name: ChunkName, first: usize, lengths: impl Iterator<Item = u32> + Clone) -> Chunk {
        if self.overflowed {
            return Err(NotRebuilt::TooMuch);
        }
        let mut octets = Pieces::default();
        for (segment, length) in self.segments.iter_mut().skip(first).zip(lengths.clone()) {
            if segment.data.take_pieces(u64::from(length), &mut octets).is_err() {
                return Err(self.lacks(name, first, lengths, octets.len() as u64));
            }
        }
        Ok(octets)
    }

    /// Returns the reason why a chunk is complete only up to its octet `captured`: the capture lacks the rest, or the
    /// rest was not moved, or the requester's adapter refused access.
    fn lacks(
        &self,
        chunk: ChunkName,
        first: usize,
        lengths: impl Iterator<Item = u32> + Clone,
        captured: u64,
    ) -> NotRebuilt {
        let length = lengths.clone().map(u64::from).sum();
        let is_read = matches!(chunk, ChunkName::Read(_));
        if self.is_refused && is_read {
            return NotRebuilt::Refused { chunk, first: captured, length };
        }
        let moved = self.segments.iter().skip(first).map(|segment| &segment.moved);
        let is_followed = self.followed.is_whole() || (is_read && self.followed == Followed::Requests);
        match ranges::gap(moved.zip(lengths.map(u64::from))) {
            Some(gap) if is_followed && gap.start == captured => {
                NotRebuilt::NotMoved { chunk, first: gap.start, last: gap.end - 1 }
            }
            _ => NotRebuilt::Chunk { chunk, captured, length },
        }
    }
}

impl Call {
    /// Rebuilds a Long Call, whose content is known only once the Position Zero Read chunk was read. The other data
    /// items need not be kept. Returns the beginning of the RPC message, if the chunk is complete.
    pub(crate) fn describe_long(&mut self) -> Option<Beginning> {
        let payload = self.long_payload(u64::MAX)?;
        let chunks = self.message.decode().ok()?.header.chunks().unwrap_or_default();
        let reads = read_chunks(&chunks);
        self.describe(&payload, &reads);
        Beginning::from_payload(&payload)
    }

    /// Returns the properties of an unreadable reply that are known from the call.
    pub(super) fn reply(&self) -> Option<Rpc> {
        let rpc = &self.described.as_ref()?.rpc;
        Some(Rpc { direction: MessageDirection::Reply, operations: Vec::new(), ..rpc.clone() })
    }

    /// Returns the report of a reply about the answered call. `long` is the result of
    /// [`describe_long`](Self::describe_long).
    pub(crate) fn answered(&self, long: Option<Beginning>) -> Answered {
        let mut call = self.message.clone();
        let walked = self.described.as_ref().map(Described::to_walked);
        let walked_late = walked.is_some() && call.rpc.is_none();
        call.rpc = call.rpc.or_else(|| self.described.as_ref().map(|described| described.rpc.clone()));
        let moved =
            self.followed.is_whole().then(|| self.segments.iter().map(|segment| segment.moved.clone()).collect());
        Answered { call, walked, walked_late, moved, long }
    }

    /// Returns true if this was taken for a Long Call but the octets read show a Long Reply that the responder
    /// provides. The answered call is not in the capture.
    pub(crate) fn is_reply(&self) -> bool {
        let is_long = || self.message.decode().is_ok_and(|decoded| decoded.header.place() == PayloadPlace::Chunk);
        let pulls = || self.long_payload(8).and_then(|payload| MessageType::peek(&payload));
        self.described.is_none() && is_long() && pulls().is_some_and(|(_, kind)| kind == MessageType::REPLY)
    }

    /// Returns the octets of the Position Zero Read chunk, at most `most` octets.
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
            && let Some(DescribedCall { called, described }) = describe::call(payload, self.way, reads)
        {
            self.called = Some(called);
            self.described = Some(described);
        }
    }
}

/// Checks a returned chunk against the offered one: both must be equal except for lengths (RFC 8166 section 3.4.6). The
/// segments of the chunk are `segments`, from `first` on.
fn check(
    segments: &[CallSegment],
    first: usize,
    offered: &WriteChunk<'_>,
    returned: &WriteChunk<'_>,
) -> Result<(), NotRebuilt> {
    let same = offered.len() == returned.len()
        && segments.iter().skip(first).zip(returned.iter()).all(|(ours, theirs)| {
            (ours.handle, ours.offset) == (theirs.handle, theirs.offset) && theirs.length <= ours.length
        });
    if same { Ok(()) } else { Err(NotRebuilt::ForeignChunks) }
}

/// Returns the parts of a message around the third word, `rdma_credit`.
fn but_credit(octets: &[u8]) -> Option<(&[u8; 8], &[u8])> {
    let (before, rest) = octets.split_first_chunk()?;
    Some((before, rest.get(4..)?))
}

fn segments(header: &Header<'_>, whole: bool) -> Vec<CallSegment> {
    let chunks = header.chunks().unwrap_or_default();
    let call_chunk = header.call_chunk().iter().map(|segment| (Access::Read, segment.target, true));
    let reads = chunks.reads.iter().map(|segment| (Access::Read, segment.target, whole || segment.position == 0));
    let writes = chunks.writes.iter().flat_map(|chunk| chunk.iter()).map(|segment| (Access::Write, segment, whole));
    let reply = chunks.reply.into_iter().flat_map(|chunk| chunk.iter()).map(|segment| (Access::Write, segment, true));
    let segment = |(access, segment, is_kept): (Access, rpcrdma::segment::Segment, bool)| CallSegment {
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

/// Returns the chunk with a Payload stream that contains a segment, and the number of octets of that chunk before the
/// segment. Segments are counted as in [`segments`].
fn placed(header: &Header<'_>, segment: usize) -> Option<(PlacedPart, u64)> {
    const CALL: Option<PlacedPart> = Some(PlacedPart::Call);
    let chunks = header.chunks().unwrap_or_default();
    let call_chunk = header.call_chunk().iter().map(|segment| (CALL, segment.target.length));
    let reads = chunks.reads.iter().map(|segment| (CALL.filter(|_| segment.position == 0), segment.target.length));
    let writes = chunks.writes.iter().flat_map(|chunk| chunk.iter()).map(|segment| (None, segment.length));
    let reply = chunks.reply.into_iter().flat_map(|chunk| chunk.iter());
    let reply = reply.map(|segment| (Some(PlacedPart::Reply), segment.length));
    let mut segments = call_chunk.chain(reads).chain(writes).chain(reply);
    let (part, _) = segments.clone().nth(segment)?;
    let before = segments.by_ref().take(segment).filter(|other| other.0 == part);
    Some((part?, before.map(|other| u64::from(other.1)).sum()))
}

//! One call of a Responder: assembly, form of the reply, and transfers.

use core::ops::ControlFlow;
use core::{iter, mem};

use heapless::Vec;

use super::output::CallMessage;
use super::reply::{Reply, ReplyForm};
use crate::endpoint::parts::{EncodedPart, Parts, Portion};
use crate::endpoint::stream::{self, Item, Piece, Ranges};
use crate::endpoint::wire::{AnyReplyHeader, CallLists, CallReceived, ErrorHeader, GarbageReply, middle_header};
use crate::endpoint::{PayloadFormats, RegisteredMemory, Terms, Version};
use crate::error::EncodeError;
use crate::lists::{Chunks, ReadList};
use crate::prefix::Prefix;
use crate::rpc::MessageType;
use crate::segment::{ReadSegment, Segment};
use crate::v2::{ErrorBodyV2, HeaderV2};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// A part of the Call has come, and others are to follow.
    Collecting,
    Reading,
    Delivered,
    /// The reply is to be registered for remote read.
    Register,
    Registering,
    Answering,
    /// The reply is sent, and may be read.
    Provided,
    Invalidate,
    Invalidating,
    /// Only the Receive is released: a one-way Call.
    Forgetting,
    /// An RPC Reply with `GARBAGE_ARGS` goes back.
    Misplaced,
    /// An `RDMA_ERROR` goes back.
    Refusing(Prefix, ErrorBodyV2),
    /// The refusal is sent, but parts of the Call may still come.
    Refused,
}

/// One Call.
#[derive(Debug)]
pub(super) struct Slot<const HEADER: usize, const CHUNKS: usize> {
    pub(super) stage: Stage,
    pub(super) queued: bool,
    version: Version,
    pub(super) prefix: Prefix,
    /// Transport header of a Call with chunks.
    pub(super) header: Vec<u8, HEADER>,
    pub(super) receive: Option<u32>,
    /// Offset of the Payload stream in the Receive.
    pub(super) from: usize,
    pub(super) protected: bool,
    /// Number of Reads in flight.
    pub(super) reading: u32,
    /// The items of the Call first, then the items of the reply.
    pub(super) items: Vec<Item, CHUNKS>,
    pub(super) length: u32,
    pub(super) form: ReplyForm,
    /// The parts of a continued reply.
    parts: Parts,
    /// Number of octets of the Call that came in parts.
    pub(super) collected: u32,
    /// Memory in which the reply is provided.
    pub(super) memory: Option<RegisteredMemory>,
    /// Number of octets in each Write chunk.
    written: Vec<u64, CHUNKS>,
    /// Index of the item that is being moved (after the last item, the rest), and the number of octets of that item
    /// moved.
    part: usize,
    moved: u64,
    /// Length of the piece that was output last, in octets.
    last: u32,
    /// True if that piece must not be output yet.
    pub(super) postponed: bool,
}

pub(super) enum ResponderStep {
    Wait,
    /// There is something to read, but not now.
    Hold,
    Place {
        receive: u32,
        from: usize,
        length: u32,
        at: u32,
    },
    Read(Piece),
    Deliver,
    Release(u32),
    /// Release this Receive, which ends the Call.
    Forget(u32),
    Register,
    Write(Piece),
    Send,
    Invalidate(u32),
}

impl<const HEADER: usize, const CHUNKS: usize> Default for Slot<HEADER, CHUNKS> {
    fn default() -> Self {
        let prefix = Prefix { xid: 0, version: 0, credit: 0, procedure: crate::prefix::Procedure::RDMA_MSG };
        Self {
            stage: Stage::Reading,
            queued: false,
            version: Version::One,
            prefix,
            header: Vec::new(),
            receive: None,
            from: 0,
            protected: false,
            reading: 0,
            items: Vec::new(),
            length: 0,
            form: ReplyForm::Short,
            parts: Parts::default(),
            collected: 0,
            memory: None,
            written: Vec::new(),
            part: 0,
            moved: 0,
            last: 0,
            postponed: false,
        }
    }
}

impl<const HEADER: usize, const CHUNKS: usize> Slot<HEADER, CHUNKS> {
    /// Clears everything of the previous call. Vectors are cleared in place, because new ones would be written in full.
    pub(super) fn begin_call(&mut self, received: u32, first: Stage, of: Prefix, spoken: Version) {
        // This names every field.
        #[rustfmt::skip]
        let Self {
            stage, queued, version, prefix, header, receive, from, protected, reading, items, length, form, parts: _, collected,
            memory, written, part, moved, last, postponed,
        } = self;
        header.clear();
        items.clear();
        written.clear();
        (*stage, *version, *prefix, *receive) = (first, spoken, of, Some(received));
        (*queued, *protected, *form, *memory, *postponed) = (false, false, ReplyForm::Short, None, false);
        (*from, *reading, *length, *part, *moved, *last) = (0, 0, 0, 0, 0, 0);
        *collected = 0;
    }

    /// Keeps the header of the Call; the caller has checked the length.
    #[inline(never)]
    pub(super) fn keep_header(&mut self, header: &[u8]) {
        // From here on the compiler knows that it is empty, and that no length overflows.
        self.header.clear();
        let _ = self.header.extend_from_slice(header);
    }

    /// Returns true while `items` and `length` belong to the Call, not to the reply.
    pub(super) fn is_call(&self) -> bool {
        matches!(self.stage, Stage::Collecting | Stage::Reading | Stage::Delivered)
    }

    /// Returns the chunks of the Call, whose header was decoded before.
    #[inline(always)]
    pub(super) fn lists(&self) -> CallLists<'_> {
        if self.header.is_empty() { CallLists::default() } else { self.read_lists() }
    }

    #[inline(never)]
    fn read_lists(&self) -> CallLists<'_> {
        match CallReceived::decode(self.version, &self.header) {
            CallReceived::Call(_, call) => call.lists,
            _ => CallLists::default(),
        }
    }

    /// Chooses the form of the reply, and the contents of each chunk. A reply that fits nowhere is continued in version
    /// 2, and provided in version 1, if `may` allows.
    ///
    /// # Errors
    /// The chunk that is too small, and the required length.
    pub(super) fn plan(&mut self, reply: &Reply<'_>, terms: &Terms, may: bool) -> Result<ReplyForm, ErrorBodyV2> {
        let (mut items, mut written): (Vec<_, CHUNKS>, Vec<_, CHUNKS>) = (Vec::new(), Vec::new());
        let chunks = self.lists().chunks;
        if !reply.protected && !self.protected {
            for (chunk, &item) in chunks.writes.iter().zip(reply.results) {
                // The result of an empty chunk stays where it is (section 4.3.2.3).
                let length = if chunk.is_empty() { 0 } else { item.length };
                // There are no more Write chunks than this, as was checked.
                let _ = written.push(u64::from(length));
                if !chunk.is_empty() {
                    let _ = items.push(item);
                }
            }
        }
        let left = u64::from(reply.length).saturating_sub(stream::total_length(&items));
        let header = AnyReplyHeader::new(self.version, self.prefix.xid, 0, &chunks).with_writes(&written);
        let header = header.map_err(|_| too_small(&chunks, &written))?;
        let fits = |header: &AnyReplyHeader<'_>, payload: u64| {
            payload.saturating_add(header.encoded_len() as u64) <= u64::from(terms.reply_threshold)
        };
        let form = if fits(&header, left) {
            ReplyForm::Short
        } else if header.with_reply(left).is_ok_and(|header| fits(&header, 0)) {
            ReplyForm::Long
        } else if let Some(parts) = self.continued(&header, terms) {
            self.parts = parts;
            ReplyForm::Continued
        } else {
            let is_provided = || {
                let entries =
                    position_zero_chunk::<CHUNKS>(&items, reply.length, RegisteredMemory::default()).filter(|_| may)?;
                fits(&header.with_reads(ReadList::new(&entries))?, 0).then_some(ReplyForm::Provided)
            };
            // Reduced results need no space in the Reply chunk.
            let length_needed = u32::try_from(left).unwrap_or(u32::MAX);
            is_provided().ok_or(ErrorBodyV2::ReplyResource { length_needed })?
        };
        (self.part, self.moved) = (0, 0);
        (self.items, self.written, self.length, self.form) = (items, written, reply.length, form);
        Ok(form)
    }

    /// Continues a reply whose last header is this one, if possible.
    #[cold]
    fn continued(&self, last: &AnyReplyHeader<'_>, terms: &Terms) -> Option<Parts> {
        if terms.formats < PayloadFormats::Continued {
            return None;
        }
        Parts::new(terms.reply_threshold, self.middle(0)?.encoded_len(), last.encoded_len())
    }

    /// Returns the header of a part of a continued reply after which `remaining` octets follow; version 1 has none.
    fn middle(&self, remaining: u32) -> Option<HeaderV2<'static>> {
        let family = self.version.family()?;
        Some(middle_header(family, self.prefix.xid, MessageType::REPLY, remaining))
    }

    /// Writes the header of the next part of a continued reply.
    #[cold]
    #[inline(never)]
    pub(super) fn encode_part(&self, buffer: &mut [u8]) -> Result<EncodedPart, EncodeError> {
        let left = u64::from(self.length).saturating_sub(stream::total_length(&self.items)).saturating_sub(self.moved);
        let left = u32::try_from(left).unwrap_or(u32::MAX);
        let portion = self.parts.next(left);
        let header_length = match self.middle(left.saturating_sub(portion.length)).filter(|_| !portion.is_last) {
            Some(header) => header.encode(buffer)?,
            None => self.header(0, &self.lists().chunks).encode(buffer)?,
        };
        Ok(EncodedPart { header_length, portion })
    }

    /// Records that a part of the reply is sent. Returns the offset of the part in the reduced Payload stream.
    pub(super) fn record_sent_part(&mut self, portion: Portion) -> u32 {
        let from = u32::try_from(self.moved).unwrap_or(u32::MAX);
        self.moved = self.moved.saturating_add(u64::from(portion.length));
        from
    }

    /// Returns the header of a reply that is inline, with what is in the Write chunks.
    #[inline(always)]
    fn header<'a>(&'a self, grant: u32, chunks: &Chunks<'a>) -> AnyReplyHeader<'a> {
        let header = AnyReplyHeader::new(self.version, self.prefix.xid, grant, chunks);
        // `plan` has checked that everything fits.
        header.with_writes(&self.written).unwrap_or(header)
    }

    // Inlined where a reply of one Send is encoded, as far as that is possible.
    #[inline(always)]
    pub(super) fn encode(&self, grant: u32, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        if let Stage::Refusing(prefix, error) = self.stage {
            return ErrorHeader::new(self.version, &prefix, grant, error).encode(buffer);
        }
        let header = self.header(grant, &self.lists().chunks);
        if self.stage == Stage::Misplaced {
            return GarbageReply::new(header, self.prefix.xid).encode(buffer);
        }
        match self.form {
            ReplyForm::Long => {
                let left = u64::from(self.length).saturating_sub(stream::total_length(&self.items));
                header.with_reply(left).unwrap_or(header).encode(buffer)
            }
            ReplyForm::Provided => {
                let memory = self.memory.unwrap_or_default();
                let entries = position_zero_chunk::<CHUNKS>(&self.items, self.length, memory).unwrap_or_default();
                header.with_reads(ReadList::new(&entries)).unwrap_or(header).encode(buffer)
            }
            ReplyForm::Short | ReplyForm::Continued | ReplyForm::Refused => header.encode(buffer),
        }
    }

    /// Returns the one handle that the reply may invalidate: in version 1 any of the Call's, in version 2 the one that
    /// the Call offers. An empty segment needs no memory, so the handle may be anything; 0 stands for none.
    pub(super) fn invalidated_handle(&self) -> Option<u32> {
        let CallLists { chunks, inv_handle, .. } = self.lists();
        if self.version.family().is_some() {
            return Some(inv_handle).filter(|&handle| handle != 0);
        }
        let reads = chunks.reads.iter().map(|read| read.target);
        let writes = chunks.writes.iter().chain(chunks.reply).flat_map(|chunk| chunk.iter());
        let names_memory = |segment: &Segment| segment.length > 0 && segment.handle != 0;
        reads.chain(writes).find(names_memory).map(|segment| segment.handle)
    }

    /// Returns true if a piece of the reply was output for an RDMA Write, in a reply that is not provided.
    pub(super) const fn has_written(&self) -> bool {
        (self.moved > 0 || self.part > 0) && !matches!(self.form, ReplyForm::Provided)
    }

    /// Makes the last piece be output again, once no longer postponed. Returns false if there is no such piece.
    pub(super) fn postpone_piece(&mut self) -> bool {
        let asked = match self.stage {
            Stage::Reading => self.reading > 0,
            Stage::Answering => true,
            _ => false,
        };
        if !asked || self.last == 0 || self.postponed {
            return false;
        }
        self.moved = self.moved.saturating_sub(u64::from(mem::take(&mut self.last)));
        self.postponed = true;
        true
    }

    pub(super) fn message(&self) -> CallMessage {
        match self.receive {
            Some(receive) => CallMessage::Inline { receive, from: self.from, length: self.length },
            None => CallMessage::Assembled { length: self.length },
        }
    }

    /// Returns the next step. One RDMA Read or Write moves at most `transfer` octets.
    pub(super) fn step(&mut self, may_read: bool, transfer: u32) -> ResponderStep {
        if self.postponed {
            return ResponderStep::Wait;
        }
        match self.stage {
            Stage::Reading => return self.read_call(may_read, transfer),
            Stage::Invalidate => {
                self.stage = Stage::Invalidating;
                return self.memory.map_or(ResponderStep::Wait, |memory| ResponderStep::Invalidate(memory.handle));
            }
            Stage::Collecting
            | Stage::Refused
            | Stage::Delivered
            | Stage::Registering
            | Stage::Provided
            | Stage::Invalidating => {
                return ResponderStep::Wait;
            }
            // RDMA Reads still write into the memory of the Call.
            Stage::Refusing(..) if self.reading > 0 => return ResponderStep::Wait,
            Stage::Forgetting => return self.receive.take().map_or(ResponderStep::Wait, ResponderStep::Forget),
            Stage::Register | Stage::Answering | Stage::Misplaced | Stage::Refusing(..) => {}
        }
        // The Receive comes first, so that it is posted again before the peer has its credit back.
        if let Some(receive) = self.receive.take() {
            return ResponderStep::Release(receive);
        }
        if self.stage == Stage::Register {
            self.stage = Stage::Registering;
            return ResponderStep::Register;
        }
        let answering = self.stage == Stage::Answering;
        answering.then(|| self.next_write(transfer)).flatten().map_or(ResponderStep::Send, ResponderStep::Write)
    }

    fn read_call(&mut self, may_read: bool, transfer: u32) -> ResponderStep {
        if self.lists().have_reads() {
            // Everything that is copied comes before everything that is read, because this side then no longer
            // accesses the memory.
            if let Some(receive) = self.receive {
                return self.next_place(receive).unwrap_or_else(|| {
                    (self.receive, self.moved) = (None, 0);
                    ResponderStep::Release(receive)
                });
            }
            if !may_read {
                return ResponderStep::Hold;
            }
            if let Some(piece) = self.next_read(transfer) {
                self.reading = self.reading.saturating_add(1);
                return ResponderStep::Read(piece);
            }
            if self.reading > 0 {
                return ResponderStep::Wait;
            }
        }
        self.stage = Stage::Delivered;
        ResponderStep::Deliver
    }

    /// Returns the next piece of the Call that came inline.
    fn next_place(&mut self, receive: u32) -> Option<ResponderStep> {
        if self.form == ReplyForm::Long {
            return None;
        }
        // The Receive as one segment; the Call was found to end where it ends.
        let inline = Segment { length: u32::MAX, ..Segment::default() };
        let ranges = Ranges::new(&self.items, self.length);
        let Piece { at, remote: Segment { length, .. } } = stream::piece(ranges, iter::once(inline), self.moved)?;
        let from = self.from.saturating_add(usize::try_from(self.moved).ok()?);
        self.moved = self.moved.saturating_add(u64::from(length));
        Some(ResponderStep::Place { receive, from, length, at })
    }

    /// Returns the next piece of the Call to read: of each Read chunk, then of a Position Zero chunk.
    fn next_read(&mut self, transfer: u32) -> Option<Piece> {
        loop {
            let lists = self.lists();
            let (piece, last) = match self.items.get(self.part) {
                Some(item) => {
                    let range = stream::whole(item.position, item.length);
                    (stream::piece(range, lists.segments_at(item.position)?, self.moved), false)
                }
                // Only a Long Call has a Position Zero chunk.
                None => {
                    let ranges = Ranges::new(&self.items, self.length);
                    (stream::piece(ranges, lists.segments_at(0)?, self.moved), true)
                }
            };
            if let ControlFlow::Break(found) = self.go_on(piece.map(|piece| piece.first(transfer)), last) {
                return found;
            }
        }
    }

    /// Counts a piece as moved. Without one, the next part follows, if there is another.
    fn go_on(&mut self, piece: Option<Piece>, last: bool) -> ControlFlow<Option<Piece>> {
        match piece {
            Some(piece) => {
                self.last = piece.remote.length;
                self.moved = self.moved.saturating_add(u64::from(self.last));
            }
            None if last => {}
            None => {
                (self.part, self.moved) = (self.part.saturating_add(1), 0);
                return ControlFlow::Continue(());
            }
        }
        ControlFlow::Break(piece)
    }

    /// Returns the next piece of the reply to write: of each result that has a chunk, then of a Long Reply.
    fn next_write(&mut self, transfer: u32) -> Option<Piece> {
        if self.items.is_empty() && self.form != ReplyForm::Long {
            return None;
        }
        loop {
            let chunks = self.lists().chunks;
            let (piece, last) = match self.items.get(self.part) {
                Some(item) => {
                    let chunk = chunks.writes.iter().filter(|chunk| !chunk.is_empty()).nth(self.part)?;
                    let range = stream::whole(item.position, item.length);
                    (stream::piece(range, chunk.iter(), self.moved), false)
                }
                None if self.form == ReplyForm::Long => {
                    let ranges = Ranges::new(&self.items, self.length);
                    (stream::piece(ranges, chunks.reply?.iter(), self.moved), true)
                }
                None => return None,
            };
            if let ControlFlow::Break(found) = self.go_on(piece.map(|piece| piece.first(transfer)), last) {
                return found;
            }
        }
    }
}

/// Returns the number of the first Write chunk that is too small for the result, from 1 on.
#[cold]
fn too_small(chunks: &Chunks<'_>, written: &[u64]) -> ErrorBodyV2 {
    let mut results = (1..=u32::MAX).zip(chunks.writes.iter().zip(written));
    let first = results.find(|(_, (chunk, length))| **length > chunk.length());
    let (chunk_index, length_needed) = first.map_or((0, 0), |(index, (_, &length))| (index, length));
    ErrorBodyV2::WriteResource { chunk_index, length_needed: u32::try_from(length_needed).unwrap_or(u32::MAX) }
}

/// Returns the Position Zero chunk of the unreduced part of a reply in `memory`. `None` if the reply has too many parts.
fn position_zero_chunk<const CHUNKS: usize>(
    items: &[Item],
    length: u32,
    memory: RegisteredMemory,
) -> Option<Vec<[u8; ReadSegment::LEN], CHUNKS>> {
    let mut entries = Vec::new();
    for range in Ranges::new(items, length) {
        let length = range.end.saturating_sub(range.start);
        let offset = memory.offset.wrapping_add(u64::from(range.start));
        let target = Segment { handle: memory.handle, length, offset };
        entries.push(ReadSegment { position: 0, target }.to_entry()).ok()?;
    }
    Some(entries)
}

//! One Call of a Requester: the form, the exposed memory, and the form of the reply.

use core::mem;
use core::ops::Range;

use heapless::Vec;

use super::output::{End, Memory};
use crate::endpoint::parts::{EncodedPart, Parts, Portion};
use crate::endpoint::stream::{self, Item, Piece, Ranges, roundup};
use crate::endpoint::version::SpeaksTwo;
use crate::endpoint::wire::{AnyReplyHeader, CallForm, CallParts, ReceivedReply, ReplyBody, middle_header};
use crate::endpoint::{InputError, PayloadFormats, Terms, Version};
use crate::error::EncodeError;
use crate::lists::{Chunks, ReadList, WriteChunk, WriteList};
use crate::rpc::MessageType;
use crate::segment::{ReadSegment, Segment};
use crate::v2::{ErrorBodyV2, ErrorCode, HeaderV2};

/// Maximum number of errors after which a Call can be made again, each once.
pub(super) const REBUILDS: usize = 5;

/// Stage of a Call, in this order. Stages that hold a credit are marked with a C.
#[derive(Clone, Debug, Default)]
pub(super) enum Stage {
    /// Waits for a credit.
    #[default]
    Waiting,
    /// C: memory is registered, then the Call is sent.
    Registering,
    /// C: a part is sent, and others are to follow.
    Continuing(Answer),
    /// C: sent, and not answered.
    Sent(Answer),
    /// C: the Responder provides the reply. The Requester reads the reply while the memory of the Call is fenced.
    Reading(End),
    /// C: the last Send is posted and not complete, and has no answer: `RDMA_DONE`, or a one-way Call.
    LastSend(End),
    /// The Responder has answered with this error. The memory of the Call is fenced, and then the Call is made again.
    Rebuilding(ErrorBodyV2, SpeaksTwo),
    /// Memory is fenced.
    Ending(End),
}

/// State of the answer to a Call.
#[derive(Clone, Debug, Default)]
pub(super) enum Answer {
    /// Nothing has come.
    #[default]
    Awaited,
    /// Parts of a continued reply, with this many octets.
    Begun(u32),
    /// The answer will be discarded, and then the Call has this outcome: the caller has cancelled the Call, or the
    /// buffer is too small. The Responder does not know this, and may still access the memory.
    Discarded(End),
    /// The answer has come before the whole Call was sent, and the Call ends like this.
    Complete(End),
}

impl Answer {
    /// Makes the answer be discarded.
    pub(super) fn discard(&mut self, end: End) {
        if matches!(self, Self::Awaited | Self::Begun(_)) {
            *self = Self::Discarded(end);
        }
    }

    /// Returns the Call's outcome if this is the end of the answer.
    fn ending(self, end: End) -> End {
        match self {
            Self::Awaited | Self::Begun(_) => end,
            Self::Discarded(end) | Self::Complete(end) => end,
        }
    }
}

/// Expected answer to a Call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Expects {
    #[default]
    Reply,
    /// A reply, which the Responder may provide for an RDMA Read.
    ProvidedReply,
    /// Nothing: a one-way Call.
    Nothing,
}

/// One Call.
#[derive(Debug, Default)]
pub(super) struct Slot<const SEGMENTS: usize> {
    pub(super) xid: u32,
    version: Version,
    pub(super) stage: Stage,
    /// True while the Call is in the Requester's `ready` queue.
    pub(super) queued: bool,
    /// Number of Sends posted and not complete. No stage implies that: a reply may arrive before the completion.
    pub(super) sending: u32,
    pub(super) form: CallForm,
    pub(super) length: u32,
    /// Of a continued Call: the parts, and the part that was sent.
    parts: Parts,
    sent: u32,
    pub(super) items: Vec<Item, SEGMENTS>,
    /// Length of the buffer in each Write chunk; once the reply is there, the number of octets in the buffer.
    pub(super) results: Vec<u32, SEGMENTS>,
    pub(super) regions: Vec<Region, SEGMENTS>,
    /// Maximum length of the reply in octets, without the results that have Write chunks.
    pub(super) longest: u32,
    /// Maximum length in octets to which the buffer of a result, or of the reply, may grow.
    pub(super) largest_capacity: u32,
    /// The errors after which the Call was made again.
    pub(super) rebuilt: Vec<ErrorCode, REBUILDS>,
    expects: Expects,
    /// Segments of a provided reply, octets requested so far, and the number of RDMA Reads in flight.
    provided: Vec<Segment, SEGMENTS>,
    requested: u64,
    pub(super) reading: u32,
}

/// Settings for all Calls.
#[derive(Clone, Debug)]
pub(super) struct How {
    pub(super) terms: Terms,
    /// Maximum length of a memory region in octets.
    pub(super) segment_length: u32,
    /// Maximum number of segments of a Call.
    pub(super) most_segments: usize,
    /// True if Long Replies are not written into a Reply chunk, but read from the Responder.
    pub(super) reads_provided: bool,
    /// In version 2, maximum length of a message that is continued rather than put into chunks, in octets.
    pub(super) continued: u32,
    /// Forms that the Responder has refused: in version 2 a refused form must not be used again on this connection
    /// (version two draft -07 section 7.1.3).
    pub(super) unsupported: Vec<CallForm, 3>,
}

/// A segment, and the memory that the segment names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Region {
    kind: Kind,
    pub(super) from: u32,
    pub(super) segment: Segment,
    pub(super) access: Access,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Position.
    Read(u32),
    /// Number of the Write chunk.
    Write(u16),
    Reply,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Only this end can access the memory.
    Local,
    /// `Register` was given.
    Registering,
    /// The peer can access the memory.
    Exposed,
    /// `Invalidate` was given.
    Invalidating,
}

pub(super) enum RequesterStep {
    Register(u16, Memory),
    Send,
    /// Send the first of several parts.
    Continue(SpeaksTwo),
    Invalidate(u16, u32),
    Read(Piece),
    SendDone,
    Rebuild(SpeaksTwo),
    End,
    Wait,
}

impl<const SEGMENTS: usize> Slot<SEGMENTS> {
    /// Clears everything of the previous call. Vectors are cleared in place, because new ones would be written in full.
    pub(super) fn begin_call(&mut self, of: u32, octets: u32, spoken: Version, coming: Expects) {
        // This names every field.
        #[rustfmt::skip]
        let Self {
            xid, version, stage, queued, sending, form, length, parts: _, sent: _, items, results, regions, longest, largest_capacity,
            rebuilt, expects, provided, requested, reading,
        } = self;
        rebuilt.clear();
        (*longest, *largest_capacity) = (0, 0);
        items.clear();
        results.clear();
        regions.clear();
        provided.clear();
        (*xid, *version, *length, *stage, *form) = (of, spoken, octets, Stage::Waiting, CallForm::Inline);
        (*queued, *sending, *expects) = (false, 0, coming);
        (*requested, *reading) = (0, 0);
    }

    /// Takes back what [`Self::build`] has laid out.
    pub(super) fn clear_layout(&mut self) {
        self.items.clear();
        self.results.clear();
        self.regions.clear();
        self.form = CallForm::Inline;
    }

    /// Chooses the form of a Call of `length` octets without chunks: one Send, or as many as needed. Returns `None` if
    /// neither is supported.
    #[cold]
    #[inline(never)]
    pub(super) fn plan_without_chunks(
        &mut self,
        xid: u32,
        length: u32,
        expects: Expects,
        longest: u64,
        how: &How,
    ) -> Option<()> {
        let Terms { call_threshold: threshold, formats, version, .. } = how.terms;
        self.begin_call(xid, length, version, expects);
        self.longest = u32::try_from(longest).unwrap_or(u32::MAX);
        let may_be_simple = formats >= PayloadFormats::Simple;
        let may_continue = formats >= PayloadFormats::Continued && !how.unsupported.contains(&CallForm::Continued);
        (may_be_simple && self.fits_whole(threshold) || may_continue && self.continue_in_parts(threshold)).then_some(())
    }

    /// Lays out a Call that has no regions yet. `longest`: maximum length of the reply without the results.
    #[inline(never)]
    pub(super) fn build(&mut self, arguments: &[Item], results: &[u32], longest: u64, how: &How) -> Option<()> {
        let How { terms, segment_length: most, reads_provided, .. } = *how;
        let continued = if self.version.family().is_none() { 0 } else { how.continued };
        for (chunk, &room) in results.iter().enumerate() {
            self.results.push(room).ok()?;
            self.add_regions(Kind::Write(u16::try_from(chunk).ok()?), 0..room, most)?;
        }
        self.longest = u32::try_from(longest).unwrap_or(u32::MAX);
        let threshold = u64::from(terms.reply_threshold);
        if reads_provided {
            u32::try_from(roundup(longest)).ok()?;
        } else if longest > u64::from(continued) && longest.saturating_add(self.reply_header_length()) > threshold {
            self.add_regions(Kind::Reply, 0..u32::try_from(roundup(longest)).ok()?, most)?;
            // All chunks come back in the header of the reply, which has to fit too.
            if self.reply_header_length() > threshold {
                return None;
            }
        }
        let may_continue = self.length <= continued && !how.unsupported.contains(&CallForm::Continued);
        if may_continue && !self.fits_whole(terms.call_threshold) && self.continue_in_parts(terms.call_threshold) {
            return Some(());
        }
        self.reduce(arguments, terms.call_threshold, most)
    }

    /// Returns true if the whole message fits in a Send.
    fn fits_whole(&self, threshold: u32) -> bool {
        u64::from(self.length).saturating_add(self.header_length() as u64) <= u64::from(threshold)
    }

    /// Makes the message continued. Returns false if no part fits in a Send.
    #[cold]
    fn continue_in_parts(&mut self, threshold: u32) -> bool {
        let last = self.header_length();
        let Some(middle) = self.middle(0).map(|header| header.encoded_len()) else { return false };
        let Some(parts) = Parts::new(threshold, middle, last) else { return false };
        (self.form, self.parts, self.sent) = (CallForm::Continued, parts, 0);
        true
    }

    /// Returns the header of a part of a continued Call after which `remaining` octets follow; version 1 has none.
    fn middle(&self, remaining: u32) -> Option<HeaderV2<'static>> {
        let family = self.version.family()?;
        Some(middle_header(family, self.xid, MessageType::CALL, remaining))
    }

    /// Makes the message short if that fits; otherwise chunked, without the items; otherwise long.
    fn reduce(&mut self, arguments: &[Item], threshold: u32, most: u32) -> Option<()> {
        let fits = |header: usize, payload: u64| payload.saturating_add(header as u64) <= u64::from(threshold);
        let header = self.header_length();
        if fits(header, u64::from(self.length)) {
            return Some(());
        }
        for item in arguments.iter().filter(|item| item.length > 0) {
            self.items.push(*item).ok()?;
        }
        let items = self.items.clone();
        let count =
            |item: &Item| item.length.saturating_sub(1).checked_div(most).unwrap_or(0).saturating_add(1) as usize;
        let segments = items.iter().fold(0_usize, |sum, item| sum.saturating_add(count(item)));
        let reads = segments.saturating_mul(ReadSegment::LEN);
        let left = u64::from(self.length).saturating_sub(stream::total_length(&items));
        if !fits(header.saturating_add(reads), left) {
            self.form = CallForm::Long;
            for range in Ranges::new(&items, self.length) {
                self.add_regions(Kind::Read(0), range, most)?;
            }
        }
        for item in &items {
            let end = item.position.saturating_add(item.length);
            self.add_regions(Kind::Read(item.position), item.position..end, most)?;
        }
        match self.form {
            CallForm::Inline | CallForm::Continued => Some(()),
            CallForm::Long => fits(self.header_length(), 0).then_some(()),
        }
    }

    /// Adds regions for a range of memory, each of at most `most` octets.
    fn add_regions(&mut self, kind: Kind, mut range: Range<u32>, most: u32) -> Option<()> {
        while !range.is_empty() {
            let length = range.end.saturating_sub(range.start).min(most);
            let segment = Segment { length, ..Segment::default() };
            self.regions.push(Region { kind, from: range.start, segment, access: Access::Local }).ok()?;
            range.start = range.start.saturating_add(length);
        }
        Some(())
    }

    pub(super) fn region(&mut self, region: u16) -> Option<&mut Region> {
        self.regions.get_mut(usize::from(region))
    }

    pub(super) fn exposes(&self, handle: u32) -> bool {
        let is_reachable = |region: &Region| matches!(region.access, Access::Exposed | Access::Invalidating);
        self.regions.iter().any(|region| is_reachable(region) && region.segment.handle == handle)
    }

    fn chunk(&self, kind: Kind) -> impl Iterator<Item = Segment> {
        self.regions.iter().filter(move |region| region.kind == kind).map(|region| region.segment)
    }

    /// Returns the chunks of the Call as known so far; in the Read list, Position Zero comes first.
    #[inline(always)]
    fn with_chunks<R>(&self, then: impl FnOnce(Chunks<'_>) -> R) -> R {
        if self.regions.is_empty() && self.results.is_empty() {
            // Most Calls have none.
            return then(Chunks::default());
        }
        self.with_lists(then)
    }

    #[inline(never)]
    fn with_lists<R>(&self, then: impl FnOnce(Chunks<'_>) -> R) -> R {
        let (mut reads, mut memory): (Vec<_, SEGMENTS>, Vec<_, SEGMENTS>) = (Vec::new(), Vec::new());
        for region in &self.regions {
            // There are no more of either than there are regions.
            if let Kind::Read(position) = region.kind {
                let _ = reads.push(ReadSegment { position, target: region.segment }.to_entry());
            } else {
                let _ = memory.push(region.segment.to_octets());
            }
        }
        let mut rest = memory.as_slice();
        let mut writes: Vec<_, SEGMENTS> = Vec::new();
        for chunk in 0..self.results.len() {
            let segments = self.chunk(Kind::Write(u16::try_from(chunk).unwrap_or(u16::MAX)));
            let count = segments.fold(0_usize, |count, _| count.saturating_add(1));
            let (segments, others) = rest.split_at_checked(count).unwrap_or_default();
            let _ = writes.push(WriteChunk::new(segments));
            rest = others;
        }
        let reply = if rest.is_empty() { None } else { Some(WriteChunk::new(rest)) };
        then(Chunks { reads: ReadList::new(&reads), writes: WriteList::from_chunks(&writes), reply })
    }

    fn with_parts<R>(&self, credit: u32, inv_handle: u32, then: impl FnOnce(&CallParts<'_>) -> R) -> R {
        self.with_chunks(|chunks| then(&CallParts { xid: self.xid, credit, form: self.form, inv_handle, chunks }))
    }

    fn header_length(&self) -> usize {
        self.with_parts(0, 0, |parts| parts.encoded_len(self.version))
    }

    fn reply_header_length(&self) -> u64 {
        self.with_chunks(|chunks| AnyReplyHeader::longest(self.version, self.xid, &chunks) as u64)
    }

    pub(super) fn encode(&self, credit: u32, terms: &Terms, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        let inv_handle = self.offered(terms).unwrap_or(0);
        self.with_parts(credit, inv_handle, |parts| parts.encode(self.version, buffer))
    }

    /// Writes the header of the next part of a continued Call.
    pub(super) fn encode_part(&self, terms: &Terms, buffer: &mut [u8]) -> Result<EncodedPart, EncodeError> {
        let left = self.length.saturating_sub(self.sent);
        let portion = self.parts.next(left);
        let header_length = match self.middle(left.saturating_sub(portion.length)).filter(|_| !portion.is_last) {
            Some(header) => header.encode(buffer)?,
            None => self.encode(0, terms, buffer)?,
        };
        Ok(EncodedPart { header_length, portion })
    }

    /// Records that the only Send is posted.
    #[inline(always)]
    pub(super) fn record_posted(&mut self) {
        self.sending = self.sending.saturating_add(1);
        let has_answer = self.is_answered();
        self.stage = if has_answer { Stage::Sent(Answer::Awaited) } else { Stage::LastSend(End::Sent) };
    }

    /// Records that a part is posted. Returns the offset of the part in the Payload stream.
    pub(super) fn record_posted_part(&mut self, portion: Portion) -> u32 {
        let from = self.sent;
        (self.sent, self.sending) = (from.saturating_add(portion.length), self.sending.saturating_add(1));
        let answer = if let Stage::Continuing(answer) = mem::take(&mut self.stage) { answer } else { Answer::Awaited };
        self.stage = match answer {
            answer if !portion.is_last => Stage::Continuing(answer),
            answer if !self.is_answered() => Stage::LastSend(answer.ending(End::Sent)),
            Answer::Complete(end) => Stage::Ending(end),
            answer => Stage::Sent(answer),
        };
        from
    }

    /// Returns the handle that a Reply of version 2 may invalidate, if there is one.
    fn offered(&self, terms: &Terms) -> Option<u32> {
        let handle = self.regions.first()?.segment.handle;
        (terms.remote_invalidation && terms.version.family().is_some() && handle != 0).then_some(handle)
    }

    /// Returns the part of the Payload stream that goes with the header.
    pub(super) fn inline(&self) -> Ranges<'_> {
        match self.form {
            CallForm::Inline | CallForm::Continued => Ranges::new(&self.items, self.length),
            CallForm::Long => Ranges::empty(),
        }
    }

    /// Returns true if a reply may come.
    pub(super) const fn is_awaited(&self) -> bool {
        match &self.stage {
            Stage::Sent(_) => true,
            Stage::Continuing(answer) => self.is_answered() && !matches!(answer, Answer::Complete(_)),
            _ => false,
        }
    }

    /// Returns true for a Call that has an answer: not a one-way Call.
    const fn is_answered(&self) -> bool {
        !matches!(self.expects, Expects::Nothing)
    }

    /// Octets of a continued reply that have come.
    pub(super) const fn collected(&self) -> u32 {
        match self.stage {
            Stage::Sent(Answer::Begun(length)) | Stage::Ending(End::ContinuedReply(length)) => length,
            _ => 0,
        }
    }

    /// Returns true if the reply is in a Receive, which is needed until the end.
    pub(super) const fn needs_receive(&self) -> bool {
        matches!(self.stage, Stage::Ending(End::Reply { .. }))
    }

    /// Returns true if an answered Call still holds a credit: for `RDMA_DONE`, or because the Receive of the reply is
    /// not posted again yet (section 3.3.1).
    pub(super) const fn keeps_credit(&self) -> bool {
        self.needs_receive() || matches!(self.stage, Stage::Reading(_))
    }

    /// Returns the next thing to do. One RDMA Read moves `transfer` octets at most.
    pub(super) fn step(&mut self, transfer: u32) -> RequesterStep {
        match self.stage {
            Stage::Waiting | Stage::Continuing(_) | Stage::Sent(_) => RequesterStep::Wait,
            Stage::Registering => self.register(),
            Stage::Reading(_) => self.fence().unwrap_or_else(|| self.read_reply(transfer)),
            Stage::LastSend(_) => self.fence().unwrap_or(RequesterStep::Wait),
            Stage::Rebuilding(_, two) => self.fence().unwrap_or_else(|| self.when_fenced(RequesterStep::Rebuild(two))),
            Stage::Ending(_) => self.fence().unwrap_or_else(|| self.when_fenced(RequesterStep::End)),
        }
    }

    /// Returns `next` once the peer can no longer access the Call's memory.
    fn when_fenced(&self, next: RequesterStep) -> RequesterStep {
        if self.all_regions_have(Access::Local) && self.sending == 0 { next } else { RequesterStep::Wait }
    }

    fn register(&mut self) -> RequesterStep {
        if let Some((number, region)) = self.advance(Access::Local, Access::Registering) {
            return RequesterStep::Register(number, region.memory());
        }
        match self.form {
            _ if !self.all_regions_have(Access::Exposed) => RequesterStep::Wait,
            CallForm::Continued => {
                self.version.two().map_or(RequesterStep::Send, |(_, two)| RequesterStep::Continue(two))
            }
            CallForm::Inline | CallForm::Long => RequesterStep::Send,
        }
    }

    fn fence(&mut self) -> Option<RequesterStep> {
        let (number, region) = self.advance(Access::Exposed, Access::Invalidating)?;
        Some(RequesterStep::Invalidate(number, region.segment.handle))
    }

    fn read_reply(&mut self, transfer: u32) -> RequesterStep {
        if let Some(piece) = self.next_read().map(|piece| piece.first(transfer)) {
            self.requested = self.requested.saturating_add(u64::from(piece.remote.length));
            self.reading = self.reading.saturating_add(1);
            return RequesterStep::Read(piece);
        }
        if self.reading > 0 || self.sending > 0 { RequesterStep::Wait } else { RequesterStep::SendDone }
    }

    /// Changes the access of the first region that has `from`, and returns the region.
    fn advance(&mut self, from: Access, to: Access) -> Option<(u16, &Region)> {
        let (number, region) = (0..u16::MAX).zip(&mut self.regions).find(|(_, region)| region.access == from)?;
        region.access = to;
        Some((number, region))
    }

    fn all_regions_have(&self, access: Access) -> bool {
        self.regions.iter().all(|region| region.access == access)
    }

    fn next_read(&self) -> Option<Piece> {
        stream::piece(stream::whole(0, self.buffer_length()), self.provided.iter().copied(), self.requested)
    }

    pub(super) fn record_invalidation(&mut self, region: u16) -> Result<(), InputError> {
        match self.region(region) {
            Some(region) if region.access == Access::Invalidating => {
                region.access = Access::Local;
                Ok(())
            }
            _ => Err(InputError::Unexpected),
        }
    }

    /// Records that the reply's Send has invalidated `handle`. Returns true if that was allowed, and the handle was
    /// exposed memory of this Call. In version 1 any handle of the Call is allowed, if both sides announced remote
    /// invalidation; in version 2 only the handle that the Call has offered.
    pub(super) fn invalidated_remotely(&mut self, handle: u32, terms: &Terms) -> bool {
        let may = match self.version.family() {
            None => terms.remote_invalidation,
            Some(_) => self.offered(terms) == Some(handle),
        };
        if !may {
            return false;
        }
        let exposed = |region: &&mut Region| region.access == Access::Exposed && region.segment.handle == handle;
        let Some(region) = self.regions.iter_mut().find(exposed) else { return false };
        region.access = Access::Local;
        true
    }

    /// Records that the Send of `RDMA_DONE` is posted.
    pub(super) fn notify(&mut self) {
        if let Stage::Reading(end) = mem::take(&mut self.stage) {
            (self.stage, self.sending) = (Stage::LastSend(end), self.sending.saturating_add(1));
        }
    }

    /// Records that the last Send is complete.
    pub(super) fn record_last_sent(&mut self) {
        if let Stage::LastSend(end) = mem::take(&mut self.stage) {
            self.stage = Stage::Ending(end);
        }
    }

    /// Records that the connection is gone, and all access with the connection.
    pub(super) fn lose(&mut self) {
        for region in &mut self.regions {
            region.access = Access::Local;
        }
        let whole = self.reading == 0 && self.next_read().is_none();
        self.stage = Stage::Ending(match mem::take(&mut self.stage) {
            // A reply that arrived before is still good, if it is complete.
            Stage::Reading(end) if whole => end,
            // Nothing else would have shown that it arrived.
            Stage::LastSend(End::Sent) => End::Lost,
            Stage::LastSend(end) | Stage::Ending(end) => end,
            Stage::Continuing(answer) | Stage::Sent(answer) => answer.ending(End::Lost),
            Stage::Waiting | Stage::Registering | Stage::Reading(_) | Stage::Rebuilding(..) => End::Lost,
        });
        (self.queued, self.sending, self.reading) = (false, 0, 0);
    }

    /// Handles a message as the reply, or as a part of the reply. Returns the number of octets to copy. Returns `None`
    /// without any effect if the message is not a valid reply to this Call.
    #[inline(always)]
    pub(super) fn take_answer(&mut self, receive: u32, length: usize, message: &ReceivedReply<'_>) -> Option<u32> {
        let ReplyBody::Inline(chunks) = &message.body else { return self.answered_otherwise(*message) };
        if !matches!(self.stage, Stage::Sent(Answer::Awaited | Answer::Discarded(_))) {
            return self.answered_otherwise(*message);
        }
        let reply = MessageType::peek(message.payload) == Some((self.xid, MessageType::REPLY));
        if !reply || !chunks.reads.is_empty() {
            return None;
        }
        self.returned(chunks)?;
        self.end_call(End::Reply { receive, payload: message.header_length..length });
        Some(0)
    }

    /// Handles anything but an inline reply in one Send. Takes a copy, so that the usual message need not be in memory.
    #[inline(never)]
    fn answered_otherwise(&mut self, message: ReceivedReply<'_>) -> Option<u32> {
        match message.body {
            ReplyBody::Error(error) => self.end_call(End::Error(error)),
            ReplyBody::ErrorV2(error, two) if self.may_be_made_again() && self.may_rebuild(error) => {
                self.stage = Stage::Rebuilding(error, two);
            }
            ReplyBody::ErrorV2(error, _) => self.end_call(End::ErrorV2(error)),
            ReplyBody::Undecodable(_) => return None,
            // Nothing answers half a Call.
            _ if matches!(self.stage, Stage::Continuing(_)) => return None,
            ReplyBody::Part(_) => return self.take_part(message.payload.len()),
            ReplyBody::Inline(chunks) if chunks.reads.is_empty() => {
                self.returned(&chunks)?;
                let placed = self.take_part(message.payload.len())?;
                self.end_call(End::ContinuedReply(self.collected()));
                return Some(placed);
            }
            ReplyBody::Inline(_) => return None,
            _ if self.has_begun() || !message.payload.is_empty() => return None,
            ReplyBody::Long(chunks) if chunks.reads.is_empty() => {
                let reply = chunks.reply.filter(|chunk| !chunk.is_empty())?;
                let length = filled(self.chunk(Kind::Reply), reply).filter(|&length| length > 0)?;
                self.returned(&chunks)?;
                self.end_call(End::LongReply(length));
            }
            ReplyBody::Long(chunks) => {
                let cancelled = matches!(self.stage, Stage::Sent(Answer::Discarded(_)));
                let end = self.provided(&chunks, cancelled)?;
                self.stage = Stage::Reading(if cancelled { End::Cancelled } else { end });
            }
        }
        Some(0)
    }

    /// Returns true if the Call can be made again after this error, and was not yet. The error then counts as used up.
    fn may_rebuild(&mut self, error: ErrorBodyV2) -> bool {
        use ErrorBodyV2::{ReadChunks, ReplyResource, Segments, WriteChunks, WriteResource};
        let helps = match error {
            ReadChunks { .. } | WriteChunks { .. } | Segments { .. } => true,
            // 0 stands for a length that is not known.
            WriteResource { length_needed: room, .. } | ReplyResource { length_needed: room } => {
                (1..=self.largest_capacity).contains(&room)
            }
            ErrorBodyV2::Vers { .. } | ErrorBodyV2::Void(_) => false,
        };
        helps && !self.rebuilt.contains(&error.code()) && self.rebuilt.push(error.code()).is_ok()
    }

    /// Returns true if the reply is awaited, and all of the Call was sent.
    const fn may_be_made_again(&self) -> bool {
        matches!(self.stage, Stage::Sent(Answer::Awaited | Answer::Begun(_)))
    }

    /// Returns the length of the buffer for a reply that is read, or comes in parts.
    fn buffer_length(&self) -> u32 {
        u32::try_from(roundup(u64::from(self.longest))).unwrap_or(!3)
    }

    /// Returns true if parts of a reply have come.
    const fn has_begun(&self) -> bool {
        matches!(self.stage, Stage::Sent(Answer::Begun(_)))
    }

    /// Handles a part of a continued reply, if the part fits the buffer. Returns the number of octets to copy.
    fn take_part(&mut self, length: usize) -> Option<u32> {
        let capacity = self.buffer_length();
        let Stage::Sent(answer) = &mut self.stage else { return None };
        let before = match answer {
            Answer::Awaited => 0,
            Answer::Begun(before) => *before,
            Answer::Discarded(_) | Answer::Complete(_) => return Some(0),
        };
        let all = u64::from(before).saturating_add(length as u64);
        match u32::try_from(all).ok().filter(|&all| all <= capacity) {
            Some(all) => {
                *answer = Answer::Begun(all);
                Some(all.saturating_sub(before))
            }
            None => {
                answer.discard(End::NoRoom(all));
                Some(0)
            }
        }
    }

    /// Records the answer: the Call ends like this, unless the answer is discarded.
    #[inline]
    fn end_call(&mut self, end: End) {
        if matches!(self.stage, Stage::Sent(Answer::Awaited)) {
            self.stage = Stage::Ending(end);
        } else {
            self.end_otherwise(end);
        }
    }

    #[cold]
    fn end_otherwise(&mut self, end: End) {
        self.stage = match mem::take(&mut self.stage) {
            Stage::Continuing(answer) => Stage::Continuing(Answer::Complete(answer.ending(end))),
            Stage::Sent(answer) => Stage::Ending(answer.ending(end)),
            stage => stage,
        };
    }

    /// Records that the Responder has sent something that is no reply to this Call, and cannot send another.
    pub(super) fn spoil(&mut self) {
        self.end_call(End::BadReply);
    }

    /// Handles a reply in a Position Zero chunk of the Responder (RFC 5666 section 3.5). The Requester reads a reply
    /// that fits the buffer and is still awaited.
    fn provided(&mut self, chunks: &Chunks<'_>, cancelled: bool) -> Option<End> {
        let is_valid = |read: ReadSegment| read.position == 0 && !read.target.wraps();
        let length = chunks.reads.length();
        // Then no Reply chunk was given.
        if self.expects != Expects::ProvidedReply
            || chunks.reply.is_some()
            || length == 0
            || !chunks.reads.iter().all(is_valid)
        {
            return None;
        }
        self.returned(chunks)?;
        let fits = u32::try_from(length)
            .ok()
            .filter(|&length| length <= self.buffer_length() && chunks.reads.len() <= SEGMENTS);
        let Some(length) = fits else { return Some(End::NoRoom(length)) };
        if !cancelled {
            for read in chunks.reads {
                self.provided.push(read.target).ok()?;
            }
        }
        Some(End::LongReply(length))
    }

    /// Records the number of octets in each Write chunk. Returns `None` if the chunks are not the chunks of the Call.
    #[inline(always)]
    fn returned(&mut self, chunks: &Chunks<'_>) -> Option<()> {
        if chunks.writes.len() != self.results.len() {
            return None;
        }
        if self.results.is_empty() {
            return Some(());
        }
        let mut lengths: Vec<u32, SEGMENTS> = Vec::new();
        for (number, back) in (0..u16::MAX).zip(chunks.writes) {
            lengths.push(filled(self.chunk(Kind::Write(number)), back)?).ok()?;
        }
        self.results = lengths;
        Some(())
    }
}

/// Returns the maximum length of a reply in which no result is reduced: the data of Write chunks is in the stream.
#[cold]
pub(super) fn unreduced(reply_length: u32, results: &[u32]) -> u64 {
    let longest = u64::from(reply_length);
    results.iter().fold(longest, |sum, &room| sum.saturating_add(roundup(u64::from(room))))
}

/// Returns the number of octets in a returned chunk. `None` if the chunk is not the one `given`, or not filled in order
/// (section 3.4.6). A chunk without segments, the form of unused chunks in RFC 8267, counts as unused.
fn filled(given: impl Iterator<Item = Segment>, back: WriteChunk<'_>) -> Option<u32> {
    if back.is_empty() {
        return Some(0);
    }
    let (mut back, mut sum, mut full) = (back.iter(), 0_u32, true);
    for given in given {
        let back = back.next()?;
        let same = (back.handle, back.offset) == (given.handle, given.offset);
        if !same || back.length > given.length || (!full && back.length > 0) {
            return None;
        }
        full = back.length == given.length;
        sum = sum.checked_add(back.length)?;
    }
    if back.next().is_some() { None } else { Some(sum) }
}

impl Region {
    fn memory(&self) -> Memory {
        let range = self.from..self.from.saturating_add(self.segment.length);
        match self.kind {
            Kind::Read(_) => Memory::Argument(range),
            Kind::Write(chunk) => Memory::Result(chunk, range),
            Kind::Reply => Memory::Reply(range),
        }
    }
}

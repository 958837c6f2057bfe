//! The calling side (RFC 8166 sections 3 and 4).
//!
//! A Call passes through these stages, and goes back only to be made again:
//!
//! ```text
//!                              Continuing: a part is sent
//!                                  ^      |
//!                                  |      v
//! Waiting for a credit -> Registering -> Sent ------------> answered -----> Fencing memory -> Done
//!                         memory          |    ^              ^    |             ^
//!                                         v    |              |    v             |
//!                          part of a continued reply          |    Reading the reply, then RDMA_DONE
//!                                         |                   |
//!                                         v                   |
//!                                     discarded --------------+
//! ```
//!
//! # Errors from which a Call recovers
//! Some errors of version 2 name the limits of the Responder. When the Call is fenced, it is made again within these
//! limits, in the same slot and with the same XID, so that a Responder that remembers replies recognises the Call. The
//! Call waits for a credit like a new one.
//!
//! ```text
//! READ_CHUNKS     with as many Read chunks as it takes; the other arguments go with the rest of the message
//! WRITE_CHUNKS    with as many Write chunks as it takes; the other results come with the rest of the reply
//! SEGMENTS        without Read chunks, without Write chunks, or without either: the first of these with few enough segments
//! WRITE_RESOURCE  with the capacity the result needs  \ if that is at most `Call::largest_capacity`, because the Call was
//! REPLY_RESOURCE  with the capacity the reply needs   / carried out, and will be again
//! ```
//!
//! Each of these happens once for a Call; the next such error, one that asks for no change, and any other error end the
//! Call. After `INVAL_HTYPE`, the refused form is not used again on this connection.
//!
//! The number of segments is known before memory is registered: one for each `Register`, whose length is limited. So
//! the form of a Call is chosen once. A Call gets a credit first and then registers memory, so that memory is exposed
//! no longer than needed. Registering and invalidating may take a driver long; other calls go on meanwhile.
//!
//! `Done` is returned once the peer can no longer access the Call's memory and the Call's Send has completed. The
//! Responder does not learn that a Call is cancelled, and an RDMA Write to fenced memory would end the connection for
//! all Calls. So a Call that was sent keeps memory, credit and XID until the reply has come; other Calls are fenced at
//! once. The driver, which has the clock, decides how long to wait for that reply.
//!
//! # Continued messages
//! In version 2, a message may come in several Sends ([`Requester::continue_messages`]). Between the parts of one
//! message the sender sends no other, so a Call of several parts delays the others until the last part is sent; credits
//! may run out meanwhile. A message that was begun is sent to the end, even if the Call is cancelled, or answered with
//! an error, in the middle: the Responder could not tell where the next message begins. The parts of a reply are
//! assembled in memory of the driver, whose size is limited by [`Call::reply_length`].
//!
//! A credit is used again only when the Receive of the reply has been released: with as many Receives as credits, none
//! is ever missing. A Call with a responder-provided reply keeps the credit until `RDMA_DONE` is sent.
//!
//! # One-way Calls
//! A one-way Call of version 2 ([`Requester::call_one_way`]) has no reply. Such a Call passes through the same stages,
//! but has no chunks to register, and is over when the last Send is complete: then the credit is returned.

mod call;
mod input;
mod layout;
mod output;
mod slot;

pub use call::{Call, CallRefusal};
pub use input::Input;
pub use output::{End, Memory, Output};

use core::mem;

use heapless::Vec;
use slot::{Access, Expects, How, RequesterStep, Slot, Stage, unreduced};

use super::parts::EncodedPart;
use super::queue::Queue;
use super::receipt::{Placement, Receipt};
use super::slots::Slots;
use super::stream::{self, Item, Ranges};
use super::version::{SpeaksTwo, Version};
use super::window::Window;
use super::wire::{ReceivedReply, ReplyBody};
use super::{CallId, InputError, PayloadFormats, RegisteredMemory, SegmentLimits, Terms, is_protected};
use crate::error::EncodeError;
use crate::prefix::{Prefix, Procedure};
use crate::rpc;
use crate::segment::Segment;
use crate::sink;
use crate::v1::VERSION;
use crate::v2::{ErrorBodyV2, ErrorCode};

/// Requester of one connection: at most `CALLS` calls at a time, with at most `SEGMENTS` segments each.
#[derive(Debug)]
pub struct Requester<const CALLS: usize, const SEGMENTS: usize> {
    how: How,
    /// Maximum number of octets that one RDMA Read moves.
    transfer: u32,
    window: Window,
    slots: Slots<Slot<SEGMENTS>, CALLS>,
    /// Calls without a credit, the oldest first.
    waiting: Queue<CALLS>,
    /// Calls for which there may be something to do, each once.
    ready: Queue<CALLS>,
    /// Calls that were about to be sent when the grant became smaller.
    blocked: Queue<CALLS>,
    /// The Call that is sent in parts, until the last part.
    continuing: Option<(CallId, SpeaksTwo)>,
    receipt: Receipt,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// To be disconnected.
    Failing,
    /// `Disconnect` was output.
    Disconnecting,
    Closed,
}

impl<const CALLS: usize, const SEGMENTS: usize> Requester<CALLS, SEGMENTS> {
    /// Creates the Requester of a new connection. `credits`: number requested in each Call. `segment_length`: maximum
    /// length of a memory region in octets, a multiple of four.
    #[must_use]
    pub fn new(terms: Terms, credits: u32, segment_length: u32) -> Self {
        Self {
            how: How {
                terms,
                segment_length: (segment_length & !3).max(4),
                most_segments: usize::MAX,
                reads_provided: false,
                continued: 0,
                unsupported: Vec::new(),
            },
            window: Window::new(credits),
            transfer: u32::MAX,
            slots: Slots::new(),
            waiting: Queue::new(),
            ready: Queue::new(),
            blocked: Queue::new(),
            continuing: None,
            receipt: Receipt::Nothing,
            state: State::Open,
        }
    }

    /// Sets the number of credits requested from the next Call on; 0 counts as 1.
    pub const fn request_credits(&mut self, credits: u32) {
        self.window.requested = if credits == 0 { 1 } else { credits };
    }

    /// Provides no Reply chunk from the next Call on. A reply that is too long for a Send comes in a Position Zero Read
    /// chunk of the Responder; the Requester reads a reply of at most [`Call::reply_length`] octets by RDMA, and sends
    /// `RDMA_DONE` (RFC 5666 section 3.5). RFC 8166 forbids this. Use only with a Responder that is known to provide
    /// such chunks, and not if this end also answers calls, because [`Direction`](super::Direction) takes such a reply
    /// for a Call.
    ///
    /// The Call keeps the credit until the Send of `RDMA_DONE`, which has no answer, is complete.
    pub const fn read_provided_replies(&mut self) {
        self.how.reads_provided = true;
    }

    /// Continues, in version 2, a Call of at most `most` octets that is too long for a Send in further Sends, arguments
    /// included, so that no memory is registered. Applies from the next Call on. For a reply of at most `most` octets
    /// there is no Reply chunk; a reply that is too long for a Send comes in several. (A Responder may continue any
    /// reply.) Default: 0, for never.
    pub const fn continue_messages(&mut self, most: u32) {
        self.how.continued = most;
    }

    /// Limits each RDMA Read of a reply to this many octets from now on: the longest message of the adapter's port. 0
    /// counts as 1.
    pub const fn limit_transfers(&mut self, octets: u32) {
        self.transfer = if octets == 0 { 1 } else { octets };
    }

    /// Sets the terms of the connection, if agreed only after connection setup. The terms apply from the next Call on.
    pub const fn agree(&mut self, terms: Terms) {
        self.how.terms = terms;
    }

    /// Limits the segments of each Call from the next one on, in addition to the existing limits of this Requester.
    pub fn limit_segments(&mut self, limits: SegmentLimits) {
        let SegmentLimits { octets, count } = limits;
        let most = usize::try_from(count).unwrap_or(usize::MAX);
        self.how.most_segments = self.how.most_segments.min(if octets < 4 { 0 } else { most });
        self.how.segment_length = self.how.segment_length.min((octets & !3).max(4));
    }

    /// Sets the number of messages that may be sent now, from [`Channel`](super::Channel). Call this before each
    /// [`poll`](Self::poll) in version 2. In version 1 this has no effect, because replies grant the credits (RFC 8166
    /// section 3.3.1).
    pub fn permit(&mut self, messages: u32) {
        if self.how.terms.version != Version::One && self.window.permit(messages) {
            self.wake_blocked();
            self.start_calls();
        }
    }

    /// Returns the number of Calls that hold a credit: unanswered Calls that are sent, or about to be, and Calls whose
    /// reply is in a Receive that was not released. So as many Receives as requested credits are enough.
    #[must_use]
    pub const fn in_flight(&self) -> u32 {
        self.window.in_flight()
    }

    /// Returns the number of Calls sent and not answered, cancelled or not; one-way Calls count until the Send is
    /// complete.
    #[must_use]
    pub const fn awaited_replies(&self) -> u32 {
        self.window.sent()
    }

    /// Returns true if no slot is free: [`call`](Self::call) would return [`CallRefusal::TooManyCalls`].
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.slots.count() == CALLS
    }

    /// Begins a Call, which waits if there is no credit.
    ///
    /// # Errors
    /// A [`CallRefusal`] if the Call cannot be made; then nothing is changed.
    pub fn call(&mut self, call: &Call<'_>) -> Result<CallId, CallRefusal> {
        let header = self.check(call.head, call.length, call.arguments)?;
        let (id, slot) = self.slots.take_slot().ok_or(CallRefusal::TooManyCalls)?;
        let is_planned = if self.how.terms.formats == PayloadFormats::All {
            let protected = is_protected(&header);
            slot.plan(header.xid, call, protected, &self.how).is_some()
        } else {
            let longest = unreduced(call.reply_length, call.results);
            slot.plan_without_chunks(header.xid, call.length, Expects::Reply, longest, &self.how).is_some()
        };
        if !is_planned {
            self.slots.free(id);
            return Err(self.too_large());
        }
        self.admit(id)
    }

    /// Begins a one-way Call of version 2: a Call of a procedure that has no reply (version two draft -07 section 4.7).
    /// `head` and `length` are as in [`Call`]. The Call is `Done` with [`End::Sent`] when the Send is complete; the
    /// Responder's reaction is unknown.
    ///
    /// A one-way Call has no chunks, and is continued if too long for a Send, even if
    /// [`continue_messages`](Self::continue_messages) does not allow that. Any answer is discarded.
    ///
    /// # Errors
    /// A [`CallRefusal`] if the Call cannot be made; then nothing is changed. In version 1 this is always an error.
    pub fn call_one_way(&mut self, head: &[u8], length: u32) -> Result<CallId, CallRefusal> {
        if self.how.terms.version.family().is_none() {
            return Err(CallRefusal::OneWay);
        }
        let header = self.check(head, length, &[])?;
        let (id, slot) = self.slots.take_slot().ok_or(CallRefusal::TooManyCalls)?;
        // No message would show when the Responder no longer uses a chunk.
        if slot.plan_without_chunks(header.xid, length, Expects::Nothing, 0, &self.how).is_none() {
            self.slots.free(id);
            return Err(self.too_long());
        }
        self.admit(id)
    }

    /// Returns the reason why a Call cannot be laid out.
    #[cold]
    const fn too_large(&self) -> CallRefusal {
        if matches!(self.how.terms.formats, PayloadFormats::All) {
            CallRefusal::TooManySegments
        } else {
            self.too_long()
        }
    }

    /// Returns the reason why a Call without chunks cannot be laid out.
    const fn too_long(&self) -> CallRefusal {
        match self.how.terms.formats {
            PayloadFormats::None => CallRefusal::NotAnswered,
            PayloadFormats::Simple | PayloadFormats::Continued | PayloadFormats::All => CallRefusal::TooLong,
        }
    }

    /// Returns the RPC header of a Call that may be made.
    #[inline(always)]
    fn check<'a>(&self, head: &'a [u8], length: u32, arguments: &[Item]) -> Result<rpc::RpcCall<'a>, CallRefusal> {
        if self.state != State::Open {
            return Err(CallRefusal::Closed);
        }
        let (header, _) = rpc::RpcCall::decode(head).map_err(CallRefusal::Rpc)?;
        if !stream::is_sound(head, length, arguments) {
            return Err(CallRefusal::Items);
        }
        if self.slots.iter().any(|(_, slot)| slot.xid == header.xid) {
            return Err(CallRefusal::XidInUse);
        }
        Ok(header)
    }

    /// Makes a Call wait for a credit, if the Responder supports the form of the Call.
    #[inline(always)]
    fn admit(&mut self, id: CallId) -> Result<CallId, CallRefusal> {
        // Most Responders refuse none, and this is a quick check.
        if !self.how.unsupported.is_empty()
            && self.slots.get(id).is_none_or(|slot| self.how.unsupported.contains(&slot.form))
        {
            self.slots.free(id);
            return Err(CallRefusal::Form);
        }
        self.waiting.push(id);
        self.start_waiting();
        Ok(id)
    }

    /// Cancels a Call. A Call that was not sent will not be, and is `Done` as soon as the memory is fenced. A Call that
    /// was sent is `Done` after the reply, which is discarded; until then the Responder may use the memory. A `Done`
    /// that is already due stays unchanged.
    ///
    /// The reply may never come. The driver decides how long to wait: without a reply, only the end of the connection
    /// fences the memory.
    ///
    /// # Errors
    /// [`InputError::Unexpected`] if there is no such call.
    pub fn cancel(&mut self, id: CallId) -> Result<(), InputError> {
        let slot = self.slots.get(id).ok_or(InputError::Unexpected)?;
        match &mut slot.stage {
            Stage::Sent(answer) | Stage::Continuing(answer) => answer.discard(End::Cancelled),
            Stage::Rebuilding(..) => slot.stage = Stage::Ending(End::Cancelled),
            Stage::Waiting | Stage::Registering => self.abandon(id, End::Cancelled),
            Stage::Reading(_) | Stage::LastSend(_) | Stage::Ending(_) => {}
        }
        Ok(())
    }

    /// Returns true if a Call with this XID was sent and is not answered, cancelled or not.
    #[must_use]
    pub fn awaits(&self, xid: u32) -> bool {
        self.awaited(xid).is_some()
    }

    fn awaited(&self, xid: u32) -> Option<CallId> {
        self.slots.iter().find(|(_, slot)| slot.xid == xid && slot.is_awaited()).map(|(id, _)| id)
    }

    /// Handles an event.
    ///
    /// # Errors
    /// An [`InputError`] if that event is impossible.
    pub fn handle(&mut self, input: Input<'_>) -> Result<(), InputError> {
        match input {
            Input::Received { receive, octets, invalidated } => self.receive(receive, octets, invalidated),
            Input::Broken { xid } => {
                self.break_reply(xid);
                Ok(())
            }
            Input::Registered { call, region, memory } => self.record_registration(call, region, memory),
            Input::Invalidated { call, region } => {
                let slot = self.slots.get(call).ok_or(InputError::Unexpected)?;
                slot.record_invalidation(region)?;
                self.mark_ready(call);
                Ok(())
            }
            Input::Completed { call } => {
                let slot = self.slots.get(call).ok_or(InputError::Unexpected)?;
                slot.reading = slot.reading.checked_sub(1).ok_or(InputError::Unexpected)?;
                self.mark_ready(call);
                Ok(())
            }
            Input::Sent { call } => self.record_sent(call),
            Input::Failed => {
                self.fail();
                Ok(())
            }
            Input::Disconnected => {
                self.disconnect();
                Ok(())
            }
        }
    }

    /// Returns the next output, if there is one. The header of a `Send` is written to the start of `header`.
    ///
    /// # Errors
    /// An [`EncodeError`] if `header` is too small; with a larger one, the next call returns the same output.
    pub fn poll(&mut self, header: &mut [u8]) -> Result<Option<Output<'_>>, EncodeError> {
        if self.receipt.is_due() {
            let place =
                |Placement { call, receive, from, length, at }| Output::Place { call, receive, from, length, at };
            return Ok(self.receipt.next(|receive| Output::Release { receive }, place));
        }
        if self.state == State::Failing {
            self.state = State::Disconnecting;
            return Ok(Some(Output::Disconnect));
        }
        if self.state == State::Disconnecting {
            return Ok(None);
        }
        // While a message may be sent, this is it: nothing else comes between its parts.
        if let Some((id, _)) = self.continuing
            && self.window.may_continue()
        {
            return self.send_part(id, header);
        }
        while let Some(id) = self.ready.first() {
            match self.slots.get(id).map_or(RequesterStep::Wait, |slot| slot.step(self.transfer)) {
                RequesterStep::Wait => self.mark_idle(id),
                RequesterStep::Register(region, memory) => {
                    return Ok(Some(Output::Register { call: id, region, memory }));
                }
                RequesterStep::Invalidate(region, handle) => {
                    return Ok(Some(Output::Invalidate { call: id, region, handle }));
                }
                RequesterStep::Read(piece) => {
                    return Ok(Some(Output::Read { call: id, source: piece.remote, at: piece.at }));
                }
                RequesterStep::SendDone => return self.send_done(id, header),
                RequesterStep::Send if self.window.may_send() => return self.send(id, header),
                RequesterStep::Continue(two) if self.window.may_send() => {
                    self.mark_idle(id);
                    self.continuing = Some((id, two));
                    self.window.send();
                    return self.send_part(id, header);
                }
                RequesterStep::Send | RequesterStep::Continue(_) => {
                    self.mark_idle(id);
                    self.blocked.push(id);
                }
                RequesterStep::Rebuild(_) => self.rebuild(id),
                RequesterStep::End => {
                    self.ready.pop();
                    return Ok(self.take_done(id));
                }
            }
        }
        Ok(None)
    }

    /// Removes a call that has nothing to do from the queue of `poll`.
    fn mark_idle(&mut self, id: CallId) {
        self.ready.pop();
        if let Some(slot) = self.slots.get(id) {
            slot.queued = false;
        }
    }

    /// Makes a Call again that was answered with an error and is fenced. The Call waits for a credit like a new one.
    #[cold]
    fn rebuild(&mut self, id: CallId) {
        self.mark_idle(id);
        let Some(slot) = self.slots.get(id) else { return };
        if slot.rebuild(&self.how) {
            self.waiting.push(id);
            self.start_calls();
        } else {
            self.mark_ready(id);
        }
    }

    fn send(&mut self, id: CallId, buffer: &mut [u8]) -> Result<Option<Output<'_>>, EncodeError> {
        let Some(slot) = self.slots.get(id) else { return Ok(None) };
        let header = slot.encode(self.window.requested, &self.how.terms, buffer)?;
        self.window.send();
        slot.record_posted();
        Ok(Some(Output::Send { call: id, header, payload: slot.inline() }))
    }

    /// Sends the next part of a continued Call.
    #[cold]
    fn send_part(&mut self, id: CallId, buffer: &mut [u8]) -> Result<Option<Output<'_>>, EncodeError> {
        let Some(slot) = self.slots.get(id) else { return Ok(None) };
        let EncodedPart { header_length: header, portion } = slot.encode_part(&self.how.terms, buffer)?;
        let from = slot.record_posted_part(portion);
        if portion.is_last {
            self.continuing = None;
            self.mark_ready(id);
            self.wake_blocked();
        } else {
            self.window.send_part();
        }
        let Some(slot) = self.slots.peek(id) else { return Ok(None) };
        Ok(Some(Output::Send { call: id, header, payload: slot.inline().window(from, portion.length) }))
    }

    fn send_done(&mut self, id: CallId, buffer: &mut [u8]) -> Result<Option<Output<'_>>, EncodeError> {
        let Some(slot) = self.slots.get(id) else { return Ok(None) };
        // The four words are the whole message. A `Header` would bring the encoding of all other messages with it.
        let (credit, procedure) = (self.window.requested, Procedure::RDMA_DONE);
        let done = Prefix { xid: slot.xid, version: VERSION, credit, procedure };
        let header = sink::encode(&done, buffer)?;
        slot.notify();
        Ok(Some(Output::Send { call: id, header, payload: Ranges::empty() }))
    }

    fn record_sent(&mut self, id: CallId) -> Result<(), InputError> {
        let slot = self.slots.get(id).ok_or(InputError::Unexpected)?;
        slot.sending = slot.sending.checked_sub(1).ok_or(InputError::Unexpected)?;
        match slot.stage {
            Stage::Reading(_) | Stage::Rebuilding(..) | Stage::Ending(_) => self.mark_ready(id),
            Stage::LastSend(_) => {
                slot.record_last_sent();
                self.mark_ready(id);
                // It has no answer.
                self.window.answered();
                self.wake_blocked();
                self.start_calls();
            }
            Stage::Waiting | Stage::Registering | Stage::Continuing(_) | Stage::Sent(_) => {}
        }
        Ok(())
    }

    fn take_done(&mut self, id: CallId) -> Option<Output<'_>> {
        if self.slots.get(id).is_some_and(|slot| slot.needs_receive()) {
            // Now a Receive can be posted for the reply to another Call.
            self.window.answered();
            self.wake_blocked();
            self.start_calls();
        }
        let slot = self.slots.free(id)?;
        let Stage::Ending(end) = mem::take(&mut slot.stage) else { return None };
        Some(Output::Done { call: id, end, results: &slot.results })
    }

    /// Puts a call in the queue that `poll` handles.
    fn mark_ready(&mut self, id: CallId) {
        if let Some(slot) = self.slots.get(id)
            && !slot.queued
        {
            slot.queued = true;
            self.ready.push(id);
        }
    }

    /// Starts the calls for which there are credits. Usually none waits for one.
    #[inline]
    fn start_calls(&mut self) {
        if self.waiting.first().is_some() {
            self.start_waiting();
        }
    }

    #[inline(never)]
    fn start_waiting(&mut self) {
        while self.state == State::Open
            && let Some(id) = self.waiting.first()
            && self.window.take_credit()
        {
            self.waiting.pop();
            if let Some(slot) = self.slots.get(id) {
                slot.stage = Stage::Registering;
            }
            self.mark_ready(id);
        }
    }

    fn fail(&mut self) {
        if self.state == State::Open {
            self.state = State::Failing;
        }
    }

    /// Ends a call that was not sent.
    fn abandon(&mut self, id: CallId, end: End) {
        let Some(slot) = self.slots.get(id) else { return };
        if matches!(mem::replace(&mut slot.stage, Stage::Ending(end)), Stage::Registering) {
            self.window.give_back();
        }
        self.waiting.remove(id);
        self.blocked.remove(id);
        self.mark_ready(id);
        self.start_calls();
    }

    fn record_registration(
        &mut self,
        id: CallId,
        region: u16,
        memory: Option<RegisteredMemory>,
    ) -> Result<(), InputError> {
        let slot = self.slots.get(id).ok_or(InputError::Unexpected)?;
        if slot.region(region).is_none_or(|region| region.access != Access::Registering) {
            return Err(InputError::Unexpected);
        }
        if let Some(memory) = memory
            && self.slots.iter().any(|(_, slot)| slot.exposes(memory.handle))
        {
            return Err(InputError::HandleInUse);
        }
        let slot = self.slots.get(id).ok_or(InputError::Unexpected)?;
        if let Some(region) = slot.region(region) {
            region.access = if memory.is_some() { Access::Exposed } else { Access::Local };
            if let Some(RegisteredMemory { handle, offset }) = memory {
                region.segment = Segment { handle, offset, ..region.segment };
            }
        }
        if memory.is_none() && matches!(slot.stage, Stage::Registering) {
            self.abandon(id, End::NotRegistered);
        }
        self.mark_ready(id);
        Ok(())
    }

    fn receive(&mut self, receive: u32, octets: &[u8], invalidated: Option<u32>) -> Result<(), InputError> {
        if self.receipt.is_due() {
            return Err(InputError::NotPolled);
        }
        let answered = self.answer(receive, octets);
        let slot = answered.and_then(|id| self.slots.get(id));
        if !self.receipt.is_due() && slot.as_ref().is_none_or(|slot| !slot.needs_receive()) {
            self.receipt = Receipt::Release(receive);
        }
        // Allowed only if both sides announced it, and only for memory of the answered Call (RFC 8797 section 4.1).
        if let Some(handle) = invalidated
            && !slot.is_some_and(|slot| slot.invalidated_remotely(handle, &self.how.terms))
        {
            self.fail();
        }
        if let Some(id) = answered {
            self.mark_ready(id);
        }
        self.start_calls();
        Ok(())
    }

    /// Finds the Call that a Send answers. Anything that is not a valid reply to a Call is dropped silently (section
    /// 4.5); in version 2 an invalid reply ends the Call.
    fn answer(&mut self, receive: u32, octets: &[u8]) -> Option<CallId> {
        match self.how.terms.version.family() {
            None => self.take_answer(receive, octets.len(), &ReceivedReply::decode(Version::One, octets)?),
            Some(_) => self.answer_2(receive, octets),
        }
    }

    // Apart from version 1, which it would slow down.
    #[inline(never)]
    fn answer_2(&mut self, receive: u32, octets: &[u8]) -> Option<CallId> {
        let message = ReceivedReply::decode(self.how.terms.version, octets)?;
        self.take_answer(receive, octets.len(), &message)
    }

    #[inline(always)]
    fn take_answer(&mut self, receive: u32, length: usize, message: &ReceivedReply<'_>) -> Option<CallId> {
        let id = self.awaited(message.xid)?;
        let slot = self.slots.get(id)?;
        match slot.take_answer(receive, length, message) {
            Some(0) => {}
            Some(length) => {
                let (from, at) = (message.header_length, slot.collected().saturating_sub(length));
                self.receipt = Receipt::Place(Placement { call: id, receive, from, length, at });
            }
            None if self.how.terms.version.family().is_none() => return None,
            None => slot.spoil(),
        }
        let is_over = !slot.keeps_credit() && !slot.is_awaited();
        if let ReplyBody::ErrorV2(ErrorBodyV2::Void(ErrorCode::INVAL_HTYPE), _) = message.body
            && !self.how.unsupported.contains(&slot.form)
        {
            let _ = self.how.unsupported.push(slot.form);
        }
        if let Some(credit) = message.credit {
            self.window.grant(credit);
        }
        if is_over {
            self.window.answered();
        }
        self.wake_blocked();
        Some(id)
    }

    /// Ends the Call of a reply whose rest will not come.
    #[cold]
    fn break_reply(&mut self, xid: u32) {
        let Some(id) = self.awaited(xid) else { return };
        self.slots.get(id).into_iter().for_each(Slot::spoil);
        self.window.answered();
        self.wake_blocked();
        self.mark_ready(id);
        self.start_calls();
    }

    /// Retries the calls for which there may now be a credit.
    fn wake_blocked(&mut self) {
        while let Some(id) = self.blocked.pop() {
            self.mark_ready(id);
        }
    }

    fn disconnect(&mut self) {
        self.state = State::Closed;
        self.waiting.clear();
        self.ready.clear();
        self.blocked.clear();
        self.continuing = None;
        let mut lost: Vec<CallId, CALLS> = Vec::new();
        for (id, _) in self.slots.iter() {
            let _ = lost.push(id);
        }
        for id in lost {
            if let Some(slot) = self.slots.get(id) {
                slot.lose();
            }
            self.mark_ready(id);
        }
    }
}

//! The side that is called (RFC 8166 sections 3 and 4).
//!
//! A Call passes through these stages, and never goes back; one that is refused goes to `Answering` at once:
//!
//! ```text
//! Collecting, or
//! Pulling Read chunks -> Delivered -> Answering: pushing results, then the Send -> forgotten
//!                            |            ^                              |           ^
//!                            v            |                              v           |
//!                         Registering the reply      Provided until RDMA_DONE -> Invalidating
//! ```
//!
//! A Call-only (version two draft -07 section 4.7) is forgotten as soon as the upper layer has done with it.
//!
//! In version 2, a Call may come in several Sends, and its reply may need several. A Call is `Collecting` then until its
//! last part has come: the driver puts the parts together, in memory that [`Limits`] bounds. Between the parts of a reply
//! no other reply is sent; credits may run out meanwhile.
//!
//! A Call is forgotten when its Send is posted, not when it is complete, because the next Call may arrive before the
//! completion does. When the Send is complete, so are the RDMA Writes before it, and the memory of the reply is free;
//! that is for the driver to see. A reply that is [`Form::Provided`] lasts longer: its Call keeps its place, and one
//! credit less is granted. So `RDMA_DONE` needs no table and no Receive of its own, and a peer that never says it gets
//! no more than the table holds. The whole reply is registered once, and the segments are parts of it.
//!
//! Memory that takes long to register holds up no other call: moving data into it is `Postponed` until it is ready.
//!
//! If RDMA fails behind a Send, the Responder has already forgotten the Call, and the requests that fail after it are
//! merely flushed. Only the driver knows which Call ended the connection, so the driver hands on its XID
//! ([`Responder::refuse_xid`]).

mod input;
mod output;
mod reply;
mod slot;

pub use input::{GrantError, Input};
pub use output::{CallMessage, Output};
pub use reply::{Form, Reply, ReplyFault};

use core::ops::Range;

use heapless::Vec;
use slot::{Slot, Stage, Step};

use super::limits::Assembly;
use super::queue::Queue;
use super::receipt::{Placement, Receipt};
use super::slots::Slots;
use super::stream::{self, Ranges};
use super::wire::{AnyReplyHeader, CallForm, CallReceived, ReceivedCall, ReceivedPart};
use super::{CallId, InputError, Limits, PayloadFormats, Terms, Version, is_protected};
use crate::error::EncodeError;
use crate::lists::Chunks;
use crate::prefix::Prefix;
use crate::rpc::{self, MessageType};
use crate::segment::ReadSegment;
use crate::v2::{ErrorBodyV2, ErrorCode};

/// The answer to what cannot be understood; `ERR_CHUNK` in version 1.
const MALFORMED: ErrorBodyV2 = ErrorBodyV2::Void(ErrorCode::BAD_XDR);
/// The answer where this side has no means; `ERR_CHUNK` in version 1.
const SYSTEM: ErrorBodyV2 = ErrorBodyV2::Void(ErrorCode::SYSTEM);

/// The Responder of one connection: at most `CALLS` calls at a time, with headers of at most `HEADER` octets, and at most
/// `CHUNKS` Read chunks and as many Write chunks each.
#[derive(Debug)]
pub struct Responder<const CALLS: usize, const HEADER: usize, const CHUNKS: usize> {
    terms: Terms,
    limits: Limits,
    grant: u32,
    /// The largest grant that was sent.
    granted: u32,
    slots: Slots<Slot<HEADER, CHUNKS>, CALLS>,
    /// Calls for which there may be something to do, each once.
    ready: Queue<CALLS>,
    /// Calls that wait for RDMA Reads of others to complete.
    held: Queue<CALLS>,
    /// How many messages may be sent, and answers that wait for that.
    permitted: u32,
    unsent: Queue<CALLS>,
    /// The Call to which a part of the reply is sent, and more are to follow.
    continuing: Option<CallId>,
    /// The Call of which a part has come. More are to follow, even if it is refused.
    collecting: Option<CallId>,
    /// RDMA Reads that are not complete, and how many are allowed.
    reading: u32,
    most_reads: u32,
    /// The most octets that one RDMA Read or Write moves.
    transfer: u32,
    /// Replies that are provided, or about to be, and how many are allowed.
    provided: u32,
    most_provided: u32,
    /// Calls that must not be tried again.
    refused: Vec<u32, CALLS>,
    receipt: Receipt,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Failing,
    Over,
}

impl<const CALLS: usize, const HEADER: usize, const CHUNKS: usize> Responder<CALLS, HEADER, CHUNKS> {
    /// A new connection, which grants `CALLS` credits.
    #[must_use]
    pub fn new(terms: Terms, limits: Limits) -> Self {
        Self {
            terms,
            limits,
            grant: u32::try_from(CALLS).unwrap_or(u32::MAX),
            granted: 0,
            slots: Slots::new(),
            ready: Queue::new(),
            held: Queue::new(),
            permitted: u32::MAX,
            unsent: Queue::new(),
            continuing: None,
            collecting: None,
            reading: 0,
            most_reads: u32::MAX,
            transfer: u32::MAX,
            provided: 0,
            most_provided: 0,
            refused: Vec::new(),
            receipt: Receipt::Nothing,
            state: State::Open,
        }
    }

    /// Grants this many credits from the next reply on. A peer with more Calls in flight than the largest grant is cut
    /// off.
    ///
    /// # Errors
    /// [`GrantError`] for 0, which would end all calls (section 3.3.1), and for more than `CALLS`.
    pub fn grant(&mut self, credits: u32) -> Result<(), GrantError> {
        if credits == 0 || credits as usize > CALLS {
            return Err(GrantError);
        }
        self.grant = credits;
        Ok(())
    }

    /// The terms of the connection, where they are agreed only after its set-up: they apply from the next Call on.
    pub const fn agree(&mut self, terms: Terms) {
        self.terms = terms;
    }

    /// In version 2, where [`Channel`](super::Channel) counts the credits: how many messages may be sent now. To be said
    /// before each [`poll`](Self::poll).
    pub fn permit(&mut self, messages: u32) {
        self.permitted = messages;
        while messages > 0
            && self.continuing.is_none()
            && let Some(call) = self.unsent.pop()
        {
            self.ready.push(call);
        }
    }

    /// Calls that are not answered, and whose Receives have gone back to the driver. In version 2, they still hold the
    /// credits with which they came, so that what was granted bounds what this end has to hold. An answer gives up one of
    /// them: there is one less when it is sent, and when it is asked whether it may be.
    #[must_use]
    pub fn occupied(&self) -> u32 {
        self.slots.iter().fold(0, |sum: u32, (_, slot)| sum.saturating_add(u32::from(slot.receive.is_none())))
    }

    /// Calls that are not answered: the Replies that this end owes its peer.
    #[must_use]
    pub fn owed_replies(&self) -> u32 {
        u32::try_from(self.slots.count()).unwrap_or(u32::MAX)
    }

    /// Whether there is a place for one more Call, or the next part of one. Credits of version 2 count messages of any kind,
    /// so there may be more Calls than places: those wait in their Receives, and nothing is granted for them.
    #[must_use]
    pub fn has_place(&self) -> bool {
        let most = self.granted.max(self.grant).saturating_add(self.provided);
        self.collecting.is_some() || (self.slots.count() < most as usize && self.slots.count() < CALLS)
    }

    /// Allows this many RDMA Reads at a time from now on: as many as the adapter and the connection allow (ORD, RFC
    /// 6581 section 3). With more, replies would have to wait for them. 0 counts as 1; without this limit there is at
    /// most one for each segment of each Call, and one more for each Read chunk in a Long Call.
    pub const fn limit_reads(&mut self, most: u32) {
        self.most_reads = if most == 0 { 1 } else { most };
    }

    /// Limits each RDMA Read and RDMA Write to this many octets from now on: those of the longest message that the
    /// adapter's port can carry. Longer pieces take several. 0 counts as 1.
    pub const fn limit_transfers(&mut self, octets: u32) {
        self.transfer = if octets == 0 { 1 } else { octets };
    }

    /// Provides a reply that fits nowhere in a Position Zero Read chunk, instead of refusing it: at most `most` at a
    /// time, and never more than `CALLS` minus one (RFC 5666 sections 3.5 and 11). RFC 8166 forbids this. Use it only
    /// for a Requester that is known to pull such replies and to send `RDMA_DONE`; any other would wait for ever.
    ///
    /// As long as a reply is provided, one credit less is granted, so a Receive is left for its `RDMA_DONE`, and a peer
    /// that never sends one gets no more than this. The driver keeps a timer for each, and calls [`Responder::expire`].
    pub fn provide_replies(&mut self, most: u32) {
        self.most_provided = most.min(u32::try_from(CALLS).unwrap_or(u32::MAX).saturating_sub(1));
    }

    /// Ends the time in which a provided reply can be pulled. If the Requester is still pulling it, the connection
    /// ends.
    ///
    /// # Errors
    /// [`InputError::Unexpected`] if there is no such reply, or its end has begun.
    pub fn expire(&mut self, call: CallId) -> Result<(), InputError> {
        let slot = self.slots.get(call).filter(|slot| slot.stage == Stage::Provided);
        slot.ok_or(InputError::Unexpected)?.stage = Stage::Invalidate;
        self.ready(call);
        Ok(())
    }

    /// Answers the next Call with this XID with `ERR_CHUNK` and pulls nothing of it, once (section 4.5.3).
    ///
    /// An RDMA Read, RDMA Write or Send that fails ends the connection. The Requester makes a new one, sends the Call
    /// again, and would lose that one too. Only the driver knows that it is the same Requester, and which request
    /// failed: the others are merely flushed. So it keeps [`Responder::xid`] with what it posts, and hands it to the
    /// Responder of the new connection before the first Receive. If there are more than `CALLS` XIDs, the oldest is
    /// forgotten.
    pub fn refuse_xid(&mut self, xid: u32) {
        if self.refused.is_full() {
            self.refused.rotate_left(1);
            self.refused.pop();
        }
        let _ = self.refused.push(xid);
    }

    /// The XID of a Call, from its transport header.
    #[must_use]
    pub fn xid(&self, call: CallId) -> Option<u32> {
        self.slots.peek(call).map(|slot| slot.prefix.xid)
    }

    /// Octets of the Payload stream of a Call that is not answered: the size of the memory in which it is put together,
    /// known from the first `Place` or `Read` on.
    #[must_use]
    pub fn length(&self, call: CallId) -> Option<u32> {
        self.slots.peek(call).filter(|slot| slot.is_call()).map(|slot| slot.length)
    }

    /// The parts of the memory in which a Call is put together that are neither placed nor read: the XDR padding of
    /// each Read chunk (section 3.4.5.2), at most three octets. Memory that was used before needs zeros there, and only
    /// there. Empty if no such Call is being put together.
    pub fn padding(&self, call: CallId) -> impl Iterator<Item = Range<u32>> {
        let slot = self.slots.peek(call).filter(|slot| slot.is_call());
        slot.into_iter().flat_map(|slot| &slot.items).filter_map(|item| item.padding())
    }

    /// The chunks of a Call: the room for results.
    #[must_use]
    pub fn chunks(&self, call: CallId) -> Option<Chunks<'_>> {
        self.slots.peek(call).map(|slot| slot.lists().chunks)
    }

    /// Tells the Responder what happened.
    ///
    /// # Errors
    /// An [`InputError`] if that cannot have happened.
    pub fn handle(&mut self, input: Input<'_>) -> Result<(), InputError> {
        match input {
            Input::Received { receive, octets } => self.received(receive, octets),
            Input::Broken { xid, error } => {
                if self.collects(xid) {
                    self.break_off(error);
                }
                Ok(())
            }
            Input::Completed { call } => {
                let slot = self.slots.get(call).ok_or(InputError::Unexpected)?;
                slot.reading = slot.reading.checked_sub(1).ok_or(InputError::Unexpected)?;
                self.read(call);
                Ok(())
            }
            Input::NotPosted { call } => self.not_posted(call),
            Input::Postponed { call } => self.postponed(call),
            Input::Resumed { call } => {
                let slot = self.slots.get(call).filter(|slot| slot.postponed);
                slot.ok_or(InputError::Unexpected)?.postponed = false;
                self.ready(call);
                Ok(())
            }
            Input::Registered { call, memory } => self.registered(call, memory),
            Input::Invalidated { call } => {
                let slot = self.slots.get(call).filter(|slot| slot.stage == Stage::Invalidating);
                slot.ok_or(InputError::Unexpected)?;
                self.slots.free(call);
                self.provided = self.provided.saturating_sub(1);
                Ok(())
            }
            Input::Failed => {
                self.fail();
                Ok(())
            }
            Input::Disconnected => {
                self.state = State::Over;
                self.slots.free_all();
                self.ready.clear();
                self.held.clear();
                self.unsent.clear();
                (self.continuing, self.collecting) = (None, None);
                Ok(())
            }
        }
    }

    /// Answers a Call that was delivered.
    ///
    /// # Errors
    /// A [`ReplyFault`] if this is not a reply to it; then nothing is done.
    pub fn reply(&mut self, call: CallId, reply: &Reply<'_>) -> Result<Form, ReplyFault> {
        let (terms, may_provide) = (self.terms, self.provided < self.most_provided);
        let slot = self.delivered(call)?;
        if MessageType::peek(reply.head) != Some((slot.prefix.xid, MessageType::REPLY)) {
            return Err(ReplyFault::Xid);
        }
        if !stream::is_sound(reply.head, reply.length, reply.results) {
            return Err(ReplyFault::Items);
        }
        let form = match slot.plan(reply, &terms, may_provide) {
            Ok(form) => {
                slot.stage = if form == Form::Provided { Stage::Register } else { Stage::Answering };
                form
            }
            Err(error) => {
                slot.stage = Stage::Refusing(slot.prefix, error);
                Form::Refused
            }
        };
        self.provided = self.provided.saturating_add(u32::from(form == Form::Provided));
        self.ready(call);
        Ok(form)
    }

    /// Answers a Call that was delivered with `ERR_CHUNK`: there can be no RPC reply to it.
    ///
    /// # Errors
    /// [`ReplyFault::NoCall`] if there is no such call.
    pub fn refuse(&mut self, call: CallId) -> Result<(), ReplyFault> {
        let slot = self.delivered(call)?;
        slot.stage = Stage::Refusing(slot.prefix, MALFORMED);
        self.ready(call);
        Ok(())
    }

    /// Forgets a Call-only of version 2 that was delivered: a Call of a procedure that has no reply (version two draft -07
    /// section 4.7). Only the upper layer knows that it is one; the Requester of any other Call would wait for ever.
    ///
    /// # Errors
    /// [`ReplyFault::NoCall`] if there is no such call; [`ReplyFault::Owed`] in version 1. Then nothing is done.
    pub fn forget(&mut self, call: CallId) -> Result<(), ReplyFault> {
        let version = self.terms.version;
        let slot = self.delivered(call)?;
        if version == Version::One {
            return Err(ReplyFault::Owed);
        }
        slot.stage = Stage::Forgetting;
        self.ready(call);
        Ok(())
    }

    fn delivered(&mut self, call: CallId) -> Result<&mut Slot<HEADER, CHUNKS>, ReplyFault> {
        self.slots.get(call).filter(|slot| slot.stage == Stage::Delivered).ok_or(ReplyFault::NoCall)
    }

    /// The next thing to do, if there is one. The header of a `Send` is written to the start of `header`.
    ///
    /// # Errors
    /// An [`EncodeError`] if `header` is too small; with a larger one, the next call returns the same output.
    pub fn poll(&mut self, header: &mut [u8]) -> Result<Option<Output<'_>>, EncodeError> {
        if self.receipt.is_due() {
            return Ok(self.next_of_receipt());
        }
        if self.state == State::Failing {
            self.state = State::Over;
            return Ok(Some(Output::Disconnect));
        }
        if self.state == State::Over {
            return Ok(None);
        }
        // As long as a message may be sent, this is it: nothing else comes between its parts.
        if let Some(call) = self.continuing
            && self.permitted > 0
        {
            return self.send_part(call, header);
        }
        while let Some(call) = self.ready.first() {
            let Some(slot) = self.slots.get(call) else {
                self.ready.pop();
                continue;
            };
            let may_read = self.reading < self.most_reads;
            return Ok(Some(match slot.step(may_read, self.transfer) {
                Step::Wait => {
                    slot.queued = false;
                    self.ready.pop();
                    continue;
                }
                Step::Hold => {
                    self.ready.pop();
                    self.held.push(call);
                    continue;
                }
                Step::Place { receive, from, length, at } => Output::Place { call, receive, from, length, at },
                Step::Release(receive) => Output::Release { receive },
                Step::Read(piece) => {
                    self.reading = self.reading.saturating_add(1);
                    Output::Read { call, source: piece.remote, at: piece.at }
                }
                Step::Deliver => Output::Deliver { call, message: slot.message() },
                Step::Register => Output::Register { call, length: slot.length },
                Step::Invalidate(handle) => {
                    // Answering may free its place.
                    slot.queued = false;
                    self.ready.pop();
                    Output::Invalidate { call, handle }
                }
                Step::Write(piece) => Output::Write { call, from: piece.at, target: piece.remote },
                Step::Send if self.permitted > 0 => return self.send(call, header),
                Step::Send => {
                    self.ready.pop();
                    self.unsent.push(call);
                    continue;
                }
                Step::Forget => {
                    self.ready.pop();
                    self.slots.free(call);
                    continue;
                }
            }));
        }
        Ok(None)
    }

    #[cold]
    fn next_of_receipt(&mut self) -> Option<Output<'_>> {
        match self.receipt.take() {
            Receipt::Nothing => None,
            Receipt::Release(receive) => Some(Output::Release { receive }),
            Receipt::Place(Placement { call, receive, from, length, at }) => {
                Some(Output::Place { call, receive, from, length, at })
            }
        }
    }

    fn send(&mut self, call: CallId, buffer: &mut [u8]) -> Result<Option<Output<'_>>, EncodeError> {
        let room = u32::try_from(CALLS).unwrap_or(u32::MAX).saturating_sub(self.provided);
        let Some(slot) = self.slots.get(call) else { return Ok(None) };
        if slot.form == Form::Continued && slot.stage == Stage::Answering {
            slot.queued = false;
            self.ready.pop();
            self.continuing = Some(call);
            return self.send_part(call, buffer);
        }
        let grant = self.grant.min(room);
        let header = slot.encode(grant, buffer)?;
        self.granted = self.granted.max(grant);
        self.ready.pop();
        let answering = slot.stage == Stage::Answering;
        let provided = answering && slot.form == Form::Provided;
        if provided {
            (slot.stage, slot.queued) = (Stage::Provided, false);
        }
        if !answering && self.collecting == Some(call) {
            (slot.stage, slot.queued) = (Stage::Refused, false);
            return Ok(Some(Output::Send { call, header, payload: Ranges::empty(), invalidate: None, is_last: true }));
        }
        let Some(slot) = (if provided { self.slots.get(call) } else { self.slots.free(call) }) else { return Ok(None) };
        let invalidate = if answering && self.terms.remote_invalidation { slot.invalidated_handle() } else { None };
        let inline = answering && slot.form == Form::Short;
        let payload = if inline { Ranges::new(&slot.items, slot.length) } else { Ranges::empty() };
        Ok(Some(Output::Send { call, header, payload, invalidate, is_last: true }))
    }

    /// Sends the next part of a continued reply.
    #[cold]
    fn send_part(&mut self, call: CallId, buffer: &mut [u8]) -> Result<Option<Output<'_>>, EncodeError> {
        let Some(slot) = self.slots.get(call) else { return Ok(None) };
        let (header, portion) = slot.encode_part(buffer)?;
        let (from, is_last) = (slot.part_sent(portion), portion.is_last);
        let slot = if is_last {
            self.continuing = None;
            self.slots.free(call).map(|slot| &*slot)
        } else {
            self.slots.peek(call)
        };
        let Some(slot) = slot else { return Ok(None) };
        let may = is_last && self.terms.remote_invalidation;
        let invalidate = if may { slot.invalidated_handle() } else { None };
        let payload = Ranges::new(&slot.items, slot.length).window(from, portion.length);
        Ok(Some(Output::Send { call, header, payload, invalidate, is_last }))
    }

    /// An RDMA Read of a Call has ended.
    fn read(&mut self, call: CallId) {
        self.reading = self.reading.saturating_sub(1);
        self.ready(call);
        while let Some(call) = self.held.pop() {
            self.ready.push(call);
        }
    }

    fn not_posted(&mut self, call: CallId) -> Result<(), InputError> {
        let slot = self.slots.get(call).filter(|slot| !slot.postponed).ok_or(InputError::Unexpected)?;
        let pulling = match (slot.stage, slot.reading) {
            // While others are in progress, the Call would be forgotten before they are complete.
            (Stage::Pulling, 1) => true,
            (Stage::Answering, _) if slot.has_written() => false,
            _ => return Err(InputError::Unexpected),
        };
        (slot.stage, slot.reading) = (Stage::Refusing(slot.prefix, SYSTEM), 0);
        if pulling {
            self.read(call);
        }
        Ok(())
    }

    fn postponed(&mut self, call: CallId) -> Result<(), InputError> {
        let slot = self.slots.get(call).ok_or(InputError::Unexpected)?;
        let pulling = slot.stage == Stage::Pulling;
        if !slot.postpone() {
            return Err(InputError::Unexpected);
        }
        if pulling {
            slot.reading = slot.reading.saturating_sub(1);
            self.read(call);
        }
        Ok(())
    }

    fn registered(&mut self, call: CallId, memory: Option<(u32, u64)>) -> Result<(), InputError> {
        let held = |slot: &Slot<HEADER, CHUNKS>| slot.memory.map(|(handle, _)| handle);
        if let Some((handle, _)) = memory
            && self.slots.iter().any(|(_, slot)| held(slot) == Some(handle))
        {
            return Err(InputError::HandleInUse);
        }
        let slot = self.slots.get(call).filter(|slot| slot.stage == Stage::Registering);
        let slot = slot.ok_or(InputError::Unexpected)?;
        (slot.memory, slot.stage) = (memory, Stage::Answering);
        if memory.is_none() {
            slot.stage = Stage::Refusing(slot.prefix, SYSTEM);
            self.provided = self.provided.saturating_sub(1);
        }
        self.ready(call);
        Ok(())
    }

    /// `RDMA_DONE`, which has no answer. If nothing is provided, it is discarded (section 4.6.2).
    fn done(&mut self, xid: u32) {
        let provided = |slot: &Slot<HEADER, CHUNKS>| slot.stage == Stage::Provided && slot.prefix.xid == xid;
        let call = self.slots.iter().find(|(_, slot)| provided(slot)).map(|(call, _)| call);
        let _ = call.map(|call| self.expire(call));
    }

    fn ready(&mut self, id: CallId) {
        if let Some(slot) = self.slots.get(id)
            && !slot.queued
        {
            slot.queued = true;
            self.ready.push(id);
        }
    }

    fn fail(&mut self) {
        if self.state == State::Open {
            self.state = State::Failing;
        }
    }

    fn received(&mut self, receive: u32, octets: &[u8]) -> Result<(), InputError> {
        if self.receipt.is_due() {
            return Err(InputError::NotPolled);
        }
        if self.collecting.is_some() && self.goes_on(receive, octets) {
            return Ok(());
        }
        match CallReceived::decode(self.terms.version, octets) {
            CallReceived::Part(prefix, part) => self.collect(receive, prefix, part),
            CallReceived::Call(prefix, call) => self.called(receive, (prefix, &call), octets),
            CallReceived::Fault(prefix, error) => self.answer(receive, prefix, error),
            CallReceived::Done(xid) => {
                self.done(xid);
                self.receipt = Receipt::Release(receive);
            }
            CallReceived::Nothing => self.receipt = Receipt::Release(receive),
        }
        Ok(())
    }

    /// Takes the next part of the Call that is being collected; false if it is something else. Another Call ends this one.
    #[cold]
    fn goes_on(&mut self, receive: u32, octets: &[u8]) -> bool {
        let decoded = CallReceived::decode(self.terms.version, octets);
        let (CallReceived::Part(prefix, _) | CallReceived::Call(prefix, _) | CallReceived::Fault(prefix, _)) = decoded
        else {
            return false;
        };
        let is_next = self.collects(prefix.xid);
        match decoded {
            _ if !is_next => self.break_off(ErrorBodyV2::Void(ErrorCode::INVAL_CONT)),
            CallReceived::Part(_, part) => self.append(receive, part),
            CallReceived::Call(prefix, call) => self.complete(receive, (prefix, &call), octets),
            CallReceived::Fault(_, error) => {
                self.break_off(error);
                self.receipt = Receipt::Release(receive);
            }
            CallReceived::Done(_) | CallReceived::Nothing => {}
        }
        is_next
    }

    /// Whether a message with this XID is a part of the Call that is being collected.
    fn collects(&self, xid: u32) -> bool {
        self.collecting.is_some_and(|call| self.slots.peek(call).is_some_and(|slot| slot.prefix.xid == xid))
    }

    /// The first part of a Call.
    #[cold]
    fn collect(&mut self, receive: u32, prefix: Prefix, part: ReceivedPart) {
        let stage = if self.is_refused(prefix.xid) { Stage::Refusing(prefix, SYSTEM) } else { Stage::Collecting };
        let Some((call, slot)) = self.admit_as(receive, stage, prefix) else { return };
        // It goes back as soon as its octets were copied.
        slot.receive = None;
        self.collecting = Some(call);
        self.append(receive, part);
    }

    /// The last part of a Call, which has its chunks.
    #[cold]
    #[inline(never)]
    fn complete(&mut self, receive: u32, (prefix, call): (Prefix, &ReceivedCall<'_>), octets: &[u8]) {
        let part = ReceivedPart { header_length: call.header_length, length: call.payload.len() };
        let judged = if call.lists.have_reads() {
            // Where the parts belong would have to be known before.
            Err(ErrorBodyV2::ReadChunks { max_chunks: 0 })
        } else {
            self.judge(prefix.xid, call, octets)
        };
        self.append(receive, part);
        let is_collecting = |slot: &&mut Slot<HEADER, CHUNKS>| slot.stage == Stage::Collecting;
        match (judged, self.collecting.and_then(|call| self.slots.get(call)).filter(is_collecting)) {
            (Ok((_, header)), Some(slot)) => {
                // There is room, as was checked.
                slot.header = Vec::from_slice(header).unwrap_or_default();
                slot.stage = Stage::Pulling;
                if let Some(call) = self.collecting.take() {
                    self.ready(call);
                }
            }
            (Err(error), _) => self.break_off(error),
            (Ok(_), None) => self.break_off(SYSTEM),
        }
    }

    /// Nothing more comes of the Call of which a part has come. Unless that was said already, it is answered with this error.
    fn break_off(&mut self, error: ErrorBodyV2) {
        let Some(call) = self.collecting.take() else { return };
        if self.slots.peek(call).is_some_and(|slot| slot.stage == Stage::Refused) {
            self.slots.free(call);
        } else {
            self.give_up(call, error);
        }
    }

    /// Has a part placed behind those before it, if there is room. What belongs to a Call that is refused is discarded.
    fn append(&mut self, receive: u32, part: ReceivedPart) {
        self.receipt = Receipt::Release(receive);
        let held = self.slots.iter().fold(0, |sum: u64, (_, slot)| sum.saturating_add(u64::from(slot.collected)));
        let Some(call) = self.collecting else { return };
        let Some(slot) = self.slots.get(call).filter(|slot| slot.stage == Stage::Collecting) else { return };
        let length = u32::try_from(part.length).unwrap_or(u32::MAX);
        let all = slot.length.saturating_add(length);
        if all > self.limits.octets || held.saturating_add(u64::from(length)) > u64::from(self.limits.collected) {
            // The drafts have no code for this.
            return self.give_up(call, SYSTEM);
        }
        let at = slot.length;
        (slot.length, slot.collected) = (all, all);
        if length > 0 {
            self.receipt = Receipt::Place(Placement { call, receive, from: part.header_length, length, at });
        }
    }

    /// Answers a Call of which only a part has come.
    fn give_up(&mut self, call: CallId, error: ErrorBodyV2) {
        if let Some(slot) = self.slots.get(call).filter(|slot| slot.stage == Stage::Collecting) {
            (slot.stage, slot.collected) = (Stage::Refusing(slot.prefix, error), 0);
            self.ready(call);
        }
    }

    /// A Call whose header can be read.
    fn called(&mut self, receive: u32, (prefix, call): (Prefix, &ReceivedCall<'_>), octets: &[u8]) {
        let is_other = || MessageType::peek(call.payload) != Some((prefix.xid, MessageType::CALL));
        if call.form == CallForm::Inline && is_other() {
            return self.answer(receive, prefix, MALFORMED);
        }
        let (assembly, header) = match self.judge(prefix.xid, call, octets) {
            Ok(judged) if !self.is_refused(prefix.xid) => judged,
            Ok(_) => return self.answer(receive, prefix, SYSTEM),
            Err(error) => return self.answer(receive, prefix, self.refusal(error)),
        };
        if let Some(slot) = self.admit(receive, Stage::Pulling, prefix) {
            if !header.is_empty() {
                // There is room, as was checked.
                slot.header = Vec::from_slice(header).unwrap_or_default();
            }
            slot.from = call.header_length;
            (slot.items, slot.length) = (assembly.items, assembly.length);
            slot.form = if call.form == CallForm::Long { Form::Long } else { Form::Short };
            slot.protected = !call.lists.chunks.writes.is_empty()
                && rpc::RpcCall::decode(call.payload).is_ok_and(|(call, _)| is_protected(&call));
        }
    }

    #[cold]
    fn answer(&mut self, receive: u32, prefix: Prefix, error: ErrorBodyV2) {
        self.admit(receive, Stage::Refusing(prefix, error), prefix);
    }

    /// The error for a Call whose chunks are refused. A Responder that takes no Write chunk asks for a Reply chunk if it cannot
    /// continue the reply either (version two draft -07 section 7.3.2).
    #[cold]
    fn refusal(&self, error: ErrorBodyV2) -> ErrorBodyV2 {
        match error {
            ErrorBodyV2::WriteChunks { max_chunks: 0 } if self.terms.formats < PayloadFormats::Continued => {
                ErrorBodyV2::ReplyResource { length_needed: 0 }
            }
            error => error,
        }
    }

    /// Whether a Call must not be tried again. This can be asked once.
    #[inline(always)]
    fn is_refused(&mut self, xid: u32) -> bool {
        if !self.refused.contains(&xid) {
            return false;
        }
        let mut others = Vec::new();
        for other in self.refused.iter().filter(|&&other| other != xid) {
            let _ = others.push(*other);
        }
        self.refused = others;
        true
    }

    /// How a Call is put together, and its header if it has chunks; or the error that it is answered with, in the terms of
    /// version 2.
    #[inline(always)]
    fn judge<'a>(
        &self,
        xid: u32,
        call: &ReceivedCall<'_>,
        octets: &'a [u8],
    ) -> Result<(Assembly<CHUNKS>, &'a [u8]), ErrorBodyV2> {
        let assembly = self.limits.assembly(call)?;
        if call.lists.is_empty() {
            return Ok((assembly, &[]));
        }
        self.can_answer(xid, &call.lists.chunks)?;
        let header = octets.get(..call.header_length).unwrap_or_default();
        if header.len() > HEADER { Err(self.fewer_segments()) } else { Ok((assembly, header)) }
    }

    /// Whether the smallest reply to a Call with these chunks fits. All of them come back in its header, so a Call may
    /// have too many: it would be carried out, and its reply could not be sent.
    fn can_answer(&self, xid: u32, chunks: &Chunks<'_>) -> Result<(), ErrorBodyV2> {
        /// Octets of an RPC reply without results.
        const SMALLEST: u64 = 24;
        if chunks.writes.is_empty() && chunks.reply.is_none() {
            return Ok(());
        }
        let long = chunks.reply.is_some_and(|chunk| chunk.length() >= SMALLEST);
        let header = AnyReplyHeader::longest(self.terms.version, xid, chunks) as u64;
        let fits = header.saturating_add(if long { 0 } else { SMALLEST }) <= u64::from(self.terms.reply_threshold);
        if fits { Ok(()) } else { Err(self.fewer_segments()) }
    }

    /// The answer to a Call with more segments than a header has room for.
    fn fewer_segments(&self) -> ErrorBodyV2 {
        let room = u32::try_from(HEADER).unwrap_or(u32::MAX).min(self.terms.reply_threshold);
        let most = usize::try_from(room).unwrap_or(usize::MAX).checked_div(ReadSegment::LEN).unwrap_or(0);
        ErrorBodyV2::Segments { max_segments: u32::try_from(most).unwrap_or(u32::MAX) }
    }

    /// Gives a Call a place. A peer that sends more than it was ever granted is cut off; before the first grant, one
    /// that sends more than it is about to be granted.
    fn admit(&mut self, receive: u32, stage: Stage, prefix: Prefix) -> Option<&mut Slot<HEADER, CHUNKS>> {
        self.admit_as(receive, stage, prefix).map(|(_, slot)| slot)
    }

    fn admit_as(&mut self, receive: u32, stage: Stage, prefix: Prefix) -> Option<(CallId, &mut Slot<HEADER, CHUNKS>)> {
        let may = self.state == State::Open && self.has_place();
        let taken = if may { self.slots.take() } else { None };
        let Some((id, slot)) = taken else {
            self.receipt = Receipt::Release(receive);
            self.fail();
            return None;
        };
        slot.begin(receive, stage, prefix, self.terms.version);
        self.ready(id);
        self.slots.get(id).map(|slot| (id, slot))
    }
}

//! The side that is called (RFC 8166 sections 3 and 4).
//!
//! A Call passes through these stages, and never goes back; one that is refused goes to `Answering` at once:
//!
//! ```text
//! Collecting, or
//! Reading Read chunks -> Delivered -> Answering: pushing results, then the Send -> forgotten
//!                            |            ^                              |           ^
//!                            v            |                              v           |
//!                         Registering the reply      Provided until RDMA_DONE -> Invalidating
//! ```
//!
//! A one-way Call (version two draft -07 section 4.7) is forgotten as soon as the upper layer has carried out the
//! procedure.
//!
//! In version 2, a Call may come in several Sends, and the reply may need several. A Call is then `Collecting` until
//! the last part has come: the driver assembles the parts, in memory that [`Limits`] bounds. Between the parts of a
//! reply no other reply is sent; credits may run out meanwhile.
//!
//! A Call is forgotten when the Send is posted, not when the Send is complete, because the next Call may arrive before
//! the completion does. When the Send is complete, so are the RDMA Writes before, and the memory of the reply is free;
//! the driver has to handle that. A reply that is [`Form::Provided`] lasts longer: the Call keeps the slot, and one
//! credit less is granted. So `RDMA_DONE` needs no table and no Receive of its own, and a peer that never sends
//! `RDMA_DONE` cannot occupy more than the table. The whole reply is registered once, and the segments are parts of
//! that memory.
//!
//! Memory that takes long to register delays no other call: the transfer is `Postponed` until the memory is ready.
//!
//! If RDMA fails behind a Send, the Responder has already forgotten the Call, and the requests that fail after the Send
//! are merely flushed. Only the driver knows which Call ended the connection, so the driver passes on the XID
//! ([`Responder::refuse_xid`]).

mod answer;
mod collection;
mod input;
mod judge;
mod misplaced_chunks;
mod output;
mod poll;
mod receive;
mod reply;
mod slot;
mod transfer;

pub use input::{GrantError, Input};
pub use output::{CallMessage, Output};
pub use reply::{Form, Reply, ReplyFault};

use core::ops::Range;

use heapless::Vec;
use slot::Slot;

use super::queue::Queue;
use super::receipt::Receipt;
use super::slots::Slots;
use super::version::SpeaksTwo;
use super::{CallId, InputError, Limits, Terms};
use crate::lists::Chunks;
use crate::v2::{ErrorBodyV2, ErrorCode};

/// Answer to a malformed message; `ERR_CHUNK` in version 1.
const MALFORMED: ErrorBodyV2 = ErrorBodyV2::Void(ErrorCode::BAD_XDR);
/// Answer if this side lacks resources; `ERR_CHUNK` in version 1.
const SYSTEM: ErrorBodyV2 = ErrorBodyV2::Void(ErrorCode::SYSTEM);

/// Responder of one connection: at most `CALLS` calls at a time, with headers of at most `HEADER` octets, and at most
/// `CHUNKS` Read chunks and as many Write chunks each.
#[derive(Debug)]
pub struct Responder<const CALLS: usize, const HEADER: usize, const CHUNKS: usize> {
    terms: Terms,
    limits: Limits,
    grant: u32,
    /// The largest grant that was sent.
    granted: u32,
    slots: Slots<Slot<HEADER, CHUNKS>, CALLS>,
    /// Number of calls with a slot, now or after enlarging.
    capacity: u32,
    /// Calls for which there may be something to do, each once.
    ready: Queue<CALLS>,
    /// Calls that wait for RDMA Reads of others to complete.
    blocked: Queue<CALLS>,
    /// Number of messages that may be sent, and answers that wait for that.
    permitted: u32,
    unsent: Queue<CALLS>,
    /// The Call whose reply is sent in parts, until the last part.
    continuing: Option<(CallId, SpeaksTwo)>,
    /// The Call that is received in parts, until the last part, even if refused.
    collecting: Option<(CallId, SpeaksTwo)>,
    /// Number of RDMA Reads in flight, and their maximum number.
    reading: u32,
    most_reads: u32,
    /// Maximum number of octets that one RDMA Read or Write moves.
    transfer: u32,
    /// Number of provided replies, including replies about to be, and the maximum number.
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
    /// Creates a new connection, which grants `CALLS` credits.
    #[must_use]
    pub fn new(terms: Terms, limits: Limits) -> Self {
        let capacity = u32::try_from(CALLS).unwrap_or(u32::MAX);
        Self {
            terms,
            limits,
            grant: capacity,
            granted: 0,
            slots: Slots::new(),
            capacity,
            ready: Queue::new(),
            blocked: Queue::new(),
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

    /// Grants this many credits from the next reply on. A peer with more Calls in flight than the largest grant is
    /// disconnected.
    ///
    /// # Errors
    /// [`GrantError`] for 0, which would end all calls (section 3.3.1), and for more than `CALLS`, or than are
    /// [expected](Self::expect).
    pub fn grant(&mut self, credits: u32) -> Result<(), GrantError> {
        if credits == 0 || credits > self.capacity {
            return Err(GrantError);
        }
        self.grant = credits;
        Ok(())
    }

    /// Lets credits be granted for up to `calls` calls, although there are only `CALLS` slots. Whenever the Responder
    /// [is short](Self::is_short), the driver has to [enlarge](Self::enlarge) the Responder before the next message;
    /// otherwise a peer that keeps to the grant is disconnected. So a driver that can allocate memory uses little for a
    /// connection with few calls. Less than `CALLS` has no effect.
    pub fn expect(&mut self, calls: u32) {
        self.capacity = self.capacity.max(calls);
    }

    /// Returns true if one more Call may come, and only a [larger](Self::enlarge) Responder has a free slot.
    #[must_use]
    pub fn is_short(&self) -> bool {
        let count = self.slots.count();
        count >= CALLS && count < self.most_calls().min(self.capacity) as usize
    }

    /// Moves all calls, whose IDs stay, to a Responder with `MORE` slots, which continues in the same state.
    ///
    /// # Errors
    /// This Responder, unchanged, if `MORE` is less than `CALLS`.
    #[expect(clippy::result_large_err, reason = "there is no memory elsewhere to put it")]
    pub fn enlarge<const MORE: usize>(self) -> Result<Responder<MORE, HEADER, CHUNKS>, Self> {
        if MORE < CALLS {
            return Err(self);
        }
        let mut refused = Vec::new();
        for xid in self.refused {
            let _ = refused.push(xid);
        }
        Ok(Responder {
            terms: self.terms,
            limits: self.limits,
            grant: self.grant,
            granted: self.granted,
            slots: self.slots.enlarge(),
            capacity: self.capacity.max(u32::try_from(MORE).unwrap_or(u32::MAX)),
            ready: self.ready.enlarge(),
            blocked: self.blocked.enlarge(),
            permitted: self.permitted,
            unsent: self.unsent.enlarge(),
            continuing: self.continuing,
            collecting: self.collecting,
            reading: self.reading,
            most_reads: self.most_reads,
            transfer: self.transfer,
            provided: self.provided,
            most_provided: self.most_provided,
            refused,
            receipt: self.receipt,
            state: self.state,
        })
    }

    /// Sets the terms of the connection, if agreed only after connection setup. The terms apply from the next Call on.
    pub const fn agree(&mut self, terms: Terms) {
        self.terms = terms;
    }

    /// Sets the number of messages that may be sent now, from [`Channel`](super::Channel). Call this before each
    /// [`poll`](Self::poll) in version 2.
    pub fn permit(&mut self, messages: u32) {
        self.permitted = messages;
        // Without a message to send they would only come back.
        while messages > 0
            && let Some(call) = self.unsent.pop()
        {
            self.ready.push(call);
        }
    }

    /// Returns the number of unanswered Calls whose Receives have been released. In version 2, such Calls still hold
    /// credits, so that the grant bounds the number of Calls at this end. An answer returns one credit: the number is
    /// one less when the answer is sent, and when the permission to send is computed.
    #[must_use]
    pub fn occupied(&self) -> u32 {
        self.slots.iter().fold(0, |sum: u32, (_, slot)| sum.saturating_add(u32::from(slot.receive.is_none())))
    }

    /// Returns the number of unanswered Calls: the Replies that this end owes the peer.
    #[must_use]
    pub fn owed_replies(&self) -> u32 {
        u32::try_from(self.slots.count()).unwrap_or(u32::MAX)
    }

    /// Returns true if a slot is free for one more Call, or for the next part of a Call. Credits of version 2 count
    /// messages of any kind, so there may be more Calls than slots: the other Calls wait in Receives, and no credit is
    /// granted in exchange.
    #[must_use]
    pub fn has_place(&self) -> bool {
        let count = self.slots.count();
        self.collecting.is_some() || (count < self.most_calls() as usize && count < CALLS)
    }

    /// Returns the maximum number of calls of a peer that keeps to the grants.
    fn most_calls(&self) -> u32 {
        self.granted.max(self.grant).saturating_add(self.provided)
    }

    /// Limits the number of RDMA Reads in flight from now on: to the limit of the adapter and the connection (ORD, RFC
    /// 6581 section 3). With more, replies would have to wait. 0 counts as 1; without this limit there is at most one
    /// for each segment of each Call, and one more for each Read chunk in a Long Call.
    pub const fn limit_reads(&mut self, most: u32) {
        self.most_reads = if most == 0 { 1 } else { most };
    }

    /// Limits each RDMA Read and RDMA Write to this many octets from now on: the longest message of the adapter's port.
    /// Longer pieces need several. 0 counts as 1.
    pub const fn limit_transfers(&mut self, octets: u32) {
        self.transfer = if octets == 0 { 1 } else { octets };
    }

    /// Provides a reply that fits nowhere in a Position Zero Read chunk, instead of refusing it: at most `most` at a
    /// time, and always fewer than `CALLS`, or than the calls that are [expected](Self::expect) (RFC 5666 sections 3.5
    /// and 11). RFC 8166 forbids this. Use only for a Requester that is known to read such replies and to send
    /// `RDMA_DONE`; any other would wait for ever.
    ///
    /// As long as a reply is provided, one credit less is granted, so a Receive is left for `RDMA_DONE`, and a peer
    /// that never sends `RDMA_DONE` cannot occupy more. The driver keeps a timer for each, and calls
    /// [`Responder::expire`].
    pub fn provide_replies(&mut self, most: u32) {
        self.most_provided = most.min(self.capacity.saturating_sub(1));
    }

    /// Answers the next Call with this XID with `ERR_CHUNK` before any RDMA Read, once (section 4.5.3).
    ///
    /// An RDMA Read, RDMA Write or Send that fails ends the connection. The Requester makes a new connection,
    /// retransmits the Call, and would lose that connection too. Only the driver recognises the Requester, and the
    /// request that failed: the others are merely flushed. So the driver keeps [`Responder::xid`] with the posted work,
    /// and passes the XID to the Responder of the new connection before the first Receive. If there are more than
    /// `CALLS` XIDs, the oldest is forgotten.
    pub fn refuse_xid(&mut self, xid: u32) {
        if self.refused.is_full() {
            self.refused.rotate_left(1);
            self.refused.pop();
        }
        let _ = self.refused.push(xid);
    }

    /// Returns the XID of a Call, from the transport header.
    #[must_use]
    pub fn xid(&self, call: CallId) -> Option<u32> {
        self.slots.peek(call).map(|slot| slot.prefix.xid)
    }

    /// Returns the length of the Payload stream of an unanswered Call in octets: the size of the memory in which the
    /// Call is assembled, known from the first `Place` or `Read` on.
    #[must_use]
    pub fn length(&self, call: CallId) -> Option<u32> {
        self.slots.peek(call).filter(|slot| slot.is_call()).map(|slot| slot.length)
    }

    /// Returns the parts of the memory of an assembled Call that are neither copied nor read: the XDR padding of each
    /// Read chunk (section 3.4.5.2), at most three octets. Memory that was used before needs zeros there, and only
    /// there. Empty if no such Call is being assembled.
    pub fn padding(&self, call: CallId) -> impl Iterator<Item = Range<u32>> {
        let slot = self.slots.peek(call).filter(|slot| slot.is_call());
        slot.into_iter().flat_map(|slot| &slot.items).filter_map(|item| item.padding())
    }

    /// Returns the chunks of a Call, for the results.
    #[must_use]
    pub fn chunks(&self, call: CallId) -> Option<Chunks<'_>> {
        self.slots.peek(call).map(|slot| slot.lists().chunks)
    }

    /// Handles an event.
    ///
    /// # Errors
    /// An [`InputError`] if that event is impossible.
    pub fn handle(&mut self, input: Input<'_>) -> Result<(), InputError> {
        match input {
            Input::Received { receive, octets } => return self.receive(receive, octets),
            Input::Broken { xid, error } => self.break_call(xid, error),
            Input::Completed { call } => return self.complete_read(call),
            Input::NotPosted { call } => return self.refuse_unposted(call),
            Input::Postponed { call } => return self.postpone_transfer(call),
            Input::Resumed { call } => return self.resume_transfer(call),
            Input::Registered { call, memory } => return self.record_registration(call, memory),
            Input::Invalidated { call } => return self.record_invalidation(call),
            Input::Failed => self.fail(),
            Input::Disconnected => self.disconnect(),
        }
        Ok(())
    }

    /// Puts a Call in the queue that `poll` handles.
    fn mark_ready(&mut self, id: CallId) {
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

    fn disconnect(&mut self) {
        self.state = State::Over;
        self.slots.free_all();
        self.ready.clear();
        self.blocked.clear();
        self.unsent.clear();
        (self.continuing, self.collecting) = (None, None);
    }
}

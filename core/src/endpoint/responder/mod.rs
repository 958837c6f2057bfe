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
//! A Call-only (version two draft -07 section 4.7) is forgotten as soon as the upper layer has carried it out.
//!
//! In version 2, a Call may come in several Sends, and its reply may need several. A Call is then `Collecting` until
//! its last part has come: the driver assembles the parts, in memory that [`Limits`] bounds. Between the parts of a
//! reply no other reply is sent; credits may run out meanwhile.
//!
//! A Call is forgotten when its Send is posted, not when it is complete, because the next Call may arrive before the
//! completion does. When the Send is complete, so are the RDMA Writes before it, and the memory of the reply is free;
//! the driver has to handle that. A reply that is [`Form::Provided`] lasts longer: its Call keeps its slot, and one
//! credit less is granted. So `RDMA_DONE` needs no table and no Receive of its own, and a peer that never sends it
//! cannot hold more than the table. The whole reply is registered once, and the segments are parts of it.
//!
//! Memory that takes long to register delays no other call: moving data into it is `Postponed` until it is ready.
//!
//! If RDMA fails behind a Send, the Responder has already forgotten the Call, and the requests that fail after it are
//! merely flushed. Only the driver knows which Call ended the connection, so the driver hands on its XID
//! ([`Responder::refuse_xid`]).

mod answer;
mod collect;
mod input;
mod judge;
mod misplaced;
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
    /// Number of calls for which there is a slot, or will be.
    room: u32,
    /// Calls for which there may be something to do, each once.
    ready: Queue<CALLS>,
    /// Calls that wait for RDMA Reads of others to complete.
    held: Queue<CALLS>,
    /// Number of messages that may be sent, and answers that wait for that.
    permitted: u32,
    unsent: Queue<CALLS>,
    /// The Call whose reply is sent in parts, until the last part.
    continuing: Option<(CallId, SpeaksTwo)>,
    /// The Call that is received in parts, until the last part, even if it is refused.
    collecting: Option<(CallId, SpeaksTwo)>,
    /// Number of RDMA Reads in flight, and their maximum number.
    reading: u32,
    most_reads: u32,
    /// Maximum number of octets that one RDMA Read or Write moves.
    transfer: u32,
    /// Number of provided replies, and of those about to be, and their maximum number.
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
        let room = u32::try_from(CALLS).unwrap_or(u32::MAX);
        Self {
            terms,
            limits,
            grant: room,
            granted: 0,
            slots: Slots::new(),
            room,
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

    /// Grants this many credits from the next reply on. A peer with more Calls in flight than the largest grant is
    /// disconnected.
    ///
    /// # Errors
    /// [`GrantError`] for 0, which would end all calls (section 3.3.1), and for more than `CALLS`, or than are
    /// [expected](Self::expect).
    pub fn grant(&mut self, credits: u32) -> Result<(), GrantError> {
        if credits == 0 || credits > self.room {
            return Err(GrantError);
        }
        self.grant = credits;
        Ok(())
    }

    /// Lets credits be granted for up to `calls` calls, although there are only `CALLS` slots. Whenever the Responder
    /// [is short](Self::is_short), the driver has to [enlarge](Self::enlarge) it before the next message; otherwise a
    /// peer that keeps to its grant is disconnected. So a driver that can allocate memory has little of it for a
    /// connection with few calls. Less than `CALLS` has no effect.
    pub fn expect(&mut self, calls: u32) {
        self.room = self.room.max(calls);
    }

    /// Returns true if one more Call may come, and only a [larger](Self::enlarge) Responder has a slot for it.
    #[must_use]
    pub fn is_short(&self) -> bool {
        let count = self.slots.count();
        count >= CALLS && count < self.most_calls().min(self.room) as usize
    }

    /// Moves all calls, whose IDs stay, to a Responder with `MORE` slots. It goes on where this one was.
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
            room: self.room.max(u32::try_from(MORE).unwrap_or(u32::MAX)),
            ready: self.ready.enlarge(),
            held: self.held.enlarge(),
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

    /// Sets the terms of the connection, if they are agreed only after its set-up: they apply from the next Call on.
    pub const fn agree(&mut self, terms: Terms) {
        self.terms = terms;
    }

    /// In version 2, where [`Channel`](super::Channel) counts the credits: sets the number of messages that may be sent
    /// now. To be called before each [`poll`](Self::poll).
    pub fn permit(&mut self, messages: u32) {
        self.permitted = messages;
        // Without a message to send they would only come back.
        while messages > 0
            && let Some(call) = self.unsent.pop()
        {
            self.ready.push(call);
        }
    }

    /// Returns the number of unanswered Calls whose Receives have been released. In version 2, they still hold the
    /// credits with which they came, so that the grant bounds the Calls that this end has to hold. An answer gives up
    /// one of them: there is one less when it is sent, and when its permission is computed.
    #[must_use]
    pub fn occupied(&self) -> u32 {
        self.slots.iter().fold(0, |sum: u32, (_, slot)| sum.saturating_add(u32::from(slot.receive.is_none())))
    }

    /// Returns the number of unanswered Calls: the Replies that this end owes its peer.
    #[must_use]
    pub fn owed_replies(&self) -> u32 {
        u32::try_from(self.slots.count()).unwrap_or(u32::MAX)
    }

    /// Returns true if a slot is free for one more Call, or the next part of one. Credits of version 2 count messages
    /// of any kind, so there may be more Calls than slots: those wait in their Receives, and no credit is granted for
    /// them.
    #[must_use]
    pub fn has_place(&self) -> bool {
        let count = self.slots.count();
        self.collecting.is_some() || (count < self.most_calls() as usize && count < CALLS)
    }

    /// Maximum number of calls of a peer that keeps to its grants.
    fn most_calls(&self) -> u32 {
        self.granted.max(self.grant).saturating_add(self.provided)
    }

    /// Limits the number of RDMA Reads in flight from now on: to the limit of the adapter and the connection (ORD, RFC
    /// 6581 section 3). With more, replies would have to wait for them. 0 counts as 1; without this limit there is at
    /// most one for each segment of each Call, and one more for each Read chunk in a Long Call.
    pub const fn limit_reads(&mut self, most: u32) {
        self.most_reads = if most == 0 { 1 } else { most };
    }

    /// Limits each RDMA Read and RDMA Write to this many octets from now on: the longest message of the adapter's port.
    /// Longer pieces need several. 0 counts as 1.
    pub const fn limit_transfers(&mut self, octets: u32) {
        self.transfer = if octets == 0 { 1 } else { octets };
    }

    /// Provides a reply that fits nowhere in a Position Zero Read chunk, instead of refusing it: at most `most` at a
    /// time, and always fewer than `CALLS`, or than the calls that are [expected](Self::expect) (RFC 5666 sections 3.5 and
    /// 11). RFC 8166 forbids this. Use it only for a Requester that is known to pull such replies and to send `RDMA_DONE`;
    /// any other would wait for ever.
    ///
    /// As long as a reply is provided, one credit less is granted, so a Receive is left for its `RDMA_DONE`, and a peer
    /// that never sends one cannot hold more. The driver keeps a timer for each, and calls [`Responder::expire`].
    pub fn provide_replies(&mut self, most: u32) {
        self.most_provided = most.min(self.room.saturating_sub(1));
    }

    /// Answers the next Call with this XID with `ERR_CHUNK` before any RDMA Read, once (section 4.5.3).
    ///
    /// An RDMA Read, RDMA Write or Send that fails ends the connection. The Requester makes a new one, sends the Call
    /// again, and would lose that connection too. Only the driver knows that it is the same Requester, and which
    /// request failed: the others are merely flushed. So it keeps [`Responder::xid`] with its posted work, and passes
    /// it to the Responder of the new connection before the first Receive. If there are more than `CALLS` XIDs, the
    /// oldest is forgotten.
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

    /// Returns the length of the Payload stream of an unanswered Call: the size of the memory in which it is assembled,
    /// known from the first `Place` or `Read` on.
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

    /// Returns the chunks of a Call, for its results.
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
            Input::Received { receive, octets } => return self.received(receive, octets),
            Input::Broken { xid, error } => self.broken(xid, error),
            Input::Completed { call } => return self.completed(call),
            Input::NotPosted { call } => return self.not_posted(call),
            Input::Postponed { call } => return self.postponed(call),
            Input::Resumed { call } => return self.resumed(call),
            Input::Registered { call, memory } => return self.registered(call, memory),
            Input::Invalidated { call } => return self.invalidated(call),
            Input::Failed => self.fail(),
            Input::Disconnected => self.disconnected(),
        }
        Ok(())
    }

    /// Puts a Call in the queue that `poll` handles.
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

    fn disconnected(&mut self) {
        self.state = State::Over;
        self.slots.free_all();
        self.ready.clear();
        self.held.clear();
        self.unsent.clear();
        (self.continuing, self.collecting) = (None, None);
    }
}

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
//! the driver has to handle that. A reply that is [`ReplyForm::Provided`] lasts longer: the Call keeps the slot, and one
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
mod calls;
mod collection;
mod input;
mod judge;
mod output;
mod poll;
mod reception;
mod reply;
mod sender;
mod slot;
mod transfer;

pub use input::{GrantError, Input};
pub use output::{CallMessage, Output};
pub use reply::{Reply, ReplyFault, ReplyForm};

use core::ops::Range;

use calls::CallTable;
use reception::Reception;
use sender::AnswerSender;
use transfer::{Transfers, resume_transfer};

use super::{CallId, InputError, Limits, Terms};
use crate::lists::Chunks;

/// Responder of one connection: at most `CALLS` calls at a time, with headers of at most `HEADER` octets, and at most
/// `CHUNKS` Read chunks and as many Write chunks each.
#[derive(Debug)]
pub struct Responder<const CALLS: usize, const HEADER: usize, const CHUNKS: usize> {
    calls: CallTable<CALLS, HEADER, CHUNKS>,
    reception: Reception<CALLS, HEADER>,
    transfers: Transfers,
    answers: AnswerSender<CALLS>,
}

impl<const CALLS: usize, const HEADER: usize, const CHUNKS: usize> Responder<CALLS, HEADER, CHUNKS> {
    /// Creates a new connection, which grants `CALLS` credits.
    #[must_use]
    pub fn new(terms: Terms, limits: Limits) -> Self {
        Self {
            calls: CallTable::new(terms),
            reception: Reception::new(limits),
            transfers: Transfers::new(),
            answers: AnswerSender::new(),
        }
    }

    /// Grants this many credits from the next reply on. A peer with more Calls in flight than the largest grant is
    /// disconnected.
    ///
    /// # Errors
    /// [`GrantError`] for 0, which would end all calls (section 3.3.1), and for more than `CALLS`, or than are
    /// [expected](Self::expect).
    pub fn grant(&mut self, credits: u32) -> Result<(), GrantError> {
        if credits == 0 || credits > self.calls.capacity {
            return Err(GrantError);
        }
        self.calls.grant = credits;
        Ok(())
    }

    /// Lets credits be granted for up to `calls` calls, although there are only `CALLS` slots. Whenever the Responder
    /// [is short](Self::is_short), the driver has to [enlarge](Self::enlarge) the Responder before the next message;
    /// otherwise a peer that keeps to the grant is disconnected. So a driver that can allocate memory uses little for a
    /// connection with few calls. Less than `CALLS` has no effect.
    pub fn expect(&mut self, calls: u32) {
        self.calls.capacity = self.calls.capacity.max(calls);
    }

    /// Returns true if one more Call may come, and only a [larger](Self::enlarge) Responder has a free slot.
    #[must_use]
    pub fn is_short(&self) -> bool {
        self.calls.is_short()
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
        Ok(Responder {
            calls: self.calls.enlarge(),
            reception: self.reception.enlarge(),
            transfers: self.transfers,
            answers: self.answers.enlarge(),
        })
    }

    /// Sets the terms of the connection, if agreed only after connection setup. The terms apply from the next Call on.
    pub const fn agree(&mut self, terms: Terms) {
        self.calls.terms = terms;
    }

    /// Sets the number of messages that may be sent now, from [`Channel`](super::Channel). Call this before each
    /// [`poll`](Self::poll) in version 2.
    pub fn permit(&mut self, messages: u32) {
        self.answers.permit_messages(messages, &mut self.calls);
    }

    /// Returns the number of unanswered Calls whose Receives have been released. In version 2, such Calls still hold
    /// credits, so that the grant bounds the number of Calls at this end. An answer returns one credit: the number is
    /// one less when the answer is sent, and when the permission to send is computed.
    #[must_use]
    pub fn occupied(&self) -> u32 {
        self.calls.slots.iter().fold(0, |sum: u32, (_, slot)| sum.saturating_add(u32::from(slot.receive.is_none())))
    }

    /// Returns the number of unanswered Calls: the Replies that this end owes the peer.
    #[must_use]
    pub fn owed_replies(&self) -> u32 {
        u32::try_from(self.calls.slots.count()).unwrap_or(u32::MAX)
    }

    /// Returns true if a slot is free for one more Call, or for the next part of a Call. Credits of version 2 count
    /// messages of any kind, so there may be more Calls than slots: the other Calls wait in Receives, and no credit is
    /// granted in exchange.
    #[must_use]
    pub fn has_place(&self) -> bool {
        self.calls.has_place()
    }

    /// Limits the number of RDMA Reads in flight from now on: to the limit of the adapter and the connection (ORD, RFC
    /// 6581 section 3). With more, replies would have to wait. 0 counts as 1; without this limit there is at most one
    /// for each segment of each Call, and one more for each Read chunk in a Long Call.
    pub const fn limit_reads(&mut self, most: u32) {
        self.transfers.most_reads = if most == 0 { 1 } else { most };
    }

    /// Limits each RDMA Read and RDMA Write to this many octets from now on: the longest message of the adapter's port.
    /// Longer pieces need several. 0 counts as 1.
    pub const fn limit_transfers(&mut self, octets: u32) {
        self.transfers.most_octets = if octets == 0 { 1 } else { octets };
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
        self.calls.most_provided = most.min(self.calls.capacity.saturating_sub(1));
    }

    /// Answers the next Call with this XID with `ERR_CHUNK` before any RDMA Read, once (section 4.5.3).
    ///
    /// An RDMA Read, RDMA Write or Send that fails ends the connection. The Requester makes a new connection,
    /// retransmits the Call, and would lose that connection too. Only the driver recognises the Requester, and the
    /// request that failed: the others are merely flushed. So the driver keeps [`Responder::xid`] with the posted work,
    /// and passes the XID to the Responder of the new connection before the first Receive. If there are more than
    /// `CALLS` XIDs, the oldest is forgotten.
    pub fn refuse_xid(&mut self, xid: u32) {
        self.reception.judge.refuse_xid(xid);
    }

    /// Returns the XID of a Call, from the transport header.
    #[must_use]
    pub fn xid(&self, call: CallId) -> Option<u32> {
        self.calls.slots.peek(call).map(|slot| slot.prefix.xid)
    }

    /// Returns the length of the Payload stream of an unanswered Call in octets: the size of the memory in which the
    /// Call is assembled, known from the first `Place` or `Read` on.
    #[must_use]
    pub fn length(&self, call: CallId) -> Option<u32> {
        self.calls.slots.peek(call).filter(|slot| slot.is_call()).map(|slot| slot.length)
    }

    /// Returns the parts of the memory of an assembled Call that are neither copied nor read: the XDR padding of each
    /// Read chunk (section 3.4.5.2), at most three octets. Memory that was used before needs zeros there, and only
    /// there. Empty if no such Call is being assembled.
    pub fn padding(&self, call: CallId) -> impl Iterator<Item = Range<u32>> {
        let slot = self.calls.slots.peek(call).filter(|slot| slot.is_call());
        slot.into_iter().flat_map(|slot| &slot.items).filter_map(|item| item.padding())
    }

    /// Returns the chunks of a Call, for the results.
    #[must_use]
    pub fn chunks(&self, call: CallId) -> Option<Chunks<'_>> {
        self.calls.slots.peek(call).map(|slot| slot.lists().chunks)
    }

    /// Answers a Call that was delivered.
    ///
    /// # Errors
    /// A [`ReplyFault`] if `reply` is no reply to this Call; then nothing is changed.
    pub fn reply(&mut self, call: CallId, reply: &Reply<'_>) -> Result<ReplyForm, ReplyFault> {
        self.calls.plan_reply(call, reply)
    }

    /// Answers a delivered Call with `ERR_CHUNK`: there can be no RPC reply.
    ///
    /// # Errors
    /// [`ReplyFault::NoCall`] if there is no such call.
    pub fn refuse(&mut self, call: CallId) -> Result<(), ReplyFault> {
        self.calls.refuse_delivered(call)
    }

    /// Forgets a delivered one-way Call of version 2: a Call of a procedure that has no reply (version two draft -07
    /// section 4.7). Only the upper layer recognises such a Call; the Requester of any other Call would wait for ever.
    ///
    /// # Errors
    /// [`ReplyFault::NoCall`] if there is no such call; [`ReplyFault::Owed`] in version 1. Then nothing is changed.
    pub fn forget(&mut self, call: CallId) -> Result<(), ReplyFault> {
        self.calls.forget_delivered(call)
    }

    /// Ends the time in which the Requester can read a provided reply. If the Requester is still reading, the
    /// connection ends.
    ///
    /// # Errors
    /// [`InputError::Unexpected`] if there is no such reply, or the end has begun.
    pub fn expire(&mut self, call: CallId) -> Result<(), InputError> {
        self.calls.end_provision(call)
    }

    /// Handles an event.
    ///
    /// # Errors
    /// An [`InputError`] if that event is impossible.
    pub fn handle(&mut self, input: Input<'_>) -> Result<(), InputError> {
        let Self { calls, reception, transfers, answers } = self;
        match input {
            Input::Received { receive, octets } => return reception.receive(receive, octets, calls),
            Input::Broken { xid, error } => calls.break_call(xid, error),
            Input::Completed { call } => return transfers.complete_read(call, calls),
            Input::NotPosted { call } => return transfers.refuse_unposted(call, calls),
            Input::Postponed { call } => return transfers.postpone_transfer(call, calls),
            Input::Resumed { call } => return resume_transfer(call, calls),
            Input::Registered { call, memory } => return calls.record_registration(call, memory),
            Input::Invalidated { call } => return calls.record_invalidation(call),
            Input::Failed => calls.fail(),
            Input::Disconnected => {
                calls.forget_all();
                answers.clear();
            }
        }
        Ok(())
    }
}

//! Calls of a Responder: the table of Calls, the limit on new ones, and the queue of Calls that may have a next step.

use super::slot::{Slot, Stage};
use crate::endpoint::queue::Queue;
use crate::endpoint::slots::Slots;
use crate::endpoint::version::SpeaksTwo;
use crate::endpoint::{CallId, Terms};
use crate::prefix::Prefix;
use crate::v2::{ErrorBodyV2, ErrorCode};

/// Answer to a malformed message; `ERR_CHUNK` in version 1.
pub(super) const MALFORMED: ErrorBodyV2 = ErrorBodyV2::Void(ErrorCode::BAD_XDR);
/// Answer if this side lacks resources; `ERR_CHUNK` in version 1.
pub(super) const SYSTEM: ErrorBodyV2 = ErrorBodyV2::Void(ErrorCode::SYSTEM);

/// Calls of one connection, and the terms and grants that apply to new ones.
#[derive(Debug)]
pub(super) struct CallTable<const CALLS: usize, const HEADER: usize, const CHUNKS: usize> {
    pub(super) terms: Terms,
    /// Number of calls with a slot, now or after enlarging.
    pub(super) capacity: u32,
    pub(super) grant: u32,
    /// The largest grant that was sent.
    granted: u32,
    /// Number of provided replies, including replies about to be.
    pub(super) provided: u32,
    /// Maximum number of provided replies.
    pub(super) most_provided: u32,
    pub(super) slots: Slots<Slot<HEADER, CHUNKS>, CALLS>,
    /// Calls for which there may be something to do, each once.
    pub(super) ready: Queue<CALLS>,
    /// Calls that wait for RDMA Reads of others to complete.
    pub(super) blocked: Queue<CALLS>,
    /// The Call that is received in parts, until the last part, even if refused.
    pub(super) collecting: Option<(CallId, SpeaksTwo)>,
    pub(super) state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Open,
    Failing,
    Over,
}

impl<const CALLS: usize, const HEADER: usize, const CHUNKS: usize> CallTable<CALLS, HEADER, CHUNKS> {
    pub(super) fn new(terms: Terms) -> Self {
        let capacity = u32::try_from(CALLS).unwrap_or(u32::MAX);
        Self {
            terms,
            capacity,
            grant: capacity,
            granted: 0,
            provided: 0,
            most_provided: 0,
            slots: Slots::new(),
            ready: Queue::new(),
            blocked: Queue::new(),
            collecting: None,
            state: State::Open,
        }
    }

    /// Moves all calls to a table of `MORE`, if that is not less.
    pub(super) fn enlarge<const MORE: usize>(self) -> CallTable<MORE, HEADER, CHUNKS> {
        CallTable {
            terms: self.terms,
            capacity: self.capacity.max(u32::try_from(MORE).unwrap_or(u32::MAX)),
            grant: self.grant,
            granted: self.granted,
            provided: self.provided,
            most_provided: self.most_provided,
            slots: self.slots.enlarge(),
            ready: self.ready.enlarge(),
            blocked: self.blocked.enlarge(),
            collecting: self.collecting,
            state: self.state,
        }
    }

    /// Returns true if one more Call may come, and only a larger table has a free slot.
    pub(super) fn is_short(&self) -> bool {
        let count = self.slots.count();
        count >= CALLS && count < self.most_calls().min(self.capacity) as usize
    }

    /// Returns true if a slot is free for one more Call, or for the next part of a Call.
    pub(super) fn has_place(&self) -> bool {
        let count = self.slots.count();
        self.collecting.is_some() || (count < self.most_calls() as usize && count < CALLS)
    }

    /// Returns the maximum number of calls of a peer that keeps to the grants.
    fn most_calls(&self) -> u32 {
        self.granted.max(self.grant).saturating_add(self.provided)
    }

    /// Returns the grant for the next answer.
    pub(super) fn next_grant(&self) -> u32 {
        self.grant.min(self.capacity.saturating_sub(self.provided))
    }

    /// Records that an answer with this grant is sent.
    pub(super) fn record_grant(&mut self, grant: u32) {
        self.granted = self.granted.max(grant);
    }

    /// Gives a Call a slot. Disconnects a peer that sends more than was ever granted; before the first grant, more than
    /// is about to be granted.
    pub(super) fn admit(
        &mut self,
        receive: u32,
        stage: Stage,
        prefix: Prefix,
    ) -> Option<(CallId, &mut Slot<HEADER, CHUNKS>)> {
        let may = self.state == State::Open && self.has_place();
        let taken = if may { self.slots.take_slot() } else { None };
        let Some((id, slot)) = taken else {
            self.fail();
            return None;
        };
        slot.begin_call(receive, stage, prefix, self.terms.version);
        self.mark_ready(id);
        self.slots.get(id).map(|slot| (id, slot))
    }

    /// Puts a Call in the queue that `poll` handles.
    pub(super) fn mark_ready(&mut self, id: CallId) {
        if let Some(slot) = self.slots.get(id)
            && !slot.queued
        {
            slot.queued = true;
            self.ready.push(id);
        }
    }

    /// Ends the connection, unless the end has begun.
    pub(super) fn fail(&mut self) {
        if self.state == State::Open {
            self.state = State::Failing;
        }
    }

    /// Forgets all Calls at the end of the connection.
    pub(super) fn forget_all(&mut self) {
        self.state = State::Over;
        self.slots.free_all();
        self.ready.clear();
        self.blocked.clear();
        self.collecting = None;
    }
}

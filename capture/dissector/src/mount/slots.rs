//! Slots of the sessions of NFSv4.1: a client has as many calls in flight as its session has slots (RFC 8881 section 2.10.6).
//!
//! CREATE_SESSION shows the number of slots, and SEQUENCE the slot of each call. A call that is sent when a reply freed a slot, while all
//! slots were in use, waited for that slot. A session has the slots of all its connections together.
//!
//! - Without CREATE_SESSION in the capture, nothing is said of a session.
//! - If the capture may lack calls or replies, a slot in use may be free: such a slot does not count until its next call.

use std::collections::VecDeque;

use super::CallPlace;
use crate::carrier::table::Map;
use crate::event::Event;
use crate::file::Time;
use crate::link::Address;
use crate::nfs::{OperationCode, SequenceArguments, SessionId, Sessions};
use crate::rpc::credits::CreditLimit;
use crate::rpc::header::Dialect;
use crate::rpc::message::Message;
use crate::rpc::properties::MessageDirection;
use crate::rpc::slots::SlotWaitUnknown;
use crate::rpc::transaction::Transaction;

/// The most slots of a session that are followed.
const SLOTS: u32 = 1024;
/// The most calls in sessions whose replies or ends are awaited.
const CALLS: usize = 16_384;

/// A session of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct SessionKey {
    server: Address,
    session: SessionId,
}

/// A slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Slot {
    #[default]
    Free,
    /// A call with this sequence number waits.
    Used(u32),
    /// A call with this sequence number waits, or its reply is missing.
    Doubtful(u32),
}

/// Availability of slots since the last call.
#[derive(Clone, Copy, Debug)]
enum SlotsLately {
    /// There was always a free slot.
    Free,
    /// All were in use for this many nanoseconds, until that time.
    Used(u64, Time),
    /// The capture does not show that.
    Unknown,
}

/// Slots of a session.
#[derive(Clone, Debug)]
struct SessionSlots {
    /// Slots that CREATE_SESSION granted.
    size: u32,
    /// Slots that the server wanted to be used at last.
    target: u32,
    slots: Vec<Slot>,
    /// Number of slots that are certainly in use.
    used: u32,
    /// Time since which all slots are in use.
    full_since: Option<Time>,
    lately: SlotsLately,
}

impl SessionSlots {
    const fn new(size: u32) -> Self {
        Self { size, target: size, slots: Vec::new(), used: 0, full_since: None, lately: SlotsLately::Free }
    }

    fn is_full(&self) -> bool {
        self.used >= self.size.min(self.target)
    }

    /// Returns true if several calls wait, or the server has lowered the number of slots.
    const fn is_busy(&self) -> bool {
        self.used > 1 || self.target < self.size
    }

    /// Changes the slots in use, or the target.
    fn change(&mut self, time: Time, change: impl FnOnce(&mut Self)) {
        let was_full = self.is_full();
        change(self);
        match (was_full, self.is_full()) {
            (false, true) => self.full_since = Some(time),
            (true, false) => {
                if let Some(since) = self.full_since.take() {
                    self.lately = SlotsLately::Used(time.0.saturating_sub(since.0), time);
                }
            }
            _ => {}
        }
    }

    /// Takes a call. Returns the nanoseconds up to the reply that freed the slot, for which all slots were in use.
    fn call(&mut self, sequence: SequenceArguments, time: Time) -> Result<u64, SlotWaitUnknown> {
        let SequenceArguments { slot_id, sequence_id, .. } = sequence;
        if slot_id >= SLOTS {
            self.doubt();
            return Err(SlotWaitUnknown::Missed);
        }
        match self.slot(slot_id) {
            // Another try of the call that has the slot.
            Slot::Used(before) | Slot::Doubtful(before) if before == sequence_id => return Ok(0),
            // The reply to the call before is missing.
            Slot::Used(_) => self.doubt(),
            Slot::Doubtful(_) | Slot::Free => {}
        }
        let waited = match self.lately {
            SlotsLately::Unknown => Err(SlotWaitUnknown::Missed),
            SlotsLately::Used(length, ended) if time.0.saturating_sub(ended.0) < length && !self.is_full() => {
                Ok(length)
            }
            SlotsLately::Used(..) | SlotsLately::Free => Ok(0),
        };
        self.lately = SlotsLately::Free;
        self.change(time, |session| {
            session.set(slot_id, Slot::Used(sequence_id));
            session.used = session.used.saturating_add(1);
        });
        waited
    }

    /// Takes the first reply to the call on a slot. `target`: number of slots that the server wants to be used, if the reply shows that.
    fn reply(&mut self, slot: u32, target: Option<u32>, time: Time) {
        self.change(time, |session| {
            session.used -= u32::from(matches!(session.slot(slot), Slot::Used(_)));
            session.set(slot, Slot::Free);
            session.target = target.unwrap_or(session.target);
        });
    }

    /// Notes that calls or replies may be missing: no slot is certainly in use.
    fn doubt(&mut self) {
        for slot in &mut self.slots {
            if let Slot::Used(sequence) = *slot {
                *slot = Slot::Doubtful(sequence);
            }
        }
        (self.used, self.full_since, self.lately) = (0, None, SlotsLately::Unknown);
    }

    fn slot(&self, number: u32) -> Slot {
        self.slots.get(number as usize).copied().unwrap_or_default()
    }

    fn set(&mut self, number: u32, slot: Slot) {
        let number = number as usize;
        if self.slots.len() <= number {
            self.slots.resize(number.saturating_add(1), Slot::Free);
        }
        self.slots.get_mut(number).into_iter().for_each(|known| *known = slot);
    }
}

/// A call in a session, whose reply or end is awaited.
#[derive(Clone, Copy, Debug)]
struct SlotCall {
    key: SessionKey,
    slot: u32,
    waited: Result<u64, SlotWaitUnknown>,
    is_answered: bool,
}

/// Slots of all sessions whose CREATE_SESSION was captured.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    sessions: Map<SessionKey, SessionSlots>,
    calls: Map<CallPlace, SlotCall>,
}

impl Slots {
    /// Takes the events after the first `known`.
    #[inline]
    pub(crate) fn take_events(&mut self, events: &mut VecDeque<Event>, known: usize) {
        for event in events.range_mut(known..) {
            match event {
                Event::Message(message) => self.message(message),
                Event::Transaction(transaction) => self.transaction(transaction),
                _ => {}
            }
        }
    }

    fn message(&mut self, message: &Message) {
        let Some(rpc) = message.rpc.as_ref().filter(|rpc| !rpc.reverse) else {
            return self.reply(message);
        };
        match (rpc.direction, rpc.operations.first().map(|operation| operation.code)) {
            (MessageDirection::Call, Some(OperationCode::SEQUENCE)) if !self.sessions.is_empty() => self.call(message),
            (MessageDirection::Call, _) => {}
            (MessageDirection::Reply, _) => {
                if rpc.operations.iter().any(|operation| operation.code == OperationCode::CREATE_SESSION) {
                    self.create(message);
                }
                self.reply(message);
            }
        }
    }

    /// Learns the session in the reply to CREATE_SESSION.
    #[cold]
    fn create(&mut self, message: &Message) {
        let created = message.arguments().into_iter().find_map(|arguments| arguments.session?.created);
        let Some(created) = created else { return };
        if self.sessions.len() >= Sessions::MAX {
            self.sessions.clear();
            self.calls.clear();
        }
        let key = SessionKey { server: message.from, session: created.session };
        self.sessions.insert(key, SessionSlots::new(created.fore.calls));
    }

    fn call(&mut self, message: &Message) {
        let Some(sequence) = message.sequence() else { return };
        let key = SessionKey { server: message.to, session: sequence.session };
        let Some(session) = self.sessions.get_mut(&key) else { return };
        if is_doubtful(message) {
            session.doubt();
        }
        let waited = session.call(sequence, message.stamp.time);
        if self.calls.len() >= CALLS {
            self.calls.clear();
            self.sessions.values_mut().for_each(SessionSlots::doubt);
        }
        let call = SlotCall { key, slot: sequence.slot_id, waited, is_answered: false };
        self.calls.insert(CallPlace::from_message(message), call);
    }

    fn reply(&mut self, message: &Message) {
        if self.calls.is_empty() {
            return;
        }
        let place = CallPlace { requester: message.sender.other(), ..CallPlace::from_message(message) };
        let Some(call) = self.calls.get_mut(&place).filter(|call| !call.is_answered) else { return };
        call.is_answered = true;
        let Some(session) = self.sessions.get_mut(&call.key) else { return };
        if is_doubtful(message) {
            session.doubt();
        }
        // A call that was alone in a session whose slots the server has not lowered waited for none.
        let target = session.is_busy().then(|| message.sequence_results()).flatten();
        let target = target.map(|results| results.target_highest_slot_id.saturating_add(1));
        session.reply(call.slot, target, message.stamp.time);
    }

    /// Adds the wait for a slot to an RPC.
    fn transaction(&mut self, transaction: &mut Transaction) {
        let first = transaction.operations.first().map(|first| first.code);
        if first != Some(OperationCode::SEQUENCE) || transaction.slot_wait.is_some() {
            return;
        }
        let unknown = transaction.credit_wait.err().and_then(SlotWaitUnknown::of_credits);
        let waited = self.calls.remove(&CallPlace::from_transaction(transaction)).map(|call| call.waited);
        transaction.slot_wait = Some(match (waited, unknown) {
            (Some(Ok(_)), Some(unknown)) => Err(unknown),
            (Some(waited), _) => waited,
            (None, Some(SlotWaitUnknown::CallMissing)) => Err(SlotWaitUnknown::CallMissing),
            (None, _) if self.is_known(transaction) => Err(SlotWaitUnknown::Missed),
            (None, _) => Err(SlotWaitUnknown::SessionMissing),
        });
    }

    /// Returns true if the session of an RPC is known.
    fn is_known(&self, transaction: &Transaction) -> bool {
        let key = |sequence: SequenceArguments| SessionKey { server: transaction.to, session: sequence.session };
        !self.sessions.is_empty()
            && transaction.sequence().is_some_and(|sequence| self.sessions.contains_key(&key(sequence)))
    }
}

/// Returns true if calls or replies may be missing before a message.
fn is_doubtful(message: &Message) -> bool {
    let limit = message.credit_use.map(|(_, credits)| credits.limit);
    limit == Some(CreditLimit::Unknown) || message.dialect != Dialect::Version1
}

//! Answers of the upper layer to a Call: a reply, or none; and the memory of a provided reply.

use super::calls::{CallTable, MALFORMED, SYSTEM};
use super::reply::{Reply, ReplyFault, ReplyForm};
use super::slot::{Slot, Stage};
use crate::endpoint::{CallId, InputError, RegisteredMemory, stream};
use crate::rpc::MessageType;

impl<const CALLS: usize, const HEADER: usize, const CHUNKS: usize> CallTable<CALLS, HEADER, CHUNKS> {
    /// Chooses the form of the reply to a delivered Call.
    pub(super) fn plan_reply(&mut self, call: CallId, reply: &Reply<'_>) -> Result<ReplyForm, ReplyFault> {
        let (terms, may_provide) = (self.terms, self.provided < self.most_provided);
        let slot = self.find_delivered(call)?;
        if MessageType::peek(reply.head) != Some((slot.prefix.xid, MessageType::REPLY)) {
            return Err(ReplyFault::Xid);
        }
        if !stream::is_sound(reply.head, reply.length, reply.results) {
            return Err(ReplyFault::Items);
        }
        let form = match slot.plan(reply, &terms, may_provide) {
            Ok(form) => {
                slot.stage = if form == ReplyForm::Provided { Stage::Register } else { Stage::Answering };
                form
            }
            Err(error) => {
                slot.stage = Stage::Refusing(slot.prefix, error);
                ReplyForm::Refused
            }
        };
        self.provided = self.provided.saturating_add(u32::from(form == ReplyForm::Provided));
        self.mark_ready(call);
        Ok(form)
    }

    /// Refuses a delivered Call.
    pub(super) fn refuse_delivered(&mut self, call: CallId) -> Result<(), ReplyFault> {
        let slot = self.find_delivered(call)?;
        slot.stage = Stage::Refusing(slot.prefix, MALFORMED);
        self.mark_ready(call);
        Ok(())
    }

    /// Forgets a delivered one-way Call.
    pub(super) fn forget_delivered(&mut self, call: CallId) -> Result<(), ReplyFault> {
        let version = self.terms.version;
        let slot = self.find_delivered(call)?;
        if version.family().is_none() {
            return Err(ReplyFault::Owed);
        }
        if slot.receive.is_some() {
            slot.stage = Stage::Forgetting;
            self.mark_ready(call);
        } else {
            self.slots.free(call);
        }
        Ok(())
    }

    fn find_delivered(&mut self, call: CallId) -> Result<&mut Slot<HEADER, CHUNKS>, ReplyFault> {
        self.slots.get(call).filter(|slot| slot.stage == Stage::Delivered).ok_or(ReplyFault::NoCall)
    }

    pub(super) fn record_registration(
        &mut self,
        call: CallId,
        memory: Option<RegisteredMemory>,
    ) -> Result<(), InputError> {
        let handle_of = |memory: Option<RegisteredMemory>| memory.map(|memory| memory.handle);
        let handle = handle_of(memory);
        if handle.is_some() && self.slots.iter().any(|(_, slot)| handle_of(slot.memory) == handle) {
            return Err(InputError::HandleInUse);
        }
        let slot = self.slots.get(call).filter(|slot| slot.stage == Stage::Registering);
        let slot = slot.ok_or(InputError::Unexpected)?;
        (slot.memory, slot.stage) = (memory, Stage::Answering);
        if memory.is_none() {
            slot.stage = Stage::Refusing(slot.prefix, SYSTEM);
            self.provided = self.provided.saturating_sub(1);
        }
        self.mark_ready(call);
        Ok(())
    }

    /// Handles `RDMA_DONE`, which has no answer. If no reply is provided, discards the message (section 4.6.2).
    pub(super) fn handle_done(&mut self, xid: u32) {
        let provided = |slot: &Slot<HEADER, CHUNKS>| slot.stage == Stage::Provided && slot.prefix.xid == xid;
        let call = self.slots.iter().find(|(_, slot)| provided(slot)).map(|(call, _)| call);
        let _ = call.map(|call| self.end_provision(call));
    }

    /// Ends the time in which the Requester can read a provided reply.
    pub(super) fn end_provision(&mut self, call: CallId) -> Result<(), InputError> {
        let slot = self.slots.get(call).filter(|slot| slot.stage == Stage::Provided);
        slot.ok_or(InputError::Unexpected)?.stage = Stage::Invalidate;
        self.mark_ready(call);
        Ok(())
    }

    pub(super) fn record_invalidation(&mut self, call: CallId) -> Result<(), InputError> {
        let slot = self.slots.get(call).filter(|slot| slot.stage == Stage::Invalidating);
        slot.ok_or(InputError::Unexpected)?;
        self.slots.free(call);
        self.provided = self.provided.saturating_sub(1);
        Ok(())
    }
}

//! Reports of the driver about RDMA Reads and RDMA Writes, and the memory of a provided reply.

use super::slot::Stage;
use super::{Responder, SYSTEM};
use crate::endpoint::{CallId, InputError, RegisteredMemory};

impl<const CALLS: usize, const HEADER: usize, const CHUNKS: usize> Responder<CALLS, HEADER, CHUNKS> {
    pub(super) fn complete_read(&mut self, call: CallId) -> Result<(), InputError> {
        let slot = self.slots.get(call).ok_or(InputError::Unexpected)?;
        slot.reading = slot.reading.checked_sub(1).ok_or(InputError::Unexpected)?;
        self.end_read(call);
        Ok(())
    }

    /// Records that an RDMA Read of a Call has ended.
    fn end_read(&mut self, call: CallId) {
        self.reading = self.reading.saturating_sub(1);
        self.mark_ready(call);
        while let Some(call) = self.blocked.pop() {
            self.ready.push(call);
        }
    }

    pub(super) fn refuse_unposted(&mut self, call: CallId) -> Result<(), InputError> {
        let slot = self.slots.get(call).filter(|slot| !slot.postponed).ok_or(InputError::Unexpected)?;
        let was_reading = match slot.stage {
            Stage::Reading if slot.reading > 0 => true,
            Stage::Answering if slot.has_written() => false,
            _ => return Err(InputError::Unexpected),
        };
        slot.stage = Stage::Refusing(slot.prefix, SYSTEM);
        if was_reading {
            // The other Reads of this Call complete before it is answered and forgotten.
            slot.reading = slot.reading.saturating_sub(1);
            self.end_read(call);
        }
        Ok(())
    }

    pub(super) fn postpone_transfer(&mut self, call: CallId) -> Result<(), InputError> {
        let slot = self.slots.get(call).ok_or(InputError::Unexpected)?;
        let was_reading = slot.stage == Stage::Reading;
        if !slot.postpone_piece() {
            return Err(InputError::Unexpected);
        }
        if was_reading {
            slot.reading = slot.reading.saturating_sub(1);
            self.end_read(call);
        }
        Ok(())
    }

    pub(super) fn resume_transfer(&mut self, call: CallId) -> Result<(), InputError> {
        let slot = self.slots.get(call).filter(|slot| slot.postponed);
        slot.ok_or(InputError::Unexpected)?.postponed = false;
        self.mark_ready(call);
        Ok(())
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

    /// Ends the time in which the Requester can read a provided reply. If the Requester is still reading, the
    /// connection ends.
    ///
    /// # Errors
    /// [`InputError::Unexpected`] if there is no such reply, or the end has begun.
    pub fn expire(&mut self, call: CallId) -> Result<(), InputError> {
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

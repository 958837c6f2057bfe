//! Reports of the driver about RDMA Reads and RDMA Writes, and the memory of a provided reply.

use super::slot::{Slot, Stage};
use super::{Responder, SYSTEM};
use crate::endpoint::{CallId, InputError};

impl<const CALLS: usize, const HEADER: usize, const CHUNKS: usize> Responder<CALLS, HEADER, CHUNKS> {
    pub(super) fn completed(&mut self, call: CallId) -> Result<(), InputError> {
        let slot = self.slots.get(call).ok_or(InputError::Unexpected)?;
        slot.reading = slot.reading.checked_sub(1).ok_or(InputError::Unexpected)?;
        self.read(call);
        Ok(())
    }

    /// An RDMA Read of a Call has ended.
    fn read(&mut self, call: CallId) {
        self.reading = self.reading.saturating_sub(1);
        self.ready(call);
        while let Some(call) = self.held.pop() {
            self.ready.push(call);
        }
    }

    pub(super) fn not_posted(&mut self, call: CallId) -> Result<(), InputError> {
        let slot = self.slots.get(call).filter(|slot| !slot.postponed).ok_or(InputError::Unexpected)?;
        let pulling = match slot.stage {
            Stage::Pulling if slot.reading > 0 => true,
            Stage::Answering if slot.has_written() => false,
            _ => return Err(InputError::Unexpected),
        };
        slot.stage = Stage::Refusing(slot.prefix, SYSTEM);
        if pulling {
            // The other Reads of this Call complete before it is answered and forgotten.
            slot.reading = slot.reading.saturating_sub(1);
            self.read(call);
        }
        Ok(())
    }

    pub(super) fn postponed(&mut self, call: CallId) -> Result<(), InputError> {
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

    pub(super) fn resumed(&mut self, call: CallId) -> Result<(), InputError> {
        let slot = self.slots.get(call).filter(|slot| slot.postponed);
        slot.ok_or(InputError::Unexpected)?.postponed = false;
        self.ready(call);
        Ok(())
    }

    pub(super) fn registered(&mut self, call: CallId, memory: Option<(u32, u64)>) -> Result<(), InputError> {
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

    pub(super) fn invalidated(&mut self, call: CallId) -> Result<(), InputError> {
        let slot = self.slots.get(call).filter(|slot| slot.stage == Stage::Invalidating);
        slot.ok_or(InputError::Unexpected)?;
        self.slots.free(call);
        self.provided = self.provided.saturating_sub(1);
        Ok(())
    }
}

//! Limits of RDMA Reads and RDMA Writes, and what the driver reports about each.

use super::calls::{CallTable, SYSTEM};
use super::slot::Stage;
use crate::endpoint::{CallId, InputError};

/// RDMA Reads in flight, and limits of RDMA Reads and RDMA Writes.
#[derive(Debug)]
pub(super) struct Transfers {
    /// Number of RDMA Reads in flight.
    reading: u32,
    /// Maximum number of RDMA Reads in flight.
    pub(super) most_reads: u32,
    /// Maximum number of octets that one RDMA Read or Write moves.
    pub(super) most_octets: u32,
}

impl Transfers {
    pub(super) const fn new() -> Self {
        Self { reading: 0, most_reads: u32::MAX, most_octets: u32::MAX }
    }

    /// Returns true if one more RDMA Read may be posted.
    pub(super) const fn may_read(&self) -> bool {
        self.reading < self.most_reads
    }

    /// Counts an RDMA Read that the driver is asked to post.
    pub(super) const fn begin_read(&mut self) {
        self.reading = self.reading.saturating_add(1);
    }

    pub(super) fn complete_read<const CALLS: usize, const HEADER: usize, const CHUNKS: usize>(
        &mut self,
        call: CallId,
        calls: &mut CallTable<CALLS, HEADER, CHUNKS>,
    ) -> Result<(), InputError> {
        let slot = calls.slots.get(call).ok_or(InputError::Unexpected)?;
        slot.reading = slot.reading.checked_sub(1).ok_or(InputError::Unexpected)?;
        self.end_read(call, calls);
        Ok(())
    }

    /// Records that an RDMA Read of a Call has ended.
    fn end_read<const CALLS: usize, const HEADER: usize, const CHUNKS: usize>(
        &mut self,
        call: CallId,
        calls: &mut CallTable<CALLS, HEADER, CHUNKS>,
    ) {
        self.reading = self.reading.saturating_sub(1);
        calls.mark_ready(call);
        while let Some(call) = calls.blocked.pop() {
            calls.ready.push(call);
        }
    }

    pub(super) fn refuse_unposted<const CALLS: usize, const HEADER: usize, const CHUNKS: usize>(
        &mut self,
        call: CallId,
        calls: &mut CallTable<CALLS, HEADER, CHUNKS>,
    ) -> Result<(), InputError> {
        let slot = calls.slots.get(call).filter(|slot| !slot.postponed).ok_or(InputError::Unexpected)?;
        let was_reading = match slot.stage {
            Stage::Reading if slot.reading > 0 => true,
            Stage::Answering if slot.has_written() => false,
            _ => return Err(InputError::Unexpected),
        };
        slot.stage = Stage::Refusing(slot.prefix, SYSTEM);
        if was_reading {
            // The other Reads of this Call complete before it is answered and forgotten.
            slot.reading = slot.reading.saturating_sub(1);
            self.end_read(call, calls);
        }
        Ok(())
    }

    pub(super) fn postpone_transfer<const CALLS: usize, const HEADER: usize, const CHUNKS: usize>(
        &mut self,
        call: CallId,
        calls: &mut CallTable<CALLS, HEADER, CHUNKS>,
    ) -> Result<(), InputError> {
        let slot = calls.slots.get(call).ok_or(InputError::Unexpected)?;
        let was_reading = slot.stage == Stage::Reading;
        if !slot.postpone_piece() {
            return Err(InputError::Unexpected);
        }
        if was_reading {
            slot.reading = slot.reading.saturating_sub(1);
            self.end_read(call, calls);
        }
        Ok(())
    }
}

/// Lets a postponed transfer be output again.
pub(super) fn resume_transfer<const CALLS: usize, const HEADER: usize, const CHUNKS: usize>(
    call: CallId,
    calls: &mut CallTable<CALLS, HEADER, CHUNKS>,
) -> Result<(), InputError> {
    let slot = calls.slots.get(call).filter(|slot| slot.postponed);
    slot.ok_or(InputError::Unexpected)?.postponed = false;
    calls.mark_ready(call);
    Ok(())
}

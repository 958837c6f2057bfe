//! Items that a session missed, or could not place.
//!
//! Something counts as not moved for a call only if no item in this module may have been moved for that call
//! (`memory.rs`). There are two questions: [`UnmatchedItems::may_be_for`] when the call begins to wait, and whether
//! [`UnmatchedItems::counts`] are still the same when the call stops waiting.

use std::collections::VecDeque;

use super::call::Call;
use super::memory::Access;
use crate::carrier::operation::{DISORDER, MemoryAddress, Side, Sides};

/// The most RDMA operations for unknown calls that are remembered.
const OPERATIONS: usize = 64;

/// Items that a session missed, or could not place.
#[derive(Debug, Default)]
pub(super) struct UnmatchedItems {
    /// Number of items of each end.
    counts: Sides<u32>,
    /// The last frame in which something was missed or could not be placed.
    last: u64,
    /// The last RDMA operations for which no call was known.
    operations: VecDeque<UnmatchedOperation>,
    /// The frame of the last operation that is not remembered any more.
    forgotten: Option<u64>,
}

/// The beginning of an RDMA operation for which no call was known; the call may be captured after the operation.
#[derive(Debug)]
pub(super) struct UnmatchedOperation {
    pub(super) frame: u64,
    /// The end that owns the memory.
    pub(super) owner: Side,
    pub(super) access: Access,
    pub(super) address: MemoryAddress,
}

impl UnmatchedItems {
    /// Returns the number of items that were missed or could not be placed.
    pub(super) fn count(&self) -> u64 {
        u64::from(self.counts.active) + u64::from(self.counts.passive)
    }

    /// Returns the number of items of each end that were missed or could not be placed.
    pub(super) const fn counts(&self) -> Sides<u32> {
        self.counts
    }

    /// Something that this end sent was missed or could not be placed, which this frame shows.
    pub(super) fn count_item(&mut self, from: Side, frame: u64) {
        let count = self.counts.get_mut(from);
        *count = count.wrapping_add(1);
        self.last = frame.max(self.last);
    }

    /// An RDMA operation is for no known call.
    pub(super) fn add_operation(&mut self, operation: UnmatchedOperation) {
        if self.operations.len() == OPERATIONS {
            self.forgotten = self.operations.pop_front().map(|operation| operation.frame).max(self.forgotten);
        }
        self.operations.push_back(operation);
    }

    /// Returns true if something that was missed or could not be placed may be for a call that begins to wait only now.
    pub(super) fn may_be_for(&self, call: &Call) -> bool {
        let frame = call.message.stamp.frame;
        // The call was held up, and what was captured after it was not.
        let is_held_up = frame < self.last;
        // The call was captured after what is for it.
        let is_near = |before: u64| frame <= before + DISORDER;
        is_held_up
            || self.forgotten.is_some_and(is_near)
            || self.operations.iter().any(|operation| is_near(operation.frame) && operation.may_be_for(call))
    }
}

impl UnmatchedOperation {
    fn may_be_for(&self, call: &Call) -> bool {
        let MemoryAddress { handle, offset } = self.address;
        self.owner == call.message.sender
            && call.segments.iter().any(|segment| {
                (segment.access, segment.handle) == (self.access, handle)
                    && offset.wrapping_sub(segment.offset) < u64::from(segment.length)
            })
    }
}

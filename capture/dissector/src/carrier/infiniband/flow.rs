//! The packets that go in one direction.

use crate::link::Address;

/// Packets from one address to one queue pair of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Flow {
    pub(super) source: Address,
    pub(super) destination: Address,
    pub(super) queue_pair: u32,
}

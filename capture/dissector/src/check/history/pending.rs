//! Findings that wait for their proof.

use crate::carrier::operation::{MemoryAddress, Side};
use crate::check::found::Found;

/// The most findings of a connection that wait for their proof.
pub(super) const PENDING: usize = 256;

/// A finding that rests on something not being there. It stands once the end that should have sent the missing thing
/// goes on without a hole.
#[derive(Debug)]
pub(super) struct PendingFinding {
    pub(super) found: Found,
    /// The end whose Sends prove the finding.
    pub(super) proof: Side,
    pub(super) order: OrderProof,
    /// True if a Send of that end has come since.
    pub(super) proven: bool,
    /// Address of the memory that nothing seemed to advertise.
    pub(super) memory: Option<MemoryAddress>,
}

/// Dependency of a finding on the order of the two directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OrderProof {
    /// The finding does not depend on it.
    Free,
    /// The data sent at this place has to come before the next Send of the other end, which shows that by its
    /// acknowledgements. Only the end of the connection shows that nothing else was out of order.
    Before(u64),
    /// The order has been shown.
    Told,
}

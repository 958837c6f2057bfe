//! Findings that wait for their proof.

use crate::carrier::operation::{MemoryAddress, Side};
use crate::check::finding::Found;

/// The most findings of a connection that wait for their proof.
pub(super) const PENDING: usize = 256;

/// A finding that rests on something not being there. The finding stands once the end that should have sent the missing
/// thing goes on without a gap.
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
    /// The finding does not depend on the order.
    Free,
    /// The data sent at this place has to come before the next Send of the other end, whose acknowledgements show that.
    /// Only the end of the connection shows that nothing else was out of order.
    Before(u64),
    /// The order has been shown.
    Told,
}

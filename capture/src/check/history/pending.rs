//! Findings that wait for their proof.

use crate::carrier::operation::Side;
use crate::check::found::Found;

/// Findings of a connection that wait for their proof.
pub(super) const PENDING: usize = 256;

/// Frames by which a capture may show packets out of order: as many as are held up for one that is missing.
pub(super) const DISORDER: u64 = 4096;

/// A finding that rests on something not being there. It stands when the end that should have sent that goes on without
/// anything missing.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) found: Found,
    /// Whose Sends prove it.
    pub(super) proof: Side,
    pub(super) order: OrderProof,
    /// A Send of that end came since.
    pub(super) proven: bool,
}

/// How a finding rests on the order of the two directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OrderProof {
    /// It does not.
    Free,
    /// What was sent at this place came before the next Send of the other end: that has to say so by what it acknowledges. Only
    /// the end of the connection tells that nothing was out of order besides.
    Before(u64),
    /// It has said so.
    Told,
}

//! Use of an event.

use super::rpc::TracedRpc;
use crate::rpc::kernel_fault::KernelFault;

/// Use of an event.
pub(super) enum EventUse {
    /// The event says nothing of RPCs, or is not known.
    None,
    /// The event was noted.
    Noted,
    /// The event ends an RPC.
    Rpc(Box<TracedRpc>),
    /// The event is a fault.
    Fault(KernelFault),
}

impl EventUse {
    /// The use of an event that may end an RPC.
    pub(super) fn of_rpc(rpc: Option<TracedRpc>) -> Self {
        rpc.map_or(Self::Noted, |rpc| Self::Rpc(Box::new(rpc)))
    }
}

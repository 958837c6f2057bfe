//! All RPCs of two captures.

use rpcrdma_dissector::Counts;
use serde::Serialize;

use super::chance::Limit;
use super::fault::{FaultChange, FaultOutcome};
use super::operation::{FaultChanges, Faults, FaultsObject};

/// Packets of RPC-over-RDMA connections.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PacketCounts {
    all: u64,
    sent_again: u64,
}

impl PacketCounts {
    /// Adds the packets of one end.
    pub(super) const fn add_counts(&mut self, counts: &Counts) {
        self.all += counts.packets;
        self.sent_again += counts.retransmitted + counts.replaced;
    }
}

/// All RPCs before and after.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct ComparedTotal {
    /// Numbers of the first capture.
    pub(super) before: TotalObject,
    /// Numbers of the second capture.
    pub(super) after: TotalObject,
    /// Changes of calls without a reply, failures and retransmissions.
    #[serde(rename = "faults")]
    pub(super) changes: FaultChanges,
    /// `true` if a change is `worse`, and that is significant among these three too (Holm's method), or if calls are without a reply in
    /// the second capture only.
    pub(super) regression: bool,
}

/// The numbers of all RPCs of one capture.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct TotalObject {
    /// RPCs.
    pub(super) rpcs: u64,
    /// Faults of these RPCs.
    pub(super) faults: FaultsObject,
    /// Packets of RPC-over-RDMA connections.
    pub(super) packets: u64,
    /// Retransmitted packets.
    pub(super) retransmitted_packets: u64,
}

/// Faults and packets of all RPCs of one capture.
pub(super) struct ComparedSide<'a> {
    pub(super) faults: &'a Faults,
    pub(super) packets: PacketCounts,
}

impl TotalObject {
    const fn new(faults: &Faults, packets: PacketCounts) -> Self {
        let PacketCounts { all, sent_again } = packets;
        Self { rpcs: faults.rpcs, faults: FaultsObject::new(faults), packets: all, retransmitted_packets: sent_again }
    }
}

impl ComparedTotal {
    pub(super) fn new(before: &ComparedSide<'_>, after: &ComparedSide<'_>, tolerance: f64) -> Self {
        let mut changes = FaultChanges::compare_each(FaultChange::of_total, before.faults, after.faults, tolerance);
        let [before, after] = [before, after].map(|side| TotalObject::new(side.faults, side.packets));
        // The difference decides if a total is judged, so even one that is not judged counts as a test.
        let limit = Limit::of_all(&changes.tests(&before.faults, &after.faults));
        let mut regression = changes.any_worse(limit);
        // A call that is never answered hangs a mount: the first one needs no test of chance.
        if before.faults.are_all_answered() && after.faults.unanswered > 0 {
            changes.unanswered.outcome = FaultOutcome::Worse;
            regression = true;
        }
        Self { regression, before, after, changes }
    }
}

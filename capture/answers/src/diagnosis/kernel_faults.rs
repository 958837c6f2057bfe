//! Faults that kernel traces show: completions with an error, and connections that ended.

use rpcrdma_dissector::{Address, CompletionStatus, KernelFault, KernelFaultKind, TracedMachine, Transaction};

use super::cause::CauseOwner;
use crate::small_map::SmallMap;

/// The most kinds of errors that are told apart.
const KINDS: usize = 100;

/// Errors of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CompletionError {
    pub(super) at: TracedMachine,
    pub(super) status: CompletionStatus,
    pub(super) vendor_error: u32,
}

/// Number of faults of one kind, and the line of the first.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KernelFaultCount {
    pub(super) count: u64,
    /// Line of the first.
    pub(super) first: u64,
    /// Time of the first.
    pub(super) since: u64,
}

impl KernelFaultCount {
    fn add(&mut self, fault: &KernelFault) {
        if self.count == 0 {
            (self.first, self.since) = (fault.stamp.frame, fault.stamp.time.0);
        }
        self.count += 1;
    }
}

/// Faults of a capture.
#[derive(Clone, Debug, Default)]
pub(super) struct KernelFaults {
    pub(super) completions: SmallMap<CompletionError, KernelFaultCount>,
    /// Connections that ended while calls waited.
    pub(super) ends: KernelFaultCount,
    /// Calls that waited then.
    pub(super) waiting: u64,
    /// Ends of these that the client caused.
    pub(super) by_client: u64,
    pub(super) server: Option<Address>,
    /// Calls that were transmitted more than once.
    pub(super) repeated: u64,
}

impl KernelFaults {
    pub(super) fn add_fault(&mut self, fault: &KernelFault) {
        match fault.kind {
            KernelFaultKind::Completion { at, status, vendor_error } => {
                let error = CompletionError { at, status, vendor_error };
                if let Some(count) = self.completions.value_or(error, KINDS, KernelFaultCount::default) {
                    count.add(fault);
                }
            }
            KernelFaultKind::Disconnected { server, is_by_client, waiting: waiting @ 1.. } => {
                self.ends.add(fault);
                self.waiting += u64::from(waiting);
                self.by_client += u64::from(is_by_client);
                self.server = self.server.or(server);
            }
            _ => {}
        }
    }

    pub(super) fn add_rpc(&mut self, transaction: &Transaction) {
        let transmissions = transaction.kernel.as_ref().map_or(0, |times| times.transmissions);
        self.repeated += u64::from(transmissions > 1);
    }
}

impl CompletionError {
    pub(super) const fn owner(self) -> CauseOwner {
        match (self.status.is_own(), self.at) {
            (None, _) => CauseOwner::Network,
            (Some(true), TracedMachine::Client) | (Some(false), TracedMachine::Server) => CauseOwner::Client,
            _ => CauseOwner::Server,
        }
    }

    pub(super) const fn machine(self) -> &'static str {
        match self.at {
            TracedMachine::Client => "client",
            TracedMachine::Server => "server",
        }
    }
}

//! Times for which RPCs waited inside the two ends, as kernel traces show.

use rpcrdma_dissector::{KernelTimes, Transaction};

use super::cause::{Cause, PER_OCTET, RpcCauses, SLOW};
use super::tally::{RpcSubject, Tally};
use crate::format::number::duration;

/// Waiting times by cause.
#[derive(Clone, Debug, Default)]
pub(super) struct KernelWaits {
    /// RDMA Reads of a server.
    pub(super) rdma_read: Tally,
    /// Registration of memory by a client.
    pub(super) registration: Tally,
    /// Other waits of calls at a client, up to the transmission.
    pub(super) client_queue: Tally,
    /// Waits for a thread of a server.
    pub(super) server_queue: Tally,
    /// Waits for replies that nothing divides.
    pub(super) replies: Tally,
    /// Nanoseconds before calls, beyond the waits for credits and slots.
    pub(super) before_calls: u64,
    /// RPCs in `replies` whose time at the server no trace shows.
    pub(super) unserved: u64,
}

impl KernelWaits {
    /// Takes an RPC. `responder` takes the server's own time.
    pub(super) fn add_rpc(
        &mut self,
        transaction: &Transaction,
        subject: impl Fn() -> RpcSubject,
        responder: &mut Tally,
        causes: &mut RpcCauses,
    ) {
        let Some(times) = transaction.kernel.as_deref() else { return };
        let slot_wait = transaction.slot_wait.and_then(Result::ok).unwrap_or_default();
        let waited = transaction.credit_wait.unwrap_or_default().saturating_add(slot_wait);
        let registration = times.registration.unwrap_or_default();
        let queue = times.queue.unwrap_or_default().saturating_sub(waited);
        self.before_calls = self.before_calls.saturating_add(queue);
        // Packets show the rest.
        let packetless = |time: u64| if times.is_without_packets { time } else { 0 };
        let read = times.rdma_read.unwrap_or_default();
        let server_queue = times.server_queue.unwrap_or_default();
        let latency = transaction.latency().unwrap_or_default();
        let moved = transaction.read_octets.saturating_mul(PER_OCTET);
        // If RDMA Reads were not recorded, nothing tells them from the server's own time.
        let is_divided = times.rdma_read.is_some() || transaction.read_octets == 0;
        let served = times.served.filter(|_| is_divided).unwrap_or_default();
        let own = served.saturating_sub(read).saturating_sub(server_queue);
        // Time at the server is not that of the network.
        let replies = if times.is_at_client { latency.saturating_sub(times.served.unwrap_or_default()) } else { 0 };
        self.unserved += u64::from(packetless(replies) >= SLOW && times.served.is_none());
        let at_server = || times.served.map(|served| format!("the server had the call for {}", duration(served)));
        let (executed, served) = (|| execution(times), || at_server().unwrap_or_default());
        let amounts: [(&mut Tally, u64, Cause, &dyn Fn() -> String); 6] = [
            (&mut self.rdma_read, packetless(read.saturating_sub(moved)), Cause::RdmaReadSlow, &executed),
            (&mut self.registration, registration, Cause::Registration, &String::new),
            (&mut self.client_queue, queue.saturating_sub(registration), Cause::ClientQueue, &String::new),
            (&mut self.server_queue, packetless(server_queue), Cause::ServerQueue, &executed),
            (responder, packetless(own), Cause::ServerSlow, &executed),
            (&mut self.replies, packetless(replies), Cause::RepliesLate, &served),
        ];
        for (tally, amount, cause, waited_for) in amounts {
            if amount >= SLOW {
                causes.add_cause(cause, tally.add_with(amount, &subject(), waited_for));
            }
        }
    }
}

/// The execution at the server in words.
fn execution(times: &KernelTimes) -> String {
    match (times.execution, times.file_system) {
        (Some(execution), Some(file_system)) => {
            format!("execution took {}, {} of it in the file system", duration(execution), duration(file_system))
        }
        (Some(execution), None) => format!("execution took {}", duration(execution)),
        (None, Some(file_system)) => format!("the file system took {}", duration(file_system)),
        (None, None) => "the trace does not show the execution".to_owned(),
    }
}

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
    /// RPCs in traces of clients, and of servers.
    pub(super) at_clients: u64,
    pub(super) at_servers: u64,
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
        let is_at_server = times.server_queue.is_some() || times.execution.is_some() || transaction.phases.is_ok();
        let is_at_client = times.transmissions > 0 || times.round_trip.is_some();
        self.at_clients += u64::from(is_at_client);
        self.at_servers += u64::from(is_at_server);
        let waited = transaction.credit_wait.unwrap_or_default()
            + transaction.slot_wait.and_then(Result::ok).unwrap_or_default();
        let registration = times.registration.unwrap_or_default();
        let queue = times.queue.unwrap_or_default().saturating_sub(waited);
        self.before_calls = self.before_calls.saturating_add(queue);
        // Packets show the rest.
        let packetless = |time: u64| if times.is_without_packets { time } else { 0 };
        let read = times.rdma_read.unwrap_or_default();
        let server_queue = times.server_queue.unwrap_or_default();
        let latency = transaction.latency().unwrap_or_default();
        let moved = transaction.read_octets.saturating_mul(PER_OCTET);
        let own =
            if is_at_server && transaction.phases.is_ok() { latency.saturating_sub(read + server_queue) } else { 0 };
        let replies = if is_at_server { 0 } else { latency };
        let executed = || execution(times);
        let amounts: [(&mut Tally, u64, Cause, &dyn Fn() -> String); 6] = [
            (&mut self.rdma_read, packetless(read.saturating_sub(moved)), Cause::RdmaReadSlow, &executed),
            (&mut self.registration, registration, Cause::Registration, &String::new),
            (&mut self.client_queue, queue.saturating_sub(registration), Cause::ClientQueue, &String::new),
            (&mut self.server_queue, packetless(server_queue), Cause::ServerQueue, &executed),
            (responder, packetless(own), Cause::ServerSlow, &executed),
            (&mut self.replies, packetless(replies), Cause::RepliesLate, &String::new),
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

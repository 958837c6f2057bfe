//! RPCs that several witnesses show: traces of the client and of the server, and packets. The `rdma_xid` tells which belong
//! together.
//!
//! A kernel counts from the boot of its machine, so the clock of each trace is aligned with that of the packets. A client
//! sends a call before, and has the reply after, the packets pass the capture point; for a server it is the other way round:
//!
//! ```text
//! client    post ────────────────────────────────────→ reply        capture − trace is at most that of the calls,
//! packets         call ──────────────────────→ reply                 and at least that of the replies
//! server               arrival ──────→ post
//! ```

use super::rpc::UNKNOWN_END;
use crate::carrier::operation::Stamp;
use crate::carrier::table::Map;
use crate::file::{ClockBounds, Time};
use crate::rpc::kernel_fault::TracedMachine;
use crate::rpc::kernel_times::KernelTimes;
use crate::rpc::transaction::Transaction;

/// The most RPCs of traces that wait for packets, or for another trace.
const RPCS: usize = 32_768;

/// Clock of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceClock {
    /// Nanoseconds by which the clock of the packets is ahead, as the RPCs in both allow.
    pub bounds: ClockBounds,
    /// RPCs in both.
    pub rpcs: u64,
}

impl TraceClock {
    fn narrow(known: &mut Option<Self>, least: i64, most: i64) {
        let Self { bounds, rpcs } = known.get_or_insert(Self { bounds: ClockBounds { least, most }, rpcs: 0 });
        *bounds = ClockBounds { least: bounds.least.max(least), most: bounds.most.min(most) };
        *rpcs += 1;
    }
}

/// Clocks of the traces that were joined with packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceClocks {
    /// The client's.
    pub client: Option<TraceClock>,
    /// The server's.
    pub server: Option<TraceClock>,
}

/// RPCs of traces.
#[derive(Debug, Default)]
pub(super) struct JoinedTraces {
    waiting: Map<u32, TracesOfRpc>,
    pub(super) clocks: TraceClocks,
}

/// An RPC of one trace or two.
#[derive(Debug)]
struct TracesOfRpc {
    client: Option<Box<Transaction>>,
    server: Option<Box<Transaction>>,
}

impl JoinedTraces {
    /// Takes an RPC of a trace. Returns an RPC for which there is no room, or that is another with the same XID.
    pub(super) fn hold(&mut self, rpc: Box<Transaction>) -> Option<Box<Transaction>> {
        let is_full = self.waiting.len() >= RPCS && !self.waiting.contains_key(&rpc.xid);
        if is_full {
            return Some(rpc);
        }
        let traces = self.waiting.entry(rpc.xid).or_insert(TracesOfRpc { client: None, server: None });
        let other = traces.client.as_deref().or(traces.server.as_deref());
        if other.is_some_and(|other| !is_same(other, &rpc)) {
            return Some(rpc);
        }
        let slot = match machine(&rpc) {
            TracedMachine::Client => &mut traces.client,
            TracedMachine::Server => &mut traces.server,
        };
        if slot.is_some() { Some(rpc) } else { slot.replace(rpc) }
    }

    /// Adds the times of traces to an RPC that packets show.
    pub(super) fn join(&mut self, rpc: &mut Transaction) {
        let Some(traces) = self.waiting.get(&rpc.xid) else { return };
        let witnesses = [traces.client.as_deref(), traces.server.as_deref()];
        if !witnesses.into_iter().flatten().all(|witness| is_same(witness, rpc)) {
            return;
        }
        let Some(traces) = self.waiting.remove(&rpc.xid) else { return };
        let mut times = KernelTimes::default();
        for witness in [&traces.client, &traces.server].into_iter().flatten() {
            times.add(witness.kernel.as_deref());
            self.align(witness, rpc);
        }
        rpc.kernel = Some(Box::new(KernelTimes { is_without_packets: false, ..times }));
    }

    /// Narrows the bounds of a clock by an RPC in both.
    fn align(&mut self, witness: &Transaction, rpc: &Transaction) {
        let ends = |rpc: &Transaction| Some((rpc.began?.time, rpc.reply.as_ref()?.stamp.time));
        let (Some((begun, ended)), Some((call, reply))) = (ends(witness), ends(rpc)) else { return };
        let (at_call, at_reply) = (call.nanoseconds_after(begun), reply.nanoseconds_after(ended));
        match machine(witness) {
            TracedMachine::Client => TraceClock::narrow(&mut self.clocks.client, at_reply, at_call),
            TracedMachine::Server => TraceClock::narrow(&mut self.clocks.server, at_call, at_reply),
        }
    }

    /// Returns the RPCs that no packets show, in the order of their calls.
    pub(super) fn drain(&mut self) -> Vec<Transaction> {
        let clocks = self.clocks;
        let mut rest: Vec<_> = self.waiting.drain().filter_map(|(_, traces)| traces.into_rpc(clocks)).collect();
        rest.sort_by_key(|rpc| rpc.call.as_ref().or(rpc.reply.as_ref()).map(|half| half.stamp.time));
        rest
    }
}

impl TracesOfRpc {
    /// Makes one RPC of both traces: of the client's the times, of the server's the operations with their status.
    fn into_rpc(self, clocks: TraceClocks) -> Option<Transaction> {
        let Self { client, server } = self;
        let (mut rpc, other, clock) = match (client, server) {
            (Some(client), server) => (client, server, clocks.client),
            (None, server) => (server?, None, clocks.server),
        };
        if let Some(server) = other {
            let mut times = KernelTimes::default();
            times.add(rpc.kernel.as_deref());
            times.add(server.kernel.as_deref());
            rpc.kernel = Some(Box::new(KernelTimes { is_without_packets: true, ..times }));
            rpc.write_octets = rpc.write_octets.max(server.write_octets);
            if server.status.is_some() {
                (rpc.status, rpc.operations) = (server.status, server.operations);
            }
        }
        if let Some(clock) = clock {
            let shift =
                |stamp: &mut Stamp| stamp.time = Time(stamp.time.0.saturating_add_signed(clock.bounds.middle()));
            rpc.began.iter_mut().for_each(shift);
            [&mut rpc.call, &mut rpc.reply].into_iter().flatten().for_each(|half| shift(&mut half.stamp));
        }
        Some(*rpc)
    }
}

/// The machine whose trace shows an RPC.
fn machine(rpc: &Transaction) -> TracedMachine {
    let is_at_server = rpc.kernel.as_ref().is_some_and(|times| times.is_at_server);
    if is_at_server { TracedMachine::Server } else { TracedMachine::Client }
}

/// Returns true if two witnesses with the same XID show the same RPC.
fn is_same(one: &Transaction, other: &Transaction) -> bool {
    let is_end = |one, other| one == other || one == UNKNOWN_END || other == UNKNOWN_END;
    let is_procedure = one.procedure.is_none() || other.procedure.is_none() || one.procedure == other.procedure;
    is_procedure && is_end(one.from, other.from) && is_end(one.to, other.to) && one.reverse == other.reverse
}

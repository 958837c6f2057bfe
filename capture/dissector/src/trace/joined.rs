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
use crate::file::Time;
use crate::rpc::kernel_fault::TracedMachine;
use crate::rpc::kernel_times::KernelTimes;
use crate::rpc::transaction::Transaction;

/// The most RPCs of traces that wait for packets, or for another trace.
const HELD: usize = 32_768;

/// How far the clock of the packets is ahead of the clock of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceClock {
    /// The least and the most nanoseconds that the RPCs in both allow. If the clocks drift, the least may be above the most.
    pub least: i64,
    /// The most nanoseconds.
    pub most: i64,
    /// RPCs in both.
    pub rpcs: u64,
}

impl TraceClock {
    /// Returns the middle of the bounds.
    #[must_use]
    pub const fn offset(&self) -> i64 {
        self.least.midpoint(self.most)
    }

    /// Returns the nanoseconds by which the offset may be wrong, in either direction.
    #[must_use]
    pub const fn uncertainty(&self) -> u64 {
        self.least.abs_diff(self.most).div_ceil(2)
    }

    fn add_bounds(known: &mut Option<Self>, least: i64, most: i64) {
        let clock = known.get_or_insert(Self { least, most, rpcs: 0 });
        (clock.least, clock.most) = (clock.least.max(least), clock.most.min(most));
        clock.rpcs += 1;
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
    held: Map<u32, HeldRpc>,
    pub(super) clocks: TraceClocks,
}

/// An RPC of one trace or two.
#[derive(Debug)]
struct HeldRpc {
    client: Option<Box<Transaction>>,
    server: Option<Box<Transaction>>,
}

impl JoinedTraces {
    /// Takes an RPC of a trace. Returns an RPC for which there is no room, or that is another with the same XID.
    pub(super) fn hold(&mut self, rpc: Box<Transaction>) -> Option<Box<Transaction>> {
        let is_full = self.held.len() >= HELD && !self.held.contains_key(&rpc.xid);
        if is_full {
            return Some(rpc);
        }
        let held = self.held.entry(rpc.xid).or_insert(HeldRpc { client: None, server: None });
        let other = held.client.as_deref().or(held.server.as_deref());
        if other.is_some_and(|other| !is_same(other, &rpc)) {
            return Some(rpc);
        }
        let slot = match machine(&rpc) {
            TracedMachine::Client => &mut held.client,
            TracedMachine::Server => &mut held.server,
        };
        if slot.is_some() { Some(rpc) } else { slot.replace(rpc) }
    }

    /// Adds the times of traces to an RPC that packets show.
    pub(super) fn join(&mut self, rpc: &mut Transaction) {
        let Some(held) = self.held.get(&rpc.xid) else { return };
        let witnesses = [held.client.as_deref(), held.server.as_deref()];
        if !witnesses.into_iter().flatten().all(|witness| is_same(witness, rpc)) {
            return;
        }
        let Some(held) = self.held.remove(&rpc.xid) else { return };
        let mut times = KernelTimes::default();
        for witness in [&held.client, &held.server].into_iter().flatten() {
            times.add(witness.kernel.as_deref());
            self.align(witness, rpc);
        }
        rpc.kernel = Some(Box::new(KernelTimes { is_without_packets: false, ..times }));
    }

    /// Narrows the bounds of a clock by an RPC in both.
    fn align(&mut self, witness: &Transaction, rpc: &Transaction) {
        let ends = |rpc: &Transaction| Some((rpc.began?.time, rpc.reply.as_ref()?.stamp.time));
        let (Some((begun, ended)), Some((call, reply))) = (ends(witness), ends(rpc)) else { return };
        let ahead = |capture: Time, trace: Time| capture.0.cast_signed().saturating_sub(trace.0.cast_signed());
        let (at_call, at_reply) = (ahead(call, begun), ahead(reply, ended));
        match machine(witness) {
            TracedMachine::Client => TraceClock::add_bounds(&mut self.clocks.client, at_reply, at_call),
            TracedMachine::Server => TraceClock::add_bounds(&mut self.clocks.server, at_call, at_reply),
        }
    }

    /// Returns the RPCs that no packets show, in the order of their calls.
    pub(super) fn drain(&mut self) -> Vec<Transaction> {
        let clocks = self.clocks;
        let mut rest: Vec<_> = self.held.drain().filter_map(|(_, held)| held.into_rpc(clocks)).collect();
        rest.sort_by_key(|rpc| rpc.call.as_ref().or(rpc.reply.as_ref()).map(|half| half.stamp.time));
        rest
    }
}

impl HeldRpc {
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
            let shift = |stamp: &mut Stamp| stamp.time = Time(stamp.time.0.saturating_add_signed(clock.offset()));
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

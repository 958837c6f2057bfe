//! RPCs in kernel traces.
//!
//! ```text
//! file ── Frame (a line) ──→ fields ─┬→ client   a task       ─┐
//!                                    └→ server   a request    ─┴→ rpc ── Event::Transaction ──→
//! ```
//!
//! A trace of a machine that is both a client and a server, as for callbacks, holds RPCs of both kinds. An event that is
//! not used is counted. An event that was not recorded, or was lost, leaves a time unknown.

mod called;
mod client;
mod connections;
mod event_use;
mod faults;
mod fields;
mod joined;
mod rpc;
mod server;

use std::collections::VecDeque;

use client::ClientTrace;
use connections::TracedConnections;
use event_use::EventUse;
use faults::completion_fault;
use fields::Fields;
use joined::JoinedTraces;
pub use joined::{TraceClock, TraceClocks};
use rpc::{TracedEnds, TracedRpc};
use server::ServerTrace;

use crate::carrier::operation::Stamp;
use crate::event::Event;
use crate::file::{Frame, Time, TraceLine};
use crate::rpc::transaction::Transaction;

/// Counts of the lines of kernel traces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceCounts {
    /// Events.
    pub events: u64,
    /// Events that say nothing of RPCs, or that are not known.
    pub unused: u64,
    /// Events that the ring buffers of the kernel lost, at least.
    pub lost: u64,
    /// RPCs and tasks that were left out because too many were in flight.
    pub left_out: u64,
    /// Clocks of the traces that were joined with packets.
    pub clocks: TraceClocks,
}

/// RPCs in kernel traces.
#[derive(Debug, Default)]
pub(crate) struct KernelTraces {
    client: ClientTrace,
    server: ServerTrace,
    connections: TracedConnections,
    joined: JoinedTraces,
    counts: TraceCounts,
}

/// Destination of the RPCs.
pub(crate) struct TraceOutput<'a> {
    /// `true` to join the RPCs with RPCs of packets, and of other traces.
    pub(crate) is_joined: bool,
    /// Number of the last connection.
    pub(crate) last_number: &'a mut u32,
    pub(crate) events: &'a mut VecDeque<Event>,
}

impl KernelTraces {
    /// Takes a line.
    pub(crate) fn take_line(&mut self, frame: &Frame<'_>, output: &mut TraceOutput<'_>) {
        let event = match TraceLine::parse(frame.data) {
            Some(TraceLine::Event(event)) => event,
            Some(TraceLine::Lost(count)) => {
                self.counts.lost = self.counts.lost.saturating_add(count.unwrap_or(1));
                return;
            }
            _ => return,
        };
        self.counts.events += 1;
        let stamp = Stamp { frame: frame.number, time: frame.time };
        let used = match event.name {
            [b's', b'v', b'c', ..] | [b'n', b'f', b's', b'd', ..] => self.server.take_event(&event, stamp),
            [b'r', b'p', b'c', ..] | [b'x', b'p', b'r', b't', ..] | b"nfs_mount_assign" => {
                self.client.take_event(event.name, Fields(event.fields), stamp)
            }
            _ => EventUse::None,
        };
        match (used, completion_fault(event.name, event.fields, stamp)) {
            (EventUse::Rpc(rpc), _) => self.give(*rpc, output),
            (EventUse::Fault(fault), _) | (_, Some(fault)) => output.events.push_back(Event::KernelFault(fault)),
            (EventUse::Noted, None) => {}
            (EventUse::None, None) => self.counts.unused += 1,
        }
    }

    fn give(&mut self, rpc: TracedRpc, output: &mut TraceOutput<'_>) {
        let rpc = Box::new(rpc.into_transaction());
        let alone = if output.is_joined { self.joined.hold(rpc) } else { Some(rpc) };
        alone.into_iter().for_each(|rpc| self.give_alone(rpc, output));
    }

    /// Gives an RPC that no packets show.
    fn give_alone(&mut self, mut rpc: Box<Transaction>, output: &mut TraceOutput<'_>) {
        let (client, server) = if rpc.reverse { (rpc.to, rpc.from) } else { (rpc.from, rpc.to) };
        let ends = TracedEnds { client, server };
        let [call, reply] = [&rpc.call, &rpc.reply].map(|half| half.as_ref().map(|half| half.stamp));
        self.connections.note_message(ends, call, output.last_number);
        rpc.connection = self.connections.note_message(ends, reply, output.last_number);
        output.events.push_back(Event::Transaction(rpc));
    }

    /// Adds the times of traces to an RPC that packets show.
    pub(crate) fn join(&mut self, rpc: &mut Transaction) {
        self.joined.join(rpc);
    }

    /// Gives the RPCs that have not ended, and the connections.
    pub(crate) fn finish(&mut self, until: Time, output: &mut TraceOutput<'_>) {
        let open = self.client.drain_open().into_iter().chain(self.server.drain_open());
        open.for_each(|rpc| self.give(rpc, output));
        self.joined.drain().into_iter().for_each(|rpc| self.give_alone(Box::new(rpc), output));
        self.connections.finish(until, output.events);
    }

    /// Counts of the lines so far.
    pub(crate) const fn counts(&self) -> TraceCounts {
        let left_out = self.client.left_out + self.server.left_out;
        TraceCounts { left_out, clocks: self.joined.clocks, ..self.counts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dissector::{Config, Summary};
    use crate::events::Events;
    use crate::file::TimeBase;
    use crate::rpc::kernel_fault::{CompletionStatus, KernelFaultKind, TracedMachine};
    use crate::rpc::properties::Status;
    use crate::rpc::transaction::Transaction;
    use crate::rpc::waiting::Owed;

    struct Found {
        rpcs: Vec<Transaction>,
        faults: Vec<KernelFaultKind>,
        summary: Summary,
    }

    /// Reads events, each at the next millisecond: a thread, an event and fields.
    fn read(lines: &[&str]) -> Found {
        let line = |(number, line): (usize, &&str)| {
            let (thread, rest) = line.split_once(' ').unwrap();
            format!("{thread} [000] ..... {}.{:03}000: {rest}\n", number / 1000 + 7, number % 1000)
        };
        let text: String = lines.iter().enumerate().map(line).collect();
        let mut events = Events::from_stream(std::io::Cursor::new(text.into_bytes()), Config::default());
        let (mut rpcs, mut faults) = (Vec::new(), Vec::new());
        for event in events.by_ref() {
            match event.unwrap() {
                Event::Transaction(transaction) => rpcs.push(*transaction),
                Event::KernelFault(fault) => faults.push(fault.kind),
                _ => {}
            }
        }
        Found { rpcs, faults, summary: events.summary().clone() }
    }

    const MILLISECOND: u64 = 1_000_000;

    /// Linux 5.10: decimal tasks, a colon after the XID, completions by address, and no `latency-us`.
    #[test]
    fn events_of_older_kernels_are_read() {
        let found = read(&[
            "dd-7 rpc_request: task:45@1 nfsv3 WRITE (sync)",
            "dd-7 xprt_reserve: task:45@1 xid=0x00000007",
            "dd-7 xprtrdma_marshal: task:45@1 xid=0x00000007: hdr=52 xdr=176/65536/0 read list/inline",
            "dd-7 xprtrdma_post_send: task:45@1 cqe=00000000c0ffee00 (2 SGEs) signaled",
            "kworker/0:1H-38 xprtrdma_reply: task:45@1 xid=0x00000007 rep=00000000deadbeef",
            "dd-7 rpc_stats_latency: task:45@1 xid=0x00000007 nfsv3 WRITE backlog=3000 rtt=900 execute=4100",
            "kworker-1 svcrdma_wc_receive: cq.id=2 cid=15 status=SUCCESS (0/0x0)",
            "nfsd-5 svcrdma_decode_rseg: cq_id=2 cid=15 segno=0 position=176 4096@0x0000000000001000:0x0000055b",
            "nfsd-5 svcrdma_decode_rqst: cq.id=2 cid=15 xid=0x00000009 vers=1 credits=128 proc=RDMA_MSG hdrlen=52",
            "nfsd-5 svcrdma_post_rw: cqe=0000000000abcdef sqecount=4",
            "kworker-1 svcrdma_wc_read: cqe=0000000000abcdef status=SUCCESS (0/0x0)",
            "nfsd-5 svc_process: addr=192.0.2.2 xid=0x00000009 service=nfsd vers=3 proc=WRITE",
            "nfsd-5 nfsd_write_opened: xid=0x00000009 fh_hash=0x4fba2cbd offset=0 len=4096",
            "nfsd-5 nfsd_write_io_done: xid=0x00000009 fh_hash=0x4fba2cbd offset=0 len=4096",
            "nfsd-5 svc_stats_latency: addr=192.0.2.2 xid=0x00000009 proc=WRITE execute-us=2100",
            "nfsd-5 svcrdma_post_send: cqe=0000000000000042 num_sge=1 inv_rkey=0x00000000",
            "nfsd-5 svc_send: addr=192.0.2.2 xid=0x00000009 status=0 flags=SECURE",
        ]);
        let [client, server] = &found.rpcs[..] else { panic!("{:?}", found.rpcs) };
        assert_eq!((client.xid, client.name, client.latency()), (7, Some("NFSv3 WRITE"), Some(900_000)));
        let times = client.kernel.as_ref().unwrap();
        assert_eq!((times.queue, times.registration), (Some(3 * MILLISECOND), None));
        assert_eq!((server.xid, server.name, server.read_octets), (9, Some("NFSv3 WRITE"), 4096));
        let (times, phases) = (server.kernel.as_ref().unwrap(), server.phases.unwrap());
        assert_eq!((times.rdma_read, times.file_system), (Some(MILLISECOND), Some(MILLISECOND)));
        assert_eq!((phases.rdma_read, phases.responder), (MILLISECOND, 8 * MILLISECOND));
        assert_eq!((times.server_queue, times.execution), (Some(2 * MILLISECOND), Some(2_100_000)));
    }

    /// Several RDMA Reads, of which the first ends last; a COMPOUND that fails.
    #[test]
    fn rdma_reads_and_operations_belong_to_their_call() {
        let found = read(&[
            "kworker-1 svcrdma_wc_recv: cq.id=2 cid=15 received=100",
            "nfsd-5 svcrdma_decode_rseg: cq_id=2 cid=15 segno=0 position=0 4096@0x0000000000001000:0x0000055b",
            "nfsd-5 svcrdma_decode_rqst: cq.id=2 cid=15 xid=0x00000009 vers=1 credits=128 proc=RDMA_NOMSG hdrlen=52",
            "nfsd-5 svcrdma_post_read_chunk: cq.id=1 cid=20 sqecount=4",
            "nfsd-5 svcrdma_post_read_chunk: cq.id=1 cid=21 sqecount=4",
            "kworker-1 svcrdma_wc_read: cq.id=1 cid=21 totalbytes=4096 latency-us=1000",
            "kworker-1 svcrdma_wc_read: cq.id=1 cid=20 totalbytes=4096 latency-us=3000",
            "nfsd-6 svc_process: addr=2001:db8::2 xid=0x00000009 service=nfsd vers=4 proc=COMPOUND",
            "nfsd-6 nfsd_compound_status: op=1/2 OP_SEQUENCE status=0",
            "nfsd-6 nfsd_compound_status: op=2/2 OP_OPEN status=13",
            "nfsd-6 svcrdma_post_send: cq_id=1 cid=110 num_sge=1 inv_rkey=0x0000055b",
            "nfsd-6 svc_send: xid=0x00000009 server=[2001:db8::1]:20049 client=[2001:db8::2]:0 status=0 flags=SECURE",
        ]);
        let [server] = &found.rpcs[..] else { panic!("{:?}", found.rpcs) };
        assert_eq!(server.kernel.as_ref().unwrap().rdma_read, Some(3 * MILLISECOND));
        let operations: Vec<_> = server.operations.iter().map(|operation| (operation.name, operation.status)).collect();
        assert_eq!(operations, [("SEQUENCE", Some(0)), ("OPEN", Some(13))]);
        assert_eq!((server.status, server.to.to_string()), (Some(Status::Success(Some(13))), "2001:db8::1".to_owned()));
    }

    #[test]
    fn frames_of_capture_files_are_no_trace() {
        let line = b"nfsd-5 [000] 7.000000: svc_send: xid=0x9 status=0";
        let words = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 0xffff, 0xffff, 7, 0, line.len() as u32, line.len() as u32];
        let file = [words.map(u32::to_le_bytes).as_flattened(), line].concat();
        let mut events = Events::from_stream(std::io::Cursor::new(file), Config::default());
        assert!(events.by_ref().all(|event| event.is_ok()));
        let summary = events.summary();
        assert_eq!((summary.frames, summary.trace, summary.time_base), (1, None, TimeBase::Utc));
    }

    #[test]
    fn lengths_add_up_to_the_greatest_number_at_most() {
        let segment = "9".repeat(18);
        let advertised = format!("dd-7 xprtrdma_chunk_read: task:2d@1 pos=4 {segment}@0x1f:0x3 (more)");
        let decoded = format!("nfsd-5 svcrdma_decode_rseg: cq_id=2 cid=15 segno=0 position=4 {segment}@0x1f:0x3");
        let encoded = format!("nfsd-5 svcrdma_encode_wseg: cq_id=2 cid=15 segno=0 {segment}@0x1f:0x3");
        let mut lines = vec!["dd-7 xprt_reserve: task:2d@1 xid=0x7", "nfsd-5 svcrdma_wc_recv: cq.id=2 cid=15"];
        lines.extend([advertised.as_str(), &decoded].repeat(20));
        lines.push("nfsd-5 svcrdma_decode_rqst: cq.id=2 cid=15 xid=0x9 vers=1");
        lines.extend([encoded.as_str()].repeat(20));
        lines.extend(["dd-7 xprtrdma_post_send: task:2d@1 cq.id=1 cid=59", "nfsd-5 svc_send: xid=0x9 status=0"]);
        let found = read(&lines);
        let octets = found.rpcs.iter().map(|rpc| rpc.read_octets).collect::<Vec<_>>();
        assert_eq!((octets, found.rpcs[0].write_octets), (vec![u64::MAX; 2], u64::MAX));
    }

    #[test]
    fn an_event_that_is_missing_leaves_its_time_unknown() {
        let found = read(&[
            "nfsd-5 svcrdma_decode_rqst: cq.id=2 cid=15 xid=0x00000009 vers=1 credits=128 proc=RDMA_MSG hdrlen=52",
            "nfsd-5 svc_process: addr=192.0.2.2 xid=0x00000009 service=nfsd vers=3 proc=READ",
            "nfsd-5 svc_send: xid=0x00000009 server=192.0.2.1:20049 client=192.0.2.2:0 status=0 flags=SECURE",
            "dd-7 rpc_stats_latency: task:0000002d@00000001 xid=0x00000007 nfsv4 READ backlog=3 rtt=900 execute=1000",
            "dd-7 xprtrdma_post_send: task:0000002e@00000001 cq.id=1 cid=59 (2 SGEs) signaled",
        ]);
        // Without events of RDMA, the last but one may be of a mount over TCP; the last one has no XID.
        let [server] = &found.rpcs[..] else { panic!("{:?}", found.rpcs) };
        let times = server.kernel.as_ref().unwrap();
        assert_eq!((times.server_queue, times.rdma_read, times.execution), (None, None, None));
        assert_eq!((server.latency(), times.file_system), (Some(2 * MILLISECOND), None));
    }

    #[test]
    fn waits_for_slots_and_credits_are_told_apart() {
        let found = read(&[
            "dd-7 rpc_request: task:0000002d@00000001 nfsv4 READ (async)",
            "dd-7 rpc_task_sleep: task:0000002d@00000001 flags=ASYNC status=0 timeout=0 queue=ForeChannel Slot table",
            "dd-7 rpc_task_wakeup: task:0000002d@00000001 flags=ASYNC status=0 timeout=0 queue=ForeChannel Slot table",
            "dd-7 xprt_reserve: task:0000002d@00000001 xid=0x00000007",
            "dd-7 rpc_task_sleep: task:0000002d@00000001 flags=ASYNC status=0 timeout=0 queue=xprt_sending",
            "dd-7 xprtrdma_nop: nothing",
            "dd-7 rpc_task_wakeup: task:0000002d@00000001 flags=ASYNC status=0 timeout=0 queue=xprt_sending",
            "dd-7 xprtrdma_post_send: task:0000002d@00000001 cq.id=1 cid=59 (2 SGEs) signaled",
            "dd-7 rpc_task_sleep: task:0000002d@00000001 flags=ASYNC status=0 timeout=0 queue=xprt_pending",
        ]);
        let [rpc] = &found.rpcs[..] else { panic!("{:?}", found.rpcs) };
        assert_eq!((rpc.slot_wait, rpc.credit_wait), (Some(Ok(MILLISECOND)), Ok(2 * MILLISECOND)));
        assert_eq!(rpc.waiting.unwrap().owed, Owed::Reply);
        assert_eq!(found.summary.trace.unwrap().unused, 1);
    }

    #[test]
    fn errors_of_adapters_and_lost_connections_are_faults() {
        let found = read(&[
            "dd-7 xprt_reserve: task:0000002d@00000001 xid=0x00000007",
            "dd-7 xprtrdma_post_send: task:0000002d@00000001 cq.id=1 cid=59 (2 SGEs) signaled",
            "kworker-1 xprtrdma_wc_send: cq.id=1 cid=59 status=RETRY_EXC_ERR (12/0x81)",
            "kworker-1 xprtrdma_wc_receive: cq.id=2 cid=8 status=WR_FLUSH_ERR (5/0xf9) received=0",
            "kworker-1 xprt_disconnect_force: peer=[192.0.2.1]:20049 state=LOCKED|CONNECTED|BOUND",
            "kworker-1 xprtrdma_disconnect: peer=[192.0.2.1]:20049 rc=0 connection status=-107",
            "kworker-1 xprtrdma_connect: peer=[192.0.2.1]:20049 rc=0 connection status=1",
            "dd-7 xprtrdma_post_send: task:0000002d@00000001 cq.id=1 cid=60 (2 SGEs) signaled",
            "kworker-1 xprtrdma_reply: task:0000002d@00000001 xid=0x00000007 credits=64",
            "dd-7 rpc_stats_latency: task:0000002d@00000001 xid=0x00000007 nfsv4 READ backlog=3 rtt=900 execute=9000",
            "kworker-1 xprtrdma_disconnect: peer=[192.0.2.1]:20049 rc=0 connection status=1",
            "kworker-1 svcrdma_wc_read_err: cq.id=2 cid=8 status=REM_ACCESS_ERR (10/0x88)",
        ]);
        let server = super::fields::address(b"192.0.2.1");
        let error = |at, status, vendor_error| KernelFaultKind::Completion {
            at,
            status: CompletionStatus(status),
            vendor_error,
        };
        let expected = [
            error(TracedMachine::Client, 12, 0x81),
            KernelFaultKind::Disconnected { server, is_by_client: false, waiting: 1 },
            KernelFaultKind::Disconnected { server, is_by_client: true, waiting: 0 },
            error(TracedMachine::Server, 10, 0x88),
        ];
        assert!(found.faults.starts_with(&expected[..2]), "{:?}", found.faults);
        assert!(found.faults.ends_with(&expected[2..]) && found.faults.len() <= 5, "{:?}", found.faults);
        let [rpc] = &found.rpcs[..] else { panic!("{:?}", found.rpcs) };
        // The kernel measured the last transmission only.
        assert_eq!((rpc.latency(), rpc.kernel.as_ref().unwrap().transmissions), (Some(7 * MILLISECOND), 2));
    }
}

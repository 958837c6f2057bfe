//! RPCs in the trace of a client, by the task that the kernel runs for each.
//!
//! ```text
//! rpc_request  xprt_reserve   xprtrdma_mr_map … mr_fastreg   xprtrdma_post_send      xprtrdma_reply  rpc_stats_latency
//! ├── queue ──────────────────├── registration ─────────────┤├── round trip ──────────────┤
//! ```

use std::collections::VecDeque;

use super::called::TracedCall;
use super::event_use::EventUse;
use super::faults::ConnectionFaults;
use super::fields::Fields;
use super::rpc::{TracedChunks, TracedEnds, TracedRpc, UNKNOWN_END};
use crate::carrier::operation::Stamp;
use crate::carrier::table::Map;
use crate::file::Time;
use crate::link::Address;
use crate::nfs::status;
use crate::rpc::kernel_times::KernelTimes;
use crate::rpc::phases::NotTimed;
use crate::rpc::properties::Status;
use crate::rpc::waiting::{Delivery, WaitEnd};

/// The most tasks that are followed at a time.
const TASKS: usize = 16_384;
/// Answered tasks whose statistics may still come.
const ANSWERED: usize = 64;

/// The tasks of a client.
#[derive(Debug, Default)]
pub(super) struct ClientTrace {
    tasks: Map<u64, Task>,
    /// Tasks by the `rdma_xid` of their calls.
    xids: Map<u32, u64>,
    /// Answered tasks, in order.
    answered: VecDeque<u64>,
    /// Address of the client, once an event has named the address.
    client: Option<Address>,
    connections: ConnectionFaults,
    /// Tasks that were left out because there were too many.
    pub(super) left_out: u64,
}

/// A queue in which a task sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TaskQueue {
    /// For a credit, or behind another call that is being sent.
    Credit,
    /// For a slot of the session.
    Slot,
}

/// Sleep of a task in a queue.
#[derive(Clone, Copy, Debug)]
struct Sleep {
    queue: TaskQueue,
    since: Time,
}

/// First and last event of the registration of memory.
#[derive(Clone, Copy, Debug)]
struct Registering {
    first: Time,
    last: Time,
}

/// A task of a client, which makes one RPC.
#[derive(Debug, Default)]
struct Task {
    began: Option<Time>,
    called: TracedCall,
    xid: Option<u32>,
    server: Option<Address>,
    chunks: TracedChunks,
    /// Registration since the last transmission.
    registering: Option<Registering>,
    registration: Option<u64>,
    /// First transmission.
    posted: Option<Stamp>,
    transmissions: u32,
    replied: Option<Stamp>,
    status: Option<i64>,
    sleeping: Option<Sleep>,
    credit_wait: u64,
    slot_wait: u64,
    /// Times that the kernel measured.
    queue: Option<u64>,
    round_trip: Option<u64>,
}

impl ClientTrace {
    /// Takes an event.
    pub(super) fn take_event(&mut self, name: &[u8], fields: Fields<'_>, stamp: Stamp) -> EventUse {
        match name {
            b"rpc_request" => self.begin(fields, stamp),
            b"rpc_stats_latency" => return EventUse::of_rpc(self.end(fields, stamp)),
            b"xprtrdma_reply" => return EventUse::of_rpc(self.answer(fields, stamp)),
            b"xprtrdma_connect" | b"xprtrdma_disconnect" | b"xprt_disconnect_force" => {
                let tasks = &self.tasks;
                let waiting = |server: Option<Address>| {
                    let waits = |task: &&Task| task.is_waiting() && (task.server.is_none() || task.server == server);
                    u32::try_from(tasks.values().filter(waits).count()).unwrap_or(u32::MAX)
                };
                let fault = self.connections.take_event(name, fields, stamp, waiting);
                return fault.map_or(EventUse::Noted, EventUse::Fault);
            }
            b"xprt_lookup_rqst" => {
                let key = fields.xid().and_then(|xid| self.xids.get(&xid));
                if let Some(task) = key.and_then(|key| self.tasks.get_mut(key)) {
                    task.server = fields.address(b"peer").or(task.server);
                }
            }
            b"xprtrdma_inline_thresh" => {
                self.client = fields.words().next().and_then(super::fields::address).or(self.client);
            }
            b"nfs_mount_assign" => {
                let client = fields.text(b"clientaddr").and_then(super::fields::address);
                self.client = self.client.or(client);
            }
            b"rpc_task_sleep"
            | b"rpc_task_wakeup"
            | b"xprt_reserve"
            | b"xprtrdma_mr_map"
            | b"xprtrdma_mr_fastreg"
            | b"xprtrdma_chunk_read"
            | b"xprtrdma_chunk_write"
            | b"xprtrdma_chunk_reply"
            | b"xprtrdma_marshal"
            | b"xprtrdma_post_send"
            | b"rpc_task_end" => self.task_event(name, fields, stamp),
            _ => return EventUse::None,
        }
        EventUse::Noted
    }

    fn begin(&mut self, fields: Fields<'_>, stamp: Stamp) {
        let Some(key) = fields.task() else { return };
        let mut words = fields.words().skip_while(|word| word.starts_with(b"task:"));
        let (program, procedure) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let Some(task) = self.task(key, stamp) else { return };
        let new =
            Task { began: Some(stamp.time), called: TracedCall::by_client(program, procedure), ..Task::default() };
        if let Some(xid) = core::mem::replace(task, new).xid {
            self.xids.remove(&xid);
        }
    }

    /// Returns a task: a new one for an unknown key.
    fn task(&mut self, key: u64, stamp: Stamp) -> Option<&mut Task> {
        if self.tasks.len() >= TASKS && !self.tasks.contains_key(&key) {
            self.left_out += 1;
            return None;
        }
        Some(self.tasks.entry(key).or_insert_with(|| Task { began: Some(stamp.time), ..Task::default() }))
    }

    fn task_event(&mut self, name: &[u8], fields: Fields<'_>, stamp: Stamp) {
        let Some(key) = fields.task() else { return };
        // The task of a region that is not registered for a call.
        if key >> 32 == u64::from(u32::MAX) && name.starts_with(b"xprtrdma") {
            return;
        }
        let xid = fields.xid();
        let is_sent = matches!(name, b"xprt_reserve" | b"xprtrdma_marshal");
        let Some(task) = self.task(key, stamp) else { return };
        task.take_event(name, fields, stamp);
        if let Some(xid) = xid.filter(|_| is_sent) {
            // Of a task, one XID is found: there are no more than tasks.
            if let Some(earlier) = task.xid.replace(xid) {
                self.xids.remove(&earlier);
            }
            self.xids.insert(xid, key);
        }
    }

    /// A reply has come. Returns an earlier RPC if there are too many whose statistics have not come.
    fn answer(&mut self, fields: Fields<'_>, stamp: Stamp) -> Option<TracedRpc> {
        let key = fields.task().or_else(|| self.xids.get(&fields.xid()?).copied())?;
        let xid = fields.xid();
        let task = self.task(key, stamp)?;
        task.replied = Some(stamp);
        task.xid = task.xid.or(xid);
        self.answered.push_back(key);
        if self.answered.len() <= ANSWERED {
            return None;
        }
        let key = self.answered.pop_front()?;
        self.remove(key, WaitEnd::Capture)
    }

    /// Takes the kernel's statistics of a task, with which the RPC ends.
    fn end(&mut self, fields: Fields<'_>, stamp: Stamp) -> Option<TracedRpc> {
        let (key, xid) = (fields.task()?, fields.xid());
        let mut words = fields.words().skip_while(|word| !word.starts_with(b"xid=")).skip(1);
        let (program, procedure) = (words.next()?, words.next()?);
        let task = self.task(key, stamp)?;
        if task.called.procedure.is_none() && !task.called.is_reverse {
            task.called = TracedCall::by_client(program, procedure);
        }
        task.xid = xid.or(task.xid);
        task.queue = fields.microseconds(b"backlog");
        task.round_trip = fields.microseconds(b"rtt");
        self.answered.retain(|answered| *answered != key);
        self.remove(key, WaitEnd::Capture)
    }

    fn remove(&mut self, key: u64, end: WaitEnd) -> Option<TracedRpc> {
        let task = self.tasks.remove(&key)?;
        let xid = task.xid?;
        self.xids.remove(&xid);
        // The tasks of mounts over TCP have the same events, but none of RDMA.
        if task.posted.is_none() && task.replied.is_none() {
            return None;
        }
        Some(task.into_rpc(xid, self.client, end))
    }

    /// Returns the RPCs that have not ended in the trace.
    pub(super) fn drain_open(&mut self) -> Vec<TracedRpc> {
        let mut open: Vec<_> = self.tasks.drain().map(|(_, task)| task).collect();
        open.sort_by_key(|task| task.posted.map(|posted| posted.frame));
        let sent = open.into_iter().filter(|task| task.posted.is_some() || task.replied.is_some());
        sent.filter_map(|task| Some(task.xid?).map(|xid| task.into_rpc(xid, self.client, WaitEnd::Capture))).collect()
    }
}

impl Task {
    /// Returns true if the call was sent and the reply has not come.
    const fn is_waiting(&self) -> bool {
        self.posted.is_some() && self.replied.is_none()
    }

    fn take_event(&mut self, name: &[u8], fields: Fields<'_>, stamp: Stamp) {
        let length = fields.segment_length().unwrap_or_default();
        match name {
            b"rpc_task_sleep" => self.sleeping = queue(fields).map(|queue| Sleep { queue, since: stamp.time }),
            b"rpc_task_wakeup" => self.wake(stamp.time),
            b"xprtrdma_mr_map" | b"xprtrdma_mr_fastreg" if self.replied.is_none() => {
                let new = Registering { first: stamp.time, last: stamp.time };
                self.registering.get_or_insert(new).last = stamp.time;
            }
            b"xprtrdma_chunk_read" => {
                self.chunks.has_read = true;
                self.chunks.is_long_call |= fields.number(b"pos") == Some(0);
                self.chunks.read_octets = self.chunks.read_octets.saturating_add(length);
            }
            b"xprtrdma_chunk_write" => self.chunks.has_write = true,
            b"xprtrdma_chunk_reply" => self.chunks.is_long_reply = true,
            b"xprtrdma_marshal" => {
                if let Some(registering) = &mut self.registering {
                    registering.last = stamp.time;
                }
            }
            // A call that is sent after a reply has another reply.
            b"xprtrdma_post_send" if self.replied.is_none() => {
                self.posted.get_or_insert(stamp);
                self.transmissions = self.transmissions.saturating_add(1);
                if let Some(Registering { first, last }) = self.registering.take() {
                    let registered = last.0.saturating_sub(first.0);
                    self.registration = Some(self.registration.unwrap_or_default().saturating_add(registered));
                }
            }
            b"rpc_task_end" => self.status = fields.signed(b"status"),
            _ => {}
        }
    }

    fn wake(&mut self, time: Time) {
        let Some(Sleep { queue, since }) = self.sleeping.take() else { return };
        let slept = time.0.saturating_sub(since.0);
        let wait = match queue {
            TaskQueue::Credit => &mut self.credit_wait,
            TaskQueue::Slot => &mut self.slot_wait,
        };
        *wait = wait.saturating_add(slept);
    }

    fn into_rpc(self, xid: u32, client: Option<Address>, end: WaitEnd) -> TracedRpc {
        let Self { mut called, posted, replied, .. } = self;
        let status = self.status.and_then(|status| rpc_status(status, &called));
        if let (Some(operation), Some(Status::Success(status))) = (called.operations.first_mut(), status) {
            operation.status = status.filter(|_| replied.is_some());
        }
        // The kernel measures from the last transmission.
        let measured = self.round_trip.filter(|_| self.transmissions <= 1 && replied.is_some());
        let began = measured.zip(replied).map(|(time, replied)| Time(replied.time.0.saturating_sub(time)));
        let waited = self.began.zip(posted).map(|(began, posted)| posted.time.0.saturating_sub(began.0));
        let has_chunks = self.chunks.has_read || self.chunks.has_write || self.chunks.is_long_reply;
        TracedRpc {
            connection: 0,
            ends: TracedEnds { client: client.unwrap_or(UNKNOWN_END), server: self.server.unwrap_or(UNKNOWN_END) },
            xid,
            called,
            status,
            call: posted.or_else(|| began.zip(replied).map(|(time, replied)| Stamp { time, ..replied })),
            began,
            reply: replied,
            phases: Err(NotTimed::KernelTrace),
            credit_wait: self.began.map(|_| self.credit_wait),
            slot_wait: self.began.map(|_| self.slot_wait),
            chunks: self.chunks,
            delivery: Delivery::Unknown,
            end,
            times: KernelTimes {
                is_without_packets: true,
                is_at_client: true,
                queue: self.queue.or(waited),
                registration: self.registration.or(has_chunks.then_some(0).filter(|_| posted.is_some())),
                round_trip: self.round_trip,
                transmissions: self.transmissions,
                ..KernelTimes::default()
            },
        }
    }
}

/// The queue of `rpc_task_sleep`, if calls wait there for a credit or slot.
fn queue(fields: Fields<'_>) -> Option<TaskQueue> {
    match fields.text(b"queue")? {
        b"xprt_sending" | b"xprt_backlog" => Some(TaskQueue::Credit),
        name if name.starts_with(b"ForeChannel") || name.ends_with(b"Slot") => Some(TaskQueue::Slot),
        _ => None,
    }
}

/// Outcome of an RPC from the status of the task: a number of octets, or a negative error. An error of the RPC itself has
/// no place in a reply.
fn rpc_status(task: i64, called: &TracedCall) -> Option<Status> {
    if task >= 0 {
        return Some(Status::Success(called.procedure.map(|_| 0)));
    }
    let code = u32::try_from(task.checked_neg()?).ok()?;
    let procedure = called.procedure?;
    status::name(&procedure, false, code).map(|_| Status::Success(Some(code)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_none_to_a_later_call() {
        let mut trace = ClientTrace::default();
        let events = [
            (&b"xprtrdma_reply"[..], "task:0000002d@00000001 xid=0x00000007 credits=64"),
            (b"xprtrdma_post_send", "task:0000002d@00000001 cq.id=1 cid=59 (2 SGEs) signaled"),
        ];
        for (frame, (name, fields)) in (1..).zip(events) {
            trace.take_event(name, Fields(fields.as_bytes()), Stamp { frame, time: Time(frame) });
        }
        let [rpc] = &trace.drain_open()[..] else { panic!("one RPC") };
        assert_eq!((rpc.call, rpc.reply.unwrap().frame, rpc.times.transmissions), (None, 1, 0));
    }

    #[test]
    fn a_task_has_one_xid() {
        let mut trace = ClientTrace::default();
        for xid in 0..100 {
            let text = format!("task:0000002d@00000001 xid={xid:#010x}");
            trace.take_event(b"xprt_reserve", Fields(text.as_bytes()), Stamp::default());
        }
        assert_eq!((trace.xids.len(), trace.tasks.len()), (1, 1));
        trace.take_event(b"rpc_request", Fields(b"task:0000002d@00000001 nfsv4 READ (async)"), Stamp::default());
        assert_eq!((trace.xids.len(), trace.tasks.len()), (0, 1));
    }
}

//! RPCs in the trace of a server, by `rdma_xid`, by the thread that carries each out, and by the completions of RDMA
//! operations.
//!
//! ```text
//! svcrdma_wc_recv  svcrdma_decode_rqst  svcrdma_post_read_chunk  svcrdma_wc_read  svc_process   svcrdma_post_send  svc_send
//! ├── server queue ┤                    ├── RDMA Read ───────────┤                ├── execution ┤
//! ```

use super::called::TracedCall;
use super::event_use::EventUse;
use super::fields::Fields;
use super::rpc::{TracedChunks, TracedEnds, TracedRpc, UNKNOWN_END, final_status};
use crate::carrier::operation::Stamp;
use crate::carrier::table::Map;
use crate::file::{Time, TraceEvent};
use crate::link::Address;
use crate::rpc::kernel_times::KernelTimes;
use crate::rpc::phases::{NotTimed, Phases};
use crate::rpc::properties::Status;
use crate::rpc::waiting::{Delivery, WaitEnd};

/// The most RPCs, threads and completions that are followed at a time, each.
const MOST: usize = 16_384;

/// The RPCs of a server.
#[derive(Debug, Default)]
pub(super) struct ServerTrace {
    requests: Map<u32, ServedCall>,
    /// The RPC of each thread.
    threads: Map<Box<[u8]>, u32>,
    /// Receives that have completed, and what is known of their calls.
    received: Map<u64, ReceivedCall>,
    /// RDMA Reads that have not completed.
    posted: Map<u64, PostedRead>,
    /// RPCs that were left out because there were too many.
    pub(super) left_out: u64,
}

/// A Receive that has completed.
#[derive(Clone, Copy, Debug, Default)]
struct ReceivedCall {
    at: Option<Stamp>,
    chunks: TracedChunks,
}

/// An RDMA Read that was posted for a call.
#[derive(Clone, Copy, Debug)]
struct PostedRead {
    xid: u32,
    since: Time,
}

/// A call at a server.
#[derive(Debug, Default)]
struct ServedCall {
    received: Option<Stamp>,
    decoded: Option<Stamp>,
    client: Option<Address>,
    server: Option<Address>,
    called: Option<TracedCall>,
    chunks: TracedChunks,
    /// First request of an RDMA Read.
    read_since: Option<Time>,
    read: Option<u64>,
    executed: Option<u64>,
    /// Start of the current access to the file system.
    file_system_since: Option<Time>,
    file_system: Option<u64>,
    replied: Option<Stamp>,
    is_dropped: bool,
}

impl ServerTrace {
    /// Takes an event.
    pub(super) fn take_event(&mut self, event: &TraceEvent<'_>, stamp: Stamp) -> EventUse {
        let fields = Fields(event.fields);
        match event.name {
            b"svcrdma_wc_recv" | b"svcrdma_wc_receive" => {
                if let Some(completion) = fields.completion() {
                    insert(&mut self.received, completion, ReceivedCall { at: Some(stamp), ..ReceivedCall::default() });
                }
            }
            b"svcrdma_decode_rseg" | b"svcrdma_decode_wseg" => self.note_segment(event.name, fields),
            b"svcrdma_decode_rqst" => self.begin(event, fields, stamp),
            b"svcrdma_wc_read" => self.complete_read(fields, stamp),
            b"svc_send" => return EventUse::of_rpc(self.end(event, fields, stamp)),
            b"svcrdma_post_read_chunk"
            | b"svcrdma_post_write_chunk"
            | b"svcrdma_post_reply_chunk"
            | b"svcrdma_post_rw"
            | b"svcrdma_encode_wseg"
            | b"svcrdma_post_send"
            | b"svc_process"
            | b"svc_stats_latency"
            | b"svc_drop"
            | b"nfsd_compound_status"
            | b"nfsd_write_start"
            | b"nfsd_write_opened"
            | b"nfsd_write_io_done"
            | b"nfsd_read_start"
            | b"nfsd_read_splice"
            | b"nfsd_read_vector"
            | b"nfsd_read_direct"
            | b"nfsd_read_io_done"
            | b"nfsd_commit_start"
            | b"nfsd_commit_done" => self.request_event(event, fields, stamp),
            _ => return EventUse::None,
        }
        EventUse::Noted
    }

    /// Notes a segment of a call, before the event that names the `rdma_xid` of the call.
    fn note_segment(&mut self, name: &[u8], fields: Fields<'_>) {
        let Some(received) = fields.completion().and_then(|completion| self.received.get_mut(&completion)) else {
            return;
        };
        if name == b"svcrdma_decode_rseg" {
            received.chunks.has_read = true;
            received.chunks.is_long_call |= fields.number(b"position") == Some(0);
            let length = fields.segment_length().unwrap_or_default();
            received.chunks.read_octets = received.chunks.read_octets.saturating_add(length);
        } else {
            received.chunks.has_write = true;
        }
    }

    fn begin(&mut self, event: &TraceEvent<'_>, fields: Fields<'_>, stamp: Stamp) {
        let Some(xid) = fields.xid() else { return };
        let received = fields.completion().and_then(|completion| self.received.remove(&completion)).unwrap_or_default();
        let request = ServedCall {
            received: received.at,
            decoded: Some(stamp),
            chunks: received.chunks,
            ..ServedCall::default()
        };
        if self.requests.len() >= MOST && !self.requests.contains_key(&xid) {
            self.left_out += 1;
            return;
        }
        self.requests.insert(xid, request);
        insert(&mut self.threads, event.thread.into(), xid);
    }

    /// Returns the RPC of an event: the one that the event names, or else the one of the thread.
    fn xid_of(&mut self, event: &TraceEvent<'_>, fields: Fields<'_>) -> Option<u32> {
        match fields.xid() {
            Some(xid) => {
                match self.threads.get_mut(event.thread) {
                    Some(current) => *current = xid,
                    None => insert(&mut self.threads, event.thread.into(), xid),
                }
                Some(xid)
            }
            None => self.threads.get(event.thread).copied(),
        }
    }

    fn request_event(&mut self, event: &TraceEvent<'_>, fields: Fields<'_>, stamp: Stamp) {
        let Some(xid) = self.xid_of(event, fields) else { return };
        let Some(request) = self.requests.get_mut(&xid) else { return };
        let is_read =
            matches!(event.name, b"svcrdma_post_read_chunk" | b"svcrdma_post_rw") && request.replied.is_none();
        if is_read && request.chunks.has_read {
            request.read_since.get_or_insert(stamp.time);
            if let Some(completion) = fields.completion() {
                insert(&mut self.posted, completion, PostedRead { xid, since: stamp.time });
            }
        }
        request.take_event(event.name, fields, stamp);
    }

    fn complete_read(&mut self, fields: Fields<'_>, stamp: Stamp) {
        let Some(PostedRead { xid, since }) =
            fields.completion().and_then(|completion| self.posted.remove(&completion))
        else {
            return;
        };
        let Some(request) = self.requests.get_mut(&xid) else { return };
        let measured = fields.microseconds(b"latency-us").unwrap_or_else(|| stamp.time.0.saturating_sub(since.0));
        // Several RDMA Reads are posted one after the other, or at once.
        let first = request.read_since.unwrap_or(since);
        let before = since.0.saturating_sub(first.0);
        request.read = Some(request.read.unwrap_or_default().max(measured.saturating_add(before)));
    }

    /// The thread has sent the reply.
    fn end(&mut self, event: &TraceEvent<'_>, fields: Fields<'_>, stamp: Stamp) -> Option<TracedRpc> {
        let xid = self.xid_of(event, fields)?;
        self.threads.remove(event.thread);
        let mut request = self.requests.remove(&xid)?;
        request.name_ends(fields);
        if fields.signed(b"status").is_none_or(|status| status >= 0) {
            request.replied.get_or_insert(stamp);
        }
        Some(request.into_rpc(xid))
    }

    /// Returns the RPCs that have not ended in the trace.
    pub(super) fn drain_open(&mut self) -> Vec<TracedRpc> {
        let mut open: Vec<_> = self.requests.drain().collect();
        open.sort_by_key(|(_, request)| request.decoded.map(|decoded| decoded.frame));
        open.into_iter().map(|(xid, request)| request.into_rpc(xid)).collect()
    }
}

/// Adds an entry to a map, unless the map is full: then times stay unknown.
fn insert<K: Eq + core::hash::Hash, V>(map: &mut Map<K, V>, key: K, value: V) {
    if map.len() < MOST || map.contains_key(&key) {
        map.insert(key, value);
    }
}

impl ServedCall {
    fn take_event(&mut self, name: &[u8], fields: Fields<'_>, stamp: Stamp) {
        match name {
            b"svc_process" => {
                let version =
                    fields.number(b"vers").and_then(|version| u32::try_from(version).ok()).unwrap_or_default();
                let [service, procedure] =
                    [b"service".as_slice(), b"proc"].map(|name| fields.text(name).unwrap_or_default());
                self.called = Some(TracedCall::by_server(service, version, procedure));
                self.client = fields.address(b"addr").or(self.client);
            }
            b"svc_stats_latency" => {
                self.executed = fields.microseconds(b"execute-us");
                self.name_ends(fields);
            }
            b"nfsd_compound_status" => {
                let operation = fields.words().find(|word| word.starts_with(b"OP_"));
                let status = fields.number(b"status").and_then(|status| u32::try_from(status).ok());
                if let (Some(called), Some(operation), Some(status)) = (&mut self.called, operation, status) {
                    called.add_operation(operation, status);
                }
            }
            b"svcrdma_encode_wseg" => {
                let length = fields.segment_length().unwrap_or_default();
                self.chunks.write_octets = self.chunks.write_octets.saturating_add(length);
            }
            b"svcrdma_post_reply_chunk" => self.chunks.is_long_reply = true,
            b"svcrdma_post_send" => _ = self.replied.get_or_insert(stamp),
            b"svc_drop" => self.is_dropped = true,
            b"nfsd_write_start" | b"nfsd_write_opened" | b"nfsd_read_start" | b"nfsd_read_splice"
            | b"nfsd_read_vector" | b"nfsd_read_direct" | b"nfsd_commit_start" => {
                self.file_system_since = Some(stamp.time)
            }
            b"nfsd_write_io_done" | b"nfsd_read_io_done" | b"nfsd_commit_done" => {
                if let Some(since) = self.file_system_since.take() {
                    let time = stamp.time.0.saturating_sub(since.0);
                    self.file_system = Some(self.file_system.unwrap_or_default().saturating_add(time));
                }
            }
            _ => {}
        }
    }

    fn name_ends(&mut self, fields: Fields<'_>) {
        self.client = fields.address(b"client").or_else(|| fields.address(b"addr")).or(self.client);
        self.server = fields.address(b"server").or(self.server);
    }

    fn into_rpc(self, xid: u32) -> TracedRpc {
        let call = self.received.or(self.decoded);
        let reply = self.replied.filter(|_| !self.is_dropped);
        let latency = call.zip(reply).map(|(call, reply)| reply.time.0.saturating_sub(call.time.0));
        let pull = self.read.unwrap_or_default().min(latency.unwrap_or_default());
        let phases = Phases { rdma_read: pull, responder: latency.unwrap_or_default() - pull, ..Phases::default() };
        let (is_called, called) = (self.called.is_some(), self.called.unwrap_or_default());
        TracedRpc {
            connection: 0,
            ends: TracedEnds { client: self.client.unwrap_or(UNKNOWN_END), server: self.server.unwrap_or(UNKNOWN_END) },
            xid,
            status: is_called.then(|| match called.procedure {
                Some(_) => final_status(&called.operations),
                None => Status::Success(None),
            }),
            called,
            call,
            began: call.map(|call| call.time),
            reply,
            phases: if self.chunks.has_read && self.read.is_none() { Err(NotTimed::KernelTrace) } else { Ok(phases) },
            credit_wait: None,
            slot_wait: None,
            chunks: self.chunks,
            delivery: Delivery::Accepted,
            end: WaitEnd::Capture,
            times: KernelTimes {
                is_without_packets: true,
                is_at_server: true,
                server_queue: self.received.zip(self.decoded).map(|(from, to)| to.time.0.saturating_sub(from.time.0)),
                served: latency,
                rdma_read: self.read,
                execution: self.executed,
                file_system: self.file_system,
                ..KernelTimes::default()
            },
        }
    }
}

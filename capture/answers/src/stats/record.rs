//! The numbers that are shown. JSON has the same fields.

use core::fmt::Display;

use rpcrdma::private_data::Flags;
use rpcrdma_dissector::{
    Carrier, ClockSteps, Counts, EndLatencies, Report, Side, Summary, TimeBase, TraceClock, TraceCounts,
};

use super::credits::{ConnectionCredits, CreditCounts, Inline};
use super::histogram::Histogram;
use super::mounts::MountStatistics;
use super::permitted::PermittedMessages;

/// Statistics of a capture.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Statistics {
    /// Options of the selection that messages, chunks and RPCs are of; null without one. Frames, and packets of
    /// connections, count the whole capture.
    pub selection: Option<String>,
    /// The frames.
    pub capture: CaptureStatistics,
    /// The connections that carry RPC-over-RDMA.
    pub connections: Vec<ConnectionStatistics>,
    /// Connections that the list omits.
    pub connections_left_out: u64,
    /// The mounts: what RPCs and connections between a client and a server show of the options of both.
    pub mounts: Vec<MountStatistics>,
    /// Connections that were refused.
    pub rejected: Vec<RejectedStatistics>,
    /// Refusals that the list omits.
    pub rejected_left_out: u64,
    /// Connection requests to which the capture holds no answer, by port.
    pub unanswered: Vec<UnansweredStatistics>,
    /// Such requests that the list omits.
    pub unanswered_left_out: u64,
    /// Connections that carry something else.
    pub other: OtherTraffic,
    /// The Sends that carry RPC-over-RDMA.
    pub messages: MessageStatistics,
    /// The chunks in these Sends.
    pub chunks: ChunkStatistics,
    /// The RPCs.
    pub rpcs: RpcStatistics,
    /// RPCs by procedure, the most frequent first.
    pub procedures: Vec<ProcedureStatistics>,
    /// RPCs of procedures that the list omits.
    pub procedures_left_out: u64,
    /// The RPCs that did not succeed, by procedure and status.
    pub failures: Vec<StatusStatistics>,
    /// Failures that the list omits.
    pub failures_left_out: u64,
}

/// The frames of a capture.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CaptureStatistics {
    /// Frames in all.
    pub frames: u64,
    /// Captured octets of the frames.
    pub octets: u64,
    /// Beginning of all times of the capture: `utc` for 1970-01-01 00:00 UTC; `boot` for the boot of the kernel, as in kernel traces.
    #[serde(serialize_with = "crate::record::values::as_time_base")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub time_base: TimeBase,
    /// Time of the first frame, in nanoseconds since 1970-01-01 00:00 UTC; `None` if there is none.
    pub first_ns: Option<u64>,
    /// Time of the last frame.
    pub last_ns: Option<u64>,
    /// Nanoseconds from the first frame to the last.
    pub duration_ns: u64,
    /// Frames that the capture cut.
    pub cut: u64,
    /// InfiniBand packets.
    pub packets: u64,
    /// InfiniBand packets whose own headers are cut.
    pub unreadable: u64,
    /// InfiniBand packets of no reliable connection, by their transport service: congestion notifications (CNP), unreliable
    /// connections (UC), reliable datagrams (RD), unreliable datagrams (UD) other than connection management.
    pub other_services: Vec<NamedCount>,
    /// InfiniBand packets whose checksums were verified.
    pub verified: u64,
    /// Packets whose ICRC is wrong.
    pub bad_icrc: u64,
    /// Packets whose VCRC is wrong.
    pub bad_vcrc: u64,
    /// TCP segments of iWARP connections.
    pub segments: u64,
    /// FPDUs of iWARP with a CRC in force that is wrong.
    pub bad_crc: u64,
    /// Frames that carry neither, by kind.
    pub others: Vec<NamedCount>,
    /// Steps back of the clock: latencies across one are wrong.
    pub clock_steps: ClockStatistics,
    /// Lines of kernel traces; null if the capture holds none.
    pub trace: Option<TraceStatistics>,
}

/// Frames with an earlier time than the frame before them in the same file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ClockStatistics {
    /// Number of such frames.
    pub count: u64,
    /// The first frame; null without any.
    pub first_frame: Option<u64>,
    /// Nanoseconds of the longest step.
    pub longest_ns: u64,
    /// The frame after the longest step; null without any.
    pub longest_frame: Option<u64>,
    /// Frames in disorder that were put where their times belong, which changes the numbers of frames; not among `count`.
    pub sorted_frames: u64,
}

/// Lines of kernel traces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TraceStatistics {
    /// Events.
    pub events: u64,
    /// Events that say nothing of RPCs, or that are not known.
    pub unused_events: u64,
    /// Events that the ring buffers of the kernel lost, at least.
    pub lost_events: u64,
    /// RPCs that were left out because too many were in flight.
    pub rpcs_left_out: u64,
    /// Clock of the trace of the client; null unless packets show RPCs of the trace too.
    pub client_clock: Option<TraceClockStatistics>,
    /// Clock of the trace of the server.
    pub server_clock: Option<TraceClockStatistics>,
}

/// Clock of a kernel trace beside the clock of the packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TraceClockStatistics {
    /// Nanoseconds by which the clock of the packets is ahead.
    pub offset_ns: i64,
    /// Nanoseconds by which `offset_ns` may be wrong, in either direction.
    pub uncertainty_ns: u64,
    /// RPCs in both.
    pub rpcs: u64,
}

impl TraceClockStatistics {
    fn new(clock: TraceClock) -> Self {
        Self { offset_ns: clock.bounds.middle(), uncertainty_ns: clock.bounds.uncertainty(), rpcs: clock.rpcs }
    }
}

impl TraceStatistics {
    pub(crate) fn new(counts: TraceCounts) -> Self {
        let TraceCounts { events, unused, lost, left_out, clocks, .. } = counts;
        Self {
            events,
            unused_events: unused,
            lost_events: lost,
            rpcs_left_out: left_out,
            client_clock: clocks.client.map(TraceClockStatistics::new),
            server_clock: clocks.server.map(TraceClockStatistics::new),
        }
    }
}

impl ClockStatistics {
    pub(crate) fn new(steps: ClockSteps) -> Self {
        let ClockSteps { count, first_frame, longest_ns, longest_frame, sorted, .. } = steps;
        let frame = |number| (count > 0).then_some(number);
        let (first_frame, longest_frame) = (frame(first_frame), frame(longest_frame));
        Self { count, first_frame, longest_ns, longest_frame, sorted_frames: sorted }
    }
}

/// Number of occurrences of something.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NamedCount {
    /// Name of the thing counted.
    pub name: String,
    /// Number of occurrences.
    pub count: u64,
}

/// A connection.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ConnectionStatistics {
    /// Number of the connection.
    pub connection: u32,
    /// Carrier of the connection.
    pub carrier: &'static str,
    /// The requested port, if the capture holds the setup.
    pub port: Option<u16>,
    /// True if the capture holds the connection setup; false if the capture begins in the middle of the connection.
    pub setup_captured: bool,
    /// Capture point of the packets: at the `client`, at the `server`, or `between` client and server, if known.
    pub captured_at: Option<&'static str>,
    /// Source of the capture point: the `option` --captured-at, or `inferred` from the acknowledgements of both ends.
    pub captured_at_source: Option<&'static str>,
    /// Median latency at the requester, in nanoseconds, if the file holds the packets as captured at both ends.
    /// `captured_at` is then the place of the packets by which other times are counted: the packets that come first in
    /// the file.
    pub requester_median_ns: Option<u64>,
    /// Median of the same RPCs at the responder: the network took the rest.
    pub responder_median_ns: Option<u64>,
    /// The end none of whose packets were captured, `active` or `passive`; null if both ends sent some.
    pub missing_direction: Option<&'static str>,
    /// The end whose packets the capture has after their acknowledgements, because their times are by another clock, `active` or
    /// `passive`. Times from one end to the other, retransmissions and missing packets are not known then.
    pub late_clock: Option<&'static str>,
    /// The end that asked for the connection; if that is not known, the one that was seen first.
    pub active: EndReport,
    /// The other end.
    pub passive: EndReport,
    /// The inline thresholds, if the capture holds the setup (RFC 8797 section 4.2).
    pub inline: Option<Inline>,
    /// True if both ends said that memory may be invalidated remotely (RFC 8797 section 4.1).
    pub remote_invalidation: Option<bool>,
    /// Messages on the connection.
    pub messages: u64,
    /// Credits.
    pub credits: CreditCounts,
    /// The same of calls from the server to the client, which have credits of their own (RFC 8167 section 4.1).
    pub reverse_credits: CreditCounts,
    /// RDMA Writes and Reads on memory that no captured call advertised.
    pub unmatched_transfers: u64,
}

/// Counts from the messages of a connection.
#[derive(Debug, Default)]
pub(super) struct PerConnection {
    pub(super) messages: u64,
    pub(super) credits: ConnectionCredits,
    pub(super) permitted: PermittedMessages,
}

/// One end of a connection.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct EndReport {
    /// Address of the end.
    pub address: String,
    /// Queue pair of the end, if the capture shows the number.
    pub queue_pair: Option<String>,
    /// TCP port of the end, for iWARP.
    pub tcp_port: Option<u16>,
    /// Remote invalidation support announced by this end; `None` if the connection setup was not captured.
    pub remote_invalidation: Option<bool>,
    /// Counts of the packets of the end.
    #[serde(flatten, serialize_with = "EndCounts::serialize")]
    #[cfg_attr(feature = "schema", schemars(with = "EndCounts"))]
    pub counts: Counts,
    /// Number of measurements of the time to acknowledge.
    pub acknowledgements: u64,
    /// The least of these times.
    pub acknowledgement_least_ns: Option<u64>,
    /// Median of the first 32 of these times.
    pub acknowledgement_median_ns: Option<u64>,
    /// Nanoseconds during which all credits were used by waiting calls.
    pub at_limit_ns: u64,
    /// Nanoseconds during which all credits may have been used: the capture does not show more.
    pub at_limit_unknown_ns: u64,
    /// In version 2: number of messages that this end has permitted the other end to send. In family A the sum of all
    /// grants, in family B the value in the last message.
    pub permitted_messages: Option<u64>,
}

/// Names of the [`Counts`] of an end in records, which stay if names in the library change.
#[derive(serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(remote = "Counts")]
struct EndCounts {
    /// Packets sent by the end.
    packets: u64,
    /// Retransmitted packets whose first transmission is in the capture.
    retransmitted: u64,
    /// Duplicates of packets, made by the capture or the network. No other count includes duplicates.
    duplicates: u64,
    /// Retransmitted packets whose first transmission is not in the capture.
    replaced: u64,
    /// Time-outs: the end got no acknowledgement.
    timeouts: u64,
    /// RDMA Read requests retransmitted because a response was missing.
    implied_naks: u64,
    /// Retransmissions without a cause in the capture.
    causes_not_seen: u64,
    /// Packets that came before one with a smaller number, and acknowledgements that came before the acknowledged
    /// packet.
    early: u64,
    /// Negative acknowledgements for a gap, sent by this end.
    sequence_errors: u64,
    /// "Receiver not ready" sent by the end.
    not_ready: u64,
    /// Operations that the end refused permanently.
    failed: u64,
    /// Packets of this end that the capture lacks.
    missed: u64,
    /// Data packets of operations whose start is not in the capture.
    unmatched: u64,
}

/// Connection requests that were refused for the same reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RejectedStatistics {
    /// The port that was asked for.
    pub port: Option<u16>,
    /// InfiniBand's reason code; iWARP has none.
    pub reason: Option<u16>,
    /// Meaning of the rejection.
    pub meaning: &'static str,
    /// Number of refused requests.
    pub count: u64,
}

/// Connection requests without an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct UnansweredStatistics {
    /// The port that was asked for.
    pub port: Option<u16>,
    /// Number of requests.
    pub count: u64,
    /// Number of times that the requests were sent.
    pub sent: u64,
}

/// Connections that show no RPC-over-RDMA: a connection without captured setup may carry some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OtherTraffic {
    /// Number of connections.
    pub connections: u64,
    /// InfiniBand packets of these connections.
    pub packets: u64,
}

/// Messages.
#[derive(Clone, Debug, Default, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MessageStatistics {
    /// Number of messages.
    pub total: u64,
    /// Octets of the messages.
    pub octets: u64,
    /// Calls.
    pub calls: u64,
    /// Replies, including RDMA_ERROR.
    pub replies: u64,
    /// By `rdma_proc`.
    pub by_type: Vec<NamedCount>,
    /// Messages whose header cannot be read.
    pub malformed: u64,
    /// Messages of which the capture holds only a part.
    pub incomplete: u64,
    /// Messages that invalidate memory remotely.
    pub invalidating: u64,
    /// Earlier transmissions of messages that the receiver discarded, because an earlier packet was lost before the
    /// capture point (InfiniBand). `retransmitted` and `replaced` of a connection's ends count all retransmitted
    /// packets.
    pub retransmitted: u64,
}

/// Chunks by purpose.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ChunkStatistics {
    /// Read chunks that are data items of a call.
    pub reads: ChunkTotals,
    /// Read chunks at Position Zero: calls as a whole.
    pub position_zero: ChunkTotals,
    /// Write chunks that calls provide.
    pub writes: ChunkTotals,
    /// Write chunks that replies return, used or not.
    pub writes_returned: ChunkTotals,
    /// Reply chunks that calls provide.
    pub reply: ChunkTotals,
    /// Reply chunks that replies return.
    pub reply_returned: ChunkTotals,
}

/// Number of chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChunkTotals {
    /// Chunks.
    pub chunks: u64,
    /// Segments of the chunks.
    pub segments: u64,
    /// Octets of the chunks.
    pub octets: u64,
}

/// Octets that were moved by RDMA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Moved {
    /// By RDMA Read.
    #[serde(rename = "rdma_read_octets")]
    pub read_octets: u64,
    /// By RDMA Write.
    #[serde(rename = "rdma_write_octets")]
    pub write_octets: u64,
}

/// RPCs.
#[derive(Clone, Debug, Default, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RpcStatistics {
    /// Number of RPCs.
    pub total: u64,
    /// RPCs in the reverse direction.
    pub reverse: u64,
    /// Calls without a reply in the capture.
    pub without_reply: u64,
    /// Replies without their call in the capture.
    pub without_call: u64,
    /// Forms in which calls were sent.
    pub calls_sent: Forms,
    /// Forms in which replies were sent.
    pub replies_sent: Forms,
    /// RPCs that would need no chunks with larger inline thresholds.
    pub fit_inline: InlineFits,
    /// Data that RDMA moved for the RPCs.
    #[serde(flatten)]
    pub moved: Moved,
    /// Calls that could not be put back together.
    pub calls_not_rebuilt: u64,
    /// Replies that could not be put back together.
    pub replies_not_rebuilt: u64,
    /// Why.
    pub not_rebuilt: Vec<NamedCount>,
}

/// Number of RPCs that would be inline, call and reply, if Sends in both directions could have the given size. The size
/// includes a header of 28 octets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct InlineFits {
    /// RPCs whose call and reply were both rebuilt: the total of the other counts.
    pub rpcs: u64,
    /// With 4 KiB.
    pub kib_4: u64,
    /// With 8 KiB.
    pub kib_8: u64,
    /// With 16 KiB.
    pub kib_16: u64,
    /// With 64 KiB.
    pub kib_64: u64,
    /// With 128 KiB.
    pub kib_128: u64,
}

/// Forms in which RPC messages were sent (RFC 8166 section 3.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Forms {
    /// In one Send.
    pub short: u64,
    /// In a Send and chunks.
    pub chunked: u64,
    /// In a Position Zero Read chunk or the Reply chunk.
    pub long: u64,
    /// In several Sends (version 2).
    pub continued: u64,
}

/// RPCs that call the same procedure.
#[derive(Clone, Debug, Default, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ProcedureStatistics {
    /// The procedure; of a COMPOUND the main operation.
    pub operation: String,
    /// Calls.
    pub calls: u64,
    /// Replies.
    pub replies: u64,
    /// Replies that report a failure; NFS4ERR_MOVED is none.
    pub failed: u64,
    /// Data that RDMA moved for the RPCs.
    #[serde(flatten)]
    pub moved: Moved,
    /// Sum of the latencies, in nanoseconds.
    pub latency_sum_ns: u64,
    /// Nanoseconds for which calls without a reply waited, added up: to the end of their connection or of the capture.
    pub unanswered_sum_ns: u64,
    /// From the frame that completes the call to the one that completes the reply; `None` without replies.
    pub latency: Option<Latency>,
}

impl ProcedureStatistics {
    /// Latencies in nanoseconds: the latencies, and the waits of calls without a reply.
    #[must_use]
    pub const fn time(&self) -> u64 {
        self.latency_sum_ns.saturating_add(self.unanswered_sum_ns)
    }
}

/// Latencies. The median and the 99th percentile are right to one in a hundred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Latency {
    /// Number of RPCs whose latency is known. The percentiles of one RPC equal the latency.
    pub count: u64,
    /// The least, in nanoseconds.
    pub min_ns: u64,
    /// Median, in nanoseconds.
    pub p50_ns: u64,
    /// Nanoseconds that 99 of 100 do not exceed.
    pub p99_ns: u64,
    /// The greatest, in nanoseconds.
    pub max_ns: u64,
}

/// Outcome of an RPC: a status of RPC (RFC 5531 section 9) or of the procedure, or the `rdma_err` of an RDMA_ERROR.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatusName {
    /// The name of the status.
    pub name: String,
    /// Number of the status.
    pub number: u32,
}

/// RPCs that ended in the same way.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct StatusStatistics {
    /// The procedure; of a COMPOUND the operation that failed.
    pub operation: String,
    /// Outcome of these RPCs.
    pub status: StatusName,
    /// Number of these RPCs.
    pub count: u64,
}

impl CaptureStatistics {
    pub(crate) fn new(summary: &Summary) -> Self {
        let duration = summary.first.zip(summary.last).map(|(first, last)| last.0.saturating_sub(first.0));
        Self {
            frames: summary.frames,
            octets: summary.octets,
            time_base: summary.time_base,
            first_ns: summary.first.map(|time| time.0),
            last_ns: summary.last.map(|time| time.0),
            duration_ns: duration.unwrap_or_default(),
            cut: summary.cut,
            packets: summary.packets,
            unreadable: summary.unreadable,
            other_services: named(&summary.other_services),
            verified: summary.verified,
            bad_icrc: summary.bad_icrc,
            bad_vcrc: summary.bad_vcrc,
            segments: summary.segments,
            bad_crc: summary.bad_crc,
            others: named(&summary.others),
            clock_steps: ClockStatistics::new(summary.clock),
            trace: summary.trace.map(TraceStatistics::new),
        }
    }
}

/// Counts with their names.
pub(crate) fn named(counts: &[(impl Display, u64)]) -> Vec<NamedCount> {
    counts.iter().map(|(name, count)| NamedCount { name: name.to_string(), count: *count }).collect()
}

/// The time that half of the RPCs did not exceed, if the file holds the packets as captured at both ends.
fn median(report: &Report, time: impl Fn(&EndLatencies) -> u64) -> Option<u64> {
    let mut times = Histogram::default();
    report.both_ends.as_ref()?.rpcs.iter().for_each(|rpc| times.record(time(rpc)));
    Latency::new(&times).map(|latency| latency.p50_ns)
}

impl ConnectionStatistics {
    /// Returns true if the connection is known from kernel traces, which show no packets.
    pub(crate) fn is_traced(&self) -> bool {
        self.carrier == Carrier::Traced.name()
    }

    pub(super) fn new(number: u32, report: &Report, counts: PerConnection) -> Self {
        let PerConnection { messages, credits, permitted } = counts;
        let connection = &report.connection;
        let agreement = connection.agreement();
        Self {
            connection: number,
            carrier: connection.carrier.name(),
            port: connection.port(),
            setup_captured: connection.setup_captured,
            captured_at: report.captured_at.map(|(place, _)| place.name()),
            captured_at_source: report.captured_at.map(|(_, known)| known.name()),
            requester_median_ns: median(report, |rpc| rpc.requester),
            responder_median_ns: median(report, |rpc| rpc.responder),
            missing_direction: report.missing_direction().map(side_name),
            late_clock: report.late_clock.map(side_name),
            active: EndReport::new(report, Side::Active, &permitted),
            passive: EndReport::new(report, Side::Passive, &permitted),
            inline: agreement.map(Inline::from),
            remote_invalidation: agreement.map(|agreement| agreement.remote_invalidation),
            messages,
            credits: credits.forward,
            reverse_credits: credits.reverse,
            unmatched_transfers: report.unmatched_transfers,
        }
    }
}

const fn side_name(side: Side) -> &'static str {
    match side {
        Side::Active => "active",
        Side::Passive => "passive",
    }
}

impl EndReport {
    fn new(report: &Report, side: Side, permitted: &PermittedMessages) -> Self {
        let Report { connection, counts, credit_times, .. } = report;
        let (end, counts, credits) = (connection.ends.get(side), counts.get(side), credit_times.get(side));
        Self {
            address: end.address.to_string(),
            queue_pair: end.queue_pair.map(|queue_pair| format!("{queue_pair:#08x}")),
            tcp_port: end.port,
            remote_invalidation: connection.said(side).map(|said| said.flags.contains(Flags::REMOTE_INVALIDATION)),
            counts: *counts,
            acknowledgements: counts.acknowledgements.map_or(0, |measured| measured.count),
            acknowledgement_least_ns: counts.acknowledgements.map(|measured| measured.least),
            acknowledgement_median_ns: counts.acknowledgements.map(|measured| measured.median),
            at_limit_ns: credits.reached,
            at_limit_unknown_ns: credits.unknown,
            permitted_messages: permitted.by(end.address),
        }
    }
}

impl ChunkTotals {
    pub(crate) const fn add_chunk(&mut self, segments: usize, octets: u64) {
        self.chunks += 1;
        self.segments += segments as u64;
        self.octets = self.octets.saturating_add(octets);
    }
}

impl Moved {
    pub(crate) const fn add_octets(&mut self, read_octets: u64, write_octets: u64) {
        self.read_octets += read_octets;
        self.write_octets += write_octets;
    }
}

impl Latency {
    /// Median and 99th percentile; `None` of a single RPC, whose latency is no statistic.
    #[must_use]
    pub fn percentiles(&self) -> Option<[u64; 2]> {
        (self.count > 1).then_some([self.p50_ns, self.p99_ns])
    }

    pub(crate) fn new(latency: &Histogram) -> Option<Self> {
        (latency.count > 0).then(|| Self {
            count: latency.count,
            min_ns: latency.min,
            p50_ns: latency.percentile(50),
            p99_ns: latency.percentile(99),
            max_ns: latency.max,
        })
    }
}

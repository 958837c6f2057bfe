//! Statistics of a capture.
//!
//! [`Stats`] takes events and keeps only counts, so memory does not grow with the capture: the list has at most
//! [`CONNECTIONS`] connections, and at most [`NAMES`] procedures and as many kinds of failure; the rest is only
//! counted. [`Statistics`] is the result.

pub(crate) mod columns;
mod credits;
pub(super) mod histogram;
mod in_flight;
mod intervals;
mod mounts;
mod permitted;
mod record;
mod sessions;
pub(super) mod text;

use std::collections::BTreeMap;

use rpcrdma::lists;
use rpcrdma_dissector::{
    Captured, Event, Half, Message, MessageDirection, MessageForm, NotRebuilt, OperationArguments, Rejected,
    RejectionKind, Report, Status, Summary, Transaction, UnansweredRequest, nfs, service_port,
};

use crate::name_counts::count;
use crate::operation_name::OperationName;
use crate::small_map::SmallMap;
use crate::unanswered::UnansweredWaits;
pub(crate) use credits::credits_of;
pub use credits::{ConnectionCredits, CreditCounts, Inline, Range};
pub(crate) use histogram::Histogram;
pub(crate) use histogram::{part, value_of_part};
pub use intervals::{CallsInFlight, IntervalStatistics, Intervals};
pub(crate) use mounts::Mounts;
pub use mounts::{MountNumber, MountStatistics, MountText, MountUser};
use record::PerConnection;
pub(crate) use record::named;
pub use record::{
    CaptureStatistics, ChunkStatistics, ChunkTotals, ClockStatistics, ConnectionStatistics, EndReport, Forms,
    InlineFits, Latency, MessageStatistics, Moved, NamedCount, OtherTraffic, ProcedureStatistics, RejectedStatistics,
    RpcStatistics, Statistics, StatusName, StatusStatistics, TraceClockStatistics, TraceStatistics,
    UnansweredStatistics,
};
pub use sessions::{MountFlag, MountServer, MountSession};
pub use text::{REORDER, by_two_clocks, interval_heading, sorted_frames, twice};

/// The most connections that are listed.
pub const CONNECTIONS: usize = 1000;
/// The most procedures, kinds of failure and kinds of rejection that are listed.
pub const NAMES: usize = 500;

/// Counts what is in a capture.
///
/// ```
/// use rpcrdma_answers::stats::Stats;
/// use rpcrdma_dissector::{Capture, Config, Events};
///
/// let capture = Capture::from_paths(["examples/nfs.pcap"]);
/// let mut events = Events::new(capture, Config::default());
/// let mut stats = Stats::default();
/// for event in events.by_ref() {
///     stats.event(&event?);
/// }
/// let statistics = stats.finish(events.summary());
/// assert_eq!((statistics.rpcs.total, statistics.rpcs.moved.write_octets), (3, 128 + 60 + 27));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Stats {
    /// Connections that have not ended.
    open: BTreeMap<u32, PerConnection>,
    connections: Vec<ConnectionStatistics>,
    connections_left_out: u64,
    other: OtherTraffic,
    rejected: SmallMap<(Option<u64>, RejectionKind), u64>,
    rejected_left_out: u64,
    /// By service.
    unanswered: SmallMap<Option<u64>, UnansweredStatistics>,
    unanswered_left_out: u64,
    messages: MessageStatistics,
    chunks: ChunkStatistics,
    rpcs: RpcStatistics,
    reasons: Vec<(&'static str, u64)>,
    /// Messages by `rdma_proc`.
    types: Vec<(&'static str, u64)>,
    procedures: SmallMap<String, PerProcedure>,
    procedures_left_out: u64,
    /// Calls without a reply, by procedure.
    waits: UnansweredWaits<String>,
    statuses: SmallMap<(String, StatusName), u64>,
    statuses_left_out: u64,
    selection: Option<String>,
    mounts: Mounts,
    /// True if mounts are not read: the counts are of an interval.
    is_interval: bool,
}

#[derive(Debug, Default)]
struct PerProcedure {
    counts: ProcedureStatistics,
    latency: Histogram,
}

impl Stats {
    /// Takes an event.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Message(message) => self.message(message),
            Event::Transaction(transaction) => self.transaction(transaction, None),
            Event::Connection(report) => self.connection(report),
            Event::Rejected(rejected) => self.rejected(rejected),
            Event::UnansweredRequest(request) => self.unanswered(request),
            Event::Promise(promise) if !self.is_interval => self.mounts.promise(promise),
            // Of other events, the connection's counts have what is counted.
            _ => {}
        }
    }

    /// Counts of an interval, which has no mounts.
    fn of_interval() -> Self {
        Self { is_interval: true, ..Self::default() }
    }

    /// Describes the selection of messages and RPCs by the options of the command line.
    pub fn describe_selection(&mut self, options: impl Into<String>) {
        self.selection = Some(options.into());
    }

    fn message(&mut self, message: &Message) {
        let counts = &mut self.messages;
        counts.total += 1;
        counts.octets += message.length as u64;
        counts.retransmitted += u64::from(message.retransmitted);
        counts.invalidating += u64::from(message.invalidates.is_some());
        let malformed = message.is_malformed();
        counts.malformed += u64::from(malformed.is_some());
        counts.incomplete += u64::from(message.captured != Captured::Whole);
        let name = match (message.prefix(), message.captured) {
            (Some(_), _) => message.type_name().unwrap_or("unknown"),
            (None, Captured::Whole) => "too short",
            (None, _) => "not captured",
        };
        count(&mut self.types, name);
        let connection = self.open.entry(message.connection).or_default();
        connection.messages += 1;
        let direction = connection.credits.message(message);
        counts.calls += u64::from(direction == Some(MessageDirection::Call));
        counts.replies += u64::from(direction == Some(MessageDirection::Reply));
        if malformed.is_some() {
            return;
        }
        if let Some(permitted) = message.permitted() {
            connection.permitted.note_permission(message.from, permitted);
        }
        if let Ok(decoded) = message.decode()
            && let Some(chunks) = decoded.header.chunks()
        {
            self.chunks.count_chunks(&chunks, direction == Some(MessageDirection::Reply));
        }
    }

    /// Takes an RPC, with the arguments if a caller has read them already.
    pub(crate) fn transaction(&mut self, transaction: &Transaction, arguments: Option<&[OperationArguments<'_>]>) {
        let Transaction { call, reply, read_octets, write_octets, .. } = transaction;
        if !self.is_interval {
            self.mounts.transaction(transaction, arguments);
        }
        let rpcs = &mut self.rpcs;
        rpcs.total += 1;
        rpcs.without_reply += u64::from(reply.is_none());
        rpcs.without_call += u64::from(call.is_none());
        rpcs.reverse += u64::from(transaction.reverse);
        rpcs.moved.add_octets(*read_octets, *write_octets);
        for (half, forms, lost) in [
            (call, &mut rpcs.calls_sent, &mut rpcs.calls_not_rebuilt),
            (reply, &mut rpcs.replies_sent, &mut rpcs.replies_not_rebuilt),
        ] {
            let Some(Half { form, message, .. }) = half else { continue };
            // Unreadable messages and RDMA_ERROR are not RPC messages, so they have no form.
            if !matches!(message, Err(NotRebuilt::Header | NotRebuilt::Error(_))) {
                forms.count_form(*form);
            }
            if let Err(error) = message
                && *error != NotRebuilt::KernelTrace
            {
                *lost += 1;
                count(&mut self.reasons, error.kind());
            }
        }
        if let Some(octets) = send_length(transaction) {
            rpcs.fit_inline.count_rpc(octets);
        }
        let name = OperationName::of_transaction(transaction).to_string();
        let failure = transaction.status.and_then(|status| failure(transaction, status));
        self.procedure(&name, transaction, failure.is_some());
        self.waits.add_rpc(transaction, || name.clone());
        if let Some(failure) = failure {
            let key = (OperationName::of_failure(transaction).to_string(), failure);
            self.statuses_left_out += u64::from(!self.statuses.add_amount(key, 1, NAMES));
        }
    }

    fn procedure(&mut self, name: &str, transaction: &Transaction, failed: bool) {
        let known = match self.procedures.get(name).is_some() {
            true => self.procedures.get_mut(name),
            false => self.procedures.value(name.to_owned(), NAMES),
        };
        let Some(PerProcedure { counts, latency: latencies }) = known else {
            self.procedures_left_out += 1;
            return;
        };
        counts.calls += u64::from(transaction.call.is_some());
        counts.replies += u64::from(transaction.reply.is_some());
        counts.failed += u64::from(failed);
        counts.moved.add_octets(transaction.read_octets, transaction.write_octets);
        if let Some(latency) = transaction.latency() {
            counts.latency_sum_ns = counts.latency_sum_ns.saturating_add(latency);
            latencies.record(latency);
        }
    }

    fn connection(&mut self, report: &Report) {
        let Some(number) = report.number else {
            self.other.connections += 1;
            self.other.packets += report.counts.active.packets + report.counts.passive.packets;
            return;
        };
        let counts = self.open.remove(&number).unwrap_or_default();
        self.mounts.connection(report, &counts.credits);
        if self.connections.len() == CONNECTIONS {
            self.connections_left_out += 1;
            return;
        }
        self.connections.push(ConnectionStatistics::new(number, report, counts));
    }

    fn rejected(&mut self, rejected: &Rejected) {
        let key = (rejected.service, rejected.kind);
        self.rejected_left_out += u64::from(!self.rejected.add_amount(key, 1, NAMES));
    }

    fn unanswered(&mut self, request: &UnansweredRequest) {
        let Some(requests) = self.unanswered.value(request.service, NAMES) else {
            self.unanswered_left_out += 1;
            return;
        };
        requests.count += 1;
        requests.sent += u64::from(request.asked.times);
    }

    /// The numbers, once all events were taken; `summary` is that of the same capture.
    #[must_use]
    pub fn finish(mut self, summary: &Summary) -> Statistics {
        for (name, time) in self.waits.times(summary.capture_end()) {
            if let Some(PerProcedure { counts, .. }) = self.procedures.get_mut(&name) {
                counts.unanswered_sum_ns = counts.unanswered_sum_ns.saturating_add(time);
            }
        }
        let mut connections = self.connections;
        connections.sort_unstable_by_key(|connection| connection.connection);
        // Before acknowledgements show that a connection was captured by two clocks, the first RPCs seem to have a latency.
        let is_untimed =
            !connections.is_empty() && connections.iter().all(|connection| connection.late_clock.is_some());
        let procedures =
            self.procedures.into_iter().map(|(operation, PerProcedure { counts, latency })| match is_untimed {
                true => ProcedureStatistics { operation, latency: None, latency_sum_ns: 0, ..counts },
                false => ProcedureStatistics { operation, latency: Latency::new(&latency), ..counts },
            });
        let mut procedures: Vec<_> = procedures.collect();
        procedures.sort_unstable_by(|a, b| b.calls.cmp(&a.calls).then_with(|| a.operation.cmp(&b.operation)));
        let statuses = self.statuses.into_iter();
        let rejected = self.rejected.into_iter().map(|((service, kind), count)| RejectedStatistics {
            port: service.and_then(service_port),
            reason: kind.reason(),
            meaning: kind.meaning(),
            count,
        });
        let unanswered = self
            .unanswered
            .into_iter()
            .map(|(service, requests)| UnansweredStatistics { port: service.and_then(service_port), ..requests });
        Statistics {
            selection: self.selection,
            capture: CaptureStatistics::new(summary),
            connections,
            connections_left_out: self.connections_left_out,
            mounts: self.mounts.finish(summary.capture_end()),
            rejected: rejected.collect(),
            rejected_left_out: self.rejected_left_out,
            unanswered: unanswered.collect(),
            unanswered_left_out: self.unanswered_left_out,
            other: self.other,
            messages: MessageStatistics { by_type: named(&self.types), ..self.messages },
            chunks: self.chunks,
            rpcs: RpcStatistics { not_rebuilt: named(&self.reasons), ..self.rpcs },
            procedures,
            procedures_left_out: self.procedures_left_out,
            failures: statuses
                .map(|((operation, status), count)| StatusStatistics { operation, status, count })
                .collect(),
            failures_left_out: self.statuses_left_out,
        }
    }
}

impl InlineFits {
    /// An RPC whose longer message takes so many octets in a Send.
    fn count_rpc(&mut self, octets: usize) {
        self.rpcs += 1;
        for (counted, kib) in [
            (&mut self.kib_4, 4),
            (&mut self.kib_8, 8),
            (&mut self.kib_16, 16),
            (&mut self.kib_64, 64),
            (&mut self.kib_128, 128),
        ] {
            *counted += u64::from(octets <= kib << 10);
        }
    }
}

impl ChunkStatistics {
    fn count_chunks(&mut self, chunks: &lists::Chunks<'_>, is_reply: bool) {
        for chunk in chunks.reads.chunks() {
            let count = if chunk.position == 0 { &mut self.position_zero } else { &mut self.reads };
            count.add_chunk(chunk.segments.len(), chunk.segments.length());
        }
        let (writes, reply) = if is_reply {
            (&mut self.writes_returned, &mut self.reply_returned)
        } else {
            (&mut self.writes, &mut self.reply)
        };
        for chunk in chunks.writes {
            writes.add_chunk(chunk.len(), chunk.length());
        }
        if let Some(chunk) = chunks.reply {
            reply.add_chunk(chunk.len(), chunk.length());
        }
    }
}

impl Forms {
    pub(crate) const fn count_form(&mut self, form: MessageForm) {
        match form {
            MessageForm::Short => self.short += 1,
            MessageForm::Chunked => self.chunked += 1,
            MessageForm::Long => self.long += 1,
            MessageForm::Continued => self.continued += 1,
        }
    }
}

/// Octets of a header of version 1 without chunks.
const HEADER: usize = 28;

/// Octets of the longer Send of an RPC without chunks, if both messages were rebuilt.
pub(super) fn send_length(transaction: &Transaction) -> Option<usize> {
    let length = |half: &Option<Half>| Some(half.as_ref()?.message.as_ref().ok()?.len());
    Some(length(&transaction.call)?.max(length(&transaction.reply)?) + HEADER)
}

/// Returns the failure, by [`Status::is_failure`]; `None` for other RPCs.
pub(super) fn failure(transaction: &Transaction, status: Status) -> Option<StatusName> {
    if status.is_failure() { outcome(transaction, status) } else { None }
}

/// Returns the status; `None` if the RPC succeeded.
pub(super) fn outcome(transaction: &Transaction, status: Status) -> Option<StatusName> {
    match status {
        Status::Success(None | Some(0)) => None,
        Status::Success(Some(number)) => {
            let Transaction { procedure, callback, .. } = transaction;
            let name = procedure.and_then(|procedure| nfs::status::name(&procedure, callback.is_callback(), number));
            Some(StatusName { name: name.map_or_else(|| format!("status {number}"), str::to_owned), number })
        }
        status => Some(StatusName { name: status.name().to_owned(), number: status.number() }),
    }
}

#[cfg(test)]
mod tests {
    use rpcrdma_dissector::{Address, Stamp};

    use super::*;

    #[test]
    fn refusals_are_listed_up_to_a_bound_and_counted_beyond() {
        let mut stats = Stats::default();
        let kinds = (0..2 * NAMES as u64).map(|service| (service, 8));
        // Of one kind another, beyond the bound; and the same service for another reason.
        for (service, reason) in kinds.chain([(0, 8), (0, 9)]) {
            let (stamp, from, to) = (Stamp::default(), Address::Lid(1), Address::Lid(2));
            let (service, kind) = (Some(service), RejectionKind::Management(reason));
            let rejected = Rejected::new(stamp, from, to, service, kind);
            stats.event(&Event::Rejected(rejected));
        }
        let statistics = stats.finish(&Summary::default());
        let counts: Vec<u64> = statistics.rejected.iter().map(|rejected| rejected.count).collect();
        assert_eq!((counts.len(), counts[0], counts.iter().sum::<u64>()), (NAMES, 2, NAMES as u64 + 1));
        assert!(statistics.rejected.iter().all(|rejected| rejected.reason == Some(8)));
        assert_eq!(statistics.rejected_left_out, NAMES as u64 + 1);
    }
}

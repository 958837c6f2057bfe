//! Connection requests that were rejected or never answered, by the ends and the service.

use rpcrdma_dissector::{Address, CaptureEnd, Rejected, RejectionKind, Report, Stamp, UnansweredRequest, service_port};

use super::cause::{Cause, UNANSWERED};
use crate::small_map::SmallMap;

/// The most pairs of ends that are told apart.
const KEYS: usize = 500;
/// The most connections whose setup is remembered.
const ACCEPTED: usize = 1000;

/// The ends of a connection request, and the requested service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RequestKey {
    pub(super) client: Address,
    pub(super) server: Address,
    service: Option<u64>,
}

impl RequestKey {
    /// The port that the service stands for.
    pub(super) fn port(&self) -> Option<u16> {
        self.service.and_then(service_port)
    }
}

/// Requests with the same outcome.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestRun {
    /// Number of rejections; for unanswered requests, the number of transmissions.
    pub(super) count: u64,
    /// The first request or rejection.
    pub(super) first: Stamp,
    /// The last one.
    pub(super) last: Stamp,
}

impl RequestRun {
    /// Nanoseconds from the first to the last.
    pub(super) fn length(&self) -> u64 {
        self.last.time.0.saturating_sub(self.first.time.0)
    }

    fn add_requests(&mut self, count: u64, first: Stamp, last: Stamp) {
        self.count += count;
        if first.frame < self.first.frame {
            self.first = first;
        }
        if last.frame > self.last.frame {
            self.last = last;
        }
    }
}

/// Requests between two ends for a service.
#[derive(Clone, Debug, Default)]
pub(super) struct RequestOutcomes {
    pub(super) rejected: Option<RequestRun>,
    /// Number of rejections of each kind.
    pub(super) kinds: SmallMap<RejectionKind, u64>,
    pub(super) unanswered: Option<RequestRun>,
    /// True if the server confirmed the receipt of an unanswered request.
    pub(super) is_received: bool,
    is_for_rpc: bool,
}

impl RequestOutcomes {
    /// The only kind of rejection; `None` if there are several.
    pub(super) fn kind(&self) -> Option<RejectionKind> {
        self.kinds.only().map(|(kind, _)| *kind)
    }

    /// Returns true if every rejection says that nothing listens on the port.
    pub(super) fn is_without_listener(&self) -> bool {
        self.kinds.keys().all(|kind| kind.is_without_listener())
    }
}

/// Connection requests of a capture.
#[derive(Clone, Debug, Default)]
pub(super) struct Attempts {
    requests: SmallMap<RequestKey, RequestOutcomes>,
    /// Servers and services with RPC-over-RDMA.
    services: SmallMap<(Address, Option<u64>), ()>,
    /// Connections with RPC-over-RDMA: the client, the server, and the answer to the request.
    accepted: Vec<(Address, Address, Stamp)>,
}

impl Attempts {
    pub(super) fn rejected(&mut self, rejected: &Rejected) {
        let Rejected { stamp, from, to, service, kind, is_for_rpc, .. } = *rejected;
        let Some(requests) = self.requests(RequestKey { client: to, server: from, service }) else { return };
        requests.is_for_rpc |= is_for_rpc;
        requests.kinds.add_amount(kind, 1, KEYS);
        extend_run(&mut requests.rejected, 1, stamp, stamp);
    }

    pub(super) fn unanswered(&mut self, request: &UnansweredRequest) {
        let UnansweredRequest { from, to, service, asked, is_received, is_for_rpc, .. } = *request;
        let Some(requests) = self.requests(RequestKey { client: from, server: to, service }) else { return };
        requests.is_for_rpc |= is_for_rpc;
        requests.is_received |= is_received;
        extend_run(&mut requests.unanswered, asked.times.into(), asked.first, asked.last);
    }

    /// Takes a connection with RPC-over-RDMA.
    pub(super) fn connection(&mut self, report: &Report) {
        let connection = &report.connection;
        let (client, server) = (connection.ends.active.address, connection.ends.passive.address);
        self.services.value((server, connection.service), KEYS);
        if let Some(answer) = connection.announced.passive
            && self.accepted.len() < ACCEPTED
        {
            self.accepted.push((client, server, answer.stamp));
        }
    }

    /// Takes over the connections of the whole capture: a selection of requests depends on the connections.
    pub(super) fn know_connections(&mut self, whole: &Self) {
        (self.services, self.accepted) = (whole.services.clone(), whole.accepted.clone());
    }

    fn requests(&mut self, key: RequestKey) -> Option<&mut RequestOutcomes> {
        self.requests.value(key, KEYS)
    }

    /// Requests for connections that were to carry RPC-over-RDMA.
    fn of_rpc(&self) -> impl Iterator<Item = (&RequestKey, &RequestOutcomes)> {
        let is_known =
            |key: &RequestKey| key.service.is_some() && self.services.get(&(key.server, key.service)).is_some();
        self.requests.iter().filter(move |(key, requests)| requests.is_for_rpc || is_known(key))
    }

    /// Rejections after which no connection was accepted, or that went on for a second: for `ServerNotListening`, the rejections
    /// without a listener, and for another cause the rejections for other reasons.
    pub(super) fn refused_because(&self, cause: Cause) -> Vec<(&RequestKey, &RequestOutcomes, RequestRun)> {
        let is_of_cause =
            |requests: &RequestOutcomes| requests.is_without_listener() == (cause == Cause::ServerNotListening);
        let of_cause = self.of_rpc().filter(|(_, requests)| is_of_cause(requests));
        let of_rpc = of_cause.filter_map(|(key, requests)| Some((key, requests, requests.rejected?)));
        of_rpc.filter(|(key, _, run)| self.is_last(key, run) || run.length() >= UNANSWERED).collect()
    }

    /// Unanswered requests after which no connection was accepted, or that went on for a second. The last one had a second, up to the
    /// `end` of the capture.
    pub(super) fn ignored(&self, end: CaptureEnd) -> Vec<(&RequestKey, &RequestOutcomes, RequestRun)> {
        let of_rpc = self.of_rpc().filter_map(|(key, requests)| Some((key, requests, requests.unanswered?)));
        let is_due = |run: &RequestRun| end.at_least_since(run.first) >= UNANSWERED;
        of_rpc.filter(|(key, _, run)| is_due(run) && (self.is_last(key, run) || run.length() >= UNANSWERED)).collect()
    }

    /// Returns true if no connection of the two ends was accepted after these requests.
    pub(super) fn is_last(&self, key: &RequestKey, run: &RequestRun) -> bool {
        self.next_accepted(key.client, key.server, run.last).is_none()
    }

    /// The first connection of two ends that was accepted after a frame.
    pub(super) fn next_accepted(&self, client: Address, server: Address, after: Stamp) -> Option<Stamp> {
        let of_ends = self.accepted.iter().filter(|(from, to, _)| (*from, *to) == (client, server));
        of_ends.map(|(.., stamp)| *stamp).filter(|stamp| stamp.frame > after.frame).min_by_key(|stamp| stamp.frame)
    }

    /// Requests between two ends.
    pub(super) fn between(&self, client: Address, server: Address) -> impl Iterator<Item = &RequestOutcomes> {
        self.of_rpc().filter(move |(key, _)| (key.client, key.server) == (client, server)).map(|(_, requests)| requests)
    }

    /// Returns true if an earlier connection with RPC-over-RDMA to the server of this request was accepted.
    pub(super) fn was_accepted(&self, key: &RequestKey, before: Stamp) -> bool {
        self.accepted.iter().any(|(_, server, stamp)| *server == key.server && stamp.frame < before.frame)
    }

    /// Returns true if the capture holds an answer of the server, or a connection to the server.
    pub(super) fn is_heard(&self, key: &RequestKey) -> bool {
        self.services.keys().any(|(server, _)| *server == key.server)
            || self.requests.iter().any(|(other, requests)| other.server == key.server && requests.rejected.is_some())
    }
}

fn extend_run(run: &mut Option<RequestRun>, count: u64, first: Stamp, last: Stamp) {
    match run {
        Some(run) => run.add_requests(count, first, last),
        None => *run = Some(RequestRun { count, first, last }),
    }
}

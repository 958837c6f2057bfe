//! RPCs as seen by each end, in a capture that holds the packets of both ends.

use rpcrdma_dissector::{BothEnds, EndLatencies, LostBetween, RpcParts, Transaction};

use super::record::{PartsAtBothEnds, SeenAtBothEnds};
use crate::format::number::{counted, duration};
use crate::stats::{Histogram, Latency};

/// Latencies at both ends.
#[derive(Clone, Debug, Default)]
pub(super) struct BothEndsTimes {
    pub(super) connections: u64,
    requester: Histogram,
    responder: Histogram,
    /// Nanoseconds of all latencies: at the requester, at the responder, and as used in all other counts.
    requester_ns: u64,
    responder_ns: u64,
    counted_ns: u64,
    pub(super) rpcs: u64,
    /// Connections whose ends have a file each.
    in_two_files: u64,
    parts: PartsAtBothEnds,
}

impl BothEndsTimes {
    /// Takes the RPCs of a connection.
    pub(super) fn add_connection(&mut self, both: &BothEnds) {
        self.connections += 1;
        self.in_two_files += u64::from(both.has_two_files);
        for EndLatencies { requester, responder, first } in &both.rpcs {
            self.rpcs += 1;
            self.requester.record(*requester);
            self.responder.record(*responder);
            self.requester_ns = self.requester_ns.saturating_add(*requester);
            self.responder_ns = self.responder_ns.saturating_add(*responder);
            self.counted_ns = self.counted_ns.saturating_add(*first);
        }
    }

    /// Takes an RPC that two files hold.
    pub(super) fn add_rpc(&mut self, transaction: &Transaction) {
        let Some(RpcParts { requester, network, responder, .. }) =
            transaction.witnessed.as_ref().and_then(|witnessed| witnessed.parts)
        else {
            return;
        };
        if transaction.reverse {
            return;
        }
        self.parts.rpcs += 1;
        self.parts.client_ns = self.parts.client_ns.saturating_add(requester);
        self.parts.network_ns = self.parts.network_ns.saturating_add(network);
        self.parts.server_ns = self.parts.server_ns.saturating_add(responder);
    }

    /// Counts copies that were lost between the two files' places.
    pub(super) const fn add_loss(&mut self, lost: &LostBetween) {
        let count = if lost.is_from_first { &mut self.parts.lost_to_server } else { &mut self.parts.lost_to_client };
        *count += lost.count as u64;
    }

    /// Nanoseconds that the requesters waited beyond what other counts have of these RPCs.
    pub(super) const fn beyond(&self) -> u64 {
        self.requester_ns.saturating_sub(self.counted_ns)
    }

    /// Sentence that says where the packets of both ends are.
    pub(super) const fn files(&self) -> &'static str {
        match self.in_two_files {
            0 => "The file holds the packets of both ends, each packet twice.",
            _ => "Two files hold the same packets, one captured at either end.",
        }
    }

    /// Nanoseconds that the network took.
    pub(super) const fn between(&self) -> u64 {
        self.requester_ns.saturating_sub(self.responder_ns)
    }

    /// Returns both latencies, if there are RPCs.
    pub(super) fn seen(&self) -> Option<SeenAtBothEnds> {
        let (requester, responder) = (Latency::new(&self.requester)?, Latency::new(&self.responder)?);
        let parts = Some(self.parts).filter(|_| self.in_two_files > 0);
        Some(SeenAtBothEnds { rpcs: self.rpcs, requester, responder, parts })
    }
}

impl SeenAtBothEnds {
    /// Words for what each end saw.
    pub(super) fn medians(&self) -> String {
        let [client, server] = [self.requester, self.responder].map(|latency| duration(latency.p50_ns));
        format!("median {client} at the client, {server} at the server")
    }
}

impl PartsAtBothEnds {
    /// Words for who took the time, and for losses in between. Each end is named by a role and, if known, by an address.
    pub(super) fn sentences(&self, client: &str, server: &str) -> Vec<String> {
        let Self { rpcs, client_ns, network_ns, server_ns, lost_to_server, lost_to_client } = *self;
        let mut sentences = Vec::new();
        let all = client_ns.saturating_add(network_ns).saturating_add(server_ns);
        if rpcs > 0 {
            let of = counted(rpcs, "RPC");
            let [all, network, server_took, client_took] = [all, network_ns, server_ns, client_ns].map(duration);
            sentences.push(format!(
                "Of {all} of {of}, the network took {network}, {server} {server_took}, {client} {client_took}."
            ));
        }
        let lost = lost_to_server + lost_to_client;
        let ways = [(lost_to_server, server), (lost_to_client, client)];
        let ways: Vec<_> =
            ways.iter().filter(|(lost, _)| *lost > 0).map(|(lost, to)| format!("{lost} on the way to {to}")).collect();
        sentences.push(match lost {
            0 => "No loss between the two places of capture is seen.".to_owned(),
            _ => format!("{} lost between the two places of capture: {}.", counted(lost, "packet"), ways.join(", ")),
        });
        sentences
    }
}

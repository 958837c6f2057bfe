//! RPCs as seen by each end, in a capture that holds the packets of both ends.

use rpcrdma_dissector::{BothEnds, EndLatencies};

use super::record::SeenAtBothEnds;
use crate::format::number::duration;
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
}

impl BothEndsTimes {
    /// Takes the RPCs of a connection.
    pub(super) fn add_connection(&mut self, both: &BothEnds) {
        self.connections += 1;
        for EndLatencies { requester, responder, first } in &both.rpcs {
            self.rpcs += 1;
            self.requester.record(*requester);
            self.responder.record(*responder);
            self.requester_ns = self.requester_ns.saturating_add(*requester);
            self.responder_ns = self.responder_ns.saturating_add(*responder);
            self.counted_ns = self.counted_ns.saturating_add(*first);
        }
    }

    /// Nanoseconds that the requesters waited beyond what other counts have of these RPCs.
    pub(super) const fn beyond(&self) -> u64 {
        self.requester_ns.saturating_sub(self.counted_ns)
    }

    /// Nanoseconds that the network took.
    pub(super) const fn between(&self) -> u64 {
        self.requester_ns.saturating_sub(self.responder_ns)
    }

    /// Returns both latencies, if there are RPCs.
    pub(super) fn seen(&self) -> Option<SeenAtBothEnds> {
        let (requester, responder) = (Latency::new(&self.requester)?, Latency::new(&self.responder)?);
        Some(SeenAtBothEnds { rpcs: self.rpcs, requester, responder })
    }
}

impl SeenAtBothEnds {
    /// Words for what each end saw.
    pub(super) fn medians(&self) -> String {
        let [client, server] = [self.requester, self.responder].map(|latency| duration(latency.p50_ns));
        format!("median {client} at the client, {server} at the server")
    }
}

//! Statements about an RPC that are true, by the log of the simulation.

use std::ops::RangeInclusive;

use rpcrdma_dissector::{Delivery, Owed, Phases, Transaction};

use super::rpc::{Part, Rpc};

impl Rpc {
    pub(super) fn fate(&self) -> String {
        let Self { began, ended, called, replied, replies, hung, .. } = self;
        format!("{began:?} to {ended:?}, called {called:?}, replied {replied:?} {replies}, hung {hung:?}")
    }

    /// The latency in nanoseconds if the RPC ended at this time.
    pub(super) fn latency(&self, ended: Option<u64>) -> Option<u64> {
        self.began.zip(ended).map(|(began, ended)| (ended - began) * 1_000)
    }

    /// The phases, if each of its packets was sent and captured once, in order.
    pub(super) fn phases(&self) -> Option<Phases> {
        if self.is_lossy || self.is_overtaken || self.is_behind_gap() {
            return None;
        }
        let ended = self.ended?;
        let mut parts = self.parts.clone();
        parts.sort_by_key(|(time, _)| *time);
        let (mut phases, mut last, mut before, mut asked) = (Phases::default(), self.began?, Part::Call, 0);
        for (time, part) in parts.into_iter().filter(|(time, _)| *time <= ended) {
            let phase = match (before, part) {
                (_, Part::Call) => &mut phases.call,
                (Part::Write, Part::Write) => &mut phases.rdma_write,
                (Part::Reply, Part::Reply) => &mut phases.reply,
                _ if asked > 0 => &mut phases.rdma_read,
                _ => &mut phases.responder,
            };
            *phase += (time - last) * 1_000;
            match part {
                Part::ReadRequest(_, octets) => asked += octets,
                Part::ReadResponse(_, octets, _) => asked -= octets,
                _ => {}
            }
            (last, before) = (time, part);
        }
        // Over TCP, it may arrive with what fills a gap before it.
        phases.reply += (ended - last) * 1_000;
        Some(phases)
    }

    /// Octets that were asked for with RDMA Read until then, and did not come: at least in the requests that the client accepted, at most
    /// in all that were captured. The client drops what comes behind a gap, which the capture shows if it has the gap too.
    fn lacks(&self, end: u64) -> RangeInclusive<u64> {
        let (mut captured, mut came) = (0, 0);
        for (_, part) in self.parts.iter().filter(|(time, _)| *time <= end) {
            match part {
                Part::ReadRequest(_, octets) => captured += octets,
                Part::ReadResponse(_, octets, _) => came += octets,
                _ => {}
            }
        }
        let accepted: u64 = self.asked.iter().filter(|(time, _)| *time <= end).map(|(_, octets)| octets).sum();
        accepted - came..=captured - came
    }

    /// Returns true if this may be said of the RPC when the capture ends at this time.
    pub(super) fn permits(&self, found: &Transaction, end: u64) -> bool {
        let by_then = |time: Option<u64>| time.filter(|time| *time <= end);
        let ended = by_then(self.ended);
        let Some(waiting) = found.waiting else {
            // As far as the capture goes, the only copy of a reply may be the one that arrives.
            let may_end = self.replied[0].filter(|_| ended.is_none() && by_then(self.replied[1]).is_none());
            // Over TCP, so may the last segment that filled a gap before it.
            let may_be = |latency: Option<u64>| {
                may_end.is_some()
                    && !found.is_acknowledged
                    && self.latency(may_end) <= latency
                    && latency <= self.latency(Some(end))
            };
            return [None, self.latency(ended)].contains(&found.latency()) || may_be(found.latency());
        };
        let is_called = by_then(self.called).is_some();
        let is_right = match waiting.owed {
            // The arrival of the call may be unknown.
            Owed::Reply => ended.is_none(),
            Owed::ReplyAgain(_) => is_called && ended.is_none(),
            Owed::Call(_) => !is_called,
            Owed::ReadResponse(octets) => self.lacks(end).contains(&octets),
            Owed::Acknowledgement(_) | Owed::ReplyArrival(_) | Owed::Unknown(_) => true,
            _ => false,
        };
        is_right && (is_called || waiting.delivery != Delivery::Accepted)
    }
}

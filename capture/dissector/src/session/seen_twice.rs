//! Packets that the capture holds twice with a network path in between: a file of both ends of a network.
//!
//! A packet leaves one end and arrives at the other, so the time between the two captures of the packet is the path
//! delay plus the difference of the two clocks. For an RPC, the delays of call and reply together are free of that
//! difference: the RPC takes longer at one end than at the other by just these two delays. Which capture of a packet
//! comes first in the file depends on the clocks:
//!
//! - **Both directions first at one end**: the clock of that end is behind. The acknowledgements of that end come at
//!   once, the acknowledgements of the other end after a round trip.
//! - **Each direction first at the sender**: then nothing is acknowledged before being captured for the second time.
//!
//! A mirror that delays copies does neither: the copies come equally late in both directions, and after an
//! acknowledgement.

use std::collections::VecDeque;

use crate::carrier::acknowledgement::Acknowledgements;
use crate::carrier::operation::{Side, Sides};
use crate::file::Time;
use crate::rpc::both_ends::{BothEnds, EndLatencies};
use crate::rpc::capture_point::CapturePoint;

/// The least way of a packet, in nanoseconds: mirrors deliver copies sooner.
const LEAST: u64 = 20_000;
/// The most packets of an end whose ways are remembered.
const WAYS: usize = 1024;
/// The most RPCs that wait for their packets to be seen again: at first, and once some packets were.
const FIRST: usize = 64;
const WAITING: usize = 1024;
/// The most RPCs that are counted.
const COUNTED: usize = 4096;
/// RPCs that are enough to tell.
const ENOUGH: usize = 4;

/// Packets of a connection that were seen twice, and the RPCs of those packets.
#[derive(Debug, Default)]
pub(super) struct SeenTwice {
    ways: Sides<Ways>,
    waiting: VecDeque<EndedCall>,
    counted: Vec<TwiceSeenRpc>,
}

/// Ways of the packets of an end.
#[derive(Debug, Default)]
struct Ways {
    /// Time at which each packet was seen first, and the nanoseconds until the packet was seen again.
    recent: VecDeque<(Time, u64)>,
    least: Option<u64>,
}

/// A call that was answered.
#[derive(Clone, Copy, Debug)]
struct EndedCall {
    requester: Side,
    /// Time at which the first packet of the call was seen first.
    call: Time,
    /// The same of the last packet of the reply.
    reply: Time,
}

/// An RPC whose packets were seen twice.
#[derive(Clone, Copy, Debug)]
struct TwiceSeenRpc {
    latency: u64,
    call_way: u64,
    reply_way: u64,
}

impl Ways {
    fn add_way(&mut self, first: Time, way: u64) {
        if self.recent.len() == WAYS {
            self.recent.pop_front();
        }
        self.recent.push_back((first, way));
        self.least = Some(self.least.map_or(way, |least| least.min(way)));
    }

    fn way_of(&self, first: Time) -> Option<u64> {
        let place = self.recent.binary_search_by_key(&first, |(time, _)| *time).ok()?;
        self.recent.get(place).map(|(_, way)| *way)
    }

    /// Returns true if a later packet was seen again.
    fn are_past(&self, first: Time) -> bool {
        self.recent.back().is_some_and(|(time, _)| *time > first)
    }
}

impl SeenTwice {
    /// A packet of an end was seen first at one time, and again at another.
    pub(super) fn see(&mut self, from: Side, first: Time, again: Time) {
        let way = again.0.saturating_sub(first.0);
        if way < LEAST {
            return;
        }
        self.ways.get_mut(from).add_way(first, way);
        while let Some(&EndedCall { requester, call, reply }) = self.waiting.front() {
            let (of_call, of_reply) = (self.ways.get(requester), self.ways.get(requester.other()));
            match (of_call.way_of(call), of_reply.way_of(reply)) {
                (Some(call_way), Some(reply_way)) if self.counted.len() < COUNTED => {
                    let latency = reply.0.saturating_sub(call.0);
                    self.counted.push(TwiceSeenRpc { latency, call_way, reply_way });
                }
                (Some(_), None) | (None, _) if !of_call.are_past(call) || !of_reply.are_past(reply) => return,
                _ => {}
            }
            self.waiting.pop_front();
        }
    }

    /// A call was answered.
    pub(super) fn note_answer(&mut self, requester: Side, call: Time, reply: Time) {
        let is_doubled = self.ways.active.least.is_some() && self.ways.passive.least.is_some();
        if self.waiting.len() >= if is_doubled { WAITING } else { FIRST } {
            self.waiting.pop_front();
        }
        self.waiting.push_back(EndedCall { requester, call, reply });
    }

    /// Returns the RPCs of this requester as both ends saw the RPCs, if the file holds both captures. `place` is where
    /// packets were seen first, and `times` are the acknowledgement times of both ends.
    pub(super) fn both_ends(
        &self,
        requester: Side,
        times: Sides<Option<Acknowledgements>>,
        place: Option<CapturePoint>,
    ) -> Option<BothEnds> {
        if self.counted.len() < ENOUGH {
            return None;
        }
        let median = |way: fn(&TwiceSeenRpc) -> u64| {
            let mut ways: Vec<u64> = self.counted.iter().map(way).collect();
            ways.sort_unstable();
            ways.get(ways.len() / 2).copied().unwrap_or_default()
        };
        let (call_way, reply_way) = (median(|rpc| rpc.call_way), median(|rpc| rpc.reply_way));
        // Nothing is acknowledged before it arrives.
        let is_caused = |side: Side, way: u64| {
            let (least, times) = (self.ways.get(side).least, *times.get(side.other()));
            least.zip(times).is_some_and(|(least, times)| times.least >= least && times.median < way.saturating_mul(2))
        };
        let is_later = |way: u64, other: u64| way > other.saturating_add(LEAST);
        let latencies: fn(&TwiceSeenRpc) -> (u64, u64) = match place {
            _ if is_caused(requester, call_way) && is_caused(requester.other(), reply_way) => {
                |rpc| (rpc.latency.saturating_add(rpc.reply_way), rpc.latency.saturating_sub(rpc.call_way))
            }
            Some(CapturePoint::Server) if is_later(reply_way, call_way) => |rpc| (rpc.at_other_end(), rpc.latency),
            Some(CapturePoint::Client) if is_later(call_way, reply_way) => |rpc| (rpc.latency, rpc.at_other_end()),
            _ => return None,
        };
        let rpcs = self.counted.iter().map(|rpc| {
            let (requester, responder) = latencies(rpc);
            EndLatencies { requester, responder, first: rpc.latency }
        });
        Some(BothEnds { rpcs: rpcs.collect(), has_two_files: false })
    }

    /// Octets of memory beyond what every connection takes: the first RPCs wait on each.
    pub(super) fn memory_used(&self) -> usize {
        let ways = self.ways.active.recent.len() + self.ways.passive.recent.len();
        ways * size_of::<(Time, u64)>()
            + self.waiting.len().saturating_sub(FIRST) * size_of::<EndedCall>()
            + self.counted.len() * size_of::<TwiceSeenRpc>()
    }
}

impl TwiceSeenRpc {
    /// The latency where both the call and the reply were seen again.
    const fn at_other_end(&self) -> u64 {
        self.latency.saturating_add(self.reply_way).saturating_sub(self.call_way)
    }
}

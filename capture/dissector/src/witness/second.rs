//! The second capture, read beside the first.

use std::collections::{BTreeMap, VecDeque};

use super::matching::{PacketMatcher, Witness};
use super::packet_id::packet_id;
use super::recognition::SecondFile;
use crate::carrier::operation::Stamp;
use crate::carrier::table::Map;
use crate::dissector::{Config, Dissector, WitnessSummary};
use crate::event::{Event, LostBetween};
use crate::file::{Capture, ClockBounds, FileError, Frame, Time};
use crate::link::Address;
use crate::rpc::both_ends::{BothEnds, EndLatencies, RpcParts, WayBounds, WitnessedRpc};
use crate::rpc::phases::Phases;
use crate::rpc::recovery::Recovery;
use crate::rpc::transaction::Transaction;

/// Nanoseconds by which the second capture is read ahead of the first, and the most frames by which it is.
const AHEAD: u64 = 250_000_000;
const FRAMES_AHEAD: u64 = 1 << 14;
/// The most RPCs of the second capture that wait for the RPC of the first.
const RPCS: usize = 1 << 14;
/// The most RPCs of a connection whose latencies are kept.
const COUNTED: usize = 4096;
/// An end may measure an RPC by a clock that is slower by one part in so many.
const DRIFT: u64 = 4_000;

/// RPC of either capture, by what both captures show of the RPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct RpcKey {
    from: Address,
    to: Address,
    xid: u32,
    name: Option<&'static str>,
}

impl RpcKey {
    const fn new(transaction: &Transaction) -> Self {
        let Transaction { from, to, xid, name, .. } = *transaction;
        Self { from, to, xid, name }
    }
}

/// Times and frames of an RPC in the second capture.
#[derive(Clone, Copy, Debug)]
struct SecondRpc {
    /// Number among the RPCs of the second capture.
    number: u64,
    began: Time,
    ended: Time,
    call_frame: Option<u64>,
    reply_frame: Option<u64>,
    latency: u64,
    own: Option<OwnTimes>,
}

/// Times of the two ends in an RPC, as one capture shows the times, without recovery of lost packets.
#[derive(Clone, Copy, Debug)]
struct OwnTimes {
    /// RDMA Reads and what else the requester took.
    requester: u64,
    responder: u64,
}

impl OwnTimes {
    fn new(transaction: &Transaction) -> Option<Self> {
        let (Ok(phases), Ok(recovery)) = (&transaction.phases, &transaction.recovery) else { return None };
        let Recovery { phases: lost, unassigned: 0, .. } = recovery else { return None };
        let without = |phase: fn(&Phases) -> u64| phase(phases).saturating_sub(phase(lost));
        let requester = without(|phases| phases.rdma_read).saturating_add(without(|phases| phases.requester));
        Some(Self { requester, responder: without(|phases| phases.responder) })
    }
}

/// The capture at the server, read beside the capture at the client.
pub struct SecondWitness {
    capture: Capture,
    dissector: Dissector,
    matcher: PacketMatcher,
    /// About the time by the second clock minus that by the first, until packets show more.
    offset: i64,
    /// Time of the last frame of the second capture; `None` before the first.
    last: Option<Time>,
    has_ended: bool,
    error: Option<FileError>,
    frames: u64,
    /// Packets that the second capture lacks, and packets of connections.
    missed: u64,
    rpcs: Map<RpcKey, VecDeque<SecondRpc>>,
    /// The RPCs in the order of their ends.
    order: VecDeque<(u64, RpcKey)>,
    number: u64,
    joined: u64,
    /// Latencies of RPCs of each connection of the first capture.
    latencies: BTreeMap<u32, BothEnds>,
    lost: VecDeque<LostBetween>,
    /// Number of copies that were lost on the way to the server, and to the client.
    lost_copies: [u64; 2],
}

impl SecondWitness {
    /// Returns a witness that reads the capture at the server.
    #[must_use]
    pub fn new(capture: Capture, config: Config, file: SecondFile) -> Self {
        let SecondFile { client, server, offset } = file;
        Self {
            capture,
            dissector: Dissector::new(config),
            matcher: PacketMatcher::new(client, server),
            offset,
            last: None,
            has_ended: false,
            error: None,
            frames: 0,
            missed: 0,
            rpcs: Map::default(),
            order: VecDeque::new(),
            number: 0,
            joined: 0,
            latencies: BTreeMap::new(),
            lost: VecDeque::new(),
            lost_copies: [0; 2],
        }
    }

    /// Takes a frame of the first capture, before the dissector of that capture does.
    pub fn frame(&mut self, frame: &Frame<'_>) {
        let offset = self.matcher.clock.latest().map_or(self.offset, ClockBounds::middle);
        let until = frame.time.0.saturating_add_signed(offset).saturating_add(AHEAD);
        let mut ahead = 0;
        while !self.has_ended && self.last.is_none_or(|last| last.0 < until) && ahead < FRAMES_AHEAD {
            self.read_frame();
            ahead += 1;
        }
        if let Some(id) = packet_id(frame) {
            let stamp = Stamp { frame: frame.number, time: frame.time };
            self.matcher.see(Witness::First, id, stamp, &mut self.lost);
        }
        self.matcher.settle_until(frame.time, &mut self.lost);
    }

    /// Reads the next frame of the second capture.
    fn read_frame(&mut self) {
        match self.capture.next() {
            Some(Ok(frame)) => {
                self.frames += 1;
                self.last = Some(frame.time);
                if let Some(id) = packet_id(&frame) {
                    let stamp = Stamp { frame: frame.number, time: frame.time };
                    self.matcher.see(Witness::Second, id, stamp, &mut self.lost);
                }
                self.dissector.frame(&frame);
            }
            Some(Err(error)) => self.error = self.error.take().or(Some(error)),
            None => {
                self.has_ended = true;
                self.dissector.finish();
            }
        }
        while let Some(event) = self.dissector.event() {
            match event {
                Event::Transaction(transaction) => self.add_rpc(&transaction),
                Event::Connection(report) if report.number.is_some() => {
                    self.missed += report.counts.active.missed + report.counts.passive.missed;
                }
                _ => {}
            }
        }
    }

    /// Keeps what the second capture shows of an RPC.
    fn add_rpc(&mut self, transaction: &Transaction) {
        let (Some(latency), Some(began), Some(reply)) =
            (transaction.latency(), transaction.began, transaction.reply.as_ref())
        else {
            return;
        };
        self.number += 1;
        let rpc = SecondRpc {
            number: self.number,
            began: began.time,
            ended: Time(began.time.0.saturating_add(latency)),
            call_frame: transaction.call.as_ref().map(|call| call.stamp.frame),
            reply_frame: Some(reply.stamp.frame),
            latency,
            own: OwnTimes::new(transaction),
        };
        let key = RpcKey::new(transaction);
        self.rpcs.entry(key).or_default().push_back(rpc);
        self.order.push_back((rpc.number, key));
        if self.order.len() > RPCS
            && let Some((number, key)) = self.order.pop_front()
        {
            self.forget(key, number);
        }
    }

    /// Forgets an RPC of the second capture.
    fn forget(&mut self, key: RpcKey, number: u64) {
        if let Some(rpcs) = self.rpcs.get_mut(&key) {
            rpcs.retain(|rpc| rpc.number != number);
            if rpcs.is_empty() {
                self.rpcs.remove(&key);
            }
        }
    }

    /// Ends the second capture, after the last frame of the first: what is left is read.
    pub fn finish(&mut self) {
        while !self.has_ended {
            self.read_frame();
        }
        self.matcher.settle_all(&mut self.lost);
    }

    /// Adds to an event of the first capture what the second shows.
    pub fn relate(&mut self, event: &mut Event) {
        match event {
            Event::Transaction(transaction) => {
                transaction.witnessed = self.witness(transaction).map(Box::new);
                if let Some(witnessed) = transaction.witnessed.as_deref()
                    && !transaction.reverse
                {
                    self.count_latencies(transaction.connection, witnessed);
                }
            }
            Event::Connection(report) => {
                if let Some(both) = report.number.and_then(|number| self.latencies.remove(&number)) {
                    report.both_ends = Some(Box::new(both));
                }
            }
            _ => {}
        }
    }

    fn count_latencies(&mut self, connection: u32, witnessed: &WitnessedRpc) {
        let WitnessedRpc { at_requester: requester, at_responder: responder, .. } = *witnessed;
        let both = self.latencies.entry(connection).or_default();
        both.has_two_files = true;
        if both.rpcs.len() < COUNTED {
            both.rpcs.push(EndLatencies { requester, responder, first: requester });
        }
    }

    /// Returns the next packet that was lost between the two places.
    pub fn next_loss(&mut self) -> Option<LostBetween> {
        let lost = self.lost.pop_front()?;
        let [there, back] = &mut self.lost_copies;
        *(if lost.is_from_first { there } else { back }) += u64::from(lost.count);
        Some(lost)
    }

    /// Returns the RPC of the second capture that is this one: the only one of its name that began after the call was sent, and ended
    /// before the reply arrived.
    fn witness(&mut self, transaction: &Transaction) -> Option<WitnessedRpc> {
        let (began, latency) = (transaction.began?.time, transaction.latency()?);
        let ended = Time(began.0.saturating_add(latency));
        let is_callback = transaction.reverse;
        let key = RpcKey::new(transaction);
        let bounds = self.matcher.clock.since(began);
        let ways = |rpc: &SecondRpc| {
            let differences = [rpc.began.nanoseconds_after(began), rpc.ended.nanoseconds_after(ended)];
            bounds.map(|bounds| order_ways(differences, bounds, is_callback))
        };
        let mut fitting = self.rpcs.get(&key)?.iter().filter(|rpc| {
            let [at_requester, at_responder] = by_end([latency, rpc.latency], is_callback);
            let is_within = ways(rpc).is_none_or(|ways| ways.iter().all(Option::is_some));
            at_responder <= at_requester.saturating_add(at_requester / DRIFT) && is_within
        });
        let (rpc, None) = (*fitting.next()?, fitting.next()) else { return None };
        self.forget(key, rpc.number);
        self.joined += 1;
        let [at_requester, at_responder] = by_end([latency, rpc.latency], is_callback);
        let own = OwnTimes::new(transaction).zip(rpc.own).filter(|_| bounds.is_some());
        let parts = own.and_then(|(first, second)| {
            let [near_requester, near_responder] = by_end([first, second], is_callback);
            let (requester, responder) = (near_requester.requester, near_responder.responder);
            let network = at_requester.checked_sub(requester)?.checked_sub(responder)?;
            Some(RpcParts { requester, responder, network })
        });
        let [way_there, way_back] = ways(&rpc).unwrap_or_default();
        let SecondRpc { call_frame, reply_frame, .. } = rpc;
        Some(WitnessedRpc { call_frame, reply_frame, at_requester, at_responder, parts, way_there, way_back })
    }

    /// Returns what is known of the second capture.
    #[must_use]
    pub fn summary(&self) -> WitnessSummary {
        let bounds = self.matcher.clock.steady();
        let drift = self.matcher.clock.drift();
        WitnessSummary {
            file: self.capture.files().parts().next().map(|(_, name)| name.to_owned()).unwrap_or_default(),
            frames: self.frames,
            packets: self.matcher.matched,
            rpcs: self.joined,
            clock_ahead: bounds.map(ClockBounds::middle),
            clock_uncertainty: bounds.map(ClockBounds::uncertainty),
            clock_drift: drift.map(|(drift, _)| drift),
            clock_drift_uncertainty: drift.map(|(_, uncertainty)| uncertainty),
            clock_steps: self.matcher.clock.steps,
            missed: self.missed,
            lost_copies: self.lost_copies,
        }
    }

    /// Returns the error that ended reading the second capture, once.
    pub const fn take_error(&mut self) -> Option<FileError> {
        self.error.take()
    }

    /// Octets of memory that is used beside the dissector's.
    #[must_use]
    pub fn memory_used(&self) -> usize {
        self.matcher.memory_used() + self.order.len() * (size_of::<SecondRpc>() + 2 * size_of::<RpcKey>())
    }
}

/// Returns what was seen at the requester, and what was seen at the responder. The requester is at the first place, unless the RPC is a
/// callback.
fn by_end<T>([first, second]: [T; 2], is_callback: bool) -> [T; 2] {
    if is_callback { [second, first] } else { [first, second] }
}

/// Returns the ways of call and reply; `None` for a way that would end before its beginning. `differences` are those of the begin and
/// the end of the RPC. The requester is at the first place, unless the RPC is a callback.
fn order_ways(differences: [i64; 2], bounds: ClockBounds, is_callback: bool) -> [Option<WayBounds>; 2] {
    let [began, ended] = differences;
    let to_second =
        |difference: i64| bounds_of_way(difference.checked_sub(bounds.most)?, difference.checked_sub(bounds.least)?);
    let to_first =
        |difference: i64| bounds_of_way(bounds.least.checked_sub(difference)?, bounds.most.checked_sub(difference)?);
    if is_callback { [to_first(began), to_second(ended)] } else { [to_second(began), to_first(ended)] }
}

fn bounds_of_way(least: i64, most: i64) -> Option<WayBounds> {
    Some(WayBounds { least: u64::try_from(least).unwrap_or(0), most: u64::try_from(most).ok()? })
}

//! Servers, clients, users or files, each with the times of RPCs.

use core::hash::{BuildHasher, Hash};
use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::compare::Sample;

/// The most members of a kind that are told apart; the RPCs of others are not compared.
const MEMBERS: usize = 1000;
/// The most RPCs of a member whose times are kept.
const SAMPLE: usize = 128;
/// The most RPCs that are shown of a member.
const SHOWN: usize = 8;

/// Time of an RPC, and what the RPC may be compared with.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimedRpc {
    /// Beginning of the RPC, in nanoseconds since 1970.
    pub(super) began: u64,
    /// Number of the operation and size.
    pub(super) operation: u16,
    /// Part of the histogram that the time falls into.
    pub(super) part: u16,
    pub(super) ends: EndPair,
}

/// Numbers of the client and the server of an RPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct EndPair {
    pub(super) client: u16,
    pub(super) server: u16,
}

/// Nanoseconds of RPCs, and the parts that are due to an end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DividedTime {
    pub(super) all: u64,
    pub(super) requester: u64,
    pub(super) responder: u64,
    pub(super) recovery: u64,
}

impl DividedTime {
    fn add_counts(&mut self, other: &Self) {
        for (sum, part) in [
            (&mut self.all, other.all),
            (&mut self.requester, other.requester),
            (&mut self.responder, other.responder),
            (&mut self.recovery, other.recovery),
        ] {
            *sum = sum.saturating_add(part);
        }
    }
}

/// An RPC with the frame that shows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShownRpc {
    pub(super) time: u64,
    pub(super) frame: u64,
}

/// Times of the RPCs of a member.
#[derive(Clone, Debug)]
pub(super) struct MemberTimes {
    pub(super) rpcs: u64,
    pub(super) unanswered: u64,
    pub(super) time: DividedTime,
    /// Beginning of the first RPC.
    pub(super) since: u64,
    /// The RPCs that took longest, the longest first.
    pub(super) slowest: Vec<ShownRpc>,
    pub(super) sample: Sample<TimedRpc>,
}

impl MemberTimes {
    const fn new() -> Self {
        let sample = Sample::new(SAMPLE);
        let time = DividedTime { all: 0, requester: 0, responder: 0, recovery: 0 };
        Self { rpcs: 0, unanswered: 0, time, since: u64::MAX, slowest: Vec::new(), sample }
    }

    pub(super) fn record(&mut self, rpc: TimedRpc, time: &DividedTime, frame: u64) {
        self.rpcs += 1;
        self.time.add_counts(time);
        self.since = self.since.min(rpc.began);
        self.sample.record(rpc);
        let is_full = self.slowest.len() >= SHOWN;
        if is_full && self.slowest.last().is_some_and(|last| last.time >= time.all) {
            return;
        }
        let place = self.slowest.partition_point(|shown| shown.time >= time.all);
        self.slowest.insert(place, ShownRpc { time: time.all, frame });
        self.slowest.truncate(SHOWN);
    }
}

/// Members of a kind.
#[derive(Clone, Debug)]
pub(super) struct Members<K> {
    numbers: HashMap<u64, u16, RandomState>,
    hasher: RandomState,
    keys: Vec<K>,
    pub(super) times: Vec<MemberTimes>,
}

impl<K> Default for Members<K> {
    fn default() -> Self {
        Self { numbers: HashMap::default(), hasher: RandomState::default(), keys: Vec::new(), times: Vec::new() }
    }
}

impl<K> Members<K> {
    /// Number of the member of this key, which `own` makes of a new one.
    pub(super) fn number<Q: Hash>(&mut self, key: &Q, own: impl FnOnce() -> K) -> Option<u16> {
        self.number_of(key, || Some(own()))
    }

    /// Number of the member of this key, which `own` makes of a new one, if that is possible.
    pub(super) fn number_of<Q: Hash>(&mut self, key: &Q, own: impl FnOnce() -> Option<K>) -> Option<u16> {
        let hash = self.hasher.hash_one(key);
        if let Some(number) = self.numbers.get(&hash) {
            return Some(*number);
        }
        let number = u16::try_from(self.keys.len()).ok().filter(|number| usize::from(*number) < MEMBERS)?;
        self.keys.push(own()?);
        self.numbers.insert(hash, number);
        self.times.push(MemberTimes::new());
        Some(number)
    }

    pub(super) fn key(&self, number: usize) -> Option<&K> {
        self.keys.get(number)
    }

    pub(super) fn record(&mut self, number: u16, rpc: TimedRpc, time: &DividedTime, frame: u64) {
        if let Some(times) = self.times.get_mut(usize::from(number)) {
            times.record(rpc, time, frame);
        }
    }
}

//! Pairs of ends whose connections end again and again.

use std::collections::BTreeMap;

use rpcrdma_dissector::{Address, Side, Stamp};

use super::life::{ConnectionLife, LifeEnd, RequestAnswer};
use crate::format::number::{counted, duration};
use crate::operation_name::OperationName;

/// The least number of connections that one end ends, one after another. Once or twice may be a restart.
pub const FLAPS: u64 = 3;
/// Nanoseconds without a message after which a server may end a connection because nobody uses the connection: 60 s.
const UNUSED: u64 = 60_000_000_000;

/// Connections of two ends that the same end ended, one after another.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Flapping {
    /// End that asked for the connections.
    pub client: Address,
    /// End that was asked.
    pub server: Address,
    /// End that ended the connections.
    pub by: Side,
    /// Number of connections that this end ended.
    pub times: u64,
    /// The first end.
    pub first: Stamp,
    /// The last end.
    pub last: Stamp,
    /// Calls that ended with these connections.
    pub unanswered: u64,
    /// Operation of these calls, if the last calls of all connections have the same.
    pub operation: Option<OperationName>,
    /// Frames of the ends, at most eight.
    pub frames: Vec<u64>,
    /// Nanoseconds after which the client asked again, at most.
    pub longest_gap: u64,
    /// Signs of loss before the last end, in words.
    pub after: Option<String>,
}

/// The most frames of a pair that are named.
const FRAMES: usize = 8;

/// Two ends, and the end that ended connections.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Ender {
    client: Address,
    server: Address,
    by: Side,
}

/// A connection that an end cut short.
struct CutShort<'a> {
    life: &'a ConnectionLife,
    stamp: Stamp,
}

impl Flapping {
    /// Returns the pairs in the connections.
    pub(super) fn find(lives: &[ConnectionLife]) -> Vec<Self> {
        let mut cut: BTreeMap<Ender, Vec<CutShort<'_>>> = BTreeMap::new();
        let mut began: BTreeMap<[Address; 2], Vec<Stamp>> = BTreeMap::new();
        let mut lives: Vec<_> = lives.iter().collect();
        lives.sort_by_key(|life| (life.began.time, life.began.frame));
        for life in lives {
            let (client, server) = (life.client, life.server);
            began.entry([client, server]).or_default().push(life.began);
            if let Some((by, stamp)) = cut_short(life) {
                cut.entry(Ender { client, server, by }).or_default().push(CutShort { life, stamp });
            }
        }
        let of_pair = |(ender, cut): (Ender, Vec<CutShort<'_>>)| {
            Self::of_pair(ender, &cut, began.get(&[ender.client, ender.server])?)
        };
        let mut flapping: Vec<Self> = cut.into_iter().filter_map(of_pair).collect();
        flapping.sort_by_key(|pair| (core::cmp::Reverse(pair.times), pair.first.frame));
        flapping
    }

    /// Returns the pair of `cut`, if the connections ended again and again. `began` has the beginnings of all requests of the pair.
    fn of_pair(Ender { client, server, by }: Ender, cut: &[CutShort<'_>], began: &[Stamp]) -> Option<Self> {
        // Connections side by side that end together end once.
        let (mut times, mut last) = (0, None::<Stamp>);
        let (mut longest_gap, mut frames) = (0, Vec::new());
        for CutShort { life, stamp } in cut {
            if last.is_some_and(|last| life.began.frame <= last.frame) {
                continue;
            }
            if let Some(last) = last {
                longest_gap = longest_gap.max(next_request(began, last)?);
            }
            (times, last) = (times + 1, Some(*stamp));
            frames.push(stamp.frame);
        }
        let first = cut.first()?.stamp;
        let operations: Vec<_> = cut.iter().map(|cut| cut.life.calls.unanswered_operation).collect();
        let operation = operations.first().copied().flatten();
        frames.truncate(FRAMES);
        (times >= FLAPS).then(|| Self {
            client,
            server,
            by,
            times: cut.len() as u64,
            first,
            last: last.unwrap_or(first),
            unanswered: cut.iter().map(|cut| cut.life.calls.unanswered).sum(),
            operation: operation.filter(|operation| operations.iter().all(|other| *other == Some(*operation))),
            frames,
            longest_gap,
            after: cut.last().and_then(|cut| cut.life.faults).map(|faults| faults.words()),
        })
    }

    /// Address of the end that ended the connections.
    #[must_use]
    pub const fn by_address(&self) -> Address {
        match self.by {
            Side::Active => self.client,
            Side::Passive => self.server,
        }
    }

    /// Returns true if nothing shows that the other end, or the network, made the end end the connections.
    #[must_use]
    pub fn is_of_its_own(&self) -> bool {
        self.by == Side::Passive && self.after.is_none()
    }

    /// Sentences about the pair.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let Self { client, server, by, times, unanswered, operation, longest_gap, after, .. } = self;
        let other = if *by == Side::Active { server } else { client };
        let (role, by) = (ConnectionLife::role(*by), self.by_address());
        let length = duration(self.last.time.0.saturating_sub(self.first.time.0));
        let mut sentences = vec![format!("The {role} {by} ended {times} connections with {other} within {length}.")];
        if *unanswered > 0 {
            let what = operation.map(|operation| format!(", each time {operation}")).unwrap_or_default();
            sentences.push(format!("{} ended without a reply{what}.", counted(*unanswered, "call")));
        }
        sentences.push(format!("The client asked for another each time, after at most {}.", duration(*longest_gap)));
        if let Some(after) = after {
            sentences.push(format!("Before the last end: {after}."));
        }
        sentences
    }
}

/// Returns the end that cut a connection short, with calls in flight, or the server soon after a message; and the time.
///
/// A client ends unused connections, and the connections of a mount that ends. A server ends connections that nobody has used for long.
fn cut_short(life: &ConnectionLife) -> Option<(Side, Stamp)> {
    let LifeEnd::EndedBy { by, stamp, .. } = life.end else { return None };
    let RequestAnswer::Accepted(accepted) = life.answer else { return None };
    let used = life.activity.last.unwrap_or(accepted);
    let is_used = stamp.time.0.saturating_sub(used.time.0) < UNUSED;
    (life.calls.unanswered > 0 || by == Side::Passive && is_used).then_some((by, stamp))
}

/// Nanoseconds after which the client asked again; requests are in the order of their beginnings.
fn next_request(began: &[Stamp], after: Stamp) -> Option<u64> {
    let next = began.get(began.partition_point(|began| began.frame <= after.frame))?;
    Some(next.time.0.saturating_sub(after.time.0))
}

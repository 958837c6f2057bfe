//! Counts besides waiting times: connections, packets, failures and broken rules.

use std::collections::{BTreeMap, BTreeSet};

use rpcrdma::rules::Severity;
use rpcrdma::v2;
use rpcrdma_dissector::check::Blame;
use rpcrdma_dissector::{
    Address, AddressMoved, AgainFor, CapturePoint, Carrier, Checksums, Connection, Found, Half, Message, MessageForm,
    Recovered, RecoveryKind, RefusedCall, Report, Shown, Side, Sides, Stamp, Transaction,
};

use super::both_ends::BothEndsTimes;
use super::cause::{CauseOwner, USUAL_SEND};
use super::credits::CreditTerms;
use super::kernel_faults::KernelFaults;
use super::losses::Losses;
use super::recalls::Recalls;
use super::referrals::Referrals;
use super::sessions::SessionFacts;
use super::tally::{FRAMES, RpcSubject, Tally};
use crate::format::number::counted;
use crate::small_map::SmallMap;
use crate::stats::{StatusName, send_length};

/// The most directions, kinds of failure and rules that are told apart.
const KEYS: usize = 500;
/// Maximum number of remembered connections on which calls died.
const CONNECTIONS: usize = 1000;

/// RPCs with chunks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WithChunks {
    pub(super) all: u64,
    /// The connection is of version 2, whose thresholds are not in private data.
    is_version_2: bool,
    /// RPCs whose messages would fit in usual Sends without chunks.
    pub(super) fit: u64,
}

/// Connections with small inline thresholds.
#[derive(Clone, Debug, Default)]
pub(super) struct SmallSends {
    pub(super) rpcs: WithChunks,
    /// The least threshold, in octets.
    pub(super) threshold: Option<u32>,
    /// The ends that announced a small threshold.
    owners: SmallMap<(CauseOwner, Address), ()>,
    /// Clients of these connections.
    pub(super) clients: BTreeSet<Address>,
    /// Servers of these connections.
    pub(super) servers: BTreeSet<Address>,
}

impl SmallSends {
    /// The role of the ends that announced small Sends, unless clients and servers did.
    pub(super) fn owner(&self) -> Option<CauseOwner> {
        let (owner, _) = *self.owners.keys().next()?;
        self.owners.keys().all(|(other, _)| *other == owner).then_some(owner)
    }

    /// The only end that announced small Sends; `None` if several did.
    pub(super) fn owner_address(&self) -> Option<Address> {
        self.owners.only().map(|((_, address), ())| *address)
    }

    /// Takes a connection with a small threshold.
    fn connection(&mut self, connection: &Connection) {
        if self.clients.len().max(self.servers.len()) >= KEYS {
            return;
        }
        small_ends(connection).for_each(|end| _ = self.owners.value(end, KEYS));
        self.clients.insert(connection.ends.active.address);
        self.servers.insert(connection.ends.passive.address);
    }
}

/// A rule that an end breaks.
#[derive(Clone, Debug)]
pub(super) struct Broken {
    pub(super) count: u64,
    pub(super) frames: Vec<u64>,
    pub(super) message: String,
    /// The end that breaks the rule, if the capture shows which.
    pub(super) by: Option<Address>,
    /// The first frame with the violation, by connection.
    connections: SmallMap<u32, u64>,
}

/// 'Receiver not ready' by one end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NotReady {
    pub(super) times: u64,
    /// Minimum of the credits granted by the end at the time of a refusal.
    pub(super) granted: Option<u32>,
    /// Maximum of the calls taken and not answered by the end at the time of a refusal.
    pub(super) taken: Option<u32>,
}

impl NotReady {
    fn add_refusal(&mut self, refused: Option<RefusedCall>) {
        self.times += 1;
        if let Some(RefusedCall { taken, granted, .. }) = refused {
            self.granted = Some(self.granted.map_or(granted, |least| least.min(granted)));
            self.taken = self.taken.max(Some(taken));
        }
    }

    /// A sentence about the granted credits and the taken calls.
    pub(super) fn sentence(&self) -> String {
        match self.granted.zip(self.taken).filter(|(granted, taken)| taken < granted) {
            Some((granted, 0)) => format!(
                "This end had granted {}, and refused calls although no other call waited: no Receive was posted at all, so this end \
                 posts Receives too late.",
                counted(granted.into(), "credit")
            ),
            Some((granted, taken)) => format!(
                "This end had granted {granted} credits, and refused a call while at most {} waited for an answer: this end posts fewer \
                 Receives than it grants, or posts Receives too late.",
                counted(taken.into(), "call")
            ),
            None => "This end posts fewer Receives than the other end may send messages, or posts Receives too late."
                .to_owned(),
        }
    }
}

/// Packets of an end with a wrong checksum, which were retransmitted and never acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct WrongChecksums {
    pub(super) packets: u64,
    /// The frame of the first.
    pub(super) first: u64,
}

/// Connections whose directions were captured by two clocks.
#[derive(Clone, Debug, Default)]
pub(super) struct TwoClocks {
    pub(super) connections: u64,
    /// Packets that were captured after their acknowledgements.
    pub(super) late_packets: u64,
    /// Ends that sent these packets.
    pub(super) ends: BTreeSet<Address>,
}

impl TwoClocks {
    fn add_connection(&mut self, report: &Report, late: Side) {
        self.connections += 1;
        self.late_packets += report.counts.get(late).acknowledged.before;
        if self.ends.len() < KEYS {
            self.ends.insert(report.connection.ends.get(late).address);
        }
    }
}

/// Packets that were retransmitted for no RPC that the capture shows.
#[derive(Clone, Debug, Default)]
pub(super) struct UnknownAgain {
    pub(super) packets: u64,
    /// The first frames of the packets.
    pub(super) frames: Vec<u64>,
    /// The time of the first, in nanoseconds since 1970.
    pub(super) since: Option<u64>,
}

impl UnknownAgain {
    fn packet(&mut self, Stamp { frame, time }: Stamp) {
        self.packets += 1;
        self.since = Some(self.since.map_or(time.0, |since| since.min(time.0)));
        if self.frames.len() < FRAMES || self.frames.last().is_some_and(|last| frame < *last) {
            self.frames.push(frame);
            self.frames.sort_unstable();
            self.frames.truncate(FRAMES);
        }
    }

    fn add_counts(&mut self, other: Self) {
        self.packets += other.packets;
        self.since = [self.since, other.since].into_iter().flatten().min();
        self.frames.extend(other.frames);
        self.frames.sort_unstable();
        self.frames.truncate(FRAMES);
    }
}

/// Counts of a capture.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    pub(super) connections: u64,
    /// Connections whose setup was not captured.
    pub(super) joined: u64,
    /// Faults in kernel traces.
    pub(super) kernel_faults: KernelFaults,
    /// Connections whose private data the capture cut.
    pub(super) cut_setups: u64,
    pub(super) packets: u64,
    pub(super) copies: u64,
    pub(super) two_clocks: TwoClocks,
    pub(super) other_connections: u64,
    /// RPCs on connections whose packets were captured at both ends.
    pub(super) both_ends: BothEndsTimes,
    /// Number of connections that were captured at each place.
    pub(super) places: SmallMap<CapturePoint, u64>,
    pub(super) losses: Losses,
    /// 'Receiver not ready' by the sending end.
    pub(super) not_ready: SmallMap<Address, NotReady>,
    pub(super) failures: SmallMap<(String, StatusName), u64>,
    pub(super) failed: Tally,
    /// RPCs that ended with NFS4ERR_MOVED.
    pub(super) referrals: Referrals,
    /// Recalls of delegations.
    pub(super) recalls: Recalls,
    /// By connections that have not ended.
    open: BTreeMap<u32, WithChunks>,
    /// The same.
    again: SmallMap<u32, UnknownAgain>,
    /// Retransmitted packets of connections that were set up before the capture: for calls from before that, for instance.
    pub(super) joined_again: UnknownAgain,
    pub(super) small: SmallSends,
    pub(super) broken: SmallMap<(&'static str, String), Broken>,
    /// Operations that an end refused for good: by connection the first frame, and who refused.
    pub(super) refused: SmallMap<u32, (u64, Address)>,
    /// Connections that ended while calls waited, with the frame of the end.
    deaths: SmallMap<u32, u64>,
    /// Packets with a wrong checksum that were retransmitted in vain, by connection and sender.
    wrong_checksums: SmallMap<(u32, Address), WrongChecksums>,
    /// IP addresses that moved to another MAC address.
    pub(super) moves: Vec<AddressMoved>,
    pub(super) credits: CreditTerms,
    pub(super) sessions: SessionFacts,
}

impl Facts {
    pub(super) fn connection(&mut self, report: &Report) {
        let Some(number) = report.number else {
            self.other_connections += 1;
            return;
        };
        let Sides { active, passive } = report.counts;
        for side in [Side::Active, Side::Passive] {
            self.checksums(number, report.connection.ends.get(side).address, &report.counts.get(side).checksums);
        }
        self.connections += 1;
        // A trace shows neither a setup nor an inline threshold, whenever it begins.
        let is_traced = report.connection.carrier == Carrier::Traced;
        self.joined += u64::from(!report.connection.setup_captured && !is_traced);
        let is_cut = |side| report.connection.announced.get(side).is_some_and(|told| told.private_data == Shown::Cut);
        self.cut_setups += u64::from(is_cut(Side::Active) || is_cut(Side::Passive));
        self.packets += active.packets + passive.packets;
        self.copies += active.duplicates + passive.duplicates;
        report.late_clock.iter().for_each(|late| self.two_clocks.add_connection(report, *late));
        report.both_ends.iter().for_each(|both| self.both_ends.add_connection(both));
        report.captured_at.iter().for_each(|(place, _)| _ = self.places.add_amount(*place, 1, KEYS));
        self.losses.ended(number, [report.connection.ends.active.address, report.connection.ends.passive.address]);
        let again = self.again.remove(&number).unwrap_or_default();
        if !report.connection.setup_captured {
            self.joined_again.add_counts(again);
        }
        let rpcs = self.open.remove(&number).unwrap_or_default();
        let Some(agreement) = report.connection.agreement() else { return };
        let threshold = agreement.client_to_server.min(agreement.server_to_client);
        if threshold < USUAL_SEND && !rpcs.is_version_2 {
            self.small.rpcs.all += rpcs.all;
            self.small.rpcs.fit += rpcs.fit;
            self.small.threshold = Some(self.small.threshold.map_or(threshold, |least| least.min(threshold)));
            self.small.connection(&report.connection);
        }
    }

    /// Takes the checksums of an end on a connection. If some retransmitted packets have a right checksum, a wrong checksum is
    /// not the reason that no packet was acknowledged.
    fn checksums(&mut self, connection: u32, end: Address, checksums: &Checksums) {
        if let (0, packets @ 1.., Some(first)) = (checksums.right, checksums.wrong, checksums.first_wrong) {
            self.wrong_checksums.value_or((connection, end), CONNECTIONS, || WrongChecksums { packets, first });
        }
    }

    /// The packets of an end on a connection with a wrong checksum, if all packets retransmitted in vain have one.
    pub(super) fn wrong_checksums(&self, connection: u32, end: Address) -> Option<WrongChecksums> {
        self.wrong_checksums.get(&(connection, end)).copied()
    }

    pub(super) fn transaction(&mut self, transaction: &Transaction) {
        let halves = [&transaction.call, &transaction.reply];
        let has_chunks = |half: &&Option<Half>| {
            half.as_ref().is_some_and(|half| matches!(half.form, MessageForm::Chunked | MessageForm::Long))
        };
        if halves.iter().any(has_chunks) {
            let rpcs = self.open.entry(transaction.connection).or_default();
            rpcs.all += 1;
            rpcs.fit += u64::from(send_length(transaction).is_some_and(|octets| octets <= USUAL_SEND as usize));
        }
    }

    /// An IP address moved.
    pub(super) fn address_moved(&mut self, moved: AddressMoved) {
        if self.moves.len() < KEYS {
            self.moves.push(moved);
        }
    }

    /// Takes a failure. Returns true for the first failure.
    pub(super) fn failure(&mut self, failure: StatusName, subject: &RpcSubject) -> bool {
        let is_first = self.failed.add_rpc(1, subject);
        self.failures.add_amount((subject.operation.clone(), failure), 1, KEYS);
        is_first
    }

    /// A connection ended while a call waited.
    pub(super) fn death(&mut self, connection: u32, frame: u64) {
        self.deaths.value_or(connection, CONNECTIONS, || frame);
    }

    /// Returns true if a connection ended between two frames with a call without a reply.
    pub(super) fn has_death_between(&self, first: Stamp, last: Stamp) -> bool {
        self.deaths.values().any(|death| (first.frame..=last.frame).contains(death))
    }

    /// Takes the version and the credits of a message.
    pub(super) fn message(&mut self, message: &Message) {
        if message.prefix().is_some_and(|prefix| prefix.version == v2::VERSION) {
            self.open.entry(message.connection).or_default().is_version_2 = true;
        }
        self.credits.message(message);
        self.recalls.message(message);
    }

    pub(super) fn recovered(&mut self, recovered: &Recovered) {
        let Recovered { from, kind, .. } = *recovered;
        self.losses.add_recovery(recovered);
        self.recalls.recovered(recovered);
        let is_unknown = recovered.xid.is_none() && recovered.again_for == Some(AgainFor::Loss);
        if is_unknown && let Some(again) = self.again.value(recovered.connection, CONNECTIONS) {
            again.packet(recovered.stamp);
        }
        match kind {
            RecoveryKind::NotReady { .. } => {
                if let Some(not_ready) = self.not_ready.value(from, KEYS) {
                    not_ready.add_refusal(recovered.refused);
                }
            }
            RecoveryKind::Failed => {
                self.refused.value_or(recovered.connection, CONNECTIONS, || (recovered.stamp.frame, from));
            }
            _ => {}
        }
    }

    pub(super) fn finding(&mut self, found: &Found) {
        if found.severity != Severity::Error || found.accepted_deviation().is_some() {
            return;
        }
        let key = (found.rule.slug, found.broken_by());
        let by = match found.blame {
            Blame::Sender => Some(found.from),
            Blame::Receiver => Some(found.to),
            Blame::Either => None,
        };
        let first = || Broken {
            count: 0,
            frames: Vec::new(),
            message: found.message.clone(),
            by,
            connections: SmallMap::default(),
        };
        let Some(broken) = self.broken.value_or(key, KEYS, first) else { return };
        broken.count += 1;
        if broken.frames.len() < FRAMES && broken.frames.last() != Some(&found.stamp.frame) {
            broken.frames.push(found.stamp.frame);
        }
        broken.connections.value_or(found.connection, CONNECTIONS, || found.stamp.frame);
    }

    /// Returns true if calls died with a connection on which the protocol was broken before.
    pub(super) fn is_fatal_connection(&self, connection: u32) -> bool {
        let Some(death) = self.deaths.get(&connection) else { return false };
        let is_before = |frame: &u64| frame <= death;
        self.refused.get(&connection).is_some_and(|(frame, _)| is_before(frame))
            || self.broken.values().any(|broken| broken.connections.get(&connection).is_some_and(is_before))
    }

    /// The first operation that was refused for good on a connection with which calls died: the frame, and who refused.
    pub(super) fn fatal_refusals(&self) -> Vec<(u64, Address)> {
        let mut refusals: Vec<_> = self
            .refused
            .iter()
            .filter(|(connection, (frame, _))| self.deaths.get(connection).is_some_and(|death| frame <= death))
            .map(|(_, refusal)| *refusal)
            .collect();
        refusals.sort_unstable();
        refusals
    }

    /// Returns true if a connection ended after the rule was broken on the connection, while calls waited.
    pub(super) fn is_fatal(&self, broken: &Broken) -> bool {
        let mut connections = broken.connections.iter();
        connections.any(|(connection, frame)| self.deaths.get(connection).is_some_and(|death| death >= frame))
    }
}

/// The ends that announced Sends shorter than usual.
fn small_ends(connection: &Connection) -> impl Iterator<Item = (CauseOwner, Address)> + '_ {
    // The active end is the client.
    let ends = [(Side::Active, CauseOwner::Client), (Side::Passive, CauseOwner::Server)];
    ends.into_iter().filter_map(|(side, owner)| {
        let said = connection.said(side)?;
        let is_small = said.send_size.min(said.receive_size) < USUAL_SEND;
        is_small.then(|| (owner, connection.ends.get(side).address))
    })
}

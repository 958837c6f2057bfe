//! Packets that both ends sent for an RPC, one by one.
//!
//! The packets are kept one by one, within the limits of memory, and put in order when the RPC is over: the loss of a
//! packet may become known long after the frame that showed the loss.

use super::phases::Phase;
use super::waiting::Step;
use crate::carrier::operation::{Origin, Side, Stamp};
use crate::carrier::recovery::{Indication, RecoveryKind};
use crate::file::Time;

/// A time between two packets is long if the time is at least the RPC's time divided by `PARTS`, and at least `SHORT`
/// nanoseconds.
const PARTS: u64 = 20;
const SHORT: u64 = 100_000;

/// Of which RPCs the [`Steps`] are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StepsWanted {
    /// Of none.
    #[default]
    None,
    /// RPCs with one of these `rdma_xid`.
    Xids(Vec<u32>),
    /// Of all.
    All,
}

impl StepsWanted {
    /// Returns true if steps of any RPC are kept.
    #[must_use]
    pub fn is_any(&self) -> bool {
        *self != Self::None
    }

    /// Returns true if steps of an RPC with this `rdma_xid` are kept.
    #[must_use]
    pub fn includes(&self, xid: u32) -> bool {
        match self {
            Self::None => false,
            Self::Xids(xids) => xids.contains(&xid),
            Self::All => true,
        }
    }
}

/// One packet, or several in a row that did the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PacketRun {
    /// Sender of the packets.
    pub from: Side,
    /// Step of the packets. `None` for a retransmitted TCP segment that brought nothing new (unknown step), for a
    /// negative acknowledgement, and for the reason of a retransmission.
    pub step: Option<Step>,
    /// Indication of loss that the packets show.
    pub recovery: Option<RecoveryKind>,
    /// True if the receiver discarded the packets, because an earlier packet was missing; the packets were
    /// retransmitted later.
    pub is_discarded: bool,
    /// Frame of the first packet.
    pub first: Stamp,
    /// Frame of the last packet.
    pub last: Stamp,
    /// Number of packets.
    pub packets: u64,
    /// Octets that the packets brought, or asked for if the packets are RDMA Read requests.
    pub octets: u64,
}

impl PacketRun {
    /// One packet.
    #[must_use]
    pub const fn one(from: Side, step: Option<Step>, stamp: Stamp, octets: u64) -> Self {
        Self { from, step, recovery: None, is_discarded: false, first: stamp, last: stamp, packets: 1, octets }
    }

    /// Returns the entry of a packet about which `sign` tells more than the packet's content.
    pub(crate) fn shown(sign: Indication, Origin { from, stamp }: Origin, step: Option<Step>) -> Self {
        let packet = Self::one(from, step, stamp, 0);
        match sign {
            Indication::Discarded => Self { is_discarded: true, ..packet },
            Indication::Recovery(kind) if kind.is_of_packet() => Self { recovery: Some(kind), ..packet },
            Indication::Recovery(kind) => Self { step: None, recovery: Some(kind), ..packet },
        }
    }

    /// Returns true if the entry is about a packet, and does not stand for itself.
    fn is_of_packet(&self) -> bool {
        self.recovery.is_none_or(RecoveryKind::is_of_packet)
    }

    /// Returns the sort key: by frame. Within one frame, the reason of a retransmission comes before the retransmitted
    /// packet, and the facts about a TCP segment after the segment's content.
    const fn key(&self) -> (u64, u8) {
        let rank = match (self.step, self.recovery) {
            (_, Some(kind)) if kind.is_cause() => 0,
            (Some(_), _) => 1,
            (None, _) => 2,
        };
        (self.first.frame, rank)
    }

    /// Returns true if this says something about that packet.
    fn is_about(&self, packet: &Self) -> bool {
        self.is_of_packet()
            && packet.is_of_packet()
            && (self.from, self.first) == (packet.from, packet.first)
            && (self.step.is_none() || self.step == packet.step)
    }

    /// Joins what is known of one packet.
    fn join(&mut self, other: &Self) {
        self.recovery = self.recovery.or(other.recovery);
        self.is_discarded |= other.is_discarded;
        self.octets = self.octets.saturating_add(other.octets);
    }

    /// Returns true if packets that come next can be counted with these.
    fn continues(&self, before: &Self, gap: u64) -> bool {
        let kind = |run: &Self| (run.from, run.step, run.recovery, run.is_discarded);
        let since = self.first.time.0.saturating_sub(before.last.time.0);
        self.is_of_packet() && kind(self) == kind(before) && since < gap
    }

    /// Counts packets that come next with these.
    fn extend(&mut self, next: &Self) {
        // One TCP segment may hold parts of several RDMA operations.
        let is_same = next.first.frame == self.last.frame;
        self.packets += next.packets - u64::from(is_same);
        self.octets = self.octets.saturating_add(next.octets);
        self.last = next.last;
    }
}

/// Packets that are not kept, because there were too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StepsLeftOut {
    /// Number of packets.
    pub packets: u64,
    /// Frame of the first packet.
    pub first: Stamp,
    /// Frame of the last packet.
    pub last: Stamp,
}

/// A stretch of the time of an RPC that belongs to one phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PhaseStretch {
    /// The phase.
    pub phase: Phase,
    /// Beginning of the stretch.
    pub from: Time,
    /// End of the stretch: the beginning of the next one, or the end of the RPC.
    pub until: Time,
}

/// Packets that both ends sent for an RPC.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Steps {
    /// The packets, in the order of their frames, one by one as far as there was room.
    pub packets: Vec<PacketRun>,
    /// Packets from the middle that are not kept.
    pub left_out: Option<StepsLeftOut>,
    /// Stretches of the phases, in order and without gaps; none if the phases alternated too often. The stretches mean
    /// something only if the [phases](super::transaction::Transaction::phases) are known.
    pub stretches: Option<Vec<PhaseStretch>>,
}

impl Steps {
    /// Returns the packets. Packets in a row that did the same are counted together, unless at least a twentieth of the
    /// time of all packets, and 0.1 ms, passed between two packets: counting these together would hide the delay.
    #[must_use]
    pub fn runs(&self) -> Vec<PacketRun> {
        let ends = self.packets.first().zip(self.packets.last());
        let whole = ends.map_or(0, |(first, last)| last.last.time.0.saturating_sub(first.first.time.0));
        folded(&self.packets, (whole / PARTS).max(SHORT))
    }
}

/// Puts packets in the order of their frames, and joins what is known of one.
pub(crate) fn arrange(packets: &mut Vec<PacketRun>) {
    packets.sort_by_key(PacketRun::key);
    let mut kept: Vec<PacketRun> = Vec::with_capacity(packets.len());
    for packet in packets.iter() {
        let from = kept.iter().rposition(|before| before.first.frame != packet.first.frame).map_or(0, |last| last + 1);
        let mut is_joined = false;
        for before in kept.get_mut(from..).unwrap_or_default().iter_mut().filter(|before| packet.is_about(before)) {
            before.join(packet);
            is_joined = true;
        }
        if !is_joined {
            kept.push(*packet);
        }
    }
    *packets = kept;
}

/// Counts packets in a row together that did the same, with fewer than `gap` nanoseconds between two packets.
pub(crate) fn folded(packets: &[PacketRun], gap: u64) -> Vec<PacketRun> {
    let mut runs: Vec<PacketRun> = Vec::new();
    for packet in packets {
        match runs.last_mut() {
            Some(last) if packet.continues(last, gap) => last.extend(packet),
            _ => runs.push(*packet),
        }
    }
    runs
}

//! Packets of both ends for a call that waits, one by one, in bounded memory.

use crate::carrier::operation::{Side, Stamp};
use crate::carrier::recovery::SILENCE;
use crate::file::Time;
use crate::rpc::phases::Phase;
use crate::rpc::placement::{FramePlacement, PlacedPart, Placements};
use crate::rpc::steps::{PacketRun, PhaseStretch, Steps, StepsLeftOut, arrange, folded};
use crate::rpc::waiting::Step;

/// Maximum number of packets that are kept one by one. Beyond this number, consecutive packets that did the same become
/// one.
const KEPT: usize = 2048;
/// Number of latest packets that stay separate: packets that are known only later may belong between two of these.
const RECENT: usize = 256;
/// If there are still too many packets: number of first packets that stay, and of packets before the recent ones.
const ENDS: usize = 512;
/// The most stretches of time that are told apart.
const STRETCHES: usize = 256;

/// A part of a Send: the frame, and the octets in the frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendPart {
    pub(super) stamp: Stamp,
    pub(super) octets: usize,
    /// Place of the part in what the sender sends.
    pub(super) place: u64,
}

/// Returns the position of each part in a Send.
pub(super) fn placements(parts: &[SendPart]) -> Placements {
    let place = |at: &mut u64, part: &SendPart| {
        let (from, length) = (*at, part.octets as u64);
        *at += length;
        let SendPart { stamp, place, .. } = *part;
        Some(FramePlacement { frame: stamp.frame, place, part: PlacedPart::Send, at: from, length })
    };
    parts.iter().scan(0, place).collect()
}

/// Packets of both ends so far.
#[derive(Clone, Debug)]
pub(super) struct StepLog {
    packets: Vec<PacketRun>,
    left_out: Option<StepsLeftOut>,
    /// None if there were too many.
    stretches: Option<Vec<PhaseStretch>>,
}

impl StepLog {
    pub(super) fn new() -> Self {
        Self { packets: Vec::new(), left_out: None, stretches: Some(Vec::new()) }
    }

    /// Adds a packet. Packets need not come in order.
    pub(super) fn add_packet(&mut self, packet: PacketRun) {
        self.packets.push(packet);
        if self.packets.len() >= KEPT {
            self.compact();
        }
    }

    /// Adds the packets of a Send.
    pub(super) fn add_send(&mut self, from: Side, step: Step, parts: &[SendPart]) {
        for SendPart { stamp, octets, .. } in parts {
            self.add_packet(PacketRun::one(from, Some(step), *stamp, *octets as u64));
        }
    }

    fn compact(&mut self) {
        arrange(&mut self.packets);
        let recent = self.packets.split_off(self.packets.len().saturating_sub(RECENT));
        self.packets = folded(&self.packets, SILENCE);
        if self.packets.len() > 2 * ENDS {
            let last = self.packets.split_off(self.packets.len() - ENDS);
            let middle = self.packets.split_off(ENDS);
            self.leave_out(&middle);
            self.packets.extend(last);
        }
        self.packets.extend(recent);
    }

    fn leave_out(&mut self, middle: &[PacketRun]) {
        for run in middle {
            let PacketRun { first, last, packets, .. } = *run;
            let left_out = self.left_out.get_or_insert(StepsLeftOut { packets: 0, first, last });
            left_out.packets += packets;
            left_out.last = last;
        }
    }

    /// A stretch of time belongs to a phase.
    pub(super) fn spend(&mut self, phase: Phase, from: Time, until: Time) {
        let Some(stretches) = self.stretches.as_mut().filter(|_| from < until) else { return };
        let is_full = stretches.len() == STRETCHES;
        match stretches.last_mut() {
            Some(last) if last.phase == phase => last.until = until,
            _ if is_full => self.stretches = None,
            _ => stretches.push(PhaseStretch { phase, from, until }),
        }
    }

    /// Memory used by the log, in octets.
    pub(super) const fn memory_used(&self) -> usize {
        size_of::<Self>() + self.packets.capacity() * size_of::<PacketRun>() + STRETCHES * size_of::<PhaseStretch>()
    }

    /// Returns the steps.
    pub(super) fn finish(self) -> Steps {
        let Self { mut packets, left_out, stretches } = self;
        arrange(&mut packets);
        Steps { packets, left_out, stretches }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::carrier::recovery::RecoveryKind;

    fn at(frame: u64) -> Stamp {
        Stamp { frame, time: Time(frame * 10) }
    }

    fn write(frame: u64) -> PacketRun {
        PacketRun::one(Side::Passive, Some(Step::Write), at(frame), 100)
    }

    fn sign(frame: u64, from: Side, kind: RecoveryKind) -> PacketRun {
        PacketRun { recovery: Some(kind), ..PacketRun::one(from, None, at(frame), 0) }
    }

    /// Frames, packets and octets of each run.
    fn runs(log: StepLog) -> Vec<(u64, u64, u64, u64)> {
        let runs = log.finish().runs();
        runs.iter().map(|run| (run.first.frame, run.last.frame, run.packets, run.octets)).collect()
    }

    #[test]
    fn packets_and_room_for_stretches_are_held() {
        let mut log = StepLog::new();
        let empty = log.memory_used();
        assert!(empty >= STRETCHES * size_of::<PhaseStretch>());
        (0..50).for_each(|frame| log.add_packet(write(frame)));
        assert!(log.memory_used() - empty >= 50 * size_of::<PacketRun>());
    }

    #[test]
    fn what_becomes_known_late_divides_a_run() {
        let mut log = StepLog::new();
        (10..20).chain(30..35).for_each(|frame| log.add_packet(write(frame)));
        log.add_packet(sign(25, Side::Active, RecoveryKind::SequenceError));
        assert_eq!(runs(log), [(10, 19, 10, 1000), (25, 25, 1, 0), (30, 34, 5, 500)]);
    }

    #[test]
    fn what_is_known_of_one_packet_is_one_step() {
        let mut log = StepLog::new();
        log.add_packet(sign(7, Side::Passive, RecoveryKind::TimedOut { silence: 9 }));
        for frame in [7, 8] {
            log.add_packet(sign(frame, Side::Passive, RecoveryKind::Retransmitted));
            log.add_packet(write(frame));
        }
        let steps = log.finish();
        let kinds: Vec<_> = steps.packets.iter().map(|packet| (packet.step, packet.recovery)).collect();
        let again = (Some(Step::Write), Some(RecoveryKind::Retransmitted));
        assert_eq!(kinds, [(None, Some(RecoveryKind::TimedOut { silence: 9 })), again, again]);
        assert_eq!(steps.runs().len(), 2);
    }

    #[test]
    fn of_too_many_packets_the_middle_is_left_out() {
        let mut log = StepLog::new();
        let total = 100_000;
        for frame in 0..total {
            // No two in a row do the same.
            let step = if frame % 2 == 0 { Step::ReadRequest } else { Step::ReadResponse };
            log.add_packet(PacketRun::one(Side::Active, Some(step), at(frame), 1));
            assert!(log.packets.len() < KEPT, "{frame}");
        }
        let steps = log.finish();
        let left_out = steps.left_out.unwrap();
        assert_eq!(steps.packets.len() as u64 + left_out.packets, total);
        assert_eq!(
            (left_out.first.frame, left_out.last.frame - left_out.first.frame + 1),
            (ENDS as u64, left_out.packets)
        );
        assert!(steps.packets.is_sorted_by_key(|packet| packet.first.frame));
    }

    #[test]
    fn no_packet_is_left_out_if_few_runs_remain() {
        let mut log = StepLog::new();
        for frame in 0..KEPT as u64 {
            // Two in a row do the same.
            let step = if frame % 4 < 2 { Step::ReadRequest } else { Step::ReadResponse };
            log.add_packet(PacketRun::one(Side::Active, Some(step), at(frame), 1));
        }
        let steps = log.finish();
        assert_eq!((steps.left_out, steps.packets.len()), (None, (KEPT - RECENT) / 2 + RECENT));
    }

    #[test]
    fn a_long_run_is_counted_whole() {
        let mut log = StepLog::new();
        (0..100_000).for_each(|frame| log.add_packet(write(frame)));
        assert!(log.memory_used() < 400_000, "{}", log.memory_used());
        assert_eq!(runs(log), [(0, 99_999, 100_000, 10_000_000)]);
    }

    #[test]
    fn stretches_follow_each_other_until_there_are_too_many() {
        let mut log = StepLog::new();
        for (phase, from, until) in
            [(Phase::Call, 1, 2), (Phase::RdmaRead, 2, 4), (Phase::RdmaRead, 4, 5), (Phase::RdmaWrite, 5, 5)]
        {
            log.spend(phase, Time(from), Time(until));
        }
        let stretches = log.stretches.clone().unwrap();
        assert_eq!(
            stretches.iter().map(|stretch| (stretch.from.0, stretch.until.0)).collect::<Vec<_>>(),
            [(1, 2), (2, 5)]
        );
        for time in 5..5 + STRETCHES as u64 {
            log.spend(if time % 2 == 0 { Phase::RdmaRead } else { Phase::RdmaWrite }, Time(time), Time(time + 1));
        }
        assert_eq!(log.finish().stretches, None);
    }
}

//! Runs of retransmitted packets, while a refusal that was sent before may be on its way.

use std::collections::VecDeque;

use crate::carrier::operation::Places;
use crate::carrier::recovery::RecoveryKind;
use crate::rpc::waiting::PacketRefusal;

/// Maximum number of runs of retransmitted packets that are told apart while a refusal may be on its way.
const PASSES: usize = 16;

/// A run of packets that were retransmitted.
#[derive(Clone, Copy, Debug)]
struct Pass {
    places: Places,
    /// The place after the last packet.
    next: u64,
    /// The frame of the first packet.
    since: u64,
    /// Packets from this place on were sent for the first time in the run or after the run.
    original: u64,
    /// True if later runs are counted with this one, because there were too many.
    is_several: bool,
}

/// Runs of packets that an end retransmitted, some of the runs before a refusal reached that end. A receiver that lacks
/// a packet refuses the packet once, and takes any later copy: that copy may be captured before the refusal, which
/// waits behind what the receiver sends.
#[derive(Clone, Debug, Default)]
pub(super) struct Passes {
    runs: VecDeque<Pass>,
    /// Packets from this place on were sent before the first of the runs, for the first time.
    original: u64,
    /// The place after the last packet that was sent.
    pub(super) end: u64,
    /// The last place that was reported as missing.
    missing: Option<u64>,
}

impl Passes {
    /// Forgets everything that was sent before the next packet.
    pub(super) fn clear(&mut self) {
        self.runs.clear();
        (self.original, self.missing) = (self.end, None);
    }

    /// Notes retransmitted packets.
    pub(super) fn again(&mut self, places: Places, frame: u64) {
        let original = self.end;
        self.end = self.end.max(places.end);
        let is_full = self.runs.len() == PASSES;
        if let Some(run) = self.runs.back_mut().filter(|run| is_full || places.first >= run.next) {
            run.places.first = run.places.first.min(places.first);
            run.is_several |= places.first < run.next;
            (run.places.end, run.next) = (run.places.end.max(places.end), places.end);
        } else {
            self.runs.push_back(Pass { places, next: places.end, since: frame, original, is_several: false });
        }
    }

    /// Takes a refusal of a place by the receiver. Returns the first frame that retransmitted the place since the
    /// receiver lacked the packet there, if any.
    pub(super) fn refuse(&mut self, place: u64, refusal: PacketRefusal) -> Option<u64> {
        let is_missing = refusal.kind == RecoveryKind::SequenceError;
        if is_missing && self.missing.replace(place) == Some(place) {
            self.clear();
            return None;
        }
        if place < self.original {
            let lacked = self.runs.iter().enumerate().find(|(_, run)| run.contains(place));
            let gone = lacked.map_or(self.runs.len(), |(index, run)| index + usize::from(!run.is_several));
            self.runs.drain(..gone);
        }
        let taken = self.runs.iter().find(|run| run.contains(place));
        // What was sent for the first time since the receiver may have taken the place was not thrown away with the refused copy.
        self.original = taken.map_or(self.end, |run| run.original);
        taken.map(|run| run.since)
    }
}

impl Pass {
    fn contains(&self, place: u64) -> bool {
        (self.places.first..self.places.end).contains(&place)
    }
}

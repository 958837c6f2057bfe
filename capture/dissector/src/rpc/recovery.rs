//! Time of an RPC that was spent on lost packets.

use super::phases::Phases;
use crate::carrier::operation::Stamp;
use crate::carrier::recovery::RecoveryKind;
use crate::file::Time;

/// The most frames that are listed for an RPC.
pub(crate) const FRAMES: usize = 64;
/// The most stretches of time that are kept for an RPC: a loss makes one, unless other packets of the RPC come meanwhile.
const STRETCHES: usize = 4;

/// A time-out of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimeOut {
    /// The frame in which the sender retransmitted.
    pub frame: u64,
    /// Nanoseconds in which the sender had sent nothing, or had got no acknowledgement.
    pub silence: u64,
}

/// Recovery work for an RPC whose packets were lost, or seemed to be. A packet that begins with part of one RPC and
/// ends with part of the next, as TCP segments may, counts for the first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovery {
    /// Time of each phase that was spent on recovery: for each retransmitted packet, the part of the time since the
    /// first transmission in which no other packet of the RPC came.
    pub phases: Phases,
    /// Times that a sender got no acknowledgement.
    pub timeouts: u64,
    /// The longest of these.
    pub longest_timeout: Option<TimeOut>,
    /// Number of times that an RDMA Read request was retransmitted because a response was missing.
    pub implied_naks: u64,
    /// Number of retransmissions whose cause the capture does not show.
    pub causes_not_seen: u64,
    /// Retransmitted packets.
    pub retransmitted_packets: u64,
    /// Frame of the first retransmitted packet.
    pub resent_from: Option<u64>,
    /// Negative acknowledgements; for TCP, gaps that duplicate acknowledgements reported.
    pub naks: u64,
    /// "Receiver not ready".
    pub rnr_naks: u64,
    /// Nanoseconds that these asked the sender to wait.
    pub rnr_wait: u64,
    /// Nanoseconds of `phases` that passed because a receiver was not ready, for a packet of the RPC or for an earlier
    /// packet.
    pub not_ready: u64,
    /// Packets among `retransmitted_packets` that were retransmitted for this reason.
    pub not_ready_packets: u64,
    /// The last frame that brought what was missing before a packet of the RPC: until then, the receiver could not use that packet.
    pub behind: Option<u64>,
    /// Indications of loss on the connection between call and reply that could not be assigned to an RPC. If there are any,
    /// recovery may have taken more time than `phases` says.
    pub unassigned: u64,
    /// The frames of all these, but no more than the first 64.
    pub frames: Vec<u64>,
    /// Number of frames that leaves out.
    pub frames_left_out: u64,
    /// Stretches of the time of `phases`: from one time to another, in order, without overlap. Of more than four, the first.
    pub stretches: Vec<(Time, Time)>,
    /// Nanoseconds of the stretches that leaves out.
    pub stretches_left_out: u64,
}

impl Recovery {
    /// Maximum octets of memory that the list of frames takes.
    pub(crate) const HELD: usize = 2 * FRAMES * size_of::<u64>() + STRETCHES * size_of::<(Time, Time)>();

    /// Counts a sign that something was lost.
    pub(crate) fn count_indication(&mut self, kind: RecoveryKind, stamp: Stamp) {
        match kind {
            RecoveryKind::Retransmitted | RecoveryKind::Replaced => {
                self.retransmitted_packets += 1;
                self.resent_from = Some(self.resent_from.map_or(stamp.frame, |from| from.min(stamp.frame)));
            }
            // The retransmitted packet has the same frame.
            RecoveryKind::TimedOut { silence } => {
                self.timeouts += 1;
                if self.longest_timeout.is_none_or(|longest| silence > longest.silence) {
                    self.longest_timeout = Some(TimeOut { frame: stamp.frame, silence });
                }
                return;
            }
            RecoveryKind::ImpliedNak => {
                self.implied_naks += 1;
                return;
            }
            RecoveryKind::CauseNotSeen => {
                self.causes_not_seen += 1;
                return;
            }
            RecoveryKind::SequenceError => self.naks += 1,
            RecoveryKind::NotReady { wait } => {
                self.rnr_naks += 1;
                self.rnr_wait += wait;
            }
            RecoveryKind::Failed => return,
        }
        self.list(stamp.frame);
    }

    /// Adds a stretch of time after the earlier stretches.
    pub(crate) fn stretch(&mut self, from: Time, until: Time) {
        let has_room = self.stretches.len() < STRETCHES;
        match self.stretches.last_mut() {
            Some(last) if last.1 == from && self.stretches_left_out == 0 => last.1 = until,
            _ if has_room => self.stretches.push((from, until)),
            _ => self.stretches_left_out += until.0 - from.0,
        }
    }

    /// Takes away what is later than the end of the RPC.
    pub(crate) fn end_at(&mut self, end: Time) {
        self.stretches.retain(|(from, _)| *from < end);
        if let Some(last) = self.stretches.last_mut() {
            last.1 = last.1.min(end);
        }
    }

    /// Lists a frame, in order. Frames may arrive out of order.
    fn list(&mut self, frame: u64) {
        let is_next = self.frames.last().is_none_or(|last| *last < frame);
        let place = if is_next { self.frames.len() } else { self.frames.partition_point(|before| *before < frame) };
        if place < FRAMES {
            self.frames.insert(place, frame);
        }
        if place == FRAMES || self.frames.len() > FRAMES {
            self.frames.truncate(FRAMES);
            self.frames_left_out += 1;
        }
    }
}

//! Evidence of gaps in what an end sends, and of the packets that filled the gaps.

use std::collections::VecDeque;

use crate::carrier::operation::{Places, Stamp};
use crate::carrier::recovery::AgainFor;
use crate::rpc::waiting::PacketRefusal;

/// Maximum number of remembered segments that filled gaps: more than pass before an acknowledgement.
const FILLED: usize = 64;

/// Evidence of gaps in what an end sends.
#[derive(Clone, Debug, Default)]
pub(super) struct StreamGaps {
    /// The last refusal by the other end, and the place that the refusal named, until the sender goes back to the place
    /// or the place is acknowledged.
    pub(super) refused: Option<(u64, PacketRefusal)>,
    /// The place that a sender went back to after a time-out, until the place comes again (InfiniBand).
    pub(super) timed_out: Option<u64>,
    /// The last acknowledgement that left the oldest message waiting (TCP).
    pub(super) low: Option<Stamp>,
    /// Places from the first that the other end reported as missing to the last, except for acknowledged places (TCP).
    pub(super) reported: Option<Places>,
    /// The last packets that filled gaps, and their places: over TCP, gaps of the capture.
    pub(super) filled: VecDeque<Filled>,
}

/// Packets that filled a gap: over TCP, one, and of the capture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filled {
    pub(super) places: Places,
    /// The last of the packets.
    pub(super) stamp: Stamp,
    /// Reason for retransmitting the packets; `None` for a segment that may just be late.
    pub(super) again_for: Option<AgainFor>,
    /// Evidence of a gap over InfiniBand.
    pub(super) evidence: Option<Evidence>,
}

impl Filled {
    /// Returns true if what ends at this place came with the packets. Over InfiniBand, a message that ends among the
    /// packets came as a copy of its own.
    const fn completes(&self, end: u64) -> bool {
        self.evidence.is_none() || self.places.end < end
    }
}

/// Evidence that a packet fills a gap of the receiver over InfiniBand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Evidence {
    /// The receiver refused the packet, or the packet did not reach the capture before.
    Lost,
    /// The sender got no acknowledgement in time. The acknowledgement may have been lost instead of the packet.
    Suspected,
}

impl StreamGaps {
    /// Records a segment that fills a gap of the capture. Drops segments up to `acknowledged`: what was acknowledged
    /// before needs no such segment any more.
    pub(super) fn fill(&mut self, filled: Filled, acknowledged: u64) {
        self.filled.retain(|filled| filled.places.end > acknowledged);
        if self.filled.len() == FILLED {
            self.filled.pop_front();
        }
        self.filled.push_back(filled);
    }

    /// The last of such packets that filled a gap before this place.
    pub(super) fn filled_before(&self, end: u64, is_such: impl Fn(&Filled) -> bool) -> Option<Filled> {
        let mut filled = self.filled.iter().rev();
        filled
            .find(|filled| filled.places.first < end && is_such(filled))
            .filter(|filled| filled.completes(end))
            .copied()
    }
}

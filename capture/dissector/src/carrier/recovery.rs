//! Indications of loss and retransmission.

/// A packet that comes for the first time after later ones, unasked, may just be late; after so many nanoseconds of
/// silence of the sender, the packet is a retransmission. A copy of a packet comes sooner.
pub(crate) const SILENCE: u64 = 1_000_000;
/// The least time-out of a sender that has not announced any, in nanoseconds: TCP's retransmission timers run for at
/// least 30 ms (RFC 6298 asks for a second), and adapters usually wait for 67 ms or more.
pub(crate) const TIMER: u64 = 30_000_000;

/// Kind of an indication of loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecoveryKind {
    /// A packet was retransmitted, and the capture has an earlier copy.
    Retransmitted,
    /// A packet was retransmitted, and the capture has no earlier copy: the first copy was lost before the capture
    /// point.
    Replaced,
    /// The next packet was retransmitted because the sender got no acknowledgement for at least the local ACK timeout
    /// of the connection request; if that announced none, and over TCP, for 30 ms.
    TimedOut {
        /// Nanoseconds since the sender last sent anything, or got an acknowledgement.
        silence: u64,
    },
    /// The next RDMA Read request was retransmitted because a response was missing, and something after that response
    /// had arrived.
    ImpliedNak,
    /// The packet that follows was retransmitted, and nothing in the capture says why.
    CauseNotSeen,
    /// The receiver reported a gap: by a negative acknowledgement (InfiniBand), or by a selective acknowledgement (RFC
    /// 2018) or the third duplicate one (RFC 5681 section 3.2) of TCP.
    SequenceError,
    /// "Receiver not ready": the receiver had no Receive posted.
    NotReady {
        /// The sender has to wait for so many nanoseconds.
        wait: u64,
    },
    /// The receiver refused the operation for good. Nothing is retransmitted.
    Failed,
}

impl RecoveryKind {
    /// Name of the kind.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Retransmitted => "retransmitted",
            Self::Replaced => "retransmitted, first not captured",
            Self::TimedOut { .. } => "time-out",
            Self::ImpliedNak => "implied NAK",
            Self::CauseNotSeen => "cause not seen",
            Self::SequenceError => "NAK",
            Self::NotReady { .. } => "RNR NAK",
            Self::Failed => "refused",
        }
    }

    /// Returns true if the indication is about a packet with content, which came before.
    pub(crate) const fn is_of_packet(self) -> bool {
        matches!(self, Self::Retransmitted | Self::Replaced)
    }

    /// Returns true if the indication is the cause of the next retransmission.
    #[must_use]
    pub const fn is_cause(self) -> bool {
        matches!(self, Self::TimedOut { .. } | Self::ImpliedNak | Self::CauseNotSeen)
    }

    /// Returns true if the receiver refused a packet and all later ones with this indication.
    pub(crate) const fn is_refusal(self) -> bool {
        matches!(self, Self::SequenceError | Self::NotReady { .. } | Self::Failed)
    }

    /// Returns true for a retransmitted packet.
    #[must_use]
    pub const fn is_retransmission(self) -> bool {
        matches!(self, Self::Retransmitted | Self::Replaced)
    }
}

/// Duplicates in the capture of a packet that the receiver reports as missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MissingPacket {
    /// None so far: the packet was lost before the capture point, or is late.
    NotCaptured,
    /// Duplicates that the receiver has discarded, and none since the sender went back: that one was lost before the
    /// capture.
    ThrownAway,
    /// A copy in order: the packet was lost or refused behind the capture point.
    Captured,
    /// A copy that came after a later packet.
    Late,
}

/// Reason for which a packet was retransmitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgainFor {
    /// The packet, an earlier one, or an acknowledgement was lost, or seemed to be.
    Loss,
    /// The receiver was not ready for the packet, or for an earlier one: a receiver takes packets in order.
    NotReady,
}

/// Event of a packet besides the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Indication {
    /// The packet shows that something was lost.
    Recovery(RecoveryKind),
    /// The receiver discarded the packet, because an earlier one was missing. The packet was retransmitted later.
    Discarded,
}

/// A TCP segment with octets that were captured before, or that others follow which were captured before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Backfill {
    /// True if the sender retransmitted the segment; otherwise the segment may just be late.
    pub is_again: bool,
    /// True if the segment fills a gap of the capture.
    pub is_filling: bool,
    /// True if the receiver had reported the first octet as missing, and the sender has not retransmitted that octet
    /// since.
    pub is_missing: bool,
    /// True if the sender retransmitted the segment after a time-out.
    pub is_timed_out: bool,
}

impl Backfill {
    /// Returns true if the segment fills a gap of the receiver, which may have nothing of the later octets.
    pub(crate) const fn is_filling_gap(self) -> bool {
        self.is_missing || self.is_again && (self.is_filling || self.is_timed_out)
    }
}

/// Indications that a packet shows: the cause of the retransmission, unless an earlier packet shows the cause, and the kind
/// of packet.
pub(crate) type Indications = [Option<RecoveryKind>; 2];

//! Signs that something was lost on its way, and sent again.

/// A packet that comes for the first time after later ones, and nothing asked for it, may just be late; after so many nanoseconds
/// without another packet of its sender, it was sent again. A copy of a packet comes sooner.
pub(crate) const SILENCE: u64 = 1_000_000;
/// The least time-out of a sender that has not announced any, in nanoseconds: TCP's retransmission timers run for 30 ms at least
/// (RFC 6298 has them run for a second), and adapters usually wait for 67 ms or more.
pub(crate) const TIMER: u64 = 30_000_000;

/// A sign that something was lost on its way, or seemed to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecoveryKind {
    /// A packet was sent again, and the capture holds it from before.
    SentAgain,
    /// A packet was sent again, and the capture does not hold it from before: it was lost on its way to where it would have
    /// been captured.
    Replaced,
    /// The packet that follows was sent again because its sender got no acknowledgement for at least the local ACK timeout of
    /// the connection request; if that announced none, and over TCP, for 30 ms.
    TimedOut {
        /// Nanoseconds for which its sender had sent nothing, or had got no acknowledgement.
        silence: u64,
    },
    /// The RDMA Read request that follows was sent again because a response to it was missing, and something after that had
    /// arrived.
    ImpliedNak,
    /// The packet that follows was sent again, and nothing in the capture says why.
    CauseNotSeen,
    /// The receiver reported a hole: by a negative acknowledgement (InfiniBand), or by a selective acknowledgement (RFC
    /// 2018) or the third duplicate one (RFC 5681 section 3.2) of TCP.
    SequenceError,
    /// "Receiver not ready": the receiver had no Receive posted.
    NotReady {
        /// The sender has to wait for so many nanoseconds.
        wait: u64,
    },
    /// The receiver refused the operation for good. Nothing is sent again.
    Failed,
}

impl RecoveryKind {
    /// Name of the kind.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SentAgain => "sent again",
            Self::Replaced => "sent again, lost before",
            Self::TimedOut { .. } => "time-out",
            Self::ImpliedNak => "implied NAK",
            Self::CauseNotSeen => "cause not seen",
            Self::SequenceError => "NAK",
            Self::NotReady { .. } => "RNR NAK",
            Self::Failed => "refused",
        }
    }

    /// Returns true if it says of a packet that carries something that this came before.
    pub(crate) const fn is_of_packet(self) -> bool {
        matches!(self, Self::SentAgain | Self::Replaced)
    }

    /// Returns true if it says why the packet that follows it was sent again.
    #[must_use]
    pub const fn is_cause(self) -> bool {
        matches!(self, Self::TimedOut { .. } | Self::ImpliedNak | Self::CauseNotSeen)
    }

    /// Returns true if the receiver refused a packet with it, and what follows that.
    pub(crate) const fn is_refusal(self) -> bool {
        matches!(self, Self::SequenceError | Self::NotReady { .. } | Self::Failed)
    }

    /// Returns true if it shows a packet that was sent again.
    #[must_use]
    pub const fn is_sent_again(self) -> bool {
        matches!(self, Self::SentAgain | Self::Replaced)
    }
}

/// Copies in the capture of a packet that its receiver reports as missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MissingPacket {
    /// None so far: the packet was lost before the capture, or it is late.
    NotCaptured,
    /// Copies that the receiver has thrown away, and none since its sender went back: that one was lost before the capture.
    ThrownAway,
    /// A copy in its order: it was lost or refused behind the capture.
    Captured,
    /// A copy that came after a packet that follows it.
    Late,
}

/// Reason for which a packet was sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgainFor {
    /// The packet, one before it, or an acknowledgement was lost, or seemed to be.
    Loss,
    /// The receiver was not ready for the packet, or for one before it: a receiver takes packets in order.
    NotReady,
}

/// Properties of a packet besides its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    /// The packet shows that something was lost.
    Recovery(RecoveryKind),
    /// Its receiver threw it away, because it had missed one before it. It was sent again later.
    Discarded,
}

/// A TCP segment with octets that were captured before, or that others follow which were captured before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Backfill {
    /// True if its sender sent it again; otherwise it may just be late.
    pub is_again: bool,
    /// True if the capture lacked octets of it.
    pub is_filling: bool,
    /// True if its receiver had reported that its first octet is missing, and that was not sent again since.
    pub is_missing: bool,
    /// True if its sender sent it again after a time-out.
    pub is_timed_out: bool,
}

impl Backfill {
    /// Returns true if it fills a hole of its receiver, which may have nothing that follows.
    pub(crate) const fn is_filling_hole(self) -> bool {
        self.is_missing || self.is_again && (self.is_filling || self.is_timed_out)
    }
}

/// Signs that a packet shows: why it was sent again, unless something before says that, and what the packet is.
pub(crate) type Signs = [Option<RecoveryKind>; 2];

//! What shows that something was lost on its way, and sent again.

/// A packet that is sent again after so many nanoseconds of silence, although nothing asked for it, was sent again because of
/// a time-out. Adapters and TCP wait for longer; what the network duplicates comes sooner.
pub(crate) const SILENCE: u64 = 1_000_000;

/// A sign that something was lost on its way, or seemed to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecoveryKind {
    /// A packet was sent again, and the capture holds it from before.
    SentAgain,
    /// A packet was sent again, and the capture does not hold it from before: it was lost on its way to where it would have
    /// been captured.
    Replaced,
    /// A packet came twice in immediate succession, although nothing had asked for it: the network or the capture doubled it.
    Duplicate,
    /// The packet that follows was sent again although nothing had asked for it: its sender waited for an acknowledgement in
    /// vain.
    TimedOut {
        /// For so many nanoseconds its sender had sent nothing.
        silence: u64,
    },
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
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SentAgain => "sent again",
            Self::Replaced => "sent again, lost before",
            Self::Duplicate => "duplicate",
            Self::TimedOut { .. } => "time-out",
            Self::SequenceError => "NAK",
            Self::NotReady { .. } => "RNR NAK",
            Self::Failed => "refused",
        }
    }

    /// Whether it says of a packet that carries something that this came before.
    pub(crate) const fn is_of_packet(self) -> bool {
        matches!(self, Self::SentAgain | Self::Replaced | Self::Duplicate)
    }

    /// Whether it shows a packet that was sent again.
    #[must_use]
    pub const fn is_sent_again(self) -> bool {
        matches!(self, Self::SentAgain | Self::Replaced)
    }
}

/// What is known of a packet besides what it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    /// It shows that something was lost.
    Recovery(RecoveryKind),
    /// Its receiver threw it away, because it had missed one before it. It was sent again later.
    Discarded,
}

/// What a packet shows: that its sender had waited in vain, and what the packet is.
pub(crate) type Signs = [Option<RecoveryKind>; 2];

/// The time-out that made a sender, silent for so many nanoseconds, send a packet again; none if that `is_asked` for.
pub(crate) fn timed_out(is_asked: bool, silence: u64) -> Option<RecoveryKind> {
    (!is_asked && silence >= SILENCE).then_some(RecoveryKind::TimedOut { silence })
}

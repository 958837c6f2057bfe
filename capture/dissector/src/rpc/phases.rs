//! Phases: the parts of the time of an RPC.

use core::fmt;

/// A part of the time that an RPC took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// The call's Send, from the first packet to the last.
    Call,
    /// The responder's turn: no packet of the RPC was in flight, and the responder had the requested data. The delay
    /// need not be the responder's fault: packets may have been lost before the capture point, or have waited behind
    /// packets of other RPCs.
    Responder,
    /// RDMA Reads: from a Read request to the arrival of all data that was asked for by then, however often a request or a response was
    /// retransmitted meanwhile.
    RdmaRead,
    /// RDMA Writes, from the first to the last in a row, including retransmitted ones.
    RdmaWrite,
    /// The reply's Send, from the first packet to the last, in the copy that the requester accepted.
    Reply,
    /// The requester's turn: the responder provides the reply, and the requester had not asked for the rest of the
    /// reply (draft-cel-nfsv4-reliable-reply).
    Requester,
}

impl Phase {
    /// All phases.
    pub const ALL: [Self; 6] =
        [Self::Call, Self::Responder, Self::RdmaRead, Self::RdmaWrite, Self::Reply, Self::Requester];

    /// Name of the phase.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Responder => "responder",
            Self::RdmaRead => "RDMA Read",
            Self::RdmaWrite => "RDMA Write",
            Self::Reply => "reply",
            Self::Requester => "requester",
        }
    }

    /// Name of the phase in calls of the client: `server` for [`Responder`](Self::Responder). In callbacks, the client answers:
    /// [`Transaction::phase_title`](super::transaction::Transaction::phase_title) has the name for an RPC.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Responder => "server",
            Self::Requester => "client",
            other => other.name(),
        }
    }

    /// Meaning of the phase, in a few words.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Call => "the Send of the call, from its first packet to its last",
            Self::Responder => {
                "no packet on its way; the next is due from the server (for a callback, from the client)"
            }
            Self::RdmaRead => "the server reads data of the call",
            Self::RdmaWrite => "the server writes data of the reply",
            Self::Reply => "the Send of the reply, from its first packet to its last",
            Self::Requester => {
                "no packet on its way; the next is due from the client (for a callback, from the server)"
            }
        }
    }
}

/// Time of an RPC by phase, in nanoseconds, at the capture point.
///
/// Retransmitting a captured packet of a Send does not start a new phase: time spent retransmitting a call counts for
/// [`Phase::Responder`], not for [`Phase::Call`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phases {
    /// Nanoseconds in [`Phase::Call`].
    pub call: u64,
    /// Nanoseconds in [`Phase::Responder`].
    pub responder: u64,
    /// Nanoseconds in [`Phase::RdmaRead`].
    pub rdma_read: u64,
    /// Nanoseconds in [`Phase::RdmaWrite`].
    pub rdma_write: u64,
    /// Nanoseconds in [`Phase::Reply`].
    pub reply: u64,
    /// Nanoseconds in [`Phase::Requester`].
    pub requester: u64,
}

impl Phases {
    /// Returns the nanoseconds in one phase.
    #[must_use]
    pub const fn phase_time(&self, phase: Phase) -> u64 {
        match phase {
            Phase::Call => self.call,
            Phase::Responder => self.responder,
            Phase::RdmaRead => self.rdma_read,
            Phase::RdmaWrite => self.rdma_write,
            Phase::Reply => self.reply,
            Phase::Requester => self.requester,
        }
    }

    /// Returns a mutable reference to the nanoseconds in one phase.
    pub const fn phase_time_mut(&mut self, phase: Phase) -> &mut u64 {
        match phase {
            Phase::Call => &mut self.call,
            Phase::Responder => &mut self.responder,
            Phase::RdmaRead => &mut self.rdma_read,
            Phase::RdmaWrite => &mut self.rdma_write,
            Phase::Reply => &mut self.reply,
            Phase::Requester => &mut self.requester,
        }
    }

    /// Returns the sum of all phases: the latency of the RPC.
    #[must_use]
    pub fn total(&self) -> u64 {
        Phase::ALL.iter().map(|phase| self.phase_time(*phase)).sum()
    }
}

/// Reasons why the time of an RPC cannot be divided into phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotTimed {
    /// The capture does not hold the call.
    CallMissing,
    /// The capture holds no complete reply.
    ReplyMissing,
    /// The responder sent the reply, and the capture shows no arrival of a copy.
    ReplyNotAccepted,
    /// Packets of the RPC may be missing, or an RDMA operation for unknown memory may belong to the RPC.
    Missed,
    /// Frames are in another order than the frames' times, or packets of the responder come before the call.
    OutOfOrder,
    /// The clock of the capture was set back between the call and the reply.
    ClockSetBack,
    /// The two directions of the connection were captured by two clocks: packets come after their acknowledgements.
    TwoClocks,
    /// Another call that waited at the same time advertised the same handle, so the call for which data was moved is
    /// unknown.
    SharedMemory,
    /// A call with the same XID was not answered before: what was moved may have been for that.
    SameXid,
    /// The reply was sent more than once, and nothing shows which copy the requester accepted.
    ArrivalUnknown,
    /// The client made the call again on another connection: the time is that of several tries.
    SeveralTries,
    /// The RPC is known from a kernel trace, which shows no packets.
    KernelTrace,
}

impl NotTimed {
    /// Returns true if the beginning and the end of the RPC may be known nevertheless.
    pub(crate) const fn leaves_latency(self) -> bool {
        match self {
            Self::Missed | Self::SharedMemory | Self::SameXid | Self::SeveralTries | Self::KernelTrace => true,
            Self::CallMissing
            | Self::ReplyMissing
            | Self::ReplyNotAccepted
            | Self::OutOfOrder
            | Self::ClockSetBack
            | Self::TwoClocks
            | Self::ArrivalUnknown => false,
        }
    }
}

impl fmt::Display for NotTimed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CallMissing => "the call is not in the capture",
            Self::ReplyMissing => "the capture holds no complete reply",
            Self::ReplyNotAccepted => "the capture does not show that the reply was accepted",
            Self::Missed => "packets between call and reply may be missing from the capture",
            Self::OutOfOrder => "frames of the RPC are out of order in the capture",
            Self::ClockSetBack => "the clock of the capture was set back between call and reply",
            Self::TwoClocks => {
                "the capture holds packets after their acknowledgements: its two directions are by two clocks"
            }
            Self::SharedMemory => "another call that waited advertised the same memory",
            Self::SameXid => "a call before it with the same XID was not answered",
            Self::ArrivalUnknown => {
                "the reply was sent more than once, and the capture does not show which copy arrived"
            }
            Self::SeveralTries => "the client made the call again on another connection",
            Self::KernelTrace => "a kernel trace shows no packets",
        })
    }
}

impl core::error::Error for NotTimed {}

//! A call whose reply is not in the capture, or did not arrive.

use core::fmt;

use super::credits::CreditUse;
use super::phases::NotTimed;
use crate::carrier::connection::DisconnectionKind;
use crate::carrier::operation::{Side, Stamp};
use crate::carrier::recovery::RecoveryKind;
use crate::link::Address;

/// Something that an end did for an RPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The requester sent the call.
    Call,
    /// The responder asked for data with an RDMA Read.
    ReadRequest,
    /// All or some of the requester's data arrived.
    ReadResponse,
    /// The responder wrote data with an RDMA Write.
    Write,
    /// The responder sent the reply.
    Reply,
    /// The requester sent RDMA_DONE after reading the reply.
    Done,
    /// The responder's adapter acknowledged the whole call.
    Acknowledgement,
}

impl Step {
    /// Name of the step.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::ReadRequest => "RDMA Read request",
            Self::ReadResponse => "RDMA Read response",
            Self::Write => "RDMA Write",
            Self::Reply => "reply",
            Self::Done => "RDMA_DONE",
            Self::Acknowledgement => "acknowledgement",
        }
    }
}

/// A negative acknowledgement of a message, or of something before the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PacketRefusal {
    /// Kind of the acknowledgement.
    pub kind: RecoveryKind,
    /// Frame of the acknowledgement.
    pub stamp: Stamp,
}

/// Arrival of a call at the responder, as known from the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delivery {
    /// The responder's adapter acknowledged the call, or the responder acted on the call.
    Accepted,
    /// The responder's adapter refused the call, and the capture shows no retransmission of the call.
    Refused(PacketRefusal),
    /// The call, or octets or packets before the call, were sent more than once and never acknowledged.
    Unacknowledged {
        /// Number of times that the call was sent: 1 if only octets or packets before the call were retransmitted.
        times: u32,
    },
    /// The call was sent once, and the capture does not show whether the call arrived.
    Unknown,
}

impl Delivery {
    /// Name of the variant.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Refused(_) => "refused",
            Self::Unacknowledged { .. } => "unacknowledged",
            Self::Unknown => "unknown",
        }
    }
}

/// Event that ended the wait for a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitEnd {
    /// The end of the capture.
    Capture,
    /// An end of the connection ended the connection.
    Disconnected {
        /// Which.
        by: Side,
        /// The frame that says so.
        stamp: Stamp,
        /// The message in that frame.
        how: DisconnectionKind,
    },
    /// The connection was over before the end of the capture, which does not show how the connection ended.
    Connection,
    /// Another call with the same XID.
    Repeated,
    /// The call was given up, to keep within the bounds of memory: too much waited.
    GivenUp,
}

impl WaitEnd {
    /// Returns true if the connection was over before the end of the capture.
    #[must_use]
    pub const fn is_of_connection(self) -> bool {
        matches!(self, Self::Disconnected { .. } | Self::Connection)
    }
}

/// Step that is owed for a call without a reply, as far as the capture shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Owed {
    /// The reply, by the responder.
    Reply,
    /// The call, by the requester: the responder's adapter refused the call, and the requester did not retransmit the
    /// call.
    Call(PacketRefusal),
    /// Acknowledgement of the call, by the responder, which may be unreachable. The call was never acknowledged, and
    /// was sent this number of times, or octets before the call were retransmitted.
    Acknowledgement(u32),
    /// The reply once more, by the responder: the requester's adapter refused the reply, and the responder did not
    /// retransmit the reply.
    ReplyAgain(PacketRefusal),
    /// Arrival of the reply is unknown: the reply was never acknowledged, and was sent this number of times, or octets
    /// before the reply were retransmitted.
    ReplyArrival(u32),
    /// RDMA Read, by the requester, of a reply that the responder provides in memory.
    ReadReply,
    /// So many octets that the responder asked for with RDMA Read, by the requester.
    ReadResponse(u64),
    /// Nothing: the call is over.
    Nothing,
    /// The capture does not show the next step.
    Unknown(OwedUnknown),
}

impl Owed {
    /// Name of the step that is owed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reply => "reply",
            Self::Call(_) => "call",
            Self::Acknowledgement(_) => "acknowledgement",
            Self::ReplyAgain(_) => "reply again",
            Self::ReadReply => "RDMA Read of the reply",
            Self::ReadResponse(_) => "RDMA Read response",
            Self::Nothing => "nothing",
            Self::ReplyArrival(_) | Self::Unknown(_) => "unknown",
        }
    }

    /// Returns the end that owes the step, if known.
    #[must_use]
    pub const fn debtor(self, requester: Address, responder: Address) -> Option<Address> {
        match self {
            Self::Reply | Self::ReplyAgain(_) | Self::Acknowledgement(_) => Some(responder),
            Self::Call(_) | Self::ReadResponse(_) | Self::ReadReply => Some(requester),
            Self::ReplyArrival(_) | Self::Nothing | Self::Unknown(_) => None,
        }
    }

    /// Returns the owed step after a wait that ended in this way: nothing, or unknown if the capture does not show the
    /// step.
    pub(crate) const fn over(end: WaitEnd) -> Self {
        match end {
            WaitEnd::Connection => Self::Unknown(OwedUnknown::ConnectionOver),
            WaitEnd::GivenUp => Self::Unknown(OwedUnknown::GivenUp),
            WaitEnd::Repeated | WaitEnd::Disconnected { .. } | WaitEnd::Capture => Self::Nothing,
        }
    }
}

/// Reasons why the owed step is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OwedUnknown {
    /// No packet of the responder was captured.
    DirectionMissing,
    /// Packets of the RPC, including the reply, may be missing from the capture.
    Missed,
    /// The two directions were captured by two clocks: calls and replies may not be told to belong together.
    TwoClocks,
    /// The reply was sent once. Packets or octets before the reply's end were lost, or came out of order, and the
    /// capture does not show that the requester has got these.
    GapReported,
    /// The responder retransmitted data of the reply by RDMA Write, and the requester never acknowledged the data.
    WriteArrival,
    /// Another waiting call advertised the same memory, so the call for which data was moved is unknown.
    SharedMemory,
    /// A call with the same XID was not answered before: what the responder did may have been for that.
    SameXid,
    /// The call was not followed to the end of the capture, to keep within the bounds of memory.
    GivenUp,
    /// The connection was over, and the capture does not show how the connection ended.
    ConnectionOver,
    /// The capture is still being read.
    StillRead,
}

impl Waiting {
    /// Returns the wait of a call while the capture is being read, when the owed step is still unknown.
    #[must_use]
    pub const fn while_read(call: Stamp, credits: CreditUse) -> Self {
        Self {
            reply_delivery: None,
            end: WaitEnd::Capture,
            requester: LastStep { step: Step::Call, stamp: call },
            responder: None,
            delivery: Delivery::Unknown,
            owed: Owed::Unknown(OwedUnknown::StillRead),
            credits,
        }
    }

    /// Returns true if the capture lacks all packets of the responder, so that nothing is known of a reply.
    #[must_use]
    pub const fn is_direction_missing(&self) -> bool {
        matches!(self.owed, Owed::Unknown(OwedUnknown::DirectionMissing))
    }

    /// Outcome of the RPC in a few words: a reply that was sent is not one that arrived.
    #[must_use]
    pub const fn outcome(&self) -> &'static str {
        match (self.owed, self.reply_delivery) {
            (Owed::Unknown(OwedUnknown::DirectionMissing), _) => "reply unknown",
            (Owed::ReadReply, _) => "reply not read",
            (_, Some(Delivery::Refused(_))) => "reply refused",
            (_, Some(_)) => "reply not acknowledged",
            (_, None) => "no reply",
        }
    }
}

impl From<NotTimed> for OwedUnknown {
    fn from(reason: NotTimed) -> Self {
        match reason {
            NotTimed::SharedMemory => Self::SharedMemory,
            NotTimed::SameXid => Self::SameXid,
            NotTimed::CallMissing
            | NotTimed::ReplyMissing
            | NotTimed::ReplyNotAccepted
            | NotTimed::Missed
            | NotTimed::OutOfOrder
            | NotTimed::ClockSetBack
            | NotTimed::ArrivalUnknown
            | NotTimed::SeveralTries
            | NotTimed::KernelTrace => Self::Missed,
            NotTimed::TwoClocks => Self::TwoClocks,
        }
    }
}

impl fmt::Display for OwedUnknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DirectionMissing => "the capture holds no packet of the end that was called",
            Self::Missed => "the reply may be in packets that are missing from the capture",
            Self::TwoClocks => "the capture is by two clocks, and may hold the reply before the call",
            Self::GapReported => "octets before the end of the reply were lost or late, and may not have come yet",
            Self::WriteArrival => "RDMA Writes were retransmitted, and never acknowledged",
            Self::SharedMemory => "another call that waited advertised the same memory",
            Self::SameXid => "a call before it with the same XID was not answered",
            Self::GivenUp => "too many calls waited to follow this one to the end",
            Self::StillRead => "the capture is still being read",
            Self::ConnectionOver => "the connection is over, and the capture does not show how it ended",
        })
    }
}

/// The last step of an end for an RPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastStep {
    /// The step.
    pub step: Step,
    /// Frame of the step.
    pub stamp: Stamp,
}

/// The wait of a call for a reply that is not in the capture, or did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Waiting {
    /// Event that ended the wait.
    pub end: WaitEnd,
    /// Last step of the requester for the RPC.
    pub requester: LastStep,
    /// Last step of the responder for the RPC, if the capture shows any.
    pub responder: Option<LastStep>,
    /// Arrival of the call.
    pub delivery: Delivery,
    /// Arrival of the reply, if the reply was sent. The reply was refused and not retransmitted, came more than once
    /// and was never acknowledged, or the requester lacked octets before the reply's end.
    pub reply_delivery: Option<Delivery>,
    /// Step that is owed.
    pub owed: Owed,
    /// The requester's calls that wait at that time, and the requester's credits.
    pub credits: CreditUse,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ended_connection_distinguishes_a_sent_reply_from_none() {
        let stamp = Stamp::default();
        let refused = Delivery::Refused(PacketRefusal { kind: RecoveryKind::SequenceError, stamp });
        for (reply_delivery, expected) in [
            (None, "no reply"),
            (Some(refused), "reply refused"),
            (Some(Delivery::Unacknowledged { times: 2 }), "reply not acknowledged"),
        ] {
            let waiting = Waiting {
                end: WaitEnd::Repeated,
                requester: LastStep { step: Step::Call, stamp },
                responder: None,
                delivery: Delivery::Accepted,
                reply_delivery,
                owed: Owed::over(WaitEnd::Repeated),
                credits: CreditUse::default(),
            };
            assert_eq!(waiting.outcome(), expected);
        }
    }
}

//! Tries of an RPC: a client makes a call again on another connection if one ends before the reply.

use super::credits::CreditWaitUnknown;
use super::phases::{NotTimed, Phases};
use super::recovery::Recovery;
use super::waiting::{Delivery, PacketRefusal, Step, Waiting};
use crate::carrier::connection::DisconnectionKind;
use crate::carrier::operation::Stamp;
use crate::link::Address;

/// The most tries of one RPC that are kept: the first ones, and the last.
const KEPT: usize = 64;

/// The tries of an RPC, of which there are at least two.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tries {
    /// The tries, the first first. Of more than 64, the ones before the last are left out.
    pub all: Vec<Try>,
    /// Number of tries, including omitted ones.
    pub count: u64,
    /// Phases of the last try, from the last try's call on.
    pub phases: Result<Phases, NotTimed>,
    /// Part of the time of the last try that was spent on lost packets.
    pub recovery: Result<Recovery, NotTimed>,
    /// Nanoseconds before the call of the last try in which the requester had no credit.
    pub credit_wait: Result<u64, CreditWaitUnknown>,
}

/// A try of an RPC on one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Try {
    /// Number of the connection.
    pub connection: u32,
    /// The frame that the call began with.
    pub began: Stamp,
    /// The frame that completed the call.
    pub call: Stamp,
    /// The frame that completed the reply, if the responder sent one.
    pub reply: Option<Stamp>,
    /// Event that ended the try.
    pub end: TryEnd,
    /// The end that ended the connection first, if the capture shows that.
    pub disconnection: Option<TryDisconnection>,
    /// Execution by the responder, as far as the capture shows that.
    pub execution: Execution,
}

/// End of the connection of a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TryDisconnection {
    /// The end that ended the connection.
    pub by: Address,
    /// The frame that says so.
    pub stamp: Stamp,
    /// The message in that frame.
    pub how: DisconnectionKind,
}

/// Event that ended a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TryEnd {
    /// The requester accepted the reply.
    Answered,
    /// The responder ended the connection.
    ResponderEnded,
    /// The requester ended the connection.
    RequesterEnded,
    /// The responder's adapter refused the call.
    Refused(PacketRefusal),
    /// The call was sent so many times and never acknowledged.
    Lost {
        /// Number of times that the call was sent: 1 if only octets before the call were retransmitted.
        times: u32,
    },
    /// The responder sent a reply, which did not arrive.
    ReplyLost,
    /// The try had not ended at the end of the capture.
    Waits,
    /// The capture does not show what ended the try.
    Unknown,
}

impl TryEnd {
    /// Name of the event.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::ResponderEnded => "server ended the connection",
            Self::RequesterEnded => "client ended the connection",
            Self::Refused(_) => "call refused",
            Self::Lost { .. } => "call lost",
            Self::ReplyLost => "reply lost",
            Self::Waits => "waits",
            Self::Unknown => "unknown",
        }
    }
}

/// Execution of a try by the responder, as far as the capture shows that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Execution {
    /// The call did not reach the responder.
    No,
    /// The call reached the responder, or may have reached the responder, and the capture shows no reply.
    Possible,
    /// The responder sent the reply, or data of the reply.
    Executed,
}

impl Execution {
    /// Name of the variant.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::Possible => "possible",
            Self::Executed => "executed",
        }
    }

    pub(super) fn from_waiting(waiting: &Waiting) -> Self {
        let step = waiting.responder.map(|last| last.step);
        match (waiting.reply_delivery, step, waiting.delivery) {
            (Some(_), ..) | (None, Some(Step::Write | Step::Reply), _) => Self::Executed,
            (None, None, Delivery::Refused(_)) => Self::No,
            _ => Self::Possible,
        }
    }
}

impl Tries {
    /// The tries but for the last.
    pub fn earlier(&self) -> impl Iterator<Item = &Try> {
        let (last, earlier) = self.all.split_last().unzip();
        _ = last;
        earlier.unwrap_or_default().iter()
    }

    /// The last try.
    #[must_use]
    pub fn last(&self) -> Option<&Try> {
        self.all.last()
    }

    /// Nanoseconds from the first try to the last, which the earlier tries cost. `None` if the capture's clock was set back.
    #[must_use]
    pub fn lost_time(&self) -> Option<u64> {
        let (first, last) = (self.all.first()?, self.all.last()?);
        last.began.time.0.checked_sub(first.began.time.0)
    }

    pub(super) fn add_try(&mut self, new: Try) {
        if self.all.len() == KEPT {
            self.all.pop();
        }
        self.all.push(new);
        self.count += 1;
    }
}

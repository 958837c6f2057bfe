//! Waiting calls of a requester, compared with the granted credits (RFC 8166 section 3.3.1).

use core::fmt;
use core::num::NonZeroU32;

/// Availability of a credit for another call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CreditLimit {
    /// The requester had a credit: the number of waiting calls was below the number of credits.
    Below,
    /// The requester had no credit: the number of waiting calls had reached the number of credits.
    Reached,
    /// The capture does not show the number of credits.
    #[default]
    Unknown,
}

/// The waiting calls of a requester, and the requester's credits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CreditUse {
    /// The calls in the capture that wait. There may be others if the capture lacks messages.
    pub waiting: u32,
    /// The credits that the last reply granted; before the first reply there is one (section 3.3.3). A grant of none is against
    /// the rules, and counts as one.
    pub granted: Option<NonZeroU32>,
    /// Availability of a credit for another call.
    pub limit: CreditLimit,
}

impl CreditUse {
    /// Nothing is known.
    pub(crate) const UNKNOWN: Self = Self { waiting: 0, granted: None, limit: CreditLimit::Unknown };
}

/// For how long a requester had no credit for another call, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CreditTimes {
    /// Time in which the number of waiting calls had reached the number of credits.
    pub reached: u64,
    /// The capture does not show whether that was so.
    pub unknown: u64,
}

/// Reasons why the time that a requester had no credit before a call is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CreditWaitUnknown {
    /// The capture does not hold the call.
    CallMissing,
    /// The capture began when the connection was in use: calls from before may still have waited.
    JoinedLate,
    /// Calls or replies may be missing from the capture.
    Missed,
    /// A reply was sent more than once, and the capture does not show which copy the requester accepted.
    ReplyArrival,
    /// The clock of the capture was set back after the previous call.
    ClockSetBack,
    /// The two directions of the connection were captured by two clocks.
    TwoClocks,
    /// No reply that was seen says how many credits there are.
    NotGranted,
    /// The call is of version 2, or follows one that was refused. A credit of version 2 is for one message, not for one call.
    Version2,
    /// The RPC is known from a kernel trace that does not show the client's queue for credits.
    KernelTrace,
}

impl fmt::Display for CreditWaitUnknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CallMissing => "the call is not in the capture",
            Self::JoinedLate => "calls from before the capture may still have waited",
            Self::Missed => "calls or replies may be missing from the capture",
            Self::ReplyArrival => "it is not known which copy of a reply arrived",
            Self::ClockSetBack => "the clock of the capture was set back after the call before it",
            Self::TwoClocks => "the two directions of the capture are by two clocks",
            Self::NotGranted => "how many credits were granted is not known",
            Self::KernelTrace => "the kernel trace does not show the client's queue for credits",
            Self::Version2 => "the credits of version 2 are for messages and not for calls",
        })
    }
}

impl core::error::Error for CreditWaitUnknown {}

//! Waits of calls for a slot of a session (RFC 8881 section 2.10.6).

use core::fmt;

use super::credits::CreditWaitUnknown;

/// Reasons why the time that a call waited for a slot of the session is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SlotWaitUnknown {
    /// The capture does not hold the call.
    CallMissing,
    /// The capture does not show how many slots the session has.
    SessionMissing,
    /// Calls or replies of the session may be missing from the capture.
    Missed,
    /// The clock of the capture was set back after the previous call.
    ClockSetBack,
    /// The two directions of the connection were captured by two clocks.
    TwoClocks,
}

impl SlotWaitUnknown {
    /// Returns the reason for slots, if the reason for credits hides the time for slots too.
    pub(crate) const fn of_credits(reason: CreditWaitUnknown) -> Option<Self> {
        match reason {
            CreditWaitUnknown::CallMissing => Some(Self::CallMissing),
            CreditWaitUnknown::JoinedLate | CreditWaitUnknown::Missed | CreditWaitUnknown::ReplyArrival => {
                Some(Self::Missed)
            }
            CreditWaitUnknown::ClockSetBack => Some(Self::ClockSetBack),
            CreditWaitUnknown::TwoClocks => Some(Self::TwoClocks),
            CreditWaitUnknown::NotGranted | CreditWaitUnknown::Version2 | CreditWaitUnknown::KernelTrace => None,
        }
    }
}

impl fmt::Display for SlotWaitUnknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CallMissing => "the call is not in the capture",
            Self::SessionMissing => "the capture does not show how many slots the session has",
            Self::Missed => "calls or replies of the session may be missing from the capture",
            Self::ClockSetBack => "the clock of the capture was set back after the call before it",
            Self::TwoClocks => "the two directions of the capture are by two clocks",
        })
    }
}

impl core::error::Error for SlotWaitUnknown {}

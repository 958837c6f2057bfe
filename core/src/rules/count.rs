//! Credits and inline thresholds (RFC 8166 section 3.3, RFC 8167 section 4.1, RFC 8797).

use core::fmt;

use super::{Rule, RuleReport, SendRow, Sent, Severity};
use crate::error::Role;

pub(super) static RULES: [SendRow; 2] = [
    SendRow {
        rule: &Rule::new("credit-zero-grant", Severity::Error, "RFC 8166 3.3.1")
            .summary("a reply never grants 0 credits")
            .reason("The requester could not send anything any more, so it would never learn of new credits.")
            .correct("A responder grants at least 1, even in errors."),
        judge: credit_zero_grant,
    },
    SendRow {
        rule: &Rule::new("credit-zero-request", Severity::Hazard, "RFC 8166 3.3.1")
            .summary("a call does not request 0 credits")
            .reason("Some responders grant what is requested, and nobody may grant 0.")
            .correct("A requester requests credits for as many calls as it may want to have in flight. A responder answers the \
                      call, and grants at least 1."),
        judge: credit_zero_request,
    },
];

/// Calls in flight and the last grant.
pub static CREDIT_EXCEEDED: Rule = Rule::new("credit-exceeded", Severity::Error, "RFC 8166 3.3.1")
    .summary("the calls in flight never exceed the last grant")
    .reason("The responder has posted as many Receives as it granted; one more Send may end the connection.")
    .correct("A requester waits for a reply before it sends another call.");
/// Calls before the first grant.
pub static CREDIT_INITIAL: Rule = Rule::new("credit-initial", Severity::Error, "RFC 8166 3.3.3")
    .summary("only one call is sent before the first reply")
    .reason("Until the responder has said how many Receives it has posted, nobody knows.")
    .correct("A requester sends one call on a new connection, and waits for its reply.");
/// Credits of the reverse direction.
pub static REVERSE_CREDIT: Rule = Rule::new("reverse-credit", Severity::Error, "RFC 8167 4.1; RFC 8166 3.3.1, 3.3.3")
    .summary("calls in the reverse direction are limited by their own credits, not by those of the forward direction")
    .reason("The client posts Receives for replies and, separately, as many as it granted for reverse calls.")
    .correct(
        "A server sends one reverse call until the client has granted more in a reverse reply, and then no more \
              than that.",
    );
/// Length of a Send.
pub static INLINE_EXCEEDED: Rule = Rule::new("inline-exceeded", Severity::Error, "RFC 8166 3.3.2, 3.3.3; RFC 8797")
    .summary("a Send fits the receiver's inline threshold: 1024 octets, or what RFC 8797 private data agreed on")
    .reason("A longer Send does not fit the Receive that it meets, which ends the connection.")
    .correct("A sender reduces items, or sends a long message.");

fn credit_zero_grant(sent: &Sent<'_>, report: &mut RuleReport<'_>) {
    if sent.is_from(Role::Responder)
        && (sent.message().is_some() || sent.error.is_some())
        && sent.prefix.is_some_and(|prefix| prefix.credit == 0)
    {
        report.broken(8, format_args!("rdma_credit is 0 in a reply"));
    }
}

fn credit_zero_request(sent: &Sent<'_>, report: &mut RuleReport<'_>) {
    if sent.is_from(Role::Requester) && sent.message().is_some() && sent.prefix.is_some_and(|prefix| prefix.credit == 0)
    {
        report.broken(8, format_args!("rdma_credit is 0 in a call"));
    }
}

/// Judges the length of a Send in octets by the inline threshold of the Send's direction.
pub fn inline(length: usize, threshold: u32, report: &mut RuleReport<'_>) {
    if length as u64 > u64::from(threshold) {
        report.broken(0, format_args!("the Send has {length} octets, the inline threshold is {threshold}"));
    }
}

/// Calls in flight in one direction of a connection, and the granted credits.
///
/// ```
/// use rpcrdma::rules::{CreditFault, Credits};
///
/// let mut credits = Credits::new();
/// assert_eq!(credits.call(), Ok(()));
/// assert_eq!(credits.call(), Err(CreditFault::Initial { in_flight: 2 }));
/// credits.reply(32);
/// assert_eq!(credits.call(), Ok(()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credits {
    in_flight: u32,
    limit: Limit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    /// The beginning of the connection was not captured, or messages were missed.
    Unknown,
    /// The connection is new: one call.
    Initial,
    /// The last grant, and the one before: after a smaller grant, the requester may still know only the larger one.
    Granted { last: u32, before: u32 },
}

/// More calls than were granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CreditFault {
    /// Before the first reply.
    Initial {
        /// Number of calls in flight, including this one.
        in_flight: u32,
    },
    /// After it.
    Exceeded {
        /// Number of calls in flight, including this one.
        in_flight: u32,
        /// Number of calls granted.
        granted: u32,
    },
}

impl fmt::Display for CreditFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Initial { in_flight } => write!(f, "{in_flight} calls in flight before the first reply"),
            Self::Exceeded { in_flight, granted } => write!(f, "{in_flight} calls in flight of {granted} granted"),
        }
    }
}

impl core::error::Error for CreditFault {}

impl Default for Credits {
    fn default() -> Self {
        Self::new()
    }
}

impl Credits {
    /// Creates a new connection.
    #[must_use]
    pub const fn new() -> Self {
        Self { in_flight: 0, limit: Limit::Initial }
    }

    /// Creates a connection whose beginning was not seen.
    #[must_use]
    pub const fn unknown() -> Self {
        Self { in_flight: 0, limit: Limit::Unknown }
    }

    /// Returns true if a call can be judged now.
    #[must_use]
    pub const fn is_known(&self) -> bool {
        !matches!(self.limit, Limit::Unknown)
    }

    /// Counts a call.
    ///
    /// # Errors
    /// A [`CreditFault`] if the call should have waited.
    pub fn call(&mut self) -> Result<(), CreditFault> {
        self.in_flight = self.in_flight.saturating_add(1);
        let in_flight = self.in_flight;
        match self.limit {
            Limit::Initial if in_flight > 1 => Err(CreditFault::Initial { in_flight }),
            Limit::Granted { last, before } if in_flight > last.max(before) => {
                Err(CreditFault::Exceeded { in_flight, granted: last })
            }
            _ => Ok(()),
        }
    }

    /// Counts an answer that grants this many credits. 0, which is not allowed, counts as 1.
    ///
    /// A distant requester may still use a larger grant while a smaller grant is on the way, so a smaller grant binds
    /// only once no more calls than granted are in flight.
    pub fn reply(&mut self, granted: u32) {
        self.in_flight = self.in_flight.saturating_sub(1);
        let last = granted.max(1);
        let before = match self.limit {
            Limit::Granted { last: old, before } if self.in_flight > last => old.max(before),
            _ => last,
        };
        self.limit = Limit::Granted { last, before };
    }

    /// Messages in this direction were missed: nothing is judged until the next reply.
    pub const fn missed(&mut self) {
        *self = Self::unknown();
    }
}

impl CreditFault {
    /// Reports it.
    pub fn say(self, report: &mut RuleReport<'_>) {
        match self {
            Self::Initial { in_flight } => {
                report.broken(0, format_args!("{in_flight} calls in flight before the first reply"));
            }
            Self::Exceeded { in_flight, granted } => {
                report.broken(0, format_args!("{in_flight} calls in flight, {granted} granted"));
            }
        }
    }

    /// Returns the rule that is broken, in the forward direction.
    #[must_use]
    pub const fn rule(self) -> &'static Rule {
        match self {
            Self::Initial { .. } => &CREDIT_INITIAL,
            Self::Exceeded { .. } => &CREDIT_EXCEEDED,
        }
    }
}

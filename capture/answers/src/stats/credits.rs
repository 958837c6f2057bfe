//! Terms of connections: inline thresholds, and credits by the direction of the calls.

use core::fmt;

use rpcrdma::private_data::Agreement;
use rpcrdma_dissector::{Address, Message, MessageDirection};

/// Credits of a connection. The calls of the server have credits of their own (RFC 8167 section 4.1).
#[derive(Clone, Copy, Debug, Default)]
pub struct ConnectionCredits {
    /// The end that sent a call, other than a callback.
    caller: Option<Address>,
    /// Of calls from the client.
    pub(crate) forward: CreditCounts,
    /// Of calls from the server.
    pub(crate) reverse: CreditCounts,
}

impl ConnectionCredits {
    /// Takes a message, and returns its direction. An RDMA_ERROR of the end that calls answers no call: that is no reply.
    pub(crate) fn message(&mut self, message: &Message) -> Option<MessageDirection> {
        let is_of_caller = message.rpc.is_none() && self.caller == Some(message.from) && message.error().is_some();
        let direction = message.direction().filter(|_| !is_of_caller);
        if direction == Some(MessageDirection::Call) && message.rpc.is_some() && !message.is_reverse() {
            self.caller.get_or_insert(message.from);
        }
        if message.is_malformed().is_none() {
            let credits = if message.is_reverse() { &mut self.reverse } else { &mut self.forward };
            match (direction, message.credits()) {
                (Some(MessageDirection::Call), Some(credit)) => credits.requested.add_value(credit),
                (Some(MessageDirection::Reply), Some(credit)) => credits.granted.add_value(credit),
                _ => {}
            }
        }
        direction
    }
}

/// The largest Send in each direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Inline {
    /// Octets of a Send from the active end, the client.
    pub call_octets: u32,
    /// Octets of a Send to the active end.
    pub reply_octets: u32,
}

impl From<Agreement> for Inline {
    fn from(agreement: Agreement) -> Self {
        Self { call_octets: agreement.client_to_server, reply_octets: agreement.server_to_client }
    }
}

impl fmt::Display for Inline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "inline thresholds {} for calls, {} for replies", self.call_octets, self.reply_octets)
    }
}

/// The values of `rdma_credit` in version 1. In version 2, `permitted_messages` of either end has what they add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CreditCounts {
    /// In calls of version 1: what was requested.
    pub requested: Range,
    /// In replies of version 1: what was granted.
    pub granted: Range,
}

/// The smallest, the largest and the last value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Range {
    /// The least.
    pub min: Option<u32>,
    /// The greatest.
    pub max: Option<u32>,
    /// The last.
    pub last: Option<u32>,
}

impl CreditCounts {
    /// Adds the values of a later connection.
    pub(crate) fn add_later(&mut self, later: &Self) {
        self.requested.add_later(later.requested);
        self.granted.add_later(later.granted);
    }
}

impl Range {
    fn add_later(&mut self, later: Self) {
        [later.min, later.max, later.last].into_iter().flatten().for_each(|value| self.add_value(value));
    }

    pub(crate) fn add_value(&mut self, value: u32) {
        self.min = Some(self.min.map_or(value, |min| min.min(value)));
        self.max = self.max.max(Some(value));
        self.last = Some(value);
    }
}

/// The credits of both directions in words.
pub(crate) fn credits_of(forward: &CreditCounts, reverse: &CreditCounts) -> String {
    let text = |CreditCounts { requested, granted }: &CreditCounts| {
        format!("requested {}, granted {}", range(*requested), range(*granted))
    };
    let is_used = reverse.requested.max.or(reverse.granted.max).is_some();
    let of_reverse = is_used.then(|| format!("; of the reverse direction {}", text(reverse)));
    text(forward) + &of_reverse.unwrap_or_default()
}

fn range(range: Range) -> String {
    match (range.min, range.max, range.last) {
        (Some(min), Some(max), Some(last)) if min < max => format!("{min} to {max} (last {last})"),
        (Some(min), ..) => min.to_string(),
        _ => "none".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        let mut credits = Range::default();
        assert_eq!(range(credits), "none");
        credits.add_value(32);
        assert_eq!(range(credits), "32");
        credits.add_value(8);
        credits.add_value(16);
        assert_eq!(range(credits), "8 to 32 (last 16)");
    }
}

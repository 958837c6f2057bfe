//! A rule that was broken in a capture, and by whom.

use rpcrdma::rules::{Finding, Rule, Severity};

use crate::carrier::operation::Stamp;
use crate::link::Address;
use crate::rpc::message::Message;

/// End that broke a rule; another end may have sent the frame that shows this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Blame {
    /// The end that sent the frame.
    Sender,
    /// The other end: that end owed the frame something, or caused the failure of the frame.
    Receiver,
    /// One of the two; the capture does not show which.
    Either,
}

impl Blame {
    /// `sender`, `receiver` or `either`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
            Self::Either => "either",
        }
    }
}

/// A rule that was broken in a capture.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Found {
    /// The broken rule.
    pub rule: &'static Rule,
    /// Severity of the finding.
    pub severity: Severity,
    /// Frame that breaks the rule.
    pub stamp: Stamp,
    /// Number of the connection.
    pub connection: u32,
    /// Sender of that frame.
    pub from: Address,
    /// Receiver of that frame.
    pub to: Address,
    /// The end that broke the rule.
    pub blame: Blame,
    /// `rdma_xid`, if the finding is about an RPC.
    pub xid: Option<u32>,
    /// Octets from the start of the Send to the problem, if that is in a Send.
    pub offset: Option<usize>,
    /// Description of the problem, with the values.
    pub message: String,
}

impl Found {
    pub(super) fn new(about: About, finding: &Finding<'_>, offset: Option<usize>) -> Self {
        let About { stamp, connection, from, to, xid } = about;
        let Finding { rule, severity, message, .. } = *finding;
        let (blame, message) = (Blame::Sender, message.to_string());
        Self { rule, severity, stamp, connection, from, to, blame, xid, offset, message }
    }

    /// The address of the end that broke the rule; of both ends if either may have broken the rule.
    #[must_use]
    pub fn broken_by(&self) -> String {
        let Self { from, to, blame, .. } = self;
        match blame {
            Blame::Sender => from.to_string(),
            Blame::Receiver => to.to_string(),
            Blame::Either => format!("{from} or {to}"),
        }
    }

    pub(super) fn by(self, blame: Blame) -> Self {
        Self { blame, ..self }
    }
}

/// Subject of a finding.
#[derive(Clone, Copy, Debug)]
pub(super) struct About {
    pub(super) stamp: Stamp,
    pub(super) connection: u32,
    pub(super) from: Address,
    pub(super) to: Address,
    pub(super) xid: Option<u32>,
}

impl About {
    pub(super) fn message(message: &Message) -> Self {
        let Message { stamp, connection, from, to, .. } = *message;
        Self { stamp, connection, from, to, xid: message.rdma_xid() }
    }
}

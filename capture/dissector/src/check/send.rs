//! Errors of one Send, by itself.

use core::fmt;

use rpcrdma::error::Role;
use rpcrdma::rpc::MessageType;
use rpcrdma::rules::{self, Rule, Sent, Severity};

use crate::rpc::header::{Dialect, Reaction};
use crate::rpc::message::{Captured, Message};
use crate::rpc::properties::MessageDirection;

/// A rule that a message breaks, and the reaction that receivers owe.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SendFinding {
    /// The broken rule.
    pub rule: &'static Rule,
    /// Severity of the finding.
    pub severity: Severity,
    /// Octets from the start of the Send to what is wrong.
    pub offset: usize,
    /// Description of the problem, with the values.
    pub message: String,
    /// Reaction that is required of a Responder; `None` if nothing.
    pub responder: Option<Reaction>,
    /// Reaction that is required of a Requester; `None` if nothing.
    pub requester: Option<Reaction>,
}

impl SendFinding {
    fn new(finding: &rules::Finding<'_>, reaction: impl Fn(&Rule, Role) -> Option<Reaction>) -> Self {
        let rules::Finding { rule, severity, offset, message, .. } = *finding;
        let [responder, requester] = [Role::Responder, Role::Requester].map(|role| reaction(rule, role));
        Self { rule, severity, offset, message: message.to_string(), responder, requester }
    }

    /// Returns the reaction of each receiver, as a clause.
    pub fn reactions(&self) -> impl Iterator<Item = String> + '_ {
        let both = [(Role::Responder, self.responder), (Role::Requester, self.requester)];
        both.into_iter().filter_map(|(role, reaction)| {
            let reaction = reaction?;
            let discards = reaction.is_discard();
            Some(if discards { format!("a {role} discards it") } else { format!("a {role} answers with {reaction}") })
        })
    }
}

/// Returns the errors of a message, by the rules that need nothing else ([`rules::send`], [`rules::send_v2`]), in order
/// of offset. Octets that the capture cut off are not counted as missing.
#[must_use]
pub fn findings(message: &Message) -> Vec<SendFinding> {
    let is_readable = message.decode().is_ok() || message.error().is_some();
    let has_length = matches!(message.captured, Captured::Whole | Captured::Cut);
    let mut findings = Vec::new();
    if !has_length || !(is_readable || message.is_malformed().is_some()) {
        return findings;
    }
    match message.dialect {
        Dialect::Version1 => {
            let mut sent = Sent::new(message.readable(), sender(message));
            sent.length = message.length;
            let reaction = |rule: &Rule, role| sent.reaction(rule, role).map(Reaction::V1);
            rules::send(&sent, &mut |finding| findings.push(SendFinding::new(finding, reaction)));
        }
        Dialect::Version2(family) => {
            let mut sent = message.sent_v2(family);
            // A later part of a Payload stream looks like a stream of its own, except for the XID.
            sent.begins = sent.decoded.is_ok_and(|decoded| {
                MessageType::peek(decoded.payload).is_some_and(|(xid, _)| xid == decoded.header.xid())
            });
            let reaction = |rule: &Rule, role| sent.reaction(rule, role).map(Reaction::V2);
            rules::send_v2(&sent, &mut |finding| findings.push(SendFinding::new(finding, reaction)));
        }
        Dialect::Version2Unknown => {}
    }
    findings.sort_by_key(|finding| finding.offset);
    findings
}

/// Returns the sender of a message of version 1, in the direction of the RPC, as far as the message shows that.
fn sender(message: &Message) -> Option<Role> {
    let decoded = message.decode_v1();
    let kind = decoded.as_ref().and_then(|decoded| MessageType::peek(decoded.payload)).map(|(_, kind)| kind);
    match (message.rpc.as_ref().map(|rpc| rpc.direction), kind) {
        (Some(MessageDirection::Call), _) | (None, Some(MessageType::CALL)) => Some(Role::Requester),
        (Some(MessageDirection::Reply), _) | (None, Some(MessageType::REPLY)) => Some(Role::Responder),
        // It is an answer, whoever sent it.
        _ if message.error().is_some() => Some(Role::Responder),
        _ => None,
    }
}

/// One line, with the reaction of receivers.
impl fmt::Display for SendFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, offset, message, .. } = self;
        write!(f, "octet {offset}: {message} ({}, {})", rule.slug, rule.section)?;
        self.reactions().try_for_each(|reaction| write!(f, "; {reaction}"))
    }
}

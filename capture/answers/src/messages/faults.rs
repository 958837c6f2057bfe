//! Errors in a message, and the part of the message that the capture lacks.

use rpcrdma::error::{DecodeError, Role};
use rpcrdma_dissector::check::send::SendFinding;
use rpcrdma_dissector::{Captured, Dialect, Message, Reaction};
use serde::Serialize;

use crate::record::values::ShownObject;

/// Error in a header, the offset, and the required reaction of the receiver.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Malformed {
    /// The kind of the fault.
    kind: &'static str,
    /// Octets from the start of the Send to the error.
    offset_octets: usize,
    /// Required reaction of the receiver, by role.
    reaction: Reactions,
}

/// Required reaction of the receiver of a faulty message, by role.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Reactions {
    /// If the message came to the requester.
    requester: ShownObject<Reaction>,
    /// If the message came to the responder.
    responder: ShownObject<Reaction>,
}

/// A rule that a message breaks.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct SendFindingObject {
    /// The name of the rule: `check --explain` explains the rule.
    rule: &'static str,
    /// `error`, `warning` or `hazard`.
    severity: &'static str,
    /// Octets from the start of the Send to what is wrong.
    offset_octets: usize,
    /// The section that states the rule.
    section: &'static str,
    /// Description of the error, with the values.
    message: String,
    /// Required reaction of the receiver, by role; null if nothing is required of the role.
    reaction: Option<Reactions>,
}

impl SendFindingObject {
    pub(crate) fn new(finding: SendFinding) -> Self {
        let SendFinding { rule, severity, offset, message, responder, requester, .. } = finding;
        let reaction = requester.zip(responder);
        let reaction = reaction.map(|(requester, responder)| Reactions {
            requester: ShownObject(requester),
            responder: ShownObject(responder),
        });
        Self {
            rule: rule.slug,
            severity: severity.name(),
            offset_octets: offset,
            section: rule.section,
            message,
            reaction,
        }
    }
}

impl Malformed {
    pub(crate) const fn new(error: DecodeError, dialect: Dialect) -> Self {
        let reaction = Reactions {
            requester: ShownObject(Reaction::to(error, dialect, Role::Requester)),
            responder: ShownObject(Reaction::to(error, dialect, Role::Responder)),
        };
        Self { kind: error.kind.name(), offset_octets: error.offset, reaction }
    }
}

/// The part of a message that the capture lacks.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Incomplete {
    /// Octets of the message that the capture holds.
    captured_octets: usize,
    /// Missing part: `start`, `end`, `snaplen` (frames were cut), or `earlier` (messages with earlier parts of the
    /// Payload stream).
    missing: &'static str,
}

impl Incomplete {
    pub(crate) fn new(message: &Message) -> Option<Self> {
        let missing = match message.captured {
            Captured::Whole if message.earlier_missing().is_some() => "earlier",
            Captured::Whole => return None,
            Captured::Cut => "snaplen",
            Captured::Head => "end",
            Captured::Tail => "start",
        };
        Some(Self { captured_octets: message.octets.len(), missing })
    }
}

//! What is wrong with a message, and which part of it the capture lacks.

use rpcrdma::error::{DecodeError, Role};
use serde::Serialize;

use super::values::ShownObject;
use crate::check::send::Finding;
use crate::rpc::header::{Dialect, Reaction};
use crate::rpc::message::{Captured, Message};

/// What is wrong with a header, where, and what its receiver has to do.
#[derive(Serialize)]
pub(super) struct Malformed {
    kind: &'static str,
    offset: usize,
    reaction: Reactions,
}

#[derive(Serialize)]
struct Reactions {
    requester: ShownObject<Reaction>,
    responder: ShownObject<Reaction>,
}

/// A rule that a message breaks. If nothing is asked of its receivers, there is no reaction.
#[derive(Serialize)]
pub(super) struct SendFindingObject {
    rule: &'static str,
    severity: &'static str,
    offset: usize,
    section: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reaction: Option<Reactions>,
}

impl SendFindingObject {
    pub(super) fn new(finding: Finding) -> Self {
        let Finding { rule, severity, offset, message, responder, requester } = finding;
        let reaction = requester.zip(responder);
        let reaction = reaction.map(|(requester, responder)| Reactions {
            requester: ShownObject(requester),
            responder: ShownObject(responder),
        });
        Self { rule: rule.slug, severity: severity.name(), offset, section: rule.section, message, reaction }
    }
}

impl Malformed {
    pub(super) const fn new(error: DecodeError, dialect: Dialect) -> Self {
        let reaction = Reactions {
            requester: ShownObject(Reaction::to(error, dialect, Role::Requester)),
            responder: ShownObject(Reaction::to(error, dialect, Role::Responder)),
        };
        Self { kind: error.kind.name(), offset: error.offset, reaction }
    }
}

/// The part of a message that the capture lacks.
#[derive(Serialize)]
pub(super) struct Incomplete {
    captured: usize,
    missing: &'static str,
}

impl Incomplete {
    pub(super) fn new(message: &Message) -> Option<Self> {
        let missing = match message.captured {
            Captured::Whole if message.earlier_missing().is_some() => "earlier",
            Captured::Whole => return None,
            Captured::Cut => "snaplen",
            Captured::Head => "end",
            Captured::Tail => "start",
        };
        Some(Self { captured: message.octets.len(), missing })
    }
}

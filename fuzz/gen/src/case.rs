//! A message with a verdict.

use rpcrdma::rules::{self, Rule, Severity};

use crate::draft::{Draft, Format, Role};
use crate::message::Message;

/// Reaction of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The receiver takes the message as a good one.
    Accept,
    /// The receiver sends nothing back.
    Discard,
    /// An `RDMA_ERROR` with `ERR_CHUNK` goes back.
    ErrChunk,
    /// An error with the supported versions goes back.
    ErrVers,
    /// `RDMA2_ERR_BAD_XDR`.
    BadXdr,
    /// `RDMA2_ERR_BAD_PROPVAL`.
    BadPropval,
    /// `RDMA2_ERR_INVAL_HTYPE`.
    InvalHtype,
    /// `RDMA2_ERR_INVAL_CONT`.
    InvalCont,
}

impl Answer {
    /// The name in the specifications.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Discard => "discard",
            Self::ErrChunk => "ERR_CHUNK",
            Self::ErrVers => "ERR_VERS",
            Self::BadXdr => "RDMA2_ERR_BAD_XDR",
            Self::BadPropval => "RDMA2_ERR_BAD_PROPVAL",
            Self::InvalHtype => "RDMA2_ERR_INVAL_HTYPE",
            Self::InvalCont => "RDMA2_ERR_INVAL_CONT",
        }
    }

    /// The answer that a Responder owes to a message that breaks this rule; `None` if nothing is specified (RFC 8166
    /// section 4.5; version two -01 "Error Handling", -07 section 7).
    const fn to(rule: &str, format: Format) -> Option<Self> {
        let is_version_1 = matches!(format, Format::V1);
        Some(match (rule.as_bytes(), is_version_1) {
            (b"header-short" | b"done-sent" | b"error-from-requester", true) => Self::Discard,
            (b"version", _) => Self::ErrVers,
            (b"proc-unknown" | b"msgp-sent" | b"nomsg-empty" | b"msg-no-payload", true) => Self::ErrChunk,
            (b"list-flag" | b"list-truncated", true) => Self::ErrChunk,
            (b"list-flag" | b"list-truncated" | b"header-short", false) => Self::BadXdr,
            (b"v2-no-payload" | b"v2-external" | b"v2-read-order" | b"v2-xid-mismatch", _) => Self::BadXdr,
            (b"v2-property", _) => Self::BadPropval,
            (b"v2-htype" | b"v2-tpmore", _) => Self::InvalHtype,
            (b"v2-more-type" | b"v2-more-chunks", _) => Self::InvalCont,
            _ => return None,
        })
    }

    /// Reaction of a Requester where a Responder answers like this: a Requester of version 1 never answers.
    const fn of_requester(self) -> Self {
        match self {
            Self::Accept | Self::BadPropval | Self::InvalHtype => self,
            _ => Self::Discard,
        }
    }
}

/// A rule that a message breaks.
#[derive(Clone, Copy, Debug)]
pub struct Broken {
    /// The rule.
    pub rule: &'static Rule,
    /// Severity of breaking the rule in this way.
    pub severity: Severity,
    /// Octets from the start of the message to what is wrong.
    pub offset: usize,
    /// The answer that a Responder owes; `None` if that is not specified.
    pub answer: Option<Answer>,
}

/// A message with a verdict, which follows from the construction.
#[derive(Clone, Debug)]
pub struct Case {
    /// Change that was made, and the original message. No two named cases have the same name.
    pub name: String,
    /// The wire format.
    pub format: Format,
    /// Direction: sent as a Call or as a Reply.
    pub role: Role,
    /// The message.
    pub octets: Vec<u8>,
    /// The Call that a Reply answers, if the verdict is about both.
    pub call: Option<Vec<u8>>,
    /// Broken rules; empty for a valid message. The first is the intended one.
    pub broken: Vec<Broken>,
}

impl Case {
    /// A valid message, until something is said to be broken.
    #[must_use]
    pub fn new(name: String, format: Format, role: Role, octets: Vec<u8>) -> Self {
        Self { name, format, role, octets, call: None, broken: Vec::new() }
    }

    /// The same, which breaks a rule at this offset. No other name than that of a rule has any effect; a test compares.
    #[must_use]
    pub fn breaks(mut self, slug: &str, offset: usize) -> Self {
        let answer = Answer::to(slug, self.format);
        self.broken.extend(rules::find(slug).map(|rule| Broken { rule, severity: rule.severity, offset, answer }));
        self
    }

    /// The same, with the last rule broken in a way that is this bad.
    #[must_use]
    pub fn as_bad_as(mut self, severity: Severity) -> Self {
        self.broken.last_mut().into_iter().for_each(|broken| broken.severity = severity);
        self
    }

    /// The same, with another answer of a Responder.
    #[must_use]
    pub fn answered(mut self, answer: Answer) -> Self {
        self.broken.last_mut().into_iter().for_each(|broken| broken.answer = Some(answer));
        self
    }

    /// The same as the Reply to this Call.
    #[must_use]
    pub fn to_call(mut self, call: &Message) -> Self {
        self.call = Some(call.octets());
        self
    }

    /// Reaction due from a receiving Responder; `None` if that is not specified.
    #[must_use]
    pub fn responder(&self) -> Option<Answer> {
        match self.broken.as_slice() {
            [] => Some(Answer::Accept),
            broken => broken.iter().find_map(|broken| broken.answer),
        }
    }

    /// Reaction due from a receiving Requester; `None` if that is not specified.
    #[must_use]
    pub fn requester(&self) -> Option<Answer> {
        self.responder().map(Answer::of_requester)
    }
}

/// A valid message to make cases of.
#[derive(Clone, Debug)]
pub struct Base {
    /// Its name.
    pub name: String,
    /// The message.
    pub message: Message,
    /// The Call of a Reply.
    pub call: Option<Message>,
}

impl Base {
    /// The message without a change.
    #[must_use]
    pub fn valid(&self) -> Case {
        let case = self.with("valid", "", &self.message);
        match &self.call {
            Some(call) => case.to_call(call),
            None => case,
        }
    }

    /// A case with another message: `defect` is what was done, `which` where or how.
    pub(crate) fn with(&self, defect: &str, which: impl core::fmt::Display, message: &Message) -> Case {
        self.of_octets(defect, which, message.octets())
    }

    pub(crate) fn of_draft(&self, defect: &str, which: impl core::fmt::Display, draft: &Draft) -> Case {
        self.of_octets(defect, which, draft.octets())
    }

    pub(crate) fn of_octets(&self, defect: &str, which: impl core::fmt::Display, octets: Vec<u8>) -> Case {
        let which = which.to_string();
        let separator = if which.is_empty() { "" } else { "-" };
        let name = format!("{defect}{separator}{which}/{}", self.name);
        Case::new(name, self.message.format, self.message.role, octets)
    }
}

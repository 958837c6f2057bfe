//! The rules of RPC-over-RDMA by which a single Send, a Call with a Reply, or a count can be judged.
//!
//! Decoding accepts all octets that parse; these rules say if the octets are valid. A rule is a row of a table: name,
//! source, reason, behaviour of a correct peer, and the function that judges. [`send`] judges one Send by all version 1
//! rules that need nothing else, and [`exchange`] judges a Reply by the Call; [`Credits`] and [`inline`] judge counts
//! and lengths; [`send_v2`] is for version 2. Rules that need RDMA operations or NFS are in `rpcrdma-dissector`.
//!
//! ```
//! use rpcrdma::error::Role;
//! use rpcrdma::rules::{self, Sent};
//!
//! // RDMA_NOMSG, and no chunk that could hold the Payload stream.
//! let octets = [0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 32, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
//! let mut found = None;
//! rules::send(&Sent::new(&octets, Some(Role::Requester)), &mut |finding| {
//!     found = Some((finding.rule.slug, finding.offset));
//! });
//! assert_eq!(found, Some(("nomsg-empty", 16)));
//! ```

mod count;
mod framing;
mod location;
mod read_list;
mod v2;
mod write_list;

pub use count::{CREDIT_EXCEEDED, CREDIT_INITIAL, CreditFault, Credits, INLINE_EXCEEDED, REVERSE_CREDIT, inline};
pub use framing::{ERROR_FROM_REQUESTER, XID_MISMATCH};
pub use location::{Lists, SegmentLocation, segments};
pub use read_list::{READ_IN_REPLY, unreduced};
pub use v2::{
    SendV2Row, SentV2, V2_DIRECTION, V2_FIRST_MESSAGE, V2_INV_HANDLE, V2_RESPONSE_FLAG, V2_XID_MISMATCH, exchange_v2,
    long_direction_v2, send_v2, send_v2_rules,
};
pub use write_list::WRITE_EMPTY_RESPECTED;

use core::fmt;

use crate::error::{DecodeError, Reaction, Role};
use crate::prefix::Prefix;
use crate::v1::{ErrorBody, ErrorReply, Message};

/// Severity of a broken rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The specification says MUST.
    Error,
    /// The specification says SHOULD.
    Warning,
    /// Allowed, or not specified, but known to cause failures between implementations.
    Hazard,
}

impl Severity {
    /// Returns `error`, `warning` or `hazard`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Hazard => "hazard",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A rule, in words.
///
/// ```
/// use rpcrdma::rules::{Rule, Severity};
///
/// static MEMORY: Rule = Rule::new("memory-twice", Severity::Hazard, "site policy 3")
///     .summary("no two calls advertise the same memory")
///     .reason("One reply would overwrite the other.")
///     .correct("A requester registers memory for each call.");
/// assert_eq!(MEMORY.slug, "memory-twice");
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Rule {
    /// Name of the rule, which does not change.
    pub slug: &'static str,
    /// Severity of breaking the rule.
    pub severity: Severity,
    /// Source in the specification.
    pub section: &'static str,
    /// The rule itself; empty without the feature `explanations`.
    pub summary: &'static str,
    /// Reason for the rule; empty without the feature `explanations`.
    pub reason: &'static str,
    /// Behaviour of a correct peer; empty without the feature `explanations`.
    pub correct: &'static str,
    /// Reaction of a Responder to a Send of version 1 that breaks the rule (section 4.5); `None` if no reaction is
    /// specified.
    pub answer: Option<Reaction>,
}

impl Rule {
    /// Creates a rule without texts, whose breach needs no answer.
    #[must_use]
    pub const fn new(slug: &'static str, severity: Severity, section: &'static str) -> Self {
        Self { slug, severity, section, summary: "", reason: "", correct: "", answer: None }
    }

    /// Says what the rule is. The text is left out without the feature `explanations`.
    #[must_use]
    pub const fn summary(mut self, text: &'static str) -> Self {
        self.summary = explained(text);
        self
    }

    /// Says why the rule exists. The text is left out without the feature `explanations`.
    #[must_use]
    pub const fn reason(mut self, text: &'static str) -> Self {
        self.reason = explained(text);
        self
    }

    /// Says what a correct peer does. The text is left out without the feature `explanations`.
    #[must_use]
    pub const fn correct(mut self, text: &'static str) -> Self {
        self.correct = explained(text);
        self
    }

    /// Sets the reaction of a Responder to a Send of version 1 that breaks the rule.
    #[must_use]
    pub const fn answer(mut self, reaction: Reaction) -> Self {
        self.answer = Some(reaction);
        self
    }
}

/// Returns a text of a rule, which is empty without the feature `explanations`.
const fn explained(text: &'static str) -> &'static str {
    if cfg!(feature = "explanations") { text } else { "" }
}

/// A rule that was broken.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Finding<'a> {
    /// The rule.
    pub rule: &'static Rule,
    /// Severity: that of the rule, with a few exceptions.
    pub severity: Severity,
    /// Octets from the start of the Send to the invalid item.
    pub offset: usize,
    /// Description with the offending values; empty without the feature `explanations`.
    pub message: fmt::Arguments<'a>,
}

impl<'a> Finding<'a> {
    /// Creates a breach of `rule` at `offset`, with the severity of the rule.
    #[must_use]
    pub const fn new(rule: &'static Rule, offset: usize, message: fmt::Arguments<'a>) -> Self {
        Self { rule, severity: rule.severity, offset, message }
    }

    /// Replaces the severity.
    #[must_use]
    pub const fn with_severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }
}

impl fmt::Display for Finding<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, severity, offset, message } = self;
        write!(f, "{severity} {} (octet {offset}, {})", rule.slug, rule.section)?;
        if cfg!(feature = "explanations") { write!(f, ": {message}") } else { Ok(()) }
    }
}

/// A number of things whose plural ends in `s`.
#[derive(Clone, Copy, Debug)]
struct Counted<N>(N, &'static str);

impl<N: fmt::Display + PartialEq + From<u8>> fmt::Display for Counted<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(count, name) = self;
        let plural = if *count == N::from(1) { "" } else { "s" };
        write!(f, "{count} {name}{plural}")
    }
}

/// Receives the findings of one rule in one message: only the first few, because the next would be of the same kind.
pub struct RuleReport<'a> {
    rule: &'static Rule,
    take: &'a mut dyn FnMut(&Finding<'_>),
    said: u8,
}

impl<'a> RuleReport<'a> {
    /// Passes findings of `rule` to `take`.
    pub fn new(rule: &'static Rule, take: &'a mut dyn FnMut(&Finding<'_>)) -> Self {
        Self { rule, take, said: 0 }
    }

    /// Maximum number of findings.
    const MOST: u8 = 8;

    /// Returns true if no more findings are accepted.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.said >= Self::MOST
    }

    /// Reports that the rule is broken at `offset`.
    pub fn broken(&mut self, offset: usize, message: fmt::Arguments<'_>) {
        self.broken_as(self.rule.severity, offset, message);
    }

    /// Reports that the rule is broken with another severity than the rule's.
    pub fn broken_as(&mut self, severity: Severity, offset: usize, message: fmt::Arguments<'_>) {
        if !self.is_full() {
            self.said = self.said.saturating_add(1);
            let message = if cfg!(feature = "explanations") { message } else { format_args!("") };
            (self.take)(&Finding::new(self.rule, offset, message).with_severity(severity));
        }
    }
}

impl fmt::Debug for RuleReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuleReport").field("rule", &self.rule.slug).finish_non_exhaustive()
    }
}

/// A row of a table of rules: the rule, and the function that judges.
#[derive(Debug)]
pub struct Row<F> {
    /// The rule.
    pub rule: &'static Rule,
    /// The function that judges.
    pub judge: F,
}

/// Judges one Send.
pub type SendRow = Row<fn(&Sent<'_>, &mut RuleReport<'_>)>;
/// Judges a Reply by the Call.
pub type ExchangeRow = Row<fn(&Exchange<'_>, &mut RuleReport<'_>)>;

/// The body of an `RDMA_ERROR`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SentError {
    /// The error.
    pub body: ErrorBody,
    /// Number of octets after the body. A correct peer sends none.
    pub octets_after: usize,
}

/// A Send to judge. [`Self::new`] decodes the octets of a complete Send; a caller that knows more sets further fields.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Sent<'a> {
    /// Octets of the Send.
    pub octets: &'a [u8],
    /// The decoded Send, or the reason why decoding failed.
    pub decoded: Result<Message<'a>, DecodeError>,
    /// The error, if the Send is an `RDMA_ERROR` of any version.
    pub error: Option<SentError>,
    /// First four words of the Send.
    pub prefix: Option<Prefix>,
    /// Length on the wire in octets; fewer may be available.
    pub length: usize,
    /// Role of the sender; `None` if unknown.
    pub sender: Option<Role>,
    /// True if both ends use responder-provided Read chunks (draft-cel-nfsv4-reliable-reply).
    pub reliable_reply: bool,
}

impl<'a> Sent<'a> {
    /// Creates a Send that is complete.
    #[must_use]
    pub fn new(octets: &'a [u8], sender: Option<Role>) -> Self {
        let decoded = Message::decode(octets);
        let usual = matches!(&decoded, Ok(message) if message.header.chunks().is_some());
        let error = if usual { None } else { ErrorReply::decode(octets).ok() };
        Self {
            octets,
            decoded,
            error: error.map(|(reply, rest)| SentError { body: reply.error(), octets_after: rest.len() }),
            prefix: Prefix::decode(octets).ok(),
            length: octets.len(),
            sender,
            reliable_reply: false,
        }
    }

    /// Returns the reaction of the receiver in this role to a broken rule of [`send`]; `None` if RFC 8166 requires
    /// none.
    ///
    /// ```
    /// use rpcrdma::error::{Reaction, Role};
    /// use rpcrdma::rules::{self, Sent};
    ///
    /// // RDMA_MSG, and nothing behind it.
    /// let octets = [0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    /// let sent = Sent::new(&octets, None);
    /// rules::send(&sent, &mut |finding| {
    ///     assert_eq!(finding.rule.slug, "msg-no-payload");
    ///     assert_eq!(sent.reaction(finding.rule, Role::Responder), Some(Reaction::ErrChunk));
    ///     assert_eq!(sent.reaction(finding.rule, Role::Requester), Some(Reaction::Discard));
    /// });
    /// ```
    #[must_use]
    pub fn reaction(&self, rule: &Rule, role: Role) -> Option<Reaction> {
        match self.decoded {
            Err(error) if self.error.is_none() => Some(error.reaction(role)),
            _ => rule.answer.map(|answer| answer.for_role(role)),
        }
    }

    /// Returns the word at `offset`; 0 if there is none.
    fn word(&self, offset: usize) -> u32 {
        let word = self.octets.get(offset..).and_then(|rest| rest.first_chunk());
        word.map_or(0, |word| u32::from_be_bytes(*word))
    }

    fn is_from(&self, role: Role) -> bool {
        self.sender == Some(role)
    }

    /// Returns the message if the header has chunk lists.
    fn message(&self) -> Option<&Message<'a>> {
        self.decoded.as_ref().ok().filter(|message| message.header.chunks().is_some())
    }

    /// Octets after the header, on the wire.
    fn after_header(&self, message: &Message<'_>) -> usize {
        self.length.saturating_sub(message.header_length)
    }
}

/// The chunk lists of a Call and of the Reply.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Exchange<'a> {
    /// The Call's.
    pub call: Lists<'a>,
    /// The Reply's.
    pub reply: Lists<'a>,
}

impl<'a> Exchange<'a> {
    /// Creates the pair of a Call and the Reply. `None` if either has no chunk lists.
    #[must_use]
    pub fn new(call: impl Into<Lists<'a>>, reply: impl Into<Lists<'a>>) -> Self {
        Self { call: call.into(), reply: reply.into() }
    }
}

static SEND_TABLES: [&[SendRow]; 4] = [&framing::RULES, &count::RULES, &read_list::RULES, &write_list::SEND_RULES];

/// Judges one Send by every rule that needs nothing else.
pub fn send(sent: &Sent<'_>, take: &mut dyn FnMut(&Finding<'_>)) {
    for row in SEND_TABLES.into_iter().flatten() {
        (row.judge)(sent, &mut RuleReport::new(row.rule, take));
    }
}

/// Judges a Reply by the answered Call.
pub fn exchange(exchange: &Exchange<'_>, take: &mut dyn FnMut(&Finding<'_>)) {
    for row in &write_list::EXCHANGE_RULES {
        (row.judge)(exchange, &mut RuleReport::new(row.rule, take));
    }
}

/// Returns the rule with this name.
#[must_use]
pub fn find(slug: &str) -> Option<&'static Rule> {
    all_rules().find(|rule| rule.slug == slug)
}

/// Returns the rules of [`send`].
pub fn send_rules() -> impl Iterator<Item = &'static Rule> {
    SEND_TABLES.into_iter().flatten().map(|row| row.rule)
}

/// Returns the rules of [`exchange`].
pub fn exchange_rules() -> impl Iterator<Item = &'static Rule> {
    write_list::EXCHANGE_RULES.iter().map(|row| row.rule)
}

/// Returns the rules of [`Credits`] and [`inline`].
pub fn count_rules() -> impl Iterator<Item = &'static Rule> {
    [&CREDIT_EXCEEDED, &CREDIT_INITIAL, &REVERSE_CREDIT, &INLINE_EXCEEDED].into_iter()
}

/// Returns all rules of this module.
pub fn all_rules() -> impl Iterator<Item = &'static Rule> {
    send_rules().chain(exchange_rules()).chain(count_rules()).chain(send_v2_rules())
}

#[cfg(test)]
mod tests;

//! Judgement of a peer's reaction to a case.

use rpcrdma::error::Role;
use rpcrdma::rpc::{AcceptStatus, ReplyBody, RpcReply};
use rpcrdma::rules::{self, Exchange, Finding, Sent, SentV2, Severity};
use rpcrdma::v1;
use rpcrdma::v2::{ErrorCode, Family, MessageV2};
use rpcrdma_verbs::Version;

use super::case::{Outcome, Verdict};
use super::session::{is_reply, word};
use crate::raw::Arrival;

/// Faults besides the outcome.
#[derive(Default)]
pub(super) struct Faults {
    found: Vec<(Verdict, String)>,
    /// Rules that the case's own message breaks: an answer that echoes the message breaks the same rules.
    own: Vec<&'static str>,
}

impl Faults {
    pub(super) fn add_fault(&mut self, verdict: Verdict, what: impl Into<String>) {
        let what = what.into();
        if !self.found.iter().any(|(_, other)| *other == what) {
            self.found.push((verdict, what));
        }
    }

    fn add_finding(&mut self, finding: &Finding<'_>) {
        if self.own.contains(&finding.rule.slug) {
            return;
        }
        let verdict = if finding.severity == Severity::Error { Verdict::Violates } else { Verdict::Hazard };
        self.add_fault(verdict, finding.rule.slug);
    }

    /// Judges a Call in the reverse direction (RFC 8167 section 5.1).
    pub(super) fn judge_call(&mut self, call: &Arrival) {
        rules::send(&Sent::new(&call.octets, Some(Role::Requester)), &mut |finding| self.add_finding(finding));
        if call.invalidated.is_some() {
            self.add_fault(Verdict::Violates, "invalidate-foreign");
        }
    }

    /// Returns the faults in words.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.found.iter().map(|(_, what)| what.as_str())
    }

    /// Ignores the rules that this message of a requester breaks.
    fn except_those_of(&mut self, version: Version, message: &[u8]) {
        let mut own = |finding: &Finding<'_>| self.own.push(finding.rule.slug);
        match version.family() {
            None => rules::send(&Sent::new(message, Some(Role::Requester)), &mut own),
            Some(family) => rules::send_v2(&SentV2::new(family, message), &mut own),
        }
    }

    /// Returns the worst of their verdicts and `verdict`.
    pub(super) fn worst(&self, verdict: Verdict) -> Verdict {
        self.found.iter().map(|(verdict, _)| *verdict).fold(verdict, Verdict::max)
    }
}

/// The message sent, and the terms of the connection.
pub(super) struct Question<'a> {
    pub(super) version: Version,
    pub(super) xid: u32,
    pub(super) message: &'a [u8],
    /// Both ends have announced support for remote invalidation (RFC 8797 section 4.1).
    pub(super) may_invalidate: bool,
    /// True to distinguish `GARBAGE_ARGS` from other RPC Replies.
    pub(super) tells_garbage: bool,
}

impl Question<'_> {
    /// Returns the outcome that an answer means; faults of the answer are added to `faults`.
    pub(super) fn outcome(&self, answer: &Arrival, faults: &mut Faults) -> Outcome {
        faults.except_those_of(self.version, self.message);
        self.invalidation(answer, faults);
        let octets = &answer.octets;
        if word(octets, 0) != Some(self.xid) {
            return Outcome::Other;
        }
        if is_reply(self.version, octets) {
            self.reply(octets, faults);
            return if self.tells_garbage && self.is_garbage(octets) { Outcome::GarbageArgs } else { Outcome::Reply };
        }
        if word(octets, 3) != Some(4) {
            return Outcome::Other;
        }
        // Section 4.5 of RFC 8166: an error has the version of the message it answers.
        if word(self.message, 1).is_some_and(|version| word(octets, 1) != Some(version)) {
            faults.add_fault(Verdict::Violates, "error-echo");
        }
        self.error(octets, faults)
    }

    fn error(&self, octets: &[u8], faults: &mut Faults) -> Outcome {
        // Before the version is agreed on, and about another version, errors have the form of version 1.
        let is_2a = self.version == Version::Two(Family::A) && word(octets, 1) == Some(2);
        let code = word(octets, if is_2a { 5 } else { 4 });
        match (self.version, code) {
            (_, Some(1)) => {
                rules::send(&Sent::new(octets, Some(Role::Responder)), &mut |finding| faults.add_finding(finding));
                Outcome::ErrVers
            }
            (Version::One, Some(2)) => {
                rules::send(&Sent::new(octets, Some(Role::Responder)), &mut |finding| faults.add_finding(finding));
                Outcome::ErrChunk
            }
            (Version::Two(family), Some(code)) => {
                rules::send_v2(&SentV2::new(family, octets), &mut |finding| faults.add_finding(finding));
                Outcome::Error(ErrorCode(code))
            }
            _ => Outcome::Other,
        }
    }

    /// Returns true if the RPC Reply after the header reports that the arguments cannot be decoded.
    fn is_garbage(&self, octets: &[u8]) -> bool {
        let payload = match self.version.family() {
            None => v1::Message::decode(octets).ok().map(|message| message.payload),
            Some(family) => MessageV2::decode(family, octets).ok().map(|message| message.payload),
        };
        let reply = payload.and_then(|payload| RpcReply::decode(payload).ok()).map(|(reply, _)| reply.body);
        matches!(reply, Some(ReplyBody::Accepted { status: AcceptStatus::GARBAGE_ARGS, .. }))
    }

    /// Judges a reply alone and together with the call.
    fn reply(&self, octets: &[u8], faults: &mut Faults) {
        let mut take = |finding: &Finding<'_>| faults.add_finding(finding);
        match self.version.family() {
            None => {
                rules::send(&Sent::new(octets, Some(Role::Responder)), &mut take);
                if let (Ok(call), Ok(reply)) = (v1::Message::decode(self.message), v1::Message::decode(octets)) {
                    rules::exchange(&Exchange::new(&call, &reply), &mut take);
                }
            }
            Some(family) => {
                rules::send_v2(&SentV2::new(family, octets), &mut take);
                let decode = |octets| MessageV2::decode(family, octets).ok();
                if let (Some(call), Some(reply)) = (decode(self.message), decode(octets)) {
                    let [call, reply] = [call, reply].map(|message| message.header);
                    rules::exchange_v2(&Exchange::new(&call, &reply), &mut take);
                }
            }
        }
    }

    /// RFC 8797 sections 3.2 and 4.1.
    fn invalidation(&self, answer: &Arrival, faults: &mut Faults) {
        if answer.invalidated.is_some() && !self.may_invalidate {
            faults.add_fault(Verdict::Violates, "invalidate-foreign");
        }
    }
}

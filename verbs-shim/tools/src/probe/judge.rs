//! What the peer made of a case.

use rpcrdma::error::Role;
use rpcrdma::rules::{self, Exchange, Finding, Lists, Sent, SentV2, Severity};
use rpcrdma::v1;
use rpcrdma::v2::{ErrorCode, Family, MessageV2};
use rpcrdma_verbs::Version;

use super::case::{Outcome, Verdict};
use super::session::{is_reply, word};
use crate::raw::Arrival;

/// What else is wrong, besides the outcome.
#[derive(Default)]
pub(super) struct Faults(pub(super) Vec<(Verdict, String)>);

impl Faults {
    pub(super) fn add(&mut self, verdict: Verdict, what: impl Into<String>) {
        let what = what.into();
        if !self.0.iter().any(|(_, other)| *other == what) {
            self.0.push((verdict, what));
        }
    }

    fn take(&mut self, finding: &Finding<'_>) {
        let verdict = if finding.severity == Severity::Error { Verdict::Violates } else { Verdict::Hazard };
        self.add(verdict, finding.rule.slug);
    }

    /// The worst of them and of another verdict.
    pub(super) fn worst(&self, verdict: Verdict) -> Verdict {
        self.0.iter().map(|(verdict, _)| *verdict).fold(verdict, Verdict::max)
    }
}

/// What was sent, and on which terms.
pub(super) struct Question<'a> {
    pub(super) version: Version,
    pub(super) xid: u32,
    pub(super) message: &'a [u8],
    /// Both ends have announced that they support remote invalidation (RFC 8797 section 4.1).
    pub(super) may_invalidate: bool,
}

impl Question<'_> {
    /// The outcome that an answer means; whatever else it breaks is added to `faults`.
    pub(super) fn outcome(&self, answer: &Arrival, faults: &mut Faults) -> Outcome {
        self.invalidation(answer, faults);
        let octets = &answer.octets;
        if word(octets, 0) != Some(self.xid) {
            return Outcome::Other;
        }
        if is_reply(self.version, octets) {
            self.reply(octets, faults);
            return Outcome::Reply;
        }
        if word(octets, 3) != Some(4) {
            return Outcome::Other;
        }
        // Section 4.5 of RFC 8166: an error has the version of what it answers.
        if word(octets, 1) != word(self.message, 1) {
            faults.add(Verdict::Violates, "error-echo");
        }
        self.error(octets, faults)
    }

    fn error(&self, octets: &[u8], faults: &mut Faults) -> Outcome {
        // Before the version is agreed on, and about another version, errors have the form of version 1.
        let is_2a = self.version == Version::Two(Family::A) && word(octets, 1) == Some(2);
        let code = word(octets, if is_2a { 5 } else { 4 });
        match (self.version, code) {
            (_, Some(1)) => {
                rules::send(&Sent::new(octets, Some(Role::Responder)), &mut |finding| faults.take(finding));
                Outcome::ErrVers
            }
            (Version::One, Some(2)) => {
                rules::send(&Sent::new(octets, Some(Role::Responder)), &mut |finding| faults.take(finding));
                Outcome::ErrChunk
            }
            (Version::Two(family), Some(code)) => {
                rules::send_v2(&SentV2::new(family, octets), &mut |finding| faults.take(finding));
                Outcome::Error(ErrorCode(code))
            }
            _ => Outcome::Other,
        }
    }

    /// Judges a reply alone and by its call.
    fn reply(&self, octets: &[u8], faults: &mut Faults) {
        let mut take = |finding: &Finding<'_>| faults.take(finding);
        match self.version {
            Version::One => {
                rules::send(&Sent::new(octets, Some(Role::Responder)), &mut take);
                if let (Ok(call), Ok(reply)) = (v1::Message::decode(self.message), v1::Message::decode(octets)) {
                    rules::exchange(&Exchange { call: Lists::from(&call), reply: Lists::from(&reply) }, &mut take);
                }
            }
            Version::Two(family) => {
                rules::send_v2(&SentV2::new(family, octets), &mut take);
                let decode = |octets| MessageV2::decode(family, octets).ok();
                if let (Some(call), Some(reply)) = (decode(self.message), decode(octets)) {
                    let [call, reply] = [call, reply].map(|message| message.header);
                    rules::exchange_v2(&Exchange { call: Lists::from(&call), reply: Lists::from(&reply) }, &mut take);
                }
            }
        }
    }

    /// RFC 8797 sections 3.2 and 4.1.
    fn invalidation(&self, answer: &Arrival, faults: &mut Faults) {
        if answer.invalidated.is_some() && !self.may_invalidate {
            faults.add(Verdict::Violates, "invalidate-foreign");
        }
    }
}

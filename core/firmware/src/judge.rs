//! Judges each recorded Send as received by either role, and as the Reply to the previous Send.

use core::fmt::{self, Write};

use rpcrdma::endpoint::Version;
use rpcrdma::error::Role;
use rpcrdma::rules::{self, Exchange, Finding, Lists, Sent, SentV2, Severity};
use rpcrdma::v1::Message;
use rpcrdma::v2::{Family, HeaderV2};

use crate::decode::{answer, answer_v2};
use crate::digest::Digest;
use crate::recorded;

/// Reaction of a receiver as a number, and the code of an error that is answered.
#[derive(Clone, Copy)]
struct Due {
    reaction: u32,
    answer: u32,
}

/// For a rule that requires neither.
const NOT_SAID: Due = Due { reaction: 0, answer: 0 };

struct Judge {
    digest: Digest,
    /// Times that something was judged.
    judged: u32,
    findings: u32,
    /// Of what is being judged.
    found: u32,
}

/// Judges all recorded Sends, and prints a digest of the findings.
pub(crate) fn run(output: &mut dyn Write) -> fmt::Result {
    let mut judge = Judge { digest: Digest::new(), judged: 0, findings: 0, found: 0 };
    let mut before = None;
    for (version, send) in recorded::sends() {
        for receiver in [Role::Requester, Role::Responder] {
            match version.family() {
                None => judge.version_1(send, receiver),
                Some(family) => judge.version_2(family, send, receiver),
            }
        }
        let this = lists(version, send).map(|lists| (version, lists));
        if let (Some((earlier, call)), Some((_, reply))) = (before, this)
            && earlier == version
        {
            judge.exchange(version, &Exchange::new(call, reply));
        }
        before = this;
    }
    let Judge { digest, judged, findings, .. } = judge;
    writeln!(output, "rules: {judged} times judged, {findings} findings, {digest}")
}

fn lists(version: Version, send: &[u8]) -> Option<Lists<'_>> {
    match version.family() {
        None => Message::decode(send).ok().map(|message| Lists::from(&message)),
        Some(family) => HeaderV2::decode(family, send).ok().map(|(header, _)| Lists::from(&header)),
    }
}

impl Judge {
    fn version_1(&mut self, send: &[u8], receiver: Role) {
        let sender = if receiver == Role::Requester { Role::Responder } else { Role::Requester };
        let sent = Sent::new(send, Some(sender));
        rules::send(&sent, &mut |finding| {
            let reaction = sent.reaction(finding.rule, receiver);
            self.finding(finding, reaction.map_or(NOT_SAID, |reaction| reacting(answer(reaction))));
        });
        self.end_send();
    }

    fn version_2(&mut self, family: Family, send: &[u8], receiver: Role) {
        let sent = SentV2::new(family, send);
        rules::send_v2(&sent, &mut |finding| {
            let reaction = sent.reaction(finding.rule, receiver);
            self.finding(finding, reaction.map_or(NOT_SAID, |reaction| reacting(answer_v2(reaction))));
        });
        self.end_send();
    }

    fn exchange(&mut self, version: Version, exchange: &Exchange<'_>) {
        let mut take = |finding: &Finding<'_>| self.finding(finding, NOT_SAID);
        match version.family() {
            None => rules::exchange(exchange, &mut take),
            Some(_) => rules::exchange_v2(exchange, &mut take),
        }
        self.end_send();
    }

    fn finding(&mut self, finding: &Finding<'_>, due: Due) {
        let Due { reaction, answer } = due;
        let severity = match finding.severity {
            Severity::Error => 1,
            Severity::Warning => 2,
            Severity::Hazard => 3,
        };
        self.digest.octets(finding.rule.slug.as_bytes());
        self.digest.size(finding.offset);
        self.digest.words(&[severity, reaction, answer]);
        self.found += 1;
    }

    fn end_send(&mut self) {
        self.digest.word(self.found);
        self.judged += 1;
        self.findings += core::mem::take(&mut self.found);
    }
}

/// Returns the reaction and the answer of a receiver.
fn reacting(answer: u32) -> Due {
    Due { reaction: if answer == 0 { 1 } else { 2 }, answer }
}

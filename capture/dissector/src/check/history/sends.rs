//! Judges one Send among those of a connection: by the rules for Sends, credits, inline thresholds, and the answered
//! request.

use rpcrdma::error::Reaction;
use rpcrdma::prefix::Procedure;
use rpcrdma::rpc::MessageType;
use rpcrdma::rules::{self, Finding, INLINE_EXCEEDED, Rule, Sent, Severity};
use rpcrdma::v1;

use super::exchanges::{called_xid, has_reply_chunk, is_long_call, is_nomsg};
use super::messages::calls_in_version_1;
use super::open_requests::CreditedCall;
use super::requests::{self, Answers, Faulty, Request, Response, TakenAnswer};
use super::rules::{REPLY_UNEXPECTED, REVERSE_VERSION};
use super::state::History;
use crate::carrier::operation::Side;
use crate::check::book::Book;
use crate::check::finding::{About, Found};
use crate::rpc::header;
use crate::rpc::message::{Captured, Message};
use crate::rpc::properties::MessageDirection;

impl History {
    /// Judges one Send by itself. Returns the broken rule that says most about the answer, unless breaking that rule is
    /// only a hazard.
    pub(super) fn send(
        &mut self,
        message: &Message,
        sent: &Sent<'_>,
        about: About,
        book: &mut Book,
    ) -> Option<&'static Rule> {
        let mut first: Option<(&'static Rule, u8)> = None;
        let mut rests_on_order = None;
        let xid_of = xid_of(message, sent);
        rules::send(sent, &mut |finding| {
            if finding.rule.slug == "xid-mismatch" {
                match xid_of {
                    XidOf::Sender => {}
                    XidOf::Call => return,
                    XidOf::Unknown => return book.unknown(finding.rule),
                }
            }
            let mut finding = *finding;
            if finding.rule.slug == "version" && self.is_reverse_call(message) {
                finding.rule = &REVERSE_VERSION;
            }
            let weight = weight(&finding);
            if weight > first.map_or(0, |(_, weight)| weight) {
                first = Some((finding.rule, weight));
            }
            let found = Found::new(about, &finding, Some(finding.offset));
            // The message that it answers may wait, like a reply whose call is missing.
            if finding.rule.slug == "error-from-requester" {
                rests_on_order = Some(found);
            } else {
                book.keep(found);
            }
        });
        if let Some(found) = rests_on_order {
            self.proofs.wait(found, message.sender.other(), book);
        }
        first.map(|(rule, _)| rule)
    }

    /// Returns true if a message of another version would be a call by the server in version 1.
    pub(super) fn is_reverse_call(&self, message: &Message) -> bool {
        let is_other = message.prefix().is_some_and(|prefix| prefix.version != v1::VERSION);
        let calls = message.rpc.as_ref().is_some_and(|rpc| rpc.direction == MessageDirection::Call);
        is_other && self.spoke && self.client == Some(message.sender.other()) && (calls || calls_in_version_1(message))
    }

    /// Judges the length of a Send.
    pub(super) fn length(&self, message: &Message, about: About, book: &mut Book) {
        let is_known = matches!(message.captured, Captured::Whole | Captured::Cut);
        match self.agreement {
            Some(agreement) if is_known => {
                let threshold = match message.sender {
                    Side::Active => agreement.client_to_server,
                    Side::Passive => agreement.server_to_client,
                };
                book.judge(&INLINE_EXCEEDED, about, |report| rules::inline(message.length, threshold, report));
            }
            // A Send within the smallest threshold needs no agreement.
            _ if is_known && message.length <= 1024 => {}
            _ => book.unknown(&INLINE_EXCEEDED),
        }
    }

    /// A request was sent, with or without a fault: keeps the request until an answer comes, and counts the request.
    pub(super) fn request(
        &mut self,
        message: &Message,
        sent: &Sent<'_>,
        faulty: Option<&'static Rule>,
        about: About,
        book: &mut Book,
    ) {
        let Some(xid) = about.xid else { return };
        let is_other_version = sent.prefix.is_some_and(|prefix| prefix.version != v1::VERSION);
        let is_call = match sent.prefix.map(|prefix| prefix.procedure) {
            // Errors have this number in every version (section 7). But whoever does not know the version may take what cannot be
            // read for anything.
            Some(Procedure::RDMA_ERROR) if is_other_version && sent.error.is_none() => {
                return self.requests.note_unclear(message.sender, xid, &mut self.proofs, book);
            }
            Some(Procedure::RDMA_ERROR) => false,
            // In another version, this number may mean anything.
            Some(Procedure::RDMA_DONE) => is_other_version,
            _ => true,
        };
        let request = match faulty.map(|rule| Faulty { rule, about, octets: message.length }) {
            faulty if is_call => Request::new(faulty),
            Some(faulty) => Request::Faulty(faulty, header::Reaction::V1(Reaction::Discard)),
            None => return,
        };
        let is_readable = sent.decoded.as_ref().is_ok_and(|message| message.header.chunks().is_some());
        let call = CreditedCall {
            requester: message.sender,
            is_reverse: self.client == Some(message.sender.other()),
            sent: message.detail.as_ref().map(|detail| detail.progress.sent),
            about,
        };
        self.requests.add_credited(&call, xid, request, is_readable, &mut self.proofs, book);
    }

    /// Finds the request of a reply or an error, and judges an answer without a request.
    pub(super) fn answers(&mut self, message: &Message, sent: &Sent<'_>, about: About, book: &mut Book) -> Answers {
        let Some(xid) = about.xid else { return Answers::Nothing };
        let requester = message.sender.other();
        let is_known = message.detail.as_ref().is_some_and(|detail| detail.answers.is_some());
        let is_reply = sent.error.is_some() || is_reply(sent) || is_known && has_long_reply(sent);
        if !is_reply {
            self.requests.note_unclear(message.sender, xid, &mut self.proofs, book);
        }
        if !is_reply && !is_known {
            if sent.decoded.is_ok() {
                book.unknown(&REPLY_UNEXPECTED);
            }
            return Answers::Nothing;
        }
        let error = sent.error.map(|error| error.body);
        let said = Response::of_v1(error);
        let TakenAnswer { answers, frees_credit } = self.requests.of_end(requester).answer(xid, said);
        if is_known || frees_credit {
            self.requests.free_credit(requester, sent.prefix.map_or(1, |prefix| prefix.credit));
        } else if matches!(answers, Answers::Nothing) {
            self.requests.judge_unexpected(requester, error, about, &mut self.proofs, book);
        }
        let found = requests::judge(answers, said, about, 12, book);
        self.proofs.wait_if_whole(found, requester, book);
        answers
    }
}

/// Returns the weight of a broken rule in the choice of the answer to the Send.
pub(super) fn weight(finding: &Finding<'_>) -> u8 {
    match (finding.severity, finding.rule.answer) {
        (Severity::Error, Some(_)) => 3,
        (Severity::Error, None) => 2,
        (Severity::Warning, _) => 1,
        (Severity::Hazard, _) => 0,
    }
}

/// End that chose the XID of an RPC message.
#[derive(Clone, Copy, Debug)]
pub(super) enum XidOf {
    /// Its sender: Sender of the message: a call, or a reply whose XID differs from the call's.
    Sender,
    /// The sender of the call.
    Call,
    /// The Send is a reply, or may be one, and the call is not known.
    Unknown,
}

pub(super) fn xid_of(message: &Message, sent: &Sent<'_>) -> XidOf {
    let payload = sent.decoded.as_ref().map(|message| message.payload).unwrap_or_default();
    match called_xid(message) {
        Some(xid) if payload.starts_with(&xid.to_be_bytes()) => XidOf::Call,
        None if is_reply(sent) || message.hides_direction() => XidOf::Unknown,
        _ => XidOf::Sender,
    }
}

/// Returns true if the RPC message in a Send is a reply. A Send that cannot be read, or has no RPC message, may be a
/// call as well.
pub(super) fn is_reply(sent: &Sent<'_>) -> bool {
    let payload = sent.decoded.as_ref().map(|message| message.payload).unwrap_or_default();
    MessageType::peek(payload).is_some_and(|(_, kind)| kind == MessageType::REPLY)
}

/// Returns true if a Send has chunks that can hold a reply.
pub(super) fn has_long_reply(sent: &Sent<'_>) -> bool {
    let is_provided = sent.decoded.as_ref().is_ok_and(is_long_call);
    is_nomsg(sent.decoded.as_ref().ok()) && (is_provided || has_reply_chunk(sent))
}

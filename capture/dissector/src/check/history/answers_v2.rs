//! Requests of version 2 and their answers (version two draft -01, "Error Handling"; -07 section 7).
//!
//! The check is that a responder refuses an unreadable message with the correct error. Where the drafts leave the
//! answer open, the message is counted as not judged:
//!
//! - Something interrupts a sequence of messages: section 7.1.4 has all messages of "the failing message" dropped, and
//!   does not say which of the two XIDs that is.
//! - A message breaks several rules that ask for different errors, or one that not all drafts of the wire format have.
//! - A part of a Payload stream that is not the last is wrong by itself: the rest of the stream may be refused instead.
//! - Something interrupted a sequence before, on the same connection: an error may have ended that sequence at the
//!   responder before, although the capture has the error later. The responder is then in the middle of the other one.
//! - A Send of family B has 16 to 19 octets: a whole prefix, and too few octets for an answer by section 7.
//!
//! Messages of a sequence that was refused before need no answer, nor do errors and grants. A Send of a server may be a
//! reply, unless the header is readable.

use rpcrdma::prefix::Procedure;
use rpcrdma::rules::{Finding, Rule, SentV2, Severity};
use rpcrdma::v2::family_a::HeaderFlags;
use rpcrdma::v2::{ContinuationError, Family, ReactionV2};

use super::requests::{self, ANSWER, Faulty, Request, Response};
use super::state::History;
use crate::check::book::Book;
use crate::check::finding::About;
use crate::rpc::header::{AnyErrorBody, PayloadPlace, Reaction};
use crate::rpc::message::{Dropped, Message};
use crate::rpc::properties::MessageDirection;

/// The shortest Send that a receiver may answer.
const SHORTEST: usize = 20;
/// Offset of an error in a message: `rdma_htype`.
const HEADER_TYPE: usize = 12;

/// Answer that a responder owes to a message, by the rules that the message breaks.
#[derive(Clone, Copy, Debug)]
pub(super) enum Due {
    /// The answer to a correct message.
    Usual,
    /// This reaction.
    Reaction(&'static Rule, ReactionV2),
    /// The drafts do not name the answer, or only some of them do.
    Open(&'static Rule),
}

impl Due {
    /// With another rule that is broken, for which the drafts name this reaction.
    pub(super) fn and(self, finding: &Finding<'_>, reaction: Option<ReactionV2>) -> Self {
        let rule = finding.rule;
        // Then it is not known whether it is a request.
        let is_contradictory = matches!(rule.slug, "v2-direction" | "v2-response-flag");
        match (self, reaction) {
            (Self::Reaction(..) | Self::Usual, _) if is_contradictory => Self::Open(rule),
            (Self::Usual, Some(reaction)) if finding.severity == Severity::Error => Self::Reaction(rule, reaction),
            (Self::Reaction(_, before), Some(reaction)) if before != reaction => Self::Open(rule),
            (Self::Usual, Some(_)) => Self::Open(rule),
            (due, _) => due,
        }
    }
}

impl History {
    /// Takes a message as a request that waits for an answer, or as an answer.
    pub(super) fn request_or_answer(
        &mut self,
        message: &Message,
        sent: &SentV2<'_>,
        family: Family,
        due: Due,
        about: About,
        book: &mut Book,
    ) {
        let Some(xid) = about.xid else { return };
        let direction = message.detail.as_ref().map(|detail| detail.direction);
        let said = match message.error() {
            Some(AnyErrorBody::V2(error)) => Some(Response::RefusalV2(family, error)),
            Some(AnyErrorBody::V1(error)) => Some(Response::Refusal(error)),
            None => (direction == Some(MessageDirection::Reply)).then_some(Response::Reply),
        };
        if let Some(said) = said {
            let requester = message.sender.other();
            let answers = self.requests.of_end(requester).answer(xid, said).answers;
            let found = requests::judge(answers, said, about, HEADER_TYPE, book);
            self.proofs.wait_if_whole(found, requester, book);
        } else if self.asks(message, sent, family) {
            let is_call = direction == Some(MessageDirection::Call);
            let interrupted = self.interrupted.get_mut(message.sender);
            *interrupted |= message.dropped == Some(Dropped::Misplaced(ContinuationError::OtherMessage));
            let interrupted = *interrupted;
            let request = request(message, sent, is_call, due, about, book);
            let request = match request {
                Some(Request::Faulty(faulty, _)) if interrupted => {
                    book.unknown(&ANSWER);
                    Some(Request::Call(Some(faulty)))
                }
                request => request,
            };
            match request {
                Some(request) => {
                    self.requests.add_uncredited(message.sender, xid, request, sent.decoded.is_ok(), book);
                }
                // A server of version 1 refuses whatever has version 2, also transport properties.
                None if sent.is_first => self.requests.of_end(message.sender).add_unclear(xid),
                None => {}
            }
        }
    }

    /// Takes a message that cannot be read: the message may be answered under its XID.
    pub(super) fn unread(&mut self, message: &Message, about: About, book: &mut Book) {
        if let Some(xid) = about.xid {
            self.requests.add_uncredited(message.sender, xid, Request::Call(None), false, book);
        }
    }

    /// Returns true if a message that is no error is a request.
    fn asks(&self, message: &Message, sent: &SentV2<'_>, family: Family) -> bool {
        match &sent.decoded {
            Ok(decoded) => !decoded.header.is_grant() && decoded.header.is_response() != Some(true),
            Err(_) => self.client == Some(message.sender) && !seems_to_answer(sent, family),
        }
    }
}

/// Returns true if an unreadable message seems to be an error or a reply.
fn seems_to_answer(sent: &SentV2<'_>, family: Family) -> bool {
    let Some(prefix) = sent.prefix else { return false };
    let is_error = prefix.procedure == Procedure::RDMA_ERROR;
    let flags =
        || sent.octets.get(16..20).and_then(|octets| octets.first_chunk()).map(|word| u32::from_be_bytes(*word));
    is_error
        || match family {
            Family::A => {
                flags().is_some_and(|flags| HeaderFlags::from_bits_retain(flags).contains(HeaderFlags::RESPONSE))
            }
            Family::B => matches!(prefix.procedure.0, 11..=13),
        }
}

/// Returns a message as a request that waits for an answer; `None` for messages without an answer, and for answers that
/// are not judged.
fn request(
    message: &Message,
    sent: &SentV2<'_>,
    is_call: bool,
    due: Due,
    about: About,
    book: &mut Book,
) -> Option<Request> {
    let faulty = |rule| Faulty { rule, about, octets: message.length };
    let is_part = || message.decode().is_ok_and(|decoded| decoded.header.place() == PayloadPlace::Part);
    match (message.dropped, due) {
        (Some(Dropped::OfDroppedSequence | Dropped::ErrorWithFlags), _) => None,
        (Some(Dropped::Misplaced(ContinuationError::OtherMessage | ContinuationError::PropertiesInterrupted)), _) => {
            book.unknown(&ANSWER);
            None
        }
        (_, Due::Usual) => is_call.then_some(Request::Call(None)),
        (dropped, Due::Reaction(rule, reaction)) => {
            let is_too_short = (16..SHORTEST).contains(&sent.length) && reaction != ReactionV2::Discard;
            if is_too_short || dropped.is_none() && is_part() {
                book.unknown(&ANSWER);
                return None;
            }
            Some(Request::Faulty(faulty(rule), Reaction::V2(reaction)))
        }
        (_, Due::Open(rule)) => {
            book.unknown(&ANSWER);
            Some(Request::Call(Some(faulty(rule))))
        }
    }
}

#[cfg(test)]
mod tests {
    use rpcrdma::rules;
    use rpcrdma::v2::ErrorCode;

    use super::*;

    const XDR: Option<ReactionV2> = Some(ReactionV2::Answer(ErrorCode::BAD_XDR));
    const TYPE: Option<ReactionV2> = Some(ReactionV2::Answer(ErrorCode::INVAL_HTYPE));

    /// The answer that is due by these findings, as a text: by the rule that is named.
    fn due(findings: &[(&'static str, Severity, Option<ReactionV2>)]) -> String {
        let due = findings.iter().fold(Due::Usual, |due, (slug, severity, reaction)| {
            let (rule, severity) = (rules::find(slug).unwrap(), *severity);
            due.and(&Finding::new(rule, 0, format_args!("")).with_severity(severity), *reaction)
        });
        match due {
            Due::Usual => "usual".into(),
            Due::Reaction(rule, reaction) => format!("{} {reaction:?}", rule.slug),
            Due::Open(rule) => format!("{} open", rule.slug),
        }
    }

    #[test]
    fn an_answer_is_due_if_all_broken_rules_agree() {
        use Severity::{Error, Warning};
        let bad_xdr = format!("list-flag {:?}", XDR.unwrap());
        for (findings, expected) in [
            (&[][..], "usual"),
            (&[("list-flag", Error, None)], "usual"),
            (&[("list-flag", Error, XDR)], bad_xdr.as_str()),
            (&[("list-flag", Warning, XDR)], "list-flag open"),
            (&[("list-flag", Error, XDR), ("list-truncated", Error, XDR)], &bad_xdr),
            (&[("list-flag", Error, XDR), ("list-truncated", Error, None)], &bad_xdr),
            (&[("list-flag", Error, XDR), ("proc-unknown", Error, TYPE)], "proc-unknown open"),
            (&[("list-flag", Warning, XDR), ("proc-unknown", Error, TYPE)], "list-flag open"),
            // It is not known whether the message is a request.
            (&[("v2-direction", Error, None)], "v2-direction open"),
            (&[("list-flag", Error, XDR), ("v2-response-flag", Error, XDR)], "v2-response-flag open"),
        ] {
            assert_eq!(due(findings), expected, "{findings:?}");
        }
    }

    /// Headers that end early.
    #[test]
    fn an_unreadable_error_or_reply_seems_to_answer() {
        for (family, words, expected) in [
            (Family::A, &[9, 2, 1, 0, 0, 0, 1][..], false),
            (Family::A, &[9, 2, 1, 0, 1, 0, 1], true),
            (Family::A, &[9, 2, 1, 0], false),
            (Family::A, &[9, 2, 1, 4, 0], true),
            (Family::B, &[9, 2, 10, 10, 0, 1], false),
            (Family::B, &[9, 2, 10, 11], true),
            (Family::B, &[9, 2, 10, 13, 1], true),
            (Family::B, &[9, 2, 10, 14], false),
            (Family::B, &[9, 2, 10, 4], true),
            (Family::B, &[9, 2, 10], false),
        ] {
            let octets: Vec<u8> = words.iter().flat_map(|word: &u32| word.to_be_bytes()).collect();
            assert_eq!(seems_to_answer(&SentV2::new(family, &octets), family), expected, "{family:?} {words:?}");
        }
    }
}

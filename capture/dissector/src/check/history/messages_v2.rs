//! Messages of version 2.
//!
//! Messages are judged by the rules of version 2, by the rules about memory, and by those rules of version 1 that the
//! drafts keep and that need no more than the header (`header-short`, `list-flag`, `list-truncated`, `segment-wraps`,
//! `segment-empty`, `error-range`; in family A also `read-in-reply`, `read-position-zero-in-msg`, `reply-chunk-in-msg`)
//! or the chunk lists of call and reply (`write-list-echo`, `write-length`, `write-fill-order`). The other rules judge
//! version 1 only.
//!
//! The statement of `Continuation` about earlier messages has a separate rule. The XID and the direction of a Payload
//! stream are judged only if the stream is known to begin in this message; for a stream in a chunk, when the answer
//! comes. The responder's answer to an error is judged by `answer` (`answers_v2.rs`). After a message of version 1 was
//! read, one of version 2 breaks `version`. A client that begins with version 2 and goes on with version 1 breaks
//! nothing if the server refused version 2; once both ends have sent messages of version 2, one of version 1 breaks
//! `v2-version-changed`.

use rpcrdma::error::Role;
use rpcrdma::rules::{
    self, Exchange, Finding, SentV2, V2_DIRECTION, V2_FIRST_MESSAGE, V2_INV_HANDLE, V2_RESPONSE_FLAG, V2_XID_MISMATCH,
};
use rpcrdma::v2::{self, ContinuationError, ErrorBodyV2, Family};

use super::answers_v2::Due;
use super::exchanges::judge_long;
use super::requests::{ANSWER, Faulty, Request, Response};
use super::rules::V2_VERSION_CHANGED;
use super::state::History;
use crate::carrier::operation::Side;
use crate::check::book::{Book, Group};
use crate::check::finding::{About, Found};
use crate::rpc::header::{AnyErrorBody, Decoded, Header, PayloadPlace};
use crate::rpc::message::{Beginning, Captured, Dropped, Message};
use crate::rpc::properties::MessageDirection;

impl History {
    /// Judges a message of version 2, `family` if that is known. `began` is true if the sender had sent anything
    /// before.
    pub(super) fn version_2(
        &mut self,
        message: &Message,
        family: Option<Family>,
        began: bool,
        about: About,
        book: &mut Book,
    ) {
        self.version_2.spoken = true;
        let is_first = self.is_first(message.sender, began, book);
        let goes_on = self.version_2.goes_on.get_mut(message.sender);
        let Some(family) = family else {
            *goes_on = true;
            self.proofs.note_readable(message.sender, false);
            return book.unknown_group(Group::SendV2);
        };
        let mut sent = message.sent_v2(family);
        sent.begins = !*goes_on && message.dropped.is_none();
        sent.offered = offered(message);
        *goes_on = still_goes_on(message, *goes_on);
        let is_readable = sent.decoded.is_ok() || message.error().is_some();
        if sent.decoded.is_ok() && !refuses_version(message) {
            *self.version_2.speaks.get_mut(message.sender) = true;
            self.version_2.family = Some(family);
        }
        let is_malformed = message.is_malformed().is_some() && !self.proofs.is_suspect(message.sender);
        self.proofs.note_readable(message.sender, is_readable);
        if !matches!(message.captured, Captured::Whole | Captured::Cut) || !(is_readable || is_malformed) {
            self.unread(message, about, book);
            return book.unknown_group(Group::SendV2);
        }
        sent.is_first = is_first;
        let mut interrupting = Vec::new();
        let due = judge(message, &sent, about, book, &mut interrupting);
        // The interrupted message may have been ended by an error that the capture lacks.
        interrupting.into_iter().for_each(|found| self.proofs.wait(found, message.sender.other(), book));
        self.request_or_answer(message, &sent, family, due, about, book);
    }

    /// Judges a message of version 1 on a connection that both ends use in version 2. The receiver does not carry out
    /// the message, which takes no credit.
    pub(super) fn changed_version(&mut self, message: &Message, about: About, book: &mut Book) {
        const VERSION: usize = 4;
        let rule = &V2_VERSION_CHANGED;
        // The connection may have ended in what was missed, and another one may use its queue pairs.
        if !self.proofs.misses_nothing() {
            return book.unknown(rule);
        }
        let message_says = format_args!("rdma_vers is 1, and both ends have sent messages of version 2");
        let finding = Finding::new(rule, VERSION, message_says);
        book.add_finding(about, &finding, Some(VERSION));
        let Some(xid) = about.xid else { return };
        if message.direction() == Some(MessageDirection::Reply) {
            self.requests.of_end(message.sender.other()).answer(xid, Response::Reply);
        } else {
            // RDMA2_ERR_VERS_MISMATCH came with draft -05, and the wire format does not tell the draft.
            book.unknown(&ANSWER);
            let faulty = Faulty { rule, about, octets: message.length };
            self.requests.add_uncredited(message.sender, xid, Request::Call(Some(faulty)), false, book);
        }
    }

    /// Returns true if a message is the first that the client sent.
    fn is_first(&self, sender: Side, began: bool, book: &mut Book) -> bool {
        let is_known = self.proofs.has_all_of(sender);
        if !is_known && !began && self.client.is_none_or(|client| client == sender) {
            book.unknown(&V2_FIRST_MESSAGE);
        }
        is_known && !began && self.client == Some(sender)
    }
}

/// Returns true if a message is an error that refuses the version: the sender of the error need not use version 2.
fn refuses_version(message: &Message) -> bool {
    matches!(message.error(), Some(AnyErrorBody::V2(ErrorBodyV2::Vers { .. })))
}

/// Returns true if the sender's Payload stream goes on after a message; `goes_on` is true if the stream was incomplete
/// before the message.
fn still_goes_on(message: &Message, goes_on: bool) -> bool {
    match message.decode().map(|decoded| decoded.header.place()) {
        // A message that is dropped ends nothing that was begun.
        Ok(_) if message.dropped.is_some() => goes_on,
        Ok(PayloadPlace::Inline) => false,
        Ok(PayloadPlace::Chunk | PayloadPlace::Nowhere) => goes_on,
        Ok(PayloadPlace::Part) | Err(_) => true,
    }
}

/// Judges a message that is captured well enough: alone, and against the answered call. Returns the answer that is due.
/// Interruptions of a sequence of parts go to `interrupting`.
fn judge(message: &Message, sent: &SentV2<'_>, about: About, book: &mut Book, interrupting: &mut Vec<Found>) -> Due {
    let mut due = Due::Usual;
    let interrupts = matches!(message.dropped, Some(Dropped::Misplaced(ContinuationError::OtherMessage)));
    rules::send_v2(sent, &mut |finding: &Finding<'_>| {
        due = due.and(finding, sent.reaction(finding.rule, Role::Responder));
        if interrupts && matches!(finding.rule.slug, "v2-more-sequence" | "v2-continuation") {
            interrupting.push(Found::new(about, finding, Some(finding.offset)));
        } else {
            book.add_finding(about, finding, Some(finding.offset));
        }
    });
    if let (Some(Header::V2(call)), Ok(reply)) = (called(message), &sent.decoded)
        && call.chunks().is_some()
        && carries_reply(sent)
    {
        let exchange = Exchange::new(&call, &reply.header);
        rules::exchange_v2(&exchange, &mut |finding| book.add_finding(about, finding, Some(finding.offset)));
    }
    if let Some(detail) = &message.detail
        && let Some(answers) = &detail.answers
    {
        judge_beginning(&answers.call, answers.long, book);
        judge_beginning(message, detail.long, book);
    }
    if message.invalidates.is_some() && sent.offered.is_none() && carries_reply(sent) {
        book.unknown(&V2_INV_HANDLE);
    }
    due
}

/// The header of the call that a message answers.
fn called(message: &Message) -> Option<Header<'_>> {
    let call = &message.detail.as_ref()?.answers.as_ref()?.call;
    Some(call.decode().ok()?.header)
}

/// `rdma_inv_handle` of the call that a message answers.
fn offered(message: &Message) -> Option<u32> {
    match called(message)? {
        Header::V2(header) => Some(header.inv_handle().unwrap_or_default()),
        Header::V1(_) => None,
    }
}

/// Judges a header by the beginning of the RPC message in a chunk.
fn judge_beginning(message: &Message, long: Option<Beginning>, book: &mut Book) {
    let Ok(Decoded { header: header @ Header::V2(of_v2), .. }) = message.decode() else { return };
    if header.place() != PayloadPlace::Chunk {
        return;
    }
    let about = About::message(message);
    judge_long(&V2_XID_MISMATCH, true, long.map(|long| long.xid), about, book);
    match (long.and_then(|long| long.kind), of_v2.family()) {
        (Some(kind), _) => {
            rules::long_direction_v2(&of_v2, kind, &mut |finding| {
                book.add_finding(about, finding, Some(finding.offset))
            });
        }
        (None, Family::A) => book.unknown(&V2_RESPONSE_FLAG),
        (None, Family::B) => book.unknown(&V2_DIRECTION),
    }
}

fn carries_reply(sent: &SentV2<'_>) -> bool {
    let header = sent.decoded.as_ref().ok().map(|message: &v2::MessageV2<'_>| message.header);
    header
        .is_some_and(|header| header.is_response() == Some(true) && (header.has_payload() || header.chunks().is_some()))
}

//! Judges calls and replies by their content, and replies by their calls.

use rpcrdma::error::Role;
use rpcrdma::rules::Rule;
use rpcrdma::rules::{self, Exchange, Finding, Sent, XID_MISMATCH};
use rpcrdma::v1::{self, Body};

use super::requests::Answers;
use super::state::History;
use crate::check::book::{Book, Group};
use crate::check::empty_chunks::EmptyChunks;
use crate::check::exchange::{self, INVALIDATE_FOREIGN, Subject};
use crate::check::finding::About;
use crate::rpc::message::{Answered, Captured, Message};

impl History {
    /// Judges a call or a reply by the content, and a reply by the call. Returns the first broken rule of severity
    /// Error.
    pub(super) fn rpc(
        &mut self,
        message: &Message,
        sent: &Sent<'_>,
        role: Role,
        answers: Answers,
        about: About,
        book: &mut Book,
    ) -> Option<&'static Rule> {
        let detail = message.detail.as_deref();
        let is_clear = !matches!(answers, Answers::Copy | Answers::Unclear);
        let is_alone =
            matches!(answers, Answers::Call(None) | Answers::Copy | Answers::Nothing) && self.proofs.is_whole();
        let answers = detail.and_then(|detail| detail.answers.as_ref()).filter(|_| is_clear);
        let call = answers.map(|answers| &answers.call);
        let called = call.filter(|call| call.captured == Captured::Whole).and_then(Message::decode_v1);
        if role == Role::Responder {
            self.exchange(sent, call, called, is_clear, about, book);
        }
        if let Some(answers) = answers {
            long_xids(message, sent, answers, called, about, book);
        }
        let mut subject = Subject {
            message,
            decoded: sent.decoded.ok(),
            role,
            call,
            called,
            arguments: answers.and_then(|answers| answers.walked.as_ref()),
            moved: answers.and_then(|answers| answers.moved.as_deref()),
            walked: detail.and_then(|detail| detail.walked.as_ref()),
            may_invalidate: self.invalidation.filter(|_| !self.told),
            faulty: !is_alone,
        };
        if let Some(Answered { call, walked, walked_late: true, .. }) = answers {
            let walked = walked.as_ref();
            let long = Subject { message: call, decoded: called, role: Role::Requester, call: None, walked, ..subject };
            subject.faulty |= exchange::judge_late(&long, About::message(call), book);
        }
        let empty_chunks = EmptyChunks::find(&subject);
        empty_chunks.judge(&subject, about, book);
        if let EmptyChunks::PassedOver(_, walked) = &empty_chunks {
            subject.walked = Some(walked);
        }
        let first = exchange::judge(&subject, about, book);
        if role == Role::Responder && message.invalidates.is_some() {
            self.tell_invalidation(book);
        }
        first
    }

    /// Judges a reply by the chunk lists of the call. `is_clear` is true if the answered call is known.
    fn exchange(
        &self,
        sent: &Sent<'_>,
        call: Option<&Message>,
        called: Option<v1::Message<'_>>,
        is_clear: bool,
        about: About,
        book: &mut Book,
    ) {
        let is_cut = |call: &Message| call.captured != Captured::Whole;
        let is_missed = call.map_or(!(is_clear && self.proofs.is_whole()), is_cut);
        match (&sent.decoded, &called) {
            (Ok(reply), Some(call)) if has_chunks(reply) && has_chunks(call) => {
                let exchange = Exchange::new(call, reply);
                rules::exchange(&exchange, &mut |finding| book.add_finding(about, finding, Some(finding.offset)));
            }
            (Ok(reply), None) if has_chunks(reply) && is_missed => book.unknown_group(Group::Exchange),
            _ => {}
        }
    }

    /// A responder has used remote invalidation. Reports once per connection that remote invalidation was not agreed,
    /// or that the agreement is not known.
    pub(super) fn tell_invalidation(&mut self, book: &mut Book) {
        if !self.told && self.invalidation.is_none() {
            book.unknown(&INVALIDATE_FOREIGN);
        }
        self.told = true;
    }
}

pub(super) fn has_chunks(message: &v1::Message<'_>) -> bool {
    matches!(message.header.body, Body::Msg(_) | Body::Nomsg(_))
}

/// Judges the XIDs of a call and a reply that were in chunks.
fn long_xids(
    message: &Message,
    sent: &Sent<'_>,
    answers: &Answered,
    called: Option<v1::Message<'_>>,
    about: About,
    book: &mut Book,
) {
    let is_long = is_nomsg(called.as_ref()) && called.as_ref().is_some_and(is_long_call);
    judge_long(&XID_MISMATCH, is_long, answers.long.map(|long| long.xid), About::message(&answers.call), book);
    let found = message.detail.as_deref().and_then(|detail| detail.long).map(|long| long.xid);
    let called = called_xid(message);
    let long_reply = is_nomsg(sent.decoded.as_ref().ok()) && has_reply_chunk(sent);
    let repeats_xid = found.is_some() && found == called;
    judge_long(&XID_MISMATCH, long_reply && !repeats_xid, found.and(called).and(found), about, book);
}

/// Judges the XID of an RPC message that was in a chunk.
pub(super) fn judge_long(rule: &'static Rule, is_long: bool, found: Option<u32>, about: About, book: &mut Book) {
    let (true, Some(xid)) = (is_long, about.xid) else { return };
    match found {
        None => book.unknown(rule),
        Some(found) if found != xid => {
            let message =
                format_args!("the RPC message in the chunk has the XID {found:#010x}, rdma_xid is {xid:#010x}");
            book.add_finding(about, &Finding::new(rule, 0, message), Some(0));
        }
        Some(_) => {}
    }
}

/// The XID of the RPC message that a reply answers. If that XID differs from the one in the header, the reply has both
/// too; whether there should be a reply is the concern of `ANSWER`.
pub(super) fn called_xid(message: &Message) -> Option<u32> {
    let answers = message.detail.as_ref()?.answers.as_ref()?;
    let payload = answers.call.decode_v1()?.payload;
    payload.first_chunk().map(|xid| u32::from_be_bytes(*xid)).or(answers.long.map(|long| long.xid))
}

pub(super) fn is_nomsg(message: Option<&v1::Message<'_>>) -> bool {
    message.is_some_and(|message| matches!(message.header.body, Body::Nomsg(_)))
}

pub(super) fn is_long_call(call: &v1::Message<'_>) -> bool {
    call.header.chunks().is_some_and(|chunks| chunks.reads.iter().any(|read| read.position == 0))
}

pub(super) fn has_reply_chunk(sent: &Sent<'_>) -> bool {
    let chunks = sent.decoded.as_ref().ok().and_then(|message| message.header.chunks());
    chunks.and_then(|chunks| chunks.reply).is_some_and(|chunk| chunk.length() > 0)
}

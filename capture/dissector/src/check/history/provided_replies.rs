//! Replies in Read chunks that the responder provides.
//!
//! Nothing negotiates that a reply may be read from the responder's memory. Such a reply is a hazard (`read-in-reply`)
//! unless a requester of the connection reads one or sends RDMA_DONE.

use rpcrdma::error::Role;
use rpcrdma::rules::{Finding, READ_IN_REPLY, Sent, Severity};
use rpcrdma::v1::Body;

use super::reply_reads::{REPLY_READS, ReplyReads};
use super::rules::PULL_NOT_NOTIFIED;
use crate::carrier::operation::Side;
use crate::check::book::Book;
use crate::check::finding::{About, Blame, Found};
use crate::file::Time;
use crate::rpc::message::Message;

/// Replies of a connection in responder-provided Read chunks.
#[derive(Debug, Default)]
pub(super) struct ProvidedReplies {
    /// True if replies come in responder-provided Read chunks.
    is_used: bool,
    /// True if a requester has read such a reply, or said so: then both ends support such replies.
    is_agreed: bool,
    reply_reads: Vec<ReplyReads>,
}

impl ProvidedReplies {
    /// Records that such a reply was used. Returns true if any was used so far.
    pub(super) const fn note_use(&mut self, is_used: bool) -> bool {
        self.is_used |= is_used;
        self.is_used
    }

    /// Follows replies in responder-provided Read chunks.
    pub(super) fn follow_reply(
        &mut self,
        message: &Message,
        sent: &Sent<'_>,
        role: Role,
        about: About,
        book: &mut Book,
    ) {
        let requester = if role == Role::Requester { message.sender } else { message.sender.other() };
        let Ok(decoded) = sent.decoded else { return };
        match decoded.header.body {
            Body::Nomsg(chunks) if role == Role::Responder && !chunks.reads.is_empty() => {
                self.is_used = true;
                if self.reply_reads.len() == REPLY_READS {
                    return book.unknown(&PULL_NOT_NOTIFIED);
                }
                let (length, last) = (chunks.reads.length(), message.stamp.time);
                self.reply_reads.push(ReplyReads { requester, about, length, asked: 0, last });
            }
            Body::Done => {
                let is_answered = self.reply_reads.iter().any(|reads| reads.about.xid == about.xid);
                self.is_agreed |= is_answered;
                self.reply_reads.retain(|reads| reads.requester != message.sender || reads.about.xid != about.xid);
            }
            _ => {}
        }
    }

    /// Records that an end asks for `length` more octets of a reply.
    pub(super) fn note_read(&mut self, reader: Side, xid: u32, length: u64, time: Time) {
        self.is_agreed = true;
        let mut reads = self.reply_reads.iter_mut();
        if let Some(reads) = reads.find(|reads| reads.requester == reader && reads.about.xid == Some(xid)) {
            reads.asked += length;
            reads.last = time;
        }
    }

    /// Judges the replies for which no RDMA_DONE came by the end of a connection. An RDMA_DONE is due if `is_due` says
    /// that nothing can be missing and there was enough time.
    pub(super) fn end_replies(&mut self, is_due: impl Fn(&ReplyReads) -> bool, book: &mut Book) {
        for reads in std::mem::take(&mut self.reply_reads) {
            self.judge_unnotified(&reads, is_due(&reads), book);
        }
    }

    /// Judges a reply in responder-provided Read chunks for which no RDMA_DONE came. The RDMA_DONE `is_due` if nothing
    /// can be missing and there was enough time.
    fn judge_unnotified(&self, reads: &ReplyReads, is_due: bool, book: &mut Book) {
        let ReplyReads { about, length, asked, .. } = *reads;
        if asked >= length {
            let message = format_args!("the {length} octets of this reply were read, but no RDMA_DONE follows");
            return omitted(is_due, about, &Finding::new(&PULL_NOT_NOTIFIED, 0, message), book);
        }
        if self.is_agreed {
            return;
        }
        if is_due {
            let message = format_args!("a reply of {length} octets to read, but the requester reads nothing");
            let finding = Finding::new(&READ_IN_REPLY, 16, message).with_severity(Severity::Hazard);
            book.add_finding(about, &finding, Some(finding.offset));
        } else {
            book.unknown(&READ_IN_REPLY);
        }
    }
}

/// Records that the receiver of a frame did not send an answer that is due. `is_due`: nothing can be missing and there
/// was enough time.
pub(super) fn omitted(is_due: bool, about: About, finding: &Finding<'_>, book: &mut Book) {
    if is_due {
        book.keep(Found::new(about, finding, None).by(Blame::Receiver));
    } else {
        book.unknown(finding.rule);
    }
}

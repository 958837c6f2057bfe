//! Judges a requester whose adapter refused a reply.

use rpcrdma::rules::{Finding, Severity};

use super::rules::REPLY_NOT_READY;
use super::state::History;
use crate::check::book::Book;
use crate::check::finding::About;
use crate::event::{RefusedReply, RefusedReplyEnd};

/// Refusals of a Send that is retried as often as InfiniBand can count: six times (7 means "without end").
const LASTING: u32 = 7;

impl History {
    /// Judges a requester that had no Receive posted for a reply.
    pub(crate) fn refused_reply(&self, refused: &RefusedReply, book: &mut Book) {
        let RefusedReply { connection, requester, xid, stamp, times, end, is_expected } = *refused;
        if !is_expected {
            return book.unknown(&REPLY_NOT_READY);
        }
        let (from, to) = (*self.ends.get(requester), *self.ends.get(requester.other()));
        let about = About { stamp, connection, from, to, xid: Some(xid) };
        let is_lasting = times >= LASTING || end == RefusedReplyEnd::ConnectionEnded;
        let severity = if is_lasting { Severity::Error } else { Severity::Hazard };
        let times = if times == 1 { "once".to_owned() } else { format!("{times} times") };
        let outcome = match end {
            RefusedReplyEnd::Accepted => "then accepted",
            RefusedReplyEnd::ConnectionEnded => "until the connection ended",
            RefusedReplyEnd::Unknown => "and not accepted in the capture",
        };
        let message =
            format_args!("the reply to {xid:#010x} was refused {times} for lack of a Receive (RNR NAK), {outcome}");
        book.add_finding(about, &Finding::new(&REPLY_NOT_READY, 0, message).with_severity(severity), None);
    }
}

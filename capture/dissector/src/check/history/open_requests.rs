//! Requests of both ends that may still be answered, the credits that they take, and answers to nothing.

use rpcrdma::rules::{CREDIT_EXCEEDED, Credits, Finding, REVERSE_CREDIT, RuleReport};
use rpcrdma::v1::ErrorBody;

use super::pending::OrderProof;
use super::proof::Proofs;
use super::requests::{Request, Requests, Response};
use super::rules::REPLY_UNEXPECTED;
use crate::carrier::operation::{Side, Sides};
use crate::check::book::Book;
use crate::check::exchange::ERROR_ECHO;
use crate::check::finding::{About, Found};

/// Requests of a connection, and credits of version 1.
#[derive(Debug)]
pub(super) struct OpenRequests {
    /// By the end that asks.
    requests: Sides<Requests>,
    /// By the end that calls.
    credits: Sides<Credits>,
}

/// Request of version 1 that takes a credit.
pub(super) struct CreditedCall {
    /// Sender of the request.
    pub(super) requester: Side,
    /// True if the server of the connection calls (RFC 8167).
    pub(super) is_reverse: bool,
    /// Stream position of the request, if known: the order of the two directions is proven by that.
    pub(super) sent: Option<u64>,
    pub(super) about: About,
}

impl OpenRequests {
    /// Creates the state of a connection that was captured from the start, or later.
    pub(super) fn new(from_start: bool) -> Self {
        let credits = if from_start { Credits::new() } else { Credits::unknown() };
        Self { requests: Sides::default(), credits: Sides { active: credits, passive: credits } }
    }

    /// Returns the requests of an end.
    pub(super) const fn of_end(&mut self, requester: Side) -> &mut Requests {
        self.requests.get_mut(requester)
    }

    /// Returns true if an end has sent something under this XID that may be answered.
    pub(super) fn has_waiting(&self, requester: Side, xid: u32) -> bool {
        self.requests.get(requester).waits(xid)
    }

    /// Records that a call of the end, or the reply to one, is unknown: a missed call makes the count too small, a
    /// missed reply too large.
    pub(super) fn note_missed(&mut self, requester: Side) {
        self.credits.get_mut(requester).missed();
    }

    /// Records the grant of an answer that ends a call.
    pub(super) fn free_credit(&mut self, requester: Side, granted: u32) {
        self.credits.get_mut(requester).reply(granted);
    }

    /// Records a message that may be a call of this end or an answer; nothing in the message shows which.
    pub(super) fn note_unclear(&mut self, sender: Side, xid: u32, proofs: &mut Proofs, book: &mut Book) {
        self.requests.get_mut(sender).add_unclear(xid);
        proofs.explain_error(sender, xid, book);
    }

    /// Adds a request of version 2, or one of another version than the connection: neither takes a credit here.
    pub(super) fn add_uncredited(
        &mut self,
        requester: Side,
        xid: u32,
        request: Request,
        is_readable: bool,
        book: &mut Book,
    ) {
        let requests = self.requests.get_mut(requester);
        requests.make_room(xid);
        requests.add_request(xid, request, is_readable, book);
    }

    /// Adds a request of version 1, and counts the credit that the request takes.
    pub(super) fn add_credited(
        &mut self,
        call: &CreditedCall,
        xid: u32,
        request: Request,
        is_readable: bool,
        proofs: &mut Proofs,
        book: &mut Book,
    ) {
        let requests = self.requests.get_mut(call.requester);
        if requests.make_room(xid) {
            // Its reply ends a call but frees no credit.
            self.credits.get_mut(call.requester).missed();
        }
        if requests.add_request(xid, request, is_readable, book) {
            self.take_credit(call, proofs, book);
        }
    }

    /// Counts the credit that a request takes.
    fn take_credit(&mut self, call: &CreditedCall, proofs: &mut Proofs, book: &mut Book) {
        let credits = self.credits.get_mut(call.requester);
        if !credits.is_known() {
            book.unknown(&CREDIT_EXCEEDED);
        }
        if let Err(fault) = credits.call() {
            let rule = if call.is_reverse { &REVERSE_CREDIT } else { fault.rule() };
            let mut found = None;
            let mut take = |finding: &Finding<'_>| found = Some(Found::new(call.about, finding, Some(finding.offset)));
            fault.say(&mut RuleReport::new(rule, &mut take));
            // A missed reply would have ended a call.
            match found.zip(call.sent) {
                Some((found, sent)) => {
                    proofs.wait_for_order(found, call.requester.other(), OrderProof::Before(sent), book);
                }
                None => book.unknown(rule),
            }
        }
    }

    /// Judges an answer to nothing that waits. If one request waits for such an error, the answer has the wrong XID.
    pub(super) fn judge_unexpected(
        &mut self,
        requester: Side,
        error: Option<ErrorBody>,
        about: About,
        proofs: &mut Proofs,
        book: &mut Book,
    ) {
        if !proofs.is_whole() {
            return book.unknown(&REPLY_UNEXPECTED);
        }
        let misnamed = error.and_then(|error| self.requests.get_mut(requester).take_misnamed(Response::Refusal(error)));
        if let Some(faulty) = misnamed {
            let (frame, slug) = (faulty.about.stamp.frame, faulty.rule.slug);
            let message =
                format_args!("no request has this XID; that of frame {frame} ({slug}) waits for such an error");
            return proofs.wait(Found::new(about, &Finding::new(&ERROR_ECHO, 0, message), Some(0)), requester, book);
        }
        if proofs.has_unreadable_of(requester) {
            return book.unknown(&REPLY_UNEXPECTED);
        }
        let message = format_args!("no call with this XID waits");
        let finding = Finding::new(&REPLY_UNEXPECTED, 0, message);
        proofs.wait(Found::new(about, &finding, Some(0)), requester, book);
    }
}

//! Replies that the requester's adapter refuses because no Receive is posted ("receiver not ready").
//!
//! A refusal names the place of a Send. The refusal counts for a reply only if the session has seen that Send and the
//! call. Everything that a responder sends takes a Receive of the requester. So if the responder has sent anything but
//! replies to calls that waited, that may have taken the Receive of the reply.

use super::replies::{REFUSED, Refused, SentReply};
use super::state::{Context, Session};
use crate::carrier::connection::Connection;
use crate::carrier::operation::{Operation, OperationKind, Side};
use crate::carrier::recovery::{RecoveryKind, Sign};
use crate::event::{Event, RefusedReply, RefusedReplyEnd};
use crate::rpc::header::Dialect;
use crate::rpc::message::{Captured, Message};
use crate::rpc::waiting::WaitEnd;

impl Session {
    /// Notes a reply; `call` is the answered call, if one waits.
    pub(super) fn note_reply(&mut self, message: &Message, call: Option<u64>) {
        let replies = self.replies.get_or_insert_default().get_mut(message.sender);
        let is_known = message.dialect == Dialect::Version1 && message.captured != Captured::Head;
        match message.rdma_xid().filter(|_| is_known) {
            _ if call.is_none() => replies.note_unmatched(message.xid()),
            Some(xid) => replies.note(SentReply { places: self.sends.current.places, xid }),
            None => replies.note_other(),
        }
    }

    /// Notes a call: a second one that waits may take a Receive that was posted for a reply.
    pub(super) fn note_call(&mut self, sender: Side) {
        if self.credits.usage(sender).waiting > 1 {
            self.replies.get_or_insert_default().get_mut(sender).note_other();
        }
    }

    /// Takes an indication that the receiver of a Send had no Receive posted.
    pub(super) fn refuse_reply(&mut self, connection: &Connection, operation: &Operation<'_>) {
        let Operation { from: requester, stamp, kind, .. } = *operation;
        let OperationKind::Sign { of, place, sign: Sign::Recovery(RecoveryKind::NotReady { .. }), .. } = kind else {
            return;
        };
        let calls_back = || self.calls.range(..).any(|(_, call)| call.message.sender == of);
        let is_whole = connection.set_up && !self.watch.passed_over && self.coverage.is_whole();
        let is_alone = is_whole && !self.watch.given_up && self.client == Some(requester) && !calls_back();
        let replies = self.replies.get_or_insert_default().get_mut(of);
        let mut refused = replies.refused.iter_mut();
        if let Some(refused) = refused.find(|refused| refused.reply.places.first == place) {
            refused.times = refused.times.saturating_add(1);
        } else if let Some(reply) = replies.find(place).filter(|_| replies.refused.len() < REFUSED) {
            let is_expected = is_alone && !replies.has_sent_others;
            replies.refused.push(Refused { reply, first: stamp, times: 1, is_expected });
        }
    }

    /// Reports the refused replies of an end that are accepted by now: the other end has acknowledged what was sent up to this
    /// place.
    #[inline]
    pub(super) fn accept_refused(&mut self, responder: Side, place: u64, context: &mut Context<'_>) {
        if self.replies.as_ref().is_some_and(|replies| !replies.get(responder).refused.is_empty()) {
            self.end_refused(responder, RefusedReplyEnd::Accepted, |reply| reply.places.end <= place + 1, context);
        }
    }

    /// Reports the replies that are still refused when the connection or the capture ends.
    pub(super) fn finish_refused(&mut self, end: WaitEnd, context: &mut Context<'_>) {
        let end = match end {
            WaitEnd::Disconnected { .. } | WaitEnd::Connection => RefusedReplyEnd::ConnectionEnded,
            WaitEnd::Capture | WaitEnd::Repeated | WaitEnd::GivenUp => RefusedReplyEnd::Unknown,
        };
        for responder in [Side::Active, Side::Passive] {
            self.end_refused(responder, end, |_| true, context);
        }
    }

    fn end_refused(
        &mut self,
        responder: Side,
        end: RefusedReplyEnd,
        is_over: impl Fn(&SentReply) -> bool,
        context: &mut Context<'_>,
    ) {
        let Some((connection, replies)) = self.number.zip(self.replies.as_mut()) else { return };
        let refused = &mut replies.get_mut(responder).refused;
        for Refused { reply, first, times, is_expected } in refused.extract_if(.., |refused| is_over(&refused.reply)) {
            let (requester, xid) = (responder.other(), reply.xid);
            let refused = RefusedReply { connection, requester, xid, stamp: first, times, end, is_expected };
            context.events.push_back(Event::RefusedReply(refused));
        }
    }
}

//! Replies that the requester's adapter refuses because no Receive is posted ("receiver not ready").
//!
//! A refusal names the place of a Send. The refusal counts for a reply only if the session has seen that Send and the
//! call. Everything that a responder sends takes a Receive of the requester. So if the responder has sent anything but
//! replies to calls that waited, that may have taken the Receive of the reply.

use std::collections::VecDeque;

use super::replies::{REFUSED, Refused, Replies, SentReply};
use crate::carrier::operation::{Operation, OperationKind, Places, Side, Sides};
use crate::carrier::recovery::{Indication, RecoveryKind};
use crate::event::{Event, RefusedReply, RefusedReplyEnd};
use crate::rpc::header::Dialect;
use crate::rpc::message::{Captured, Message};
use crate::rpc::waiting::WaitEnd;

/// Replies of both ends that the other end may refuse.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    /// `None` while nobody asks.
    replies: Option<Box<Sides<Replies>>>,
}

impl Refusals {
    fn replies(&mut self, responder: Side) -> &mut Replies {
        self.replies.get_or_insert_default().get_mut(responder)
    }

    /// Notes a reply in these places; `call` is the answered call, if one waits.
    pub(super) fn note_reply(&mut self, message: &Message, places: Places, call: Option<u64>) {
        let replies = self.replies(message.sender);
        let is_known = message.dialect == Dialect::Version1 && message.captured != Captured::Head;
        match message.rdma_xid().filter(|_| is_known) {
            _ if call.is_none() => replies.note_unmatched(message.xid()),
            Some(xid) => replies.note(SentReply { places, xid }),
            None => replies.note_other(),
        }
    }

    /// Notes a call of an end of which so many calls wait: a second one may take a Receive that was posted for a reply.
    pub(super) fn note_call(&mut self, sender: Side, waiting: u32) {
        if waiting > 1 {
            self.replies(sender).note_other();
        }
    }

    /// Notes a message that may be a reply without a call.
    pub(super) fn note_unmatched(&mut self, sender: Side, xid: u32) {
        self.replies(sender).note_unmatched(xid);
    }

    /// Returns true if a reply with this XID was captured before any call with the XID.
    pub(super) fn is_unmatched(&self, responder: Side, xid: u32) -> bool {
        self.replies.as_ref().is_some_and(|replies| replies.get(responder).is_unmatched(xid))
    }

    /// Takes an indication that the receiver of a Send had no Receive posted. `is_alone` returns true if the receiver is
    /// the only end that calls, and all calls are known.
    pub(super) fn refuse(&mut self, operation: &Operation<'_>, is_alone: impl FnOnce() -> bool) {
        let Operation { stamp, kind, .. } = *operation;
        let OperationKind::Indication { of, place, sign: Indication::Recovery(RecoveryKind::NotReady { .. }), .. } =
            kind
        else {
            return;
        };
        let replies = self.replies(of);
        let mut refused = replies.refused.iter_mut();
        if let Some(refused) = refused.find(|refused| refused.reply.places.first == place) {
            refused.times = refused.times.saturating_add(1);
        } else if let Some(reply) = replies.find(place).filter(|_| replies.refused.len() < REFUSED) {
            let is_expected = is_alone() && !replies.has_sent_others;
            replies.refused.push(Refused { reply, first: stamp, times: 1, is_expected });
        }
    }

    /// Reports the refused replies of an end that are accepted by now: the other end has acknowledged what was sent up to this
    /// place.
    #[inline]
    pub(super) fn accept(
        &mut self,
        connection: Option<u32>,
        responder: Side,
        place: u64,
        events: &mut VecDeque<Event>,
    ) {
        if self.replies.as_ref().is_some_and(|replies| !replies.get(responder).refused.is_empty()) {
            let is_over = |reply: &SentReply| reply.places.end <= place + 1;
            self.end_refused(connection, responder, RefusedReplyEnd::Accepted, is_over, events);
        }
    }

    /// Reports the replies that are still refused when the connection or the capture ends.
    pub(super) fn finish(&mut self, connection: Option<u32>, end: WaitEnd, events: &mut VecDeque<Event>) {
        let end = match end {
            WaitEnd::Disconnected { .. } | WaitEnd::Connection => RefusedReplyEnd::ConnectionEnded,
            WaitEnd::Capture | WaitEnd::Repeated | WaitEnd::GivenUp => RefusedReplyEnd::Unknown,
        };
        for responder in [Side::Active, Side::Passive] {
            self.end_refused(connection, responder, end, |_| true, events);
        }
    }

    fn end_refused(
        &mut self,
        connection: Option<u32>,
        responder: Side,
        end: RefusedReplyEnd,
        is_over: impl Fn(&SentReply) -> bool,
        events: &mut VecDeque<Event>,
    ) {
        let Some((connection, replies)) = connection.zip(self.replies.as_mut()) else { return };
        let refused = &mut replies.get_mut(responder).refused;
        for Refused { reply, first, times, is_expected } in refused.extract_if(.., |refused| is_over(&refused.reply)) {
            let (requester, xid) = (responder.other(), reply.xid);
            let refused = RefusedReply { connection, requester, xid, stamp: first, times, end, is_expected };
            events.push_back(Event::RefusedReply(refused));
        }
    }
}

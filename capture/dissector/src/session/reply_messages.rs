//! Replies as messages: the call that a reply answers, and the end of the RPC.

use super::call::{Call, Followed};
use super::calls::CALLS;
use super::reply::Reply;
use super::rpc_end::{ConcludedCall, ReplyMessage};
use super::sequence::CurrentSend;
use super::state::{Context, Session};
use crate::carrier::operation::{Places, Side};
use crate::rpc::header::write_lengths;
use crate::rpc::joined_wait::JoinedWait;
use crate::rpc::message::{Captured, Message};
use crate::rpc::phases::NotTimed;
use crate::rpc::transaction::Transaction;
use crate::rpc::waiting::Step;

impl Session {
    /// Assigns a reply to a call. Returns the message of the reply with what is known about the reply.
    pub(super) fn reply(&mut self, mut message: Message, context: &mut Context<'_>) -> Message {
        let xid = message.xid();
        let id = self.calls.find(message.sender.other(), xid);
        if context.operations {
            self.refusals.note_reply(&message, self.sends.current.places, id);
        }
        self.settle_before(&message, id, context);
        let before = self.credits.answer(&message, id);
        let mut call = id.and_then(|id| self.take_answered(id, &message));
        let mut long = None;
        if let Some(call) = &mut call
            && call.described.is_none()
        {
            long = call.describe_long();
            call.described.iter().for_each(|described| self.way.announce(described));
        }
        if let Some(call) = call.take_if(|_| message.provides_payload()) {
            return self.provide(message, call, long, context);
        }
        if let Some((msgp, payload, chunks)) = message.msgp() {
            let written = write_lengths(&chunks);
            let called = call.as_ref().and_then(|call| call.called.as_ref());
            message.padding = called.and_then(|called| msgp.padding_of_reply(payload, called, &written));
        }
        let reply = Reply::new(&message, call.as_mut());
        let rpc = reply.rpc().or_else(|| call.as_ref().and_then(Call::reply));
        message.rpc = rpc;
        if context.operations {
            message.detail = Some(Box::new(self.answered(call.as_ref(), long, &reply)));
        }
        let is_stray = call.is_none() && message.error().is_some();
        if context.transactions && !is_stray {
            let ended = ConcludedCall::new(call, Some(ReplyMessage { message: &message, reply }), xid);
            match (ended, id) {
                (Some(ConcludedCall { transaction, timeline: Some(timeline) }), Some(id)) => {
                    self.await_end(&message, id, transaction, timeline, before, context);
                }
                (Some(ConcludedCall { transaction, .. }), None) => match self.joined_wait(message.sender) {
                    Some(joined) => {
                        let transaction = Transaction { joined: Some(joined), ..transaction };
                        self.await_joined(&message, transaction, before, context);
                    }
                    None => context.ended(Some(transaction)),
                },
                (ended, _) => context.ended(ended.map(|ended| ended.transaction)),
            }
        }
        message
    }

    /// Settles the indications of loss before a reply, and those of the reply. `call` is the answered call, if one waits.
    fn settle_before(&mut self, message: &Message, call: Option<u64>, context: &mut Context<'_>) {
        if let Some(id) = call {
            let CurrentSend { places, earlier_parts, .. } = &self.sends.current;
            self.recoveries.own_for(message.sender, places.first, *earlier_parts, id, &self.calls);
            // Indications of loss before the reply count from what was there before; those of the reply, from when it was sent.
            self.settle(message.sender, Places { first: 0, end: self.sends.current.places.first }, context);
            if let Some(call) = self.calls.get_mut(id) {
                call.timeline.reply(self.sends.current.span);
                let (requester, responder) = (message.sender.other(), message.sender);
                let [requester, responder] = [requester, responder].map(|end| self.data_flows.times(end));
                call.timeline.watch(requester, responder, self.sends.current.span.ended.time);
            }
            self.settle(message.sender, self.sends.current.places, context);
        } else if self.joined.is_some() {
            self.settle(message.sender, Places { first: 0, end: self.sends.current.places.first }, context);
        }
    }

    /// Takes the call that a reply answers from the calls that wait.
    fn take_answered(&mut self, id: u64, message: &Message) -> Option<Call> {
        let mut call = self.take_call(id)?;
        call.timeline.log_send(message.sender, Step::Reply, &self.sends.current.parts);
        if message.captured == Captured::Head {
            call.timeline.refuse(NotTimed::ReplyMissing);
        } else if message.is_broken() {
            call.timeline.refuse(NotTimed::Missed);
        }
        // If the reply was captured before its call, so may be what was moved, when no call was known that it was for.
        if message.stamp.frame < call.message.stamp.frame {
            call.followed = Followed::No;
        }
        Some(call)
    }

    /// Returns the least that an RPC without a call waited whose reply is looked at. Of more calls than can wait at a time, none was sent
    /// before the capture.
    fn joined_wait(&self, responder: Side) -> Option<Box<JoinedWait>> {
        let joined = self.joined.as_ref().filter(|_| self.calls.last() <= CALLS as u64)?;
        joined.wait(responder, self.sends.current.span, self.sends.current.places)
    }
}

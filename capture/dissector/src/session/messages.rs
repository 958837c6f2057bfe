//! Turns the parts of a Send into a message.

use rpcrdma::prefix::Prefix;
use rpcrdma::reader::Reader;
use rpcrdma::rpc::MessageType;

use super::assembly::{Assembled, Part};
use super::owners::Owner;
use super::state::{Context, Session};
use super::step_log;
use super::watch::Aim;
use crate::carrier::connection::Connection;
use crate::carrier::operation::Side;
use crate::event::Event;
use crate::rpc::activity::WaitingCalls;
use crate::rpc::header::{self, Decoded, Dialect};
use crate::rpc::message::{self, Captured, Message};
use crate::rpc::placement::Placements;
use crate::rpc::properties::MessageDirection;
use crate::rpc::waiting::Step;

impl Session {
    pub(super) fn send(&mut self, connection: &Connection, from: Side, part: &Part<'_>, context: &mut Context<'_>) {
        if self.number.is_none() {
            // Only a Send of one packet that cannot be anything else shows what an unknown connection carries.
            if !(part.first && part.last && is_rpc_over_rdma(part.data)) {
                self.watch.passed_over = true;
                self.joined.iter_mut().for_each(|joined| joined.lack_call(from));
                return;
            }
            self.recognise(connection, context);
        }
        if part.first && context.operations {
            self.watch.aims.get_mut(from).push(part.progress.sent, Aim::Send);
        }
        let (unfinished, send) = self.sends.add_part(from, part);
        for send in unfinished.into_iter().chain(send) {
            self.message(connection, from, send, context);
        }
    }

    pub(super) fn message(
        &mut self,
        connection: &Connection,
        sender: Side,
        mut send: Assembled,
        context: &mut Context<'_>,
    ) {
        let Some(number) = self.number else { return };
        self.watch.progress = send.progress;
        self.sends.set_current(&mut send);
        self.credits.set_time(send.span.ended.time);
        let mut message = self.assembled(connection, number, sender, send);
        if context.placements {
            message.placements = step_log::placements(&self.sends.current.parts);
        }
        if message.msgp().is_some() {
            message.padding = None;
        }
        let xid = message.rdma_xid();
        self.recoveries.own(sender, Owner { xid, ..Owner::unknown(self.sends.current.places.first) });
        self.undecided |= message.dialect == Dialect::Version2Unknown;
        if message.hides_direction() {
            self.joined.iter_mut().for_each(|joined| joined.lack_call(sender));
            self.miss(sender, message.stamp, context);
        }
        let direction = if self.sends.join(&mut message) { self.direction(&message) } else { None };
        if direction.is_none() && message.belongs_to_no_rpc() {
            self.sends.note_without_rpc(sender, xid);
        }
        let (mut message, requester) = match direction {
            Some(MessageDirection::Call) => (self.call(message, context), Some(sender)),
            Some(MessageDirection::Reply) => (self.reply(message, context), Some(sender.other())),
            None => (message, None),
        };
        if context.operations {
            match direction {
                Some(MessageDirection::Call) => self.refusals.note_call(sender, self.credits.usage(sender).waiting),
                Some(MessageDirection::Reply) => {}
                None => self.refusals.note_unmatched(sender, message.xid()),
            }
        }
        message.credit_use = requester.map(|requester| (requester, self.credits.usage(requester)));
        self.calls.invalidate(&message);
        let done = self.done(&message);
        if done.is_some() && context.operations {
            message.detail = Some(Box::new(self.watch.detail(MessageDirection::Call)));
        }
        let waiting = message.credit_use.map(|(requester, credits)| WaitingCalls { requester, calls: credits.waiting });
        self.activity.message(message.stamp, waiting);
        context.events.push_back(Event::Message(message));
        if let Some((id, mut provided)) = done.and_then(|id| Some((id, self.take_call(id)?))) {
            self.credits.forget(id, &provided);
            provided.timeline.log_send(sender, Step::Done, &self.sends.current.parts);
            provided.conclude(context);
        }
    }

    /// Returns the message of a Send, before anything is known about the content of the message.
    fn assembled(&mut self, connection: &Connection, number: u32, sender: Side, send: Assembled) -> Message {
        Message {
            dialect: Dialect::recognise(
                message::readable(send.captured, &send.octets),
                send.captured == Captured::Whole,
                &mut self.family,
            ),
            stamp: send.stamp,
            connection: number,
            sender,
            from: connection.ends.get(sender).address,
            to: connection.ends.get(sender.other()).address,
            octets: send.octets,
            length: send.length,
            captured: send.captured,
            mirror_session: None,
            invalidates: send.invalidates,
            credit_use: None,
            retransmitted: send.retransmitted,
            earlier: None,
            padding: Some(Vec::new()),
            placements: Placements::default(),
            dropped: None,
            rpc: None,
            detail: None,
        }
    }

    /// No longer waits for the rest of what is being sent.
    pub(super) fn abandon(&mut self, connection: &Connection, context: &mut Context<'_>) {
        for side in [Side::Active, Side::Passive] {
            if let Some(head) = self.sends.abandon(side) {
                self.message(connection, side, head, context);
            }
        }
    }
}

/// Returns true if a Send can only be RPC-over-RDMA: a header that is right in every word, and either the beginning of
/// an RPC message with the header's XID, or exactly the chunks of a long message.
fn is_rpc_over_rdma(octets: &[u8]) -> bool {
    let Ok(decoded) = Decoded::decode(Dialect::recognise(octets, true, &mut None), octets) else { return false };
    let Ok(prefix) = Prefix::decode(octets) else { return false };
    match decoded.header.place() {
        header::PayloadPlace::Inline => {
            let mut payload = Reader::new(decoded.payload);
            let words = [payload.u32(), payload.u32(), payload.u32()];
            let [Ok(xid), Ok(kind), Ok(third)] = words else { return false };
            xid == prefix.xid
                && match MessageType(kind) {
                    MessageType::CALL => third == rpcrdma::rpc::RpcCall::RPC_VERSION,
                    MessageType::REPLY => third <= 1,
                    _ => false,
                }
        }
        header::PayloadPlace::Chunk => {
            let chunks = decoded.header.chunks().unwrap_or_default();
            let has_chunks = !chunks.is_empty() || !decoded.header.call_chunk().is_empty();
            prefix.credit > 0 && has_chunks && decoded.payload.is_empty()
        }
        _ => false,
    }
}

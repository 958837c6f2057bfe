//! Calls as messages: what a session knows about a call, and the call that it replaces.

use super::call::Call;
use super::state::{Context, Session};
use super::step_log::StepLog;
use super::timeline::Timeline;
use crate::nfs::Procedure;
use crate::rpc::describe::{self, Described, DescribedCall};
use crate::rpc::header::read_chunks;
use crate::rpc::message::{Detail, Message};
use crate::rpc::properties::MessageDirection;
use crate::rpc::waiting::{Step, WaitEnd};

impl Session {
    /// Records a call. Returns the message of the call with what is known about the call.
    pub(super) fn call(&mut self, mut message: Message, context: &mut Context<'_>) -> Message {
        let requester = message.sender;
        let mut description = None;
        let mut way = self.way;
        way.reverse = self.client == Some(requester.other());
        if let Some((msgp, payload, chunks)) = message.msgp() {
            message.padding = msgp.padding_of_call(payload, way, &read_chunks(&chunks));
        }
        if let Ok(decoded) = message.decode() {
            let reads = decoded.header.chunks().as_ref().map(read_chunks).unwrap_or_default();
            description = describe::call(&message.stream(&decoded), way, &reads);
            if let Some(DescribedCall { called, described }) = &mut description {
                if message.padding.is_none() {
                    described.forget_body();
                }
                if matches!(called.procedure.program, Procedure::NFS | Procedure::MOUNT | Procedure::NFSACL) {
                    self.client.get_or_insert(requester);
                }
                self.way.announce(described);
            }
        }
        let described = description.as_ref().map(|call| &call.described);
        message.rpc = described.map(|described| described.rpc.clone());
        let detail = context.operations.then(|| {
            let walked = described.map(Described::to_walked);
            Box::new(Detail { walked, ..self.watch.detail(MessageDirection::Call) })
        });
        let steps = context.steps.includes(message.xid()).then(|| {
            let mut steps = StepLog::new();
            steps.add_send(requester, Step::Call, &self.sends.current.parts);
            steps
        });
        let timeline = Timeline::new(self.sends.current.span, steps);
        let mut call = Call::new(message.clone(), timeline, description, way, context.transactions);
        if self.replaces(&mut call, context) {
            self.wait(call, context);
        } else {
            self.credits.hide(requester, message.stamp.time);
        }
        message.detail = detail;
        message
    }

    /// Returns true if `call` may wait. An earlier call with the same XID is then given up. A call that can be carried
    /// out does not make way for one that cannot.
    fn replaces(&mut self, call: &mut Call, context: &mut Context<'_>) -> bool {
        let before = call.message.rdma_xid().and_then(|xid| self.calls.find(call.message.sender, xid));
        let can_wait = |id| self.calls.get(id).is_some_and(|before| call.is_empty() && !before.is_empty());
        if before.is_some_and(can_wait) {
            return false;
        }
        before.into_iter().for_each(|before| self.supersede(before, call, context));
        true
    }

    /// Gives up a waiting call whose XID is used by a new call. The responder may still serve the old call. If the new
    /// call is a copy, what was moved for the old call is in the memory of the new one, and the data that was asked for
    /// comes there.
    fn supersede(&mut self, id: u64, call: &mut Call, context: &mut Context<'_>) {
        let Some(mut before) = self.take_call(id) else { return };
        self.credits.forget(id, &before);
        call.is_repeated = true;
        self.watch.supersede(&before);
        if call.is_copy_of(&before) {
            call.inherit(&mut before);
            self.calls.pass_on_reads(id);
        }
        self.unanswered(id, before, WaitEnd::Repeated, context);
    }
}

//! Replies in Read chunks that the responder provides (draft-cel-nfsv4-reliable-reply): the requester reads the reply,
//! and reports the end of reading with RDMA_DONE.
//!
//! Such a reply waits as a call does: the segments of the reply are advertised memory of the responder, and the call is
//! kept with the reply. RDMA_DONE, the same XID again, or the end of the connection ends both. A reply that was not
//! read by then is no answer. If the capture missed the call, the reply is taken for a Long Call of the responder until
//! then: the octets that were read say which of both the message is.

use rpcrdma::prefix::Procedure;
use rpcrdma::v1::Body;

use super::call::Call;
use super::reply::Reply;
use super::rpc_end::{ConcludedCall, ReplyMessage};
use super::state::{Context, Session};
use crate::rpc::message::{Beginning, Detail, Message};
use crate::rpc::phases::NotTimed;
use crate::rpc::properties::MessageDirection;
use crate::rpc::transaction::Transaction;
use crate::rpc::waiting::{Delivery, LastStep, Owed, Step, WaitEnd, Waiting};

impl Session {
    /// Records a reply in memory that the requester reads (draft-cel-nfsv4-reliable-reply section 4.1). The RPC ends
    /// with the RDMA_DONE that reports the end of reading.
    pub(super) fn provide(
        &mut self,
        mut message: Message,
        call: Call,
        long: Option<Beginning>,
        context: &mut Context<'_>,
    ) -> Message {
        let xid = message.xid();
        message.rpc = call.reply();
        if context.operations {
            let answers = Some(call.answered(long));
            message.detail = Some(Box::new(Detail { answers, ..self.watch.detail(MessageDirection::Reply) }));
        }
        let before = self.calls.find_provided(message.sender, xid);
        before.into_iter().for_each(|before| self.give_up(before, WaitEnd::Repeated, context));
        let timeline = call.timeline.clone().provided();
        let mut provided = Call::new(message.clone(), timeline, None, call.way, context.transactions);
        // The RDMA_DONE that comes next may be for the one before.
        provided.is_repeated = before.is_some();
        provided.answers = Some(Box::new(call));
        self.wait(provided, context);
        message
    }

    /// Returns the provided reply that a message ends; one whose call is not in the capture was taken for a call.
    pub(super) fn done(&self, message: &Message) -> Option<u64> {
        let prefix = message.prefix().filter(|prefix| prefix.procedure == Procedure::RDMA_DONE)?;
        message.decode_v1().filter(|decoded| decoded.header.body == Body::Done)?;
        let responder = message.sender.other();
        let is_reply = |id: &u64| self.calls.get(*id).is_some_and(Call::is_reply);
        let provided = self.calls.find_provided(responder, prefix.xid);
        provided.or_else(|| self.calls.find(responder, prefix.xid).filter(is_reply))
    }
}

impl Call {
    /// Ends a call whose reply was read from the responder's memory; the capture may lack the call.
    pub(super) fn conclude(mut self, context: &mut Context<'_>) {
        let mut call = self.answers.take().map(|call| *call);
        call.iter_mut().for_each(|call| call.timeline = self.timeline.clone());
        let mut message = self.message.clone();
        let xid = message.xid();
        let reply = Reply::with_payload(&message, call.as_mut(), self.rebuild());
        message.rpc = reply.rpc().or(message.rpc);
        if context.transactions {
            let transaction = ConcludedCall::new(call, Some(ReplyMessage { message: &message, reply }), xid);
            context.ended(transaction.map(|ConcludedCall { mut transaction, timeline }| {
                transaction.read_octets += self.read_octets;
                timeline.into_iter().for_each(|timeline| transaction.take_time(timeline, None));
                transaction
            }));
        }
    }

    /// Ends a call whose reply the responder provides, and the requester did not read: that is no answer.
    pub(super) fn leave_unread(mut self, waiting: Waiting, context: &mut Context<'_>) {
        let Some(mut call) = self.answers.take().filter(|_| context.transactions) else { return };
        let steps = self.timeline.steps();
        let responder = Some(LastStep { step: Step::Reply, stamp: self.message.stamp });
        let owed = match waiting.owed {
            Owed::Reply | Owed::Call(_) | Owed::Acknowledgement(_) => Owed::ReadReply,
            owed => owed,
        };
        call.timeline.refuse(NotTimed::ReplyMissing);
        let delivery = Delivery::Accepted;
        let waiting = Waiting { requester: call.requester_last, responder, delivery, owed, ..waiting };
        let xid = call.message.xid();
        let transaction = ConcludedCall::new(Some(*call), None, xid);
        context.ended(transaction.map(|ended| Transaction { waiting: Some(waiting), steps, ..ended.transaction }));
    }
}

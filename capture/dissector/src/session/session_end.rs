//! End of a session, and of calls before their replies: the connection or the capture ends, memory is short, or the client makes
//! a call again on another connection.

use super::deliveries::LostReply;
use super::state::{Context, Session};
use crate::carrier::connection::Connection;
use crate::carrier::operation::Side;
use crate::link::Address;
use crate::rpc::call_content::CallContent;
use crate::rpc::waiting::{Delivery, Owed, WaitEnd};

/// A call that has not been answered, judging by packets of the requester.
#[derive(Debug)]
pub(crate) struct OpenCall {
    pub(crate) requester: Side,
    pub(crate) content: CallContent,
}

impl Session {
    /// Returns true if a call waits for a reply, or for the acknowledgement of one.
    pub(crate) fn has_open_calls(&self) -> bool {
        [Side::Active, Side::Passive]
            .into_iter()
            .any(|side| self.calls.has_any(side) || self.arrivals.get(side).has_unacknowledged_reply())
    }

    /// Returns the call with this XID of the end at this address, if that end waits for the reply or has not
    /// acknowledged the reply.
    pub(crate) fn open_call(&self, from: Address, xid: u32) -> Option<OpenCall> {
        let ends = self.addresses?;
        let requester = [Side::Active, Side::Passive].into_iter().find(|side| *ends.get(*side) == from)?;
        let waiting = self.calls.find(requester, xid).and_then(|id| self.calls.get(id));
        let content = match waiting {
            Some(call) => CallContent::of_message(&call.message),
            None => {
                let transaction = self.arrivals.get(requester.other()).unacknowledged_reply(xid)?;
                CallContent::of_transaction(transaction)
            }
        };
        Some(OpenCall { requester, content: content? })
    }

    /// Ends a call that the requester has made again on another connection. A reply that was sent did not arrive.
    pub(crate) fn end_try(&mut self, requester: Side, xid: u32, end: WaitEnd, context: &mut Context<'_>) {
        self.settle_all(context);
        if let Some(id) = self.calls.find(requester, xid) {
            return self.give_up(id, end, context);
        }
        if let Some((copies, ended)) = self.arrivals.get_mut(requester.other()).take_reply(xid) {
            let delivery = match copies.delivery() {
                Delivery::Accepted => Delivery::Unknown,
                delivery => delivery,
            };
            self.end_rpc(*ended, Err(LostReply { end, owed: Owed::over(end), delivery }), context);
        }
    }

    /// Ends the session: calls that wait will not be answered.
    pub(crate) fn finish(&mut self, connection: &Connection, end: WaitEnd, context: &mut Context<'_>) {
        self.abandon(connection, context);
        self.settle_all(context);
        self.settle_replies(end, context);
        self.refusals.finish(self.number, end, context.events);
        while let Some(id) = self.calls.oldest() {
            self.give_up(id, end, context);
        }
    }

    /// Releases about `excess` octets: the data of the oldest calls, and if that is not enough, the calls.
    pub(crate) fn let_go(&mut self, connection: &Connection, excess: usize, context: &mut Context<'_>) {
        let enough = self.memory_used().saturating_sub(excess);
        self.settle_all(context);
        if self.memory_used() > enough {
            self.settle_replies(WaitEnd::GivenUp, context);
        }
        self.calls.release(self.memory_used().saturating_sub(enough));
        while self.memory_used() > enough
            && let Some(oldest) = self.calls.oldest()
        {
            self.give_up(oldest, WaitEnd::GivenUp, context);
        }
        if self.memory_used() > enough {
            self.calls.forget_reads();
            [Side::Active, Side::Passive].into_iter().for_each(|end| self.sends.forget_sequence(end));
            self.joined = None;
            self.clocks.forget_packets();
            self.abandon(connection, context);
        }
    }
}

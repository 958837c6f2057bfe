//! An RPC that a trace shows, as a [`Transaction`].

use super::called::TracedCall;
use crate::carrier::operation::{Side, Stamp};
use crate::file::Time;
use crate::link::Address;
use crate::nfs::{Callback, CompoundOperation};
use crate::rpc::credits::{CreditUse, CreditWaitUnknown};
use crate::rpc::data_times::DataTimes;
use crate::rpc::kernel_times::KernelTimes;
use crate::rpc::not_rebuilt::NotRebuilt;
use crate::rpc::phases::{NotTimed, Phases};
use crate::rpc::placement::Placements;
use crate::rpc::properties::Status;
use crate::rpc::transaction::{Half, MessageForm, RoundTrips, Transaction};
use crate::rpc::waiting::{Delivery, LastStep, Owed, Step, WaitEnd, Waiting};

/// Address of an end that a trace does not name.
pub(super) const UNKNOWN_END: Address = Address::V4([0; 4]);

/// Client and server of an RPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TracedEnds {
    pub(super) client: Address,
    pub(super) server: Address,
}

/// Chunks of an RPC.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TracedChunks {
    pub(super) read_octets: u64,
    pub(super) write_octets: u64,
    pub(super) has_read: bool,
    pub(super) has_write: bool,
    /// `true` if the whole call is in a Read chunk.
    pub(super) is_long_call: bool,
    /// `true` if the reply may be in the Reply chunk.
    pub(super) is_long_reply: bool,
}

/// An RPC that a trace shows.
pub(super) struct TracedRpc {
    pub(super) connection: u32,
    pub(super) ends: TracedEnds,
    pub(super) xid: u32,
    pub(super) called: TracedCall,
    pub(super) status: Option<Status>,
    pub(super) call: Option<Stamp>,
    /// Time from which the latency counts.
    pub(super) began: Option<Time>,
    pub(super) reply: Option<Stamp>,
    pub(super) phases: Result<Phases, NotTimed>,
    pub(super) credit_wait: Option<u64>,
    pub(super) slot_wait: Option<u64>,
    pub(super) chunks: TracedChunks,
    pub(super) delivery: Delivery,
    /// End of the wait, if there is no reply.
    pub(super) end: WaitEnd,
    pub(super) times: KernelTimes,
}

impl TracedRpc {
    pub(super) fn into_transaction(self) -> Transaction {
        let Self { ends: TracedEnds { client, server }, call, reply, chunks, .. } = self;
        let half = |stamp, form| Half { stamp, form, inline: 0, message: Err(NotRebuilt::KernelTrace) };
        let waiting = call.filter(|_| reply.is_none()).map(|stamp| self.waiting(stamp));
        let TracedCall { procedure, operations, is_reverse } = self.called;
        let call_form = chunks.form(chunks.is_long_call);
        // The chunk is provided for a reply that may be longer than the one that came.
        let reply_form = chunks.form(chunks.is_long_reply && !chunks.has_write);
        let (from, to) = if is_reverse { (server, client) } else { (client, server) };
        Transaction {
            connection: self.connection,
            requester: if is_reverse { Side::Passive } else { Side::Active },
            from,
            to,
            reverse: is_reverse,
            callback: Callback::No,
            xid: self.xid,
            call: call.map(|stamp| half(stamp, call_form)),
            reply: reply.map(|stamp| half(stamp, reply_form)),
            is_acknowledged: reply.is_some(),
            procedure,
            name: procedure.and_then(|procedure| procedure.name(false)),
            operations,
            security: None,
            status: self.status.filter(|_| reply.is_some()),
            read_octets: chunks.read_octets,
            write_octets: chunks.write_octets,
            began: call.map(|call| Stamp { time: self.began.unwrap_or(call.time), ..call }),
            round_trips: RoundTrips::default(),
            phases: match (call, reply) {
                (None, _) => Err(NotTimed::CallMissing),
                (_, None) => Err(NotTimed::ReplyMissing),
                _ => self.phases,
            },
            recovery: Err(NotTimed::KernelTrace),
            data_times: DataTimes::default(),
            steps: None,
            credit_wait: self.credit_wait.ok_or(CreditWaitUnknown::KernelTrace),
            slot_wait: self.slot_wait.map(Ok),
            waiting,
            joined: None,
            tries: None,
            witnessed: None,
            opens: None,
            keeps: Vec::new(),
            kernel: Some(Box::new(self.times)),
            placements: Placements::default(),
        }
    }

    const fn waiting(&self, call: Stamp) -> Waiting {
        Waiting {
            end: self.end,
            requester: LastStep { step: Step::Call, stamp: call },
            responder: None,
            delivery: self.delivery,
            reply_delivery: None,
            owed: match self.end {
                WaitEnd::Capture => Owed::Reply,
                end => Owed::over(end),
            },
            credits: CreditUse::UNKNOWN,
        }
    }
}

impl TracedChunks {
    const fn form(self, is_long: bool) -> MessageForm {
        match (is_long, self.has_read || self.has_write) {
            (true, _) => MessageForm::Long,
            (false, true) => MessageForm::Chunked,
            (false, false) => MessageForm::Short,
        }
    }
}

/// Status of an RPC with these operations: that of the last.
pub(super) fn final_status(operations: &[CompoundOperation]) -> Status {
    Status::Success(operations.last().and_then(|operation| operation.status))
}

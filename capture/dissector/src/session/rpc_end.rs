//! The transaction of an RPC that has ended.

use super::call::Call;
use super::reply::Reply;
use super::timeline::Timeline;
use crate::carrier::operation::Stamp;
use crate::nfs::Callback;
use crate::rpc::credits::CreditWaitUnknown;
use crate::rpc::data_times::DataTimes;
use crate::rpc::header::{Decoded, PayloadPlace};
use crate::rpc::message::{Captured, Message};
use crate::rpc::not_rebuilt::NotRebuilt;
use crate::rpc::phases::NotTimed;
use crate::rpc::pieces::Pieces;
use crate::rpc::placement::Placements;
use crate::rpc::properties::Status;
use crate::rpc::transaction::{Half, MessageForm, Rebuilt, RoundTrips, Transaction};
use crate::rpc::waiting::{LastStep, Step, Waiting};

fn form(decoded: &Decoded<'_>, is_call: bool) -> MessageForm {
    match decoded.header.place() {
        PayloadPlace::Chunk => MessageForm::Long,
        PayloadPlace::Part => MessageForm::Continued,
        PayloadPlace::Inline => {
            let chunks = decoded.header.chunks().unwrap_or_default();
            let moved = if is_call { chunks.reads.length() } else { chunks.writes.iter().map(|c| c.length()).sum() };
            if moved > 0 { MessageForm::Chunked } else { MessageForm::Short }
        }
        PayloadPlace::Nowhere => MessageForm::Short,
    }
}

fn with_payload(pieces: Pieces) -> Result<Pieces, NotRebuilt> {
    if pieces.is_empty() { Err(NotRebuilt::NoPayload) } else { Ok(pieces) }
}

impl Message {
    pub(super) fn unreadable(&self) -> NotRebuilt {
        if self.captured == Captured::Whole { NotRebuilt::Header } else { NotRebuilt::Send }
    }

    pub(super) fn check_whole(&self) -> Result<(), NotRebuilt> {
        match (self.earlier_missing(), &self.padding) {
            _ if self.captured != Captured::Whole => Err(NotRebuilt::Send),
            (Some(reason), _) => Err(reason),
            (None, None) => Err(NotRebuilt::Padding),
            (None, Some(_)) => Ok(()),
        }
    }

    fn half(&self, is_call: bool, message: Result<Rebuilt, NotRebuilt>) -> Half {
        let decoded = self.decode().ok();
        let form = match &decoded {
            Some(_) if self.earlier.is_some() => MessageForm::Continued,
            Some(decoded) => form(decoded, is_call),
            None => MessageForm::Short,
        };
        let earlier = usize::try_from(self.earlier_length()).unwrap_or(usize::MAX);
        let inline = decoded.as_ref().map_or(0, |decoded| match decoded.header.place() {
            PayloadPlace::Inline | PayloadPlace::Part => {
                self.length.saturating_sub(decoded.header_length).saturating_add(earlier)
            }
            PayloadPlace::Chunk | PayloadPlace::Nowhere => 0,
        });
        Half { stamp: self.stamp, form, inline, message }
    }
}

/// A reply, and the message that carried the reply.
pub(super) struct ReplyMessage<'a> {
    pub(super) message: &'a Message,
    pub(super) reply: Reply,
}

/// A call that ended.
pub(super) struct ConcludedCall {
    pub(super) transaction: Transaction,
    /// Time line of the call, if the capture holds the call: [`Transaction::take_time`] reads the time line when the
    /// reply has arrived.
    pub(super) timeline: Option<Timeline>,
}

impl ConcludedCall {
    /// Ends a call. `reply` is the answer, if there was one.
    pub(super) fn new(call: Option<Call>, reply: Option<ReplyMessage<'_>>, xid: u32) -> Option<Self> {
        let replied = reply.as_ref().map(|reply| reply.message);
        let (requester, of) = match (&call, replied) {
            (Some(call), _) => (call.message.sender, &call.message),
            (None, Some(message)) => (message.sender.other(), message),
            (None, None) => return None,
        };
        let (from, to) = if of.sender == requester { (of.from, of.to) } else { (of.to, of.from) };
        let mut transaction = Transaction {
            connection: of.connection,
            requester,
            from,
            to,
            reverse: false,
            callback: Callback::No,
            xid,
            call: None,
            reply: None,
            is_acknowledged: false,
            procedure: None,
            name: None,
            operations: Vec::new(),
            security: None,
            status: None,
            read_octets: 0,
            write_octets: 0,
            began: None,
            round_trips: RoundTrips::default(),
            phases: Err(NotTimed::CallMissing),
            recovery: Err(NotTimed::CallMissing),
            data_times: DataTimes::default(),
            steps: None,
            credit_wait: Err(CreditWaitUnknown::CallMissing),
            slot_wait: None,
            waiting: None,
            joined: None,
            tries: None,
            witnessed: None,
            opens: None,
            keeps: Vec::new(),
            kernel: None,
            placements: Placements::default(),
        };
        let timeline = call.map(|call| transaction.take_call(call));
        match reply {
            Some(ReplyMessage { message, reply }) => transaction.take_reply(message, reply),
            None => {
                transaction.phases = Err(NotTimed::ReplyMissing);
                transaction.recovery = Err(NotTimed::ReplyMissing);
            }
        }
        Some(Self { transaction, timeline })
    }
}

impl Transaction {
    /// The reply arrived with this packet, if that is known: where the time went.
    pub(super) fn take_time(&mut self, mut timeline: Timeline, accepted: Option<Stamp>) {
        if let Some((reply, accepted)) = self.reply.as_mut().zip(accepted)
            && accepted.frame > reply.stamp.frame
        {
            reply.stamp = accepted;
        }
        self.phases = timeline.phases();
        self.data_times = timeline.data_times();
        self.steps = timeline.steps();
        self.recovery = timeline.recovery();
    }

    /// The reply did not arrive: the call still waits, with what each end did last.
    pub(super) fn lose_reply(
        &mut self,
        mut timeline: Timeline,
        waiting: impl FnOnce(LastStep, Option<LastStep>) -> Waiting,
    ) {
        let call = self.call.as_ref().map(|call| call.stamp).or(self.began).unwrap_or_default();
        let reply = self.reply.take().map(|reply| LastStep { step: Step::Reply, stamp: reply.stamp });
        self.waiting = Some(waiting(LastStep { step: Step::Call, stamp: call }, reply));
        self.status = None;
        self.operations.iter_mut().for_each(|operation| operation.status = None);
        self.steps = timeline.steps();
        self.phases = Err(NotTimed::ReplyNotAccepted);
        self.recovery = Err(NotTimed::ReplyNotAccepted);
    }

    fn take_call(&mut self, mut call: Call) -> Timeline {
        self.placements = core::mem::take(&mut call.message.placements);
        call.describe_long();
        let rebuilt = call.rebuild().and_then(with_payload);
        let mut items = Vec::new();
        if let Some(described) = call.described {
            self.procedure = described.rpc.procedure;
            self.name = described.rpc.name;
            self.operations = described.rpc.operations;
            self.security = described.rpc.security;
            self.reverse = described.rpc.reverse;
            self.callback = described.rpc.callback;
            items = described.items;
        }
        self.began = Some(call.timeline.began);
        self.credit_wait = call.credit_wait;
        self.read_octets = call.read_octets;
        self.write_octets = call.write_octets;
        self.call = Some(call.message.half(true, rebuilt.map(|pieces| Rebuilt { pieces, items })));
        call.timeline
    }

    fn take_reply(&mut self, message: &Message, reply: Reply) {
        if let Some(rpc) = message.rpc.as_ref() {
            self.status = rpc.status;
            for (mine, theirs) in self.operations.iter_mut().zip(&rpc.operations) {
                *mine = *theirs;
            }
            if self.operations.is_empty() {
                self.operations.clone_from(&rpc.operations);
            }
        }
        let rebuilt = match message.error() {
            Some(error) => {
                self.status = Some(Status::Error(error));
                Err(NotRebuilt::Error(error))
            }
            None => reply.rebuild(),
        };
        let rebuilt = rebuilt.and_then(|rebuilt| {
            let Rebuilt { pieces, items } = rebuilt;
            with_payload(pieces).map(|pieces| Rebuilt { pieces, items })
        });
        self.reply = Some(message.half(false, rebuilt));
    }
}

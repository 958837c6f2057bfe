//! An RPC that has ended: its transaction.

use super::call::Call;
use super::reply::Reply;
use crate::nfs::Callback;
use crate::rpc::credits::CreditWaitUnknown;
use crate::rpc::header::{Decoded, PayloadPlace};
use crate::rpc::known::Status;
use crate::rpc::message::{Captured, Message};
use crate::rpc::not_rebuilt::NotRebuilt;
use crate::rpc::phases::NotTimed;
use crate::rpc::pieces::Pieces;
use crate::rpc::recovery::RecoveryUnknown;
use crate::rpc::transaction::{Form, Half, Rebuilt, Transaction};

fn form(decoded: &Decoded<'_>, is_call: bool) -> Form {
    match decoded.header.place() {
        PayloadPlace::Chunk => Form::Long,
        PayloadPlace::Part => Form::Continued,
        PayloadPlace::Inline => {
            let chunks = decoded.header.chunks().unwrap_or_default();
            let moved = if is_call { chunks.reads.length() } else { chunks.writes.iter().map(|c| c.length()).sum() };
            if moved > 0 { Form::Chunked } else { Form::Short }
        }
        PayloadPlace::Nowhere => Form::Short,
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
            Some(_) if self.earlier.is_some() => Form::Continued,
            Some(decoded) => form(decoded, is_call),
            None => Form::Short,
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

impl Transaction {
    /// Ends a call. `reply` is its answer, if there was one.
    pub(crate) fn new(call: Option<Call>, reply: Option<(&Message, Reply)>, xid: u32) -> Option<Self> {
        let replied = reply.as_ref().map(|(message, _)| *message);
        let (requester, of) = match (&call, replied) {
            (Some(call), _) => (call.message.sender, &call.message),
            (None, Some(message)) => (message.sender.other(), message),
            (None, None) => return None,
        };
        let (from, to) = if of.sender == requester { (of.from, of.to) } else { (of.to, of.from) };
        let mut transaction = Self {
            connection: of.connection,
            requester,
            from,
            to,
            reverse: false,
            callback: Callback::No,
            xid,
            call: None,
            reply: None,
            procedure: None,
            name: None,
            operations: Vec::new(),
            security: None,
            status: None,
            read_octets: 0,
            write_octets: 0,
            began: None,
            phases: Err(NotTimed::CallMissing),
            recovery: Err(RecoveryUnknown::NotTimed(NotTimed::CallMissing)),
            steps: None,
            credit_wait: Err(CreditWaitUnknown::CallMissing),
            waiting: None,
        };
        if let Some(call) = call {
            transaction.take_call(call);
        }
        match reply {
            Some((message, reply)) => transaction.take_reply(message, reply),
            None => {
                transaction.phases = Err(NotTimed::ReplyMissing);
                transaction.recovery = Err(RecoveryUnknown::NotTimed(NotTimed::ReplyMissing));
            }
        }
        Some(transaction)
    }

    fn take_call(&mut self, mut call: Call) {
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
        self.phases = call.timeline.phases();
        self.steps = call.timeline.steps();
        self.recovery = call.timeline.recovery();
        self.credit_wait = call.credit_wait;
        self.read_octets = call.read_octets;
        self.write_octets = call.write_octets;
        self.call = Some(call.message.half(true, rebuilt.map(|pieces| Rebuilt { pieces, items })));
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

//! Received messages: a Call gets a slot, and is read or refused.

use super::calls::{CallTable, MALFORMED, SYSTEM};
use super::judge::{CallJudge, JudgedCall, can_reply_garbage, chunk_refusal};
use super::reply::ReplyForm;
use super::slot::{Slot, Stage};
use crate::endpoint::limits::NotAssembled;
use crate::endpoint::receipt::Receipt;
use crate::endpoint::wire::{CallForm, CallReceived, ReceivedCall};
use crate::endpoint::{InputError, Limits, is_protected};
use crate::prefix::Prefix;
use crate::rpc::{self, MessageType};
use crate::v2::ErrorBodyV2;

/// The way of a message from a Receive to the table of Calls.
#[derive(Debug)]
pub(super) struct Reception<const CALLS: usize, const HEADER: usize> {
    pub(super) judge: CallJudge<CALLS, HEADER>,
    pub(super) receipt: Receipt,
}

impl<const CALLS: usize, const HEADER: usize> Reception<CALLS, HEADER> {
    pub(super) fn new(limits: Limits) -> Self {
        Self { judge: CallJudge::new(limits), receipt: Receipt::Nothing }
    }

    pub(super) fn enlarge<const MORE: usize>(self) -> Reception<MORE, HEADER> {
        Reception { judge: self.judge.enlarge(), receipt: self.receipt }
    }

    pub(super) fn receive<const CHUNKS: usize>(
        &mut self,
        receive: u32,
        octets: &[u8],
        calls: &mut CallTable<CALLS, HEADER, CHUNKS>,
    ) -> Result<(), InputError> {
        if self.receipt.is_due() {
            return Err(InputError::NotPolled);
        }
        if calls.collecting.is_some()
            && let Some(receipt) = calls.continue_collection(receive, octets, &self.judge)
        {
            self.receipt = receipt;
            return Ok(());
        }
        match CallReceived::decode(calls.terms.version, octets) {
            CallReceived::Part(prefix, part, two) => {
                self.receipt = calls.begin_collection(receive, prefix, part, two, &mut self.judge);
            }
            CallReceived::Call(prefix, call) => self.receive_call(receive, prefix, &call, octets, calls),
            CallReceived::Fault(prefix, error) => self.turn_away(receive, prefix, error, calls),
            CallReceived::Done(xid) => {
                calls.handle_done(xid);
                self.receipt = Receipt::Release(receive);
            }
            CallReceived::Nothing => self.receipt = Receipt::Release(receive),
        }
        Ok(())
    }

    /// Handles a Call whose header can be read.
    fn receive_call<const CHUNKS: usize>(
        &mut self,
        receive: u32,
        prefix: Prefix,
        call: &ReceivedCall<'_>,
        octets: &[u8],
        calls: &mut CallTable<CALLS, HEADER, CHUNKS>,
    ) {
        let is_other = || MessageType::peek(call.payload) != Some((prefix.xid, MessageType::CALL));
        if call.form == CallForm::Inline && is_other() {
            return self.turn_away(receive, prefix, MALFORMED, calls);
        }
        let JudgedCall { assembly, header } = match self.judge.judge_call(&calls.terms, prefix.xid, call, octets) {
            Ok(judged) if !self.judge.is_refused(prefix.xid) => judged,
            Ok(_) => return self.turn_away(receive, prefix, SYSTEM, calls),
            Err(NotAssembled::Error(error)) => {
                let error = chunk_refusal(&calls.terms, error);
                return self.turn_away(receive, prefix, error, calls);
            }
            Err(NotAssembled::Misplaced) => return self.refuse_misplaced(receive, prefix, call, octets, calls),
        };
        if let Some(slot) = self.admit_call(receive, Stage::Reading, prefix, calls) {
            if !header.is_empty() {
                slot.keep_header(header);
            }
            slot.from = call.header_length;
            (slot.items, slot.length) = (assembly.items, assembly.length);
            slot.form = if call.form == CallForm::Long { ReplyForm::Long } else { ReplyForm::Short };
            slot.protected = !call.lists.chunks.writes.is_empty()
                && rpc::RpcCall::decode(call.payload).is_ok_and(|(call, _)| is_protected(&call));
        }
    }

    /// Answers a Call with an error before any RDMA Read was posted.
    #[cold]
    fn turn_away<const CHUNKS: usize>(
        &mut self,
        receive: u32,
        prefix: Prefix,
        error: ErrorBodyV2,
        calls: &mut CallTable<CALLS, HEADER, CHUNKS>,
    ) {
        self.admit_call(receive, Stage::Refusing(prefix, error), prefix, calls);
    }

    /// Answers a Call with misplaced Read chunks: with `GARBAGE_ARGS`, or an error if this end cannot make that RPC
    /// Reply.
    #[cold]
    fn refuse_misplaced<const CHUNKS: usize>(
        &mut self,
        receive: u32,
        prefix: Prefix,
        call: &ReceivedCall<'_>,
        octets: &[u8],
        calls: &mut CallTable<CALLS, HEADER, CHUNKS>,
    ) {
        let header = octets.get(..call.header_length).unwrap_or_default();
        if header.len() > HEADER || !can_reply_garbage(&calls.terms, prefix.xid, call) {
            return self.turn_away(receive, prefix, MALFORMED, calls);
        }
        if let Some(slot) = self.admit_call(receive, Stage::Misplaced, prefix, calls) {
            slot.keep_header(header);
        }
    }

    /// Gives a Call a slot; if there is none, the Receive is released.
    fn admit_call<'a, const CHUNKS: usize>(
        &mut self,
        receive: u32,
        stage: Stage,
        prefix: Prefix,
        calls: &'a mut CallTable<CALLS, HEADER, CHUNKS>,
    ) -> Option<&'a mut Slot<HEADER, CHUNKS>> {
        let admitted = calls.admit(receive, stage, prefix);
        if admitted.is_none() {
            self.receipt = Receipt::Release(receive);
        }
        admitted.map(|(_, slot)| slot)
    }
}

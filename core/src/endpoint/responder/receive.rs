//! Received messages: a Call gets a slot, and is read or refused.

use super::judge::JudgedCall;
use super::slot::{Slot, Stage};
use super::{Form, MALFORMED, Responder, SYSTEM, State};
use crate::endpoint::limits::NotAssembled;
use crate::endpoint::receipt::Receipt;
use crate::endpoint::wire::{CallForm, CallReceived, ReceivedCall};
use crate::endpoint::{CallId, InputError, is_protected};
use crate::prefix::Prefix;
use crate::rpc::{self, MessageType};
use crate::v2::ErrorBodyV2;

impl<const CALLS: usize, const HEADER: usize, const CHUNKS: usize> Responder<CALLS, HEADER, CHUNKS> {
    pub(super) fn receive(&mut self, receive: u32, octets: &[u8]) -> Result<(), InputError> {
        if self.receipt.is_due() {
            return Err(InputError::NotPolled);
        }
        if self.collecting.is_some() && self.continue_collection(receive, octets) {
            return Ok(());
        }
        match CallReceived::decode(self.terms.version, octets) {
            CallReceived::Part(prefix, part, two) => self.begin_collection(receive, prefix, part, two),
            CallReceived::Call(prefix, call) => self.receive_call(receive, prefix, &call, octets),
            CallReceived::Fault(prefix, error) => self.turn_away(receive, prefix, error),
            CallReceived::Done(xid) => {
                self.handle_done(xid);
                self.receipt = Receipt::Release(receive);
            }
            CallReceived::Nothing => self.receipt = Receipt::Release(receive),
        }
        Ok(())
    }

    /// Handles `RDMA_DONE`, which has no answer. If no reply is provided, discards the message (section 4.6.2).
    fn handle_done(&mut self, xid: u32) {
        let provided = |slot: &Slot<HEADER, CHUNKS>| slot.stage == Stage::Provided && slot.prefix.xid == xid;
        let call = self.slots.iter().find(|(_, slot)| provided(slot)).map(|(call, _)| call);
        let _ = call.map(|call| self.expire(call));
    }

    /// Handles a Call whose header can be read.
    fn receive_call(&mut self, receive: u32, prefix: Prefix, call: &ReceivedCall<'_>, octets: &[u8]) {
        let is_other = || MessageType::peek(call.payload) != Some((prefix.xid, MessageType::CALL));
        if call.form == CallForm::Inline && is_other() {
            return self.turn_away(receive, prefix, MALFORMED);
        }
        let JudgedCall { assembly, header } = match self.judge_call(prefix.xid, call, octets) {
            Ok(judged) if !self.is_refused(prefix.xid) => judged,
            Ok(_) => return self.turn_away(receive, prefix, SYSTEM),
            Err(NotAssembled::Error(error)) => return self.turn_away(receive, prefix, self.refusal(error)),
            Err(NotAssembled::Misplaced) => return self.refuse_misplaced(receive, prefix, call, octets),
        };
        if let Some(slot) = self.admit(receive, Stage::Reading, prefix) {
            if !header.is_empty() {
                slot.keep_header(header);
            }
            slot.from = call.header_length;
            (slot.items, slot.length) = (assembly.items, assembly.length);
            slot.form = if call.form == CallForm::Long { Form::Long } else { Form::Short };
            slot.protected = !call.lists.chunks.writes.is_empty()
                && rpc::RpcCall::decode(call.payload).is_ok_and(|(call, _)| is_protected(&call));
        }
    }

    /// Answers a Call with an error before any RDMA Read was posted.
    #[cold]
    pub(super) fn turn_away(&mut self, receive: u32, prefix: Prefix, error: ErrorBodyV2) {
        self.admit(receive, Stage::Refusing(prefix, error), prefix);
    }

    /// Gives a Call a slot. Disconnects a peer that sends more than was ever granted; before the first grant, more than
    /// is about to be granted.
    pub(super) fn admit(&mut self, receive: u32, stage: Stage, prefix: Prefix) -> Option<&mut Slot<HEADER, CHUNKS>> {
        self.admit_as(receive, stage, prefix).map(|(_, slot)| slot)
    }

    pub(super) fn admit_as(
        &mut self,
        receive: u32,
        stage: Stage,
        prefix: Prefix,
    ) -> Option<(CallId, &mut Slot<HEADER, CHUNKS>)> {
        let may = self.state == State::Open && self.has_place();
        let taken = if may { self.slots.take_slot() } else { None };
        let Some((id, slot)) = taken else {
            self.receipt = Receipt::Release(receive);
            self.fail();
            return None;
        };
        slot.begin_call(receive, stage, prefix, self.terms.version);
        self.mark_ready(id);
        self.slots.get(id).map(|slot| (id, slot))
    }
}

//! A Call of version 2 in several Sends: parts are collected until the last has come or one is missing.

use super::calls::{CallTable, MALFORMED, SYSTEM};
use super::judge::CallJudge;
use super::slot::{Slot, Stage};
use crate::endpoint::limits::NotAssembled;
use crate::endpoint::receipt::{Placement, Receipt};
use crate::endpoint::version::SpeaksTwo;
use crate::endpoint::wire::{CallReceived, ReceivedCall, ReceivedPart};
use crate::endpoint::{CallId, Limits};
use crate::prefix::Prefix;
use crate::v2::{ErrorBodyV2, ErrorCode};

impl<const CALLS: usize, const HEADER: usize, const CHUNKS: usize> CallTable<CALLS, HEADER, CHUNKS> {
    /// Handles the first part of a Call.
    #[cold]
    pub(super) fn begin_collection(
        &mut self,
        receive: u32,
        prefix: Prefix,
        part: ReceivedPart,
        two: SpeaksTwo,
        judge: &mut CallJudge<CALLS, HEADER>,
    ) -> Receipt {
        let stage = if judge.is_refused(prefix.xid) { Stage::Refusing(prefix, SYSTEM) } else { Stage::Collecting };
        let Some((call, slot)) = self.admit(receive, stage, prefix) else { return Receipt::Release(receive) };
        // It is released as soon as its octets were copied.
        slot.receive = None;
        self.collecting = Some((call, two));
        self.append_part(call, receive, part, &judge.limits)
    }

    /// Handles the next part of the Call that is being collected. Returns `None` if the message is no part of that Call.
    /// Another Call ends the collection.
    #[cold]
    pub(super) fn continue_collection(
        &mut self,
        receive: u32,
        octets: &[u8],
        judge: &CallJudge<CALLS, HEADER>,
    ) -> Option<Receipt> {
        let (call, _) = self.collecting?;
        let (family, two) = self.terms.version.two()?;
        let decoded = CallReceived::decode_2(family, two, octets);
        let (CallReceived::Part(prefix, ..) | CallReceived::Call(prefix, _) | CallReceived::Fault(prefix, _)) = decoded
        else {
            return None;
        };
        if !self.collects(prefix.xid) {
            self.break_collection(ErrorBodyV2::Void(ErrorCode::INVAL_CONT));
            return None;
        }
        match decoded {
            CallReceived::Part(_, part, _) => Some(self.append_part(call, receive, part, &judge.limits)),
            CallReceived::Call(prefix, last) => Some(self.complete_collection(receive, prefix, &last, octets, judge)),
            CallReceived::Fault(_, error) => {
                self.break_collection(error);
                Some(Receipt::Release(receive))
            }
            CallReceived::Done(_) | CallReceived::Nothing => None,
        }
    }

    /// Returns true if a message with this XID is a part of the Call that is being collected.
    fn collects(&self, xid: u32) -> bool {
        self.collecting.is_some_and(|(call, _)| self.slots.peek(call).is_some_and(|slot| slot.prefix.xid == xid))
    }

    /// Handles the last part of a Call, which has the chunks.
    #[cold]
    #[inline(never)]
    fn complete_collection(
        &mut self,
        receive: u32,
        prefix: Prefix,
        last: &ReceivedCall<'_>,
        octets: &[u8],
        judge: &CallJudge<CALLS, HEADER>,
    ) -> Receipt {
        let part = ReceivedPart { header_length: last.header_length, length: last.payload.len() };
        let judged = if last.lists.have_reads() {
            // The positions of the parts would have to be known before.
            Err(ErrorBodyV2::ReadChunks { max_chunks: 0 }.into())
        } else {
            judge.judge_call::<CHUNKS>(&self.terms, prefix.xid, last, octets)
        };
        let header = match judged {
            Ok(judged) => judged.header,
            Err(refused) => {
                self.break_collection(match refused {
                    NotAssembled::Error(error) => error,
                    NotAssembled::Misplaced => MALFORMED,
                });
                return Receipt::Release(receive);
            }
        };
        let Some((call, _)) = self.collecting else { return Receipt::Release(receive) };
        let receipt = self.append_part(call, receive, part, &judge.limits);
        let is_collecting = |slot: &&mut Slot<HEADER, CHUNKS>| slot.stage == Stage::Collecting;
        let Some(slot) = self.slots.get(call).filter(is_collecting) else {
            self.break_collection(SYSTEM);
            return receipt;
        };
        slot.keep_header(header);
        slot.stage = Stage::Reading;
        self.collecting = None;
        self.mark_ready(call);
        receipt
    }

    /// Ends the collection of a Call whose rest will not come, as the channel has found.
    pub(super) fn break_call(&mut self, xid: u32, error: ErrorBodyV2) {
        if self.collects(xid) {
            self.break_collection(error);
        }
    }

    /// Ends the collection: the rest of the Call will not come. Answers with this error, unless the Call was answered
    /// already.
    fn break_collection(&mut self, error: ErrorBodyV2) {
        let Some((call, _)) = self.collecting.take() else { return };
        if self.slots.peek(call).is_some_and(|slot| slot.stage == Stage::Refused) {
            self.slots.free(call);
        } else {
            self.give_up(call, error);
        }
    }

    /// Appends a part that fits. Parts of a refused Call are discarded.
    fn append_part(&mut self, call: CallId, receive: u32, part: ReceivedPart, limits: &Limits) -> Receipt {
        let collected = self.slots.iter().fold(0, |sum: u64, (_, slot)| sum.saturating_add(u64::from(slot.collected)));
        let Some(slot) = self.slots.get(call).filter(|slot| slot.stage == Stage::Collecting) else {
            return Receipt::Release(receive);
        };
        let length = u32::try_from(part.length).unwrap_or(u32::MAX);
        let all = slot.length.saturating_add(length);
        if all > limits.octets || collected.saturating_add(u64::from(length)) > u64::from(limits.collected) {
            // The drafts have no code for this.
            self.give_up(call, SYSTEM);
            return Receipt::Release(receive);
        }
        let at = slot.length;
        (slot.length, slot.collected) = (all, all);
        if length == 0 {
            return Receipt::Release(receive);
        }
        Receipt::Place(Placement { call, receive, from: part.header_length, length, at })
    }

    /// Answers a Call of which only a part has come.
    fn give_up(&mut self, call: CallId, error: ErrorBodyV2) {
        if let Some(slot) = self.slots.get(call).filter(|slot| slot.stage == Stage::Collecting) {
            (slot.stage, slot.collected) = (Stage::Refusing(slot.prefix, error), 0);
            self.mark_ready(call);
        }
    }
}

//! A Call of version 2 in several Sends: parts are collected until the last has come or one is missing.

use super::slot::{Slot, Stage};
use super::{MALFORMED, Responder, SYSTEM};
use crate::endpoint::CallId;
use crate::endpoint::limits::NotAssembled;
use crate::endpoint::receipt::{Placement, Receipt};
use crate::endpoint::version::SpeaksTwo;
use crate::endpoint::wire::{CallReceived, ReceivedCall, ReceivedPart};
use crate::prefix::Prefix;
use crate::v2::{ErrorBodyV2, ErrorCode};

impl<const CALLS: usize, const HEADER: usize, const CHUNKS: usize> Responder<CALLS, HEADER, CHUNKS> {
    /// Handles the first part of a Call.
    #[cold]
    pub(super) fn begin_collection(&mut self, receive: u32, prefix: Prefix, part: ReceivedPart, two: SpeaksTwo) {
        let stage = if self.is_refused(prefix.xid) { Stage::Refusing(prefix, SYSTEM) } else { Stage::Collecting };
        let Some((call, slot)) = self.admit_as(receive, stage, prefix) else { return };
        // It is released as soon as its octets were copied.
        slot.receive = None;
        self.collecting = Some((call, two));
        self.append_part(receive, part);
    }

    /// Handles the next part of the Call that is being collected. Returns false if the message is no part of that Call.
    /// Another Call ends the collection.
    #[cold]
    pub(super) fn continue_collection(&mut self, receive: u32, octets: &[u8]) -> bool {
        let Some((family, two)) = self.terms.version.two() else { return false };
        let decoded = CallReceived::decode_2(family, two, octets);
        let (CallReceived::Part(prefix, ..) | CallReceived::Call(prefix, _) | CallReceived::Fault(prefix, _)) = decoded
        else {
            return false;
        };
        let is_next = self.collects(prefix.xid);
        match decoded {
            _ if !is_next => self.break_collection(ErrorBodyV2::Void(ErrorCode::INVAL_CONT)),
            CallReceived::Part(_, part, _) => self.append_part(receive, part),
            CallReceived::Call(prefix, call) => self.complete_collection(receive, prefix, &call, octets),
            CallReceived::Fault(_, error) => {
                self.break_collection(error);
                self.receipt = Receipt::Release(receive);
            }
            CallReceived::Done(_) | CallReceived::Nothing => {}
        }
        is_next
    }

    /// Returns true if a message with this XID is a part of the Call that is being collected.
    fn collects(&self, xid: u32) -> bool {
        self.collecting.is_some_and(|(call, _)| self.slots.peek(call).is_some_and(|slot| slot.prefix.xid == xid))
    }

    /// Appends a part that fits. Parts of a refused Call are discarded.
    fn append_part(&mut self, receive: u32, part: ReceivedPart) {
        self.receipt = Receipt::Release(receive);
        let collected = self.slots.iter().fold(0, |sum: u64, (_, slot)| sum.saturating_add(u64::from(slot.collected)));
        let Some((call, _)) = self.collecting else { return };
        let Some(slot) = self.slots.get(call).filter(|slot| slot.stage == Stage::Collecting) else { return };
        let length = u32::try_from(part.length).unwrap_or(u32::MAX);
        let all = slot.length.saturating_add(length);
        if all > self.limits.octets || collected.saturating_add(u64::from(length)) > u64::from(self.limits.collected) {
            // The drafts have no code for this.
            return self.give_up(call, SYSTEM);
        }
        let at = slot.length;
        (slot.length, slot.collected) = (all, all);
        if length > 0 {
            self.receipt = Receipt::Place(Placement { call, receive, from: part.header_length, length, at });
        }
    }

    /// Handles the last part of a Call, which has the chunks.
    #[cold]
    #[inline(never)]
    fn complete_collection(&mut self, receive: u32, prefix: Prefix, call: &ReceivedCall<'_>, octets: &[u8]) {
        let part = ReceivedPart { header_length: call.header_length, length: call.payload.len() };
        let judged = if call.lists.have_reads() {
            // The positions of the parts would have to be known before.
            Err(ErrorBodyV2::ReadChunks { max_chunks: 0 }.into())
        } else {
            self.judge_call(prefix.xid, call, octets)
        };
        let header = match judged {
            Ok(judged) => judged.header,
            Err(refused) => {
                self.receipt = Receipt::Release(receive);
                return self.break_collection(match refused {
                    NotAssembled::Error(error) => error,
                    NotAssembled::Misplaced => MALFORMED,
                });
            }
        };
        self.append_part(receive, part);
        let is_collecting = |slot: &&mut Slot<HEADER, CHUNKS>| slot.stage == Stage::Collecting;
        let Some(slot) = self.collecting.and_then(|(call, _)| self.slots.get(call)).filter(is_collecting) else {
            return self.break_collection(SYSTEM);
        };
        slot.keep_header(header);
        slot.stage = Stage::Reading;
        if let Some((call, _)) = self.collecting.take() {
            self.mark_ready(call);
        }
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

    /// Answers a Call of which only a part has come.
    fn give_up(&mut self, call: CallId, error: ErrorBodyV2) {
        if let Some(slot) = self.slots.get(call).filter(|slot| slot.stage == Stage::Collecting) {
            (slot.stage, slot.collected) = (Stage::Refusing(slot.prefix, error), 0);
            self.mark_ready(call);
        }
    }
}

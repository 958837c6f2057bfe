//! Sends of the answers: replies, in one Send or in parts, and refusals.

use super::calls::CallTable;
use super::output::Output;
use super::reply::ReplyForm;
use super::slot::Stage;
use crate::endpoint::CallId;
use crate::endpoint::parts::EncodedPart;
use crate::endpoint::queue::Queue;
use crate::endpoint::stream::Ranges;
use crate::endpoint::version::SpeaksTwo;
use crate::error::EncodeError;

/// Answers that wait to be sent, and the one of which a part was sent.
#[derive(Debug)]
pub(super) struct AnswerSender<const CALLS: usize> {
    /// Number of messages that may be sent, and answers that wait for that.
    permitted: u32,
    unsent: Queue<CALLS>,
    /// The Call whose reply is sent in parts, until the last part.
    continuing: Option<(CallId, SpeaksTwo)>,
}

impl<const CALLS: usize> AnswerSender<CALLS> {
    pub(super) const fn new() -> Self {
        Self { permitted: u32::MAX, unsent: Queue::new(), continuing: None }
    }

    pub(super) fn enlarge<const MORE: usize>(self) -> AnswerSender<MORE> {
        AnswerSender { permitted: self.permitted, unsent: self.unsent.enlarge(), continuing: self.continuing }
    }

    /// Sets the number of messages that may be sent now.
    pub(super) fn permit_messages<const HEADER: usize, const CHUNKS: usize>(
        &mut self,
        messages: u32,
        calls: &mut CallTable<CALLS, HEADER, CHUNKS>,
    ) {
        self.permitted = messages;
        // Without a message to send they would only come back.
        while messages > 0
            && let Some(call) = self.unsent.pop()
        {
            calls.ready.push(call);
        }
    }

    pub(super) const fn may_send(&self) -> bool {
        self.permitted > 0
    }

    /// Returns the Call whose reply is sent in parts, if the next part may be sent.
    #[inline(always)]
    pub(super) fn continued_call(&self) -> Option<CallId> {
        self.continuing.filter(|_| self.may_send()).map(|(call, _)| call)
    }

    /// Lets an answer wait until a message may be sent.
    pub(super) fn wait_for_permission(&mut self, call: CallId) {
        self.unsent.push(call);
    }

    pub(super) const fn clear(&mut self) {
        self.unsent.clear();
        self.continuing = None;
    }

    /// Sends the answer to the first Call that is ready, or the first part of the answer.
    pub(super) fn send_answer<'a, const HEADER: usize, const CHUNKS: usize>(
        &mut self,
        call: CallId,
        buffer: &mut [u8],
        calls: &'a mut CallTable<CALLS, HEADER, CHUNKS>,
    ) -> Result<Option<Output<'a>>, EncodeError> {
        let grant = calls.next_grant();
        let Some(slot) = calls.slots.get(call) else { return Ok(None) };
        if let Some((_, two)) = calls.terms.version.two()
            && slot.form == ReplyForm::Continued
            && slot.stage == Stage::Answering
        {
            slot.queued = false;
            calls.ready.pop();
            self.continuing = Some((call, two));
            return self.send_part(call, buffer, calls);
        }
        let header = slot.encode(grant, buffer)?;
        let answering = slot.stage == Stage::Answering;
        let provided = answering && slot.form == ReplyForm::Provided;
        if provided {
            (slot.stage, slot.queued) = (Stage::Provided, false);
        }
        // Parts of a refused Call may still come.
        let is_collected = !answering && calls.collecting.is_some_and(|(collecting, _)| collecting == call);
        if is_collected {
            (slot.stage, slot.queued) = (Stage::Refused, false);
        }
        calls.record_grant(grant);
        calls.ready.pop();
        if is_collected {
            return Ok(Some(Output::Send { call, header, payload: Ranges::empty(), invalidate: None, is_last: true }));
        }
        let slot = if provided { calls.slots.get(call) } else { calls.slots.free(call) };
        let Some(slot) = slot else { return Ok(None) };
        let invalidate = if answering && calls.terms.remote_invalidation { slot.invalidated_handle() } else { None };
        let inline = answering && slot.form == ReplyForm::Short;
        let payload = if inline { Ranges::new(&slot.items, slot.length) } else { Ranges::empty() };
        Ok(Some(Output::Send { call, header, payload, invalidate, is_last: true }))
    }

    /// Sends the next part of a continued reply.
    #[cold]
    pub(super) fn send_part<'a, const HEADER: usize, const CHUNKS: usize>(
        &mut self,
        call: CallId,
        buffer: &mut [u8],
        calls: &'a mut CallTable<CALLS, HEADER, CHUNKS>,
    ) -> Result<Option<Output<'a>>, EncodeError> {
        let Some(slot) = calls.slots.get(call) else { return Ok(None) };
        let EncodedPart { header_length: header, portion } = slot.encode_part(buffer)?;
        let (from, is_last) = (slot.record_sent_part(portion), portion.is_last);
        let slot = if is_last {
            self.continuing = None;
            calls.slots.free(call).map(|slot| &*slot)
        } else {
            calls.slots.peek(call)
        };
        let Some(slot) = slot else { return Ok(None) };
        let invalidate = if is_last && calls.terms.remote_invalidation { slot.invalidated_handle() } else { None };
        let payload = Ranges::new(&slot.items, slot.length).window(from, portion.length);
        Ok(Some(Output::Send { call, header, payload, invalidate, is_last }))
    }
}

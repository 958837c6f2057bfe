//! Outputs of a Responder: the steps of a Call, and the Sends of the reply.

use super::slot::{Stage, Step};
use super::{Form, Output, Responder, State};
use crate::endpoint::CallId;
use crate::endpoint::parts::EncodedPart;
use crate::endpoint::receipt::Placement;
use crate::endpoint::stream::Ranges;
use crate::error::EncodeError;

impl<const CALLS: usize, const HEADER: usize, const CHUNKS: usize> Responder<CALLS, HEADER, CHUNKS> {
    /// Returns the next output, if there is one. The header of a `Send` is written to the start of `header`.
    ///
    /// # Errors
    /// An [`EncodeError`] if `header` is too small; with a larger one, the next call returns the same output.
    pub fn poll(&mut self, header: &mut [u8]) -> Result<Option<Output<'_>>, EncodeError> {
        if self.receipt.is_due() {
            let place =
                |Placement { call, receive, from, length, at }| Output::Place { call, receive, from, length, at };
            return Ok(self.receipt.next(|receive| Output::Release { receive }, place));
        }
        if self.state == State::Failing {
            self.state = State::Over;
            return Ok(Some(Output::Disconnect));
        }
        if self.state == State::Over {
            return Ok(None);
        }
        // While a message may be sent, this is it: nothing else comes between its parts.
        if let Some((call, _)) = self.continuing
            && self.permitted > 0
        {
            return self.send_part(call, header);
        }
        self.next_step(header)
    }

    /// Returns the next step of a Call that has one. A Call that has to wait leaves the queue to the next.
    #[inline(always)]
    fn next_step(&mut self, header: &mut [u8]) -> Result<Option<Output<'_>>, EncodeError> {
        while let Some(call) = self.ready.first() {
            let Some(slot) = self.slots.get(call) else {
                self.ready.pop();
                continue;
            };
            let may_read = self.reading < self.most_reads;
            return Ok(Some(match slot.step(may_read, self.transfer) {
                Step::Wait => {
                    slot.queued = false;
                    self.ready.pop();
                    continue;
                }
                Step::Hold => {
                    self.ready.pop();
                    self.blocked.push(call);
                    continue;
                }
                Step::Place { receive, from, length, at } => Output::Place { call, receive, from, length, at },
                Step::Release(receive) => Output::Release { receive },
                Step::Forget(receive) => {
                    self.ready.pop();
                    self.slots.free(call);
                    Output::Release { receive }
                }
                Step::Read(piece) => {
                    self.reading = self.reading.saturating_add(1);
                    Output::Read { call, source: piece.remote, at: piece.at }
                }
                Step::Deliver => Output::Deliver { call, message: slot.message() },
                Step::Register => Output::Register { call, length: slot.length },
                Step::Invalidate(handle) => {
                    // Answering may free its slot.
                    slot.queued = false;
                    self.ready.pop();
                    Output::Invalidate { call, handle }
                }
                Step::Write(piece) => Output::Write { call, from: piece.at, target: piece.remote },
                Step::Send if self.permitted > 0 => return self.send(call, header),
                Step::Send => {
                    self.ready.pop();
                    self.unsent.push(call);
                    continue;
                }
            }));
        }
        Ok(None)
    }

    fn send(&mut self, call: CallId, buffer: &mut [u8]) -> Result<Option<Output<'_>>, EncodeError> {
        let capacity = self.capacity.saturating_sub(self.provided);
        let Some(slot) = self.slots.get(call) else { return Ok(None) };
        if let Some((_, two)) = self.terms.version.two()
            && slot.form == Form::Continued
            && slot.stage == Stage::Answering
        {
            slot.queued = false;
            self.ready.pop();
            self.continuing = Some((call, two));
            return self.send_part(call, buffer);
        }
        let grant = self.grant.min(capacity);
        let header = slot.encode(grant, buffer)?;
        self.granted = self.granted.max(grant);
        self.ready.pop();
        let answering = slot.stage == Stage::Answering;
        let provided = answering && slot.form == Form::Provided;
        if provided {
            (slot.stage, slot.queued) = (Stage::Provided, false);
        }
        if !answering && self.collecting.is_some_and(|(collecting, _)| collecting == call) {
            (slot.stage, slot.queued) = (Stage::Refused, false);
            return Ok(Some(Output::Send { call, header, payload: Ranges::empty(), invalidate: None, is_last: true }));
        }
        let Some(slot) = (if provided { self.slots.get(call) } else { self.slots.free(call) }) else { return Ok(None) };
        let invalidate = if answering && self.terms.remote_invalidation { slot.invalidated_handle() } else { None };
        let inline = answering && slot.form == Form::Short;
        let payload = if inline { Ranges::new(&slot.items, slot.length) } else { Ranges::empty() };
        Ok(Some(Output::Send { call, header, payload, invalidate, is_last: true }))
    }

    /// Sends the next part of a continued reply.
    #[cold]
    fn send_part(&mut self, call: CallId, buffer: &mut [u8]) -> Result<Option<Output<'_>>, EncodeError> {
        let Some(slot) = self.slots.get(call) else { return Ok(None) };
        let EncodedPart { header_length: header, portion } = slot.encode_part(buffer)?;
        let (from, is_last) = (slot.record_sent_part(portion), portion.is_last);
        let slot = if is_last {
            self.continuing = None;
            self.slots.free(call).map(|slot| &*slot)
        } else {
            self.slots.peek(call)
        };
        let Some(slot) = slot else { return Ok(None) };
        let may = is_last && self.terms.remote_invalidation;
        let invalidate = if may { slot.invalidated_handle() } else { None };
        let payload = Ranges::new(&slot.items, slot.length).window(from, portion.length);
        Ok(Some(Output::Send { call, header, payload, invalidate, is_last }))
    }
}

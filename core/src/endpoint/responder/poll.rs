//! Outputs of a Responder: the steps of a Call, and the Sends of the reply.

use super::calls::State;
use super::slot::ResponderStep;
use super::{Output, Responder};
use crate::endpoint::receipt::Placement;
use crate::error::EncodeError;

impl<const CALLS: usize, const HEADER: usize, const CHUNKS: usize> Responder<CALLS, HEADER, CHUNKS> {
    /// Returns the next output, if there is one. The header of a `Send` is written to the start of `header`.
    ///
    /// # Errors
    /// An [`EncodeError`] if `header` is too small; with a larger one, the next call returns the same output.
    pub fn poll(&mut self, header: &mut [u8]) -> Result<Option<Output<'_>>, EncodeError> {
        let receipt = &mut self.reception.receipt;
        if receipt.is_due() {
            let place =
                |Placement { call, receive, from, length, at }| Output::Place { call, receive, from, length, at };
            return Ok(receipt.next(|receive| Output::Release { receive }, place));
        }
        match self.calls.state {
            State::Open => {}
            State::Failing => {
                self.calls.state = State::Over;
                return Ok(Some(Output::Disconnect));
            }
            State::Over => return Ok(None),
        }
        // While a message may be sent, this is it: nothing else comes between its parts.
        if let Some(call) = self.answers.continued_call() {
            return self.answers.send_part(call, header, &mut self.calls);
        }
        self.next_step(header)
    }

    /// Returns the next step of a Call that has one. A Call that has to wait leaves the queue to the next.
    #[inline(always)]
    fn next_step(&mut self, header: &mut [u8]) -> Result<Option<Output<'_>>, EncodeError> {
        let Self { calls, transfers, answers, .. } = self;
        while let Some(call) = calls.ready.first() {
            let Some(slot) = calls.slots.get(call) else {
                calls.ready.pop();
                continue;
            };
            return Ok(Some(match slot.step(transfers.may_read(), transfers.most_octets) {
                ResponderStep::Wait => {
                    slot.queued = false;
                    calls.ready.pop();
                    continue;
                }
                ResponderStep::Hold => {
                    calls.ready.pop();
                    calls.blocked.push(call);
                    continue;
                }
                ResponderStep::Place { receive, from, length, at } => Output::Place { call, receive, from, length, at },
                ResponderStep::Release(receive) => Output::Release { receive },
                ResponderStep::Forget(receive) => {
                    calls.ready.pop();
                    calls.slots.free(call);
                    Output::Release { receive }
                }
                ResponderStep::Read(piece) => {
                    transfers.begin_read();
                    Output::Read { call, source: piece.remote, at: piece.at }
                }
                ResponderStep::Deliver => Output::Deliver { call, message: slot.message() },
                ResponderStep::Register => Output::Register { call, length: slot.length },
                ResponderStep::Invalidate(handle) => {
                    // Answering may free its slot.
                    slot.queued = false;
                    calls.ready.pop();
                    Output::Invalidate { call, handle }
                }
                ResponderStep::Write(piece) => Output::Write { call, from: piece.at, target: piece.remote },
                ResponderStep::Send if answers.may_send() => {
                    return answers.send_answer(call, header, calls);
                }
                ResponderStep::Send => {
                    calls.ready.pop();
                    answers.wait_for_permission(call);
                    continue;
                }
            }));
        }
        Ok(None)
    }
}

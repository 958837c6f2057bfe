//! Answers of the upper layer to a Call: a reply, or none.

use super::slot::{Slot, Stage};
use super::{Form, MALFORMED, Reply, ReplyFault, Responder};
use crate::endpoint::{CallId, stream};
use crate::rpc::MessageType;

impl<const CALLS: usize, const HEADER: usize, const CHUNKS: usize> Responder<CALLS, HEADER, CHUNKS> {
    /// Answers a Call that was delivered.
    ///
    /// # Errors
    /// A [`ReplyFault`] if `reply` is no reply to this Call; then nothing is changed.
    pub fn reply(&mut self, call: CallId, reply: &Reply<'_>) -> Result<Form, ReplyFault> {
        let (terms, may_provide) = (self.terms, self.provided < self.most_provided);
        let slot = self.delivered(call)?;
        if MessageType::peek(reply.head) != Some((slot.prefix.xid, MessageType::REPLY)) {
            return Err(ReplyFault::Xid);
        }
        if !stream::is_sound(reply.head, reply.length, reply.results) {
            return Err(ReplyFault::Items);
        }
        let form = match slot.plan(reply, &terms, may_provide) {
            Ok(form) => {
                slot.stage = if form == Form::Provided { Stage::Register } else { Stage::Answering };
                form
            }
            Err(error) => {
                slot.stage = Stage::Refusing(slot.prefix, error);
                Form::Refused
            }
        };
        self.provided = self.provided.saturating_add(u32::from(form == Form::Provided));
        self.mark_ready(call);
        Ok(form)
    }

    /// Answers a delivered Call with `ERR_CHUNK`: there can be no RPC reply.
    ///
    /// # Errors
    /// [`ReplyFault::NoCall`] if there is no such call.
    pub fn refuse(&mut self, call: CallId) -> Result<(), ReplyFault> {
        let slot = self.delivered(call)?;
        slot.stage = Stage::Refusing(slot.prefix, MALFORMED);
        self.mark_ready(call);
        Ok(())
    }

    /// Forgets a delivered one-way Call of version 2: a Call of a procedure that has no reply (version two draft -07
    /// section 4.7). Only the upper layer recognises such a Call; the Requester of any other Call would wait for ever.
    ///
    /// # Errors
    /// [`ReplyFault::NoCall`] if there is no such call; [`ReplyFault::Owed`] in version 1. Then nothing is changed.
    pub fn forget(&mut self, call: CallId) -> Result<(), ReplyFault> {
        let version = self.terms.version;
        let slot = self.delivered(call)?;
        if version.family().is_none() {
            return Err(ReplyFault::Owed);
        }
        if slot.receive.is_some() {
            slot.stage = Stage::Forgetting;
            self.mark_ready(call);
        } else {
            self.slots.free(call);
        }
        Ok(())
    }

    fn delivered(&mut self, call: CallId) -> Result<&mut Slot<HEADER, CHUNKS>, ReplyFault> {
        self.slots.get(call).filter(|slot| slot.stage == Stage::Delivered).ok_or(ReplyFault::NoCall)
    }
}

//! A Call with a valid header whose Read chunks do not fit the Payload stream: answered with `GARBAGE_ARGS` (RFC 8166
//! section 4.5.2; version two draft -07 section 7.2).

use super::slot::Stage;
use super::{MALFORMED, Responder};
use crate::endpoint::wire::{AnyReplyHeader, CallForm, GarbageReply, ReceivedCall};
use crate::prefix::Prefix;
use crate::rpc::{Flavor, RpcCall};

impl<const CALLS: usize, const HEADER: usize, const CHUNKS: usize> Responder<CALLS, HEADER, CHUNKS> {
    /// Answers a Call with misplaced Read chunks. If this end cannot make the RPC Reply, the answer is an error: the
    /// RPC header is in a chunk, the verifier is for the upper layer to make (RPCSEC_GSS), or the chunks of the Call
    /// leave no space.
    #[cold]
    pub(super) fn refuse_misplaced(&mut self, receive: u32, prefix: Prefix, call: &ReceivedCall<'_>, octets: &[u8]) {
        let header = octets.get(..call.header_length).unwrap_or_default();
        let reply = AnyReplyHeader::new(self.terms.version, prefix.xid, 0, &call.lists.chunks);
        let length = GarbageReply::new(reply, prefix.xid).encoded_len() as u64;
        let fits = length <= u64::from(self.terms.reply_threshold) && header.len() <= HEADER;
        let is_signed = |call: RpcCall<'_>| call.credential.flavor == Flavor::RPCSEC_GSS;
        let can_reply = RpcCall::decode(call.payload).is_ok_and(|(call, _)| !is_signed(call));
        if !(fits && can_reply && call.form == CallForm::Inline) {
            return self.turn_away(receive, prefix, MALFORMED);
        }
        if let Some(slot) = self.admit(receive, Stage::Misplaced, prefix) {
            slot.keep_header(header);
        }
    }
}

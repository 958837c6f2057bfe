//! Direction of a Send: call or reply.

use rpcrdma::lists::WriteChunk;
use rpcrdma::prefix::Prefix;
use rpcrdma::rpc::MessageType;
use rpcrdma::v1::{self, Body, ErrorReply};
use rpcrdma::v2;

use super::call::Call;
use super::state::Session;
use crate::carrier::operation::Side;
use crate::rpc::header::{self, Decoded, Dialect, Header};
use crate::rpc::message::{Captured, Message};
use crate::rpc::properties::MessageDirection;

impl Session {
    /// Returns the direction of a message. The payload shows the direction. Without a payload, the chunks of the
    /// message and the waiting calls do. Failing that, a client's message counts as a call, so that an unreadable
    /// request is matched with its answer.
    pub(super) fn direction(&self, message: &Message) -> Option<MessageDirection> {
        let sender = message.sender;
        if message.error().is_some() {
            return Some(MessageDirection::Reply);
        }
        let xid = message.rdma_xid()?;
        let asks = (self.client == Some(sender)).then_some(MessageDirection::Call);
        // Messages that may be of either wire format carry no RPC.
        if message.dialect == Dialect::Version2Unknown && matches!(message.prefix()?.procedure.0, 4..=6) {
            return None;
        }
        let Ok(decoded) = message.decode() else { return asks };
        let waits = self.waits(sender.other(), xid);
        let answers = self.client == Some(sender.other()) || waits;
        let header = match decoded.header {
            Header::V1(header) => header,
            Header::V2(header) => return self.direction_v2(message, &decoded, &header),
        };
        match header.body {
            Body::Msg(_) | Body::Msgp { .. } => said(decoded.payload).or(asks).or_else(|| {
                // A message that the capture cut before its direction answers the call that waits for it.
                let is_cut = message.captured != Captured::Whole;
                (is_cut && waits && self.client == Some(sender.other())).then_some(MessageDirection::Reply)
            }),
            // A long call has a Position Zero Read chunk; a long reply has no Read list (RFC 8166 section 4.3.1), unless
            // the responder provides it (draft-cel-nfsv4-reliable-reply). Such a reply may return the Reply chunk of its call.
            Body::Nomsg(chunks) if !chunks.reads.is_empty() => {
                let is_returned = chunks.reply.is_none_or(|chunk| self.offers(sender.other(), xid, &chunk));
                let is_provided = self.client == Some(sender.other()) && waits && is_returned;
                Some(if is_provided { MessageDirection::Reply } else { MessageDirection::Call })
            }
            Body::Nomsg(_) if answers => Some(MessageDirection::Reply),
            Body::Nomsg(_) => asks,
            Body::Error(_) | Body::Done => None,
        }
    }

    /// Returns the direction of a message of version 2, which the header says too.
    pub(super) fn direction_v2(
        &self,
        message: &Message,
        decoded: &Decoded<'_>,
        header: &v2::HeaderV2<'_>,
    ) -> Option<MessageDirection> {
        let announced =
            header.is_response().map(|is| if is { MessageDirection::Reply } else { MessageDirection::Call });
        match decoded.header.place() {
            header::PayloadPlace::Inline => said(&message.stream(decoded)).or(announced),
            header::PayloadPlace::Chunk => announced,
            header::PayloadPlace::Part | header::PayloadPlace::Nowhere => None,
        }
    }

    /// Returns true if this is a reply to a call that was not seen, or whose arguments were requested but not seen:
    /// these may be late.
    pub(super) fn is_early(&self, from: Side, send: &[u8]) -> bool {
        if self.number.is_none() {
            return false;
        }
        let mut family = self.family;
        let dialect = Dialect::recognise(send, false, &mut family);
        match Decoded::decode(dialect, send) {
            Ok(decoded) => match decoded.header {
                Header::V1(v1::Header { body: Body::Done, xid, .. }) => self.is_early_done(from, xid),
                _ => self.may_reply(from, &decoded) && self.lacks_call(from.other(), decoded.header.xid()),
            },
            Err(_) => self.is_early_refusal(from, dialect, send),
        }
    }

    /// Returns true for an RDMA_DONE of a reply that the requester asked to read and has not read completely.
    fn is_early_done(&self, from: Side, xid: u32) -> bool {
        let provided = self.calls.find_provided(from.other(), xid).and_then(|id| self.calls.get(id));
        provided.is_some_and(Call::is_pulled)
    }

    /// Returns true for an RDMA_ERROR of another version, for a call that was not seen. The refused message may be a
    /// version 2 message of an unknown wire format: such messages are not kept as calls.
    fn is_early_refusal(&self, from: Side, dialect: Dialect, send: &[u8]) -> bool {
        let refuses_unknown = dialect == Dialect::Version1 && self.undecided;
        let is_error = ErrorReply::decode(send).is_ok() && !refuses_unknown;
        is_error
            && Prefix::decode(send)
                .is_ok_and(|prefix| self.may_refuse_call(from, prefix.xid) && !self.waits(from.other(), prefix.xid))
    }

    /// Returns true if a Send may be a reply, as far as the first packet shows. [`direction`](Self::direction) judges a
    /// whole message by the calls that wait; here the call may be what is still to come.
    fn may_reply(&self, from: Side, decoded: &Decoded<'_>) -> bool {
        match decoded.header {
            Header::V1(header) => match header.body {
                Body::Msg(_) | Body::Msgp { .. } => said(decoded.payload) == Some(MessageDirection::Reply),
                Body::Nomsg(chunks) => chunks.reads.is_empty() && self.client != Some(from),
                Body::Error(_) => self.may_refuse_call(from, header.xid),
                Body::Done => false,
            },
            Header::V2(header) if decoded.header.place() == header::PayloadPlace::Nowhere => {
                header.error().is_some() && self.may_refuse_call(from, decoded.header.xid())
            }
            Header::V2(header) => header.is_response() == Some(true),
        }
    }

    /// Returns true if an error of this end is for a call, and not for a message that belongs to no RPC: nothing waits
    /// for that.
    fn may_refuse_call(&self, from: Side, xid: u32) -> bool {
        self.client == Some(from.other()) && !self.sends.is_without_rpc(from.other(), xid)
    }

    /// Returns true if a call was not seen, or if some of the data that the call asked for with chunks was not seen.
    fn lacks_call(&self, requester: Side, xid: u32) -> bool {
        let call = self.calls.find(requester, xid).and_then(|id| self.calls.get(id));
        call.is_none_or(Call::is_pulled)
    }

    /// Returns true if a call of an end waits, and has offered this Reply chunk.
    fn offers(&self, requester: Side, xid: u32, chunk: &WriteChunk<'_>) -> bool {
        let call = self.calls.find(requester, xid).and_then(|id| self.calls.get(id));
        call.is_some_and(|call| call.offers(chunk))
    }

    /// Returns true if a call of an end waits.
    pub(super) fn waits(&self, requester: Side, xid: u32) -> bool {
        self.calls.find(requester, xid).is_some()
    }
}

/// Returns the direction of a Payload stream.
fn said(stream: &[u8]) -> Option<MessageDirection> {
    match MessageType::peek(stream)?.1 {
        MessageType::CALL => Some(MessageDirection::Call),
        MessageType::REPLY => Some(MessageDirection::Reply),
        _ => None,
    }
}

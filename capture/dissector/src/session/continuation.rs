//! Joins the messages that carry parts of one Payload stream (version 2).
//!
//! Each end's parts are kept in the order that [`rpcrdma::v2::Continuation`] allows, and the last message gets the
//! parts as `Message::earlier`. After a loss, the rest of a stream looks like a separate stream. Only the beginning
//! of a stream has the XID of the header in the first word. An RPC that lacks a part is "not rebuilt".

use rpcrdma::error::DecodeErrorKind;
use rpcrdma::prefix::{Prefix, Procedure};
use rpcrdma::v2;

use super::sequence::Sequence;
use super::state::Session;
use crate::carrier::operation::Side;
use crate::rpc::header::{self, Decoded, Dialect, Header};
use crate::rpc::message::{Captured, Dropped, Earlier, Message};
use crate::rpc::not_rebuilt::NotRebuilt;

impl Session {
    /// Looks for an error in a Send. If the Send is an error for a Call whose last part has not come, the requester may
    /// send no further part. The error is [`early`](Self::is_early) all the same: the last part may be on its way, and
    /// then the error answers the whole Call.
    pub(super) fn may_end_sequence(&mut self, from: Side, send: &[u8]) {
        let order = &mut self.sequences.get_mut(from.other()).order;
        if order.is_open()
            && let Ok(prefix) = Prefix::decode(send)
            && prefix.procedure == Procedure::RDMA_ERROR
        {
            order.refused(prefix.xid);
        }
    }

    /// Joins a message with earlier ones of the same sender that brought parts of the same Payload stream. Returns
    /// false if the stream goes on, or if the message has to be dropped.
    pub(super) fn joins(&mut self, message: &mut Message) -> bool {
        let Dialect::Version2(family) = message.dialect else { return true };
        let sequence = self.sequences.get_mut(message.sender);
        let decoded = match message.decode() {
            Ok(decoded) => decoded,
            // It brings no octets, so the stream may go on without it.
            Err(error) if message.captured == Captured::Whole && error.kind == DecodeErrorKind::HeaderType => {
                return true;
            }
            Err(_) if message.captured == Captured::Whole => {
                let is_dropped = sequence.order.unread(family, &message.octets) == v2::Unread::Discard;
                message.dropped = is_dropped.then_some(Dropped::OfDroppedSequence);
                return !is_dropped;
            }
            // It may be a part of a stream.
            Err(_) => {
                *sequence = Sequence::default();
                return true;
            }
        };
        let Decoded { header: Header::V2(header), header_length, payload } = decoded else { return true };
        if message.captured == Captured::Head {
            // Its length is unknown, and so is where the next one continues.
            let goes_on = sequence.order.is_open() && decoded.header.place() == header::PayloadPlace::Inline;
            *sequence = Sequence::default();
            let missing = Some(NotRebuilt::Earlier);
            message.earlier = goes_on.then(|| Box::new(Earlier { missing, ..Earlier::default() }));
            return true;
        }
        let open = sequence.order.open_xid();
        let accepted = sequence.order.accept(&header, message.length.saturating_sub(header_length));
        // The error that ended a sequence in the middle waits for a Call that will not come.
        let ended = open.filter(|xid| *xid != header.xid() && sequence.order.open_xid() != open);
        if ended.is_some() {
            *self.without_rpc.get_mut(message.sender) = ended;
        }
        match accepted {
            Ok(v2::Part::Payload { offset, is_last: false }) => {
                if offset == 0 {
                    sequence.first = self.places.first;
                }
                sequence.begin(offset, self.span.began, header.xid(), payload);
                sequence.put(offset, payload);
                sequence.keep(&self.parts);
                false
            }
            Ok(v2::Part::Payload { offset, is_last: true }) => {
                sequence.begin(offset, self.span.began, header.xid(), payload);
                if offset > 0 {
                    self.earlier_parts = Some(sequence.first);
                }
                self.span.began = sequence.began;
                sequence.keep(&self.parts);
                self.parts = sequence.take_parts();
                message.earlier = sequence.end(offset).map(Box::new);
                true
            }
            Ok(v2::Part::Nothing) => true,
            Ok(v2::Part::Discard) if header.error().is_some() => {
                message.dropped = Some(Dropped::ErrorWithFlags);
                false
            }
            Ok(v2::Part::Discard) => {
                message.dropped = Some(Dropped::OfDroppedSequence);
                false
            }
            Err(error) => {
                message.dropped = Some(Dropped::Misplaced(error));
                false
            }
        }
    }
}

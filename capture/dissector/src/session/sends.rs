//! Sends of both ends: their parts, and the messages that carry parts of one Payload stream (version 2).
//!
//! Each end's parts of a stream are kept in the order that [`rpcrdma::v2::Continuation`] allows, and the last message gets the
//! parts as `Message::earlier`. After a loss, the rest of a stream looks like a separate stream. Only the beginning
//! of a stream has the XID of the header in the first word. An RPC that lacks a part is "not rebuilt".

use rpcrdma::error::DecodeErrorKind;
use rpcrdma::prefix::{Prefix, Procedure};
use rpcrdma::v2;

use super::assembly::{Assembled, Assembly, Part};
use super::sequence::{CurrentSend, Sequence};
use crate::carrier::operation::{Side, Sides};
use crate::rpc::header::{self, Decoded, Dialect, Header};
use crate::rpc::message::{Captured, Dropped, Earlier, Message};
use crate::rpc::not_rebuilt::NotRebuilt;

/// Sends of both ends.
#[derive(Debug, Default)]
pub(super) struct Sends {
    assemblies: Sides<Assembly>,
    sequences: Sides<Sequence>,
    pub(super) current: CurrentSend,
    /// The XID of the last message of each end that belongs to no RPC, or to an RPC that the end began and did not
    /// complete (version 2): an error may refuse that message.
    without_rpc: Sides<Option<u32>>,
}

impl Sends {
    /// Keeps the packets of each Send apart.
    pub(super) const fn keep_parts(&mut self) {
        self.assemblies.active.keeps_parts = true;
        self.assemblies.passive.keeps_parts = true;
    }

    /// Takes the next part of what an end sends. Returns the Sends that this part finishes: a Send whose rest will not
    /// come, and the Send of the part.
    pub(super) fn add_part(&mut self, from: Side, part: &Part<'_>) -> (Option<Assembled>, Option<Assembled>) {
        self.assemblies.get_mut(from).part(part)
    }

    /// Gives up the Send that an end is sending.
    pub(super) fn abandon(&mut self, from: Side) -> Option<Assembled> {
        self.assemblies.get_mut(from).abandon()
    }

    /// Makes a Send the current one.
    pub(super) fn set_current(&mut self, send: &mut Assembled) {
        let parts = core::mem::take(&mut send.parts);
        self.current = CurrentSend { span: send.span, parts, places: send.places, earlier_parts: None };
    }

    /// Returns true if an end has sent a part of a Payload stream, and not the last.
    pub(super) const fn is_open(&self, from: Side) -> bool {
        self.sequences.get(from).order.is_open()
    }

    /// Forgets the parts of the Payload stream that an end is sending.
    pub(super) fn forget_sequence(&mut self, from: Side) {
        *self.sequences.get_mut(from) = Sequence::default();
    }

    /// Notes that the last message of an end belongs to no RPC.
    pub(super) const fn note_without_rpc(&mut self, from: Side, xid: Option<u32>) {
        *self.without_rpc.get_mut(from) = xid;
    }

    /// Returns true if the last message of an end that belongs to no RPC has this XID.
    pub(super) fn is_without_rpc(&self, from: Side, xid: u32) -> bool {
        *self.without_rpc.get(from) == Some(xid)
    }

    /// Returns the memory used by Sends that are not complete, in octets.
    pub(super) fn memory_used(&self) -> usize {
        let assemblies = self.assemblies.active.memory_used() + self.assemblies.passive.memory_used();
        assemblies + self.sequences.active.memory_used() + self.sequences.passive.memory_used()
    }

    /// Looks for an error in a Send. If the Send is an error for a Call whose last part has not come, the requester may
    /// send no further part. The error is early all the same: the last part may be on its way, and then the error
    /// answers the whole Call.
    pub(super) fn refuse_sequence(&mut self, from: Side, send: &[u8]) {
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
    pub(super) fn join(&mut self, message: &mut Message) -> bool {
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
        let dropped = match accepted {
            Ok(v2::Part::Payload { offset, is_last }) => {
                sequence.begin_payload(offset, self.current.span.began, header.xid(), payload);
                if is_last {
                    message.earlier = sequence.finish(offset, &mut self.current).map(Box::new);
                } else {
                    sequence.keep_part(offset, payload, &self.current);
                }
                return is_last;
            }
            Ok(v2::Part::Nothing) => return true,
            Ok(v2::Part::Discard) if header.error().is_some() => Dropped::ErrorWithFlags,
            Ok(v2::Part::Discard) => Dropped::OfDroppedSequence,
            Err(error) => Dropped::Misplaced(error),
        };
        message.dropped = Some(dropped);
        false
    }
}

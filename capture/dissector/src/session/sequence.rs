//! Payload streams in several Sends (version 2): the parts that came before the last.

use rpcrdma::rpc::MessageType;
use rpcrdma::v2::Continuation;

use super::assembly::Span;
use super::step_log::SendPart;
use crate::carrier::operation::{Places, Stamp};
use crate::rpc::message::Earlier;
use crate::rpc::not_rebuilt::NotRebuilt;

/// The most octets that are kept of a Payload stream in several Sends.
const STREAM: usize = 16 << 20;
/// Maximum number of packets of a Payload stream's Sends that are kept apart.
const PARTS: usize = 1024;

/// The Send whose message is read.
#[derive(Debug, Default)]
pub(super) struct CurrentSend {
    /// Frames of the message. For a Payload stream in several Sends (version 2), the frames of all Sends.
    pub(super) span: Span,
    /// The packets of the message, if kept.
    pub(super) parts: Vec<SendPart>,
    /// Places of the message in what the sender sends.
    pub(super) places: Places,
    /// For a Payload stream in several Sends (version 2): the place of the first Send.
    pub(super) earlier_parts: Option<u64>,
}

/// Parts of a Payload stream that an end has sent in several Sends (version 2).
#[derive(Debug, Default)]
pub(super) struct Sequence {
    pub(super) order: Continuation,
    octets: Vec<u8>,
    /// The frame that the first part began with.
    began: Stamp,
    /// The place of the first part, in what the sender sends.
    first: u64,
    /// The packets of the parts so far, if kept.
    parts: Vec<SendPart>,
    /// True if what the end sent before is known.
    follows: bool,
    /// Reason why `octets` is not everything.
    missing: Option<NotRebuilt>,
}

impl Sequence {
    /// Records the beginning of a Payload stream: the first part, or a place before this part if the capture missed the
    /// first part.
    pub(super) fn begin_payload(&mut self, offset: u64, began: Stamp, xid: u32, payload: &[u8]) {
        if offset > 0 {
            return;
        }
        self.began = began;
        self.octets.clear();
        self.parts.clear();
        // After a loss the rest of a stream looks like one of its own, except for its first words.
        let is_start = self.follows || MessageType::peek(payload).is_some_and(|(first, _)| first == xid);
        self.missing = (!is_start).then_some(NotRebuilt::Earlier);
        self.follows = true;
    }

    /// Keeps the packets of a Send.
    fn keep(&mut self, parts: &[SendPart]) {
        let room = PARTS.saturating_sub(self.parts.len());
        self.parts.extend(parts.iter().take(room));
    }

    /// Memory used by the sequence, in octets.
    pub(super) fn memory_used(&self) -> usize {
        self.octets.len() + self.parts.capacity() * size_of::<SendPart>()
    }

    /// Makes the Send of the last part, which is at `offset`, the whole stream. Returns the data before the last part, if
    /// there is any.
    pub(super) fn finish(&mut self, offset: u64, send: &mut CurrentSend) -> Option<Earlier> {
        if offset > 0 {
            send.earlier_parts = Some(self.first);
        }
        send.span.began = self.began;
        self.keep(&send.parts);
        send.parts = core::mem::take(&mut self.parts);
        let octets = core::mem::take(&mut self.octets);
        let cut = ((octets.len() as u64) < offset).then_some(NotRebuilt::Earlier);
        let missing = self.missing.take().or(cut);
        (offset > 0 || missing.is_some()).then_some(Earlier { octets, length: offset, missing })
    }

    /// Keeps a part that others follow. After a cut part, the place of the next part is unknown.
    pub(super) fn keep_part(&mut self, offset: u64, payload: &[u8], send: &CurrentSend) {
        if offset == 0 {
            self.first = send.places.first;
        }
        self.keep(&send.parts);
        if self.missing.is_some() || self.octets.len() as u64 != offset {
            return;
        }
        if self.octets.len() + payload.len() > STREAM {
            self.missing = Some(NotRebuilt::TooMuch);
        } else {
            self.octets.extend_from_slice(payload);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_the_parts_are_held() {
        let mut sequence = Sequence::default();
        let part = SendPart { stamp: Stamp::default(), octets: 1, place: 0 };
        sequence.keep(&[part; 100]);
        assert!(sequence.memory_used() >= 100 * size_of::<SendPart>());
    }
}

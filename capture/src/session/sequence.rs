//! Payload streams in several Sends (version 2): the parts that came before the last.

use rpcrdma::rpc::MessageType;
use rpcrdma::v2::{self, Continuation};

use super::Session;
use crate::header::{self, Decoded, Dialect, Header};
use crate::message::{Captured, Dropped, Earlier, Message};
use crate::transaction::NotRebuilt;

/// Octets of a Payload stream in several Sends that are kept.
const STREAM: usize = 16 << 20;

/// What an end has sent of a Payload stream in several Sends (version 2).
#[derive(Debug, Default)]
pub(super) struct Sequence {
    order: Continuation,
    pub(super) octets: Vec<u8>,
    /// What the end sent before is known.
    follows: bool,
    /// Why `octets` are not all.
    missing: Option<NotRebuilt>,
}

impl Sequence {
    /// Takes note of where a Payload stream begins: at its first part, or before it where the capture missed that.
    fn begin(&mut self, offset: u64, xid: u32, payload: &[u8]) {
        if offset > 0 {
            return;
        }
        self.octets.clear();
        // After a loss the rest of a stream looks like one of its own, but for its first words.
        let is_start = self.follows || MessageType::peek(payload).is_some_and(|(first, _)| first == xid);
        self.missing = (!is_start).then_some(NotRebuilt::Earlier);
        self.follows = true;
    }

    /// What was brought before the last part, at `offset`, if anything was.
    fn end(&mut self, offset: u64) -> Option<Earlier> {
        let octets = core::mem::take(&mut self.octets);
        let cut = ((octets.len() as u64) < offset).then_some(NotRebuilt::Earlier);
        let missing = self.missing.take().or(cut);
        (offset > 0 || missing.is_some()).then_some(Earlier { octets, length: offset, missing })
    }

    /// Keeps a part. Where one before it was cut, it has no place.
    fn put(&mut self, offset: u64, payload: &[u8]) {
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

impl Session {
    /// Joins a message with those of the same sender that brought parts of its Payload stream before. False where the
    /// stream is not at its end, or the message is to be dropped.
    pub(super) fn joins(&mut self, message: &mut Message) -> bool {
        let Dialect::Version2(_) = message.dialect else { return true };
        let sequence = self.sequences.get_mut(message.sender);
        let decoded = match message.decode() {
            Ok(decoded) => decoded,
            Err(_) if message.captured == Captured::Whole => return true,
            // It may be a part of a stream.
            Err(_) => {
                *sequence = Sequence::default();
                return true;
            }
        };
        let Decoded { header: Header::V2(header), header_length, payload } = decoded else { return true };
        if message.captured == Captured::Head {
            // Its length is not known, so nor is where the next one goes on.
            let goes_on = sequence.order.is_open() && decoded.header.place() == header::Place::Inline;
            *sequence = Sequence::default();
            let missing = Some(NotRebuilt::Earlier);
            message.earlier = goes_on.then(|| Box::new(Earlier { missing, ..Earlier::default() }));
            return true;
        }
        match sequence.order.accept(&header, message.length.saturating_sub(header_length)) {
            Ok(v2::Part::Payload { offset, is_last: false }) => {
                sequence.begin(offset, header.xid(), payload);
                sequence.put(offset, payload);
                false
            }
            Ok(v2::Part::Payload { offset, is_last: true }) => {
                sequence.begin(offset, header.xid(), payload);
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

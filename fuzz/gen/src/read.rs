//! Messages as sent, to make cases from.

use crate::draft::{Draft, Field, Format, Label, List, Role};
use crate::message::{Message, Read, Segment};

/// Reads a Call or a Reply with chunk lists that are whole. Nothing is judged: what a broken message is made into,
/// breaks more than the case says.
///
/// Returns `None` for octets that no [`Message`] has, and for a Reply with a Read list.
#[must_use]
pub fn read(format: Format, role: Role, octets: &[u8]) -> Option<Message> {
    let Draft { words, payload } = Draft::read(format, octets);
    let mut message = Message {
        format,
        role,
        xid: 0,
        credit: 0,
        inv_handle: 0,
        long: Vec::new(),
        reads: Vec::new(),
        writes: Vec::new(),
        reply: None,
        inline: None,
    };
    for (label, word) in words {
        message.take_word(label, word, &payload)?;
    }
    if message.inline.is_none() && format != Format::V2b {
        let items = message.reads.iter().position(|read| read.position != 0).unwrap_or(message.reads.len());
        let items = message.reads.split_off(items);
        message.long = core::mem::replace(&mut message.reads, items);
    }
    let is_possible = role == Role::Call || message.long.is_empty() && message.reads.is_empty();
    // If the same octets come out, everything not checked above is right.
    (is_possible && message.octets() == octets).then_some(message)
}

impl Message {
    /// Takes the next word of a header; `None` if the earlier words leave no place.
    fn take_word(&mut self, label: Label, word: u32, payload: &[u8]) -> Option<()> {
        match label {
            Label::Xid => self.xid = word,
            Label::Credit => self.credit = word,
            Label::InvHandle => self.inv_handle = word,
            Label::Procedure => self.inline = matches!(word, 0 | 10 | 13).then(|| payload.to_vec()),
            Label::Version | Label::Flags | Label::Follows(..) => {}
            Label::Position(List::Call, _) => self.long.push(Read { position: word, target: Segment::default() }),
            Label::Position(..) => self.reads.push(Read { position: word, target: Segment::default() }),
            Label::Count(List::Reply, _) => self.reply = Some(Vec::new()),
            Label::Count(..) => self.writes.push(Vec::new()),
            Label::Segment(at, field) => self.segment(at.list, field)?.set_word(field, word),
        }
        Some(())
    }

    /// The last segment of this list; a new one of a chunk, for the first word of a segment.
    fn segment(&mut self, list: List, field: Field) -> Option<&mut Segment> {
        let chunk = match list {
            List::Call => return self.long.last_mut().map(|read| &mut read.target),
            List::Read => return self.reads.last_mut().map(|read| &mut read.target),
            List::Write => self.writes.last_mut()?,
            List::Reply => self.reply.as_mut()?,
        };
        if field == Field::Handle {
            chunk.push(Segment::default());
        }
        chunk.last_mut()
    }
}

impl Segment {
    fn set_word(&mut self, field: Field, word: u32) {
        match field {
            Field::Handle => self.handle = word,
            Field::Length => self.length = word,
            Field::OffsetHigh => self.offset = u64::from(word) << 32,
            Field::OffsetLow => self.offset |= u64::from(word),
        }
    }
}

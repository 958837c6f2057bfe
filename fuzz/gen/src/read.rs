//! Messages as they were sent, to make cases of.

use crate::draft::{Format, Role};
use crate::message::{Message, Read, Segment};

/// Reads a Call or a Reply with chunk lists that are whole. Nothing judges it: what a broken message is made into, breaks
/// more than the case says.
///
/// It returns `None` for octets that no [`Message`] has, and for a Reply with a Read list.
#[must_use]
pub fn read(format: Format, role: Role, octets: &[u8]) -> Option<Message> {
    let mut words = WordReader(octets);
    let [xid, _version, credit, procedure] = [words.word()?, words.word()?, words.word()?, words.word()?];
    let _flags = if format == Format::V2a { words.word()? } else { 0 };
    let is_reply_of_b = (format, role) == (Format::V2b, Role::Reply);
    let inv_handle = if format == Format::V1 || is_reply_of_b { 0 } else { words.word()? };
    let is_inline = matches!(procedure, 0 | 10 | 13);
    let call = if procedure == 8 { words.reads()? } else { Vec::new() };
    let mut reads = if is_reply_of_b { Vec::new() } else { words.reads()? };
    let long = match format {
        Format::V2b => call,
        _ if is_inline => Vec::new(),
        _ => {
            let items = reads.iter().position(|read| read.position != 0).unwrap_or(reads.len());
            let items = reads.split_off(items);
            core::mem::replace(&mut reads, items)
        }
    };
    let mut writes = Vec::new();
    while words.follows()? {
        writes.push(words.chunk()?);
    }
    let reply = if is_reply_of_b && is_inline || !words.follows()? { None } else { Some(words.chunk()?) };
    let inline = is_inline.then(|| words.0.to_vec());
    let message = Message { format, role, xid, credit, inv_handle, long, reads, writes, reply, inline };
    let is_possible = role == Role::Call || message.long.is_empty() && message.reads.is_empty();
    // What was not looked at above is as it has to be if the same octets come out.
    (is_possible && message.octets() == octets).then_some(message)
}

/// Octets that are read word by word.
struct WordReader<'a>(&'a [u8]);

impl WordReader<'_> {
    fn word(&mut self) -> Option<u32> {
        let (word, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*word))
    }

    fn follows(&mut self) -> Option<bool> {
        match self.word()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn segment(&mut self) -> Option<Segment> {
        let [handle, length, high, low] = [self.word()?, self.word()?, self.word()?, self.word()?];
        Some(Segment { handle, length, offset: u64::from(high) << 32 | u64::from(low) })
    }

    fn reads(&mut self) -> Option<Vec<Read>> {
        let mut reads = Vec::new();
        while self.follows()? {
            reads.push(Read { position: self.word()?, target: self.segment()? });
        }
        Some(reads)
    }

    fn chunk(&mut self) -> Option<Vec<Segment>> {
        let count = self.word()?;
        (0..count).map(|_| self.segment()).collect()
    }
}

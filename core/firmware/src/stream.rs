//! The Payload streams of calls and replies. The XID determines the whole stream, so that either end knows what the
//! other has sent.

use core::ops::Range;

use rpcrdma::endpoint::Item;
use rpcrdma::rpc::MessageType;

use crate::random::Random;

/// Octets of the longest, and of the memory for each.
pub(crate) const MOST: usize = 2048;

/// Octets of the head of a Call, and of a Reply.
const CALL_HEAD: usize = 40;
const REPLY_HEAD: usize = 24;

/// The head, the length of an item, the item, and padding.
pub(crate) struct Stream {
    octets: [u8; MOST],
    length: usize,
    head: usize,
    item: Item,
}

impl Stream {
    pub(crate) const EMPTY: Self =
        Self { octets: [0; MOST], length: 0, head: 0, item: Item { position: 0, length: 0 } };

    /// A call of program 400100.
    pub(crate) fn call(xid: u32) -> Self {
        Self::new(&[xid, MessageType::CALL.0, 2, 400_100, 1, 1, 0, 0, 0, 0], CALL_HEAD, item_length(xid))
    }

    /// Creates the reply to the call with this XID.
    pub(crate) fn reply(xid: u32) -> Self {
        Self::new(&[xid, MessageType::REPLY.0, 0, 0, 0, 0], REPLY_HEAD, item_length(!xid))
    }

    fn new(words: &[u32], head: usize, item_length: u32) -> Self {
        let mut stream = Self { head, ..Self::EMPTY };
        for word in words.iter().chain(&[item_length]) {
            stream.append(&word.to_be_bytes());
        }
        stream.item = Item { position: stream.length as u32, length: item_length };
        let xid = words.first().copied().unwrap_or(0);
        for index in 0..item_length {
            stream.append(&[(xid ^ index.wrapping_mul(31)) as u8]);
        }
        stream.length = stream.length.next_multiple_of(4);
        stream
    }

    fn append(&mut self, octets: &[u8]) {
        self.octets[self.length..self.length + octets.len()].copy_from_slice(octets);
        self.length += octets.len();
    }

    pub(crate) fn head(&self) -> &[u8] {
        &self.octets[..self.head]
    }

    pub(crate) fn length(&self) -> u32 {
        self.length as u32
    }

    pub(crate) fn item(&self) -> Item {
        self.item
    }

    pub(crate) fn octets(&self) -> &[u8] {
        &self.octets[..self.length]
    }

    /// Returns a range of the stream.
    pub(crate) fn part(&self, range: Range<u32>) -> &[u8] {
        &self.octets[range.start as usize..range.end as usize]
    }

    /// The whole memory.
    pub(crate) fn memory(&mut self) -> &mut [u8; MOST] {
        &mut self.octets
    }

    /// The octets of the item.
    pub(crate) fn data(&self) -> &[u8] {
        self.part(self.item.position..self.item.position + self.item.length)
    }

    /// Returns true if these octets are the reduced stream: all but the item.
    pub(crate) fn is_reduced(&self, octets: &[u8]) -> bool {
        let (before, after) = (self.item.position as usize, self.item.position + self.item.length);
        let after = &self.octets()[(after as usize).next_multiple_of(4)..];
        octets.len() == before + after.len() && octets.starts_with(&self.octets[..before]) && octets.ends_with(after)
    }
}

/// Often short, sometimes too long for a Send.
fn item_length(seed: u32) -> u32 {
    let mut random = Random::new(seed);
    let limit = [1, 60, 700, 1900][random.below(4) as usize];
    random.below(limit)
}

/// Appends ranges of a Payload stream to a header, and says how long the Send is.
pub(crate) fn assemble(
    stream: &Stream,
    ranges: impl Iterator<Item = Range<u32>>,
    header: usize,
    send: &mut [u8],
) -> usize {
    let mut length = header;
    for range in ranges {
        let part = stream.part(range);
        send[length..length + part.len()].copy_from_slice(part);
        length += part.len();
    }
    length
}

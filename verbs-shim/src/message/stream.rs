//! An RPC message of an application: data items in buffers of their own, and the rest in one buffer.

use std::mem;
use std::ops::Range;

use rpcrdma::endpoint::Item;

/// A Payload stream, with the data items that the Upper-Layer Binding allows to be reduced (RFC 8166 section 3.4.1) in
/// separate buffers. Such a buffer is itself registered: a reduced item is moved from there and never copied; an item
/// that is not reduced is copied into the Send with the rest.
///
/// ```
/// use rpcrdma_verbs::Stream;
///
/// // An opaque of 5 octets: its count stays in the stream, its data and padding may leave it.
/// let mut stream = Stream::from(vec![0; 40]);
/// stream.push(&5_u32.to_be_bytes());
/// stream.push_item(b"hello".to_vec());
/// stream.push(&[0, 0, 0, 9]);
/// assert_eq!(stream.len(), 40 + 4 + 8 + 4);
/// assert_eq!(stream.items().collect::<Vec<_>>(), [b"hello"]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Stream {
    /// Everything except the items and their padding.
    octets: Vec<u8>,
    /// Length of `octets`, even while the buffer is taken.
    length: usize,
    /// Length of the RPC header at the start, which [`clear`](Self::clear) keeps, in octets.
    header: usize,
    items: Vec<Data>,
    spare: Vec<Vec<u8>>,
}

/// A data item.
#[derive(Clone, Debug)]
struct Data {
    /// Offset of the item in `octets`.
    before: usize,
    /// The buffer, part of which is the item.
    octets: Vec<u8>,
    /// Start of the item in the buffer.
    start: usize,
    /// Length of the item, even while the buffer is taken.
    length: usize,
    /// Length of the buffer, even while taken.
    buffer_length: usize,
}

impl Data {
    /// Returns the range of the item in the buffer.
    const fn within(&self) -> Range<usize> {
        self.start..self.start + self.length
    }

    /// The item; empty while the buffer is taken.
    fn octets(&self) -> &[u8] {
        self.octets.get(self.within()).unwrap_or_default()
    }
}

/// A buffer of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The buffer of all octets outside of items.
    Octets,
    /// The buffer of an item.
    Item(usize),
}

/// Maximum number of buffers that are kept for the next items.
const MAX_SPARE: usize = 16;

impl Stream {
    /// Appends octets.
    pub fn push(&mut self, octets: &[u8]) {
        self.octets.extend_from_slice(octets);
        self.length = self.octets.len();
    }

    /// Appends a data item that may be reduced. Do not append the padding, which is implied. The item has to begin at a
    /// multiple of four, after the count.
    pub fn push_item(&mut self, data: Vec<u8>) {
        let length = data.len();
        self.items.push(Data { before: self.length, octets: data, start: 0, length, buffer_length: length });
    }

    /// Appends a data item that is a part of a buffer, such as a received message, and otherwise like that of
    /// [`push_item`](Self::push_item). RDMA moves the item from this place, and the other side has no access to the
    /// rest of the buffer.
    ///
    /// # Errors
    /// Returns the buffer if the range is not inside. The stream is unchanged.
    pub fn push_part(&mut self, buffer: Vec<u8>, range: Range<usize>) -> Result<(), Vec<u8>> {
        let Some(part) = buffer.get(range.clone()) else { return Err(buffer) };
        let (length, buffer_length) = (part.len(), buffer.len());
        self.items.push(Data { before: self.length, octets: buffer, start: range.start, length, buffer_length });
        Ok(())
    }

    /// Appends a message in one buffer, of which this range is a data item that may be reduced, followed by padding,
    /// and otherwise like [`push_part`](Self::push_part). Without a valid range, nothing of the message is reduced.
    pub fn push_message(&mut self, message: Vec<u8>, item: Option<Range<usize>>) {
        let within = item.filter(|item| message.get(item.clone()).is_some());
        let Some(item) = within else { return self.push(&message) };
        let behind = message.get(item.start.saturating_add(padded_length(item.len()))..).unwrap_or_default().to_vec();
        self.push(message.get(..item.start).unwrap_or_default());
        let (before, length, buffer_length) = (self.length, item.len(), message.len());
        self.items.push(Data { before, octets: message, start: item.start, length, buffer_length });
        self.push(&behind);
    }

    /// Appends a data item that is a copy of these octets. Uses the buffer of an earlier item if there is one.
    pub fn push_copy(&mut self, data: &[u8]) {
        let mut buffer = self.buffer();
        buffer.clear();
        buffer.extend_from_slice(data);
        self.push_item(buffer);
    }

    /// Appends this many zeros.
    pub fn push_zeros(&mut self, octets: usize) {
        self.octets.resize(self.octets.len().saturating_add(octets), 0);
        self.length = self.octets.len();
    }

    /// Returns the length of the whole stream in octets, with all items and their padding.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.iter().fold(self.length, |sum, item| sum.saturating_add(padded_length(item.length)))
    }

    /// Returns true if the stream is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The data items.
    pub fn items(&self) -> impl Iterator<Item = &[u8]> {
        self.items.iter().map(Data::octets)
    }

    /// Empties the stream except for the RPC header that [`Call::rpc`](crate::Call::rpc) or
    /// [`Request::accept`](crate::Request::accept) put there, and keeps the buffers for later.
    pub fn clear(&mut self) {
        self.octets.truncate(self.header);
        self.length = self.octets.len();
        for item in self.items.drain(..) {
            if self.spare.len() < MAX_SPARE {
                self.spare.push(item.octets);
            }
        }
    }

    /// Replaces everything with an RPC header.
    #[inline]
    pub(crate) fn start_with(&mut self, header: &[u8]) {
        self.header = 0;
        self.clear();
        self.push(header);
        self.header = self.length;
    }

    /// Replaces this many octets at the start with another RPC header.
    pub(crate) fn replace_header(&mut self, before: usize, header: &[u8]) {
        let before = before.min(self.items.first().map_or(self.length, |item| item.before));
        self.octets.splice(..before, header.iter().copied());
        self.items.iter_mut().for_each(|item| item.before = item.before - before + header.len());
        (self.length, self.header) = (self.octets.len(), header.len());
    }

    /// Writes an XID to the start of the RPC header.
    pub(crate) fn set_xid(&mut self, xid: u32) {
        if let Some(start) = self.octets.first_chunk_mut() {
            *start = xid.to_be_bytes();
        }
    }

    /// The buffer of an item from before [`clear`](Self::clear), with the old content; an empty one if there is none.
    #[must_use]
    pub fn buffer(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    /// The octets before the first data item; the whole stream if there is none.
    #[must_use]
    pub fn head(&self) -> &[u8] {
        let end = self.items.first().map_or(self.length, |item| item.before);
        self.octets.get(..end).unwrap_or_default()
    }

    /// Writes position and length of each item to `items`. Returns the length of the whole stream. `None` if the stream
    /// is too long.
    pub(crate) fn positions(&self, items: &mut Vec<Item>) -> Option<u32> {
        items.clear();
        let mut inserted = 0_usize;
        for item in &self.items {
            let position = u32::try_from(item.before.checked_add(inserted)?).ok()?;
            items.push(Item { position, length: u32::try_from(item.length).ok()? });
            inserted = inserted.checked_add(padded_length(item.length))?;
        }
        u32::try_from(self.length.checked_add(inserted)?).ok()
    }

    /// Passes a range of the whole stream to `take`, piece by piece: the buffer of each piece (`None` for padding), and
    /// the range in the buffer.
    pub(crate) fn pieces(&self, range: &Range<u32>, mut take: impl FnMut(Option<Part>, Range<usize>)) {
        let (start, end) = (range.start as usize, range.end as usize);
        let mut at = 0;
        let mut piece = |part, within: Range<usize>| {
            let from = within.start + start.saturating_sub(at).min(within.len());
            let to = within.start + end.saturating_sub(at).min(within.len());
            at += within.len();
            if from < to {
                take(part, from..to);
            }
        };
        let mut done = 0;
        for (number, item) in self.items.iter().enumerate() {
            piece(Some(Part::Octets), done..item.before);
            piece(Some(Part::Item(number)), item.within());
            piece(None, 0..padded_length(item.length) - item.length);
            done = item.before;
        }
        piece(Some(Part::Octets), done..self.length);
    }

    /// Passes the octets of a range of the whole stream to `take`, piece by piece, except octets of buffers that are
    /// taken.
    pub(crate) fn gather(&self, range: &Range<u32>, mut take: impl FnMut(&[u8])) {
        self.pieces(range, |part, within| take(self.octets(part).get(within).unwrap_or_default()));
    }

    /// Returns the octets of a buffer, or the longest possible padding.
    pub(crate) fn octets(&self, part: Option<Part>) -> &[u8] {
        match part {
            None => &[0; 3],
            Some(Part::Octets) => &self.octets,
            Some(Part::Item(number)) => self.items.get(number).map_or(&[], |item| &item.octets),
        }
    }

    /// Returns the buffer that holds a whole range of the stream, and the range in that buffer. `None` if no single
    /// buffer does.
    pub(crate) fn part(&self, range: &Range<u32>) -> Option<(Part, Range<usize>)> {
        let (start, end) = (range.start as usize, range.end as usize);
        let mut inserted = 0;
        for (number, item) in self.items.iter().enumerate() {
            let at = item.before + inserted;
            if end <= at {
                break;
            }
            if start >= at && end <= at + item.length {
                return Some((Part::Item(number), item.start + (start - at)..item.start + (end - at)));
            }
            if start < at + padded_length(item.length) {
                return None;
            }
            inserted += padded_length(item.length);
        }
        let here = start.checked_sub(inserted)?..end.checked_sub(inserted)?;
        (here.end <= self.length).then_some((Part::Octets, here))
    }

    /// Returns the range of an item in the buffer, or of all octets, even while the buffer is taken.
    pub(crate) fn place(&self, part: Part) -> Range<usize> {
        match part {
            Part::Octets => 0..self.length,
            Part::Item(number) => self.items.get(number).map_or(0..0, Data::within),
        }
    }

    /// Returns the length of a buffer in octets, even while taken.
    pub(crate) fn part_len(&self, part: Part) -> usize {
        match part {
            Part::Octets => self.length,
            Part::Item(number) => self.items.get(number).map_or(0, |item| item.buffer_length),
        }
    }

    /// Takes a buffer out to be registered. Call [`put_back`](Self::put_back) before any other function.
    pub(crate) fn take_buffer(&mut self, part: Part) -> Vec<u8> {
        self.part_mut(part).map(mem::take).unwrap_or_default()
    }

    /// Puts a buffer back.
    pub(crate) fn put_back(&mut self, part: Part, octets: Vec<u8>) {
        if let Some(buffer) = self.part_mut(part) {
            *buffer = octets;
        }
    }

    fn part_mut(&mut self, part: Part) -> Option<&mut Vec<u8>> {
        match part {
            Part::Octets => Some(&mut self.octets),
            Part::Item(number) => self.items.get_mut(number).map(|item| &mut item.octets),
        }
    }
}

/// Returns `length`, padded to a multiple of four.
pub(crate) const fn padded_length(length: usize) -> usize {
    length.next_multiple_of(4)
}

/// A stream without items.
impl From<Vec<u8>> for Stream {
    fn from(octets: Vec<u8>) -> Self {
        Self { length: octets.len(), octets, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream() -> Stream {
        let mut stream = Stream::from(b"headcoun".to_vec());
        stream.push_item(b"12345".to_vec());
        stream.push(b"then");
        stream.push_item(b"abcd".to_vec());
        stream.push_item(Vec::new());
        stream.push(b"tail");
        stream
    }

    fn gathered(stream: &Stream, range: Range<u32>) -> Vec<u8> {
        let mut octets = Vec::new();
        stream.gather(&range, |piece| octets.extend_from_slice(piece));
        octets
    }

    #[test]
    fn items_stand_where_they_were_pushed_with_their_padding() {
        let whole = b"headcoun12345\0\0\0thenabcdtail";
        assert_eq!(stream().len(), whole.len());
        for start in 0..whole.len() {
            for end in start..=whole.len() {
                assert_eq!(gathered(&stream(), start as u32..end as u32), whole[start..end]);
            }
        }
        let mut items = Vec::new();
        assert_eq!(stream().positions(&mut items), Some(28));
        let items: Vec<_> = items.iter().map(|item| (item.position, item.length)).collect();
        assert_eq!(items, [(8, 5), (20, 4), (24, 0)]);
        assert_eq!(stream().head(), b"headcoun");
    }

    #[test]
    fn a_longer_header_moves_what_is_behind_it_and_stays() {
        let mut stream = Stream::default();
        stream.start_with(b"HEAD");
        stream.push(b"coun");
        stream.push_item(b"12345".to_vec());
        stream.push(b"tail");
        stream.replace_header(4, b"XX, LONGER..");
        let whole = b"XX, LONGER..coun12345\0\0\0tail";
        assert_eq!(gathered(&stream, 0..28), whole[..28]);
        assert_eq!(stream.len(), whole.len());
        stream.clear();
        stream.set_xid(0x4142_4344);
        assert_eq!(gathered(&stream, 0..12), b"ABCDLONGER..");
        assert_eq!(stream.len(), 12);
        stream.start_with(b"");
        assert!(stream.is_empty());
    }

    #[test]
    fn a_range_is_in_one_buffer_or_in_none() {
        let stream = stream();
        assert_eq!(stream.part(&(0..8)), Some((Part::Octets, 0..8)));
        assert_eq!(stream.part(&(8..13)), Some((Part::Item(0), 0..5)));
        assert_eq!(stream.part(&(9..12)), Some((Part::Item(0), 1..4)));
        assert_eq!(stream.part(&(16..20)), Some((Part::Octets, 8..12)));
        assert_eq!(stream.part(&(20..24)), Some((Part::Item(1), 0..4)));
        assert_eq!(stream.part(&(24..28)), Some((Part::Octets, 12..16)));
        for range in [0..9, 8..14, 12..16, 13..16, 16..24, 20..28, 24..32] {
            assert_eq!(stream.part(&range), None, "{range:?}");
        }
    }

    #[test]
    fn an_item_may_be_a_part_of_its_buffer() {
        let mut stream = Stream::from(b"coun".to_vec());
        let buffer = b"before12345after".to_vec();
        let address = buffer.as_ptr();
        stream.push_part(buffer, 6..11).unwrap();
        stream.push(b"tail");
        assert_eq!(stream.items().collect::<Vec<_>>(), [b"12345"]);
        let whole = b"coun12345\0\0\0tail";
        assert_eq!(stream.len(), whole.len());
        for start in 0..whole.len() {
            for end in start..=whole.len() {
                assert_eq!(gathered(&stream, start as u32..end as u32), whole[start..end]);
            }
        }
        assert_eq!(stream.part(&(4..9)), Some((Part::Item(0), 6..11)));
        assert_eq!((stream.part(&(5..8)), stream.part(&(4..10))), (Some((Part::Item(0), 7..10)), None));
        // The whole buffer is registered, and comes back.
        assert_eq!(stream.part_len(Part::Item(0)), 16);
        let taken = stream.take_buffer(Part::Item(0));
        assert_eq!((taken.as_ptr(), stream.part_len(Part::Item(0)), stream.len()), (address, 16, 16));
        stream.put_back(Part::Item(0), taken);
        stream.clear();
        assert_eq!(stream.buffer(), b"before12345after");
        for range in [0..5, 4..5, 5..6] {
            assert_eq!(stream.push_part(b"four".to_vec(), range), Err(b"four".to_vec()));
        }
        assert!(stream.is_empty());
    }

    #[test]
    fn a_message_is_pushed_with_its_item_where_it_is() {
        let message = b"coun12345\0\0\0tail";
        let whole = b"headcoun12345\0\0\0tail";
        for (item, items) in [
            (Some(4..9), &["12345"][..]),
            (Some(4..4), &[""]),
            (Some(4..16), &["12345\0\0\0tail"]),
            (Some(4..17), &[]),
            (None, &[]),
        ] {
            let mut stream = Stream::from(b"head".to_vec());
            stream.push_message(message.to_vec(), item.clone());
            assert_eq!(
                stream.items().collect::<Vec<_>>(),
                items.iter().map(|item| item.as_bytes()).collect::<Vec<_>>()
            );
            assert_eq!(gathered(&stream, 0..20), whole, "{item:?}");
        }
        let mut stream = Stream::default();
        let message = message.to_vec();
        let address = message.as_ptr();
        stream.push_message(message, Some(4..9));
        let taken = stream.take_buffer(Part::Item(0));
        assert_eq!((taken.as_ptr(), stream.len()), (address, 16), "not copied");
        let mut cut = Stream::default();
        cut.push_message(b"coun12345".to_vec(), Some(4..9));
        assert_eq!(gathered(&cut, 0..12), b"coun12345\0\0\0", "padding that is missing is implied");
    }

    #[test]
    fn a_buffer_that_is_taken_leaves_its_place() {
        let mut stream = stream();
        let taken = stream.take_buffer(Part::Item(0));
        assert_eq!(gathered(&stream, 16..24), b"thenabcd");
        stream.put_back(Part::Item(0), taken);
        assert_eq!(gathered(&stream, 6..14), b"un12345\0");
        stream.clear();
        assert!(stream.is_empty());
        assert_eq!(stream.buffer(), b"");
        assert_eq!([stream.buffer(), stream.buffer(), stream.buffer()], [&b"abcd"[..], b"12345", b""]);
    }
}

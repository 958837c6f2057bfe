//! The Read list: arguments that the Responder reads (RFC 8166 section 4.3.1).
//!
//! ```text
//! 1 PHLOO  1 PHLOO  1 PHLOO  0
//! ```
//!
//! Consecutive read segments with the same Position form one Read chunk (section 3.4.5).

use core::fmt;
use core::iter::FusedIterator;
use core::slice;

use super::follows;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::reader::{EndOfInput, Reader};
use crate::segment::ReadSegment;
use crate::sink::Sink;

/// A list of read segments.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadList<'a> {
    entries: &'a [[u8; ReadSegment::LEN]],
}

/// The read segments of one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadChunk<'a> {
    /// Octets from the start of the unreduced Payload stream to the argument; 0 for a chunk that holds all of the
    /// stream.
    pub position: u32,
    /// Segments of the chunk, in the order of the data.
    pub segments: ReadList<'a>,
}

impl<'a> ReadList<'a> {
    /// Creates a list of entries made with [`ReadSegment::to_entry`].
    #[inline]
    #[must_use]
    pub const fn new(entries: &'a [[u8; ReadSegment::LEN]]) -> Self {
        Self { entries }
    }

    /// Returns the entries in their wire format, for code in another language.
    #[inline]
    #[must_use]
    pub const fn entries(&self) -> &'a [[u8; ReadSegment::LEN]] {
        self.entries
    }

    /// Splits the list after the leading entries at Position 0.
    pub(crate) fn split_position_zero(&self) -> (Self, Self) {
        let count = self.iter().take_while(|read| read.position == 0).count();
        let (zero, others) = self.entries.split_at_checked(count).unwrap_or_default();
        (Self::new(zero), Self::new(others))
    }

    #[inline(always)]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut start = *reader;
        let mut count = 0_usize;
        loop {
            let entry = *reader;
            if !follows(reader)? {
                break;
            }
            if reader.array::<{ ReadSegment::LEN - 4 }>().is_err() {
                return Err(DecodeError::new(DecodeErrorKind::ListTruncated, entry.offset()));
            }
            // Each entry takes octets of the input, so this cannot overflow.
            count = count.wrapping_add(1);
        }
        if count == 0 {
            return Ok(Self::default());
        }
        let cut = |end: EndOfInput| DecodeError::new(DecodeErrorKind::ListTruncated, end.offset);
        Ok(Self { entries: start.arrays(count).map_err(cut)? })
    }

    /// Returns the number of read segments.
    #[inline]
    #[must_use]
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if the list is empty.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the read segment at `index`, from 0.
    #[inline]
    #[must_use]
    pub fn get(&self, index: usize) -> Option<ReadSegment> {
        self.entries.get(index).map(ReadSegment::from_entry)
    }

    /// Returns the read segments in their order.
    #[inline]
    #[must_use]
    pub fn iter(&self) -> ReadSegments<'a> {
        ReadSegments { entries: self.entries.iter() }
    }

    /// Returns the Read chunks in their order.
    #[inline]
    #[must_use]
    pub const fn chunks(&self) -> ReadChunks<'a> {
        ReadChunks { entries: self.entries }
    }

    /// Returns the number of octets in all segments together.
    #[inline]
    #[must_use]
    pub fn length(&self) -> u64 {
        self.iter().fold(0, |sum: u64, read| sum.saturating_add(u64::from(read.target.length)))
    }

    #[inline(always)]
    pub(crate) fn emit<S: Sink>(&self, sink: &mut S) {
        // Written again, so that the first word is 1 whatever the caller's entry began with.
        sink.put_arrays(self.iter().map(ReadSegment::to_entry));
        sink.word(0);
    }
}

/// Iterator over the read segments of a [`ReadList`].
#[derive(Clone, Debug)]
pub struct ReadSegments<'a> {
    entries: slice::Iter<'a, [u8; ReadSegment::LEN]>,
}

impl Iterator for ReadSegments<'_> {
    type Item = ReadSegment;

    #[inline]
    fn next(&mut self) -> Option<ReadSegment> {
        self.entries.next().map(ReadSegment::from_entry)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.entries.size_hint()
    }
}

impl DoubleEndedIterator for ReadSegments<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<ReadSegment> {
        self.entries.next_back().map(ReadSegment::from_entry)
    }
}

impl ExactSizeIterator for ReadSegments<'_> {}
impl FusedIterator for ReadSegments<'_> {}

impl<'a> IntoIterator for ReadList<'a> {
    type Item = ReadSegment;
    type IntoIter = ReadSegments<'a>;

    #[inline]
    fn into_iter(self) -> ReadSegments<'a> {
        self.iter()
    }
}

/// Iterator over the Read chunks of a [`ReadList`].
#[derive(Clone, Debug)]
pub struct ReadChunks<'a> {
    entries: &'a [[u8; ReadSegment::LEN]],
}

impl<'a> Iterator for ReadChunks<'a> {
    type Item = ReadChunk<'a>;

    #[inline]
    fn next(&mut self) -> Option<ReadChunk<'a>> {
        let list = ReadList::new(self.entries);
        let position = list.get(0)?.position;
        let count = list.iter().take_while(|read| read.position == position).count();
        let (entries, rest) = self.entries.split_at_checked(count)?;
        self.entries = rest;
        Some(ReadChunk { position, segments: ReadList::new(entries) })
    }
}

impl FusedIterator for ReadChunks<'_> {}

impl fmt::Debug for ReadList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;
    use crate::segment::Segment;

    fn entry(position: u32, length: u32) -> [u8; 24] {
        ReadSegment { position, target: Segment { handle: 7, length, offset: 0 } }.to_entry()
    }

    #[test]
    fn segments_of_one_position_are_one_chunk() {
        let entries = [entry(0, 10), entry(0, u32::MAX), entry(64, 30), entry(0, 40)];
        let list = ReadList::new(&entries);
        let chunks: Vec<_> = list.chunks().map(|chunk| (chunk.position, chunk.segments.length())).collect();
        assert_eq!(chunks, [(0, 0x1_0000_0009), (64, 30), (0, 40)]);
        assert_eq!(list.iter().rev().map(|read| read.target.length).next(), Some(40));
        assert_eq!(list.iter().len(), 4);
        assert_eq!(list.get(2).map(|read| read.position), Some(64));
        assert_eq!(list.get(4), None);
    }
}

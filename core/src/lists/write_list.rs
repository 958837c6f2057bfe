//! The Write list: memory for results, one chunk each (RFC 8166 section 4.3.2).
//!
//! ```text
//! 1 n HLOO HLOO ...  1 n HLOO ...  0
//! ```
//!
//! Chunks differ in length, so unlike the other lists this one is not a slice of arrays. A received list is walked once
//! while decoding; callers build a list with one other constructor.

use core::fmt;
use core::iter::FusedIterator;
use core::slice;

use super::{WriteChunk, follows};
use crate::error::DecodeError;
use crate::reader::Reader;
use crate::segment::Segment;
use crate::sink::Sink;

/// A list of Write chunks: received, or built from the caller's own chunks.
#[derive(Clone, Copy)]
pub struct WriteList<'a> {
    form: WriteListForm<'a>,
}

#[derive(Clone, Copy)]
enum WriteListForm<'a> {
    /// A list that `decode` has walked: `octets` begins with `count` chunks.
    Received {
        octets: &'a [u8],
        count: usize,
    },
    Chunks(&'a [WriteChunk<'a>]),
}

impl<'a> WriteList<'a> {
    /// The empty list.
    pub const EMPTY: Self = Self::from_chunks(&[]);

    /// Creates a list of these chunks.
    #[inline]
    #[must_use]
    pub const fn from_chunks(chunks: &'a [WriteChunk<'a>]) -> Self {
        Self { form: WriteListForm::Chunks(chunks) }
    }

    /// Reads the first `count` chunks in `octets`, in wire format: each is a 1, the number of segments, and the
    /// segments. `None` if there are fewer.
    #[must_use]
    pub fn from_octets(octets: &'a [u8], count: usize) -> Option<Self> {
        let mut reader = Reader::new(octets);
        // Each chunk has octets of the input, so the loop ends with it, whatever the count.
        for _ in 0..count {
            follows(&mut reader).ok().filter(|follows| *follows)?;
            WriteChunk::decode(&mut reader).ok()?;
        }
        Some(Self { form: WriteListForm::Received { octets, count } })
    }

    /// Returns octets that begin with the chunks in wire format, for code in another language. `None` for a list built
    /// from chunks.
    #[inline]
    #[must_use]
    pub const fn octets(&self) -> Option<&'a [u8]> {
        match self.form {
            WriteListForm::Received { octets, .. } => Some(octets),
            WriteListForm::Chunks(_) => None,
        }
    }

    #[inline(always)]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let octets = reader.rest();
        let mut count = 0_usize;
        while follows(reader)? {
            WriteChunk::decode(reader)?;
            // Each chunk takes octets of the input, so this cannot overflow.
            count = count.wrapping_add(1);
        }
        Ok(Self { form: WriteListForm::Received { octets, count } })
    }

    /// Returns the number of Write chunks.
    #[inline]
    #[must_use]
    pub const fn len(&self) -> usize {
        match self.form {
            WriteListForm::Received { count, .. } => count,
            WriteListForm::Chunks(chunks) => chunks.len(),
        }
    }

    /// Returns true if the list is empty.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the Write chunk at `index`, from 0. Walks over the chunks before that index.
    #[inline]
    #[must_use]
    pub fn get(&self, index: usize) -> Option<WriteChunk<'a>> {
        self.iter().nth(index)
    }

    /// Returns the Write chunks in their order.
    #[inline]
    #[must_use]
    pub fn iter(&self) -> WriteChunks<'a> {
        WriteChunks {
            rest: match self.form {
                WriteListForm::Received { octets, count } => {
                    WriteListRest::Received { reader: Reader::new(octets), count }
                }
                WriteListForm::Chunks(chunks) => WriteListRest::Chunks(chunks.iter()),
            },
        }
    }

    #[inline(always)]
    pub(crate) fn emit<S: Sink>(&self, sink: &mut S, returned: Option<&[u64]>) {
        let mut lengths = returned.unwrap_or_default().iter();
        for chunk in self.iter() {
            sink.word(1);
            // A chunk without a result goes back unused (section 4.3.2.2).
            let length = lengths.next().copied().unwrap_or(0);
            chunk.emit(sink, returned.map(|_| length));
        }
        sink.word(0);
    }
}

impl Default for WriteList<'_> {
    fn default() -> Self {
        Self::EMPTY
    }
}

/// Two lists are equal if their chunks are, received or not.
impl PartialEq for WriteList<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for WriteList<'_> {}

/// Iterator over the chunks of a [`WriteList`].
#[derive(Clone, Debug)]
pub struct WriteChunks<'a> {
    rest: WriteListRest<'a>,
}

#[derive(Clone, Debug)]
enum WriteListRest<'a> {
    Received { reader: Reader<'a>, count: usize },
    Chunks(slice::Iter<'a, WriteChunk<'a>>),
}

impl<'a> Iterator for WriteChunks<'a> {
    type Item = WriteChunk<'a>;

    #[inline]
    fn next(&mut self) -> Option<WriteChunk<'a>> {
        match &mut self.rest {
            WriteListRest::Received { reader, count } => {
                *count = count.checked_sub(1)?;
                // The first word is a 1. `WriteList::decode` has read all of this before, so neither read fails.
                let [_, _, _, _, segments @ ..] = *reader.array::<8>().ok()?;
                let segments = u32::from_be_bytes(segments) as usize;
                reader.arrays::<{ Segment::LEN }>(segments).ok().map(WriteChunk::new)
            }
            WriteListRest::Chunks(chunks) => chunks.next().copied(),
        }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let count = match &self.rest {
            WriteListRest::Received { count, .. } => *count,
            WriteListRest::Chunks(chunks) => chunks.len(),
        };
        (count, Some(count))
    }
}

impl ExactSizeIterator for WriteChunks<'_> {}
impl FusedIterator for WriteChunks<'_> {}

impl<'a> IntoIterator for WriteList<'a> {
    type Item = WriteChunk<'a>;
    type IntoIter = WriteChunks<'a>;

    #[inline]
    fn into_iter(self) -> WriteChunks<'a> {
        self.iter()
    }
}

impl fmt::Debug for WriteList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: [u8; 44] = [
        0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 7, // a chunk of one segment
        0, 0, 0, 1, 0, 0, 0, 0, // an empty chunk
        0, 0, 0, 1, 0, 0, 0, 0, // another
        0, 0, 0, 0,
    ];

    #[test]
    fn a_list_of_octets_has_only_complete_chunks() {
        for count in 0..=3 {
            let list = WriteList::from_octets(&LIST, count).unwrap();
            assert_eq!((list.len(), list.octets()), (count, Some(&LIST[..])));
            assert_eq!(list.get(0).is_some(), count > 0);
        }
        assert!(WriteList::from_octets(&LIST, 4).is_none(), "a 0 ends the list");
        assert!(WriteList::from_octets(&LIST[..39], 3).is_none(), "cut");
        assert_eq!(WriteList::EMPTY.octets(), None);
    }

    #[test]
    fn a_received_list_equals_one_made_of_chunks() {
        let mut reader = Reader::new(&LIST);
        let received = WriteList::decode(&mut reader).unwrap();
        assert_eq!((received.len(), received.iter().len(), reader.offset()), (3, 3, 44));
        let segments = [Segment { handle: 5, length: 6, offset: 7 }.to_octets()];
        let chunks = [WriteChunk::new(&segments), WriteChunk::default(), WriteChunk::default()];
        assert_eq!(received, WriteList::from_chunks(&chunks));
        assert_ne!(received, WriteList::from_chunks(&chunks[..2]));
        assert_eq!(received.get(0).and_then(|chunk| chunk.get(0)).map(|segment| segment.offset), Some(7));
        assert_eq!(received.get(3), None);
    }
}

//! A Write chunk: memory into which the Responder pushes one result (RFC 8166 section 3.4.6). The Reply chunk is one
//! too.
//!
//! ```text
//! n HLOO HLOO ...
//! ```

use core::fmt;
use core::iter::FusedIterator;
use core::slice;

use super::follows;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::reader::Reader;
use crate::segment::Segment;
use crate::sink::Sink;

/// A counted array of plain segments.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct WriteChunk<'a> {
    segments: &'a [[u8; Segment::LEN]],
}

impl<'a> WriteChunk<'a> {
    /// Creates a chunk of segments made with [`Segment::to_octets`].
    #[inline]
    #[must_use]
    pub const fn new(segments: &'a [[u8; Segment::LEN]]) -> Self {
        Self { segments }
    }

    /// Returns the segments in their wire format, for code in another language.
    #[inline]
    #[must_use]
    pub const fn segments(&self) -> &'a [[u8; Segment::LEN]] {
        self.segments
    }

    #[inline(always)]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let offset = reader.offset();
        let Ok(count) = reader.u32() else { return Err(DecodeError::new(DecodeErrorKind::ListTruncated, offset)) };
        match reader.arrays(count as usize) {
            Ok(segments) => Ok(Self { segments }),
            Err(_) => Err(DecodeError::new(DecodeErrorKind::SegmentCount, offset)),
        }
    }

    /// Reads the Reply chunk, if there is one (section 4.3.3).
    #[inline(always)]
    pub(crate) fn decode_optional(reader: &mut Reader<'a>) -> Result<Option<Self>, DecodeError> {
        if follows(reader)? { Self::decode(reader).map(Some) } else { Ok(None) }
    }

    /// Returns the number of segments.
    #[inline]
    #[must_use]
    pub const fn len(&self) -> usize {
        self.segments.len()
    }

    /// Returns true for an "empty Write chunk", one without segments: the result is to be returned inline.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Returns the segment at `index`, from 0.
    #[inline]
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Segment> {
        self.segments.get(index).map(Segment::from_octets)
    }

    /// Returns the segments in their order.
    #[inline]
    #[must_use]
    pub fn iter(&self) -> Segments<'a> {
        Segments { segments: self.segments.iter() }
    }

    /// Returns the number of octets in all segments together: in a Call the available length, in a Reply the octets
    /// written.
    #[inline]
    #[must_use]
    pub fn length(&self) -> u64 {
        self.iter().fold(0, |sum: u64, segment| sum.saturating_add(u64::from(segment.length)))
    }

    /// Returns the segments with their lengths after `length` octets were written into the chunk: filled one after the
    /// other, in order; the rest are empty (section 3.4.6).
    #[inline]
    #[must_use]
    pub fn filled(&self, length: u64) -> Filled<'a> {
        Filled { segments: self.iter(), left: length }
    }

    #[inline(always)]
    pub(crate) fn emit_optional<S: Sink>(chunk: Option<Self>, sink: &mut S, returned: Option<u64>) {
        match chunk {
            Some(chunk) => {
                sink.word(1);
                chunk.emit(sink, returned);
            }
            None => sink.word(0),
        }
    }

    #[inline(always)]
    pub(crate) fn emit<S: Sink>(&self, sink: &mut S, returned: Option<u64>) {
        sink.count(self.len());
        match returned {
            None => sink.put_arrays(self.segments.iter().copied()),
            Some(length) => sink.put_arrays(self.filled(length).map(Segment::to_octets)),
        }
    }
}

/// Iterator over the segments of a [`WriteChunk`].
#[derive(Clone, Debug)]
pub struct Segments<'a> {
    segments: slice::Iter<'a, [u8; Segment::LEN]>,
}

impl Iterator for Segments<'_> {
    type Item = Segment;

    #[inline]
    fn next(&mut self) -> Option<Segment> {
        self.segments.next().map(Segment::from_octets)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.segments.size_hint()
    }
}

impl DoubleEndedIterator for Segments<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<Segment> {
        self.segments.next_back().map(Segment::from_octets)
    }
}

impl ExactSizeIterator for Segments<'_> {}
impl FusedIterator for Segments<'_> {}

impl<'a> IntoIterator for WriteChunk<'a> {
    type Item = Segment;
    type IntoIter = Segments<'a>;

    #[inline]
    fn into_iter(self) -> Segments<'a> {
        self.iter()
    }
}

/// Iterator over the segments of a [`WriteChunk`] a Responder has written to.
#[derive(Clone, Debug)]
pub struct Filled<'a> {
    segments: Segments<'a>,
    left: u64,
}

impl Iterator for Filled<'_> {
    type Item = Segment;

    #[inline]
    fn next(&mut self) -> Option<Segment> {
        let segment = self.segments.next()?;
        // More may be left than a segment can hold; then the segment is full.
        let length = u32::try_from(self.left).map_or(segment.length, |left| left.min(segment.length));
        self.left = self.left.saturating_sub(u64::from(length));
        Some(Segment { length, ..segment })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.segments.size_hint()
    }
}

impl ExactSizeIterator for Filled<'_> {}
impl FusedIterator for Filled<'_> {}

impl fmt::Debug for WriteChunk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    fn lengths(room: &[u32], written: u64) -> Vec<u32> {
        let segments: Vec<_> =
            room.iter().map(|&length| Segment { handle: 1, length, offset: 2 }.to_octets()).collect();
        WriteChunk::new(&segments).filled(written).map(|segment| segment.length).collect()
    }

    #[test]
    fn segments_fill_up_in_their_order() {
        assert_eq!(lengths(&[100, 0, 50], 0), [0, 0, 0]);
        assert_eq!(lengths(&[100, 0, 50], 100), [100, 0, 0]);
        assert_eq!(lengths(&[100, 0, 50], 101), [100, 0, 1]);
        assert_eq!(lengths(&[100, 0, 50], 1000), [100, 0, 50]);
        assert_eq!(lengths(&[u32::MAX, u32::MAX], 0x1_0000_0000), [u32::MAX, 1]);
    }
}

//! Positions of the segments in a Send.

use core::fmt;

use crate::lists::Chunks;
use crate::prefix::Prefix;
use crate::segment::{ReadSegment, Segment};
use crate::v1::{Body, Message};
use crate::v2::{self, family_a};

/// A segment of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SegmentLocation {
    /// In the Read list: index from 0, and Position.
    Read {
        /// Index of the segment.
        segment: usize,
        /// Its Position.
        position: u32,
    },
    /// In a Write chunk; both counted from 0.
    Write {
        /// Index of the chunk.
        chunk: usize,
        /// Index of the segment in the chunk.
        segment: usize,
    },
    /// In the Reply chunk, counted from 0.
    Reply {
        /// Index of the segment.
        segment: usize,
    },
}

impl fmt::Display for SegmentLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { segment, position } => write!(f, "read segment {segment} (Position {position})"),
            Self::Write { chunk, segment } => write!(f, "Write chunk {chunk} segment {segment}"),
            Self::Reply { segment } => write!(f, "Reply chunk segment {segment}"),
        }
    }
}

/// Length of an entry of the Read list before the handle, in octets: the flag and the Position.
const BEFORE_HANDLE: usize = 8;
/// Length of a Write chunk before the segments, in octets: the flag and the count.
const BEFORE_SEGMENTS: usize = 8;
/// Length of the word that ends a list, or begins an entry.
const FLAG: usize = 4;

/// Counts from 0, like `enumerate`, whose counter the compiler cannot prove free of overflow.
pub(super) fn counted<T>(items: impl Iterator<Item = T>) -> impl Iterator<Item = (usize, T)> {
    items.scan(0_usize, |next, item| {
        let index = *next;
        // Each item takes octets of the Send.
        *next = index.wrapping_add(1);
        Some((index, item))
    })
}

/// The chunk lists of a header, and their offset in the Send.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lists<'a> {
    /// The chunks.
    pub chunks: Chunks<'a>,
    /// Offset of the first list.
    start: usize,
    /// True for a header without a Read list, which begins with the Write list.
    no_reads: bool,
}

impl<'a> From<&Message<'a>> for Lists<'a> {
    fn from(message: &Message<'a>) -> Self {
        let start = match message.header.body {
            Body::Msgp { .. } => 24,
            _ => 16,
        };
        Self { chunks: message.header.chunks().unwrap_or_default(), start, no_reads: false }
    }
}

/// The Call chunk is not included.
impl<'a> From<&v2::HeaderV2<'a>> for Lists<'a> {
    fn from(header: &v2::HeaderV2<'a>) -> Self {
        // Before the lists of a Call comes `rdma_inv_handle`.
        let (start, no_reads) = match header {
            v2::HeaderV2::A(_) => (family_a::Header::PREFIX_LEN.saturating_add(FLAG), false),
            v2::HeaderV2::B(header) => match (header.call_chunk(), header.inv_handle()) {
                (Some(call), _) => (call.len().saturating_mul(ReadSegment::LEN).saturating_add(24), false),
                (None, Some(_)) => (20, false),
                (None, None) => (16, true),
            },
        };
        Self { chunks: header.chunks().unwrap_or_default(), start, no_reads }
    }
}

/// Returns the Call chunk of family B as a Read list; empty if there is none.
pub(super) fn call_chunk<'a>(header: &v2::HeaderV2<'a>) -> Lists<'a> {
    let reads = header.call_chunk().unwrap_or_default();
    Lists { chunks: Chunks { reads, ..Chunks::default() }, start: Prefix::LEN.saturating_add(FLAG), no_reads: false }
}

/// Returns the offset of the Read list.
pub(super) fn read_list<'a>(lists: impl Into<Lists<'a>>) -> usize {
    lists.into().start
}

/// Returns the offset of an entry of the Read list: of the flag at the start.
pub(super) fn read_segment<'a>(lists: impl Into<Lists<'a>>, index: usize) -> usize {
    read_list(lists).saturating_add(index.saturating_mul(ReadSegment::LEN))
}

/// Returns the offset of the Write list.
pub(super) fn write_list<'a>(lists: impl Into<Lists<'a>>) -> usize {
    let lists = lists.into();
    if lists.no_reads { lists.start } else { read_segment(lists, lists.chunks.reads.len()).saturating_add(FLAG) }
}

/// Returns the length of a Write chunk with this many segments, in octets.
const fn write_chunk_length(segments: usize) -> usize {
    segments.saturating_mul(Segment::LEN).saturating_add(BEFORE_SEGMENTS)
}

/// Returns the offset of a Write chunk.
pub(super) fn write_chunk<'a>(lists: impl Into<Lists<'a>>, index: usize) -> usize {
    let lists = lists.into();
    let before = lists.chunks.writes.iter().take(index);
    before.fold(write_list(lists), |sum, chunk| sum.saturating_add(write_chunk_length(chunk.len())))
}

/// Returns the offset of the Reply chunk, or of the word for a missing one.
pub(super) fn reply_chunk<'a>(lists: impl Into<Lists<'a>>) -> usize {
    write_chunk(lists, usize::MAX).saturating_add(FLAG)
}

/// Returns the offset of a segment in the Write chunk or Reply chunk that begins at `chunk`.
pub(super) const fn segment(chunk: usize, index: usize) -> usize {
    chunk.saturating_add(BEFORE_SEGMENTS).saturating_add(index.saturating_mul(Segment::LEN))
}

/// Passes every segment of a header to `take`: the place, the segment, and the offset of the handle in the Send.
pub fn segments<'a>(lists: impl Into<Lists<'a>>, mut take: impl FnMut(SegmentLocation, Segment, usize)) {
    let lists = lists.into();
    let chunks = lists.chunks;
    for (index, read) in counted(chunks.reads.iter()) {
        let at = read_segment(lists, index).saturating_add(BEFORE_HANDLE);
        take(SegmentLocation::Read { segment: index, position: read.position }, read.target, at);
    }
    let mut start = write_list(lists);
    for (chunk, write) in counted(chunks.writes.iter()) {
        for (index, target) in counted(write.iter()) {
            take(SegmentLocation::Write { chunk, segment: index }, target, segment(start, index));
        }
        start = start.saturating_add(write_chunk_length(write.len()));
    }
    let start = start.saturating_add(FLAG);
    for (index, target) in counted(chunks.reply.iter().flat_map(|chunk| chunk.iter())) {
        take(SegmentLocation::Reply { segment: index }, target, segment(start, index));
    }
}

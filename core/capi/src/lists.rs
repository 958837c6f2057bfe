//! Chunk lists in the wire format of a Send. `cursors.h` steps through the lists.

use core::ptr;

use rpcrdma::Chunks;
use rpcrdma::lists::{ReadList, WriteChunk, WriteList};
use rpcrdma::segment::{ReadSegment, Segment};

use crate::argument::{Buffer, values};
use crate::status::rpcrdma_status;
use crate::status::rpcrdma_status::RPCRDMA_INVALID;

/// A segment of registered memory (RFC 8166 section 3.4.3).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct rpcrdma_segment {
    /// The steering tag (STag, R_key) under which the memory is registered.
    pub handle: u32,
    /// Octets in the segment.
    pub length: u32,
    /// Its beginning: an address or an offset, as the handle was registered.
    pub offset: u64,
}

/// A read segment: a piece of an argument (section 3.4.5).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct rpcrdma_read_segment {
    /// Octets from the start of the unreduced Payload stream to the item that this is a part of.
    pub position: u32,
    /// Memory of the piece.
    pub target: rpcrdma_segment,
}

/// The read segments of a Read list that are still to be visited: rpcrdma_next_read_segment takes the first. A copy is a
/// second cursor.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rpcrdma_read_list {
    /// Entries in wire format, RPCRDMA_READ_ENTRY octets each.
    pub entries: *const u8,
    /// Number of entries.
    pub count: usize,
}

/// The segments of a Write chunk or Reply chunk that are still to be visited: rpcrdma_next_segment takes the first. A copy
/// is a second cursor.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rpcrdma_segment_list {
    /// Segments in wire format, RPCRDMA_SEGMENT octets each. NULL if there is no such chunk; a chunk may also be there
    /// and have no segments (section 4.3.2.3).
    pub segments: *const u8,
    /// Number of segments.
    pub count: usize,
}

/// The Write chunks of a Write list that are still to be visited: rpcrdma_next_write_chunk takes the first. A copy is a
/// second cursor.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rpcrdma_write_list {
    /// Chunks in wire format: each a 1, the number of segments, and the segments.
    pub octets: *const u8,
    /// Number of octets at octets, at least the length of the chunks.
    pub length: usize,
    /// Number of chunks.
    pub count: usize,
}

/// The chunks of a header (section 4.3).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rpcrdma_chunks {
    /// The Read list.
    pub reads: rpcrdma_read_list,
    /// The Write list.
    pub writes: rpcrdma_write_list,
    /// The Reply chunk; the pointer is NULL if there is none.
    pub reply: rpcrdma_segment_list,
}

/// Octets of a segment on the wire.
pub const RPCRDMA_SEGMENT: usize = 16;
/// Octets of an entry of the Read list on the wire.
pub const RPCRDMA_READ_ENTRY: usize = 24;

impl From<ReadList<'_>> for rpcrdma_read_list {
    #[inline(always)]
    fn from(list: ReadList<'_>) -> Self {
        Self { entries: list.entries().as_ptr().cast(), count: list.len() }
    }
}

impl From<WriteList<'_>> for rpcrdma_write_list {
    #[inline(always)]
    fn from(list: WriteList<'_>) -> Self {
        let octets = list.octets().unwrap_or_default();
        Self { octets: octets.as_ptr(), length: octets.len(), count: list.len() }
    }
}

impl From<Option<WriteChunk<'_>>> for rpcrdma_segment_list {
    #[inline(always)]
    fn from(chunk: Option<WriteChunk<'_>>) -> Self {
        match chunk {
            Some(chunk) => Self { segments: chunk.segments().as_ptr().cast(), count: chunk.len() },
            None => Self::NONE,
        }
    }
}

impl rpcrdma_segment_list {
    pub(crate) const NONE: Self = Self { segments: ptr::null(), count: 0 };
}

impl From<Chunks<'_>> for rpcrdma_chunks {
    #[inline(always)]
    fn from(chunks: Chunks<'_>) -> Self {
        Self { reads: chunks.reads.into(), writes: chunks.writes.into(), reply: chunks.reply.into() }
    }
}

impl rpcrdma_read_list {
    /// # Safety
    /// As of [`values`], for the entries.
    pub(crate) unsafe fn read<'a>(&self) -> Result<ReadList<'a>, rpcrdma_status> {
        // SAFETY: promised by the caller.
        unsafe { values(self.entries.cast::<[u8; ReadSegment::LEN]>(), self.count) }.map(ReadList::new)
    }
}

impl rpcrdma_segment_list {
    /// # Safety
    /// As of [`values`], for the segments.
    pub(crate) unsafe fn read<'a>(&self) -> Result<Option<WriteChunk<'a>>, rpcrdma_status> {
        if self.segments.is_null() && self.count == 0 {
            return Ok(None);
        }
        // SAFETY: promised by the caller.
        let segments = unsafe { values(self.segments.cast::<[u8; Segment::LEN]>(), self.count) }?;
        Ok(Some(WriteChunk::new(segments)))
    }
}

impl rpcrdma_write_list {
    /// # Safety
    /// As of [`values`], for the octets.
    pub(crate) unsafe fn read<'a>(&self) -> Result<WriteList<'a>, rpcrdma_status> {
        // SAFETY: promised by the caller.
        let octets = unsafe { values(self.octets, self.length) }?;
        WriteList::from_octets(octets, self.count).ok_or(RPCRDMA_INVALID)
    }
}

impl rpcrdma_chunks {
    /// # Safety
    /// As of [`values`], for each list.
    pub(crate) unsafe fn read<'a>(&self) -> Result<Chunks<'a>, rpcrdma_status> {
        // SAFETY: promised by the caller.
        unsafe { Ok(Chunks { reads: self.reads.read()?, writes: self.writes.read()?, reply: self.reply.read()? }) }
    }
}

impl Buffer {
    /// Returns `self` if the buffer shares no octet with the lists.
    pub(crate) fn apart_from_chunks(self, chunks: &Chunks<'_>) -> Result<Self, rpcrdma_status> {
        let apart = self.apart_from(chunks.reads.entries())?.apart_from(chunks.writes.octets().unwrap_or_default())?;
        apart.apart_from(chunks.reply.map(|chunk| chunk.segments()).unwrap_or_default())
    }
}

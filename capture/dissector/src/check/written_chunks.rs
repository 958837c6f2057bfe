//! Octets that a responder wrote to the returned chunks (RFC 8166 section 3.4.6).

use core::ops::Range;

use rpcrdma::lists::{Chunks, WriteChunk};

use crate::rpc::not_rebuilt::ChunkName;
use crate::rpc::ranges::{self, Ranges};

/// A Write chunk or the Reply chunk that comes back as offered, except for the lengths.
pub(super) struct WrittenChunk<'a> {
    pub(super) name: ChunkName,
    segments: Vec<Segment<'a>>,
}

struct Segment<'a> {
    written: &'a Ranges,
    /// Octets that were offered.
    offered: u64,
    /// Octets returned, at most the offered ones.
    returned: u64,
}

/// Returns the chunks that were offered by a call and returned by the reply; `moved` is what was moved of each segment
/// of the call. A chunk that came back changed is left out, because other rules report that.
pub(super) fn written<'a>(offered: &Chunks<'a>, returned: &Chunks<'a>, moved: &'a [Ranges]) -> Vec<WrittenChunk<'a>> {
    let mut moved = moved.iter().skip(offered.reads.len());
    let mut returned_writes = returned.writes.iter();
    let mut chunks = Vec::new();
    let writes = offered.writes.iter().enumerate().map(|(index, chunk)| (ChunkName::Write(index), chunk));
    for (name, offered) in writes.chain(offered.reply.map(|chunk| (ChunkName::Reply, chunk))) {
        let returned = if name == ChunkName::Reply { returned.reply } else { returned_writes.next() };
        let moved: Vec<&Ranges> = moved.by_ref().take(offered.len()).collect();
        chunks.extend(returned.and_then(|returned| WrittenChunk::new(name, &offered, &returned, &moved)));
    }
    chunks
}

impl<'a> WrittenChunk<'a> {
    fn new(name: ChunkName, offered: &WriteChunk<'_>, returned: &WriteChunk<'_>, moved: &[&'a Ranges]) -> Option<Self> {
        let pairs = || offered.iter().zip(returned.iter());
        let is_same = offered.len() == returned.len()
            && pairs().all(|(one, other)| (one.handle, one.offset) == (other.handle, other.offset));
        let segments = pairs().zip(moved).map(|((offered, returned), written)| Segment {
            written,
            offered: u64::from(offered.length),
            returned: u64::from(returned.length.min(offered.length)),
        });
        is_same.then(|| Self { name, segments: segments.collect() })
    }

    /// Octets that the reply returns in this chunk.
    pub(super) fn returned(&self) -> u64 {
        self.segments.iter().map(|segment| segment.returned).sum()
    }

    /// Returns the first octets that were returned but not written.
    pub(super) fn gap(&self) -> Option<Range<u64>> {
        ranges::gap(self.segments.iter().map(|segment| (segment.written, segment.returned)))
    }

    /// Returns the octets that were written after the data, if they are XDR padding: no longer than padding, with
    /// nothing behind.
    pub(super) fn padding(&self) -> Option<Range<u64>> {
        let (mut start, mut end, mut data) = (0, 0, 0);
        for segment in &self.segments {
            // Data fills one segment after the other; otherwise it is not known what is after it.
            if segment.returned > 0 && data != start {
                return None;
            }
            data += segment.returned;
            if segment.written.end_offset() > 0 {
                end = start + segment.written.end_offset();
            }
            start += segment.offered;
        }
        (data < end && end <= data.next_multiple_of(4)).then_some(data..end)
    }
}

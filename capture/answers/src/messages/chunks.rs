//! The chunk lists of a header, of whatever version.

use rpcrdma::lists::{Chunks, ReadList, WriteChunk};
use rpcrdma::segment::Segment;
use rpcrdma_dissector::Dialect;
use serde::Serialize;

use super::fields::{Field, walk};
use crate::record::values::{Hex32, Hex64};

/// The chunks of a header.
#[derive(Default)]
pub(super) struct ChunkObjects {
    pub(super) reads: Vec<ReadObject>,
    pub(super) writes: Vec<Plain>,
    pub(super) reply: Option<Plain>,
}

/// A Read chunk.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct ReadObject {
    /// Position in the Payload stream, in octets.
    position: u32,
    /// Segments at the same Position.
    segments: Vec<SegmentObject>,
}

/// A Write chunk or the Reply chunk.
#[derive(Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Plain {
    /// Segments of the chunk.
    segments: Vec<SegmentObject>,
}

/// A segment (RFC 8166 section 3.4.3).
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct SegmentObject {
    /// Handle, or steering tag.
    handle: Hex32,
    /// Length in octets.
    length: u32,
    /// Offset in the memory of the handle.
    offset: Hex64,
}

impl ChunkObjects {
    pub(super) fn new(chunks: &Chunks<'_>) -> Self {
        let plain = |chunk: WriteChunk<'_>| Plain { segments: chunk.iter().map(SegmentObject::new).collect() };
        Self {
            reads: ReadObject::list_chunks(chunks.reads),
            writes: chunks.writes.iter().map(plain).collect(),
            reply: chunks.reply.map(plain),
        }
    }

    /// The chunks that come before the fault in a header that cannot be decoded.
    pub(super) fn salvaged(dialect: Dialect, octets: &[u8]) -> Self {
        let (mut chunks, mut reads) = (Self::default(), Vec::new());
        walk(dialect, octets, &mut |_, field| match field {
            Field::ReadSegment(read) => reads.push(read.to_entry()),
            Field::WriteChunk(_) => chunks.writes.push(Plain::default()),
            Field::ReplyChunk(Some(_)) => chunks.reply = Some(Plain::default()),
            Field::Segment(segment) => {
                let chunk = chunks.reply.as_mut().or_else(|| chunks.writes.last_mut());
                chunk.into_iter().for_each(|chunk| chunk.segments.push(SegmentObject::new(segment)));
            }
            _ => {}
        });
        Self { reads: ReadObject::list_chunks(ReadList::new(&reads)), ..chunks }
    }
}

impl ReadObject {
    /// The segments of a Read list, grouped into Read chunks.
    pub(super) fn list_chunks(list: ReadList<'_>) -> Vec<Self> {
        let segments = |list: ReadList<'_>| list.iter().map(|read| SegmentObject::new(read.target)).collect();
        list.chunks().map(|chunk| Self { position: chunk.position, segments: segments(chunk.segments) }).collect()
    }
}

impl SegmentObject {
    const fn new(segment: Segment) -> Self {
        Self { handle: Hex32(segment.handle), length: segment.length, offset: Hex64(segment.offset) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::fields::CUT;

    #[test]
    fn chunks_before_the_fault_are_kept() {
        let chunks = ChunkObjects::salvaged(Dialect::Version1, &CUT);
        assert_eq!((chunks.reads.len(), chunks.writes.len(), chunks.reply.is_none()), (1, 1, true));
        assert_eq!(chunks.writes[0].segments.iter().map(|segment| segment.length).collect::<Vec<_>>(), [6]);
        // The same chunk in the place of the Reply chunk, after two empty lists.
        let reply = [&CUT[..16], &[0; 8], &CUT[44..]].concat();
        let chunks = ChunkObjects::salvaged(Dialect::Version1, &reply);
        assert_eq!((chunks.writes.len(), chunks.reply.map(|chunk| chunk.segments.len())), (0, Some(1)));
    }
}

//! Chunk lists: every way to read a list, in the form of the reference decoder, and as chosen by the fuzzer.

use arbitrary::Arbitrary;
use rpcrdma::lists::{self, ReadList, WriteChunk, WriteList};
use rpcrdma::segment::{self, ReadSegment};

use crate::reference::{Chunks, Segment};

/// Checks that every way to look at the lists shows the same.
pub(crate) fn visit(chunks: &lists::Chunks<'_>) {
    let lists::Chunks { reads, writes, reply } = *chunks;
    let forward: Vec<_> = reads.iter().collect();
    assert_eq!((reads.len(), reads.iter().len(), reads.is_empty()), (forward.len(), forward.len(), forward.is_empty()));
    assert!(reads.iter().rev().eq(forward.iter().rev().copied()));
    assert!((0..forward.len() + 1).map(|index| reads.get(index)).eq(forward.iter().copied().map(Some).chain([None])));
    let pieces: Vec<_> = reads.chunks().collect();
    assert!(pieces.iter().flat_map(|piece| piece.segments).eq(forward.iter().copied()));
    assert!(pieces.iter().all(|piece| piece.segments.iter().all(|read| read.position == piece.position)));
    assert!(pieces.windows(2).all(|pair| matches!(pair, [one, next] if one.position != next.position)));
    assert_eq!(reads.length(), forward.iter().map(|read| u64::from(read.target.length)).sum::<u64>());
    assert_eq!((writes.len(), writes.is_empty()), (writes.iter().count(), writes.iter().next().is_none()));
    assert_eq!(writes.get(writes.len()), None);
    for (index, chunk) in writes.iter().enumerate().take(16) {
        assert_eq!(writes.get(index), Some(chunk));
    }
    for chunk in writes.iter().chain(reply) {
        let forward: Vec<_> = chunk.iter().collect();
        assert_eq!((chunk.len(), chunk.is_empty()), (forward.len(), forward.is_empty()));
        assert!(chunk.iter().rev().eq(forward.iter().rev().copied()));
        assert_eq!(chunk.get(forward.len()), None);
        assert_eq!(chunk.length(), forward.iter().map(|segment| u64::from(segment.length)).sum::<u64>());
    }
}

/// The segments of a Read list, in the form of the reference decoder.
pub(crate) fn read_segments(list: lists::ReadList<'_>) -> Vec<(u32, Segment)> {
    list.iter().map(|read| (read.position, segment(read.target))).collect()
}

/// Chunk lists, in the form of the reference decoder.
pub(crate) fn chunks(lists: &lists::Chunks<'_>) -> Chunks {
    let chunk = |chunk: lists::WriteChunk<'_>| chunk.iter().map(segment).collect();
    Chunks {
        reads: read_segments(lists.reads),
        writes: lists.writes.iter().map(chunk).collect(),
        reply: lists.reply.map(chunk),
    }
}

fn segment(segment: segment::Segment) -> Segment {
    (segment.handle, segment.length, segment.offset)
}

/// Handle, length, offset.
type ChosenSegment = (u32, u32, u64);

/// Chunk lists, as chosen by the fuzzer.
#[derive(Arbitrary, Debug)]
pub(crate) struct ChosenLists {
    reads: Vec<(u32, ChosenSegment)>,
    writes: Vec<Vec<ChosenSegment>>,
    reply: Option<Vec<ChosenSegment>>,
}

impl ChosenLists {
    pub(crate) fn with(&self, use_it: impl FnOnce(lists::Chunks<'_>)) {
        let octets =
            |chunk: &Vec<ChosenSegment>| chunk.iter().map(|chosen| chosen_segment(chosen).to_octets()).collect();
        let reads = Self::entries(&self.reads);
        let writes: Vec<Vec<_>> = self.writes.iter().map(octets).collect();
        let writes: Vec<_> = writes.iter().map(|chunk| WriteChunk::new(chunk)).collect();
        let reply: Option<Vec<_>> = self.reply.as_ref().map(octets);
        use_it(lists::Chunks {
            reads: ReadList::new(&reads),
            writes: WriteList::from_chunks(&writes),
            reply: reply.as_ref().map(|chunk| WriteChunk::new(chunk)),
        });
    }

    pub(crate) fn entries(reads: &[(u32, ChosenSegment)]) -> Vec<[u8; ReadSegment::LEN]> {
        // Few Positions, so that some follow each other.
        let entry =
            |(position, target): &_| ReadSegment { position: position & 3, target: chosen_segment(target) }.to_entry();
        reads.iter().map(entry).collect()
    }
}

fn chosen_segment(chosen: &ChosenSegment) -> segment::Segment {
    let &(handle, length, offset) = chosen;
    segment::Segment { handle, length, offset }
}

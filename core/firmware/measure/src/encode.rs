//! Encodes a header of version 1 from the lists of the caller.

use core::hint::black_box;
use core::slice;

use rpcrdma::lists::{Chunks, ReadList, WriteChunk, WriteList};
use rpcrdma::v1::{Body, Header};

use super::SENDS;

pub(crate) struct Entry {
    writes: WriteChunk<'static>,
    chunks: Chunks<'static>,
}

impl Entry {
    /// With as many segments as the vector of this number has. What they are does not matter: the octets of a vector.
    pub(crate) fn new(number: usize) -> Self {
        let (reads, writes, reply) = [(0, 0, 0), (0, 1, 0), (2, 0, 1), (16, 16, 16)][number];
        let segments = |count| WriteChunk::new(SENDS[3].as_chunks().0.get(..count).unwrap_or_default());
        let chunks = Chunks {
            reads: ReadList::new(SENDS[3].as_chunks().0.get(..reads).unwrap_or_default()),
            writes: WriteList::EMPTY,
            reply: (reply > 0).then(|| segments(reply)),
        };
        Self { writes: segments(writes), chunks }
    }

    #[inline(never)]
    pub(crate) fn run(&mut self, _: &[u8], buffer: &mut [u8]) {
        let writes = WriteList::from_chunks(if self.writes.is_empty() { &[] } else { slice::from_ref(&self.writes) });
        // The compiler must not know how many there are, nor that they came from a list in one piece.
        let chunks = black_box(Chunks { writes, ..self.chunks });
        let header = Header { xid: black_box(1), credit: black_box(2), body: Body::Msg(chunks) };
        if header.encode(buffer).is_err() {
            super::failed();
        }
    }
}

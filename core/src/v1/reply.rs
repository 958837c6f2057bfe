//! The header of a Reply, made from the chunks that the Call provided (RFC 8166 sections 3.4.6, 4.3.2 and 4.3.3).
//!
//! A Responder returns every Write chunk and the Reply chunk of the Call, segment by segment, and changes only the
//! lengths, to the number of octets written. The Read list stays empty, except between peers that both know
//! responder-provided Read chunks (RFC 5666 section 3.5).

use super::VERSION;
pub use crate::lists::ReplyError;
use crate::lists::{Chunks, ReadList, ReplyChunks};
use crate::prefix::{Prefix, Procedure};
use crate::sink::{Emit, Sink, encodable};

/// The header of a Reply.
///
/// ```
/// use rpcrdma::lists::{Chunks, WriteChunk, WriteList};
/// use rpcrdma::segment::Segment;
/// use rpcrdma::v1::{Header, ReplyHeader};
///
/// // The Call has provided one Write chunk of 128 octets in two segments.
/// let memory = [(1, 0x1000), (2, 0x2000)].map(|(handle, offset)| Segment { handle, length: 64, offset }.to_octets());
/// let writes = [WriteChunk::new(&memory)];
/// let provided = Chunks { writes: WriteList::from_chunks(&writes), ..Chunks::default() };
///
/// // The result had 100 octets.
/// let reply = ReplyHeader::new(7, 32, &provided).with_writes(&[100])?;
/// let mut send = [0; 1024];
/// let length = reply.encode(&mut send).unwrap();
///
/// let (header, _) = Header::decode(&send[..length]).unwrap();
/// let chunk = header.chunks().and_then(|chunks| chunks.writes.get(0)).unwrap();
/// assert!(chunk.iter().map(|segment| segment.length).eq([64, 36]));
/// # Ok::<(), rpcrdma::v1::ReplyError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ReplyHeader<'a> {
    xid: u32,
    credit: u32,
    procedure: Procedure,
    reads: ReadList<'a>,
    chunks: ReplyChunks<'a>,
}

impl<'a> ReplyHeader<'a> {
    /// Creates the Reply to a Call that `provided` these chunks, all unused: an `RDMA_MSG`, with the reply inline.
    #[inline]
    #[must_use]
    pub const fn new(xid: u32, credit: u32, provided: &Chunks<'a>) -> Self {
        Self {
            xid,
            credit,
            procedure: Procedure::RDMA_MSG,
            reads: ReadList::new(&[]),
            chunks: ReplyChunks::new(provided),
        }
    }

    /// Sets `written[n]` octets in the Write chunk `n`; chunks after the last number are unused.
    ///
    /// # Errors
    /// A [`ReplyError`] if there are more numbers than Write chunks, or a number exceeds the length of the chunk.
    pub fn with_writes(self, written: &'a [u64]) -> Result<Self, ReplyError> {
        Ok(Self { chunks: self.chunks.with_writes(written)?, ..self })
    }

    /// Makes this a Long Reply: an `RDMA_NOMSG` with the Payload stream, `length` octets, in the Reply chunk (section
    /// 3.5.3).
    ///
    /// # Errors
    /// A [`ReplyError`] if there is no Reply chunk, or the Reply chunk is too small.
    pub fn with_reply(self, length: u64) -> Result<Self, ReplyError> {
        Ok(Self { procedure: Procedure::RDMA_NOMSG, chunks: self.chunks.with_reply(length)?, ..self })
    }

    /// Makes the reply an `RDMA_NOMSG` with the Payload stream in a Position Zero chunk that the Responder provides
    /// (RFC 5666 section 3.5). RFC 8166 does not have this. Use only with a Requester that is known to read the chunk
    /// and to send `RDMA_DONE`.
    #[must_use]
    pub const fn with_reads(self, reads: ReadList<'a>) -> Self {
        Self { procedure: Procedure::RDMA_NOMSG, reads, ..self }
    }

    /// Returns `rdma_proc`: `RDMA_MSG`, or `RDMA_NOMSG` for a Long Reply.
    #[inline]
    #[must_use]
    pub const fn procedure(&self) -> Procedure {
        self.procedure
    }
}

encodable! {
    #[inline]
    ReplyHeader<'_>, "header"
}

impl Emit for ReplyHeader<'_> {
    #[inline]
    fn emit<S: Sink>(&self, sink: &mut S) {
        let Self { xid, credit, procedure, .. } = *self;
        Prefix { xid, version: VERSION, credit, procedure }.emit(sink);
        self.chunks.chunks(self.reads).emit(sink, Some(self.chunks.returned()));
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;
    use crate::lists::WriteChunk;
    use crate::segment::{ReadSegment, Segment};

    #[test]
    fn a_provided_reply_has_an_unused_reply_chunk() {
        let memory = [Segment { handle: 1, length: 64, offset: 2 }.to_octets()];
        let provided = Chunks { reply: Some(WriteChunk::new(&memory)), ..Chunks::default() };
        let entry = [ReadSegment { position: 0, target: Segment { handle: 3, length: 99, offset: 4 } }.to_entry()];
        let reply = ReplyHeader::new(7, 32, &provided).with_reads(ReadList::new(&entry));
        let mut octets = [0xa5; 80];
        let length = reply.encode(&mut octets).unwrap();
        assert_eq!(length, reply.encoded_len());
        let words: Vec<_> =
            octets[..length].chunks(4).map(|word| u32::from_be_bytes(word.try_into().unwrap())).collect();
        assert_eq!(words, [7, 1, 32, 1, 1, 0, 3, 99, 0, 4, 0, 0, 1, 1, 1, 0, 0, 2]);
    }
}

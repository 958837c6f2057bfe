//! The lists of a Call: the handle that may be invalidated, then Read list, Write list, Reply chunk.
//!
//! ```text
//! +------------+-----------+------------+-------------+
//! | inv_handle | Read list | Write list | Reply chunk |
//! +------------+-----------+------------+-------------+
//! ```
//!
//! Family A has these lists in `RDMA2_MSG` and `RDMA2_NOMSG`, also in Replies; family B in `RDMA2_CALL_EXTERNAL` and
//! `RDMA2_CALL_INLINE`. Each list has the format of version 1.

use core::fmt;

use crate::error::DecodeError;
use crate::lists::Chunks;
use crate::reader::Reader;
use crate::sink::Sink;

/// `rpcrdma2_chunk_lists`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChunkLists<'a> {
    /// `rdma_inv_handle`: a handle of this header that the Responder may invalidate with the Reply, by Send With
    /// Invalidate; 0 for none (version two draft -01, "Remote Invalidation"; -07 section 6.5). The field has no meaning
    /// in a Reply.
    pub inv_handle: u32,
    /// Read list, Write list, Reply chunk.
    pub chunks: Chunks<'a>,
}

impl<'a> ChunkLists<'a> {
    /// Returns true if a handle is offered for invalidation that does not occur in these lists, although it has to.
    #[must_use]
    pub fn offers_foreign_handle(&self) -> bool {
        let Self { inv_handle, chunks } = *self;
        let reads = chunks.reads.iter().map(|read| read.target);
        let writes = chunks.writes.iter().chain(chunks.reply).flatten();
        inv_handle != 0 && !reads.chain(writes).any(|segment| segment.handle == inv_handle)
    }

    #[inline(always)]
    pub(super) fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self { inv_handle: reader.u32().map_err(DecodeError::truncated)?, chunks: Chunks::decode(reader)? })
    }

    /// Writes the handle that may be invalidated, and the length of each chunk, each after a space.
    pub(super) fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.inv_handle != 0 {
            write!(f, " inv_handle {:#010x}", self.inv_handle)?;
        }
        self.chunks.show(f)
    }

    #[inline(always)]
    pub(super) fn emit<S: Sink>(&self, sink: &mut S) {
        sink.word(self.inv_handle);
        self.chunks.emit(sink, None);
    }
}

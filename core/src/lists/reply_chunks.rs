//! Chunks of a Call for results and for the Reply, and the lengths that the Responder returns.

use core::fmt;

use super::{Chunks, ReadList, Returned, WriteChunk, WriteList};

/// The Write chunks and the Reply chunk of a Call, and the number of octets returned in each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplyChunks<'a> {
    pub(crate) writes: WriteList<'a>,
    pub(crate) reply: Option<WriteChunk<'a>>,
    written: &'a [u64],
    reply_length: u64,
}

/// Lengths that a Responder cannot return.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReplyError {
    /// The Call provided no such chunk.
    NoChunk,
    /// More octets than fit into the chunk.
    ChunkTooSmall {
        /// Number of octets to return in the chunk.
        length: u64,
        /// Length of the chunk in octets.
        capacity: u64,
    },
}

impl<'a> ReplyChunks<'a> {
    /// Creates the lists of a Call with these chunks, all unused.
    #[inline]
    pub(crate) const fn new(provided: &Chunks<'a>) -> Self {
        Self { writes: provided.writes, reply: provided.reply, written: &[], reply_length: 0 }
    }

    /// Sets `written[n]` octets in the Write chunk `n`; chunks after the last number are unused.
    #[inline]
    pub(crate) fn with_writes(self, written: &'a [u64]) -> Result<Self, ReplyError> {
        let mut chunks = self.writes.iter();
        for &length in written {
            fits(chunks.next(), length)?;
        }
        Ok(Self { written, ..self })
    }

    /// Sets this number of octets in the Reply chunk.
    #[inline]
    pub(crate) fn with_reply(self, length: u64) -> Result<Self, ReplyError> {
        fits(self.reply, length)?;
        Ok(Self { reply_length: length, ..self })
    }

    /// Returns all chunks as provided by the Call, with this Read list.
    #[inline(always)]
    pub(crate) const fn chunks(&self, reads: ReadList<'a>) -> Chunks<'a> {
        Chunks { reads, writes: self.writes, reply: self.reply }
    }

    /// Returns the lengths set so far.
    #[inline(always)]
    pub(crate) const fn returned(&self) -> Returned<'a> {
        Returned { writes: self.written, reply: self.reply_length }
    }
}

fn fits(chunk: Option<WriteChunk<'_>>, length: u64) -> Result<(), ReplyError> {
    let capacity = chunk.ok_or(ReplyError::NoChunk)?.length();
    if length > capacity { Err(ReplyError::ChunkTooSmall { length, capacity }) } else { Ok(()) }
}

impl fmt::Display for ReplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoChunk => f.write_str("the Call provided no such chunk"),
            Self::ChunkTooSmall { length, capacity } => write!(f, "{length} octets for a chunk of {capacity}"),
        }
    }
}

impl core::error::Error for ReplyError {}

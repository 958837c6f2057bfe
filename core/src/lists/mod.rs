//! The chunk lists of a header: Read list, Write list, Reply chunk (RFC 8166 section 4.3).
//!
//! ```text
//! +-- Read list --------------+-- Write list ------------------+-- Reply chunk -----+
//! | 1 PHLOO  1 PHLOO  ...  0  | 1 n HLOO ...  1 n HLOO ...  0  | 1 n HLOO ...  or 0 |
//! +---------------------------+--------------------------------+--------------------+
//! P Position, H handle, L length, OO offset; 1 "one more follows", 0 "none", n segments in the chunk
//! ```
//!
//! Lists are checked once, while the header is decoded. From then on a list is a slice, and reading a list cannot fail.

mod read_list;
mod reply_chunks;
mod write_chunk;
mod write_list;

pub use read_list::{ReadChunk, ReadChunks, ReadList, ReadSegments};
pub(crate) use reply_chunks::ReplyChunks;
pub use reply_chunks::ReplyError;
pub use write_chunk::{Filled, Segments, WriteChunk};
pub use write_list::{WriteChunks, WriteList};

use core::fmt;

use crate::error::{DecodeError, DecodeErrorKind};
use crate::reader::Reader;
use crate::sink::Sink;

/// All chunks of one header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chunks<'a> {
    /// The Read list (section 4.3.1).
    pub reads: ReadList<'a>,
    /// The Write list (section 4.3.2).
    pub writes: WriteList<'a>,
    /// The Reply chunk, if there is one (section 4.3.3).
    pub reply: Option<WriteChunk<'a>>,
}

/// Lengths of the chunks that a Responder returns.
#[derive(Clone, Copy)]
pub(crate) struct Returned<'a> {
    /// Number of octets in each Write chunk; chunks without a number are unused.
    pub(crate) writes: &'a [u64],
    /// Number of octets in the Reply chunk.
    pub(crate) reply: u64,
}

impl<'a> Chunks<'a> {
    /// Returns true if there are no chunks.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.reads.is_empty() && self.writes.is_empty() && self.reply.is_none()
    }

    #[inline(always)]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            reads: ReadList::decode(reader)?,
            writes: WriteList::decode(reader)?,
            reply: WriteChunk::decode_optional(reader)?,
        })
    }

    /// Writes the lists unchanged, or with the lengths that a Responder returns.
    #[inline(always)]
    pub(crate) fn emit<S: Sink>(&self, sink: &mut S, returned: Option<Returned<'_>>) {
        if self.is_empty() {
            // Most messages have no chunk: three words of zeros.
            return sink.put_octets(&[0; 12]);
        }
        self.reads.emit(sink);
        self.writes.emit(sink, returned.map(|returned| returned.writes));
        WriteChunk::emit_optional(self.reply, sink, returned.map(|returned| returned.reply));
    }
}

impl Chunks<'_> {
    /// Writes the length of each chunk, each after a space.
    pub(crate) fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.reads.chunks() {
            write!(f, " read {}@{}", chunk.segments.length(), chunk.position)?;
        }
        for chunk in self.writes {
            write!(f, " write {}", chunk.length())?;
        }
        self.reply.map_or(Ok(()), |chunk| write!(f, " reply {}", chunk.length()))
    }
}

/// Reads the word of XDR optional-data (RFC 4506 section 4.19). Returns true if an entry follows.
#[inline(always)]
fn follows(reader: &mut Reader<'_>) -> Result<bool, DecodeError> {
    let before = *reader;
    match reader.u32() {
        Ok(0) => Ok(false),
        Ok(1) => Ok(true),
        Ok(_) => Err(DecodeError::new(DecodeErrorKind::ListFlag, before.offset())),
        Err(_) => Err(DecodeError::new(DecodeErrorKind::ListTruncated, before.offset())),
    }
}

#[cfg(test)]
mod tests {
    use std::format;
    use std::vec::Vec;

    use super::*;
    use crate::segment::{ReadSegment, Segment};
    use crate::v1::{Body, Header};

    #[test]
    fn lists_show_what_is_in_them() {
        let segment = |length| Segment { handle: 7, length, offset: 8 };
        let entries = [(40, 10), (40, 20), (64, 5)]
            .map(|(position, length)| ReadSegment { position, target: segment(length) }.to_entry());
        let segments = [segment(100), segment(200)].map(Segment::to_octets);
        let (reads, reply) = (ReadList::new(&entries), WriteChunk::new(&segments));
        assert_eq!(format!("{reads:?}"), format!("{:?}", reads.iter().collect::<Vec<_>>()));
        assert_eq!(format!("{reply:?}"), format!("{:?}", [segment(100), segment(200)]));
        let offered = [reply, reply];
        let writes = WriteList::from_chunks(&offered);
        assert_eq!(format!("{writes:?}"), format!("{offered:?}"));
        let chunks = Chunks { reads, reply: Some(reply), ..Chunks::default() };
        let header = Header { xid: 1, credit: 2, body: Body::Msg(chunks) };
        assert_eq!(format!("{header}"), "RDMA_MSG xid 0x00000001 credit 2 read 30@40 read 5@64 reply 300");
    }
}

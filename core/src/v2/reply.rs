//! The header of a Reply of version 2, made from the chunks that the Call provided.
//!
//! As in version 1, the Responder returns the chunks with the lengths written. An inline Reply has no Reply chunk,
//! whether or not one was provided (version two draft -02, "XDR Errors"; -07 section 6.3.10).

use super::family_a::{self, HeaderFlags};
use super::{Credit, Family, VERSION, family_b};
use crate::lists::{Chunks, ReadList, ReplyChunks, ReplyError, WriteChunk};
use crate::prefix::{Prefix, Procedure};
use crate::sink::{Emit, Sink, encodable};

/// The header of a Reply of version 2.
///
/// ```
/// use rpcrdma::lists::{Chunks, WriteChunk};
/// use rpcrdma::segment::Segment;
/// use rpcrdma::v2::{Credit, Family, HeaderV2, ReplyHeaderV2};
///
/// let memory = [Segment { handle: 1, length: 64, offset: 0x1000 }.to_octets()];
/// let provided = Chunks { reply: Some(WriteChunk::new(&memory)), ..Chunks::default() };
///
/// // A Reply of 24 octets, inline: RDMA2_REPLY_INLINE, without the Reply chunk.
/// let reply = ReplyHeaderV2::new(Family::B, 7, Credit(32), &provided);
/// let mut send = [0; 1024];
/// assert_eq!(reply.encode(&mut send).unwrap(), 20);
///
/// // The same in the Reply chunk: RDMA2_REPLY_EXTERNAL.
/// let length = reply.with_reply(24)?.encode(&mut send).unwrap();
/// let (header, _) = HeaderV2::decode(Family::B, &send[..length]).unwrap();
/// assert_eq!(header.chunks().and_then(|chunks| chunks.reply).map(|chunk| chunk.length()), Some(24));
/// # Ok::<(), rpcrdma::v1::ReplyError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ReplyHeaderV2<'a> {
    family: Family,
    xid: u32,
    credit: Credit,
    place: ReplyPlace,
    chunks: ReplyChunks<'a>,
}

/// Location of a Reply's Payload stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReplyPlace {
    /// After the header.
    Inline,
    ReplyChunk,
}

impl<'a> ReplyHeaderV2<'a> {
    /// Creates the Reply to a Call that `provided` these chunks, all unused, with the Payload stream after the header.
    #[must_use]
    pub const fn new(family: Family, xid: u32, credit: Credit, provided: &Chunks<'a>) -> Self {
        Self { family, xid, credit, place: ReplyPlace::Inline, chunks: ReplyChunks::new(provided) }
    }

    /// Sets `written[n]` octets in the Write chunk `n`; chunks after the last number are unused.
    ///
    /// # Errors
    /// A [`ReplyError`] if there are more numbers than Write chunks, or a number exceeds the length of the chunk.
    pub fn with_writes(self, written: &'a [u64]) -> Result<Self, ReplyError> {
        Ok(Self { chunks: self.chunks.with_writes(written)?, ..self })
    }

    /// Puts the Payload stream, `length` octets, in the Reply chunk.
    ///
    /// # Errors
    /// A [`ReplyError`] if there is no Reply chunk, or the Reply chunk is too small.
    pub fn with_reply(self, length: u64) -> Result<Self, ReplyError> {
        Ok(Self { place: ReplyPlace::ReplyChunk, chunks: self.chunks.with_reply(length)?, ..self })
    }

    const fn header_type(&self) -> u32 {
        match (self.family, self.place) {
            (Family::A, ReplyPlace::Inline) => family_a::HeaderType::RDMA2_MSG.0,
            (Family::A, ReplyPlace::ReplyChunk) => family_a::HeaderType::RDMA2_NOMSG.0,
            (Family::B, ReplyPlace::Inline) => family_b::HeaderType::RDMA2_REPLY_INLINE.0,
            (Family::B, ReplyPlace::ReplyChunk) => family_b::HeaderType::RDMA2_REPLY_EXTERNAL.0,
        }
    }
}

encodable! {
    ReplyHeaderV2<'_>, "header"
}

impl Emit for ReplyHeaderV2<'_> {
    fn emit<S: Sink>(&self, sink: &mut S) {
        let Self { family, xid, credit, place, chunks } = *self;
        Prefix { xid, version: VERSION, credit: credit.0, procedure: Procedure(self.header_type()) }.emit(sink);
        let reply = chunks.reply.filter(|_| place == ReplyPlace::ReplyChunk);
        let returned = chunks.returned();
        if family == Family::A {
            sink.word(HeaderFlags::RESPONSE.bits());
            // `rdma_inv_handle`, which has no meaning here.
            sink.word(0);
            ReadList::new(&[]).emit(sink);
        }
        chunks.writes.emit(sink, Some(returned.writes));
        if family == Family::A || place == ReplyPlace::ReplyChunk {
            WriteChunk::emit_optional(reply, sink, Some(returned.reply));
        }
    }
}

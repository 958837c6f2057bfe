//! The RPC-over-RDMA version 1 header (RFC 8166 section 4.1).
//!
//! ```text
//!  0        16
//! +--------+-------------------------------------------+
//! | prefix | Read list, Write list, Reply chunk        | payload ...   RDMA_MSG
//! | prefix | Read list, Write list, Reply chunk        |               RDMA_NOMSG
//! | prefix | align, thresh, then the lists as above    | payload ...   RDMA_MSGP
//! | prefix |                                           |               RDMA_DONE
//! | prefix | 1 = ERR_VERS, low, high   or 2 = ERR_CHUNK|               RDMA_ERROR
//! +--------+-------------------------------------------+
//! ```

mod error;
mod reply;

pub use error::{ErrorBody, ErrorReply};
pub use reply::{ReplyError, ReplyHeader};

use core::fmt;

use crate::error::{DecodeError, DecodeErrorKind};
use crate::lists::Chunks;
use crate::message::DecodedSend;
use crate::prefix::{Prefix, Procedure};
use crate::reader::{EndOfInput, Reader};
use crate::sink::{Emit, Sink, encodable};

/// The transport header of one message.
///
/// ```
/// use rpcrdma::lists::{Chunks, WriteChunk, WriteList};
/// use rpcrdma::segment::Segment;
/// use rpcrdma::v1::{Body, Header};
///
/// let memory = [Segment { handle: 0xa94, length: 131_072, offset: 0x6000 }.to_octets()];
/// let writes = [WriteChunk::new(&memory)];
/// let chunks = Chunks { writes: WriteList::from_chunks(&writes), ..Chunks::default() };
/// let header = Header { xid: 7, credit: 32, body: Body::Msg(chunks) };
///
/// assert_eq!(header.encoded_len(), 52);
/// let mut send = [0; 1024];
/// let length = header.encode(&mut send)?;
/// // The Payload stream goes to `send[length..]`.
/// assert_eq!(Header::decode(&send[..length]), Ok((header, &[][..])));
///
/// let error = header.encode(&mut send[..50]).unwrap_err();
/// assert_eq!((error.needed, error.missing), (52, 2));
/// # Ok::<(), rpcrdma::error::EncodeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<'a> {
    /// `rdma_xid`.
    pub xid: u32,
    /// `rdma_credit`: requested in a Call, granted in a Reply.
    pub credit: u32,
    /// The part selected by `rdma_proc`.
    pub body: Body<'a>,
}

/// The part of a header that depends on `rdma_proc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// `RDMA_MSG`: the Payload stream follows, whole or reduced.
    Msg(Chunks<'a>),
    /// `RDMA_NOMSG`: the Payload stream is in a chunk.
    Nomsg(Chunks<'a>),
    /// `RDMA_MSGP`, which must not be sent any more (section 4.6.1).
    Msgp {
        /// `rdma_align`: the alignment of large items, in octets.
        align: u32,
        /// `rdma_thresh`: the size from which items count as large, in octets.
        thresh: u32,
        /// The chunk lists.
        chunks: Chunks<'a>,
    },
    /// `RDMA_DONE`, which must not be sent any more (section 4.6.2).
    Done,
    /// `RDMA_ERROR` (section 4.5).
    Error(ErrorBody),
}

/// `rdma_vers` of every header this module encodes and decodes.
pub const VERSION: u32 = 1;

/// Octets of the smallest header with chunk lists (section 4.5).
const SMALLEST: usize = 28;

impl<'a> Header<'a> {
    /// Reads the header of a Send and returns the header and the octets that follow.
    ///
    /// The Payload stream of a [`Body::Msg`] follows; see [`Message`] for the others.
    ///
    /// # Errors
    /// A [`DecodeError`] if the octets are not a version 1 header.
    #[inline(always)]
    pub fn decode(octets: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(octets);
        let Ok(fixed) = reader.array::<{ Prefix::LEN }>() else { return Err(DecodeError::short(octets.len())) };
        let prefix = Prefix::from_octets(fixed);
        let Prefix { xid, version, credit, procedure } = prefix;
        // Nearly all messages use one of two procedures. The others are decoded elsewhere, to keep this short.
        let usual = version == VERSION && matches!(procedure, Procedure::RDMA_MSG | Procedure::RDMA_NOMSG);
        let body = if !usual || octets.len() < SMALLEST {
            let (body, rest) = Body::decode_unusual(prefix, octets.len(), reader)?;
            reader = rest;
            body
        } else {
            let chunks = Chunks::decode(&mut reader)?;
            if procedure == Procedure::RDMA_MSG { Body::Msg(chunks) } else { Body::Nomsg(chunks) }
        };
        Ok((Self { xid, credit, body }, reader.rest()))
    }

    /// Returns the chunk lists; `None` for a procedure without chunk lists.
    #[inline]
    #[must_use]
    pub const fn chunks(&self) -> Option<Chunks<'a>> {
        match self.body {
            Body::Msg(chunks) | Body::Nomsg(chunks) | Body::Msgp { chunks, .. } => Some(chunks),
            Body::Done | Body::Error(_) => None,
        }
    }

    /// Returns `rdma_proc`.
    #[inline]
    #[must_use]
    pub const fn procedure(&self) -> Procedure {
        match self.body {
            Body::Msg(_) => Procedure::RDMA_MSG,
            Body::Nomsg(_) => Procedure::RDMA_NOMSG,
            Body::Msgp { .. } => Procedure::RDMA_MSGP,
            Body::Done => Procedure::RDMA_DONE,
            Body::Error(_) => Procedure::RDMA_ERROR,
        }
    }

    /// Returns the fixed fields.
    #[inline]
    #[must_use]
    pub const fn prefix(&self) -> Prefix {
        Prefix { xid: self.xid, version: VERSION, credit: self.credit, procedure: self.procedure() }
    }
}

encodable! {
    #[inline]
    Header<'_>, "header"
}

impl<'a> Body<'a> {
    /// Reads the body of a message that is not a valid `RDMA_MSG` or `RDMA_NOMSG`; `length` is that of the whole
    /// message.
    #[cold]
    #[inline(never)]
    fn decode_unusual(
        prefix: Prefix,
        length: usize,
        mut reader: Reader<'a>,
    ) -> Result<(Self, Reader<'a>), DecodeError> {
        let smallest = match (prefix.version, prefix.procedure) {
            (VERSION, Procedure::RDMA_DONE) => Prefix::LEN,
            (VERSION, Procedure::RDMA_ERROR) => ErrorBody::SMALLEST,
            _ => SMALLEST,
        };
        if length < smallest {
            return Err(DecodeError::short(length));
        }
        if prefix.version != VERSION {
            return Err(DecodeError::new(DecodeErrorKind::Version, 4));
        }
        let cut = |end: EndOfInput| DecodeError::short(end.offset);
        let body = match prefix.procedure {
            Procedure::RDMA_MSGP => Self::Msgp {
                align: reader.u32().map_err(cut)?,
                thresh: reader.u32().map_err(cut)?,
                chunks: Chunks::decode(&mut reader)?,
            },
            Procedure::RDMA_DONE => Self::Done,
            Procedure::RDMA_ERROR => Self::Error(ErrorBody::decode(&mut reader)?),
            _ => return Err(DecodeError::new(DecodeErrorKind::Procedure, 12)),
        };
        Ok((body, reader))
    }
}

impl Emit for Header<'_> {
    #[inline(always)]
    fn emit<S: Sink>(&self, sink: &mut S) {
        self.prefix().emit(sink);
        match &self.body {
            Body::Msg(chunks) | Body::Nomsg(chunks) => chunks.emit(sink, None),
            Body::Msgp { align, thresh, chunks } => {
                sink.word(*align);
                sink.word(*thresh);
                chunks.emit(sink, None);
            }
            Body::Done => {}
            Body::Error(error) => error.emit(sink),
        }
    }
}

impl fmt::Display for Header<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} xid {:#010x} credit {}", self.procedure(), self.xid, self.credit)?;
        if let Body::Error(error) = self.body {
            write!(f, " {error}")?;
        }
        self.chunks().map_or(Ok(()), |chunks| chunks.show(f))
    }
}

/// One Send of version 1. The Payload stream of an `RDMA_MSG` or `RDMA_MSGP` follows the header.
pub type Message<'a> = DecodedSend<'a, Header<'a>>;

impl<'a> Message<'a> {
    /// Reads one Send.
    ///
    /// # Errors
    /// A [`DecodeError`] if the octets do not begin with a version 1 header.
    #[inline]
    pub fn decode(octets: &'a [u8]) -> Result<Self, DecodeError> {
        let (header, payload) = Header::decode(octets)?;
        Ok(Self::new(octets, header, payload))
    }
}

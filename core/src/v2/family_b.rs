//! Family B, the wire format of drafts -03 to -07.
//!
//! ```text
//!  0        16
//! +--------+-----------------------------------------------------------+
//! | prefix | code, and what it calls for                               |               RDMA2_ERROR
//! | prefix |                                                           |               RDMA2_GRANT
//! | prefix | transport properties                                      |               RDMA2_CONNPROP_MIDDLE, _FINAL
//! | prefix | inv_handle, Call chunk, Read list, Write list, Reply chunk|               RDMA2_CALL_EXTERNAL
//! | prefix | remaining                                                 | payload ...   RDMA2_CALL_MIDDLE, REPLY_MIDDLE
//! | prefix | inv_handle, Read list, Write list, Reply chunk            | payload ...   RDMA2_CALL_INLINE
//! | prefix | Write list, Reply chunk                                   |               RDMA2_REPLY_EXTERNAL
//! | prefix | Write list                                                | payload ...   RDMA2_REPLY_INLINE
//! +--------+-----------------------------------------------------------+
//! ```
//!
//! The prefix has 16 octets. Draft -07 section 7 says 20, which is left over from family A.

use core::fmt;

use super::error::{ERROR, ErrorBodyV2};
use super::{ChunkLists, Credit, PropertySet, VERSION};
use crate::codes::named;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::lists::{Chunks, ReadList, WriteChunk, WriteList};
use crate::message::DecodedSend;
use crate::prefix::{Prefix, Procedure};
use crate::reader::Reader;
use crate::sink::{Emit, Sink, encodable};

/// `rdma_htype`; any number can be represented, with or without a meaning (draft -07 section 6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HeaderType(pub u32);

named! {
    #[inline]
    HeaderType of "the drafts", prefix "", field "rdma_htype";

    /// Something is wrong with a message (section 6.3.1).
    RDMA2_ERROR = ERROR,
    /// A grant of credits (section 6.3.2).
    RDMA2_GRANT = 5,
    /// Transport properties of the sender; more follow (section 6.3.3).
    RDMA2_CONNPROP_MIDDLE = 6,
    /// Transport properties of the sender; the last (section 6.3.4).
    RDMA2_CONNPROP_FINAL = 7,
    /// A Call in a chunk (section 6.3.5).
    RDMA2_CALL_EXTERNAL = 8,
    /// A part of a Call; more follow (section 6.3.6).
    RDMA2_CALL_MIDDLE = 9,
    /// A Call, or the last part of a Call (section 6.3.7).
    RDMA2_CALL_INLINE = 10,
    /// A Reply in a chunk (section 6.3.8).
    RDMA2_REPLY_EXTERNAL = 11,
    /// A part of a Reply; more follow (section 6.3.9).
    RDMA2_REPLY_MIDDLE = 12,
    /// A Reply, or the last part of a Reply (section 6.3.10).
    RDMA2_REPLY_INLINE = 13,
}

/// The transport header of one message.
///
/// ```
/// use rpcrdma::lists::{Chunks, WriteChunk};
/// use rpcrdma::segment::Segment;
/// use rpcrdma::v2::family_b::{Body, Header};
/// use rpcrdma::v2::{ChunkLists, Credit};
///
/// let memory = [Segment { handle: 0xa94, length: 131_072, offset: 0x6000 }.to_octets()];
/// let chunks = Chunks { reply: Some(WriteChunk::new(&memory)), ..Chunks::default() };
/// let body = Body::CallInline(ChunkLists { inv_handle: 0xa94, chunks });
/// let header = Header { xid: 7, credit: Credit::new(1, 32), body };
///
/// let mut send = [0; 1024];
/// let length = header.encode(&mut send)?;
/// assert_eq!(length, 52);
/// // The Payload stream goes to `send[length..]`.
/// assert_eq!(Header::decode(&send[..length]), Ok((header, &[][..])));
/// # Ok::<(), rpcrdma::error::EncodeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<'a> {
    /// `rdma_xid`; 0 in a grant.
    pub xid: u32,
    /// `rdma_credit`; the draft decides which of two readings is right.
    pub credit: Credit,
    /// The part selected by `rdma_htype`.
    pub body: Body<'a>,
}

/// The body of an `RDMA2_CALL_EXTERNAL`.
// In this order, so that the lists are where `Body::CallInline` has them: `Header::chunks` then costs less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct CallExternal<'a> {
    /// The other lists; the Read list has data items only.
    pub lists: ChunkLists<'a>,
    /// `rdma_call`: the Call chunk, which holds the Payload stream. All Positions are 0.
    pub call: ReadList<'a>,
}

/// The part of a header that depends on `rdma_htype`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// `RDMA2_ERROR`.
    Error(ErrorBodyV2),
    /// `RDMA2_GRANT`.
    Grant,
    /// `RDMA2_CONNPROP_MIDDLE`.
    ConnpropMiddle(PropertySet<'a>),
    /// `RDMA2_CONNPROP_FINAL`.
    ConnpropFinal(PropertySet<'a>),
    /// `RDMA2_CALL_EXTERNAL`: the Payload stream is in the Call chunk.
    CallExternal(CallExternal<'a>),
    /// `RDMA2_CALL_MIDDLE`: a part of the Payload stream follows.
    CallMiddle {
        /// `rdma_remaining`: octets of the Payload stream that remain to be sent. The drafts do not say whether octets
        /// in this message count.
        remaining: u32,
    },
    /// `RDMA2_CALL_INLINE`: the Payload stream follows, or the last part.
    CallInline(ChunkLists<'a>),
    /// `RDMA2_REPLY_EXTERNAL`.
    ReplyExternal {
        /// `rdma_writes`.
        writes: WriteList<'a>,
        /// `rdma_reply`: the Reply chunk, which holds the Payload stream. Mandatory.
        reply: Option<WriteChunk<'a>>,
    },
    /// `RDMA2_REPLY_MIDDLE`: a part of the Payload stream follows.
    ReplyMiddle {
        /// `rdma_remaining`, as for [`Self::CallMiddle`].
        remaining: u32,
    },
    /// `RDMA2_REPLY_INLINE`: the Payload stream follows, or the last part.
    ReplyInline {
        /// `rdma_writes`.
        writes: WriteList<'a>,
    },
}

impl<'a> Header<'a> {
    /// Length of the beginning of every header in octets.
    pub const PREFIX_LEN: usize = Prefix::LEN;

    /// Reads the header of a Send and returns the header and the octets that follow.
    ///
    /// The Payload stream follows, or a part of the stream, if the header type has one; see [`Message`] for the others.
    ///
    /// # Errors
    /// A [`DecodeError`] if the octets are not a header of this format.
    #[inline(always)]
    pub fn decode(octets: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(octets);
        let Ok(fixed) = reader.array::<{ Prefix::LEN }>() else { return Err(DecodeError::short(octets.len())) };
        let prefix = Prefix::from_octets(fixed);
        let Prefix { xid, version, credit, procedure: Procedure(htype) } = prefix;
        let htype = HeaderType(htype);
        // As in version 1: the usual ones here, the others elsewhere.
        let body = if version == VERSION && htype == HeaderType::RDMA2_CALL_INLINE {
            Body::CallInline(ChunkLists::decode(&mut reader)?)
        } else if version == VERSION && htype == HeaderType::RDMA2_REPLY_INLINE {
            Body::ReplyInline { writes: WriteList::decode(&mut reader)? }
        } else {
            Body::decode_unusual(version, htype, &mut reader)?
        };
        Ok((Self { xid, credit: Credit(credit), body }, reader.rest()))
    }

    /// Returns the chunks; `None` for a header type without chunk lists. Lists that this header type lacks are empty.
    /// The Call chunk is separate: see [`Self::call_chunk`].
    #[inline]
    #[must_use]
    pub const fn chunks(&self) -> Option<Chunks<'a>> {
        match self.body {
            Body::CallInline(lists) | Body::CallExternal(CallExternal { lists, .. }) => Some(lists.chunks),
            Body::ReplyExternal { writes, reply } => Some(Chunks { reads: ReadList::new(&[]), writes, reply }),
            Body::ReplyInline { writes } => Some(Chunks { reads: ReadList::new(&[]), writes, reply: None }),
            _ => None,
        }
    }

    /// Returns the Call chunk of an `RDMA2_CALL_EXTERNAL`.
    #[inline]
    #[must_use]
    pub const fn call_chunk(&self) -> Option<ReadList<'a>> {
        match self.body {
            Body::CallExternal(CallExternal { call, .. }) => Some(call),
            _ => None,
        }
    }

    /// Returns `rdma_inv_handle`; `None` for a header type without that field.
    #[inline]
    #[must_use]
    pub const fn inv_handle(&self) -> Option<u32> {
        match self.body {
            Body::CallInline(lists) | Body::CallExternal(CallExternal { lists, .. }) => Some(lists.inv_handle),
            _ => None,
        }
    }

    /// Returns `rdma_remaining`; `None` for a header type without that field.
    #[inline]
    #[must_use]
    pub const fn remaining(&self) -> Option<u32> {
        match self.body {
            Body::CallMiddle { remaining } | Body::ReplyMiddle { remaining } => Some(remaining),
            _ => None,
        }
    }

    /// Returns `rdma_htype`.
    #[inline]
    #[must_use]
    pub const fn header_type(&self) -> HeaderType {
        match self.body {
            Body::Error(_) => HeaderType::RDMA2_ERROR,
            Body::Grant => HeaderType::RDMA2_GRANT,
            Body::ConnpropMiddle(_) => HeaderType::RDMA2_CONNPROP_MIDDLE,
            Body::ConnpropFinal(_) => HeaderType::RDMA2_CONNPROP_FINAL,
            Body::CallExternal(_) => HeaderType::RDMA2_CALL_EXTERNAL,
            Body::CallMiddle { .. } => HeaderType::RDMA2_CALL_MIDDLE,
            Body::CallInline(_) => HeaderType::RDMA2_CALL_INLINE,
            Body::ReplyExternal { .. } => HeaderType::RDMA2_REPLY_EXTERNAL,
            Body::ReplyMiddle { .. } => HeaderType::RDMA2_REPLY_MIDDLE,
            Body::ReplyInline { .. } => HeaderType::RDMA2_REPLY_INLINE,
        }
    }

    /// Returns the four words the header begins with.
    #[inline]
    #[must_use]
    pub const fn prefix(&self) -> Prefix {
        let procedure = Procedure(self.header_type().0);
        Prefix { xid: self.xid, version: VERSION, credit: self.credit.0, procedure }
    }
}

encodable! {
    #[inline]
    Header<'_>, "header"
}

impl<'a> Body<'a> {
    /// Reads the body of a message that is not a valid `RDMA2_CALL_INLINE` or `RDMA2_REPLY_INLINE`.
    #[cold]
    #[inline(never)]
    fn decode_unusual(version: u32, htype: HeaderType, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        if version != VERSION {
            return Err(DecodeError::new(DecodeErrorKind::Version, 4));
        }
        Ok(match htype {
            HeaderType::RDMA2_ERROR => Self::Error(ErrorBodyV2::decode(reader)?),
            HeaderType::RDMA2_GRANT => Self::Grant,
            HeaderType::RDMA2_CONNPROP_MIDDLE | HeaderType::RDMA2_CONNPROP_FINAL => {
                let properties = PropertySet::decode(reader)?;
                let more = htype == HeaderType::RDMA2_CONNPROP_MIDDLE;
                if more { Self::ConnpropMiddle(properties) } else { Self::ConnpropFinal(properties) }
            }
            HeaderType::RDMA2_CALL_EXTERNAL | HeaderType::RDMA2_REPLY_EXTERNAL => {
                Self::decode_external(htype == HeaderType::RDMA2_CALL_EXTERNAL, reader)?
            }
            HeaderType::RDMA2_CALL_MIDDLE | HeaderType::RDMA2_REPLY_MIDDLE => {
                let remaining = reader.u32().map_err(DecodeError::truncated)?;
                let of_call = htype == HeaderType::RDMA2_CALL_MIDDLE;
                if of_call { Self::CallMiddle { remaining } } else { Self::ReplyMiddle { remaining } }
            }
            _ => return Err(DecodeError::new(DecodeErrorKind::HeaderType, 12)),
        })
    }

    /// Reads the lists of a message without a Payload stream: for a Call, the handle, the Call chunk and the Read list
    /// come first.
    fn decode_external(is_call: bool, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let (mut inv_handle, mut call, mut reads) = (0, ReadList::default(), ReadList::default());
        if is_call {
            inv_handle = reader.u32().map_err(DecodeError::truncated)?;
            for list in [&mut call, &mut reads] {
                *list = ReadList::decode(reader)?;
            }
        }
        let (writes, reply) = (WriteList::decode(reader)?, WriteChunk::decode_optional(reader)?);
        Ok(if is_call {
            let lists = ChunkLists { inv_handle, chunks: Chunks { reads, writes, reply } };
            Self::CallExternal(CallExternal { lists, call })
        } else {
            Self::ReplyExternal { writes, reply }
        })
    }
}

impl Emit for Header<'_> {
    #[inline(always)]
    fn emit<S: Sink>(&self, sink: &mut S) {
        self.prefix().emit(sink);
        match &self.body {
            Body::Error(error) => error.emit(sink),
            Body::Grant => {}
            Body::ConnpropMiddle(properties) | Body::ConnpropFinal(properties) => properties.emit(sink),
            Body::CallExternal(CallExternal { call, lists }) => {
                sink.word(lists.inv_handle);
                call.emit(sink);
                lists.chunks.emit(sink, None);
            }
            Body::CallMiddle { remaining } | Body::ReplyMiddle { remaining } => sink.word(*remaining),
            Body::CallInline(lists) => lists.emit(sink),
            Body::ReplyExternal { writes, reply } => {
                writes.emit(sink, None);
                WriteChunk::emit_optional(*reply, sink, None);
            }
            Body::ReplyInline { writes } => writes.emit(sink, None),
        }
    }
}

impl fmt::Display for Header<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { xid, credit, .. } = self;
        // The two readings cannot be told apart.
        write!(f, "{} xid {xid:#010x} credit {} or {credit}", self.header_type(), credit.limit())?;
        match &self.body {
            Body::Error(error) => write!(f, " {error}"),
            Body::ConnpropMiddle(properties) | Body::ConnpropFinal(properties) => properties.show(f),
            Body::CallExternal(CallExternal { call, lists }) => {
                write!(f, " call {}", call.length())?;
                lists.show(f)
            }
            Body::CallInline(lists) => lists.show(f),
            Body::CallMiddle { remaining } | Body::ReplyMiddle { remaining } => write!(f, " remaining {remaining}"),
            Body::Grant | Body::ReplyExternal { .. } | Body::ReplyInline { .. } => {
                self.chunks().map_or(Ok(()), |chunks| chunks.show(f))
            }
        }
    }
}

/// One Send of this format. The Payload stream, or a part of one, follows headers of the types `_INLINE` and `_MIDDLE`.
pub type Message<'a> = DecodedSend<'a, Header<'a>>;

impl<'a> Message<'a> {
    /// Reads one Send.
    ///
    /// # Errors
    /// A [`DecodeError`] if the octets do not begin with a header of this format.
    #[inline]
    pub fn decode(octets: &'a [u8]) -> Result<Self, DecodeError> {
        let (header, payload) = Header::decode(octets)?;
        Ok(Self::new(octets, header, payload))
    }
}

//! Family A, the wire format of drafts -00 to -02.
//!
//! ```text
//!  0        16      20
//! +--------+-------+------------------------------------+
//! | prefix | flags | inv_handle, Read list, Write list, | payload ...   RDMA2_MSG
//! |        |       | Reply chunk                        |
//! | prefix | flags | the same                           |               RDMA2_NOMSG
//! | prefix | flags | code, and what it calls for        |               RDMA2_ERROR
//! | prefix | flags | transport properties               |               RDMA2_CONNPROP
//! | prefix | flags |                                    |               RDMA2_GRANT (draft -02)
//! +--------+-------+------------------------------------+
//! ```

use core::fmt;

pub use super::flags::HeaderFlags;

use super::error::{ERROR, ErrorBodyV2};
use super::{ChunkLists, Credit, PropertySet, VERSION};
use crate::codes::named;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::lists::Chunks;
use crate::message::DecodedSend;
use crate::prefix::{Prefix, Procedure};
use crate::reader::Reader;
use crate::sink::{Emit, Sink, encodable};

/// `rdma_htype`; any number can be represented, with or without a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HeaderType(pub u32);

named! {
    #[inline]
    HeaderType of "the drafts", prefix "", field "rdma_htype";

    /// Chunk lists, then the Payload stream or a part of the stream.
    RDMA2_MSG = 0,
    /// Chunk lists only: the Payload stream is in a chunk. Without chunks, a grant of credits.
    RDMA2_NOMSG = 1,
    /// Something is wrong with a message.
    RDMA2_ERROR = ERROR,
    /// Transport properties of the sender.
    RDMA2_CONNPROP = 5,
    /// A grant of credits (draft -02).
    RDMA2_GRANT = 6,
}

/// The transport header of one message.
///
/// ```
/// use rpcrdma::lists::{Chunks, ReadList};
/// use rpcrdma::segment::{ReadSegment, Segment};
/// use rpcrdma::v2::family_a::{Body, HeaderFlags, Header};
/// use rpcrdma::v2::{ChunkLists, Credit};
///
/// let target = Segment { handle: 0xa94, length: 4096, offset: 0x6000 };
/// let entries = [ReadSegment { position: 120, target }.to_entry()];
/// let chunks = Chunks { reads: ReadList::new(&entries), ..Chunks::default() };
/// let body = Body::Msg(ChunkLists { inv_handle: 0xa94, chunks });
/// let header = Header { xid: 7, credit: Credit::new(1, 32), flags: HeaderFlags::empty(), body };
///
/// let mut send = [0; 1024];
/// let length = header.encode(&mut send)?;
/// assert_eq!(length, 60);
/// // The Payload stream goes to `send[length..]`.
/// assert_eq!(Header::decode(&send[..length]), Ok((header, &[][..])));
/// # Ok::<(), rpcrdma::error::EncodeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<'a> {
    /// `rdma_xid`; 0 in a grant.
    pub xid: u32,
    /// `rdma_credit`.
    pub credit: Credit,
    /// `rdma_flags`.
    pub flags: HeaderFlags,
    /// The part selected by `rdma_htype`.
    pub body: Body<'a>,
}

/// The part of a header that depends on `rdma_htype`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// `RDMA2_MSG`: the Payload stream follows, or a part of the stream.
    Msg(ChunkLists<'a>),
    /// `RDMA2_NOMSG`: the Payload stream is in a chunk; or see [`Header::is_grant`].
    Nomsg(ChunkLists<'a>),
    /// `RDMA2_ERROR`.
    Error(ErrorBodyV2),
    /// `RDMA2_CONNPROP`.
    Connprop(PropertySet<'a>),
    /// `RDMA2_GRANT`: in draft -02, a header type replaces the empty `RDMA2_NOMSG` of before.
    Grant,
}

const PREFIX_LEN: usize = 20;

impl<'a> Header<'a> {
    /// Length of the beginning of every header in octets: the four words, and the flags.
    pub const PREFIX_LEN: usize = PREFIX_LEN;

    /// Reads the header of a Send and returns the header and the octets that follow.
    ///
    /// The Payload stream of a [`Body::Msg`] follows, or a part of the stream; see [`Message`] for the others.
    ///
    /// # Errors
    /// A [`DecodeError`] if the octets are not a header of this format.
    #[inline(always)]
    pub fn decode(octets: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(octets);
        let Ok(fixed) = reader.array::<PREFIX_LEN>() else { return Err(DecodeError::short(octets.len())) };
        let [start @ .., f0, f1, f2, f3] = fixed;
        let prefix = Prefix::from_octets(start);
        let Prefix { xid, version, credit, procedure: Procedure(htype) } = prefix;
        let htype = HeaderType(htype);
        let flags = HeaderFlags::from_bits_retain(u32::from_be_bytes([*f0, *f1, *f2, *f3]));
        // As in version 1: the usual ones here, the others elsewhere.
        let body = if version == VERSION && matches!(htype, HeaderType::RDMA2_MSG | HeaderType::RDMA2_NOMSG) {
            let lists = ChunkLists::decode(&mut reader)?;
            if htype == HeaderType::RDMA2_MSG { Body::Msg(lists) } else { Body::Nomsg(lists) }
        } else {
            Body::decode_unusual(version, htype, &mut reader)?
        };
        Ok((Self { xid, credit: Credit(credit), flags, body }, reader.rest()))
    }

    /// Returns the chunk lists; `None` for a header type without chunk lists.
    #[inline]
    #[must_use]
    pub const fn chunks(&self) -> Option<Chunks<'a>> {
        match self.body {
            Body::Msg(lists) | Body::Nomsg(lists) => Some(lists.chunks),
            Body::Error(_) | Body::Connprop(_) | Body::Grant => None,
        }
    }

    /// Returns `rdma_inv_handle`; `None` for a header type without that field.
    #[inline]
    #[must_use]
    pub const fn inv_handle(&self) -> Option<u32> {
        match self.body {
            Body::Msg(lists) | Body::Nomsg(lists) => Some(lists.inv_handle),
            Body::Error(_) | Body::Connprop(_) | Body::Grant => None,
        }
    }

    /// Returns `rdma_htype`.
    #[inline]
    #[must_use]
    pub const fn header_type(&self) -> HeaderType {
        match self.body {
            Body::Msg(_) => HeaderType::RDMA2_MSG,
            Body::Nomsg(_) => HeaderType::RDMA2_NOMSG,
            Body::Error(_) => HeaderType::RDMA2_ERROR,
            Body::Connprop(_) => HeaderType::RDMA2_CONNPROP,
            Body::Grant => HeaderType::RDMA2_GRANT,
        }
    }

    /// Returns true if this header only grants credits: an `RDMA2_GRANT`, or an `RDMA2_NOMSG` without chunks and with
    /// XID 0.
    ///
    /// Drafts -01 and -02 give that `RDMA2_NOMSG` as the way to refresh a grant, and then list it as a parse error. XID
    /// 0 stands for the first; another XID is a parse error, and a Responder answers `BAD_XDR`.
    #[inline]
    #[must_use]
    pub const fn is_grant(&self) -> bool {
        match self.body {
            Body::Grant => true,
            Body::Nomsg(lists) => self.xid == 0 && lists.chunks.is_empty(),
            _ => false,
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
    /// Reads the body of a message that is not a valid `RDMA2_MSG` or `RDMA2_NOMSG`.
    #[cold]
    #[inline(never)]
    fn decode_unusual(version: u32, htype: HeaderType, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        if version != VERSION {
            return Err(DecodeError::new(DecodeErrorKind::Version, 4));
        }
        match htype {
            HeaderType::RDMA2_ERROR => Ok(Self::Error(ErrorBodyV2::decode(reader)?)),
            HeaderType::RDMA2_CONNPROP => Ok(Self::Connprop(PropertySet::decode(reader)?)),
            HeaderType::RDMA2_GRANT => Ok(Self::Grant),
            _ => Err(DecodeError::new(DecodeErrorKind::HeaderType, 12)),
        }
    }
}

impl Emit for Header<'_> {
    #[inline(always)]
    fn emit<S: Sink>(&self, sink: &mut S) {
        self.prefix().emit(sink);
        sink.word(self.flags.bits());
        match &self.body {
            Body::Msg(lists) | Body::Nomsg(lists) => lists.emit(sink),
            Body::Error(error) => error.emit(sink),
            Body::Connprop(properties) => properties.emit(sink),
            Body::Grant => {}
        }
    }
}

impl fmt::Display for Header<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} xid {:#010x} credit {}", self.header_type(), self.xid, self.credit)?;
        if !self.flags.is_empty() {
            write!(f, " {}", self.flags)?;
        }
        match &self.body {
            Body::Msg(lists) | Body::Nomsg(lists) => lists.show(f),
            Body::Error(error) => write!(f, " {error}"),
            Body::Connprop(properties) => properties.show(f),
            Body::Grant => Ok(()),
        }
    }
}

/// One Send of this format. The Payload stream of an `RDMA2_MSG`, or a part of one, follows the header.
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

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn flags_show_their_names_and_what_has_none() {
        for (bits, text) in [(0, ""), (1, "RESPONSE"), (7, "RESPONSE MORE TPMORE"), (0x12, "MORE 0x10"), (8, "0x8")] {
            assert_eq!(HeaderFlags::from_bits_retain(bits).to_string(), text);
        }
    }

    #[test]
    fn an_empty_nomsg_grants_only_without_an_xid() {
        let empty =
            |xid| Header { xid, credit: Credit(1), flags: HeaderFlags::empty(), body: Body::Nomsg(Default::default()) };
        assert!(empty(0).is_grant());
        assert!(!empty(1).is_grant());
    }
}

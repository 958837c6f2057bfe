//! The answer to a Call.

use core::fmt;

use crate::endpoint::stream::Item;

/// A reply to a Call.
#[derive(Clone, Copy, Debug)]
pub struct Reply<'a> {
    /// The start of the Payload stream, at least 8 octets.
    pub head: &'a [u8],
    /// Length of the whole Payload stream in octets, unreduced.
    pub length: u32,
    /// The results that the Upper-Layer Binding allows to be reduced, in their order. Nothing else is ever reduced.
    pub results: &'a [Item],
    /// True if RPCSEC_GSS integrity or privacy covers the results. If the Call came inline, the Responder finds that
    /// out itself.
    pub protected: bool,
}

/// Form of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// It is sent inline, with or without the results in Write chunks.
    Short,
    /// It is in the Reply chunk.
    Long,
    /// It is sent inline in several Sends, in version 2.
    Continued,
    /// It stays here, and the Requester pulls it: the Call lasts until the reply is invalidated, after `RDMA_DONE` or
    /// [`Responder::expire`](super::Responder::expire).
    Provided,
    /// It fits nowhere: `ERR_CHUNK` is sent instead (section 4.5.3).
    Refused,
}

/// Reason for a refused reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplyFault {
    /// There is no such call (any more), or it was not delivered yet.
    NoCall,
    /// `head` does not begin with the XID of the Call and the message type of a Reply.
    Xid,
    /// In version 1, a Call cannot be forgotten: only its reply gives its credit back (section 3.3.1).
    Owed,
    /// The length is not a multiple of four, or smaller than `head`, or the results do not lie in it in order.
    Items,
}

impl fmt::Display for ReplyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoCall => "there is no such call to answer",
            Self::Xid => "not an RPC Reply with the XID of the Call",
            Self::Owed => "in version 1 each call has a reply",
            Self::Items => "length or results do not fit each other",
        })
    }
}

impl core::error::Error for ReplyFault {}

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
pub enum ReplyForm {
    /// Inline, with or without the results in Write chunks.
    Short,
    /// In the Reply chunk.
    Long,
    /// Inline in several Sends, in version 2.
    Continued,
    /// In memory of this end, which the Requester reads by RDMA: the Call lasts until the reply is invalidated, after
    /// `RDMA_DONE` or [`Responder::expire`](super::Responder::expire).
    Provided,
    /// The reply fits nowhere: `ERR_CHUNK` is sent instead (section 4.5.3).
    Refused,
}

/// Reason for a refused reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplyFault {
    /// No such call (any more), or a call that was not delivered yet.
    NoCall,
    /// `head` does not begin with the XID of the Call and the message type of a Reply.
    Xid,
    /// In version 1, a Call cannot be forgotten: only the reply returns the credit (section 3.3.1).
    Owed,
    /// The length is not a multiple of four, or smaller than `head`, or the results are not in order, or exceed the
    /// length.
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

//! The call to make.

use core::fmt;

use crate::endpoint::stream::Item;
use crate::rpc::RpcError;

/// A call to make.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The start of the Payload stream, at least the whole RPC header.
    pub head: &'a [u8],
    /// Octets of the whole Payload stream, unreduced.
    pub length: u32,
    /// The arguments that the Upper-Layer Binding allows to be reduced, in their order. Nothing else ever is.
    pub arguments: &'a [Item],
    /// Buffer lengths in octets of the results that the binding allows to be reduced, in order: one Write chunk each. 0
    /// makes an empty chunk, by which the Responder returns that result inline (section 4.3.2.3). A Call under
    /// RPCSEC_GSS integrity or privacy has no Write chunk (section 8.2.2.3): all results come with the rest of the
    /// reply.
    pub results: &'a [u32],
    /// Maximum length of the reply's Payload stream in octets, if the results with buffers are reduced. Under integrity
    /// or privacy, the Requester adds the length of the results itself.
    pub reply_length: u32,
    /// Maximum length in octets to which the buffer of a result or of the reply may grow, if the Responder of version 2
    /// reports that more is needed: the Call is then made again. The Call was carried out before, so leave this 0 for a
    /// Call that must not be carried out twice.
    pub largest_capacity: u32,
}

/// Reason for a refused Call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallRefusal {
    /// The connection is over, or is being ended.
    Closed,
    /// `head` does not begin with a whole RPC Call header.
    Rpc(RpcError),
    /// The length is not a multiple of four, or smaller than `head`, or the arguments are not in order, or exceed the
    /// length.
    Items,
    /// A Call with this XID, perhaps a cancelled one, has not ended yet.
    XidInUse,
    /// The table of Calls is full.
    TooManyCalls,
    /// More segments than the table has, or than fit in a header within the inline threshold, that of the reply
    /// included.
    TooManySegments,
    /// A Call without chunks that is too long for one Send, and cannot be continued in others: a one-way Call, or one in the
    /// reverse direction of version 2 for which the other end supports no more.
    TooLong,
    /// The other end has not announced that calls are answered: a server calls a client of version 2 that does not
    /// support the reverse direction.
    NotAnswered,
    /// A one-way Call in version 1, where only a reply returns the credit of a Call (section 3.3.1).
    OneWay,
    /// The Responder does not know the header type that the Call would have, and has said so.
    Form,
}

impl fmt::Display for CallRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the connection is over"),
            Self::Rpc(error) => write!(f, "not an RPC Call: {error}"),
            Self::Items => f.write_str("length or arguments do not fit each other"),
            Self::XidInUse => f.write_str("the XID is in use"),
            Self::TooManyCalls => f.write_str("too many calls at a time"),
            Self::TooManySegments => f.write_str("too many segments"),
            Self::TooLong => f.write_str("too long to be sent without chunks"),
            Self::NotAnswered => f.write_str("the other side does not answer calls"),
            Self::OneWay => f.write_str("version 1 has no calls without a reply"),
            Self::Form => f.write_str("the other side does not know the header type it needs"),
        }
    }
}

impl core::error::Error for CallRefusal {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Rpc(error) => Some(error),
            _ => None,
        }
    }
}

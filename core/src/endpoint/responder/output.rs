//! What a Responder wants done.

use crate::endpoint::CallId;
use crate::endpoint::stream::Ranges;
use crate::segment::Segment;

/// What is to be done.
#[derive(Clone, Debug)]
pub enum Output<'a> {
    /// A Receive is the driver's again. It comes before the Send that gives the peer its credit back.
    Release {
        /// The driver's name for it.
        receive: u32,
    },
    /// Copy octets of a Receive into the memory a Call is put together in, of which
    /// [`Responder::length`](super::Responder::length) says how much there is. All of a Call come before its first `Read`, and
    /// its Receive is released behind them.
    Place {
        /// The Call.
        call: CallId,
        /// The driver's name for the Receive.
        receive: u32,
        /// Where in the Receive.
        from: usize,
        /// How many octets.
        length: u32,
        /// Where in the Call.
        at: u32,
    },
    /// Post an RDMA Read into the memory a Call is put together in, and say `Completed`. What neither a `Place` nor a
    /// `Read` brings is XDR padding, which is to be zeros: [`Responder::padding`](super::Responder::padding).
    Read {
        /// The Call.
        call: CallId,
        /// What is read.
        source: Segment,
        /// Where in the Call.
        at: u32,
    },
    /// Hand a Call to the upper layer.
    Deliver {
        /// The Call.
        call: CallId,
        /// Where its Payload stream is.
        message: CallMessage,
    },
    /// Register the whole Payload stream of the reply, for remote read, and say `Registered`. Only after
    /// [`Responder::provide_replies`](super::Responder::provide_replies).
    Register {
        /// The Call that is answered.
        call: CallId,
        /// Octets of the Payload stream.
        length: u32,
    },
    /// Invalidate the memory of this handle, and say `Invalidated`.
    Invalidate {
        /// The Call that was answered.
        call: CallId,
        /// The handle it was given.
        handle: u32,
    },
    /// Post an RDMA Write of octets of the reply.
    Write {
        /// The Call that is answered.
        call: CallId,
        /// Where in the unreduced Payload stream of the reply.
        from: u32,
        /// Where they go, and how many.
        target: Segment,
    },
    /// Post a Send: the octets of the header from the buffer, then the ranges of the reply's Payload stream. The Call is
    /// forgotten then, unless its reply is [`Form::Provided`](super::Form::Provided).
    Send {
        /// The Call that is answered.
        call: CallId,
        /// Octets of the header.
        header: usize,
        /// What of the reply's Payload stream follows.
        payload: Ranges<'a>,
        /// The handle to invalidate: Send with Invalidate.
        invalidate: Option<u32>,
    },
    /// End the connection, and say `Disconnected`.
    Disconnect,
}

/// Where a Call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallMessage {
    /// In a Receive, which stays as it is until the Call is answered.
    Inline {
        /// The driver's name for the Receive.
        receive: u32,
        /// Where in it the Payload stream begins.
        from: usize,
        /// Octets it has.
        length: u32,
    },
    /// In the memory it was put together in: so many octets. Whether a Call that was pulled begins with the XID of its
    /// header is for the upper layer to see, with [`Responder::xid`](super::Responder::xid); if it does not, it is for
    /// [`Responder::refuse`](super::Responder::refuse).
    Assembled {
        /// Octets it has.
        length: u32,
    },
}

//! What a Responder asks its driver to do.

use crate::endpoint::CallId;
use crate::endpoint::stream::Ranges;
use crate::segment::Segment;

/// What is to be done.
#[derive(Clone, Debug)]
pub enum Output<'a> {
    /// A Receive goes back to the driver. This comes before the Send that gives the peer its credit back.
    Release {
        /// The driver's name for it.
        receive: u32,
    },
    /// Copy octets of a Receive into the memory in which a Call is put together;
    /// [`Responder::length`](super::Responder::length) gives its size, which grows with each part of a continued Call.
    /// Those of a Call all come before its first `Read`, and their Receives are released after them.
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
    /// Post an RDMA Read into the memory in which a Call is put together, and report `Completed`. What neither a
    /// `Place` nor a `Read` fills is XDR padding, which has to be zeros:
    /// [`Responder::padding`](super::Responder::padding).
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
    /// Register the whole Payload stream of the reply for remote read, and report `Registered`. Only after
    /// [`Responder::provide_replies`](super::Responder::provide_replies).
    Register {
        /// The Call that is answered.
        call: CallId,
        /// Octets of the Payload stream.
        length: u32,
    },
    /// Invalidate the memory of this handle, and report `Invalidated`.
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
    /// Post a Send: the octets of the header from the buffer, then the ranges of the reply's Payload stream. After the last
    /// one, the Call is forgotten, unless its reply is [`Form::Provided`](super::Form::Provided).
    Send {
        /// The Call that is answered.
        call: CallId,
        /// Octets of the header. In the answer to a Call whose Read chunks fit nowhere, they include the RPC Reply.
        header: usize,
        /// The parts of the reply's Payload stream that follow.
        payload: Ranges<'a>,
        /// The handle to invalidate: Send with Invalidate.
        invalidate: Option<u32>,
        /// Whether it is the last, or the only one, of the reply.
        is_last: bool,
    },
    /// End the connection, and report `Disconnected`.
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
    /// In the memory in which it was put together. The upper layer checks whether a Call that was pulled begins with
    /// the XID of its header, [`Responder::xid`](super::Responder::xid); if not, it calls
    /// [`Responder::refuse`](super::Responder::refuse).
    Assembled {
        /// Octets it has.
        length: u32,
    },
}

//! Output of a Responder for the driver.

use crate::endpoint::CallId;
use crate::endpoint::stream::Ranges;
use crate::segment::Segment;

/// An operation for the driver.
#[derive(Clone, Debug)]
pub enum Output<'a> {
    /// Release a Receive, which belongs to the driver again. This comes before the Send that returns the credit to the
    /// peer.
    Release {
        /// The driver's name for the Receive.
        receive: u32,
    },
    /// Copy octets of a Receive into the memory in which a Call is assembled;
    /// [`Responder::length`](super::Responder::length) is the size of that memory, which grows with each part of a
    /// continued Call. Every `Place` comes before the Call's first `Read`; the Receive is released after that.
    Place {
        /// The Call.
        call: CallId,
        /// The driver's name for the Receive.
        receive: u32,
        /// Offset in the Receive.
        from: usize,
        /// Number of octets.
        length: u32,
        /// Offset in the Call.
        at: u32,
    },
    /// Post an RDMA Read into the memory in which a Call is assembled, and report `Completed`. Octets that neither a
    /// `Place` nor a `Read` fills are XDR padding, which has to be zeros:
    /// [`Responder::padding`](super::Responder::padding).
    Read {
        /// The Call.
        call: CallId,
        /// Memory to read.
        source: Segment,
        /// Offset in the Call.
        at: u32,
    },
    /// Pass a Call to the upper layer.
    Deliver {
        /// The Call.
        call: CallId,
        /// Payload stream of the Call.
        message: CallMessage,
    },
    /// Register the whole Payload stream of the reply for remote read, and report `Registered`. Only after
    /// [`Responder::provide_replies`](super::Responder::provide_replies).
    Register {
        /// The Call that is answered.
        call: CallId,
        /// Length of the Payload stream in octets.
        length: u32,
    },
    /// Invalidate the memory of this handle, and report `Invalidated`.
    Invalidate {
        /// The Call that was answered.
        call: CallId,
        /// Its handle.
        handle: u32,
    },
    /// Post an RDMA Write of octets of the reply.
    Write {
        /// The Call that is answered.
        call: CallId,
        /// Offset in the unreduced Payload stream of the reply.
        from: u32,
        /// Memory to write, with the number of octets.
        target: Segment,
    },
    /// Post a Send: the header from the buffer, then the ranges of the reply's Payload stream. After the last one, the
    /// Call is forgotten, unless the reply is [`ReplyForm::Provided`](super::ReplyForm::Provided).
    Send {
        /// The Call that is answered.
        call: CallId,
        /// Length of the header in octets. In the answer to a Call whose Read chunks do not fit, the length includes
        /// the RPC Reply.
        header: usize,
        /// The ranges of the reply's Payload stream that follow.
        payload: Ranges<'a>,
        /// The handle to invalidate, by Send with Invalidate.
        invalidate: Option<u32>,
        /// True for the last, or only, Send of the reply.
        is_last: bool,
    },
    /// End the connection, and report `Disconnected`.
    Disconnect,
}

/// Location of a Call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallMessage {
    /// In a Receive, which stays unchanged until the Call is answered.
    Inline {
        /// The driver's name for the Receive.
        receive: u32,
        /// Offset of the Payload stream in the Receive.
        from: usize,
        /// Length in octets.
        length: u32,
    },
    /// In the memory in which the Call was assembled. The upper layer checks that a Call from a Read chunk begins with
    /// the XID of the header, [`Responder::xid`](super::Responder::xid); if not, the upper layer calls
    /// [`Responder::refuse`](super::Responder::refuse).
    Assembled {
        /// Length in octets.
        length: u32,
    },
}

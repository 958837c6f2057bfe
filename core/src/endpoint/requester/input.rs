//! Input of a Requester from the driver.

use crate::endpoint::{CallId, RegisteredMemory};

/// An event.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// A Receive is complete.
    Received {
        /// The driver's name for the Receive, which belongs to the Requester until `Release` or `Done` returns that
        /// name.
        receive: u32,
        /// The octets received.
        octets: &'a [u8],
        /// The handle that the Send invalidated, according to the adapter.
        invalidated: Option<u32>,
    },
    /// [`Arrival::BrokenReply`](crate::endpoint::channel::Arrival::BrokenReply): nothing more of the reply with this XID
    /// will come.
    Broken {
        /// From the `Arrival`.
        xid: u32,
    },
    /// A `Register` has been carried out.
    Registered {
        /// From the output.
        call: CallId,
        /// From the output.
        region: u16,
        /// The registered memory; `None` if the registration failed.
        memory: Option<RegisteredMemory>,
    },
    /// An `Invalidate` is complete: the peer cannot reach the memory any more.
    Invalidated {
        /// From the output.
        call: CallId,
        /// From the output.
        region: u16,
    },
    /// A `Read` is complete.
    Completed {
        /// From the output.
        call: CallId,
    },
    /// A `Send` is complete: one for each that was posted.
    Sent {
        /// From the output.
        call: CallId,
    },
    /// Something that was posted could not be carried out, an invalidation too.
    Failed,
    /// The connection is over: nothing more can come, and the peer can no longer access any memory. The driver
    /// deregisters all memory that is still registered, or about to be.
    Disconnected,
}

//! What a driver tells a Responder.

use core::fmt;

use crate::endpoint::CallId;
use crate::v2::ErrorBodyV2;

/// What happened.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// A Receive is complete.
    Received {
        /// The driver's name for the Receive. It belongs to the Responder until `Release` gives it back.
        receive: u32,
        /// What was received.
        octets: &'a [u8],
    },
    /// [`Arrival::BrokenCall`](crate::endpoint::channel::Arrival::BrokenCall): the rest of a Call will not come. What has
    /// come is discarded, and answered with the error.
    Broken {
        /// From the `Arrival`.
        xid: u32,
        /// From the `Arrival`.
        error: ErrorBodyV2,
    },
    /// A `Read` is complete.
    Completed {
        /// From the output.
        call: CallId,
    },
    /// The `Read` or `Write` that was asked for last is not posted, because this side has no memory for it. The Call is
    /// answered with `ERR_CHUNK`, after its other `Read`s are complete.
    NotPosted {
        /// From the output.
        call: CallId,
    },
    /// The `Read` or `Write` that was asked for last is not posted yet, because its memory has to be made ready first.
    /// Nothing more is asked for this Call until `Resumed`; then the same is asked for again.
    Postponed {
        /// From the output.
        call: CallId,
    },
    /// The postponed part of a Call can be asked for again.
    Resumed {
        /// The Call.
        call: CallId,
    },
    /// A `Register` has been carried out.
    Registered {
        /// From the output.
        call: CallId,
        /// The handle, and the offset of the first octet; `None` if it could not be registered.
        memory: Option<(u32, u64)>,
    },
    /// An `Invalidate` is complete: the peer cannot reach the reply any more, and the Call is forgotten.
    Invalidated {
        /// From the output.
        call: CallId,
    },
    /// Something that was posted could not be carried out, an invalidation too.
    Failed,
    /// The connection is over: nothing more can come, and the peer can reach no memory any more. All Calls are
    /// forgotten; the driver undoes whatever is still registered, or about to be.
    Disconnected,
}

/// A grant that cannot be given: 0, or more than there is room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrantError;

impl fmt::Display for GrantError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a grant of 0, or of more calls than there is room for")
    }
}

impl core::error::Error for GrantError {}

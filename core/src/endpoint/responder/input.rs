//! Input of a Responder from the driver.

use core::fmt;

use crate::endpoint::{CallId, RegisteredMemory};
use crate::v2::ErrorBodyV2;

/// An event.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// A Receive is complete.
    Received {
        /// The driver's name for the Receive, which belongs to the Responder until `Release` returns that name.
        receive: u32,
        /// The octets received.
        octets: &'a [u8],
    },
    /// [`Arrival::BrokenCall`](crate::endpoint::channel::Arrival::BrokenCall): the rest of a Call will not come. Parts
    /// received so far are discarded, and answered with the error.
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
    /// The last `Read` or `Write` is not posted, for lack of memory on this side. The Call is answered with
    /// `ERR_CHUNK`, after the other `Read`s are complete.
    NotPosted {
        /// From the output.
        call: CallId,
    },
    /// The last `Read` or `Write` is not posted yet, because the memory has to be made ready first. There is no further
    /// output for this Call until `Resumed`; then the same is output again.
    Postponed {
        /// From the output.
        call: CallId,
    },
    /// The postponed part of a Call can be output again.
    Resumed {
        /// The Call.
        call: CallId,
    },
    /// A `Register` has been carried out.
    Registered {
        /// From the output.
        call: CallId,
        /// The registered memory; `None` if the registration failed.
        memory: Option<RegisteredMemory>,
    },
    /// An `Invalidate` is complete: the peer can no longer access the reply, and the Call is forgotten.
    Invalidated {
        /// From the output.
        call: CallId,
    },
    /// A posted operation failed, or an invalidation.
    Failed,
    /// The connection is over: nothing more can come, and the peer can no longer access any memory. All Calls are
    /// forgotten; the driver deregisters all memory that is still registered, or about to be.
    Disconnected,
}

/// A grant that is not possible: 0, or more than the maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrantError;

impl fmt::Display for GrantError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a grant of 0, or of more calls than there is room for")
    }
}

impl core::error::Error for GrantError {}

//! What a Requester is told.

use core::fmt;

use crate::endpoint::CallId;

/// What happened.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// A Receive is complete.
    Received {
        /// The driver's name for the Receive. It is the Requester's until `Release` or `Done` give it back.
        receive: u32,
        /// What was received.
        octets: &'a [u8],
        /// The handle that the Send has invalidated, as the adapter says.
        invalidated: Option<u32>,
    },
    /// A `Register` is carried out.
    Registered {
        /// From the output.
        call: CallId,
        /// From the output.
        region: u16,
        /// The handle, and the offset of the first octet; `None` where it could not be registered.
        memory: Option<(u32, u64)>,
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
    /// A `Send` is complete.
    Sent {
        /// From the output.
        call: CallId,
    },
    /// Something that was posted could not be carried out, an invalidation too.
    Failed,
    /// The connection is over: nothing more can come, and the peer can reach no memory any more. What is still registered,
    /// or about to be, is the driver's to undo.
    Disconnected,
}

/// What the driver should not have said. Nothing was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputError {
    /// Outputs are to be taken first.
    NotPolled,
    /// There is nothing for which this could be said: no such call or region, or not now.
    Unexpected,
    /// This handle is that of another region. The memory is to be given another one.
    HandleInUse,
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotPolled => "outputs are to be taken first",
            Self::Unexpected => "there is nothing for which this could be said",
            Self::HandleInUse => "the handle is that of another region",
        })
    }
}

impl core::error::Error for InputError {}

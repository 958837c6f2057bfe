//! Faults that a kernel trace shows.

use crate::carrier::operation::Stamp;
use crate::link::Address;

/// A fault that a kernel trace shows: a failed work request, or a connection that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelFault {
    /// The line of the trace.
    pub stamp: Stamp,
    /// Kind of the fault.
    pub kind: KernelFaultKind,
}

/// Kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KernelFaultKind {
    /// An adapter completed a work request with an error, other than the flush of requests after the end of a connection.
    Completion {
        /// The machine whose adapter that is.
        at: TracedMachine,
        /// Status of the completion.
        status: CompletionStatus,
        /// Number that only the vendor of the adapter explains.
        vendor_error: u32,
    },
    /// A connection of the client ended.
    Disconnected {
        /// Address of the server, if the trace shows it.
        server: Option<Address>,
        /// `true` if the client ended the connection, `false` if the client learned of the end.
        is_by_client: bool,
        /// Calls that waited for their replies.
        waiting: u32,
    },
}

/// The machine that a trace is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TracedMachine {
    /// A client.
    Client,
    /// A server.
    Server,
}

/// Status of a completion: a number of Linux (`enum ib_wc_status`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CompletionStatus(pub u32);

impl CompletionStatus {
    /// Status of work requests that were flushed because the connection had ended.
    pub(crate) const FLUSHED: Self = Self(5);

    /// Meaning of the status in words.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self.0 {
            0 => "success",
            1 => "local length error: a message was longer than the buffer for it",
            2 => "local operation error: the adapter could not carry out its own request",
            4 => "local protection error: the memory of a request is not registered for it",
            5 => "flushed: the connection had ended before",
            6 => "memory window error",
            7 => "bad response: the other end answered with something else",
            8 => "local access error: the other end reached for memory that it may not write",
            9 => "invalid request: the other end's adapter refused a message, for example one longer than its buffer",
            10 => "remote access error: the other end's adapter refused access to its memory",
            11 => "remote operation error: the other end's adapter could not carry out the request",
            12 => {
                "retries exceeded: the other end acknowledged no retransmission, so it cannot be reached or packets are lost"
            }
            13 => "receiver not ready: the other end had no buffer for a message, however often it was retransmitted",
            21 => "general error",
            _ => "an error without a name",
        }
    }

    /// The end that can remove the cause of the error: `Some(true)` for the end of the adapter, `Some(false)` for the other end;
    /// `None` for the network.
    #[must_use]
    pub const fn is_own(self) -> Option<bool> {
        match self.0 {
            12 => None,
            7 | 9 | 10 | 11 | 13 => Some(false),
            _ => Some(true),
        }
    }
}

//! Reasons for a refused verb. Later failures are a [`Status`](crate::Status).

use std::fmt;

/// Reason for a verb that was refused at once, without any effect.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The address is in use, or does not belong to the adapter.
    Address,
    /// Access rights that cannot be combined: remote writing and RDMA Reads into memory need local writing.
    Access,
    /// A range that is not within its region, or longer than one message can be.
    Range,
    /// Private data too long for the message that carries it.
    PrivateData,
    /// A queue is full: as many requests are posted and not completed as its depth allows.
    QueueFull,
    /// The depth of a queue is 0, or more than the provider supports.
    Depth,
    /// The provider cannot create any more adapters, regions or handles.
    Exhausted,
    /// The queue pair is not connected yet.
    NotConnected,
    /// The queue pair was used before; each is good for one connection.
    Used,
    /// Nobody listens at that address, or its backlog is full.
    Refused,
    /// The other side rejected the connection.
    Rejected(
        /// Its private data.
        Vec<u8>,
    ),
    /// The connection is over, and all completions were taken.
    Disconnected,
    /// The call would wait for memory that its caller holds: it was made in a closure of [`read`](crate::Verbs::read)
    /// or [`write`](crate::Verbs::write).
    MemoryHeld,
    /// The other side has not answered in time.
    TimedOut,
    /// The region is no longer registered.
    Deregistered,
    /// The adapter may still write to the region or read it: either the other side may write to it as long as it is
    /// registered, or work on it is posted and its completion has not been taken.
    InUse,
    /// The adapter has no way to that address.
    Unreachable,
    /// Both sides have no version of RPC-over-RDMA in common.
    Version,
    /// There is no such adapter.
    NoAdapter,
    /// The adapter was removed while it was used.
    Removed,
    /// The operating system or the adapter refused an operation that the provider needs.
    System {
        /// The name of the function.
        function: &'static str,
        /// Its error number.
        number: i32,
    },
}

impl Error {
    /// Advice for a user, if there is any.
    #[must_use]
    pub const fn advice(&self) -> Option<&'static str> {
        Some(match self {
            Self::NoAdapter => {
                "an Ethernet interface can emulate one in software; as root: modprobe -a rdma_rxe rdma_ucm; \
                 rdma link add rxe0 type rxe netdev eth0"
            }
            Self::Address => "`ip address` lists the addresses; one that is in use is free when its program has ended",
            Self::Refused => "is a server running there, and does it listen for RPC over RDMA at that port?",
            Self::Unreachable => "`ip route get` shows the route; `rdma link` has to list its interface",
            Self::TimedOut => {
                "is that the address of an RDMA adapter, and does a firewall let UDP port 4791 (RoCE) pass?"
            }
            Self::Depth => "reduce `calls` and `served` in the settings",
            Self::Exhausted => {
                "raise the limit of locked memory (`ulimit -l`), which has to cover all registered memory"
            }
            _ => return None,
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::System { function, number } => {
                return write!(f, "{function}: {}", std::io::Error::from_raw_os_error(*number));
            }
            Self::Address => "the address is in use, or not the adapter's",
            Self::Access => "remote writes and RDMA Reads into the memory need local write access",
            Self::Range => "a range outside its memory region, or longer than one message can be",
            Self::PrivateData => "too much private data",
            Self::QueueFull => "the queue is full",
            Self::Depth => "the depth of a queue is 0, or more than the provider supports",
            Self::Exhausted => "the provider has no more resources of this kind",
            Self::NotConnected => "the queue pair is not connected",
            Self::Used => "the queue pair was used before",
            Self::Refused => "no server accepts connections at that address",
            Self::Rejected(_) => "the other side rejected the connection",
            Self::Disconnected => "the connection is over",
            Self::MemoryHeld => "called while the caller holds a memory region",
            Self::TimedOut => "timed out waiting for an answer",
            Self::Deregistered => "the memory region is not registered",
            Self::InUse => "the adapter still uses the memory region",
            Self::Unreachable => "the adapter has no route to that address",
            Self::Version => "the two sides have no version of RPC-over-RDMA in common",
            Self::NoAdapter => "no such RDMA adapter; `rdma link` lists the adapters",
            Self::Removed => "the RDMA adapter was removed",
        })
    }
}

impl std::error::Error for Error {}

/// A buffer that was not registered, and the reason.
#[derive(Clone, PartialEq, Eq)]
pub struct NotRegistered {
    /// The reason.
    pub error: Error,
    /// The buffer, unchanged.
    pub buffer: Vec<u8>,
}

/// Leaves out the content of the buffer.
impl fmt::Debug for NotRegistered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NotRegistered").field("error", &self.error).finish_non_exhaustive()
    }
}

impl fmt::Display for NotRegistered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the memory cannot be registered: {}", self.error)
    }
}

impl std::error::Error for NotRegistered {}

impl From<NotRegistered> for Error {
    fn from(refused: NotRegistered) -> Self {
        refused.error
    }
}

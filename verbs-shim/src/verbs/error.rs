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
    /// A range outside of the region, or longer than a message can be.
    Range,
    /// Private data too long for the message.
    PrivateData,
    /// A queue is full: as many requests are in progress as the depth allows.
    QueueFull,
    /// The depth of a queue is 0, or more than the provider supports.
    Depth,
    /// The operating system, the adapter or the provider has no more of what was requested: adapters, regions, queues.
    Exhausted,
    /// The server has reached the maximum number of connections.
    Connections,
    /// The process has reached the maximum number of open files (EMFILE).
    OpenFiles,
    /// All processes together have reached the maximum number of open files (ENFILE).
    SystemOpenFiles,
    /// The user waits for as many files as the kernel allows (ENOSPC of epoll).
    WatchedFiles,
    /// The operating system has no more threads for the process (EAGAIN).
    Threads,
    /// The process may not lock more memory, and an adapter uses only locked memory (ENOMEM or EAGAIN).
    LockedMemory,
    /// The process may not use the adapter (EACCES or EPERM).
    Permission,
    /// The queue pair is not connected yet.
    NotConnected,
    /// The queue pair was used before; each is good for one connection.
    Used,
    /// Nobody listens at that address, or the backlog is full.
    Refused,
    /// The other side rejected the connection.
    Rejected(
        /// Private data of the rejection.
        Vec<u8>,
    ),
    /// The other side's connection manager, not the program, rejected the connection (InfiniBand Architecture, CM REJ).
    NotAccepted {
        /// The number of the reason.
        reason: u16,
    },
    /// The connection is over, and all completions were taken.
    Disconnected,
    /// The call would wait for memory that the caller holds: the call was made in a closure of
    /// [`read`](crate::Verbs::read) or [`write`](crate::Verbs::write).
    MemoryHeld,
    /// The other side has not answered in time.
    TimedOut,
    /// The adapter has no shared receive queues, or none that can be used safely: on iWARP, the data of RDMA Reads
    /// goes to memory that the other side may write (RFC 5040 section 5.2), and so would that of other connections.
    NotShared,
    /// The connection shares a protection domain with others, and memory for the other side would be exposed to all
    /// (RFC 8166 section 8.1.1).
    SharedDomain,
    /// The region is no longer registered.
    Deregistered,
    /// The adapter may still access the region: either the other side may write to the region until the deregistration,
    /// or work is posted whose completion has not been taken.
    InUse,
    /// The adapter has no way to that address.
    Unreachable,
    /// No host at that address answers: the network does not know the hardware address.
    NoHost,
    /// The adapter's port is down: there is no link.
    PortDown,
    /// Both sides have no version of RPC-over-RDMA in common.
    Version,
    /// There is no such adapter.
    NoAdapter,
    /// The kernel has an adapter, but not the modules that let programs use the adapter.
    NoModule,
    /// The kernel has an adapter, but there is no driver for programs.
    NoDriver,
    /// The adapter was removed during use.
    Removed,
    /// The operating system or the adapter refused an operation that the provider needs.
    System {
        /// The name of the function.
        function: &'static str,
        /// The error number of the function.
        number: i32,
    },
}

impl Error {
    /// The error that a function reports by this error number.
    #[cfg(feature = "rdma")]
    pub(crate) const fn of_number(function: &'static str, number: i32) -> Self {
        match number {
            libc::EMFILE => Self::OpenFiles,
            libc::ENFILE => Self::SystemOpenFiles,
            libc::ENOMEM | libc::EAGAIN => Self::Exhausted,
            libc::EACCES | libc::EPERM => Self::Permission,
            number => Self::System { function, number },
        }
    }

    /// Advice for a user, if there is any.
    #[must_use]
    pub const fn advice(&self) -> Option<&'static str> {
        Some(match self {
            Self::NoAdapter => {
                "an Ethernet interface can emulate one in software; as root: modprobe -a rdma_rxe rdma_ucm; \
                 rdma link add rxe0 type rxe netdev eth0"
            }
            Self::NoModule => "as root: modprobe -a ib_uverbs rdma_ucm",
            Self::NoDriver => "install the drivers of rdma-core (on Debian: ibverbs-providers)",
            Self::Removed => "connect again when `rdma link` lists it; a program first has to drop all that used it",
            Self::Permission => "the user needs read and write access to the files in /dev/infiniband",
            Self::Address => "`ip address` lists the addresses; one that is in use is free when its program has ended",
            Self::Refused => "is a server running there, and does it listen for RPC over RDMA at that port?",
            Self::Rejected(_) | Self::NotAccepted { .. } => {
                "the server's log may say why: it may have too many connections, or may not accept this client"
            }
            Self::Unreachable => "`ip route get` shows the route; `rdma link` has to list its interface",
            Self::NoHost => "is the host up? `ip neighbour` shows if its hardware address is known",
            Self::PortDown => "`rdma link` shows the state of the port, `ip link` that of its interface",
            Self::TimedOut => {
                "is that the address of an RDMA adapter, and does a firewall let UDP port 4791 (RoCE) pass?"
            }
            Self::Depth => "reduce `calls`, `served` and `shared_receives` in the settings",
            Self::Connections => {
                "allow more connections, or end idle ones sooner (`rpcrdma-serve --connections`, `--idle`)"
            }
            Self::NotShared => "leave `shared_receives` out of the settings: each connection then has its own",
            Self::OpenFiles => "raise the limit of open files (`ulimit -n`): each connection uses several",
            Self::SystemOpenFiles => "raise the system's limit of open files, as root: sysctl fs.file-max",
            Self::WatchedFiles => "raise the user's limit, as root: sysctl fs.epoll.max_user_watches",
            Self::Threads => "raise the limit of processes and threads (`ulimit -u`)",
            Self::LockedMemory => {
                "raise the limit of locked memory (`ulimit -l`), which has to cover all registered memory"
            }
            Self::Exhausted => "make fewer connections, or reduce `calls` and `served` in the settings",
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
            Self::NotAccepted { reason } => {
                return write!(f, "the other side's connection manager rejected the connection: {}", Reason(*reason));
            }
            Self::Rejected(private_data) => {
                return write!(f, "the other side rejected the connection{}", Text(private_data));
            }
            Self::Address => "the address is in use, or not the adapter's",
            Self::Access => "remote writes and RDMA Reads into the memory need local write access",
            Self::Range => "a range outside its memory region, or longer than one message can be",
            Self::PrivateData => "too much private data",
            Self::QueueFull => "the queue is full",
            Self::Depth => "the depth of a queue is 0, or more than the provider supports",
            Self::Exhausted => "the system or the adapter has no more resources of this kind",
            Self::Connections => "the server has as many connections as it allows",
            Self::OpenFiles => "the process has too many open files",
            Self::SystemOpenFiles => "the system has too many open files",
            Self::WatchedFiles => "the user waits for too many files",
            Self::Threads => "the system has no more threads for this process",
            Self::LockedMemory => "the process may not lock more memory",
            Self::Permission => "no permission to use the RDMA adapter",
            Self::NotConnected => "the queue pair is not connected",
            Self::Used => "the queue pair was used before",
            Self::Refused => "no server accepts connections at that address",
            Self::Disconnected => "the connection is over",
            Self::MemoryHeld => "called while the caller holds a memory region",
            Self::TimedOut => "timed out waiting for an answer",
            Self::NotShared => "the adapter has no shared receive queue that can be used safely",
            Self::SharedDomain => {
                "memory cannot be exposed to the other side: the connection shares its receives with others"
            }
            Self::Deregistered => "the memory region is not registered",
            Self::InUse => "the adapter still uses the memory region",
            Self::Unreachable => "the adapter has no route to that address",
            Self::NoHost => "no host at that address answers",
            Self::PortDown => "the port of the RDMA adapter is down",
            Self::Version => "the two sides have no version of RPC-over-RDMA in common",
            Self::NoAdapter => "no such RDMA adapter; `rdma link` lists the adapters",
            Self::NoModule => "the kernel's modules that let programs use RDMA adapters are not loaded",
            Self::NoDriver => "there is no user-space driver for the RDMA adapter",
            Self::Removed => "the RDMA adapter was removed",
        })
    }
}

impl std::error::Error for Error {}

/// Text of the other side's program, in the private data of a rejection. An attacker may choose the text, so
/// unprintable octets are escaped, and the length is limited.
struct Text<'a>(&'a [u8]);

impl Text<'_> {
    /// Length of the private data of a rejection over InfiniBand or RoCE, which is filled up with zeros (InfiniBand
    /// Architecture, CM REJ). iWARP can have more.
    const MAX_SHOWN: usize = 148;
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.0.iter().rposition(|&octet| octet != 0).map_or(0, |last| last + 1);
        let text = self.0.get(..end).unwrap_or_default();
        if text.is_empty() {
            return Ok(());
        }
        match text.split_at_checked(Self::MAX_SHOWN) {
            Some((shown, left)) if !left.is_empty() => {
                write!(f, ": \"{}\" and {} octets more", shown.escape_ascii(), left.len())
            }
            _ => write!(f, ": \"{}\"", text.escape_ascii()),
        }
    }
}

/// Reason of a connection manager for a rejection (InfiniBand Architecture, CM REJ, table of reasons).
struct Reason(u16);

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.0 {
            1 => "it has no queue pairs left",
            3 => "it has no resources left",
            4 => "it got no answer in time",
            5 => "it does not support the request",
            6 | 7 => "it does not know the connection",
            9 => "it does not support the transport",
            10 => "it still knows an older connection of this queue pair",
            11 => "it does not support so many RDMA Reads",
            12..=23 => "the address or path is not valid",
            number => return write!(f, "reason {number}"),
        };
        write!(f, "{name} (reason {})", self.0)
    }
}

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

impl std::error::Error for NotRegistered {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

impl From<NotRegistered> for Error {
    fn from(refused: NotRegistered) -> Self {
        refused.error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejection_texts_are_escaped_for_terminals() {
        let shown = |private_data: &[u8]| Error::Rejected(private_data.to_vec()).to_string();
        assert_eq!(shown(b""), "the other side rejected the connection");
        assert_eq!(shown(&[0; 148]), "the other side rejected the connection", "filled up with zeros");
        assert_eq!(shown(b"no more clients\0\0"), "the other side rejected the connection: \"no more clients\"");
        let hostile = shown("\x1b[2J\r\n\"\u{202e}\0x".as_bytes());
        assert_eq!(hostile, r#"the other side rejected the connection: "\x1b[2J\r\n\"\xe2\x80\xae\x00x""#);
        let long = shown(&[b'a'; 512]);
        assert!(long.ends_with("aaa\" and 364 octets more") && long.matches('a').count() < 160, "{long}");
        assert!(shown(&[b'a'; 148]).ends_with("aaa\""));
    }
}

//! The trait, and the types that its verbs take and return.

use std::fmt;
use std::net::SocketAddr;
use std::ops::Range;
use std::time::Duration;

use rpcrdma::segment::Segment;

use crate::verbs::waiter::Waiter;
use crate::verbs::{Error, NotRegistered};

bitflags::bitflags! {
    /// Access rights to a memory region. Its owner may always read it.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Access: u8 {
        /// Receives may put data into it.
        const LOCAL_WRITE = 0x01;
        /// The other side may read it by RDMA Read.
        const REMOTE_READ = 0x02;
        /// The other side may write it by RDMA Write; needs [`LOCAL_WRITE`](Self::LOCAL_WRITE).
        const REMOTE_WRITE = 0x04;
        /// The owner's own RDMA Reads may put data into it; needs [`LOCAL_WRITE`](Self::LOCAL_WRITE). On iWARP the
        /// other side may then write it too, because the data of an RDMA Read is addressed like an RDMA Write (RFC 5040
        /// section 5.2).
        const READ_SINK = 0x08;
    }
}

impl Access {
    /// Whether these rights can be combined.
    pub(crate) const fn is_possible(self) -> bool {
        self.contains(Self::LOCAL_WRITE) || !self.intersects(Self::REMOTE_WRITE.union(Self::READ_SINK))
    }
}

/// How much a queue pair holds. Each posted item occupies a place in a queue until its completion is taken, so the
/// completion queue never overflows.
///
/// ```
/// use rpcrdma_verbs::Depths;
///
/// // What suits a requester with 32 credits.
/// let depths = Depths { send: 64, receive: 32, ..Depths::default() };
/// assert_eq!(depths.receiver_not_ready, 7);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Depths {
    /// Sends, RDMA Writes and RDMA Reads.
    pub send: usize,
    /// Receives.
    pub receive: usize,
    /// RDMA Reads that run at the same time; more wait for these.
    pub reads: usize,
    /// How often a Send is retried if the other side has no receive posted; 7, the maximum, means without end.
    pub receiver_not_ready: u8,
}

impl Default for Depths {
    fn default() -> Self {
        Self { send: 128, receive: 128, reads: 16, receiver_not_ready: 7 }
    }
}

/// A part of a memory region of this side.
#[derive(Debug)]
pub struct Local<'a, R> {
    /// The region.
    pub region: &'a R,
    /// Octets from the start of the region.
    pub range: Range<usize>,
}

impl<'a, R> Local<'a, R> {
    /// The first `length` octets of a region.
    pub const fn all(region: &'a R, length: usize) -> Self {
        Self { region, range: 0..length }
    }
}

/// Memory of the other side, as advertised. Its length is that of the local part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Remote {
    /// The handle.
    pub handle: u32,
    /// The offset of the first octet: a virtual address.
    pub offset: u64,
}

impl From<Segment> for Remote {
    fn from(segment: Segment) -> Self {
        Self { handle: segment.handle, offset: segment.offset }
    }
}

/// What a work request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Fills the other side's next receive.
    Send,
    /// Fills the other side's next receive, and invalidates this handle of the other side's memory before that
    /// completes.
    SendWithInvalidate(u32),
    /// Puts data into the other side's memory.
    Write(Remote),
    /// Fetches data from the other side's memory.
    Read(Remote),
}

/// A work request.
#[derive(Debug)]
pub struct Work<'a, R> {
    /// Returned in the completion.
    pub id: u64,
    /// What to do.
    pub operation: Operation,
    /// Where the data comes from, or, for an RDMA Read, where it goes.
    pub local: Local<'a, R>,
    /// Begins only when all RDMA Reads posted before are complete. Without it, work that follows an RDMA Read may use
    /// data that the Read has not brought yet, or invalidate what it still reads.
    pub fenced: bool,
}

impl<'a, R> Work<'a, R> {
    /// One without a fence.
    pub const fn new(id: u64, operation: Operation, local: Local<'a, R>) -> Self {
        Self { id, operation, local, fenced: false }
    }

    /// The same with a fence.
    #[must_use]
    pub fn fenced(self) -> Self {
        Self { fenced: true, ..self }
    }
}

/// What a completion is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A Send, with or without invalidation.
    Send,
    /// An RDMA Write.
    Write,
    /// An RDMA Read.
    Read,
    /// A receive.
    Receive,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Send => "Send",
            Self::Write => "RDMA Write",
            Self::Read => "RDMA Read",
            Self::Receive => "receive",
        })
    }
}

/// How a work request or receive ended. Anything but [`Success`](Self::Success) means that the connection is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Status {
    /// Done. For a Send or RDMA Write: the other side's adapter has it.
    Success,
    /// The connection ended before this was done, or before that was known.
    Flushed,
    /// The message is longer than the receive that it came to; its data must not be used.
    LocalLength,
    /// The local region belongs to another protection domain, is no longer registered, or may not be written.
    LocalProtection,
    /// The adapter failed.
    LocalOperation,
    /// The other side had too small a receive.
    RemoteInvalidRequest,
    /// The other side's memory does not exist, is too small, or may not be used that way.
    RemoteAccess,
    /// The other side's adapter failed: its receive buffer, for one, was not registered any more.
    RemoteOperation,
    /// The other side had no receive posted, through all retries.
    ReceiverNotReady,
    /// The other side no longer answers. The request may or may not have been carried out.
    NoAnswer,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Success => "success",
            Self::Flushed => "flushed",
            Self::LocalLength => "the receive is too small",
            Self::LocalProtection => "local memory not for that use",
            Self::LocalOperation => "the adapter failed",
            Self::RemoteInvalidRequest => "the other side's receive is too small",
            Self::RemoteAccess => "the other side's memory is not for that use",
            Self::RemoteOperation => "the other side's adapter failed",
            Self::ReceiverNotReady => "the other side has no receive posted",
            Self::NoAnswer => "the other side does not answer",
        })
    }
}

/// The end of a work request or receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Completion {
    /// The number with which it was posted.
    pub id: u64,
    /// What it was.
    pub kind: Kind,
    /// How it ended.
    pub status: Status,
    /// Octets that were moved; 0 if it failed.
    pub length: usize,
    /// For a receive: the handle that Send With Invalidate invalidated.
    pub invalidated: Option<u32>,
}

/// Whether there was already something to take when an announcement was requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "what there is already is not announced"]
pub enum Armed {
    /// Nothing: whatever comes will be announced.
    Quiet,
    /// There is something to take, which will not be announced.
    Ready,
}

/// What RPC-over-RDMA asks of an adapter. A value stands for one adapter.
///
/// Memory is owned by its [`Region`](Self::Region) while it is registered: a buffer goes in and comes back without a
/// copy, and its owner looks at it in place. Work is posted, and its end is taken as a [`Completion`]; completions of
/// work requests come in the order of posting, and so do those of receives. Inside a closure that holds memory, calls
/// that could wait for that memory are refused with [`Error::MemoryHeld`]. Every verb that waits takes a timeout; zero
/// means to look once, so one thread can drive both sides of a connection.
///
/// Data written by RDMA Write is in place when the completion of a receive is taken that a later Send filled.
///
/// In addition to the errors listed for each, all verbs may fail with [`Error::System`].
pub trait Verbs {
    /// A protection domain: memory and queue pairs that belong together.
    type Domain;
    /// Registered memory. Dropping it deregisters it.
    type Region;
    /// One end of a connection, with its queues. Dropping it ends the connection.
    type QueuePair;
    /// Takes requests for connections at an address. Dropping it rejects those that wait.
    type Listener;
    /// A request for a connection. Dropping it rejects it.
    type Request;

    /// Whether the other side can invalidate handles of regions by Send With Invalidate. If not, such a Send breaks the
    /// connection, so support must not be announced (RFC 8797 section 4.1). Sending them is always possible.
    fn remote_invalidation(&self) -> bool;

    /// A new protection domain.
    ///
    /// # Errors
    /// [`Error::Exhausted`].
    fn domain(&self) -> Result<Self::Domain, Error>;

    /// Registers a buffer, which then belongs to the region, under a handle and an offset that nobody can predict.
    ///
    /// # Errors
    /// [`NotRegistered`], which returns the buffer: for [`Error::Access`], [`Error::Exhausted`], [`Error::Range`] (4
    /// GiB and more).
    fn register(&self, domain: &Self::Domain, buffer: Vec<u8>, access: Access) -> Result<Self::Region, NotRegistered>;

    /// Ends a registration and returns the buffer. From then on the handle leads nowhere.
    ///
    /// # Errors
    /// [`Error::MemoryHeld`]; the registration has ended even so. [`Error::InUse`] if work on the region is posted, its
    /// completion has not been taken, and the provider needs the memory for it; the registration ends with that work.
    fn deregister(&self, region: Self::Region) -> Result<Vec<u8>, Error>;

    /// Where the other side finds the region: handle, length, offset of the first octet.
    fn segment(&self, region: &Self::Region) -> Segment;

    /// Whether the handle still leads to the region; after remote invalidation it does not.
    fn is_valid(&self, region: &Self::Region) -> bool;

    /// Looks at the memory in place. Writes of the other side wait until the closure returns, so it should be short; it
    /// cannot call verbs that need memory. If the provider cannot make writes wait, it refuses to show a region with
    /// [`Access::REMOTE_WRITE`], or one into which a receive or an RDMA Read is posted.
    ///
    /// # Errors
    /// [`Error::MemoryHeld`], [`Error::InUse`].
    fn read<T>(&self, region: &Self::Region, look: impl FnOnce(&[u8]) -> T) -> Result<T, Error>;

    /// Changes the memory in place. Like [`read`](Self::read), and not while a Send or RDMA Write out of it is posted.
    ///
    /// # Errors
    /// [`Error::MemoryHeld`], [`Error::InUse`].
    fn write<T>(&self, region: &Self::Region, change: impl FnOnce(&mut [u8]) -> T) -> Result<T, Error>;

    /// A queue pair, not connected.
    ///
    /// # Errors
    /// [`Error::Depth`], [`Error::Exhausted`].
    fn queue_pair(&self, domain: &Self::Domain, depths: Depths) -> Result<Self::QueuePair, Error>;

    /// The most octets that one work request of a connected queue pair moves: the longest message of the adapter's
    /// port.
    fn message_size(&self, queue_pair: &Self::QueuePair) -> u32;

    /// Posts a buffer for one Send of the other side. This can and should be done before the queue pair is connected,
    /// so that no Send comes too early.
    ///
    /// # Errors
    /// [`Error::QueueFull`], [`Error::Range`], [`Error::Disconnected`], [`Error::InUse`] while somebody looks at the
    /// region.
    fn post_receive(&self, queue_pair: &Self::QueuePair, id: u64, local: Local<'_, Self::Region>) -> Result<(), Error>;

    /// Posts a work request.
    ///
    /// # Errors
    /// [`Error::QueueFull`], [`Error::Range`] (more than [`message_size`](Self::message_size) too),
    /// [`Error::NotConnected`], [`Error::Disconnected`], [`Error::InUse`] while somebody looks at the region.
    fn post(&self, queue_pair: &Self::QueuePair, work: Work<'_, Self::Region>) -> Result<(), Error>;

    /// The next completion; none if there is none within that time, or if the wait was [interrupted](Self::interrupt).
    ///
    /// # Errors
    /// [`Error::Disconnected`] if the connection is over and all completions were taken; [`Error::NotConnected`];
    /// [`Error::MemoryHeld`].
    fn completion(&self, queue_pair: &Self::QueuePair, timeout: Duration) -> Result<Option<Completion>, Error>;

    /// Ends a thread's wait for a [completion](Self::completion) of this queue pair; if none waits, the next wait ends
    /// at once. This tells a thread of something that did not come from the adapter. It can be called anywhere, even
    /// while holding memory.
    fn interrupt(&self, queue_pair: &Self::QueuePair);

    /// Makes a waiter return this key once when there may be a completion or the connection is over, unless that is
    /// [already so](Armed::Ready). A queue pair has one waiter, the last. Whoever gets the key takes what there is, and
    /// then calls this again.
    ///
    /// # Errors
    /// [`Error::MemoryHeld`], [`Error::Exhausted`].
    fn watch(&self, queue_pair: &Self::QueuePair, waiter: &Waiter, key: u64) -> Result<Armed, Error>;

    /// The same for a listener and its requests.
    ///
    /// # Errors
    /// [`Error::MemoryHeld`], [`Error::Exhausted`].
    fn watch_requests(&self, listener: &Self::Listener, waiter: &Waiter, key: u64) -> Result<Armed, Error>;

    /// Takes requests at an address. `backlog` of them may wait; more are refused.
    ///
    /// # Errors
    /// [`Error::Address`], [`Error::Depth`] for a backlog of 0.
    fn listen(&self, address: SocketAddr, backlog: usize) -> Result<Self::Listener, Error>;

    /// The next request; none if there is none within that time.
    ///
    /// # Errors
    /// [`Error::MemoryHeld`]; [`Error::Removed`]: no request will come any more.
    fn request(&self, listener: &Self::Listener, timeout: Duration) -> Result<Option<Self::Request>, Error>;

    /// The private data of a request: on iWARP exactly what was given; elsewhere the whole field, with zeros after what
    /// was given.
    fn private_data<'a>(&self, request: &'a Self::Request) -> &'a [u8];

    /// The address of the requester.
    fn peer(&self, request: &Self::Request) -> SocketAddr;

    /// Accepts a request: the queue pair is then connected.
    ///
    /// # Errors
    /// After each of them the request is rejected. [`Error::PrivateData`], [`Error::Used`], [`Error::Disconnected`] if
    /// the requester has given up.
    fn accept(&self, request: Self::Request, queue_pair: &Self::QueuePair, private_data: &[u8]) -> Result<(), Error>;

    /// Rejects.
    ///
    /// # Errors
    /// [`Error::PrivateData`]: rejected without any.
    fn reject(&self, request: Self::Request, private_data: &[u8]) -> Result<(), Error>;

    /// Asks for a connection without waiting for the answer. Whatever the outcome, the queue pair then counts as used.
    ///
    /// # Errors
    /// [`Error::PrivateData`], [`Error::Used`], [`Error::Refused`], [`Error::Unreachable`].
    fn connect(&self, queue_pair: &Self::QueuePair, address: SocketAddr, private_data: &[u8]) -> Result<(), Error>;

    /// The private data of the other side's acceptance; none if it has not come within that time.
    ///
    /// # Errors
    /// [`Error::Rejected`], [`Error::Refused`], [`Error::Unreachable`], [`Error::Disconnected`],
    /// [`Error::NotConnected`] if none was asked for.
    fn connected(&self, queue_pair: &Self::QueuePair, timeout: Duration) -> Result<Option<Vec<u8>>, Error>;

    /// Ends the connection: everything that is posted on either side and incomplete is flushed.
    ///
    /// # Errors
    /// [`Error::MemoryHeld`].
    fn disconnect(&self, queue_pair: &Self::QueuePair) -> Result<(), Error>;
}

//! The trait, and the types of the verbs.

use std::fmt;
use std::net::SocketAddr;
use std::ops::Range;
use std::time::Duration;

use rpcrdma::segment::Segment;

use crate::verbs::waiter::Waiter;
use crate::verbs::{Error, NotRegistered};

bitflags::bitflags! {
    /// Access rights to a memory region. The owner may always read the region.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Access: u8 {
        /// Receives may put data into the region.
        const LOCAL_WRITE = 0x01;
        /// The other side may read the region by RDMA Read.
        const REMOTE_READ = 0x02;
        /// The other side may write the region by RDMA Write; needs [`LOCAL_WRITE`](Self::LOCAL_WRITE).
        const REMOTE_WRITE = 0x04;
        /// The owner's RDMA Reads may put data into the region; needs [`LOCAL_WRITE`](Self::LOCAL_WRITE). On iWARP the
        /// other side may then write the region too, because the data of an RDMA Read is addressed like an RDMA Write
        /// (RFC 5040 section 5.2).
        const READ_SINK = 0x08;
    }
}

impl Access {
    /// Returns true if a slab can have these rights.
    pub(crate) const fn is_local(self) -> bool {
        self.is_empty() || self.bits() == Self::LOCAL_WRITE.bits()
    }

    /// Returns true if these rights can be combined.
    pub(crate) const fn is_possible(self) -> bool {
        self.contains(Self::LOCAL_WRITE) || !self.intersects(Self::REMOTE_WRITE.union(Self::READ_SINK))
    }
}

/// Capacity of a queue pair. Each posted item occupies an entry of a queue until the completion is taken, so the
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
    /// Maximum number of Sends, RDMA Writes and RDMA Reads.
    pub send: usize,
    /// Maximum number of receives.
    pub receive: usize,
    /// Maximum number of RDMA Reads in flight; more wait for these.
    pub reads: usize,
    /// Number of retries of a Send if the other side has no receive posted; 7, the maximum, means without end.
    pub receiver_not_ready: u8,
}

impl Default for Depths {
    fn default() -> Self {
        Self { send: 128, receive: 128, reads: 16, receiver_not_ready: 7 }
    }
}

/// A range of a memory region of this side.
#[derive(Debug)]
pub struct Local<'a, R> {
    /// The region.
    pub region: &'a R,
    /// Range in octets from the start of the region.
    pub range: Range<usize>,
}

impl<'a, R> Local<'a, R> {
    /// The first `length` octets of a region.
    pub const fn whole_region(region: &'a R, length: usize) -> Self {
        Self { region, range: 0..length }
    }
}

/// Memory of the other side, as advertised. The length is that of the local range.
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

/// Operation of a work request.
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

/// Returns true if a part of a buffer can be registered.
pub(crate) fn is_part(part: &Range<usize>, buffer: &[u8]) -> bool {
    buffer.get(part.clone()).is_some_and(|octets| buffer.is_empty() || !octets.is_empty())
}

/// A work request.
#[derive(Debug)]
pub struct Work<'a, R> {
    /// Returned in the completion.
    pub id: u64,
    /// The operation.
    pub operation: Operation,
    /// The source of the data, or the target of an RDMA Read.
    pub local: Local<'a, R>,
    /// Begins only when all earlier RDMA Reads have completed. Without a fence, work that follows an RDMA Read may use
    /// data that has not arrived yet, or invalidate memory that the Read still needs.
    pub fenced: bool,
}

impl<'a, R> Work<'a, R> {
    /// Work without a fence.
    pub const fn new(id: u64, operation: Operation, local: Local<'a, R>) -> Self {
        Self { id, operation, local, fenced: false }
    }

    /// Adds a fence.
    #[must_use]
    pub fn fenced(self) -> Self {
        Self { fenced: true, ..self }
    }
}

/// Kind of the work that a completion reports.
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

/// Status of a completed work request or receive. Anything but [`Success`](Self::Success) means that the connection is
/// over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Status {
    /// Done. For a Send or RDMA Write: the other side's adapter has received the data.
    Success,
    /// The connection ended before the work was done, or before the outcome was known.
    Flushed,
    /// The message is longer than the receive; do not use the data.
    LocalLength,
    /// The local region belongs to another protection domain, is no longer registered, or may not be written.
    LocalProtection,
    /// The adapter failed.
    LocalOperation,
    /// The other side had too small a receive.
    RemoteInvalidRequest,
    /// The other side's memory does not exist, is too small, or may not be used that way.
    RemoteAccess,
    /// The other side's adapter failed: the receive buffer, for one, was not registered any more.
    RemoteOperation,
    /// The other side had no receive posted, through all retries.
    ReceiverNotReady,
    /// The other side no longer answers. The request may or may not have been carried out.
    NoAnswer,
    /// Like [`NoAnswer`](Self::NoAnswer), and this side's port is down.
    PortDown,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Success => "success",
            Self::Flushed => "flushed",
            Self::LocalLength => "the receive is too small",
            Self::LocalProtection => "local memory does not allow this access",
            Self::LocalOperation => "the adapter failed",
            Self::RemoteInvalidRequest => "the other side's receive is too small",
            Self::RemoteAccess => "the other side's memory does not allow this access",
            Self::RemoteOperation => "the other side's adapter failed",
            Self::ReceiverNotReady => "the other side has no receive posted",
            Self::NoAnswer => "the other side does not answer",
            Self::PortDown => "this side's port is down",
        })
    }
}

/// The end of a work request or receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Completion {
    /// The number given when posting.
    pub id: u64,
    /// Its kind.
    pub kind: Kind,
    /// Its status.
    pub status: Status,
    /// Number of octets moved; 0 after a failure.
    pub length: usize,
    /// For a receive: the handle that Send With Invalidate invalidated.
    pub invalidated: Option<u32>,
}

/// Outcome of requesting a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "what there is already is not announced"]
pub enum WatchState {
    /// There is nothing to take now, and a notification will follow.
    Quiet,
    /// There is something to take now, and no notification will follow.
    Ready,
}

/// The operations that RPC-over-RDMA uses, on one adapter.
///
/// Registered memory is owned by a [`Region`](Self::Region): a buffer moves in and out without a copy, and the owner
/// accesses the octets in place. A [`Completion`] reports the end of posted work; completions of work requests come in
/// the order of posting, and completions of receives too. Inside a closure that holds memory, calls that could wait for
/// that memory are refused with [`Error::MemoryHeld`]. Every verb that waits has a timeout; zero means to look once, so
/// one thread can drive both sides of a connection.
///
/// Data written by RDMA Write is in place when the completion of a receive is taken that a later Send filled.
///
/// In addition to the errors listed for each, all verbs may fail with [`Error::System`].
pub trait Verbs {
    /// A protection domain, to which memory and queue pairs belong.
    type Domain;
    /// Registered memory. Dropping the region deregisters the memory.
    type Region;
    /// One end of a connection, with queues. Dropping it ends the connection.
    type QueuePair;
    /// Receives for several queue pairs. The queue lasts until this and all of these are dropped.
    type SharedReceiveQueue;
    /// Accepts requests for connections at an address. Dropping the listener rejects waiting requests.
    type Listener;
    /// A request for a connection. Dropping the request rejects the connection.
    type Request;

    /// Returns true if the other side can invalidate handles of regions by Send With Invalidate. If not, such a Send
    /// breaks the connection, so support must not be announced (RFC 8797 section 4.1). Such Sends may always be posted.
    fn remote_invalidation(&self) -> bool;

    /// Creates a protection domain.
    ///
    /// # Errors
    /// [`Error::Exhausted`].
    fn domain(&self) -> Result<Self::Domain, Error>;

    /// Registers a buffer, which then belongs to the region, under an unpredictable handle and offset.
    ///
    /// # Errors
    /// [`NotRegistered`], which returns the buffer: for [`Error::Access`], [`Error::Exhausted`], [`Error::Range`] (4
    /// GiB and more).
    fn register(&self, domain: &Self::Domain, buffer: Vec<u8>, access: Access) -> Result<Self::Region, NotRegistered> {
        let whole = 0..buffer.len();
        self.register_part(domain, buffer, whole, access)
    }

    /// Registers a part of a buffer, which then belongs to the region with all that is around this part. The region is the
    /// part alone: neither side has access to the rest. [`deregister`](Self::deregister) returns the whole buffer.
    ///
    /// # Errors
    /// The errors of [`register`](Self::register); [`Error::Range`] if the part is not in the buffer, or empty although
    /// the buffer is not.
    fn register_part(
        &self,
        domain: &Self::Domain,
        buffer: Vec<u8>,
        part: Range<usize>,
        access: Access,
    ) -> Result<Self::Region, NotRegistered>;

    /// Registers `count` buffers of `length` octets each, all zero, with a single registration, which ends when the
    /// last of these regions is dropped. A region of a slab cannot be deregistered alone. The other side has no access
    /// to a slab: `access` is empty or [`Access::LOCAL_WRITE`].
    ///
    /// # Errors
    /// [`Error::Access`], [`Error::Exhausted`], [`Error::Range`] (4 GiB and more, or no octets).
    fn register_slab(
        &self,
        domain: &Self::Domain,
        count: usize,
        length: usize,
        access: Access,
    ) -> Result<Vec<Self::Region>, Error>;

    /// Ends a registration and returns the buffer. From then on the handle is invalid.
    ///
    /// # Errors
    /// [`Error::MemoryHeld`]; the registration has ended even so. [`Error::InUse`] if work on the region is posted, the
    /// completion has not been taken, and the provider needs the memory for the work; the registration ends with that
    /// work. [`Error::Access`] for a region of a [slab](Self::register_slab), which is dropped.
    fn deregister(&self, region: Self::Region) -> Result<Vec<u8>, Error>;

    /// Returns the region's address for the other side: handle, length, offset of the first octet.
    fn segment(&self, region: &Self::Region) -> Segment;

    /// Returns true if the handle is valid; remote invalidation makes a handle invalid.
    fn is_valid(&self, region: &Self::Region) -> bool;

    /// Reads the memory in place. Writes of the other side wait until the closure returns, so be quick; the closure
    /// cannot call verbs that need memory. A provider that cannot make writes wait refuses access to a region with
    /// [`Access::REMOTE_WRITE`], or into which a receive or an RDMA Read is posted.
    ///
    /// # Errors
    /// [`Error::MemoryHeld`], [`Error::InUse`].
    fn read<T>(&self, region: &Self::Region, look: impl FnOnce(&[u8]) -> T) -> Result<T, Error>;

    /// Changes the memory in place. Like [`read`](Self::read), but refused also while a Send or RDMA Write from the
    /// region is posted.
    ///
    /// # Errors
    /// [`Error::MemoryHeld`], [`Error::InUse`].
    fn write<T>(&self, region: &Self::Region, change: impl FnOnce(&mut [u8]) -> T) -> Result<T, Error>;

    /// Creates a queue pair, not connected.
    ///
    /// # Errors
    /// [`Error::Depth`], [`Error::Exhausted`].
    fn queue_pair(&self, domain: &Self::Domain, depths: Depths) -> Result<Self::QueuePair, Error>;

    /// Creates a shared receive queue for `depth` receives.
    ///
    /// # Errors
    /// [`Error::Depth`], [`Error::Exhausted`]; [`Error::NotShared`] if the adapter has none that can be used safely.
    fn shared_receive_queue(&self, domain: &Self::Domain, depth: usize) -> Result<Self::SharedReceiveQueue, Error>;

    /// Creates an unconnected queue pair in the domain of a shared receive queue, from which incoming Sends fill
    /// receives. [`Depths::receive`] has no meaning then: a completion queue has room for all receives of the shared
    /// queue. A receive whose completion was not taken when the queue pair is dropped returns to the shared queue.
    ///
    /// # Errors
    /// [`Error::Depth`], [`Error::Exhausted`].
    fn sharing_queue_pair(&self, queue: &Self::SharedReceiveQueue, depths: Depths) -> Result<Self::QueuePair, Error>;

    /// Posts a buffer of the same domain to a shared receive queue, for one Send to any queue pair of that queue. While
    /// the queue is empty, these Sends wait as if their own queue pair had no receive posted.
    ///
    /// # Errors
    /// [`Error::QueueFull`], [`Error::Range`]; [`Error::InUse`] during access to the region.
    fn post_shared_receive(
        &self,
        queue: &Self::SharedReceiveQueue,
        id: u64,
        local: Local<'_, Self::Region>,
    ) -> Result<(), Error>;

    /// Returns the number of receives of a shared queue that are posted and not known to be complete. A provider may
    /// notice a completion only when taken.
    fn shared_receives(&self, queue: &Self::SharedReceiveQueue) -> usize;

    /// Returns the maximum number of octets that one work request of a connected queue pair moves: the longest message
    /// of the adapter's port.
    fn message_size(&self, queue_pair: &Self::QueuePair) -> u32;

    /// Posts a buffer for one Send of the other side. This can and should be done before the queue pair is connected,
    /// so that no Send comes too early.
    ///
    /// # Errors
    /// [`Error::QueueFull`], also for a queue pair with a shared queue; [`Error::Range`], [`Error::Disconnected`];
    /// [`Error::InUse`] during access to the region.
    fn post_receive(&self, queue_pair: &Self::QueuePair, id: u64, local: Local<'_, Self::Region>) -> Result<(), Error>;

    /// Posts a work request.
    ///
    /// # Errors
    /// [`Error::QueueFull`], [`Error::Range`] (also for more than [`message_size`](Self::message_size)),
    /// [`Error::NotConnected`], [`Error::Disconnected`]; [`Error::InUse`] during access to the region.
    fn post(&self, queue_pair: &Self::QueuePair, work: Work<'_, Self::Region>) -> Result<(), Error>;

    /// Returns the next completion, or `None` after the timeout, or if the wait was [interrupted](Self::interrupt).
    ///
    /// # Errors
    /// [`Error::Disconnected`] if the connection is over and all completions were taken, or [`Error::Removed`] if this
    /// side's adapter was removed; [`Error::NotConnected`]; [`Error::MemoryHeld`]. Any other error that ended the
    /// connection comes once.
    fn completion(&self, queue_pair: &Self::QueuePair, timeout: Duration) -> Result<Option<Completion>, Error>;

    /// Interrupts a thread that waits for a [completion](Self::completion) of this queue pair; if none waits, the next
    /// wait ends at once. This notifies a thread of an event that did not come from the adapter. Any thread may call
    /// this, even while holding memory.
    fn interrupt(&self, queue_pair: &Self::QueuePair);

    /// Makes a waiter return this key once when there may be a completion or the connection is over, unless that is
    /// [already so](WatchState::Ready). A queue pair has one waiter, the last. The thread that gets the key takes all
    /// completions, and then calls this again.
    ///
    /// # Errors
    /// [`Error::MemoryHeld`], [`Error::Exhausted`].
    fn watch(&self, queue_pair: &Self::QueuePair, waiter: &Waiter, key: u64) -> Result<WatchState, Error>;

    /// Makes a waiter return this key once when the connection may be over, and not for completions: for a connection
    /// that nobody uses at the moment. [`WatchState::Ready`] if the connection is over.
    ///
    /// # Errors
    /// [`Error::MemoryHeld`], [`Error::Exhausted`].
    fn watch_end(&self, queue_pair: &Self::QueuePair, waiter: &Waiter, key: u64) -> Result<WatchState, Error>;

    /// Makes a waiter return this key once when there is a request, like [`watch`](Self::watch).
    ///
    /// # Errors
    /// [`Error::MemoryHeld`], [`Error::Exhausted`].
    fn watch_requests(&self, listener: &Self::Listener, waiter: &Waiter, key: u64) -> Result<WatchState, Error>;

    /// Listens for requests at an address. `backlog`: maximum number of waiting requests; more are refused.
    ///
    /// # Errors
    /// [`Error::Address`], [`Error::Depth`] for a backlog of 0.
    fn listen(&self, address: SocketAddr, backlog: usize) -> Result<Self::Listener, Error>;

    /// Returns the next request, or `None` after the timeout.
    ///
    /// # Errors
    /// [`Error::MemoryHeld`]; [`Error::Removed`]: no request will come any more.
    fn request(&self, listener: &Self::Listener, timeout: Duration) -> Result<Option<Self::Request>, Error>;

    /// Returns the private data of a request: on iWARP exactly the octets that were sent; elsewhere the whole field,
    /// padded with zeros.
    fn private_data<'a>(&self, request: &'a Self::Request) -> &'a [u8];

    /// Returns the address of the requester.
    fn peer(&self, request: &Self::Request) -> SocketAddr;

    /// Accepts a request: the queue pair is then connected.
    ///
    /// # Errors
    /// After each error the request is rejected. [`Error::PrivateData`], [`Error::Used`], [`Error::Disconnected`] if
    /// the requester has given up.
    fn accept(&self, request: Self::Request, queue_pair: &Self::QueuePair, private_data: &[u8]) -> Result<(), Error>;

    /// Rejects a request.
    ///
    /// # Errors
    /// [`Error::PrivateData`]: rejected without private data.
    fn reject(&self, request: Self::Request, private_data: &[u8]) -> Result<(), Error>;

    /// Requests a connection without waiting for the answer. Whatever the outcome, the queue pair then counts as used.
    ///
    /// # Errors
    /// [`Error::PrivateData`], [`Error::Used`], [`Error::Refused`], [`Error::Unreachable`].
    fn connect(&self, queue_pair: &Self::QueuePair, address: SocketAddr, private_data: &[u8]) -> Result<(), Error>;

    /// Returns the private data of the other side's acceptance, or `None` after the timeout.
    ///
    /// # Errors
    /// [`Error::Rejected`], [`Error::Refused`], [`Error::Unreachable`], [`Error::Disconnected`],
    /// [`Error::NotConnected`] if none was asked for.
    fn connected(&self, queue_pair: &Self::QueuePair, timeout: Duration) -> Result<Option<Vec<u8>>, Error>;

    /// Ends the connection: all incomplete work on either side is flushed.
    ///
    /// # Errors
    /// [`Error::MemoryHeld`].
    fn disconnect(&self, queue_pair: &Self::QueuePair) -> Result<(), Error>;
}

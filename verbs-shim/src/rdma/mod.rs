//! A provider of [`Verbs`] for RDMA adapters: rdma-core's libibverbs, with connections by librdmacm.
//!
//! A [`Device`] is an adapter of this computer: InfiniBand, RoCE or iWARP, or the kernel's soft RoCE (`rdma_rxe`).
//! Everything that rdma-core has a driver for is used in the same way. This needs Linux with the kernel modules
//! `ib_uverbs` and `rdma_ucm`, and each process needs the right to lock the registered memory (`ulimit -l`); when that
//! is used up, [`register`](Verbs::register) fails with [`Error::LockedMemory`].
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use rpcrdma_verbs::rdma::Device;
//! use rpcrdma_verbs::{Access, Depths, Error, Local, Verbs};
//!
//! fn serve() -> Result<(), Error> {
//!     let device = Device::with_address("192.0.2.1".parse().unwrap())?;
//!     let listener = device.listen("192.0.2.1:20049".parse().unwrap(), 8)?;
//!     let domain = device.domain()?;
//!     let Some(request) = device.request(&listener, Duration::from_secs(60))? else { return Ok(()) };
//!     let queue_pair = device.queue_pair(&domain, Depths::default())?;
//!     let buffer = device.register(&domain, vec![0; 1024], Access::LOCAL_WRITE)?;
//!     device.post_receive(&queue_pair, 1, Local::whole_region(&buffer, 1024))?;
//!     device.accept(request, &queue_pair, b"welcome")?;
//!     while let Some(completion) = device.completion(&queue_pair, Duration::from_secs(60))? {
//!         println!("{} octets, {}", completion.length, completion.status);
//!     }
//!     Ok(())
//! }
//! ```
//!
//! # Memory that the adapter writes
//! A slice of registered memory exists only while no adapter can write to that memory. So [`read`](Verbs::read) and
//! [`write`](Verbs::write) fail with [`Error::InUse`] for a region with [`Access::REMOTE_WRITE`], even if the other
//! side writes nothing: deregister the region first. Both also fail while a receive or an RDMA Read into any part of
//! the region is posted and the completion has not been taken; so use a region for each receive:
//! [`register_slab`](Verbs::register_slab) makes many regions with one registration. Posted work keeps memory
//! registered: [`deregister`](Verbs::deregister) then fails with [`Error::InUse`], and the buffer is freed with the
//! last completion.
//!
//! The data of an RDMA Write is in place when the completion of a later Send's receive is taken. That rests on the
//! order in which an adapter has to work (InfiniBand Architecture, ordering of RDMA Writes and Sends of one queue pair;
//! RFC 5040 section 5.5 for iWARP), and on the order of the adapter's writes to memory: regions are never registered
//! for relaxed ordering.
//!
//! # Handles
//! The adapter chooses the handles, and many adapters choose consecutive ones, so unpredictable handles (RFC 8166
//! section 8.1.2) cannot be promised. Offsets are random, in steps of 2 MiB, and reveal nothing about where memory is
//! in the process, except on iWARP, where some drivers accept only the address as offset. Send With Invalidate cannot
//! invalidate handles ([`remote_invalidation`](Verbs::remote_invalidation)), because that needs memory windows.
//!
//! # Connections
//! [`connect`](Verbs::connect) waits until the route to the other side is found, at most 8 seconds, but not for the
//! answer. During setup, each side tells the other how often to retry a Send if no receive is posted, so
//! [`Depths::receiver_not_ready`](crate::Depths) applies to the other side's Sends. The end of a process ends all
//! connections, and the other side is notified. Only a side that sends notices that the peer was cut off; one that only
//! receives keeps waiting, so the layer above needs a timeout.
//!
//! Each connection has [`DESCRIPTORS`] descriptors, so the usual limit of 1,024 ends near 240 connections:
//! [`raise_descriptor_limit`] raises that limit.
//!
//! A removed adapter is closed when nothing uses the adapter any more: no [`Device`], connection or memory. Soft RoCE
//! and soft iWARP wait for that. A program without an adapter at that moment notices at the next use of one.
//!
//! Memory that is registered with another adapter is refused with [`Error::Deregistered`].
//!
//! Values can be dropped in any order. A process that forks needs Linux 5.12 or later, which leaves registered memory
//! with the parent.
//!
//! # iWARP
//! This was tried with soft iWARP (`siw`) of Linux 6.1, but not with an adapter. A Send or an RDMA Write is complete
//! when TCP has accepted the data; if the other side refuses the data, only the end of the connection shows that.
//! Memory with [`Access::READ_SINK`] is registered with write access for the other side, because the data of an RDMA
//! Read needs that right, and so is not shown while registered. For the same reason there are no shared receive queues:
//! all their queue pairs have one domain.
//!
//! # Unsafe code
//! Without the feature `rdma` the crate forbids unsafe code; with the feature, only this module may contain any, each
//! with a `SAFETY` comment. What has to hold for memory is at the top of `memory.rs`. No work is longer than a message
//! of the port (`max_msg_sz`), because drivers differ in the treatment of longer work; the endpoints ask for several
//! RDMA Reads or Writes if a segment is longer.

mod adapters;
mod completions;
mod descriptor_limit;
mod device;
mod errors;
mod listener;
mod management;
mod memory;
mod missing_adapter;
mod port;
mod queue_pair;
mod shared_receive_queue;
mod sys;

use std::net::SocketAddr;
use std::ops::Range;
use std::time::Duration;

use rpcrdma::segment::Segment;

pub use self::descriptor_limit::{DESCRIPTORS, raise_descriptor_limit};
pub use self::device::Device;
pub use self::listener::{ConnectionRequest, Listener};
pub use self::memory::{Domain, Region};
pub use self::queue_pair::QueuePair;
pub use self::shared_receive_queue::SharedReceiveQueue;
use crate::verbs::waiter::{Waiter, Watch};
use crate::verbs::{Access, Completion, Depths, Local, Verbs, WatchState, Work};
use crate::verbs::{Error, NotRegistered};

/// Maximum length of private data in a request, in octets (RDMA IP CM service: 92 minus 36).
pub const REQUEST_PRIVATE_DATA: usize = 56;
/// Maximum length of private data in an acceptance, in octets.
pub const ACCEPT_PRIVATE_DATA: usize = 196;
/// Maximum length of private data in a rejection, in octets.
pub const REJECT_PRIVATE_DATA: usize = 148;

fn fits<const LENGTH: usize>(private_data: &[u8]) -> Result<(), Error> {
    if private_data.len() > LENGTH { Err(Error::PrivateData) } else { Ok(()) }
}

impl Verbs for Device {
    type Domain = Domain;
    type Region = Region;
    type QueuePair = QueuePair;
    type SharedReceiveQueue = SharedReceiveQueue;
    type Listener = Listener;
    type Request = ConnectionRequest;

    fn remote_invalidation(&self) -> bool {
        false
    }

    fn domain(&self) -> Result<Domain, Error> {
        Domain::new(self)
    }

    fn register_part(
        &self,
        domain: &Domain,
        buffer: Vec<u8>,
        part: Range<usize>,
        access: Access,
    ) -> Result<Region, NotRegistered> {
        Region::new(domain, buffer, part, access)
    }

    fn register_slab(
        &self,
        domain: &Domain,
        count: usize,
        length: usize,
        access: Access,
    ) -> Result<Vec<Region>, Error> {
        Region::slab(domain, count, length, access)
    }

    fn deregister(&self, region: Region) -> Result<Vec<u8>, Error> {
        region.deregister()
    }

    fn segment(&self, region: &Region) -> Segment {
        region.segment()
    }

    fn is_valid(&self, _region: &Region) -> bool {
        // Only its owner ends a registration.
        true
    }

    fn read<T>(&self, region: &Region, look: impl FnOnce(&[u8]) -> T) -> Result<T, Error> {
        region.read(look)
    }

    fn write<T>(&self, region: &Region, change: impl FnOnce(&mut [u8]) -> T) -> Result<T, Error> {
        region.write(change)
    }

    fn queue_pair(&self, domain: &Domain, depths: Depths) -> Result<QueuePair, Error> {
        QueuePair::new(domain, depths, None)
    }

    fn shared_receive_queue(&self, domain: &Domain, depth: usize) -> Result<SharedReceiveQueue, Error> {
        SharedReceiveQueue::new(domain, depth)
    }

    fn sharing_queue_pair(&self, queue: &SharedReceiveQueue, depths: Depths) -> Result<QueuePair, Error> {
        QueuePair::sharing(queue, depths)
    }

    fn post_shared_receive(&self, queue: &SharedReceiveQueue, id: u64, local: Local<'_, Region>) -> Result<(), Error> {
        queue.post(id, &local)
    }

    fn shared_receives(&self, queue: &SharedReceiveQueue) -> usize {
        queue.len()
    }

    fn message_size(&self, queue_pair: &QueuePair) -> u32 {
        queue_pair.message_size()
    }

    fn post_receive(&self, queue_pair: &QueuePair, id: u64, local: Local<'_, Region>) -> Result<(), Error> {
        queue_pair.post_receive(id, &local)
    }

    fn post(&self, queue_pair: &QueuePair, work: Work<'_, Region>) -> Result<(), Error> {
        queue_pair.post(&work)
    }

    fn completion(&self, queue_pair: &QueuePair, timeout: Duration) -> Result<Option<Completion>, Error> {
        queue_pair.completion(timeout)
    }

    fn interrupt(&self, queue_pair: &QueuePair) {
        queue_pair.interrupt();
    }

    fn watch(&self, queue_pair: &QueuePair, waiter: &Waiter, key: u64) -> Result<WatchState, Error> {
        queue_pair.watch(Watch::new(waiter, key))
    }

    fn watch_end(&self, queue_pair: &QueuePair, waiter: &Waiter, key: u64) -> Result<WatchState, Error> {
        queue_pair.watch_end(waiter, key)
    }

    fn watch_requests(&self, listener: &Listener, waiter: &Waiter, key: u64) -> Result<WatchState, Error> {
        listener.watch(waiter, key)
    }

    fn listen(&self, address: SocketAddr, backlog: usize) -> Result<Listener, Error> {
        Listener::new(self, address, backlog)
    }

    fn request(&self, listener: &Listener, timeout: Duration) -> Result<Option<ConnectionRequest>, Error> {
        listener.next_request(timeout)
    }

    fn private_data<'a>(&self, request: &'a ConnectionRequest) -> &'a [u8] {
        request.private_data()
    }

    fn peer(&self, request: &ConnectionRequest) -> SocketAddr {
        request.peer()
    }

    fn accept(&self, request: ConnectionRequest, queue_pair: &QueuePair, private_data: &[u8]) -> Result<(), Error> {
        fits::<ACCEPT_PRIVATE_DATA>(private_data)?;
        queue_pair.accept(request, private_data)
    }

    fn reject(&self, request: ConnectionRequest, private_data: &[u8]) -> Result<(), Error> {
        fits::<REJECT_PRIVATE_DATA>(private_data)?;
        request.reject(private_data);
        Ok(())
    }

    fn connect(&self, queue_pair: &QueuePair, address: SocketAddr, private_data: &[u8]) -> Result<(), Error> {
        fits::<REQUEST_PRIVATE_DATA>(private_data)?;
        queue_pair.connect(self, address, private_data)
    }

    fn connected(&self, queue_pair: &QueuePair, timeout: Duration) -> Result<Option<Vec<u8>>, Error> {
        queue_pair.connected(timeout)
    }

    fn disconnect(&self, queue_pair: &QueuePair) -> Result<(), Error> {
        queue_pair.disconnect();
        Ok(())
    }
}

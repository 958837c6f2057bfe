//! A provider of [`Verbs`] within this process: no hardware, no privileges, no threads, no unsafe code.
//!
//! A [`Fabric`] is a network, an [`Adapter`] an end of a network with an IPv4 address. An adapter refuses what hardware
//! refuses, and each such refusal ends the connection, as with hardware: memory that is no longer registered, belongs
//! to another protection domain, is too small or may not be used that way; a receive that is too small or missing.
//! There are two differences from hardware: the loopback is more predictable, for tests (see below), and safe code
//! needs a lock, so an owner that accesses memory keeps the adapter waiting and should be quick.
//!
//! # Execution of work
//! Posting only queues; work is executed when either side waits for a completion. If neither side ever waits, posted
//! work is not executed, and is flushed when the connection ends. RDMA Reads bring their data as late as the rules of
//! the InfiniBand Architecture allow, so that a missing fence is noticed.
//!
//! # Fault injection
//! [`Adapter::with_faults`] gives an adapter whose queue pairs follow a plan. [`Adapter::remove`] unplugs an adapter,
//! and [`Adapter::set_port`] pulls the cable: then the other side is silent, but both sides notice the end of the
//! connection at the same time, unlike on a network.
//!
//! # Capture
//! [`Fabric::captured`] writes everything to a capture file as RoCEv2, packet by packet, with the data, as an adapter
//! would have sent the packets, including connection setup and acknowledgements. Injected faults show as missing
//! packets.
//!
//! # Copies
//! Each octet that moves is copied once, in place of the adapter's DMA; [`Fabric::copies`] counts the copies. A capture
//! reads the octets in place.

mod capture;
mod faults;
mod link;
mod listener;
mod management;
mod memory;
mod packet;
mod port;
mod receives;
mod side;
mod wakeup;
mod wire;

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use rpcrdma::segment::Segment;

use self::capture::Recorder;
pub use self::faults::{Fault, Faults, Injected, SetupFault};
use self::faults::{Plan, Strike};
pub use self::link::NO_ANSWER;
use self::link::{Awaited, Half, Link, LinkPhase, Queued};
pub use self::listener::ConnectionRequest;
use self::listener::{Asking, Door};
use self::management::Station;
use self::memory::{Counters, not_held};
pub use self::memory::{Domain, MAX_REGIONS, Region};
use self::port::Port;
pub use self::port::PortState;
pub use self::receives::SharedReceiveQueue;
use self::receives::SideReceives;
use self::side::Side;
pub use self::wire::PathMtu;
use self::wire::Wire;
use crate::verbs::identifiers::Identifiers;
use crate::verbs::waiter::{Waiter, Watch};
use crate::verbs::{Access, Completion, Depths, Local, Verbs, WatchState, Work};
use crate::verbs::{Error, NotRegistered};

/// Maximum number of adapters of a fabric.
pub const MAX_ADAPTERS: usize = 256;
/// Maximum number of listeners of a fabric.
pub const MAX_LISTENERS: usize = 1024;
/// Maximum depth of a queue, and maximum backlog.
pub const MAX_DEPTH: usize = 1 << 16;
/// Maximum length of private data in a request, in octets (RDMA IP CM service: 92 minus 36).
pub const REQUEST_PRIVATE_DATA: usize = 56;
/// Maximum length of private data in an acceptance, in octets.
pub const ACCEPT_PRIVATE_DATA: usize = 196;
/// Maximum length of private data in a rejection, in octets.
pub const REJECT_PRIVATE_DATA: usize = 148;

/// A network within this process.
///
/// ```
/// use rpcrdma_verbs::Error;
/// use rpcrdma_verbs::loopback::Fabric;
///
/// let fabric = Fabric::new();
/// let adapter = fabric.adapter([192, 0, 2, 1].into())?;
/// assert_eq!(fabric.adapter([192, 0, 2, 1].into()).err(), Some(Error::Address), "each address once");
/// assert_eq!((fabric.copies().moved, fabric.copies().copied), (0, 0));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Fabric(Arc<Network>);

#[derive(Debug, Default)]
struct Network {
    identifiers: Identifiers,
    counters: Arc<Counters>,
    adapters: Mutex<BTreeMap<Ipv4Addr, Arc<Port>>>,
    doors: Mutex<HashMap<SocketAddrV4, Arc<Door>>>,
    /// Number of queue pairs so far.
    queue_pairs: AtomicU32,
    capture: Option<(Arc<Recorder>, PathMtu)>,
}

/// Octets that a fabric has moved so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Copies {
    /// Octets moved by Sends, RDMA Writes and RDMA Reads.
    pub moved: u64,
    /// Octets copied for that.
    pub copied: u64,
}

/// Operations that queue pairs of a fabric have begun so far, and registrations of the adapters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FabricCounts {
    /// Sends.
    pub sends: u64,
    /// Sends that invalidate a handle.
    pub invalidating_sends: u64,
    /// RDMA Writes.
    pub writes: u64,
    /// RDMA Reads.
    pub reads: u64,
    /// Registrations of memory.
    pub registrations: u64,
    /// Registrations of memory that the other side may read or write.
    pub remote_registrations: u64,
}

/// An adapter of the loopback. Clones are the same adapter.
///
/// ```
/// use rpcrdma_verbs::loopback::{Fabric, Fault, Faults};
/// use rpcrdma_verbs::{Depths, Error, Verbs};
///
/// // The request for the connection never arrives.
/// let adapter = Fabric::new().adapter([192, 0, 2, 1].into())?.with_faults(Faults::none().at(0, Fault::LoseBefore));
/// let address = "192.0.2.1:20049".parse().unwrap();
/// let _listener = adapter.listen(address, 1)?;
/// let queue_pair = adapter.queue_pair(&adapter.domain()?, Depths::default())?;
/// adapter.connect(&queue_pair, address, &[])?;
/// assert_eq!(adapter.connected(&queue_pair, std::time::Duration::ZERO), Err(Error::Disconnected));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Adapter {
    network: Arc<Network>,
    address: Ipv4Addr,
    port: Arc<Port>,
    plan: Arc<Plan>,
    /// Maximum number of regions of a protection domain.
    regions: usize,
    /// Maximum number of octets that one work request moves.
    message_size: u32,
}

/// A queue pair of the loopback. Dropping the queue pair ends the connection.
///
/// ```
/// use std::time::Duration;
///
/// use rpcrdma_verbs::loopback::Fabric;
/// use rpcrdma_verbs::{Access, Depths, Error, Local, Operation, Verbs, Work};
///
/// let adapter = Fabric::new().adapter([192, 0, 2, 1].into())?;
/// let domain = adapter.domain()?;
/// let queue_pair = adapter.queue_pair(&domain, Depths { receive: 1, ..Depths::default() })?;
/// let buffer = adapter.register(&domain, vec![0; 64], Access::LOCAL_WRITE)?;
/// adapter.post_receive(&queue_pair, 1, Local::whole_region(&buffer, 64))?;
/// assert_eq!(adapter.post_receive(&queue_pair, 2, Local::whole_region(&buffer, 64)), Err(Error::QueueFull));
/// let send = Work::new(3, Operation::Send, Local::whole_region(&buffer, 64));
/// assert_eq!(adapter.post(&queue_pair, send), Err(Error::NotConnected));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct QueuePair {
    /// Locked before the link by the side that accepts; others release the lock first.
    seat: Mutex<Seat>,
    /// Number of work requests so far.
    steps: AtomicU64,
    plan: Arc<Plan>,
    address: Ipv4Addr,
    number: u32,
    depths: Depths,
    message_size: u32,
    network: Arc<Network>,
}

/// The link of a queue pair. A queue pair that accepts moves to the link of the requester.
#[derive(Clone, Debug)]
struct Seat {
    link: Arc<Link>,
    side: Side,
}

/// Listens for connections of the loopback. Dropping the listener refuses waiting requests.
///
/// ```
/// use std::time::Duration;
///
/// use rpcrdma_verbs::loopback::Fabric;
/// use rpcrdma_verbs::{Error, Verbs};
///
/// let adapter = Fabric::new().adapter([192, 0, 2, 1].into())?;
/// let listener = adapter.listen("192.0.2.1:20049".parse().unwrap(), 8)?;
/// assert!(adapter.request(&listener, Duration::ZERO)?.is_none(), "nobody asks");
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Listener {
    network: Arc<Network>,
    address: SocketAddrV4,
    door: Arc<Door>,
}

impl Fabric {
    /// A network without adapters.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a network without adapters that writes all traffic to a capture file: pcap, RoCEv2 over Ethernet, with
    /// this path MTU. Connections wait for `write`, so use a buffer.
    ///
    /// ```
    /// use rpcrdma_verbs::loopback::{Fabric, PathMtu};
    ///
    /// let fabric = Fabric::captured(std::io::sink(), PathMtu::default())?;
    /// assert_eq!(fabric.end_capture()?, 0, "no frames, as nothing was done");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn captured(write: impl Write + Send + 'static, mtu: PathMtu) -> io::Result<Self> {
        let capture = Some((Arc::new(Recorder::new(Box::new(write))?), mtu));
        Ok(Self(Arc::new(Network { capture, ..Network::default() })))
    }

    /// Ends the capture, and returns the number of frames. Later traffic is not captured. Returns 0 without a capture.
    ///
    /// # Errors
    /// The first error in writing the file; after that error, nothing was written.
    pub fn end_capture(&self) -> io::Result<u64> {
        self.0.capture.as_ref().map_or(Ok(0), |(recorder, _)| recorder.finish())
    }

    /// Adds an adapter with this address.
    ///
    /// # Errors
    /// [`Error::Address`] if another has this address; [`Error::Exhausted`] if there are [`MAX_ADAPTERS`].
    pub fn adapter(&self, address: Ipv4Addr) -> Result<Adapter, Error> {
        let mut adapters = self.0.adapters.lock().unwrap_or_else(PoisonError::into_inner);
        if adapters.len() >= MAX_ADAPTERS {
            return Err(Error::Exhausted);
        }
        if adapters.contains_key(&address) {
            return Err(Error::Address);
        }
        let port: Arc<Port> = Arc::default();
        adapters.insert(address, Arc::clone(&port));
        let (network, plan) = (Arc::clone(&self.0), Arc::default());
        Ok(Adapter { network, address, port, plan, regions: MAX_REGIONS, message_size: u32::MAX })
    }

    /// Number of octets moved and copied so far.
    #[must_use]
    pub fn copies(&self) -> Copies {
        let Counters { moved, copied, .. } = &*self.0.counters;
        Copies { moved: moved.load(Ordering::Relaxed), copied: copied.load(Ordering::Relaxed) }
    }

    /// Number of operations begun so far, and of registrations.
    ///
    /// ```
    /// use rpcrdma_verbs::loopback::Fabric;
    /// use rpcrdma_verbs::{Access, Verbs};
    ///
    /// let fabric = Fabric::new();
    /// let adapter = fabric.adapter([192, 0, 2, 1].into())?;
    /// drop(adapter.register(&adapter.domain()?, b"data".to_vec(), Access::REMOTE_READ)?);
    /// assert_eq!((fabric.counts().remote_registrations, fabric.counts().sends), (1, 0));
    /// # Ok::<(), rpcrdma_verbs::Error>(())
    /// ```
    #[must_use]
    pub fn counts(&self) -> FabricCounts {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counters = &*self.0.counters;
        FabricCounts {
            sends: count(&counters.sends),
            invalidating_sends: count(&counters.invalidating_sends),
            writes: count(&counters.writes),
            reads: count(&counters.reads),
            registrations: count(&counters.registrations),
            remote_registrations: count(&counters.remote_registrations),
        }
    }

    /// Number of regions of all adapters that exist at the moment: registered, and neither deregistered nor dropped.
    ///
    /// ```
    /// use rpcrdma_verbs::loopback::Fabric;
    /// use rpcrdma_verbs::{Access, Verbs};
    ///
    /// let fabric = Fabric::new();
    /// let adapter = fabric.adapter([192, 0, 2, 1].into())?;
    /// let region = adapter.register(&adapter.domain()?, b"data".to_vec(), Access::REMOTE_READ)?;
    /// assert_eq!(fabric.registered(), 1);
    /// drop(region);
    /// assert_eq!(fabric.registered(), 0);
    /// # Ok::<(), rpcrdma_verbs::Error>(())
    /// ```
    #[must_use]
    pub fn registered(&self) -> u64 {
        self.0.counters.registered.load(Ordering::Relaxed)
    }
}

impl Adapter {
    /// Makes queue pairs created through the returned value follow the plan. The returned value stands for the same
    /// adapter.
    #[must_use]
    pub fn with_faults(self, faults: Faults) -> Self {
        Self { plan: Arc::new(Plan::new(faults)), ..self }
    }

    /// Faults that the plan has injected so far, on all queue pairs created through this value and all clones.
    ///
    /// ```
    /// use rpcrdma_verbs::Verbs;
    /// use rpcrdma_verbs::loopback::{Fabric, Fault, Faults};
    ///
    /// let adapter = Fabric::new().adapter([192, 0, 2, 1].into())?.with_faults(Faults::none().at(0, Fault::LoseBefore));
    /// let queue_pair = adapter.queue_pair(&adapter.domain()?, Default::default())?;
    /// assert_eq!(adapter.injected().lost_before, 0);
    /// adapter.connect(&queue_pair, "192.0.2.2:20049".parse().unwrap(), &[])?;
    /// assert_eq!(adapter.injected().lost_before, 1);
    /// # Ok::<(), rpcrdma_verbs::Error>(())
    /// ```
    #[must_use]
    pub fn injected(&self) -> Injected {
        self.plan.injected()
    }

    /// Removes the adapter from the fabric, as if unplugged: all connections end with [`Error::Removed`] at this side,
    /// and every request to the adapter is refused with that error. A new adapter may then have the same address.
    ///
    /// ```
    /// use rpcrdma_verbs::{Error, Verbs};
    /// use rpcrdma_verbs::loopback::Fabric;
    ///
    /// let fabric = Fabric::new();
    /// let adapter = fabric.adapter([192, 0, 2, 1].into())?;
    /// adapter.remove();
    /// assert_eq!(adapter.domain().err(), Some(Error::Removed));
    /// assert!(fabric.adapter([192, 0, 2, 1].into())?.domain().is_ok());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn remove(&self) {
        let mut adapters = self.network.adapters.lock().unwrap_or_else(PoisonError::into_inner);
        if adapters.get(&self.address).is_none_or(|port| !Arc::ptr_eq(port, &self.port)) {
            return;
        }
        adapters.remove(&self.address);
        drop(adapters);
        self.port.remove();
        let mut doors = self.network.doors.lock().unwrap_or_else(PoisonError::into_inner);
        let mine: Vec<_> = doors.extract_if(|address, _| *address.ip() == self.address).collect();
        drop(doors);
        mine.iter().for_each(|(_, door)| door.close());
    }

    /// Cuts the adapter off from the network, or joins the adapter again: all clones and connections.
    pub fn set_port(&self, state: PortState) {
        self.port.set_state(state);
    }

    /// Limits the number of regions of protection domains created through the returned value, which is the same
    /// adapter. The limit is never more than [`MAX_REGIONS`]. Further registrations are refused with
    /// [`Error::Exhausted`].
    #[must_use]
    pub fn with_regions(self, most: usize) -> Self {
        Self { regions: most.min(MAX_REGIONS), ..self }
    }

    /// Limits the number of octets that one work request moves on queue pairs created through the returned value, which
    /// is the same adapter. The port of a real adapter has a longest message too.
    #[must_use]
    pub fn with_message_size(self, octets: u32) -> Self {
        Self { message_size: octets, ..self }
    }

    /// Creates a queue pair, not connected. `receives` gets the link.
    fn new_queue_pair(
        &self,
        domain: &Domain,
        depths: Depths,
        receives: impl FnOnce(&Weak<Link>) -> SideReceives,
    ) -> Result<QueuePair, Error> {
        self.port.check()?;
        let possible = 1..=MAX_DEPTH;
        let Depths { send, receive, reads, receiver_not_ready } = depths;
        if ![send, receive, reads].iter().all(|depth| possible.contains(depth)) || receiver_not_ready > 7 {
            return Err(Error::Depth);
        }
        // 24 bits, of which 0 and 1 are management's.
        let number = self.network.queue_pairs.fetch_add(1, Ordering::Relaxed).saturating_add(2);
        if number >= 1 << 24 {
            return Err(Error::Exhausted);
        }
        let link = Arc::new_cyclic(|link| {
            let half = Half::new(domain.clone(), Arc::clone(&self.port), depths, receives(link));
            Link::new(half, Arc::clone(&self.network.counters))
        });
        let (seat, steps) = (Mutex::new(Seat { link, side: Side::Active }), AtomicU64::new(0));
        let (plan, network) = (Arc::clone(&self.plan), Arc::clone(&self.network));
        let (address, message_size) = (self.address, self.message_size);
        Ok(QueuePair { seat, steps, plan, address, number, depths, message_size, network })
    }
}

impl Network {
    /// Returns true if the port of the adapter with this address is down.
    fn is_cut_off(&self, address: Ipv4Addr) -> bool {
        let adapters = self.adapters.lock().unwrap_or_else(PoisonError::into_inner);
        adapters.get(&address).is_some_and(|port| !port.is_up())
    }
}

impl QueuePair {
    fn seat(&self) -> Seat {
        self.seat.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The address of the side that connects; the port means nothing.
    fn address(&self) -> SocketAddrV4 {
        const DYNAMIC: u16 = 49_152;
        SocketAddrV4::new(self.address, DYNAMIC | self.number as u16)
    }

    /// The properties of this end during connection setup.
    fn station(&self) -> Station {
        let identifiers = &self.network.identifiers;
        Station {
            address: self.address,
            queue_pair: self.number,
            name: identifiers.name(),
            reads: u8::try_from(self.depths.reads).unwrap_or(u8::MAX),
            receiver_not_ready: self.depths.receiver_not_ready,
            sequence: identifiers.name() & packet::MASK,
        }
    }

    /// Sends the request, and writes the packet to the capture if there is `private_data`. Returns `None` if the queue
    /// pair was used before.
    fn ask(&self, to: SocketAddrV4, private_data: Option<&Vec<u8>>) -> Option<Arc<Link>> {
        let link = self.seat().link;
        let mut state = link.lock();
        if state.phase != LinkPhase::Idle {
            return None;
        }
        state.phase = LinkPhase::Asked;
        state.wire = self.network.capture.as_ref().zip(private_data).map(|((recorder, mtu), private_data)| {
            let mut wire = Wire::new(Arc::clone(recorder), *mtu, self.station(), *to.ip());
            wire.request(to.port(), self.address().port(), private_data);
            wire
        });
        drop(state);
        Some(link)
    }
}

impl Drop for QueuePair {
    fn drop(&mut self) {
        let seat = self.seat.get_mut().unwrap_or_else(PoisonError::into_inner);
        seat.link.abandon(seat.side);
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut doors = self.network.doors.lock().unwrap_or_else(PoisonError::into_inner);
        // Another listener may have the address since the adapter was removed.
        if doors.get(&self.address).is_some_and(|door| Arc::ptr_eq(door, &self.door)) {
            doors.remove(&self.address);
        }
        drop(doors);
        self.door.close();
    }
}

/// Private data in a field of `LENGTH` octets, padded with zeros.
fn padded<const LENGTH: usize>(private_data: &[u8]) -> Result<Vec<u8>, Error> {
    if private_data.len() > LENGTH {
        return Err(Error::PrivateData);
    }
    let mut field = private_data.to_vec();
    field.resize(LENGTH, 0);
    Ok(field)
}

/// Returns the time of a step that the plan delays.
fn delayed(strike: Option<&Strike>) -> Option<Instant> {
    /// Ninety years, so no clock overflows.
    const LONGEST: Duration = Duration::from_secs(90 * 365 * 86_400);
    match strike.map(|strike| strike.fault) {
        Some(Fault::Delay(delay)) => Some(Instant::now() + delay.min(LONGEST)),
        _ => None,
    }
}

impl Verbs for Adapter {
    type Domain = Domain;
    type Region = Region;
    type QueuePair = QueuePair;
    type SharedReceiveQueue = SharedReceiveQueue;
    type Listener = Listener;
    type Request = ConnectionRequest;

    fn remote_invalidation(&self) -> bool {
        true
    }

    fn domain(&self) -> Result<Domain, Error> {
        self.port.check()?;
        Ok(Domain::new(self.regions))
    }

    fn register_part(
        &self,
        domain: &Domain,
        buffer: Vec<u8>,
        part: Range<usize>,
        access: Access,
    ) -> Result<Region, NotRegistered> {
        if let Err(error) = self.port.check() {
            return Err(NotRegistered { error, buffer });
        }
        let Network { identifiers, counters, .. } = &*self.network;
        domain.register(identifiers, counters, buffer, part, access)
    }

    fn register_slab(
        &self,
        domain: &Domain,
        count: usize,
        length: usize,
        access: Access,
    ) -> Result<Vec<Region>, Error> {
        let Network { identifiers, counters, .. } = &*self.network;
        domain.register_slab(identifiers, counters, count, length, access)
    }

    fn deregister(&self, region: Region) -> Result<Vec<u8>, Error> {
        region.deregister()
    }

    fn segment(&self, region: &Region) -> Segment {
        region.segment()
    }

    fn is_valid(&self, region: &Region) -> bool {
        region.is_valid()
    }

    fn read<T>(&self, region: &Region, look: impl FnOnce(&[u8]) -> T) -> Result<T, Error> {
        region.read(look)
    }

    fn write<T>(&self, region: &Region, change: impl FnOnce(&mut [u8]) -> T) -> Result<T, Error> {
        region.write(change)
    }

    fn queue_pair(&self, domain: &Domain, depths: Depths) -> Result<QueuePair, Error> {
        self.new_queue_pair(domain, depths, |_| SideReceives::own(depths.receive))
    }

    fn shared_receive_queue(&self, domain: &Domain, depth: usize) -> Result<SharedReceiveQueue, Error> {
        self.port.check()?;
        if !(1..=MAX_DEPTH).contains(&depth) {
            return Err(Error::Depth);
        }
        Ok(SharedReceiveQueue::new(domain.clone(), depth))
    }

    fn sharing_queue_pair(&self, queue: &SharedReceiveQueue, depths: Depths) -> Result<QueuePair, Error> {
        let depths = Depths { receive: queue.depth(), ..depths };
        let receives = |link: &Weak<Link>| SideReceives::shared(queue.clone(), Weak::<Link>::clone(link));
        self.new_queue_pair(queue.domain(), depths, receives)
    }

    fn post_shared_receive(&self, queue: &SharedReceiveQueue, id: u64, local: Local<'_, Region>) -> Result<(), Error> {
        // No lock is taken under which another thread waits for memory.
        queue.post(id, Region::range(&local)?)
    }

    fn shared_receives(&self, queue: &SharedReceiveQueue) -> usize {
        queue.len()
    }

    fn message_size(&self, queue_pair: &QueuePair) -> u32 {
        queue_pair.message_size
    }

    fn post_receive(&self, queue_pair: &QueuePair, id: u64, local: Local<'_, Region>) -> Result<(), Error> {
        not_held()?;
        let memory = Region::range(&local)?;
        loop {
            let Seat { link, side } = queue_pair.seat();
            let posted = link.lock().post_receive(side, id, memory.clone());
            match posted {
                // The queue pair was accepted meanwhile.
                Err(Error::Disconnected) if !Arc::ptr_eq(&queue_pair.seat().link, &link) => {}
                Ok(Awaited::No) => return Ok(()),
                Ok(Awaited::Yes) => {
                    link.notify();
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn post(&self, queue_pair: &QueuePair, work: Work<'_, Region>) -> Result<(), Error> {
        not_held()?;
        let memory = Region::range(&work.local)?;
        if memory.len() > queue_pair.message_size as usize {
            return Err(Error::Range);
        }
        let Seat { link, side } = queue_pair.seat();
        let mut state = link.lock();
        state.check_queue(side)?;
        let strike = queue_pair.plan.strike_at(queue_pair.steps.fetch_add(1, Ordering::Relaxed) + 1);
        let begins = delayed(strike.as_ref());
        let Work { id, operation, fenced, .. } = work;
        state.post(side, Queued { id, operation, memory, fenced, begins, strike, numbers: None })?;
        drop(state);
        link.notify();
        Ok(())
    }

    fn completion(&self, queue_pair: &QueuePair, timeout: Duration) -> Result<Option<Completion>, Error> {
        not_held()?;
        let Seat { link, side } = queue_pair.seat();
        link.completion(side, timeout)
    }

    fn interrupt(&self, queue_pair: &QueuePair) {
        let Seat { link, side } = queue_pair.seat();
        link.interrupt(side);
    }

    fn watch(&self, queue_pair: &QueuePair, waiter: &Waiter, key: u64) -> Result<WatchState, Error> {
        not_held()?;
        let Seat { link, side } = queue_pair.seat();
        Ok(link.watch(side, Watch::new(waiter, key)))
    }

    fn watch_end(&self, queue_pair: &QueuePair, waiter: &Waiter, key: u64) -> Result<WatchState, Error> {
        not_held()?;
        let Seat { link, side } = queue_pair.seat();
        Ok(link.watch_end(side, Watch::new(waiter, key)))
    }

    fn watch_requests(&self, listener: &Listener, waiter: &Waiter, key: u64) -> Result<WatchState, Error> {
        not_held()?;
        Ok(listener.door.watch(Watch::new(waiter, key)))
    }

    fn listen(&self, address: SocketAddr, backlog: usize) -> Result<Listener, Error> {
        self.port.check()?;
        let SocketAddr::V4(address) = address else { return Err(Error::Address) };
        if *address.ip() != self.address || address.port() == 0 {
            return Err(Error::Address);
        }
        if !(1..=MAX_DEPTH).contains(&backlog) {
            return Err(Error::Depth);
        }
        let mut doors = self.network.doors.lock().unwrap_or_else(PoisonError::into_inner);
        if doors.contains_key(&address) {
            return Err(Error::Address);
        }
        if doors.len() >= MAX_LISTENERS {
            return Err(Error::Exhausted);
        }
        let door = Arc::new(Door::new(backlog));
        doors.insert(address, Arc::clone(&door));
        Ok(Listener { network: Arc::clone(&self.network), address, door })
    }

    fn request(&self, listener: &Listener, timeout: Duration) -> Result<Option<ConnectionRequest>, Error> {
        not_held()?;
        match listener.door.next_request(timeout) {
            None => self.port.check().map(|()| None),
            request => Ok(request),
        }
    }

    fn private_data<'a>(&self, request: &'a ConnectionRequest) -> &'a [u8] {
        &request.asking.private_data
    }

    fn peer(&self, request: &ConnectionRequest) -> SocketAddr {
        request.asking.from.into()
    }

    fn accept(&self, request: ConnectionRequest, queue_pair: &QueuePair, private_data: &[u8]) -> Result<(), Error> {
        not_held()?;
        self.port.check()?;
        let private_data = padded::<ACCEPT_PRIVATE_DATA>(private_data)?;
        let mut seat = queue_pair.seat.lock().unwrap_or_else(PoisonError::into_inner);
        let strike = queue_pair.plan.strike_at(0);
        let link = &request.asking.link;
        if let Some(strike) = strike.as_ref().filter(|strike| strike.prevents_setup()) {
            strike.count_lost();
            link.refuse(strike.setup_error().unwrap_or(Error::Disconnected));
            return Err(Error::Disconnected);
        }
        let known = delayed(strike.as_ref());
        // One lock after the other: two queue pairs that accept each other's requests must not wait for each other.
        let mut half = seat.link.lock().take_idle().ok_or(Error::Used)?;
        half.receives.join(Arc::<Link>::downgrade(link));
        let accepted = link.lock().accept(half, queue_pair.station(), known.unwrap_or_else(Instant::now), private_data);
        if let Some(half) = accepted {
            seat.link.lock().put_back(half);
            return Err(Error::Disconnected);
        }
        seat.link = Arc::clone(link);
        seat.side = Side::Passive;
        self.port.attach_connection(Arc::<Link>::clone(link), Side::Passive);
        if let Some(strike) = strike {
            strike.begin_work();
            if strike.lose_after() {
                link.lock().end_link();
            }
        }
        link.notify();
        Ok(())
    }

    fn reject(&self, request: ConnectionRequest, private_data: &[u8]) -> Result<(), Error> {
        not_held()?;
        let private_data = padded::<REJECT_PRIVATE_DATA>(private_data)?;
        request.asking.link.refuse(Error::Rejected(private_data));
        Ok(())
    }

    fn connect(&self, queue_pair: &QueuePair, address: SocketAddr, private_data: &[u8]) -> Result<(), Error> {
        not_held()?;
        self.port.check()?;
        let private_data = padded::<REQUEST_PRIVATE_DATA>(private_data)?;
        let SocketAddr::V4(address) = address else { return Err(Error::Refused) };
        let door = self.network.doors.lock().unwrap_or_else(PoisonError::into_inner).get(&address).map(Arc::clone);
        let strike = queue_pair.plan.strike_at(0);
        let lost = strike.as_ref().filter(|strike| strike.prevents_setup());
        let link = queue_pair.ask(address, lost.is_none().then_some(&private_data)).ok_or(Error::Used)?;
        if let Some(strike) = lost {
            strike.count_lost();
            if let Some(error) = strike.setup_error() {
                link.refuse(error);
            }
            return Ok(());
        }
        self.port.attach_connection(Arc::<Link>::clone(&link), Side::Active);
        if !self.port.is_up() {
            link.refuse(Error::PortDown);
            return Err(Error::PortDown);
        }
        if self.network.is_cut_off(*address.ip()) {
            // Nobody answers the request.
            return Ok(());
        }
        let arrives = delayed(strike.as_ref());
        let from = queue_pair.address();
        let asking = Asking { link: Arc::clone(&link), from, private_data, arrives };
        if let Err(error) = door.ok_or(Error::Refused).and_then(|door| door.ask(asking)) {
            link.refuse(error.clone());
            return Err(error);
        }
        if let Some(strike) = strike {
            strike.begin_work();
            if strike.lose_after() {
                link.refuse(Error::Disconnected);
            }
        }
        Ok(())
    }

    fn connected(&self, queue_pair: &QueuePair, timeout: Duration) -> Result<Option<Vec<u8>>, Error> {
        not_held()?;
        queue_pair.seat().link.connected(timeout)
    }

    fn disconnect(&self, queue_pair: &QueuePair) -> Result<(), Error> {
        not_held()?;
        let Seat { link, side } = queue_pair.seat();
        link.end_connection(side);
        Ok(())
    }
}

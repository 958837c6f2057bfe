//! librdmacm: identifiers, the channels for their events, and addresses.

use std::ffi::{c_int, c_void};
use std::mem;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::errors::{errno, last_error, of_event, returned};
use super::port::query_port;
use super::sys;
use crate::verbs::Error;

/// Maximum time for finding an address, and again for finding the route.
const RESOLVE: Duration = Duration::from_secs(2);
/// Maximum number of retransmissions of a packet before the other side counts as gone (7 is the largest value).
const RETRIES: u8 = 7;

/// A channel for events of identifiers.
#[derive(Debug)]
pub(super) struct Channel(NonNull<sys::rdma_event_channel>);

// SAFETY: all functions of librdmacm may be called from any thread.
unsafe impl Send for Channel {}
// SAFETY: as above.
unsafe impl Sync for Channel {}

/// Numbers of RDMA Reads in flight: answered ones (responder resources) and requested ones (initiator depth).
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadDepths {
    pub(super) answered: u8,
    pub(super) asked: u8,
}

/// An event of an identifier.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) kind: c_int,
    pub(super) status: c_int,
    pub(super) private_data: Vec<u8>,
    /// For a request: maximum numbers of the other side.
    pub(super) reads: ReadDepths,
    /// For a request: the identifier of the connection to accept. The thread that takes the event owns the identifier.
    pub(super) request: Option<NonNull<sys::rdma_cm_id>>,
}

impl Channel {
    pub(super) fn new() -> Result<Self, Error> {
        // SAFETY: it has no preconditions.
        let channel = unsafe { sys::rdma_create_event_channel() };
        let channel = Self(NonNull::new(channel).ok_or_else(|| last_error("rdma_create_event_channel"))?);
        nonblocking(channel.descriptor())?;
        Ok(channel)
    }

    pub(super) fn descriptor(&self) -> c_int {
        // SAFETY: it is there until this is dropped.
        unsafe { self.0.as_ref().fd }
    }

    /// The next event, if there is one.
    pub(super) fn next_event(&self) -> Result<Option<Event>, Error> {
        let mut event = ptr::null_mut();
        // SAFETY: the channel is there, and `event` can be written.
        if unsafe { sys::rdma_get_cm_event(self.0.as_ptr(), &raw mut event) } != 0 {
            let number = errno();
            return match number {
                libc::EAGAIN | libc::EINTR => Ok(None),
                number => Err(returned("rdma_get_cm_event", number)),
            };
        }
        // SAFETY: it has just been returned, and is given back once, after everything needed was copied from it. The
        // parameters are those of a connection, or zeros, because all identifiers here are for connections.
        unsafe {
            let copy = Event::copy(&*event);
            sys::rdma_ack_cm_event(event);
            Ok(Some(copy))
        }
    }

    /// Waits for an event.
    fn wait(&self, timeout: Duration) -> Result<Option<Event>, Error> {
        let deadline = Instant::now() + timeout;
        loop {
            if let Some(event) = self.next_event()? {
                return Ok(Some(event));
            }
            let rest = deadline.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return Ok(None);
            }
            wait_for([self.as_fd()], rest);
        }
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: it is open until this is dropped.
        unsafe { BorrowedFd::borrow_raw(self.descriptor()) }
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        // SAFETY: created by rdma_create_event_channel, and destroyed once; all its identifiers are gone, because each
        // keeps it alive.
        unsafe { sys::rdma_destroy_event_channel(self.0.as_ptr()) };
    }
}

impl Event {
    /// # Safety
    /// The event is from a channel whose identifiers are for connections.
    unsafe fn copy(event: &sys::rdma_cm_event) -> Self {
        let conn = &event.conn;
        let private_data = if conn.private_data.is_null() {
            Vec::new()
        } else {
            let length = usize::from(conn.private_data_len);
            // SAFETY: librdmacm says where it is, and how long.
            unsafe { std::slice::from_raw_parts(conn.private_data.cast::<u8>(), length) }.to_vec()
        };
        let request = (event.event == sys::RDMA_CM_EVENT_CONNECT_REQUEST).then(|| NonNull::new(event.id)).flatten();
        let reads = ReadDepths { answered: conn.responder_resources, asked: conn.initiator_depth };
        Self { kind: event.event, status: event.status, private_data, reads, request }
    }
}

/// Parameters for requesting or accepting a connection.
pub(super) struct Parameters<'a> {
    pub(super) private_data: &'a [u8],
    /// Maximum number of RDMA Reads in flight, answered and requested.
    pub(super) reads: ReadDepths,
    pub(super) receiver_not_ready: u8,
}

impl Parameters<'_> {
    fn as_sys(&self) -> sys::rdma_conn_param {
        sys::rdma_conn_param {
            private_data: self.private_data.as_ptr().cast(),
            // Longer ones were refused.
            private_data_len: u8::try_from(self.private_data.len()).unwrap_or(u8::MAX),
            responder_resources: self.reads.answered,
            initiator_depth: self.reads.asked,
            flow_control: 1,
            retry_count: RETRIES,
            rnr_retry_count: self.receiver_not_ready,
            srq: 0,
            qp_num: 0,
        }
    }
}

/// Identifier of a connection, or of a listener's address. Dropping the identifier ends the connection.
#[derive(Debug)]
pub(super) struct Identifier {
    id: NonNull<sys::rdma_cm_id>,
    channel: Arc<Channel>,
}

// SAFETY: all functions of librdmacm may be called from any thread.
unsafe impl Send for Identifier {}
// SAFETY: as above. Functions that change its fields take `&mut self`, or are called before it is shared.
unsafe impl Sync for Identifier {}

impl Identifier {
    pub(super) fn new(channel: &Arc<Channel>) -> Result<Self, Error> {
        let mut id = ptr::null_mut();
        // SAFETY: the channel is there, `id` can be written, and no context is needed.
        let created =
            unsafe { sys::rdma_create_id(channel.0.as_ptr(), &raw mut id, ptr::null_mut(), sys::RDMA_PS_TCP) };
        check(created, "rdma_create_id")?;
        let id = NonNull::new(id).ok_or_else(|| last_error("rdma_create_id"))?;
        Ok(Self { id, channel: Arc::clone(channel) })
    }

    /// The identifier of an [`Event`] from this channel.
    ///
    /// # Safety
    /// `id` is the event's `request`, and belongs to no other identifier.
    pub(super) unsafe fn of_request(id: NonNull<sys::rdma_cm_id>, channel: &Arc<Channel>) -> Self {
        Self { id, channel: Arc::clone(channel) }
    }

    /// The adapter of the identifier, or null.
    pub(super) fn context(&self) -> *mut sys::ibv_context {
        // SAFETY: it is there until this is dropped.
        unsafe { self.id.as_ref().verbs }
    }

    pub(super) fn bind(&self, address: SocketAddr) -> Result<(), Error> {
        let mut address = to_storage(address);
        // SAFETY: the identifier is there, and the address is one.
        check(unsafe { sys::rdma_bind_addr(self.id.as_ptr(), (&raw mut address).cast()) }, "rdma_bind_addr")
    }

    pub(super) fn listen(&self, backlog: usize) -> Result<(), Error> {
        let backlog = c_int::try_from(backlog).unwrap_or(c_int::MAX);
        // SAFETY: the identifier is there.
        check(unsafe { sys::rdma_listen(self.id.as_ptr(), backlog) }, "rdma_listen")
    }

    /// Finds the adapter that leads to an address.
    pub(super) fn resolve_address(&self, source: Option<IpAddr>, address: SocketAddr) -> Result<(), Error> {
        let mut source = source
            .filter(|source| source.is_ipv4() == address.is_ipv4())
            .map(|source| to_storage(SocketAddr::new(source, 0)));
        let source = source.as_mut().map_or(ptr::null_mut(), ptr::from_mut);
        let mut address = to_storage(address);
        let milliseconds = c_int::try_from(RESOLVE.as_millis()).unwrap_or(c_int::MAX);
        // SAFETY: the identifier is there, and both addresses are valid and of the same family.
        let asked =
            unsafe { sys::rdma_resolve_addr(self.id.as_ptr(), source.cast(), (&raw mut address).cast(), milliseconds) };
        self.resolved(asked, "rdma_resolve_addr", sys::RDMA_CM_EVENT_ADDR_RESOLVED)
    }

    /// Finds the route to the other side.
    pub(super) fn resolve_route(&self) -> Result<(), Error> {
        let milliseconds = c_int::try_from(RESOLVE.as_millis()).unwrap_or(c_int::MAX);
        // SAFETY: the identifier is there.
        let asked = unsafe { sys::rdma_resolve_route(self.id.as_ptr(), milliseconds) };
        self.resolved(asked, "rdma_resolve_route", sys::RDMA_CM_EVENT_ROUTE_RESOLVED)
    }

    fn resolved(&self, asked: c_int, function: &'static str, wanted: c_int) -> Result<(), Error> {
        check(asked, function)?;
        // The kernel's own limit ends it, so this never waits twice as long.
        let Some(event) = self.channel.wait(RESOLVE * 2)? else { return Err(Error::Unreachable) };
        if event.kind == wanted && event.status == 0 {
            return Ok(());
        }
        Err(of_event(event.kind, event.status, event.private_data).unwrap_or(Error::Unreachable))
    }

    /// Returns the longest message of the port, in octets.
    pub(super) fn message_size(&self) -> Result<u32, Error> {
        // SAFETY: the identifier is there, and the adapter it is bound to is open as long.
        let attr = unsafe {
            let id = self.id.as_ref();
            if id.verbs.is_null() {
                return Err(Error::NotConnected);
            }
            query_port(id.verbs, id.port_num)?
        };
        Ok(if attr.max_msg_sz == 0 { u32::MAX } else { attr.max_msg_sz })
    }

    /// Creates a queue pair of the adapter for this connection.
    ///
    /// # Safety
    /// The protection domain and the completion queues in `attr` exist until
    /// [`destroy_queue_pair`](Self::destroy_queue_pair).
    pub(super) unsafe fn create_queue_pair(
        &mut self,
        pd: *mut sys::ibv_pd,
        attr: &mut sys::ibv_qp_init_attr,
    ) -> Result<NonNull<sys::ibv_qp>, Error> {
        // SAFETY: the identifier is there; the rest is the caller's.
        check(unsafe { sys::rdma_create_qp(self.id.as_ptr(), pd, attr) }, "rdma_create_qp")?;
        // SAFETY: it is there.
        NonNull::new(unsafe { self.id.as_ref().qp }).ok_or_else(|| last_error("rdma_create_qp"))
    }

    /// Destroys the queue pair. The adapter then does no more work of the queue pair.
    pub(super) fn destroy_queue_pair(&mut self) -> Result<(), Error> {
        // SAFETY: the identifier is there, and nobody else changes it (`&mut self`). librdmacm's own function does the
        // same, but does not say whether it was done.
        unsafe {
            let id = self.id.as_mut();
            if id.qp.is_null() {
                return Ok(());
            }
            match sys::ibv_destroy_qp(id.qp) {
                0 => {
                    id.qp = ptr::null_mut();
                    Ok(())
                }
                number => Err(returned("ibv_destroy_qp", number)),
            }
        }
    }

    pub(super) fn connect(&self, parameters: &Parameters<'_>) -> Result<(), Error> {
        let mut parameters = parameters.as_sys();
        // SAFETY: the identifier is there, and the private data as long as this call.
        check(unsafe { sys::rdma_connect(self.id.as_ptr(), &raw mut parameters) }, "rdma_connect")
    }

    pub(super) fn accept(&self, parameters: &Parameters<'_>) -> Result<(), Error> {
        let mut parameters = parameters.as_sys();
        // SAFETY: the identifier is there, and the private data as long as this call.
        check(unsafe { sys::rdma_accept(self.id.as_ptr(), &raw mut parameters) }, "rdma_accept")
    }

    /// Rejects a request. Returns false if the requester does not wait any more.
    pub(super) fn reject(&self, private_data: &[u8]) -> bool {
        let length = u8::try_from(private_data.len()).unwrap_or(u8::MAX);
        // SAFETY: the identifier is there, and the private data as long as this call.
        unsafe { sys::rdma_reject(self.id.as_ptr(), private_data.as_ptr().cast::<c_void>(), length) == 0 }
    }

    /// Notifies the other side that the connection is over, and stops the queue pair.
    pub(super) fn disconnect(&self) {
        // SAFETY: the identifier is there. If the connection is over this fails, which does not matter.
        unsafe { sys::rdma_disconnect(self.id.as_ptr()) };
    }

    /// Moves the events of the identifier to another channel.
    pub(super) fn migrate(&mut self, channel: &Arc<Channel>) -> Result<(), Error> {
        // SAFETY: both are there; each event is given back before another function is called, so this waits for none.
        check(unsafe { sys::rdma_migrate_id(self.id.as_ptr(), channel.0.as_ptr()) }, "rdma_migrate_id")?;
        self.channel = Arc::clone(channel);
        Ok(())
    }

    /// The address of the other side.
    pub(super) fn peer(&self) -> SocketAddr {
        // SAFETY: it is there, and librdmacm has filled in the address of a connection.
        from_storage(unsafe { &self.id.as_ref().route.addr.dst_storage })
    }
}

impl Drop for Identifier {
    fn drop(&mut self) {
        // SAFETY: owned, and destroyed once. A queue pair of it is gone, or was leaked with all that it needs.
        unsafe { sys::rdma_destroy_id(self.id.as_ptr()) };
    }
}

fn check(result: c_int, function: &'static str) -> Result<(), Error> {
    if result == 0 { Ok(()) } else { Err(last_error(function)) }
}

/// Makes a descriptor non-blocking.
pub(super) fn nonblocking(descriptor: c_int) -> Result<(), Error> {
    // SAFETY: it is open, and only its flags change.
    let done = unsafe {
        let flags = libc::fcntl(descriptor, libc::F_GETFL);
        libc::fcntl(descriptor, libc::F_SETFL, flags | libc::O_NONBLOCK)
    };
    if done < 0 { Err(last_error("fcntl")) } else { Ok(()) }
}

/// Waits until one of the descriptors is readable, or something else ends the wait, for at most `timeout`.
pub(super) fn wait_for<const COUNT: usize>(descriptors: [BorrowedFd<'_>; COUNT], timeout: Duration) {
    let asked = |fd: BorrowedFd<'_>| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut descriptors = descriptors.map(asked);
    // Rounded up: a timeout that has not passed must not become zero.
    let milliseconds = c_int::try_from(timeout.as_micros().div_ceil(1000)).unwrap_or(c_int::MAX);
    // SAFETY: there are this many. If it fails, the caller looks again.
    unsafe { libc::poll(descriptors.as_mut_ptr(), COUNT as libc::nfds_t, milliseconds) };
}

fn to_storage(address: SocketAddr) -> libc::sockaddr_storage {
    // SAFETY: numbers only, for which zeros are good.
    let mut storage: libc::sockaddr_storage = unsafe { mem::zeroed() };
    match address {
        SocketAddr::V4(address) => {
            let sin = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: address.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.ip().octets()) },
                sin_zero: [0; 8],
            };
            // SAFETY: a storage is as large as any address, and aligned for each.
            unsafe { (&raw mut storage).cast::<libc::sockaddr_in>().write(sin) };
        }
        SocketAddr::V6(address) => {
            let sin6 = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: address.port().to_be(),
                sin6_flowinfo: address.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: address.ip().octets() },
                sin6_scope_id: address.scope_id(),
            };
            // SAFETY: as above.
            unsafe { (&raw mut storage).cast::<libc::sockaddr_in6>().write(sin6) };
        }
    }
    storage
}

/// An address that is not IP, which InfiniBand also has, becomes the unspecified address.
fn from_storage(storage: &libc::sockaddr_storage) -> SocketAddr {
    // SAFETY: a storage is as large as any address, and aligned for each.
    let address = unsafe { ip_address(ptr::from_ref(storage).cast()) };
    address.unwrap_or_else(|| SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0).into())
}

/// Returns `None` for other kinds of addresses.
///
/// # Safety
/// `address` points to an address with the length and alignment of the address family.
#[expect(clippy::cast_ptr_alignment, reason = "the caller sees to it")]
unsafe fn ip_address(address: *const libc::sockaddr) -> Option<SocketAddr> {
    // SAFETY: the family says which it is; the rest is the caller's.
    unsafe {
        match c_int::from((*address).sa_family) {
            libc::AF_INET => {
                let sin = &*address.cast::<libc::sockaddr_in>();
                let ip = Ipv4Addr::from(sin.sin_addr.s_addr.to_ne_bytes());
                Some(SocketAddrV4::new(ip, u16::from_be(sin.sin_port)).into())
            }
            libc::AF_INET6 => {
                let sin6 = &*address.cast::<libc::sockaddr_in6>();
                let ip = Ipv6Addr::from(sin6.sin6_addr.s6_addr);
                let port = u16::from_be(sin6.sin6_port);
                Some(SocketAddrV6::new(ip, port, sin6.sin6_flowinfo, sin6.sin6_scope_id).into())
            }
            _ => None,
        }
    }
}

/// The IP addresses of this computer's interfaces, with port 0.
pub(super) fn local_addresses() -> Result<Vec<SocketAddr>, Error> {
    let mut first = ptr::null_mut();
    // SAFETY: `first` can be written.
    check(unsafe { libc::getifaddrs(&raw mut first) }, "getifaddrs")?;
    let (mut addresses, mut next) = (Vec::new(), first.cast_const());
    // SAFETY: each points to the next, the last to none, and to an address that the C library has allocated, or to
    // none. The list is freed once, when nothing of it is used any more.
    unsafe {
        while let Some(interface) = next.as_ref() {
            if !interface.ifa_addr.is_null() {
                addresses.extend(ip_address(interface.ifa_addr));
            }
            next = interface.ifa_next;
        }
        libc::freeifaddrs(first);
    }
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_addresses_are_those_that_a_socket_can_have() {
        let addresses = local_addresses().unwrap();
        assert!(addresses.contains(&"127.0.0.1:0".parse().unwrap()), "{addresses:?}");
        // An IPv6 address may be too new for that.
        for address in addresses.into_iter().filter(SocketAddr::is_ipv4) {
            std::net::UdpSocket::bind(address).unwrap();
        }
    }

    #[test]
    fn addresses_survive_conversion_to_the_operating_system() {
        for address in ["192.0.2.1:20049", "[2001:db8::1]:20049"] {
            let address: SocketAddr = address.parse().unwrap();
            assert_eq!(from_storage(&to_storage(address)), address);
        }
        let storage = to_storage("192.0.2.1:20049".parse().unwrap());
        // SAFETY: all of it was written.
        let octets: [u8; 8] = unsafe { ptr::from_ref(&storage).cast::<[u8; 8]>().read() };
        assert_eq!(octets[2..], [0x4e, 0x51, 192, 0, 2, 1], "port and address in network order");
        let scoped = SocketAddr::V6(SocketAddrV6::new("fe80::1".parse().unwrap(), 1, 2, 3));
        assert_eq!(from_storage(&to_storage(scoped)), scoped);
    }
}

//! Listeners, and their requests for connections.

use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::device::Device;
use super::management::{Channel, Identifier, ReadDepths, local_addresses, wait_for};
use super::sys;
use crate::verbs::Error;
use crate::verbs::WatchState;
use crate::verbs::waiter::Waiter;

/// Listens for connections at an address of an adapter. Dropping the listener refuses waiting requests.
///
/// The listener ends with [`Error::Removed`] when the adapter is removed. At `0.0.0.0` and `[::]`, the adapter needs an
/// IP address when listening begins; otherwise the listener is not notified of the removal. Drivers that cannot take an
/// adapter away from users (soft RoCE, soft iWARP) make the kernel wait for the listener, and the kernel notifies the
/// listener only if the module `ib_uverbs` was loaded before `rdma_cm`.
///
/// ```no_run
/// use std::time::Duration;
///
/// use rpcrdma_verbs::Verbs;
/// use rpcrdma_verbs::rdma::Device;
///
/// let device = Device::with_address("192.0.2.1".parse().unwrap())?;
/// let listener = device.listen("192.0.2.1:20049".parse().unwrap(), 8)?;
/// while let Some(request) = device.request(&listener, Duration::from_secs(60))? {
///     println!("{} asks", device.peer(&request));
/// }
/// # Ok::<(), rpcrdma_verbs::Error>(())
/// ```
#[derive(Debug)]
pub struct Listener {
    device: Device,
    channel: Arc<Channel>,
    /// True after the removal of the adapter.
    is_over: AtomicBool,
    _identifier: Identifier,
    /// An identifier bound to the adapter, if the listener's own is bound to no address in particular.
    _bound: Option<Identifier>,
}

/// A request for a connection. Dropping the request rejects the connection.
#[derive(Debug)]
pub struct ConnectionRequest {
    /// `None` once answered.
    identifier: Option<Identifier>,
    private_data: Vec<u8>,
    peer: SocketAddr,
    /// Maximum number of RDMA Reads in flight: answered, and requested.
    pub(super) reads: ReadDepths,
}

impl Listener {
    pub(super) fn new(device: &Device, address: SocketAddr, backlog: usize) -> Result<Self, Error> {
        if address.port() == 0 {
            return Err(Error::Address);
        }
        if backlog == 0 {
            return Err(Error::Depth);
        }
        let channel = Arc::new(Channel::new()?);
        let identifier = Identifier::new(&channel)?;
        identifier.bind(address)?;
        // An identifier that is bound to no address in particular is bound to no adapter, and is not notified when one
        // is removed.
        let bound = match identifier.context() {
            context if context.is_null() => bound_to(device, &channel),
            context if context == device.context() => None,
            _ => return Err(Error::Address),
        };
        identifier.listen(backlog)?;
        let is_over = AtomicBool::new(false);
        Ok(Self { device: device.clone(), channel, is_over, _identifier: identifier, _bound: bound })
    }

    pub(super) fn next_request(&self, timeout: Duration) -> Result<Option<ConnectionRequest>, Error> {
        let deadline = Instant::now().checked_add(timeout);
        loop {
            if self.is_over.load(Ordering::Acquire) {
                return Err(Error::Removed);
            }
            while let Some(event) = self.channel.next_event()? {
                if event.kind == sys::RDMA_CM_EVENT_DEVICE_REMOVAL {
                    // It comes once, for all threads that wait here.
                    self.is_over.store(true, Ordering::Release);
                    self.device.removed();
                    return Err(Error::Removed);
                }
                // The kernel does not report what happens to a request that waits; answering it then fails.
                let Some(id) = event.request else { continue };
                // SAFETY: the request of an event of this channel, which is taken once.
                let identifier = unsafe { Identifier::of_request(id, &self.channel) };
                let (peer, mine) = (identifier.peer(), identifier.context() == self.device.context());
                let identifier = Some(identifier);
                let request =
                    ConnectionRequest { identifier, private_data: event.private_data, peer, reads: event.reads };
                // A request that comes through another adapter is rejected, because memory is registered with this one.
                if mine {
                    return Ok(Some(request));
                }
            }
            let now = Instant::now();
            if deadline.is_some_and(|deadline| deadline <= now) {
                return Ok(None);
            }
            // Another thread may take the event that woke this one; this one then goes on waiting.
            let rest = deadline.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(now));
            wait_for([self.channel.as_fd()], rest);
        }
    }

    /// Makes a waiter return a key when there is a request.
    pub(super) fn watch(&self, waiter: &Waiter, key: u64) -> Result<WatchState, Error> {
        if self.is_over.load(Ordering::Acquire) {
            return Ok(WatchState::Ready);
        }
        waiter.watch(self.channel.as_fd(), key)?;
        Ok(WatchState::Quiet)
    }
}

/// Returns an identifier at some address of an adapter. `None` if there is no address.
fn bound_to(device: &Device, channel: &Arc<Channel>) -> Option<Identifier> {
    local_addresses().ok()?.into_iter().find_map(|address| {
        let identifier = Identifier::new(channel).ok()?;
        identifier.bind(address).ok()?;
        (identifier.context() == device.context()).then_some(identifier)
    })
}

impl ConnectionRequest {
    pub(super) fn private_data(&self) -> &[u8] {
        &self.private_data
    }

    pub(super) fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Takes the identifier, to answer the request.
    pub(super) fn take_identifier(&mut self) -> Result<Identifier, Error> {
        self.identifier.take().ok_or(Error::Disconnected)
    }

    pub(super) fn reject(mut self, private_data: &[u8]) {
        if let Some(identifier) = self.identifier.take() {
            identifier.reject(private_data);
        }
    }
}

impl Drop for ConnectionRequest {
    fn drop(&mut self) {
        if let Some(identifier) = self.identifier.take() {
            identifier.reject(&[]);
        }
    }
}

//! Adapters.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

use super::adapters::OpenAdapter;
use super::errors::returned;
use super::management::{Channel, Identifier, ReadDepths};
use super::port::query_port;
use super::{adapters, sys};
use crate::verbs::Depths;
use crate::verbs::Error;
use crate::verbs::identifiers::Identifiers;

/// An adapter of this computer. Clones are the same adapter.
///
/// ```no_run
/// use rpcrdma_verbs::rdma::Device;
///
/// // Of a server that knows its own address; of a client that knows the server's; by name; any.
/// let device = Device::with_address("192.0.2.1".parse().unwrap())?;
/// let device = Device::towards("192.0.2.1:20049".parse().unwrap())?;
/// let device = Device::named("mlx5_0")?;
/// let device = Device::first()?;
/// println!("{} of {:?}", device.name(), Device::names()?);
/// # Ok::<(), rpcrdma_verbs::Error>(())
/// ```
#[derive(Clone)]
pub struct Device {
    opened: Arc<Opened>,
    /// Source address of connections, if not any address of the adapter.
    source: Option<IpAddr>,
    /// Time that a waiting thread busy-polls before sleeping.
    spin: Duration,
}

/// Default: on a fast network a reply arrives sooner than a thread wakes up.
const SPIN: Duration = Duration::from_micros(20);

struct Opened {
    adapter: OpenAdapter,
    limits: Limits,
    identifiers: Identifiers,
}

/// Limits of an adapter.
#[derive(Clone, Copy, Debug)]
struct Limits {
    queue: usize,
    completions: usize,
    /// Maximum depth of a shared receive queue; 0 if there are none.
    shared: usize,
    reads_answered: usize,
    reads_asked: usize,
    ports: u8,
}

impl Device {
    /// The first adapter of the list.
    ///
    /// # Errors
    /// [`Error::NoAdapter`]. If there is an adapter that this process cannot use: [`Error::NoModule`],
    /// [`Error::NoDriver`], [`Error::Permission`], [`Error::OpenFiles`]. The other functions that find an adapter have
    /// these errors too.
    pub fn first() -> Result<Self, Error> {
        Self::find(|_| true)
    }

    /// The adapter with this name, as in `rdma link`.
    ///
    /// # Errors
    /// [`Error::NoAdapter`].
    pub fn named(wanted: &str) -> Result<Self, Error> {
        // SAFETY: it is in a list, so open.
        Self::find(|context| unsafe { adapters::name(context) } == wanted)
    }

    /// The adapter with this IP address. All connections come from this address.
    ///
    /// # Errors
    /// [`Error::Address`], [`Error::NoAdapter`].
    pub fn with_address(address: IpAddr) -> Result<Self, Error> {
        // First, because without an adapter nothing else makes sense.
        let list = adapters::list()?;
        let identifier = Identifier::new(&Arc::new(Channel::new()?))?;
        identifier.bind(SocketAddr::new(address, 0))?;
        let device = Self::from_identifier(&identifier)?;
        drop(list);
        Ok(Self { source: Some(address), ..device })
    }

    /// The adapter that leads to this address. Takes at most 4 seconds.
    ///
    /// # Errors
    /// [`Error::Unreachable`], [`Error::NoHost`], [`Error::NoAdapter`]. [`Error::PortDown`] if no port of any adapter
    /// has a link.
    pub fn towards(address: SocketAddr) -> Result<Self, Error> {
        let list = adapters::list()?;
        // SAFETY: it is in the list, so open.
        let ports_are_down =
            |context| unsafe { Limits::from_context(context).is_ok_and(|limits| limits.ports_are_down(context)) };
        let identifier = Identifier::new(&Arc::new(Channel::new()?))?;
        identifier.resolve_address(None, address).map_err(|error| match error {
            // The kernel knows no way through an interface without a link.
            Error::Unreachable | Error::NoHost if list.contexts().all(ports_are_down) => Error::PortDown,
            error => error,
        })?;
        let device = Self::from_identifier(&identifier)?;
        drop(list);
        Ok(device)
    }

    /// The names of all adapters.
    ///
    /// # Errors
    /// [`Error::NoAdapter`].
    pub fn names() -> Result<Vec<String>, Error> {
        // SAFETY: they are in the list, so open.
        Ok(adapters::list()?.contexts().map(|context| unsafe { adapters::name(context) }).collect())
    }

    /// Sets the time that a thread busy-polls for a completion before sleeping. Longer means lower latency, but more
    /// processor time. Default: 20 microseconds.
    #[must_use]
    pub fn with_spin(self, spin: Duration) -> Self {
        Self { spin, ..self }
    }

    pub(super) fn spin(&self) -> Duration {
        self.spin
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> String {
        self.opened.adapter.name()
    }

    fn from_identifier(identifier: &Identifier) -> Result<Self, Error> {
        let context = identifier.context();
        Self::find(|other| other.as_ptr() == context)
    }

    fn find(wanted: impl Fn(NonNull<sys::ibv_context>) -> bool) -> Result<Self, Error> {
        let adapter = adapters::open(wanted)?;
        // SAFETY: it is open.
        let limits = unsafe { Limits::from_context(adapter.context())? };
        let opened = Opened { adapter, limits, identifiers: Identifiers::default() };
        Ok(Self { opened: Arc::new(opened), source: None, spin: SPIN })
    }

    pub(super) fn context(&self) -> *mut sys::ibv_context {
        self.opened.adapter.context().as_ptr()
    }

    /// Records that the adapter was removed. The process lets go of the adapter when nothing uses the adapter any more.
    pub(super) fn removed(&self) {
        self.opened.adapter.removed();
    }

    pub(super) fn source(&self) -> Option<IpAddr> {
        self.source
    }

    /// Returns true for an iWARP adapter, false for InfiniBand or RoCE.
    #[must_use]
    pub fn is_iwarp(&self) -> bool {
        // SAFETY: it is open, and has a device.
        unsafe { (*self.opened.adapter.context().as_ref().device).transport_type == sys::IBV_TRANSPORT_IWARP }
    }

    /// Random bits for the offsets of regions: unpredictable, and less than 2^63.
    pub(super) fn offset(&self) -> u64 {
        self.opened.identifiers.offset()
    }

    /// Returns true if no port of the adapter has a link.
    pub(super) fn ports_are_down(&self) -> bool {
        // SAFETY: the adapter is open as long as this is there.
        unsafe { self.opened.limits.ports_are_down(self.opened.adapter.context()) }
    }

    /// Checks if the adapter supports these depths. `is_shared`: the receives belong to a shared receive queue.
    pub(super) fn check(&self, depths: Depths, is_shared: bool) -> Result<(), Error> {
        let Limits { queue, completions, .. } = self.opened.limits;
        let Depths { send, receive, reads, receiver_not_ready } = depths;
        let possible = (1..=queue).contains(&send)
            && (is_shared || (1..=queue).contains(&receive))
            && send.saturating_add(receive) <= completions
            && reads >= 1
            && receiver_not_ready <= 7;
        if possible { Ok(()) } else { Err(Error::Depth) }
    }

    /// Checks if the adapter supports a shared receive queue of this depth. On iWARP, the other side may write to
    /// memory into which RDMA Reads bring data, so that connections must not have one domain.
    pub(super) fn check_shared(&self, depth: usize) -> Result<(), Error> {
        match self.opened.limits.shared {
            0 => Err(Error::NotShared),
            _ if self.is_iwarp() => Err(Error::NotShared),
            most if (1..=most).contains(&depth) => Ok(()),
            _ => Err(Error::Depth),
        }
    }

    /// Returns the maximum numbers of RDMA Reads in flight, of the other side and of this side: no more than requested,
    /// and no more than the adapter supports.
    pub(super) fn reads(&self, depths: Depths) -> ReadDepths {
        let Limits { reads_answered, reads_asked, .. } = self.opened.limits;
        // 255 has another meaning.
        let most = |limit: usize| u8::try_from(depths.reads.min(limit).min(254)).unwrap_or(0);
        ReadDepths { answered: most(reads_answered), asked: most(reads_asked) }
    }
}

impl Limits {
    /// # Safety
    /// The adapter is open.
    unsafe fn from_context(context: NonNull<sys::ibv_context>) -> Result<Self, Error> {
        // SAFETY: it has only numbers, for which zeros are valid.
        let mut attr: sys::ibv_device_attr = unsafe { std::mem::zeroed() };
        // SAFETY: the adapter is open by the caller, and `attr` can be written.
        match unsafe { sys::ibv_query_device(context.as_ptr(), &raw mut attr) } {
            0 => {}
            number => return Err(returned("ibv_query_device", number)),
        }
        let limit = |number| usize::try_from(number).unwrap_or(0);
        Ok(Self {
            queue: limit(attr.max_qp_wr),
            completions: limit(attr.max_cqe),
            shared: if attr.max_srq > 0 { limit(attr.max_srq_wr) } else { 0 },
            reads_answered: limit(attr.max_qp_rd_atom),
            reads_asked: limit(attr.max_qp_init_rd_atom),
            ports: attr.phys_port_cnt,
        })
    }

    /// Returns true if no port of the adapter with these limits has a link.
    ///
    /// # Safety
    /// The adapter is open.
    unsafe fn ports_are_down(&self, context: NonNull<sys::ibv_context>) -> bool {
        let is_down = |port| {
            // SAFETY: the adapter is open by the caller.
            let attr = unsafe { query_port(context.as_ptr(), port) };
            attr.is_ok_and(|attr| attr.state == sys::IBV_PORT_DOWN)
        };
        self.ports > 0 && (1..=self.ports).all(is_down)
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device")
            .field("name", &self.name())
            .field("limits", &self.opened.limits)
            .finish_non_exhaustive()
    }
}

//! Server: the end that accepts connections.

use std::collections::VecDeque;
use std::mem;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use crate::driver::resources::Provider;
use crate::driver::settings::Settings;
use crate::driver::shared_receives::SharedReceives;
use crate::endpoint::connection::Connection;
use crate::endpoint::request::Request;
use crate::message::end_reason::EndReason;
use crate::verbs::Error;

/// A server of RPC-over-RDMA.
///
/// ```
/// use std::thread;
///
/// use rpcrdma_verbs::loopback::Fabric;
/// use rpcrdma_verbs::{Request, Server, Settings};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let adapter = Fabric::new().adapter([192, 0, 2, 2].into())?;
/// let server = Server::bind(&adapter, "192.0.2.2:20049".parse()?, Settings::server())?.with_connections(8);
/// let stop = server.stopper();
/// let served = thread::spawn(move || {
///     server.serve(&|mut request: Request<_>| {
///         request.accept();
///         let _ = request.answer();
///     })
/// });
/// // Until this is said.
/// stop.stop();
/// served.join().unwrap()?;
/// # Ok(())
/// # }
/// ```
pub struct Server<V: Provider> {
    pub(crate) verbs: V,
    pub(crate) listener: V::Listener,
    settings: Settings,
    shared: Option<Arc<SharedReceives<V>>>,
    pub(crate) most: usize,
    pub(crate) idle: Option<Duration>,
    pub(crate) stop: Stopper,
    /// Calls whose memory could not be used, with their callers, the latest last (RFC 8166 section 4.5.3).
    unusable: Mutex<VecDeque<(IpAddr, u32)>>,
}

/// Stops a server.
#[derive(Clone, Debug, Default)]
pub struct Stopper(Arc<Stop>);

#[derive(Debug, Default)]
struct Stop {
    stopped: AtomicBool,
    /// Wakers to wake when the server is stopped.
    wakers: Mutex<Vec<Waker>>,
}

/// The service of a server. A closure with a [`Request`] as argument is a service.
///
/// ```
/// use std::net::SocketAddr;
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use rpcrdma_verbs::{Connection, EndReason, Provider, Request, Service};
///
/// /// Answers everything with nothing, and counts who is there.
/// #[derive(Default)]
/// struct Counting(AtomicUsize);
///
/// impl<V: Provider> Service<V> for Counting {
///     fn call(&self, mut request: Request<V>) {
///         request.accept();
///         if let Err(fault) = request.answer() {
///             eprintln!("no answer: {fault}");
///         }
///     }
///
///     fn connected(&self, _: &Connection<V>) {
///         self.0.fetch_add(1, Ordering::Relaxed);
///     }
///
///     fn ended(&self, peer: SocketAddr, why: &EndReason) {
///         self.0.fetch_sub(1, Ordering::Relaxed);
///         println!("{peer} has gone: {why}");
///     }
/// }
/// # use rpcrdma_verbs::loopback::{Adapter, Fabric};
/// # use rpcrdma_verbs::{Server, Settings};
/// # let there = Fabric::new().adapter([192, 0, 2, 2].into())?;
/// # let server = Server::bind(&there, "192.0.2.2:20049".parse().unwrap(), Settings::server())?;
/// # server.stopper().stop();
///
/// server.serve(&Counting::default())?;
/// # Ok::<(), rpcrdma_verbs::Error>(())
/// ```
pub trait Service<V: Provider>: Sync {
    /// Handles a call: [`Request::answer`] the request, here or later and elsewhere. While this runs, no other call of
    /// the same connection is taken, so do slow work elsewhere.
    ///
    /// A panic ends the connection of the call. The other connections go on, and [`Server::serve`] panics when the
    /// server is stopped, so that the panic is noticed.
    fn call(&self, request: Request<V>);

    /// The server has everything needed for accepting connections. This is called once, before any other function here.
    fn listening(&self) {}

    /// A client has connected.
    fn connected(&self, connection: &Connection<V>) {
        let _ = connection;
    }

    /// The version of a connection is known: with the first message, if the server accepts more than one version. This
    /// is called once for each connection, after [`connected`](Self::connected) and before the first call.
    fn agreed(&self, connection: &Connection<V>) {
        let _ = connection;
    }

    /// A connection is over.
    fn ended(&self, peer: SocketAddr, why: &EndReason) {
        let _ = (peer, why);
    }

    /// A client tried to connect and failed.
    fn failed(&self, peer: SocketAddr, why: &Error) {
        let _ = (peer, why);
    }
}

impl<V: Provider, F: Fn(Request<V>) + Sync> Service<V> for F {
    fn call(&self, request: Request<V>) {
        self(request);
    }
}

/// Maximum number of remembered calls that ended a connection.
const MAX_UNUSABLE: usize = 64;
/// Maximum number of waiting requests for connections.
const BACKLOG: usize = 16;

impl<V: Provider> Server<V> {
    /// Default maximum number of connections of a server.
    pub const CONNECTIONS: usize = 64;

    /// Listens at an address.
    ///
    /// # Errors
    /// Any error of [`Verbs::listen`](crate::Verbs::listen). With
    /// [`SettingsBuilder::shared_receives`](crate::SettingsBuilder::shared_receives), any error of
    /// [`Verbs::shared_receive_queue`](crate::Verbs::shared_receive_queue) and of registering their memory.
    pub fn bind(verbs: &V, address: SocketAddr, settings: Settings) -> Result<Self, Error> {
        let shared = settings.shared_receives(verbs)?;
        let listener = verbs.listen(address, BACKLOG)?;
        let (stop, unusable) = (Stopper::default(), Mutex::default());
        let (verbs, most) = (verbs.clone(), Self::CONNECTIONS);
        Ok(Self { verbs, listener, settings, shared, most, idle: None, stop, unusable })
    }

    /// Sets the maximum number of connections. Further ones are rejected: the client and [`Service::failed`] are told why,
    /// [`Error::Connections`].
    #[must_use]
    pub fn with_connections(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// Sets the time after which a connection ends if the other side makes no calls, and has received all answers or
    /// does not receive any. Without this limit, silent clients can use up the maximum number of connections and keep
    /// all others out.
    #[must_use]
    pub fn with_idle_limit(self, longest: Duration) -> Self {
        Self { idle: Some(longest), ..self }
    }

    /// Returns the number of shared Receives in the queue, including Receives whose messages no connection has seen
    /// yet. `None` if each connection has its own Receives
    /// ([`SettingsBuilder::shared_receives`](crate::SettingsBuilder::shared_receives)). A server that often has 0 needs
    /// more.
    #[must_use]
    pub fn free_receives(&self) -> Option<usize> {
        self.shared.as_ref().map(|shared| shared.free())
    }

    /// A handle that stops the server.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        self.stop.clone()
    }

    /// Returns the next connection, for callers that do not want threads, or `None` after the timeout. Unlike
    /// [`serve`](Self::serve), this does not remember for the next connection a call whose memory could not be used.
    ///
    /// # Errors
    /// Any error of [`Verbs::request`](crate::Verbs::request), [`Verbs::queue_pair`](crate::Verbs::queue_pair) and
    /// [`Verbs::accept`](crate::Verbs::accept).
    pub fn accept(&self, timeout: Duration) -> Result<Option<Connection<V>>, Error> {
        let request = self.verbs.request(&self.listener, timeout)?;
        let connection = request.map(|request| self.connection(request)).transpose()?;
        connection.iter().for_each(Connection::attend_when_idle);
        Ok(connection)
    }

    pub(crate) fn connection(&self, request: V::Request) -> Result<Connection<V>, Error> {
        let peer = self.verbs.peer(&request).ip();
        let unusable: Vec<u32> = {
            let mut all = self.unusable.lock().unwrap_or_else(PoisonError::into_inner);
            let of_peer = all.iter().filter(|(who, _)| *who == peer).map(|(_, xid)| *xid).collect();
            all.retain(|(who, _)| *who != peer);
            of_peer
        };
        Connection::accept(&self.verbs, request, &self.settings, self.shared.as_ref(), &unusable)
    }

    /// Remembers a call that has ended a connection.
    pub(crate) fn remember_unusable(&self, connection: &Connection<V>) {
        if let Some(xid) = connection.unusable() {
            let mut all = self.unusable.lock().unwrap_or_else(PoisonError::into_inner);
            if all.len() == MAX_UNUSABLE {
                all.pop_front();
            }
            all.push_back((connection.peer().ip(), xid));
        }
    }
}

impl Stopper {
    /// Ends the server: no more connections are accepted, and the existing ones end.
    pub fn stop(&self) {
        self.0.stopped.store(true, Ordering::SeqCst);
        let wakers = mem::take(&mut *self.wakers());
        wakers.into_iter().for_each(Waker::wake);
    }

    fn wakers(&self) -> MutexGuard<'_, Vec<Waker>> {
        self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.0.stopped.load(Ordering::SeqCst)
    }

    /// Wakes `waker` when the server is stopped, or at once if that was before.
    pub(crate) fn wake_when_stopped(&self, waker: Waker) {
        self.wakers().push(waker);
        if self.is_stopped() {
            self.stop();
        }
    }
}

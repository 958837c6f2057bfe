//! One end of a connection.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use rpcrdma::endpoint::channel::{HostAuthenticationTooLong, Negotiation};
use rpcrdma::endpoint::{Channel, Terms, Version, Versions};
use rpcrdma::private_data::{Agreement, PrivateData};

use crate::driver::negotiation::negotiate;
use crate::driver::resources::Provider;
use crate::driver::settings::{ConnectionTerms, Settings};
use crate::driver::shared_connection::OwnedConnection;
use crate::driver::shared_receives::SharedReceives;
use crate::endpoint::started_call::StartedCall;
use crate::message::call::{Call, CallError, Reply};
use crate::message::end_reason::EndReason;
use crate::trace;
use crate::verbs::waiter::Watch;
use crate::verbs::{Error, WatchState};

/// One end of a connection. Clones are the same end; dropping the last one ends the connection.
///
/// Ending a connection may take an adapter long. The thread that drops the last clone ends the connection, unless
/// futures of the connection were polled or a [`Server`](crate::Server) served the connection: then another thread
/// does, because a task may be the last owner.
///
/// Each end makes and answers calls; a client's end answers calls only if
/// [`SettingsBuilder::granted_credits`](crate::SettingsBuilder::granted_credits) is not 0 (RFC 8167).
///
/// ```
/// use std::thread;
/// use std::time::Duration;
///
/// use rpcrdma_verbs::loopback::Fabric;
/// use rpcrdma_verbs::{Call, Client, Server, Settings, Stream};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let fabric = Fabric::new();
/// # let (here, there) = (fabric.adapter([192, 0, 2, 1].into())?, fabric.adapter([192, 0, 2, 2].into())?);
/// # let address = "192.0.2.2:20049".parse()?;
/// let second = Duration::from_secs(1);
/// let server = Server::bind(&there, address, Settings::server())?;
/// let client = thread::spawn(move || Client::connect(&here, address, &Settings::client()));
/// let connection = server.accept(second)?.expect("a client connects");
/// let client = client.join().unwrap()?;
/// assert_eq!(connection.terms().call_threshold, 4096, "octets");
/// assert!(connection.request(Duration::ZERO)?.is_none(), "it has not called");
///
/// client.connection().disconnect();
/// assert!(connection.request(second).is_err());
/// println!("{}: {}", connection.peer(), connection.ended().expect("it is over"));
/// # Ok(())
/// # }
/// ```
pub struct Connection<V: Provider> {
    pub(super) shared: Arc<OwnedConnection<V>>,
}

/// Outcome of an attempt to connect.
enum Attempt<V: Provider> {
    Connected(Connection<V>),
    /// A server of version 2 did not answer: the server may speak version 1 only.
    Version1,
}

impl<V: Provider> Connection<V> {
    /// Connects.
    pub(crate) fn connect(verbs: &V, address: SocketAddr, settings: &Settings) -> Result<Self, Error> {
        Self::told(address, Self::set_up(verbs, address, settings))
    }

    /// Reports the outcome to subscribers of `tracing`.
    fn told(peer: SocketAddr, outcome: Result<Self, Error>) -> Result<Self, Error> {
        trace::connected(peer, outcome.as_ref().map(Self::terms));
        outcome
    }

    /// Connects. The acceptance decides the inline thresholds (RFC 8797).
    fn set_up(verbs: &V, address: SocketAddr, settings: &Settings) -> Result<Self, Error> {
        match Self::attempt(verbs, address, settings, settings.versions())? {
            Attempt::Connected(connection) => Ok(connection),
            // The server has dropped version 2, and perhaps the connection with it.
            Attempt::Version1 => match Self::attempt(verbs, address, settings, Versions::ONE)? {
                Attempt::Connected(connection) => Ok(connection),
                Attempt::Version1 => Err(Error::Version),
            },
        }
    }

    fn attempt(verbs: &V, address: SocketAddr, settings: &Settings, versions: Versions) -> Result<Attempt<V>, Error> {
        let (resources, mut buffers) = settings.prepare(verbs, None)?;
        let ours = settings.private_data(verbs);
        verbs.connect(&resources.queue_pair, address, &ours.to_octets())?;
        let theirs = verbs.connected(&resources.queue_pair, settings.connect_timeout)?.ok_or(Error::TimedOut)?;
        let agreement = Agreement::new(Some(ours), PrivateData::find(&theirs));
        let terms = ConnectionTerms { calls: Terms::forward(&agreement), answers: Terms::reverse(&agreement) };
        let mut channel = Channel::client(versions, settings.client_properties());
        settings.authenticate(&mut channel);
        negotiate(&resources, &mut buffers, &mut channel, settings.connect_timeout)?;
        match channel.negotiation() {
            Negotiation::Agreed(_) => {
                let owned = OwnedConnection::new(resources, buffers, channel, terms, address, settings, &[]);
                owned.attend_when_idle();
                Ok(Attempt::Connected(Self::from_shared(Arc::new(owned))))
            }
            Negotiation::Elsewhere(_) => Ok(Attempt::Version1),
            Negotiation::Impossible | Negotiation::Lost | Negotiation::Pending => Err(Error::Version),
        }
    }

    /// Accepts a request for a connection from a peer whose calls with the XIDs `refused` ended an earlier connection.
    /// `shared`: Receives of all connections.
    pub(crate) fn accept(
        verbs: &V,
        request: V::Request,
        settings: &Settings,
        shared: Option<&Arc<SharedReceives<V>>>,
        refused: &[u32],
    ) -> Result<Self, Error> {
        Self::told(verbs.peer(&request), Self::accept_request(verbs, request, settings, shared, refused))
    }

    fn accept_request(
        verbs: &V,
        request: V::Request,
        settings: &Settings,
        shared: Option<&Arc<SharedReceives<V>>>,
        refused: &[u32],
    ) -> Result<Self, Error> {
        let (resources, buffers) = settings.prepare(verbs, shared)?;
        let ours = settings.private_data(verbs);
        let agreement = Agreement::new(PrivateData::find(verbs.private_data(&request)), Some(ours));
        let peer = verbs.peer(&request);
        verbs.accept(request, &resources.queue_pair, &ours.to_octets())?;
        let terms = ConnectionTerms { calls: Terms::reverse(&agreement), answers: Terms::forward(&agreement) };
        let mut channel = Channel::server(settings.versions(), settings.server_properties());
        settings.authenticate(&mut channel);
        Ok(Self::from_shared(Arc::new(OwnedConnection::new(
            resources, buffers, channel, terms, peer, settings, refused,
        ))))
    }

    /// The end of the connection on which a request came.
    pub(crate) const fn from_shared(shared: Arc<OwnedConnection<V>>) -> Self {
        Self { shared }
    }

    /// Returns an XID that no call of this connection has used recently, for [`Call::new`]; a call of [`Call::rpc`]
    /// gets one from the connection.
    #[must_use]
    pub fn xid(&self) -> u32 {
        self.shared.xid()
    }

    /// Makes a call and waits for the reply, which is then in the [`Call`] too. If the maximum number of calls is in
    /// flight, this also waits for a free slot.
    ///
    /// # Errors
    /// A [`CallError`]. Except with [`CallError::TimedOut`], the call has its buffers back, without access for the
    /// peer.
    pub fn call<'a>(&self, call: &'a mut Call) -> Result<Reply<'a>, CallError> {
        self.call_until(call, self.shared.deadline(call))?;
        Ok(call.replied())
    }

    /// Makes a call and waits for the reply, until the deadline.
    pub(crate) fn call_until(&self, call: &mut Call, deadline: Option<Instant>) -> Result<(), CallError> {
        let outcome = self.shared.call(call, None, deadline);
        self.shared.watch_grace(&outcome);
        trace::returned(self.peer(), call.xid(), &outcome);
        outcome
    }

    /// Starts a call whose reply is awaited later, or in an asynchronous function: [`StartedCall`] is a future. Another
    /// thread registers the memory of the call, which may take an adapter long; then the call is sent.
    pub fn start(&self, call: Call) -> StartedCall<V> {
        StartedCall::new(Arc::clone(&self.shared), call)
    }

    /// Returns the next given-up call whose buffers the peer can no longer access: the reply has come, or the
    /// connection has ended. Calls are given up by [`SettingsBuilder::timeout`](crate::SettingsBuilder::timeout), or by
    /// dropping the [`StartedCall`]. [`SettingsBuilder::kept_given_up_calls`](crate::SettingsBuilder::kept_given_up_calls) is the maximum number
    /// kept. This does not take completions; only calls that wait do, and [`request`](Self::request).
    #[must_use]
    pub fn take_given_up_call(&self) -> Option<Call> {
        self.shared.take_given_up_call()
    }

    /// The address of the other end.
    #[must_use]
    pub fn peer(&self) -> SocketAddr {
        self.shared.peer()
    }

    /// The queue pair. With the provider for adapters, the queue pair has a descriptor, for programs that wait for many
    /// events at once: take [requests](Self::request) until there is none, arm the queue pair, and look again when the
    /// descriptor becomes readable. Taking requests may block for as long as the adapter needs to register memory.
    #[must_use]
    pub fn queue_pair(&self) -> &V::QueuePair {
        &self.shared.resources().queue_pair
    }

    /// The terms for the calls that this end makes: inline thresholds, and the use of remote invalidation.
    #[must_use]
    pub fn terms(&self) -> Terms {
        self.shared.terms()
    }

    /// The version of RPC-over-RDMA that the connection speaks. A client always knows the version; a server that
    /// accepts more than one knows the version from the first message on.
    ///
    /// ```
    /// use std::thread;
    ///
    /// use rpcrdma_verbs::loopback::Fabric;
    /// use rpcrdma_verbs::{Client, Request, Server, Settings, Version, Versions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let fabric = Fabric::new();
    /// # let (here, there) = (fabric.adapter([192, 0, 2, 1].into())?, fabric.adapter([192, 0, 2, 2].into())?);
    /// # let address = "192.0.2.2:20049".parse()?;
    /// // A server of version 1, and a client that would rather speak version 2.
    /// let server = Server::bind(&there, address, Settings::server())?;
    /// let stop = server.stopper();
    /// let served = thread::spawn(move || server.serve(&|_: Request<_>| {}));
    /// let settings = Settings::builder().versions(Versions::all()).build()?;
    /// let client = Client::connect(&here, address, &settings)?;
    /// assert_eq!(client.connection().version(), Some(Version::One));
    /// # stop.stop();
    /// # drop(client);
    /// # served.join().unwrap()?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn version(&self) -> Option<Version> {
        self.shared.version()
    }

    /// The host authentication message sent by the other side
    /// ([`SettingsBuilder::host_authentication`](crate::SettingsBuilder::host_authentication)). `None` if the other
    /// side has sent none, or the connection does not speak version 2. A server knows the message from the first call
    /// on.
    ///
    /// # Errors
    /// [`HostAuthenticationTooLong`] if the message was too long to be kept.
    pub fn host_authentication(&self) -> Result<Option<Vec<u8>>, HostAuthenticationTooLong> {
        self.shared.host_authentication()
    }

    /// The reason for the end of the connection. `None` for an open connection, and for the short time until the
    /// adapter has reported the reason: a reason never changes.
    #[must_use]
    pub fn ended(&self) -> Option<EndReason> {
        self.shared.ended()
    }

    /// Returns true if the connection is over, even if the reason is not known yet.
    pub(crate) fn is_over(&self) -> bool {
        self.shared.is_over()
    }

    /// Returns true if this end has calls of the other side to answer.
    pub(crate) fn is_answering(&self) -> bool {
        self.shared.is_answering()
    }

    /// Returns the XID of the call of the other side whose memory could not be used, which has ended the connection.
    pub(crate) fn unusable(&self) -> Option<u32> {
        self.shared.unusable()
    }

    /// Declares that this thread of a server serves the connection: the thread takes requests with
    /// [`request`](Self::request) until there are none, and then [arms](Self::arm) the connection.
    pub(crate) fn begin_serving(&self) {
        self.shared.begin_serving();
    }

    /// Wakes `waker` when the connection is over, or at once if that was before.
    pub fn wake_when_ended(&self, waker: Waker) {
        self.shared.wake_when_ended(waker);
    }

    /// Returns true if both are the same end.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Ends the connection for this reason: all calls are lost.
    pub(crate) fn end_because(&self, ended: EndReason) {
        self.shared.end_because(ended);
    }

    /// Makes a thread of the process attend to the end of an unused connection.
    pub(crate) fn attend_when_idle(&self) {
        self.shared.attend_when_idle();
    }

    /// Returns the number of completions taken so far.
    pub(crate) fn completions_taken(&self) -> u64 {
        self.shared.completions_taken()
    }

    /// Makes `watch` wake the server when there is something to do. Returns `Ready` if there already is.
    pub(crate) fn arm(&self, watch: &Watch) -> WatchState {
        match self.shared.arm(watch) {
            // Another thread may just have found a call.
            Some(WatchState::Quiet) if !self.shared.has_request() => WatchState::Quiet,
            _ => WatchState::Ready,
        }
    }

    /// Ends the connection: all calls are lost.
    ///
    /// This blocks while the adapter ends the connection and deregisters memory. An asynchronous task should use a
    /// thread for blocking work, or drop the connection instead.
    pub fn disconnect(&self) {
        self.shared.disconnect();
    }
}

impl<V: Provider> Clone for Connection<V> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<V: Provider> fmt::Debug for Connection<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("peer", &self.shared.peer()).finish_non_exhaustive()
    }
}

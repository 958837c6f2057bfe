//! One end of a connection.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use rpcrdma::endpoint::Terms;
use rpcrdma::private_data::{Agreement, PrivateData};

use crate::driver::port::Provider;
use crate::driver::settings::Settings;
use crate::driver::shared::Owned;
use crate::endpoint::pending::Pending;
use crate::message::call::{Call, CallError};
use crate::message::ended::Ended;
use crate::verbs::waiter::Watch;
use crate::verbs::{Armed, Error};

/// One end of a connection. Clones are the same end; the last one that is dropped ends it.
///
/// It calls, and it answers: a client's answers calls only where [`Settings::served`] is not 0 (RFC 8167).
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
    pub(super) shared: Arc<Owned<V>>,
}

impl<V: Provider> Connection<V> {
    /// Connects. What the acceptance says decides the inline thresholds (RFC 8797).
    pub(crate) fn connect(verbs: &V, address: SocketAddr, settings: &Settings) -> Result<Self, Error> {
        let (port, buffers) = settings.prepare(verbs)?;
        let ours = settings.private_data(verbs);
        verbs.connect(&port.queue_pair, address, &ours.to_octets())?;
        let theirs = verbs.connected(&port.queue_pair, settings.connect_timeout)?.ok_or(Error::TimedOut)?;
        let agreement = Agreement::new(Some(ours), PrivateData::find(&theirs));
        let (calls, answers) = (Terms::forward(&agreement), Terms::reverse(&agreement));
        Ok(Self::of(Arc::new(Owned::new(port, buffers, (calls, answers), address, (settings, &[])))))
    }

    /// Accepts a request for a connection, of someone who has had the connection end by calls with the XIDs `refused`.
    pub(crate) fn accept(verbs: &V, request: V::Request, settings: &Settings, refused: &[u32]) -> Result<Self, Error> {
        let (port, buffers) = settings.prepare(verbs)?;
        let ours = settings.private_data(verbs);
        let agreement = Agreement::new(PrivateData::find(verbs.private_data(&request)), Some(ours));
        let peer = verbs.peer(&request);
        verbs.accept(request, &port.queue_pair, &ours.to_octets())?;
        let (calls, answers) = (Terms::reverse(&agreement), Terms::forward(&agreement));
        Ok(Self::of(Arc::new(Owned::new(port, buffers, (calls, answers), peer, (settings, refused)))))
    }

    /// The end that a request came by.
    pub(crate) const fn of(shared: Arc<Owned<V>>) -> Self {
        Self { shared }
    }

    /// An XID that no call of this connection has had for long.
    #[must_use]
    pub fn xid(&self) -> u32 {
        self.shared.xid()
    }

    /// Makes a call, and waits for its reply. What has come is in the [`Call`] then. Where there are as many calls already
    /// as the connection can have, it waits for that too.
    ///
    /// # Errors
    /// A [`CallError`]. In each case but [`CallError::TimedOut`] the call has its buffers back, and nobody can reach them.
    pub fn call(&self, call: &mut Call) -> Result<(), CallError> {
        let outcome = self.shared.call(call, None, self.shared.deadline());
        self.shared.watch_grace(&outcome);
        outcome
    }

    /// Makes a call whose reply is waited for later, or in an asynchronous function: [`Pending`] is a future. Its memory, which
    /// may take an adapter long, is registered before this returns; or by another thread, once a future of this connection
    /// was polled.
    pub fn start(&self, call: Call) -> Pending<V> {
        Pending::new(Arc::clone(&self.shared), call)
    }

    /// The next of the calls that were given up, by [`Settings::timeout`] or as their [`Pending`] was dropped, and whose
    /// buffers nobody can reach any more: its reply has come, or the connection has ended. [`Settings::returned`] says how
    /// many are kept. It does not look for what has come: whoever waits does, [`request`](Self::request) too.
    #[must_use]
    pub fn returned(&self) -> Option<Call> {
        self.shared.returned()
    }

    /// Who is at the other end.
    #[must_use]
    pub fn peer(&self) -> SocketAddr {
        self.shared.peer()
    }

    /// The queue pair. With the provider for adapters it has a descriptor, for whoever waits for many things at once: take
    /// [requests](Self::request) until there is none, arm it, and look again when it can be read.
    #[must_use]
    pub fn queue_pair(&self) -> &V::QueuePair {
        &self.shared.port().queue_pair
    }

    /// What was agreed on for the calls that this end makes: what goes inline, and whether memory is invalidated remotely.
    #[must_use]
    pub fn terms(&self) -> Terms {
        self.shared.terms()
    }

    /// Why the connection is over; none where it is not.
    #[must_use]
    pub fn ended(&self) -> Option<Ended> {
        self.shared.ended()
    }

    /// Whether calls of the other side are not answered yet, by this side's own doing.
    pub(crate) fn is_answering(&self) -> bool {
        self.shared.is_answering()
    }

    /// The XID of the call of the other side whose memory could not be used, which has ended the connection.
    pub(crate) fn unusable(&self) -> Option<u32> {
        self.shared.unusable()
    }

    /// Somebody attends to the connection from now on: looks by [`request`](Self::request) until there is nothing, and then
    /// lets it [`rest`](Self::rest).
    pub(crate) fn attend(&self) {
        self.shared.be_attended_by_server();
    }

    /// Completions that were taken so far: whether a look has found any.
    pub(crate) fn taken(&self) -> u64 {
        self.shared.taken()
    }

    /// Has whoever attends to the connection told when there is something to do, unless there is already.
    pub(crate) fn rest(&self, watch: &Watch) -> Armed {
        match self.shared.rest(watch) {
            // Another thread may have found a call just before.
            Some(Armed::Quiet) if !self.shared.has_request() => Armed::Quiet,
            _ => Armed::Ready,
        }
    }

    /// Ends the connection: all calls are lost.
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

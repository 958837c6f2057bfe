//! A client that connects again.
//!
//! A caller without a connection makes a thread connect. The thread ends after success, or when no caller is left. So a
//! caller never waits beyond its deadline, and there is one attempt at a time, however many calls wait.

use std::fmt;
use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use crate::driver::resources::Provider;
use crate::endpoint::client::Client;
use crate::endpoint::started_call::StartedCall;
use crate::message::call::{Call, CallError, CallOutcome, Progress, Reply};
use crate::verbs::Error;

/// A client that connects again after the loss of a connection. Clones share the connection.
///
/// A call that was not sent is made on the next connection. A call that was sent and not answered may have been carried
/// out: such a call is made again, with the same XID, only if [repeatable](Call::repeatable); others end with
/// [`CallError::Lost`] and [`Progress::Sent`]. The error of a call without a reply says if the call was sent on any
/// connection.
///
/// Between failed attempts to connect, the pauses grow from [a tenth of a second to ten seconds](Self::with_pauses),
/// and vary by chance, so that the clients of a server that has restarted do not all come at once. A call waits no
/// longer than the [timeout of the call](Call::with_timeout), or [60 seconds](Self::with_timeout); then the error says
/// why there is no connection.
///
/// An unused connection that ends is let go of at once, so that an adapter can be removed. For that, the closure should
/// find the adapter again each time.
///
/// ```
/// use std::thread;
///
/// use rpcrdma_verbs::loopback::Fabric;
/// use rpcrdma_verbs::{Call, Client, ReconnectingClient, Request, Server, Settings};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let fabric = Fabric::new();
/// let (here, there) = (fabric.adapter([192, 0, 2, 1].into())?, fabric.adapter([192, 0, 2, 2].into())?);
/// let address = "192.0.2.2:20049".parse()?;
/// // With adapters: `Client::connect(&rdma::Device::towards(address)?, address, &settings)`.
/// let client = ReconnectingClient::new(move || Client::connect(&here, address, &Settings::client()));
///
/// for _ in 0..2 {
///     let server = Server::bind(&there, address, Settings::server())?;
///     let stop = server.stopper();
///     let served = thread::spawn(move || {
///         server.serve(&|mut request: Request<_>| {
///             request.accept();
///             let _ = request.answer();
///         })
///     });
///     // NULL does nothing, so it may be carried out twice.
///     client.call(&mut Call::rpc(400_100, 1, 0).repeatable())?.results()?;
///     stop.stop();
///     served.join().unwrap()?;
/// }
/// # Ok(())
/// # }
/// ```
pub struct ReconnectingClient<V: Provider> {
    owner: Arc<Owner<V>>,
    pauses: Pauses,
    timeout: Option<Duration>,
}

/// Pauses between attempts to connect.
#[derive(Clone, Copy, Debug)]
struct Pauses {
    first: Duration,
    longest: Duration,
}

/// Stops connecting when the last client is dropped.
struct Owner<V: Provider>(Arc<Shared<V>>);

struct Shared<V: Provider> {
    connect: Box<dyn Fn() -> Result<Client<V>, Error> + Send + Sync>,
    state: Mutex<State<V>>,
    changed: Condvar,
}

struct State<V: Provider> {
    link: CurrentClient<V>,
    /// The latest reason for having no connection.
    error: Option<Error>,
    /// Futures that wait for a connection, each until this time.
    wakers: Vec<(Option<Instant>, Waker)>,
    xid: u32,
}

/// The connection, or the reason why there is none.
enum CurrentClient<V: Provider> {
    /// Nobody has needed one since the last was lost.
    None,
    /// A thread connects.
    Connecting,
    Connected(Client<V>),
    /// All clients were dropped.
    Stopped,
}

impl<V: Provider> ReconnectingClient<V> {
    /// A client that is not connected yet. `connect` makes each connection, in a separate thread.
    pub fn new(connect: impl Fn() -> Result<Client<V>, Error> + Send + Sync + 'static) -> Self {
        let xid = RandomState::new().hash_one(0) as u32;
        let state = Mutex::new(State { link: CurrentClient::None, error: None, wakers: Vec::new(), xid });
        let shared = Shared { connect: Box::new(connect), state, changed: Condvar::new() };
        let pauses = Pauses { first: Duration::from_millis(100), longest: Duration::from_secs(10) };
        Self { owner: Arc::new(Owner(Arc::new(shared))), pauses, timeout: Some(Duration::from_secs(60)) }
    }

    /// Sets the pauses between attempts to connect: the first, and the longest; each is twice the one before.
    #[must_use]
    pub fn with_pauses(self, first: Duration, longest: Duration) -> Self {
        Self { pauses: Pauses { first, longest }, ..self }
    }

    /// Sets the time after which a blocking call without a [timeout](Call::with_timeout) is given up, on whatever
    /// connections the call was made. `None` for never.
    #[must_use]
    pub fn with_timeout(self, longest: Option<Duration>) -> Self {
        Self { timeout: longest, ..self }
    }

    /// Makes a call and waits for the reply, which is then in the [`Call`]: on the next connection too, if this one is
    /// lost and the call may be made again.
    ///
    /// # Errors
    /// A [`CallError`]: [`CallError::Lost`] if the call was sent, is not [repeatable](Call::repeatable), and the
    /// connection was lost; [`CallError::NotConnected`] if there was no connection in time.
    pub fn call<'a>(&self, call: &'a mut Call) -> Result<Reply<'a>, CallError> {
        let deadline = call.timeout().or(self.timeout).and_then(|timeout| Instant::now().checked_add(timeout));
        call.keep_xid(|| self.shared().xid());
        let outcome = self.make(call, deadline);
        call.release_xid();
        outcome.map(|()| call.replied())
    }

    fn make(&self, call: &mut Call, deadline: Option<Instant>) -> Result<(), CallError> {
        let mut attempts = Attempts::default();
        loop {
            let client = self.shared().client(self.pauses, deadline);
            let client = client.map_err(|error| CallError::NotConnected(error, attempts.progress))?;
            let outcome = client.connection().call_until(call, deadline);
            if let Some(outcome) = attempts.end_attempt(call, outcome) {
                return outcome;
            }
            self.shared().lost(&client);
        }
    }

    /// Starts a call whose reply is awaited in an asynchronous function. The future ends after the [timeout of the
    /// call](Call::with_timeout), or, without a connection, when the attempt to connect that is then under way has
    /// ended. Without a timeout, the future waits without a limit. Dropping the future gives the call up, as with
    /// [`StartedCall`].
    pub fn start(&self, mut call: Call) -> ReconnectingCall<V> {
        call.keep_xid(|| self.shared().xid());
        let limit = call.timeout().and_then(|timeout| Instant::now().checked_add(timeout));
        let stage = Stage::Waiting(call);
        ReconnectingCall { client: self.clone(), stage, attempts: Attempts::default(), limit }
    }

    /// The reason why there is no connection: of the latest attempt to connect. `None` while there is one, and before
    /// the first.
    #[must_use]
    pub fn error(&self) -> Option<Error> {
        self.shared().lock().error.clone()
    }

    /// The connection, if there is one at the moment.
    #[must_use]
    pub fn current(&self) -> Option<Client<V>> {
        self.shared().lock().link.client()
    }

    fn shared(&self) -> &Arc<Shared<V>> {
        &self.owner.0
    }
}

/// Knowledge about a call from all attempts.
#[derive(Debug, Default)]
struct Attempts {
    progress: Progress,
}

impl Attempts {
    /// Returns the outcome of the call, if this attempt was the last. `None` if the call is to be made again.
    fn end_attempt(&mut self, call: &Call, outcome: Result<(), CallError>) -> Option<Result<(), CallError>> {
        match outcome {
            Err(CallError::Lost(ended, progress)) => {
                self.add_progress(progress);
                let again = self.progress == Progress::NotSent || call.is_repeatable();
                (!again).then_some(Err(CallError::Lost(ended, self.progress)))
            }
            Err(CallError::TimedOut(progress)) => {
                self.add_progress(progress);
                Some(Err(CallError::TimedOut(self.progress)))
            }
            outcome => Some(outcome),
        }
    }

    fn add_progress(&mut self, progress: Progress) {
        if progress == Progress::Sent {
            self.progress = Progress::Sent;
        }
    }
}

impl<V: Provider> CurrentClient<V> {
    /// Returns the connection, unless the connection has ended.
    fn client(&self) -> Option<Client<V>> {
        match self {
            Self::Connected(client) if !client.connection().is_over() => Some(client.clone()),
            _ => None,
        }
    }
}

impl<V: Provider> Shared<V> {
    fn lock(&self) -> MutexGuard<'_, State<V>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns an XID that no recent call has used, on any connection.
    fn xid(&self) -> u32 {
        let mut state = self.lock();
        state.xid = state.xid.wrapping_add(1);
        state.xid
    }

    /// Returns a connection, or the reason why there was none until the deadline.
    fn client(self: &Arc<Self>, pauses: Pauses, deadline: Option<Instant>) -> Result<Client<V>, Error> {
        loop {
            let (state, client) = self.need(self.lock(), pauses)?;
            if let Some(client) = client {
                return Ok(client);
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            match left {
                Some(Duration::ZERO) => return Err(state.error.clone().unwrap_or(Error::TimedOut)),
                Some(left) => drop(self.changed.wait_timeout(state, left)),
                None => drop(self.changed.wait(state)),
            }
        }
    }

    /// Returns the connection. If there is none, makes a thread connect, and returns while that thread is at work.
    #[expect(clippy::type_complexity, reason = "the state and what it has")]
    fn need<'a>(
        self: &'a Arc<Self>,
        mut state: MutexGuard<'a, State<V>>,
        pauses: Pauses,
    ) -> Result<(MutexGuard<'a, State<V>>, Option<Client<V>>), Error> {
        loop {
            if let Some(client) = state.link.client() {
                return Ok((state, Some(client)));
            }
            if matches!(state.link, CurrentClient::Connecting | CurrentClient::Stopped) {
                return Ok((state, None));
            }
            let over = mem::replace(&mut state.link, CurrentClient::Connecting);
            drop(state);
            // Ending what is left of it may take an adapter long.
            drop(over);
            let shared = Arc::clone(self);
            let begun = thread::Builder::new().name("rpcrdma connect".to_owned()).spawn(move || shared.connect(pauses));
            // The thread may have connected, and notified nobody, before this one waits.
            state = self.lock();
            if begun.is_err() {
                state.link = CurrentClient::None;
                self.release(state);
                return Err(Error::Threads);
            }
        }
    }

    /// Connects, with growing pauses, until success, or until nobody needs a connection.
    fn connect(self: &Arc<Self>, pauses: Pauses) {
        let mut pause = pauses.first;
        let _panicking = GivesUpOnPanic(self, pauses.first);
        loop {
            let connected = (self.connect)();
            let mut state = self.lock();
            if matches!(state.link, CurrentClient::Stopped) {
                return;
            }
            match connected {
                Ok(client) => {
                    state.error = None;
                    state.link = CurrentClient::Connected(client.clone());
                    self.release(state);
                    client.connection().wake_when_ended(Waker::from(Arc::new(WhenEnded(Arc::downgrade(self)))));
                    return;
                }
                Err(error) => state.error = Some(error),
            }
            self.pause(state, Instant::now() + varied(pause));
            pause = pause.saturating_mul(2).min(pauses.longest);
        }
    }

    /// Waits until this time. Futures whose time is over are woken.
    fn pause<'a>(&'a self, mut state: MutexGuard<'a, State<V>>, ends: Instant) {
        while !matches!(state.link, CurrentClient::Stopped) {
            let now = Instant::now();
            let due: Vec<_> =
                state.wakers.extract_if(.., |(limit, _)| limit.is_some_and(|limit| limit <= now)).collect();
            if !due.is_empty() {
                drop(state);
                due.into_iter().for_each(|(_, waker)| waker.wake());
                state = self.lock();
                continue;
            }
            if ends <= now {
                return;
            }
            let next = state.wakers.iter().filter_map(|(limit, _)| *limit).chain([ends]).min().unwrap_or(ends);
            let left = next.saturating_duration_since(now);
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Notifies everybody who waits for a connection.
    fn release(&self, mut state: MutexGuard<'_, State<V>>) {
        let wakers = mem::take(&mut state.wakers);
        drop(state);
        self.changed.notify_all();
        wakers.into_iter().for_each(|(_, waker)| waker.wake());
    }

    /// Lets go of a connection that has ended.
    fn lost(&self, client: &Client<V>) {
        let mut state = self.lock();
        if matches!(&state.link, CurrentClient::Connected(current) if current.is_same(client)) {
            let over = mem::replace(&mut state.link, CurrentClient::None);
            drop(state);
            drop(over);
        }
    }

    /// Lets go of an ended connection.
    fn lost_if_ended(&self) {
        let state = self.lock();
        let CurrentClient::Connected(client) = &state.link else { return };
        if client.connection().is_over() {
            let client = client.clone();
            drop(state);
            self.lost(&client);
        }
    }
}

/// Returns a pause that is by chance up to a half shorter.
fn varied(pause: Duration) -> Duration {
    let chance = RandomState::new().hash_one(0) as u16;
    pause - pause / 2 * u32::from(chance) / u32::from(u16::MAX)
}

/// Lets others try when the application's closure panics.
struct GivesUpOnPanic<'a, V: Provider>(&'a Shared<V>, Duration);

impl<V: Provider> Drop for GivesUpOnPanic<'_, V> {
    fn drop(&mut self) {
        if thread::panicking() {
            thread::sleep(self.1);
            let mut state = self.0.lock();
            state.link = CurrentClient::None;
            self.0.release(state);
        }
    }
}

/// Waker that lets go of an ended connection.
struct WhenEnded<V: Provider>(Weak<Shared<V>>);

impl<V: Provider> Wake for WhenEnded<V> {
    fn wake(self: Arc<Self>) {
        if let Some(shared) = self.0.upgrade() {
            shared.lost_if_ended();
        }
    }
}

impl<V: Provider> Drop for Owner<V> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        let over = mem::replace(&mut state.link, CurrentClient::Stopped);
        drop(state);
        self.0.changed.notify_all();
        drop(over);
    }
}

/// A call of a [`ReconnectingClient`] client: a future for any runtime.
#[must_use]
pub struct ReconnectingCall<V: Provider> {
    client: ReconnectingClient<V>,
    stage: Stage<V>,
    attempts: Attempts,
    /// Time at which the call is given up.
    limit: Option<Instant>,
}

/// Stage of a call.
enum Stage<V: Provider> {
    /// The call waits for a connection.
    Waiting(Call),
    Made(Client<V>, StartedCall<V>),
    Ended,
}

impl<V: Provider> Future for ReconnectingCall<V> {
    type Output = CallOutcome;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        loop {
            match mem::replace(&mut this.stage, Stage::Ended) {
                Stage::Waiting(mut call) => match this.client.poll_client(context.waker(), this.limit) {
                    Ok(Some(client)) => {
                        let pending = client.start(call).until(this.limit);
                        this.stage = Stage::Made(client, pending);
                    }
                    Ok(None) => {
                        this.stage = Stage::Waiting(call);
                        return Poll::Pending;
                    }
                    Err(error) => {
                        call.release_xid();
                        let ended = Err(CallError::NotConnected(error, this.attempts.progress));
                        return Poll::Ready(CallOutcome { call, ended });
                    }
                },
                Stage::Made(client, mut pending) => {
                    let Poll::Ready(CallOutcome { mut call, ended }) = Pin::new(&mut pending).poll(context) else {
                        this.stage = Stage::Made(client, pending);
                        return Poll::Pending;
                    };
                    if let Some(ended) = this.attempts.end_attempt(&call, ended) {
                        call.release_xid();
                        return Poll::Ready(CallOutcome { call, ended });
                    }
                    this.client.shared().lost(&client);
                    this.stage = Stage::Waiting(call);
                }
                // It was polled after it had ended.
                Stage::Ended => return Poll::Pending,
            }
        }
    }
}

impl<V: Provider> ReconnectingClient<V> {
    /// Returns the connection. If there is none, makes a thread connect, which wakes the waker.
    fn poll_client(&self, waker: &Waker, limit: Option<Instant>) -> Result<Option<Client<V>>, Error> {
        let shared = self.shared();
        let (mut state, client) = shared.need(shared.lock(), self.pauses)?;
        if client.is_none() {
            if limit.is_some_and(|limit| limit <= Instant::now()) {
                return Err(state.error.clone().unwrap_or(Error::TimedOut));
            }
            state.wakers.retain(|(_, other)| !other.will_wake(waker));
            state.wakers.push((limit, waker.clone()));
            // The connecting thread learns of the limit.
            self.shared().changed.notify_all();
        }
        Ok(client)
    }
}

impl<V: Provider> Clone for ReconnectingClient<V> {
    fn clone(&self) -> Self {
        Self { owner: Arc::clone(&self.owner), pauses: self.pauses, timeout: self.timeout }
    }
}

impl<V: Provider> fmt::Debug for ReconnectingClient<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReconnectingClient").field("connected", &self.current().is_some()).finish_non_exhaustive()
    }
}

impl<V: Provider> fmt::Debug for ReconnectingCall<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReconnectingCall").field("attempts", &self.attempts).finish_non_exhaustive()
    }
}

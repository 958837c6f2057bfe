//! A connection: the Requester and the Responder of one end of it, driven over an adapter.
//!
//! There is no thread of its own. Whoever waits for something takes completions, one thread at a time, and what it finds
//! for others wakes them. A call in flight of one thread is so answered without a change of threads. Futures and servers do
//! not wait so: for them a connection is attended to by a thread that looks when the adapter has something, among many
//! connections.
//!
//! All that is known of a connection is under one lock. What takes an adapter long is done when it is let go: see [`jobs`].

mod answering;
mod buffers;
mod calling;
mod jobs;
mod line;
mod settings;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::Waker;
use std::time::{Duration, Instant};
use std::{fmt, mem};

use rpcrdma::endpoint::{Direction, Terms};
use rpcrdma::private_data::{Agreement, PrivateData};

use self::answering::Answering;
pub(crate) use self::answering::Asked;
use self::buffers::{Buffers, Sent};
use self::calling::Calling;
use self::jobs::{Done, Job, Jobs, Owner};
pub(crate) use self::line::{Place, Turn};
pub use self::settings::{MAX_CALLS, Settings};
use crate::call::{Call, CallError, Progress};
use crate::driver::{self, Driven};
use crate::error::Error;
use crate::pending::Pending;
use crate::request::Request;
use crate::verbs::{Access, Armed, Completion, Kind, Status, Verbs};
use crate::waiter::Watch;

/// What of [`Verbs`] can be used by several threads: each provider here.
pub trait Provider:
    Verbs<Domain: Send + Sync, Region: Send + Sync, QueuePair: Send + Sync, Listener: Send + Sync>
    + Clone
    + Send
    + Sync
    + 'static
{
}

impl<V> Provider for V where
    V: Verbs<Domain: Send + Sync, Region: Send + Sync, QueuePair: Send + Sync, Listener: Send + Sync>
        + Clone
        + Send
        + Sync
        + 'static
{
}

/// Why a connection is over.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// This side has ended it.
    Here,
    /// The other side has ended it, or does not know of it any more.
    Peer,
    /// Something that was posted failed.
    Failed(Kind, Status),
    /// The other side does what RPC-over-RDMA does not allow, or memory could not be fenced otherwise.
    Protocol,
    /// The reply to a call that was given up has not come within [`Settings::grace`].
    Unanswered,
    /// The adapter refused something.
    Refused(Error),
}

impl std::error::Error for Ended {}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Here => f.write_str("this side ended it"),
            Self::Peer => f.write_str("the other side ended it"),
            Self::Failed(kind, status) => write!(f, "{kind} failed: {status}"),
            Self::Protocol => f.write_str("the other side broke the protocol"),
            Self::Unanswered => f.write_str("a call that was given up was not answered"),
            Self::Refused(error) => write!(f, "the adapter refused: {error}"),
        }
    }
}

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
    shared: Arc<Owned<V>>,
}

/// What never changes.
pub(crate) struct Port<V: Verbs> {
    pub(crate) verbs: V,
    pub(crate) domain: V::Domain,
    pub(crate) queue_pair: V::QueuePair,
}

/// What connections, calls and requests hold. The last that is dropped ends the connection: the driver has the rest for as
/// long as it needs to see that.
pub(crate) struct Owned<V: Provider>(Arc<Shared<V>>);

/// A connection, as all that use it share it.
pub(crate) struct Shared<V: Provider> {
    port: Port<V>,
    state: Mutex<State<V>>,
    changed: Condvar,
    peer: SocketAddr,
    /// Those of the calls that this end makes.
    terms: Terms,
    timeout: Option<Duration>,
    /// There is somebody who takes completions whoever waits: the driver, or the server's threads.
    is_attended: AtomicBool,
    /// Wakes the driver, where it is the driver.
    driver: OnceLock<Watch>,
    /// Futures have been polled, and there is somebody to do their jobs.
    is_polled: AtomicBool,
}

pub(crate) struct State<V: Provider> {
    buffers: Buffers<V>,
    calling: Calling<V>,
    answering: Option<Answering<V>>,
    /// What the two ask for and what is done when nothing is locked.
    jobs: Jobs<V>,
    /// Receives that are filled and that the endpoints do not know of yet: they take one when all they ask for is done.
    arrived: VecDeque<Arrived>,
    lead: Lead,
    /// Threads that wait for that one.
    following: usize,
    ended: Option<Ended>,
    /// The XID of the call of the other side whose memory could not be used.
    unusable: Option<u32>,
    /// All completions were taken.
    closed: bool,
    /// Completions that were taken.
    taken: u64,
    /// Whoever attends to the connection, while it waits for something to happen.
    attendant: Option<Watch>,
    /// The connection itself, from when nobody holds it any more until the driver ends it.
    left: Option<Arc<Shared<V>>>,
}

/// Who waits for completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lead {
    Nobody,
    /// A thread. It wakes up by itself when something that it knew of will have lasted for longer than it may.
    Somebody {
        ends: Option<Instant>,
    },
}

/// A Receive that is filled.
struct Arrived {
    receive: u32,
    length: usize,
    invalidated: Option<u32>,
}

/// The rights to memory that RDMA Reads of this end bring data into.
const SINK: Access = Access::LOCAL_WRITE.union(Access::READ_SINK);

/// The number of a work request or Receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Receive(u32),
    Send(u32),
    /// An RDMA Read for the call with this number.
    Read(u32),
    /// An RDMA Write for the call with this number.
    Write(u32),
    /// An RDMA Read of the reply to this end's call with this number.
    Pull(u32),
}

impl Work {
    const fn to_id(self) -> u64 {
        match self {
            Self::Receive(number) => number as u64,
            Self::Send(number) => 1 << 32 | number as u64,
            Self::Read(number) => 2 << 32 | number as u64,
            Self::Write(number) => 3 << 32 | number as u64,
            Self::Pull(number) => 4 << 32 | number as u64,
        }
    }

    const fn from_id(id: u64) -> Self {
        let number = id as u32;
        match id >> 32 {
            0 => Self::Receive(number),
            1 => Self::Send(number),
            2 => Self::Read(number),
            3 => Self::Write(number),
            _ => Self::Pull(number),
        }
    }
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
        Ok(Self::new(port, buffers, (calls, answers), address, (settings, &[])))
    }

    /// Accepts a request for a connection, of someone who has had the connection end by calls with the XIDs `refused`.
    pub(crate) fn accept(verbs: &V, request: V::Request, settings: &Settings, refused: &[u32]) -> Result<Self, Error> {
        let (port, buffers) = settings.prepare(verbs)?;
        let ours = settings.private_data(verbs);
        let agreement = Agreement::new(PrivateData::find(verbs.private_data(&request)), Some(ours));
        let peer = verbs.peer(&request);
        verbs.accept(request, &port.queue_pair, &ours.to_octets())?;
        let (calls, answers) = (Terms::reverse(&agreement), Terms::forward(&agreement));
        Ok(Self::new(port, buffers, (calls, answers), peer, (settings, refused)))
    }

    fn new(
        port: Port<V>,
        buffers: Buffers<V>,
        (calls, answers): (Terms, Terms),
        peer: SocketAddr,
        (settings, refused): (&Settings, &[u32]),
    ) -> Self {
        let message_size = port.verbs.message_size(&port.queue_pair);
        let answering = || Answering::new(answers, settings, message_size, refused);
        let state = State {
            buffers,
            calling: Calling::new(calls, settings, message_size),
            answering: (settings.served > 0).then(answering),
            jobs: Jobs::default(),
            arrived: VecDeque::with_capacity((settings.calls + settings.served) as usize),
            lead: Lead::Nobody,
            following: 0,
            ended: None,
            unusable: None,
            closed: false,
            taken: 0,
            attendant: None,
            left: None,
        };
        let shared = Shared {
            port,
            state: Mutex::new(state),
            changed: Condvar::new(),
            peer,
            terms: calls,
            timeout: settings.timeout,
            is_attended: AtomicBool::new(false),
            driver: OnceLock::new(),
            is_polled: AtomicBool::new(false),
        };
        Self { shared: Arc::new(Owned(Arc::new(shared))) }
    }

    /// The end that a request came by.
    pub(crate) const fn of(shared: Arc<Owned<V>>) -> Self {
        Self { shared }
    }

    /// An XID that no call of this connection has had for long.
    #[must_use]
    pub fn xid(&self) -> u32 {
        self.shared.lock().calling.xid()
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
        self.shared.lock().calling.returned()
    }

    /// The next call of the other side; none where there is none within that time. Zero looks once.
    ///
    /// # Errors
    /// [`Ended`] where the connection is over.
    pub fn request(&self, timeout: Duration) -> Result<Option<Request<V>>, Ended> {
        let mut now = Instant::now();
        let deadline = now.checked_add(timeout);
        let mut state = self.shared.lock();
        let mut looked = false;
        loop {
            if let Some(asked) = state.answering.as_mut().and_then(Answering::next) {
                drop(state);
                return Ok(Some(Request::new(Arc::clone(&self.shared), asked)));
            }
            if state.closed {
                return Err(state.ended.clone().unwrap_or(Ended::Peer));
            }
            if looked {
                now = Instant::now();
                if deadline.is_some_and(|deadline| deadline <= now) {
                    return Ok(None);
                }
            }
            state = self.shared.progress(state, left(deadline, now));
            looked = true;
        }
    }

    /// Who is at the other end.
    #[must_use]
    pub fn peer(&self) -> SocketAddr {
        self.shared.peer
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
        self.shared.terms
    }

    /// Why the connection is over; none where it is not.
    #[must_use]
    pub fn ended(&self) -> Option<Ended> {
        self.shared.lock().ended.clone()
    }

    /// Whether calls of the other side are not answered yet, by this side's own doing.
    pub(crate) fn is_answering(&self) -> bool {
        self.shared.lock().answering.as_ref().is_some_and(Answering::is_busy)
    }

    /// The XID of the call of the other side whose memory could not be used, which has ended the connection.
    pub(crate) fn unusable(&self) -> Option<u32> {
        self.shared.lock().unusable
    }

    /// Somebody attends to the connection from now on: looks by [`request`](Self::request) until there is nothing, and then
    /// lets it [`rest`](Self::rest).
    pub(crate) fn attend(&self) {
        self.shared.is_attended.store(true, Ordering::Release);
        self.shared.attend();
    }

    /// Completions that were taken so far: whether a look has found any.
    pub(crate) fn taken(&self) -> u64 {
        self.shared.lock().taken
    }

    /// Has whoever attends to the connection told when there is something to do, unless there is already.
    pub(crate) fn rest(&self, watch: &Watch) -> Armed {
        match self.shared.rest(watch) {
            // Another thread may have found a call just before.
            Some(Armed::Quiet) if !self.shared.lock().answering.as_ref().is_some_and(Answering::has_next) => {
                Armed::Quiet
            }
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
        f.debug_struct("Connection").field("peer", &self.shared.peer).finish_non_exhaustive()
    }
}

/// How long it is until the deadline.
fn left(deadline: Option<Instant>, now: Instant) -> Duration {
    deadline.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(now))
}

impl<V: Provider> Shared<V> {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State<V>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does the jobs that there are; where there are none, waits until something has happened, for some time at most. One
    /// thread waits for the adapter, the others for that one.
    pub(crate) fn progress<'a>(
        &'a self,
        mut state: MutexGuard<'a, State<V>>,
        longest: Duration,
    ) -> MutexGuard<'a, State<V>> {
        if state.jobs.are_waiting() {
            return self.work(state);
        }
        let ends = state.next_end();
        let left = ends.map_or(longest, |ends| longest.min(ends.saturating_duration_since(Instant::now())));
        if state.lead == Lead::Nobody && !state.closed {
            state = self.lead(state, left, ends);
            if !longest.is_zero()
                && let Some(attendant) = &state.attendant
            {
                // This thread has taken what the attendant was to be told of, and there may be calls that are not its own.
                attendant.wake();
            }
        } else {
            state.following += 1;
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
            state.following -= 1;
        }
        state.expire(&self.port);
        self.work(state)
    }

    /// Waits for the adapter, and takes what there is. Nothing is locked while the adapter is asked: that is when it destroys
    /// what is left of a connection that is over.
    fn lead<'a>(
        &'a self,
        mut state: MutexGuard<'a, State<V>>,
        mut longest: Duration,
        ends: Option<Instant>,
    ) -> MutexGuard<'a, State<V>> {
        state.lead = Lead::Somebody { ends };
        loop {
            drop(state);
            let completion = self.port.verbs.completion(&self.port.queue_pair, longest);
            state = self.lock();
            if !state.completed(&self.port, completion) {
                break;
            }
            longest = Duration::ZERO;
        }
        state.lead = Lead::Nobody;
        state.carry_out(&self.port);
        // It looks for itself what that has changed.
        state.take_news();
        state
    }

    /// Tells what has changed, and does the jobs that there are. Nothing is locked meanwhile.
    fn work<'a>(&'a self, mut state: MutexGuard<'a, State<V>>) -> MutexGuard<'a, State<V>> {
        loop {
            self.tell(&mut state);
            if !state.calling.woken.is_empty() {
                // A waker may panic: no job is to be lost then.
                self.release(state);
                state = self.lock();
            }
            if !state.jobs.are_waiting() {
                return state;
            }
            let mut jobs = state.jobs.take();
            while let Some(job) = jobs.pop_front() {
                drop(state);
                let done = job.run(&self.port);
                state = self.lock();
                state.done(&self.port, done);
                self.tell(&mut state);
            }
            state.jobs.keep(jobs);
        }
    }

    /// The same, and then lets go of the lock: for who has asked for something, and may take a while.
    pub(crate) fn finish(&self, state: MutexGuard<'_, State<V>>) {
        let state = self.work(state);
        self.release(state);
    }

    /// Lets go of the lock, for who may poll a future: that may not take long, so whoever attends to the connection does the
    /// jobs.
    pub(crate) fn leave_work(&self, state: MutexGuard<'_, State<V>>) {
        if !state.jobs.are_waiting() {
            self.release(state);
        } else if state.closed || !self.is_polled.load(Ordering::Acquire) {
            self.finish(state);
        } else {
            // One that does not rest looks for jobs before it does.
            state.attendant.iter().for_each(Watch::wake);
            self.release(state);
        }
    }

    /// Somebody attends to the connection now, and need not be told.
    fn attend(&self) {
        self.lock().attendant = None;
    }

    /// Has whoever attends to the connection told when there is something to do, unless there is already; none where there will
    /// be nothing any more.
    fn rest(&self, watch: &Watch) -> Option<Armed> {
        let mut state = self.lock();
        if state.closed {
            return None;
        }
        if state.jobs.are_waiting() {
            return Some(Armed::Ready);
        }
        state.attendant = Some(watch.clone());
        state.remind();
        drop(state);
        let armed = self.port.verbs.watch(&self.port.queue_pair, watch.waiter(), watch.key());
        Some(armed.unwrap_or_else(|error| {
            let mut state = self.lock();
            state.end(Ended::Refused(error));
            self.finish(state);
            Armed::Ready
        }))
    }

    /// Tells other threads what has changed: those that wait for another thread, the one that waits for the adapter, and whoever
    /// attends to the connection.
    fn tell(&self, state: &mut State<V>) {
        if state.following > 0 {
            self.changed.notify_all();
        }
        let news = state.take_news();
        if state.has_lead_look(news) {
            self.port.verbs.interrupt(&self.port.queue_pair);
        }
        if news && let Some(attendant) = &state.attendant {
            attendant.wake();
        }
    }

    /// Says what has changed, to threads and to futures. A waker may do anything, so nothing is locked then.
    pub(crate) fn release(&self, mut state: MutexGuard<'_, State<V>>) {
        self.tell(&mut state);
        state.remind();
        let woken = mem::take(&mut state.calling.woken);
        let _spent = mem::take(&mut state.calling.spent);
        drop(state);
        woken.into_iter().for_each(Waker::wake);
    }

    /// When a call that begins now is given up.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.timeout.and_then(|timeout| Instant::now().checked_add(timeout))
    }

    /// Makes a call. It may have a place in the line already.
    pub(crate) fn call(&self, call: &mut Call, place: Place, deadline: Option<Instant>) -> Result<(), CallError> {
        let ticket = self.begin(call, place, deadline)?;
        self.wait(ticket, call, deadline)
    }

    /// Begins a call, when it is its turn.
    fn begin(&self, call: &mut Call, place: Place, deadline: Option<Instant>) -> Result<usize, CallError> {
        let mut waits = Waits { shared: self, place };
        let mut state = self.lock();
        loop {
            let begun = state.begin(&self.port, call, &mut waits.place, Turn::Looking).transpose();
            // That the connection is over is said when the buffers of all calls are back.
            if let Some(begun) = begun
                && (begun.is_ok() || !state.is_ending())
            {
                self.finish(state);
                return begun;
            }
            let now = Instant::now();
            if deadline.is_some_and(|deadline| deadline <= now) {
                drop(state);
                return Err(CallError::TimedOut(Progress::NotSent));
            }
            state = self.progress(state, left(deadline, now));
        }
    }

    /// Waits for no place any more.
    pub(crate) fn leave(&self, place: &mut Place) {
        if place.is_some() {
            let mut state = self.lock();
            state.calling.leave(place);
            self.release(state);
        }
    }

    /// Waits for the end of a call that was begun.
    pub(crate) fn wait(&self, ticket: usize, call: &mut Call, deadline: Option<Instant>) -> Result<(), CallError> {
        let (mut state, mut late) = (self.lock(), false);
        loop {
            if let Some(outcome) = state.calling.outcome(ticket, call) {
                return outcome;
            }
            if late {
                return self.give_up(state, ticket, call);
            }
            let now = Instant::now();
            // Even then the reply may be there, and nobody have looked.
            late = deadline.is_some_and(|deadline| deadline <= now);
            state = self.progress(state, left(deadline, now));
        }
    }

    /// Gives a call up. The buffers of one that was not sent come back as soon as the adapter has room for more work.
    fn give_up<'a>(
        &'a self,
        mut state: MutexGuard<'a, State<V>>,
        ticket: usize,
        call: &mut Call,
    ) -> Result<(), CallError> {
        state.give_up(&self.port, ticket);
        loop {
            if let Some(outcome) = state.calling.outcome(ticket, call) {
                self.finish(state);
                return outcome;
            }
            if state.calling.progress(ticket) == Progress::Sent {
                let _waker = state.calling.forget(ticket);
                self.finish(state);
                return Err(CallError::TimedOut(Progress::Sent));
            }
            state = self.progress(state, Duration::MAX);
        }
    }

    pub(crate) fn disconnect(&self) {
        let mut state = self.lock();
        state.end(Ended::Here);
        self.finish(state);
    }

    pub(crate) const fn peer(&self) -> SocketAddr {
        self.peer
    }

    pub(crate) const fn port(&self) -> &Port<V> {
        &self.port
    }
}

/// A thread that waits for its turn to call. However it goes on, the next one's turn comes.
struct Waits<'a, V: Provider> {
    shared: &'a Shared<V>,
    place: Place,
}

impl<V: Provider> Drop for Waits<'_, V> {
    fn drop(&mut self) {
        self.shared.leave(&mut self.place);
    }
}

impl<V: Provider> Owned<V> {
    /// Has somebody take completions from now on, as a future waits, who cannot; false where nobody does.
    pub(crate) fn be_attended(&self) -> bool {
        let Self(shared) = self;
        if shared.is_attended.load(Ordering::Acquire) {
            return true;
        }
        // One after the other: nobody is to count on a driver that does not come.
        let _state = shared.lock();
        if shared.is_attended.load(Ordering::Acquire) {
            return true;
        }
        let weak: Weak<Shared<V>> = Arc::downgrade(shared);
        let Ok(driver) = driver::drive(weak) else { return false };
        shared.is_attended.store(true, Ordering::Release);
        shared.driver.get_or_init(|| driver).wake();
        true
    }

    /// The same, for a future: from now on its jobs are left to whoever attends to the connection.
    pub(crate) fn be_polled(&self) -> bool {
        let is_attended = self.be_attended();
        self.0.is_polled.store(is_attended, Ordering::Release);
        is_attended
    }

    /// Has somebody see to it that a call that was given up does not wait for its reply for too long.
    pub(crate) fn watch_grace(&self, outcome: &Result<(), CallError>) {
        if matches!(outcome, Err(CallError::TimedOut(Progress::Sent))) {
            // Where the operating system has no thread for that, whoever waits looks at the clock too.
            self.be_attended();
        }
    }
}

impl<V: Provider> Driven for Shared<V> {
    fn drive(&self, watch: &Watch) -> bool {
        self.attend();
        let mut state = self.lock();
        let left = state.left.take();
        if left.is_some() {
            state.end(Ended::Here);
        }
        drop(self.progress(state, Duration::ZERO));
        match self.rest(watch) {
            // Nobody else is to let go of what there is, even if it is over.
            None => left.is_none(),
            Some(Armed::Quiet) => true,
            Some(Armed::Ready) => {
                // When it is this connection's turn again.
                watch.wake();
                true
            }
        }
    }
}

impl<V: Provider> Deref for Owned<V> {
    type Target = Shared<V>;

    fn deref(&self) -> &Shared<V> {
        &self.0
    }
}

impl<V: Provider> Drop for Owned<V> {
    /// Ends the connection, which takes an adapter long. The driver does it where it attends to the connection: a future may
    /// be the last that has it.
    fn drop(&mut self) {
        let Self(shared) = self;
        match shared.driver.get() {
            Some(driver) => {
                shared.lock().left = Some(Arc::clone(shared));
                driver.wake();
            }
            None => shared.disconnect(),
        }
    }
}

impl<V: Provider> State<V> {
    /// Takes a completion; whether there may be another.
    fn completed(&mut self, port: &Port<V>, completion: Result<Option<Completion>, Error>) -> bool {
        match completion {
            Ok(None) => false,
            Ok(Some(completion)) => {
                if let Err(ended) = self.happened(&completion) {
                    self.end(ended);
                }
                true
            }
            Err(Error::Disconnected) => {
                self.close(port);
                false
            }
            Err(error) => {
                self.end(Ended::Refused(error));
                false
            }
        }
    }

    fn happened(&mut self, completion: &Completion) -> Result<(), Ended> {
        let Completion { id, kind, status, length, invalidated } = *completion;
        self.taken = self.taken.wrapping_add(1);
        let work = Work::from_id(id);
        if !matches!(work, Work::Receive(_)) {
            self.buffers.completed();
        }
        if let Work::Send(slot) = work {
            match self.buffers.take_sent(slot) {
                Sent::Call(call) if status == Status::Success => self.calling.sent(call),
                Sent::Reply(number) => {
                    if let Some(answering) = &mut self.answering {
                        answering.sent(&mut self.jobs, number);
                    }
                }
                _ => {}
            }
        }
        match (work, status) {
            (_, Status::Flushed) => return Err(Ended::Peer),
            (Work::Receive(receive), Status::Success) => {
                self.arrived.push_back(Arrived { receive, length, invalidated });
            }
            (Work::Read(number), Status::Success) => {
                self.answering.iter_mut().for_each(|answering| answering.pulled(number));
            }
            (Work::Pull(number), Status::Success) => self.calling.pulled(number),
            (_, Status::Success) => {}
            (Work::Read(number) | Work::Write(number), Status::RemoteAccess) => {
                self.unusable = self.answering.as_ref().and_then(|answering| answering.xid(number));
                return Err(Ended::Failed(kind, status));
            }
            _ => return Err(Ended::Failed(kind, status)),
        }
        Ok(())
    }

    /// Does what the endpoints ask for, as long as there is room for it, and tells them what has come.
    pub(crate) fn carry_out(&mut self, port: &Port<V>) {
        while self.closed || self.buffers.are_ready() {
            match self.step(port) {
                Ok(true) => {}
                Ok(false) => break,
                Err(ended) => {
                    self.end(ended);
                    break;
                }
            }
        }
    }

    fn step(&mut self, port: &Port<V>) -> Result<bool, Ended> {
        let Self { buffers, calling, answering, jobs, arrived, .. } = self;
        if calling.step(port, buffers, jobs)? {
            return Ok(true);
        }
        if let Some(answering) = answering
            && answering.step(port, buffers, jobs)?
        {
            return Ok(true);
        }
        let Some(Arrived { receive, length, invalidated }) = arrived.pop_front() else { return Ok(false) };
        // For the Requester or for the Responder (RFC 8167 section 5).
        let taken = buffers.look(port, receive, |octets| {
            let octets = octets.get(..length).unwrap_or_default();
            match answering {
                // Only a reply may invalidate memory (RFC 8797 section 4.1).
                Some(answering) if calling.direction(octets) == Direction::Call => {
                    answering.received(receive, octets) && invalidated.is_none()
                }
                _ => calling.received(receive, octets, invalidated),
            }
        })?;
        if taken { Ok(true) } else { Err(Ended::Protocol) }
    }

    /// Tells the endpoints what came of a job, and does what they ask for then.
    fn done(&mut self, port: &Port<V>, done: Done<V>) {
        let Self { calling, answering, jobs, .. } = self;
        jobs.end();
        let told = match (done, answering) {
            (Done::Registered(Owner::Call(owner), registered), _) => calling.registered(port, jobs, owner, registered),
            (Done::Deregistered(Owner::Call(owner), buffer), _) => calling.deregistered(jobs, owner, buffer),
            (Done::Registered(Owner::Answer(owner), registered), Some(answering)) => {
                answering.registered(port, jobs, owner, registered)
            }
            (Done::Deregistered(Owner::Answer(owner), buffer), Some(answering)) => {
                answering.deregistered(jobs, owner, buffer)
            }
            (Done::Disconnected(Err(_)), _) => {
                // Nothing will come that could be waited for.
                self.close(port);
                Ok(())
            }
            (Done::Disconnected(Ok(())) | Done::Registered(..) | Done::Deregistered(..), _) => Ok(()),
        };
        if let Err(ended) = told {
            self.end(ended);
        }
        self.carry_out(port);
    }

    /// Begins a call; none where there are as many as there can be, or others wait for that already: it has its place
    /// among them then, if it is to wait.
    pub(crate) fn begin(
        &mut self,
        port: &Port<V>,
        call: &mut Call,
        place: &mut Place,
        turn: Turn<'_>,
    ) -> Result<Option<usize>, CallError> {
        if let Some(ended) = &self.ended {
            let lost = CallError::Lost(ended.clone(), Progress::NotSent);
            self.calling.leave(place);
            return Err(lost);
        }
        let ticket = self.calling.begin(call, place, turn)?;
        self.carry_out(port);
        Ok(ticket)
    }

    /// Gives a call up, and with it the connection where its time for that is over at once.
    pub(crate) fn give_up(&mut self, port: &Port<V>, ticket: usize) {
        self.calling.give_up(ticket);
        self.carry_out(port);
        self.expire(port);
    }

    /// Whether calls that were given up wait for their replies still.
    pub(crate) fn has_grace(&self) -> bool {
        self.grace_ends().is_some()
    }

    /// When something will have lasted for longer than it may.
    fn next_end(&self) -> Option<Instant> {
        let provided = self.answering.as_ref().and_then(Answering::next_end);
        provided.into_iter().chain(self.grace_ends()).min()
    }

    /// When a call that was given up will have waited for its reply for too long.
    fn grace_ends(&self) -> Option<Instant> {
        self.calling.grace_ends().filter(|_| self.ended.is_none())
    }

    /// Whether a thread that waits for completions has to look at what another one has done.
    fn has_lead_look(&self, news: bool) -> bool {
        let Lead::Somebody { ends } = self.lead else { return false };
        let is_sooner = |next: Instant| ends.is_none_or(|ends| next < ends);
        news || self.next_end().is_some_and(is_sooner)
    }

    /// Whether something has come about that threads wait for, since this was asked last.
    fn take_news(&mut self) -> bool {
        let answered = self.answering.as_mut().is_some_and(|answering| mem::take(&mut answering.news));
        mem::take(&mut self.calling.news) | answered
    }

    /// Has whoever attends to the connection look when the next end comes.
    fn remind(&self) {
        if let (Some(attendant), Some(ends)) = (&self.attendant, self.next_end()) {
            attendant.wake_at(ends);
        }
    }

    /// Ends what has lasted for longer than it may.
    fn expire(&mut self, port: &Port<V>) {
        let Some(ends) = self.next_end() else { return };
        let now = Instant::now();
        if now < ends {
            return;
        }
        if let Some(answering) = &mut self.answering {
            answering.expire(now);
        }
        if self.grace_ends().is_some_and(|ends| ends <= now) {
            self.end(Ended::Unanswered);
        }
        self.carry_out(port);
    }

    /// Ends the connection. That it is over is known when its last completion was taken.
    fn end(&mut self, ended: Ended) {
        match &self.ended {
            None => {
                self.ended = Some(ended);
                self.jobs.add(Job::Disconnect);
            }
            // Work was refused as the connection is over, before the completion that tells why was taken.
            Some(Ended::Peer) if matches!(ended, Ended::Failed(..)) => self.ended = Some(ended),
            Some(_) => {}
        }
    }

    /// Whether the connection is over, and something of it still to be taken back.
    fn is_ending(&self) -> bool {
        self.ended.is_some() && !(self.closed && self.jobs.are_done())
    }

    /// No completion will come any more: all calls come to their end.
    fn close(&mut self, port: &Port<V>) {
        if self.closed {
            return;
        }
        self.closed = true;
        self.calling.news = true;
        self.take_replies(port);
        let ended = self.ended.get_or_insert(Ended::Peer).clone();
        self.calling.lost(ended);
        if let Some(answering) = &mut self.answering {
            answering.lost(&mut self.jobs);
        }
        self.carry_out(port);
    }

    /// Takes what has come before the end. A reply is still good; a call would be answered to nobody.
    fn take_replies(&mut self, port: &Port<V>) {
        let Self { buffers, calling, answering, jobs, arrived, .. } = self;
        for Arrived { receive, length, invalidated } in mem::take(arrived) {
            // What is asked for is of no use any more.
            while matches!(calling.step(port, buffers, jobs), Ok(true) | Err(Ended::Peer)) {}
            let _ = buffers.look(port, receive, |octets| {
                let octets = octets.get(..length).unwrap_or_default();
                if answering.is_none() || calling.direction(octets) == Direction::Reply {
                    calling.received(receive, octets, invalidated);
                }
            });
        }
    }

    pub(crate) fn calling(&mut self) -> &mut Calling<V> {
        &mut self.calling
    }

    pub(crate) fn answer<T>(&mut self, port: &Port<V>, answer: impl FnOnce(&mut Answering<V>) -> T) -> Option<T> {
        let done = self.answering.as_mut().map(answer);
        self.carry_out(port);
        done
    }
}

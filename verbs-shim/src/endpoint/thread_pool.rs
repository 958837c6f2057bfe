//! Thread pool of a server.
//!
//! All threads wait in one [`Waiter`], for events of any connection. The thread that is woken gets the key of one
//! connection and serves that connection until nothing is left to do, while another thread goes on waiting. So there
//! are as many threads as connections that are being served at the moment, and two more. A slow service holds up one
//! connection only, a call to a sleeping server wakes one thread, and idle connections need none. Additional threads
//! end after two seconds. When the server has stopped, all threads are gone.
//!
//! The caller of [`Server::serve`] accepts all connections. If the threads took turns, each would allocate connections
//! from another part of the heap, and none would reuse memory that others have freed: memory grew by the size of all
//! connections with each thread.

use std::collections::HashMap;
use std::mem;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::driver::resources::Provider;
use crate::endpoint::connection::Connection;
use crate::endpoint::server::{Server, Service, Stopper};
use crate::endpoint::threads::Threads;
use crate::message::end_reason::EndReason;
use crate::trace;
use crate::verbs::Error;
use crate::verbs::WatchState;
use crate::verbs::waiter::{Waiter, Watch};

/// Key of an event at the listener.
const LISTENER: u64 = 0;
/// Key of the request to stop.
const STOP: u64 = 1;
/// Number of waiting threads that do not end when idle.
const WAIT: usize = 2;
/// Idle time after which additional threads end, so that threads do not come and go with each burst of calls.
const LINGER: Duration = Duration::from_secs(2);

/// Threads of a server, and the connections that are served.
pub(crate) struct ThreadPool<'a, V: Provider, S> {
    server: &'a Server<V>,
    service: &'a S,
    waiter: Waiter,
    /// Waits for the listener.
    listener: Waiter,
    state: Mutex<PoolState<V>>,
}

struct PoolState<V: Provider> {
    /// Connections by key.
    served: HashMap<u64, Arc<ServedConnection<V>>>,
    last: u64,
    /// Number of waiting threads.
    waiting: usize,
    stage: PoolStage,
    failed: Option<Error>,
}

/// A pool that stops accepts no connection. The threads end with the last connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PoolStage {
    Serving,
    Stopping,
}

/// A connection that is served.
struct ServedConnection<V: Provider> {
    connection: Connection<V>,
    watch: Watch,
    last_activity: Mutex<LastActivity>,
    /// True once the service was notified of the connection's version.
    version_reported: AtomicBool,
    serve_state: Mutex<ServeState>,
}

/// A connection is served by at most one thread at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServeState {
    Idle,
    Busy,
    /// Busy, and to be served again, because of another event.
    Repeat,
}

/// Time of the last message from the other side.
#[derive(Clone, Copy, Debug)]
enum LastActivity {
    /// Just connected, before the service is notified.
    Never,
    /// `None` without an idle limit: then nobody reads the clock.
    At(Option<Instant>),
}

impl<V: Provider> Server<V> {
    /// Answers all calls until the server is stopped. This thread accepts connections. Each connection with calls in
    /// progress has a thread, and two more threads sleep.
    ///
    /// # Errors
    /// Any error of [`Verbs::request`](crate::Verbs::request), which stops the server. Failures of single connections
    /// are reported to the service.
    ///
    /// # Panics
    /// If the service has panicked, after the server has stopped. A panic in [`Service::listening`] or
    /// [`Service::failed`] stops the server.
    pub fn serve(&self, service: &impl Service<V>) -> Result<(), Error> {
        let pool = ThreadPool::new(self, service)?;
        thread::scope(|scope| {
            let threads = Arc::new(Threads::new(scope));
            pool.spawn(&threads)?;
            pool.report_listening();
            pool.listen();
            threads.join_all();
            pool.failure()
        })
    }
}

impl<'a, V: Provider, S: Service<V>> ThreadPool<'a, V, S> {
    pub(crate) fn new(server: &'a Server<V>, service: &'a S) -> Result<Self, Error> {
        let state =
            PoolState { served: HashMap::new(), last: STOP, waiting: 0, stage: PoolStage::Serving, failed: None };
        let (waiter, listener) = (Waiter::new()?, Waiter::new()?);
        listener.wake(LISTENER);
        [&waiter, &listener].into_iter().for_each(|waiter| server.stop.wake_when_stopped(waiter.waker(STOP)));
        Ok(Self { server, service, waiter, listener, state: Mutex::new(state) })
    }

    /// Returns the error that stopped the server.
    pub(crate) fn failure(&self) -> Result<(), Error> {
        self.lock().failed.take().map_or(Ok(()), Err)
    }

    fn lock(&self) -> MutexGuard<'_, PoolState<V>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a thread.
    fn spawn<'scope>(&'scope self, threads: &Arc<Threads<'scope, '_>>) -> Result<(), Error> {
        let others = Arc::clone(threads);
        threads.start_thread("rpcrdma server", move || self.work(&others))
    }

    /// Main loop of each thread.
    fn work<'scope>(&'scope self, threads: &Arc<Threads<'scope, '_>>) {
        loop {
            let woken = self.waiter.wait(self.begin_to_wait());
            let waiting = self.end_to_wait();
            if self.is_over() {
                // Wakes the next thread, which ends too.
                self.waiter.wake(STOP);
                return;
            }
            match waiting {
                // Without another thread, all other events would wait for this one.
                0 => drop(self.spawn(threads)),
                WAIT.. if woken == Ok(None) => return threads.join_ended(),
                _ => {}
            }
            match woken {
                Ok(Some(STOP)) => self.stop(),
                Ok(Some(key)) => self.serve(key),
                Ok(None) => {}
                Err(error) => self.fail(error),
            }
        }
    }

    /// Counts one more waiting thread. Returns the time after which an additional thread ends.
    fn begin_to_wait(&self) -> Option<Duration> {
        let mut state = self.lock();
        state.waiting += 1;
        (state.waiting > WAIT).then_some(LINGER)
    }

    /// Counts one waiting thread less. Returns the number of the others.
    fn end_to_wait(&self) -> usize {
        let mut state = self.lock();
        state.waiting -= 1;
        state.waiting
    }

    /// Returns true if there is nothing left to wait for.
    fn is_over(&self) -> bool {
        let state = self.lock();
        state.stage == PoolStage::Stopping && state.served.is_empty()
    }

    /// Ends all connections.
    fn stop(&self) {
        let mut state = self.lock();
        state.stage = PoolStage::Stopping;
        let all: Vec<_> = state.served.values().map(Arc::clone).collect();
        // The connections may learn of that later than the listener.
        let ended = if state.failed == Some(Error::Removed) { EndReason::Removed } else { EndReason::Here };
        drop(state);
        all.iter().for_each(|served| served.connection.end_because(ended.clone()));
        if all.is_empty() {
            // Otherwise the removal of the last connection wakes it.
            self.waiter.wake(STOP);
        }
    }

    /// Stops because of an error.
    fn fail(&self, error: Error) {
        self.lock().failed.get_or_insert(error);
        self.server.stop.stop();
    }

    fn report_listening(&self) {
        let _stopping = StopsOnPanic(&self.server.stop);
        self.service.listening();
    }

    /// Accepts connections until the server is stopped.
    fn listen(&self) {
        while !self.server.stop.is_stopped() {
            match self.listener.wait(None) {
                Ok(_) => self.accept(),
                Err(error) => self.fail(error),
            }
        }
    }

    /// Accepts waiting requests for connections.
    fn accept(&self) {
        let server = self.server;
        loop {
            if server.stop.is_stopped() {
                return;
            }
            let armed = match server.verbs.request(&server.listener, Duration::ZERO) {
                Ok(Some(request)) => {
                    self.answer(request);
                    continue;
                }
                Ok(None) => server.verbs.watch_requests(&server.listener, &self.listener, LISTENER),
                Err(error) => Err(error),
            };
            match armed {
                Ok(WatchState::Quiet) => return,
                Ok(WatchState::Ready) => {}
                Err(error) => return self.fail(error),
            }
        }
    }

    fn answer(&self, request: V::Request) {
        let server = self.server;
        let peer = server.verbs.peer(&request);
        if self.lock().served.len() >= server.most {
            let error = Error::Connections;
            trace::connected(peer, Err(&error));
            self.failed(peer, &error);
            let _ = server.verbs.reject(request, error.to_string().as_bytes());
            return;
        }
        match server.connection(request) {
            Ok(connection) => self.add_connection(connection),
            Err(error) => self.failed(peer, &error),
        }
    }

    fn failed(&self, peer: SocketAddr, why: &Error) {
        let _stopping = StopsOnPanic(&self.server.stop);
        self.service.failed(peer, why);
    }

    /// Adds a connection.
    fn add_connection(&self, connection: Connection<V>) {
        let mut state = self.lock();
        state.last += 1;
        let watch = Watch::new(&self.waiter, state.last);
        let served = Arc::new(ServedConnection {
            connection,
            watch,
            last_activity: Mutex::new(LastActivity::Never),
            version_reported: AtomicBool::new(false),
            serve_state: Mutex::new(ServeState::Idle),
        });
        let key = state.last;
        state.served.insert(key, Arc::clone(&served));
        let stage = state.stage;
        drop(state);
        if stage == PoolStage::Stopping {
            served.connection.disconnect();
        }
        served.watch.wake();
    }

    /// Serves a connection until there is nothing to do, or the connection has ended.
    fn serve(&self, key: u64) {
        let Some(served) = self.lock().served.get(&key).map(Arc::clone) else { return };
        if !served.begin_serving() {
            return;
        }
        let removal = Removal { pool: self, key, served: &served };
        loop {
            served.connection.begin_serving();
            if let Err(ended) = served.serve(self.service, self.server.idle) {
                self.server.remember_unusable(&served.connection);
                self.service.ended(served.connection.peer(), &ended);
                return;
            }
            if served.arm(self.server.idle) == WatchState::Quiet && served.end_serving() {
                mem::forget(removal);
                return;
            }
        }
    }
}

/// Stops the server if the service panics in the thread that accepts connections.
struct StopsOnPanic<'a>(&'a Stopper);

impl Drop for StopsOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop();
        }
    }
}

/// Removes a connection when dropped, after the end of the connection or a panic of the service.
struct Removal<'a, V: Provider, S: Service<V>> {
    pool: &'a ThreadPool<'a, V, S>,
    key: u64,
    served: &'a ServedConnection<V>,
}

impl<V: Provider, S: Service<V>> Drop for Removal<'_, V, S> {
    fn drop(&mut self) {
        // Requests that are answered elsewhere would keep it open.
        self.served.connection.disconnect();
        let mut state = self.pool.lock();
        state.served.remove(&self.key);
        self.pool.waiter.forget(self.key);
        if state.served.is_empty() && state.stage == PoolStage::Stopping {
            self.pool.waiter.wake(STOP);
        }
    }
}

impl<V: Provider> ServedConnection<V> {
    fn lock(&self) -> MutexGuard<'_, LastActivity> {
        self.last_activity.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to serve a connection. Returns false if another thread serves the connection, which then does so once
    /// more.
    fn begin_serving(&self) -> bool {
        let mut serve_state = self.serve_state();
        *serve_state = if *serve_state == ServeState::Idle { ServeState::Busy } else { ServeState::Repeat };
        *serve_state == ServeState::Busy
    }

    /// Stops serving a connection. Returns false if there was another event meanwhile.
    fn end_serving(&self) -> bool {
        let mut serve_state = self.serve_state();
        *serve_state = if *serve_state == ServeState::Repeat { ServeState::Busy } else { ServeState::Idle };
        *serve_state == ServeState::Idle
    }

    fn serve_state(&self) -> MutexGuard<'_, ServeState> {
        self.serve_state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes all waiting calls to the service, and ends a connection that has been idle for too long.
    fn serve(&self, service: &impl Service<V>, idle: Option<Duration>) -> Result<(), EndReason> {
        let now = || idle.map(|_| Instant::now());
        let mut last_activity = match *self.lock() {
            LastActivity::Never => {
                service.connected(&self.connection);
                now()
            }
            LastActivity::At(last_activity) => last_activity,
        };
        let mut is_active = false;
        loop {
            let taken = self.connection.completions_taken();
            let request = self.connection.request(Duration::ZERO)?;
            if !self.version_reported.load(Ordering::Relaxed) && self.connection.version().is_some() {
                self.version_reported.store(true, Ordering::Relaxed);
                service.agreed(&self.connection);
            }
            if let Some(request) = request {
                service.call(request);
                is_active = true;
                continue;
            }
            if self.connection.completions_taken() != taken {
                // Completions have come, and more may have: looking again is faster than sleeping.
                continue;
            }
            if is_active || self.connection.is_answering() {
                last_activity = now();
            } else if idle.zip(last_activity).is_some_and(|(longest, last_activity)| last_activity.elapsed() > longest)
            {
                self.connection.disconnect();
                continue;
            }
            *self.lock() = LastActivity::At(last_activity);
            return Ok(());
        }
    }

    /// Makes a thread wake up when there is something to do.
    fn arm(&self, idle: Option<Duration>) -> WatchState {
        let last_activity = *self.lock();
        if let (Some(longest), LastActivity::At(Some(last_activity))) = (idle, last_activity)
            && let Some(ends) = last_activity.checked_add(longest)
        {
            self.watch.wake_at(ends);
        }
        self.connection.arm(&self.watch)
    }
}

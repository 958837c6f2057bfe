//! The threads of a server.
//!
//! All of them wait in one place, for whatever happens on any connection or at the listener. The thread that is woken
//! takes the key of one connection and looks after that connection until it is quiet, while another goes on waiting. So
//! there are as many threads as connections that are being served at the moment, and two more. A slow service holds up
//! its own connection only, a call to a sleeping server wakes one thread, and idle connections cost none. Threads
//! beyond these end after two seconds. When the server has stopped, all threads are gone.

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
use crate::message::ended::Ended;
use crate::trace;
use crate::verbs::Armed;
use crate::verbs::Error;
use crate::verbs::waiter::{Waiter, Watch};

/// The listener has something.
const LISTENER: u64 = 0;
/// The server has to stop, or has stopped.
const STOP: u64 = 1;
/// Threads that wait, however long nothing happens.
const WAIT: usize = 2;
/// How long additional threads wait before they end, so that threads do not come and go with each burst of calls.
const LINGER: Duration = Duration::from_secs(2);

/// The threads of a server, and the connections that they look after.
pub(crate) struct Crew<'a, V: Provider, S> {
    server: &'a Server<V>,
    service: &'a S,
    waiter: Waiter,
    state: Mutex<CrewState<V>>,
}

struct CrewState<V: Provider> {
    /// By their keys.
    served: HashMap<u64, Arc<Served<V>>>,
    last: u64,
    /// Threads that wait.
    waiting: usize,
    stage: CrewStage,
    failed: Option<Error>,
}

/// Once it stops, no connection is accepted, and when the last one has ended, so do the threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CrewStage {
    Serving,
    Stopping,
}

/// A connection that is served.
struct Served<V: Provider> {
    connection: Connection<V>,
    watch: Watch,
    heard: Mutex<LastHeard>,
    /// Whether the service knows which version the connection speaks.
    told_version: AtomicBool,
    care: Mutex<Care>,
}

/// Whether somebody looks after a connection: one thread at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Care {
    Nobody,
    Somebody,
    /// A thread that has to look again, because something has happened meanwhile.
    Again,
}

/// When the other side was last heard from.
#[derive(Clone, Copy, Debug)]
enum LastHeard {
    /// It has just connected, and the service does not know yet.
    Never,
    At(Instant),
}

impl<V: Provider> Server<V> {
    /// Answers all calls until it is stopped. Each connection whose calls are being answered has a thread of its own,
    /// and two more threads sleep.
    ///
    /// # Errors
    /// Those of [`Verbs::request`](crate::Verbs::request), which stop the server. Failures of single connections are
    /// reported to the service.
    ///
    /// # Panics
    /// When it is stopped, if the service has panicked; a panic in [`Service::failed`] stops it.
    pub fn serve(&self, service: &impl Service<V>) -> Result<(), Error> {
        let crew = Crew::new(self, service)?;
        thread::scope(|scope| {
            let threads = Arc::new(Threads::new(scope));
            crew.hire(&threads)?;
            threads.join_all();
            crew.failure()
        })
    }
}

impl<'a, V: Provider, S: Service<V>> Crew<'a, V, S> {
    pub(crate) fn new(server: &'a Server<V>, service: &'a S) -> Result<Self, Error> {
        let state =
            CrewState { served: HashMap::new(), last: STOP, waiting: 0, stage: CrewStage::Serving, failed: None };
        let waiter = Waiter::new()?;
        waiter.wake(LISTENER);
        server.stop.tell(waiter.waker(STOP));
        Ok(Self { server, service, waiter, state: Mutex::new(state) })
    }

    /// Why it has stopped, if nobody asked for it.
    pub(crate) fn failure(&self) -> Result<(), Error> {
        self.lock().failed.take().map_or(Ok(()), Err)
    }

    fn lock(&self) -> MutexGuard<'_, CrewState<V>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a thread.
    fn hire<'scope>(&'scope self, threads: &Arc<Threads<'scope, '_>>) -> Result<(), Error> {
        let others = Arc::clone(threads);
        threads.begin("rpcrdma server", move || self.work(&others))
    }

    /// What each thread does.
    fn work<'scope>(&'scope self, threads: &Arc<Threads<'scope, '_>>) {
        loop {
            let woken = self.waiter.wait(self.begin_to_wait());
            let waiting = self.end_to_wait();
            if self.is_over() {
                // For the next thread.
                self.waiter.wake(STOP);
                return;
            }
            match waiting {
                // Without another thread, whatever else happens waits for this one.
                0 => drop(self.hire(threads)),
                WAIT.. if woken == Ok(None) => return threads.join_ended(),
                _ => {}
            }
            match woken {
                Ok(Some(LISTENER)) => self.accept(),
                Ok(Some(STOP)) => self.stop(),
                Ok(Some(key)) => self.look_after(key),
                Ok(None) => {}
                Err(error) => self.fail(error),
            }
        }
    }

    /// Counts one more waiting thread, and says how long it may wait.
    fn begin_to_wait(&self) -> Option<Duration> {
        let mut state = self.lock();
        state.waiting += 1;
        (state.waiting > WAIT).then_some(LINGER)
    }

    /// Counts one less, and says how many still wait.
    fn end_to_wait(&self) -> usize {
        let mut state = self.lock();
        state.waiting -= 1;
        state.waiting
    }

    /// Whether there is nothing left to wait for.
    fn is_over(&self) -> bool {
        let state = self.lock();
        state.stage == CrewStage::Stopping && state.served.is_empty()
    }

    /// Ends all connections.
    fn stop(&self) {
        let mut state = self.lock();
        state.stage = CrewStage::Stopping;
        let all: Vec<_> = state.served.values().map(Arc::clone).collect();
        drop(state);
        all.iter().for_each(|served| served.connection.disconnect());
        if all.is_empty() {
            // Otherwise the last that leaves says so.
            self.waiter.wake(STOP);
        }
    }

    /// Stops because it cannot go on.
    fn fail(&self, error: Error) {
        self.lock().failed.get_or_insert(error);
        self.server.stop.stop();
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
                Ok(None) => server.verbs.watch_requests(&server.listener, &self.waiter, LISTENER),
                Err(error) => Err(error),
            };
            match armed {
                Ok(Armed::Quiet) => return,
                Ok(Armed::Ready) => {}
                Err(error) => return self.fail(error),
            }
        }
    }

    fn answer(&self, request: V::Request) {
        let server = self.server;
        let peer = server.verbs.peer(&request);
        if self.lock().served.len() >= server.most {
            trace::connected(peer, Err(&Error::Exhausted));
            self.failed(peer, &Error::Exhausted);
            let _ = server.verbs.reject(request, &[]);
            return;
        }
        match server.connection(request) {
            Ok(connection) => self.begin(connection),
            Err(error) => self.failed(peer, &error),
        }
    }

    fn failed(&self, peer: SocketAddr, why: &Error) {
        let _stopping = StopsOnPanic(&self.server.stop);
        self.service.failed(peer, why);
    }

    /// Lets threads look after a connection.
    fn begin(&self, connection: Connection<V>) {
        let mut state = self.lock();
        state.last += 1;
        let watch = Watch::new(&self.waiter, state.last);
        let served = Arc::new(Served {
            connection,
            watch,
            heard: Mutex::new(LastHeard::Never),
            told_version: AtomicBool::new(false),
            care: Mutex::new(Care::Nobody),
        });
        let key = state.last;
        state.served.insert(key, Arc::clone(&served));
        let stage = state.stage;
        drop(state);
        if stage == CrewStage::Stopping {
            served.connection.disconnect();
        }
        served.watch.wake();
    }

    /// Looks after a connection, until there is nothing to do, or its end.
    fn look_after(&self, key: u64) {
        let Some(served) = self.lock().served.get(&key).map(Arc::clone) else { return };
        if !served.take() {
            return;
        }
        let leaving = Leaving { crew: self, key, served: &served };
        loop {
            served.connection.begin_serving();
            if let Err(ended) = served.serve(self.service, self.server.idle) {
                self.server.remember_unusable(&served.connection);
                self.service.ended(served.connection.peer(), &ended);
                return;
            }
            if served.arm(self.server.idle) == Armed::Quiet && served.leave() {
                mem::forget(leaving);
                return;
            }
        }
    }
}

/// A service that panics when told of a failed connection stops its server.
struct StopsOnPanic<'a>(&'a Stopper);

impl Drop for StopsOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop();
        }
    }
}

/// Removes a connection, because it is over or the service has panicked.
struct Leaving<'a, V: Provider, S: Service<V>> {
    crew: &'a Crew<'a, V, S>,
    key: u64,
    served: &'a Served<V>,
}

impl<V: Provider, S: Service<V>> Drop for Leaving<'_, V, S> {
    fn drop(&mut self) {
        // Requests that are answered elsewhere would keep it.
        self.served.connection.disconnect();
        let mut state = self.crew.lock();
        state.served.remove(&self.key);
        self.crew.waiter.forget(self.key);
        if state.served.is_empty() && state.stage == CrewStage::Stopping {
            self.crew.waiter.wake(STOP);
        }
    }
}

impl<V: Provider> Served<V> {
    fn lock(&self) -> MutexGuard<'_, LastHeard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes it to look after it; false if another thread already does, which then looks again.
    fn take(&self) -> bool {
        let mut care = self.care();
        *care = if *care == Care::Nobody { Care::Somebody } else { Care::Again };
        *care == Care::Somebody
    }

    /// Leaves it, unless something has happened meanwhile.
    fn leave(&self) -> bool {
        let mut care = self.care();
        *care = if *care == Care::Again { Care::Somebody } else { Care::Nobody };
        *care == Care::Nobody
    }

    fn care(&self) -> MutexGuard<'_, Care> {
        self.care.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands all waiting calls to the service, and ends a connection that has been idle for too long.
    fn serve(&self, service: &impl Service<V>, idle: Option<Duration>) -> Result<(), Ended> {
        let mut heard = match *self.lock() {
            LastHeard::Never => {
                service.connected(&self.connection);
                Instant::now()
            }
            LastHeard::At(heard) => heard,
        };
        loop {
            let taken = self.connection.taken();
            let request = self.connection.request(Duration::ZERO)?;
            if !self.told_version.load(Ordering::Relaxed) && self.connection.version().is_some() {
                self.told_version.store(true, Ordering::Relaxed);
                service.agreed(&self.connection);
            }
            if let Some(request) = request {
                service.call(request);
                heard = Instant::now();
                continue;
            }
            if self.connection.taken() != taken {
                // What was posted for it may be complete: that is sooner seen than slept for.
                continue;
            }
            if self.connection.is_answering() {
                heard = Instant::now();
            }
            if idle.is_none_or(|longest| heard.elapsed() <= longest) {
                *self.lock() = LastHeard::At(heard);
                return Ok(());
            }
            self.connection.disconnect();
        }
    }

    /// Arranges for it to be looked after when there is something to do.
    fn arm(&self, idle: Option<Duration>) -> Armed {
        let heard = *self.lock();
        if let (Some(longest), LastHeard::At(heard)) = (idle, heard)
            && let Some(ends) = heard.checked_add(longest)
        {
            self.watch.wake_at(ends);
        }
        self.connection.arm(&self.watch)
    }
}

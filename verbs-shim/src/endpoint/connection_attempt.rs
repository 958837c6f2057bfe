//! Setting up a connection for an asynchronous function.
//!
//! Adapters and connection managers block, so a few threads of the process set up the connections that futures want.
//! Idle threads end after a while.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use crate::driver::resources::Provider;
use crate::driver::settings::Settings;
use crate::endpoint::client::Client;
use crate::verbs::Error;

/// Maximum number of connections that are set up for futures at the same time.
const THREADS: usize = 8;
/// Idle time after which a thread ends.
const LINGER: Duration = Duration::from_secs(2);

type SetupJob = Box<dyn FnOnce() + Send>;

/// Threads, and connections that wait for one.
struct SetupPool {
    state: Mutex<SetupPoolState>,
    changed: Condvar,
}

struct SetupPoolState {
    jobs: VecDeque<SetupJob>,
    threads: usize,
    idle: usize,
}

static POOL: SetupPool = SetupPool {
    state: Mutex::new(SetupPoolState { jobs: VecDeque::new(), threads: 0, idle: 0 }),
    changed: Condvar::new(),
};

impl SetupPool {
    fn lock(&self) -> MutexGuard<'_, SetupPoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves a job to a thread.
    fn run(&'static self, job: SetupJob) -> Result<(), Error> {
        let mut state = self.lock();
        if state.idle <= state.jobs.len() && state.threads < THREADS {
            match thread::Builder::new().name("rpcrdma connect".to_owned()).spawn(|| self.work()) {
                Ok(_) => state.threads += 1,
                Err(_) if state.threads == 0 => return Err(Error::Threads),
                Err(_) => {}
            }
        }
        state.jobs.push_back(job);
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    fn work(&self) {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                drop(state);
                job();
                state = self.lock();
                continue;
            }
            state.idle += 1;
            let (woken, timeout) = self.changed.wait_timeout(state, LINGER).unwrap_or_else(PoisonError::into_inner);
            state = woken;
            state.idle -= 1;
            if timeout.timed_out() && state.jobs.is_empty() {
                state.threads -= 1;
                return;
            }
        }
    }
}

/// A connection that is being set up: a future for any runtime. Dropping this value gives the attempt up; a connection
/// that comes about later ends at once.
#[must_use]
pub struct Connecting<V: Provider> {
    attempt: Arc<Mutex<AttemptState<V>>>,
}

enum AttemptState<V: Provider> {
    /// The waker of the future, once polled.
    UnderWay(Option<Waker>),
    Ended(Result<Client<V>, Error>),
    /// The outcome was taken, or nobody wants it.
    Over,
}

impl<V: Provider> Client<V> {
    /// Connects, for an asynchronous function: a few threads of this library do what blocks. The limits of
    /// [`connect`](Self::connect) apply. Eight connections are set up at the same time; a further one that has waited
    /// for longer than [`connect_timeout`](crate::SettingsBuilder::connect_timeout) ends with [`Error::TimedOut`] when
    /// its turn comes.
    ///
    /// ```
    /// use rpcrdma_verbs::loopback::Fabric;
    /// use rpcrdma_verbs::{Client, Error, Settings};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let here = Fabric::new().adapter([192, 0, 2, 1].into())?;
    /// let nobody = "192.0.2.2:20049".parse()?;
    /// let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    /// runtime.block_on(async {
    ///     let refused = Client::connecting(&here, nobody, &Settings::client()).await;
    ///     assert_eq!(refused.err(), Some(Error::Refused));
    /// });
    /// # Ok(())
    /// # }
    /// ```
    pub fn connecting(verbs: &V, address: SocketAddr, settings: &Settings) -> Connecting<V> {
        let attempt = Arc::new(Mutex::new(AttemptState::UnderWay(None)));
        let (verbs, settings, shared) = (verbs.clone(), settings.clone(), Arc::clone(&attempt));
        let waits = Instant::now().checked_add(settings.connect_timeout);
        let job = move || {
            if matches!(*lock(&shared), AttemptState::Over) {
                return;
            }
            let late = waits.is_some_and(|waits| waits < Instant::now());
            let outcome = if late { Err(Error::TimedOut) } else { Self::connect(&verbs, address, &settings) };
            finish_attempt(&shared, outcome);
        };
        if let Err(error) = POOL.run(Box::new(job)) {
            finish_attempt(&attempt, Err(error));
        }
        Connecting { attempt }
    }
}

fn lock<V: Provider>(attempt: &Mutex<AttemptState<V>>) -> MutexGuard<'_, AttemptState<V>> {
    attempt.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes the outcome to the future, unless the attempt was given up.
fn finish_attempt<V: Provider>(attempt: &Mutex<AttemptState<V>>, outcome: Result<Client<V>, Error>) {
    let mut attempt = lock(attempt);
    if let AttemptState::UnderWay(waker) = &mut *attempt {
        let waker = waker.take();
        *attempt = AttemptState::Ended(outcome);
        drop(attempt);
        waker.into_iter().for_each(Waker::wake);
    }
}

impl<V: Provider> Future for Connecting<V> {
    type Output = Result<Client<V>, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut attempt = lock(&self.attempt);
        if let AttemptState::UnderWay(waker) = &mut *attempt {
            *waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        match std::mem::replace(&mut *attempt, AttemptState::Over) {
            AttemptState::Ended(outcome) => Poll::Ready(outcome),
            // It was polled after it had ended.
            AttemptState::UnderWay(_) | AttemptState::Over => Poll::Pending,
        }
    }
}

impl<V: Provider> Drop for Connecting<V> {
    fn drop(&mut self) {
        let over = std::mem::replace(&mut *lock(&self.attempt), AttemptState::Over);
        drop(over);
    }
}

impl<V: Provider> fmt::Debug for Connecting<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connecting").finish_non_exhaustive()
    }
}

//! Waiter: a few threads wait for many connections.
//!
//! Each connection has a key. [`Verbs::watch`](crate::Verbs::watch) asks a waiter to return the key once, when the
//! adapter has an event for that connection. Each key is returned to one thread. That thread takes all events, and
//! watches the connection again; another event meanwhile makes `watch` return at once, and no thread is woken. No
//! thread wakes up while nothing happens, and an idle connection needs no thread.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fmt;
#[cfg(feature = "rdma")]
use std::os::fd::BorrowedFd;
#[cfg(not(feature = "rdma"))]
use std::sync::Condvar;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

use crate::verbs::Error;
#[cfg(feature = "rdma")]
use crate::verbs::descriptors::Descriptors;

/// Waiter, on which a few threads wait for many connections. Clones share the same state.
///
/// ```
/// use std::time::Duration;
///
/// use rpcrdma_verbs::Waiter;
///
/// let waiter = Waiter::new()?;
/// waiter.waker(7).wake();
/// assert_eq!(waiter.wait(Some(Duration::from_secs(1)))?, Some(7));
/// assert_eq!(waiter.wait(Some(Duration::ZERO))?, None, "once");
/// # Ok::<(), rpcrdma_verbs::Error>(())
/// ```
#[derive(Clone)]
pub struct Waiter(Arc<SharedWaiter>);

struct SharedWaiter {
    ready: Mutex<Ready>,
    #[cfg(feature = "rdma")]
    descriptors: Descriptors,
}

/// Keys to return.
#[derive(Default)]
struct Ready {
    keys: VecDeque<u64>,
    /// Keys that are due at these times.
    times: BTreeSet<(Instant, u64)>,
    time_of: HashMap<u64, Instant>,
    /// Number of threads that sleep, or are about to.
    asleep: usize,
    /// The sleeping threads, in the order of falling asleep. The last is woken first, as the kernel does with
    /// descriptors: the data of that thread is still in the cache.
    #[cfg(not(feature = "rdma"))]
    sleepers: Vec<Arc<Condvar>>,
}

#[cfg(not(feature = "rdma"))]
thread_local! {
    static SLEEPER: Arc<Condvar> = Arc::default();
}

impl Ready {
    /// Takes the next key, if there is one.
    fn next_key(&mut self, now: Instant) -> Option<u64> {
        if let Some((when, key)) = self.times.first().copied()
            && when <= now
        {
            self.times.pop_first();
            self.time_of.remove(&key);
            self.add_key(key);
        }
        self.keys.pop_front()
    }

    fn add_key(&mut self, key: u64) {
        if !self.keys.contains(&key) {
            self.keys.push_back(key);
        }
    }

    /// Returns the time until the next key is due, at most `left`.
    fn left(&self, now: Instant, left: Option<Duration>) -> Option<Duration> {
        let next = self.times.first().map(|(when, _)| when.saturating_duration_since(now));
        next.into_iter().chain(left).min()
    }
}

impl Waiter {
    /// Creates a waiter without keys.
    ///
    /// # Errors
    /// [`Error::Exhausted`], [`Error::System`].
    pub fn new() -> Result<Self, Error> {
        Ok(Self(Arc::new(SharedWaiter {
            ready: Mutex::default(),
            #[cfg(feature = "rdma")]
            descriptors: Descriptors::new()?,
        })))
    }

    /// Makes [`wait`](Self::wait) return this key once the descriptor is readable.
    #[cfg(feature = "rdma")]
    pub(crate) fn watch(&self, descriptor: BorrowedFd<'_>, key: u64) -> Result<(), Error> {
        self.0.descriptors.watch(descriptor, key)
    }

    /// Returns the key of the next event, or `None` after the timeout. One thread gets each key.
    ///
    /// # Errors
    /// [`Error::System`].
    pub fn wait(&self, timeout: Option<Duration>) -> Result<Option<u64>, Error> {
        let mut now = Instant::now();
        let deadline = timeout.and_then(|timeout| now.checked_add(timeout));
        let mut ready = self.0.lock();
        loop {
            if let Some(key) = ready.next_key(now) {
                if !ready.keys.is_empty() {
                    // Two that come at once may have woken one thread.
                    self.0.wake_one(&mut ready);
                }
                return Ok(Some(key));
            }
            if deadline.is_some_and(|deadline| deadline <= now) {
                return Ok(None);
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(now));
            let left = ready.left(now, left);
            ready.asleep += 1;
            let woken = self.0.sleep(ready, left);
            ready = self.0.lock();
            ready.asleep -= 1;
            if let Some(key) = woken? {
                return Ok(Some(key));
            }
            now = Instant::now();
        }
    }

    /// Returns a waker that makes [`wait`](Self::wait) return this key, once for all wake-ups until then. The waker
    /// locks only the waiter, so any thread may use the waker.
    #[must_use]
    pub fn waker(&self, key: u64) -> Waker {
        Waker::from(Arc::new(Key { key, waiter: self.clone() }))
    }

    pub(crate) fn wake(&self, key: u64) {
        let mut ready = self.0.lock();
        ready.add_key(key);
        self.0.wake_one(&mut ready);
    }

    /// Makes [`wait`](Self::wait) return this key at that time, or before. Of several times, the first counts.
    pub(crate) fn wake_at(&self, key: u64, when: Instant) {
        let mut ready = self.0.lock();
        let known = ready.time_of.get(&key).copied();
        if known.is_some_and(|known| known <= when) {
            return;
        }
        if let Some(known) = known {
            ready.times.remove(&(known, key));
        }
        ready.time_of.insert(key, when);
        ready.times.insert((when, key));
        if ready.times.first() == Some(&(when, key)) {
            // The thread that sleeps has to wake up earlier.
            self.0.wake_one(&mut ready);
        }
    }

    /// Forgets a key.
    pub(crate) fn forget(&self, key: u64) {
        let mut ready = self.0.lock();
        ready.keys.retain(|known| *known != key);
        if let Some(when) = ready.time_of.remove(&key) {
            ready.times.remove(&(when, key));
        }
    }
}

impl SharedWaiter {
    fn lock(&self) -> MutexGuard<'_, Ready> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes a sleeping thread. Other threads look by themselves before sleeping.
    fn wake_one(&self, ready: &mut Ready) {
        if ready.asleep == 0 {
            return;
        }
        #[cfg(feature = "rdma")]
        self.descriptors.wake_one();
        #[cfg(not(feature = "rdma"))]
        ready.sleepers.pop().iter().for_each(|sleeper| sleeper.notify_one());
    }

    /// Sleeps until something has happened, at most for this time. Returns the key of a descriptor.
    #[cfg(feature = "rdma")]
    fn sleep(&self, ready: MutexGuard<'_, Ready>, longest: Option<Duration>) -> Result<Option<u64>, Error> {
        drop(ready);
        self.descriptors.wait(longest)
    }

    #[cfg(not(feature = "rdma"))]
    #[allow(clippy::unused_self, clippy::unnecessary_wraps, reason = "as with descriptors")]
    fn sleep(&self, mut ready: MutexGuard<'_, Ready>, longest: Option<Duration>) -> Result<Option<u64>, Error> {
        SLEEPER.with(|sleeper| {
            ready.sleepers.push(Arc::clone(sleeper));
            let mut ready = match longest {
                Some(longest) => sleeper.wait_timeout(ready, longest).unwrap_or_else(PoisonError::into_inner).0,
                None => sleeper.wait(ready).unwrap_or_else(PoisonError::into_inner),
            };
            // A thread that woke up for another reason is still in the list.
            ready.sleepers.retain(|other| !Arc::ptr_eq(other, sleeper));
        });
        Ok(None)
    }
}

/// A waiter and a key to return.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    waiter: Waiter,
    key: u64,
}

impl Watch {
    pub(crate) fn new(waiter: &Waiter, key: u64) -> Self {
        Self { waiter: waiter.clone(), key }
    }

    pub(crate) const fn waiter(&self) -> &Waiter {
        &self.waiter
    }

    pub(crate) const fn key(&self) -> u64 {
        self.key
    }

    pub(crate) fn wake(&self) {
        self.waiter.wake(self.key);
    }

    pub(crate) fn wake_at(&self, when: Instant) {
        self.waiter.wake_at(self.key, when);
    }
}

/// Waker of a waiter.
struct Key {
    key: u64,
    waiter: Waiter,
}

impl Wake for Key {
    fn wake(self: Arc<Self>) {
        self.waiter.wake(self.key);
    }
}

impl fmt::Debug for Waiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiter").finish_non_exhaustive()
    }
}

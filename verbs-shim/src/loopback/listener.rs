//! Requests for connections, waiting to be accepted.

use std::collections::VecDeque;
use std::net::SocketAddrV4;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::link::{Link, LinkPhase};
use crate::verbs::Error;
use crate::verbs::WatchState;
use crate::verbs::waiter::Watch;

/// Waiting requests at an address.
#[derive(Debug)]
pub(super) struct Door {
    /// `None` when the listener is closed.
    waiting: Mutex<Option<VecDeque<Asking>>>,
    changed: Condvar,
    /// Waiter to notify of the next request.
    watch: Mutex<Option<Watch>>,
    backlog: usize,
}

/// A side that asks for a connection.
#[derive(Debug)]
pub(super) struct Asking {
    pub(super) link: Arc<Link>,
    pub(super) from: SocketAddrV4,
    pub(super) private_data: Vec<u8>,
    /// Time at which the request becomes visible.
    pub(super) arrives: Option<Instant>,
}

/// A request for a connection of the loopback. Dropping the request rejects the connection.
///
/// ```
/// use std::time::Duration;
///
/// use rpcrdma_verbs::loopback::Fabric;
/// use rpcrdma_verbs::{Depths, Error, Verbs};
///
/// let adapter = Fabric::new().adapter([192, 0, 2, 1].into())?;
/// let address = "192.0.2.1:20049".parse().unwrap();
/// let listener = adapter.listen(address, 1)?;
/// let queue_pair = adapter.queue_pair(&adapter.domain()?, Depths::default())?;
/// adapter.connect(&queue_pair, address, b"who I am")?;
/// let request = adapter.request(&listener, Duration::ZERO)?.expect("it waits");
/// assert!(adapter.private_data(&request).starts_with(b"who I am"));
/// adapter.reject(request, b"no")?;
/// let Err(Error::Rejected(why)) = adapter.connected(&queue_pair, Duration::ZERO) else { panic!("rejected") };
/// assert!(why.starts_with(b"no"));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct ConnectionRequest {
    pub(super) asking: Asking,
}

impl Door {
    pub(super) fn new(backlog: usize) -> Self {
        Self { waiting: Mutex::new(Some(VecDeque::new())), changed: Condvar::new(), watch: Mutex::default(), backlog }
    }

    /// Queues a request, if there is room.
    pub(super) fn ask(&self, asking: Asking) -> Result<(), Error> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = waiting.as_mut().filter(|waiting| waiting.len() < self.backlog).ok_or(Error::Refused)?;
        waiting.push_back(asking);
        self.changed.notify_all();
        if let Some(watch) = self.lock_watch().take() {
            watch.wake();
        }
        Ok(())
    }

    fn lock_watch(&self) -> MutexGuard<'_, Option<Watch>> {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a waiter return a key when there is a request.
    pub(super) fn watch(&self, watch: Watch) -> WatchState {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        match waiting.as_ref().and_then(VecDeque::front).map(|asking| asking.arrives) {
            Some(Some(arrives)) => watch.wake_at(arrives),
            Some(None) => return WatchState::Ready,
            None if waiting.is_none() => return WatchState::Ready,
            None => *self.lock_watch() = Some(watch),
        }
        WatchState::Quiet
    }

    /// Returns the next waiting request.
    pub(super) fn next_request(&self, timeout: Duration) -> Option<ConnectionRequest> {
        let mut now = Instant::now();
        let deadline = now.checked_add(timeout);
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let arrives = waiting.as_ref()?.front().and_then(|asking| asking.arrives).filter(|arrives| *arrives > now);
            if arrives.is_none()
                && let Some(asking) = waiting.as_mut()?.pop_front()
            {
                // A requester that has given up is skipped; its lock is taken when ours is free.
                drop(waiting);
                let request = ConnectionRequest { asking };
                if request.asking.link.lock().phase == LinkPhase::Asked {
                    return Some(request);
                }
                waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            if deadline.is_some_and(|deadline| deadline <= now) {
                return None;
            }
            waiting = match deadline.into_iter().chain(arrives).min() {
                Some(wake) => {
                    let wait = wake.saturating_duration_since(now);
                    self.changed.wait_timeout(waiting, wait).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner),
            };
            now = Instant::now();
        }
    }

    /// Closes the listener.
    pub(super) fn close(&self) {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
        for asking in waiting.into_iter().flatten() {
            asking.link.refuse(Error::Refused);
        }
        self.changed.notify_all();
        if let Some(watch) = self.lock_watch().take() {
            watch.wake();
        }
    }
}

impl Drop for ConnectionRequest {
    fn drop(&mut self) {
        // This has no effect if it was answered.
        self.asking.link.refuse(Error::Rejected(Vec::new()));
    }
}

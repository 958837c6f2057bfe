//! Waits for descriptors with Linux's epoll (package rustix).
//!
//! A thread that waits for one connection sleeps in `poll`, for both completion and connection events; of several such
//! threads, one sleeps for all. A `Waiter` sleeps in `epoll`, in which each queue pair is one descriptor, which is an
//! `epoll` of those two. Asynchronous runtimes can use that descriptor too (`AsFd`, `QueuePair::arm`). The descriptor
//! is watched for one event (`EPOLLONESHOT`), which wakes one thread. A third descriptor (`eventfd`) reports what has
//! no event: that this side has ended the connection, or that a wait is interrupted.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use rustix::time::Timespec;

use crate::verbs::Error;

/// Descriptors, each with a key. Several threads can wait for the next one that becomes readable.
#[derive(Debug)]
pub(crate) struct Descriptors {
    epoll: OwnedFd,
    /// Never cleared: each signal is a separate event, for one thread.
    wakes: EventDescriptor,
}

/// The key of `wakes`.
const WAKES: u64 = u64::MAX;

fn failed(function: &'static str) -> impl Fn(Errno) -> Error {
    move |errno| match errno {
        Errno::NOSPC => Error::WatchedFiles,
        errno => Error::of_number(function, errno.raw_os_error()),
    }
}

impl Descriptors {
    pub(crate) fn new() -> Result<Self, Error> {
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(failed("epoll_create1"))?;
        let wakes = EventDescriptor::new()?;
        epoll::add(&epoll, &wakes, EventData::new_u64(WAKES), EventFlags::IN | EventFlags::ET)
            .map_err(failed("epoll_ctl"))?;
        Ok(Self { epoll, wakes })
    }

    /// Makes [`wait`](Self::wait) return this key once, when the descriptor becomes readable.
    pub(crate) fn watch(&self, descriptor: BorrowedFd<'_>, key: u64) -> Result<(), Error> {
        let (data, flags) = (EventData::new_u64(key), EventFlags::IN | EventFlags::ONESHOT);
        let watched = match epoll::modify(&self.epoll, descriptor, data, flags) {
            Err(Errno::NOENT) => epoll::add(&self.epoll, descriptor, data, flags),
            watched => watched,
        };
        watched.map_err(failed("epoll_ctl"))
    }

    /// Returns the key of the next readable descriptor. `None` after the timeout, or for no reason.
    pub(crate) fn wait(&self, longest: Option<Duration>) -> Result<Option<u64>, Error> {
        // A time too long to express means without end.
        let timeout = longest.and_then(|longest| Timespec::try_from(longest).ok());
        let mut event = [MaybeUninit::uninit()];
        match epoll::wait(&self.epoll, &mut event[..], timeout.as_ref()) {
            Ok((events, _)) => Ok(events.first().map(|event| event.data.u64()).filter(|key| *key != WAKES)),
            Err(Errno::INTR) => Ok(None),
            Err(errno) => Err(failed("epoll_wait")(errno)),
        }
    }

    /// Wakes one waiting thread.
    pub(crate) fn wake_one(&self) {
        self.wakes.signal();
    }
}

/// A descriptor that is readable after a signal: Linux's eventfd.
#[derive(Debug)]
pub(crate) struct EventDescriptor(OwnedFd);

impl EventDescriptor {
    pub(crate) fn new() -> Result<Self, Error> {
        eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map(Self).map_err(failed("eventfd"))
    }

    pub(crate) fn signal(&self) {
        // It fails if nobody has cleared 2^64 signals.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Clears the signals.
    pub(crate) fn clear(&self) {
        // It fails if there are none.
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for EventDescriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Joins several descriptors to one, which is readable when any is.
pub(crate) fn joined<'a>(descriptors: impl IntoIterator<Item = BorrowedFd<'a>>) -> Result<OwnedFd, Error> {
    let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(failed("epoll_create1"))?;
    for descriptor in descriptors {
        let data = EventData::new_u64(0);
        epoll::add(&epoll, descriptor.as_fd(), data, EventFlags::IN).map_err(failed("epoll_ctl"))?;
    }
    Ok(epoll)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed expectation fails the test")]
#[allow(
    deprecated,
    reason = "`AsyncFd::register` is unsafe, for owners that close their descriptor; this one does not"
)]
mod tests {
    use tokio::io::unix::AsyncFd;
    use tokio::time::timeout;

    use super::*;

    #[test]
    fn several_descriptors_wake_an_asynchronous_runtime_as_one() {
        const LONG: Duration = Duration::from_secs(20);
        const SHORT: Duration = Duration::from_millis(20);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let events = [EventDescriptor::new().unwrap(), EventDescriptor::new().unwrap()];
            let all = AsyncFd::new(joined(events.iter().map(AsFd::as_fd)).unwrap()).unwrap();
            for event in events.iter().cycle().take(6) {
                assert!(timeout(SHORT, all.readable()).await.is_err(), "nobody has signalled");
                event.signal();
                timeout(LONG, all.readable()).await.unwrap().unwrap().clear_ready();
                event.clear();
                let anew = AsyncFd::new(joined(events.iter().map(AsFd::as_fd)).unwrap()).unwrap();
                assert!(timeout(SHORT, anew.readable()).await.is_err(), "the signal was not cleared");
            }
        });
    }
}

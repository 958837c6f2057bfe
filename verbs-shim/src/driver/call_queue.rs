//! Queue of the threads and futures that wait for a free call slot of a connection, in order of arrival.
//!
//! A free slot is for the first in the queue, and wakes nobody else. If the first was woken but leaves without using
//! the slot, because the future was dropped, the next one is woken: every change of the queue, and every slot that
//! becomes free, calls [`CallQueue::next_waker`].

use std::collections::BTreeMap;
use std::task::Waker;

/// Number of an entry in the queue. `None` for a caller that is not in the queue.
pub(crate) type QueuePosition = Option<u64>;

/// Behaviour of a call if no slot is free.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WaitMode<'a> {
    /// Does not wait.
    Never,
    /// A thread waits, and tries again whenever something happens.
    Thread,
    /// A future, woken to try again.
    Future(&'a Waker),
}

/// Threads and futures that wait for a call slot.
#[derive(Debug, Default)]
pub(super) struct CallQueue {
    /// The waker of each entry. `None` for threads, and for futures that were woken.
    waiting: BTreeMap<u64, Option<Waker>>,
    last: u64,
}

impl CallQueue {
    /// Returns true if a free slot may be used from this position.
    pub(super) fn is_first(&self, position: QueuePosition) -> bool {
        self.waiting.first_key_value().is_none_or(|(first, _)| Some(*first) == position)
    }

    /// Enters the queue behind all others, or keeps the position. Returns the previous waker, to be dropped after the
    /// connection is unlocked.
    pub(super) fn wait(&mut self, position: &mut QueuePosition, mode: WaitMode<'_>) -> Option<Waker> {
        let waker = match mode {
            WaitMode::Never => return None,
            WaitMode::Thread => None,
            WaitMode::Future(waker) => Some(waker.clone()),
        };
        let number = *position.get_or_insert_with(|| {
            self.last = self.last.wrapping_add(1);
            self.last
        });
        self.waiting.insert(number, waker).flatten()
    }

    /// Leaves the queue. Returns the waker, as [`wait`](Self::wait) does.
    pub(super) fn leave(&mut self, position: &mut QueuePosition) -> Option<Waker> {
        position.take().and_then(|number| self.waiting.remove(&number)).flatten()
    }

    /// Returns true if the first entry has no waker: a thread, or a future that was already woken.
    pub(super) fn begins_with_thread(&self) -> bool {
        self.waiting.first_key_value().is_some_and(|(_, waker)| waker.is_none())
    }

    /// Takes the waker of the first entry, to be woken if a slot is free. Returns each waker once.
    pub(super) fn next_waker(&mut self) -> Option<Waker> {
        self.waiting.first_entry().and_then(|mut first| first.get_mut().take())
    }

    /// Takes all wakers.
    pub(super) fn all_wakers(&mut self) -> impl Iterator<Item = Waker> {
        self.waiting.values_mut().filter_map(Option::take)
    }
}

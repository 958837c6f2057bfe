//! The threads and futures that wait for a place among the calls of a connection, in order of arrival.
//!
//! A free place is for the first in line, and nobody else is woken for it. If the first was woken but leaves without
//! taking the place, because its future was dropped, the next one is woken: whatever changes the line or frees a place
//! calls [`Line::next`].

use std::collections::BTreeMap;
use std::task::Waker;

/// A number in the line; none while its owner does not wait.
pub(crate) type LinePlace = Option<u64>;

/// How a call waits for its turn.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Turn<'a> {
    /// Now or not at all.
    Now,
    /// It looks again whenever something happens.
    Looking,
    /// It looks again when it is woken.
    Woken(&'a Waker),
}

/// Those that wait.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// Each with its waker; those that were woken, or that look by themselves, have none.
    waiting: BTreeMap<u64, Option<Waker>>,
    last: u64,
}

impl Line {
    /// Whether it is this one's turn, if there is a place.
    pub(super) fn is_first(&self, place: LinePlace) -> bool {
        self.waiting.first_key_value().is_none_or(|(first, _)| Some(*first) == place)
    }

    /// Waits after all others, or goes on waiting in its place. Returns the previous waker, to be dropped when nothing
    /// is locked.
    pub(super) fn wait(&mut self, place: &mut LinePlace, turn: Turn<'_>) -> Option<Waker> {
        let waker = match turn {
            Turn::Now => return None,
            Turn::Looking => None,
            Turn::Woken(waker) => Some(waker.clone()),
        };
        let number = *place.get_or_insert_with(|| {
            self.last = self.last.wrapping_add(1);
            self.last
        });
        self.waiting.insert(number, waker).flatten()
    }

    /// Stops waiting. Returns its waker, as [`wait`](Self::wait) does.
    pub(super) fn leave(&mut self, place: &mut LinePlace) -> Option<Waker> {
        place.take().and_then(|number| self.waiting.remove(&number)).flatten()
    }

    /// Whether the first looks by itself.
    pub(super) fn begins_with_thread(&self) -> bool {
        self.waiting.first_key_value().is_some_and(|(_, waker)| waker.is_none())
    }

    /// Whom to wake if there is a place: the first, once.
    pub(super) fn next(&mut self) -> Option<Waker> {
        self.waiting.first_entry().and_then(|mut first| first.get_mut().take())
    }

    /// All wakers.
    pub(super) fn all(&mut self) -> impl Iterator<Item = Waker> {
        self.waiting.values_mut().filter_map(Option::take)
    }
}

//! The port of an adapter: up, down, or removed with the adapter.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::{fmt, mem};

use super::side::Side;
use crate::verbs::Error;

/// State of an adapter's port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortState {
    /// The port has a link.
    Up,
    /// The port has no link: nothing comes in or goes out. Work that needs the other side fails after [`NO_ANSWER`],
    /// and a side that posts none notices nothing.
    ///
    /// [`NO_ANSWER`]: super::NO_ANSWER
    Down,
}

const DOWN: u8 = 1;
const REMOVED: u8 = 2;

/// A connection that uses a port.
pub(super) trait Attached: fmt::Debug + Send + Sync {
    /// Wakes all waiting threads, because something has changed.
    fn notify(&self);

    /// Ends the connection from one side.
    fn end_connection(&self, by: Side);
}

/// A port, with all connections through that port.
#[derive(Debug, Default)]
pub(super) struct Port {
    state: AtomicU8,
    links: Mutex<Vec<(Weak<dyn Attached>, Side)>>,
}

impl Port {
    pub(super) fn is_up(&self) -> bool {
        self.state.load(Ordering::Acquire) == 0
    }

    pub(super) fn is_removed(&self) -> bool {
        self.state.load(Ordering::Acquire) == REMOVED
    }

    /// Checks if the adapter is still there.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.is_removed() { Err(Error::Removed) } else { Ok(()) }
    }

    /// Adds a connection.
    pub(super) fn attach_connection(&self, link: Arc<dyn Attached>, side: Side) {
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        if links.len() == links.capacity() {
            links.retain(|(link, _)| link.strong_count() > 0);
        }
        links.push((Arc::downgrade(&link), side));
        drop(links);
        if self.is_removed() {
            // It was removed meanwhile.
            link.end_connection(side);
        }
    }

    pub(super) fn set_state(&self, to: PortState) {
        let (from, to) = if to == PortState::Down { (0, DOWN) } else { (DOWN, 0) };
        if self.state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            let links = self.links.lock().unwrap_or_else(PoisonError::into_inner).clone();
            links.iter().filter_map(|(link, _)| link.upgrade()).for_each(|link| link.notify());
        }
    }

    /// Removes the adapter: ends all connections.
    pub(super) fn remove(&self) {
        self.state.store(REMOVED, Ordering::Release);
        let links = mem::take(&mut *self.links.lock().unwrap_or_else(PoisonError::into_inner));
        links
            .iter()
            .filter_map(|(link, side)| Some((link.upgrade()?, *side)))
            .for_each(|(link, side)| link.end_connection(side));
    }
}

//! Wakes threads that wait for a connection when something has changed there.
//!
//! The loopback has no descriptors: whoever posts rings the bell of a connection, and tells its waiter. A bell counts,
//! so that nobody falls asleep over a ring that came between a look and the sleep. Its lock is not the connection's,
//! because the owner of that one may be waiting for memory that the ringer holds.

use std::mem;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::side::Side;
use crate::verbs::waiter::Watch;

/// Counts rings, and knows the threads that wait.
#[derive(Debug, Default)]
pub(super) struct Bell {
    state: Mutex<BellState>,
    rung: Condvar,
}

#[derive(Debug, Default)]
struct BellState {
    /// How often it has rung.
    rings: u64,
    /// Threads that sleep.
    asleep: usize,
    active: SideWaits,
    passive: SideWaits,
}

/// The waits of one side.
#[derive(Debug, Default)]
struct SideWaits {
    /// The waiter that waits for many connections.
    watch: Option<Watch>,
    /// Whether the next sleep ends at once.
    interrupted: bool,
}

/// How a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slept {
    /// Something may have changed, or the time is over.
    Through,
    Interrupted,
}

/// The last ring that was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Heard(u64);

impl BellState {
    fn of(&mut self, side: Side) -> &mut SideWaits {
        match side {
            Side::Active => &mut self.active,
            Side::Passive => &mut self.passive,
        }
    }
}

impl Bell {
    fn lock(&self) -> MutexGuard<'_, BellState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something has changed.
    pub(super) fn ring(&self) {
        let mut state = self.lock();
        state.rings = state.rings.wrapping_add(1);
        let watches = [mem::take(&mut state.active.watch), mem::take(&mut state.passive.watch)];
        let asleep = state.asleep > 0;
        drop(state);
        if asleep {
            self.rung.notify_all();
        }
        watches.iter().flatten().for_each(Watch::wake);
    }

    /// Ends the sleep of this side, or the next one.
    pub(super) fn interrupt(&self, side: Side) {
        self.lock().of(side).interrupted = true;
        self.rung.notify_all();
    }

    /// Tells a waiter at the next ring.
    pub(super) fn watch(&self, side: Side, watch: Watch) {
        self.lock().of(side).watch = Some(watch);
    }

    /// Call this before looking at what has changed and, if nothing has, before [`sleep`](Self::sleep).
    pub(super) fn heard(&self) -> Heard {
        Heard(self.lock().rings)
    }

    /// Sleeps until it rings, unless it has rung since then; at most for this long, or until this side is interrupted.
    pub(super) fn sleep(&self, side: Option<Side>, heard: Heard, longest: Option<Duration>) -> Slept {
        let mut state = self.lock();
        let interrupted = |state: &mut BellState| side.is_some_and(|side| mem::take(&mut state.of(side).interrupted));
        if interrupted(&mut state) {
            return Slept::Interrupted;
        }
        if state.rings == heard.0 {
            state.asleep += 1;
            state = match longest {
                Some(longest) => self.rung.wait_timeout(state, longest).unwrap_or_else(PoisonError::into_inner).0,
                None => self.rung.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
            state.asleep -= 1;
        }
        if interrupted(&mut state) { Slept::Interrupted } else { Slept::Through }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    const SHORT: Option<Duration> = Some(Duration::from_millis(20));
    const LONG: Option<Duration> = Some(Duration::from_secs(10));

    #[test]
    fn nobody_sleeps_over_what_has_come_since_the_last_look() {
        let (bell, begun) = (Bell::default(), Instant::now());
        let heard = bell.heard();
        bell.ring();
        assert_eq!(bell.sleep(Some(Side::Active), heard, LONG), Slept::Through);
        let heard = bell.heard();
        bell.interrupt(Side::Active);
        assert_eq!(bell.sleep(Some(Side::Passive), heard, SHORT), Slept::Through);
        assert_eq!(bell.sleep(None, heard, SHORT), Slept::Through);
        assert_eq!(bell.sleep(Some(Side::Active), heard, LONG), Slept::Interrupted);
        assert_eq!(bell.sleep(Some(Side::Active), heard, SHORT), Slept::Through, "once");
        assert!(Some(begun.elapsed()) < LONG, "somebody has slept");
    }
}

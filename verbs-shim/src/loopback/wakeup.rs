//! Wake-up of threads that wait for a connection.
//!
//! The loopback has no descriptors: a thread that posts work notifies the threads that sleep, and the connection's
//! waiter. Notifications are counted, so that no thread sleeps through one that came between the last look and the
//! sleep. The lock is not the connection's: a thread that holds that one may be waiting for memory that the notifying
//! thread holds.

use std::mem;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::side::Side;
use crate::verbs::waiter::Watch;

/// Counts notifications and waiting threads.
#[derive(Debug, Default)]
pub(super) struct Wakeup {
    state: Mutex<WakeupState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct WakeupState {
    /// Number of notifications so far.
    notifications: u64,
    /// Number of sleeping threads.
    sleeping: usize,
    active: SideWaits,
    passive: SideWaits,
}

/// The waits of one side.
#[derive(Debug, Default)]
struct SideWaits {
    /// A waiter to notify once.
    watch: Option<Watch>,
    /// A waiter to notify once of the end of the connection.
    end_watch: Option<Watch>,
    /// True if the next sleep ends at once.
    interrupted: bool,
}

/// Cause of the end of a sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WakeCause {
    NotifiedOrTimedOut,
    Interrupted,
}

/// Number of notifications before the last look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen(u64);

impl WakeupState {
    fn waits_of(&mut self, side: Side) -> &mut SideWaits {
        match side {
            Side::Active => &mut self.active,
            Side::Passive => &mut self.passive,
        }
    }
}

impl Wakeup {
    fn lock(&self) -> MutexGuard<'_, WakeupState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes all threads and waiters, because something has changed.
    pub(super) fn notify(&self) {
        let mut state = self.lock();
        state.notifications = state.notifications.wrapping_add(1);
        let watches = [mem::take(&mut state.active.watch), mem::take(&mut state.passive.watch)];
        let sleeping = state.sleeping > 0;
        drop(state);
        if sleeping {
            self.changed.notify_all();
        }
        watches.iter().flatten().for_each(Watch::wake);
    }

    /// Wakes the waiters that wait for the end of the connection.
    pub(super) fn notify_of_end(&self) {
        let mut state = self.lock();
        let watches = [mem::take(&mut state.active.end_watch), mem::take(&mut state.passive.end_watch)];
        drop(state);
        watches.iter().flatten().for_each(Watch::wake);
    }

    /// Ends the sleep of this side, or the next one.
    pub(super) fn interrupt(&self, side: Side) {
        self.lock().waits_of(side).interrupted = true;
        self.changed.notify_all();
    }

    /// Makes the next notification wake a waiter.
    pub(super) fn watch(&self, side: Side, watch: Watch) {
        self.lock().waits_of(side).watch = Some(watch);
    }

    /// Makes the end of the connection wake a waiter.
    pub(super) fn watch_end(&self, side: Side, watch: Watch) {
        self.lock().waits_of(side).end_watch = Some(watch);
    }

    /// Returns the number of notifications so far. To be called before a thread looks for changes; if there are none,
    /// the number goes to [`sleep`](Self::sleep).
    pub(super) fn seen(&self) -> Seen {
        Seen(self.lock().notifications)
    }

    /// Sleeps until a notification, unless there was one since `seen`, or until this side is interrupted. `longest`:
    /// the maximum time.
    pub(super) fn sleep(&self, side: Option<Side>, seen: Seen, longest: Option<Duration>) -> WakeCause {
        let mut state = self.lock();
        let interrupted =
            |state: &mut WakeupState| side.is_some_and(|side| mem::take(&mut state.waits_of(side).interrupted));
        if interrupted(&mut state) {
            return WakeCause::Interrupted;
        }
        if state.notifications == seen.0 {
            state.sleeping += 1;
            state = match longest {
                Some(longest) => self.changed.wait_timeout(state, longest).unwrap_or_else(PoisonError::into_inner).0,
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
            state.sleeping -= 1;
        }
        if interrupted(&mut state) { WakeCause::Interrupted } else { WakeCause::NotifiedOrTimedOut }
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
        let (wakeup, begun) = (Wakeup::default(), Instant::now());
        let seen = wakeup.seen();
        wakeup.notify();
        assert_eq!(wakeup.sleep(Some(Side::Active), seen, LONG), WakeCause::NotifiedOrTimedOut);
        let seen = wakeup.seen();
        wakeup.interrupt(Side::Active);
        assert_eq!(wakeup.sleep(Some(Side::Passive), seen, SHORT), WakeCause::NotifiedOrTimedOut);
        assert_eq!(wakeup.sleep(None, seen, SHORT), WakeCause::NotifiedOrTimedOut);
        assert_eq!(wakeup.sleep(Some(Side::Active), seen, LONG), WakeCause::Interrupted);
        assert_eq!(wakeup.sleep(Some(Side::Active), seen, SHORT), WakeCause::NotifiedOrTimedOut, "once");
        assert!(Some(begun.elapsed()) < LONG, "somebody has slept");
    }
}

//! Keep-alive: notices that the other side is gone although nothing is being sent.
//!
//! An adapter notices a lost peer only by sending. So after an interval without completions, this end posts an RDMA
//! Write of no octets, which the other side's adapter acknowledges without looking at the handle (InfiniBand
//! Architecture, C9-88; RFC 5040 section 5.1) and without its program. If nothing has completed after another interval,
//! the other side is gone.

use std::time::{Duration, Instant};

/// Keep-alive of a connection.
#[derive(Debug)]
pub(super) struct KeepAlive {
    interval: Duration,
    /// Time of the next check.
    next: Instant,
    /// Number of completions at the last check.
    taken: u64,
    probe: Probe,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probe {
    None,
    WorkId,
}

/// Outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    /// Before the interval has passed, or after a completion.
    Alive,
    /// Nothing has completed: a probe is to be posted.
    Probe,
    /// Nothing has completed since the probe was posted.
    Silent,
}

impl KeepAlive {
    /// Returns `None` if no clock reaches the end of the interval.
    pub(super) fn new(interval: Duration, now: Instant) -> Option<Self> {
        Some(Self { interval, next: now.checked_add(interval)?, taken: 0, probe: Probe::None })
    }

    /// Returns the time of the next check.
    pub(super) const fn next_check(&self) -> Instant {
        self.next
    }

    /// Checks, after all completions were taken. `taken`: number of completions so far.
    pub(super) fn check(&mut self, now: Instant, taken: u64) -> Check {
        if now < self.next {
            return Check::Alive;
        }
        self.next = now.checked_add(self.interval).unwrap_or(self.next);
        let (check, probe) = match (taken == self.taken, self.probe) {
            (false, _) => (Check::Alive, Probe::None),
            (true, Probe::None) => (Check::Probe, Probe::WorkId),
            (true, Probe::WorkId) => (Check::Silent, Probe::WorkId),
        };
        (self.taken, self.probe) = (taken, probe);
        check
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_does_not_answer_a_probe_is_silent() {
        let (second, now) = (Duration::from_secs(1), Instant::now());
        let mut keep_alive = KeepAlive::new(second, now).unwrap();
        let mut check = |seconds: u32, taken| keep_alive.check(now + second * seconds, taken);
        assert_eq!(check(0, 0), Check::Alive, "it is not time yet");
        assert_eq!(check(1, 5), Check::Alive, "something has completed");
        assert_eq!(check(2, 5), Check::Probe);
        assert_eq!(check(2, 5), Check::Alive, "it is not time yet");
        assert_eq!(check(3, 6), Check::Alive, "the probe");
        assert_eq!(check(4, 6), Check::Probe);
        assert_eq!(check(5, 6), Check::Silent);
        assert!(KeepAlive::new(Duration::MAX, now).is_none());
    }
}

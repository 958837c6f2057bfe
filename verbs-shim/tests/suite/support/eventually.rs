//! Waits for what another thread does in a moment.

use std::thread;
use std::time::{Duration, Instant};

/// Waits until the condition holds.
pub(crate) fn becomes_so(is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(10), "it never becomes so");
        thread::sleep(Duration::from_millis(2));
    }
}

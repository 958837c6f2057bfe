//! The cost of connections and calls to a whole process: threads, heap and allocations. A program apart, because the
//! counters are those of the process, so one test runs at a time.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs, reason = "a failed expectation fails the test")]

#[path = "../suite/support/mod.rs"]
mod support;

mod allocations;
#[cfg(target_os = "linux")]
mod idle_connections;
mod leaks;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Waits until no other test runs.
fn run_alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

//! Calls of random shapes between a client and a server over the loopback, with faults: no octet wrong, no call lost without
//! an error, no memory left registered, no rule broken in the captures.
//!
//! A session is a fabric, a client and a server with random settings; whether anything goes wrong in it, and what, is
//! random too. Everything follows from `RPCRDMA_SEED` except the order in which threads run; `RPCRDMA_SESSION` is the
//! number of the first session. In each version, or in `RPCRDMA_VERSION` alone (`1`, `2a` or `2b`), there are at least
//! `RPCRDMA_CALLS` calls, and `RPCRDMA_GIVEN_UP` calls are given up:
//!
//! ```sh
//! RPCRDMA_CALLS=3000000 cargo test --release -p rpcrdma-verbs --test random -- --nocapture
//! ```
//!
//! A program of its own, because any panic in it ends the process.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    reason = "a failed expectation fails the test"
)]

#[path = "../suite/dissected/mod.rs"]
mod dissected;
mod session;
mod shape;

use std::collections::BTreeSet;
use std::fmt::Display;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use std::{panic, process, thread};

use rpcrdma::endpoint::Version;
use rpcrdma::v2::Family;

use session::{Plan, Tally};
use shape::mixed;

/// Calls that have ended, in all sessions.
pub(crate) static ENDED: AtomicU64 = AtomicU64::new(0);

fn variable(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |value| value.parse().unwrap())
}

/// The sessions that have not ended.
static UNDER_WAY: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Ends the process at once, because the other threads of a session might wait for the one that has panicked. It writes
/// the reason, because the test harness would hold back what is printed.
fn fall(why: &dyn Display) {
    let sessions = UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner);
    let ended = ENDED.load(Ordering::Relaxed);
    let _ = writeln!(io::stderr(), "{why}\nafter {ended} calls, in one of {sessions:#?}");
    process::exit(101);
}

/// Ends the test when a thread panics, or when no call has ended for a minute.
fn watch() {
    panic::set_hook(Box::new(|why| fall(why)));
    thread::spawn(|| {
        let mut before = (u64::MAX, 0);
        loop {
            thread::sleep(Duration::from_secs(1));
            let ended = ENDED.load(Ordering::Relaxed);
            before = if ended == before.0 { (ended, before.1 + 1) } else { (ended, 0) };
            if before.1 > 60 {
                fall(&"nothing has come to its end for a minute");
            }
        }
    });
}

/// Tests the versions side by side: the threads of a session wait for each other, so one session leaves processors idle.
fn in_each_version(test: impl Fn(Version) + Sync) {
    let test = &test;
    thread::scope(|scope| {
        for version in versions() {
            scope.spawn(move || test(version));
        }
    });
}

/// The versions to test.
fn versions() -> Vec<Version> {
    let mut versions = vec![Version::One, Version::Two(Family::A), Version::Two(Family::B)];
    if let Ok(only) = std::env::var("RPCRDMA_VERSION") {
        versions.retain(|version| version.to_string() == only);
        assert!(!versions.is_empty(), "RPCRDMA_VERSION is 1, 2a or 2b");
    }
    versions
}

/// Runs sessions of this version until there are enough calls.
fn sessions(version: Version, plan: impl Fn(u64) -> Plan, is_enough: impl Fn(&Tally) -> bool) -> Tally {
    let seed = variable("RPCRDMA_SEED", 1);
    let (mut sum, mut number) = (Tally::default(), variable("RPCRDMA_SESSION", 0));
    watch();
    while !is_enough(&sum) {
        let plan = plan(mixed(mixed(seed) ^ number));
        let name = format!("version {version}, session {number} of seed {seed}: {plan:?}");
        UNDER_WAY.lock().unwrap().insert(name.clone());
        let tally = session::run(&plan);
        UNDER_WAY.lock().unwrap().remove(&name);
        sum.add_tally(&tally);
        number += 1;
    }
    println!("version {version}, seed {seed}, {number} sessions, {} calls: {sum:?}", sum.calls());
    sum
}

/// Checks that no other call is lost, no memory stays registered, and no rule is broken in the captures.
#[test]
fn calls_that_are_given_up_harm_no_other() {
    let calls = variable("RPCRDMA_GIVEN_UP", 2_000);
    in_each_version(|version| {
        // On a busy machine many calls are given up in few sessions.
        let is_enough = |sum: &Tally| sum.given_up >= calls && sum.answered > calls && sum.captured > 0;
        let sum = sessions(version, |seed| Plan::dropping(version, seed), is_enough);
        assert_eq!((sum.lost, sum.not_registered), (0, 0), "{sum:?}");
    });
}

#[test]
fn random_calls_end_once_with_the_right_octets() {
    let calls = variable("RPCRDMA_CALLS", 6_000);
    // A session takes longer to begin and end than its calls take, so a long run has longer sessions.
    let times = (calls / 50_000).clamp(1, 20) as u32;
    in_each_version(|version| {
        let sum = sessions(version, |seed| Plan::from_seed(version, seed, times), |sum| sum.calls() >= calls);
        // Otherwise the test has not tested anything.
        let kinds =
            [sum.answered, sum.system_errors, sum.refused, sum.lost, sum.given_up, sum.not_registered, sum.captured];
        assert!(kinds.iter().all(|&count| count > 0), "{sum:?}");
        assert_eq!(sum.forgotten > 0, version != Version::One, "{sum:?}");
    });
}

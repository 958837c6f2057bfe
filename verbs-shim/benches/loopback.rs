//! Calls per second, and octets per second by Read and by Write chunks, through client, server and loopback.
//!
//! ```sh
//! cargo bench -p rpcrdma-verbs
//! ```
//!
//! Each number is that of the best of many short rounds: what else runs on the machine can only make a round longer.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

#[path = "../tests/support/echo.rs"]
#[allow(dead_code, reason = "others measure more")]
mod echo;

use std::time::{Duration, Instant};

use echo::{Alone, Caller, Kind, with_server};

const ROUNDS: u32 = 50;
const SIZES: [usize; 3] = [4 << 10, 64 << 10, 1 << 20];

/// How long an operation takes, done so often in each round.
fn time(times: u32, mut operation: impl FnMut()) -> Duration {
    let mut round = || {
        let start = Instant::now();
        (0..times).for_each(|_| operation());
        start.elapsed() / times
    };
    round();
    (0..ROUNDS).map(|_| round()).min().unwrap()
}

fn main() {
    let mut alone = Alone::new();
    let null = time(2000, || alone.call());
    println!("NULL, one thread at both ends    {:9.0} calls/s", 1.0 / null.as_secs_f64());
    with_server(|fabric, client| {
        let mut caller = Caller::new(client, Kind::Null);
        let null = time(2000, || caller.call());
        println!("NULL, a thread at each end       {:9.0} calls/s", 1.0 / null.as_secs_f64());
        for size in SIZES {
            for (name, kind) in [("Read", Kind::Read(size)), ("Write", Kind::Write(size))] {
                let mut caller = Caller::new(client, kind);
                let before = fabric.copies();
                let one = time((64 << 20) / size as u32 / 16, || caller.call());
                let (copied, moved) = {
                    let after = fabric.copies();
                    (after.copied - before.copied, after.moved - before.moved)
                };
                assert!(copied <= moved, "one copy of an octet at most");
                let (seconds, copies) = (one.as_secs_f64(), copied as f64 / moved as f64);
                println!(
                    "{name:5} chunk of {size:7} octets   {:9.0} calls/s {:7.2} GB/s {copies:5.2} copies of each octet",
                    1.0 / seconds,
                    size as f64 / seconds / 1e9
                );
            }
        }
    });
}

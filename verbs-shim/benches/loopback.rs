//! Calls per second, and octets per second in Read and Write chunks, through client, server and loopback.
//!
//! ```sh
//! cargo bench -p rpcrdma-verbs
//! ```
//!
//! Each number is from the best of many short rounds: other work on the machine can only make a round longer.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

#[path = "../tests/suite/support/mod.rs"]
mod support;

use std::thread;
use std::time::{Duration, Instant};

use rpcrdma_verbs::loopback::Fabric;
use rpcrdma_verbs::{Client, Server, Settings};

use support::echo;
use support::echo::{Caller, Kind, alone, with_server};

const ROUNDS: u32 = 50;
const SIZES: [usize; 3] = [4 << 10, 64 << 10, 1 << 20];

/// Returns the time of an operation in the best round; each round does it this many times.
fn time(times: u32, mut operation: impl FnMut()) -> Duration {
    let mut round = || {
        let start = Instant::now();
        (0..times).for_each(|_| operation());
        start.elapsed() / times
    };
    round();
    (0..ROUNDS).map(|_| round()).min().unwrap()
}

/// Prints calls per second and, if data is moved, octets per second and copies of each octet.
fn measure(ends: &str, kind: Kind, fabric: &Fabric, call: impl FnMut()) {
    let (name, size) = match kind {
        Kind::Read(size) => ("Read chunk", size),
        Kind::Write(size) => ("Write chunk", size),
        _ => ("NULL", 0),
    };
    let before = fabric.copies();
    let one = time(if size == 0 { 2000 } else { (64 << 20) / size as u32 / 16 }, call);
    let after = fabric.copies();
    let (copied, moved) = (after.copied - before.copied, after.moved - before.moved);
    assert!(copied <= moved, "one copy of an octet at most");
    let (seconds, copies) = (one.as_secs_f64(), copied as f64 / moved as f64);
    let (calls, rate) = (1.0 / seconds, size as f64 / seconds / 1e9);
    println!(
        "{ends:11} {name:11} {size:7} octets {calls:9.0} calls/s {rate:7.2} GB/s {copies:5.2} copies of each octet"
    );
}

/// Prints how long a NULL call takes while this many futures wait for theirs. The connection has 64 in flight.
fn measure_futures(futures: u32) {
    const ROUNDS: usize = 5;
    with_server(|_, client| {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let round = || {
            let start = Instant::now();
            runtime.block_on(async {
                let mut tasks = tokio::task::JoinSet::new();
                for _ in 0..futures {
                    let client = client.clone();
                    tasks.spawn(async move { client.start(echo::null(&client)).await.reply().map(drop).unwrap() });
                }
                tasks.join_all().await;
            });
            start.elapsed() / futures
        };
        let one = (0..ROUNDS).map(|_| round()).min().unwrap();
        println!("{futures:6} futures that wait {:9.1} \u{b5}s a call", one.as_secs_f64() * 1e6);
    });
}

/// Prints what idle connections cost, as the operating system counts it; so only on Linux.
fn measure_idle() {
    const CONNECTIONS: u8 = 64;
    const LONG: Duration = Duration::from_secs(10);
    let field = |file: &str, name: &str| {
        let text = std::fs::read_to_string(format!("/proc/self/{file}")).unwrap_or_default();
        text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("?").trim().to_owned()
    };
    // Hundredths of a second, in user mode and in the kernel.
    let ticks = || {
        let stat = field("stat", "");
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum::<u64>()
    };
    let fabric = Fabric::new();
    let there = fabric.adapter([192, 0, 2, 200].into()).unwrap();
    let address = "192.0.2.200:20049".parse().unwrap();
    let server = Server::bind(&there, address, Settings::server()).unwrap();
    let stop = server.stopper();
    thread::scope(|scope| {
        scope.spawn(|| server.serve(&echo::answer).unwrap());
        let clients: Vec<_> = (1..=CONNECTIONS)
            .map(|number| fabric.adapter([192, 0, 2, number].into()).unwrap())
            .map(|here| Client::connect(&here, address, &Settings::client()).unwrap())
            .collect();
        clients.iter().for_each(|client| client.call(&mut echo::null(client)).map(drop).unwrap());
        thread::sleep(Duration::from_secs(3));
        let before = ticks();
        thread::sleep(LONG);
        let (used, threads, memory) = (ticks() - before, field("status", "Threads:"), field("status", "VmRSS:"));
        let share = used as f64 / (100.0 * LONG.as_secs_f64()) * 100.0;
        println!("{} idle connections: {threads} threads, {memory}, {share:.1} % of a processor", clients.len());
        stop.stop();
    });
}

fn main() {
    measure_idle();
    let kinds = || SIZES.iter().flat_map(|&size| [Kind::Read(size), Kind::Write(size)]);
    let kinds = || std::iter::once(Kind::Null).chain(kinds());
    // If there were chunks, another thread would register their memory.
    alone(|fabric, client, server| {
        let mut caller = Caller::new(client, Kind::Null);
        measure("one thread", Kind::Null, fabric, || caller.call_alone(server));
    });
    with_server(|fabric, client| {
        for kind in kinds() {
            let mut caller = Caller::new(client, kind);
            measure("two threads", kind, fabric, || caller.call());
        }
    });
    [64, 1000, 20_000].into_iter().for_each(measure_futures);
}

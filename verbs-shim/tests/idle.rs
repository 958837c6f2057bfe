//! What idle connections cost. A separate test, because it counts all threads of its process.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed expectation fails the test")]

#[path = "suite/support/mod.rs"]
mod support;

use std::thread;
use std::time::{Duration, Instant};

use rpcrdma_verbs::loopback::Fabric;
use rpcrdma_verbs::{Client, Server, Settings};

use support::echo;
use support::resident::resident;
use support::stopping::Stopping;

/// How many threads of this process have names that begin like this, and how often they have slept, according to the
/// operating system.
fn threads(name: &str) -> (usize, u64) {
    let (mut count, mut slept) = (0, 0);
    for thread in std::fs::read_dir("/proc/self/task").unwrap() {
        let status = std::fs::read_to_string(thread.unwrap().path().join("status")).unwrap_or_default();
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim();
        if field("Name:").starts_with(name) {
            count += 1;
            slept += field("voluntary_ctxt_switches:").parse::<u64>().unwrap();
        }
    }
    (count, slept)
}

#[test]
fn idle_connections_cost_no_threads_and_wake_nobody_up() {
    const CONNECTIONS: u8 = 64;
    /// KiB for both ends: 512 for their Receives and Sends, 32 of 4 KiB each; about 420 for the tables of calls.
    const EACH: u64 = 1100;
    let without = resident();
    let fabric = Fabric::new();
    let there = fabric.adapter([192, 0, 2, 200].into()).unwrap();
    let address = "192.0.2.200:20049".parse().unwrap();
    let server = Server::bind(&there, address, Settings::server()).unwrap().with_idle_limit(Duration::from_secs(60));
    let stopping = Stopping(server.stopper());
    thread::scope(|scope| {
        let served = scope.spawn(|| server.serve(&echo::answer).unwrap());
        // However this ends, it does not wait for the server.
        let stopping = stopping;
        let clients: Vec<_> = (1..=CONNECTIONS)
            .map(|number| fabric.adapter([192, 0, 2, number].into()).unwrap())
            .map(|here| Client::connect(&here, address, &Settings::client()).unwrap())
            .collect();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        // Each makes a call from a thread and one from a future.
        for client in &clients {
            client.call(&mut echo::null(client)).unwrap();
            runtime.block_on(client.start(echo::null(client))).1.unwrap();
        }
        // Extra threads end once they have had nothing to do for a while.
        let begun = Instant::now();
        let before = loop {
            thread::sleep(Duration::from_millis(300));
            let before = threads("rpcrdma");
            if before.0 <= 3 {
                break before;
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "two of the server, one for futures: {before:?}");
        };
        thread::sleep(Duration::from_millis(1500));
        assert_eq!(threads("rpcrdma"), before, "somebody has woken up");
        let each = (resident() - without) / u64::from(CONNECTIONS);
        assert!(each < EACH, "{each} KiB a connection");
        // They are still served.
        for client in &clients {
            client.call(&mut echo::null(client)).unwrap();
        }
        drop(stopping);
        served.join().unwrap();
    });
}

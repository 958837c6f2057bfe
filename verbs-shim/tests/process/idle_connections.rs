//! The cost of idle connections.

use std::thread;
use std::time::{Duration, Instant};

use rpcrdma_verbs::loopback::Fabric;
use rpcrdma_verbs::{Client, Server, Settings, Versions};

use crate::run_alone;
use crate::support::cost::{heap, pair_cost, resident_after};
use crate::support::echo;
use crate::support::stopping::Stopping;

/// Returns the number of threads of this process with names that begin like this, and the number of times that they
/// have slept, according to the operating system.
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
    /// Octets of heap for both ends: 262,144 for their Receives, 32 of 4 KiB each; 145,000 for the tables of calls; 32,768
    /// for the first Sends.
    const EACH: i64 = 500_000;
    let _alone = run_alone();
    let without = heap();
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
            client.call(&mut echo::null(client)).unwrap().results().unwrap();
            runtime.block_on(client.start(echo::null(client))).reply().map(drop).unwrap();
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
        let each = (heap() - without) / i64::from(CONNECTIONS);
        assert!(each < EACH, "{each} octets a connection");
        // They are still served.
        for client in &clients {
            client.call(&mut echo::null(client)).unwrap().results().unwrap();
        }
        drop(stopping);
        served.join().unwrap();
    });
}

#[test]
fn memory_follows_from_settings_in_few_registrations() {
    let _alone = run_alone();
    let settings = |settings: Settings, calls: u32, served: u32, versions: Versions| {
        settings.to_builder().requested_credits(calls).granted_credits(served).versions(versions).build().unwrap()
    };
    // Two registrations of each end; version 2 has a third for further Receives, which a client of version 1 does not
    // make the server register.
    for (calls, versions, served, octets, registrations) in [
        (1, Versions::ONE, Versions::ONE, 48_000, 4.0),
        (32, Versions::ONE, Versions::ONE, 440_000, 4.0),
        (32, Versions::ONE, Versions::all(), 440_000, 4.0),
        (32, Versions::all(), Versions::all(), 740_000, 6.0),
    ] {
        let client = settings(Settings::client(), calls, 0, versions);
        let cost = pair_cost(&client, settings(Settings::server(), 0, calls, served));
        assert!(cost.octets < octets && cost.registrations <= registrations, "{calls} calls: {cost:?}");
    }
    // With shared Receives, the server has none for each connection, and one registration less.
    let shared = Settings::server().to_builder().shared_receives(64).build().unwrap();
    let (own, sharing) = (pair_cost(&Settings::client(), Settings::server()), pair_cost(&Settings::client(), shared));
    let receives = 32 * 4096;
    assert!(sharing.octets + receives < own.octets, "{sharing:?} {own:?}");
    assert!(sharing.octets < 300_000 && sharing.registrations <= 3.0, "{sharing:?}");
    // A server that may call back has no table for that until it does.
    let calls_back = settings(Settings::server(), 32, 32, Versions::ONE);
    let cost = pair_cost(&Settings::client(), calls_back);
    assert!(cost.octets < 440_000 + receives, "{cost:?}");
}

#[test]
fn the_memory_of_connections_is_used_again_by_later_ones() {
    let _alone = run_alone();
    let after = resident_after(600, 5);
    assert!(after[4] * 10 < after[0] * 12, "KiB after each round: {after:?}");
}

//! The cost of connections over the loopback: heap, registrations, and resident memory.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use rpcrdma_verbs::loopback::{Adapter, Fabric};
use rpcrdma_verbs::{Client, Server, Settings};

use super::counting::OCTETS;
use super::echo;
use super::stopping::Stopping;

/// Heap in octets.
pub(crate) fn heap() -> i64 {
    OCTETS.load(Ordering::Relaxed)
}

/// Resident memory of this process in KiB, or 0 if the operating system does not tell.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
    resident.and_then(|resident| resident.parse().ok()).unwrap_or_default()
}

/// Waits until the heap is no larger than this: a server drops its connections later than the clients.
fn wait_for_heap(octets: i64) {
    let begun = Instant::now();
    while heap() > octets {
        assert!(begun.elapsed() < Duration::from_secs(30), "{} octets are left", heap() - octets);
        thread::sleep(Duration::from_millis(10));
    }
}

/// Runs `run` with a function that makes a connection, and a call.
fn with_server(client: &Settings, server: Settings, run: impl FnOnce(&Fabric, &dyn Fn() -> Client<Adapter>)) {
    let fabric = Fabric::new();
    let [here, there] = [1, 200].map(|number| fabric.adapter([192, 0, 2, number].into()).unwrap());
    let address = "192.0.2.200:20049".parse().unwrap();
    let server = Server::bind(&there, address, server).unwrap().with_connections(10_000);
    let stopping = Stopping(server.stopper());
    thread::scope(|scope| {
        let served = scope.spawn(|| server.serve(&echo::answer).unwrap());
        // However this ends, it does not wait for the server.
        let stopping = stopping;
        run(&fabric, &|| {
            let connection = Client::connect(&here, address, client).unwrap();
            connection.call(&mut echo::null(&connection)).unwrap().results().unwrap();
            connection
        });
        drop(stopping);
        served.join().unwrap();
    });
}

/// Octets of heap and number of registrations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PairCost {
    pub(crate) octets: i64,
    pub(crate) registrations: f64,
}

/// Returns the cost of a connection, both ends together, after a call.
pub(crate) fn pair_cost(client: &Settings, server: Settings) -> PairCost {
    const CONNECTIONS: usize = 50;
    let mut cost = PairCost { octets: 0, registrations: 0.0 };
    with_server(client, server, |fabric, connect| {
        let _warm: Vec<_> = (0..CONNECTIONS).map(|_| connect()).collect();
        let (octets, registrations) = (heap(), fabric.counts().registrations);
        let _connections: Vec<_> = (0..CONNECTIONS).map(|_| connect()).collect();
        cost.octets = (heap() - octets) / CONNECTIONS as i64;
        cost.registrations = (fabric.counts().registrations - registrations) as f64 / CONNECTIONS as f64;
    });
    cost
}

/// Makes this many connections, and drops them, `rounds` times. Returns the resident memory in KiB after each round.
pub(crate) fn resident_after(connections: usize, rounds: usize) -> Vec<u64> {
    let mut after = Vec::new();
    with_server(&Settings::client(), Settings::server(), |_, connect| {
        drop(connect());
        let octets = heap();
        for _ in 0..rounds {
            drop((0..connections).map(|_| connect()).collect::<Vec<_>>());
            wait_for_heap(octets + 1_000_000);
            after.push(resident());
        }
    });
    after
}

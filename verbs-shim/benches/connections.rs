//! The cost of a connection over the loopback: heap, registrations, and the memory that remains after many connections.
#![allow(clippy::unwrap_used, missing_docs, reason = "it is a measurement")]

#[path = "../tests/suite/support/mod.rs"]
mod support;

use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use rpcrdma_verbs::loopback::{Adapter, Fabric};
use rpcrdma_verbs::{Client, Server, Settings, Versions};

use support::counting::OCTETS;
use support::echo;
use support::resident::resident;
use support::stopping::Stopping;

/// Heap in octets.
fn heap() -> i64 {
    OCTETS.load(Ordering::Relaxed)
}

/// Waits until the heap is no larger than this, because a server lets go of its connections later than the clients.
fn wait_for_heap(octets: i64) {
    let begun = Instant::now();
    while heap() > octets && begun.elapsed() < Duration::from_secs(10) {
        thread::sleep(Duration::from_millis(10));
    }
}

/// Runs `run` with a function that makes a connection and a call.
fn with_server(client: &Settings, server: Settings, run: impl FnOnce(&Fabric, &dyn Fn() -> Client<Adapter>)) {
    let fabric = Fabric::new();
    let [here, there] = [1, 200].map(|number| fabric.adapter([192, 0, 2, number].into()).unwrap());
    let address = "192.0.2.200:20049".parse().unwrap();
    let server = Server::bind(&there, address, server).unwrap().with_connections(10_000);
    let stopping = Stopping(server.stopper());
    thread::scope(|scope| {
        let served = scope.spawn(|| server.serve(&echo::answer).unwrap());
        run(&fabric, &|| {
            let connection = Client::connect(&here, address, client).unwrap();
            connection.call(&mut echo::null(&connection)).unwrap();
            connection
        });
        drop(stopping);
        served.join().unwrap();
    });
}

/// Prints heap and registrations of both ends of a connection.
fn measure_pair(name: &str, client: &Settings, server: Settings) {
    const CONNECTIONS: usize = 50;
    with_server(client, server, |fabric, connect| {
        let _warm: Vec<_> = (0..CONNECTIONS).map(|_| connect()).collect();
        let (octets, regions) = (heap(), fabric.counts().registrations);
        let connections: Vec<_> = (0..CONNECTIONS).map(|_| connect()).collect();
        let each = (heap() - octets) / CONNECTIONS as i64;
        let registrations = (fabric.counts().registrations - regions) as f64 / CONNECTIONS as f64;
        println!("{name:35} {each:9} octets {registrations:6.1} registrations, both ends together");
        drop(connections);
    });
}

/// Prints the resident memory while many connections exist, and after they were dropped, several times.
fn measure_rounds(connections: usize) {
    with_server(&Settings::client(), Settings::server(), |_, connect| {
        drop(connect());
        let octets = heap();
        for round in 1..=5 {
            let alive: Vec<_> = (0..connections).map(|_| connect()).collect();
            let most = resident() / 1024;
            drop(alive);
            wait_for_heap(octets + 1_000_000);
            let (rest, left) = (resident() / 1024, (heap() - octets) / 1024);
            println!("round {round}: {connections} connections {most:6} MiB, afterwards {rest:6} MiB, heap {left} KiB");
        }
    });
}

fn main() {
    let (client, server) = (Settings::client(), Settings::server());
    let one_client = client.clone().to_builder().calls(1).build().unwrap();
    let one_server = server.clone().to_builder().served(1).build().unwrap();
    measure_pair("calls(1), served(1)", &one_client, one_server);
    measure_pair("default settings", &client, server.clone());
    let all = |settings: Settings| settings.to_builder().versions(Versions::all()).build().unwrap();
    measure_pair("default settings, all versions", &all(client), all(server));
    measure_rounds(std::env::var("RPCRDMA_CONNECTIONS").map_or(2000, |count| count.parse().unwrap()));
}

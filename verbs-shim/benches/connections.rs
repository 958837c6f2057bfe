//! The cost of a connection over the loopback: heap, registrations, and the memory that remains after many connections.
#![allow(clippy::unwrap_used, missing_docs, reason = "it is a measurement")]

#[path = "../tests/suite/support/mod.rs"]
mod support;

use rpcrdma_verbs::{Settings, Versions};

use support::cost::{PairCost, pair_cost, resident_after};

fn main() {
    let (client, server) = (Settings::client(), Settings::server());
    let one_client = client.clone().to_builder().requested_credits(1).build().unwrap();
    let one_server = server.clone().to_builder().granted_credits(1).build().unwrap();
    let shared = server.clone().to_builder().shared_receives(64).build().unwrap();
    let all = |settings: &Settings| settings.clone().to_builder().versions(Versions::all()).build().unwrap();
    for (name, client, server) in [
        ("calls(1), served(1)", &one_client, one_server),
        ("default settings", &client, server.clone()),
        ("default settings, all versions", &all(&client), all(&server)),
        ("default settings, 64 shared", &client, shared),
    ] {
        let PairCost { octets, registrations } = pair_cost(client, server);
        println!("{name:31} {octets:8} octets {registrations:5.1} registrations, both ends together");
    }
    let connections = std::env::var("RPCRDMA_CONNECTIONS").map_or(2000, |count| count.parse().unwrap());
    for (round, resident) in resident_after(connections, 5).iter().enumerate() {
        println!("round {}: {} MiB after {connections} connections", round + 1, resident / 1024);
    }
}

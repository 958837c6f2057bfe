//! State that a [`Folder`] keeps for each client of NFSv4.1, over the loopback.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rpcrdma_tools::echo::programs;
use rpcrdma_tools::nfs::{self, Folder};
use rpcrdma_verbs::loopback::Adapter;
use rpcrdma_verbs::{Call, Client, Settings};

use crate::support::service::with_service;

/// The words of the results of a COMPOUND of NFSv4.1 that consists of one operation.
fn compound(client: &Client<Adapter>, operation: &[u32]) -> Vec<u32> {
    let mut call = Call::rpc(nfs::PROGRAM, 4, 1).with_results_length(512);
    for word in [0, 1, 1].iter().chain(operation) {
        call.message().push(&word.to_be_bytes());
    }
    client
        .call(&mut call)
        .unwrap()
        .results()
        .unwrap()
        .as_chunks()
        .0
        .iter()
        .map(|word| u32::from_be_bytes(*word))
        .collect()
}

#[test]
fn a_client_is_forgotten_when_its_connection_ends() {
    const MISORDERED: u32 = 10_063;
    const STALE: u32 = 10_022;
    let folder = Arc::new(Folder::default());
    let before = Arc::strong_count(&folder);
    with_service(&folder.serve(programs()), |fabric, address| {
        let here = fabric.adapter([192, 0, 2, 1].into()).unwrap();
        let [first, second] = [0; 2].map(|_| Client::connect(&here, address, &Settings::client()).unwrap());
        // EXCHANGE_ID, with a verifier and an owner of one octet.
        let known = compound(&first, &[42, 0, 1, 1, 0x6100_0000, 0, 0, 0]);
        // CREATE_SESSION out of sequence, which changes nothing.
        let limits = [0, 4096, 4096, 0, 8, 1, 0];
        let create = [&[43, known[5], known[6], 9, 0], &limits[..], &limits, &[0, 0]].concat();
        assert_eq!(compound(&second, &create), [MISORDERED, 0, 1, 43, MISORDERED]);
        drop(first);
        let until = Instant::now() + Duration::from_secs(10);
        while compound(&second, &create)[0] == MISORDERED && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(compound(&second, &create)[0], STALE);
    });
    assert_eq!(Arc::strong_count(&folder), before, "nobody keeps the folder");
}

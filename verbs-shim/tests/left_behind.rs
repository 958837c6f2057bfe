//! A connection that is dropped leaves nothing behind, whoever has waited for its calls. A separate test, because it counts
//! what all threads of its process allocate.
#![allow(clippy::unwrap_used, missing_docs, reason = "a failed expectation fails the test")]

#[path = "suite/support/mod.rs"]
mod support;

use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use rpcrdma_verbs::loopback::Adapter;
use rpcrdma_verbs::{Call, Client, Settings};

use support::counting::OCTETS;
use support::echo::{answer, null};
use support::service::with_service;

type Use = fn(&Client<Adapter>);

/// A call whose memory has to be registered.
fn with_item(client: &Client<Adapter>) -> Call {
    let mut call = null(client);
    call.message().push_item(vec![1; 5000]);
    call
}

fn waits_for_a_future(client: &Client<Adapter>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(client.start(with_item(client))).1.unwrap();
}

#[test]
fn a_connection_leaves_nothing_behind() {
    let uses: [(&str, Use); 4] = [
        ("a thread calls", |client| client.call(&mut with_item(client)).unwrap()),
        ("a thread starts a call and waits", |client| client.start(with_item(client)).wait().1.unwrap()),
        ("a call is started and dropped", |client| drop(client.start(with_item(client)))),
        ("a future is waited for", waits_for_a_future),
    ];
    with_service(&answer, |fabric, address| {
        let here = fabric.adapter([192, 0, 2, 1].into()).unwrap();
        for (name, with) in uses {
            let connections = |count: usize| {
                for _ in 0..count {
                    with(&Client::connect(&here, address, &Settings::client()).unwrap());
                }
            };
            // What is allocated once for all of them.
            connections(20);
            thread::sleep(Duration::from_millis(200));
            let before = OCTETS.load(Ordering::Relaxed);
            connections(100);
            let begun = Instant::now();
            // The driver and the server may still be ending the last ones.
            loop {
                let left = OCTETS.load(Ordering::Relaxed) - before;
                if left < 10_000 {
                    break;
                }
                assert!(begun.elapsed() < Duration::from_secs(5), "{name}: {left} octets after 100 connections");
                thread::sleep(Duration::from_millis(20));
            }
        }
    });
}

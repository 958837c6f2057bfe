//! A connection that is dropped leaves nothing behind, whoever has waited for its calls.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use rpcrdma_verbs::loopback::Adapter;
use rpcrdma_verbs::{Call, Client, Error, Settings};

use crate::run_alone;
use crate::support::counting::OCTETS;
use crate::support::echo::{answer, null};
use crate::support::service::with_service;

const PAUSE: Duration = Duration::from_millis(20);

type Use = fn(&Client<Adapter>);

/// A call whose memory has to be registered.
fn with_item(client: &Client<Adapter>) -> Call {
    let mut call = null(client);
    call.message().push_item(vec![1; 5000]);
    call
}

fn waits_for_a_future(client: &Client<Adapter>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(client.start(with_item(client))).reply().map(drop).unwrap();
}

/// A server whose threads are still ending earlier connections rejects one that would be too many.
fn connect(here: &Adapter, address: SocketAddr) -> Client<Adapter> {
    let begun = Instant::now();
    loop {
        match Client::connect(here, address, &Settings::client()) {
            Err(Error::Rejected(_)) if begun.elapsed() < Duration::from_secs(5) => thread::sleep(PAUSE),
            connected => return connected.unwrap(),
        }
    }
}

/// Octets that 100 connections must leave behind to be a leak.
const A_LEAK: i64 = 10_000;

/// Octets that are still allocated after `connections`. The driver and the server may take a while to end the last ones.
fn left_by(connections: impl Fn()) -> i64 {
    let before = OCTETS.load(Ordering::Relaxed);
    connections();
    let begun = Instant::now();
    loop {
        let left = OCTETS.load(Ordering::Relaxed) - before;
        if left < A_LEAK || begun.elapsed() > Duration::from_secs(5) {
            return left;
        }
        thread::sleep(PAUSE);
    }
}

#[test]
fn a_connection_leaves_nothing_behind() {
    let _alone = run_alone();
    let uses: [(&str, Use); 4] = [
        ("a thread calls", |client| client.call(&mut with_item(client)).map(drop).unwrap()),
        ("a thread starts a call and waits", |client| {
            client.start(with_item(client)).wait().reply().map(drop).unwrap()
        }),
        ("a call is started and dropped", |client| drop(client.start(with_item(client)))),
        ("a future is waited for", waits_for_a_future),
    ];
    with_service(&answer, |fabric, address| {
        let here = fabric.adapter([192, 0, 2, 1].into()).unwrap();
        for (name, with) in uses {
            let connections = |count: usize| {
                for _ in 0..count {
                    with(&connect(&here, address));
                }
            };
            // Lets the connections allocate what they share.
            connections(20);
            thread::sleep(Duration::from_millis(200));
            // A queue may grow once, when the machine is busy; a leak grows every time.
            let left: [i64; 3] = std::array::from_fn(|_| left_by(|| connections(100)));
            assert!(left.iter().any(|&octets| octets < A_LEAK), "{name}: {left:?} octets after 100 connections each");
        }
    });
}

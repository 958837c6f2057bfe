//! Delays of the server, over the loopback: each shows in the right phase of a capture, and delays nothing else.

use std::thread;
use std::time::{Duration, Instant};

use rpcrdma_dissector::Phases;
use rpcrdma_tools::delay::Delayed;
use rpcrdma_tools::echo::{Caller, Carry, programs};
use rpcrdma_verbs::loopback::{Adapter, Fabric, PathMtu};
use rpcrdma_verbs::{Client, Server, Settings};

use crate::dissected::{File, dissect};
use crate::support::stopping::Stopping;

const ADDRESS: &str = "192.0.2.2:20049";
const DELAY: Duration = Duration::from_millis(60);
/// Far longer than a call takes otherwise, even on a busy computer.
const LONG: Duration = Duration::from_secs(20);

/// Delays of a server: before each call, before each RDMA Read, before the RDMA Writes.
#[derive(Clone, Copy, Debug, Default)]
struct Delays {
    call: Duration,
    read: Duration,
    write: Duration,
}

/// Runs a test with a client of a server that has these delays.
fn with_server(fabric: &Fabric, delays: Delays, test: impl FnOnce(&Client<Adapter>)) {
    let [here, there] = [1, 2].map(|number| fabric.adapter([192, 0, 2, number].into()).unwrap());
    let builder = Settings::server().to_builder().delay_reads(delays.read).delay_writes(delays.write);
    let server = Server::bind(&there, ADDRESS.parse().unwrap(), builder.build().unwrap()).unwrap();
    let service = Delayed::new(programs(), delays.call);
    thread::scope(|scope| {
        let stopping = Stopping(server.stopper());
        let served = scope.spawn(|| server.serve(&service));
        test(&Client::connect(&here, ADDRESS.parse().unwrap(), &Settings::client()).unwrap());
        drop(stopping);
        served.join().unwrap().unwrap();
    });
}

fn call(client: &Client<Adapter>, carry: Carry, length: u32) {
    Caller::echo(carry, length, &client.connection().terms()).unwrap().call(client).unwrap();
}

/// Makes these calls, one after the other, and returns the phases of each.
fn phases(delays: Delays, calls: &[(Carry, u32)]) -> Vec<Phases> {
    let file = File::default();
    let fabric = Fabric::captured(file.clone(), PathMtu::Octets4096).unwrap();
    with_server(&fabric, delays, |client| calls.iter().for_each(|(carry, length)| call(client, *carry, *length)));
    fabric.end_capture().unwrap();
    let found = dissect(&file.octets());
    assert_eq!(found.slugs(), [""; 0]);
    found.transactions.iter().map(|transaction| transaction.phases.unwrap()).collect()
}

/// Nobody but the responder waits for a delay, so it is in that phase. A Read chunk of one segment takes one RDMA Read.
#[test]
fn a_capture_shows_each_delay_as_time_of_the_responder() {
    let calls = [(Carry::Inline, 500), (Carry::Read, 5000), (Carry::Write, 5000), (Carry::Write, 500_000)];
    let each = |delay| Delays { call: delay, ..Delays::default() };
    let reads = |delay| Delays { read: delay, ..Delays::default() };
    let writes = |delay| Delays { write: delay, ..Delays::default() };
    let all = Delays { call: DELAY, read: 2 * DELAY, write: 3 * DELAY };
    for (delays, expected) in
        [(each(DELAY), [1, 1, 1, 1]), (reads(DELAY), [0, 1, 0, 0]), (writes(DELAY), [0, 0, 1, 1]), (all, [1, 3, 4, 4])]
    {
        // The best of three: the computer may be busy with other things.
        let best: Vec<Duration> = (0..3).map(|_| phases(delays, &calls)).fold(vec![LONG; 4], |best, phases| {
            let responder = phases.iter().map(|phases| Duration::from_nanos(phases.responder));
            best.into_iter().zip(responder).map(|(best, responder)| best.min(responder)).collect()
        });
        for (responder, times) in best.iter().zip(expected) {
            let delay = DELAY * times;
            assert!((delay..delay + DELAY / 2).contains(responder), "{delays:?}: {best:?}");
        }
    }
}

/// Sixteen calls at once wait as long as one does.
#[test]
fn delays_of_calls_do_not_add_up() {
    let delays = [
        (Delays { call: DELAY, ..Delays::default() }, Carry::Inline),
        (Delays { read: DELAY, ..Delays::default() }, Carry::Read),
        (Delays { write: DELAY, ..Delays::default() }, Carry::Write),
    ];
    for (delays, carry) in delays {
        with_server(&Fabric::new(), delays, |client| {
            call(client, Carry::Inline, 1);
            let begun = Instant::now();
            thread::scope(|scope| (0..16).for_each(|_| drop(scope.spawn(|| call(client, carry, 500)))));
            let took = begun.elapsed();
            assert!((DELAY..8 * DELAY).contains(&took), "{delays:?}: {took:?}");
        });
    }
}

/// A call that needs no RDMA comes back at once while others wait for theirs.
#[test]
fn a_call_without_a_delay_passes_those_that_are_delayed() {
    with_server(&Fabric::new(), Delays { read: LONG / 20, write: LONG / 20, ..Delays::default() }, |client| {
        call(client, Carry::Inline, 1);
        thread::scope(|scope| {
            let slow = [Carry::Read, Carry::Write].map(|carry| scope.spawn(move || call(client, carry, 5000)));
            let begun = Instant::now();
            (0..50).for_each(|_| call(client, Carry::Inline, 500));
            assert!(begun.elapsed() < LONG / 20, "{:?}", begun.elapsed());
            assert!(slow.iter().all(|slow| !slow.is_finished()));
        });
    });
}

#[test]
fn the_end_of_a_connection_waits_for_no_delay() {
    let begun = Instant::now();
    with_server(&Fabric::new(), Delays { read: LONG, write: LONG, ..Delays::default() }, |client| {
        call(client, Carry::Inline, 1);
        thread::scope(|scope| {
            let lost = [Carry::Read, Carry::Write].map(|carry| {
                scope.spawn(move || {
                    let mut caller = Caller::echo(carry, 5000, &client.connection().terms()).unwrap();
                    caller.call(client).unwrap_err();
                })
            });
            thread::sleep(DELAY);
            client.connection().disconnect();
            lost.into_iter().for_each(|lost| lost.join().unwrap());
        });
    });
    assert!(begun.elapsed() < LONG, "{:?}", begun.elapsed());
}

//! How long calls waited for a credit, as the dissector tells from a capture, against a server that takes a known time for each.

use std::net::SocketAddr;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use rpcrdma_capture::Side;
use rpcrdma_verbs::loopback::{Adapter, Fabric, PathMtu};
use rpcrdma_verbs::{Call, Client, Connection, Request, Server, Settings, Stream};

use crate::dissected::{File, Found, dissect};
use crate::support::header::header;

const LONG: Duration = Duration::from_secs(10);

/// What each call takes to be answered, in milliseconds, in the order in which they are made; 0: at once. The first shows that
/// there are two credits.
const TAKES: [u32; 6] = [0, 40, 100, 30, 50, 10];
/// So the second and third call have both credits, until 40 ms; the fourth until 70, the fifth with the third until 100, and then
/// with the sixth until 110.
const WAITS: [Option<u64>; 6] = [Some(0), None, Some(0), Some(40), Some(30), Some(30)];
const AT_LIMIT: u64 = 110;

fn address() -> SocketAddr {
    "192.0.2.2:20049".parse().unwrap()
}

/// Makes the calls, each as soon as there is a credit for it.
fn call(connection: &Connection<Adapter>) {
    let call = |number: usize| Call::new(Stream::from(header(number as u32, TAKES[number])), 24);
    connection.call(&mut call(0)).unwrap();
    let calls: Vec<_> = (1..TAKES.len()).map(|number| connection.start(call(number))).collect();
    calls.into_iter().for_each(|pending| pending.wait().1.unwrap());
}

/// Answers each call when its time has come.
fn answer(connection: &Connection<Adapter>) {
    thread::scope(|scope| {
        for _ in TAKES {
            let request = connection.request(LONG).unwrap().expect("a call");
            let come = Instant::now();
            scope.spawn(move || answer_one(request, come));
        }
    });
}

fn answer_one(mut request: Request<Adapter>, come: Instant) {
    let takes = request.decode().unwrap().0.procedure;
    thread::sleep(Duration::from_millis(takes.into()).saturating_sub(come.elapsed()));
    request.accept();
    request.answer().unwrap();
}

/// The calls of one end, and what was captured of them.
fn captured(by_client: bool) -> Found {
    let file = File::default();
    let fabric = Fabric::captured(file.clone(), PathMtu::default()).unwrap();
    let [here, there] = [1, 2].map(|host| fabric.adapter([192, 0, 2, host].into()).unwrap());
    let settings = Settings::server().to_builder().served(2).calls(8).build().unwrap();
    let server = Server::bind(&there, address(), settings).unwrap();
    // The client has to be there until all is done.
    let done = Barrier::new(2);
    thread::scope(|scope| {
        scope.spawn(|| {
            let connection = server.accept(LONG).unwrap().expect("a connection");
            if by_client {
                answer(&connection)
            } else {
                call(&connection)
            }
            done.wait();
        });
        let settings = Settings::client().to_builder().served(2).build().unwrap();
        let client = Client::connect(&here, address(), &settings).unwrap();
        if by_client {
            call(client.connection())
        } else {
            answer(client.connection())
        }
        done.wait();
    });
    drop((server, here, there));
    fabric.end_capture().unwrap();
    dissect(&file.octets())
}

/// How far the waits are from what they should be, in milliseconds: as far as the worst of them.
fn worst(found: &Found, by_client: bool) -> f64 {
    let far = |measured: u64, expected: u64| measured as f64 / 1e6 - expected as f64;
    let mut distances = Vec::new();
    for (xid, expected) in (0..).zip(WAITS) {
        let transaction = found.transactions.iter().find(|transaction| transaction.xid == xid).unwrap();
        let wait = transaction.credit_wait.unwrap();
        // Before the first reply there is one credit, until the reply.
        distances.extend(expected.map(|expected| far(wait, expected)));
    }
    let side = if by_client { Side::Active } else { Side::Passive };
    let times = found.reports[0].credit_times.get(side);
    assert_eq!((times.unknown, found.reports[0].credit_times.get(side.other()).reached), (0, 0));
    distances.push(far(times.reached, AT_LIMIT));
    distances.into_iter().fold(0.0, |worst: f64, distance| if distance.abs() > worst.abs() { distance } else { worst })
}

/// A busy machine wakes threads up late, so one run of ten has to be in time.
#[test]
fn calls_wait_for_credits_as_long_as_the_server_takes() {
    for by_client in [true, false] {
        let mut distances = Vec::new();
        let is_in_time = (0..10).any(|_| {
            let distance = worst(&captured(by_client), by_client);
            distances.push(distance);
            distance.abs() < 1.0
        });
        assert!(is_in_time, "{distances:?} ms");
    }
}

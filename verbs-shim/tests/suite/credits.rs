//! Time that calls waited for a credit, as the dissector tells from a capture, against a server that takes a known time
//! for each. A test sets the clock, so a busy machine changes nothing.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rpcrdma_dissector::Side;
use rpcrdma_verbs::loopback::{Adapter, Fabric, PathMtu};
use rpcrdma_verbs::{Call, Client, Connection, Server, Settings, Stream};

use crate::dissected::{Found, dissect};
use crate::support::header::header;

/// Longer than anything takes, even on a busy machine.
const LONG: Duration = Duration::from_secs(60);

const CALLS: usize = 6;
/// Time of each answer, the call that it is for, and the number of calls that come then. The first reply shows that
/// there are two credits.
const ANSWERS: [(u32, usize, usize); CALLS] =
    [(5, 0, 2), (45, 1, 1), (75, 3, 1), (105, 2, 1), (115, 5, 0), (125, 4, 0)];
/// Wait of each call. No credit is free until 5, nor after that until 115, when the last call but one is answered. The
/// second call waits for the first reply, the fourth from 5 to 45, and each later call until the next reply.
const WAITS: [u64; CALLS] = [0, 5, 0, 40, 30, 30];
const AT_LIMIT: u64 = 115;

fn address() -> SocketAddr {
    "192.0.2.2:20049".parse().unwrap()
}

/// A capture file in which each frame has the time that the clock shows when it is written.
#[derive(Clone, Default)]
struct Clocked(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// In milliseconds.
    clock: u32,
    /// Each octet of the file, and the time at which it was written.
    octets: Vec<(u8, u32)>,
}

impl Write for Clocked {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let mut state = self.0.lock().unwrap();
        let clock = state.clock;
        state.octets.extend(octets.iter().map(|octet| (*octet, clock)));
        Ok(octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Clocked {
    fn set(&self, clock: u32) {
        self.0.lock().unwrap().clock = clock;
    }

    /// The file with these times. A frame follows its time in seconds and nanoseconds, and twice its length.
    fn octets(&self) -> Vec<u8> {
        let state = self.0.lock().unwrap();
        let mut file: Vec<u8> = state.octets.iter().map(|(octet, _)| *octet).collect();
        let mut at = 24;
        while at < file.len() {
            let nanoseconds = state.octets[at].1 * 1_000_000;
            file[at..at + 4].fill(0);
            file[at + 4..at + 8].copy_from_slice(&nanoseconds.to_be_bytes());
            at += 16 + u32::from_be_bytes(file[at + 8..at + 12].try_into().unwrap()) as usize;
        }
        file
    }
}

/// Makes the calls, each as soon as there is a credit for it, and says when each is answered.
fn call(connection: &Connection<Adapter>, answered: &Sender<()>) {
    let call = |number: usize| connection.start(Call::new(Stream::from(header(number as u32, 0)), 24));
    let mut calls: Vec<_> = (0..CALLS).map(|number| Some(call(number))).collect();
    for (_, number, _) in ANSWERS {
        calls[number].take().unwrap().wait().reply().map(drop).unwrap();
        answered.send(()).unwrap();
    }
}

/// Answers each call when its time has come.
fn answer(connection: &Connection<Adapter>, clock: &Clocked, answered: &Receiver<()>) {
    let next = || connection.request(LONG).unwrap().expect("a call");
    let mut requests = vec![next()];
    for (time, number, more) in ANSWERS {
        clock.set(time);
        let place = requests.iter().position(|request| request.xid() == number as u32).unwrap();
        let mut request = requests.swap_remove(place);
        request.accept();
        request.answer().unwrap();
        answered.recv_timeout(LONG).unwrap();
        requests.extend((0..more).map(|_| next()));
    }
}

/// The calls of one end, and what was captured of them.
fn captured(by_client: bool) -> Found {
    let file = Clocked::default();
    let fabric = Fabric::captured(file.clone(), PathMtu::default()).unwrap();
    let [here, there] = [1, 2].map(|host| fabric.adapter([192, 0, 2, host].into()).unwrap());
    let settings = Settings::server().to_builder().granted_credits(2).requested_credits(8).build().unwrap();
    let server = Server::bind(&there, address(), settings).unwrap();
    let of_client = Settings::builder().granted_credits(2).build().unwrap();
    let (client, accepted) = thread::scope(|scope| {
        let client = scope.spawn(|| Client::connect(&here, address(), &of_client).unwrap());
        let accepted = server.accept(LONG).unwrap().expect("a connection");
        (client.join().unwrap(), accepted)
    });
    let ends = (client.connection(), &accepted);
    let (caller, callee) = if by_client { ends } else { (ends.1, ends.0) };
    let (sender, answered) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || call(caller, &sender));
        answer(callee, &file, &answered);
    });
    drop((client, accepted, server, here, there));
    fabric.end_capture().unwrap();
    dissect(&file.octets())
}

#[test]
fn calls_wait_for_credits_as_long_as_the_server_takes() {
    for by_client in [true, false] {
        let found = captured(by_client);
        let waits = [0, 1, 2, 3, 4, 5].map(|xid| {
            let transaction = found.transactions.iter().find(|transaction| transaction.xid == xid).unwrap();
            transaction.credit_wait.unwrap()
        });
        assert_eq!(waits, WAITS.map(|wait| wait * 1_000_000));
        let side = if by_client { Side::Active } else { Side::Passive };
        let times = found.reports[0].credit_times;
        assert_eq!((times.get(side).reached, times.get(side).unknown), (AT_LIMIT * 1_000_000, 0));
        assert_eq!(times.get(side.other()).reached, 0);
    }
}

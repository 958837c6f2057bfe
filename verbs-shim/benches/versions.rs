//! Cost of calls such as those of NFS in each version: Sends, RDMA operations, registrations, octets on the wire, time.
//!
//! ```sh
//! cargo bench -p rpcrdma-verbs --bench versions                        # the table in BENCHMARKS.md
//! cargo bench -p rpcrdma-verbs --bench versions -- READDIR 2b 100      # so many calls, and nothing is printed
//! ```
//!
//! `verbs-shim/benches/versions.sh` counts the instructions with the second.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

#[path = "../tests/suite/support/mod.rs"]
mod support;

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rpcrdma_verbs::loopback::{Adapter, Fabric, FabricCounts, PathMtu};
use rpcrdma_verbs::{Call, Client, Request, Server, Settings, Versions};

use support::stopping::Stopping;

/// Octets of a Call header without credential, and of the header of a reply.
const CALL: usize = 40;
const REPLY: usize = 24;
/// A call: octets of the messages, without what is reduced.
struct Shape {
    name: &'static str,
    call: usize,
    reply: usize,
    /// The longest reply that it might have, which the requester has to make room for.
    longest: usize,
    /// Octets of data that go to the server in a Read chunk, or come back in a Write chunk.
    data: Data,
}

#[derive(Clone, Copy)]
enum Data {
    None,
    There(usize),
    Back(usize),
}

const fn shape(name: &'static str, call: usize, reply: usize, longest: usize, data: Data) -> Shape {
    Shape { name, call, reply, longest, data }
}

/// The replies to LOOKUP and OPEN are short, but could be longer than a Send: then a client offers a Reply chunk.
const SHAPES: [Shape; 12] = [
    shape("NULL", CALL, REPLY, REPLY, Data::None),
    shape("GETATTR", 200, 200, 400, Data::None),
    shape("LOOKUP", 240, 1024, 8 << 10, Data::None),
    shape("OPEN", 320, 3 << 10, 8 << 10, Data::None),
    shape("READDIR", 200, 32 << 10, 32 << 10, Data::None),
    shape("READ, 4 KiB", 200, 160, 400, Data::Back(4 << 10)),
    shape("READ, 64 KiB", 200, 160, 400, Data::Back(64 << 10)),
    shape("READ, 1 MiB", 200, 160, 400, Data::Back(1 << 20)),
    shape("WRITE, 4 KiB", 200, 160, 400, Data::There(4 << 10)),
    shape("WRITE, 64 KiB", 200, 160, 400, Data::There(64 << 10)),
    shape("WRITE, 1 MiB", 200, 160, 400, Data::There(1 << 20)),
    // Nothing may be reduced.
    shape("WRITE, 32 KiB, krb5i", 33 << 10, 200, 400, Data::None),
];

/// A name, the versions that the ends speak, and the length up to which the client continues messages in several Sends.
type Kind = (&'static str, Versions, u32);

const KINDS: [Kind; 5] = [
    ("1", Versions::ONE, 0),
    ("2a", Versions::TWO_A, 0),
    ("2b", Versions::TWO_B, 0),
    ("2a, continued", Versions::TWO_A, 64 << 10),
    ("2b, continued", Versions::TWO_B, 64 << 10),
];

/// Answers as the arguments ask: so many octets of results, and so many of data.
fn answer(mut request: Request<Adapter>) {
    let (_, arguments) = request.decode().unwrap();
    let [results, data] = [0, 4].map(|at| u32::from_be_bytes(arguments[at..at + 4].try_into().unwrap()) as usize);
    let mut buffer = request.reply().buffer();
    buffer.resize(data, 0x5a);
    let reply = request.accept();
    reply.push_zeros(results);
    if data > 0 {
        reply.push_item(buffer);
    }
    request.answer().unwrap();
}

/// Makes calls of one shape, one after the other, with the same buffers.
struct Caller<'a> {
    client: &'a Client<Adapter>,
    shape: &'a Shape,
    call: Call,
}

impl<'a> Caller<'a> {
    fn new(client: &'a Client<Adapter>, shape: &'a Shape) -> Self {
        let mut call = Call::rpc(400_101, 1, 1).with_results_length((shape.longest - REPLY) as u32);
        match shape.data {
            Data::Back(length) => call.result_buffers().push(vec![0; length]),
            Data::There(length) => call.message().push_item(vec![0x5a; length]),
            Data::None => {}
        }
        Self { client, shape, call }
    }

    fn call(&mut self) {
        let Shape { call, reply, data, .. } = *self.shape;
        let message = self.call.message();
        message.clear();
        let item = message.buffer();
        let back = if let Data::Back(length) = data { length } else { 0 };
        [reply - REPLY, back].iter().for_each(|length| message.push(&(*length as u32).to_be_bytes()));
        message.push_zeros(call.saturating_sub(CALL + 8));
        if let Data::There(length) = data {
            assert_eq!(item.len(), length);
            message.push_item(item);
        }
        self.client.call(&mut self.call).unwrap().results().unwrap();
        assert_eq!(self.call.result(0).len(), back);
    }
}

/// Runs a client and a server on this fabric.
fn with_client(fabric: &Fabric, (_, versions, continued): Kind, run: impl FnOnce(&Client<Adapter>)) {
    let [here, there] = [1, 2].map(|number| fabric.adapter([192, 0, 2, number].into()).unwrap());
    let address = "192.0.2.2:20049".parse().unwrap();
    let settings = |settings: Settings| settings.to_builder().versions(versions).continued(continued).build().unwrap();
    let server = Server::bind(&there, address, settings(Settings::server())).unwrap();
    let stopping = Stopping(server.stopper());
    thread::scope(|scope| {
        let served = scope.spawn(|| server.serve(&answer).unwrap());
        run(&Client::connect(&here, address, &settings(Settings::client())).unwrap());
        drop(stopping);
        served.join().unwrap();
    });
}

/// A capture of which only the length is kept.
#[derive(Clone, Default)]
struct Length(Arc<AtomicU64>);

impl Write for Length {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.0.fetch_add(octets.len() as u64, Ordering::Relaxed);
        Ok(octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the cost of this many calls and the setup of their connection: counts, and octets of Ethernet frames.
fn cost(shape: &Shape, kind: Kind, calls: u32) -> (FabricCounts, u64) {
    const FILE_HEADER: u64 = 24;
    const RECORD_HEADER: u64 = 16;
    let length = Length::default();
    let fabric = Fabric::captured(length.clone(), PathMtu::default()).unwrap();
    let mut counts = FabricCounts::default();
    with_client(&fabric, kind, |client| {
        let mut caller = Caller::new(client, shape);
        (0..calls).for_each(|_| caller.call());
        counts = fabric.counts();
    });
    let frames = fabric.end_capture().unwrap();
    (counts, length.0.load(Ordering::Relaxed) - FILE_HEADER - RECORD_HEADER * frames)
}

/// Returns the time of a call in the best of many short rounds, because other work on the machine can only make a round
/// longer. There are several connections, because on some the threads find each other awake, and on others they do not.
fn time(shape: &Shape, kind: Kind) -> Duration {
    const CONNECTIONS: u32 = 8;
    const ROUNDS: u32 = 10;
    const CALLS: u32 = 100;
    let mut best = Duration::MAX;
    for _ in 0..CONNECTIONS {
        with_client(&Fabric::new(), kind, |client| {
            let mut caller = Caller::new(client, shape);
            for _ in 0..ROUNDS {
                let start = Instant::now();
                (0..CALLS).for_each(|_| caller.call());
                best = best.min(start.elapsed() / CALLS);
            }
        });
    }
    best
}

fn row(shape: &Shape, kind: Kind) {
    const FEW: u32 = 100;
    const MORE: u32 = 400;
    let (before, octets_before) = cost(shape, kind, FEW);
    let (after, octets_after) = cost(shape, kind, FEW + MORE);
    let each = |of: fn(&FabricCounts) -> u64| (of(&after).saturating_sub(of(&before))) as f64 / f64::from(MORE);
    let octets = octets_after.saturating_sub(octets_before) / u64::from(MORE);
    let counts = [
        each(|counts| counts.sends),
        each(|counts| counts.reads),
        each(|counts| counts.writes),
        each(|counts| counts.registrations),
        each(|counts| counts.remote_registrations),
        each(|counts| counts.invalidating_sends),
    ];
    let counts = counts.map(|count| format!("{count:.2}").trim_end_matches('0').trim_end_matches('.').to_owned());
    let microseconds = time(shape, kind).as_secs_f64() * 1e6;
    println!("| {} | {} | {} | {octets} | {microseconds:.1} |", shape.name, kind.0, counts.join(" | "));
}

fn main() {
    // Cargo gives this to every benchmark.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if let [name, kind, calls] = &arguments[..] {
        let shape = SHAPES.iter().find(|shape| shape.name == name).unwrap();
        let kind = KINDS.into_iter().find(|(name, ..)| name == kind).unwrap();
        with_client(&Fabric::new(), kind, |client| {
            let mut caller = Caller::new(client, shape);
            (0..calls.parse().unwrap()).for_each(|_: u32| caller.call());
        });
        return;
    }
    println!(
        "| call | version | Sends | RDMA Reads | RDMA Writes | registrations | for the other side | invalidating | octets | µs |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    SHAPES.iter().for_each(|shape| KINDS.into_iter().for_each(|kind| row(shape, kind)));
}

//! Events of `tracing` about connections and calls: their order, and their XIDs.
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "suite/support/mod.rs"]
mod support;

use std::fmt::{Debug, Write as _};
use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use std::thread;
use std::time::{Duration, Instant};

use rpcrdma_verbs::loopback::{Adapter, Fabric};
use rpcrdma_verbs::{Call, Client, Connection, Dispatcher, Request, Server, Settings};
use tracing::field::{Field, Visit};
use tracing::span;
use tracing::{Event, Metadata, Subscriber};

use support::service::with_service;

const PROGRAM: u32 = 400_100;

/// Keeps all events of this project: level, text, fields.
#[derive(Clone)]
struct Kept;

/// The events of all tests. Each test has addresses of its own.
static EVENTS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn events() -> MutexGuard<'static, Vec<String>> {
    EVENTS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn keep_events() {
    // Another test may have begun before.
    let _ = tracing::subscriber::set_global_default(Kept);
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            write!(self.0, " {value:?}")
        } else {
            write!(self.0, " {}={value:?}", field.name())
        }
        .unwrap();
    }
}

impl Subscriber for Kept {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("rpcrdma_verbs")
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        events().push(line.0);
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

#[test]
fn connections_and_calls_are_told_with_their_xids() {
    keep_events();
    let held: Mutex<Vec<Request<Adapter>>> = Mutex::new(Vec::new());
    let programs = Dispatcher::default().with_deferred(PROGRAM, 1, 1, |request| held.lock().unwrap().push(request));
    let xids = with_service(&programs, |fabric, address| {
        let here = fabric.adapter([192, 0, 2, 1].into()).unwrap();
        let nobody = "192.0.2.200:1".parse().unwrap();
        Client::connect(&here, nobody, &Settings::client()).unwrap_err();
        let client = Client::connect(&here, address, &Settings::client()).unwrap();
        let (mut answered, mut refused) = (Call::rpc(PROGRAM, 1, 0), Call::rpc(PROGRAM, 2, 0));
        client.call(&mut answered).unwrap().results().unwrap();
        client.call(&mut refused).unwrap().results().unwrap_err();
        let lost = client.start(Call::rpc(PROGRAM, 1, 1));
        while held.lock().unwrap().is_empty() {
            std::thread::yield_now();
        }
        client.connection().disconnect();
        let lost = lost.wait();
        lost.reply().map(drop).unwrap_err();
        let lost = lost.into_call();
        [answered, refused, lost].map(|call| format!("xid={:#010x}", call.xid()))
    });
    let lines = events();
    let position = |parts: &[&str]| {
        let found = lines.iter().position(|line| parts.iter().all(|part| line.contains(part)));
        found.unwrap_or_else(|| unreachable!("{parts:?} is not in {lines:#?}"))
    };
    let [answered, refused, lost] = &xids;
    let (here, there) = ("peer=192.0.2.1:", "peer=192.0.2.200:20049");
    let client = [
        position(&[
            "DEBUG not connected",
            "peer=192.0.2.200:1 ",
            "error=no server accepts connections at that address",
        ]),
        position(&["DEBUG connected", there, "calls_inline=4096", "replies_inline=4096"]),
        position(&["TRACE call", there, answered]),
        position(&["TRACE reply", there, answered]),
        position(&["TRACE call", there, refused]),
        position(&["TRACE reply", there, refused]),
        position(&["TRACE call", there, lost]),
        position(&["DEBUG ended", there, "reason=this side ended it"]),
        position(&["DEBUG call lost", there, lost, "reason=this side ended it"]),
    ];
    assert!(client.is_sorted(), "{lines:#?}");
    let server = [
        position(&["DEBUG connected", here]),
        position(&["TRACE request", here, answered]),
        position(&["TRACE request", here, refused]),
        position(&["DEBUG request refused", here, refused, "PROG_MISMATCH 1 to 1"]),
        position(&["TRACE request", here, lost]),
        position(&["DEBUG ended", here, "reason="]),
    ];
    assert!(server.is_sorted(), "{lines:#?}");
    // Each is reported once.
    for (event, peer, times) in
        [("TRACE call", there, 3), ("DEBUG call", there, 1), ("DEBUG ended", there, 1), ("DEBUG ended", here, 1)]
    {
        let found = lines.iter().filter(|line| line.contains(event) && line.contains(&format!(" {peer}"))).count();
        assert_eq!(found, times, "{event} {peer}: {lines:#?}");
    }
}

/// Returns the number of times that the end of a connection to this peer was reported with this reason.
fn ended(peer: SocketAddr, reason: &str) -> usize {
    let end = format!("DEBUG ended peer={peer} reason={reason}");
    events().iter().filter(|line| **line == end).count()
}

/// Makes a call like a task, which polls again when it is woken.
fn call_from_a_task(client: &Client<Adapter>, server: &Connection<Adapter>) {
    let mut pending = pin!(client.start(Call::rpc(PROGRAM, 1, 0)));
    let mut context = Context::from_waker(Waker::noop());
    assert!(pending.as_mut().poll(&mut context).is_pending());
    let mut request = server.request(Duration::from_secs(5)).unwrap().unwrap();
    request.accept();
    request.answer().unwrap();
    let begun = Instant::now();
    while pending.as_mut().poll(&mut context).is_pending() {
        assert!(begun.elapsed() < Duration::from_secs(5), "no reply");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn the_end_of_an_idle_connection_is_traced_once() {
    keep_events();
    let fabric = Fabric::new();
    let [here, there] = [3, 201].map(|number| fabric.adapter([192, 0, 2, number].into()).unwrap());
    let address = "192.0.2.201:20049".parse().unwrap();
    let server = Server::bind(&there, address, Settings::server()).unwrap();
    let connect = || {
        thread::scope(|scope| {
            let client = scope.spawn(|| Client::connect(&here, address, &Settings::client()).unwrap());
            let accepted = server.accept(Duration::from_secs(5)).unwrap().unwrap();
            (client.join().unwrap(), accepted)
        })
    };
    let (by_us, by_peer) = ("this side ended it", "the other side ended it");

    let becomes = |count: usize| {
        let begun = Instant::now();
        while ended(address, by_peer) < count {
            assert!(begun.elapsed() < Duration::from_secs(5), "{:#?}", events());
            thread::sleep(Duration::from_millis(1));
        }
    };

    // If a task has called, the driver polls for completions, which show the end.
    let (client, accepted) = connect();
    call_from_a_task(&client, &accepted);
    accepted.disconnect();
    becomes(1);
    drop(client);

    // If only threads have called, it waits for the end alone.
    let (client, accepted) = connect();
    accepted.disconnect();
    becomes(2);
    client.call(&mut Call::rpc(PROGRAM, 1, 0)).unwrap_err();
    client.call(&mut Call::rpc(PROGRAM, 1, 0)).unwrap_err();
    drop(client);
    assert_eq!((ended(address, by_peer), ended(address, by_us)), (2, 0));

    let (client, _accepted) = connect();
    drop(client);
    assert_eq!(ended(address, by_us), 1);
}

//! What a subscriber of `tracing` is told of connections and calls, in which order, with the XIDs of both ends.
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "support/service.rs"]
mod service;

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use rpcrdma_verbs::loopback::Adapter;
use rpcrdma_verbs::{Call, Client, Dispatcher, Request, Settings};
use tracing::field::{Field, Visit};
use tracing::span;
use tracing::{Event, Metadata, Subscriber};

use service::with_service;

const PROGRAM: u32 = 400_100;

/// Keeps all events of this project: level, text, fields.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<String>>>);

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
        self.0.lock().unwrap().push(line.0);
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
    let kept = Kept::default();
    tracing::subscriber::set_global_default(kept.clone()).unwrap();
    let held: Mutex<Vec<Request<Adapter>>> = Mutex::new(Vec::new());
    let programs = Dispatcher::default().with_deferred(PROGRAM, 1, 1, |request| held.lock().unwrap().push(request));
    let xids = with_service(&programs, |fabric, address| {
        let here = fabric.adapter([192, 0, 2, 1].into()).unwrap();
        let nobody = "192.0.2.200:1".parse().unwrap();
        Client::connect(&here, nobody, &Settings::client()).unwrap_err();
        let client = Client::connect(&here, address, &Settings::client()).unwrap();
        let (mut answered, mut refused) = (Call::rpc(PROGRAM, 1, 0), Call::rpc(PROGRAM, 2, 0));
        client.call(&mut answered).unwrap();
        client.call(&mut refused).unwrap();
        let lost = client.start(Call::rpc(PROGRAM, 1, 1));
        while held.lock().unwrap().is_empty() {
            std::thread::yield_now();
        }
        client.connection().disconnect();
        let (lost, outcome) = lost.wait();
        outcome.unwrap_err();
        [answered, refused, lost].map(|call| format!("xid={:#010x}", call.xid()))
    });
    let lines = kept.0.lock().unwrap();
    let position = |parts: &[&str]| {
        let found = lines.iter().position(|line| parts.iter().all(|part| line.contains(part)));
        found.unwrap_or_else(|| unreachable!("{parts:?} is not in {lines:#?}"))
    };
    let [answered, refused, lost] = &xids;
    let (here, there) = ("peer=192.0.2.1:", "peer=192.0.2.200:20049");
    let client = [
        position(&["DEBUG not connected", "peer=192.0.2.200:1 ", "error=nobody accepts connections at that address"]),
        position(&["DEBUG connected", there, "calls_inline=4096", "replies_inline=4096"]),
        position(&["TRACE call", there, answered]),
        position(&["TRACE reply", there, answered]),
        position(&["TRACE call", there, refused]),
        position(&["TRACE reply", there, refused]),
        position(&["TRACE call", there, lost]),
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
    // Each is told once.
    assert_eq!(lines.iter().filter(|line| line.contains("TRACE call")).count(), 3, "{lines:#?}");
    assert_eq!(lines.iter().filter(|line| line.contains("DEBUG call")).count(), 1, "{lines:#?}");
}

//! `rpcrdma-serve --misbehave` against our own client, and against requesters that do what they should not.

use std::cell::Cell;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rpcrdma::error::Role;
use rpcrdma::rules::{self, Exchange, Sent};
use rpcrdma::v1::Message;
use rpcrdma_tools::echo::{CallFault, Caller, Carry};
use rpcrdma_tools::misbehave::{Misbehaviour, Responder};
use rpcrdma_tools::probe::OutputFormat;
use rpcrdma_tools::raw::{Arrival, RawPeer};
use rpcrdma_verbs::loopback::{Adapter, Fabric, Region};
use rpcrdma_verbs::{Access, CallError, Client, Settings, Verbs};

const SILENCE: Duration = Duration::from_millis(300);

/// Returns the report about these defects. `requester` is called until each of them had its turn, and is told when that
/// is.
fn served(names: &str, form: OutputFormat, mut requester: impl FnMut(&Adapter, SocketAddr, &AtomicBool)) -> String {
    let fabric = Fabric::new();
    let [here, there] = [1, 200].map(|end| fabric.adapter([192, 0, 2, end].into()).unwrap());
    let address = "192.0.2.200:20049".parse().unwrap();
    let mut what = Misbehaviour::from_names(names).unwrap();
    (what.silence, what.form, what.time) = (SILENCE, form, Duration::from_secs(30));
    let responder = Responder::listen(&there, address).unwrap();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let served = scope.spawn(|| {
            let mut out = Vec::new();
            let done = responder.run(&what, &mut out);
            over.store(true, Ordering::Release);
            done.unwrap();
            String::from_utf8(out).unwrap()
        });
        while !over.load(Ordering::Acquire) {
            requester(&here, address, &over);
        }
        served.join().unwrap()
    })
}

/// Calls of our client on one connection, until one ends without an answer. None may be taken for answered that was not.
fn calls(here: &Adapter, address: SocketAddr, carry: Carry, over: &AtomicBool) {
    let settings = Settings::builder().timeout(Some(3 * SILENCE)).grace(SILENCE);
    let settings = settings.remote_invalidation(false).build().unwrap();
    let Ok(client) = Client::connect(here, address, &settings) else { return };
    let mut caller = Caller::echo(carry, 1000, &client.connection().terms()).unwrap();
    while !over.load(Ordering::Acquire) {
        match caller.call(&client) {
            Ok(()) | Err(CallFault::Call(CallError::Error(_))) => {}
            Err(CallFault::Wrong(wrong)) => panic!("it was taken for the right reply: {wrong}"),
            Err(_) => return,
        }
    }
}

/// `UPDATE_EXPECT=1` writes the table again.
#[test]
fn the_table_of_our_client_is_up_to_date() {
    let table = served("all", OutputFormat::Tabs, |here, address, over| calls(here, address, Carry::Write, over));
    let table = format!("# rpcrdma-verbs, loopback\n{table}");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/lab/expected/client-rpcrdma-verbs.tsv");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(path, &table).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), table);
}

#[test]
fn our_client_takes_no_bad_reply_through_a_reply_chunk() {
    let names = "segment-count,length-beyond,late-write,duplicate";
    let table = served(names, OutputFormat::Tabs, |here, address, over| calls(here, address, Carry::Reply, over));
    let observed: Vec<_> = table.lines().map(|line| line.split('\t').collect::<Vec<_>>()[4]).collect();
    assert_eq!(observed, ["silence", "silence", "memory withdrawn", "next call"]);
}

/// A requester by verbs alone, with one Write chunk of 1024 octets in each call of GIVE.
struct Raw<'a> {
    verbs: &'a Adapter,
    peer: RawPeer<'a, Adapter>,
    memory: Region,
}

fn octets(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

impl<'a> Raw<'a> {
    fn connect(verbs: &'a Adapter, address: SocketAddr) -> Self {
        let peer = RawPeer::connect(verbs, address, &[], Duration::from_secs(10)).unwrap();
        let memory = peer.register(vec![0; 1024], Access::LOCAL_WRITE | Access::REMOTE_WRITE).unwrap();
        Self { verbs, peer, memory }
    }

    /// A call of GIVE for 64 octets.
    fn call(&mut self, xid: u32) -> Vec<u8> {
        let segment = self.verbs.segment(&self.memory);
        let offset = [(segment.offset >> 32) as u32, segment.offset as u32];
        let mut call = octets(&[xid, 1, 32, 0, 0, 1, 1, segment.handle, 1024, offset[0], offset[1], 0, 0]);
        call.extend(octets(&[xid, 0, 2, 0x2000_0ec0, 1, 3, 0, 0, 0, 0, 5, 64, 0]));
        self.send(call.clone());
        call
    }

    fn send(&mut self, octets: Vec<u8>) {
        // That the connection has ended shows later.
        let _sent = self.peer.send(octets);
    }

    fn next(&mut self) -> Option<Arrival> {
        self.peer.next_arrival(Instant::now() + 2 * SILENCE).unwrap()
    }
}

/// The slugs of the rules that a reply breaks, alone and by its call.
fn broken(call: &[u8], reply: &[u8]) -> Vec<&'static str> {
    let mut found = Vec::new();
    let mut take = |finding: &rules::Finding<'_>| found.push(finding.rule.slug);
    rules::send(&Sent::new(reply, Some(Role::Responder)), &mut take);
    if let (Ok(call), Ok(reply)) = (Message::decode(call), Message::decode(reply))
        && reply.header.chunks().is_some()
    {
        rules::exchange(&Exchange::new(&call, &reply), &mut take);
    }
    found
}

#[test]
fn each_defect_breaks_exactly_its_rule() {
    for (name, rule) in [
        ("segment-count", Some("write-list-echo")),
        ("length-beyond", Some("write-length")),
        ("read-list", Some("read-in-reply")),
        ("cut-lists", Some("list-truncated")),
        ("short", Some("header-short")),
        ("version-3", Some("version")),
        ("procedure-9", Some("proc-unknown")),
        ("flag-2", Some("list-flag")),
        ("nomsg-empty", Some("nomsg-empty")),
        ("no-payload", Some("msg-no-payload")),
        ("error-unknown", Some("error-range")),
        ("xid-mismatch", Some("xid-mismatch")),
        ("error-chunk", None),
        ("grant-zero", Some("credit-zero-grant")),
        ("grant-huge", None),
        ("duplicate", None),
        ("wrong-xid", None),
    ] {
        let done = Cell::new(false);
        served(name, OutputFormat::Tabs, |here, address, _| {
            if done.replace(true) {
                return thread::sleep(SILENCE / 10);
            }
            let mut raw = Raw::connect(here, address);
            let call = raw.call(7);
            let reply = raw.next().unwrap().octets;
            assert_eq!(broken(&call, &reply), Vec::from_iter(rule), "{name}");
            assert_eq!(reply.starts_with(&octets(&[7])), name != "wrong-xid", "{name}");
            assert_eq!(reply.get(8..12) == Some(&[0xff; 4]), name == "grant-huge", "{name}");
            let second = raw.next().map(|second| second.octets);
            assert_eq!(second, (name == "duplicate").then_some(reply), "{name}");
        });
    }
}

/// Returns the observation if a requester does `then` after the reply, or after a while without one.
fn observed(name: &str, mut then: impl FnMut(&mut Raw<'_>, SocketAddr)) -> String {
    let done = Cell::new(false);
    let table = served(name, OutputFormat::Tabs, |here, address, _| {
        if done.replace(true) {
            return thread::sleep(SILENCE / 10);
        }
        let mut raw = Raw::connect(here, address);
        raw.call(7);
        raw.peer.next_arrival(Instant::now() + SILENCE / 3).unwrap();
        then(&mut raw, address);
    });
    let fields: Vec<_> = table.lines().next().unwrap().split('\t').collect();
    format!("{}: {}", fields[0], fields[4])
}

#[test]
fn what_a_requester_does_about_a_bad_reply_is_observed() {
    let mut here_to_stay = Vec::new();
    let silent = |_: &mut Raw<'_>, _: SocketAddr| thread::sleep(2 * SILENCE);
    let again = |raw: &mut Raw<'_>, _: SocketAddr| {
        raw.call(7);
        thread::sleep(SILENCE);
    };
    let other = |raw: &mut Raw<'_>, _: SocketAddr| {
        raw.call(8);
        thread::sleep(SILENCE);
    };
    let error = |raw: &mut Raw<'_>, _: SocketAddr| {
        raw.send(octets(&[7, 1, 32, 4, 2]));
        thread::sleep(SILENCE);
    };
    let leaves = |raw: &mut Raw<'_>, _: SocketAddr| raw.peer.disconnect().unwrap();
    let returns = |raw: &mut Raw<'_>, address: SocketAddr| {
        raw.peer.disconnect().unwrap();
        let mut back = Raw::connect(raw.verbs, address);
        back.call(7);
        thread::sleep(SILENCE);
    };
    for name in ["wrong-xid", "cut-lists", "read-list"] {
        here_to_stay.push(observed(name, silent));
        here_to_stay.push(observed(name, again));
        here_to_stay.push(observed(name, other));
        here_to_stay.push(observed(name, error));
        here_to_stay.push(observed(name, leaves));
    }
    let expected =
        ["conforms: silence", "conforms: retry", "not judged: next call", "violates: RDMA_ERROR", "hazard: disconnect"];
    assert_eq!(here_to_stay, expected.repeat(3));
    assert_eq!(observed("silence", returns), "not judged: retry on a new connection");
    assert_eq!(observed("late-write", silent), "hazard: memory still writable");
    assert_eq!(observed("invalidate-unknown", silent), "not judged: disconnect");
    assert_eq!(observed("disconnect", silent), "not judged: disconnect");
}

#[test]
fn unsuitable_defects_are_not_judged() {
    let fabric = Fabric::new();
    let there = fabric.adapter([192, 0, 2, 200].into()).unwrap();
    let mut what = Misbehaviour::from_names("late-write,silence").unwrap();
    (what.time, what.form) = (SILENCE, OutputFormat::Json);
    let mut out = Vec::new();
    let totals = Responder::listen(&there, "192.0.2.200:1".parse().unwrap()).unwrap().run(&what, &mut out).unwrap();
    assert_eq!(totals.not_judged, 2);
    let out = String::from_utf8(out).unwrap();
    assert!(
        out.starts_with(
            r#"{"type":"case","schema":1,"requester":null,"case":"late-write","rule":"rdma-write-bounds","section":"#
        ),
        "{out}"
    );
    let error = Misbehaviour::from_names("silence,rudeness").unwrap_err().to_string();
    assert!(error.starts_with("no defect rudeness: there are all, grant-huge, "), "{error}");
}

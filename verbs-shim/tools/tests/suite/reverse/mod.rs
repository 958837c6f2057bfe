//! The cases of `rpcrdma-probe` about the reverse direction (RFC 8167), against peculiar servers over the loopback: our own
//! requester under an NFS server with whims, and a requester of raw messages that breaks the rules. `probe.rs` has our own server.

mod nfs41;

use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rpcrdma_tools::probe::{self, OutputFormat, Suite};
use rpcrdma_tools::raw::RawPeer;
use rpcrdma_verbs::loopback::{Adapter, Fabric, Listener};
use rpcrdma_verbs::{Call, Connection, Error, Request, Server, Service, Settings, StartedCall, Verbs};

use crate::support::stopping::Stopping;
use nfs41::{Event, Nfsd, Whims};

const SILENCE: Duration = Duration::from_millis(200);

/// The verdict and what was seen of these cases, by name.
fn verdicts(fabric: &Fabric, address: SocketAddr, only: &[&str]) -> Vec<String> {
    let here = fabric.adapter([192, 0, 2, 1].into()).unwrap();
    let suite = Suite {
        silence: SILENCE,
        patience: Duration::from_secs(5),
        form: OutputFormat::Json,
        delegate: Some("delegated".to_owned()),
        cases: only.iter().map(|case| (*case).to_owned()).collect(),
        ..Suite::nfs()
    };
    let mut out = Vec::new();
    probe::run(&here, address, &suite, &mut out).unwrap();
    let records = String::from_utf8(out).unwrap();
    let records = records.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let cases = records.filter(|record| record["type"] == "case");
    let cases = cases.map(|case| ["case", "verdict", "observed"].map(|key| case[key].as_str().unwrap().to_owned()));
    cases.map(|case| case.join(": ")).collect()
}

/// Calls back with the requester of `rpcrdma-verbs`, as the whims of its server say.
struct Ours {
    nfsd: Mutex<Nfsd>,
    /// Of the sessions.
    connections: Mutex<Vec<Connection<Adapter>>>,
    calls: Mutex<Vec<StartedCall<Adapter>>>,
}

impl Service<Adapter> for Ours {
    fn call(&self, mut request: Request<Adapter>) {
        let (call, arguments) = request.decode().unwrap();
        assert_eq!((call.program, call.version), (100_003, 4));
        if call.procedure == 0 {
            request.accept();
            request.answer().unwrap();
            return;
        }
        let mut nfsd = self.nfsd.lock().unwrap();
        let (results, event) = nfsd.compound(arguments);
        match event {
            Event::None => {}
            Event::Session(session) => {
                let mut connections = self.connections.lock().unwrap();
                assert_eq!(connections.len(), session);
                connections.push(request.connection());
            }
            Event::Recall(session, arguments) => {
                let mut call = Call::rpc(nfsd.program(session), 1, 1).with_results_length(512);
                call.message().push(&arguments);
                let pending = self.connections.lock().unwrap()[session].start(call);
                self.calls.lock().unwrap().push(pending);
            }
        }
        drop(nfsd);
        request.accept().push(&results);
        request.answer().unwrap();
    }
}

/// Returns the verdicts about our requester in these cases.
fn ours(whims: Whims, only: &[&str]) -> Vec<String> {
    let fabric = Fabric::new();
    let there = fabric.adapter([192, 0, 2, 200].into()).unwrap();
    let address = "192.0.2.200:20049".parse().unwrap();
    let server =
        Server::bind(&there, address, Settings::server().to_builder().requested_credits(4).build().unwrap()).unwrap();
    let stopping = Stopping(server.stopper());
    let service = Ours { nfsd: Mutex::new(Nfsd::new(whims)), connections: Mutex::default(), calls: Mutex::default() };
    thread::scope(|scope| {
        let served = scope.spawn(|| server.serve(&service).unwrap());
        let verdicts = verdicts(&fabric, address, only);
        drop(stopping);
        served.join().unwrap();
        assert!(service.nfsd.lock().unwrap().is_empty(), "files are left");
        verdicts
    })
}

#[test]
fn a_server_that_does_not_call_back_is_not_accused() {
    let usual = Whims::default();
    for (whims, expected) in [
        (Whims { never_delegates: true, ..usual }, "not judged: no delegation is granted"),
        (Whims { never_recalls: true, ..usual }, "not judged: no backward Call came"),
        (Whims { delegates_late: true, ..usual }, "conforms: next call"),
        (Whims { delegates_some: true, ..usual }, "conforms: next call"),
    ] {
        assert_eq!(ours(whims, &["reverse-reply"]), [format!("reverse-reply: {expected}")], "{whims:?}");
    }
}

#[test]
fn a_server_that_calls_back_without_being_asked_is_found() {
    let whims = Whims { delegates_unasked: true, ..Whims::default() };
    assert_eq!(ours(whims, &["reverse-unasked"]), ["reverse-unasked: violates: next call"]);
}

/// Defect of a server of raw messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    Nothing,
    /// Nothing either: it calls NULL before the first recall.
    Pings,
    /// Its Calls ask for no credits.
    NoCredits,
    /// They are of another version of RPC-over-RDMA than those that it answers.
    Version,
    /// They have two XIDs.
    TwoXids,
    /// They are for another program.
    Program,
    /// It does not wait for credits.
    Eager,
    /// It takes a Call with the XID of its own for the reply.
    Confused,
    /// It answers a reply that is none.
    AnswersReplies,
    /// It sends a Call again that was answered.
    Retries,
    /// It ends the connection if a reply is none.
    Disconnects,
    /// It ends the connection when it has made the second Call.
    Leaves,
}

/// A connection to a server of raw messages.
struct Peer<'a> {
    raw: RawPeer<'a, Adapter>,
    /// The XID of the Call that waits for its reply, and what it is.
    waits: Option<(u32, Vec<u8>)>,
    /// Calls without their XIDs.
    next: Vec<Vec<u8>>,
    calls: usize,
}

fn octets(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

impl Peer<'_> {
    /// Sends a message, unless the connection has ended: what came before its end is still taken.
    fn send(&mut self, message: Vec<u8>) {
        match self.raw.send(message) {
            Ok(_) | Err(Error::Disconnected) => {}
            Err(error) => panic!("{error}"),
        }
    }

    /// Makes the next Call, if it may.
    fn call(&mut self, wrong: Wrong, xid: &mut u32) {
        if self.next.is_empty() || (self.waits.is_some() && wrong != Wrong::Eager) {
            return;
        }
        *xid += 1;
        let (credits, version) = (u32::from(wrong != Wrong::NoCredits), if wrong == Wrong::Version { 2 } else { 1 });
        let inner = if wrong == Wrong::TwoXids { !*xid } else { *xid };
        let header = octets(&[*xid, version, credits, 0, 0, 0, 0, inner]);
        let message = [header, self.next.remove(0)].concat();
        self.waits = Some((*xid, message.clone()));
        self.send(message);
        self.calls += 1;
        if wrong == Wrong::Leaves && self.calls == 2 {
            // The message has to arrive first.
            let until = Instant::now() + Duration::from_secs(5);
            while !self.raw.is_settled() && Instant::now() < until {
                self.raw.handle_completion(until).unwrap();
            }
            self.raw.disconnect().unwrap();
        }
    }

    /// Returns true if its Call is NULL, and has no reply.
    fn pings(&self) -> bool {
        self.waits.as_ref().is_some_and(|(_, call)| call[48..52] == [0; 4])
    }
}

/// Serves connections until it is to stop.
fn serve(adapter: &Adapter, listener: &Listener, wrong: Wrong, stop: &AtomicBool) {
    let (mut peers, mut nfsd, mut xid) = (Vec::<Peer<'_>>::new(), Nfsd::new(Whims::default()), 0x5000_0000);
    // The peer of each session.
    let mut sessions = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        while let Some(request) = adapter.request(listener, Duration::ZERO).unwrap() {
            let raw = RawPeer::accept(adapter, request, &[]).unwrap();
            peers.push(Peer { raw, waits: None, next: Vec::new(), calls: 0 });
        }
        for number in 0..peers.len() {
            peers[number].raw.handle_completion(Instant::now()).unwrap();
            let Some(arrival) = peers[number].raw.take_arrival() else { continue };
            let words: Vec<u32> = arrival.octets.as_chunks().0.iter().map(|word| u32::from_be_bytes(*word)).collect();
            let its = peers[number].waits.as_ref().map(|(xid, _)| *xid);
            match words.get(4..9) {
                Some([0, 0, 0, inner, 0]) if wrong == Wrong::Confused && Some(*inner) == its => {
                    peers[number].waits = None
                }
                Some([0, 0, 0, inner, 0]) => {
                    let arguments = &arrival.octets[4 * (15 + words[14] as usize / 4 + 2)..];
                    let (results, event) =
                        if words[12] == 0 { (vec![], Event::None) } else { nfsd.compound(arguments) };
                    let head = octets(&[*inner, 1, 32, 0, 0, 0, 0, *inner, 1, 0, 0, 0, 0]);
                    peers[number].send([head, results].concat());
                    match event {
                        Event::None => {}
                        Event::Session(_) => sessions.push(number),
                        Event::Recall(session, arguments) => {
                            let program = nfsd.program(session) + u32::from(wrong == Wrong::Program);
                            let call = |procedure| octets(&[0, 2, program, 1, procedure, 0, 0, 0, 0]);
                            let peer = &mut peers[sessions[session]];
                            if wrong == Wrong::Pings && peer.calls == 0 {
                                peer.next.push(call(0));
                            }
                            peer.next.push([call(1), arguments].concat());
                        }
                    }
                }
                Some([0, 0, 0, inner, 1]) if Some(*inner) == its => {
                    assert!(!peers[number].pings() || words[2] == 1, "as many credits as before");
                    let answered = peers[number].waits.take();
                    if wrong == Wrong::Retries {
                        peers[number].send(answered.unwrap().1);
                    }
                }
                _ if wrong == Wrong::AnswersReplies => {
                    peers[number].send(octets(&[words[0], 1, 1, 4, 2]));
                }
                _ if wrong == Wrong::Disconnects => peers[number].raw.disconnect().unwrap(),
                _ => {}
            }
        }
        peers.iter_mut().filter(|peer| !peer.raw.is_over()).for_each(|peer| peer.call(wrong, &mut xid));
        thread::sleep(Duration::from_micros(200));
    }
    assert!(nfsd.is_empty(), "files are left");
    assert!(!peers.iter().any(Peer::pings), "NULL is not answered");
}

/// Returns the probe's verdicts about such a server in one case.
fn raw(wrong: Wrong, case: &str) -> Vec<String> {
    /// Stops the server even if the test fails.
    struct Stop<'a>(&'a AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let fabric = Fabric::new();
    let there = fabric.adapter([192, 0, 2, 200].into()).unwrap();
    let address = "192.0.2.200:20049".parse().unwrap();
    let (listener, stop) = (there.listen(address, 16).unwrap(), AtomicBool::new(false));
    thread::scope(|scope| {
        let served = scope.spawn(|| serve(&there, &listener, wrong, &stop));
        let stops = Stop(&stop);
        let verdicts = verdicts(&fabric, address, &[case]);
        drop(stops);
        served.join().unwrap();
        verdicts
    })
}

#[test]
fn faults_of_reverse_requesters_are_found() {
    for (wrong, case, expected) in [
        (Wrong::Nothing, "reverse-reply", "conforms: next call"),
        (Wrong::Nothing, "reverse-silence", "conforms: silence"),
        (Wrong::Nothing, "reverse-same-xid", "conforms: next call"),
        (Wrong::Nothing, "reverse-wrong-xid", "conforms: silence"),
        (Wrong::Pings, "reverse-reply", "conforms: next call"),
        (Wrong::Pings, "reverse-silence", "conforms: silence"),
        (Wrong::NoCredits, "reverse-reply", "hazard: next call; credit-zero-request"),
        (Wrong::Version, "reverse-reply", "violates: no backward Call came; version"),
        (Wrong::TwoXids, "reverse-reply", "violates: silence; xid-mismatch"),
        (Wrong::Program, "reverse-reply", "violates: next call; a Call of another program"),
        (Wrong::Eager, "reverse-silence", "violates: next call"),
        (Wrong::Confused, "reverse-same-xid", "violates: next call; NULL is not answered"),
        (Wrong::AnswersReplies, "reverse-wrong-xid", "violates: ERR_CHUNK"),
        (Wrong::AnswersReplies, "reverse-duplicate", "violates: ERR_CHUNK"),
        (Wrong::Retries, "reverse-reply", "hazard: retry"),
        (Wrong::Disconnects, "reverse-wrong-xid", "hazard: disconnect"),
        (Wrong::Leaves, "reverse-reply", "hazard: disconnect"),
    ] {
        assert_eq!(raw(wrong, case), [format!("{case}: {expected}")], "{wrong:?}");
    }
}

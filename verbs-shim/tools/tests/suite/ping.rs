//! Tests of `rpcrdma-ping`, over the loopback.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rpcrdma_tools::echo::{Carry, programs};
use rpcrdma_tools::ping::{Plan, Show, Summary, What, run};
use rpcrdma_verbs::loopback::{Adapter, Fabric, PortState};
use rpcrdma_verbs::{CallError, Client, Dispatcher, EndReason, Request, Server, Service, Settings};

const ADDRESS: &str = "192.0.2.2:20049";
const NULL: What = What::Null { program: 100_003, version: 4 };

/// Runs a plan against a service; returns what it prints and the outcome.
fn ping(service: &impl Service<Adapter>, plan: Plan, timeout: Duration) -> (String, Summary) {
    ping_until(&AtomicBool::new(false), service, plan, timeout)
}

fn ping_until(
    interrupted: &AtomicBool,
    service: &impl Service<Adapter>,
    plan: Plan,
    timeout: Duration,
) -> (String, Summary) {
    let fabric = Fabric::new();
    let (here, there) =
        (fabric.adapter([192, 0, 2, 1].into()).unwrap(), fabric.adapter([192, 0, 2, 2].into()).unwrap());
    let server = Server::bind(&there, ADDRESS.parse().unwrap(), Settings::server()).unwrap();
    let stop = server.stopper();
    thread::scope(|scope| {
        let served = scope.spawn(|| server.serve(service));
        let settings = Settings::builder().timeout(Some(timeout)).build().unwrap();
        let client = Client::connect(&here, ADDRESS.parse().unwrap(), &settings);
        let mut out = Vec::new();
        let summary = client.map(|client| run(&client, ADDRESS.parse().unwrap(), &plan, interrupted, &mut out));
        stop.stop();
        served.join().unwrap().unwrap();
        (String::from_utf8(out).unwrap(), summary.unwrap().unwrap())
    })
}

fn plan(what: What, count: u32) -> Plan {
    Plan { what, count, interval: Duration::ZERO, show: Show::Lines }
}

fn nfs() -> Dispatcher<'static, Adapter> {
    programs().with_program(100_003, 4)
}

const SECOND: Duration = Duration::from_secs(1);

/// The text, with each digit replaced by 0.
fn shape(text: &str) -> String {
    let mut shape: String = text
        .chars()
        .map(|each| if each.is_ascii_hexdigit() && !each.is_ascii_alphabetic() { '0' } else { each })
        .collect();
    while shape.contains("00") {
        shape = shape.replace("00", "0");
    }
    shape
}

#[test]
fn each_call_is_a_line_and_the_summary_follows() {
    let (shown, summary) = ping(&nfs(), plan(NULL, 3), SECOND);
    assert!(summary.all_answered());
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(
        lines[0],
        "calling NULL of program 100003 version 4 at 192.0.2.2:20049, RPC-over-RDMA version 1, inline up to 4096 octets, 4096 back"
    );
    for line in &lines[1..4] {
        assert!(line.starts_with("24 octets from 192.0.2.2:20049: xid=0x"), "{line}");
        let (xid, time) = line.split_once("xid=").unwrap().1.split_once(" time=").unwrap();
        assert_eq!(xid.len(), 10);
        assert_eq!(time.len(), 11);
        assert!(time.strip_suffix(" ms").unwrap().trim_start().parse::<f64>().unwrap() > 0.0);
    }
    assert_eq!(lines[4..6], ["--- 192.0.2.2:20049 ---", "3 calls, 3 replies, 0 % lost"]);
    assert_eq!(shape(lines[6]), "min 0.0  median 0.0  p0 0.0  max 0.0 ms");
    assert_eq!(lines.len(), 7);
}

#[test]
fn the_echo_goes_each_way_with_a_quiet_summary() {
    for carry in Carry::ALL {
        let what = What::Echo { carry, length: 3000 };
        let (shown, summary) = ping(&nfs(), Plan { show: Show::Summary, ..plan(what, 5) }, SECOND);
        assert!(summary.all_answered(), "{carry}");
        assert_eq!(shown.lines().count(), 4, "{shown}");
        assert!(shown.contains("5 calls, 5 replies, 0 % lost\n"), "{shown}");
        assert!(shown.starts_with(&format!("calling the echo program, 3000 octets each, {carry}, at ")), "{shown}");
    }
}

#[test]
fn json_has_an_object_a_line() {
    let (shown, _) = ping(&nfs(), Plan { show: Show::Json, ..plan(NULL, 2) }, SECOND);
    let lines: Vec<serde_json::Value> = shown.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [connection, first, second, summary] = &lines[..] else { panic!("{shown}") };
    assert!(lines.iter().all(|line| line["schema"] == 1 && line["responder"] == first["responder"]), "{shown}");
    assert_eq!((&connection["type"], &connection["rpcrdma_version"]), (&"connection".into(), &"1".into()));
    assert!(connection["call_threshold"].as_u64().unwrap() >= 1024);
    for call in [first, second] {
        assert_eq!((&call["type"], &call["octets"]), (&"call".into(), &24.into()));
        assert!(call["latency_ns"].as_u64().unwrap() > 0 && call["fault"].is_null());
        assert!(call["rdma_xid"].as_str().unwrap().starts_with("0x"));
    }
    assert_eq!((&summary["type"], &summary["calls"], &summary["replies"]), (&"summary".into(), &2.into(), &2.into()));
    assert!(summary["median_ns"].as_u64().unwrap() <= summary["max_ns"].as_u64().unwrap());
    assert!(summary["ended"].is_null());
}

#[test]
fn json_of_a_call_that_fails_has_the_same_fields() {
    let (shown, _) = ping(&programs(), Plan { show: Show::Json, ..plan(NULL, 1) }, SECOND);
    let lines: Vec<serde_json::Value> = shown.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [_, call, summary] = &lines[..] else { panic!("{shown}") };
    assert_eq!(call["fault"], "the server answers PROG_UNAVAIL");
    assert!(call["octets"].is_null() && call["latency_ns"].is_null());
    assert!(summary["replies"] == 0 && summary["min_ns"].is_null());
}

#[test]
fn a_missing_program_counts_as_no_reply() {
    let (shown, summary) = ping(&programs(), plan(NULL, 2), SECOND);
    assert!(!summary.all_answered());
    assert_eq!(shown.matches(" the server answers PROG_UNAVAIL\n").count(), 2, "{shown}");
    assert!(shown.ends_with("2 calls, 0 replies, 100 % lost\n"), "{shown}");
}

#[test]
fn the_interval_is_from_call_to_call() {
    let begun = Instant::now();
    let interval = Duration::from_millis(60);
    ping(&nfs(), Plan { interval, ..plan(NULL, 4) }, SECOND);
    assert!(begun.elapsed() >= interval * 3);
}

#[test]
fn an_unanswered_call_is_given_up_and_followed() {
    let (sender, receiver) = mpsc::channel();
    // The second call is kept without an answer.
    let count = std::sync::atomic::AtomicU32::new(0);
    let service = move |request: Request<Adapter>| {
        if count.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 1 {
            sender.send(request).unwrap();
        } else {
            nfs().call(request);
        }
    };
    let (shown, summary) = ping(&service, plan(NULL, 3), Duration::from_millis(50));
    drop(receiver);
    assert_eq!((summary.calls, summary.latencies.len(), summary.all_answered()), (3, 2, false));
    assert_eq!(shown.matches(" timed out waiting for the reply\n").count(), 1, "{shown}");
    assert!(shown.contains("3 calls, 2 replies, 34 % lost\n"), "{shown}");
}

#[test]
fn a_lost_connection_ends_the_run_with_a_reason() {
    struct Leaves;
    impl Service<Adapter> for Leaves {
        fn call(&self, request: Request<Adapter>) {
            nfs().call(request);
        }

        fn connected(&self, connection: &rpcrdma_verbs::Connection<Adapter>) {
            let connection = connection.clone();
            thread::spawn(move || {
                thread::sleep(Duration::from_millis(100));
                connection.disconnect();
            });
        }
    }
    let begun = Instant::now();
    let (shown, summary) =
        ping(&Leaves, Plan { interval: Duration::from_millis(1), ..plan(NULL, 100_000) }, SECOND * 60);
    assert!(begun.elapsed() < SECOND * 30);
    assert!(matches!(summary.ended, Some(CallError::Lost(EndReason::Peer, _))), "{:?}", summary.ended);
    assert!(summary.calls > 0 && !summary.all_answered());
    // The last call may or may not have been sent by then.
    let (begins, ends) = ("the connection ended before the ", ": the other side ended it; ");
    let says = |line: &str| line.starts_with(begins) && line.contains(ends);
    assert!(shown.lines().any(|line| says(line) && line.ends_with(" calls of 100000 were not made")), "{shown}");
}

#[test]
fn who_stops_it_sees_the_summary_of_what_was_called() {
    let stop = AtomicBool::new(false);
    let (nfs, calls) = (nfs(), AtomicU32::new(0));
    let service = |request: Request<Adapter>| {
        stop.store(calls.fetch_add(1, Ordering::Relaxed) == 1, Ordering::Relaxed);
        nfs.call(request);
    };
    // It would never end otherwise.
    let plan = Plan { interval: 100 * SECOND, count: 2, ..plan(NULL, 2) };
    let begun = Instant::now();
    let (_, summary) = ping_until(&stop, &service, Plan { interval: Duration::ZERO, count: 1000, ..plan }, SECOND);
    assert_eq!((summary.calls, summary.planned, summary.all_answered()), (2, 2, true));
    // Also while it waits for the time of the next call.
    let (shown, summary) = thread::scope(|scope| {
        stop.store(false, Ordering::Relaxed);
        calls.store(10, Ordering::Relaxed);
        scope.spawn(|| {
            thread::sleep(SECOND / 5);
            stop.store(true, Ordering::Relaxed);
        });
        ping_until(&stop, &service, plan, SECOND)
    });
    assert!(begun.elapsed() < 50 * SECOND);
    assert_eq!(summary.calls, 1);
    assert!(shown.contains("1 calls, 1 replies, 0 % lost"), "{shown}");
}

/// It would notice at the next call otherwise, after 100 s.
#[test]
fn a_server_vanishing_between_calls_is_reported_at_once() {
    let fabric = Fabric::new();
    let [here, there] = [1, 2].map(|number| fabric.adapter([192, 0, 2, number].into()).unwrap());
    let server = Server::bind(&there, ADDRESS.parse().unwrap(), Settings::server()).unwrap();
    let stop = server.stopper();
    let nfs = nfs();
    let vanishing = |request: Request<Adapter>| {
        nfs.call(request);
        let there = there.clone();
        thread::spawn(move || {
            thread::sleep(SECOND / 10);
            there.set_port(PortState::Down);
        });
    };
    let begun = Instant::now();
    let (shown, summary) = thread::scope(|scope| {
        scope.spawn(|| server.serve(&vanishing));
        let settings = Settings::builder().keep_alive(Some(SECOND / 5)).build().unwrap();
        let client = Client::connect(&here, ADDRESS.parse().unwrap(), &settings).unwrap();
        let plan = Plan { interval: 100 * SECOND, ..plan(NULL, 5) };
        let mut out = Vec::new();
        let summary = run(&client, ADDRESS.parse().unwrap(), &plan, &AtomicBool::new(false), &mut out).unwrap();
        stop.stop();
        (String::from_utf8(out).unwrap(), summary)
    });
    assert!(begun.elapsed() < 50 * SECOND);
    assert!(matches!(summary.ended, Some(CallError::Lost(..) | CallError::Refused(_))), "{:?}", summary.ended);
    assert!(shown.contains("3 calls of 5 were not made") && summary.advice.is_some(), "{shown}");
}

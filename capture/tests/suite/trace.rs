//! Trace events, against the RPCs that `transactions` prints.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::{Value, json};

fn run(command: &str, name: &str, arguments: &[&str]) -> String {
    let path = [env!("CARGO_MANIFEST_DIR"), "/../testdata/captures/", name, ".pcap"].concat();
    let mut program = Command::new(env!("CARGO_BIN_EXE_rpcrdma"));
    let output = program.args([command, "-q", &path]).args(arguments).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

#[test]
fn each_rpc_is_a_slice_as_long_as_it_took() {
    for name in ["errors", "iwarp_nfs3_lossy", "nfs41_callback", "nfs41_lossy", "nfsd_deviations", "withdrawn"] {
        let trace: Value = serde_json::from_str(&run("trace", name, &["-o", "-"])).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        let of = |xid: &str, connection: &Value| {
            events.iter().find(|event| event["args"]["rdma_xid"] == xid && event["pid"] == *connection)
        };
        let rpcs: Vec<Value> =
            run("transactions", name, &["--json"]).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let timed: Vec<_> = rpcs.iter().filter(|rpc| rpc["latency_ns"].is_u64()).collect();
        assert!(!timed.is_empty());
        let slices = events.iter().filter(|event| event["args"]["rdma_xid"].is_string());
        let (others, slices): (Vec<&Value>, Vec<_>) =
            slices.partition(|event| event["ph"] == "B" || event["name"].as_str().unwrap().contains(", "));
        assert_eq!(slices.len(), timed.len(), "{name}");
        assert!(others.len() <= rpcs.len() - timed.len(), "{name}");
        for rpc in timed {
            let slice = of(rpc["rdma_xid"].as_str().unwrap(), &rpc["connection"]).unwrap();
            assert_eq!((number(&slice["dur"]) * 1e3).round(), number(&rpc["latency_ns"]), "{name} {rpc}");
            assert_eq!(slice["args"]["call_frame"], rpc["call_frame"], "{name}");
            assert_eq!(slice["args"]["reply_frame"], rpc["reply_frame"], "{name}");
            let phases = slice["args"]["phases_ns"].as_object();
            let total: f64 = phases.map_or(0.0, |phases| phases.values().map(number).sum());
            assert!(phases.is_none() || total == number(&rpc["latency_ns"]), "{name} {slice}");
        }
    }
}

/// What viewers ask for: of two slices on a thread, one is before the other or within it; and each thread has a name.
#[test]
fn slices_on_a_lane_do_not_overlap() {
    for name in ["nfs3", "nfs41_callback", "nfs41_lossy", "nfs42_mtu9000"] {
        let trace: Value = serde_json::from_str(&run("trace", name, &["-o", "-"])).unwrap();
        let (mut lanes, mut named) = (BTreeMap::<_, Vec<(f64, f64)>>::new(), Vec::new());
        for event in trace["traceEvents"].as_array().unwrap() {
            let lane = (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap());
            match event["ph"].as_str().unwrap() {
                "X" if event["args"].is_object() => {
                    lanes.entry(lane).or_default().push((number(&event["ts"]), number(&event["dur"])));
                }
                "X" => {
                    let (ts, dur) = (number(&event["ts"]), number(&event["dur"]));
                    let (from, length) = lanes[&lane].last().copied().unwrap();
                    assert!(ts >= from - 1e-6 && ts + dur <= from + length + 1e-3, "{name} {event}");
                }
                "B" => lanes.entry(lane).or_default().push((number(&event["ts"]), f64::INFINITY)),
                "i" => assert_eq!(event["name"], "end of the capture"),
                _ if event["name"] == "thread_name" => named.push(lane),
                _ => assert_eq!(event["name"], "process_name"),
            }
        }
        assert!(lanes.keys().all(|lane| named.contains(lane)), "{name}");
        for slices in lanes.values_mut() {
            slices.sort_by(|a, b| a.0.total_cmp(&b.0));
            // Doubles of microseconds are right to a nanosecond.
            assert!(slices.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0 + 1e-3), "{name}");
        }
        // The client of `nfs41_lossy` has up to two calls in flight, and callbacks are apart from calls.
        if name == "nfs41_lossy" {
            assert!(lanes.len() >= 2, "{name}");
        }
        assert_eq!(lanes.keys().any(|(_, lane)| *lane >= 1_000_000), name == "nfs41_callback", "{name}");
    }
}

/// A call that waits is drawn up to the end of the capture, where an event is.
#[test]
fn a_call_that_waits_has_a_slice_without_an_end() {
    let trace: Value = serde_json::from_str(&run("trace", "situations/calls_unanswered", &["-o", "-"])).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let waiting: Vec<_> = events.iter().filter(|event| event["ph"] == "B").collect();
    assert!(waiting.len() > 1);
    let lanes: BTreeSet<_> = waiting.iter().map(|event| event["tid"].as_u64()).collect();
    assert_eq!(lanes.len(), waiting.len(), "each is on a lane of its own");
    let end = events.last().unwrap();
    assert_eq!((&end["name"], &end["ph"], &end["s"]), (&json!("end of the capture"), &json!("i"), &json!("g")));
    for event in events.iter().filter(|event| event["ts"].is_number()) {
        assert!(number(&event["ts"]) + event["dur"].as_f64().unwrap_or(0.0) <= number(&end["ts"]) + 1e-3, "{event}");
    }
}

/// The slices of the phases are within that of their RPC, follow each other without gaps, and add up to the phases.
#[test]
fn phases_are_slices_where_they_were() {
    for name in ["nfs41_lossy", "nfs3", "iwarp_nfs3_lossy", "delays", "nfs41_krb5i"] {
        let trace: Value = serde_json::from_str(&run("trace", name, &["-o", "-"])).unwrap();
        let slices = trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X");
        // The phases come right after their RPC.
        let mut rpcs: Vec<(&Value, Vec<&Value>)> = Vec::new();
        for slice in slices {
            match slice["args"].is_object() {
                true => rpcs.push((slice, Vec::new())),
                false => rpcs.last_mut().unwrap().1.push(slice),
            }
        }
        let nanoseconds = |value: &Value| (number(value) * 1e3).round();
        let mut alternating = 0;
        for (rpc, phases) in rpcs {
            // Of an RPC whose end is not known, nothing is divided.
            let Some(expected) = rpc["args"]["phases_ns"].as_object() else { continue };
            if phases.is_empty() {
                assert_eq!(expected.len(), 1, "{name} {rpc}");
                continue;
            }
            let mut at = nanoseconds(&rpc["ts"]);
            let mut sums = BTreeMap::<&str, f64>::new();
            for phase in &phases {
                assert_eq!((&phase["pid"], &phase["tid"]), (&rpc["pid"], &rpc["tid"]));
                // Doubles of microseconds are right to a nanosecond.
                assert!((nanoseconds(&phase["ts"]) - at).abs() <= 1.0, "{name} {phase} is not at {at}");
                at = nanoseconds(&phase["ts"]) + nanoseconds(&phase["dur"]);
                *sums.entry(phase["name"].as_str().unwrap()).or_default() += nanoseconds(&phase["dur"]);
            }
            assert!((at - nanoseconds(&rpc["ts"]) - nanoseconds(&rpc["dur"])).abs() <= 1.0, "{name} {rpc}");
            let expected: BTreeMap<&str, f64> = expected.iter().map(|(name, ns)| (name.as_str(), number(ns))).collect();
            assert_eq!(sums, expected, "{name} {rpc}");
            alternating += usize::from(phases.len() > expected.len());
        }
        assert!(alternating > 0 || name == "delays" || name == "nfs41_krb5i", "{name}");
    }
}

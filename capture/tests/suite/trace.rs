//! Trace events, against the RPCs that `transactions` prints.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::{Value, json};

use crate::transcode::{self, Pcap};

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

/// Viewers require this: of two slices on a thread, one is before the other or within it; and each thread has a name.
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

/// Imports a trace as Perfetto's importer of JSON does: it drops times below zero, makes whole nanoseconds of microseconds, and sorts the
/// events of each thread by their beginning, the longest first. A slice that begins within another one and ends after it is
/// dropped. Returns the beginning and the length of the slices of RPCs in nanoseconds, by the frame of the call.
fn imported(trace: &Value) -> BTreeMap<u64, (i64, Option<i64>)> {
    let nanoseconds = |value: &Value| (number(value) * 1000.0) as i64;
    let mut threads = BTreeMap::<(u64, u64), Vec<(i64, i64, &Value)>>::new();
    for event in trace["traceEvents"].as_array().unwrap() {
        let thread = ["pid", "tid"].map(|name| u32::try_from(event[name].as_u64().unwrap()).unwrap());
        let slices = threads.entry((thread[0].into(), thread[1].into())).or_default();
        match event["ph"].as_str().unwrap() {
            "M" => assert!(event["args"]["name"].is_string(), "{event}"),
            "i" => assert!(event["s"] == "g" && nanoseconds(&event["ts"]) >= 0, "{event}"),
            "X" => slices.push((nanoseconds(&event["ts"]), i64::MAX - nanoseconds(&event["dur"]), event)),
            "B" => slices.push((nanoseconds(&event["ts"]), i64::MAX, event)),
            other => panic!("phase {other}"),
        }
    }
    let mut rpcs = BTreeMap::new();
    for slices in threads.values_mut() {
        slices.sort_by_key(|(ts, longest_first, _)| (*ts, *longest_first));
        let mut open: Vec<i64> = Vec::new();
        for (ts, longest_first, event) in slices {
            assert!(*ts >= 0, "dropped: {event} is before the start");
            let dur = (event["ph"] == "X").then_some(i64::MAX - *longest_first);
            open.retain(|end| *end > *ts);
            let end = dur.map_or(i64::MAX, |dur| *ts + dur);
            assert!(open.iter().all(|outer| end <= *outer), "dropped: {event} ends after what it is within");
            open.push(end);
            rpcs.extend(event["args"]["call_frame"].as_u64().map(|frame| (frame, (*ts, dur))));
        }
    }
    rpcs
}

/// The captures have whole microseconds. So that their nanoseconds matter, their clocks are also too fast by 37 millionths.
#[test]
fn perfetto_drops_no_slice_and_has_every_nanosecond() {
    let names =
        ["nfs41_lossy", "iwarp_nfs3_lossy", "client_deviations", "same_xid", "withdrawn", "nfs41_callback", "nfs3"];
    for (name, per_million) in names.into_iter().flat_map(|name| [(name, 0), (name, 37)]) {
        let mut records = transcode::capture(name);
        let first = records[0].time_ns;
        for record in &mut records {
            record.time_ns += (record.time_ns - first) * per_million / 1_000_000;
        }
        let path = std::env::temp_dir().join(format!("rpcrdma-trace-{}-{name}.pcap", std::process::id()));
        std::fs::write(&path, transcode::write_pcap(&records, Pcap { nanoseconds: true, ..Pcap::default() })).unwrap();
        let program = |arguments: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_rpcrdma"));
            String::from_utf8(command.args(arguments).arg(&path).output().unwrap().stdout).unwrap()
        };
        let slices = imported(&serde_json::from_str(&program(&["trace", "-q", "-o", "-"])).unwrap());
        let rpcs = program(&["transactions", "-q", "--json"]);
        std::fs::remove_file(&path).unwrap();
        let mut compared = 0;
        for rpc in rpcs.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            let Some(latency) = rpc["latency_ns"].as_i64() else { continue };
            let (ts, dur) = slices[&rpc["call_frame"].as_u64().unwrap()];
            assert_eq!(dur, Some(latency), "{name} {rpc}");
            // The time of an RPC is that of the last packet of its call.
            let Some(call) = rpc["phases"]["call_ns"].as_u64() else { continue };
            assert_eq!(ts as u64, rpc["time_ns"].as_u64().unwrap() - call - first, "{name} {rpc}");
            compared += 1;
        }
        assert!(compared > 0, "{name}");
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

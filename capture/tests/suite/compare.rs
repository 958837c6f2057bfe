//! Captures side by side: the same one, slower and faster ones, and ones in which calls hang, fail or are retransmitted.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::command::{run, stdout};
use crate::synthetic::By::{Client, Server};
use crate::synthetic::rpc::{Lists, MSG, call, message, null, read3, read3_reply, reply, words};
use crate::synthetic::{By, Packet, Wire};
use crate::transcode::{self, Pcap, Record};

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, records: &[Record]) -> Self {
        let path = std::env::temp_dir().join(format!("rpcrdma-compare-{}-{name}.pcap", std::process::id()));
        std::fs::write(&path, transcode::write_pcap(records, Pcap { nanoseconds: true, ..Pcap::default() })).unwrap();
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.0);
    }
}

fn compare(arguments: &[&str]) -> (Vec<Value>, String, Option<i32>) {
    let run = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rpcrdma"));
        let output = command.args(["compare", "-q"]).args(more).args(arguments).output().unwrap();
        (String::from_utf8(output.stdout).unwrap(), output.status.code())
    };
    let ((json, status), (text, same)) = (run(&["--json"]), run(&[]));
    assert_eq!(status, same);
    let mut lines: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let summary = lines.pop().unwrap();
    assert_eq!((&summary["type"], &summary["regression"]), (&json!("summary"), &json!(status == Some(1))));
    assert_eq!(summary["captures"].as_array().unwrap().len(), 2);
    let left_out = match summary["left_out"]["other_operations_rpcs"].as_u64() {
        None | Some(0) => String::new(),
        Some(rpcs) => format!("{rpcs} RPCs of other operations left out"),
    };
    let line = text.lines().find(|line| line.ends_with("RPCs of other operations left out"));
    assert_eq!(line.unwrap_or_default(), left_out);
    (lines, text, status)
}

fn operation<'a>(lines: &'a [Value], name: &str) -> &'a Value {
    lines.iter().find(|line| line["operation"] == name).unwrap()
}

#[test]
fn a_capture_is_like_itself() {
    let (original, path) = (transcode::path("nfs41"), transcode::path("nfs41"));
    let (lines, text, status) = compare(&[original.to_str().unwrap(), path.to_str().unwrap()]);
    assert_eq!(status, Some(0));
    let operations: Vec<_> = lines.iter().filter(|line| line["type"] == "compared_operation").collect();
    assert_eq!(operations.len(), 19);
    for line in &operations {
        assert_eq!((&line["before"], &line["p50_change"]), (&line["after"], &json!(0.0)), "{line}");
        // Fewer than 8 say nothing.
        let expected = if line["significance"] == "too few" { "unknown" } else { "same" };
        assert_eq!(line["outcome"], expected, "{line}");
        assert!(line["before"]["rpcs"].as_u64() >= Some(8) || expected == "unknown", "{line}");
    }
    // Octets that `testdata/captures/nfs41.truth` has, and what `stats` counts.
    assert_eq!(operation(&lines, "NFSv4 READ")["after"]["rdma_write_octets"], 590_235);
    assert_eq!(operation(&lines, "NFSv4 WRITE")["after"]["calls_sent"]["chunked"], 4);
    assert_eq!(
        lines.last().unwrap(),
        &json!({
            "type": "compared_rule", "schema": 1, "rule": "invalidate-foreign", "severity": "error", "before": 1, "after": 1
        })
    );
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
}

/// An NFSv3 READ.
#[derive(Clone, Copy)]
struct Read {
    /// Nanoseconds; `None` if it is never answered.
    latency: Option<u64>,
    fails: bool,
    /// The server's adapter refuses the call, which is retransmitted.
    is_resent: bool,
}

impl Read {
    const fn with_latency(latency: u64) -> Self {
        Self { latency: Some(latency), fails: false, is_resent: false }
    }
}

/// Frames of raw IP, and the time of the next one.
struct Trace {
    wire: Wire,
    records: Vec<Record>,
    now: u64,
}

impl Trace {
    fn new() -> Self {
        let mut trace = Self { wire: Wire::default(), records: Vec::new(), now: 1_700_000_000_000_000_000 };
        let packets = trace.wire.connect();
        trace.add_packets(packets);
        trace
    }

    fn add_packets(&mut self, packets: Vec<Packet>) {
        for data in packets {
            self.records.push(Record { time_ns: self.now, link: 101, length: data.len() as u32, data });
            self.now += 1000;
        }
    }

    /// A message, and its acknowledgement.
    fn send(&mut self, by: By, octets: &[u8]) {
        let packets = self.wire.send(by, octets);
        let acknowledgement = self.wire.ack_all(if by == Client { Server } else { Client });
        self.add_packets(packets);
        self.add_packets(vec![acknowledgement]);
    }

    /// RPCs one after the other.
    fn reads(reads: &[Read]) -> Vec<Record> {
        let mut trace = Self::new();
        for (xid, read) in (1..).zip(reads) {
            let call = message(MSG, xid, &Lists::default(), &read3(xid, 64));
            let results = if read.fails { reply(xid, &words(&[5, 0])) } else { read3_reply(xid, &[7; 64]) };
            let called = trace.now;
            let number = trace.wire.client.next;
            let packets = trace.wire.send(Client, &call);
            if read.is_resent {
                let refusal = trace.wire.nak(Server, number);
                trace.add_packets(packets.clone());
                trace.add_packets(vec![refusal]);
            }
            trace.add_packets(packets);
            let acknowledgement = trace.wire.ack_all(Server);
            trace.add_packets(vec![acknowledgement]);
            trace.now = called + read.latency.unwrap_or(1_000_000);
            let Some(_) = read.latency else { continue };
            let packets = trace.wire.send(Server, &message(MSG, xid, &Lists::default(), &results));
            trace.add_packets(packets);
            let acknowledgement = trace.wire.ack_all(Client);
            trace.add_packets(vec![acknowledgement]);
            trace.now += 50_000;
        }
        trace.records
    }

    /// The same, and 5 seconds later an RPC that is answered.
    fn reads_and_more(reads: &[Read]) -> Vec<Record> {
        let mut trace = Self::new();
        trace.records = Self::reads(reads);
        trace.now = trace.records.last().unwrap().time_ns + 5_000_000_000;
        trace.wire.name += 1;
        (trace.wire.client.queue_pair, trace.wire.server.queue_pair) = (0x33, 0x44);
        let packets = trace.wire.connect();
        trace.add_packets(packets);
        trace.send(Client, &message(MSG, 9999, &Lists::default(), &null(9999)));
        trace.now += 1_000_000;
        trace.send(Server, &message(MSG, 9999, &Lists::default(), &reply(9999, &[])));
        trace.records
    }
}

/// So many READs of 1 to 1.5 ms, each independent of the one before it.
fn usual(count: u64, seed: u64) -> Vec<Read> {
    let mixed =
        |place: u64| (place + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d) >> 32;
    (0..count).map(|place| Read::with_latency(1_000_000 + mixed(place) % 500_000)).collect()
}

fn longer(reads: &[Read], percent: u64) -> Vec<Read> {
    let longer = |read: &Read| Read { latency: read.latency.map(|latency| latency * percent / 100), ..*read };
    reads.iter().map(longer).collect()
}

/// Compares READs.
fn compare_reads(name: &str, before: &[Read], after: &[Read], arguments: &[&str]) -> (Vec<Value>, String, Option<i32>) {
    let [before, after] = [("before", before), ("after", after)]
        .map(|(side, reads)| Scratch::new(&format!("{name}-{side}"), &Trace::reads_and_more(reads)));
    compare(&[arguments, &[before.path(), after.path()]].concat())
}

#[test]
fn what_takes_longer_is_slower_unless_that_is_tolerated() {
    let (before, other) = (usual(100, 0), usual(100, 1000));
    let (lines, _, status) = compare_reads("same", &before, &other, &[]);
    let read = operation(&lines, "NFSv3 READ");
    assert_eq!((status, &read["outcome"], &read["significance"]), (Some(0), &json!("same"), &json!("p > 0.05")));

    let slower = longer(&other, 130);
    let (lines, text, status) = compare_reads("slower", &before, &slower, &[]);
    let read = operation(&lines, "NFSv3 READ");
    assert_eq!((status, &read["outcome"], &read["significance"]), (Some(1), &json!("slower"), &json!("p ≤ 0.001")));
    let change = read["p50_change"].as_f64().unwrap();
    assert!((0.25..0.35).contains(&change), "{read}");
    assert!(text.contains("  ≤ 0.001  slower\n"), "{text}");
    let (lines, _, status) = compare_reads("tolerated", &before, &slower, &["--tolerance", "60"]);
    assert_eq!((status, &operation(&lines, "NFSv3 READ")["outcome"]), (Some(0), &json!("same")));

    // The other way round.
    let (lines, _, status) = compare_reads("faster", &slower, &before, &[]);
    assert_eq!((status, &operation(&lines, "NFSv3 READ")["outcome"]), (Some(0), &json!("faster")));
    let (lines, _, status) = compare_reads("tolerated-faster", &slower, &before, &["--tolerance", "60"]);
    assert_eq!((status, &operation(&lines, "NFSv3 READ")["outcome"]), (Some(0), &json!("same")));

    // There are too few of them to say anything, however much slower they are.
    let (lines, _, status) = compare_reads("few", &before[..4], &longer(&before[..4], 1000), &[]);
    assert_eq!((status, &operation(&lines, "NFSv3 READ")["outcome"]), (Some(0), &json!("unknown")));
}

/// Half of them take twice as long, in stretches of fifty: the stretches are what there are too few of.
#[test]
fn a_slow_stretch_is_no_regression() {
    let mut reads = usual(200, 0);
    let slow = longer(&reads[50..150], 200);
    reads[50..150].copy_from_slice(&slow);
    let (lines, _, status) = compare_reads("stretch", &usual(200, 1000), &reads, &[]);
    let read = operation(&lines, "NFSv3 READ");
    assert_eq!((status, &read["outcome"]), (Some(0), &json!("unknown")), "{read}");
}

#[test]
fn a_tail_is_slower_though_the_median_is_the_same() {
    let mut reads = usual(200, 0);
    for place in (7..200).step_by(20) {
        reads[place].latency = reads[place].latency.map(|latency| 20 * latency);
    }
    let (lines, text, status) = compare_reads("tail", &usual(200, 1000), &reads, &[]);
    let read = operation(&lines, "NFSv3 READ");
    assert_eq!((status, &read["outcome"]), (Some(1), &json!("slower")), "{read}");
    assert_ne!(read["significance"], "p ≤ 0.001");
    assert_eq!(read["p99_significance"], "p ≤ 0.01");
    assert!(read["p99_change"].as_f64().unwrap() > 10.0, "{read}");
    assert!(text.contains("  ≤ 0.01   slower\n"), "{text}");
    let (lines, _, status) = compare_reads("no-tail", &reads, &usual(200, 1000), &[]);
    assert_eq!((status, &operation(&lines, "NFSv3 READ")["outcome"]), (Some(0), &json!("faster")));
}

#[test]
fn calls_without_a_reply_are_a_regression() {
    let mut hung = usual(70, 0);
    hung[40..].iter_mut().for_each(|read| read.latency = None);
    let (lines, text, status) = compare_reads("hung", &usual(70, 1000), &hung, &[]);
    assert_eq!(status, Some(1));
    let read = operation(&lines, "NFSv3 READ");
    assert_eq!((&read["outcome"], &read["faults"]["unanswered"]["outcome"]), (&json!("worse"), &json!("worse")));
    assert_eq!(
        (&read["after"]["faults"]["unanswered"], &read["after"]["faults"]["answer_known"]),
        (&json!(30), &json!(70))
    );
    let total = &lines[0];
    assert_eq!(
        (&total["type"], &total["faults"]["unanswered"]["outcome"]),
        (&json!("compared_total"), &json!("worse"))
    );
    assert_eq!((&total["after"]["rpcs"], &total["after"]["faults"]["unanswered"]), (&json!(71), &json!(30)));
    assert!(text.starts_with("calls without a reply "), "{text}");
    assert!(text.contains("no reply 0 → 30 (p ≤ 0.001) worse"), "{text}");

    let (lines, _, status) = compare_reads("recovered", &hung, &usual(70, 1000), &[]);
    let read = operation(&lines, "NFSv3 READ");
    assert_eq!((status, &read["outcome"]), (Some(0), &json!("better")));
}

/// Some calls have just been sent when a capture ends.
#[test]
fn calls_that_still_wait_are_not_unanswered() {
    let [before, mut after] = [usual(70, 1000), usual(70, 0)];
    after[0].latency = Some(40_000_000);
    after[40..].iter_mut().for_each(|read| read.latency = None);
    let before = Scratch::new("whole", &Trace::reads(&before));
    let after = Scratch::new("cut", &Trace::reads(&after));
    let (lines, text, status) = compare(&[before.path(), after.path()]);
    let faults = &operation(&lines, "NFSv3 READ")["after"]["faults"];
    assert_eq!(
        (&faults["unanswered"], &faults["answer_known"], &faults["waiting"]),
        (&json!(0), &json!(40), &json!(30))
    );
    assert_eq!(lines[0]["after"]["faults"]["waiting"], 30, "of all operations");
    assert!(text.contains("still waiting when the capture ended 0 → 30"), "{text}");
    assert_eq!(status, Some(0));
}

/// The capture lacks the replies to the third and the fifth call. Nothing shows which of two calls of one XID is owed a reply, and
/// neither has one.
#[test]
fn a_reply_missing_from_the_capture_may_have_come() {
    let whole = Trace::reads(&usual(40, 0));
    let first = whole.len() - 40 * 4;
    // Each call has its acknowledgement after it, then its reply.
    let lacks = [2, 4].map(|call| first + 4 * call + 2);
    let kept = whole.iter().enumerate().filter(|(index, _)| !lacks.contains(index));
    let cut: Vec<Record> = kept.map(|(_, record)| record.clone()).collect();
    let mut trace = Trace::new();
    for _ in 0..2 {
        trace.send(Client, &message(MSG, 9, &Lists::default(), &read3(9, 64)));
    }
    trace.now += 5_000_000_000;
    trace.send(Client, &message(MSG, 10, &Lists::default(), &null(10)));
    trace.send(Server, &message(MSG, 10, &Lists::default(), &reply(10, &[])));
    let [cut, twice] =
        [("cut-replies", cut), ("twice-called", trace.records)].map(|(name, records)| Scratch::new(name, &records));
    let (lines, _, _) = compare(&[cut.path(), twice.path()]);
    let read = operation(&lines, "NFSv3 READ");
    let answers = |side: &str| ["unanswered", "answer_known"].map(|name| read[side]["faults"][name].as_u64().unwrap());
    assert_eq!((answers("before"), answers("after")), ([0, 38], [2, 2]), "{read}");
}

#[test]
fn failures_are_a_regression_though_they_are_fast() {
    let mut failed = longer(&usual(40, 0), 10);
    failed.iter_mut().for_each(|read| read.fails = true);
    let (lines, text, status) = compare_reads("failed", &usual(40, 1000), &failed, &[]);
    let read = operation(&lines, "NFSv3 READ");
    assert_eq!((status, &read["outcome"]), (Some(1), &json!("worse")));
    assert_eq!(read["faults"]["failed"], json!({ "significance": "p ≤ 0.001", "outcome": "worse" }));
    assert!(text.contains("failed 0 → 40 (p ≤ 0.001) worse"), "{text}");
    // Calls that succeed again take longer.
    let (lines, _, status) = compare_reads("mended", &failed, &usual(40, 1000), &[]);
    assert_eq!((status, &operation(&lines, "NFSv3 READ")["outcome"]), (Some(0), &json!("better")));
}

#[test]
fn retransmissions_are_a_regression() {
    let mut lossy = usual(70, 0);
    lossy.iter_mut().step_by(5).for_each(|read| read.is_resent = true);
    let (lines, text, status) = compare_reads("lossy", &usual(70, 1000), &lossy, &[]);
    let read = operation(&lines, "NFSv3 READ");
    assert_eq!((status, &read["outcome"]), (Some(1), &json!("worse")));
    assert_eq!(
        (&read["before"]["faults"]["retransmitted"], &read["after"]["faults"]["retransmitted"]),
        (&json!(0), &json!(14))
    );
    assert_eq!(lines[0]["after"]["retransmitted_packets"], 14);
    assert!(text.contains("RPCs with retransmissions 0 → 14 (p ≤ 0.001) worse"), "{text}");
    // As much loss as before is none.
    let (_, _, status) = compare_reads("as-lossy", &lossy, &lossy, &[]);
    assert_eq!(status, Some(0));

    // 452 packets, according to `testdata/captures/README.md` and `stats`.
    let [healthy, lossy] = ["nfs41", "nfs41_lossy"].map(transcode::path);
    let (lines, text, status) = compare(&[healthy.to_str().unwrap(), lossy.to_str().unwrap()]);
    assert_eq!((status, &lines[0]["faults"]["retransmitted"]["outcome"]), (Some(1), &json!("worse")));
    assert_eq!(
        (&lines[0]["before"]["retransmitted_packets"], &lines[0]["after"]["retransmitted_packets"]),
        (&json!(0), &json!(452))
    );
    let read = operation(&lines, "NFSv4 READ");
    assert!(read["p99_change"].as_f64().unwrap() > 190.0);
    assert_eq!((&read["outcome"], &read["p99_significance"]), (&json!("worse"), &json!("too few")));
    // 0 of 11 and 6 of 9 is chance in 4 of 1000 cases, which is not enough for the smallest of four: it would have to be 2.5. What
    // makes it a regression is the total.
    assert_eq!((&read["regression"], &lines[0]["regression"]), (&json!(false), &json!(true)));
    assert!(
        text.contains("\n    may be chance, among 4 tests; RPCs with retransmissions 0 → 6 (p ≤ 0.01) worse"),
        "{text}"
    );
}

/// 0 of 14 and 7 of 14 RPCs, the NULL among them, is chance in 5.8 of 1000 cases: enough for the only test, and not for the smaller
/// chance of two.
#[test]
fn a_total_that_may_be_chance_is_no_regression() {
    let with = |faults: usize, failures: usize| {
        let mut reads = usual(13, 0);
        reads[..faults].iter_mut().for_each(|read| read.is_resent = true);
        reads[9 - failures..9].iter_mut().for_each(|read| read.fails = true);
        reads
    };
    let total = |name: &str, before: &[Read], after: &[Read]| {
        let (lines, text, status) = compare_reads(name, before, after, &[]);
        assert_eq!(
            (lines[0]["regression"] == true, text.contains("worse (may be chance)")),
            (status == Some(1), status != Some(1))
        );
        assert_eq!(lines[0]["faults"]["retransmitted"]["outcome"], "worse", "{text}");
        status
    };
    assert_eq!(total("resent", &with(0, 0), &with(7, 0)), Some(1));
    // The failures are not judged, because both sides have some, and count as a test nevertheless.
    assert_eq!(total("resent-and-failed", &with(0, 1), &with(7, 1)), Some(0));
}

/// 500 operations are told apart: here the NULL procedures of so many programs, and three more.
#[test]
fn rpcs_of_operations_beyond_the_limit_are_counted() {
    let mut trace = Trace::new();
    for program in 0..503 {
        let called = call(program, [400_000 + program, 1, 0], &[]);
        trace.send(Client, &message(MSG, program, &Lists::default(), &called));
        trace.send(Server, &message(MSG, program, &Lists::default(), &reply(program, &[])));
    }
    let [one, other] = ["many", "more"].map(|name| Scratch::new(name, &trace.records));
    let (lines, text, status) = compare(&[one.path(), other.path()]);
    let compared = lines.iter().filter(|line| line["type"] == "compared_operation").count();
    assert_eq!((compared, status), (500, Some(0)));
    assert!(text.contains("6 RPCs of other operations left out"), "{text}");
}

/// The clock steps back between the call and its reply.
#[test]
fn a_latency_that_is_not_known_is_not_measured() {
    let mut reads = usual(40, 0);
    let after = Trace::reads(&reads);
    reads.truncate(37);
    let mut trace = after.clone();
    let late = after.len() - 3 * 4;
    let called = trace.iter().skip(late).step_by(4).map(|record| record.time_ns).collect::<Vec<_>>();
    for (index, called) in (late..).step_by(4).zip(called) {
        trace[index + 2].time_ns = called - 10_000;
    }
    let [before, after] = [("known", after), ("unknown", trace)].map(|(name, records)| Scratch::new(name, &records));
    let (lines, text, _) = compare(&[before.path(), after.path()]);
    let read = operation(&lines, "NFSv3 READ");
    let unknown = ["before", "after"].map(|side| read[side]["faults"]["latency_unknown"].clone());
    assert_eq!(unknown, [json!(0), json!(3)], "{read}");
    assert_eq!(lines[0]["after"]["faults"]["latency_unknown"], 3, "of all operations");
    assert!(text.contains("latency not known 0 → 3"), "{text}");
}

/// Of all ways to choose 7 of 85 RPCs, so few have all 7 among the first 25: C(25, 7) of C(85, 7), which is 0.0001.
#[test]
fn comparison_text_has_totals_milliseconds_and_colours() {
    let [errors, nfs3] = ["errors", "nfs3"].map(transcode::path);
    let paths = [errors.to_str().unwrap(), nfs3.to_str().unwrap()];
    let (_, text, _) = compare(&["--color", "always", paths[0], paths[1]]);
    for line in [
        "\x1b[1mcalls without a reply\x1b[0m                  7 of 25 →          0 of 60\x1b[2m  p ≤ 0.001\x1b[0m\x1b[32m  better\x1b[0m\n",
        "\x1b[1mRPCs that failed\x1b[0m                      13 of 18 →          4 of 60\n",
    ] {
        assert!(text.contains(line), "{text}");
    }
    let (lines, text, _) = compare(&paths);
    for name in ["NFSv3 READ", "NFSv3 NULL"] {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        for percentile in ["p50_ns", "p99_ns"] {
            let microseconds = (operation(&lines, name)["after"][percentile].as_u64().unwrap() + 500) / 1000;
            let shown = format!("→ {:>9}", format!("{}.{:03}", microseconds / 1000, microseconds % 1000));
            assert!(line.contains(&shown), "{line} {shown}");
        }
    }
}

#[test]
fn it_says_how_messages_travel_if_that_has_changed() {
    let [plain, integrity, errors] = ["nfs41", "nfs41_krb5i", "errors"].map(transcode::path);
    let (lines, text, _) = compare(&[plain.to_str().unwrap(), integrity.to_str().unwrap()]);
    // Under Kerberos integrity nothing may be reduced, so Read chunks become Position Zero Read chunks.
    assert!(
        text.contains("\n    calls 2 short, 4 chunked → 2 short, 4 long; RDMA Read 33,601 → 33,764 bytes per RPC\n"),
        "{text}"
    );
    let write = operation(&lines, "NFSv4 WRITE");
    let octets = ["before", "after"].map(|side| write[side]["rdma_read_octets"].as_u64().unwrap() / 6);
    assert_eq!(octets, [33_601, 33_764]);
    // Fewer of the same are no change.
    let next = text.lines().skip_while(|line| !line.starts_with("NFSv4 GETATTR")).nth(1).unwrap();
    assert!(next.starts_with("NFSv4"), "{text}");
    let (_, text, _) = compare(&[errors.to_str().unwrap(), transcode::path("nfs3").to_str().unwrap()]);
    let expected = "\n    no reply 4 → 0 (p > 0.05); failed 3 → 0 (p > 0.05); RDMA Write 2 → 0 bytes per RPC\n";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_rule_that_was_not_broken_before_is_a_regression() {
    let (healthy, errors) = (transcode::path("nfs3"), transcode::path("errors"));
    let (lines, text, status) = compare(&[healthy.to_str().unwrap(), errors.to_str().unwrap()]);
    assert_eq!(status, Some(1));
    let broken =
        |before: bool| lines.iter().filter(move |line| line["rule"].is_string() && (line["before"] == 0) != before);
    assert!(broken(false).count() > 10);
    assert!(text.contains("xid-mismatch (error): 0 before, 1 after\n"), "{text}");
    assert_eq!(operation(&lines, "NFSv3 READ")["outcome"], "gone");
    assert_eq!(operation(&lines, "unknown")["outcome"], "new");
    // An error that became more frequent is none.
    let before = transcode::capture("nfs41");
    let time = before.last().unwrap().time_ns - before[0].time_ns + 1_000_000_000;
    let again = before.iter().map(|record| Record { time_ns: record.time_ns + time, ..record.clone() });
    let twice = Scratch::new("twice", &before.iter().cloned().chain(again).collect::<Vec<_>>());
    let (lines, text, status) = compare(&[transcode::path("nfs41").to_str().unwrap(), twice.path()]);
    let rule = lines.last().unwrap();
    assert_eq!((&rule["rule"], &rule["before"], &rule["after"]), (&json!("invalidate-foreign"), &json!(1), &json!(2)));
    assert_eq!(status, Some(0), "{text}");
    // A rule that was broken before, too, is no regression.
    let (_, _, status) = compare(&[errors.to_str().unwrap(), errors.to_str().unwrap()]);
    assert_eq!(status, Some(0));
}

/// Three NULL calls, and a fourth with this XID in its RPC header and in that of its reply.
fn nulls(fourth: u32) -> Vec<Record> {
    let mut trace = Trace::new();
    for (xid, inside) in [(1, 1), (2, 2), (3, 3), (4, fourth)] {
        trace.send(Client, &message(MSG, xid, &Lists::default(), &null(inside)));
        trace.send(Server, &message(MSG, xid, &Lists::default(), &reply(inside, &[])));
    }
    trace.records
}

#[test]
fn a_broken_rule_alone_is_a_regression() {
    let [kept, broken] = [("kept", 4), ("broken", 5)].map(|(name, xid)| Scratch::new(name, &nulls(xid)));
    let (lines, text, status) = compare(&[kept.path(), broken.path()]);
    assert!(text.contains("xid-mismatch (error): 0 before, "), "{text}");
    assert!(!text.contains("worse") && !text.contains("slower"), "{text}");
    assert_eq!((status, &lines[0]["after"]["faults"]["failed"]), (Some(1), &json!(0)), "{text}");
    // Four calls and four replies, each with its acknowledgement.
    assert_eq!(["before", "after"].map(|side| lines[0][side]["packets"].as_u64()), [Some(16); 2]);
    assert_eq!(compare(&[broken.path(), kept.path()]).2, Some(0));
}

/// One call of 1,000 is never answered: no test of chance finds that.
#[test]
fn a_first_call_that_is_never_answered_is_a_regression() {
    let file = |is_answered: bool| {
        let mut trace = crate::synthetic::trace::Trace::new();
        for number in 1..=200_u32 {
            let (time, call) = (u64::from(number) * 1000, trace.call(number));
            trace.at(time, &call).accept(time + 5);
            if is_answered || number != 100 {
                let reply = trace.reply(number);
                trace.at(time + 100, &reply).acknowledge(time + 105);
            }
        }
        crate::gaps::written(if is_answered { "answered.pcap" } else { "hung.pcap" }, &trace.frames())
    };
    let (answered, hung) = (file(true), file(false));
    let status = |before: &str, after: &str| run(&["compare", before, after]).status.code();
    assert_eq!(status(&answered, &hung), Some(1));
    assert_eq!((status(&hung, &answered), status(&hung, &hung)), (Some(0), Some(0)));
    let text = run(&["compare", &answered, &hung]);
    let line = stdout(&text).lines().next().unwrap();
    assert!(line.starts_with("calls without a reply") && line.ends_with("worse"), "{line}");
}

//! Captures side by side: the same one, slower and faster, and with other faults.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

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

/// All times since the first frame, so all latencies, longer by this factor.
fn stretched(percent: u64) -> Vec<Record> {
    let mut records = transcode::capture("nfs41");
    let first = records[0].time_ns;
    for record in &mut records {
        record.time_ns = first + (record.time_ns - first) * percent / 100;
    }
    records
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
        let expected = if line["before"]["rpcs"].as_u64() < Some(8) { "unknown" } else { "same" };
        assert_eq!(line["outcome"], expected, "{line}");
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

#[test]
fn what_takes_longer_is_slower_unless_that_is_tolerated() {
    let (usual, slow) = (Scratch::new("usual", &stretched(100)), Scratch::new("slow", &stretched(300)));
    let (lines, text, status) = compare(&[usual.path(), slow.path()]);
    assert_eq!(status, Some(1));
    for name in ["NFSv4 GETATTR", "NFSv4 READ"] {
        let line = operation(&lines, name);
        let change = line["p50_change"].as_f64().unwrap();
        assert!((1.95..2.05).contains(&change), "{line}");
        assert_eq!((&line["outcome"], &line["significance"]), (&json!("slower"), &json!("p ≤ 0.001")), "{line}");
    }
    assert!(text.contains("p ≤ 0.001  slower\n"), "{text}");
    // There are 4 of them: that says nothing, however much slower they are.
    assert_eq!(operation(&lines, "NFSv4 REMOVE")["outcome"], "unknown");

    let (_, _, status) = compare(&["--tolerance", "250", usual.path(), slow.path()]);
    assert_eq!(status, Some(0));
    let (lines, _, status) = compare(&[slow.path(), usual.path()]);
    assert_eq!((status, &operation(&lines, "NFSv4 READ")["outcome"]), (Some(0), &json!("faster")));
    // A difference that chance makes easily is none.
    let little = Scratch::new("little", &stretched(112));
    let (lines, _, status) = compare(&["--tolerance", "5", usual.path(), little.path()]);
    assert_eq!((status, &operation(&lines, "NFSv4 READ")["outcome"]), (Some(0), &json!("same")));
}

#[test]
fn it_says_how_messages_travel_if_that_has_changed() {
    let [plain, integrity, errors] = ["nfs41", "nfs41_krb5i", "errors"].map(transcode::path);
    let (lines, text, _) = compare(&[plain.to_str().unwrap(), integrity.to_str().unwrap()]);
    // Under Kerberos integrity nothing may be reduced, so Read chunks become Position Zero Read chunks.
    assert!(
        text.contains("\n    calls 2 short, 4 chunked → 2 short, 4 long; RDMA Read 33,601 → 33,764 octets per RPC\n"),
        "{text}"
    );
    let write = operation(&lines, "NFSv4 WRITE");
    let octets = ["before", "after"].map(|side| write[side]["rdma_read_octets"].as_u64().unwrap() / 6);
    assert_eq!(octets, [33_601, 33_764]);
    // Fewer of the same are no change.
    let next = text.lines().skip_while(|line| !line.starts_with("NFSv4 GETATTR")).nth(1).unwrap();
    assert!(next.starts_with("NFSv4"), "{text}");
    let (_, text, _) = compare(&[errors.to_str().unwrap(), transcode::path("nfs3").to_str().unwrap()]);
    let expected = "\n    replies 5 short, 1 long → 1 short; RDMA Write 2 → 0 octets per RPC; failed 3 → 0\n";
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
    // What was broken before, too, is none.
    let (_, _, status) = compare(&[errors.to_str().unwrap(), errors.to_str().unwrap()]);
    assert_eq!(status, Some(0));
}

//! Situations that users bring, one capture each in `testdata/captures/situations`, with their truth in the README.md there: every
//! command that reports a matter reports it as the truth has it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

mod made;
pub(crate) mod mount;

use serde_json::{Value, json};

use crate::command::{run, stderr, stdout};
use crate::gaps::ALL_CLEAR;
use crate::transcode::{self, Pcap, Record};

/// The XID of the RPC in question.
const XID: &str = "0x00000001";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/captures/situations")
}

/// With the environment variable `UPDATE_EXPECT` set, this test writes the captures.
#[test]
fn the_captures_are_made_of_the_frames_in_this_folder() {
    let made: BTreeMap<_, _> = made::ALL
        .into_iter()
        .map(|(name, made)| (format!("{name}.pcap"), transcode::write_pcap(&made(), Pcap::default())))
        .collect();
    if env::var_os("UPDATE_EXPECT").is_some() {
        for (name, octets) in &made {
            fs::write(folder().join(name), octets).unwrap();
        }
    }
    let there = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let there: BTreeMap<_, _> = there
        .filter(|path| path.extension().is_some_and(|extension| extension == "pcap"))
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(path).unwrap()))
        .collect();
    assert_eq!(there.keys().collect::<Vec<_>>(), made.keys().collect::<Vec<_>>());
    assert!(there == made, "the captures are out of date: run this test with UPDATE_EXPECT=1 and commit the result");
}

/// A row of the table of RPCs: the truth about one.
#[derive(Debug)]
struct Truth {
    file: String,
    latency: Latency,
    sent_again: u64,
    refused: u64,
    timeouts: u64,
    owed: Option<(String, Option<String>)>,
}

#[derive(Debug, PartialEq)]
enum Latency {
    Nanoseconds(u64),
    Unknown(String),
    /// The call has no reply that was accepted.
    Waits,
}

impl Truth {
    fn from_row(row: &str) -> Option<Self> {
        let cells: Vec<_> = row.trim().strip_prefix('|')?.split('|').map(str::trim).collect();
        let [file, _, latency, sent_again, refused, timeouts, owed, _] = cells[..] else { return None };
        let number = |cell: &str| cell.replace(',', "").parse::<u64>();
        let latency = match (number(latency), latency) {
            (Ok(microseconds), _) => Latency::Nanoseconds(microseconds * 1000),
            (_, "waits") => Latency::Waits,
            (_, reason) => Latency::Unknown(reason.to_owned()),
        };
        let owed = (!owed.is_empty()).then(|| match owed.split_once(" by ") {
            Some((step, end)) => (step.to_owned(), Some(end.to_owned())),
            None => (owed.to_owned(), None),
        });
        let file = file.strip_prefix('`')?.strip_suffix('`')?.to_owned();
        let [sent_again, refused, timeouts] = [sent_again, refused, timeouts].map(|cell| number(cell).unwrap());
        Some(Self { file, latency, sent_again, refused, timeouts, owed })
    }

    fn read_all() -> Vec<Self> {
        fs::read_to_string(folder().join("README.md")).unwrap().lines().filter_map(Self::from_row).collect()
    }

    fn nanoseconds(&self) -> Option<u64> {
        if let Latency::Nanoseconds(nanoseconds) = self.latency { Some(nanoseconds) } else { None }
    }

    fn path(&self) -> String {
        path(&self.file)
    }

    /// Outcome of an RPC that waits: a reply that was sent and did not arrive is not "no reply".
    fn outcome(&self) -> &'static str {
        match self.owed.as_ref().map(|(step, _)| step.as_str()) {
            Some("reply again") => "reply refused",
            Some("RDMA Read of the reply") => "reply not read",
            _ if self.file.ends_with("reply_unacknowledged") || self.file == "reply_wrong_icrc" => {
                "reply not acknowledged"
            }
            _ => "no reply",
        }
    }

    /// Asserts that a slice of a trace is as long as the RPC took, or that it says why that is not known.
    fn matches_slice(&self, slice: &Value) {
        let (file, name) = (&self.file, slice["name"].as_str().unwrap());
        let (_, state) = name.split_once(", ").unwrap_or_default();
        match (&self.latency, &self.owed) {
            (Latency::Nanoseconds(latency), _) => {
                assert_eq!((&slice["dur"], state), (&json!(*latency as f64 / 1000.0), ""), "{file}");
            }
            (Latency::Waits, Some((step, Some(end)))) => {
                assert_eq!((&slice["ph"], &slice["dur"]), (&json!("B"), &Value::Null), "{file}");
                assert_eq!((state, &slice["args"]["owed"]), (&*format!("waiting for {end}"), &json!(step)), "{file}");
            }
            (Latency::Unknown(reason), _) => {
                assert_eq!((state, &slice["args"]["end_not_known"]), ("end not known", &json!(reason)), "{file}");
            }
            (Latency::Waits, _) => {
                assert!(slice["dur"].is_number() && slice["args"]["end_not_known"].is_string(), "{file} {slice}");
            }
        }
    }

    /// The records of this type that a command writes.
    fn records(&self, command: &[&str], of: &str) -> Vec<Value> {
        let path = self.path();
        let output = run(&[command, &["--json", &path]].concat());
        let records = stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap());
        records.filter(|record: &Value| record["type"] == of).collect()
    }
}

/// Calls in flight when the server ends a connection, which the client makes again.
pub(crate) fn tries(carrier: mount::Carrier) -> Vec<Record> {
    made::frames(&mount::server_ends(carrier).packets())
}

pub(crate) fn path(name: &str) -> String {
    folder().join(format!("{name}.pcap")).display().to_string()
}

/// The RPC in question among the records.
fn rpc(records: Vec<Value>) -> Option<Value> {
    records.into_iter().find(|record| record["rdma_xid"] == XID)
}

fn sum(record: &Value, fields: &[&str]) -> u64 {
    fields.iter().map(|field| record[field].as_u64().unwrap()).sum()
}

#[test]
fn every_capture_is_in_a_table() {
    let readme = fs::read_to_string(folder().join("README.md")).unwrap();
    for (name, _) in made::ALL {
        assert!(readme.contains(&format!("`{name}`")), "{name}");
    }
    assert_eq!(Truth::read_all().len() + 18, made::ALL.len());
}

#[test]
fn transactions_slow_and_explain_have_the_latency_of_the_truth() {
    for truth in Truth::read_all() {
        let name = &truth.file;
        let found = rpc(truth.records(&["transactions"], "transaction")).unwrap();
        let reason = found["phases_missing"].as_str();
        match &truth.latency {
            Latency::Nanoseconds(latency) => {
                assert_eq!((&found["latency_ns"], reason), (&json!(latency), None), "{name}")
            }
            Latency::Unknown(expected) => {
                assert_eq!((&found["latency_ns"], reason), (&Value::Null, Some(&expected[..])))
            }
            Latency::Waits => {
                assert!(found["latency_ns"].is_null() && found["status"].is_null(), "{name}");
                let expected =
                    ["the capture holds no complete reply", "the capture does not show that the reply was accepted"];
                assert!(expected.contains(&reason.unwrap()), "{name}: {reason:?}");
            }
        }
        // The others have the same record, the slowest only of RPCs whose latency is known.
        let explained = truth.records(&["explain", "--xid", XID], "explain").remove(0);
        assert_eq!(explained["transaction"], found, "{name}");
        let slowest = rpc(truth.records(&["slow", "--top", "100"], "transaction"));
        assert_eq!(slowest, truth.nanoseconds().map(|_| found.clone()), "{name}");
    }
}

#[test]
fn tables_and_traces_have_the_latency_of_the_truth() {
    for truth in Truth::read_all() {
        let (name, path) = (&truth.file, truth.path());
        let output = run(&["transactions", "--csv", &path]);
        let mut lines = stdout(&output).lines().map(|line| line.split(',').collect::<Vec<_>>());
        let place = lines.next().unwrap().iter().position(|title| *title == "latency_ns").unwrap();
        let row = lines.find(|row| row[1] == XID).unwrap();
        assert_eq!(row[place], truth.nanoseconds().map_or(String::new(), |latency| latency.to_string()), "{name}");

        let trace: Value = serde_json::from_slice(&run(&["trace", "-o", "-", &path]).stdout).unwrap();
        let events = trace["traceEvents"].as_array().unwrap().iter();
        let mut events = events.filter(|event| event["args"]["rdma_xid"] == XID);
        match (events.next(), &truth.latency) {
            (Some(slice), _) => truth.matches_slice(slice),
            (None, Latency::Unknown(reason)) => assert!(reason.contains("clock") || reason.contains("call"), "{name}"),
            (None, _) => panic!("{name} has no slice"),
        }
        assert_eq!(events.next(), None, "{name}");
    }
}

#[test]
fn annotations_name_the_latency_or_that_it_is_unknown() {
    for truth in Truth::read_all() {
        let octets = run(&["annotate", "-o", "-", &truth.path()]).stdout;
        let octets = String::from_utf8_lossy(&octets);
        let call = octets.split(&format!("call {XID}: ")).nth(1).unwrap().split('\0').next().unwrap();
        let expected = match truth.latency {
            Latency::Nanoseconds(latency) => format!("latency {}.{:03} ms", latency / 1_000_000, latency / 1000 % 1000),
            Latency::Unknown(_) => "; reply in frame".to_owned(),
            Latency::Waits => truth.outcome().to_owned(),
        };
        assert!(call.contains(&expected), "{}: {call}", truth.file);
        assert_eq!(call.contains("latency"), truth.nanoseconds().is_some(), "{}: {call}", truth.file);
    }
}

#[test]
fn transactions_name_the_outcome_of_an_rpc_that_waits() {
    for truth in Truth::read_all().iter().filter(|truth| truth.latency == Latency::Waits) {
        let output = run(&["transactions", &truth.path()]);
        let line = stdout(&output).lines().find(|line| line.contains(XID)).unwrap();
        assert!(line.ends_with(&format!("  {}", truth.outcome())), "{}: {line}", truth.file);
    }
}

/// Data that nobody asked for was not sent, so the capture lacks none of it.
#[test]
fn no_output_calls_unread_data_missing() {
    let path = path("data_not_read");
    let reason = "no RDMA Read asked for octets 0 to 16383";
    for command in [&["transactions"][..], &["transactions", "--json"], &["annotate", "-o", "-"]] {
        let output = run(&[command, &[&path]].concat());
        let said = String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(reason) && !said.contains("the capture holds 0"), "{command:?}: {said}");
    }
    let lacks = stdout(&run(&["transactions", &self::path("read_unanswered")])).replace("\n              ", " ");
    assert!(lacks.contains("the capture holds 0 of 1000 octets"), "the server asked for that: {lacks}");
}

#[test]
fn pending_names_the_debtor_of_the_truth() {
    for truth in Truth::read_all() {
        let found = rpc(truth.records(&["pending"], "pending"));
        let owed = found
            .map(|found| (found["owed"].as_str().unwrap().to_owned(), found["owed_by"].as_str().map(str::to_owned)));
        assert_eq!(owed, truth.owed, "{}", truth.file);
        let by_operation = truth.records(&["top", "--by", "operation"], "top");
        let unanswered: u64 = by_operation.iter().map(|row| sum(row, &["unanswered"])).sum();
        assert_eq!(unanswered, u64::from(truth.owed.is_some()), "{}", truth.file);
    }
}

/// The clock is set back by a second after the call, and the capture ends three seconds later.
#[test]
fn an_age_across_a_clock_set_back_is_least() {
    let truth = Truth::read_all().into_iter().find(|truth| truth.file == "clock_set_back_waiting").unwrap();
    let older_than = |age| rpc(truth.records(&["pending", "--older-than", age], "pending"));
    let call = older_than("3s").unwrap();
    assert_eq!((&call["age_ns"], &call["age_at_least_ns"]), (&Value::Null, &json!(3_000_000_000_u64)));
    assert_eq!(older_than("3001ms"), None);
    let path = truth.path();
    assert!(stdout(&run(&["pending", &path])).contains("    > 3.000000 "), "the text");
    assert!(stdout(&run(&["report", "-o", "-", &path])).contains("&gt; 3.00 s"), "the report");
    let diagnosis = stdout(&run(&["diagnose", &path])).to_owned();
    assert!(diagnosis.contains("waited for at least 3.00 s"), "{diagnosis}");
}

/// A call whose connection ended waits no longer, in every output.
#[test]
fn a_call_has_one_age_in_pending_and_diagnose() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/captures/hangs.pcap").display().to_string();
    let records = |command: &str| -> Vec<Value> {
        let output = run(&[command, "--json", &path]);
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let diagnosis = records("diagnose").remove(0);
    let causes = diagnosis["causes"].as_array().unwrap().iter();
    let of_causes = causes.flat_map(|cause| cause["examples"].as_array().unwrap().clone());
    let mut of_causes: BTreeMap<_, _> =
        of_causes.map(|example| (example["frame"].clone().as_u64().unwrap(), example["waiting_ns"].clone())).collect();
    let mut compared = 0;
    for call in records("pending").iter().filter(|record| record["type"] == "pending") {
        if let Some(age) = of_causes.remove(&call["call_frame"].as_u64().unwrap()) {
            assert_eq!(call["age_at_least_ns"], age, "{call}");
            compared += 1;
        }
    }
    assert!(compared > 2, "{compared}");
}

#[test]
fn events_statistics_and_rpcs_count_what_was_sent_again() {
    for truth in Truth::read_all() {
        let name = &truth.file;
        let expected = [truth.sent_again, truth.refused, truth.timeouts];

        let events = truth.records(&["events"], "event");
        let count =
            |names: &[&str]| events.iter().filter(|event| names.contains(&event["event"].as_str().unwrap())).count();
        let counted = [&["retransmitted", "retransmitted, first not captured"][..], &["NAK", "RNR NAK"], &["time-out"]]
            .map(count);
        assert_eq!(counted.map(|count| count as u64), expected, "{name}: events");

        let statistics = truth.records(&["stats"], "stats").remove(0);
        let ends = ["active", "passive"].map(|end| &statistics["connections"][0][end]);
        let of_ends = |fields: &[&str]| ends.iter().map(|end| sum(end, fields)).sum::<u64>();
        let counted =
            [&["retransmitted", "replaced"][..], &["sequence_errors", "not_ready"], &["timeouts"]].map(of_ends);
        assert_eq!(counted, expected, "{name}: stats");

        let found = rpc(truth.records(&["transactions"], "transaction")).unwrap();
        let recovery = &found["recovery"];
        assert_eq!(recovery.is_null(), truth.nanoseconds().is_none(), "{name}");
        if !recovery.is_null() {
            let counted = [&["retransmitted_packets"][..], &["naks", "rnr_naks"], &["timeouts"]]
                .map(|fields| sum(recovery, fields));
            assert_eq!(counted, expected, "{name}: transactions");
        }

        let page = run(&["report", "-o", "-", &truth.path()]);
        let nothing = stdout(&page).contains("No captured packet was retransmitted");
        assert!(!nothing || truth.sent_again == 0, "{name}: report");
    }
}

/// A call waits from its last packet to the copy of the Send with its reply that was accepted. Version 2 counts no calls against
/// credits, a reply that the responder provides is read after its Send, and beside an OPEN, the recall that it waits for waits too.
#[test]
fn intervals_count_the_time_that_calls_waited() {
    for truth in Truth::read_all() {
        let found = rpc(truth.records(&["transactions"], "transaction")).unwrap();
        let others = ["reply_provided_and_read", "recall_answered_late"];
        let is_counted = !truth.file.starts_with("v2") && !others.contains(&&*truth.file);
        let Some(latency) = truth.nanoseconds().filter(|_| is_counted) else { continue };
        let waited = latency - found["phases"]["call_ns"].as_u64().unwrap();
        let [interval] = &truth.records(&["stats", "--interval", "100s"], "interval")[..] else {
            panic!("one interval")
        };
        let calls = &interval["calls"];
        assert_eq!((sum(calls, &["latency_sum_ns"]), sum(calls, &["max"])), (waited, 1), "{}", truth.file);
        let statistics = truth.records(&["stats"], "stats").remove(0);
        let at_limit = sum(&statistics["connections"][0]["active"], &["at_limit_ns"]);
        assert_eq!(sum(calls, &["at_limit_ns"]), at_limit, "{}", truth.file);
    }
}

#[test]
fn one_direction_or_no_rpc_gives_no_all_clear() {
    for (name, said) in
        [("calls_only", "none of 192.0.2.2"), ("replies_only", "none of 192.0.2.1"), ("no_rpc", "no RPC-over-RDMA")]
    {
        for command in
            [&["pending"][..], &["check"], &["events"], &["report", "-o", "-"], &["transactions"], &["diagnose"]]
        {
            let path = path(name);
            let output = run(&[command, &[&path]].concat());
            assert!(stderr(&output).contains(said), "{name} {command:?}: {}", stderr(&output));
            assert!(name != "no_rpc" || output.status.code() == Some(1), "{command:?}");
            for words in ALL_CLEAR {
                assert!(
                    !stdout(&output).contains(words) && !stderr(&output).contains(words),
                    "{name} {command:?}: {words}"
                );
            }
        }
    }
}

/// A call or a reply that is sent and never acknowledged may be lost on its way: the end that it is for is not to blame.
#[test]
fn diagnose_blames_the_debtor_of_the_truth() {
    for (name, cause, owner) in [
        ("call_unacknowledged", "server-unreachable", "network"),
        ("call_accepted", "server-silent", "server"),
        ("call_refused", "client-silent", "client"),
        ("reply_unacknowledged", "client-unreachable", "network"),
        ("iwarp_reply_unacknowledged", "client-unreachable", "network"),
        ("write_unacknowledged", "client-unreachable", "network"),
        ("reply_timed_out", "loss", "network"),
        ("call_wrong_icrc", "wrong-checksum", "client"),
        ("reply_wrong_icrc", "wrong-checksum", "server"),
        ("recall_answered_late", "delegation-recall", "client"),
    ] {
        let output = run(&["diagnose", "--json", &path(name)]);
        let found: Value = serde_json::from_str(stdout(&output).lines().next().unwrap()).unwrap();
        let found = &found["causes"][0];
        assert_eq!((&found["cause"], &found["owner"]), (&json!(cause), &json!(owner)), "{name}");
    }
}

#[test]
fn what_fails_hangs_or_is_sent_again_is_a_regression() {
    for (name, status) in [("calls_answered", 0), ("calls_unanswered", 1), ("calls_failed", 1), ("calls_sent_again", 1)]
    {
        let output = run(&["compare", &path("calls_answered"), &path(name)]);
        assert_eq!(output.status.code(), Some(status), "{name}: {}", stdout(&output));
    }
}

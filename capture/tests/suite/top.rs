//! `top`, `stats` and `report` count calls, and the time for which they waited: a call that hangs too.

use serde_json::Value;

use crate::command::{run, stderr, stdout};
use crate::diagnosis::{MILLISECOND, SECOND, SENDS_OF_4096, Scene};
use crate::gaps::written;
use crate::synthetic::By::Client;
use crate::synthetic::rpc::{Lists, MSG, message, read3};
use crate::synthetic::trace::Trace;

fn json(arguments: &[&str]) -> Vec<Value> {
    stdout(&run(arguments)).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The row of `top` with this key.
fn row(rows: &[Value], key: &str) -> Value {
    rows.iter().find(|row| row["key"] == key).unwrap_or_else(|| panic!("{key} in {rows:?}")).clone()
}

/// Two NULL calls that take 1 ms and 0.1 ms, and a READ that waits for 1 s until the capture ends.
fn hang() -> String {
    let mut trace = Trace::new();
    let (call, reply) = (trace.call(1), trace.reply(1));
    trace.at(100, &call).accept(110).at(1100, &reply).acknowledge(1110);
    let read = trace.wire.send(Client, &message(MSG, 2, &Lists::default(), &read3(2, 100)));
    trace.at(2000, &read).accept(2010);
    let (call, reply) = (trace.call(3), trace.reply(3));
    trace.at(1_001_800, &call).accept(1_001_810).at(1_001_900, &reply).acknowledge(1_002_000);
    written("hang.pcap", &trace.frames())
}

#[test]
fn a_call_that_hangs_takes_the_time_of_its_wait() {
    let file = hang();
    for by in ["operation", "client", "server", "status", "connection"] {
        let rows = json(&["top", "--json", "--by", by, &file]);
        let sum = |field: &str| rows.iter().filter_map(|row| row[field].as_u64()).sum::<u64>();
        assert_eq!((sum("latency_sum_ns"), sum("unanswered_sum_ns")), (1_100_000, 1_000_000_000), "{by}");
    }
    let rows = json(&["top", "--json", &file]);
    let read = row(&rows, "NFSv3 READ");
    assert_eq!((&read["calls"], &read["unanswered"], &read["p50_ns"]), (&1.into(), &1.into(), &Value::Null));
    assert!((read["share"].as_f64().unwrap() - 1000.0 / 1001.1).abs() < 1e-9, "{read}");
    let text = run(&["top", &file]);
    let text = stdout(&text);
    assert!(text.lines().nth(1).unwrap().ends_with(" 99.9%  NFSv3 READ"), "the longest is first: {text}");
    let statistics = json(&["stats", "--json", &file]);
    let procedures = statistics[0]["procedures"].as_array().unwrap();
    let read = procedures.iter().find(|procedure| procedure["operation"] == "NFSv3 READ").unwrap();
    assert_eq!(read["unanswered_sum_ns"], 1_000_000_000);
    let page = run(&["report", "--quiet", &file, "-o", "-"]);
    let page = stdout(&page);
    assert!(
        page.contains(">1.00 s<") && page.contains(">99.9 %<"),
        "the tables of the report have the time of the hang"
    );
}

#[test]
fn a_reply_without_a_call_is_no_call() {
    let file = format!("{}/../testdata/captures/situations/replies_only.pcap", env!("CARGO_MANIFEST_DIR"));
    let rows = json(&["top", "--json", &file]);
    assert_eq!(
        (&rows[0]["calls"], &rows[0]["unanswered"], &rows[0]["without_call"]),
        (&0.into(), &0.into(), &20.into())
    );
    let said = run(&["top", &file]);
    let said = stderr(&said);
    assert!(said.contains("20 replies without a call: not counted as calls"), "{said}");
}

#[test]
fn quiet_commands_print_errors_only() {
    let output = written("quiet.out", &[]);
    for name in ["errors", "same_xid", "situations/clock_set_back", "situations/replies_only", "situations/no_rpc"] {
        let file = format!("{}/../testdata/captures/{name}.pcap", env!("CARGO_MANIFEST_DIR"));
        for command in ["diagnose", "top", "pending", "stats", "check", "slow", "transactions", "events", "decode"] {
            assert_eq!(stderr(&run(&[command, "-q", &file])), "", "{command} {name}");
        }
        for command in ["export", "anonymize", "annotate", "trace", "report"] {
            assert_eq!(stderr(&run(&[command, "-q", &file, "-o", &output])), "", "{command} {name}");
        }
    }
}

/// Five clients with one RPC each, of 1, 2, 3, 4 and 100 ms: a typical row has 3 ms.
#[test]
fn the_median_of_the_rows_is_a_typical_row() {
    let mut scene = Scene::new(5, &SENDS_OF_4096);
    for (wire, latency) in (0..).zip([1, 2, 3, 4, 100]) {
        scene.rpcs(wire, 1, (SECOND, 0), latency * MILLISECOND);
    }
    let file = written("typical.pcap", &scene.records());
    let rows = json(&["top", "--json", "--by", "client", &file]);
    let typical: Vec<_> = rows.iter().filter_map(|row| row["typical_p50_ns"].as_u64()).collect();
    assert_eq!(typical.len(), 5, "{rows:?}");
    assert!(typical.iter().all(|typical| typical.abs_diff(3_000_000) < 30_000), "{typical:?}");
    let text = run(&["top", "--by", "client", &file]);
    assert!(stdout(&text).ends_with("Typical of 5 rows, the median: p50 3.00 ms, p99 3.00 ms.\n"), "{}", stdout(&text));
    let alone = run(&["top", &file]);
    assert!(!stdout(&alone).contains("Typical"), "one operation has nothing to compare with");
}

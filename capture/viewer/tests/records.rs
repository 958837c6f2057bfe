//! Rows of the viewer against the records that the program prints.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use dissector::output::file_names::FileNames;
use dissector::output::transactions;
use dissector::{Capture, Config, Events, Files};
use rpcrdma_viewer::Viewer;
use serde_json::{Value, json};

const CAPTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/captures/");

fn captures() -> Vec<String> {
    let names = std::fs::read_dir(CAPTURES).unwrap().map(|entry| entry.unwrap().path().display().to_string());
    names.filter(|name| name.ends_with(".pcap")).collect()
}

fn read(path: &str) -> Viewer {
    let mut viewer = Viewer::of_paths(vec![path.to_owned()]);
    while viewer.step(1000).unwrap() {}
    viewer
}

fn rows(viewer: &mut Viewer, query: &str) -> Vec<Value> {
    let count = viewer.select(query).unwrap();
    serde_json::from_str(&viewer.rows(0, count).unwrap()).unwrap()
}

/// The records of all RPCs, as `rpcrdma transactions --json` prints them.
fn records(path: &str) -> Vec<Value> {
    let mut config = Config::default();
    (config.operations, config.recovery) = (true, true);
    let mut names = FileNames::default();
    let events = Events::new(Capture::from_paths([path]), config);
    let record = |transaction| {
        let mut line = Vec::new();
        transactions::write_json(&mut line, &transaction, &Files::default(), &mut names).unwrap();
        serde_json::from_slice(&line).unwrap()
    };
    events.transactions().map(Result::unwrap).map(record).collect()
}

#[test]
fn every_number_of_a_row_is_that_of_its_record() {
    let captures = captures();
    assert!(captures.len() > 25);
    let mut all = Vec::new();
    for path in captures {
        let (mut viewer, records) = (read(&path), records(&path));
        let mut rows = rows(&mut viewer, "{}");
        rows.sort_by_key(|row| row["index"].as_u64());
        assert_eq!(rows.len(), records.len(), "{path}");
        let first = viewer.progress().unwrap();
        let first: u64 = serde_json::from_str::<Value>(&first).unwrap()["first_ns"].as_str().unwrap().parse().unwrap();
        for (row, record) in rows.iter().zip(&records) {
            compare(row, record, first, &path);
        }
        all.append(&mut rows);
    }
    for (field, nothing) in
        [("file", json!("")), ("failed", json!(false)), ("waiting", json!(false)), ("recovery_ns", json!(0))]
    {
        assert!(all.iter().filter(|row| row[field] != nothing).count() > 10, "no row shows {field}");
    }
}

fn compare(row: &Value, record: &Value, first: u64, path: &str) {
    for field in ["connection", "latency_ns", "phases", "call_frame", "reply_frame", "operation"] {
        assert_eq!(row[field], record[field], "{path}: {field}");
    }
    let (client, server) = match record["reverse"] == true {
        false => ("requester", "responder"),
        true => ("responder", "requester"),
    };
    let succeeded = record["status"]["name"] == "SUCCESS";
    let status = if succeeded && !record["nfs_status"].is_null() { &record["nfs_status"] } else { &record["status"] };
    let status_name = if status.is_null() { "" } else { status["name"].as_str().unwrap_or("unknown") };
    let has_failed = if status["number"] == 0 { !succeeded } else { !status.is_null() };
    let operations = record["operations"].as_array().into_iter().flatten();
    let operations: Vec<&str> = operations.map(|operation| operation["name"].as_str().unwrap()).collect();
    let since_first = record["time_ns"].as_u64().unwrap_or_default().saturating_sub(first);
    for (own, expected) in [
        ("xid", record["rdma_xid"].clone()),
        ("client", record[client].clone()),
        ("server", record[server].clone()),
        ("time_ns", since_first.into()),
        ("recovery_ns", record["recovery"]["ns"].as_u64().unwrap_or(0).into()),
        ("resent_packets", record["recovery"]["resent_packets"].as_u64().unwrap_or(0).into()),
        ("read_octets", record["rdma_read_octets"].clone()),
        ("write_octets", record["rdma_write_octets"].clone()),
        ("operations", operations.join(" ").into()),
        ("status", status_name.into()),
        ("failed", has_failed.into()),
        ("waiting", (!record["call"].is_null() && record["reply"].is_null()).into()),
    ] {
        assert_eq!(row[own], expected, "{path}: {own}");
    }
    let file = row["file"].as_str().unwrap();
    let named = names_of_files(record);
    // A terminal's form, without control characters; no file of these captures has any.
    assert!(file.is_empty() || named.contains(&file), "{path}: {file} is not one of {named:?}");
}

/// All names of files in the arguments of a record.
fn names_of_files(record: &Value) -> Vec<&str> {
    let arguments = record["arguments"].as_array().into_iter().flatten();
    let names = arguments.flat_map(|of| {
        [&of["file_name"], &of["handle"]["file_name"], &of["named_handle"]["file_name"]].map(Value::as_str)
    });
    names.flatten().collect()
}

#[test]
fn rows_without_a_value_come_last_and_calls_without_a_reply_by_their_age() {
    let mut viewer = read(&format!("{CAPTURES}hangs.pcap"));
    let waiting = |rows: Vec<Value>| rows.iter().map(|row| row["waiting"] == true).collect::<Vec<_>>();
    let descending = waiting(rows(&mut viewer, r#"{"sort":"latency","descending":true}"#));
    assert_eq!(descending[..4], [true, true, true, false]);
    let ascending = waiting(rows(&mut viewer, r#"{"sort":"latency"}"#));
    assert!(ascending.ends_with(&[false, true, true, true]));
    for descending in [true, false] {
        let rows = rows(&mut viewer, &format!(r#"{{"sort":"file","descending":{descending}}}"#));
        assert_eq!(rows.last().unwrap()["file"], "");
    }
}

#[test]
fn a_wrong_filter_changes_nothing() {
    let mut viewer = read(&format!("{CAPTURES}hangs.pcap"));
    let before = viewer.select(r#"{"filter":"waiting"}"#).unwrap();
    assert_eq!(before, 3);
    assert!(viewer.select(r#"{"filter":"slower=soon"}"#).unwrap_err().contains("slower=soon"));
    assert_eq!(serde_json::from_str::<Vec<Value>>(&viewer.rows(0, 100).unwrap()).unwrap().len(), before);
}

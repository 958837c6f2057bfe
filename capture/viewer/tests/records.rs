//! Rows of the viewer against the records that the program prints.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use answers::JsonRecord;
use answers::file_names::FileNames;
use answers::report::CaptureReport;
use answers::transactions::TransactionObject;
use dissector::{Capture, Config, Events, Files};
use rpcrdma_viewer::Viewer;
use serde_json::{Value, json};

const CAPTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/captures/");

/// All captures of the repository: those of real peers, and those of single situations.
fn captures() -> Vec<String> {
    let folders = [CAPTURES.to_owned(), format!("{CAPTURES}situations/")];
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let names = entries.map(|entry| entry.unwrap().path().display().to_string());
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
        TransactionObject::new(&transaction, &Files::default(), &mut names).write_json(&mut line).unwrap();
        serde_json::from_slice(&line).unwrap()
    };
    events.transactions().map(Result::unwrap).map(record).collect()
}

fn groups(viewer: &Viewer, query: &str, by: &str) -> Vec<Value> {
    let groups: Vec<Value> = serde_json::from_str(&viewer.groups(query, by).unwrap()).unwrap();
    groups.iter().map(|group| json!([group[0], group[1][0], group[1][2]])).collect()
}

#[test]
fn files_of_one_name_in_two_folders_are_two_groups() {
    let mut viewer = read(&format!("{CAPTURES}situations/one_name_in_two_folders.pcap"));
    let found = groups(&viewer, r#"{"sort":"rpcs"}"#, "file");
    let [one, other] = ["a in 0xd0903d5e on 192.0.2.2", "a in 0x49996ce4 on 192.0.2.2"];
    assert_eq!(found, [json!([one, "2", "0"]), json!([other, "3", "0"])]);
    // The name of a group selects its RPCs, and keeps its name.
    for (name, count) in [(one, 2), (other, 3), ("a", 5)] {
        let query = json!({ "filter": format!("file=\"{name}\"") }).to_string();
        assert_eq!(viewer.select(&query), Ok(count), "{name}");
        assert!(name == "a" || groups(&viewer, &query, "file")[0][0] == name);
    }
}

#[test]
fn a_referral_is_no_failure() {
    let mut viewer = read(&format!("{CAPTURES}situations/referral.pcap"));
    assert_eq!(groups(&viewer, "{}", "client"), [json!(["192.0.2.1", "3", "0"])]);
    assert_eq!(viewer.select(r#"{"filter":"failed"}"#), Ok(0));
    let rows = rows(&mut viewer, r#"{"filter":"status=NFS4ERR_MOVED"}"#);
    assert_eq!(rows.iter().map(|row| &row["failed"]).collect::<Vec<_>>(), [false, false]);
}

#[test]
fn every_number_of_a_row_is_that_of_its_record() {
    let captures = captures();
    assert!(captures.len() > 60);
    let mut all = Vec::new();
    for path in captures {
        let (mut viewer, records) = (read(&path), records(&path));
        let mut rows = rows(&mut viewer, "{}");
        rows.sort_by_key(|row| row["index"].as_u64());
        assert_eq!(rows.len(), records.len(), "{path}");
        let first = viewer.progress(0.0, 0.0).unwrap();
        let first: u64 = serde_json::from_str::<Value>(&first).unwrap()["first_ns"].as_str().unwrap().parse().unwrap();
        for (row, record) in rows.iter().zip(&records) {
            compare(row, record, first, &path);
        }
        all.append(&mut rows);
    }
    assert!(all.iter().filter(|row| row["cells"]["file"] != "").count() > 10, "no row shows a file");
    for (field, nothing) in [("failed", json!(false)), ("waiting", json!(false)), ("recovery_ns", json!(0))] {
        assert!(all.iter().filter(|row| row[field] != nothing).count() > 10, "no row shows {field}");
    }
}

/// The status of an RPC: that of NFS, if the RPC succeeded.
fn status(record: &Value) -> &Value {
    let succeeded = record["status"]["name"] == "SUCCESS";
    if succeeded && !record["nfs_status"].is_null() { &record["nfs_status"] } else { &record["status"] }
}

/// Returns true if an RPC failed. A referral to another server is no failure.
fn has_failed(record: &Value) -> bool {
    let status = status(record);
    let is_error = match status["number"] == 0 {
        true => record["status"]["name"] != "SUCCESS",
        false => !status.is_null(),
    };
    is_error && status["name"] != "NFS4ERR_MOVED"
}

fn compare(row: &Value, record: &Value, first: u64, path: &str) {
    for field in ["connection", "latency_ns", "phases", "call_frame", "reply_frame"] {
        assert_eq!(row[field], record[field], "{path}: {field}");
    }
    let cells = &row["cells"];
    let (client, server) = match record["reverse"] == true {
        false => ("requester", "responder"),
        true => ("responder", "requester"),
    };
    let status = status(record);
    let status_name = if status.is_null() { "" } else { status["name"].as_str().unwrap_or("unknown") };
    let operations = record["operations"].as_array().into_iter().flatten();
    let operations: Vec<&str> = operations.map(|operation| operation["name"].as_str().unwrap()).collect();
    let since_first = record["time_ns"].as_u64().unwrap_or_default().saturating_sub(first);
    for (own, expected) in [
        ("xid", record["rdma_xid"].clone()),
        ("time_ns", since_first.into()),
        ("recovery_ns", record["recovery"]["ns"].as_u64().unwrap_or(0).into()),
        ("retransmitted_packets", record["recovery"]["retransmitted_packets"].as_u64().unwrap_or(0).into()),
        ("read_octets", record["rdma_read_octets"].clone()),
        ("write_octets", record["rdma_write_octets"].clone()),
        ("operations", operations.join(" ").into()),
        ("failed", has_failed(record).into()),
        ("waiting", (!record["call"].is_null() && record["reply"].is_null()).into()),
    ] {
        assert_eq!(row[own], expected, "{path}: {own}");
    }
    for (own, expected) in [
        ("client", &record[client]),
        ("server", &record[server]),
        ("operation", &record["operation"]),
        ("status", &status_name.into()),
    ] {
        assert_eq!(cells[own], *expected, "{path}: {own}");
    }
    let seconds = format!("{}.{:06}", since_first / 1_000_000_000, since_first / 1000 % 1_000_000);
    assert_eq!(row["seconds"], seconds, "{path}");
    let file = cells["file"].as_str().unwrap();
    // A terminal's form, without control characters; no file of these captures has any.
    let expected = record["path"].as_str().or(record["file_name"].as_str()).unwrap_or_default();
    assert_eq!(file, expected, "{path}");
}

/// The first frames of a pcap.
fn beginning(path: &str, frames: usize) -> Vec<u8> {
    let content = std::fs::read(path).unwrap();
    let mut end = 24;
    for _ in 0..frames {
        let length = u32::from_le_bytes(content[end + 8..end + 12].try_into().unwrap());
        end += 16 + length as usize;
    }
    content[..end].to_vec()
}

#[test]
fn a_stopped_reading_equals_a_capture_of_the_frames_read() {
    let path = format!("{CAPTURES}hangs.pcap");
    let cut = std::env::temp_dir().join(format!("rpcrdma-viewer-cut-{}.pcap", std::process::id()));
    let mut waited = 0;
    for frames in [1, 40, 163, 200, 300, 350] {
        let mut viewer = Viewer::of_paths(vec![path.clone()]);
        assert!(viewer.step(frames).unwrap());
        viewer.cancel().unwrap();
        assert!(!viewer.step(1000).unwrap());
        let progress: Value = serde_json::from_str(&viewer.progress(0.0, 0.0).unwrap()).unwrap();
        assert_eq!((&progress["stopped_after"], &progress["ended"]), (&json!(frames), &json!(true)));
        std::fs::write(&cut, beginning(&path, frames)).unwrap();
        let (mut rows, records) = (rows(&mut viewer, "{}"), records(cut.to_str().unwrap()));
        rows.sort_by_key(|row| row["index"].as_u64());
        assert_eq!(rows.len(), records.len(), "{frames}");
        let first = progress["first_ns"].as_str().unwrap().parse().unwrap();
        for (row, record) in rows.iter().zip(&records) {
            compare(row, record, first, &format!("{frames} frames"));
        }
        waited += rows.iter().filter(|row| row["waiting"] == true).count();
    }
    std::fs::remove_file(&cut).unwrap();
    assert!(waited > 3, "{waited}");
}

#[test]
fn the_charts_are_those_of_the_report() {
    let mut config = Config::default();
    (config.operations, config.recovery) = (true, true);
    let (mut drawn, mut unanswered) = (0, 0);
    for path in captures() {
        let mut events = Events::new(Capture::from_paths([&path]), config.clone());
        let mut report = CaptureReport::new("capture");
        for event in events.by_ref() {
            report.event(&event.unwrap(), &Files::default()).unwrap();
        }
        let mut page = Vec::new();
        report.write(&mut page, events.summary(), &[]).unwrap();
        let timeline: Value = serde_json::from_str(&read(&path).timeline("").unwrap()).unwrap();
        let charts = timeline["charts"].as_str().unwrap();
        assert!(String::from_utf8(page).unwrap().contains(charts), "{path}: {charts}");
        drawn += charts.matches("<rect").count();
        unanswered += charts.matches(" without a reply<").count();
    }
    assert!(drawn > 10_000 && unanswered > 100, "{drawn} {unanswered}");
}

/// A brush over an interval of the chart of calls in flight selects the calls that the chart counts there.
#[test]
fn a_brush_selects_the_calls_that_the_chart_shows() {
    let mut compared = 0;
    for name in ["nfs41_lossy", "hangs", "nfs41", "iwarp_nfs3_lossy", "situations/reply_refused"] {
        let mut viewer = read(&format!("{CAPTURES}{name}.pcap"));
        let timeline: Value = serde_json::from_str(&viewer.timeline("").unwrap()).unwrap();
        let charts = timeline["charts"].as_str().unwrap().to_owned();
        for title in charts.split("<title>").filter_map(|text| text.split("</title>").next()) {
            // 00:41:06.393 UTC (13.825 s to 13.889 s): 2.00 calls in flight, 1.00 without a reply
            let Some((times, counts)) = title.split_once("): ") else { continue };
            let Some((in_flight, _)) = counts.split_once(" calls in flight") else { continue };
            let number = |text: &str| text.parse::<f64>().unwrap();
            let drawn = number(in_flight);
            let Some((from, until)) = times.split_once('(').and_then(|(_, times)| times.split_once(" to ")) else {
                continue;
            };
            let seconds = |text: &str| text.strip_suffix(" s").map(number);
            let (Some(from), Some(until)) = (seconds(from), seconds(until)) else { continue };
            let [start, length] = ["start_ns", "interval_ns"].map(|field| timeline[field].as_u64().unwrap());
            // The text has milliseconds, and the intervals are whole nanoseconds.
            let index = ((from * 1e9 - start as f64) / length as f64).round() as u64;
            let (begin, end) = (start + index * length, start + (index + 1) * length);
            assert!(((until - from) * 1e9 - length as f64).abs() < 2e6, "{title}");
            let time =
                |nanoseconds: u64| format!("+{}.{:09}", nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
            let filter = format!("since={} until={}", time(begin), time(end - 1));
            let rows = rows(&mut viewer, &json!({ "filter": filter }).to_string());
            let last = timeline["last_ns"].as_u64().unwrap();
            let waits = rows.iter().map(|row| {
                let called = row["time_ns"].as_u64().unwrap();
                let until = match (row["latency_ns"].as_u64(), row["waiting"].as_bool()) {
                    (Some(latency), _) => called + latency,
                    (None, Some(true)) => last.min(end),
                    (None, _) => called,
                };
                until.min(end).saturating_sub(called.max(begin)) as f64 / length as f64
            });
            let waits: f64 = waits.sum();
            let is_over = rows.iter().any(|row| row["waiting"] == true);
            // A call whose connection ended waits no longer than that, which the row does not say.
            assert!((waits - drawn).abs() < 0.02 || is_over && waits > drawn, "{name} {title}: {waits}");
            assert_eq!(drawn > 0.005, waits > 0.005, "{name} {title}");
            compared += 1;
        }
    }
    assert!(compared > 300, "{compared}");
}

#[test]
fn empty_cells_sort_last_and_unanswered_calls_by_age() {
    let mut viewer = read(&format!("{CAPTURES}hangs.pcap"));
    let waiting = |rows: Vec<Value>| rows.iter().map(|row| row["waiting"] == true).collect::<Vec<_>>();
    let descending = waiting(rows(&mut viewer, r#"{"sort":"latency","descending":true}"#));
    assert_eq!(descending[..4], [true, true, true, false]);
    let ascending = waiting(rows(&mut viewer, r#"{"sort":"latency"}"#));
    assert!(ascending.ends_with(&[false, true, true, true]));
    for descending in [true, false] {
        let rows = rows(&mut viewer, &format!(r#"{{"sort":"file","descending":{descending}}}"#));
        assert_eq!(rows.last().unwrap()["cells"]["file"], "");
    }
}

#[test]
fn a_filter_that_no_rpc_matches_says_so() {
    let mut viewer = read(&format!("{CAPTURES}hangs.pcap"));
    assert_eq!(viewer.select(r#"{"filter":"client=10.9.9.9"}"#), Ok(0));
    assert_eq!(viewer.count(), "0 of 84 RPCs: no RPC matches");
    assert_eq!(viewer.select("{}"), Ok(84));
    assert_eq!(viewer.count(), "84 of 84 RPCs");
}

#[test]
fn a_wrong_filter_changes_nothing() {
    let mut viewer = read(&format!("{CAPTURES}hangs.pcap"));
    let before = viewer.select(r#"{"filter":"waiting"}"#).unwrap();
    assert_eq!(before, 3);
    assert!(viewer.select(r#"{"filter":"slower=soon"}"#).unwrap_err().contains("slower=soon"));
    assert!(viewer.check("slower=soon").unwrap_err().contains("slower=soon"));
    assert_eq!(viewer.check("slower=1s"), Ok(()));
    assert_eq!(serde_json::from_str::<Vec<Value>>(&viewer.rows(0, 100).unwrap()).unwrap().len(), before);
}

#[test]
fn a_filter_of_a_cause_selects_the_rpcs_counted() {
    let mut seen = std::collections::BTreeSet::new();
    for path in captures() {
        let mut viewer = read(&path);
        let diagnosis: Value = serde_json::from_str(&viewer.diagnosis().unwrap()).unwrap();
        let causes = diagnosis["causes"].as_array().unwrap();
        let counted = diagnosis["record"]["causes"].as_array().unwrap();
        for (cause, record) in causes.iter().zip(counted) {
            let Some(filter) = cause["rpcs"][0].as_str() else { continue };
            let selected = rows(&mut viewer, &json!({ "filter": filter }).to_string());
            assert_eq!(record["rpcs"], selected.len(), "{path}: {filter}");
            let is_one =
                |frame: &Value| selected.iter().any(|row| [&row["call_frame"], &row["reply_frame"]].contains(&frame));
            let examples = record["examples"].as_array().unwrap();
            assert!(
                record["cause"] == "protocol" || examples.iter().all(|example| is_one(&example["frame"])),
                "{path}"
            );
            seen.insert(record["cause"].as_str().unwrap().to_owned());
        }
    }
    assert!(seen.len() > 7, "{seen:?}");
}

#[test]
fn a_frame_finds_its_rpc_whatever_is_selected() {
    let path = format!("{CAPTURES}nfs41_lossy.pcap");
    let mut viewer = read(&path);
    let selected = viewer.select(r#"{"filter":"op=GETATTR"}"#).unwrap();
    for record in records(&path) {
        for frame in [&record["call_frame"], &record["reply_frame"]].into_iter().filter_map(Value::as_u64) {
            let index = viewer.at_frame(frame as f64).unwrap();
            let row: Value = serde_json::from_str(&viewer.row(index).unwrap()).unwrap();
            assert_eq!(row["xid"], record["rdma_xid"], "{frame}");
        }
    }
    assert_eq!((viewer.at_frame(1.0), viewer.row(1000).unwrap()), (None, "null".to_owned()));
    assert!(selected > 0 && selected < 62 && viewer.count().starts_with(&format!("{selected} of 62")));
}

#[test]
fn steps_say_their_place_and_go_round_at_the_ends() {
    let viewer = read(&format!("{CAPTURES}hangs.pcap"));
    let next = |from: &Value, kind: &str, backwards| -> Value {
        let from = from.as_u64().map_or(u32::MAX, |from| u32::try_from(from).unwrap());
        serde_json::from_str(&viewer.next(from, kind, backwards).unwrap()).unwrap()
    };
    for (kind, count) in [("waiting", 3), ("slow", 10)] {
        let (mut from, mut seen) = (Value::Null, std::collections::BTreeSet::new());
        for place in 1..=count {
            let step = next(&from, kind, false);
            from = step["index"].clone();
            seen.insert(from.as_u64().unwrap());
            assert_eq!(step, json!({ "index": from, "place": place, "count": count, "is_round": false }));
        }
        assert_eq!(seen.len(), count);
        let first = next(&from, kind, false);
        assert_eq!((&first["place"], &first["is_round"]), (&json!(1), &json!(true)));
        let last = next(&first["index"], kind, true);
        assert_eq!((&last["index"], &last["place"], &last["is_round"]), (&from, &json!(count), &json!(true)));
        let last = next(&Value::Null, kind, true);
        assert_eq!((&last["index"], &last["place"], &last["is_round"]), (&from, &json!(count), &json!(false)));
    }
    assert_eq!(next(&Value::Null, "failed", false), Value::Null);
}

/// The RPC in each row of a capture, with all that is known of it.
fn explained(path: &str) -> Vec<Value> {
    let viewer = read(path);
    let count = serde_json::from_str::<Value>(&viewer.progress(0.0, 0.0).unwrap()).unwrap()["rpcs"].as_u64().unwrap();
    let explain = |index| {
        let mut pass = viewer.explain(index).unwrap();
        while pass.step(10_000).unwrap() {}
        serde_json::from_str(&pass.finish().unwrap()).unwrap()
    };
    (0..u32::try_from(count).unwrap().min(40)).map(explain).collect()
}

#[test]
fn fields_of_a_header_cover_each_octet_once() {
    let mut messages = 0;
    for name in ["nfs41.pcap", "nfs3.pcap", "hangs.pcap"] {
        for rpc in explained(&format!("{CAPTURES}{name}")) {
            for message in rpc["messages"].as_array().unwrap() {
                covers_its_octets(message);
                messages += 1;
            }
        }
    }
    assert!(messages > 100, "{messages}");
}

fn covers_its_octets(message: &Value) {
    let octets = message["octets"].as_str().unwrap();
    let fields = message["fields"].as_array().unwrap();
    let length = octets.len() / 2 + usize::try_from(message["octets_left_out"].as_u64().unwrap()).unwrap();
    let mut covered = vec![0; length];
    let is_of_header = |field: &&Value| field["name"] != "Payload stream" && field["is_fault"] == false;
    for field in fields.iter().filter(is_of_header) {
        let Some(range) = field["octets"].as_array() else { continue };
        let at = |place: usize| usize::try_from(range[place].as_u64().unwrap()).unwrap();
        covered[at(0)..at(1)].iter_mut().for_each(|count| *count += 1);
        // Octets and value say the same.
        if field["name"] == "rdma_xid" {
            assert_eq!(field["value"], format!("0x{}", &octets[2 * at(0)..2 * at(1)]));
        }
    }
    assert!(covered.iter().all(|count| *count == 1), "{}: {covered:?}", message["title"]);
}

/// Counts of one client: RPCs, calls without a reply, RPCs that failed.
fn count_clients(records: &[Value]) -> Vec<Value> {
    let mut clients: std::collections::BTreeMap<&str, [u64; 3]> = std::collections::BTreeMap::new();
    for record in records {
        let client = &record[if record["reverse"] == true { "responder" } else { "requester" }];
        let [rpcs, waiting, failed] = clients.entry(client.as_str().unwrap()).or_default();
        *rpcs += 1;
        *waiting += u64::from(!record["call"].is_null() && record["reply"].is_null());
        *failed += u64::from(has_failed(record));
    }
    let row = |(client, [rpcs, waiting, failed]): (&str, [u64; 3])| {
        json!([client, rpcs.to_string(), waiting.to_string(), failed.to_string()])
    };
    clients.into_iter().map(row).collect()
}

#[test]
fn the_word_user_selects_by_user_id_and_machine() {
    for (name, filter) in [("nfs41", "user=0"), ("nfs41", "user=nobody"), ("nfs3", "user=0")] {
        let path = format!("{CAPTURES}{name}.pcap");
        let (mut viewer, records) = (read(&path), records(&path));
        let wanted = filter.trim_start_matches("user=");
        let is_by = |record: &&Value| record["user"]["uid"].as_u64().is_some_and(|uid| uid.to_string() == wanted);
        let count = records.iter().filter(is_by).count();
        assert_eq!(viewer.select(&json!({ "filter": filter }).to_string()), Ok(count), "{name} {filter}");
        assert_eq!(count > 0, wanted == "0", "{name}");
        let machine = records.iter().find_map(|record| record["user"]["machine"].as_str()).unwrap();
        let of_machine = records.iter().filter(|record| record["user"]["machine"] == machine).count();
        assert_eq!(viewer.select(&json!({ "filter": format!("user={machine}") }).to_string()), Ok(of_machine));
    }
}

/// The page counts what the commands count: `counts.rs` compares these with the same records.
#[test]
fn rows_filters_and_groups_count_the_same_rpcs() {
    for path in captures() {
        let (mut viewer, records) = (read(&path), records(&path));
        let is_waiting = |record: &&Value| !record["call"].is_null() && record["reply"].is_null();
        for (filter, count) in [
            ("", records.len()),
            ("failed", records.iter().filter(|record| has_failed(record)).count()),
            ("waiting", records.iter().filter(is_waiting).count()),
        ] {
            assert_eq!(viewer.select(&json!({ "filter": filter }).to_string()), Ok(count), "{path}: {filter}");
        }
        let groups = viewer.groups(r#"{"sort":"name"}"#, "client").unwrap();
        let groups: Vec<Value> = serde_json::from_str(&groups).unwrap();
        let mut groups: Vec<_> =
            groups.iter().map(|group| json!([group[0], group[1][0], group[1][1], group[1][2]])).collect();
        groups.sort_by_key(|group| group[0].as_str().map(str::to_owned));
        assert_eq!(groups, count_clients(&records), "{path}");
    }
}

//! Every record that the program prints follows the schema of its type, and every field of the schema is used.
#![cfg(test)]

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::sync::LazyLock;
use std::{env, fs};

use serde_json::{Map, Value};

/// Returns the folder of the repository.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../..")
}

/// The program that the variable RPCRDMA names, or else a program built from the present sources.
static PROGRAM: LazyLock<String> = LazyLock::new(|| env::var("RPCRDMA").unwrap_or_else(|_| built()));

fn built() -> String {
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "-p", "rpcrdma-capture", "--bin", "rpcrdma", "--message-format", "json-render-diagnostics"]);
    let output = build.current_dir(repository()).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "the program could not be built");
    let artifacts = String::from_utf8(output.stdout).unwrap();
    let mut programs = artifacts.lines().filter_map(|line| {
        let artifact: Value = serde_json::from_str(line).unwrap();
        artifact["executable"].as_str().map(str::to_owned)
    });
    programs.next().unwrap()
}

/// With the environment variable `UPDATE_EXPECT` set, this test writes the schemas.
#[test]
fn the_schemas_are_those_of_the_types() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../records.json");
    let schemas = format!("{:#}\n", answers::schema::generate());
    if env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&file, &schemas).unwrap();
    }
    assert!(
        fs::read_to_string(&file).unwrap() == schemas,
        "the schemas are out of date: run this test with UPDATE_EXPECT=1 and commit the result"
    );
}

/// Fields that are null, or in empty lists, in every record of these captures, and why. Each name is a prefix.
const UNUSED: &[(&str, &str)] = &[
    ("address_move.", "no address moved"),
    ("connection.rejection_reason", "no request over InfiniBand was refused"),
    ("connection.terms.server.retries", "a server does not state a number of retries"),
    ("lost_between.", "no packet was lost between the captures of both ends"),
    ("header.", "what a message has, and messages have all of it; the dump here has little"),
    ("diagnosis.causes.client", "one client in each capture"),
    ("diagnosis.causes.user", "one user in each capture"),
    ("event.wait_ns", "no receiver was not ready"),
    ("explain.try_", "no RPC with a sign of loss was tried again"),
    ("explain.steps.wait_ns", "no receiver was not ready"),
    ("message.error.max_", "no responder of version 2 refused the number of chunks or segments"),
    ("pending.operations.status", "a call has no status"),
    ("pending.each_try.reply_frame", "no reply of an earlier try was lost"),
    ("pending.owed_octets", "no capture ends in the middle of an RDMA Read"),
    ("pending.security", "no call with RPCSEC_GSS waits"),
    ("promise.callback_frame", "the server of the COPY without an end makes no call"),
    ("promise.file_name", "a COPY has no name of a file"),
    ("promise.status", "nothing that was refused is open at the end"),
    ("promise.unknown", "no capture with an open promise lacks packets"),
    ("stats.mounts.promises.oldest.file_name", "a COPY has no name of a file"),
    ("stats.unanswered", "every connection request was answered"),
    ("top.folder", "no two folders have files of one name"),
    ("stats.rejected.reason", "no request over InfiniBand was refused"),
];

fn run(arguments: &[&str]) -> Vec<Value> {
    let output = Command::new(&*PROGRAM).args(arguments).arg("-q").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn schema(name: &str) -> Value {
    let output = Command::new(&*PROGRAM).args(["schema", name]).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A shipped capture.
fn shipped(name: &str) -> String {
    repository().join(format!("testdata/captures/{name}.pcap")).display().to_string()
}

/// The captures of the repository, and the captures of the fuzz corpus; kernel traces, and captures of both ends.
fn captures() -> Vec<Vec<String>> {
    let data = repository().join("testdata");
    let folders = [data.join("captures"), data.join("corpus/frames")];
    let files = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let mut files: Vec<_> = files.map(|entry| entry.unwrap().path().display().to_string()).collect();
    files.retain(|file| file.contains(".pcap"));
    let situations = ["tries", "session_slots", "session_status", "grace", "copy_offloaded", "copy_unfinished"];
    files.extend(situations.map(|name| shipped(&format!("situations/{name}"))));
    let traces = ["client", "server"].map(|end| data.join(format!("traces/{end}.trace.gz")).display().to_string());
    files.extend(traces.clone());
    files.sort();
    let packets = data.join("captures/kernel_trace.pcap.gz").display().to_string();
    let both_ends = ["network_requester", "network_responder"].map(shipped);
    files.into_iter().map(|file| vec![file]).chain([both_ends.to_vec(), [&traces[..], &[packets]].concat()]).collect()
}

/// The records that each command prints for the files of a capture.
fn records(files: &[String]) -> Vec<Value> {
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let mut records = Vec::new();
    for command in [
        &["diagnose"][..],
        &["diagnose", "--since", "+0.001"],
        &["decode"],
        &["transactions"],
        &["slow"],
        &["pending"],
        &["events"],
        &["connections"],
        &["top", "--by", "handle"],
        &["top", "--by", "user"],
        &["top", "--rows", "1"],
        &["stats"],
        &["stats", "--interval", "1s"],
        &["check", "--verify-crc"],
    ] {
        records.extend(run(&[command, &["--json"], &files].concat()));
    }
    let xid = records.iter().find(|record| record["type"] == "event").or(records.first());
    if let Some(xid) = xid.and_then(|record| record["rdma_xid"].as_str()) {
        records.extend(run(&[&["explain", "--xid", xid, "--json"], &files[..]].concat()));
    }
    records
}

/// The schema that a reference stands for, unless that is another record's.
fn resolved<'a>(schema: &'a Value, definitions: &'a Map<String, Value>) -> Vec<&'a Map<String, Value>> {
    let Some(schema) = schema.as_object() else { return Vec::new() };
    let mut found = vec![schema];
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        let name = name.strip_prefix("#/$defs/").unwrap();
        if definitions[name]["properties"].get("schema").is_none() {
            found.extend(resolved(&definitions[name], definitions));
        }
    }
    for key in ["anyOf", "oneOf"] {
        let choices = schema.get(key).and_then(Value::as_array);
        found.extend(choices.into_iter().flatten().flat_map(|choice| resolved(choice, definitions)));
    }
    found.extend(schema.get("items").into_iter().flat_map(|items| resolved(items, definitions)));
    found
}

/// The path of every field.
fn fields(schema: &Value, definitions: &Map<String, Value>, path: &str, found: &mut BTreeMap<String, Value>) {
    for schema in resolved(schema, definitions) {
        for (name, field) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            // Added to records of any type, and seen in some.
            if name == "capture_file" {
                continue;
            }
            let path = format!("{path}.{name}");
            fields(field, definitions, &path, found);
            found.insert(path, field.clone());
        }
    }
}

/// Removes the fields that a value has.
fn use_fields(value: &Value, path: &str, unused: &mut BTreeMap<String, Value>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| use_fields(item, path, unused)),
        Value::Object(object) => {
            for (name, value) in object.iter().filter(|(_, value)| !value.is_null()) {
                let path = format!("{path}.{name}");
                unused.remove(&path);
                use_fields(value, &path, unused);
            }
        }
        _ => {}
    }
}

#[test]
fn every_record_fits_its_schema_and_every_field_occurs() {
    let all = schema_of_all();
    let names: Vec<String> = all["oneOf"].as_array().unwrap().iter().map(name).collect();
    let schemas: BTreeMap<_, _> = names.iter().map(|name| (name.as_str(), schema(name))).collect();
    let validators: BTreeMap<_, _> =
        schemas.iter().map(|(name, schema)| (*name, jsonschema::validator_for(schema).unwrap())).collect();
    let mut unused = BTreeMap::new();
    for (name, schema) in &schemas {
        let none = Map::new();
        fields(schema, schema.get("$defs").and_then(Value::as_object).unwrap_or(&none), name, &mut unused);
    }
    let known = unused.len();
    let mut check = |record: &Value| {
        let name = record["type"].as_str().unwrap();
        let faults: Vec<_> = validators[name].iter_errors(record).map(|fault| fault.to_string()).collect();
        assert!(faults.is_empty(), "{faults:?}: {record}");
        use_fields(record, name, &mut unused);
    };
    captures().iter().flat_map(|files| records(files)).for_each(|record| check(&record));
    others().iter().for_each(&mut check);
    assert!(known > 300, "{known} fields");
    let unexplained = |path: &&String| !UNUSED.iter().any(|(begins, _)| path.starts_with(begins));
    assert_eq!(unused.keys().filter(unexplained).collect::<Vec<_>>(), [""; 0]);
    for (begins, why) in UNUSED {
        assert!(unused.keys().any(|path| path.starts_with(begins)), "{begins} is used now, so not: {why}");
    }
}

fn schema_of_all() -> Value {
    let output = Command::new(&*PROGRAM).arg("schema").output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

fn name(reference: &Value) -> String {
    reference["$ref"].as_str().unwrap().strip_prefix("#/$defs/").unwrap().to_owned()
}

/// A capture with one direction only, a clock that steps back, and a congestion notification (CNP).
fn with_gaps(capture: &[u8]) -> Vec<u8> {
    // The last octet of the IPv4 address of its sender.
    let is_client = |record: &&[u8]| record[16 + 12..16 + 14] == [8, 0] && record[16 + 29] == 2;
    let mut records: Vec<Vec<u8>> = frames(capture).into_iter().filter(is_client).map(<[u8]>::to_vec).collect();
    records.swap(1, 2);
    let mut notification = records[1].clone();
    notification[16 + 42] = 0x81;
    records.push(notification);
    [&capture[..HEADER], &records.concat()].concat()
}

/// A capture in which the client's frames have the time of a clock that is 2 ms ahead.
fn with_two_clocks(capture: &[u8]) -> Vec<u8> {
    let ahead = |record: &[u8]| {
        let [seconds, microseconds] = time_of(record);
        let later = microseconds + if record[16 + 29] == 2 { 2_000 } else { 0 };
        let time = [seconds + later / 1_000_000, later % 1_000_000].map(u32::to_le_bytes).concat();
        [&time, &record[8..]].concat()
    };
    let mut records: Vec<Vec<u8>> = frames(capture).into_iter().map(ahead).collect();
    records.sort_by_key(|record| time_of(record));
    [&capture[..HEADER], &records.concat()].concat()
}

/// Seconds and microseconds of a record of a pcap file.
fn time_of(record: &[u8]) -> [u32; 2] {
    [0, 4].map(|at| u32::from_le_bytes(record[at..at + 4].try_into().unwrap()))
}

/// Octets of the header of a pcap file.
const HEADER: usize = 24;

/// The records of a pcap file, each a header and a frame.
fn frames(capture: &[u8]) -> Vec<&[u8]> {
    let (mut records, mut rest) = (Vec::new(), &capture[HEADER..]);
    while !rest.is_empty() {
        let length = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        let (record, after) = rest.split_at(16 + length);
        records.push(record);
        rest = after;
    }
    records
}

/// Some frames of a capture, counted from 0.
fn part(capture: &[u8], numbers: Range<usize>) -> Vec<u8> {
    [&capture[..HEADER], &frames(capture)[numbers].concat()].concat()
}

/// Two captures as one, in the order of their times.
fn merged(one: &[u8], other: &[u8]) -> Vec<u8> {
    let mut records = [frames(one), frames(other)].concat();
    records.sort_by_key(|record| time_of(record));
    [&one[..HEADER], &records.concat()].concat()
}

/// Returns the output of the other commands, and the records that a damaged file, several files and a filter add.
fn others() -> Vec<Value> {
    let (nfs41, nfs3, errors) = (shipped("nfs41"), shipped("nfs3"), shipped("errors"));
    let folder = env::temp_dir().join(format!("rpcrdma-schema-{}", process::id()));
    fs::create_dir_all(&folder).unwrap();
    let damaged = folder.join("damaged.pcap").display().to_string();
    let octets = fs::read(&nfs41).unwrap();
    fs::write(&damaged, &octets[..octets.len() - 10]).unwrap();
    let gaps = folder.join("gaps.pcap").display().to_string();
    fs::write(&gaps, with_gaps(&octets)).unwrap();
    let clocks = folder.join("clocks.pcap").display().to_string();
    fs::write(&clocks, with_two_clocks(&octets)).unwrap();
    // The client refuses a reply in frame 162.
    let refused = folder.join("refused.pcap").display().to_string();
    fs::write(&refused, part(&fs::read(shipped("lost")).unwrap(), 0..162)).unwrap();
    let late = folder.join("late.pcap").display().to_string();
    fs::write(&late, part(&fs::read(shipped("nfs41_lossy")).unwrap(), 1200..1598)).unwrap();
    let both = folder.join("both.pcap").display().to_string();
    let [client, server] = ["requester", "responder"].map(|end| fs::read(shipped(&format!("network_{end}"))).unwrap());
    fs::write(&both, merged(&client, &server)).unwrap();
    let baseline = folder.join("baseline.json").display().to_string();
    let found: Vec<String> = run(&["check", "--json", &errors]).iter().map(|record| format!("{record}\n")).collect();
    fs::write(&baseline, found.concat()).unwrap();
    let words = ["5a7a4583", "00000001", "00000080", "00000001", "00000000", "00000000", "00000000"];
    let records = [
        &["compare", "--json", &nfs41, &nfs3][..],
        &["compare", "--json", &nfs41, &nfs41],
        &["check", "--json", "--baseline", &baseline, &errors],
        &["transactions", "--json", &damaged],
        &["stats", "--json", &gaps],
        &["stats", "--json", &both],
        &["stats", "--json", &clocks],
        &["stats", "--json", "--op", "READ", &nfs41],
        &["diagnose", "--json", &both],
        &["transactions", "--json", &late],
        &["pending", "--json", &refused],
        &["transactions", "--json", "--op", "READ", &nfs41, &nfs3],
        &["transactions", "--json", "--separate", &nfs41, &nfs3],
        &[&["header", "--json"], &words[..]].concat(),
    ]
    .into_iter()
    .flat_map(run)
    .collect();
    fs::remove_dir_all(folder).unwrap();
    records
}

#[test]
fn a_field_that_is_missing_or_new_is_a_fault() {
    let validator = jsonschema::validator_for(&schema("rule")).unwrap();
    let record =
        run(&["check", "--json", &shipped("errors")]).into_iter().find(|record| record["type"] == "rule").unwrap();
    assert!(validator.is_valid(&record));
    for name in record.as_object().unwrap().keys() {
        let mut lacking = record.clone();
        lacking.as_object_mut().unwrap().remove(name);
        assert!(!validator.is_valid(&lacking), "{name}");
        let mut wrong = record.clone();
        wrong[name] = serde_json::json!([]);
        assert!(!validator.is_valid(&wrong), "{name}");
    }
    let mut more = record.clone();
    more["more"] = Value::Null;
    assert!(!validator.is_valid(&more));
}

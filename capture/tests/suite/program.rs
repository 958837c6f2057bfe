//! The program as its users run it: what it writes, where, and how it ends.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rpcrdma_dissector::check;
use serde_json::{Value, json};

use crate::command::{program, run, stderr, stdout};
use crate::synthetic;
use crate::synthetic::By::{Client, Server};
use crate::synthetic::rpc::{Lists, MSG, message, read3, read3_results, reply};

/// The shipped captures over InfiniBand transport with IPv4 addresses.
const IPV4: [&str; 9] =
    ["nfs3", "nfs40", "nfs41", "nfs41_callback", "nfs42_mtu9000", "nfs41_lossy", "nfs41_krb5", "nfs41_krb5i", "errors"];

/// Path of a shipped capture.
fn capture(name: &str) -> String {
    format!("{}/../testdata/captures/{name}.pcap", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_page_holds_captures_only() {
    let folder = std::env::temp_dir().join(format!("rpcrdma-view-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let [page, other, written] =
        ["page.html", "secret.txt", "out.html"].map(|name| folder.join(name).display().to_string());
    std::fs::write(&page, "<!-- captures -->").unwrap();
    std::fs::write(&other, "root:x:0:0:root:/root:/bin/bash\n").unwrap();
    let view = |files: &[&str]| run(&[&["view", "--page", &page, "-o", &written], files].concat());
    let refused = view(&[&capture("nfs41"), &other]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).ends_with("secret.txt: a text file, not a capture file (pcap, pcapng or ERF)\n"));
    assert!(!Path::new(&written).exists());
    assert_eq!(view(&[&capture("nfs41"), &capture("hangs")]).status.code(), Some(0));
    std::fs::remove_dir_all(folder).unwrap();
}

/// The JSON objects that a command writes for a capture.
fn objects(command: &str, path: &str) -> Vec<Value> {
    let output = run(&[command, "-q", "--json", path]);
    assert_eq!(stderr(&output), "");
    records_of(&output).0
}

/// The records that a command wrote, and the summary after them.
fn records_of(output: &Output) -> (Vec<Value>, Value) {
    let mut records: Vec<Value> = stdout(output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let summary = records.pop().unwrap();
    assert_eq!((&summary["type"], &summary["exit_status"]), (&json!("summary"), &json!(output.status.code())));
    for record in &records {
        assert!(record["type"] != "summary" && record["schema"] == 1, "{record}");
    }
    (records, summary)
}

fn object(command: &str, name: &str, key: &str, value: impl Into<Value>) -> Value {
    let value = value.into();
    objects(command, &capture(name)).into_iter().find(|object| object[key] == value).unwrap()
}

/// A file for a test to write, which no other test has: a test runs in a thread of its name.
fn file(name: &str) -> PathBuf {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or_default();
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("program-{}-{test}-{name}", std::process::id()))
}

fn written(name: &str, octets: &[u8]) -> String {
    let path = file(name);
    std::fs::write(&path, octets).unwrap();
    path.display().to_string()
}

fn octets_of(path: &str) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

/// The records of a shipped capture, without the file header.
fn records(name: &str) -> (Vec<u8>, Vec<Vec<u8>>) {
    let octets = std::fs::read(capture(name)).unwrap();
    let (header, mut rest) = octets.split_at(24);
    let mut records = Vec::new();
    while !rest.is_empty() {
        let length = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        let (record, after) = rest.split_at(16 + length);
        records.push(record.to_vec());
        rest = after;
    }
    (header.to_vec(), records)
}

#[test]
fn decode_writes_a_line_a_message() {
    let output = run(&["decode", &capture("nfs41")]);
    let lines: Vec<&str> = stdout(&output).lines().collect();
    assert_eq!(lines.len(), 1 + 138);
    assert_eq!(
        lines[..5],
        [
            " frame     seconds  C from → to              proc  rdma_xid  inline       RPC, chunks",
            "    24    6.288379  1 192.0.2.2 → 192.0.2.1  MSG   0x31d138ec    40 call  NFSv4 NULL",
            "    26    6.293219  1 192.0.2.1 → 192.0.2.2  MSG   0x31d138ec    24 reply NFSv4 NULL",
            "    28    6.302352  1 192.0.2.2 → 192.0.2.1  MSG   0x32d138ec   240 call  EXCHANGE_ID  reply 4240",
            "    32    6.331905  1 192.0.2.1 → 192.0.2.2  NOMSG 0x32d138ec     0 reply EXCHANGE_ID  reply 100",
        ]
    );
    assert!(lines.iter().any(|line| line.ends_with("call  SEQUENCE PUTFH WRITE GETATTR  read 5003@180")));
    assert!(lines.iter().any(|line| line.ends_with("reply SEQUENCE PUTFH LOOKUP  NFS4ERR_NOENT")));
    assert_eq!(stderr(&output), "rpcrdma: ignored: other frames: ICMPv6 (20), ARP (4)\n");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn unwritten_data_is_no_damage_of_the_capture() {
    let (mut wire, mut trace) = synthetic::connected();
    let lists = Lists::writes(&[&[(1, 0, 100)]]);
    trace.extend(wire.send(Client, &message(MSG, 1, &lists, &read3(1, 100))));
    trace.extend(wire.write(Server, (1, 0), &[7; 96]));
    trace.extend(wire.send(Server, &message(MSG, 1, &lists, &reply(1, &read3_results(100)))));
    trace.push(wire.ack_all(Client));
    let path = written("unwritten.pcap", &synthetic::pcap(&trace));
    let reason = "Write chunk 0: octets 96 to 99 of the returned length were not written";
    assert_eq!(objects("transactions", &path)[0]["reply"]["reason"], reason);
    let output = run(&["transactions", &path]);
    assert!(stdout(&output).contains(&format!("  reply not rebuilt: {reason}\n")), "{}", stdout(&output));
    assert_eq!((stderr(&output), output.status.code()), ("", Some(0)));
    // Of a cut packet not all is there.
    let cut: Vec<_> = trace.iter().map(|packet| packet[..packet.len().min(120)].to_vec()).collect();
    assert_eq!(run(&["transactions", &written("cut.pcap", &synthetic::pcap(&cut))]).status.code(), Some(1));
}

#[test]
fn a_line_fits_in_120_columns() {
    for (name, command) in IPV4.into_iter().flat_map(|name| ["decode", "transactions", "check"].map(|c| (name, c))) {
        let output = run(&[command, &capture(name)]);
        for line in stdout(&output).lines() {
            assert!(line.chars().count() <= 120, "{line}");
        }
    }
}

#[test]
fn what_is_wrong_is_on_the_line() {
    let output = run(&["decode", "-q", &capture("errors")]);
    let ends = |frame: &str| {
        stdout(&output).lines().find(|line| line.starts_with(frame)).unwrap()[70..].trim_start().to_owned()
    };
    assert_eq!(ends("    31"), "malformed at octet 24: header_short");
    assert_eq!(ends("    51"), "ERR_VERS 1 to 1");
    assert_eq!(ends("    78"), "reply NFSv3 NULL  ERR_CHUNK");
    assert_eq!(ends("   110"), "malformed at octet 16: list_flag");
    assert_eq!(ends("   269"), "reply procedure unknown  RPC_MISMATCH");
    let output = run(&["decode", "-q", &capture("nfs41_lossy")]);
    assert!(stdout(&output).lines().any(|line| line.starts_with("   406") && line.ends_with("sent 4 times")));
}

#[test]
fn a_message_as_json_is_as_documented() {
    let output = run(&["decode", "--json", "--xid", "0x61d138ec", &capture("nfs41")]);
    let call = r#"{"type":"message","schema":1,"frame":1164,"file":"FILE","file_frame":1164,"time_ns":1795221579334748000,"connection":1,"from":"192.0.2.2","to":"192.0.2.1","requester":"192.0.2.2","responder":"192.0.2.1","mirror_session":null,"retransmitted":0,"rdma_xid":"0x61d138ec","rdma_vers":1,"rdma_credit":128,"rdma_proc":"RDMA_MSG","header_octets":52,"payload_octets":196,"trailing_octets":null,"reads":[{"position":180,"segments":[{"handle":"0x00000781","length":5003,"offset":"0x61d138ec0e924000"}]}],"writes":[],"reply":null,"error":null,"invalidates":null,"msgp":null,"version_2":null,"malformed":null,"incomplete":null,"rpc":{"direction":"call","reverse":false,"program_guessed":false,"program":100003,"version":4,"procedure":1,"name":"NFSv4 COMPOUND","operation":"NFSv4 WRITE","operations":[{"name":"SEQUENCE","number":53,"status":null},{"name":"PUTFH","number":22,"status":null},{"name":"WRITE","number":38,"status":null},{"name":"GETATTR","number":9,"status":null}],"security":null,"status":null,"nfs_status":null}}"#;
    assert_eq!(stdout(&output).lines().next(), Some(call.replace("FILE", &capture("nfs41")).as_str()));
    let reply: Value = serde_json::from_str(stdout(&output).lines().nth(1).unwrap()).unwrap();
    assert_eq!(reply["invalidates"], "0x00000781");
    assert_eq!((&reply["requester"], &reply["responder"]), (&json!("192.0.2.2"), &json!("192.0.2.1")));
    assert_eq!(reply["rpc"]["status"], json!({"name": "SUCCESS", "number": 0}));
    assert_eq!(reply["rpc"]["nfs_status"], json!({"name": "NFS4_OK", "number": 0}));
    assert_eq!(
        reply["rpc"]["operations"][2],
        json!({"name": "WRITE", "number": 38, "status": reply["rpc"]["nfs_status"]})
    );
}

#[test]
fn errors_and_malformed_messages_as_json() {
    let frame = |frame: u64| object("decode", "errors", "frame", frame);
    let error = |code: &str, range: Value| {
        json!({
            "code": code, "low": range, "high": range, "max_chunks": null, "max_segments": null, "chunk_index": null,
            "length_needed": null
        })
    };
    assert_eq!(frame(51)["error"], error("ERR_VERS", json!(1)));
    assert_eq!((&frame(51)["rdma_vers"], &frame(51)["header_octets"]), (&json!(2), &json!(28)));
    assert_eq!(frame(33)["error"], error("ERR_CHUNK", Value::Null));
    assert_eq!(frame(67)["rdma_proc"], "7");
    let reaction = json!({"requester": "discard", "responder": "ERR_CHUNK"});
    assert_eq!(frame(67)["malformed"], json!({"kind": "procedure", "offset_octets": 12, "reaction": reaction}));
    // The Read list is cut in its second entry; the first can be read.
    let segments = json!([{"handle": "0x00001234", "length": 100, "offset": "0x0000000000000000"}]);
    assert_eq!(frame(128)["reads"], json!([{"position": 4, "segments": segments}]));
    assert_eq!(frame(128)["malformed"]["kind"], "list_truncated");
    assert_eq!(frame(128)["header_octets"], Value::Null);
    assert_eq!((&frame(76)["msgp"]["rdma_align"], &frame(76)["msgp"]["rdma_thresh"]), (&json!(64), &json!(128)));
    assert_eq!(frame(24)["malformed"], Value::Null);
}

#[test]
fn a_callback_is_in_the_reverse_direction() {
    let call = object("decode", "nfs41_callback", "frame", 116);
    assert_eq!(
        call["rpc"],
        json!({
            "direction": "call", "reverse": true, "program_guessed": false, "program": 0x4000_0000, "version": 1,
            "procedure": 1, "name": "NFSv4 CB_COMPOUND", "operation": "NFSv4 CB_RECALL",
            "operations": [
                {"name": "CB_SEQUENCE", "number": 11, "status": null}, {"name": "CB_RECALL", "number": 4, "status": null}
            ],
            "security": null, "status": null, "nfs_status": null
        })
    );
    assert_eq!((&call["from"], &call["requester"]), (&json!("192.0.2.1"), &json!("192.0.2.1")));
    let rpc = object("transactions", "nfs41_callback", "call_frame", 116);
    assert_eq!(
        (&rpc["reverse"], &rpc["requester"], &rpc["reply_frame"]),
        (&json!(true), &json!("192.0.2.1"), &json!(118))
    );
}

#[test]
fn a_transaction_is_call_reply_and_transfers() {
    let mut write = object("transactions", "nfs41", "rdma_xid", "0x61d138ec");
    // The macro below has no room for these.
    let mut take = |field: &str| write.as_object_mut().unwrap().remove(field).unwrap();
    let sequence = json!({
        "session_id": "39e8006bb068d7620100000000000000", "sequence_id": 44, "slot_id": 0, "highest_slot_id": 0, "cache_this": false,
        "reply_highest_slot_id": 29, "target_highest_slot_id": 29, "status_flags": []
    });
    assert_eq!(take("sequence"), sequence, "as tshark shows it");
    assert_eq!((take("slot_wait_ns"), take("slot_wait_missing")), (json!(0), Value::Null));
    assert_eq!(["opens", "keeps", "both_ends"].map(take), [Value::Null, Value::Null, Value::Null]);
    // As tshark shows it (nfs.fh.hash, nfs.fhandle); the name is that of the OPEN before.
    let handle = json!({"hash": "0xb58e201c", "octets": "01000101000000009ff1ffc29901000000000000", "file_name": "odd2", "path": "/odd2"});
    let (file, ok) = (capture("nfs41"), json!({"name": "NFS4_OK", "number": 0}));
    let arguments = json!([
                {"name": "PUTFH", "handle": handle, "file_name": null, "new_file_name": null, "offset": null, "count": null,
                 "stateid": null, "write": null, "session": null, "server": null, "named_handle": null, "offload": null},
                {"name": "WRITE", "handle": handle, "file_name": null, "new_file_name": null, "offset": 0, "count": 5003,
                 "stateid": "0000000039e8006bb068d76206000000", "write": {"stable_how": "FILE_SYNC4", "count": 5003, "committed": "FILE_SYNC4"},
                 "session": null, "server": null, "named_handle": null, "offload": null}
    ]);
    assert_eq!(
        write,
        json!({
            "kernel": null,
            "type": "transaction", "schema": 1, "connection": 1, "rdma_xid": "0x61d138ec", "requester": "192.0.2.2",
            "responder": "192.0.2.1", "call_frame": 1164, "call_file": file, "call_file_frame": 1164, "reply_frame": 1172,
            "reply_file": file, "reply_file_frame": 1172, "time_ns": 1_795_221_579_334_748_000_u64,
            "latency_ns": 3_769_000, "latency_at_least_ns": null,
            "phases": {
                "call_ns": 0, "responder_ns": 3_115_000, "rdma_read_ns": 654_000, "rdma_write_ns": 0, "reply_ns": 0, "requester_ns": 0
            },
            "phases_missing": null,
            "recovery": {
                "ns": 0, "timeouts": 0, "implied_naks": 0, "causes_not_seen": 0, "retransmitted_packets": 0, "naks": 0, "rnr_naks": 0, "rnr_wait_ns": 0, "unassigned_indications": 0,
                "frames": [], "frames_left_out": 0
            },
            "recovery_missing": null, "credit_wait_ns": 0, "credit_wait_missing": null,
            "reverse": false, "program_guessed": false,
            "program": 100_003, "version": 4, "procedure": 1, "name": "NFSv4 COMPOUND", "operation": "NFSv4 WRITE",
            "operations": [
                {"name": "SEQUENCE", "number": 53, "status": ok}, {"name": "PUTFH", "number": 22, "status": ok},
                {"name": "WRITE", "number": 38, "status": ok}, {"name": "GETATTR", "number": 9, "status": ok}
            ],
            "arguments": arguments,
            "security": null,
            "user": {"flavor": "sys", "uid": 0, "gid": 0, "machine": "client"},
            "file_name": "odd2", "path": "/odd2", "offset": 0, "count": 5003,
            "call": {"form": "chunked", "inline_octets": 196, "rebuilt": true, "length_octets": 5200, "reason": null},
            "reply": {"form": "short", "inline_octets": 184, "rebuilt": true, "length_octets": 184, "reason": null},
            "rdma_read_octets": 5003, "rdma_write_octets": 0, "status": {"name": "SUCCESS", "number": 0}, "nfs_status": ok, "tries": 1, "retry_failure": null, "each_try": null
        })
    );
    let output = run(&["transactions", "--xid", "0x68d138ec", &capture("nfs41")]);
    assert_eq!(
        stdout(&output),
        "  call  reply     seconds  C from → to              rdma_xid          ms RDMA Read    Write  RPC\n  \
         1200   1202   20.306636  1 192.0.2.2 → 192.0.2.1  0x68d138ec     2.363         0        0  \
         … LOOKUP GE…  NFS4ERR_NOENT\n"
    );
    let failed = object("transactions", "errors", "call_frame", 31);
    let status = json!({"name": "ERR_CHUNK", "number": 2});
    assert_eq!((&failed["status"], &failed["call"]["rebuilt"]), (&status, &json!(false)));
    assert_eq!(failed["call"]["reason"], "the header cannot be read");
    let unanswered = object("transactions", "withdrawn", "call_frame", 34);
    let refused = "access from octet 0 of 1000 was refused";
    assert_eq!(unanswered["call"]["reason"], format!("Read chunk at Position 124: {refused}"));
    let text = stdout(&run(&["transactions", &capture("withdrawn")])).to_owned();
    assert!(text.contains(&format!("Position 124: {refused}\n")), "not cut: {text}");
    assert_eq!((&unanswered["latency_ns"], &unanswered["phases"]), (&Value::Null, &Value::Null));
    assert_eq!(unanswered["phases_missing"], "the capture holds no complete reply");
    assert_eq!(unanswered["recovery"], Value::Null);
    assert_eq!(unanswered["recovery_missing"], "the capture holds no complete reply");
    let recovered = object("transactions", "nfs41_lossy", "rdma_xid", "0xcf3d34c3");
    assert_eq!(
        recovered["recovery"],
        json!({
            "ns": 2_398_000, "timeouts": 0, "implied_naks": 1, "causes_not_seen": 0, "retransmitted_packets": 7, "naks": 0, "rnr_naks": 0,
            "rnr_wait_ns": 0, "unassigned_indications": 0,
            "frames": [959, 960, 961, 962, 963, 964, 965], "frames_left_out": 0
        })
    );
}

#[test]
fn rpcs_are_counted_by_what_they_have_in_common() {
    let output = run(&["top", "--by", "client", "--op", "READ", &capture("nfs3")]);
    assert_eq!(
        stdout(&output),
        "   calls no reply   failed      read   written   p50 ms   p99 ms   time  client\n      \
         12        0        0    721 kB         0     6.00     9.62 100.0%  192.0.2.2\n"
    );
    let files = |arguments: &[&str]| -> Vec<Value> {
        records_of(&run(&[&["top", "--json", "--by", "name"], arguments, &[&capture("nfs41")]].concat())).0
    };
    // If only WRITEs are counted, the OPEN before them still gives the name.
    let written = files(&["--op", "WRITE"]);
    let octets = |rows: &[Value]| rows.iter().map(|row| row["octets_written"].as_u64().unwrap()).collect::<Vec<_>>();
    let names: Vec<_> = written.iter().map(|row| row["key"].as_str().unwrap()).collect();
    assert_eq!((names, octets(&written)), (vec!["w.bin", "odd2", "odd.txt"], vec![197_001, 5003, 10]));
    let folded = files(&["--op", "WRITE", "--rows", "1"]);
    assert_eq!((octets(&folded), &folded[1]["others"]), (vec![197_001, 5013], &json!(2)));
    let shares: f64 = written.iter().map(|row| row["share"].as_f64().unwrap()).sum();
    assert!((shares - 1.0).abs() < 1e-9);
}

#[test]
fn the_slowest_rpcs_come_first_with_where_their_time_went() {
    let output = run(&["slow", "--top", "2", &capture("nfs41_lossy")]);
    assert_eq!(
        stdout(&output),
        "Bars:  c call  . server  < RDMA Read  > RDMA Write  r reply  w client\n       \
         ms  phases                 call  reply  C rdma_xid   RPC\n \
         2412.379  >>>>>>>>>>>>>>>>>>>>   1169   1499  1 0xd53d34c3 SEQUENCE PUTFH READ\n           \
         RDMA Write 2409.999 ms: 1 time-out (2383.977 ms, frame 1446), 3 NAKs,\n           \
         187 packets retransmitted from frame 1299\n \
         2409.722  >>>>>>>>>>>>>>>>>>>>   1173   1498  1 0xd63d34c3 SEQUENCE PUTFH READ\n           \
         RDMA Write 2401.801 ms: 5 packets retransmitted from frame 1376\n"
    );
    // Recovery is said apart where it did not take most of the longest phase.
    let output = run(&["slow", "--top", "1", "-q", &capture("iwarp_nfs3_lossy")]);
    let expected = "recovery 5.267 ms: 2 NAKs, 2 packets retransmitted from frame 703";
    assert_eq!(stdout(&output).lines().last().map(str::trim), Some(expected));
    let all = objects("transactions", &capture("nfs41"));
    let mut latencies: Vec<u64> = all.iter().map(|object| object["latency_ns"].as_u64().unwrap()).collect();
    latencies.sort_unstable_by_key(|latency| std::cmp::Reverse(*latency));
    let slow = objects("slow", &capture("nfs41"));
    assert_eq!(slow.iter().map(|object| object["latency_ns"].as_u64().unwrap()).collect::<Vec<_>>(), latencies[..10]);
    assert!(slow.iter().all(|object| all.contains(object)));
}

#[test]
fn slow_rpcs_fit_80_columns() {
    for name in IPV4.into_iter().chain(["nfs3_ipv6"]) {
        let output = run(&["slow", "--top", "1000", "-q", &capture(name)]);
        let lines = stdout(&output).lines().filter(|line| !line.starts_with("           ")).count();
        let answered =
            objects("transactions", &capture(name)).iter().filter(|object| object["latency_ns"].is_u64()).count();
        assert_eq!(lines, if answered > 0 { 2 + answered } else { 0 }, "{name}");
        assert!(stdout(&output).lines().all(|line| line.chars().count() <= 80), "{name}");
    }
}

#[test]
fn only_rpcs_that_took_so_long_are_slow() {
    let slow = |least| run(&["slow", "--json", "--slower-than", least, &capture("nfs41_lossy")]);
    // 2412.379, 2409.722 and 2313.392 milliseconds.
    for (least, count, status) in [("2313392us", 3, 0), ("2313.393ms", 2, 0), ("2.5s", 0, 1)] {
        let output = slow(least);
        assert_eq!((records_of(&output).0.len(), output.status.code()), (count, Some(status)), "{least}");
    }
    assert!(stderr(&slow("1000s")).ends_with("rpcrdma: nothing selected: none of 62 RPCs matches --slower-than\n"));
    let output = run(&["slow", &capture("withdrawn")]);
    assert!(stderr(&output).contains("2 calls without a reply in the capture left out"), "{}", stderr(&output));
}

/// All captures here are of one client and one server; some of their findings are of messages that belong to no RPC.
#[test]
fn a_filter_for_the_only_client_leaves_no_finding_out() {
    for name in ["errors", "same_xid", "client_deviations", "nfs41"] {
        let found = |filter: &[&str]| {
            let output = run(&[&["check", "--json", "-q", &capture(name)], filter].concat());
            let of_finding = |line: &&str| line.contains("\"type\":\"finding\"");
            stdout(&output).lines().filter(of_finding).map(str::to_owned).collect::<BTreeSet<_>>()
        };
        let (all, of_client) = (found(&[]), found(&["--client", "192.0.2.2"]));
        assert_eq!(of_client.symmetric_difference(&all).next(), None, "{name}");
        assert!(!all.is_empty(), "{name}");
        // The others list these findings, too.
        let client = ["--client", "192.0.2.2"];
        let compared = |filter: &[&str]| {
            let (path, arguments) = (capture(name), ["compare", "--json", "-q"]);
            let output = run(&[&arguments[..], filter, &[path.as_str(), path.as_str()]].concat());
            stdout(&output).lines().filter(|line| line.contains("\"rule\"")).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(compared(&client), compared(&[]), "{name}");
        let annotated = |filter: &[&str]| {
            let octets = run(&[&["annotate", "-q", "-o", "-", &capture(name)], filter].concat()).stdout;
            let text = String::from_utf8_lossy(&octets);
            text.matches("error ").count() + text.matches("hazard ").count() + text.matches("warning ").count()
        };
        assert_eq!(annotated(&client), annotated(&[]), "{name}");
    }
}

/// Returns the text of a section of `explain`, found by its first word.
fn section<'a>(text: &'a str, title: &str) -> &'a str {
    let after = text.split_once(&format!("\n\n{title}")).unwrap_or_else(|| panic!("no {title}")).1;
    after.split_once('\n').unwrap().1.split("\n\n").next().unwrap()
}

/// READ: call 246, reply 406. `tests/steps.rs` compares all steps with tshark.
#[test]
fn explain_shows_what_both_ends_sent() {
    let output = run(&["explain", "-q", "--xid", "0xc73d34c3", &capture("nfs41_lossy")]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        text.starts_with("0xc73d34c3  SEQUENCE PUTFH READ  2313.392 ms\nconnection 1, client 192.0.2.2,"),
        "{text}"
    );
    let diagram = section(text, " frames ");
    for line in [
        "    246      0.000             │ Send: call, 228 bytes ───────────────────────▶│",
        "    247      0.723      0.723  │◀─────────────────────────── call acknowledged │",
        "248–270      2.462      1.739  │◀───── RDMA Write × 23, 23,552 bytes, 1.974 ms │",
        "    292      8.263      0.073  │ NAK: a packet was lost ──────────────────────▶│",
        "    353   2309.344   2294.494  │          time-out: had waited for 2294.494 ms │",
        "    406   2313.392      0.001  │◀─────── Send: reply, retransmitted, 156 bytes │",
    ] {
        assert!(diagram.lines().any(|other| other == line), "{line} is not in\n{diagram}");
    }
    assert!(section(text, "Time").contains("RDMA Write    2310.929 ms  99.9 %  2308.950 ms of it recovery"), "{text}");
    assert!(
        section(text, "Operations").contains("READ      NFS4_OK  offset 0, count 65,536, handle 0x25bd1dd4"),
        "{text}"
    );
    assert!(section(text, "RDMA_MSG from 192.0.2.2 in frame 246").contains("offset 0xc73d34c34e88c000"), "{text}");
    assert!(section(text, "RDMA_MSG from 192.0.2.1 in frame 406").contains("Send invalidates  0x0000073e"), "{text}");
}

/// The README of the captures says of `hangs.pcap`: the server of connection 2 was stopped, and the link of connection 3 was cut. The
/// clients gave up since, and no call is owed any more.
#[test]
fn stuck_and_unreachable_servers_read_differently() {
    let path = capture("hangs");
    let pending = stdout(&run(&["pending", "-q", &path])).split_whitespace().collect::<Vec<_>>().join(" ");
    for (xid, frame, fate) in [
        ("0x18085cd0", 216, "will not be answered: 192.0.2.1 had the call; 192.0.2.2 ended"),
        ("0x7bc13e0d", 280, "192.0.2.2 sent the call 4 times, and 192.0.2.1 never acknowledged it; 192.0.2.2 ended"),
    ] {
        assert!(pending.contains(fate), "{pending}");
        let output = run(&["explain", "-q", "--xid", xid, &path]);
        let waiting = section(stdout(&output), "Waiting").split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(waiting.contains(fate), "{waiting}");
        assert!(waiting.contains(&format!("last: call in frame {frame} by 192.0.2.2;")), "{waiting}");
    }
}

#[test]
fn an_rpc_is_explained_in_json_as_in_text() {
    let output = run(&["explain", "-q", "--json", "--xid", "0xc73d34c3", &capture("nfs41_lossy")]);
    let object: Value = serde_json::from_str(stdout(&output).lines().next().unwrap()).unwrap();
    assert_eq!((&object["type"], &object["connection"]), (&json!("explain"), &json!(1)));
    let steps = object["steps"].as_array().unwrap();
    let frames = |step: &Value| (step["first_frame"].as_u64().unwrap(), step["last_frame"].as_u64().unwrap());
    assert_eq!(steps[..3].iter().map(frames).collect::<Vec<_>>(), [(246, 246), (247, 247), (248, 270)]);
    let timeout = steps.iter().find(|step| step["recovery"] == "time-out").unwrap();
    assert_eq!((&timeout["silence_ns"], &timeout["first_frame"]), (&json!(2_294_494_000_u64), &json!(353)));
    let sum = |steps: &[Value], name: &str| steps.iter().map(|step| step[name].as_u64().unwrap()).sum::<u64>();
    assert_eq!(sum(object["stretches"].as_array().unwrap(), "duration_ns"), 2_313_392_000);
    let lasted = steps.iter().map(|step| step["last_time_ns"].as_u64().unwrap() - step["time_ns"].as_u64().unwrap());
    assert_eq!(sum(steps, "since_before_ns") + lasted.sum::<u64>(), 2_313_392_000);
    assert_eq!(object["messages"].as_array().unwrap().len(), 2);
    assert_eq!(object["transaction"]["latency_ns"], 2_313_392_000_u64);
    // In that capture the first reply that invalidates shows that the server may not.
    let output = run(&["explain", "-q", "--json", "--xid", "0xae3d34c3", &capture("nfs41_lossy")]);
    let object: Value = serde_json::from_str(stdout(&output).lines().next().unwrap()).unwrap();
    assert_eq!(object["findings"][0]["rule"], "invalidate-foreign", "{object}");
}

#[test]
fn every_rpc_is_explained_within_80_columns() {
    let hand_made = ["errors", "withdrawn", "reduced_reply", "nfsd_deviations", "client_deviations"];
    for name in ["nfs41_lossy", "iwarp_nfs3_lossy", "nfs41_callback", "delays"].into_iter().chain(hand_made) {
        let transactions = objects("transactions", &capture(name));
        let rpcs = transactions.iter().filter(|object| object["type"] == "transaction");
        let xids: Vec<String> = rpcs.map(|rpc| rpc["rdma_xid"].as_str().unwrap().to_owned()).collect();
        let arguments: Vec<&str> = xids.iter().take(20).flat_map(|xid| ["--xid", xid]).collect();
        let output = run(&[&["explain", "-q", &capture(name)], &arguments[..]].concat());
        assert!(xids.len().min(20) <= stdout(&output).matches("\nconnection ").count(), "{name}");
        for line in stdout(&output).lines().filter(|line| !line.starts_with("        ")) {
            assert!(line.chars().count() <= 80, "{name}: {line}");
        }
        let diagrams = stdout(&output).lines().filter(|line| line.ends_with('│')).count();
        assert!(diagrams >= 2 * xids.len().min(20) - 2, "{name}: {diagrams}");
    }
}

#[test]
fn of_more_than_20_rpcs_the_others_are_counted() {
    let path = capture("nfs41_lossy");
    let transactions = objects("transactions", &path);
    let xids = transactions.iter().filter_map(|object| object["rdma_xid"].as_str());
    let arguments: Vec<&str> = xids.flat_map(|xid| ["--xid", xid]).collect();
    let output = run(&[&["explain", &path], &arguments[..]].concat());
    assert_eq!(stdout(&output).matches("\nconnection 1, client ").count(), 20);
    let left_out = "rpcrdma: 42 RPCs left out: choose with --connection, --since and --until\n";
    assert!(stderr(&output).contains(left_out), "{}", stderr(&output));
}

#[test]
fn what_cannot_be_explained_is_said() {
    let output = run(&["explain", &capture("nfs41")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--xid"), "{}", stderr(&output));
    let output = run(&["explain", "--xid", "7", &capture("nfs41")]);
    assert_eq!((stdout(&output), output.status.code()), ("", Some(1)));
    assert!(stderr(&output).contains("rpcrdma: nothing selected: "), "{}", stderr(&output));
    // Nine connections use the same XIDs.
    let connections = |arguments: &[&str]| {
        let xid = objects("transactions", &capture("errors"))[0]["rdma_xid"].as_str().unwrap().to_owned();
        let output = run(&[&["explain", "-q", "--json", "--xid", &xid, &capture("errors")], arguments].concat());
        let rpcs = stdout(&output).lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        rpcs.filter(|rpc| rpc["type"] == "explain").map(|rpc| rpc["connection"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(connections(&["--connection", "1"]), [1]);
}

#[test]
fn each_event_is_one_line_in_frame_order() {
    let output = run(&["events", "-q", &capture("nfs41_lossy")]);
    let lines: Vec<&str> = stdout(&output).lines().collect();
    assert_eq!(lines.len(), 1 + 9 + 432 + 20 + 2 + 3);
    assert_eq!(
        lines[..3],
        [
            " frame     seconds  C from → to              rdma_xid   event",
            "   292   11.068080  1 192.0.2.2 → 192.0.2.1  0xc73d34c3 NAK",
            "   311   11.070138  1 192.0.2.1 → 192.0.2.2  0xc73d34c3 retransmitted, first not captured",
        ]
    );
    let late = "   353   13.369161  1 192.0.2.1 → 192.0.2.2  0xc73d34c3 time-out  after 2294.494 ms of silence";
    assert!(lines.contains(&late));
    assert!(lines.iter().all(|line| line.chars().count() <= 120));
    let events = objects("events", &capture("nfs41_lossy"));
    let frames: Vec<u64> = events.iter().map(|event| event["frame"].as_u64().unwrap()).collect();
    assert!(frames.is_sorted());
    let timeouts: Vec<_> = events.iter().filter(|event| event["event"] == "time-out").collect();
    assert_eq!(timeouts[0]["silence_ns"], 2_294_494_000_u64);
    assert_eq!((timeouts.len(), &timeouts[0]["rdma_xid"]), (2, &json!("0xc73d34c3")));
}

#[test]
fn events_are_selected_as_messages_are() {
    let count = |arguments: &[&str]| {
        let output = run(&[&["events", "--json", "-q", &capture("nfs41_lossy")], arguments].concat());
        (records_of(&output).0.len(), output.status.code())
    };
    assert_eq!(count(&["--xid", "0xcf3d34c3"]), (8, Some(0)));
    assert_eq!(count(&["--client", "192.0.2.2", "--server", "192.0.2.1"]), (466, Some(0)));
    assert_eq!(count(&["--client", "192.0.2.1"]), (0, Some(1)), "that is the server");
    assert_eq!(count(&["--connection", "2"]), (0, Some(1)));
    assert_eq!(count(&["--until", "+11.07"]), (1, Some(0)));
    let output = run(&["events", &capture("nfs41")]);
    assert_eq!((stdout(&output), output.status.code()), ("", Some(0)));
    assert!(stderr(&output).ends_with("rpcrdma: nothing shows that a packet was lost and retransmitted\n"));
}

/// Returns the output of `pending` for a capture that holds only these frames of another.
fn pending(name: &str, holds: impl Fn(usize) -> bool) -> Vec<Value> {
    let (header, records) = records(name);
    let held = records.into_iter().zip(1..).filter(|(_, frame)| holds(*frame)).map(|(record, _)| record);
    let path = written("pending.pcap", &[header, held.flatten().collect()].concat());
    records_of(&run(&["pending", "--json", "-q", &path])).0
}

#[test]
fn who_owes_what_follows_from_what_was_moved_last() {
    // WRITE of 65,536 octets. Call 693; four RDMA Read requests 695 to 698, the first for 20,480; last response 762; reply 763.
    for (frames, owed, by, octets, last) in [
        (693, "reply", "192.0.2.1", Value::Null, (693, Value::Null)),
        (695, "RDMA Read response", "192.0.2.2", json!(20_480), (693, json!(695))),
        (698, "RDMA Read response", "192.0.2.2", json!(65_536), (693, json!(698))),
        (761, "RDMA Read response", "192.0.2.2", json!(1024), (761, json!(698))),
        (762, "reply", "192.0.2.1", Value::Null, (762, json!(698))),
    ] {
        let calls = pending("nfs41", |frame| frame <= frames);
        let [call] = calls.as_slice() else { panic!("{frames}: {calls:?}") };
        assert_eq!(
            (&call["owed"], &call["owed_by"], &call["owed_octets"]),
            (&json!(owed), &json!(by), &octets),
            "{frames}"
        );
        assert_eq!((&call["requester_last"]["frame"], &call["responder_last"]["frame"]), (&json!(last.0), &last.1));
    }
    assert!(pending("nfs41", |frame| frame <= 763).is_empty());
}

#[test]
fn who_owes_what_is_not_guessed_where_packets_are_missing() {
    // A reply that the capture lacks, in its midst and with a Read response.
    for (missing, end) in [(763, usize::MAX), (763, 790), (763, 764), (750, 762)] {
        let calls = pending("nfs41", |frame| frame != missing && frame <= end);
        let call = calls.iter().find(|call| call["rdma_xid"] == "0x53d138ec").unwrap();
        assert_eq!((&call["owed"], &call["owed_by"]), (&json!("unknown"), &Value::Null), "{missing} {end}");
        assert_eq!(call["owed_unknown"], "the reply may be in packets that are missing from the capture");
    }
    // Of a capture of one direction nothing is known.
    let (_, all) = records("nfs41");
    let is_from = |record: &[u8], end: u8| record.get(16 + 26..16 + 30) == Some(&[192, 0, 2, end]);
    let calls = pending("nfs41", |frame| all.get(frame - 1).is_some_and(|record| !is_from(record, 1)));
    assert!(calls.len() > 50 && calls.iter().all(|call| call["owed"] == "unknown"), "{calls:?}");
}

#[test]
fn pending_calls_are_oldest_first_and_may_owe_nothing() {
    let (calls, _) = records_of(&run(&["pending", "--json", "-q", &capture("errors")]));
    assert!(calls.is_sorted_by_key(|call| call["time_ns"].as_u64().unwrap()));
    let found: Vec<_> =
        calls.iter().map(|call| (call["call_frame"].as_u64(), call["disconnect_frame"].as_u64())).collect();
    // The client refused the RDMA Write of the reply to call 164.
    let expected = [(103, 105), (164, 169), (193, 197), (204, 208), (223, 228), (235, 242), (258, 262)];
    assert_eq!(found, expected.map(|(call, end)| (Some(call), Some(end))));
    assert!(calls.iter().all(|call| call["owed"] == "nothing" && call["owed_by"].is_null()));
    let output = run(&["pending", &capture("nfs41")]);
    assert_eq!((stdout(&output), output.status.code()), ("", Some(0)));
    assert!(stderr(&output).contains("rpcrdma: no call is without a reply\n"), "{}", stderr(&output));
}

#[test]
fn pending_calls_fit_80_columns() {
    for name in IPV4.into_iter().chain(["nfs3_ipv6"]) {
        let (header, records) = records(name);
        for frames in [records.len() / 3, records.len() / 2, records.len()] {
            let path = written("pending_80.pcap", &[header.clone(), records[..frames].concat()].concat());
            let output = run(&["pending", "-q", &path]);
            assert!(stdout(&output).lines().all(|line| line.chars().count() <= 80), "{name} {}", stdout(&output));
        }
    }
}

#[test]
fn a_tree_has_every_field_with_its_offset() {
    let output = run(&["decode", "-v", "-q", "--xid", "0x61d138ec", &capture("nfs41")]);
    let tree: Vec<&str> = stdout(&output).lines().skip(2).take(18).map(str::trim_start).collect();
    assert_eq!(
        tree[..16],
        [
            "0000  rdma_xid          0x61d138ec",
            "0004  rdma_vers         1",
            "0008  rdma_credit       128",
            "000c  rdma_proc         0 (RDMA_MSG)",
            "0010  Read segment      position 180      handle 0x00000781  length 5003      offset 0x61d138ec0e924000",
            "0028  Read list ends",
            "002c  Write list ends",
            "0030  Reply chunk       none",
            "0034  Payload stream    196 octets",
            "0034    xid             0x61d138ec",
            "0038    msg_type        0 (CALL)",
            "003c    rpcvers         2",
            "0040    prog            100003",
            "0044    vers            4",
            "0048    proc            1 (NFSv4 COMPOUND)",
            "004c    cred            1 (AUTH_SYS), 28 octets",
        ]
    );
    let output = run(&["decode", "-v", "-q", "--connection", "11", &capture("errors")]);
    assert!(stdout(&output).contains(
        "        0010  malformed         2 where a list says whether it goes on (list-flag, RFC 8166 4.3; RFC 4506 4.19, 4.4)\n\
         \u{20}                               a responder answers with ERR_CHUNK\n\
         \u{20}                               a requester discards it\n"
    ));
}

/// tshark, where it is installed, shows the same headers.
#[test]
fn headers_are_those_that_tshark_shows() {
    if Command::new("tshark").arg("--version").output().is_err() {
        println!("tshark is not installed: skipped");
        return;
    }
    for name in ["nfs3", "nfs40", "nfs41_callback", "nfs42_mtu9000", "nfs41_krb5i"] {
        let mut tshark = Command::new("tshark");
        tshark.args(["-2", "-r", &capture(name), "-Y", "rpcordma", "-T", "fields", "-E", "aggregator=;"]);
        for field in
            ["xid", "version", "flow_control", "msg_type", "rdma_handle", "rdma_length", "rdma_offset", "position"]
        {
            tshark.args(["-e", &format!("rpcordma.{field}")]);
        }
        tshark.args(["-e", "frame.number", "-e", "frame.time_epoch"]);
        let theirs = tshark.output().unwrap();
        let ours: String = objects("decode", &capture(name)).iter().map(as_tshark).collect();
        assert_eq!(ours, stdout(&theirs), "{name}");
    }
}

fn as_tshark(message: &Value) -> String {
    let array = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let reads = array(&message["reads"]);
    let positions =
        reads.iter().flat_map(|chunk| array(&chunk["segments"]).into_iter().map(|_| chunk["position"].clone()));
    let chunks = reads.iter().chain(message["writes"].as_array().unwrap()).chain([&message["reply"]]);
    let segments: Vec<Value> = chunks.flat_map(|chunk| array(&chunk["segments"])).collect();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let joined = |key: &str| segments.iter().map(|segment| text(&segment[key])).collect::<Vec<_>>().join(";");
    let procedure = ["RDMA_MSG", "RDMA_NOMSG", "RDMA_MSGP", "RDMA_DONE", "RDMA_ERROR"];
    let procedure = procedure.iter().position(|name| message["rdma_proc"] == *name).unwrap().to_string();
    let fields = [
        text(&message["rdma_xid"]),
        text(&message["rdma_vers"]),
        text(&message["rdma_credit"]),
        procedure,
        joined("handle"),
        joined("length"),
        joined("offset"),
        positions.map(|position| text(&position)).collect::<Vec<_>>().join(";"),
        text(&message["frame"]),
        message["time_ns"]
            .as_u64()
            .map(|time| format!("{}.{:09}", time / 1_000_000_000, time % 1_000_000_000))
            .unwrap(),
    ];
    fields.join("\t") + "\n"
}

#[test]
fn filters_leave_out_what_was_not_asked_for() {
    let frames = |options: &[&str]| -> Vec<u64> {
        let path = capture("errors");
        let output = run(&[&["decode", "-q", "--json", &path], options].concat());
        records_of(&output).0.iter().map(|record| record["frame"].as_u64().unwrap()).collect()
    };
    assert_eq!(frames(&["--connection", "2"]), [31, 33]);
    assert_eq!(frames(&["--connection", "2", "--connection", "3"]), [31, 33, 40, 42]);
    assert_eq!(frames(&["--xid", "4098"]), [40, 42]);
    assert_eq!(frames(&["--since", "+4.755383", "--until", "+4.770220"]), [40, 42, 49]);
    assert_eq!(frames(&["--since", "1795221689.123215", "--until", "1795221689.125004"]), [40, 42]);
    assert_eq!(frames(&["--since", "2026-11-21T00:41:29.123215", "--until", "2026-11-21 00:41:29.125004Z"]), [40, 42]);
}

#[test]
fn several_files_are_one_capture() {
    let (header, records) = records("nfs41");
    let parts: Vec<String> = records
        .chunks(500)
        .enumerate()
        .map(|(index, part)| written(&format!("part{index}.pcap"), &[header.clone(), part.concat()].concat()))
        .collect();
    // As a shell puts ten files in order.
    let given = [&parts[2], &parts[0], &parts[1]];
    let decode = |options: &[&str]| {
        let files = given.iter().map(|path| path.as_str());
        run(&["decode"].into_iter().chain(options.iter().copied()).chain(files).collect::<Vec<_>>())
    };
    let output = decode(&["--json"]);
    let order = format!("rpcrdma: reading files in the order of their first frames: {}\n", parts.join(", "));
    assert!(stderr(&output).starts_with(&order), "{}", stderr(&output));
    let (decoded, summary) = records_of(&output);
    let read = &summary["captures"][0];
    assert_eq!((&read["files"], &read["reordered"]), (&json!(parts), &json!(true)));
    assert_eq!(summary["notices"][0].as_str(), order.trim_end().strip_prefix("rpcrdma: "));
    let whole = capture("nfs41");
    let expected = objects("decode", &whole);
    assert_eq!((decoded.len(), expected.len()), (138, 138));
    for (mut object, mut expected) in decoded.into_iter().zip(expected) {
        let frame = object["frame"].as_u64().unwrap();
        let (file, within) = ((frame - 1) as usize / 500, (frame - 1) % 500 + 1);
        let fields = object.as_object_mut().unwrap();
        assert_eq!(fields.remove("file"), Some(json!(parts[file])));
        assert_eq!(fields.remove("file_frame"), Some(json!(within)));
        let fields = expected.as_object_mut().unwrap();
        assert_eq!(fields.remove("file"), Some(json!(whole)));
        assert_eq!(fields.remove("file_frame"), Some(json!(frame)));
        assert_eq!(object, expected);
    }
    let text = decode(&["-q"]);
    let name = Path::new(&parts[1]).file_name().unwrap().to_str().unwrap();
    assert!(stdout(&text).lines().any(|line| line.starts_with(&format!("   533 {name}:33 "))), "{}", stdout(&text));
    for command in ["transactions", "check"] {
        let output = run(&[command, "-q", "--json", &parts[0], &parts[1]]);
        assert!(stdout(&output).contains(&format!("file\":\"{}\"", parts[0])), "{}", stdout(&output));
    }
}

#[test]
fn unreadable_files_are_named_before_any_output() {
    let (empty, text) = (written("empty.pcap", b""), written("notes.pcap", b"Monday: capture on eth0\n"));
    let output = run(&["stats", &capture("nfs41"), &empty, &text]);
    assert_eq!((stdout(&output), output.status.code()), ("", Some(2)));
    let said = format!(
        "rpcrdma: {empty}: the file is empty\nrpcrdma: {text}: a text file, not a capture file (pcap, pcapng or ERF)\n"
    );
    assert_eq!(stderr(&output), said);
}

#[test]
fn files_that_overlap_are_told() {
    let (header, records) = records("nfs41");
    let every_other = |skip: usize| records.iter().skip(skip).step_by(2).flatten().copied().collect::<Vec<_>>();
    let files = [0, 1].map(|skip| written(&format!("other{skip}.pcap"), &[header.clone(), every_other(skip)].concat()));
    let output = run(&["decode", "--json", &files[0], &files[1]]);
    assert!(stderr(&output).contains("rpcrdma: 1 file starts before"), "{}", stderr(&output));
    assert_eq!(records_of(&output).1["captures"][0]["damaged"]["overlapping_files"], 1);
}

#[test]
fn a_filter_that_selects_nothing_says_so() {
    let path = capture("errors");
    for (command, options, said) in [
        ("decode", &["--xid", "0x99999999"][..], "nothing selected: none of 46 messages matches --xid\n"),
        ("stats", &["--connection", "99"], "matches --connection; connections are numbered 1 to 27\n"),
        ("check", &["--connection", "99"], "matches --connection; connections are numbered 1 to 27\n"),
        (
            "transactions",
            &["--since", "+100"],
            "matches --since; the capture runs from 2026-11-21 00:41:24 to 00:41:40 UTC (+16.503954000)",
        ),
        ("decode", &["--op", "READ"], "nothing selected: none of 46 messages matches --op\n"),
        ("transactions", &["--op", "READ", "--client", "192.0.2.2"], "RPCs matches --client and --op\n"),
        ("slow", &["--status", "NFS4ERR_STALE"], "RPCs matches --status\n"),
        ("export", &["--server", "192.0.2.7", "-o", "-"], "RPCs matches --server\n"),
        ("transactions", &["--slower-than", "99s"], "RPCs matches --slower-than\n"),
        ("stats", &["--op", "READ"], "matches --op\n"),
        ("events", &["--op", "READ"], "nothing selected: none of 46 messages matches --op\n"),
        ("check", &["--status", "NFS4ERR_STALE"], "matches --status\n"),
        ("annotate", &["--op", "READ", "-o", "-"], "matches --op\n"),
        ("report", &["--client", "192.0.2.9", "-o", "-"], "matches --client\n"),
        ("check", &["--rule", "answer", "--ignore", "answer"], "nothing selected: --rule and --ignore leave no rule\n"),
    ] {
        let output = run(&[&[command, &path], options].concat());
        assert!(stderr(&output).contains(said), "{command}: {}", stderr(&output));
        assert_eq!(output.status.code(), Some(1), "{command}");
    }
    let output = run(&["check", "--ignore", "answer", "--rule", "answer", "--rule", "version", &path]);
    assert!(stdout(&output).contains("all 1 rules, 1 broken"), "{}", stdout(&output));
}

#[test]
fn options_select_messages_and_rpcs() {
    // The READMEs of the captures and `stats` count the same.
    for (command, name, options, count) in [
        ("transactions", "nfs41", &["--op", "READ"][..], 11),
        ("transactions", "nfs41", &["--op", "read", "--op", "WRITE"], 17),
        ("transactions", "nfs41", &["--op", "read,WRITE"], 17),
        ("slow", "nfs41", &["--op", "DESTROY_CLIENTID"], 1),
        ("decode", "nfs41", &["--op", "READ"], 22),
        ("transactions", "nfs3_ipv6", &["--op", "NULL"], 2),
        ("transactions", "nfs3_ipv6", &["--op", "NFSv3 NULL", "--op", "FSINFO"], 3),
        ("transactions", "nfs41", &["--status", "NFS4ERR_NOENT"], 1),
        ("transactions", "nfs41", &["--status", "2", "--op", "LOOKUP"], 1),
        ("decode", "nfs41", &["--status", "2"], 1),
        ("transactions", "nfs41", &["--status", "success"], 68),
        ("transactions", "errors", &["--status", "ERR_CHUNK"], 10),
        ("transactions", "errors", &["--status", "RPC_MISMATCH", "--status", "ERR_VERS"], 3),
        ("transactions", "nfs41_lossy", &["--slower-than", "2313392us"], 3),
        ("transactions", "nfs41_lossy", &["--slower-than", "2313392us", "--op", "READ"], 3),
        ("transactions", "nfs41", &["--client", "192.0.2.2", "--server", "192.0.2.1"], 69),
        ("transactions", "nfs41", &["--client", "192.0.2.9", "--client", "192.0.2.2"], 69),
        ("decode", "nfs3_ipv6", &["--client", "2001:db8::2", "--op", "NULL"], 4),
    ] {
        let output = run(&[&[command, "--json", "-q", &capture(name)], options].concat());
        assert_eq!(records_of(&output).0.len(), count, "{command} {name} {options:?}");
    }
}

/// Messages, signs of loss and findings of an RPC are selected by what the RPC is and how it ended: the same ones as are found
/// by joining all of them with the RPCs that are selected.
#[test]
fn what_belongs_to_an_rpc_is_selected_with_it() {
    let path = capture("nfs41_lossy");
    let select = |command, options: &[&str]| {
        let output = run(&[&[command, "--json", "-q", &path], options].concat());
        let lines =
            stdout(&output).lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>();
        lines.into_iter().filter(|line| line["connection"].is_number()).collect::<Vec<_>>()
    };
    let rpc = |object: &Value| (object["connection"].clone(), object["rdma_xid"].clone());
    let mut numbers = Vec::new();
    for options in [&["--op", "READ"][..], &["--slower-than", "1s"], &["--op", "WRITE", "--slower-than", "5ms"]] {
        let rpcs: Vec<_> = select("transactions", options).iter().map(rpc).collect();
        for command in ["decode", "events", "check"] {
            let mut expected = select(command, &[]);
            expected.retain(|object| rpcs.contains(&rpc(object)));
            let mut selected = select(command, options);
            // They are printed when their RPC ends.
            selected.sort_by_key(|object| object["frame"].as_u64());
            expected.sort_by_key(|object| object["frame"].as_u64());
            assert_eq!(selected, expected, "{command} {options:?}");
            numbers.push(selected.len());
        }
    }
    assert_eq!(numbers, [18, 403, 0, 6, 293, 0, 6, 63, 0]);
}

#[test]
fn counts_are_of_the_rpcs_that_are_selected() {
    let stats = |options: &[&str]| {
        let (objects, _) = records_of(&run(&[&["stats", "--json", "-q", &capture("nfs41_lossy")], options].concat()));
        let object = &objects[0];
        [&object["rpcs"]["total"], &object["messages"]["total"]].map(|count| count.as_u64().unwrap())
    };
    assert_eq!(stats(&["--op", "READ"]), [9, 18]);
    assert_eq!(stats(&["--slower-than", "1s"]), [3, 6]);
    assert_eq!(stats(&["--client", "192.0.2.2"]), [62, 124]);
    assert_eq!(stats(&["--client", "192.0.2.1"]), [0, 0], "that is the server");
}

#[test]
fn findings_are_selected_by_the_client_of_their_rpc() {
    let broken = |option, address| {
        let output = run(&["check", "--json", "-q", option, address, &capture("nfs41_lossy")]);
        stdout(&output).lines().filter(|line| line.contains("\"type\":\"finding\"")).count()
    };
    assert_eq!([broken("--client", "192.0.2.2"), broken("--server", "192.0.2.1")], [1, 1]);
    assert_eq!([broken("--client", "192.0.2.1"), broken("--server", "192.0.2.2")], [0, 0]);
}

#[test]
fn a_report_says_what_it_leaves_out() {
    let page = |options: &[&str]| {
        let output = run(&[&["report", "-q", "-o", "-", &capture("nfs41")], options].concat());
        stdout(&output).to_owned()
    };
    let said = "not all of the capture is shown: only what matches --op READ --slower-than 5000000ns";
    assert!(page(&["--op", "READ", "--slower-than", "5ms"]).contains(said));
    assert!(!page(&[]).contains("not all of the capture"));
}

#[test]
fn calls_that_wait_are_selected_by_their_age() {
    let pending = |least| run(&["pending", "--json", "--slower-than", least, &capture("withdrawn")]);
    assert_eq!(["1ms", "99s"].map(|least| records_of(&pending(least)).0.len()), [2, 0]);
    assert!(stderr(&pending("99s")).contains("none of 2 waiting calls has waited that long\n"));
}

#[test]
fn a_callback_is_of_the_client_that_answers_it() {
    let select = |option, address| run(&["transactions", "--json", "-q", option, address, &capture("nfs41_callback")]);
    let of_client = select("--client", "192.0.2.2");
    let all = objects("transactions", &capture("nfs41_callback"));
    assert_eq!(records_of(&of_client).0.len(), all.len());
    assert_eq!(all.iter().filter(|object| object["reverse"] == true).count(), 1);
    for (option, address) in [("--client", "192.0.2.1"), ("--server", "192.0.2.2")] {
        let (none, summary) = records_of(&select(option, address));
        assert!(none.is_empty() && summary["captures"][0]["rpcs_selected"] == 0, "{option} {address}: {summary}");
        assert_eq!(summary["captures"][0]["filters"], json!([option]));
    }
}

#[test]
fn what_has_no_latency_is_left_out_in_words() {
    let output = run(&["transactions", "--slower-than", "1us", &capture("withdrawn")]);
    assert_eq!(stdout(&output).lines().count(), 1 + 1);
    assert!(stderr(&output).contains("2 RPCs left out by --slower-than: latency not known\n"), "{}", stderr(&output));
}

#[test]
fn a_time_without_its_plus_is_refused() {
    let path = capture("errors");
    for options in [&["--since", "4.7"][..], &["--until", "4.7"], &["--since", "00:00"]] {
        let octets = octets_of(&path);
        for (name, input) in [(path.as_str(), &[][..]), ("-", &octets[..])] {
            let mut child = program(&[&["decode", name], options].concat())
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            // It may refuse before all is read.
            let _written = child.stdin.take().unwrap().write_all(input);
            let output = child.wait_with_output().unwrap();
            assert!(
                stderr(&output).contains("this time is before the first frame"),
                "{options:?}: {}",
                stderr(&output)
            );
            assert_eq!((stdout(&output), output.status.code()), ("", Some(2)));
        }
    }
}

#[test]
fn ctrl_c_shows_what_there_is() {
    let (header, records) = records("nfs41");
    // Frame 28 is a call, and its reply is frame 32.
    let octets = [header, records[..30].concat()].concat();
    for (arguments, signal, said) in [
        (&["transactions", "-"][..], "INT", "0x32d138ec         -         0      100  EXCHANGE_ID  no reply\n"),
        (&["stats", "-"], "TERM", "calls without a reply in the capture: 1\n"),
        (&["check", "-"], "INT", " rules, 0 broken"),
        (&["decode", "-"], "TERM", "0x32d138ec   240 call  EXCHANGE_ID"),
    ] {
        let output = interrupted(arguments, &octets, signal, |output| stdout(output).contains(said));
        assert_eq!(output.status.code(), Some(130), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("interrupted"), "{}", stderr(&output));
    }
    // As JSON, the summary says so.
    let output =
        interrupted(&["decode", "--json", "-"], &octets, "INT", |output| stdout(output).contains("0x32d138ec"));
    let (messages, summary) = records_of(&output);
    assert_eq!((messages.len(), &summary["interrupted"], &summary["exit_status"]), (3, &json!(true), &json!(130)));
    let out = file("interrupted.pcap").display().to_string();
    let output = interrupted(&["export", "-", "-o", &out], &octets, "INT", |output| {
        stderr(output).contains("2 calls and 1 reply written")
    });
    assert_eq!(output.status.code(), Some(130));
    assert!(octets_of(&out).len() > 200, "the file is closed");
}

/// Starts the program, gives it `input`, and sends it a signal when it waits for more: when that is, depends on the machine.
fn interrupted(arguments: &[&str], input: &[u8], signal: &str, is_right: impl Fn(&Output) -> bool) -> Output {
    for patience in [100, 1000, 10_000] {
        let mut command = program(arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input).unwrap();
        std::thread::sleep(Duration::from_millis(patience));
        let id = child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        drop(stdin);
        if is_right(&output) {
            return output;
        }
    }
    panic!("{arguments:?} did not show what there was");
}

#[test]
fn findings_that_are_the_same_are_folded() {
    let output = run(&["check", "-q", "--rule", "private-data-absent", &capture("errors")]);
    let lines: Vec<&str> = stdout(&output).lines().collect();
    assert_eq!(lines.len(), 7, "{}", stdout(&output));
    assert_eq!(lines[3], "26 more like those above; --json lists each");
    let row = ["private-data-absent", "(27", "connections)", "0", "0", "27", "0", "0"];
    assert!(lines[5].split_whitespace().eq(row), "{}", lines[5]);
}

struct Streamed {
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl Streamed {
    fn start(arguments: &[&str]) -> Self {
        let mut child = program(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let stdout = child.stdout.take().unwrap();
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                if sender.send(line.unwrap()).is_err() {
                    return;
                }
            }
        });
        Self { child, lines }
    }

    fn feed(&mut self, octets: &[u8]) {
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(octets).unwrap();
        stdin.flush().unwrap();
    }
}

#[test]
fn messages_are_shown_as_they_arrive() {
    let expected = run(&["decode", "-q", &capture("nfs41")]);
    let mut expected = stdout(&expected).lines();
    let (header, records) = records("nfs41");
    let mut streamed = Streamed::start(&["decode", "-q", "-"]);
    streamed.feed(&header);
    // The messages of the first 60 frames, one frame at a time: each is there before the next frame is.
    for (index, record) in records[..60].iter().enumerate() {
        streamed.feed(record);
        if index < 23 || index % 2 == 0 {
            continue;
        }
        let frame = index as u64 + 1;
        let next = expected.clone().next().unwrap();
        if next.trim_start().starts_with(&format!("{frame} ")) {
            let line = streamed.lines.recv_timeout(Duration::from_secs(20)).expect("the message of the last frame fed");
            assert_eq!(Some(line.as_str()), expected.next());
        }
    }
    streamed.feed(&records[60..].concat());
    drop(streamed.child.stdin.take());
    assert!(streamed.lines.iter().eq(expected), "the rest follows");
    assert_eq!(streamed.child.wait().unwrap().code(), Some(0));
}

/// A READDIR waits when the input pauses, as in GUIDE.md: its call, in frame 210, is printed before the input ends, and once more
/// then, with what is owed.
#[test]
fn pending_calls_are_printed_while_the_capture_is_read() {
    let (header, records) = records("nfs41");
    let mut streamed = Streamed::start(&["pending", "--json", "-q", "--older-than", "300ms", "-"]);
    streamed.feed(&header);
    streamed.feed(&records[..222].concat());
    let next = |streamed: &Streamed| -> Value {
        let line = streamed.lines.recv_timeout(Duration::from_secs(20)).expect("the call has waited long enough");
        serde_json::from_str(&line).unwrap()
    };
    let early = next(&streamed);
    assert_eq!((&early["call_frame"], &early["owed"]), (&json!(210), &json!("unknown")));
    assert_eq!(early["owed_unknown"], "the capture is still being read");
    assert!(early["age_ns"].as_u64().unwrap() >= 300_000_000, "{early}");
    // Calls that are answered in time are not printed: the rest of the capture ends the wait.
    streamed.feed(&records[222..].concat());
    drop(streamed.child.stdin.take());
    assert_eq!(next(&streamed)["type"], "summary");
}

/// The client refuses the reply to 0x23a2ccd4 in frame 162; it comes again in frame 165.
#[test]
fn a_call_with_a_refused_reply_stays_pending_live() {
    let (header, records) = records("lost");
    let mut streamed = Streamed::start(&["pending", "--json", "-q", "--older-than", "300ms", "-"]);
    streamed.feed(&header);
    streamed.feed(&records[..162].concat());
    let is_it = |line: &String| line.contains("\"0x23a2ccd4\"");
    let mut lines = core::iter::from_fn(|| streamed.lines.recv_timeout(Duration::from_secs(5)).ok());
    assert!(lines.any(|line| is_it(&line)), "before the reply is retransmitted");
    streamed.feed(&records[162..].concat());
    drop(streamed.child.stdin.take());
    assert!(!streamed.lines.iter().any(|line| is_it(&line)), "it was answered in the end");
}

/// The server sent its reply in frame 161, before the client refused it.
#[test]
fn live_output_says_nothing_of_the_responder() {
    let (header, records) = records("lost");
    let mut streamed = Streamed::start(&["pending", "-q", "--older-than", "300ms", "-"]);
    streamed.feed(&header);
    streamed.feed(&records[..162].concat());
    let lines = core::iter::from_fn(|| streamed.lines.recv_timeout(Duration::from_secs(5)).ok());
    let mut lines = lines.skip_while(|line| !line.contains("0x23a2ccd4"));
    let last = lines.find(|line| line.contains("last: ")).expect("before the reply is retransmitted");
    assert_eq!(last.trim(), "last: call in frame 151 by 192.0.2.2");
}

/// The server provides the reply in frame 6 of both captures. In one the client reads it.
#[test]
fn an_unread_provided_reply_is_pending_live() {
    for (name, is_read) in [("situations/reply_provided", false), ("situations/reply_provided_and_read", true)] {
        let (header, records) = records(name);
        let mut streamed = Streamed::start(&["pending", "--json", "-q", "--older-than", "300ms", "-"]);
        streamed.feed(&header);
        streamed.feed(&records.concat());
        let line = streamed.lines.recv_timeout(Duration::from_secs(if is_read { 2 } else { 20 }));
        let call: Option<Value> = line.ok().map(|line| serde_json::from_str(&line).unwrap());
        assert_eq!(call.is_none(), is_read, "{name}: {call:?}");
        if let Some(call) = call {
            assert_eq!((&call["rdma_xid"], &call["owed"]), (&json!("0x00000001"), &json!("RDMA Read of the reply")));
            assert_eq!((&call["owed_by"], &call["responder_last"]["frame"]), (&json!("192.0.2.1"), &json!(6)));
        }
    }
}

/// The call waits for 500 ms, and its reply is provided then: the client has not been late yet.
#[test]
fn a_provided_reply_is_not_overdue_when_it_is_sent() {
    let (header, mut records) = records("situations/reply_provided");
    let reply = records.iter_mut().skip(5);
    // Microseconds within the second.
    reply.for_each(|record| record[4..8].copy_from_slice(&500_200_u32.to_le_bytes()));
    let mut streamed = Streamed::start(&["pending", "--json", "-q", "--older-than", "300ms", "-"]);
    streamed.feed(&header);
    streamed.feed(&records.concat());
    let line = streamed.lines.recv_timeout(Duration::from_secs(20)).expect("the reply waits to be read");
    let call: Value = serde_json::from_str(&line).unwrap();
    // 500 ms to the reply, and 300 ms after it.
    assert!(call["age_ns"].as_u64().unwrap() >= 800_000_000, "{call}");
}

/// The client leaves in frame 20 of same_xid.pcap, 6.923 ms after its call, whose connection is followed to the end of the capture.
#[test]
fn calls_of_ended_connections_stop_waiting_in_intervals() {
    let output = run(&["stats", "--json", "--interval", "1h", &capture("same_xid")]);
    let (records, _) = records_of(&output);
    let interval = records.iter().find(|record| record["type"] == "interval").unwrap();
    // Each connection but the last has no reply before the first call: that call is at the limit of one credit.
    let connections = objects("stats", &capture("same_xid")).remove(0)["connections"].clone();
    let at_limit = |connection: &Value| connection["active"]["at_limit_ns"].as_u64().unwrap();
    let expected: u64 = connections.as_array().unwrap().iter().map(at_limit).sum();
    assert_eq!(interval["calls"]["at_limit_ns"], expected);
    // The latencies, the wait of frame 18, and that of frame 87 until the same call was sent once more in frame 88.
    let latencies: u64 =
        objects("transactions", &capture("same_xid")).iter().filter_map(|rpc| rpc["latency_ns"].as_u64()).sum();
    let sum = interval["calls"]["latency_sum_ns"].as_u64().unwrap();
    assert_eq!(sum, latencies + 6_923_000 + 58_000, "{latencies}");
}

#[test]
fn intervals_are_printed_as_they_end() {
    let arguments = ["stats", "-q", "--interval", "1s"];
    let expected = run(&[&arguments[..], &[&capture("nfs41")]].concat());
    let mut expected = stdout(&expected).lines();
    let (header, records) = records("nfs41");
    let mut streamed = Streamed::start(&[&arguments[..], &["-"]].concat());
    streamed.feed(&header);
    // The second message ends more than one interval, and the rest is not there yet.
    streamed.feed(&records[..60].concat());
    for _ in 0..3 {
        let line = streamed.lines.recv_timeout(Duration::from_secs(20)).expect("an interval has ended");
        assert_eq!(Some(line.as_str()), expected.next());
    }
    streamed.feed(&records[60..].concat());
    drop(streamed.child.stdin.take());
    assert!(streamed.lines.iter().eq(expected), "the rest follows");
    let refused = run(&["stats", "--interval", "0s", &capture("nfs41")]);
    assert!(stderr(&refused).contains("an interval is longer than nothing"), "{}", stderr(&refused));
}

#[test]
fn a_damaged_file_gives_what_is_before_the_damage() {
    let mut octets = std::fs::read(capture("nfs41")).unwrap();
    octets.truncate(20_000);
    let output = run(&["decode", "-q", &written("damaged.pcap", &octets)]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).lines().count() > 10);
    assert!(stderr(&output).contains("damaged.pcap: at octet "), "{}", stderr(&output));
    assert_eq!(stderr(&output).lines().count(), 1);
    // As JSON, the summary has what is said there.
    let path = file("damaged.pcap").display().to_string();
    let output = run(&["decode", "--json", &path]);
    let (messages, summary) = records_of(&output);
    let damaged = &summary["captures"][0]["damaged"]["files"];
    let [unread] = damaged.as_array().unwrap().as_slice() else { panic!("{damaged}") };
    assert_eq!((&unread["file"], &unread["partly_read"], messages.len() > 10), (&json!(path), &json!(true), true));
    let text = format!("at octet {}: {}", unread["offset_octets"], unread["reason"].as_str().unwrap());
    assert!(stderr(&output).lines().any(|line| line.ends_with(&text)), "{text}: {}", stderr(&output));
}

#[test]
fn cut_frames_are_marked() {
    let (mut file, records) = records("nfs41");
    for record in &records {
        let length = record.len().min(16 + 128);
        file.extend_from_slice(&record[..8]);
        file.extend_from_slice(&(length as u32 - 16).to_le_bytes());
        file.extend_from_slice(&record[12..length]);
    }
    let path = written("cut.pcap", &file);
    let output = run(&["decode", &path]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stdout(&output).lines().count(), 1 + 138);
    assert!(stdout(&output).lines().any(|line| line.contains("truncated: 70 of ")), "{}", stdout(&output));
    assert!(stderr(&output).contains("messages incomplete in the capture"));
    // An Ethernet, IPv4, UDP and transport header and the ICRC leave 70 octets of 128.
    let call = objects("decode", &path).into_iter().find(|object| object["frame"] == 1164).unwrap();
    assert_eq!(call["incomplete"], json!({"captured_octets": 74, "missing": "snaplen"}));
    assert_eq!((&call["header_octets"], &call["payload_octets"]), (&json!(52), &json!(196)));
}

#[test]
fn what_the_capture_missed_is_said() {
    // An NFSv4 CREATE of a long symbolic link takes frames 1182 to 1184; without the second its two ends are left.
    let (header, mut records) = records("nfs41");
    records.remove(1182);
    let path = written("missed.pcap", &[header, records.concat()].concat());
    let output = run(&["decode", &path]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("rpcrdma: 2 messages incomplete in the capture\n"));
    assert!(stderr(&output).contains("rpcrdma: 1 packet of RPC-over-RDMA connections missing from the capture\n"));
    let line = |frame: &str| stdout(&output).lines().find(|line| line.starts_with(frame)).unwrap();
    assert!(line("  1182").contains("MSG   0x64d138ec       call  ") && line("  1182").ends_with("end missing"));
    assert!(line("  1183").contains("  ?     ?  ") && line("  1183").ends_with("start missing"));
    let start = objects("decode", &path).into_iter().find(|object| object["frame"] == 1182).unwrap();
    assert_eq!(start["incomplete"], json!({"captured_octets": 1024, "missing": "end"}));
    assert_eq!((&start["header_octets"], &start["payload_octets"]), (&json!(28), &Value::Null));
    let end = objects("decode", &path).into_iter().find(|object| object["frame"] == 1183).unwrap();
    assert_eq!((&end["rdma_xid"], &end["incomplete"]["missing"]), (&Value::Null, &json!("start")));
}

#[test]
fn what_cannot_be_read_is_one_line_and_status_2() {
    for (arguments, said) in [
        (&["decode", "/does/not/exist.pcap"][..], "rpcrdma: /does/not/exist.pcap: No such file or directory"),
        (&["decode", env!("CARGO_MANIFEST_DIR")], "is a directory"),
        (&["decode", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")], "not a capture file (pcap, pcapng or ERF)"),
        (&["decode"], "the following required arguments were not provided: <FILE>...; try 'rpcrdma --help'"),
        (&["decode", "--no-such-option", "-"], "unexpected argument '--no-such-option' found"),
        (&["decode", "--xid", "0xg", "-"], "invalid value '0xg' for '--xid <X>'"),
        (
            &["decode", "--since", "noon", "-"],
            "not a time: seconds after the first frame (+12.5), a time of day (10:00)",
        ),
        (&["man", "nothing"], "invalid value 'nothing' for '[COMMAND]'"),
        (&["header", "5a7a458"], "an odd number of digits"),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(stdout(&output), "");
        assert!(stderr(&output).starts_with("rpcrdma: ") && stderr(&output).contains(said), "{}", stderr(&output));
        assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    }
}

#[test]
fn other_traffic_is_counted_and_named() {
    let output = run(&["decode", &capture("perftest")]);
    assert_eq!((stdout(&output), output.status.code()), ("", Some(1)));
    assert!(stderr(&output).contains("340 packets on 4 connections without RPC-over-RDMA"));
    assert!(stderr(&output).contains("no RPC-over-RDMA message found"));
    assert!(stderr(&output).contains("TCP (114)"));
    let output = run(&["stats", &capture("iwarp_nfs41")]);
    assert!(
        stdout(&output).contains("1: 192.0.2.2 → 192.0.2.1 port 20049, iWARP, setup captured, 126 messages"),
        "{}",
        stdout(&output)
    );
    assert!(stdout(&output).contains("1 →      TCP 40529       547 "), "{}", stdout(&output));
    assert_eq!(stderr(&run(&["decode", "-q", &capture("perftest")])), "");
}

#[test]
fn a_terminate_is_shown_among_the_messages() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/corpus/frames/iwarp_reads_terminate_and_refusal.pcap");
    let words = "DDP, tagged buffer error: invalid STag, in a segment of 40 octets (RDMA Write)";
    let output = run(&["decode", path]);
    let line = stdout(&output).lines().last().unwrap();
    assert_eq!(line, format!("    14    0.000013  1 192.0.2.1 → 192.0.2.2  Terminate  {words}"));
    let output = run(&["decode", "--json", path]);
    let expected = json!({
        "type": "terminate", "schema": 1, "frame": 14, "file": path, "file_frame": 14, "time_ns": 1_000_013_000,
        "connection": 1, "sender": "192.0.2.1", "receiver": "192.0.2.2", "layer": 1, "error_type": 1, "code": 0,
        "segment_octets": 40, "message": "RDMA Write", "text": words
    });
    assert_eq!(records_of(&output).0.last(), Some(&expected));
    let stats = run(&["stats", path]);
    assert!(stdout(&stats).contains("1 connection request to port 20049 rejected: the program"), "{}", stdout(&stats));
}

#[test]
fn a_wrong_crc_of_iwarp_is_told() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/corpus/frames/iwarp_markers_and_crcs.pcap.gz");
    let output = run(&["decode", path]);
    assert!(stderr(&output).contains("1 iWARP FPDU with a wrong CRC\n"), "{}", stderr(&output));
    assert_eq!((stdout(&output).lines().count(), output.status.code()), (1 + 47, Some(1)));
    let output = run(&["decode", "--verify-crc", path]);
    assert!(stderr(&output).contains("1 iWARP FPDU with a wrong CRC, ignored\n"), "{}", stderr(&output));
    assert_eq!((stdout(&output).lines().count(), output.status.code()), (1 + 46, Some(1)));
}

#[test]
fn colour_is_for_terminals_and_those_who_ask() {
    let path = capture("errors");
    let escapes = |command: &mut Command| command.output().unwrap().stdout.contains(&0x1b);
    assert!(!escapes(&mut program(&["decode", "-q", &path])));
    assert!(escapes(&mut program(&["decode", "-q", "--color", "always", &path])));
    assert!(escapes(program(&["decode", "-q", &path]).env("CLICOLOR_FORCE", "1")));
    assert!(!escapes(program(&["decode", "-q", &path]).env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1")));
    assert!(!escapes(program(&["decode", "-q", "--color", "never", &path]).env("CLICOLOR_FORCE", "1")));
}

#[test]
fn a_reader_that_has_seen_enough_ends_it_quietly() {
    let path = capture("nfs42_mtu9000");
    let files: Vec<&str> = std::iter::repeat_n(path.as_str(), 20).collect();
    let mut child = program(&[&["decode", "--json"], files.as_slice()].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((stderr(&output), output.status.code()), ("", Some(0)));
}

#[test]
fn checksums_are_checked_where_asked_for() {
    let output = run(&["decode", "--verify-crc", &capture("nfs41")]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stderr(&output).contains("0 of "), "{}", stderr(&output));
    let (header, mut records) = records("nfs41");
    // The last octet of frame 24, an NFSv4 NULL call, is one of its ICRC.
    *records[23].last_mut().unwrap() ^= 1;
    let path = written("crc.pcap", &[header, records.concat()].concat());
    let output = run(&["decode", "--verify-crc", &path]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("1 of "), "{}", stderr(&output));
    assert!(!stdout(&output).contains("\n    24 ") && !stdout(&output).starts_with("    24 "));
}

#[test]
fn a_hex_dump_is_a_message() {
    let words = ["5a7a4583", "00000001", "00000080", "00000001", "00000000", "00000000", "00000000"];
    let output = run(&[&["header", "--json"], &words[..]].concat());
    let (messages, summary) = records_of(&output);
    let message = &messages[0];
    assert_eq!((&message["rdma_xid"], &message["rdma_proc"]), (&json!("0x5a7a4583"), &json!("RDMA_NOMSG")));
    assert_eq!(summary["octets_swapped"], false);
    let turned = ["0x83457a5a", "0x01000000", "0x80000000", "0x01000000", "0x00000000", "0x00000000", "0x00000000"];
    let (messages, summary) = records_of(&run(&[&["header", "--json"], &turned[..]].concat()));
    assert_eq!((&messages[0]["rdma_xid"], &summary["octets_swapped"]), (&message["rdma_xid"], &json!(true)));
    assert_eq!((message.get("frame"), message.get("from")), (None, None));
    let mut child = program(&["header", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(words.join(" ").as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(stdout(&output).contains("000c  rdma_proc         1 (RDMA_NOMSG)"));
    assert!(stdout(&output).contains("0010  wrong             RDMA_NOMSG without any chunk (nomsg-empty, "));
    assert_eq!(message["findings"][0]["rule"], json!("nomsg-empty"));
    assert_eq!(message["findings"][0]["reaction"], json!({ "requester": "discard", "responder": "ERR_CHUNK" }));
}

#[test]
fn stats_are_tables_or_one_object() {
    let output = run(&["stats", &capture("nfs41")]);
    assert!(
        stdout(&output).lines().any(|line| line.split_whitespace().eq(["RDMA_NOMSG", "15"])),
        "{}",
        stdout(&output)
    );
    let stats = objects("stats", &capture("nfs41"));
    assert_eq!((stats.len(), &stats[0]["type"]), (1, &json!("stats")));
    // Only the messages of one connection of 27 are counted.
    let output = run(&["stats", "--connection", "2", &capture("errors")]);
    assert!(stdout(&output).lines().any(|line| line.split_whitespace().eq(["all", "2"])), "{}", stdout(&output));
}

#[test]
fn export_does_not_write_over_what_it_reads() {
    let octets = std::fs::read(capture("nfs41_callback")).unwrap();
    let path = written("same.pcap", &octets);
    let output = run(&["export", &path, "-o", &path]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(std::fs::read(&path).unwrap(), octets);
    let out = file("exported.pcap").display().to_string();
    let output = run(&["export", &path, "-o", &out]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("26 calls and 26 replies written"), "{}", stderr(&output));
    // A nanosecond pcap, of either byte order.
    assert!(
        [0xa1b2_3c4d_u32.to_be_bytes(), 0xa1b2_3c4d_u32.to_le_bytes()]
            .iter()
            .any(|magic| octets_of(&out).starts_with(magic))
    );
}

#[test]
fn help_has_examples_and_shells_can_complete() {
    let help = run(&["--help"]);
    assert!(stdout(&help).contains("tcpdump -i eth0 -w - udp port 4791 | rpcrdma decode -"));
    assert_eq!(help.status.code(), Some(0));
    for (arguments, said) in [
        (&["completions", "bash"][..], "complete -F _rpcrdma"),
        (&["completions", "zsh"], "#compdef rpcrdma"),
        (&["man"], ".TH \"rpcrdma\" 1"),
        (&["man", "decode"], "\\-\\-verify\\-crc"),
        (&["--version"], "rpcrdma 0.1.0"),
    ] {
        assert!(stdout(&run(arguments)).contains(said), "{arguments:?}");
    }
}

#[test]
fn check_says_which_rules_are_broken_and_ends_with_1() {
    let output = run(&["check", &capture("errors")]);
    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output);
    let finding = "   110   13.501753 11 192.0.2.2 → 192.0.2.1  sender    0x0000100a    16  error    list-flag\n         \
                   2 where a list says whether it goes on (RFC 8166 4.3; RFC 4506 4.19, 4.4)\n";
    assert!(text.contains(finding), "{text}");
    let mut summary = text.lines().skip_while(|line| !line.starts_with("Summary"));
    assert!(
        summary.any(|line| line.split_whitespace().eq(["list-flag", "(2", "connections)", "2", "0", "0", "0", "0"])),
        "{text}"
    );
    let all = format!("  all {} rules, 24 broken", check::rules().count());
    assert!(summary.last().unwrap().starts_with(&all), "{text}");
    assert_eq!(run(&["check", "-q", &capture("perftest")]).status.code(), Some(1), "nothing to judge");
    assert_eq!(run(&["check", "-q", "/does/not/exist"]).status.code(), Some(2));
    let output = run(&["check", "-q", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(2), ""), "of what is no capture nothing is said");
}

#[test]
fn a_hazard_is_no_error() {
    let output = run(&["check", "-q", "--connection", "19", &capture("errors")]);
    assert_eq!(output.status.code(), Some(0));
    let text = stdout(&output);
    assert!(text.contains("hazard   credit-zero-request") && text.contains("hazard   private-data-absent"), "{text}");
    assert_eq!(text.lines().filter(|line| line.contains("192.0.2.1")).count(), 2, "{text}");
}

#[test]
fn check_json_has_findings_then_rules_then_a_summary() {
    let path = capture("errors");
    let (objects, summary) = records_of(&run(&["check", "-q", "--json", &path]));
    let found = objects.iter().find(|object| object["rule"] == "version").unwrap();
    let mut expected = json!({
        "type": "finding", "schema": 1, "rule": "version", "severity": "error", "frame": 49, "file": path, "file_frame": 49,
        "connection": 4, "sender": "192.0.2.2", "receiver": "192.0.2.1", "blame": "sender", "rdma_xid": "0x00001003",
        "offset_octets": 4, "section": "RFC 8166 4.2.2, 4.5.1", "message": "rdma_vers is 2", "deviation_of": null,
        "in_baseline": false
    });
    expected["time_ns"] = found["time_ns"].clone();
    assert_eq!(*found, expected);
    assert_eq!(found["time_ns"].as_u64().unwrap() / 100_000_000_000, 17_952_216);
    let (findings, rules): (Vec<_>, Vec<_>) = objects.iter().partition(|object| object["type"] == "finding");
    let count = |severity: &str| findings.iter().filter(|object| object["severity"] == severity).count();
    assert_eq!(
        summary["findings"],
        json!({
            "errors": count("error"), "warnings": count("warning"), "hazards": count("hazard"), "known_deviations": 4, "baseline": null
        })
    );
    let answer = rules.iter().find(|rule| rule["rule"] == "answer").unwrap();
    assert_eq!(
        **answer,
        json!({
            "type": "rule", "schema": 1, "rule": "answer", "errors": 4, "warnings": 0, "hazards": 1, "not_judged": 0,
            "known_deviations": 4
        })
    );
}

#[test]
fn a_finding_as_json_names_the_ends_as_decode_does() {
    let senders = |objects: Vec<Value>, [from, to]: [&str; 2]| -> BTreeMap<u64, [Value; 2]> {
        let ends = |object: &Value| [object[from].clone(), object[to].clone()];
        objects.iter().filter_map(|object| Some((object["frame"].as_u64()?, ends(object)))).collect()
    };
    for name in ["errors", "nfs41", "nfs3_ipv6"] {
        let messages = senders(objects("decode", &capture(name)), ["from", "to"]);
        let found = senders(objects("check", &capture(name)), ["sender", "receiver"]);
        let known: Vec<_> = found.iter().filter(|(frame, _)| messages.contains_key(frame)).collect();
        assert!(!known.is_empty() && known.iter().all(|(frame, ends)| messages[frame] == **ends), "{name}");
        // The others are of the setup.
        assert!(found.values().all(|ends| ends.iter().all(Value::is_string)), "{name}");
    }
    let output = run(&["check", "-q", "--json", "--rule", "invalidate-foreign", &capture("nfs41")]);
    let first = stdout(&output).lines().next().unwrap().replace(&capture("nfs41"), "testdata/captures/nfs41.pcap");
    let guide = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../GUIDE.md")).unwrap();
    assert!(guide.contains(&first), "the guide shows {first}");
}

#[test]
fn rules_can_be_chosen() {
    let found = |arguments: &[&str]| {
        let output = run(&[&["check", "-q", "--json", &capture("errors")], arguments].concat());
        let lines = stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap());
        let slugs = lines.filter(|object: &Value| object["type"] == "finding");
        slugs.map(|object| object["rule"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found(&["--rule", "version", "--rule", "list-flag"]), ["version", "version", "list-flag", "list-flag"]);
    let all = found(&[]);
    let fewer = found(&["--ignore", "private-data-absent", "--ignore", "answer"]);
    assert_eq!(all.len() - fewer.len(), 27 + 5);
    assert_eq!(found(&["--xid", "0x100a"]), ["list-flag"]);
    assert_eq!(found(&["--until", "+4.8", "--rule", "version"]), ["version", "version"]);
    let output = run(&["check", "--rule", "no-such-rule", &capture("errors")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("'rpcrdma check --list'") && stderr(&output).lines().count() == 1,
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_rule_is_explained_without_a_file() {
    let output = run(&["check", "--explain", "write-length"]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    let text = stdout(&output);
    assert!(text.starts_with("write-length  error  RFC 8166 3.4.6\nRule     No returned length exceeds"), "{text}");
    assert!(text.contains("\nWhy      ") && text.contains("\nCorrect  ") && !text.contains("\nAnswer"), "{text}");
    let text = run(&["check", "--explain", "list-flag"]);
    assert!(stdout(&text).contains("\nAnswer   A responder answers a Send that breaks it with ERR_CHUNK.\n"));
    for rule in rpcrdma_dissector::check::rules() {
        let output = run(&["check", "--explain", rule.slug]);
        assert_eq!(output.status.code(), Some(0), "{}", rule.slug);
        assert!(stdout(&output).lines().all(|line| line.chars().count() <= 100), "{}", stdout(&output));
    }
    assert_eq!(run(&["check"]).status.code(), Some(2), "a file is needed");
}

#[test]
fn what_was_meant_is_suggested() {
    for (arguments, said) in [
        (&["decod", "x.pcap"][..], "unrecognized subcommand 'decod'; did you mean 'decode'?"),
        (&["no-such.pcap"], "'no-such.pcap' is neither a file nor a command; try"),
        // A file without a command is diagnosed.
        (&[env!("CARGO_MANIFEST_DIR")], "is a directory"),
        (&["decode", "--jsn", "-"], "unexpected argument '--jsn' found; did you mean '--json'?"),
        (
            &["check", "--rule", "list-flg", "-"],
            "invalid value 'list-flg' for '--rule <RULE>'; did you mean 'list-flag'?",
        ),
        (&["check", "--ignore", "x", "-"], "invalid value 'x' for '--ignore <RULE>'; try 'rpcrdma check --list'"),
        (&["decode", "--connection", "x", "-"], "'--connection <N>': not the number of a connection; try"),
        (&["decode", "--port", "70000", "-"], "'--port <P>': not a port, 0 to 65535; try"),
        (&["man", "stat"], "did you mean 'stats'?"),
        (&["help", "stat"], "unrecognized subcommand 'stat'; did you mean 'stats'?"),
        (&["help", "7"], "unrecognized subcommand '7'; try 'rpcrdma --help'"),
    ] {
        let output = run(arguments);
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
        assert_eq!((output.status.code(), stderr(&output).lines().count()), (Some(2), 1), "{}", stderr(&output));
    }
}

#[test]
fn rules_are_listed_and_shells_complete_them() {
    let list = run(&["check", "--list"]);
    let text = stdout(&list);
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    let completions = run(&["completions", "bash"]);
    for rule in rpcrdma_dissector::check::rules() {
        let begins = |line: &str| line.split_whitespace().take(2).eq([rule.slug, rule.severity.name()]);
        assert_eq!(text.lines().filter(|line| begins(line)).count(), 1, "{}", rule.slug);
        assert!(stdout(&completions).contains(rule.slug), "{}", rule.slug);
    }
    // Not in the help, where nobody would find the options among them.
    assert!(!stdout(&run(&["check", "--help"])).contains("list-flag"));
}

#[test]
fn manual_pages_show_names_and_examples_as_typed() {
    let page = run(&["man"]);
    let page = stdout(&page).replace("\\-", "-");
    for line in [
        ".SH EXAMPLES\n.nf\n  rpcrdma nfs.pcap  ",
        "\n  rpcrdma decode -v --xid 0x5a7a4583 nfs.pcap  the headers",
        ".TP\n\\fBrpcrdma check\\fR\n",
        "\n.SH EXIT STATUS\n.nf\n  0    nothing",
    ] {
        assert!(page.contains(line), "{line} in {page}");
    }
    assert!(!page.contains("rpcrdma-"), "{page}");
    let page = run(&["man", "check"]);
    let page = stdout(&page).replace("\\-", "-");
    assert!(
        page.contains(".SH NAME\nrpcrdma check - ") && page.contains("\nrpcrdma check [OPTIONS] <FILE>...\n"),
        "{page}"
    );
}

#[test]
fn what_is_written_has_the_format_that_its_name_says() {
    let path = capture("nfs41_callback");
    let whole = |name: &str| {
        let out = file(name).display().to_string();
        let command = if name.starts_with("annotated") { "annotate" } else { "export" };
        let output = run(&[command, &path, "-o", &out]);
        assert!(output.status.success(), "{}", stderr(&output));
        let octets = std::fs::read(&out).unwrap();
        let (decoded, _) = records_of(&run(&["stats", "--json", &out]));
        (octets, decoded)
    };
    let (pcap, pcapng) = (whole("exported.pcap"), whole("exported.pcapng"));
    assert_eq!((&pcap.0[..4], &pcapng.0[..4]), (&[0xa1, 0xb2, 0x3c, 0x4d][..], &[0x0a, 0x0d, 0x0d, 0x0a][..]));
    for (name, begins, like) in [
        ("exported2.pcap.gz", [0x1f, 0x8b, 8, 0], &pcap),
        ("exported2.pcap.zst", [0x28, 0xb5, 0x2f, 0xfd], &pcap),
        ("exported2.PCAPNG.GZ", [0x1f, 0x8b, 8, 0], &pcapng),
    ] {
        let (octets, decoded) = whole(name);
        assert!(octets.starts_with(&begins) && octets.len() < like.0.len(), "{name}");
        assert_eq!(decoded, like.1, "{name}");
    }
    let plain = whole("annotated.pcapng");
    assert!(plain.0.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]));
    assert_eq!(plain.1, records_of(&run(&["stats", "--json", &path])).0);
    assert_eq!(whole("annotated.pcapng.zst").1, plain.1);
}

#[test]
fn annotate_refuses_what_it_would_not_do() {
    let path = capture("nfs41_callback");
    let out = file("annotated.pcap");
    let output = run(&["annotate", &path, "-o", &out.display().to_string()]);
    assert!(stderr(&output).contains("comments need pcapng") && output.status.code() == Some(2), "{}", stderr(&output));
    assert!(!out.exists());
}

#[test]
fn a_filter_chooses_what_annotate_comments_on() {
    let out = file("chosen.pcapng").display().to_string();
    let output = run(&["annotate", &capture("nfs41"), "--xid", "0x53d138ec", "-o", &out]);
    // Of a WRITE of 64 KiB: the call, the reply, 4 RDMA Read requests, and 64 responses of 1024 octets.
    assert!(stderr(&output).ends_with("rpcrdma: frames written: 1265; comments: 70\n"), "{}", stderr(&output));
}

#[test]
fn export_of_nothing_says_so() {
    let out = file("nothing.pcap").display().to_string();
    let output = run(&["export", &capture("perftest"), "-o", &out]);
    assert!(
        stderr(&output).contains("rpcrdma: nothing to export: the output file has no packets\n"),
        "{}",
        stderr(&output)
    );
    assert_eq!(output.status.code(), Some(1));
}

/// Returns the program's output on a terminal, according to `script`; `None` if that is not installed.
fn on_a_terminal(command: &str, input: &[u8]) -> Option<(String, Option<i32>)> {
    let line = format!("{} {command}", env!("CARGO_BIN_EXE_rpcrdma"));
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = script.spawn().ok()?;
    child.stdin.take()?.write_all(input).ok()?;
    let output = child.wait_with_output().ok()?;
    Some((String::from_utf8(output.stdout).ok()?, output.status.code()))
}

#[test]
fn on_a_terminal_input_is_announced_and_captures_refused() {
    let header = b"5a7a4583 00000001 00000080 00000001 00000000 00000000 00000000\n\x04";
    let Some((waits, status)) = on_a_terminal("header", header) else {
        println!("script is not installed: skipped");
        return;
    };
    assert!(waits.contains("rpcrdma: reading a hex dump from standard input; end it with Ctrl-D"), "{waits}");
    assert!(waits.contains("RDMA_NOMSG") && status == Some(0), "{waits}");
    let (refused, status) = on_a_terminal(&format!("export {} -o -", capture("nfs41_callback")), b"").unwrap();
    assert!(refused.starts_with("rpcrdma: -: not written to a terminal"), "{refused}");
    assert_eq!(status, Some(2));
}

#[test]
fn only_findings_that_the_baseline_lacks_count() {
    let path = capture("errors");
    let all = run(&["check", "-q", "--json", &path]);
    let whole = file("baseline.json");
    std::fs::write(&whole, &all.stdout).unwrap();
    let whole = whole.display().to_string();
    let output = run(&["check", "-q", "--baseline", &whole, &path]);
    assert_eq!(output.status.code(), Some(0));
    let text = stdout(&output);
    assert!(text.starts_with("64 more in the baseline; --json lists each\n"), "{text}");

    // Without the findings of one rule, those are new.
    let part = file("baseline-part.json");
    let lines: Vec<_> =
        stdout(&all).lines().filter(|line| !line.contains("\"rule\":\"answer\",\"severity\":\"error\"")).collect();
    std::fs::write(&part, lines.join("\n") + "\n").unwrap();
    let part = part.display().to_string();
    let output = run(&["check", "-q", "--json", "--baseline", &part, &path]);
    assert_eq!(output.status.code(), Some(1));
    let (found, summary) = records_of(&output);
    let found: Vec<_> = found.iter().filter(|record| record["type"] == "finding").collect();
    let new: Vec<_> = found.iter().filter(|found| found["in_baseline"] == false).collect();
    assert!(new.iter().all(|found| found["rule"] == "answer" && found["severity"] == "error"), "{new:?}");
    assert_eq!((new.len(), &summary["findings"]["errors"]), (4, &json!(4)));
    assert_eq!(summary["findings"]["baseline"], json!(found.len() - new.len()));

    // Another peer does the same: that is new.
    let other = file("baseline-other.json");
    std::fs::write(&other, stdout(&all).replace("192.0.2.1", "192.0.2.9")).unwrap();
    let output = run(&["check", "-q", "--baseline", &other.display().to_string(), &path]);
    assert_eq!(output.status.code(), Some(1));

    let output = run(&["check", "-q", "--baseline", &path, &path]);
    assert!(stderr(&output).contains("a baseline is what 'rpcrdma check --json' prints"), "{}", stderr(&output));
    assert_eq!(output.status.code(), Some(2));
}

/// A known deviation of Linux is still an error, but is left out of the exit status on request.
#[test]
fn known_deviations_are_marked_and_can_be_left_out() {
    for name in ["nfs41", "nfs3_ipv6", "iwarp_nfs41"] {
        let path = capture(name);
        let output = run(&["check", "-q", &path]);
        assert_eq!(output.status.code(), Some(1), "{name}");
        let text = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("4.1; known deviation of Linux nfsd 6.1, 7.2)"), "{name}: {text}");
        let output = run(&["check", "-q", "--known", "linux", &path]);
        assert_eq!(output.status.code(), Some(0), "{name}");
        assert!(
            stdout(&output).starts_with("1 more accepted: known deviations of Linux nfsd; --json lists each\n"),
            "{}",
            stdout(&output)
        );
        for (options, errors) in [(&[][..], 1), (&["--known", "linux"], 0)] {
            let (found, summary) = records_of(&run(&[&["check", "-q", "--json", &path], options].concat()));
            assert_eq!(found[0]["deviation_of"], "Linux nfsd", "{name}");
            for counted in [&summary["findings"], &found[1]] {
                assert_eq!(
                    (&counted["errors"], &counted["known_deviations"]),
                    (&json!(errors), &json!(1)),
                    "{name}: {counted}"
                );
            }
        }
    }
    // Of `errors`, whose table says what nfsd answers: the frames of all that are known, and of no other finding.
    let found = objects("check", &capture("errors"));
    let known = found.iter().filter(|found| found["deviation_of"].is_string());
    let frames: Vec<_> = known.map(|found| found["frame"].as_u64().unwrap()).collect();
    assert_eq!(frames, [33, 42, 103, 258]);
    assert_eq!(run(&["check", "-q", "--known", "linux", &capture("errors")]).status.code(), Some(1), "the client's");
}

/// Linux 6.1 writes these results wrong. Nothing else is found in these captures, so with `--known` the check passes.
#[test]
fn known_deviations_of_reduced_results_are_marked() {
    for (name, frames) in [("reduced_reply", &[25, 37][..]), ("krb5i_reduced", &[40])] {
        let path = capture(name);
        let found = objects("check", &path);
        let known = found.iter().filter(|found| found["deviation_of"] == "Linux nfsd");
        assert_eq!(known.map(|found| found["frame"].as_u64().unwrap()).collect::<Vec<_>>(), frames, "{name}");
        assert_eq!(run(&["check", "-q", &path]).status.code(), Some(1), "{name}");
        assert_eq!(run(&["check", "-q", "--known", "linux", &path]).status.code(), Some(0), "{name}");
    }
}

/// The same rules broken in the same frames, in another way.
#[test]
fn other_wrong_results_are_not_marked() {
    let broken = |name: &str, patches: &[(usize, usize, u32)]| {
        let (header, mut records) = records(name);
        for &(frame, at, word) in patches {
            records[frame - 1][16 + at..16 + at + 4].copy_from_slice(&word.to_be_bytes());
        }
        let path = written(&format!("other_{name}.pcap"), &[header, records.concat()].concat());
        let found = objects("check", &path);
        let told = |found: &Value| (found["rule"].as_str().unwrap().to_owned(), found["deviation_of"].is_string());
        found.iter().filter(|record| record["type"] == "finding").map(told).collect::<Vec<_>>()
    };
    let marked = |rule: &str| (rule.to_owned(), true);
    let unmarked = |rule: &str| (rule.to_owned(), false);
    // The Reply chunk's length passes what was written by four octets more than what the Write chunk has.
    assert_eq!(broken("reduced_reply", &[(25, 114, 132)]), [unmarked("write-unwritten"), marked("write-roundup")]);
    // A length of the link that the Write chunk has room for: then the chunk may be at its place, and too short.
    assert_eq!(broken("reduced_reply", &[(37, 166, 28)]), [marked("write-unwritten"), unmarked("write-roundup")]);
    // There is no padding at the end of the link.
    assert_eq!(
        broken("reduced_reply", &[(37, 166, 0x616c_6c61)]),
        [marked("write-unwritten"), unmarked("write-roundup")]
    );
}

/// A client that has not announced remote invalidation is wronged in another way than Linux is known for.
#[test]
fn another_form_of_a_known_deviation_is_not_marked() {
    let (header, mut records) = records("nfs41");
    // The flags of the private data of the connection request: `testdata/captures/README.md`.
    records[20][16 + 262 + 5] = 0;
    let path = written("silent.pcap", &[header, records.concat()].concat());
    let found = objects("check", &path);
    assert_eq!(found[0]["rule"], "invalidate-foreign");
    assert!(found[0]["message"].as_str().unwrap().ends_with("and neither end has announced remote invalidation"));
    assert_eq!(found[0]["deviation_of"], Value::Null);
    assert_eq!(run(&["check", "-q", "--known", "linux", &path]).status.code(), Some(1));
}

#[test]
fn stats_explain_their_words_and_name_the_ends() {
    let output = run(&["stats", &capture("nfs41")]);
    let table = stdout(&output).lines().find(|line| line.trim_start().starts_with("sent by")).unwrap().to_owned();
    let object = &objects("stats", &capture("nfs41"))[0]["connections"][0];
    let (help, page) = (run(&["stats", "--help"]), run(&["man", "stats"]));
    for word in table.split_whitespace().skip(2) {
        assert!(object["active"].get(word).is_some(), "{word} is named as in JSON");
        let explained = |text: &str| text.lines().any(|line| line.split_whitespace().next() == Some(word));
        assert!(word == "queue_pair" || explained(stdout(&help)) && explained(stdout(&page)), "{word}");
    }
    assert!(
        stdout(&output).contains("1: 192.0.2.2 → 192.0.2.1 port 20049, RoCEv2, setup captured"),
        "{}",
        stdout(&output)
    );
}

/// A socket of datagrams keeps what is written at once together: others' lines cannot come between its parts.
#[cfg(unix)]
#[test]
fn a_line_on_standard_error_is_written_at_once() {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixDatagram;

    let path = capture("nfs41");
    for (arguments, lines) in [
        (&["decode", &path][..], &["rpcrdma: ignored: other frames: ICMPv6 (20), ARP (4)\n"][..]),
        (&["decod"], &["rpcrdma: unrecognized subcommand 'decod'; did you mean 'decode'?\n"]),
    ] {
        let (theirs, ours) = UnixDatagram::pair().unwrap();
        let status = program(arguments).stdout(Stdio::null()).stderr(Stdio::from(OwnedFd::from(theirs))).status();
        assert!(status.is_ok());
        for line in lines {
            let mut octets = [0; 1000];
            let length = ours.recv(&mut octets).unwrap();
            assert_eq!(std::str::from_utf8(&octets[..length]), Ok(*line));
        }
    }
}

#[test]
fn where_the_capture_was_taken_says_where_the_network_is() {
    for (place, expected) in [
        ("client", "captured at the client: the server phase contains the way to the server and back"),
        ("server", "captured at the server: the server phase is the server's own time"),
        ("between", "captured between client and server"),
    ] {
        let explain = ["explain", "--xid", "0x4bd138ec"];
        for arguments in [&["slow"][..], &["transactions", "--json"], &["trace", "-o", "-"], &explain] {
            let output = run(&[arguments, &["--captured-at", place, &capture("nfs41")]].concat());
            let said = std::str::from_utf8(&output.stderr).unwrap();
            assert!(said.contains(expected), "{arguments:?}: {said}");
        }
        let output = run(&["stats", "--json", "--captured-at", place, &capture("nfs41")]);
        let statistics: Value = serde_json::from_str(stdout(&output).lines().next().unwrap()).unwrap();
        let connection = &statistics["connections"][0];
        assert_eq!((&connection["captured_at"], &connection["captured_at_source"]), (&json!(place), &json!("option")));
        let (_, summary) = records_of(&output);
        let all = json!([{ "captured_at": place, "captured_at_source": "option", "connections": 1 }]);
        assert_eq!(summary["captures"][0]["captured_at"], all);
    }
    let said = run(&["slow", &capture("nfs41")]).stderr;
    assert!(!std::str::from_utf8(&said).unwrap().contains("captured"), "it is not known");
}

/// Times of day, from the nanoseconds that JSON has.
#[test]
fn times_are_those_of_a_clock_if_that_is_wanted() {
    let path = capture("nfs41_lossy");
    for command in ["decode", "transactions", "events", "check", "slow", "pending"] {
        let arguments = [command, "-q", &path];
        let records = run(&[&arguments[..], &["--json"]].concat());
        let first = stdout(&records).lines().next().unwrap();
        let record: serde_json::Value = serde_json::from_str(first).unwrap();
        let Some(nanoseconds) = record["time_ns"].as_u64() else { continue };
        let clock = |ahead: u64| {
            let microseconds = nanoseconds / 1000 + ahead * 3_600_000_000;
            let seconds = microseconds / 1_000_000 % 86_400;
            let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
            format!("{hours:02}:{minutes:02}:{:02}.{:06}", seconds % 60, microseconds % 1_000_000)
        };
        for (more, expected) in [(&["--time", "clock"][..], clock(0)), (&["--time=both", "--zone", "+02:00"], clock(2))]
        {
            let text = run(&[&arguments[..], more].concat());
            assert!(stdout(&text).contains(&expected), "{command}: {expected}\n{}", stdout(&text));
            assert!(!stdout(&run(&arguments)).contains(&expected), "{command}");
        }
    }
    let refused = run(&["decode", "--zone", "CET", &path]);
    assert!(stderr(&refused).contains("not a zone: Z, or hours and minutes ahead of UTC"), "{}", stderr(&refused));
}

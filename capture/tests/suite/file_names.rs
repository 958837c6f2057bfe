//! Names of files, and of the operation that failed: RENAME, one name in two folders, a PUTFH that fails, referrals.

use serde_json::Value;

use crate::command::{run, stdout};
use crate::gaps::written;
use crate::situations::path;
use crate::synthetic::By::{Client, Server};
use crate::synthetic::rpc::{Lists, MSG, call, message, reply, words};
use crate::synthetic::trace::Trace;
use crate::synthetic::{Packet, tcp};
use crate::transcode::Record;

const NFS: u32 = 100_003;
/// Two folders and two files, by their handles.
const FOLDER: u32 = 0xd1;
const OTHER_FOLDER: u32 = 0xd2;
const FILE: u32 = 0xf1;
const OTHER_FILE: u32 = 0xf2;
/// Names, with their length.
const A: [u32; 2] = [1, 0x6100_0000];
const B: [u32; 2] = [1, 0x6200_0000];

const GETATTR: u32 = 9;
const GETFH: u32 = 10;
const LOOKUP: u32 = 15;
const PUTFH: u32 = 22;
const PUTROOTFH: u32 = 24;
const READDIR: u32 = 26;
const RENAME: u32 = 29;
const SAVEFH: u32 = 32;

const STALE: u32 = 70;
const MOVED: u32 = 10_019;

/// RPCs, one after the other.
#[derive(Default)]
struct Rpcs {
    trace: Trace,
    xid: u32,
}

impl Rpcs {
    /// An RPC of NFS that takes 100 microseconds.
    fn rpc(&mut self, [version, procedure]: [u32; 2], arguments: &[u32], results: &[u32]) -> &mut Self {
        self.rpc_of([NFS, version, procedure], arguments, results)
    }

    /// The same of any program.
    fn rpc_of(&mut self, procedure: [u32; 3], arguments: &[u32], results: &[u32]) -> &mut Self {
        self.xid += 1;
        let (xid, time) = (self.xid, u64::from(self.xid) * 1000);
        let call = message(MSG, xid, &Lists::default(), &call(xid, procedure, &words(arguments)));
        let reply = message(MSG, xid, &Lists::default(), &reply(xid, &words(results)));
        let (call, reply) = (self.trace.wire.send(Client, &call), self.trace.wire.send(Server, &reply));
        self.trace.at(time, &call).accept(time + 5).at(time + 100, &reply).acknowledge(time + 105);
        self
    }

    /// A COMPOUND of NFSv4.0 with so many operations, and its reply: the status, and so many results.
    fn compound(&mut self, (count, operations): (u32, &[&[u32]]), (status, results): (u32, &[&[u32]])) -> &mut Self {
        let arguments = [&[0, 0, count], &operations.concat()[..]].concat();
        let results = [&[status, 0, results.len() as u32], &results.concat()[..]].concat();
        self.rpc([4, 1], &arguments, &results)
    }

    /// LOOKUP of NFSv3.
    fn lookup(&mut self, folder: u32, name: [u32; 2], file: u32) -> &mut Self {
        self.rpc([3, 3], &[&[4, folder], &name[..]].concat(), &[0, 4, file, 0, 0])
    }

    /// GETATTR of NFSv3.
    fn attributes(&mut self, file: u32) -> &mut Self {
        self.rpc([3, 1], &[4, file], &[0; 22])
    }

    /// READDIRPLUS of NFSv3 that lists one file, with its handle.
    fn list(&mut self, folder: u32, name: &[u32], file: u32) -> &mut Self {
        let entry = [&[1, 0, 7][..], name, &[0, 1, 0, 1, 4, file]].concat();
        self.rpc([3, 17], &[4, folder, 0, 0, 0, 0, 512, 4096], &[&[0, 0, 0, 0][..], &entry, &[0, 1]].concat())
    }

    fn written(&self) -> String {
        written("names.pcap", &self.trace.frames())
    }
}

fn text(arguments: &[&str]) -> String {
    stdout(&run(arguments)).to_owned()
}

fn json(arguments: &[&str]) -> Vec<Value> {
    text(arguments).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Names that the arguments of the last RPC show for its file.
fn last_name(file: &str) -> Value {
    let rpcs = json(&["transactions", "--quiet", "--json", file]);
    let last = rpcs.iter().rfind(|record| record["type"] == "transaction").unwrap();
    last["arguments"].as_array().unwrap().iter().rev().find(|operation| !operation["handle"].is_null()).unwrap()["handle"]
        ["file_name"]
        .clone()
}

#[test]
fn rename_moves_the_name_of_a_file() {
    let mut rpcs = Rpcs::default();
    rpcs.lookup(FOLDER, A, FILE).attributes(FILE);
    assert_eq!(last_name(&rpcs.written()), "a");
    let rename = [&[4, FOLDER], &A[..], &[4, OTHER_FOLDER], &B[..]].concat();
    // NFS3ERR_ACCES: the file keeps its name.
    rpcs.rpc([3, 14], &rename, &[13, 0, 0, 0, 0]).attributes(FILE);
    assert_eq!(last_name(&rpcs.written()), "a");
    rpcs.rpc([3, 14], &rename, &[0, 0, 0, 0, 0]).attributes(FILE);
    assert_eq!(last_name(&rpcs.written()), "b");
    let names: Vec<Value> = json(&["top", "--quiet", "--by", "name", "--json", &rpcs.written()])
        .iter()
        .filter(|row| row["type"] == "top")
        .map(|row| serde_json::json!([row["key"], row["calls"]]))
        .collect();
    assert_eq!(names, [serde_json::json!(["a", 5]), serde_json::json!(["b", 1])]);
}

#[test]
fn rename_of_nfsv4_moves_the_name_of_a_file() {
    let mut rpcs = Rpcs::default();
    let lookup: &[&[u32]] = &[&[PUTFH, 4, FOLDER, LOOKUP], &A, &[GETFH]];
    rpcs.compound((3, lookup), (0, &[&[PUTFH, 0], &[LOOKUP, 0], &[GETFH, 0, 4, FILE]]));
    let rename: &[&[u32]] = &[&[PUTFH, 4, FOLDER, SAVEFH, PUTFH, 4, OTHER_FOLDER, RENAME], &A, &B];
    let changes = [&[RENAME, 0], &[0; 10][..]].concat();
    rpcs.compound((4, rename), (0, &[&[PUTFH, 0], &[SAVEFH, 0], &[PUTFH, 0], &changes]));
    rpcs.compound((2, &[&[PUTFH, 4, FILE, GETATTR, 0]]), (0, &[&[PUTFH, 0], &[GETATTR, 0, 0, 0]]));
    assert_eq!(last_name(&rpcs.written()), "b");
}

/// The capture `one_name_in_two_folders`: 2 RPCs about a file, and 3 about another.
pub(crate) fn one_name_in_two_folders() -> Vec<Record> {
    let mut rpcs = Rpcs::default();
    rpcs.lookup(FOLDER, A, FILE).lookup(OTHER_FOLDER, A, OTHER_FILE);
    rpcs.attributes(FILE).attributes(OTHER_FILE).attributes(OTHER_FILE);
    rpcs.trace.frames()
}

/// The capture `referral`.
pub(crate) fn referral() -> Vec<Record> {
    referred(true).trace.frames()
}

#[test]
fn files_of_one_name_in_two_folders_are_two_rows() {
    let file = path("one_name_in_two_folders");
    let rows = json(&["top", "--quiet", "--by", "name", "--json", &file]);
    let rows: Vec<Value> = rows
        .iter()
        .filter(|row| row["type"] == "top")
        .map(|row| serde_json::json!([row["key"], row["folder"], row["calls"]]))
        .collect();
    assert_eq!(rows, [serde_json::json!(["a", "000000d2", 3]), serde_json::json!(["a", "000000d1", 2])]);
    let text = text(&["top", "--by", "name", &file]);
    // The CRC-32 of the handles.
    for folder in ["0xd0903d5e", "0x49996ce4"] {
        assert!(text.contains(&format!("a in {folder} on 192.0.2.2\n")), "{text}");
    }
    let selected = |name: &str| {
        let rpcs = json(&["transactions", "--quiet", "--json", "--file", name, &file]);
        rpcs.iter().filter(|record| record["type"] == "transaction").count()
    };
    let counts =
        ["a", "a in 0xd0903d5e on 192.0.2.2", "a in 0x49996ce4 on 192.0.2.2", "a in 0x49996ce4", "b"].map(selected);
    assert_eq!(counts, [5, 2, 3, 0, 0]);
}

#[test]
fn a_failure_is_that_of_the_operation_that_failed() {
    let mut rpcs = Rpcs::default();
    for _ in 0..2 {
        rpcs.compound((2, &[&[PUTFH, 4, FILE, GETATTR, 0]]), (STALE, &[&[PUTFH, STALE]]));
    }
    let file = rpcs.written();
    let failures = &json(&["stats", "--quiet", "--json", &file])[0]["failures"];
    assert_eq!((&failures[0]["operation"], &failures[0]["count"]), (&"NFSv4 PUTFH".into(), &2.into()), "{failures}");
    let diagnosis = text(&["diagnose", &file]);
    assert!(diagnosis.contains("2 of 2 RPCs failed: NFSv4 PUTFH with NFS4ERR_STALE 2 times."), "{diagnosis}");
}

/// LOOKUP finds a folder whose file system is elsewhere: its GETFH fails. The client asks for `fs_locations`, or does not.
fn referred(is_followed: bool) -> Rpcs {
    let mut rpcs = Rpcs::default();
    let lookup: &[&[u32]] = &[&[PUTFH, 4, FOLDER, LOOKUP], &A, &[GETFH]];
    for _ in 0..2 {
        rpcs.compound((3, lookup), (MOVED, &[&[PUTFH, 0], &[LOOKUP, 0], &[GETFH, MOVED]]));
    }
    if is_followed {
        let locations: &[&[u32]] = &[&[PUTFH, 4, FOLDER, LOOKUP], &A, &[GETATTR, 1, 1 << 24]];
        rpcs.compound((3, locations), (0, &[&[PUTFH, 0], &[LOOKUP, 0], &[GETATTR, 0, 1, 1 << 24, 0]]));
    }
    rpcs
}

/// A client may know the locations, so that it asks for none.
#[test]
fn a_referral_is_no_failure() {
    let referral = "2 RPCs referred to another server (NFS4ERR_MOVED, then fs_locations): no failure; the capture does not show the \
                    traffic with that server.";
    let unfollowed = "2 RPCs ended with NFS4ERR_MOVED: the file system is on another server. That is no failure; the capture does \
                      not show that the client asks where (fs_locations), which it may know.";
    for (is_followed, expected) in [(true, [true, false]), (false, [false, true])] {
        let diagnosis = text(&["diagnose", &referred(is_followed).written()]);
        let words = diagnosis.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!([referral, unfollowed].map(|sentence| words.contains(sentence)), expected, "{diagnosis}");
        assert!(!words.contains("failed:"), "{diagnosis}");
    }
}

/// A SYN of NFS over TCP to the server 192.0.2.36, and the answer.
fn nfs_over_tcp() -> [Packet; 2] {
    let mut packets = [
        tcp::packet(tcp::CLIENT, 1, ([1, 0], tcp::SYN), &[], &[]),
        tcp::packet(tcp::SERVER, 2, ([1, 2], tcp::ACK), &[], &[]),
    ];
    for (packet, (address, port)) in packets.iter_mut().zip([(19, 22), (15, 20)]) {
        packet[address] = 36;
        packet[port..port + 2].copy_from_slice(&2049_u16.to_be_bytes());
    }
    packets
}

/// NFS over TCP that began before the reply with the locations is another mount's.
#[test]
fn a_referral_names_the_server_that_follows() {
    let follows = "then NFS over TCP, which is not read, to 192.0.2.36 (2 segments from frame";
    for (time, expected) in [(0, false), (9000, true)] {
        let mut rpcs = referred(true);
        rpcs.trace.at(time, &nfs_over_tcp());
        let diagnosis = text(&["diagnose", &rpcs.written()]);
        let words = diagnosis.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words.contains(follows), expected, "{diagnosis}");
    }
}

#[test]
fn a_mount_over_tcp_is_told_its_option() {
    let mut trace = Trace::default();
    trace.packets.clear();
    trace.at(0, &nfs_over_tcp());
    let diagnosis = text(&["diagnose", &written("tcp.pcap", &trace.frames())]);
    let words = diagnosis.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = "NFS over TCP to 192.0.2.36, and no RDMA: these mounts use TCP (mount with proto=rdma,port=20049)";
    assert!(words.contains(expected), "{diagnosis}");
}

#[test]
fn no_referral_counts_as_failed() {
    let file = referred(false).written();
    let rows = json(&["top", "--quiet", "--by", "client", "--json", &file]);
    assert_eq!((&rows[0]["calls"], &rows[0]["failed"]), (&2.into(), &0.into()), "{rows:?}");
    let diagnosis = &json(&["diagnose", "--quiet", "--json", &file])[0];
    assert_eq!(diagnosis["causes"], serde_json::json!([]), "{diagnosis}");
    let file = path("referral");
    let failed = json(&["transactions", "--quiet", "--json", "--failed", &file]);
    assert!(failed.iter().all(|record| record["type"] != "transaction"), "{failed:?}");
    let stats = &json(&["stats", "--quiet", "--json", &file])[0];
    assert_eq!((&stats["failures"], &stats["procedures"][0]["failed"]), (&serde_json::json!([]), &0.into()), "{stats}");
    let rows = |by: &str| -> Vec<Value> {
        let rows = json(&["top", "--quiet", "--by", by, "--json", &file]);
        let rows = rows.iter().filter(|row| row["type"] == "top");
        rows.map(|row| serde_json::json!([row["key"], row["calls"], row["failed"]])).collect()
    };
    assert_eq!(rows("client"), [serde_json::json!(["192.0.2.1", 3, 0])]);
    // The status is shown as it is.
    assert_eq!(rows("status"), [serde_json::json!(["NFS4ERR_MOVED", 2, 0]), serde_json::json!(["SUCCESS", 1, 0])]);
}

#[test]
fn a_single_rpc_has_no_percentiles() {
    let mut rpcs = Rpcs::default();
    let file = rpcs.attributes(FILE).written();
    let diagnosis = text(&["diagnose", &file]);
    assert!(diagnosis.contains("1 RPC, all answered; it took 100 µs"), "{diagnosis}");
    assert!(diagnosis.contains("Nothing stands out: the only known latency is 100 µs."), "{diagnosis}");
    let row = |text: String| text.lines().find(|line| line.contains("NFSv3 GETATTR")).unwrap().to_owned();
    let top = row(text(&["top", &file]));
    assert_eq!(top.split_whitespace().skip(5).collect::<Vec<_>>(), ["0.100", "-", "100.0%", "NFSv3", "GETATTR"]);
    let stats = row(text(&["stats", &file]));
    assert_eq!(stats.split_whitespace().skip(7).collect::<Vec<_>>(), ["0.100", "-", "-", "0.100"], "{stats}");
    let twice = rpcs.attributes(FILE).written();
    assert!(text(&["diagnose", &twice]).contains("the median latency is 100 µs, the 99th"), "two have percentiles");
}

/// The field of the last RPC, which shows the name or the path of the file.
fn last(field: &str, file: &str) -> Value {
    let rpcs = json(&["transactions", "--quiet", "--json", file]);
    rpcs.iter().rfind(|record| record["type"] == "transaction").unwrap()[field].clone()
}

/// Names of eight and of three letters, with their length.
const SECRET: [u32; 3] = [8, 0x5365_6372, 0x6574_3031];
const DIR: [u32; 2] = [3, 0x6469_7200];
/// A directory that was mounted: its handle, and `/export` with its length.
const MOUNTED: u32 = 0xe1;
const EXPORT: [u32; 3] = [7, 0x2f65_7870, 0x6f72_7400];

#[test]
fn a_listing_with_handles_names_files() {
    let mut rpcs = Rpcs::default();
    rpcs.list(FOLDER, &SECRET, FILE).attributes(FILE);
    let file = rpcs.written();
    assert_eq!((last("file_name", &file), last("path", &file)), ("Secret01".into(), Value::Null));
    // "." and ".." are no names of files.
    let mut rpcs = Rpcs::default();
    rpcs.list(FOLDER, &[1, 0x2e00_0000], FOLDER).list(FOLDER, &[2, 0x2e2e_0000], FILE).attributes(FILE);
    assert_eq!(last("file_name", &rpcs.written()), Value::Null);
}

#[test]
fn a_listing_of_nfsv4_names_files_below_the_root() {
    let mut rpcs = Rpcs::default();
    rpcs.compound((2, &[&[PUTROOTFH, GETFH]]), (0, &[&[PUTROOTFH, 0], &[GETFH, 0, 4, MOUNTED]]));
    let lookup: &[&[u32]] = &[&[PUTFH, 4, MOUNTED, LOOKUP], &DIR, &[GETFH]];
    rpcs.compound((3, lookup), (0, &[&[PUTFH, 0], &[LOOKUP, 0], &[GETFH, 0, 4, FOLDER]]));
    let listing: &[&[u32]] = &[&[PUTFH, 4, FOLDER, READDIR, 0, 0, 0, 0, 512, 4096, 1, 1 << 19]];
    // Cookie, name, one attribute: the handle.
    let entry = [&[1, 0, 3][..], &SECRET, &[1, 1 << 19, 8, 4, FILE]].concat();
    let results = [&[READDIR, 0, 0, 0][..], &entry, &[0, 1]].concat();
    rpcs.compound((2, listing), (0, &[&[PUTFH, 0], &results]));
    rpcs.compound((2, &[&[PUTFH, 4, FILE, GETATTR, 0]]), (0, &[&[PUTFH, 0], &[GETATTR, 0, 0, 0]]));
    let file = rpcs.written();
    assert_eq!((last("file_name", &file), last("path", &file)), ("Secret01".into(), "/dir/Secret01".into()));
    let rows = json(&["top", "--quiet", "--by", "handle", "--json", &file]);
    let paths: Vec<_> = rows.iter().filter_map(|row| row["path"].as_str()).collect();
    assert!(["/", "/dir", "/dir/Secret01"].iter().all(|path| paths.contains(path)), "{paths:?}");
}

/// MNT, two folders and a file in the second, which moves with its folder.
#[test]
fn a_path_leads_from_the_mount_and_follows_renames() {
    let mut rpcs = Rpcs::default();
    rpcs.rpc_of([100_005, 3, 1], &EXPORT, &[0, 4, MOUNTED, 1, 1]);
    rpcs.lookup(MOUNTED, A, FOLDER).lookup(FOLDER, DIR, OTHER_FOLDER).list(OTHER_FOLDER, &SECRET, FILE);
    let file = rpcs.attributes(FILE).written();
    assert_eq!(last("path", &file), "/export/a/dir/Secret01");
    let selected = |name: &str| {
        let rpcs = json(&["transactions", "--quiet", "--json", "--file", name, &file]);
        rpcs.iter().filter(|record| record["type"] == "transaction").count()
    };
    assert_eq!(["Secret01", "/export/a/dir/Secret01", "dir/Secret01", "/Secret01"].map(selected), [1, 1, 0, 0]);
    assert!(text(&["top", "--by", "name", &file]).contains("/export/a/dir/Secret01"));
    rpcs.rpc([3, 14], &[&[4, MOUNTED], &A[..], &[4, MOUNTED], &B[..]].concat(), &[0, 0, 0, 0, 0]).attributes(FILE);
    assert_eq!(last("path", &rpcs.written()), "/export/b/dir/Secret01");
}

#[test]
fn a_path_from_an_unknown_folder_says_so() {
    let mut rpcs = Rpcs::default();
    rpcs.lookup(FOLDER, DIR, OTHER_FOLDER).list(OTHER_FOLDER, &SECRET, FILE).attributes(FILE);
    let file = rpcs.written();
    assert_eq!(last("path", &file), "…/dir/Secret01");
    let explained = text(&["explain", "--xid", last("rdma_xid", &file).as_str().unwrap(), &file]);
    assert!(explained.contains("(\"…/dir/Secret01\")"), "{explained}");
}

/// A name that was removed belongs to the file that is created next; a handle that is still used keeps the name by which it was known.
#[test]
fn remove_frees_a_name() {
    let mut rpcs = Rpcs::default();
    rpcs.lookup(FOLDER, A, FILE).rpc([3, 12], &[&[4, FOLDER], &A[..]].concat(), &[0, 0, 0]);
    // The file of the removed name does not follow a RENAME of that name.
    rpcs.rpc([3, 14], &[&[4, FOLDER], &A[..], &[4, FOLDER], &B[..]].concat(), &[0, 0, 0, 0, 0]).attributes(FILE);
    assert_eq!(last("file_name", &rpcs.written()), "a");
}

#[test]
fn names_of_a_listing_are_in_no_anonymized_copy() {
    let mut rpcs = Rpcs::default();
    let file = rpcs.list(FOLDER, &SECRET, FILE).attributes(FILE).written();
    let copy = written("listing_copy.pcap", &[]);
    let done = run(&["anonymize", "--quiet", &file, "-o", &copy]);
    assert!(done.status.success(), "{}", crate::command::stderr(&done));
    let holds = |file: &str| std::fs::read(file).unwrap().windows(8).any(|octets| octets == b"Secret01");
    assert_eq!((holds(&file), holds(&copy)), (true, false));
    assert!(last("file_name", &copy).is_string(), "the copy names the file by another name");
}

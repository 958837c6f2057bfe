//! Promises above RPC: operations that a server refuses for now, asynchronous COPYs, recalled delegations, locks. Each is told with what
//! keeps it, and nobody is accused of what the capture may lack.

use rpcrdma_answers::diagnosis::Diagnosis;
use serde_json::{Value, json};

use crate::command::{run, stdout};
use crate::diagnosis::{MILLISECOND, SECOND, SENDS_OF_4096, Scene, causes, diagnose, text};
use crate::gaps::written;
use crate::synthetic::By::{self, Client, Server};
use crate::synthetic::nfs4::{
    self, BADSESSION, CREATE_SESSION, DELAY, DENIED, EXPIRED, GRACE, LOCK, OPEN, SEQUENCE, STALE_CLIENTID, WRITE,
};
use crate::synthetic::rpc::{Lists, MSG, message};
use crate::transcode::Record;

const FILE: &[u8] = b"file handle";
const COPY: [u32; 4] = [1, 7, 7, 7];
const OTHER_COPY: [u32; 4] = [1, 8, 8, 8];

/// Clients of a server, 192.0.2.10 and 192.0.2.11, with a tenth of a second of healthy RPCs.
struct Clients(Scene);

impl Clients {
    fn new() -> Self {
        Self::of(2)
    }

    fn of(clients: u8) -> Self {
        let mut scene = Scene::new(clients, &SENDS_OF_4096);
        for wire in 0..usize::from(clients) {
            scene.rpcs(wire, 10, (10 * MILLISECOND + 5 * MILLISECOND * wire as u64, 10 * MILLISECOND), 200);
        }
        Self(scene)
    }

    /// A message that the receiver acknowledges.
    fn send(&mut self, wire: usize, by: By, time: u64, xid: u32, payload: &[u8]) -> &mut Self {
        let packets = self.0.send(wire, by, &message(MSG, xid, &Lists::default(), payload));
        self.0.at(time, &packets);
        self.0.acknowledge(wire, if by == Client { Server } else { Client }, time + 5);
        self
    }

    /// An RPC of a client that takes 100 microseconds.
    fn rpc(&mut self, wire: usize, time: u64, xid: u32, [call, reply]: [Vec<u8>; 2]) -> &mut Self {
        self.send(wire, Client, time, xid, &call).send(wire, Server, time + 100, xid, &reply)
    }

    /// A call of the server that takes 100 microseconds.
    fn callback(&mut self, wire: usize, time: u64, xid: u32, [call, reply]: [Vec<u8>; 2]) -> &mut Self {
        self.send(wire, Server, time, xid, &call).send(wire, Client, time + 100, xid, &reply)
    }

    /// OPENs, one a second, that the server refuses with this status.
    fn refused_opens(&mut self, wire: usize, time: u64, [xid, count]: [u32; 2], name: &[u8], status: u32) -> &mut Self {
        for number in 0..count {
            let (xid, time) = (xid + number, time + SECOND * u64::from(number));
            self.rpc(wire, time, xid, [nfs4::open(xid, name), nfs4::failed_reply(xid, OPEN, status)]);
        }
        self
    }

    fn open(&mut self, wire: usize, time: u64, xid: u32, name: &[u8]) -> &mut Self {
        self.rpc(wire, time, xid, [nfs4::open(xid, name), nfs4::open_reply(xid, FILE)])
    }

    /// EXCHANGE_ID, which takes 100 microseconds, and after that CREATE_SESSION at this time.
    fn set_up(&mut self, wire: usize, time: u64, xid: u32) -> &mut Self {
        let name = nfs4::exchange_id_reply(xid, [3, 4], 0, b"server", b"scope");
        self.rpc(wire, time - 1000, xid, [nfs4::exchange_id(xid), name]);
        let created = nfs4::create_session_reply(xid + 1, [5, 6, 7, wire as u32], [16, 4]);
        self.rpc(wire, time, xid + 1, [nfs4::create_session(xid + 1, [3, 4], [16, 4]), created])
    }

    /// The packets, with another RPC at the end.
    fn until(mut self, time: u64) -> Vec<Record> {
        let xid = self.0.call(0, time);
        self.0.answer(0, xid, time + 100);
        self.0.records()
    }
}

fn records(frames: &[Record], command: &str, kind: &str) -> Vec<Value> {
    let file = written(command, frames);
    let output = run(&[command, "--quiet", "--json", &file]);
    let records = stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap());
    records.filter(|record: &Value| record["type"] == kind).collect()
}

/// Promises that `pending` lists: kind, state, owed, by whom, and the file.
fn open(frames: &[Record]) -> Vec<Value> {
    let promises = records(frames, "pending", "promise");
    let short = |promise: &Value| {
        let fields = ["kind", "state", "owed", "owed_by", "file_name"];
        Value::from(fields.map(|field| promise[field].clone()).to_vec())
    };
    promises.iter().map(short).collect()
}

fn evidence(diagnosis: &Diagnosis, name: &str) -> String {
    let cause = diagnosis.causes.iter().find(|cause| cause.cause == name);
    cause.unwrap_or_else(|| panic!("{}", text(diagnosis))).evidence.join("\n")
}

/// OPENs of both clients, refused in the grace period.
pub(crate) fn both_in_grace() -> Vec<Record> {
    let mut clients = Clients::new();
    for wire in [0, 1] {
        let time = SECOND + 1000 * wire as u64;
        clients.refused_opens(wire, time, [0x9000, 3], b"hello.txt", GRACE);
        clients.open(wire, time + 4 * SECOND, 0x9100, b"hello.txt");
    }
    clients.until(8 * SECOND)
}

/// The capture `grace`: six refusals, a second apart, and the OPEN that succeeds 6.6 s after the first.
pub(crate) fn in_grace() -> Vec<Record> {
    let mut clients = Clients::of(1);
    clients.refused_opens(0, SECOND, [0x9000, 6], b"hello.txt", GRACE).open(
        0,
        7 * SECOND + 600_000,
        0x9100,
        b"hello.txt",
    );
    clients.until(8 * SECOND)
}

#[test]
fn an_open_that_waited_for_grace_is_one_operation() {
    let frames = in_grace();
    let diagnosis = diagnose(&frames);
    assert_eq!(causes(&diagnosis), ["server-grace"], "{}", text(&diagnosis));
    let told = evidence(&diagnosis, "server-grace");
    let sentence = "192.0.2.2 was in its grace period for 6.60 s: one OPEN of hello.txt was refused 6 times, and made again after it.";
    assert!(told.contains(sentence), "{told}");
    assert_eq!(diagnosis.causes[0].owner_address.as_deref(), Some("192.0.2.2"));
    assert!((6_600_000_000..6_601_000_000).contains(&diagnosis.causes[0].waiting_ns.unwrap()));
    assert_eq!(open(&frames), Vec::<Value>::new());
    let transactions = records(&frames, "transactions", "transaction");
    let of = |xid: &str| transactions.iter().find(|rpc| rpc["rdma_xid"] == xid).unwrap();
    assert_eq!(of("0x00009000")["opens"], "retry");
    let kept = &of("0x00009100")["keeps"][0];
    let told = ["kind", "end", "refusals", "status", "waited_ns"].map(|field| kept[field].clone());
    assert_eq!(told, [json!("retry"), json!("kept"), json!(6), json!("NFS4ERR_GRACE"), json!(6_600_000_000_u64)]);
    let stats = &records(&frames, "stats", "stats")[0]["mounts"][0]["promises"][0];
    let told = ["kind", "ended", "open", "refusals", "waited_ns"].map(|field| stats[field].clone());
    assert_eq!(told, [json!("retry"), json!(1), json!(0), json!(6), json!(6_600_000_000_u64)]);
}

#[test]
fn operations_of_two_clients_on_two_files_are_told_apart() {
    let mut clients = Clients::new();
    clients.refused_opens(0, SECOND, [0x9000, 3], b"a.txt", DELAY);
    clients.refused_opens(1, SECOND + 1000, [0x9000, 3], b"b.txt", DELAY);
    // The same file by the other client, and another file by the same client.
    clients.open(1, 5 * SECOND, 0x9100, b"a.txt").open(1, 6 * SECOND, 0x9101, b"b.txt").open(
        0,
        7 * SECOND,
        0x9102,
        b"b.txt",
    );
    let frames = clients.until(8 * SECOND);
    assert_eq!(open(&frames), [json!(["retry", "open", "retry", "192.0.2.10", "a.txt"])]);
    let told = evidence(&diagnose(&frames), "refused-for-now");
    assert!(told.contains("NFS4ERR_DELAY 6 times; 1 has not been made again when the capture ended"), "{told}");
}

#[test]
fn a_retry_may_have_another_stateid() {
    let mut clients = Clients::new();
    let write = |xid, stateid| nfs4::write_with(xid, FILE, [stateid, 9, 9, stateid]);
    clients.rpc(0, SECOND, 0x9000, [write(0x9000, 1), nfs4::failed_reply(0x9000, WRITE, DELAY)]);
    clients.rpc(0, 3 * SECOND, 0x9001, [write(0x9001, 2), nfs4::write_reply(0x9001)]);
    let frames = clients.until(4 * SECOND);
    assert_eq!(open(&frames), Vec::<Value>::new());
    assert_eq!(causes(&diagnose(&frames)), ["refused-for-now"]);
}

#[test]
fn an_operation_that_the_client_gave_up_has_no_duration() {
    let mut clients = Clients::new();
    clients.refused_opens(0, SECOND, [0x9000, 2], b"a.txt", DELAY);
    let frames = clients.until(100 * SECOND);
    let promise = &records(&frames, "pending", "promise")[0];
    let told = ["state", "age_ns", "owed_by"].map(|field| promise[field].clone());
    assert_eq!(told, [json!("given up"), Value::Null, Value::Null]);
    let diagnosis = diagnose(&frames);
    assert_eq!(causes(&diagnosis), Vec::<&str>::new(), "{}", text(&diagnosis));
}

#[test]
fn retries_in_flight_on_several_files_end_one_by_one() {
    let mut clients = Clients::new();
    let name = |number: u32| format!("file {number}");
    for number in 0..16 {
        let (xid, time) = (0x9000 + number, SECOND + 300 * u64::from(number));
        clients.send(0, Client, time, xid, &nfs4::open(xid, name(number).as_bytes()));
    }
    for number in (0..16).rev() {
        let (xid, time) = (0x9000 + number, SECOND + 10_000 + 300 * u64::from(number));
        clients.send(0, Server, time, xid, &nfs4::failed_reply(xid, OPEN, DELAY));
    }
    for number in (0..16).filter(|number| number % 5 != 0) {
        clients.open(0, 2 * SECOND + 300 * u64::from(number * 7 % 16), 0x9100 + number, name(number).as_bytes());
    }
    let frames = clients.until(4 * SECOND);
    let expected: Vec<Value> =
        [0, 5, 10, 15].map(|number| json!(["retry", "open", "retry", "192.0.2.10", name(number)])).to_vec();
    let mut open = open(&frames);
    open.sort_by_key(|promise| promise[4].as_str().map(|name| name.split(' ').nth(1).unwrap().parse::<u32>().unwrap()));
    assert_eq!(open, expected);
}

#[test]
fn a_promise_may_be_kept_on_another_connection() {
    let mut clients = Clients::new();
    clients.refused_opens(0, SECOND, [0x9000, 3], b"a.txt", GRACE);
    clients.rpc(0, 4 * SECOND, 0x9010, [nfs4::copy(0x9010), nfs4::copy_reply(0x9010, COPY)]);
    clients.0.disconnect(0, Server, 5 * SECOND);
    clients.0.reconnect(0, 5 * SECOND + 1000);
    clients.open(0, 6 * SECOND, 0x9100, b"a.txt");
    clients.callback(0, 7 * SECOND, 0x9200, [nfs4::offloaded(0x9200, COPY), nfs4::offloaded_reply(0x9200)]);
    let frames = clients.until(9 * SECOND);
    assert_eq!(open(&frames), Vec::<Value>::new());
    assert!(causes(&diagnose(&frames)).contains(&"server-grace"));
}

#[test]
fn a_gap_of_the_capture_takes_the_accusation_away() {
    let mut clients = Clients::new();
    clients.refused_opens(0, SECOND, [0x9000, 3], b"a.txt", DELAY);
    clients.rpc(0, 4 * SECOND, 0x9010, [nfs4::copy(0x9010), nfs4::copy_reply(0x9010, COPY)]);
    // Packets of the server that the capture lacks.
    clients.0.wires[0].server.next += 2;
    let xid = clients.0.call(0, 6 * SECOND);
    clients.0.answer(0, xid, 6 * SECOND + 100);
    let frames = clients.until(20 * SECOND);
    let unknown = |kind, owed, name| json!([kind, "unknown", owed, Value::Null, name]);
    assert_eq!(open(&frames), [unknown("retry", "retry", json!("a.txt")), unknown("copy", "CB_OFFLOAD", Value::Null)]);
    let diagnosis = diagnose(&frames);
    let accused = ["refused-for-now", "copy-unfinished"].iter().any(|cause| causes(&diagnosis).contains(cause));
    assert!(!accused, "{}", text(&diagnosis));
}

/// OPEN of a file of which another client has a delegation: refused with NFS4ERR_DELAY until the delegation is returned, if it is.
pub(crate) fn delayed_by_delegation(is_returned: bool) -> Vec<Record> {
    let mut clients = Clients::new();
    clients.refused_opens(1, SECOND, [0x9000, 4], b"a.txt", DELAY);
    clients.callback(0, SECOND + 200, 0x9200, [nfs4::recall(0x9200, FILE), nfs4::recall_reply(0x9200)]);
    if is_returned {
        clients.rpc(0, 5 * SECOND, 0x9300, [nfs4::delegreturn(0x9300, FILE), nfs4::delegreturn_reply(0x9300)]);
        clients.open(1, 6 * SECOND, 0x9100, b"a.txt");
    }
    clients.until(8 * SECOND)
}

#[test]
fn the_client_with_the_delegation_is_named_for_refusals() {
    let diagnosis = diagnose(&delayed_by_delegation(true));
    assert_eq!(causes(&diagnosis), ["delegation-recall"], "{}", text(&diagnosis));
    let cause = &diagnosis.causes[0];
    assert_eq!((cause.owner, cause.owner_address.as_deref()), (Some("client"), Some("192.0.2.10")));
    let told = evidence(&diagnosis, "delegation-recall");
    assert!(
        told.contains("192.0.2.2 refused it 4 times, while client 192.0.2.10 took 4.00 s after CB_RECALL"),
        "{told}"
    );
}

#[test]
fn a_client_that_owes_a_delegation_is_named() {
    let frames = delayed_by_delegation(false);
    let recall = json!(["delegation", "open", "DELEGRETURN", "192.0.2.10", Value::Null]);
    assert_eq!(open(&frames), [json!(["retry", "open", "DELEGRETURN", "192.0.2.10", "a.txt"]), recall]);
    let diagnosis = diagnose(&frames);
    assert_eq!(causes(&diagnosis), ["delegation-recall"], "{}", text(&diagnosis));
    let told = evidence(&diagnosis, "delegation-recall");
    assert!(told.contains("client 192.0.2.10 owes DELEGRETURN since frame"), "{told}");
    let output = run(&["pending", &written("owed", &frames)]);
    assert!(stdout(&output).contains("client 192.0.2.10 owes DELEGRETURN since frame"), "{}", stdout(&output));
}

#[test]
fn a_recall_for_another_file_explains_no_refusal() {
    let mut clients = Clients::new();
    clients.refused_opens(1, SECOND, [0x9000, 4], b"a.txt", DELAY);
    clients.callback(0, SECOND + 200, 0x9200, [nfs4::recall(0x9200, b"other"), nfs4::recall_reply(0x9200)]);
    clients.open(1, 6 * SECOND, 0x9100, b"a.txt");
    let diagnosis = diagnose(&clients.until(7 * SECOND));
    assert_eq!(causes(&diagnosis), ["refused-for-now"], "{}", text(&diagnosis));
}

/// Operations that are refused once, for no reason that the capture shows, and made again two seconds later.
pub(crate) fn delayed(name: &[u8]) -> Vec<Record> {
    let mut clients = Clients::new();
    clients.refused_opens(0, SECOND, [0x9000, 1], name, DELAY).open(0, 3 * SECOND, 0x9100, name);
    clients.until(4 * SECOND)
}

/// LOCKs that are denied, and granted after some seconds.
pub(crate) fn locked(seconds: u64) -> Vec<Record> {
    let mut clients = Clients::new();
    clients.rpc(0, SECOND, 0x9000, [nfs4::lock(0x9000, FILE, 0), nfs4::failed_reply(0x9000, LOCK, DENIED)]);
    clients.rpc(0, (1 + seconds) * SECOND, 0x9001, [nfs4::lock(0x9001, FILE, 0), nfs4::lock_reply(0x9001)]);
    clients.until((2 + seconds) * SECOND)
}

/// The lines about promises of the first mount.
fn promised(frames: &[Record]) -> String {
    diagnose(frames).mounts.iter().flat_map(|mount| mount.promises.clone()).collect::<Vec<_>>().join("\n")
}

/// The capture `copy_offloaded`: two COPYs, whose ends come in the other order.
pub(crate) fn copies_offloaded() -> Vec<Record> {
    let mut clients = Clients::of(1);
    clients.rpc(0, SECOND, 0x9010, [nfs4::copy(0x9010), nfs4::copy_reply(0x9010, COPY)]);
    clients.rpc(0, SECOND + 1000, 0x9011, [nfs4::copy(0x9011), nfs4::copy_reply(0x9011, OTHER_COPY)]);
    clients.callback(0, 3 * SECOND, 0x9200, [nfs4::offloaded(0x9200, OTHER_COPY), nfs4::offloaded_reply(0x9200)]);
    clients.callback(0, 4 * SECOND, 0x9201, [nfs4::offloaded(0x9201, COPY), nfs4::offloaded_reply(0x9201)]);
    clients.until(9 * SECOND)
}

#[test]
fn a_copy_is_complete_with_its_callback() {
    let frames = copies_offloaded();
    assert_eq!(open(&frames), Vec::<Value>::new());
    assert_eq!(causes(&diagnose(&frames)), Vec::<&str>::new());
    let told = promised(&frames);
    assert!(
        told.contains(
            "asynchronous COPYs: 2 complete; the longest: COPY in frame 44, CB_OFFLOAD in frame 56, 3.00 s later"
        ),
        "{told}"
    );
    let transactions = records(&frames, "transactions", "transaction");
    let offload = |operation: &str, index: usize| {
        let rpc = transactions.iter().filter(|rpc| rpc["operation"] == operation).nth(index).unwrap();
        let arguments = rpc["arguments"].as_array().unwrap();
        arguments.iter().find(|arguments| arguments["offload"].is_object()).unwrap()["offload"].clone()
    };
    let copy = offload("NFSv4 COPY", 0);
    assert_eq!((&copy["synchronous"], &copy["consecutive"]), (&json!(false), &json!(true)));
    assert_eq!(
        (&copy["callback_stateid"], &copy["committed"]),
        (&json!("00000001000000070000000700000007"), &json!("UNSTABLE4"))
    );
    let end = offload("NFSv4 CB_OFFLOAD", 0);
    assert_eq!(
        (&end["copied_octets"], &end["committed"], &end["status"]),
        (&json!(1 << 20), &json!("FILE_SYNC4"), &json!(0))
    );
}

#[test]
fn a_copy_may_end_without_a_later_callback() {
    type Ending = fn(&mut Clients);
    let before: Ending = |clients| {
        clients.send(0, Client, SECOND, 0x9010, &nfs4::copy(0x9010));
        clients.callback(0, SECOND + 50, 0x9200, [nfs4::offloaded(0x9200, COPY), nfs4::offloaded_reply(0x9200)]);
        clients.send(0, Server, SECOND + 500, 0x9010, &nfs4::copy_reply(0x9010, COPY));
    };
    let cancelled: Ending = |clients| {
        clients.rpc(0, SECOND, 0x9010, [nfs4::copy(0x9010), nfs4::copy_reply(0x9010, COPY)]);
        clients.rpc(0, 3 * SECOND, 0x9011, [nfs4::cancel(0x9011, COPY), nfs4::cancel_reply(0x9011)]);
    };
    let asked: Ending = |clients| {
        clients.rpc(0, SECOND, 0x9010, [nfs4::copy(0x9010), nfs4::copy_reply(0x9010, COPY)]);
        clients.rpc(0, 3 * SECOND, 0x9011, [nfs4::progress(0x9011, COPY), nfs4::progress_reply(0x9011, 1 << 20, true)]);
    };
    let synchronous: Ending = |clients| {
        clients.rpc(0, SECOND, 0x9010, [nfs4::copy(0x9010), nfs4::copy_done_reply(0x9010)]);
    };
    // The capture begins after the COPY.
    let alone: Ending = |clients| {
        clients.callback(0, SECOND, 0x9200, [nfs4::offloaded(0x9200, COPY), nfs4::offloaded_reply(0x9200)]);
    };
    for ending in [before, cancelled, asked, synchronous, alone] {
        let mut clients = Clients::new();
        ending(&mut clients);
        let frames = clients.until(9 * SECOND);
        let diagnosis = diagnose(&frames);
        assert_eq!((open(&frames), causes(&diagnosis)), (Vec::new(), Vec::new()), "{}", text(&diagnosis));
    }
}

/// The capture `copy_unfinished`, and the same with the end of another COPY.
pub(crate) fn copy_unfinished(has_back_channel: bool) -> Vec<Record> {
    let mut clients = Clients::of(1);
    clients.rpc(0, SECOND, 0x9010, [nfs4::copy(0x9010), nfs4::copy_reply(0x9010, COPY)]);
    clients.rpc(0, 3 * SECOND, 0x9011, [nfs4::progress(0x9011, COPY), nfs4::progress_reply(0x9011, 4096, false)]);
    if has_back_channel {
        // The end of another COPY.
        clients.callback(0, 4 * SECOND, 0x9200, [nfs4::offloaded(0x9200, OTHER_COPY), nfs4::offloaded_reply(0x9200)]);
    }
    clients.until(30 * SECOND)
}

#[test]
fn a_copy_without_a_callback_is_owed_by_the_server() {
    for has_back_channel in [false, true] {
        let frames = copy_unfinished(has_back_channel);
        assert_eq!(open(&frames), [json!(["copy", "open", "CB_OFFLOAD", "192.0.2.2", Value::Null])]);
        let diagnosis = diagnose(&frames);
        assert_eq!(causes(&diagnosis), ["copy-unfinished"], "{}", text(&diagnosis));
        assert_eq!(diagnosis.causes[0].owner_address.as_deref(), Some("192.0.2.2"));
        let told = evidence(&diagnosis, "copy-unfinished");
        assert!(
            told.contains("192.0.2.2 owes CB_OFFLOAD since frame 46; 4,096 bytes were copied by frame 50"),
            "{told}"
        );
        let words = if has_back_channel {
            "the last call of 192.0.2.2 to 192.0.2.10 is in frame 52"
        } else {
            "the capture holds no call of 192.0.2.2 to 192.0.2.10: the back channel is missing"
        };
        assert!(told.contains(words), "{told}");
    }
}

/// The client cancels a COPY, for which it had waited as long as the callback was lost.
#[test]
fn a_copy_that_was_cancelled_late_is_unfinished() {
    for (seconds, expected) in [(8, &[][..]), (12, &["copy-unfinished"])] {
        let mut clients = Clients::new();
        clients.rpc(0, SECOND, 0x9010, [nfs4::copy(0x9010), nfs4::copy_reply(0x9010, COPY)]);
        let cancelled = SECOND + seconds * SECOND;
        clients.rpc(0, cancelled, 0x9011, [nfs4::cancel(0x9011, COPY), nfs4::cancel_reply(0x9011)]);
        let frames = clients.until(20 * SECOND);
        let diagnosis = diagnose(&frames);
        assert_eq!((open(&frames), causes(&diagnosis)), (Vec::new(), expected.to_vec()), "{}", text(&diagnosis));
        if !expected.is_empty() {
            let told = evidence(&diagnosis, "copy-unfinished");
            assert!(told.contains("192.0.2.10 gave up after 12.0 s (OFFLOAD_CANCEL in frame"), "{told}");
        }
    }
}

/// The mounts are those of the whole capture.
#[test]
fn the_diagnosis_of_a_selection_has_no_mounts() {
    let file = written("selection", &copy_unfinished(false));
    for (options, expected) in [(&[][..], 1), (&["--since", "+0.5"], 0)] {
        let output = run(&[&["diagnose", "--quiet", "--json", &file], options].concat());
        let diagnosis: Value = serde_json::from_str(stdout(&output).lines().next().unwrap()).unwrap();
        assert_eq!(diagnosis["mounts"].as_array().map(Vec::len), Some(expected), "{diagnosis}");
        assert_eq!(diagnosis["causes"][0]["cause"], "copy-unfinished", "{diagnosis}");
    }
}

#[test]
fn locks_of_one_file_are_told_apart_by_their_ranges() {
    let mut clients = Clients::new();
    for (xid, offset) in [(0x9000, 0), (0x9001, 1000)] {
        clients.rpc(
            0,
            SECOND + u64::from(offset),
            xid,
            [nfs4::lock(xid, FILE, offset), nfs4::failed_reply(xid, LOCK, DENIED)],
        );
    }
    clients.rpc(0, 3 * SECOND, 0x9002, [nfs4::lock(0x9002, FILE, 1000), nfs4::lock_reply(0x9002)]);
    let frames = clients.until(9 * SECOND);
    let promises = records(&frames, "pending", "promise");
    assert_eq!(open(&frames), [json!(["lock", "open", "lock", Value::Null, Value::Null])]);
    assert_eq!(promises[0]["call_frame"], 87);
    let diagnosis = diagnose(&frames);
    assert_eq!(causes(&diagnosis), ["lock-held"], "{}", text(&diagnosis));
    let told = evidence(&diagnosis, "lock-held");
    assert!(told.contains("1 has not been granted when the capture ended"), "{told}");
}

/// The server has restarted: two calls of each client, one after another, find no session, and the session cannot be created again for the
/// old client ID. The state is set up again 20 ms (the second client: 40 ms) after the first call. A third call was on the way meanwhile.
pub(crate) fn restarted() -> Vec<Record> {
    let mut clients = Clients::new();
    for (wire, start) in [(0, SECOND), (1, SECOND + 500)] {
        let took = 20 * MILLISECOND * (wire as u64 + 1);
        for xid in [0x9000, 0x9001] {
            let lost = [nfs4::open(xid, b"hello.txt"), nfs4::failed_first(xid, SEQUENCE, BADSESSION)];
            clients.rpc(wire, start + 1000 * u64::from(xid - 0x9000), xid, lost);
        }
        clients.send(wire, Client, start + 3000, 0x9002, &nfs4::getattr(0x9002, FILE));
        let refused =
            [nfs4::create_session(0x9003, [1, 2], [16, 4]), nfs4::failed_first(0x9003, CREATE_SESSION, STALE_CLIENTID)];
        clients.rpc(wire, start + 4000, 0x9003, refused);
        clients.set_up(wire, start + took, 0x9004);
        let late = nfs4::failed_first(0x9002, SEQUENCE, BADSESSION);
        clients.send(wire, Server, start + took + 1000, 0x9002, &late);
        clients.refused_opens(wire, start + SECOND, [0x9010, 3], b"hello.txt", GRACE);
        clients.open(wire, start + 5 * SECOND, 0x9020, b"hello.txt");
    }
    clients.until(8 * SECOND)
}

#[test]
fn failures_before_state_is_set_up_again_are_recovery() {
    let frames = restarted();
    let diagnosis = diagnose(&frames);
    assert_eq!(causes(&diagnosis), ["server-grace"], "{}", text(&diagnosis));
    let told = evidence(&diagnosis, "server-grace");
    let sentence = "192.0.2.2 had restarted (3 calls failed from frame 87 on, at least one of them with NFS4ERR_STALE_CLIENTID): 2 clients set up their state again, each within 40.1 ms.";
    assert!(told.contains(sentence), "{told}");
    assert_eq!(open(&frames), Vec::<Value>::new());
    let transactions = records(&frames, "transactions", "transaction");
    let opened: Vec<_> = transactions.iter().filter(|rpc| rpc["opens"] == "state").collect();
    assert_eq!(opened.len(), 8);
    let keepers: Vec<_> = transactions.iter().filter(|rpc| rpc["keeps"][0]["kind"] == "state").collect();
    let told = keepers.iter().map(|rpc| ["refusals", "waited_ns"].map(|field| rpc["keeps"][0][field].clone()));
    assert_eq!(told.collect::<Vec<_>>(), [[json!(3), json!(20_100_000)], [json!(3), json!(40_100_000)]]);
}

#[test]
fn a_client_without_new_state_has_failed() {
    let mut clients = Clients::of(1);
    for xid in 0x9000..0x9008 {
        let lost = [nfs4::open(xid, b"hello.txt"), nfs4::failed_first(xid, SEQUENCE, BADSESSION)];
        clients.rpc(0, SECOND * u64::from(xid - 0x8fff), xid, lost);
    }
    let frames = clients.until(12 * SECOND);
    let diagnosis = diagnose(&frames);
    let told = evidence(&diagnosis, "errors");
    assert!(told.contains("8 of 19 RPCs failed: NFSv4 SEQUENCE with NFS4ERR_BADSESSION 8 times."), "{told}");
    assert_eq!(open(&frames), [json!(["state", "open", "state", "192.0.2.10", null])]);
}

#[test]
fn the_end_of_a_lease_is_no_restart() {
    let mut clients = Clients::of(1);
    clients.rpc(0, SECOND, 0x9000, [nfs4::open(0x9000, b"a"), nfs4::failed_first(0x9000, SEQUENCE, EXPIRED)]);
    clients.set_up(0, SECOND + 10 * MILLISECOND, 0x9001);
    let frames = clients.until(2 * SECOND);
    let diagnosis = diagnose(&frames);
    assert_eq!(causes(&diagnosis), Vec::<&str>::new(), "{}", text(&diagnosis));
    let line = "losses of client state: 1 set up again; a call failed with NFS4ERR_EXPIRED (frame 44); CREATE_SESSION in frame 54, 10.1 ms later";
    assert!(text(&diagnosis).replace("\n", " ").contains(line), "{}", text(&diagnosis));
}

/// Recalls of layouts: one that the client returns within a millisecond, one that the other client returns after five seconds, and one that
/// nobody returns.
pub(crate) fn layouts_recalled() -> Vec<Record> {
    let mut clients = Clients::new();
    clients.callback(0, SECOND, 0xa000, nfs4::layout_recall(0xa000, FILE));
    clients.rpc(0, SECOND + 1000, 0x9000, nfs4::layout_return(0x9000, FILE));
    clients.callback(1, 2 * SECOND, 0xa000, nfs4::layout_recall(0xa000, FILE));
    clients.rpc(1, 7 * SECOND, 0x9000, nfs4::layout_return(0x9000, FILE));
    clients.callback(0, 8 * SECOND, 0xa001, nfs4::layout_recall(0xa001, b"another"));
    clients.until(20 * SECOND)
}

#[test]
fn recalled_layouts_are_returned_early_late_or_never() {
    let frames = layouts_recalled();
    let kept = records(&frames, "transactions", "transaction");
    let kept = kept.iter().filter(|rpc| rpc["keeps"][0]["kind"] == "layout").map(|rpc| &rpc["keeps"][0]["waited_ns"]);
    assert_eq!(kept.collect::<Vec<_>>(), [&json!(1_000_000), &json!(5_000_000_000_u64)]);
    assert_eq!(open(&frames), [json!(["layout", "open", "LAYOUTRETURN", "192.0.2.10", null])]);
}

#[test]
fn a_notification_ends_the_wait_for_a_lock() {
    let mut clients = Clients::of(1);
    for (xid, file) in [(0x9000, FILE), (0x9001, b"another")] {
        clients.rpc(0, SECOND, xid, [nfs4::lock(xid, file, 0), nfs4::failed_reply(xid, LOCK, DENIED)]);
    }
    clients.callback(0, 4 * SECOND, 0xa000, nfs4::notify_lock(0xa000, FILE));
    clients.rpc(0, 5 * SECOND, 0x9002, [nfs4::lock(0x9002, FILE, 0), nfs4::lock_reply(0x9002)]);
    let frames = clients.until(6 * SECOND);
    let told = promised(&frames);
    assert!(told.contains("CB_NOTIFY_LOCK in frame"), "{told}");
    assert!(told.contains("3.00 s later"), "{told}");
    // The lock of the other file.
    assert_eq!(open(&frames), [json!(["lock", "open", "lock", null, null])]);
}

#[test]
fn a_flag_ends_only_the_recall_it_is_about() {
    const REVOKED: u32 = 0x40;
    let unknown = json!(["delegation", "unknown", "DELEGRETURN", null, null]);
    // Flags before and after the recall, number of recalls; promises that stay open.
    for (before, after, recalls, expected) in [
        (0, REVOKED, 1, vec![]),
        (REVOKED, REVOKED, 1, vec![unknown.clone()]),
        (0, REVOKED, 2, vec![unknown.clone(), unknown]),
        (0, 0x8, 2, vec![]),
        (0, 0, 1, vec![json!(["delegation", "open", "DELEGRETURN", "192.0.2.10", null])]),
    ] {
        let mut clients = Clients::of(1);
        for (xid, file) in [(0xa000, FILE), (0xa001, b"another")].into_iter().take(recalls) {
            let recall = [nfs4::recall(xid, file), nfs4::recall_reply(xid)];
            clients.callback(0, SECOND + u64::from(xid), xid, recall);
        }
        clients.rpc(0, 2 * SECOND, 0x9000, nfs4::flagged(0x9000, before));
        clients.rpc(0, 3 * SECOND, 0x9001, nfs4::flagged(0x9001, after));
        let frames = clients.until(4 * SECOND);
        assert_eq!(open(&frames), expected, "{before:x} {after:x} {recalls}");
    }
}

#[test]
fn slow_ranks_operations_by_the_time_since_the_first_call() {
    let file = written("slow_operations", &in_grace());
    let output = run(&["slow", "--quiet", "--top", "1", &file]);
    let told = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("6600.100") && told.contains("refused 6 times (NFS4ERR_GRACE) since frame"), "{told}");
    assert!(told.contains("the last call took 0.100 ms"), "{told}");
    let output = run(&["report", "--quiet", &file, "-o", "-"]);
    assert!(stdout(&output).contains("took 6.60 s (refused 6 times (NFS4ERR_GRACE) since frame"));
}

#[test]
fn fields_of_copies_are_in_the_tree() {
    let output = run(&["decode", "-v", "--quiet", &crate::situations::path("copy_offloaded")]);
    let tree = stdout(&output);
    for text in [
        "cr_synchronous false, cr_consecutive true, wr_count 0, committed UNSTABLE4; CB_OFFLOAD will have stateid 000000010000000700000007",
        "coa_status 0, copied 1,048,576, committed FILE_SYNC4",
    ] {
        assert!(tree.contains(text), "{text}");
    }
    let output = run(&["decode", "-v", "--quiet", &crate::situations::path("copy_unfinished")]);
    assert!(stdout(&output).contains("osr_count 4,096, not complete"));
}

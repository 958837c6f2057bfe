//! Kernel traces of both ends, compared with the packets of the same RPCs and with the numbers of the kernels.

use std::collections::BTreeMap;

use rpcrdma_answers::diagnosis::{DiagnosedCause, Diagnoser};
use rpcrdma_dissector::{Config, Events, KernelTimes, TimeBase, Transaction};
use serde_json::Value;

use crate::command::{run, stderr, stdout};
use crate::common::{Found, dissect};

const CLIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/traces/client.trace.gz");
const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/traces/server.trace.gz");
const PACKETS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/captures/kernel_trace.pcap.gz");

/// The WRITE whose RDMA Read took the server two seconds.
const SLOW_WRITE: u32 = 0xd78c_23f1;

fn read(path: &str) -> Found {
    dissect(&std::fs::read(path).unwrap(), Config::default())
}

fn by_xid(found: &Found) -> BTreeMap<u32, &Transaction> {
    found.transactions.iter().map(|transaction| (transaction.xid, transaction)).collect()
}

fn times(transaction: &Transaction) -> KernelTimes {
    **transaction.kernel.as_ref().unwrap()
}

/// Microseconds of the kernels by XID: round trip, RDMA Read, execution.
fn kernel_numbers() -> BTreeMap<u32, [Option<u64>; 3]> {
    let row = |line: &str| {
        let [xid, _, numbers @ ..] = &line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let numbers = [0, 1, 2].map(|index| numbers[index].parse().ok());
        (u32::from_str_radix(xid.trim_start_matches("0x"), 16).unwrap(), numbers)
    };
    include_str!("phases/kernel_trace.txt").lines().skip(1).map(row).collect()
}

#[test]
fn traces_and_packets_show_the_same_rpcs() {
    let (client, server, packets) = (read(CLIENT), read(SERVER), read(PACKETS));
    let xids = |found: &Found| by_xid(found).into_keys().collect::<Vec<_>>();
    assert_eq!(client.transactions.len(), 58);
    assert_eq!((xids(&client), xids(&server)), (xids(&packets), xids(&packets)));
    for (xid, rpc) in by_xid(&packets) {
        let (at_client, at_server) = (client.only_rpc(xid), server.only_rpc(xid));
        let ends = (rpc.from, rpc.to);
        assert_eq!((ends, ends), ((at_client.from, at_client.to), (at_server.from, at_server.to)), "{xid:#x}");
        assert_eq!(at_server.procedure, rpc.procedure, "{xid:#x}");
        // The capture cut the results, and the status of each operation.
        let codes = |rpc: &Transaction| rpc.operations.iter().map(|operation| operation.code).collect::<Vec<_>>();
        assert!(codes(at_server).starts_with(&codes(rpc)), "{xid:#x}");
        assert_eq!(at_client.procedure, rpc.procedure, "{xid:#x}");
        let main = at_client.operations.first().map(|operation| operation.code);
        assert!(main.is_none_or(|main| codes(at_server).contains(&main)), "{xid:#x}");
        assert_eq!((at_client.read_octets, at_server.read_octets), (rpc.read_octets, rpc.read_octets), "{xid:#x}");
        assert_eq!(at_server.write_octets, rpc.write_octets, "{xid:#x}");
    }
    assert_eq!(client.summary.time_base, TimeBase::Boot);
    assert_eq!(client.summary.trace.unwrap().lost, 0);
}

#[test]
fn times_are_those_that_the_kernels_measured() {
    let (client, server) = (read(CLIENT), read(SERVER));
    let numbers = kernel_numbers();
    assert_eq!(numbers.len(), 58);
    for (xid, [round_trip, rdma_read, execution]) in numbers {
        let nanoseconds = |microseconds: Option<u64>| microseconds.map(|time| time * 1000);
        let (at_client, at_server) = (client.only_rpc(xid), server.only_rpc(xid));
        assert_eq!(times(at_client).round_trip, nanoseconds(round_trip), "{xid:#x}");
        assert_eq!(at_client.latency(), nanoseconds(round_trip), "{xid:#x}");
        assert_eq!(times(at_server).rdma_read, nanoseconds(rdma_read), "{xid:#x}");
        assert_eq!(at_server.phases.unwrap().rdma_read, rdma_read.unwrap_or_default() * 1000, "{xid:#x}");
        assert_eq!(times(at_server).execution, nanoseconds(execution), "{xid:#x}");
        // The server can have answered no faster than it executed, nor slower than the client waited.
        let served = at_server.latency().unwrap();
        assert!((execution.unwrap() * 1000..=round_trip.unwrap() * 1000).contains(&served), "{xid:#x}: {served}");
    }
    let write = times(client.only_rpc(SLOW_WRITE));
    assert_eq!((write.queue, write.registration, write.transmissions), (Some(16_846_000), Some(16_458_000), 1));
    assert_eq!((write.file_system, write.execution), (None, None), "the client knows nothing of the server");
    let write = times(server.only_rpc(SLOW_WRITE));
    assert_eq!((write.file_system, write.queue, write.round_trip), (Some(3_880_000), None, None));
}

fn records(arguments: &[&str]) -> Vec<Value> {
    let output = run(arguments);
    stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn records_have_the_times_of_the_kernel() {
    let all = records(&["transactions", "-q", "--json", SERVER]);
    let write = all.iter().find(|record| record["rdma_xid"] == "0xd78c23f1").unwrap();
    let kernel = &write["kernel"];
    assert_eq!((&kernel["file_system_ns"], &kernel["rdma_read_ns"]), (&3_880_000.into(), &2_352_257_000_u64.into()));
    assert_eq!((&kernel["queue_ns"], &kernel["without_packets"]), (&Value::Null, &true.into()));
    assert_eq!(write["call"]["inline_octets"], Value::Null);
    assert_eq!(write["recovery_missing"], "a kernel trace shows no packets");
    let end = all.last().unwrap();
    assert_eq!(end["captures"][0]["time_base"], "boot");
    assert_eq!(end["captures"][0]["trace"]["lost_events"], 0);
}

#[test]
fn text_shows_seconds_since_boot() {
    let output = run(&["transactions", "-q", SERVER]);
    let line = stdout(&output).lines().find(|line| line.contains("0xd78c23f1")).unwrap();
    assert!(line.contains("44.126518") && line.contains("2359.332"), "{line}");
    for command in ["diagnose", "stats", "report"] {
        let path = std::env::temp_dir().join(format!("rpcrdma-trace-{}.html", std::process::id()));
        let output = match command {
            "report" => run(&["report", "-q", SERVER, "-o", path.to_str().unwrap()]),
            _ => run(&[command, "-q", SERVER]),
        };
        let text =
            if command == "report" { std::fs::read_to_string(&path).unwrap() } else { stdout(&output).to_owned() };
        assert!(!text.contains("1970") && stderr(&output).is_empty(), "{command}: {text} {}", stderr(&output));
    }
}

#[test]
fn slow_names_the_times_that_a_trace_shows() {
    let text = stdout(&run(&["slow", "-q", "--top", "1", SERVER])).to_owned();
    assert!(text.contains("RDMA Read 2352.257 ms: RDMA Read of 65536 bytes\n"), "{text}");
    assert!(text.contains("kernel trace: waited for a thread of the server 0.360 ms"), "{text}");
    assert!(!text.contains("recovery"), "{text}");
    let text = in_a_row(stdout(&run(&["slow", "-q", "--top", "1", CLIENT])));
    assert!(text.contains("waited at the client 16.846 ms, registration of memory 16.458 ms"), "{text}");
}

/// The words of a text that was broken into lines.
fn in_a_row(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn diagnose(path: &str) -> String {
    in_a_row(stdout(&run(&["diagnose", "-q", path])))
}

#[test]
fn a_slow_rdma_read_is_not_the_server() {
    let text = diagnose(SERVER);
    assert!(text.contains("2,498 frames, 40.352 s to 50.078 s after boot (9.73 s)"), "{text}");
    assert!(text.contains("RDMA Read slow: packets are lost or the client is slow"), "{text}");
    let write =
        "NFSv4 WRITE in frame 2102, which took 2.36 s: execution took 5.61 ms, 3.88 ms of it in the file system.";
    assert!(text.contains(&format!("up to 2.35 s, 2.88 s in total. The longest wait: {write}")), "{text}");
    // The server took long for others: the kernel measured 196 ms of execution.
    let slow = "The longest wait: NFSv4 RECLAIM_COMPLETE in frame 197, which took 197 ms: execution took 196 ms.";
    assert!(text.contains(&format!("up to 197 ms, 803 ms in total. {slow}")), "{text}");
}

#[test]
fn a_trace_of_a_client_accuses_no_end() {
    let text = diagnose(CLIENT);
    assert!(text.contains("Replies came late") && text.contains("record a trace of the server"), "{text}");
    assert!(!text.contains(": ."), "{text}");
    let output = run(&["diagnose", "-q", "--json", CLIENT]);
    let diagnosis: Value = serde_json::from_str(stdout(&output).lines().next().unwrap()).unwrap();
    let causes: Vec<_> = diagnosis["causes"].as_array().unwrap().iter().collect();
    assert_eq!((&causes[0]["cause"], &causes[0]["owner"]), (&"replies-late".into(), &Value::Null));
    assert!(causes.iter().all(|cause| cause["cause"] != "server-slow"), "{text}");
}

/// Diagnoses a trace of ten RPCs with these events, each at so many milliseconds after the RPC began.
fn causes_of(events: &[(u64, &str)]) -> Vec<String> {
    let rpc = |number: u64| {
        let line = move |(milliseconds, event): &(u64, &str)| {
            let (seconds, rest) = (10 + 2 * number + milliseconds / 1000, milliseconds % 1000);
            let event = event.replace("task:T", &format!("task:{number:08x}@00000001"));
            let event =
                event.replace("xid=X", &format!("xid={:#010x}", number + 1)).replace("cid=C", &format!("cid={number}"));
            format!("kworker/0:1-17 [000] ..... {seconds}.{rest:03}000: {event}\n")
        };
        events.iter().map(line).collect::<String>()
    };
    let trace: String = (0..10).map(rpc).collect();
    let mut config = Config::default();
    (config.operations, config.recovery) = (true, true);
    let mut events = Events::from_stream(std::io::Cursor::new(trace.into_bytes()), config);
    let mut diagnoser = Diagnoser::new("trace");
    events.by_ref().for_each(|event| diagnoser.event(&event.unwrap()));
    let diagnosis = diagnoser.finish(events.summary());
    let cause = |cause: &DiagnosedCause| format!("{} {}", cause.cause, cause.owner.unwrap_or("-"));
    diagnosis.causes.iter().map(cause).collect()
}

/// A long wait of an RPC at one end has a cause, and the short waits have none.
#[test]
fn each_wait_in_a_trace_has_its_cause() {
    let (request, sent) =
        ("rpc_request: task:T nfsv4 READ (async)", "xprtrdma_post_send: task:T cq.id=1 cid=C (2 SGEs)");
    let (reserve, reply) = ("xprt_reserve: task:T xid=X", "xprtrdma_reply: task:T xid=X credits=64");
    let (map, end) =
        ("xprtrdma_mr_map: task:T mr.id=2 nents=1 1@0x1:0x5", "xprtrdma_mr_fastreg: task:T mr.id=2 nents=1");
    let (lost, failed) = (
        "xprt_disconnect_force: peer=[192.0.2.1]:20049 state=LOCKED|CONNECTED|BOUND",
        "xprtrdma_wc_send: cq.id=1 cid=C status=REM_ACCESS_ERR (10/0x88)",
    );
    let (arrival, taken) =
        ("svcrdma_wc_recv: cq.id=2 cid=C received=9", "svcrdma_decode_rqst: cq.id=2 cid=C xid=X vers=1");
    let (called, posted) = (
        "svc_process: addr=192.0.2.2 xid=X service=nfsd vers=3 proc=WRITE",
        "svcrdma_post_send: cq_id=1 cid=C num_sge=1 inv_rkey=0x0",
    );
    let done = "svc_send: xid=X server=192.0.2.1:20049 client=192.0.2.2:0 status=0 flags=SECURE";
    let chunk = "svcrdma_decode_rseg: cq_id=2 cid=C segno=0 position=4 4096@0x1:0x5";
    let (read, completed) =
        ("svcrdma_post_read_chunk: cq.id=1 cid=C sqecount=1", "svcrdma_wc_read: cq.id=1 cid=C latency-us=90000");
    for (events, expected) in [
        (vec![(0, request), (1, reserve), (2, sent), (3, reply)], vec![]),
        (vec![(0, request), (1, reserve), (91, sent), (92, reply)], vec!["client-queue client"]),
        (vec![(0, request), (1, reserve), (2, map), (92, end), (93, sent), (94, reply)], vec!["registration client"]),
        (vec![(0, request), (1, reserve), (2, sent), (92, reply)], vec!["replies-late -"]),
        (vec![(0, request), (1, reserve), (2, sent), (3, failed), (4, reply)], vec!["completion-error server"]),
        (vec![(0, request), (1, reserve), (2, sent), (3, lost), (4, sent), (5, reply)], vec!["connection-lost -"]),
        (vec![(0, arrival), (90, taken), (91, called), (92, posted), (92, done)], vec!["server-queue server"]),
        (vec![(0, arrival), (1, taken), (2, called), (92, posted), (92, done)], vec!["server-slow server"]),
        (
            vec![
                (0, arrival),
                (1, chunk),
                (1, taken),
                (2, read),
                (92, completed),
                (93, called),
                (94, posted),
                (94, done),
            ],
            vec!["rdma-read-slow -"],
        ),
    ] {
        assert_eq!(causes_of(&events), expected, "{events:?}");
    }
}

#[test]
fn a_trace_without_rpcs_names_the_events_to_record() {
    let path = std::env::temp_dir().join(format!("rpcrdma-trace-{}.txt", std::process::id()));
    for (text, status) in
        [("# tracer: nop\n#\n", 2), ("bash-7 [000] 1.000000: sched_switch: prev_pid=7 next_pid=0\n", 1)]
    {
        std::fs::write(&path, text).unwrap();
        let output = run(&["transactions", path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(status), "{text}");
        assert!(stderr(&output).contains("trace-cmd record -e sunrpc -e rpcrdma -e nfsd"), "{}", stderr(&output));
    }
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn lost_events_are_a_reason_for_the_exit_status() {
    let path = std::env::temp_dir().join(format!("rpcrdma-lost-{}.txt", std::process::id()));
    let line = "nfsd-5 [000] 1.000000: svc_process: addr=192.0.2.2 xid=0x00000009 service=nfsd vers=3 proc=NULL\n";
    std::fs::write(&path, format!("{line}CPU:2 [LOST 12 EVENTS]\n")).unwrap();
    let output = run(&["stats", path.to_str().unwrap()]);
    let expected = "12 events lost by the ring buffers of the kernel";
    assert!(stderr(&output).contains(expected) && output.status.code() == Some(1), "{}", stderr(&output));
    assert!(stdout(&output).contains("events lost by the ring buffers of the kernel: 12"), "{}", stdout(&output));
    std::fs::remove_file(&path).unwrap();
}

/// The packets were captured between the two machines, on a third.
#[test]
fn traces_add_the_times_of_kernels_to_packets() {
    let all = records(&["transactions", "-q", "--json", CLIENT, PACKETS, SERVER]);
    let alone = records(&["transactions", "-q", "--json", PACKETS]);
    let (end, rpcs) = all.split_last().unwrap();
    assert_eq!((rpcs.len(), alone.len()), (58, 59));
    for (joined, alone) in rpcs.iter().zip(&alone) {
        let xid = &alone["rdma_xid"];
        for field in ["rdma_xid", "connection", "time_ns", "latency_ns", "phases", "operations", "call"] {
            assert_eq!(joined[field], alone[field], "{xid} {field}");
        }
        let kernel = &joined["kernel"];
        assert!(kernel["queue_ns"].is_u64() && kernel["execution_ns"].is_u64(), "{joined}");
        assert_eq!(kernel["without_packets"], false, "{xid}");
    }
    let write = rpcs.iter().find(|record| record["rdma_xid"] == "0xd78c23f1").unwrap();
    let times = ["queue_ns", "registration_ns", "rdma_read_ns", "file_system_ns"]
        .map(|name| write["kernel"][name].as_u64().unwrap());
    assert_eq!(times, [16_846_000, 16_458_000, 2_352_257_000, 3_880_000]);
    // Each RPC bounds both clocks: what is left is the way through the network, and the time until the machines notice.
    let capture = &end["captures"][0];
    assert_eq!(capture["time_base"], "utc");
    for clock in ["client_clock", "server_clock"] {
        let clock = &capture["trace"][clock];
        assert_eq!(clock["rpcs"], 58, "{clock}");
        assert!(clock["uncertainty_ns"].as_u64().unwrap() < 5_000_000, "{clock}");
    }
}

#[test]
fn two_traces_show_what_the_network_took() {
    let all = records(&["transactions", "-q", "--json", SERVER, CLIENT]);
    assert_eq!(all.len(), 59);
    let late = all.iter().find(|record| record["rdma_xid"] == "0xd88c23f1").unwrap();
    assert_eq!((&late["latency_ns"], &late["kernel"]["served_ns"]), (&2_306_456_000_u64.into(), &38_005_000.into()));
    let output = run(&["diagnose", "-q", SERVER, CLIENT]);
    let text = in_a_row(stdout(&output));
    let write = "NFSv4 WRITE in frame 6830, which took 2.31 s: the server had the call for 38.0 ms.";
    assert!(text.contains("Replies came late (the network:") && text.contains(write), "{text}");
}

#[test]
fn a_trace_is_no_source_of_packets() {
    for command in ["annotate", "anonymize"] {
        let path = std::env::temp_dir().join(format!("rpcrdma-no-packets-{}.pcapng", std::process::id()));
        let output = run(&[command, "-q", SERVER, "-o", path.to_str().unwrap()]);
        assert!(stderr(&output).contains("a kernel trace, which holds no packets"), "{command}: {}", stderr(&output));
        assert!(output.status.code() == Some(2) && !path.exists(), "{command}");
    }
}

//! The exported captures, read by a small TCP reader of our own and by tshark, which knows nothing of this project.
//!
//! Where tshark is not installed the tests that need it say so and pass.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use rpcrdma_answers::export::{Exported, Exporter};
use rpcrdma_dissector::{Address, Capture, Config, Events, Transaction};
use sha2::{Digest, Sha256};

/// Name, RPCs, and calls of the NFS program from the client. `tshark -2 -Y 'rpcordma && rpc.msgtyp == 0'` counts the
/// same in the original, except for errors.pcap: of that it passes over the RDMA_MSGP and counts the calls whose chunks
/// never came; for nfsd_deviations.pcap: there it passes over the call whose XID is not that of its header; and for iWARP,
/// where it finds 58 of 63 and 51 of 58, as it does not put every RPC together.
const CAPTURES: [(&str, usize, usize); 14] = [
    ("nfs3", 60, 55),
    ("nfs3_ipv6", 66, 61),
    ("nfs40", 67, 67),
    ("nfs41", 69, 69),
    ("nfs41_callback", 26, 25),
    ("nfs42_mtu9000", 62, 62),
    ("nfs41_lossy", 62, 62),
    ("nfs41_krb5", 61, 61),
    ("nfs41_krb5i", 61, 61),
    ("errors", 8, 8),
    ("nfsd_deviations", 62, 62),
    ("client_deviations", 14, 13),
    ("iwarp_nfs41", 63, 63),
    ("iwarp_nfs3_lossy", 58, 52),
];

fn transactions(name: &str) -> Vec<Transaction> {
    let path = [env!("CARGO_MANIFEST_DIR"), "/../testdata/captures/", name, ".pcap"].concat();
    let mut config = Config::default();
    config.joins_tries = false;
    Events::new(Capture::from_paths([path]), config).transactions().map(Result::unwrap).collect()
}

fn export(transactions: &[Transaction]) -> (Vec<u8>, Exported) {
    let mut file = Vec::new();
    let mut exporter = Exporter::new(&mut file).unwrap();
    for transaction in transactions {
        exporter.transaction(transaction).unwrap();
    }
    let exported = exporter.finish().unwrap();
    (file, exported)
}

/// A half connection: what it said, and what it will say next.
#[derive(Default)]
struct Sender {
    next: u32,
    octets: Vec<u8>,
}

fn u32_at(octets: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(octets[at..at + 4].try_into().unwrap())
}

/// Source address and port, destination address and port.
type Flow = (Vec<u8>, [u8; 2], Vec<u8>, [u8; 2]);

/// Returns the octets that each end of each connection sent; checks sequence and acknowledgement numbers, and the order
/// of times.
fn streams(file: &[u8]) -> BTreeMap<Flow, Vec<u8>> {
    assert_eq!(file[..24], [0xa1, 0xb2, 0x3c, 0x4d, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 1]);
    let mut flows: BTreeMap<Flow, Sender> = BTreeMap::new();
    let mut rest = &file[24..];
    let mut last = (0, 0);
    while !rest.is_empty() {
        let (time, length) = ((u32_at(rest, 0), u32_at(rest, 4)), u32_at(rest, 8) as usize);
        assert!(time >= last && time.1 < 1_000_000_000, "{time:?}");
        assert_eq!(length, u32_at(rest, 12) as usize);
        segment(&rest[16..16 + length], &mut flows);
        rest = &rest[16 + length..];
        last = time;
    }
    flows.into_iter().map(|(flow, sender)| (flow, sender.octets)).collect()
}

fn segment(frame: &[u8], flows: &mut BTreeMap<Flow, Sender>) {
    let (addresses, tcp) = match frame[12..14] {
        [0x08, 0x00] => (&frame[26..34], &frame[34..]),
        _ => (&frame[22..54], &frame[54..]),
    };
    let (source, destination) = addresses.split_at(addresses.len() / 2);
    let (source, destination) = (source.to_vec(), destination.to_vec());
    let (from, to) = ([tcp[0], tcp[1]], [tcp[2], tcp[3]]);
    let (sequence, acknowledged, flags) = (u32_at(tcp, 4), u32_at(tcp, 8), tcp[13]);
    let data = &tcp[usize::from(tcp[12] >> 4) * 4..];
    let back = (destination.clone(), to, source.clone(), from);
    if flags & 0x10 != 0 {
        assert_eq!(acknowledged, flows[&back].next, "acknowledges all that the other end has sent");
    }
    let sender = flows.entry((source, from, destination, to)).or_default();
    if flags & 0x02 != 0 {
        assert!(data.is_empty() && sender.octets.is_empty());
        sender.next = sequence.wrapping_add(1);
        return;
    }
    assert_eq!(sequence, sender.next);
    sender.next = sequence.wrapping_add(data.len() as u32);
    sender.octets.extend(data);
}

/// The records of a stream (RFC 5531 section 11).
fn records(mut octets: &[u8]) -> Vec<&[u8]> {
    let mut records = Vec::new();
    while !octets.is_empty() {
        let mark = u32_at(octets, 0);
        assert_eq!(mark >> 31, 1, "one fragment a record");
        let end = 4 + (mark & 0x7fff_ffff) as usize;
        records.push(&octets[4..end]);
        octets = &octets[end..];
    }
    records
}

#[test]
fn streams_hold_every_message_once() {
    for (name, rpcs, _) in CAPTURES {
        let transactions = transactions(name);
        let (file, exported) = export(&transactions);
        assert_eq!(exported.calls as usize, rpcs, "{name}");
        // Headers that are right may carry what is no RPC message, and chunks that come back wrong hold none.
        let left_out = match name {
            "errors" => Some((5, 17, 2)),
            "nfsd_deviations" => Some((56, 9, 6)),
            "client_deviations" => Some((8, 0, 1)),
            _ => None,
        };
        if let Some(left_out) = left_out {
            assert_eq!((exported.replies, exported.left_out, exported.replies_left_out), left_out, "{name}");
            continue;
        }
        let streams = streams(&file);
        let mut written: Vec<&[u8]> = streams.values().flat_map(|octets| records(octets)).collect();
        let halves = transactions.iter().flat_map(|transaction| [&transaction.call, &transaction.reply]);
        let mut rebuilt: Vec<&[u8]> = halves.flatten().map(|half| half.message.as_ref().unwrap().octets()).collect();
        written.sort_unstable();
        rebuilt.sort_unstable();
        assert!(written == rebuilt, "{name}: {} and {}", written.len(), rebuilt.len());
    }
}

#[test]
fn addresses_ports_and_times_are_those_of_the_capture() {
    let transactions = transactions("nfs3_ipv6");
    let (file, _) = export(&transactions);
    let streams = streams(&file);
    let client = "2001:db8::2".parse::<std::net::Ipv6Addr>().unwrap().octets().to_vec();
    let server = "2001:db8::1".parse::<std::net::Ipv6Addr>().unwrap().octets().to_vec();
    let from_client = streams.keys().filter(|(source, _, to, port)| (source, to, port) == (&client, &server, &[8, 1]));
    assert_eq!(from_client.count() * 2, streams.len());
    // Three frames of the handshake at the time of the first call, then that call.
    let first = transactions.iter().filter_map(|t| t.call.as_ref()).min_by_key(|call| call.stamp.frame).unwrap();
    let (mut at, time) = (24, first.stamp.time.0);
    for _ in 0..4 {
        assert_eq!(
            (u32_at(&file, at), u32_at(&file, at + 4)),
            ((time / 1_000_000_000) as u32, (time % 1_000_000_000) as u32)
        );
        at += 16 + u32_at(&file, at + 8) as usize;
    }
}

/// The time between a call and its reply, as a tool for TCP finds it, is the latency of the RPC. Where iWARP's segments came out
/// of order, data of the reply came after its Send.
#[test]
fn exported_replies_follow_their_calls_by_the_latency() {
    for name in ["iwarp_nfs3_lossy", "nfs41_lossy", "nfs42_mtu9000"] {
        let transactions = transactions(name);
        let (file, _) = export(&transactions);
        let (mut calls, mut latencies) = (BTreeMap::new(), BTreeMap::new());
        let mut at = 24;
        while at < file.len() {
            let (time, length) = (
                u64::from(u32_at(&file, at)) * 1_000_000_000 + u64::from(u32_at(&file, at + 4)),
                u32_at(&file, at + 8) as usize,
            );
            // The beginning of a record: its mark, the XID and the message type. These captures have IPv4.
            let data = at + 16 + 14 + 20 + 20;
            if length > 14 + 20 + 20 + 12 && file[at + 16 + 14 + 20 + 13] & 0x02 == 0 {
                let beginning = &file[data..data + 12];
                let (xid, kind) = (u32_at(beginning, 4), u32_at(beginning, 8));
                let port = u16::from_be_bytes(file[data - 20..data - 18].try_into().unwrap());
                match (kind, beginning[0] & 0x80) {
                    (0, 0x80) => drop(calls.insert((port, xid), time)),
                    (1, 0x80) => {
                        let to = u16::from_be_bytes(file[data - 18..data - 16].try_into().unwrap());
                        latencies.insert((to, xid), time - calls[&(to, xid)]);
                    }
                    _ => {}
                }
            }
            at += 16 + length;
        }
        let mut found: Vec<_> = latencies.into_iter().map(|((_, xid), latency)| (xid, latency)).collect();
        let known = |transaction: &Transaction| Some((transaction.xid, transaction.latency()?));
        let mut expected: Vec<_> = transactions.iter().filter_map(known).collect();
        found.sort_unstable();
        expected.sort_unstable();
        assert!(!expected.is_empty());
        let missing: Vec<_> = expected.iter().filter(|one| !found.contains(one)).collect();
        assert!(missing.is_empty(), "{name}: {missing:?}");
    }
}

#[test]
fn a_reply_that_cannot_be_rebuilt_leaves_its_call() {
    let mut transactions = transactions("nfs41");
    let read = transactions.iter_mut().find(|t| t.write_octets > 0).unwrap();
    read.reply.as_mut().unwrap().message = Err(rpcrdma_dissector::NotRebuilt::TooMuch);
    let other = transactions.iter_mut().find(|t| t.write_octets == 0).unwrap();
    other.call = None;
    let (file, exported) = export(&transactions);
    assert_eq!((exported.calls, exported.replies), (68, 67));
    assert_eq!((exported.left_out, exported.replies_left_out), (1, 1));
    assert_eq!(exported.reasons.len(), 2);
    assert_eq!(
        exported.to_string().lines().next().unwrap(),
        "68 calls and 67 replies written; RPCs left out: 1; calls exported without their reply: 1"
    );
    streams(&file);
}

#[test]
fn a_reply_whose_arrival_is_unknown_is_counted() {
    let (_, exported) = export(&transactions("situations/reply_timed_out"));
    assert_eq!((exported.replies, exported.arrivals_unknown), (1, 1));
    let said = "1 call and 1 reply written; replies with the time of their capture, because it is not known when they arrived: 1";
    assert_eq!(exported.to_string(), said);
    assert_eq!(export(&transactions("nfs41_callback")).1.arrivals_unknown, 0);
}

#[test]
fn more_than_may_be_held_is_written_all_the_same() {
    // Each transaction again and again, as 5,000 RPCs on 40 connections: more messages than may be held.
    let few = transactions("nfs41_callback");
    let mut many = Vec::new();
    for round in 0..200_u32 {
        for transaction in &few {
            let mut transaction = transaction.clone();
            transaction.connection = round / 2 % 40;
            many.push(transaction);
        }
    }
    let (file, exported) = export(&many);
    assert_eq!(exported.calls, 200 * 26);
    let mut flows = BTreeMap::new();
    let mut rest = &file[24..];
    while !rest.is_empty() {
        let length = u32_at(rest, 8) as usize;
        segment(&rest[16..16 + length], &mut flows);
        rest = &rest[16 + length..];
    }
    assert_eq!(flows.len(), 80);
    let messages: usize = flows.values().map(|sender| records(&sender.octets).len()).sum();
    assert_eq!(messages as u64, exported.calls + exported.replies);
}

/// A file of this test's own, gone with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, octets: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("rpcrdma-{}-{name}.pcap", std::process::id()));
        std::fs::write(&path, octets).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.0);
    }
}

/// The lines tshark prints; `None` without tshark.
fn tshark(file: &Scratch, arguments: &[&str]) -> Option<Vec<String>> {
    let mut command = Command::new("tshark");
    command.args(["-n", "-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-r"]);
    let Ok(output) = command.arg(&file.0).args(arguments).output() else {
        println!("tshark is not installed: this test does nothing");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect())
}

#[test]
fn tshark_sees_every_call_and_nothing_malformed() {
    // Signs of faulty packets, which must not be there.
    let checksums = "tcp.checksum.status != 1 || (ip && ip.checksum.status != 1)";
    let wrong = "_ws.malformed || _ws.short || tcp.analysis.flags";
    let filter = format!("rpc || {wrong} || {checksums}");
    let signs = ["_ws.malformed", "_ws.short", "tcp.analysis.flags", "tcp.checksum.status", "ip.checksum.status"];
    let fields = ["rpc.msgtyp", "rpc.program", "rpc.time"].into_iter().chain(signs).flat_map(|field| ["-e", field]);
    let arguments: Vec<&str> = ["-Y", &filter, "-T", "fields"].into_iter().chain(fields).collect();
    for (name, rpcs, nfs) in CAPTURES {
        let (file, exported) = export(&transactions(name));
        let file = Scratch::new(&format!("seen-{name}"), &file);
        let Some(lines) = tshark(&file, &arguments) else { return };
        let lines: Vec<Vec<&str>> = lines.iter().map(|line| line.split('\t').collect()).collect();
        let calls: Vec<_> = lines.iter().filter(|line| line[0] == "0").collect();
        assert_eq!((calls.len(), calls.iter().filter(|line| line[1] == "100003").count()), (rpcs, nfs), "{name}");
        // A reply that found its call has a time since then.
        let found = lines.iter().filter(|line| line[0] == "1" && !line[2].is_empty()).count();
        assert_eq!(found as u64, exported.replies, "{name}");
        assert_eq!(lines.len() as u64, exported.calls + exported.replies, "{name}");
        for line in lines {
            let [malformed, short, flags, tcp, ip] = line[3..] else { panic!("{line:?}") };
            assert_eq!([malformed, short, flags, tcp], ["", "", "", "1"], "{name}");
            // IPv6 has no checksum of its own.
            assert!(["", "1"].contains(&ip), "{name}");
        }
    }
}

#[test]
fn tshark_sees_the_callback_on_the_same_stream() {
    let (file, _) = export(&transactions("nfs41_callback"));
    let file = Scratch::new("callback", &file);
    let filter =
        ["-Y", "rpc.program != 100003", "-T", "fields", "-e", "tcp.stream", "-e", "ip.src", "-e", "tcp.dstport"];
    let Some(lines) = tshark(&file, &filter) else { return };
    assert_eq!(lines, ["0\t192.0.2.1\t706", "0\t192.0.2.2\t2049"]);
}

/// The file data that tshark finds in messages of a type, put in order by the offsets it finds in the calls.
fn file_data(file: &Scratch, message_type: &str, length: usize) -> Option<Vec<u8>> {
    let fields = ["nfs.data", "nfs.offset3", "nfs.offset4", "rpc.xid", "rpc.msgtyp"];
    let mut arguments = vec!["-Y", "nfs", "-T", "fields"];
    arguments.extend(fields.iter().flat_map(|field| ["-e", *field]));
    let mut offsets = BTreeMap::new();
    let mut parts = BTreeMap::new();
    for line in tshark(file, &arguments)? {
        let [data, offset3, offset4, xid, kind]: [&str; 5] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let offset = [offset3, offset4].concat();
        if let Ok(offset) = offset.parse::<u64>() {
            offsets.entry(xid.to_owned()).or_insert(offset);
        }
        if kind == message_type && data.len() == 2 * length {
            // Some captures read up.bin after big.bin.
            parts.entry(offsets[xid]).or_insert(data.to_owned());
        }
    }
    let hex: String = parts.into_values().collect();
    Some(
        hex.as_bytes()
            .chunks(2)
            .map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap())
            .collect(),
    )
}

#[test]
fn tshark_reads_the_octets_the_client_read() {
    for (name, block, count, digest) in [
        ("nfs3", 65_536, 8, "3caba5a37192a5d5a8b9f13faffad23189002fa8ee72bd7e5d4d783cf55297f3"),
        ("nfs3_ipv6", 16_384, 5, "da81161c25b3ec83415a4f8223a39cafe4ff63a07d5a5ea3061e8d2634d278e4"),
        ("nfs40", 32_768, 8, "d6c95f62ef8780e15cb9a7ab6aa260fa8a97e2439291bd356a67e13b4ea76d43"),
        ("nfs41", 65_536, 6, "1dc685ad7679e782bdecea4a4f892e7e7e013747ed8453eaee77d9c30d49464b"),
        ("nfs42_mtu9000", 262_144, 8, "f5c659fd06ec78762cd4603180a37f0f780c0ba6afd25a8016cc25cbd9beecf9"),
        ("nfs41_lossy", 65_536, 5, "f08a55d1f114b65cc2bf0198df73c74edffcbc2f9c68be2a17e150bf157c2a40"),
        ("nfs41_krb5", 65_536, 3, "68702ff6ff8298c118bd3cdbe7d53fa384289146dd5463c8dd2f9da69924a371"),
        ("nfs41_krb5i", 65_536, 3, "68702ff6ff8298c118bd3cdbe7d53fa384289146dd5463c8dd2f9da69924a371"),
        ("iwarp_nfs41", 65_536, 6, "1dc685ad7679e782bdecea4a4f892e7e7e013747ed8453eaee77d9c30d49464b"),
        ("iwarp_nfs3_lossy", 65_536, 5, "f08a55d1f114b65cc2bf0198df73c74edffcbc2f9c68be2a17e150bf157c2a40"),
    ] {
        let (file, _) = export(&transactions(name));
        let Some(data) = file_data(&Scratch::new(&format!("read-{name}"), &file), "1", block) else { return };
        assert_eq!(data.len(), block * count, "{name}");
        let found: String = Sha256::digest(&data).iter().map(|octet| format!("{octet:02x}")).collect();
        assert_eq!(found, digest, "{name}");
    }
}

#[test]
fn tshark_reads_the_octets_the_client_wrote() {
    // up.bin is "rpcrdma-up:0", "rpcrdma-up:1", ... digested. Here its blocks of 64 KiB; what is left over is shorter.
    let up: Vec<u8> = (0..6144).flat_map(|index| Sha256::digest(format!("rpcrdma-up:{index}"))).collect();
    // Read chunks in the first, Position Zero Read chunks in the second.
    for name in ["nfs41", "nfs41_krb5i"] {
        let (file, _) = export(&transactions(name));
        let Some(data) = file_data(&Scratch::new(&format!("written-{name}"), &file), "0", 65_536) else { return };
        assert!(data == up[..3 * 65_536], "{name}: {} octets", data.len());
    }
}

#[test]
fn a_local_identifier_becomes_an_address() {
    let mut transactions = transactions("nfs41_callback");
    for transaction in &mut transactions {
        let forward = transaction.from == Address::V4([192, 0, 2, 2]);
        let (client, server) = (Address::Lid(0x0102), Address::Lid(7));
        (transaction.from, transaction.to) = if forward { (client, server) } else { (server, client) };
    }
    let (file, _) = export(&transactions);
    let flows: Vec<Flow> = streams(&file).into_keys().collect();
    assert_eq!((flows.len(), &flows[0].0, &flows[1].0), (2, &vec![198, 18, 0, 7], &vec![198, 18, 1, 2]));
}

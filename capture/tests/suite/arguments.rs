//! The arguments of NFS operations, compared with what tshark shows for the same RPCs.
//!
//! `arguments/nfs41.txt` is the output of tshark 4.0.17, and those of the other captures likewise, with `nfs.offset3` and
//! `nfs.count3` for `nfs3.txt`, which ends with `nfs.name`:
//!
//! ```sh
//! rpcrdma export testdata/captures/nfs41.pcap -o nfs41.pcap
//! tshark -r nfs41.pcap -Y 'rpc.msgtyp==0 && nfs && rpc.program==100003' -T fields -E separator='|' -e rpc.xid \
//!   -e nfs.fh.hash -e nfs.offset4 -e nfs.count4 -e nfs.name -e nfs.pathname.component -e nfs.stateid.other \
//!   -e nfs.write.data_length
//! ```

use std::collections::BTreeMap;
use std::fs;

use rpcrdma_answers::file_names::FileNames;
use rpcrdma_answers::format::screen::Screen;
use rpcrdma_answers::top::{Top, TopBy, TopKey};
use rpcrdma_dissector::{
    Address, Capture, CaptureEnd, Config, Dissector, Events, Frame, LinkType, OperationArguments, Time, Transaction,
};

use crate::synthetic::By::{Client, Server};
use crate::synthetic::rpc::{Lists, MSG, call, message, octets, reply, words};
use crate::synthetic::{Found, Wire};

const SERVER: Address = Address::V4([192, 0, 2, 1]);

fn transactions(name: &str) -> Vec<Transaction> {
    let path = format!("{}/../testdata/captures/{name}.pcap", env!("CARGO_MANIFEST_DIR"));
    Events::new(Capture::from_paths([path]), Config::default()).transactions().map(Result::unwrap).collect()
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// One RPC as tshark shows it.
fn shown(transaction: &Transaction) -> String {
    let arguments = transaction.arguments();
    let is_compound = !transaction.operations.is_empty();
    let hash = |arguments: &OperationArguments<'_>| arguments.handle.map(|handle| format!("{:#010x}", crc32(handle)));
    let handles: Vec<String> =
        arguments.iter().filter(|a| !is_compound || a.name == "PUTFH").filter_map(hash).collect();
    let joined = |of: &dyn Fn(&OperationArguments<'_>) -> Option<String>| {
        arguments.iter().filter_map(of).collect::<Vec<_>>().join(",")
    };
    let text = |name: &[u8]| String::from_utf8(name.to_vec()).unwrap();
    let names = joined(&|a| {
        let names: Vec<String> = a.file_name.into_iter().chain(a.new_file_name).map(text).collect();
        (!names.is_empty()).then(|| names.join(","))
    });
    let offsets = joined(&|a| a.offset.map(|offset| offset.to_string()));
    let counts = joined(&|a| a.count.map(|count| count.to_string()));
    // After the sequence number.
    let stateids = joined(&|a| a.stateid.map(|stateid| hex(&stateid[4..])));
    format!("{:#010x}|{}|{offsets}|{counts}|{names}|{stateids}", transaction.xid, handles.join(","))
}

/// The same from a line of tshark.
fn expected(line: &str) -> String {
    match line.split('|').collect::<Vec<_>>()[..] {
        // Both directories of a RENAME are the same there.
        [xid, handle, offset, count, name] => {
            format!("{xid}|{}|{offset}|{count}|{name}|", handle.split(',').next().unwrap())
        }
        [xid, handles, offset, count, name, component, stateid, written] => {
            format!("{xid}|{handles}|{offset}|{count}{written}|{name}{component}|{stateid}")
        }
        _ => panic!("{line}"),
    }
}

/// CRC-32 bit by bit (IEEE 802.3).
fn crc32(octets: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !octets.iter().fold(!0, |crc, octet| (0..8).fold(crc ^ u32::from(*octet), step))
}

#[test]
fn handles_names_offsets_and_counts_are_those_that_tshark_shows() {
    for name in ["nfs3", "nfs40", "nfs41"] {
        let path = format!("{}/tests/suite/arguments/{name}.txt", env!("CARGO_MANIFEST_DIR"));
        let mut all: Vec<String> = fs::read_to_string(path).unwrap().lines().map(expected).collect();
        let is_nfs = |transaction: &&Transaction| transaction.procedure.is_some_and(|p| p.program == 100_003);
        let mut ours: Vec<String> = transactions(name).iter().filter(is_nfs).map(shown).collect();
        all.sort();
        ours.sort();
        assert_eq!(ours, all, "{name}");
    }
}

/// `w.bin` was created there, and its 197,001 octets written and read back.
#[test]
fn transfers_count_under_the_name_that_opened_the_file() {
    for (name, handle) in
        [("nfs3", "010001010000000053304a9a9701000000000000"), ("nfs41", "0100010100000000b6c821ef9701000000000000")]
    {
        let mut names = FileNames::default();
        let (mut by_name, mut by_handle) = (Top::new(TopBy::Name), Top::new(TopBy::Handle));
        for transaction in transactions(name) {
            names.learn(&transaction, &transaction.arguments());
            by_name.add_rpc(&transaction);
            by_handle.add_rpc(&transaction);
        }
        let (by_name, by_handle) =
            (by_name.finish(100, CaptureEnd::default()), by_handle.finish(100, CaptureEnd::default()));
        let is_file = |key: &TopKey| matches!(key, TopKey::File(_, octets) if hex(octets) == handle);
        let (TopKey::File(server, octets), counts) = by_handle.rows.iter().find(|(key, _)| is_file(key)).unwrap()
        else {
            panic!("{name}");
        };
        assert_eq!((*server, names.name(SERVER, octets)), (SERVER, Some(&b"w.bin"[..])), "{name}");
        assert_eq!((counts.octets_written, counts.failed, counts.not_rebuilt), (197_001, 0, 0), "{name}");
        let (_, named) = by_name.rows.iter().find(|(key, _)| name_of(key) == Some(b"w.bin")).unwrap();
        assert_eq!(named.octets_written, 197_001, "{name}");
        let calls = |rows: &[(TopKey, rpcrdma_answers::top::TopCounts)]| rows.iter().map(|(_, c)| c.calls).sum::<u64>();
        assert_eq!(calls(&by_name.rows), calls(&by_handle.rows), "{name}: each RPC is counted once");
    }
}

fn name_of(key: &TopKey) -> Option<&[u8]> {
    if let TopKey::Name(file) = key { Some(&file.name) } else { None }
}

/// LOOKUP of NFSv3, of two names that are no UTF-8.
#[test]
fn file_names_that_are_no_utf_8_are_counted_separately() {
    let mut wire = Wire::default();
    let mut packets = wire.connect();
    for (xid, name) in [(1, 0x66ff_0000), (2, 0x66fe_0000), (3, 0x66ff_0000)] {
        let header = [words(&[xid, 1, 32, MSG]), Lists::default().encode()].concat();
        let lookup = call(xid, [100_003, 3, 3], &words(&[4, 0xfeed, 2, name]));
        packets.extend(wire.send(Client, &[header.clone(), lookup].concat()));
        // NFS3ERR_NOENT, and no attributes.
        packets.extend(wire.send(Server, &[header, reply(xid, &words(&[2, 0]))].concat()));
    }
    let mut top = Top::new(TopBy::Name);
    dissect(&packets).iter().for_each(|transaction| top.add_rpc(transaction));
    let (report, mut json, mut text) = (top.finish(100, CaptureEnd::default()), Vec::new(), Vec::new());
    let calls: BTreeMap<_, _> = report.rows.iter().map(|(key, counts)| (name_of(key).unwrap(), counts.calls)).collect();
    assert_eq!(calls, BTreeMap::from([(&b"f\xfe"[..], 1), (b"f\xff", 2)]));
    report.write_json(None, &mut json).unwrap();
    report.write_text(&mut text, Screen::default()).unwrap();
    let [json, text] = [json, text].map(|octets| String::from_utf8(octets).unwrap());
    assert!(json.contains(r#""key":"f\\xff""#) && json.contains(r#""key":"f\\xfe""#), "{json}");
    assert!(text.contains(r"  f\xff") && text.contains(r"  f\xfe"), "{text}");
}

fn dissect(packets: &[Vec<u8>]) -> Vec<Transaction> {
    let (mut dissector, mut found) = (Dissector::new(Config::default()), Found::default());
    for (number, data) in (1..).zip(packets) {
        let (time, link, length) = (Time(number * 1000), LinkType(101), data.len() as u32);
        dissector.frame(&Frame { number, time, link, data, length });
        found.take_events(&mut dissector);
    }
    found.finish(dissector).transactions
}

/// PUTFH, WRITE of 5 octets, WRITE of 3, READ of 5, LOOKUP and GETFH of NFSv4.0, without protection and under the integrity service
/// of RPCSEC_GSS (RFC 2203 section 5.3.2.2). All data is in chunks, and what follows it is read all the same.
#[test]
fn what_follows_data_in_chunks_is_known() {
    for is_protected in [false, true] {
        let data = [octets(1, 5), octets(2, 3), octets(3, 5)];
        let write = |offset, count| [words(&[38, 0, 1, 2, 3, 0, offset, 2, count])].concat();
        let between = [write(12, 3), words(&[25, 0, 1, 2, 3, 0, 20, 5, 15, 2, 0x6162_0000, 10])];
        let first = [words(&[0, 0, 6, 22, 4, 0xfeed]), write(7, 5)].concat();
        // Verifier, and for the READ the end of the file.
        let written = |count| words(&[38, 0, count, 2, 9, 9]);
        let returned = [words(&[0, 0, 6, 22, 0]), written(5), written(3), words(&[25, 0, 1, 5])].concat();
        let after = words(&[15, 0, 10, 0, 4, 0xbeef]);
        // The credential: version 1, data, sequence number 55, integrity, a context; then the verifier of the header.
        let gss = words(&[1, 0, 2, 100_003, 4, 1, 6, 24, 1, 0, 55, 2, 4, 0xc0de, 6, 4, 0xabcd]);
        let (head, tail) = if is_protected {
            let length = (4 + first.len() + 8 + between[0].len() + 4 + between[1].len()) as u32;
            ([gss, words(&[length, 55])].concat(), words(&[4, 0x1111]))
        } else {
            (call(1, [100_003, 4, 1], &[]), Vec::new())
        };
        let positions = [head.len() + first.len(), head.len() + first.len() + 8 + between[0].len()];
        let lists = Lists {
            reads: vec![(positions[0] as u32, (1, 0, 5)), (positions[1] as u32, (2, 0, 3))],
            writes: vec![vec![(3, 0, 5)]],
            reply: None,
        };
        let calling = [head, first, between.concat(), tail].concat();
        let results = if is_protected {
            let length = (4 + returned.len() + 8 + after.len()) as u32;
            [words(&[length, 55]), returned, after, words(&[4, 0x2222])].concat()
        } else {
            [returned, after].concat()
        };
        let mut wire = Wire::default();
        let mut packets = wire.connect();
        packets.extend(wire.send(Client, &message(MSG, 1, &lists, &calling)));
        packets.extend(wire.read(Server, (1, 0), &data[0]));
        packets.extend(wire.read(Server, (2, 0), &data[1]));
        packets.extend(wire.write(Server, (3, 0), &data[2]));
        packets.extend(wire.send(Server, &message(MSG, 1, &Lists::writes(&[&[(3, 0, 5)]]), &reply(1, &results))));
        let found = dissect(&packets);
        let [transaction] = &found[..] else { panic!("{found:?}") };
        let rebuilt =
            [&transaction.call, &transaction.reply].map(|half| half.as_ref().unwrap().message.as_ref().unwrap());
        let moved: Vec<&[u8]> = rebuilt.iter().flat_map(|half| half.items.iter().map(|item| half.data(item))).collect();
        assert_eq!(moved, data.each_ref().map(Vec::as_slice), "{is_protected}");
        let arguments = transaction.arguments();
        let shown: Vec<_> = arguments.iter().map(|a| (a.name, a.status, a.offset, a.count, a.file_name)).collect();
        assert_eq!(
            shown,
            [
                ("PUTFH", Some(0), None, None, None),
                ("WRITE", Some(0), Some(7), Some(5), None),
                ("WRITE", Some(0), Some(12), Some(3), None),
                ("READ", Some(0), Some(20), Some(5), None),
                ("LOOKUP", Some(0), None, None, Some(&b"ab"[..])),
                ("GETFH", Some(0), None, None, None),
            ],
            "{is_protected}"
        );
        assert_eq!(arguments[4].named_handle, Some(&[0, 0, 0xbe, 0xef][..]), "{is_protected}");
    }
}

#[test]
fn nothing_is_known_of_what_is_encrypted_or_not_rebuilt() {
    let known = |name: &str| transactions(name).iter().filter(|t| !t.arguments().is_empty()).count();
    // krb5 protects headers alone, krb5i the integrity of bodies.
    assert!(known("nfs41_krb5") > 30 && known("nfs41_krb5i") > 30);
    let withdrawn = transactions("withdrawn");
    let refused = withdrawn.iter().find(|t| t.call.as_ref().unwrap().message.is_err()).unwrap();
    assert!(refused.arguments().is_empty());
}

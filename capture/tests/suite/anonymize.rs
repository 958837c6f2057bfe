//! Anonymized captures: what the commands say of them, and what of the original is left in them.
//!
//! Confidential content is found without the code that replaces it: text by its letters, data by its known content, handles and
//! stateids in the records of the original.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use rpcrdma_dissector::output::annotate::Annotator;
use rpcrdma_dissector::output::anonymize::{Anonymized, Anonymizer, Key, config};
use rpcrdma_dissector::{Config, Dissector, Event, Frame, LinkType, Reader, Time, verify_crc};
use serde_json::Value;

use crate::command::{run, stderr, stdout};
use crate::common::{big, up};
use crate::transcode::{self, ETHERNET, Pcap, ROCE_CAPTURES, Record};

const KEY: [u8; 32] = *b"a key that is no secret at all..";
/// Captures of our own programs that are not among the others.
const MORE: [&str; 5] = ["held", "hangs", "lost", "network_requester", "network_responder"];

fn captures() -> impl Iterator<Item = &'static str> {
    ROCE_CAPTURES.into_iter().filter(|name| *name != "perftest").chain(MORE)
}

fn frame(number: u64, record: &Record) -> Frame<'_> {
    let Record { time_ns, link, ref data, length } = *record;
    Frame { number, time: Time(time_ns), link: LinkType(link), data, length }
}

fn anonymize(records: &[Record], key: [u8; 32]) -> std::io::Result<(Vec<Record>, Anonymized)> {
    let (mut file, mut dissector) = (Vec::new(), Dissector::new(config()));
    let mut anonymizer = Anonymizer::new(&mut file, &Key::new(key))?;
    for (number, record) in (1..).zip(records) {
        let frame = frame(number, record);
        anonymizer.frame(&frame)?;
        dissector.frame(&frame);
        while let Some(event) = dissector.event() {
            anonymizer.event(&event)?;
        }
    }
    dissector.finish();
    while let Some(event) = dissector.event() {
        anonymizer.event(&event)?;
    }
    let anonymized = anonymizer.finish()?;
    Ok((read(&file), anonymized))
}

fn read(file: &[u8]) -> Vec<Record> {
    let mut reader = Reader::new(file).unwrap();
    let mut records = Vec::new();
    while let Some(frame) = reader.next() {
        let Frame { time, link, data, length, .. } = frame.unwrap();
        records.push(Record { time_ns: time.0, link: link.0, data: data.to_vec(), length });
    }
    records
}

/// The frames of a capture that have a copy, and the copies.
fn pairs(records: &[Record]) -> Vec<(Record, Record)> {
    let (copies, anonymized) = anonymize(records, KEY).unwrap();
    assert_eq!(anonymized.frames as usize, copies.len());
    let mut copies = copies.into_iter().peekable();
    let mut pairs = Vec::new();
    for record in records {
        let is_same = |copy: &Record| {
            (copy.time_ns, copy.length, copy.data.len()) == (record.time_ns, record.length, record.data.len())
        };
        if let Some(copy) = copies.next_if(is_same) {
            pairs.push((record.clone(), copy));
        }
    }
    assert!(copies.next().is_none(), "each frame is a copy of one, and in its order");
    pairs
}

/// A folder that no other test has: a test runs in a thread of its name.
fn folder(name: &str) -> PathBuf {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or_default().replace("::", "-");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn write(records: impl Iterator<Item = Record>, path: &Path) {
    let records: Vec<Record> = records.collect();
    std::fs::write(path, transcode::write_pcap(&records, Pcap { nanoseconds: true, big_endian: false })).unwrap();
}

/// Values that are replaced, in the order in which they come first.
#[derive(Default)]
struct Replaced {
    values: BTreeMap<String, usize>,
}

impl Replaced {
    fn name(&mut self, value: &str) -> Value {
        let next = self.values.len();
        Value::from(*self.values.entry(value.to_owned()).or_insert(next))
    }

    /// The record with each replaced value as its place among those of its kind.
    fn record(&mut self, value: Value, key: &str, path: &str) -> Value {
        match value {
            Value::Object(fields) => {
                let fields = fields.into_iter().map(|(key, value)| {
                    let value = self.record(value, &key, path);
                    (key, value)
                });
                Value::Object(fields.collect())
            }
            Value::Array(items) => items.into_iter().map(|item| self.record(item, key, path)).collect(),
            Value::String(text) => match key {
                "octets" | "hash" | "stateid" | "file_name" | "new_file_name" => self.name(&text),
                _ if text.parse::<std::net::IpAddr>().is_ok() => self.name(&text),
                _ => Value::from(self.text(&text.replace(path, "PATH"))),
            },
            other => other,
        }
    }

    /// Text with each address as its place.
    fn text(&mut self, text: &str) -> String {
        // The end of a link's text, as a number.
        let shows_link = text.contains("is in place of the link's length");
        let word = |word: &str| {
            let bare = word.trim_end_matches([',', '.', ':', ';']);
            match bare.parse::<std::net::IpAddr>() {
                _ if shows_link && word.starts_with("0x") => "link".to_owned(),
                Ok(_) => word.replace(bare, &self.name(bare).to_string()),
                Err(_) => word.to_owned(),
            }
        };
        text.split(' ').map(word).collect::<Vec<_>>().join(" ")
    }
}

/// The records of a command.
fn records(command: &str, path: &Path) -> Vec<Value> {
    let path = path.display().to_string();
    let output = run(&[command, "--quiet", "--json", &path]);
    let mut replaced = Replaced::default();
    let records = stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap());
    let mut records: Vec<Value> = records.map(|record| replaced.record(record, "", &path)).collect();
    for record in &mut records {
        // The segments of a list that is malformed are what follows in the Send, whatever that is.
        if record["malformed"].is_object() {
            record["writes"] = Value::Null;
        }
    }
    records
}

#[test]
fn the_commands_say_the_same_of_a_copy() {
    let folder = folder("commands");
    let [original, copy] = ["original.pcap", "copy.pcap"].map(|name| folder.join(name));
    for name in captures() {
        let pairs = pairs(&transcode::capture(name));
        assert!(!pairs.is_empty(), "{name}");
        write(pairs.iter().map(|pair| pair.0.clone()), &original);
        write(pairs.iter().map(|pair| pair.1.clone()), &copy);
        for command in ["decode", "transactions", "slow", "events", "check", "diagnose", "stats"] {
            let (expected, found) = (records(command, &original), records(command, &copy));
            assert_eq!(found.len(), expected.len(), "{command} {name}");
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!(found, expected, "{command} {name}");
            }
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Where the data of a packet begins, after the fixed headers of RoCE over IPv4, IPv6 or with a GRH.
fn transport(frame: &[u8]) -> usize {
    let mut at = 12;
    while matches!(frame[at..at + 2], [0x81, 0] | [0x88, 0xa8]) {
        at += 4;
    }
    at + 2
        + match frame[at..at + 2] {
            [0x08, 0x00] => 28,
            [0x86, 0xdd] => 48,
            [0x89, 0x15] => 40,
            _ => panic!("{frame:x?} is no RoCE"),
        }
}

/// Asserts that no four octets of what begins at `at` of the original are there in the copy.
fn assert_gone(value: &[u8], at: usize, (original, copy): (&[u8], &[u8]), name: &str) {
    for (offset, octets) in value.windows(4).enumerate() {
        let at = at + offset;
        let says_nothing = octets == [0; 4] || octets == [0xff; 4];
        if says_nothing || at + 4 > copy.len() {
            continue;
        }
        assert_eq!(octets, &original[at..at + 4]);
        assert_ne!(octets, &copy[at..at + 4], "{value:x?} of {name} at {at}");
    }
}

/// The places of a value in a frame.
fn places<'a>(value: &'a [u8], frame: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    frame.windows(value.len().max(1)).enumerate().filter(move |(_, octets)| *octets == value).map(|(at, _)| at)
}

/// File names, handles and stateids in the records of a capture; names are the first.
fn values(records: &[Value]) -> (HashSet<Vec<u8>>, HashSet<Vec<u8>>) {
    fn collect(value: &Value, key: &str, names: &mut HashSet<Vec<u8>>, others: &mut HashSet<Vec<u8>>) {
        match value {
            Value::Object(fields) => fields.iter().for_each(|(key, value)| collect(value, key, names, others)),
            Value::Array(items) => items.iter().for_each(|item| collect(item, key, names, others)),
            Value::String(text) if key.ends_with("file_name") => {
                names.insert(text.clone().into_bytes());
            }
            Value::String(text) if matches!(key, "octets" | "stateid") => {
                let pairs = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
                let octets: Vec<u8> = pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect();
                // A stateid begins with a sequence number.
                others.insert(octets[if key == "stateid" { 4 } else { 0 }..].to_vec());
            }
            _ => {}
        }
    }
    let (mut names, mut others) = (HashSet::new(), HashSet::new());
    records.iter().for_each(|record| collect(record, "", &mut names, &mut others));
    (names, others)
}

/// Runs of text of six octets or more.
fn texts(data: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let is_text = |octet: &u8| matches!(octet, 0x20..=0x7e);
    let mut at = 0;
    data.chunk_by(move |one, other| is_text(one) == is_text(other)).filter_map(move |run| {
        let from = at;
        at += run.len();
        (run.len() >= 6 && run.iter().all(is_text)).then_some((from, run))
    })
}

fn assert_nothing_remains(records: &[Record], name: &str) {
    let folder = folder(name);
    let path = folder.join("original.pcap");
    write(records.iter().cloned(), &path);
    let output = run(&["transactions", "--quiet", "--json", &path.display().to_string()]);
    let lines: Vec<Value> = stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    std::fs::remove_dir_all(folder).unwrap();
    let (names, others) = values(&lines);
    let pairs = pairs(records);
    let is_ours = MORE.contains(&name) || name == "delays";
    for (original, copy) in &pairs {
        let (original, copy) = (original.data.as_slice(), copy.data.as_slice());
        let begins = transport(original);
        let both = (original, copy);
        // MAC addresses, IP addresses or GIDs.
        for at in [0, 6] {
            assert_gone(&original[at..at + 6], at, both, name);
        }
        for address in [[192, 0, 2, 1], [192, 0, 2, 2]] {
            assert_eq!(places(&address, copy).count(), 0, "{name}");
        }
        assert_eq!(places(&[0x20, 0x01, 0x0d, 0xb8], copy).count(), 0, "{name}");
        // After the BTH. In headers, no more than four octets look like text: an XID, a handle. The offsets of our own programs are random,
        // and a handle is next to them.
        let shortest = if is_ours { 13 } else { 6 };
        for (at, text) in texts(&original[begins + 12..]).filter(|(_, text)| text.len() >= shortest) {
            assert_gone(text, begins + 12 + at, both, name);
        }
        for value in names.iter().chain(&others).filter(|value| value.len() >= 4) {
            for at in places(value, original) {
                assert_gone(value, at, both, name);
            }
        }
        for value in names.iter().filter(|value| value.len() >= 4) {
            assert_eq!(places(value, copy).count(), 0, "{value:x?} of {name}");
        }
    }
    // The files are digests of 32 octets, one after the other.
    let digests: HashSet<&[u8]> = big().chunks_exact(32).chain(up().chunks_exact(32)).collect();
    for (original, copy) in &pairs {
        for (at, octets) in original.data.windows(32).enumerate() {
            if digests.contains(octets) {
                assert_eq!(copy.data[at..at + 32], [0; 32], "data of {name}");
            }
        }
    }
}

#[test]
fn nothing_confidential_stays_where_it_stood() {
    for name in captures() {
        assert_nothing_remains(&transcode::capture(name), name);
    }
}

#[test]
fn nothing_confidential_stays_in_disturbed_captures() {
    for name in ["nfs41", "nfs3", "nfs41_krb5i"] {
        let records = transcode::capture(name);
        assert_nothing_remains(&transcode::to_roce_v1(&records), name);
        assert_nothing_remains(&transcode::with_vlans(&records), name);
        // Cut frames, missing ones, and a different order: most messages are not rebuilt then.
        for octets in [90, 150, 300] {
            assert_nothing_remains(&transcode::cut(&records, octets), name);
        }
        assert_nothing_remains(&transcode::dropping(&records, 7, 100), name);
        assert_nothing_remains(&transcode::without_first(&records, 100), name);
        assert_nothing_remains(&transcode::reordering(&records, 7, 50, 9), name);
        assert_nothing_remains(&transcode::duplicating(&records, 7, 50), name);
    }
}

#[test]
fn the_data_that_nobody_understands_is_zero() {
    // An RPC of another program: its arguments follow the header of 28 octets and the RPC header of 40.
    let mut records = transcode::capture("nfs41");
    let program = 100_003_u32.to_be_bytes();
    for record in &mut records {
        let at = places(&program, &record.data).next();
        if let Some(at) = at {
            record.data[at..at + 4].copy_from_slice(&300_003_u32.to_be_bytes());
        }
    }
    let mut calls = 0;
    for (original, copy) in pairs(&records) {
        let Some(at) = places(&300_003_u32.to_be_bytes(), &original.data).next() else { continue };
        calls += 1;
        // Version, procedure, and the flavor and length of the credential.
        let credential = u32::from_be_bytes(original.data[at + 16..at + 20].try_into().unwrap()) as usize;
        let body = at + 20 + credential + 8;
        let icrc = copy.data.len() - 4;
        assert_eq!(original.data[at..at + 20], copy.data[at..at + 20]);
        assert!(copy.data[body..icrc].iter().all(|octet| *octet == 0));
    }
    assert!(calls > 20);
}

/// The one's complement sum of an IPv4 header.
fn sum(header: &[u8]) -> u16 {
    let sum: u32 = header.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    (sum & 0xffff) as u16 + (sum >> 16) as u16
}

#[test]
fn checksums_are_right_where_they_were() {
    for name in ["nfs41", "nfs3_ipv6"] {
        let records = transcode::capture(name);
        for records in [records.clone(), transcode::with_vlan(&records), transcode::to_roce_v1(&records)] {
            for (number, (original, copy)) in (1..).zip(&mut pairs(&records)) {
                assert!(verify_crc(&frame(number, original)).unwrap().icrc, "{name}");
                assert!(verify_crc(&frame(number, copy)).unwrap().icrc, "{name}");
                if copy.data[12..14] == [8, 0] {
                    assert_eq!(sum(&copy.data[14..34]), 0xffff);
                }
            }
        }
        let mut broken = records;
        for record in &mut broken {
            *record.data.last_mut().unwrap() ^= 1;
            if record.data[12..14] == [8, 0] {
                record.data[24] ^= 1;
            }
        }
        for (number, (_, copy)) in (1..).zip(&pairs(&broken)) {
            assert!(!verify_crc(&frame(number, copy)).unwrap().icrc, "{name}");
            if copy.data[12..14] == [8, 0] {
                assert_ne!(sum(&copy.data[14..34]), 0xffff);
            }
        }
    }
}

#[test]
fn a_udp_checksum_is_right_if_it_was() {
    fn udp_sum(frame: &[u8]) -> u32 {
        let length = usize::from(u16::from_be_bytes([frame[38], frame[39]]));
        let pseudo = [&frame[26..34], &[0, 17], &frame[38..40], &frame[34..34 + length]].concat();
        let words = pseudo.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0)));
        let sum: u32 = words.sum();
        let sum = (sum & 0xffff) + (sum >> 16);
        (sum & 0xffff) + (sum >> 16)
    }
    let mut records = transcode::capture("nfs41_callback");
    let is_roce = |record: &&mut Record| record.data[12..14] == [8, 0] && record.data[23] == 17;
    for record in records.iter_mut().filter(is_roce) {
        record.data[40..42].fill(0);
        let checksum = !(udp_sum(&record.data) as u16);
        record.data[40..42].copy_from_slice(&checksum.to_be_bytes());
    }
    for (_, copy) in pairs(&records) {
        assert_eq!(udp_sum(&copy.data), 0xffff);
    }
}

#[test]
fn one_key_makes_the_same_replacements_in_all_captures() {
    let copies = |name: &str, key| anonymize(&transcode::capture(name), key).unwrap().0;
    let addresses = |records: &[Record]| -> HashSet<Vec<u8>> {
        records.iter().flat_map(|record| [record.data[26..30].to_vec(), record.data[..6].to_vec()]).collect()
    };
    let here = addresses(&copies("network_requester", KEY));
    assert_eq!(here, addresses(&copies("network_responder", KEY)));
    assert!(here.is_disjoint(&addresses(&copies("network_responder", [9; 32]))));
}

#[test]
fn comments_are_gone() {
    let records = transcode::capture("nfs41_callback");
    let (mut file, mut dissector) = (Vec::new(), Dissector::new(Config::default()));
    let mut annotator = Annotator::new(&mut file).unwrap();
    for (number, record) in (1..).zip(&records) {
        annotator.frame(&frame(number, record)).unwrap();
        dissector.frame(&frame(number, record));
        while let Some(event) = dissector.event() {
            if let Event::Transaction(transaction) = event {
                annotator.transaction(&transaction);
            }
        }
    }
    annotator.finish().unwrap();
    let folder = folder("comments");
    let [original, copy] = ["original.pcapng", "copy.pcapng"].map(|name| folder.join(name).display().to_string());
    std::fs::write(&original, &file).unwrap();
    let comment = b"reply in frame";
    assert!(places(comment, &file).next().is_some());
    let output = run(&["anonymize", "--quiet", &original, "-o", &copy]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    let copied = std::fs::read(&copy).unwrap();
    assert_eq!(places(comment, &copied).count(), 0);
    assert_eq!(read(&copied).len(), anonymize(&records, KEY).unwrap().0.len());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_cannot_be_anonymized_is_refused_and_not_passed_through() {
    let iwarp = anonymize(&transcode::capture("iwarp_nfs41"), KEY).unwrap_err();
    assert_eq!(iwarp.kind(), std::io::ErrorKind::Unsupported);
    let records = transcode::capture("nfs41");
    let infiniband = anonymize(&transcode::to_infiniband(&records, true), KEY).unwrap_err();
    assert_eq!(infiniband.kind(), std::io::ErrorKind::Unsupported);
    let others = [transcode::to_cooked(&records), transcode::to_raw_ip(&records)];
    let wrapped = transcode::ENCAPSULATIONS.iter().map(|how| transcode::encapsulate(&records, *how));
    for records in others.into_iter().chain(wrapped) {
        let (copies, anonymized) = anonymize(&records, KEY).unwrap();
        assert_eq!(copies.len(), 0, "{:x?}", records[0].data);
        assert!(anonymized.unknown > 1000);
    }
    let (copies, anonymized) = anonymize(&transcode::capture("perftest"), KEY).unwrap();
    assert_eq!((copies.len(), anonymized.unknown), (0, 0));
}

#[test]
fn the_program_says_what_it_left_out() {
    let folder = folder("program");
    let path = |name: &str| folder.join(name).display().to_string();
    let capture = |name: &str| transcode::path(name).display().to_string();
    let anonymize = |name: &str, more: &[&str]| {
        run(&[&["anonymize", "--quiet", &capture(name), "-o", &path("copy.pcap")], more].concat())
    };
    let output = run(&["anonymize", &capture("nfs41"), "-o", &path("copy.pcap")]);
    let said = "rpcrdma: frames written: 1241; left out: 24 of no RPC-over-RDMA connection\n";
    assert_eq!((output.status.code(), stderr(&output).ends_with(said)), (Some(0), true), "{}", stderr(&output));
    assert_eq!(read(&std::fs::read(path("copy.pcap")).unwrap())[0].link, ETHERNET);
    for (name, more, status, said) in [
        ("perftest", &[][..], 1, ""),
        ("iwarp_nfs41", &[], 2, "iWARP cannot be anonymized yet"),
        ("nfs41", &["--connection", "1"], 2, "leave out the options that select"),
        ("nfs41", &["--key", "12"], 2, "a key is 64 hexadecimal digits"),
    ] {
        let output = anonymize(name, more);
        assert_eq!(output.status.code(), Some(status), "{name}");
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
    }
    std::fs::remove_dir_all(folder).unwrap();
}

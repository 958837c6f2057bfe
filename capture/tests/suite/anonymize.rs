//! Anonymized captures: what the commands say of them, and what of the original is left in them.
//!
//! Confidential content is found without the code that replaces it: text by its letters, data by its known content, handles and
//! stateids in the records of the original.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use memchr::memmem::{self, Finder};
use rpcrdma_answers::annotate::Annotator;
use rpcrdma_answers::anonymize::{Anonymized, Anonymizer, Key, config};
use rpcrdma_dissector::{Config, Dissector, Event, Frame, LinkType, Reader, Time, verify_crc};
use serde_json::Value;

use crate::command::{run, stderr, stdout};
use crate::common::{big, up};
use crate::transcode::{self, ETHERNET, Encapsulation, Erf, INFINIBAND, Mpa, Padding, Pcap, Pcapng, Record};

const ETHERNET_HEADER: usize = 14;
/// Octets of a SHA-256 digest.
const DIGEST: usize = 32;
/// A Local Route Header.
const LRH: usize = 8;
const KEY: [u8; 32] = *b"a key that is no secret at all..";
/// Captures of our own programs, whose offsets are random, besides `delays` and others of a network.
const MORE: [&str; 5] = ["held", "hangs", "lost", "network_requester", "network_responder"];

/// All captures with RPC-over-RDMA.
fn captures() -> impl Iterator<Item = String> {
    transcode::shipped().into_iter().filter(|name| !["perftest", "situations/no_rpc"].contains(&name.as_str()))
}

fn frame(number: u64, record: &Record) -> Frame<'_> {
    let Record { time_ns, link, ref data, length } = *record;
    Frame { number, time: Time(time_ns), link: LinkType(link), data, length }
}

fn anonymize(records: &[Record], key: [u8; 32]) -> std::io::Result<(Vec<Record>, Anonymized)> {
    let (mut file, mut dissector) = (Vec::new(), Dissector::new(config()));
    let mut anonymizer = Anonymizer::new(&mut file, &Key::new(key));
    for (number, record) in (1..).zip(records) {
        let frame = frame(number, record);
        anonymizer.frame(&frame)?;
        dissector.frame(&frame);
        while let Some(event) = dissector.event() {
            anonymizer.event(&event);
        }
    }
    dissector.finish();
    while let Some(event) = dissector.event() {
        anonymizer.event(&event);
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

/// The frames of a capture that have a copy, and the copies, which are as long.
fn pairs(records: &[Record]) -> Vec<(Record, Record)> {
    pairs_by(records, |record, copy| {
        (copy.link, copy.length, copy.data.len()) == (record.link, record.length, record.data.len())
    })
}

/// The same if a copy is the innermost packet of its frame.
fn inner_pairs(records: &[Record]) -> Vec<(Record, Record)> {
    pairs_by(records, |record, copy| copy.data.len() <= record.data.len() + ETHERNET_HEADER)
}

fn pairs_by(records: &[Record], is_as_long: impl Fn(&Record, &Record) -> bool) -> Vec<(Record, Record)> {
    let (copies, anonymized) = anonymize(records, KEY).unwrap();
    assert_eq!(anonymized.frames as usize, copies.len());
    let mut copies = copies.into_iter().peekable();
    let mut pairs = Vec::new();
    for record in records {
        let is_same = |copy: &Record| copy.time_ns == record.time_ns && is_as_long(record, copy);
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
                // A copy has no handles in the attributes of NFSv4, by which a listing names files.
                let has_file = ["hash", "user", "cause"].iter().any(|of| fields.contains_key(*of));
                let is_name = |key: &str| has_file && ["file_name", "path", "file"].contains(&key);
                let fields = fields.into_iter().filter(|(key, _)| !is_name(key)).map(|(key, value)| {
                    let value = self.record(value, &key, path);
                    (key, value)
                });
                Value::Object(fields.collect())
            }
            Value::Array(items) => items.into_iter().map(|item| self.record(item, key, path)).collect(),
            Value::String(text) => match key {
                "octets" | "hash" | "stateid" | "callback_stateid" | "file_name" | "new_file_name" | "file"
                | "path" | "machine" => self.name(&text),
                "session_id" | "client_id" | "major_id" | "scope" => self.name(&text),
                _ if text.parse::<std::net::IpAddr>().is_ok() || is_lid(&text) => self.name(&text),
                _ => {
                    let text = Self::file(&text.replace(path, "PATH"));
                    Value::from(self.text(&text))
                }
            },
            Value::Number(number) if key == "minor_id" => self.name(&number.to_string()),
            other => other,
        }
    }

    /// Text without the file of a call, as in `READ of notes.txt in frame 12`.
    fn file(text: &str) -> String {
        let Some(behind) = [" in frame ", " was refused "].into_iter().find(|behind| text.contains(behind)) else {
            return text.to_owned();
        };
        let Some((before, after)) = text.split_once(behind) else { return text.to_owned() };
        match before.rsplit_once(" of ") {
            Some((call, file)) if !file.contains(' ') => format!("{call}{behind}{after}"),
            _ => text.to_owned(),
        }
    }

    /// Text with each address as its place.
    fn text(&mut self, text: &str) -> String {
        // The end of a link's text, as a number.
        let shows_link = text.contains("is in place of the link's length");
        let mut is_lid = false;
        let word = |word: &str| {
            let bare = word.trim_end_matches([',', '.', ':', ';']);
            let was_lid = std::mem::replace(&mut is_lid, word == "LID");
            match bare.parse::<std::net::IpAddr>() {
                _ if was_lid => word.replace(bare, &self.name(&format!("LID {bare}")).to_string()),
                _ if shows_link && word.starts_with("0x") => "link".to_owned(),
                Ok(_) => word.replace(bare, &self.name(bare).to_string()),
                Err(_) => word.to_owned(),
            }
        };
        text.split(' ').map(word).collect::<Vec<_>>().join(" ")
    }
}

/// Returns true for the address of a port without a GID.
fn is_lid(text: &str) -> bool {
    text.strip_prefix("LID ").is_some_and(|number| number.parse::<u16>().is_ok())
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
        // Users, machines, servers and paths have other names, in lines of text too.
        let mounts = record.get_mut("mounts").and_then(Value::as_array_mut).into_iter().flatten();
        for mount in mounts.filter_map(Value::as_object_mut) {
            ["users", "paths", "lines"].into_iter().for_each(|name| drop(mount.remove(name)));
        }
    }
    records
}

/// Takes out of a record the octets of all frames, and the session of a mirror, which are not in the copy of an innermost packet.
fn without_outer(record: &mut Value) {
    for path in ["/mirror_session", "/capture/octets", "/captures/0/octets"] {
        if let Some(value) = record.pointer_mut(path) {
            *value = Value::Null;
        }
    }
}

/// Asserts that the seven commands say the same of a capture and of its copy.
fn assert_same(capture: &[Record], name: &str) {
    assert_same_of(&pairs(capture), name, |_| {});
}

fn assert_same_of(pairs: &[(Record, Record)], name: &str, clean: impl Fn(&mut Value)) {
    let folder = folder(name);
    let [original, copy] = ["original.pcap", "copy.pcap"].map(|name| folder.join(name));
    assert!(!pairs.is_empty(), "{name}");
    write(pairs.iter().map(|pair| pair.0.clone()), &original);
    write(pairs.iter().map(|pair| pair.1.clone()), &copy);
    for command in ["decode", "transactions", "slow", "events", "check", "diagnose", "stats"] {
        let [expected, found] = [&original, &copy].map(|path| {
            let mut records = records(command, path);
            records.iter_mut().for_each(&clean);
            records
        });
        assert_eq!(found.len(), expected.len(), "{command} {name}");
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected, "{command} {name}");
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_commands_say_the_same_of_a_copy() {
    for name in whole() {
        assert_same(&transcode::capture(&name), &name);
    }
}

/// The copy has each datagram that sets a connection up, as far as the capture has it.
#[test]
fn anonymized_cut_frames_keep_their_connections() {
    for name in ["nfsd_deviations", "nfs3_ipv6"] {
        let whole = transcode::capture(name);
        let found = (74..320).step_by(6).map(|snaplen| {
            let cut = |record: &Record| {
                let data = record.data.iter().take(snaplen).copied().collect();
                Record { data, ..record.clone() }
            };
            let records: Vec<Record> = whole.iter().map(cut).collect();
            let (copies, _) = anonymize(&records, KEY).unwrap();
            let found = connections(&records);
            assert_eq!(connections(&copies), found, "{name} cut to {snaplen} octets");
            found
        });
        let found: HashSet<_> = found.collect();
        assert!(found.len() > 1, "more is cut than the captures have");
    }
}

/// The sequence and acknowledgement numbers are there, and tell of loss.
#[test]
fn a_copy_has_the_segments_whose_options_were_cut() {
    let whole = transcode::capture("iwarp_nfs41");
    let (_, expected) = anonymize(&whole, KEY).unwrap();
    for octets_of_options in [0, 3, 11] {
        // Ethernet, IPv4 and TCP without options.
        let headers = 14 + 20 + 20 + octets_of_options;
        let cut = |record: &Record| {
            let is_short = record.data.len() <= 14 + 20 + 32;
            let data = record.data.iter().take(if is_short { headers } else { usize::MAX }).copied().collect();
            Record { data, ..record.clone() }
        };
        let records: Vec<Record> = whole.iter().map(cut).collect();
        assert!(records.iter().any(|record| record.data.len() == headers), "the capture has segments without data");
        let (_, anonymized) = anonymize(&records, KEY).unwrap();
        assert_eq!(anonymized, expected, "{octets_of_options} octets of options");
        assert_same(&records, "iwarp_nfs41 with options cut");
    }
}

/// Of each connection with RPC-over-RDMA: whether the capture has its beginning, and the port.
fn connections(records: &[Record]) -> Vec<(bool, Option<u16>)> {
    let mut dissector = Dissector::new(Config::default());
    for (number, record) in (1..).zip(records) {
        dissector.frame(&frame(number, record));
    }
    dissector.finish();
    let reports = std::iter::from_fn(|| dissector.event()).filter_map(|event| match event {
        Event::Connection(report) if report.number.is_some() => Some(report.connection),
        _ => None,
    });
    reports.map(|connection| (connection.setup_captured, connection.port())).collect()
}

/// iWARP with markers and CRCs, of which one is wrong, in segments of this many octets.
fn marked(segment: usize) -> Vec<Record> {
    let mpa = Mpa { markers: [true; 2], crc: true, old: false, segment, wrong: Some(20) };
    transcode::with_mpa(&transcode::capture("iwarp_nfs41"), mpa)
}

#[test]
fn commands_agree_on_anonymized_iwarp_with_markers_and_crcs() {
    // Most FPDUs are in several of these segments.
    assert_same(&marked(400), "iwarp_nfs41");
    assert_same(&transcode::over_ipv6(&marked(1448)), "iwarp_nfs41");
}

/// Returns the offset from which data may be confidential: after the Base Transport Header of InfiniBand, or of RoCE
/// over IPv4, IPv6 or with a GRH, or after TCP's header.
fn after_headers(link: u32, frame: &[u8]) -> usize {
    if link == INFINIBAND {
        return LRH + if frame[1] & 3 == 3 { 40 } else { 0 } + 12;
    }
    let mut at = 12;
    while matches!(frame[at..at + 2], [0x81, 0] | [0x88, 0xa8]) {
        at += 4;
    }
    let (network, protocol) = match frame[at..at + 2] {
        [0x08, 0x00] => (20, frame[at + 11]),
        [0x86, 0xdd] => (40, frame[at + 8]),
        [0x89, 0x15] => return at + 2 + 40 + 12,
        _ => panic!("{frame:x?} is neither RoCE nor TCP"),
    };
    let transport = at + 2 + network;
    transport + if protocol == 6 { usize::from(frame[transport + 12] >> 4) * 4 } else { 8 + 12 }
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

/// The places of a value in a frame, also where they overlap.
fn places<'a>(value: &'a Finder<'_>, frame: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let mut next = 0;
    std::iter::from_fn(move || {
        let at = next + value.find(frame.get(next..)?)?;
        next = at + 1;
        Some(at)
    })
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

fn finders<'a, V: AsRef<[u8]> + 'a>(values: impl IntoIterator<Item = &'a V>) -> Vec<Finder<'a>> {
    values.into_iter().map(|value| Finder::new(value.as_ref())).collect()
}

/// Returns true for octets of a file: the files are digests, one after the other.
fn is_file_data(octets: &[u8]) -> bool {
    // By the first two octets: each frame has hundreds of candidates.
    static DIGESTS: LazyLock<Vec<Vec<&[u8]>>> = LazyLock::new(|| {
        let mut digests = vec![Vec::new(); 1 << 16];
        for digest in big().chunks_exact(DIGEST).chain(up().chunks_exact(DIGEST)) {
            digests[begin(digest)].push(digest);
        }
        digests
    });
    fn begin(octets: &[u8]) -> usize {
        usize::from(u16::from_be_bytes([octets[0], octets[1]]))
    }
    DIGESTS[begin(octets)].contains(&octets)
}

fn assert_nothing_remains(records: &[Record], name: &str) {
    let folder = folder(name);
    let path = folder.join("original.pcap");
    write(records.iter().cloned(), &path);
    let output = run(&["transactions", "--quiet", "--json", &path.display().to_string()]);
    let lines: Vec<Value> = stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    std::fs::remove_dir_all(folder).unwrap();
    let (names, others) = values(&lines);
    let [names, others] = [&names, &others].map(|values| finders(values.iter().filter(|value| value.len() >= 4)));
    let addresses = finders([&[192, 0, 2, 1], &[192, 0, 2, 2], &[0x20, 0x01, 0x0d, 0xb8]]);
    let pairs = pairs(records);
    let is_ours = MORE.contains(&name) || name == "delays" || name.starts_with("iwarp_network");
    for (original, copy) in &pairs {
        let link = original.link;
        let (original, copy) = (original.data.as_slice(), copy.data.as_slice());
        let begins = after_headers(link, original);
        let both = (original, copy);
        // LIDs or MAC addresses, IP addresses or GIDs.
        if link == INFINIBAND {
            for at in [2, 6] {
                assert_ne!(original[at..at + 2], copy[at..at + 2], "{name}");
            }
        } else {
            for at in [0, 6] {
                assert_gone(&original[at..at + 6], at, both, name);
            }
        }
        assert!(addresses.iter().all(|address| address.find(copy).is_none()), "{name}");
        // After the BTH. In headers, no more than four octets look like text: an XID, a handle. The offsets of our own programs are random,
        // and a handle is next to them.
        let shortest = if is_ours { 13 } else { 6 };
        let is_secret = |text: &[u8]| text.len() >= shortest && !text.starts_with(b"MPA ID Re");
        for (at, text) in texts(&original[begins..]).filter(|(_, text)| is_secret(text)) {
            assert_gone(text, begins + at, both, name);
        }
        for value in names.iter().chain(&others) {
            for at in places(value, original) {
                assert_gone(value.needle(), at, both, name);
            }
        }
        for value in &names {
            assert_eq!(value.find(copy), None, "{:x?} of {name}", value.needle());
        }
    }
    for (original, copy) in &pairs {
        for (at, octets) in original.data.windows(DIGEST).enumerate() {
            if is_file_data(octets) {
                assert_eq!(copy.data[at..at + DIGEST], [0; DIGEST], "data of {name}");
            }
        }
    }
}

#[test]
fn nothing_confidential_stays_where_it_stood() {
    for name in captures() {
        assert_nothing_remains(&transcode::capture(&name), &name);
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
fn nothing_confidential_stays_in_disturbed_captures_of_iwarp() {
    for name in ["iwarp_nfs41", "iwarp_nfs3_lossy"] {
        let records = transcode::capture(name);
        for octets in [90, 150, 300] {
            assert_nothing_remains(&transcode::cut(&records, octets), name);
        }
        assert_nothing_remains(&transcode::dropping(&records, 7, 100), name);
        assert_nothing_remains(&transcode::without_first(&records, 100), name);
        assert_nothing_remains(&transcode::reordering(&records, 7, 50, 9), name);
        assert_nothing_remains(&transcode::duplicating(&records, 7, 50), name);
    }
    assert_nothing_remains(&marked(400), "iwarp_nfs41");
}

#[test]
fn the_data_that_nobody_understands_is_zero() {
    // An RPC of another program: its arguments follow the header of 28 octets and the RPC header of 40.
    let mut records = transcode::capture("nfs41");
    let program = 100_003_u32.to_be_bytes();
    for record in &mut records {
        let at = memmem::find(&record.data, &program);
        if let Some(at) = at {
            record.data[at..at + 4].copy_from_slice(&300_003_u32.to_be_bytes());
        }
    }
    let mut calls = 0;
    for (original, copy) in pairs(&records) {
        let Some(at) = memmem::find(&original.data, &300_003_u32.to_be_bytes()) else { continue };
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

/// The one's complement sum of UDP or TCP over IPv4, with the pseudo-header. It is all ones if the checksum is right.
fn transport_sum(frame: &[u8]) -> u32 {
    let length = u16::from_be_bytes([frame[16], frame[17]]) - 20;
    let transport = &frame[34..34 + usize::from(length)];
    let pseudo = [&frame[26..34], &[0, frame[23]], &length.to_be_bytes(), transport].concat();
    let words = pseudo.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0)));
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    (sum & 0xffff) + (sum >> 16)
}

#[test]
fn tcp_checksums_and_crcs_are_right_where_they_were() {
    let mut records = marked(400);
    records.retain(|record| record.data[12..14] == [8, 0] && record.data[23] == 6);
    for (index, record) in records.iter_mut().enumerate() {
        record.data[50..52].fill(0);
        let right = !(transport_sum(&record.data) as u16);
        let checksum = if index % 10 == 3 { right ^ 0x0100 } else { right };
        record.data[50..52].copy_from_slice(&checksum.to_be_bytes());
    }
    let pairs = pairs(&records);
    assert_eq!(pairs.len(), records.len());
    for (original, copy) in &pairs {
        assert_eq!(sum(&copy.data[14..34]) == 0xffff, sum(&original.data[14..34]) == 0xffff);
        assert_eq!(transport_sum(&copy.data) == 0xffff, transport_sum(&original.data) == 0xffff);
    }
    let wrong = pairs.iter().filter(|(_, copy)| transport_sum(&copy.data) != 0xffff).count();
    assert!(wrong > 10);
    let copies: Vec<Record> = pairs.into_iter().map(|pair| pair.1).collect();
    assert_eq!((wrong_crcs(&records), wrong_crcs(&copies)), (1, 1));
}

/// Number of FPDUs whose CRC is in force and wrong.
fn wrong_crcs(records: &[Record]) -> u64 {
    let mut dissector = Dissector::new(Config::default());
    for (number, record) in (1..).zip(records) {
        dissector.frame(&frame(number, record));
    }
    dissector.finish();
    dissector.summary().bad_crc
}

#[test]
fn a_udp_checksum_is_right_if_it_was() {
    let mut records = transcode::capture("nfs41_callback");
    let is_roce = |record: &&mut Record| record.data[12..14] == [8, 0] && record.data[23] == 17;
    for record in records.iter_mut().filter(is_roce) {
        record.data[40..42].fill(0);
        let checksum = !(transport_sum(&record.data) as u16);
        record.data[40..42].copy_from_slice(&checksum.to_be_bytes());
    }
    for (_, copy) in pairs(&records) {
        assert_eq!(transport_sum(&copy.data), 0xffff);
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
    assert!(memmem::find(&file, comment).is_some());
    let output = run(&["anonymize", "--quiet", &original, "-o", &copy]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    let copied = std::fs::read(&copy).unwrap();
    assert_eq!(memmem::find(&copied, comment), None);
    assert_eq!(read(&copied).len(), anonymize(&records, KEY).unwrap().0.len());
    std::fs::remove_dir_all(folder).unwrap();
}

/// Captures whose copies say the same. A reply that the responder gives as a Read chunk is overwritten, and so is a message of
/// version 2 in several Sends.
fn whole() -> impl Iterator<Item = String> {
    captures().filter(|name| name != "situations/reply_provided_and_read" && !name.starts_with("situations/v2_"))
}

#[test]
fn what_is_overwritten_breaks_no_rule() {
    for name in captures().filter(|name| name.starts_with("situations/v2_") || name.ends_with("provided_and_read")) {
        let (pairs, folder) = (pairs(&transcode::capture(&name)), folder(&name));
        let [expected, found] = [0, 1].map(|side| {
            let path = folder.join(format!("{side}.pcap"));
            write(pairs.iter().map(|pair| if side == 0 { pair.0.clone() } else { pair.1.clone() }), &path);
            let broken = |record: &Value| Some((record["rule"].as_str()?.to_owned(), record["frame"].as_u64()?));
            records("check", &path).iter().filter_map(broken).collect::<Vec<_>>()
        });
        assert_eq!(found, expected, "{name}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}

fn roce_captures() -> impl Iterator<Item = String> {
    captures().filter(|name| !name.contains("iwarp"))
}

#[test]
fn the_commands_say_the_same_of_infiniband() {
    for (name, with_grh) in whole().filter(|name| !name.contains("iwarp")).zip([false, true].into_iter().cycle()) {
        assert_same(&transcode::to_infiniband(&transcode::capture(&name), with_grh), &name);
    }
}

#[test]
fn nothing_confidential_stays_in_infiniband() {
    for (name, with_grh) in roce_captures().zip([false, true].into_iter().cycle()) {
        let records = transcode::to_infiniband(&transcode::capture(&name), with_grh);
        assert_nothing_remains(&records, &name);
        for octets in [90, 150, 300] {
            assert_nothing_remains(&transcode::cut(&records, octets), &name);
        }
    }
}

#[test]
fn icrcs_and_vcrcs_of_infiniband_are_right_where_they_were() {
    for with_grh in [false, true] {
        let mut records = transcode::to_infiniband(&transcode::capture("nfs41_callback"), with_grh);
        // Every third VCRC is wrong, and every fifth ICRC, with a VCRC that suits it.
        for (index, record) in records.iter_mut().enumerate() {
            let vcrc = record.data.len() - 2;
            if index % 5 == 0 {
                record.data[vcrc - 1] ^= 1;
                let right = transcode::vcrc(&record.data[..vcrc]);
                record.data[vcrc..].copy_from_slice(&right);
            }
            if index % 3 == 0 {
                record.data[vcrc] ^= 1;
            }
        }
        let pairs = pairs(&records);
        assert!(pairs.len() > 30);
        for (number, (original, copy)) in (1..).zip(&pairs) {
            let verdict = verify_crc(&frame(number, original)).unwrap();
            assert!(verdict.vcrc.is_some());
            assert_eq!(verify_crc(&frame(number, copy)), Some(verdict));
        }
    }
}

/// The frames of a capture at the other link layers, and in all encapsulations.
fn at_other_layers(records: &[Record]) -> impl Iterator<Item = (String, Vec<Record>)> {
    let erf = Erf { extension_headers: 2, padding: Padding::Counted };
    let layers = [
        ("cooked", transcode::to_cooked(records)),
        ("cooked v2", transcode::to_cooked_v2(records)),
        ("raw IP", transcode::to_raw_ip(records)),
        ("ERF", transcode::to_erf(records, erf)),
    ];
    let wrapped =
        transcode::ENCAPSULATIONS.iter().map(|how| (format!("{how:?}"), transcode::encapsulate(records, *how)));
    layers.map(|(name, records)| (name.to_owned(), records)).into_iter().chain(wrapped)
}

/// The copy of a frame is that of the bare frame, whose other tests are above, so nothing that is around it can be in it.
#[test]
fn only_the_innermost_packet_is_copied() {
    // A tag belongs to the link layer, so it stays only in Ethernet. The checksums of IPv4 are zero in the situations of iWARP: IPv4
    // in MPLS is known by them.
    let is_apart = |name: &String| name == "situations/doubled_tagged" || name.starts_with("situations/iwarp_");
    for name in captures().filter(|name| !is_apart(name)) {
        let records = transcode::capture(&name);
        let (mut bare, counted) = anonymize(&records, KEY).unwrap();
        bare.iter_mut().for_each(|copy| copy.data[..12].fill(0));
        for (layer, records) in at_other_layers(&records) {
            let (mut copies, anonymized) = anonymize(&records, KEY).unwrap();
            let has_addresses = |copy: &Record| copy.data[..12] != [0; 12];
            // Frames that the encapsulation cannot hold, which stay as they are.
            let outside = records.iter().filter(|record| record.data.len() > 1500).count();
            let most = if layer == "Snap" { outside } else { 0 };
            assert!(copies.iter().filter(|copy| has_addresses(copy)).count() <= most, "{layer} of {name}");
            copies.iter_mut().for_each(|copy| copy.data[..12].fill(0));
            let counts = [&anonymized, &counted].map(|counted| (counted.frames, counted.unknown));
            assert_eq!(counts[0], counts[1], "{layer} of {name}");
            for (copy, bare) in copies.iter().zip(&bare) {
                assert!(copy.data == bare.data && copy.time_ns == bare.time_ns, "{layer} of {name}");
            }
        }
    }
}

#[test]
fn of_erf_records_the_infiniband_packet_is_copied() {
    for with_grh in [false, true] {
        let bare = transcode::to_infiniband(&transcode::capture("nfs41"), with_grh);
        for padding in [Padding::None, Padding::Counted, Padding::Written] {
            let records = transcode::to_erf(&bare, Erf { extension_headers: 1, padding });
            let [expected, found] = [&bare, &records].map(|records| anonymize(records, KEY).unwrap().0);
            assert!(expected.len() > 1000 && expected.len() == found.len());
            for (expected, found) in expected.iter().zip(&found) {
                assert_eq!(found.link, INFINIBAND);
                let (packet, padding) = found.data.split_at(expected.data.len());
                assert_eq!(packet, expected.data);
                assert!(padding.iter().all(|octet| *octet == 0));
            }
        }
    }
}

/// Each packet is there twice, and a snaplen cut one of the two.
#[test]
fn commands_agree_on_anonymized_duplicates_of_which_one_is_cut() {
    for which in [0, 1] {
        let mut doubled = Vec::new();
        for record in transcode::capture("nfs41_callback") {
            let mut pair = [record.clone(), record];
            pair[1].time_ns += 400;
            pair[which].data.truncate(130);
            doubled.extend(pair);
        }
        assert_same(&doubled, &format!("doubled-and-cut-{which}"));
    }
}

#[test]
fn the_commands_say_the_same_of_packets_from_other_layers() {
    for name in ["nfs41_callback", "iwarp_nfs41"] {
        for (layer, records) in at_other_layers(&transcode::capture(name)) {
            assert_same_of(&inner_pairs(&records), &format!("{name} in {layer}"), without_outer);
        }
    }
}

#[test]
fn only_pcapng_holds_two_link_types() {
    let records = transcode::capture("nfs41_callback");
    let both = [records.clone(), transcode::to_infiniband(&records, true)].concat();
    let folder = folder("both");
    let path = |name: &str| folder.join(name).display().to_string();
    let original = transcode::write_pcapng(&both, Pcapng::default());
    std::fs::write(path("original.pcapng"), original).unwrap();
    let output = run(&["anonymize", "--quiet", &path("original.pcapng"), "-o", &path("copy.pcap")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("the capture has both: write pcapng"), "{}", stderr(&output));
    let output = run(&["anonymize", "--quiet", &path("original.pcapng"), "-o", &path("copy.pcapng")]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    let links: HashSet<u32> =
        read(&std::fs::read(path("copy.pcapng")).unwrap()).iter().map(|record| record.link).collect();
    assert_eq!(links, HashSet::from([ETHERNET, INFINIBAND]));
    std::fs::remove_dir_all(folder).unwrap();
}

/// The frames with an option of four octets in each header of IPv4.
fn with_ipv4_option(records: &[Record]) -> Vec<Record> {
    let mut records = records.to_vec();
    records.retain(|record| record.data[12..15] == [8, 0, 0x45]);
    for Record { data, length, .. } in &mut records {
        data[14] = 0x46;
        let total = u16::from_be_bytes([data[16], data[17]]) + 4;
        data[16..18].copy_from_slice(&total.to_be_bytes());
        data.splice(34..34, *b"\x94\x04SE");
        *length += 4;
    }
    records
}

#[test]
fn what_cannot_be_anonymized_is_not_passed_through() {
    for name in ["nfs41", "iwarp_nfs41"] {
        let records = with_ipv4_option(&transcode::capture(name));
        for records in [records.clone(), transcode::encapsulate(&records, Encapsulation::Vxlan)] {
            let (copies, anonymized) = anonymize(&records, KEY).unwrap();
            assert!(anonymized.unknown > 100 && copies.is_empty(), "{name}: {anonymized:?}");
            assert_eq!(anonymized.unknown + anonymized.others, records.len() as u64);
        }
    }
    let (copies, anonymized) = anonymize(&transcode::capture("perftest"), KEY).unwrap();
    assert_eq!((copies.len(), anonymized.unknown), (0, 0));
}

#[test]
fn a_key_is_64_hexadecimal_digits() {
    let digits = |octet: &str, times| octet.repeat(times);
    let wrong =
        [String::new(), "0a".to_owned(), digits("0a", 31), digits("0a", 33), digits("0g", 32), digits("0a", 32) + "0"];
    for key in wrong {
        let output = run(&["anonymize", "--key", &key, "no-file.pcap", "-o", "no-copy.pcap"]);
        assert_eq!(output.status.code(), Some(2), "{key}");
        assert!(stderr(&output).contains("a key is 64 hexadecimal digits"), "{}", stderr(&output));
    }
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
        ("nfs41", &["--connection", "1"], 2, "leave out the options that select"),
        ("nfs41", &["--key", "12"], 2, "a key is 64 hexadecimal digits"),
        ("perftest", &["--key", &"0a".repeat(32)], 1, ""),
    ] {
        let output = anonymize(name, more);
        assert_eq!(output.status.code(), Some(status), "{name}");
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
    }
    std::fs::remove_dir_all(folder).unwrap();
}

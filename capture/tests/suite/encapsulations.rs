//! Packets inside others are those that were sent, whatever is around them, and what is not read is named.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;
use std::{env, fs, process};

use rpcrdma_dissector::link::{Content, Packet, decode};
use rpcrdma_dissector::{Captured, Config, Dissector, Frame, LinkType, Sides, Time};

use crate::command::{run, stderr, stdout};
use crate::found::Found;
use crate::transcode::{self, ENCAPSULATIONS, Encapsulation, Pcapng, Record};

fn frame(record: &Record, number: u64) -> Frame<'_> {
    Frame { number, time: Time(record.time_ns), link: LinkType(record.link), data: &record.data, length: record.length }
}

fn dissect(records: &[Record]) -> Found {
    let mut dissector = Dissector::new(Config::default());
    let mut found = Found::default();
    for (record, number) in records.iter().zip(1..) {
        dissector.frame(&frame(record, number));
        found.take_events(&mut dissector);
    }
    found.finish(dissector)
}

fn packet(record: &Record) -> Option<Packet<'_>> {
    match decode(&frame(record, 1)) {
        Content::InfiniBand(packet) => Some(packet),
        _ => None,
    }
}

/// The name of a frame that is not read.
fn name(record: &Record) -> String {
    match decode(&frame(record, 1)) {
        Content::Other(other) => other.to_string(),
        other => panic!("{other:?}"),
    }
}

/// The first packet of a capture.
fn first(capture: &str) -> Record {
    transcode::capture(capture).into_iter().find(|record| packet(record).is_some()).unwrap()
}

/// `record` in an encapsulation.
fn wrapped(record: &Record, how: Encapsulation) -> Record {
    transcode::encapsulate(core::slice::from_ref(record), how).remove(0)
}

/// A capture file, deleted when it is dropped.
struct File(PathBuf);

impl File {
    fn new(name: &str, records: &[Record]) -> Self {
        let file = format!("{}-encapsulation-{name}.pcapng", process::id());
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(file);
        fs::write(&path, transcode::write_pcapng(records, Pcapng::default())).unwrap();
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn nothing_of_a_packet_is_that_of_its_encapsulation() {
    for capture in ["nfs41", "nfs3_ipv6"] {
        let bare = first(capture);
        let expected = packet(&bare).unwrap();
        for outer in ENCAPSULATIONS {
            let record = wrapped(&bare, outer);
            let found = packet(&record).unwrap_or_else(|| panic!("{outer:?}: {}", name(&record)));
            assert_eq!((found.source, found.destination), (expected.source, expected.destination), "{outer:?}");
            assert_eq!((found.octets, found.length), (expected.octets, expected.length), "{outer:?}");
        }
    }
}

/// The ethertypes, IP protocols and UDP ports by which a frame is found to be an encapsulation: inside as many others as are followed, one
/// more is too deep.
fn opened() -> [BTreeSet<u16>; 3] {
    let outer = first("nfs41");
    let is_opened = |ethertype: u16, protocol: u16, port: u16| {
        let mut probe = outer.clone();
        probe.data[12..14].copy_from_slice(&ethertype.to_be_bytes());
        probe.data[23] = protocol as u8;
        probe.data[36..38].copy_from_slice(&port.to_be_bytes());
        let record = (0..8).fold(probe, |record, _| transcode::wrap(&record, Encapsulation::Vxlan, 1).unwrap());
        packet(&record).is_none() && name(&record) == "encapsulations nested too deeply"
    };
    [
        (0x600..=u16::MAX).filter(|ethertype| is_opened(*ethertype, 0, 0)).collect(),
        (0..=255).filter(|protocol| is_opened(0x0800, *protocol, 0)).collect(),
        (0..=u16::MAX).filter(|port| is_opened(0x0800, 17, *port)).collect(),
    ]
}

/// The same numbers of the frames that the other tests use.
fn used() -> [BTreeSet<u16>; 3] {
    let [mut ethertypes, mut protocols, mut ports] = [const { BTreeSet::new() }; 3];
    let bare = [first("nfs41"), first("nfs3_ipv6")];
    for record in bare.iter().flat_map(|bare| ENCAPSULATIONS.map(|how| wrapped(bare, how))) {
        let word = |at: usize| u16::from_be_bytes([record.data[at], record.data[at + 1]]);
        let (protocol, port) = match word(12) {
            _ if record.link != transcode::ETHERNET => continue,
            0x0800 => (record.data[23], 36),
            0x86dd if record.data[20] == 43 => (record.data[54], 0),
            0x86dd => (record.data[20], 56),
            ethertype => {
                ethertypes.insert(ethertype);
                continue;
            }
        };
        match protocol {
            17 => drop(ports.insert(word(port))),
            protocol => drop(protocols.insert(u16::from(protocol))),
        }
    }
    ethertypes.retain(|ethertype| *ethertype >= 0x600);
    [ethertypes, protocols, ports]
}

#[test]
fn every_encapsulation_number_occurs_in_a_frame() {
    let ([mut ethertypes, protocols, ports], [used_ethertypes, used_protocols, used_ports]) = (opened(), used());
    // Tags of 802.1Q and 802.1ad are part of the frame, and are not followed here.
    ethertypes.retain(|ethertype| ![0x8100, 0x88a8, 0x9100].contains(ethertype));
    assert_eq!(ethertypes, used_ethertypes);
    assert_eq!((protocols, ports), (used_protocols, used_ports));
}

#[test]
fn encapsulations_are_nested_up_to_a_depth() {
    use Encapsulation::{ErspanII, Geneve, Mpls, Vxlan};
    let mut record = first("nfs41");
    for how in [Mpls, Vxlan, ErspanII, Mpls, Geneve, Vxlan, ErspanII] {
        record = wrapped(&record, how);
    }
    // MPLS over Ethernet is inside each frame, so it counts too.
    assert!(packet(&record).is_some());
    record = wrapped(&record, Vxlan);
    assert!(packet(&record).is_some());
    assert_eq!(name(&wrapped(&record, Vxlan)), "encapsulations nested too deeply");
}

/// The payload is cut, as mirrors do, and the frame has padding and a check sequence behind the outer packet.
#[test]
fn a_mirrored_cut_frame_excludes_padding_and_check_sequence() {
    use Encapsulation::{ErspanII, Geneve, GreEthernet, Vxlan, VxlanOverIpv6};
    let records = transcode::capture("nfs41");
    let bare = records.iter().filter(|record| packet(record).is_some()).max_by_key(|record| record.data.len()).unwrap();
    let whole = packet(bare).unwrap();
    for how in [ErspanII, Vxlan, VxlanOverIpv6, Geneve, GreEthernet] {
        let mut cut = bare.clone();
        cut.data.truncate(128);
        cut.length = 128;
        let mut record = wrapped(&cut, how);
        record.data.extend([0xee; 24]);
        let found = packet(&record).unwrap();
        assert_eq!((found.octets, found.length), (&whole.octets[..128 - 42], whole.length), "{how:?}");
    }
}

#[test]
fn fragments_are_named_after_what_is_fragmented() {
    use Encapsulation::{ErspanII, Vxlan};
    let bare = first("nfs41");
    let fragmented = |record: &Record, high: u8, low: u8| {
        let mut record = record.clone();
        (record.data[20], record.data[21]) = (high, low);
        record
    };
    let fragment = fragmented(&bare, 0x20, 0);
    assert_eq!(name(&fragment), "IP fragment");
    assert_eq!(name(&wrapped(&fragment, ErspanII)), "IP fragment in an encapsulation");
    assert_eq!(name(&fragmented(&wrapped(&bare, ErspanII), 0x20, 0)), "IP fragment of an encapsulation");
    assert_eq!(name(&fragmented(&wrapped(&bare, ErspanII), 0, 185)), "IP fragment of an encapsulation");
    assert_eq!(name(&fragmented(&wrapped(&bare, Vxlan), 0x20, 0)), "IP fragment of an encapsulation");
    // Only the first fragment says to which port it goes.
    assert_eq!(name(&fragmented(&wrapped(&bare, Vxlan), 0, 185)), "IP fragment");
    let mut six = wrapped(&first("nfs3_ipv6"), Encapsulation::VxlanOverIpv6);
    six.data[20] = 44;
    six.data.splice(54..54, [17, 0, 0, 1, 0, 0, 0, 1]);
    let length = u16::from_be_bytes([six.data[18], six.data[19]]) + 8;
    six.data[18..20].copy_from_slice(&length.to_be_bytes());
    assert_eq!(name(&six), "IP fragment of an encapsulation");
}

#[test]
fn a_packet_captured_bare_and_wrapped_is_one_packet() {
    use Encapsulation::{ErspanII, ErspanIII, Geneve, Pppoe, Vxlan};
    for capture in ["nfs41", "nfs3_ipv6", "nfs41_lossy", "iwarp_nfs41", "iwarp_nfs3_lossy"] {
        let records = transcode::capture(capture);
        let alone = dissect(&records);
        for how in [ErspanII, ErspanIII, Vxlan, Geneve, Pppoe] {
            let mut doubled = Vec::new();
            for record in &records {
                let mut copy = wrapped(record, how);
                copy.time_ns += 400;
                doubled.extend([record.clone(), copy]);
            }
            let found = dissect(&doubled);
            let context = format!("{capture}, {how:?}");
            assert_eq!(found.messages.len(), alone.messages.len(), "{context}");
            assert_eq!(found.transactions.len(), alone.transactions.len(), "{context}");
            for (found, alone) in found.reports.iter().zip(&alone.reports) {
                let (Sides { active, passive }, expected) = (found.counts, alone.counts);
                assert_eq!(active.retransmitted, expected.active.retransmitted, "{context}");
                assert_eq!(passive.retransmitted, expected.passive.retransmitted, "{context}");
                assert_eq!(active.duplicates, active.packets, "{context}");
                assert_eq!(passive.duplicates, passive.packets, "{context}");
            }
        }
    }
}

#[test]
fn mirror_sessions_are_shown_and_identify_no_connection() {
    use Encapsulation::{ErspanII, ErspanIII, Geneve, GreEthernet, Vxlan};
    let records = transcode::capture("nfs41_callback");
    for (how, name, id) in
        [(ErspanII, "ERSPAN", 137), (ErspanIII, "ERSPAN", 137), (Vxlan, "VXLAN", 5001), (Geneve, "Geneve", 5001)]
    {
        let file = File::new(&format!("session-{name}-{how:?}"), &transcode::encapsulate(&records, how));
        let output = run(&["decode", "--json", file.path()]);
        let expected = format!(r#""mirror_session":{{"encapsulation":"{name}","id":{id}}}"#);
        let messages = stdout(&output).lines().filter(|line| line.contains(r#""type":"message""#));
        assert!(messages.clone().count() > 10);
        assert!(messages.into_iter().all(|line| line.contains(&expected)), "{how:?}");
        let output = run(&["decode", "-v", file.path()]);
        let number = if name == "ERSPAN" { "session" } else { "VNI" };
        assert!(stdout(&output).contains(&format!("captured through  {name} {number} {id}\n")), "{}", stdout(&output));
    }
    let file = File::new("session-none", &transcode::encapsulate(&records, GreEthernet));
    assert!(stdout(&run(&["decode", "--json", file.path()])).contains(r#""mirror_session":null"#));

    // A mirror of a virtual network: the session of the mirror is outside.
    let nested = transcode::encapsulate(&transcode::encapsulate(&records, Vxlan), ErspanII);
    let found = dissect(&nested);
    assert!(found.messages.len() > 10);
    assert!(found.messages.iter().all(|message| message.mirror_session.unwrap().to_string() == "ERSPAN session 137"));

    // Each direction in a session of its own.
    let mut records = transcode::encapsulate(&records, ErspanII);
    for record in records.iter_mut().filter(|record| record.data[50..62] > record.data[56..68]) {
        record.data[45] = 8;
    }
    let found = dissect(&records);
    let sessions: BTreeSet<u32> = found.messages.iter().map(|message| message.mirror_session.unwrap().id).collect();
    assert_eq!(sessions, BTreeSet::from([8, 137]));
    assert_eq!(found.reports.len(), 1);
    assert!(found.messages.iter().all(|message| message.captured == Captured::Whole));
}

#[test]
fn unread_encapsulations_are_named_with_number_and_advice() {
    let bare = first("nfs41");
    let with = |at: usize, octets: &[u8], how: Option<Encapsulation>| {
        let mut record = how.map_or_else(|| bare.clone(), |how| wrapped(&bare, how));
        record.data[at..at + octets.len()].copy_from_slice(octets);
        record
    };
    let gre = Some(Encapsulation::GreEthernet);
    let vxlan = Some(Encapsulation::Vxlan);
    let mut link = bare.clone();
    link.link = 240;
    for (record, expected) in [
        (with(23, &[115], None), "IP protocol 115"),
        (with(36, &4754_u16.to_be_bytes(), None), "UDP port 4754"),
        (with(12, &[0x88, 0xf7], None), "ethertype 0x88f7"),
        (with(36, &[0x88, 0x0b], gre), "ethertype 0x880b"),
        (with(36, &4755_u16.to_be_bytes(), vxlan), "UDP port 4755"),
        (with(20, &[0xc0, 0x21], Some(Encapsulation::Pppoe)), "PPP protocol 0xc021"),
        (link, "link type 240"),
    ] {
        assert_eq!(name(&record), expected);
        let file = File::new(&expected.replace(' ', "-"), &vec![record; 20]);
        let output = run(&["decode", file.path()]);
        let said = stderr(&output);
        assert!(said.contains(&format!("ignored: other frames: {expected} (20)")), "{said}");
        assert!(said.contains(&format!("20 of 20 frames are {expected}, which is not read")), "{said}");
        assert!(said.contains("editcap -C 42 -L IN OUT") && !said.contains("mirror port"), "{said}");
    }
    // Names of hosts are looked up on the port 53.
    let file = File::new("domain", &vec![with(34, &[0, 53, 0xc0, 0], None); 20]);
    let output = run(&["decode", file.path()]);
    assert!(stderr(&output).contains("UDP port 53 (20)") && stderr(&output).contains("mirror port"));
}

#[test]
fn fragments_of_a_mirror_have_a_hint_of_their_own() {
    let mut record = wrapped(&first("nfs41"), Encapsulation::ErspanII);
    record.data[20] = 0x20;
    let file = File::new("fragments", &vec![record; 20]);
    let output = run(&["decode", file.path()]);
    assert!(stderr(&output).contains("raise the MTU of the network between the mirror"), "{}", stderr(&output));
}

#[test]
fn few_numbers_are_counted_apart() {
    let bare = first("nfs41");
    let records = (1024..1124_u16).map(|port| {
        let mut record = bare.clone();
        record.data[34..36].copy_from_slice(&port.to_be_bytes());
        record.data[36..38].copy_from_slice(&[0xff, 0xff]);
        record
    });
    let records: Vec<Record> = records.collect();
    let file = File::new("ports", &records);
    let said = run(&["decode", file.path()]);
    let line = "ignored: other frames: further UDP ports (68), UDP port 1024 (1), UDP port 1025 (1),";
    assert!(stderr(&said).contains(line) && stderr(&said).contains(", UDP port 1032 (1), others (23)\n"));
    let summary = dissect(&records).summary;
    let others: Vec<String> = summary.others.iter().map(|(other, count)| format!("{other}: {count}")).collect();
    assert_eq!(others.len(), 33);
    assert_eq!((&others[31][..], &others[32][..]), ("UDP port 1055: 1", "further UDP ports: 68"));
}

/// The frame numbers and packet sequence numbers of RoCE that tshark finds; none if it is not installed.
fn tshark(path: &str) -> Option<BTreeSet<(u64, u32)>> {
    let fields = ["-Y", "infiniband.bth", "-T", "fields", "-e", "frame.number", "-e", "infiniband.bth.psn"];
    // A label says what is inside only to the switches that agreed on it; the old port of VXLAN is nobody's.
    let told = ["-d", "mpls.label==17,pwethcw", "-d", "udp.port==8472,vxlan"];
    let Ok(output) = Command::new("tshark").args(["-r", path]).args(told).args(fields).output() else {
        println!("tshark is not installed: this test does nothing");
        return None;
    };
    let lines = String::from_utf8(output.stdout).unwrap();
    let numbers = |line: &str| {
        let (frame, number) = line.split_once('\t').unwrap();
        (frame.parse().unwrap(), number.parse().unwrap())
    };
    Some(lines.lines().map(numbers).collect())
}

#[test]
fn tshark_finds_the_same_packets() {
    let records = ["nfs41_callback", "nfs3_ipv6"].map(|capture| transcode::capture(capture).into_iter().take(300));
    let records: Vec<Record> = records.into_iter().flatten().collect();
    // One file for each link type, because tshark takes long to begin. Version 4.0 does not know the link type of MPLS.
    let mut files: BTreeMap<u32, Vec<(Encapsulation, Vec<Record>)>> = BTreeMap::new();
    for how in ENCAPSULATIONS.into_iter().filter(|how| *how != Encapsulation::MplsLink) {
        let records = transcode::encapsulate(&records, how);
        files.entry(records[0].link).or_default().push((how, records));
    }
    for (link, parts) in files {
        let all: Vec<Record> = parts.iter().flat_map(|(_, records)| records).cloned().collect();
        let file = File::new(&format!("tshark-{link}"), &all);
        let Some(expected) = tshark(file.path()) else { return };
        let mut before = 0;
        for (how, records) in parts {
            let numbers = |(record, number)| {
                let [.., p0, p1, p2] = packet(record)?.octets[..12] else { return None };
                Some((number, u32::from_be_bytes([0, p0, p1, p2])))
            };
            let found: BTreeSet<(u64, u32)> = records.iter().zip(before + 1..).filter_map(numbers).collect();
            let expected: BTreeSet<_> =
                expected.range((before + 1, 0)..=(before + records.len() as u64, u32::MAX)).copied().collect();
            assert_eq!(found, expected, "{how:?}");
            for frames in [before + 1..=before + 300, before + 301..=before + 600] {
                assert!(found.iter().filter(|(number, _)| frames.contains(number)).count() > 100, "{how:?} {frames:?}");
            }
            before += records.len() as u64;
        }
    }
}

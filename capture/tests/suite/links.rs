//! Every carrier and link layer gives the same InfiniBand packets, and every CRC of every capture is right.

use std::collections::BTreeMap;

use rpcrdma_dissector::link::{Content, Other, Packet, decode};
use rpcrdma_dissector::{Address, Carrier, CrcVerdict, Frame, LinkType, Time, verify_crc};

use crate::transcode::{self, ENCAPSULATIONS, Erf, Padding, ROCE_CAPTURES, Record};

fn frame(record: &Record) -> Frame<'_> {
    Frame {
        number: 1,
        time: Time(record.time_ns),
        link: LinkType(record.link),
        data: &record.data,
        length: record.length,
    }
}

/// The packets in `records`.
fn packets(records: &[Record]) -> Vec<Packet<'_>> {
    let packet = |record| match decode(&frame(record)) {
        Content::InfiniBand(packet) => Some(packet),
        _ => None,
    };
    records.iter().filter_map(packet).collect()
}

/// Counts the other contents of `records`, by name.
fn others(records: &[Record]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for record in records {
        let name = match decode(&frame(record)) {
            Content::InfiniBand(_) => continue,
            Content::Tcp(_) => "TCP".to_owned(),
            Content::Other(other) => other.to_string(),
            other => panic!("{other:?}"),
        };
        *counts.entry(name).or_default() += 1;
    }
    counts
}

/// Returns the parts of a packet that are the same in every encapsulation.
fn same<'a>(packet: &Packet<'a>) -> (Address, Address, &'a [u8], usize) {
    (packet.source, packet.destination, packet.octets, packet.length)
}

/// `records`, rewritten from `original`, have the same packets, carried by `carrier`.
fn assert_same(original: &[Record], records: &[Record], carrier: Carrier) {
    let (expected, packets) = (packets(original), packets(records));
    assert_eq!(expected.len(), packets.len());
    for (expected, packet) in expected.iter().zip(&packets) {
        assert_eq!(packet.carrier, carrier);
        assert_eq!(same(packet), same(expected));
    }
}

/// Every packet of `records` has the right ICRC, and VCRC if `vcrc`.
fn assert_right(records: &[Record], vcrc: bool) {
    let expected = CrcVerdict { icrc: true, vcrc: vcrc.then_some(true) };
    let verdicts: Vec<CrcVerdict> = records.iter().filter_map(|record| verify_crc(&frame(record))).collect();
    assert_eq!(verdicts.len(), packets(records).len());
    assert!(verdicts.iter().all(|verdict| *verdict == expected));
}

/// Frames that another dissector finds InfiniBand in.
#[test]
fn as_many_packets_as_another_dissector_finds() {
    let counts = ROCE_CAPTURES.map(|name| packets(&transcode::capture(name)).len());
    assert_eq!(
        counts,
        [248, 1312, 877, 1085, 1241, 121, 1000, 1069, 1574, 1061, 345, 25, 219, 32, 20, 615, 408, 91, 154]
    );
}

#[test]
fn what_is_no_infiniband_is_named() {
    let counts = |name| others(&transcode::capture(name));
    let expected = |counts: &[(&str, usize)]| counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
    assert_eq!(counts("errors"), expected(&[("ARP", 4), ("ICMPv6", 20)]));
    assert_eq!(counts("perftest"), expected(&[("ARP", 2), ("ICMPv6", 18), ("TCP", 114)]));
    assert_eq!(counts("iwarp_nfs41"), expected(&[("ARP", 2), ("ICMPv6", 18), ("TCP", 1273)]));
}

#[test]
fn every_icrc_of_the_captures_is_right() {
    for name in ROCE_CAPTURES {
        assert_right(&transcode::capture(name), false);
    }
}

#[test]
fn addresses_are_those_of_the_lab() {
    let addresses = |name| {
        let records = transcode::capture(name);
        let mut addresses: Vec<String> = packets(&records).iter().map(|packet| packet.source.to_string()).collect();
        addresses.sort();
        addresses.dedup();
        addresses
    };
    assert_eq!(addresses("nfs41"), ["192.0.2.1", "192.0.2.2"]);
    assert_eq!(addresses("nfs3_ipv6"), ["2001:db8::1", "2001:db8::2"]);
}

#[test]
fn other_link_layers_give_the_same_packets() {
    for name in ["nfs41", "nfs3_ipv6", "errors"] {
        let original = transcode::capture(name);
        let v1 = transcode::to_roce_v1(&original);
        assert_same(&original, &v1, Carrier::RoceV1);
        for (records, carrier) in [(&original, Carrier::RoceV2), (&v1, Carrier::RoceV1)] {
            for rewrite in [
                |records: &[Record]| records.to_vec(),
                transcode::with_vlan,
                transcode::with_vlans,
                |records: &[Record]| transcode::with_vlan(&transcode::with_vlans(records)),
                transcode::to_cooked,
                transcode::to_cooked_v2,
                |records: &[Record]| transcode::to_cooked(&transcode::with_vlan(records)),
                |records: &[Record]| transcode::to_cooked_v2(&transcode::with_vlans(records)),
                |records: &[Record]| transcode::with_trailer(records, 18),
            ] {
                let rewritten = rewrite(records);
                assert_same(&original, &rewritten, carrier);
                assert_right(&rewritten, false);
                assert_eq!(others(&rewritten), others(&original));
            }
        }
        let mut raw = transcode::to_raw_ip(&original);
        let of_one_version = if name == "nfs3_ipv6" { 229 } else { 228 };
        for link in [transcode::RAW_IP, 12, 14, of_one_version] {
            raw.iter_mut().for_each(|record| record.link = link);
            assert_same(&original, &raw, Carrier::RoceV2);
            assert_right(&raw, false);
        }
    }
}

/// Every way there is to write ERF records.
fn erf() -> impl Iterator<Item = Erf> {
    let paddings = [Padding::None, Padding::Counted, Padding::Written];
    (0..3).flat_map(move |extension_headers| paddings.map(|padding| Erf { extension_headers, padding }))
}

#[test]
fn ethernet_in_erf_gives_the_same_packets() {
    let original = transcode::capture("nfs41");
    for erf in erf() {
        let records = transcode::to_erf(&original, erf);
        assert_same(&original, &records, Carrier::RoceV2);
        assert_right(&records, false);
        assert_same(&original, &transcode::to_erf(&transcode::with_vlan(&original), erf), Carrier::RoceV2);
    }
}

#[test]
fn infiniband_gives_the_same_packets() {
    for name in ["nfs41", "nfs42_mtu9000", "nfs3_ipv6"] {
        let original = transcode::capture(name);
        let global = transcode::to_infiniband(&original, true);
        assert_same(&original, &global, Carrier::InfiniBand);
        assert_right(&global, true);

        // Without a GRH the addresses are LIDs: here the last two octets of those there were.
        let local = transcode::to_infiniband(&original, false);
        assert_right(&local, true);
        let lid = |address| match address {
            Address::V4([.., a, b]) | Address::V6([.., a, b]) => Address::Lid(u16::from_be_bytes([a, b])),
            Address::Lid(_) => panic!("{address}"),
        };
        for (packet, expected) in packets(&local).iter().zip(packets(&original)) {
            let expected = (lid(expected.source), lid(expected.destination), expected.octets, expected.length);
            assert_eq!(same(packet), expected);
        }

        for erf in erf() {
            let records = transcode::to_erf(&global, erf);
            assert_same(&original, &records, Carrier::InfiniBand);
            assert_right(&records, true);
            assert_same(&local, &transcode::to_erf(&local, erf), Carrier::InfiniBand);
        }
    }
}

#[test]
fn cut_frames_are_decoded_as_far_as_they_go() {
    let original = transcode::capture("nfs41");
    let v1 = transcode::to_roce_v1(&original);
    let global = transcode::to_infiniband(&original, true);
    for records in [&original, &v1, &global, &transcode::with_vlans(&original), &transcode::to_cooked(&v1)] {
        for octets in [64, 78, 96, 128, 256] {
            let cut = transcode::cut(records, octets);
            // Of each packet whose headers are there: the same length, and as many octets as are left.
            for (record, whole) in cut.iter().zip(records) {
                let (Content::InfiniBand(whole), Content::InfiniBand(packet)) =
                    (decode(&frame(whole)), decode(&frame(record)))
                else {
                    continue;
                };
                assert_eq!((packet.source, packet.length), (whole.source, whole.length));
                assert!(whole.octets.starts_with(packet.octets));
                if packet.octets.len() < packet.length {
                    assert_eq!(verify_crc(&frame(record)), None);
                }
            }
        }
        let (whole, cut) = (packets(records).len(), transcode::cut(records, 96));
        assert_eq!(packets(&cut).len(), whole, "96 octets hold all headers");
    }
}

#[test]
fn a_wrong_crc_is_seen() {
    let original = transcode::capture("nfs41_callback");
    let global = transcode::to_infiniband(&original, true);
    let local = transcode::to_infiniband(&original, false);
    for records in [global, local] {
        for record in records {
            let count = record.data.len();
            for (from_end, expected) in [
                (1, CrcVerdict { icrc: true, vcrc: Some(false) }),
                (3, CrcVerdict { icrc: false, vcrc: Some(false) }),
                (7, CrcVerdict { icrc: false, vcrc: Some(false) }),
            ] {
                let mut changed = record.clone();
                changed.data[count - from_end] ^= 1;
                assert_eq!(verify_crc(&frame(&changed)), Some(expected));
                assert!(!expected.is_right());
            }
            // A capture without the VCRC, as some devices give it.
            let mut without = record.clone();
            without.data.truncate(count - 2);
            assert_eq!(verify_crc(&frame(&without)), Some(CrcVerdict { icrc: true, vcrc: None }));
        }
    }
}

/// IPv4 options and IPv6 extension headers stand between the header and UDP; fragments have no place in between.
#[test]
fn headers_between_ip_and_udp() {
    let v4 = transcode::capture("nfs41").into_iter().find(|record| verify_crc(&frame(record)).is_some()).unwrap();
    let mut options = v4.clone();
    options.data[14] = 0x47;
    let length = u16::from_be_bytes([options.data[16], options.data[17]]) + 8;
    options.data[16..18].copy_from_slice(&length.to_be_bytes());
    options.data.splice(34..34, [1; 8]);
    assert_same(core::slice::from_ref(&v4), &[options], Carrier::RoceV2);
    for fragment in [[0x20, 0], [0, 1], [0x3f, 0xff]] {
        let mut part = v4.clone();
        part.data[20..22].copy_from_slice(&fragment);
        assert!(matches!(decode(&frame(&part)), Content::Other(Other::Named("IP fragment"))));
        assert_eq!(verify_crc(&frame(&part)), None);
    }

    let v6 = transcode::capture("nfs3_ipv6").into_iter().find(|record| verify_crc(&frame(record)).is_some()).unwrap();
    let mut extended = v6.clone();
    let length = u16::from_be_bytes([extended.data[18], extended.data[19]]) + 8 + 16 + 8;
    extended.data[18..20].copy_from_slice(&length.to_be_bytes());
    extended.data[20] = 0;
    let headers = [&[43, 0, 1, 4, 0, 0, 0, 0][..], &[60, 1], &[0xee; 14], &[17, 0, 1, 4, 0, 0, 0, 0]].concat();
    extended.data.splice(54..54, headers);
    assert_same(core::slice::from_ref(&v6), core::slice::from_ref(&extended), Carrier::RoceV2);
    extended.data[20] = 44;
    assert!(matches!(decode(&frame(&extended)), Content::Other(Other::Named("IP fragment"))));
}

#[test]
fn lengths_that_contradict_each_other_are_no_packet() {
    let v4 = transcode::capture("nfs41").into_iter().find(|record| verify_crc(&frame(record)).is_some()).unwrap();
    let with = |at: usize, value: u16| {
        let mut record = v4.clone();
        record.data[at..at + 2].copy_from_slice(&value.to_be_bytes());
        match decode(&frame(&record)) {
            Content::Other(other) => other.to_string(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(with(16, 19), "malformed IPv4");
    assert_eq!(with(38, 7), "malformed UDP");
    assert_eq!(with(38, 0xffff), "malformed UDP");
    assert_eq!(with(38, 8 + 15), "packet too short for InfiniBand transport");
    assert_eq!(with(14, 0x4400), "malformed IPv4");
    assert_eq!(with(14, 0x5500), "malformed IPv4");
}

/// No octets at all make the decoders fall: each truncation and each changed octet of a frame of each kind.
#[test]
fn hostile_frames_are_survived() {
    let original = transcode::capture("nfs41_callback")[60..64].to_vec();
    let v1 = transcode::to_roce_v1(&original);
    let kinds = [
        transcode::with_vlans(&original),
        transcode::to_cooked(&v1),
        transcode::to_cooked_v2(&v1),
        transcode::to_raw_ip(&original),
        transcode::to_infiniband(&original, true),
        transcode::to_infiniband(&original, false),
        transcode::to_erf(
            &transcode::to_infiniband(&original, true),
            Erf { extension_headers: 2, padding: Padding::Written },
        ),
        transcode::to_erf(&original, Erf { extension_headers: 1, padding: Padding::None }),
        v1,
        original.clone(),
    ];
    let encapsulated = ENCAPSULATIONS.map(|how| transcode::encapsulate(&original, how));
    for record in kinds.iter().chain(&encapsulated).flatten() {
        for length in 0..record.data.len() {
            let mut cut = record.clone();
            cut.data.truncate(length);
            let _ = (decode(&frame(&cut)), verify_crc(&frame(&cut)));
        }
        for at in 0..record.data.len().min(110) {
            for value in [0, 1, 0x3f, 0x40, 0x60, 0x80, 0xff] {
                let mut changed = record.clone();
                changed.data[at] = value;
                if let Content::InfiniBand(packet) = decode(&frame(&changed)) {
                    assert!(packet.octets.len() <= packet.length);
                }
                let _ = verify_crc(&frame(&changed));
            }
        }
    }
}

//! Frames inside the encapsulations of mirrors, tunnels and rarer link layers. Nothing in a frame changes, so its checksums
//! stay right.

use crate::captures::Record;

/// The number of encapsulations.
const WAYS: u8 = 25;
/// The most octets of a frame that are put into a packet.
const LARGEST: usize = 60_000;
/// The most octets that an encapsulation adds.
pub(crate) const ADDED: usize = 128;

/// Addresses of a frame around another.
const ADDRESSES: [u8; 12] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
const LABELS: [u8; 8] = [0, 1, 0, 64, 0, 1, 0x11, 64];

/// `record` in the encapsulation `way`, with `number` as its session; unchanged if it cannot be in that one.
pub(crate) fn encapsulate(record: &Record, way: u8, number: u16) -> Record {
    let [n0, n1] = number.to_be_bytes();
    let frame = &record.data;
    if frame.len() > LARGEST {
        return record.clone();
    }
    let wrapped = match way % WAYS {
        0 => framed(record, |frame| gre([0x88, 0xbe], &[], frame)),
        1 => {
            framed(record, |frame| gre([0x88, 0xbe], &[0, 0, 0, 1], &[&[0x10, 0, n0, n1, 0, 0, 0, 1], frame].concat()))
        }
        2 => framed(record, |frame| {
            let header = [0x20, 0, n0, n1, 0, 0, 0, 1, 0, 0, 0x80, n1 & 1];
            let subheader = if n1 & 1 == 0 { &[][..] } else { &[0; 8] };
            gre([0x22, 0xeb], &[0, 0, 0, 1], &[&header[..], subheader, frame].concat())
        }),
        3 => framed(record, |frame| gre([0x65, 0x58], &[0, 0, n0, n1], frame)),
        4 => packed(record, |ethertype, packet| gre(ethertype, &[], packet)),
        5 => packed(record, |_, packet| gre([0x88, 0x47], &[], &[&LABELS, packet].concat())),
        6 => framed(record, |frame| ipv4(17, &udp(4789, &[&[8, 0, 0, 0, 0, n0, n1, 0], frame].concat()))),
        7 => framed(record, |frame| ipv6(17, &udp(4789, &[&[8, 0, 0, 0, 0, n0, n1, 0], frame].concat()))),
        8 => framed(record, |frame| {
            let options = vec![0; usize::from(n1 % 16) * 4];
            ipv4(17, &udp(6081, &[&[n1 % 16, 0, 0x65, 0x58, 0, n0, n1, 0], &options[..], frame].concat()))
        }),
        9 => packed(record, |_, packet| [&ADDRESSES[..], &[0x88, 0x47], &LABELS, packet].concat()),
        10 => framed(record, |frame| [&ADDRESSES[..], &[0x88, 0x47], &LABELS, &[0; 4], frame].concat()),
        11 => packed(record, |ethertype, packet| ipv4(if ethertype == [8, 0] { 4 } else { 41 }, packet)),
        12 => packed(record, |ethertype, packet| ipv6(if ethertype == [8, 0] { 4 } else { 41 }, packet)),
        13 => packed(record, |ethertype, packet| {
            let next = if ethertype == [8, 0] { 4 } else { 41 };
            ipv6(43, &[&[next, 4, 4, n1 % 2, 1, 0, 0, 0][..], &[0xfc; 32], packet].concat())
        }),
        14 => framed(record, |frame| ipv4(97, &[&[0x30, 0], frame].concat())),
        15 => kept(record, &[0x89, 0x26, 0x80, 5, n0, n1]),
        16 => kept(record, &[0x89, 0x09, 1, 1, 0, 1, n0, n1]),
        17 => kept(record, &[0xd2, 0x8b, 0, 1, 1, 0x20, 0, 1, 0, 0, n0, n1]),
        18 => kept(record, &[3, 0, 0xaa, 0xaa, 3, 0, 0, 0]),
        19 => packed(record, |ethertype, packet| {
            let protocol = if ethertype == [8, 0] { 0x21 } else { 0x57 };
            let length = (packet.len() as u16 + 2).to_be_bytes();
            [&ADDRESSES[..], &[0x88, 0x64, 0x11, 0, n0, n1], &length, &[0, protocol], packet].concat()
        }),
        20 => framed(record, |frame| ipv4(17, &udp(37008, &[&[1, 0, 0, 1, 10, 1, n1, 0, 1], frame].concat()))),
        21 => linked(record, 0, |family| [family, 0, 0, 0].to_vec()),
        22 => linked(record, 108, |family| [0, 0, 0, family].to_vec()),
        23 => {
            let [l0, l1] = record.link.to_le_bytes();
            Some(record.with(192, [&[0, 0, 12, 0, l0, l1, 0, 0, 1, 0, 0, 0], &frame[..]].concat()))
        }
        _ => nflog(record),
    };
    wrapped.map_or_else(|| record.clone(), |wrapped| Record { length: wrapped.length.max(record.length), ..wrapped })
}

/// An Ethernet frame inside another.
fn framed(record: &Record, around: impl Fn(&[u8]) -> Vec<u8>) -> Option<Record> {
    (record.link == 1).then(|| record.with(1, around(&record.data)))
}

/// The IP packet of a frame, with its ethertype, inside another frame.
fn packed(record: &Record, around: impl Fn([u8; 2], &[u8]) -> Vec<u8>) -> Option<Record> {
    let (ethertype, packet) = ip(record)?;
    Some(record.with(1, around(ethertype, packet)))
}

fn ip(record: &Record) -> Option<([u8; 2], &[u8])> {
    match (record.link, &record.data[..]) {
        (1, [_, _, _, _, _, _, _, _, _, _, _, _, t0, t1, packet @ ..]) if matches!((t0, t1), (8, 0) | (0x86, 0xdd)) => {
            Some(([*t0, *t1], packet))
        }
        _ => None,
    }
}

/// A frame with something between its addresses and its ethertype.
fn kept(record: &Record, between: &[u8]) -> Option<Record> {
    let (addresses, rest) = record.data.split_at_checked(12).filter(|_| record.link == 1)?;
    Some(record.with(1, [addresses, between, rest].concat()))
}

/// The IP packet of a frame behind an address family.
fn linked(record: &Record, link: u16, header: impl Fn(u8) -> Vec<u8>) -> Option<Record> {
    let (ethertype, packet) = ip(record)?;
    Some(record.with(link, [&header(if ethertype == [8, 0] { 2 } else { 30 })[..], packet].concat()))
}

fn nflog(record: &Record) -> Option<Record> {
    let (ethertype, packet) = ip(record)?;
    let family = if ethertype == [8, 0] { 2 } else { 10 };
    let [l0, l1] = (packet.len() as u16 + 4).to_le_bytes();
    Some(record.with(239, [&[family, 0, 0, 5, 5, 0, 10, 0, 0, 0, 0, 0, l0, l1, 9, 0], packet].concat()))
}

/// GRE over IPv4, with a sequence number or a key if there is one.
fn gre(protocol: [u8; 2], word: &[u8], payload: &[u8]) -> Vec<u8> {
    let flags = match (word, protocol) {
        ([], _) => 0,
        (_, [0x65, 0x58]) => 0x20,
        _ => 0x10,
    };
    ipv4(47, &[&[flags, 0], &protocol[..], word, payload].concat())
}

fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let length = (8 + payload.len() as u16).to_be_bytes();
    [&[0xc0, 1], &port.to_be_bytes()[..], &length, &[0, 0], payload].concat()
}

fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let [l0, l1] = (20 + payload.len() as u16).to_be_bytes();
    let header = [0x45, 0, l0, l1, 0, 0, 0, 0, 64, protocol, 0, 0, 198, 51, 100, 1, 198, 51, 100, 2];
    [&ADDRESSES[..], &[8, 0], &header, payload].concat()
}

fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    let [l0, l1] = (payload.len() as u16).to_be_bytes();
    let header = [0x60, 0, 0, 0, l0, l1, next, 64];
    [&ADDRESSES[..], &[0x86, 0xdd], &header, &[0xfd; 16], &[0xfe; 16], payload].concat()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use rpcrdma_dissector::link::{Content, decode};

    use super::*;
    use crate::captures::Known;

    #[test]
    fn packets_are_found_in_every_encapsulation() {
        for capture in [5, 3] {
            let record = Known::get(capture).records.iter().find_map(|record| match decode(&record.frame(1)) {
                Content::InfiniBand(_) => Some(record.clone()),
                _ => None,
            });
            let bare = record.unwrap();
            let Content::InfiniBand(expected) = decode(&bare.frame(1)) else { panic!() };
            for way in 0..WAYS {
                for number in [0, 0x0107] {
                    let record = encapsulate(&bare, way, number);
                    assert_ne!((record.link, &record.data), (bare.link, &bare.data), "{way}");
                    assert!(record.data.len() <= bare.data.len() + ADDED, "{way}");
                    let Content::InfiniBand(found) = decode(&record.frame(1)) else { panic!("{way}") };
                    assert_eq!((found.source, found.octets), (expected.source, expected.octets), "{way}");
                }
            }
        }
    }
}

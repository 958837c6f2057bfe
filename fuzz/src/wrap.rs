//! Frames of RoCEv2 over Ethernet, rewritten into other link layers and carriers without their checksums.

use crate::captures::Record;

/// The number of ways.
pub(crate) const WAYS: u8 = 10;

/// `record` wrapped in one of the [`WAYS`], or unchanged if that is impossible.
pub(crate) fn wrap(record: &Record, way: u8) -> Record {
    let wrapped = match way % WAYS {
        1 => vlan(record),
        2 => cooked(record),
        3 => cooked_v2(record),
        4 => record.data.get(14..).map(|ip| record.with(101, ip.to_vec())),
        5 => Some(record.with(197, erf(2, &[&[0, 0], &record.data]))),
        6 => roce_v1(record),
        7 => lrh(record, false).map(|packet| record.with(247, packet)),
        8 => lrh(record, true).map(|packet| record.with(247, packet)),
        9 => lrh(record, false).map(|packet| record.with(197, erf(21, &[&packet]))),
        _ => None,
    };
    wrapped.unwrap_or_else(|| record.clone())
}

fn vlan(record: &Record) -> Option<Record> {
    let (addresses, rest) = record.data.split_at_checked(12)?;
    Some(record.with(1, [addresses, &[0x81, 0, 0x60, 0x2a], rest].concat()))
}

fn cooked(record: &Record) -> Option<Record> {
    let (ethernet, rest) = record.data.split_first_chunk::<14>()?;
    let [_, _, _, _, _, _, source @ .., t0, t1] = ethernet;
    Some(record.with(113, [&[0, 0, 0, 1, 0, 6], &source[..], &[0, 0, *t0, *t1], rest].concat()))
}

fn cooked_v2(record: &Record) -> Option<Record> {
    let (ethernet, rest) = record.data.split_first_chunk::<14>()?;
    let [_, _, _, _, _, _, source @ .., t0, t1] = ethernet;
    Some(record.with(276, [&[*t0, *t1, 0, 0, 0, 0, 0, 2, 0, 1, 0, 6], &source[..], &[0, 0], rest].concat()))
}

fn erf(kind: u8, parts: &[&[u8]]) -> Vec<u8> {
    let body = parts.concat();
    let length = (16 + body.len()) as u16;
    let mut octets = vec![0; 8];
    octets.extend([kind, 4]);
    octets.extend(length.to_be_bytes());
    octets.extend([0, 0]);
    octets.extend((body.len() as u16).to_be_bytes());
    octets.extend(body);
    octets
}

/// Source and destination GID, and the packet from the Base Transport Header to the ICRC.
fn transport(frame: &[u8]) -> Option<([u8; 16], [u8; 16], &[u8])> {
    let ip = frame.get(14..)?;
    let mapped = |at: usize| {
        let address: [u8; 4] = ip.get(at..at + 4)?.try_into().ok()?;
        Some(std::net::Ipv4Addr::from(address).to_ipv6_mapped().octets())
    };
    let gid = |at: usize| ip.get(at..at + 16)?.try_into().ok();
    let (source, destination, udp) = match frame.get(12..14)? {
        [8, 0] if ip.get(9) == Some(&17) => (mapped(12)?, mapped(16)?, ip.get(20..)?),
        [0x86, 0xdd] if ip.get(6) == Some(&17) => (gid(8)?, gid(24)?, ip.get(40..)?),
        _ => return None,
    };
    let length = usize::from(u16::from_be_bytes([*udp.get(4)?, *udp.get(5)?]));
    Some((source, destination, udp.get(8..length)?))
}

fn with_grh(frame: &[u8]) -> Option<Vec<u8>> {
    let (source, destination, octets) = transport(frame)?;
    let length = (octets.len() as u16).to_be_bytes();
    Some([&[0x60, 0, 0, 0], &length[..], &[0x1b, 64], &source, &destination, octets].concat())
}

fn roce_v1(record: &Record) -> Option<Record> {
    let addresses = record.data.get(..12)?;
    Some(record.with(1, [addresses, &[0x89, 0x15], &with_grh(&record.data)?].concat()))
}

fn lrh(record: &Record, grh: bool) -> Option<Vec<u8>> {
    let ([.., s0, s1], [.., d0, d1], octets) = transport(&record.data)?;
    let after = if grh { with_grh(&record.data)? } else { octets.to_vec() };
    let [w0, w1] = (((8 + after.len()) / 4) as u16).to_be_bytes();
    let next = if grh { 3 } else { 2 };
    Some([&[0x30, 0x50 | next, d0, d1, w0, w1, s0, s1], &after[..], &[0, 0]].concat())
}

//! From Ethernet to other link layers.

use super::{COOKED, COOKED_V2, ERF, ETHERNET, RAW_IP, Record};

fn map(records: &[Record], rewrite: impl Fn(&Record) -> Record) -> Vec<Record> {
    records.iter().map(rewrite).collect()
}

fn with_tags(records: &[Record], tags: &[u8]) -> Vec<Record> {
    map(records, |record| record.with(ETHERNET, [&record.data[..12], tags, &record.data[12..]].concat()))
}

/// With an 802.1Q tag.
pub fn with_vlan(records: &[Record]) -> Vec<Record> {
    with_tags(records, &[0x81, 0x00, 0x60, 0x2a])
}

/// With two tags, the outer one of 802.1ad.
pub fn with_vlans(records: &[Record]) -> Vec<Record> {
    with_tags(records, &[0x88, 0xa8, 0x00, 0x07, 0x81, 0x00, 0x60, 0x2a])
}

/// With octets after what the packet's own lengths count, as Ethernet's padding and frame check sequence are.
pub fn with_trailer(records: &[Record], octets: usize) -> Vec<Record> {
    map(records, |record| record.with(record.link, [record.data.as_slice(), &vec![0xee; octets]].concat()))
}

/// As captured on Linux's "any" interface.
pub fn to_cooked(records: &[Record]) -> Vec<Record> {
    map(records, |record| {
        let frame = &record.data;
        let header = [&[0, 0, 0, 1, 0, 6][..], &frame[6..12], &[0, 0], &frame[12..14]].concat();
        record.with(COOKED, [&header, &frame[14..]].concat())
    })
}

/// The same by a newer libpcap.
pub fn to_cooked_v2(records: &[Record]) -> Vec<Record> {
    map(records, |record| {
        let frame = &record.data;
        let header = [&frame[12..14], &[0, 0, 0, 0, 0, 2, 0, 1, 0, 6], &frame[6..12], &[0, 0]].concat();
        record.with(COOKED_V2, [&header, &frame[14..]].concat())
    })
}

/// The IP packets without a link layer; the other frames cannot be there.
pub fn to_raw_ip(records: &[Record]) -> Vec<Record> {
    let is_ip = |record: &&Record| matches!(record.data[12..14], [0x08, 0x00] | [0x86, 0xdd]);
    records.iter().filter(is_ip).map(|record| record.with(RAW_IP, record.data[14..].to_vec())).collect()
}

/// Padding of an ERF record, which should end at a multiple of 8 octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// Nothing.
    None,
    /// It is counted in the record's length and not there.
    Counted,
    /// It is counted and there.
    Written,
}

/// Options of ERF records.
#[derive(Clone, Copy, Debug)]
pub struct Erf {
    pub extension_headers: usize,
    pub padding: Padding,
}

/// In ERF records: type 2 for Ethernet frames, type 21 for InfiniBand frames.
pub fn to_erf(records: &[Record], erf: Erf) -> Vec<Record> {
    map(records, |record| {
        let (kind, before, fcs): (u8, &[u8], usize) =
            if record.link == ETHERNET { (2, &[0, 0], 4) } else { (21, &[], 0) };
        let mut body = Vec::new();
        for left in (0..erf.extension_headers).rev() {
            body.extend([if left > 0 { 0x83 } else { 0x03 }, 0, 0, 0, 0, 0, 0, 7]);
        }
        body.extend(before);
        body.extend(&record.data);
        let exact = 16 + body.len();
        let padded = exact.next_multiple_of(8);
        let length = if erf.padding == Padding::None { exact } else { padded };
        if erf.padding == Padding::Written {
            body.resize(padded - 16, 0);
        }
        let seconds = record.time_ns / 1_000_000_000;
        let fraction = ((record.time_ns % 1_000_000_000) << 32) / 1_000_000_000;
        let mut octets = ((seconds << 32) | fraction).to_le_bytes().to_vec();
        octets.extend([kind | if erf.extension_headers > 0 { 0x80 } else { 0 }, 0x04]);
        octets.extend((length as u16).to_be_bytes());
        octets.extend([0, 0]);
        octets.extend(((record.data.len() + fcs) as u16).to_be_bytes());
        octets.extend(body);
        record.with(ERF, octets)
    })
}

//! From RoCEv2 to RoCEv1 and InfiniBand, the ICRC and VCRC made anew.

use super::crc::{crc16, crc32};
use super::{INFINIBAND, Record};

/// The parts of a RoCEv2 frame.
struct Transport<'a> {
    /// Ethernet destination and source.
    ethernet: &'a [u8],
    traffic_class: u8,
    hop_limit: u8,
    source: [u8; 16],
    destination: [u8; 16],
    /// From the Base Transport Header to the padding.
    octets: &'a [u8],
}

fn mapped(address: &[u8]) -> [u8; 16] {
    let mut gid = [0; 16];
    gid[10..12].fill(0xff);
    gid[12..].copy_from_slice(address);
    gid
}

impl<'a> Transport<'a> {
    /// The parts of `frame`, if it is a RoCEv2 frame.
    fn from_frame(frame: &'a [u8]) -> Option<Self> {
        let (ethernet, ip) = (&frame[..12], &frame[14..]);
        let (traffic_class, hop_limit, source, destination, protocol, udp) = match frame[12..14] {
            [0x08, 0x00] => (ip[1], ip[8], mapped(&ip[12..16]), mapped(&ip[16..20]), ip[9], &ip[20..]),
            [0x86, 0xdd] => {
                let gid = |at: usize| ip[at..at + 16].try_into().unwrap();
                ((ip[0] << 4) | (ip[1] >> 4), ip[7], gid(8), gid(24), ip[6], &ip[40..])
            }
            _ => return None,
        };
        if protocol != 17 || udp[2..4] != 4791_u16.to_be_bytes() {
            return None;
        }
        let length = usize::from(u16::from_be_bytes([udp[4], udp[5]]));
        Some(Self { ethernet, traffic_class, hop_limit, source, destination, octets: &udp[8..length - 4] })
    }

    /// The Global Route Header, with the transport after it and without the ICRC.
    fn with_grh(&self) -> Vec<u8> {
        let mut packet = vec![0x60 | (self.traffic_class >> 4), self.traffic_class << 4, 0, 0];
        packet.extend((self.octets.len() as u16 + 4).to_be_bytes());
        packet.extend([0x1b, self.hop_limit]);
        packet.extend(self.source);
        packet.extend(self.destination);
        packet.extend(self.octets);
        packet
    }
}

/// The ICRC of a packet that begins with a Global Route Header.
fn icrc_with_grh(packet: &[u8]) -> [u8; 4] {
    let mut covered = [&[0xff; 8], packet].concat();
    covered[8] |= 0x0f;
    covered[9..12].fill(0xff);
    covered[15] = 0xff;
    covered[8 + 40 + 4] = 0xff;
    crc32(&covered).to_le_bytes()
}

/// The ICRC of a packet of RoCEv2 over IPv4, from its IP header to its padding.
pub fn roce_v2_icrc(packet: &[u8]) -> [u8; 4] {
    let mut covered = [&[0xff; 8], packet].concat();
    // Type of service, time to live, both checksums, and the octet of the transport header with the congestion marks.
    [1, 8, 10, 11, 26, 27, 32].into_iter().for_each(|at: usize| covered[8 + at] = 0xff);
    crc32(&covered).to_le_bytes()
}

/// The ICRC of an InfiniBand packet, from its Local Route Header to its padding.
pub fn icrc(packet: &[u8]) -> [u8; 4] {
    if packet[1] & 3 == 3 {
        return icrc_with_grh(&packet[8..]);
    }
    let mut covered = packet.to_vec();
    covered[0] |= 0xf0;
    covered[8 + 4] = 0xff;
    crc32(&covered).to_le_bytes()
}

/// The VCRC of an InfiniBand packet, from its Local Route Header to its ICRC.
pub fn vcrc(packet: &[u8]) -> [u8; 2] {
    crc16(packet).to_le_bytes()
}

/// The RoCE frames as RoCEv1, the others as they are.
pub fn to_roce_v1(records: &[Record]) -> Vec<Record> {
    let rewrite = |record: &Record| {
        let Some(transport) = Transport::from_frame(&record.data) else { return record.clone() };
        let packet = transport.with_grh();
        let icrc = icrc_with_grh(&packet);
        record.with(record.link, [transport.ethernet, &[0x89, 0x15], &packet, &icrc].concat())
    };
    records.iter().map(rewrite).collect()
}

/// The RoCE frames as they are on an InfiniBand link, with or without a Global Route Header; the others cannot be there.
/// The LIDs are the last two octets of the addresses.
pub fn to_infiniband(records: &[Record], with_grh: bool) -> Vec<Record> {
    let rewrite = |record: &Record| {
        let transport = Transport::from_frame(&record.data)?;
        let after = if with_grh { transport.with_grh() } else { transport.octets.to_vec() };
        let words = (8 + after.len() + 4) / 4;
        let mut packet = vec![0x30, 0x50 | if with_grh { 3 } else { 2 }];
        packet.extend(&transport.destination[14..]);
        packet.extend((words as u16).to_be_bytes());
        packet.extend(&transport.source[14..]);
        packet.extend(after);
        packet.extend(icrc(&packet));
        packet.extend(vcrc(&packet));
        Some(record.with(INFINIBAND, packet))
    };
    records.iter().filter_map(rewrite).collect()
}

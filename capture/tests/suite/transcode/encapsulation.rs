//! From Ethernet into the encapsulations of mirrors, tunnels and rarer link layers. The octets are those of the specifications.

use super::{ETHERNET, Record};

macro_rules! encapsulations {
    ($($name:ident),+ $(,)?) => {
        /// An encapsulation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Encapsulation {
            $($name),+
        }

        pub const ENCAPSULATIONS: [Encapsulation; [$(Encapsulation::$name),+].len()] = [$(Encapsulation::$name),+];
    };
}

encapsulations! {
    ErspanI,
    ErspanII,
    ErspanIII,
    GreEthernet,
    GreIp,
    GreMpls,
    Vxlan,
    VxlanOverIpv6,
    Geneve,
    Mpls,
    MplsPseudowire,
    IpInIpv4,
    IpInIpv6,
    SegmentRouting,
    EtherIp,
    VnTag,
    CiscoMetadata,
    AristaTimestamp,
    Snap,
    Pppoe,
    Tzsp,
    Null,
    Loop,
    Ppi,
    Nflog,
    MplsLink,
}

use Encapsulation::*;

/// `records` of Ethernet in an encapsulation. Frames that it cannot carry stay as they are.
pub fn encapsulate(records: &[Record], how: Encapsulation) -> Vec<Record> {
    records.iter().map(|record| wrapped(record, how).unwrap_or_else(|| record.clone())).collect()
}

fn wrapped(record: &Record, how: Encapsulation) -> Option<Record> {
    let frame = &record.data[..];
    let (addresses, payload) = frame.split_at_checked(12)?;
    let (ethertype, ip) = payload.split_at_checked(2)?;
    let version = ip.first()? >> 4;
    let is_ip = matches!(ethertype, [0x08, 0x00] | [0x86, 0xdd]);
    let ethernet_with = |parts: &[&[u8]]| record.with(ETHERNET, [&[addresses], parts].concat().concat());
    let over_ip = |outer: Vec<u8>| record.with(ETHERNET, outer);
    let packet = if is_ip { Some(ip) } else { None };
    Some(match how {
        ErspanI => over_ip(gre([0x88, 0xbe], &[], frame)),
        ErspanII => over_ip(gre([0x88, 0xbe], &[0, 0, 0, 9], &[&ERSPAN_II, frame].concat())),
        ErspanIII => over_ip(gre([0x22, 0xeb], &[0, 0, 0, 9], &[&ERSPAN_III[..], frame].concat())),
        GreEthernet => over_ip(gre([0x65, 0x58], &[], frame)),
        GreIp => over_ip(gre([ethertype[0], ethertype[1]], &[], packet?)),
        GreMpls => over_ip(gre([0x88, 0x47], &[], &[&LABELS, packet?].concat())),
        Vxlan => over_ip(ipv4(17, &udp(4789, &[&VXLAN, frame].concat()))),
        VxlanOverIpv6 => over_ip(ipv6(17, &udp(4789, &[&VXLAN, frame].concat()))),
        Geneve => over_ip(ipv4(17, &udp(6081, &[&GENEVE[..], frame].concat()))),
        Mpls => ethernet_with(&[&[0x88, 0x47], &LABELS, packet?]),
        MplsPseudowire => ethernet_with(&[&[0x88, 0x47], &LABELS, &[0; 4], frame]),
        IpInIpv4 => over_ip(ipv4(if version == 4 { 4 } else { 41 }, packet?)),
        IpInIpv6 => over_ip(ipv6(if version == 4 { 4 } else { 41 }, packet?)),
        SegmentRouting => over_ip(ipv6(43, &segment_routed(if version == 4 { 4 } else { 41 }, packet?))),
        EtherIp => over_ip(ipv4(97, &[&[0x30, 0], frame].concat())),
        VnTag => ethernet_with(&[&[0x89, 0x26, 0x80, 0x05, 0x10, 0x09], payload]),
        CiscoMetadata => ethernet_with(&[&[0x89, 0x09, 1, 1, 0, 1, 0, 0x10], payload]),
        AristaTimestamp => ethernet_with(&[&[0xd2, 0x8b, 0, 1, 0, 0x10, 0, 0, 0, 1, 0, 0, 0, 2], payload]),
        Snap if frame.len() <= 1500 => {
            let length = (frame.len() - 14 + 8) as u16;
            ethernet_with(&[&length.to_be_bytes(), &[0xaa, 0xaa, 3, 0, 0, 0], payload])
        }
        Snap => return None,
        Pppoe => {
            let protocol: u16 = if version == 4 { 0x0021 } else { 0x0057 };
            let length = (packet?.len() + 2) as u16;
            ethernet_with(&[&[0x88, 0x64, 0x11, 0, 0, 5], &length.to_be_bytes(), &protocol.to_be_bytes(), ip])
        }
        // Tags: the strength of a signal, padding, the end.
        Tzsp => over_ip(ipv4(17, &udp(37008, &[&[1, 0, 0, 1, 10, 1, 0xd0, 0, 1], frame].concat()))),
        Null => record.with(0, [&if version == 4 { 2_u32 } else { 30 }.to_le_bytes(), packet?].concat()),
        Loop => record.with(108, [&if version == 4 { 2_u32 } else { 24 }.to_be_bytes(), packet?].concat()),
        // One field: an 802.3 extension of 8 octets.
        Ppi => record.with(192, [&[0, 0, 20, 0, 1, 0, 0, 0, 9, 0, 8, 0, 1, 0, 0, 0, 0, 0, 0, 0], frame].concat()),
        Nflog => {
            let family = if version == 4 { 2 } else { 10 };
            let length = (packet?.len() + 4) as u16;
            let padding = vec![0; ip.len().next_multiple_of(4) - ip.len()];
            let header = [family, 0, 0, 5, 8, 0, 1, 0, ethertype[0], ethertype[1], 3, 0, 5, 0, 10, 0, 0, 0, 0, 0];
            record.with(239, [&header[..], &length.to_le_bytes(), &[9, 0], ip, &padding].concat())
        }
        MplsLink => record.with(219, [&LABELS, packet?].concat()),
    })
}

/// Version 1, VLAN 100, class 5, trunk 3, session 7, index 1.
const ERSPAN_II: [u8; 8] = [0x10, 0x64, 0xb8, 0x07, 0, 0, 0, 1];
/// Version 2, VLAN 100, class 5, session 7, a time, group 0x10, a frame of Ethernet, hardware 1, egress, and a subheader.
const ERSPAN_III: [u8; 20] = [0x20, 0x64, 0xa0, 0x07, 0, 1, 2, 3, 0, 0x10, 0x80, 0x19, 0x04, 0, 0, 0, 0, 0, 0, 1];
/// VNI 5001.
const VXLAN: [u8; 8] = [0x08, 0, 0, 0, 0, 0x13, 0x89, 0];
/// One option, of class 0x0102, with 4 octets; an Ethernet frame; VNI 5001.
const GENEVE: [u8; 16] = [2, 0, 0x65, 0x58, 0, 0x13, 0x89, 0, 0x01, 0x02, 0x80, 1, 0xde, 0xad, 0xbe, 0xef];
/// Labels 16 and 17.
const LABELS: [u8; 8] = [0, 1, 0, 64, 0, 1, 0x11, 64];

/// GRE over IPv4, with a sequence number if there is one.
fn gre(protocol: [u8; 2], sequence: &[u8], payload: &[u8]) -> Vec<u8> {
    let flags = if sequence.is_empty() { 0 } else { 0x10 };
    ipv4(47, &[&[flags, 0], &protocol[..], sequence, payload].concat())
}

fn segment_routed(next: u8, packet: &[u8]) -> Vec<u8> {
    let segment = |last: u8| [0x20, 0x01, 0x0d, 0xb8, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, last];
    [&[next, 4, 4, 1, 1, 0, 0, 0][..], &segment(3), &segment(2), packet].concat()
}

fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let length = (8 + payload.len()) as u16;
    [&[0xc0, 0x01][..], &port.to_be_bytes(), &length.to_be_bytes(), &[0, 0], payload].concat()
}

/// Ethernet and IPv4 from 198.51.100.1 to 198.51.100.2.
fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let length = (20 + payload.len()) as u16;
    let [l0, l1] = length.to_be_bytes();
    let mut header = [0x45, 0, l0, l1, 0, 0, 0, 0, 62, protocol, 0, 0, 198, 51, 100, 1, 198, 51, 100, 2];
    let sum: u32 = header.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    let checksum = !((sum & 0xffff) + (sum >> 16)) as u16;
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    [&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0][..], &header, payload].concat()
}

/// Ethernet and IPv6 from 2001:db8:ffff::1 to 2001:db8:ffff::2.
fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    let address = |last: u8| [0x20, 0x01, 0x0d, 0xb8, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, last];
    let [l0, l1] = (payload.len() as u16).to_be_bytes();
    let header = [&[0x60, 0, 0, 0, l0, l1, next, 62][..], &address(1), &address(2)].concat();
    [&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x86, 0xdd][..], &header, payload].concat()
}

//! From Ethernet into the encapsulations of mirrors, tunnels and rarer link layers. The octets are those of the specifications.
//! Nothing in a frame changes, so its checksums stay right. The fuzz targets use this file too.

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
    OldVxlan,
    VxlanGpe,
    Geneve,
    Mpls,
    MplsPseudowire,
    MplsInIp,
    MplsInUdp,
    IpInIpv4,
    IpInIpv6,
    SegmentRouting,
    EthernetInIpv6,
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

/// `record` in an encapsulation, with `number` as network identifier and time, and its lower octet as session. `None` for a frame that it cannot carry.
pub fn wrap(record: &Record, how: Encapsulation, number: u16) -> Option<Record> {
    let frame = &record.data[..];
    let ([addresses @ .., t0, t1], ip) = frame.split_first_chunk::<14>().filter(|_| record.link == ETHERNET)?;
    let (addresses, ethertype, payload) = (&addresses[..], [*t0, *t1], frame.get(12..)?);
    let is_4 = ethertype == [0x08, 0];
    let packet = if is_4 || ethertype == [0x86, 0xdd] { Some(ip) } else { None };
    let (protocol, [n0, n1]) = (if is_4 { 4 } else { 41 }, number.to_be_bytes());
    let (network, options) = ([0, n0, n1, 0], usize::from(n1 % 16) * 4);
    let ethernet_with = |parts: &[&[u8]]| record.with(ETHERNET, [&[addresses], parts].concat().concat());
    let over_ip = |outer: Vec<u8>| record.with(ETHERNET, outer);
    let vxlan = |frame: &[u8]| [&[0x08, 0, 0, 0], &network[..], frame].concat();
    Some(match how {
        ErspanI => over_ip(gre([0x88, 0xbe], Word::None, frame)),
        // Version 1, VLAN 100, class 5, trunk 3, the session, index 1.
        ErspanII => {
            let header = [0x10, 0x64, 0xb8, n1, 0, 0, 0, 1];
            over_ip(gre([0x88, 0xbe], Word::Sequence, &[&header, frame].concat()))
        }
        // Version 2, VLAN 100, class 5, the session, a time, group 0x10, a frame of Ethernet, hardware 1, egress, and a subheader or none.
        ErspanIII => {
            let header = [0x20, 0x64, 0xa0, n1, 0, 1, 2, 3, 0, 0x10, 0x80, 0x18 | n1 & 1];
            let subheader = if n1 & 1 == 0 { &[][..] } else { &[0x04, 0, 0, 0, 0, 0, 0, 1] };
            over_ip(gre([0x22, 0xeb], Word::Sequence, &[&header[..], subheader, frame].concat()))
        }
        GreEthernet => over_ip(gre([0x65, 0x58], Word::Key(number), frame)),
        GreIp => over_ip(gre(ethertype, Word::None, packet?)),
        GreMpls => over_ip(gre([0x88, 0x47], Word::None, &[&LABELS, packet?].concat())),
        Vxlan => over_ip(ipv4(17, &udp(4789, &vxlan(frame)))),
        VxlanOverIpv6 => over_ip(ipv6(17, &udp(4789, &vxlan(frame)))),
        OldVxlan => over_ip(ipv4(17, &udp(8472, &vxlan(frame)))),
        // The flag and the number of the protocol: IPv4 or IPv6.
        VxlanGpe => {
            let header = [0x0c, 0, 0, if is_4 { 1 } else { 2 }];
            over_ip(ipv4(17, &udp(4790, &[&header, &network[..], packet?].concat())))
        }
        Geneve => {
            let header = [n1 % 16, 0, 0x65, 0x58];
            over_ip(ipv4(17, &udp(6081, &[&header, &network[..], &vec![0; options], frame].concat())))
        }
        Mpls => ethernet_with(&[&[0x88, 0x47], &LABELS, packet?]),
        MplsPseudowire => ethernet_with(&[&[0x88, 0x48], &LABELS, &[0; 4], frame]),
        MplsInIp => over_ip(ipv4(137, &[&LABELS, packet?].concat())),
        MplsInUdp => over_ip(ipv4(17, &udp(6635, &[&LABELS, packet?].concat()))),
        IpInIpv4 => over_ip(ipv4(protocol, packet?)),
        IpInIpv6 => over_ip(ipv6(protocol, packet?)),
        SegmentRouting => over_ip(ipv6(43, &segment_routed(protocol, packet?))),
        EthernetInIpv6 => over_ip(ipv6(43, &segment_routed(143, frame))),
        EtherIp => over_ip(ipv4(97, &[&[0x30, 0], frame].concat())),
        VnTag => ethernet_with(&[&[0x89, 0x26, 0x80, 0x05, n0, n1], payload]),
        CiscoMetadata => ethernet_with(&[&[0x89, 0x09, 1, 1, 0, 1, n0, n1], payload]),
        AristaTimestamp => ethernet_with(&[&[0xd2, 0x8b, 0, 1, 0, 0x10, 0, 0, 0, 1, 0, 0, n0, n1], payload]),
        Snap if frame.len() <= 1500 => {
            let length = (frame.len() - 14 + 8) as u16;
            ethernet_with(&[&length.to_be_bytes(), &[0xaa, 0xaa, 3, 0, 0, 0], payload])
        }
        Snap => return None,
        Pppoe => {
            let protocol: u16 = if is_4 { 0x0021 } else { 0x0057 };
            let length = (packet?.len() + 2) as u16;
            ethernet_with(&[&[0x88, 0x64, 0x11, 0, n0, n1], &length.to_be_bytes(), &protocol.to_be_bytes(), ip])
        }
        // Tags: the strength of a signal, padding, the end.
        Tzsp => over_ip(ipv4(17, &udp(37008, &[&[1, 0, 0, 1, 10, 1, n1, 0, 1], frame].concat()))),
        Null => record.with(0, [&if is_4 { 2_u32 } else { 30 }.to_le_bytes(), packet?].concat()),
        Loop => record.with(108, [&if is_4 { 2_u32 } else { 24 }.to_be_bytes(), packet?].concat()),
        // One field: an 802.3 extension of 8 octets.
        Ppi => record.with(192, [&[0, 0, 20, 0, 1, 0, 0, 0, 9, 0, 8, 0, 1, 0, 0, 0, 0, 0, 0, 0], frame].concat()),
        Nflog => {
            let length = (packet?.len() + 4) as u16;
            let padding = vec![0; ip.len().next_multiple_of(4) - ip.len()];
            let family = if is_4 { 2 } else { 10 };
            let header = [family, 0, 0, 5, 8, 0, 1, 0, *t0, *t1, 3, 0, 5, 0, 10, 0, 0, 0, 0, 0];
            record.with(239, [&header[..], &length.to_le_bytes(), &[9, 0], ip, &padding].concat())
        }
        MplsLink => record.with(219, [&LABELS, packet?].concat()),
    })
}

/// Labels 16 and 17.
const LABELS: [u8; 8] = [0, 1, 0, 64, 0, 1, 0x11, 64];

/// A word that a header of GRE may have.
enum Word {
    None,
    Key(u16),
    Sequence,
}

/// GRE over IPv4.
fn gre(protocol: [u8; 2], word: Word, payload: &[u8]) -> Vec<u8> {
    let (flags, word) = match word {
        Word::None => (0, vec![]),
        Word::Key(number) => (0x20, u32::from(number).to_be_bytes().to_vec()),
        Word::Sequence => (0x10, vec![0, 0, 0, 9]),
    };
    ipv4(47, &[&[flags, 0], &protocol[..], &word, payload].concat())
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
    let header =
        |[c0, c1]: [u8; 2]| [0x45, 0, l0, l1, 0, 0, 0, 0, 62, protocol, c0, c1, 198, 51, 100, 1, 198, 51, 100, 2];
    let sum: u32 = header([0; 2]).as_chunks().0.iter().map(|word| u32::from(u16::from_be_bytes(*word))).sum();
    let checksum = !((sum & 0xffff) + (sum >> 16)) as u16;
    [&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0][..], &header(checksum.to_be_bytes()), payload].concat()
}

/// Ethernet and IPv6 from 2001:db8:ffff::1 to 2001:db8:ffff::2.
fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    let address = |last: u8| [0x20, 0x01, 0x0d, 0xb8, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, last];
    let [l0, l1] = (payload.len() as u16).to_be_bytes();
    let header = [&[0x60, 0, 0, 0, l0, l1, next, 62][..], &address(1), &address(2)].concat();
    [&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x86, 0xdd][..], &header, payload].concat()
}

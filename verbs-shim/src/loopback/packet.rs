//! A RoCEv2 packet over IPv4 and Ethernet (InfiniBand Architecture, annex A17).
//!
//! ```text
//! +-------------+---------+-------+--------+----------------+---------+---------+--------+
//! | Ethernet 14 | IPv4 20 | UDP 8 | BTH 12 | extension 0-16 | data    | pad 0-3 | ICRC 4 |
//! +-------------+---------+-------+--------+----------------+---------+---------+--------+
//! ```

use std::net::Ipv4Addr;

use crc32fast::Hasher;

/// The UDP port of RoCEv2.
const PORT: u16 = 4791;
const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
const PROTOCOL_UDP: u8 = 17;
const HOPS: u8 = 64;
const DONT_FRAGMENT: [u8; 2] = [0x40, 0x00];
const IPV4_LEN: usize = 20;
const UDP_LEN: usize = 8;
const ICRC_LEN: usize = 4;
/// Every port belongs to this partition.
const DEFAULT_PARTITION: [u8; 2] = [0xff, 0xff];
/// Sequence numbers and queue pairs have 24 bits.
pub(super) const MASK: u32 = 0xff_ffff;

/// The fields of the Base Transport Header.
#[derive(Clone, Copy, Debug)]
pub(super) struct BaseTransportHeader {
    pub(super) opcode: u8,
    /// The receiver's queue pair.
    pub(super) queue_pair: u32,
    /// True if the sender requests an acknowledgement.
    pub(super) acknowledge: bool,
    pub(super) sequence: u32,
}

/// The path of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    pub(super) from: Ipv4Addr,
    pub(super) to: Ipv4Addr,
    /// The sender's UDP port: the same for a whole connection, so that all packets take one path through a network.
    pub(super) port: u16,
}

/// Returns the frame with one packet.
pub(super) fn frame(path: Path, header: BaseTransportHeader, extension: &[u8], data: &[u8]) -> Vec<u8> {
    let pad = data.len().wrapping_neg() % 4;
    let transport = transport(header, pad as u8);
    // At most 4096 octets of data and 100 of headers.
    let length = transport.len() + extension.len() + data.len() + pad + ICRC_LEN;
    let (ip, udp) = (ipv4(path, (IPV4_LEN + UDP_LEN + length) as u16), udp(path, (UDP_LEN + length) as u16));

    let mut frame = Vec::with_capacity(14 + IPV4_LEN + UDP_LEN + length);
    frame.extend(hardware(path.to));
    frame.extend(hardware(path.from));
    frame.extend(ETHERTYPE_IPV4);
    frame.extend(ip);
    frame.extend(udp);
    frame.extend(transport);
    let body = frame.len();
    frame.extend(extension);
    frame.extend(data);
    frame.resize(frame.len() + pad, 0);
    let icrc = icrc(ip, udp, transport, frame.get(body..).unwrap_or_default());
    frame.extend(icrc.to_le_bytes());
    frame
}

fn transport(header: BaseTransportHeader, pad: u8) -> [u8; 12] {
    let [_, q0, q1, q2] = header.queue_pair.to_be_bytes();
    let [_, s0, s1, s2] = header.sequence.to_be_bytes();
    let [k0, k1] = DEFAULT_PARTITION;
    [header.opcode, pad << 4, k0, k1, 0, q0, q1, q2, u8::from(header.acknowledge) << 7, s0, s1, s2]
}

fn ipv4(path: Path, length: u16) -> [u8; IPV4_LEN] {
    let ([l0, l1], [f0, f1]) = (length.to_be_bytes(), DONT_FRAGMENT);
    let ([s0, s1, s2, s3], [d0, d1, d2, d3]) = (path.from.octets(), path.to.octets());
    let header =
        |[c0, c1]: [u8; 2]| [0x45, 0, l0, l1, 0, 0, f0, f1, HOPS, PROTOCOL_UDP, c0, c1, s0, s1, s2, s3, d0, d1, d2, d3];
    header(checksum(&header([0; 2])).to_be_bytes())
}

/// RFC 1071.
fn checksum(header: &[u8; IPV4_LEN]) -> u16 {
    let (words, _) = header.as_chunks();
    let sum: u32 = words.iter().map(|word| u32::from(u16::from_be_bytes(*word))).sum();
    // Ten words: one carry may cause another, but never a third.
    let sum = (sum & 0xffff) + (sum >> 16);
    !((sum & 0xffff) + (sum >> 16)) as u16
}

/// The checksum is left out, because the ICRC covers the packet.
fn udp(path: Path, length: u16) -> [u8; UDP_LEN] {
    let ([s0, s1], [d0, d1], [l0, l1]) = (path.port.to_be_bytes(), PORT.to_be_bytes(), length.to_be_bytes());
    [s0, s1, d0, d1, l0, l1, 0, 0]
}

/// The invariant CRC: fields that routers may change count as ones, and so does the missing Local Route Header.
fn icrc(ip: [u8; IPV4_LEN], udp: [u8; UDP_LEN], transport: [u8; 12], body: &[u8]) -> u32 {
    let [version, _, l0, l1, i0, i1, f0, f1, _, protocol, _, _, addresses @ ..] = ip;
    let [s0, s1, d0, d1, u0, u1, _, _] = udp;
    let [opcode, flags, k0, k1, _, rest @ ..] = transport;
    let mut hasher = Hasher::new();
    hasher.update(&[0xff; 8]);
    hasher.update(&[version, 0xff, l0, l1, i0, i1, f0, f1, 0xff, protocol, 0xff, 0xff]);
    hasher.update(&addresses);
    hasher.update(&[s0, s1, d0, d1, u0, u1, 0xff, 0xff]);
    hasher.update(&[opcode, flags, k0, k1, 0xff]);
    hasher.update(&rest);
    hasher.update(body);
    hasher.finalize()
}

/// A locally administered Ethernet address.
pub(super) fn hardware(address: Ipv4Addr) -> [u8; 6] {
    let [a, b, c, d] = address.octets();
    [0x02, 0, a, b, c, d]
}

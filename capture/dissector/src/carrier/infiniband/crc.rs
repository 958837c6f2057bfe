//! The two checks of an InfiniBand packet: the invariant CRC (ICRC), which is the same from end to end, and the variant
//! CRC (VCRC), which each InfiniBand link computes again (InfiniBand Architecture sections 7.8.1 and 7.8.2, annexes A16
//! and A17).
//!
//! ```text
//! RoCEv2      IP  UDP  BTH … pad  ICRC
//! RoCEv1      GRH      BTH … pad  ICRC
//! InfiniBand  LRH [GRH] BTH … pad  ICRC  VCRC
//! ```
//! Whatever a switch or router may change counts as ones in the ICRC: the virtual lane, or the whole LRH if a GRH
//! follows or, as in RoCE, there is none; traffic class, flow label and hop limit, with their IPv4 equivalents and
//! checksums; and the octet of the BTH with the congestion marks. Both are stored with the least significant octet
//! first.

use crc::{Algorithm, Crc, Table};
use crc32fast::Hasher;

use crate::file::Frame;
use crate::link::{self, Grh, ICRC_LEN, Ipv4, Ipv6, Lrh, Network, NextHeader, Udp};

const VCRC_LEN: usize = 2;
static VCRC: Crc<u16, Table<16>> = Crc::<u16, Table<16>>::new(&Algorithm {
    width: 16,
    poly: 0x100b,
    init: 0xffff,
    refin: true,
    refout: true,
    xorout: 0xffff,
    check: 0,
    residue: 0,
});
/// Stands for the Local Route Header, where the checksum does not cover that.
const NO_LRH: [u8; 8] = [0xff; 8];

/// Results of the checks of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrcVerdict {
    /// True if the ICRC is right.
    pub icrc: bool,
    /// True if the VCRC is right; `None` if the packet has no VCRC (RoCE) or the capture left the VCRC out.
    pub vcrc: Option<bool>,
}

impl CrcVerdict {
    /// Returns true if nothing is wrong.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.icrc && self.vcrc != Some(false)
    }
}

/// The ICRC at the end of a packet, and the one that belongs there.
struct Icrc {
    found: u32,
    right: u32,
}

/// The VCRC after a packet, and the one that belongs there.
struct Vcrc {
    found: u16,
    right: u16,
}

/// The checks of a packet.
struct Checks {
    icrc: Icrc,
    vcrc: Option<Vcrc>,
}

/// Checks the packet in `frame`; `None` for a frame without a complete InfiniBand packet.
#[must_use]
pub fn verify_crc(frame: &Frame<'_>) -> Option<CrcVerdict> {
    verify(link::observe_frame(frame).network)
}

/// Checks the packet in a network layer; `None` for a network layer without a complete InfiniBand packet.
pub(crate) fn verify(network: Network<'_>) -> Option<CrcVerdict> {
    let Checks { icrc, vcrc } = checks(network)?;
    Some(CrcVerdict { icrc: icrc.found == icrc.right, vcrc: vcrc.map(|vcrc| vcrc.found == vcrc.right) })
}

/// The ICRC that belongs to the packet in `frame`; `None` for a frame without a complete InfiniBand packet.
#[must_use]
pub fn right_icrc(frame: &Frame<'_>) -> Option<u32> {
    Some(checks(link::observe_frame(frame).network)?.icrc.right)
}

/// The VCRC that belongs after the packet in `frame`; none if the frame has no room for one.
#[must_use]
pub fn right_vcrc(frame: &Frame<'_>) -> Option<u16> {
    Some(checks(link::observe_frame(frame).network)?.vcrc?.right)
}

fn checks(network: Network<'_>) -> Option<Checks> {
    match network {
        Network::Ipv4(octets) => roce_v2_over_ipv4(octets),
        Network::Ipv6(octets) => roce_v2_over_ipv6(octets),
        Network::Grh(octets) => roce_v1(octets),
        Network::Lrh(octets) => infiniband(octets),
        Network::Ethertype(..) | Network::Link(..) | Network::Other(_) => None,
    }
}

/// Covers the Base Transport Header and what follows, up to the ICRC at the end of `octets`.
fn icrc(mut hasher: Hasher, octets: &[u8]) -> Option<Icrc> {
    let (covered, found) = octets.split_last_chunk::<ICRC_LEN>()?;
    let (start, rest) = covered.split_first_chunk()?;
    let [opcode, flags, key0, key1, _congestion] = *start;
    hasher.update(&[opcode, flags, key0, key1, 0xff]);
    hasher.update(rest);
    Some(Icrc { found: u32::from_le_bytes(*found), right: hasher.finalize() })
}

fn begin_icrc(lrh: [u8; 8]) -> Hasher {
    let mut hasher = Hasher::new();
    hasher.update(&lrh);
    hasher
}

/// Covers an IPv6 header or a GRH, with all extension headers.
fn cover_ipv6(hasher: &mut Hasher, header: &[u8]) -> Option<()> {
    let ([version, _, _, _, l0, l1, next_header, _], rest) = header.split_first_chunk()?;
    hasher.update(&[version | 0x0f, 0xff, 0xff, 0xff, *l0, *l1, *next_header, 0xff]);
    hasher.update(rest);
    Some(())
}

fn roce_v2_over_ipv4(octets: &[u8]) -> Option<Checks> {
    let ip = Ipv4::decode(octets).ok()?;
    if ip.is_fragment || ip.protocol != Udp::PROTOCOL {
        return None;
    }
    let ([version, _, l0, l1, i0, i1, f0, f1, _, protocol, _, _], rest) = ip.header.split_first_chunk()?;
    let mut hasher = begin_icrc(NO_LRH);
    hasher.update(&[*version, 0xff, *l0, *l1, *i0, *i1, *f0, *f1, 0xff, *protocol, 0xff, 0xff]);
    hasher.update(rest);
    roce_v2(hasher, ip.payload, ip.payload_length)
}

fn roce_v2_over_ipv6(octets: &[u8]) -> Option<Checks> {
    let ip = Ipv6::decode(octets).ok()?;
    if ip.next_header != Udp::PROTOCOL {
        return None;
    }
    let mut hasher = begin_icrc(NO_LRH);
    cover_ipv6(&mut hasher, ip.header)?;
    roce_v2(hasher, ip.payload, ip.payload_length)
}

fn roce_v2(mut hasher: Hasher, octets: &[u8], length: usize) -> Option<Checks> {
    let udp = Udp::decode(octets, length).ok().filter(Udp::is_roce)?;
    let [s0, s1, d0, d1, l0, l1, _, _] = *udp.header;
    hasher.update(&[s0, s1, d0, d1, l0, l1, 0xff, 0xff]);
    let icrc = icrc(hasher, udp.payload.get(..udp.payload_length)?)?;
    Some(Checks { icrc, vcrc: None })
}

fn grh_icrc(octets: &[u8]) -> Option<Icrc> {
    let grh = Grh::decode(octets).ok()?;
    let mut hasher = begin_icrc(NO_LRH);
    cover_ipv6(&mut hasher, grh.header)?;
    icrc(hasher, grh.payload.get(..grh.payload_length)?)
}

fn roce_v1(octets: &[u8]) -> Option<Checks> {
    Some(Checks { icrc: grh_icrc(octets)?, vcrc: None })
}

fn infiniband(octets: &[u8]) -> Option<Checks> {
    let lrh = Lrh::decode(octets).ok()?;
    let payload = lrh.payload.get(..lrh.payload_length)?;
    let icrc = match lrh.next_header {
        NextHeader::Raw => return None,
        NextHeader::Grh => grh_icrc(payload)?,
        NextHeader::Bth => {
            let mut masked = *lrh.header;
            masked[0] |= 0xf0;
            icrc(begin_icrc(masked), payload)?
        }
    };
    let (covered, rest) = octets.split_at_checked(lrh.header.len() + lrh.payload_length)?;
    let vcrc = rest.first_chunk::<VCRC_LEN>();
    let vcrc = vcrc.map(|found| Vcrc { found: u16::from_le_bytes(*found), right: VCRC.checksum(covered) });
    Some(Checks { icrc, vcrc })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{LinkType, Time};

    fn octets(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.bytes().filter(|digit| !digit.is_ascii_whitespace()).collect();
        digits.chunks(2).map(|pair| u8::from_str_radix(core::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    }

    fn verdict(link: u32, data: &[u8]) -> Option<CrcVerdict> {
        verify_crc(&Frame { number: 1, time: Time(0), link: LinkType(link), data, length: data.len() as u32 })
    }

    /// Frames captured on other people's hardware, from the tests of the scapy project.
    const ETHERNET: [&str; 3] = [
        "e41d2dab2bc27cfe90643b32080045c2003c718c4000401191610a0011010a001201000012b7002800008100ffff40000118
         000000000000000000000000000000000000000082fd002a",
        "7cfe90753cd87cfe90753cd889156020000000281b4000000000000000000000ffff0f00000200000000000000000000ffff
         0f0000020a70ffff0000010a80a788bc000055d4c0726000000047b3000000050000000001000000e3d856bb",
        "7cfe90753cd87cfe90753cd889156020000000141b4000000000000000000000ffff0f00000200000000000000000000ffff
         0f0000021140ffff0000010900a788c00000000525f0c038",
    ];

    #[test]
    fn every_changed_octet_makes_a_captured_icrc_wrong() {
        for (hex, bth) in ETHERNET.into_iter().zip([42, 54, 54]) {
            let mut frame = octets(hex);
            assert_eq!(verdict(1, &frame), Some(CrcVerdict { icrc: true, vcrc: None }));
            for at in bth..frame.len() {
                frame[at] ^= 0x10;
                let congestion = at == bth + 4;
                assert_eq!(verdict(1, &frame).unwrap().icrc, congestion, "octet {at} of {hex}");
                frame[at] ^= 0x10;
            }
        }
    }

    #[test]
    fn what_routers_change_does_not_matter() {
        let mut v4 = octets(ETHERNET[0]);
        for at in [14 + 1, 14 + 8, 14 + 10, 14 + 11, 34 + 6, 34 + 7, 42 + 4] {
            v4[at] ^= 0xa5;
        }
        assert!(verdict(1, &v4).unwrap().icrc);
        let mut v1 = octets(ETHERNET[1]);
        for at in [14 + 1, 14 + 2, 14 + 3, 14 + 7, 54 + 4] {
            v1[at] ^= 0xa5;
        }
        // The upper half of the traffic class, which shares an octet with the version.
        v1[14] ^= 0x05;
        assert!(verdict(1, &v1).unwrap().icrc);
    }

    #[test]
    fn a_cut_frame_has_no_verdict() {
        for hex in ETHERNET {
            let frame = octets(hex);
            for length in 0..frame.len() {
                assert_eq!(verdict(1, &frame[..length]), None, "{length} octets of {hex}");
            }
        }
    }
}

//! The link and network layers of a frame: their offsets, and their copy with other addresses.

use rpcrdma_dissector::Frame;
use rpcrdma_dissector::link::{self, Lrh, Network, NextHeader};

use super::bare::INFINIBAND;
use super::key::Replacer;
use super::octets::{keep, write_octets};
use crate::export::capture_file::ETHERNET;
use crate::export::tcp;

const MAC: usize = 6;
const IPV4: usize = 20;
/// An IPv6 header, and a Global Route Header.
const IPV6: usize = 40;
/// A Local Route Header.
const LRH: usize = 8;
/// The most VLAN tags of a frame.
const TAGS: usize = 4;

/// Kind of the network layer of a frame, and the layer's offset.
#[derive(Clone, Copy, Debug)]
pub(super) struct NetworkLayout {
    link: LinkKind,
    at: usize,
    pub(super) kind: NetworkKind,
}

/// Kind of link layer.
#[derive(Clone, Copy, Debug)]
enum LinkKind {
    Ethernet,
    /// A Local Route Header.
    InfiniBand,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NetworkKind {
    Ipv4,
    Ipv6,
    Grh,
    /// Nothing between the Local Route Header and the transport.
    Absent,
}

impl NetworkLayout {
    /// Finds the network layer; `None` if the frame is neither Ethernet nor InfiniBand, or the network layer is of another kind.
    pub(super) fn from_frame(frame: &Frame<'_>) -> Option<Self> {
        match frame.link {
            ETHERNET => Self::in_ethernet(frame),
            INFINIBAND => Self::in_infiniband(frame.data),
            _ => None,
        }
    }

    fn in_ethernet(frame: &Frame<'_>) -> Option<Self> {
        let (octets, kind) = match link::network(frame) {
            // Without options.
            Network::Ipv4(octets @ [0x45, ..]) => (octets, NetworkKind::Ipv4),
            Network::Ipv6(octets) => (octets, NetworkKind::Ipv6),
            Network::Grh(octets) => (octets, NetworkKind::Grh),
            _ => return None,
        };
        let at = frame.data.len() - octets.len();
        (at <= 2 * MAC + 4 * TAGS + 2).then_some(Self { link: LinkKind::Ethernet, at, kind })
    }

    fn in_infiniband(octets: &[u8]) -> Option<Self> {
        let kind = match Lrh::decode(octets).ok()?.next_header {
            NextHeader::Grh => NetworkKind::Grh,
            NextHeader::Bth => NetworkKind::Absent,
            NextHeader::Raw => return None,
        };
        Some(Self { link: LinkKind::InfiniBand, at: LRH, kind })
    }

    /// Offset of the first octet after the network header. IPv6 is taken to have no extension headers.
    pub(super) const fn end_offset(self) -> usize {
        self.at
            + match self.kind {
                NetworkKind::Ipv4 => IPV4,
                NetworkKind::Ipv6 | NetworkKind::Grh => IPV6,
                NetworkKind::Absent => 0,
            }
    }

    /// Returns true for IPv4 and IPv6.
    pub(super) const fn is_ip(self) -> bool {
        matches!(self.kind, NetworkKind::Ipv4 | NetworkKind::Ipv6)
    }

    /// Writes both layers into zeros, without the checksum of IPv4.
    pub(super) fn rewrite(self, from: &[u8], to: &mut [u8], replacer: &mut Replacer) -> Option<()> {
        match self.link {
            LinkKind::Ethernet => {
                for at in [0, MAC] {
                    let address: [u8; MAC] = *from.get(at..)?.first_chunk()?;
                    write_octets(to, at, &replacer.mac_address(address));
                }
                // Tags, and the ethertype.
                keep(from, to, 2 * MAC..self.at);
            }
            LinkKind::InfiniBand => {
                keep(from, to, 0..LRH);
                lids(from, to, [2, 6], replacer)?;
            }
        }
        let at = self.at;
        match self.kind {
            NetworkKind::Ipv4 => {
                // Up to the checksum.
                keep(from, to, at..at + 10);
                for at in [at + 12, at + 16] {
                    write_octets(to, at, &replacer.ipv4(*from.get(at..)?.first_chunk()?));
                }
            }
            NetworkKind::Ipv6 | NetworkKind::Grh => {
                keep(from, to, at..at + 8);
                for at in [at + 8, at + 24] {
                    write_octets(to, at, &replacer.ipv6(*from.get(at..)?.first_chunk()?));
                }
            }
            NetworkKind::Absent => {}
        }
        Some(())
    }

    /// Writes a right IPv4 header checksum if the original was right, and a wrong one if the original was wrong.
    pub(super) fn header_checksum(self, from: &[u8], to: &mut [u8]) {
        if self.kind == NetworkKind::Ipv4 {
            let header = self.at..self.at + IPV4;
            checksum(from, to, header.start + 10, |octets| Some(sum(octets.get(header.clone())?, 0)));
        }
    }

    /// Sum over the transport layer of `length` octets, with the pseudo-header. `None` if a part of the layer was not captured.
    pub(super) fn transport_sum(self, octets: &[u8], protocol: u8, length: usize) -> Option<u16> {
        let addresses = match self.kind {
            NetworkKind::Ipv4 => self.at + 12..self.at + IPV4,
            _ => self.at + 8..self.at + IPV6,
        };
        let pseudo = sum(octets.get(addresses)?, u32::from(protocol) + u32::try_from(length).ok()?);
        let start = self.end_offset();
        Some(sum(octets.get(start..start.checked_add(length)?)?, u32::from(pseudo)))
    }
}

/// Writes the replacements of two LIDs.
pub(super) fn lids(from: &[u8], to: &mut [u8], places: [usize; 2], replacer: &mut Replacer) -> Option<()> {
    for at in places {
        let lid = u16::from_be_bytes(*from.get(at..)?.first_chunk()?);
        write_octets(to, at, &replacer.lid(lid).to_be_bytes());
    }
    Some(())
}

/// Writes the checksum at `at`. `sum_of` sums the covered octets, including the checksum.
pub(super) fn checksum(from: &[u8], to: &mut [u8], at: usize, sum_of: impl Fn(&[u8]) -> Option<u16>) {
    let original = from.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |octets| u16::from_be_bytes(*octets));
    // In UDP there is none then; elsewhere the adapter was to compute it.
    if original == 0 {
        return;
    }
    write_octets(to, at, &[0, 0]);
    let Some((before, after)) = sum_of(from).zip(sum_of(to)) else { return };
    let right = match !after {
        0 => 0xffff,
        right => right,
    };
    let checksum = if before == 0xffff { right } else { right ^ 0x5555 };
    write_octets(to, at, &checksum.to_be_bytes());
}

/// The one's complement sum of RFC 1071.
fn sum(octets: &[u8], start: u32) -> u16 {
    !u16::from_be_bytes(tcp::fold(tcp::sum(octets) + u64::from(start)))
}

//! One frame: which of its octets are understood, and the copy without its confidential content.
//!
//! The copy begins as zeros. Only what is understood is written into it, so what is not understood cannot pass.

use core::ops::Range;

use super::key::Replacer;
use super::management;
use super::octets::{keep, put};
use crate::carrier::infiniband::crc::{right_icrc, verify_crc};
use crate::carrier::infiniband::transport::{self, PacketKind, Transport};
use crate::file::{Frame, LinkType};
use crate::link::{self, Address, Content, Network};

const ETHERNET: LinkType = LinkType(1);
const MAC: usize = 6;
const IPV4: usize = 20;
/// An IPv6 header, and a Global Route Header.
const IPV6: usize = 40;
const UDP: usize = 8;
/// The most VLAN tags of a frame.
const TAGS: usize = 4;

/// Offsets of the parts of a frame.
#[derive(Clone, Debug)]
pub(super) struct FrameLayout {
    network: usize,
    kind: NetworkKind,
    transport: usize,
    /// From the beginning of the transport header to the ICRC, on the wire.
    transport_length: usize,
    /// The data after the transport headers, as far as it was captured.
    pub(super) data: Range<usize>,
    /// `true` if the last transport header is immediate data, which may be anything.
    has_immediate: bool,
    /// Kind of packet.
    pub(super) operation: PacketKind,
    /// `true` for a management datagram.
    pub(super) is_management: bool,
    /// Address of the sender.
    pub(super) source: Address,
    /// Address of the receiver.
    pub(super) destination: Address,
    /// The receiver's queue pair.
    pub(super) queue_pair: u32,
    /// Packet sequence number.
    pub(super) sequence: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NetworkKind {
    Ipv4,
    Ipv6,
    Grh,
}

impl FrameLayout {
    /// Finds the parts of a frame; `None` if not all of its headers are understood.
    pub(super) fn of(frame: &Frame<'_>) -> Option<Self> {
        let Content::InfiniBand(packet) = link::decode(frame) else { return None };
        if frame.link != ETHERNET {
            return None;
        }
        let (network, kind) = network(frame)?;
        let transport = network
            + match kind {
                // Without options.
                NetworkKind::Ipv4 if frame.data.get(network) == Some(&0x45) => IPV4 + UDP,
                NetworkKind::Ipv4 => return None,
                NetworkKind::Ipv6 => IPV6 + UDP,
                NetworkKind::Grh => IPV6,
            };
        // Nothing else is in between: an encapsulation, an extension header.
        if !core::ptr::eq(frame.data.get(transport..)?.as_ptr(), packet.octets.as_ptr()) {
            return None;
        }
        let header = Transport::decode(packet.octets, packet.length).ok()?;
        let is_management = header.opcode == transport::DATAGRAM && header.queue_pair == 1;
        let is_reliable = header.opcode >> 5 == 0 && header.operation != PacketKind::Other;
        if !is_management && !is_reliable {
            return None;
        }
        let pad = usize::from(*packet.octets.get(1)? >> 4 & 3);
        let headers = packet.length.checked_sub(header.length)?.checked_sub(pad)?;
        let start = transport.checked_add(headers)?;
        let data = start..start.checked_add(header.data.len())?;
        frame.data.get(data.clone())?;
        Some(Self {
            network,
            kind,
            transport,
            transport_length: packet.length,
            data,
            has_immediate: is_reliable && matches!(header.opcode & 0x1f, 0x03 | 0x05 | 0x09 | 0x0b),
            operation: header.operation,
            is_management,
            source: packet.source,
            destination: packet.destination,
            queue_pair: header.queue_pair,
            sequence: header.sequence,
        })
    }

    /// The copy of the frame. `data` takes the place of the data after the transport headers, as far as there is any. `None`
    /// if the frame is a management datagram that is not understood.
    pub(super) fn rewrite(&self, frame: &Frame<'_>, data: &[u8], replacer: &mut Replacer) -> Option<Vec<u8>> {
        let from = frame.data;
        let mut to = vec![0; from.len()];
        // MAC addresses, tags and ethertype.
        for at in [0, MAC] {
            let address: [u8; MAC] = *from.get(at..)?.first_chunk()?;
            put(&mut to, at, &replacer.mac_address(address));
        }
        keep(from, &mut to, 2 * MAC..self.network);
        self.addresses(from, &mut to, replacer)?;
        let mut headers = self.transport..self.data.start;
        if self.has_immediate {
            headers.end -= 4;
        }
        keep(from, &mut to, headers);
        if self.is_management {
            let original = from.get(self.data.clone())?;
            management::rewrite(original, to.get_mut(self.data.clone())?, replacer)?;
        } else {
            to.get_mut(self.data.clone())?.iter_mut().zip(data).for_each(|(to, from)| *to = *from);
        }
        self.checksums(frame, &mut to);
        Some(to)
    }

    fn addresses(&self, from: &[u8], to: &mut [u8], replacer: &mut Replacer) -> Option<()> {
        let at = self.network;
        match self.kind {
            NetworkKind::Ipv4 => {
                keep(from, to, at..at + 12);
                for at in [at + 12, at + 16] {
                    put(to, at, &replacer.ipv4(*from.get(at..)?.first_chunk()?));
                }
            }
            NetworkKind::Ipv6 | NetworkKind::Grh => {
                keep(from, to, at..at + 8);
                for at in [at + 8, at + 24] {
                    put(to, at, &replacer.ipv6(*from.get(at..)?.first_chunk()?));
                }
            }
        }
        if self.kind != NetworkKind::Grh {
            // The checksums come last.
            keep(from, to, self.transport - UDP..self.transport - 2);
        }
        Some(())
    }

    /// Makes checksums right if they were, and wrong if they were wrong.
    fn checksums(&self, frame: &Frame<'_>, to: &mut [u8]) {
        // The ICRC does not cover the checksums of IP and UDP, and these cover the ICRC.
        let icrc = self.transport + self.transport_length;
        if let Some(verdict) = verify_crc(frame)
            && let Some(right) = right_icrc(&Frame { data: to, ..*frame })
        {
            put(to, icrc, &(if verdict.icrc { right } else { !right }).to_le_bytes());
        }
        if self.kind == NetworkKind::Ipv4 {
            let header = self.network..self.network + IPV4;
            self.checksum(frame.data, to, header.start + 10, |octets| Some(sum(octets.get(header.clone())?, 0)));
        }
        if self.kind != NetworkKind::Grh {
            self.checksum(frame.data, to, self.transport - 2, |octets| self.udp_sum(octets));
        }
    }

    /// Writes the checksum at `at`. `sum_of` adds up what it covers, including itself.
    fn checksum(&self, from: &[u8], to: &mut [u8], at: usize, sum_of: impl Fn(&[u8]) -> Option<u16>) {
        let original =
            from.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |octets| u16::from_be_bytes(*octets));
        // In UDP there is none then; in IPv4 the adapter was to compute it.
        if original == 0 {
            return;
        }
        put(to, at, &[0, 0]);
        let Some((before, after)) = sum_of(from).zip(sum_of(to)) else { return };
        let right = match !after {
            0 => 0xffff,
            right => right,
        };
        let checksum = if before == 0xffff { right } else { right ^ 0x5555 };
        put(to, at, &checksum.to_be_bytes());
    }

    fn udp_sum(&self, octets: &[u8]) -> Option<u16> {
        let udp = self.transport - UDP;
        let length = octets.get(udp + 4..)?.first_chunk().map(|length| u16::from_be_bytes(*length))?;
        let addresses = match self.kind {
            NetworkKind::Ipv4 => self.network + 12..self.network + IPV4,
            _ => self.network + 8..self.network + IPV6,
        };
        let pseudo = sum(octets.get(addresses)?, 17 + u32::from(length));
        Some(sum(octets.get(udp..udp + usize::from(length))?, u32::from(pseudo)))
    }
}

/// Returns the offset of the network layer of an Ethernet frame, and its kind.
fn network(frame: &Frame<'_>) -> Option<(usize, NetworkKind)> {
    let (octets, kind) = match link::network(frame) {
        Network::Ipv4(octets) => (octets, NetworkKind::Ipv4),
        Network::Ipv6(octets) => (octets, NetworkKind::Ipv6),
        Network::Grh(octets) => (octets, NetworkKind::Grh),
        _ => return None,
    };
    let at = frame.data.len() - octets.len();
    (at <= 2 * MAC + 4 * TAGS + 2).then_some((at, kind))
}

/// The one's complement sum of RFC 1071.
fn sum(octets: &[u8], start: u32) -> u16 {
    let words = octets.chunks(2).map(|pair| match *pair {
        [high, low] => u32::from(u16::from_be_bytes([high, low])),
        [high] => u32::from(high) << 8,
        _ => 0,
    });
    let mut sum = words.fold(u64::from(start), |sum, word| sum + u64::from(word));
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

//! Payload of an IP packet.

use super::address::Address;
use super::content::{Carrier, Content, packet};
use super::other::Other;
use super::tcp::TcpSegment;
use super::udp::Udp;

const ICMP: u8 = 1;
const IGMP: u8 = 2;
const ICMPV6: u8 = 58;

/// Decodes the content of an IP packet: `length` octets on the wire.
#[inline]
pub(super) fn decode(protocol: u8, source: Address, destination: Address, octets: &[u8], length: usize) -> Content<'_> {
    match protocol {
        Udp::PROTOCOL => {}
        TcpSegment::PROTOCOL => {
            return TcpSegment::decode(source, destination, octets, length)
                .map_or_else(|name| Content::Other(name.into()), Content::Tcp);
        }
        _ => return Content::Other(name(protocol)),
    }
    match Udp::decode(octets, length) {
        Ok(udp) if udp.is_roce() => packet(Carrier::RoceV2, source, destination, udp.payload, udp.payload_length),
        Ok(udp) => Content::Other(Other::UdpPort(udp.service())),
        Err(name) => Content::Other(name.into()),
    }
}

/// A protocol that does not carry RDMA.
#[cold]
fn name(protocol: u8) -> Other {
    match protocol {
        ICMP => Other::Named("ICMP"),
        IGMP => Other::Named("IGMP"),
        ICMPV6 => Other::Named("ICMPv6"),
        _ => Other::IpProtocol(protocol),
    }
}

//! What IP carries.

use super::address::Address;
use super::content::{Carrier, Content, packet};
use super::tcp::TcpSegment;
use super::udp::Udp;

const ICMP: u8 = 1;
const IGMP: u8 = 2;
const ICMPV6: u8 = 58;

/// What an IP packet holds: `length` octets on the wire.
#[inline]
pub(super) fn decode(protocol: u8, source: Address, destination: Address, octets: &[u8], length: usize) -> Content<'_> {
    match protocol {
        Udp::PROTOCOL => {}
        TcpSegment::PROTOCOL => {
            return TcpSegment::decode(source, destination, octets, length).map_or_else(Content::Other, Content::Tcp);
        }
        _ => return Content::Other(name(protocol)),
    }
    match Udp::decode(octets, length) {
        Ok(udp) if udp.is_roce() => packet(Carrier::RoceV2, source, destination, udp.payload, udp.payload_length),
        Ok(_) => Content::Other("UDP"),
        Err(name) => Content::Other(name),
    }
}

/// The name of a protocol that does not carry RDMA.
#[cold]
fn name(protocol: u8) -> &'static str {
    match protocol {
        ICMP => "ICMP",
        IGMP => "IGMP",
        ICMPV6 => "ICMPv6",
        _ => "unknown IP protocol",
    }
}

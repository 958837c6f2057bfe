//! From a frame to an InfiniBand packet or a TCP segment: Ethernet, VLAN tags, Linux cooked, raw IP, ERF, LRH and GRH, IPv4,
//! IPv6, UDP, TCP.
//!
//! There are two steps: the link layer says which network layer begins where, and the network layer says where the
//! InfiniBand transport begins. Checking an ICRC needs only the first step, because the ICRC covers the network layer.
//!
//! Lengths come from the headers, never from the frame: Ethernet pads short frames, ERF pads records, and captures cut
//! frames.

mod address;
mod content;
mod cooked;
mod erf;
mod ethernet;
mod grh;
mod ipv4;
mod ipv6;
mod lrh;
mod network;
mod protocol;
mod sighting;
mod tcp;
mod udp;

use crate::file::{Frame, LinkType};
pub use address::Address;
pub(crate) use content::ICRC_LEN;
pub use content::{Carrier, Content, Packet};
pub(crate) use grh::Grh;
pub(crate) use ipv4::Ipv4;
pub(crate) use ipv6::Ipv6;
pub(crate) use lrh::{Lrh, NextHeader};
pub(crate) use network::Network;
pub(crate) use sighting::Sighting;
pub use tcp::TcpSegment;
pub(crate) use udp::Udp;

/// What `frame` carries.
#[inline]
pub(crate) fn network<'a>(frame: &Frame<'a>) -> Network<'a> {
    match frame.link {
        LinkType(1) => ethernet::decode(frame.data),
        LinkType(12 | 14 | 101) => Network::ip(frame.data),
        LinkType(113) => cooked::decode_v1(frame.data),
        LinkType(197) => erf::decode(frame.data),
        LinkType(228) => Network::Ipv4(frame.data),
        LinkType(229) => Network::Ipv6(frame.data),
        LinkType(247) => Network::Lrh(frame.data),
        LinkType(276) => cooked::decode_v2(frame.data),
        _ => Network::Other("unknown link type"),
    }
}

/// What `frame` holds. Never an error, because a capture holds whatever passed by.
#[inline]
#[must_use]
pub fn decode<'a>(frame: &Frame<'a>) -> Content<'a> {
    sighted(frame).0
}

/// What `frame` holds, and how that was captured.
#[inline]
pub(crate) fn sighted<'a>(frame: &Frame<'a>) -> (Content<'a>, Sighting) {
    let network = network(frame);
    let sighting = Sighting::of(&network, frame.data.len());
    let content = match network {
        Network::Ipv4(octets) => ipv4::decode(octets),
        Network::Ipv6(octets) => ipv6::decode(octets),
        Network::Grh(octets) => grh::decode(octets),
        Network::Lrh(octets) => lrh::decode(octets),
        Network::Other(name) => Content::Other(name),
    };
    (content, sighting)
}

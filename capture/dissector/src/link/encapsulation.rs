//! Encapsulations: packets and frames inside others, sent by mirrors, tunnels and rarer link layers.
//!
//! ```text
//! link type   NULL, LOOP, PPI, NFLOG, MPLS
//! ethertype   MPLS, PPPoE, VN-tag, Cisco metadata, Arista time stamp, LLC and SNAP
//! IP          IPv4, IPv6, GRE (Ethernet, IP, MPLS, ERSPAN), EtherIP, MPLS, Ethernet
//! UDP         VXLAN, VXLAN-GPE, Geneve, MPLS, TZSP
//! ```
//! Each encapsulation has a file with a function that returns the content; this file chooses the function. The outer
//! headers are dropped: their addresses never become a peer's.

use super::ipv4::Ipv4;
use super::ipv6::Ipv6;
use super::mirror::MirrorSession;
use super::network::{Inside, Network};
use super::other::Other;
use super::udp::Udp;
use super::{
    arista, cisco, ether_ip, ethernet, geneve, gre, link_type, llc, loopback, mpls, nflog, ppi, pppoe, tzsp, vn_tag,
    vxlan,
};
use crate::file::LinkType;

/// The most encapsulations around each other that are followed: more than any network uses.
const DEPTH: usize = 8;

/// IP protocols (<https://www.iana.org/assignments/protocol-numbers>).
const IPV4: u8 = 4;
const IPV6: u8 = 41;
const GRE: u8 = 47;
const ETHER_IP: u8 = 97;
const MPLS: u8 = 137;
/// An Ethernet frame after a Segment Routing Header (RFC 8986 section 4.9).
const ETHERNET: u8 = 143;

/// UDP ports.
const VXLAN: u16 = 4789;
/// Linux's default, from before RFC 7348.
const OLD_VXLAN: u16 = 8472;
const VXLAN_GPE: u16 = 4790;
const GENEVE: u16 = 6081;
/// RFC 7510.
const MPLS_IN_UDP: u16 = 6635;
const TZSP: u16 = 37008;

/// The end of a chain of encapsulations.
pub(crate) struct Innermost<'a> {
    pub(crate) network: Network<'a>,
    /// The outermost session of a mirror.
    pub(super) session: Option<MirrorSession>,
    /// `true` if the packet is inside another IP packet.
    pub(super) is_inside: bool,
}

/// Follows encapsulations to the innermost network layer. If there is none, that is `network` itself.
#[cold]
#[inline(never)]
pub(crate) fn innermost(network: Network<'_>) -> Innermost<'_> {
    let mut innermost = Innermost { network, session: None, is_inside: false };
    for _ in 0..DEPTH {
        let Some(inside) = inside(innermost.network) else { return innermost };
        let is_ip = matches!(innermost.network, Network::Ipv4(_) | Network::Ipv6(_));
        innermost.is_inside |= is_ip;
        innermost.session = innermost.session.or(inside.session);
        innermost.network = inside.network;
    }
    if inside(innermost.network).is_some() {
        innermost.network = Network::named("encapsulations nested too deeply");
    }
    innermost
}

/// Opens an encapsulation. Returns `None` if `network` is not one.
fn inside(network: Network<'_>) -> Option<Inside<'_>> {
    match network {
        Network::Ipv4(octets) => ipv4(octets),
        Network::Ipv6(octets) => ipv6(octets),
        Network::Ethertype(number, octets) => ethertype(number, octets),
        Network::Link(number, octets) => Some(link(number, octets).into()),
        Network::Grh(_) | Network::Lrh(_) | Network::Other(_) => None,
    }
}

/// Opens a frame of a rarer link type, or of a link type inside an encapsulation.
fn link(number: LinkType, octets: &[u8]) -> Network<'_> {
    match number {
        loopback::NULL | loopback::LOOP => loopback::inside(octets),
        ppi::LINK_TYPE => ppi::inside(octets),
        mpls::LINK_TYPE => mpls::inside(octets),
        nflog::LINK_TYPE => nflog::inside(octets),
        _ => match link_type::decode(number, octets) {
            Network::Link(LinkType(number), _) => Network::Other(Other::LinkType(number)),
            network => network,
        },
    }
}

/// Opens the payload after an ethertype.
fn ethertype(number: [u8; 2], octets: &[u8]) -> Option<Inside<'_>> {
    let network = match number {
        [0..=5, _] => llc::inside(octets),
        mpls::UNICAST | mpls::MULTICAST => mpls::inside(octets),
        pppoe::ETHERTYPE => pppoe::inside(octets),
        cisco::ETHERTYPE => cisco::inside(octets),
        vn_tag::ETHERTYPE => vn_tag::inside(octets),
        arista::ETHERTYPE => arista::inside(octets),
        _ => return None,
    };
    Some(network.into())
}

fn ipv4(octets: &[u8]) -> Option<Inside<'_>> {
    let ip = Ipv4::decode(octets).ok()?;
    let payload = within(ip.payload, ip.payload_length);
    match ip.fragment_offset() {
        None => protocol(ip.protocol, payload, ip.payload_length),
        Some(offset) => fragment(ip.protocol, payload, offset == 0),
    }
}

fn ipv6(octets: &[u8]) -> Option<Inside<'_>> {
    let ip = Ipv6::decode(octets).ok()?;
    let payload = within(ip.payload, ip.payload_length);
    match ip.next_header {
        Ipv6::FRAGMENT => {
            let ([protocol, _, o0, o1, _, _, _, _], rest) = payload.split_first_chunk()?;
            fragment(*protocol, rest, u16::from_be_bytes([*o0, *o1]) >> 3 == 0)
        }
        next_header => protocol(next_header, payload, ip.payload_length),
    }
}

/// Cuts `octets` to the length of a packet. Octets after the packet, such as a frame check sequence, must not pass for
/// the end of an inner packet that a mirror has cut.
fn within(octets: &[u8], length: usize) -> &[u8] {
    octets.get(..length).unwrap_or(octets)
}

/// Opens the payload of an IP packet; `length` is the length of the payload on the wire.
fn protocol(number: u8, octets: &[u8], length: usize) -> Option<Inside<'_>> {
    Some(match number {
        IPV4 => Network::Ipv4(octets).into(),
        IPV6 => Network::Ipv6(octets).into(),
        ETHERNET => ethernet::inside(octets).into(),
        ETHER_IP => ether_ip::inside(octets).into(),
        MPLS => mpls::inside(octets).into(),
        GRE => gre::inside(octets),
        Udp::PROTOCOL => {
            let udp = Udp::decode(octets, length).ok()?;
            return datagram(udp.destination, within(udp.payload, udp.payload_length));
        }
        _ => return None,
    })
}

/// Opens the payload of a UDP datagram.
fn datagram(port: u16, octets: &[u8]) -> Option<Inside<'_>> {
    Some(match port {
        VXLAN | OLD_VXLAN => vxlan::inside(octets),
        VXLAN_GPE => vxlan::inside_gpe(octets),
        GENEVE => geneve::inside(octets),
        MPLS_IN_UDP => mpls::inside(octets).into(),
        TZSP => tzsp::inside(octets).into(),
        _ => return None,
    })
}

/// Returns the name of a fragment of an encapsulation. Only the first fragment of a datagram has ports.
fn fragment(number: u8, octets: &[u8], is_first: bool) -> Option<Inside<'_>> {
    let is_outer = match (number, octets) {
        (IPV4 | IPV6 | GRE | ETHER_IP | MPLS | ETHERNET, _) => true,
        (Udp::PROTOCOL, [_, _, p0, p1, rest @ ..]) if is_first => {
            datagram(u16::from_be_bytes([*p0, *p1]), rest).is_some()
        }
        _ => false,
    };
    is_outer.then_some(Network::Other(Other::OUTER_FRAGMENT).into())
}

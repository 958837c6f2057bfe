//! From a frame to an InfiniBand packet or a TCP segment: Ethernet, VLAN tags, Linux cooked, raw IP, ERF, LRH and GRH,
//! IPv4, IPv6, UDP, TCP, and the encapsulations of mirrors and tunnels.
//!
//! There are two steps: the link layer says which network layer begins where, and the network layer says where the
//! InfiniBand transport begins. Checking an ICRC needs only the first step, because the ICRC covers the network layer.
//! For a frame with neither InfiniBand nor TCP, `encapsulation.rs` looks for a network layer further inside, so frames
//! without an encapsulation pay nothing.
//!
//! Lengths come from the headers, never from the frame: Ethernet pads short frames, ERF pads records, and captures and
//! mirrors cut frames.

mod address;
mod arista;
mod cisco;
mod content;
mod cooked;
mod encapsulation;
mod erf;
mod erspan;
mod ether_ip;
mod ethernet;
mod geneve;
mod gre;
mod grh;
mod ipv4;
mod ipv6;
mod link_type;
mod llc;
mod loopback;
mod lrh;
mod mirror;
mod mpls;
mod neighbour;
mod network;
mod nflog;
mod observation;
mod other;
mod ppi;
mod pppoe;
mod protocol;
mod tcp;
mod tzsp;
mod udp;
mod vn_tag;
mod vxlan;

use crate::file::{Frame, LinkType};
pub use address::Address;
pub use content::{Carrier, Content, ICRC_LEN, Packet};
use encapsulation::innermost;
pub(crate) use grh::Grh;
pub(crate) use ipv4::Ipv4;
pub(crate) use ipv6::Ipv6;
pub use lrh::{Lrh, NextHeader};
pub(crate) use mirror::RecentSessions;
pub use mirror::{MirrorEncapsulation, MirrorSession};
pub use neighbour::MacAddress;
pub(crate) use neighbour::{AddressMove, Neighbours};
pub use network::Network;
pub(crate) use observation::PacketObservation;
pub use other::Other;
pub use tcp::TcpSegment;
pub(crate) use udp::Udp;

/// Content of a captured frame, and how the frame was captured.
pub(crate) struct ObservedFrame<'a> {
    pub(crate) content: Content<'a>,
    /// The network layer of the content.
    pub(crate) network: Network<'a>,
    /// Observation of the innermost packet.
    pub(crate) observation: PacketObservation,
    /// Mirror session of the frame, if an encapsulation numbers sessions.
    pub(crate) session: Option<MirrorSession>,
}

/// Returns true if flow control of Ethernet stops a port with this frame.
pub(crate) fn is_port_pause(frame: &Frame<'_>) -> bool {
    frame.link == LinkType(1) && ethernet::is_port_pause(frame.data)
}

/// Finds the network layer of `frame`, which may be an encapsulation.
#[inline]
#[must_use]
pub fn network<'a>(frame: &Frame<'a>) -> Network<'a> {
    link_type::decode(frame.link, frame.data)
}

/// Finds the network layer of the packet in `frame`: the innermost one if the others hold neither InfiniBand nor TCP.
/// Returns true if the packet is inside an encapsulation.
#[must_use]
pub fn network_of_packet<'a>(frame: &Frame<'a>) -> (Network<'a>, bool) {
    let innermost = observe_frame(frame).network;
    (innermost, innermost != network(frame))
}

/// Returns the content of `frame`. There are no errors, because a capture holds whatever passed by.
#[inline]
#[must_use]
pub fn decode<'a>(frame: &Frame<'a>) -> Content<'a> {
    observe_frame(frame).content
}

/// Decodes `frame`, and notes the marks of its capture.
#[inline]
pub(crate) fn observe_frame<'a>(frame: &Frame<'a>) -> ObservedFrame<'a> {
    let network = network(frame);
    match content(network) {
        Content::Other(_) => inside(network, frame.data),
        content => {
            ObservedFrame { content, network, observation: PacketObservation::new(&network, frame.data), session: None }
        }
    }
}

/// Decodes a network layer, without opening encapsulations.
#[inline(always)]
fn content(network: Network<'_>) -> Content<'_> {
    match network {
        Network::Ipv4(octets) => ipv4::decode(octets),
        Network::Ipv6(octets) => ipv6::decode(octets),
        Network::Grh(octets) => grh::decode(octets),
        Network::Lrh(octets) => lrh::decode(octets),
        Network::Ethertype(number, _) => Content::Other(Other::Ethertype(u16::from_be_bytes(number))),
        Network::Link(number, _) => Content::Other(Other::LinkType(number.0)),
        Network::Other(other) => Content::Other(other),
    }
}

/// Looks for a packet in the encapsulations of a frame of these octets.
#[cold]
#[inline(never)]
fn inside<'a>(network: Network<'a>, frame: &[u8]) -> ObservedFrame<'a> {
    let innermost = innermost(network);
    let content = match content(innermost.network) {
        Content::Other(other::FRAGMENT) if innermost.is_inside => Content::Other(other::INNER_FRAGMENT),
        content => content,
    };
    let (network, session) = (innermost.network, innermost.session);
    ObservedFrame { content, network, observation: PacketObservation::new(&network, frame), session }
}

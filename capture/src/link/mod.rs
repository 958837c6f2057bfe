//! From a frame to an InfiniBand packet or a TCP segment: Ethernet, VLAN tags, Linux cooked, raw IP, ERF, LRH and GRH, IPv4,
//! IPv6, UDP, TCP.
//!
//! Two steps: the link layer says what network layer begins where, the network layer says where the
//! InfiniBand transport begins. Checking an ICRC needs the first step alone, since the ICRC covers the network layer.
//!
//! Lengths come from the headers, never from the frame: Ethernet pads short frames, ERF pads records, a capture cuts frames.

mod cooked;
mod erf;
mod ethernet;
mod grh;
mod ipv4;
mod ipv6;
mod lrh;
mod tcp;
mod udp;

pub(crate) use grh::Grh;
pub(crate) use ipv4::Ipv4;
pub(crate) use ipv6::Ipv6;
pub(crate) use lrh::{Lrh, NextHeader};
pub use tcp::Segment;
pub(crate) use udp::Udp;

use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};

use crate::file::{Frame, LinkType};

/// Where a packet comes from or goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Address {
    /// An IPv4 address; a GID that maps one (`::ffff:a.b.c.d`) is shown as this too.
    V4([u8; 4]),
    /// An IPv6 address or a GID.
    V6([u8; 16]),
    /// An InfiniBand local identifier, where the packet has no GRH.
    Lid(u16),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::V4(octets) => fmt::Display::fmt(&Ipv4Addr::from(octets), f),
            Self::V6(octets) => fmt::Display::fmt(&Ipv6Addr::from(octets), f),
            Self::Lid(lid) => write!(f, "LID {lid}"),
        }
    }
}

/// What carries a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Carrier {
    /// UDP port 4791 over IPv4 or IPv6.
    RoceV2,
    /// Ethertype 0x8915.
    RoceV1,
    /// A Local Route Header, with or without a Global Route Header.
    InfiniBand,
    /// MPA, DDP and RDMAP over TCP (RFC 5040, 5041, 5044).
    Iwarp,
}

/// The InfiniBand transport part of a frame.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// What carried it.
    pub carrier: Carrier,
    /// The sender.
    pub source: Address,
    /// The receiver.
    pub destination: Address,
    /// From the Base Transport Header up to and without the ICRC, as far as it was captured.
    pub octets: &'a [u8],
    /// How many octets that had on the wire; more than `octets` holds where the capture cut the frame.
    pub length: usize,
}

/// What a frame holds.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// An InfiniBand transport packet.
    InfiniBand(Packet<'a>),
    /// A TCP segment.
    Tcp(Segment<'a>),
    /// Something else, named for the count of what was left alone.
    Other(&'static str),
}

impl Address {
    /// From an IPv6 address or a GID.
    pub(crate) fn from_gid(gid: [u8; 16]) -> Self {
        match gid {
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, v4 @ ..] => Self::V4(v4),
            _ => Self::V6(gid),
        }
    }
}

/// The Base Transport Header and the ICRC: no InfiniBand packet is shorter.
const BTH_LEN: usize = 12;
pub(crate) const ICRC_LEN: usize = 4;

const TOO_SHORT: &str = "packet too short for InfiniBand transport";

/// What the link layer carries, from the first octet of its header on to the end of what was captured.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Network<'a> {
    /// IPv4.
    Ipv4(&'a [u8]),
    /// IPv6.
    Ipv6(&'a [u8]),
    /// RoCEv1: a Global Route Header.
    Grh(&'a [u8]),
    /// InfiniBand: a Local Route Header.
    Lrh(&'a [u8]),
    /// Something else.
    Other(&'static str),
}

/// A frame that ends before its headers do.
const CUT: Network<'static> = Network::Other("frame cut inside its headers");

impl<'a> Network<'a> {
    /// What `frame` carries.
    #[inline]
    pub(crate) fn of(frame: &Frame<'a>) -> Self {
        match frame.link {
            LinkType(1) => ethernet::decode(frame.data),
            LinkType(12 | 14 | 101) => Self::ip(frame.data),
            LinkType(113) => cooked::decode_v1(frame.data),
            LinkType(197) => erf::decode(frame.data),
            LinkType(228) => Self::Ipv4(frame.data),
            LinkType(229) => Self::Ipv6(frame.data),
            LinkType(247) => Self::Lrh(frame.data),
            LinkType(276) => cooked::decode_v2(frame.data),
            _ => Self::Other("unknown link type"),
        }
    }

    /// An IP header of the version it says.
    fn ip(octets: &'a [u8]) -> Self {
        match octets {
            [0x40..=0x4f, ..] => Self::Ipv4(octets),
            [0x60..=0x6f, ..] => Self::Ipv6(octets),
            [] => CUT,
            _ => Self::Other("unknown IP version"),
        }
    }
}

/// What `frame` holds: never an error, since a capture holds whatever passed by.
#[inline]
#[must_use]
pub fn decode<'a>(frame: &Frame<'a>) -> Content<'a> {
    match Network::of(frame) {
        Network::Ipv4(octets) => ipv4::decode(octets),
        Network::Ipv6(octets) => ipv6::decode(octets),
        Network::Grh(octets) => grh::decode(octets),
        Network::Lrh(octets) => lrh::decode(octets),
        Network::Other(name) => Content::Other(name),
    }
}

/// An InfiniBand transport packet, given with its ICRC: `octets` is what was captured of it, `length` what was on the wire.
#[inline]
fn packet<'a>(carrier: Carrier, source: Address, destination: Address, octets: &'a [u8], length: usize) -> Content<'a> {
    match length.checked_sub(ICRC_LEN) {
        Some(length) if length >= BTH_LEN => {
            let octets = octets.get(..length).unwrap_or(octets);
            Content::InfiniBand(Packet { carrier, source, destination, octets, length })
        }
        _ => Content::Other(TOO_SHORT),
    }
}

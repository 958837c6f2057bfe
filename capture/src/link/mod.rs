//! From a frame to an InfiniBand packet: Ethernet, VLAN tags, Linux cooked, raw IP, ERF, LRH and GRH, IPv4, IPv6, UDP.

use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};

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

/// What carried the InfiniBand transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Carrier {
    /// UDP port 4791 over IPv4 or IPv6.
    RoceV2,
    /// Ethertype 0x8915.
    RoceV1,
    /// A Local Route Header, with or without a Global Route Header.
    InfiniBand,
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
    /// Something else, named for the count of what was left alone.
    Other(&'static str),
}

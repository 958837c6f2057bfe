//! Addresses of the sender and the receiver of a packet.

use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};

/// Address of the sender or the receiver of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Address {
    /// An IPv4 address; a GID that maps one (`::ffff:a.b.c.d`) also becomes this.
    V4([u8; 4]),
    /// An IPv6 address or a GID.
    V6([u8; 16]),
    /// An InfiniBand local identifier, if the packet has no GRH.
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

impl Address {
    /// The address that 16 octets of an IPv6 address or a GID stand for: IPv4 for a mapped address (RFC 4291 section
    /// 2.5.5.2).
    #[must_use]
    pub fn from_gid(gid: [u8; 16]) -> Self {
        match gid {
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, v4 @ ..] => Self::V4(v4),
            _ => Self::V6(gid),
        }
    }
}

//! Content of a frame.

use super::address::Address;
use super::other::Other;
use super::tcp::TcpSegment;

/// Carrier of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Carrier {
    /// UDP port 4791 over IPv4 or IPv6.
    RoceV2,
    /// Ethertype 0x8915.
    RoceV1,
    /// A Local Route Header, with or without a Global Route Header.
    InfiniBand,
    /// MPA, DDP and RDMAP over TCP (RFC 5040, 5041, 5044).
    Iwarp,
    /// Not known: kernel traces do not show the carrier.
    Traced,
}

impl Carrier {
    /// Name of the carrier.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RoceV2 => "RoCEv2",
            Self::RoceV1 => "RoCEv1",
            Self::InfiniBand => "InfiniBand",
            Self::Iwarp => "iWARP",
            Self::Traced => "kernel trace",
        }
    }
}

/// The InfiniBand transport part of a frame.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Packet<'a> {
    /// Carrier of the packet.
    pub carrier: Carrier,
    /// The sender.
    pub source: Address,
    /// The receiver.
    pub destination: Address,
    /// Captured octets from the Base Transport Header up to but not including the ICRC.
    pub octets: &'a [u8],
    /// Number of octets that had on the wire; more than `octets` holds if the capture cut the frame.
    pub length: usize,
}

/// Content of a frame.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Content<'a> {
    /// An InfiniBand transport packet.
    InfiniBand(Packet<'a>),
    /// A TCP segment.
    Tcp(TcpSegment<'a>),
    /// Anything else, by its name in the counts.
    Other(Other),
}

/// Octets of the Base Transport Header. No packet is shorter, leaving out the ICRC.
const BTH_LEN: usize = 12;
/// Octets of the ICRC.
pub const ICRC_LEN: usize = 4;

const TOO_SHORT: Other = Other::Named("packet too short for InfiniBand transport");

/// Decodes an InfiniBand transport packet with its ICRC: `octets` were captured, of `length` octets on the wire.
#[inline]
pub(super) fn packet<'a>(
    carrier: Carrier,
    source: Address,
    destination: Address,
    octets: &'a [u8],
    length: usize,
) -> Content<'a> {
    match length.checked_sub(ICRC_LEN) {
        Some(length) if length >= BTH_LEN => {
            let octets = octets.get(..length).unwrap_or(octets);
            Content::InfiniBand(Packet { carrier, source, destination, octets, length })
        }
        _ => Content::Other(TOO_SHORT),
    }
}

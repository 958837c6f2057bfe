//! The innermost packet of a frame, as a separate frame.
//!
//! ```text
//! Ethernet, with tags or without      unchanged
//! InfiniBand, and in ERF              from the Local Route Header on
//! everything else                     Ethernet without addresses, and the innermost network layer
//! ```
//! Cooked headers, the records of ERF, and encapsulations concern the place of the capture: interfaces, mirrors, tunnels.
//! No command needs their fields to find an RPC, so a copy holds none of these.

use std::borrow::Cow;

use rpcrdma_dissector::link::{self, Network};
use rpcrdma_dissector::{Frame, LinkType};

use crate::export::capture_file::ETHERNET;

pub(super) const INFINIBAND: LinkType = LinkType(247);
const MAC_ADDRESSES: [u8; 12] = [0; 12];

/// Innermost packet of a frame, without the layers around the packet.
pub(super) struct BareFrame<'a> {
    pub(super) link: LinkType,
    pub(super) octets: Cow<'a, [u8]>,
    /// Octets on the wire.
    pub(super) length: u32,
}

impl<'a> BareFrame<'a> {
    /// Finds the innermost packet of `frame`. A frame without a packet stays unchanged, and is not understood.
    pub(super) fn from_frame(frame: &Frame<'a>) -> Self {
        let (network, is_inside) = link::network_of_packet(frame);
        let (link, octets) = match network {
            Network::Ipv4(_) | Network::Ipv6(_) | Network::Grh(_) if frame.link == ETHERNET && !is_inside => {
                (ETHERNET, Cow::Borrowed(frame.data))
            }
            Network::Ipv4(octets) => (ETHERNET, ethernet([0x08, 0x00], octets)),
            Network::Ipv6(octets) => (ETHERNET, ethernet([0x86, 0xdd], octets)),
            Network::Grh(octets) => (ETHERNET, ethernet([0x89, 0x15], octets)),
            Network::Lrh(octets) => (INFINIBAND, Cow::Borrowed(octets)),
            Network::Ethertype(..) | Network::Link(..) | Network::Other(_) => (frame.link, Cow::Borrowed(frame.data)),
        };
        // As many octets were not captured as of the whole frame.
        let lacking = frame.length.saturating_sub(u32::try_from(frame.data.len()).unwrap_or(u32::MAX));
        let length = u32::try_from(octets.len()).unwrap_or(u32::MAX).saturating_add(lacking);
        Self { link, octets, length }
    }
}

fn ethernet(ethertype: [u8; 2], packet: &[u8]) -> Cow<'static, [u8]> {
    Cow::Owned([&MAC_ADDRESSES, &ethertype[..], packet].concat())
}

//! The common link types of capture files (<https://www.tcpdump.org/linktypes.html>).

use super::network::Network;
use super::{cooked, erf, ethernet};
use crate::file::LinkType;

/// Finds the network layer in a frame of the link type.
#[inline(always)]
pub(super) fn decode(link: LinkType, octets: &[u8]) -> Network<'_> {
    match link {
        LinkType(1) => ethernet::decode(octets),
        LinkType(12 | 14 | 101) => Network::ip(octets),
        LinkType(113) => cooked::decode_v1(octets),
        LinkType(197) => erf::decode(octets),
        LinkType(228) => Network::Ipv4(octets),
        LinkType(229) => Network::Ipv6(octets),
        LinkType(247) => Network::Lrh(octets),
        LinkType(276) => cooked::decode_v2(octets),
        _ => Network::Link(link, octets),
    }
}

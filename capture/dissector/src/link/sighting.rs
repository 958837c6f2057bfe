//! Properties that tell a copy of a packet from a retransmission of it.
//!
//! - The **identification** of IPv4 (RFC 791): most hosts give each packet that they send another one, so a copy that a mirror or
//!   a second tap made has that of the packet, and a retransmission has not.
//! - The **hop limit**, and the length of the **link header**, which a VLAN tag changes: a host sends all packets of a connection
//!   with the same ones. So a packet that has others was captured somewhere else.

use super::network::Network;

/// Marks of a captured packet that tell its copies from its retransmissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sighting {
    /// IPv4 identification; 0 if there is none.
    pub(crate) identification: u16,
    /// Names the place of the capture: the hop limit and the octets of the link header.
    pub(crate) point: u32,
}

impl Sighting {
    /// Returns the sighting of a packet that has this network layer, in a frame of `octets` octets.
    #[inline]
    pub(super) fn of(network: &Network<'_>, octets: usize) -> Self {
        let (header, identification, hop_limit) = match *network {
            Network::Ipv4(header) => match *header {
                [_, _, _, _, i0, i1, _, _, hop_limit, ..] => (header, u16::from_be_bytes([i0, i1]), hop_limit),
                _ => (header, 0, 0),
            },
            Network::Ipv6(header) | Network::Grh(header) => (header, 0, header.get(7).copied().unwrap_or_default()),
            Network::Lrh(header) => (header, 0, 0),
            Network::Ethertype(..) | Network::Link(..) | Network::Other(_) => return Self::default(),
        };
        let link = octets.saturating_sub(header.len()).min(0xffff) as u32;
        Self { identification, point: link << 8 | u32::from(hop_limit) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_hop_limit_or_a_tag_is_another_place() {
        let mut header = [0; 40];
        (header[4], header[5], header[8]) = (0x12, 0x34, 64);
        let seen = |header: &[u8], octets| Sighting::of(&Network::Ipv4(header), octets);
        let here = seen(&header, 54);
        assert_eq!(here.identification, 0x1234);
        assert_ne!(seen(&header, 58).point, here.point, "tagged");
        header[8] = 63;
        assert_ne!(seen(&header, 54).point, here.point, "behind a router");
        header[4..6].fill(0);
        assert_eq!(seen(&header, 54).identification, 0);
        header[7] = 63;
        let six = Sighting::of(&Network::Ipv6(&header), 54);
        assert_eq!((six.identification, six.point), (0, 14 << 8 | 63));
        assert_eq!(seen(&header[..3], 3), Sighting::default());
    }
}

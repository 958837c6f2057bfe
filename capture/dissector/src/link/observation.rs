//! Properties that tell a duplicate of a packet from a retransmission.
//!
//! - The **identification** of IPv4 (RFC 791): most hosts give each sent packet another one, so a duplicate by a mirror
//!   or a second tap has that of the packet, and a retransmission has not.
//! - The **hop limit**, and the length of the **link header**, which a VLAN tag changes: a host sends all packets of a connection
//!   with the same ones. So a packet that has others was captured somewhere else.

use super::network::Network;

/// Marks of a captured packet that tell duplicates from retransmissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PacketObservation {
    /// IPv4 identification; 0 if there is none.
    pub(crate) identification: u16,
    /// Names the place of the capture: the hop limit and the octets before the network layer.
    pub(crate) point: u32,
    /// True if a switch marked the packet: Congestion Experienced (RFC 3168).
    pub(crate) is_marked: bool,
}

/// The bits of Explicit Congestion Notification, all set: Congestion Experienced.
const MARKED: u8 = 3;

impl PacketObservation {
    /// Returns the observation of a packet that has this network layer, in a frame of these octets.
    #[inline]
    pub(super) fn new(network: &Network<'_>, frame: &[u8]) -> Self {
        let (header, identification, hop_limit, congestion) = match *network {
            Network::Ipv4(header) => match *header {
                [_, service, _, _, i0, i1, _, _, hop_limit, ..] => {
                    (header, u16::from_be_bytes([i0, i1]), hop_limit, service)
                }
                _ => (header, 0, 0, 0),
            },
            Network::Ipv6(header) | Network::Grh(header) => match *header {
                [_, class, _, _, _, _, _, hop_limit, ..] => (header, 0, hop_limit, class >> 4),
                _ => (header, 0, 0, 0),
            },
            Network::Lrh(header) => (header, 0, 0, 0),
            Network::Ethertype(..) | Network::Link(..) | Network::Other(_) => return Self::default(),
        };
        // Not the difference of the lengths: an encapsulation may have octets behind the packet, which a snaplen cuts first.
        let link = header.as_ptr().addr().saturating_sub(frame.as_ptr().addr()).min(0xffff) as u32;
        let is_marked = congestion & MARKED == MARKED;
        Self { identification, point: link << 8 | u32::from(hop_limit), is_marked }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_hop_limit_or_a_tag_is_another_place() {
        let mut header = [0; 40];
        (header[4], header[5], header[8]) = (0x12, 0x34, 64);
        let seen = |header: &[u8], link: usize| {
            let frame = [&vec![0; link], header].concat();
            PacketObservation::new(&Network::Ipv4(&frame[link..]), &frame)
        };
        let here = seen(&header, 14);
        assert_eq!(here.identification, 0x1234);
        assert_ne!(seen(&header, 18).point, here.point, "tagged");
        header[8] = 63;
        assert_ne!(seen(&header, 14).point, here.point, "behind a router");
        header[4..6].fill(0);
        assert_eq!(seen(&header, 14).identification, 0);
        assert_eq!(seen(&header[..3], 0), PacketObservation::default());
        header[7] = 63;
        let frame = [&[0; 14][..], &header].concat();
        let six = PacketObservation::new(&Network::Ipv6(&frame[14..]), &frame);
        assert_eq!((six.identification, six.point), (0, 14 << 8 | 63));
    }

    #[test]
    fn octets_behind_the_packet_do_not_name_the_place() {
        let frame = [0; 58];
        let seen = |end: usize, frame: &[u8]| PacketObservation::new(&Network::Ipv4(&frame[14..end]), frame);
        assert_eq!(seen(54, &frame[..]), seen(54, &frame[..54]));
    }
}

//! MPLS label stacks (RFC 3032), with IP or an Ethernet pseudowire (RFC 4448) inside.
//!
//! ```text
//!  0  label (20 bits), class (3), bottom of the stack (1), time to live (8)
//!  4  further labels, up to the one at the bottom
//!     IP, or an Ethernet frame, which may have a control word of 4 octets in front
//! ```
//! No field says what is inside. An IP header shows a version, and so may the address at the beginning of a frame, so
//! an ethertype that fits the next octets decides (see RFC 4928 section 2 and RFC 8469).

use super::ethernet;
use super::ipv4::Ipv4;
use super::network::{CUT, Network};
use crate::file::LinkType;

pub(super) const UNICAST: [u8; 2] = [0x88, 0x47];
pub(super) const MULTICAST: [u8; 2] = [0x88, 0x48];
pub(super) const LINK_TYPE: LinkType = LinkType(219);

const BOTTOM: u8 = 0x01;

/// The packet or frame inside.
pub(super) fn inside(mut octets: &[u8]) -> Network<'_> {
    while let Some(([_, _, bottom, _], rest)) = octets.split_first_chunk() {
        octets = rest;
        if bottom & BOTTOM != 0 {
            return payload(octets);
        }
    }
    CUT
}

fn payload(octets: &[u8]) -> Network<'_> {
    match *octets {
        [] => CUT,
        [0x40..=0x4f, ..] if is_ipv4(octets) => Network::Ipv4(octets),
        _ if is_frame(octets) => ethernet::inside(octets),
        [0x60..=0x6f, ..] => Network::Ipv6(octets),
        [0x00..=0x0f, _, _, _, ref frame @ ..] if is_frame(frame) => ethernet::inside(frame),
        _ => Network::named("MPLS with neither IP nor Ethernet"),
    }
}

/// Returns true if `octets` begin with an IPv4 header, and not with an address that looks like one.
fn is_ipv4(octets: &[u8]) -> bool {
    Ipv4::decode(octets).is_ok_and(|ip| ip.has_right_checksum())
}

/// Returns true if an Ethernet frame with something that is read begins with `octets`.
fn is_frame(octets: &[u8]) -> bool {
    matches!(
        ethernet::inside(octets),
        Network::Ipv4([0x40..=0x4f, ..]) | Network::Ipv6([0x60..=0x6f, ..]) | Network::Grh([0x60..=0x6f, ..])
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Label 16, and label 17 at the bottom.
    const STACK: [u8; 8] = [0, 1, 0, 64, 0, 1, 0x11, 64];
    /// Header of a packet from 192.0.2.1 to 192.0.2.2.
    const IPV4: [u8; 20] = [0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0xf6, 0xd5, 192, 0, 2, 1, 192, 0, 2, 2];

    fn frame(first: u8) -> Vec<u8> {
        [&[first, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0][..], &IPV4].concat()
    }

    #[test]
    fn ip_is_told_from_frames() {
        let stacked = |payload: &[u8]| [&STACK[..], payload].concat();
        assert!(matches!(inside(&stacked(&IPV4)), Network::Ipv4(octets) if octets == IPV4));
        assert!(matches!(inside(&stacked(&[0x60; 40])), Network::Ipv6([0x60, ..])));
        for first in [0x00, 0x02, 0x44, 0x64, 0xfe] {
            assert!(matches!(inside(&stacked(&frame(first))), Network::Ipv4(octets) if octets == IPV4), "{first}");
            let with_control_word = [&[0, 0, 0, 7][..], &frame(first)].concat();
            assert!(matches!(inside(&stacked(&with_control_word)), Network::Ipv4(octets) if octets == IPV4), "{first}");
        }
        assert!(matches!(inside(&stacked(&[0x45; 40])), Network::Other(_)), "wrong checksum");
    }

    #[test]
    fn a_stack_without_a_bottom_is_cut() {
        assert!(matches!(inside(&STACK[..4]), CUT));
        assert!(matches!(inside(&STACK), CUT));
        assert!(matches!(inside(&[0, 1, 1]), CUT));
    }
}

//! ERSPAN, types II and III: mirrored frames in GRE (draft-foschiano-erspan-03).
//!
//! ```text
//! type II                                         type III
//!  0  version = 1 (4 bits), VLAN (12)              0  version = 2 (4 bits), VLAN (12)
//!  2  class (3), trunk (2), cut (1), session (10)  2  class (3), bad frame (2), cut (1), session (10)
//!  4  reserved (12), index (20)                    4  time stamp
//!  8  the frame                                    8  security group
//!                                                 10  PDU (1), type of frame (5), hardware (6), direction (1),
//!                                                     granularity (2), 8 more octets of header follow (1)
//!                                                 12  the frame
//! ```
//! A mirror cuts frames to the size of its network, so the original length comes from the inner headers alone.

use super::ethernet;
use super::mirror::{MirrorEncapsulation, MirrorSession};
use super::network::{CUT, Inside, Network};

const LEN: usize = 8;
const LEN_III: usize = 12;
const SUBHEADER_LEN: usize = 8;
/// Types of frames.
const ETHERNET: u8 = 0;
const IP: u8 = 2;

const UNKNOWN: Network<'static> = Network::named("unknown ERSPAN version");

fn session(high: u8, low: u8) -> Option<MirrorSession> {
    Some(MirrorSession::new(MirrorEncapsulation::Erspan, u32::from(u16::from_be_bytes([high & 0x03, low]))))
}

/// The frame inside type II.
pub(super) fn inside(octets: &[u8]) -> Inside<'_> {
    let Some((header, frame)) = octets.split_first_chunk::<LEN>() else { return CUT.into() };
    match *header {
        [0x10..=0x1f, _, s0, s1, ..] => Inside { network: ethernet::inside(frame), session: session(s0, s1) },
        _ => UNKNOWN.into(),
    }
}

/// The frame or packet inside type III.
pub(super) fn inside_iii(octets: &[u8]) -> Inside<'_> {
    let Some((header, mut frame)) = octets.split_first_chunk::<LEN_III>() else { return CUT.into() };
    let [0x20..=0x2f, _, s0, s1, _, _, _, _, _, _, kind, more] = *header else { return UNKNOWN.into() };
    if more & 1 != 0 {
        let Some(after) = frame.get(SUBHEADER_LEN..) else { return CUT.into() };
        frame = after;
    }
    let network = match kind >> 2 & 0x1f {
        ETHERNET => ethernet::inside(frame),
        IP => Network::ip(frame),
        _ => Network::named("unknown ERSPAN type of frame"),
    };
    Inside { network, session: session(s0, s1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two MAC addresses, the ethertype of IPv4, and the first octet of an IPv4 header.
    const FRAME: [u8; 15] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45];

    #[test]
    fn type_ii_has_a_session() {
        // Version 1, VLAN 100, class 5, trunk 3, cut, session 0x2aa, index 7.
        let octets = [&[0x10, 0x64, 0xbe, 0xaa, 0, 0, 0, 7][..], &FRAME].concat();
        let found = inside(&octets);
        assert!(matches!(found.network, Network::Ipv4([0x45])));
        assert_eq!(found.session.unwrap().to_string(), "ERSPAN session 682");
        assert!(matches!(inside(&octets[..7]).network, CUT));
        assert!(matches!(inside(&[0x20, 0, 0, 0, 0, 0, 0, 0]).network, UNKNOWN));
    }

    #[test]
    fn type_iii_may_have_a_subheader_and_no_ethernet() {
        let header = [0x20, 0x64, 0xa1, 0x05, 1, 2, 3, 4, 0, 0x10, 0x80, 0x02];
        let found = |octets: &[u8]| inside(octets).session;
        assert!(found(&header).is_none(), "it is not type II");
        let octets = [&header[..], &FRAME].concat();
        assert!(matches!(inside_iii(&octets).network, Network::Ipv4([0x45])));
        assert_eq!(inside_iii(&octets).session.unwrap().id, 0x105);

        let mut longer = header;
        longer[11] |= 1;
        let octets = [&longer[..], &[0xee; 8], &FRAME].concat();
        assert!(matches!(inside_iii(&octets).network, Network::Ipv4([0x45])));

        // Type of frame 2: an IP packet.
        longer[10] = 2 << 2;
        let octets = [&longer[..], &[0xee; 8], &[0x60]].concat();
        assert!(matches!(inside_iii(&octets).network, Network::Ipv6([0x60])));
        longer[10] = 4 << 2;
        let octets = [&longer[..], &[0xee; 8], &[0x60]].concat();
        assert!(matches!(inside_iii(&octets).network, Network::Other(_)));
    }
}

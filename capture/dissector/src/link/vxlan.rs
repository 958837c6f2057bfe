//! VXLAN (RFC 7348), and the Generic Protocol Extension (draft-ietf-nvo3-vxlan-gpe), which names the content.
//!
//! ```text
//!  0  flags: 0x08 if the network identifier is valid        4  virtual network identifier, 3 octets
//!  1  reserved                                              7  reserved
//!  3  reserved; GPE: the protocol                           8  the frame
//! ```

use super::mirror::{MirrorEncapsulation, MirrorSession};
use super::network::{CUT, Inside, Network};
use super::other::Other;
use super::{ethernet, mpls};

const LEN: usize = 8;
const VALID: u8 = 0x08;
/// GPE: the protocol is given.
const PROTOCOL: u8 = 0x04;

/// Protocols of GPE.
const IPV4: u8 = 1;
const IPV6: u8 = 2;
const ETHERNET: u8 = 3;
const MPLS: u8 = 5;

/// The frame inside.
pub(super) fn inside(octets: &[u8]) -> Inside<'_> {
    decode(octets, |_, frame| ethernet::inside(frame))
}

/// The frame or packet inside of GPE.
pub(super) fn inside_gpe(octets: &[u8]) -> Inside<'_> {
    decode(octets, |protocol, payload| match protocol {
        IPV4 => Network::Ipv4(payload),
        IPV6 => Network::Ipv6(payload),
        ETHERNET => ethernet::inside(payload),
        MPLS => mpls::inside(payload),
        _ => Network::Other(Other::GpeProtocol(protocol)),
    })
}

fn decode(octets: &[u8], payload: impl Fn(u8, &[u8]) -> Network<'_>) -> Inside<'_> {
    let Some((header, rest)) = octets.split_first_chunk::<LEN>() else { return CUT.into() };
    let [flags, _, _, protocol, n0, n1, n2, _] = *header;
    // A receiver discards a frame without a network (section 5).
    if flags & VALID == 0 {
        return Network::named("malformed VXLAN").into();
    }
    let session = MirrorSession::new(MirrorEncapsulation::Vxlan, u32::from_be_bytes([0, n0, n1, n2]));
    let protocol = if flags & PROTOCOL == 0 { ETHERNET } else { protocol };
    Inside { network: payload(protocol, rest), session: Some(session) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: [u8; 15] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45];

    #[test]
    fn a_frame_has_a_network() {
        let octets = [&[8, 0, 0, 0, 0x01, 0x02, 0x03, 0][..], &FRAME].concat();
        assert!(matches!(inside(&octets).network, Network::Ipv4([0x45])));
        assert_eq!(inside(&octets).session.unwrap().to_string(), "VXLAN VNI 66051");
        assert!(matches!(inside(&octets[..7]).network, CUT));
        assert!(matches!(inside(&[0; 30]).network, Network::Other(_)));
        assert!(inside(&[0; 30]).session.is_none());
    }

    #[test]
    fn the_extension_names_what_is_inside() {
        let gpe = |flags, protocol, payload: &[u8]| [&[flags, 0, 0, protocol, 0, 0, 9, 0][..], payload].concat();
        assert!(matches!(inside_gpe(&gpe(0x0c, 1, &[0x45])).network, Network::Ipv4([0x45])));
        assert!(matches!(inside_gpe(&gpe(0x0c, 2, &[0x60])).network, Network::Ipv6([0x60])));
        assert!(matches!(inside_gpe(&gpe(0x0c, 3, &FRAME)).network, Network::Ipv4([0x45])));
        assert!(matches!(inside_gpe(&gpe(0x08, 0, &FRAME)).network, Network::Ipv4([0x45])));
        assert!(matches!(inside_gpe(&gpe(0x0c, 4, &FRAME)).network, Network::Other(Other::GpeProtocol(4))));
    }
}

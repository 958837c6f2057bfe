//! Geneve (RFC 8926).
//!
//! ```text
//!  0  version (2 bits), length of the options in words (6)      4  virtual network identifier, 3 octets
//!  1  flags                                                     7  reserved
//!  2  protocol: an ethertype                                    8  options, then the payload
//! ```

use super::mirror::{MirrorEncapsulation, MirrorSession};
use super::network::{CUT, Inside, Network};
use super::{ethernet, gre};

const LEN: usize = 8;

/// The frame or packet inside.
pub(super) fn inside(octets: &[u8]) -> Inside<'_> {
    let Some(([words, _, p0, p1, n0, n1, n2, _], rest)) = octets.split_first_chunk::<LEN>() else { return CUT.into() };
    if words & 0xc0 != 0 {
        return Network::named("unknown Geneve version").into();
    }
    let Some(payload) = rest.get(usize::from(*words) * 4..) else { return CUT.into() };
    let network = match [*p0, *p1] {
        gre::BRIDGED => ethernet::inside(payload),
        protocol => ethernet::tagged(protocol, payload),
    };
    let session = MirrorSession::new(MirrorEncapsulation::Geneve, u32::from_be_bytes([0, *n0, *n1, *n2]));
    Inside { network, session: Some(session) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: [u8; 15] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45];

    #[test]
    fn options_are_skipped() {
        for words in [0, 1, 2, 63] {
            let octets = [&[words, 0, 0x65, 0x58, 0, 0x12, 0x34, 0][..], &vec![0xee; usize::from(words) * 4], &FRAME];
            let octets = octets.concat();
            assert!(matches!(inside(&octets).network, Network::Ipv4([0x45])), "{words}");
            assert_eq!(inside(&octets).session.unwrap().to_string(), "Geneve VNI 4660");
        }
        assert!(matches!(inside(&[1, 0, 0x65, 0x58, 0, 0, 0, 0, 1, 2, 3]).network, CUT));
        assert!(matches!(inside(&[0, 0, 0x86, 0xdd, 0, 0, 0, 0, 0x60]).network, Network::Ipv6([0x60])));
        assert!(matches!(inside(&[0x40, 0, 0x65, 0x58, 0, 0, 0, 0]).network, Network::Other(_)));
    }
}

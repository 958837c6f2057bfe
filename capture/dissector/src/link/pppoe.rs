//! PPPoE sessions (RFC 2516).
//!
//! ```text
//!  0  version and type = 0x11       4  length of what follows
//!  1  code = 0: session data        6  PPP protocol
//!  2  session                       8  payload
//! ```

use super::mpls;
use super::network::{CUT, Network};
use super::other::Other;

pub(super) const ETHERTYPE: [u8; 2] = [0x88, 0x64];

/// PPP protocols (RFC 1332, RFC 5072, RFC 3032 section 4).
const IPV4: u16 = 0x0021;
const IPV6: u16 = 0x0057;
const MPLS: u16 = 0x0281;

/// The packet inside.
pub(super) fn inside(octets: &[u8]) -> Network<'_> {
    let Some(([0x11, 0, _, _, _, _, p0, p1], payload)) = octets.split_first_chunk() else {
        return if octets.len() < 8 { CUT } else { Network::named("malformed PPPoE") };
    };
    match u16::from_be_bytes([*p0, *p1]) {
        IPV4 => Network::Ipv4(payload),
        IPV6 => Network::Ipv6(payload),
        MPLS => mpls::inside(payload),
        protocol => Network::Other(Other::PppProtocol(protocol)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ip_is_found() {
        assert!(matches!(inside(&[0x11, 0, 0, 5, 0, 3, 0, 0x21, 0x45]), Network::Ipv4([0x45])));
        assert!(matches!(inside(&[0x11, 0, 0, 5, 0, 3, 0, 0x57, 0x60]), Network::Ipv6([0x60])));
        let control = inside(&[0x11, 0, 0, 5, 0, 3, 0xc0, 0x21, 1]);
        assert!(matches!(control, Network::Other(Other::PppProtocol(0xc021))));
        assert!(matches!(inside(&[0x11, 9, 0, 5, 0, 3, 0, 0x21, 0x45]), Network::Other(_)));
        assert!(matches!(inside(&[0x11, 0, 0, 5, 0, 3, 0]), CUT));
    }
}

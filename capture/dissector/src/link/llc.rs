//! IEEE 802.2 LLC, and SNAP, which adds an ethertype to a frame with a length (RFC 1042).
//!
//! ```text
//!  0  destination and source SAP = 0xaa      3  organisation: 00-00-00, or 00-00-f8 for bridges (802.1H)
//!  2  control = 3                            6  ethertype
//!                                            8  payload
//! ```

use super::ethernet;
use super::network::Network;

/// The payload behind SNAP.
pub(super) fn inside(octets: &[u8]) -> Network<'_> {
    match *octets {
        [0xaa, 0xaa, 3, 0, 0, 0 | 0xf8, ref ethertype @ ..] => ethernet::ethertype(ethertype),
        _ => Network::named("IEEE 802.3"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::other::Other;
    use super::*;

    #[test]
    fn snap_has_an_ethertype() {
        assert!(matches!(inside(&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0, 0x45]), Network::Ipv4([0x45])));
        assert!(matches!(inside(&[0xaa, 0xaa, 3, 0, 0, 0xf8, 0x86, 0xdd, 0x60]), Network::Ipv6([0x60])));
        // A bridge protocol data unit, and Cisco's own protocols.
        for other in [&[0x42, 0x42, 3, 0, 0, 0, 0, 0][..], &[0xaa, 0xaa, 3, 0, 0, 0x0c, 0x20, 0x00]] {
            assert!(matches!(inside(other), Network::Other(Other::Named("IEEE 802.3"))));
        }
    }
}

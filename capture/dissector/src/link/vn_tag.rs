//! VN-tag (IEEE 802.1BR's predecessor), which switches put into frames to and from virtual adapters.
//!
//! ```text
//!  0  direction, pointer, destination, looped, version, source: 4 octets
//!  4  ethertype
//!  6  payload
//! ```

use super::ethernet;
use super::network::{CUT, Network};

pub(super) const ETHERTYPE: [u8; 2] = [0x89, 0x26];

const LEN: usize = 4;

/// The payload behind the tag.
pub(super) fn inside(octets: &[u8]) -> Network<'_> {
    octets.get(LEN..).map_or(CUT, ethernet::ethertype)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tag_is_skipped() {
        assert!(matches!(inside(&[0x80, 5, 0x10, 9, 8, 0, 0x45]), Network::Ipv4([0x45])));
        // As switches send it, with a VLAN tag behind it.
        assert!(matches!(inside(&[0, 5, 0x10, 9, 0x81, 0, 0, 7, 8, 0, 0x45]), Network::Ipv4([0x45])));
        assert!(matches!(inside(&[0, 5, 0x10]), CUT));
    }
}

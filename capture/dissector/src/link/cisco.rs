//! Cisco metadata, which TrustSec puts into frames (draft-smith-kandula-sxp).
//!
//! ```text
//!  0  version = 1            4  security group
//!  1  length = 1             6  ethertype
//!  2  option                 8  payload
//! ```

use super::ethernet;
use super::network::{CUT, Network};

pub(super) const ETHERTYPE: [u8; 2] = [0x89, 0x09];

/// Version and length, and the option.
const LEN: usize = 6;

/// The payload behind the metadata.
pub(super) fn inside(octets: &[u8]) -> Network<'_> {
    octets.get(LEN..).map_or(CUT, ethernet::ethertype)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metadata_is_skipped() {
        assert!(matches!(inside(&[1, 1, 0, 1, 0, 16, 8, 0, 0x45]), Network::Ipv4([0x45])));
        assert!(matches!(inside(&[1, 1, 0, 1, 0]), CUT));
    }
}

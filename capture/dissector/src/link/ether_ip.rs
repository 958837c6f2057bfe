//! EtherIP (RFC 3378): an Ethernet frame in an IP packet.
//!
//! ```text
//!  0  version = 3 (4 bits), reserved (12)
//!  2  the frame
//! ```

use super::ethernet;
use super::network::{CUT, Network};

/// The frame inside.
pub(super) fn inside(octets: &[u8]) -> Network<'_> {
    match *octets {
        [0x30..=0x3f, _, ref frame @ ..] => ethernet::inside(frame),
        [_, _, ..] => Network::named("unknown EtherIP version"),
        _ => CUT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_follows_two_octets() {
        let octets = [&[0x30, 0][..], &[0; 12], &[8, 0, 0x45]].concat();
        assert!(matches!(inside(&octets), Network::Ipv4([0x45])));
        assert!(matches!(inside(&[0x40, 0, 1]), Network::Other(_)));
        assert!(matches!(inside(&[0x30]), CUT));
    }
}

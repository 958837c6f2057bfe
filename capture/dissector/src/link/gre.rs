//! GRE (RFC 2784, with the key and the sequence number of RFC 2890). NVGRE (RFC 7637) is GRE with an Ethernet frame.
//!
//! ```text
//!  0  flags: checksum, routing, key, sequence number; version (3 bits)
//!  2  protocol: an ethertype
//!  4  checksum, 2 octets, and 2 reserved ones, if flagged
//!     key, if flagged
//!     sequence number, if flagged
//!     payload
//! ```

use super::network::{CUT, Inside, Network};
use super::{erspan, ethernet};

const CHECKSUM: u8 = 0x80;
const ROUTING: u8 = 0x40;
const KEY: u8 = 0x20;
const SEQUENCE: u8 = 0x10;
const VERSION: u8 = 0x07;

/// An Ethernet frame ("Transparent Ethernet Bridging").
pub(super) const BRIDGED: [u8; 2] = [0x65, 0x58];
const ERSPAN: [u8; 2] = [0x88, 0xbe];
const ERSPAN_III: [u8; 2] = [0x22, 0xeb];

/// The packet or frame inside.
pub(super) fn inside(octets: &[u8]) -> Inside<'_> {
    let Some(([flags, version, protocol @ ..], rest)) = octets.split_first_chunk::<4>() else { return CUT.into() };
    // Version 1 belongs to PPTP, and routing (RFC 1701) has a length of its own that nothing uses any more.
    if version & VERSION != 0 || flags & ROUTING != 0 {
        return Network::named("GRE of another version").into();
    }
    let words = (flags & (CHECKSUM | KEY | SEQUENCE)).count_ones() as usize;
    let Some(payload) = rest.get(words * 4..) else { return CUT.into() };
    match *protocol {
        // Type I has no header of its own: that it has no sequence number tells it from type II.
        ERSPAN if flags & SEQUENCE == 0 => ethernet::inside(payload).into(),
        ERSPAN => erspan::inside(payload),
        ERSPAN_III => erspan::inside_iii(payload),
        BRIDGED => ethernet::inside(payload).into(),
        protocol => ethernet::tagged(protocol, payload).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_flag_adds_a_word() {
        for (flags, words) in [(0, 0), (0x80, 1), (0x20, 1), (0x10, 1), (0xb0, 3), (0x30, 2)] {
            let octets = [&[flags, 0, 8, 0][..], &vec![0xee; words * 4], &[0x45, 0]].concat();
            assert!(matches!(inside(&octets).network, Network::Ipv4([0x45, 0])), "{flags:#x}");
        }
        assert!(matches!(inside(&[0, 0, 0x86, 0xdd, 0x60]).network, Network::Ipv6([0x60])));
        let ethernet = [&[0, 0, 0x65, 0x58][..], &[0; 12], &[8, 0, 0x45]].concat();
        assert!(matches!(inside(&ethernet).network, Network::Ipv4([0x45])));
        // ERSPAN type I: a frame right after the GRE header.
        let mirrored = [&[0, 0, 0x88, 0xbe][..], &[0; 12], &[8, 0, 0x45]].concat();
        assert!(matches!(inside(&mirrored).network, Network::Ipv4([0x45])));
    }

    #[test]
    fn other_versions_are_not_read() {
        assert!(matches!(inside(&[0x20, 0x01, 0x88, 0x0b, 0, 0, 0, 0]).network, Network::Other(_)));
        assert!(matches!(inside(&[0x40, 0, 8, 0, 0, 0, 0, 0]).network, Network::Other(_)));
    }
}

//! Packets of Linux's netfilter log (LINKTYPE_NFLOG).
//!
//! ```text
//!  0  address family      4  attributes, padded to 4 octets: length with these 4 octets, type, value; length and type in
//!  1  version = 0            the octet order of the machine that captured
//!  2  resource               type 9: the packet
//! ```

use super::network::{CUT, Network};
use crate::file::LinkType;

pub(super) const LINK_TYPE: LinkType = LinkType(239);

const HEADER_LEN: usize = 4;
const ATTRIBUTE_HEADER_LEN: usize = 4;
const PAYLOAD: u8 = 9;

/// The packet inside.
pub(super) fn inside(octets: &[u8]) -> Network<'_> {
    let Some(([_, version, _, _], mut attributes)) = octets.split_first_chunk::<HEADER_LEN>() else { return CUT };
    if *version != 0 {
        return Network::named("unknown netfilter log version");
    }
    while let Some(([l0, l1, k0, k1], _)) = attributes.split_first_chunk::<ATTRIBUTE_HEADER_LEN>() {
        // There are fewer than 256 types, and none is 0, so the place of the type shows the order.
        let (length, kind) = match (*k0, *k1) {
            (0, kind) => (u16::from_be_bytes([*l0, *l1]), kind),
            (kind, 0) => (u16::from_le_bytes([*l0, *l1]), kind),
            _ => break,
        };
        let length = usize::from(length);
        if length < ATTRIBUTE_HEADER_LEN {
            break;
        }
        if kind == PAYLOAD {
            let end = length.min(attributes.len());
            return attributes.get(ATTRIBUTE_HEADER_LEN..end).map_or(CUT, Network::ip);
        }
        let Some(rest) = attributes.get(length.next_multiple_of(4)..) else { return CUT };
        attributes = rest;
    }
    Network::named("netfilter log without a packet")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_payload_is_found_in_both_orders() {
        let little = [2, 0, 0, 5, 8, 0, 1, 0, 8, 0, 3, 0, 5, 0, 10, 0, 0, 0xee, 0xee, 0xee, 6, 0, 9, 0, 0x45, 1, 0, 0];
        assert!(matches!(inside(&little), Network::Ipv4([0x45, 1])));
        let big = [10, 0, 0, 5, 0, 8, 0, 1, 0x86, 0xdd, 3, 0, 0, 6, 0, 9, 0x60, 1, 0, 0];
        assert!(matches!(inside(&big), Network::Ipv6([0x60, 1])));
        for end in 0..little.len() - 4 {
            assert!(matches!(inside(&little[..end]), Network::Other(_)), "{end}");
        }
        assert!(matches!(inside(&[2, 0, 0, 0, 0, 0, 0, 0]), Network::Other(_)), "no length");
    }
}

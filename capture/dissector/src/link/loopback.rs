//! The loopback of BSD and macOS, and tunnels there (LINKTYPE_NULL and LINKTYPE_LOOP).
//!
//! ```text
//!  0  address family: NULL in the octet order of the machine that captured, LOOP in that of the network
//!  4  IP
//! ```

use super::network::{CUT, Network};
use crate::file::LinkType;

pub(super) const NULL: LinkType = LinkType(0);
pub(super) const LOOP: LinkType = LinkType(108);

/// The packet inside. A family is less than 256, so the position of the non-zero octet shows the octet order.
pub(super) fn inside(octets: &[u8]) -> Network<'_> {
    let Some((family, packet)) = octets.split_first_chunk() else { return CUT };
    match *family {
        [family, 0, 0, 0] | [0, 0, 0, family] => match family {
            2 => Network::Ipv4(packet),
            // Linux; NetBSD and OpenBSD; FreeBSD; macOS.
            10 | 24 | 28 | 30 => Network::Ipv6(packet),
            _ => Network::named("unknown address family"),
        },
        _ => Network::named("unknown address family"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_of_all_systems_in_both_orders() {
        for family in [2_u32, 24, 28, 30] {
            for header in [family.to_le_bytes(), family.to_be_bytes()] {
                let octets = [&header[..], &[0x45]].concat();
                let found = inside(&octets);
                let is_right = match family {
                    2 => matches!(found, Network::Ipv4([0x45])),
                    _ => matches!(found, Network::Ipv6([0x45])),
                };
                assert!(is_right, "{header:?}");
            }
        }
        assert!(matches!(inside(&[7, 0, 0, 0, 0x45]), Network::Other(_)));
        assert!(matches!(inside(&[2, 0, 0]), CUT));
    }
}

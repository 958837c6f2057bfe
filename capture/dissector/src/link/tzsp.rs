//! TZSP (TaZmen Sniffer Protocol), the mirror protocol of routers and access points.
//!
//! ```text
//!  0  version = 1
//!  1  type: 0 received, 1 to be transmitted
//!  2  protocol inside
//!  4  tags: type, length, value; padding and the end have a type only
//!     the frame
//! ```

use super::ethernet;
use super::network::{CUT, Network};
use super::other::Other;

const ETHERNET: u16 = 1;
/// Types of tags.
const PADDING: u8 = 0;
const END: u8 = 1;

/// The frame inside.
pub(super) fn inside(octets: &[u8]) -> Network<'_> {
    let Some(([version, kind, p0, p1], mut tags)) = octets.split_first_chunk() else { return CUT };
    let (1, 0 | 1) = (*version, *kind) else { return Network::named("TZSP without a frame") };
    let frame = loop {
        tags = match *tags {
            [END, ref frame @ ..] => break frame,
            [PADDING, ref rest @ ..] => rest,
            [_, length, ref rest @ ..] => match rest.get(usize::from(length)..) {
                Some(rest) => rest,
                None => return CUT,
            },
            _ => return CUT,
        };
    };
    match u16::from_be_bytes([*p0, *p1]) {
        ETHERNET => ethernet::inside(frame),
        protocol => Network::Other(Other::TzspProtocol(protocol)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: [u8; 15] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45];

    #[test]
    fn tags_are_skipped() {
        for tags in [&[1][..], &[0, 0, 1], &[10, 2, 0xff, 0xff, 1], &[0, 0x28, 4, 1, 1, 1, 1, 0, 1]] {
            let octets = [&[1, 0, 0, 1][..], tags, &FRAME].concat();
            assert!(matches!(inside(&octets), Network::Ipv4([0x45])), "{tags:?}");
        }
        assert!(matches!(inside(&[1, 0, 0, 1, 10, 2, 1]), CUT));
        assert!(matches!(inside(&[1, 0, 0, 1, 0, 0]), CUT));
        assert!(matches!(inside(&[1, 0, 0, 18, 1, 8]), Network::Other(Other::TzspProtocol(18))));
        assert!(matches!(inside(&[1, 4, 0, 0, 1]), Network::Other(_)), "a keep-alive");
    }
}

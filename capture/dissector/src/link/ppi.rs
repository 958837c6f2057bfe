//! Per-Packet Information (LINKTYPE_PPI), which adapters put in front of frames of other link types.
//!
//! ```text
//!  0  version = 0                                            all little-endian
//!  1  flags
//!  2  length of the header with its fields
//!  4  link type of the frame
//!  8  fields, then the frame
//! ```

use super::network::{CUT, Network};
use crate::file::LinkType;

pub(super) const LINK_TYPE: LinkType = LinkType(192);

const LEN: usize = 8;

/// The frame inside.
pub(super) fn inside(octets: &[u8]) -> Network<'_> {
    let Some([version, _, l0, l1, link @ ..]) = octets.first_chunk::<LEN>() else { return CUT };
    let length = usize::from(u16::from_le_bytes([*l0, *l1]));
    match (*version, length, u16::try_from(u32::from_le_bytes(*link))) {
        (0, LEN.., Ok(link)) => octets.get(length..).map_or(CUT, |frame| Network::Link(LinkType(link.into()), frame)),
        _ => Network::named("malformed PPI"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_skipped() {
        let octets = [&[0, 0, 16, 0, 1, 0, 0, 0][..], &[0xee; 8], &[2, 0, 0]].concat();
        assert!(matches!(inside(&octets), Network::Link(LinkType(1), [2, 0, 0])));
        assert!(matches!(inside(&octets[..15]), CUT));
        assert!(matches!(inside(&[0, 0, 7, 0, 1, 0, 0, 0]), Network::Other(_)));
        assert!(matches!(inside(&[1, 0, 8, 0, 1, 0, 0, 0]), Network::Other(_)));
    }
}

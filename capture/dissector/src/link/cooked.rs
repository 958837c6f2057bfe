//! Linux cooked capture, the result of capturing on the interface "any", in two versions.
//!
//! ```text
//! version 1 (LINKTYPE_LINUX_SLL)      version 2 (LINKTYPE_LINUX_SLL2)
//!  0  direction                        0  ethertype
//!  2  hardware type                    2  reserved
//!  4  length of the address            4  interface
//!  6  address of the sender            8  hardware type, direction, length of the address
//! 14  ethertype                       12  address of the sender
//! 16  payload                         20  payload
//! ```

use super::ethernet;
use super::network::{CUT, Network};

const V1_ETHERTYPE: usize = 14;
const V2_LEN: usize = 20;

/// Decodes the content of a frame with a version 1 header.
pub(super) fn decode_v1(octets: &[u8]) -> Network<'_> {
    octets.get(V1_ETHERTYPE..).map_or(CUT, ethernet::ethertype)
}

/// Decodes the content of a frame with a version 2 header.
pub(super) fn decode_v2(octets: &[u8]) -> Network<'_> {
    let (Some(payload), Some(ethertype)) = (octets.get(V2_LEN..), octets.first_chunk()) else { return CUT };
    ethernet::tagged(*ethertype, payload)
}

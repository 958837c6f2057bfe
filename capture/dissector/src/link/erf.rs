//! ERF records, the format of ibdump and Endace cards, one in each record of a pcap file, or without one (`file/erf.rs`).
//!
//! ```text
//!  0  time, which the record of the pcap file has too
//!  8  type: the top bit says that extension headers follow
//!  9  flags
//! 10  length of the ERF record
//! 12  losses or colour
//! 14  length on the wire
//! 16  extension headers of 8 octets, each with the top bit set where another follows
//!     Ethernet only: offset and padding, 2 octets
//!     the frame
//! ```
//! Some writers pad the record and count the padding in the length, and some do not. Neither matters, because the
//! content of the frame has a length field.

use super::ethernet;
use super::network::{CUT, Network};
use super::other::Other;

const HEADER_LEN: usize = 16;
const MORE: u8 = 0x80;
/// Plain; with a colour in place of the losses, of two kinds; and with a colour and a hash.
const ETHERNET: [u8; 4] = [2, 11, 16, 20];
const INFINIBAND: u8 = 21;
const IPV4: u8 = 22;
const IPV6: u8 = 23;
const INFINIBAND_LINK: u8 = 25;

/// Decodes the content of a record.
pub(super) fn decode(octets: &[u8]) -> Network<'_> {
    let Some(([_, _, _, _, _, _, _, _, kind, ..], mut rest)) = octets.split_first_chunk::<HEADER_LEN>() else {
        return CUT;
    };
    let mut more = kind & MORE != 0;
    while more {
        let Some(([first, ..], after)) = rest.split_first_chunk::<8>() else { return CUT };
        more = first & MORE != 0;
        rest = after;
    }
    match kind & !MORE {
        kind if ETHERNET.contains(&kind) => rest.get(2..).map_or(CUT, ethernet::decode),
        INFINIBAND => Network::Lrh(rest),
        IPV4 => Network::Ipv4(rest),
        IPV6 => Network::Ipv6(rest),
        INFINIBAND_LINK => Network::named("InfiniBand link packet"),
        kind => Network::Other(Other::ErfType(kind)),
    }
}

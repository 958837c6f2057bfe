//! IPv4 (RFC 791).
//!
//! ```text
//!  0  version, header length in words     8  time to live
//!  1  type of service                     9  protocol
//!  2  total length                       10  header checksum
//!  4  identification                     12  source
//!  6  flags, fragment offset             16  destination
//!                                        20  options
//! ```

use super::address::Address;
use super::content::Content;
use super::protocol;

const LEN: usize = 20;
/// "More fragments" and the offset: one of them is set in each fragment of a packet.
const FRAGMENT: u16 = 0x3fff;

/// A header, and what follows it.
pub(crate) struct Ipv4<'a> {
    /// The header with its options.
    pub(crate) header: &'a [u8],
    pub(crate) source: [u8; 4],
    pub(crate) destination: [u8; 4],
    pub(crate) protocol: u8,
    pub(crate) is_fragment: bool,
    /// What was captured after the header; may have padding of the link layer at the end.
    pub(crate) payload: &'a [u8],
    /// Octets after the header on the wire.
    pub(crate) payload_length: usize,
}

impl<'a> Ipv4<'a> {
    /// The header that `octets` begins with, or why there is none.
    #[inline]
    pub(crate) fn decode(octets: &'a [u8]) -> Result<Self, &'static str> {
        let Some(fixed) = octets.first_chunk::<LEN>() else { return Err("frame cut inside its headers") };
        let [version, _, l0, l1, _, _, f0, f1, _, protocol, _, _, s0, s1, s2, s3, d0, d1, d2, d3] = *fixed;
        let header_length = usize::from(version & 0x0f) * 4;
        let payload_length = usize::from(u16::from_be_bytes([l0, l1])).checked_sub(header_length);
        let (0x40..=0x4f, LEN.., Some(payload_length)) = (version, header_length, payload_length) else {
            return Err("malformed IPv4");
        };
        let (header, payload) = octets.split_at_checked(header_length).unwrap_or((octets, &[]));
        Ok(Self {
            header,
            source: [s0, s1, s2, s3],
            destination: [d0, d1, d2, d3],
            protocol,
            is_fragment: u16::from_be_bytes([f0, f1]) & FRAGMENT != 0,
            payload,
            payload_length,
        })
    }
}

/// What an IPv4 packet holds.
#[inline]
pub(super) fn decode(octets: &[u8]) -> Content<'_> {
    match Ipv4::decode(octets) {
        Err(name) => Content::Other(name),
        Ok(ip) if ip.is_fragment => Content::Other("IP fragment"),
        Ok(ip) => {
            let (source, destination) = (Address::V4(ip.source), Address::V4(ip.destination));
            protocol::decode(ip.protocol, source, destination, ip.payload, ip.payload_length)
        }
    }
}

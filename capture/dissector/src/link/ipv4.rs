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
use super::other::FRAGMENT;
use super::protocol;

const LEN: usize = 20;
/// "More fragments" and the offset: each fragment of a packet has one of the two set.
const FRAGMENT_MASK: u16 = 0x3fff;
const OFFSET_MASK: u16 = 0x1fff;

/// An IPv4 header, and the octets after it.
pub(crate) struct Ipv4<'a> {
    /// The header, options included.
    pub(crate) header: &'a [u8],
    pub(crate) source: [u8; 4],
    pub(crate) destination: [u8; 4],
    pub(crate) protocol: u8,
    pub(crate) is_fragment: bool,
    /// Octets captured after the header; may have padding of the link layer at the end.
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
            is_fragment: u16::from_be_bytes([f0, f1]) & FRAGMENT_MASK != 0,
            payload,
            payload_length,
        })
    }

    /// Octets of the packet before this fragment, in units of 8; `None` for a whole packet.
    pub(super) fn fragment_offset(&self) -> Option<u16> {
        let [_, _, _, _, _, _, high, low, ..] = *self.header else { return None };
        self.is_fragment.then_some(u16::from_be_bytes([high, low]) & OFFSET_MASK)
    }

    /// Returns true if the checksum of the header is right.
    pub(super) fn has_right_checksum(&self) -> bool {
        let words = self.header.as_chunks().0.iter().map(|word| u32::from(u16::from_be_bytes(*word)));
        // The ones' complement sum of a header with its checksum is all ones, and a header has at most 30 words.
        let sum: u32 = words.sum();
        (sum & 0xffff) + (sum >> 16) == 0xffff
    }
}

/// Decodes the content of an IPv4 packet.
#[inline(always)]
pub(super) fn decode(octets: &[u8]) -> Content<'_> {
    match Ipv4::decode(octets) {
        Err(name) => Content::Other(name.into()),
        Ok(ip) if ip.is_fragment => Content::Other(FRAGMENT),
        Ok(ip) => {
            let (source, destination) = (Address::V4(ip.source), Address::V4(ip.destination));
            protocol::decode(ip.protocol, source, destination, ip.payload, ip.payload_length)
        }
    }
}

//! IPv6 (RFC 8200).
//!
//! ```text
//!  0  version, traffic class, flow label      8  source
//!  4  payload length                         24  destination
//!  6  next header                            40  extension headers: next header, length in 8 octets without the first 8
//!  7  hop limit
//!
//! Segment Routing Header (RFC 8754)
//!  0  next header, length             4  last entry, flags, tag
//!  2  routing type = 4                8  segments, the last one first
//!  3  segments left
//! ```
//! With segment routing, the destination address of a packet is the next segment. The last segment is the receiver.

use super::address::Address;
use super::content::Content;
use super::other::FRAGMENT;
use super::protocol;

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const DESTINATION: u8 = 60;
/// The routing type of segments.
const SEGMENTS: u8 = 4;

/// An IPv6 header with extension headers, and the octets after them.
pub(crate) struct Ipv6<'a> {
    /// The header with the extension headers.
    pub(crate) header: &'a [u8],
    pub(crate) source: [u8; 16],
    pub(crate) destination: [u8; 16],
    /// The first that is not one of the extension headers skipped here.
    pub(crate) next_header: u8,
    /// Octets captured after the headers; may have padding of the link layer at the end.
    pub(crate) payload: &'a [u8],
    /// Octets after the headers on the wire.
    pub(crate) payload_length: usize,
}

impl<'a> Ipv6<'a> {
    /// The next header of a fragment.
    pub(super) const FRAGMENT: u8 = 44;

    /// The header that `octets` begins with, or why there is none.
    #[inline(always)]
    pub(crate) fn decode(octets: &'a [u8]) -> Result<Self, &'static str> {
        const CUT: &str = "frame cut inside its headers";
        let ([version, _, _, _, l0, l1, next_header, _], rest) = octets.split_first_chunk().ok_or(CUT)?;
        let (source, rest) = rest.split_first_chunk().ok_or(CUT)?;
        let (destination, payload) = rest.split_first_chunk().ok_or(CUT)?;
        if !matches!(version, 0x60..=0x6f) {
            return Err("malformed IPv6");
        }
        let (mut destination, mut next_header, mut payload) = (*destination, *next_header, payload);
        let mut payload_length = usize::from(u16::from_be_bytes([*l0, *l1]));
        while let HOP_BY_HOP | ROUTING | DESTINATION = next_header {
            let [next, words, ..] = payload else { return Err(CUT) };
            let length = (usize::from(*words) + 1) * 8;
            payload_length = payload_length.checked_sub(length).ok_or("malformed IPv6")?;
            if next_header == ROUTING {
                destination = last_segment(payload).unwrap_or(destination);
            }
            next_header = *next;
            payload = payload.get(length..).ok_or(CUT)?;
        }
        let header = octets.get(..octets.len().saturating_sub(payload.len())).unwrap_or_default();
        Ok(Self { header, source: *source, destination, next_header, payload, payload_length })
    }
}

/// Returns the last segment that a packet still has to reach, if the routing header has segments left.
#[cold]
fn last_segment(routing: &[u8]) -> Option<[u8; 16]> {
    match routing {
        [_, 2..=u8::MAX, SEGMENTS, 1..=u8::MAX, _, _, _, _, segments @ ..] => segments.first_chunk().copied(),
        _ => None,
    }
}

/// Decodes the content of an IPv6 packet.
#[inline(always)]
pub(super) fn decode(octets: &[u8]) -> Content<'_> {
    match Ipv6::decode(octets) {
        Err(name) => Content::Other(name.into()),
        Ok(ip) if ip.next_header == Ipv6::FRAGMENT => Content::Other(FRAGMENT),
        Ok(ip) => {
            let (source, destination) = (Address::from_gid(ip.source), Address::from_gid(ip.destination));
            protocol::decode(ip.next_header, source, destination, ip.payload, ip.payload_length)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// To the segment 2001:db8::1, and behind that to 2001:db8::2.
    fn routed(kind: u8, left: u8) -> Vec<u8> {
        let address = |last: u8| [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last];
        let routing = [17, 4, kind, left, 1, 0, 0, 0];
        let header = [0x60, 0, 0, 0, 0, 48, ROUTING, 64];
        [&header[..], &address(9), &address(1), &routing, &address(2), &address(1), &[0xee; 8]].concat()
    }

    #[test]
    fn a_segment_routed_packet_is_for_the_last_segment() {
        for (kind, left, last) in [(SEGMENTS, 1, 2), (SEGMENTS, 0, 1), (3, 1, 1)] {
            let octets = routed(kind, left);
            let ip = Ipv6::decode(&octets).unwrap();
            assert_eq!((ip.destination[15], ip.source[15]), (last, 9), "routing type {kind}, {left} left");
            assert_eq!((ip.next_header, ip.payload, ip.payload_length), (17, &[0xee; 8][..], 8));
        }
        let mut none = routed(SEGMENTS, 1);
        // A routing header of 8 octets has no room for a segment.
        none[41] = 0;
        assert_eq!(Ipv6::decode(&none).unwrap().destination[15], 1);
    }
}

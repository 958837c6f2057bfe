//! The Local Route Header (InfiniBand Architecture section 7.7).
//!
//! ```text
//!  0  virtual lane (4 bits), version (4)                       4  reserved (5), packet length in words (11)
//!  1  service level (4), reserved (2), next header (2)         6  source LID
//!  2  destination LID
//! ```
//! The packet length counts from here through the ICRC, without the VCRC.

use super::address::Address;
use super::content::{Carrier, Content, packet};
use super::grh;
use super::other::Other;

const LEN: usize = 8;

/// Type of the header that follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextHeader {
    /// Nothing of InfiniBand's own: a raw packet.
    Raw,
    /// The Base Transport Header.
    Bth,
    /// The Global Route Header.
    Grh,
}

/// A local route header, and the octets after it.
#[derive(Clone, Copy, Debug)]
pub struct Lrh<'a> {
    /// The header.
    pub header: &'a [u8; LEN],
    /// Type of the header that follows.
    pub next_header: NextHeader,
    /// The local identifier of the destination.
    pub destination: u16,
    /// The local identifier of the source.
    pub source: u16,
    /// Octets captured after the header; has the VCRC at the end.
    pub payload: &'a [u8],
    /// Octets after the header on the wire, with the ICRC, without the VCRC.
    pub payload_length: usize,
}

impl<'a> Lrh<'a> {
    /// Reads the header that `octets` begins with.
    ///
    /// # Errors
    /// The reason why there is none.
    pub fn decode(octets: &'a [u8]) -> Result<Self, &'static str> {
        let (header, payload) = octets.split_first_chunk().ok_or("frame cut inside its headers")?;
        let [_, next_header, d0, d1, l0, l1, s0, s1] = *header;
        let length = usize::from(u16::from_be_bytes([l0, l1]) & 0x7ff) * 4;
        Ok(Self {
            header,
            next_header: match next_header & 3 {
                2 => NextHeader::Bth,
                3 => NextHeader::Grh,
                _ => NextHeader::Raw,
            },
            destination: u16::from_be_bytes([d0, d1]),
            source: u16::from_be_bytes([s0, s1]),
            payload,
            payload_length: length.checked_sub(LEN).ok_or("malformed LRH")?,
        })
    }
}

/// Decodes the content of an InfiniBand frame.
pub(super) fn decode(octets: &[u8]) -> Content<'_> {
    match Lrh::decode(octets) {
        Err(name) => Content::Other(name.into()),
        Ok(lrh) => match lrh.next_header {
            NextHeader::Raw => Content::Other(Other::Named("raw InfiniBand packet")),
            NextHeader::Grh => grh::decode_for(Carrier::InfiniBand, lrh.payload),
            NextHeader::Bth => {
                let (source, destination) = (Address::Lid(lrh.source), Address::Lid(lrh.destination));
                packet(Carrier::InfiniBand, source, destination, lrh.payload, lrh.payload_length)
            }
        },
    }
}

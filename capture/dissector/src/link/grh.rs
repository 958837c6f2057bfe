//! The Global Route Header (InfiniBand Architecture section 8.3): an IPv6 header whose addresses are GIDs.
//!
//! ```text
//!  0  version, traffic class, flow label      7  hop limit
//!  4  payload length, of the ICRC too         8  source GID
//!  6  next header                            24  destination GID
//! ```

use super::address::Address;
use super::content::{Carrier, Content, packet};

const LEN: usize = 40;
/// The Base Transport Header follows.
const BTH: u8 = 0x1b;

/// A global route header, and the octets after it.
pub(crate) struct Grh<'a> {
    pub(crate) header: &'a [u8; LEN],
    pub(crate) source: [u8; 16],
    pub(crate) destination: [u8; 16],
    /// Octets captured from the Base Transport Header on; may have padding of the link layer, or a VCRC, at the end.
    pub(crate) payload: &'a [u8],
    /// Octets of that on the wire, with the ICRC.
    pub(crate) payload_length: usize,
}

impl<'a> Grh<'a> {
    /// The header that `octets` begins with, or why there is none.
    pub(crate) fn decode(octets: &'a [u8]) -> Result<Self, &'static str> {
        let Some((header, payload)) = octets.split_first_chunk::<LEN>() else {
            return Err("frame cut inside its headers");
        };
        let [0x60..=0x6f, _, _, _, l0, l1, BTH, _, addresses @ ..] = header else { return Err("malformed GRH") };
        let (gids, _) = addresses.as_chunks();
        let [source, destination] = gids else { return Err("malformed GRH") };
        let payload_length = usize::from(u16::from_be_bytes([*l0, *l1]));
        Ok(Self { header, source: *source, destination: *destination, payload, payload_length })
    }
}

/// Decodes the content of a RoCEv1 frame.
pub(super) fn decode(octets: &[u8]) -> Content<'_> {
    decode_for(Carrier::RoceV1, octets)
}

/// Decodes the content of a packet with a Global Route Header.
pub(super) fn decode_for(carrier: Carrier, octets: &[u8]) -> Content<'_> {
    match Grh::decode(octets) {
        Ok(grh) => {
            let (source, destination) = (Address::from_gid(grh.source), Address::from_gid(grh.destination));
            packet(carrier, source, destination, grh.payload, grh.payload_length)
        }
        Err(name) => Content::Other(name.into()),
    }
}

//! UDP (RFC 768), and which protocol above IP is which.
//!
//! ```text
//!  0  source port: RoCEv2 spreads its flows with it      4  length, of this header too
//!  2  destination port                                   6  checksum
//! ```

const LEN: usize = 8;
/// RoCEv2, in both directions (InfiniBand Architecture, annex A17).
const ROCE_V2: u16 = 4791;

/// A UDP header, and the payload.
pub(crate) struct Udp<'a> {
    pub(crate) header: &'a [u8; LEN],
    pub(crate) destination: u16,
    /// Octets captured after the header; may have padding of the link layer at the end.
    pub(crate) payload: &'a [u8],
    /// Octets after the header on the wire.
    pub(crate) payload_length: usize,
}

impl<'a> Udp<'a> {
    /// Protocol number of UDP above IP.
    pub(crate) const PROTOCOL: u8 = 17;

    /// The header that `octets` begins with, or why there is none; the IP header claims `length` octets.
    #[inline]
    pub(crate) fn decode(octets: &'a [u8], length: usize) -> Result<Self, &'static str> {
        let (header, payload) = octets.split_first_chunk().ok_or("frame cut inside its headers")?;
        let [_, _, d0, d1, l0, l1, _, _] = *header;
        let own_length = usize::from(u16::from_be_bytes([l0, l1]));
        let payload_length = own_length.checked_sub(LEN).filter(|_| own_length <= length).ok_or("malformed UDP")?;
        Ok(Self { header, destination: u16::from_be_bytes([d0, d1]), payload, payload_length })
    }

    /// The port of the service: the lower one, because clients use high ones.
    #[cold]
    pub(super) fn service(&self) -> u16 {
        let [s0, s1, ..] = *self.header;
        u16::from_be_bytes([s0, s1]).min(self.destination)
    }

    /// Returns true if the datagram carries RoCEv2.
    #[inline]
    pub(crate) fn is_roce(&self) -> bool {
        self.destination == ROCE_V2
    }
}

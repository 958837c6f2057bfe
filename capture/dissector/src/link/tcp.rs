//! TCP (RFC 9293).
//!
//! ```text
//!  0  source port                12  header length in words, 4 bits; flags
//!  2  destination port           14  window
//!  4  sequence number            16  checksum, urgent pointer
//!  8  acknowledgement number     20  options
//! ```

use super::address::Address;

const LEN: usize = 20;
const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;

/// Kinds of options.
const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const SELECTIVE: u8 = 5;

/// A TCP segment.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TcpSegment<'a> {
    /// The sender.
    pub source: Address,
    /// The receiver.
    pub destination: Address,
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
    /// The number of the first octet, or of the SYN.
    pub sequence: u32,
    /// The number of the octet that the sender expects next, if the segment says so.
    pub acknowledges: Option<u32>,
    /// Window: the amount that the sender of the segment can receive, in units agreed at connection setup.
    pub window: u16,
    flags: u8,
    /// Captured octets of the options.
    pub options: &'a [u8],
    /// Captured octets of the payload.
    pub octets: &'a [u8],
    /// Number of octets that had on the wire.
    pub length: usize,
}

impl<'a> TcpSegment<'a> {
    /// Protocol number of TCP above IP.
    pub(super) const PROTOCOL: u8 = 6;

    /// The segment that `octets` is, or why there is none; the IP header claims `length` octets.
    #[inline]
    pub(super) fn decode(
        source: Address,
        destination: Address,
        octets: &'a [u8],
        length: usize,
    ) -> Result<Self, &'static str> {
        let Some(fixed) = octets.first_chunk::<LEN>() else { return Err("frame cut inside its headers") };
        let [s0, s1, d0, d1, n0, n1, n2, n3, a0, a1, a2, a3, words, flags, w0, w1, ..] = *fixed;
        let header_length = usize::from(words >> 4) * 4;
        let (LEN.., Some(payload)) = (header_length, length.checked_sub(header_length)) else {
            return Err("malformed TCP");
        };
        let (header, captured) = octets.split_at(header_length.min(octets.len()));
        Ok(Self {
            source,
            destination,
            source_port: u16::from_be_bytes([s0, s1]),
            destination_port: u16::from_be_bytes([d0, d1]),
            sequence: u32::from_be_bytes([n0, n1, n2, n3]),
            acknowledges: (flags & ACK != 0).then_some(u32::from_be_bytes([a0, a1, a2, a3])),
            window: u16::from_be_bytes([w0, w1]),
            flags,
            options: header.get(LEN..).unwrap_or_default(),
            octets: captured.get(..payload).unwrap_or(captured),
            length: payload,
        })
    }

    /// Returns the last gap that a selective acknowledgement reports (RFC 2018 section 3): the number of the first
    /// missing octet, and of the first octet after the gap.
    #[must_use]
    pub fn last_gap(&self) -> Option<[u32; 2]> {
        let acknowledged = self.acknowledges?;
        let mut options = self.options;
        loop {
            options = match *options {
                [NO_OPERATION, ref rest @ ..] => rest,
                [SELECTIVE, length, ref rest @ ..] => {
                    let blocks = rest.get(..usize::from(length).checked_sub(2)?)?;
                    let edges = blocks.as_chunks::<8>().0.iter().map(|block| {
                        let [l0, l1, l2, l3, r0, r1, r2, r3] = *block;
                        let edges = [[l0, l1, l2, l3], [r0, r1, r2, r3]].map(u32::from_be_bytes);
                        edges.map(|edge| edge.wrapping_sub(acknowledged))
                    });
                    // A block before that was received twice (RFC 2883 section 4).
                    let ahead = |[left, _]: &[u32; 2]| (1..1 << 31).contains(left);
                    let farthest = edges.clone().filter(ahead).map(|[left, _]| left).max()?;
                    let before = edges.filter(ahead).map(|[_, right]| right).filter(|right| *right < farthest).max();
                    return Some([before.unwrap_or(0), farthest].map(|distance| acknowledged.wrapping_add(distance)));
                }
                [kind, length, ..] if kind != END && length >= 2 => options.get(usize::from(length)..)?,
                _ => return None,
            };
        }
    }

    /// Returns the fields of the TCP header, besides ports and options.
    #[inline]
    pub(crate) const fn words(&self) -> [u64; 3] {
        let acknowledges = match self.acknowledges {
            Some(number) => number as u64,
            None => 0,
        };
        let flags = (self.window as u64) << 8 | self.flags as u64;
        [(self.sequence as u64) << 32 | acknowledges, flags, self.length as u64]
    }

    /// Returns true for a SYN: the number is then that of the octet before the first.
    #[must_use]
    pub const fn is_synchronizing(&self) -> bool {
        self.flags & SYN != 0
    }

    /// Returns true if the sender has no more to send.
    #[must_use]
    pub const fn is_final(&self) -> bool {
        self.flags & FIN != 0
    }

    /// Returns true for a segment that resets the connection.
    #[must_use]
    pub const fn is_reset(&self) -> bool {
        self.flags & RST != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Source 40529, destination 20049, sequence 0xc4a2ae11, acknowledgement 0xcc5034ed, PSH and ACK, 3 words of options.
    const HEADER: [u8; 32] = [
        0x9e, 0x51, 0x4e, 0x51, 0xc4, 0xa2, 0xae, 0x11, 0xcc, 0x50, 0x34, 0xed, 0x80, 0x18, 0x01, 0xf6, 0xc5, 0xae, 0,
        0, 0x01, 0x01, 0x08, 0x0a, 0x72, 0x4d, 0xe1, 0xf5, 0xe4, 0xa5, 0x1a, 0x93,
    ];

    fn decode(octets: &[u8], length: usize) -> Result<TcpSegment<'_>, &'static str> {
        TcpSegment::decode(Address::V4([192, 0, 2, 2]), Address::V4([192, 0, 2, 1]), octets, length)
    }

    #[test]
    fn a_segment_is_as_long_as_ip_says() {
        let octets = [&HEADER[..], &[1, 2, 3, 4, 0, 0]].concat();
        for captured in 32..octets.len() {
            let segment = decode(&octets[..captured], 36).unwrap();
            assert_eq!((segment.source_port, segment.destination_port), (40529, 20049));
            assert_eq!((segment.sequence, segment.acknowledges), (0xc4a2_ae11, Some(0xcc50_34ed)));
            assert_eq!(segment.window, 0x01f6);
            assert_eq!((segment.octets, segment.length), (&octets[32..captured.min(36)], 4));
            assert!(!segment.is_synchronizing() && !segment.is_final() && !segment.is_reset());
        }
    }

    #[test]
    fn a_selective_acknowledgement_says_what_is_missing() {
        // Acknowledged: 0xcc5034ed. Blocks: left and right edge, each 4 octets.
        let block = |left: u32| [left.to_be_bytes(), (left + 9).to_be_bytes()].concat();
        let sack = |blocks: &[u32]| {
            let blocks: Vec<u8> = blocks.iter().flat_map(|left| block(*left)).collect();
            [&[1, 1, 5, 2 + blocks.len() as u8][..], &blocks].concat()
        };
        let (first, beyond) = (0xcc50_34ed, 0xcc50_34ed + 100);
        for (options, expected) in [
            (sack(&[beyond]), Some([first, beyond])),
            (sack(&[beyond, beyond + 50]), Some([beyond + 9, beyond + 50])),
            (sack(&[beyond + 50, beyond]), Some([beyond + 9, beyond + 50])),
            (sack(&[0xcc50_34ed - 20, beyond]), Some([first, beyond])),
            (sack(&[0xcc50_34ed - 20]), None),
            (vec![8, 4, 1, 1, 2, 3, 4, 5], None),
            (vec![8, 0, 1, 1], None),
            (vec![0, 0, 0, 0], None),
            (sack(&[beyond])[..8].to_vec(), None),
        ] {
            let mut octets = HEADER[..20].to_vec();
            octets[12] = ((20 + options.len()) as u8 / 4) << 4;
            octets.extend(&options);
            assert_eq!(decode(&octets, octets.len()).unwrap().last_gap(), expected, "{options:?}");
        }
    }

    #[test]
    fn what_is_no_segment_has_a_name() {
        assert_eq!(decode(&HEADER[..19], 40).err(), Some("frame cut inside its headers"));
        assert_eq!(decode(&HEADER, 31).err(), Some("malformed TCP"));
        let mut short = HEADER;
        short[12] = 0x40;
        assert_eq!(decode(&short, 32).err(), Some("malformed TCP"));
    }
}

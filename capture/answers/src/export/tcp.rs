//! A TCP connection as captured: Ethernet frames with an IP header, a TCP header, and data.
//!
//! ```text
//! +----------------+--------------------+-----------------+---------
//! | Ethernet 14    | IPv4 20 or IPv6 40 | TCP 20 (SYN 28) | data ...
//! +----------------+--------------------+-----------------+---------
//! ```

use rpcrdma_dissector::{Address, Side, Sides};

/// The two hosts at the ends of a connection.
#[derive(Clone, Copy, Debug)]
enum IpNetwork {
    V4(Sides<[u8; 4]>),
    V6(Sides<[u8; 16]>),
}

/// One TCP connection; the [`Side::Active`] end opened the connection.
#[derive(Clone, Debug)]
pub(crate) struct ExportedStream {
    network: IpNetwork,
    ports: Sides<u16>,
    /// The sequence number each end uses next.
    next: Sides<u32>,
}

const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
const ETHERTYPE_IPV6: [u8; 2] = [0x86, 0xdd];
const PROTOCOL_TCP: u8 = 6;
const HOPS: u8 = 64;
const TCP_LEN: usize = 20;

const SYN: u8 = 0x02;
const PUSH: u8 = 0x08;
const ACK: u8 = 0x10;

/// Octets of data in one segment: near what one IP packet can carry, as a host with segmentation offload captures them.
const SEGMENT: usize = 65_000;
const SEGMENT_OCTETS: [u8; 2] = (SEGMENT as u16).to_be_bytes();
/// Maximum segment size; window scale by 14, so that the window holds any message (RFC 7323 section 2.2); padding.
const SYN_OPTIONS: [u8; 8] = [2, 4, SEGMENT_OCTETS[0], SEGMENT_OCTETS[1], 3, 3, 14, 0];
const WINDOW: u16 = 0xffff;
/// First sequence numbers: any number will do, and these are easily told apart.
const FIRST: Sides<u32> = Sides { active: 0x1000_0000, passive: 0x2000_0000 };

impl ExportedStream {
    /// A connection that is not open yet.
    pub(crate) fn new(addresses: Sides<Address>, ports: Sides<u16>) -> Self {
        let network = match (v4(addresses.active), v4(addresses.passive)) {
            (Some(active), Some(passive)) => IpNetwork::V4(Sides { active, passive }),
            _ => IpNetwork::V6(Sides { active: v6(addresses.active), passive: v6(addresses.passive) }),
        };
        Self { network, ports, next: FIRST }
    }

    /// The frames of the handshake.
    pub(crate) fn open(&mut self) -> [Vec<u8>; 3] {
        let synchronize = self.frame(Side::Active, SYN, &[]);
        self.next.active = self.next.active.wrapping_add(1);
        let accept = self.frame(Side::Passive, SYN | ACK, &[]);
        self.next.passive = self.next.passive.wrapping_add(1);
        [synchronize, accept, self.frame(Side::Active, ACK, &[])]
    }

    /// Gives `write` the frames in which `from` sends `data`, one after another.
    pub(crate) fn send<E>(
        &mut self,
        from: Side,
        data: &[u8],
        mut write: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut segments = data.chunks(SEGMENT).peekable();
        while let Some(segment) = segments.next() {
            let flags = if segments.peek().is_none() { PUSH | ACK } else { ACK };
            write(&self.frame(from, flags, segment))?;
            let next = self.next.get_mut(from);
            // A segment has at most `SEGMENT` octets.
            *next = next.wrapping_add(segment.len() as u32);
        }
        Ok(())
    }

    fn frame(&self, from: Side, flags: u8, data: &[u8]) -> Vec<u8> {
        let segment = self.segment(from, flags, data);
        let mut frame = Vec::with_capacity(54 + segment.len());
        frame.extend(hardware(from.other()));
        frame.extend(hardware(from));
        // At most 28 + 65,000 octets.
        let length = segment.len() as u16;
        match &self.network {
            IpNetwork::V4(hosts) => {
                frame.extend(ETHERTYPE_IPV4);
                frame.extend(ipv4(length, *hosts.get(from), *hosts.get(from.other())));
            }
            IpNetwork::V6(hosts) => {
                frame.extend(ETHERTYPE_IPV6);
                frame.extend([0x60, 0, 0, 0]);
                frame.extend(length.to_be_bytes());
                frame.extend([PROTOCOL_TCP, HOPS]);
                frame.extend(hosts.get(from));
                frame.extend(hosts.get(from.other()));
            }
        }
        frame.extend(segment);
        frame
    }

    /// TCP header (RFC 9293 section 3.1) and data.
    fn segment(&self, from: Side, flags: u8, data: &[u8]) -> Vec<u8> {
        let options: &[u8] = if flags & SYN == 0 { &[] } else { &SYN_OPTIONS };
        let acknowledged = if flags & ACK == 0 { 0 } else { *self.next.get(from.other()) };
        let words = ((TCP_LEN + options.len()) / 4) as u8;
        let mut segment = Vec::with_capacity(TCP_LEN + options.len() + data.len());
        segment.extend(self.ports.get(from).to_be_bytes());
        segment.extend(self.ports.get(from.other()).to_be_bytes());
        segment.extend(self.next.get(from).to_be_bytes());
        segment.extend(acknowledged.to_be_bytes());
        segment.extend([words << 4, flags]);
        segment.extend(WINDOW.to_be_bytes());
        segment.extend([0; 4]); // checksum, urgent pointer
        segment.extend(options);
        segment.extend(data);
        // The pseudo header: both addresses, the protocol, the length.
        let hosts = match &self.network {
            IpNetwork::V4(hosts) => sum(&hosts.active) + sum(&hosts.passive),
            IpNetwork::V6(hosts) => sum(&hosts.active) + sum(&hosts.passive),
        };
        let checksum = fold(hosts + u64::from(PROTOCOL_TCP) + segment.len() as u64 + sum(&segment));
        if let Some(place) = segment.get_mut(16..18) {
            place.copy_from_slice(&checksum);
        }
        segment
    }
}

fn ipv4(length: u16, source: [u8; 4], destination: [u8; 4]) -> [u8; 20] {
    let [l0, l1] = (length + 20).to_be_bytes();
    let [s0, s1, s2, s3] = source;
    let [d0, d1, d2, d3] = destination;
    // It must not be fragmented, so its identification means nothing (RFC 6864 section 4.1).
    let header = |c0, c1| [0x45, 0, l0, l1, 0, 0, 0x40, 0, HOPS, PROTOCOL_TCP, c0, c1, s0, s1, s2, s3, d0, d1, d2, d3];
    let [c0, c1] = fold(sum(&header(0, 0)));
    header(c0, c1)
}

/// Locally administered, because captures do not show the real ones for every carrier.
const fn hardware(of: Side) -> [u8; 6] {
    match of {
        Side::Active => [0x02, 0, 0, 0, 0, 0x01],
        Side::Passive => [0x02, 0, 0, 0, 0, 0x02],
    }
}

/// A local identifier becomes an address in 198.18.0.0/16, which is reserved for tests (RFC 2544 appendix C).
const fn v4(address: Address) -> Option<[u8; 4]> {
    match address {
        Address::V4(octets) => Some(octets),
        Address::Lid(lid) => {
            let [high, low] = lid.to_be_bytes();
            Some([198, 18, high, low])
        }
        Address::V6(_) => None,
    }
}

/// An IPv4 address is mapped if the other end has an IPv6 address (RFC 4291 section 2.5.5.2).
const fn v6(address: Address) -> [u8; 16] {
    match (address, v4(address)) {
        (Address::V6(octets), _) => octets,
        (_, Some([a, b, c, d])) => [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d],
        (_, None) => [0; 16],
    }
}

/// The sum of the 16-bit words (RFC 1071 section 1), not folded yet. Words of 32 bits give the same, folded.
pub(crate) fn sum(octets: &[u8]) -> u64 {
    let (words, rest) = octets.as_chunks::<4>();
    let mut last = [0; 4];
    for (place, octet) in last.iter_mut().zip(rest) {
        *place = *octet;
    }
    words.iter().chain([&last]).map(|word| u64::from(u32::from_be_bytes(*word))).sum()
}

/// The checksum from a result of `sum`.
pub(crate) fn fold(mut sum: u64) -> [u8; 2] {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!(sum as u16)).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_of_rfc_1071() {
        // Section 3: the sum of these octets is ddf2.
        assert_eq!(fold(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7])), (!0xddf2_u16).to_be_bytes());
        // An odd octet is the upper half of a word.
        assert_eq!(fold(sum(&[0x12, 0x34, 0x56])), (!(0x1234_u16 + 0x5600)).to_be_bytes());
    }

    #[test]
    fn local_identifiers_and_mixed_addresses_have_a_host() {
        assert_eq!(v4(Address::Lid(0x0102)), Some([198, 18, 1, 2]));
        assert_eq!(v6(Address::Lid(0x0102)), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 198, 18, 1, 2]);
    }

    #[test]
    fn an_ipv4_header_of_rfc_1071_practice() {
        // Sums to ffff with its checksum in place.
        let header = ipv4(40, [192, 0, 2, 1], [192, 0, 2, 2]);
        assert_eq!(fold(sum(&header)), [0, 0]);
    }
}

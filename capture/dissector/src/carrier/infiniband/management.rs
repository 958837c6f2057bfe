//! Connection management: the datagrams that tie two queue pairs together.
//!
//! A management datagram (MAD) is 256 octets, sent to queue pair 1. The attribute names the message; the offsets below
//! count from the first octet of the MAD.

use rpcrdma::reader::{EndOfInput, Reader};

use super::transport::Transport;
use crate::carrier::connection::{CarrierTerms, Consumer, service_port};

/// Octets of the DETH, which is between the BTH and a MAD.
const DETH_LEN: usize = 8;
/// Octets of a MAD.
const MAD_LEN: usize = 256;
/// The RDMA IP CM service puts 36 octets of addresses before the private data of a REQ.
const IP_ADDRESSES: usize = 36;
const COMMUNICATION_MANAGEMENT: u8 = 0x07;

/// A connection management message.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Management<'a> {
    /// REQ: the active side asks for a connection.
    Request {
        /// The active side's name for this connection.
        local: u32,
        /// The requested service; see [`service_port`].
        service: u64,
        /// The active side's queue pair.
        queue_pair: u32,
        /// The packet sequence number of the passive side's first packet.
        sequence: u32,
        /// The most octets that a packet carries.
        path_mtu: Option<u32>,
        /// Local ACK timeout, in nanoseconds: both ends wait at least that long for an acknowledgement.
        ack_timeout: Option<u64>,
        /// The other terms.
        terms: CarrierTerms,
        /// The consumer's private data, after the IP addresses of the RDMA IP CM service.
        private_data: Consumer<'a>,
    },
    /// REP: the passive side accepts.
    Reply {
        /// The active side's name for the connection.
        remote: u32,
        /// The passive side's queue pair.
        queue_pair: u32,
        /// The packet sequence number of the active side's first packet.
        sequence: u32,
        /// Terms of the passive side.
        terms: CarrierTerms,
        /// The consumer's private data.
        private_data: Consumer<'a>,
    },
    /// RTU: the active side has seen the REP.
    ReadyToUse {
        /// The active side's name for the connection.
        local: u32,
    },
    /// MRA: a side has received a message and needs time for the answer.
    Receipt {
        /// The receiver's name for the connection.
        remote: u32,
    },
    /// REJ: no connection.
    Reject {
        /// The receiver's name for the connection.
        remote: u32,
        /// InfiniBand's reason code.
        reason: u16,
    },
    /// DREQ: one side ends the connection.
    DisconnectRequest {
        /// The other side's queue pair.
        queue_pair: u32,
    },
    /// DREP: the other side agrees.
    DisconnectReply,
    /// LAP, APR, SIDR and all others.
    Other,
}

impl<'a> Management<'a> {
    /// Reads the management message in a datagram. Returns `None` for other datagrams, and if a part that every
    /// receiver needs was not captured.
    #[must_use]
    pub(crate) fn decode(packet: &Transport<'a>) -> Option<Self> {
        if !packet.is_management() {
            return None;
        }
        let mad = packet.data.get(DETH_LEN..)?;
        let (&class, &attribute) = (mad.get(1)?, mad.get(17)?);
        if class != COMMUNICATION_MANAGEMENT {
            return None;
        }
        match attribute {
            0x10 => Self::request(packet, mad).ok(),
            0x12 => Self::reject(mad).ok(),
            0x13 => Self::reply(packet, mad).ok(),
            0x11 => Some(Self::Receipt { remote: u32_at(mad, 28).ok()? }),
            0x14 => Some(Self::ReadyToUse { local: u32_at(mad, 24).ok()? }),
            0x15 => Some(Self::DisconnectRequest { queue_pair: u32_at(mad, 32).ok()? >> 8 }),
            0x16 => Some(Self::DisconnectReply),
            _ => Some(Self::Other),
        }
    }

    fn request(packet: &Transport<'_>, mad: &'a [u8]) -> Result<Self, EndOfInput> {
        let service = u64_at(mad, 32)?;
        let skipped = if service_port(service).is_some() { IP_ADDRESSES } else { 0 };
        Ok(Self::Request {
            local: u32_at(mad, 24)?,
            service,
            queue_pair: u32_at(mad, 56)? >> 8,
            sequence: u32_at(mad, 68)? >> 8,
            path_mtu: path_mtu(u32_at(mad, 72)?),
            ack_timeout: mad.get(119).and_then(|octet| ack_timeout(octet >> 3)),
            terms: CarrierTerms {
                responder_resources: octet(mad, 59).map(u16::from),
                initiator_depth: octet(mad, 63).map(u16::from),
                retries: octet(mad, 71).map(|octet| octet & 7),
                not_ready_retries: octet(mad, 74).map(|octet| octet & 7),
                mpa: None,
            },
            private_data: consumer(packet, mad, 164 + skipped),
        })
    }

    fn reply(packet: &Transport<'_>, mad: &'a [u8]) -> Result<Self, EndOfInput> {
        Ok(Self::Reply {
            remote: u32_at(mad, 28)?,
            queue_pair: u32_at(mad, 36)? >> 8,
            sequence: u32_at(mad, 44)? >> 8,
            terms: CarrierTerms {
                responder_resources: octet(mad, 48).map(u16::from),
                initiator_depth: octet(mad, 49).map(u16::from),
                not_ready_retries: octet(mad, 51).map(|octet| octet >> 5),
                ..CarrierTerms::default()
            },
            private_data: consumer(packet, mad, 60),
        })
    }

    fn reject(mad: &[u8]) -> Result<Self, EndOfInput> {
        Ok(Self::Reject { remote: u32_at(mad, 28)?, reason: (u32_at(mad, 32)? & 0xffff) as u16 })
    }
}

/// Returns the private data of a MAD, from `offset` to the end.
fn consumer<'a>(packet: &Transport<'_>, mad: &'a [u8], offset: usize) -> Consumer<'a> {
    let end = packet.length.saturating_sub(DETH_LEN).min(MAD_LEN);
    let octets = mad.get(offset..end.min(mad.len())).unwrap_or_default();
    Consumer { octets, is_cut: mad.len() < end }
}

/// The path MTU code is in the upper half of octet 74: 1 is 256 octets, 5 is 4096.
const fn path_mtu(word: u32) -> Option<u32> {
    match (word >> 12) & 0xf {
        code @ 1..=5 => Some(128 << code),
        _ => None,
    }
}

/// A time-out of 4.096 microseconds, doubled so many times (section 12.7.34). With 0, an adapter waits forever.
const fn ack_timeout(code: u8) -> Option<u64> {
    match code {
        code @ 1..=31 => Some(4096 << code),
        _ => None,
    }
}

fn octet(mad: &[u8], offset: usize) -> Option<u8> {
    mad.get(offset).copied()
}

fn at(mad: &[u8], offset: usize) -> Reader<'_> {
    Reader::new(mad.get(offset..).unwrap_or_default())
}

fn u32_at(mad: &[u8], offset: usize) -> Result<u32, EndOfInput> {
    at(mad, offset).u32()
}

fn u64_at(mad: &[u8], offset: usize) -> Result<u64, EndOfInput> {
    at(mad, offset).u64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::carrier::infiniband::transport;

    /// A datagram of connection management with this attribute.
    fn datagram(attribute: u8) -> Vec<u8> {
        let mut octets = vec![0; transport::LEN + DETH_LEN + MAD_LEN];
        (octets[0], octets[7]) = (transport::DATAGRAM, 1);
        let mad = &mut octets[transport::LEN + DETH_LEN..];
        (mad[1], mad[17]) = (COMMUNICATION_MANAGEMENT, attribute);
        octets
    }

    fn decode(octets: &[u8]) -> Option<Management<'_>> {
        Management::decode(&Transport::decode(octets, octets.len()).unwrap())
    }

    #[test]
    fn attributes_are_told_apart() {
        assert!(matches!(decode(&datagram(0x14)), Some(Management::ReadyToUse { .. })));
        assert!(matches!(decode(&datagram(0x16)), Some(Management::DisconnectReply)));
        assert!(matches!(decode(&datagram(0x11)), Some(Management::Receipt { .. })));
        assert!(matches!(decode(&datagram(0x19)), Some(Management::Other)));
    }

    #[test]
    fn only_datagrams_to_queue_pair_1_are_management() {
        for (at, octet) in [(0, 0x04), (7, 2)] {
            let mut octets = datagram(0x14);
            octets[at] = octet;
            assert!(decode(&octets).is_none(), "octet {at}");
        }
    }

    #[test]
    fn only_the_rdma_ip_cm_service_prefixes_addresses() {
        for (service, begins) in [([0, 0, 0, 0, 1, 6, 0x4e, 0xc1], 200), ([0, 0, 0, 0, 2, 6, 0x4e, 0xc1], 164)] {
            let mut octets = datagram(0x10);
            let mad = &mut octets[transport::LEN + DETH_LEN..];
            mad[32..40].copy_from_slice(&service);
            mad[begins] = 0xf6;
            let Some(Management::Request { private_data, .. }) = decode(&octets) else { panic!("no REQ") };
            assert_eq!((private_data.octets[0], private_data.octets.len()), (0xf6, MAD_LEN - begins));
        }
    }

    #[test]
    fn path_mtu_codes() {
        assert_eq!(path_mtu(0xffff_1000), Some(256));
        assert_eq!(path_mtu(0xffff_5fff), Some(4096));
        assert_eq!(path_mtu(0xffff_0000), None);
    }

    #[test]
    fn a_time_out_of_0_is_none() {
        let timeouts = [0, 1, 17, 31, 32].map(ack_timeout);
        assert_eq!(timeouts, [None, Some(8192), Some(536_870_912), Some(8_796_093_022_208), None]);
    }
}

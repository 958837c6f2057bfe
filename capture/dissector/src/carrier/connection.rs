//! Properties of a connection of any carrier.

use rpcrdma::private_data::{Agreement, PrivateData};

use super::acknowledgement::{AcknowledgementOrder, Acknowledgements};
use super::operation::{Side, Sides, Stamp};
use super::recovery::RecoveryKind;
use crate::link::{Address, Carrier};

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Endpoint {
    /// Address of the end.
    pub address: Address,
    /// Queue pair of the end, if the carrier has queue pairs and the capture shows this one.
    pub queue_pair: Option<u32>,
    /// TCP port of the end, if iWARP carries the connection.
    pub port: Option<u16>,
}

/// Known properties of a connection.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Connection {
    /// Names the connection within this capture.
    pub key: u64,
    /// Carrier of the connection.
    pub carrier: Carrier,
    /// The two ends.
    pub ends: Sides<Endpoint>,
    /// The requested service ID, if connection setup was seen. iWARP asks for a port: this is the service ID that
    /// stands for the port (see [`port`](Self::port)).
    pub service: Option<u64>,
    /// Announcement of each end in a message of connection setup, if captured.
    pub announced: Sides<Option<Announced>>,
    /// Duplicates of the connection request, if that was seen: the REQ of InfiniBand, or the SYN of iWARP.
    pub asked: Option<RequestTimes>,
    /// Frame that completed the setup, if that was seen: the RTU of InfiniBand, or the MPA reply of iWARP.
    pub established: Option<Stamp>,
    /// The most octets that a packet carries, as the connection request says (InfiniBand).
    pub path_mtu: Option<u32>,
    /// Nanoseconds that both ends wait for an acknowledgement, at least, as the connection request says (InfiniBand).
    pub ack_timeout: Option<u64>,
    /// Terms of the carrier in the message of connection setup of each end.
    pub terms: Sides<CarrierTerms>,
    /// True if connection setup was seen: both the request and the reply.
    pub setup_captured: bool,
    /// True if both ends of the connection are known.
    pub paired: bool,
    /// First message by which an end ended the connection, if that was seen.
    pub disconnected: Option<Disconnection>,
}

/// Duplicates of a connection request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestTimes {
    /// The first copy.
    pub first: Stamp,
    /// The last copy.
    pub last: Stamp,
    /// Number of copies.
    pub times: u32,
}

impl RequestTimes {
    /// A request that was sent once.
    #[must_use]
    pub const fn once(stamp: Stamp) -> Self {
        Self { first: stamp, last: stamp, times: 1 }
    }

    /// Adds a later copy.
    pub(crate) const fn repeat(self, stamp: Stamp) -> Self {
        Self { first: self.first, last: stamp, times: self.times.saturating_add(1) }
    }
}

/// Terms of the carrier that an end states while the connection is set up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CarrierTerms {
    /// RDMA Reads of the other end that this end can answer at a time: responder resources of InfiniBand, IRD of MPA.
    pub responder_resources: Option<u16>,
    /// RDMA Reads that this end sends at a time: initiator depth of InfiniBand, ORD of MPA.
    pub initiator_depth: Option<u16>,
    /// Number of times that the other end is to retransmit a packet without an acknowledgement (InfiniBand).
    pub retries: Option<u8>,
    /// Number of times that the other end is to retransmit a packet after "receiver not ready"; 7 is without end (InfiniBand).
    pub not_ready_retries: Option<u8>,
    /// Terms of MPA (iWARP).
    pub mpa: Option<MpaTerms>,
}

/// Terms of MPA (RFC 5044 section 7.1, RFC 6581).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MpaTerms {
    /// Revision of MPA.
    pub revision: u8,
    /// True if this end wants markers in what it receives.
    pub markers: bool,
    /// True if this end wants CRCs.
    pub crc: bool,
}

/// End of a connection by one of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Disconnection {
    /// The end that ended the connection.
    pub by: Side,
    /// Frame of the message that ended the connection.
    pub stamp: Stamp,
    /// Kind of the message that ended the connection.
    pub how: DisconnectionKind,
}

/// Message that ends a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DisconnectionKind {
    /// A disconnect request of InfiniBand's connection management.
    DisconnectRequest,
    /// A Terminate message of iWARP.
    Terminate,
    /// A TCP segment with FIN.
    Finish,
    /// A TCP segment with RST.
    Reset,
}

impl DisconnectionKind {
    /// Name of the kind of message.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DisconnectRequest => "DREQ",
            Self::Terminate => "Terminate",
            Self::Finish => "FIN",
            Self::Reset => "RST",
        }
    }
}

/// Announcement of an end while the connection was set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Announced {
    /// Frame of the announcement.
    pub stamp: Stamp,
    /// Private data in the message.
    pub private_data: Shown,
}

/// RFC 8797 private data that a message of connection setup shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// There is none.
    Absent,
    /// The capture cut the message before the place of private data.
    Cut,
    /// Private data of the known version.
    Present(PrivateData),
    /// The octets begin like such private data, but no receiver accepts the rest: another version, or too short.
    Other {
        /// Octets of the private data, followed by zeros.
        octets: [u8; PrivateData::LEN],
        /// Number of octets of the private data.
        length: usize,
    },
}

/// The consumer's private data in a message of connection setup, as far as captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Consumer<'a> {
    /// Octets that were captured.
    pub octets: &'a [u8],
    /// True if the capture cut the private data: there was more on the wire.
    pub is_cut: bool,
}

/// Counts of one end's packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Packets in all.
    pub packets: u64,
    /// Packets that were retransmitted, and that the capture holds from before.
    pub retransmitted: u64,
    /// Duplicates of packets of this end, which the capture or the network made. No other count includes duplicates.
    pub duplicates: u64,
    /// Packets that were retransmitted, and that the capture does not hold from before.
    pub replaced: u64,
    /// Times that this end got no acknowledgement.
    pub timeouts: u64,
    /// Times that this end sent an RDMA Read request again because a response was missing.
    pub implied_naks: u64,
    /// Times that this end sent packets again, and the capture does not show why.
    pub causes_not_seen: u64,
    /// Packets that came before one with a smaller number, and acknowledgements captured before the acknowledged
    /// packets.
    pub early: u64,
    /// Gaps that this end reported, by negative acknowledgement or by TCP's duplicate acknowledgements.
    pub sequence_errors: u64,
    /// "Receiver not ready", sent by this end.
    pub not_ready: u64,
    /// Operations that this end refused permanently.
    pub failed: u64,
    /// First operation that this end refused because access to the memory was not permitted.
    pub refused: Option<RefusedAccess>,
    /// Packets of this end that the capture does not hold.
    pub missed: u64,
    /// Data packets that belong to no operation the capture holds the start of.
    pub unmatched: u64,
    /// Acknowledgements of what this end sent, by the order of their capture.
    pub acknowledged: AcknowledgementOrder,
    /// Time that this end took to acknowledge, if the capture shows any of that.
    pub acknowledgements: Option<Acknowledgements>,
    /// Checksums of packets that this end retransmitted and that the other end never acknowledged.
    pub checksums: Checksums,
}

/// Checksums (ICRC) of packets that an end retransmitted and that the other end had not acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checksums {
    /// Packets with a right one.
    pub right: u64,
    /// Packets with a wrong one. 0 if nothing shows that the capture holds what is on the wire: no other packet has a right one, or
    /// the other end acknowledged a packet with a wrong one.
    pub wrong: u64,
    /// Frame of the first packet with a wrong one.
    pub first_wrong: Option<u64>,
}

impl Counts {
    /// Forgets what rests on the order of packets: the packets were captured by two clocks.
    pub(crate) const fn forget_order(&mut self) {
        (self.retransmitted, self.replaced, self.timeouts, self.implied_naks, self.causes_not_seen) = (0, 0, 0, 0, 0);
        (self.missed, self.unmatched, self.acknowledgements) = (0, 0, None);
    }

    /// Counts an indication of loss.
    pub(crate) const fn recover(&mut self, kind: RecoveryKind) {
        match kind {
            RecoveryKind::Retransmitted => self.retransmitted += 1,
            RecoveryKind::Replaced => self.replaced += 1,
            RecoveryKind::TimedOut { .. } => self.timeouts += 1,
            RecoveryKind::ImpliedNak => self.implied_naks += 1,
            RecoveryKind::CauseNotSeen => self.causes_not_seen += 1,
            RecoveryKind::SequenceError => self.sequence_errors += 1,
            RecoveryKind::NotReady { .. } => self.not_ready += 1,
            RecoveryKind::Failed => self.failed += 1,
        }
    }
}

/// An RDMA operation that an end refused, as far as the refusal says which one that was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusedAccess {
    /// The one at this place in everything that the other end sends, in the carrier's own numbers.
    At(u64),
    /// An RDMA Write.
    Write,
    /// An RDMA Read request.
    Read,
    /// An RDMA Write or an RDMA Read request.
    Unknown,
}

impl Announced {
    pub(crate) fn new(stamp: Stamp, private_data: Consumer<'_>) -> Self {
        Self { stamp, private_data: Shown::find(private_data) }
    }
}

impl Shown {
    /// Looks for RFC 8797 private data in what the consumer sent. If that is cut, only complete private data before the
    /// cut counts; private data of another version may be followed by some of the known version.
    fn find(private_data: Consumer<'_>) -> Self {
        if let Some(known) = PrivateData::find(private_data.octets) {
            return Self::Present(known);
        }
        if private_data.is_cut {
            return Self::Cut;
        }
        let Some(found) = PrivateData::locate(private_data.octets) else { return Self::Absent };
        let mut octets = [0; PrivateData::LEN];
        octets.iter_mut().zip(found).for_each(|(octet, found)| *octet = *found);
        Self::Other { octets, length: found.len() }
    }

    /// Returns the announcement of the end; an end that announces nothing has announced the minimum (RFC 8797 section
    /// 5.1). `None` if that is not known.
    #[must_use]
    pub fn said(self) -> Option<PrivateData> {
        match self {
            Self::Cut => None,
            Self::Present(known) => Some(known),
            Self::Absent | Self::Other { .. } => Some(PrivateData::default()),
        }
    }
}

impl Connection {
    /// A connection between two ends of which the capture lacks the setup.
    pub(crate) fn without_setup(key: u64, carrier: Carrier, ends: Sides<Endpoint>) -> Self {
        Self {
            key,
            carrier,
            ends,
            service: None,
            announced: Sides::default(),
            asked: None,
            established: None,
            path_mtu: None,
            ack_timeout: None,
            terms: Sides::default(),
            setup_captured: false,
            paired: true,
            disconnected: None,
        }
    }

    /// Returns the announcement of an end in private data; `None` if the capture lacks the announcement.
    #[must_use]
    pub fn said(&self, side: Side) -> Option<PrivateData> {
        self.announced.get(side).and_then(|announced| announced.private_data.said())
    }

    /// Returns the agreement of the two ends by private data; `None` if the capture does not show both announcements.
    #[must_use]
    pub fn agreement(&self) -> Option<Agreement> {
        let both = self.said(Side::Active).zip(self.said(Side::Passive));
        both.map(|(active, passive)| Agreement::new(Some(active), Some(passive)))
    }

    /// Returns true if an end sent RFC 8797 private data, so that the connection is one for RPC-over-RDMA.
    #[must_use]
    pub fn is_announced(&self) -> bool {
        let is_present = |announced: Option<Announced>| {
            announced.is_some_and(|announced| matches!(announced.private_data, Shown::Present(_)))
        };
        is_present(self.announced.active) || is_present(self.announced.passive)
    }

    /// The requested TCP-space port.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        self.service.and_then(service_port)
    }
}

/// The TCP-space port in a service ID of the RDMA IP CM service (`00 00 00 00 01 06 PP PP`).
#[must_use]
pub const fn service_port(service: u64) -> Option<u16> {
    if service >> 16 == 0x0000_0000_0106 { Some(service as u16) } else { None }
}

/// The service ID that stands for a TCP-space port.
#[must_use]
pub(crate) const fn port_service(port: u16) -> u64 {
    0x0106_0000 | port as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nfs_over_rdma_is_port_20049() {
        assert_eq!(service_port(0x0000_0000_0106_4e51), Some(20049));
        assert_eq!(service_port(port_service(20049)), Some(20049));
        assert_eq!(service_port(0x0000_0000_0111_4e51), None, "the UDP port space");
        assert_eq!(service_port(0x1000_0000_0106_4e51), None);
    }
}

//! What is known of a connection, whatever carries it.

use rpcrdma::private_data::{Agreement, PrivateData};

use super::operation::{Side, Sides, Stamp};
use crate::link::{Address, Carrier};

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Its address.
    pub address: Address,
    /// Its queue pair, where the carrier has them and the capture tells.
    pub queue_pair: Option<u32>,
    /// Its TCP port, where iWARP carries the connection.
    pub port: Option<u16>,
}

/// What is known of a connection.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Names the connection within this capture.
    pub key: u64,
    /// What carries it.
    pub carrier: Carrier,
    /// The two ends.
    pub ends: Sides<Endpoint>,
    /// The service ID that was asked for, where connection set-up was seen. iWARP asks for a port: the service ID is the one
    /// that stands for it (see [`service_port`]).
    pub service: Option<u64>,
    /// What each end announced in the message by which it set up the connection, where that was seen.
    pub announced: Sides<Option<Announced>>,
    /// Connection set-up was seen: both the request and the reply to it.
    pub set_up: bool,
    /// The two ends of the connection are both known.
    pub paired: bool,
    /// Which end was the first to end the connection, and when, where that was seen.
    pub disconnected: Option<(Side, Stamp)>,
}

/// What an end announced while the connection was set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announced {
    /// The message that said it.
    pub stamp: Stamp,
    /// What it shows.
    pub private_data: Shown,
}

/// What a message of connection set-up shows of RFC 8797 private data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// There is none.
    Absent,
    /// The capture cut the message before it shows whether there is any.
    Cut,
    /// It is of the version that is known.
    Present(PrivateData),
    /// It begins as such private data does, and no receiver takes it for that: it is of another version, or too short.
    Other {
        /// Its octets; zeros after its end.
        octets: [u8; PrivateData::LEN],
        /// How many it has.
        length: usize,
    },
}

/// The consumer's private data in a message of connection set-up, as far as it was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Consumer<'a> {
    /// What was captured of it.
    pub octets: &'a [u8],
    /// The capture cut it: there was more on the wire.
    pub is_cut: bool,
}

/// Counts of one end's packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets in all.
    pub packets: u64,
    /// Packets that were sent again.
    pub retransmitted: u64,
    /// Packets that came before one with a smaller number, or acknowledgements before what they acknowledge.
    pub early: u64,
    /// Negative acknowledgements for a hole, sent by this end.
    pub sequence_errors: u64,
    /// "Receiver not ready", sent by this end.
    pub not_ready: u64,
    /// Operations this end refused for good.
    pub failed: u64,
    /// Those of them that aimed at memory they may not access.
    pub access_errors: u64,
    /// Packets of this end that the capture does not hold.
    pub missed: u64,
    /// Data packets that belong to no operation the capture holds the start of.
    pub orphans: u64,
}

/// A connection request that was refused.
#[derive(Clone, Copy, Debug)]
pub struct Rejected {
    /// The frame of the rejection.
    pub stamp: Stamp,
    /// Who refused.
    pub from: Address,
    /// Who had asked.
    pub to: Address,
    /// The service ID that was asked for.
    pub service: Option<u64>,
    /// InfiniBand's reason code; iWARP has none.
    pub reason: Option<u16>,
}

impl Announced {
    pub(crate) fn new(stamp: Stamp, private_data: Consumer<'_>) -> Self {
        Self { stamp, private_data: Shown::of(private_data) }
    }
}

impl Shown {
    /// Looks for RFC 8797 private data in what the consumer sent. Of what is cut, only what stands whole before the cut
    /// counts; and what is not of the known version may be followed by what is.
    fn of(private_data: Consumer<'_>) -> Self {
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

    /// What the end has said by it; an end that says nothing has said the least (RFC 8797 section 5.1). `None` where that is
    /// not known.
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
    /// What an end has said of itself in private data; `None` where the capture does not show it.
    #[must_use]
    pub fn said(&self, side: Side) -> Option<PrivateData> {
        self.announced.get(side).and_then(|announced| announced.private_data.said())
    }

    /// What the two ends agreed on by private data; `None` where the capture does not show what both have said.
    #[must_use]
    pub fn agreement(&self) -> Option<Agreement> {
        let both = self.said(Side::Active).zip(self.said(Side::Passive));
        both.map(|(active, passive)| Agreement::new(Some(active), Some(passive)))
    }

    /// An end has sent RFC 8797 private data, so the connection is one for RPC-over-RDMA.
    #[must_use]
    pub fn is_announced(&self) -> bool {
        let is_present = |announced: Option<Announced>| {
            announced.is_some_and(|announced| matches!(announced.private_data, Shown::Present(_)))
        };
        is_present(self.announced.active) || is_present(self.announced.passive)
    }

    /// The TCP-space port that was asked for.
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
pub const fn port_service(port: u16) -> u64 {
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

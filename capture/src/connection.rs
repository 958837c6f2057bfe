//! What is known of a connection, whatever carries it, and who takes what happens on it.

use rpcrdma::private_data::{Agreement, PrivateData};

use crate::event::Rejected;
use crate::infiniband::management::service_port;
use crate::infiniband::ordering::Counts;
use crate::iwarp::terminate::Terminate;
use crate::link::{Address, Carrier};
use crate::memory::Account;
use crate::operation::{Operation, Side, Sides, Stamp};

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

/// What takes the connections and their operations.
pub trait Handler {
    /// What is kept of a connection while it lasts.
    type Session;
    /// A connection begins.
    fn opened(&mut self, connection: &Connection) -> Self::Session;
    /// An end of a connection did something. False, and nothing done, where it speaks of something unknown that a packet
    /// still to come may explain; `last` says that none will.
    fn operation(
        &mut self,
        connection: &Connection,
        session: &mut Self::Session,
        operation: Operation<'_>,
        last: bool,
    ) -> bool;
    /// What all connections together hold.
    fn account(&mut self) -> &mut Account;
    /// Octets of memory that a session holds.
    fn held(&self, session: &Self::Session) -> usize;
    /// A session is to let go about so many octets.
    fn let_go(&mut self, connection: &Connection, session: &mut Self::Session, excess: usize);
    /// A connection ended, or nothing more can be learnt of it.
    fn closed(&mut self, connection: &Connection, session: Self::Session, counts: &Sides<Counts>);
    /// A connection was refused.
    fn rejected(&mut self, rejected: Rejected);
    /// An end ended a connection, as the other broke the protocol.
    fn terminated(
        &mut self,
        connection: &Connection,
        session: &Self::Session,
        from: Side,
        terminated: (Stamp, Terminate),
    );
}

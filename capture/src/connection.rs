//! What is known of a connection, whatever carries it, and who takes what happens on it.

use rpcrdma::private_data::PrivateData;

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
    /// RFC 8797 private data of each end.
    pub private_data: Sides<Option<PrivateData>>,
    /// What each end announced in the message by which it set up the connection, where that was seen.
    pub announced: Sides<Option<Announced>>,
    /// Connection set-up was seen: both the request and the reply to it.
    pub set_up: bool,
    /// The two ends of the connection are both known.
    pub paired: bool,
}

/// What an end announced while the connection was set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announced {
    /// The message that said it.
    pub stamp: Stamp,
    /// Where there is something that begins as RFC 8797 private data does: its octets, zeros after its end.
    pub octets: Option<[u8; PrivateData::LEN]>,
}

impl Announced {
    pub(crate) fn new(stamp: Stamp, private_data: &[u8]) -> Self {
        let octets = PrivateData::locate(private_data).map(|found| {
            let mut octets = [0; PrivateData::LEN];
            octets.iter_mut().zip(found).for_each(|(octet, found)| *octet = *found);
            octets
        });
        Self { stamp, octets }
    }
}

impl Connection {
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

//! What comes out of a capture.

use crate::infiniband::ordering::Counts;
use crate::infiniband::queue_pairs::Connection;
use crate::link::Address;
use crate::message::Message;
use crate::operation::{Sides, Stamp};
use crate::transaction::Transaction;

/// Something that was found in the capture.
#[derive(Clone, Debug)]
pub enum Event {
    /// A Send on an RPC-over-RDMA connection.
    Message(Message),
    /// An RPC has ended, or will not end in this capture.
    Transaction(Box<Transaction>),
    /// A connection has ended, or the capture has.
    Connection(Box<Report>),
    /// A connection was refused.
    Rejected(Rejected),
}

/// A connection, looked at from its end.
#[derive(Clone, Debug)]
pub struct Report {
    /// Its number, if it carried RPC-over-RDMA.
    pub number: Option<u32>,
    /// What is known of it.
    pub connection: Connection,
    /// Packets by the end that sent them.
    pub counts: Sides<Counts>,
    /// RDMA Writes and Reads that aimed at no memory that a call in the capture advertised.
    pub unclaimed: u64,
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
    /// InfiniBand's reason code.
    pub reason: u16,
}

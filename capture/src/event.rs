//! What comes out of a capture.

use crate::carrier::connection::{Connection, Counts, Rejected};
use crate::carrier::iwarp::terminate::Terminate;
use crate::carrier::operation::{Side, Sides, Stamp};
use crate::link::Address;
use crate::rpc::message::Message;
use crate::rpc::transaction::Transaction;

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
    /// An end ended an iWARP connection that carried RPC-over-RDMA, as the other broke the protocol.
    Terminated(Terminated),
    /// A connection carries RPC-over-RDMA. Given if [`Config::operations`](crate::dissector::Config::operations) asks for
    /// it, as are those below.
    Opened(Box<Opened>),
    /// The capture does not hold something of an RPC-over-RDMA connection.
    Lost(Lost),
    /// Memory was used in a way that no call allows, as far as is known.
    Memory(Box<MemoryUse>),
}

/// A connection that was found to carry RPC-over-RDMA.
#[derive(Clone, Debug)]
pub struct Opened {
    /// Its number.
    pub number: u32,
    /// What is known of it.
    pub connection: Connection,
    /// Its set-up was seen, and all that came after it.
    pub whole: bool,
}

/// Something that the capture does not hold.
#[derive(Clone, Copy, Debug)]
pub struct Lost {
    /// Number of the connection.
    pub connection: u32,
    /// Whose packets they were.
    pub from: Side,
    /// The packet that showed it.
    pub stamp: Stamp,
}

/// A use of memory that is not as it should be.
#[derive(Clone, Copy, Debug)]
pub struct MemoryUse {
    /// Number of the connection.
    pub connection: u32,
    /// The packet, or the Send.
    pub stamp: Stamp,
    /// Whose memory it is.
    pub owner: Side,
    /// The handle of it.
    pub handle: u32,
    /// What was done.
    pub kind: MemoryUseKind,
    /// All that its owner advertised is known; else the memory may be in a call that is not.
    pub known: bool,
}

/// What was done with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryUseKind {
    /// The other end's RDMA Read or RDMA Write does not stay within a segment of a call that waits.
    Outside {
        /// It was an RDMA Write.
        write: bool,
        /// Where it began, or went on after the packet before.
        offset: u64,
        /// Octets from there, as far as one packet tells.
        length: u64,
        /// The segment in which it began: XID of the call, offset, length.
        inside: Option<(u32, u64, u32)>,
        /// XID of a call that had advertised the memory, and was answered before.
        answered: Option<u32>,
    },
    /// The owner's adapter refused the other end's last RDMA Read or RDMA Write, which stayed within a segment.
    Refused {
        /// It was an RDMA Write.
        write: bool,
        /// Where it began.
        offset: u64,
        /// XID of the call.
        xid: u32,
        /// The frame in which the other end had invalidated the handle by a Send With Invalidate.
        invalidated: Option<u64>,
    },
    /// The requester reads a reply in Read chunks that the responder provides: nothing is wrong with that, but it has to be
    /// told when it is done.
    Pulled {
        /// XID of the reply.
        xid: u32,
        /// Octets it asks for.
        length: u64,
    },
    /// A call advertises a handle that another call does, which still waits.
    Shared {
        /// XID of the call.
        xid: u32,
        /// XID of the other call.
        with: u32,
        /// The place of the call in what its sender sends.
        sent: u64,
    },
}

/// A connection, looked at from its end.
#[derive(Clone, Debug)]
pub struct Report {
    /// Its number, if it carried RPC-over-RDMA.
    pub number: Option<u32>,
    /// What is known of it.
    pub connection: Connection,
    /// Packets by the end that sent them. Of iWARP they are TCP segments; `missed` counts the holes, as it is not known how
    /// many segments a hole was, `orphans` also FPDUs that could not be used, and `failed` a Terminate.
    pub counts: Sides<Counts>,
    /// RDMA Writes and Reads that aimed at no memory that a call in the capture advertised.
    pub unclaimed: u64,
}

/// A Terminate message (RFC 5040 section 4.8).
#[derive(Clone, Copy, Debug)]
pub struct Terminated {
    /// The frame that brought it.
    pub stamp: Stamp,
    /// Number of the connection.
    pub connection: u32,
    /// Who ended the connection.
    pub from: Address,
    /// Whose segment was wrong.
    pub to: Address,
    /// Why.
    pub terminate: Terminate,
}

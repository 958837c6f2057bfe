//! Events found in a capture.

use crate::carrier::connection::{Connection, Counts, Endpoint};
use crate::carrier::framed::FramedKind;
use crate::carrier::operation::{MemoryAddress, OperationType, Side, Sides, Stamp};
use crate::carrier::recovery::{AgainFor, MissingPacket, RecoveryKind};
use crate::carrier::rejection::{Rejected, UnansweredRequest};
use crate::carrier::terminate::Terminate;
use crate::file::Time;
use crate::link::{Address, MacAddress};
use crate::rpc::activity::MessageTimes;
use crate::rpc::both_ends::BothEnds;
use crate::rpc::capture_point::{CapturePoint, CapturePointSource};
use crate::rpc::credits::{CreditTimes, CreditUse};
use crate::rpc::kernel_fault::KernelFault;
use crate::rpc::message::Message;
use crate::rpc::promise::Promise;
use crate::rpc::transaction::{Half, Rebuilt, Transaction};
use crate::rpc::waiting::WaitEnd;

/// Something that was found in the capture.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A Send on an RPC-over-RDMA connection.
    Message(Message),
    /// An RPC that has ended, or will not end in this capture.
    Transaction(Box<Transaction>),
    /// An end ended a connection: the calls of the connection no longer wait. Packets may still be on the way.
    Ended(EndedConnection),
    /// A connection that has ended, or whose capture has.
    Connection(Box<Report>),
    /// A connection request that was refused.
    Rejected(Rejected),
    /// A connection request to which the capture holds no answer. Given at the end of the capture, or earlier if there are many.
    UnansweredRequest(UnansweredRequest),
    /// An IP address moved to another MAC address.
    AddressMoved(AddressMoved),
    /// A promise above RPC of which the capture shows no end. Given at the end of the capture.
    Promise(Box<Promise>),
    /// An end terminated an iWARP connection that carried RPC-over-RDMA, because the other broke the protocol.
    Terminated(Terminated),
    /// Something was lost in transit, or seemed to be. Given if
    /// [`Config::recovery`](crate::dissector::Config::recovery) is set.
    Recovery(Recovered),
    /// An indication of loss changed the number of calls that wait.
    Recounted(Recounted),
    /// A connection was found to carry RPC-over-RDMA. Given if
    /// [`Config::operations`](crate::dissector::Config::operations) is set, as are the events below.
    Opened(Box<Opened>),
    /// The capture lacks something of an RPC-over-RDMA connection.
    Lost(Lost),
    /// Memory was used in a way that, as far as is known, no call allows.
    Memory(Box<MemoryUse>),
    /// The adapter of a requester refused a reply because no Receive was posted. Given when the reply was accepted in the end, or
    /// will not be.
    RefusedReply(RefusedReply),
    /// A requester has read the reply that the responder provides in Read chunks: the RPC ends with RDMA_DONE. Given if
    /// [`Config::recovery`](crate::dissector::Config::recovery) is set.
    ReplyRead(ReplyRead),
    /// A fault that a kernel trace shows.
    KernelFault(KernelFault),
    /// Copies of a packet were lost between two places: known if each place has a capture.
    LostBetween(LostBetween),
    /// A setup frame or an FPDU of an iWARP connection. Only [`anonymize`](crate::Config::placements) asks for such
    /// events.
    #[doc(hidden)]
    Framed(Box<FramedPart>),
}

/// Copies of a packet that one capture holds, and that did not pass the place of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LostBetween {
    /// The sender.
    pub from: Address,
    /// The receiver.
    pub to: Address,
    /// Number of lost copies.
    pub count: u32,
    /// Copies in the first capture, whose frames and times are those of all other events.
    pub first: WitnessedCopies,
    /// Copies in the second capture, with the frames and the clock of that capture.
    pub second: WitnessedCopies,
    /// True if the sender is at the place of the first capture.
    pub is_from_first: bool,
}

/// Copies of a packet that a capture holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WitnessedCopies {
    /// Number of copies.
    pub count: u32,
    /// The first of the copies.
    pub earliest: Stamp,
    /// The last of the copies.
    pub latest: Stamp,
}

impl WitnessedCopies {
    /// Counts a copy.
    pub(crate) fn add_copy(&mut self, stamp: Stamp) {
        if self.count == 0 {
            self.earliest = stamp;
        }
        self.count = self.count.saturating_add(1);
        self.latest = stamp;
    }
}

/// Octets of a TCP stream that are a setup frame or an FPDU.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FramedPart {
    /// The connection, which need not carry RPC-over-RDMA.
    pub connection: u64,
    /// The ends of the connection.
    pub ends: Sides<Endpoint>,
    /// The sender.
    pub from: Side,
    /// The place of the first octet in the sender's stream.
    pub place: u64,
    /// Octets that were captured.
    pub octets: Vec<u8>,
    /// A setup frame or an FPDU.
    pub kind: FramedKind,
}

impl Event {
    /// Returns the number of octets of the messages in the event, which make up most of the event's size.
    #[must_use]
    pub fn octets(&self) -> usize {
        let half =
            |half: &Option<Half>| half.as_ref().and_then(|half| half.message.as_ref().ok()).map_or(0, Rebuilt::len);
        match self {
            Self::Message(message) => {
                let call = message.detail.as_ref().and_then(|detail| detail.answers.as_ref());
                message.octets.len() + call.map_or(0, |answers| answers.call.octets.len())
            }
            Self::Transaction(transaction) => {
                let Transaction { call, reply, .. } = transaction.as_ref();
                half(call) + half(reply)
            }
            _ => 0,
        }
    }
}

/// A connection that was found to carry RPC-over-RDMA.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Opened {
    /// Number of the connection.
    pub number: u32,
    /// Known properties of the connection.
    pub connection: Connection,
    /// True if the setup of the connection was seen, and everything after the setup.
    pub whole: bool,
}

/// An indication that something was lost in transit, or seemed to be.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Recovered {
    /// Frame that shows the loss.
    pub stamp: Stamp,
    /// Number of the connection.
    pub connection: u32,
    /// Sender of that frame.
    pub from: Address,
    /// To whom.
    pub to: Address,
    /// Indication that the frame shows.
    pub kind: RecoveryKind,
    /// Place of the subject in the data of an end: the end, and the number of the packet or, for TCP, of the octet. A
    /// retransmission has the place of the first transmission.
    pub place: (Address, u64),
    /// If a TCP segment was retransmitted: the place after the last octet.
    pub end: Option<u64>,
    /// Type of the operation that the packet carries part of, if the packet was retransmitted and the carrier knows the
    /// type; a TCP segment does not show the type.
    pub operation: Option<OperationType>,
    /// If the packet was retransmitted: the number of transmissions by now, as far as the capture shows, or a minimum.
    pub times: Option<u32>,
    /// Reason for a retransmission, if the packet was retransmitted.
    pub again_for: Option<AgainFor>,
    /// If the receiver reported a packet as missing: the state of the packet in the capture, if known.
    pub missing: Option<MissingPacket>,
    /// If the receiver was not ready for a call: the call, if the credits of the requester are known.
    pub refused: Option<RefusedCall>,
    /// The `rdma_xid` of the subject, if known.
    pub xid: Option<u32>,
    /// The requester of that RPC, if the call is known.
    pub requester: Option<Address>,
    /// The end that is the client, if that is known.
    pub client: Option<Address>,
}

/// A call for which the receiver had no Receive posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RefusedCall {
    /// Number of earlier calls that the receiver had taken, and not answered.
    pub taken: u32,
    /// The credits that the last reply granted.
    pub granted: u32,
}

/// Calls of a requester that wait after all, because their replies were refused, or wait no longer.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Recounted {
    /// Number of the connection.
    pub connection: u32,
    /// The end that called.
    pub requester: Side,
    /// The packet that showed the error in the count.
    pub stamp: Stamp,
    /// The time since which the new numbers are right; [`Message::credit_use`] of messages since then has other
    /// numbers.
    pub since: Time,
    /// Additional nanoseconds that all calls waited since then, compared with the other numbers; less than 0 if the
    /// calls waited shorter.
    pub waited_ns: i64,
    /// Additional nanoseconds that the requester was at the limit.
    pub at_limit_ns: i64,
    /// The numbers now.
    pub credit_use: CreditUse,
}

/// The end of a connection, ended by one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EndedConnection {
    /// Number of the connection.
    pub connection: u32,
    /// The packet that ended the connection.
    pub stamp: Stamp,
}

/// A reply that was read from the responder's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplyRead {
    /// Number of the connection.
    pub connection: u32,
    /// The end that called, and read the reply.
    pub requester: Side,
    /// `rdma_xid`.
    pub xid: u32,
    /// The packet that brought the rest of the reply.
    pub stamp: Stamp,
}

/// Something that the capture lacks.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Lost {
    /// Number of the connection.
    pub connection: u32,
    /// The end whose packets are missing.
    pub from: Side,
    /// The packet that showed the gap.
    pub stamp: Stamp,
}

/// An improper use of memory.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct MemoryUse {
    /// Number of the connection.
    pub connection: u32,
    /// The packet, or the Send.
    pub stamp: Stamp,
    /// The end that owns the memory.
    pub owner: Side,
    /// Handle of the memory.
    pub handle: u32,
    /// Kind of use.
    pub kind: MemoryUseKind,
    /// True if everything that the owner advertised is known; otherwise the memory may be in an unknown call.
    pub known: bool,
}

/// Kind of use of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryUseKind {
    /// The other end's RDMA Read or RDMA Write does not stay within a segment of a call that waits.
    Outside {
        /// `true` for an RDMA Write, `false` for an RDMA Read.
        write: bool,
        /// Offset of the operation, or the offset at which the operation continued after the previous packet.
        offset: u64,
        /// Octets from there, as far as one packet shows.
        length: u64,
        /// The segment in which the operation began: XID of the call, offset, length.
        inside: Option<(u32, u64, u32)>,
        /// XID of a call that had advertised the memory, and was answered before.
        answered: Option<u32>,
    },
    /// The owner's adapter refused an RDMA Read or RDMA Write of the other end, which stayed within a segment.
    Refused {
        /// `true` for an RDMA Write, `false` for an RDMA Read.
        write: bool,
        /// Offset in the memory.
        offset: u64,
        /// XID of the call.
        xid: u32,
        /// The frame in which the other end had invalidated the handle by a Send With Invalidate.
        invalidated: Option<u64>,
        /// Address of an RDMA Write of the other end, if that may be what was refused, and not this RDMA Read.
        other: Option<MemoryAddress>,
    },
    /// The requester reads a reply in Read chunks that the responder provides. Reading such a reply is allowed, but the
    /// requester has to report the end of reading.
    ReplyRead {
        /// XID of the reply.
        xid: u32,
        /// Octets that the RDMA Read requests.
        length: u64,
    },
    /// A call advertises a handle that another waiting call advertises too.
    Shared {
        /// XID of the call.
        xid: u32,
        /// XID of the other call.
        with: u32,
        /// The place of the call in everything that the requester sends.
        sent: u64,
    },
}

/// An announcement that another adapter has an IP address now.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AddressMoved {
    /// Frame of the announcement.
    pub stamp: Stamp,
    /// The IP address.
    pub address: Address,
    /// MAC address that sent with this IP address, or announced the IP address, before.
    pub from: MacAddress,
    /// MAC address that is announced.
    pub to: MacAddress,
}

/// A reply that the requester's adapter refused because no Receive was posted ("receiver not ready").
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RefusedReply {
    /// Number of the connection.
    pub connection: u32,
    /// The end that called.
    pub requester: Side,
    /// XID of the reply.
    pub xid: u32,
    /// The first refusal.
    pub stamp: Stamp,
    /// Number of refusals.
    pub times: u32,
    /// The end of the refusals.
    pub end: RefusedReplyEnd,
    /// True if nothing else can have taken the Receive that the requester owed to the reply: the connection was
    /// captured from the setup on without a gap, and the responder has sent nothing but replies to calls that waited.
    pub is_expected: bool,
}

/// End of the refusals of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusedReplyEnd {
    /// The reply was accepted.
    Accepted,
    /// The connection ended before the reply was accepted.
    ConnectionEnded,
    /// The capture does not show the end.
    Unknown,
}

/// The report on a connection at the end of the connection.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// Number of the connection, if that carried RPC-over-RDMA.
    pub number: Option<u32>,
    /// Known properties of the connection.
    pub connection: Connection,
    /// Packets by the end that sent the packets. For iWARP, packets are TCP segments; `missed` then counts gaps,
    /// because the number of segments in a gap is not known, `unmatched` includes FPDUs that could not be used, and
    /// `failed` counts a Terminate.
    pub counts: Sides<Counts>,
    /// RDMA Writes and Reads that aimed at memory that no call in the capture advertised.
    pub unmatched_transfers: u64,
    /// Time when the connection ended; if unknown, the time of the last frame of the capture by then.
    pub until: Time,
    /// Reason why nothing more is known of the connection: an end ended the connection, the capture ended, or another
    /// connection took the same place.
    pub end: WaitEnd,
    /// Times of the connection's messages.
    pub activity: MessageTimes,
    /// Place of the capture of the connection's packets, and the evidence; `None` if unknown.
    pub captured_at: Option<(CapturePoint, CapturePointSource)>,
    /// End whose packets the capture has after their acknowledgements, because another clock gave the times of that direction. What
    /// rests on the order of packets or on times from one direction to the other is not known then, and is not among the counts.
    pub late_clock: Option<Side>,
    /// RPCs as both ends saw the RPCs, if the file holds the packets of the connection as captured at both.
    pub both_ends: Option<Box<BothEnds>>,
    /// For how long each end had no credit for another call.
    pub credit_times: Sides<CreditTimes>,
}

impl Report {
    /// Returns the end none of whose packets were captured, if the other end sent packets. Messages of connection setup
    /// do not count, because such messages may take another path. Returns `None` if the end was heard during the setup
    /// and the other end got no acknowledgement since: then the end is silent, and the capture does not miss packets.
    #[must_use]
    pub fn missing_direction(&self) -> Option<Side> {
        let Sides { active, passive } = self.counts;
        let missing = match (active.packets, passive.packets) {
            (0, 1..) => Side::Active,
            (1.., 0) => Side::Passive,
            _ => return None,
        };
        let was_heard = self.connection.announced.get(missing).is_some();
        let is_silent = was_heard && self.counts.get(missing.other()).timeouts > 0;
        (!is_silent).then_some(missing)
    }
}

/// A Terminate message (RFC 5040 section 4.8).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Terminated {
    /// Frame that completed the message.
    pub stamp: Stamp,
    /// Number of the connection.
    pub connection: u32,
    /// End that closed the connection.
    pub from: Address,
    /// Whose segment was wrong.
    pub to: Address,
    /// Why.
    pub terminate: Terminate,
}

//! Operations of the two ends of a connection, in their order, with any carrier.

use super::recovery::{Backfill, Indication, MissingPacket};
use crate::file::Time;

/// A capture may show packets out of order by this many frames: as many as wait for a missing one.
pub(crate) const DISORDER: u64 = 4096;

/// One of the two ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The end that asked for the connection, or, if that was not seen, the end whose packets were seen first.
    Active,
    /// The other end.
    Passive,
}

impl Side {
    /// The other end.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Active => Self::Passive,
            Self::Passive => Self::Active,
        }
    }
}

/// Something for each end of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sides<T> {
    /// The [`Side::Active`] end's.
    pub active: T,
    /// The [`Side::Passive`] end's.
    pub passive: T,
}

impl<T> Sides<T> {
    /// Returns the value of one end.
    pub const fn get(&self, side: Side) -> &T {
        match side {
            Side::Active => &self.active,
            Side::Passive => &self.passive,
        }
    }

    /// Returns a mutable reference to the value of one end.
    pub const fn get_mut(&mut self, side: Side) -> &mut T {
        match side {
            Side::Active => &mut self.active,
            Side::Passive => &mut self.passive,
        }
    }
}

/// Time and frame of something in the capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Number of the frame, 1-based.
    pub frame: u64,
    /// Time of the frame.
    pub time: Time,
}

/// Sender of a packet, and the frame that holds the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// End that sent the packet.
    pub from: Side,
    /// Frame of the packet.
    pub stamp: Stamp,
}

/// Octets of a packet, which a capture may cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CutOctets<'a> {
    /// Octets that were captured.
    pub octets: &'a [u8],
    /// Number of octets on the wire.
    pub length: usize,
}

/// Address of an octet in the memory of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryAddress {
    /// Handle of the memory.
    pub handle: u32,
    /// Offset of the octet.
    pub offset: u64,
}

/// Place of an octet in the answer to an RDMA Read request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadPlace {
    /// Name of the request, unique on the connection.
    pub request: u64,
    /// Octets of the answer before this one.
    pub at: u64,
}

/// Progress of both ends when one of the two sent something, in the carrier's own numbers.
///
/// A capture may show the two directions in another order than the wire: adapters hand over received packets later than
/// sent ones. Only an end shows what had arrived there when a packet was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamProgress {
    /// Place of the sent data, among all data of the sender.
    pub sent: u64,
    /// Place up to which the sender had acknowledged the other end's data.
    pub received: Option<u64>,
}

impl StreamProgress {
    /// Returns true if the sender is known to have received what the other end sent at that `place`.
    #[must_use]
    pub fn has_received(self, place: u64) -> bool {
        self.received.is_some_and(|received| received >= place)
    }
}

/// A part of everything that an end sends, in the carrier's own numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Places {
    /// First place of the part.
    pub first: u64,
    /// Place after the last one of the part.
    pub end: u64,
}

impl Places {
    /// One place.
    pub(crate) const fn one(place: u64) -> Self {
        Self { first: place, end: place + 1 }
    }
}

/// Type of the operation that a packet carries part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationType {
    /// A Send.
    Send,
    /// An RDMA Write.
    Write,
    /// The request of an RDMA Read.
    ReadRequest,
    /// The answer to one.
    ReadResponse,
}

impl OperationType {
    /// Name of the operation type.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Send => "Send",
            Self::Write => "RDMA Write",
            Self::ReadRequest => "RDMA Read request",
            Self::ReadResponse => "RDMA Read response",
        }
    }
}

/// A step of one end of a connection; repetitions, losses and disorder of the carrier have been undone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation<'a> {
    /// End that performed the operation.
    pub from: Side,
    /// Frame that completed the operation.
    pub stamp: Stamp,
    /// First frame with octets of the operation: `stamp`, unless the receiver refused an earlier copy, or the operation
    /// spans frames.
    pub began: Stamp,
    /// Number of earlier copies of the content of that frame, which did not arrive.
    pub retransmitted: u32,
    /// If that frame is a copy that was sent later: time at which the content was first sent, or the octets after the
    /// content.
    pub first_sent: Option<Time>,
    /// Places of the operation in the data of `from`; of an InfiniBand Read response, in what the other end sends. For
    /// a retransmitted packet, the places of the packet; of another indication, one place.
    pub places: Places,
    /// The operation.
    pub kind: OperationKind<'a>,
}

impl Operation<'_> {
    /// Returns the time at which the content was first sent, if an earlier frame shows that.
    pub(crate) fn first_sent(&self) -> Option<Time> {
        let began = (self.retransmitted > 0 && self.began.frame < self.stamp.frame).then_some(self.began.time);
        self.first_sent.into_iter().chain(began).min()
    }
}

/// Operation of one end.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OperationKind<'a> {
    /// Part of a Send.
    Send {
        /// `true` if the Send begins here.
        first: bool,
        /// `true` if the Send ends here.
        last: bool,
        /// Captured part of the data.
        data: &'a [u8],
        /// Octets the data had on the wire.
        length: usize,
        /// The handle that Send With Invalidate names, known with the last part.
        invalidates: Option<u32>,
        /// Progress of both ends.
        progress: StreamProgress,
    },
    /// Data that was written into the other end's memory.
    Write {
        /// Handle of the memory.
        handle: u32,
        /// Offset of the first octet.
        offset: u64,
        /// Captured part of the data.
        data: &'a [u8],
        /// Octets the data had on the wire.
        length: usize,
        /// True for the first part of an RDMA Write.
        first: bool,
    },
    /// This end asks for data from the other end's memory.
    ReadRequest {
        /// Name of the request, which the responses carry: unique on the connection.
        request: u64,
        /// Handle of the memory.
        handle: u32,
        /// Offset of the first octet.
        offset: u64,
        /// The number of octets requested.
        length: u32,
    },
    /// Data from this end's memory, which the other end has requested.
    ReadResponse {
        /// The Read request that the response answers.
        request: u64,
        /// Octets of the answer before this part.
        at: u64,
        /// Captured part of the data.
        data: &'a [u8],
        /// Octets the data had on the wire.
        length: usize,
    },
    /// The capture does not hold some of what this end sent next.
    Lost,
    /// TCP: a segment of this end brings octets from before what was captured already.
    Backfill(Backfill),
    /// TCP: this end has reported that the other end's octets in these places were lost, and did not just come out of order.
    Missing,
    /// An indication of loss: a retransmission, a negative acknowledgement, or a cause of retransmission. An indication
    /// may come before the packet concerned; that of a discarded packet comes only with the retransmission.
    Indication {
        /// Whose numbers `place` is one of: of a negative acknowledgement and of an InfiniBand Read response, the other end's.
        of: Side,
        /// Place of the packet concerned, in the data of end `of`.
        place: u64,
        /// The indication.
        sign: Indication,
        /// Type of the operation in the retransmitted packet, if the carrier knows the type.
        operation: Option<OperationType>,
        /// If the receiver reports a packet as missing: copies of that packet in the capture, if known.
        missing: Option<MissingPacket>,
    },
}

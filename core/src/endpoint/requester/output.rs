//! What a Requester asks its driver to do.

use core::ops::Range;

use crate::endpoint::CallId;
use crate::endpoint::stream::Ranges;
use crate::segment::Segment;
use crate::v1::ErrorBody;
use crate::v2::ErrorBodyV2;

/// What is to be done.
#[derive(Clone, Debug)]
pub enum Output<'a> {
    /// Register memory, and report `Registered`.
    Register {
        /// The Call.
        call: CallId,
        /// Which of its regions.
        region: u16,
        /// What to register.
        memory: Memory,
    },
    /// Post a Send: the octets of the header from the buffer, then the ranges of the Call's Payload stream. Report
    /// `Sent`.
    ///
    /// A continued Call has several, one for each part of its Payload stream. After
    /// [`Requester::pull_replies`](super::Requester::pull_replies) a Call may have a second one without payload: the
    /// `RDMA_DONE`.
    Send {
        /// The Call.
        call: CallId,
        /// Octets of the header.
        header: usize,
        /// What of the Payload stream follows.
        payload: Ranges<'a>,
    },
    /// Copy octets of a Receive into the memory in which a continued reply is put together, behind those that are there:
    /// never more than there is [room](Memory::Reply) for. The Receive goes back after that. If the Call exposes memory for
    /// its reply, this is other memory.
    Place {
        /// The Call.
        call: CallId,
        /// The driver's name for the Receive.
        receive: u32,
        /// Where in the Receive.
        from: usize,
        /// How many octets.
        length: u32,
        /// Where in the reply.
        at: u32,
    },
    /// Post an RDMA Read into the room for a Long Reply, and report `Completed`. Only after
    /// [`Requester::pull_replies`](super::Requester::pull_replies).
    Read {
        /// The Call.
        call: CallId,
        /// What is read.
        source: Segment,
        /// Where in the room for the reply.
        at: u32,
    },
    /// Invalidate the memory of this handle, and report `Invalidated`.
    Invalidate {
        /// The Call.
        call: CallId,
        /// Which of its regions.
        region: u16,
        /// The handle it was given.
        handle: u32,
    },
    /// A Receive goes back to the driver.
    Release {
        /// The driver's name for it.
        receive: u32,
    },
    /// A Call has ended; its memory belongs to the caller again.
    Done {
        /// The Call.
        call: CallId,
        /// How it ended.
        end: End,
        /// With a reply: octets in the Write chunk of each result. Empty for a Call under integrity or privacy, which has
        /// no Write chunks.
        results: &'a [u32],
    },
    /// End the connection, and report `Disconnected`.
    Disconnect,
}

/// Memory that is registered for a Call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Memory {
    /// A range of the Call's Payload stream, for remote read.
    Argument(Range<u32>),
    /// A range of the room for the result with this number, for remote write.
    Result(u16, Range<u32>),
    /// A range of the room for a Long Reply, for remote write. The room has
    /// [`Call::reply_length`](super::Call::reply_length) octets, and under integrity or privacy also those of
    /// [`Call::results`](super::Call::results), each result with its padding; and ends at a multiple of four. So ranges
    /// may end past `reply_length`.
    Reply(Range<u32>),
}

/// How a Call ended. Like [`Output`], it is exhaustive: a driver that does not act on every case should not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The Payload stream of the reply is in a Receive, which goes back to the driver.
    Reply {
        /// The driver's name for the Receive.
        receive: u32,
        /// Where in it.
        payload: Range<usize>,
    },
    /// A Long Reply: this many octets in the room for it. The caller has to check that its XID is that of the Call.
    LongReply(u32),
    /// A continued reply: this many octets, where `Place` has put them. The caller has to check that its XID is that of the
    /// Call.
    ContinuedReply(u32),
    /// A Call-only was sent.
    Sent,
    /// The Responder answered `RDMA_ERROR`; calling again does not help (section 4.5).
    Error(ErrorBody),
    /// The Responder answered `RDMA2_ERROR`.
    ErrorV2(ErrorBodyV2),
    /// What came as the reply of version 2 is none: it has no Payload stream, or chunks that are not those of the Call
    /// (version two draft -07 section 7.2). In version 1, such a Send is ignored.
    BadReply,
    /// The Responder provides a reply of this many octets, or sends at least that many of a continued one; there is no
    /// room for it, or it has too many segments. It is not pulled, or discarded.
    NoRoom(u64),
    /// Memory could not be registered.
    NotRegistered,
    /// [`Requester::cancel`](super::Requester::cancel) was called.
    Cancelled,
    /// The connection ended first.
    Lost,
}

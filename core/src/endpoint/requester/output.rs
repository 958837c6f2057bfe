//! Output of a Requester for the driver.

use core::ops::Range;

use crate::endpoint::CallId;
use crate::endpoint::stream::Ranges;
use crate::segment::Segment;
use crate::v1::ErrorBody;
use crate::v2::ErrorBodyV2;

/// An operation for the driver.
#[derive(Clone, Debug)]
pub enum Output<'a> {
    /// Register memory, and report `Registered`.
    Register {
        /// The Call.
        call: CallId,
        /// Number of the region.
        region: u16,
        /// The memory to register.
        memory: Memory,
    },
    /// Post a Send: the octets of the header from the buffer, then the ranges of the Call's Payload stream. Report
    /// `Sent`.
    ///
    /// A continued Call has several, one for each part of the Payload stream. After
    /// [`Requester::read_provided_replies`](super::Requester::read_provided_replies) a Call may have a second one
    /// without payload: the `RDMA_DONE`.
    Send {
        /// The Call.
        call: CallId,
        /// Octets of the header.
        header: usize,
        /// The ranges of the Payload stream that follow.
        payload: Ranges<'a>,
    },
    /// Append octets of a Receive to the buffer in which a continued reply is assembled: never more than fit into [its
    /// buffer](Memory::Reply). The Receive is released after that. A Call that exposes memory for a reply copies to
    /// other memory.
    Place {
        /// The Call.
        call: CallId,
        /// The driver's name for the Receive.
        receive: u32,
        /// Offset in the Receive.
        from: usize,
        /// Number of octets.
        length: u32,
        /// Offset in the reply.
        at: u32,
    },
    /// Post an RDMA Read into the buffer for a Long Reply, and report `Completed`. Only after
    /// [`Requester::read_provided_replies`](super::Requester::read_provided_replies).
    Read {
        /// The Call.
        call: CallId,
        /// Memory to read.
        source: Segment,
        /// Offset in the buffer for the reply.
        at: u32,
    },
    /// Invalidate the memory of this handle, and report `Invalidated`.
    Invalidate {
        /// The Call.
        call: CallId,
        /// Number of the region.
        region: u16,
        /// Its handle.
        handle: u32,
    },
    /// Release a Receive, which belongs to the driver again.
    Release {
        /// The driver's name for the Receive.
        receive: u32,
    },
    /// A Call has ended; the memory belongs to the caller again.
    Done {
        /// The Call.
        call: CallId,
        /// Outcome.
        end: End,
        /// With a reply: number of octets in the Write chunk of each result. Empty for a Call under integrity or
        /// privacy, which has no Write chunks.
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
    /// A range of the buffer for the result with this number, for remote write.
    Result(u16, Range<u32>),
    /// A range of the buffer for a Long Reply, for remote write. The buffer has
    /// [`Call::reply_length`](super::Call::reply_length) octets, and under integrity or privacy also
    /// [`Call::results`](super::Call::results), each result padded; the end is a multiple of four. So ranges may end
    /// past `reply_length`.
    Reply(Range<u32>),
}

/// Outcome of a Call. Exhaustive, like [`Output`]: a driver that does not handle every case should not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The Payload stream of the reply is in a Receive, which belongs to the driver again.
    Reply {
        /// The driver's name for the Receive.
        receive: u32,
        /// Range of the Payload stream in the Receive.
        payload: Range<usize>,
    },
    /// A Long Reply of this many octets in the buffer. The caller has to check that the XID is that of the Call.
    LongReply(u32),
    /// A continued reply of this many octets, as copied by `Place`. The caller has to check that the XID is that of the
    /// Call.
    ContinuedReply(u32),
    /// A one-way Call was sent.
    Sent,
    /// The Responder answered `RDMA_ERROR`; calling again does not help (section 4.5).
    Error(ErrorBody),
    /// The Responder answered `RDMA2_ERROR`.
    ErrorV2(ErrorBodyV2),
    /// The answer of version 2 is no valid reply: there is no Payload stream, or the chunks are not the chunks of the
    /// Call (version two draft -07 section 7.2). In version 1, such a Send is ignored.
    BadReply,
    /// The Responder provides a reply of this many octets, or sends at least that many of a continued one. The buffer
    /// is too small, or there are too many segments. The reply is not read, or is discarded.
    NoRoom(u64),
    /// Memory could not be registered.
    NotRegistered,
    /// [`Requester::cancel`](super::Requester::cancel) was called.
    Cancelled,
    /// The connection ended first.
    Lost,
}

//! Types shared by Requester and Responder: terms, inputs, outputs, and the memory of an endpoint.

use core::ops::Range;
use core::ptr;

use rpcrdma::endpoint::{CallId, InputError, Item, PayloadFormats, Ranges, Terms, Version};
use rpcrdma::segment::Segment;
use rpcrdma::v2::Family;
use rpcrdma::{EncodeError, PrivateData};

use crate::argument::{Extent, OutPointer, values};
use crate::configuration::{RPCRDMA_RANGES, RPCRDMA_SEGMENTS};
use crate::lists::rpcrdma_segment;
use crate::private_data::RPCRDMA_REMOTE_INVALIDATION;
use crate::status::rpcrdma_status;
use crate::status::rpcrdma_status::{
    RPCRDMA_IN_USE, RPCRDMA_INVALID, RPCRDMA_NO_ROOM, RPCRDMA_NULL, RPCRDMA_OVERLAP, RPCRDMA_POLL_FIRST,
    RPCRDMA_TOO_MANY, RPCRDMA_UNALIGNED, RPCRDMA_UNEXPECTED,
};

/// Version 1.
pub const RPCRDMA_VERSION_1: u32 = 1;
/// Version 2 in the wire format of family A.
pub const RPCRDMA_VERSION_2A: u32 = 2;
/// Version 2 in the wire format of family B.
pub const RPCRDMA_VERSION_2B: u32 = 4;

/// Terms of one direction of a connection. In version 2, rpcrdma_channel_terms returns them.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct rpcrdma_terms {
    /// The inline threshold for Calls, in octets (RFC 8166 section 3.3.2): client_to_server of rpcrdma_agreement, if the
    /// client calls. At least 1024 in version 1, and 1 in version 2.
    pub call_threshold: u32,
    /// The inline threshold for Replies, in octets, with the same minimum: server_to_client, if the client calls.
    pub reply_threshold: u32,
    /// RPCRDMA_REMOTE_INVALIDATION, or 0.
    pub flags: u32,
    /// RPCRDMA_VERSION_1 or 0, RPCRDMA_VERSION_2A or RPCRDMA_VERSION_2B; version 1 alone in a library built with VERSION_2=no.
    pub version: u32,
    /// The forms that messages may have: RPCRDMA_FORMATS_ALL and so on.
    pub formats: u32,
}

/// Every form.
pub const RPCRDMA_FORMATS_ALL: u32 = 0;
/// None: there are no calls in this direction.
pub const RPCRDMA_FORMATS_NONE: u32 = 1;
/// One Send, without chunks.
pub const RPCRDMA_FORMATS_SIMPLE: u32 = 2;
/// One Send or several, without chunks.
pub const RPCRDMA_FORMATS_CONTINUED: u32 = 3;

/// Limits of the chunks of an end's Calls.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct rpcrdma_segment_limits {
    /// The most octets of a segment.
    pub octets: u32,
    /// The most segments of a Call.
    pub count: u32,
}

/// A data item in a Payload stream, which may be moved to a chunk.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct rpcrdma_item {
    /// Octets from the start of the stream to the item, after the count of a variable-length item. A multiple of four.
    pub position: u32,
    /// Length in octets, without padding.
    pub length: u32,
}

/// Octets of a stream or of memory.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct rpcrdma_range {
    /// Index of the first.
    pub from: u32,
    /// Number of entries.
    pub length: u32,
}

/// An event, for rpcrdma_requester_handle and rpcrdma_responder_handle. kind says which of the other members count.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rpcrdma_input {
    /// One of RPCRDMA_IN_...
    pub kind: u32,
    /// The driver's name for a Receive.
    pub receive: u32,
    /// The call, from the output.
    pub call: u64,
    /// The received octets.
    pub octets: *const u8,
    /// Number of octets.
    pub length: usize,
    /// Number of the region of the call, from the output.
    pub region: u32,
    /// The handle under which memory was registered, or that was invalidated.
    pub handle: u32,
    /// The offset of the first octet of memory that was registered.
    pub offset: u64,
    /// RPCRDMA_IN_BROKEN: the call, from the arrival.
    pub xid: u32,
    /// The same, for a Responder: the error, from the arrival.
    pub error: u32,
    /// Words after the code of the error.
    pub words: [u32; 2],
}

/// A Receive is complete: receive, octets, length. The Receive belongs to the endpoint until an output returns the
/// Receive.
pub const RPCRDMA_IN_RECEIVED: u32 = 1;
/// Requester: the same, and the Send has invalidated handle.
pub const RPCRDMA_IN_RECEIVED_INVALIDATING: u32 = 2;
/// Memory was registered: call, region, handle, offset.
pub const RPCRDMA_IN_REGISTERED: u32 = 3;
/// Memory could not be registered: call, region.
pub const RPCRDMA_IN_NOT_REGISTERED: u32 = 4;
/// The peer cannot reach memory any more: call, region.
pub const RPCRDMA_IN_INVALIDATED: u32 = 5;
/// Requester: a Send is complete: call.
pub const RPCRDMA_IN_SENT: u32 = 6;
/// An RDMA Read is complete: call.
pub const RPCRDMA_IN_COMPLETED: u32 = 7;
/// Responder: the RDMA Read or RDMA Write that was asked for last is not posted, for lack of memory: call. The Call is
/// answered with an error, after RPCRDMA_IN_COMPLETED for each of the other RDMA Reads.
pub const RPCRDMA_IN_NOT_POSTED: u32 = 8;
/// Something that was posted could not be carried out.
pub const RPCRDMA_IN_FAILED: u32 = 9;
/// The connection is over, and the peer can reach no memory any more.
pub const RPCRDMA_IN_DISCONNECTED: u32 = 10;
/// Version 2: the rest of a message will not come, as rpcrdma_channel_received said: xid; for a Responder also error, words.
pub const RPCRDMA_IN_BROKEN: u32 = 11;
/// Responder: the RDMA Read or RDMA Write that was asked for last is not posted yet, because the memory has to be made
/// ready first: call. Nothing more is asked for this call until RPCRDMA_IN_RESUMED.
pub const RPCRDMA_IN_POSTPONED: u32 = 12;
/// Responder: what was postponed can be asked for again: call.
pub const RPCRDMA_IN_RESUMED: u32 = 13;

/// A step for the driver, from rpcrdma_requester_poll and rpcrdma_responder_poll. kind says which of the other members count;
/// the rest are 0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rpcrdma_output {
    /// One of RPCRDMA_DO_...
    pub kind: u32,
    /// The driver's name for a Receive.
    pub receive: u32,
    /// The call. The low 16 bits are below RPCRDMA_CALLS, and no other call of this endpoint has the same low bits at
    /// the same time: an index for a table of the driver.
    pub call: u64,
    /// Number of the region of the call, or of the result.
    pub region: u32,
    /// A handle.
    pub handle: u32,
    /// Offset in the Receive.
    pub from: usize,
    /// Number of octets.
    pub length: u64,
    /// Offset in the memory of the call.
    pub at: u32,
    /// RPCRDMA_DO_DONE: how the call ended, one of RPCRDMA_END_...
    pub end: u32,
    /// RPCRDMA_END_ERROR: RPCRDMA_ERR_VERS or RPCRDMA_ERR_CHUNK; RPCRDMA_END_ERROR_V2: rdma_err.
    pub error: u32,
    /// RPCRDMA_ERR_VERS: the lowest and the highest version that is supported. RPCRDMA_END_ERROR_V2: the words after rdma_err.
    pub words: [u32; 2],
    /// Memory of the peer.
    pub segment: rpcrdma_segment,
    /// Octets of the header in the buffer.
    pub header_length: usize,
    /// RPCRDMA_DO_SEND of a Responder: 1 for the last Send of the reply, else 0.
    pub is_last: u32,
    /// RPCRDMA_DO_DONE with a reply: octets in the Write chunk of each result. In the Requester's memory, until the
    /// Requester is next used.
    pub results: *const u32,
    /// Number of results.
    pub results_count: usize,
    /// Octets of the Payload stream, or of memory to register.
    pub ranges: [rpcrdma_range; RPCRDMA_RANGES],
    /// Number of ranges.
    pub ranges_count: usize,
}

/// There is nothing to do until the next input.
pub const RPCRDMA_DO_NOTHING: u32 = 0;
/// Post a Send: header_length octets of the buffer, then the ranges of the Payload stream of the Call or of the reply. Report
/// RPCRDMA_IN_SENT to a Requester. A continued message of version 2 has several Sends.
pub const RPCRDMA_DO_SEND: u32 = 1;
/// Responder: the same, as Send with Invalidate of handle.
pub const RPCRDMA_DO_SEND_INVALIDATING: u32 = 2;
/// A Receive goes back to the driver: receive.
pub const RPCRDMA_DO_RELEASE: u32 = 3;
/// Requester: register the first range, of the Call's Payload stream for remote read, and report that: call, region.
pub const RPCRDMA_DO_REGISTER_ARGUMENT: u32 = 4;
/// Requester: register the first range, of the buffer for a result for remote write, and report that: call, region; at
/// is the number of the result.
pub const RPCRDMA_DO_REGISTER_RESULT: u32 = 5;
/// Requester: register the first range, of the buffer for a Long Reply for remote write, and report that: call, region.
/// The buffer has reply_length octets, rounded up to a multiple of four. If the credential of the Call is RPCSEC_GSS
/// with integrity or privacy, the octets of all results are added, each rounded up, because no result gets a Write
/// chunk.
pub const RPCRDMA_DO_REGISTER_REPLY: u32 = 6;
/// Invalidate the memory of handle, and report that: call, region.
pub const RPCRDMA_DO_INVALIDATE: u32 = 7;
/// Copy octets of a Receive into the memory in which a Call, or a continued reply, is assembled: call, receive, from,
/// length, at. A reply never has more octets than the buffer; memory that is exposed for the reply is other memory.
pub const RPCRDMA_DO_PLACE: u32 = 8;
/// Post an RDMA Read of segment into the memory in which a Call is assembled, and report that: call, segment, at. For a
/// Requester, into the buffer for a Long Reply, after rpcrdma_requester_read_provided_replies.
pub const RPCRDMA_DO_READ: u32 = 9;
/// Responder: post an RDMA Write of length octets of the reply, from at in the Payload stream with all results, into
/// segment: call, at, segment. Nothing is reported.
pub const RPCRDMA_DO_WRITE: u32 = 10;
/// Responder: hand a Call in a Receive to the upper layer: call, receive, from, length. The Receive stays unchanged
/// until released.
pub const RPCRDMA_DO_DELIVER: u32 = 11;
/// Responder: hand an assembled Call to the upper layer: call, length. If the Call does not begin with the XID of
/// rpcrdma_responder_find, refuse the Call: rpcrdma_responder_refuse.
pub const RPCRDMA_DO_DELIVER_ASSEMBLED: u32 = 12;
/// Requester: a Call has ended: call, end, results. The memory belongs to the caller again.
pub const RPCRDMA_DO_DONE: u32 = 13;
/// End the connection, and report RPCRDMA_IN_DISCONNECTED.
pub const RPCRDMA_DO_DISCONNECT: u32 = 14;
/// Responder: register the first range, the whole reply, for remote read, and report that: call. After
/// rpcrdma_responder_provide_replies.
pub const RPCRDMA_DO_PROVIDE_REPLY: u32 = 15;

/// The reply is in a Receive: receive, from, length. The driver has the Receive back, and posts the Receive again after
/// reading.
pub const RPCRDMA_END_REPLY: u32 = 1;
/// The reply is in the buffer for a Long Reply: length. The caller has to check that the XID is that of the Call.
pub const RPCRDMA_END_LONG_REPLY: u32 = 2;
/// The Responder answered RDMA_ERROR: error, words. Calling again does not help.
pub const RPCRDMA_END_ERROR: u32 = 3;
/// Memory could not be registered.
pub const RPCRDMA_END_NOT_REGISTERED: u32 = 4;
/// The Call was cancelled.
pub const RPCRDMA_END_CANCELLED: u32 = 5;
/// The connection ended first.
pub const RPCRDMA_END_LOST: u32 = 6;
/// The Responder answered RDMA2_ERROR: error, words.
pub const RPCRDMA_END_ERROR_V2: u32 = 7;
/// The reply is in the memory that RPCRDMA_DO_PLACE has filled: length. The caller has to check that the XID is that of
/// the Call.
pub const RPCRDMA_END_CONTINUED_REPLY: u32 = 8;
/// A one-way Call was sent.
pub const RPCRDMA_END_SENT: u32 = 9;
/// The message that came as the reply of version 2 is none.
pub const RPCRDMA_END_BAD_REPLY: u32 = 10;
/// The reply has more octets than the buffer, or too many segments: length, or at least that many.
pub const RPCRDMA_END_NO_ROOM: u32 = 11;

impl rpcrdma_input {
    /// Returns the octets of a Receive, if the input is about a Receive.
    pub(crate) fn received(&self) -> Result<Extent, rpcrdma_status> {
        match self.kind {
            RPCRDMA_IN_RECEIVED | RPCRDMA_IN_RECEIVED_INVALIDATING => Extent::from_array(self.octets, self.length),
            _ => Ok(Extent::NONE),
        }
    }
}

impl rpcrdma_output {
    pub(crate) const NOTHING: Self = Self {
        kind: RPCRDMA_DO_NOTHING,
        receive: 0,
        call: 0,
        region: 0,
        handle: 0,
        from: 0,
        length: 0,
        at: 0,
        end: 0,
        error: 0,
        words: [0; 2],
        segment: rpcrdma_segment { handle: 0, length: 0, offset: 0 },
        header_length: 0,
        is_last: 0,
        results: ptr::null(),
        results_count: 0,
        ranges: [rpcrdma_range { from: 0, length: 0 }; RPCRDMA_RANGES],
        ranges_count: 0,
    };

    /// Sets the request and the call. The other members are as in [`NOTHING`](Self::NOTHING).
    pub(crate) fn ask(&mut self, kind: u32, call: CallId) -> &mut Self {
        (self.kind, self.call) = (kind, call.to_number());
        self
    }

    /// Says what is to be done with a Receive.
    pub(crate) const fn ask_of_receive(&mut self, kind: u32, receive: u32) {
        (self.kind, self.receive) = (kind, receive);
    }

    pub(crate) fn add_range(&mut self, range: Range<u32>) {
        if let Some(slot) = self.ranges.get_mut(self.ranges_count) {
            *slot = rpcrdma_range { from: range.start, length: range.end.saturating_sub(range.start) };
            self.ranges_count = self.ranges_count.saturating_add(1);
        }
    }

    /// Adds ranges. There are never more than fit: one more than items, which the sizes of the endpoints limit.
    pub(crate) fn add_ranges(&mut self, ranges: Ranges<'_>) {
        ranges.for_each(|range| self.add_range(range));
    }
}

impl From<Segment> for rpcrdma_segment {
    fn from(Segment { handle, length, offset }: Segment) -> Self {
        Self { handle, length, offset }
    }
}

/// Returns the version with this number; 0, of a structure that was zeroed, is version 1.
const fn version(number: u32) -> Result<Version, rpcrdma_status> {
    match number {
        0 | RPCRDMA_VERSION_1 => Ok(Version::One),
        #[cfg(feature = "version-2")]
        RPCRDMA_VERSION_2A => Ok(Version::Two(Family::A)),
        #[cfg(feature = "version-2")]
        RPCRDMA_VERSION_2B => Ok(Version::Two(Family::B)),
        _ => Err(RPCRDMA_INVALID),
    }
}

pub(crate) const fn version_number(version: Version) -> u32 {
    match version.family() {
        None => RPCRDMA_VERSION_1,
        Some(Family::A) => RPCRDMA_VERSION_2A,
        Some(Family::B) => RPCRDMA_VERSION_2B,
    }
}

/// Returns true if the only flag of terms is set.
pub(crate) const fn remote_invalidation(flags: u32) -> Result<bool, rpcrdma_status> {
    match flags {
        0 => Ok(false),
        RPCRDMA_REMOTE_INVALIDATION => Ok(true),
        _ => Err(RPCRDMA_INVALID),
    }
}

impl TryFrom<rpcrdma_terms> for Terms {
    type Error = rpcrdma_status;

    fn try_from(terms: rpcrdma_terms) -> Result<Self, rpcrdma_status> {
        let version = version(terms.version)?;
        // RFC 8166 section 3.3.2. In version 2 the peer says how long its Receives are.
        let least = if version == Version::One { PrivateData::SMALLEST_SIZE } else { 1 };
        if terms.call_threshold < least || terms.reply_threshold < least {
            return Err(RPCRDMA_INVALID);
        }
        Ok(Self {
            call_threshold: terms.call_threshold,
            reply_threshold: terms.reply_threshold,
            remote_invalidation: remote_invalidation(terms.flags)?,
            version,
            formats: match terms.formats {
                RPCRDMA_FORMATS_ALL => PayloadFormats::All,
                RPCRDMA_FORMATS_NONE => PayloadFormats::None,
                RPCRDMA_FORMATS_SIMPLE => PayloadFormats::Simple,
                RPCRDMA_FORMATS_CONTINUED => PayloadFormats::Continued,
                _ => return Err(RPCRDMA_INVALID),
            },
        })
    }
}

impl From<Terms> for rpcrdma_terms {
    fn from(terms: Terms) -> Self {
        Self {
            call_threshold: terms.call_threshold,
            reply_threshold: terms.reply_threshold,
            flags: if terms.remote_invalidation { RPCRDMA_REMOTE_INVALIDATION } else { 0 },
            version: version_number(terms.version),
            formats: match terms.formats {
                PayloadFormats::All => RPCRDMA_FORMATS_ALL,
                PayloadFormats::None => RPCRDMA_FORMATS_NONE,
                PayloadFormats::Simple => RPCRDMA_FORMATS_SIMPLE,
                PayloadFormats::Continued => RPCRDMA_FORMATS_CONTINUED,
            },
        }
    }
}

impl From<InputError> for rpcrdma_status {
    fn from(error: InputError) -> Self {
        match error {
            InputError::NotPolled => RPCRDMA_POLL_FIRST,
            InputError::Unexpected => RPCRDMA_UNEXPECTED,
            InputError::HandleInUse => RPCRDMA_IN_USE,
            _ => RPCRDMA_INVALID,
        }
    }
}

/// Writes the output of an endpoint: `ask` fills an output that asks for nothing.
pub(crate) fn answer_poll<O>(
    output: &mut OutPointer<rpcrdma_output>,
    polled: Result<Option<O>, EncodeError>,
    ask: impl FnOnce(O, &mut rpcrdma_output),
) -> Result<(), rpcrdma_status> {
    let output = output.filled_with(rpcrdma_output::NOTHING);
    match polled {
        Ok(Some(wanted)) => ask(wanted, output),
        Ok(None) => {}
        Err(error) => {
            output.header_length = error.needed;
            return Err(RPCRDMA_NO_ROOM);
        }
    }
    Ok(())
}

/// Items of C's.
pub(crate) struct Items {
    items: [Item; RPCRDMA_SEGMENTS],
    count: usize,
}

impl Items {
    /// # Safety
    /// As of [`values`].
    pub(crate) unsafe fn read(start: *const rpcrdma_item, count: usize) -> Result<Self, rpcrdma_status> {
        // SAFETY: promised by the caller.
        let given = unsafe { values(start, count) }?;
        let mut items = [Item::default(); RPCRDMA_SEGMENTS];
        let free = items.get_mut(..count).ok_or(RPCRDMA_TOO_MANY)?;
        for (slot, item) in free.iter_mut().zip(given) {
            *slot = Item { position: item.position, length: item.length };
        }
        Ok(Self { items, count })
    }

    pub(crate) fn as_slice(&self) -> &[Item] {
        self.items.get(..self.count).unwrap_or_default()
    }
}

/// An endpoint in memory of C's. The mark tells the type, so that memory that was never initialised is noticed.
#[repr(C)]
pub(crate) struct Kept<T> {
    mark: u64,
    endpoint: T,
}

impl<T> Kept<T> {
    /// Puts an endpoint at the start of memory.
    ///
    /// # Safety
    /// The memory is one that this refuses, or has `length` octets that can be written.
    pub(crate) unsafe fn place(
        memory: *mut u8,
        length: usize,
        mark: u64,
        endpoint: impl FnOnce() -> T,
    ) -> Result<(), rpcrdma_status> {
        let pointer = memory.cast::<Self>();
        if pointer.is_null() {
            return Err(RPCRDMA_NULL);
        }
        if !pointer.is_aligned() {
            return Err(RPCRDMA_UNALIGNED);
        }
        if length < size_of::<Self>() {
            return Err(RPCRDMA_NO_ROOM);
        }
        // SAFETY: not null, aligned, large enough, and writable according to the caller.
        unsafe { ptr::write(pointer, Self { mark, endpoint: endpoint() }) };
        Ok(())
    }

    /// Returns the endpoint that [`place`](Self::place) has written to `memory`, if the endpoint shares no octet with
    /// `others`. This check comes before any reference, because two references that overlap would be undefined
    /// behaviour.
    ///
    /// # Safety
    /// The memory is one that this refuses, or was given to `place`, and nobody else uses it during `'a`.
    pub(crate) unsafe fn find<'a>(memory: *mut u8, mark: u64, others: &[Extent]) -> Result<&'a mut T, rpcrdma_status> {
        let pointer = memory.cast::<Self>();
        if pointer.is_null() {
            return Err(RPCRDMA_NULL);
        }
        if !pointer.is_aligned() {
            return Err(RPCRDMA_UNALIGNED);
        }
        // SAFETY: not null, aligned; the mark is read as octets of memory that is there, whatever is in it.
        if unsafe { ptr::read(memory.cast::<u64>()) } != mark {
            return Err(RPCRDMA_INVALID);
        }
        let own = Extent::from_array(pointer, 1)?;
        if others.iter().any(|other| own.overlaps(*other)) {
            return Err(RPCRDMA_OVERLAP);
        }
        // SAFETY: the mark is one that only `place` writes, together with the endpoint.
        Ok(unsafe { &mut (*pointer).endpoint })
    }
}

//! State shared by both directions of a connection: the version, and in version 2 credits and transport properties.

use core::ptr;

use rpcrdma::endpoint::channel::{Arrival, Channel, HostAuthentication, Negotiation};
use rpcrdma::endpoint::{SegmentLimits, Versions};
use rpcrdma::v2::{Properties, ReverseDirection};

use crate::argument::{Buffer, Extent, OutOctets, OutPointer, status, value, values};
use crate::configuration::{RPCRDMA_ALIGNMENT, same_build};
use crate::direction::{RPCRDMA_ARRIVED_CALL, RPCRDMA_ARRIVED_REPLY, RPCRDMA_ARRIVED_VERSION_1};
use crate::endpoint::{Kept, remote_invalidation, rpcrdma_segment_limits, rpcrdma_terms, version_number};
use crate::message_v2::{ErrorWords, error_words};
use crate::status::rpcrdma_status;
use crate::status::rpcrdma_status::{RPCRDMA_INVALID, RPCRDMA_NOT_FOUND, RPCRDMA_TOO_LONG};

/// The version, credits and transport properties of one end of a connection, in memory of the caller's: for an end that
/// speaks version 2. An end that speaks version 1 alone needs no channel. A channel has no pointer into its own memory,
/// but must not be copied while in use.
///
/// - A client sends what rpcrdma_channel_poll has before anything else, and makes no call before rpcrdma_channel_state says
///   RPCRDMA_AGREED.
/// - rpcrdma_channel_received returns the endpoint for each Send that arrives.
/// - After RPCRDMA_ARRIVED_PROPERTIES, the terms of rpcrdma_channel_terms go to rpcrdma_requester_agree and
///   rpcrdma_responder_agree, and rpcrdma_channel_segment_limits to rpcrdma_requester_limit_segments.
/// - Before an endpoint is polled, pass the number of messages that rpcrdma_channel_available permits to
///   rpcrdma_requester_permit or rpcrdma_responder_permit. Messages of rpcrdma_channel_poll come first.
/// - rpcrdma_channel_send writes the credits into the header of each Send that an endpoint asks for.
///
/// receives, in several functions, is the number of messages that this end can receive: the Receives that are posted,
/// without the one that is kept for an asynchronous grant, and without Receives that Calls still occupy
/// (rpcrdma_responder_count).
#[derive(Debug)]
pub struct rpcrdma_channel {
    _private: [u8; 0],
}

/// First member of [`Kept`]: "rdmachn1".
const MARK: u64 = 0x7264_6d61_6368_6e31;

/// The end that connects.
pub const RPCRDMA_CLIENT: u32 = 1;
/// The end that accepts.
pub const RPCRDMA_SERVER: u32 = 2;

/// The transport properties of one end.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct rpcrdma_properties {
    /// The maximum Send size in octets, at least 1.
    pub send_size: u32,
    /// Size of the Receives of this end in octets, at least 1.
    pub receive_size: u32,
    /// The maximum length of a segment in octets, at least 1.
    pub segment_length: u32,
    /// The maximum number of segments of a Call.
    pub segments: u32,
    /// Support for calls of the other end, if this one is the client: RPCRDMA_REVERSE_NONE and so on.
    pub reverse_direction: u32,
}

/// Calls of the server are not answered.
pub const RPCRDMA_REVERSE_NONE: u32 = 0;
/// Calls of the server, each in one Send without chunks, are answered.
pub const RPCRDMA_REVERSE_SIMPLE: u32 = 1;
/// The same, and messages may be continued in other Sends.
pub const RPCRDMA_REVERSE_CONTINUED: u32 = 2;
/// Calls of the server are answered in every form.
pub const RPCRDMA_REVERSE_ALL: u32 = 3;

/// Version of a connection, as far as known.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct rpcrdma_state {
    /// One of RPCRDMA_PENDING and so on.
    pub negotiation: u32,
    /// RPCRDMA_AGREED, RPCRDMA_ELSEWHERE: the version, one of RPCRDMA_VERSION_...
    pub version: u32,
}

/// Nothing is known yet.
pub const RPCRDMA_PENDING: u32 = 0;
/// From now on the connection speaks version, and never another.
pub const RPCRDMA_AGREED: u32 = 1;
/// Not on this connection. On the next one to the same peer, begin with version.
pub const RPCRDMA_ELSEWHERE: u32 = 2;
/// Both ends have no version in common.
pub const RPCRDMA_IMPOSSIBLE: u32 = 3;
/// The connection was lost before anything was known, and there is no other version to begin with.
pub const RPCRDMA_LOST: u32 = 4;

/// Whom a Send is for.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct rpcrdma_arrival {
    /// One of RPCRDMA_ARRIVED_...
    pub kind: u32,
    /// The call.
    pub xid: u32,
    /// The error to answer with: rdma_err.
    pub error: u32,
    /// Words after the code of the error.
    pub words: [u32; 2],
}

/// The Responder: a part of a Call that began in an earlier Send. While the Call still waits for a place, so must this
/// part; but an end that makes calls as well copies the part, and posts the Receive again, because nothing but parts
/// may come between the parts.
pub const RPCRDMA_ARRIVED_CALL_PART: u32 = 4;
/// Neither endpoint: the Receive can be posted again.
pub const RPCRDMA_ARRIVED_NOTHING: u32 = 5;
/// The same: the peer has sent transport properties, so terms and segment limits may have changed.
pub const RPCRDMA_ARRIVED_PROPERTIES: u32 = 6;
/// The same, and no reply to the Call with xid can come any more: RPCRDMA_IN_BROKEN for the Requester.
pub const RPCRDMA_ARRIVED_BROKEN_REPLY: u32 = 7;
/// The same, and the rest of the Call with xid will not come: RPCRDMA_IN_BROKEN for the Responder, with error and words.
pub const RPCRDMA_ARRIVED_BROKEN_CALL: u32 = 8;
/// The peer has sent more than was granted. The driver has to end the connection.
pub const RPCRDMA_ARRIVED_EXCEEDED: u32 = 9;

/// Number of messages that may be sent now. In version 1, where the endpoints count credits themselves, UINT32_MAX.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct rpcrdma_available {
    /// By an end that only calls, or is only called.
    pub messages: u32,
    /// By the Requester of an end that does both.
    pub calls: u32,
    /// By the Responder of an end that does both.
    pub replies: u32,
}

/// Writes the transport properties of an end that has said nothing.
///
/// RPCRDMA_NULL, RPCRDMA_UNALIGNED: as everywhere.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_default_properties(properties: *mut rpcrdma_properties) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what this needs.
    let properties = unsafe { OutPointer::new(properties) };
    status(properties.map(|properties| properties.write(Properties::DEFAULT.into())))
}

/// Octets of a channel, never more than RPCRDMA_CHANNEL_SIZE.
#[unsafe(no_mangle)]
pub extern "C" fn rpcrdma_channel_size() -> usize {
    size_of::<Kept<Channel>>()
}

/// Octets of memory for a channel. rpcrdma_channel_size may say less.
pub const RPCRDMA_CHANNEL_SIZE: usize = 1536;

// The sizes in the header.
const _: () =
    assert!(size_of::<Kept<Channel>>() <= RPCRDMA_CHANNEL_SIZE && align_of::<Kept<Channel>>() <= RPCRDMA_ALIGNMENT);

/// Memory for a channel: static, or within another structure.
#[repr(C)]
pub union rpcrdma_channel_memory {
    /// Aligns the memory.
    pub alignment: u64,
    /// The memory, for rpcrdma_channel_init.
    pub octets: [u8; RPCRDMA_CHANNEL_SIZE],
}

/// Makes the channel of a new connection in memory of RPCRDMA_CHANNEL_SIZE octets, aligned like a uint64_t. side is
/// RPCRDMA_CLIENT or RPCRDMA_SERVER; versions: the supported versions, RPCRDMA_VERSION_... combined; properties: the
/// properties of this end. build is RPCRDMA_BUILD. A client begins with the highest version. There is nothing to free;
/// another connection needs a new one.
///
/// RPCRDMA_NO_ROOM: length is less than rpcrdma_channel_size says. RPCRDMA_INVALID: an unknown side or version, or no
/// version; or a property is 0 that must not be, or reverse_direction is unknown. RPCRDMA_OTHER_BUILD: the program was
/// compiled with the header of another library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_channel_init(
    channel: *mut rpcrdma_channel,
    length: usize,
    side: u32,
    versions: u32,
    properties: *const rpcrdma_properties,
    build: u64,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what this needs.
    let properties = unsafe { value(properties).copied() };
    let init = || {
        same_build(build)?;
        let own = properties?.own()?;
        let versions =
            u8::try_from(versions).ok().and_then(Versions::from_bits).filter(|versions| !versions.is_empty());
        let versions = versions.ok_or(RPCRDMA_INVALID)?;
        let new = match side {
            RPCRDMA_CLIENT => Channel::client,
            RPCRDMA_SERVER => Channel::server,
            _ => return Err(RPCRDMA_INVALID),
        };
        // SAFETY: and for this.
        unsafe { Kept::place(channel.cast(), length, MARK, || new(versions, own)) }
    };
    status(init())
}

/// Sends this host authentication message with the transport properties of this end; an empty message is not sent. Call
/// this before rpcrdma_channel_poll.
///
/// RPCRDMA_TOO_LONG: more than 512 octets. RPCRDMA_INVALID: this is no channel. RPCRDMA_OVERLAP: the message is in the
/// channel. After each of these, nothing has changed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_channel_authenticate(
    channel: *mut rpcrdma_channel,
    message: *const u8,
    length: usize,
) -> rpcrdma_status {
    let authenticate = || {
        let others = [Extent::from_array(message, length)?];
        // SAFETY: the header asks the caller for what each of these needs.
        let (channel, message) = unsafe { (find(channel, &others)?, values(message, length)?) };
        channel.authenticate(message).map_err(|_| RPCRDMA_TOO_LONG)
    };
    status(authenticate())
}

/// Writes the version of the connection to *state.
///
/// RPCRDMA_INVALID: this is no channel. RPCRDMA_OVERLAP: *state is in the channel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_channel_state(
    channel: *mut rpcrdma_channel,
    state: *mut rpcrdma_state,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what this needs.
    let state = unsafe { OutPointer::new(state) };
    let say = || {
        let state = state?;
        // SAFETY: and for this.
        let channel = unsafe { find(channel, &[state.extent()]) }?;
        let (negotiation, version) = match channel.negotiation() {
            Negotiation::Pending => (RPCRDMA_PENDING, 0),
            Negotiation::Agreed(version) => (RPCRDMA_AGREED, version_number(version)),
            Negotiation::Elsewhere(version) => (RPCRDMA_ELSEWHERE, version_number(version)),
            Negotiation::Impossible => (RPCRDMA_IMPOSSIBLE, 0),
            Negotiation::Lost => (RPCRDMA_LOST, 0),
        };
        state.write(rpcrdma_state { negotiation, version });
        Ok(())
    };
    status(say())
}

/// Writes the terms of version 2 for the calls that this end makes, and for the calls that this end answers. flags:
/// RPCRDMA_REMOTE_INVALIDATION if this end takes part in remote invalidation, else 0. A peer that receives nothing has
/// thresholds of 0, which the endpoints refuse: the connection is of no use then.
///
/// RPCRDMA_NOT_FOUND: the connection does not speak version 2, or not yet. RPCRDMA_INVALID: flags has no meaning, or
/// this is no channel. RPCRDMA_OVERLAP: the result would be written into the channel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_channel_terms(
    channel: *mut rpcrdma_channel,
    flags: u32,
    calls: *mut rpcrdma_terms,
    answers: *mut rpcrdma_terms,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what each of these needs.
    let (calls, answers) = unsafe { (OutPointer::new(calls), OutPointer::new(answers)) };
    let say = || {
        let (calls, answers) = (calls?, answers?);
        // SAFETY: and for this.
        let channel = unsafe { find(channel, &[calls.extent(), answers.extent()]) }?;
        let terms = channel.terms(remote_invalidation(flags)?).ok_or(RPCRDMA_NOT_FOUND)?;
        calls.write(terms.calls.into());
        answers.write(terms.answers.into());
        Ok(())
    };
    status(say())
}

/// Writes the limits of the chunks of this end's Calls in version 2.
///
/// RPCRDMA_NOT_FOUND: the connection does not speak version 2, or not yet. RPCRDMA_INVALID: this is no channel.
/// RPCRDMA_OVERLAP: *limits is in the channel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_channel_segment_limits(
    channel: *mut rpcrdma_channel,
    limits: *mut rpcrdma_segment_limits,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what this needs.
    let limits = unsafe { OutPointer::new(limits) };
    let say = || {
        let limits = limits?;
        // SAFETY: and for this.
        let channel = unsafe { find(channel, &[limits.extent()]) }?;
        let SegmentLimits { octets, count } = channel.segment_limits().ok_or(RPCRDMA_NOT_FOUND)?;
        limits.write(rpcrdma_segment_limits { octets, count });
        Ok(())
    };
    status(say())
}

/// Writes the transport properties of the peer.
///
/// RPCRDMA_NOT_FOUND: the connection does not speak version 2, or not yet. RPCRDMA_INVALID: this is no channel.
/// RPCRDMA_OVERLAP: *properties is in the channel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_channel_peer(
    channel: *mut rpcrdma_channel,
    properties: *mut rpcrdma_properties,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what this needs.
    let properties = unsafe { OutPointer::new(properties) };
    let say = || {
        let properties = properties?;
        // SAFETY: and for this.
        let channel = unsafe { find(channel, &[properties.extent()]) }?;
        properties.write((*channel.peer_properties().ok_or(RPCRDMA_NOT_FOUND)?).into());
        Ok(())
    };
    status(say())
}

/// Returns the host authentication message of the peer, in the channel's memory until the channel is next used. A
/// message of more than 512 octets is not kept: *message is NULL, and *length is the length.
///
/// RPCRDMA_NOT_FOUND: the peer has sent none, or the connection does not speak version 2. RPCRDMA_INVALID: this is no
/// channel. RPCRDMA_OVERLAP: the result would be written into the channel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_channel_peer_authentication(
    channel: *mut rpcrdma_channel,
    message: *mut *const u8,
    length: *mut usize,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what each of these needs.
    let (message, length) = unsafe { (OutPointer::new(message), OutPointer::new(length)) };
    let say = || {
        let (message, length) = (message?, length?);
        // SAFETY: and for this.
        let channel = unsafe { find(channel, &[message.extent(), length.extent()]) }?;
        let (start, octets) = match channel.peer_host_authentication() {
            Some(HostAuthentication::Message(octets)) => (octets.as_ptr(), octets.len()),
            Some(HostAuthentication::TooLong(octets)) => (ptr::null(), octets),
            Some(HostAuthentication::Absent) | None => return Err(RPCRDMA_NOT_FOUND),
        };
        message.write(start);
        length.write(octets);
        Ok(())
    };
    status(say())
}

/// Records that the connection has ended, or that nothing has come for too long, before the version was known: a server
/// of version 1 may drop unknown messages. rpcrdma_channel_state then returns the version to begin with next.
///
/// RPCRDMA_INVALID: this is no channel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_channel_lost(channel: *mut rpcrdma_channel) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what this needs.
    let channel = unsafe { find(channel, &[]) };
    status(channel.map(Channel::lost))
}

/// Writes the number of messages that may be sent now. owed and awaited matter to an end that both calls and is called:
/// the Replies that this end owes (rpcrdma_responder_count), and the Replies that this end waits for
/// (rpcrdma_requester_count).
///
/// RPCRDMA_INVALID: this is no channel. RPCRDMA_OVERLAP: *available is in the channel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_channel_available(
    channel: *mut rpcrdma_channel,
    receives: u32,
    owed: u32,
    awaited: u32,
    available: *mut rpcrdma_available,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what this needs.
    let available = unsafe { OutPointer::new(available) };
    let say = || {
        let available = available?;
        // SAFETY: and for this.
        let channel = unsafe { find(channel, &[available.extent()]) }?;
        available.write(rpcrdma_available {
            messages: channel.available(receives),
            calls: channel.available_for_calls(receives, owed, awaited),
            replies: channel.available_for_replies(receives),
        });
        Ok(())
    };
    status(say())
}

/// Counts a Send that an endpoint has asked for, and that is about to be posted, and writes the credits into the
/// header: the header_length octets of the output.
///
/// RPCRDMA_INVALID: this is no channel. RPCRDMA_OVERLAP: the header is in the channel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_channel_send(
    channel: *mut rpcrdma_channel,
    receives: u32,
    header: *mut u8,
    length: usize,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what this needs.
    let header = unsafe { OutOctets::new(header, length) };
    let send = || {
        let mut header = header?;
        // SAFETY: and for this.
        let channel = unsafe { find(channel, &[header.extent()]) }?;
        channel.send(receives, header.octets());
        Ok(())
    };
    status(send())
}

/// Writes the next message of this end that belongs to no RPC: transport properties, an error, a grant. Send the
/// message unchanged.
///
/// *length is the length of the message. RPCRDMA_NOT_FOUND: there is no message. RPCRDMA_NO_ROOM: the message has more
/// octets than capacity: *length. With a larger buffer, the next call returns the same message. RPCRDMA_INVALID: this
/// is no channel. RPCRDMA_OVERLAP: the buffer, *length and the channel are not apart.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_channel_poll(
    channel: *mut rpcrdma_channel,
    receives: u32,
    buffer: *mut u8,
    capacity: usize,
    length: *mut usize,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what each of these needs.
    let buffer = unsafe { Buffer::new(buffer, capacity, length) };
    let poll = || {
        let buffer = buffer?;
        // SAFETY: and for this.
        let channel = unsafe { find(channel, &buffer.extents()) }?;
        let mut is_there = true;
        buffer.fill(|buffer| {
            let polled = channel.poll(receives, buffer)?;
            is_there = polled.is_some();
            Ok(polled.unwrap_or(0))
        })?;
        if is_there { Ok(()) } else { Err(RPCRDMA_NOT_FOUND) }
    };
    status(poll())
}

/// Handles a Send that has arrived, and writes the endpoint for the Send to *arrival. Pass each Send once, in the order
/// of arrival.
///
/// RPCRDMA_INVALID: this is no channel. RPCRDMA_OVERLAP: the octets, *arrival and the channel are not apart.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_channel_received(
    channel: *mut rpcrdma_channel,
    octets: *const u8,
    length: usize,
    arrival: *mut rpcrdma_arrival,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what each of these needs.
    let (octets, arrival) = unsafe { (values(octets, length), OutPointer::new(arrival)) };
    let received = || {
        let octets = octets?;
        let arrival = arrival?.apart_from(octets)?;
        // SAFETY: and for this.
        let channel =
            unsafe { find(channel, &[arrival.extent(), Extent::from_array(octets.as_ptr(), octets.len())?]) }?;
        arrival.write(channel.received(octets).into());
        Ok(())
    };
    status(received())
}

/// # Safety
/// As of [`Kept::find`].
unsafe fn find<'a>(channel: *mut rpcrdma_channel, others: &[Extent]) -> Result<&'a mut Channel, rpcrdma_status> {
    // SAFETY: promised by the caller.
    unsafe { Kept::find(channel.cast(), MARK, others) }
}

impl rpcrdma_properties {
    /// Returns the properties of the end itself.
    const fn own(self) -> Result<Properties<'static>, rpcrdma_status> {
        let Self { send_size, receive_size, segment_length, segments, reverse_direction } = self;
        if send_size == 0 || receive_size == 0 || segment_length == 0 || reverse_direction > RPCRDMA_REVERSE_ALL {
            return Err(RPCRDMA_INVALID);
        }
        Ok(Properties {
            maximum_send_size: send_size,
            receive_buffer_size: receive_size,
            maximum_segment_size: segment_length,
            maximum_segment_count: segments,
            reverse_direction: ReverseDirection(reverse_direction),
            host_authentication: None,
        })
    }
}

impl From<Properties<'_>> for rpcrdma_properties {
    fn from(properties: Properties<'_>) -> Self {
        Self {
            send_size: properties.maximum_send_size,
            receive_size: properties.receive_buffer_size,
            segment_length: properties.maximum_segment_size,
            segments: properties.maximum_segment_count,
            reverse_direction: properties.reverse_direction.0,
        }
    }
}

impl From<Arrival> for rpcrdma_arrival {
    fn from(arrival: Arrival) -> Self {
        let (kind, xid, ErrorWords { error, words }) = match arrival {
            Arrival::BrokenReply(xid) => (RPCRDMA_ARRIVED_BROKEN_REPLY, xid, ErrorWords::default()),
            Arrival::BrokenCall { xid, error } => (RPCRDMA_ARRIVED_BROKEN_CALL, xid, error_words(error)),
            Arrival::Version1 => return Self::from_kind(RPCRDMA_ARRIVED_VERSION_1),
            Arrival::Reply => return Self::from_kind(RPCRDMA_ARRIVED_REPLY),
            Arrival::Call => return Self::from_kind(RPCRDMA_ARRIVED_CALL),
            Arrival::CallPart => return Self::from_kind(RPCRDMA_ARRIVED_CALL_PART),
            Arrival::Nothing => return Self::from_kind(RPCRDMA_ARRIVED_NOTHING),
            Arrival::Properties => return Self::from_kind(RPCRDMA_ARRIVED_PROPERTIES),
            Arrival::Exceeded => return Self::from_kind(RPCRDMA_ARRIVED_EXCEEDED),
        };
        Self { kind, xid, error, words }
    }
}

impl rpcrdma_arrival {
    const fn from_kind(kind: u32) -> Self {
        Self { kind, xid: 0, error: 0, words: [0; 2] }
    }
}

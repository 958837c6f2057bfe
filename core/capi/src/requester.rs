//! The Requester.

use rpcrdma::endpoint::{CallId, RegisteredMemory, SegmentLimits};

use rpcrdma::endpoint::requester::{Call, CallRefusal, End, Input, Memory, Output, Requester};
use rpcrdma::v1::ErrorBody;

use crate::argument::{Extent, OutOctets, OutPointer, status, value, values};
use crate::configuration::{RPCRDMA_ALIGNMENT, RPCRDMA_CALLS, RPCRDMA_REQUESTER_SIZE, RPCRDMA_SEGMENTS, same_build};
use crate::endpoint::{
    Items, Kept, RPCRDMA_DO_DISCONNECT, RPCRDMA_DO_DONE, RPCRDMA_DO_INVALIDATE, RPCRDMA_DO_PLACE, RPCRDMA_DO_READ,
    RPCRDMA_DO_REGISTER_ARGUMENT, RPCRDMA_DO_REGISTER_REPLY, RPCRDMA_DO_REGISTER_RESULT, RPCRDMA_DO_RELEASE,
    RPCRDMA_DO_SEND, RPCRDMA_END_BAD_REPLY, RPCRDMA_END_CANCELLED, RPCRDMA_END_CONTINUED_REPLY, RPCRDMA_END_ERROR,
    RPCRDMA_END_ERROR_V2, RPCRDMA_END_LONG_REPLY, RPCRDMA_END_LOST, RPCRDMA_END_NO_ROOM, RPCRDMA_END_NOT_REGISTERED,
    RPCRDMA_END_REPLY, RPCRDMA_END_SENT, RPCRDMA_IN_BROKEN, RPCRDMA_IN_COMPLETED, RPCRDMA_IN_DISCONNECTED,
    RPCRDMA_IN_FAILED, RPCRDMA_IN_INVALIDATED, RPCRDMA_IN_NOT_REGISTERED, RPCRDMA_IN_RECEIVED,
    RPCRDMA_IN_RECEIVED_INVALIDATING, RPCRDMA_IN_REGISTERED, RPCRDMA_IN_SENT, answer_poll, rpcrdma_input, rpcrdma_item,
    rpcrdma_output, rpcrdma_segment_limits, rpcrdma_terms,
};
use crate::message_v2::{ErrorWords, error_words};
use crate::status::rpcrdma_status::{
    RPCRDMA_CLOSED, RPCRDMA_IN_USE, RPCRDMA_INVALID, RPCRDMA_NOT_DECODED, RPCRDMA_NOT_SUPPORTED, RPCRDMA_TOO_MANY,
    RPCRDMA_UNEXPECTED,
};
use crate::status::{RPCRDMA_ERR_CHUNK, RPCRDMA_ERR_VERS, rpcrdma_status};

/// The Requester of one connection, in memory of the caller's. A Requester has no pointer into its own memory, but must
/// not be copied while in use.
#[derive(Debug)]
pub struct rpcrdma_requester {
    _private: [u8; 0],
}

pub(crate) type Kind = Requester<RPCRDMA_CALLS, RPCRDMA_SEGMENTS>;

// The sizes in the header.
const _: () =
    assert!(size_of::<Kept<Kind>>() <= RPCRDMA_REQUESTER_SIZE && align_of::<Kept<Kind>>() <= RPCRDMA_ALIGNMENT);

/// Memory for a Requester: static, or within another structure.
#[repr(C)]
pub union rpcrdma_requester_memory {
    /// Aligns the memory.
    pub alignment: u64,
    /// The memory, for rpcrdma_requester_init.
    pub octets: [u8; RPCRDMA_REQUESTER_SIZE],
}

/// First member of [`Kept`]: "rdmareq1".
const MARK: u64 = 0x7264_6d61_7265_7131;

/// A call to make.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rpcrdma_call {
    /// The start of the Payload stream, at least the whole RPC header.
    pub head: *const u8,
    /// Octets of the start.
    pub head_length: usize,
    /// Octets of the whole Payload stream. A multiple of four.
    pub length: u32,
    /// Maximum length of the reply's Payload stream in octets, without the results that have buffers.
    pub reply_length: u32,
    /// The arguments that the Upper-Layer Binding allows to be reduced, in their order.
    pub arguments: *const rpcrdma_item,
    /// Number of entries, at most RPCRDMA_SEGMENTS.
    pub arguments_count: usize,
    /// Buffer lengths in octets of the results that the binding allows to be reduced, in order: one Write chunk each. 0
    /// makes an empty chunk, by which the Responder returns that result inline. A Call under RPCSEC_GSS integrity or
    /// privacy makes no chunks: all results come with the rest of the reply.
    pub results: *const u32,
    /// Number of entries.
    pub results_count: usize,
    /// Version 2: maximum length in octets to which the buffer of a result or of the reply may grow, if the Responder
    /// reports that more is needed; the Call is then made again. 0 for a Call that must not be carried out twice.
    pub largest_capacity: u32,
}

/// Numbers of calls.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct rpcrdma_requester_counts {
    /// Calls that hold a credit: as many Receives as requested credits are enough for their replies.
    pub in_flight: u32,
    /// Calls that are sent and not answered: `awaited` of rpcrdma_channel_available.
    pub awaited: u32,
    /// 1 if the table of Calls is full, else 0.
    pub is_full: u32,
}

/// Returns the size in octets of a Requester that makes this many calls at a time, with this many segments each; 0 for
/// more than RPCRDMA_CALLS or RPCRDMA_SEGMENTS. The size is fixed when the library is built: the same for all smaller
/// numbers, and never more than RPCRDMA_REQUESTER_SIZE.
#[unsafe(no_mangle)]
pub extern "C" fn rpcrdma_requester_size(calls: usize, segments: usize) -> usize {
    if calls > RPCRDMA_CALLS || segments > RPCRDMA_SEGMENTS { 0 } else { size_of::<Kept<Kind>>() }
}

/// Makes a Requester of a new connection in memory of RPCRDMA_REQUESTER_SIZE octets, aligned like a uint64_t. Each Call
/// asks for credits credits, at least 1; a memory region has at most segment_length octets, a multiple of four and at
/// least four. build is RPCRDMA_BUILD. Initialisation needs as much stack as the size of the Requester. There is
/// nothing to free; another connection needs a new Requester.
///
/// RPCRDMA_NO_ROOM: length is less than rpcrdma_requester_size says. RPCRDMA_INVALID: the terms have a number that has
/// no meaning or a threshold that is too small; or credits or segment_length is out of range. RPCRDMA_OTHER_BUILD: the
/// program was compiled with the header of another library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_requester_init(
    requester: *mut rpcrdma_requester,
    length: usize,
    terms: *const rpcrdma_terms,
    credits: u32,
    segment_length: u32,
    build: u64,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what each of these needs.
    let terms = unsafe { value(terms) }.copied();
    let init = || {
        same_build(build)?;
        let terms = terms?.try_into()?;
        if credits == 0 || segment_length == 0 || !segment_length.is_multiple_of(4) {
            return Err(RPCRDMA_INVALID);
        }
        // SAFETY: and for this.
        unsafe { Kept::place(requester.cast(), length, MARK, || Kind::new(terms, credits, segment_length)) }
    };
    status(init())
}

/// Begins a Call: *id names the Call until RPCRDMA_DO_DONE. The Call waits if there is no credit.
///
/// RPCRDMA_CLOSED: the connection is over. RPCRDMA_NOT_DECODED: head does not begin with a whole RPC Call header.
/// RPCRDMA_INVALID: lengths or arguments do not fit each other, or this is no Requester. RPCRDMA_IN_USE: another Call
/// has this XID. RPCRDMA_TOO_MANY: too many calls, arguments or segments. RPCRDMA_NOT_SUPPORTED: the peer does not
/// answer calls, or none of this form. RPCRDMA_OVERLAP: the Requester and memory that is read or written are not apart.
/// After each of these, nothing has changed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_requester_call(
    requester: *mut rpcrdma_requester,
    call: *const rpcrdma_call,
    id: *mut u64,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what each of these needs.
    let (call, id) = unsafe { (value(call).copied(), OutPointer::new(id)) };
    let begin = || {
        let (call, id) = (call?, id?);
        let others = [
            Extent::from_array(call.head, call.head_length)?,
            Extent::from_array(call.arguments, call.arguments_count)?,
            Extent::from_array(call.results, call.results_count)?,
            id.extent(),
        ];
        // SAFETY: and for these.
        let (requester, head, arguments, results) = unsafe {
            (
                find(requester, &others)?,
                values(call.head, call.head_length)?,
                Items::read(call.arguments, call.arguments_count)?,
                values(call.results, call.results_count)?,
            )
        };
        let (length, reply_length, arguments) = (call.length, call.reply_length, arguments.as_slice());
        let call = Call { head, length, arguments, results, reply_length, largest_capacity: call.largest_capacity };
        id.write(requester.call(&call)?.to_number());
        Ok(())
    };
    status(begin())
}

/// Begins a one-way Call of version 2: a Call of a procedure that has no reply. head and length are as in rpcrdma_call.
/// The Call ends with RPCRDMA_END_SENT.
///
/// As rpcrdma_requester_call; RPCRDMA_NOT_SUPPORTED in version 1, where each Call has a reply.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_requester_call_one_way(
    requester: *mut rpcrdma_requester,
    head: *const u8,
    head_length: usize,
    length: u32,
    id: *mut u64,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what each of these needs.
    let (head, id) = unsafe { (values(head, head_length), OutPointer::new(id)) };
    let begin = || {
        let head = head?;
        let id = id?.apart_from(head)?;
        let others = [id.extent(), Extent::from_array(head.as_ptr(), head.len())?];
        // SAFETY: and for this.
        let requester = unsafe { find(requester, &others) }?;
        id.write(requester.call_one_way(head, length)?.to_number());
        Ok(())
    };
    status(begin())
}

/// Cancels a Call. A Call that was sent is done only after the reply, of which nothing is kept; until then the
/// Responder may use the memory of the Call.
///
/// RPCRDMA_UNEXPECTED: there is no such call. RPCRDMA_INVALID: this is no Requester.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_requester_cancel(requester: *mut rpcrdma_requester, call: u64) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what this needs.
    let requester = unsafe { find(requester, &[]) };
    status(requester.and_then(|requester| Ok(requester.cancel(CallId::from_number(call))?)))
}

/// Sets the terms of the connection, if agreed only after connection setup. The terms apply from the next Call on.
///
/// RPCRDMA_INVALID: the terms have a number that has no meaning or a threshold that is too small, or this is no Requester.
/// RPCRDMA_OVERLAP: the terms are in the Requester.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_requester_agree(
    requester: *mut rpcrdma_requester,
    terms: *const rpcrdma_terms,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what this needs.
    let terms = unsafe { value(terms).copied() };
    let agree = || {
        let terms = terms?.try_into()?;
        // SAFETY: and for this.
        unsafe { find(requester, &[]) }?.agree(terms);
        Ok(())
    };
    status(agree())
}

/// Limits the segments of each Call from the next one on. This comes on top of the limits that the Requester has already.
///
/// RPCRDMA_INVALID: this is no Requester.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_requester_limit_segments(
    requester: *mut rpcrdma_requester,
    limits: *const rpcrdma_segment_limits,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what this needs.
    let limits = unsafe { value(limits).copied() };
    let limit = || {
        let rpcrdma_segment_limits { octets, count } = limits?;
        // SAFETY: and for this.
        unsafe { find(requester, &[]) }?.limit_segments(SegmentLimits { octets, count });
        Ok(())
    };
    status(limit())
}

/// Sets what each Call asks for from the next one on: this many credits, where 0 counts as 1; and limits each RDMA Read of a
/// reply to this many octets, where 0 counts as 1.
///
/// RPCRDMA_INVALID: this is no Requester.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_requester_limit(
    requester: *mut rpcrdma_requester,
    credits: u32,
    octets: u32,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what this needs.
    let requester = unsafe { find(requester, &[]) };
    status(requester.map(|requester| {
        requester.request_credits(credits);
        requester.limit_transfers(octets);
    }))
}

/// Version 2: sets the number of messages that may be sent now, from rpcrdma_channel_available. To be called before
/// each rpcrdma_requester_poll. In version 1 this does nothing, because replies grant the credits there.
///
/// RPCRDMA_INVALID: this is no Requester.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_requester_permit(requester: *mut rpcrdma_requester, messages: u32) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what this needs.
    let requester = unsafe { find(requester, &[]) };
    status(requester.map(|requester| requester.permit(messages)))
}

/// Version 2: continues a Call of at most this many octets that is too long for a Send in further Sends, from the next
/// Call on, so that no memory is registered; and for a reply of at most as many octets there is no Reply chunk. 0, the
/// default, is never.
///
/// RPCRDMA_INVALID: this is no Requester.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_requester_continue(requester: *mut rpcrdma_requester, octets: u32) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what this needs.
    let requester = unsafe { find(requester, &[]) };
    status(requester.map(|requester| requester.continue_messages(octets)))
}

/// Provides no Reply chunk from the next Call on: a reply that is too long for a Send is read from memory of the
/// Responder, and RDMA_DONE is sent (RFC 5666 section 3.5). RFC 8166 forbids this. Use only with a Responder that is
/// known to provide such replies, and not if this end is called too.
///
/// RPCRDMA_INVALID: this is no Requester.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_requester_read_provided_replies(requester: *mut rpcrdma_requester) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what this needs.
    let requester = unsafe { find(requester, &[]) };
    status(requester.map(Kind::read_provided_replies))
}

/// Counts the calls.
///
/// RPCRDMA_INVALID: this is no Requester. RPCRDMA_OVERLAP: *counts is in the Requester.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_requester_count(
    requester: *mut rpcrdma_requester,
    counts: *mut rpcrdma_requester_counts,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what this needs.
    let counts = unsafe { OutPointer::new(counts) };
    let count = || {
        let counts = counts?;
        // SAFETY: and for this.
        let requester = unsafe { find(requester, &[counts.extent()]) }?;
        counts.write(rpcrdma_requester_counts {
            in_flight: requester.in_flight(),
            awaited: requester.awaited_replies(),
            is_full: u32::from(requester.is_full()),
        });
        Ok(())
    };
    status(count())
}

/// # Safety
/// As of [`Kept::find`].
pub(crate) unsafe fn find<'a>(
    requester: *mut rpcrdma_requester,
    others: &[Extent],
) -> Result<&'a mut Kind, rpcrdma_status> {
    // SAFETY: promised by the caller.
    unsafe { Kept::find(requester.cast(), MARK, others) }
}

/// Passes an event to the Requester. After that, poll for outputs until there is nothing to do.
///
/// RPCRDMA_POLL_FIRST: outputs have to be taken first. RPCRDMA_UNEXPECTED: that cannot have happened. RPCRDMA_IN_USE:
/// the handle belongs to other memory. RPCRDMA_INVALID: kind is not that of an input of a Requester, or this is no
/// Requester. RPCRDMA_OVERLAP: the octets are in the Requester. After each of these, nothing has changed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_requester_handle(
    requester: *mut rpcrdma_requester,
    input: *const rpcrdma_input,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what this needs.
    let input = unsafe { value(input) }.copied();
    let handle = || {
        let input = input?;
        let others = [input.received()?];
        // SAFETY: and for these.
        let (requester, input) = unsafe { (find(requester, &others)?, requester_input(&input)?) };
        Ok(requester.handle(input)?)
    };
    status(handle())
}

/// # Safety
/// As of [`values`], for the octets.
unsafe fn requester_input<'a>(input: &rpcrdma_input) -> Result<Input<'a>, rpcrdma_status> {
    let call = CallId::from_number(input.call);
    let region = u16::try_from(input.region).map_err(|_| RPCRDMA_UNEXPECTED)?;
    Ok(match input.kind {
        RPCRDMA_IN_RECEIVED | RPCRDMA_IN_RECEIVED_INVALIDATING => {
            // SAFETY: promised by the caller.
            let octets = unsafe { values(input.octets, input.length) }?;
            let invalidated = (input.kind == RPCRDMA_IN_RECEIVED_INVALIDATING).then_some(input.handle);
            Input::Received { receive: input.receive, octets, invalidated }
        }
        RPCRDMA_IN_REGISTERED => Input::Registered {
            call,
            region,
            memory: Some(RegisteredMemory { handle: input.handle, offset: input.offset }),
        },
        RPCRDMA_IN_NOT_REGISTERED => Input::Registered { call, region, memory: None },
        RPCRDMA_IN_INVALIDATED => Input::Invalidated { call, region },
        RPCRDMA_IN_SENT => Input::Sent { call },
        RPCRDMA_IN_COMPLETED => Input::Completed { call },
        RPCRDMA_IN_FAILED => Input::Failed,
        RPCRDMA_IN_BROKEN => Input::Broken { xid: input.xid },
        RPCRDMA_IN_DISCONNECTED => Input::Disconnected,
        _ => return Err(RPCRDMA_INVALID),
    })
}

/// Says what is to be done next; RPCRDMA_DO_NOTHING if there is nothing. The header of a Send is written to the start of the
/// buffer.
///
/// RPCRDMA_NO_ROOM: the header has more octets than capacity: output->header_length. With a larger buffer, the next call
/// returns the same output. RPCRDMA_INVALID: this is no Requester. RPCRDMA_OVERLAP: the buffer, *output and
/// the Requester are not apart.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_requester_poll(
    requester: *mut rpcrdma_requester,
    buffer: *mut u8,
    capacity: usize,
    output: *mut rpcrdma_output,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what each of these needs.
    let (buffer, output) = unsafe { (OutOctets::new(buffer, capacity), OutPointer::new(output)) };
    let poll = || {
        let mut output = output?;
        let mut buffer = buffer?.apart_from_pointer(&output)?;
        let others = [buffer.extent(), output.extent()];
        // SAFETY: and for this.
        let requester = unsafe { find(requester, &others) }?;
        answer_poll(&mut output, requester.poll(buffer.octets()), ask)
    };
    status(poll())
}

fn ask(wanted: Output<'_>, output: &mut rpcrdma_output) {
    match wanted {
        Output::Register { call, region, memory } => {
            let (kind, at, range) = match memory {
                Memory::Argument(range) => (RPCRDMA_DO_REGISTER_ARGUMENT, 0, range),
                Memory::Result(number, range) => (RPCRDMA_DO_REGISTER_RESULT, u32::from(number), range),
                Memory::Reply(range) => (RPCRDMA_DO_REGISTER_REPLY, 0, range),
            };
            let output = output.ask(kind, call);
            (output.region, output.at) = (u32::from(region), at);
            output.add_range(range);
        }
        Output::Send { call, header, payload } => {
            let output = output.ask(RPCRDMA_DO_SEND, call);
            output.header_length = header;
            output.add_ranges(payload);
        }
        Output::Place { call, receive, from, length, at } => {
            let output = output.ask(RPCRDMA_DO_PLACE, call);
            (output.receive, output.from, output.length, output.at) = (receive, from, u64::from(length), at);
        }
        Output::Read { call, source, at } => {
            let output = output.ask(RPCRDMA_DO_READ, call);
            (output.segment, output.at) = (source.into(), at);
        }
        Output::Invalidate { call, region, handle } => {
            let output = output.ask(RPCRDMA_DO_INVALIDATE, call);
            (output.region, output.handle) = (u32::from(region), handle);
        }
        Output::Release { receive } => output.ask_of_receive(RPCRDMA_DO_RELEASE, receive),
        Output::Done { call, end, results } => {
            let output = output.ask(RPCRDMA_DO_DONE, call);
            (output.results, output.results_count) = (results.as_ptr(), results.len());
            ended(output, &end);
        }
        Output::Disconnect => output.kind = RPCRDMA_DO_DISCONNECT,
    }
}

/// Adds how a call has ended.
fn ended(done: &mut rpcrdma_output, end: &End) {
    done.end = match end {
        End::Reply { receive, payload } => {
            (done.receive, done.from, done.length) = (*receive, payload.start, payload.len() as u64);
            RPCRDMA_END_REPLY
        }
        End::LongReply(length) => {
            done.length = u64::from(*length);
            RPCRDMA_END_LONG_REPLY
        }
        End::Error(error) => {
            done.error = match error {
                ErrorBody::Chunk => RPCRDMA_ERR_CHUNK,
                ErrorBody::Vers { low, high } => {
                    done.words = [*low, *high];
                    RPCRDMA_ERR_VERS
                }
            };
            RPCRDMA_END_ERROR
        }
        End::NotRegistered => RPCRDMA_END_NOT_REGISTERED,
        End::Cancelled => RPCRDMA_END_CANCELLED,
        End::Lost => RPCRDMA_END_LOST,
        End::ErrorV2(error) => {
            ErrorWords { error: done.error, words: done.words } = error_words(*error);
            RPCRDMA_END_ERROR_V2
        }
        End::ContinuedReply(length) => {
            done.length = u64::from(*length);
            RPCRDMA_END_CONTINUED_REPLY
        }
        End::Sent => RPCRDMA_END_SENT,
        End::BadReply => RPCRDMA_END_BAD_REPLY,
        End::NoRoom(length) => {
            done.length = *length;
            RPCRDMA_END_NO_ROOM
        }
    };
}

impl From<CallRefusal> for rpcrdma_status {
    fn from(refusal: CallRefusal) -> Self {
        match refusal {
            CallRefusal::Closed => RPCRDMA_CLOSED,
            CallRefusal::Rpc(_) => RPCRDMA_NOT_DECODED,
            CallRefusal::XidInUse => RPCRDMA_IN_USE,
            CallRefusal::TooManyCalls | CallRefusal::TooManySegments => RPCRDMA_TOO_MANY,
            CallRefusal::TooLong | CallRefusal::NotAnswered | CallRefusal::OneWay | CallRefusal::Form => {
                RPCRDMA_NOT_SUPPORTED
            }
            _ => RPCRDMA_INVALID,
        }
    }
}

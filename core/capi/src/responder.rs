//! The Responder.

use rpcrdma::endpoint::responder::{CallMessage, Input, Output, Reply, ReplyFault, ReplyForm};
use rpcrdma::endpoint::{CallId, Limits, RegisteredMemory, Responder};

use crate::argument::{Extent, OutOctets, OutPointer, status, value, values};
use crate::configuration::{
    RPCRDMA_ALIGNMENT, RPCRDMA_CALL_CHUNKS, RPCRDMA_CALL_HEADER, RPCRDMA_CALLS, RPCRDMA_RESPONDER_SIZE, same_build,
};
use crate::endpoint::{
    Items, Kept, RPCRDMA_DO_DELIVER, RPCRDMA_DO_DELIVER_ASSEMBLED, RPCRDMA_DO_DISCONNECT, RPCRDMA_DO_INVALIDATE,
    RPCRDMA_DO_PLACE, RPCRDMA_DO_PROVIDE_REPLY, RPCRDMA_DO_READ, RPCRDMA_DO_RELEASE, RPCRDMA_DO_SEND,
    RPCRDMA_DO_SEND_INVALIDATING, RPCRDMA_DO_WRITE, RPCRDMA_IN_BROKEN, RPCRDMA_IN_COMPLETED, RPCRDMA_IN_DISCONNECTED,
    RPCRDMA_IN_FAILED, RPCRDMA_IN_INVALIDATED, RPCRDMA_IN_NOT_POSTED, RPCRDMA_IN_NOT_REGISTERED, RPCRDMA_IN_POSTPONED,
    RPCRDMA_IN_RECEIVED, RPCRDMA_IN_REGISTERED, RPCRDMA_IN_RESUMED, answer_poll, rpcrdma_input, rpcrdma_item,
    rpcrdma_output, rpcrdma_range, rpcrdma_terms,
};
use crate::message_v2::error_of;
use crate::status::rpcrdma_status;
use crate::status::rpcrdma_status::{RPCRDMA_INVALID, RPCRDMA_NOT_FOUND, RPCRDMA_NOT_SUPPORTED, RPCRDMA_UNEXPECTED};

/// The Responder of one connection, in memory of the caller's. A Responder has no pointer into its own memory, but must
/// not be copied while in use.
#[derive(Debug)]
pub struct rpcrdma_responder {
    _private: [u8; 0],
}

type Kind = Responder<RPCRDMA_CALLS, RPCRDMA_CALL_HEADER, RPCRDMA_CALL_CHUNKS>;

// The sizes in the header.
const _: () =
    assert!(size_of::<Kept<Kind>>() <= RPCRDMA_RESPONDER_SIZE && align_of::<Kept<Kind>>() <= RPCRDMA_ALIGNMENT);

/// Memory for a Responder: static, or within another structure.
#[repr(C)]
pub union rpcrdma_responder_memory {
    /// Aligns the memory.
    pub alignment: u64,
    /// The memory, for rpcrdma_responder_init.
    pub octets: [u8; RPCRDMA_RESPONDER_SIZE],
}

/// First member of [`Kept`]: "rdmares1".
const MARK: u64 = 0x7264_6d61_7265_7331;

/// Largest Call, in octets; a larger one is answered with an error before any RDMA Read.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct rpcrdma_limits {
    /// Read chunks in a Call, not counting a Position Zero chunk; at most RPCRDMA_CALL_CHUNKS.
    pub read_chunks: u32,
    /// Write chunks in a Call; at most RPCRDMA_CALL_CHUNKS.
    pub write_chunks: u32,
    /// Segments in all chunks of a Call together.
    pub segments: u32,
    /// Octets of a Call that is put together.
    pub octets: u32,
    /// Version 2: octets of all continued Calls together that are not answered; 0 for none.
    pub collected: u32,
}

/// Numbers of calls.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct rpcrdma_responder_counts {
    /// Calls that are not answered, and whose Receives have gone back to the driver. In version 2 such Calls still hold
    /// credits: subtract this number from receives of rpcrdma_channel_available. Subtract one less when asking whether
    /// an answer may be sent, because an answer returns one credit.
    pub occupied: u32,
    /// Calls that are not answered: `owed` of rpcrdma_channel_available.
    pub owed: u32,
    /// 1 if there is a place for one more Call, or for the next part of a Call, else 0. Credits of version 2 count
    /// messages of any kind, so there may be more Calls than places: the other Calls wait in Receives.
    pub has_place: u32,
}

/// A reply to a Call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rpcrdma_reply {
    /// The start of the Payload stream, at least 8 octets.
    pub head: *const u8,
    /// Octets of the start.
    pub head_length: usize,
    /// Octets of the whole Payload stream, with all results. A multiple of four.
    pub length: u32,
    /// RPCRDMA_PROTECTED if RPCSEC_GSS integrity or privacy covers the results, else 0.
    pub flags: u32,
    /// The results that the Upper-Layer Binding allows to be reduced, in their order.
    pub results: *const rpcrdma_item,
    /// Number of entries.
    pub results_count: usize,
}

/// RPCSEC_GSS integrity or privacy covers the results, so none is reduced.
pub const RPCRDMA_PROTECTED: u32 = 1;

/// The reply is sent inline, with or without results in Write chunks.
pub const RPCRDMA_FORM_SHORT: u32 = 1;
/// The reply is in the Reply chunk.
pub const RPCRDMA_FORM_LONG: u32 = 2;
/// The reply fits nowhere: ERR_CHUNK is sent instead, or an error of version 2.
pub const RPCRDMA_FORM_REFUSED: u32 = 3;
/// The reply is sent inline in several Sends of version 2.
pub const RPCRDMA_FORM_CONTINUED: u32 = 4;
/// The Requester reads the reply by RDMA: the call lasts until RDMA_DONE comes, or rpcrdma_responder_expire is called.
pub const RPCRDMA_FORM_PROVIDED: u32 = 5;
/// A form that a later version of this library knows.
pub const RPCRDMA_FORM_OTHER: u32 = 0;

/// Returns the size in octets of a Responder for this many calls at a time; 0 for more than RPCRDMA_CALLS. The size is
/// fixed when the library is built: the same for all smaller numbers, and never more than RPCRDMA_RESPONDER_SIZE.
#[unsafe(no_mangle)]
pub extern "C" fn rpcrdma_responder_size(calls: usize) -> usize {
    if calls > RPCRDMA_CALLS { 0 } else { size_of::<Kept<Kind>>() }
}

/// Makes a Responder of a new connection in memory of RPCRDMA_RESPONDER_SIZE octets, aligned like a uint64_t. The
/// Responder grants credits credits, so as many Receives have to be posted. build is RPCRDMA_BUILD. Initialisation
/// needs as much stack as the size of the Responder. There is nothing to free; another connection needs a new
/// Responder.
///
/// RPCRDMA_NO_ROOM: length is less than rpcrdma_responder_size says. RPCRDMA_INVALID: credits are 0, or more than
/// RPCRDMA_CALLS; the limits allow more chunks than RPCRDMA_CALL_CHUNKS; or the terms have a number that has no meaning or a
/// threshold that is too small. RPCRDMA_OTHER_BUILD: the program was compiled with the header of another library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_responder_init(
    responder: *mut rpcrdma_responder,
    length: usize,
    terms: *const rpcrdma_terms,
    limits: *const rpcrdma_limits,
    credits: u32,
    build: u64,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what each of these needs.
    let (terms, limits) = unsafe { (value(terms).copied(), value(limits).copied()) };
    let init = || {
        same_build(build)?;
        let (terms, limits) = (terms?.try_into()?, Limits::try_from(limits?)?);
        if credits == 0 || credits as usize > RPCRDMA_CALLS {
            return Err(RPCRDMA_INVALID);
        }
        let new = || {
            let mut responder = Kind::new(terms, limits);
            let _ = responder.grant(credits);
            responder
        };
        // SAFETY: and for this.
        unsafe { Kept::place(responder.cast(), length, MARK, new) }
    };
    status(init())
}

impl TryFrom<rpcrdma_limits> for Limits {
    type Error = rpcrdma_status;

    fn try_from(limits: rpcrdma_limits) -> Result<Self, rpcrdma_status> {
        let number = |number| usize::try_from(number).unwrap_or(usize::MAX);
        let (reads, writes) = (number(limits.read_chunks), number(limits.write_chunks));
        if reads > RPCRDMA_CALL_CHUNKS || writes > RPCRDMA_CALL_CHUNKS {
            return Err(RPCRDMA_INVALID);
        }
        Ok(Self::new()
            .with_chunks(reads, writes)
            .with_segments(number(limits.segments))
            .with_octets(limits.octets)
            .with_collected(limits.collected))
    }
}

/// Allows this many RDMA Reads at a time from now on (ORD), and at most this many octets in each RDMA Read and RDMA
/// Write: the limits of the adapter. 0 counts as 1.
///
/// RPCRDMA_INVALID: this is no Responder.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_responder_limit(
    responder: *mut rpcrdma_responder,
    reads: u32,
    octets: u32,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what this needs.
    let responder = unsafe { find(responder, &[]) };
    status(responder.map(|responder| {
        responder.limit_reads(reads);
        responder.limit_transfers(octets);
    }))
}

/// Sets the terms of the connection, if agreed only after connection setup. The terms apply from the next Call on.
///
/// RPCRDMA_INVALID: the terms have a number that has no meaning or a threshold that is too small, or this is no Responder.
/// RPCRDMA_OVERLAP: the terms are in the Responder.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_responder_agree(
    responder: *mut rpcrdma_responder,
    terms: *const rpcrdma_terms,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what this needs.
    let terms = unsafe { value(terms).copied() };
    let agree = || {
        let terms = terms?.try_into()?;
        // SAFETY: and for this.
        unsafe { find(responder, &[]) }?.agree(terms);
        Ok(())
    };
    status(agree())
}

/// Grants this many credits from the next reply on.
///
/// RPCRDMA_INVALID: credits are 0, or more than RPCRDMA_CALLS; or this is no Responder.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_responder_grant(responder: *mut rpcrdma_responder, credits: u32) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what this needs.
    let responder = unsafe { find(responder, &[]) };
    status(responder.and_then(|responder| responder.grant(credits).map_err(|_| RPCRDMA_INVALID)))
}

/// Version 2: sets the number of messages that may be sent now, from rpcrdma_channel_available. To be called before
/// each rpcrdma_responder_poll.
///
/// RPCRDMA_INVALID: this is no Responder.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_responder_permit(responder: *mut rpcrdma_responder, messages: u32) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what this needs.
    let responder = unsafe { find(responder, &[]) };
    status(responder.map(|responder| responder.permit(messages)))
}

/// Counts the calls.
///
/// RPCRDMA_INVALID: this is no Responder. RPCRDMA_OVERLAP: *counts is in the Responder.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_responder_count(
    responder: *mut rpcrdma_responder,
    counts: *mut rpcrdma_responder_counts,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what this needs.
    let counts = unsafe { OutPointer::new(counts) };
    let count = || {
        let counts = counts?;
        // SAFETY: and for this.
        let responder = unsafe { find(responder, &[counts.extent()]) }?;
        counts.write(rpcrdma_responder_counts {
            occupied: responder.occupied(),
            owed: responder.owed_replies(),
            has_place: u32::from(responder.has_place()),
        });
        Ok(())
    };
    status(count())
}

/// Provides a reply that fits nowhere in memory for RDMA Reads of the Requester, instead of refusing the Call: at most
/// this many at a time (RFC 5666 sections 3.5 and 11). RFC 8166 forbids this. Use only for a Requester that is known to
/// read such replies. One credit less is granted for each; the driver keeps a timer for each, and calls
/// rpcrdma_responder_expire.
///
/// RPCRDMA_INVALID: this is no Responder.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_responder_provide_replies(
    responder: *mut rpcrdma_responder,
    most: u32,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what this needs.
    let responder = unsafe { find(responder, &[]) };
    status(responder.map(|responder| responder.provide_replies(most)))
}

/// Ends the time in which the Requester can read a provided reply. If the Requester is still reading, the connection
/// ends.
///
/// RPCRDMA_UNEXPECTED: there is no such reply, or the end has begun. RPCRDMA_INVALID: this is no Responder.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_responder_expire(responder: *mut rpcrdma_responder, call: u64) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what this needs.
    let responder = unsafe { find(responder, &[]) };
    status(responder.and_then(|responder| Ok(responder.expire(CallId::from_number(call))?)))
}

/// Answers the next Call with this XID with an error, once, before any RDMA Read: for a Call whose RDMA Read, RDMA
/// Write or Send failed on an earlier connection of the same Requester (RFC 8166 section 4.5.3).
///
/// RPCRDMA_INVALID: this is no Responder.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_responder_refuse_xid(responder: *mut rpcrdma_responder, xid: u32) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what this needs.
    let responder = unsafe { find(responder, &[]) };
    status(responder.map(|responder| responder.refuse_xid(xid)))
}

/// Passes an event to the Responder. After that, poll for outputs until there is nothing to do.
///
/// RPCRDMA_POLL_FIRST: outputs have to be taken first. RPCRDMA_UNEXPECTED: that cannot have happened. RPCRDMA_INVALID:
/// kind is not that of an input of a Responder, or this is no Responder. RPCRDMA_OVERLAP: the octets are in the
/// Responder. After each of these, nothing has changed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_responder_handle(
    responder: *mut rpcrdma_responder,
    input: *const rpcrdma_input,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what this needs.
    let input = unsafe { value(input) }.copied();
    let handle = || {
        let input = input?;
        let others = [input.received()?];
        // SAFETY: and for these.
        let (responder, input) = unsafe { (find(responder, &others)?, responder_input(&input)?) };
        Ok(responder.handle(input)?)
    };
    status(handle())
}

/// # Safety
/// As of [`values`], for the octets.
unsafe fn responder_input<'a>(input: &rpcrdma_input) -> Result<Input<'a>, rpcrdma_status> {
    let call = CallId::from_number(input.call);
    Ok(match input.kind {
        RPCRDMA_IN_RECEIVED => {
            // SAFETY: promised by the caller.
            Input::Received { receive: input.receive, octets: unsafe { values(input.octets, input.length) }? }
        }
        RPCRDMA_IN_COMPLETED => Input::Completed { call },
        RPCRDMA_IN_NOT_POSTED => Input::NotPosted { call },
        RPCRDMA_IN_POSTPONED => Input::Postponed { call },
        RPCRDMA_IN_RESUMED => Input::Resumed { call },
        RPCRDMA_IN_REGISTERED => {
            Input::Registered { call, memory: Some(RegisteredMemory { handle: input.handle, offset: input.offset }) }
        }
        RPCRDMA_IN_NOT_REGISTERED => Input::Registered { call, memory: None },
        RPCRDMA_IN_INVALIDATED => Input::Invalidated { call },
        RPCRDMA_IN_BROKEN => Input::Broken { xid: input.xid, error: error_of(input.error, input.words) },
        RPCRDMA_IN_FAILED => Input::Failed,
        RPCRDMA_IN_DISCONNECTED => Input::Disconnected,
        _ => return Err(RPCRDMA_INVALID),
    })
}

/// Says what is to be done next; RPCRDMA_DO_NOTHING if there is nothing. The header of a Send is written to the start of the
/// buffer.
///
/// RPCRDMA_NO_ROOM: the header has more octets than capacity: output->header_length. With a larger buffer, the next call
/// returns the same output. RPCRDMA_INVALID: this is no Responder. RPCRDMA_OVERLAP: the buffer, *output and
/// the Responder are not apart.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_responder_poll(
    responder: *mut rpcrdma_responder,
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
        let responder = unsafe { find(responder, &others) }?;
        answer_poll(&mut output, responder.poll(buffer.octets()), ask)
    };
    status(poll())
}

fn ask(wanted: Output<'_>, output: &mut rpcrdma_output) {
    match wanted {
        Output::Release { receive } => output.ask_of_receive(RPCRDMA_DO_RELEASE, receive),
        Output::Place { call, receive, from, length, at } => {
            let output = output.ask(RPCRDMA_DO_PLACE, call);
            (output.receive, output.from, output.length, output.at) = (receive, from, u64::from(length), at);
        }
        Output::Read { call, source, at } => {
            let output = output.ask(RPCRDMA_DO_READ, call);
            (output.segment, output.at) = (source.into(), at);
        }
        Output::Deliver { call, message: CallMessage::Inline { receive, from, length } } => {
            let output = output.ask(RPCRDMA_DO_DELIVER, call);
            (output.receive, output.from, output.length) = (receive, from, u64::from(length));
        }
        Output::Deliver { call, message: CallMessage::Assembled { length } } => {
            output.ask(RPCRDMA_DO_DELIVER_ASSEMBLED, call).length = u64::from(length);
        }
        Output::Write { call, from, target } => {
            let output = output.ask(RPCRDMA_DO_WRITE, call);
            (output.at, output.length, output.segment) = (from, u64::from(target.length), target.into());
        }
        Output::Send { call, header, payload, invalidate, is_last } => {
            let kind = if invalidate.is_some() { RPCRDMA_DO_SEND_INVALIDATING } else { RPCRDMA_DO_SEND };
            let output = output.ask(kind, call);
            (output.handle, output.header_length) = (invalidate.unwrap_or(0), header);
            output.is_last = u32::from(is_last);
            output.add_ranges(payload);
        }
        Output::Register { call, length } => output.ask(RPCRDMA_DO_PROVIDE_REPLY, call).add_range(0..length),
        Output::Invalidate { call, handle } => output.ask(RPCRDMA_DO_INVALIDATE, call).handle = handle,
        Output::Disconnect => output.kind = RPCRDMA_DO_DISCONNECT,
    }
}

/// Answers a Call that was delivered. *form says what becomes of the reply: RPCRDMA_FORM_SHORT and so on.
///
/// RPCRDMA_NOT_FOUND: there is no such call to answer. RPCRDMA_INVALID: this is not a reply to that call, lengths do
/// not fit each other, flags have no meaning, or this is no Responder. RPCRDMA_TOO_MANY: more results than
/// RPCRDMA_SEGMENTS. RPCRDMA_OVERLAP: the Responder and memory that is read or written are not apart. After each of
/// these, nothing has changed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_responder_reply(
    responder: *mut rpcrdma_responder,
    call: u64,
    reply: *const rpcrdma_reply,
    form: *mut u32,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what each of these needs.
    let (reply, form) = unsafe { (value(reply).copied(), OutPointer::new(form)) };
    let answer = || {
        let (reply, form) = (reply?, form?);
        let others = [
            Extent::from_array(reply.head, reply.head_length)?,
            Extent::from_array(reply.results, reply.results_count)?,
            form.extent(),
        ];
        // SAFETY: and for these.
        let (responder, head, results) = unsafe {
            (
                find(responder, &others)?,
                values(reply.head, reply.head_length)?,
                Items::read(reply.results, reply.results_count)?,
            )
        };
        let protected = match reply.flags {
            0 => false,
            RPCRDMA_PROTECTED => true,
            _ => return Err(RPCRDMA_INVALID),
        };
        let reply = Reply { head, length: reply.length, results: results.as_slice(), protected };
        form.write(match responder.reply(CallId::from_number(call), &reply)? {
            ReplyForm::Short => RPCRDMA_FORM_SHORT,
            ReplyForm::Long => RPCRDMA_FORM_LONG,
            ReplyForm::Refused => RPCRDMA_FORM_REFUSED,
            ReplyForm::Continued => RPCRDMA_FORM_CONTINUED,
            ReplyForm::Provided => RPCRDMA_FORM_PROVIDED,
            _ => RPCRDMA_FORM_OTHER,
        });
        Ok(())
    };
    status(answer())
}

/// Answers a Call that was delivered with an error, ERR_CHUNK or that of version 2 for what cannot be read: there can
/// be no RPC reply.
///
/// RPCRDMA_NOT_FOUND: there is no such call to answer. RPCRDMA_INVALID: this is no Responder.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_responder_refuse(responder: *mut rpcrdma_responder, call: u64) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what this needs.
    let responder = unsafe { find(responder, &[]) };
    status(responder.and_then(|responder| Ok(responder.refuse(CallId::from_number(call))?)))
}

/// Forgets a one-way Call of version 2 that was delivered: a Call of a procedure that has no reply. Only the upper
/// layer recognises such a Call.
///
/// RPCRDMA_NOT_FOUND: there is no such call. RPCRDMA_NOT_SUPPORTED: in version 1 each Call has a reply.
/// RPCRDMA_INVALID: this is no Responder. After each of these, nothing has changed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_responder_forget(responder: *mut rpcrdma_responder, call: u64) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what this needs.
    let responder = unsafe { find(responder, &[]) };
    status(responder.and_then(|responder| Ok(responder.forget(CallId::from_number(call))?)))
}

/// Returns the XID and the length of a Call that is not answered, and the XDR padding in the memory in which the Call
/// is assembled, which neither RPCRDMA_DO_PLACE nor RPCRDMA_DO_READ fills: the driver puts zeros there. padding has
/// room for RPCRDMA_CALL_CHUNKS ranges; unused ranges have length 0.
///
/// RPCRDMA_NOT_FOUND: there is no such call. RPCRDMA_INVALID: this is no Responder. RPCRDMA_OVERLAP: the Responder and what
/// is written are not apart.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_responder_find(
    responder: *mut rpcrdma_responder,
    call: u64,
    xid: *mut u32,
    length: *mut u32,
    padding: *mut [rpcrdma_range; RPCRDMA_CALL_CHUNKS],
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what each of these needs.
    let (xid, length, padding) = unsafe { (OutPointer::new(xid), OutPointer::new(length), OutPointer::new(padding)) };
    let find = || {
        let (xid, length, padding) = (xid?, length?, padding?);
        let others = [xid.extent(), length.extent(), padding.extent()];
        // SAFETY: and for this.
        let responder = unsafe { find(responder, &others) }?;
        let call = CallId::from_number(call);
        let mut ranges = [rpcrdma_range { from: 0, length: 0 }; RPCRDMA_CALL_CHUNKS];
        for (slot, range) in ranges.iter_mut().zip(responder.padding(call)) {
            *slot = rpcrdma_range { from: range.start, length: range.end.saturating_sub(range.start) };
        }
        let found = (responder.xid(call), responder.length(call));
        let (Some(found_xid), Some(found_length)) = found else { return Err(RPCRDMA_NOT_FOUND) };
        xid.write(found_xid);
        length.write(found_length);
        padding.write(ranges);
        Ok(())
    };
    status(find())
}

impl From<ReplyFault> for rpcrdma_status {
    fn from(fault: ReplyFault) -> Self {
        match fault {
            ReplyFault::NoCall => RPCRDMA_NOT_FOUND,
            ReplyFault::Xid | ReplyFault::Items => RPCRDMA_INVALID,
            ReplyFault::Owed => RPCRDMA_NOT_SUPPORTED,
            _ => RPCRDMA_UNEXPECTED,
        }
    }
}

/// # Safety
/// As of [`Kept::find`].
unsafe fn find<'a>(responder: *mut rpcrdma_responder, others: &[Extent]) -> Result<&'a mut Kind, rpcrdma_status> {
    // SAFETY: promised by the caller.
    unsafe { Kept::find(responder.cast(), MARK, others) }
}

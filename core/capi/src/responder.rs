//! The Responder of version 1.

use rpcrdma::endpoint::responder::{CallMessage, Form, Input, Output, Reply, ReplyFault};
use rpcrdma::endpoint::{CallId, Limits, Responder};

use crate::argument::{Extent, Place, Room, status, value, values};
use crate::endpoint::{
    Items, Kept, RPCRDMA_CALL_CHUNKS, RPCRDMA_CALL_HEADER, RPCRDMA_CALLS, RPCRDMA_DO_DELIVER,
    RPCRDMA_DO_DELIVER_ASSEMBLED, RPCRDMA_DO_DISCONNECT, RPCRDMA_DO_PLACE, RPCRDMA_DO_READ, RPCRDMA_DO_RELEASE,
    RPCRDMA_DO_SEND, RPCRDMA_DO_SEND_INVALIDATING, RPCRDMA_DO_UNKNOWN, RPCRDMA_DO_WRITE, RPCRDMA_IN_COMPLETED,
    RPCRDMA_IN_DISCONNECTED, RPCRDMA_IN_FAILED, RPCRDMA_IN_NOT_POSTED, RPCRDMA_IN_RECEIVED, answer_poll, rpcrdma_input,
    rpcrdma_item, rpcrdma_output, rpcrdma_range, rpcrdma_terms,
};
use crate::status::rpcrdma_status;
use crate::status::rpcrdma_status::{RPCRDMA_INVALID, RPCRDMA_NOT_FOUND, RPCRDMA_UNEXPECTED};

/// The Responder of one connection, in memory of the caller's. It has no pointer into itself, but must not be copied while
/// in use.
#[derive(Debug)]
pub struct rpcrdma_responder {
    _private: [u8; 0],
}

type Kind = Responder<RPCRDMA_CALLS, RPCRDMA_CALL_HEADER, RPCRDMA_CALL_CHUNKS>;

/// What [`Kept`] begins with: "rdmares1".
const MARK: u64 = 0x7264_6d61_7265_7331;

/// How large a Call may be; a larger one is answered with ERR_CHUNK before anything is pulled.
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
    /// How many.
    pub results_count: usize,
}

/// RPCSEC_GSS integrity or privacy covers the results, so none is reduced.
pub const RPCRDMA_PROTECTED: u32 = 1;

/// The reply is sent inline, with or without results in Write chunks.
pub const RPCRDMA_FORM_SHORT: u32 = 1;
/// The reply is in the Reply chunk.
pub const RPCRDMA_FORM_LONG: u32 = 2;
/// There is no room for the reply: ERR_CHUNK is sent instead.
pub const RPCRDMA_FORM_REFUSED: u32 = 3;
/// A form of a feature that C cannot turn on.
pub const RPCRDMA_FORM_UNKNOWN: u32 = 4;

/// Octets of a Responder for this many calls at a time; 0 if it is more than RPCRDMA_CALLS. The size is fixed when the
/// library is built, so it is the same for all smaller numbers.
#[unsafe(no_mangle)]
pub extern "C" fn rpcrdma_responder_size(calls: usize) -> usize {
    if calls > RPCRDMA_CALLS { 0 } else { size_of::<Kept<Kind>>() }
}

/// Makes a Responder of a new connection in memory of rpcrdma_responder_size octets, aligned like a uint64_t. It grants
/// credits credits, so as many Receives have to be posted. It takes as much stack as its size. There is nothing to free;
/// another connection needs a new one.
///
/// RPCRDMA_NO_ROOM: length is less than the size. RPCRDMA_INVALID: credits are 0, or more than RPCRDMA_CALLS.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_responder_init(
    responder: *mut rpcrdma_responder,
    length: usize,
    terms: *const rpcrdma_terms,
    limits: *const rpcrdma_limits,
    credits: u32,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what each of these needs.
    let (terms, limits) = unsafe { (value(terms).copied(), value(limits).copied()) };
    let init = || {
        let (terms, limits) = (terms?, Limits::from(limits?));
        if credits == 0 || credits as usize > RPCRDMA_CALLS {
            return Err(RPCRDMA_INVALID);
        }
        let new = || {
            let mut responder = Kind::new(terms.into(), limits);
            let _ = responder.grant(credits);
            responder
        };
        // SAFETY: and for this.
        unsafe { Kept::put(responder.cast(), length, MARK, new) }
    };
    status(init())
}

impl From<rpcrdma_limits> for Limits {
    fn from(limits: rpcrdma_limits) -> Self {
        let number = |number| usize::try_from(number).unwrap_or(usize::MAX);
        Self::new()
            .with_chunks(number(limits.read_chunks), number(limits.write_chunks))
            .with_segments(number(limits.segments))
            .with_octets(limits.octets)
    }
}

/// Allows this many RDMA Reads at a time from now on (ORD), and at most this many octets in each RDMA Read and RDMA Write:
/// those that the adapter allows. 0 counts as 1.
///
/// RPCRDMA_INVALID: this is no Responder.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_responder_limit(
    responder: *mut rpcrdma_responder,
    reads: u32,
    octets: u32,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what this needs.
    let responder = unsafe { Kept::<Kind>::find(responder.cast(), MARK, &[]) };
    status(responder.map(|responder| {
        responder.limit_reads(reads);
        responder.limit_transfers(octets);
    }))
}

/// Tells the Responder what happened. After it, outputs are taken until there is nothing to do.
///
/// RPCRDMA_POLL_FIRST: outputs have to be taken first. RPCRDMA_UNEXPECTED: that cannot have happened. RPCRDMA_INVALID: kind
/// is not that of an input of a Responder, or this is no Responder. RPCRDMA_OVERLAP: the octets are in it. In all of these
/// nothing is done.
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
        let (responder, input) =
            unsafe { (Kept::<Kind>::find(responder.cast(), MARK, &others)?, responder_input(&input)?) };
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
    let (buffer, output) = unsafe { (Room::new(buffer, capacity), Place::new(output)) };
    let poll = || {
        let output = output?;
        let mut buffer = buffer?.apart_from_place(&output)?;
        let others = [buffer.extent(), output.extent()];
        // SAFETY: and for this.
        let responder = unsafe { Kept::<Kind>::find(responder.cast(), MARK, &others) }?;
        answer_poll(&output, responder.poll(buffer.octets()).map(|next| next.map_or(rpcrdma_output::NOTHING, asked)))
    };
    status(poll())
}

fn asked(output: Output<'_>) -> rpcrdma_output {
    match output {
        Output::Release { receive } => rpcrdma_output { kind: RPCRDMA_DO_RELEASE, receive, ..rpcrdma_output::NOTHING },
        Output::Place { call, receive, from, length, at } => rpcrdma_output {
            receive,
            from,
            length: u64::from(length),
            at,
            ..rpcrdma_output::of(RPCRDMA_DO_PLACE, call)
        },
        Output::Read { call, source, at } => {
            rpcrdma_output { segment: source.into(), at, ..rpcrdma_output::of(RPCRDMA_DO_READ, call) }
        }
        Output::Deliver { call, message: CallMessage::Inline { receive, from, length } } => {
            rpcrdma_output { receive, from, length: u64::from(length), ..rpcrdma_output::of(RPCRDMA_DO_DELIVER, call) }
        }
        Output::Deliver { call, message: CallMessage::Assembled { length } } => {
            rpcrdma_output { length: u64::from(length), ..rpcrdma_output::of(RPCRDMA_DO_DELIVER_ASSEMBLED, call) }
        }
        Output::Write { call, from, target } => {
            let length = u64::from(target.length);
            rpcrdma_output { at: from, length, segment: target.into(), ..rpcrdma_output::of(RPCRDMA_DO_WRITE, call) }
        }
        Output::Send { call, header, payload, invalidate, is_last: _ } => {
            let kind = if invalidate.is_some() { RPCRDMA_DO_SEND_INVALIDATING } else { RPCRDMA_DO_SEND };
            let handle = invalidate.unwrap_or(0);
            rpcrdma_output { handle, header_length: header, ..rpcrdma_output::of(kind, call) }.with_ranges(payload)
        }
        Output::Disconnect => rpcrdma_output { kind: RPCRDMA_DO_DISCONNECT, ..rpcrdma_output::NOTHING },
        // Replies that are pulled.
        Output::Register { call, .. } | Output::Invalidate { call, .. } => rpcrdma_output::of(RPCRDMA_DO_UNKNOWN, call),
    }
}

/// Answers a Call that was delivered. *form says what becomes of the reply: RPCRDMA_FORM_SHORT and so on.
///
/// RPCRDMA_NOT_FOUND: there is no such call to answer. RPCRDMA_INVALID: this is not a reply to it, its lengths do not fit each
/// other, or this is no Responder. RPCRDMA_TOO_MANY: more results than RPCRDMA_SEGMENTS. RPCRDMA_OVERLAP: the
/// Responder and what it reads or writes are not apart. In all of these nothing is done.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_responder_reply(
    responder: *mut rpcrdma_responder,
    call: u64,
    reply: *const rpcrdma_reply,
    form: *mut u32,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what each of these needs.
    let (reply, form) = unsafe { (value(reply).copied(), Place::new(form)) };
    let answer = || {
        let (reply, form) = (reply?, form?);
        let others = [
            Extent::of(reply.head, reply.head_length)?,
            Extent::of(reply.results, reply.results_count)?,
            form.extent(),
        ];
        // SAFETY: and for these.
        let (responder, head, results) = unsafe {
            (
                Kept::<Kind>::find(responder.cast(), MARK, &others)?,
                values(reply.head, reply.head_length)?,
                Items::read(reply.results, reply.results_count)?,
            )
        };
        let protected = reply.flags & RPCRDMA_PROTECTED != 0;
        let reply = Reply { head, length: reply.length, results: results.as_slice(), protected };
        form.put(match responder.reply(CallId::from_number(call), &reply)? {
            Form::Short => RPCRDMA_FORM_SHORT,
            Form::Long => RPCRDMA_FORM_LONG,
            Form::Refused => RPCRDMA_FORM_REFUSED,
            _ => RPCRDMA_FORM_UNKNOWN,
        });
        Ok(())
    };
    status(answer())
}

/// Answers a Call that was delivered with ERR_CHUNK: there can be no RPC reply to it.
///
/// RPCRDMA_NOT_FOUND: there is no such call to answer. RPCRDMA_INVALID: this is no Responder.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_responder_refuse(responder: *mut rpcrdma_responder, call: u64) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what this needs.
    let responder = unsafe { Kept::<Kind>::find(responder.cast(), MARK, &[]) };
    status(responder.and_then(|responder| Ok(responder.refuse(CallId::from_number(call))?)))
}

/// The XID and the length of a Call that is not answered, and the XDR padding in the memory in which it is put together,
/// which neither RPCRDMA_DO_PLACE nor RPCRDMA_DO_READ fills: the driver puts zeros there. padding has room for
/// RPCRDMA_CALL_CHUNKS ranges; those that are not needed have length 0.
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
    let (xid, length, padding) = unsafe { (Place::new(xid), Place::new(length), Place::new(padding)) };
    let find = || {
        let (xid, length, padding) = (xid?, length?, padding?);
        let others = [xid.extent(), length.extent(), padding.extent()];
        // SAFETY: and for this.
        let responder = unsafe { Kept::<Kind>::find(responder.cast(), MARK, &others) }?;
        let call = CallId::from_number(call);
        let mut ranges = [rpcrdma_range { from: 0, length: 0 }; RPCRDMA_CALL_CHUNKS];
        for (place, range) in ranges.iter_mut().zip(responder.padding(call)) {
            *place = rpcrdma_range { from: range.start, length: range.end.saturating_sub(range.start) };
        }
        let found = (responder.xid(call), responder.length(call));
        let (Some(found_xid), Some(found_length)) = found else { return Err(RPCRDMA_NOT_FOUND) };
        xid.put(found_xid);
        length.put(found_length);
        padding.put(ranges);
        Ok(())
    };
    status(find())
}

impl From<ReplyFault> for rpcrdma_status {
    fn from(fault: ReplyFault) -> Self {
        match fault {
            ReplyFault::NoCall => RPCRDMA_NOT_FOUND,
            ReplyFault::Xid | ReplyFault::Items => RPCRDMA_INVALID,
            _ => RPCRDMA_UNEXPECTED,
        }
    }
}

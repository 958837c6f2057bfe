//! A Send of version 1 (RFC 8166 section 4).

use rpcrdma::prefix::Prefix;
use rpcrdma::v1::{ErrorBody, ReplyHeader, VERSION};
use rpcrdma::{Body, Chunks, ErrorReply, Header, Reaction};

use crate::argument::{Buffer, OutPointer, octets_and_pointers, status, value, values};
use crate::lists::rpcrdma_chunks;
use crate::status::rpcrdma_status::{RPCRDMA_INVALID, RPCRDMA_NOT_DECODED, RPCRDMA_OK};
use crate::status::{RPCRDMA_ERR_CHUNK, RPCRDMA_ERR_VERS, rpcrdma_decode_error, rpcrdma_status};

/// One Send of version 1: the transport header, and the place of the Payload stream.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rpcrdma_message {
    /// rdma_xid.
    pub xid: u32,
    /// rdma_credit: requested in a Call, granted in a Reply.
    pub credit: u32,
    /// rdma_proc: RPCRDMA_MSG and so on.
    pub procedure: u32,
    /// RPCRDMA_ERROR: RPCRDMA_ERR_VERS or RPCRDMA_ERR_CHUNK. Otherwise 0.
    pub error: u32,
    /// RPCRDMA_ERR_VERS: the lowest and the highest version that is supported. RPCRDMA_MSGP: rdma_align and rdma_thresh.
    /// Otherwise 0.
    pub words: [u32; 2],
    /// The chunks; empty lists if this procedure has none.
    pub chunks: rpcrdma_chunks,
    /// Octets of the header. Not used for encoding.
    pub header_length: usize,
    /// Octets behind the header: the Payload stream of RPCRDMA_MSG. Not used for encoding.
    pub payload: *const u8,
    /// Octets that follow the header. Not used for encoding.
    pub payload_length: usize,
}

/// RDMA_MSG: the Payload stream follows the header.
pub const RPCRDMA_MSG: u32 = 0;
/// RDMA_NOMSG: the Payload stream is in a chunk.
pub const RPCRDMA_NOMSG: u32 = 1;
/// RDMA_MSGP: not to be sent any more (section 4.6.1).
pub const RPCRDMA_MSGP: u32 = 2;
/// RDMA_DONE: not to be sent any more (section 4.6.2).
pub const RPCRDMA_DONE: u32 = 3;
/// RDMA_ERROR: the header of a Call was in error (section 4.5).
pub const RPCRDMA_ERROR: u32 = 4;

impl rpcrdma_message {
    /// Creates a Send of this length in octets with these chunks, and with `payload` after the header.
    #[inline(always)]
    fn from_parts(prefix: Prefix, chunks: Chunks<'_>, length: usize, payload: &[u8]) -> Self {
        Self {
            xid: prefix.xid,
            credit: prefix.credit,
            procedure: prefix.procedure.0,
            error: 0,
            words: [0; 2],
            chunks: chunks.into(),
            // The rest is never longer than the whole.
            header_length: length.wrapping_sub(payload.len()),
            payload: payload.as_ptr(),
            payload_length: payload.len(),
        }
    }

    /// Creates a Send of this length with any header.
    fn of_any(header: &Header<'_>, length: usize, payload: &[u8]) -> Self {
        let (error, words) = match header.body {
            Body::Msgp { align, thresh, .. } => (0, [align, thresh]),
            Body::Error(ErrorBody::Vers { low, high }) => (RPCRDMA_ERR_VERS, [low, high]),
            Body::Error(ErrorBody::Chunk) => (RPCRDMA_ERR_CHUNK, [0; 2]),
            Body::Msg(_) | Body::Nomsg(_) | Body::Done => (0, [0; 2]),
        };
        let chunks = header.chunks().unwrap_or_default();
        Self { error, words, ..Self::from_parts(header.prefix(), chunks, length, payload) }
    }
}

impl rpcrdma_message {
    /// # Safety
    /// As of `values`, for the chunks.
    unsafe fn header<'a>(&self) -> Result<Header<'a>, rpcrdma_status> {
        // SAFETY: promised by the caller.
        let chunks: Chunks<'a> = unsafe { self.chunks.read() }?;
        let [first, second] = self.words;
        let body = match (self.procedure, self.error) {
            (RPCRDMA_MSG, _) => Body::Msg(chunks),
            (RPCRDMA_NOMSG, _) => Body::Nomsg(chunks),
            (RPCRDMA_MSGP, _) => Body::Msgp { align: first, thresh: second, chunks },
            (RPCRDMA_DONE, _) => Body::Done,
            (RPCRDMA_ERROR, RPCRDMA_ERR_VERS) => Body::Error(ErrorBody::Vers { low: first, high: second }),
            (RPCRDMA_ERROR, RPCRDMA_ERR_CHUNK) => Body::Error(ErrorBody::Chunk),
            _ => return Err(RPCRDMA_INVALID),
        };
        Ok(Header { xid: self.xid, credit: self.credit, body })
    }
}

/// Decodes a Send of version 1. Lists and payload in *message point into the octets.
///
/// RPCRDMA_NOT_DECODED: *error says why. RPCRDMA_OVERLAP: *message or *error overlaps the octets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_decode(
    octets: *const u8,
    length: usize,
    message: *mut rpcrdma_message,
    error: *mut rpcrdma_decode_error,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what this needs.
    match unsafe { decode_usual(octets, length, message, error) } {
        Some(()) => RPCRDMA_OK,
        // SAFETY: and for what this needs.
        None => unsafe { decode_any(octets, length, message, error) },
    }
}

/// The shortest RDMA_MSG.
const SMALLEST: usize = 28;

/// Decodes a valid RDMA_MSG or RDMA_NOMSG, as nearly all messages are, if the arguments are valid. Otherwise does
/// nothing: the general decoder then begins again, so that this function saves nothing for that case, and stays in
/// registers.
///
/// # Safety
/// As of [`rpcrdma_decode`].
#[inline(always)]
unsafe fn decode_usual(
    octets: *const u8,
    length: usize,
    message: *mut rpcrdma_message,
    error: *mut rpcrdma_decode_error,
) -> Option<()> {
    // SAFETY: promised by the caller.
    let (octets, message, _error) = unsafe { octets_and_pointers(octets, length, message, error) }?;
    if length < SMALLEST {
        return None;
    }
    let prefix = Prefix::decode(octets).ok()?;
    if prefix.version != VERSION || prefix.procedure.0 > RPCRDMA_NOMSG {
        return None;
    }
    let (header, payload) = Header::decode(octets).ok()?;
    let (Body::Msg(chunks) | Body::Nomsg(chunks)) = header.body else { return None };
    message.write(rpcrdma_message::from_parts(prefix, chunks, length, payload));
    Some(())
}

/// Decodes any Send, and returns the error of the Send or of the arguments.
///
/// # Safety
/// As of [`rpcrdma_decode`].
#[cold]
#[inline(never)]
unsafe fn decode_any(
    octets: *const u8,
    length: usize,
    message: *mut rpcrdma_message,
    error: *mut rpcrdma_decode_error,
) -> rpcrdma_status {
    let decode = || {
        // SAFETY: the header asks the caller for what each of these needs.
        let (octets, message, error) =
            unsafe { (values(octets, length)?, OutPointer::new(message)?, OutPointer::new(error)?) };
        let (message, error) = (message.apart_from(octets)?, error.apart_from(octets)?);
        let (header, payload) = Header::decode(octets).map_err(|why| {
            error.write(why.into());
            RPCRDMA_NOT_DECODED
        })?;
        message.write(rpcrdma_message::of_any(&header, length, payload));
        Ok(())
    };
    status(decode())
}

/// Encodes the header of a message of version 1 at the start of a buffer. The caller writes the Payload stream, if any,
/// after the header. The structure was decoded, or filled in: lists in wire format, made with rpcrdma_put_read_segment,
/// rpcrdma_put_write_chunk and rpcrdma_put_segment.
///
/// *length is the length of the header. RPCRDMA_NO_ROOM: that is more than capacity. RPCRDMA_INVALID: procedure or
/// error has no meaning, or the Write list has fewer chunks than its count. RPCRDMA_OVERLAP: the buffer or *length
/// overlaps a list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_encode(
    message: *const rpcrdma_message,
    buffer: *mut u8,
    capacity: usize,
    length: *mut usize,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what each of these needs.
    let (message, buffer) = unsafe { (value(message).copied(), Buffer::new(buffer, capacity, length)) };
    let encode = || {
        // SAFETY: and for this.
        let header = unsafe { message?.header() }?;
        let buffer = buffer?.apart_from_chunks(&header.chunks().unwrap_or_default())?;
        buffer.fill(|buffer| header.encode(buffer))
    };
    status(encode())
}

/// Encodes the header of the Reply to a Call: the chunks of the Call come back with the number of octets written
/// (section 4.3.2). written has the octets in each Write chunk, and may be shorter than the list: the rest is unused.
/// procedure is RPCRDMA_MSG, and the reply follows the header; or RPCRDMA_NOMSG, and reply_length octets are in the
/// Reply chunk.
///
/// *length is that of the header. RPCRDMA_NO_ROOM: that is more than capacity. RPCRDMA_NOT_FOUND: the Call has not as many
/// Write chunks, or no Reply chunk. RPCRDMA_CHUNK_TOO_SMALL: more octets than a chunk has. RPCRDMA_INVALID: the Call has no
/// chunk lists, or procedure is another. RPCRDMA_OVERLAP: the buffer or *length overlaps the Call or the numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_encode_reply(
    call: *const rpcrdma_message,
    credit: u32,
    procedure: u32,
    written: *const u64,
    written_count: usize,
    reply_length: u64,
    buffer: *mut u8,
    capacity: usize,
    length: *mut usize,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what each of these needs.
    let (call, written, buffer) =
        unsafe { (value(call).copied(), values(written, written_count), Buffer::new(buffer, capacity, length)) };
    let encode = || {
        // SAFETY: and for this.
        let call = unsafe { call?.header() }?;
        let (chunks, written) = (call.chunks().ok_or(RPCRDMA_INVALID)?, written?);
        let buffer = buffer?.apart_from_chunks(&chunks)?.apart_from(written)?;
        let reply = ReplyHeader::new(call.xid, credit, &chunks).with_writes(written)?;
        let reply = match procedure {
            RPCRDMA_MSG => reply,
            RPCRDMA_NOMSG => reply.with_reply(reply_length)?,
            _ => return Err(RPCRDMA_INVALID),
        };
        buffer.fill(|buffer| reply.encode(buffer))
    };
    status(encode())
}

/// Encodes the RDMA_ERROR that answers a Call (section 4.5): error is RPCRDMA_ERR_VERS or RPCRDMA_ERR_CHUNK. XID and
/// version come from the first 16 octets of the Call.
///
/// *length is that of the message. RPCRDMA_NO_ROOM: that is more than capacity. RPCRDMA_NOT_DECODED: fewer than 16 octets;
/// then there is nothing to answer. RPCRDMA_INVALID: error is another. RPCRDMA_OVERLAP: the buffer or *length overlaps the
/// Call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_encode_error(
    call: *const u8,
    call_length: usize,
    credit: u32,
    error: u32,
    buffer: *mut u8,
    capacity: usize,
    length: *mut usize,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what each of these needs.
    let (call, buffer) = unsafe { (values(call, call_length), Buffer::new(buffer, capacity, length)) };
    let encode = || {
        let call = call?;
        let buffer = buffer?.apart_from(call)?;
        let prefix = Prefix::decode(call).map_err(|_| RPCRDMA_NOT_DECODED)?;
        let reaction = match error {
            RPCRDMA_ERR_VERS => Reaction::ErrVers,
            RPCRDMA_ERR_CHUNK => Reaction::ErrChunk,
            _ => return Err(RPCRDMA_INVALID),
        };
        let reply = ErrorReply::new(&prefix, credit, reaction).ok_or(RPCRDMA_INVALID)?;
        buffer.fill(|buffer| reply.encode(buffer))
    };
    status(encode())
}

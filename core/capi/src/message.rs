//! A Send of version 1 (RFC 8166 section 4).

use rpcrdma::prefix::Prefix;
use rpcrdma::v1::{ErrorBody, ReplyHeader};
use rpcrdma::{Body, Chunks, ErrorReply, Header, Reaction};

use crate::argument::{Buffer, Place, status, value, values};
use crate::lists::rpcrdma_chunks;
use crate::status::rpcrdma_status::{RPCRDMA_INVALID, RPCRDMA_NOT_DECODED};
use crate::status::{RPCRDMA_ERR_CHUNK, RPCRDMA_ERR_VERS, rpcrdma_decode_error, rpcrdma_status};

/// One Send of version 1: its transport header, and where the Payload stream is.
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
    /// What follows the header: the Payload stream of RPCRDMA_MSG. Not used for encoding.
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
    /// Writes a header that was decoded, of a Send of this length, and what follows it.
    #[inline(always)]
    fn write(place: &Place<Self>, header: Header<'_>, length: usize, payload: &[u8]) {
        // Nearly all messages are one of these two, and each is written at once: one that came out of the `match` would be put
        // together on the stack first, and copied.
        match header.body {
            Body::Msg(chunks) => place.put(Self::of(header.xid, header.credit, RPCRDMA_MSG, chunks, length, payload)),
            Body::Nomsg(chunks) => {
                place.put(Self::of(header.xid, header.credit, RPCRDMA_NOMSG, chunks, length, payload))
            }
            Body::Msgp { align, thresh, chunks } => {
                let message = Self::of(header.xid, header.credit, RPCRDMA_MSGP, chunks, length, payload);
                place.put(Self { words: [align, thresh], ..message });
            }
            Body::Done => {
                place.put(Self::of(header.xid, header.credit, RPCRDMA_DONE, Chunks::default(), length, payload))
            }
            Body::Error(error) => {
                let (error, words) = match error {
                    ErrorBody::Vers { low, high } => (RPCRDMA_ERR_VERS, [low, high]),
                    ErrorBody::Chunk => (RPCRDMA_ERR_CHUNK, [0; 2]),
                };
                let message = Self::of(header.xid, header.credit, RPCRDMA_ERROR, Chunks::default(), length, payload);
                place.put(Self { error, words, ..message });
            }
        }
    }

    #[inline(always)]
    fn of(xid: u32, credit: u32, procedure: u32, chunks: Chunks<'_>, length: usize, payload: &[u8]) -> Self {
        Self {
            xid,
            credit,
            procedure,
            error: 0,
            words: [0; 2],
            chunks: chunks.into(),
            header_length: length.saturating_sub(payload.len()),
            payload: payload.as_ptr(),
            payload_length: payload.len(),
        }
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
    let decode = || {
        // One check after the other, because this is the function that is called most.
        // SAFETY: the header asks the caller for what each of these needs.
        let (octets, message, error) = unsafe { (values(octets, length)?, Place::new(message)?, Place::new(error)?) };
        let (message, error) = (message.apart_from(octets)?, error.apart_from(octets)?);
        // Not `Message::decode`, which would take the whole header through memory.
        match Header::decode(octets) {
            Ok((header, payload)) => rpcrdma_message::write(&message, header, octets.len(), payload),
            Err(why) => {
                error.put(why.into());
                return Err(RPCRDMA_NOT_DECODED);
            }
        }
        Ok(())
    };
    status(decode())
}

/// Encodes the header of a message of version 1 at the start of a buffer. The Payload stream, if it is to follow, is for the
/// caller to put after it. The structure is one that was decoded, or filled in: lists as they are on the wire, made with
/// rpcrdma_put_read_segment, rpcrdma_put_write_chunk and rpcrdma_put_segment.
///
/// *length is that of the header. RPCRDMA_NO_ROOM: that is more than capacity. RPCRDMA_INVALID: procedure or error has no
/// meaning, or the Write list has fewer chunks than it counts. RPCRDMA_OVERLAP: the buffer or *length overlaps a list.
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

/// Encodes the header of the Reply to a Call: its chunks come back with the lengths of what was put into them (section
/// 4.3.2). written has the octets in each Write chunk, and may be shorter than the list: the rest is unused. procedure is
/// RPCRDMA_MSG, and the reply follows the header; or RPCRDMA_NOMSG, and reply_length octets of it are in the Reply chunk.
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

/// Encodes the RDMA_ERROR that answers a Call (section 4.5): error is RPCRDMA_ERR_VERS or RPCRDMA_ERR_CHUNK. Its XID and
/// version are those of the Call, of which the first 16 octets are needed.
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

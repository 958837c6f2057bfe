//! A Send of version 2, in either wire format.

use rpcrdma::prefix::Prefix;
use rpcrdma::v2::family_a::{self, HeaderFlags};
use rpcrdma::v2::family_b::{self, CallExternal};
use rpcrdma::v2::{
    ChunkLists, Credit, ErrorBodyV2, ErrorCode, ErrorReplyV2, Family, HeaderV2, MessageV2, PropertySet, PropertyValue,
    ReplyHeaderV2,
};

use crate::argument::{Buffer, OutPointer, status, value, values};
use crate::lists::{rpcrdma_chunks, rpcrdma_read_list};
use crate::status::rpcrdma_status::{RPCRDMA_INVALID, RPCRDMA_NOT_DECODED, RPCRDMA_NOT_FOUND};
use crate::status::{rpcrdma_decode_error, rpcrdma_status};

/// One Send of version 2: the transport header, and the place of the Payload stream. Fields that a header type does not
/// have are 0, and lists are empty.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rpcrdma_message_v2 {
    /// The wire format: RPCRDMA_FAMILY_A or RPCRDMA_FAMILY_B.
    pub family: u32,
    /// rdma_xid; 0 in a grant.
    pub xid: u32,
    /// rdma_credit: the word in wire format.
    pub credit: u32,
    /// rdma_htype: one of RPCRDMA2_A_... or RPCRDMA2_B_...
    pub header_type: u32,
    /// Family A: rdma_flags.
    pub flags: u32,
    /// rdma_inv_handle: a handle that the Responder may invalidate; 0 for none.
    pub inv_handle: u32,
    /// Family B, a message that is continued: octets of the Payload stream that are still to come.
    pub remaining: u32,
    /// RDMA2_ERROR: rdma_err.
    pub error: u32,
    /// RDMA2_ERROR: the words after rdma_err; 0 for words that this error does not have.
    pub words: [u32; 2],
    /// The chunks.
    pub chunks: rpcrdma_chunks,
    /// Family B, RPCRDMA2_B_CALL_EXTERNAL: the Call chunk.
    pub call_chunk: rpcrdma_read_list,
    /// Transport properties.
    pub properties: rpcrdma_property_list,
    /// Octets of the header. Not used for encoding.
    pub header_length: usize,
    /// Octets behind the header. Not used for encoding.
    pub payload: *const u8,
    /// Octets that follow the header. Not used for encoding.
    pub payload_length: usize,
}

/// The transport properties that are still to be visited: rpcrdma_next_property takes the first. A copy is a second cursor.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rpcrdma_property_list {
    /// Properties in wire format.
    pub octets: *const u8,
    /// Number of octets at octets, at least the length of the properties.
    pub length: usize,
    /// Number of properties.
    pub count: usize,
}

/// A transport property.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rpcrdma_property {
    /// rdma_which.
    pub id: u32,
    /// Kind of the value: RPCRDMA_DEFAULT_VALUE and so on.
    pub kind: u32,
    /// RPCRDMA_NUMBER_VALUE: the number.
    pub number: u32,
    /// RPCRDMA_OPAQUE_VALUE, RPCRDMA_UNKNOWN_VALUE: the octets.
    pub octets: *const u8,
    /// Number of octets.
    pub length: usize,
}

/// Drafts -00 to -02.
pub const RPCRDMA_FAMILY_A: u32 = 1;
/// Drafts -03 to -07.
pub const RPCRDMA_FAMILY_B: u32 = 2;

/// Family A: RDMA2_MSG, chunk lists, then the Payload stream or a part of the stream.
pub const RPCRDMA2_A_MSG: u32 = 0;
/// Family A: RDMA2_NOMSG, the Payload stream is in a chunk. Without chunks and with XID 0, a grant.
pub const RPCRDMA2_A_NOMSG: u32 = 1;
/// Family A: RDMA2_ERROR.
pub const RPCRDMA2_A_ERROR: u32 = 4;
/// Family A: RDMA2_CONNPROP, transport properties.
pub const RPCRDMA2_A_CONNPROP: u32 = 5;
/// Family A: RDMA2_GRANT (draft -02).
pub const RPCRDMA2_A_GRANT: u32 = 6;
/// Family B: RDMA2_ERROR.
pub const RPCRDMA2_B_ERROR: u32 = 4;
/// Family B: RDMA2_GRANT.
pub const RPCRDMA2_B_GRANT: u32 = 5;
/// Family B: RDMA2_CONNPROP_MIDDLE, transport properties, and more in the next message.
pub const RPCRDMA2_B_CONNPROP_MIDDLE: u32 = 6;
/// Family B: RDMA2_CONNPROP_FINAL, the last transport properties.
pub const RPCRDMA2_B_CONNPROP_FINAL: u32 = 7;
/// Family B: RDMA2_CALL_EXTERNAL, a Call in a chunk.
pub const RPCRDMA2_B_CALL_EXTERNAL: u32 = 8;
/// Family B: RDMA2_CALL_MIDDLE, a part of a Call that is not the last.
pub const RPCRDMA2_B_CALL_MIDDLE: u32 = 9;
/// Family B: RDMA2_CALL_INLINE, a Call, or the last part of one.
pub const RPCRDMA2_B_CALL_INLINE: u32 = 10;
/// Family B: RDMA2_REPLY_EXTERNAL, a Reply in the Reply chunk.
pub const RPCRDMA2_B_REPLY_EXTERNAL: u32 = 11;
/// Family B: RDMA2_REPLY_MIDDLE, a part of a Reply that is not the last.
pub const RPCRDMA2_B_REPLY_MIDDLE: u32 = 12;
/// Family B: RDMA2_REPLY_INLINE, a Reply, or the last part of one.
pub const RPCRDMA2_B_REPLY_INLINE: u32 = 13;

/// A property without a value, which stands for the default.
pub const RPCRDMA_DEFAULT_VALUE: u32 = 0;
/// A property whose value is a number.
pub const RPCRDMA_NUMBER_VALUE: u32 = 1;
/// A property whose value is octets.
pub const RPCRDMA_OPAQUE_VALUE: u32 = 2;
/// An unknown property: all data.
pub const RPCRDMA_UNKNOWN_VALUE: u32 = 3;

/// Octets of a transport property whose value is a number, on the wire.
pub const RPCRDMA_NUMBER_PROPERTY: usize = 12;

/// The reply follows the header.
pub const RPCRDMA_REPLY_INLINE: u32 = 0;
/// The reply is in the Reply chunk.
pub const RPCRDMA_REPLY_IN_CHUNK: u32 = 1;

/// Returns the wire format with this number.
pub(crate) const fn family(number: u32) -> Result<Family, rpcrdma_status> {
    match number {
        RPCRDMA_FAMILY_A => Ok(Family::A),
        RPCRDMA_FAMILY_B => Ok(Family::B),
        _ => Err(RPCRDMA_INVALID),
    }
}

const fn number(family: Family) -> u32 {
    match family {
        Family::A => RPCRDMA_FAMILY_A,
        Family::B => RPCRDMA_FAMILY_B,
    }
}

/// An error of version 2, as C has it.
#[derive(Clone, Copy, Default)]
pub(crate) struct ErrorWords {
    /// `rdma_err`.
    pub(crate) error: u32,
    /// The words after `rdma_err`; 0 for words that this error does not have.
    pub(crate) words: [u32; 2],
}

/// Returns `rdma_err` and the words of an error.
pub(crate) const fn error_words(error: ErrorBodyV2) -> ErrorWords {
    let words = match error {
        ErrorBodyV2::Vers { low, high } => [low, high],
        ErrorBodyV2::ReadChunks { max_chunks } | ErrorBodyV2::WriteChunks { max_chunks } => [max_chunks, 0],
        ErrorBodyV2::Segments { max_segments } => [max_segments, 0],
        ErrorBodyV2::WriteResource { chunk_index, length_needed } => [chunk_index, length_needed],
        ErrorBodyV2::ReplyResource { length_needed } => [length_needed, 0],
        ErrorBodyV2::Void(_) => [0; 2],
    };
    ErrorWords { error: error.code().0, words }
}

/// Returns the error with this `rdma_err` and these words.
pub(crate) const fn error_of(code: u32, [first, second]: [u32; 2]) -> ErrorBodyV2 {
    match ErrorCode(code) {
        ErrorCode::VERS => ErrorBodyV2::Vers { low: first, high: second },
        ErrorCode::READ_CHUNKS => ErrorBodyV2::ReadChunks { max_chunks: first },
        ErrorCode::WRITE_CHUNKS => ErrorBodyV2::WriteChunks { max_chunks: first },
        ErrorCode::SEGMENTS => ErrorBodyV2::Segments { max_segments: first },
        ErrorCode::WRITE_RESOURCE => ErrorBodyV2::WriteResource { chunk_index: first, length_needed: second },
        ErrorCode::REPLY_RESOURCE => ErrorBodyV2::ReplyResource { length_needed: first },
        code => ErrorBodyV2::Void(code),
    }
}

impl From<PropertySet<'_>> for rpcrdma_property_list {
    fn from(set: PropertySet<'_>) -> Self {
        let octets = set.octets().unwrap_or_default();
        Self { octets: octets.as_ptr(), length: octets.len(), count: set.len() }
    }
}

impl rpcrdma_property_list {
    /// # Safety
    /// As of [`values`], for the octets.
    unsafe fn read<'a>(&self) -> Result<PropertySet<'a>, rpcrdma_status> {
        // SAFETY: promised by the caller.
        let octets = unsafe { values(self.octets, self.length) }?;
        PropertySet::from_octets(octets, self.count).ok_or(RPCRDMA_INVALID)
    }
}

impl From<MessageV2<'_>> for rpcrdma_message_v2 {
    #[inline(always)]
    fn from(message: MessageV2<'_>) -> Self {
        let MessageV2 { header, header_length, payload } = message;
        let prefix = header.prefix();
        let ErrorWords { error, words } = header.error().map(error_words).unwrap_or_default();
        let (flags, remaining) = match header {
            HeaderV2::A(header) => (header.flags.bits(), 0),
            HeaderV2::B(header) => (0, header.remaining().unwrap_or(0)),
        };
        Self {
            family: number(header.family()),
            xid: prefix.xid,
            credit: prefix.credit,
            header_type: prefix.procedure.0,
            flags,
            inv_handle: header.inv_handle().unwrap_or(0),
            remaining,
            error,
            words,
            chunks: header.chunks().unwrap_or_default().into(),
            call_chunk: header.call_chunk().unwrap_or_default().into(),
            properties: header.properties().unwrap_or_default().into(),
            header_length,
            payload: payload.as_ptr(),
            payload_length: payload.len(),
        }
    }
}

impl rpcrdma_message_v2 {
    /// # Safety
    /// As of [`values`], for each list.
    unsafe fn header<'a>(&self) -> Result<HeaderV2<'a>, rpcrdma_status> {
        // SAFETY: promised by the caller.
        let (chunks, call, properties) =
            unsafe { (self.chunks.read()?, self.call_chunk.read()?, self.properties.read()?) };
        let lists = ChunkLists { inv_handle: self.inv_handle, chunks };
        let (xid, credit) = (self.xid, Credit(self.credit));
        let error = error_of(self.error, self.words);
        Ok(match family(self.family)? {
            Family::A => {
                let body = match self.header_type {
                    RPCRDMA2_A_MSG => family_a::Body::Msg(lists),
                    RPCRDMA2_A_NOMSG => family_a::Body::Nomsg(lists),
                    RPCRDMA2_A_ERROR => family_a::Body::Error(error),
                    RPCRDMA2_A_CONNPROP => family_a::Body::Connprop(properties),
                    RPCRDMA2_A_GRANT => family_a::Body::Grant,
                    _ => return Err(RPCRDMA_INVALID),
                };
                HeaderV2::A(family_a::Header { xid, credit, flags: HeaderFlags::from_bits_retain(self.flags), body })
            }
            Family::B => {
                let (writes, reply, remaining) = (chunks.writes, chunks.reply, self.remaining);
                let body = match self.header_type {
                    RPCRDMA2_B_ERROR => family_b::Body::Error(error),
                    RPCRDMA2_B_GRANT => family_b::Body::Grant,
                    RPCRDMA2_B_CONNPROP_MIDDLE => family_b::Body::ConnpropMiddle(properties),
                    RPCRDMA2_B_CONNPROP_FINAL => family_b::Body::ConnpropFinal(properties),
                    RPCRDMA2_B_CALL_EXTERNAL => family_b::Body::CallExternal(CallExternal { lists, call }),
                    RPCRDMA2_B_CALL_MIDDLE => family_b::Body::CallMiddle { remaining },
                    RPCRDMA2_B_CALL_INLINE => family_b::Body::CallInline(lists),
                    RPCRDMA2_B_REPLY_EXTERNAL => family_b::Body::ReplyExternal { writes, reply },
                    RPCRDMA2_B_REPLY_MIDDLE => family_b::Body::ReplyMiddle { remaining },
                    RPCRDMA2_B_REPLY_INLINE => family_b::Body::ReplyInline { writes },
                    _ => return Err(RPCRDMA_INVALID),
                };
                HeaderV2::B(family_b::Header { xid, credit, body })
            }
        })
    }
}

/// Finds the wire format of a Send of version 2, if the Send shows the format: *family is RPCRDMA_FAMILY_A or
/// RPCRDMA_FAMILY_B.
///
/// RPCRDMA_NOT_FOUND: the Send does not show the format. RPCRDMA_OVERLAP: *family overlaps the octets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_recognise_v2(octets: *const u8, length: usize, family: *mut u32) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what each of these needs.
    let (octets, family) = unsafe { (values(octets, length), OutPointer::new(family)) };
    let recognise = || {
        let octets = octets?;
        let family = family?.apart_from(octets)?;
        family.write(number(Family::detect(octets).ok_or(RPCRDMA_NOT_FOUND)?));
        Ok(())
    };
    status(recognise())
}

/// Decodes a Send of version 2 in the wire format of family. Lists and payload in *message point into the octets.
///
/// RPCRDMA_NOT_DECODED: *error says why. RPCRDMA_INVALID: there is no such family. RPCRDMA_OVERLAP: *message or *error
/// overlaps the octets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_decode_v2(
    family: u32,
    octets: *const u8,
    length: usize,
    message: *mut rpcrdma_message_v2,
    error: *mut rpcrdma_decode_error,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what each of these needs.
    let (octets, message, error) =
        unsafe { (values(octets, length), OutPointer::new(message), OutPointer::new(error)) };
    let decode = || {
        let (family, octets) = (self::family(family)?, octets?);
        let (message, error) = (message?.apart_from(octets)?, error?.apart_from(octets)?);
        match MessageV2::decode(family, octets) {
            Ok(decoded) => message.write(decoded.into()),
            Err(why) => {
                error.write(rpcrdma_decode_error::of_version_2(why));
                return Err(RPCRDMA_NOT_DECODED);
            }
        }
        Ok(())
    };
    status(decode())
}

/// Returns the next transport property.
///
/// RPCRDMA_NOT_FOUND: there is none left. RPCRDMA_INVALID: the list has fewer properties than its count.
/// RPCRDMA_OVERLAP: *property or *list overlaps the octets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_next_property(
    list: *mut rpcrdma_property_list,
    property: *mut rpcrdma_property,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what each of these needs.
    let (list, before, property) = unsafe { (OutPointer::new(list), value(list).copied(), OutPointer::new(property)) };
    let next = || {
        let before = before?;
        let count = before.count.checked_sub(1).ok_or(RPCRDMA_NOT_FOUND)?;
        // SAFETY: and for this.
        let octets = unsafe { values(before.octets, before.length) }?;
        let (list, property) = (list?.apart_from(octets)?, property?.apart_from(octets)?);
        let set = PropertySet::from_octets(octets, 1).ok_or(RPCRDMA_INVALID)?;
        let taken = set.octets().unwrap_or_default().len();
        let rest = octets.get(taken..).unwrap_or_default();
        property.write(set.iter().next().ok_or(RPCRDMA_INVALID)?.into());
        list.write(rpcrdma_property_list { octets: rest.as_ptr(), length: rest.len(), count });
        Ok(())
    };
    status(next())
}

impl From<rpcrdma::v2::Property<'_>> for rpcrdma_property {
    fn from(property: rpcrdma::v2::Property<'_>) -> Self {
        let (kind, number, octets): (_, _, &[u8]) = match property.value {
            PropertyValue::Default => (RPCRDMA_DEFAULT_VALUE, 0, &[]),
            PropertyValue::Uint32(number) => (RPCRDMA_NUMBER_VALUE, number, &[]),
            PropertyValue::Opaque(octets) => (RPCRDMA_OPAQUE_VALUE, 0, octets),
            PropertyValue::Unknown(octets) => (RPCRDMA_UNKNOWN_VALUE, 0, octets),
        };
        Self { id: property.id.0, kind, number, octets: octets.as_ptr(), length: octets.len() }
    }
}

/// Encodes the header of a message of version 2 at the start of a buffer. As rpcrdma_encode; properties are in wire
/// format, as made by rpcrdma_put_property.
///
/// *length is that of the header. RPCRDMA_NO_ROOM: that is more than capacity. RPCRDMA_INVALID: family or header_type
/// has no meaning, or a list has fewer items than its count. RPCRDMA_OVERLAP: the buffer or *length overlaps a list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_encode_v2(
    message: *const rpcrdma_message_v2,
    buffer: *mut u8,
    capacity: usize,
    length: *mut usize,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what each of these needs.
    let (message, buffer) = unsafe { (value(message).copied(), Buffer::new(buffer, capacity, length)) };
    let encode = || {
        // SAFETY: and for this.
        let header = unsafe { message?.header() }?;
        let buffer = buffer?
            .apart_from_chunks(&header.chunks().unwrap_or_default())?
            .apart_from(header.call_chunk().unwrap_or_default().entries())?
            .apart_from(header.properties().and_then(|set| set.octets()).unwrap_or_default())?;
        buffer.fill(|buffer| header.encode(buffer))
    };
    status(encode())
}

/// Encodes the header of the Reply to a Call of version 2, in the Call's wire format. As rpcrdma_encode_reply; place is
/// RPCRDMA_REPLY_INLINE, or RPCRDMA_REPLY_IN_CHUNK with reply_length octets there.
///
/// *length is that of the header. RPCRDMA_NO_ROOM: that is more than capacity. RPCRDMA_NOT_FOUND: the Call has not as many
/// Write chunks, or no Reply chunk. RPCRDMA_CHUNK_TOO_SMALL: more octets than a chunk has. RPCRDMA_INVALID: the Call has no
/// chunk lists, or place is another. RPCRDMA_OVERLAP: the buffer or *length overlaps the Call or the numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_encode_reply_v2(
    call: *const rpcrdma_message_v2,
    credit: u32,
    place: u32,
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
        let reply = ReplyHeaderV2::new(call.family(), call.xid(), Credit(credit), &chunks).with_writes(written)?;
        let reply = match place {
            RPCRDMA_REPLY_INLINE => reply,
            RPCRDMA_REPLY_IN_CHUNK => reply.with_reply(reply_length)?,
            _ => return Err(RPCRDMA_INVALID),
        };
        buffer.fill(|buffer| reply.encode(buffer))
    };
    status(encode())
}

/// Encodes the RDMA2_ERROR that answers a message, in the wire format of family: error is rdma_err, and words are the
/// words that follow rdma_err, if this error has words. XID and version come from the first 16 octets of the message.
///
/// *length is that of the answer. RPCRDMA_NO_ROOM: that is more than capacity. RPCRDMA_NOT_DECODED: fewer than 16 octets.
/// RPCRDMA_INVALID: there is no such family. RPCRDMA_OVERLAP: the buffer or *length overlaps the message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_encode_error_v2(
    family: u32,
    message: *const u8,
    message_length: usize,
    credit: u32,
    error: u32,
    words: *const [u32; 2],
    buffer: *mut u8,
    capacity: usize,
    length: *mut usize,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what each of these needs.
    let (message, words, buffer) =
        unsafe { (values(message, message_length), value(words).copied(), Buffer::new(buffer, capacity, length)) };
    let encode = || {
        let (message, words, family) = (message?, words?, self::family(family)?);
        let buffer = buffer?.apart_from(message)?;
        let prefix = Prefix::decode(message).map_err(|_| RPCRDMA_NOT_DECODED)?;
        let reply = ErrorReplyV2::new(family, &prefix, Credit(credit), error_of(error, words));
        buffer.fill(|buffer| reply.encode(buffer))
    };
    status(encode())
}

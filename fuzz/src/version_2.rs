//! Version 2: the codec against the reference decoder, and round trips.

use arbitrary::Arbitrary;
use rpcrdma::error::{DecodeError, Role};
use rpcrdma::lists::{Chunks, ReadList, WriteChunk, WriteList};
use rpcrdma::v2::{
    ChunkLists, Continuation, Credit, ErrorBodyV2, ErrorCode, ErrorReplyV2, Family, HeaderV2, MessageV2, Part,
    Property, PropertyId, PropertySet, PropertyValue, ReactionV2, VersionRefusal, family_a, family_b,
};

use crate::lists::{ChosenLists, chunks, read_segments, visit};
use crate::oracle::{encoded, same};
use crate::reference::{self, v2};

/// The octets unchanged, and again as version 2.
fn versions(octets: &[u8]) -> [Vec<u8>; 2] {
    let mut patched = octets.to_vec();
    if let Some(version) = patched.get_mut(4..8) {
        version.copy_from_slice(&2_u32.to_be_bytes());
    }
    [octets.to_vec(), patched]
}

/// Checks that the codec finds the same as the reference decoder, or refuses the octets for the same reason.
pub(crate) fn decode(octets: &[u8]) {
    for octets in versions(octets) {
        for (family, expected) in [(Family::A, v2::family_a(&octets)), (Family::B, v2::family_b(&octets))] {
            let decoded = MessageV2::decode(family, &octets);
            if Family::detect(&octets) == Some(family) {
                assert!(decoded.is_ok(), "{family:?} is only said of what decodes");
            }
            match decoded {
                Ok(message) => {
                    looked_at(&message, &octets);
                    same("version 2", Ok((fields(&message.header), message.payload.len())), expected);
                }
                Err(error) => {
                    judged(error, octets.len());
                    same(
                        "version 2",
                        Err(reference::RefusalReason { kind: error.kind.name(), offset: error.offset }),
                        expected,
                    );
                }
            }
        }
        error_reply(&octets);
    }
}

fn looked_at(message: &MessageV2<'_>, octets: &[u8]) {
    let MessageV2 { header, header_length, payload } = message;
    assert_eq!(header_length + payload.len(), octets.len());
    assert!(octets.ends_with(payload), "the payload is the end of the Send");
    if let Some(chunks) = header.chunks() {
        visit(&chunks);
    }
    if let Some(set) = header.properties() {
        assert_eq!((set.len(), set.is_empty()), (set.iter().count(), set.iter().next().is_none()));
    }
    // As the first message of a connection, it is not part of anything before.
    let mut continuation = Continuation::new();
    match continuation.accept(header, payload.len()) {
        Ok(Part::Payload { offset, is_last }) => {
            assert_eq!((offset, header.has_payload(), continuation.is_open()), (0, true, !is_last));
        }
        Ok(Part::Nothing) => assert!(!header.has_payload()),
        Ok(Part::Discard) => assert!(header.error().is_some(), "only an error is dropped unanswered"),
        Err(error) => assert!(matches!(error.code(), ErrorCode::INVAL_CONT | ErrorCode::INVAL_HTYPE)),
    }
    assert!(!header.to_string().is_empty());
}

fn judged(error: DecodeError, length: usize) {
    assert!(error.offset <= length, "{error}");
    for (role, is_responder) in [(Role::Requester, false), (Role::Responder, true)] {
        let answer = match ReactionV2::to(error, role) {
            ReactionV2::Discard => None,
            ReactionV2::Answer(code) => Some(code.0),
        };
        assert_eq!(answer, v2::reaction(error.kind.name(), is_responder), "{role}: {error}");
    }
}

/// Checks that an `RDMA2_ERROR` of any version says the same as the reference decoder finds when reading version 2.
fn error_reply(octets: &[u8]) {
    let [_, patched] = versions(octets);
    for (family, expected) in [(Family::A, v2::family_a(&patched)), (Family::B, v2::family_b(&patched))] {
        let found = ErrorReplyV2::decode(family, octets).ok().map(|(reply, rest)| (error(reply.error()), rest.len()));
        let expected = expected.ok().filter(|(header, _)| header.htype == 4).map(|(header, rest)| (header.body, rest));
        assert_eq!(found, expected, "RDMA2_ERROR of {family:?}");
    }
    if let Some(refusal) = VersionRefusal::decode(octets) {
        let expected = v2::BodyV2::Error(1, vec![refusal.low, refusal.high]);
        let reply = ErrorReplyV2::decode(refusal.layout, octets).ok().map(|(reply, rest)| (error(reply.error()), rest));
        assert_eq!(reply, Some((expected, &[][..])), "ERR_VERS");
    }
}

fn error(body: ErrorBodyV2) -> v2::BodyV2 {
    let words = match body {
        ErrorBodyV2::Vers { low, high } => vec![low, high],
        ErrorBodyV2::ReadChunks { max_chunks } | ErrorBodyV2::WriteChunks { max_chunks } => vec![max_chunks],
        ErrorBodyV2::Segments { max_segments } => vec![max_segments],
        ErrorBodyV2::WriteResource { chunk_index, length_needed } => vec![chunk_index, length_needed],
        ErrorBodyV2::ReplyResource { length_needed } => vec![length_needed],
        ErrorBodyV2::Void(_) => vec![],
    };
    v2::BodyV2::Error(body.code().0, words)
}

fn fields(header: &HeaderV2<'_>) -> v2::HeaderV2 {
    let prefix = header.prefix();
    let flags = match header {
        HeaderV2::A(header) => Some(header.flags.bits()),
        HeaderV2::B(_) => None,
    };
    v2::HeaderV2 { xid: prefix.xid, credit: prefix.credit, flags, htype: prefix.procedure.0, body: body(header) }
}

fn body(header: &HeaderV2<'_>) -> v2::BodyV2 {
    if let Some(body) = header.error() {
        return error(body);
    }
    if let Some(set) = header.properties() {
        return v2::BodyV2::Properties(set.iter().map(|property| (property.id.0, value(property.value))).collect());
    }
    if let Some(lists) = header.chunks() {
        return v2::BodyV2::Lists(header.inv_handle(), header.call_chunk().map(read_segments), chunks(&lists));
    }
    match header {
        HeaderV2::B(family_b::Header {
            body: family_b::Body::CallMiddle { remaining } | family_b::Body::ReplyMiddle { remaining },
            ..
        }) => v2::BodyV2::Remaining(*remaining),
        _ => v2::BodyV2::Grant,
    }
}

fn value(value: PropertyValue<'_>) -> reference::v2::Value {
    match value {
        PropertyValue::Default => v2::Value::Default,
        PropertyValue::Uint32(number) => v2::Value::Number(number),
        PropertyValue::Opaque(octets) => v2::Value::Opaque(octets.to_vec()),
        PropertyValue::Unknown(octets) => v2::Value::Unknown(octets.to_vec()),
    }
}

/// Checks that whatever decodes is encoded to the same octets.
pub(crate) fn same_octets(octets: &[u8]) {
    for octets in versions(octets) {
        for family in [Family::A, Family::B] {
            if let Ok(MessageV2 { header, header_length, payload }) = MessageV2::decode(family, &octets) {
                let again = encoded(header.encoded_len(), |buffer| header.encode(buffer));
                assert_eq!([&again, payload].concat(), octets, "version 2");
                assert_eq!(header_length, again.len());
            }
            if let Ok((reply, rest)) = ErrorReplyV2::decode(family, &octets) {
                let again = encoded(reply.encoded_len(), |buffer| reply.encode(buffer));
                assert_eq!([&again, rest].concat(), octets, "RDMA2_ERROR");
            }
        }
    }
}

/// A header, as chosen by the fuzzer.
#[derive(Arbitrary, Debug)]
pub(crate) struct ChosenV2 {
    xid: u32,
    credit: u32,
    flags: u32,
    inv_handle: u32,
    body: ChosenBodyV2,
    call: Vec<(u32, (u32, u32, u64))>,
    lists: ChosenLists,
    properties: Vec<ChosenProperty>,
}

#[derive(Arbitrary, Debug)]
enum ChosenBodyV2 {
    A(u8),
    B(u8),
    ErrorA(ChosenError),
    ErrorB(ChosenError),
    Middle(bool, u32),
}

#[derive(Arbitrary, Debug)]
enum ChosenError {
    Vers(u32, u32),
    ReadChunks(u32),
    WriteChunks(u32),
    Segments(u32),
    WriteResource(u32, u32),
    ReplyResource(u32),
    Void(u8),
}

#[derive(Arbitrary, Debug)]
struct ChosenProperty {
    id: u8,
    value: ChosenValue,
}

#[derive(Arbitrary, Debug)]
enum ChosenValue {
    Default,
    Number(u32),
    Octets(Vec<u8>),
}

impl ChosenError {
    fn body(&self) -> ErrorBodyV2 {
        match *self {
            Self::Vers(low, high) => ErrorBodyV2::Vers { low, high },
            Self::ReadChunks(max_chunks) => ErrorBodyV2::ReadChunks { max_chunks },
            Self::WriteChunks(max_chunks) => ErrorBodyV2::WriteChunks { max_chunks },
            Self::Segments(max_segments) => ErrorBodyV2::Segments { max_segments },
            Self::WriteResource(chunk_index, length_needed) => {
                ErrorBodyV2::WriteResource { chunk_index, length_needed }
            }
            Self::ReplyResource(length_needed) => ErrorBodyV2::ReplyResource { length_needed },
            // The error codes whose body is left out.
            Self::Void(code @ (1 | 6..=10)) => ErrorBodyV2::Void(ErrorCode(u32::from(code) + 100)),
            Self::Void(code) => ErrorBodyV2::Void(ErrorCode(u32::from(code))),
        }
    }
}

fn property(chosen: &ChosenProperty) -> Property<'_> {
    let id = u32::from(chosen.id % 9);
    let value = match (id, &chosen.value) {
        (_, ChosenValue::Default) => PropertyValue::Default,
        (1..=5, ChosenValue::Number(number)) => PropertyValue::Uint32(*number),
        (6, ChosenValue::Octets(octets)) => PropertyValue::Opaque(octets),
        (0 | 7.., ChosenValue::Octets(octets)) if !octets.is_empty() => PropertyValue::Unknown(octets),
        _ => PropertyValue::Default,
    };
    Property { id: PropertyId(id), value }
}

impl ChosenV2 {
    /// Checks that whatever is encoded decodes to the same, and nothing shorter does.
    pub(crate) fn same_header(&self) {
        let properties: Vec<_> = self.properties.iter().map(property).collect();
        let call = ChosenLists::entries(&self.call);
        self.lists.with(|chunks| {
            let header = self.header(chunks, PropertySet::from_properties(&properties), ReadList::new(&call));
            let octets = encoded(header.encoded_len(), |buffer| header.encode(buffer));
            assert_eq!(HeaderV2::decode(header.family(), &octets), Ok((header, &[][..])));
            for cut in (0..octets.len()).step_by(octets.len() / 256 + 1) {
                let cut = octets.get(..cut).unwrap_or_default();
                assert!(HeaderV2::decode(header.family(), cut).is_err(), "{} of {} octets", cut.len(), octets.len());
            }
        });
    }

    fn header<'a>(&self, chunks: Chunks<'a>, properties: PropertySet<'a>, call: ReadList<'a>) -> HeaderV2<'a> {
        let Self { xid, credit, .. } = *self;
        let (credit, flags) = (Credit(credit), family_a::HeaderFlags::from_bits_retain(self.flags));
        let lists = ChunkLists { inv_handle: self.inv_handle, chunks };
        let a = |body| HeaderV2::A(family_a::Header { xid, credit, flags, body });
        let b = |body| HeaderV2::B(family_b::Header { xid, credit, body });
        let (writes, reply): (WriteList<'a>, Option<WriteChunk<'a>>) = (chunks.writes, chunks.reply);
        match &self.body {
            ChosenBodyV2::A(which) => a(match which % 4 {
                0 => family_a::Body::Msg(lists),
                1 => family_a::Body::Nomsg(lists),
                2 => family_a::Body::Connprop(properties),
                _ => family_a::Body::Grant,
            }),
            ChosenBodyV2::B(which) => b(match which % 7 {
                0 => family_b::Body::CallInline(lists),
                1 => family_b::Body::CallExternal(family_b::CallExternal { lists, call }),
                2 => family_b::Body::ReplyInline { writes },
                3 => family_b::Body::ReplyExternal { writes, reply },
                4 => family_b::Body::ConnpropMiddle(properties),
                5 => family_b::Body::ConnpropFinal(properties),
                _ => family_b::Body::Grant,
            }),
            ChosenBodyV2::ErrorA(error) => a(family_a::Body::Error(error.body())),
            ChosenBodyV2::ErrorB(error) => b(family_b::Body::Error(error.body())),
            ChosenBodyV2::Middle(true, remaining) => b(family_b::Body::CallMiddle { remaining: *remaining }),
            ChosenBodyV2::Middle(false, remaining) => b(family_b::Body::ReplyMiddle { remaining: *remaining }),
        }
    }
}

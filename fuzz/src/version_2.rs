//! Version 2: the codec against the reference decoder, and there and back.

use arbitrary::Arbitrary;
use rpcrdma::error::{DecodeError, Role};
use rpcrdma::lists::{Chunks, ReadList, WriteChunk, WriteList};
use rpcrdma::v2::{
    ChunkLists, Continuation, Credit, ErrorBody, ErrorCode, ErrorReply, Family, Header, Message, Part, Property,
    PropertyId, PropertySet, PropertyValue, Reaction, Refusal, family_a, family_b,
};

use crate::lists::{ChosenLists, chunks, read_segments, visit};
use crate::oracle::{encoded, same};
use crate::reference::{self, v2};

/// The octets as they are, and again as version 2.
fn versions(octets: &[u8]) -> [Vec<u8>; 2] {
    let mut patched = octets.to_vec();
    if let Some(version) = patched.get_mut(4..8) {
        version.copy_from_slice(&2_u32.to_be_bytes());
    }
    [octets.to_vec(), patched]
}

/// The codec finds what the reference decoder finds, or refuses it for the same reason.
pub(crate) fn decode(octets: &[u8]) {
    for octets in versions(octets) {
        for (family, expected) in [(Family::A, v2::family_a(&octets)), (Family::B, v2::family_b(&octets))] {
            let decoded = Message::decode(family, &octets);
            if Family::of(&octets) == Some(family) {
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
                        Err(reference::Refusal { kind: error.kind.name(), offset: error.offset }),
                        expected,
                    );
                }
            }
        }
        error_reply(&octets);
    }
}

fn looked_at(message: &Message<'_>, octets: &[u8]) {
    let Message { header, header_length, payload } = message;
    assert_eq!(header_length + payload.len(), octets.len());
    assert!(octets.ends_with(payload), "the payload is the end of the Send");
    if let Some(chunks) = header.chunks() {
        visit(&chunks);
    }
    if let Some(set) = header.properties() {
        assert_eq!((set.len(), set.is_empty()), (set.iter().count(), set.iter().next().is_none()));
    }
    // As the first message of a connection it is no part of anything before.
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
        let answer = match Reaction::to(error, role) {
            Reaction::Discard => None,
            Reaction::Answer(code) => Some(code.0),
        };
        assert_eq!(answer, v2::reaction(error.kind.name(), is_responder), "{role}: {error}");
    }
}

/// An `RDMA2_ERROR` of any version says what the reference decoder finds in it as one of version 2.
fn error_reply(octets: &[u8]) {
    let [_, patched] = versions(octets);
    for (family, expected) in [(Family::A, v2::family_a(&patched)), (Family::B, v2::family_b(&patched))] {
        let found = ErrorReply::decode(family, octets).ok().map(|(reply, rest)| (error(reply.error()), rest.len()));
        let expected = expected.ok().filter(|(header, _)| header.htype == 4).map(|(header, rest)| (header.body, rest));
        assert_eq!(found, expected, "RDMA2_ERROR of {family:?}");
    }
    if let Some(refusal) = Refusal::decode(octets) {
        let expected = v2::Body::Error(1, vec![refusal.low, refusal.high]);
        let reply = ErrorReply::decode(refusal.layout, octets).ok().map(|(reply, rest)| (error(reply.error()), rest));
        assert_eq!(reply, Some((expected, &[][..])), "ERR_VERS");
    }
}

fn error(body: ErrorBody) -> v2::Body {
    let words = match body {
        ErrorBody::Vers { low, high } => vec![low, high],
        ErrorBody::ReadChunks { max_chunks } | ErrorBody::WriteChunks { max_chunks } => vec![max_chunks],
        ErrorBody::Segments { max_segments } => vec![max_segments],
        ErrorBody::WriteResource { chunk_index, length_needed } => vec![chunk_index, length_needed],
        ErrorBody::ReplyResource { length_needed } => vec![length_needed],
        ErrorBody::Void(_) => vec![],
    };
    v2::Body::Error(body.code().0, words)
}

fn fields(header: &Header<'_>) -> v2::Header {
    let prefix = header.prefix();
    let flags = match header {
        Header::A(header) => Some(header.flags.bits()),
        Header::B(_) => None,
    };
    v2::Header { xid: prefix.xid, credit: prefix.credit, flags, htype: prefix.procedure.0, body: body(header) }
}

fn body(header: &Header<'_>) -> v2::Body {
    if let Some(body) = header.error() {
        return error(body);
    }
    if let Some(set) = header.properties() {
        return v2::Body::Properties(set.iter().map(|property| (property.id.0, value(property.value))).collect());
    }
    if let Some(lists) = header.chunks() {
        return v2::Body::Lists(header.inv_handle(), header.call_chunk().map(read_segments), chunks(&lists));
    }
    match header {
        Header::B(family_b::Header {
            body: family_b::Body::CallMiddle { remaining } | family_b::Body::ReplyMiddle { remaining },
            ..
        }) => v2::Body::Remaining(*remaining),
        _ => v2::Body::Grant,
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

/// What decodes is encoded to the same octets.
pub(crate) fn same_octets(octets: &[u8]) {
    for octets in versions(octets) {
        for family in [Family::A, Family::B] {
            if let Ok(Message { header, header_length, payload }) = Message::decode(family, &octets) {
                let again = encoded(header.encoded_len(), |buffer| header.encode(buffer));
                assert_eq!([&again, payload].concat(), octets, "version 2");
                assert_eq!(header_length, again.len());
            }
            if let Ok((reply, rest)) = ErrorReply::decode(family, &octets) {
                let again = encoded(reply.encoded_len(), |buffer| reply.encode(buffer));
                assert_eq!([&again, rest].concat(), octets, "RDMA2_ERROR");
            }
        }
    }
}

/// A header, as it is chosen.
#[derive(Arbitrary, Debug)]
pub(crate) struct Chosen {
    xid: u32,
    credit: u32,
    flags: u32,
    inv_handle: u32,
    body: ChosenBody,
    call: Vec<(u32, (u32, u32, u64))>,
    lists: ChosenLists,
    properties: Vec<(u8, ChosenValue)>,
}

#[derive(Arbitrary, Debug)]
enum ChosenBody {
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
enum ChosenValue {
    Default,
    Number(u32),
    Octets(Vec<u8>),
}

impl ChosenError {
    fn body(&self) -> ErrorBody {
        match *self {
            Self::Vers(low, high) => ErrorBody::Vers { low, high },
            Self::ReadChunks(max_chunks) => ErrorBody::ReadChunks { max_chunks },
            Self::WriteChunks(max_chunks) => ErrorBody::WriteChunks { max_chunks },
            Self::Segments(max_segments) => ErrorBody::Segments { max_segments },
            Self::WriteResource(chunk_index, length_needed) => ErrorBody::WriteResource { chunk_index, length_needed },
            Self::ReplyResource(length_needed) => ErrorBody::ReplyResource { length_needed },
            // The numbers without a body.
            Self::Void(code @ (1 | 6..=10)) => ErrorBody::Void(ErrorCode(u32::from(code) + 100)),
            Self::Void(code) => ErrorBody::Void(ErrorCode(u32::from(code))),
        }
    }
}

fn property((id, value): &(u8, ChosenValue)) -> Property<'_> {
    let id = u32::from(*id % 9);
    let value = match (id, value) {
        (_, ChosenValue::Default) => PropertyValue::Default,
        (1..=5, ChosenValue::Number(number)) => PropertyValue::Uint32(*number),
        (6, ChosenValue::Octets(octets)) => PropertyValue::Opaque(octets),
        (0 | 7.., ChosenValue::Octets(octets)) if !octets.is_empty() => PropertyValue::Unknown(octets),
        _ => PropertyValue::Default,
    };
    Property { id: PropertyId(id), value }
}

impl Chosen {
    /// What is encoded decodes to the same, and nothing shorter does.
    pub(crate) fn same_header(&self) {
        let properties: Vec<_> = self.properties.iter().map(property).collect();
        let call = ChosenLists::entries(&self.call);
        self.lists.with(|chunks| {
            let header = self.header(chunks, PropertySet::from_properties(&properties), ReadList::new(&call));
            let octets = encoded(header.encoded_len(), |buffer| header.encode(buffer));
            assert_eq!(Header::decode(header.family(), &octets), Ok((header, &[][..])));
            for cut in (0..octets.len()).step_by(octets.len() / 256 + 1) {
                let cut = octets.get(..cut).unwrap_or_default();
                assert!(Header::decode(header.family(), cut).is_err(), "{} of {} octets", cut.len(), octets.len());
            }
        });
    }

    fn header<'a>(&self, chunks: Chunks<'a>, properties: PropertySet<'a>, call: ReadList<'a>) -> Header<'a> {
        use family_b::Body as B;
        let Self { xid, credit, .. } = *self;
        let (credit, flags) = (Credit(credit), family_a::Flags::from_bits_retain(self.flags));
        let lists = ChunkLists { inv_handle: self.inv_handle, chunks };
        let a = |body| Header::A(family_a::Header { xid, credit, flags, body });
        let b = |body| Header::B(family_b::Header { xid, credit, body });
        let (writes, reply): (WriteList<'a>, Option<WriteChunk<'a>>) = (chunks.writes, chunks.reply);
        match &self.body {
            ChosenBody::A(which) => a(match which % 4 {
                0 => family_a::Body::Msg(lists),
                1 => family_a::Body::Nomsg(lists),
                2 => family_a::Body::Connprop(properties),
                _ => family_a::Body::Grant,
            }),
            ChosenBody::B(which) => b(match which % 7 {
                0 => B::CallInline(lists),
                1 => B::CallExternal(family_b::CallExternal { lists, call }),
                2 => B::ReplyInline { writes },
                3 => B::ReplyExternal { writes, reply },
                4 => B::ConnpropMiddle(properties),
                5 => B::ConnpropFinal(properties),
                _ => B::Grant,
            }),
            ChosenBody::ErrorA(error) => a(family_a::Body::Error(error.body())),
            ChosenBody::ErrorB(error) => b(B::Error(error.body())),
            ChosenBody::Middle(true, remaining) => b(B::CallMiddle { remaining: *remaining }),
            ChosenBody::Middle(false, remaining) => b(B::ReplyMiddle { remaining: *remaining }),
        }
    }
}

//! Rules between the messages of a version 2 connection: sequences, properties, the wire format.

use rpcrdma::error::Role;
use rpcrdma::lists::{Chunks, WriteChunk};
use rpcrdma::rpc::{MessageType, RpcCall};
use rpcrdma::v2::family_a::{self, HeaderFlags};
use rpcrdma::v2::family_b::{self, Body};
use rpcrdma::v2::{
    ChunkLists, Continuation, ContinuationError, Credit, ErrorBodyV2, ErrorCode, Family, HeaderV2, MessageV2, Part,
    PropertySet, ReactionV2, Unread,
};

use crate::support::{names_of, vector_of};

/// Puts the payload of each vector where it is said to belong.
fn reassembled(family: Family, folder: &str, names: &[&str]) -> Vec<u8> {
    let mut continuation = Continuation::new();
    let mut stream = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let octets = vector_of(folder, name);
        let MessageV2 { header, payload, .. } = MessageV2::decode(family, &octets).unwrap();
        let is_last = index + 1 == names.len();
        let part = continuation.accept(&header, payload.len());
        assert_eq!(part, Ok(Part::Payload { offset: stream.len() as u64, is_last }), "{name}");
        assert_eq!(continuation.is_open(), !is_last);
        stream.extend_from_slice(payload);
    }
    stream
}

#[test]
fn the_parts_of_a_call_are_one_payload_stream() {
    let a = reassembled(
        Family::A,
        "v2/family-a",
        &["msg_continued_1_of_3", "msg_continued_2_of_3", "msg_continued_3_of_3"],
    );
    let b = reassembled(Family::B, "v2/family-b", &["call_middle_1_of_3", "call_middle_2_of_3", "call_middle_3_of_3"]);
    assert_eq!(a, b);
    let (call, arguments) = RpcCall::decode(&a).unwrap();
    assert_eq!((call.xid, call.program, call.version, call.procedure, arguments.len()), (0x51, 100_003, 3, 0, 0));
    let reply = reassembled(Family::B, "v2/family-b", &["reply_middle_1_of_2", "reply_middle_2_of_2"]);
    assert_eq!(MessageType::peek(&reply), Some((0x52, MessageType::REPLY)));
    assert_eq!(reply.len(), 24);
}

#[test]
fn a_message_of_one_send_is_whole() {
    for (family, folder) in [(Family::A, "v2/family-a"), (Family::B, "v2/family-b")] {
        for name in names_of(folder, "").into_iter().filter(|name| !name.contains("_of_")) {
            let octets = vector_of(folder, &name);
            let MessageV2 { header, payload, .. } = MessageV2::decode(family, &octets).unwrap();
            let whole = Part::Payload { offset: 0, is_last: true };
            let expected = if header.has_payload() { whole } else { Part::Nothing };
            assert_eq!(Continuation::new().accept(&header, payload.len()), Ok(expected), "{name}");
        }
    }
}

fn a(xid: u32, flags: u32, body: family_a::Body<'_>) -> HeaderV2<'_> {
    HeaderV2::A(family_a::Header { xid, credit: Credit(1), flags: HeaderFlags::from_bits_retain(flags), body })
}

fn b(xid: u32, body: Body<'_>) -> HeaderV2<'_> {
    HeaderV2::B(family_b::Header { xid, credit: Credit(1), body })
}

fn msg(xid: u32, flags: u32) -> HeaderV2<'static> {
    a(xid, flags, family_a::Body::Msg(ChunkLists::default()))
}

const NOMSG: family_a::Body<'static> = family_a::Body::Nomsg(ChunkLists {
    inv_handle: 0,
    chunks: Chunks {
        reads: rpcrdma::lists::ReadList::new(&[]),
        writes: rpcrdma::lists::WriteList::EMPTY,
        reply: Some(WriteChunk::new(&[])),
    },
});
const CONNPROP: family_a::Body<'static> = family_a::Body::Connprop(PropertySet::EMPTY);
const CALL: Body<'static> = Body::CallInline(ChunkLists {
    inv_handle: 0,
    chunks: Chunks { reads: rpcrdma::lists::ReadList::new(&[]), writes: rpcrdma::lists::WriteList::EMPTY, reply: None },
});
const REPLY: Body<'static> = Body::ReplyInline { writes: rpcrdma::lists::WriteList::EMPTY };

const MORE: u32 = 2;
const TPMORE: u32 = 4;

fn part(offset: u64, is_last: bool) -> Result<Part, ContinuationError> {
    Ok(Part::Payload { offset, is_last })
}

/// Each message, its octets of payload, and what is to be made of it.
fn play(messages: &[(HeaderV2<'_>, usize, Result<Part, ContinuationError>)]) {
    let mut continuation = Continuation::new();
    for (index, (header, length, expected)) in messages.iter().enumerate() {
        assert_eq!(continuation.accept(header, *length), *expected, "message {index}: {header}");
    }
}

#[test]
fn a_message_inside_a_sequence_is_dropped() {
    let other = Err(ContinuationError::OtherMessage);
    play(&[
        (msg(1, MORE), 10, part(0, false)),
        (msg(2, 0), 5, other),
        (a(3, 0, NOMSG), 0, other),
        (a(0, 0, CONNPROP), 0, other),
        (msg(1, 1), 5, other), // a Reply with the same XID
        (msg(1, 0), 7, part(10, true)),
        (msg(2, 0), 5, part(0, true)),
    ]);
    let middle = Body::CallMiddle { remaining: 7 };
    play(&[
        (b(1, middle), 10, part(0, false)),
        (b(1, REPLY), 5, other),
        (b(1, Body::ReplyMiddle { remaining: 3 }), 5, other),
        (b(2, CALL), 5, other),
        (b(1, CALL), 7, part(10, true)),
        // The rest of the Reply that was refused above.
        (b(1, Body::ReplyMiddle { remaining: 3 }), 5, Ok(Part::Discard)),
        (b(1, REPLY), 3, Ok(Part::Discard)),
        (b(1, REPLY), 3, part(0, true)),
    ]);
}

/// The first words of a message, and nothing that can be decoded after them.
fn cut(family: Family, xid: u32, (is_reply, more): (bool, bool)) -> Vec<u8> {
    let words = match family {
        Family::A => [xid, 2, 1, 0, u32::from(is_reply) | if more { MORE } else { 0 }],
        Family::B => [xid, 2, 1, 10 + 3 * u32::from(is_reply) - u32::from(more), 2],
    };
    words.iter().flat_map(|word| word.to_be_bytes()).take(if family == Family::A { 20 } else { 18 }).collect()
}

#[test]
fn an_unreadable_message_ends_only_its_own_sequence() {
    for (family, is_reply) in [Family::A, Family::B].into_iter().flat_map(|family| [(family, false), (family, true)]) {
        let first = match (family, is_reply) {
            (Family::A, _) => msg(1, MORE | u32::from(is_reply)),
            (Family::B, true) => b(1, Body::ReplyMiddle { remaining: 7 }),
            (Family::B, false) => b(1, Body::CallMiddle { remaining: 7 }),
        };
        let last = |xid| match (family, is_reply) {
            (Family::A, _) => msg(xid, u32::from(is_reply)),
            (Family::B, true) => b(xid, REPLY),
            (Family::B, false) => b(xid, CALL),
        };
        let mut continuation = Continuation::new();
        assert_eq!(continuation.unread(family, &cut(family, 1, (is_reply, true))), Unread::Apart, "none has begun");
        for more in [true, false] {
            assert_eq!(continuation.accept(&first, 10), part(0, false));
            for other in [cut(family, 2, (is_reply, more)), cut(family, 1, (!is_reply, more)), vec![0, 0, 0, 1]] {
                assert_eq!(continuation.unread(family, &other), Unread::Apart);
                assert_eq!(continuation.open_xid(), Some(1));
            }
            assert_eq!(continuation.unread(family, &cut(family, 1, (is_reply, more))), Unread::Ends);
            assert!(!continuation.is_open());
            if more {
                assert_eq!(continuation.accept(&first, 10), Ok(Part::Discard));
                assert_eq!(continuation.unread(family, &cut(family, 1, (is_reply, true))), Unread::Discard);
                assert_eq!(continuation.accept(&last(1), 10), Ok(Part::Discard));
                assert_eq!(continuation.accept(&first, 10), part(0, false), "the next of this XID");
                assert_eq!(continuation.unread(family, &cut(family, 1, (is_reply, true))), Unread::Ends);
                assert_eq!(continuation.unread(family, &cut(family, 1, (is_reply, false))), Unread::Discard);
            }
            assert_eq!(continuation.accept(&last(1), 10), part(0, true), "the next of this XID");
            assert_eq!(continuation.accept(&last(2), 10), part(0, true));
        }
    }
}

#[test]
fn errors_and_grants_come_between() {
    let error = ErrorBodyV2::Void(ErrorCode::BAD_XDR);
    play(&[
        (msg(1, MORE), 10, part(0, false)),
        (a(0, 0, family_a::Body::Nomsg(ChunkLists::default())), 0, Ok(Part::Nothing)),
        (a(0, 0, family_a::Body::Grant), 0, Ok(Part::Nothing)),
        (a(9, 1, family_a::Body::Error(error)), 0, Ok(Part::Nothing)),
        (a(9, 3, family_a::Body::Error(error)), 0, Ok(Part::Discard)),
        (msg(1, 0), 10, part(10, true)),
    ]);
    play(&[
        (b(1, Body::CallMiddle { remaining: 10 }), 10, part(0, false)),
        (b(0, Body::Grant), 0, Ok(Part::Nothing)),
        (b(9, Body::Error(error)), 0, Ok(Part::Nothing)),
        (b(1, CALL), 10, part(10, true)),
    ]);
}

#[test]
fn a_sequence_with_a_fault_is_discarded_to_its_end() {
    let room = [[0; 16]];
    let chunks = Chunks { reply: Some(WriteChunk::new(&room)), ..Chunks::default() };
    let with_chunks = |flags| a(1, flags, family_a::Body::Msg(ChunkLists { inv_handle: 0, chunks }));
    play(&[
        (msg(1, MORE), 10, part(0, false)),
        (with_chunks(MORE), 10, Err(ContinuationError::Chunks)),
        (msg(1, MORE), 10, Ok(Part::Discard)),
        (msg(2, 0), 4, part(0, true)),
        (msg(1, 0), 10, Ok(Part::Discard)),
        (with_chunks(0), 10, part(0, true)),
    ]);
    // Another header type under the same XID.
    play(&[
        (msg(1, MORE), 10, part(0, false)),
        (a(1, 0, NOMSG), 0, Err(ContinuationError::OtherMessage)),
        (msg(1, MORE), 10, Ok(Part::Discard)),
        (a(1, 0, NOMSG), 0, Ok(Part::Discard)),
        (a(1, 1, NOMSG), 0, Ok(Part::Nothing)), // a Reply with the same XID
        (msg(1, 0), 10, Ok(Part::Discard)),
        (msg(1, 0), 10, part(0, true)),
    ]);
}

#[test]
fn flags_belong_to_their_header_types() {
    play(&[
        (a(1, MORE, NOMSG), 0, Err(ContinuationError::MoreNotAllowed)),
        (msg(1, TPMORE), 0, Err(ContinuationError::TpmoreNotAllowed)),
        (a(1, TPMORE, NOMSG), 0, Err(ContinuationError::TpmoreNotAllowed)),
        (msg(2, 0x8000_0010), 3, part(0, true)),
    ]);
}

/// The drafts do not say whether `rdma_remaining` counts the octets of its own message: either will do, but only one.
#[test]
fn what_remains_counts_down_in_one_way_or_the_other() {
    let middle = |remaining| b(1, Body::CallMiddle { remaining });
    let wrong = Err(ContinuationError::Remaining);
    play(&[(middle(30), 10, part(0, false)), (middle(20), 10, part(10, false)), (b(1, CALL), 10, part(20, true))]);
    play(&[(middle(20), 10, part(0, false)), (middle(10), 10, part(10, false)), (b(1, CALL), 10, part(20, true))]);
    // From one way to the other.
    play(&[(middle(30), 10, part(0, false)), (middle(10), 10, wrong), (b(1, CALL), 10, Ok(Part::Discard))]);
    play(&[(middle(30), 10, part(0, false)), (middle(20), 25, wrong), (b(1, CALL), 10, Ok(Part::Discard))]);
    // More, or less, than was said.
    play(&[(middle(30), 10, part(0, false)), (b(1, CALL), 19, wrong), (b(1, CALL), 10, part(0, true))]);
    play(&[(middle(30), 10, part(0, false)), (b(1, CALL), 31, wrong), (b(1, CALL), 10, part(0, true))]);
    play(&[(middle(30), 10, part(0, false)), (b(1, CALL), 30, part(10, true))]);
    play(&[(middle(u32::MAX), 10, part(0, false)), (middle(u32::MAX), usize::MAX, wrong)]);
}

#[test]
fn properties_come_in_one_piece_and_end() {
    let middle = || b(0, Body::ConnpropMiddle(PropertySet::EMPTY));
    let last = || b(5, Body::ConnpropFinal(PropertySet::EMPTY));
    let interrupted = Err(ContinuationError::PropertiesInterrupted);
    play(&[
        (middle(), 0, Ok(Part::Nothing)),
        (b(1, CALL), 9, interrupted),
        (b(1, Body::ReplyExternal { writes: Default::default(), reply: None }), 0, interrupted),
        (middle(), 0, Ok(Part::Nothing)),
        (last(), 0, Ok(Part::Nothing)),
        (b(1, CALL), 9, part(0, true)),
        (last(), 0, Err(ContinuationError::PropertiesAfterLast(Family::B))),
        (middle(), 0, Err(ContinuationError::PropertiesAfterLast(Family::B))),
    ]);
    play(&[
        (a(1, MORE | TPMORE, CONNPROP), 0, Ok(Part::Nothing)),
        (a(2, MORE, CONNPROP), 0, interrupted),
        (msg(1, 0), 4, interrupted),
        (a(1, TPMORE, CONNPROP), 0, Ok(Part::Nothing)),
        (a(2, 0, CONNPROP), 0, Ok(Part::Nothing)),
        (a(3, 0, CONNPROP), 0, Err(ContinuationError::PropertiesAfterLast(Family::A))),
    ]);
}

#[test]
fn what_a_responder_answers_to_a_broken_sequence() {
    for (error, code, requester_answers) in [
        (ContinuationError::OtherMessage, ErrorCode::INVAL_CONT, false),
        (ContinuationError::Chunks, ErrorCode::INVAL_CONT, false),
        (ContinuationError::MoreNotAllowed, ErrorCode::INVAL_CONT, false),
        (ContinuationError::Remaining, ErrorCode::INVAL_CONT, false),
        (ContinuationError::TpmoreNotAllowed, ErrorCode::INVAL_HTYPE, true),
        (ContinuationError::PropertiesInterrupted, ErrorCode::INVAL_CONT, true),
        (ContinuationError::PropertiesAfterLast(Family::A), ErrorCode::INVAL_HTYPE, true),
        (ContinuationError::PropertiesAfterLast(Family::B), ErrorCode::INVAL_CONT, true),
    ] {
        assert_eq!(error.reaction(Role::Responder), ReactionV2::Answer(code), "{error:?}");
        let requester = if requester_answers { ReactionV2::Answer(code) } else { ReactionV2::Discard };
        assert_eq!(error.reaction(Role::Requester), requester, "{error:?}");
    }
}

/// Every vector shows its wire format, with exceptions that could be of both.
#[test]
fn a_vector_is_of_its_family_or_of_both() {
    for (family, folder, of_both) in [
        // 28 octets, RESPONSE before the code: an ERR_VERS of versions 6 to 2, 7 to 1 and so on, in family B.
        (
            Family::A,
            "v2/family-a",
            &[
                "error_read_chunks",
                "error_reply_resource",
                "error_segments",
                "error_unknown",
                "error_write_chunks",
                "grant",
            ][..],
        ),
        // An ERR_VERS is the same in version 1.
        (Family::B, "v2/family-b", &["error_unknown", "error_vers"]),
    ] {
        for name in names_of(folder, "") {
            let expected = (!of_both.contains(&name.as_str())).then_some(family);
            assert_eq!(Family::detect(&vector_of(folder, &name)), expected, "{folder}/{name}");
        }
    }
    for name in names_of("v1", "") {
        assert_eq!(Family::detect(&vector_of("v1", &name)), None, "{name}");
    }
}

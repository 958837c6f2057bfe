//! The vectors made by hand from RFC 8166.

use rpcrdma::error::{DecodeError, DecodeErrorKind, EncodeError, Reaction, Role};
use rpcrdma::lists::Chunks;
use rpcrdma::prefix::{Prefix, Procedure};
use rpcrdma::rpc::{Auth, RpcCall};
use rpcrdma::segment::{ReadSegment, Segment};
use rpcrdma::v1::{Body, ErrorBody, ErrorReply, Header, Message, ReplyError, ReplyHeader};

use crate::support::{names, vector};

type Write = Vec<Vec<(u32, u32, u64)>>;

fn tuple(segment: Segment) -> (u32, u32, u64) {
    (segment.handle, segment.length, segment.offset)
}

fn reads(chunks: &Chunks<'_>) -> Vec<(u32, u32, u32, u64)> {
    chunks.reads.iter().map(|ReadSegment { position, target: s }| (position, s.handle, s.length, s.offset)).collect()
}

fn writes(chunks: &Chunks<'_>) -> Write {
    chunks.writes.iter().map(|chunk| chunk.iter().map(tuple).collect()).collect()
}

fn reply(chunks: &Chunks<'_>) -> Option<Vec<(u32, u32, u64)>> {
    chunks.reply.map(|chunk| chunk.iter().map(tuple).collect())
}

/// Checks the vector `name`: xid, credit, procedure, header length, and its chunks.
#[allow(clippy::type_complexity)]
fn check(
    name: &str,
    fixed: (u32, u32, Procedure, usize),
    expected: (&[(u32, u32, u32, u64)], &[&[(u32, u32, u64)]], Option<&[(u32, u32, u64)]>),
) {
    let octets = vector(name);
    let message = Message::decode(&octets).unwrap_or_else(|error| panic!("{name}: {error}"));
    let header = message.header;
    assert_eq!((header.xid, header.credit, header.procedure(), message.header_length), fixed, "{name}");
    let chunks = header.chunks().unwrap_or_else(|| panic!("{name} has lists"));
    assert_eq!(reads(&chunks), expected.0, "{name}: Read list");
    assert_eq!(writes(&chunks), expected.1, "{name}: Write list");
    assert_eq!(reply(&chunks).as_deref(), expected.2, "{name}: Reply chunk");
}

#[test]
fn messages_with_lists() {
    check("msg_no_chunks", (0x5a7a_4583, 128, Procedure::RDMA_MSG, 28), (&[], &[], None));
    check(
        "msg_one_write_chunk",
        (0x0b5e_55ed, 128, Procedure::RDMA_MSG, 52),
        (&[], &[&[(0xa94, 131_072, 0xa506_4bf4_ce8c_6000)]], None),
    );
    check(
        "msg_two_read_segments_and_reply_chunk",
        (0x11, 64, Procedure::RDMA_MSG, 96),
        (
            &[(180, 0x101, 4096, 0x1000_0000), (180, 0x102, 801, 0x2000_0000)],
            &[],
            Some(&[(0x103, 8192, 0x7fff_0000_1000)]),
        ),
    );
    check(
        "msg_read_chunk_of_three",
        (0x21, 1, Procedure::RDMA_MSG, 100),
        (&[(120, 1, 1024, 1), (120, 2, 2048, 2), (120, 3, 5, 3)], &[], None),
    );
    check(
        "msg_write_list_of_three_and_two",
        (0x23, 1, Procedure::RDMA_MSG, 124),
        (
            &[],
            &[&[(1, 0x100, 0x1000), (2, 0x200, 0x2000), (3, 0x300, 0x3000)], &[(4, 0x400, 0x4000), (5, 0x500, 0x5000)]],
            None,
        ),
    );
    check(
        "msg_reply_chunk_of_two",
        (0x24, 1, Procedure::RDMA_MSG, 64),
        (&[], &[], Some(&[(1, 4096, 0x1111_1111_1111_1111), (2, 4095, 0x2222_2222_2222_2222)])),
    );
    check("msg_empty_write_chunk", (0x25, 1, Procedure::RDMA_MSG, 60), (&[], &[&[], &[(9, 64, 0x900)]], None));
    check(
        "msg_unused_write_chunk",
        (0x26, 1, Procedure::RDMA_MSG, 68),
        (&[], &[&[(9, 0, 0x900), (10, 0, 0xa00)]], None),
    );
    check(
        "nomsg_call_position_zero",
        (0x31, 128, Procedure::RDMA_NOMSG, 52),
        (&[(0, 0xbeef, 0x1234, 0xc0ff_ee00)], &[], None),
    );
    check("nomsg_reply", (0x32, 128, Procedure::RDMA_NOMSG, 48), (&[], &[], Some(&[(0xbeef, 0xabc, 0xc0ff_ee00)])));
    check("msgp_no_chunks", (0x41, 2, Procedure::RDMA_MSGP, 36), (&[], &[], None));
}

#[test]
fn read_segments_are_grouped_by_position() {
    let octets = vector("msg_two_read_chunks");
    let (header, _) = Header::decode(&octets).unwrap();
    let chunks = header.chunks().unwrap().reads.chunks();
    let chunks: Vec<_> = chunks.map(|chunk| (chunk.position, chunk.segments.len(), chunk.segments.length())).collect();
    assert_eq!(chunks, [(80, 2, 48), (88, 1, 48)]);
}

#[test]
fn sixteen_of_each() {
    let octets = vector("msg_sixteen_of_each");
    assert_eq!(octets.len(), 16 + (16 * 24 + 4) + (8 + 16 * 16 + 4) + (8 + 16 * 16));
    let (header, rest) = Header::decode(&octets).unwrap();
    assert!(rest.is_empty());
    let chunks = header.chunks().unwrap();
    let numbered = |i: u32| Segment { handle: i, length: 4096 + i, offset: u64::from(i) << 16 };
    assert!(chunks.reads.iter().eq((0..16).map(|i| ReadSegment { position: 100, target: numbered(i) })));
    assert_eq!(chunks.writes.len(), 1);
    assert!(chunks.writes.get(0).unwrap().iter().eq((16..32).map(numbered)));
    assert!(chunks.reply.unwrap().iter().rev().eq((32..48).rev().map(numbered)));
    assert_eq!(chunks.reply.unwrap().get(15), Some(numbered(47)));
}

#[test]
fn messages_without_lists() {
    let body = |name: &str| {
        let octets = vector(name);
        let (header, rest) = Header::decode(&octets).unwrap();
        assert!(rest.is_empty() && header.chunks().is_none(), "{name}");
        (header.xid, header.credit, format!("{:?}", header.body))
    };
    assert_eq!(body("done"), (0x42, 2, format!("{:?}", Body::Done)));
    assert_eq!(body("error_vers"), (0x43, 32, format!("{:?}", Body::Error(ErrorBody::Vers { low: 1, high: 1 }))));
    assert_eq!(body("error_chunk"), (0x44, 32, format!("{:?}", Body::Error(ErrorBody::Chunk))));
    let octets = vector("msgp_no_chunks");
    let Body::Msgp { align: 4096, thresh: 512, .. } = Header::decode(&octets).unwrap().0.body else { panic!() };
}

#[test]
fn the_payload_stream_follows_the_header() {
    let octets = vector("msg_short_call");
    let message = Message::decode(&octets).unwrap();
    assert_eq!((message.header_length, message.payload), (28, &octets[28..]));
    let (call, arguments) = RpcCall::decode(message.payload).unwrap();
    assert_eq!((call.xid, call.program, call.version, call.procedure), (7, 100_003, 3, 0));
    assert_eq!((call.credential, call.verifier, arguments), (Auth::NONE, Auth::NONE, &[][..]));
}

/// Section 4.2.4: `RDMA_NOMSG` and `RDMA_ERROR` have no Payload stream; what follows all the same is kept apart.
#[test]
fn what_follows_a_header_without_payload_is_kept() {
    for name in ["nomsg_reply", "error_chunk", "error_vers", "done"] {
        let mut octets = vector(name);
        let length = octets.len();
        octets.extend([0; 32]);
        let message = Message::decode(&octets).unwrap();
        assert_eq!((message.header_length, message.payload.len()), (length, 32), "{name}");
    }
}

#[test]
fn encoding_gives_the_same_octets() {
    for name in names("") {
        let octets = vector(&name);
        let Message { header, header_length, payload } = Message::decode(&octets).unwrap();
        assert_eq!(header.encoded_len(), header_length, "{name}");
        let mut buffer = vec![0xa5; header_length + 3];
        assert_eq!(header.encode(&mut buffer), Ok(header_length), "{name}");
        assert_eq!((&buffer[..header_length], &buffer[header_length..]), (&octets[..header_length], &[0xa5; 3][..]));
        assert_eq!([&buffer[..header_length], payload].concat(), octets, "{name}");
    }
}

#[test]
fn a_buffer_that_is_too_small_says_what_is_missing() {
    for name in names("") {
        let octets = vector(&name);
        let (header, _) = Header::decode(&octets).unwrap();
        let needed = header.encoded_len();
        for length in 0..needed {
            let mut buffer = vec![0xa5; length];
            assert_eq!(header.encode(&mut buffer), Err(EncodeError { needed, missing: needed - length }), "{name}");
            assert!(buffer.iter().all(|octet| *octet == 0xa5), "{name}: {length}");
        }
    }
}

/// A message cut short is an error within what is there, or, from the end of its header on, the same header.
#[test]
fn every_truncation_of_every_vector() {
    for name in names("") {
        let octets = vector(&name);
        let whole = Message::decode(&octets).unwrap();
        for length in 0..octets.len() {
            match Message::decode(&octets[..length]) {
                Ok(cut) => {
                    assert_eq!(cut.header, whole.header, "{name}: {length}");
                    assert!(length >= whole.header_length, "{name}: {length}");
                }
                Err(error) => {
                    assert!(length < whole.header_length && error.offset <= length, "{name}: {length}: {error}");
                    let short = length < 28 || matches!(whole.header.body, Body::Error(_));
                    assert_eq!(error.kind == DecodeErrorKind::HeaderShort, short, "{name}: {length}: {error}");
                }
            }
        }
    }
}

#[test]
fn what_is_refused_and_what_the_responder_answers() {
    let table = [
        ("error_code_3", DecodeErrorKind::ErrorCode, 16, Reaction::Discard),
        ("error_vers_cut", DecodeErrorKind::HeaderShort, 24, Reaction::Discard),
        ("procedure_5", DecodeErrorKind::Procedure, 12, Reaction::ErrChunk),
        ("read_list_cut", DecodeErrorKind::ListTruncated, 40, Reaction::ErrChunk),
        ("read_list_flag_2", DecodeErrorKind::ListFlag, 40, Reaction::ErrChunk),
        ("reply_chunk_flag_256", DecodeErrorKind::ListFlag, 24, Reaction::ErrChunk),
        ("reply_chunk_flag_cut", DecodeErrorKind::ListTruncated, 32, Reaction::ErrChunk),
        ("shorter_than_28", DecodeErrorKind::HeaderShort, 24, Reaction::Discard),
        ("version_2", DecodeErrorKind::Version, 4, Reaction::ErrVers),
        ("version_2_shorter_than_28", DecodeErrorKind::HeaderShort, 16, Reaction::Discard),
        ("write_chunk_counts_4294967295", DecodeErrorKind::SegmentCount, 24, Reaction::ErrChunk),
        ("write_chunk_counts_too_many", DecodeErrorKind::SegmentCount, 24, Reaction::ErrChunk),
        ("write_list_cut", DecodeErrorKind::ListTruncated, 44, Reaction::ErrChunk),
    ];
    assert_eq!(names("invalid"), table.map(|(name, ..)| name), "every invalid vector is in the table");
    for (name, kind, offset, reaction) in table {
        let octets = vector(&format!("invalid/{name}"));
        let error = Header::decode(&octets).unwrap_err();
        assert_eq!(error, DecodeError { kind, offset }, "{name}");
        assert_eq!(error.reaction(Role::Responder), reaction, "{name}");
        assert_eq!(error.reaction(Role::Requester), Reaction::Discard, "{name}");
    }
}

/// Section 4.5: the answer has the XID and the version of the failing request, and is one of the vectors.
#[test]
fn an_answer_can_be_read() {
    let request = Prefix { xid: 0x44, version: 1, credit: 9, procedure: Procedure(5) };
    let mut buffer = [0xa5; 28];
    let answer = ErrorReply::new(&request, 32, Reaction::ErrChunk).unwrap();
    let length = answer.encode(&mut buffer).unwrap();
    assert_eq!(buffer[..length], vector("error_chunk"));
    let request = Prefix { xid: 0x43, ..request };
    let answer = ErrorReply::new(&request, 32, Reaction::ErrVers).unwrap();
    assert_eq!(answer.encode(&mut buffer), Ok(28));
    assert_eq!(buffer[..], vector("error_vers"));
}

/// Section 3.4.6: every chunk and every segment comes back, only the lengths change.
#[test]
fn a_reply_returns_the_chunks_of_its_call() {
    let octets = vector("msg_write_list_of_three_and_two");
    let (call, _) = Header::decode(&octets).unwrap();
    let unwritten = ReplyHeader::new(call.xid, 5, &call.chunks().unwrap());
    let mut buffer = [0xa5; 200];
    let mut lengths = |written: &[u64]| -> Vec<Vec<u32>> {
        let reply = unwritten.with_writes(written).unwrap();
        assert_eq!((reply.encoded_len(), reply.encode(&mut buffer)), (124, Ok(124)));
        let (header, rest) = Header::decode(&buffer[..124]).unwrap();
        assert!(rest.is_empty());
        assert_eq!((header.xid, header.credit, header.procedure()), (0x23, 5, Procedure::RDMA_MSG));
        let mut found = writes(&header.chunks().unwrap());
        let lengths = found.iter().map(|chunk| chunk.iter().map(|segment| segment.1).collect()).collect();
        for (chunk, original) in found.iter_mut().zip(writes(&call.chunks().unwrap())) {
            for (segment, original) in chunk.iter_mut().zip(original) {
                segment.1 = original.1;
            }
        }
        assert_eq!(found, writes(&call.chunks().unwrap()), "handles and offsets are as they were");
        lengths
    };
    assert_eq!(lengths(&[]), [vec![0, 0, 0], vec![0, 0]]);
    assert_eq!(lengths(&[0x101]), [vec![0x100, 1, 0], vec![0, 0]]);
    assert_eq!(lengths(&[0, 0x900]), [vec![0, 0, 0], vec![0x400, 0x500]]);
    assert_eq!(
        unwritten.with_writes(&[0x601]).unwrap_err(),
        ReplyError::ChunkTooSmall { length: 0x601, capacity: 0x600 }
    );
    assert_eq!(unwritten.with_writes(&[0, 0, 0]).unwrap_err(), ReplyError::NoChunk);
    assert_eq!(unwritten.with_reply(0).unwrap_err(), ReplyError::NoChunk);
    for length in 0..124 {
        let error = unwritten.encode(&mut vec![0; length]).unwrap_err();
        assert_eq!(error, EncodeError { needed: 124, missing: 124 - length });
    }
}

/// Sections 3.5.3 and 4.3.3: a Long Reply is an `RDMA_NOMSG`, and the Reply chunk says how long it is.
#[test]
fn a_long_reply_fills_the_reply_chunk() {
    let octets = vector("msg_two_read_segments_and_reply_chunk");
    let (call, _) = Header::decode(&octets).unwrap();
    let reply = ReplyHeader::new(call.xid, 1, &call.chunks().unwrap());
    let mut buffer = [0xa5; 48];
    for (reply, procedure, length) in
        [(reply, Procedure::RDMA_MSG, 0), (reply.with_reply(8191).unwrap(), Procedure::RDMA_NOMSG, 8191)]
    {
        assert_eq!(reply.encode(&mut buffer), Ok(48));
        let (header, _) = Header::decode(&buffer).unwrap();
        assert_eq!(header.procedure(), procedure);
        let chunks = header.chunks().unwrap();
        assert!(chunks.reads.is_empty() && chunks.writes.is_empty());
        assert_eq!(chunks.reply.and_then(|chunk| chunk.get(0)).map(tuple), Some((0x103, length, 0x7fff_0000_1000)));
    }
    assert_eq!(reply.with_reply(8193).unwrap_err(), ReplyError::ChunkTooSmall { length: 8193, capacity: 8192 });
}

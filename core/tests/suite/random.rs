//! Random headers, and random octets.

use rpcrdma::error::Role;
use rpcrdma::lists::{Chunks, ReadList, WriteChunk, WriteList};
use rpcrdma::rpc::{AuthSys, GssCredential, MessageType, RpcCall, RpcReply};
use rpcrdma::rules::{self, Sent, SentV2};
use rpcrdma::segment::{ReadSegment, Segment};
use rpcrdma::v1::{Body, ErrorBody, Header, Message};
use rpcrdma::v2::{self, family_a, family_b};

use crate::random_numbers::Random;
use crate::support::fewer;

impl Random {
    fn segment(&mut self) -> Segment {
        Segment { handle: self.word(), length: self.word(), offset: self.number() }
    }

    fn segments(&mut self) -> Vec<[u8; 16]> {
        (0..self.below(6)).map(|_| self.segment().to_octets()).collect()
    }
}

fn there_and_back(header: Header<'_>, trailing: &[u8]) -> Vec<u8> {
    let mut octets = vec![0xa5; header.encoded_len()];
    assert_eq!(header.encode(&mut octets), Ok(octets.len()));
    let length = octets.len();
    octets.extend_from_slice(trailing);
    assert_eq!(Message::decode(&octets), Ok(Message { header, header_length: length, payload: trailing }));
    octets
}

#[test]
fn any_header_comes_back() {
    let mut random = Random(1);
    for _ in 0..fewer(20_000) {
        let reads: Vec<_> = (0..random.below(6))
            .map(|_| ReadSegment { position: random.word() & 3, target: random.segment() }.to_entry())
            .collect();
        let memory: Vec<_> = (0..random.below(4)).map(|_| random.segments()).collect();
        let room: Vec<_> = memory.iter().map(|segments| WriteChunk::new(segments)).collect();
        let reply = random.segments();
        let chunks = Chunks {
            reads: ReadList::new(&reads),
            writes: WriteList::from_chunks(&room),
            reply: (random.below(2) == 1).then(|| WriteChunk::new(&reply)),
        };
        let body = match random.below(8) {
            0 => Body::Done,
            1 => Body::Error(ErrorBody::Chunk),
            2 => Body::Error(ErrorBody::Vers { low: random.word(), high: random.word() }),
            3 => Body::Msgp { align: random.word(), thresh: random.word(), chunks },
            4 | 5 => Body::Nomsg(chunks),
            _ => Body::Msg(chunks),
        };
        let trailing = [0x5a; 9];
        let header = Header { xid: random.word(), credit: random.word(), body };
        let octets = there_and_back(header, &trailing[..random.below(10)]);

        // Read chunks are pieces of the Read list: none is empty, and neighbours differ in Position.
        let pieces: Vec<_> = chunks.reads.chunks().collect();
        assert!(pieces.iter().flat_map(|piece| piece.segments).eq(chunks.reads));
        assert!(pieces.iter().all(|piece| !piece.segments.is_empty()));
        assert!(pieces.windows(2).all(|pair| pair[0].position != pair[1].position));

        mangle(&mut random, octets);
    }
}

/// A message with some octets changed is refused within its length, or is again what it encodes to.
fn mangle(random: &mut Random, mut octets: Vec<u8>) {
    for _ in 0..4 {
        let at = random.below(octets.len());
        octets[at] = [0, 1, 2, 0xff][random.below(4)];
        decode(&octets);
    }
}

fn decode(octets: &[u8]) {
    let sent = Sent::new(octets, None);
    let mut found = 0;
    rules::send(&sent, &mut |finding| {
        found += 1;
        assert!(finding.offset <= octets.len(), "{finding}");
    });
    // Octets that the decoder refuses break a rule, except for an error that refuses another version.
    assert!(found > 0 || sent.decoded.is_ok() || sent.error.is_some(), "{octets:02x?}");
    match Message::decode(octets) {
        Ok(message) => {
            let mut again = vec![0xa5; message.header_length];
            assert_eq!(message.header.encode(&mut again), Ok(message.header_length));
            assert_eq!(again, octets[..message.header_length]);
            assert_eq!(message.payload, &octets[message.header_length..]);
        }
        Err(error) => assert!(error.offset <= octets.len(), "{error}"),
    }
}

/// A version 2 message is refused within its length, or is again what it encodes to; so are its properties.
fn decode_version_2(octets: &[u8]) {
    for family in [v2::Family::A, v2::Family::B] {
        let sent = SentV2::new(family, octets);
        let mut refused = false;
        rules::send_v2(&sent, &mut |finding| {
            assert!(finding.offset <= octets.len(), "{finding}");
            let reactions = [Role::Responder, Role::Requester].map(|role| sent.reaction(finding.rule, role));
            assert_eq!(reactions[0].is_some(), reactions[1].is_some(), "{finding}");
            refused |= reactions[0].is_some();
        });
        let is_version_2 = octets.get(4..8) == Some(&[0, 0, 0, 2]);
        assert!(refused || sent.decoded.is_ok() || !is_version_2, "{octets:02x?}");
        match v2::MessageV2::decode(family, octets) {
            Ok(v2::MessageV2 { header, header_length, payload }) => {
                let mut again = vec![0xa5; header_length];
                assert_eq!(header.encode(&mut again), Ok(header_length));
                assert_eq!([&again, payload].concat(), octets);
                if let Some(set) = header.properties() {
                    assert_eq!(set.iter().count(), set.len());
                }
            }
            Err(error) => assert!(error.offset <= octets.len(), "{error}"),
        }
    }
}

impl Random {
    fn version_2_error(&mut self) -> v2::ErrorBodyV2 {
        match self.below(8) {
            0 => v2::ErrorBodyV2::Vers { low: self.word(), high: self.word() },
            1 => v2::ErrorBodyV2::ReadChunks { max_chunks: self.word() },
            2 => v2::ErrorBodyV2::WriteChunks { max_chunks: self.word() },
            3 => v2::ErrorBodyV2::Segments { max_segments: self.word() },
            4 => v2::ErrorBodyV2::WriteResource { chunk_index: self.word(), length_needed: self.word() },
            5 => v2::ErrorBodyV2::ReplyResource { length_needed: self.word() },
            _ => v2::ErrorBodyV2::Void(v2::ErrorCode([2, 3, 4, 5, 11, 12, 100, u32::MAX][self.below(8)])),
        }
    }

    fn property<'a>(&mut self, octets: &'a [u8]) -> v2::Property<'a> {
        let id = self.below(8) as u32;
        let some = &octets[..self.below(octets.len()) + 1];
        let value = match id {
            _ if self.below(4) == 0 => v2::PropertyValue::Default,
            1..=5 => v2::PropertyValue::Uint32(self.word()),
            6 => v2::PropertyValue::Opaque(some),
            _ => v2::PropertyValue::Unknown(some),
        };
        v2::Property { id: v2::PropertyId(id), value }
    }
}

#[test]
fn any_version_2_header_comes_back() {
    let mut random = Random(3);
    for _ in 0..fewer(20_000) {
        let mut entries = || -> Vec<_> {
            (0..random.below(4))
                .map(|_| ReadSegment { position: random.word() & 3, target: random.segment() }.to_entry())
                .collect()
        };
        let (call, reads) = (entries(), entries());
        let memory: Vec<_> = (0..random.below(4)).map(|_| random.segments()).collect();
        let room: Vec<_> = memory.iter().map(|segments| WriteChunk::new(segments)).collect();
        let reply = random.segments();
        let reply = (random.below(2) == 1).then(|| WriteChunk::new(&reply));
        let writes = WriteList::from_chunks(&room);
        let chunks = Chunks { reads: ReadList::new(&reads), writes, reply };
        let lists = v2::ChunkLists { inv_handle: random.word(), chunks };
        let properties: Vec<_> = (0..random.below(5)).map(|_| random.property(b"of any length")).collect();
        let properties = v2::PropertySet::from_properties(&properties);
        let error = random.version_2_error();
        let (xid, credit, remaining) = (random.word(), v2::Credit(random.word()), random.word());
        let header = if random.below(3) == 0 {
            let flags = family_a::HeaderFlags::from_bits_retain(random.word() & random.word());
            let body = match random.below(5) {
                0 => family_a::Body::Msg(lists),
                1 => family_a::Body::Nomsg(lists),
                2 => family_a::Body::Error(error),
                3 => family_a::Body::Connprop(properties),
                _ => family_a::Body::Grant,
            };
            v2::HeaderV2::A(family_a::Header { xid, credit, flags, body })
        } else {
            let body = match random.below(10) {
                0 => family_b::Body::Error(error),
                1 => family_b::Body::Grant,
                2 => family_b::Body::ConnpropMiddle(properties),
                3 => family_b::Body::ConnpropFinal(properties),
                4 => family_b::Body::CallExternal(family_b::CallExternal { lists, call: ReadList::new(&call) }),
                5 => family_b::Body::CallMiddle { remaining },
                6 => family_b::Body::CallInline(lists),
                7 => family_b::Body::ReplyExternal { writes, reply },
                8 => family_b::Body::ReplyMiddle { remaining },
                _ => family_b::Body::ReplyInline { writes },
            };
            v2::HeaderV2::B(family_b::Header { xid, credit, body })
        };
        let mut octets = vec![0xa5; header.encoded_len()];
        let header_length = octets.len();
        assert_eq!(header.encode(&mut octets), Ok(header_length));
        let payload = &[0x5a; 9][..random.below(10)];
        octets.extend_from_slice(payload);
        let message = v2::MessageV2 { header, header_length, payload };
        assert_eq!(v2::MessageV2::decode(header.family(), &octets), Ok(message));
        for _ in 0..4 {
            let at = random.below(octets.len());
            octets[at] = [0, 1, 2, 0xff][random.below(4)];
            decode_version_2(&octets);
        }
    }
}

/// Whatever a side sends, its parts follow each other without a gap.
#[test]
fn parts_follow_each_other_without_a_gap() {
    let mut random = Random(4);
    let mut sequences = 0;
    for _ in 0..fewer(2_000) {
        let mut continuation = v2::Continuation::new();
        let mut expected = 0;
        for _ in 0..random.below(30) {
            let xid = random.below(2) as u32;
            let length = random.below(3);
            let header = if random.below(2) == 0 {
                let flags = family_a::HeaderFlags::from_bits_retain([0, 0, 1, 2, 2, 3, 4][random.below(7)]);
                let body = match random.below(6) {
                    0 => family_a::Body::Nomsg(v2::ChunkLists::default()),
                    1 => family_a::Body::Grant,
                    _ => family_a::Body::Msg(v2::ChunkLists::default()),
                };
                v2::HeaderV2::A(family_a::Header { xid, credit: v2::Credit(1), flags, body })
            } else {
                let remaining = random.below(4) as u32;
                let body = match random.below(4) {
                    0 => family_b::Body::CallInline(v2::ChunkLists::default()),
                    1 => family_b::Body::ReplyMiddle { remaining },
                    _ => family_b::Body::CallMiddle { remaining },
                };
                v2::HeaderV2::B(family_b::Header { xid, credit: v2::Credit(1), body })
            };
            let was_open = continuation.is_open();
            match continuation.accept(&header, length) {
                Ok(v2::Part::Payload { offset, is_last }) => {
                    assert_eq!(offset, if was_open { expected } else { 0 });
                    expected = offset + length as u64;
                    assert_eq!(continuation.is_open(), !is_last);
                    sequences += usize::from(is_last && was_open);
                }
                Ok(v2::Part::Nothing | v2::Part::Discard) => assert_eq!(continuation.is_open(), was_open),
                Err(_) => assert!(was_open || !continuation.is_open()),
            }
        }
    }
    assert!(sequences > fewer(300), "{sequences}");
}

/// Any octets: an error within them, or what is decoded is encoded to the same octets except for XDR padding.
#[test]
fn any_octets_are_judged() {
    let mut random = Random(2);
    for _ in 0..fewer(100_000) {
        let words = random.below(40);
        // Mostly small words, as in real headers: they get further into the decoder.
        let octets: Vec<u8> = (0..words)
            .flat_map(|_| if random.below(4) == 0 { random.word() } else { random.below(3) as u32 }.to_be_bytes())
            .collect();
        let octets = &octets[..octets.len() - random.below(4).min(octets.len())];
        decode(octets);
        decode_version_2(octets);
        let mut of_version_2 = octets.to_vec();
        if let Some(version) = of_version_2.get_mut(4..8) {
            version.copy_from_slice(&[0, 0, 0, 2]);
        }
        decode_version_2(&of_version_2);
        if let Ok((call, arguments)) = RpcCall::decode(octets) {
            assert_eq!(call.encoded_len() + arguments.len(), octets.len());
            assert_eq!(MessageType::peek(octets), Some((call.xid, MessageType::CALL)));
        }
        if let Ok((reply, results)) = RpcReply::decode(octets) {
            assert_eq!(reply.encoded_len() + results.len(), octets.len());
            assert_eq!(MessageType::peek(octets), Some((reply.xid, MessageType::REPLY)));
        }
        if let Ok(sys) = AuthSys::decode(octets) {
            assert!(sys.gids().len() <= 16 && sys.machine_name().len() <= 255);
        }
        if let Ok(gss) = GssCredential::decode(octets) {
            assert!(gss.encoded_len() <= octets.len());
        }
    }
}

//! Headers made at random, and octets made at random.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod support;

use rpcrdma::lists::{Chunks, ReadList, WriteChunk, WriteList};
use rpcrdma::rpc::{AuthSys, Call, GssCredential, MessageType, Reply};
use rpcrdma::segment::{ReadSegment, Segment};
use rpcrdma::v1::{Body, ErrorBody, Header, Message};

/// Numbers that look random and are the same every time (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn word(&mut self) -> u32 {
        (self.next() >> 32) as u32
    }

    fn below(&mut self, bound: u64) -> usize {
        (self.next() % bound) as usize
    }

    fn segment(&mut self) -> Segment {
        Segment { handle: self.word(), length: self.word(), offset: self.next() }
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
    for _ in 0..20_000 {
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

        // Read chunks are the Read list in pieces, none of them empty, neighbours of different Positions.
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
        let at = random.below(octets.len() as u64);
        octets[at] = [0, 1, 2, 0xff][random.below(4)];
        decode(&octets);
    }
}

fn decode(octets: &[u8]) {
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

/// Any octets: an error within them, or what is decoded is encoded to the same octets but for XDR padding.
#[test]
fn any_octets_are_judged() {
    let mut random = Random(2);
    for _ in 0..100_000 {
        let words = random.below(40);
        // Small words mostly, as in real headers: they lead further in.
        let octets: Vec<u8> = (0..words)
            .flat_map(|_| if random.below(4) == 0 { random.word() } else { random.below(3) as u32 }.to_be_bytes())
            .collect();
        let octets = &octets[..octets.len() - random.below(4).min(octets.len())];
        decode(octets);
        if let Ok((call, arguments)) = Call::decode(octets) {
            assert_eq!(call.encoded_len() + arguments.len(), octets.len());
            assert_eq!(MessageType::peek(octets), Some((call.xid, MessageType::CALL)));
        }
        if let Ok((reply, results)) = Reply::decode(octets) {
            assert_eq!(reply.encoded_len() + results.len(), octets.len());
            assert_eq!(MessageType::peek(octets), Some((reply.xid, MessageType::REPLY)));
        }
        if let Ok(sys) = AuthSys::decode(octets) {
            assert!(sys.gids().len() <= 16 && sys.machine_name.len() <= 255);
        }
        if let Ok(gss) = GssCredential::decode(octets) {
            assert!(gss.encoded_len() <= octets.len());
        }
    }
}

//! Messages of all versions, and what becomes of them.

use rpcrdma::segment::Segment;
use rpcrdma::v2::Family;
use rpcrdma_tools::echo;
use rpcrdma_verbs::{Verbs, Version};

use crate::peer::{Peer, QUEUE, Random, SIZE};

/// What a peer may send, and what it grants. In version 1 nothing keeps it from sending.
pub(crate) struct Credits {
    version: Version,
    permitted: u32,
    seen: usize,
}

impl Credits {
    /// Those of a client.
    pub(crate) fn new(version: Version) -> Self {
        Self { version, permitted: 1, seen: 0 }
    }

    /// Whether one more message is permitted, after what has come.
    pub(crate) fn allow_one_more(&mut self, peer: &Peer) -> bool {
        let received: Vec<u32> = peer
            .got
            .iter()
            .skip(self.seen)
            .map(|octets| u32::from_be_bytes(octets[8..12].try_into().unwrap()))
            .collect();
        self.seen += received.len();
        match self.version {
            Version::One => return true,
            Version::Two(Family::A) => self.permitted += received.iter().map(|credit| credit & 0xffff).sum::<u32>(),
            Version::Two(Family::B) => self.permitted = received.last().copied().unwrap_or(self.permitted),
        }
        peer.sent < self.permitted as usize
    }

    /// `rdma_credit` of the next message.
    pub(crate) fn granted(&self, peer: &Peer) -> u32 {
        match self.version {
            Version::One => 32,
            Version::Two(Family::A) => (QUEUE as u32) << 16 | 2,
            Version::Two(Family::B) => (peer.got.len() + QUEUE / 2) as u32,
        }
    }
}

/// What a client of version 2 begins with: no properties, so that the defaults apply.
pub(crate) fn first(family: Family, credit: u32) -> Vec<u8> {
    let mut message = Vec::new();
    let words = if family == Family::A { vec![0, 2, credit, 5, 0, 0] } else { vec![0, 2, credit, 7, 0] };
    put(&mut message, &words);
    message
}

pub(crate) fn put(message: &mut Vec<u8>, words: &[u32]) {
    words.iter().for_each(|word| message.extend_from_slice(&word.to_be_bytes()));
}

/// A segment, usually of advertised memory.
pub(crate) fn segment(random: &mut Random, memory: Segment) -> [u32; 4] {
    let at = random.below(1000) as u32 * 4;
    let length = random.below(2000) as u32;
    let offset = memory.offset + u64::from(at);
    let mut words = [memory.handle, length, (offset >> 32) as u32, offset as u32];
    if random.one_in(60) {
        let word = random.below(4);
        words[word] = random.odd();
    }
    words
}

/// The RPC header of a call of the echo program, and arguments of GIVE, which are also those of ECHO of no octets.
pub(crate) fn rpc_call(xid: u32, procedure: u32, wanted: u32) -> Vec<u8> {
    let mut octets = Vec::new();
    put(&mut octets, &[xid, 0, 2, echo::PROGRAM, echo::VERSION, procedure, 0, 0, 0, 0, 0, wanted, 0]);
    octets
}

/// A call of version 1, or of one of the formats of version 2, usually a correct one.
pub(crate) fn call(random: &mut Random, version: Version, credit: u32, memory: Segment) -> Vec<u8> {
    let (xid, long) = (random.below(8) as u32, random.one_in(4));
    let mut message = Vec::new();
    let credit = if random.one_in(8) { random.odd() } else { credit };
    let invalidated = [0, memory.handle][random.below(2)];
    let start = match version {
        Version::One => vec![xid, 1, credit, u32::from(long)],
        Version::Two(Family::A) => vec![xid, 2, credit, u32::from(long), 0, invalidated],
        Version::Two(Family::B) => vec![xid, 2, credit, if long { 8 } else { 10 }, invalidated],
    };
    put(&mut message, &start);
    if random.one_in(12) {
        // Another header type.
        message[12..16].copy_from_slice(&random.odd().to_be_bytes());
    }
    for chunk in 0..[0, 0, 1, 2][random.below(4)] + u32::from(long) {
        let is_call = long && chunk == 0;
        let position = if is_call { 0 } else { [44, 48, 52, 0][random.below(4)] };
        put(&mut message, &[1, position]);
        put(&mut message, &segment(random, memory));
        if is_call && version == Version::Two(Family::B) {
            put(&mut message, &[0]);
        }
    }
    put(&mut message, &[0]);
    for _ in 0..[0, 1, 1, 2][random.below(4)] {
        let segments = random.below(4);
        put(&mut message, &[1, segments as u32]);
        (0..segments).for_each(|_| put(&mut message, &segment(random, memory)));
    }
    put(&mut message, &[0, u32::from(random.one_in(2))]);
    if message.ends_with(&[1]) {
        let segments = random.below(4);
        put(&mut message, &[segments as u32]);
        (0..segments).for_each(|_| put(&mut message, &segment(random, memory)));
    }
    if !long {
        let wanted = random.below(4000) as u32;
        message.extend(rpc_call(xid, random.below(7) as u32, wanted));
    }
    message
}

/// What belongs to no call in version 2: properties, grants, errors, parts of messages, and messages of other versions.
pub(crate) fn control(random: &mut Random, family: Family, credit: u32) -> Vec<u8> {
    let (xid, mut message) = (random.below(8) as u32, Vec::new());
    let flags = |flags: u32| if family == Family::A { vec![flags] } else { vec![] };
    match random.below(8) {
        0 | 1 => {
            let (more, htype) = if random.one_in(3) { (6, 6) } else { (0, 7) };
            put(&mut message, &[0, 2, credit, if family == Family::A { 5 } else { htype }]);
            put(&mut message, &flags(more));
            properties(random, &mut message);
        }
        2 => put(&mut message, &[[0, 2, credit, if family == Family::A { 6 } else { 5 }].to_vec(), flags(0)].concat()),
        3 => {
            put(&mut message, &[[xid, 2, credit, 4].to_vec(), flags(1)].concat());
            put(&mut message, &[[random.below(12) as u32, 100][random.below(2)], random.odd(), random.odd()]);
        }
        4 if family == Family::A => {
            put(&mut message, &[xid, 2, credit, 0, 2, 0, 0, 0, 0]);
            message.extend(rpc_call(xid, 0, 0));
        }
        4 => {
            put(&mut message, &[xid, 2, credit, [9, 12][random.below(2)], [60, random.odd()][random.below(2)]]);
            message.extend(rpc_call(xid, 0, 0));
        }
        5 => {
            put(&mut message, &[xid, [0, 1, 3, random.odd()][random.below(4)], credit, 0, 0, 0, 0]);
            message.extend(rpc_call(xid, 0, 0));
        }
        // A reply, which a server may not have asked for.
        6 if family == Family::A => put(&mut message, &[xid, 2, credit, 0, 1, 0, 0, 0, 0, xid, 1, 0, 0, 0, 0]),
        6 => put(&mut message, &[xid, 2, credit, 13, 0, xid, 1, 0, 0, 0, 0]),
        _ => put(&mut message, &[random.odd(), random.odd(), random.odd(), random.odd(), random.odd()]),
    }
    message
}

/// Properties, known or not, with values of the right length or not.
fn properties(random: &mut Random, message: &mut Vec<u8>) {
    let count = random.below(9) as u32;
    put(message, &[if random.one_in(10) { random.odd() } else { count }]);
    for _ in 0..count {
        let which = if random.one_in(6) { random.odd() } else { 1 + random.below(6) as u32 };
        match random.below(6) {
            0 => put(message, &[which, 0]),
            1 => put(message, &[which, 3, random.odd()]),
            2 => put(message, &[which, random.odd()]),
            3 => put(message, &[which, 8, 4, random.odd()]),
            _ => put(message, &[which, 4, [random.odd(), 4096][random.below(2)]]),
        }
    }
}

/// Changes words, cuts the end off, or appends.
pub(crate) fn spoil(random: &mut Random, message: &mut Vec<u8>) {
    for _ in 0..random.below(3) {
        let word = random.below(message.len().max(4) / 4) * 4;
        let odd = random.odd();
        if let Some(place) = message.get_mut(word..word + 4) {
            place.copy_from_slice(&odd.to_be_bytes());
        }
    }
    match random.below(12) {
        0 => message.truncate(random.below(message.len() + 1)),
        1 => message.resize(message.len() + random.below(60), 0xa5),
        2 => message.resize(SIZE, 0),
        _ => {}
    }
}

/// The content of the valid memory: a Long Call for each XID in use, as many as fit.
pub(crate) fn fill(peer: &Peer, random: &mut Random) {
    let call = rpc_call(random.below(8) as u32, 5, 3000);
    peer.verbs
        .write(&peer.memory, |octets| {
            octets.chunks_mut(call.len()).for_each(|part| part.copy_from_slice(&call[..part.len()]))
        })
        .unwrap();
}

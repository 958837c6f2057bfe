//! Messages of all versions, and what becomes of them.

use rpcrdma::segment::Segment;
use rpcrdma::v2::{Family, MessageV2};
use rpcrdma_tools::echo;
use rpcrdma_verbs::{Verbs, Version};

use crate::hostile::peer::{Peer, QUEUE, Random, SIZE, Xids};

/// The messages that a peer may send, and the credits that it grants. In version 1 nothing keeps it from sending.
pub(crate) struct Credits {
    pub(crate) version: Version,
    permitted: u32,
    received: u32,
}

impl Credits {
    /// Returns the credits of a client.
    pub(crate) fn client(version: Version) -> Self {
        Self { version, permitted: 1, received: 0 }
    }

    /// Returns the credits of a server.
    pub(crate) fn server(version: Version) -> Self {
        Self { version, permitted: u32::from(version == Version::Two(Family::B)), received: 0 }
    }

    /// A message has come.
    pub(crate) fn hear(&mut self, octets: &[u8]) {
        self.received += 1;
        let credit = octets.get(8..12).map_or(0, |credit| u32::from_be_bytes(credit.try_into().unwrap()));
        match self.version.family() {
            None => {}
            Some(Family::A) => self.permitted = self.permitted.saturating_add(credit & 0xffff),
            Some(Family::B) => self.permitted = credit,
        }
    }

    /// Returns true if this many more messages are permitted.
    pub(crate) fn allow(&self, more: usize, peer: &Peer) -> bool {
        self.version == Version::One || peer.sent + more <= self.permitted as usize
    }

    /// `rdma_credit` of the next message.
    pub(crate) fn granted(&self) -> u32 {
        match self.version.family() {
            None => 32,
            Some(Family::A) => (QUEUE as u32) << 16 | 2,
            Some(Family::B) => self.received + QUEUE as u32 / 2,
        }
    }
}

/// Returns the first message of an end in version 2: no properties, so that the defaults apply.
pub(crate) fn first(family: Family, credit: u32) -> Vec<u8> {
    let mut message = Vec::new();
    let words = if family == Family::A { vec![0, 2, credit, 5, 0, 0] } else { vec![0, 2, credit, 7, 0] };
    append_words(&mut message, &words);
    message
}

pub(crate) fn append_words(message: &mut Vec<u8>, words: &[u32]) {
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
    append_words(&mut octets, &[xid, 0, 2, echo::PROGRAM, echo::VERSION, procedure, 0, 0, 0, 0, 0, wanted, 0]);
    octets
}

/// A call of version 1, or of one of the formats of version 2, usually a correct one.
pub(crate) fn call(random: &mut Random, version: Version, credit: u32, peer: &Peer) -> Vec<u8> {
    let (xid, memory, long) = (peer.xid(random), peer.segment(), random.one_in(4));
    let mut message = Vec::new();
    let credit = if random.one_in(8) { random.odd() } else { credit };
    let invalidated = [0, memory.handle][random.below(2)];
    let start = match version.family() {
        None => vec![xid, 1, credit, u32::from(long)],
        Some(Family::A) => vec![xid, 2, credit, u32::from(long), 0, invalidated],
        Some(Family::B) => vec![xid, 2, credit, if long { 8 } else { 10 }, invalidated],
    };
    append_words(&mut message, &start);
    if random.one_in(12) {
        // Another header type.
        message[12..16].copy_from_slice(&random.odd().to_be_bytes());
    }
    for chunk in 0..[0, 0, 1, 2][random.below(4)] + u32::from(long) {
        let is_call = long && chunk == 0;
        let position = if is_call { 0 } else { [44, 48, 52, 0][random.below(4)] };
        append_words(&mut message, &[1, position]);
        append_words(&mut message, &segment(random, memory));
        if is_call && version == Version::Two(Family::B) {
            append_words(&mut message, &[0]);
        }
    }
    append_words(&mut message, &[0]);
    for _ in 0..[0, 1, 1, 2][random.below(4)] {
        let segments = random.below(4);
        append_words(&mut message, &[1, segments as u32]);
        (0..segments).for_each(|_| append_words(&mut message, &segment(random, memory)));
    }
    append_words(&mut message, &[0, u32::from(random.one_in(2))]);
    if message.ends_with(&[1]) {
        let segments = random.below(4);
        append_words(&mut message, &[segments as u32]);
        (0..segments).for_each(|_| append_words(&mut message, &segment(random, memory)));
    }
    if !long {
        let wanted = random.below(4000) as u32;
        message.extend(rpc_call(xid, random.below(7) as u32, wanted));
    }
    message
}

/// A reply to a call, usually a correct one: its chunks come back. And a handle that it may invalidate.
pub(crate) fn reply(
    random: &mut Random,
    version: Version,
    credit: u32,
    octets: &[u8],
) -> Option<(Vec<u8>, Option<u32>)> {
    let (xid, chunks, offered) = match version.family() {
        None => {
            let (header, payload) = rpcrdma::v1::Header::decode(octets).ok()?;
            let chunks = header.chunks()?;
            // A Call, or the Reply to one of the peer's calls.
            assert!(payload.len() >= 24 || !chunks.reads.is_empty() || chunks.reply.is_some());
            let written = chunks.writes.iter().find_map(|chunk| chunk.iter().next()).map(|segment| segment.handle);
            (header.xid, chunks, chunks.reads.get(0).map(|read| read.target.handle).or(written))
        }
        Some(family) => {
            let header = MessageV2::decode(family, octets).ok()?.header;
            let at = if family == Family::A { 20 } else { 16 };
            let offered = u32::from_be_bytes(octets.get(at..at + 4)?.try_into().unwrap());
            (header.xid(), header.chunks()?, Some(offered).filter(|&handle| handle != 0))
        }
    };
    let mut message = Vec::new();
    let credit = if random.one_in(4) && version == Version::One { random.odd() } else { credit };
    let start: &[u32] = match version.family() {
        None => &[xid, 1, credit, 0, 0],
        Some(Family::A) => &[xid, 2, credit, 0, 1, 0, 0],
        Some(Family::B) => &[xid, 2, credit, 13],
    };
    append_words(&mut message, start);
    for chunk in chunks.writes {
        append_words(&mut message, &[1, chunk.len() as u32]);
        for segment in chunk.iter() {
            let length = segment.length.min(random.below(200) as u32);
            append_words(&mut message, &[segment.handle, length, (segment.offset >> 32) as u32, segment.offset as u32]);
        }
    }
    append_words(&mut message, if version == Version::Two(Family::B) { &[0] } else { &[0, 0] });
    append_words(&mut message, &[xid, 1, 0, 0, 0, 0]);
    Some((message, offered))
}

/// An error that answers the call with this XID.
pub(crate) fn error(random: &mut Random, version: Version, credit: u32, xid: u32) -> Vec<u8> {
    let mut message = Vec::new();
    match version.family() {
        None => append_words(&mut message, &[xid, 1, 9, 4, random.below(4) as u32]),
        Some(Family::A) => append_words(&mut message, &[xid, 2, credit, 4, 1, random.below(12) as u32]),
        Some(Family::B) => append_words(&mut message, &[xid, 2, credit, 4, random.below(12) as u32]),
    }
    append_words(&mut message, &[random.odd(), random.odd()][..random.below(3)]);
    message
}

/// Returns a message that belongs to no call in version 2: properties, grants, errors, parts of messages, and messages
/// of other versions.
pub(crate) fn control(random: &mut Random, family: Family, credit: u32, peer: &Peer) -> Vec<u8> {
    let (xid, mut message) = (peer.xid(random), Vec::new());
    let flags = |flags: u32| if family == Family::A { vec![flags] } else { vec![] };
    match random.below(8) {
        0 | 1 => {
            let (more, htype) = if random.one_in(3) { (6, 6) } else { (0, 7) };
            let xid = peer.xid_of_none(random);
            append_words(&mut message, &[xid, 2, credit, if family == Family::A { 5 } else { htype }]);
            append_words(&mut message, &flags(more));
            properties(random, &mut message);
        }
        2 => append_words(
            &mut message,
            &[[peer.xid_of_none(random), 2, credit, if family == Family::A { 6 } else { 5 }].to_vec(), flags(0)]
                .concat(),
        ),
        3 => {
            append_words(&mut message, &[[xid, 2, credit, 4].to_vec(), flags(1)].concat());
            append_words(&mut message, &[[random.below(12) as u32, 100][random.below(2)], random.odd(), random.odd()]);
        }
        4 if family == Family::A => {
            append_words(&mut message, &[xid, 2, credit, 0, 2, 0, 0, 0, 0]);
            message.extend(rpc_call(xid, 0, 0));
        }
        4 => {
            append_words(
                &mut message,
                &[xid, 2, credit, [9, 12][random.below(2)], [60, random.odd()][random.below(2)]],
            );
            message.extend(rpc_call(xid, 0, 0));
        }
        5 => {
            append_words(&mut message, &[xid, [0, 1, 3, random.odd()][random.below(4)], credit, 0, 0, 0, 0]);
            message.extend(rpc_call(xid, 0, 0));
        }
        // A reply, which a server may not have asked for.
        6 if family == Family::A => append_words(&mut message, &[xid, 2, credit, 0, 1, 0, 0, 0, 0, xid, 1, 0, 0, 0, 0]),
        6 => append_words(&mut message, &[xid, 2, credit, 13, 0, xid, 1, 0, 0, 0, 0]),
        _ => {
            let xid = if peer.xids == Xids::Fresh { xid } else { random.odd() };
            append_words(&mut message, &[xid, random.odd(), random.odd(), random.odd(), random.odd()]);
        }
    }
    message
}

/// Properties, known or not, with values of the right length or not.
fn properties(random: &mut Random, message: &mut Vec<u8>) {
    let count = random.below(9) as u32;
    append_words(message, &[if random.one_in(10) { random.odd() } else { count }]);
    for _ in 0..count {
        let which = if random.one_in(6) { random.odd() } else { 1 + random.below(6) as u32 };
        match random.below(6) {
            0 => append_words(message, &[which, 0]),
            1 => append_words(message, &[which, 3, random.odd()]),
            2 => append_words(message, &[which, random.odd()]),
            3 => append_words(message, &[which, 8, 4, random.odd()]),
            _ => append_words(message, &[which, 4, [random.odd(), 4096][random.below(2)]]),
        }
    }
}

/// Changes words from this one on, cuts the end off, or appends.
pub(crate) fn spoil(random: &mut Random, first: usize, message: &mut Vec<u8>) {
    for _ in 0..random.below(3) {
        let word = (first + random.below((message.len().max(4) / 4).saturating_sub(first).max(1))) * 4;
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

//! The shape of a call, and every octet of it and of its reply: all of it follows from a seed and the XID, so each side
//! knows what it has to see.

use rpcrdma::rpc::{AcceptStatus, Auth, Flavor, ReplyBody, RpcCall, RpcReply};
use rpcrdma_verbs::{Call, Stream};

#[path = "../../../testdata/random.rs"]
mod numbers;

pub(crate) use numbers::{Random, mixed};

impl Random {
    pub(crate) fn choose_one<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// Usually small, and `most` at most.
    fn size(&mut self, most: u64) -> usize {
        let magnitude = self.below(u64::from(most.ilog2()) + 2);
        self.below((1 << magnitude).min(most + 1)) as usize
    }
}

/// Address and length of each buffer of a call.
pub(crate) type Places = Vec<(usize, usize)>;

/// Behaviour of the called side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Does {
    Answer,
    /// Drops the request, so that `SYSTEM_ERR` is the answer.
    Drop,
    /// Lets another thread answer, in another order.
    Later,
    /// Nothing, because the call has no reply.
    Forget,
}

/// A data item of arguments or results.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Data {
    pub(crate) length: usize,
    reducible: bool,
}

/// A call.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    key: u64,
    pub(crate) xid: u32,
    protected: bool,
    arguments: Vec<Data>,
    results: Vec<Data>,
    rooms: Vec<usize>,
    /// The caller has less room for the reply than it needs.
    stingy: bool,
    pub(crate) does: Does,
}

const REPLY_HEADER: usize = 24;

impl Shape {
    pub(crate) fn from_seed(seed: u64, xid: u32, octets: u64) -> Self {
        let key = mixed(seed ^ u64::from(xid));
        let mut random = Random(key);
        let protected = random.one_in(24);
        let some = |random: &mut Random| -> Vec<Data> {
            let count = random.below(5).min(random.below(5));
            (0..count).map(|_| Data { length: random.size(octets), reducible: !random.one_in(3) }).collect()
        };
        let (arguments, results) = (some(&mut random), some(&mut random));
        let reducible: Vec<usize> = results.iter().filter(|data| data.reducible).map(|data| data.length).collect();
        // Some have no room, and there may be room for one more than there are.
        let count = random.below(reducible.len() as u64 + 2) as usize;
        let rooms = (0..count).map(|number| {
            let length = reducible.get(number).copied().unwrap_or(77);
            match random.below(40) {
                0..6 => 0,
                6 if length > 0 => length - 1,
                7..15 => length + random.size(octets),
                _ => length,
            }
        });
        let rooms = rooms.collect();
        let does = match random.below(32) {
            0 => Does::Drop,
            1..8 => Does::Later,
            8..10 => Does::Forget,
            _ => Does::Answer,
        };
        Self { key, xid, protected, arguments, results, rooms, stingy: random.one_in(40), does }
    }

    fn data(&self, number: usize, length: usize, octets: &mut Vec<u8>) {
        let key = mixed(self.key ^ number as u64);
        let words =
            (0..length.div_ceil(8) as u64).flat_map(|at| (key ^ at.wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_le_bytes());
        let end = octets.len() + length;
        octets.extend(words);
        octets.truncate(end);
    }

    fn header(&self) -> Vec<u8> {
        // Version 1, DATA, sequence number, integrity, a handle of four octets.
        let body = [[0, 0, 0, 1], [0; 4], [0, 0, 0, 9], [0, 0, 0, 2], [0, 0, 0, 4], [7; 4]];
        let gss = Auth { flavor: Flavor::RPCSEC_GSS, body: body.as_flattened() };
        let header = RpcCall {
            xid: self.xid,
            rpc_version: 2,
            program: 400_100,
            version: 1,
            procedure: self.arguments.len() as u32,
            credential: if self.protected { gss } else { Auth::NONE },
            verifier: Auth::NONE,
        };
        let mut octets = vec![0; 100];
        let length = header.encode(&mut octets).unwrap();
        octets.truncate(length);
        octets
    }

    fn reply_header(&self) -> Vec<u8> {
        let status = if self.does == Does::Drop { AcceptStatus::SYSTEM_ERR } else { AcceptStatus::SUCCESS };
        let body = ReplyBody::Accepted { verifier: Auth::NONE, status, mismatch: None };
        let mut octets = vec![0; REPLY_HEADER];
        assert_eq!(RpcReply { xid: self.xid, body }.encode(&mut octets), Ok(REPLY_HEADER));
        octets
    }

    /// The results of the reply; none if it is an error.
    fn replied(&self) -> &[Data] {
        if self.does == Does::Drop { &[] } else { &self.results }
    }

    /// The number of the room for each result.
    fn rooms_of(&self, results: &[Data]) -> Vec<Option<usize>> {
        self.first_rooms_of(self.rooms.len(), results)
    }

    /// The same if only the first of the rooms are used.
    fn first_rooms_of(&self, used: usize, results: &[Data]) -> Vec<Option<usize>> {
        let mut number = 0;
        let mut room = |data: &Data| {
            let room = Some(number).filter(|_| data.reducible && !self.protected);
            number += usize::from(room.is_some());
            room.filter(|&room| room < used && self.rooms.get(room).is_some_and(|&octets| octets > 0))
        };
        results.iter().map(&mut room).collect()
    }

    /// The same shape in version 1, where each call has a reply.
    pub(crate) fn with_reply(mut self) -> Self {
        if self.does == Does::Forget {
            self.does = Does::Answer;
        }
        self
    }

    /// Puts items into a stream, each with its count, those that may be reduced in buffers that the stream had before.
    fn fill(&self, stream: &mut Stream, first: usize, items: &[Data]) {
        for (number, data) in items.iter().enumerate() {
            let mut octets = if data.reducible { stream.buffer() } else { Vec::new() };
            octets.clear();
            self.data(first + number, data.length, &mut octets);
            stream.push(&(data.length as u32).to_be_bytes());
            if data.reducible {
                stream.push_item(octets);
            } else {
                octets.resize(data.length.next_multiple_of(4), 0);
                stream.push(&octets);
            }
        }
    }

    /// The same, as octets.
    fn flat(&self, octets: &mut Vec<u8>, first: usize, items: &[Data], rooms: &[Option<usize>]) {
        for (number, data) in items.iter().enumerate() {
            octets.extend((data.length as u32).to_be_bytes());
            if rooms.get(number).copied().flatten().is_none() {
                self.data(first + number, data.length, octets);
                octets.resize(octets.len().next_multiple_of(4), 0);
            }
        }
    }

    pub(crate) fn call(&self) -> Call {
        let mut stream = Stream::from(self.header());
        self.fill(&mut stream, 0, &self.arguments);
        let full = self.expected_reply(self.rooms.len()).len();
        // If the call is protected, the rooms come on top.
        let length = if self.stingy { REPLY_HEADER } else { full };
        let call = Call::new(stream, length as u32);
        let call = if self.does == Does::Forget { call.without_reply() } else { call };
        self.rooms.iter().fold(call, |call, &room| call.with_result(vec![0xee; room]))
    }

    /// The message as the other side has to see it.
    pub(crate) fn expected_call(&self) -> Vec<u8> {
        let mut octets = self.header();
        self.flat(&mut octets, 0, &self.arguments, &[]);
        octets
    }

    /// The reply as the caller has to see it if the first of the rooms are used: without the results in those.
    fn expected_reply(&self, rooms_used: usize) -> Vec<u8> {
        let mut octets = self.reply_header();
        self.flat(&mut octets, 8, self.replied(), &self.first_rooms_of(rooms_used, self.replied()));
        octets
    }

    /// The reply with all results.
    pub(crate) fn whole_reply(&self) -> Vec<u8> {
        let mut octets = self.reply_header();
        self.flat(&mut octets, 8, self.replied(), &[]);
        octets
    }

    /// Writes the answer of the called side.
    pub(crate) fn reply(&self, stream: &mut Stream) {
        self.fill(stream, 8, &self.results);
    }

    /// Returns true if there may be no room for the reply.
    pub(crate) fn may_be_refused(&self) -> bool {
        let rooms = self.rooms_of(&self.results);
        let small = |(data, room): (&Data, &Option<usize>)| room.is_some_and(|room| self.rooms[room] < data.length);
        self.stingy || self.results.iter().zip(&rooms).any(small)
    }

    /// Returns true if there is certainly no room.
    pub(crate) fn has_to_be_refused(&self) -> bool {
        self.does != Does::Drop && Self { stingy: false, ..self.clone() }.may_be_refused()
    }

    /// Checks that the reply and all results are right, and that nothing else was touched. If the other side may have
    /// asked for fewer chunks, the first rooms are used, and the other results are in the reply.
    pub(crate) fn check(&self, call: &mut Call, may_have_fewer_chunks: bool) {
        let least = if may_have_fewer_chunks { 0 } else { self.rooms.len() };
        let mut candidates = (least..=self.rooms.len()).rev();
        let used = candidates.find(|&used| self.expected_reply(used) == call.reply()).unwrap_or(self.rooms.len());
        let expected = self.expected_reply(used);
        let differs = call.reply().iter().zip(&expected).position(|(one, other)| one != other);
        let lengths = (call.reply().len(), expected.len());
        assert!(differs.is_none() && lengths.0 == lengths.1, "at {differs:?} of {lengths:?} in the reply to {self:?}");
        let rooms = self.first_rooms_of(used, self.replied());
        let mut expected = Vec::new();
        for number in 0..self.rooms.len() {
            expected.clear();
            if let Some(result) = rooms.iter().position(|&room| room == Some(number)) {
                self.data(8 + result, self.replied()[result].length, &mut expected);
            }
            assert!(call.result(number) == expected, "result {number} of {self:?}");
            let rest = &call.result_buffers()[number][expected.len()..];
            assert!(rest.iter().all(|&octet| octet == 0xee), "room {number} of {self:?} behind the result");
        }
    }

    /// Checks that each buffer is where it was before the call.
    pub(crate) fn places(call: &mut Call) -> Places {
        let place = |buffer: &[u8]| (buffer.as_ptr().addr(), buffer.len());
        let mut places: Places = call.message().items().map(place).collect();
        places.extend(call.result_buffers().iter().map(|room| place(room)));
        places
    }
}

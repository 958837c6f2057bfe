//! The RPCs of a simulated connection: what the client calls, what the server does for it, and what became of each.

use std::collections::BTreeMap;

use super::network::{Chances, Network, Passage};
use crate::synthetic::By::{self, Client, Server};
use crate::synthetic::Packet;
use crate::synthetic::rpc::{
    Lists, MSG, NOMSG, Segment, WRITE3_POSITION, call, message, octets, padded, reply, write3, write3_reply,
};
use crate::transcode::Random;

/// An operation that an end posts.
#[derive(Clone, Debug)]
pub(super) enum Operation {
    Send(Vec<u8>),
    /// RDMA Write of these octets into memory of the other end.
    Write((u32, u64), Vec<u8>),
    /// RDMA Read of memory of the other end, which holds these octets. It is the one of this number for its RPC.
    Read((u32, u64), Vec<u8>, usize),
}

/// Part of an RPC that a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Call,
    /// The request of the RDMA Read of this number, for so many octets.
    ReadRequest(usize, u64),
    /// Number of octets of its response, and whether they are the last.
    ReadResponse(usize, u64, bool),
    Write,
    Reply,
}

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Happening<E> {
    /// The client makes its next call.
    Call,
    /// The server reads the arguments of a call.
    Pull(u32),
    /// The server answers it.
    Answer(u32),
    /// Something of the carrier.
    Carrier(E),
}

/// An RDMA Read, with times in microseconds where packets are captured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pull {
    /// Time at which the first copy of its request passed the place of the capture, and whether it was captured.
    since: u64,
    pub(super) is_seen: bool,
    /// Capture of the packet that completed it, and of the last copy of a response.
    until: u64,
    latest: u64,
}

/// An RPC, with times in microseconds where packets are captured.
#[derive(Clone, Debug, Default)]
pub(super) struct Rpc {
    /// The RPC messages, put together.
    pub(super) call: Vec<u8>,
    pub(super) reply: Vec<u8>,
    /// Memory that the server reads, with its octets, and memory that it writes.
    reads: Vec<(Segment, Vec<u8>)>,
    writes: Option<Segment>,
    /// RDMA Reads that are complete.
    read: usize,
    /// The RDMA Reads that were sent.
    pub(super) pulls: Vec<Pull>,
    /// The memory that the client advertises for it.
    slot: u32,
    /// RDMA Reads after which the server serves it no more.
    pub(super) hung: Option<usize>,
    /// Capture time of the first packet of the call.
    pub(super) began: Option<u64>,
    /// Capture time of the last packet of the reply, in the copy that the client accepted.
    pub(super) ended: Option<u64>,
    /// Arrival of the call, by the capture of the packet that completed it.
    pub(super) called: Option<u64>,
    /// Capture times of the first and the second copy of the reply's last packet.
    pub(super) replied: [Option<u64>; 2],
    /// Copies of it that were captured.
    pub(super) replies: u64,
    /// Time of the first capture of each part.
    pub(super) parts: Vec<(u64, Part)>,
    /// RDMA Reads that the client accepted, by the capture of the packet that completed the request, with their octets.
    pub(super) asked: Vec<(u64, u64)>,
    /// True if the first copy of a packet of the server was lost before the capture.
    pub(super) has_hidden_packet: bool,
    /// True if a packet of it was sent more than once, or lost.
    pub(super) is_lossy: bool,
    /// True if the first copy of a packet of it was lost before the capture: nothing may show that it was sent.
    pub(super) is_hidden: bool,
    /// True if the client sent something again while the server waited for data (TCP): nothing shows that the data did not wait for it.
    pub(super) is_beside_copies: bool,
    /// Microseconds for which the server worked.
    pub(super) busy: u64,
    /// True if a packet of it was captured before another one of the same end that was sent before.
    pub(super) is_overtaken: bool,
}

/// Two ends and the network between them, as far as RPC-over-RDMA goes.
pub(super) struct World<E> {
    pub(super) network: Network<Happening<E>>,
    pub(super) rpcs: BTreeMap<u32, Rpc>,
    calls: u32,
    waiting: u32,
    has_reply: bool,
}

impl<E: Ord> World<E> {
    /// Lets so many calls be made on a connection that was set up by these packets.
    pub(super) fn new(chances: Chances, set_up: Vec<(u64, Packet)>, calls: u32) -> Self {
        let mut network = Network::new(chances, set_up);
        network.at(network.now, Happening::Call);
        Self { network, rpcs: BTreeMap::new(), calls, waiting: 0, has_reply: false }
    }

    /// Lets something of the carrier happen later.
    pub(super) fn at(&mut self, time: u64, event: E) {
        self.network.at(time, Happening::Carrier(event));
    }

    fn after(&mut self, pause: u64, happening: Happening<E>) {
        self.network.at(self.network.now + pause, happening);
    }

    /// The client makes its next call, if it has a credit.
    pub(super) fn call(&mut self) -> Option<(u32, Operation)> {
        let xid = self.rpcs.len() as u32 + 1;
        // Before the first reply there is one credit.
        let has_credit = self.waiting < if self.has_reply { self.network.chances.in_flight } else { 1 };
        let sent = has_credit.then(|| {
            let used: Vec<u32> = self.rpcs.values().filter(|rpc| rpc.ended.is_none()).map(|rpc| rpc.slot).collect();
            let slot = (0..).find(|slot| !used.contains(slot)).unwrap();
            let (rpc, octets) = Rpc::new(xid, slot, (&mut self.network.random, self.network.chances));
            self.rpcs.insert(xid, rpc);
            self.waiting += 1;
            (xid, Operation::Send(octets))
        });
        let hung = self.rpcs.values().filter(|rpc| rpc.hung.is_some()).count() as u32;
        if self.rpcs.len() < self.calls as usize && (has_credit || self.waiting > hung) {
            let pause = 1 + self.network.random.below(self.network.chances.pause);
            self.after(pause, Happening::Call);
        }
        sent
    }

    /// The server reads what a call advertises.
    pub(super) fn pull(&mut self, xid: u32) -> Vec<Operation> {
        let rpc = &self.rpcs[&xid];
        let reads = rpc.reads.iter().enumerate().take(rpc.hung.unwrap_or(usize::MAX));
        reads
            .map(|(number, ((handle, offset, _), data))| Operation::Read((*handle, *offset), data.clone(), number))
            .collect()
    }

    /// The server writes results, and sends the reply.
    pub(super) fn answer(&mut self, xid: u32) -> Vec<Operation> {
        let rpc = &self.rpcs[&xid];
        let lists = rpc.writes.map_or_else(Lists::default, |segment| Lists::writes(&[&[segment]]));
        let write = rpc
            .writes
            .map(|(handle, offset, length)| Operation::Write((handle, offset), octets(xid as u8, length as usize)));
        let send = Operation::Send(message(MSG, xid, &lists, &rpc.reply));
        write.into_iter().chain([send]).collect()
    }

    /// A packet with a part of an RPC was sent for the `times`th time, and captured then if it was. `is_last`: the part ends with it.
    pub(super) fn saw(&mut self, xid: u32, part: Part, (times, captured): (u64, Option<u64>), is_last: bool) {
        let rpc = self.rpcs.get_mut(&xid).unwrap();
        rpc.is_lossy |= times > 1 || captured.is_none();
        rpc.is_hidden |= captured.is_none();
        let is_of_server = matches!(part, Part::ReadRequest(..) | Part::Write | Part::Reply);
        rpc.has_hidden_packet |= is_of_server && times == 1 && captured.is_none();
        let Some(captured) = captured else { return };
        match part {
            Part::ReadResponse(number, ..) => {
                let latest = &mut rpc.pulls[number].latest;
                *latest = captured.max(*latest);
            }
            Part::Reply if is_last => {
                if let Some(copy) = rpc.replied.iter_mut().find(|copy| copy.is_none()) {
                    *copy = Some(captured);
                }
                rpc.replies += 1;
            }
            _ => {}
        }
    }

    /// A packet with which a call begins was captured.
    pub(super) fn begins(&mut self, xid: u32, captured: u64) {
        let began = &mut self.rpcs.get_mut(&xid).unwrap().began;
        *began = Some(began.map_or(captured, |began| began.min(captured)));
    }

    /// A part of an RPC was captured for the first time.
    pub(super) fn came(&mut self, xid: u32, part: Part, captured: u64) {
        self.rpcs.get_mut(&xid).unwrap().parts.push((captured, part));
    }

    /// A Send is complete at an end, with a packet that was captured at this time.
    pub(super) fn arrived(&mut self, to: By, xid: u32, captured: u64) {
        let pause = 20 + self.network.random.below(2_000_u64);
        let rpc = self.rpcs.get_mut(&xid).unwrap();
        match to {
            Server => {
                rpc.called = Some(captured);
                rpc.busy += pause;
                match (rpc.reads.len(), rpc.hung) {
                    (0, None) => self.after(pause, Happening::Answer(xid)),
                    (0, Some(_)) => {}
                    _ => self.after(pause, Happening::Pull(xid)),
                }
            }
            Client => {
                rpc.ended = Some(captured);
                self.waiting -= 1;
                self.has_reply = true;
            }
        }
    }

    /// The server sends the request of an RDMA Read for the first time.
    pub(super) fn reads(&mut self, xid: u32, Passage { due, captured, .. }: Passage) {
        let since = captured.unwrap_or(due);
        let pull = Pull { since, is_seen: captured.is_some(), until: since, latest: since };
        self.rpcs.get_mut(&xid).unwrap().pulls.push(pull);
    }

    /// The client sends something again.
    pub(super) fn repeats(&mut self) {
        let are_waiting = self.rpcs.values_mut().filter(|rpc| rpc.read < rpc.pulls.len());
        are_waiting.for_each(|rpc| rpc.is_beside_copies = true);
    }

    /// The client accepts the request of an RDMA Read for so many octets.
    pub(super) fn asks(&mut self, xid: u32, octets: u64, captured: u64) {
        self.rpcs.get_mut(&xid).unwrap().asked.push((captured, octets));
    }

    /// An RDMA Read is complete, with a packet that was captured at this time.
    pub(super) fn has_read(&mut self, xid: u32, captured: u64) {
        let pause = 20 + self.network.random.below(500_u64);
        let rpc = self.rpcs.get_mut(&xid).unwrap();
        rpc.pulls[rpc.read].until = captured;
        rpc.read += 1;
        if rpc.read == rpc.reads.len() && rpc.hung.is_none() {
            rpc.busy += pause;
            self.after(pause, Happening::Answer(xid));
        }
    }
}

impl Rpc {
    /// Returns true if data that the server read came behind a gap that another RPC's packet left (TCP).
    pub(super) fn is_behind_gap(&self) -> bool {
        self.pulls.iter().any(|pull| pull.until > pull.latest)
    }

    /// The most nanoseconds for which the server had all that it needed before it began with the reply or its data, as captured.
    pub(super) fn served(&self) -> Option<u64> {
        let answers = self.parts.iter().filter(|(_, part)| matches!(part, Part::Write | Part::Reply));
        let end = answers.map(|(time, _)| *time).min()?;
        let (mut served, mut reached) = (0, self.called?);
        for Pull { since, until, .. } in self.pulls.iter().copied() {
            served += since.saturating_sub(reached);
            reached = reached.max(until);
        }
        Some((served + end.saturating_sub(reached)) * 1_000)
    }

    /// Nanoseconds in which the server waited for data of RDMA Reads; up to the last copies of responses if these are `all`.
    pub(super) fn pulled(&self, all: bool) -> u64 {
        let (mut pulled, mut reached) = (0, 0);
        for Pull { since, until, latest, .. } in self.pulls.iter().copied() {
            let until = if all { latest.min(self.ended.unwrap_or(latest)).max(until) } else { until };
            pulled += until.saturating_sub(since.max(reached));
            reached = reached.max(until);
        }
        pulled * 1_000
    }

    /// A call, and the octets of its Send.
    fn new(xid: u32, slot: u32, (random, chances): (&mut Random, Chances)) -> (Self, Vec<u8>) {
        let mut rpc = Self { slot, ..Self::default() };
        let handle = 0x100 + 4 * slot;
        let length = random.below(2_500_u64) as usize & !3;
        let results = octets(xid as u8, random.below(2_500_u64) as usize & !3);
        rpc.reply = reply(xid, &results);
        let (procedure, lists, inline) = if random.happens(chances.read) {
            rpc.reading((xid, handle), random)
        } else {
            rpc.call = call(xid, [400_000, 1, 7], &octets(xid as u8, length));
            rpc.writes = random.happens(300).then(|| (handle, 0, 1 + random.below(5_000_u32)));
            let lists = rpc.writes.map_or_else(Lists::default, |segment| Lists::writes(&[&[segment]]));
            (MSG, lists, rpc.call.clone())
        };
        rpc.hung = random.happens(chances.hung).then(|| random.below(rpc.reads.len() as u64 + 1) as usize);
        (rpc, message(procedure, xid, &lists, &inline))
    }

    /// A call whose server reads the data of an NFSv3 WRITE, or all of it.
    fn reading(&mut self, (xid, handle): (u32, u32), random: &mut Random) -> (u32, Lists, Vec<u8>) {
        let data = octets(xid as u8 ^ 0x5a, 1 + random.below(6_000_u64) as usize);
        let is_write = random.happens(600);
        let (position, moved, inline) = if is_write {
            let inline = write3(xid, data.len() as u32);
            self.reply = write3_reply(xid, data.len() as u32);
            self.call = [inline.clone(), padded(&data)].concat();
            (WRITE3_POSITION, data, inline)
        } else {
            self.call = call(xid, [400_000, 1, 7], &padded(&data));
            (0, self.call.clone(), Vec::new())
        };
        // In one segment, or in two.
        let first = if random.happens(300) { random.below(moved.len() as u64) as usize & !3 } else { 0 };
        let parts = [&moved[..first], &moved[first..]].into_iter().filter(|part| !part.is_empty());
        self.reads =
            (handle..).zip(parts).map(|(handle, part)| ((handle, 0x1000, part.len() as u32), part.to_vec())).collect();
        let reads: Vec<_> = self.reads.iter().map(|(segment, _)| (position, *segment)).collect();
        (if is_write { MSG } else { NOMSG }, Lists::reads(&reads), inline)
    }
}

impl Operation {
    /// Part of an RPC that it is if it is posted by an end.
    pub(super) fn part(&self, from: By) -> Part {
        match self {
            Self::Send(_) if from == Client => Part::Call,
            Self::Send(_) => Part::Reply,
            Self::Write(..) => Part::Write,
            Self::Read(_, data, number) => Part::ReadRequest(*number, data.len() as u64),
        }
    }
}

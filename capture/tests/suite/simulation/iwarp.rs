//! iWARP: FPDUs over TCP (RFC 9293), which is acknowledged at once or for every other segment, retransmits after three duplicate
//! acknowledgements (RFC 5681, RFC 6582, with RFC 2018 if the ends agreed on that) or a time-out (RFC 6298), and then in segments that
//! begin and end elsewhere. Receivers keep what comes behind a gap.

use std::collections::BTreeMap;

use super::network::{Chances, Passage};
use super::rpc::{Operation, Part, World};
use super::{Carrier, EndTruth};
use crate::synthetic::By::{self, Client, Server};
use crate::synthetic::Packet;
use crate::synthetic::rpc::words;
use crate::synthetic::tcp::{self, ACK, CLIENT, Iwarp, SERVER, SelectiveBlock};
use crate::transcode::Random;

/// The most octets of a segment.
const SEGMENT: usize = 1_448;
/// Microseconds after which an end retransmits what was not acknowledged.
const TIMEOUT: u64 = 210_000;
/// Microseconds for which an acknowledgement waits for a second segment.
const DELAY: u64 = 40_000;
/// Duplicate acknowledgements after which a segment is retransmitted.
const DUPLICATES: u32 = 3;

/// A unit of the stream of an end.
struct Fpdu {
    first: usize,
    end: usize,
    xid: u32,
    part: Part,
    /// True if it is the last of its message.
    is_last: bool,
    /// True if its first octet was captured, and its last.
    seen: [bool; 2],
}

/// A segment with data that was captured.
struct Captured {
    time: u64,
    first: usize,
    end: usize,
    /// True if some of its octets were sent before.
    is_again: bool,
}

/// One end: what it sends, and how much of what the other sends it has.
#[derive(Default)]
struct End {
    stream: Vec<u8>,
    /// The sequence number of the first octet of the stream.
    base: u32,
    fpdus: Vec<Fpdu>,
    /// Untagged messages that were sent, by queue.
    messages: [u32; 2],
    /// The first octet that is not acknowledged, and the first that was not sent.
    unacknowledged: usize,
    unsent: usize,
    /// The place after the last octet that was sent.
    highest: usize,
    /// Octets that the other end reported behind gaps: first and end.
    reported: BTreeMap<usize, usize>,
    duplicates: u32,
    /// While it retransmits what was lost: the end of that, and how far it has come.
    recovery: Option<(usize, usize)>,
    /// Counts restarts of the timer: earlier alarms are void.
    timer: u64,
    /// Octets of the other end that came, first and end; the first that is due.
    received: BTreeMap<usize, usize>,
    due: usize,
    /// Segments that filled gaps: the first octet of each, and the time of its capture.
    brought: Vec<(usize, u64)>,
    /// FPDUs of the other end that were delivered.
    delivered: usize,
    /// Segments that were not acknowledged, and the number of the acknowledgement that is to come.
    owed: u32,
    delayed: u64,
    /// Identification of its last packet.
    identification: u16,
    captured: Vec<Captured>,
    timeouts: u64,
}

/// A segment on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Segment {
    first: usize,
    end: usize,
    acknowledges: usize,
    reported: [Option<(usize, usize)>; 3],
    captured: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// A segment of the end arrives.
    Segment(By, Segment),
    /// The end has got no acknowledgement since the timer of this number began.
    Alarm(By, u64),
    /// The acknowledgement of this number by the end waits no longer.
    Acknowledge(By, u64),
}

/// A TCP connection.
pub(super) struct Tcp {
    client: End,
    server: End,
    /// True if each segment begins with an FPDU, as far as nothing is retransmitted.
    is_aligned: bool,
    is_selective: bool,
    is_delayed: bool,
    /// Data that the server reads from the client's memory, by XID and number of the RDMA Read.
    memory: BTreeMap<(u32, usize), Vec<u8>>,
}

impl Tcp {
    fn find_end(&mut self, by: By) -> &mut End {
        match by {
            Client => &mut self.client,
            Server => &mut self.server,
        }
    }

    /// Adds the FPDUs of a message to the stream of an end.
    fn add_message(
        &mut self,
        from: By,
        (xid, part): (u32, Part),
        data: &[u8],
        fpdu: impl Fn(bool, usize, &[u8]) -> Vec<u8>,
    ) {
        // The headers of DDP and MPA take up to 24 octets.
        let most = if self.is_aligned { SEGMENT - 28 } else { 4_000 };
        let parts: Vec<&[u8]> = if data.is_empty() { vec![data] } else { data.chunks(most).collect() };
        let end = self.find_end(from);
        for (index, octets) in parts.iter().enumerate() {
            let is_last = index + 1 == parts.len();
            let part = match part {
                Part::ReadResponse(which, ..) => Part::ReadResponse(which, octets.len() as u64, is_last),
                part => part,
            };
            let first = end.stream.len();
            end.stream.extend(fpdu(is_last, index * most, octets));
            end.fpdus.push(Fpdu { first, end: end.stream.len(), xid, part, is_last, seen: [false; 2] });
        }
    }

    /// Sends what was not sent.
    fn transmit(&mut self, from: By, world: &mut World<Event>) {
        let is_aligned = self.is_aligned;
        let end = self.find_end(from);
        let is_idle = end.unacknowledged == end.unsent;
        while self.find_end(from).unsent < self.find_end(from).stream.len() {
            let end = self.find_end(from);
            let first = end.unsent;
            let length =
                if is_aligned { SEGMENT } else { 500 + world.network.random.below(SEGMENT as u64 - 500) as usize };
            let mut until = end.stream.len().min(first + length);
            if is_aligned {
                let ends = end.fpdus.iter().rev().map(|fpdu| fpdu.end).find(|end| *end > first && *end <= until);
                until = ends.unwrap_or(until);
            }
            end.unsent = until;
            self.segment(from, (first, until), world);
        }
        if is_idle {
            self.restart(from, world);
        }
    }

    fn restart(&mut self, from: By, world: &mut World<Event>) {
        let end = self.find_end(from);
        end.timer += 1;
        if end.unacknowledged < end.unsent {
            let timer = end.timer;
            world.at(world.network.now + TIMEOUT, Event::Alarm(from, timer));
        }
    }

    /// Sends a segment with these octets, or none.
    fn segment(&mut self, from: By, (first, until): (usize, usize), world: &mut World<Event>) {
        let is_selective = self.is_selective;
        let base = self.find_end(other(from)).base;
        let end = self.find_end(from);
        (end.owed, end.delayed) = (0, end.delayed + 1);
        end.identification = end.identification.wrapping_add(1);
        let mut reported = [None; 3];
        if is_selective {
            let blocks = end.received.iter().filter(|(first, _)| **first > end.due);
            reported.iter_mut().zip(blocks).for_each(|(block, (first, end))| *block = Some((*first, *end)));
        }
        let number = |place: usize| base.wrapping_add(place as u32);
        let blocks: Vec<SelectiveBlock> =
            reported.iter().flatten().map(|(first, end)| [number(*first), number(*end)]).collect();
        let numbers = [end.base.wrapping_add(first as u32), number(end.due)];
        let acknowledges = end.due;
        let side = if from == Client { CLIENT } else { SERVER };
        let packet = tcp::packet(side, end.identification, (numbers, ACK), &blocks, &end.stream[first..until]);
        let passage = world.network.pass(from, packet);
        self.note((from, passage), (first, until), world);
        if let Some((captured, arrives)) = passage.captured.zip(passage.arrives) {
            let segment = Segment { first, end: until, acknowledges, reported, captured };
            world.at(arrives, Event::Segment(from, segment));
        }
    }

    /// Notes what a segment shows of RPCs.
    fn note(&mut self, (from, passage): (By, Passage), (first, until): (usize, usize), world: &mut World<Event>) {
        if first == until {
            return;
        }
        let captured = passage.captured;
        let end = self.find_end(from);
        let (is_again, before) = (first < end.highest, end.highest);
        end.highest = end.highest.max(until);
        if is_again && from == Client {
            world.repeats();
        }
        for fpdu in end.fpdus.iter_mut().filter(|fpdu| fpdu.first < until && fpdu.end > first) {
            let Fpdu { xid, part, is_last, .. } = *fpdu;
            let covers = [fpdu.first >= first, fpdu.end <= until];
            world.saw(xid, part, (1 + u64::from(is_again), captured), covers[1] && is_last);
            if matches!(part, Part::ReadRequest(..)) && covers[1] && fpdu.end > before {
                world.reads(xid, passage);
            }
            if let Some(captured) = captured.filter(|_| part == Part::Call) {
                world.begins(xid, captured);
            }
            let Some(captured) = captured else { continue };
            // Of a Send, it shows when it begins.
            let shows = [covers[0] && matches!(part, Part::Call | Part::Reply), covers[1]];
            for (seen, shows) in fpdu.seen.iter_mut().zip(shows) {
                if shows && !std::mem::replace(seen, true) {
                    world.came(xid, part, captured);
                }
            }
        }
        if let Some(time) = captured {
            let overtaken = end.captured.iter().rev().take_while(|before| before.time > time);
            let begin = overtaken.map(|before| before.first).min();
            end.captured.push(Captured { time, first, end: until, is_again });
            let Some(begin) = begin else { return };
            for fpdu in end.fpdus.iter().filter(|fpdu| fpdu.first < until && fpdu.end > begin) {
                world.rpcs.get_mut(&fpdu.xid).unwrap().is_overtaken = true;
            }
        }
    }

    fn receive(&mut self, from: By, segment: Segment, world: &mut World<Event>) {
        let to = other(from);
        self.acknowledged(to, &segment, world);
        if segment.first == segment.end {
            return;
        }
        let end = self.find_end(to);
        let before = end.received.clone();
        let is_next =
            segment.first <= end.due && segment.end > end.due && end.received.range(end.due + 1..).next().is_none();
        insert(&mut end.received, (segment.first, segment.end));
        if end.received != before {
            end.brought.push((segment.first, segment.captured));
        }
        end.due = end.received.get(&0).copied().unwrap_or(0);
        end.owed += 1;
        self.deliver(to, world);
        let is_delayed = self.is_delayed;
        let end = self.find_end(to);
        match end.owed {
            // The octets that were delivered were answered.
            0 => {}
            1 if is_next && is_delayed => {
                end.delayed += 1;
                let number = end.delayed;
                world.at(world.network.now + DELAY, Event::Acknowledge(to, number));
            }
            _ => self.acknowledge(to, world),
        }
    }

    fn acknowledge(&mut self, by: By, world: &mut World<Event>) {
        let next = self.find_end(by).unsent;
        self.segment(by, (next, next), world);
    }

    /// Delivers the FPDUs of the other end that are complete. Each arrives with the last segment that it needed, as these were captured.
    fn deliver(&mut self, to: By, world: &mut World<Event>) {
        loop {
            let (due, index) = (self.find_end(to).due, self.find_end(to).delivered);
            let Some(fpdu) = self.find_end(other(to)).fpdus.get(index).filter(|fpdu| fpdu.end <= due) else { break };
            let (xid, part, is_last, end) = (fpdu.xid, fpdu.part, fpdu.is_last, fpdu.end);
            let needed = self.find_end(to).brought.iter().filter(|(first, _)| *first < end);
            let captured = needed.map(|(_, captured)| *captured).max().unwrap();
            self.find_end(to).delivered += 1;
            match part {
                Part::Call | Part::Reply if is_last => world.arrived(to, xid, captured),
                Part::ReadRequest(which, octets) => {
                    world.asks(xid, octets, captured);
                    let data = self.memory[&(xid, which)].clone();
                    let sink = sink(xid, which);
                    let fpdu =
                        |last, at: usize, part: &[u8]| tcp::tagged((tcp::READ_RESPONSE, last), (sink, at as u64), part);
                    self.add_message(to, (xid, Part::ReadResponse(which, 0, false)), &data, fpdu);
                    self.transmit(to, world);
                }
                Part::ReadResponse(.., true) => world.has_read(xid, captured),
                _ => {}
            }
        }
    }

    /// An end gets an acknowledgement.
    fn acknowledged(&mut self, by: By, segment: &Segment, world: &mut World<Event>) {
        let is_selective = self.is_selective;
        let end = self.find_end(by);
        segment.reported.iter().flatten().for_each(|block| insert(&mut end.reported, *block));
        let is_new = segment.acknowledges > end.unacknowledged;
        if is_new {
            (end.unacknowledged, end.duplicates) = (segment.acknowledges, 0);
            end.recovery.take_if(|(until, _)| *until <= segment.acknowledges);
            self.restart(by, world);
        } else if segment.acknowledges == end.unacknowledged
            && segment.first == segment.end
            && end.unacknowledged < end.unsent
        {
            end.duplicates += 1;
        }
        let end = self.find_end(by);
        let begins = end.recovery.is_none() && end.duplicates == DUPLICATES;
        if begins {
            end.recovery = Some((end.unsent, end.unacknowledged));
        }
        if end.recovery.is_some() && (begins || is_new || is_selective) {
            self.again(by, world);
        }
    }

    /// Sends again what is missing next, in a segment of any length.
    fn again(&mut self, from: By, world: &mut World<Event>) {
        let is_selective = self.is_selective;
        let length = 1 + world.network.random.below(SEGMENT as u64) as usize;
        let end = self.find_end(from);
        let Some((until, reached)) = &mut end.recovery else { return };
        let mut first = end.unacknowledged;
        if is_selective {
            first = first.max(*reached);
            while let Some((_, known)) = end.reported.range(..=first).next_back().filter(|(_, known)| **known > first) {
                first = *known;
            }
        }
        if first >= *until {
            return;
        }
        let last = end.unsent.min(first + length);
        *reached = last;
        self.segment(from, (first, last), world);
    }

    fn alarm(&mut self, from: By, timer: u64, world: &mut World<Event>) {
        let end = self.find_end(from);
        if end.timer == timer && end.unacknowledged < end.unsent {
            end.timeouts += 1;
            end.recovery = Some((end.unsent, end.unacknowledged));
            end.reported.clear();
            self.again(from, world);
            self.restart(from, world);
        }
    }
}

impl Carrier for Tcp {
    type Event = Event;

    fn connect(chances: Chances) -> (Self, Vec<(u64, Packet)>) {
        let Iwarp { packets, next, identification } = Iwarp::default();
        let mut random = Random(chances.seed ^ 0x7c9);
        let mut flag = || random.happens(500);
        let end = |base| End { base, identification, ..End::default() };
        let [client, server] = next.map(end);
        let connection = Self {
            client,
            server,
            is_aligned: flag(),
            is_selective: flag(),
            is_delayed: flag(),
            memory: BTreeMap::new(),
        };
        (connection, packets)
    }

    fn post(&mut self, from: By, (xid, operation): (u32, Operation)) {
        let part = operation.part(from);
        let mut number = |queue: usize| {
            let messages = &mut self.find_end(from).messages[queue];
            *messages += 1;
            *messages
        };
        match operation {
            Operation::Send(octets) => {
                let number = number(0);
                self.add_message(from, (xid, part), &octets, |last, at, part| {
                    tcp::untagged((tcp::SEND, last), (0, number, at as u32), part)
                });
            }
            Operation::Write((handle, offset), octets) => {
                let fpdu =
                    |last, at: usize, part: &[u8]| tcp::tagged((tcp::WRITE, last), (handle, offset + at as u64), part);
                self.add_message(from, (xid, part), &octets, fpdu);
            }
            Operation::Read((handle, offset), data, which) => {
                let number = number(1);
                let request =
                    [words(&[sink(xid, which), 0, 0, data.len() as u32, handle]), offset.to_be_bytes().to_vec()]
                        .concat();
                self.memory.insert((xid, which), data);
                self.add_message(from, (xid, part), &request, |last, _, part| {
                    tcp::untagged((tcp::READ_REQUEST, last), (1, number, 0), part)
                });
            }
        }
    }

    fn transmit(&mut self, from: By, world: &mut World<Event>) {
        self.transmit(from, world);
    }

    fn happen(&mut self, event: Event, world: &mut World<Event>) {
        match event {
            Event::Segment(from, segment) => self.receive(from, segment, world),
            Event::Alarm(from, timer) => self.alarm(from, timer, world),
            Event::Acknowledge(by, number) => {
                if self.find_end(by).delayed == number && self.find_end(by).owed > 0 {
                    self.acknowledge(by, world);
                }
            }
        }
    }

    fn ends(self) -> [EndTruth; 2] {
        [self.client, self.server].map(|mut end| {
            end.captured.sort_by_key(|segment| segment.time);
            let (mut seen, mut truth) = (BTreeMap::new(), EndTruth { timeouts: end.timeouts, ..EndTruth::default() });
            for Captured { first, end, is_again, .. } in end.captured {
                let before = seen.clone();
                insert(&mut seen, (first, end));
                truth.again += u64::from(is_again && seen == before);
                truth.only_again += u64::from(is_again && seen != before);
            }
            truth
        })
    }
}

/// The handle of the server's memory into which the data of an RDMA Read goes.
fn sink(xid: u32, which: usize) -> u32 {
    0x9000 + xid % 64 * 2 + which as u32
}

/// Adds a range to separate ranges in order.
fn insert(ranges: &mut BTreeMap<usize, usize>, (mut first, mut end): (usize, usize)) {
    while let Some((&start, &stop)) = ranges.range(..=end).next_back().filter(|(_, stop)| **stop >= first) {
        ranges.remove(&start);
        (first, end) = (first.min(start), end.max(stop));
    }
    ranges.insert(first, end);
}

fn other(by: By) -> By {
    if by == Client { Server } else { Client }
}

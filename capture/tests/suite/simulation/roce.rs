//! Reliable connections of the InfiniBand Architecture (volume 1, sections 9.7.5 and 9.7.6): go back N after a negative
//! acknowledgement or a time-out, "receiver not ready", acknowledgements that can be lost, RDMA Reads that begin again in the middle
//! when a response is missing.

use std::collections::VecDeque;

use super::network::Chances;
use super::rpc::{Operation, Part, World};
use super::{Carrier, EndTruth};
use crate::synthetic::By::{self, Client, Server};
use crate::synthetic::{Packet, Wire};

/// The exponent of the local ACK timeout that is announced, and the silence in microseconds after which an end retransmits: one to
/// four times 4.096 µs * 2^14 (section 9.7.6.1.3).
const ACK_TIMEOUT: (u8, u64) = (14, 150_000);
/// Microseconds after "receiver not ready" until the packet is retransmitted, at least as long as the code 12 in it says (0.64 ms).
const NOT_READY_WAIT: u64 = 700;

/// Place in a packet of the bit with which an end asks for an acknowledgement: in the BTH, behind the headers of IPv4 and UDP.
const ACK_REQUEST: usize = 20 + 8 + 8;

/// A request: a packet of a Send or of an RDMA Write, or an RDMA Read request.
struct Sent {
    number: u32,
    content: Content,
    xid: u32,
    part: Part,
    /// True if it ends a Send.
    ends: bool,
    copies: Copies,
}

enum Content {
    Packet(Packet),
    Read(Read),
}

/// An RDMA Read.
struct Read {
    memory: (u32, u64),
    data: Vec<u8>,
    /// Responses that came.
    received: usize,
    responses: Vec<Copies>,
}

/// Number of times that a packet was sent, and that it was captured.
#[derive(Clone, Copy, Default)]
struct Copies {
    sent: u64,
    captured: u64,
}

/// One end: what it sends, and how much of what the other sends it has.
#[derive(Default)]
struct End {
    requests: Vec<Sent>,
    /// The first request that is not acknowledged, and the first that was not sent.
    unacknowledged: usize,
    unsent: usize,
    /// RDMA Reads that wait for responses, in order.
    reads: VecDeque<usize>,
    /// A response was missing, and the request was retransmitted since the last one came.
    has_asked_again: bool,
    /// Counts restarts of the timer: earlier alarms are void.
    timer: u64,
    /// The request of the other end that is due, and whether a negative acknowledgement for it was sent.
    expected: usize,
    has_refused: bool,
    truth: EndTruth,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Control {
    Ack,
    Nak,
    NotReady,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// The request of this index of the end arrives, which was captured at this time; of an RDMA Read, from this response on.
    Request(By, usize, usize, u64),
    /// A response by the end to the request of this index.
    Response(By, usize, usize, u64),
    /// An acknowledgement by the end, about the request of this index.
    Control(By, Control, usize),
    /// The end has heard nothing since the timer of this number began.
    Alarm(By, u64),
    /// The end retransmits from this index.
    Again(By, usize),
}

/// A reliable connection.
pub(super) struct Roce {
    wire: Wire,
    client: End,
    server: End,
}

impl Sent {
    /// Packet numbers that it takes.
    fn span(&self) -> usize {
        if let Content::Read(read) = &self.content { read.responses.len() } else { 1 }
    }

    fn read(&mut self) -> Option<&mut Read> {
        if let Content::Read(read) = &mut self.content { Some(read) } else { None }
    }
}

impl Roce {
    fn find_end(&mut self, by: By) -> &mut End {
        match by {
            Client => &mut self.client,
            Server => &mut self.server,
        }
    }

    fn number(&self, by: By) -> u32 {
        match by {
            Client => self.wire.client.next,
            Server => self.wire.server.next,
        }
    }

    /// Sends what was not sent, and starts the timer if nothing was under way.
    fn transmit(&mut self, from: By, world: &mut World<Event>) {
        let end = self.find_end(from);
        let is_idle = end.unacknowledged == end.unsent;
        while self.find_end(from).unsent < self.find_end(from).requests.len() {
            let end = self.find_end(from);
            let index = end.unsent;
            end.unsent += 1;
            if end.requests[index].read().is_some() {
                end.reads.push_back(index);
            }
            self.request(from, index, world);
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
            world.at(world.network.now + ACK_TIMEOUT.1, Event::Alarm(from, timer));
        }
    }

    /// Sends a request; an RDMA Read from the first response that is missing.
    fn request(&mut self, from: By, index: usize, world: &mut World<Event>) {
        let mtu = self.wire.mtu;
        let mut wire = self.wire;
        let sent = &mut self.find_end(from).requests[index];
        let (octets, skipped) = match &sent.content {
            Content::Packet(octets) => (octets.clone(), 0),
            Content::Read(Read { memory: (handle, offset), data, received, .. }) => {
                let at = received * mtu;
                let memory = (*handle, offset + at as u64);
                let number = sent.number + *received as u32;
                (wire.read_request_again(from, number, memory, data.len() - at), *received)
            }
        };
        let passage = world.network.pass(from, octets);
        sent.copies.sent += 1;
        let copies = sent.copies.sent;
        world.saw(sent.xid, sent.part, (copies, passage.captured), sent.ends);
        if copies == 1 && matches!(sent.part, Part::ReadRequest(..)) {
            world.reads(sent.xid, passage);
        }
        if let Some(captured) = passage.captured {
            sent.copies.captured += 1;
            if sent.part == Part::Call {
                world.begins(sent.xid, captured);
            }
            if sent.copies.captured == 1 {
                world.came(sent.xid, sent.part, captured);
            }
            if let Some(arrives) = passage.arrives {
                world.at(arrives, Event::Request(from, index, skipped, captured));
            }
        }
    }

    /// A request arrives at the other end.
    fn receive(&mut self, from: By, (index, skipped): (usize, usize), captured: u64, world: &mut World<Event>) {
        let to = other(from);
        let expected = self.find_end(to).expected;
        if index > expected {
            if !std::mem::replace(&mut self.find_end(to).has_refused, true) {
                self.reply_with(to, Control::Nak, expected, world);
            }
            return;
        }
        let Sent { ends, xid, part, .. } = self.find_end(from).requests[index];
        if index == expected {
            if ends && world.network.random.happens(world.network.chances.not_ready) {
                self.reply_with(to, Control::NotReady, index, world);
                // The packets after it are dropped in silence until it comes again.
                self.find_end(to).has_refused = true;
                return;
            }
            let end = self.find_end(to);
            (end.expected, end.has_refused) = (index + 1, false);
            match part {
                Part::ReadRequest(_, octets) => world.asks(xid, octets, captured),
                _ if ends => world.arrived(to, xid, captured),
                _ => {}
            }
        }
        if let Part::ReadRequest(..) = part {
            self.respond(from, (index, skipped), world);
        } else if ends {
            let last = self.find_end(to).expected - 1;
            self.reply_with(to, Control::Ack, last, world);
        }
    }

    /// Responds to an RDMA Read request of the other end.
    fn respond(&mut self, asked_by: By, (index, skipped): (usize, usize), world: &mut World<Event>) {
        let (mut wire, mtu) = (self.wire, self.wire.mtu);
        let Sent { number, xid, part, content: Content::Read(read), .. } = &mut self.find_end(asked_by).requests[index]
        else {
            return;
        };
        let Part::ReadRequest(which, _) = *part else { return };
        let packets = wire.read_responses(other(asked_by), *number + skipped as u32, &read.data[skipped * mtu..]);
        let count = read.responses.len();
        for (place, octets) in (skipped..).zip(packets) {
            let passage = world.network.pass(other(asked_by), octets);
            let copies = &mut read.responses[place];
            copies.sent += 1;
            let length = read.data[place * mtu..].len().min(mtu) as u64;
            let part = Part::ReadResponse(which, length, place + 1 == count);
            world.saw(*xid, part, (copies.sent, passage.captured), false);
            if let Some(captured) = passage.captured {
                copies.captured += 1;
                if copies.captured == 1 {
                    world.came(*xid, part, captured);
                }
                if let Some(arrives) = passage.arrives {
                    world.at(arrives, Event::Response(asked_by, index, place, captured));
                }
            }
        }
    }

    /// A response arrives at the end that asked for it.
    fn response(&mut self, by: By, (index, place): (usize, usize), captured: u64, world: &mut World<Event>) {
        let end = self.find_end(by);
        let Some(&first) = end.reads.front() else { return };
        let due = end.requests[first].read().map_or(0, |read| read.received);
        if (index, place) > (first, due) {
            return self.ask_again(by, world);
        }
        if (index, place) < (first, due) {
            return;
        }
        end.has_asked_again = false;
        end.unacknowledged = end.unacknowledged.max(index);
        let xid = end.requests[index].xid;
        let span = end.requests[index].span();
        end.requests[index].read().unwrap().received += 1;
        if place + 1 == span {
            end.reads.pop_front();
            end.unacknowledged = index + 1;
            world.has_read(xid, captured);
        }
        self.restart(by, world);
    }

    /// A response is missing: an implied negative acknowledgement.
    fn ask_again(&mut self, by: By, world: &mut World<Event>) {
        let end = self.find_end(by);
        let Some(&first) = end.reads.front() else { return };
        if !std::mem::replace(&mut end.has_asked_again, true) {
            end.truth.implied_naks += 1;
            self.again(by, first, world);
        }
    }

    fn reply_with(&mut self, by: By, control: Control, index: usize, world: &mut World<Event>) {
        let sent = &self.find_end(other(by)).requests[index];
        // All responses of an RDMA Read are acknowledged with its last.
        let last = sent.number + if control == Control::Ack { sent.span() as u32 - 1 } else { 0 };
        let packet = match control {
            Control::Ack => self.wire.ack(by, last),
            Control::Nak => self.wire.nak(by, last),
            Control::NotReady => self.wire.not_ready(by, last),
        };
        let passage = world.network.pass(by, packet);
        if let Some(arrives) = passage.arrives.filter(|_| passage.captured.is_some()) {
            world.at(arrives, Event::Control(by, control, index));
        }
        if passage.captured.is_some() && control != Control::Ack {
            self.find_end(by).truth.refusals[usize::from(control == Control::NotReady)] += 1;
        }
    }

    /// An acknowledgement arrives at the end that sent the requests.
    fn control(&mut self, by: By, control: Control, index: usize, world: &mut World<Event>) {
        let to = other(by);
        let end = self.find_end(to);
        let mut acknowledged = index + usize::from(control == Control::Ack);
        let lacks_response = end.reads.front().is_some_and(|read| *read < acknowledged);
        if lacks_response {
            acknowledged = end.reads[0];
        }
        let is_new = acknowledged > end.unacknowledged;
        end.unacknowledged = end.unacknowledged.max(acknowledged);
        match control {
            Control::NotReady if index >= end.unacknowledged => {
                end.timer += 1;
                if lacks_response {
                    end.has_asked_again = true;
                    end.truth.implied_naks += 1;
                }
                world.at(world.network.now + NOT_READY_WAIT, Event::Again(to, acknowledged));
            }
            _ if lacks_response => self.ask_again(to, world),
            Control::Nak if index >= end.unacknowledged => self.again(to, index, world),
            Control::Ack if is_new => self.restart(to, world),
            _ => {}
        }
    }

    fn alarm(&mut self, from: By, timer: u64, world: &mut World<Event>) {
        let end = self.find_end(from);
        if end.timer == timer && end.unacknowledged < end.unsent {
            end.truth.timeouts += 1;
            end.has_asked_again = false;
            let first = end.unacknowledged;
            self.again(from, first, world);
        }
    }

    fn again(&mut self, from: By, index: usize, world: &mut World<Event>) {
        let first = index.max(self.find_end(from).unacknowledged);
        for index in first..self.find_end(from).unsent {
            self.request(from, index, world);
        }
        self.restart(from, world);
    }
}

impl Carrier for Roce {
    type Event = Event;

    fn connect(_: Chances) -> (Self, Vec<(u64, Packet)>) {
        let mut wire = Wire { ack_timeout: ACK_TIMEOUT.0, ..Wire::default() };
        let set_up = (0..).zip(wire.connect()).collect();
        (Self { wire, client: End::default(), server: End::default() }, set_up)
    }

    fn post(&mut self, from: By, (xid, operation): (u32, Operation)) {
        let first = self.number(from);
        let part = operation.part(from);
        let is_send = part == Part::Call || part == Part::Reply;
        let contents: Vec<_> = match operation {
            Operation::Send(octets) => self.wire.send(from, &octets).into_iter().map(Content::Packet).collect(),
            Operation::Write(memory, data) => {
                self.wire.write(from, memory, &data).into_iter().map(Content::Packet).collect()
            }
            Operation::Read(memory, data, _) => {
                self.wire.read_request(from, memory, data.len());
                let responses = vec![Copies::default(); data.len().div_ceil(self.wire.mtu)];
                vec![Content::Read(Read { memory, data, received: 0, responses })]
            }
        };
        let last = contents.len() - 1;
        let requests = contents.into_iter().enumerate().map(|(index, mut content)| {
            let (number, ends) = (first + index as u32, is_send && index == last);
            if let Content::Packet(octets) = &mut content
                && ends
            {
                octets[ACK_REQUEST] |= 0x80;
            }
            Sent { number, content, xid, part, ends, copies: Copies::default() }
        });
        self.find_end(from).requests.extend(requests);
    }

    fn transmit(&mut self, from: By, world: &mut World<Event>) {
        self.transmit(from, world);
    }

    fn happen(&mut self, event: Event, world: &mut World<Event>) {
        match event {
            Event::Request(from, index, skipped, captured) => self.receive(from, (index, skipped), captured, world),
            Event::Response(by, index, place, captured) => self.response(by, (index, place), captured, world),
            Event::Control(by, control, index) => self.control(by, control, index, world),
            Event::Alarm(from, timer) => self.alarm(from, timer, world),
            Event::Again(from, index) => self.again(from, index, world),
        }
    }

    fn ends(self) -> [EndTruth; 2] {
        let requests = |end: &End| end.requests.iter().map(|sent| sent.copies).collect::<Vec<_>>();
        let responses = |end: &End| -> Vec<Copies> {
            let reads = end.requests.iter().filter_map(|sent| match &sent.content {
                Content::Read(read) => Some(read.responses.clone()),
                Content::Packet(_) => None,
            });
            reads.flatten().collect()
        };
        let of = |end: &End, other: &End| {
            let copies = [requests(end), responses(other)].concat();
            EndTruth {
                again: copies.iter().map(|copies| copies.captured.saturating_sub(1)).sum(),
                only_again: copies.iter().filter(|copies| copies.captured > 0 && copies.captured < copies.sent).count()
                    as u64,
                ..end.truth
            }
        };
        [of(&self.client, &self.server), of(&self.server, &self.client)]
    }
}

fn other(by: By) -> By {
    if by == Client { Server } else { Client }
}

//! Two ends that call and answer over a network that loses packets, simulated event by event, so that it is known what was sent, what
//! arrived and why it was sent again. The dissector sees only what passed one point of the network. What it says must be true, or it
//! must say that it does not know.
//!
//! The ends are reliable connections of the InfiniBand Architecture (volume 1, sections 9.7.5 and 9.7.6): go back N after a
//! negative acknowledgement or a time-out, "receiver not ready", acknowledgements that can be lost.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use rpcrdma_dissector::{Config, Counts, Delivery, Dissector, Event, Frame, LinkType, Owed, Report, Time, Transaction};

use crate::synthetic::By::{self, Client, Server};
use crate::synthetic::rpc::{Lists, MSG, call, message, octets, reply};
use crate::synthetic::{Packet, Wire};
use crate::transcode::{RAW_IP, Random};

/// Microseconds that a packet takes from one end to the other.
const DISTANCE: u64 = 40;
/// The exponent of the local ACK timeout that is announced, and the silence in microseconds after which an end sends again: one to
/// four times 4.096 µs * 2^14 (section 9.7.6.1.3).
const ACK_TIMEOUT: (u8, u64) = (14, 150_000);
/// Microseconds after "receiver not ready" until the packet is sent again, at least as long as the code 12 in it says (0.64 ms).
const NOT_READY_WAIT: u64 = 700;
/// Calls that wait at a time.
const CREDITS: u32 = 16;

/// The network, and what else is left to chance.
#[derive(Clone, Copy, Debug)]
struct Chances {
    seed: u64,
    /// Packets of 1,000 that are lost before the capture, and behind it.
    lost: [u64; 2],
    /// Messages of 1,000 for which there is no Receive yet.
    not_ready: u64,
    /// Calls of 1,000 that are never answered.
    hung: u64,
    /// Microseconds from the client to where packets are captured.
    tap: u64,
}

/// A packet of a message.
struct Sent {
    number: u32,
    octets: Packet,
    /// The RPC, if this is the last packet of its call or reply.
    ends: Option<u32>,
    xid: u32,
    times: u64,
    captured: u64,
}

/// One end: what it sends, and how much of what the other sends it has.
#[derive(Default)]
struct End {
    packets: Vec<Sent>,
    /// The first packet that is not acknowledged, and the first that was not sent.
    unacknowledged: usize,
    unsent: usize,
    /// Counts restarts of the timer: earlier alarms are void.
    timer: u64,
    /// The packet of the other end that is due, and whether a negative acknowledgement for it was sent.
    expected: usize,
    has_refused: bool,
    /// When its link is free.
    free: u64,
    timeouts: u64,
    refusals: [u64; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Control {
    Ack,
    Nak,
    NotReady,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    /// The client makes its next call.
    Call,
    /// The server answers.
    Answer(u32),
    /// The packet of this index of the end arrives, which was captured at this time; or an acknowledgement by the end, about
    /// this index.
    Data(bool, usize, u64),
    Control(bool, Control, usize),
    /// The end has heard nothing since the timer of this number began.
    Alarm(bool, u64),
    /// The end sends again from this index.
    Again(bool, usize),
}

/// Fate of an RPC, in microseconds where packets are captured.
#[derive(Clone, Debug, Default)]
struct Truth {
    /// When the first packet of the call was captured.
    began: Option<u64>,
    /// When the copy of the last packet of the reply was captured that the client accepted.
    ended: Option<u64>,
    /// When the call arrived, by the capture of the packet that completed it.
    called: Option<u64>,
    /// When a copy of the last packet of the reply was captured for the first time, and for the second.
    replied: [Option<u64>; 2],
    /// Copies of it that were captured.
    replies: u64,
    is_hung: bool,
    /// Octets of its Write chunk.
    written: usize,
}

struct Simulation {
    chances: Chances,
    random: Random,
    wire: Wire,
    now: u64,
    queue: BinaryHeap<Reverse<(u64, u64, Happening)>>,
    order: u64,
    client: End,
    server: End,
    captured: Vec<(u64, Packet)>,
    truth: BTreeMap<u32, Truth>,
    calls: u32,
    waiting: u32,
}

impl Simulation {
    fn new(chances: Chances) -> Self {
        let mut wire = Wire { ack_timeout: ACK_TIMEOUT.0, ..Wire::default() };
        let captured = (0..).zip(wire.connect()).collect();
        Self {
            chances,
            random: Random(chances.seed),
            wire,
            now: 1_000,
            queue: BinaryHeap::new(),
            order: 0,
            client: End::default(),
            server: End::default(),
            captured,
            truth: BTreeMap::new(),
            calls: 0,
            waiting: 0,
        }
    }

    fn end(&mut self, by: By) -> &mut End {
        match by {
            Client => &mut self.client,
            Server => &mut self.server,
        }
    }

    fn at(&mut self, time: u64, happening: Happening) {
        self.order += 1;
        self.queue.push(Reverse((time, self.order, happening)));
    }

    /// Lets so many calls be made, and everything happen that follows.
    fn run(mut self, calls: u32) -> Self {
        self.calls = calls;
        self.at(self.now, Happening::Call);
        while let Some(Reverse((time, _, happening))) = self.queue.pop() {
            self.now = time;
            match happening {
                Happening::Call => self.call(),
                Happening::Answer(xid) => self.answer(xid),
                Happening::Data(is_client, index, captured) => self.data(by(is_client), index, captured),
                Happening::Control(is_client, control, index) => self.control(by(is_client), control, index),
                Happening::Alarm(is_client, timer) => self.alarm(by(is_client), timer),
                Happening::Again(is_client, index) => self.again(by(is_client), index),
            }
        }
        self.captured.sort_by_key(|(time, _)| *time);
        self
    }

    fn call(&mut self) {
        let xid = self.truth.len() as u32 + 1;
        // Before the first reply there is one credit.
        let has_credit = self.waiting < if self.truth.values().any(|rpc| rpc.ended.is_some()) { CREDITS } else { 1 };
        if has_credit {
            let length = self.random.below(2_500) as usize & !3;
            let payload = call(xid, [400_000, 1, 7], &octets(xid as u8, length));
            let written = if self.random.happens(300) { 1 + self.random.below(5_000) as usize } else { 0 };
            let is_hung = self.random.happens(self.chances.hung);
            self.truth.insert(xid, Truth { is_hung, written, ..Truth::default() });
            self.waiting += 1;
            self.message(Client, xid, &payload);
        }
        if self.truth.len() < self.calls as usize && (has_credit || self.waiting > self.hung()) {
            let pause = 1 + self.random.below(300);
            self.at(self.now + pause, Happening::Call);
        }
    }

    /// Calls that wait and will not be answered.
    fn hung(&self) -> u32 {
        self.truth.values().filter(|rpc| rpc.is_hung).count() as u32
    }

    fn answer(&mut self, xid: u32) {
        let length = self.random.below(2_500) as usize & !3;
        self.message(Server, xid, &reply(xid, &octets(xid as u8, length)));
    }

    /// The packets of a message, and before a reply those of its RDMA Write.
    fn packets(&mut self, from: By, xid: u32, payload: &[u8]) -> Vec<Packet> {
        let written = self.truth[&xid].written;
        let segment = [(xid, 0, written as u32)];
        let lists = if written > 0 { Lists::writes(&[&segment]) } else { Lists::default() };
        let mut packets = Vec::new();
        if from == Server && written > 0 {
            packets = self.wire.write(Server, (xid, 0), &octets(xid as u8, written));
        }
        packets.extend(self.wire.send(from, &message(MSG, xid, &lists, payload)));
        packets
    }

    fn message(&mut self, from: By, xid: u32, payload: &[u8]) {
        let first = match from {
            Client => self.wire.client.next,
            Server => self.wire.server.next,
        };
        let packets = self.packets(from, xid, payload);
        let last = packets.len() - 1;
        for (index, octets) in packets.into_iter().enumerate() {
            let ends = (index == last).then_some(xid);
            let number = first + index as u32;
            self.end(from).packets.push(Sent { number, octets, ends, xid, times: 0, captured: 0 });
        }
        self.transmit(from);
    }

    /// Sends what was not sent, and starts the timer if nothing was under way.
    fn transmit(&mut self, from: By) {
        let end = self.end(from);
        let is_idle = end.unacknowledged == end.unsent;
        while self.end(from).unsent < self.end(from).packets.len() {
            let index = self.end(from).unsent;
            self.end(from).unsent += 1;
            self.packet(from, index);
        }
        if is_idle {
            self.restart(from);
        }
    }

    fn restart(&mut self, from: By) {
        let end = self.end(from);
        end.timer += 1;
        let timer = end.timer;
        if end.unacknowledged < end.unsent {
            self.at(self.now + ACK_TIMEOUT.1, Happening::Alarm(from == Client, timer));
        }
    }

    fn packet(&mut self, from: By, index: usize) {
        let sent = &mut self.end(from).packets[index];
        sent.times += 1;
        let (octets, xid, ends) = (sent.octets.clone(), sent.xid, sent.ends);
        let arrives = |captured| Happening::Data(from == Client, index, captured);
        let Some(captured) = self.network(from, octets, arrives) else { return };
        self.end(from).packets[index].captured += 1;
        let rpc = self.truth.get_mut(&xid).unwrap();
        match from {
            Client => rpc.began = Some(rpc.began.map_or(captured, |began| began.min(captured))),
            Server if ends.is_some() => {
                if let Some(copy) = rpc.replied.iter_mut().find(|copy| copy.is_none()) {
                    *copy = Some(captured);
                }
                rpc.replies += 1;
            }
            Server => {}
        }
    }

    /// Sends a packet, and returns when it is captured. One microsecond is between any two of an end.
    fn network(&mut self, from: By, octets: Packet, arrives: impl Fn(u64) -> Happening) -> Option<u64> {
        let sent = self.end(from).free.max(self.now);
        self.end(from).free = sent + 1;
        let before = if from == Client { self.chances.tap } else { DISTANCE - self.chances.tap };
        if self.random.happens(self.chances.lost[0]) {
            return None;
        }
        let captured = sent + before;
        self.captured.push((captured, octets));
        if !self.random.happens(self.chances.lost[1]) {
            self.at(sent + DISTANCE, arrives(captured));
        }
        Some(captured)
    }

    /// A packet arrives at the other end.
    fn data(&mut self, from: By, index: usize, captured: u64) {
        let to = other(from);
        let expected = self.end(to).expected;
        if index > expected {
            if !std::mem::replace(&mut self.end(to).has_refused, true) {
                self.reply_with(to, Control::Nak, expected);
            }
            return;
        }
        let ends = self.end(from).packets[index].ends;
        if index == expected {
            if ends.is_some() && self.random.happens(self.chances.not_ready) {
                self.reply_with(to, Control::NotReady, index);
                // What follows is dropped without a word until the packet comes again.
                self.end(to).has_refused = true;
                return;
            }
            let end = self.end(to);
            (end.expected, end.has_refused) = (index + 1, false);
            if let Some(xid) = ends {
                self.arrived(to, xid, captured);
            }
        }
        if ends.is_some() {
            let last = self.end(to).expected - 1;
            self.reply_with(to, Control::Ack, last);
        }
    }

    /// A message is complete at an end.
    fn arrived(&mut self, to: By, xid: u32, captured: u64) {
        let rpc = self.truth.get_mut(&xid).unwrap();
        match to {
            Server => {
                rpc.called = Some(captured);
                if rpc.is_hung {
                    return;
                }
                let pause = 20 + self.random.below(2_000);
                self.at(self.now + pause, Happening::Answer(xid));
            }
            Client => {
                rpc.ended = Some(captured);
                self.waiting -= 1;
            }
        }
    }

    fn reply_with(&mut self, by: By, control: Control, index: usize) {
        let number = self.end(other(by)).packets[index].number;
        let packet = match control {
            Control::Ack => self.wire.ack(by, number),
            Control::Nak => self.wire.nak(by, number),
            Control::NotReady => self.wire.not_ready(by, number),
        };
        let captured = self.network(by, packet, |_| Happening::Control(by == Client, control, index));
        if captured.is_some() && control != Control::Ack {
            self.end(by).refusals[usize::from(control == Control::NotReady)] += 1;
        }
    }

    /// An acknowledgement arrives at the end that sent the packets.
    fn control(&mut self, by: By, control: Control, index: usize) {
        let to = other(by);
        let end = self.end(to);
        let acknowledged = index + usize::from(control == Control::Ack);
        if acknowledged > end.unacknowledged {
            end.unacknowledged = acknowledged;
        } else if control == Control::Ack || index < end.unacknowledged {
            return;
        }
        match control {
            Control::Ack => self.restart(to),
            Control::Nak => self.again(to, index),
            Control::NotReady => {
                self.end(to).timer += 1;
                self.at(self.now + NOT_READY_WAIT, Happening::Again(to == Client, index));
            }
        }
    }

    fn alarm(&mut self, from: By, timer: u64) {
        let end = self.end(from);
        if end.timer == timer && end.unacknowledged < end.unsent {
            end.timeouts += 1;
            let first = end.unacknowledged;
            self.again(from, first);
        }
    }

    fn again(&mut self, from: By, index: usize) {
        let first = index.max(self.end(from).unacknowledged);
        for index in first..self.end(from).unsent {
            self.packet(from, index);
        }
        self.restart(from);
    }
}

fn by(is_client: bool) -> By {
    if is_client { Client } else { Server }
}

fn other(by: By) -> By {
    if by == Client { Server } else { Client }
}

fn dissect(captured: &[(u64, Packet)]) -> (Vec<Transaction>, Option<Report>) {
    let mut config = Config::default();
    config.recovery = true;
    let mut dissector = Dissector::new(config);
    for (number, (time, data)) in (1..).zip(captured) {
        let (time, length) = (Time(time * 1_000), data.len() as u32);
        dissector.frame(&Frame { number, time, link: LinkType(RAW_IP), data, length });
    }
    dissector.finish();
    let (mut transactions, mut report) = (Vec::new(), None);
    while let Some(event) = dissector.event() {
        match event {
            Event::Transaction(transaction) => transactions.push(*transaction),
            Event::Connection(connection) => report = Some(*connection),
            _ => {}
        }
    }
    (transactions, report)
}

/// Runs the network, and calls `judge` with what is true and what is found.
fn simulate(calls: u32, mut judge: impl FnMut(&Simulation, &[Transaction], &Report)) {
    for seed in 1..=400 {
        let mut random = Random(seed);
        let mut one_of = |values: &[u64]| values[random.below(values.len() as u64) as usize];
        let chances = Chances {
            seed,
            lost: [one_of(&[0, 2, 10, 50]), one_of(&[0, 2, 10, 50])],
            not_ready: one_of(&[0, 0, 20]),
            hung: one_of(&[0, 0, 30]),
            tap: one_of(&[0, DISTANCE / 2, DISTANCE]),
        };
        let simulation = Simulation::new(chances).run(calls);
        let (transactions, report) = dissect(&simulation.captured);
        judge(&simulation, &transactions, &report.unwrap());
    }
}

#[test]
fn a_latency_is_the_true_one_or_unknown() {
    let (mut known, mut unknown, mut wrong) = (0, 0, Vec::new());
    simulate(60, |simulation, transactions, _| {
        for transaction in transactions {
            let truth = &simulation.truth[&transaction.xid];
            let expected = truth.latency(truth.ended);
            match transaction.latency() {
                found if found == expected => known += 1,
                None => unknown += 1,
                found => {
                    wrong.push(format!("{:?} {:#x}: {found:?}, not {expected:?}", simulation.chances, transaction.xid))
                }
            }
        }
    });
    println!("{known} known, {unknown} unknown");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
    assert!(unknown * 10 < known, "{unknown} of {known}");
}

/// Signs of loss at the ends, by sender.
#[test]
fn what_was_sent_again_and_why_is_counted_as_it_was() {
    let mut wrong = Vec::new();
    simulate(60, |simulation, _, report| {
        for (by, found) in [(Client, report.counts.active), (Server, report.counts.passive)] {
            let end = if by == Client { &simulation.client } else { &simulation.server };
            let again: u64 = end.packets.iter().map(|packet| packet.captured.saturating_sub(1)).sum();
            let only_again = end.packets.iter().filter(|packet| packet.captured > 0 && packet.captured < packet.times);
            let expected = (again, end.refusals);
            let Counts { retransmitted, replaced, timeouts, sequence_errors, not_ready, .. } = found;
            if (retransmitted, [sequence_errors, not_ready]) != expected
                || replaced > only_again.count() as u64
                || timeouts > end.timeouts
            {
                wrong.push(format!(
                    "{:?} {by:?}: {found:?}, not {expected:?}, {} time-outs",
                    simulation.chances, end.timeouts
                ));
            }
        }
    });
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(10)].join("\n"));
}

/// The time that is given to recovery, and to phases, is part of the latency.
#[test]
fn recovery_takes_no_longer_than_the_rpc() {
    let mut wrong = Vec::new();
    simulate(60, |simulation, transactions, _| {
        for transaction in transactions {
            let (Some(latency), Ok(phases), Ok(recovery)) =
                (transaction.latency(), transaction.phases, &transaction.recovery)
            else {
                continue;
            };
            let pairs = [
                (phases.call, recovery.phases.call),
                (phases.responder, recovery.phases.responder),
                (phases.reply, recovery.phases.reply),
            ];
            if pairs.iter().any(|(whole, part)| part > whole) || recovery.phases.total() > latency {
                wrong.push(format!(
                    "{:?} {:#x}: {latency} {phases:?} {:?}",
                    simulation.chances, transaction.xid, recovery.phases
                ));
            }
        }
    });
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(10)].join("\n"));
}

/// All packets arrive in the end, so a call waits only because the server does not answer it.
#[test]
fn a_call_that_the_server_never_answers_is_owed_by_the_server() {
    let (mut hung, mut unknown, mut wrong) = (0, 0, Vec::new());
    simulate(60, |simulation, transactions, _| {
        for transaction in transactions {
            let truth = &simulation.truth[&transaction.xid];
            let Some(waiting) = transaction.waiting else { continue };
            let is_right = match (waiting.owed, truth.is_hung) {
                (Owed::Reply, true) => true,
                (Owed::ReplyArrival(times), false) => {
                    unknown += 1;
                    u64::from(times) == truth.replies
                }
                (Owed::Unknown(_), _) => {
                    unknown += 1;
                    true
                }
                _ => false,
            };
            hung += u64::from(truth.is_hung);
            if !is_right {
                wrong.push(format!("{:?} {:#x}: {:?}", simulation.chances, transaction.xid, waiting));
            }
        }
    });
    println!("{hung} hung, {unknown} unknown");
    assert!(hung > 100 && wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(10)].join("\n"));
}

/// A capture that ends in the middle shows the state of each RPC, or it is unknown.
#[test]
fn what_waits_when_the_capture_ends_is_what_waited() {
    let (mut counts, mut wrong) = ([0; 2], Vec::new());
    simulate(60, |simulation, _, _| {
        let captured = &simulation.captured;
        for part in 1..6 {
            let end = captured[captured.len() * part / 6].0;
            let kept = &captured[..captured.partition_point(|(time, _)| *time <= end)];
            for transaction in dissect(kept).0 {
                let truth = &simulation.truth[&transaction.xid];
                counts[usize::from(transaction.waiting.is_some())] += 1;
                if !truth.permits(&transaction, end) {
                    let (latency, waiting) = (transaction.latency(), transaction.waiting);
                    wrong.push(format!("{:?} at {end}: {latency:?} {waiting:?}, {truth:?}", simulation.chances));
                }
            }
        }
    });
    println!("{counts:?} over and waiting");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(10)].join("\n"));
}

impl Truth {
    /// The latency in nanoseconds if the RPC ended at this time.
    fn latency(&self, ended: Option<u64>) -> Option<u64> {
        self.began.zip(ended).map(|(began, ended)| (ended - began) * 1_000)
    }

    /// Returns true if this may be said of the RPC when the capture ends at this time.
    fn permits(&self, found: &Transaction, end: u64) -> bool {
        let by_then = |time: Option<u64>| time.filter(|time| *time <= end);
        let ended = by_then(self.ended);
        let Some(waiting) = found.waiting else {
            // As far as the capture goes, the only copy of a reply may be the one that arrives.
            let may_end = self.replied[0].filter(|_| ended.is_none() && by_then(self.replied[1]).is_none());
            return [None, self.latency(ended), self.latency(may_end)].contains(&found.latency());
        };
        let is_called = by_then(self.called).is_some();
        let is_right = match waiting.owed {
            // Whether the call arrived may be unknown.
            Owed::Reply => ended.is_none(),
            Owed::ReplyAgain(_) => is_called && ended.is_none(),
            Owed::Call(_) => !is_called,
            Owed::Acknowledgement(_) | Owed::ReplyArrival(_) | Owed::Unknown(_) => true,
            _ => false,
        };
        is_right && (is_called || waiting.delivery != Delivery::Accepted)
    }
}

/// Of the frames that the mirror loses, nothing but their numbers may be left: a latency can then be of a later copy of the call, or of
/// an earlier one of the reply. That is rare, and no packet counts as sent again that was not.
#[test]
fn what_the_mirror_loses_is_not_lost_by_the_network() {
    let (mut right, mut other, mut wrong) = (0, 0, Vec::new());
    simulate(60, |simulation, _, whole| {
        let Chances { seed, .. } = simulation.chances;
        let (mut random, lost) = (Random(seed), [2, 20, 100][seed as usize % 3]);
        let set_up = &simulation.captured[..3];
        let frames = simulation.captured[3..].iter().filter(|_| !random.happens(lost));
        let (transactions, report) = dissect(&set_up.iter().chain(frames).cloned().collect::<Vec<_>>());
        for transaction in transactions {
            let truth = &simulation.truth[&transaction.xid];
            let expected = truth.latency(truth.ended);
            let found = transaction.latency();
            right += u32::from(found == expected);
            other += u32::from(found.is_some() && found != expected);
        }
        let (found, whole) = (report.unwrap().counts, whole.counts);
        for (found, whole) in [(found.active, whole.active), (found.passive, whole.passive)] {
            let again = |counts: Counts| counts.retransmitted + counts.replaced;
            if again(found) > again(whole) || found.timeouts > whole.timeouts {
                wrong.push(format!("{:?}: {found:?}, not {whole:?}", simulation.chances));
            }
        }
    });
    println!("{right} right, {other} of other copies");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(10)].join("\n"));
    assert!(other * 50 < right, "{other} and {right}");
}

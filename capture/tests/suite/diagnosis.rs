//! Diagnoses of captures with a known cause: shipped ones, shipped ones disturbed as a mirror disturbs them, and hand-made ones
//! with known times.

use std::collections::{BTreeMap, BTreeSet};
use std::{env, fs, process};

use rpcrdma_answers::diagnosis::{CAUSES, Diagnoser, Diagnosis};
use rpcrdma_dissector::{Checker, Config, Dissector, Frame, LinkType, Time};

use crate::capture_point::asking;
use crate::command::{run, stdout};
use crate::connections::frames;
use crate::outliers;
use crate::promises;
use crate::situations::{self, mount};
use crate::slow_transfer::{CongestionSign, IwarpTransfers, Transfers};
use crate::synthetic::By::{self, Client, Server};
use crate::synthetic::rpc::{Lists, MSG, NOMSG, message, null, octets, read3, reply, words, write3, write3_reply};
use crate::synthetic::tcp::{self, Iwarp};
use crate::synthetic::v2::{self, Family};
use crate::synthetic::{End, Packet, Wire};
use crate::transcode::{self, Mirror, MirrorKind, Pcap, Record};
use crate::twins::{
    ALONE, Carrier, Load, Made, ReadRequest, Stream, Truth, another_order, every_other, finish_streams, halves,
};
use crate::{recalls, sessions};

/// Microseconds.
pub(crate) const MILLISECOND: u64 = 1000;
pub(crate) const SECOND: u64 = 1_000_000;

/// Private data that announces Sends of 4,096 octets, and of 1,024 (RFC 8797 section 4).
pub(crate) const SENDS_OF_4096: [u8; 8] = [0xf6, 0xab, 0x0e, 0x18, 1, 0, 3, 3];
const SENDS_OF_1024: [u8; 8] = [0xf6, 0xab, 0x0e, 0x18, 1, 0, 0, 0];

/// Causes of RPCs that were answered: one of them has most of it.
pub(crate) const TIMED: [&str; 17] = [
    "retried",
    "loss",
    "receiver-not-ready",
    "distance",
    "delegation-recall",
    "server-grace",
    "refused-for-now",
    "lock-held",
    "server-slow",
    "client-slow",
    "slow-transfer",
    "congestion",
    "window",
    "link-full",
    "credits",
    "slots",
    "errors",
];

/// Causes of calls without a reply. They depend on all that follows, so no part of a capture has one that the whole lacks.
pub(crate) const SILENT: [&str; 5] =
    ["server-silent", "server-unreachable", "client-silent", "client-unreachable", "copy-unfinished"];

/// Returns true for a cause that rests on RPCs. A cause of the capture stands, whatever is selected.
pub(crate) fn is_of_rpcs(cause: &str) -> bool {
    TIMED.contains(&cause) || SILENT.contains(&cause) || ["protocol", "outlier"].contains(&cause)
}

pub(crate) fn diagnose(frames: &[Record]) -> Diagnosis {
    let mut config = Config::default();
    (config.operations, config.recovery) = (true, true);
    let (mut dissector, mut checker) = (Dissector::new(config), Checker::default());
    let mut diagnoser = Diagnoser::new("capture");
    let mut take = |dissector: &mut Dissector| {
        while let Some(event) = dissector.event() {
            checker.event(&event);
            diagnoser.event(&event);
            std::iter::from_fn(|| checker.finding()).for_each(|found| diagnoser.finding(&found));
        }
    };
    for (frame, number) in frames.iter().zip(1..) {
        let (time, link, length) = (Time(frame.time_ns), LinkType(frame.link), frame.length);
        dissector.frame(&Frame { number, time, link, data: &frame.data, length });
        take(&mut dissector);
    }
    dissector.finish();
    take(&mut dissector);
    diagnoser.finish(dissector.summary())
}

pub(crate) fn causes(diagnosis: &Diagnosis) -> Vec<&'static str> {
    diagnosis.causes.iter().map(|cause| cause.cause).collect()
}

/// Connections and their packets.
pub(crate) struct Scene {
    pub(crate) wires: Vec<Wire>,
    /// The same connections over iWARP.
    streams: Vec<Stream>,
    packets: Vec<(u64, Packet)>,
    /// `rdma_credit` of replies, and of calls.
    grant: u32,
    request: u32,
    xid: u32,
    pub(crate) load: Load,
    pub(crate) truth: Truth,
}

/// A WRITE whose data the server has asked for.
struct Write {
    xid: u32,
    request: ReadRequest,
}

impl Scene {
    /// Several clients of one server.
    pub(crate) fn new(clients: u8, private_data: &[u8]) -> Self {
        Self::with(ALONE, clients, private_data)
    }

    /// The same with this load. Before the first reply a client has one credit (RFC 8166 section 3.3.3), so many calls in flight come
    /// after an RPC by itself.
    pub(crate) fn with(load: Load, clients: u8, private_data: &[u8]) -> Self {
        let mut scene = Self::unconnected(load);
        for client in 0..clients {
            scene.connect(client, [private_data; 2]);
            if load.calls > 1 {
                let xid = scene.call(usize::from(client), 100);
                scene.answer(usize::from(client), xid, 300);
            }
        }
        scene
    }

    fn unconnected(load: Load) -> Self {
        let (wires, streams, packets) = (Vec::new(), Vec::new(), Vec::new());
        Self { wires, streams, packets, grant: 32, request: 32, xid: 0x100, load, truth: Truth::default() }
    }

    /// The connection of a client. The two ends announce this private data.
    fn connect(&mut self, client: u8, [of_client, of_server]: [&[u8]; 2]) {
        if self.load.carrier == Carrier::Iwarp {
            let (stream, set_up) = Stream::new(10 + client, [of_client, of_server]);
            self.streams.push(stream);
            return self.packets.extend(set_up);
        }
        let number = u32::from(client);
        let mut wire = Wire {
            client: End { host: 10 + client, queue_pair: 0x100 + number, next: 100 },
            server: End { host: 2, queue_pair: 0x200 + number, next: 7000 },
            name: 0x1234 + number,
            ack_timeout: 17,
            ..Wire::default()
        };
        let set_up = [wire.request(of_client), wire.reply(of_server), wire.connect().pop().unwrap()];
        self.wires.push(wire);
        self.at(0, &set_up);
    }

    /// The client asks for another connection, from `time` on, after the last one ended.
    pub(crate) fn reconnect(&mut self, wire: usize, time: u64) {
        if self.load.carrier == Carrier::Iwarp {
            let set_up = self.streams[wire].connect_again([&SENDS_OF_4096; 2]);
            self.packets.extend(set_up.into_iter().map(|(since, packet)| (time + since, packet)));
        } else {
            let connection = &mut self.wires[wire];
            connection.name += 0x1000;
            (connection.client.queue_pair, connection.server.queue_pair) =
                (connection.client.queue_pair + 0x1000, connection.server.queue_pair + 0x1000);
            let set_up = [connection.request(&SENDS_OF_4096), connection.reply(&SENDS_OF_4096), connection.ready()];
            self.at(time, &set_up);
        }
    }

    /// All clients ask for another connection.
    pub(crate) fn reconnect_all(&mut self, time: u64) {
        (0..self.wires.len()).for_each(|wire| self.reconnect(wire, time + 10 * wire as u64));
    }

    /// A client with half a second of healthy RPCs.
    pub(crate) fn healthy() -> Self {
        Self::healthy_with(ALONE)
    }

    /// The same with this load: fifty RPCs, or ten flights.
    fn healthy_with(load: Load) -> Self {
        let mut scene = Self::with(load, 1, &SENDS_OF_4096);
        scene.rpcs(0, if load.calls > 1 { 10 } else { 50 }, (10 * MILLISECOND, 10 * MILLISECOND), 200);
        scene
    }

    /// Adds packets, one microsecond apart.
    pub(crate) fn at(&mut self, time: u64, packets: &[Packet]) {
        self.packets.extend((time..).zip(packets.iter().cloned()));
    }

    /// Adds retransmitted packets: TCP repeats the first that was not acknowledged, InfiniBand all.
    fn again(&mut self, time: u64, packets: &[Packet]) {
        let count = if self.load.carrier == Carrier::Iwarp { 1 } else { packets.len() };
        self.at(time, &packets[..count.min(packets.len())]);
    }

    pub(crate) fn next_xid(&mut self) -> u32 {
        self.xid += 1;
        self.xid
    }

    pub(crate) fn acknowledge(&mut self, wire: usize, by: By, time: u64) {
        self.acknowledge_before(wire, by, time, &[]);
    }

    /// An end acknowledges all but these packets, the last that the other end sent.
    fn acknowledge_before(&mut self, wire: usize, by: By, time: u64, missing: &[Packet]) {
        let packet = match self.load.carrier {
            Carrier::Iwarp => self.streams[wire].acknowledge(by, missing),
            Carrier::Roce => {
                let other = if by == Client { self.wires[wire].server } else { self.wires[wire].client };
                self.wires[wire].ack(by, other.next - 1 - missing.len() as u32)
            }
        };
        self.at(time, &[packet]);
    }

    pub(crate) fn send(&mut self, wire: usize, by: By, message: &[u8]) -> Vec<Packet> {
        let mut message = message.to_vec();
        let credit = if by == Server { self.grant } else { self.request };
        message[8..12].copy_from_slice(&credit.to_be_bytes());
        self.send_octets(wire, by, &message)
    }

    /// A Send of these octets.
    fn send_octets(&mut self, wire: usize, by: By, octets: &[u8]) -> Vec<Packet> {
        match self.load.carrier {
            Carrier::Roce => self.wires[wire].send(by, octets),
            Carrier::Iwarp => vec![self.streams[wire].send(by, octets)],
        }
    }

    /// An RDMA Write of the server.
    fn write_data(&mut self, wire: usize, handle: u32, data: &[u8]) -> Vec<Packet> {
        match self.load.carrier {
            Carrier::Roce => self.wires[wire].write(Server, (handle, 0), data),
            Carrier::Iwarp => vec![self.streams[wire].write(Server, handle, data)],
        }
    }

    /// A request of the server for data of a client.
    fn ask_for_data(&mut self, handle: u32, length: usize) -> (Packet, ReadRequest) {
        match self.load.carrier {
            Carrier::Roce => {
                let number = self.wires[0].server.next;
                (self.wires[0].read_request(Server, (handle, 0), length), ReadRequest(number))
            }
            Carrier::Iwarp => self.streams[0].read_request(Server, handle, length as u32),
        }
    }

    /// The client's responses to it.
    fn data(&mut self, request: ReadRequest, data: &[u8]) -> Vec<Packet> {
        match self.load.carrier {
            Carrier::Roce => self.wires[0].read_responses(Client, request.0, data),
            Carrier::Iwarp => vec![self.streams[0].read_response(Client, request, data)],
        }
    }

    /// The end of a connection: DREQ, or RST.
    pub(crate) fn disconnect(&mut self, wire: usize, by: By, time: u64) {
        let end = match self.load.carrier {
            Carrier::Roce => self.wires[wire].disconnect(by),
            Carrier::Iwarp => self.streams[wire].reset(by),
        };
        self.truth.ended.push(time);
        self.at(time, &[end]);
    }

    /// A call, with its Send.
    fn sent(&mut self, wire: usize, time: u64, xid: u32, octets: &[u8]) -> Vec<Packet> {
        let call = self.send(wire, Client, octets);
        self.log_call(wire, xid, time);
        self.at(time, &call);
        call
    }

    /// Notes that the call of this transaction is the next packet.
    pub(crate) fn log_call(&mut self, wire: usize, xid: u32, time: u64) {
        self.truth.call(wire, xid, time, self.packets.len());
    }

    /// A NULL call.
    fn sent_null(&mut self, wire: usize, time: u64) -> (u32, Vec<Packet>) {
        let xid = self.next_xid();
        (xid, self.sent(wire, time, xid, &message(MSG, xid, &Lists::default(), &null(xid))))
    }

    /// A NULL call that was acknowledged.
    pub(crate) fn call(&mut self, wire: usize, time: u64) -> u32 {
        let (xid, _) = self.sent_null(wire, time);
        self.acknowledge(wire, Server, time + 5);
        xid
    }

    /// The reply to it.
    pub(crate) fn answer(&mut self, wire: usize, xid: u32, time: u64) {
        self.answers(wire, &[xid], time);
    }

    /// NULL calls, as many as the load says, ten microseconds apart. The server has not acknowledged them.
    fn calls(&mut self, wire: usize, time: u64) -> Vec<(u32, Vec<Packet>)> {
        (0..self.load.calls).map(|number| self.sent_null(wire, time + 10 * number)).collect()
    }

    /// The same, acknowledged.
    pub(crate) fn flight(&mut self, wire: usize, time: u64) -> Vec<u32> {
        let calls = self.calls(wire, time);
        self.acknowledge(wire, Server, self.after(time, 1) + 5);
        calls.into_iter().map(|(xid, _)| xid).collect()
    }

    /// The time of the call, or of the reply, that comes last but `count` - 1 of those that begin at a time.
    fn after(&self, time: u64, count: u64) -> u64 {
        time + 10 * (self.load.calls - count)
    }

    /// Replies to NULL calls, ten microseconds apart, and their acknowledgement.
    pub(crate) fn answers(&mut self, wire: usize, xids: &[u32], time: u64) {
        let replies: Vec<_> = xids.iter().map(|xid| (*xid, reply(*xid, &[]))).collect();
        self.reply_with(wire, &Lists::default(), &replies, time);
    }

    /// Replies with these payloads, ten microseconds apart, and their acknowledgement.
    fn reply_with(&mut self, wire: usize, lists: &Lists, replies: &[(u32, Vec<u8>)], time: u64) {
        for ((xid, payload), time) in replies.iter().zip((time..).step_by(10)) {
            let reply = self.send(wire, Server, &message(MSG, *xid, lists, payload));
            self.truth.answer(*xid, time);
            self.at(time, &reply);
        }
        if !replies.is_empty() {
            self.acknowledge(wire, Client, time + 10 * (replies.len() as u64 - 1) + 5);
        }
    }

    /// `count` flights of NULL calls, one every `each` microseconds; each is answered after `latency` microseconds.
    pub(crate) fn rpcs(&mut self, wire: usize, count: u64, (from, each): (u64, u64), latency: u64) {
        for number in 0..count {
            let xids = self.flight(wire, from + number * each);
            self.answers(wire, &another_order(&xids), from + number * each + latency);
        }
    }

    /// Calls of WRITEs of 1,000 octets in a Read chunk.
    fn write_calls(&mut self, time: u64, count: u64) -> Vec<u32> {
        let xids: Vec<u32> = (0..count).map(|_| self.next_xid()).collect();
        for (xid, time) in xids.iter().zip((time..).step_by(10)) {
            let lists = Lists::reads(&[(68, (*xid, 0, 1000))]);
            self.sent(0, time, *xid, &message(MSG, *xid, &lists, &write3(*xid, 1000)));
        }
        xids
    }

    /// Requests of the server for the data of WRITEs.
    fn ask_for_writes(&mut self, xids: &[u32], time: u64) -> Vec<Write> {
        let mut writes = Vec::new();
        for (xid, time) in xids.iter().zip((time..).step_by(10)) {
            let (packet, request) = self.ask_for_data(*xid, 1000);
            self.at(time, &[packet]);
            writes.push(Write { xid: *xid, request });
        }
        writes
    }

    /// The client's data from `time` on, and the replies 100 microseconds later.
    fn written(&mut self, writes: &[Write], time: u64) {
        for (write, time) in writes.iter().zip((time..).step_by(10)) {
            let data = self.data(write.request, &octets(7, 1000));
            self.at(time, &data);
        }
        let xids: Vec<u32> = writes.iter().map(|write| write.xid).collect();
        let replies: Vec<_> = another_order(&xids).into_iter().map(|xid| (xid, write3_reply(xid, 1000))).collect();
        self.reply_with(0, &Lists::default(), &replies, time + 100 + 10 * (writes.len().max(1) as u64 - 1));
    }

    /// WRITEs whose data the client sends after so many microseconds.
    fn write(&mut self, time: u64, latency: u64) {
        let xids = self.write_calls(time, self.load.calls);
        let writes = self.ask_for_writes(&xids, time + 100);
        self.written(&writes, time + 100 + latency);
    }

    /// READs whose 1,000 octets the server writes into a Write chunk.
    fn read(&mut self, time: u64) {
        let xids: Vec<u32> = (0..self.load.calls).map(|_| self.next_xid()).collect();
        let lists = |xid: u32| Lists::writes(&[&[(xid, 0, 1000)]]);
        for (xid, time) in xids.iter().zip((time..).step_by(10)) {
            self.sent(0, time, *xid, &message(MSG, *xid, &lists(*xid), &read3(*xid, 1000)));
        }
        for (xid, number) in another_order(&xids).into_iter().zip(0..) {
            let time = self.after(time, 1) + 100 + 20 * number;
            let data = self.write_data(0, xid, &octets(7, 1000));
            let results = reply(xid, &words(&[0, 0, 1000, 1, 1000]));
            let reply = self.send(0, Server, &message(MSG, xid, &lists(xid), &results));
            self.at(time, &data);
            self.truth.answer(xid, time + 10);
            self.at(time + 10, &reply);
        }
        self.acknowledge(0, Client, self.after(time, 1) + 115 + 20 * (xids.len() as u64 - 1));
    }

    /// RPCs of which those in even places fail with a status of NFSv3.
    fn failures(&mut self, time: u64, status: u32) {
        let mut replies = Vec::new();
        for (number, time) in (0..self.load.calls).zip((time..).step_by(10)) {
            if number % 2 == 0 {
                let xid = self.next_xid();
                self.sent(0, time, xid, &message(MSG, xid, &Lists::default(), &read3(xid, 100)));
                replies.push((xid, reply(xid, &words(&[status, 0]))));
                self.truth.blame(xid, 0);
            } else {
                let (xid, _) = self.sent_null(0, time);
                replies.push((xid, reply(xid, &[])));
            }
        }
        self.reply_with(0, &Lists::default(), &another_order(&replies), self.after(time, 1) + 100);
    }

    /// Something else, so that the capture goes on until then.
    pub(crate) fn until(&mut self, time: u64) {
        self.at(time, &[vec![0x45; 20]]);
    }

    pub(crate) fn records(self) -> Vec<Record> {
        Made::from(self).frames
    }
}

impl From<Scene> for Made {
    fn from(scene: Scene) -> Self {
        let mut packets: Vec<_> = scene.packets.into_iter().enumerate().collect();
        packets.sort_by_key(|(_, (time, _))| *time);
        let places: Vec<usize> = packets.iter().map(|(place, _)| *place).collect();
        let known = scene.truth.captured_content(&places, packets.last().map_or(0, |(_, (time, _))| *time));
        let mut packets: Vec<_> = packets.into_iter().map(|(_, packet)| packet).collect();
        finish_streams(&mut packets);
        let record = |(time, data): (u64, Packet)| Record {
            time_ns: 1_763_683_200_000_000_000 + time * 1000,
            link: transcode::RAW_IP,
            length: data.len() as u32,
            data,
        };
        Self { frames: packets.into_iter().map(record).collect(), known: Some(known) }
    }
}

/// The frames that an end sent.
fn from(frames: Vec<Record>, end: u8) -> Vec<Record> {
    frames.into_iter().filter(|frame| frame.data[12..14] == [8, 0] && frame.data[29] == end).collect()
}

fn doubled(frames: &[Record], kind: MirrorKind) -> Vec<Record> {
    let twice = transcode::doubling(frames, Mirror { delay: 2000, kind }, |_| true);
    twice.into_iter().map(|(_, record)| record).collect()
}

/// The shipped capture of this name; with several calls in flight, a healthy mount in Ethernet frames.
fn mount(load: Load, name: &str) -> Vec<Record> {
    if load.calls > 1 { on_ethernet(busy(load).records()) } else { transcode::capture(name) }
}

/// IPv4 packets in Ethernet frames; each host has its own address.
fn on_ethernet(mut frames: Vec<Record>) -> Vec<Record> {
    let ethernet = |host: u8| [2, 0, 0, 0, 0, host];
    for frame in &mut frames {
        let [source, destination] = [frame.data[15], frame.data[19]].map(ethernet);
        frame.data = [&destination[..], &source, &[8, 0], &frame.data].concat();
        (frame.link, frame.length) = (1, frame.length + 14);
    }
    frames
}

/// A server that was stopped: so many calls at least, accepted and not answered, and ten seconds. Of several calls in flight, it answers
/// every other one.
fn stuck(load: Load, calls: u64) -> Scene {
    let mut scene = Scene::healthy_with(load);
    for number in 0..calls.min(32 / load.calls) {
        let time = SECOND + number * if load.calls > 1 { MILLISECOND } else { 10 };
        let (affected, others) = every_other(scene.flight(0, time));
        scene.answers(0, &another_order(&others), time + 200);
        scene.truth.blame_rest(&affected);
    }
    scene.until(11 * SECOND);
    scene
}

/// A server whose adapter acknowledges 20 ms after the call passed the capture, and which takes so many microseconds for a reply.
fn distant_server(load: Load, takes: u64) -> Scene {
    let mut scene = Scene::with(load, 1, &SENDS_OF_4096);
    let blamed = if takes > 20 * MILLISECOND { takes } else { 20 * MILLISECOND };
    for number in 0..30 {
        let time = 5 * MILLISECOND * (load.calls.min(2) - 1) + number * 200 * MILLISECOND;
        let from = scene.packets.len();
        let calls = scene.calls(0, time);
        if load.carrier == Carrier::Roce {
            scene.packets[from..].iter_mut().for_each(|(_, packet)| *packet = asking(packet.clone()));
        }
        let xids: Vec<u32> = calls.into_iter().map(|(xid, _)| xid).collect();
        scene.acknowledge(0, Server, scene.after(time, 1) + 20 * MILLISECOND);
        scene.answers(0, &another_order(&xids), time + 20 * MILLISECOND + takes);
        xids.iter().for_each(|xid| scene.truth.blame(*xid, blamed));
    }
    scene
}

/// A link that goes down: of the calls in flight, the first half arrives and is answered. The others are sent so many times.
fn unreachable(load: Load, times: u64) -> Scene {
    let mut scene = Scene::healthy_with(load);
    let (first, rest) = halves(scene.calls(0, SECOND));
    let lost: Vec<Packet> = rest.iter().flat_map(|(_, call)| call.clone()).collect();
    if !first.is_empty() {
        scene.acknowledge_before(0, Server, scene.after(SECOND, 1) + 5, &lost);
        let xids: Vec<u32> = first.iter().map(|(xid, _)| *xid).collect();
        scene.answers(0, &another_order(&xids), SECOND + 200);
    }
    (1..times).for_each(|time| scene.again(SECOND + time * SECOND, &lost));
    scene.truth.blame_rest(&rest.iter().map(|(xid, _)| *xid).collect::<Vec<_>>());
    scene.until((times + 3) * SECOND);
    scene
}

/// An adapter whose checksums are wrong from some call on: this and what follows is sent so many times.
fn wrong_checksums(load: Load, times: u64) -> Made {
    let mut made = Made::from(unreachable(load, times));
    let wrong_from = made.known.as_ref().and_then(|known| known.frames.first().copied()).unwrap();
    let (_, packets) = made.frames.split_last_mut().unwrap();
    for (number, Record { data, .. }) in (1..).zip(packets) {
        let (covered, icrc) = data.split_last_chunk_mut().unwrap();
        let right = transcode::roce_v2_icrc(covered);
        let is_wrong_call = number >= wrong_from && covered[15] == 10 && covered[28] == 4;
        *icrc = if is_wrong_call { right.map(|octet| !octet) } else { right };
    }
    made
}

/// A client that stops: the server waits for data. Of several WRITEs in flight, the client has sent the data of the first half: an adapter
/// responds to Read requests in their order, and the server asked for the others after that.
fn client_that_stopped(load: Load, is_given_up: bool) -> Scene {
    let mut scene = Scene::healthy_with(load);
    let (served, rest) = halves(scene.write_calls(SECOND, load.calls));
    let mut time = SECOND + 100;
    if !served.is_empty() {
        let writes = scene.ask_for_writes(&served, time);
        scene.written(&writes, time + 200);
        time += MILLISECOND;
    }
    scene.ask_for_writes(&rest, time);
    scene.truth.blame_rest(&rest);
    if is_given_up {
        scene.disconnect(0, Server, 15 * SECOND);
    }
    scene.until(20 * SECOND);
    scene
}

/// Replies to NULL calls that are not sent yet.
fn unsent_replies(scene: &mut Scene, xids: &[u32]) -> Vec<Packet> {
    xids.iter()
        .flat_map(|xid| scene.send(0, Server, &message(MSG, *xid, &Lists::default(), &reply(*xid, &[]))))
        .collect()
}

/// A client that is gone: the server sends its replies four times, and then ends the connection. Of several, the first half arrived.
fn client_gone(load: Load) -> Scene {
    let mut scene = Scene::healthy_with(load);
    let (first, rest) = halves(another_order(&scene.flight(0, SECOND)));
    let from = scene.after(SECOND, 1) + 100;
    scene.answers(0, &first, from);
    let replies = unsent_replies(&mut scene, &rest);
    scene.at(from + 10 * first.len() as u64, &replies);
    for time in 1..4 {
        scene.again(from + time * 2 * SECOND, &replies);
    }
    scene.truth.blame_rest(&rest);
    scene.disconnect(0, Server, 9 * SECOND);
    scene
}

/// A client that has no Receive for a reply: its adapter refuses the reply so many times, a second apart. In the end the server gives
/// up, or the capture ends. Of several replies, the first half was accepted.
fn reply_refused(load: Load, times: u64, is_given_up: bool) -> Scene {
    let mut scene = Scene::healthy_with(load);
    let (first, rest) = halves(another_order(&scene.flight(0, SECOND)));
    let from = scene.after(SECOND, 1) + 100;
    scene.answers(0, &first, from);
    let number = scene.wires[0].server.next;
    let replies = unsent_replies(&mut scene, &rest);
    let refusal = scene.wires[0].not_ready(Client, number);
    for time in 1..=times {
        let from = from + (time - 1) * SECOND + 10 * first.len() as u64;
        scene.at(from, &replies);
        scene.at(from + 20, std::slice::from_ref(&refusal));
    }
    scene.truth.blame_rest(&rest);
    if is_given_up {
        scene.disconnect(0, Server, (times + 1) * SECOND);
    }
    scene.until((times + 5) * SECOND);
    scene
}

/// The client asks for a connection so many times, three seconds apart. Each request is rejected for this reason, or gets no answer.
fn ask(scene: &mut Scene, from: u64, times: u32, reason: Option<u16>) {
    for number in 0..times {
        let time = from + u64::from(number) * 3 * SECOND;
        if scene.load.carrier == Carrier::Iwarp {
            let request = scene.streams[0].syn();
            scene.at(time, &[request]);
            if reason.is_some() {
                let refusal = scene.streams[0].refusal();
                scene.at(time + 90, &[refusal]);
            }
            continue;
        }
        scene.wires[0].name = 0x2000 + number;
        scene.wires[0].client.queue_pair = 0x500 + number;
        let request = scene.wires[0].request(&[]);
        scene.at(time, &[request]);
        if let Some(reason) = reason {
            let rejection = scene.wires[0].reject(reason);
            scene.at(time + 90, &[rejection]);
        }
    }
}

/// A server that ends the connection 3 ms after a call, and then rejects five requests for this reason, or answers none. It has answered
/// every other one of several calls.
fn server_stopped(load: Load, reason: Option<u16>) -> Scene {
    let mut scene = Scene::healthy_with(load);
    let (affected, others) = every_other(scene.flight(0, SECOND));
    scene.answers(0, &another_order(&others), SECOND + 200);
    scene.truth.blame_rest(&affected);
    scene.disconnect(0, Server, SECOND + 3 * MILLISECOND);
    ask(&mut scene, 2 * SECOND, 5, reason);
    scene
}

/// Two clients of a server, which drops the connection of the first four times, with half of the calls in flight. That client connects
/// again each time; the second is served throughout.
pub(crate) fn dropped_connections(load: Load) -> Scene {
    let mut scene = Scene::with(load, 2, &SENDS_OF_4096);
    scene.rpcs(1, 20, (10 * MILLISECOND, 200 * MILLISECOND), 300);
    for number in 1..=4 {
        let time = number * SECOND;
        scene.rpcs(0, 3, (time - 100 * MILLISECOND, 10 * MILLISECOND), 200);
        let (affected, others) = every_other(scene.flight(0, time));
        scene.answers(0, &another_order(&others), time + 200);
        scene.truth.blame_rest(&affected);
        scene.disconnect(0, Server, time + 3 * MILLISECOND);
        scene.reconnect(0, time + 20 * MILLISECOND);
        let first = scene.call(0, time + 30 * MILLISECOND);
        scene.answer(0, first, time + 31 * MILLISECOND);
    }
    scene
}

/// A client whose calls get no acknowledgement: it gives its connection up, asks for another one, and that works until its next call.
fn given_up_connections(load: Load) -> Scene {
    let mut scene = Scene::healthy_with(load);
    for number in 1..=3 {
        let time = 10 * number * SECOND;
        let calls = scene.calls(0, time);
        let lost: Vec<Packet> = calls.iter().flat_map(|(_, call)| call.clone()).collect();
        (1..4).for_each(|again| scene.again(time + again * SECOND, &lost));
        scene.truth.blame_rest(&calls.iter().map(|(xid, _)| *xid).collect::<Vec<_>>());
        scene.disconnect(0, Client, time + 5 * SECOND);
        scene.reconnect(0, time + 6 * SECOND);
        let first = scene.call(0, time + 7 * SECOND);
        scene.answer(0, first, time + 7 * SECOND + 300);
    }
    scene
}

/// A capture of connection requests alone, to this port.
fn requests_alone(port: u16, reason: Option<u16>) -> Vec<Record> {
    let mut scene = Scene::healthy();
    (scene.packets, scene.truth) = (Vec::new(), Truth::default());
    scene.wires[0].port = port;
    ask(&mut scene, 0, 4, reason);
    scene.records()
}

/// iWARP: the SYN is sent four times, two seconds apart, or answered with RST.
fn iwarp_requests(is_reset: bool) -> Vec<Record> {
    let mut scene = Scene::unconnected(ALONE);
    let mut trace = Iwarp { packets: Vec::new(), next: [999, 4999], identification: 1 };
    for time in 0..4 {
        trace.segment(2 * time * SECOND, tcp::CLIENT, 0, tcp::SYN, &[]);
        if is_reset {
            trace.next[tcp::SERVER] = 0;
            trace.next[tcp::CLIENT] += 1;
            trace.segment(2 * time * SECOND + 50, tcp::SERVER, 0, tcp::RST | tcp::ACK, &[]);
            trace.next[tcp::CLIENT] += 7000;
        }
    }
    scene.packets = trace.packets;
    scene.records()
}

/// Calls that were refused because no Receive was posted, and come again later. Of several in flight, the first half was taken.
fn not_ready(load: Load, count: u64) -> Scene {
    let mut scene = Scene::healthy_with(load);
    for number in 0..count {
        let time = SECOND + number * 10 * MILLISECOND;
        refused_calls(&mut scene, time, 1500);
    }
    scene
}

/// Calls of which the second half is refused, and comes again after so many microseconds.
fn refused_calls(scene: &mut Scene, time: u64, pause: u64) {
    let (first, rest) = halves(scene.calls(0, time));
    let place = scene.wires[0].client.next - rest.len() as u32;
    let refused = scene.wires[0].not_ready(Server, place);
    scene.at(scene.after(time, 1) + 5, &[refused]);
    let xids = |calls: &[(u32, Vec<Packet>)]| calls.iter().map(|(xid, _)| *xid).collect::<Vec<_>>();
    let (first, again) = (xids(&first), rest.iter().flat_map(|(_, call)| call.clone()).collect::<Vec<_>>());
    let rest = xids(&rest);
    scene.answers(0, &another_order(&first), scene.after(time, 1) + 100);
    scene.at(time + pause, &again);
    scene.acknowledge(0, Server, time + pause + 5 + again.len() as u64);
    scene.answers(0, &another_order(&rest), time + pause + 100);
    rest.iter().zip(time + pause..).for_each(|(xid, again)| scene.truth.blame_until(*xid, again));
}

/// A server that grants 32 credits and can take four calls: of each eight, it refuses the fifth, and all behind it come again with
/// that after so many microseconds. Of sixteen, it takes eight.
fn takes_half(load: Load, pause: u64) -> Scene {
    let mut scene = Scene::healthy_with(load);
    scene.load.calls = load.calls.max(8);
    for burst in 0..20 {
        refused_calls(&mut scene, SECOND + burst * 2 * pause, pause);
    }
    scene
}

/// A call in the middle of each flight is lost behind the capture, and comes again after so many milliseconds. Those behind it wait.
fn lost_call(load: Load, milliseconds: u64) -> Scene {
    let mut scene = Scene::healthy_with(load);
    for number in 0..4 {
        lose_call(&mut scene, 0, SECOND + number * 2 * milliseconds * MILLISECOND, milliseconds);
    }
    scene
}

fn lose_call(scene: &mut Scene, wire: usize, time: u64, milliseconds: u64) {
    let (first, rest) = halves(scene.calls(wire, time));
    let lost: Vec<Packet> = rest.iter().flat_map(|(_, call)| call.clone()).collect();
    let xids = |calls: &[(u32, Vec<Packet>)]| calls.iter().map(|(xid, _)| *xid).collect::<Vec<_>>();
    let (first, rest) = (xids(&first), xids(&rest));
    if !first.is_empty() {
        scene.acknowledge_before(wire, Server, scene.after(time, 1) + 5, &lost);
        scene.answers(wire, &another_order(&first), scene.after(time, 1) + 100);
    }
    let again = time + milliseconds * MILLISECOND;
    scene.again(again, &lost);
    scene.acknowledge(wire, Server, again + 4 + lost.len() as u64);
    scene.answers(wire, &another_order(&rest), again + 100);
    // TCP hands over nothing behind a gap, and an InfiniBand adapter drops it.
    rest.iter().for_each(|xid| scene.truth.blame_until(*xid, again));
}

/// A pause is no time-out, however long: the receiver says only how long it is at least.
#[test]
fn calls_behind_a_refused_one_blame_the_receiver_not_loss() {
    for pause in [1500, 700 * MILLISECOND] {
        let diagnosis = diagnose(&takes_half(ALONE, pause).records());
        let [cause] = &diagnosis.causes[..] else { panic!("{}", text(&diagnosis)) };
        assert_eq!((cause.cause, cause.owner, cause.rpcs), ("receiver-not-ready", Some("server"), Some(80)));
        assert_eq!(cause.owner_address.as_deref(), Some("192.0.2.2"));
        let evidence = cause.evidence.join(" ");
        for words in [
            "This end had granted 32 credits, and refused a call while at most 4 calls waited for an answer",
            "Of the 80 RPCs that waited, 60 were behind a refused one",
        ] {
            assert!(evidence.contains(words), "{evidence}");
        }
        assert!(!text(&diagnosis).contains("loss"), "{}", text(&diagnosis));
    }
}

/// `count` slow RPCs after fifty fast ones. Of several in flight, every other one is slow.
fn slow_server(load: Load, count: u64, latency: u64) -> Scene {
    let mut scene = Scene::healthy_with(load);
    for number in 0..count.div_ceil(load.calls) {
        let time = SECOND + number * 2 * latency;
        let (affected, others) = every_other(scene.flight(0, time));
        scene.answers(0, &another_order(&others), time + 200);
        scene.answers(0, &another_order(&affected), time + latency);
        affected.iter().for_each(|xid| scene.truth.blame(*xid, latency));
    }
    scene
}

/// `count` WRITEs for whose data the client takes long. Of several calls in flight, every other one is a WRITE.
fn slow_client(load: Load, count: u64, latency: u64) -> Scene {
    let mut scene = Scene::healthy_with(load);
    for number in 0..count.div_ceil(load.calls) {
        let time = SECOND + number * 2 * latency;
        let others: Vec<u32> = (0..load.calls / 2).map(|number| scene.sent_null(0, time + 5 + 10 * number).0).collect();
        let xids = scene.write_calls(time, load.calls.div_ceil(2));
        let writes = scene.ask_for_writes(&xids, time + 100);
        scene.answers(0, &another_order(&others), time + 200);
        scene.written(&writes, time + 100 + latency);
        writes.iter().for_each(|write| scene.truth.blame(write.xid, latency));
    }
    scene
}

/// The server grants so many credits, and the client has more calls than that: each follows a reply at once.
fn few_credits(load: Load, grant: u32, calls: u64) -> Vec<Record> {
    credits_after(Scene::with(load, 1, &SENDS_OF_4096), grant.max(load.calls as u32), calls)
}

/// The same in a connection on which there may have been other grants. One of several calls in flight is answered, not the oldest.
fn credits_after(mut scene: Scene, grant: u32, calls: u64) -> Vec<Record> {
    scene.grant = grant;
    let place = if scene.load.calls > 1 { 5 } else { 0 };
    scene.load.calls = 1;
    let mut waiting = std::collections::VecDeque::new();
    scene.rpcs(0, 1, (500, 0), 100);
    for number in 0..calls {
        let time = MILLISECOND + number * 1500 / u64::from(grant);
        if waiting.len() == grant as usize {
            let xid = waiting.remove(place).unwrap();
            scene.answer(0, xid, time - 20);
        }
        let xid = scene.call(0, time);
        waiting.push_back(xid);
    }
    for (xid, number) in waiting.into_iter().zip(0..) {
        scene.answer(0, xid, 2 * MILLISECOND + (calls + number) * 1500 / u64::from(grant));
    }
    scene.records()
}

/// A wait is judged by the grant and the request at its time: the range over the capture would blame the wrong end.
#[test]
fn credit_waits_are_judged_by_the_credits_of_that_time() {
    let mut dropped = Scene::new(1, &SENDS_OF_4096);
    dropped.grant = 64;
    dropped.rpcs(0, 1, (0, 0), 100);
    let mut modest = Scene::new(1, &SENDS_OF_4096);
    modest.request = 4;
    let mut raised = Scene::new(1, &SENDS_OF_4096);
    raised.grant = 2;
    raised.rpcs(0, 1, (0, 0), 100);
    for (scene, grant, owner, words) in [
        (dropped, 1, "server", "the server had granted 1, and the client asked for 32: the server has to grant more"),
        (modest, 4, "client", "the server had granted 4, and the client asked for 4: the client has to ask for more"),
        (raised, 4, "server", "the client asked for 32: the server has to grant more"),
    ] {
        let diagnosis = diagnose(&credits_after(scene, grant, 200));
        let cause = diagnosis.causes.iter().find(|cause| cause.cause == "credits").expect("credits");
        assert_eq!(cause.owner, Some(owner), "{words}");
        assert!(cause.evidence.join(" ").contains(words), "{:?}", cause.evidence);
    }
}

fn small_sends(load: Load, writes: bool) -> Scene {
    let mut scene = Scene::with(load, 1, &SENDS_OF_1024);
    for number in 0..30u64.div_ceil(load.calls) {
        let time = 10 * MILLISECOND * (number + 1);
        if writes { scene.write(time, 50) } else { scene.read(time) }
    }
    scene
}

/// READs on a connection of which the ends announce this private data.
fn small_sends_of(load: Load, client: &[u8], server: &[u8]) -> Scene {
    let mut scene = Scene::unconnected(load);
    scene.connect(0, [client, server]);
    scene.load.calls = 1;
    scene.read(MILLISECOND);
    scene.load = load;
    (1..30u64.div_ceil(load.calls)).for_each(|number| scene.read(10 * MILLISECOND * number));
    scene
}

/// One RPC in ten fails with this status.
fn failing(load: Load, status: u32) -> Scene {
    let mut scene = Scene::healthy_with(load);
    for number in 0..5 {
        scene.failures(SECOND + number * MILLISECOND, status);
    }
    scene
}

/// One of eight clients loses packets; or is the one that is answered late.
fn one_bad_client(load: Load, is_lossy: bool) -> Scene {
    let mut scene = Scene::with(load, 8, &SENDS_OF_4096);
    for client in 0..8 {
        scene.rpcs(client, 30 / load.calls.min(6), (10 * MILLISECOND, 10 * MILLISECOND), 200);
    }
    for number in 0..20 / load.calls.min(5) {
        let time = SECOND + number * SECOND;
        if is_lossy {
            lose_call(&mut scene, 3, time, 700);
            continue;
        }
        let (first, rest) = halves(scene.calls(3, time));
        let xids = |calls: &[(u32, Vec<Packet>)]| calls.iter().map(|(xid, _)| *xid).collect::<Vec<_>>();
        let late: Vec<Packet> = rest.iter().flat_map(|(_, call)| call.clone()).collect();
        if !first.is_empty() {
            scene.acknowledge_before(3, Server, scene.after(time, 1) + 5, &late);
            scene.answers(3, &another_order(&xids(&first)), scene.after(time, 1) + 100);
        }
        scene.acknowledge(3, Server, time + 700 * MILLISECOND + 5);
        scene.answers(3, &another_order(&xids(&rest)), time + 700 * MILLISECOND + 100);
        rest.iter().for_each(|(xid, _)| scene.truth.blame(*xid, 700 * MILLISECOND));
    }
    scene
}

/// Mounts that each have one credit before the first reply (RFC 8166 section 3.3.3), and use it.
fn a_dozen_mounts(load: Load) -> Scene {
    let mut scene = Scene::with(load, 12, &SENDS_OF_4096);
    for mount in 0..12 {
        let from = MILLISECOND * (mount as u64 + 1);
        scene.rpcs(mount, 2, (from, 5 * MILLISECOND), 4990 - 150 * (load.calls.min(2) - 1));
    }
    scene
}

/// Calls and replies of version 2, without private data: first an RPC by itself, for which there is a credit.
fn version_2(load: Load, family: Family) -> Scene {
    let mut scene = Scene::unconnected(load);
    scene.connect(0, [&[]; 2]);
    for number in 0..99u64.div_ceil(load.calls) {
        let time = (number + 1) * MILLISECOND;
        let calls = if number == 0 { 1 } else { load.calls };
        let xids: Vec<u32> = (0..calls).map(|_| scene.next_xid()).collect();
        for (xid, time) in xids.iter().zip((time..).step_by(10)) {
            let call = scene.send_octets(0, Client, &v2::call(family, *xid, 0, &Lists::default(), &null(*xid)));
            scene.log_call(0, *xid, time);
            scene.at(time, &call);
        }
        scene.acknowledge(0, Server, time + 10 * (calls - 1) + 5);
        for (xid, time) in another_order(&xids).into_iter().zip((time + 200..).step_by(10)) {
            let reply = scene.send_octets(0, Server, &v2::reply(family, xid, &[], &reply(xid, &octets(7, 900))));
            scene.truth.answer(xid, time);
            scene.at(time, &reply);
        }
        scene.acknowledge(0, Client, time + 200 + 10 * (calls - 1) + 5);
    }
    scene
}

/// A healthy mount with long calls and replies in chunks, version 1.
fn busy(load: Load) -> Scene {
    let mut scene = Scene::with(load, 4, &SENDS_OF_4096);
    for client in 0..4 {
        scene.rpcs(client, 400 / load.calls, (10 * MILLISECOND, 700), 300);
    }
    for number in 0..100 / load.calls {
        scene.read(SECOND + number * MILLISECOND);
    }
    for number in 0..100 / load.calls {
        scene.write(2 * SECOND + number * MILLISECOND, 100);
    }
    scene
}

/// A Send that is longer than what the other end can receive: it refuses it, and the connection ends with all calls in flight.
fn too_long(load: Load) -> Scene {
    let mut scene = Scene::healthy_with(load);
    for number in 1..load.calls {
        let xid = scene.call(0, SECOND - 10 * number);
        scene.truth.blame_rest(&[xid]);
    }
    let xid = scene.next_xid();
    scene.sent(0, SECOND, xid, &message(MSG, xid, &Lists::default(), &rpc_call(xid, 6000)));
    scene.truth.blame_rest(&[xid]);
    let number = scene.wires[0].client.next - 1;
    let refused = scene.wires[0].access_error(Server, number);
    scene.at(SECOND + 50, &[refused]);
    scene.disconnect(0, Server, SECOND + 51);
    scene.until(2 * SECOND);
    scene
}

fn rpc_call(xid: u32, length: usize) -> Vec<u8> {
    crate::synthetic::rpc::call(xid, [400_000, 1, 7], &vec![7; length])
}

/// Replies in the server's memory that the client never reads. Every other one of several is in a Send.
fn unread_reply(load: Load) -> Scene {
    let mut scene = Scene::healthy_with(load);
    let (affected, others) = every_other(scene.flight(0, SECOND));
    scene.answers(0, &another_order(&others), scene.after(SECOND, 1) + 20);
    let first = SECOND + 100 + 20 * others.len() as u64 * 2;
    for (xid, time) in another_order(&affected).into_iter().zip((first..).step_by(10)) {
        let lists = Lists::reads(&[(0, (xid, 0, reply(xid, &[]).len() as u32))]);
        let provided = scene.send(0, Server, &message(NOMSG, xid, &lists, &[]));
        scene.at(time, &provided);
    }
    scene.acknowledge(0, Client, first + 10 * (affected.len() as u64 - 1) + 5);
    scene.truth.blame_rest(&affected);
    scene.until(30 * SECOND);
    scene
}

/// A capture with its causes in their order: with one call at a time, and with others in flight.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) made: Box<dyn Fn(Load) -> Made>,
    pub(crate) causes: &'static [&'static str],
}

fn row<M: Into<Made>>(name: &'static str, made: impl Fn(Load) -> M + 'static, causes: &'static [&'static str]) -> Row {
    Row { name, made: Box::new(move |load| made(load).into()), causes }
}

/// Frames before the first that a capture of `mount` holds which began late: it begins within a flight.
const MID_FLIGHT: usize = 250;

/// The captures with one call at a time, each with its causes in their order.
pub(crate) fn labelled() -> Vec<(&'static str, Vec<Record>, &'static [&'static str])> {
    rows().into_iter().map(|Row { name, made, causes }| (name, made(ALONE).frames, causes)).collect()
}

/// A capture whose clock for the packets of one host is so many nanoseconds ahead, with the packets in the order of their times.
pub(crate) fn ahead(name: &str, host: u8, nanoseconds: u64) -> Vec<Record> {
    let mut frames = transcode::capture(name);
    let sent = |frame: &&mut Record| frame.data.get(12..14) == Some(&[8, 0]) && frame.data.get(29) == Some(&host);
    frames.iter_mut().filter(sent).for_each(|frame| frame.time_ns += nanoseconds);
    frames.sort_by_key(|frame| frame.time_ns);
    frames
}

/// The captures, each with its causes in their order.
pub(crate) fn rows() -> Vec<Row> {
    vec![
        row("healthy: NFSv3", |_| transcode::capture("nfs3"), &[]),
        row("healthy: NFSv3 over IPv6", |_| transcode::capture("nfs3_ipv6"), &[]),
        row("healthy: NFSv4.0", |_| transcode::capture("nfs40"), &[]),
        row("healthy: NFSv4.1", |_| transcode::capture("nfs41"), &[]),
        row("healthy: NFSv4.2, large packets", |_| transcode::capture("nfs42_mtu9000"), &[]),
        row("healthy: krb5", |_| transcode::capture("nfs41_krb5"), &[]),
        row("healthy: krb5i", |_| transcode::capture("nfs41_krb5i"), &[]),
        row("healthy: iWARP", |_| transcode::capture("iwarp_nfs41"), &[]),
        row("healthy: idle", |_| transcode::capture("nfs41_callback"), &[]),
        row("healthy: busy", busy, &[]),
        row("healthy: a dozen mounts", a_dozen_mounts, &[]),
        row("healthy: version 2, A", |load| version_2(load, Family::A), &[]),
        row("healthy: version 2, B", |load| version_2(load, Family::B), &[]),
        row("one slow server", |_| outliers::slow_server().records(), &["outlier"]),
        row("one slow client", |_| outliers::slow_client().records(), &["outlier"]),
        row("no NFS", |_| transcode::capture("perftest"), &["nothing-found"]),
        row(
            "no RDMA",
            |_| transcode::capture("nfs41").into_iter().filter(|frame| frame.data[12] == 0x86).collect::<Vec<_>>(),
            &["nothing-found"],
        ),
        row("client alone", |load| from(mount(load, "nfs41"), if load.calls > 1 { 10 } else { 2 }), &["one-direction"]),
        row(
            "server alone, iWARP",
            |load| from(mount(load, "iwarp_nfs41"), if load.calls > 1 { 10 } else { 1 }),
            &["one-direction"],
        ),
        row("missed", |load| transcode::dropping(&mount(load, "nfs41"), 3, 60), &["capture-gaps"]),
        row("missed, NFSv3", |load| transcode::dropping(&mount(load, "nfs3"), 9, 100), &["capture-gaps"]),
        row("cut", |load| transcode::cut(&mount(load, "nfs41"), 96), &["cut"]),
        row("cut, NFSv3 over IPv6", |load| transcode::cut(&mount(load, "nfs3_ipv6"), 128), &["cut"]),
        row(
            "joined late",
            |load| mount(load, "nfs41").split_off(if load.calls > 1 { MID_FLIGHT } else { 60 }),
            &["joined-late"],
        ),
        row(
            "joined late, NFSv3",
            |load| mount(load, "nfs3").split_off(if load.calls > 1 { MID_FLIGHT } else { 47 }),
            &["joined-late"],
        ),
        row("doubled", |load| doubled(&mount(load, "nfs41"), MirrorKind::Same), &["mirror-doubled"]),
        row("doubled, behind a router", |load| doubled(&mount(load, "nfs3"), MirrorKind::Routed), &["mirror-doubled"]),
        row("two clocks", |_| ahead("nfs41", 1, 2_000_000), &["two-clocks"]),
        row("two clocks, far apart", |_| ahead("nfs3", 2, 50_000_000), &["two-clocks"]),
        row("two clocks, iWARP", |_| ahead("iwarp_nfs41", 1, 50_000_000), &["two-clocks"]),
        row("two clocks and loss", |_| ahead("nfs41_lossy", 1, 5_000_000), &["two-clocks"]),
        row("stuck server, one call", |load| stuck(load, 1), &["server-silent"]),
        row("stuck server, 30 calls", |load| stuck(load, 30), &["server-silent"]),
        row(
            "hangs in the lab",
            |_| transcode::capture("hangs"),
            &["client-unreachable", "server-unreachable", "server-silent"],
        ),
        row("link down", |load| unreachable(load, 4), &["server-unreachable"]),
        row("link down for long", |load| unreachable(load, 30), &["server-unreachable"]),
        row("wrong checksums", |load| wrong_checksums(load, 4), &["wrong-checksum"]),
        row("wrong checksums for long", |load| wrong_checksums(load, 30), &["wrong-checksum"]),
        row("stopped client", |load| client_that_stopped(load, false), &["client-silent"]),
        row("reply not read", unread_reply, &["client-silent"]),
        row("stopped client, server gave up", |load| client_that_stopped(load, true), &["client-silent"]),
        row("client gone, server gave up", client_gone, &["client-unreachable"]),
        row("no Receive for a reply", |load| reply_refused(load, 1, false), &["reply-refused"]),
        row(
            "no Receive for a reply, server gave up",
            |load| reply_refused(load, 3, true),
            &["reply-refused", "protocol"],
        ),
        row("server ends connections", |_| situations::tries(mount::Carrier::Roce), &["retried"]),
        row("server ends connections, iWARP", |_| situations::tries(mount::Carrier::Iwarp), &["retried"]),
        row("server stopped", |load| server_stopped(load, Some(8)), &["server-not-listening", "server-silent"]),
        row("server gone", |load| server_stopped(load, None), &["connect-unanswered", "server-silent"]),
        row("server drops connections", dropped_connections, &["flapping", "server-silent"]),
        row("client gives connections up", given_up_connections, &["flapping", "server-unreachable"]),
        row("server down", |_| requests_alone(20049, Some(8)), &["server-not-listening"]),
        row(
            "server stopped, and refuses",
            |load| server_stopped(load, Some(10)),
            &["connection-refused", "server-silent"],
        ),
        row("server refuses", |_| requests_alone(20049, Some(28)), &["connection-refused"]),
        row("server not there", |_| requests_alone(20049, None), &["connect-unanswered"]),
        row("another service", |_| requests_alone(4420, Some(8)), &["nothing-found"]),
        row("another service, not there", |_| requests_alone(4420, None), &["nothing-found"]),
        row("server down, iWARP", |_| iwarp_requests(true), &["server-not-listening"]),
        row("server not there, iWARP", |_| iwarp_requests(false), &["connect-unanswered"]),
        row(
            "loss",
            |load| {
                if load.calls > 1 { lost_call(load, 300).into() } else { Made::from(transcode::capture("nfs41_lossy")) }
            },
            &["loss"],
        ),
        row("loss, few", |_| transcode::capture("lost"), &["loss"]),
        row("loss, iWARP", |_| transcode::capture("iwarp_lost"), &["loss"]),
        row("loss, NFSv3 over iWARP", |_| transcode::capture("iwarp_nfs3_lossy"), &["loss"]),
        row("one lossy client", |load| one_bad_client(load, true), &["loss"]),
        row("no Receives", |load| not_ready(load, 50), &["receiver-not-ready"]),
        row("few Receives", |load| not_ready(load, 5), &["receiver-not-ready"]),
        row("four Receives for eight calls", |load| takes_half(load, 1500), &["receiver-not-ready"]),
        row("slow server", |_| transcode::capture("delays"), &["server-slow"]),
        row("slow server, one call", |load| slow_server(load, 1, 600 * MILLISECOND), &["server-slow"]),
        row("slow server, most calls", |load| slow_server(load, 100, 50 * MILLISECOND), &["server-slow"]),
        row("slow network", |_| transcode::capture("network_requester"), &["distance"]),
        row("slow network, iWARP", |_| transcode::capture("iwarp_network_requester"), &["distance", "loss"]),
        row("distant server", |load| distant_server(load, 200), &["distance"]),
        row("distant and slow server", |load| distant_server(load, 60 * MILLISECOND), &["server-slow", "distance"]),
        row("one slow client's server", |load| one_bad_client(load, false), &["server-slow"]),
        row("recall answered late", |load| recalls::answered_late(load, true), &["delegation-recall"]),
        row("recall answered late, no DELEGRETURN", |load| recalls::answered_late(load, false), &["delegation-recall"]),
        row("delegation returned late", recalls::returned_late, &["delegation-recall"]),
        row("recall never answered", recalls::never_answered, &["delegation-recall"]),
        row(
            "refused until a delegation is returned",
            |_| promises::delayed_by_delegation(true),
            &["delegation-recall"],
        ),
        row("grace period", |_| promises::in_grace(), &["server-grace"]),
        row("grace period, two clients", |_| promises::both_in_grace(), &["server-grace"]),
        row("delayed", |_| promises::delayed(b"a.txt"), &["refused-for-now"]),
        row("delayed, another file", |_| promises::delayed(b"b.txt"), &["refused-for-now"]),
        row("COPY without an end", |_| promises::copy_unfinished(false), &["copy-unfinished"]),
        row("COPY without an end, back channel", |_| promises::copy_unfinished(true), &["copy-unfinished"]),
        row("locked", |_| promises::locked(2), &["lock-held"]),
        row("locked for long", |_| promises::locked(20), &["lock-held"]),
        row("slow client", |load| slow_client(load, 20, 50 * MILLISECOND), &["client-slow"]),
        row("slow client, one call", |load| slow_client(load, 1, 900 * MILLISECOND), &["client-slow"]),
        row("client's data pauses", |_| Transfers::by(Client).paused().records(), &["slow-transfer"]),
        row("server's data pauses", |_| Transfers::by(Server).paused().records(), &["slow-transfer"]),
        row(
            "congestion notifications",
            |_| Transfers::by(Server).congested(CongestionSign::Notification).records(),
            &["congestion"],
        ),
        row(
            "packets marked by a switch",
            |_| Transfers::by(Client).congested(CongestionSign::Mark).records(),
            &["congestion"],
        ),
        row("client's window closed", |_| IwarpTransfers::by(Server, true).records(), &["window"]),
        row("server's window closed", |_| IwarpTransfers::by(Client, true).records(), &["window"]),
        row("full link, READ", |_| Transfers::by(Server).sharing().records(), &["link-full"]),
        row("full link, WRITE", |_| Transfers::by(Client).sharing().records(), &["link-full"]),
        row("one credit", |load| few_credits(load, 1, 100), &["credits"]),
        row("four credits", |load| few_credits(load, 4, 200), &["credits"]),
        row("few slots", |_| frames(&sessions::slots(mount::Carrier::Roce).mount.packets()), &["slots"]),
        row("few slots, iWARP", |_| frames(&sessions::slots(mount::Carrier::Iwarp).mount.packets()), &["slots"]),
        row(
            "no callback path, file system moved",
            |_| frames(&sessions::status(mount::Carrier::Roce).packets()),
            &["session-status"],
        ),
        row(
            "no callback path, file system moved, iWARP",
            |_| frames(&sessions::status(mount::Carrier::Iwarp).packets()),
            &["session-status"],
        ),
        row("small Sends, READ", |load| small_sends(load, false), &["small-sends"]),
        row("small Sends, WRITE", |load| small_sends(load, true), &["small-sends"]),
        row(
            "small Sends, of the client",
            |load| small_sends_of(load, &SENDS_OF_1024, &SENDS_OF_4096),
            &["small-sends"],
        ),
        row("I/O errors", |load| failing(load, 5), &["errors"]),
        row("stale handles", |load| failing(load, 70), &["errors"]),
        row("files that are not there", |load| failing(load, 2), &[]),
        row("bad server", |_| transcode::capture("client_deviations"), &["protocol"]),
        row("bad client", |_| transcode::capture("errors"), &["protocol", "errors"]),
        row("withdrawn memory", |_| transcode::capture("withdrawn"), &["protocol"]),
        row("Send too long", too_long, &["protocol"]),
    ]
}

/// The confusion matrix: each capture has its causes, in their order, and no other.
#[test]
fn every_capture_has_its_causes_and_no_other() {
    let (mut wrong, mut matrix) = (Vec::new(), BTreeMap::new());
    let labelled = labelled();
    for (name, frames, expected) in &labelled {
        let found = causes(&diagnose(frames));
        let label = |causes: &[&'static str]| causes.first().copied().unwrap_or("healthy");
        *matrix.entry((label(expected), label(&found))).or_insert(0) += 1;
        if found != *expected {
            wrong.push(format!("{name}: not {expected:?}\n{}", text(&diagnose(frames))));
        }
    }
    for ((expected, found), count) in &matrix {
        println!("{count:>3}  {expected:<22} {found}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // The tests of kernel traces show these.
    let of_traces = [
        "completion-error",
        "connection-lost",
        "rdma-read-slow",
        "registration",
        "client-queue",
        "server-queue",
        "replies-late",
    ];
    for rule in CAUSES.iter().filter(|rule| !of_traces.contains(&rule.name)) {
        let captures = labelled.iter().filter(|(_, _, expected)| expected.contains(&rule.name)).count();
        assert!(captures > 1, "{}: {captures} captures", rule.name);
    }
}

pub(crate) fn text(diagnosis: &Diagnosis) -> String {
    let mut text = Vec::new();
    diagnosis.write_text(&mut text, false).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn a_diagnosis_is_a_screen_that_opens_in_plain_words() {
    const WORDS_OF_THE_PROTOCOL: [&str; 9] =
        ["RPC", "NAK", "requester", "responder", "credit", "octet", "Send ", "Receive ", "OWNER"];
    for (name, frames, expected) in labelled() {
        let diagnosis = diagnose(&frames);
        let (text, opening) = (text(&diagnosis), diagnosis.opening());
        for line in text.lines().filter(|line| !line.starts_with("   $ ")) {
            assert!(line.chars().count() <= 80, "{name}: {line}");
        }
        let lines = text.lines().count();
        assert!(lines <= 10 + 19 * expected.len(), "{name}: {lines} lines\n{text}");
        assert_eq!(text.matches("   $ rpcrdma ").count(), expected.len(), "{name}");
        assert_eq!(text.contains("Nothing stands out: the median latency is "), expected.is_empty(), "{name}: {text}");
        assert_eq!(opening.is_some(), !expected.is_empty(), "{name}: {opening:?}");
        let opening = opening.unwrap_or_default();
        assert!(!WORDS_OF_THE_PROTOCOL.iter().any(|word| opening.contains(word)), "{name}: {opening}");
    }
}

/// When, effect, who, and the next step.
#[test]
fn the_opening_is_about_the_first_cause() {
    let of = |frames: &[Record]| diagnose(frames).opening();
    let lossy = "From 00:41:03 UTC on, reading was held up for 4.73 s in total: the network lost packets. Ask whoever runs the network.";
    assert_eq!(of(&transcode::capture("nfs41_lossy")).as_deref(), Some(lossy));
    let stuck_server = "From 00:00:01 UTC on, 1 NFS request got no answer for 10.0 s: server 192.0.2.2 did not answer. Look at server 192.0.2.2.";
    assert_eq!(of(&stuck(ALONE, 1).records()).as_deref(), Some(stuck_server));
    assert_eq!(of(&transcode::capture("nfs41")), None);
}

/// 20.0 of 20.2 ms are the way: the server is not slow because of it.
#[test]
fn the_way_is_no_fault_of_an_end() {
    let diagnosis = diagnose(&distant_server(ALONE, 200).records());
    let [cause] = &diagnosis.causes[..] else { panic!("{diagnosis:?}") };
    assert_eq!((cause.owner, cause.owner_address.as_deref(), cause.rpcs), (Some("network"), None, Some(30)));
    assert_eq!((cause.waiting_ns, diagnosis.waiting_ns), (Some(30 * 20_000_000), 30 * 20_200_000));
    let both = diagnose(&distant_server(ALONE, 60 * MILLISECOND).records());
    let times: Vec<_> = both.causes.iter().map(|cause| (cause.owner, cause.waiting_ns)).collect();
    assert_eq!(times, [(Some("server"), Some(30 * 60_000_000)), (Some("network"), Some(30 * 20_000_000))]);
    assert!(!text(&both).contains("This includes the round trip"));
}

/// Two captures merged by time, as mergecap does; those of the second host have a clock that is so many microseconds ahead of what it was.
fn merged(names: [&str; 2], ahead: i64) -> Vec<Record> {
    let [mut first, mut second] = names.map(transcode::capture);
    second.iter_mut().for_each(|record| record.time_ns = record.time_ns.wrapping_add_signed(ahead * 1000));
    first.append(&mut second);
    first.sort_by_key(|record| record.time_ns);
    first
}

/// The clocks of the two machines were 790.7 ms apart (RoCE), and equal (iWARP). Alone, the captures say how long each end saw the RPCs
/// take.
#[test]
fn a_file_of_both_ends_says_what_each_end_saw() {
    let within = |time: u64, expected: u64| time.abs_diff(expected) <= expected / 50;
    for (carrier, clocks) in [("", &[0, 790_700, 1_600_000][..]), ("iwarp_", &[0])] {
        let names = [format!("{carrier}network_requester"), format!("{carrier}network_responder")];
        let alone = names.each_ref().map(|name| diagnose(&transcode::capture(name)).latency.unwrap().p50_ns);
        for &ahead in clocks {
            let diagnosis = diagnose(&merged([&names[0], &names[1]], ahead));
            let Some(both) = diagnosis.both_ends else { panic!("{carrier} {ahead}: {}", text(&diagnosis)) };
            let seen = [both.requester.p50_ns, both.responder.p50_ns];
            assert!(within(seen[0], alone[0]) && within(seen[1], alone[1]), "{carrier} {ahead}: {seen:?} {alone:?}");
            assert_eq!(diagnosis.latency.map(|latency| latency.p50_ns), Some(seen[0]), "{carrier} {ahead}");
            assert!(text(&diagnosis).contains("captured at both ends"), "{carrier} {ahead}");
            let found = causes(&diagnosis);
            assert_eq!(found.contains(&"loss"), carrier == "iwarp_", "{carrier} {ahead}: {}", text(&diagnosis));
            // Over iWARP, the ways took less than 10 ms together.
            assert_eq!(found.contains(&"distance"), carrier.is_empty(), "{carrier} {ahead}: {found:?}");
            assert!(!found.contains(&"mirror-doubled"), "{carrier} {ahead}: {found:?}");
        }
    }
}

/// The latencies of single RPCs are those of the packets that come first.
#[test]
fn commands_say_at_which_of_two_ends_latencies_are() {
    let path = env::temp_dir().join(format!("rpcrdma-both-{}.pcap", process::id()));
    for (ahead, whose) in [
        (0, "those at the server"),
        (790_700, "from the call at the client to the reply at the server"),
        (1_600_000, "those at the client"),
    ] {
        let frames = merged(["network_requester", "network_responder"], ahead);
        fs::write(&path, transcode::write_pcap(&frames, Pcap { nanoseconds: true, ..Pcap::default() })).unwrap();
        for command in ["transactions", "slow", "top"] {
            let output = run(&[command, path.to_str().unwrap()]);
            let said = crate::command::stderr(&output);
            let words = format!("1 connection captured at both ends: latencies are {whose}");
            assert!(said.contains(&words), "{command} {ahead}: {said}");
        }
        let alone = run(&["slow", transcode::path("network_requester").to_str().unwrap()]);
        assert!(!crate::command::stderr(&alone).contains("both ends"));
    }
    fs::remove_file(&path).unwrap();
}

/// Copies that a mirror held back come equally late in both directions.
#[test]
fn a_mirror_that_doubles_is_not_both_ends() {
    for name in ["nfs41", "nfs3", "iwarp_nfs41", "network_requester", "network_responder"] {
        for delay in [50_000, 3_000_000, 20_000_000] {
            let mirror = Mirror { delay, kind: MirrorKind::Same };
            let twice = transcode::doubling(&transcode::capture(name), mirror, |_| true);
            let diagnosis = diagnose(&twice.into_iter().map(|(_, record)| record).collect::<Vec<_>>());
            assert!(diagnosis.both_ends.is_none(), "{name} {delay}: {:?}", diagnosis.both_ends);
        }
    }
}

#[test]
fn one_bad_client_of_several_is_named() {
    for (is_lossy, cause) in [(true, "loss"), (false, "server-slow")] {
        let diagnosis = diagnose(&one_bad_client(ALONE, is_lossy).records());
        let [found] = &diagnosis.causes[..] else { panic!("{diagnosis:?}") };
        assert_eq!((found.cause, found.client.as_deref()), (cause, Some("192.0.2.13")));
        assert_eq!((found.server.as_deref(), found.operation.as_deref()), (None, Some("NFSv3 NULL")));
        // 20 calls of 700.1 ms, against 240 of 0.2 ms.
        let share = found.share.unwrap();
        assert!((0.99..1.0).contains(&share), "{share}");
        assert_eq!((found.frames.len(), found.examples.len(), found.rpcs), (8, 8, Some(20)));
        assert_eq!(found.examples_are().as_deref(), Some("Frames, 8 of 20 RPCs, longest wait first"));
    }
    let lossy = diagnose(&one_bad_client(ALONE, true).records());
    assert_eq!(lossy.causes[0].command, "rpcrdma events --client 192.0.2.13 FILE");
}

#[test]
fn shares_are_parts_of_all_waiting() {
    // 50 calls of 0.2 ms, and one that waits for ten seconds.
    let diagnosis = diagnose(&stuck(ALONE, 1).records());
    assert_eq!(diagnosis.waiting_ns, 50 * 200_000 + 10 * SECOND * 1000);
    let cause = &diagnosis.causes[0];
    assert_eq!(
        (cause.waiting_ns, cause.owner, cause.owner_address.as_deref()),
        (Some(10 * SECOND * 1000), Some("server"), Some("192.0.2.2"))
    );
    assert_eq!(diagnosis.without_reply, 1);
}

/// Asserts that the evidence of a cause has each of these sentences.
fn assert_evidence(diagnosis: &Diagnosis, cause: &str, sentences: &[&str]) {
    let found = diagnosis.causes.iter().find(|found| found.cause == cause);
    let evidence = &found.unwrap_or_else(|| panic!("no {cause}: {}", text(diagnosis))).evidence;
    for sentence in sentences {
        assert!(evidence.iter().any(|found| found == sentence), "{sentence}\n{evidence:#?}");
    }
}

#[test]
fn a_refused_reply_blames_the_client_without_receive_buffer() {
    let diagnosis = diagnose(&reply_refused(ALONE, 3, true).records());
    assert_evidence(
        &diagnosis,
        "reply-refused",
        &[
            "The client's adapter had no receive buffer for the reply, and refused it. The adapter sent 'receiver not ready' (RNR NAK) \
             3 times. A client has to post a receive buffer (Receive) for each call before it sends the call.",
            "The server 192.0.2.2 ended the connection 3.00 s after the call (DREQ in frame 212).",
        ],
    );
    let cause = &diagnosis.causes[0];
    assert_eq!((cause.owner, cause.owner_address.as_deref()), (Some("client"), Some("192.0.2.10")));
    assert!(
        diagnosis.causes[1].evidence[0].starts_with("reply-not-ready, by 192.0.2.10, once"),
        "{}",
        text(&diagnosis)
    );
}

#[test]
fn a_silent_server_is_named_with_its_later_rejections() {
    let diagnosis = diagnose(&server_stopped(ALONE, Some(8)).records());
    let ended = "The server 192.0.2.2 ended the connection 3.00 ms after the call (DREQ in frame 206).";
    assert_evidence(
        &diagnosis,
        "server-silent",
        &[
            "The server's adapter received the call; the server did not answer.",
            ended,
            "Since then the server has rejected 5 connection requests: nothing listens on the port.",
        ],
    );
    assert_evidence(
        &diagnosis,
        "server-not-listening",
        &[
            "192.0.2.2 rejected 5 connection requests of 192.0.2.10 to port 20049 within 12.0 s.",
            "Why: nothing listens on the port (REJ, reason 8).",
            "Something listened there before: the service was stopped, or crashed.",
        ],
    );
    assert_eq!(diagnosis.causes[0].owner_address.as_deref(), Some("192.0.2.2"));
    let diagnosis = diagnose(&server_stopped(ALONE, None).records());
    assert_evidence(
        &diagnosis,
        "server-silent",
        &[ended, "Since then the client has sent 5 connection requests, and got no answer."],
    );
    let unanswered = "192.0.2.10 sent 192.0.2.2 5 connection requests to port 20049 within 12.0 s, and got no answer, up to the end of the \
         capture.";
    assert_evidence(&diagnosis, "connect-unanswered", &[unanswered]);
}

/// The client connects again at once, or after two seconds in which it was rejected.
#[test]
fn a_client_that_could_connect_again_is_no_lasting_cause() {
    for (rejections, expected) in
        [(0, &["server-silent"][..]), (1, &["server-silent"]), (2, &["server-silent", "connection-refused"])]
    {
        let mut scene = Scene::healthy();
        scene.call(0, SECOND);
        let end = scene.wires[0].disconnect(Server);
        scene.at(SECOND + 3 * MILLISECOND, &[end]);
        ask(&mut scene, 2 * SECOND, rejections, Some(10));
        scene.wires[0].name = 0x3000;
        scene.wires[0].client.queue_pair = 0x600;
        scene.wires[0].server.queue_pair = 0x700;
        let set_up = scene.wires[0].connect();
        scene.at(9 * SECOND, &set_up);
        let xid = scene.call(0, 10 * SECOND);
        scene.answer(0, xid, 10 * SECOND + 100);
        let diagnosis = diagnose(&scene.records());
        assert_eq!(causes(&diagnosis), expected, "{rejections}: {}", text(&diagnosis));
        let connected =
            diagnosis.causes[0].evidence.iter().any(|line| line.starts_with("The client connected again 8.00 s later"));
        assert!(connected, "{}", text(&diagnosis));
    }
}

/// A request that was retransmitted and then answered, confirmed or replied to unseen is no unanswered one; one that has waited for less
/// than a second may still be answered.
#[test]
fn a_request_that_may_have_been_answered_is_not_unanswered() {
    let request = |scene: &mut Scene, time: u64| {
        scene.wires[0].name = 0x3000;
        let request = scene.wires[0].request(&[]);
        scene.at(time, &[request]);
    };
    // Retransmitted after two seconds and answered then.
    let mut scene = Scene::new(1, &SENDS_OF_4096);
    scene.packets.clear();
    request(&mut scene, 0);
    request(&mut scene, 2 * SECOND);
    let reply = scene.wires[0].reply(&[]);
    scene.at(2 * SECOND + 50, &[reply]);
    scene.rpcs(0, 20, (3 * SECOND, MILLISECOND), 100);
    scene.until(10 * SECOND);
    assert!(causes(&diagnose(&scene.records())).is_empty());
    // RTU: the capture lacks the reply.
    let mut scene = Scene::healthy();
    scene.wires[0].client.queue_pair = 0x900;
    request(&mut scene, SECOND);
    let ready = scene.wires[0].ready();
    scene.at(SECOND + 50, &[ready]);
    scene.until(10 * SECOND);
    assert!(causes(&diagnose(&scene.records())).is_empty());
    // 0.9 s are too short.
    let mut scene = Scene::healthy();
    scene.wires[0].client.queue_pair = 0x900;
    request(&mut scene, SECOND);
    scene.until(SECOND + 900 * MILLISECOND);
    assert!(causes(&diagnose(&scene.records())).is_empty());
    // MRA: the server has it, and has not decided.
    let mut scene = Scene::healthy();
    scene.wires[0].client.queue_pair = 0x900;
    request(&mut scene, SECOND);
    let receipt = scene.wires[0].receipt();
    scene.at(SECOND + 50, &[receipt]);
    scene.until(10 * SECOND);
    let diagnosis = diagnose(&scene.records());
    assert_eq!(causes(&diagnosis), ["connect-unanswered"]);
    assert_eq!(diagnosis.causes[0].owner, Some("server"));
}

/// The server's address moves to another adapter at 5 s, as gratuitous ARP says, and the client's requests get no answer.
#[test]
fn a_moved_address_is_named_if_nothing_is_answered() {
    let mut scene = Scene::healthy();
    let call = scene.send(0, Client, &message(MSG, 7, &Lists::default(), &null(7)));
    for time in 0..4 {
        scene.at(SECOND + time * SECOND, &call);
    }
    let end = scene.wires[0].disconnect(Client);
    scene.at(6 * SECOND, &[end]);
    ask(&mut scene, 10 * SECOND, 5, None);
    let mut frames = on_ethernet(scene.records());
    let ethernet = |host: u8| [2, 0, 0, 0, 0, host];
    let host = [192, 0, 2, 2];
    let arp =
        [&[0xff; 6][..], &ethernet(0xee), &[8, 6, 0, 1, 8, 0, 6, 4, 0, 1], &ethernet(0xee), &host, &[0; 6], &host];
    let (data, place) = (arp.concat(), frames.len() - 6);
    let (time_ns, length) = (frames[place].time_ns - SECOND * 1000, data.len() as u32);
    frames.insert(place, Record { time_ns, link: 1, data, length });
    let diagnosis = diagnose(&frames);
    assert_eq!(causes(&diagnosis), ["connect-unanswered", "server-unreachable"]);
    let moved = "192.0.2.2 moved to another MAC address at 00:00:05 UTC: 02:00:00:00:00:ee, before 02:00:00:00:00:02 \
                 (announced in frame 208).";
    for cause in ["connect-unanswered", "server-unreachable"] {
        assert_evidence(&diagnosis, cause, &[moved]);
    }
}

#[test]
fn a_brief_wait_at_the_end_is_no_cause() {
    let mut scene = Scene::healthy();
    scene.call(0, SECOND);
    scene.until(SECOND + 900 * MILLISECOND);
    let diagnosis = diagnose(&scene.records());
    assert!(diagnosis.causes.is_empty(), "{}", text(&diagnosis));
    assert_eq!(diagnosis.limits, ["1 call without a reply, which had waited for less than 1.00 s at the end."]);
}

#[test]
fn a_server_that_answered_as_late_before_may_still_answer() {
    for (age, expected) in [(5, &[][..]), (7, &["server-silent"])] {
        let mut scene = Scene::healthy();
        scene.rpcs(0, 1, (SECOND, 0), 3 * SECOND);
        scene.call(0, 5 * SECOND);
        scene.until((5 + age) * SECOND);
        let found = diagnose(&scene.records());
        let found: Vec<_> = causes(&found).into_iter().filter(|cause| *cause != "server-slow").collect();
        assert_eq!(found, expected, "{age}");
    }
}

/// The capture begins with frame 1200 of nfs41_lossy: two READs that are answered in frames 1498 and 1499 wait since 1169 and 1173.
#[test]
fn loss_delays_rpcs_called_before_the_capture() {
    let frames = transcode::without_first(&transcode::capture("nfs41_lossy"), 1199);
    let diagnosis = diagnose(&frames);
    assert_eq!(causes(&diagnosis), ["loss", "joined-late"], "{}", text(&diagnosis));
    let loss = &diagnosis.causes[0];
    assert_eq!((loss.owner, loss.rpcs), (Some("network"), Some(2)));
    // The first dozen packets are the rest of an RDMA Write.
    let since = loss.since_ns.unwrap() - frames[0].time_ns;
    assert!(since < 50_000, "{since}");
    // Both waited for 2.406 s of the capture, nearly all of it for a time-out of 2.384 s.
    let (waited, share) = (loss.waiting_ns.unwrap(), loss.share.unwrap());
    assert!((2 * 2_384_000_000..2 * 2_406_500_000).contains(&waited), "{waited}");
    assert!((0.9..1.0).contains(&share), "{share}");
    assert_says(
        &loss.evidence.join("\n"),
        &[
            "The longest delay: an unknown call in frame 300, which took 2.41 s or more: 1 time-out (2383.977 ms, frame 247)",
        ],
    );
}

/// The capture begins with frame 1370 of nfs41_lossy, after all losses that the same two READs wait for: it holds the packets that are
/// retransmitted, and not those that were lost. Their replies come three times, and only after the time-out does the client accept them.
#[test]
fn replies_to_earlier_calls_arrive_after_missing_packets() {
    let diagnosis = diagnose(&transcode::without_first(&transcode::capture("nfs41_lossy"), 1369));
    assert_eq!(causes(&diagnosis), ["loss", "joined-late"], "{}", text(&diagnosis));
    let loss = &diagnosis.causes[0];
    assert_eq!((loss.owner, &loss.frames[..]), (Some("network"), &[129, 130][..]));
    assert!((4_760_000_000..4_800_000_000).contains(&loss.waiting_ns.unwrap()), "{:?}", loss.waiting_ns);
    let said = diagnosis.causes.iter().flat_map(|cause| cause.evidence.clone()).collect::<Vec<_>>().join(" ");
    assert_says(
        &said,
        &[
            "1 time-out (2383.977 ms, frame 77), 1 NAK",
            "1 loss, and 1 packet out of order or lost (1 NAK, 1 time-out); 61 packets were retransmitted",
            "One of them had waited for at least 2.39 s when its reply came in frame 130.",
        ],
    );
}

/// Nothing of the RPC but its retransmitted data is in the capture, and 50 others are well.
#[test]
fn retransmissions_for_earlier_calls_are_an_untimed_cause() {
    let mut scene = Scene::healthy();
    let data = scene.wires[0].write(Server, (7, 0), &octets(7, 5000));
    scene.at(2 * SECOND, &data);
    scene.at(2 * SECOND + 700 * MILLISECOND, &data);
    scene.rpcs(0, 50, (5 * SECOND, 10 * MILLISECOND), 200);
    let frames = scene.records();
    let first = frames.iter().position(|frame| frame.time_ns >= frames[0].time_ns + SECOND * 1000).unwrap();
    let diagnosis = diagnose(&transcode::without_first(&frames, first));
    assert_eq!(causes(&diagnosis), ["loss"], "{}", text(&diagnosis));
    let again = "5 packets were retransmitted for calls that the capture does not show: how long these were delayed is unknown.";
    assert_evidence(&diagnosis, "loss", &[again]);
    assert_eq!((diagnosis.causes[0].rpcs, diagnosis.causes[0].frames.len()), (None, 5));
}

/// Frames 1360 to 1370 of nfs41_lossy are parts of two RDMA Writes.
#[test]
fn a_connection_older_than_the_capture_may_carry_rpcs() {
    let mut frames = transcode::without_first(&transcode::capture("nfs41_lossy"), 1359);
    frames.truncate(11);
    let diagnosis = diagnose(&frames);
    assert_eq!((causes(&diagnosis), diagnosis.rpcs), (vec!["nothing-found"], 0));
    let why = "Why: its connection was set up before the capture, so what it carries is not known: capture for longer, or from \
               before the mount.";
    assert_evidence(&diagnosis, "nothing-found", &[why]);
}

/// The call of frame 1169 is before the capture, and its reply is accepted in frame 1499: 2.406 s after the first operation of the capture.
#[test]
fn an_rpc_without_its_call_has_a_least_latency() {
    let path = env::temp_dir().join(format!("rpcrdma-joined-{}.pcap", process::id()));
    let frames = transcode::without_first(&transcode::capture("nfs41_lossy"), 1199);
    // The first dozen packets are the rest of an RDMA Write.
    let least = frames[299].time_ns - frames[12].time_ns;
    fs::write(&path, transcode::write_pcap(&frames, Pcap::default())).unwrap();
    let output = |options: &[&str]| run(&[&["transactions", path.to_str().unwrap()][..], options].concat());
    let (table, records, csv) = (output(&[]), output(&["--json"]), output(&["--csv"]));
    fs::remove_file(&path).unwrap();
    let records: Vec<serde_json::Value> =
        stdout(&records).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |record: &&serde_json::Value| record["reply_frame"] == 300 && record["type"] == "transaction";
    let record = records.iter().find(of).unwrap();
    assert_eq!((&record["latency_ns"], &record["latency_at_least_ns"]), (&serde_json::Value::Null, &least.into()));
    let others = records.iter().filter(|record| record["call_frame"].is_u64());
    assert!(others.clone().count() == 20 && others.clone().all(|record| record["latency_at_least_ns"].is_null()));
    let shown = format!(" > {}.{:03} ", least / 1_000_000, least / 1000 % 1000);
    let row = stdout(&table).lines().find(|line| line.contains(" 300 ")).unwrap();
    assert!(row.contains(&shown), "{row}");
    assert!(stdout(&csv).lines().any(|line| line.contains(&format!(",,{least},"))), "{}", stdout(&csv));
}

/// Capture without the setup and the call of an RPC that takes 3 s, of which the server sends packets again for 700 ms if there is loss.
fn joined_during_an_rpc(is_lossy: bool) -> Vec<Record> {
    let mut scene = Scene::healthy();
    let lists = Lists::writes(&[&[(7, 0, 1000)]]);
    let (xid, xid_before) = (scene.next_xid(), scene.call(0, SECOND));
    let call = scene.send(0, Client, &message(MSG, xid, &lists, &read3(xid, 1000)));
    scene.at(SECOND + 10, &call);
    scene.answer(0, xid_before, SECOND + 100);
    let data = scene.wires[0].write(Server, (7, 0), &octets(7, 1000));
    scene.at(2 * SECOND, &data);
    if is_lossy {
        scene.at(2 * SECOND + 700 * MILLISECOND, &data);
    }
    let reply = scene.send(0, Server, &message(MSG, xid, &lists, &reply(xid, &words(&[0, 0, 1000, 1, 1000]))));
    scene.at(4 * SECOND + 10, &reply);
    scene.acknowledge(0, Client, 4 * SECOND + 20);
    scene.rpcs(0, 50, (5 * SECOND, 10 * MILLISECOND), 200);
    let frames = scene.records();
    let first = frames.iter().position(|frame| frame.time_ns >= frames[0].time_ns + SECOND * 1000 + 50_000).unwrap();
    transcode::without_first(&frames, first)
}

#[test]
fn an_rpc_without_its_call_waits_since_the_first_frame() {
    for (is_lossy, expected) in [(false, &["joined-late"][..]), (true, &["loss", "joined-late"])] {
        let frames = joined_during_an_rpc(is_lossy);
        let diagnosis = diagnose(&frames);
        assert_eq!(causes(&diagnosis), expected, "{}", text(&diagnosis));
        // From 1.0001 s to 4.00001 s, and 50 of 0.2 ms. The reply at the beginning took no time of the capture.
        assert_eq!(diagnosis.waiting_ns, 2_999_910_000 + 50 * 200_000);
        let loss = is_lossy.then(|| diagnosis.causes[0].waiting_ns.unwrap());
        assert_eq!(loss, is_lossy.then_some(700_000_000));
    }
}

/// The reply is refused when it is captured first, and accepted three seconds later.
#[test]
fn an_rpc_without_its_call_waits_until_its_reply_arrives() {
    let mut scene = Scene::healthy();
    let [before, xid] = [0, 10].map(|time| scene.call(0, SECOND + time));
    scene.answer(0, before, SECOND + 100);
    let number = scene.wires[0].server.next;
    let reply = unsent_replies(&mut scene, &[xid]);
    let refusal = scene.wires[0].nak(Client, number);
    scene.at(2 * SECOND, &reply);
    scene.at(2 * SECOND + 20, &[refusal]);
    scene.at(5 * SECOND, &reply);
    scene.acknowledge(0, Client, 5 * SECOND + 10);
    scene.rpcs(0, 50, (6 * SECOND, 10 * MILLISECOND), 200);
    let frames = scene.records();
    let first = frames.iter().position(|frame| frame.time_ns >= frames[0].time_ns + SECOND * 1000 + 50_000).unwrap();
    let diagnosis = diagnose(&transcode::without_first(&frames, first));
    assert_eq!(causes(&diagnosis), ["joined-late"], "{}", text(&diagnosis));
    // From 1.0001 s to 5 s, and 50 RPCs of 0.2 ms.
    assert_eq!(diagnosis.waiting_ns, 3_999_900_000 + 50 * 200_000, "{}", text(&diagnosis));
    let least = "One of them had waited for at least 4.00 s when its reply came in frame 5.";
    assert_says(&diagnosis.causes[0].evidence.join(" "), &[least]);
}

/// The call may be among the packets that the capture lacks, so it is not known since when the RPC waits.
#[test]
fn a_possibly_missed_call_leaves_no_least_wait() {
    let mut scene = Scene::healthy();
    let xid = scene.call(0, 2 * SECOND);
    scene.answer(0, xid, 3 * SECOND);
    scene.rpcs(0, 50, (5 * SECOND, 10 * MILLISECOND), 200);
    let mut frames = transcode::without_first(&scene.records(), 3);
    let at = |time: u64| 1_763_683_200_000_000_000 + time * 1000;
    frames.retain(|frame| frame.time_ns != at(2 * SECOND));
    let diagnosis = diagnose(&frames);
    assert_eq!(diagnosis.without_call, 1);
    assert_eq!(diagnosis.waiting_ns, 100 * 200_000, "{}", text(&diagnosis));
}

/// 256 octets of each packet are what GUIDE.md recommends.
#[test]
fn captures_of_256_octets_per_packet_show_the_same_causes() {
    let mut wrong = Vec::new();
    // Checksums need whole packets, private data is behind the first 256 octets, and some requests of a bad client have longer headers.
    let needs_more = ["cut", "wrong checksums", "small Sends", "bad client"];
    for (name, frames, _) in labelled() {
        if needs_more.iter().any(|start| name.starts_with(start)) {
            continue;
        }
        let (whole, cut) = (diagnose(&frames), diagnose(&transcode::cut(&frames, 256)));
        let cut_frames = frames.iter().filter(|frame| frame.data.len() > 256).count();
        // What a message breaks behind its first 256 octets is not in the capture.
        let of_whole: Vec<_> = causes(&whole).into_iter().filter(|cause| *cause != "protocol").collect();
        let of_cut: Vec<_> = causes(&cut).into_iter().filter(|cause| *cause != "protocol").collect();
        let says_limit = cut.limits.iter().any(|limit| limit.contains("cut by the capture"));
        if of_whole != of_cut || says_limit != (cut_frames > 0 && whole.rpcs > 0) {
            wrong.push(format!("{name}: not {of_whole:?}\n{}", text(&cut)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Three clients of a server. Of the first, the server acknowledges each call after 400 microseconds and the client each reply after 20:
/// the capture was made at that client. Nothing shows where it was made for the others.
#[test]
fn the_capture_point_names_the_connections_that_show_it() {
    let mut scene = Scene::new(3, &SENDS_OF_4096);
    for number in 0..12 {
        let (time, xid) = (SECOND + number * 20 * MILLISECOND, scene.next_xid());
        let call = scene.send(0, Client, &message(MSG, xid, &Lists::default(), &null(xid)));
        scene.at(time, &[asking(call[0].clone())]);
        scene.acknowledge(0, Server, time + 400);
        let reply = scene.send(0, Server, &message(MSG, xid, &Lists::default(), &reply(xid, &[])));
        scene.at(time + MILLISECOND, &[asking(reply[0].clone())]);
        scene.acknowledge(0, Client, time + MILLISECOND + 20);
    }
    scene.rpcs(1, 3, (SECOND, MILLISECOND), 200);
    scene.rpcs(2, 3, (SECOND, MILLISECOND), 200);
    let diagnosis = diagnose(&scene.records());
    assert_eq!((&diagnosis.captured_at[..], diagnosis.captured_at_connections), (&["client"][..], 1));
    let words = text(&diagnosis).replace('\n', " ");
    assert!(words.contains("3 connections, captured at the client (known of 1 of 3 connections)"), "{words}");
    // Of all connections.
    let words = text(&diagnose(&transcode::capture("network_requester"))).replace('\n', " ");
    assert!(words.contains("1 connection, captured at the client ") && !words.contains("known of"), "{words}");
}

/// An end that owns a cause is in the record if the end is the only one of its role, and if the evidence names no other.
#[test]
fn an_end_that_evidence_names_is_in_the_record() {
    let mut captures: Vec<(String, Vec<Record>)> =
        transcode::shipped().into_iter().map(|name| (name.clone(), transcode::capture(&name))).collect();
    captures.extend(labelled().into_iter().map(|(name, frames, _)| (name.to_owned(), frames)));
    let (mut wrong, mut named) = (Vec::new(), BTreeSet::new());
    for (name, frames) in captures {
        let diagnosis = diagnose(&frames);
        for cause in diagnosis.causes.iter().filter(|cause| matches!(cause.owner, Some("client" | "server"))) {
            let only = if cause.owner == Some("client") { &diagnosis.client } else { &diagnosis.server };
            let evidence = cause.evidence.join(" ");
            let words = evidence.split([' ', ',', ';', ':']).map(|word| word.trim_end_matches('.'));
            let ends: BTreeSet<&str> = words.filter(|word| word.parse::<std::net::IpAddr>().is_ok()).collect();
            // A sentence about the end of a connection names the end that ended it.
            let is_right = match cause.owner_address.as_deref() {
                Some(address) => {
                    ends.len() != 1 || ends.contains(address) || evidence.contains(" ended the connection ")
                }
                None => ends.len() != 1 && only.is_none(),
            };
            named.extend(cause.owner_address.is_some().then_some(cause.cause));
            if !is_right {
                wrong.push(format!("{name}: {:?} {:?} {evidence}", cause.cause, cause.owner_address));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let of_ends = [
        "client-silent",
        "client-slow",
        "connection-refused",
        "copy-unfinished",
        "credits",
        "delegation-recall",
        "errors",
        "flapping",
        "outlier",
        "protocol",
        "receiver-not-ready",
        "refused-for-now",
        "reply-refused",
        "retried",
        "server-grace",
        "server-not-listening",
        "server-silent",
        "server-slow",
        "slots",
        "slow-transfer",
        "small-sends",
        "window",
        "wrong-checksum",
    ];
    assert_eq!(named.into_iter().collect::<Vec<_>>(), of_ends);
}

#[test]
fn small_sends_are_of_the_end_that_announced_them() {
    for (client, server, owner, address) in [
        (SENDS_OF_1024, SENDS_OF_4096, Some("client"), Some("192.0.2.10")),
        (SENDS_OF_4096, SENDS_OF_1024, Some("server"), Some("192.0.2.2")),
        (SENDS_OF_1024, SENDS_OF_1024, None, None),
    ] {
        let diagnosis = diagnose(&small_sends_of(ALONE, &client, &server).records());
        let [cause] = &diagnosis.causes[..] else { panic!("{}", text(&diagnosis)) };
        assert_eq!((cause.cause, cause.owner, cause.owner_address.as_deref()), ("small-sends", owner, address));
        let by = address.map_or(" bytes. ".to_owned(), |address| format!(" bytes, as {address} announced. "));
        assert!(cause.evidence[0].contains(&by), "{:?}", cause.evidence);
    }
}

/// In a capture without RPCs no other field names the ends.
#[test]
fn the_ends_of_connection_requests_are_in_the_record() {
    for (reason, owner) in [(Some(8), Some("192.0.2.2")), (None, None)] {
        let diagnosis = diagnose(&requests_alone(20049, reason));
        let cause = &diagnosis.causes[0];
        let ends = (cause.client.as_deref(), cause.server.as_deref());
        assert_eq!((ends, cause.owner_address.as_deref()), ((Some("192.0.2.10"), Some("192.0.2.2")), owner));
    }
}

/// The refused call is the only one: what the server takes at most cannot be seen.
#[test]
fn a_server_that_refuses_the_first_call_posted_no_receive() {
    let evidence = evidence(&not_ready(ALONE, 50).records());
    let words = "This end had granted 32 credits, and refused calls although no other call waited: no Receive was posted at all, \
                 so this end posts Receives too late.";
    assert!(evidence.contains(words), "{evidence}");
}

/// Causes of shipped captures that are cut to 256 octets of each frame, where these differ from the causes of the whole.
const CUT_DIFFERS: [(&str, &[&str]); 6] = [
    // The header of a call ends behind its first 256 octets, so the call does not show its RPC: that is asked for.
    ("errors", &["protocol", "cut", "errors"]),
    // The checksum is at the end of a packet.
    ("situations/call_wrong_icrc", &["server-unreachable"]),
    ("situations/reply_wrong_icrc", &["client-unreachable"]),
    // Inline thresholds are in private data, which ends at octet 270 of its frame.
    ("situations/read_again_after_later_responses", &["loss", "protocol"]),
    ("situations/reply_behind_write_refused", &["loss"]),
    ("situations/reply_provided_and_read", &[]),
];

#[test]
fn shipped_captures_of_256_octets_show_the_same_causes() {
    let (mut wrong, mut differ) = (Vec::new(), Vec::new());
    for name in transcode::shipped() {
        let frames = transcode::capture(&name);
        let (whole, cut) = (diagnose(&frames), diagnose(&transcode::cut(&frames, 256)));
        let expected = CUT_DIFFERS.iter().find(|(differs, _)| *differs == name).map(|(_, causes)| causes.to_vec());
        differ.extend(expected.is_some().then(|| name.clone()));
        let has_cut = frames.iter().any(|frame| frame.data.len() > 256);
        let says = |words: &str| cut.limits.iter().any(|limit| limit.contains(words));
        let says_limit = says("checksums of these") == (has_cut && whole.connections > 0);
        // Where inline thresholds are not known, that is said.
        let is_silent = causes(&whole).contains(&"small-sends") && !says("too small ones are not found");
        if causes(&cut) != expected.unwrap_or_else(|| causes(&whole)) || !says_limit || is_silent {
            wrong.push(format!("{name}: {:?}\n{}", causes(&whole), text(&cut)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(differ.len(), CUT_DIFFERS.len(), "{differ:?}");
}

/// A cut changes the exit status only where it hides RPCs, or findings that rest on what it takes away.
#[test]
fn exit_statuses_stay_with_256_octets_per_packet() {
    let path = env::temp_dir().join(format!("rpcrdma-256-{}.pcap", process::id()));
    for name in ["nfs3", "nfs40", "nfs41", "nfs41_lossy", "nfs41_krb5", "hangs", "iwarp_nfs41", "same_xid", "errors"] {
        let frames = transcode::cut(&transcode::capture(name), 256);
        fs::write(&path, transcode::write_pcap(&frames, Pcap::default())).unwrap();
        for command in ["diagnose", "transactions", "pending", "slow", "top", "stats", "events", "decode"] {
            let [whole, cut] = [&transcode::path(name), &path].map(|path| run(&[command, path.to_str().unwrap()]));
            let hides_rpcs = name == "errors" && command != "diagnose";
            let expected = if hides_rpcs { Some(1) } else { whole.status.code() };
            assert_eq!(cut.status.code(), expected, "{name} {command}: {}", String::from_utf8_lossy(&cut.stderr));
        }
    }
    fs::remove_file(&path).unwrap();
}

/// Of calls with long headers, 256 octets are too few, so that advice is no use.
#[test]
fn the_advice_about_a_cut_exceeds_what_was_captured() {
    let frames = transcode::capture("errors");
    for (octets, advice) in
        [(100, "at least 256 bytes of each packet (tcpdump -s 256)"), (256, "whole packets (tcpdump -s 0)")]
    {
        let diagnosis = diagnose(&transcode::cut(&frames, octets));
        let cut = diagnosis.causes.iter().find(|cause| cause.cause == "cut").unwrap();
        assert!(cut.evidence[0].contains(advice), "{octets}: {:?}", cut.evidence);
    }
}

/// A call and a callback wait at the end, for different ends.
#[test]
fn a_cause_record_names_the_end_with_most_time() {
    let mut scene = Scene::healthy();
    scene.call(0, SECOND);
    let xid = scene.next_xid();
    let callback = rpc_callback(xid);
    let callback = scene.send(0, Server, &message(MSG, xid, &Lists::default(), &callback));
    scene.at(10 * SECOND, &callback);
    scene.acknowledge(0, Client, 10 * SECOND + 5);
    scene.until(12 * SECOND);
    let diagnosis = diagnose(&scene.records());
    let silent = diagnosis.causes.iter().find(|cause| cause.cause == "server-silent").unwrap();
    // 11 of 13 seconds are those of the server.
    assert_eq!(silent.owner_address.as_deref(), Some("192.0.2.2"), "{}", text(&diagnosis));
}

fn rpc_callback(xid: u32) -> Vec<u8> {
    crate::synthetic::rpc::call(xid, [0x4000_0000, 1, 0], &[])
}

/// The evidence of the only cause.
fn evidence(frames: &[Record]) -> String {
    let diagnosis = diagnose(frames);
    let [cause] = &diagnosis.causes[..] else { panic!("{}", text(&diagnosis)) };
    cause.evidence.join("\n")
}

#[track_caller]
fn assert_says(evidence: &str, sentences: &[&str]) {
    for sentence in sentences {
        assert!(evidence.contains(sentence), "{sentence}\nis not in\n{evidence}");
    }
}

/// Calls that are retransmitted after these delays, in milliseconds: from 1,000 to 1,700, from 1,200 to 1,900 and from 5,000 to 5,600, each
/// on a connection of its own. So RPCs are delayed for 2,000 in all, and the mount for 900 and 600.
#[test]
fn overlapping_delays_count_once_for_the_mount() {
    let scene = |delays: &[(u64, u64)]| {
        let mut scene = Scene::new(3, &SENDS_OF_4096);
        for (wire, (from, until)) in
            delays.iter().map(|(from, until)| (from * MILLISECOND, until * MILLISECOND)).enumerate()
        {
            let xid = scene.next_xid();
            let call = scene.send(wire, Client, &message(MSG, xid, &Lists::default(), &null(xid)));
            scene.at(from, &call);
            scene.at(until, &call);
            scene.acknowledge(wire, Server, until + 5);
            scene.answer(wire, xid, until + 100);
        }
        scene.until(10 * SECOND);
        diagnose(&scene.records())
    };
    let diagnosis = scene(&[(1000, 1700), (1200, 1900), (5000, 5600)]);
    let loss = &diagnosis.causes[0];
    assert_eq!((loss.waiting_ns, loss.disturbed_ns), (Some(2_000_000_000), Some(1_500_000_000)));
    assert_says(
        &loss.evidence.join("\n"),
        &["Retransmission delayed 3 RPCs, the longest by 700 ms; 2.00 s in total. For 1.50 s of the 10.0 s of \
             the capture, at least one was delayed."],
    );
    // None at the same time as another.
    let diagnosis = scene(&[(1000, 1700), (2200, 2900), (5000, 5600)]);
    let loss = &diagnosis.causes[0];
    assert_eq!((loss.waiting_ns, loss.disturbed_ns), (Some(2_000_000_000), Some(2_000_000_000)));
    assert_says(
        &loss.evidence.join("\n"),
        &["Retransmission delayed 3 RPCs, the longest by 700 ms; 2.00 s in total, one after the other."],
    );
    // A single RPC.
    let diagnosis = scene(&[(1000, 1700)]);
    let loss = &diagnosis.causes[0];
    assert_eq!((loss.waiting_ns, loss.disturbed_ns), (Some(700_000_000), Some(700_000_000)));
    assert_says(&loss.evidence.join("\n"), &["Retransmission delayed 1 RPC by 700 ms."]);
    // Of a cause that is no loss, it is not known.
    assert_eq!(diagnose(&one_bad_client(ALONE, false).records()).causes[0].disturbed_ns, None);
}

#[test]
fn the_capture_shows_on_which_side_packets_were_lost() {
    let evidence = evidence(&one_bad_client(ALONE, true).records());
    assert_says(
        &evidence,
        &[
            "20 losses (20 time-outs); 20 packets were retransmitted.",
            "From 192.0.2.13 to 192.0.2.2: 20 packets retransmitted after 20 losses between the capture point and 192.0.2.2 (or \
             only the acknowledgement was lost).",
            "The capture point is not known.",
        ],
    );
}

/// The negative acknowledgements of frames 292, 320, 548, 670, 1155 and 1248 ask for packets of which the capture holds no copy from before;
/// those of 389, 1317 and 1403 for packets that it holds, but that the receiver threw away behind a gap: their second copies are not there.
#[test]
fn losses_are_counted_beside_their_retransmissions() {
    let evidence = evidence(&transcode::capture("nfs41_lossy"));
    assert_says(
        &evidence,
        &[
            "14 losses (9 NAKs, 3 implied NAKs, 2 time-outs); 452 packets were retransmitted, including packets that followed a lost one.",
            "From 192.0.2.1 to 192.0.2.2: 399 packets retransmitted after 11 losses: 10 between 192.0.2.1 and the capture point, 1 on an \
             unknown side.",
            "From 192.0.2.2 to 192.0.2.1: 53 packets retransmitted after 3 losses between 192.0.2.2 and the capture point.",
        ],
    );
}

#[test]
fn the_longest_delay_is_named_with_file_and_frame() {
    let evidence = evidence(&transcode::capture("nfs41_lossy"));
    assert_says(
        &evidence,
        &[
            "Retransmission delayed 9 RPCs, the longest by 2.41 s",
            "; 7.14 s in total. For ",
            " of the 19.6 s of the capture, at least one was delayed.",
            "The longest delay: NFSv4 READ of /w.bin in frame 1169, which took 2.41 s: ",
            "1 time-out (2383.977 ms, frame 1446)",
        ],
    );
}

/// A WRITE of iwarp_nfs3_lossy waited 216 ms for the client's data, of which a segment was lost ahead of the capture.
#[test]
fn time_of_an_end_is_no_fault_under_packet_loss() {
    let diagnosis = diagnose(&transcode::capture("iwarp_nfs3_lossy"));
    let evidence = diagnosis.causes[0].evidence.join(" ");
    let expected = "1 RPC with retransmitted packets, counted above too, waited another 216 ms for client or server; \
                    retransmission may be part of that.";
    assert!(evidence.contains(expected), "{evidence}");
    // 7 with a known delay, this one of them, and 2 without.
    assert_eq!(diagnosis.causes[0].rpcs, Some(9));
}

#[test]
fn the_rules_are_those_of_the_guide() {
    let guide = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../GUIDE.md")).unwrap();
    for rule in &CAUSES {
        let row = format!("| `{}` | {} |", rule.name, rule.condition);
        assert!(guide.contains(&row), "{row}");
    }
}

/// No end is blamed for the gaps of a capture: of a healthy mount, however much is missing, cut or in another order, only the
/// capture is blamed.
#[test]
fn what_a_capture_lacks_is_blamed_on_nobody_else() {
    let mut wrong = Vec::new();
    let healthy = labelled().into_iter().filter(|(_, _, expected)| expected.is_empty());
    for (name, frames, _) in healthy {
        let mut disturbed = Vec::new();
        for seed in 1..=4 {
            for per_mille in [2, 20, 100, 400] {
                disturbed.push((format!("{per_mille} missed, {seed}"), transcode::dropping(&frames, seed, per_mille)));
            }
            disturbed.push((format!("disordered, {seed}"), transcode::shuffling(&frames, seed, 100, 5)));
        }
        for part in 1..20 {
            let place = frames.len() * part / 20;
            disturbed.push((format!("without the first {place}"), transcode::without_first(&frames, place)));
            disturbed.push((format!("only the first {place}"), frames[..place].to_vec()));
        }
        for length in [60, 80, 96, 110, 128, 160, 256] {
            disturbed.push((format!("cut to {length}"), transcode::cut(&frames, length)));
        }
        for (how, frames) in disturbed {
            let diagnosis = diagnose(&frames);
            if diagnosis.causes.iter().any(|cause| cause.owner != Some("capture")) {
                wrong.push(format!("{name}, {how}:\n{}", text(&diagnosis)));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong[..wrong.len().min(12)].join("\n"));
}

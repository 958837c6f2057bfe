//! Diagnoses of captures with a known cause: shipped ones, shipped ones disturbed as a mirror disturbs them, and hand-made ones
//! with known times.

use std::collections::{BTreeMap, BTreeSet};
use std::{env, fs, process};

use rpcrdma_dissector::output::diagnosis::{CAUSES, Diagnoser, Diagnosis};
use rpcrdma_dissector::{Checker, Config, Dissector, Frame, LinkType, Time};

use crate::command::{run, stdout};
use crate::place::asking;
use crate::recalls;
use crate::synthetic::By::{self, Client, Server};
use crate::synthetic::rpc::{Lists, MSG, NOMSG, message, null, octets, read3, reply, words, write3, write3_reply};
use crate::synthetic::tcp::{self, Iwarp};
use crate::synthetic::v2::{self, Family};
use crate::synthetic::{End, Packet, Wire};
use crate::transcode::{self, Mirror, MirrorKind, Pcap, Record};

/// Microseconds.
pub(crate) const MILLISECOND: u64 = 1000;
pub(crate) const SECOND: u64 = 1_000_000;

/// Private data that announces Sends of 4,096 octets, and of 1,024 (RFC 8797 section 4).
pub(crate) const SENDS_OF_4096: [u8; 8] = [0xf6, 0xab, 0x0e, 0x18, 1, 0, 3, 3];
const SENDS_OF_1024: [u8; 8] = [0xf6, 0xab, 0x0e, 0x18, 1, 0, 0, 0];

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
    packets: Vec<(u64, Packet)>,
    /// `rdma_credit` of replies, and of calls.
    grant: u32,
    request: u32,
    xid: u32,
}

impl Scene {
    /// Several clients of one server.
    pub(crate) fn new(clients: u8, private_data: &[u8]) -> Self {
        let mut scene = Self { wires: Vec::new(), packets: Vec::new(), grant: 32, request: 32, xid: 0x100 };
        for client in 0..clients {
            let number = u32::from(client);
            let mut wire = Wire {
                client: End { host: 10 + client, queue_pair: 0x100 + number, next: 100 },
                server: End { host: 2, queue_pair: 0x200 + number, next: 7000 },
                name: 0x1234 + number,
                ack_timeout: 17,
                ..Wire::default()
            };
            let set_up = [wire.request(private_data), wire.reply(private_data), wire.connect().pop().unwrap()];
            scene.wires.push(wire);
            scene.at(0, &set_up);
        }
        scene
    }

    /// A client with half a second of healthy RPCs.
    pub(crate) fn healthy() -> Self {
        let mut scene = Self::new(1, &SENDS_OF_4096);
        scene.rpcs(0, 50, (10 * MILLISECOND, 10 * MILLISECOND), 200);
        scene
    }

    /// Adds packets, one microsecond apart.
    pub(crate) fn at(&mut self, time: u64, packets: &[Packet]) {
        self.packets.extend((time..).zip(packets.iter().cloned()));
    }

    pub(crate) fn next_xid(&mut self) -> u32 {
        self.xid += 1;
        self.xid
    }

    pub(crate) fn acknowledge(&mut self, wire: usize, by: By, time: u64) {
        let packet = self.wires[wire].ack_all(by);
        self.at(time, &[packet]);
    }

    pub(crate) fn send(&mut self, wire: usize, by: By, message: &[u8]) -> Vec<Packet> {
        let mut message = message.to_vec();
        let credit = if by == Server { self.grant } else { self.request };
        message[8..12].copy_from_slice(&credit.to_be_bytes());
        self.wires[wire].send(by, &message)
    }

    /// A NULL call that was acknowledged.
    fn call(&mut self, wire: usize, time: u64) -> u32 {
        let xid = self.next_xid();
        let call = self.send(wire, Client, &message(MSG, xid, &Lists::default(), &null(xid)));
        self.at(time, &call);
        self.acknowledge(wire, Server, time + 5);
        xid
    }

    /// The reply to it.
    fn answer(&mut self, wire: usize, xid: u32, time: u64) {
        let reply = self.send(wire, Server, &message(MSG, xid, &Lists::default(), &reply(xid, &[])));
        self.at(time, &reply);
        self.acknowledge(wire, Client, time + 5);
    }

    /// `count` NULL calls, one every `each` microseconds; each is answered after `latency` microseconds.
    pub(crate) fn rpcs(&mut self, wire: usize, count: u64, (from, each): (u64, u64), latency: u64) {
        for number in 0..count {
            let xid = self.call(wire, from + number * each);
            self.answer(wire, xid, from + number * each + latency);
        }
    }

    /// A WRITE of 1,000 octets in a Read chunk that the server reads after 100 microseconds; the client answers after so many.
    fn write(&mut self, time: u64, latency: Option<u64>) {
        let xid = self.next_xid();
        let lists = Lists::reads(&[(68, (xid, 0, 1000))]);
        let call = self.send(0, Client, &message(MSG, xid, &lists, &write3(xid, 1000)));
        let number = self.wires[0].server.next;
        let request = self.wires[0].read_request(Server, (xid, 0), 1000);
        self.at(time, &call);
        self.at(time + 100, &[request]);
        let Some(latency) = latency else { return };
        let data = self.wires[0].read_responses(Client, number, &octets(7, 1000));
        self.at(time + 100 + latency, &data);
        let reply = self.send(0, Server, &message(MSG, xid, &Lists::default(), &write3_reply(xid, 1000)));
        self.at(time + 200 + latency, &reply);
        self.acknowledge(0, Client, time + 205 + latency);
    }

    /// A READ whose 1,000 octets the server writes into a Write chunk.
    fn read(&mut self, time: u64) {
        let xid = self.next_xid();
        let lists = Lists::writes(&[&[(xid, 0, 1000)]]);
        let call = self.send(0, Client, &message(MSG, xid, &lists, &read3(xid, 1000)));
        let data = self.wires[0].write(Server, (xid, 0), &octets(7, 1000));
        let results = reply(xid, &words(&[0, 0, 1000, 1, 1000]));
        let reply = self.send(0, Server, &message(MSG, xid, &lists, &results));
        self.at(time, &call);
        self.at(time + 100, &data);
        self.at(time + 110, &reply);
        self.acknowledge(0, Client, time + 115);
    }

    /// An RPC that fails with a status of NFSv3.
    fn failure(&mut self, time: u64, status: u32) {
        let xid = self.next_xid();
        let call = self.send(0, Client, &message(MSG, xid, &Lists::default(), &read3(xid, 100)));
        let reply = self.send(0, Server, &message(MSG, xid, &Lists::default(), &reply(xid, &words(&[status, 0]))));
        self.at(time, &call);
        self.at(time + 100, &reply);
        self.acknowledge(0, Client, time + 105);
    }

    /// Something else, so that the capture goes on until then.
    pub(crate) fn until(&mut self, time: u64) {
        self.at(time, &[vec![0x45; 20]]);
    }

    pub(crate) fn records(mut self) -> Vec<Record> {
        self.packets.sort_by_key(|(time, _)| *time);
        let record = |(time, data): (u64, Packet)| Record {
            time_ns: 1_763_683_200_000_000_000 + time * 1000,
            link: transcode::RAW_IP,
            length: data.len() as u32,
            data,
        };
        self.packets.into_iter().map(record).collect()
    }
}

fn from(name: &str, end: u8) -> Vec<Record> {
    crate::gaps::sent_by(name, end)
}

fn doubled(name: &str, kind: MirrorKind) -> Vec<Record> {
    let twice = transcode::doubling(&transcode::capture(name), Mirror { delay: 2000, kind }, |_| true);
    twice.into_iter().map(|(_, record)| record).collect()
}

/// A server that was stopped: so many calls, accepted and not answered, and ten seconds.
fn stuck(calls: u64) -> Vec<Record> {
    let mut scene = Scene::healthy();
    for number in 0..calls {
        scene.call(0, SECOND + number * 10);
    }
    scene.until(11 * SECOND);
    scene.records()
}

/// A server whose adapter acknowledges 20 ms after the call passed the capture, and which takes so many microseconds for a reply.
fn distant_server(takes: u64) -> Vec<Record> {
    let mut scene = Scene::new(1, &SENDS_OF_4096);
    for number in 0..30 {
        let (xid, time) = (scene.next_xid(), number * 200 * MILLISECOND);
        let call = scene.send(0, Client, &message(MSG, xid, &Lists::default(), &null(xid)));
        scene.at(time, &call.into_iter().map(asking).collect::<Vec<_>>());
        scene.acknowledge(0, Server, time + 20 * MILLISECOND);
        scene.answer(0, xid, time + 20 * MILLISECOND + takes);
    }
    scene.records()
}

/// A link that is down: a call is sent so many times.
fn unreachable(times: u64) -> Vec<Record> {
    let mut scene = Scene::healthy();
    let call = scene.send(0, Client, &message(MSG, 7, &Lists::default(), &null(7)));
    for time in 0..times {
        scene.at(SECOND + time * SECOND, &call);
    }
    scene.until((times + 3) * SECOND);
    scene.records()
}

/// An adapter whose checksums are wrong from some time on: a call is sent so many times.
fn wrong_checksums(times: u64) -> Vec<Record> {
    let mut records = unreachable(times);
    let wrong_from = records[0].time_ns + SECOND * 1000;
    // The last frame holds no packet.
    for Record { time_ns, data, .. } in records.iter_mut().rev().skip(1) {
        let (covered, icrc) = data.split_last_chunk_mut().unwrap();
        let right = transcode::roce_v2_icrc(covered);
        let is_wrong = *time_ns >= wrong_from && covered[15] == 10;
        *icrc = if is_wrong { right.map(|octet| !octet) } else { right };
    }
    records
}

/// A client that stops: the server waits for data.
fn client_that_stopped(is_given_up: bool) -> Vec<Record> {
    let mut scene = Scene::healthy();
    scene.write(SECOND, None);
    if is_given_up {
        let end = scene.wires[0].disconnect(Server);
        scene.at(15 * SECOND, &[end]);
    }
    scene.until(20 * SECOND);
    scene.records()
}

/// A client that is gone: the server sends its reply four times, and then ends the connection.
fn client_gone() -> Vec<Record> {
    let mut scene = Scene::healthy();
    let xid = scene.call(0, SECOND);
    let reply = scene.send(0, Server, &message(MSG, xid, &Lists::default(), &reply(xid, &[])));
    for time in 0..4 {
        scene.at(SECOND + 100 + time * 2 * SECOND, &reply);
    }
    let end = scene.wires[0].disconnect(Server);
    scene.at(9 * SECOND, &[end]);
    scene.records()
}

/// A client that has no Receive for a reply: its adapter refuses the reply so many times, a second apart. In the end the server gives
/// up, or the capture ends.
fn reply_refused(times: u64, is_given_up: bool) -> Vec<Record> {
    let mut scene = Scene::healthy();
    let xid = scene.call(0, SECOND);
    let number = scene.wires[0].server.next;
    let reply = scene.send(0, Server, &message(MSG, xid, &Lists::default(), &reply(xid, &[])));
    let refusal = scene.wires[0].not_ready(Client, number);
    for time in 1..=times {
        scene.at(time * SECOND + 100, &reply);
        scene.at(time * SECOND + 120, std::slice::from_ref(&refusal));
    }
    if is_given_up {
        let end = scene.wires[0].disconnect(Server);
        scene.at((times + 1) * SECOND, &[end]);
    }
    scene.until((times + 5) * SECOND);
    scene.records()
}

/// The client asks for a connection so many times, three seconds apart. Each request is rejected for this reason, or gets no answer.
fn ask(scene: &mut Scene, from: u64, times: u32, reason: Option<u16>) {
    for number in 0..times {
        scene.wires[0].name = 0x2000 + number;
        scene.wires[0].client.queue_pair = 0x500 + number;
        let time = from + u64::from(number) * 3 * SECOND;
        let request = scene.wires[0].request(&[]);
        scene.at(time, &[request]);
        if let Some(reason) = reason {
            let rejection = scene.wires[0].reject(reason);
            scene.at(time + 90, &[rejection]);
        }
    }
}

/// A server that ends the connection 3 ms after a call, and then rejects five requests for this reason, or answers none.
fn server_stopped(reason: Option<u16>) -> Vec<Record> {
    let mut scene = Scene::healthy();
    scene.call(0, SECOND);
    let end = scene.wires[0].disconnect(Server);
    scene.at(SECOND + 3 * MILLISECOND, &[end]);
    ask(&mut scene, 2 * SECOND, 5, reason);
    scene.records()
}

/// A capture of connection requests alone, to this port.
fn requests_alone(port: u16, reason: Option<u16>) -> Vec<Record> {
    let mut scene = Scene::healthy();
    scene.packets.clear();
    scene.wires[0].port = port;
    ask(&mut scene, 0, 4, reason);
    scene.records()
}

/// iWARP: the SYN is sent four times, two seconds apart, or answered with RST.
fn iwarp_requests(is_reset: bool) -> Vec<Record> {
    let mut scene = Scene { wires: Vec::new(), packets: Vec::new(), grant: 0, request: 32, xid: 0 };
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

/// Calls that were refused because no Receive was posted, and come again later.
fn not_ready(count: u64) -> Vec<Record> {
    let mut scene = Scene::healthy();
    for number in 0..count {
        let (time, xid) = (SECOND + number * 10 * MILLISECOND, scene.next_xid());
        let call = scene.send(0, Client, &message(MSG, xid, &Lists::default(), &null(xid)));
        let place = scene.wires[0].client.next - 1;
        let refused = scene.wires[0].not_ready(Server, place);
        scene.at(time, &call);
        scene.at(time + 5, &[refused]);
        scene.at(time + 1500, &call);
        scene.acknowledge(0, Server, time + 1505);
        scene.answer(0, xid, time + 1600);
    }
    scene.records()
}

/// A server that grants 32 credits and can take four calls: of each eight, it refuses the fifth, and all behind it come again with
/// that after so many microseconds.
fn takes_four(pause: u64) -> Vec<Record> {
    let mut scene = Scene::healthy();
    for burst in 0..20 {
        let time = SECOND + burst * 2 * pause;
        let xids: Vec<u32> = (0..8).map(|_| scene.next_xid()).collect();
        let calls: Vec<Packet> = xids
            .iter()
            .flat_map(|xid| scene.send(0, Client, &message(MSG, *xid, &Lists::default(), &null(*xid))))
            .collect();
        let refused = scene.wires[0].client.next - 4;
        let refusal = scene.wires[0].not_ready(Server, refused);
        scene.at(time, &calls);
        scene.at(time + 10, &[refusal]);
        xids[..4].iter().zip(0..).for_each(|(xid, place)| scene.answer(0, *xid, time + 100 + 10 * place));
        scene.at(time + pause, &calls[4..]);
        scene.acknowledge(0, Server, time + pause + 10);
        xids[4..].iter().zip(0..).for_each(|(xid, place)| scene.answer(0, *xid, time + pause + 100 + 10 * place));
    }
    scene.records()
}

/// A pause is no time-out, however long: the receiver says only how long it is at least.
#[test]
fn calls_behind_a_refused_one_wait_for_the_same_receiver_and_nothing_is_lost() {
    for pause in [1500, 700 * MILLISECOND] {
        let diagnosis = diagnose(&takes_four(pause));
        let [cause] = &diagnosis.causes[..] else { panic!("{}", text(&diagnosis)) };
        assert_eq!((cause.cause, cause.owner, cause.rpcs), ("receiver-not-ready", Some("responder"), Some(80)));
        assert_eq!(cause.owner_address.as_deref(), Some("192.0.2.2"));
        let evidence = cause.evidence.join(" ");
        for words in [
            "It had granted 32 credits, and taken 4 calls without an answer at most when it refused another",
            "Of the 80 RPCs that waited, 60 were behind a refused one",
        ] {
            assert!(evidence.contains(words), "{evidence}");
        }
        assert!(!text(&diagnosis).contains("loss"), "{}", text(&diagnosis));
    }
}

/// `count` slow RPCs after fifty fast ones.
fn slow_server(count: u64, latency: u64) -> Vec<Record> {
    let mut scene = Scene::healthy();
    scene.rpcs(0, count, (SECOND, 2 * latency), latency);
    scene.records()
}

fn slow_client(count: u64, latency: u64) -> Vec<Record> {
    let mut scene = Scene::healthy();
    for number in 0..count {
        scene.write(SECOND + number * 2 * latency, Some(latency));
    }
    scene.records()
}

/// The server grants so many credits, and the client has more calls than that: each follows a reply at once.
fn few_credits(grant: u32, calls: u64) -> Vec<Record> {
    credits_after(Scene::new(1, &SENDS_OF_4096), grant, calls)
}

/// The same in a connection on which there may have been other grants.
fn credits_after(mut scene: Scene, grant: u32, calls: u64) -> Vec<Record> {
    scene.grant = grant;
    let mut waiting = std::collections::VecDeque::new();
    scene.rpcs(0, 1, (500, 0), 100);
    for number in 0..calls {
        let time = MILLISECOND + number * 1500 / u64::from(grant);
        if waiting.len() == grant as usize {
            let xid = waiting.pop_front().unwrap();
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
fn waits_for_credits_are_judged_by_the_credits_at_their_time() {
    let mut dropped = Scene::new(1, &SENDS_OF_4096);
    dropped.grant = 64;
    dropped.rpcs(0, 1, (0, 0), 100);
    let mut modest = Scene::new(1, &SENDS_OF_4096);
    modest.request = 4;
    let mut raised = Scene::new(1, &SENDS_OF_4096);
    raised.grant = 2;
    raised.rpcs(0, 1, (0, 0), 100);
    for (scene, grant, owner, words) in [
        (
            dropped,
            1,
            "responder",
            "the server had granted 1, and the client asked for 32: the server has to grant more",
        ),
        (
            modest,
            4,
            "requester",
            "the server had granted 4, and the client asked for 4: the client has to ask for more",
        ),
        (raised, 4, "responder", "the client asked for 32: the server has to grant more"),
    ] {
        let diagnosis = diagnose(&credits_after(scene, grant, 200));
        let cause = diagnosis.causes.iter().find(|cause| cause.cause == "credits").expect("credits");
        assert_eq!(cause.owner, Some(owner), "{words}");
        assert!(cause.evidence.join(" ").contains(words), "{:?}", cause.evidence);
    }
}

fn small_sends(writes: bool) -> Vec<Record> {
    let mut scene = Scene::new(1, &SENDS_OF_1024);
    for number in 0..30 {
        let time = 10 * MILLISECOND * (number + 1);
        if writes { scene.write(time, Some(50)) } else { scene.read(time) }
    }
    scene.records()
}

/// READs on a connection of which the ends announce this private data.
fn small_sends_of(client: &[u8], server: &[u8]) -> Vec<Record> {
    let mut scene = Scene::new(1, &SENDS_OF_4096);
    let wire = &mut scene.wires[0];
    let set_up = [wire.request(client), wire.reply(server), wire.connect().pop().unwrap()];
    scene.packets.clear();
    scene.at(0, &set_up);
    (1..30).for_each(|number| scene.read(10 * MILLISECOND * number));
    scene.records()
}

/// One RPC in ten fails with this status.
fn failing(status: u32) -> Vec<Record> {
    let mut scene = Scene::healthy();
    for number in 0..5 {
        scene.failure(SECOND + number * MILLISECOND, status);
    }
    scene.records()
}

/// One of eight clients loses packets; or is the one that is answered late.
fn one_bad_client(is_lossy: bool) -> Vec<Record> {
    let mut scene = Scene::new(8, &SENDS_OF_4096);
    for client in 0..8 {
        scene.rpcs(client, 30, (10 * MILLISECOND, 10 * MILLISECOND), 200);
    }
    for number in 0..20 {
        let (time, xid) = (SECOND + number * SECOND, scene.next_xid());
        let call = scene.send(3, Client, &message(MSG, xid, &Lists::default(), &null(xid)));
        scene.at(time, &call);
        if is_lossy {
            scene.at(time + 700 * MILLISECOND, &call);
        }
        scene.acknowledge(3, Server, time + 700 * MILLISECOND + 5);
        scene.answer(3, xid, time + 700 * MILLISECOND + 100);
    }
    scene.records()
}

/// Mounts that each have one credit before the first reply (RFC 8166 section 3.3.3), and use it.
fn a_dozen_mounts() -> Vec<Record> {
    let mut scene = Scene::new(12, &SENDS_OF_4096);
    for mount in 0..12 {
        let from = MILLISECOND * (mount as u64 + 1);
        scene.rpcs(mount, 2, (from, 5 * MILLISECOND), 4990);
    }
    scene.records()
}

/// Calls and replies of version 2, without private data.
fn version_2(family: Family) -> Vec<Record> {
    let mut scene = Scene::new(1, &[]);
    for xid in 1..100 {
        let time = u64::from(xid) * MILLISECOND;
        let call = scene.wires[0].send(Client, &v2::call(family, xid, 0, &Lists::default(), &null(xid)));
        scene.at(time, &call);
        scene.acknowledge(0, Server, time + 5);
        let reply = scene.wires[0].send(Server, &v2::reply(family, xid, &[], &reply(xid, &octets(7, 900))));
        scene.at(time + 200, &reply);
        scene.acknowledge(0, Client, time + 205);
    }
    scene.records()
}

/// A healthy mount with long calls and replies in chunks, version 1.
fn busy() -> Vec<Record> {
    let mut scene = Scene::new(4, &SENDS_OF_4096);
    for client in 0..4 {
        scene.rpcs(client, 400, (10 * MILLISECOND, 700), 300);
    }
    for number in 0..100 {
        scene.read(SECOND + number * MILLISECOND);
    }
    for number in 0..100 {
        scene.write(2 * SECOND + number * MILLISECOND, Some(100));
    }
    scene.records()
}

/// A Send that is longer than what the other end can receive: it refuses it, and the connection ends.
fn too_long() -> Vec<Record> {
    let mut scene = Scene::healthy();
    let xid = scene.next_xid();
    let call = message(MSG, xid, &Lists::default(), &rpc_call(xid, 6000));
    let call = scene.send(0, Client, &call);
    let number = scene.wires[0].client.next - 1;
    let (refused, end) = (scene.wires[0].access_error(Server, number), scene.wires[0].disconnect(Server));
    scene.at(SECOND, &call);
    scene.at(SECOND + 50, &[refused, end]);
    scene.until(2 * SECOND);
    scene.records()
}

fn rpc_call(xid: u32, length: usize) -> Vec<u8> {
    crate::synthetic::rpc::call(xid, [400_000, 1, 7], &vec![7; length])
}

/// A reply in the server's memory that the client never reads.
fn unread_reply() -> Vec<Record> {
    let mut scene = Scene::healthy();
    let xid = scene.call(0, SECOND);
    let payload = reply(xid, &[]);
    let lists = Lists::reads(&[(0, (5, 0, payload.len() as u32))]);
    let provided = scene.send(0, Server, &message(NOMSG, xid, &lists, &[]));
    scene.at(SECOND + 100, &provided);
    scene.acknowledge(0, Client, SECOND + 105);
    scene.until(30 * SECOND);
    scene.records()
}

/// The captures, each with its causes in their order.
pub(crate) fn labelled() -> Vec<(&'static str, Vec<Record>, &'static [&'static str])> {
    let shipped = transcode::capture;
    vec![
        ("healthy: NFSv3", shipped("nfs3"), &[]),
        ("healthy: NFSv3 over IPv6", shipped("nfs3_ipv6"), &[]),
        ("healthy: NFSv4.0", shipped("nfs40"), &[]),
        ("healthy: NFSv4.1", shipped("nfs41"), &[]),
        ("healthy: NFSv4.2, large packets", shipped("nfs42_mtu9000"), &[]),
        ("healthy: krb5", shipped("nfs41_krb5"), &[]),
        ("healthy: krb5i", shipped("nfs41_krb5i"), &[]),
        ("healthy: iWARP", shipped("iwarp_nfs41"), &[]),
        ("healthy: idle", shipped("nfs41_callback"), &[]),
        ("healthy: busy", busy(), &[]),
        ("healthy: a dozen mounts", a_dozen_mounts(), &[]),
        ("healthy: version 2, A", version_2(Family::A), &[]),
        ("healthy: version 2, B", version_2(Family::B), &[]),
        ("no NFS", shipped("perftest"), &["nothing-found"]),
        ("no RDMA", shipped("nfs41").into_iter().filter(|frame| frame.data[12] == 0x86).collect(), &["nothing-found"]),
        ("client alone", from("nfs41", 2), &["one-direction"]),
        ("server alone, iWARP", from("iwarp_nfs41", 1), &["one-direction"]),
        ("missed", transcode::dropping(&shipped("nfs41"), 3, 60), &["capture-gaps"]),
        ("missed, NFSv3", transcode::dropping(&shipped("nfs3"), 9, 100), &["capture-gaps"]),
        ("cut", transcode::cut(&shipped("nfs41"), 96), &["cut"]),
        ("cut, NFSv3 over IPv6", transcode::cut(&shipped("nfs3_ipv6"), 128), &["cut"]),
        ("joined late", shipped("nfs41").split_off(60), &["joined-late"]),
        ("joined late, NFSv3", shipped("nfs3").split_off(47), &["joined-late"]),
        ("doubled", doubled("nfs41", MirrorKind::Same), &["mirror-doubled"]),
        ("doubled, behind a router", doubled("nfs3", MirrorKind::Routed), &["mirror-doubled"]),
        ("stuck server, one call", stuck(1), &["responder-silent"]),
        ("stuck server, 30 calls", stuck(30), &["responder-silent"]),
        ("hangs in the lab", shipped("hangs"), &["requester-unreachable", "responder-unreachable", "responder-silent"]),
        ("link down", unreachable(4), &["responder-unreachable"]),
        ("link down for long", unreachable(30), &["responder-unreachable"]),
        ("wrong checksums", wrong_checksums(4), &["wrong-checksum"]),
        ("wrong checksums for long", wrong_checksums(30), &["wrong-checksum"]),
        ("stopped client", client_that_stopped(false), &["requester-silent"]),
        ("reply not read", unread_reply(), &["requester-silent"]),
        ("stopped client, server gave up", client_that_stopped(true), &["requester-silent"]),
        ("client gone, server gave up", client_gone(), &["requester-unreachable"]),
        ("no Receive for a reply", reply_refused(1, false), &["reply-refused"]),
        ("no Receive for a reply, server gave up", reply_refused(3, true), &["reply-refused", "protocol"]),
        ("server stopped", server_stopped(Some(8)), &["connection-refused", "responder-silent"]),
        ("server gone", server_stopped(None), &["connection-unanswered", "responder-silent"]),
        ("server down", requests_alone(20049, Some(8)), &["connection-refused"]),
        ("server not there", requests_alone(20049, None), &["connection-unanswered"]),
        ("another service", requests_alone(4420, Some(8)), &["nothing-found"]),
        ("another service, not there", requests_alone(4420, None), &["nothing-found"]),
        ("server down, iWARP", iwarp_requests(true), &["connection-refused"]),
        ("server not there, iWARP", iwarp_requests(false), &["connection-unanswered"]),
        ("loss", shipped("nfs41_lossy"), &["loss"]),
        ("loss, few", shipped("lost"), &["loss"]),
        ("loss, iWARP", shipped("iwarp_lost"), &["loss"]),
        ("loss, NFSv3 over iWARP", shipped("iwarp_nfs3_lossy"), &["loss"]),
        ("one lossy client", one_bad_client(true), &["loss"]),
        ("no Receives", not_ready(50), &["receiver-not-ready"]),
        ("few Receives", not_ready(5), &["receiver-not-ready"]),
        ("four Receives for eight calls", takes_four(1500), &["receiver-not-ready"]),
        ("slow server", shipped("delays"), &["responder-slow"]),
        ("slow server, one call", slow_server(1, 600 * MILLISECOND), &["responder-slow"]),
        ("slow server, most calls", slow_server(100, 50 * MILLISECOND), &["responder-slow"]),
        ("slow network", shipped("network_requester"), &["distance"]),
        ("slow network, iWARP", shipped("iwarp_network_requester"), &["distance", "loss"]),
        ("distant server", distant_server(200), &["distance"]),
        ("distant and slow server", distant_server(60 * MILLISECOND), &["responder-slow", "distance"]),
        ("one slow client's server", one_bad_client(false), &["responder-slow"]),
        ("recall answered late", recalls::answered_late(true), &["delegation-recall"]),
        ("recall answered late, no DELEGRETURN", recalls::answered_late(false), &["delegation-recall"]),
        ("delegation returned late", recalls::returned_late(), &["delegation-recall"]),
        ("recall never answered", recalls::never_answered(), &["delegation-recall"]),
        ("slow client", slow_client(20, 50 * MILLISECOND), &["requester-slow"]),
        ("slow client, one call", slow_client(1, 900 * MILLISECOND), &["requester-slow"]),
        ("one credit", few_credits(1, 100), &["credits"]),
        ("four credits", few_credits(4, 200), &["credits"]),
        ("small Sends, READ", small_sends(false), &["small-sends"]),
        ("small Sends, WRITE", small_sends(true), &["small-sends"]),
        ("small Sends, of the client", small_sends_of(&SENDS_OF_1024, &SENDS_OF_4096), &["small-sends"]),
        ("I/O errors", failing(5), &["errors"]),
        ("stale handles", failing(70), &["errors"]),
        ("files that are not there", failing(2), &[]),
        ("bad server", shipped("client_deviations"), &["protocol"]),
        ("bad client", shipped("errors"), &["protocol", "errors"]),
        ("withdrawn memory", shipped("withdrawn"), &["protocol"]),
        ("Send too long", too_long(), &["protocol"]),
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
    for rule in &CAUSES {
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
fn a_diagnosis_is_a_screen_of_eighty_columns() {
    for (name, frames, expected) in labelled() {
        let text = text(&diagnose(&frames));
        for line in text.lines().filter(|line| !line.starts_with("   $ ")) {
            assert!(line.chars().count() <= 80, "{name}: {line}");
        }
        let lines = text.lines().count();
        assert!(lines <= 8 + 16 * expected.len(), "{name}: {lines} lines\n{text}");
        assert_eq!(text.matches("   $ rpcrdma ").count(), expected.len(), "{name}");
        assert_eq!(text.contains("Nothing stands out: the median latency is "), expected.is_empty(), "{name}: {text}");
    }
}

/// 20.0 of 20.2 ms are the way: the server is not slow because of it.
#[test]
fn the_way_is_no_fault_of_an_end() {
    let diagnosis = diagnose(&distant_server(200));
    let [cause] = &diagnosis.causes[..] else { panic!("{diagnosis:?}") };
    assert_eq!((cause.owner, cause.owner_address.as_deref(), cause.rpcs), (Some("network"), None, Some(30)));
    assert_eq!((cause.waiting_ns, diagnosis.waiting_ns), (Some(30 * 20_000_000), 30 * 20_200_000));
    let both = diagnose(&distant_server(60 * MILLISECOND));
    let times: Vec<_> = both.causes.iter().map(|cause| (cause.owner, cause.waiting_ns)).collect();
    assert_eq!(times, [(Some("responder"), Some(30 * 60_000_000)), (Some("network"), Some(30 * 20_000_000))]);
    assert!(!text(&both).contains("The way to it and back is part of that"));
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
    for (is_lossy, cause) in [(true, "loss"), (false, "responder-slow")] {
        let diagnosis = diagnose(&one_bad_client(is_lossy));
        let [found] = &diagnosis.causes[..] else { panic!("{diagnosis:?}") };
        assert_eq!((found.cause, found.client.as_deref()), (cause, Some("192.0.2.13")));
        assert_eq!((found.server.as_deref(), found.operation.as_deref()), (None, Some("NFSv3 NULL")));
        // 20 calls of 700.1 ms, against 240 of 0.2 ms.
        let share = found.share.unwrap();
        assert!((0.99..1.0).contains(&share), "{share}");
        assert_eq!((found.frames.len(), found.examples.len(), found.rpcs), (8, 8, Some(20)));
        assert_eq!(found.examples_are().as_deref(), Some("Frames, 8 of 20 RPCs, longest wait first"));
    }
    let lossy = diagnose(&one_bad_client(true));
    assert_eq!(lossy.causes[0].command, "rpcrdma events --client 192.0.2.13 FILE");
}

#[test]
fn shares_are_parts_of_all_waiting() {
    // 50 calls of 0.2 ms, and one that waits for ten seconds.
    let diagnosis = diagnose(&stuck(1));
    assert_eq!(diagnosis.waiting_ns, 50 * 200_000 + 10 * SECOND * 1000);
    let cause = &diagnosis.causes[0];
    assert_eq!(
        (cause.waiting_ns, cause.owner, cause.owner_address.as_deref()),
        (Some(10 * SECOND * 1000), Some("responder"), Some("192.0.2.2"))
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
fn a_refused_reply_is_the_clients_who_has_no_receive_buffer() {
    let diagnosis = diagnose(&reply_refused(3, true));
    assert_evidence(
        &diagnosis,
        "reply-refused",
        &[
            "The requester's adapter had no receive buffer for the reply, and refused it. It sent 'receiver not ready' (RNR NAK) \
             3 times. A requester has to post a receive buffer (Receive) for each call before it sends the call.",
            "The server 192.0.2.2 ended the connection 3.00 s after the call (DREQ in frame 212).",
        ],
    );
    let cause = &diagnosis.causes[0];
    assert_eq!((cause.owner, cause.owner_address.as_deref()), (Some("requester"), Some("192.0.2.10")));
    assert!(
        diagnosis.causes[1].evidence[0].starts_with("reply-not-ready, by 192.0.2.10, once"),
        "{}",
        text(&diagnosis)
    );
}

#[test]
fn who_ended_a_connection_is_said_with_what_became_of_the_requests_after_it() {
    let diagnosis = diagnose(&server_stopped(Some(8)));
    let ended = "The server 192.0.2.2 ended the connection 3.00 ms after the call (DREQ in frame 206).";
    assert_evidence(
        &diagnosis,
        "responder-silent",
        &[
            "Accepted by the responder's adapter, or acted on, and not answered.",
            ended,
            "Since then the server has rejected 5 connection requests: nothing listens on the port.",
        ],
    );
    assert_evidence(
        &diagnosis,
        "connection-refused",
        &[
            "192.0.2.2 rejected 5 connection requests of 192.0.2.10 to port 20049 within 12.0 s.",
            "Why: nothing listens on the port (REJ, reason 8).",
            "Something listened there before: the service was stopped, or crashed.",
        ],
    );
    assert_eq!(diagnosis.causes[0].owner_address.as_deref(), Some("192.0.2.2"));
    let diagnosis = diagnose(&server_stopped(None));
    assert_evidence(
        &diagnosis,
        "responder-silent",
        &[ended, "Since then the client has sent 5 connection requests, and got no answer."],
    );
    let unanswered = "192.0.2.10 sent 192.0.2.2 5 connection requests to port 20049 within 12.0 s, and got no answer, up to the end of the \
         capture.";
    assert_evidence(&diagnosis, "connection-unanswered", &[unanswered]);
}

/// The client connects again at once, or after two seconds in which it was rejected.
#[test]
fn a_client_that_could_connect_again_is_no_lasting_cause() {
    for (rejections, expected) in
        [(0, &["responder-silent"][..]), (1, &["responder-silent"]), (2, &["responder-silent", "connection-refused"])]
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

/// A request that was sent again and then answered, confirmed or replied to unseen is no unanswered one; one that has waited for less
/// than a second may still be answered.
#[test]
fn a_request_that_may_have_been_answered_is_not_unanswered() {
    let request = |scene: &mut Scene, time: u64| {
        scene.wires[0].name = 0x3000;
        let request = scene.wires[0].request(&[]);
        scene.at(time, &[request]);
    };
    // Sent again after two seconds and answered then.
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
    assert_eq!(causes(&diagnosis), ["connection-unanswered"]);
    assert_eq!(diagnosis.causes[0].owner, Some("responder"));
}

/// The server's address moves to another adapter at 5 s, as gratuitous ARP says, and the client's requests get no answer.
#[test]
fn an_address_that_moved_is_named_where_requests_or_calls_get_no_answer() {
    let mut scene = Scene::healthy();
    let call = scene.send(0, Client, &message(MSG, 7, &Lists::default(), &null(7)));
    for time in 0..4 {
        scene.at(SECOND + time * SECOND, &call);
    }
    let end = scene.wires[0].disconnect(Client);
    scene.at(6 * SECOND, &[end]);
    ask(&mut scene, 10 * SECOND, 5, None);
    let mut frames = scene.records();
    let ethernet = |host: u8| [2, 0, 0, 0, 0, host];
    for frame in &mut frames {
        let [source, destination] = [frame.data[15], frame.data[19]].map(ethernet);
        frame.data = [&destination[..], &source, &[8, 0], &frame.data].concat();
        (frame.link, frame.length) = (1, frame.length + 14);
    }
    let host = [192, 0, 2, 2];
    let arp =
        [&[0xff; 6][..], &ethernet(0xee), &[8, 6, 0, 1, 8, 0, 6, 4, 0, 1], &ethernet(0xee), &host, &[0; 6], &host];
    let (data, place) = (arp.concat(), frames.len() - 6);
    let (time_ns, length) = (frames[place].time_ns - SECOND * 1000, data.len() as u32);
    frames.insert(place, Record { time_ns, link: 1, data, length });
    let diagnosis = diagnose(&frames);
    assert_eq!(causes(&diagnosis), ["connection-unanswered", "responder-unreachable"]);
    let moved = "192.0.2.2 moved to another MAC address at 00:00:05 UTC: 02:00:00:00:00:ee, before 02:00:00:00:00:02 \
                 (announced in frame 208).";
    for cause in ["connection-unanswered", "responder-unreachable"] {
        assert_evidence(&diagnosis, cause, &[moved]);
    }
}

#[test]
fn a_call_that_waits_for_a_moment_at_the_end_is_no_cause() {
    let mut scene = Scene::healthy();
    scene.call(0, SECOND);
    scene.until(SECOND + 900 * MILLISECOND);
    let diagnosis = diagnose(&scene.records());
    assert!(diagnosis.causes.is_empty(), "{}", text(&diagnosis));
    assert_eq!(diagnosis.limits, ["1 call without a reply, which had waited for less than 1.00 s at the end."]);
}

#[test]
fn a_server_that_answered_as_late_before_may_still_answer() {
    for (age, expected) in [(5, &[][..]), (7, &["responder-silent"])] {
        let mut scene = Scene::healthy();
        scene.rpcs(0, 1, (SECOND, 0), 3 * SECOND);
        scene.call(0, 5 * SECOND);
        scene.until((5 + age) * SECOND);
        let found = diagnose(&scene.records());
        let found: Vec<_> = causes(&found).into_iter().filter(|cause| *cause != "responder-slow").collect();
        assert_eq!(found, expected, "{age}");
    }
}

/// The capture begins with frame 1200 of nfs41_lossy: two READs that are answered in frames 1498 and 1499 wait since 1169 and 1173.
#[test]
fn loss_is_a_cause_of_rpcs_whose_calls_were_sent_before_the_capture() {
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
/// retransmitted, and not those that were lost.
#[test]
fn packets_retransmitted_for_calls_before_the_capture_are_a_cause_without_a_time() {
    let diagnosis = diagnose(&transcode::without_first(&transcode::capture("nfs41_lossy"), 1369));
    assert_eq!(causes(&diagnosis), ["loss", "joined-late"], "{}", text(&diagnosis));
    assert_eq!((diagnosis.causes[0].owner, diagnosis.causes[0].waiting_ns), (Some("network"), None));
    let said = diagnosis.causes.iter().flat_map(|cause| cause.evidence.clone()).collect::<Vec<_>>().join(" ");
    assert_says(
        &said,
        &[
            "2 losses (1 NAK, 1 of unknown cause); 60 packets were sent again",
            "One of them had waited for at least 7.90 ms when its reply came in frame 73.",
        ],
    );

    // Nothing of the RPC but its retransmitted data is in the capture, and 50 others are well.
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
fn a_connection_from_before_the_capture_may_carry_rpcs_that_it_does_not_show() {
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
fn transactions_give_the_least_latency_of_an_rpc_without_its_call() {
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

/// Capture without the set-up and the call of an RPC that takes 3 s, of which the server sends packets again for 700 ms if there is loss.
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

/// The call may be among the packets that the capture lacks, so it is not known since when the RPC waits.
#[test]
fn an_rpc_whose_call_the_capture_may_have_missed_has_no_least_wait() {
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
fn a_capture_of_256_octets_of_each_packet_has_the_causes_of_the_whole() {
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
fn the_place_of_a_capture_is_said_with_the_connections_for_which_it_is_known() {
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
    assert_eq!((&diagnosis.captured_at[..], diagnosis.captured_at_connections), (&["requester"][..], 1));
    let words = text(&diagnosis).replace('\n', " ");
    assert!(words.contains("3 connections, captured at the requester (known of 1 of 3 connections)"), "{words}");
    // Of all connections.
    let words = text(&diagnose(&transcode::capture("network_requester"))).replace('\n', " ");
    assert!(words.contains("1 connection, captured at the requester ") && !words.contains("known of"), "{words}");
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
        for cause in diagnosis.causes.iter().filter(|cause| matches!(cause.owner, Some("requester" | "responder"))) {
            let only = if cause.owner == Some("requester") { &diagnosis.client } else { &diagnosis.server };
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
        "connection-refused",
        "credits",
        "delegation-recall",
        "errors",
        "protocol",
        "receiver-not-ready",
        "reply-refused",
        "requester-silent",
        "requester-slow",
        "responder-silent",
        "responder-slow",
        "small-sends",
        "wrong-checksum",
    ];
    assert_eq!(named.into_iter().collect::<Vec<_>>(), of_ends);
}

#[test]
fn small_sends_are_of_the_end_that_announced_them() {
    for (client, server, owner, address) in [
        (SENDS_OF_1024, SENDS_OF_4096, Some("requester"), Some("192.0.2.10")),
        (SENDS_OF_4096, SENDS_OF_1024, Some("responder"), Some("192.0.2.2")),
        (SENDS_OF_1024, SENDS_OF_1024, None, None),
    ] {
        let diagnosis = diagnose(&small_sends_of(&client, &server));
        let [cause] = &diagnosis.causes[..] else { panic!("{}", text(&diagnosis)) };
        assert_eq!((cause.cause, cause.owner, cause.owner_address.as_deref()), ("small-sends", owner, address));
        let by = address.map_or(" octets. ".to_owned(), |address| format!(" octets, as {address} announced. "));
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
fn a_server_that_refuses_the_first_call_has_no_receive_posted() {
    let evidence = evidence(&not_ready(50));
    let words = "It had granted 32 credits, and refused calls when no other call waited for an answer: it had no Receive posted at all \
                 then, so it posts Receives too late.";
    assert!(evidence.contains(words), "{evidence}");
}

/// Causes of shipped captures that are cut to 256 octets of each frame, where these differ from the causes of the whole.
const CUT_DIFFERS: [(&str, &[&str]); 6] = [
    // The header of a call ends behind its first 256 octets, so the call does not show its RPC: that is asked for.
    ("errors", &["protocol", "cut", "errors"]),
    // The checksum is at the end of a packet.
    ("situations/call_wrong_icrc", &["responder-unreachable"]),
    ("situations/reply_wrong_icrc", &["requester-unreachable"]),
    // Inline thresholds are in private data, which ends at octet 270 of its frame.
    ("situations/read_again_after_later_responses", &["loss", "protocol"]),
    ("situations/reply_behind_write_refused", &["loss"]),
    ("situations/reply_provided_and_read", &[]),
];

#[test]
fn shipped_captures_of_256_octets_of_each_packet_have_the_causes_of_the_whole() {
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
fn commands_have_the_same_status_with_256_octets_of_each_packet() {
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
        [(100, "at least 256 octets of each packet (tcpdump -s 256)"), (256, "whole packets (tcpdump -s 0)")]
    {
        let diagnosis = diagnose(&transcode::cut(&frames, octets));
        let cut = diagnosis.causes.iter().find(|cause| cause.cause == "cut").unwrap();
        assert!(cut.evidence[0].contains(advice), "{octets}: {:?}", cut.evidence);
    }
}

/// A call and a callback wait at the end, for different ends.
#[test]
fn an_end_that_a_cause_is_of_is_in_the_record() {
    let mut scene = Scene::healthy();
    scene.call(0, SECOND);
    let xid = scene.next_xid();
    let callback = rpc_callback(xid);
    let callback = scene.send(0, Server, &message(MSG, xid, &Lists::default(), &callback));
    scene.at(10 * SECOND, &callback);
    scene.acknowledge(0, Client, 10 * SECOND + 5);
    scene.until(12 * SECOND);
    let diagnosis = diagnose(&scene.records());
    let silent = diagnosis.causes.iter().find(|cause| cause.cause == "responder-silent").unwrap();
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

/// Calls that are sent again after these delays, in milliseconds: from 1,000 to 1,700, from 1,200 to 1,900 and from 5,000 to 5,600, each
/// on a connection of its own. So RPCs are delayed for 2,000 in all, and the mount for 900 and 600.
#[test]
fn time_in_which_several_rpcs_are_delayed_counts_once_for_the_mount() {
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
        &[
            "Recovery delayed 3 RPCs by up to 700 ms; 2.00 s added up. At least one was delayed for 1.50 s of the 10.0 s of \
             the capture.",
        ],
    );
    // None at the same time as another.
    let diagnosis = scene(&[(1000, 1700), (2200, 2900), (5000, 5600)]);
    let loss = &diagnosis.causes[0];
    assert_eq!((loss.waiting_ns, loss.disturbed_ns), (Some(2_000_000_000), Some(2_000_000_000)));
    assert_says(
        &loss.evidence.join("\n"),
        &["Recovery delayed 3 RPCs by up to 700 ms; 2.00 s in all, one after the other."],
    );
    // A single RPC.
    let diagnosis = scene(&[(1000, 1700)]);
    let loss = &diagnosis.causes[0];
    assert_eq!((loss.waiting_ns, loss.disturbed_ns), (Some(700_000_000), Some(700_000_000)));
    assert_says(&loss.evidence.join("\n"), &["Recovery delayed 1 RPC by 700 ms."]);
    // Of a cause that is no loss, it is not known.
    assert_eq!(diagnose(&one_bad_client(false)).causes[0].disturbed_ns, None);
}

#[test]
fn the_capture_shows_on_which_side_of_it_packets_were_lost() {
    let evidence = evidence(&one_bad_client(true));
    assert_says(
        &evidence,
        &[
            "20 losses (20 time-outs); 20 packets were sent again.",
            "From 192.0.2.13 to 192.0.2.2: 20 packets sent again after 20 losses between the capture and 192.0.2.2 or of an \
             acknowledgement.",
            "Where the capture was made is not known.",
        ],
    );
}

/// The negative acknowledgements of frames 292, 320, 548, 670, 1155 and 1248 ask for packets of which the capture holds no copy from before;
/// those of 389, 1317 and 1403 for packets that it holds, but that the receiver threw away behind a hole: their second copies are not there.
#[test]
fn losses_are_counted_beside_the_packets_that_were_sent_again_because_of_them() {
    let evidence = evidence(&transcode::capture("nfs41_lossy"));
    assert_says(
        &evidence,
        &[
            "14 losses (9 NAKs, 3 implied NAKs, 2 time-outs); 452 packets were sent again, also those that followed a lost one.",
            "From 192.0.2.1 to 192.0.2.2: 399 packets sent again after 11 losses: 10 between 192.0.2.1 and the capture, 1 on an \
             unknown side.",
            "From 192.0.2.2 to 192.0.2.1: 53 packets sent again after 3 losses between 192.0.2.2 and the capture.",
        ],
    );
}

#[test]
fn the_longest_delay_is_named_with_its_file_and_the_frame_that_ended_the_wait() {
    let evidence = evidence(&transcode::capture("nfs41_lossy"));
    assert_says(
        &evidence,
        &[
            "Recovery delayed 9 RPCs by up to 2.41 s",
            "; 7.14 s added up. At least one was delayed for ",
            " of the 19.6 s of the capture.",
            "The longest delay: NFSv4 READ of w.bin in frame 1169, which took 2.41 s: ",
            "1 time-out (2383.977 ms, frame 1446)",
        ],
    );
}

/// A WRITE of iwarp_nfs3_lossy waited 216 ms for the client's data, of which a segment was lost ahead of the capture.
#[test]
fn the_time_of_an_end_is_no_fault_of_it_if_packets_were_lost() {
    let diagnosis = diagnose(&transcode::capture("iwarp_nfs3_lossy"));
    let evidence = diagnosis.causes[0].evidence.join(" ");
    let expected = "For 1 RPC with packets that were sent again, counted above too, the ends took 216 ms besides; recovery may \
                    be part of that.";
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

//! `connections`: requests for connections, their answers, and the ends of connections, against captures of which both are known.

use rpcrdma_answers::connections::text::ConnectionForm;
use rpcrdma_answers::connections::{ConnectionLives, ConnectionObject, Connections};
use rpcrdma_answers::format::screen::Screen;
use rpcrdma_answers::format::time::{ShownTimes, TimeForm};
use rpcrdma_answers::selection::Window;
use rpcrdma_dissector::{Config, Dissector, Event, Files, Frame, LinkType, Time};
use serde_json::Value;

use crate::command::{run, stdout};
use crate::diagnosis::{MILLISECOND, SECOND, SENDS_OF_4096, Scene, causes, diagnose, dropped_connections};
use crate::synthetic::By::{self, Client, Server};
use crate::synthetic::rpc::{Lists, MSG, message, null};
use crate::synthetic::tcp::{self, Iwarp};
use crate::synthetic::{Packet, Wire};
use crate::transcode::{self, Record};
use crate::twins::{ALONE, Carrier, Load};

const CROWD: Load = Load { calls: 16, carrier: Carrier::Roce };
const CROWD_OVER_TCP: Load = Load { calls: 16, carrier: Carrier::Iwarp };
const MINUTE: u64 = 60 * SECOND;

/// Frames of raw IP packets at these times, in microseconds.
pub(crate) fn frames(packets: &[(u64, Packet)]) -> Vec<Record> {
    let frame = |(time, data): &(u64, Packet)| Record {
        time_ns: time * 1000,
        link: 101,
        length: data.len() as u32,
        data: data.clone(),
    };
    packets.iter().map(frame).collect()
}

/// Everything that is found in these frames.
pub(crate) fn events(frames: &[Record]) -> Vec<Event> {
    let mut config = Config::default();
    config.recovery = true;
    let mut dissector = Dissector::new(config);
    for (frame, number) in frames.iter().zip(1..) {
        let (time, link, length) = (Time(frame.time_ns), LinkType(frame.link), frame.length);
        dissector.frame(&Frame { number, time, link, data: &frame.data, length });
    }
    dissector.finish();
    std::iter::from_fn(|| dissector.event()).collect()
}

fn lives(frames: &[Record]) -> ConnectionLives {
    let mut connections = Connections::default();
    events(frames).iter().for_each(|event| connections.event(event));
    connections.finish(Window::default())
}

fn objects(frames: &[Record]) -> Vec<Value> {
    let files = Files::default();
    lives(frames).lives.iter().map(|life| serde_json::to_value(ConnectionObject::new(life, &files)).unwrap()).collect()
}

fn text(frames: &[Record], has_terms: bool) -> String {
    let (mut out, start) = (Vec::new(), Time(frames[0].time_ns));
    let (screen, times) =
        (Screen { colour: false, columns: None }, ShownTimes::new(TimeForm::Since, 0).starting_at(start));
    lives(frames).write_text(&mut out, ConnectionForm { screen, times, has_terms }).unwrap();
    String::from_utf8(out).unwrap()
}

/// Outcome of each request, in words.
fn outcomes(frames: &[Record]) -> Vec<String> {
    let text = text(frames, false);
    let lines = text.lines().skip(1).filter(|line| line.contains(" → "));
    lines.map(|line| line.split_once(" port 20049 ").unwrap().1.trim().to_owned()).collect()
}

/// A client of iWARP whose MPA request gets no answer: the server's TCP acknowledges the request or not, closes the connection, or the
/// capture lacks the answer.
#[test]
fn an_mpa_request_without_an_answer_is_unanswered() {
    let asked = || {
        let mut trace = tcp::Iwarp::default();
        // Without the MPA reply.
        trace.packets.pop();
        trace.next[tcp::SERVER] -= 20;
        trace
    };
    let mut told = Vec::new();
    let mut tell = |trace: &tcp::Iwarp| told.push(outcomes(&frames(&trace.packets)).join(", "));
    let mut trace = asked();
    // The request comes again, as nothing acknowledges it.
    trace.again(SECOND, tcp::CLIENT, &[&b"MPA ID Req Frame"[..], &[0, 1, 0, 0]].concat());
    tell(&trace);
    let mut trace = asked();
    trace.acknowledge(40, tcp::SERVER, 0);
    tell(&trace);
    let frames_of_received = frames(&trace.packets);
    let mut trace = asked();
    trace.acknowledge(40, tcp::SERVER, 0);
    trace.segment(50, tcp::SERVER, 0, tcp::RST, &[]);
    tell(&trace);
    // The client acknowledges an answer that the capture lacks.
    let mut trace = asked();
    trace.next[tcp::SERVER] += 20;
    trace.acknowledge(60, tcp::CLIENT, 0);
    tell(&trace);
    assert_eq!(
        told,
        [
            "1      - no answer",
            "1      - received by the server (TCP), not decided",
            "1      - rejected: it closed the TCP connection instead of an answer (FIN or RST after the MPA request)",
            "",
        ]
    );
    let mut later = frames_of_received;
    let mut last = later[0].clone();
    last.time_ns += 10 * SECOND * 1000;
    // Another host, seconds later: the capture goes on.
    last.data[15] = 77;
    later.push(last);
    let diagnosis = diagnose(&later);
    assert!(causes(&diagnosis).contains(&"connect-unanswered"), "{diagnosis:?}");
}

/// A client that asks for connections under one name after another.
struct Asking {
    wire: Wire,
    packets: Vec<(u64, Packet)>,
}

impl Asking {
    fn new() -> Self {
        Self { wire: Wire::default(), packets: Vec::new() }
    }

    fn request(&mut self, time: u64, private_data: &[u8]) {
        self.wire.name += 1;
        self.wire.client.queue_pair += 1;
        let request = self.wire.request(private_data);
        self.packets.push((time, request));
    }

    fn reject(&mut self, time: u64, reason: u16) {
        let rejection = self.wire.reject(reason);
        self.packets.push((time, rejection));
    }

    fn accept(&mut self, time: u64, private_data: &[u8]) {
        let (reply, ready) = (self.wire.reply(private_data), self.wire.ready());
        self.packets.extend([(time, reply), (time + 20, ready)]);
    }
}

#[test]
fn each_request_is_a_line_with_its_answer_in_words() {
    let mut asking = Asking::new();
    for (time, reason) in (0..).step_by(1000).zip([8, 10, 28, 3, 1]) {
        asking.request(time, &[]);
        asking.reject(time + 50, reason);
    }
    asking.request(10_000, &[]);
    let receipt = asking.wire.receipt();
    asking.packets.push((10_100, receipt));
    asking.request(20_000, &[]);
    for time in [2, 4, 6] {
        let again = asking.packets[asking.packets.len() - 1].1.clone();
        asking.packets.push((20_000 + time * SECOND, again));
    }
    assert_eq!(
        outcomes(&frames(&asking.packets)),
        [
            "1      - rejected: nothing listens on the port (REJ, reason 8)",
            "1      - rejected: it still knows an older connection of the queue pair (REJ, reason 10)",
            "1      - rejected: the program that listens there did not accept it (REJ, reason 28)",
            "1      - rejected: it has no resources left (REJ, reason 3)",
            "1      - rejected: its adapter has no queue pair left (REJ, reason 1)",
            "1      - received by the server (MRA), not decided",
            "4      - no answer",
        ]
    );
    let objects = objects(&frames(&asking.packets));
    assert_eq!(
        objects[6]["last_asked"]["time_ns"].as_u64().unwrap() - objects[6]["time_ns"].as_u64().unwrap(),
        6_000_000_000
    );
    assert!(objects.iter().all(|object| object["connection"].is_null() && object["terms"].is_null()));
}

/// Of two clients whose requests with private data are rejected, one is accepted without them.
#[test]
fn private_data_is_refused_if_only_requests_without_are_accepted() {
    for (later, is_refused) in [(&[][..], true), (&SENDS_OF_4096[..], false)] {
        let mut asking = Asking::new();
        asking.request(0, &SENDS_OF_4096);
        asking.reject(50, 28);
        asking.request(1000, later);
        asking.accept(1050, later);
        let objects = objects(&frames(&asking.packets));
        let said: Vec<_> = objects.iter().map(|object| object["private_data_refused"].as_bool().unwrap()).collect();
        assert_eq!(said, [is_refused, false]);
        assert_eq!(objects[1]["answer"], "accepted");
        assert_eq!((&objects[1]["answered"]["frame"], &objects[1]["established"]["frame"]), (&4.into(), &5.into()));
    }
}

#[test]
fn iwarp_requests_are_unanswered_reset_or_rejected() {
    // A SYN that is sent three times; one that is answered with RST; and an MPA request that is rejected.
    let mut trace = Iwarp { packets: Vec::new(), next: [999, 0], identification: 1 };
    [0, 1, 3].into_iter().for_each(|time| trace.segment(time * SECOND, tcp::CLIENT, 0, tcp::SYN, &[]));
    trace.next[tcp::CLIENT] += 70_000;
    trace.segment(10 * SECOND, tcp::CLIENT, 0, tcp::SYN, &[]);
    trace.next[tcp::CLIENT] += 1;
    trace.segment(10 * SECOND + 50, tcp::SERVER, 0, tcp::RST | tcp::ACK, &[]);
    trace.next = [200_000, 300_000];
    trace.segment(20 * SECOND, tcp::CLIENT, 0, tcp::SYN, &[]);
    trace.next[tcp::CLIENT] += 1;
    trace.segment(20 * SECOND + 50, tcp::SERVER, 0, tcp::SYN | tcp::ACK, &[]);
    trace.next[tcp::SERVER] += 1;
    trace.send(20 * SECOND + 100, tcp::CLIENT, &[&b"MPA ID Req Frame"[..], &[0x40, 1, 0, 8], &SENDS_OF_4096].concat());
    trace.send(20 * SECOND + 150, tcp::SERVER, &[&b"MPA ID Rep Frame"[..], &[0x60, 1, 0, 0]].concat());
    assert_eq!(
        outcomes(&frames(&trace.packets)),
        [
            "3      - no answer",
            "1      - rejected: nothing listens on the port (RST)",
            "1      - rejected: the program that listens there did not accept it (MPA reply)",
        ]
    );
}

/// The bits of the REQ and the REP that only `connections` shows, at their places in the datagram (sections 12.6.5, 12.6.8).
#[test]
fn terms_are_those_of_the_messages_of_connection_set_up() {
    const MAD: usize = 20 + 8 + 12 + 8;
    let mut wire = Wire { ack_timeout: 18, mtu: 4096, ..Wire::default() };
    let mut packets = vec![wire.request(&SENDS_OF_4096), wire.reply(&SENDS_OF_4096), wire.ready()];
    for (packet, place, value) in [(0, 59, 16), (0, 63, 12), (0, 71, 6), (1, 48, 9), (1, 49, 8), (1, 51, 5 << 5)] {
        packets[packet][MAD + place] = value;
    }
    packets[0][MAD + 74] |= 7;
    let call = message(MSG, 7, &Lists::default(), &null(7));
    packets.extend(wire.send(Client, &call));
    let timed: Vec<_> = (0..).step_by(10).zip(packets).collect();
    let [object] = &objects(&frames(&timed))[..] else { panic!() };
    let terms = &object["terms"];
    let of = |end: &str, names: [&str; 4]| names.map(|name| terms[end][name].as_u64());
    let names = ["responder_resources", "initiator_depth", "retries", "not_ready_retries"];
    assert_eq!(of("client", names), [Some(16), Some(12), Some(6), Some(7)]);
    assert_eq!(of("server", names), [Some(9), Some(8), None, Some(5)]);
    assert_eq!((&terms["path_mtu"], &terms["ack_timeout_ns"]), (&4096.into(), &(4096_u64 << 18).into()));
    assert_eq!(terms["inline"]["call_octets"], 4096);
    let words = text(&frames(&timed), true);
    for line in [
        "path MTU 4096, acknowledgement time-out 1.07 s",
        "192.0.2.1: responder resources 16, initiator depth 12, 6 retries, RNR retries without end",
        "192.0.2.2: responder resources 9, initiator depth 8, 5 RNR retries",
    ] {
        assert!(words.contains(line), "{words}");
    }
}

/// The server drops the connection of one of two clients; with one and with sixteen calls in flight.
#[test]
fn a_flapping_pair_names_the_end_that_drops_connections() {
    for (load, how) in [(ALONE, "DREQ"), (CROWD, "DREQ"), (CROWD_OVER_TCP, "RST")] {
        let frames = dropped_connections(load).records();
        let dropped = load.calls.div_ceil(2);
        let objects = objects(&frames);
        let of_first: Vec<_> = objects.iter().filter(|object| object["client"] == "192.0.2.10").collect();
        assert_eq!((objects.len(), of_first.len()), (6, 5), "{load:?}");
        for object in &of_first[..4] {
            assert_eq!((&object["state"], &object["unanswered"]), (&"ended".into(), &dropped.into()), "{load:?}");
            let end = &object["end"];
            assert_eq!((&end["by"], &end["role"], &end["how"]), (&"192.0.2.2".into(), &"server".into(), &how.into()));
        }
        assert_eq!((&of_first[4]["state"], &of_first[4]["unanswered"]), (&"open".into(), &0.into()));
        let [pair] = &lives(&frames).flapping[..] else { panic!("{load:?}") };
        assert_eq!((pair.client.to_string().as_str(), pair.times, pair.unanswered), ("192.0.2.10", 4, 4 * dropped));
        let said = format!(
            "The server 192.0.2.2 ended 4 connections with 192.0.2.10 within 3.00 s. {} calls ended without a reply, each time NFSv3 NULL. \
             The client asked for another each time, after at most 17.0 ms.",
            4 * dropped
        );
        assert_eq!(pair.sentences().join(" "), said);
    }
}

/// Ends of connections of which nobody is to blame: the client unmounts, the server ends what nobody has used for six minutes, and a restart
/// of the server ends four connections side by side.
#[test]
fn unused_or_jointly_ended_connections_do_not_flap() {
    let ending = |by: By, idle: u64| {
        let mut scene = Scene::with(ALONE, 1, &SENDS_OF_4096);
        for number in 0..5 {
            let time = SECOND + number * 10 * MINUTE;
            scene.rpcs(0, 5, (time, MILLISECOND), 100);
            scene.disconnect(0, by, time + 10 * MILLISECOND + idle);
            scene.reconnect(0, time + 9 * MINUTE);
        }
        lives(&scene.records()).flapping.len()
    };
    assert_eq!((ending(Client, 0), ending(Client, 5 * MINUTE), ending(Server, 6 * MINUTE)), (0, 0, 0));
    assert_eq!(ending(Server, SECOND), 1);
    let mut scene = Scene::with(ALONE, 4, &SENDS_OF_4096);
    for wire in 0..4 {
        scene.wires[wire].client.host = 10;
        let time = SECOND + 10 * wire as u64;
        scene.call(wire, time);
        scene.disconnect(wire, Server, time + 5 * MILLISECOND);
    }
    (0..4).for_each(|wire| scene.reconnect(wire, 2 * SECOND + 10 * wire as u64));
    let lives = lives(&scene.records());
    assert!(lives.flapping.is_empty(), "{:?}", lives.flapping);
}

/// Time-outs of a call that nothing acknowledges, and an operation that the server refuses, each with calls in flight.
#[test]
fn what_came_before_the_end_of_a_connection_is_said() {
    let mut scene = Scene::with(ALONE, 2, &SENDS_OF_4096);
    let call = scene.send(0, Client, &message(MSG, 7, &Lists::default(), &null(7)));
    (1..=4).for_each(|time| scene.at(time * SECOND, &call));
    scene.disconnect(0, Client, 6 * SECOND);
    scene.rpcs(1, 3, (SECOND, MILLISECOND), 200);
    scene.flight(1, 2 * SECOND);
    let number = scene.wires[1].client.next - 1;
    let refused = scene.wires[1].access_error(Server, number);
    scene.at(2 * SECOND + 50, &[refused]);
    scene.disconnect(1, Server, 2 * SECOND + 70);
    let objects = objects(&scene.records());
    let said: Vec<_> = objects.iter().map(|object| object["end"]["after"].as_str().unwrap_or_default()).collect();
    let frame = |object: &Value, name: &str| object[name]["frame"].as_u64().unwrap();
    assert!(said[0].starts_with("3 time-outs of 192.0.2.10 since frame "), "{said:?}");
    assert!(said[1].starts_with("192.0.2.2 refused an operation for good (NAK in frame "), "{said:?}");
    assert_eq!(objects[0]["end"]["silence_ns"].as_u64(), Some(5_000_000_000));
    assert_eq!(
        frame(&objects[1], "last_message") + 2,
        frame(&objects[1], "end") - 1,
        "call, acknowledgement, NAK, DREQ"
    );
}

#[test]
fn the_longest_idle_time_has_no_waiting_call() {
    let mut scene = Scene::with(CROWD, 1, &SENDS_OF_4096);
    scene.rpcs(0, 2, (SECOND, 100 * MILLISECOND), 50 * MILLISECOND);
    scene.rpcs(0, 1, (9 * SECOND, SECOND), 20 * SECOND);
    let [object] = &objects(&scene.records())[..] else { panic!() };
    // The last of sixteen replies of the second flight, ten microseconds apart, came at 1.15 s.
    assert_eq!(object["longest_idle_ns"].as_u64(), Some((9 * SECOND - 1_150_150) * 1000));
    assert_eq!(object["rpcs"], 1 + 3 * 16);
}

#[test]
fn credits_of_both_directions_are_those_of_stats() {
    let file = format!("{}/../testdata/captures/nfs41_callback.pcap", env!("CARGO_MANIFEST_DIR"));
    let record = |command: &str| -> Value {
        let output = run(&[command, "--json", "-q", &file]);
        serde_json::from_str(stdout(&output).lines().next().unwrap()).unwrap()
    };
    let (connection, stats) = (record("connections"), record("stats"));
    let of_stats = &stats["connections"][0];
    for name in ["credits", "reverse_credits"] {
        assert!(of_stats[name]["granted"]["last"].is_u64(), "{name} is used");
        assert_eq!(connection["terms"][name], of_stats[name]);
    }
    assert_ne!(of_stats["credits"], of_stats["reverse_credits"]);
}

/// The terms of the setup are those that other dissectors read in the capture.
#[test]
fn shipped_captures_have_the_terms_of_their_adapters() {
    let [first, ..] = &objects(&transcode::capture("hangs"))[..] else { panic!() };
    let terms = &first["terms"];
    assert_eq!((&terms["path_mtu"], &terms["client"]["retries"]), (&1024.into(), &7.into()));
    let [iwarp] = &objects(&transcode::capture("iwarp_nfs41"))[..] else { panic!() };
    let end = &iwarp["end"];
    assert_eq!((&end["role"], &end["how"], &iwarp["carrier"]), (&"client".into(), &"FIN".into(), &"iWARP".into()));
    assert_eq!(iwarp["terms"]["client"]["mpa_revision"], 2);
}

/// A window and a client select lines, and moves of addresses stand between them.
#[test]
fn a_selection_shows_connections_that_overlap_it() {
    let file = format!("{}/../testdata/captures/hangs.pcap", env!("CARGO_MANIFEST_DIR"));
    let count = |options: &[&str]| {
        let output = run(&[&["connections", "--csv", "-q", &file], options].concat());
        stdout(&output).lines().count() - 1
    };
    let all = count(&[]);
    assert!(all > 3);
    assert_eq!(
        (count(&["--until", "+4"]), count(&["--connection", "2,3"]), count(&["--client", "192.0.2.77"])),
        (1, 2, 0)
    );
    assert_eq!(count(&["--since", "+4", "--until", "+5"]), 1);
}

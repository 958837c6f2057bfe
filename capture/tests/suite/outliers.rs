//! Which one of many: captures of many servers, clients or files, of which one is slow, or none.

use rpcrdma_answers::diagnosis::{DiagnosedCause, Diagnosis};

use crate::diagnosis::{MILLISECOND, SENDS_OF_4096, Scene, causes, diagnose, text};
use crate::synthetic::By::{Client, Server};
use crate::synthetic::rpc::{Lists, MSG, call, message, octets, read3, read3_reply, reply, words};
use crate::synthetic::{End, Wire};
use crate::twins::ALONE;

/// The first of the servers, 192.0.2.x.
const FIRST: u8 = 100;

/// A client with a connection to each of so many servers.
fn servers(count: u8) -> Scene {
    let mut scene = Scene::with(ALONE, 0, &SENDS_OF_4096);
    for number in 0..count {
        let id = u32::from(number);
        let mut wire = Wire {
            client: End { host: 10, queue_pair: 0x100 + id, next: 100 },
            server: End { host: FIRST + number, queue_pair: 0x800 + id, next: 7000 },
            name: 0x1234 + id,
            ack_timeout: 17,
            ..Wire::default()
        };
        let set_up = [wire.request(&SENDS_OF_4096), wire.reply(&SENDS_OF_4096), wire.connect().pop().unwrap()];
        scene.wires.push(wire);
        scene.at(u64::from(number), &set_up);
    }
    scene
}

/// The time of an RPC of a server: 300 microseconds, more or less.
const fn latency(server: u64, number: u64) -> u64 {
    250 + (server * 37 + number * 61) % 101
}

/// 30 RPCs of each of so many servers, of which one takes so many times as long.
fn one_of(count: u8, slow: u64, times: u64) -> Scene {
    each_of(servers(count), slow, times)
}

/// A server of twelve that takes ten times as long as the others.
pub(crate) fn slow_server() -> Scene {
    one_of(12, 5, 10)
}

/// A client of twelve whose RPCs take ten times as long as those of the others.
pub(crate) fn slow_client() -> Scene {
    each_of(Scene::with(ALONE, 12, &SENDS_OF_4096), 3, 10)
}

/// 30 RPCs on each connection, of which one takes so many times as long.
fn each_of(mut scene: Scene, slow: u64, times: u64) -> Scene {
    for server in 0..scene.wires.len() as u64 {
        for number in 0..30 {
            let factor = if server == slow { times } else { 1 };
            let from = MILLISECOND * (1 + 40 * number) + 7 * server;
            scene.rpcs(server as usize, 1, (from, 0), factor * latency(server, number));
        }
    }
    scene
}

fn outlier(diagnosis: &Diagnosis) -> &DiagnosedCause {
    diagnosis.causes.iter().find(|cause| cause.cause == "outlier").unwrap_or_else(|| panic!("{}", text(diagnosis)))
}

#[test]
fn one_slow_server_of_98_is_named() {
    for (slow, times) in [(57, 10), (0, 90)] {
        let diagnosis = diagnose(&one_of(98, slow, times).records());
        let address = format!("192.0.2.{}", u64::from(FIRST) + slow);
        let said = text(&diagnosis).replace("\n   ", " ");
        let named: Vec<_> =
            diagnosis.causes.iter().filter(|cause| cause.owner_address.as_ref() == Some(&address)).collect();
        assert!(!named.is_empty(), "{said}");
        let sentence = format!("{address}: {times} times the median of 97 others");
        assert!(said.contains(&sentence), "{sentence}\n{said}");
    }
    let diagnosis = diagnose(&one_of(98, 57, 10).records());
    let cause = outlier(&diagnosis);
    assert_eq!((cause.server.as_deref(), cause.owner, cause.rpcs), (Some("192.0.2.157"), Some("server"), Some(30)));
    // 30 RPCs of 3 ms, of which 300 microseconds each are usual; all others took 300 microseconds.
    let share = cause.share.unwrap();
    assert!((share - 270.0 / (300.0 + 30.0 * 97.0)).abs() < 0.01, "{share}");
    assert_eq!(cause.examples.len(), 8);
}

#[test]
fn of_98_equal_servers_none_is_named() {
    let diagnosis = diagnose(&one_of(98, 57, 1).records());
    assert_eq!(causes(&diagnosis), [""; 0], "{}", text(&diagnosis));
}

#[test]
fn one_slow_client_of_twelve_is_named() {
    let diagnosis = diagnose(&slow_client().records());
    let cause = outlier(&diagnosis);
    assert_eq!((cause.client.as_deref(), &cause.server), (Some("192.0.2.13"), &None));
    assert!(text(&diagnosis).contains("192.0.2.13: 10 times the median of 11 others"), "{}", text(&diagnosis));
}

/// A server without a reply to three of four calls, and quick with the others.
#[test]
fn calls_without_a_reply_make_a_server_slow() {
    let mut scene = servers(12);
    for number in 0..40 {
        for server in 0..12 {
            let from = MILLISECOND * (1 + 40 * number) + 7 * server;
            let xid = scene.call(server as usize, from);
            if server != 5 || number * 7 % 4 == 0 {
                scene.answer(server as usize, xid, from + latency(server, number));
            }
        }
    }
    scene.until(5000 * MILLISECOND);
    let diagnosis = diagnose(&scene.records());
    let said = text(&diagnosis).replace("\n   ", " ");
    assert!(said.contains("192.0.2.105: ") && said.contains("times the median of 11 others"), "{said}");
}

/// One server has only READs of 64 KiB, which take 20 times as long as the GETATTRs of the others.
#[test]
fn a_server_with_other_operations_is_not_named() {
    let mut scene = servers(12);
    for number in 0..30 {
        for server in 0..12_u64 {
            let wire = server as usize;
            let from = MILLISECOND * (1 + 40 * number) + 7 * server;
            let xid = scene.next_xid();
            let (call, reply, time) = match server {
                5 => (read3(xid, 1000), read3_reply(xid, &octets(1, 1000)), 20 * latency(server, number)),
                _ => (
                    call(xid, [100_003, 3, 1], &words(&[4, 0xfeed])),
                    reply(xid, &words(&[0; 22])),
                    latency(server, number),
                ),
            };
            let call = scene.send(wire, Client, &message(MSG, xid, &Lists::default(), &call));
            scene.log_call(wire, xid, from);
            scene.at(from, &call);
            scene.acknowledge(wire, Server, from + 5);
            let reply = scene.send(wire, Server, &message(MSG, xid, &Lists::default(), &reply));
            scene.at(from + time, &reply);
            scene.acknowledge(wire, Client, from + time + 5);
        }
    }
    let diagnosis = diagnose(&scene.records());
    assert_eq!(causes(&diagnosis), [""; 0], "{}", text(&diagnosis));
}

/// Ten files of a server, of which one is 40 times as slow.
#[test]
fn one_slow_file_of_ten_is_named() {
    let mut scene = servers(1);
    for number in 0..300 {
        let file = 0x100 + number % 10;
        let from = MILLISECOND * (1 + 30 * number);
        let xid = scene.next_xid();
        let time = if file == 0x103 { 40 } else { 1 } * latency(0, number);
        let arguments = words(&[4, file as u32, 0, 0, 1000]);
        let call =
            scene.send(0, Client, &message(MSG, xid, &Lists::default(), &call(xid, [100_003, 3, 6], &arguments)));
        scene.log_call(0, xid, from);
        scene.at(from, &call);
        scene.acknowledge(0, Server, from + 5);
        let reply = scene.send(0, Server, &message(MSG, xid, &Lists::default(), &read3_reply(xid, &octets(1, 1000))));
        scene.at(from + time, &reply);
        scene.acknowledge(0, Client, from + time + 5);
    }
    let said = text(&diagnose(&scene.records())).replace("\n   ", " ");
    // The CRC-32 of the four octets of the handle.
    let is_named =
        |times: u64| said.contains(&format!("File with the handle 0xa156bfe7: {times} times the median of 9 others"));
    assert!(is_named(40) || is_named(41), "{said}");
}

//! Wrong checksums (ICRC) of what is retransmitted in vain, and captures that hold no checksums.

use crate::diagnosis::{causes, diagnose};
use crate::synthetic::Packet;
use crate::synthetic::trace::Trace;
use crate::transcode::roce_v2_icrc;

const CLIENT: u8 = 1;

impl Trace {
    /// Gives each packet the ICRC that `of` makes of the packet without one, and of the right one.
    pub(crate) fn checksums(&mut self, of: impl Fn(&[u8], u32) -> u32) -> &mut Self {
        for (_, packet) in &mut self.packets {
            let covered = packet.len() - 4;
            let (covered, icrc) = packet.split_at_mut(covered);
            let right = u32::from_le_bytes(roce_v2_icrc(covered));
            icrc.copy_from_slice(&of(covered, right).to_le_bytes());
        }
        self
    }
}

fn sender(packet: &[u8]) -> u8 {
    packet[15]
}

fn is_set_up(packet: &[u8]) -> bool {
    packet[28] == 0x64
}

/// A call that is sent four times and never acknowledged; its packets have the numbers of their copies.
fn call_in_vain(trace: &mut Trace, xid: u32, from: u64) {
    let call = trace.call(xid);
    (0..4).for_each(|time| _ = trace.at(from + time * 500_000, &call));
}

/// A connection with an RPC that succeeds, and then a call in vain.
fn answered_first() -> Trace {
    let (mut trace, _) = Trace::exchange();
    trace.acknowledge(210);
    call_in_vain(&mut trace, 2, 1000);
    trace
}

fn found(trace: &Trace) -> Vec<&'static str> {
    causes(&diagnose(&trace.frames()))
}

fn without_set_up(trace: &mut Trace) {
    trace.packets.retain(|(_, packet)| !is_set_up(packet));
}

fn is_clients(packet: &[u8]) -> bool {
    sender(packet) == CLIENT && !is_set_up(packet)
}

#[test]
fn wrong_checksums_of_all_vain_retransmissions_are_the_cause() {
    let mut trace = Trace::new();
    call_in_vain(&mut trace, 1, 100);
    trace.checksums(|packet, right| if is_clients(packet) { right ^ 1 } else { right });
    let diagnosis = diagnose(&trace.frames());
    let cause = &diagnosis.causes[0];
    assert_eq!((cause.cause, cause.owner), ("wrong-checksum", Some("client")));
    assert_eq!(cause.owner_address.as_deref(), Some("192.0.2.1"));
    let evidence = cause.evidence.join(" ");
    for words in [
        "Each of the 3 packets that 192.0.2.1 retransmitted in vain has a wrong ICRC, first in frame 5.",
        "The adapter of 192.0.2.1 computes the checksum wrongly, or something on the way to the capture changes packets.",
    ] {
        assert!(evidence.contains(words), "{evidence}");
    }
}

/// The adapter fails later; the setup is in the capture, or not.
#[test]
fn checksums_wrong_from_some_time_on_are_the_cause() {
    for has_set_up in [true, false] {
        let mut trace = answered_first();
        let call = trace.packets.last().unwrap().1.clone();
        trace.checksums(|packet, right| if packet == &call[..call.len() - 4] { !right } else { right });
        if !has_set_up {
            without_set_up(&mut trace);
        }
        assert_eq!(found(&trace), ["wrong-checksum"], "{has_set_up}");
    }
}

#[test]
fn a_capture_that_lacks_checksums_accuses_nobody() {
    type Of = fn(&[u8], u32) -> u32;
    let all: [(&str, Of); 7] = [
        ("zeros", |_, _| 0),
        ("a constant", |_, _| 0x1234_5678),
        ("addresses were changed", |_, right| !right),
        ("of the client zeros, also in its setup", |packet, right| if sender(packet) == CLIENT { 0 } else { right }),
        ("of the client a constant", |packet, right| if sender(packet) == CLIENT { 7 } else { right }),
        ("of the client something else", |packet, right| if sender(packet) == CLIENT { !right } else { right }),
        ("of the server zeros", |packet, right| if sender(packet) == CLIENT { right } else { 0 }),
    ];
    for (name, of) in all {
        for mut trace in [answered_first(), {
            let mut trace = Trace::new();
            call_in_vain(&mut trace, 1, 100);
            trace
        }] {
            trace.checksums(of);
            assert_eq!(found(&trace), ["server-unreachable"], "{name}");
            without_set_up(&mut trace);
            assert!(!found(&trace).contains(&"wrong-checksum"), "{name} without a setup");
        }
    }
}

#[test]
fn one_right_checksum_retransmitted_in_vain_clears_the_sender() {
    let mut trace = answered_first();
    trace.checksums(|_, right| right);
    let wrong = |(_, packet): &mut (u64, Packet)| *packet.last_mut().unwrap() ^= 1;
    let places: Vec<_> = (trace.packets.len() - 4..trace.packets.len()).collect();
    places[..3].iter().for_each(|place| wrong(&mut trace.packets[*place]));
    assert_eq!(found(&trace), ["server-unreachable"]);
    wrong(trace.packets.last_mut().unwrap());
    assert_eq!(found(&trace), ["wrong-checksum"]);
}

/// The server accepts a packet with a wrong checksum, so the capture does not hold what was on the wire.
#[test]
fn a_wrong_checksum_that_was_acknowledged_proves_nothing() {
    let mut trace = Trace::new();
    let (call, reply) = (trace.call(1), trace.reply(1));
    trace.at(100, &call).at(500_100, &call).accept(500_110).at(500_200, &reply).acknowledge(500_210);
    call_in_vain(&mut trace, 2, 1_000_000);
    trace.checksums(|packet, right| if is_clients(packet) { !right } else { right });
    assert!(!found(&trace).contains(&"wrong-checksum"), "{:?}", found(&trace));
}

#[test]
fn what_checksums_leave_out_is_why_no_message_is_found() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../testdata/captures/situations/call_wrong_icrc.pcap")
        .display()
        .to_string();
    for command in ["decode", "stats"] {
        let output = crate::command::run(&[command, "--verify-crc", &path]);
        let said = crate::command::stderr(&output);
        assert!(said.contains("5 of 8 packets have a wrong checksum, and --verify-crc leaves these out"), "{said}");
        assert!(!said.contains("reliable connection"), "{said}");
    }
}

//! A capture that has thousands of connections wait for what never comes takes no more memory than it may.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test falls where its input is wrong"
)]

#[path = "suite/found/mod.rs"]
mod found;
#[path = "suite/synthetic/mod.rs"]
mod synthetic;

use peak_alloc::PeakAlloc;
use rpcrdma_dissector::{Config, Dissector, Frame, LinkType, Time};

use synthetic::By::{Client, Server};
use synthetic::rpc::{Lists, MSG, message, read3};
use synthetic::{End, Packet, Wire};

const CONNECTIONS: u32 = 3000;
const LIMIT: usize = 16 << 20;
/// With what connections take that have nothing waiting, the packets that are remembered to know copies of them, and what is twice
/// there while a table or a vector grows.
const PEAK: usize = 80 << 20;

/// Packets of one connection, none of which arrives.
type Attack = fn(&mut Wire) -> Vec<Packet>;

const ATTACKS: &[(&str, Attack)] = &[
    ("packets behind a gap", |wire| {
        let mut trace = wire.connect();
        wire.client.next += 1;
        trace.extend(wire.send(Client, &[7; 60_000]));
        trace
    }),
    ("packets after a negative acknowledgement", |wire| {
        let mut trace = wire.connect();
        trace.push(wire.nak(Server, wire.client.next));
        wire.client.next += 1;
        trace.extend(wire.send(Client, &[7; 60_000]));
        trace
    }),
    ("Sends without an end", |wire| {
        let mut trace = wire.connect();
        trace.extend(wire.send(Client, &[7; 60_000]));
        trace.pop();
        trace
    }),
    ("Writes of one octet, apart from each other", |wire| {
        let mut trace = wire.connect();
        let lists = Lists::writes(&[&[(9, 0, 1 << 20)]]);
        trace.extend(wire.send(Client, &message(MSG, 1, &lists, &read3(1, 1 << 20))));
        (0..700).for_each(|index| trace.extend(wire.write(Server, (9, index * 2), &[7])));
        trace
    }),
    ("calls with many segments", |wire| {
        let mut trace = wire.connect();
        let segments: Vec<_> = (0..100).map(|index| (index, 0, 1)).collect();
        let lists = Lists::writes(&[&segments]);
        (0..10).for_each(|xid| trace.extend(wire.send(Client, &message(MSG, xid, &lists, &read3(xid, 1)))));
        trace
    }),
    ("Reads of which every second response comes", |wire| {
        let mut trace = wire.connect();
        for handle in 0..8 {
            let number = wire.server.next;
            trace.push(wire.read_request(Server, (handle, 0), 64_000));
            trace.extend(wire.read_responses(Client, number, &[7; 64_000]).into_iter().step_by(2));
        }
        trace
    }),
    ("TCP segments behind a gap", |wire| {
        let port = wire.name as u16 + 1024;
        let mut trace = vec![segment(port, 0, &[7; 4])];
        trace.extend((1..160).map(|index| segment(port, index * 1000, &[7; 1000])));
        trace
    }),
];

/// A TCP segment to the service port of NFS over RDMA (RFC 9293 section 3.1), in IPv4.
fn segment(port: u16, sequence: u32, data: &[u8]) -> Packet {
    let mut packet = vec![0x45, 0];
    packet.extend(((40 + data.len()) as u16).to_be_bytes());
    packet.extend([0, 0, 0x40, 0, 64, 6, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
    packet.extend([port.to_be_bytes(), 20049_u16.to_be_bytes()].concat());
    packet.extend(sequence.to_be_bytes());
    packet.extend([0, 0, 0, 0, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
    packet.extend(data);
    packet
}

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Peak of allocated octets while the attack ran. Not of resident memory: which freed memory the allocator can use again differs
/// from run to run, by 20 MiB once in twenty.
fn peak(attack: Attack, limit: usize) -> usize {
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.current_usage();
    let mut config = Config::default();
    config.memory = limit;
    let mut dissector = Dissector::new(config);
    let mut number = 0;
    for connection in 0..CONNECTIONS {
        let end = |host| End { host, queue_pair: 1000 + connection, next: 100 };
        let mut wire = Wire { client: end(1), server: end(2), name: connection, ..Wire::default() };
        for packet in attack(&mut wire) {
            number += 1;
            let length = packet.len() as u32;
            dissector.frame(&Frame { number, time: Time(number), link: LinkType(101), data: &packet, length });
            while dissector.event().is_some() {}
        }
    }
    ALLOCATOR.peak_usage() - before
}

#[test]
fn what_waits_on_all_connections_together_is_bounded() {
    for (name, attack) in ATTACKS {
        let peak = peak(*attack, LIMIT);
        assert!(peak <= PEAK, "{name}: {} KiB", peak >> 10);
    }
    // Without the limit there is more, so it is the limit that was seen.
    let (name, attack) = ATTACKS[0];
    let peak = peak(attack, usize::MAX);
    assert!(peak > PEAK + PEAK / 2, "{name}: {} KiB", peak >> 10);
}

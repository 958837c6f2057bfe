//! iWARP connections that never were: setup and its refusal, Terminate, reads into the same memory, other users of TCP.
//!
//! Headers are written here as RFC 9293, 5044, 5041, 5040 and 8166 have them; no code is shared with the package.

use rpcrdma_dissector::{
    Address, Captured, Checker, Config, Dissector, Frame, LinkType, NotRebuilt, Other, Time, Transaction,
};

use crate::found::Found;

/// The two ends: 0 is the client, 1 the server.
struct Wire {
    ports: [u16; 2],
    /// The number of the next octet of each.
    next: [u32; 2],
    /// The number of the next Send, and of the next Read Request, of each.
    sends: [u32; 2],
    requests: [u32; 2],
}

const SYN: u8 = 0x02;
const ACK: u8 = 0x10;
const FIN: u8 = 0x01;

impl Wire {
    fn new(port: u16) -> Self {
        Self { ports: [40_000, port], next: [0xffff_ff00, 5000], sends: [1; 2], requests: [1; 2] }
    }

    fn frame(&mut self, from: usize, flags: u8, octets: &[u8]) -> Vec<u8> {
        let to = 1 - from;
        let mut packet = vec![0x45, 0];
        packet.extend(((40 + octets.len()) as u16).to_be_bytes());
        packet.extend([0, 0, 0x40, 0, 64, 6, 0, 0, 192, 0, 2, from as u8 + 1, 192, 0, 2, to as u8 + 1]);
        packet.extend([self.ports[from].to_be_bytes(), self.ports[to].to_be_bytes()].concat());
        packet.extend([self.next[from].to_be_bytes(), self.next[to].to_be_bytes()].concat());
        packet.extend([0x50, flags, 1, 0, 0, 0, 0, 0]);
        packet.extend(octets);
        let steps = octets.len() as u32 + u32::from(flags & (SYN | FIN) != 0);
        self.next[from] = self.next[from].wrapping_add(steps);
        packet
    }

    fn data(&mut self, from: usize, octets: &[u8]) -> Vec<u8> {
        self.frame(from, ACK, octets)
    }

    /// SYN, SYN and ACK, MPA request and reply.
    fn open(&mut self, reply_flags: u8) -> Vec<Vec<u8>> {
        let request = [&b"MPA ID Req Frame"[..], &[0, 1, 0, 0]].concat();
        let reply = [&b"MPA ID Rep Frame"[..], &[reply_flags, 1, 0, 0]].concat();
        vec![self.frame(0, SYN, &[]), self.frame(1, SYN | ACK, &[]), self.data(0, &request), self.data(1, &reply)]
    }

    fn send(&mut self, from: usize, data: &[u8]) -> Vec<u8> {
        let number = self.sends[from];
        self.sends[from] += 1;
        let fpdu = untagged(0x43, 0, number, data);
        self.data(from, &fpdu)
    }

    /// The server asks for the client's memory at `handle`, to be put at `sink`.
    fn read(&mut self, sink: (u32, u64), length: u32, handle: u32) -> Vec<u8> {
        let number = self.requests[1];
        self.requests[1] += 1;
        let body = [
            &sink.0.to_be_bytes()[..],
            &sink.1.to_be_bytes(),
            &length.to_be_bytes(),
            &handle.to_be_bytes(),
            &0u64.to_be_bytes(),
        ]
        .concat();
        let fpdu = untagged(0x41, 1, number, &body);
        self.data(1, &fpdu)
    }

    fn response(&mut self, sink: (u32, u64), last: bool, data: &[u8]) -> Vec<u8> {
        let fpdu = tagged(0x42, last, sink, data);
        self.data(0, &fpdu)
    }
}

fn fpdu(ulpdu: &[u8]) -> Vec<u8> {
    let mut octets = [&(ulpdu.len() as u16).to_be_bytes()[..], ulpdu].concat();
    octets.resize(octets.len().next_multiple_of(4) + 4, 0);
    octets
}

fn untagged(rdmap: u8, queue: u32, number: u32, data: &[u8]) -> Vec<u8> {
    let header = [&[0x41, rdmap, 0, 0, 0, 0][..], &queue.to_be_bytes(), &number.to_be_bytes(), &[0; 4]].concat();
    fpdu(&[&header[..], data].concat())
}

fn tagged(rdmap: u8, last: bool, (handle, offset): (u32, u64), data: &[u8]) -> Vec<u8> {
    let control = [if last { 0xc1 } else { 0x81 }, rdmap];
    fpdu(&[&control[..], &handle.to_be_bytes(), &offset.to_be_bytes(), data].concat())
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// A call of an unknown program, without chunks.
fn call(xid: u32) -> Vec<u8> {
    words(&[xid, 1, 32, 0, 0, 0, 0, xid, 0, 2, 400_000, 1, 7, 0, 0, 0, 0])
}

/// The same with a Read chunk of this many octets after the header, in the client's memory at `handle`.
fn call_with_chunk(xid: u32, handle: u32, length: u32) -> Vec<u8> {
    words(&[xid, 1, 32, 0, 1, 40, handle, length, 0, 0, 0, 0, 0, xid, 0, 2, 400_000, 1, 7, 0, 0, 0, 0])
}

fn reply(xid: u32) -> Vec<u8> {
    words(&[xid, 1, 32, 0, 0, 0, 0, xid, 1, 0, 0, 0, 0])
}

fn dissect(packets: &[Vec<u8>]) -> Found {
    Found::of_packets(packets.iter().map(|packet| (packet.as_slice(), packet.len() as u32)), Config::default())
}

/// Returns the octets of the calls, by XID.
fn calls(found: &Found) -> Vec<(u32, Option<Vec<u8>>)> {
    let octets = |transaction: &Transaction| match &transaction.call.as_ref()?.message {
        Ok(message) => Some(message.octets().to_vec()),
        Err(_) => None,
    };
    found.transactions.iter().map(|transaction| (transaction.xid, octets(transaction))).collect()
}

#[test]
fn numbers_wrap_and_every_end_is_named() {
    let mut wire = Wire::new(20049);
    let mut packets = wire.open(0);
    for xid in 1..20 {
        packets.extend([wire.send(0, &call(xid)), wire.send(1, &reply(xid))]);
    }
    packets.extend([wire.frame(0, FIN | ACK, &[]), wire.frame(1, FIN | ACK, &[]), wire.data(0, &[])]);
    let found = dissect(&packets);
    assert_eq!((found.messages.len(), found.transactions.len()), (38, 19));
    let [report] = &found.reports[..] else { panic!("one connection") };
    let connection = &report.connection;
    assert_eq!((connection.port(), connection.setup_captured, report.number), (Some(20049), true, Some(1)));
    assert_eq!((connection.ends.active.port, connection.ends.passive.port), (Some(40_000), Some(20049)));
    assert_eq!(found.messages[0].from, Address::V4([192, 0, 2, 1]));
    assert_eq!((report.counts.active.packets, report.counts.active.missed), (23, 0));
    assert_eq!((found.summary.segments, found.summary.others.len()), (45, 0));
}

#[test]
fn a_refusal_is_told() {
    let mut wire = Wire::new(20049);
    let found = dissect(&wire.open(0x20));
    let [rejected] = &found.rejected[..] else { panic!("one refusal") };
    assert_eq!((rejected.stamp.frame, rejected.service, rejected.kind.reason()), (4, Some(0x0106_4e51), None));
    assert_eq!((rejected.from, rejected.to), (Address::V4([192, 0, 2, 2]), Address::V4([192, 0, 2, 1])));
    assert!(found.reports.is_empty());
}

#[test]
fn a_terminate_is_told_in_words() {
    let mut wire = Wire::new(20049);
    let mut packets = wire.open(0);
    packets.extend([wire.send(0, &call(1)), wire.send(1, &reply(1))]);
    let wrong = [0xc1, 0x40, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0];
    let terminate = untagged(0x47, 2, 1, &[&[0x11, 0x00, 0xc0, 0, 0, 40][..], &wrong].concat());
    packets.push(wire.data(0, &terminate));
    let found = dissect(&packets);
    let [terminated] = &found.terminated[..] else { panic!("one Terminate") };
    assert_eq!((terminated.stamp.frame, terminated.connection), (7, 1));
    let words = "DDP, tagged buffer error: invalid STag, in a segment of 40 octets (RDMA Write)";
    assert_eq!(terminated.terminate.to_string(), words);
    assert_eq!(found.reports[0].counts.active.failed, 1);
}

/// Invalid STag, of RDMAP and DDP; what is about an invalidation, or a buffer for Sends, refuses no access.
#[test]
fn access_that_a_terminate_refuses_is_judged() {
    for (layer, code, rule) in [
        (0x01, 0x00, Some("rdma-read-bounds")),
        (0x11, 0x00, Some("rdma-read-bounds")),
        (0x01, 0x09, None),
        (0x12, 0x02, None),
    ] {
        let mut wire = Wire::new(20049);
        let mut packets = wire.open(0);
        packets.push(wire.send(0, &call_with_chunk(1, 0xabc, 100)));
        packets.push(wire.read((7, 0), 100, 0xabc));
        packets.push(wire.data(0, &untagged(0x47, 2, 1, &[layer, code, 0, 0])));
        let mut dissector = Dissector::new(Config::for_checker());
        let mut checker = Checker::default();
        for (packet, number) in packets.iter().zip(1..) {
            let (time, link, length) = (Time(number * 1000), LinkType(101), packet.len() as u32);
            dissector.frame(&Frame { number, time, link, data: packet, length });
        }
        dissector.finish();
        while let Some(event) = dissector.event() {
            checker.event(&event);
        }
        let found: Vec<_> = std::iter::from_fn(|| checker.finding()).collect();
        let refused = found.iter().find(|found| found.rule.slug.ends_with("-bounds"));
        assert_eq!(refused.map(|found| (found.rule.slug, found.stamp.frame)), rule.map(|rule| (rule, 6)), "{found:?}");
    }
}

#[test]
fn connections_of_other_users_are_left_alone() {
    // MPA on another port, and nothing in it is RPC-over-RDMA: counted, not shown.
    let mut wire = Wire::new(5445);
    let mut packets = wire.open(0);
    packets.extend([wire.send(0, b"\xfeSMB and so on"), wire.send(1, b"\xfeSMB and so on")]);
    let found = dissect(&packets);
    assert!(found.messages.is_empty() && found.reports.len() == 1 && found.reports[0].number.is_none());
    // No MPA: on another port nothing is kept, on the service port it is named when it is over.
    for (port, name) in [(2049, "TCP"), (20049, "TCP on a service port, without iWARP")] {
        let mut wire = Wire::new(port);
        let mut packets = vec![wire.frame(0, SYN, &[]), wire.frame(1, SYN | ACK, &[])];
        packets.extend((0..50).map(|index| wire.data(index % 2, &[0x80, 0, 0, 40, 1, 2, 3, 4])));
        let found = dissect(&packets);
        assert!(found.messages.is_empty() && found.reports.is_empty());
        assert_eq!((found.summary.segments, &found.summary.others[..]), (0, &[(Other::Named(name), 52)][..]));
    }
}

#[test]
fn rpc_over_rdma_is_recognised_on_any_port_behind_mpa() {
    let mut wire = Wire::new(999);
    let mut packets = wire.open(0);
    packets.extend([wire.send(0, &call(1)), wire.send(1, &reply(1))]);
    let found = dissect(&packets);
    assert_eq!((found.messages.len(), found.transactions.len(), found.reports[0].number), (2, 1, Some(1)));
    assert_eq!(found.reports[0].connection.port(), Some(999));
}

#[test]
fn a_new_connection_may_reuse_old_ports() {
    let mut old = Wire::new(20049);
    let mut packets = old.open(0);
    packets.extend([old.send(0, &call(1)), old.send(1, &reply(1))]);
    let mut new = Wire { next: [77, 0x8000_0000], ..Wire::new(20049) };
    packets.extend(new.open(0));
    packets.extend([new.send(0, &call(2)), new.send(1, &reply(2))]);
    let found = dissect(&packets);
    assert_eq!((found.reports.len(), found.transactions.len()), (2, 2));
    assert!(found.transactions.iter().all(|transaction| transaction.reply.is_some()));
    let connections: Vec<u32> = found.messages.iter().map(|message| message.connection).collect();
    assert_eq!(connections, [1, 1, 2, 2]);
}

#[test]
fn a_new_connection_is_noticed_without_its_beginning() {
    let mut old = Wire::new(20049);
    let mut packets = old.open(0);
    packets.extend([old.send(0, &call(1)), old.send(1, &reply(1))]);
    // With setup frames, and with neither SYN nor setup: numbers behind, ahead, and far away.
    for (next, skipped) in [(0xfff0_0000, 2), (0x000f_0000, 2), (0x8000_0000, 2), (0x8000_0000, 4)] {
        let mut new = Wire { next: [next, next], ..Wire::new(20049) };
        let mut all = [&packets[..], &new.open(0)[skipped..]].concat();
        for xid in 100..300 {
            all.extend([new.send(0, &call(xid)), new.send(1, &reply(xid))]);
        }
        let found = dissect(&all);
        assert_eq!(found.reports.len(), 2, "{next:#x} without {skipped}");
        let answered = found.transactions.iter().filter(|transaction| transaction.reply.is_some()).count();
        assert!(answered >= if skipped == 2 { 201 } else { 130 }, "{next:#x} without {skipped}: {answered}");
    }
}

#[test]
fn a_reply_captured_before_its_call_waits_for_it() {
    let mut wire = Wire::new(20049);
    let mut packets = wire.open(0);
    let (asked, answered) = (wire.send(0, &call(1)), wire.send(1, &reply(1)));
    packets.extend([answered, asked]);
    let found = dissect(&packets);
    assert_eq!(found.messages.iter().map(|message| message.stamp.frame).collect::<Vec<_>>(), [6, 5]);
    assert!(found.transactions[0].call.is_some() && found.transactions[0].reply.is_some());
}

#[test]
fn a_send_in_several_segments_is_assembled_or_partial() {
    let mut wire = Wire::new(20049);
    let mut packets = wire.open(0);
    let call = call(1);
    let part = |offset: usize, last: bool, data: &[u8]| {
        let control = [if last { 0x41 } else { 0x01 }, 0x43];
        let place = words(&[0, 0, 1, offset as u32]);
        fpdu(&[&control[..], &place, data].concat())
    };
    let parts = [part(0, false, &call[..20]), part(20, false, &call[20..40]), part(40, true, &call[40..])];
    // Two FPDUs in one segment, and one in two.
    packets.push(wire.data(0, &[&parts[0][..], &parts[1]].concat()));
    packets.push(wire.data(0, &parts[2][..5]));
    packets.push(wire.data(0, &parts[2][5..]));
    let found = dissect(&packets);
    assert_eq!((&found.messages[0].octets, found.messages[0].captured), (&call, Captured::Whole));
    assert_eq!(found.messages[0].stamp.frame, 7);
    // Its middle in a segment that the capture missed: neither end is taken for the whole.
    let mut wire = Wire::new(20049);
    let mut packets = wire.open(0);
    packets.push(wire.data(0, &parts[0]));
    wire.data(0, &parts[1]);
    packets.push(wire.data(0, &parts[2]));
    let found = dissect(&packets);
    let captured: Vec<Captured> = found.messages.iter().map(|message| message.captured).collect();
    assert_eq!(captured, [Captured::Head, Captured::Tail]);
}

/// Two calls with a Read chunk each, pulled into the same memory of the server one after the other.
fn reads_into_the_same_memory(wire: &mut Wire) -> Vec<Vec<u8>> {
    let sink = (5, 0x100);
    vec![
        wire.send(0, &call_with_chunk(1, 101, 8)),
        wire.read(sink, 8, 101),
        wire.response(sink, true, &[1; 8]),
        wire.send(0, &call_with_chunk(2, 102, 8)),
        wire.read(sink, 8, 102),
        wire.response(sink, false, &[2; 4]),
        wire.response((5, 0x104), true, &[2; 4]),
        wire.send(1, &reply(1)),
        wire.send(1, &reply(2)),
    ]
}

#[test]
fn a_read_response_answers_the_request_that_it_acknowledges() {
    let mut wire = Wire::new(20049);
    let set_up = wire.open(0);
    let packets = reads_into_the_same_memory(&mut wire);
    let all = [set_up.clone(), packets.clone()].concat();
    let expected = calls(&dissect(&all));
    assert!(expected[0].1.as_ref().unwrap().ends_with(&[1; 8]) && expected[1].1.as_ref().unwrap().ends_with(&[2; 8]));
    // Whatever frames the capture missed, in whatever order of neighbours it has the others, and where it begins.
    for missed in 0..1 << packets.len() {
        let kept = packets.iter().enumerate().filter(|(index, _)| missed >> index & 1 == 0);
        let kept: Vec<Vec<u8>> = kept.map(|(_, packet)| packet.clone()).collect();
        for swap in 0..kept.len() {
            let mut disturbed = kept.clone();
            disturbed.swap(swap, (swap + 1).min(kept.len() - 1));
            for before in [&set_up[..], &[]] {
                let found = dissect(&[before, &disturbed].concat());
                for (xid, octets) in calls(&found) {
                    let known = &expected.iter().find(|(known, _)| *known == xid).unwrap().1;
                    assert!(octets.is_none() || octets == *known, "missed {missed:#b}, swapped {swap}: {octets:?}");
                }
            }
        }
    }
}

#[test]
fn what_was_missed_of_a_chunk_is_said() {
    let mut wire = Wire::new(20049);
    let mut packets = wire.open(0);
    let reads = reads_into_the_same_memory(&mut wire);
    packets.extend(reads.iter().enumerate().filter(|(index, _)| *index != 5).map(|(_, packet)| packet.clone()));
    let found = dissect(&packets);
    let second = found.transactions.iter().find(|transaction| transaction.xid == 2).unwrap();
    assert!(matches!(second.call.as_ref().unwrap().message, Err(NotRebuilt::Chunk { .. })), "{second:?}");
    assert_eq!(found.reports[0].counts.active.missed, 1);
}

#[test]
fn what_enables_a_connection_is_no_message() {
    // RFC 6581 section 5: a Send, a Write or a Read of no octets comes first.
    let mut wire = Wire::new(20049);
    let mut packets = wire.open(0);
    packets.push(wire.send(0, &[]));
    let write = tagged(0x40, true, (0, 0), &[]);
    packets.push(wire.data(0, &write));
    packets.push(wire.read((0, 0), 0, 0));
    packets.push(wire.response((0, 0), true, &[]));
    packets.extend([wire.send(0, &call(1)), wire.send(1, &reply(1))]);
    let found = dissect(&packets);
    assert_eq!((found.messages.len(), found.transactions.len()), (2, 1));
    assert_eq!((found.reports[0].unmatched_transfers, found.reports[0].counts.active.unmatched), (0, 0));
}

#[test]
fn segments_behind_a_lasting_gap_are_bounded() {
    let mut wire = Wire::new(20049);
    let mut packets = wire.open(0);
    packets.extend([wire.send(0, &call(1)), wire.send(1, &reply(1))]);
    wire.data(0, &[0; 100]);
    for xid in 2..6000 {
        // Nobody acknowledges what is missing.
        packets.push(wire.send(0, &call(xid)));
    }
    let found = dissect(&packets);
    assert_eq!((found.messages.len(), found.reports[0].counts.active.missed), (6000, 1));
}

#[test]
fn connections_are_bounded_and_none_is_forgotten() {
    let mut packets = Vec::new();
    for port in 0..2000 {
        let mut wire = Wire { ports: [1000 + port, 20049], ..Wire::new(20049) };
        packets.extend(wire.open(0));
        packets.extend([wire.send(0, &call(u32::from(port))), wire.send(1, &reply(u32::from(port)))]);
    }
    let found = dissect(&packets);
    assert_eq!((found.reports.len(), found.messages.len(), found.transactions.len()), (2000, 4000, 2000));
    assert!(found.transactions.iter().all(|transaction| transaction.call.is_some() && transaction.reply.is_some()));
}

#[test]
fn no_octets_make_it_fall() {
    let mut wire = Wire::new(20049);
    let mut packets = wire.open(0);
    packets.extend(reads_into_the_same_memory(&mut wire));
    for (index, packet) in packets.iter().enumerate() {
        for at in 20..packet.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut changed = packets.clone();
                changed[index][at] = value;
                let found = dissect(&changed);
                assert!(found.messages.len() <= packets.len(), "octet {at} of {index}");
            }
        }
        for length in 0..packet.len() {
            let mut cut = packets.clone();
            cut[index].truncate(length);
            dissect(&cut);
        }
    }
}

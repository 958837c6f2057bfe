//! The way from packets to RPCs, shown by traffic that no real peer would send on demand: one test for each sentence of what
//! the engine promises about order, loss, connections, memory and the forms a call and a reply can have.

use rpcrdma_answers::JsonRecord;
use rpcrdma_answers::file_names::FileNames;
use rpcrdma_answers::transactions::TransactionObject;
use rpcrdma_dissector::nfs::{Callback, WalkError};
use rpcrdma_dissector::{
    Captured, ChunkName, Config, Counts, Files, Half, MessageForm, NotRebuilt, Rebuilt, Security, Side, Transaction,
};

use crate::synthetic::rpc::*;
use crate::synthetic::*;
use By::{Client, Server};

const MEMORY: (u32, u64) = (0xa94, 0x5000_1000);

/// A segment at [`MEMORY`].
fn segment(length: usize) -> Segment {
    (MEMORY.0, MEMORY.1, length as u32)
}

fn whole(half: &Option<Half>) -> &[u8] {
    half.as_ref().unwrap().message.as_ref().unwrap().octets()
}

fn why(half: &Option<Half>) -> NotRebuilt {
    *half.as_ref().unwrap().message.as_ref().unwrap_err()
}

fn missing(chunk: ChunkName, captured: u64, length: u64) -> NotRebuilt {
    NotRebuilt::Chunk { chunk, captured, length }
}

fn unmoved(chunk: ChunkName, first: u64, last: u64) -> NotRebuilt {
    NotRebuilt::NotMoved { chunk, first, last }
}

/// An NFSv3 READ whose data comes in a Write chunk of one segment: call, RDMA Write, reply.
fn read_rpc(wire: &mut Wire, xid: u32, memory: (u32, u64), data: &[u8]) -> Vec<Packet> {
    let segments = [(memory.0, memory.1, data.len() as u32)];
    let lists = Lists::writes(&[&segments]);
    let mut trace = wire.send(Client, &message(MSG, xid, &lists, &read3(xid, data.len() as u32)));
    trace.extend(wire.write(Server, memory, data));
    let payload = reply(xid, &read3_results(data.len() as u32));
    trace.extend(wire.send(Server, &message(MSG, xid, &lists, &payload)));
    trace.push(wire.ack_all(Client));
    trace
}

/// An NFSv3 WRITE whose data is in a Read chunk: call, RDMA Read, reply.
fn write_rpc(wire: &mut Wire, xid: u32, memory: (u32, u64), data: &[u8]) -> Vec<Packet> {
    let lists = Lists::reads(&[(WRITE3_POSITION, (memory.0, memory.1, data.len() as u32))]);
    let mut trace = wire.send(Client, &message(MSG, xid, &lists, &write3(xid, data.len() as u32)));
    trace.extend(wire.read(Server, memory, data));
    trace.extend(wire.send(Server, &message(MSG, xid, &Lists::default(), &write3_reply(xid, data.len() as u32))));
    trace.push(wire.ack_all(Client));
    trace
}

/// A NULL, `count` times, each acknowledged: what goes on after a loss.
fn nulls(wire: &mut Wire, xids: std::ops::Range<u32>) -> Vec<Packet> {
    let mut trace = Vec::new();
    for xid in xids {
        trace.extend(wire.send(Client, &message(MSG, xid, &Lists::default(), &null(xid))));
        trace.push(wire.ack_all(Server));
        trace.extend(wire.send(Server, &message(MSG, xid, &Lists::default(), &reply(xid, &[]))));
        trace.push(wire.ack_all(Client));
    }
    trace
}

fn written(xid: u32, data: &[u8]) -> Vec<u8> {
    [write3(xid, data.len() as u32), padded(data)].concat()
}

/// A READ is whole, and what was read is `data`.
fn assert_read(found: &Found, xid: u32, data: &[u8]) {
    let transaction = found.only_rpc(xid);
    assert!(whole(&transaction.reply) == read3_reply(xid, data), "{transaction:?}");
    assert_eq!(whole(&transaction.call), read3(xid, data.len() as u32));
}

fn assert_written(found: &Found, xid: u32, data: &[u8]) {
    let transaction = found.only_rpc(xid);
    assert!(whole(&transaction.call) == written(xid, data), "{transaction:?}");
    assert_eq!(whole(&transaction.reply), write3_reply(xid, data.len() as u32));
}

fn assert_nulls(found: &Found, xids: std::ops::Range<u32>) {
    for xid in xids {
        assert_eq!(
            (whole(&found.only_rpc(xid).call), whole(&found.only_rpc(xid).reply)),
            (&null(xid)[..], &reply(xid, &[])[..])
        );
    }
}

/// The packets but those at these places.
fn without(trace: &[Packet], places: &[usize]) -> Vec<Packet> {
    (0..trace.len()).filter(|place| !places.contains(place)).map(|place| trace[place].clone()).collect()
}

// --- Order, repetition and loss ------------------------------------------------------------------------------------------

#[test]
fn packet_numbers_wrap_at_2_to_the_24() {
    for before in 0..12 {
        let mut wire = Wire::default();
        wire.client.next = 0xff_ffff - before;
        wire.server.next = 0xff_ffff - before;
        let mut trace = wire.connect();
        let (one, two) = (octets(1, 5000), octets(2, 4001));
        trace.extend(read_rpc(&mut wire, 1, MEMORY, &one));
        trace.extend(write_rpc(&mut wire, 2, MEMORY, &two));
        let found = dissect(&trace);
        assert_read(&found, 1, &one);
        assert_written(&found, 2, &two);
        let counts = found.reports[0].counts;
        assert_eq!((counts.active.retransmitted, counts.passive.retransmitted), (0, 0), "{before}");
        assert_eq!((counts.active.missed, counts.passive.missed), (0, 0), "{before}");
    }
}

#[test]
fn a_send_of_three_packets_is_one_message() {
    let mut wire = Wire::default();
    let mut trace = wire.connect();
    let data = octets(3, 2400);
    trace.extend(wire.send(Client, &message(MSG, 1, &Lists::default(), &read3(1, 2400))));
    let send = message(MSG, 1, &Lists::default(), &read3_reply(1, &data));
    trace.extend(wire.send(Server, &send));
    let found = dissect(&trace);
    assert_eq!(found.messages.len(), 2);
    assert_eq!((&found.messages[1].octets, found.messages[1].captured), (&send, Captured::Whole));
    assert_eq!(found.messages[1].stamp.frame, 7, "the frame that completes it");
    assert_read(&found, 1, &data);
}

#[test]
fn unseen_acknowledged_packets_are_missed_at_the_end_too() {
    let mut wire = Wire::default();
    let mut trace = wire.connect();
    trace.extend(nulls(&mut wire, 1..3));
    let reply = trace.len() - 2;
    let found = dissect(&without(&trace, &[reply]));
    assert_eq!(found.messages.len(), 3);
    let counts = found.reports[0].counts;
    assert_eq!((counts.active.missed, counts.passive.missed), (0, 1));
    // Without the acknowledgement, nobody could know.
    let found = dissect(&without(&trace, &[reply, reply + 1]));
    assert_eq!(found.reports[0].counts.passive.missed, 0);
}

#[test]
fn after_a_negative_acknowledgement_the_accepted_copy_counts() {
    let mut wire = Wire::default();
    let mut trace = wire.connect();
    let sends: Vec<_> =
        (1..5).flat_map(|xid| wire.send(Client, &message(MSG, xid, &Lists::default(), &null(xid)))).collect();
    // The second was lost on the way, before it was captured: the receiver refuses it and those after it.
    trace.extend([sends[0].clone(), sends[2].clone(), sends[3].clone(), wire.nak(Server, 101)]);
    trace.extend(sends[1..].iter().cloned());
    trace.push(wire.ack_all(Server));
    let found = dissect(&trace);
    let seen: Vec<_> =
        found.messages.iter().map(|m| (m.prefix().unwrap().xid, m.stamp.frame, m.retransmitted)).collect();
    assert_eq!(seen, [(1, 4, 0), (2, 8, 0), (3, 9, 1), (4, 10, 1)]);
    assert_eq!(found.reports[0].counts.passive.sequence_errors, 1);
    assert_eq!((found.reports[0].counts.active.retransmitted, found.reports[0].counts.active.missed), (2, 0));
}

#[test]
fn a_retransmission_after_an_unseen_nak_is_one_message() {
    let mut wire = Wire::default();
    let mut trace = wire.connect();
    let data = octets(3, 3000);
    let rpc = read_rpc(&mut wire, 1, MEMORY, &data);
    // A timeout: the sender goes back to the second packet of the RDMA Write.
    trace.extend(rpc[..rpc.len() - 1].iter().cloned());
    trace.extend(rpc[2..].iter().cloned());
    let found = dissect(&trace);
    assert_eq!(found.messages.len(), 2);
    assert_read(&found, 1, &data);
    assert_eq!(found.only_rpc(1).write_octets, 3000, "what was sent twice was moved once");
    assert_eq!(found.reports[0].counts.passive.retransmitted, 3);
}

#[test]
fn packets_captured_twice_change_nothing() {
    let mut wire = Wire::default();
    let mut trace = wire.connect();
    let (one, two) = (octets(1, 5000), octets(2, 4001));
    trace.extend(read_rpc(&mut wire, 1, MEMORY, &one));
    trace.extend(write_rpc(&mut wire, 2, MEMORY, &two));
    let twice: Vec<Packet> = trace.iter().flat_map(|packet| [packet.clone(), packet.clone()]).collect();
    let found = dissect(&twice);
    assert_eq!((found.messages.len(), found.transactions.len(), found.reports.len()), (4, 2, 1));
    assert_read(&found, 1, &one);
    assert_written(&found, 2, &two);
    assert_eq!((found.only_rpc(1).write_octets, found.only_rpc(2).read_octets), (5000, 4001));
    // Two calls, four responses and two acknowledgements; five packets of an RDMA Write, a Read request and two replies.
    let counts = found.reports[0].counts;
    assert_eq!((counts.active.retransmitted, counts.passive.retransmitted), (0, 0));
    assert_eq!((counts.active.duplicates, counts.passive.duplicates), (8, 8));
}

#[test]
fn a_missed_write_packet_spoils_only_its_rpc() {
    let data = octets(1, 5000);
    for (lost, captured) in [(0, 0), (1, 1024), (3, 3072), (4, 4096)] {
        let mut wire = Wire::default();
        let mut trace = wire.connect();
        trace.extend(read_rpc(&mut wire, 1, MEMORY, &data));
        trace.extend(read_rpc(&mut wire, 2, (0xb00, 0), &octets(2, 2000)));
        trace.extend(nulls(&mut wire, 10..60));
        let found = dissect(&without(&trace, &[4 + lost]));
        // With its first packet the Write lost its address, so what follows it is nowhere.
        let captured = if lost == 0 { 0 } else { captured };
        assert_eq!(why(&found.only_rpc(1).reply), missing(ChunkName::Write(0), captured, 5000), "{lost}");
        assert_eq!(whole(&found.only_rpc(1).call), read3(1, 5000));
        assert_read(&found, 2, &octets(2, 2000));
        assert_nulls(&found, 10..60);
        let counts = found.reports[0].counts.passive;
        assert_eq!((counts.missed, counts.unmatched), (1, if lost == 0 { 4 } else { 0 }));
        assert_eq!(found.messages.len(), 104);
    }
}

#[test]
fn a_missed_read_response_spoils_only_its_rpc() {
    let data = octets(1, 5001);
    for (lost, captured) in [(0, 0), (1, 1024), (4, 4096)] {
        let mut wire = Wire::default();
        let mut trace = wire.connect();
        trace.extend(write_rpc(&mut wire, 1, MEMORY, &data));
        trace.extend(write_rpc(&mut wire, 2, (0xb00, 0), &octets(2, 2000)));
        trace.extend(nulls(&mut wire, 10..60));
        let found = dissect(&without(&trace, &[5 + lost]));
        let expected = missing(ChunkName::Read(WRITE3_POSITION), captured, 5001);
        assert_eq!(why(&found.only_rpc(1).call), expected, "{lost}");
        assert_eq!(whole(&found.only_rpc(1).reply), write3_reply(1, 5001));
        assert_written(&found, 2, &octets(2, 2000));
        assert_nulls(&found, 10..60);
    }
}

#[test]
fn a_read_request_that_was_missed_leaves_its_responses_nowhere() {
    let mut wire = Wire::default();
    let mut trace = wire.connect();
    trace.extend(write_rpc(&mut wire, 1, MEMORY, &octets(1, 5001)));
    trace.extend(nulls(&mut wire, 10..60));
    let found = dissect(&without(&trace, &[4]));
    assert_eq!(why(&found.only_rpc(1).call), missing(ChunkName::Read(WRITE3_POSITION), 0, 5001));
    assert_eq!(whole(&found.only_rpc(1).reply), write3_reply(1, 5001));
    assert_nulls(&found, 10..60);
}

#[test]
fn a_send_with_a_missed_packet_is_shown_in_part() {
    let data = octets(3, 2400);
    for (lost, shown) in
        [(0, vec![Captured::Tail]), (1, vec![Captured::Head, Captured::Tail]), (2, vec![Captured::Head])]
    {
        let mut wire = Wire::default();
        let mut trace = wire.connect();
        trace.extend(wire.send(Client, &message(MSG, 1, &Lists::default(), &read3(1, 2400))));
        let send = message(MSG, 1, &Lists::default(), &read3_reply(1, &data));
        trace.extend(wire.send(Server, &send));
        trace.push(wire.ack_all(Client));
        trace.extend(nulls(&mut wire, 10..60));
        let found = dissect(&without(&trace, &[4 + lost]));
        let replies: Vec<_> =
            found.messages[1..].iter().map(|m| m.captured).filter(|c| *c != Captured::Whole).collect();
        assert_eq!(replies, shown, "{lost}");
        if shown[0] == Captured::Head {
            let head = found.messages.iter().find(|message| message.captured == Captured::Head).unwrap();
            assert!(send.starts_with(&head.octets));
            assert_eq!(why(&found.only_rpc(1).reply), NotRebuilt::Send);
        } else {
            assert!(found.only_rpc(1).reply.is_none());
        }
        assert_nulls(&found, 10..60);
        assert_eq!(found.messages.len(), 101 + shown.len());
    }
}

#[test]
fn a_reply_whose_call_was_missed_is_not_guessed() {
    let mut wire = Wire::default();
    let mut trace = wire.connect();
    trace.extend(read_rpc(&mut wire, 1, MEMORY, &octets(1, 3000)));
    trace.extend(nulls(&mut wire, 10..60));
    let found = dissect(&without(&trace, &[3]));
    assert!(found.only_rpc(1).call.is_none());
    assert_eq!(why(&found.only_rpc(1).reply), NotRebuilt::CallMissing);
    assert_eq!(found.reports[0].unmatched_transfers, 1, "one RDMA Write");
    assert_nulls(&found, 10..60);
}

#[test]
fn a_call_whose_reply_was_missed_is_given_without_one() {
    let mut wire = Wire::default();
    let mut trace = wire.connect();
    trace.extend(write_rpc(&mut wire, 1, MEMORY, &octets(1, 3000)));
    trace.extend(nulls(&mut wire, 10..60));
    let found = dissect(&without(&trace, &[8]));
    assert!(found.only_rpc(1).reply.is_none());
    assert_eq!(whole(&found.only_rpc(1).call), written(1, &octets(1, 3000)));
    assert_nulls(&found, 10..60);
}

#[test]
fn a_packet_after_its_abandoned_gap_is_a_message() {
    let mut wire = Wire::default();
    let mut trace = wire.connect();
    trace.extend(nulls(&mut wire, 1..60));
    let late = trace.remove(3 + 4 * 4); // the call 5
    trace.insert(200, late);
    let found = dissect(&trace);
    assert_eq!(found.messages.len(), 118);
    let xids: Vec<u32> = found.messages.iter().map(|m| m.prefix().unwrap().xid).collect();
    assert_eq!(xids.iter().filter(|xid| **xid == 5).count(), 2);
    assert_nulls(&found, 6..60);
    assert_eq!(found.reports[0].counts.active.missed, 1);
}

#[test]
fn a_packet_that_comes_late_twice_is_one_message() {
    let mut wire = Wire::default();
    let mut trace = wire.connect();
    trace.extend(nulls(&mut wire, 1..60));
    let late = trace.remove(3 + 4 * 4); // the call 5
    trace.splice(200..200, [late.clone(), late]);
    let found = dissect(&trace);
    let calls = found.messages.iter().filter(|m| m.prefix().unwrap().xid == 5 && m.sender == Side::Active);
    assert_eq!(calls.count(), 1);
    let counts = found.reports[0].counts.active;
    assert_eq!((counts.missed, counts.retransmitted, counts.duplicates), (1, 0, 1));
}

/// The request for a connection is captured last, when a reply behind packets that are missing has waited for them.
#[test]
fn a_late_setup_shows_missing_packets_before_it() {
    for is_whole in [true, false] {
        let mut wire = Wire::default();
        let [request, reply, ready] = &wire.connect()[..] else { panic!("three messages") };
        let (request, reply, ready) = (request.clone(), reply.clone(), ready.clone());
        let rpc = read_rpc(&mut wire, 1, MEMORY, &octets(1, 3000));
        // Without its data, which has the first numbers of the server.
        let data: Vec<usize> = (1..4).collect();
        let mut trace = vec![reply, ready];
        trace.extend(if is_whole { rpc.clone() } else { without(&rpc, &data) });
        trace.push(request);
        trace.extend(nulls(&mut wire, 10..60));
        let mut config = Config::for_checker();
        config.transactions = true;
        let found = dissect_with(&trace, config);
        assert_eq!(found.only_rpc(1).reply.as_ref().unwrap().message.is_ok(), is_whole);
        let counts = found.reports[0].counts.passive;
        assert_eq!(counts.missed > 0 || !found.reports[0].connection.setup_captured, !is_whole, "{counts:?}");
    }
}

#[test]
fn a_packet_that_was_refused_has_not_arrived() {
    for refuse in [Wire::nak, Wire::not_ready] {
        let mut wire = Wire::default();
        let mut trace = wire.connect();
        trace.extend(nulls(&mut wire, 1..3));
        // It was lost on the way, before it was captured.
        let number = wire.client.next;
        let lost = wire.send(Client, &message(MSG, 3, &Lists::default(), &null(3)));
        trace.push(refuse(&mut wire, Server, number));
        assert_eq!(dissect(&trace).reports[0].counts.active.missed, 1, "the capture ends before it is retransmitted");
        // However much comes before it does.
        let next = wire.send(Client, &message(MSG, 4, &Lists::default(), &null(4)));
        trace.extend(next.clone());
        let ends = dissect(&trace);
        assert_eq!(ends.reports[0].counts.active.missed, 1, "what came after it was not missed");
        trace.extend((0..5000).map(|_| wire.ack(Server, number - 1)));
        trace.extend([lost, next].concat());
        for xid in 3..5 {
            trace.extend(wire.send(Server, &message(MSG, xid, &Lists::default(), &reply(xid, &[]))));
        }
        let found = dissect(&trace);
        assert_nulls(&found, 1..5);
        assert_eq!(found.reports[0].counts.active.missed, 0);
    }
}

#[test]
fn a_send_was_sent_again_whichever_of_its_packets_was() {
    for again in 0..3 {
        let mut wire = Wire::default();
        let mut trace = wire.connect();
        trace.extend(nulls(&mut wire, 10..11));
        let before = wire.send(Client, &message(MSG, 1, &Lists::default(), &null(1)));
        let send = message(MSG, 2, &Lists::default(), &call(2, [100_005, 3, 1], &octets(1, 2500)));
        let parts = wire.send(Client, &send);
        assert_eq!(parts.len(), 3);
        let next = wire.send(Client, &message(MSG, 3, &Lists::default(), &null(3)));
        // They wait for the Send before them, which is captured late.
        let copy = vec![parts[again].clone()];
        trace.extend([parts, next, copy, before].concat());
        let found = dissect(&trace);
        let sent: Vec<_> = found.messages[2..].iter().map(|m| (m.captured, m.retransmitted)).collect();
        assert_eq!(sent, [(Captured::Whole, 0), (Captured::Whole, 1), (Captured::Whole, 0)], "{again}");
        assert_eq!(found.reports[0].counts.active.retransmitted, 1);
    }
}

#[test]
fn a_write_that_comes_late_lands_in_its_own_place() {
    let data = octets(1, 5000);
    let mut wire = Wire::default();
    let mut trace = wire.connect();
    trace.extend(read_rpc(&mut wire, 1, MEMORY, &data));
    let other = octets(2, 2000);
    trace.extend(read_rpc(&mut wire, 2, MEMORY, &other));
    trace.extend(nulls(&mut wire, 10..60));
    let late = trace.remove(5);
    trace.insert(120, late);
    let found = dissect(&trace);
    assert_eq!(found.reports[0].counts.passive.unmatched, 1, "it is not placed, as the memory may serve another call");
    assert_eq!(why(&found.only_rpc(1).reply), missing(ChunkName::Write(0), 1024, 5000));
    assert_read(&found, 2, &other);
}

#[test]
fn packets_out_of_order_across_directions_are_put_in_order() {
    let data = octets(1, 3000);
    let (one, two) = (octets(2, 3000), octets(3, 100));
    let mut first = Wire::default();
    let mut before = first.connect();
    before.extend(nulls(&mut first, 10..12));
    let mut wire = first;
    let mut rpcs = read_rpc(&mut wire, 1, MEMORY, &data);
    rpcs.extend(write_rpc(&mut wire, 2, (0xb00, 0), &one));
    rpcs.extend(read_rpc(&mut wire, 3, (0xc00, 0), &two));
    for from in 0..rpcs.len() {
        for to in 0..rpcs.len() {
            let mut trace = rpcs.clone();
            let packet = trace.remove(from);
            trace.insert(to, packet);
            let trace = [before.clone(), trace].concat();
            let found = dissect(&trace);
            assert_eq!(found.messages.len(), 10, "{from} to {to}");
            // A call that comes after the next RPC began is beyond what can be put in order: nothing may be wrong.
            if from.abs_diff(to) <= 5 {
                assert_read(&found, 1, &data);
                assert_written(&found, 2, &one);
                assert_read(&found, 3, &two);
            }
        }
    }
}

#[test]
fn a_divided_reply_that_overtakes_its_call_matches_it() {
    let mut wire = Wire::default();
    let mut trace = wire.connect();
    trace.extend(nulls(&mut wire, 10..12));
    let data = octets(3, 2400);
    let call = wire.send(Client, &message(MSG, 1, &Lists::default(), &read3(1, 2400)));
    trace.extend(wire.send(Server, &message(MSG, 1, &Lists::default(), &read3_reply(1, &data))));
    trace.extend(call);
    trace.extend(nulls(&mut wire, 20..60));
    assert_read(&dissect(&trace), 1, &data);
}

#[test]
fn a_send_refused_by_an_rnr_nak_is_one_message() {
    let mut wire = Wire::default();
    let mut trace = wire.connect();
    let send = wire.send(Client, &message(MSG, 1, &Lists::default(), &null(1)));
    let after = wire.send(Client, &message(MSG, 2, &Lists::default(), &null(2)));
    trace.extend(send.clone());
    trace.extend(after.clone());
    trace.push(wire.not_ready(Server, 100));
    trace.extend(send);
    trace.extend(after);
    for xid in [1, 2] {
        trace.extend(wire.send(Server, &message(MSG, xid, &Lists::default(), &reply(xid, &[]))));
    }
    let found = dissect(&trace);
    assert_eq!(found.messages.len(), 4);
    assert_nulls(&found, 1..3);
    assert_eq!((found.reports[0].counts.passive.not_ready, found.reports[0].counts.active.retransmitted), (1, 2));
}

#[test]
fn a_read_repeated_from_its_middle_gives_the_same_data() {
    let data = octets(1, 5001);
    // The responses from `lost` on were lost on the way to the server; the capture may have seen them or not.
    for lost in 0..5 {
        for seen in [true, false] {
            let mut wire = Wire::default();
            let mut trace = wire.connect();
            let rpc = write_rpc(&mut wire, 1, MEMORY, &data);
            let (number, at) = (7000 + lost as u32, lost * 1024);
            trace.extend(rpc[..2 + if seen { 5 } else { lost }].iter().cloned());
            trace.push(wire.read_request_again(Server, number, (MEMORY.0, MEMORY.1 + at as u64), data.len() - at));
            trace.extend(wire.read_responses(Client, number, &data[at..]));
            trace.extend(rpc[7..].iter().cloned());
            let found = dissect(&trace);
            assert_written(&found, 1, &data);
            assert_eq!(found.only_rpc(1).read_octets, 5001);
            // Packets that come twice in a row at once, without having been asked for, are copies.
            let Counts { retransmitted, duplicates, .. } = found.reports[0].counts.passive;
            assert_eq!((retransmitted, duplicates), if seen || lost > 0 { (1, 0) } else { (0, 1) });
        }
    }
}

#[test]
fn a_capture_beginning_with_a_read_learns_the_mtu() {
    for mtu in [256, 512, 1024, 2048, 4096] {
        let mut wire = Wire { mtu, ..Wire::default() };
        let mut trace = nulls(&mut wire, 10..12);
        let data = octets(1, 9001);
        trace.extend(write_rpc(&mut wire, 1, MEMORY, &data));
        trace.extend(nulls(&mut wire, 20..30));
        let found = dissect(&trace);
        assert_written(&found, 1, &data);
        assert_nulls(&found, 10..12);
        assert_nulls(&found, 20..30);
    }
}

#[test]
fn two_read_requests_in_flight_show_the_path_mtu() {
    for mtu in [256, 512, 1024, 2048, 4096] {
        for length in [200, 1000, 5000, 8192] {
            let mut wire = Wire { mtu, ..Wire::default() };
            let mut trace = nulls(&mut wire, 10..12);
            let (one, two) = (octets(1, length), octets(2, 9000));
            let other = (0xb00, 0);
            let lists = |memory: (u32, u64), data: &[u8]| {
                Lists::reads(&[(WRITE3_POSITION, (memory.0, memory.1, data.len() as u32))])
            };
            trace.extend(wire.send(Client, &message(MSG, 1, &lists(MEMORY, &one), &write3(1, length as u32))));
            trace.extend(wire.send(Client, &message(MSG, 2, &lists(other, &two), &write3(2, 9000))));
            let first = wire.server.next;
            trace.push(wire.read_request(Server, MEMORY, length));
            let second = wire.server.next;
            trace.push(wire.read_request(Server, other, 9000));
            trace.extend(wire.read_responses(Client, first, &one));
            trace.extend(wire.read_responses(Client, second, &two));
            for (xid, count) in [(1, length as u32), (2, 9000)] {
                trace.extend(wire.send(Server, &message(MSG, xid, &Lists::default(), &write3_reply(xid, count))));
            }
            trace.push(wire.ack_all(Client));
            let found = dissect(&trace);
            assert_written(&found, 1, &one);
            assert_written(&found, 2, &two);
            assert_nulls(&found, 10..12);
            assert_eq!(found.reports[0].counts.passive.early, 0, "the second is where the first one's responses end");
        }
    }
}

#[test]
fn a_read_of_one_packet_shows_no_path_mtu() {
    let mut wire = Wire::default();
    let mut trace = nulls(&mut wire, 10..12);
    let (one, two) = (octets(1, 1000), octets(2, 9000));
    trace.extend(write_rpc(&mut wire, 1, MEMORY, &one));
    trace.extend(write_rpc(&mut wire, 2, MEMORY, &two));
    trace.extend(nulls(&mut wire, 20..60));
    let found = dissect(&trace);
    assert_written(&found, 1, &one);
    assert_written(&found, 2, &two);
    assert_eq!((found.reports[0].counts.active.missed, found.reports[0].counts.passive.missed), (0, 0));
}

#[test]
fn responses_to_a_missed_request_match_no_earlier_one() {
    // The capture begins in the middle, so the path MTU is not known, and one Read request asks for part of a chunk.
    for length in [1500, 2048, 3000] {
        for lost_responses in [false, true] {
            let mut wire = Wire::default();
            let mut trace = nulls(&mut wire, 10..12);
            let (one, two) = (octets(1, 8192), octets(2, length));
            let lists = |memory: (u32, u64), data: &[u8]| {
                Lists::reads(&[(WRITE3_POSITION, (memory.0, memory.1, data.len() as u32))])
            };
            trace.extend(wire.send(Client, &message(MSG, 1, &lists(MEMORY, &one), &write3(1, 8192))));
            trace.extend(wire.send(Client, &message(MSG, 2, &lists((0xb00, 0), &two), &write3(2, length as u32))));
            let first = wire.server.next;
            trace.push(wire.read_request(Server, MEMORY, 2048));
            let second = wire.server.next;
            wire.read_request(Server, (0xb00, 0), length); // missed
            if !lost_responses {
                trace.extend(wire.read_responses(Client, first, &one[..2048]));
            }
            trace.extend(wire.read_responses(Client, second, &two));
            let rest = wire.server.next;
            trace.push(wire.read_request(Server, (MEMORY.0, MEMORY.1 + 2048), 6144));
            trace.extend(wire.read_responses(Client, rest, &one[2048..]));
            for (xid, count) in [(1, 8192), (2, length as u32)] {
                trace.extend(wire.send(Server, &message(MSG, xid, &Lists::default(), &write3_reply(xid, count))));
            }
            trace.extend(nulls(&mut wire, 20..60));
            let found = dissect(&trace);
            if let Ok(call) = &found.only_rpc(1).call.as_ref().unwrap().message {
                assert!(call.octets() == written(1, &one), "an octet of one call is in another: {length}");
            }
            if let Ok(call) = &found.only_rpc(2).call.as_ref().unwrap().message {
                assert!(call.octets() == written(2, &two), "an octet of one call is in another: {length}");
            }
            if !lost_responses {
                assert_written(&found, 1, &one);
            }
            assert_nulls(&found, 20..60);
        }
    }
}

/// The XID and the sender of each message, in order.
fn sent(found: &Found) -> Vec<(u32, Side)> {
    found.messages.iter().map(|message| (message.prefix().unwrap().xid, message.sender)).collect()
}

#[test]
fn messages_behind_a_missing_packet_keep_their_order() {
    let (mut wire, mut trace) = connected();
    let [one, two, three] =
        [1, 2, 3].map(|xid| wire.send(Client, &message(MSG, xid, &Lists::default(), &null(xid))).remove(0));
    let answer = wire.send(Server, &message(MSG, 1, &Lists::default(), &reply(1, &[]))).remove(0);
    trace.extend([one, three, answer, two]);
    trace.push(wire.ack_all(Server));
    let found = dissect(&trace);
    let expected = [(1, Side::Active), (2, Side::Active), (3, Side::Active), (1, Side::Passive)];
    assert_eq!(sent(&found), expected);
    let counts = found.reports[0].counts;
    assert_eq!((counts.active.packets, counts.active.early, counts.active.missed), (3, 1, 0));
    assert_eq!((counts.passive.packets, counts.passive.early), (2, 0));
}

#[test]
fn an_acknowledgement_before_what_it_acknowledges_is_early() {
    let (mut wire, mut trace) = connected();
    let sends: Vec<_> =
        (1..4).map(|xid| wire.send(Client, &message(MSG, xid, &Lists::default(), &null(xid))).remove(0)).collect();
    trace.push(wire.ack(Server, 100));
    trace.extend(sends);
    trace.push(wire.ack_all(Server));
    let counts = dissect(&trace).reports[0].counts;
    assert_eq!((counts.active.early, counts.passive.early), (0, 1));
}

#[test]
fn a_gap_is_abandoned_64_packets_after_its_acknowledgement() {
    for (after, missed) in [(64, 0), (65, 1)] {
        let (mut wire, mut trace) = connected();
        trace.extend(nulls(&mut wire, 1..4));
        let late = wire.send(Client, &message(MSG, 4, &Lists::default(), &null(4)));
        trace.extend(wire.send(Client, &message(MSG, 5, &Lists::default(), &null(5))));
        trace.extend(wire.acks(Server, 103, after + 1));
        trace.extend(late);
        let found = dissect(&trace);
        assert_eq!(found.reports[0].counts.active.missed, missed, "{after}");
        let xids: Vec<u32> = sent(&found)[6..].iter().map(|(xid, _)| *xid).collect();
        assert_eq!(xids, if missed == 0 { [4, 5] } else { [5, 4] });
    }
}

#[test]
fn a_reply_waits_64_packets_for_its_call() {
    for (after, has_call) in [(64, true), (65, false)] {
        let (mut wire, mut trace) = connected();
        trace.extend(nulls(&mut wire, 1..4));
        let call = wire.send(Client, &message(MSG, 4, &Lists::default(), &null(4)));
        trace.extend(wire.send(Server, &message(MSG, 4, &Lists::default(), &reply(4, &[]))));
        trace.extend(wire.acks(Client, 7002, after));
        trace.extend(call);
        let found = dissect(&trace);
        let answered =
            found.transactions.iter().find(|transaction| transaction.xid == 4 && transaction.reply.is_some());
        assert_eq!(answered.unwrap().call.is_some(), has_call, "{after}");
    }
}

#[test]
fn a_gap_is_abandoned_before_a_reply_behind_it() {
    let (mut wire, mut trace) = connected();
    trace.extend(nulls(&mut wire, 1..3));
    wire.send(Client, &message(MSG, 3, &Lists::default(), &null(3))); // missed
    trace.extend(wire.send(Server, &message(MSG, 3, &Lists::default(), &reply(3, &[]))));
    trace.extend(wire.send(Client, &message(MSG, 4, &Lists::default(), &null(4))));
    trace.extend(wire.acks(Client, 7001, 70));
    assert_eq!(sent(&dissect(&trace))[4..], [(4, Side::Active), (3, Side::Passive)]);
}

#[test]
fn repetitions_while_a_packet_is_missing_take_no_room() {
    let mut wire = Wire { mtu: 256, ..Wire::default() };
    let mut trace = wire.connect();
    // More packets than may be held.
    let long = wire.send(Client, &message(MSG, 1, &Lists::default(), &octets(1, 4200 * 256)));
    let missing = wire.send(Client, &message(MSG, 2, &Lists::default(), &null(2)));
    let after = wire.send(Client, &message(MSG, 3, &Lists::default(), &null(3)));
    trace.extend([long.clone(), after, long, missing].concat());
    let found = dissect(&trace);
    let counts = found.reports[0].counts.active;
    assert_eq!((counts.missed, counts.retransmitted), (0, 4201));
    assert_eq!(found.messages.len(), 3);
}

#[test]
fn packets_of_one_gap_may_come_late_in_any_order() {
    let (mut wire, mut trace) = connected();
    trace.extend(nulls(&mut wire, 1..3));
    let late: Vec<_> =
        (3..6).flat_map(|xid| wire.send(Client, &message(MSG, xid, &Lists::default(), &null(xid)))).collect();
    trace.extend(nulls(&mut wire, 6..40));
    for order in [[1, 0, 2], [0, 2, 1], [2, 1, 0]] {
        let late = order.map(|place: usize| late[place].clone()).to_vec();
        let found = dissect(&[trace.clone(), late.clone(), late].concat());
        let calls = |xid| found.messages.iter().filter(|m| m.prefix().unwrap().xid == xid).count();
        assert_eq!([3, 4, 5].map(calls), [1, 1, 1], "{order:?}");
        let counts = found.reports[0].counts.active;
        assert_eq!((counts.missed, counts.retransmitted), (3, 3));
    }
}

#[test]
fn packets_up_to_64_before_the_first_come_late() {
    for first in [0xff_ffd0, 3, 0x1000] {
        for (before, is_late) in [(1, true), (64, true), (65, false)] {
            let mut wire = Wire::default();
            wire.client.next = first;
            let earlier = wire.send(Client, &message(MSG, 1, &Lists::default(), &null(1)));
            wire.client.next = (first + before) & 0xff_ffff;
            let mut trace = wire.send(Client, &message(MSG, 2, &Lists::default(), &null(2)));
            trace.push(wire.ack_all(Server));
            trace.extend(earlier);
            let found = dissect(&trace);
            assert_eq!(found.messages.len(), if is_late { 2 } else { 1 }, "{first:#x}, {before}");
            assert_eq!(found.reports[0].counts.active.retransmitted, u64::from(!is_late));
        }
    }
}

#[test]
fn numbers_further_away_than_any_window_begin_anew() {
    for (by, missed, retransmitted) in
        [(1 << 20, 1 << 20, 0), ((1 << 20) + 1, 0, 0), (-(1 << 20), 0, 1), (-(1 << 20) - 1, 0, 0)]
    {
        let (mut wire, mut trace) = connected();
        trace.extend(nulls(&mut wire, 1..3));
        wire.client.next = wire.client.next.wrapping_add_signed(by) & 0xff_ffff;
        trace.extend(wire.send(Client, &message(MSG, 3, &Lists::default(), &null(3))));
        let found = dissect(&trace);
        let counts = found.reports[0].counts.active;
        assert_eq!((counts.missed, counts.retransmitted), (missed, retransmitted), "{by}");
        assert_eq!(found.messages.len(), if retransmitted == 0 { 5 } else { 4 });
    }
}

#[test]
fn an_acknowledgement_further_away_than_any_window_tells_nothing() {
    for (ahead, missed) in [((1 << 20) - 1, 1 << 20), (1 << 20, 0), (1 << 22, 0)] {
        let (mut wire, mut trace) = connected();
        trace.extend(nulls(&mut wire, 1..3));
        let next = wire.client.next;
        trace.push(wire.ack(Server, next + ahead));
        assert_eq!(dissect(&trace).reports[0].counts.active.missed, missed, "{ahead}");
    }
}

#[test]
fn a_middle_response_shows_that_its_request_was_sent() {
    let (mut wire, mut trace) = connected();
    trace.extend(nulls(&mut wire, 1..3));
    let rpc = write_rpc(&mut wire, 3, MEMORY, &octets(1, 3000));
    trace.extend([rpc[0].clone(), rpc[3].clone()]);
    // It takes three numbers, of which the response has the second.
    assert_eq!(dissect(&trace).reports[0].counts.passive.missed, 1);
}

#[test]
fn refused_packets_count_if_finally_accepted() {
    let (mut wire, mut trace) = connected();
    let sends: Vec<_> =
        (1..5).map(|xid| wire.send(Client, &message(MSG, xid, &Lists::default(), &null(xid))).remove(0)).collect();
    trace.extend([sends[0].clone(), wire.nak(Server, 101), sends[2].clone(), sends[3].clone()]);
    // All is retransmitted, which the capture misses.
    trace.push(wire.ack_all(Server));
    for xid in 1..5 {
        trace.extend(wire.send(Server, &message(MSG, xid, &Lists::default(), &reply(xid, &[]))));
    }
    let found = dissect(&trace);
    for xid in [1, 3, 4] {
        assert_nulls(&found, xid..xid + 1);
    }
    assert_eq!(found.reports[0].counts.active.missed, 1);
}

#[test]
fn beyond_4096_refused_packets_the_last_are_dropped() {
    let mut wire = Wire { mtu: 256, ..Wire::default() };
    let mut trace = wire.connect();
    trace.extend(nulls(&mut wire, 1..2));
    let lost = wire.client.next;
    wire.send(Client, &message(MSG, 2, &Lists::default(), &null(2)));
    trace.push(wire.nak(Server, lost));
    trace.extend(wire.send(Client, &octets(1, 4200 * 256)));
    let found = dissect(&trace);
    assert_eq!(found.reports[0].counts.active.unmatched, 104);
}

#[test]
fn the_setup_mtu_says_how_many_numbers_a_read_uses() {
    let (mut wire, mut trace) = connected();
    trace.extend(wire.send(Client, &message(MSG, 1, &Lists::default(), &null(1))));
    // A packet in the middle of a message that has no data is no packet of the path MTU.
    let number = wire.client.next;
    let empty = wire.packet(Client, 0, number, &[], &[]);
    wire.client.next += 1;
    for before in [vec![], vec![empty]] {
        let (mut wire, mut trace) = (wire, [trace.clone(), before].concat());
        trace.push(wire.read_request(Server, MEMORY, 4096));
        wire.send(Server, &message(MSG, 1, &Lists::default(), &reply(1, &[])));
        trace.extend(wire.send(Server, &message(MSG, 2, &Lists::default(), &reply(2, &[]))));
        let found = dissect(&trace);
        let counts = found.reports[0].counts.passive;
        assert_eq!((counts.missed, counts.retransmitted), (1, 0), "the responses are the client's");
    }
}

#[test]
fn nothing_is_missed_where_the_capture_ends_with_a_read() {
    let (mut wire, mut trace) = connected();
    let rpc = write_rpc(&mut wire, 1, MEMORY, &octets(1, 5000));
    trace.extend(rpc[..7].iter().cloned());
    let counts = dissect(&trace).reports[0].counts;
    assert_eq!((counts.active.missed, counts.passive.missed), (0, 0));
}

#[test]
fn a_last_write_packet_does_not_end_the_previous_write() {
    let (mut wire, mut trace) = connected();
    let lists = [(1, 0), (2, 0)].map(|(handle, offset)| Lists::writes(&[&[(handle, offset, 5000)]]));
    for (xid, lists) in (1..).zip(&lists) {
        trace.extend(wire.send(Client, &message(MSG, xid, lists, &read3(xid, 5000))));
    }
    let one = wire.write(Server, (1, 0), &octets(1, 5000));
    let two = wire.write(Server, (2, 0), &octets(2, 5000));
    // The capture misses the end of the first and the beginning of the second.
    trace.extend([&one[..4], &two[4..]].concat());
    for (xid, lists) in (1..).zip(&lists) {
        trace.extend(wire.send(Server, &message(MSG, xid, lists, &reply(xid, &read3_results(5000)))));
    }
    trace.push(wire.ack_all(Client));
    let found = dissect(&trace);
    assert_eq!(why(&found.only_rpc(1).reply), missing(ChunkName::Write(0), 4096, 5000));
    assert_eq!(why(&found.only_rpc(2).reply), missing(ChunkName::Write(0), 0, 5000));
}

#[test]
fn a_last_response_does_not_end_another_request() {
    // The server asks for the beginning again, which the capture misses; so it does the responses to the first request.
    for (set_up, again, captured) in [(true, 2000, 1024), (false, 100, 0)] {
        let mut wire = Wire::default();
        let mut trace = if set_up { wire.connect() } else { nulls(&mut wire, 10..12) };
        let data = octets(1, 4096);
        let number = wire.server.next;
        let rpc = write_rpc(&mut wire, 1, MEMORY, &data);
        trace.extend(rpc[..2].iter().cloned());
        trace.extend(wire.read_responses(Client, number, &data[..again]));
        trace.extend(rpc[6..].iter().cloned());
        let found = dissect(&trace);
        assert_eq!(why(&found.only_rpc(1).call), missing(ChunkName::Read(WRITE3_POSITION), captured, 4096), "{again}");
        assert_eq!(found.reports[0].counts.active.unmatched, 1);
    }
}

// --- Memory --------------------------------------------------------------------------------------------------------------

#[test]
fn a_reused_handle_after_a_missed_reply_mixes_nothing() {
    let (one, two) = (octets(1, 4096), octets(2, 4096));
    for offset in [0u64, 512, 0x10_0000] {
        for lost_calls in [false, true] {
            let mut wire = Wire::default();
            let mut trace = wire.connect();
            let first = read_rpc(&mut wire, 1, MEMORY, &one);
            // The reply of the first, and of its RDMA Write the second half, are missed.
            trace.extend(first[..3].iter().cloned());
            let second = read_rpc(&mut wire, 2, (MEMORY.0, MEMORY.1 + offset), &two);
            trace.extend(second[usize::from(lost_calls)..].iter().cloned());
            trace.extend(nulls(&mut wire, 20..60));
            let found = dissect(&trace);
            assert!(found.only_rpc(1).reply.is_none());
            if lost_calls {
                assert_eq!(why(&found.only_rpc(2).reply), NotRebuilt::CallMissing);
            } else {
                assert_read(&found, 2, &two);
            }
        }
    }
}

#[test]
fn a_late_write_misses_the_next_call_of_its_handle() {
    for reads in [false, true] {
        let mut wire = Wire::default();
        let mut trace = wire.connect();
        let (one, two) = (octets(1, 1000), octets(2, 1000));
        let mut first = read_rpc(&mut wire, 1, MEMORY, &one);
        let late = first.remove(1);
        trace.extend(first);
        trace.extend(nulls(&mut wire, 10..60));
        let mut second =
            if reads { write_rpc(&mut wire, 2, MEMORY, &two) } else { read_rpc(&mut wire, 2, MEMORY, &two) };
        let reply = second.len() - 2;
        second.insert(reply, late);
        trace.extend(second);
        trace.extend(nulls(&mut wire, 60..70));
        let found = dissect(&trace);
        assert_eq!(why(&found.only_rpc(1).reply), missing(ChunkName::Write(0), 0, 1000));
        if reads {
            assert_written(&found, 2, &two);
        } else {
            assert_read(&found, 2, &two);
        }
    }
}

#[test]
fn a_write_goes_to_no_read_chunk() {
    // A call that uses the handle again is captured before the RDMA Write for the call before it.
    let mut wire = Wire::default();
    let mut trace = wire.connect();
    trace.extend(nulls(&mut wire, 10..12));
    let (one, two) = (octets(1, 3000), octets(2, 3000));
    let mut rpcs = read_rpc(&mut wire, 1, MEMORY, &one);
    let before = rpcs.len();
    rpcs.extend(write_rpc(&mut wire, 2, MEMORY, &two));
    let call = rpcs.remove(before);
    rpcs.insert(1, call);
    trace.extend(rpcs);
    let found = dissect(&trace);
    assert_read(&found, 1, &one);
    assert_written(&found, 2, &two);
}

#[test]
fn one_handle_at_two_offsets_serves_two_calls_at_once() {
    let mut wire = Wire::default();
    let mut trace = wire.connect();
    let (one, two) = (octets(1, 3000), octets(2, 3000));
    let memory = [(7, 0x1000), (7, 0x1000 + 3000)];
    let lists = memory.map(|(handle, offset)| Lists::writes(&[&[(handle, offset, 3000)]]));
    for (xid, lists) in [(1, &lists[0]), (2, &lists[1])] {
        trace.extend(wire.send(Client, &message(MSG, xid, lists, &read3(xid, 3000))));
    }
    trace.extend(wire.write(Server, memory[1], &two));
    trace.extend(wire.write(Server, memory[0], &one));
    for (xid, lists) in [(2, &lists[1]), (1, &lists[0])] {
        trace.extend(wire.send(Server, &message(MSG, xid, lists, &reply(xid, &read3_results(3000)))));
    }
    let found = dissect(&trace);
    assert_read(&found, 1, &one);
    assert_read(&found, 2, &two);
}

#[test]
fn connections_with_the_same_handles_and_xids_are_apart() {
    let mut one = Wire::default();
    let mut two = Wire {
        client: End { host: 1, queue_pair: 0x12, next: 100 },
        server: End { host: 2, queue_pair: 0x23, next: 7000 },
        name: 2,
        ..Wire::default()
    };
    let (first, second) = (octets(1, 3000), octets(2, 3000));
    let mut trace = [one.connect(), two.connect()].concat();
    let (a, b) = (read_rpc(&mut one, 1, MEMORY, &first), read_rpc(&mut two, 1, MEMORY, &second));
    trace.extend(a.into_iter().zip(b).flat_map(|(a, b)| [a, b]));
    let found = dissect(&trace);
    assert_eq!(found.transactions.len(), 2);
    for transaction in &found.transactions {
        let data = if transaction.connection == 1 { &first } else { &second };
        assert!(whole(&transaction.reply) == read3_reply(1, data));
    }
    assert_ne!(found.transactions[0].connection, found.transactions[1].connection);
}

#[test]
fn the_same_xid_may_be_live_in_both_directions() {
    let mut wire = Wire::default();
    let mut trace = wire.connect();
    let back = call(1, [0x4000_0000, 1, 0], &[]);
    trace.extend(wire.send(Client, &message(MSG, 1, &Lists::default(), &read3(1, 3))));
    trace.extend(wire.send(Server, &message(MSG, 1, &Lists::default(), &back)));
    trace.extend(wire.send(Server, &message(MSG, 1, &Lists::default(), &read3_reply(1, &[1, 2, 3]))));
    trace.extend(wire.send(Client, &message(MSG, 1, &Lists::default(), &reply(1, &[]))));
    let found = dissect(&trace);
    assert_eq!(found.transactions.len(), 2);
    let [forward, reverse] = &found.transactions[..] else { panic!() };
    assert!(!forward.reverse && reverse.reverse);
    assert_eq!(whole(&forward.reply), read3_reply(1, &[1, 2, 3]));
    assert_eq!((whole(&reverse.call), whole(&reverse.reply)), (&back[..], &reply(1, &[])[..]));
    assert_eq!(reverse.name, Some("NFSv4 CB_NULL"));
}

/// A COMPOUND with one operation: tag, minor version, count.
fn one_operation(xid: u32, operation: &[u32]) -> Vec<u8> {
    call(xid, [100_003, 4, 1], &words(&[&[0, 1, 1], operation].concat()))
}

/// The name of a call of the server's to this program, procedure 1, and how its program is known.
fn called_back(announced: &[Vec<u8>], program: u32) -> (Option<&'static str>, Callback) {
    let mut wire = Wire::default();
    let mut trace = wire.connect();
    for (xid, call) in (10..).zip(announced) {
        trace.extend(wire.send(Client, &message(MSG, xid, &Lists::default(), call)));
        trace.extend(wire.send(Server, &message(MSG, xid, &Lists::default(), &reply(xid, &words(&[0, 0, 0])))));
    }
    let back = call(1, [program, 1, 1], &words(&[0, 1, 0, 0]));
    trace.extend(wire.send(Server, &message(MSG, 1, &Lists::default(), &back)));
    trace.extend(wire.send(Client, &message(MSG, 1, &Lists::default(), &reply(1, &words(&[0, 0, 0])))));
    let found = dissect(&trace);
    let transaction = found.only_rpc(1);
    assert!(transaction.reverse);
    assert!(whole(&transaction.call) == back);
    let rpc = found.messages[announced.len() * 2].rpc.as_ref().unwrap();
    assert_eq!((rpc.name, rpc.callback), (transaction.name, transaction.callback));
    let mut object = Vec::new();
    TransactionObject::new(transaction, &Files::default(), &mut FileNames::default()).write_json(&mut object).unwrap();
    let is_said = String::from_utf8(object).unwrap().contains(r#""reverse":true,"program_guessed":true,"#);
    assert_eq!(is_said, transaction.callback == Callback::Guessed);
    (transaction.name, transaction.callback)
}

#[test]
fn the_announced_program_number_identifies_callbacks() {
    const COMPOUND: Option<&str> = Some("NFSv4 CB_COMPOUND");
    let program = 0x4000_0017;
    let channel = [0; 7];
    let create_session = [&[43, 0, 0, 1, 3][..], &channel, &channel, &[program, 0]].concat();
    // A verifier, an identifier, the program; "tcp" at "0.0.0.0.0.0".
    let location = [3, 0x7463_7000, 11, 0x302e_302e, 0x302e_302e, 0x302e_3000];
    let setclientid = [&[35, 0, 0, 4, 0x6e61_6d65, program][..], &location, &[1]].concat();
    let backchannel_ctl = vec![40, program, 0];
    for operation in [create_session, setclientid, backchannel_ctl] {
        let announced = [one_operation(10, &operation)];
        assert_eq!(called_back(&announced, program), (COMPOUND, Callback::Announced));
        assert_eq!(called_back(&announced, program + 1), (None, Callback::No), "that is another program");
    }
    // As many as are remembered; the number need not be a transient one.
    let announced: Vec<_> = (0..5).map(|number| one_operation(10 + number, &[40, 0x2000_0000 + number, 0])).collect();
    let known: Vec<_> = (0..6).map(|number| called_back(&announced, 0x2000_0000 + number).1.is_callback()).collect();
    assert_eq!(known, [false, true, true, true, true, false]);
}

#[test]
fn unannounced_callbacks_are_guessed_from_transient_program_numbers() {
    for program in [0x4000_0000, 0x5fff_ffff] {
        assert_eq!(called_back(&[], program), (Some("NFSv4 CB_COMPOUND"), Callback::Guessed));
    }
    for program in [0x3fff_ffff, 0x6000_0000, 400_100] {
        assert_eq!(called_back(&[], program), (None, Callback::No));
    }
}

/// It may ask for other credits. What is another call of the same XID has its own data, and it is not known for which of
/// them what was missed of it was moved.
#[test]
fn a_repeated_call_keeps_the_writes_of_the_first() {
    let lists = Lists::writes(&[&[segment(100)]]);
    let call = message(MSG, 1, &lists, &read3(1, 100));
    let mut copy = call.clone();
    copy[11] += 1;
    for (again, is_copy) in [(&call, true), (&copy, true), (&message(MSG, 1, &lists, &read3(1, 96)), false)] {
        let (mut wire, mut trace) = connected();
        trace.extend(wire.send(Client, &call));
        trace.extend(wire.write(Server, MEMORY, &octets(2, 100)));
        trace.extend(wire.send(Client, again));
        trace.extend(wire.send(Server, &message(MSG, 1, &lists, &reply(1, &read3_results(100)))));
        let found = dissect(&trace);
        let [first, second] = &found.transactions[..] else { panic!("the call, and the call again") };
        if is_copy {
            assert_eq!(whole(&second.reply), read3_reply(1, &octets(2, 100)));
            assert_eq!((first.write_octets, second.write_octets), (0, 100));
        } else {
            assert_eq!(why(&second.reply), missing(ChunkName::Write(0), 0, 100));
            assert_eq!((first.write_octets, second.write_octets), (100, 0));
        }
    }
}

#[test]
fn a_repeated_call_keeps_the_reads_of_the_first() {
    let (mut wire, mut trace) = connected();
    let rpc = write_rpc(&mut wire, 1, MEMORY, &octets(1, 3000));
    let [call, asks, data @ .., reply] = &rpc[..] else { panic!() };
    let again = wire.send(Client, &message(MSG, 1, &Lists::reads(&[(68, segment(3000))]), &write3(1, 3000)));
    assert_eq!(again[0][40..], call[40..], "but for its number");
    trace.extend([call.clone(), asks.clone()]);
    trace.extend(again);
    trace.extend_from_slice(data);
    trace.push(reply.clone());
    let found = dissect(&trace);
    assert_written(&Found { transactions: found.transactions[1..].to_vec(), ..Found::default() }, 1, &octets(1, 3000));
}

#[test]
fn a_reply_cut_before_its_direction_answers_the_waiting_call() {
    let (mut wire, mut trace) = connected();
    trace.extend(nulls(&mut wire, 1..2));
    // Of the reply its header and XID are there.
    let cut = |packet: &Packet| packet[..20 + 8 + 12 + 28 + 4].to_vec();
    let whole = |packet: &Packet| (packet.clone(), packet.len() as u32);
    let mut packets: Vec<_> = trace.iter().map(whole).collect();
    let reply = packets.iter_mut().rfind(|(packet, _)| packet[15] == 2 && packet.len() > 72).unwrap();
    reply.0 = cut(&reply.0);
    let found = dissect_cut(&packets, Config::default());
    let rpc = found.only_rpc(1);
    assert_eq!((rpc.name, why(&rpc.reply)), (Some("NFSv3 NULL"), NotRebuilt::Send));
}

/// It comes back unused. A chunk that the call did not offer is one of a call in the other direction.
#[test]
fn a_provided_reply_returns_only_its_own_reply_chunk() {
    for (handle, answers) in [(0xbbb, true), (0xbbc, false)] {
        let (mut wire, mut trace) = connected();
        trace.extend(wire.send(Client, &message(MSG, 1, &Lists::reply(&[(0xbbb, 0, 100)]), &null(1))));
        let lists = Lists { reply: Some(vec![(handle, 0, 0)]), ..Lists::reads(&[(0, segment(24))]) };
        trace.extend(wire.send(Server, &message(NOMSG, 1, &lists, &[])));
        trace.extend(wire.read(Client, MEMORY, &reply(1, &[])));
        trace.extend(wire.send(Client, &words(&[1, 1, 32, 3])));
        let rpcs = dissect(&trace).transactions;
        assert_eq!(rpcs.iter().any(|rpc| rpc.call.is_some() && rpc.reply.is_some()), answers, "{rpcs:?}");
    }
}

/// Every other octet of many segments is written, so that what was moved takes more room than the data.
#[test]
fn transfers_are_recorded_as_far_as_memory_allows() {
    let (mut wire, mut trace) = connected();
    let segments: Vec<Segment> = (0..60).map(|handle| (handle + 1, 0, 200)).collect();
    let lists = Lists::writes(&[&segments]);
    trace.extend(wire.send(Client, &message(MSG, 1, &lists, &read3(1, 12_000))));
    for (handle, ..) in &segments {
        (0..60).for_each(|at| trace.extend(wire.write(Server, (*handle, 2 * at), &[7])));
    }
    trace.extend(wire.send(Server, &message(MSG, 1, &lists, &reply(1, &read3_results(12_000)))));
    let moved = |memory| {
        let mut config = Config::for_checker();
        config.memory = memory;
        let found = dissect_with(&trace, config);
        found.messages[1].detail.as_ref().unwrap().answers.as_ref().unwrap().moved.clone()
    };
    let known = moved(1 << 20).unwrap();
    assert_eq!(known.len(), 60);
    assert!(
        known
            .iter()
            .all(|ranges| (ranges.gap(0..200), ranges.gap(100..101), ranges.end_offset()) == (Some(1..2), None, 119))
    );
    assert_eq!(moved(30_000), None, "16 octets a range, 3600 of them");
}

/// A configuration by which this many octets may wait.
fn holding(memory: usize) -> Config {
    let mut config = Config::default();
    config.memory = memory;
    config
}

#[test]
fn no_more_is_held_than_the_configuration_allows() {
    let mut wire = Wire::default();
    let mut trace = wire.connect();
    let (one, two) = (octets(1, 20_000), octets(2, 20_000));
    let lists = |handle| Lists::writes(&[&[(handle, 0, 20_000)]]);
    for xid in [1, 2] {
        trace.extend(wire.send(Client, &message(MSG, xid, &lists(xid), &read3(xid, 20_000))));
    }
    trace.extend(wire.write(Server, (1, 0), &one));
    trace.extend(wire.write(Server, (2, 0), &two));
    for xid in [1, 2] {
        trace.extend(wire.send(Server, &message(MSG, xid, &lists(xid), &reply(xid, &read3_results(20_000)))));
    }
    trace.extend(read_rpc(&mut wire, 3, MEMORY, &octets(3, 20_000)));
    let found = dissect_with(&trace, holding(30_000));
    assert_eq!(why(&found.only_rpc(1).reply), NotRebuilt::TooMuch, "the oldest is let go");
    assert_read(&found, 2, &two);
    assert_read(&found, 3, &octets(3, 20_000));
    assert_eq!(found.messages.len(), 6);
    let found = dissect_with(&trace, holding(6000));
    assert!((1..4).all(|xid| why(&found.only_rpc(xid).reply) == NotRebuilt::TooMuch));
    assert_eq!(found.messages.len(), 6);
}

#[test]
fn beyond_4096_waiting_calls_the_oldest_is_dropped() {
    let mut wire = Wire::default();
    let mut trace = wire.connect();
    for xid in 0..5000 {
        trace.extend(wire.send(Client, &message(MSG, xid, &Lists::default(), &null(xid))));
    }
    for xid in 0..5000 {
        trace.extend(wire.send(Server, &message(MSG, xid, &Lists::default(), &reply(xid, &[]))));
    }
    let found = dissect(&trace);
    assert_eq!(found.messages.len(), 10_000);
    let count = |is: fn(&Transaction) -> bool| found.transactions.iter().filter(|t| is(t)).count();
    assert_eq!(count(|t| t.reply.is_none()), 904);
    assert_eq!(count(|t| t.call.is_some() && t.reply.is_some()), 4096);
}

// --- Connections ---------------------------------------------------------------------------------------------------------

#[test]
fn a_new_connection_may_reuse_old_queue_pairs() {
    let mut wire = Wire::default();
    let mut trace = wire.connect();
    // The reply of the first connection's last call never comes, and no one disconnects.
    let old = read_rpc(&mut wire, 1, MEMORY, &octets(1, 3000));
    trace.extend(old[..3].iter().cloned());
    let mut again = Wire { name: 0x77, ..Wire::default() };
    (again.client.next, again.server.next) = (50, 7000);
    trace.extend(again.connect());
    let data = octets(2, 3000);
    trace.extend(read_rpc(&mut again, 1, MEMORY, &data));
    let found = dissect(&trace);
    assert_eq!(found.reports.len(), 2);
    assert!(found.reports.iter().all(|report| report.connection.setup_captured && report.number.is_some()));
    let [first, second] = &found.transactions[..] else { panic!() };
    assert!(first.reply.is_none());
    assert!(whole(&second.reply) == read3_reply(1, &data));
}

#[test]
fn half_of_the_setup_suffices_to_pair_the_ends() {
    let data = octets(2, 3000);
    for lost in [0, 1] {
        let mut wire = Wire::default();
        let mut trace = wire.connect();
        trace.extend(read_rpc(&mut wire, 1, MEMORY, &data));
        trace.extend(write_rpc(&mut wire, 2, MEMORY, &data));
        let found = dissect(&without(&trace, &[lost]));
        let [report] = &found.reports[..] else { panic!("{:?}", found.reports) };
        assert!(report.connection.paired && !report.connection.setup_captured && report.number.is_some());
        assert_eq!(report.connection.port(), (lost == 1).then_some(20049));
        let ends = report.connection.ends;
        assert_eq!((ends.active.queue_pair, ends.passive.queue_pair), (Some(0x11), Some(0x22)), "{lost}");
        assert_read(&found, 1, &data);
        assert_written(&found, 2, &data);
    }
}

#[test]
fn unpaired_connections_of_the_same_hosts_are_paired_rightly() {
    // Three connections, packet by packet in turn. Their numbers are nearly the same, so most of what is acknowledged on one
    // would do for another too.
    for apart in [0, 1, 3] {
        let mut rpcs = Vec::new();
        for index in 0..3 {
            let client = End { host: 1, queue_pair: 0x11 + index, next: 100 + apart * index };
            let server = End { host: 2, queue_pair: 0x31 + index, next: 7000 + 2 * apart * index };
            let mut wire = Wire { client, server, ..Wire::default() };
            let mut trace = nulls(&mut wire, 10..14 + 2 * index);
            trace.extend(read_rpc(&mut wire, 1, MEMORY, &octets(index as u8, 3000)));
            trace.extend(nulls(&mut wire, 30..40 + 5 * index));
            rpcs.push(trace);
        }
        let longest = rpcs.iter().map(Vec::len).max().unwrap();
        // The first to ask is the last to be answered.
        let order = |place: usize| if place.is_multiple_of(2) { [0, 1, 2] } else { [2, 1, 0] };
        let trace: Vec<Packet> = (0..longest)
            .flat_map(|place| order(place).map(|index| rpcs[index].get(place).cloned()))
            .flatten()
            .collect();
        let found = dissect(&trace);
        for report in &found.reports {
            let ends = report.connection.ends;
            if let (Some(active), Some(passive)) = (ends.active.queue_pair, ends.passive.queue_pair) {
                assert_eq!(active.abs_diff(passive), 0x20, "{apart} apart: {report:?}");
            }
        }
        let reads: Vec<_> = found.transactions.iter().filter(|t| t.xid == 1 && t.call.is_some()).collect();
        assert_eq!(reads.len(), 3);
        let whole = reads.iter().filter_map(|read| read.reply.as_ref()?.message.as_ref().ok()).map(Rebuilt::octets);
        let whole: Vec<_> =
            whole.filter(|read| (0..3).any(|index| **read == read3_reply(1, &octets(index, 3000)))).collect();
        // If all numbers are the same, nothing tells the first two apart until one of them has sent more.
        assert!(apart == 0 || whole.len() == 3, "{apart} apart: {whole:?}");
    }
}

#[test]
fn a_setup_with_used_queue_pairs_begins_a_new_connection() {
    // The capture begins in the middle of the first; its queue pairs are used again, with other numbers.
    let mut wire = Wire::default();
    let mut trace = nulls(&mut wire, 10..14);
    let mut again = Wire { name: 0x77, ..Wire::default() };
    (again.client.next, again.server.next) = (0x80_0000, 0x70_0000);
    trace.extend(again.connect());
    let data = octets(2, 3000);
    trace.extend(read_rpc(&mut again, 1, MEMORY, &data));
    trace.extend(nulls(&mut again, 30..40));
    let found = dissect(&trace);
    assert_read(&found, 1, &data);
    assert_nulls(&found, 10..14);
    assert_nulls(&found, 30..40);
    assert_eq!(found.reports.len(), 2, "{:?}", found.reports);
    assert!(found.reports[1].connection.setup_captured);
}

#[test]
fn a_late_setup_belongs_to_its_connection() {
    for first in [0, 100, 0xff_fffe] {
        let mut wire = Wire::default();
        (wire.client.next, wire.server.next) = (first, first);
        let (request, reply) = (wire.request(&[1; 8]), wire.reply(&[2; 8]));
        let rpcs: Vec<_> = (1..5).map(|xid| nulls(&mut wire, xid..xid + 1)).collect();
        let [one, two, three, four] = &rpcs[..] else { panic!() };
        let (request, reply) = (&vec![request], &vec![reply]);
        for (trace, set_up) in [
            ([one, request, two, reply, three, request, reply, four].map(Clone::clone).concat(), true),
            ([one, reply, two, request, three, reply, request, four].map(Clone::clone).concat(), true),
            ([request, one, two, reply, three, four].map(Clone::clone).concat(), true),
            ([reply, one, two, request, three, four].map(Clone::clone).concat(), true),
            ([one, request, two, three, four].map(Clone::clone).concat(), false),
            ([one, reply, two, three, four].map(Clone::clone).concat(), false),
        ] {
            let found = dissect(&trace);
            assert_nulls(&found, 1..5);
            let [report] = &found.reports[..] else { panic!("{:?}", found.reports) };
            assert_eq!(report.connection.setup_captured, set_up);
            if set_up {
                assert_eq!(report.connection.port(), Some(20049), "{report:?}");
                let announced = report.connection.announced;
                assert!(announced.active.is_some() && announced.passive.is_some());
            }
        }
    }
}

#[test]
fn a_request_that_is_captured_late_tells_the_path_mtu() {
    let mut wire = Wire::default();
    let request = wire.request(&[]);
    let mut trace = nulls(&mut wire, 1..2);
    trace.push(wire.read_request(Server, MEMORY, 4096));
    wire.send(Server, &message(MSG, 1, &Lists::default(), &reply(1, &[])));
    trace.extend(wire.send(Server, &message(MSG, 2, &Lists::default(), &reply(2, &[]))));
    // Without it, what is missed may be one or the other of the five numbers.
    for (set_up, missed) in [(vec![], 4), (vec![request], 1)] {
        let mut trace = trace.clone();
        trace.splice(2..2, set_up);
        assert_eq!(dissect(&trace).reports[0].counts.passive.missed, missed);
    }
}

#[test]
fn a_setup_after_an_old_or_reversed_connection_is_new() {
    for (skipped, before) in [(0, 1..20), (1, 1..3)] {
        let mut wire = Wire::default();
        let set_up = wire.connect();
        let mut trace = nulls(&mut wire, before);
        // If the server's packets come first, the connection is seen from the wrong end.
        trace.drain(..skipped);
        trace.extend(set_up);
        trace.extend(nulls(&mut wire, 30..33));
        let found = dissect(&trace);
        let [before, after] = &found.reports[..] else { panic!("{:?}", found.reports) };
        assert!(!before.connection.setup_captured && after.connection.setup_captured);
        assert_eq!(after.connection.ends.active.queue_pair, Some(0x11));
    }
}

#[test]
fn a_repeated_connection_request_soon_after_is_the_same() {
    let other = Wire {
        client: End { host: 3, queue_pair: 0x12, next: 100 },
        server: End { host: 4, queue_pair: 0x23, next: 7000 },
        name: 2,
        ..Wire::default()
    };
    // Packets of the connection and of others that come between its setup and the request, which comes again.
    for (own, others, connections) in [(0, 0, 1), (1, 61, 1), (1, 62, 2), (0, 200, 1)] {
        let (mut wire, mut other) = (Wire::default(), other);
        let mut trace = other.connect();
        let set_up = wire.connect();
        trace.extend(set_up[..2].iter().cloned());
        for xid in 0..own {
            trace.extend(wire.send(Client, &message(MSG, xid, &Lists::default(), &null(xid))));
        }
        for xid in 0..others {
            trace.extend(other.send(Client, &message(MSG, xid, &Lists::default(), &null(xid))));
        }
        trace.push(set_up[0].clone());
        trace.extend(nulls(&mut wire, 500..502));
        let found = dissect(&trace);
        let of_first = found.reports.iter().filter(|report| report.connection.ends.active.queue_pair == Some(0x11));
        assert_eq!(of_first.count(), connections, "{own} and {others}");
    }
}

#[test]
fn simultaneous_setups_differ_in_name_or_active_end() {
    let one = Wire::default();
    let (client, server) = (End { queue_pair: 0x12, ..one.client }, End { queue_pair: 0x23, ..one.server });
    let same_name = Wire { client: End { host: 3, ..client }, server, ..one };
    let same_end = Wire { client, server, name: one.name + 1, ..one };
    for mut two in [same_name, same_end] {
        let mut one = one;
        for order in [[0, 1], [1, 0]] {
            let mut trace = vec![one.request(&[]), two.request(&[])];
            let replies = [one.reply(&[]), two.reply(&[])];
            trace.extend(order.map(|place: usize| replies[place].clone()));
            let found = dissect(&trace);
            let queue_pairs = found.reports.iter().map(|report| {
                assert!(report.connection.setup_captured);
                let ends = report.connection.ends;
                (ends.active.queue_pair.unwrap(), ends.passive.queue_pair.unwrap())
            });
            let mut queue_pairs: Vec<_> = queue_pairs.collect();
            queue_pairs.sort_unstable();
            assert_eq!(queue_pairs, [(0x11, 0x22), (0x12, 0x23)], "{order:?}");
        }
    }
}

#[test]
fn an_unanswered_connection_request_belongs_to_no_other_connection() {
    let mut asked = Wire { client: End { host: 3, queue_pair: 0x12, next: 0 }, ..Wire::default() };
    let mut wire = Wire::default();
    let trace = [vec![asked.request(&[])], nulls(&mut wire, 1..4)].concat();
    let found = dissect(&trace);
    assert_nulls(&found, 1..4);
    let [report] = &found.reports[..] else { panic!("{:?}", found.reports) };
    assert_eq!((report.connection.port(), report.connection.announced.active.is_some()), (None, false));
}

#[test]
fn past_the_bound_the_flow_buffering_most_stops_waiting() {
    let (mut wire, mut trace) = connected();
    trace.extend(nulls(&mut wire, 1..2));
    let lone = |queue_pair| Wire { server: End { host: 4, queue_pair, next: 0 }, ..Wire::default() };
    let (mut small, mut large) = (lone(0x51), lone(0x52));
    trace.extend(small.send(Client, &message(MSG, 100, &Lists::default(), &null(100))));
    for xid in 200..240 {
        let call = call(xid, [100_005, 3, 1], &octets(1, 900));
        trace.extend(large.send(Client, &message(MSG, xid, &Lists::default(), &call)));
    }
    trace.extend(nulls(&mut wire, 2..3));
    let found = dissect_with(&trace, holding(20_000));
    let place = |xid| found.messages.iter().position(|message| message.prefix().unwrap().xid == xid).unwrap();
    assert!(place(200) < place(2) && place(2) < place(100), "{:?}", sent(&found));
}

#[test]
fn packets_before_their_setup_belong_to_it_by_number() {
    for (number, connections) in [(100, 1), (100 + 2047, 1), (100 + 2048, 2), (99, 2)] {
        let mut wire = Wire::default();
        let set_up = wire.connect();
        wire.client.next = number;
        let mut trace = wire.send(Client, &message(MSG, 1, &Lists::default(), &null(1)));
        // Its number is one of the server's.
        trace.push(wire.ack(Client, 6999));
        trace.extend(set_up);
        wire.client.next = 100;
        trace.extend(nulls(&mut wire, 10..12));
        assert_eq!(dissect(&trace).reports.len(), connections, "{number}");
    }
}

#[test]
fn an_end_that_is_not_heard_leaves_half_a_connection() {
    let mut wire = Wire::default();
    let trace: Vec<_> =
        (1..3).flat_map(|xid| wire.send(Client, &message(MSG, xid, &Lists::default(), &null(xid)))).collect();
    let found = dissect(&trace);
    let [report] = &found.reports[..] else { panic!("{:?}", found.reports) };
    assert!(!report.connection.paired);
    assert_eq!(report.connection.ends.passive.queue_pair, Some(0x22));
    assert_eq!(report.connection.ends.active.queue_pair, None);
}

#[test]
fn beyond_64_unpaired_flows_the_oldest_is_dropped() {
    for (flows, paired) in [(64, true), (65, false)] {
        let mut wires: Vec<_> = (0..flows)
            .map(|flow| Wire {
                client: End { host: 1, queue_pair: 0x100 + flow, next: 100 * flow },
                server: End { host: 2, queue_pair: 0x200 + flow, next: 50_000 },
                ..Wire::default()
            })
            .collect();
        let mut trace: Vec<_> = wires
            .iter_mut()
            .flat_map(|wire| wire.send(Client, &message(MSG, 1, &Lists::default(), &null(1))))
            .collect();
        trace.push(wires[0].ack_all(Server));
        let found = dissect(&trace);
        assert_eq!(found.reports.iter().any(|report| report.connection.paired), paired, "{flows}");
    }
}

#[test]
fn extended_reliable_connections_carry_the_same() {
    let mut wire = Wire { extended: true, ..Wire::default() };
    let mut trace = wire.connect();
    let (one, two) = (octets(1, 5000), octets(2, 4001));
    trace.extend(read_rpc(&mut wire, 1, MEMORY, &one));
    trace.extend(write_rpc(&mut wire, 2, MEMORY, &two));
    trace.extend(wire.send_with_invalidate(Server, 0xa94, &message(MSG, 3, &Lists::default(), &reply(3, &[]))));
    let found = dissect(&trace);
    assert_read(&found, 1, &one);
    assert_written(&found, 2, &two);
    assert_eq!(found.messages.last().unwrap().invalidates, Some(0xa94));
}

#[test]
fn sends_of_another_protocol_are_not_claimed() {
    let mut wire = Wire { port: 9999, ..Wire::default() };
    let mut trace = wire.connect();
    for seed in 0..50 {
        trace.extend(wire.send(Client, &octets(seed, 60 + usize::from(seed))));
        trace.push(wire.ack_all(Server));
        trace.extend(wire.write(Server, MEMORY, &octets(seed, 3000)));
        // A header that is right in every word, but the RPC in it has another XID.
        trace.extend(wire.send(Server, &message(MSG, 5, &Lists::default(), &null(6))));
    }
    let found = dissect(&trace);
    assert!(found.messages.is_empty() && found.transactions.is_empty());
    assert_eq!((found.reports.len(), found.reports[0].number), (1, None));
    assert_eq!(found.reports[0].connection.port(), Some(9999));
}

#[test]
fn a_connection_on_any_port_is_recognised_by_its_messages() {
    let data = octets(2, 3000);
    for first in [0, 3] {
        let mut wire = Wire { port: 9999, ..Wire::default() };
        let mut trace = wire.connect();
        trace.extend(read_rpc(&mut wire, 1, MEMORY, &data));
        let found = dissect(&trace[first..]);
        assert_read(&found, 1, &data);
        assert_eq!(found.reports[0].number, Some(1));
    }
}

#[test]
fn private_data_is_found_at_any_offset() {
    let private = |before: usize| [&vec![0xee; before][..], &[0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 7]].concat();
    // A REQ has 56 octets behind the addresses, a REP 196.
    for (in_request, in_reply) in [(5, 3), (0, 33), (47, 100), (48, 188)] {
        let mut wire = Wire { port: 9999, ..Wire::default() };
        let trace = vec![wire.request(&private(in_request)), wire.reply(&private(in_reply))];
        let found = dissect(&trace);
        let report = &found.reports[0];
        assert_eq!(report.number, Some(1), "{in_request}, {in_reply}");
        for side in [Side::Active, Side::Passive] {
            let data = report.connection.said(side).unwrap();
            assert_eq!((data.send_size, data.receive_size), (4096, 8192), "{in_request}, {in_reply}");
        }
    }
}

#[test]
fn a_refused_connection_is_reported_with_its_reason() {
    let mut wire = Wire::default();
    let trace = vec![wire.request(&[]), wire.reject(8)];
    let found = dissect(&trace);
    let [rejected] = &found.rejected[..] else { panic!() };
    assert_eq!((rejected.kind.reason(), rejected.service, rejected.stamp.frame), (Some(8), Some(0x0106_4e51), 2));
    assert_eq!((rejected.from.to_string(), rejected.to.to_string()), ("192.0.2.2".into(), "192.0.2.1".into()));
    assert!(found.reports.is_empty());
}

// --- The forms of a call -------------------------------------------------------------------------------------------------

/// A call with these Read chunks, each pulled with one RDMA Read a segment, then its reply.
fn calling(procedure: u32, reads: &[(u32, &[u8])], payload: &[u8]) -> Found {
    let mut wire = Wire::default();
    let mut trace = wire.connect();
    let segments: Vec<(u32, Segment)> =
        (0..).zip(reads).map(|(handle, (position, data))| (*position, (handle, 0x40, data.len() as u32))).collect();
    trace.extend(wire.send(Client, &message(procedure, 1, &Lists::reads(&segments), payload)));
    for ((_, (handle, offset, _)), (_, data)) in segments.iter().zip(reads) {
        trace.extend(wire.read(Server, (*handle, *offset), data));
    }
    trace.extend(wire.send(Server, &message(MSG, 1, &Lists::default(), &reply(1, &[]))));
    dissect(&trace)
}

#[test]
fn a_position_zero_chunk_is_the_whole_call() {
    let data = octets(1, 3001);
    let found = calling(NOMSG, &[(0, &written(1, &data))], &[]);
    let call = found.only_rpc(1).call.as_ref().unwrap();
    assert_eq!((call.form, call.inline), (MessageForm::Long, 0));
    assert_eq!(found.only_rpc(1).name, Some("NFSv3 WRITE"));
    let rebuilt = call.message.as_ref().unwrap();
    assert!(rebuilt.octets() == written(1, &data));
    assert_eq!(rebuilt.data(&rebuilt.items[0]), data);
}

#[test]
fn a_long_call_may_have_a_reduced_data_item() {
    let data = octets(1, 3001);
    for reversed in [false, true] {
        let mut reads = [(0, &write3(1, 3001)[..]), (WRITE3_POSITION, &data[..])];
        if reversed {
            reads.reverse(); // no rule sorts the Read list
        }
        let found = calling(NOMSG, &reads, &[]);
        assert!(whole(&found.only_rpc(1).call) == written(1, &data));
        assert_eq!(found.only_rpc(1).name, Some("NFSv3 WRITE"));
    }
}

#[test]
fn data_items_go_into_the_middle_of_position_zero_chunks() {
    let (payload, data) = (call(1, [200_000, 1, 1], &octets(1, 43)), octets(2, 13));
    let found = calling(NOMSG, &[(0, &payload), (44, &data)], &[]);
    let expected = [&payload[..44], &padded(&data), &payload[44..]].concat();
    assert_eq!(whole(&found.only_rpc(1).call), expected);
}

#[test]
fn long_calls_without_a_position_zero_chunk_have_no_payload() {
    for reads in [&[][..], &[(44, &[1; 8][..])]] {
        let found = calling(NOMSG, reads, &[]);
        assert!(found.only_rpc(1).call.as_ref().unwrap().message.is_err(), "{found:?}");
    }
}

#[test]
fn two_read_chunks_go_to_their_positions() {
    let (one, two) = (octets(1, 1001), octets(2, 2003));
    let head = call(1, [9, 9, 9], &words(&[7, 1001]));
    let whole_call = [head.clone(), padded(&one), words(&[2003]), padded(&two), words(&[0xfeed])].concat();
    let payload = [head, words(&[2003, 0xfeed])].concat();
    let second = 48 + 1004 + 4;
    let found = calling(MSG, &[(48, &one), (second, &two)], &payload);
    assert!(whole(&found.only_rpc(1).call) == whole_call);
    assert_eq!(found.only_rpc(1).call.as_ref().unwrap().form, MessageForm::Chunked);
    let found = calling(MSG, &[(second, &two), (48, &one)], &payload);
    assert!(whole(&found.only_rpc(1).call) == whole_call, "no rule sorts the Read list");
}

#[test]
fn a_read_chunk_may_have_the_padding_or_not() {
    let data = octets(1, 1001);
    for sent in [data.clone(), padded(&data)] {
        let found = calling(MSG, &[(WRITE3_POSITION, &sent)], &write3(1, 1001));
        assert!(whole(&found.only_rpc(1).call) == written(1, &data));
        let rebuilt = found.only_rpc(1).call.as_ref().unwrap().message.as_ref().unwrap();
        assert_eq!(rebuilt.data(&rebuilt.items[0]), data);
    }
}

#[test]
fn segments_of_a_read_chunk_may_have_odd_lengths() {
    let data = octets(1, 1001);
    let parts = [(WRITE3_POSITION, &data[..333]), (WRITE3_POSITION, &data[333..334]), (WRITE3_POSITION, &data[334..])];
    let found = calling(MSG, &parts, &write3(1, 1001));
    assert!(whole(&found.only_rpc(1).call) == written(1, &data));
}

#[test]
fn position_zero_chunks_beside_inline_payloads_are_not_guessed() {
    let found = calling(MSG, &[(0, &written(1, &[1, 2, 3]))], &null(1));
    assert_eq!(why(&found.only_rpc(1).call), NotRebuilt::PositionZeroInMessage);
}

#[test]
fn a_position_outside_the_payload_is_named() {
    let found = calling(MSG, &[(72, &octets(1, 100))], &write3(1, 100));
    assert_eq!(why(&found.only_rpc(1).call), NotRebuilt::Position(72));
}

#[test]
fn a_long_call_in_the_reverse_direction_is_one() {
    let mut wire = Wire::default();
    let mut trace = wire.connect();
    let back = call(1, [0x4000_0000, 1, 1], &words(&[0, 1, 0, 0]));
    trace.extend(wire.send(Server, &message(NOMSG, 1, &Lists::reads(&[(0, segment(back.len()))]), &[])));
    trace.extend(wire.read(Client, MEMORY, &back));
    trace.extend(wire.send(Client, &message(MSG, 1, &Lists::default(), &reply(1, &words(&[0, 0, 0])))));
    let found = dissect(&trace);
    assert_eq!(whole(&found.only_rpc(1).call), back);
    assert!(found.only_rpc(1).reverse);
    assert_eq!(found.only_rpc(1).name, Some("NFSv4 CB_COMPOUND"));
}

// --- The forms of a reply ------------------------------------------------------------------------------------------------

/// A call with `offered` chunks, RDMA Writes into them, and its reply with `returned` chunks.
fn answering(
    call: &[u8],
    offered: &Lists,
    writes: &[((u32, u64), &[u8])],
    (procedure, returned): (u32, &Lists),
    payload: &[u8],
) -> Found {
    let mut wire = Wire::default();
    let mut trace = wire.connect();
    trace.extend(wire.send(Client, &message(MSG, 1, offered, call)));
    for (memory, data) in writes {
        trace.extend(wire.write(Server, *memory, data));
    }
    trace.extend(wire.send(Server, &message(procedure, 1, returned, payload)));
    dissect(&trace)
}

#[test]
fn a_write_chunk_of_several_segments_may_be_part_filled() {
    let data = octets(1, 1501);
    let offered = Lists::writes(&[&[(1, 0, 1000), (2, 0x10, 1000), (3, 0x20, 1000)]]);
    let returned = Lists::writes(&[&[(1, 0, 1000), (2, 0x10, 501), (3, 0x20, 0)]]);
    let writes = [((1, 0), &data[..1000]), ((2, 0x10), &data[1000..])];
    let results = read3_results(1501);
    let found = answering(&read3(1, 3000), &offered, &writes, (MSG, &returned), &reply(1, &results));
    assert!(whole(&found.only_rpc(1).reply) == read3_reply(1, &data));
    // Data that the reply returns, but that was not written, is missing.
    let found = answering(&read3(1, 3000), &offered, &writes[..1], (MSG, &returned), &reply(1, &results));
    assert_eq!(why(&found.only_rpc(1).reply), unmoved(ChunkName::Write(0), 1000, 1500));
}

#[test]
fn an_unused_write_chunk_may_keep_its_segments_or_not() {
    let data = octets(1, 101);
    let offered = Lists::writes(&[&[(1, 0, 1000), (2, 0x10, 1000)]]);
    // RFC 8166 section 4.3.2.2, RFC 8267 section 6.4.1.
    for returned in [Lists::writes(&[&[(1, 0, 0), (2, 0x10, 0)]]), Lists::writes(&[&[]])] {
        let found = answering(&read3(1, 3000), &offered, &[], (MSG, &returned), &read3_reply(1, &data));
        assert!(whole(&found.only_rpc(1).reply) == read3_reply(1, &data));
        assert_eq!(found.only_rpc(1).reply.as_ref().unwrap().form, MessageForm::Short);
    }
}

/// The results of PUTFH and READs of NFSv4, and those results with the data left out.
fn compound(data: &[&[u8]]) -> (Vec<u8>, Vec<u8>) {
    let mut whole = words(&[0, 0, 1 + data.len() as u32, 22, 0]);
    let mut reduced = whole.clone();
    for data in data {
        let head = words(&[25, 0, 1, data.len() as u32]);
        whole.extend([head.clone(), padded(data)].concat());
        reduced.extend(head);
    }
    (reply(1, &whole), reply(1, &reduced))
}

fn compound_call(reads: u32) -> Vec<u8> {
    let mut arguments = words(&[0, 0, 1 + reads, 22, 4, 0xfeed]);
    for _ in 0..reads {
        arguments.extend(words(&[25, 0, 0, 0, 0, 0, 0, 3000]));
    }
    call(1, [100_003, 4, 1], &arguments)
}

#[test]
fn two_reads_of_one_compound_have_a_write_chunk_each() {
    let (one, two) = (octets(1, 1001), octets(2, 2002));
    let (all, reduced) = compound(&[&one, &two]);
    let offered = Lists::writes(&[&[(1, 0, 3000)], &[(2, 0, 3000)]]);
    let returned = Lists::writes(&[&[(1, 0, 1001)], &[(2, 0, 2002)]]);
    let writes = [((1, 0), &one[..]), ((2, 0), &two[..])];
    let found = answering(&compound_call(2), &offered, &writes, (MSG, &returned), &reduced);
    let transaction = found.only_rpc(1);
    assert!(whole(&transaction.reply) == all);
    let names: Vec<_> = transaction.operations.iter().map(|operation| operation.name).collect();
    assert_eq!(names, ["PUTFH", "READ", "READ"]);
    let rebuilt = transaction.reply.as_ref().unwrap().message.as_ref().unwrap();
    assert!(rebuilt.data(&rebuilt.items[0]) == one && rebuilt.data(&rebuilt.items[1]) == two);
    // The second chunk is empty: its result is inline.
    let returned = Lists::writes(&[&[(1, 0, 1001)], &[]]);
    let payload = [&reduced[..], &padded(&two)].concat();
    let found = answering(&compound_call(2), &offered, &writes[..1], (MSG, &returned), &payload);
    assert!(whole(&found.only_rpc(1).reply) == all);
}

#[test]
fn a_long_reply_may_be_reduced() {
    let data = octets(2, 1501);
    let (all, reduced) = compound(&[&data]);
    let mut offered = Lists::writes(&[&[(1, 0, 3000)]]);
    offered.reply = Some(vec![(2, 0, 20), (3, 0x10, 2000)]);
    let mut returned = Lists::writes(&[&[(1, 0, 1501)]]);
    returned.reply = Some(vec![(2, 0, 20), (3, 0x10, reduced.len() as u32 - 20)]);
    let writes = [((2, 0), &reduced[..20]), ((3, 0x10), &reduced[20..]), ((1, 0), &data[..])];
    let found = answering(&compound_call(1), &offered, &writes, (NOMSG, &returned), &[]);
    let half = found.only_rpc(1).reply.as_ref().unwrap();
    assert_eq!((half.form, half.inline), (MessageForm::Long, 0));
    assert!(whole(&found.only_rpc(1).reply) == all);
    // Without the chunk that holds the Payload stream there is nothing.
    let found = answering(&compound_call(1), &offered, &writes[2..], (NOMSG, &returned), &[]);
    assert_eq!(why(&found.only_rpc(1).reply), unmoved(ChunkName::Reply, 0, reduced.len() as u64 - 1));
}

/// An NFSv3 READ whose data of 100 octets is counted in the Reply chunk's length too, as some servers do. Neither the
/// frames that snaplen cuts nor what the capture misses is the server's fault.
#[test]
fn unwritten_data_is_distinguished_from_uncaptured_data() {
    let (mut wire, mut trace) = connected();
    let data = octets(2, 100);
    let payload = reply(1, &read3_results(100));
    let rest = payload.len() as u32;
    let lists = |length| Lists { writes: vec![vec![(1, 0, 100)]], ..Lists::reply(&[(2, 0, length)]) };
    trace.extend(wire.send(Client, &message(MSG, 1, &lists(200), &read3(1, 100))));
    let write = trace.len();
    trace.extend(wire.write(Server, (1, 0), &data));
    trace.extend(wire.write(Server, (2, 0), &payload));
    trace.extend(wire.send(Server, &message(NOMSG, 1, &lists(rest + 100), &[])));
    trace.push(wire.ack_all(Client));
    let reported = u64::from(rest) + 100;
    assert_eq!(why(&dissect(&trace).only_rpc(1).reply), unmoved(ChunkName::Reply, u64::from(rest), reported - 1));
    // 40 octets of what is in the Reply chunk are captured.
    let lengths = trace.iter().map(|packet| packet.len() as u32).collect::<Vec<_>>();
    let mut cut: Vec<_> = trace.iter().cloned().zip(lengths).collect();
    let all = cut[write + 1].0.len();
    cut[write + 1].0.truncate(all - 4 - 4);
    let found = dissect_cut(&cut, Config::default());
    assert_eq!(why(&found.only_rpc(1).reply), missing(ChunkName::Reply, 40, reported));
    // Without the RDMA Write into it.
    trace.remove(write + 1);
    for xid in 2..100 {
        sends(&mut wire, &mut trace, &[(Client, message(MSG, xid, &Lists::default(), &null(xid)))]);
    }
    assert_eq!(why(&dissect(&trace).only_rpc(1).reply), missing(ChunkName::Reply, 0, reported));
}

#[test]
fn unread_data_is_distinguished_from_uncaptured_data() {
    let (mut wire, mut trace) = connected();
    let data = octets(1, 1000);
    let lists = Lists::reads(&[(WRITE3_POSITION, segment(1000))]);
    trace.extend(wire.send(Client, &message(MSG, 1, &lists, &write3(1, 1000))));
    trace.extend(wire.read(Server, MEMORY, &data[..300]));
    trace.extend(wire.read(Server, (MEMORY.0, MEMORY.1 + 700), &data[700..]));
    let chunk = ChunkName::Read(WRITE3_POSITION);
    assert_eq!(why(&dissect(&trace).only_rpc(1).call), unmoved(chunk, 300, 699), "before it is answered");
    trace.extend(wire.send(Server, &message(MSG, 1, &Lists::default(), &write3_reply(1, 1000))));
    trace.push(wire.ack_all(Client));
    assert_eq!(why(&dissect(&trace).only_rpc(1).call), unmoved(chunk, 300, 699));
}

/// Calls and replies of NULL go on beside a WRITE whose data the server does not ask for, whether it answers or not.
#[test]
fn a_read_chunk_that_nobody_asked_for_is_not_missing() {
    let chunk = ChunkName::Read(WRITE3_POSITION);
    let (not_read, lacking) = (unmoved(chunk, 0, 16_383), missing(chunk, 0, 16_384));
    let lists = Lists::reads(&[(WRITE3_POSITION, segment(16_384))]);
    for (is_answered, is_ended) in [(true, false), (false, false), (false, true)] {
        let (mut wire, mut trace) = connected();
        let set_up = trace.len();
        trace.extend(nulls(&mut wire, 10..13));
        trace.extend(wire.send(Client, &message(MSG, 1, &lists, &write3(1, 16_384))));
        trace.push(wire.ack_all(Server));
        let after = trace.len();
        trace.extend(nulls(&mut wire, 20..24));
        if is_answered {
            trace.extend(wire.send(Server, &words(&[1, 1, 32, ERROR, 2])));
            trace.push(wire.ack_all(Client));
        }
        if is_ended {
            trace.push(wire.disconnect(Server));
        }
        let found = |without_places: &[usize]| why(&dissect(&without(&trace, without_places)).only_rpc(1).call);
        assert_eq!(found(&[]), not_read, "{is_answered} {is_ended}");
        assert_eq!(found(&[after]), not_read, "a packet of the client is no RDMA Read request of the server");
        assert_eq!(found(&[after + 2]), lacking, "a packet of the server may be one");
        assert_eq!(found(&(0..set_up).collect::<Vec<_>>()), not_read, "the server was heard before");
        assert_eq!(found(&(0..after - 2).collect::<Vec<_>>()), lacking, "it was not");
        assert_eq!(found(&[after - 4]), lacking, "the loss shows behind the call, where a request may be lost too");
    }
}

#[test]
fn chunks_that_are_not_the_calls_are_not_used() {
    let data = octets(1, 1000);
    let offered = Lists::writes(&[&[(1, 0x40, 1000)]]);
    let writes = [((1, 0x40), &data[..])];
    let payload = reply(1, &read3_results(1000));
    for returned in [
        Lists::writes(&[&[(9, 0x40, 1000)]]),
        Lists::writes(&[&[(1, 0x41, 1000)]]),
        Lists::writes(&[&[(1, 0x40, 1001)]]),
        Lists::writes(&[&[(1, 0x40, 500), (1, 0x40, 500)]]),
        Lists::writes(&[&[(1, 0x40, 1000)], &[(1, 0x40, 1000)]]),
    ] {
        let found = answering(&read3(1, 1000), &offered, &writes, (MSG, &returned), &payload);
        assert_eq!(why(&found.only_rpc(1).reply), NotRebuilt::ForeignChunks, "{returned:?}");
    }
    let found = answering(&read3(1, 1000), &offered, &writes, (NOMSG, &Lists::reply(&[(1, 0x40, 1000)])), &[]);
    assert_eq!(why(&found.only_rpc(1).reply), NotRebuilt::ForeignChunks, "no Reply chunk was offered");
}

#[test]
fn a_write_chunk_of_wrong_length_is_not_used() {
    let data = octets(1, 1000);
    let lists = Lists::writes(&[&[(1, 0x40, 1000)]]);
    let found =
        answering(&read3(1, 1000), &lists, &[((1, 0x40), &data)], (MSG, &lists), &reply(1, &read3_results(900)));
    let NotRebuilt::Results(error) = why(&found.only_rpc(1).reply) else { panic!() };
    assert_eq!((error.reason, error.operation), (WalkError::WRITE_CHUNK_LENGTH, Some("NFSv3 READ")));
}

#[test]
fn unreduced_results_of_an_unknown_program_are_rebuilt() {
    let unknown = call(1, [200_000, 1, 1], &[]);
    let data = octets(1, 1000);
    let lists = Lists::writes(&[&[(1, 0x40, 1000)]]);
    let payload = reply(1, &words(&[1000]));
    let found = answering(&unknown, &lists, &[((1, 0x40), &data)], (MSG, &lists), &payload);
    let NotRebuilt::Results(error) = why(&found.only_rpc(1).reply) else { panic!() };
    assert_eq!(error.reason, WalkError::UNKNOWN_PROCEDURE);
    let found = answering(&unknown, &lists, &[], (MSG, &Lists::writes(&[&[(1, 0x40, 0)]])), &payload);
    assert_eq!(whole(&found.only_rpc(1).reply), payload);
}

#[test]
fn an_error_ends_its_call() {
    let error = words(&[1, 1, 32, ERROR, 2]);
    let mut wire = Wire::default();
    let mut trace = wire.connect();
    trace.extend(wire.send(Client, &message(MSG, 1, &Lists::default(), &null(1))));
    trace.extend(wire.send(Server, &error));
    let found = dissect(&trace);
    assert!(matches!(why(&found.only_rpc(1).reply), NotRebuilt::Error(_)));
    assert_eq!(found.messages.len(), 2);
}

// --- RPCSEC_GSS ----------------------------------------------------------------------------------------------------------

/// A call with an RPCSEC_GSS credential (RFC 2203 section 5): version 1, data, a sequence number, the service, a context.
fn protected_call(service: u32, arguments: &[u8]) -> Vec<u8> {
    let head = words(&[1, 0, 2, 100_003, 3, 7, 6, 24, 1, 0, 55, service, 4, 0xc0de]);
    [head, words(&[6, 4, 0xabcd]), arguments.to_vec()].concat()
}

#[test]
fn what_privacy_seals_stays_sealed_and_exact() {
    let call = protected_call(3, &[words(&[2001]), padded(&octets(5, 2001))].concat());
    let sealed_reply = reply(1, &[words(&[1999]), padded(&octets(6, 1999))].concat());
    let mut wire = Wire::default();
    let mut trace = wire.connect();
    let mut lists = Lists::reads(&[(0, segment(call.len()))]);
    lists.reply = Some(vec![(3, 0, 4000)]);
    trace.extend(wire.send(Client, &message(NOMSG, 1, &lists, &[])));
    trace.extend(wire.read(Server, MEMORY, &call));
    trace.extend(wire.write(Server, (3, 0), &sealed_reply));
    let returned = Lists::reply(&[(3, 0, sealed_reply.len() as u32)]);
    trace.extend(wire.send(Server, &message(NOMSG, 1, &returned, &[])));
    let found = dissect(&trace);
    let transaction = found.only_rpc(1);
    assert!(whole(&transaction.call) == call && whole(&transaction.reply) == sealed_reply);
    assert_eq!(transaction.security, Some(Security::Privacy));
    for half in [&transaction.call, &transaction.reply] {
        assert!(half.as_ref().unwrap().message.as_ref().unwrap().items.is_empty());
    }
}

/// A COMPOUND whose body is sealed: it is not known which operations it has, and not that it has none.
#[test]
fn the_operations_of_a_sealed_compound_are_not_known() {
    for (service, operations) in [(3, Some("null")), (2, Some("[]"))] {
        // The body under integrity: its length, the sequence number, no tag, the minor version, no operations.
        let body = [words(&[16, 55, 0, 1, 0]), words(&[4, 0x1111])].concat();
        let mut call = protected_call(service, &body);
        call[16..24].copy_from_slice(&words(&[4, 1]));
        let results = reply(1, &[words(&[16, 55, 0, 0, 0]), words(&[4, 0x2222])].concat());
        let mut wire = Wire::default();
        let mut trace = wire.connect();
        trace.extend(wire.send(Client, &message(MSG, 1, &Lists::default(), &call)));
        trace.extend(wire.send(Server, &message(MSG, 1, &Lists::default(), &results)));
        let found = dissect(&trace);
        let (mut line, mut names) = (Vec::new(), FileNames::default());
        TransactionObject::new(found.only_rpc(1), &Files::default(), &mut names).write_json(&mut line).unwrap();
        let line = String::from_utf8(line).unwrap();
        let expected =
            format!(r#""name":"NFSv4 COMPOUND","operation":"NFSv4 COMPOUND","operations":{}"#, operations.unwrap());
        assert!(line.contains(&expected), "{service}: {line}");
    }
}

#[test]
fn what_integrity_protects_is_walked() {
    let data = octets(5, 2001);
    let arguments = [words(&[55, 4, 0xfeed, 0, 0, 2001, 2, 2001]), padded(&data)].concat();
    let length = arguments.len() as u32;
    let call = protected_call(2, &[words(&[length]), arguments, words(&[4, 0x1111])].concat());
    let results = words(&[55, 0, 0, 0, 2001, 2, 9, 9]);
    let answer = reply(1, &[words(&[32]), results, words(&[4, 0x2222])].concat());
    let mut wire = Wire::default();
    let mut trace = wire.connect();
    trace.extend(wire.send(Client, &message(NOMSG, 1, &Lists::reads(&[(0, segment(call.len()))]), &[])));
    trace.extend(wire.read(Server, MEMORY, &call));
    trace.extend(wire.send(Server, &message(MSG, 1, &Lists::default(), &answer)));
    let found = dissect(&trace);
    let transaction = found.only_rpc(1);
    assert!(whole(&transaction.call) == call && whole(&transaction.reply) == answer);
    assert_eq!((transaction.security, transaction.name), (Some(Security::Integrity), Some("NFSv3 WRITE")));
    let rebuilt = transaction.call.as_ref().unwrap().message.as_ref().unwrap();
    assert_eq!(rebuilt.data(&rebuilt.items[0]), data);
    assert_eq!(format!("{:?}", transaction.status), "Some(Success(Some(0)))");
}

// --- Chance --------------------------------------------------------------------------------------------------------------

/// A sequence of numbers that seems random.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// The call and the reply of an XID: every third is a WRITE, the others are READs.
fn expected(xid: u32) -> (Vec<u8>, Vec<u8>) {
    let data = octets(xid as u8, data_length(xid));
    match xid % 3 {
        0 => (written(xid, &data), write3_reply(xid, data.len() as u32)),
        _ => (read3(xid, data.len() as u32), read3_reply(xid, &data)),
    }
}

const fn data_length(xid: u32) -> usize {
    900 + 137 * (xid as usize % 16)
}

/// Disturbs a connection of 39 RPCs, one after the other, again and again: drops this many packets in 1000, moves so
/// many to a place at most six later, and begins somewhere in each other round if it may be `cut`. What is rebuilt must
/// be right; gives how much that is.
fn disturb(memory: impl Fn(u32) -> (u32, u64), cut: bool, lost: u64, moved: u64) -> usize {
    let mut wire = Wire::default();
    let mut trace = wire.connect();
    for xid in 1..40 {
        let rpc = if xid % 3 == 0 { write_rpc } else { read_rpc };
        trace.extend(rpc(&mut wire, xid, memory(xid), &octets(xid as u8, data_length(xid))));
    }
    let mut rebuilt = 0;
    for seed in 0..500 {
        let mut chance = Chance(seed);
        let first = if !cut || seed % 2 == 0 { 0 } else { chance.below(100) as usize };
        let mut kept: Vec<Packet> = trace[first..].iter().filter(|_| chance.below(1000) >= lost).cloned().collect();
        for place in 0..kept.len() {
            if chance.below(1000) < moved {
                let packet = kept.remove(place);
                kept.insert((place + chance.below(6) as usize).min(kept.len()), packet);
            }
        }
        for transaction in dissect(&kept).transactions {
            let (call, answer) = expected(transaction.xid);
            for (half, expected) in [(&transaction.call, call), (&transaction.reply, answer)] {
                if let Some(Ok(message)) = half.as_ref().map(|half| &half.message) {
                    assert!(
                        message.octets() == expected,
                        "seed {seed}, {}, {lost} lost, {moved} moved",
                        transaction.xid
                    );
                    rebuilt += 1;
                }
            }
        }
    }
    rebuilt
}

/// RPC messages that are sent in all rounds of [`disturb`].
const SENT: usize = 500 * 39 * 2;

#[test]
fn whatever_is_missed_and_disordered_no_octet_is_wrong() {
    for (lost, moved, percent) in [(5, 30, 80), (20, 100, 70), (100, 100, 50), (300, 30, 25)] {
        let rebuilt = disturb(|xid| (xid, 0x1000), true, lost, moved);
        assert!(rebuilt * 100 > SENT * percent, "{lost} lost, {moved} moved: {rebuilt} of {SENT} rebuilt");
    }
}

#[test]
fn missed_packets_make_no_wrong_octets_in_shared_memory() {
    for (lost, percent) in [(5, 80), (20, 70), (100, 50), (300, 25)] {
        let rebuilt = disturb(|_| MEMORY, true, lost, 0);
        assert!(rebuilt * 100 > SENT * percent, "{lost} lost: {rebuilt} of {SENT} rebuilt");
    }
}

#[test]
fn disorder_mixes_no_octets_in_shared_memory() {
    for moved in [30, 100, 300] {
        let rebuilt = disturb(|_| MEMORY, false, 0, moved);
        assert!(rebuilt * 100 > SENT * 95, "{moved} moved: {rebuilt} of {SENT} rebuilt");
    }
}

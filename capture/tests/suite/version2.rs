//! RPC-over-RDMA version 2 from the wire, in both formats of its drafts.

use std::collections::BTreeMap;

use rpcrdma_answers::JsonRecord;
use rpcrdma_answers::format::screen::Screen;
use rpcrdma_answers::lines::Lines;
use rpcrdma_answers::messages::tree;
use rpcrdma_answers::messages::{HeaderObject, MessageObject};
use rpcrdma_dissector::{
    Config, Dialect, Dropped, Files, Message, MessageDirection, MessageForm, NotRebuilt, Status, Time, Transaction,
    lone_message,
};
use serde_json::{Value, json};

use crate::synthetic::By::{Client, Server};
use crate::synthetic::rpc::{self, Lists, Segment, WRITE3_POSITION, message, null, octets, padded, read3, read3_reply};
use crate::synthetic::rpc::{read3_results, words, write3, write3_reply};
use crate::synthetic::v2::{self, FAMILIES, Family, MORE, RESPONSE, TPMORE, a, rebuilt};
use crate::synthetic::{self, By, Found, Packet, Wire, assert_rpc, connected, dissect, dissect_with, sends};

/// A connection that has shown its family: a NULL and its reply went over it.
fn shown(family: Family) -> (Wire, Vec<Packet>) {
    let (mut wire, mut trace) = connected();
    sends(&mut wire, &mut trace, &[(Client, v2::call(family, 1, 0, &Lists::default(), &null(1)))]);
    sends(&mut wire, &mut trace, &[(Server, v2::reply(family, 1, &[], &rpc::reply(1, &[])))]);
    (wire, trace)
}

fn forms(transaction: &Transaction) -> [Option<MessageForm>; 2] {
    [&transaction.call, &transaction.reply].map(|half| half.as_ref().map(|half| half.form))
}

fn why(half: Option<&rpcrdma_dissector::Half>) -> NotRebuilt {
    *half.unwrap().message.as_ref().unwrap_err()
}

fn text(message: &Message) -> String {
    let mut out = Vec::new();
    Lines::new(Screen::default(), Time(0)).message(&mut out, message, &Files::default()).unwrap();
    String::from_utf8(out).unwrap()
}

fn tree_of(message: &Message) -> String {
    let mut out = Vec::new();
    tree::write(&mut out, message, false).unwrap();
    String::from_utf8(out).unwrap()
}

fn object_of(message: &Message) -> Value {
    serde_json::from_str(&json_of(message)).unwrap()
}

fn json_of(message: &Message) -> String {
    let mut out = Vec::new();
    MessageObject::new(message, &Files::default()).write_json(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

const MEMORY: [Segment; 2] = [(0x51, 0x1000, 3000), (0x52, 0x9000, 8192)];

// --- One message a call, one a reply -------------------------------------------------------------------------------------

#[test]
fn a_short_call_and_its_reply() {
    for family in FAMILIES {
        let (_, trace) = shown(family);
        let found = dissect(&trace);
        assert_rpc(&found, 1, &null(1), &rpc::reply(1, &[]));
        assert_eq!(v2::dialects(&found.messages), [Dialect::Version2(family); 2]);
        let transaction = found.only_rpc(1);
        assert_eq!((transaction.name, transaction.status), (Some("NFSv3 NULL"), Some(Status::Success(None))));
        assert_eq!(forms(transaction), [Some(MessageForm::Short); 2]);
        assert_eq!([&transaction.call, &transaction.reply].map(|half| half.as_ref().unwrap().inline), [40, 24]);
    }
}

/// A READ of 5001 octets into two segments.
fn read_by_write(family: Family, xid: u32, data: &[u8]) -> Vec<Packet> {
    let (mut wire, mut trace) = shown(family);
    let room = Lists::writes(&[&MEMORY]);
    sends(&mut wire, &mut trace, &[(Client, v2::call(family, xid, 0x51, &room, &read3(xid, data.len() as u32)))]);
    trace.extend(wire.write(Server, (0x51, 0x1000), &data[..3000]));
    trace.extend(wire.write(Server, (0x52, 0x9000), &data[3000..]));
    let used = vec![MEMORY[0], (0x52, 0x9000, data.len() as u32 - 3000)];
    let results = rpc::reply(xid, &read3_results(data.len() as u32));
    trace.extend(wire.send_with_invalidate(Server, 0x51, &v2::reply(family, xid, &[used], &results)));
    trace.push(wire.ack_all(Client));
    trace
}

#[test]
fn a_read_whose_data_is_in_a_write_chunk() {
    for family in FAMILIES {
        let data = octets(5, 5001);
        let found = dissect(&read_by_write(family, 2, &data));
        assert_rpc(&found, 2, &read3(2, 5001), &read3_reply(2, &data));
        let transaction = found.only_rpc(2);
        assert_eq!(forms(transaction), [Some(MessageForm::Short), Some(MessageForm::Chunked)]);
        assert_eq!((transaction.read_octets, transaction.write_octets), (0, 5001));
        assert_eq!(found.messages[3].invalidates, Some(0x51));
    }
}

/// A WRITE whose data the server reads.
fn write_by_read(family: Family, xid: u32, data: &[u8]) -> Vec<Packet> {
    let (mut wire, mut trace) = shown(family);
    let memory = (0x61, 0x4000, data.len() as u32);
    let lists = Lists::reads(&[(WRITE3_POSITION, memory)]);
    sends(&mut wire, &mut trace, &[(Client, v2::call(family, xid, 0, &lists, &write3(xid, data.len() as u32)))]);
    trace.extend(wire.read(Server, (0x61, 0x4000), data));
    sends(&mut wire, &mut trace, &[(Server, v2::reply(family, xid, &[], &write3_reply(xid, data.len() as u32)))]);
    trace
}

fn written(xid: u32, data: &[u8]) -> Vec<u8> {
    [write3(xid, data.len() as u32), padded(data)].concat()
}

#[test]
fn a_write_whose_data_is_in_a_read_chunk() {
    for family in FAMILIES {
        let data = octets(6, 2503);
        let found = dissect(&write_by_read(family, 3, &data));
        assert_rpc(&found, 3, &written(3, &data), &write3_reply(3, 2503));
        assert_eq!(forms(found.only_rpc(3)), [Some(MessageForm::Chunked), Some(MessageForm::Short)]);
        assert_eq!(found.only_rpc(3).read_octets, 2503);
    }
}

/// A WRITE whose call is in memory, in two segments, and the data in another chunk beside it.
fn long_write(family: Family, xid: u32, data: &[u8]) -> Vec<Packet> {
    let (mut wire, mut trace) = shown(family);
    let call = write3(xid, data.len() as u32);
    let memory = [(0x71, 0x100, 40), (0x72, 0x800, call.len() as u32 - 40)];
    let others = Lists::reads(&[(WRITE3_POSITION, (0x73, 0x2000, data.len() as u32))]);
    sends(&mut wire, &mut trace, &[(Client, v2::long_call(family, xid, &memory, &others))]);
    trace.extend(wire.read(Server, (0x73, 0x2000), data));
    trace.extend(wire.read(Server, (0x71, 0x100), &call[..40]));
    trace.extend(wire.read(Server, (0x72, 0x800), &call[40..]));
    sends(&mut wire, &mut trace, &[(Server, v2::reply(family, xid, &[], &write3_reply(xid, data.len() as u32)))]);
    trace
}

#[test]
fn a_long_call_with_a_data_item_beside_it() {
    for family in FAMILIES {
        let data = octets(7, 1999);
        let found = dissect(&long_write(family, 4, &data));
        assert_rpc(&found, 4, &written(4, &data), &write3_reply(4, 1999));
        assert_eq!(forms(found.only_rpc(4)), [Some(MessageForm::Long), Some(MessageForm::Short)]);
        assert_eq!(found.only_rpc(4).name, Some("NFSv3 WRITE"));
        // The call's name is known even if its data is not kept.
        let found = dissect_with(&long_write(family, 4, &data), Config::for_messages());
        let names: Vec<_> =
            found.messages.iter().map(|message| message.rpc.as_ref().and_then(|rpc| rpc.name)).collect();
        assert_eq!(names[2..], [None, Some("NFSv3 WRITE")]);
    }
}

/// A READ whose reply is in the Reply chunk.
fn long_read(family: Family, xid: u32, data: &[u8]) -> Vec<Packet> {
    let (mut wire, mut trace) = shown(family);
    let reply = read3_reply(xid, data);
    sends(
        &mut wire,
        &mut trace,
        &[(Client, v2::call(family, xid, 0, &Lists::reply(&MEMORY), &read3(xid, data.len() as u32)))],
    );
    trace.extend(wire.write(Server, (0x51, 0x1000), &reply[..3000]));
    trace.extend(wire.write(Server, (0x52, 0x9000), &reply[3000..]));
    let used = [MEMORY[0], (0x52, 0x9000, reply.len() as u32 - 3000)];
    sends(&mut wire, &mut trace, &[(Server, v2::long_reply(family, xid, &used))]);
    trace
}

#[test]
fn a_long_reply() {
    for family in FAMILIES {
        let data = octets(8, 4001);
        let found = dissect(&long_read(family, 5, &data));
        assert_rpc(&found, 5, &read3(5, 4001), &read3_reply(5, &data));
        assert_eq!(forms(found.only_rpc(5)), [Some(MessageForm::Short), Some(MessageForm::Long)]);
        assert_eq!(found.only_rpc(5).status, Some(Status::Success(Some(0))));
    }
}

// --- Messages of several Sends -------------------------------------------------------------------------------------------

const XID: u32 = 9;

/// The Sends of a WRITE of which all is inline, the call in three of them and the reply in two.
fn parts(family: Family, data: &[u8]) -> [(By, Vec<u8>); 5] {
    let (call, reply) = (written(XID, data), write3_reply(XID, data.len() as u32));
    let (first, second) = (1000, 2000);
    [
        (Client, v2::call_part(family, XID, call.len() - first, &call[..first])),
        (Client, v2::call_part(family, XID, call.len() - second, &call[first..second])),
        (Client, v2::call(family, XID, 0, &Lists::default(), &call[second..])),
        (Server, v2::reply_part(family, XID, reply.len() - 20, &reply[..20])),
        (Server, v2::reply(family, XID, &[], &reply[20..])),
    ]
}

#[test]
fn parts_are_joined() {
    for family in FAMILIES {
        let data = octets(9, 2501);
        let (mut wire, mut trace) = shown(family);
        sends(&mut wire, &mut trace, &parts(family, &data));
        let found = dissect(&trace);
        assert_rpc(&found, XID, &written(XID, &data), &write3_reply(XID, 2501));
        let transaction = found.only_rpc(XID);
        assert_eq!(forms(transaction), [Some(MessageForm::Continued); 2]);
        assert_eq!(transaction.call.as_ref().unwrap().inline, 68 + 2504, "of all its Sends");
        assert_eq!(transaction.name, Some("NFSv3 WRITE"));
        assert!(found.messages.iter().all(|message| message.dropped.is_none()));
        let earlier: Vec<u64> = found.messages[2..].iter().map(|message| message.earlier_length()).collect();
        assert_eq!(earlier, [0, 0, 2000, 0, 20]);
        let directions: Vec<_> = found.messages[2..].iter().map(|m| m.rpc.as_ref().map(|rpc| rpc.direction)).collect();
        assert_eq!(directions, [None, None, Some(MessageDirection::Call), None, Some(MessageDirection::Reply)]);
    }
}

#[test]
fn the_other_direction_grants_and_errors_come_between_parts() {
    for family in FAMILIES {
        let data = octets(10, 2501);
        let (mut wire, mut trace) = shown(family);
        let [first, second, third, part, last] = parts(family, &data);
        let other = (Client, v2::call(family, 20, 0, &Lists::default(), &null(20)));
        let answer = (Server, v2::reply(family, 20, &[], &rpc::reply(20, &[])));
        let error = (Server, v2::error(family, 7777, &[2]));
        let (from_client, from_server) = ((Client, v2::grant(family)), (Server, v2::grant(family)));
        let order =
            [other, first, from_server.clone(), from_client, answer, second, error, third, part, from_server, last];
        sends(&mut wire, &mut trace, &order);
        let found = dissect(&trace);
        assert_rpc(&found, XID, &written(XID, &data), &write3_reply(XID, 2501));
        assert_rpc(&found, 20, &null(20), &rpc::reply(20, &[]));
        assert!(found.messages.iter().all(|message| message.dropped.is_none()));
        assert_eq!(found.transactions.len(), 3, "grants and errors to nobody are none");
    }
}

#[test]
fn parts_with_a_read_chunk_in_the_last() {
    for family in FAMILIES {
        let data = octets(11, 1200);
        let (mut wire, mut trace) = shown(family);
        let call = write3(XID, 1200);
        let lists = Lists::reads(&[(WRITE3_POSITION, (0x61, 0x4000, 1200))]);
        sends(
            &mut wire,
            &mut trace,
            &[
                (Client, v2::call_part(family, XID, call.len() - 44, &call[..44])),
                (Client, v2::call(family, XID, 0, &lists, &call[44..])),
            ],
        );
        trace.extend(wire.read(Server, (0x61, 0x4000), &data));
        sends(&mut wire, &mut trace, &[(Server, v2::reply(family, XID, &[], &write3_reply(XID, 1200)))]);
        assert_rpc(&dissect(&trace), XID, &written(XID, &data), &write3_reply(XID, 1200));
    }
}

#[test]
fn a_message_of_another_rpc_among_parts_is_dropped() {
    for family in FAMILIES {
        let data = octets(12, 2501);
        let (mut wire, mut trace) = shown(family);
        let [first, second, third, part, last] = parts(family, &data);
        let other = (Client, v2::call(family, 30, 0, &Lists::default(), &null(30)));
        sends(&mut wire, &mut trace, &[first, other, second, third, part, last]);
        let found = dissect(&trace);
        assert_rpc(&found, XID, &written(XID, &data), &write3_reply(XID, 2501));
        assert!(!found.transactions.iter().any(|transaction| transaction.xid == 30), "its receiver dropped it");
        let dropped: Vec<_> = found.messages.iter().filter(|message| message.dropped.is_some()).collect();
        let [message] = &dropped[..] else { panic!("one: {dropped:?}") };
        assert_eq!(message.prefix().unwrap().xid, 30);
        assert!(text(message).contains("dropped: "), "{}", text(message));
        assert!(json_of(message).contains(r#""dropped":""#));
        assert!(tree_of(message).contains("\n              dropped           "), "{}", tree_of(message));
    }
}

#[test]
fn a_wrong_count_drops_the_sequence() {
    let (mut wire, mut trace) = shown(Family::B);
    let data = octets(13, 2501);
    let [first, mut second, third, ..] = parts(Family::B, &data);
    second.1[19] ^= 8;
    sends(&mut wire, &mut trace, &[first, second, third]);
    sends(&mut wire, &mut trace, &[(Client, v2::call(Family::B, 31, 0, &Lists::default(), &null(31)))]);
    sends(&mut wire, &mut trace, &[(Server, v2::reply(Family::B, 31, &[], &rpc::reply(31, &[])))]);
    let found = dissect(&trace);
    let dropped: Vec<_> = found.messages[2..].iter().map(|message| message.dropped).collect();
    assert!(
        matches!(dropped[..3], [None, Some(Dropped::Misplaced(_)), Some(Dropped::OfDroppedSequence)]),
        "{dropped:?}"
    );
    assert_rpc(&found, 31, &null(31), &rpc::reply(31, &[]));
    assert!(!found.transactions.iter().any(|transaction| transaction.xid == XID));
}

#[test]
fn an_error_with_a_flag_that_none_has_is_dropped() {
    let (mut wire, mut trace) = shown(Family::A);
    sends(&mut wire, &mut trace, &[(Client, v2::call(Family::A, 40, 0, &Lists::default(), &null(40)))]);
    sends(&mut wire, &mut trace, &[(Server, a(4, 40, RESPONSE | MORE, &words(&[2])))]);
    let found = dissect(&trace);
    assert_eq!(found.messages[3].dropped, Some(Dropped::ErrorWithFlags));
    assert!(found.only_rpc(40).reply.is_none(), "the call still waits");
}

/// The first part of a Call, an error for it, and another Call: the parts of the first need not be completed.
fn ended_by_error(family: Family, next: &[(By, Vec<u8>)]) -> Found {
    let (mut wire, mut trace) = shown(family);
    let [first, ..] = parts(family, &octets(14, 2501));
    sends(&mut wire, &mut trace, &[first, (Server, v2::error(family, XID, &[2]))]);
    sends(&mut wire, &mut trace, next);
    dissect(&trace)
}

#[test]
fn an_error_within_a_call_drops_no_later_call() {
    for family in FAMILIES {
        let answer = (Server, v2::reply(family, 50, &[], &rpc::reply(50, &[])));
        let whole = (Client, v2::call(family, 50, 0, &Lists::default(), &null(50)));
        let divided = [
            (Client, v2::call_part(family, 50, null(50).len() - 20, &null(50)[..20])),
            (Client, v2::call(family, 50, 0, &Lists::default(), &null(50)[20..])),
        ];
        for next in [&[whole][..], &divided] {
            let found = ended_by_error(family, &[next, std::slice::from_ref(&answer)].concat());
            assert!(found.messages.iter().all(|message| message.dropped.is_none()), "{family:?}");
            assert_rpc(&found, 50, &null(50), &rpc::reply(50, &[]));
            // The message that the error ended holds nothing up: the last message is the answer to the next Call.
            assert!(found.messages.iter().any(|message| message.error().is_some()));
            assert_eq!(found.messages.last().unwrap().prefix().unwrap().xid, 50);
        }
        let (mut wire, mut trace) = shown(family);
        let [first, ..] = parts(family, &octets(14, 2501));
        let other = (Server, v2::error(family, 51, &[2]));
        sends(&mut wire, &mut trace, &[first, other, (Client, v2::call(family, 50, 0, &Lists::default(), &null(50)))]);
        let found = dissect(&trace);
        assert!(
            found.messages.iter().any(|message| matches!(message.dropped, Some(Dropped::Misplaced(_)))),
            "{family:?}"
        );
    }
}

#[test]
fn an_error_within_a_call_answers_the_finished_call() {
    for family in FAMILIES {
        let data = octets(14, 2501);
        let [_, second, third, ..] = parts(family, &data);
        let found = ended_by_error(family, &[second, third]);
        let transaction = found.only_rpc(XID);
        assert_eq!(rebuilt(transaction), [Some(&written(XID, &data)[..]), None], "{family:?}");
        assert!(matches!(why(transaction.reply.as_ref()), NotRebuilt::Error(_)));
    }
}

#[test]
fn a_part_that_cannot_be_read_ends_its_call() {
    for family in FAMILIES {
        let [first, second, last, ..] = parts(family, &octets(14, 2501));
        // A list that goes on, and does not.
        let (lists, header) = if family == Family::A { (28, 32) } else { (20, 24) };
        let mut unread = last.1[..header].to_vec();
        unread[lists..].copy_from_slice(&words(&[1]));
        let mut unread_middle = second.1[..if family == Family::A { header } else { 18 }].to_vec();
        if family == Family::A {
            unread_middle[lists..].copy_from_slice(&words(&[1]));
        }
        let error = (Server, v2::error(family, XID, &[2]));
        let next = [
            (Client, v2::call(family, 50, 0, &Lists::default(), &null(50))),
            (Server, v2::reply(family, 50, &[], &rpc::reply(50, &[]))),
        ];
        let at_the_end = [&[first.clone(), second, (Client, unread), error.clone()][..], &next].concat();
        let in_the_middle = [&[first, (Client, unread_middle), last, error][..], &next].concat();
        for (sent, dropped) in [(at_the_end, 0), (in_the_middle, 1)] {
            let (mut wire, mut trace) = shown(family);
            sends(&mut wire, &mut trace, &sent);
            let found = dissect(&trace);
            let rest = found.messages.iter().filter_map(|message| message.dropped).collect::<Vec<_>>();
            assert_eq!(rest, vec![Dropped::OfDroppedSequence; dropped], "{family:?}");
            assert_eq!(rebuilt(found.only_rpc(XID)), [None, None], "{family:?}");
            assert_rpc(&found, 50, &null(50), &rpc::reply(50, &[]));
        }
    }
}

/// The places in a trace of the packets that carry data.
fn requests(trace: &[Packet]) -> Vec<usize> {
    (0..trace.len()).filter(|place| trace[*place].len() > 28 + 16 + 4).collect()
}

#[test]
fn a_missing_part_spoils_only_its_rpc() {
    for family in FAMILIES {
        let data = octets(14, 2501);
        let (mut wire, mut trace) = shown(family);
        let before = trace.len();
        sends(&mut wire, &mut trace, &parts(family, &data));
        let after = trace.len();
        for xid in 100..200 {
            sends(
                &mut wire,
                &mut trace,
                &[
                    (Client, v2::call(family, xid, 0, &Lists::default(), &null(xid))),
                    (Server, v2::reply(family, xid, &[], &rpc::reply(xid, &[]))),
                ],
            );
        }
        let lost: Vec<usize> = requests(&trace).into_iter().filter(|place| (before..after).contains(place)).collect();
        assert!(lost.len() >= 5, "{lost:?}");
        for place in lost {
            let mut rest = trace.clone();
            rest.remove(place);
            let found = dissect(&rest);
            let whole = [written(XID, &data), write3_reply(XID, 2501)];
            let mut missing = 0;
            for transaction in found.transactions.iter().filter(|transaction| transaction.xid == XID) {
                for (rebuilt, whole) in rebuilt(transaction).iter().zip(&whole) {
                    assert!(
                        rebuilt.is_none_or(|octets| octets == whole),
                        "{family:?}, without {place}: {transaction:?}"
                    );
                    missing += usize::from(rebuilt.is_none());
                }
            }
            assert!(missing > 0, "{family:?}: something is missing without {place}");
            for xid in 100..200 {
                assert_rpc(&found, xid, &null(xid), &rpc::reply(xid, &[]));
            }
            assert!(found.messages.iter().all(|message| message.dropped.is_none()), "nobody dropped anything");
        }
    }
}

#[test]
fn a_capture_that_begins_among_the_parts_says_so() {
    for family in FAMILIES {
        let data = octets(15, 2501);
        let mut wire = Wire::default();
        let mut trace = Vec::new();
        let [_, second, third, part, last] = parts(family, &data);
        // The first message shows what the connection carries, and nothing of what the client has sent.
        sends(
            &mut wire,
            &mut trace,
            &[(Server, v2::reply(family, 1, &[], &rpc::reply(1, &[]))), second, third, part, last],
        );
        let found = dissect(&trace);
        let transaction = found.only_rpc(XID);
        assert_eq!(rebuilt(transaction), [None, Some(&write3_reply(XID, 2501)[..])], "{transaction:?}");
        assert_eq!(why(transaction.call.as_ref()), NotRebuilt::Earlier);
        assert_eq!(forms(transaction), [Some(MessageForm::Continued); 2]);
        let message = &found.messages[2];
        assert!(text(message).ends_with("earlier parts missing\n"), "{}", text(message));
        assert!(json_of(message).contains(r#""missing":"earlier"}"#), "{}", json_of(message));
        assert!(tree_of(message).contains("after earlier parts, some of which are missing"), "{}", tree_of(message));
    }
}

// --- What is not RPC -----------------------------------------------------------------------------------------------------

#[test]
fn transport_properties_are_shown() {
    for family in FAMILIES {
        let (mut wire, mut trace) = shown(family);
        let mut both = vec![(Client, v2::properties(family, 50, &v2::all_properties()))];
        both.push((Server, v2::properties(family, 50, &words(&[0]))));
        sends(&mut wire, &mut trace, &both);
        let found = dissect(&trace);
        let message = &found.messages[2];
        let (htype, name, limit, flags) = match family {
            Family::A => ("A", "RDMA2_CONNPROP", Value::Null, json!([])),
            Family::B => ("B", "RDMA2_CONNPROP_FINAL", json!(4_194_336), Value::Null),
        };
        let property = |id: u32, name: Option<&str>, number: Option<u32>, octets: Option<&str>| {
            let meaning = (id == 5).then_some("RDMA2_RVRSDIR_CONT");
            json!({"id": id, "name": name, "number": number, "meaning": meaning, "octets": octets})
        };
        let expected = json!({
            "type": "message", "schema": 1, "frame": 8, "file": null, "file_frame": null, "time_ns": 8000,
            "connection": 1, "from": "192.0.2.1", "to": "192.0.2.2", "requester": null, "responder": null,
            "mirror_session": null, "retransmitted": 0, "rdma_xid": "0x00000032", "rdma_vers": 2, "rdma_credit": 4_194_336, "rdma_proc": null,
            "header_octets": message.octets.len(), "payload_octets": 0, "trailing_octets": null, "reads": [],
            "writes": [], "reply": null, "error": null, "invalidates": null, "msgp": null,
            "version_2": {
                "rdma_htype": name, "family": htype, "credit": {"granted": 32, "maximum": 64, "limit": limit},
                "rdma_flags": flags, "rdma_remaining": null, "rdma_inv_handle": null, "call": null,
                "properties": [
                    property(1, Some("RDMA2_PROPID_SBSIZ"), Some(8192), None),
                    property(2, Some("RDMA2_PROPID_RBSIZ"), Some(16_384), None),
                    property(3, Some("RDMA2_PROPID_RSSIZ"), Some(65_536), None),
                    property(4, Some("RDMA2_PROPID_RCSIZ"), Some(8), None),
                    property(5, Some("RDMA2_PROPID_BRS"), Some(2), None),
                    property(6, Some("RDMA2_PROPID_HOSTAUTH"), None, Some("616263")),
                    property(77, None, None, Some("767778797a")),
                    property(4, Some("RDMA2_PROPID_RCSIZ"), None, None),
                ],
                "earlier_octets": 0, "dropped": null
            },
            "malformed": null, "incomplete": null, "rpc": null
        });
        assert_eq!(object_of(message), expected);
        assert!(found.messages.iter().all(|message| message.dropped.is_none() && message.is_malformed().is_none()));
        assert_eq!(found.transactions.len(), 1);
    }
}

#[test]
fn transport_properties_after_the_last_are_dropped() {
    for family in FAMILIES {
        let (mut wire, mut trace) = shown(family);
        let last = (Client, v2::properties(family, 50, &words(&[0])));
        sends(&mut wire, &mut trace, &[last.clone(), (Server, last.1.clone()), last]);
        let found = dissect(&trace);
        let dropped: Vec<bool> = found.messages[2..].iter().map(|message| message.dropped.is_some()).collect();
        assert_eq!(dropped, [false, false, true]);
    }
}

/// Returns the text of a grant: credits, or one of two readings.
const fn granted(family: Family) -> &'static str {
    match family {
        Family::A => "grants 32",
        Family::B => "grants 32 or up to 4194336",
    }
}

#[test]
fn grants_are_messages_and_nothing_more() {
    let grants = [
        (Family::A, v2::grant(Family::A), "RDMA2_NOMSG"),
        (Family::A, a(6, 0, 0, &[]), "RDMA2_GRANT"),
        (Family::B, v2::grant(Family::B), "RDMA2_GRANT"),
    ];
    for (family, grant, name) in grants {
        let (mut wire, mut trace) = shown(family);
        sends(&mut wire, &mut trace, &[(Client, grant.clone()), (Server, grant)]);
        let found = dissect(&trace);
        assert_eq!((found.messages.len(), found.transactions.len()), (4, 1));
        for message in &found.messages[2..] {
            assert_eq!((message.type_name(), message.rpc.as_ref()), (Some(name), None));
            assert!(text(message).ends_with(&format!("  {}\n", granted(family))), "{}", text(message));
        }
    }
}

/// Fields of an error besides its code, as JSON.
type Rest = &'static [(&'static str, u32)];

/// Every error: the words of its body, its name, and its other fields in JSON.
const ERRORS: [(&[u32], &str, Rest); 13] = [
    (&[1, 1, 2], "RDMA2_ERR_VERS", &[("low", 1), ("high", 2)]),
    (&[2], "RDMA2_ERR_BAD_XDR", &[]),
    (&[3], "RDMA2_ERR_BAD_PROPVAL", &[]),
    (&[4], "RDMA2_ERR_INVAL_HTYPE", &[]),
    (&[5], "RDMA2_ERR_INVAL_CONT", &[]),
    (&[6, 17], "RDMA2_ERR_READ_CHUNKS", &[("max_chunks", 17)]),
    (&[7, 18], "RDMA2_ERR_WRITE_CHUNKS", &[("max_chunks", 18)]),
    (&[8, 19], "RDMA2_ERR_SEGMENTS", &[("max_segments", 19)]),
    (&[9, 1, 4096], "RDMA2_ERR_WRITE_RESOURCE", &[("chunk_index", 1), ("length_needed", 4096)]),
    (&[10, 8192], "RDMA2_ERR_REPLY_RESOURCE", &[("length_needed", 8192)]),
    (&[11], "RDMA2_ERR_VERS_MISMATCH", &[]),
    (&[100], "RDMA2_ERR_SYSTEM", &[]),
    (&[12], "12", &[]),
];

#[test]
fn every_error_ends_its_call() {
    for family in FAMILIES {
        for (body, name, rest) in ERRORS {
            let (mut wire, mut trace) = shown(family);
            sends(&mut wire, &mut trace, &[(Client, v2::call(family, 60, 0, &Lists::default(), &null(60)))]);
            sends(&mut wire, &mut trace, &[(Server, v2::error(family, 60, body))]);
            let found = dissect(&trace);
            let transaction = found.only_rpc(60);
            assert!(matches!(transaction.status, Some(Status::Error(_))), "{transaction:?}");
            assert!(matches!(why(transaction.reply.as_ref()), NotRebuilt::Error(_)));
            let message = &found.messages[3];
            let error = object_of(message)["error"].clone();
            let present = error.as_object().unwrap().iter().filter(|(_, value)| !value.is_null());
            let present: BTreeMap<_, _> = present.map(|(key, value)| (key.as_str(), value.clone())).collect();
            let expected = rest.iter().map(|&(key, value)| (key, json!(value))).chain([("code", json!(name))]);
            assert_eq!(present, expected.collect(), "{error}");
            assert_eq!(message.dialect, Dialect::Version2(family));
            for value in &body[1..] {
                let tree = tree_of(message);
                assert!(tree.lines().any(|line| line.ends_with(&format!(" {value}"))), "{value} in {tree}");
            }
        }
    }
}

#[test]
fn a_client_refused_in_version_2_goes_on_in_1() {
    for family in FAMILIES {
        let (mut wire, mut trace) = connected();
        // The 28 octets of ERR_VERS have no flags in version 1.
        let refusal = words(&[70, 2, 32, 4, 1, 1, 1]);
        let none = Lists::default();
        sends(
            &mut wire,
            &mut trace,
            &[
                (Client, v2::call(family, 70, 0, &none, &null(70))),
                (Server, refusal),
                (Client, message(rpc::MSG, 71, &none, &null(71))),
                (Server, message(rpc::MSG, 71, &none, &rpc::reply(71, &[]))),
            ],
        );
        let found = dissect(&trace);
        let refused = found.only_rpc(70);
        assert_eq!(rebuilt(refused), [Some(&null(70)[..]), None]);
        let Some(Status::Error(error)) = refused.status else { panic!("{refused:?}") };
        assert_eq!(error.to_string().split_once("ERR_VERS ").unwrap().1, "1 to 1");
        assert_rpc(&found, 71, &null(71), &rpc::reply(71, &[]));
        let [first, others @ ..] = &v2::dialects(&found.messages)[..] else { unreachable!() };
        assert_eq!(*first, Dialect::Version2(family));
        assert_eq!(others, [Dialect::Version1; 3], "the refusal too, whatever was offered");
        let tree = tree_of(&found.messages[1]);
        let offsets: Vec<&str> = tree.lines().take(7).map(|line| line.get(8..12).unwrap()).collect();
        assert_eq!(offsets, ["0000", "0004", "0008", "000c", "0010", "0014", "0018"], "{tree}");
        assert!(tree.contains("0018  rdma_vers_high    1\n"), "{tree}");
        let error = &object_of(&found.messages[1])["error"];
        assert_eq!((&error["low"], &error["high"]), (&json!(1), &json!(1)));
        assert_eq!(found.messages[1].is_malformed(), None);
    }
}

#[test]
fn a_version_2_server_refuses_in_version_2_layout() {
    let (mut wire, mut trace) = shown(Family::A);
    sends(&mut wire, &mut trace, &[(Client, v2::call(Family::A, 72, 0, &Lists::default(), &null(72)))]);
    sends(&mut wire, &mut trace, &[(Server, v2::error(Family::A, 72, &[1, 3, 4]))]);
    let found = dissect(&trace);
    assert_eq!(found.messages[3].octets.len(), 32);
    let Some(Status::Error(error)) = found.only_rpc(72).status else { panic!("no error") };
    assert!(error.to_string().ends_with("3 to 4"), "{error}");
}

// --- Which wire format ---------------------------------------------------------------------------------------------------

/// An RDMA2_GRANT of draft -02, or an empty RDMA2_CONNPROP_MIDDLE.
fn of_either() -> Vec<u8> {
    words(&[0, 2, v2::CREDIT, 6, 0])
}

#[test]
fn the_first_unambiguous_message_decides_the_wire_format() {
    for family in FAMILIES {
        let (mut wire, mut trace) = connected();
        sends(
            &mut wire,
            &mut trace,
            &[
                (Client, of_either()),
                (Client, v2::call(family, 80, 0, &Lists::default(), &null(80))),
                (Server, v2::reply(family, 80, &[], &rpc::reply(80, &[]))),
            ],
        );
        let found = dissect(&trace);
        let known = Dialect::Version2(family);
        assert_eq!(v2::dialects(&found.messages), [Dialect::Version2Unknown, known, known]);
        assert_rpc(&found, 80, &null(80), &rpc::reply(80, &[]));
        let first = &found.messages[0];
        assert_eq!((first.type_name(), first.is_malformed(), first.rpc.as_ref()), (None, None, None));
        assert!(text(first).ends_with("version 2, wire format unknown\n"), "{}", text(first));
        assert!(tree_of(first).contains("no message on this connection shows which wire format"), "{}", tree_of(first));
        let object = object_of(first);
        assert_eq!((&object["header_octets"], &object["payload_octets"]), (&Value::Null, &Value::Null));
        let version_2 = &object["version_2"];
        assert_eq!((&version_2["rdma_htype"], &version_2["family"]), (&json!("6"), &Value::Null));
        assert_eq!(version_2["credit"], json!({"granted": 32, "maximum": 64, "limit": 4_194_336}));
        assert_eq!(found.transactions.len(), 1, "it is no call");
    }
}

#[test]
fn a_chosen_wire_format_applies_to_all_messages() {
    let (mut wire, mut trace) = connected();
    sends(&mut wire, &mut trace, &[(Client, of_either())]);
    for (family, name) in [(Family::A, "RDMA2_GRANT"), (Family::B, "RDMA2_CONNPROP_MIDDLE")] {
        let mut config = Config::default();
        config.v2_family = Some(family);
        let found = dissect_with(&trace, config);
        assert_eq!(v2::dialects(&found.messages), [Dialect::Version2(family)]);
        assert_eq!(found.messages[0].type_name(), Some(name));
    }
}

#[test]
fn each_connection_has_its_own_wire_format() {
    let mut traces = Vec::new();
    for (index, family) in (0_u8..).zip(FAMILIES) {
        let mut wire = Wire { name: 0x500 + u32::from(index), ..Wire::default() };
        wire.client.queue_pair += 0x100 * u32::from(index);
        wire.server.queue_pair += 0x100 * u32::from(index);
        let mut trace = wire.connect();
        sends(&mut wire, &mut trace, &[(Client, v2::call(family, 1, 0, &Lists::default(), &null(1)))]);
        traces.push(trace);
    }
    let mixed: Vec<Packet> = (0..5).flat_map(|place| traces.iter().map(move |trace| trace[place].clone())).collect();
    let found = dissect(&mixed);
    assert_eq!(v2::dialects(&found.messages), [Dialect::Version2(Family::A), Dialect::Version2(Family::B)]);
}

#[test]
fn a_version_1_header_that_says_2_is_malformed() {
    let (mut wire, mut trace) = connected();
    let mut octets = message(rpc::MSG, 90, &Lists::default(), &null(90));
    octets[7] = 2;
    sends(&mut wire, &mut trace, &[(Client, octets)]);
    let found = dissect(&trace);
    let [message] = &found.messages[..] else { panic!("one message") };
    assert_eq!(message.dialect, Dialect::Version1);
    assert!(text(message).ends_with("malformed at octet 4: version\n"), "{}", text(message));
}

/// The packets as a capture with this snaplen has them; those of the setup are whole.
fn cut(trace: &[Packet], snaplen: usize) -> Vec<(Packet, u32)> {
    let short = |packet: &Packet| packet[..packet.len().min(snaplen)].to_vec();
    let is_setup = |packet: &Packet| packet[28] == 0x64;
    let cut = |packet: &Packet| if is_setup(packet) { packet.clone() } else { short(packet) };
    trace.iter().map(|packet| (cut(packet), packet.len() as u32)).collect()
}

#[test]
fn a_cut_message_does_not_decide_the_wire_format() {
    // Cut to 16 octets, an RDMA2_CONNPROP of family A is an RDMA2_GRANT of family B.
    let (mut wire, mut trace) = connected();
    sends(&mut wire, &mut trace, &[(Client, v2::properties(Family::A, 0, &v2::all_properties()))]);
    for length in 0..v2::all_properties().len() {
        let found = synthetic::dissect_cut(&cut(&trace, 28 + 12 + 16 + length), Config::default());
        let message = found.messages.last().unwrap();
        let known = [Dialect::Version2Unknown, Dialect::Version2(Family::A)];
        assert!(known.contains(&message.dialect), "{length}: {message:?}");
        assert_eq!(message.is_malformed(), None, "{length}");
    }
}

#[test]
fn version_2_is_recognised_on_any_port() {
    for family in FAMILIES {
        let mut wire = Wire { port: 12_345, ..Wire::default() };
        let mut trace = wire.connect();
        sends(
            &mut wire,
            &mut trace,
            &[
                // The first messages of a connection do not tell what it carries.
                (Client, v2::properties(family, 1, &v2::all_properties())),
                (Client, v2::call(family, 2, 0, &Lists::default(), &null(2))),
                (Server, v2::reply(family, 2, &[], &rpc::reply(2, &[]))),
            ],
        );
        let found = dissect(&trace);
        assert_rpc(&found, 2, &null(2), &rpc::reply(2, &[]));
        assert_eq!(v2::dialects(&found.messages), [Dialect::Version2(family); 2]);
    }
}

// --- What is shown -------------------------------------------------------------------------------------------------------

/// One message of each kind, over one connection; and the RPCs in it.
fn everything(family: Family) -> (Vec<Packet>, Vec<Vec<u8>>) {
    let (mut wire, mut trace) = connected();
    let none = Lists::default();
    let (data, long) = (octets(31, 2501), octets(32, 1999));
    let middle = match family {
        Family::A => a(5, 1, MORE | TPMORE, &v2::all_properties()),
        Family::B => v2::b(6, 1, &v2::all_properties()),
    };
    sends(
        &mut wire,
        &mut trace,
        &[
            (Client, v2::call(family, 2, 0, &none, &null(2))),
            (Server, v2::reply(family, 2, &[], &rpc::reply(2, &[]))),
            (Client, middle),
            (Client, v2::properties(family, 1, &v2::all_properties())),
            (Server, v2::grant(family)),
            (Client, v2::call(family, 3, 0x51, &Lists::writes(&[&MEMORY]), &read3(3, 2501))),
        ],
    );
    trace.extend(wire.write(Server, (0x51, 0x1000), &data));
    sends(
        &mut wire,
        &mut trace,
        &[(
            Server,
            v2::reply(
                family,
                3,
                &[vec![(0x51, 0x1000, 2501), (0x52, 0x9000, 0)]],
                &rpc::reply(3, &read3_results(2501)),
            ),
        )],
    );
    let call = write3(4, 1999);
    let others = Lists { reply: Some(vec![(0x75, 0x3000, 512)]), ..Lists::reads(&[(68, (0x73, 0x2000, 1999))]) };
    sends(&mut wire, &mut trace, &[(Client, v2::long_call(family, 4, &[(0x72, 0x800, 68)], &others))]);
    trace.extend(wire.read(Server, (0x73, 0x2000), &long));
    trace.extend(wire.read(Server, (0x72, 0x800), &call));
    let reply = write3_reply(4, 1999);
    trace.extend(wire.write(Server, (0x75, 0x3000), &reply));
    sends(&mut wire, &mut trace, &[(Server, v2::long_reply(family, 4, &[(0x75, 0x3000, reply.len() as u32)]))]);
    sends(&mut wire, &mut trace, &parts(family, &data));
    sends(
        &mut wire,
        &mut trace,
        &[
            (Client, v2::call(family, 5, 0, &none, &null(5))),
            (Server, v2::error(family, 5, &[9, 1, 4096])),
            (Client, v2::properties(family, 1, &words(&[0]))),
        ],
    );
    // The two that are sent in parts have the places 6 and 7.
    let rpcs = vec![
        null(2),
        rpc::reply(2, &[]),
        read3(3, 2501),
        read3_reply(3, &data),
        written(4, &long),
        reply,
        written(XID, &data),
        write3_reply(XID, 2501),
        null(5),
    ];
    (trace, rpcs)
}

/// The RPC messages that were rebuilt.
fn all_rebuilt(found: &Found) -> Vec<Vec<u8>> {
    let both = found.transactions.iter().flat_map(|transaction| rebuilt(transaction));
    both.flatten().map(<[u8]>::to_vec).collect()
}

#[test]
fn every_kind_of_message_has_a_line() {
    for family in FAMILIES {
        let (trace, rpcs) = everything(family);
        let found = dissect(&trace);
        assert_eq!(all_rebuilt(&found), rpcs);
        let lines: Vec<String> = found.messages.iter().map(text).collect();
        for line in &lines {
            assert!(line.trim_end().chars().count() <= 120, "{line}");
        }
        let lines: Vec<&str> = lines.iter().map(|line| line.trim_end().get(22..).unwrap()).collect();
        let (one, prop, ext, mid, cut) = match family {
            Family::A => (["MSG  "; 2], "PROP ", ["NOMSG"; 2], ["MSG  "; 2], "read 68@0 read 1999@68 reply 512"),
            Family::B => {
                (["CALL ", "REPLY"], "PROP+", ["CEXT ", "REXT "], ["CMID ", "RMID "], "call 68  read 1999@68 reply 512")
            }
        };
        let grant = if family == Family::A { "NOMSG" } else { "GRANT" };
        let (c, s) = ("192.0.2.1 → 192.0.2.2 ", "192.0.2.2 → 192.0.2.1 ");
        let expected = [
            format!("{c} {} 0x00000002    40 call  NFSv3 NULL", one[0]),
            format!("{s} {} 0x00000002    24 reply NFSv3 NULL", one[1]),
            format!("{c} {prop} 0x00000001               SBSIZ 8192 RBSIZ 16384 RSSIZ 65536 RCSIZ 8 …"),
            format!("{c} PROP  0x00000001               SBSIZ 8192 RBSIZ 16384 RSSIZ 65536 RCSIZ 8 …"),
            format!("{s} {grant} 0x00000000               {}", granted(family)),
            format!("{c} {} 0x00000003    60 call  NFSv3 READ  write 11192", one[0]),
            format!("{s} {} 0x00000003    44 reply NFSv3 READ  write 2501", one[1]),
            format!("{c} {} 0x00000004     0         {cut}", ext[0]),
            format!("{s} {} 0x00000004     0 reply NFSv3 WRITE  reply 52", ext[1]),
            format!("{c} {} 0x00000009  1000         more follows", mid[0]),
            format!("{c} {} 0x00000009  1000         more follows", mid[0]),
            format!("{c} {} 0x00000009   572 call  NFSv3 WRITE  after 2000 octets", one[0]),
            format!("{s} {} 0x00000009    20         more follows", mid[1]),
            format!("{s} {} 0x00000009    32 reply NFSv3 WRITE  after 20 octets", one[1]),
            format!("{c} {} 0x00000005    40 call  NFSv3 NULL", one[0]),
            format!("{s} ERROR 0x00000005       reply   ERR_WRITE_RESOURCE chunk 1 needs 4096 octets"),
            format!("{c} PROP  0x00000001               dropped: transport properties after the las…"),
        ];
        assert_eq!(lines, expected);
    }
}

/// The offsets, names and values of the tree of a header, its first four words left out.
fn fields(message: &Message) -> Vec<String> {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    tree_of(message).lines().skip(4).map(words).collect()
}

#[test]
fn the_tree_has_every_version_2_field_with_offset() {
    let found = dissect(&everything(Family::A).0);
    assert_eq!(
        fields(&found.messages[2]),
        [
            "0010 rdma_flags 0x00000006 MORE TPMORE",
            "0014 properties 8",
            "0018 property 1 (RDMA2_PROPID_SBSIZ): 8192",
            "0024 property 2 (RDMA2_PROPID_RBSIZ): 16384",
            "0030 property 3 (RDMA2_PROPID_RSSIZ): 65536",
            "003c property 4 (RDMA2_PROPID_RCSIZ): 8",
            "0048 property 5 (RDMA2_PROPID_BRS): 2 (RDMA2_RVRSDIR_CONT)",
            "0054 property 6 (RDMA2_PROPID_HOSTAUTH): 8 octets",
            "0064 property 77: 5 octets",
            "0074 property 4 (RDMA2_PROPID_RCSIZ): default",
        ]
    );
    assert_eq!(
        fields(&found.messages[11])[..6],
        [
            "0010 rdma_flags 0x00000000",
            "0014 rdma_inv_handle 0x00000000",
            "0018 Read list ends",
            "001c Write list ends",
            "0020 Reply chunk none",
            "0024 Payload stream 572 octets, after 2000 in earlier messages",
        ]
    );
    let found = dissect(&everything(Family::B).0);
    assert_eq!(
        fields(&found.messages[7]),
        [
            "0010 rdma_inv_handle 0x00000000",
            "0014 Call segment position 0 handle 0x00000072 length 68 offset 0x0000000000000800",
            "002c Call chunk ends",
            "0030 Read segment position 68 handle 0x00000073 length 1999 offset 0x0000000000002000",
            "0048 Read list ends",
            "004c Write list ends",
            "0050 Reply chunk 1 segment",
            "0058 segment handle 0x00000075 length 512 offset 0x0000000000003000",
        ]
    );
    assert_eq!(
        fields(&found.messages[8])[..3],
        [
            "0010 Write list ends",
            "0014 Reply chunk 1 segment",
            "001c segment handle 0x00000075 length 52 offset 0x0000000000003000",
        ]
    );
    assert_eq!(
        fields(&found.messages[9]),
        ["0010 rdma_remaining 1572", "0014 Payload stream 1,000 octets, more follow"]
    );
    assert_eq!(
        fields(&found.messages[15])[..3],
        ["0010 rdma_err 9 (RDMA2_ERR_WRITE_RESOURCE)", "0014 rdma_chunk_index 1", "0018 rdma_length_needed 4096",]
    );
    assert_eq!(
        tree_of(&found.messages[0]).lines().nth(2),
        Some("        0008  rdma_credit       4194336 (-03, -04: 32 granted, 64 at most; -06, -07: limit 4194336)")
    );
}

#[test]
fn a_credit_is_read_as_its_wire_format_has_it() {
    let of = |family| lone_message(words(&[0, 2, v2::CREDIT, 6, 0]), family);
    // RDMA2_GRANT of draft -02; an empty RDMA2_CONNPROP_MIDDLE, of -03 to -07; or either of them.
    let halves = r#""credit":{"granted":32,"maximum":64,"limit":null}"#;
    let both = r#""credit":{"granted":32,"maximum":64,"limit":4194336}"#;
    for (family, tree, json) in [
        (Some(Family::A), "4194336 (32 granted, 64 at most)", halves),
        (Some(Family::B), "4194336 (-03, -04: 32 granted, 64 at most; -06, -07: limit 4194336)", both),
        (None, "4194336 (-03, -04: 32 granted, 64 at most; -06, -07: limit 4194336)", both),
    ] {
        let message = of(family);
        let found = tree_of(&message);
        assert!(found.contains(&format!("0008  rdma_credit       {tree}\n")), "{found}");
        assert!(found.contains("000c  rdma_htype        6 ("), "{found}");
        let mut found = Vec::new();
        HeaderObject::new(&message).write_json(&mut found).unwrap();
        let found = String::from_utf8(found).unwrap();
        assert!(found.contains(&format!("{json},")), "{found}");
    }
    let grant = lone_message(words(&[0, 2, v2::CREDIT, 5]), Some(Family::B));
    assert!(text(&grant).contains("grants 32 or up to 4194336"), "{}", text(&grant));
    assert!(text(&of(Some(Family::A))).contains("grants 32"));
}

#[test]
fn messages_of_version_2_as_json() {
    let found = dissect(&everything(Family::B).0);
    let segment =
        |handle: &str, length: u32, offset: &str| json!([{"handle": handle, "length": length, "offset": offset}]);
    let chunk = |position: u32, segments: Value| json!([{"position": position, "segments": segments}]);
    let object = object_of(&found.messages[7]);
    assert_eq!(
        object["version_2"],
        json!({
            "rdma_htype": "RDMA2_CALL_EXTERNAL", "family": "B", "credit": {"granted": 32, "maximum": 64, "limit": 4_194_336},
            "rdma_flags": null, "rdma_remaining": null, "rdma_inv_handle": "0x00000000",
            "call": chunk(0, segment("0x00000072", 68, "0x0000000000000800")), "properties": null, "earlier_octets": 0,
            "dropped": null
        })
    );
    assert_eq!((&object["header_octets"], &object["payload_octets"]), (&json!(104), &json!(0)));
    assert_eq!(object["reads"], chunk(68, segment("0x00000073", 1999, "0x0000000000002000")));
    assert_eq!(object["reply"]["segments"], segment("0x00000075", 512, "0x0000000000003000"));
    let middle = object_of(&found.messages[9]);
    assert_eq!((&middle["header_octets"], &middle["payload_octets"]), (&json!(20), &json!(1000)));
    assert_eq!(middle["version_2"]["rdma_remaining"], 1572);
    let last = &object_of(&found.messages[16])["version_2"];
    assert_eq!(
        (&last["properties"], &last["dropped"]),
        (&json!([]), &json!("transport properties after the last ones"))
    );
    let found = dissect(&everything(Family::A).0);
    let object = object_of(&found.messages[13]);
    let version_2 = &object["version_2"];
    assert_eq!((&version_2["rdma_htype"], &version_2["family"]), (&json!("RDMA2_MSG"), &json!("A")));
    assert_eq!((&version_2["rdma_flags"], &version_2["rdma_inv_handle"]), (&json!(["RESPONSE"]), &json!("0x00000000")));
    assert_eq!((&version_2["earlier_octets"], &object["header_octets"]), (&json!(20), &json!(36)));
    assert_eq!((&object["requester"], &object["rpc"]["direction"]), (&json!("192.0.2.1"), &json!("reply")));
    assert_eq!(object["rpc"]["operation"], "NFSv3 WRITE");
    for message in found.messages.iter().map(object_of) {
        assert_eq!(message["rdma_proc"], Value::Null, "{message}");
    }
}

// --- Captures that lack something ----------------------------------------------------------------------------------------

#[test]
fn cut_frames_give_no_wrong_octet_and_no_accusation() {
    for family in FAMILIES {
        let (trace, rpcs) = everything(family);
        let longest = trace.iter().map(Vec::len).max().unwrap();
        for snaplen in 20..longest {
            let found = synthetic::dissect_cut(&cut(&trace, snaplen), Config::default());
            for octets in all_rebuilt(&found) {
                assert!(rpcs.contains(&octets), "{family:?}, cut to {snaplen}");
            }
            for message in &found.messages {
                let is_last = message.stamp.frame + 2 > trace.len() as u64;
                assert!(message.dropped.is_none() || is_last, "{family:?}, cut to {snaplen}: {message:?}");
                assert_eq!(message.is_malformed(), None, "{family:?}, cut to {snaplen}");
                if let (Some(earlier), Ok(decoded)) = (&message.earlier, message.decode()) {
                    for octets in [&earlier.octets, &*message.stream(&decoded)] {
                        assert!(
                            rpcs[6..8].iter().any(|rpc| rpc.starts_with(octets)),
                            "{family:?}, cut to {snaplen}: a gap"
                        );
                    }
                }
                let shown = [text(message), tree_of(message), json_of(message)];
                assert!(shown[0].trim_end().chars().count() <= 120, "{}", shown[0]);
            }
        }
    }
}

#[test]
fn missing_frames_give_no_wrong_octet_and_no_accusation() {
    for family in FAMILIES {
        let (trace, rpcs) = everything(family);
        for place in 0..trace.len() {
            let mut rest = trace.clone();
            rest.remove(place);
            let found = dissect(&rest);
            for octets in all_rebuilt(&found) {
                assert!(rpcs.contains(&octets), "{family:?}, without {place}");
            }
            for message in &found.messages {
                let is_last = message.stamp.frame + 2 > rest.len() as u64;
                assert!(message.dropped.is_none() || is_last, "{family:?}, without {place}: {message:?}");
                assert_eq!(message.is_malformed(), None, "{family:?}, without {place}");
            }
        }
    }
}

#[test]
fn whatever_octet_is_changed_nothing_falls() {
    for family in FAMILIES {
        let (trace, _) = everything(family);
        for place in 3..trace.len() {
            let mut changed = trace.clone();
            // Behind IP, UDP and the base transport header: the extension header or the transport header of the Send.
            for at in 40..trace[place].len().min(140) {
                changed[place][at] ^= 0x81;
                for message in &dissect(&changed).messages {
                    let shown = [text(message), tree_of(message), json_of(message)];
                    assert!(shown.iter().all(|shown| shown.ends_with('\n')));
                }
                changed[place][at] ^= 0x81;
            }
        }
    }
}

#[test]
fn a_stream_longer_than_is_kept_is_not_rebuilt() {
    let (mut wire, mut trace) = shown(Family::B);
    wire.mtu = 4096;
    let part = octets(40, 65_536);
    let parts: u32 = 260;
    let call = write3(XID, parts * 65_536);
    let mut remaining = call.len() + parts as usize * part.len();
    for payload in [&call[..]].into_iter().chain((1..parts).map(|_| &part[..])) {
        remaining -= payload.len();
        sends(&mut wire, &mut trace, &[(Client, v2::call_part(Family::B, XID, remaining, payload))]);
    }
    sends(
        &mut wire,
        &mut trace,
        &[
            (Client, v2::call(Family::B, XID, 0, &Lists::default(), &part)),
            (Server, v2::reply(Family::B, XID, &[], &write3_reply(XID, parts * 65_536))),
        ],
    );
    let found = dissect(&trace);
    let transaction = found.only_rpc(XID);
    assert_eq!(why(transaction.call.as_ref()), NotRebuilt::TooMuch);
    assert_eq!((transaction.name, rebuilt(transaction)[1].is_some()), (Some("NFSv3 WRITE"), true));
}

#[test]
fn a_part_with_a_cut_header_ends_only_its_stream() {
    for family in FAMILIES {
        let data = octets(16, 2501);
        let (mut wire, mut trace) = shown(family);
        let begin = trace.len();
        sends(&mut wire, &mut trace, &parts(family, &data));
        let end = trace.len();
        sends(
            &mut wire,
            &mut trace,
            &[
                (Client, v2::call(family, 90, 0, &Lists::default(), &null(90))),
                (Server, v2::reply(family, 90, &[], &rpc::reply(90, &[]))),
            ],
        );
        for place in begin..end {
            let mut packets = cut(&trace, usize::MAX);
            packets[place].0.truncate(28 + 12 + 18);
            let found = synthetic::dissect_cut(&packets, Config::default());
            assert_rpc(&found, 90, &null(90), &rpc::reply(90, &[]));
            for message in &found.messages {
                assert_eq!((message.dropped, message.is_malformed()), (None, None), "{family:?}, {place} cut");
            }
            for octets in all_rebuilt(&found) {
                let whole = [written(XID, &data), write3_reply(XID, 2501), null(1), null(90)];
                assert!(whole.contains(&octets) || octets.len() == 24, "{family:?}, {place} cut");
            }
        }
    }
}

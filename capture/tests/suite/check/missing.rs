//! Packets that the capture lacks hide findings, and cause none.

use std::collections::BTreeSet;

use rpcrdma_dissector::check::{self, Count};
use rpcrdma_dissector::{Config, Dissector, Event, Found, Frame, LinkType, Time};

use crate::check::judging::*;
use crate::check::trace::*;
use crate::synthetic::By::{Client, Server};
use crate::synthetic::Packet;
use crate::synthetic::rpc::*;
use crate::transcode::Record;

#[test]
fn what_is_missed_is_not_judged_and_counted() {
    let mut trace = Trace::new();
    let before = trace.packets.len();
    trace.read_rpc(100, &[segment(100)], &[segment(104)]);
    // The call is missed: an acknowledgement tells that there was one.
    trace.packets.remove(before);
    let ack = trace.wire.ack_all(Server);
    trace.packets.insert(before, ack);
    for xid in 100..180 {
        trace.null(xid);
        let ack = trace.wire.ack_all(Server);
        trace.packets.push(ack);
    }
    let (found, counts) = judge(&trace.packets);
    let found: Vec<&str> = found.iter().map(|found| found.rule.slug).collect();
    assert!(found.is_empty(), "{found:?}");
    let not_judged = |slug: &str| counts.iter().find(|count| count.rule.slug == slug).unwrap().not_judged;
    for slug in ["write-length", "write-roundup", "rdma-write-bounds", "reply-unexpected", "write-list-echo"] {
        assert_eq!(not_judged(slug), 1, "{slug}");
    }
    assert_eq!(not_judged("xid-mismatch"), 0);
}

/// The queue pair may serve another connection by then, until something can be read again.
#[test]
fn unreadable_sends_after_a_loss_break_no_rule() {
    let malformed = |version| match version {
        Version::One => patched(null_message(), 20, 255),
        Version::A => a(A_MSG, XID, 0, &[0, 2], &[]),
        Version::B => b(CALL_INLINE, XID, &[0, 0, 2, 0], &null(XID)),
    };
    for version in [Version::One, Version::A, Version::B] {
        for is_read in [false, true] {
            let mut trace = Trace { version, ..Trace::connected(&PRIVATE_DATA, &PRIVATE_DATA) };
            trace.null(1);
            let missed = trace.packets.len();
            trace.null(2);
            trace.packets.remove(missed);
            trace.acknowledge(Server);
            if is_read {
                trace.null(3);
            }
            trace.send(Client, &malformed(version));
            trace.acknowledge(Server);
            assert_eq!(slugs(&trace.packets).contains("list-flag"), is_read, "{version:?}");
        }
    }
}

#[test]
fn an_unreadable_call_may_have_advertised_memory_and_been_answered() {
    let unreadable = message(MSG, XID, &Lists::reads(&[(68, (0xb00, 0, 100))]), &write3(XID, 100));
    for (is_readable, expected) in [(true, &["rdma-read-bounds", "reply-unexpected"][..]), (false, &["list-flag"])] {
        let mut trace = Trace::new();
        // The flag behind the first Read segment.
        trace.send(Client, &if is_readable { null_message() } else { patched(unreadable.clone(), 40, 255) });
        trace.read(Server, (0xb00, 0), &octets(1, 100));
        trace.reply(8);
        trace.refuse(1);
        trace.null(0x99);
        let mut found = slugs(&trace.packets);
        found.remove("reply-chunk-missing");
        assert_eq!(found, expected.iter().copied().collect(), "{is_readable}");
    }
}

/// Too little memory is allowed to keep the RDMA Read until its call comes.
#[test]
fn a_read_captured_early_is_within_bounds() {
    for (advertised, offset, expected) in [(0xb00, 0, 0), (0xb00, 9000, 1), (0xb01, 0, 1)] {
        let mut trace = Trace::new();
        let call = trace.packets.len();
        trace.send(Client, &message(MSG, XID, &Lists::reads(&[(68, (advertised, 0, 9000))]), &write3(XID, 9000)));
        trace.read(Server, (0xb00, offset), &octets(1, 9000));
        trace.send(Server, &message(MSG, XID, &Lists::default(), &write3_reply(XID, 9000)));
        let after = trace.packets.len() - 1;
        trace.packets[call..after].rotate_left(1);
        trace.null(0x99);
        for memory in [8192, Config::default().memory] {
            let (found, counts) = judge_within(memory, &trace.packets);
            let bounds = counts.iter().find(|count| count.rule.slug == "rdma-read-bounds").unwrap();
            assert_eq!(
                bounds.broken, expected,
                "{memory} octets of memory, handle {advertised:#x}, {offset}: {found:?}"
            );
        }
    }
}

/// Cuts a packet after this many octets, and judges.
fn judge_cut(packets: &[Packet], cut: impl Fn(usize) -> Option<usize>) -> (Vec<Found>, Vec<Count>) {
    let record = |(index, packet): (usize, &Packet)| {
        let data = packet[..cut(index).unwrap_or(packet.len())].to_vec();
        Record { time_ns: index as u64 * 2_000_000_000, link: 101, data, length: packet.len() as u32 }
    };
    judged(&packets.iter().enumerate().map(record).collect::<Vec<_>>())
}

/// Octets of a packet before a Send: IPv4, UDP, BTH.
const BEFORE_SEND: usize = 20 + 8 + 12;

#[test]
fn a_call_cut_in_its_credential_judges_no_reply() {
    // Two Write chunk words more than none; then the six words of the RPC call up to its procedure.
    let header = 28 + 24;
    for (credential, expected) in [(4, 1), (24, 0)] {
        let mut trace = Trace::new();
        let call = trace.packets.len();
        let lists = Lists::writes(&[&[segment(100)]]);
        trace.send(Client, &message(MSG, XID, &lists, &read3_with_integrity()));
        trace.write(MEMORY, &octets(2, 100));
        trace.send(Server, &message(MSG, XID, &lists, &read3_reply_with_integrity(&[])));
        trace.null(0x99);
        let cut = BEFORE_SEND + header + 24 + credential;
        let (found, counts) = judge_cut(&trace.packets, |index| (index == call).then_some(cut));
        let of = counts.iter().find(|count| count.rule.slug == "gss-reduced").unwrap();
        assert_eq!((of.not_judged, of.broken), (expected, 1 - expected), "{found:?}");
    }
}

/// It may be the reply to a call with the same two XIDs, which the capture lacks.
#[test]
fn an_xid_mismatch_without_a_direction_is_not_judged() {
    for (cut, expected) in [(28 + 7, (1, 0)), (28 + 8, (0, 1))] {
        let mut trace = Trace::new();
        let send = trace.packets.len();
        trace.send(Client, &message(MSG, XID, &Lists::default(), &null(XID + 1)));
        trace.null(0x99);
        let (found, counts) = judge_cut(&trace.packets, |index| (index == send).then_some(BEFORE_SEND + cut));
        let of = counts.iter().find(|count| count.rule.slug == "xid-mismatch").unwrap();
        assert_eq!((of.not_judged, of.broken), expected, "{cut}: {found:?}");
    }
}

/// The results would have to be read again for that, and with integrity protection they would begin elsewhere.
#[test]
fn a_call_cut_before_its_credential_judges_no_chunk() {
    let lists = Lists::writes(&[&[], &[segment(100)]]);
    let header = 28 + 8 + 24;
    for (cut, expected) in [(Some(BEFORE_SEND + header + 24), (1, 0)), (None, (0, 1))] {
        let mut trace = Trace::new();
        let call = trace.packets.len();
        trace.send(Client, &message(MSG, XID, &lists, &read3(XID, 100)));
        trace.write(MEMORY, &octets(2, 100));
        trace.send(Server, &message(MSG, XID, &lists, &reply(XID, &read3_results(100))));
        trace.null(0x99);
        let (found, counts) = judge_cut(&trace.packets, |index| cut.filter(|_| index == call));
        let of = counts.iter().find(|count| count.rule.slug == "write-empty-respected").unwrap();
        assert_eq!((of.not_judged, of.broken), expected, "{found:?}");
    }
}

#[test]
fn cut_replies_of_the_client_use_no_credits() {
    let mut trace = Trace::new();
    let first = trace.packets.len();
    for xid in 100..100 + 2 * GRANTED {
        trace.send(Server, &callback(xid));
        trace.send(Client, &message(MSG, xid, &Lists::default(), &reply(xid, &[])));
        trace.acknowledge(Server);
    }
    trace.null(8);
    let last = trace.packets.len() - 2;
    // The XID of the RPC message is the last word that is there.
    let is_reply = |index| (first..last).contains(&index) && (index - first) % 3 == 1;
    let (found, _) = judge_cut(&trace.packets, |index| is_reply(index).then_some(BEFORE_SEND + 28 + 4));
    assert!(found.is_empty(), "{:?}", found[0]);
}

#[test]
fn a_reply_to_a_cut_call_has_unjudged_chunks() {
    for (cut, expected) in [(None, 0), (Some(BEFORE_SEND + 28 + 24 + 40), 1)] {
        let mut trace = Trace::new();
        let call = trace.packets.len();
        trace.read_rpc(100, &[segment(100)], &[segment(100)]);
        let (found, counts) = judge_cut(&trace.packets, |index| cut.filter(|_| index == call));
        assert!(found.is_empty(), "{found:?}");
        let echo = counts.iter().find(|count| count.rule.slug == "write-list-echo").unwrap();
        assert_eq!(echo.not_judged, expected, "{cut:?}");
    }
}

#[test]
fn an_error_for_a_missed_call_has_no_chunks() {
    let mut trace = Trace::new();
    let call = trace.packets.len();
    trace.send(Client, &null_message());
    trace.packets.remove(call);
    trace.acknowledge(Server);
    trace.refuse(1);
    trace.null(0x99);
    assert_eq!(not_judged(&trace.packets, "write-list-echo"), 0);
    assert_eq!(slugs(&trace.packets), BTreeSet::new());
}

/// 4096 frames after a finding nothing can be out of order with it any more.
#[test]
fn a_finding_long_before_any_disorder_stands() {
    for (later, expected) in [(4096, 0), (4097, 1)] {
        let mut trace = Trace::new();
        trace.null(XID);
        trace.answer();
        let frame = trace.packets.len();
        while trace.packets.len() + 1 < frame + later {
            trace.acknowledge(Client);
        }
        trace.null(8);
        let last = trace.packets.len() - 1;
        trace.send(Server, &callback(50));
        trace.packets.swap(last, last + 1);
        let (found, counts) = judge(&trace.packets);
        assert!(found.iter().all(|found| found.rule.slug == "reply-unexpected"), "{found:?}");
        let count = counts.iter().find(|count| count.rule.slug == "reply-unexpected").unwrap();
        assert_eq!((count.broken, count.not_judged), (expected, 1 - expected), "{later}");
    }
}

/// Two calls share a handle, as far as the order of the two directions is known.
#[test]
fn rules_about_order_are_not_judged_in_disorder() {
    for is_swapped in [false, true] {
        let mut trace = Trace::new();
        for xid in [XID, 8] {
            let lists = Lists::writes(&[&[(MEMORY.0, u64::from(xid) << 20, 3000)]]);
            trace.send(Client, &message(MSG, xid, &lists, &read3(xid, 3000)));
        }
        trace.acknowledge(Server);
        trace.null(0x99);
        let first = trace.packets.len();
        trace.write((MEMORY.0, u64::from(XID) << 20), &octets(2, 3000));
        if is_swapped {
            trace.packets.swap(first, first + 1);
        }
        trace.null(0x9a);
        let count = judge(&trace.packets).1.into_iter().find(|count| count.rule.slug == "handle-shared").unwrap();
        assert_eq!((count.broken, count.not_judged), (u64::from(!is_swapped), u64::from(is_swapped)));
    }
}

/// Two calls share a handle. If the server was not heard before them, a reply to the first may be missing unseen.
#[test]
fn a_call_before_the_server_is_heard_may_be_answered() {
    for is_heard in [false, true] {
        let mut trace = Trace::new();
        let joined = trace.packets.len();
        if is_heard {
            trace.null(0x98);
        }
        for xid in [XID, 8] {
            let lists = Lists::writes(&[&[(MEMORY.0, u64::from(xid) << 20, 3000)]]);
            trace.send(Client, &message(MSG, xid, &lists, &read3(xid, 3000)));
        }
        trace.acknowledge(Server);
        trace.null(0x99);
        let count = judge(&trace.packets[joined..]).1.into_iter().find(|count| count.rule.slug == "handle-shared");
        let count = count.unwrap();
        assert_eq!((count.broken, count.not_judged), (u64::from(is_heard), u64::from(!is_heard)));
    }
}

#[test]
fn unproven_findings_beyond_the_bound_are_counted() {
    let mut trace = Trace::new();
    trace.null(XID);
    (0..300).for_each(|_| trace.answer());
    trace.null(0x99);
    let (_, counts) = judge(&trace.packets);
    let count = counts.iter().find(|count| count.rule.slug == "reply-unexpected").unwrap();
    assert_eq!((count.broken, count.not_judged), (256, 44));
}

/// Findings about a single Send, if the capture does not hold all of it.
#[test]
fn missing_parts_of_a_send_break_no_rule() {
    let call = message(NOMSG, XID, &Lists::reads(&[(0, segment(40))]), &[0; 3000]);
    let found = |cut: usize, missed: Option<usize>| {
        let mut trace = Trace::connected(&PRIVATE_DATA, &PRIVATE_DATA);
        let first = trace.packets.len();
        trace.send(Client, &call);
        let lengths: Vec<_> = trace.packets.iter().map(Vec::len).collect();
        trace.packets[first].truncate(BEFORE_SEND + cut);
        let mut dissector = Dissector::new(Config::default());
        for (index, (data, length)) in trace.packets.iter().zip(lengths).enumerate() {
            let (number, link) = (index as u64 + 1, LinkType(101));
            if missed.map(|missed| first + missed) != Some(index) {
                dissector.frame(&Frame { number, time: Time(number), link, data, length: length as u32 });
            }
        }
        dissector.finish();
        let message = std::iter::from_fn(|| dissector.event()).find_map(|event| match event {
            Event::Message(message) => Some(message),
            _ => None,
        });
        let found = check::send::findings(&message.unwrap());
        found.iter().map(|found| (found.rule.slug, found.message.clone())).collect::<Vec<_>>()
    };
    let trailing = ("nomsg-trailing", "3000 octets after the lists of RDMA_NOMSG".to_owned());
    // All of it, no more than the header, a part of that; and without the second packet.
    for cut in [1024, 52] {
        assert_eq!(found(cut, None), std::slice::from_ref(&trailing));
    }
    assert_eq!(found(24, None), []);
    assert_eq!(found(1024, Some(1)), []);
}

/// An RDMA Write that a capture without the setup has before the call that it is for.
#[test]
fn data_captured_before_its_call_is_not_unwritten() {
    let mut trace = Trace::new();
    trace.packets.drain(..3);
    let call = trace.packets.len();
    trace.read_rpc(100, &[segment(100)], &[segment(100)]);
    trace.packets.swap(call, call + 1);
    trace.null(70);
    let (found, counts) = judge(&trace.packets);
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(counts.iter().find(|count| count.rule.slug == "write-unwritten").unwrap().not_judged, 1);
}

/// The responder's data for a call was captured longer before the call than packets wait, or than there is room for.
#[test]
fn data_captured_long_before_its_call_is_not_unmoved() {
    let of_data = ["write-roundup", "write-unwritten", "read-not-pulled"];
    for (case, memory) in crate::check::cases()
        .filter(|case| of_data.contains(&case.slug))
        .flat_map(|case| [(case, Config::for_checker().memory), (case, 8192)])
    {
        let mut trace = Trace::new();
        let early = trace.packets.len();
        (100..140).for_each(|xid| trace.null(xid));
        let call = trace.packets.len();
        (case.make)(&mut trace, false);
        let reply = trace.packets.len() - 1;
        trace.null(0x99);
        let mut packets = trace.packets.clone();
        packets[early..reply].rotate_left(call + 1 - early);
        let judged = |packets: &[Packet]| {
            let (_, counts) = judge_within(memory, packets);
            let of_data = counts.into_iter().filter(|count| of_data.contains(&count.rule.slug));
            of_data.fold((0, 0), |(broken, hidden), count| (broken + count.broken, hidden + count.not_judged))
        };
        assert_eq!(judged(&trace.packets), (0, 0), "{}", case.slug);
        let (broken, not_judged) = judged(&packets);
        assert!(broken == 0 && not_judged > 0, "{} with {memory} octets: {broken}, {not_judged}", case.slug);
    }
}

/// The client's answer to a callback that nobody knows ends the wait for a gap; then all of the gap is late, a reply last.
#[test]
fn late_data_may_follow_a_late_reply() {
    for is_late in [false, true] {
        let mut trace = Trace::new();
        let first = trace.packets.len();
        trace.null(70);
        trace.read_rpc(100, &[segment(100)], &[segment(100)]);
        let [asks, replies, call, data, answers] = &trace.packets.split_off(first)[..] else { panic!("two RPCs") };
        trace.packets.push(asks.clone());
        if is_late {
            let number = trace.wire.server.next - 2;
            trace.packets.push(trace.wire.ack(Client, number));
            trace.send(Client, &message(MSG, 0x55, &Lists::default(), &reply(0x55, &[])));
            (0..70).for_each(|_| trace.acknowledge(Server));
            trace.packets.extend([data, replies, call, answers].map(Vec::clone));
        } else {
            trace.packets.extend([replies, call, data, answers].map(Vec::clone));
        }
        trace.null(71);
        let count = judge(&trace.packets).1.into_iter().find(|count| count.rule.slug == "write-unwritten").unwrap();
        assert_eq!((count.broken, count.not_judged), (0, u64::from(is_late)));
    }
}

/// The capture has the first half of the data before the Send by which it recognises the connection, and before its call.
#[test]
fn data_before_a_connection_is_recognised_is_not_unwritten() {
    let [first, second] = [MEMORY, (MEMORY.0 + 1, MEMORY.1)];
    let lists = Lists::writes(&[&[(first.0, first.1, 100), (second.0, second.1, 100)]]);
    for is_early in [false, true] {
        let mut trace = Trace::new();
        trace.packets.clear();
        trace.null(68);
        trace.acknowledge(Server);
        trace.send(Client, &message(MSG, 69, &Lists::default(), &null(69)));
        trace.send(Client, &message(MSG, XID, &lists, &read3(XID, 200)));
        let data = trace.packets.len();
        trace.write(first, &octets(2, 100));
        trace.reply(69);
        if is_early {
            trace.packets[..=data].rotate_right(1);
            trace.packets.swap(data, data + 1);
        }
        trace.write(second, &octets(2, 100));
        trace.send(Server, &message(MSG, XID, &lists, &reply(XID, &read3_results(200))));
        trace.null(70);
        let (found, counts) = judge(&trace.packets);
        assert!(found.is_empty(), "{found:?}");
        let count = counts.iter().find(|count| count.rule.slug == "write-unwritten").unwrap();
        assert_eq!(count.not_judged, u64::from(is_early));
    }
}

/// Of what the responder moves, packets are missing, or the capture begins later.
#[test]
fn data_that_was_missed_is_not_said_to_be_unmoved() {
    let of_data = ["write-roundup", "write-unwritten", "read-not-pulled"];
    for case in crate::check::cases().filter(|case| of_data.contains(&case.slug)) {
        let mut trace = Trace::new();
        let first = trace.packets.len();
        (case.make)(&mut trace, false);
        let last = trace.packets.len();
        for by in [Client, Server] {
            trace.null(if by == Client { 70 } else { 71 });
            let ack = trace.wire.ack_all(by);
            trace.packets.push(ack);
        }
        let found = |packets: &[Packet]| slugs(packets).into_iter().find(|slug| of_data.contains(slug));
        for missed in (first..last).flat_map(|from| (from..last).map(move |to| from..=to)) {
            let mut packets = trace.packets.clone();
            packets.drain(missed.clone());
            assert_eq!(found(&packets), None, "{} without {missed:?}", case.slug);
            for begin in 1..=first {
                assert_eq!(found(&packets[begin..]), None, "{} from {begin} on without {missed:?}", case.slug);
            }
        }
        for begin in 1..last {
            assert_eq!(found(&trace.packets[begin..]), None, "{} from {begin} on", case.slug);
        }
    }
}

#[test]
fn calls_with_cut_replies_use_no_credits() {
    // IPv4, UDP, BTH, the RPC-over-RDMA header, and the XID of the RPC message.
    const CUT: usize = 20 + 8 + 12 + 28 + 4;
    for (calls, expected) in [(4, None), (5, Some("credit-exceeded"))] {
        let mut trace = Trace::connected(&PRIVATE_DATA, &PRIVATE_DATA);
        let call = |xid| message(MSG, xid, &Lists::default(), &null(xid));
        // Each reply grants 4.
        let reply = |xid| patched(message(MSG, xid, &Lists::default(), &reply(xid, &[])), 8, 4);
        trace.send(Client, &call(1));
        trace.send(Server, &reply(1));
        (2..5).for_each(|xid| trace.send(Client, &call(xid)));
        let replies = trace.packets.len()..trace.packets.len() + 3;
        (2..5).for_each(|xid| trace.send(Server, &reply(xid)));
        trace.send(Client, &call(5));
        trace.send(Server, &reply(5));
        (10..10 + calls).for_each(|xid| trace.send(Client, &call(xid)));
        trace.acknowledge(Server);
        (10..10 + calls).for_each(|xid| trace.send(Server, &reply(xid)));
        let record = |(number, packet): (usize, &Packet)| {
            let data = packet[..if replies.contains(&number) { CUT } else { packet.len() }].to_vec();
            Record { time_ns: number as u64 * 1_000_000, link: 101, data, length: packet.len() as u32 }
        };
        let records: Vec<_> = trace.packets.iter().enumerate().map(record).collect();
        let slugs: Vec<_> = judged(&records).0.iter().map(|found| found.rule.slug).collect();
        assert_eq!(slugs, Vec::from_iter(expected), "{calls} calls");
    }
}

#[test]
fn a_connection_joined_late_breaks_no_rule_about_beginnings() {
    let mut trace = Trace::new();
    trace.packets.clear();
    for xid in 10..60 {
        trace.send(Client, &message(MSG, xid, &Lists::default(), &null(xid)));
        if xid == 10 {
            let ack = trace.wire.ack_all(Server);
            trace.packets.push(ack);
        }
    }
    let (found, counts) = judge(&trace.packets);
    assert!(found.is_empty(), "{:?}", found[0]);
    let not_judged = |slug: &str| counts.iter().find(|count| count.rule.slug == slug).unwrap().not_judged;
    assert!(not_judged("credit-exceeded") > 0 && not_judged("private-data-absent") > 0);
}

#[test]
fn a_provided_reply_whose_call_was_missed_breaks_no_rule() {
    let mut trace = Trace::new();
    for xid in 2..50 {
        let call = trace.packets.len();
        trace.send(Client, &message(MSG, xid, &Lists::default(), &null(xid)));
        trace.packets.drain(call..);
        trace.send(Server, &message(NOMSG, xid, &Lists::reads(&[(0, segment(24))]), &[]));
        trace.read(Client, MEMORY, &reply(xid, &[]));
        trace.send(Client, &words(&[xid, 1, 32, DONE]));
        let acknowledged = trace.wire.ack_all(Server);
        trace.packets.push(acknowledged);
    }
    let (found, counts) = judge(&trace.packets);
    assert!(found.is_empty(), "{found:?}");
    let not_judged = |slug| counts.iter().find(|count| count.rule.slug == slug).unwrap().not_judged;
    assert!(not_judged("credit-exceeded") > 0);
}

/// The capture begins with what was sent last, and what was sent before that lacks the data of a reply.
#[test]
fn a_reply_older_than_the_capture_may_lack_its_data() {
    let mut trace = Trace::new();
    trace.packets.clear();
    trace.read_rpc(100, &[segment(100)], &[segment(100)]);
    let [call, _, reply] = &trace.packets.split_off(0)[..] else { panic!("a call, its data, its reply") };
    trace.null(70);
    trace.acknowledge(Client);
    trace.packets.extend([call.clone(), reply.clone()]);
    let (found, counts) = judge(&trace.packets);
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(counts.iter().find(|count| count.rule.slug == "write-unwritten").unwrap().not_judged, 1);
}

/// Its second reply answers it too, and of what follows nothing is hidden.
#[test]
fn a_call_that_was_sent_again_hides_no_later_finding() {
    let mut trace = Trace::new();
    trace.send(Client, &null_message());
    trace.send(Client, &null_message());
    trace.reply(XID);
    trace.reply(XID);
    trace.reply(0x77);
    trace.write((0xbad, 0), &[0; 4]);
    trace.null(70);
    assert_eq!(slugs(&trace.packets), BTreeSet::from(["reply-unexpected", "rdma-write-bounds"]));
}

/// Of three packets of a Send that is longer than the threshold of 4096 octets, one is missing.
#[test]
fn a_send_with_missing_packets_has_no_judged_length() {
    let call = [write3(XID, 8000), octets(3, 8000)].concat();
    let mut trace = Trace::new();
    let first = trace.packets.len();
    trace.send(Client, &message(MSG, XID, &Lists::default(), &call));
    let end = trace.packets.len();
    trace.null(8);
    assert!(slugs(&trace.packets).contains("inline-exceeded"));
    assert_eq!(not_judged(&trace.packets, "inline-exceeded"), 0);
    for missed in first..end {
        let mut packets = trace.packets.clone();
        packets.remove(missed);
        assert!(!slugs(&packets).contains("inline-exceeded"), "{missed}");
        assert!(not_judged(&packets, "inline-exceeded") > 0, "{missed}");
    }
}

/// Two calls with one handle. The capture lacks the reply to the first, which an acknowledgement shows.
#[test]
fn a_call_with_a_missed_reply_shares_no_handle() {
    for (is_missed, acknowledges) in [(false, false), (true, false), (true, true)] {
        let mut trace = Trace::new();
        let call = |xid| message(MSG, xid, &Lists::writes(&[&[segment(3000)]]), &read3(xid, 3000));
        trace.send(Client, &call(XID));
        trace.reply(XID);
        if is_missed {
            trace.packets.pop();
        }
        if acknowledges {
            trace.acknowledge(Client);
        }
        trace.send(Client, &call(8));
        trace.acknowledge(Server);
        trace.null(0x99);
        assert!(!slugs(&trace.packets).contains("handle-shared"), "{is_missed} {acknowledges}");
    }
}

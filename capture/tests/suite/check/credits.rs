//! Credits, and what is longer than the other end receives.

use std::collections::BTreeSet;

use rpcrdma::rules::Severity;
use rpcrdma_dissector::check::Blame;

use crate::check::case::{Case, blind, case};
use crate::check::judging::*;
use crate::check::trace::*;
use crate::synthetic::By::{Client, Server};
use crate::synthetic::rpc::*;

pub(crate) const CASES: &[Case] = &[
    case("credit-zero-grant", |trace, bad| {
        trace.send(Client, &null_message());
        let reply = message(MSG, XID, &Lists::default(), &reply(XID, &[]));
        trace.send(Server, &patched(reply, 8, if bad { 0 } else { 1 }));
    }),
    case("credit-zero-request", |trace, bad| {
        trace.send(Client, &patched(null_message(), 8, if bad { 0 } else { 1 }));
        trace.answer();
    }),
    blind("credit-exceeded", &["credit-exceeded"], |trace, bad| {
        for xid in 10..if bad { 43 } else { 41 } {
            trace.send(Client, &message(MSG, xid, &Lists::default(), &null(xid)));
        }
        trace.acknowledge(Server);
    }),
    blind("credit-initial", &["credit-initial"], |trace, bad| {
        *trace = Trace::connected(&PRIVATE_DATA, &PRIVATE_DATA);
        trace.send(Client, &null_message());
        if !bad {
            trace.answer();
        }
        trace.send(Client, &message(MSG, 8, &Lists::default(), &null(8)));
        trace.acknowledge(Server);
    }),
    case("inline-exceeded", |trace, bad| {
        // 28 octets of header, 68 before the data: 4096 in all, or four more.
        let count = if bad { 4004 } else { 4000 };
        let payload = [write3(XID, count), octets(3, count as usize)].concat();
        trace.rpc(&Lists::default(), &payload, &Lists::default(), &write3_reply(XID, count));
    }),
    case("reply-chunk-missing", |trace, bad| {
        let lists = if bad { Lists::default() } else { Lists::reply(&[segment(100)]) };
        trace.send(Client, &message(MSG, XID, &lists, &null(XID)));
        trace.refuse(1);
    }),
    case("reply-not-ready", |trace, bad| {
        trace.null(XID);
        let number = trace.wire.server.next - 1;
        let answer = if bad { trace.wire.not_ready(Client, number) } else { trace.wire.ack(Client, number) };
        trace.packets.push(answer);
    }),
];

/// A call whose reply the client refuses so many times with RNR NAKs.
fn reply_refused(trace: &mut Trace, times: usize) {
    trace.send(Client, &null_message());
    let number = trace.wire.server.next;
    let reply = trace.wire.send(Server, &message(MSG, XID, &Lists::default(), &reply(XID, &[])));
    for _ in 0..times {
        let refusal = trace.wire.not_ready(Client, number);
        trace.packets.extend(reply.iter().cloned().chain([refusal]));
    }
    trace.packets.extend(reply);
}

/// Rule, severity, blame, and number of times that `reply-not-ready` was not judged.
fn not_ready(trace: &Trace) -> (Vec<(&'static str, Severity, Blame)>, u64) {
    (blamed(&trace.packets), not_judged(&trace.packets, "reply-not-ready"))
}

#[test]
fn a_reply_refused_for_long_is_an_error() {
    let found = |severity| (vec![("reply-not-ready", severity, Blame::Sender)], 0);
    for (times, severity) in [(1, Severity::Hazard), (6, Severity::Hazard), (7, Severity::Error)] {
        let mut trace = Trace::new();
        reply_refused(&mut trace, times);
        trace.acknowledge(Client);
        assert_eq!(not_ready(&trace), found(severity), "{times}");
    }
    for ended in [false, true] {
        let mut trace = Trace::new();
        reply_refused(&mut trace, 1);
        if ended {
            trace.disconnect(Server);
        }
        assert_eq!(not_ready(&trace), found(if ended { Severity::Error } else { Severity::Hazard }), "{ended}");
    }
}

/// Each of these may have taken the Receive that was posted for the reply, or is not known to be a reply.
#[test]
fn another_message_may_have_consumed_the_receive() {
    let unjudged = (Vec::new(), 1);
    let reply_before = |trace: &mut Trace, reply: Vec<u8>| {
        trace.send(Server, &reply);
        reply_refused(trace, 1);
    };
    // A call of the server waits.
    let mut trace = Trace::new();
    reply_before(&mut trace, callback(9));
    assert_eq!(not_ready(&trace), unjudged, "a callback");
    // The server has called twice at a time.
    let mut trace = Trace::new();
    for xid in [9, 10] {
        trace.send(Server, &callback(xid));
    }
    for xid in [9, 10] {
        trace.send(Client, &message(MSG, xid, &Lists::default(), &reply(xid, &[])));
    }
    reply_refused(&mut trace, 1);
    assert_eq!(not_judged(&trace.packets, "reply-not-ready"), 1, "two callbacks");
    assert!(!slugs(&trace.packets).contains("reply-not-ready"));
    // A reply that no call waits for. It may be early, so what the server sends next is held back.
    let mut trace = Trace::new();
    reply_before(&mut trace, message(MSG, 0x77, &Lists::default(), &reply(0x77, &[])));
    assert!(!slugs(&trace.packets).contains("reply-not-ready"), "a stray reply");
    // What is refused is a call of the server, or was not captured.
    for is_call in [true, false] {
        let mut trace = Trace::new();
        trace.send(Client, &null_message());
        let number = trace.wire.server.next;
        let sent = if is_call { callback(9) } else { message(MSG, XID, &Lists::default(), &reply(XID, &[])) };
        let packets = trace.wire.send(Server, &sent);
        trace.packets.extend(packets.into_iter().filter(|_| is_call));
        let refusal = trace.wire.not_ready(Client, number);
        trace.packets.push(refusal);
        assert!(!slugs(&trace.packets).contains("reply-not-ready"), "{is_call}");
    }
    // The setup was not captured, or a packet of the server is missing.
    for missing in [0..3, 4..5] {
        let mut trace = Trace::new();
        reply_refused(&mut trace, 1);
        trace.packets.drain(missing);
        assert!(!slugs(&trace.packets).contains("reply-not-ready"));
    }
}

/// The client posts the Receive of a call of the server again before it answers.
#[test]
fn a_reply_after_a_callback_that_was_answered_is_judged() {
    let mut trace = Trace::new();
    trace.send(Server, &callback(9));
    trace.send(Client, &message(MSG, 9, &Lists::default(), &reply(9, &[])));
    reply_refused(&mut trace, 1);
    trace.acknowledge(Client);
    assert!(slugs(&trace.packets).contains("reply-not-ready"));
}

#[test]
fn a_refused_request_gives_its_credit_back_once() {
    // As many as were granted, one after another.
    let version_3 = |xid| patched(message(MSG, xid, &Lists::default(), &null(xid)), 4, 3);
    let versions = |xid| words(&[xid, 3, 32, ERROR, 1, 1, 1]);
    for (slug, request, refusal) in [
        ("proc-unknown", faulty as fn(u32) -> Vec<u8>, refusal as fn(u32) -> Vec<u8>),
        ("version", version_3, versions),
    ] {
        let mut trace = Trace::new();
        for xid in 100..100 + 2 * GRANTED {
            trace.send(Client, &request(xid));
            trace.send(Server, &refusal(xid));
        }
        trace.null(0x99);
        assert_eq!(slugs(&trace.packets), BTreeSet::from([slug]));
    }
    // All that were granted wait. A call and a damaged copy of it hold one of the credits, and have two answers; what is
    // dropped holds none, and has one though it should not.
    let answer = message(MSG, XID, &Lists::default(), &reply(XID, &[]));
    let dropped = words(&[8, 1, 32, DONE]);
    for (sends, answers) in [
        ([null_message(), faulty(XID)], [answer.clone(), refusal(XID)]),
        ([null_message(), dropped], [answer, refusal(8)]),
    ] {
        for more in [1, 2] {
            let mut trace = Trace::new();
            sends.iter().for_each(|octets| trace.send(Client, octets));
            (100..99 + GRANTED).for_each(|xid| trace.send(Client, &message(MSG, xid, &Lists::default(), &null(xid))));
            trace.acknowledge(Server);
            answers.iter().for_each(|octets| trace.send(Server, octets));
            trace.acknowledge(Client);
            for xid in 200..200 + more {
                trace.send(Client, &message(MSG, xid, &Lists::default(), &null(xid)));
            }
            trace.acknowledge(Server);
            trace.reply(200);
            // An answer that may be out of order leaves open whether there are too many.
            let (_, counts) = judge(&trace.packets);
            let count = counts.iter().find(|count| count.rule.slug == "credit-exceeded").unwrap();
            assert_eq!(count.broken + count.not_judged, u64::from(more) - 1, "{sends:x?}");
        }
    }
}

/// The session keeps 4096 calls of both ends, the checker as many of each.
#[test]
fn the_reply_to_a_dropped_call_frees_its_credit() {
    for (granted, calls, callbacks) in [(5000, 4600, 0), (4100, 4000, 300)] {
        let mut trace = Trace::new();
        let granting = |xid| patched(message(MSG, xid, &Lists::default(), &reply(xid, &[])), 8, granted);
        trace.send(Client, &null_message());
        trace.send(Server, &granting(XID));
        for first in [0x1_0000, 0x2_0000] {
            (first..first + calls)
                .for_each(|xid| trace.send(Client, &message(MSG, xid, &Lists::default(), &null(xid))));
            (first..first + callbacks).for_each(|xid| trace.send(Server, &callback(xid)));
            trace.acknowledge(Server);
            (first..first + calls).for_each(|xid| trace.send(Server, &granting(xid)));
            trace.acknowledge(Client);
        }
        trace.null(0x99);
        assert!(!slugs(&trace.packets).contains("credit-exceeded"), "{granted}");
    }
}

/// If the reply to the first of two calls does not follow an acknowledgement of the second, the client may have sent
/// the second after that reply, although it was captured before it. Then the rules are not judged.
#[test]
fn calls_are_in_flight_together_where_the_server_says_so() {
    let rules = ["credit-initial", "handle-shared"];
    for (acknowledged, expected) in [(true, &rules[..]), (false, &[])] {
        let mut trace = Trace::connected(&PRIVATE_DATA, &PRIVATE_DATA);
        for xid in [XID, 8] {
            let lists = Lists::reply(&[(MEMORY.0, u64::from(xid) << 20, 100)]);
            trace.send(Client, &message(MSG, xid, &lists, &null(xid)));
        }
        if acknowledged {
            trace.acknowledge(Server);
        }
        let returned = |xid: u32| Lists::reply(&[(MEMORY.0, u64::from(xid) << 20, 0)]);
        trace.invalidate(MEMORY.0, &message(MSG, XID, &returned(XID), &reply(XID, &[])));
        trace.acknowledge(Server);
        trace.send(Server, &message(MSG, 8, &returned(8), &reply(8, &[])));
        trace.null(0x99);
        let (found, counts) = judge(&trace.packets);
        let found: BTreeSet<&str> = found.iter().map(|found| found.rule.slug).collect();
        assert_eq!(found, expected.iter().copied().collect(), "acknowledged: {acknowledged}");
        for slug in rules {
            let count = counts.iter().find(|count| count.rule.slug == slug).unwrap();
            assert_eq!(count.not_judged, u64::from(!acknowledged), "{slug}");
        }
    }
}

#[test]
fn what_is_not_answered_holds_no_credit() {
    let mut all = dropped().map(|(_, octets)| octets).to_vec();
    // A call that is retransmitted is one call.
    all.push(null_message());
    for octets in all {
        let mut trace = Trace::new();
        trace.send(Client, &null_message());
        let is_again = octets == null_message();
        for other in 1000..=1000 + GRANTED {
            trace.send(Client, &patched(octets.clone(), 0, if is_again { XID } else { other }));
        }
        for xid in 100..100 + GRANTED - 1 {
            trace.send(Client, &message(MSG, xid, &Lists::default(), &null(xid)));
        }
        trace.answer();
        assert!(!slugs(&trace.packets).contains("credit-exceeded"), "{octets:x?}");
        // One more than was granted, before any is answered.
        let last = trace.packets.pop().unwrap();
        trace.send(Client, &message(MSG, 99, &Lists::default(), &null(99)));
        trace.acknowledge(Server);
        trace.packets.push(last);
        trace.reply(99);
        assert!(slugs(&trace.packets).contains("credit-exceeded"), "{octets:x?}");
    }
}

#[test]
fn the_reply_to_a_repeated_call_frees_its_credit() {
    let mut trace = Trace::new();
    for xid in 100..100 + 3 * GRANTED {
        trace.send(Client, &message(MSG, xid, &Lists::default(), &null(xid)));
        trace.null(xid);
    }
    assert_eq!(slugs(&trace.packets), BTreeSet::new());
}

#[test]
fn replies_that_are_pulled_hold_no_credit_of_their_own() {
    let mut trace = Trace::new();
    for xid in 100..100 + 3 * GRANTED {
        trace.send(Client, &message(MSG, xid, &Lists::default(), &null(xid)));
        trace.send(Server, &message(NOMSG, xid, &Lists::reads(&[(0, segment(24))]), &[]));
        trace.read(Client, MEMORY, &reply(xid, &[]));
        trace.send(Client, &words(&[xid, 1, 32, DONE]));
        trace.acknowledge(Server);
    }
    assert_eq!(slugs(&trace.packets), BTreeSet::new());
}

#[test]
fn without_setup_sends_above_the_least_threshold_are_not_judged() {
    for (length, expected) in [(1024, 0), (1028, 1)] {
        let mut trace = Trace::new();
        trace.acknowledge(Client);
        trace.acknowledge(Server);
        trace.packets.drain(..3);
        trace.send(Client, &message(MSG, XID, &Lists::default(), &[null(XID), vec![0; length - 68]].concat()));
        trace.answer();
        assert_eq!(not_judged(&trace.packets, "inline-exceeded"), expected, "{length}");
    }
}

#[test]
fn a_missed_reply_exceeds_no_credits() {
    let mut trace = Trace::connected(&PRIVATE_DATA, &PRIVATE_DATA);
    trace.null(XID);
    // The first reply is missed; the client goes on, and acknowledges it.
    trace.packets.pop();
    for xid in 100..200 {
        trace.null(xid);
        let ack = trace.wire.ack_all(Client);
        trace.packets.push(ack);
    }
    let (found, counts) = judge(&trace.packets);
    assert!(found.is_empty(), "{:?}", found[0]);
    let not_judged = |slug: &str| counts.iter().find(|count| count.rule.slug == slug).unwrap().not_judged;
    assert!(not_judged("credit-initial") > 0);
}

/// `ERR_CHUNK` may be for want of a Reply chunk; a call that breaks a rule got it for that.
#[test]
fn a_wrong_long_call_is_not_missing_its_reply_chunk() {
    for (length, expected) in
        [(5, &["reply-chunk-missing"][..]), (8, &["read-roundup", "reply-chunk-missing"]), (12, &["read-length"])]
    {
        let mut trace = Trace::new();
        let arguments = write3(XID, 5);
        let reads = [(0, (0xb00, 0, arguments.len() as u32)), (WRITE3_POSITION, segment(length))];
        trace.send(Client, &message(NOMSG, XID, &Lists::reads(&reads), &[]));
        trace.read(Server, (0xb00, 0), &arguments);
        trace.read(Server, MEMORY, &octets(1, length as usize));
        trace.refuse(1);
        trace.null(0x99);
        assert_eq!(slugs(&trace.packets), expected.iter().copied().collect(), "{length}");
    }
}

#[test]
fn a_refused_call_may_have_needed_no_reply_chunk() {
    let mut trace = Trace::new();
    trace.send(Client, &null_message());
    trace.refuse(1);
    trace.null(0x99);
    assert_eq!(blamed(&trace.packets), [("reply-chunk-missing", Severity::Hazard, Blame::Either)]);
}

/// The second reply frees no credit of another call.
#[test]
fn two_replies_to_a_repeated_call_free_one_credit() {
    for (more, is_exceeded) in [(GRANTED - 1, false), (GRANTED, true)] {
        let mut trace = Trace::new();
        for xid in [XID, XID, 8] {
            trace.send(Client, &message(MSG, xid, &Lists::default(), &null(xid)));
        }
        trace.reply(XID);
        trace.reply(XID);
        // Until then its call may be captured late.
        (0..65).for_each(|_| trace.acknowledge(Client));
        for xid in 100..100 + more {
            trace.send(Client, &message(MSG, xid, &Lists::default(), &null(xid)));
        }
        trace.acknowledge(Server);
        trace.reply(8);
        let found = slugs(&trace.packets);
        assert_eq!(found.contains("credit-exceeded"), is_exceeded, "{more}: {found:?}");
    }
}

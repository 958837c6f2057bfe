//! The framing of messages, and the end that an RDMA_ERROR is for.

use std::collections::BTreeSet;

use crate::check::case::{Case, Make, case};
use crate::check::judging::*;
use crate::check::trace::*;
use crate::synthetic::By::{Client, Server};
use crate::synthetic::rpc::*;

pub(crate) const CASES: &[Case] = &[
    case("header-short", |trace, bad| {
        let whole = null_message();
        if bad {
            trace.send(Client, &whole[..24]);
        } else {
            trace.rpc(&Lists::default(), &null(XID), &Lists::default(), &reply(XID, &[]));
        }
    }),
    case("version", |trace, bad| {
        if bad {
            trace.send(Client, &patched(null_message(), 4, 2));
            trace.send(Server, &words(&[XID, 2, 32, ERROR, 1, 1, 1]));
        } else {
            trace.rpc(&Lists::default(), &null(XID), &Lists::default(), &reply(XID, &[]));
        }
    }),
    case("proc-unknown", |trace, bad| refused(trace, bad, &patched(null_message(), 12, 7))),
    case("msgp-sent", |trace, bad| {
        let message = [words(&[XID, 1, 32, 2, 64, 128, 0, 0, 0]), null(XID)].concat();
        refused(trace, bad, &message);
    }),
    case("done-sent", |trace, bad| {
        trace.null(XID);
        if bad {
            trace.send(Client, &words(&[XID, 1, 32, DONE]));
        }
    }),
    case("error-from-requester", |trace, bad| {
        trace.null(XID);
        if bad {
            trace.send(Client, &words(&[XID, 1, 32, ERROR, 2]));
        }
    }),
    case("list-flag", |trace, bad| refused(trace, bad, &patched(null_message(), 20, 255))),
    case("list-truncated", |trace, bad| {
        refused(trace, bad, &[words(&[XID, 1, 32, 0, 1, 68, 0xa94, 100, 0, 7]), words(&[1, 68])].concat());
    }),
    case("nomsg-empty", |trace, bad| {
        if bad {
            trace.send(Client, &message(NOMSG, XID, &Lists::default(), &[]));
            trace.refuse(1);
        } else {
            trace.long_call(40, &[]);
            trace.answer();
        }
    }),
    case("nomsg-empty", |trace, bad| {
        // The server's; what the client gave could not hold a reply.
        let lists = Lists::writes(&[&[segment(100)]]);
        trace.send(Client, &message(MSG, XID, &lists, &null(XID)));
        let returned = Lists::writes(&[&[segment(0)]]);
        let (procedure, payload) = if bad { (NOMSG, Vec::new()) } else { (MSG, reply(XID, &[])) };
        trace.send(Server, &message(procedure, XID, &returned, &payload));
    }),
    case("nomsg-trailing", |trace, bad| {
        trace.long_call(40, if bad { &[0; 4] } else { &[] });
        if bad {
            trace.refuse(1);
        } else {
            trace.answer();
        }
    }),
    case("msg-no-payload", |trace, bad| refused(trace, bad, &null_message()[..28])),
    case("xid-mismatch", |trace, bad| refused(trace, bad, &patched(null_message(), 28, 8))),
    // Neither a call nor a reply: its first word is an XID all the same.
    case("xid-mismatch", |trace, bad| {
        let message = message(MSG, XID, &Lists::reply(&[segment(100)]), &null(XID));
        trace.send(Client, &patched(patched(message, 52, 9), 48, if bad { 8 } else { XID }));
        trace.refuse(1);
    }),
    case("error-echo", |trace, bad| {
        trace.send(Client, &message(MSG, XID, &Lists::reply(&[segment(100)]), &null(XID)));
        trace.refuse(if bad { 2 } else { 1 });
    }),
    case("error-range", |trace, bad| {
        trace.send(Client, &null_message());
        trace.send(Server, &words(&[XID, 1, 32, ERROR, 1, if bad { 1 } else { 2 }, 3]));
    }),
    case("error-trailing", |trace, bad| {
        trace.send(Client, &message(MSG, XID, &Lists::reply(&[segment(100)]), &null(XID)));
        trace.send(Server, &words(if bad { &[XID, 1, 32, ERROR, 2, 0] } else { &[XID, 1, 32, ERROR, 2] }));
    }),
    case("reply-unexpected", |trace, bad| {
        trace.null(XID);
        if bad {
            trace.answer();
        }
    }),
];

#[test]
fn the_xid_of_a_long_message_is_judged_too() {
    for (frame, make) in [
        // The call is in the frames 6 to 8, the reply in 9.
        (
            6,
            (|trace| {
                let lists = Lists::reads(&[(0, segment(40))]);
                trace.send(Client, &message(NOMSG, XID, &lists, &[]));
                trace.read(Server, MEMORY, &null(8));
                trace.answer();
            }) as fn(&mut Trace),
        ),
        (8, |trace| {
            trace.send(Client, &message(MSG, XID, &Lists::reply(&[segment(100)]), &null(XID)));
            trace.write(MEMORY, &reply(8, &[]));
            trace.send(Server, &message(NOMSG, XID, &Lists::reply(&[segment(24)]), &[]));
        }),
    ] {
        let mut trace = Trace::new();
        make(&mut trace);
        let (found, _) = judge(&trace.packets);
        let found: Vec<_> = found.iter().map(|found| (found.stamp.frame, found.rule.slug)).collect();
        assert_eq!(found, [(frame, "xid-mismatch")]);
    }
}

#[test]
fn a_reply_may_repeat_only_the_wrong_xid_called() {
    let call = patched(message(MSG, XID, &Lists::reply(&[segment(100)]), &null(XID)), 48, 8);
    let inline = |xid| message(MSG, XID, &Lists::reply(&[segment(0)]), &reply(xid, &[]));
    for (in_chunk, xid, of_reply) in [(false, 8, 0), (false, 9, 1), (true, 8, 0), (true, 9, 1)] {
        let mut trace = Trace::new();
        trace.send(Client, &call);
        if in_chunk {
            trace.write(MEMORY, &reply(xid, &[]));
            trace.send(Server, &message(NOMSG, XID, &Lists::reply(&[segment(24)]), &[]));
        } else {
            trace.send(Server, &inline(xid));
        }
        trace.null(0x99);
        let found = judge(&trace.packets).0;
        let mismatches = found.iter().filter(|found| found.rule.slug == "xid-mismatch");
        assert_eq!(mismatches.count(), 1 + of_reply, "in a chunk: {in_chunk}, {xid}: {found:?}");
    }
}

#[test]
fn a_possible_call_excuses_only_errors_of_its_xid() {
    for (damaged, is_accused) in [(50, false), (51, true)] {
        let mut trace = Trace::new();
        // The call that it answers may come late.
        trace.send(Client, &words(&[50, 1, 32, ERROR, 2]));
        trace.send(Server, &callback(damaged)[..28]);
        trace.null(0x99);
        assert_eq!(slugs(&trace.packets).contains("error-from-requester"), is_accused, "{damaged}");
    }
    // Nor a handle that the calls of the other end share.
    for damaged in [XID, 8] {
        let mut trace = Trace::new();
        for xid in [XID, 8] {
            let lists = Lists::reply(&[(MEMORY.0, u64::from(xid) << 20, 100)]);
            trace.send(Client, &message(MSG, xid, &lists, &null(xid)));
        }
        trace.acknowledge(Server);
        trace.null(9);
        trace.send(Server, &message(MSG, damaged, &Lists::default(), &[]));
        trace.null(0x99);
        assert!(slugs(&trace.packets).contains("handle-shared"), "{damaged}");
    }
}

/// Of a connection that was joined later, whoever calls a program that is known is the client.
#[test]
fn an_unmatched_error_is_judged_where_the_client_is_known() {
    let joined = |callback_only: bool, by| {
        let mut trace = Trace::new();
        if callback_only {
            // Nobody knows this program: the client announces it.
            trace.send(Server, &callback(50));
            trace.send(Client, &message(MSG, 50, &Lists::default(), &reply(50, &[])));
            trace.packets.drain(..5);
        } else {
            trace.null(8);
            trace.packets.drain(..3);
        }
        trace.acknowledge(Client);
        trace.acknowledge(Server);
        trace.send(by, &words(&[77, 1, 32, ERROR, 2]));
        if callback_only {
            trace.send(Server, &callback(51));
            trace.send(Client, &message(MSG, 51, &Lists::default(), &reply(51, &[])));
        } else {
            trace.null(9);
        }
        trace.acknowledge(Client);
        slugs(&trace.packets)
    };
    assert_eq!(joined(false, Client), BTreeSet::from(["error-from-requester"]));
    assert_eq!(joined(false, Server), BTreeSet::new());
    assert_eq!(joined(true, Client), BTreeSet::new());
    assert_eq!(joined(true, Server), BTreeSet::new());
}

#[test]
fn a_client_error_for_a_long_reply_breaks_a_rule() {
    let in_reply_chunk: Make = |trace| trace.long_reply(24);
    let in_read_chunk: Make = |trace| {
        provided(trace, XID);
        trace.read(Client, (XID, 0), &reply(XID, &[]));
        trace.send(Client, &words(&[XID, 1, 32, DONE]));
    };
    for answer in [in_reply_chunk, in_read_chunk] {
        let mut trace = Trace::new();
        answer(&mut trace);
        trace.send(Client, &words(&[XID, 1, 32, ERROR, 2]));
        trace.null(0x99);
        assert_eq!(slugs(&trace.packets), BTreeSet::from(["error-from-requester"]));
    }
}

#[test]
fn a_client_may_refuse_a_damaged_callback() {
    let refusal = words(&[50, 1, 32, ERROR, 2]);
    let damaged = [
        patched(callback(50), 20, 255),
        patched(callback(50), 12, 7),
        callback(50)[..28].to_vec(),
        callback(50)[..24].to_vec(),
        callback(50)[..12].to_vec(),
        message(NOMSG, 50, &Lists::default(), &[]),
    ];
    for damaged in damaged {
        for waits in [false, true] {
            let mut trace = Trace::new();
            if waits {
                // It may be a damaged reply to this call.
                trace.send(Client, &message(MSG, 50, &Lists::default(), &null(50)));
            }
            trace.send(Server, &damaged);
            trace.send(Client, &refusal);
            trace.null(0x99);
            let found = slugs(&trace.packets);
            let accused = ["error-from-requester", "answer", "reply-unexpected"].map(|slug| found.contains(slug));
            assert_eq!(accused, [false; 3], "{damaged:x?} {waits}: {found:?}");
        }
    }
}

#[test]
fn an_error_with_another_xid_is_no_echo() {
    let mut trace = Trace::new();
    trace.send(Client, &patched(null_message(), 20, 255));
    trace.send(Server, &words(&[XID + 1, 1, 32, ERROR, 2]));
    trace.null(0x99);
    let found = judge(&trace.packets).0;
    let found: Vec<_> = found.iter().map(|found| (found.rule.slug, found.offset, found.stamp.frame)).collect();
    assert_eq!(found, [("list-flag", Some(20), 6), ("error-echo", Some(0), 7)]);
    // The call of that XID comes late.
    let call = message(MSG, XID + 1, &Lists::default(), &null(XID + 1));
    trace.send(Client, &call);
    let late = trace.packets.pop().unwrap();
    trace.packets.insert(7, late);
    assert!(!slugs(&trace.packets).contains("error-echo"));
}

/// The session keeps this many calls; one that it gave up may be answered all the same.
#[test]
fn the_reply_to_a_dropped_call_is_not_unexpected() {
    let mut trace = Trace::new();
    for xid in 0x1000..0x1000 + 4200 {
        trace.send(Client, &message(MSG, xid, &Lists::default(), &null(xid)));
    }
    trace.reply(0x1000);
    trace.null(0x99);
    assert!(!slugs(&trace.packets).contains("reply-unexpected"));
    assert!(not_judged(&trace.packets, "reply-unexpected") > 0);
}

/// A reply that answers nothing is proven by what the client sends after it.
#[test]
fn only_packets_missed_of_the_proving_end_drop_a_finding() {
    for (missed, expected) in [(None, 1), (Some(Server), 1), (Some(Client), 0)] {
        let mut trace = Trace::new();
        trace.null(XID);
        trace.answer();
        for xid in [8, 9] {
            let first = trace.packets.len();
            trace.null(xid);
            let by = if let (8, Some(by)) = (xid, missed) { by } else { continue };
            // One Send is not in the capture, and its receiver acknowledges it.
            trace.packets.remove(if by == Client { first } else { first + 1 });
            trace.acknowledge(if by == Client { Server } else { Client });
        }
        let (found, counts) = judge(&trace.packets);
        assert!(found.iter().all(|found| found.rule.slug == "reply-unexpected"), "{missed:?}: {found:?}");
        let count = counts.iter().find(|count| count.rule.slug == "reply-unexpected").unwrap();
        assert_eq!((count.broken, count.not_judged > 0), (expected, missed == Some(Client)), "{missed:?}");
    }
}

#[test]
fn a_rule_reports_one_send_a_few_times_only() {
    let reads: Vec<(u32, Segment)> = (0..1000).map(|_| (40, (1, u64::MAX, 2))).collect();
    let mut trace = Trace::new();
    trace.send(Client, &message(MSG, XID, &Lists::reads(&reads), &null(XID)));
    let (found, _) = judge(&trace.packets);
    assert_eq!(found.iter().filter(|found| found.rule.slug == "segment-wraps").count(), 8);
}

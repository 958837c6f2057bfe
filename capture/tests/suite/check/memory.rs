//! RDMA Reads and Writes, and memory that is withdrawn.

use rpcrdma::rules::Severity;
use rpcrdma_dissector::check::Blame;

use crate::check::case::{Case, blind, case};
use crate::check::judging::*;
use crate::check::trace::*;
use crate::synthetic::By::{Client, Server};
use crate::synthetic::Packet;
use crate::synthetic::rpc::*;

pub(crate) const CASES: &[Case] = &[
    blind("rdma-read-bounds", &["read-not-pulled"], |trace, bad| {
        trace.send(Client, &message(MSG, XID, &Lists::reads(&[(68, segment(100))]), &write3(XID, 100)));
        trace.read(Server, MEMORY, &octets(1, if bad { 104 } else { 100 }));
        trace.send(Server, &message(MSG, XID, &Lists::default(), &write3_reply(XID, 100)));
    }),
    blind("rdma-write-bounds", &["write-roundup", "write-unwritten"], |trace, bad| {
        let lists = Lists::writes(&[&[segment(100)]]);
        trace.send(Client, &message(MSG, XID, &lists, &read3(XID, 100)));
        trace.write(MEMORY, &octets(2, 100));
        if bad {
            trace.write((MEMORY.0, MEMORY.1 + 100), &[0; 4]);
        }
        trace.send(Server, &message(MSG, XID, &lists, &reply(XID, &read3_results(100))));
    }),
    blind("rdma-write-bounds", &["write-roundup", "write-unwritten"], |trace, bad| {
        // One RDMA Write over two segments that are side by side in memory: what it wrote into the second is there.
        let (handle, offset) = MEMORY;
        let lists = Lists::writes(&[&[(handle, offset, 60), (handle, offset + 60, 40)]]);
        trace.send(Client, &message(MSG, XID, &lists, &read3(XID, 100)));
        if bad {
            trace.write(MEMORY, &octets(2, 100));
        } else {
            trace.write(MEMORY, &octets(2, 60));
            trace.write((handle, offset + 60), &octets(2, 40));
        }
        trace.send(Server, &message(MSG, XID, &lists, &reply(XID, &read3_results(100))));
    }),
    case("rdma-write-after-reply", |trace, bad| {
        trace.read_rpc(100, &[segment(100)], &[segment(100)]);
        if bad {
            trace.write(MEMORY, &octets(2, 100));
        }
    }),
    case("rdma-write-after-reply", |trace, bad| {
        // One of no octets touches no memory.
        trace.read_rpc(100, &[segment(100)], &[segment(100)]);
        trace.write((0, 0), &[]);
        trace.write(MEMORY, if bad { &[2] } else { &[] });
    }),
    case("read-not-pulled", |trace, bad| {
        trace.send(Client, &message(MSG, XID, &Lists::reads(&[(68, segment(100))]), &write3(XID, 100)));
        trace.read(Server, MEMORY, &octets(1, if bad { 60 } else { 100 }));
        trace.send(Server, &message(MSG, XID, &Lists::default(), &write3_reply(XID, 100)));
    }),
    case("read-not-pulled", |trace, bad| {
        // As many octets as there are, the first half twice.
        trace.send(Client, &message(MSG, XID, &Lists::reads(&[(68, segment(100))]), &write3(XID, 100)));
        trace.read(Server, MEMORY, &octets(1, 50));
        trace.read(Server, (MEMORY.0, MEMORY.1 + if bad { 0 } else { 50 }), &octets(1, 50));
        trace.send(Server, &message(MSG, XID, &Lists::default(), &write3_reply(XID, 100)));
    }),
    case("read-not-pulled", |trace, bad| {
        // This item has no padding.
        trace.send(Client, &message(MSG, XID, &Lists::reads(&[(68, segment(100))]), &write3(XID, 100)));
        trace.read(Server, MEMORY, &octets(1, if bad { 99 } else { 100 }));
        trace.send(Server, &message(MSG, XID, &Lists::default(), &write3_reply(XID, 100)));
    }),
    Case {
        slug: "read-not-pulled",
        besides: &["read-roundup"],
        not_judged: &[],
        // The padding of the item need not be read.
        make: |trace, bad| {
            trace.send(Client, &message(MSG, XID, &Lists::reads(&[(68, segment(104))]), &write3(XID, 101)));
            trace.read(Server, MEMORY, &octets(1, if bad { 100 } else { 101 }));
            trace.send(Server, &message(MSG, XID, &Lists::default(), &write3_reply(XID, 101)));
        },
    },
    blind("read-not-pulled", &["xid-mismatch"], |trace, bad| {
        // Nor that of a long call: LOOKUP of "a".
        let call = call(XID, [100_003, 3, 3], &words(&[4, 0xfeed, 1, 0x6100_0000]));
        let reads = Lists::reads(&[(0, (0xa94, 0x1000, 40)), (0, (0xa95, 0x2000, 16))]);
        trace.send(Client, &message(NOMSG, XID, &reads, &[]));
        trace.read(Server, (0xa94, 0x1000), &call[..if bad { 39 } else { 40 }]);
        trace.read(Server, (0xa95, 0x2000), &call[40..53]);
        trace.answer();
    }),
    case("handle-shared", |trace, bad| {
        for xid in [XID, XID + 1] {
            let handle = if bad { 0xa94 } else { 0xa94 + xid };
            let lists = Lists::writes(&[&[(handle, u64::from(xid) << 20, 100)]]);
            trace.send(Client, &message(MSG, xid, &lists, &read3(xid, 100)));
        }
        trace.acknowledge(Server);
    }),
    case("invalidate-foreign", |trace, bad| {
        let lists = Lists::reply(&[segment(100)]);
        trace.send(Client, &message(MSG, XID, &lists, &null(XID)));
        let reply = message(MSG, XID, &Lists::reply(&[segment(0)]), &reply(XID, &[]));
        trace.invalidate(if bad { 0xa95 } else { 0xa94 }, &reply);
    }),
    case("invalidate-foreign", |trace, bad| {
        let lists = Lists::reply(&[segment(100)]);
        trace.send(Client, &message(MSG, XID, &lists, &null(XID)));
        let refusal = words(&[XID, 1, 32, ERROR, 2]);
        if bad {
            trace.invalidate(MEMORY.0, &refusal);
        } else {
            trace.send(Server, &refusal);
        }
    }),
    case("pull-not-notified", |trace, bad| {
        trace.send(Client, &null_message());
        trace.send(Server, &message(NOMSG, XID, &Lists::reads(&[(0, segment(24))]), &[]));
        trace.read(Client, MEMORY, &reply(XID, &[]));
        if !bad {
            trace.send(Client, &words(&[XID, 1, 32, DONE]));
        }
    }),
];

#[test]
fn memory_that_a_requester_withdrew_is_not_the_responders_fault() {
    let mut trace = Trace::new();
    trace.send(Client, &message(MSG, XID, &Lists::writes(&[&[segment(100)]]), &read3(XID, 100)));
    trace.write(MEMORY, &octets(2, 100));
    trace.refuse_access();
    assert_eq!(blamed(&trace.packets), [("rdma-write-bounds", Severity::Hazard, Blame::Receiver)]);
    let mut trace = Trace::new();
    trace.send(Client, &message(MSG, XID, &Lists::reads(&[(68, segment(100))]), &write3(XID, 100)));
    let request = trace.wire.read_request(Server, MEMORY, 100);
    trace.packets.push(request);
    trace.refuse_access();
    assert_eq!(blamed(&trace.packets), [("rdma-read-bounds", Severity::Hazard, Blame::Receiver)]);
}

/// Two RDMA Writes and an RDMA Read are under way when the adapter refuses one of them.
#[test]
fn what_an_adapter_refused_is_told_by_its_number() {
    for (refused, slug, handle) in [
        (0, "rdma-write-bounds", 0xb00),
        // It has two packets.
        (1, "rdma-write-bounds", 0xb01),
        (2, "rdma-write-bounds", 0xb01),
        (3, "rdma-read-bounds", 0xb02),
    ] {
        let mut trace = Trace::new();
        for (xid, lists, call) in [
            (XID, Lists::writes(&[&[(0xb00, 0, 100)]]), read3(XID, 100)),
            (XID + 1, Lists::writes(&[&[(0xb01, 0, 2000)]]), read3(XID + 1, 2000)),
            (XID + 2, Lists::reads(&[(68, (0xb02, 0, 100))]), write3(XID + 2, 100)),
        ] {
            trace.send(Client, &message(MSG, xid, &lists, &call));
        }
        let first = trace.wire.server.next;
        trace.write((0xb00, 0), &octets(2, 100));
        trace.write((0xb01, 0), &octets(2, 2000));
        let request = trace.wire.read_request(Server, (0xb02, 0), 100);
        trace.packets.push(request);
        trace.packets.push(trace.wire.access_error(Client, first + refused));
        let found = judge(&trace.packets).0;
        let found: Vec<_> = found.iter().map(|found| (found.rule.slug, &found.message[..17])).collect();
        assert_eq!(found, [(slug, format!("handle {handle:#010x}").as_str())], "{refused}");
    }
}

/// The last response to an RDMA Read is missing from the capture, as the number in the refusal of a later Write shows.
#[test]
fn a_read_whose_last_response_was_missed_was_not_refused() {
    for is_missed in [false, true] {
        let mut trace = Trace::new();
        trace.send(Client, &message(MSG, XID, &Lists::reads(&[(68, segment(3000))]), &write3(XID, 3000)));
        trace.send(Client, &message(MSG, 8, &Lists::writes(&[&[(0xb01, 0, 100)]]), &read3(8, 100)));
        trace.read(Server, MEMORY, &octets(1, 3000));
        if is_missed {
            trace.packets.pop();
        }
        trace.write((0xb01, 0), &octets(2, 100));
        trace.refuse_access();
        let (found, counts) = judge(&trace.packets);
        let found: Vec<_> = found.iter().map(|found| found.rule.slug).collect();
        assert_eq!(found, if is_missed { vec![] } else { vec!["rdma-write-bounds"] });
        let count = counts.iter().find(|count| count.rule.slug == "rdma-write-bounds").unwrap();
        assert_eq!(count.not_judged, u64::from(is_missed));
    }
}

#[test]
fn either_end_may_have_removed_an_invalidated_handle() {
    let mut trace = Trace::new();
    for (xid, offset) in [(XID, 0), (8, 0x1000)] {
        let lists = Lists::reply(&[(MEMORY.0, offset, 100)]);
        trace.send(Client, &message(MSG, xid, &lists, &null(xid)));
    }
    let returned = Lists::reply(&[(MEMORY.0, 0, 0)]);
    trace.invalidate(MEMORY.0, &message(MSG, XID, &returned, &reply(XID, &[])));
    trace.write((MEMORY.0, 0x1000), &reply(8, &[]));
    trace.refuse_access();
    let found = blamed(&trace.packets);
    assert!(found.contains(&("rdma-write-bounds", Severity::Hazard, Blame::Either)), "{found:?}");
}

/// A responder may invalidate any handle of the call that it answers (RFC 8797 section 4.1). That another call advertises it too is
/// the doing of the requester.
#[test]
fn a_responder_may_invalidate_a_handle_that_calls_share() {
    for calls in [[XID, 8], [8, XID]] {
        let mut trace = Trace::new();
        for xid in calls {
            let lists = Lists::reply(&[(MEMORY.0, u64::from(xid) << 20, 100)]);
            trace.send(Client, &message(MSG, xid, &lists, &null(xid)));
        }
        trace.acknowledge(Server);
        let returned = |xid: u32| Lists::reply(&[(MEMORY.0, u64::from(xid) << 20, 0)]);
        trace.invalidate(MEMORY.0, &message(MSG, XID, &returned(XID), &reply(XID, &[])));
        trace.send(Server, &message(MSG, 8, &returned(8), &reply(8, &[])));
        trace.null(0x99);
        assert_eq!(blamed(&trace.packets), [("handle-shared", Severity::Hazard, Blame::Sender)], "{calls:?}");
    }
}

#[test]
fn a_read_after_the_reply_is_outside_what_is_advertised() {
    let mut trace = Trace::new();
    trace.write_rpc(100, &[(68, segment(100))]);
    trace.read(Server, MEMORY, &octets(1, 100));
    trace.null(0x99);
    let message = format!(
        "100 octets at handle {:#010x} offset {:#018x}, after the reply to {XID:#010x}, which had advertised them",
        MEMORY.0, MEMORY.1
    );
    assert_eq!(said(&trace.packets), [("rdma-read-bounds", None, message)]);
}

#[test]
fn refusing_an_outside_write_is_no_fault() {
    let refused = ("rdma-write-bounds", Severity::Hazard, Blame::Receiver);
    let outside = ("rdma-write-bounds", Severity::Error, Blame::Sender);
    for (number, expected) in [(0, vec![outside]), (1, vec![refused, outside])] {
        let mut trace = Trace::new();
        trace.send(Client, &message(MSG, XID, &Lists::writes(&[&[segment(100)]]), &read3(XID, 100)));
        let first = trace.wire.server.next;
        trace.write((MEMORY.0, MEMORY.1 + 100), &[0; 4]);
        trace.write(MEMORY, &octets(2, 100));
        trace.packets.push(trace.wire.access_error(Client, first + number));
        // The client acknowledges nothing after what it refused, and says no more.
        assert_eq!(blamed(&trace.packets), expected[..number as usize]);
        trace.null(8);
        assert_eq!(blamed(&trace.packets), expected);
    }
}

fn broken_by_xid(packets: &[Packet]) -> Vec<(&'static str, Option<u32>)> {
    judge(packets).0.iter().map(|found| (found.rule.slug, found.xid)).collect()
}

#[test]
fn each_provided_reply_needs_its_own_read_and_done() {
    // Reading one reply is not reading the other.
    let mut trace = Trace::new();
    provided(&mut trace, XID);
    provided(&mut trace, 8);
    trace.read(Client, (8, 0), &reply(8, &[]));
    trace.null(0x99);
    assert_eq!(broken_by_xid(&trace.packets), [("pull-not-notified", Some(8))]);
    // RDMA_DONE for one says nothing of the other.
    trace.read(Client, (XID, 0), &reply(XID, &[]));
    trace.send(Client, &words(&[8, 1, 32, DONE]));
    trace.null(0x9a);
    assert_eq!(broken_by_xid(&trace.packets), [("pull-not-notified", Some(XID))]);
    // A client that sends RDMA_DONE knows such replies, and need not read a later one.
    let mut trace = Trace::new();
    provided(&mut trace, XID);
    trace.send(Client, &words(&[XID, 1, 32, DONE]));
    provided(&mut trace, 8);
    trace.null(0x99);
    assert_eq!(broken_by_xid(&trace.packets), []);
}

/// Two calls advertise the same memory, so for which of them it was written is not known.
#[test]
fn data_in_memory_that_two_calls_share_is_not_judged() {
    for lengths in [[100, 100], [104, 101]] {
        let mut trace = Trace::new();
        for xid in [XID, XID + 1] {
            trace.send(Client, &message(MSG, xid, &Lists::writes(&[&[segment(104)]]), &read3(xid, 104)));
        }
        for (xid, length) in (XID..).zip(lengths) {
            trace.write(MEMORY, &octets(2, length as usize));
            let lists = Lists::writes(&[&[segment(length)]]);
            trace.send(Server, &message(MSG, xid, &lists, &reply(xid, &read3_results(length))));
        }
        let (found, counts) = judge(&trace.packets);
        assert!(found.iter().all(|found| found.rule.slug == "handle-shared"), "{found:?}");
        let unjudged = counts.iter().find(|count| count.rule.slug == "write-unwritten").unwrap().not_judged;
        assert_eq!(unjudged, 2);
    }
}

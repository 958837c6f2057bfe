//! Private data, and calls in the reverse direction.

use std::collections::BTreeSet;

use rpcrdma::rules::Severity;
use rpcrdma_dissector::check::Blame;

use crate::check::case::{Case, case};
use crate::check::judging::*;
use crate::check::trace::*;
use crate::synthetic::By::{Client, Server};
use crate::synthetic::rpc::*;

pub(crate) const CASES: &[Case] = &[
    case("private-data-version", |trace, bad| {
        let server = [0xf6, 0xab, 0x0e, 0x18, if bad { 2 } else { 1 }, 1, 3, 3];
        *trace = Trace::connected(&PRIVATE_DATA, &server);
        trace.null(XID);
    }),
    case("private-data-absent", |trace, bad| {
        *trace = Trace::connected(&PRIVATE_DATA, if bad { &[] } else { &PRIVATE_DATA });
        trace.null(XID);
    }),
    case("reverse-credit", |trace, bad| {
        trace.send(Server, &callback(50));
        if !bad {
            trace.send(Client, &message(MSG, 50, &Lists::default(), &reply(50, &[])));
        }
        trace.send(Server, &callback(51));
        trace.acknowledge(Client);
    }),
    case("reverse-version", |trace, bad| {
        if bad {
            trace.send(Server, &patched(callback(50), 4, 2));
            trace.send(Client, &words(&[50, 2, 32, ERROR, 1, 1, 1]));
        } else {
            trace.send(Server, &callback(50));
            trace.send(Client, &message(MSG, 50, &Lists::default(), &reply(50, &[])));
        }
    }),
];

#[test]
fn short_private_data_and_other_versions_are_distinguished() {
    // The octets before it, what there is of it, and what is said. A connection request is answered with 196 octets.
    let all = [0xf6, 0xab, 0x0e, 0x18, 2, 1, 3, 3];
    for (before, length, expected) in [
        (0, 8, "private data of version 2"),
        (188, 8, "private data of version 2"),
        (189, 7, "private data of 7 octets"),
        (192, 4, "private data of 4 octets"),
    ] {
        let mut trace = Trace::connected(&PRIVATE_DATA, &[&vec![0; before], &all[..length]].concat());
        trace.null(XID);
        assert_eq!(said(&trace.packets), [("private-data-version", None, expected.to_owned())]);
    }
}

#[test]
fn private_data_is_judged_unless_there_are_no_messages() {
    let mut trace = Trace::connected(&[], &PRIVATE_DATA);
    assert_eq!(slugs(&trace.packets), BTreeSet::new(), "it may be of version 2");
    // Nothing in this says which version it is of.
    trace.send(Client, &null_message()[..12]);
    assert_eq!(slugs(&trace.packets), BTreeSet::from(["private-data-absent", "header-short"]));
}

/// RFC 8167 section 5.1: the server calls in the version that the client uses, once it has used one.
#[test]
fn a_callback_in_another_version_breaks_the_reverse_rule() {
    // As soon as the client has called, and owed an answer.
    let mut trace = Trace::connected(&PRIVATE_DATA, &PRIVATE_DATA);
    trace.send(Client, &null_message());
    trace.send(Server, &patched(callback(50), 4, 3));
    trace.answer();
    trace.null(8);
    let owed = ("answer", Severity::Error, Blame::Receiver);
    assert_eq!(blamed(&trace.packets), [("reverse-version", Severity::Error, Blame::Sender), owed]);
    // Before that, and what is no call of the server, breaks the rule of any Send.
    let mut before = Trace::connected(&PRIVATE_DATA, &PRIVATE_DATA);
    before.send(Server, &patched(callback(50), 4, 3));
    let mut reply_in_3 = Trace::new();
    reply_in_3.send(Client, &null_message());
    reply_in_3.send(Server, &patched(message(MSG, XID, &Lists::default(), &reply(XID, &[])), 4, 3));
    for mut trace in [before, reply_in_3] {
        trace.null(8);
        let found = slugs(&trace.packets);
        assert!(found.contains("version") && !found.contains("reverse-version"), "{found:?}");
    }
}

/// The server calls by RDMA_NOMSG: NFSv4 CB_COMPOUND without operations.
fn long_callback(trace: &mut Trace, xid: u32) {
    let arguments = call(xid, [0x4000_0000, 1, 1], &words(&[0, 1, 0, 0]));
    let lists = Lists::reads(&[(0, segment(arguments.len() as u32))]);
    trace.send(Server, &message(NOMSG, xid, &lists, &[]));
    trace.read(Client, MEMORY, &arguments);
}

fn callback_reply(xid: u32) -> Vec<u8> {
    message(MSG, xid, &Lists::default(), &reply(xid, &words(&[0, 0, 0])))
}

#[test]
fn a_long_call_of_the_server_is_no_reply() {
    let mut trace = Trace::new();
    for xid in [50, 51] {
        long_callback(&mut trace, xid);
        trace.send(Client, &callback_reply(xid));
    }
    trace.null(XID);
    assert_eq!(slugs(&trace.packets), BTreeSet::new());
    // It is counted as a call of its direction, and its memory is the server's.
    let mut trace = Trace::new();
    for xid in [50, 51] {
        long_callback(&mut trace, xid);
    }
    trace.acknowledge(Client);
    trace.null(XID);
    assert_eq!(slugs(&trace.packets), BTreeSet::from(["handle-shared", "reverse-credit"]));
    // A message that breaks a rule gets the answer that the rule requires.
    let mut trace = Trace::new();
    trace.send(Server, &message(NOMSG, 50, &Lists::reads(&[(0, segment(56)), (2, (0xb00, 0, 4))]), &[]));
    trace.send(Client, &words(&[50, 1, 32, ERROR, 2]));
    trace.null(XID);
    assert_eq!(slugs(&trace.packets), BTreeSet::from(["read-position-align"]));
}

#[test]
fn any_message_before_a_loss_judges_private_data() {
    let mut trace = Trace::connected(&[], &[]);
    trace.null(1);
    let missed = trace.packets.len();
    trace.null(2);
    trace.packets.remove(missed);
    trace.acknowledge(Server);
    trace.null(3);
    assert_eq!(slugs(&trace.packets), BTreeSet::from(["private-data-absent"]));
    // A message of version 3 leaves it to the end of the connection.
    for by in [Client, Server] {
        let mut trace = Trace::connected(&[], &[]);
        trace.send(by, &patched(null_message(), 4, 3));
        assert!(slugs(&trace.packets).contains("private-data-absent"), "{by:?}");
    }
}

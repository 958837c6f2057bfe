//! Findings in the shipped captures.

use std::collections::BTreeMap;

use rpcrdma::rules::Severity;
use rpcrdma_dissector::check::{Blame, Count};
use rpcrdma_dissector::{Address, Capture, Checker, Config, Events};

use crate::check::judging::*;
use crate::check::trace::*;
use crate::synthetic::By::{Client, Server};
use crate::synthetic::rpc::*;
use crate::transcode;

/// A finding: frame, severity, slug, connection.
type Line = (u64, Severity, &'static str, u32);

/// Returns the findings in a shipped capture, and the counts of each rule.
fn shipped(name: &str) -> (Vec<Line>, Vec<Count>) {
    let path = format!("{}/../testdata/captures/{name}.pcap", env!("CARGO_MANIFEST_DIR"));
    let config = Config::for_checker();
    let mut events = Events::new(Capture::from_paths([path]), config);
    let mut checker = Checker::default();
    for event in &mut events {
        checker.event(&event.unwrap());
    }
    let found = std::iter::from_fn(|| checker.finding());
    let found = found.map(|found| (found.stamp.frame, found.severity, found.rule.slug, found.connection)).collect();
    (found, checker.counts().collect())
}

/// Linux 6.1 `nfsd` invalidates handles though its own private data does not announce that it does: README.md there has it
/// octet by octet. It is said once a connection.
const NFS: [(&str, u64); 11] = [
    ("nfs3", 138),
    ("nfs3_ipv6", 138),
    ("nfs40", 123),
    ("nfs41", 32),
    ("nfs41_callback", 29),
    ("nfs42_mtu9000", 29),
    ("nfs41_lossy", 31),
    ("nfs41_krb5", 47),
    ("nfs41_krb5i", 48),
    ("iwarp_nfs41", 32),
    ("iwarp_nfs3_lossy", 107),
];

#[test]
fn the_nfs_captures_break_one_rule_and_judge_all() {
    for (name, frame) in NFS {
        let (found, counts) = shipped(name);
        assert_eq!(found, [(frame, Severity::Error, "invalidate-foreign", 1)], "{name}");
        for Count { rule, not_judged, .. } in counts {
            assert_eq!(not_judged, 0, "{name}: {}", rule.slug);
        }
    }
    assert_eq!(shipped("perftest").0, []);
}

#[test]
fn without_setup_remote_invalidation_is_not_judged() {
    for (set_up, expected) in [(true, 0), (false, 1)] {
        let mut trace = Trace::new();
        // These tell that the two directions are one connection.
        trace.acknowledge(Client);
        trace.acknowledge(Server);
        for xid in [XID, 8, 9] {
            let lists = |length| Lists::reply(&[(xid, 0x1000, length)]);
            trace.send(Client, &message(MSG, xid, &lists(100), &null(xid)));
            trace.invalidate(xid, &message(MSG, xid, &lists(0), &reply(xid, &[])));
        }
        // The packets before the first call are the setup.
        let (found, counts) = judge(&trace.packets[if set_up { 0 } else { 3 }..]);
        assert!(found.is_empty(), "{found:?}");
        let count = counts.iter().find(|count| count.rule.slug == "invalidate-foreign").unwrap();
        assert_eq!(count.not_judged, expected);
    }
}

#[test]
fn cut_private_data_is_neither_absent_nor_wrong() {
    // The private data of the two ends: the octets before it, and its end in its frame; those of the other are shorter.
    for (name, request, reply) in [("nfs41", 262..270, 122..130), ("nfs3_ipv6", 282..290, 142..150)] {
        let records = transcode::capture(name);
        for length in [reply.start, reply.start + 4, reply.end - 1, reply.end, request.start + 4, request.end - 1] {
            let (found, counts) = judged(&transcode::cut(&records, length));
            let not_judged = |slug| counts.iter().find(|count| count.rule.slug == slug).unwrap().not_judged;
            assert!(found.is_empty(), "{name} cut to {length}: {:?}", found[0].rule.slug);
            let ends = if length < reply.end { 2 } else { 1 };
            assert_eq!(
                (not_judged("private-data-absent"), not_judged("private-data-version")),
                (ends, ends),
                "{length}"
            );
            assert!(not_judged("inline-exceeded") > 0, "{name} cut to {length}");
        }
        let (found, counts) = judged(&transcode::cut(&records, request.end));
        assert!(found.iter().any(|found| found.rule.slug == "invalidate-foreign"), "what is not cut is judged");
        let all = |slug| counts.iter().all(|count| count.rule.slug != slug || count.not_judged == 0);
        assert!(all("private-data-absent") && all("inline-exceeded"), "{name}");
    }
}

#[test]
fn what_the_ends_of_an_iwarp_connection_announce_is_judged() {
    // The MPA reply is in frame 26; its private data begins at octet 90, after the words about RDMA Reads.
    let records = transcode::capture("iwarp_nfs41");
    assert_eq!(records[25].data[90..], [0xf6, 0xab, 0x0e, 0x18, 1, 0, 3, 3]);
    for (at, octet, expected) in
        [(94, 2, "private-data-version"), (95, 0x80, "private-data-version"), (90, 0, "private-data-absent")]
    {
        let mut records = records.clone();
        records[25].data[at] = octet;
        let (found, _) = judged(&records);
        let found = found.iter().map(|found| (found.stamp.frame, found.rule.slug));
        let found: Vec<_> = found.filter(|(_, slug)| slug.starts_with("private-data")).collect();
        assert_eq!(found, [(26, expected)], "{at}");
    }
}

/// Findings in each of the 27 connections of `errors`: the frames, and the rules that they break.
#[rustfmt::skip]
const ERRORS: [&[(u64, &str)]; 27] = [
    &[],
    &[(31, "header-short"), (33, "answer")],
    &[(40, "header-short"), (42, "answer")],
    &[(49, "version")],
    &[(58, "version")],
    &[(67, "proc-unknown")],
    &[(76, "msgp-sent")],
    &[(85, "done-sent")],
    &[(93, "error-from-requester"), (93, "error-trailing")],
    &[(103, "answer"), (103, "nomsg-empty")],
    &[(110, "list-flag")],
    &[(119, "list-flag")],
    &[(128, "list-truncated")],
    &[(137, "list-truncated")],
    &[],
    &[(157, "reply-chunk-missing")],
    &[(166, "rdma-write-bounds")],
    &[(175, "xid-mismatch"), (177, "answer")],
    &[(184, "credit-zero-request")],
    &[(193, "ddp-not-eligible"), (195, "rdma-read-bounds")],
    &[(204, "read-position-zero-in-msg"), (206, "rdma-read-bounds")],
    &[(214, "read-position-align")],
    &[(223, "ddp-not-eligible"), (223, "read-position-beyond"), (223, "read-position-order"), (225, "rdma-read-bounds")],
    &[(235, "ddp-not-eligible"), (235, "inline-exceeded"), (237, "rdma-read-bounds")],
    &[],
    &[(258, "answer"), (258, "msg-no-payload")],
    &[(267, "msg-no-payload")],
];

#[test]
fn each_defect_of_errors_is_named_and_each_answer_judged() {
    let (found, _) = shipped("errors");
    for (expected, connection) in ERRORS.iter().zip(1..) {
        let of = found.iter().filter(|(.., number)| *number == connection);
        let (absent, mut of): (Vec<_>, Vec<_>) =
            of.map(|(frame, _, slug, _)| (*frame, *slug)).partition(|(_, slug)| *slug == "private-data-absent");
        of.sort_unstable();
        assert_eq!(&of[..], *expected, "connection {connection}");
        // The program that sent all this sends no private data, and the server does.
        assert_eq!(absent.len(), 1, "connection {connection}");
    }
}

#[test]
fn what_linux_does_wrong_with_chunks_is_found() {
    let error = |frame, slug, connection| (frame, Severity::Error, slug, connection);
    assert_eq!(shipped("reduced_reply").0, [error(25, "write-unwritten", 1), error(37, "write-roundup", 1)]);
    assert_eq!(shipped("krb5i_reduced").0, [error(40, "gss-reduced", 2)]);
}

#[test]
fn memory_that_was_withdrawn_is_not_held_against_the_responder() {
    let (found, _) = judged(&transcode::capture("withdrawn"));
    let found: Vec<_> = found
        .iter()
        .map(|found| (found.stamp.frame, found.severity, found.rule.slug, found.connection, found.blame))
        .collect();
    let hazard = |frame, slug, connection| (frame, Severity::Hazard, slug, connection, Blame::Receiver);
    assert_eq!(found, [hazard(23, "rdma-write-bounds", 1), hazard(36, "rdma-read-bounds", 2)]);
}

#[test]
fn linux_answers_bad_sends_with_one_wrong_answer() {
    let (found, counts) = judged(&transcode::capture("same_xid"));
    let (of_client, of_server): (Vec<_>, Vec<_>) =
        found.iter().partition(|found| found.from == Address::V4([192, 0, 2, 2]));
    let of_server: Vec<_> = of_server.iter().map(|found| (found.stamp.frame, found.rule.slug, found.blame)).collect();
    // It refuses a Send of 24 octets.
    assert_eq!(of_server, [(62, "answer", Blame::Sender)]);
    let mut times: BTreeMap<&str, u32> = BTreeMap::new();
    for found in of_client {
        assert_eq!(found.blame, Blame::Sender);
        *times.entry(found.rule.slug).or_default() += 1;
    }
    let expected =
        [("done-sent", 66), ("error-from-requester", 1), ("header-short", 1), ("nomsg-empty", 1), ("proc-unknown", 1)];
    assert_eq!(times, BTreeMap::from(expected));
    // A client that left at once was owed nothing.
    assert_eq!(counts.iter().find(|count| count.rule.slug == "answer").unwrap().not_judged, 1);
}

//! A responder's answers to invalid messages.

use std::collections::BTreeSet;

use rpcrdma::rules::Severity;
use rpcrdma_dissector::check::Blame;
use rpcrdma_dissector::{Address, Config};

use crate::check::case::{Case, Make};
use crate::check::judging::*;
use crate::check::trace::*;
use crate::synthetic;
use crate::synthetic::By::{Client, Server};
use crate::synthetic::rpc::*;

pub(crate) const CASES: &[Case] = &[Case {
    slug: "answer",
    besides: &["proc-unknown"],
    not_judged: &[],
    make: |trace, bad| {
        trace.send(Client, &patched(null_message(), 12, 7));
        if !bad {
            trace.refuse(1);
        }
    },
}];

#[test]
fn a_request_due_an_error_gets_exactly_that_error() {
    let version = words(&[XID, 1, 32, ERROR, 1, 1, 1]);
    let reply = message(MSG, XID, &Lists::default(), &reply(XID, &[]));
    for (answer, expected) in [
        (refusal(XID), None),
        (version, Some("ERR_VERS answers frame 6 (proc-unknown); ERR_CHUNK should")),
        (reply, Some("a reply answers frame 6 (proc-unknown); ERR_CHUNK should")),
    ] {
        let mut trace = Trace::new();
        trace.send(Client, &faulty(XID));
        trace.send(Server, &answer);
        trace.null(0x99);
        let found = judge(&trace.packets).0;
        let answers = found.iter().filter(|found| found.rule.slug == "answer" && found.blame == Blame::Sender);
        assert_eq!(answers.map(|found| found.message.as_str()).collect::<Vec<_>>(), Vec::from_iter(expected));
    }
}

/// `RDMA_DONE` of version 1 may be anything in another version, and so may a message that cannot be decoded as an
/// error.
#[test]
fn a_send_of_another_version_may_always_be_refused() {
    for procedure in [0, 3, ERROR] {
        let mut trace = Trace::new();
        trace.send(Client, &words(&[XID, 7, 32, procedure, 0, 0, 0]));
        trace.send(Server, &words(&[XID, 7, 32, ERROR, 1, 1, 1]));
        trace.null(0x99);
        let server = Address::V4([192, 0, 2, 2]);
        let accused = judge(&trace.packets).0.into_iter().find(|found| found.from == server);
        assert!(accused.is_none(), "{procedure}: {accused:?}");
    }
}

#[test]
fn two_damaged_calls_of_the_server_may_both_be_refused() {
    let mut trace = Trace::new();
    for xid in [50, 51] {
        trace.send(Server, &callback(xid)[..28]);
    }
    for xid in [50, 51] {
        trace.send(Client, &refusal(xid));
    }
    trace.null(0x99);
    assert!(!slugs(&trace.packets).contains("error-from-requester"));
}

/// An answer does not tell which of several Sends of one XID it is for.
#[test]
fn an_answer_that_fits_two_sends_is_not_judged() {
    let answer = || message(MSG, XID, &Lists::default(), &reply(XID, &[]));
    let mismatch = patched(null_message(), 28, 8);
    for (sends, answers) in [
        // The call was replied to, and its reply comes once more.
        (vec![null_message(), faulty(XID)], vec![answer(), answer()]),
        // The reply may be for the call whose RPC message has another XID, or for the right one.
        (vec![mismatch, null_message()], vec![answer()]),
    ] {
        let mut trace = Trace::new();
        sends.iter().for_each(|octets| trace.send(Client, octets));
        answers.iter().for_each(|octets| trace.send(Server, octets));
        trace.null(0x99);
        let accused = judge(&trace.packets).0.into_iter().find(|found| found.from == Address::V4([192, 0, 2, 2]));
        assert!(accused.is_none(), "{accused:?}");
        assert!(not_judged(&trace.packets, "answer") > 0, "{sends:x?}");
    }
}

#[test]
fn a_repeated_call_may_have_as_many_replies() {
    for (replies, expected) in [(20, None), (21, Some("reply-unexpected"))] {
        let mut trace = Trace::new();
        (0..20).for_each(|_| trace.send(Client, &null_message()));
        (0..replies).for_each(|_| trace.answer());
        trace.null(0x99);
        assert_eq!(slugs(&trace.packets), BTreeSet::from_iter(expected), "{replies}");
    }
}

#[test]
fn a_reply_to_no_call_is_not_also_unanswered() {
    let mut trace = Trace::new();
    trace.send(Client, &message(MSG, 50, &Lists::default(), &reply(50, &[])));
    trace.null(0x99);
    let found = judge(&trace.packets).0;
    let found: Vec<_> = found.iter().map(|found| (found.rule.slug, found.stamp.frame)).collect();
    assert_eq!(found, [("reply-unexpected", 6)]);
}

#[test]
fn a_reply_answers_the_call_not_a_bad_send() {
    for (slug, bad) in dropped() {
        for both in [[&bad, &null_message()], [&null_message(), &bad]] {
            let mut trace = Trace::new();
            both.iter().for_each(|octets| trace.send(Client, octets));
            trace.answer();
            trace.null(0x99);
            assert_eq!(slugs(&trace.packets), BTreeSet::from([slug]), "{bad:x?}");
            // The call may be refused as well.
            trace.packets.truncate(7);
            trace.refuse(1);
            trace.null(0x99);
            let found = slugs(&trace.packets);
            assert!(!found.contains("answer"), "{bad:x?}: {found:?}");
            assert_eq!(not_judged(&trace.packets, "answer"), 1, "{both:x?}");
            // Then its reply comes all the same.
            trace.answer();
            trace.null(0x9a);
            assert!(!slugs(&trace.packets).contains("answer"), "{bad:x?}");
        }
        // Alone it is answered by nothing.
        for answer in [message(MSG, XID, &Lists::default(), &reply(XID, &[])), words(&[XID, 1, 32, ERROR, 2])] {
            let mut trace = Trace::new();
            trace.send(Client, &bad);
            trace.send(Server, &answer);
            trace.null(0x99);
            assert_eq!(slugs(&trace.packets), BTreeSet::from([slug, "answer"]), "{bad:x?}");
        }
    }
}

#[test]
fn a_damaged_copy_of_a_call_has_its_own_answer() {
    let refusal = words(&[XID, 1, 32, ERROR, 2]);
    let reply = message(MSG, XID, &Lists::default(), &reply(XID, &[]));
    for (slug, damaged) in [
        ("list-flag", patched(null_message(), 20, 255)),
        ("proc-unknown", patched(null_message(), 12, 7)),
        ("msg-no-payload", null_message()[..28].to_vec()),
        ("nomsg-empty", message(NOMSG, XID, &Lists::default(), &[])),
    ] {
        for both in [[&damaged, &null_message()], [&null_message(), &damaged]] {
            for answers in [&[&refusal, &reply][..], &[&reply, &refusal], &[&reply]] {
                let mut trace = Trace::new();
                both.iter().for_each(|octets| trace.send(Client, octets));
                answers.iter().for_each(|octets| trace.send(Server, octets));
                trace.null(0x99);
                let mut expected = BTreeSet::from([slug]);
                expected.extend((answers.len() == 1).then_some("answer"));
                assert_eq!(slugs(&trace.packets), expected, "{both:x?} {answers:x?}");
            }
        }
    }
}

#[test]
fn a_missing_answer_says_that_it_may_be_lost() {
    let says = |goes_on: bool| {
        let mut trace = Trace::new();
        trace.send(Client, &patched(null_message(), 12, 7));
        if goes_on {
            trace.null(0x99);
        }
        trace.disconnect(Client);
        let (found, _) = judge_at(&trace.packets, |index| index * 2_000_000_000);
        let found = found.iter().find(|found| found.rule.slug == "answer").unwrap();
        found.message.strip_prefix("ERR_CHUNK should answer this (proc-unknown), but nothing does").unwrap().to_owned()
    };
    // Later packets of the server have no gap before them.
    assert_eq!(says(true), "");
    assert_eq!(says(false), ", or the capture lacks both the answer and what acknowledges it");
}

#[test]
fn a_requester_that_leaves_at_once_is_owed_nothing() {
    let left = |by, time: fn(u64) -> u64| {
        let mut trace = Trace::new();
        trace.send(Client, &patched(null_message(), 12, 7));
        trace.disconnect(by);
        // The capture goes on with another connection.
        let (mut other, _) = synthetic::connected();
        (other.client.host, other.server.host) = (7, 8);
        trace.packets.extend(other.connect());
        let (found, counts) = judge_at(&trace.packets, time);
        let not_judged = counts.iter().find(|count| count.rule.slug == "answer").unwrap().not_judged;
        (found.iter().any(|found| found.rule.slug == "answer"), not_judged)
    };
    // A millisecond between packets, and a minute after the end of the connection.
    let soon = |index| if index < 8 { index * 1_000_000 } else { 60_000_000_000 };
    assert_eq!(left(Client, soon), (false, 1));
    assert_eq!(left(Client, |index| index * 2_000_000_000), (true, 0));
    // A responder that cannot answer ends the connection (RFC 8166 section 4.5.4).
    assert_eq!(left(Server, |index| index * 2_000_000_000), (false, 1));
}

#[test]
fn xid_mismatches_and_trailing_octets_allow_either_answer() {
    let mut trace = Trace::new();
    trace.send(Client, &patched(null_message(), 28, 8));
    trace.answer();
    trace.null(0x99);
    let found = blamed(&trace.packets);
    let (mismatch, answer) = (("xid-mismatch", Severity::Error), ("answer", Severity::Hazard));
    assert_eq!(found, [mismatch, answer].map(|(slug, severity)| (slug, severity, Blame::Sender)));
    for refused in [true, false] {
        let mut trace = Trace::new();
        trace.long_call(40, &[0; 4]);
        if refused {
            trace.refuse(1);
        } else {
            trace.answer();
        }
        trace.null(0x99);
        assert_eq!(blamed(&trace.packets), [("nomsg-trailing", Severity::Warning, Blame::Sender)]);
    }
}

#[test]
fn who_sent_the_frame_that_breaks_a_rule_is_named() {
    let by = [
        ("rdma-read-bounds", Server),
        ("rdma-write-bounds", Server),
        ("handle-shared", Client),
        ("private-data-absent", Server),
        ("read-overlap", Client),
        ("invalidate-foreign", Server),
        ("reverse-credit", Server),
        ("pull-not-notified", Server),
        ("answer", Client),
    ];
    for (slug, by) in by {
        let Case { make, .. } = crate::check::cases().find(|case| case.slug == slug).unwrap();
        let mut trace = Trace::new();
        make(&mut trace, true);
        trace.null(70);
        let found = judge(&trace.packets).0;
        let found = found.iter().find(|found| found.rule.slug == slug).unwrap();
        let (client, server) = (Address::V4([192, 0, 2, 1]), Address::V4([192, 0, 2, 2]));
        let ends = if by == Client { (client, server) } else { (server, client) };
        assert_eq!((found.from, found.to), ends, "{slug}");
    }
}

/// The answer may be among the missing packets, although every Send is there.
#[test]
fn missing_or_unmatched_packets_excuse_a_missing_answer() {
    let spoils: [(Make, bool); 5] = [
        (|_| {}, true),
        (
            |trace| {
                let first = trace.packets.len();
                trace.write(MEMORY, &octets(2, 3000));
                trace.packets.remove(first + 1);
            },
            false,
        ),
        (
            |trace| {
                let first = trace.packets.len();
                let call = [write3(51, 2000), octets(3, 2000)].concat();
                trace.send(Client, &message(MSG, 51, &Lists::default(), &call));
                trace.packets.remove(first + 1);
            },
            false,
        ),
        // Responses to what was no RDMA Read.
        (
            |trace| {
                let number = trace.wire.server.next - 1;
                let packets = trace.wire.read_responses(Client, number, &[1; 4]);
                trace.packets.extend(packets);
            },
            false,
        ),
        (
            |trace| {
                let number = trace.wire.client.next - 1;
                let packets = trace.wire.read_responses(Server, number, &[1; 4]);
                trace.packets.extend(packets);
            },
            false,
        ),
    ];
    for (index, (spoil, is_due)) in spoils.into_iter().enumerate() {
        let mut trace = Trace::new();
        trace.send(Client, &message(MSG, 50, &Lists::writes(&[&[segment(3000)]]), &read3(50, 3000)));
        trace.send(Client, &patched(null_message(), 12, 7));
        spoil(&mut trace);
        trace.null(0x99);
        let (found, counts) = judge(&trace.packets);
        let count = counts.iter().find(|count| count.rule.slug == "answer").unwrap();
        assert_eq!((count.broken, count.not_judged), (u64::from(is_due), u64::from(!is_due)), "{index}: {found:?}");
    }
}

/// Little memory is left for calls that wait, so the call that the dissector gave up may be the one that is answered.
#[test]
fn a_dropped_call_excuses_a_missing_answer() {
    for (memory, is_due) in [(8192, false), (Config::default().memory, true)] {
        let mut trace = Trace::new();
        for xid in 50..70 {
            trace.send(Client, &message(MSG, xid, &Lists::default(), &[write3(xid, 500), octets(3, 500)].concat()));
        }
        trace.send(Client, &faulty(XID));
        trace.null(0x99);
        let (found, counts) = judge_within(memory, &trace.packets);
        let count = counts.iter().find(|count| count.rule.slug == "answer").unwrap();
        assert_eq!((count.broken, count.not_judged), (u64::from(is_due), u64::from(!is_due)), "{memory}: {found:?}");
    }
}

/// The client acknowledges or refuses an answer that the capture lacks, and nothing comes after it.
#[test]
fn an_answer_shown_by_its_receiver_is_not_missing() {
    let shows: [Make; 3] = [
        |_| {},
        |trace| trace.acknowledge(Client),
        |trace| {
            let refusal = trace.wire.nak(Client, trace.wire.server.next - 1);
            trace.packets.push(refusal);
        },
    ];
    for (index, show) in shows.into_iter().enumerate() {
        let mut trace = Trace::new();
        trace.send(Client, &faulty(XID));
        trace.refuse(1);
        trace.packets.pop();
        show(&mut trace);
        trace.disconnect(Client);
        let count = judge(&trace.packets).1.into_iter().find(|count| count.rule.slug == "answer").unwrap();
        assert_eq!((count.broken, count.not_judged), if index == 0 { (1, 0) } else { (0, 1) }, "{index}");
    }
}

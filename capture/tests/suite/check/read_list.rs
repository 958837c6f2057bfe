//! Read chunks.

use std::collections::BTreeSet;

use rpcrdma::rules::Severity;
use rpcrdma_dissector::check::Blame;

use crate::check::case::{Case, blind, case};
use crate::check::judging::*;
use crate::check::trace::*;
use crate::synthetic::By::{Client, Server};
use crate::synthetic::rpc::*;

pub(crate) const CASES: &[Case] = &[
    case("read-position-align", |trace, bad| {
        if bad {
            trace.send(Client, &message(MSG, XID, &Lists::reads(&[(70, segment(100))]), &write3(XID, 100)));
            trace.refuse(1);
        } else {
            trace.write_rpc(100, &[(68, segment(100))]);
        }
    }),
    case("read-in-reply", |trace, bad| {
        let lists = if bad { Lists::reads(&[(24, segment(4))]) } else { Lists::default() };
        trace.rpc(&Lists::default(), &null(XID), &lists, &reply(XID, &[]));
    }),
    case("read-in-reply", |trace, bad| {
        trace.send(Client, &null_message());
        trace.send(Server, &message(NOMSG, XID, &Lists::reads(&[(0, segment(24))]), &[]));
        if !bad {
            // Whoever reads a part of it knows what it is.
            trace.read(Client, MEMORY, &reply(XID, &[])[..12]);
        }
    }),
    case("read-position-zero-in-msg", |trace, bad| {
        if bad {
            trace.send(Client, &message(MSG, XID, &Lists::reads(&[(0, segment(40))]), &null(XID)));
            trace.read(Server, MEMORY, &null(XID));
        } else {
            trace.long_call(40, &[]);
        }
        trace.answer();
    }),
    case("read-position-order", |trace, bad| {
        let (stream, data) = ((0, (0xb00, 0x100, 68)), (68, segment(100)));
        let reads = if bad { [data, stream] } else { [stream, data] };
        trace.send(Client, &message(NOMSG, XID, &Lists::reads(&reads), &[]));
        trace.read(Server, (0xb00, 0x100), &write3(XID, 100));
        trace.read(Server, MEMORY, &octets(1, 100));
        trace.send(Server, &message(MSG, XID, &Lists::default(), &write3_reply(XID, 100)));
    }),
    case("read-position-beyond", |trace, bad| {
        if bad {
            trace.send(Client, &message(MSG, XID, &Lists::reads(&[(72, segment(100))]), &write3(XID, 100)));
            trace.refuse(1);
        } else {
            trace.write_rpc(100, &[(68, segment(100))]);
        }
    }),
    blind(
        "read-position-beyond",
        &["xid-mismatch", "read-length", "read-roundup", "ddp-not-eligible", "gss-reduced"],
        |trace, bad| {
            // The Payload stream of a long call is in the Position Zero chunk.
            let (stream, data) = ((0, (0xb00, 0x100, 68)), (if bad { 72 } else { 68 }, segment(100)));
            trace.send(Client, &message(NOMSG, XID, &Lists::reads(&[stream, data]), &[]));
            if bad {
                trace.refuse(1);
            } else {
                trace.read(Server, (0xb00, 0x100), &write3(XID, 100));
                trace.read(Server, MEMORY, &octets(1, 100));
                trace.send(Server, &message(MSG, XID, &Lists::default(), &write3_reply(XID, 100)));
            }
        },
    ),
    Case {
        slug: "read-position-beyond",
        besides: &["read-position-zero-in-msg"],
        not_judged: &[],
        // Part of the Payload stream is inline, and part in the Position Zero chunk.
        make: |trace, bad| {
            let call = write3(XID, 100);
            let (stream, data) = ((0, (0xb00, 0x100, 28)), (if bad { 72 } else { 68 }, segment(100)));
            trace.send(Client, &message(MSG, XID, &Lists::reads(&[stream, data]), &call[..40]));
            trace.read(Server, (0xb00, 0x100), &call[40..]);
            trace.read(Server, MEMORY, &octets(1, 100));
            trace.send(Server, &message(MSG, XID, &Lists::default(), &write3_reply(XID, 100)));
        },
    },
    blind("read-overlap", &["read-length", "ddp-not-eligible"], |trace, bad| {
        // A program that nobody knows, so where its items are is not known either.
        let (one, two) = ((40, segment(100)), (if bad { 136 } else { 140 }, (0xb00, 0x100, 8)));
        let payload = call(XID, [99, 1, 1], &words(&[1, 2, 3]));
        trace.send(Client, &message(MSG, XID, &Lists::reads(&[one, two]), &payload));
        trace.read(Server, MEMORY, &octets(1, 100));
        trace.read(Server, (0xb00, 0x100), &octets(2, 8));
        trace.answer();
    }),
    case("read-length", |trace, bad| {
        trace.write_rpc(100, &[(68, segment(if bad { 96 } else { 100 }))]);
    }),
    case("read-roundup", |trace, bad| {
        trace.write_rpc(101, &[(68, segment(if bad { 104 } else { 101 }))]);
    }),
    case("long-call-roundup", |trace, bad| {
        trace.long_call(if bad { 42 } else { 40 }, &[]);
        trace.answer();
    }),
    Case {
        slug: "long-call-roundup",
        besides: &["read-position-zero-in-msg"],
        not_judged: &[],
        make: |trace, bad| {
            let length = if bad { 42 } else { 40 };
            trace.send(Client, &message(MSG, XID, &Lists::reads(&[(0, segment(length))]), &null(XID)));
            trace.read(Server, MEMORY, &octets(1, length as usize));
            trace.answer();
        },
    },
    case("segment-wraps", |trace, bad| {
        // The last octet of the good one has the last address there is.
        let lists = Lists::writes(&[&[(0xa94, u64::MAX - 99, if bad { 101 } else { 100 })]]);
        let returned = Lists::writes(&[&[(0xa94, u64::MAX - 99, 0)]]);
        trace.rpc(&lists, &read3(XID, 100), &returned, &reply(XID, &words(&[5, 0])));
    }),
    case("segment-empty", |trace, bad| {
        let reads = [(68, segment(100)), (68, (0xb00, 0x100, 0))];
        trace.write_rpc(100, if bad { &reads } else { &reads[..1] });
    }),
];

/// A rule that is broken, the octet, the frame.
type Broken = (&'static str, Option<usize>, u64);

/// An NFSv3 WRITE of 5 octets in a Position Zero Read chunk, its data in a chunk of this many octets at `position`; how
/// often the rules about it were not judged, and what is broken.
fn long_write(position: u32, length: u32, answered: bool) -> (u64, Vec<Broken>) {
    let mut trace = Trace::new();
    let arguments = write3(XID, 5);
    let (rest, data) = ((0xb00, 0, arguments.len() as u32), segment(length));
    trace.send(Client, &message(NOMSG, XID, &Lists::reads(&[(0, rest), (position, data)]), &[]));
    trace.read(Server, (0xb00, 0), &arguments);
    trace.read(Server, MEMORY, &octets(1, length as usize));
    if answered {
        trace.send(Server, &message(MSG, XID, &Lists::default(), &write3_reply(XID, 5)));
    }
    let (found, counts) = judge(&trace.packets);
    let of_arguments = ["read-length", "read-roundup", "ddp-not-eligible", "gss-reduced", "xid-mismatch"];
    let not_judged =
        counts.iter().filter(|count| of_arguments.contains(&count.rule.slug)).map(|count| count.not_judged);
    (not_judged.sum(), found.iter().map(|found| (found.rule.slug, found.offset, found.stamp.frame)).collect())
}

#[test]
fn a_read_chunk_outside_the_arguments_breaks_one_rule() {
    // GETATTR: 44 octets before the handle, which are the last four.
    let getattr = call(XID, [100_003, 3, 1], &words(&[4, 0xfeed]));
    for (position, expected) in [
        (20, &["read-position-beyond"][..]),
        (36, &["read-position-beyond"]),
        (40, &["ddp-not-eligible"]),
        (44, &["ddp-not-eligible"]),
        (52, &["read-position-beyond"]),
    ] {
        let mut inline = Trace::new();
        inline.send(Client, &message(MSG, XID, &Lists::reads(&[(position, segment(4))]), &getattr));
        inline.refuse(1);
        inline.null(0x99);
        let mut found = slugs(&inline.packets);
        found.remove("reply-chunk-missing");
        assert_eq!(found, expected.iter().copied().collect(), "{position}");
    }
    // The same of a long call, by its own length.
    let mut long = Trace::new();
    let reads = [(0, (0xb00, 0, getattr.len() as u32)), (52, segment(4))];
    long.send(Client, &message(NOMSG, XID, &Lists::reads(&reads), &[]));
    long.read(Server, (0xb00, 0), &getattr);
    long.send(Server, &message(MSG, XID, &Lists::default(), &reply(XID, &[words(&[0]), octets(3, 84)].concat())));
    long.null(0x99);
    let mut found = slugs(&long.packets);
    found.remove("read-not-pulled");
    assert_eq!(found, BTreeSet::from(["read-position-beyond"]));
}

#[test]
fn read_chunks_in_a_reply_break_only_their_own_rule() {
    let mut trace = Trace::new();
    let reply = read3_reply_with_integrity(&octets(2, 100));
    trace.rpc(&Lists::default(), &read3_with_integrity(), &Lists::reads(&[(24, segment(4))]), &reply);
    trace.null(0x99);
    assert_eq!(slugs(&trace.packets), BTreeSet::from(["read-in-reply"]));
}

#[test]
fn data_items_of_a_long_call_are_judged_when_answered() {
    // The second entry of the Read list; the call is the sixth packet.
    let (at, call) = (Some(44), 6);
    assert_eq!(long_write(WRITE3_POSITION, 5, true), (0, vec![]));
    assert_eq!(long_write(WRITE3_POSITION, 8, true), (0, vec![("read-roundup", at, call)]));
    assert_eq!(long_write(WRITE3_POSITION, 12, true), (0, vec![("read-length", at, call)]));
    assert_eq!(long_write(WRITE3_POSITION - 4, 5, true), (0, vec![("ddp-not-eligible", at, call)]));
    assert_eq!(long_write(WRITE3_POSITION, 5, false), (4, vec![]));
}

#[test]
fn an_unread_reply_is_a_hazard_until_one_is_read() {
    let provided = |trace: &mut Trace, xid| {
        trace.send(Client, &message(MSG, xid, &Lists::default(), &null(xid)));
        trace.send(Server, &message(NOMSG, xid, &Lists::reads(&[(0, (xid, 0, 24))]), &[]));
    };
    let mut trace = Trace::new();
    provided(&mut trace, XID);
    provided(&mut trace, 8);
    trace.null(0x99);
    let hazard = ("read-in-reply", Severity::Hazard, Blame::Sender);
    assert_eq!(blamed(&trace.packets), [hazard; 2]);
    // It was not left time enough for that.
    assert_eq!(judge_at(&trace.packets, |index| index * 1_000_000).0.len(), 0);
    // The other end says that it has read one, or reads.
    let length = trace.packets.len();
    trace.send(Client, &words(&[8, 1, 32, DONE]));
    assert_eq!(blamed(&trace.packets), []);
    trace.packets.truncate(length);
    trace.read(Client, (8, 0), &reply(8, &[])[..12]);
    trace.null(0x9a);
    assert_eq!(blamed(&trace.packets), []);
}

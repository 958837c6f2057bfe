//! Write chunks and the Reply chunk.

use std::collections::BTreeSet;

use crate::check::case::{Case, Make, blind, case};
use crate::check::judging::*;
use crate::check::trace::*;
use crate::synthetic::By::{Client, Server};
use crate::synthetic::rpc::*;

pub(crate) const CASES: &[Case] = &[
    case("write-list-echo", |trace, bad| {
        trace.read_rpc(100, &[segment(100)], &[(if bad { 0xa95 } else { 0xa94 }, MEMORY.1, 100)]);
    }),
    case("write-length", |trace, bad| {
        let (one, two) = ((0xa94, 0x1000, 60), (0xa95, 0x2000, 40));
        let returned = if bad { [(one.0, one.1, 64), (two.0, two.1, 36)] } else { [one, two] };
        trace.read_rpc(100, &[one, two], &returned);
    }),
    case("write-fill-order", |trace, bad| {
        let (one, two) = ((0xa94, 0x1000), (0xa95, 0x2000));
        let lengths = if bad { [50, 50] } else { [60, 40] };
        let returned = [(one.0, one.1, lengths[0]), (two.0, two.1, lengths[1])];
        trace.read_rpc(100, &[(one.0, one.1, 60), (two.0, two.1, 60)], &returned);
    }),
    case("write-roundup", |trace, bad| {
        trace.read_rpc(101, &[segment(104)], &[segment(if bad { 104 } else { 101 })]);
    }),
    case("write-roundup", |trace, bad| {
        // The returned length is right, and three octets more were written.
        trace.send(Client, &message(MSG, XID, &Lists::writes(&[&[segment(104)]]), &read3(XID, 101)));
        trace.write(MEMORY, &octets(2, if bad { 104 } else { 101 }));
        let results = reply(XID, &read3_results(101));
        trace.send(Server, &message(MSG, XID, &Lists::writes(&[&[segment(101)]]), &results));
    }),
    case("write-fill-order", |trace, bad| {
        // The octets behind the returned ones of the first segment pad nothing.
        let (one, two) = ((0xa94, 0x1000, 60), (0xa95, 0x2000, 60));
        trace.send(Client, &message(MSG, XID, &Lists::writes(&[&[one, two]]), &read3(XID, 98)));
        trace.write((0xa94, 0x1000), &octets(2, 60));
        trace.write((0xa95, 0x2000), &octets(2, 40));
        let lengths = if bad { [58, 40] } else { [60, 40] };
        let returned = Lists::writes(&[&[(one.0, one.1, lengths[0]), (two.0, two.1, lengths[1])]]);
        trace.send(Server, &message(MSG, XID, &returned, &reply(XID, &read3_results(lengths[0] + lengths[1]))));
    }),
    case("write-roundup", |trace, bad| {
        // The padding is in a segment of its own.
        let (data, rest) = ((0xa94, 0x1000, 101), (0xa95, 0x2000, 3));
        trace.send(Client, &message(MSG, XID, &Lists::writes(&[&[data, rest]]), &read3(XID, 101)));
        trace.write((0xa94, 0x1000), &octets(2, 101));
        if bad {
            trace.write((0xa95, 0x2000), &[0; 3]);
        }
        let returned = Lists::writes(&[&[data, (0xa95, 0x2000, 0)]]);
        trace.send(Server, &message(MSG, XID, &returned, &reply(XID, &read3_results(101))));
    }),
    case("write-unwritten", |trace, bad| {
        let lists = Lists::writes(&[&[segment(100)]]);
        trace.send(Client, &message(MSG, XID, &lists, &read3(XID, 100)));
        // The second half comes first.
        trace.write((MEMORY.0, MEMORY.1 + 50), &octets(2, 50));
        trace.write(MEMORY, &octets(2, if bad { 49 } else { 50 }));
        trace.send(Server, &message(MSG, XID, &lists, &reply(XID, &read3_results(100))));
    }),
    case("write-unwritten", |trace, bad| {
        // As many octets as are returned, some of them twice.
        let (one, two) = ((0xa94, 0x1000, 60), (0xa95, 0x2000, 40));
        let lists = Lists::writes(&[&[one, two]]);
        trace.send(Client, &message(MSG, XID, &lists, &read3(XID, 100)));
        trace.write((0xa94, 0x1000), &octets(2, 60));
        trace.write((0xa95, 0x2000 + if bad { 0 } else { 20 }), &octets(2, 20));
        trace.write((0xa95, 0x2000), &octets(2, 20));
        trace.send(Server, &message(MSG, XID, &lists, &reply(XID, &read3_results(100))));
    }),
    blind("write-unwritten", &["xid-mismatch", "write-roundup", "ddp-not-eligible"], |trace, bad| {
        // Reduced data is counted in the Reply chunk's length.
        let (data, rest) = ((0xa95, 0x2000, 100), 44);
        let lists = |length| Lists { writes: vec![vec![data]], ..Lists::reply(&[segment(length)]) };
        trace.send(Client, &message(MSG, XID, &lists(200), &read3(XID, 100)));
        trace.write((0xa95, 0x2000), &octets(2, 100));
        trace.write(MEMORY, &reply(XID, &read3_results(100)));
        trace.send(Server, &message(NOMSG, XID, &lists(if bad { rest + 100 } else { rest }), &[]));
    }),
    blind("write-unwritten", &["xid-mismatch", "read-not-pulled"], |trace, bad| {
        // The Reply chunk comes after a Read chunk in the header.
        let whole = write3_reply(XID, 100);
        let lists = Lists { reads: vec![(68, segment(100))], ..Lists::reply(&[(0xb00, 0x100, 200)]) };
        trace.send(Client, &message(MSG, XID, &lists, &write3(XID, 100)));
        trace.read(Server, MEMORY, &octets(1, 100));
        trace.write((0xb00, 0x100), &whole[..whole.len() - if bad { 4 } else { 0 }]);
        let returned = Lists::reply(&[(0xb00, 0x100, whole.len() as u32)]);
        trace.send(Server, &message(NOMSG, XID, &returned, &[]));
    }),
    case("write-unused-form", |trace, bad| {
        let returned = if bad { Lists::writes(&[&[]]) } else { Lists::writes(&[&[segment(0)]]) };
        let offered = Lists::writes(&[&[segment(100)]]);
        trace.rpc(&offered, &read3(XID, 100), &returned, &reply(XID, &words(&[5, 0])));
    }),
    case("write-ignored", |trace, bad| {
        if bad {
            let (offered, returned) = (Lists::writes(&[&[segment(100)]]), Lists::writes(&[&[segment(0)]]));
            trace.rpc(&offered, &read3(XID, 100), &returned, &read3_reply(XID, &octets(2, 100)));
        } else {
            trace.read_rpc(100, &[segment(100)], &[segment(100)]);
        }
    }),
    case("write-ignored", |trace, bad| {
        // Under RPCSEC_GSS integrity nothing may be reduced, and the chunk comes back unused.
        let (offered, returned) = (Lists::writes(&[&[segment(100)]]), Lists::writes(&[&[segment(0)]]));
        let data = octets(2, 100);
        let (call, reply) = if bad {
            (read3(XID, 100), read3_reply(XID, &data))
        } else {
            (read3_with_integrity(), read3_reply_with_integrity(&data))
        };
        trace.rpc(&offered, &call, &returned, &reply);
    }),
    case("write-ignored", |trace, bad| {
        // PUTFH, a READ at the end of the file and one of 100 octets that are inline: where there is one chunk, it may be
        // that of the first READ (RFC 8267 section 6.4.1).
        let read = words(&[25, 0, 0, 0, 0, 0, 0, 100]);
        let arguments = [words(&[0, 0, 3, 22, 4, 0xfeed]), read.clone(), read].concat();
        let results = [words(&[0, 0, 3, 22, 0, 25, 0, 1, 0, 25, 0, 0, 100]), octets(2, 100)].concat();
        let chunks = [vec![segment(100)], vec![(0xb00, 0x100, 100)]];
        let unused = [vec![segment(0)], vec![(0xb00, 0x100, 0)]];
        let lists =
            |chunks: &[Vec<Segment>]| Lists { writes: chunks[..if bad { 2 } else { 1 }].to_vec(), ..Lists::default() };
        let call = call(XID, [100_003, 4, 1], &arguments);
        trace.rpc(&lists(&chunks), &call, &lists(&unused), &reply(XID, &results));
    }),
    case("write-empty-respected", |trace, bad| {
        let returned = if bad { Lists::writes(&[&[segment(0)]]) } else { Lists::writes(&[&[]]) };
        trace.rpc(&Lists::writes(&[&[]]), &read3(XID, 100), &returned, &read3_reply(XID, &octets(2, 100)));
    }),
    case("write-empty-respected", |trace, bad| {
        // PUTFH and two READs, of which the first is to stay inline; or it is in the chunk of the second, which is inline.
        let read = words(&[25, 0, 0, 0, 0, 0, 0, 100]);
        let arguments = [words(&[0, 0, 3, 22, 4, 0xfeed]), read.clone(), read].concat();
        let (head, next) = (words(&[0, 0, 3, 22, 0, 25, 0, 0, 100]), words(&[25, 0, 1, 100]));
        let inline = octets(3, 100);
        let results = if bad { [head, next, inline].concat() } else { [head, inline, next].concat() };
        let lists = Lists::writes(&[&[], &[segment(100)]]);
        trace.send(Client, &message(MSG, XID, &lists, &call(XID, [100_003, 4, 1], &arguments)));
        trace.write(MEMORY, &octets(2, 100));
        trace.send(Server, &message(MSG, XID, &lists, &reply(XID, &results)));
    }),
    case("write-empty-respected", |trace, bad| {
        // The empty chunk has segments.
        let (empty, full) = ((0xb00, 0x100, 0), segment(100));
        let lists = Lists::writes(&[&[empty], &[full]]);
        trace.send(Client, &message(MSG, XID, &lists, &read3(XID, 100)));
        if bad {
            trace.write(MEMORY, &octets(2, 100));
            trace.send(Server, &message(MSG, XID, &lists, &reply(XID, &read3_results(100))));
        } else {
            let unused = Lists::writes(&[&[empty], &[segment(0)]]);
            trace.send(Server, &message(MSG, XID, &unused, &read3_reply(XID, &octets(2, 100))));
        }
    }),
    case("reply-chunk-echo", |trace, bad| {
        let returned = if bad { Lists::default() } else { Lists::reply(&[segment(0)]) };
        trace.rpc(&Lists::reply(&[segment(100)]), &null(XID), &returned, &reply(XID, &[]));
    }),
    case("reply-chunk-in-msg", |trace, bad| {
        let returned = Lists::reply(&[segment(if bad { 24 } else { 0 })]);
        trace.send(Client, &message(MSG, XID, &Lists::reply(&[segment(100)]), &null(XID)));
        trace.write(MEMORY, &reply(XID, &[]));
        trace.send(Server, &message(MSG, XID, &returned, &reply(XID, &[])));
    }),
    case("reply-chunk-unused-nomsg", |trace, bad| trace.long_reply(if bad { 0 } else { 24 })),
    case("long-reply-roundup", |trace, bad| trace.long_reply(if bad { 26 } else { 24 })),
    Case {
        slug: "long-reply-roundup",
        besides: &["reply-chunk-in-msg"],
        not_judged: &[],
        make: |trace, bad| {
            let length = if bad { 26 } else { 24 };
            trace.send(Client, &message(MSG, XID, &Lists::reply(&[segment(100)]), &null(XID)));
            trace.write(MEMORY, &octets(1, length));
            let returned = Lists::reply(&[segment(length as u32)]);
            trace.send(Server, &message(MSG, XID, &returned, &reply(XID, &[])));
        },
    },
    case("ddp-not-eligible", |trace, bad| {
        if bad {
            // GETATTR, with the file handle moved out.
            let payload = call(XID, [100_003, 3, 1], &words(&[4]));
            trace.send(Client, &message(MSG, XID, &Lists::reads(&[(44, segment(4))]), &payload));
            trace.refuse(1);
        } else {
            trace.write_rpc(4, &[(68, segment(4))]);
        }
    }),
    case("ddp-not-eligible", |trace, bad| {
        // GETATTR, with the attributes (fattr3) in a Write chunk, and only the status inline.
        let attributes = octets(3, 84);
        let results = if bad { words(&[0]) } else { [words(&[0]), attributes.clone()].concat() };
        trace.result_in_chunk(&call(XID, [100_003, 3, 1], &words(&[4, 0xfeed])), &results, &attributes, bad);
    }),
    case("ddp-not-eligible", |trace, bad| {
        // READDIR, with the entries in a Write chunk.
        let before = words(&[0, 0, 9, 9]);
        let entries = words(&[1, 0, 1, 1, 0x6100_0000, 0, 1, 0, 1]);
        let results = if bad { before } else { [before, entries.clone()].concat() };
        trace.result_in_chunk(
            &call(XID, [100_003, 3, 16], &words(&[4, 0xfeed, 0, 0, 0, 0, 100])),
            &results,
            &entries,
            bad,
        );
    }),
    case("ddp-not-eligible", |trace, bad| {
        // PUTFH and READ in a Write chunk, GETATTR whose attributes are in another.
        let arguments = words(&[0, 0, 3, 22, 4, 0xfeed, 25, 0, 0, 0, 0, 0, 0, 100, 9, 1, 2]);
        let results = words(&[0, 0, 3, 22, 0, 25, 0, 1, 100, 9, 0, 1, 2, 8]);
        let (data, attributes) = ((0xa94, 0x1000, 100), (0xa95, 0x2000, 8));
        let offered = Lists::writes(&[&[data], &[attributes]]);
        trace.send(Client, &message(MSG, XID, &offered, &call(XID, [100_003, 4, 1], &arguments)));
        trace.write((0xa94, 0x1000), &octets(2, 100));
        trace.write((0xa95, 0x2000), &[7; 8]);
        let unused = (0xa95, 0x2000, 0);
        let returned = Lists::writes(&[&[data], &[if bad { attributes } else { unused }]]);
        let results = if bad { results } else { [results, vec![7; 8]].concat() };
        trace.send(Server, &message(MSG, XID, &returned, &reply(XID, &results)));
    }),
    case("ddp-not-eligible", |trace, bad| {
        // A call that is refused (PROC_UNAVAIL) has no results.
        let refused = words(&[XID, 1, 0, 0, 0, 3]);
        trace.send(Client, &message(MSG, XID, &Lists::writes(&[&[segment(100)]]), &read3(XID, 100)));
        trace.write(MEMORY, &octets(2, 100));
        let returned = Lists::writes(&[&[segment(if bad { 100 } else { 0 })]]);
        trace.send(Server, &message(MSG, XID, &returned, &refused));
    }),
    case("gss-reduced", |trace, bad| {
        let data = octets(2, 100);
        if bad {
            let lists = Lists::writes(&[&[segment(100)]]);
            trace.send(Client, &message(MSG, XID, &lists, &read3_with_integrity()));
            trace.write(MEMORY, &data);
            trace.send(Server, &message(MSG, XID, &lists, &read3_reply_with_integrity(&[])));
        } else {
            let reply = read3_reply_with_integrity(&data);
            trace.rpc(&Lists::default(), &read3_with_integrity(), &Lists::default(), &reply);
        }
    }),
];

/// Findings name the wrong octets, and the offset of their chunk in the header.
#[test]
fn a_chunk_finding_names_its_offset_and_wrong_octets() {
    let cases: [(Make, &str, usize, &str); 10] = [
        (
            |trace| {
                // The call has another Write chunk, which is not used.
                let (used, unused) = (segment(104), (0xb00, 0x100, 100));
                trace.send(Client, &message(MSG, XID, &Lists::writes(&[&[used], &[unused]]), &read3(XID, 101)));
                trace.write(MEMORY, &octets(2, 104));
                let returned = Lists::writes(&[&[used], &[(0xb00, 0x100, 0)]]);
                trace.send(Server, &message(MSG, XID, &returned, &reply(XID, &read3_results(101))));
            },
            "write-roundup",
            28,
            "Write chunk 0 returned 104 octets for an item of 101",
        ),
        (
            |trace| {
                let mut results = read3_results(96);
                results[16..20].copy_from_slice(&100u32.to_be_bytes());
                trace.send(Client, &message(MSG, XID, &Lists::writes(&[&[segment(104)]]), &read3(XID, 104)));
                trace.write(MEMORY, &octets(2, 96));
                trace.send(Server, &message(MSG, XID, &Lists::writes(&[&[segment(96)]]), &reply(XID, &results)));
            },
            "write-roundup",
            28,
            "Write chunk 0 returned 96 octets, and its item has 100",
        ),
        (
            |trace| {
                // The padding is in the segment of the data, and nothing is in the one behind it.
                let (data, rest) = ((0xa94, 0x1000), (0xa95, 0x2000));
                let lists = |data_length, rest_length| {
                    Lists::writes(&[&[(data.0, data.1, data_length), (rest.0, rest.1, rest_length)]])
                };
                trace.send(Client, &message(MSG, XID, &lists(104, 60), &read3(XID, 101)));
                trace.write(data, &octets(2, 104));
                trace.send(Server, &message(MSG, XID, &lists(101, 0), &reply(XID, &read3_results(101))));
            },
            "write-roundup",
            28,
            "Write chunk 0: octets 101 to 103 were written, which pad the item before them",
        ),
        (
            |trace| {
                let lists = Lists::writes(&[&[segment(100)]]);
                trace.send(Client, &message(MSG, XID, &lists, &read3(XID, 100)));
                trace.write(MEMORY, &octets(2, 90));
                trace.send(Server, &message(MSG, XID, &lists, &reply(XID, &read3_results(100))));
            },
            "write-unwritten",
            28,
            "Write chunk 0: octets 90 to 99 of the 100 returned were not written",
        ),
        (
            |trace| {
                // Nothing is in a Reply chunk that could be counted twice.
                let lists = Lists::writes(&[&[segment(100)]]);
                trace.rpc(&lists, &read3(XID, 100), &lists, &reply(XID, &read3_results(100)));
            },
            "write-unwritten",
            28,
            "Write chunk 0: octets 0 to 99 of the 100 returned were not written",
        ),
        (
            |trace| {
                let lists =
                    |length| Lists { writes: vec![vec![(0xa95, 0x2000, 100)]], ..Lists::reply(&[segment(length)]) };
                trace.send(Client, &message(MSG, XID, &lists(200), &read3(XID, 100)));
                trace.write((0xa95, 0x2000), &octets(2, 100));
                trace.write(MEMORY, &reply(XID, &read3_results(100)));
                trace.send(Server, &message(NOMSG, XID, &lists(144), &[]));
            },
            "write-unwritten",
            56,
            "Reply chunk: octets 44 to 143 of the 144 returned were not written, as many as were reduced",
        ),
        (
            |trace| {
                trace.send(Client, &message(MSG, XID, &Lists::reads(&[(68, segment(100))]), &write3(XID, 100)));
                trace.read(Server, MEMORY, &octets(1, 60));
                trace.send(Server, &message(MSG, XID, &Lists::default(), &write3_reply(XID, 100)));
            },
            "read-not-pulled",
            0,
            "octets 60 to 99 of the Read chunk at Position 68 were not read, and the call succeeded",
        ),
        (
            |trace| trace.write_rpc(100, &[(68, segment(96))]),
            "read-length",
            20,
            "the chunk at Position 68 has 96 octets, its item 100",
        ),
        (
            // The Position Zero Read chunk has two segments.
            |trace| {
                let stream = write3(XID, 101);
                let reads = [(0, (0xb00, 0x100, 40)), (0, (0xb01, 0x200, 28)), (68, segment(104))];
                trace.send(Client, &message(NOMSG, XID, &Lists::reads(&reads), &[]));
                trace.read(Server, (0xb00, 0x100), &stream[..40]);
                trace.read(Server, (0xb01, 0x200), &stream[40..]);
                trace.read(Server, MEMORY, &octets(1, 104));
                trace.send(Server, &message(MSG, XID, &Lists::default(), &write3_reply(XID, 101)));
            },
            "read-roundup",
            68,
            "104 octets at Position 68 for an item of 101",
        ),
        (
            // The second of two NFSv4 WRITEs: before it is an item that was reduced, with its padding.
            |trace| write_twice(trace, (101, 101), (96, 100)),
            "read-length",
            44,
            "the chunk at Position 240 has 96 octets, its item 100",
        ),
    ];
    for (make, slug, offset, message) in cases {
        let mut trace = Trace::new();
        make(&mut trace);
        trace.null(0x99);
        assert_eq!(said(&trace.packets), [(slug, Some(offset), message.to_owned())]);
    }
}

/// PUTFH and two WRITEs, each with its data in a Read chunk: the length of the chunk, and of the item.
fn write_twice(trace: &mut Trace, first: (u32, u32), second: (u32, u32)) {
    let write = |(_, item)| words(&[38, 0, 0, 0, 0, 0, 0, 2, item]);
    let arguments = [words(&[0, 0, 3, 22, 4, 0xfeed]), write(first), write(second)].concat();
    // The first item has its padding behind it.
    let place = 100 + first.1.next_multiple_of(4) + 36;
    let reads = Lists::reads(&[(100, segment(first.0)), (place, (0xb00, 0x100, second.0))]);
    trace.send(Client, &message(MSG, XID, &reads, &call(XID, [100_003, 4, 1], &arguments)));
    trace.read(Server, MEMORY, &octets(1, first.0 as usize));
    trace.read(Server, (0xb00, 0x100), &octets(2, second.0 as usize));
    let written = |(_, item)| words(&[38, 0, item, 2, 9, 9]);
    let results = [words(&[0, 0, 3, 22, 0]), written(first), written(second)].concat();
    trace.send(Server, &message(MSG, XID, &Lists::default(), &reply(XID, &results)));
}

/// PUTFH and two READs of 100 octets: which of them are in their Write chunk.
fn read_twice(trace: &mut Trace, in_chunk: [bool; 2]) {
    let read = words(&[25, 0, 0, 0, 0, 0, 0, 100]);
    let arguments = [words(&[0, 0, 3, 22, 4, 0xfeed]), read.clone(), read].concat();
    let chunks = [(0xa94, 0x1000), (0xb00, 0x2000)];
    let lists = |lengths: [u32; 2]| {
        let writes = chunks.iter().zip(lengths).map(|((handle, offset), length)| vec![(*handle, *offset, length)]);
        Lists { writes: writes.collect(), ..Lists::default() }
    };
    trace.send(Client, &message(MSG, XID, &lists([100; 2]), &call(XID, [100_003, 4, 1], &arguments)));
    let mut results = words(&[0, 0, 3, 22, 0]);
    for (memory, is_in_chunk) in chunks.into_iter().zip(in_chunk) {
        results.extend(words(&[25, 0, 1, 100]));
        if is_in_chunk {
            trace.write(memory, &octets(2, 100));
        } else {
            results.extend(octets(3, 100));
        }
    }
    let returned = lists(in_chunk.map(|is_in_chunk| if is_in_chunk { 100 } else { 0 }));
    trace.send(Server, &message(MSG, XID, &returned, &reply(XID, &results)));
}

#[test]
fn each_inline_result_ignores_the_next_write_chunk() {
    for (in_chunk, expected) in [
        ([true, true], &[][..]),
        ([true, false], &[(1, 52)]),
        ([false, true], &[(0, 28)]),
        ([false; 2], &[(0, 28), (1, 52)]),
    ] {
        let mut trace = Trace::new();
        read_twice(&mut trace, in_chunk);
        trace.null(0x99);
        let expected = expected.iter().map(|(chunk, offset)| {
            (
                "write-ignored",
                Some(*offset),
                format!("100 octets inline, although Write chunk {chunk} was provided for them"),
            )
        });
        assert_eq!(said(&trace.packets), Vec::from_iter(expected), "{in_chunk:?}");
    }
}

/// A segment behind the data that was not written is no padding, wherever it begins.
#[test]
fn a_segment_in_which_nothing_was_written_has_no_padding() {
    let lists = |lengths: [u32; 2]| Lists::writes(&[&[(0xa94, 0x1000, lengths[0]), (0xa95, 0x2000, lengths[1])]]);
    let mut trace = Trace::new();
    trace.send(Client, &message(MSG, XID, &lists([104, 60]), &read3(XID, 101)));
    trace.write((0xa94, 0x1000), &octets(2, 101));
    trace.send(Server, &message(MSG, XID, &lists([101, 0]), &reply(XID, &read3_results(101))));
    trace.null(0x99);
    assert_eq!(said(&trace.packets), []);
}

#[test]
fn a_write_chunk_of_wrong_length_breaks_one_rule() {
    let mut trace = Trace::new();
    let mut results = read3_results(96);
    results[16..20].copy_from_slice(&100u32.to_be_bytes());
    trace.send(Client, &message(MSG, XID, &Lists::writes(&[&[segment(104)]]), &read3(XID, 104)));
    trace.write(MEMORY, &octets(2, 96));
    trace.send(Server, &message(MSG, XID, &Lists::writes(&[&[segment(96)]]), &reply(XID, &results)));
    assert_eq!(slugs(&trace.packets), BTreeSet::from(["write-roundup"]));
    assert_eq!(not_judged(&trace.packets, "ddp-not-eligible"), 0);
}

/// The READ has an empty Write chunk and another one, and neither is used.
#[test]
fn results_that_end_early_use_no_later_chunk() {
    let lists = |length| Lists::writes(&[&[], &[segment(length)]]);
    let mut trace = Trace::new();
    trace.rpc(&lists(100), &read3(XID, 100), &lists(0), &reply(XID, &words(&[0, 0, 100])));
    trace.null(0x99);
    assert_eq!(not_judged(&trace.packets, "write-empty-respected"), 0);
}

/// The READ has an empty Write chunk, and its data is in the next one; but its results end before the length of the data, so
/// they are damaged however they are read.
#[test]
fn results_that_end_early_skip_no_empty_chunk() {
    let lists = Lists::writes(&[&[], &[segment(100)]]);
    let mut trace = Trace::new();
    trace.send(Client, &message(MSG, XID, &lists, &read3(XID, 100)));
    trace.write(MEMORY, &octets(2, 100));
    let results = read3_results(100);
    trace.send(Server, &message(MSG, XID, &lists, &reply(XID, &results[..results.len() - 4])));
    trace.null(0x99);
    assert!(!slugs(&trace.packets).contains("write-empty-respected"));
    assert_eq!(not_judged(&trace.packets, "write-empty-respected"), 1);
}

/// An implementation lets the Write chunk begin with the length of the link, so that the end of the link, with its padding,
/// stays in place of that.
#[test]
fn only_impossible_link_lengths_are_taken_for_link_text() {
    // PUTFH and READLINK or READ.
    let compound =
        |arguments: &[u32]| call(XID, [100_003, 4, 1], &words(&[&[0, 0, 2, 22, 4, 0xfeed], arguments].concat()));
    let readlink = compound(&[27]);
    let link = |word| words(&[0, 0, 2, 22, 0, 27, 0, word]);
    let read = |word| words(&[0, 0, 2, 22, 0, 25, 0, 1, word]);
    // Octets that are returned of a chunk of 100, and the word in place of their number.
    for (call, results, length, word, is_end) in [
        // "ij" and two octets of padding.
        (&readlink, link(0x696a_0000), 10, 0x696a_0000, true),
        (&readlink, link(0x696a_6000), 10, 0x696a_6000, false),
        (&readlink, link(101), 12, 101, true),
        (&readlink, link(100), 12, 100, false),
        (&readlink, link(99), 12, 99, false),
        (&compound(&[25, 0, 0, 0, 0, 0, 0, 100]), read(0x696a_0000), 12, 0x696a_0000, false),
    ] {
        let mut trace = Trace::new();
        trace.result_in_chunk(call, &results, &octets(2, length), true);
        trace.null(0x99);
        let message = if is_end {
            format!(
                "Write chunk 0 returned {length} octets, and {word:#010x} is in place of the link's length, as if the \
                 chunk began with that"
            )
        } else {
            format!("Write chunk 0 returned {length} octets, and its item has {word}")
        };
        assert_eq!(said(&trace.packets), [("write-roundup", Some(28), message)]);
    }
}

/// Results that end early, of a COMPOUND in which a READ follows: the Write chunk may be for that.
#[test]
fn an_unreached_item_of_a_write_chunk_is_not_judged() {
    let arguments = words(&[0, 0, 3, 22, 4, 0xfeed, 9, 1, 2, 25, 0, 0, 0, 0, 0, 0, 100]);
    let before = &[0, 0, 3, 22, 0, 9, 0, 1, 2, 8];
    // Within GETATTR, and within READ, before its item.
    for results in [words(before), [words(before), words(&[7, 7, 25, 0, 1])].concat()] {
        let mut trace = Trace::new();
        trace.result_in_chunk(&call(XID, [100_003, 4, 1], &arguments), &results, &octets(2, 100), true);
        let (found, counts) = judge(&trace.packets);
        assert!(found.is_empty(), "{found:?}");
        assert_eq!(counts.iter().find(|count| count.rule.slug == "ddp-not-eligible").unwrap().not_judged, 1);
    }
}

/// A known deviation is one form of a finding, not every finding of its rule.
#[test]
fn only_one_form_of_a_finding_is_a_deviation() {
    let mut trace = Trace::new();
    trace.send(Client, &patched(null_message(), 12, 7));
    trace.null(0x99);
    let found = judge(&trace.packets).0;
    let answer = found.iter().find(|found| found.rule.slug == "answer").unwrap();
    assert!(answer.accepted_deviation().is_none(), "{answer:?}");
}

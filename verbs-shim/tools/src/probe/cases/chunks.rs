//! Chunks of a valid call: each shape of the lists, besides a NULL call.

use crate::probe::case::{
    About, Case, OF_NO_SEGMENTS, Outcome, Outcomes, Piece, REPLY, UNSPECIFIED, Usage, Verdict, WRITABLE,
};
use Piece::{Fixed, Null, NullIn, Segment, Words};

const MSG: Piece = Fixed(0);
const NOMSG: Piece = Fixed(1);
const NO_CHUNKS: Piece = Words(&[0, 0, 0]);
const ECHO: About = About::rule("write-list-echo");
const REPLY_CHUNK: About = About::rule("reply-chunk-echo");
const LONG: About = About::section("nomsg-empty", "RFC 8166 3.5.3");

const fn case(name: &'static str, about: About, send: &'static [Piece], asks: Outcomes) -> Case {
    Case::new(name, about, send, asks)
}

/// Section 4.5.2 says SHOULD. A procedure without arguments may accept unexpected ones.
const MISPLACED: Outcomes = &[
    (Outcome::GarbageArgs, Verdict::Conforms),
    (Outcome::Reply, Verdict::NotJudged),
    (Outcome::ErrChunk, Verdict::Hazard),
    (Outcome::Silence, Verdict::Hazard),
    (Outcome::Disconnect, Verdict::Hazard),
];

pub(super) const CASES: &[Case] = &[
    case("write-chunk", ECHO, &[MSG, Words(&[0, 1, 1]), WRITABLE, Words(&[0, 0]), Null], REPLY),
    case("write-chunk-of-no-segments", ECHO, &[MSG, Words(&[0, 1, 0, 0, 0]), Null], OF_NO_SEGMENTS),
    case(
        "write-chunk-of-16-segments",
        ECHO,
        &[
            MSG,
            Words(&[0, 1, 16]),
            WRITABLE,
            WRITABLE,
            WRITABLE,
            WRITABLE,
            WRITABLE,
            WRITABLE,
            WRITABLE,
            WRITABLE,
            WRITABLE,
            WRITABLE,
            WRITABLE,
            WRITABLE,
            WRITABLE,
            WRITABLE,
            WRITABLE,
            WRITABLE,
            Words(&[0, 0]),
            Null,
        ],
        REPLY,
    ),
    case(
        "write-chunk-of-odd-lengths",
        ECHO,
        &[
            MSG,
            Words(&[0, 1, 3]),
            Segment(Usage::Write, 1),
            Segment(Usage::Write, 3),
            Segment(Usage::Write, 7),
            Words(&[0, 0]),
            Null,
        ],
        REPLY,
    ),
    case("reply-chunk", REPLY_CHUNK, &[MSG, Words(&[0, 0, 1, 1]), WRITABLE, Null], REPLY),
    case("reply-chunk-of-no-segments", REPLY_CHUNK, &[MSG, Words(&[0, 0, 1, 0]), Null], OF_NO_SEGMENTS),
    case("reply-chunk-of-2-segments", REPLY_CHUNK, &[MSG, Words(&[0, 0, 1, 2]), WRITABLE, WRITABLE, Null], REPLY),
    case(
        "write-and-reply-chunk",
        REPLY_CHUNK,
        &[MSG, Words(&[0, 1, 1]), WRITABLE, Words(&[0, 1, 1]), WRITABLE, Null],
        REPLY,
    ),
    case("long-call", LONG, &[NOMSG, Words(&[1, 0]), NullIn(0, 1), NO_CHUNKS], REPLY),
    case(
        "long-call-of-2-segments",
        LONG,
        &[NOMSG, Words(&[1, 0]), NullIn(0, 2), Words(&[1, 0]), NullIn(1, 2), NO_CHUNKS],
        REPLY,
    ),
    case(
        "long-call-with-reply-chunk",
        LONG,
        &[NOMSG, Words(&[1, 0]), NullIn(0, 1), Words(&[0, 0, 1, 1]), WRITABLE],
        REPLY,
    ),
    case(
        "position-unaligned",
        About::rule("read-position-align"),
        &[MSG, Words(&[1, 42]), Segment(Usage::Read, 64), NO_CHUNKS, Null],
        UNSPECIFIED,
    ),
    case(
        "position-beyond",
        About::section("read-position-beyond", "RFC 8166 4.5.2"),
        &[MSG, Words(&[1, 4096]), Segment(Usage::Read, 64), NO_CHUNKS, Null],
        MISPLACED,
    ),
    case(
        "segment-wraps",
        About::rule("segment-wraps"),
        &[MSG, Words(&[1, 40, 7, 64, u32::MAX, 0xffff_fff0]), NO_CHUNKS, Null],
        UNSPECIFIED,
    ),
    case(
        "foreign-handle",
        About::section("rdma-read-bounds", "RFC 8166 4.4, 4.5.3"),
        &[NOMSG, Words(&[1, 0, 0x0bad_0001, 40, 0x100, 0]), NO_CHUNKS],
        UNSPECIFIED,
    ),
    case(
        "memory-not-readable",
        About::section("rdma-read-bounds", "RFC 8166 4.4, 4.5.3"),
        &[NOMSG, Words(&[1, 0]), Segment(Usage::Write, 64), NO_CHUNKS],
        UNSPECIFIED,
    ),
];

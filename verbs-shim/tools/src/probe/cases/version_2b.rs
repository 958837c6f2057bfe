//! Version 2 in the wire format of drafts -03 to -07. Sections are from draft -07.

use rpcrdma::v2::{ErrorCode, Family};
use rpcrdma_verbs::Version;

use crate::probe::case::{
    About, BAD_PROPVAL, BAD_XDR, Case, ERR_VERS, INVAL_CONT, INVAL_HTYPE, OF_NO_SEGMENTS_V2, Opening, Outcome,
    Outcomes, Piece, REPLY, REPLY_OR_WRITE_CHUNKS, SILENCE, Usage, Verdict, WRITABLE,
};
use Piece::{Fixed, FixedOfAnother, FixedOfNone, Next, Null, NullIn, NullOfAnother, OfVersion, PartOfNull, Words};

const VERS_MISMATCH: Outcomes = &[(Outcome::Error(ErrorCode::VERS_MISMATCH), Verdict::Conforms)];
/// The message is forbidden, but the reaction is not specified.
const NOT_PARSED: Outcomes =
    &[(Outcome::Error(ErrorCode::BAD_XDR), Verdict::Conforms), (Outcome::Reply, Verdict::Hazard)];

const INLINE: Piece = Fixed(10);
const EXTERNAL: Piece = Fixed(8);
const MIDDLE: Piece = Fixed(9);
/// No handle to invalidate, no chunks.
const PLAIN: Piece = Words(&[0, 0, 0, 0]);

const CALL: About = About::section("v2-no-payload", "version two -07 6.3.7");
const LONG: About = About::section("v2-external", "version two -07 6.3.5");
const SHORT: About = About::section("header-short", "version two -07 7");
const VERSION: About = About::section("version", "version two -07 7.1.1");
const TYPE: About = About::section("v2-htype", "version two -07 7.1.3");
const FLAG: About = About::section("list-flag", "version two -07 7.2.1; RFC 4506 4.19");
const TRUNCATED: About = About::section("list-truncated", "version two -07 7.2.1");
const PARSED: About = About::section("v2-no-payload", "version two -07 7.2.1");
const SEQUENCE: About = About::section("v2-continuation", "version two -07 6.3.6");
const PROPERTIES: About = About::section("v2-continuation", "version two -07 6.3.3");
const PROPERTY: About = About::section("v2-property", "version two -07 5.1");
const FROM_REQUESTER: About = About::section("error-from-requester", "version two -07 7");
const ECHO: About = About::section("write-list-echo", "version two -07 6.3.10");
const REPLY_CHUNK: About = About::section("reply-chunk-echo", "version two -07 6.3.10");
const GRANT: About = About::rule("v2-grant-xid");

/// The properties begin, and continue in the next message.
const MORE_TO_COME: Opening = Opening::Send(&[FixedOfNone(6), Words(&[1, 2, 4, 4096])]);

const fn case(name: &'static str, about: About, send: &'static [Piece], asks: Outcomes) -> Case {
    Case::new(name, about, send, asks).for_version(Version::Two(Family::B))
}

/// A case about the first message of the connection.
const fn first(name: &'static str, about: About, send: &'static [Piece], asks: Outcomes) -> Case {
    case(name, about, send, asks).after(Opening::Nothing)
}

pub(super) const CASES: &[Case] = &[
    case("null", CALL, &[INLINE, PLAIN, Null], REPLY),
    case("short-4", SHORT, &[Piece::Xid], SILENCE),
    case("short-12", SHORT, &[Piece::Xid, Words(&[2, 0])], SILENCE),
    case("version-0", VERSION, &[OfVersion(0), PLAIN, Null], ERR_VERS),
    case("version-3", VERSION, &[OfVersion(3), PLAIN, Null], ERR_VERS),
    case("version-most", VERSION, &[OfVersion(u32::MAX), PLAIN, Null], ERR_VERS),
    first("version-3-first", VERSION, &[OfVersion(3), PLAIN, Null], ERR_VERS),
    case(
        "version-1",
        About::section("version", "version two -07 7.1.2"),
        &[OfVersion(1), Words(&[0, 0, 0]), Null],
        VERS_MISMATCH,
    ),
    case("header-type-0", TYPE, &[Fixed(0), PLAIN, Null], INVAL_HTYPE),
    case("header-type-3", TYPE, &[Fixed(3), PLAIN, Null], INVAL_HTYPE),
    case("header-type-14", TYPE, &[Fixed(14), PLAIN, Null], INVAL_HTYPE),
    case("header-type-most", TYPE, &[Fixed(u32::MAX), PLAIN, Null], INVAL_HTYPE),
    case("error-of-unknown-code", FROM_REQUESTER, &[Fixed(4), Words(&[99])], SILENCE),
    case("flag-call-2", FLAG, &[EXTERNAL, Words(&[0, 2, 0, 0, 0])], BAD_XDR),
    case("flag-read-2", FLAG, &[INLINE, Words(&[0, 2, 0, 0]), Null], BAD_XDR),
    case("flag-write-2", FLAG, &[INLINE, Words(&[0, 0, 2, 0]), Null], BAD_XDR),
    case("flag-reply-2", FLAG, &[INLINE, Words(&[0, 0, 0, 2]), Null], BAD_XDR),
    case("cut-lists", TRUNCATED, &[INLINE, Words(&[0, 0])], BAD_XDR),
    case("cut-call-chunk", TRUNCATED, &[EXTERNAL, Words(&[0, 1, 0]), NullIn(0, 1)], BAD_XDR),
    case("cut-read-segment", TRUNCATED, &[INLINE, Words(&[0, 1, 40, 7, 64, 0])], BAD_XDR),
    case("cut-write-chunk", TRUNCATED, &[INLINE, Words(&[0, 0, 1, 2]), WRITABLE], BAD_XDR),
    case("cut-reply-chunk", TRUNCATED, &[INLINE, Words(&[0, 0, 0, 1, 2]), WRITABLE], BAD_XDR),
    case("count-write-most", TRUNCATED, &[INLINE, Words(&[0, 0, 1, u32::MAX])], BAD_XDR),
    case("count-write-wraps", TRUNCATED, &[INLINE, Words(&[0, 0, 1, 0x1000_0001, 0, 0]), Null], BAD_XDR),
    case("count-reply-most", TRUNCATED, &[INLINE, Words(&[0, 0, 0, 1, u32::MAX]), Null], BAD_XDR),
    case("no-payload", PARSED, &[INLINE, PLAIN], BAD_XDR),
    case(
        "external-empty",
        About::section("v2-external", "version two -07 6.3.5, 7.2.1"),
        &[EXTERNAL, Words(&[0, 0, 0, 0, 0])],
        BAD_XDR,
    ),
    case(
        "xid-mismatch",
        About::section("v2-xid-mismatch", "version two -07 7.2"),
        &[INLINE, PLAIN, NullOfAnother],
        BAD_XDR,
    ),
    case(
        "position-zero",
        About::section("v2-external", "version two -07 6.3.7"),
        &[INLINE, Words(&[0, 1, 0]), NullIn(0, 1), Words(&[0, 0, 0]), Null],
        NOT_PARSED,
    ),
    case("write-chunk", ECHO, &[INLINE, Words(&[0, 0, 1, 1]), WRITABLE, Words(&[0, 0]), Null], REPLY),
    case("write-chunk-of-no-segments", ECHO, &[INLINE, Words(&[0, 0, 1, 0, 0, 0]), Null], OF_NO_SEGMENTS_V2),
    case(
        "write-chunk-of-odd-lengths",
        ECHO,
        &[
            INLINE,
            Words(&[0, 0, 1, 3]),
            Piece::Segment(Usage::Write, 1),
            Piece::Segment(Usage::Write, 3),
            Piece::Segment(Usage::Write, 7),
            Words(&[0, 0]),
            Null,
        ],
        REPLY,
    ),
    case(
        "two-write-chunks",
        About::section("write-list-echo", "version two -07 7.3.2"),
        &[INLINE, Words(&[0, 0, 1, 1]), WRITABLE, Words(&[1, 1]), WRITABLE, Words(&[0, 0]), Null],
        REPLY_OR_WRITE_CHUNKS,
    ),
    case("reply-chunk", REPLY_CHUNK, &[INLINE, Words(&[0, 0, 0, 1, 1]), WRITABLE, Null], REPLY),
    case("reply-chunk-of-2-segments", REPLY_CHUNK, &[INLINE, Words(&[0, 0, 0, 1, 2]), WRITABLE, WRITABLE, Null], REPLY),
    case("long-call", LONG, &[EXTERNAL, Words(&[0, 1, 0]), NullIn(0, 1), Words(&[0, 0, 0, 0])], REPLY),
    case(
        "long-call-of-2-segments",
        LONG,
        &[EXTERNAL, Words(&[0, 1, 0]), NullIn(0, 2), Words(&[1, 0]), NullIn(1, 2), Words(&[0, 0, 0, 0])],
        REPLY,
    ),
    case(
        "continued-call",
        SEQUENCE,
        &[MIDDLE, Words(&[20]), PartOfNull(0, 2), Next, INLINE, PLAIN, PartOfNull(1, 2)],
        REPLY,
    ),
    case(
        "continued-call-of-5-parts",
        SEQUENCE,
        &[
            MIDDLE,
            Words(&[32]),
            PartOfNull(0, 5),
            Next,
            MIDDLE,
            Words(&[24]),
            PartOfNull(1, 5),
            Next,
            MIDDLE,
            Words(&[16]),
            PartOfNull(2, 5),
            Next,
            MIDDLE,
            Words(&[8]),
            PartOfNull(3, 5),
            Next,
            INLINE,
            PLAIN,
            PartOfNull(4, 5),
        ],
        REPLY,
    ),
    case(
        "continued-call-interrupted",
        SEQUENCE,
        &[FixedOfAnother(9), Words(&[20]), PartOfNull(0, 2), Next, INLINE, PLAIN, Null],
        INVAL_CONT,
    ),
    case(
        "continued-call-of-another-type",
        SEQUENCE,
        &[
            MIDDLE,
            Words(&[20]),
            PartOfNull(0, 2),
            Next,
            EXTERNAL,
            Words(&[0, 1, 0]),
            NullIn(0, 1),
            Words(&[0, 0, 0, 0]),
        ],
        INVAL_CONT,
    ),
    case(
        "continued-call-too-short",
        About::section("v2-continuation", "version two -07 6.3.6, 7.1.4"),
        &[MIDDLE, Words(&[24]), PartOfNull(0, 2), Next, INLINE, PLAIN, PartOfNull(1, 2)],
        INVAL_CONT,
    ),
    case(
        "continued-call-too-long",
        About::section("v2-continuation", "version two -07 6.3.6, 7.1.4"),
        &[MIDDLE, Words(&[16]), PartOfNull(0, 2), Next, INLINE, PLAIN, PartOfNull(1, 2)],
        INVAL_CONT,
    ),
    case(
        "properties-after-the-last",
        About::section("v2-continuation", "version two -07 6.3.4"),
        &[FixedOfNone(7), Words(&[1, 1, 4, 4096])],
        INVAL_CONT,
    ),
    case("properties-in-two", PROPERTIES, &[FixedOfNone(7), Words(&[1, 1, 4, 4096])], SILENCE).after(MORE_TO_COME),
    case("properties-interrupted", PROPERTIES, &[INLINE, PLAIN, Null], INVAL_CONT).after(MORE_TO_COME),
    first("property-unknown", PROPERTIES, &[FixedOfNone(7), Words(&[1, 99, 4, 7])], SILENCE),
    case("property-of-3-octets", PROPERTY, &[FixedOfNone(7), Words(&[1, 1, 3, 0])], BAD_PROPVAL).after(MORE_TO_COME),
    case("property-of-8-octets", PROPERTY, &[FixedOfNone(7), Words(&[1, 1, 8, 0, 4096])], BAD_PROPVAL)
        .after(MORE_TO_COME),
    case("grant", GRANT, &[FixedOfNone(5)], SILENCE),
    case("grant-with-xid", GRANT, &[Fixed(5)], SILENCE),
];

//! Version 2 in the wire format of drafts -00 to -02. Sections are from draft -01, which has no numbers.

use rpcrdma::v2::Family;
use rpcrdma_verbs::Version;

use crate::probe::case::{
    About, BAD_PROPVAL, BAD_XDR, Case, ERR_VERS, INVAL_CONT, INVAL_HTYPE, OF_NO_SEGMENTS_V2, Opening, Outcomes, Piece,
    REPLY, REPLY_OR_WRITE_CHUNKS, SILENCE, Usage, WRITABLE,
};
use Piece::{Fixed, FixedOfAnother, FixedOfNone, Next, Null, NullIn, NullOfAnother, OfVersion, PartOfNull, Words};

const MSG: Piece = Fixed(0);
const NOMSG: Piece = Fixed(1);
/// No flags, no handle to invalidate, no chunks.
const PLAIN: Piece = Words(&[0, 0, 0, 0, 0]);
/// `PLAIN` with `RDMA2_F_MORE`.
const MORE: Piece = Words(&[2, 0, 0, 0, 0]);

const CALL: About = About::section("v2-no-payload", "version two -01 RDMA2_MSG");
const SHORT: About = About::section("header-short", "version two -01 Error Handling");
const VERSION: About = About::section("version", "version two -01 RDMA2_ERR_VERS");
const TYPE: About = About::section("v2-htype", "version two -01 Header Types");
const FLAG: About = About::section("list-flag", "version two -01 XDR Errors; RFC 4506 4.19");
const TRUNCATED: About = About::section("list-truncated", "version two -01 XDR Errors");
const PARSED: About = About::section("v2-no-payload", "version two -01 XDR Errors");
const RESERVED: About = About::rule("v2-reserved-flag");
const MORE_TYPE: About = About::rule("v2-more-type");
const MORE_CHUNKS: About = About::rule("v2-more-chunks");
const SEQUENCE: About = About::rule("v2-more-sequence");
const TPMORE: About = About::rule("v2-tpmore");
const PROPERTY: About = About::section("v2-property", "version two -01 Transport Properties Model");
const UNKNOWN: About = About::section("v2-property", "version two -01 RDMA2_CONNPROP");
const FROM_REQUESTER: About = About::section("error-from-requester", "version two -01 Error Handling");
const ECHO: About = About::section("write-list-echo", "version two -01 Write Chunks");
const REPLY_CHUNK: About = About::section("reply-chunk-echo", "version two -01 Choosing a Reply Mechanism");
const LIMIT: About = About::section("write-list-echo", "version two -01 RDMA2_ERR_WRITE_CHUNKS");
const GRANT: About = About::section("v2-credit-zero", "version two -01 Asynchronous Credit Grants");

/// The properties begin, and continue in the next message.
const MORE_TO_COME: Opening = Opening::Send(&[FixedOfNone(5), Words(&[4, 1, 2, 4, 4096])]);

const fn case(name: &'static str, about: About, send: &'static [Piece], asks: Outcomes) -> Case {
    Case::new(name, about, send, asks).for_version(Version::Two(Family::A))
}

/// A case about the first message of the connection.
const fn first(name: &'static str, about: About, send: &'static [Piece], asks: Outcomes) -> Case {
    case(name, about, send, asks).after(Opening::Nothing)
}

pub(super) const CASES: &[Case] = &[
    case("null", CALL, &[MSG, PLAIN, Null], REPLY),
    case("short-4", SHORT, &[Piece::Xid], SILENCE),
    case("short-12", SHORT, &[Piece::Xid, Words(&[2, 0])], SILENCE),
    case("short-16", SHORT, &[MSG], SILENCE),
    case("version-0", VERSION, &[OfVersion(0), PLAIN, Null], ERR_VERS),
    case("version-3", VERSION, &[OfVersion(3), PLAIN, Null], ERR_VERS),
    case("version-most", VERSION, &[OfVersion(u32::MAX), PLAIN, Null], ERR_VERS),
    first("version-3-first", VERSION, &[OfVersion(3), PLAIN, Null], ERR_VERS),
    case("header-type-2", TYPE, &[Fixed(2), PLAIN, Null], INVAL_HTYPE),
    case("header-type-3", TYPE, &[Fixed(3), PLAIN, Null], INVAL_HTYPE),
    case("header-type-7", TYPE, &[Fixed(7), PLAIN, Null], INVAL_HTYPE),
    case("header-type-most", TYPE, &[Fixed(u32::MAX), PLAIN, Null], INVAL_HTYPE),
    case("error-of-unknown-code", FROM_REQUESTER, &[Fixed(4), Words(&[1, 99])], SILENCE),
    case("reserved-flags", RESERVED, &[MSG, Words(&[0xffff_fff8, 0, 0, 0, 0]), Null], REPLY),
    case("flag-read-2", FLAG, &[MSG, Words(&[0, 0, 2, 0, 0]), Null], BAD_XDR),
    case("flag-write-2", FLAG, &[MSG, Words(&[0, 0, 0, 2, 0]), Null], BAD_XDR),
    case("flag-reply-2", FLAG, &[MSG, Words(&[0, 0, 0, 0, 2]), Null], BAD_XDR),
    case("cut-lists", TRUNCATED, &[MSG, Words(&[0, 0, 0])], BAD_XDR),
    case("cut-read-segment", TRUNCATED, &[MSG, Words(&[0, 0, 1, 40, 7, 64, 0])], BAD_XDR),
    case("cut-write-chunk", TRUNCATED, &[MSG, Words(&[0, 0, 0, 1, 2]), WRITABLE], BAD_XDR),
    case("cut-reply-chunk", TRUNCATED, &[MSG, Words(&[0, 0, 0, 0, 1, 2]), WRITABLE], BAD_XDR),
    case("count-write-most", TRUNCATED, &[MSG, Words(&[0, 0, 0, 1, u32::MAX])], BAD_XDR),
    case("count-write-wraps", TRUNCATED, &[MSG, Words(&[0, 0, 0, 1, 0x1000_0001, 0, 0]), Null], BAD_XDR),
    case("count-reply-most", TRUNCATED, &[MSG, Words(&[0, 0, 0, 0, 1, u32::MAX]), Null], BAD_XDR),
    case("no-payload", PARSED, &[MSG, PLAIN], BAD_XDR),
    case("nomsg-empty", PARSED, &[NOMSG, PLAIN], BAD_XDR),
    case(
        "xid-mismatch",
        About::section("v2-xid-mismatch", "version two -01 XDR Errors"),
        &[MSG, PLAIN, NullOfAnother],
        BAD_XDR,
    ),
    case("write-chunk", ECHO, &[MSG, Words(&[0, 0, 0, 1, 1]), WRITABLE, Words(&[0, 0]), Null], REPLY),
    case("write-chunk-of-no-segments", ECHO, &[MSG, Words(&[0, 0, 0, 1, 0, 0, 0]), Null], OF_NO_SEGMENTS_V2),
    case(
        "write-chunk-of-odd-lengths",
        ECHO,
        &[
            MSG,
            Words(&[0, 0, 0, 1, 3]),
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
        LIMIT,
        &[MSG, Words(&[0, 0, 0, 1, 1]), WRITABLE, Words(&[1, 1]), WRITABLE, Words(&[0, 0]), Null],
        REPLY_OR_WRITE_CHUNKS,
    ),
    case("reply-chunk", REPLY_CHUNK, &[MSG, Words(&[0, 0, 0, 0, 1, 1]), WRITABLE, Null], REPLY),
    case("reply-chunk-of-no-segments", REPLY_CHUNK, &[MSG, Words(&[0, 0, 0, 0, 1, 0]), Null], OF_NO_SEGMENTS_V2),
    case("reply-chunk-of-2-segments", REPLY_CHUNK, &[MSG, Words(&[0, 0, 0, 0, 1, 2]), WRITABLE, WRITABLE, Null], REPLY),
    case("long-call", CALL, &[NOMSG, Words(&[0, 0, 1, 0]), NullIn(0, 1), Words(&[0, 0, 0])], REPLY),
    case(
        "long-call-of-2-segments",
        CALL,
        &[NOMSG, Words(&[0, 0, 1, 0]), NullIn(0, 2), Words(&[1, 0]), NullIn(1, 2), Words(&[0, 0, 0])],
        REPLY,
    ),
    case("continued-call", SEQUENCE, &[MSG, MORE, PartOfNull(0, 2), Next, MSG, PLAIN, PartOfNull(1, 2)], REPLY),
    case(
        "continued-call-of-5-parts",
        SEQUENCE,
        &[
            MSG,
            MORE,
            PartOfNull(0, 5),
            Next,
            MSG,
            MORE,
            PartOfNull(1, 5),
            Next,
            MSG,
            MORE,
            PartOfNull(2, 5),
            Next,
            MSG,
            MORE,
            PartOfNull(3, 5),
            Next,
            MSG,
            PLAIN,
            PartOfNull(4, 5),
        ],
        REPLY,
    ),
    case(
        "continued-call-interrupted",
        SEQUENCE,
        &[FixedOfAnother(0), MORE, PartOfNull(0, 2), Next, MSG, PLAIN, Null],
        INVAL_CONT,
    ),
    case(
        "continued-call-of-another-type",
        SEQUENCE,
        &[MSG, MORE, PartOfNull(0, 2), Next, NOMSG, Words(&[0, 0, 1, 0]), NullIn(0, 1), Words(&[0, 0, 0])],
        INVAL_CONT,
    ),
    case("more-with-chunks", MORE_CHUNKS, &[MSG, Words(&[2, 0, 0, 0, 1, 1]), WRITABLE, PartOfNull(0, 2)], INVAL_CONT),
    case("more-in-nomsg", MORE_TYPE, &[NOMSG, Words(&[2, 0, 1, 0]), NullIn(0, 1), Words(&[0, 0, 0])], INVAL_CONT),
    case("tpmore-in-msg", TPMORE, &[MSG, Words(&[4, 0, 0, 0, 0]), Null], INVAL_HTYPE),
    case("properties-after-the-last", TPMORE, &[FixedOfNone(5), Words(&[0, 1, 1, 4, 4096])], INVAL_HTYPE),
    case("properties-in-two", TPMORE, &[FixedOfNone(5), Words(&[0, 1, 1, 4, 4096])], SILENCE).after(MORE_TO_COME),
    first("property-unknown", UNKNOWN, &[FixedOfNone(5), Words(&[0, 1, 99, 4, 7])], SILENCE),
    case("property-of-3-octets", PROPERTY, &[FixedOfNone(5), Words(&[0, 1, 1, 3, 0])], BAD_PROPVAL).after(MORE_TO_COME),
    case("property-of-8-octets", PROPERTY, &[FixedOfNone(5), Words(&[0, 1, 1, 8, 0, 4096])], BAD_PROPVAL)
        .after(MORE_TO_COME),
    case("grant", GRANT, &[FixedOfNone(1), PLAIN], SILENCE),
];

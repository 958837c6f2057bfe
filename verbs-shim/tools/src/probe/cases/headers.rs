//! Headers: length, version, procedure, incomplete lists (RFC 8166 sections 4.2 to 4.5).

use crate::probe::case::{
    About, Case, ERR_CHUNK, ERR_VERS, Outcome, Outcomes, Piece, REPLY, REPLY_OR_ERR_CHUNK, SILENCE, Usage, Verdict,
};
use Piece::{Fixed, Null, NullIn, NullOfAnother, Octets, OfVersion, Segment, Words, Xid};

const MSG: Piece = Fixed(0);
const NOMSG: Piece = Fixed(1);
/// No Read list, no Write list, no Reply chunk.
const NO_CHUNKS: Piece = Words(&[0, 0, 0]);

const SHORT: About = About::rule("header-short");
const FLAG: About = About::section("list-flag", "RFC 8166 4.3; RFC 4506 4.19");
const TRUNCATED: About = About::rule("list-truncated");
const PROCEDURE: About = About::rule("proc-unknown");
const VERSION: About = About::rule("version");
const EMPTY: About = About::section("nomsg-empty", "RFC 8166 4.5.2");
/// One of the lists has to hold the Payload stream, and a Write chunk holds only a result.
const NO_PAYLOAD: About = About::section("nomsg-empty", "RFC 8166 4.2.4");
const FROM_REQUESTER: About = About::rule("error-from-requester");

/// Section 4.6.1 says SHOULD.
const MSGP: Outcomes = &[
    (Outcome::ErrChunk, Verdict::Conforms),
    (Outcome::Reply, Verdict::Hazard),
    (Outcome::Silence, Verdict::Hazard),
    (Outcome::Disconnect, Verdict::Hazard),
];
/// Section 4.5.2 asks for an error, and section 4.2.1 lets a receiver ignore the XID of the RPC message.
const MISMATCH: Outcomes = &[(Outcome::ErrChunk, Verdict::Conforms), (Outcome::Reply, Verdict::Hazard)];

const fn case(name: &'static str, about: About, send: &'static [Piece], asks: Outcomes) -> Case {
    Case::new(name, about, send, asks)
}

pub(super) const CASES: &[Case] = &[
    case("null", About::rule("msg-no-payload"), &[MSG, NO_CHUNKS, Null], REPLY),
    case("short-4", SHORT, &[Xid], SILENCE),
    case("short-12", SHORT, &[Xid, Words(&[1, 32])], SILENCE),
    case("short-16", SHORT, &[MSG], SILENCE),
    case("short-20", SHORT, &[MSG, Words(&[0])], SILENCE),
    case("short-24", SHORT, &[MSG, Words(&[0, 0])], SILENCE),
    case("short-27", SHORT, &[MSG, Words(&[0, 0]), Octets(&[0, 0, 0])], SILENCE),
    case("version-0", VERSION, &[OfVersion(0), NO_CHUNKS, Null], ERR_VERS),
    case("version-3", VERSION, &[OfVersion(3), NO_CHUNKS, Null], ERR_VERS),
    case("version-most", VERSION, &[OfVersion(u32::MAX), NO_CHUNKS, Null], ERR_VERS),
    case("procedure-5", PROCEDURE, &[Fixed(5), NO_CHUNKS, Null], ERR_CHUNK),
    case("procedure-255", PROCEDURE, &[Fixed(255), NO_CHUNKS, Null], ERR_CHUNK),
    case("procedure-most", PROCEDURE, &[Fixed(u32::MAX), NO_CHUNKS, Null], ERR_CHUNK),
    case("msgp", About::rule("msgp-sent"), &[Fixed(2), Words(&[4, 1024]), NO_CHUNKS, Null], MSGP),
    case("done", About::section("done-sent", "RFC 8166 4.6.2"), &[Fixed(3)], SILENCE),
    case("error-chunk", FROM_REQUESTER, &[Fixed(4), Words(&[2])], SILENCE),
    case("error-vers", FROM_REQUESTER, &[Fixed(4), Words(&[1, 1, 1])], SILENCE),
    case("flag-read-2", FLAG, &[MSG, Words(&[2, 0, 0]), Null], ERR_CHUNK),
    case("flag-read-most", FLAG, &[MSG, Words(&[u32::MAX, 0, 0]), Null], ERR_CHUNK),
    case("flag-write-2", FLAG, &[MSG, Words(&[0, 2, 0]), Null], ERR_CHUNK),
    case("flag-reply-2", FLAG, &[MSG, Words(&[0, 0, 2]), Null], ERR_CHUNK),
    case("flag-reply-most", FLAG, &[MSG, Words(&[0, 0, 0x8000_0000]), Null], ERR_CHUNK),
    case("cut-read-list", TRUNCATED, &[MSG, Words(&[1, 40]), Segment(Usage::Read, 64)], ERR_CHUNK),
    case("cut-read-segment", TRUNCATED, &[MSG, Words(&[1, 40, 7, 64, 0])], ERR_CHUNK),
    case("cut-write-chunk", TRUNCATED, &[MSG, Words(&[0, 1, 2]), Segment(Usage::Write, 64)], ERR_CHUNK),
    case("cut-write-list", TRUNCATED, &[MSG, Words(&[0, 1, 1]), Segment(Usage::Write, 64)], ERR_CHUNK),
    case("cut-reply-chunk", TRUNCATED, &[MSG, Words(&[0, 0, 1, 2]), Segment(Usage::Write, 64)], ERR_CHUNK),
    case("count-write-most", TRUNCATED, &[MSG, Words(&[0, 1, u32::MAX, 0, 0]), Null], ERR_CHUNK),
    case("count-write-wraps", TRUNCATED, &[MSG, Words(&[0, 1, 0x1000_0001, 0, 0]), Null], ERR_CHUNK),
    case("count-reply-most", TRUNCATED, &[MSG, Words(&[0, 0, 1, u32::MAX]), Null], ERR_CHUNK),
    case("count-reply-wraps", TRUNCATED, &[MSG, Words(&[0, 0, 1, 0x1000_0000]), Null], ERR_CHUNK),
    case("nomsg-empty", EMPTY, &[NOMSG, NO_CHUNKS], ERR_CHUNK),
    case(
        "nomsg-write-chunk-alone",
        NO_PAYLOAD,
        &[NOMSG, Words(&[0, 1, 1]), Segment(Usage::Write, 64), Words(&[0, 0])],
        ERR_CHUNK,
    ),
    case(
        "nomsg-trailing",
        About::rule("nomsg-trailing"),
        &[NOMSG, Words(&[1, 0]), NullIn(0, 1), NO_CHUNKS, Words(&[0])],
        REPLY_OR_ERR_CHUNK,
    ),
    case("msg-no-payload", About::rule("msg-no-payload"), &[MSG, NO_CHUNKS], ERR_CHUNK),
    case("xid-mismatch", About::rule("xid-mismatch"), &[MSG, NO_CHUNKS, NullOfAnother], MISMATCH),
    case(
        "reply-from-requester",
        About::section("reply-unexpected", "RFC 8166 4.2.1; RFC 8167 4.1"),
        &[MSG, NO_CHUNKS, Xid, Words(&[1, 0, 0, 0, 0])],
        SILENCE,
    ),
];

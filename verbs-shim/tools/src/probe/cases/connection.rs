//! Cases about the connection: credits, and private data of every kind (RFC 8166 section 3.3, RFC 8797).

use crate::probe::case::{About, Calls, Case, Outcomes, Piece, REPLY, UNSPECIFIED, USUAL, Usage};
use Piece::{Fixed, Null, Segment, WithCredit, Words};

const NO_CHUNKS: Piece = Words(&[0, 0, 0]);
const NULL: &[Piece] = &[Fixed(0), NO_CHUNKS, Null];
const CREDIT: About = About::rule("credit-zero-request");
const GRANT: About = About::rule("credit-zero-grant");
/// The responder may end the connection, but need not.
const EXCEEDED: About = About::rule("credit-exceeded");
const PRIVATE: About = About::section("private-data-version", "RFC 8797 4");

const fn case(name: &'static str, about: About, send: &'static [Piece], asks: Outcomes) -> Case {
    Case::new(name, about, send, asks)
}

/// Private data like the usual, with other octets from the fifth on: version, flags, and both sizes.
const fn announced(end: [u8; 4]) -> [u8; 8] {
    let [a, b, c, d, ..] = USUAL;
    let [version, flags, send, receive] = end;
    [a, b, c, d, version, flags, send, receive]
}

const VERSION_0: &[u8] = &announced([0, 0, 3, 3]);
const VERSION_2: &[u8] = &announced([2, 0, 3, 3]);
const FLAGS: &[u8] = &announced([1, 0xfe, 3, 3]);
const INVALIDATION: &[u8] = &announced([1, 1, 3, 3]);
const SMALLEST: &[u8] = &announced([1, 0, 0, 0]);
const LARGEST: &[u8] = &announced([1, 0, 255, 3]);
const CUT: &[u8] = USUAL.split_at(6).0;

pub(super) const CASES: &[Case] = &[
    case("credit-0", CREDIT, &[WithCredit(0), NO_CHUNKS, Null], UNSPECIFIED),
    case("credit-1", GRANT, &[WithCredit(1), NO_CHUNKS, Null], REPLY),
    case("credit-most", GRANT, &[WithCredit(u32::MAX), NO_CHUNKS, Null], REPLY),
    case("credit-all-used", EXCEEDED, &[], REPLY).calling(Calls::AllCredits),
    case("credit-exceeded", EXCEEDED, &[], UNSPECIFIED).calling(Calls::OneTooMany),
    case("private-data-none", About::section("private-data-absent", "RFC 8797 3"), NULL, REPLY).announcing(&[]),
    case("private-data-cut", PRIVATE, NULL, REPLY).announcing(CUT),
    case("private-data-version-0", PRIVATE, NULL, REPLY).announcing(VERSION_0),
    case("private-data-version-2", PRIVATE, NULL, REPLY).announcing(VERSION_2),
    case("private-data-unknown-flags", PRIVATE, NULL, REPLY).announcing(FLAGS),
    case("private-data-foreign", PRIVATE, NULL, REPLY).announcing(b"something else"),
    case("private-data-zeros", PRIVATE, NULL, REPLY).announcing(&[0; 56]),
    case("private-data-smallest", PRIVATE, NULL, REPLY).announcing(SMALLEST),
    case("private-data-largest", PRIVATE, NULL, REPLY).announcing(LARGEST),
    case(
        "remote-invalidation",
        About::section("invalidate-foreign", "RFC 8797 3.2, 4.1"),
        &[Fixed(0), Words(&[0, 1, 1]), Segment(Usage::Write, 64), Words(&[0, 0]), Null],
        REPLY,
    )
    .announcing(INVALIDATION),
];

//! Answers to a Call in the reverse direction, right and wrong, and the next action of their receiver (RFC 8167).

use super::ReverseCase;
use crate::probe::case::{About, Case, Outcome, Outcomes, Piece, UNSPECIFIED, Usage, Verdict};
use Piece::{Fixed, FixedOfAnother, Next, Null, Reply, ReplyOfAnother, Segment, WithCredit, Words, Xid};

const MSG: Piece = Fixed(0);
const NO_CHUNKS: Piece = Words(&[0, 0, 0]);

/// The reply is accepted, so another Call can be made; the time of that Call is not specified.
const TAKEN: Outcomes = &[
    (Outcome::NextCall, Verdict::Conforms),
    (Outcome::Silence, Verdict::NotJudged),
    (Outcome::Retry, Verdict::Hazard),
    (Outcome::Disconnect, Verdict::Hazard),
];
/// A requester discards such a reply silently (RFC 8166 sections 4.2.1 and 4.5). Ending the connection is not silent. A
/// next Call does not show if the reply was accepted.
const DISCARD: Outcomes = &[
    (Outcome::Silence, Verdict::Conforms),
    (Outcome::Retry, Verdict::Conforms),
    (Outcome::Disconnect, Verdict::Hazard),
    (Outcome::NextCall, Verdict::NotJudged),
];
/// `RDMA_ERROR` completes the call (RFC 8166 section 4.5), so there is nothing to send again.
const COMPLETE: Outcomes = &[
    (Outcome::NextCall, Verdict::Conforms),
    (Outcome::Silence, Verdict::Conforms),
    (Outcome::Disconnect, Verdict::NotJudged),
    (Outcome::Retry, Verdict::Hazard),
];
/// One Call may be sent before a reply has granted more credits (RFC 8166 section 3.3.3). The time to wait for that
/// reply is not specified.
const ONE_CREDIT: Outcomes = &[
    (Outcome::Silence, Verdict::Conforms),
    (Outcome::Retry, Verdict::NotJudged),
    (Outcome::Disconnect, Verdict::NotJudged),
];
/// The client has not asked for Calls.
const NO_CALL: Outcomes = &[(Outcome::Silence, Verdict::Conforms), (Outcome::Disconnect, Verdict::NotJudged)];

const GRANT: &str = "RFC 8167 4.1; RFC 8166 3.3.1";

const fn case(name: &'static str, about: About, send: &'static [Piece], outcomes: Outcomes) -> ReverseCase {
    ReverseCase { case: Case::new(name, about, send, outcomes), has_backchannel: true }
}

pub(super) const CASES: &[ReverseCase] = &[
    ReverseCase {
        has_backchannel: false,
        ..case("reverse-unasked", About::section("none", "RFC 8167 6"), &[], NO_CALL)
    },
    case("reverse-reply", About::section("reverse-version", "RFC 8167 5.1, 5.2"), &[MSG, NO_CHUNKS, Reply], TAKEN),
    case(
        "reverse-grant-most",
        About::section("credit-exceeded", GRANT),
        &[WithCredit(u32::MAX), NO_CHUNKS, Reply],
        TAKEN,
    ),
    case(
        "reverse-grant-0",
        About::section("credit-zero-grant", GRANT),
        &[WithCredit(0), NO_CHUNKS, Reply],
        UNSPECIFIED,
    ),
    case("reverse-silence", About::section("reverse-credit", "RFC 8166 3.3.3; RFC 8167 4.1"), &[], ONE_CREDIT),
    // NULL in the forward direction, while the Call with the same XID waits for its reply.
    case(
        "reverse-same-xid",
        About::section("reply-unexpected", "RFC 8167 2.4.1"),
        &[MSG, NO_CHUNKS, Null, Next, MSG, NO_CHUNKS, Reply],
        TAKEN,
    ),
    case(
        "reverse-duplicate",
        About::section("reply-unexpected", "RFC 8167 2.4; RFC 8166 4.2.1"),
        &[MSG, NO_CHUNKS, Reply, Next, MSG, NO_CHUNKS, Reply],
        TAKEN,
    ),
    case(
        "reverse-wrong-xid",
        About::section("reply-unexpected", "RFC 8167 2.4; RFC 8166 4.2.1"),
        &[FixedOfAnother(0), NO_CHUNKS, ReplyOfAnother],
        DISCARD,
    ),
    case(
        "reverse-xid-mismatch",
        About::section("xid-mismatch", "RFC 8167 5.2; RFC 8166 4.2.1, 4.5.2"),
        &[MSG, NO_CHUNKS, ReplyOfAnother],
        UNSPECIFIED,
    ),
    case("reverse-short", About::rule("header-short"), &[Xid, Words(&[1, 32])], DISCARD),
    case(
        "reverse-read-list",
        About::section("read-in-reply", "RFC 8166 4.3.1, 4.5"),
        &[MSG, Words(&[1, 24]), Segment(Usage::Read, 64), Words(&[0, 0, 0]), Reply],
        DISCARD,
    ),
    case(
        "reverse-write-list",
        About::section("write-list-echo", "RFC 8166 3.4.6, 4.5"),
        &[MSG, Words(&[0, 1, 1]), Segment(Usage::Write, 64), Words(&[0, 0]), Reply],
        DISCARD,
    ),
    case("reverse-error-chunk", About::section("answer", "RFC 8166 4.5"), &[Fixed(4), Words(&[2])], COMPLETE),
];

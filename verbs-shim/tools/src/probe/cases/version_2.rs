//! Version 2, in both wire formats (drafts -00 to -02, and -03 to -07).

use rpcrdma::v2::{ErrorCode, Family};
use rpcrdma_verbs::Version;

use crate::probe::case::{Case, ERR_VERS, Outcome, Outcomes, Piece, REPLY, SILENCE, Usage, Verdict};
use Piece::{Fixed, Null, NullIn, OfVersion, Segment, Words};

const BAD_XDR: Outcomes = &[(Outcome::Error(ErrorCode::BAD_XDR), Verdict::Conforms)];
const INVAL_HTYPE: Outcomes = &[(Outcome::Error(ErrorCode::INVAL_HTYPE), Verdict::Conforms)];
const WRITABLE: Piece = Segment(Usage::Write, 64);

const fn a([name, rule]: [&'static str; 2], send: &'static [Piece], outcomes: Outcomes) -> Case {
    Case::new([name, rule, "version two -01"], send, outcomes).of(Version::Two(Family::A))
}

const fn b([name, rule]: [&'static str; 2], send: &'static [Piece], outcomes: Outcomes) -> Case {
    Case::new([name, rule, "version two -07"], send, outcomes).of(Version::Two(Family::B))
}

pub(super) const CASES: &[Case] = &[
    a(["null", "v2-no-payload"], &[Fixed(0), Words(&[0, 0, 0, 0, 0]), Null], REPLY),
    a(["version-3", "version"], &[OfVersion(3), Words(&[0, 0, 0, 0, 0]), Null], ERR_VERS),
    a(["short-12", "header-short"], &[Piece::Xid, Words(&[2, 0])], SILENCE),
    a(["header-type-7", "v2-htype"], &[Fixed(7), Words(&[0, 0, 0, 0, 0]), Null], INVAL_HTYPE),
    a(["flag-read-2", "list-flag"], &[Fixed(0), Words(&[0, 0, 2, 0, 0]), Null], BAD_XDR),
    a(["flag-reply-2", "list-flag"], &[Fixed(0), Words(&[0, 0, 0, 0, 2]), Null], BAD_XDR),
    a(["count-write-most", "list-truncated"], &[Fixed(0), Words(&[0, 0, 0, 1, u32::MAX])], BAD_XDR),
    a(["no-payload", "v2-no-payload"], &[Fixed(0), Words(&[0, 0, 0, 0, 0])], BAD_XDR),
    a(["nomsg-empty", "v2-no-payload"], &[Fixed(1), Words(&[0, 0, 0, 0, 0])], BAD_XDR),
    a(["write-chunk", "write-list-echo"], &[Fixed(0), Words(&[0, 0, 0, 1, 1]), WRITABLE, Words(&[0, 0]), Null], REPLY),
    a(["reply-chunk", "write-list-echo"], &[Fixed(0), Words(&[0, 0, 0, 0, 1, 1]), WRITABLE, Null], REPLY),
    a(["long-call", "v2-no-payload"], &[Fixed(1), Words(&[0, 0, 1, 0]), NullIn(0, 1), Words(&[0, 0, 0])], REPLY),
    b(["null", "v2-no-payload"], &[Fixed(10), Words(&[0, 0, 0, 0]), Null], REPLY),
    b(["version-3", "version"], &[OfVersion(3), Words(&[0, 0, 0, 0]), Null], ERR_VERS),
    b(["short-12", "header-short"], &[Piece::Xid, Words(&[2, 0])], SILENCE),
    b(["header-type-14", "v2-htype"], &[Fixed(14), Words(&[0, 0, 0, 0]), Null], INVAL_HTYPE),
    b(["flag-read-2", "list-flag"], &[Fixed(10), Words(&[0, 2, 0, 0]), Null], BAD_XDR),
    b(["flag-reply-2", "list-flag"], &[Fixed(10), Words(&[0, 0, 0, 2]), Null], BAD_XDR),
    b(["count-write-most", "list-truncated"], &[Fixed(10), Words(&[0, 0, 1, u32::MAX])], BAD_XDR),
    b(["no-payload", "v2-no-payload"], &[Fixed(10), Words(&[0, 0, 0, 0])], BAD_XDR),
    b(["external-empty", "v2-external"], &[Fixed(8), Words(&[0, 0, 0, 0, 0])], BAD_XDR),
    b(["write-chunk", "write-list-echo"], &[Fixed(10), Words(&[0, 0, 1, 1]), WRITABLE, Words(&[0, 0]), Null], REPLY),
    b(["reply-chunk", "write-list-echo"], &[Fixed(10), Words(&[0, 0, 0, 1, 1]), WRITABLE, Null], REPLY),
    b(["long-call", "v2-external"], &[Fixed(8), Words(&[0, 1, 0]), NullIn(0, 1), Words(&[0, 0, 0, 0])], REPLY),
];

//! The checker: for every rule a message or a capture that breaks it in just that way, and its unbroken twin; what it finds
//! in the shipped captures, and nothing else.

mod answers;
mod case;
mod credits;
mod evidence;
mod framing;
mod judging;
mod memory;
mod missing;
mod read_list;
mod setup;
mod shipped;
mod trace;
mod version_2;
mod write_list;

use std::collections::BTreeSet;

use rpcrdma_dissector::check::{self, Count};

use crate::check::case::Case;
use crate::check::judging::*;
use crate::check::trace::*;

/// Every rule, spelled out: one that is lost from the tables is missed here.
const SLUGS: [&str; 80] = [
    "header-short",
    "version",
    "proc-unknown",
    "msgp-sent",
    "done-sent",
    "error-from-requester",
    "list-flag",
    "list-truncated",
    "nomsg-empty",
    "nomsg-trailing",
    "msg-no-payload",
    "xid-mismatch",
    "error-echo",
    "error-range",
    "error-trailing",
    "reply-unexpected",
    "credit-zero-grant",
    "credit-zero-request",
    "credit-exceeded",
    "credit-initial",
    "reply-not-ready",
    "inline-exceeded",
    "reply-chunk-missing",
    "read-position-align",
    "read-in-reply",
    "read-position-zero-in-msg",
    "read-position-order",
    "read-position-beyond",
    "read-overlap",
    "read-length",
    "read-roundup",
    "long-call-roundup",
    "segment-wraps",
    "segment-empty",
    "write-list-echo",
    "write-length",
    "write-fill-order",
    "write-roundup",
    "write-unwritten",
    "write-unused-form",
    "write-ignored",
    "write-empty-respected",
    "reply-chunk-echo",
    "reply-chunk-in-msg",
    "reply-chunk-unused-nomsg",
    "long-reply-roundup",
    "ddp-not-eligible",
    "gss-reduced",
    "rdma-read-bounds",
    "rdma-write-bounds",
    "rdma-write-after-reply",
    "read-not-pulled",
    "handle-shared",
    "invalidate-foreign",
    "pull-not-notified",
    "private-data-version",
    "private-data-absent",
    "reverse-credit",
    "reverse-version",
    "v2-version-changed",
    "answer",
    "v2-reserved-flag",
    "v2-response-flag",
    "v2-more-type",
    "v2-more-sequence",
    "v2-more-chunks",
    "v2-tpmore",
    "v2-credit-zero",
    "v2-first-message",
    "v2-inv-handle",
    "v2-property",
    "v2-continuation",
    "v2-htype",
    "v2-xid-mismatch",
    "v2-no-payload",
    "v2-external",
    "v2-read-order",
    "v2-direction",
    "v2-grant-xid",
    "v2-trailing",
];

/// For each rule what breaks it where `bad`, and does not else.
fn cases() -> impl Iterator<Item = &'static Case> {
    let families = [
        framing::CASES,
        credits::CASES,
        read_list::CASES,
        write_list::CASES,
        memory::CASES,
        setup::CASES,
        answers::CASES,
        version_2::CASES,
    ];
    families.into_iter().flatten()
}

#[test]
fn the_tables_have_every_rule_once() {
    let rules: Vec<&str> = check::rules().map(|rule| rule.slug).collect();
    assert_eq!(rules.iter().copied().collect::<BTreeSet<_>>(), SLUGS.into_iter().collect());
    assert_eq!(rules.len(), SLUGS.len());
}

#[test]
fn every_rule_has_a_case() {
    let cases: BTreeSet<&str> = cases().map(|case| case.slug).collect();
    let without: Vec<&str> = check::rules().map(|rule| rule.slug).filter(|slug| !cases.contains(slug)).collect();
    assert!(without.is_empty(), "{without:?}");
}

#[test]
fn each_case_breaks_its_rule_alone_and_its_counterpart_none() {
    let mut wrong = Vec::new();
    for case in cases() {
        let besides: BTreeSet<&str> = case.besides.iter().copied().collect();
        for bad in [true, false] {
            let mut trace = Trace::new();
            (case.make)(&mut trace, bad);
            // The next messages have to be right as well.
            trace.null(0x99);
            let mut expected = besides.clone();
            expected.extend(bad.then_some(case.slug));
            let (found, counts) = judge(&trace.packets);
            let count = |rule| found.iter().filter(|found| found.rule.slug == rule).count() as u64;
            assert!(counts.iter().all(|Count { rule, broken, .. }| *broken == count(rule.slug)), "{}", case.slug);
            let found: BTreeSet<&str> = found.iter().map(|found| found.rule.slug).collect();
            let not_judged = counts.iter().filter(|count| count.not_judged > 0).map(|count| count.rule.slug);
            let not_judged: BTreeSet<&str> = not_judged.collect();
            let hidden = case.not_judged.iter().copied().collect();
            let is_expected = if bad { not_judged == hidden } else { not_judged.is_subset(&hidden) };
            if found != expected || !is_expected {
                let which = if bad { "broken" } else { "not broken" };
                wrong.push(format!("{} {which}: {found:?}, not judged: {not_judged:?}", case.slug));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

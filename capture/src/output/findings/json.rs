//! Findings as JSON objects, one on a line.

use std::io;

use serde::Serialize;

use super::totals::{Excused, RuleTotals, Totals};
use crate::check::Found;
use crate::file::Files;
use crate::output::json::{Hex32, PlaceObject, is_false, write_line};

pub(super) fn finding(out: &mut impl io::Write, found: &Found, files: &Files, is_in_baseline: bool) -> io::Result<()> {
    write_line(out, &FindingObject { baseline: is_in_baseline, ..FindingObject::new(found, files) })
}

/// What became of the rules that were broken, or could not always be judged.
pub(super) fn summary(out: &mut impl io::Write, totals: &Totals, excused: &Excused) -> io::Result<()> {
    let rules = totals.noteworthy().map(RuleObject::new).collect();
    let Totals { errors, warnings, hazards, known, .. } = *totals;
    let baseline = excused.baseline.as_ref().map(|_| excused.in_baseline);
    write_line(out, &SummaryObject { r#type: "summary", errors, warnings, hazards, known, baseline, rules })
}

#[derive(Serialize)]
struct FindingObject<'a> {
    r#type: &'static str,
    rule: &'static str,
    severity: &'static str,
    #[serde(flatten)]
    place: PlaceObject<'a>,
    blame: &'static str,
    rdma_xid: Option<Hex32>,
    offset: Option<usize>,
    section: &'static str,
    message: &'a str,
    /// The implementation that is known to do this.
    #[serde(skip_serializing_if = "Option::is_none")]
    known: Option<&'static str>,
    /// Whether the baseline has it.
    #[serde(skip_serializing_if = "is_false")]
    baseline: bool,
}

impl<'a> FindingObject<'a> {
    fn new(found: &'a Found, files: &'a Files) -> Self {
        Self {
            r#type: "finding",
            rule: found.rule.slug,
            severity: found.severity.name(),
            place: PlaceObject::new(found.stamp, found.connection, (found.from, found.to), files),
            blame: found.blame.name(),
            rdma_xid: found.xid.map(Hex32),
            offset: found.offset,
            section: found.rule.section,
            message: &found.message,
            known: found.known().map(|known| known.implementation.name()),
            baseline: false,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[derive(Serialize)]
struct SummaryObject {
    r#type: &'static str,
    errors: u64,
    warnings: u64,
    hazards: u64,
    /// How many findings are known of an implementation: they are among the others, unless they are excused.
    #[serde(skip_serializing_if = "is_zero")]
    known: u64,
    /// How many findings the baseline has; they are not among the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline: Option<u64>,
    rules: Vec<RuleObject>,
}

#[derive(Serialize)]
struct RuleObject {
    rule: &'static str,
    errors: u64,
    warnings: u64,
    hazards: u64,
    not_judged: u64,
    #[serde(skip_serializing_if = "is_zero")]
    known: u64,
}

impl RuleObject {
    const fn new(totals: &RuleTotals) -> Self {
        let RuleTotals { rule, errors, warnings, hazards, not_judged, known, .. } = *totals;
        Self { rule: rule.slug, errors, warnings, hazards, not_judged, known }
    }
}

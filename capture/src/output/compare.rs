//! Two captures side by side: what became slower or faster, and which rules are broken now.

use std::collections::{BTreeMap, BTreeSet};
use std::{fmt, io};

use rpcrdma::rules::Severity;
use serde::Serialize;

use super::json::{Record, write_record};
use super::operation_name::OperationName;
use super::stats::rank::{self, Chance};
use super::stats::text::grouped;
use super::stats::{Forms, Histogram, Latency, Moved, NAMES, failure};
use super::style::{DIM, FAULT, Line, NAME, PLAIN, REPLY, WARNING, wrapped};
use crate::check::Found;
use crate::rpc::transaction::{Half, Transaction};

/// Columns of a line.
const WIDTH: usize = 120;
/// Columns of an operation's name.
const OPERATION: usize = 24;
/// Before what else changed of an operation.
const INDENT: &str = "    ";

/// What is counted in one capture.
#[derive(Debug, Default)]
pub struct Comparand {
    operations: BTreeMap<String, PerOperation>,
    /// RPCs of operations beyond those in the list.
    left_out: u64,
    /// Findings by rule and severity.
    findings: BTreeMap<(&'static str, Severity), u64>,
}

/// The RPCs of one operation.
#[derive(Clone, Debug, Default)]
struct PerOperation {
    rpcs: u64,
    failed: u64,
    latency: Histogram,
    moved: Moved,
    calls: Forms,
    replies: Forms,
}

impl Comparand {
    /// Takes an RPC.
    pub fn transaction(&mut self, transaction: &Transaction) {
        let name = OperationName::of_transaction(transaction).to_string();
        if self.operations.len() >= NAMES && !self.operations.contains_key(&name) {
            self.left_out += 1;
            return;
        }
        let operation = self.operations.entry(name).or_default();
        operation.rpcs += 1;
        operation.failed += u64::from(transaction.status.is_some_and(|status| failure(transaction, status).is_some()));
        operation.moved.put(transaction.read_octets, transaction.write_octets);
        transaction.latency().iter().for_each(|latency| operation.latency.record(*latency));
        for (half, forms) in [(&transaction.call, &mut operation.calls), (&transaction.reply, &mut operation.replies)] {
            if let Some(Half { form, message: Ok(_), .. }) = half {
                forms.put(*form);
            }
        }
    }

    /// Takes a finding.
    pub fn finding(&mut self, found: &Found) {
        *self.findings.entry((found.rule.slug, found.severity)).or_default() += 1;
    }
}

/// What differs between two captures.
#[derive(Debug)]
pub struct Comparison {
    operations: Vec<ComparedOperation>,
    findings: Vec<ComparedRule>,
    left_out: u64,
}

/// An operation before and after.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct ComparedOperation {
    /// The procedure, or the operation that a COMPOUND is about, such as `NFSv4 READ`.
    operation: String,
    /// Its numbers in the first capture; null if that has none.
    before: Option<ComparandObject>,
    /// Its numbers in the second capture.
    after: Option<ComparandObject>,
    /// The growth of the median, as a fraction of the median before.
    p50_change: Option<f64>,
    /// The growth of the 99th percentile, as a fraction of what it was before.
    p99_change: Option<f64>,
    /// How likely it is that a difference as large as this is chance, by a rank test.
    #[serde(serialize_with = "as_name")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    significance: Chance,
    /// What became of the latency.
    outcome: Outcome,
}

impl Record for ComparedOperation {
    const TYPE: &'static str = "compared_operation";
}

/// How the latency of an operation changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
enum Outcome {
    /// The difference is real and larger than what is tolerated.
    Slower,
    /// The same, in the other direction.
    Faster,
    /// The difference may be chance, or is tolerated.
    Same,
    /// It cannot be told: there are too few RPCs.
    Unknown,
    /// Only the first capture has it.
    Gone,
    /// Only the second capture has it.
    New,
}

/// The numbers of an operation in one capture.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ComparandObject {
    /// RPCs.
    rpcs: u64,
    /// Those that failed.
    failed: u64,
    /// Nanoseconds that half of them did not exceed, to one in a hundred; null if no latency is known.
    p50_ns: Option<u64>,
    /// Nanoseconds that 99 of 100 did not exceed.
    p99_ns: Option<u64>,
    /// Octets that were moved for them by RDMA Read.
    rdma_read_octets: u64,
    /// Octets that were moved for them by RDMA Write.
    rdma_write_octets: u64,
    /// How their calls were sent.
    calls_sent: Forms,
    /// How their replies were sent.
    replies_sent: Forms,
}

/// How often a rule was broken before and after.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct ComparedRule {
    /// The name of the rule: `check --explain` explains it.
    rule: &'static str,
    /// `error`, `warning` or `hazard`.
    severity: &'static str,
    /// Findings in the first capture.
    before: u64,
    /// Findings in the second capture.
    after: u64,
}

impl Record for ComparedRule {
    const TYPE: &'static str = "compared_rule";
}

impl Comparison {
    /// Compares two captures. A median may grow by `tolerance`, a fraction of what it was.
    #[must_use]
    pub fn new(before: &Comparand, after: &Comparand, tolerance: f64) -> Self {
        let names: BTreeSet<_> = before.operations.keys().chain(after.operations.keys()).collect();
        let operations = names.into_iter().map(|name| {
            ComparedOperation::new(name, before.operations.get(name), after.operations.get(name), tolerance)
        });
        let mut operations: Vec<_> = operations.collect();
        let rpcs = |side: &Option<ComparandObject>| side.as_ref().map_or(0, |operation| operation.rpcs);
        operations.sort_by_key(|operation| u64::MAX - rpcs(&operation.before).max(rpcs(&operation.after)));
        let rules: BTreeSet<_> = before.findings.keys().chain(after.findings.keys()).collect();
        let times = |side: &Comparand, key| side.findings.get(key).copied().unwrap_or_default();
        let findings = rules.into_iter().map(|key| ComparedRule {
            rule: key.0,
            severity: key.1.name(),
            before: times(before, key),
            after: times(after, key),
        });
        Self { operations, findings: findings.collect(), left_out: before.left_out + after.left_out }
    }

    /// Whether the second capture is worse: an operation became slower than is tolerated, or a rule is broken (severity
    /// error) that the first did not break.
    #[must_use]
    pub fn is_regression(&self) -> bool {
        self.operations.iter().any(|operation| operation.outcome == Outcome::Slower)
            || self.findings.iter().any(ComparedRule::is_new_error)
    }

    /// RPCs of operations beyond as many as are told apart.
    #[must_use]
    pub const fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Writes a JSON object and a line feed for each operation, and for each rule that is broken in either capture.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_json(&self, out: &mut impl io::Write) -> io::Result<()> {
        self.operations.iter().try_for_each(|operation| write_record(out, operation))?;
        self.findings.iter().try_for_each(|finding| write_record(out, finding))
    }

    /// Writes a table, in lines of at most 120 columns.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_text(&self, out: &mut impl io::Write, colour: bool) -> io::Result<()> {
        let mut line = Line::new(colour, WIDTH);
        line.column(DIM, "operation", OPERATION);
        line.push(DIM, &format!("{:>15}  {:>21}  {:>6}  {:>21}  chance", "RPCs", "median, ms", "change", "99 %, ms"));
        line.write(out)?;
        for operation in &self.operations {
            operation.line(out, colour)?;
            for text in wrapped(&operation.travelled().join("; "), WIDTH - INDENT.len()) {
                let mut line = Line::new(colour, WIDTH);
                line.push(DIM, INDENT);
                line.push(PLAIN, &text);
                line.write(out)?;
            }
        }
        if self.left_out > 0 {
            let mut line = Line::new(colour, WIDTH);
            line.push(DIM, &format!("{} RPCs of other operations left out", self.left_out));
            line.write(out)?;
        }
        for finding in &self.findings {
            let mut line = Line::new(colour, WIDTH);
            let style = if finding.is_new_error() { FAULT } else { PLAIN };
            let ComparedRule { rule, severity, before, after, .. } = finding;
            line.push(style, &format!("{rule} ({severity}): {before} before, {after} after"));
            line.write(out)?;
        }
        Ok(())
    }
}

impl ComparedRule {
    fn is_new_error(&self) -> bool {
        self.severity == Severity::Error.name() && self.before == 0
    }
}

impl ComparedOperation {
    fn new(name: &str, before: Option<&PerOperation>, after: Option<&PerOperation>, tolerance: f64) -> Self {
        let significance = match (before, after) {
            (Some(before), Some(after)) => rank::compare(&before.latency, &after.latency),
            _ => Chance::TooFew,
        };
        let is_here = (before.is_some(), after.is_some());
        let [before, after] = [before, after].map(|side| side.map(ComparandObject::new));
        let change = |of: fn(&ComparandObject) -> Option<u64>| {
            let value = |side: &Option<ComparandObject>| side.as_ref().and_then(of);
            let (before, after) = (value(&before)? as f64, value(&after)? as f64);
            (before > 0.0).then(|| (after - before) / before)
        };
        let (p50_change, p99_change) = (change(|side| side.p50_ns), change(|side| side.p99_ns));
        let outcome = match (is_here, p50_change) {
            ((true, false), _) => Outcome::Gone,
            ((false, _), _) => Outcome::New,
            (_, None) => Outcome::Unknown,
            _ if significance == Chance::TooFew => Outcome::Unknown,
            (_, Some(change)) if significance.is_significant() && change > tolerance => Outcome::Slower,
            (_, Some(change)) if significance.is_significant() && change < -tolerance => Outcome::Faster,
            _ => Outcome::Same,
        };
        let operation = name.to_owned();
        Self { operation, before, after, p50_change, p99_change, significance, outcome }
    }

    /// What changed of how its RPCs travelled and failed. That there are more of them, or fewer, is not a change.
    fn travelled(&self) -> Vec<String> {
        let (Some(before), Some(after)) = (&self.before, &self.after) else { return Vec::new() };
        let mut changes = Vec::new();
        for (name, before, after) in
            [("calls", before.calls_sent, after.calls_sent), ("replies", before.replies_sent, after.replies_sent)]
        {
            if !before.is_in_proportion_to(after) {
                changes.push(format!("{name} {before} → {after}"));
            }
        }
        for (name, octets, octets_after) in [
            ("RDMA Read", before.rdma_read_octets, after.rdma_read_octets),
            ("RDMA Write", before.rdma_write_octets, after.rdma_write_octets),
        ] {
            if is_changed((octets, before.rpcs), (octets_after, after.rpcs)) {
                let [mean, mean_after] = [(octets, before.rpcs), (octets_after, after.rpcs)]
                    .map(|(octets, rpcs)| grouped(octets.checked_div(rpcs).unwrap_or(0)));
                changes.push(format!("{name} {mean} → {mean_after} octets per RPC"));
            }
        }
        if is_changed((before.failed, before.rpcs), (after.failed, after.rpcs)) {
            changes.push(format!("failed {} → {}", before.failed, after.failed));
        }
        changes
    }

    fn line(&self, out: &mut impl io::Write, colour: bool) -> io::Result<()> {
        let sides = [&self.before, &self.after];
        let rpcs = sides.map(|side| side.as_ref().map_or("-".to_owned(), |side| side.rpcs.to_string()));
        let time = |of: fn(&ComparandObject) -> Option<u64>| {
            sides.map(|side| side.as_ref().and_then(of).map_or("-".to_owned(), in_milliseconds))
        };
        let (medians, p99s) = (time(|side| side.p50_ns), time(|side| side.p99_ns));
        let change = self.p50_change.map_or("-".to_owned(), |change| format!("{:+.0} %", change * 100.0));
        let (style, outcome) = match self.outcome {
            Outcome::Slower => (FAULT, "slower"),
            Outcome::Faster => (REPLY, "faster"),
            Outcome::Same => (PLAIN, ""),
            Outcome::Unknown => (DIM, ""),
            Outcome::Gone => (WARNING, "only before"),
            Outcome::New => (WARNING, "only after"),
        };
        let significance = match self.outcome {
            Outcome::Gone | Outcome::New => "",
            _ => self.significance.name(),
        };
        let mut line = Line::new(colour, WIDTH);
        line.column(NAME, &self.operation, OPERATION);
        let [before, after] = rpcs;
        line.push(PLAIN, &format!("{before:>6} → {after:>6}  "));
        let [before, after] = medians;
        line.push(PLAIN, &format!("{before:>9} → {after:>9}  "));
        line.push(style, &format!("{change:>6}  "));
        let [before, after] = p99s;
        line.push(PLAIN, &format!("{before:>9} → {after:>9}  "));
        line.push(DIM, significance);
        line.push(style, if outcome.is_empty() || significance.is_empty() { "" } else { "  " });
        line.push(style, outcome);
        line.write(out)
    }
}

impl ComparandObject {
    fn new(operation: &PerOperation) -> Self {
        let PerOperation { rpcs, failed, latency, moved, calls, replies } = operation;
        let latency = Latency::new(latency);
        Self {
            rpcs: *rpcs,
            failed: *failed,
            p50_ns: latency.map(|latency| latency.p50_ns),
            p99_ns: latency.map(|latency| latency.p99_ns),
            rdma_read_octets: moved.read_octets,
            rdma_write_octets: moved.write_octets,
            calls_sent: *calls,
            replies_sent: *replies,
        }
    }
}

/// Whether the part of a whole is another before and after. Nothing is known of a whole of nothing.
fn is_changed((part, whole): (u64, u64), (part_after, whole_after): (u64, u64)) -> bool {
    whole > 0
        && whole_after > 0
        && u128::from(part) * u128::from(whole_after) != u128::from(part_after) * u128::from(whole)
}

impl Forms {
    const fn each(self) -> [(u64, &'static str); 4] {
        let Self { short, chunked, long, continued } = self;
        [(short, "short"), (chunked, "chunked"), (long, "long"), (continued, "continued")]
    }

    fn is_in_proportion_to(self, other: Self) -> bool {
        let sum = |forms: Self| forms.each().iter().map(|(many, _)| many).sum();
        let (whole, other_whole) = (sum(self), sum(other));
        let pairs = self.each().into_iter().zip(other.each());
        !pairs.into_iter().any(|((many, _), (other, _))| is_changed((many, whole), (other, other_whole)))
    }
}

impl fmt::Display for Forms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let there = self.each().into_iter().filter(|(many, _)| *many > 0);
        for (index, (many, form)) in there.enumerate() {
            write!(f, "{}{many} {form}", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

fn in_milliseconds(nanoseconds: u64) -> String {
    format!("{:.3}", nanoseconds as f64 / 1e6)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn as_name<S: serde::Serializer>(chance: &Chance, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(chance.name())
}

//! Two captures side by side: what fails, is retransmitted or is slower now, and which rules are broken now.

mod chance;
mod fault;
mod operation;
mod rank;
mod series;
#[cfg(test)]
mod simulation;
mod text;
mod total;

use std::io;

use rpcrdma::rules::Severity;
use rpcrdma_dissector::{Found, Report, Time, Transaction};
use serde::Serialize;

use crate::operation_name::OperationName;
use crate::record::JsonRecord;
use crate::small_map::SmallMap;
use crate::stats::NAMES;
use operation::{Faults, PerOperation};
use total::{ComparedSide, PacketCounts};

pub(crate) use chance::{Chance, Limit};
pub(crate) use operation::ComparedOperation;
pub(crate) use rank::compare_ranks;
pub(crate) use series::{Random, Sample};
#[cfg(test)]
pub(crate) use simulation::Noise;
pub(crate) use total::ComparedTotal;

/// Counts of one capture.
#[derive(Debug, Default)]
pub struct Comparand {
    operations: SmallMap<String, PerOperation>,
    /// RPCs of operations beyond those in the list.
    left_out: u64,
    packets: PacketCounts,
    /// Findings by rule and severity.
    findings: SmallMap<(&'static str, Severity), u64>,
    /// Time of the last frame.
    ended: Time,
}

impl Comparand {
    /// Takes an RPC.
    pub fn transaction(&mut self, transaction: &Transaction) {
        let name = OperationName::of_transaction(transaction).to_string();
        match self.operations.value(name, NAMES) {
            Some(operation) => operation.add_rpc(transaction),
            None => self.left_out += 1,
        }
    }

    /// Takes a connection.
    pub const fn connection(&mut self, report: &Report) {
        if report.number.is_some() {
            self.packets.add_counts(&report.counts.active);
            self.packets.add_counts(&report.counts.passive);
        }
    }

    /// Takes a finding.
    pub fn finding(&mut self, found: &Found) {
        self.findings.add_amount((found.rule.slug, found.severity), 1, usize::MAX);
    }

    /// Takes the time of the last frame.
    pub const fn end_at(&mut self, last: Time) {
        self.ended = last;
    }
}

/// Differences between two captures.
#[derive(Debug)]
pub struct Comparison {
    total: ComparedTotal,
    operations: Vec<ComparedOperation>,
    /// Tests of the operations.
    tests: usize,
    findings: Vec<ComparedRule>,
    /// RPCs of operations beyond as many as are told apart.
    pub left_out: u64,
}

/// Number of times that a rule was broken before and after.
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

impl ComparedRule {
    fn is_new_error(&self) -> bool {
        self.severity == Severity::Error.name() && self.before == 0
    }
}

/// The keys of either map, in order.
fn both_keys<'a, K: Ord, V>(before: &'a SmallMap<K, V>, after: &'a SmallMap<K, V>) -> Vec<&'a K> {
    let mut keys: Vec<_> = before.keys().chain(after.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

impl Comparison {
    /// Compares two captures. A percentile of the latency, and the share of RPCs with a fault, may grow by `tolerance`, a fraction of the earlier value.
    #[must_use]
    pub fn new(before: &Comparand, after: &Comparand, tolerance: f64) -> Self {
        let names = both_keys(&before.operations, &after.operations);
        let mut operations = Vec::with_capacity(names.len());
        let mut totals = [Faults::default(); 2];
        for name in names {
            let sides = [before, after].map(|side| (side.operations.get(name), side.ended));
            let (compared, faults) = ComparedOperation::new(name, sides, tolerance);
            operations.push(compared);
            totals.iter_mut().zip(&faults).for_each(|(total, faults)| total.add_counts(faults));
        }
        let tests: Vec<Chance> = operations.iter().flat_map(ComparedOperation::tests).collect();
        let limit = Limit::of_all(&tests);
        operations.iter_mut().for_each(|operation| operation.judge(limit, tolerance));
        let rpcs = |operation: &ComparedOperation| {
            [&operation.before, &operation.after].map(|side| side.as_ref().map_or(0, |side| side.rpcs))
        };
        operations.sort_by_key(|operation| core::cmp::Reverse(rpcs(operation).into_iter().max()));
        let [total_before, total_after] = &totals;
        let total_before = ComparedSide { faults: total_before, packets: before.packets };
        let total_after = ComparedSide { faults: total_after, packets: after.packets };
        let total = ComparedTotal::new(&total_before, &total_after, tolerance);
        let rules = both_keys(&before.findings, &after.findings);
        let times = |side: &Comparand, key| side.findings.get(key).copied().unwrap_or_default();
        let findings = rules.into_iter().map(|key| ComparedRule {
            rule: key.0,
            severity: key.1.name(),
            before: times(before, key),
            after: times(after, key),
        });
        Self {
            total,
            operations,
            tests: tests.len(),
            findings: findings.collect(),
            left_out: before.left_out + after.left_out,
        }
    }

    /// Returns true if the second capture is worse: more calls are unanswered, RPCs fail or packets are retransmitted, an operation
    /// became slower, or a rule is broken (severity error) that the first did not break.
    ///
    /// Chance alone makes the result `true` in at most 1 of 100 comparisons. The tests of all operations share half of that.
    /// The tests of the total have the other half alone, so a total of many operations is judged as strictly as the total of
    /// one. Calls without a reply in the second capture only are a regression, even if there is only one.
    #[must_use]
    pub fn is_regression(&self) -> bool {
        self.total.regression
            || self.operations.iter().any(|operation| operation.regression)
            || self.findings.iter().any(ComparedRule::is_new_error)
    }

    /// Writes a JSON object and a line feed for the totals, for each operation, and for each rule that is broken in
    /// either capture.
    ///
    /// # Errors
    /// Any error from writing to `out`.
    pub fn write_json(&self, out: &mut impl io::Write) -> io::Result<()> {
        self.total.write_json(out)?;
        self.operations.iter().try_for_each(|operation| operation.write_json(out))?;
        self.findings.iter().try_for_each(|finding| finding.write_json(out))
    }
}

fn as_name<S: serde::Serializer>(chance: &Chance, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(chance.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newly_broken_rule_is_a_regression_if_an_error() {
        let broken = |severity, times| {
            let mut comparand = Comparand::default();
            (times > 0).then(|| comparand.findings.add_amount(("rule", severity), times, 1));
            comparand
        };
        for (severity, before, after, expected) in [
            (Severity::Error, 0, 1, true),
            (Severity::Error, 1, 2, false),
            (Severity::Error, 1, 0, false),
            (Severity::Warning, 0, 1, false),
            (Severity::Hazard, 0, 1, false),
        ] {
            let compared = Comparison::new(&broken(severity, before), &broken(severity, after), 0.1);
            assert_eq!(compared.is_regression(), expected, "{severity:?} {before} {after}");
        }
    }
}

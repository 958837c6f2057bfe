//! Findings for each rule, and totals of all rules.

use std::collections::BTreeSet;

use rpcrdma::rules::Rule;

#[cfg(feature = "json")]
use super::baseline::Baseline;
use crate::check::{Count, Implementation};

/// The most connections that are counted per rule.
pub(super) const CONNECTIONS: usize = 4096;

/// Findings that are counted and not held against anyone: known deviations of implementations, and a baseline.
#[derive(Debug, Default)]
pub(super) struct Excused {
    pub(super) implementations: Vec<Implementation>,
    /// Findings that are such deviations.
    pub(super) found: u64,
    #[cfg(feature = "json")]
    pub(super) baseline: Option<Baseline>,
    /// Other findings that the baseline has.
    pub(super) in_baseline: u64,
}

/// Findings for one rule.
#[derive(Debug)]
pub(super) struct Counted {
    pub(super) rule: &'static Rule,
    /// Errors, warnings, hazards, except those that are excused.
    pub(super) found: [u64; 3],
    /// Findings that are known of an implementation.
    pub(super) known: u64,
    /// The connections that broke it, the first [`CONNECTIONS`] of them.
    pub(super) connections: BTreeSet<u32>,
}

/// Totals of all rules.
pub(super) struct Totals {
    pub(super) rules: Vec<RuleTotals>,
}

impl Totals {
    /// Rules that were broken, or could not always be judged.
    pub(super) fn noteworthy(&self) -> impl Iterator<Item = &RuleTotals> {
        self.rules.iter().filter(|rule| rule.is_broken() || rule.known + rule.not_judged > 0)
    }
}

/// Totals of a rule.
pub(super) struct RuleTotals {
    pub(super) rule: &'static Rule,
    pub(super) errors: u64,
    pub(super) warnings: u64,
    pub(super) hazards: u64,
    pub(super) not_judged: u64,
    pub(super) known: u64,
    pub(super) connections: usize,
}

impl RuleTotals {
    pub(super) fn new(count: &Count, counted: Option<&Counted>) -> Self {
        let [errors, warnings, hazards] = counted.map_or([0; 3], |counted| counted.found);
        Self {
            rule: count.rule,
            errors,
            warnings,
            hazards,
            not_judged: count.not_judged,
            known: counted.map_or(0, |counted| counted.known),
            connections: counted.map_or(0, |counted| counted.connections.len()),
        }
    }

    pub(super) const fn is_broken(&self) -> bool {
        self.errors + self.warnings + self.hazards > 0
    }
}

//! Findings for each rule, and totals of all rules.

use std::collections::BTreeSet;

use rpcrdma::rules::Rule;
use rpcrdma_dissector::check::{Count, Implementation};

use super::baseline::Baseline;

/// Part of a capture that findings are about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FindingsScope {
    /// The whole capture.
    #[default]
    Capture,
    /// A selection.
    Selection,
    /// A selection in which there is nothing.
    Nothing,
}

/// The most connections that are counted per rule.
pub(super) const CONNECTIONS: usize = 4096;

/// Findings that are counted and not held against anyone: known deviations of implementations, and a baseline.
#[derive(Debug, Default)]
pub(super) struct Excused {
    pub(super) implementations: Vec<Implementation>,
    /// Findings that are such deviations.
    pub(super) found: u64,
    pub(super) baseline: Option<Baseline>,
    /// Other findings that the baseline has.
    pub(super) in_baseline: u64,
}

/// Findings for one rule.
#[derive(Debug)]
pub(super) struct Counted {
    pub(super) rule: &'static Rule,
    /// Errors, warnings, hazards, except excused ones.
    pub(super) found: [u64; 3],
    /// Findings that are known of an implementation.
    pub(super) known_deviations: u64,
    /// The first [`CONNECTIONS`] connections that broke the rule.
    pub(super) connections: BTreeSet<u32>,
}

/// Results for a rule that was broken, or could not always be judged.
#[derive(serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct RuleTotals {
    /// The name of the rule: `check --explain` explains the rule.
    pub(super) rule: &'static str,
    /// Findings of severity error, except for excused ones (`--known`, `--baseline`).
    pub(super) errors: u64,
    /// Findings of severity warning, with the same exceptions.
    pub(super) warnings: u64,
    /// Findings of severity hazard, with the same exceptions.
    pub(super) hazards: u64,
    /// Number of cases that could not be judged from the capture.
    pub(super) not_judged: u64,
    /// Findings that are known deviations of an implementation; the other counts include the ones that are not excused.
    pub(super) known_deviations: u64,
    #[serde(skip)]
    pub(super) connections: usize,
}

impl RuleTotals {
    pub(super) fn new(count: &Count, counted: Option<&Counted>) -> Self {
        let [errors, warnings, hazards] = counted.map_or([0; 3], |counted| counted.found);
        Self {
            rule: count.rule.slug,
            errors,
            warnings,
            hazards,
            not_judged: count.not_judged,
            known_deviations: counted.map_or(0, |counted| counted.known_deviations),
            connections: counted.map_or(0, |counted| counted.connections.len()),
        }
    }

    pub(super) const fn is_broken(&self) -> bool {
        self.errors + self.warnings + self.hazards > 0
    }

    /// Returns true if the rule was broken, or could not always be judged.
    pub(super) const fn is_noteworthy(&self) -> bool {
        self.is_broken() || self.known_deviations + self.not_judged > 0
    }
}

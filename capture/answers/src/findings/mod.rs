//! Findings of the checker as text and as JSON, and the outcome for each rule.

mod baseline;
mod explain;
mod record;
pub(crate) mod text;
mod totals;

use std::collections::BTreeSet;
use std::io;

use rpcrdma::rules::Rule;
use rpcrdma::rules::Severity;
use rpcrdma_dissector::check::{Count, Deviation, Implementation};
use rpcrdma_dissector::{Files, Found, Time};

use crate::format::time::ShownTimes;
use crate::gaps::Gap;
use crate::record::JsonRecord as _;
pub use baseline::{Baseline, BaselineError};
pub use explain::{explain, list};
pub(super) use record::FindingObject;
pub use record::FindingTotals;
use text::FindingsText;
pub(crate) use text::text_columns;
pub use totals::FindingsScope;
pub(super) use totals::RuleTotals;
use totals::{CONNECTIONS, Counted, Excused};

/// Writes and counts findings.
///
/// As text, findings that say the same are folded: the first is written, and the others are counted.
#[derive(Debug)]
pub struct Findings {
    form: FindingsForm,
    excused: Excused,
    counts: Vec<Counted>,
    gap: Option<Gap>,
    scope: FindingsScope,
    capture_file: Option<String>,
}

/// Form in which findings are written.
#[derive(Debug)]
enum FindingsForm {
    Text(FindingsText),
    Json,
}

impl Findings {
    /// As text, with colour or without.
    #[must_use]
    pub fn text(colour: bool) -> Self {
        Self::new(FindingsForm::Text(FindingsText::new(colour)))
    }

    /// As JSON, one object per line.
    #[must_use]
    pub fn json() -> Self {
        Self::new(FindingsForm::Json)
    }

    fn new(form: FindingsForm) -> Self {
        Self {
            form,
            excused: Excused::default(),
            counts: Vec::new(),
            gap: None,
            scope: FindingsScope::default(),
            capture_file: None,
        }
    }

    /// Names the file that the findings are about in each record, where several captures are read.
    #[must_use]
    pub fn of_capture(self, capture_file: Option<String>) -> Self {
        Self { capture_file, ..self }
    }

    /// Leaves the known deviations of these implementations out of the text, and out of the [`errors`](Self::errors).
    #[must_use]
    pub fn excusing(self, implementations: Vec<Implementation>) -> Self {
        Self { excused: Excused { implementations, ..self.excused }, ..self }
    }

    /// Leaves what a baseline has out of the text, and out of the [`errors`](Self::errors).
    #[must_use]
    pub fn beyond(self, baseline: Baseline) -> Self {
        Self { excused: Excused { baseline: Some(baseline), ..self.excused }, ..self }
    }

    /// Shows times in this form. JSON always has the times of the capture.
    #[must_use]
    pub const fn with_times(mut self, times: ShownTimes) -> Self {
        match &mut self.form {
            FindingsForm::Text(text) => text.lines.times = times.starting_at(text.lines.times.start),
            FindingsForm::Json => {}
        }
        self
    }

    /// Sets the time of the first frame.
    pub const fn starts_at(&mut self, start: Time) {
        match &mut self.form {
            FindingsForm::Text(text) => text.lines.times = text.lines.times.starting_at(start),
            FindingsForm::Json => {}
        }
    }

    /// Takes the part of the capture that the findings are about.
    pub const fn about(&mut self, scope: FindingsScope) {
        self.scope = scope;
    }

    /// Takes the gravest gap of the capture: with a gap, the [`summary`](Self::summary) does not claim that no rule is broken.
    pub const fn lacking(&mut self, gap: Option<Gap>) {
        self.gap = gap;
    }

    /// Number of errors among the findings, except excused findings.
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.counts.iter().map(|Counted { found: [errors, ..], .. }| errors).sum()
    }

    /// Writes a finding, unless an equal finding was written before.
    ///
    /// # Errors
    /// Any error from writing to `out`.
    pub fn finding(&mut self, out: &mut impl io::Write, found: &Found, files: &Files) -> io::Result<()> {
        let taken = self.count_finding(found);
        match &mut self.form {
            FindingsForm::Text(_) if taken.0 => Ok(()),
            FindingsForm::Text(text) => text.finding(out, found, files),
            FindingsForm::Json => {
                let record = FindingObject::new(found, files, taken.1);
                record.write_json_of(self.capture_file.as_deref(), out)
            }
        }
    }

    /// Takes note of a finding that is written elsewhere. Returns true if the baseline has the finding.
    pub fn written_elsewhere(&mut self, found: &Found) -> bool {
        self.count_finding(found).1
    }

    /// Counts a finding. Returns true for an excused finding, and true if the baseline has the finding.
    fn count_finding(&mut self, found: &Found) -> (bool, bool) {
        let known = found.accepted_deviation();
        let is_accepted = known.is_some_and(|known| self.excused.implementations.contains(&known.implementation));
        let is_in_baseline = self.excused.baseline.as_ref().is_some_and(|baseline| baseline.contains(found));
        self.excused.found += u64::from(is_accepted);
        self.excused.in_baseline += u64::from(is_in_baseline && !is_accepted);
        let is_excused = is_accepted || is_in_baseline;
        self.count(found, known, is_excused);
        (is_excused, is_in_baseline)
    }

    fn count(&mut self, found: &Found, known: Option<&Deviation>, is_excused: bool) {
        let all = self.counts.len();
        let place = self.counts.iter().position(|counted| core::ptr::eq(counted.rule, found.rule)).unwrap_or(all);
        if place == all {
            self.counts.push(Counted {
                rule: found.rule,
                found: [0; 3],
                known_deviations: 0,
                connections: BTreeSet::new(),
            });
        }
        let Some(counted) = self.counts.get_mut(place) else { return };
        if let Some(count) = counted.found.get_mut(found.severity as usize) {
            *count += u64::from(!is_excused);
        }
        counted.known_deviations += u64::from(known.is_some());
        if counted.connections.len() < CONNECTIONS {
            counted.connections.insert(found.connection);
        }
    }

    fn find_rule(&self, rule: &Rule) -> Option<&Counted> {
        self.counts.iter().find(|counted| core::ptr::eq(counted.rule, rule))
    }

    /// Number of findings there were.
    #[must_use]
    pub fn totals(&self) -> FindingTotals {
        let sum =
            |severity: Severity| self.counts.iter().filter_map(|counted| counted.found.get(severity as usize)).sum();
        FindingTotals {
            errors: sum(Severity::Error),
            warnings: sum(Severity::Warning),
            hazards: sum(Severity::Hazard),
            known_deviations: self.counts.iter().map(|counted| counted.known_deviations).sum(),
            baseline: self.excused.baseline.as_ref().map(|_| self.excused.in_baseline),
        }
    }

    /// Writes the outcome for each rule that was broken or could not always be judged.
    ///
    /// # Errors
    /// Any error from writing to `out`.
    pub fn summary(&self, out: &mut impl io::Write, counts: impl Iterator<Item = Count>) -> io::Result<()> {
        let rules: Vec<_> = counts.map(|count| RuleTotals::new(&count, self.find_rule(count.rule))).collect();
        match &self.form {
            FindingsForm::Text(text) => text.summary(out, &rules, &self.excused, self.gap, self.scope),
            FindingsForm::Json => {
                let mut noteworthy = rules.iter().filter(|rule| rule.is_noteworthy());
                noteworthy.try_for_each(|rule| rule.write_json_of(self.capture_file.as_deref(), out))
            }
        }
    }
}

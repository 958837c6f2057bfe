//! Findings as text: what says the same is written once.

use std::collections::HashSet;
use std::io;

use rpcrdma::rules::Severity;
use rpcrdma_dissector::check::Blame;
use rpcrdma_dissector::{Address, Files, Found, Time};

use super::totals::{CONNECTIONS, Excused, FindingsScope, RuleTotals};
use crate::format::column::{CellStyle, Column, TextColumn, push, push_xid};
use crate::format::line::{DIM, FAULT, NAME, PLAIN, WARNING, severity_style, wrapped};
use crate::format::screen::Screen;
use crate::gaps::Gap;
use crate::lines::{AddressPair, At, Lines, WIDTH};

/// Columns of the longest slug.
pub(super) const SLUG: usize = 25;
/// Columns of the longest name of a severity.
pub(super) const SEVERITY: usize = 7;
/// Columns of a rule in the summary, with the connections that broke the rule.
const RULE: usize = SLUG + 22;
/// The indentation of a finding's text, in columns.
const INDENT: usize = 9;
/// Maximum number of findings remembered for folding; beyond that, each finding is written.
const REMEMBERED: usize = 1024;

/// Writes findings as text. Among equal findings, the first is written, and the others are counted.
#[derive(Debug)]
pub(super) struct FindingsText {
    pub(super) lines: Lines,
    /// True if the first line was written.
    begun: bool,
    said: HashSet<Said>,
    folded: u64,
}

/// Fields that are equal in findings that are the same.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Said {
    rule: &'static str,
    severity: Severity,
    from: Address,
    blame: Blame,
    message: String,
}

/// The columns of a finding after the columns of the place.
pub(crate) const fn columns() -> [Column<Found>; 5] {
    [
        Column::left("broken by", &["blame"], 9, PLAIN, |found, _, text| text.push_str(found.blame.name())),
        Column::left("rdma_xid", &["rdma_xid"], 10, PLAIN, |found, _, text| match found.xid {
            Some(xid) => push_xid(text, xid),
            None => text.push('-'),
        }),
        Column {
            gap: 2,
            ..Column::right("octet", &["offset_octets"], 5, PLAIN, |found, _, text| push(text, found.offset))
        },
        Column {
            gap: 2,
            style: CellStyle::Of(|found| severity_style(found.severity)),
            ..Column::left("severity", &["severity"], SEVERITY, PLAIN, |found, _, text| {
                text.push_str(found.severity.name());
            })
        },
        Column::left("rule", &["rule"], 0, NAME, |found, _, text| text.push_str(found.rule.slug)),
    ]
}

pub(crate) fn text_columns() -> Vec<TextColumn> {
    Lines::text_columns(&["sender", "receiver"], &columns())
}

impl FindingsText {
    pub(super) fn new(colour: bool) -> Self {
        Self {
            lines: Lines::new(Screen { colour, columns: None }, Time::default()),
            begun: false,
            said: HashSet::new(),
            folded: 0,
        }
    }

    pub(super) fn finding(&mut self, out: &mut impl io::Write, found: &Found, files: &Files) -> io::Result<()> {
        let Found { rule, severity, from, blame, ref message, .. } = *found;
        let said = Said { rule: rule.slug, severity, from, blame, message: message.clone() };
        if self.said.contains(&said) {
            self.folded += 1;
            return Ok(());
        }
        if self.said.len() < REMEMBERED {
            self.said.insert(said);
        }
        self.line(out, found, files)
    }

    /// Writes a finding, and what is wrong in a line below.
    fn line(&mut self, out: &mut impl io::Write, found: &Found, files: &Files) -> io::Result<()> {
        let lines = &mut self.lines;
        let Found { rule, stamp, connection, from, to, .. } = *found;
        let at = At { stamp, connection, ends: AddressPair { from, to } };
        if !self.begun {
            self.begun = true;
            lines.heading(&at, files, &columns()).write(out)?;
        }
        let mut line = lines.begin_line(&at, files);
        line.cells(&columns(), found);
        line.write(out)?;
        let known = found
            .accepted_deviation()
            .map(|known| format!("; known deviation of {} {}", known.implementation.name(), known.versions));
        let text = format!("{} ({}{})", found.message, rule.section, known.unwrap_or_default());
        for text in wrapped(&text, WIDTH - INDENT) {
            lines.text(INDENT).with(PLAIN, &text).write(out)?;
        }
        Ok(())
    }

    pub(super) fn summary(
        &self,
        out: &mut impl io::Write,
        rules: &[RuleTotals],
        excused: &Excused,
        gap: Option<Gap>,
        scope: FindingsScope,
    ) -> io::Result<()> {
        self.left_out(out, excused)?;
        let lines = &self.lines;
        let mut line = lines.text(0);
        line.column(NAME, "Summary", RULE);
        line.push(DIM, "  errors  warnings  hazards  known  not judged");
        line.write(out)?;
        for rule in rules.iter().filter(|rule| rule.is_noteworthy()) {
            let mut line = lines.text(0);
            line.column(PLAIN, &format!("  {}{}", rule.rule, on_connections(rule.connections)), RULE);
            line.print(if rule.errors > 0 { FAULT } else { PLAIN }, format_args!("{:>8}", rule.errors));
            line.print(if rule.warnings > 0 { WARNING } else { PLAIN }, format_args!("{:>10}", rule.warnings));
            line.print(PLAIN, format_args!("{:>9}{:>7}{:>12}", rule.hazards, rule.known_deviations, rule.not_judged));
            line.write(out)?;
        }
        let sum = |of: fn(&RuleTotals) -> u64| rules.iter().map(of).sum::<u64>();
        let [errors, warnings, hazards] =
            [sum(|rule| rule.errors), sum(|rule| rule.warnings), sum(|rule| rule.hazards)];
        let [known, not_judged] = [sum(|rule| rule.known_deviations), sum(|rule| rule.not_judged)];
        let broken = rules.iter().filter(|rule| rule.is_broken()).count();
        let mut line = lines.text(0);
        let outcome = match (broken, gap, scope) {
            (_, Some(Gap::Empty), _) => "nothing to judge".to_owned(),
            (_, _, FindingsScope::Nothing) => "nothing selected".to_owned(),
            (0, Some(_), _) => "none found broken".to_owned(),
            (_, _, FindingsScope::Selection) => format!("{broken} in selection"),
            _ => format!("{broken} broken"),
        };
        line.column(PLAIN, &format!("  all {} rules, {outcome}", rules.len()), RULE);
        line.print(PLAIN, format_args!("{errors:>8}{warnings:>10}{hazards:>9}{known:>7}{not_judged:>12}"));
        line.write(out)
    }

    /// Findings that were not written, and why.
    fn left_out(&self, out: &mut impl io::Write, excused: &Excused) -> io::Result<()> {
        let names: Vec<&str> = excused.implementations.iter().map(|implementation| implementation.name()).collect();
        for (count, why) in [
            (self.folded, "like those above".to_owned()),
            (excused.in_baseline, "in the baseline".to_owned()),
            (excused.found, format!("accepted: known deviations of {}", names.join(", "))),
        ] {
            if count > 0 {
                self.lines.text(0).with(DIM, &format!("{count} more {why}; --json lists each")).write(out)?;
            }
        }
        Ok(())
    }
}

/// On how many connections, if on more than one.
fn on_connections(connections: usize) -> String {
    match connections {
        0 | 1 => String::new(),
        CONNECTIONS => format!(" ({connections} connections or more)"),
        _ => format!(" ({connections} connections)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_slug_is_wider_than_its_column() {
        assert_eq!(rpcrdma_dissector::check::rules().map(|rule| rule.slug.len()).max(), Some(SLUG));
    }
}

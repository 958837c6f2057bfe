//! Findings of the checker as text and as JSON, and what became of each rule.

use std::io;

use rpcrdma::rules::{Rule, Severity};
use serde::Serialize;

use super::json::{End, Hex32, Seconds};
use super::style::{DIM, FAULT, Line, NAME, PLAIN, WARNING};
use crate::check::{Count, Found};

/// Columns of the longest slug.
const SLUG: usize = 25;
/// Columns of the longest name of a severity.
const SEVERITY: usize = 7;
/// Columns of a line.
const WIDTH: usize = 120;

/// Writes findings, and counts those it has written.
#[derive(Debug, Default)]
pub struct Findings {
    colour: bool,
    json: bool,
    /// By rule: errors, warnings, hazards.
    counts: Vec<(&'static Rule, [u64; 3])>,
}

impl Findings {
    /// As text, with colour or without.
    #[must_use]
    pub fn text(colour: bool) -> Self {
        Self { colour, ..Self::default() }
    }

    /// As JSON, an object a line.
    #[must_use]
    pub fn json() -> Self {
        Self { json: true, ..Self::default() }
    }

    /// Errors among the findings that were written.
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.counts.iter().map(|(_, [errors, ..])| errors).sum()
    }

    /// Writes a finding.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn finding(&mut self, out: &mut impl io::Write, found: &Found) -> io::Result<()> {
        self.count(found);
        if self.json {
            serde_json::to_writer(&mut *out, &FindingObject::new(found))?;
            return out.write_all(b"\n");
        }
        let Found { rule, severity, stamp, connection, xid, offset, message, .. } = found;
        let mut line = Line::new(self.colour, usize::MAX);
        line.push(PLAIN, &format!("frame {:>6}  ", stamp.frame));
        line.column(style(*severity), severity.name(), 9);
        line.column(NAME, rule.slug, SLUG + 2);
        line.push(DIM, &format!("{}  ", rule.section));
        line.push(PLAIN, message);
        let xid = xid.map(|xid| format!(", xid {xid:#010x}")).unwrap_or_default();
        let offset = offset.map(|offset| format!(", octet {offset}")).unwrap_or_default();
        line.push(DIM, &format!("  (connection {connection}{xid}{offset})"));
        line.write(out)
    }

    fn count(&mut self, found: &Found) {
        let place = match self.counts.iter().position(|(rule, _)| core::ptr::eq(*rule, found.rule)) {
            Some(place) => place,
            None => {
                self.counts.push((found.rule, [0; 3]));
                self.counts.len() - 1
            }
        };
        if let Some(count) = self.counts.get_mut(place).and_then(|(_, counts)| counts.get_mut(found.severity as usize))
        {
            *count += 1;
        }
    }

    fn of(&self, rule: &Rule) -> [u64; 3] {
        self.counts.iter().find(|(known, _)| core::ptr::eq(*known, rule)).map_or([0; 3], |(_, counts)| *counts)
    }

    /// Writes what became of each rule: of those that were broken, or could not always be judged.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn summary(&self, out: &mut impl io::Write, counts: impl Iterator<Item = Count>) -> io::Result<()> {
        let rules: Vec<RuleObject> = counts.map(|count| RuleObject::new(&count, self.of(count.rule))).collect();
        let sum = |of: fn(&RuleObject) -> u64| rules.iter().map(of).sum::<u64>();
        let [errors, warnings, hazards] =
            [sum(|rule| rule.errors), sum(|rule| rule.warnings), sum(|rule| rule.hazards)];
        if self.json {
            let rules = rules.into_iter().filter(RuleObject::is_noteworthy).collect();
            serde_json::to_writer(&mut *out, &SummaryObject { r#type: "summary", errors, warnings, hazards, rules })?;
            return out.write_all(b"\n");
        }
        let judged = rules.len();
        let broken = rules.iter().filter(|rule| rule.errors + rule.warnings + rule.hazards > 0).count();
        let mut line = Line::new(self.colour, usize::MAX);
        line.column(NAME, "Summary", SLUG + 2);
        line.push(DIM, "  errors  warnings  hazards  not judged");
        line.write(out)?;
        for rule in rules.iter().filter(|rule| rule.is_noteworthy()) {
            let mut line = Line::new(self.colour, usize::MAX);
            line.column(PLAIN, &format!("  {}", rule.rule), SLUG + 2);
            line.push(if rule.errors > 0 { FAULT } else { PLAIN }, &format!("{:>8}", rule.errors));
            line.push(if rule.warnings > 0 { WARNING } else { PLAIN }, &format!("{:>10}", rule.warnings));
            line.push(PLAIN, &format!("{:>9}{:>12}", rule.hazards, rule.not_judged));
            line.write(out)?;
        }
        let mut line = Line::new(self.colour, usize::MAX);
        line.column(PLAIN, &format!("  all {judged} rules, {broken} broken"), SLUG + 2);
        line.push(PLAIN, &format!("{errors:>8}{warnings:>10}{hazards:>9}{:>12}", sum(|rule| rule.not_judged)));
        line.write(out)
    }
}

/// Writes what a rule says and why, as text.
///
/// # Errors
/// Those of `out`.
pub fn explain(out: &mut impl io::Write, rule: &Rule, colour: bool) -> io::Result<()> {
    let mut line = Line::new(colour, usize::MAX);
    line.push(NAME, rule.slug);
    line.push(PLAIN, "  ");
    line.push(style(rule.severity), rule.severity.name());
    line.push(DIM, &format!("  {}", rule.section));
    line.write(out)?;
    let answer = rule.answer.map(|answer| match answer {
        rpcrdma::error::Reaction::Discard => "A responder drops a Send that breaks it, and answers nothing.".to_owned(),
        other => format!("A responder answers a Send that breaks it by {other}."),
    });
    for (name, text) in [
        ("Rule", Some(format!("{}.", capital(rule.summary)))),
        ("Why", Some(rule.reason.to_owned())),
        ("Correct", Some(rule.correct.to_owned())),
        ("Answer", answer),
    ] {
        let Some(text) = text else { continue };
        for (index, text) in wrapped(&text, 88).iter().enumerate() {
            let mut line = Line::new(colour, usize::MAX);
            line.column(DIM, if index == 0 { name } else { "" }, 9);
            line.push(PLAIN, text);
            line.write(out)?;
        }
    }
    Ok(())
}

/// Writes the names of `rules` and what each says, as text.
///
/// # Errors
/// Those of `out`.
pub fn list(out: &mut impl io::Write, rules: impl Iterator<Item = &'static Rule>, colour: bool) -> io::Result<()> {
    for rule in rules {
        let indent = SLUG + 2 + SEVERITY + 2;
        for (index, text) in wrapped(rule.summary, WIDTH - indent).iter().enumerate() {
            let mut line = Line::new(colour, WIDTH);
            if index == 0 {
                line.column(NAME, rule.slug, SLUG + 2);
                line.column(style(rule.severity), rule.severity.name(), SEVERITY + 2);
            } else {
                line.column(PLAIN, "", indent);
            }
            line.push(PLAIN, text);
            line.write(out)?;
        }
    }
    Ok(())
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    // What begins with a name of the protocol keeps it.
    let is_name = text.starts_with("rdma_") || text.starts_with("offset");
    match characters.next() {
        Some(first) if !is_name => first.to_uppercase().chain(characters).collect(),
        _ => text.to_owned(),
    }
}

/// The words of a text in lines of so many columns.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

const fn style(severity: Severity) -> anstyle::Style {
    match severity {
        Severity::Error => FAULT,
        Severity::Warning => WARNING,
        Severity::Hazard => PLAIN,
    }
}

#[derive(Serialize)]
struct FindingObject<'a> {
    r#type: &'static str,
    rule: &'static str,
    severity: &'static str,
    frame: u64,
    time: Seconds,
    connection: u32,
    from: End,
    to: End,
    blame: &'static str,
    rdma_xid: Option<Hex32>,
    offset: Option<usize>,
    section: &'static str,
    message: &'a str,
}

impl<'a> FindingObject<'a> {
    fn new(found: &'a Found) -> Self {
        Self {
            r#type: "finding",
            rule: found.rule.slug,
            severity: found.severity.name(),
            frame: found.stamp.frame,
            time: Seconds(found.stamp.time),
            connection: found.connection,
            from: End(found.from),
            to: End(found.to),
            blame: found.blame.name(),
            rdma_xid: found.xid.map(Hex32),
            offset: found.offset,
            section: found.rule.section,
            message: &found.message,
        }
    }
}

#[derive(Serialize)]
struct SummaryObject {
    r#type: &'static str,
    errors: u64,
    warnings: u64,
    hazards: u64,
    rules: Vec<RuleObject>,
}

#[derive(Serialize)]
struct RuleObject {
    rule: &'static str,
    errors: u64,
    warnings: u64,
    hazards: u64,
    not_judged: u64,
}

impl RuleObject {
    const fn new(count: &Count, [errors, warnings, hazards]: [u64; 3]) -> Self {
        Self { rule: count.rule.slug, errors, warnings, hazards, not_judged: count.not_judged }
    }

    const fn is_noteworthy(&self) -> bool {
        self.errors + self.warnings + self.hazards + self.not_judged > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_wrapped_between_words() {
        assert_eq!(wrapped("one two  three", 7), ["one two", "three"]);
        assert_eq!(wrapped("longer-than-that", 7), ["longer-than-that"]);
        assert!(wrapped("", 7).is_empty());
    }

    #[test]
    fn no_slug_is_wider_than_its_column() {
        assert_eq!(crate::check::rules().map(|rule| rule.slug.len()).max(), Some(SLUG));
    }
}

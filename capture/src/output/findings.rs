//! Findings of the checker as text and as JSON, and what became of each rule.

use std::collections::{BTreeSet, HashSet};
use std::io;

use rpcrdma::rules::{Rule, Severity};
use serde::Serialize;

use super::json::{EndObject, Hex32, Seconds};
use super::style::{DIM, FAULT, Line, NAME, PLAIN, WARNING};
use super::text::{At, Columns, WIDTH};
use crate::check::{self, Blame, Count, Deviation, Found, Implementation};
use crate::file::{Files, Time};
use crate::link::Address;

/// Columns of the longest slug.
const SLUG: usize = 25;
/// Columns of a rule in the summary, with the connections that broke it.
const RULE: usize = SLUG + 22;
/// Columns of the longest name of a severity.
const SEVERITY: usize = 7;

/// Columns that what a finding says is moved in by.
const INDENT: usize = 9;
/// Findings that are remembered to fold those that say the same; past that each is written.
const REMEMBERED: usize = 1024;
/// Connections of a rule that are counted.
const CONNECTIONS: usize = 4096;

/// Writes findings, and counts those it has written.
///
/// As text, of those that say the same the first is written, and the others are counted.
#[derive(Debug)]
pub struct Findings {
    /// Of text; JSON has none.
    columns: Option<Columns>,
    /// The first line is written.
    begun: bool,
    said: HashSet<Said>,
    folded: u64,
    /// Implementations whose known deviations are counted and not held against anyone.
    excused: Vec<Implementation>,
    /// Findings that are such deviations, and errors among them.
    excused_found: u64,
    excused_errors: u64,
    counts: Vec<Counted>,
}

/// What makes findings the same.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Said {
    rule: &'static str,
    severity: Severity,
    from: Address,
    blame: Blame,
    message: String,
}

/// What was found of one rule.
#[derive(Debug)]
struct Counted {
    rule: &'static Rule,
    /// Errors, warnings, hazards.
    found: [u64; 3],
    /// Those that are known of an implementation.
    known: u64,
    /// The connections that broke it, the first [`CONNECTIONS`] of them.
    connections: BTreeSet<u32>,
}

impl Findings {
    /// As text, with colour or without.
    #[must_use]
    pub fn text(colour: bool) -> Self {
        Self { columns: Some(Columns::new(colour, Time::default())), ..Self::json() }
    }

    /// As JSON, an object a line.
    #[must_use]
    pub fn json() -> Self {
        Self {
            columns: None,
            begun: false,
            said: HashSet::new(),
            folded: 0,
            excused: Vec::new(),
            excused_found: 0,
            excused_errors: 0,
            counts: Vec::new(),
        }
    }

    /// Does not show as text what is known of these implementations, and does not count it among the
    /// [`errors`](Self::errors).
    #[must_use]
    pub fn excusing(self, implementations: Vec<Implementation>) -> Self {
        Self { excused: implementations, ..self }
    }

    /// Shows times as seconds since `start`, that of the first frame.
    pub fn starts_at(&mut self, start: Time) {
        if let Some(columns) = &mut self.columns {
            columns.starts_at(start);
        }
    }

    /// Errors among the findings, but for those that are excused.
    #[must_use]
    pub fn errors(&self) -> u64 {
        let all: u64 = self.counts.iter().map(|Counted { found: [errors, ..], .. }| errors).sum();
        all.saturating_sub(self.excused_errors)
    }

    /// Writes a finding, unless it says what another said before.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn finding(&mut self, out: &mut impl io::Write, found: &Found, files: &Files) -> io::Result<()> {
        let known = found.known();
        self.count(found, known);
        let is_excused = known.is_some_and(|known| self.excused.contains(&known.implementation));
        self.excused_found += u64::from(is_excused);
        self.excused_errors += u64::from(is_excused && found.severity == Severity::Error);
        if self.columns.is_none() {
            serde_json::to_writer(&mut *out, &FindingObject::new(found, files))?;
            return out.write_all(b"\n");
        }
        if is_excused {
            return Ok(());
        }
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

    /// The columns: frame, seconds, connection, who sent the frame to whom, who broke the rule, `rdma_xid`, octets from the
    /// start of the Send, severity and rule. What is wrong stands below.
    fn line(&mut self, out: &mut impl io::Write, found: &Found, files: &Files) -> io::Result<()> {
        let Some(columns) = &mut self.columns else { return Ok(()) };
        let Found { rule, severity, stamp, connection, from, to, blame, xid, offset, .. } = *found;
        let at = At { stamp, connection, ends: (from, to) };
        if !self.begun {
            self.begun = true;
            let mut line = columns.heading(&at, files);
            line.push(DIM, "broken by rdma_xid   octet  severity rule");
            line.write(out)?;
        }
        let mut line = columns.begin(&at, files);
        let xid = xid.map_or("-".to_owned(), |xid| format!("{xid:#010x}"));
        let offset = offset.map_or("-".to_owned(), |offset| offset.to_string());
        line.push(PLAIN, &format!("{:<9} {xid:<10} {offset:>5}  ", blame.name()));
        line.column(style(severity), severity.name(), SEVERITY + 2);
        line.push(NAME, rule.slug);
        line.write(out)?;
        let known = found
            .known()
            .map(|known| format!("; known deviation of {} {}", known.implementation.name(), known.versions));
        let text = format!("{} ({}{})", found.message, rule.section, known.unwrap_or_default());
        for text in wrapped(&text, WIDTH - INDENT) {
            let mut line = columns.text(INDENT);
            line.push(PLAIN, &text);
            line.write(out)?;
        }
        Ok(())
    }

    fn count(&mut self, found: &Found, known: Option<&Deviation>) {
        let place = match self.counts.iter().position(|counted| core::ptr::eq(counted.rule, found.rule)) {
            Some(place) => place,
            None => {
                self.counts.push(Counted { rule: found.rule, found: [0; 3], known: 0, connections: BTreeSet::new() });
                self.counts.len() - 1
            }
        };
        let Some(counted) = self.counts.get_mut(place) else { return };
        if let Some(count) = counted.found.get_mut(found.severity as usize) {
            *count += 1;
        }
        counted.known += u64::from(known.is_some());
        if counted.connections.len() < CONNECTIONS {
            counted.connections.insert(found.connection);
        }
    }

    fn of(&self, rule: &Rule) -> Option<&Counted> {
        self.counts.iter().find(|counted| core::ptr::eq(counted.rule, rule))
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
        let known = sum(|rule| rule.known);
        let Some(columns) = &self.columns else {
            let rules = rules.into_iter().filter(RuleObject::is_noteworthy).collect();
            serde_json::to_writer(
                &mut *out,
                &SummaryObject { r#type: "summary", errors, warnings, hazards, known, rules },
            )?;
            return out.write_all(b"\n");
        };
        if self.folded > 0 {
            let mut line = columns.text(0);
            line.push(DIM, &format!("{} more like those above; --json lists each", self.folded));
            line.write(out)?;
        }
        if self.excused_found > 0 {
            let mut line = columns.text(0);
            let names: Vec<&str> = self.excused.iter().map(|implementation| implementation.name()).collect();
            line.push(
                DIM,
                &format!(
                    "{} more accepted: known deviations of {}; --json lists each",
                    self.excused_found,
                    names.join(", ")
                ),
            );
            line.write(out)?;
        }
        let broken = rules.iter().filter(|rule| rule.errors + rule.warnings + rule.hazards > 0).count();
        let mut line = columns.text(0);
        line.column(NAME, "Summary", RULE);
        line.push(DIM, "  errors  warnings  hazards  known  not judged");
        line.write(out)?;
        for rule in rules.iter().filter(|rule| rule.is_noteworthy()) {
            let mut line = columns.text(0);
            line.column(PLAIN, &format!("  {}{}", rule.rule, on_connections(rule.connections)), RULE);
            line.push(if rule.errors > 0 { FAULT } else { PLAIN }, &format!("{:>8}", rule.errors));
            line.push(if rule.warnings > 0 { WARNING } else { PLAIN }, &format!("{:>10}", rule.warnings));
            line.push(PLAIN, &format!("{:>9}{:>7}{:>12}", rule.hazards, rule.known, rule.not_judged));
            line.write(out)?;
        }
        let mut line = columns.text(0);
        line.column(PLAIN, &format!("  all {} rules, {broken} broken", rules.len()), RULE);
        line.push(
            PLAIN,
            &format!("{errors:>8}{warnings:>10}{hazards:>9}{known:>7}{:>12}", sum(|rule| rule.not_judged)),
        );
        line.write(out)
    }
}

/// On how many connections, where that is more than one.
fn on_connections(connections: usize) -> String {
    match connections {
        0 | 1 => String::new(),
        CONNECTIONS => format!(" ({connections} connections or more)"),
        _ => format!(" ({connections} connections)"),
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
        rpcrdma::error::Reaction::Discard => {
            "A responder discards a Send that breaks it, without an answer.".to_owned()
        }
        other => format!("A responder answers a Send that breaks it with {other}."),
    });
    let known = check::deviations().filter(|known| known.rule == rule.slug).map(|known| {
        let Deviation { implementation, versions, what, .. } = known;
        ("Known", Some(format!("{} {versions}: {what}.", implementation.name())))
    });
    for (name, text) in [
        ("Rule", Some(format!("{}.", capital(rule.summary)))),
        ("Why", Some(rule.reason.to_owned())),
        ("Correct", Some(rule.correct.to_owned())),
        ("Answer", answer),
    ]
    .into_iter()
    .chain(known)
    {
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
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_frame: Option<u64>,
    time: Seconds,
    connection: u32,
    from: EndObject,
    to: EndObject,
    blame: &'static str,
    rdma_xid: Option<Hex32>,
    offset: Option<usize>,
    section: &'static str,
    message: &'a str,
    /// The implementation that is known to do this.
    #[serde(skip_serializing_if = "Option::is_none")]
    known: Option<&'static str>,
}

impl<'a> FindingObject<'a> {
    fn new(found: &'a Found, files: &'a Files) -> Self {
        let file = files.locate(found.stamp.frame);
        Self {
            r#type: "finding",
            rule: found.rule.slug,
            severity: found.severity.name(),
            frame: found.stamp.frame,
            file: file.map(|(file, _)| file),
            file_frame: file.map(|(_, frame)| frame),
            time: Seconds(found.stamp.time),
            connection: found.connection,
            from: EndObject(found.from),
            to: EndObject(found.to),
            blame: found.blame.name(),
            rdma_xid: found.xid.map(Hex32),
            offset: found.offset,
            section: found.rule.section,
            message: &found.message,
            known: found.known().map(|known| known.implementation.name()),
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
    /// Those of all these that are known of an implementation.
    #[serde(skip_serializing_if = "is_zero")]
    known: u64,
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
    /// For text.
    #[serde(skip)]
    connections: usize,
}

impl RuleObject {
    fn new(count: &Count, counted: Option<&Counted>) -> Self {
        let [errors, warnings, hazards] = counted.map_or([0; 3], |counted| counted.found);
        let known = counted.map_or(0, |counted| counted.known);
        let connections = counted.map_or(0, |counted| counted.connections.len());
        Self { rule: count.rule.slug, errors, warnings, hazards, not_judged: count.not_judged, known, connections }
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

//! The table for people, and the records for programs.

use std::io::{self, Write};
use std::net::SocketAddr;

use serde::Serialize;

use super::case::Verdict;
use super::suite::OutputFormat;

/// Version of the records. Fields may be added; no field is removed or changes meaning.
pub(super) const SCHEMA: u32 = 1;

/// The examined peer, by address. `None` for a requester that has not connected, or if there may be several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Examined {
    Responder(SocketAddr),
    Requester(Option<SocketAddr>),
}

/// Result of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Judgement {
    /// The name of the case.
    pub case: &'static str,
    /// The slug of the rule.
    pub rule: &'static str,
    /// Section of the specification.
    pub section: &'static str,
    /// Reaction that the specification asks for.
    pub expected: String,
    /// Reaction of the peer.
    pub observed: String,
    /// Verdict about the reaction.
    pub verdict: Verdict,
    /// True if the peer still answered NULL afterwards, or, for a requester, called again.
    pub alive_after: bool,
}

/// Number of cases with each verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Totals {
    /// The peer reacted as the specification asks.
    pub conforms: usize,
    /// The peer broke a rule.
    pub violates: usize,
    /// The peer did something that makes other implementations fail.
    pub hazard: usize,
    /// There was nothing to judge.
    pub not_judged: usize,
}

impl Totals {
    pub(crate) const fn count(&mut self, verdict: Verdict) {
        *match verdict {
            Verdict::Conforms => &mut self.conforms,
            Verdict::Violates => &mut self.violates,
            Verdict::Hazard => &mut self.hazard,
            Verdict::NotJudged => &mut self.not_judged,
        } += 1;
    }
}

/// One line of JSON.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum ProbeRecord<'a> {
    Case {
        schema: u32,
        #[serde(flatten)]
        examined: Examined,
        case: &'a str,
        rule: &'a str,
        section: &'a str,
        expected: &'a str,
        observed: &'a str,
        verdict: &'a str,
        alive_after: bool,
    },
    Summary {
        schema: u32,
        #[serde(flatten)]
        examined: Examined,
        rpcrdma_version: String,
        cases: usize,
        conforms: usize,
        violates: usize,
        hazard: usize,
        not_judged: usize,
    },
}

impl ProbeRecord<'_> {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{}", serde_json::to_string(self)?)
    }
}

/// Writes the heading of the table.
pub(crate) fn heading(form: OutputFormat, out: &mut impl Write) -> io::Result<()> {
    match form {
        OutputFormat::Json | OutputFormat::Tabs => Ok(()),
        OutputFormat::Table => {
            writeln!(out, "{:10}  {:29} {:20} {:40} section", "verdict", "case", "expected", "observed")
        }
    }
}

/// Writes the result of a case.
pub(crate) fn judgement(
    form: OutputFormat,
    examined: Examined,
    judged: &Judgement,
    out: &mut impl Write,
) -> io::Result<()> {
    let Judgement { case, rule, section, ref expected, ref observed, verdict, alive_after } = *judged;
    match form {
        OutputFormat::Table => writeln!(out, "{verdict:10}  {case:29} {expected:20} {observed:40} {section}"),
        OutputFormat::Tabs => writeln!(out, "{}\t{case}\t{rule}\t{expected}\t{observed}\t{section}", verdict.name()),
        OutputFormat::Json => ProbeRecord::Case {
            schema: SCHEMA,
            examined,
            case,
            rule,
            section,
            expected,
            observed,
            verdict: verdict.name(),
            alive_after,
        }
        .write(out),
    }
}

/// Writes the last line.
pub(crate) fn totals(
    form: OutputFormat,
    examined: Examined,
    rpcrdma_version: String,
    totals: Totals,
    out: &mut impl Write,
) -> io::Result<()> {
    let Totals { conforms, violates, hazard, not_judged } = totals;
    let cases = conforms + violates + hazard + not_judged;
    match form {
        OutputFormat::Table => writeln!(
            out,
            "{cases} cases of version {rpcrdma_version}: {conforms} conform, {violates} violate, {hazard} hazards, {not_judged} not judged"
        ),
        OutputFormat::Tabs => Ok(()),
        OutputFormat::Json => ProbeRecord::Summary {
            schema: SCHEMA,
            examined,
            rpcrdma_version,
            cases,
            conforms,
            violates,
            hazard,
            not_judged,
        }
        .write(out),
    }
}

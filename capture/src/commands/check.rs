//! `check`: the rules that are broken.

use std::error::Error;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use rpcrdma_answers::findings::{self, Baseline, BaselineError, Findings, FindingsScope};
use rpcrdma_answers::format::number::counted;
#[cfg(feature = "parquet")]
use rpcrdma_answers::parquet::TableKind;
use rpcrdma_dissector::check::{self, Found};
use rpcrdma_dissector::{Config, Files, Time};

use super::separate::{Separable, SeparateForm};
use crate::arguments::{Color, InputArguments, KnownSet, TimeArguments};
use crate::conclusion::Conclusion;
use crate::dataset::DatasetArguments;
#[cfg(feature = "parquet")]
use crate::dataset::DatasetTable;
use crate::failure::{DAMAGED, Failure, say};
use crate::filters::Filters;
use crate::judge::Judge;
use crate::notices::Select;
use crate::output;
use crate::source::{InputSource, Show};
use crate::spool::with_capture_file;

#[derive(Args, Clone, Debug)]
pub(super) struct CheckArguments {
    #[command(flatten)]
    input: InputArguments,
    #[command(flatten)]
    time: TimeArguments,
    /// Report only this rule; may be repeated
    #[arg(long, value_name = "RULE", value_parser = RuleName, hide_possible_values = true)]
    rule: Vec<&'static str>,
    /// Do not report this rule; may be repeated
    #[arg(long, value_name = "RULE", value_parser = RuleName, hide_possible_values = true)]
    ignore: Vec<&'static str>,
    /// Accept the deviations that this implementation is known for: count them in the summary, but do not list them,
    /// nor exit with 1 for them; may be repeated
    #[arg(long, value_name = "WHOSE")]
    known: Vec<KnownSet>,
    /// Accept what is in FILE, the output of an earlier 'check --json': a finding of the same rule, the same severity and
    /// the same peer. It is counted, but not listed, and does not make the exit status 1
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Explain what a rule demands, why, and what a correct peer does; reads no file
    #[arg(long, value_name = "RULE", value_parser = RuleName, hide_possible_values = true, exclusive = true)]
    explain: Option<&'static str>,
    /// List all rules; reads no file
    #[arg(long, exclusive = true)]
    list: bool,
    /// Print one JSON object per line: findings, then the outcome for each rule, then a summary
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    dataset: DatasetArguments,
}

/// The name of a rule; shells complete it. The names are put together where one is read or completed, not at each
/// start.
#[derive(Clone, Debug)]
struct RuleName;

impl RuleName {
    fn names() -> impl Iterator<Item = PossibleValue> {
        check::rules().map(|rule| PossibleValue::new(rule.slug).help(rule.summary))
    }
}

impl TypedValueParser for RuleName {
    type Value = &'static str;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Self::Value, clap::Error> {
        let names = PossibleValuesParser::new(Self::names());
        let slug = names.try_map(|slug| check::find(&slug).map(|rule| rule.slug).ok_or("not a rule"));
        slug.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(Self::names()))
    }
}

impl Separable for CheckArguments {
    fn input(&mut self) -> &mut InputArguments {
        &mut self.input
    }

    fn form(&self) -> SeparateForm {
        SeparateForm::written(&self.dataset, self.json)
    }
}

pub(super) fn run(arguments: &CheckArguments, color: Color, quiet: bool) -> Result<u8, Failure> {
    if let Some(rule) = arguments.explain.and_then(check::find) {
        let mut out = Vec::new();
        findings::explain(&mut out, rule, output::is_coloured(color))?;
        return output::write(&out);
    }
    if arguments.list {
        let mut out = Vec::new();
        findings::list(&mut out, check::rules(), output::is_coloured(color))?;
        return output::write(&out);
    }
    if arguments.rule.iter().any(|slug| !arguments.wants_rule(slug))
        && !check::rules().any(|r| arguments.wants_rule(r.slug))
    {
        say("nothing selected: --rule and --ignore leave no rule");
        return Ok(DAMAGED);
    }
    let findings = if arguments.json {
        Findings::json().of_capture(with_capture_file(|capture_file| capture_file.map(str::to_owned)))
    } else {
        Findings::text(output::is_coloured(color)).with_times(arguments.time.shown())
    };
    let mut findings = findings.excusing(arguments.known.iter().map(|known| (*known).into()).collect());
    if let Some(path) = &arguments.baseline {
        findings = findings.beyond(baseline(path)?);
    }
    #[cfg(feature = "parquet")]
    if let Some(directory) = &arguments.dataset.parquet {
        return write_table(arguments, findings, directory, quiet);
    }
    let filters = Filters::new(&arguments.input, Select::Both);
    let (mut source, mut judge) = (InputSource::new(filters.clone())?, Judge::new(filters.clone()));
    let mut config = Config::for_checker();
    config.transactions = filters.selection.selects_parts_by_rpc();
    let show = Show { all: true, ..Show::listing(quiet) };
    let done = source.read_all(config, show, |event, out, known| {
        judge.event(event, known, |found| arguments.show(found, &mut findings, out, known.first, known.files))
    })?;
    findings.lacking(done.notices.gap());
    findings.about(match (source.selects_all(), done.notices.selects_nothing()) {
        (true, _) => FindingsScope::Capture,
        (false, false) => FindingsScope::Selection,
        (false, true) => FindingsScope::Nothing,
    });
    let mut out = Vec::new();
    let first = done.summary.first.unwrap_or_default();
    judge.finish(first, |found| arguments.show(found, &mut findings, &mut out, first, &done.files))?;
    findings.summary(&mut out, judge.counts().filter(|count| arguments.wants_rule(count.rule.slug)))?;
    output::write(&out)?;
    let mut conclusion = Conclusion::new("check", arguments.json, quiet);
    conclusion.capture(&source, &done);
    conclusion.judge(&judge);
    conclusion.findings(findings.totals());
    if findings.errors() > 0 {
        conclusion.say(found_errors(&findings));
    }
    conclusion.end_output(done.notices.status_of(done.notices.damaged || findings.errors() > 0))
}

/// The reason for exit status 1.
fn found_errors(findings: &Findings) -> String {
    format!("check found {}", counted(findings.errors(), "error"))
}

#[cfg(feature = "parquet")]
fn write_table(
    arguments: &CheckArguments,
    mut findings: Findings,
    directory: &Path,
    quiet: bool,
) -> Result<u8, Failure> {
    let filters = Filters::new(&arguments.input, Select::Both);
    let (mut source, mut judge) = (InputSource::new(filters.clone())?, Judge::new(filters.clone()));
    let mut written = DatasetTable::create(directory, TableKind::Findings, &arguments.input, quiet)?;
    let mut take = |found: &Found, files: &Files| match arguments.wants_rule(found.rule.slug) {
        true => written.table.finding(found, files, findings.written_elsewhere(found)),
        false => Ok(()),
    };
    let mut config = Config::for_checker();
    config.transactions = filters.selection.selects_parts_by_rpc();
    let show = Show { all: true, whole: true, ..Show::report(quiet) };
    let done =
        source.read_all(config, show, |event, _, known| judge.event(event, known, |found| take(found, known.files)))?;
    judge.finish(done.summary.first.unwrap_or_default(), |found| take(found, &done.files))?;
    judge.say_left_out(quiet);
    if findings.errors() > 0 && !quiet {
        say(&found_errors(&findings));
    }
    let status = done.notices.status_of(done.notices.damaged || findings.errors() > 0);
    written.finish()?;
    Ok(status)
}

fn baseline(path: &Path) -> Result<Baseline, Failure> {
    let failed = |error: &dyn Error| {
        let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
        Failure::Said(format!("{}: {error}{cause}", path.display()))
    };
    let file = File::open(path).map_err(|error| failed(&BaselineError::Io(error)))?;
    Baseline::read(BufReader::new(file)).map_err(|error| failed(&error))
}

impl CheckArguments {
    /// Prints a finding, if the rule is wanted.
    fn show(
        &self,
        found: &Found,
        findings: &mut Findings,
        out: &mut impl Write,
        first: Time,
        files: &Files,
    ) -> io::Result<()> {
        if !self.wants_rule(found.rule.slug) {
            return Ok(());
        }
        findings.starts_at(first);
        findings.finding(out, found, files)
    }

    fn wants_rule(&self, slug: &str) -> bool {
        (self.rule.is_empty() || self.rule.contains(&slug)) && !self.ignore.contains(&slug)
    }
}

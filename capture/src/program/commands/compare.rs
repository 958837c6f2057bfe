//! `compare`: two captures side by side.

use std::path::Path;

use clap::Args;

use crate::dissector::Config;
use crate::event::Event;
use crate::output::compare::{Comparand, Comparison};
use crate::program::arguments::{Color, InputArguments};
use crate::program::conclusion::Conclusion;
use crate::program::failure::{DAMAGED, Failure};
use crate::program::filters::Filters;
use crate::program::judge::Judge;
use crate::program::notices::Select;
use crate::program::output;
use crate::program::source::{InputSource, Show};

const COMPARE_HELP: &str = "\
Times are in milliseconds. The last column says how likely it is that a difference as large as this
is chance, by a rank test (Mann, Whitney and Wilcoxon), which takes at least 8 RPCs on each side. An
operation is 'slower' or 'faster' if that is 1 in 100 or less, and the median has changed by more
than --tolerance. A line below an operation says what else has changed: how its messages were sent,
what RDMA moved for each, how many failed. Then come the rules that are broken in either capture.
The exit status is 1 if an operation is slower, or if a rule is broken (severity error) that BEFORE
does not break.";

#[derive(Args, Debug)]
#[command(
    after_help = COMPARE_HELP,
    mut_arg("files", |files| files
        .num_args(2)
        .value_names(["BEFORE", "AFTER"])
        .help("Two capture files (pcap or pcapng, plain, gzip or Zstandard)")
        .long_help(None))
)]
pub(super) struct CompareArguments {
    #[command(flatten)]
    input: InputArguments,
    /// How much the median of an operation may grow, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0, value_parser = percent)]
    tolerance: f64,
    /// Print one JSON object per line: one for each operation, one for each broken rule
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &CompareArguments, color: Color, quiet: bool) -> Result<u8, Failure> {
    let CompareArguments { input, tolerance, json } = arguments;
    let [before, after] = input.files.as_slice() else {
        return Err(Failure::Said("compare takes two files, BEFORE and AFTER".to_owned()));
    };
    let mut conclusion = Conclusion::new("compare", *json, quiet);
    let (before, damaged_before) = read(input, before, (&mut conclusion, quiet))?;
    let (after, damaged_after) = read(input, after, (&mut conclusion, quiet))?;
    let comparison = Comparison::new(&before, &after, tolerance / 100.0);
    let mut out = Vec::new();
    if *json {
        comparison.write_json(&mut out)?
    } else {
        comparison.write_text(&mut out, output::is_coloured(color))?
    }
    output::write(&out)?;
    conclusion.regression(comparison.is_regression());
    if comparison.is_regression() {
        conclusion.say("compare found a regression".to_owned());
    }
    conclusion.left_out().other_operations_rpcs = comparison.left_out();
    let status = if comparison.is_regression() { DAMAGED } else { 0 };
    conclusion.end(status.max(damaged_before).max(damaged_after))
}

/// Reads one capture; also returns the exit status.
fn read(
    input: &InputArguments,
    file: &Path,
    (conclusion, quiet): (&mut Conclusion, bool),
) -> Result<(Comparand, u8), Failure> {
    let input = InputArguments { files: vec![file.to_owned()], ..input.clone() };
    let filters = Filters::new(&input, Select::Rpcs);
    let (mut source, mut judge) = (InputSource::new(filters)?, Judge::new(filters));
    let mut comparand = Comparand::default();
    // RPCs, and what the checker judges them by.
    let config = Config { operations: true, ..Config::default() };
    let done = source.read_all(config, Show { all: true, ..Show::report(quiet) }, |event, _, known| {
        if let Event::Transaction(transaction) = event
            && known.is_wanted
        {
            comparand.transaction(transaction);
        }
        judge.event(event, known, |found| {
            comparand.finding(found);
            Ok(())
        })
    })?;
    conclusion.capture(&source, &done);
    conclusion.judge(&judge);
    Ok((comparand, done.status()))
}

fn percent(text: &str) -> Result<f64, &'static str> {
    let percent = text.strip_suffix('%').unwrap_or(text).parse::<f64>().ok();
    percent.filter(|percent| (0.0..=10_000.0).contains(percent)).ok_or("not a percentage such as 10")
}

//! `compare`: two captures side by side.

use std::path::Path;

use clap::Args;
use rpcrdma_answers::compare::{Comparand, Comparison};
use rpcrdma_dissector::{Config, Event};

use crate::arguments::{Color, InputArguments};
use crate::conclusion::Conclusion;
use crate::failure::{DAMAGED, Failure};
use crate::filters::Filters;
use crate::judge::Judge;
use crate::notices::Select;
use crate::output;
use crate::source::{InputSource, Show};

const COMPARE_HELP: &str = "\
What is compared:
The first lines count, of all RPCs, the calls without a reply, the failures and the retransmissions.
A call is not counted as unanswered if it had waited at the end of the capture for no longer than
the slowest RPC of its operation took, or if its reply may be missing from the capture. Each line
about an operation has its latency in milliseconds, and the line below says what else has changed:
the same counts, how its messages were sent, and what RDMA moved for each. RPCs whose latency is not
known are counted there, and are not in the percentiles. Then come the rules that are broken in
either capture.

What counts as a difference:
'chance' is the probability that a difference as large as this is chance; 1 in 100 or less counts as
a difference. For latencies it is that of a rank test (Mann, Whitney and Wilcoxon), once of all RPCs
and once of the slowest alone. It takes into account that an RPC often takes about as long as the
one before it: of 1000 simulated pairs of series that do not differ, it takes at most 10 for
different, whether the correlation of neighbours is 0, 0.5 or 0.9. It needs RPCs that are worth 5
independent ones on each side: that is 8 or more, and up to 200 at a correlation of 0.9. The test of
the slowest needs at least 48 on each side. For counts it is Fisher's exact test. A difference in
the totals of all RPCs counts only if one side has no such RPC; otherwise a different mix of
operations could look like a change.

How often chance alone makes the exit status 1:
In at most 1 of 100 comparisons of captures that differ by chance alone, however many operations
there are. Each test errs in 1 of 100 by itself, and there are up to five for each operation:
latency of all, of the slowest, and three counts. So the exit status asks more of each, by Holm's
method: the smallest chance of n tests may be 0.01 divided by n, the next 0.01 divided by n - 1,
and so on up to the first that is larger. The three counts of all RPCs are compared with each
other alone: a fault of all RPCs is found as easily among many operations as in one. A count of
which neither side has any is no test. In 1000 simulated comparisons of 8 operations that do not
differ, the exit status was 1 in at most 10, whether the correlation of neighbours is 0, 0.5 or
0.9. The lines say what each test says by itself, and 'may be chance' if that is not enough: then
compare another pair of captures.

Exit status:
An operation is 'worse' if the share of RPCs without a reply, that failed or that needed
retransmission has grown by more than --tolerance, and 'slower' if the median or the 99th percentile
has. The exit status is 1 if anything is worse or slower by more than chance, or if a rule is broken
(severity error) that BEFORE does not break.";

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
    /// Maximum growth of the median, the 99th percentile and the share of faults of an operation, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0, value_parser = percent)]
    tolerance: f64,
    /// Print one JSON object per line: one for all RPCs, one for each operation, one for each broken rule
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &CompareArguments, color: Color, quiet: bool) -> Result<u8, Failure> {
    let CompareArguments { input, tolerance, json } = arguments;
    let [before, after] = input.files.as_slice() else {
        return Err(Failure::Said("compare takes two files, BEFORE and AFTER".to_owned()));
    };
    let mut conclusion = Conclusion::new("compare", *json, quiet);
    let (before, damaged_before) = read(input, before, &mut conclusion, quiet)?;
    let (after, damaged_after) = read(input, after, &mut conclusion, quiet)?;
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
    conclusion.left_out().other_operations_rpcs = comparison.left_out;
    let status = if comparison.is_regression() { DAMAGED } else { 0 };
    conclusion.end_output(status.max(damaged_before).max(damaged_after))
}

/// Reads one capture; also returns the exit status.
fn read(
    input: &InputArguments,
    file: &Path,
    conclusion: &mut Conclusion,
    quiet: bool,
) -> Result<(Comparand, u8), Failure> {
    let input = InputArguments { files: vec![file.to_owned()], ..input.clone() };
    let filters = Filters::new(&input, Select::Rpcs);
    let (mut source, mut judge) = (InputSource::new(filters.clone())?, Judge::new(filters.clone()));
    let mut comparand = Comparand::default();
    // RPCs, and what the checker judges them by.
    let mut config = Config::default();
    config.operations = true;
    let done = source.read_all(config, Show { all: true, ..Show::report(quiet) }, |event, _, known| {
        match event {
            Event::Transaction(transaction) if known.is_wanted => comparand.transaction(transaction),
            Event::Connection(report) if known.is_wanted => comparand.connection(report),
            _ => {}
        }
        judge.event(event, known, |found| {
            comparand.finding(found);
            Ok(())
        })
    })?;
    judge.finish(done.summary.first.unwrap_or_default(), |found| {
        comparand.finding(found);
        Ok(())
    })?;
    comparand.end_at(done.summary.last.unwrap_or_default());
    conclusion.capture(&source, &done);
    conclusion.judge(&judge);
    Ok((comparand, done.status()))
}

fn percent(text: &str) -> Result<f64, &'static str> {
    let percent = text.strip_suffix('%').unwrap_or(text).parse::<f64>().ok();
    percent.filter(|percent| (0.0..=10_000.0).contains(percent)).ok_or("not a percentage such as 10")
}

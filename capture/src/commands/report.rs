//! `report`: a capture on one page.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use rpcrdma_answers::report::CaptureReport;
use rpcrdma_answers::summary::UnreadFile;
use rpcrdma_dissector::check::{Found, Implementation};
use rpcrdma_dissector::{Config, StepsWanted};

use crate::arguments::{InputArguments, KnownSet};
use crate::destination::Destination;
use crate::failure::Failure;
use crate::filters::Filters;
use crate::judge::{FindingUse, Judge};
use crate::notices::Select;
use crate::source::{Given, InputSource, Show};

const REPORT_HELP: &str = "\
The page needs no other file and no network. It begins with the diagnosis ('rpcrdma diagnose'), and
how long RPCs took, which packets were retransmitted, which rules were broken and what the capture
lacks. Below are latency and load over time, the operations, clients, servers and files, the slowest
RPCs packet by packet, calls without a reply, findings and connections. It shows at most 192
intervals of time, 20 clients, servers and files, the first 200 rows of a long table, and 36 lines
of the sequence diagram of an RPC.
With --since or --until, the page shows the RPCs that were under way in that time; the whole capture
is read all the same, and setup, loss and gaps are judged by all of it.";

#[derive(Args, Debug)]
#[command(after_help = REPORT_HELP)]
pub(super) struct ReportArguments {
    #[command(flatten)]
    input: InputArguments,
    /// The HTML file to write; - is standard output
    #[arg(long, short, value_name = "OUT")]
    output: PathBuf,
    /// Leave out the deviations that this implementation is known for; may be repeated
    #[arg(long, value_name = "WHOSE")]
    known: Vec<KnownSet>,
}

pub(super) fn run(arguments: &ReportArguments, quiet: bool) -> Result<u8, Failure> {
    let ReportArguments { input, output, known: excused } = arguments;
    let excused: Vec<Implementation> = excused.iter().map(|known| (*known).into()).collect();
    let is_excused =
        |found: &Found| found.accepted_deviation().is_some_and(|known| excused.contains(&known.implementation));
    let destination = Destination::new(output, &input.files)?;
    let filters = Filters::new(input, Select::Both);
    let (mut source, mut judge) = (InputSource::new(filters.clone())?, Judge::new(filters.clone()));
    let mut write = destination.create()?;
    let mut report = CaptureReport::new(input.name());
    if !filters.selection.is_all() {
        report = report.of_selection();
    }
    // RPCs, their packets, what was retransmitted, and what the checker judges by.
    let mut config = Config::default();
    (config.operations, config.recovery, config.steps) = (true, true, StepsWanted::All);
    let show = Show { all: true, any_time: true, whole: destination.is_file(), ..Show::report(quiet) };
    let take = |report: &mut CaptureReport, found: &Found, given| {
        match given {
            _ if is_excused(found) => {}
            FindingUse::Context => report.context_finding(found),
            FindingUse::Shown => report.finding(found),
        }
        Ok(())
    };
    let done = source.read_given(config, show, |given, _, known| match given {
        Given::Event(event) => {
            judge.event_in_context(event, known, |found, given| take(&mut report, found, given))?;
            report.context(event);
            if known.is_wanted_at_some_time {
                report.over_time(event);
            }
            if known.is_wanted { report.event(event, known.files) } else { Ok(()) }
        }
        Given::Late(event) => {
            report.over_time(event);
            if known.is_wanted { report.event(event, known.files) } else { Ok(()) }
        }
        Given::Frame(_) | Given::Idle => Ok(()),
    })?;
    let first = done.summary.first.unwrap_or_default();
    judge.finish_in_context(first, |found, given| take(&mut report, found, given))?;
    judge.say_left_out(quiet);
    done.notices.unread.iter().for_each(|_| report.unread());
    let mut notes: Vec<String> = done.notices.unread.iter().map(unread).collect();
    notes.extend(source.notes(&done.notices, &done.summary));
    if let Some(options) = filters.options(first) {
        report.describe_selection(&options, filters.selection.window(first), &done.notices.throughout);
        notes.insert(0, format!("not all of the capture is shown: only what matches {options}"));
    }
    notes.extend(done.notices.places());
    let written = report.write(&mut write, &done.summary, &notes);
    written.and_then(|()| write.flush()).and_then(|()| write.finish()).map_err(|error| destination.failed(error))?;
    Ok(done.status())
}

/// Returns why a file was not read to the end.
fn unread(unread: &UnreadFile) -> String {
    let UnreadFile { file, offset_octets, reason, .. } = unread;
    format!("{file} could not be read beyond octet {offset_octets}: {reason}")
}

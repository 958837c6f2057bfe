//! `report`: a capture on one page.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use rpcrdma_dissector::check::{Found, Implementation};
use rpcrdma_dissector::output::report::CaptureReport;
use rpcrdma_dissector::output::summary::UnreadFile;
use rpcrdma_dissector::{Config, StepsWanted};

use crate::arguments::{InputArguments, KnownSet};
use crate::destination::Destination;
use crate::failure::Failure;
use crate::filters::Filters;
use crate::judge::Judge;
use crate::notices::Select;
use crate::source::{Given, InputSource, Show};

const REPORT_HELP: &str = "\
The page needs no other file and no network. It begins with the diagnosis ('rpcrdma diagnose'), and
how long RPCs took, what was sent again, which rules were broken and what the capture lacks. Below
are latency and load over time, the operations, clients, servers and files, the slowest RPCs packet
by packet, calls without a reply, findings and connections. It shows at most 192 intervals of time,
20 clients, servers and files, the first 200 rows of a long table, and 36 lines of what the ends of
an RPC sent each other.
With --since or --until, only the frames in that time are read, as if the capture started and
ended there.";

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
    let is_excused = |found: &Found| found.known().is_some_and(|known| excused.contains(&known.implementation));
    let destination = Destination::new(output, &input.files)?;
    let filters = Filters::new(input, Select::Both);
    let (mut source, mut judge) = (InputSource::new(filters)?, Judge::new(filters));
    let mut report = CaptureReport::new(input.name());
    // RPCs, their packets, what was sent again, and what the checker judges by.
    let mut config = Config::default();
    (config.operations, config.recovery, config.steps) = (true, true, StepsWanted::All);
    let show = Show { all: true, between: true, ..Show::report(quiet) };
    let take = |report: &mut CaptureReport, found: &Found| {
        if !is_excused(found) {
            report.finding(found);
        }
        Ok(())
    };
    let done = source.read_given(config, show, |given, _, known| match given {
        Given::Event(event) => {
            judge.event(event, known, |found| take(&mut report, found))?;
            if known.is_wanted { report.event(event, known.files) } else { Ok(()) }
        }
        Given::Late(event) => report.event(event, known.files),
        Given::Frame(_) | Given::Idle => Ok(()),
    })?;
    judge.finish(done.summary.first.unwrap_or_default(), |found| take(&mut report, found))?;
    judge.say_left_out();
    done.notices.unread.iter().for_each(|_| report.unread());
    let mut notes: Vec<String> = done.notices.unread.iter().map(unread).collect();
    notes.extend(source.notes(&done.notices, &done.summary));
    if let Some(options) = filters.options(done.summary.first.unwrap_or_default()) {
        notes.insert(0, format!("not all of the capture is shown: only what matches {options}"));
    }
    let mut write = destination.create()?;
    notes.extend(done.notices.places());
    let written = report.write(&mut write, &done.summary, &notes);
    written.and_then(|()| write.flush()).and_then(|()| write.finish()).map_err(|error| destination.failed(error))?;
    Ok(done.status())
}

/// Returns why a file was not read to its end.
fn unread(unread: &UnreadFile) -> String {
    let UnreadFile { file, offset_octets, reason, .. } = unread;
    format!("{file} could not be read beyond octet {offset_octets}: {reason}")
}

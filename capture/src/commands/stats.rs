//! `stats`: counts and latencies.

use std::io::{self, Write};

use clap::Args;
use rpcrdma_answers::csv::CsvTable;
use rpcrdma_answers::format::screen::Screen;
use rpcrdma_answers::selection::TimeSpan;
use rpcrdma_answers::stats::{IntervalStatistics, Intervals, Stats, interval_heading};
use rpcrdma_dissector::values::duration;
use rpcrdma_dissector::{Config, Time};

use super::separate::{Separable, SeparateForm};
use super::table::table;
use crate::arguments::{Color, InputArguments};
use crate::conclusion::Conclusion;
use crate::failure::Failure;
use crate::filters::Filters;
use crate::notices::Select;
use crate::output;
use crate::source::{Done, Given, InputSource, Show};
use crate::spool::write_record;

const STATS_HELP: &str = "\
What each end of a connection sent:
  packets          InfiniBand packets, or TCP segments for iWARP
  retransmitted    retransmitted packets whose first transmission is in the capture
  replaced         retransmitted packets whose first transmission is not in the capture
  early            packets captured before one with a lower number, and acknowledgements
                   captured before the packet that they acknowledge
  sequence_errors  negative acknowledgements (NAK) for a lost packet. For iWARP, gaps reported
                   by duplicate acknowledgements
  not_ready        'receiver not ready' (RNR NAK): no Receive was posted
  failed           operations that the end refused for good
  missed           packets of the end that the capture lacks
  unmatched        data packets of operations whose beginning the capture lacks
Lines above these say if packets of one end only were captured, if the clock of the capture steps
back, and how many InfiniBand packets belong to no reliable connection: CNP (congestion
notifications), UC (unreliable connections), RD and UD (reliable and unreliable datagrams, except
for connection management).
None of these counts includes duplicates, which the capture or the network made of packets: the
lines above count duplicates, and the causes of retransmissions.
The arrow → marks the end that requested the connection, ← the other.

With --interval, the columns are:
  seconds     from the first frame to the beginning of the interval
  RPCs        RPCs that ended in the interval; of these, without a reply, and failed
  p50, p99    median and 99th percentile of the latency, in milliseconds
  in flight   the mean number of calls that waited for a reply, and the most at a time
  grant       the credits that the last reply granted
  limit s     seconds during which a client had as many calls waiting as credits
Intervals without a message are printed as one. A terminal of fewer than 113 columns shows the
columns up to 'failed', the latencies, the mean in flight and the grant.

Examples:
  rpcrdma stats nfs.pcap                 all of it
  rpcrdma stats --interval 100ms nfs.pcap
  tcpdump -i eth0 -w - udp port 4791 | rpcrdma stats --interval 1s -";

#[derive(Args, Clone, Debug)]
#[command(after_help = STATS_HELP)]
pub(super) struct StatsArguments {
    #[command(flatten)]
    input: InputArguments,
    /// Print one line per interval of this length (1s; also ns, us and ms) as soon as it ends, not one
    /// report on all of the capture
    #[arg(long, value_name = "TIME", value_parser = interval)]
    interval: Option<u64>,
    /// Print one JSON object; with --interval, one per line
    #[arg(long)]
    json: bool,
    /// Print comma-separated values (RFC 4180), with the names of the columns in the first line: a row for each operation,
    /// and with --interval for each operation in each interval. The fields are those of --json; what is in an object has the
    /// name of the object in front (latency_p50_ns)
    #[arg(long, conflicts_with_all = ["json", "separate"])]
    csv: bool,
}

fn interval(text: &str) -> Result<u64, &'static str> {
    duration(text).and_then(|length| if length > 0 { Ok(length) } else { Err("an interval is longer than nothing") })
}

impl Separable for StatsArguments {
    fn input(&mut self) -> &mut InputArguments {
        &mut self.input
    }

    fn form(&self) -> SeparateForm {
        SeparateForm::printed(self.json)
    }
}

pub(super) fn run(arguments: &StatsArguments, color: Color, quiet: bool) -> Result<u8, Failure> {
    if let Some(length) = arguments.interval {
        return intervals(arguments, length, color, quiet);
    }
    let table = table(arguments.csv, CsvTable::of_operations)?;
    let mut counts = Stats::default();
    let filters = Filters::new(&arguments.input, Select::Both);
    let mut source = InputSource::new(filters.clone())?;
    // The numbers themselves contain the warnings, except in a table of operations.
    let show = Show { notices: arguments.csv && !quiet, ..Show::report(quiet) };
    let done = source.read_all(Config::default(), show, |event, _, _| {
        counts.event(event);
        Ok(())
    })?;
    if !quiet && !arguments.csv {
        source.say_reasons(&done);
    }
    if let Some(options) = filters.options(done.summary.first.unwrap_or_default()) {
        counts.describe_selection(options);
    }
    let statistics = counts.finish(&done.summary);
    let mut out = Vec::new();
    if let Some(table) = table {
        table.record(&mut out, &statistics)?
    } else if arguments.json {
        write_record(&statistics, &mut out)?
    } else {
        statistics.write_text(&mut out, output::screen(color))?
    }
    output::write(&out)?;
    conclude(arguments, &source, &done, quiet)
}

fn conclude(arguments: &StatsArguments, source: &InputSource<'_>, done: &Done, quiet: bool) -> Result<u8, Failure> {
    let mut conclusion = Conclusion::new("stats", arguments.json, quiet);
    conclusion.capture(source, done);
    conclusion.end_output(done.status())
}

/// Prints the numbers of each interval at the end of the interval.
fn intervals(arguments: &StatsArguments, length: u64, color: Color, quiet: bool) -> Result<u8, Failure> {
    let mut intervals = Intervals::new(length);
    let filters = Filters::new(&arguments.input, Select::Both);
    let selection = filters.selection.clone();
    let is_shown = |interval: &IntervalStatistics, first| {
        let (from, length) = (Time(interval.time_ns), interval.length_ns);
        // The first moment after an interval belongs to the next one.
        let until = Time(from.0.saturating_add(length.saturating_sub(1)));
        selection.window(first).overlaps(TimeSpan { from, until: Some(until) })
    };
    let mut source = InputSource::new(filters)?;
    // Calls that are in flight in the first interval began before that.
    let show = Show { any_time: true, ..Show::listing(quiet) };
    let table = table(arguments.csv, CsvTable::of_intervals)?;
    let mut lines = IntervalLines { table, json: arguments.json, screen: output::screen(color), is_begun: false };
    let done = source.read_given(Config::default(), show, |given, out, known| {
        let (Given::Event(event) | Given::Late(event)) = given else { return Ok(()) };
        intervals.event(known.first, event, |interval| match is_shown(interval, known.first) {
            true => lines.write(out, interval),
            false => Ok(()),
        })
    })?;
    let mut out = Vec::new();
    let first = done.summary.first.unwrap_or_default();
    intervals.finish(done.summary.last, |interval| match is_shown(interval, first) {
        true => lines.write(&mut out, interval),
        false => Ok(()),
    })?;
    output::write(&out)?;
    conclude(arguments, &source, &done, quiet)
}

/// Lines about intervals, below a heading.
struct IntervalLines {
    table: Option<CsvTable>,
    json: bool,
    screen: Screen,
    is_begun: bool,
}

impl IntervalLines {
    fn write(&mut self, out: &mut impl Write, interval: &IntervalStatistics) -> io::Result<()> {
        if let Some(table) = &self.table {
            return table.record(out, interval);
        }
        if self.json {
            return write_record(interval, out);
        }
        if !core::mem::replace(&mut self.is_begun, true) {
            interval_heading(out, self.screen)?;
        }
        interval.write_text(out, self.screen)
    }
}

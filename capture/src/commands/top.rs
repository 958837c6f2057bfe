//! `top`: RPCs by a common property.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use rpcrdma_answers::csv::CsvTable;
use rpcrdma_answers::format::number::counted;
use rpcrdma_answers::top::{Top, TopBy};
use rpcrdma_dissector::{Config, Event};

use super::separate::{Separable, SeparateForm};
use super::table::table;
use crate::arguments::{Color, InputArguments};
use crate::conclusion::Conclusion;
use crate::failure::Failure;
use crate::filters::Filters;
use crate::notices::Select;
use crate::output;
use crate::source::{InputSource, Show};
use crate::spool::with_capture_file;

const TOP_HELP: &str = "\
The columns:
  calls       calls in the capture
  no reply    calls without a reply
  failed      RPCs that failed; NFS4ERR_MOVED is no failure
  read        bytes of file data in results, as of READ, inline or by RDMA
  written     bytes of file data in arguments, as of WRITE
  p50 ms      median latency in milliseconds, to one in a hundred
  p99 ms      99th percentile of the latency in milliseconds
  time        the share of the time of all RPCs: latencies, and the waits of calls without a reply
              to the end of the capture or of their connection
The last line has the median of p50 and of p99 over all rows, to compare a row with: a typical row.
A terminal of fewer than 100 columns does not show read and written.
A COMPOUND is counted by its first operation that does not just lead up to another, as PUTFH and
GETATTR do. Its file is the one that this operation names, or else the current one. --by handle
shows the CRC-32 of the handle, as Wireshark does (nfs.fh.hash), and the name by which the file was
looked up, opened, created or listed, if the capture shows that; a path begins at the root of the
server, or behind … at the first folder whose name was seen. --by user shows uid, gid and machine of
AUTH_SYS; calls with RPCSEC_GSS name no uid.
At most 1000 rows are counted; the rest is one row, 'others': the rows that took the least time. A
row that comes back from there is counted from then on.

Examples:
  rpcrdma top nfs.pcap                              operations
  rpcrdma top --by client --op READ nfs.pcap        who reads
  rpcrdma top --by name --rows 10 nfs.pcap          the ten files that took the most time
  rpcrdma top --by user nfs.pcap                    which user and machine did this
  rpcrdma top --by handle --json nfs.pcap           one JSON object per file";

#[derive(Args, Clone, Debug)]
#[command(after_help = TOP_HELP)]
pub(super) struct TopArguments {
    #[command(flatten)]
    input: InputArguments,
    /// Count the RPCs by this
    #[arg(long, value_name = "WHAT", value_parser = by(), default_value = TopBy::Operation.name())]
    by: TopBy,
    /// Print at most this many rows, and count the rest as others
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rows: u32,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    /// Print comma-separated values (RFC 4180), with the names of the columns in the first line: the fields of --json.
    /// Fields of a nested object are prefixed with the object's name
    #[arg(long, conflicts_with_all = ["json", "separate"])]
    csv: bool,
}

/// Values of `--by`, for help and completions.
fn by() -> impl TypedValueParser<Value = TopBy> {
    PossibleValuesParser::new(TopBy::ALL.map(TopBy::name))
        .map(|name| TopBy::ALL.into_iter().find(|by| by.name() == name).unwrap_or(TopBy::Operation))
}

impl Separable for TopArguments {
    fn input(&mut self) -> &mut InputArguments {
        &mut self.input
    }

    fn form(&self) -> SeparateForm {
        SeparateForm::printed(self.json)
    }
}

pub(super) fn run(arguments: &TopArguments, color: Color, quiet: bool) -> Result<u8, Failure> {
    let table = table(arguments.csv, || CsvTable::of_records("top"))?;
    let mut top = Top::new(arguments.by);
    let mut source = InputSource::new(Filters::new(&arguments.input, Select::Rpcs))?;
    // Operations before the selected RPCs give the names of their files.
    let show = Show { all: true, ..Show::report(quiet) };
    let done = source.read_all(Config::default(), show, |event, _, known| {
        match event {
            Event::Transaction(transaction) if known.is_wanted => top.add_rpc(transaction),
            Event::Transaction(transaction) => top.pass(transaction),
            _ => {}
        }
        Ok(())
    })?;
    let report = top.finish(arguments.rows as usize, done.summary.capture_end());
    let mut out = Vec::new();
    if let Some(table) = table {
        table.top(&mut out, &report)?;
    } else if arguments.json {
        with_capture_file(|capture_file| report.write_json(capture_file, &mut out))?;
    } else if !report.rows.is_empty() {
        report.write_text(&mut out, output::screen(color))?;
    }
    output::write(&out)?;
    let mut conclusion = Conclusion::new("top", arguments.json, quiet);
    conclusion.capture(&source, &done);
    let lacking = report.not_rebuilt();
    if lacking > 0 {
        conclusion.say(format!("{} not rebuilt: file data of these is not counted", counted(lacking, "RPC")));
    }
    let without_call = report.without_call();
    if without_call > 0 {
        conclusion.say(format!("{} without a call: not counted as calls", counted(without_call, "reply")));
    }
    conclusion.end_output(done.status())
}

//! `connections`: requests for connections, their answers, and the ends of connections.

use clap::Args;
use rpcrdma_answers::connections::text::ConnectionForm;
use rpcrdma_answers::connections::{AddressMoveObject, ConnectionItem, ConnectionObject, Connections};
use rpcrdma_answers::csv::CsvTable;
use rpcrdma_answers::format::number::counted;
use rpcrdma_dissector::{Config, Event};

use super::separate::{Separable, SeparateForm};
use super::table::table;
use crate::arguments::{Color, InputArguments, TimeArguments};
use crate::conclusion::Conclusion;
use crate::failure::Failure;
use crate::filters::Filters;
use crate::notices::Select;
use crate::output;
use crate::source::{InputSource, Show};
use crate::spool::write_record;

const CONNECTIONS_HELP: &str = "\
Each line is a request for a connection, in the order of the requests, with the connection if the
server accepted:
  frame, seconds    the first frame of the request; if the capture lacks the request, the first
                    frame that shows the connection
  C                 the number of the connection; - for a request without success
  asked             times that the request was sent
  RPCs              RPCs on the connection
  what became of it rejected, and why; no answer; open when the capture ends; or ended, by
                    whom, how (DREQ over InfiniBand and RoCE; FIN, RST or Terminate over iWARP),
                    and with how many calls without a reply
The lines below say when the request was answered, when the first and the last message were sent,
the longest time without a message while no call waited, and what came between the last message and
the end: time-outs without an acknowledgement, or an operation that an end refused. IP addresses
that moved to another MAC address (gratuitous ARP, Neighbor Advertisement) stand between them. Pairs
of ends whose connections end again and again come last.

Examples:
  rpcrdma connections nfs.pcap
  rpcrdma connections -v nfs.pcap              with the terms of each connection
  rpcrdma connections --client 192.0.2.7 nfs.pcap
  rpcrdma connections --json nfs.pcap | jq -r 'select(.answer == \"rejected\").rejection'";

#[derive(Args, Clone, Debug)]
#[command(after_help = CONNECTIONS_HELP)]
pub(super) struct ConnectionsArguments {
    #[command(flatten)]
    input: InputArguments,
    #[command(flatten)]
    time: TimeArguments,
    /// Print what was agreed on each connection too: inline thresholds, credits of both directions, remote invalidation,
    /// path MTU, time-outs, RDMA Reads at a time
    #[arg(long, short)]
    verbose: bool,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    /// Print comma-separated values (RFC 4180), with the names of the columns in the first line: the fields of --json, without
    /// moves of addresses
    #[arg(long, conflicts_with_all = ["json", "separate"])]
    csv: bool,
}

impl Separable for ConnectionsArguments {
    fn input(&mut self) -> &mut InputArguments {
        &mut self.input
    }

    fn form(&self) -> SeparateForm {
        SeparateForm::printed(self.json)
    }
}

pub(super) fn run(arguments: &ConnectionsArguments, color: Color, quiet: bool) -> Result<u8, Failure> {
    let table = table(arguments.csv, || CsvTable::of_records("connection"))?;
    let filters = Filters::new(&arguments.input, Select::Both);
    let mut source = InputSource::new(filters.clone())?;
    let mut connections = Connections::default();
    let mut config = Config::default();
    config.recovery = true;
    let show = Show { all: true, ..Show::report(quiet) };
    let done = source.read_all(config, show, |event, _, known| {
        // Of a selected connection, everything counts.
        let is_life = matches!(event, Event::Connection(_) | Event::Rejected(_) | Event::UnansweredRequest(_));
        if !is_life || known.is_wanted_at_some_time {
            connections.event(event);
        }
        Ok(())
    })?;
    let first = done.summary.first.unwrap_or_default();
    let left_out = connections.left_out;
    let lives = connections.finish(filters.selection.window(first));
    let mut out = Vec::new();
    match &table {
        Some(table) => {
            lives
                .lives
                .iter()
                .try_for_each(|life| table.record(&mut out, &ConnectionObject::new(life, &done.files)))?;
        }
        None if arguments.json => lives.items().into_iter().try_for_each(|item| match item {
            ConnectionItem::Life(life) => write_record(&ConnectionObject::new(life, &done.files), &mut out),
            ConnectionItem::Move(moved) => write_record(&AddressMoveObject::new(moved, &done.files), &mut out),
        })?,
        None => {
            let (screen, times) = (output::screen(color), arguments.time.shown().starting_at(first));
            lives.write_text(&mut out, ConnectionForm { screen, times, has_terms: arguments.verbose })?;
        }
    }
    output::write(&out)?;
    let mut conclusion = Conclusion::new("connections", arguments.json, quiet);
    conclusion.capture(&source, &done);
    if left_out > 0 {
        conclusion.say(format!("{} left out: only the first are kept", counted(left_out, "connection")));
    }
    conclusion.end_output(done.status())
}

//! `events`: retransmissions and other indications of packet loss.

use std::io::Write as _;

use clap::Args;
use rpcrdma_answers::csv::CsvTable;
use rpcrdma_answers::events::{LostBetweenObject, RecoveredObject, lost_between};
use rpcrdma_dissector::{Config, Event};

use super::headed_lines::HeadedLines;
use super::separate::{Separable, SeparateForm};
use super::table::table;
use crate::arguments::{Color, InputArguments, TimeArguments};
use crate::conclusion::Conclusion;
use crate::failure::Failure;
use crate::filters::Filters;
use crate::notices::Select;
use crate::source::{InputSource, Show};
use crate::spool::write_record;

const EVENTS_HELP: &str = "\
Each line is one of:
  retransmitted                      a packet whose first transmission is in the capture
  retransmitted, first not captured  a packet whose first transmission is not in the capture
  time-out                           the sender of the packet in the next line got no
                                     acknowledgement for at least the local ACK timeout that the
                                     connection request announced, or 30 ms (iWARP, or if the
                                     capture lacks the request)
  implied NAK                        a response to the RDMA Read request in the next line was lost
  cause not seen                     nothing in the capture says why the packet in the next line was
                                     retransmitted
  NAK                                the receiver reports a lost packet; for iWARP, by a TCP
                                     acknowledgement
  RNR NAK                            the receiver was not ready; the sender has to wait
  refused                            the receiver refused an operation for good
The XID is that of the RPC that the line is about, if known. If a packet is lost before the capture
point and retransmitted before any other follows it, nothing shows the loss. Duplicates that a
mirror or the network made of packets are left out and counted.
With the files of both ends, a line says of which packet copies were lost between the two.
A line is printed once its RPC is known, so lines of two connections may not be in the order of
their frames.

Examples:
  rpcrdma events nfs.pcap                         what was retransmitted, and why
  rpcrdma events --xid 0xc73d34c3 nfs.pcap        the same for one RPC
  rpcrdma events --json nfs.pcap | jq -r .event | sort | uniq -c
                                                  how many there are of each kind";

#[derive(Args, Clone, Debug)]
#[command(after_help = EVENTS_HELP)]
pub(super) struct EventsArguments {
    #[command(flatten)]
    input: InputArguments,
    #[command(flatten)]
    time: TimeArguments,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    /// Print comma-separated values (RFC 4180), with the names of the columns in the first line: the fields of --json
    #[arg(long, conflicts_with_all = ["json", "separate"])]
    csv: bool,
}

impl Separable for EventsArguments {
    fn input(&mut self) -> &mut InputArguments {
        &mut self.input
    }

    fn form(&self) -> SeparateForm {
        SeparateForm::printed(self.json)
    }
}

pub(super) fn run(arguments: &EventsArguments, color: Color, quiet: bool) -> Result<u8, Failure> {
    let mut text = HeadedLines::new(color, arguments.time);
    let table = table(arguments.csv, || CsvTable::of_records("event"))?;
    let mut count = 0_u64;
    let mut source = InputSource::new(Filters::new(&arguments.input, Select::Messages))?;
    let mut config = Config::for_messages();
    config.recovery = true;
    let done = source.read_all(config, Show::listing(quiet), |event, out, known| {
        if let Event::LostBetween(lost) = event {
            count += 1;
            return match &table {
                // The table has the columns of other events.
                Some(_) => Ok(()),
                None if arguments.json => write_record(&LostBetweenObject::new(lost), out),
                None => writeln!(out, "{}", lost_between(lost)),
            };
        }
        let Event::Recovery(recovered) = event else { return Ok(()) };
        count += 1;
        match &table {
            Some(table) => table.record(out, &RecoveredObject::new(recovered, known.files)),
            None if arguments.json => write_record(&RecoveredObject::new(recovered, known.files), out),
            None => text.recovered(out, recovered, known),
        }
    })?;
    let mut conclusion = Conclusion::new("events", arguments.json, quiet);
    conclusion.capture(&source, &done);
    if count == 0 && !done.notices.selects_nothing() {
        let found = "nothing that was captured shows that a packet was lost and retransmitted";
        let all_clear = match source.selects_all() {
            true => "nothing shows that a packet was lost and retransmitted",
            false => "nothing selected shows that a packet was lost and retransmitted",
        };
        conclusion.say_nothing(all_clear, found, done.notices.gap());
    }
    conclusion.end_output(done.status())
}

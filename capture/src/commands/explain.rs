//! `explain`: one RPC, with everything known about the RPC.

use clap::Args;
use rpcrdma_answers::explain::{self, ExplainedObject, Explanations};
use rpcrdma_answers::file_names::FileNames;
use rpcrdma_answers::format::number::{counted, grouped};
use rpcrdma_dissector::{Config, Event, StepsWanted};

use crate::arguments::{Color, InputArguments};
use crate::conclusion::Conclusion;
use crate::failure::{DAMAGED, Failure};
use crate::filters::Filters;
use crate::judge::Judge;
use crate::notices::Select;
use crate::output;
use crate::source::{Given, InputSource, Show};
use crate::spool::write_record;

const EXPLAIN_HELP: &str = "\
The sequence diagram has the end that calls on the left (the client, except for callbacks), and the
end that answers on the right. A line is a packet, or several in a row that did the same (× 63):
the frames, the milliseconds since the first packet of the RPC, the milliseconds since the line
before, and an arrow from the sender. Then come where the time went, the arguments, the rules that
the RPC breaks, and the messages, field by field.
An acknowledgement is shown only if it is the first of the whole call. If several RPCs have the
XID, all are shown, at most 20; --connection, --since and --until choose among them.

Examples:
  rpcrdma slow nfs.pcap                           which RPCs to look at
  rpcrdma explain --xid 0xc73d34c3 nfs.pcap       one of them
  rpcrdma explain --frame 1446 nfs.pcap           the RPC that a packet belongs to
  rpcrdma explain --json --xid 0xc73d34c3 nfs.pcap | jq '.steps[] | select(.recovery != null)'
                                                  what was retransmitted for it";

/// The columns of output that is not on a terminal.
const WIDTH: usize = 80;

#[derive(Args, Debug)]
#[command(after_help = EXPLAIN_HELP, mut_arg("xid", |argument| argument.required_unless_present("frame")))]
pub(super) struct ExplainArguments {
    #[command(flatten)]
    input: InputArguments,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &ExplainArguments, color: Color, quiet: bool) -> Result<u8, Failure> {
    let ExplainArguments { input, json } = arguments;
    let filters = Filters::new(input, Select::Both);
    let (mut source, mut judge) = (InputSource::new(filters.clone())?, Judge::new(filters.clone()));
    let mut explanations = Explanations::of_frames(input.frame.clone());
    // Operations before the RPC give the names of its files.
    let mut names = FileNames::default();
    let mut config = Config::default();
    config.joins_tries = false;
    (config.operations, config.recovery) = (true, true);
    config.steps = if input.xid.is_empty() { StepsWanted::All } else { StepsWanted::Xids(input.xid.clone()) };
    let show = Show { all: true, phases: true, ..Show::report(quiet) };
    let done = source.read_given(config, show, |given, _, known| {
        let event = match given {
            Given::Event(event) => event,
            Given::Late(event) => {
                explanations.event(event);
                return Ok(());
            }
            Given::Frame(_) | Given::Idle => return Ok(()),
        };
        if let Event::Transaction(transaction) = event {
            names.learn(transaction, &transaction.arguments());
        }
        if known.is_wanted {
            explanations.event(event);
        }
        judge.event(event, known, |found| {
            explanations.finding(found);
            Ok(())
        })
    })?;
    let mut conclusion = Conclusion::new("explain", *json, quiet);
    conclusion.capture(&source, &done);
    conclusion.judge(&judge);
    conclusion.left_out().unexplained_rpcs = explanations.left_out;
    conclusion.left_out().omitted_findings_and_events = explanations.unkept;
    let unkept = match explanations.unkept {
        1 => "1 finding or indication of loss".to_owned(),
        unkept => format!("{} findings and indications of loss", grouped(unkept)),
    };
    for (count, what) in [(explanations.left_out, counted(explanations.left_out, "RPC")), (explanations.unkept, unkept)]
    {
        if count > 0 {
            conclusion.say(format!("{what} left out: choose with --connection, --since and --until"));
        }
    }
    let rpcs = explanations.into_rpcs();
    if rpcs.is_empty() {
        if !done.notices.selects_nothing() {
            conclusion.say("no RPC has this XID or frame: 'rpcrdma transactions' lists those there are".to_owned());
        }
        return conclusion.end_output(done.status().max(DAMAGED));
    }
    let (mut out, screen) = (Vec::new(), output::screen(color));
    for (index, rpc) in rpcs.iter().enumerate() {
        if *json {
            write_record(&ExplainedObject::new(rpc, &done.files, &mut names), &mut out)?;
            continue;
        }
        if index > 0 {
            out.extend(b"\n\n");
        }
        explain::lines(&mut out, rpc, &done.files, &names, screen.columns.unwrap_or(WIDTH), screen.colour)?;
    }
    output::write(&out)?;
    conclusion.end_output(done.status())
}

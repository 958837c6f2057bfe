//! `diagnose`: the causes of waiting.

use clap::Args;
use rpcrdma_answers::diagnosis::Diagnoser;
use rpcrdma_answers::format::number::counted;
use rpcrdma_dissector::Config;
use rpcrdma_dissector::check::Found;

use super::pasteable::pasteable;
use super::separate::{Separable, SeparateForm};
use crate::arguments::{Color, InputArguments};
use crate::conclusion::Conclusion;
use crate::failure::Failure;
use crate::filters::Filters;
use crate::judge::{FindingUse, Judge};
use crate::notices::Select;
use crate::output;
use crate::source::{Given, InputSource, Show};
use crate::spool::write_record;

const DIAGNOSE_HELP: &str = "\
Waiting time is the latency of all RPCs, the time before calls for which there was no credit, and
the age of calls without a reply. Each cause is printed with its share of that time, with who can
remove it (the client, the server, the network between them, or the capture), with the evidence, and
with the command that shows more. GUIDE.md has the rules by which causes are found.

Causes:
  nothing-found, one-direction, capture-gaps, cut, joined-late, mirror-doubled,
  two-clocks: of the capture
  server-silent, server-unreachable, client-silent, client-unreachable,
  wrong-checksum, reply-refused: calls that are not answered
  server-not-listening, connection-refused, connect-unanswered: connections that cannot be set up
  flapping: connections that end again and again
  retried, loss, receiver-not-ready, distance, delegation-recall, server-slow,
  client-slow, slow-transfer, congestion, window, link-full, credits: RPCs that take long
  completion-error, connection-lost, rdma-read-slow, registration,
  client-queue, server-queue, replies-late: the same in kernel traces
  small-sends, errors, protocol: other faults

Exit status:
  0 if there is no cause, else 1

Examples:
  rpcrdma diagnose nfs.pcap
  rpcrdma nfs.pcap                            the same
  rpcrdma diagnose --client 192.0.2.7 nfs.pcap
  rpcrdma diagnose --json --separate *.pcap   a record for each capture";

#[derive(Args, Clone, Debug)]
#[command(after_help = DIAGNOSE_HELP)]
pub(super) struct DiagnoseArguments {
    #[command(flatten)]
    input: InputArguments,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Separable for DiagnoseArguments {
    fn input(&mut self) -> &mut InputArguments {
        &mut self.input
    }

    fn form(&self) -> SeparateForm {
        SeparateForm::printed(self.json)
    }
}

pub(super) fn run(arguments: &DiagnoseArguments, color: Color, quiet: bool) -> Result<u8, Failure> {
    let DiagnoseArguments { input, json } = arguments;
    let filters = Filters::new(input, Select::Both);
    let (mut source, mut judge) = (InputSource::new(filters.clone())?, Judge::new(filters.clone()));
    let mut diagnoser = Diagnoser::new(input.name()).with_files(pasteable(&input.files));
    if !filters.selection.is_all() {
        diagnoser = diagnoser.of_selection();
    }
    let mut config = Config::default();
    (config.operations, config.recovery) = (true, true);
    // The diagnosis itself contains the warnings.
    let show = Show { notices: false, all: true, ..Show::report(quiet) };
    let take = |diagnoser: &mut Diagnoser, found: &Found, given| {
        match given {
            FindingUse::Context => diagnoser.context_finding(found),
            FindingUse::Shown => diagnoser.finding(found),
        }
        Ok(())
    };
    let done = source.read_given(config, show, |given, _, known| {
        match given {
            Given::Event(event) => {
                judge.event_in_context(event, known, |found, given| take(&mut diagnoser, found, given))?;
                diagnoser.context(event);
                if known.is_wanted {
                    diagnoser.event(event);
                }
            }
            Given::Late(event) => diagnoser.event(event),
            Given::Frame(_) | Given::Idle => {}
        }
        Ok(())
    })?;
    let first = done.summary.first.unwrap_or_default();
    judge.finish_in_context(first, |found, given| take(&mut diagnoser, found, given))?;
    judge.say_left_out(quiet);
    if let Some(options) = filters.options(first) {
        diagnoser.describe_selection(options, &done.notices.throughout);
    }
    done.notices.unread.iter().for_each(|_| diagnoser.unread());
    if !quiet {
        source.say_reasons(&done);
    }
    let diagnosis = diagnoser.finish(&done.summary);
    let mut out = Vec::new();
    if *json {
        write_record(&diagnosis, &mut out)?;
    } else {
        diagnosis.write_text(&mut out, output::is_coloured(color))?;
    }
    output::write(&out)?;
    let mut conclusion = Conclusion::new("diagnose", *json, quiet);
    conclusion.capture(&source, &done);
    conclusion.judge(&judge);
    match diagnosis.causes.len() {
        0 => {}
        count => conclusion.say(format!("{} found", counted(count as u64, "cause"))),
    }
    let is_wrong = !diagnosis.causes.is_empty() || done.status() != 0;
    conclusion.end_output(done.notices.status_of(is_wrong))
}

//! `slow`: the slowest RPCs.

use clap::Args;
use rpcrdma_answers::file_names::FileNames;
use rpcrdma_answers::format::number::counted;
use rpcrdma_answers::gaps::Gap;
use rpcrdma_answers::slow::{self, Slowest};
use rpcrdma_answers::transactions::TransactionObject;
use rpcrdma_dissector::{Config, Event};

use super::separate::{Separable, SeparateForm};
use crate::arguments::{Color, InputArguments, TimeArguments};
use crate::conclusion::Conclusion;
use crate::failure::{DAMAGED, Failure};
use crate::filters::Filters;
use crate::notices::Select;
use crate::output;
use crate::source::{InputSource, Show};
use crate::spool::write_record;

const SLOW_HELP: &str = "\
The phases of an RPC at the capture point, which add up to its latency:
  call        the call's Send, from its first packet to its last
  server      no packet of the RPC; the next is due from the server
  RDMA Read   the server reads data of the call from the client
  RDMA Write  the server writes data of the reply to the client, from the first packet to the last
  reply       the reply's Send, from its first packet to its last
  client      no packet of the RPC; the client has to read the reply from Read chunks
For callbacks, client and server change places. Retransmitting a captured packet does not start a
new phase: time spent retransmitting a call counts as server time. If packets were lost before the
capture point, or waited behind packets of other RPCs, the phase before them is longer.
The line below an RPC says what happened in its longest phase. Retransmissions get a line of their
own, unless they took most of that phase. Recovery lasts from the first transmission of a packet, or
from the next packet if the capture lacks the first, until the packet is retransmitted. If the
capture lacks both, the time of recovery is unknown and not counted.
If the call had to wait for a credit for more than a tenth of the latency, another line says how
long. The capture does not show whether the client wanted to call earlier.
The capture point decides which phases contain time in the network: at the client, the server phase
contains the round trip to the server; at the server, it is the server's own time, and RDMA Read and
client contain the round trip to the client. --captured-at names the capture point. Without it, a
line below names the point if acknowledgements show it: those of one end, even the fastest, come
much later than those of the other. Otherwise any phase may contain the network.
An operation that the server refused for now (NFS4ERR_DELAY, NFS4ERR_GRACE) counts from its first
call: another line says how often it was refused. --json has that time as keeps.waited_ns.
Calls without a reply are left out.
A terminal of 100 columns or more also shows when the call was sent, of 120 the name of the file,
of 150 client and server.";

#[derive(Args, Clone, Debug)]
#[command(after_help = SLOW_HELP)]
pub(super) struct SlowArguments {
    #[command(flatten)]
    input: InputArguments,
    #[command(flatten)]
    time: TimeArguments,
    /// Print at most this many RPCs
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    top: u32,
    /// Print one JSON object per line, as 'transactions --json' does
    #[arg(long)]
    json: bool,
}

impl Separable for SlowArguments {
    fn input(&mut self) -> &mut InputArguments {
        &mut self.input
    }

    fn form(&self) -> SeparateForm {
        SeparateForm::printed(self.json)
    }
}

pub(super) fn run(arguments: &SlowArguments, color: Color, quiet: bool) -> Result<u8, Failure> {
    let screen = output::screen(color);
    let mut slowest = Slowest::new(arguments.top as usize, arguments.input.slower_than.unwrap_or(0));
    // Operations before the selected RPCs give the names of their files.
    let mut names = FileNames::default();
    let show = Show { all: arguments.json, phases: true, ..Show::report(quiet) };
    // RPCs that are not slow enough are counted here, apart from calls without a reply.
    let mut source = InputSource::new(Filters::new(&arguments.input, Select::Rpcs).of_any_latency())?;
    let done = source.read_all(Config::default(), show, |event, _, known| match event {
        Event::Transaction(transaction) => {
            if arguments.json || slow::shows_files(screen) {
                names.learn(transaction, &transaction.arguments());
            }
            let show = |out: &mut Vec<u8>| match arguments.json {
                true => write_record(&TransactionObject::new(transaction, known.files, &mut names), out),
                false => slow::lines(
                    out,
                    transaction,
                    known.files,
                    &names,
                    screen,
                    arguments.time.shown().starting_at(known.first),
                ),
            };
            if known.is_wanted { slowest.add_rpc(transaction, show) } else { Ok(()) }
        }
        _ => Ok(()),
    })?;
    let mut conclusion = Conclusion::new("slow", arguments.json, quiet);
    conclusion.capture(&source, &done);
    let (answered, unanswered) = (slowest.answered, slowest.unanswered);
    conclusion.left_out().unanswered_calls = unanswered;
    if unanswered > 0 {
        conclusion.say(format!(
            "{} without a reply in the capture left out: 'rpcrdma transactions' shows them",
            counted(unanswered, "call")
        ));
    }
    if slowest.is_empty() {
        if answered == 0 && done.notices.gap() != Some(Gap::Empty) {
            conclusion.say("no RPC has a known latency".to_owned());
        }
        if answered > 0 {
            conclusion.say(format!("nothing selected: none of {} matches --slower-than", counted(answered, "RPC")));
        }
        return conclusion.end_output(done.status().max(DAMAGED));
    }
    let mut out = Vec::new();
    if !arguments.json {
        slow::heading(&mut out, screen, arguments.time.shown())?;
    }
    slowest.write(&mut out)?;
    output::write(&out)?;
    conclusion.end_output(done.status())
}

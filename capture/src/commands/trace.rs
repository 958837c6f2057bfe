//! `trace`: the RPCs on a time line.

use std::path::PathBuf;

use clap::Args;
use rpcrdma_answers::format::number::counted;
use rpcrdma_answers::trace::{Traced, Tracer};
use rpcrdma_dissector::{Config, Event, StepsWanted};

use crate::arguments::InputArguments;
use crate::destination::Destination;
use crate::failure::{DAMAGED, Failure, say};
use crate::filters::Filters;
use crate::notices::Select;
use crate::source::{InputSource, Show};

const TRACE_HELP: &str = "\
The file has the Trace Event Format of Chrome: open it in Perfetto (ui.perfetto.dev) or speedscope.
Each connection has lanes for its calls, and others for callbacks. Each RPC is a slice, with slices
for its phases within; its arguments say what was called, which frames it is in, and how long each
phase took in all. If the phases of an RPC alternate more than 256 times, only its call and its
reply have slices.
A call that waits when the capture ends has a slice without an end, which viewers draw up to the
event `end of the capture`; its name says whom it waits for. If the end of an RPC is not known, its
slice is as long as the RPC took at least, and its name says so. RPCs whose beginning is not known
are left out. Times are those since the first frame.";

#[derive(Args, Debug)]
#[command(after_help = TRACE_HELP)]
pub(super) struct TraceArguments {
    #[command(flatten)]
    input: InputArguments,
    /// The JSON file to write, compressed if the name ends in .gz or .zst; - is standard output
    #[arg(long, short, value_name = "OUT")]
    output: PathBuf,
}

pub(super) fn run(arguments: &TraceArguments, quiet: bool) -> Result<u8, Failure> {
    let destination = Destination::new(&arguments.output, &arguments.input.files)?;
    let mut source = InputSource::new(Filters::new(&arguments.input, Select::Rpcs))?;
    let mut tracer = Tracer::new(destination.create()?).map_err(|error| destination.failed(error))?;
    let mut config = Config::default();
    config.joins_tries = false;
    config.steps = StepsWanted::All;
    let show = Show { phases: true, whole: destination.is_file(), ..Show::report(quiet) };
    let done = source.read_all(config, show, |event, _, known| match event {
        Event::Transaction(transaction) => {
            tracer.start_at(known.first);
            tracer.transaction(transaction)
        }
        _ => Ok(()),
    });
    let done = done.map_err(|failure| destination.named(failure))?;
    let (write, traced) = tracer.finish(Some(done.summary.capture_end())).map_err(|error| destination.failed(error))?;
    write.finish().map_err(|error| destination.failed(error))?;
    if !quiet {
        say(&written(&traced));
    }
    let status = done.status();
    Ok(if traced.written() > 0 { status } else { status.max(DAMAGED) })
}

/// Says what was written, and what was not.
fn written(traced: &Traced) -> String {
    let Traced { waiting, at_least, left_out, .. } = *traced;
    let mut text = format!("{} written", counted(traced.written(), "RPC"));
    let parts = [
        (waiting, "waiting"),
        (at_least, "with an end that is not known"),
        (left_out, "left out, without a beginning that is known and after the first frame"),
    ];
    for (count, what) in parts.into_iter().filter(|(count, _)| *count > 0) {
        text.push_str(&format!("; {count} {what}"));
    }
    text
}

//! `export`: the RPCs as RPC over TCP.

use std::path::PathBuf;

use clap::Args;
use rpcrdma_answers::export::Exporter;
use rpcrdma_dissector::{Config, Event};

use crate::arguments::InputArguments;
use crate::destination::Destination;
use crate::failure::{DAMAGED, Failure, say};
use crate::filters::Filters;
use crate::notices::Select;
use crate::source::{InputSource, Show};

#[derive(Args, Debug)]
pub(super) struct ExportArguments {
    #[command(flatten)]
    input: InputArguments,
    /// The file to write: pcapng if the name ends in .pcapng, otherwise pcap, and compressed if .gz or .zst follows; - is
    /// standard output
    #[arg(long, short, value_name = "OUT")]
    output: PathBuf,
}

pub(super) fn run(arguments: &ExportArguments, quiet: bool) -> Result<u8, Failure> {
    let destination = Destination::new(&arguments.output, &arguments.input.files)?;
    let mut source = InputSource::new(Filters::new(&arguments.input, Select::Rpcs))?;
    let mut write = destination.create()?;
    let begun = if destination.is_pcapng() { Exporter::pcapng(&mut write) } else { Exporter::new(&mut write) };
    let mut exporter = begun.map_err(|error| destination.failed(error))?;
    let show = Show { whole: destination.is_file(), ..Show::report(quiet) };
    let mut config = Config::default();
    config.joins_tries = false;
    let status = source.read(config, show, |event, _, _| match event {
        Event::Transaction(transaction) => exporter.transaction(transaction),
        _ => Ok(()),
    });
    let status = status.map_err(|failure| destination.named(failure))?;
    let exported = exporter.finish().map_err(|error| destination.failed(error))?;
    write.finish().map_err(|error| destination.failed(error))?;
    if !quiet {
        say(&exported.to_string());
    }
    // Frames that were cut are a reason here: the data was asked for.
    let is_whole = exported.calls > 0 && exported.left_out + exported.replies_left_out == 0;
    Ok(if is_whole { status } else { status.max(DAMAGED) })
}

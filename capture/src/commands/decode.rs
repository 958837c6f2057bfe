//! `decode`: the messages.

use clap::Args;
use rpcrdma_answers::messages::{MessageObject, TerminateObject};
#[cfg(feature = "parquet")]
use rpcrdma_answers::parquet::TableKind;
use rpcrdma_dissector::{Config, Event};

use super::headed_lines::HeadedLines;
use super::separate::{Separable, SeparateForm};
use crate::arguments::{Color, InputArguments, TimeArguments};
use crate::conclusion::Conclusion;
use crate::dataset::DatasetArguments;
#[cfg(feature = "parquet")]
use crate::dataset::DatasetTable;
use crate::failure::Failure;
use crate::filters::Filters;
use crate::notices::Select;
use crate::source::{InputSource, Show};
use crate::spool::write_record;

#[derive(Args, Clone, Debug)]
pub(super) struct DecodeArguments {
    #[command(flatten)]
    input: InputArguments,
    #[command(flatten)]
    time: TimeArguments,
    /// Print each field of the header with its offset
    #[arg(long, short, conflicts_with_all = ["json", "parquet"])]
    verbose: bool,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    dataset: DatasetArguments,
}

impl Separable for DecodeArguments {
    fn input(&mut self) -> &mut InputArguments {
        &mut self.input
    }

    fn form(&self) -> SeparateForm {
        SeparateForm::written(&self.dataset, self.json)
    }
}

pub(super) fn run(arguments: &DecodeArguments, color: Color, quiet: bool) -> Result<u8, Failure> {
    #[cfg(feature = "parquet")]
    if let Some(directory) = &arguments.dataset.parquet {
        return write_table(arguments, directory, quiet);
    }
    let config = Config::for_messages();
    let mut text = HeadedLines::new(color, arguments.time);
    let show = Show::listing(quiet);
    let filters = Filters::new(&arguments.input, Select::Messages);
    let mut source = InputSource::new(filters)?;
    let done = source.read_all(config, show, |event, out, known| match event {
        Event::Message(message) if arguments.json => write_record(&MessageObject::new(message, known.files), out),
        Event::Message(message) => text.message(out, message, known, arguments.verbose),
        Event::Terminated(terminated) if arguments.json => {
            write_record(&TerminateObject::new(terminated, known.files), out)
        }
        Event::Terminated(terminated) => text.terminated(out, terminated, known),
        _ => Ok(()),
    })?;
    let mut conclusion = Conclusion::new("decode", arguments.json, quiet);
    conclusion.capture(&source, &done);
    conclusion.end_output(done.status())
}

#[cfg(feature = "parquet")]
fn write_table(arguments: &DecodeArguments, directory: &std::path::Path, quiet: bool) -> Result<u8, Failure> {
    let mut written = DatasetTable::create(directory, TableKind::Messages, &arguments.input, quiet)?;
    let mut source = InputSource::new(Filters::new(&arguments.input, Select::Messages))?;
    let show = Show { whole: true, ..Show::report(quiet) };
    let done = source.read_all(Config::for_messages(), show, |event, _, known| match event {
        Event::Message(message) => written.table.message(message, known.files),
        _ => Ok(()),
    })?;
    written.finish()?;
    Ok(done.status())
}

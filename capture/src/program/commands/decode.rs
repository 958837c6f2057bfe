//! `decode`: the messages.

use clap::Args;

use super::headed::HeadedLines;
use super::separate::Separable;
use crate::dissector::Config;
use crate::event::Event;
use crate::output::json;
use crate::program::arguments::{Color, InputArguments};
use crate::program::conclusion::Conclusion;
use crate::program::failure::Failure;
use crate::program::filters::Filters;
use crate::program::notices::Select;
use crate::program::source::{InputSource, Show};

#[derive(Args, Clone, Debug)]
pub(super) struct DecodeArguments {
    #[command(flatten)]
    input: InputArguments,
    /// Print each field of the header with its offset
    #[arg(long, short, conflicts_with = "json")]
    verbose: bool,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl Separable for DecodeArguments {
    fn input(&mut self) -> &mut InputArguments {
        &mut self.input
    }

    fn is_json(&self) -> bool {
        self.json
    }
}

pub(super) fn run(arguments: &DecodeArguments, color: Color, quiet: bool) -> Result<u8, Failure> {
    let config = Config::for_messages();
    let mut text = HeadedLines::new(color);
    let show = Show::listing(quiet);
    let filters = Filters::new(&arguments.input, Select::Messages);
    let mut source = InputSource::new(filters)?;
    let done = source.read_all(config, show, |event, out, known| match event {
        Event::Message(message) if arguments.json => json::message(out, message, known.files),
        Event::Message(message) => text.message(out, message, known, arguments.verbose),
        Event::Terminated(terminated) if arguments.json => json::terminated(out, terminated, known.files),
        Event::Terminated(terminated) => text.terminated(out, terminated, known),
        _ => Ok(()),
    })?;
    let mut conclusion = Conclusion::new("decode", arguments.json, quiet);
    conclusion.capture(&source, &done);
    conclusion.end(done.status())
}

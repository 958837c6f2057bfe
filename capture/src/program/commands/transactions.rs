//! `transactions`: the RPCs.

use clap::Args;

use super::headed::HeadedLines;
use super::separate::Separable;
use crate::dissector::Config;
use crate::event::Event;
use crate::output::file_names::FileNames;
use crate::output::json;
use crate::program::arguments::{Color, InputArguments};
use crate::program::conclusion::Conclusion;
use crate::program::failure::Failure;
use crate::program::filters::Filters;
use crate::program::notices::Select;
use crate::program::source::{InputSource, Show};

#[derive(Args, Clone, Debug)]
pub(super) struct TransactionsArguments {
    #[command(flatten)]
    input: InputArguments,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl Separable for TransactionsArguments {
    fn input(&mut self) -> &mut InputArguments {
        &mut self.input
    }

    fn is_json(&self) -> bool {
        self.json
    }
}

pub(super) fn run(arguments: &TransactionsArguments, color: Color, quiet: bool) -> Result<u8, Failure> {
    let mut text = HeadedLines::new(color);
    // What was looked up before the RPCs that were asked for names their files.
    let mut names = FileNames::default();
    let show = Show { all: arguments.json, ..Show::listing(quiet) };
    let filters = Filters::new(&arguments.input, Select::Rpcs);
    let mut source = InputSource::new(filters)?;
    let done = source.read_all(Config::default(), show, |event, out, known| match event {
        Event::Transaction(transaction) if arguments.json && known.is_wanted => {
            json::transaction(out, transaction, known.files, &mut names)
        }
        Event::Transaction(transaction) if arguments.json => {
            names.learn(transaction, &transaction.arguments());
            Ok(())
        }
        Event::Transaction(transaction) => text.transaction(out, transaction, known),
        _ => Ok(()),
    })?;
    let mut conclusion = Conclusion::new("transactions", arguments.json, quiet);
    conclusion.capture(&source, &done);
    conclusion.end(done.status())
}

//! `transactions`: the RPCs.

use clap::Args;

use super::headed::HeadedLines;
use crate::dissector::Config;
use crate::event::Event;
use crate::output::json;
use crate::program::arguments::{Color, InputArguments, RpcArguments};
use crate::program::failure::Failure;
use crate::program::filters::Filters;
use crate::program::source::{InputSource, Show};

#[derive(Args, Debug)]
pub(super) struct TransactionsArguments {
    #[command(flatten)]
    input: InputArguments,
    #[command(flatten)]
    rpcs: RpcArguments,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &TransactionsArguments, color: Color, quiet: bool) -> Result<u8, Failure> {
    let mut text = HeadedLines::new(color);
    let show = Show::listing(quiet);
    let filters = Filters::rpcs(&arguments.input, &arguments.rpcs);
    InputSource::new(filters)?.read(Config::default(), show, |event, out, known| match event {
        Event::Transaction(transaction) if arguments.json => json::transaction(out, transaction, known.files),
        Event::Transaction(transaction) => text.transaction(out, transaction, known),
        _ => Ok(()),
    })
}

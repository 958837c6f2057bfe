//! `transactions`: the RPCs.

use clap::Args;
use rpcrdma_answers::csv::CsvTable;
use rpcrdma_answers::file_names::FileNames;
#[cfg(feature = "parquet")]
use rpcrdma_answers::parquet::TableKind;
use rpcrdma_answers::transactions::TransactionObject;
use rpcrdma_dissector::{Config, Event};

use super::headed_lines::HeadedLines;
use super::separate::{Separable, SeparateForm};
use super::table::table;
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
pub(super) struct TransactionsArguments {
    #[command(flatten)]
    input: InputArguments,
    #[command(flatten)]
    time: TimeArguments,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    /// Print comma-separated values (RFC 4180), with the names of the columns in the first line: the fields of --json.
    /// Fields of a nested object are prefixed with the object's name (phases_call_ns). The names of operations and the
    /// frames of recovery are one cell each, joined by spaces; other lists are left out
    #[arg(long, conflicts_with_all = ["json", "separate", "parquet"])]
    csv: bool,
    /// Print a row for each try of an RPC: a call is another try if the client had made the same call on a connection that ended
    #[arg(long)]
    tries: bool,
    #[command(flatten)]
    dataset: DatasetArguments,
}

impl TransactionsArguments {
    fn config(&self) -> Config {
        let mut config = Config::default();
        config.joins_tries = !self.tries;
        config
    }
}

impl Separable for TransactionsArguments {
    fn input(&mut self) -> &mut InputArguments {
        &mut self.input
    }

    fn form(&self) -> SeparateForm {
        SeparateForm::written(&self.dataset, self.json)
    }
}

pub(super) fn run(arguments: &TransactionsArguments, color: Color, quiet: bool) -> Result<u8, Failure> {
    #[cfg(feature = "parquet")]
    if let Some(directory) = &arguments.dataset.parquet {
        return write_table(arguments, directory, quiet);
    }
    let mut text = HeadedLines::new(color, arguments.time);
    // Operations before the selected RPCs give the names of their files.
    let mut names = FileNames::default();
    let table = table(arguments.csv, || CsvTable::of_records("transaction"))?;
    let is_record = arguments.json || arguments.csv;
    let show = Show { all: is_record, phases: is_record, ..Show::listing(quiet) };
    let filters = Filters::new(&arguments.input, Select::Rpcs);
    let mut source = InputSource::new(filters)?;
    let done = source.read_all(arguments.config(), show, |event, out, known| match event {
        Event::Transaction(transaction) if is_record && known.is_wanted => match &table {
            Some(table) => table.record(out, &TransactionObject::new(transaction, known.files, &mut names)),
            None => write_record(&TransactionObject::new(transaction, known.files, &mut names), out),
        },
        Event::Transaction(transaction) if is_record => {
            names.learn(transaction, &transaction.arguments());
            Ok(())
        }
        Event::Transaction(transaction) => text.transaction(out, transaction, known),
        _ => Ok(()),
    })?;
    let mut conclusion = Conclusion::new("transactions", arguments.json, quiet);
    conclusion.capture(&source, &done);
    conclusion.end_output(done.status())
}

#[cfg(feature = "parquet")]
fn write_table(arguments: &TransactionsArguments, directory: &std::path::Path, quiet: bool) -> Result<u8, Failure> {
    let mut written = DatasetTable::create(directory, TableKind::Transactions, &arguments.input, quiet)?;
    // Operations before the selected RPCs give the names of their files.
    let mut names = FileNames::default();
    let mut source = InputSource::new(Filters::new(&arguments.input, Select::Rpcs))?;
    let show = Show { all: true, whole: true, ..Show::report(quiet) };
    let done = source.read_all(arguments.config(), show, |event, _, known| match event {
        Event::Transaction(transaction) if known.is_wanted => {
            written.table.transaction(transaction, known.files, &mut names)
        }
        Event::Transaction(transaction) => {
            names.learn(transaction, &transaction.arguments());
            Ok(())
        }
        _ => Ok(()),
    })?;
    written.finish()?;
    Ok(done.status())
}

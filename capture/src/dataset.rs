//! `--parquet`: a table of a dataset, and not lines.

use std::path::PathBuf;

use clap::Args;
#[cfg(feature = "parquet")]
use rpcrdma_answers::format::number::counted;
#[cfg(feature = "parquet")]
use rpcrdma_answers::parquet::{ParquetTable, TableKind};

#[cfg(feature = "parquet")]
use crate::arguments::InputArguments;
#[cfg(feature = "parquet")]
use crate::failure::{Failure, say};

/// Destination of a table.
#[derive(Args, Clone, Debug)]
pub(crate) struct DatasetArguments {
    /// Print nothing, and write a table of the dataset in DIR: zstd-compressed Parquet files, by capture and hour, with the
    /// fields of --json as columns. A table that is there already is left alone. Only if the program was built with the
    /// feature parquet
    #[arg(long, value_name = "DIR", value_parser = directory, conflicts_with = "json")]
    pub(crate) parquet: Option<PathBuf>,
}

/// Reads the name of the directory. A program that cannot write tables refuses the option here.
fn directory(name: &str) -> Result<PathBuf, &'static str> {
    match cfg!(feature = "parquet") {
        true => Ok(name.into()),
        false => Err("this program was built without the feature parquet"),
    }
}

/// A table that is written, and how that is reported.
#[cfg(feature = "parquet")]
pub(crate) struct DatasetTable {
    pub(crate) table: ParquetTable,
    quiet: bool,
}

#[cfg(feature = "parquet")]
impl DatasetTable {
    /// Begins a table of the capture in these files, named after the first one.
    pub(crate) fn create(
        directory: &std::path::Path,
        kind: TableKind,
        input: &InputArguments,
        quiet: bool,
    ) -> Result<Self, Failure> {
        let name = input.files.first().and_then(|file| file.file_name()).unwrap_or_default();
        let name = if name == "-" { "stdin".into() } else { name.to_string_lossy() };
        let failed = |error| Failure::Said(format!("{}: {error}", directory.display()));
        Ok(Self { table: ParquetTable::create(directory, kind, &name).map_err(failed)?, quiet })
    }

    /// Renames the table to the final name.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let directory = self.table.directory().display().to_string();
        let written = self.table.finish().map_err(|error| Failure::Said(format!("{directory}: {error}")))?;
        if !self.quiet {
            say(&format!(
                "{} in {} written: {directory}",
                counted(written.rows, "row"),
                counted(written.files, "file")
            ));
        }
        Ok(())
    }
}

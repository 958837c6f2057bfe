//! The tables that `--csv` prints.

use rpcrdma_answers::csv::CsvTable;

use crate::failure::Failure;
use crate::output;

/// The table that is printed, if it `is_wanted`, with its first line printed already.
pub(super) fn table(is_wanted: bool, table: impl FnOnce() -> Option<CsvTable>) -> Result<Option<CsvTable>, Failure> {
    let table = is_wanted.then(table).flatten();
    if let Some(table) = &table {
        let mut out = Vec::new();
        table.heading(&mut out)?;
        output::write(&out)?;
    }
    Ok(table)
}

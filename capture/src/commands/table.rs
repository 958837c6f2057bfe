//! The tables that `--csv` prints.

use rpcrdma_answers::csv::CsvTable;

use crate::failure::Failure;
use crate::output;

/// Returns the table to print, if `is_wanted`, after printing the heading.
pub(super) fn table(is_wanted: bool, table: impl FnOnce() -> Option<CsvTable>) -> Result<Option<CsvTable>, Failure> {
    let table = is_wanted.then(table).flatten();
    if let Some(table) = &table {
        let mut out = Vec::new();
        table.heading(&mut out)?;
        output::write(&out)?;
    }
    Ok(table)
}

//! Messages, RPCs and findings as tables of a dataset in Parquet files, for DuckDB, Apache Spark and the like.
//!
//! ```text
//! DIR/transactions/capture=nfs.pcap/hour=2026-11-21T10/part-0.parquet
//! DIR/messages/    capture=nfs.pcap/hour=2026-11-21T10/part-0.parquet
//! DIR/findings/    capture=nfs.pcap/hour=2026-11-21T10/part-0.parquet
//! ```
//!
//! The columns are the fields of the JSON records, with the same names and nested in the same way; `type` is the name of the
//! table, and the version of the schema stands in the metadata of each file as `rpcrdma.schema`. Integers have 64 bits and a
//! sign, except for the `offset` of `arguments`, which may need all 64. All columns may be null.
//!
//! `capture` and `hour` are columns too, as Hive has it: they stand in the path, and readers leave out the files that a query
//! does not need. The hour is that of `time_ns`, in UTC.
//!
//! A table of a capture is written to a directory whose name begins with a dot, which readers pass over, and renamed when it is
//! whole. What is there already is not touched: then there is an error.

mod columns;
mod parts;

use std::path::{Path, PathBuf};
use std::{fs, io};

use rpcrdma_dissector::{Files, Found, Half, Message, Rebuilt, Transaction};

use crate::file_names::FileNames;
use crate::findings::FindingObject;
use crate::messages::MessageObject;
use crate::transactions::TransactionObject;
pub use columns::TableKind;
use parts::Parts;
pub use parts::TableWritten;

/// The records of one kind from one capture.
#[derive(Debug)]
pub struct ParquetTable {
    parts: Parts,
    staging: Staging,
    target: PathBuf,
}

impl ParquetTable {
    /// Begins a table of the dataset in `directory`, which is created if it is not there. `capture` is the name that the capture
    /// has in the dataset.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if the dataset has such a table of such a capture; those of the operating system.
    pub fn create(directory: &Path, kind: TableKind, capture: &str) -> io::Result<Self> {
        let table = directory.join(kind.name());
        let name = format!("capture={}", escaped(capture));
        let target = table.join(&name);
        if fs::exists(&target)? {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("{} exists already", target.display())));
        }
        let staging = Staging(table.join(format!(".{name}.{}", std::process::id())));
        fs::create_dir_all(&table)?;
        fs::create_dir(&staging.0)?;
        Ok(Self { parts: Parts::new(&staging.0, columns::of(kind)), staging, target })
    }

    /// Directory of the finished table.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.target
    }

    /// Adds a message.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn message(&mut self, message: &Message, files: &Files) -> io::Result<()> {
        self.parts.push(&MessageObject::new(message, files), message.stamp.time, message.octets.len())
    }

    /// Adds an RPC. `names` learns the names of files from it, and has those of earlier ones.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn transaction(&mut self, transaction: &Transaction, files: &Files, names: &mut FileNames) -> io::Result<()> {
        let Transaction { call, reply, .. } = transaction;
        let time = call.as_ref().or(reply.as_ref()).map(|half| half.stamp.time).unwrap_or_default();
        let octets =
            |half: &Option<Half>| half.as_ref().and_then(|half| half.message.as_ref().ok()).map_or(0, Rebuilt::len);
        // Arguments are taken from the call, and names of files from the reply.
        let octets = octets(call) + octets(reply);
        self.parts.push(&TransactionObject::new(transaction, files, names), time, octets)
    }

    /// Adds a finding; `in_baseline` says whether an earlier check had it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finding(&mut self, found: &Found, files: &Files, in_baseline: bool) -> io::Result<()> {
        let record = FindingObject::new(found, files, in_baseline);
        self.parts.push(&record, found.stamp.time, found.message.len())
    }

    /// Writes what is left, closes the files, and gives the table its place in the dataset. If it has no rows, it has one file
    /// without rows, in the partition of the first hour of 1970.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(self) -> io::Result<TableWritten> {
        let written = self.parts.finish()?;
        fs::rename(&self.staging.0, &self.target)?;
        Ok(written)
    }
}

/// The directory of a table that is not whole. It goes when the table is not finished.
#[derive(Debug)]
struct Staging(PathBuf);

impl Drop for Staging {
    fn drop(&mut self) {
        // Once the table is whole it has another name, and nothing is there to be removed.
        _ = fs::remove_dir_all(&self.0);
    }
}

/// The characters that Hive escapes in a path, besides spaces and control characters.
const ESCAPED: &str = "\"#%'*/:=?\\{[]^\x7f";

/// The value of a partition column in a path, as Hive writes it.
fn escaped(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for character in value.chars() {
        if character <= ' ' || ESCAPED.contains(character) {
            escaped.push_str(&format!("%{:02X}", u32::from(character)));
        } else {
            escaped.push(character);
        }
    }
    escaped
}

//! Messages, RPCs and findings as tables of a dataset in Parquet files, for DuckDB, Apache Spark and the like.
//!
//! ```text
//! DIR/transactions/capture=nfs.pcap/hour=2026-11-21T10/part-0.parquet
//! DIR/messages/    capture=nfs.pcap/hour=2026-11-21T10/part-0.parquet
//! DIR/findings/    capture=nfs.pcap/hour=2026-11-21T10/part-0.parquet
//! ```
//!
//! The columns are the fields of the JSON records, with the same names and nested in the same way; `type` is the name of
//! the table, and the metadata of each file contains the version of the schema as `rpcrdma.schema`. Integers have 64 bits
//! and a sign, except for the `offset` of `arguments`, which may need all 64. All columns may be null.
//!
//! `capture` and `hour` are columns too, as in Hive: both are part of the path, and readers leave out files that a query
//! does not need. The hour is that of `time_ns`, in UTC.
//!
//! A table of a capture is written to a directory whose name begins with a dot, which readers pass over, and renamed when
//! complete. An existing table is not touched, and is an error.

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
    /// Begins a table of the dataset in `directory`, which is created if missing. `capture` is the name of the capture in the dataset.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if the dataset has such a table of such a capture; errors of the operating system.
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
        Ok(Self { parts: Parts::new(&staging.0, columns::table_schema(kind)), staging, target })
    }

    /// Directory of the finished table.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.target
    }

    /// Adds a message.
    ///
    /// # Errors
    /// Any error from writing the table.
    pub fn message(&mut self, message: &Message, files: &Files) -> io::Result<()> {
        self.parts.push(&MessageObject::new(message, files), message.stamp.time, message.octets.len())
    }

    /// Adds an RPC. `names` learns the names of files from the RPC, and has the names from earlier RPCs.
    ///
    /// # Errors
    /// Any error from writing the table.
    pub fn transaction(&mut self, transaction: &Transaction, files: &Files, names: &mut FileNames) -> io::Result<()> {
        let Transaction { call, reply, .. } = transaction;
        let time = call.as_ref().or(reply.as_ref()).map(|half| half.stamp.time).unwrap_or_default();
        let octets =
            |half: &Option<Half>| half.as_ref().and_then(|half| half.message.as_ref().ok()).map_or(0, Rebuilt::len);
        // Arguments are taken from the call, and names of files from the reply.
        let octets = octets(call) + octets(reply);
        self.parts.push(&TransactionObject::new(transaction, files, names), time, octets)
    }

    /// Adds a finding; `in_baseline` is true if an earlier check had the same finding.
    ///
    /// # Errors
    /// Any error from writing the table.
    pub fn finding(&mut self, found: &Found, files: &Files, in_baseline: bool) -> io::Result<()> {
        let record = FindingObject::new(found, files, in_baseline);
        self.parts.push(&record, found.stamp.time, found.message.len())
    }

    /// Writes the remaining rows, closes the files, and moves the table into the dataset. A table without rows has one file, in
    /// the partition of the first hour of 1970.
    ///
    /// # Errors
    /// Any error from writing the table.
    pub fn finish(self) -> io::Result<TableWritten> {
        let written = self.parts.finish()?;
        fs::rename(&self.staging.0, &self.target)?;
        Ok(written)
    }
}

/// Directory of an incomplete table. Dropped before the table is finished, a `Staging` removes the directory.
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

/// Value of a partition column in a path, escaped as in Hive.
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

//! The files of a table: one for each hour, as long as the hours come one after the other.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::{fmt, io};

use arrow_json::ReaderBuilder;
use arrow_json::reader::Decoder;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use rpcrdma_dissector::Time;
use serde::Serialize;

use crate::format::date;
use crate::record::SCHEMA;

/// Rows, and octets of the underlying messages, that are passed together to the columns of a file.
const ROWS: usize = 1024;
const OCTETS: usize = 1 << 20;
/// Octets of columns in memory from which a file gets a row group.
const ROW_GROUP: usize = 16 << 20;
/// The most files that are written at the same time.
const OPEN: usize = 4;
/// Maximum number of files of a table. A capture of a year and a day has fewer, if the hours are consecutive.
const FILES: u64 = 10_000;
/// Nanoseconds.
const HOUR: u64 = 3600 * 1_000_000_000;

/// Amount of data written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableWritten {
    /// Rows.
    pub rows: u64,
    /// Files.
    pub files: u64,
}

/// The files of a table.
pub(super) struct Parts {
    directory: PathBuf,
    schema: SchemaRef,
    /// Files that are not finished; the last one used is at the end.
    open: Vec<ParquetPart>,
    pub(super) written: TableWritten,
}

/// A file that is not finished.
struct ParquetPart {
    /// Hours since 1970; 0 for the file of a table without rows. Not Hive's default partition: Arrow, which pandas reads with,
    /// cannot combine that one with others.
    hour: u64,
    decoder: Decoder,
    /// Octets of the messages that the rows in the decoder are about.
    octets: usize,
    writer: ArrowWriter<File>,
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts")
            .field("directory", &self.directory)
            .field("written", &self.written)
            .finish_non_exhaustive()
    }
}

impl Parts {
    pub(super) fn new(directory: &Path, schema: SchemaRef) -> Self {
        Self { directory: directory.to_owned(), schema, open: Vec::new(), written: TableWritten::default() }
    }

    /// Adds a row. `octets` is the size of the underlying messages: a bound for the memory of the row.
    pub(super) fn push(&mut self, row: &impl Serialize, time: Time, octets: usize) -> io::Result<()> {
        if i64::try_from(time.0).is_err() {
            return Err(io::Error::other(format!("a time after the year 2262 has no place in a table: {time}")));
        }
        let part = self.part(time.0 / HOUR)?;
        part.decoder.serialize(core::slice::from_ref(row)).map_err(io::Error::other)?;
        part.octets += octets;
        if part.decoder.len() >= ROWS || part.octets >= OCTETS {
            part.write()?;
        }
        self.written.rows += 1;
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<TableWritten> {
        if self.written.files == 0 {
            self.part(0)?;
        }
        self.open.drain(..).try_for_each(ParquetPart::finish)?;
        Ok(self.written)
    }

    /// The file for this hour.
    fn part(&mut self, hour: u64) -> io::Result<&mut ParquetPart> {
        let part = match self.open.iter().position(|part| part.hour == hour) {
            Some(place) => self.open.remove(place),
            None => self.begin_part(hour)?,
        };
        self.open.push(part);
        self.open.last_mut().ok_or_else(|| io::Error::other("no file"))
    }

    fn begin_part(&mut self, hour: u64) -> io::Result<ParquetPart> {
        if self.open.len() >= OPEN {
            self.open.remove(0).finish()?;
        }
        let number = self.written.files;
        if number >= FILES {
            return Err(io::Error::other(format!("times jump between hours more than {FILES} times")));
        }
        self.written.files += 1;
        let directory = self.directory.join(format!("hour={}", date::hour(hour * HOUR)));
        fs::create_dir_all(&directory)?;
        let file = File::create_new(directory.join(format!("part-{number}.parquet")))?;
        let decoder = ReaderBuilder::new(self.schema.clone()).with_strict_mode(true);
        Ok(ParquetPart {
            hour,
            decoder: decoder.build_decoder().map_err(io::Error::other)?,
            octets: 0,
            writer: ArrowWriter::try_new(file, self.schema.clone(), Some(properties()))?,
        })
    }
}

impl ParquetPart {
    /// Passes the rows to the columns, and the columns to the file once the columns are large.
    fn write(&mut self) -> io::Result<()> {
        self.octets = 0;
        if let Some(rows) = self.decoder.flush().map_err(io::Error::other)? {
            self.writer.write(&rows)?;
        }
        if self.writer.in_progress_size() >= ROW_GROUP {
            self.writer.flush()?;
        }
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        self.write()?;
        self.writer.close()?;
        Ok(())
    }
}

fn properties() -> WriterProperties {
    let text = |name: &str, value: String| KeyValue::new(name.to_owned(), value);
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(Default::default()))
        .set_created_by(concat!("rpcrdma ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(vec![text("rpcrdma.schema", SCHEMA.to_string())]))
        .build()
}

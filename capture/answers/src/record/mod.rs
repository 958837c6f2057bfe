//! Records: JSON objects, one on a line. This folder has the objects that records of several answers share; the record of
//! each answer is in `record.rs` of that answer.
//!
//! Every record has a `type` and the version of the `schema`. All records of a type have the same fields; a field without a
//! value is null. Fields have the names of RFC 8166; a name of another field ends with the unit, such as `_ns` or
//! `_octets`. Handles, offsets and XIDs are hexadecimal strings; other numbers are numbers.

pub(super) mod called;
pub(super) mod described;
pub(super) mod frame;
pub(super) mod kept;
pub(super) mod sessions;
pub(super) mod tries;
pub(super) mod values;

use std::io;

use serde::Serialize;

/// Version of the schema of all records. Fields may be added; no field is removed, or changes meaning.
pub(crate) const SCHEMA: u32 = 1;

/// An object that is written on a separate line.
pub trait JsonRecord: Serialize {
    /// Type of the record.
    const TYPE: &'static str;

    /// Writes the record as a JSON object, and a line feed.
    ///
    /// # Errors
    /// Any error from writing to `out`.
    fn write_json(&self, out: &mut impl io::Write) -> io::Result<()> {
        self.write_json_of(None, out)
    }

    /// The same, with the name of the file that the record is about, where several captures are read.
    ///
    /// # Errors
    /// Any error from writing to `out`.
    fn write_json_of(&self, capture_file: Option<&str>, out: &mut impl io::Write) -> io::Result<()> {
        let record = RecordObject { r#type: Self::TYPE, schema: SCHEMA, fields: self };
        match capture_file {
            None => serde_json::to_writer(&mut *out, &record)?,
            Some(capture_file) => serde_json::to_writer(&mut *out, &NamedRecord { capture_file, record })?,
        }
        out.write_all(b"\n")
    }
}

/// A record after the name of the captured file.
#[derive(Serialize)]
struct NamedRecord<'a, T> {
    capture_file: &'a str,
    #[serde(flatten)]
    record: RecordObject<T>,
}

/// A record: type, version of the schema, and fields.
#[derive(Serialize)]
pub(crate) struct RecordObject<T> {
    r#type: &'static str,
    schema: u32,
    #[serde(flatten)]
    fields: T,
}

impl<T: JsonRecord> RecordObject<T> {
    pub(crate) const fn new(fields: T) -> Self {
        Self { r#type: T::TYPE, schema: SCHEMA, fields }
    }
}

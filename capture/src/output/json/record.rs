//! What all objects that stand on a line of their own begin with.

use std::io;

use serde::Serialize;

/// The version of the schema of all records. Fields are added to it; none goes, or comes to mean something else.
pub(in crate::output) const SCHEMA: u32 = 1;

/// An object that stands on a line of its own.
pub(in crate::output) trait Record: Serialize {
    /// Its type.
    const TYPE: &'static str;
}

#[derive(Serialize)]
struct RecordObject<'a, T> {
    r#type: &'static str,
    schema: u32,
    #[serde(flatten)]
    fields: &'a T,
}

/// Writes a record and a line feed.
pub(in crate::output) fn write_record<T: Record>(out: &mut impl io::Write, fields: &T) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &RecordObject { r#type: T::TYPE, schema: SCHEMA, fields })?;
    out.write_all(b"\n")
}

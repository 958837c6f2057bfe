//! Records as a table: comma-separated values (RFC 4180), with the names of the columns in the first line.
//!
//! The columns follow from the schema, so the columns are the same for all records. A field of an object has the name of
//! the object as a prefix, as in `phases_call_ns`. A list of numbers or texts is one cell, joined by spaces, and so are the
//! names of `operations`; other lists are left out.

use std::io;

use serde_json::{Map, Value};

use crate::record::JsonRecord;
use crate::record_fields::{Held, RecordFields};
use crate::schema;
use crate::top::TopReport;
use crate::top::record::TopObject;

/// Fields of an interval that precede the fields of each operation.
const INTERVAL: [&str; 3] = ["time_ns", "start_ns", "length_ns"];
/// The list of `stats` with a row for each object.
const PROCEDURES: &str = "procedures";
/// The list of objects of which the names are joined.
const OPERATIONS: &str = "operations";

/// A table of records of one type.
#[derive(Debug)]
pub struct CsvTable {
    columns: Vec<CsvColumn>,
    /// Columns of the objects in a list, if each object has a row.
    of_each: Option<Vec<CsvColumn>>,
}

/// Path to the cells of a column in a record.
#[derive(Debug)]
struct CsvColumn {
    name: String,
    path: Vec<String>,
}

impl CsvTable {
    /// A row for each record of a type; `None` if there is none of that name.
    #[must_use]
    pub fn of_records(name: &str) -> Option<Self> {
        Some(Self { columns: RecordFields::new(&schema::of_type(name)?).columns(), of_each: None })
    }

    /// A row for each operation that `stats` counts.
    #[must_use]
    pub fn of_operations() -> Option<Self> {
        let fields = RecordFields::new(&schema::of_type("stats")?);
        Some(Self { columns: Vec::new(), of_each: Some(fields.columns_of(PROCEDURES)) })
    }

    /// A row for each operation in each interval.
    #[must_use]
    pub fn of_intervals() -> Option<Self> {
        let fields = RecordFields::new(&schema::of_type("interval")?);
        let mut columns = fields.columns();
        columns.retain(|column| INTERVAL.contains(&column.name.as_str()));
        Some(Self { columns, of_each: Some(fields.columns_of(PROCEDURES)) })
    }

    /// Writes the names of the columns.
    ///
    /// # Errors
    /// Any error from writing to `out`.
    pub fn heading(&self, out: &mut impl io::Write) -> io::Result<()> {
        let columns = self.columns.iter().chain(self.of_each.iter().flatten());
        row(out, columns.map(|column| column.name.clone()))
    }

    /// Writes the rows of a record.
    ///
    /// # Errors
    /// Any error from writing to `out`.
    pub fn record(&self, out: &mut impl io::Write, record: &impl JsonRecord) -> io::Result<()> {
        let record = serde_json::to_value(record)?;
        let own = self.columns.iter().map(|column| column.cell(&record));
        let Some(of_each) = &self.of_each else { return row(out, own) };
        let objects = record.get(PROCEDURES).and_then(Value::as_array).into_iter().flatten();
        let mut rows = objects.map(|object| own.clone().chain(of_each.iter().map(|column| column.cell(object))));
        rows.try_for_each(|cells| row(out, cells))
    }

    /// Writes the rows of RPCs that are counted together.
    ///
    /// # Errors
    /// Any error from writing to `out`.
    pub fn top(&self, out: &mut impl io::Write, report: &TopReport) -> io::Result<()> {
        TopObject::list_rows(report).try_for_each(|object| self.record(out, &object))
    }
}

/// Writes a row.
fn row(out: &mut impl io::Write, cells: impl Iterator<Item = String>) -> io::Result<()> {
    let mut builder = csv::WriterBuilder::new();
    builder.terminator(csv::Terminator::CRLF).buffer_capacity(1 << 10);
    let mut writer = builder.from_writer(out);
    writer.write_record(cells.map(String::into_bytes))?;
    writer.flush()
}

impl CsvColumn {
    fn cell(&self, record: &Value) -> String {
        let value = self.path.iter().try_fold(record, |value, name| value.get(name));
        value.map(text).unwrap_or_default()
    }
}

/// A value as a cell.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(" "),
        Value::Object(object) => object.get("name").map(text).unwrap_or_default(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

impl RecordFields {
    fn columns(&self) -> Vec<CsvColumn> {
        let mut columns = Vec::new();
        self.add_columns(&self.properties, &[], &mut columns);
        columns
    }

    /// The columns of the objects in a list.
    fn columns_of(&self, list: &str) -> Vec<CsvColumn> {
        let mut columns = Vec::new();
        if let Some(Held::List(items)) = self.properties.get(list).map(|field| self.field_content(field))
            && let Held::Object(properties) = self.field_content(items)
        {
            self.add_columns(properties, &[], &mut columns);
        }
        columns
    }

    /// Adds the columns of an object at a place in the record. Objects are nested no deeper than their types.
    fn add_columns(&self, properties: &Map<String, Value>, path: &[String], columns: &mut Vec<CsvColumn>) {
        for (name, field) in properties {
            let path = [path, core::slice::from_ref(name)].concat();
            let is_cell = match self.field_content(field) {
                Held::Cell(_) => true,
                Held::Object(properties) => {
                    self.add_columns(properties, &path, columns);
                    false
                }
                Held::List(items) => name == OPERATIONS || matches!(self.field_content(items), Held::Cell(_)),
            };
            if is_cell {
                columns.push(CsvColumn { name: path.join("_"), path });
            }
        }
    }
}

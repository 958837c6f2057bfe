//! The tables that commands print as text, and their columns. Tests compare the columns with the list in `GUIDE.md`, and the columns of
//! RPCs with the page that explores captures.

use serde_json::{Map, Value};

pub use crate::format::column::TextColumn;
use crate::record_fields::{Held, RecordFields};
use crate::{connections, events, findings, messages, pending, schema, slow, top, transactions};

/// A table that a command prints.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TextTable {
    /// The command.
    pub command: &'static str,
    /// Type of the record that `--json` prints for a line.
    pub record: &'static str,
    /// Columns of a wide screen, from left to right.
    pub columns: Vec<TextColumn>,
}

impl TextTable {
    const fn new(command: &'static str, record: &'static str, columns: Vec<TextColumn>) -> Self {
        Self { command, record, columns }
    }

    /// The description of a field in the schema of the record; `None` if the record lacks the field.
    #[must_use]
    pub fn description(&self, path: &str) -> Option<String> {
        let fields = RecordFields::new(&schema::of_type(self.record)?);
        fields.description(&fields.properties, path)
    }
}

/// All tables.
#[must_use]
pub fn list_tables() -> [TextTable; 8] {
    [
        TextTable::new("decode", "message", messages::text_columns()),
        TextTable::new("transactions", "transaction", transactions::text_columns()),
        TextTable::new("slow", "transaction", slow::text_columns()),
        TextTable::new("pending", "pending", pending::text_columns()),
        TextTable::new("events", "event", events::text_columns()),
        TextTable::new("top", "top", top::text_columns()),
        TextTable::new("connections", "connection", connections::text::text_columns()),
        TextTable::new("check", "finding", findings::text_columns()),
    ]
}

impl RecordFields {
    /// The description of the field at a path in an object.
    fn description(&self, object: &Map<String, Value>, path: &str) -> Option<String> {
        let Some((name, rest)) = path.split_once('.') else {
            return object.get(path)?.get("description")?.as_str().map(|text| text.replace('\n', " "));
        };
        match self.field_content(object.get(name)?) {
            Held::Object(inner) => self.description(inner, rest),
            Held::List(items) => match self.field_content(items) {
                Held::Object(inner) => self.description(inner, rest),
                _ => None,
            },
            Held::Cell(_) => None,
        }
    }
}

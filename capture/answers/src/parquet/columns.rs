//! The columns of each table: the fields of the JSON records, in their order, with the types that the schema says.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use serde_json::{Map, Value};

use crate::findings::FindingObject;
use crate::messages::MessageObject;
use crate::record::JsonRecord;
use crate::record_fields::{Held, RecordFields};
use crate::schema;
use crate::transactions::TransactionObject;

/// Subject of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableKind {
    /// `transactions`: RPCs, by the time of the call.
    Transactions,
    /// `messages`: Sends.
    Messages,
    /// `findings`: rules that were broken.
    Findings,
}

impl TableKind {
    /// Name of the table, and of the table's directory.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transactions => "transactions",
            Self::Messages => "messages",
            Self::Findings => "findings",
        }
    }
}

pub(super) fn table_schema(kind: TableKind) -> SchemaRef {
    let record = match kind {
        TableKind::Transactions => TransactionObject::TYPE,
        TableKind::Messages => MessageObject::TYPE,
        TableKind::Findings => FindingObject::TYPE,
    };
    let fields = RecordFields::new(&schema::of_type(record).unwrap_or_default());
    Arc::new(Schema::new(columns(&fields, &fields.properties)))
}

fn columns(fields: &RecordFields, properties: &Map<String, Value>) -> Fields {
    properties.iter().map(|(name, schema)| column(fields, name, schema)).collect()
}

fn column(fields: &RecordFields, name: &str, schema: &Value) -> Field {
    let of = match fields.field_content(schema) {
        Held::Object(properties) => DataType::Struct(columns(fields, properties)),
        Held::List(items) => DataType::List(Arc::new(column(fields, "element", items))),
        Held::Cell(schema) if is_of(schema, "boolean") => DataType::Boolean,
        // A file may be addressed up to its last octet.
        Held::Cell(schema) if is_of(schema, "integer") && name == "offset" => DataType::UInt64,
        // Protocols, octets, frames and times need no more than 63 bits.
        Held::Cell(schema) if is_of(schema, "integer") => DataType::Int64,
        Held::Cell(_) => DataType::Utf8,
    };
    Field::new(name, of, true)
}

/// Returns true if the values of a schema are of this type, or null.
fn is_of(schema: &Value, name: &str) -> bool {
    match schema.get("type") {
        Some(Value::Array(types)) => types.iter().any(|of| of == name),
        of => of.is_some_and(|of| of == name),
    }
}

//! Fields of a record, as described in the schema of the record: the columns of tables follow from these fields.

use serde_json::{Map, Value};

/// The fields of a record.
pub(super) struct RecordFields {
    pub(super) properties: Map<String, Value>,
    definitions: Map<String, Value>,
}

/// Content of a field.
pub(super) enum Held<'a> {
    /// A single value, with schema.
    #[cfg_attr(not(feature = "parquet"), allow(dead_code, reason = "only `parquet` reads it"))]
    Cell(&'a Value),
    Object(&'a Map<String, Value>),
    /// A list, with the schema of the items.
    List(&'a Value),
}

impl RecordFields {
    /// Finds the fields in a schema, except fields that are the same in all rows of a table.
    pub(super) fn new(schema: &Value) -> Self {
        let object = |name| schema.get(name).and_then(Value::as_object).cloned().unwrap_or_default();
        let mut properties = object("properties");
        properties.retain(|name, _| !["type", "schema", "capture_file"].contains(&name.as_str()));
        Self { properties, definitions: object("$defs") }
    }

    /// The content of a field with this schema.
    pub(super) fn field_content<'a>(&'a self, schema: &'a Value) -> Held<'a> {
        let choices = schema.get("anyOf").and_then(Value::as_array).into_iter().flatten();
        let null = Value::from("null");
        let schema = choices.into_iter().find(|choice| choice.get("type") != Some(&null)).unwrap_or(schema);
        let reference = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/"));
        let schema = reference.and_then(|name| self.definitions.get(name)).unwrap_or(schema);
        match (schema.get("properties"), schema.get("items")) {
            (Some(Value::Object(properties)), _) => Held::Object(properties),
            (_, Some(items)) => Held::List(items),
            _ => Held::Cell(schema),
        }
    }
}

//! The JSON Schema of each type of record. `schema/records.json` holds the schemas. The feature `schema` makes that file of the types
//! that are written, which a test compares with the file: whoever only reads the schemas compiles none of that.

#[cfg(feature = "schema")]
mod generator;

use std::sync::LazyLock;

use serde_json::{Map, Value};

#[cfg(feature = "schema")]
pub use self::generator::generate;
use crate::record_types::NAMES;

/// Schema of all records, as alternatives.
static RECORDS: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../schema/records.json")).unwrap_or_default());
/// The beginning of each reference to a definition.
const DEFINITION: &str = "#/$defs/";

/// The names of the types of records.
pub fn types() -> impl Iterator<Item = &'static str> {
    NAMES.iter().copied()
}

/// Schema of all records, as alternatives.
#[must_use]
pub fn of_all() -> Value {
    RECORDS.clone()
}

/// The schema of one type of record, with all definitions to which the schema refers; `None` for another name.
#[must_use]
pub fn of_type(name: &str) -> Option<Value> {
    let all = RECORDS.get("$defs")?.as_object()?;
    let record = all.get(name)?.as_object()?;
    let mut needed = Map::new();
    record.values().for_each(|value| add_definitions(value, all, &mut needed));
    let title = RECORDS.get("title")?.as_str()?.replace("Records of rpcrdma", &format!("{name} record of rpcrdma"));
    let mut document = Map::new();
    document.insert("$schema".to_owned(), RECORDS.get("$schema")?.clone());
    document.insert("title".to_owned(), title.into());
    document.extend(record.clone());
    if !needed.is_empty() {
        document.insert("$defs".to_owned(), needed.into());
    }
    Some(document.into())
}

/// Adds the definitions to which a schema refers, directly or through another definition.
fn add_definitions(schema: &Value, all: &Map<String, Value>, needed: &mut Map<String, Value>) {
    match schema {
        Value::Object(fields) => {
            let name = fields.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix(DEFINITION));
            if let Some((name, definition)) = name.and_then(|name| all.get_key_value(name))
                && !needed.contains_key(name)
            {
                needed.insert(name.clone(), definition.clone());
                add_definitions(definition, all, needed);
            }
            fields.values().for_each(|value| add_definitions(value, all, needed));
        }
        Value::Array(items) => items.iter().for_each(|item| add_definitions(item, all, needed)),
        _ => {}
    }
}

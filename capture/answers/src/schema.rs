//! The JSON Schema of each type of record, made from the types that are written.

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::record::SCHEMA;
use crate::record_types::{RecordType, TYPES};

/// The names of the types of records.
pub fn types() -> impl Iterator<Item = &'static str> {
    TYPES.iter().map(|one| one.name)
}

/// The schema of one type of record; `None` if there is none of that name.
#[must_use]
pub fn of_type(name: &str) -> Option<Value> {
    TYPES.iter().find(|one| one.name == name).map(of_record)
}

/// The same of a type of this program.
pub(super) fn of_record(record: &RecordType) -> Value {
    let mut generator = generator();
    let schema = (record.whole)(&mut generator);
    document(generator, &format!("{} record of rpcrdma", record.name), schema)
}

/// Schema of all records, as alternatives.
#[must_use]
pub fn of_all() -> Value {
    let mut generator = generator();
    let each: Vec<Value> = TYPES.iter().map(|one| (one.reference)(&mut generator).to_value()).collect();
    let mut any = Schema::default();
    any.insert("oneOf".to_owned(), each.into());
    document(generator, "Records of rpcrdma", any)
}

fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().for_serialize().into_generator()
}

/// A whole document: the described type, and all needed definitions.
fn document(mut generator: SchemaGenerator, title: &str, schema: Schema) -> Value {
    let mut document = Map::new();
    document.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    document.insert("title".to_owned(), json!(format!("{title}, schema {SCHEMA}")));
    document.extend(schema.as_object().cloned().unwrap_or_default());
    let definitions = generator.take_definitions(false);
    if !definitions.is_empty() {
        document.insert("$defs".to_owned(), definitions.into());
    }
    let mut document = Schema::from(document);
    RecursiveTransform(close).transform(&mut document);
    document.to_value()
}

/// Fields that are there only for an RPC with several tries.
const OF_TRIES: [&str; 3] = ["tries", "retry_failure", "each_try"];

/// All fields of an object are always there, and no others, except for [`OF_TRIES`]. Only `capture_file` is added, where several captures
/// are read.
fn close(schema: &mut Schema) {
    let Some(Value::Object(properties)) = schema.get("properties") else { return };
    let names: Vec<String> = properties.keys().filter(|name| !OF_TRIES.contains(&name.as_str())).cloned().collect();
    let is_record = properties.contains_key("schema");
    schema.insert("required".to_owned(), names.into());
    schema.insert("additionalProperties".to_owned(), false.into());
    schema.remove("unevaluatedProperties");
    if is_record && let Some(Value::Object(properties)) = schema.get_mut("properties") {
        let said = "With --separate only: the file that the record is about.";
        properties.insert("capture_file".to_owned(), json!({ "type": "string", "description": said }));
    }
}

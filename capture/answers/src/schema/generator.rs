//! The schemas, made from the types that are written.

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::record::{JsonRecord, RecordObject, SCHEMA};
use crate::record_types::list_schemas;

/// Makes the schema of all records, as alternatives: the content of `schema/records.json`.
#[must_use]
pub fn generate() -> Value {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let each: Vec<Value> = list_schemas(&mut generator).into_iter().map(Schema::to_value).collect();
    let mut document = Map::new();
    document.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    document.insert("title".to_owned(), json!(format!("Records of rpcrdma, schema {SCHEMA}")));
    document.insert("oneOf".to_owned(), each.into());
    document.insert("$defs".to_owned(), generator.take_definitions(false).into());
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

impl<T: JsonRecord + JsonSchema> JsonSchema for RecordObject<T> {
    fn schema_name() -> Cow<'static, str> {
        T::TYPE.into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        record_schema(T::TYPE, T::json_schema(generator))
    }
}

/// The schema of a record of a type with these fields. This function is not generic, so that the compiler sees the function once.
fn record_schema(record: &str, fields: Schema) -> Schema {
    let mut properties = Map::new();
    properties.insert("type".to_owned(), json!({ "const": record, "description": "The type of the record." }));
    let version = "The version of the schema. Fields are added to it; none goes, or comes to mean something else.";
    properties.insert("schema".to_owned(), json!({ "const": SCHEMA, "description": version }));
    if let Some(Value::Object(own)) = fields.get("properties") {
        properties.extend(own.clone());
    }
    let mut schema = fields;
    schema.insert("properties".to_owned(), properties.into());
    schema
}

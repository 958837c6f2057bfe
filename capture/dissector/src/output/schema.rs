//! The JSON Schema of each type of record, made from the types that are written.

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::output::compare::{ComparedOperation, ComparedRule, ComparedTotal};
use crate::output::diagnosis::Diagnosis;
use crate::output::events::RecoveredObject;
use crate::output::explain::ExplainedObject;
use crate::output::findings::{FindingObject, RuleTotals};
use crate::output::messages::{HeaderObject, MessageObject, TerminateObject};
use crate::output::pending::PendingObject;
use crate::output::record::{JsonRecord, RecordObject, SCHEMA};
use crate::output::stats::{IntervalStatistics, Statistics};
use crate::output::summary::{CapturesSummary, CommandSummary};
use crate::output::top::record::TopObject;
use crate::output::transactions::TransactionObject;

/// A type of record.
struct RecordType {
    name: &'static str,
    /// Its schema as a reference to a definition.
    reference: fn(&mut SchemaGenerator) -> Schema,
    /// Its schema itself.
    whole: fn() -> Value,
}

impl RecordType {
    const fn of<T: JsonRecord + JsonSchema + 'static>() -> Self {
        Self {
            name: T::TYPE,
            reference: |generator| generator.subschema_for::<RecordObject<T>>(),
            whole: of_record::<T>,
        }
    }
}

const TYPES: &[RecordType] = &[
    RecordType::of::<MessageObject<'static>>(),
    RecordType::of::<TerminateObject<'static>>(),
    RecordType::of::<TransactionObject<'static>>(),
    RecordType::of::<PendingObject<'static>>(),
    RecordType::of::<RecoveredObject<'static>>(),
    RecordType::of::<ExplainedObject<'static>>(),
    RecordType::of::<TopObject<'static>>(),
    RecordType::of::<Diagnosis>(),
    RecordType::of::<Statistics>(),
    RecordType::of::<IntervalStatistics>(),
    RecordType::of::<ComparedTotal>(),
    RecordType::of::<ComparedOperation>(),
    RecordType::of::<ComparedRule>(),
    RecordType::of::<FindingObject<'static>>(),
    RecordType::of::<RuleTotals>(),
    RecordType::of::<HeaderObject<'static>>(),
    RecordType::of::<CommandSummary>(),
    RecordType::of::<CapturesSummary>(),
];

/// The names of the types of records.
pub fn types() -> impl Iterator<Item = &'static str> {
    TYPES.iter().map(|one| one.name)
}

/// The schema of one type of record; `None` if there is none of that name.
#[must_use]
pub fn of_type(name: &str) -> Option<Value> {
    TYPES.iter().find(|one| one.name == name).map(|one| (one.whole)())
}

/// The same of a type of this program.
pub(super) fn of_record<T: JsonRecord + JsonSchema + 'static>() -> Value {
    let mut generator = generator();
    let schema = RecordObject::<T>::json_schema(&mut generator);
    document(generator, &format!("{} record of rpcrdma", T::TYPE), schema)
}

/// The schema of all records: each is one of those.
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

/// A whole document: what it describes, and the definitions that this refers to.
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

/// All fields of an object are always there, and no others. Only `capture_file` is added, where several captures are read.
fn close(schema: &mut Schema) {
    let Some(Value::Object(properties)) = schema.get("properties") else { return };
    let names: Vec<String> = properties.keys().cloned().collect();
    let is_record = properties.contains_key("schema");
    schema.insert("required".to_owned(), names.into());
    schema.insert("additionalProperties".to_owned(), false.into());
    schema.remove("unevaluatedProperties");
    if is_record && let Some(Value::Object(properties)) = schema.get_mut("properties") {
        let said = "With --separate only: the file that the record is about.";
        properties.insert("capture_file".to_owned(), json!({ "type": "string", "description": said }));
    }
}

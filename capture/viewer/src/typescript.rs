//! The types of `web/generated.ts`, made of the types that the page reads and writes, and of the schemas of the records among these.
//! With the environment variable `UPDATE_EXPECT` set, the test writes the file.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::{env, fs};

use answers::{schema, text_tables};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value};

use crate::diagnosis_words::ShownDiagnosis;
use crate::explaining::Explained;
use crate::findings::{self, ShownFindings};
use crate::groups::{self, ShownGroup};
use crate::heading::{Column, Heading};
use crate::notable::{Notable, Stepped};
use crate::query::Query;
use crate::reading::ReadingProgress;
use crate::saving::Format;
use crate::table::{self, ShownRow};
use crate::timeline::Timeline;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/web/generated.ts");
const HEAD: &str = "// Made of the types of the dissector by `UPDATE_EXPECT=1 cargo test typescript`: do not edit.\n";

/// The types that the page names, each with the name there.
struct Exported {
    generator: SchemaGenerator,
    types: Vec<(&'static str, Value)>,
}

impl Exported {
    fn add_type<T: JsonSchema>(&mut self, name: &'static str) {
        let schema = self.generator.subschema_for::<T>().to_value();
        self.types.push((name, schema));
    }
}

/// The name of a definition as a type.
fn type_name(definition: &str) -> String {
    let mut letters = definition.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// The type of a schema; `used` gets the definitions that the schema refers to.
fn typed(schema: &Value, used: &mut BTreeSet<String>) -> String {
    if let Some(definition) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        used.insert(definition.to_owned());
        return type_name(definition);
    }
    if !schema["const"].is_null() {
        return schema["const"].to_string();
    }
    if let Some(any) = ["enum", "anyOf", "oneOf"].iter().find_map(|key| schema[*key].as_array()) {
        let of_each = |one: &Value| if one.is_object() { typed(one, used) } else { one.to_string() };
        return union(any.iter().map(of_each));
    }
    match &schema["type"] {
        Value::Array(kinds) => union(kinds.iter().map(|kind| of_kind(kind.as_str().unwrap(), schema, used))),
        Value::String(kind) => of_kind(kind, schema, used),
        _ => "unknown".to_owned(),
    }
}

fn union(types: impl Iterator<Item = String>) -> String {
    types.collect::<Vec<_>>().join(" | ")
}

fn of_kind(kind: &str, schema: &Value, used: &mut BTreeSet<String>) -> String {
    match (kind, &schema["prefixItems"]) {
        ("integer", _) => "number".to_owned(),
        ("array", Value::Array(items)) => {
            let items: Vec<String> = items.iter().map(|item| typed(item, used)).collect();
            format!("readonly [{}]", items.join(", "))
        }
        ("array", _) => {
            let item = typed(&schema["items"], used);
            if item.contains([' ', '|']) { format!("readonly ({item})[]") } else { format!("readonly {item}[]") }
        }
        ("object", _) => match schema["properties"].as_object() {
            Some(properties) => object(properties, &schema["required"], false, used),
            None => format!("Readonly<Record<string, {}>>", typed(&schema["additionalProperties"], used)),
        },
        _ => kind.to_owned(),
    }
}

/// An interface's fields, with comments if the interface is one of this package.
fn object(fields: &Map<String, Value>, required: &Value, is_own: bool, used: &mut BTreeSet<String>) -> String {
    let mut text = "{\n".to_owned();
    for (name, schema) in fields {
        text.push_str(&comment(schema, is_own, "  "));
        let is_required = required.as_array().is_some_and(|names| names.iter().any(|required| required == name));
        let optional = if is_required { "" } else { "?" };
        let of_field = typed(schema, used).replace('\n', "\n  ");
        writeln!(text, "  readonly {name}{optional}: {of_field};").unwrap();
    }
    text + "}"
}

fn comment(schema: &Value, is_own: bool, indent: &str) -> String {
    match schema["description"].as_str().filter(|_| is_own) {
        Some(text) => format!("{indent}/** {} */\n", text.replace('\n', " ")),
        None => String::new(),
    }
}

/// The headings of the page's tables.
fn headings() -> String {
    fn format_headings<C: Column>(name: &str, columns: &[C]) -> String {
        let each = columns.iter().map(|column| format!("  {},\n", serde_json::to_string(column.heading()).unwrap()));
        format!("\nexport const {name}: readonly Heading[] = [\n{}];\n", each.collect::<String>())
    }
    let name = serde_json::to_string(&groups::NAME).unwrap();
    [
        format_headings("RPC_COLUMNS", &table::COLUMNS),
        format!("\nexport const GROUP_NAME: Heading = {name};\n"),
        format_headings("GROUP_COLUMNS", &groups::COLUMNS),
        format_headings("FINDING_COLUMNS", &findings::COLUMNS),
    ]
    .concat()
}

fn generated() -> String {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut exported = Exported { generator, types: Vec::new() };
    exported.add_type::<ReadingProgress>("ReadingProgress");
    exported.add_type::<ShownDiagnosis<'_>>("Diagnosis");
    exported.add_type::<ShownRow<'_>>("Row");
    exported.add_type::<ShownGroup>("Group");
    exported.add_type::<ShownFindings<'_>>("Findings");
    exported.add_type::<Timeline>("Timeline");
    exported.add_type::<Explained>("Explained");
    exported.add_type::<Notable>("Notable");
    exported.add_type::<Stepped>("Stepped");
    exported.add_type::<Format>("SaveFormat");
    exported.add_type::<Query>("Query");
    exported.add_type::<Heading>("Heading");
    let own = exported.generator.take_definitions(false);
    let records = schema::of_all();
    let definition = |name: &str| own.get(name).or_else(|| records["$defs"].get(name)).unwrap();
    let (mut used, mut written) = (BTreeSet::new(), BTreeMap::new());
    let mut text = HEAD.to_owned();
    for (name, schema) in &exported.types {
        let of_schema = typed(schema, &mut used);
        if of_schema != *name {
            writeln!(text, "\nexport type {name} = {of_schema};").unwrap();
        }
    }
    while let Some(name) = used.pop_first() {
        if written.contains_key(&name) {
            continue;
        }
        let (schema, is_own) = (definition(&name), own.contains_key(&name));
        let of_schema = match schema["properties"].as_object() {
            Some(fields) => {
                format!("interface {} {}", type_name(&name), object(fields, &schema["required"], is_own, &mut used))
            }
            None => format!("type {} = {};", type_name(&name), typed(schema, &mut used)),
        };
        written.insert(name, format!("\n{}export {of_schema}\n", comment(schema, is_own, "")));
    }
    text + &written.into_values().collect::<String>() + &headings()
}

/// Fields of columns of text that the page shows elsewhere: of an RPC that is open, or in a group.
const ELSEWHERE: [&str; 4] = ["connection", "rdma_xid", "call_file", "reply_file"];

#[test]
fn the_rpc_table_has_each_column_of_the_text_tables() {
    let tables = text_tables::list_tables();
    let of_rpcs = || tables.iter().filter(|table| table.record == "transaction");
    for table in of_rpcs() {
        for column in &table.columns {
            let field = column.fields[0];
            let is_shown = table::COLUMNS.iter().any(|own| own.fields.contains(&field)) || ELSEWHERE.contains(&field);
            assert!(
                is_shown,
                "`{}` shows {field} as {:?}: the page lacks a column with it",
                table.command, column.heading
            );
        }
    }
    let described = |field: &&str| of_rpcs().all(|table| table.description(field).is_some());
    for column in &table::COLUMNS {
        let unknown = column.fields.iter().find(|field| !described(field));
        assert_eq!(unknown, None, "no such field of the record: column {}", column.heading().name);
    }
}

#[test]
fn the_page_has_the_types_of_the_dissector() {
    let generated = generated();
    if env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(FILE, &generated).unwrap();
    }
    let is_same = fs::read_to_string(FILE).is_ok_and(|committed| committed == generated);
    assert!(is_same, "web/generated.ts is out of date: run this test with UPDATE_EXPECT=1 and commit the result");
}

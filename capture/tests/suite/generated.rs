//! Output of the program for others: its schema and the list of columns in the guide, which are committed, and manual pages and
//! completion scripts, which packages have.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use rpcrdma_answers::schema;
use rpcrdma_answers::text_tables::{self, TextColumn};
use serde_json::Value;

/// Returns the program's output with these arguments.
fn printed(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_rpcrdma")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The check in `capture/answers/schema/check` compares all fields, and writes the schema.
#[test]
fn each_record_has_the_fields_of_its_schema() {
    let capture = |name| Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/captures").join(name);
    let captures = ["lost.pcap", "hangs.pcap"].map(capture);
    let mut types = BTreeSet::new();
    for command in ["decode", "transactions", "pending", "events", "connections", "top", "stats", "diagnose", "check"] {
        let output = Command::new(env!("CARGO_BIN_EXE_rpcrdma"))
            .args([command, "--json", "--separate"])
            .args(&captures)
            .output()
            .unwrap();
        let records = String::from_utf8(output.stdout).unwrap();
        for record in records.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            let name = record["type"].as_str().unwrap().to_owned();
            let schema = schema::of_type(&name).unwrap_or_else(|| panic!("no schema of {name}"));
            let listed = &schema["properties"];
            let unlisted = record.as_object().unwrap().keys().find(|field| listed.get(field).is_none());
            assert_eq!(
                unlisted, None,
                "{name}: UPDATE_EXPECT=1 cargo test in capture/answers/schema/check writes the schema"
            );
            types.insert(name);
        }
    }
    assert!(types.len() > 9, "{types:?}");
}

/// The lines of the guide's list around its rows.
const COLUMNS: &str = "| column | of | `--json`, `--csv` | description |\n|---|---|---|---|\n";
const AFTER_COLUMNS: &str = "\n\n";

/// A row of the guide's list: a column that several tables have is listed once.
struct ColumnRow {
    column: TextColumn,
    commands: Vec<&'static str>,
    description: String,
}

impl ColumnRow {
    fn list_rows() -> Vec<Self> {
        let mut rows: Vec<Self> = Vec::new();
        for table in text_tables::list_tables() {
            for column in &table.columns {
                let describe = |field: &&str| {
                    let description = table.description(field);
                    description.unwrap_or_else(|| panic!("{column:?}: no such field of {}", table.record))
                };
                let described: Vec<String> = column.fields.iter().map(describe).collect();
                let [description, ..] = &described[..] else { panic!("{column:?} of {} has no field", table.command) };
                let is_same = |row: &&mut Self| row.column == *column && row.description == *description;
                match rows.iter_mut().find(is_same) {
                    Some(row) => row.commands.push(table.command),
                    None => rows.push(Self {
                        column: *column,
                        commands: vec![table.command],
                        description: description.clone(),
                    }),
                }
            }
        }
        rows
    }

    fn line(&self) -> String {
        let names = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let (commands, fields) = (names(&self.commands), names(self.column.fields));
        format!("| {} | {commands} | {fields} | {} |", self.column.heading, self.description)
    }
}

/// With the environment variable `UPDATE_EXPECT` set, this test writes the list.
#[test]
fn the_guide_lists_the_columns_of_each_table() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../GUIDE.md");
    let guide = fs::read_to_string(&file).unwrap();
    let (before, rest) = guide.split_once(COLUMNS).unwrap();
    let (listed, after) = rest.split_once(AFTER_COLUMNS).unwrap();
    let lines: Vec<String> = ColumnRow::list_rows().iter().map(ColumnRow::line).collect();
    if env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&file, [before, COLUMNS, &lines.join("\n"), AFTER_COLUMNS, after].concat()).unwrap();
        return;
    }
    let missing: Vec<&String> = lines.iter().filter(|line| !listed.lines().any(|own| own == **line)).collect();
    assert!(missing.is_empty(), "GUIDE.md lacks columns: run this test with UPDATE_EXPECT=1\n{missing:#?}");
    assert_eq!(listed, lines.join("\n"), "GUIDE.md lists columns that are gone: run this test with UPDATE_EXPECT=1");
}

#[test]
fn the_help_of_top_explains_each_column() {
    let help = printed(&["help", "top"]);
    let tables = text_tables::list_tables();
    let top = tables.iter().find(|table| table.command == "top").unwrap();
    // The last column is named after the option.
    for TextColumn { heading, .. } in top.columns.iter().rev().skip(1) {
        assert!(help.contains(&format!("\n  {heading:<10}  ")), "the help of top lacks {heading}");
    }
}

/// `.ci/release` finds the commands in the same way. With debug assertions, clap checks the description of each command for `man`, and
/// `man` checks that no terminal breaks a line of help.
#[test]
fn each_command_has_a_manual_page_and_completions() {
    let program = printed(&["man"]);
    let commands = program.lines().filter_map(|line| line.strip_prefix("\\fBrpcrdma ")?.strip_suffix("\\fR"));
    let commands: Vec<_> = commands.collect();
    assert!(commands.len() > 15 && commands.contains(&"check"), "{commands:?}");
    let scripts = ["bash", "fish", "zsh"].map(|shell| printed(&["completions", shell]));
    let choice = format!("::command -- The command:({})'", commands.join(" "));
    assert!(scripts[2].contains(&choice), "a command has no manual page: {commands:?}");
    for command in commands {
        let page = printed(&["man", command]);
        assert!(
            page.starts_with(&format!(".TH \"rpcrdma {command}\" 1")) && page.contains(".SH SYNOPSIS"),
            "{command}"
        );
        assert!(scripts.iter().all(|script| script.contains(command)), "{command}");
    }
}

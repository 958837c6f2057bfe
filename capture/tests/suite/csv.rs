//! `--csv`: what is read back is what `--json` prints.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::{Map, Value};

fn capture(name: &str) -> String {
    format!("{}/../testdata/captures/{name}.pcap", env!("CARGO_MANIFEST_DIR"))
}

fn run(arguments: &[&str]) -> Vec<u8> {
    Command::new(env!("CARGO_BIN_EXE_rpcrdma")).args(arguments).arg("-q").output().unwrap().stdout
}

fn records(arguments: &[&str]) -> Vec<Value> {
    let text = String::from_utf8(run(&[arguments, &["--json"]].concat())).unwrap();
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    records.filter(|record| record["type"] != "summary").collect()
}

fn rows(arguments: &[&str]) -> (Vec<String>, Vec<BTreeMap<String, String>>) {
    let table = run(&[arguments, &["--csv"]].concat());
    let mut reader = csv::Reader::from_reader(table.as_slice());
    let names: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let rows = reader.deserialize::<BTreeMap<String, String>>().map(Result::unwrap).collect();
    (names, rows)
}

/// The cells of an object: the names of nested fields joined, null left empty.
fn cells(object: &Map<String, Value>, prefix: &str, found: &mut BTreeMap<String, String>) {
    for (name, value) in object {
        let name = format!("{prefix}{name}");
        let cell = match value {
            Value::Object(object) => {
                cells(object, &format!("{name}_"), found);
                continue;
            }
            Value::Array(items) if name == "operations" => {
                items.iter().map(|item| item["name"].as_str().unwrap()).collect::<Vec<_>>().join(" ")
            }
            Value::Array(items) if items.iter().any(Value::is_object) => continue,
            Value::Array(items) => items.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
            Value::String(text) => text.clone(),
            Value::Null => continue,
            other => other.to_string(),
        };
        if !cell.is_empty() && !["type", "schema"].contains(&name.as_str()) {
            found.insert(name, cell);
        }
    }
}

/// The cells of a row that have something. Numbers are read as those of the records are, which may change the last digit.
fn filled(row: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let read = |cell: &str| match serde_json::from_str(cell) {
        Ok(Value::Number(number)) => number.to_string(),
        _ => cell.to_owned(),
    };
    row.iter().filter(|(_, cell)| !cell.is_empty()).map(|(name, cell)| (name.clone(), read(cell))).collect()
}

fn list_cells(object: &Value) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    cells(object.as_object().unwrap(), "", &mut found);
    found
}

#[test]
fn a_row_has_what_a_record_has() {
    for name in ["nfs41", "nfs41_lossy", "errors", "withdrawn", "nfs41_callback", "nfsd_deviations", "iwarp_nfs3_lossy"]
    {
        let path = capture(name);
        for command in
            [&["transactions"][..], &["events"], &["connections"], &["top"], &["top", "--by", "handle", "--rows", "2"]]
        {
            let arguments = [command, &[path.as_str()]].concat();
            let (names, rows) = rows(&arguments);
            assert!(names.len() >= 12, "{names:?}");
            let expected: Vec<_> = records(&arguments).iter().map(list_cells).collect();
            assert_eq!(rows.iter().map(filled).collect::<Vec<_>>(), expected, "{command:?} {name}");
        }
    }
}

#[test]
fn stats_have_a_row_for_each_operation_and_interval() {
    for name in ["nfs41", "nfs41_lossy"] {
        let path = capture(name);
        let (_, rows_of_all) = rows(&["stats", &path]);
        let all = records(&["stats", &path]);
        let expected: Vec<_> = all[0]["procedures"].as_array().unwrap().iter().map(list_cells).collect();
        assert_eq!(rows_of_all.iter().map(filled).collect::<Vec<_>>(), expected);
        let arguments = ["stats", "--interval", "1s", &path];
        let mut expected = Vec::new();
        for interval in records(&arguments) {
            for operation in interval["procedures"].as_array().unwrap() {
                let mut row = list_cells(operation);
                for name in ["time_ns", "start_ns", "length_ns"] {
                    row.insert(name.to_owned(), interval[name].to_string());
                }
                expected.push(row);
            }
        }
        assert_eq!(rows(&arguments).1.iter().map(filled).collect::<Vec<_>>(), expected);
        assert!(expected.len() > 3);
    }
}

#[test]
fn the_columns_are_the_same_where_nothing_is_found() {
    for command in ["transactions", "events", "connections", "top", "stats"] {
        let (names, rows) = rows(&[command, &capture("perftest")]);
        assert!(rows.is_empty(), "{command}");
        assert_eq!(names, self::rows(&[command, &capture("nfs41_lossy")]).0, "{command}");
    }
}

#[test]
fn json_and_csv_exclude_each_other() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rpcrdma"));
    let output = command.args(["top", "--json", "--csv", &capture("nfs41")]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("cannot be used with"));
}

//! The manual pages in `man`, the completion scripts in `completions` and the schema in `schema` are what the program prints. With the environment
//! variable `UPDATE_EXPECT` set, this test writes them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// Returns the program's output with these arguments.
fn printed(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_rpcrdma")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Each file by its name, with what should be in it: the page of the program, and one for each command that it lists.
fn pages() -> BTreeMap<String, String> {
    let program = printed(&["man"]);
    let commands = program.lines().filter_map(|line| line.strip_prefix("\\fBrpcrdma ")?.strip_suffix("\\fR"));
    let pages = commands.map(|command| (format!("rpcrdma-{command}.1"), printed(&["man", command])));
    let mut pages: BTreeMap<_, _> = pages.collect();
    assert!(pages.contains_key("rpcrdma-check.1"), "the commands were found");
    pages.insert("rpcrdma.1".to_owned(), program.clone());
    pages
}

fn completions() -> BTreeMap<String, String> {
    let scripts = [("rpcrdma.bash", "bash"), ("rpcrdma.fish", "fish"), ("_rpcrdma", "zsh")];
    scripts.map(|(file, shell)| (file.to_owned(), printed(&["completions", shell]))).into()
}

fn compare(folder: &str, expected: &BTreeMap<String, String>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    if env::var_os("UPDATE_EXPECT").is_some() {
        fs::create_dir_all(&folder).unwrap();
        for (file, text) in expected {
            fs::write(folder.join(file), text).unwrap();
        }
    }
    let there = fs::read_dir(&folder).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(&path).unwrap())
    });
    let there: BTreeMap<String, String> = there.collect();
    assert_eq!(there.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (file, text) in expected {
        assert!(
            there[file] == *text,
            "{file} is out of date: run this test with UPDATE_EXPECT=1 and commit the result"
        );
    }
}

#[test]
fn manual_pages_are_what_the_program_prints() {
    compare("man", &pages());
}

#[test]
fn the_schema_is_what_the_program_prints() {
    compare("schema", &[("records.json".to_owned(), printed(&["schema"]))].into());
}

#[test]
fn completion_scripts_are_what_the_program_prints() {
    compare("completions", &completions());
}

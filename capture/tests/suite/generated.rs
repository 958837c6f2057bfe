//! Output of the program for others: its schema, which is committed, and manual pages and completion scripts, which packages have.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// Returns the program's output with these arguments.
fn printed(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_rpcrdma")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// With the environment variable `UPDATE_EXPECT` set, this test writes the schema.
#[test]
fn the_schema_is_what_the_program_prints() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema/records.json");
    let schema = printed(&["schema"]);
    if env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&file, &schema).unwrap();
    }
    assert!(
        fs::read_to_string(&file).unwrap() == schema,
        "the schema is out of date: run this test with UPDATE_EXPECT=1 and commit the result"
    );
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

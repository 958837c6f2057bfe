//! `--separate`: what several captures that are read at the same time print, and how the program ends then.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::command::{program, run, stderr, stdout};

/// The shipped captures.
fn captures() -> Vec<String> {
    let folder = format!("{}/../testdata/captures", env!("CARGO_MANIFEST_DIR"));
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let captures = paths.filter(|path| path.extension().is_some_and(|extension| extension == "pcap"));
    let mut captures: Vec<_> = captures.map(|path| path.display().to_string()).collect();
    captures.sort();
    assert!(captures.len() > 10);
    captures
}

fn capture(name: &str) -> String {
    captures().into_iter().find(|path| path.ends_with(&format!("/{name}.pcap"))).unwrap()
}

/// Returns the command's output for the captures, read at the same time.
fn separately(arguments: &[&str], jobs: &str, captures: &[String]) -> Output {
    let captures = captures.iter().map(String::as_str);
    let options = ["--separate", "-j", jobs].into_iter();
    run(&arguments.iter().copied().chain(options).chain(captures).collect::<Vec<_>>())
}

fn alone(arguments: &[&str], capture: &str) -> Output {
    run(&[arguments, &[capture]].concat())
}

const COMMANDS: [&[&str]; 10] = [
    &["decode"],
    &["transactions"],
    &["slow", "--top", "2"],
    &["pending"],
    &["events"],
    &["connections"],
    &["top", "--by", "client"],
    &["stats"],
    &["stats", "--interval", "1s"],
    &["check", "--rule", "private-data-absent"],
];

#[test]
fn separate_texts_are_whole_and_in_file_order() {
    let captures = captures();
    for command in COMMANDS {
        let sections = captures.iter().map(|path| format!("==> {path} <==\n{}", stdout(&alone(command, path))));
        let expected = sections.collect::<Vec<_>>().join("\n");
        for jobs in ["1", "3", "64"] {
            let output = separately(command, jobs, &captures);
            assert!(stdout(&output) == expected, "{command:?} -j {jobs}");
        }
    }
}

#[test]
fn each_json_object_names_its_capture() {
    let captures = captures();
    for command in COMMANDS {
        let command = [command, &["--json"]].concat();
        let output = separately(&command, "3", &captures);
        let mut lines = stdout(&output).lines();
        for path in &captures {
            for expected in stdout(&alone(&command, path)).lines() {
                let line = lines.next().unwrap();
                let mut object: Value = serde_json::from_str(line).unwrap();
                let name = object.as_object_mut().unwrap().remove("capture_file").unwrap();
                assert_eq!(name, path.as_str());
                assert_eq!(object, serde_json::from_str::<Value>(expected).unwrap());
            }
        }
        let last: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
        assert_eq!((&last["type"], &last["captures"]), (&"captures".into(), &captures.len().into()));
        assert_eq!(lines.next(), None);
    }
}

#[test]
fn what_is_said_names_its_capture_in_the_same_order() {
    let captures = captures();
    let output = separately(&["transactions"], "3", &captures);
    let mut said = stderr(&output).lines();
    for path in &captures {
        for line in stderr(&alone(&["transactions"], path)).lines() {
            let text = line.strip_prefix("rpcrdma: ").unwrap();
            assert_eq!(said.next(), Some(format!("rpcrdma: {path}: {text}").as_str()));
        }
    }
    let last = said.next().unwrap();
    assert!(last.starts_with(&format!("rpcrdma: {} captures: exit status 0 for ", captures.len())), "{last}");
    assert_eq!(said.next(), None);
    assert_eq!(stderr(&separately(&["-q", "transactions"], "3", &captures)), "");
}

/// A file for a test to write, which no other test has.
fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("separate-{}-{name}", std::process::id()))
}

#[test]
fn damaged_or_missing_files_do_not_stop_the_others() {
    let (whole, missing) = (capture("nfs41"), file("missing.pcap").display().to_string());
    let cut = file("cut.pcap");
    let octets = std::fs::read(&whole).unwrap();
    std::fs::write(&cut, &octets[..octets.len() - 10]).unwrap();
    let cut = cut.display().to_string();
    let ends = |files: &[&String]| {
        let output = separately(&["decode", "--json"], "2", &files.iter().copied().cloned().collect::<Vec<_>>());
        let last: Value = serde_json::from_str(stdout(&output).lines().last().unwrap()).unwrap();
        let messages = stdout(&output).lines().filter(|line| line.contains(r#""type":"message""#)).count();
        let count = |name: &str| last[name].as_u64().unwrap();
        assert_eq!(count("captures"), files.len() as u64);
        (output.status.code().unwrap(), messages, [count("sound"), count("wrong"), count("unusable")])
    };
    assert_eq!(ends(&[&whole, &whole]), (0, 276, [2, 0, 0]));
    assert_eq!(ends(&[&cut, &whole]), (1, 276, [1, 1, 0]));
    assert_eq!(ends(&[&cut, &missing, &whole]), (2, 276, [1, 1, 1]));
    assert_eq!(ends(&[&missing, &missing]), (2, 0, [0, 0, 2]));
}

/// The second capture is read to its end while the first one waits for its input.
#[test]
fn a_capture_waits_for_those_before_it() {
    let path = capture("nfs41");
    let mut command = program(&["decode", "-q", "--separate", "-j", "2", "-", &path]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&std::fs::read(capture("nfs3")).unwrap()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let (first, second) = (alone(&["decode"], &capture("nfs3")), alone(&["decode"], &path));
    let expected = format!("==> - <==\n{}\n==> {path} <==\n{}", stdout(&first), stdout(&second));
    assert!(stdout(&output) == expected);
}

#[test]
#[cfg(unix)]
fn ctrl_c_ends_running_captures_and_begins_no_other() {
    let path = capture("nfs41");
    for patience in [100, 1000, 10_000] {
        // As JSON it would be more than fits into a pipe that nobody reads yet.
        let mut command = program(&["decode", "--separate", "-j", "1", "-", &path]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(&std::fs::read(&path).unwrap()).unwrap();
        std::thread::sleep(Duration::from_millis(patience));
        assert!(Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        drop(stdin);
        // Below the name of the file and the names of the columns.
        if stdout(&output).lines().count() == 2 + 138 {
            assert_eq!(output.status.code(), Some(130));
            assert!(
                stderr(&output).ends_with("2 captures: exit status 130 for 1, 1 not read\n"),
                "{}",
                stderr(&output)
            );
            return;
        }
    }
    panic!("the messages that were read are not printed");
}

#[test]
fn a_closed_output_ends_all_of_them() {
    let path = capture("nfs41");
    let mut command = program(&["decode", "--separate", "-j", "2"]);
    let mut child = command.args(vec![path; 200]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(stderr(&output).lines().count() < 100, "{}", stderr(&output));
}

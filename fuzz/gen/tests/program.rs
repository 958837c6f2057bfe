//! The program: what it writes is what the library makes.
#![cfg(feature = "program")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rpcrdma_dissector::{Capture, Checker, Config, Event, Events};
use rpcrdma_gen::{Choices, Format, Role};
use serde_json::Value;

/// An empty directory for this test.
fn directory(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rpcrdma-gen")).args(arguments).output().unwrap()
}

/// Returns the program's output.
fn said(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The records in a directory, in order.
fn records(path: &Path) -> Vec<Value> {
    let mut names: Vec<_> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|name| name.extension().is_some_and(|extension| extension == "json"));
    names.sort();
    names.iter().map(|name| serde_json::from_slice(&fs::read(name).unwrap()).unwrap()).collect()
}

#[test]
fn each_message_has_a_file_and_a_record() {
    let path = directory("files");
    let out = path.to_str().unwrap();
    let said = said(&["--count", "200", "--seed", "7", "--role", "reply", "--version", "2a", "-o", out]);
    assert!(said.contains("200 messages"), "{said}");
    let records = records(&path);
    let mut choices = Choices::of_seed(7);
    assert_eq!(records.len(), 200);
    for record in &records {
        let case = rpcrdma_gen::random(&mut choices, Format::V2a, Role::Reply);
        assert_eq!(fs::read(path.join(record["file"].as_str().unwrap())).unwrap(), case.octets);
        let call = record["call_file"].as_str().map(|file| fs::read(path.join(file)).unwrap());
        assert_eq!(call, case.call);
        let first = case.broken.first();
        assert_eq!(record["rule"], first.map_or("valid", |broken| broken.rule.slug));
        assert_eq!(record["offset"].as_u64(), first.map(|broken| broken.offset as u64));
        assert_eq!(record["section"].as_str(), first.map(|broken| broken.rule.section));
        assert_eq!(record["responder"].as_str(), case.responder().map(|answer| answer.name()));
        assert_eq!((&record["type"], &record["schema"]), (&Value::from("message"), &Value::from(1)));
        assert_eq!(record.as_object().unwrap().len(), 15, "the same fields always");
    }
}

#[test]
fn a_corpus_has_each_message_once() {
    let path = directory("corpus");
    said(&["--count", "300", "--format", "corpus", "-o", path.to_str().unwrap()]);
    let files: Vec<Vec<u8>> =
        fs::read_dir(&path).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect();
    let mut choices = Choices::of_seed(0);
    let made: BTreeSet<Vec<u8>> =
        (0..300).map(|_| rpcrdma_gen::random(&mut choices, Format::V1, Role::Call).octets).collect();
    assert_eq!((files.len(), BTreeSet::from_iter(files)), (made.len(), made));
}

/// A program that prints how many octets all messages have, and how many are valid.
const SUM_IN_C: &str = r#"
#include "cases.h"
#include <stdio.h>
#include <string.h>
int main(void) {
    unsigned long sum = 0, valid = 0, index, octet;
    for (index = 0; index < sizeof rpcrdma_cases / sizeof *rpcrdma_cases; index++) {
        const struct rpcrdma_case *each = &rpcrdma_cases[index];
        valid += strcmp(each->rule, "valid") == 0;
        for (octet = 0; octet < each->length; octet++)
            sum += each->octets[octet];
    }
    printf("%lu %lu\n", sum, valid);
    return 0;
}
"#;

const SUM_IN_RUST: &str = "mod cases;
fn main() {
    let sum: u64 = cases::MESSAGES.iter().flat_map(|case| case.octets).map(|octet| u64::from(*octet)).sum();
    println!(\"{sum} {}\", cases::MESSAGES.iter().filter(|case| case.rule == \"valid\").count());
}
";

/// Returns the output that these programs have to print.
fn sum() -> String {
    let mut choices = Choices::of_seed(0);
    let cases: Vec<_> = (0..200).map(|_| rpcrdma_gen::random(&mut choices, Format::V2b, Role::Call)).collect();
    let sum: u64 = cases.iter().flat_map(|case| &case.octets).map(|octet| u64::from(*octet)).sum();
    format!("{sum} {}\n", cases.iter().filter(|case| case.broken.is_empty()).count())
}

/// Compiles a program, and returns what it prints.
fn compiled(compiler: &str, options: &[&str], source: &Path) -> String {
    let program = source.with_extension("out");
    let mut command = Command::new(compiler);
    assert!(command.args(options).arg(source).arg("-o").arg(&program).status().unwrap().success(), "{compiler}");
    String::from_utf8(Command::new(program).output().unwrap().stdout).unwrap()
}

#[test]
fn source_text_has_the_same_messages() {
    let path = directory("source");
    let [header, module] = ["cases.h", "cases.rs"].map(|name| path.join(name).to_str().unwrap().to_owned());
    said(&["--count", "200", "--version", "2b", "--format", "module", "-o", &module]);
    fs::write(path.join("sum.rs"), SUM_IN_RUST).unwrap();
    assert_eq!(compiled("rustc", &["--edition", "2024", "-A", "dead_code"], &path.join("sum.rs")), sum());
    said(&["--count", "200", "--version", "2b", "--format", "header", "-o", &header]);
    fs::write(path.join("sum.c"), SUM_IN_C).unwrap();
    // Whoever can build Rust programs on Linux has one.
    assert_eq!(compiled("cc", &["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"], &path.join("sum.c")), sum());
}

#[test]
fn a_capture_has_a_connection_around_each_message() {
    let kinds = [(Format::V1, Role::Call), (Format::V1, Role::Reply), (Format::V2b, Role::Call)];
    for ((version, role), carrier) in kinds.into_iter().flat_map(|kind| [(kind, "capture"), (kind, "iwarp")]) {
        let path = directory("capture").join("cases.pcap");
        let arguments = ["--count", "60", "--seed", "3", "--format", carrier, "-o", path.to_str().unwrap()];
        said(&[&arguments[..], &["--version", version.name(), "--role", role.name()]].concat());
        let mut config = Config::default();
        (config.verify_crc, config.operations) = (true, true);
        let mut sent = Vec::new();
        let (mut connections, mut found) = (0, BTreeSet::new());
        let mut checker = Checker::default();
        for event in Events::new(Capture::from_paths([&path]), config) {
            let event = event.unwrap();
            checker.event(&event);
            match event {
                Event::Message(message) => sent.push(message.octets),
                Event::Connection(_) => connections += 1,
                _ => {}
            }
        }
        found.extend(std::iter::from_fn(|| checker.finding()).map(|finding| finding.rule.slug));
        let mut choices = Choices::of_seed(3);
        let cases: Vec<_> = (0..60).map(|_| rpcrdma_gen::random(&mut choices, version, role)).collect();
        let expected: Vec<_> =
            cases.iter().flat_map(|case| case.call.clone().into_iter().chain([case.octets.clone()])).collect();
        // Messages that cannot be told from other traffic are not taken for RPC-over-RDMA.
        let missing = expected.iter().filter(|octets| !sent.contains(octets)).count();
        assert!(
            sent.iter().all(|octets| expected.contains(octets)) && missing <= 20,
            "{missing} of {}",
            expected.len()
        );
        assert!(connections >= 40, "{connections}");
        let broken: BTreeSet<&str> =
            cases.iter().flat_map(|case| &case.broken).map(|broken| broken.rule.slug).collect();
        assert!(broken.intersection(&found).count() >= 4, "{broken:?}, {found:?}");
    }
}

#[test]
fn the_messages_of_a_capture_get_every_defect() {
    let capture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/captures/nfs3.pcap");
    for (role, slug) in [("call", "read-position-beyond"), ("reply", "write-fill-order")] {
        let path = directory("from");
        said(&["--from", capture.to_str().unwrap(), "--role", role, "-o", path.to_str().unwrap()]);
        let records = records(&path);
        let valid =
            records.iter().filter(|record| record["name"].as_str().unwrap().starts_with("valid/frame_")).count();
        assert!(valid > 2, "{valid} {role}s of different shapes");
        assert!(records.iter().all(|record| record["name"].as_str().unwrap().contains("/frame_")));
        if role == "call" {
            assert!(records.iter().any(|record| record["rule"] == slug), "{role}: {slug}");
        }
    }
}

#[test]
fn what_cannot_be_done_is_said() {
    let path = directory("wrong");
    let out = path.to_str().unwrap();
    for (arguments, expected) in [
        (&["--from", "/nowhere.pcap", "-o", out][..], "/nowhere.pcap"),
        (&["--version", "3", "-o", out], "1, 2a or 2b"),
        (&["--role", "both", "-o", out], "call or reply"),
        (&["--seed", "1", "-o", out], "--count"),
        (&["--format", "header", "-o", out], "directory"),
    ] {
        let output = run(arguments);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.contains(expected), "{arguments:?}: {text}");
    }
}

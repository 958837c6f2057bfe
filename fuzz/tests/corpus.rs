//! The corpus, the vectors and the captures through every target.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

use std::fs;
use std::path::{Path, PathBuf};

use rpcrdma_gen::Choices;

fn testdata(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata").join(path)
}

/// The files of a folder of `testdata`, by name.
fn files(folder: &str) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(testdata(folder)).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .filter(|path| path.is_file())
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(path).unwrap()))
        .collect();
    files.sort();
    files
}

fn replay(folder: &str, target: fn(&[u8])) {
    let files = files(&format!("corpus/{folder}"));
    assert!(files.len() > 10, "a corpus");
    for (name, octets) in files {
        println!("{folder}/{name}");
        target(&octets);
    }
}

#[test]
fn decode() {
    replay("decode", rpcrdma_fuzz::decode);
    replay("round_trip", rpcrdma_fuzz::decode);
}

#[test]
fn round_trip() {
    replay("round_trip", rpcrdma_fuzz::round_trip);
    replay("decode", rpcrdma_fuzz::round_trip);
}

#[test]
fn c_interface() {
    replay("decode", rpcrdma_fuzz::c_interface);
    replay("round_trip", rpcrdma_fuzz::c_interface);
}

#[test]
fn c_endpoints() {
    replay("pair", rpcrdma_fuzz::c_endpoints);
    random(1000, 16_000, rpcrdma_fuzz::c_endpoints);
}

#[test]
fn frames() {
    replay("frames", rpcrdma_fuzz::frames);
}

/// Captures of loss, hangs and bad mirrors.
#[test]
fn situations() {
    let captures = files("captures/situations");
    assert!(captures.len() > 30);
    for target in [rpcrdma_fuzz::frames, rpcrdma_fuzz::files, rpcrdma_fuzz::anonymize] {
        captures.iter().for_each(|(_, octets)| target(octets));
    }
}

#[test]
fn anonymized() {
    replay("anonymize", rpcrdma_fuzz::anonymize);
}

/// Pieces of captures in encapsulations, lost, cut, repeated and moved before and after.
#[test]
fn encapsulated_frames() {
    for seed in 0..300 {
        let mut choices = Choices::of_seed(seed);
        let mut octet = || choices.number() as u8;
        let mut script = vec![octet() | 0x80, octet() & 0xf0, octet(), octet(), octet(), octet()];
        for _ in 0..octet() % 12 {
            let kind = if octet().is_multiple_of(3) { 0x14 } else { octet() % 8 };
            script.extend([kind, octet() >> (octet() % 8), octet(), octet(), 0, octet(), octet(), octet()]);
        }
        println!("seed {seed}");
        rpcrdma_fuzz::frames(&script);
    }
}

#[test]
fn whole_files() {
    replay("files", rpcrdma_fuzz::files);
}

#[test]
fn traces() {
    replay("traces", rpcrdma_fuzz::traces);
}

/// Octets that stand for nothing but choices: `count` inputs of up to `most` octets.
fn random(count: u64, most: u64, target: fn(&[u8])) {
    for seed in 0..count {
        let mut choices = Choices::of_seed(seed);
        let length = choices.number() % most;
        let octets: Vec<u8> = (0..length.div_ceil(8)).flat_map(|_| choices.number().to_le_bytes()).collect();
        println!("seed {seed}");
        target(&octets);
    }
}

#[test]
fn dumps() {
    replay("dumps", rpcrdma_fuzz::dumps);
    random(3000, 200, rpcrdma_fuzz::dumps);
}

#[test]
fn iwarp() {
    replay("iwarp", rpcrdma_fuzz::iwarp);
    random(200, 4000, rpcrdma_fuzz::iwarp);
}

#[test]
fn loopback() {
    replay("loopback", rpcrdma_fuzz::loopback);
    random(300, 8000, rpcrdma_fuzz::loopback);
}

#[test]
fn nfs() {
    replay("nfs", rpcrdma_fuzz::nfs);
    random(2000, 400, rpcrdma_fuzz::nfs);
}

#[test]
fn requester() {
    replay("requester", rpcrdma_fuzz::requester);
    random(1000, 8000, rpcrdma_fuzz::requester);
}

#[test]
fn responder() {
    replay("responder", rpcrdma_fuzz::responder);
    random(1000, 8000, rpcrdma_fuzz::responder);
}

#[test]
fn pair() {
    replay("pair", rpcrdma_fuzz::pair);
    random(1000, 8000, rpcrdma_fuzz::pair);
}

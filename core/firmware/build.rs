//! Puts the Sends that the program reads into one file, and says how the program is linked where there is no operating
//! system.

use std::path::{Path, PathBuf};
use std::{env, fs};

#[path = "../tests/suite/support/recorded.rs"]
mod recorded;

/// Sends of Linux, client and server, with errors between them.
const CAPTURES: [&str; 2] = ["nfs41", "errors"];

fn main() {
    let testdata = PathBuf::from("../../testdata");
    println!("cargo::rerun-if-changed=../tests/suite/support/recorded.rs");
    let mut all = Vec::new();
    for (version, folder) in [(b'1', "v1"), (b'A', "v2/family-a"), (b'B', "v2/family-b")] {
        add_vectors(version, &testdata.join("vectors").join(folder), &mut all);
    }
    for capture in CAPTURES {
        for send in recorded::sends(&read(&testdata.join(format!("captures/{capture}.pcap")))) {
            add_send(b'1', &send, &mut all);
        }
    }
    let output = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets it"));
    fs::write(output.join("recorded"), all).expect("the output directory can be written");
    link(&output);
}

fn read(path: &Path) -> Vec<u8> {
    println!("cargo::rerun-if-changed={}", path.display());
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Adds the vectors of a folder and of its subfolders, in the order of names.
fn add_vectors(version: u8, folder: &Path, all: &mut Vec<u8>) {
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a folder of vectors").path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            add_vectors(version, &path, all);
        } else if path.extension().is_some_and(|extension| extension == "hex") {
            let text = String::from_utf8(read(&path)).expect("a vector is text");
            add_send(version, &recorded::hexadecimal(&text), all);
        }
    }
}

/// Adds a Send, in the format that `src/recorded.rs` reads.
fn add_send(version: u8, send: &[u8], all: &mut Vec<u8>) {
    let length = u16::try_from(send.len()).expect("a Send has less than 64 KiB");
    all.push(version);
    all.extend(length.to_be_bytes());
    all.extend(send);
}

/// Tells the linker the memory of the board, and the entry point.
fn link(output: &Path) {
    let target = env::var("TARGET").expect("Cargo sets it");
    let (memory, script) = match target.as_str() {
        "thumbv7em-none-eabihf" => ("cortex-m.x", "link.x"),
        "riscv32imac-unknown-none-elf" => ("riscv32.x", "link.x"),
        "aarch64-unknown-none" => ("aarch64.x", "memory.x"),
        _ => return,
    };
    fs::write(output.join("memory.x"), read(&Path::new("memory").join(memory))).expect("as above");
    println!("cargo::rustc-link-search={}", output.display());
    if target.starts_with("riscv") {
        println!("cargo::rustc-link-arg-bins=-Tmemory.x");
    }
    println!("cargo::rustc-link-arg-bins=-T{script}");
}

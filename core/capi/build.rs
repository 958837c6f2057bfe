//! The configuration of the library: the numbers and switches of `configuration.h`, as the environment and the features
//! change the values, for Rust, and the header that says the same to C.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Sizes that the environment may change, and their bounds: `RPCRDMA_BUILD` allows no more.
const SIZES: [(&str, RangeInclusive<usize>); 4] = [
    ("RPCRDMA_CALLS", 1..=4095),
    ("RPCRDMA_SEGMENTS", 1..=4095),
    ("RPCRDMA_CALL_HEADER", 28..=65_535),
    ("RPCRDMA_CALL_CHUNKS", 1..=255),
];

/// Definitions that depend on a feature.
const SWITCHES: [(&str, &str); 2] =
    [("RPCRDMA_HAS_VERSION_2", "CARGO_FEATURE_VERSION_2"), ("RPCRDMA_HAS_EXPLANATIONS", "CARGO_FEATURE_EXPLANATIONS")];

fn main() -> Result<(), String> {
    let configuration = read("configuration.h")?;
    let lines = lines(&configuration)?;
    let output = PathBuf::from(variable("OUT_DIR")?);
    write(&output.join("configuration.rs"), &for_rust(&configuration, &lines))?;
    write(&output.join("rpcrdma.h"), &for_c(&read("rpcrdma.h")?, &lines))
}

fn read(file: &str) -> Result<String, String> {
    println!("cargo::rerun-if-changed={file}");
    fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}

fn variable(name: &str) -> Result<String, String> {
    env::var(name).map_err(|error| format!("{name}: {error}"))
}

/// Returns the lines of `configuration.h` that define something, by name, with the values of this build.
fn lines(configuration: &str) -> Result<Vec<(&'static str, String)>, String> {
    let mut lines = Vec::new();
    let mut sizes = Vec::new();
    for (name, bounds) in SIZES {
        let size = size(name, &bounds, configuration)?;
        sizes.push(size);
        lines.push((name, format!("#define {name} {size}")));
    }
    if let [_, segments, _, chunks] = *sizes
        && chunks > segments
    {
        return Err("RPCRDMA_CALL_CHUNKS is more than RPCRDMA_SEGMENTS, which outputs and replies have room for".into());
    }
    for (name, feature) in SWITCHES {
        let is_on = env::var_os(feature).is_some();
        lines.push((name, if is_on { format!("#define {name} 1") } else { format!("/* #undef {name} */") }));
    }
    let (name, text) = ("RPCRDMA_LIBRARY_VERSION", variable("CARGO_PKG_VERSION")?);
    lines.push((name, format!("#define {name} \"{text}\"")));
    let mut number = String::from("0x");
    for part in ["CARGO_PKG_VERSION_MAJOR", "CARGO_PKG_VERSION_MINOR", "CARGO_PKG_VERSION_PATCH"] {
        let part: u8 = variable(part)?.parse().map_err(|_| format!("{text}: each part has to be at most 255"))?;
        number += &format!("{part:02x}");
    }
    let name = "RPCRDMA_LIBRARY_VERSION_NUMBER";
    lines.push((name, format!("#define {name} {number}")));
    Ok(lines)
}

/// Returns the name and the value that a line defines.
fn definition(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("#define ")?.split_once(' ')
}

/// A size: that of the environment, or else that of `configuration.h`.
fn size(name: &str, bounds: &RangeInclusive<usize>, configuration: &str) -> Result<usize, String> {
    println!("cargo::rerun-if-env-changed={name}");
    let default = configuration.lines().filter_map(definition).find(|(defined, _)| *defined == name);
    let given = env::var(name).ok().filter(|given| !given.is_empty());
    let given = given.as_deref().or(default.map(|(_, value)| value)).unwrap_or_default();
    let size = given.parse().ok().filter(|size| bounds.contains(size));
    size.ok_or_else(|| {
        format!("{name} is {given:?}: it has to be a number from {} to {}", bounds.start(), bounds.end())
    })
}

/// Returns the definitions as constants, with the comments of `configuration.h`.
fn for_rust(configuration: &str, lines: &[(&str, String)]) -> String {
    let mut rust = String::new();
    let mut comment = "";
    for line in configuration.lines() {
        if let Some(text) = line.strip_prefix("/** ").and_then(|text| text.strip_suffix(" */")) {
            comment = text;
        }
        let Some((name, _)) = definition(line) else { continue };
        let built = lines.iter().find(|(defined, _)| *defined == name);
        let Some((_, value)) = built.and_then(|(_, line)| definition(line)) else { continue };
        let kind = match name {
            "RPCRDMA_LIBRARY_VERSION" => "&str",
            _ if SIZES.iter().any(|(size, _)| *size == name) => "usize",
            _ => "u32",
        };
        rust += &format!("/// {comment}\npub const {name}: {kind} = {value};\n");
    }
    rust
}

/// The header with the definitions of this build.
fn for_c(header: &str, lines: &[(&str, String)]) -> String {
    let mut c = String::new();
    for line in header.lines() {
        let built = definition(line).and_then(|(name, _)| lines.iter().find(|(defined, _)| *defined == name));
        c += built.map_or(line, |(_, line)| line);
        c.push('\n');
    }
    c
}

//! Makes octets of the vectors that are measured, and says where the memory of the board is.

use std::path::PathBuf;
use std::{env, fs};

#[path = "../../tests/suite/support/recorded.rs"]
#[allow(dead_code)]
mod recorded;

/// The four headers of BENCHMARKS.md, in each format.
const VECTORS: [(&str, [&str; 4]); 3] = [
    ("v1", ["msg_no_chunks", "msg_one_write_chunk", "msg_two_read_segments_and_reply_chunk", "msg_sixteen_of_each"]),
    (
        "v2/family-a",
        ["msg_no_chunks", "msg_one_write_chunk", "msg_two_read_segments_and_reply_chunk", "msg_sixteen_of_each"],
    ),
    (
        "v2/family-b",
        [
            "call_inline_no_chunks",
            "call_inline_one_write_chunk",
            "call_inline_two_read_segments_and_reply_chunk",
            "call_inline_sixteen_of_each",
        ],
    ),
];

fn main() {
    let output = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets it"));
    for (folder, names) in VECTORS {
        for (number, name) in names.iter().enumerate() {
            let path = format!("../../../testdata/vectors/{folder}/{name}.hex");
            println!("cargo::rerun-if-changed={path}");
            let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
            let file = format!("{}-{number}", folder.replace('/', "-"));
            fs::write(output.join(file), recorded::hexadecimal(&text)).expect("the output directory can be written");
        }
    }
    let aarch64 = env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|architecture| architecture == "aarch64");
    let (memory, script) = if aarch64 { ("aarch64.x", "memory.x") } else { ("cortex-m.x", "link.x") };
    println!("cargo::rerun-if-changed=../memory/{memory}");
    fs::copy(format!("../memory/{memory}"), output.join("memory.x")).expect("as above");
    println!("cargo::rustc-link-search={}", output.display());
    println!("cargo::rustc-link-arg-bins=-T{script}");
}

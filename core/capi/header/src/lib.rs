//! `rpcrdma.h` is what the sources of the C interface say.
#![cfg(test)]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Returns the folder of the C interface.
fn interface() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Generates the header from the sources.
fn generated() -> String {
    let folder = interface();
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let config = cbindgen::Config {
        language: cbindgen::Language::C,
        cpp_compat: true,
        // The guard is written here, because cbindgen's ends before the trailer.
        header: Some(format!("{}#ifndef RPCRDMA_H\n#define RPCRDMA_H", read("preamble.h"))),
        trailer: Some(format!("{}\n#endif /* RPCRDMA_H */", read("cursors.h"))),
        style: cbindgen::Style::Both,
        documentation_style: cbindgen::DocumentationStyle::Doxy,
        usize_is_size_t: true,
        no_includes: true,
        sys_includes: vec!["stddef.h".into(), "stdint.h".into()],
        // The build script makes this again for other sizes.
        after_includes: Some(format!("\n{}", read("configuration.h").trim_end())),
        defines: HashMap::from([("feature = version-2".into(), "RPCRDMA_HAS_VERSION_2".into())]),
        // No function takes these: the cursors do, and programs.
        export: cbindgen::ExportConfig {
            include: [
                "rpcrdma_segment",
                "rpcrdma_read_segment",
                "rpcrdma_requester_memory",
                "rpcrdma_responder_memory",
                "rpcrdma_channel_memory",
            ]
            .map(String::from)
            .into(),
            ..cbindgen::ExportConfig::default()
        },
        ..cbindgen::Config::default()
    };
    let mut header = Vec::new();
    cbindgen::Builder::new().with_config(config).with_crate(&folder).generate().unwrap().write(&mut header);
    // One condition for what stands together.
    String::from_utf8(header).unwrap().replace("#endif\n\n#if defined(RPCRDMA_HAS_VERSION_2)\n", "\n")
}

#[test]
fn the_header_is_what_the_sources_say() {
    let path = interface().join("rpcrdma.h");
    let generated = generated();
    if env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &generated).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == generated, "rpcrdma.h is out of date: cd core/capi/header && UPDATE_EXPECT=1 cargo test");
}

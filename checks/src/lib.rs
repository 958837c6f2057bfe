//! Compares generated files in this repository with their sources: the C header, and the schemas of the JSON that the
//! program prints.
//!
//! These tests change nothing that `cargo test` could notice, and the two packages they need take a minute to compile. So they
//! are apart, and `.ci/run` runs them.
#![cfg(test)]

mod header;
mod schema;

use std::path::{Path, PathBuf};

/// The folder of the repository.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

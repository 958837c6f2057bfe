//! The fuzz targets, as functions of octets: each panics if a property does not hold.
//!
//! A target is a thin wrapper around one of these; `cargo test` runs all on the corpus.
#![deny(unsafe_code)]

mod anonymize;
mod bodies;
#[allow(unsafe_code, reason = "it calls the C interface")]
mod c_endpoints;
#[allow(unsafe_code, reason = "it calls the C interface")]
mod c_interface;
mod captures;
mod decode;
mod dumps;
mod encapsulate;
mod files;
mod frames;
mod hostile;
mod lists;
mod oracle;
pub mod reference;
mod round_trip;
mod script;
mod segments;
mod traces;
mod version_2;
mod wrap;

pub use anonymize::anonymize;
pub use bodies::nfs;
pub use c_endpoints::c_endpoints;
pub use c_interface::c_interface;
pub use decode::decode;
pub use dumps::dumps;
pub use files::files;
pub use frames::frames;
pub use hostile::{loopback, pair, requester, responder};
pub use round_trip::round_trip;
pub use segments::iwarp;
pub use traces::traces;

/// Runs a target on the files that the command line names.
pub fn replay(target: fn(&[u8])) {
    for path in std::env::args_os().skip(1) {
        match std::fs::read(&path) {
            Ok(octets) => target(&octets),
            Err(error) => eprintln!("{}: {error}", path.display()),
        }
    }
}

//! The tests of the package in one program: each program more compiles and links what it uses once more.
#![recursion_limit = "256"]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test falls where its input is wrong"
)]

mod annotate;
mod anonymize;
mod arguments;
mod arrival;
mod capture_point;
mod check;
mod checksums;
mod command;
mod common;
mod compare;
mod connections;
mod counts;
mod credits;
mod csv;
mod destinations;
mod diagnosis;
mod encapsulations;
mod engine;
mod examples;
mod export;
mod file_names;
mod files;
mod found;
mod gaps;
mod generated;
mod header;
mod in_flight;
mod iwarp;
mod kernel_trace;
mod links;
mod missing;
mod mounts;
mod nfs;
mod outliers;
mod parts;
mod phases;
mod program;
mod promises;
mod recalls;
mod recovery;
mod report;
mod rfc5666;
mod screen;
mod selection;
mod separate;
mod sessions;
mod simulation;
mod situations;
mod slow_transfer;
mod stats;
mod steps;
mod storm;
mod synthetic;
mod top;
mod trace;
mod transcode;
mod tries;
mod truth;
mod twins;
mod version2;
mod witnesses;

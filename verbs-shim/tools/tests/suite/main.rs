//! The tests of the package in one program: each program more compiles and links what it uses once more.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "the test fails on wrong input")]

mod delays;
#[path = "../../../tests/suite/dissected/mod.rs"]
mod dissected;
mod echo;
mod misbehave;
mod nfs;
mod nfs4_cp;
mod ping;
mod probe;
mod raw_requester;
mod reverse;
#[path = "../../../tests/suite/support/mod.rs"]
mod support;

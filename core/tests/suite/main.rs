//! The tests of the package in one program: each program more compiles and links what it uses once more.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::expect_used,
    clippy::panic,
    reason = "the test fails on wrong input"
)]

mod captures;
mod endpoint;
mod endpoint_random;
mod errors;
mod every_short_input;
mod judge_send;
mod judges;
mod random;
#[path = "../../../testdata/random.rs"]
mod random_numbers;
mod support;
mod v2_connection;
mod v2_vectors;
mod vectors;

#[cfg(feature = "version-2")]
mod both_call;
#[cfg(feature = "version-2")]
mod channel;
#[cfg(feature = "version-2")]
mod continuation;
#[cfg(feature = "version-2")]
mod endpoint_v2;
#[cfg(feature = "version-2")]
mod one_way_calls;
#[cfg(feature = "version-2")]
mod reverse_direction;
#[cfg(feature = "version-2")]
mod v2_rules;

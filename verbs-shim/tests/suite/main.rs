//! The tests of the package in one program: each program more compiles and links what it uses once more.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "the test fails on wrong input")]

mod by_hand;
mod capture;
mod client_server;
mod credits;
mod dissected;
mod examples;
mod faults;
mod gateway;
mod hostile;
mod loopback;
mod reconnection;
mod rpc;
mod shared_receives;
mod slow_memory;
mod support;
mod version_2;
mod waits;

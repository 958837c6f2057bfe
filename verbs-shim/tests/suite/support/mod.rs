//! Peers and callers for tests and benchmarks.
#![allow(dead_code, reason = "each program uses a part of it")]

pub(crate) mod cost;
pub(crate) mod counting;
pub(crate) mod echo;
pub(crate) mod eventually;
pub(crate) mod header;
pub(crate) mod service;
pub(crate) mod slow;
pub(crate) mod stopping;

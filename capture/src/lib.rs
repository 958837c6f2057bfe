//! From a capture file to RPC messages and transactions, in one pass.
#![forbid(unsafe_code)]

pub mod file;
pub mod link;

//! From a capture file to RPC messages and transactions, in one pass.
#![forbid(unsafe_code)]

pub mod carrier;
pub mod check;
pub mod dissector;
pub mod event;
pub mod events;
pub mod file;
pub mod input;
pub mod link;
pub mod nfs;
pub mod output;
pub mod rpc;
mod session;

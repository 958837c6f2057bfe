//! From a capture file to RPC messages and transactions, in one pass.
#![forbid(unsafe_code)]

mod assembly;
pub mod check;
pub mod connection;
pub mod dissector;
pub mod event;
pub mod events;
pub mod file;
pub mod header;
pub mod infiniband;
pub mod iwarp;
pub mod link;
mod memory;
pub mod message;
pub mod nfs;
pub mod operation;
pub mod output;
pub mod ranges;
mod rpc;
mod session;
pub mod transaction;

//! An RPC message in a Send: its header, where its Payload stream is, what it calls, and the transaction it is part of.

pub(crate) mod describe;
pub mod header;
pub mod known;
pub mod message;
pub(crate) mod msgp;
pub mod not_rebuilt;
pub mod ranges;
pub mod transaction;

//! RPC-over-RDMA version 1 (RFC 8166) and version 2 (its drafts): from octets to messages and back.
//!
//! Everything a peer sends on an RPC-over-RDMA connection can be read and written with this crate: the transport header
//! ([`v1`], [`v2`]), the RPC header that follows it ([`rpc`]), and the private data exchanged while the connection is set up
//! ([`private_data`]). What is decoded borrows from the input. There is no allocation, no `std`, no unsafe code, and no
//! input that makes it panic.
//!
//! Decoding accepts whatever parses. What it refuses, it refuses with a kind, an offset, and the reaction that the
//! specification asks for ([`error::DecodeError`]).
//!
//! ```
//! use rpcrdma::v1::{Body, Message};
//!
//! let send = [
//!     0x5a, 0x7a, 0x45, 0x83, // rdma_xid
//!     0, 0, 0, 1, 0, 0, 0, 128, // rdma_vers, rdma_credit
//!     0, 0, 0, 0, // RDMA_MSG
//!     0, 0, 0, 0, // no Read list
//!     0, 0, 0, 1, 0, 0, 0, 1, // a Write list: a chunk of one segment
//!     0, 0, 0x0a, 0x94, 0, 2, 0, 0, 0xa5, 0x06, 0x4b, 0xf4, 0xce, 0x8c, 0x60, 0x00, //
//!     0, 0, 0, 0, // the end of the Write list
//!     0, 0, 0, 0, // no Reply chunk
//!     0x5a, 0x7a, 0x45, 0x83, // the Payload stream begins
//! ];
//! let message = Message::decode(&send)?;
//! assert_eq!((message.header.xid, message.header.credit), (0x5a7a_4583, 128));
//! assert_eq!((message.header_length, message.payload.len()), (52, 4));
//! let Body::Msg(chunks) = message.header.body else { unreachable!() };
//! for chunk in chunks.writes.iter() {
//!     for segment in chunk.iter() {
//!         assert_eq!((segment.handle, segment.length), (0xa94, 131_072));
//!     }
//! }
//! # Ok::<(), rpcrdma::error::DecodeError>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::arithmetic_side_effects)]

#[cfg(test)]
extern crate std;

pub mod endpoint;
pub mod error;
pub mod lists;
pub mod prefix;
pub mod private_data;
pub mod reader;
pub mod rpc;
pub mod rules;
pub mod segment;
mod sink;
pub mod v1;
pub mod v2;

pub use reader::Reader;

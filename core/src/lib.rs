//! RPC-over-RDMA version 1 (RFC 8166) and version 2 (drafts): from octets to messages and back.
//!
//! This is the library. The program `rpcrdma`, which reads captures, is installed by `cargo install rpcrdma-capture`.
//!
//! # Purpose
//! For programs that send, receive or inspect RPC-over-RDMA: transports, adapter firmware, kernels, capture tools, test
//! peers. Decoded values borrow from the input. There is no allocation, no `std`, no unsafe code, and no input that
//! causes a panic.
//!
//! Two features are on by default. Firmware can do without either:
//! - `explanations`: the texts of rules and findings (14 KB on a Cortex-M4).
//! - `version-2`: version 2 of the endpoints (30 KB of a Requester, a Responder and a Channel). The codec and the rules
//!   of version 2 are always there; a linker leaves out unused functions.
//!
//! # Out of scope
//! This library moves no data: no sockets, no adapters and no threads. `rpcrdma-verbs` is a transport built on this
//! library, and `rpcrdma-dissector` reads captures. Decoding stops after the RPC header: NFS is not interpreted.
//!
//! # Where everything is
//! ```text
//!        the private data of the connection: private_data
//!
//!                      one Send
//! +------------------+-------------------+------------------------------+
//! | transport header | RPC header        | arguments or results         |
//! +------------------+-------------------+------------------------------+
//!   v1, v2             rpc                 the upper layer's
//!     prefix   four words, the same in every version
//!     lists    Read list, Write list, Reply chunk
//!     segment  handle, length, offset of registered memory
//!
//! rules      what is wrong with a Send, even one that decodes, and what its receiver must do
//! endpoint   what to send, register, read and write, and when: Requester and Responder
//! ```
//!
//! | to | use |
//! |---|---|
//! | decode a Send, or encode one | [`Message`], [`Header`], [`Body`] |
//! | visit its chunks | [`Chunks`] |
//! | answer a Call with its own chunks | [`ReplyHeader`](v1::ReplyHeader) |
//! | respond to a Send that does not decode | [`DecodeError::reaction`], [`ErrorReply`] |
//! | check a Send against the rules of the RFC | [`rules::send`] |
//! | read the RPC header | [`RpcCall`], [`RpcReply`] |
//! | read the private data of a connection | [`PrivateData`] |
//! | build a transport | [`Requester`], [`Responder`] |
//! | read version 2 | [`v2::MessageV2`] |
//!
//! Types without a number in their name belong to version 1. Types for version 2 end in `V2`, or are in the module of one wire
//! format.
//!
//! Decoding accepts all octets that parse; judging is a separate step. A decoding error has a kind and an offset. Types
//! that the wire format fixes are exhaustive; errors, reasons and limits may grow, and are not.
//!
//! # Examples
//! ```
//! use rpcrdma::{Body, Message};
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
//! # Ok::<(), rpcrdma::DecodeError>(())
//! ```
//!
//! Encoding needs only a buffer, and a Reply is made from the answered Call:
//! ```
//! use rpcrdma::lists::{Chunks, WriteChunk, WriteList};
//! use rpcrdma::segment::Segment;
//! use rpcrdma::v1::{Body, Header, Message, ReplyHeader};
//!
//! // A requester's Call: 4096 octets of its memory for the data of an NFS READ.
//! let memory = [Segment { handle: 0xa94, length: 4096, offset: 0x1000 }.to_octets()];
//! let writes = [WriteChunk::new(&memory)];
//! let chunks = Chunks { writes: WriteList::from_chunks(&writes), ..Chunks::default() };
//! let mut call = [0; 1024];
//! let length = Header { xid: 7, credit: 32, body: Body::Msg(chunks) }.encode(&mut call)?;
//! // The RPC message follows: call[length..].
//!
//! // The responder has written 1000 octets there by RDMA Write. Its Reply says so with the chunks of the Call.
//! let received = Message::decode(&call[..length])?;
//! let provided = received.header.chunks().ok_or("no chunks in an error")?;
//! let mut reply = [0; 1024];
//! let length = ReplyHeader::new(received.header.xid, 32, &provided).with_writes(&[1000])?.encode(&mut reply)?;
//! let (header, _) = Header::decode(&reply[..length])?;
//! assert_eq!(header.chunks().and_then(|chunks| chunks.writes.get(0)).map(|chunk| chunk.length()), Some(1000));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::arithmetic_side_effects)]

#[cfg(test)]
extern crate std;

mod codes;
pub mod endpoint;
pub mod error;
pub mod lists;
mod message;
pub mod prefix;
pub mod private_data;
pub mod reader;
pub mod rpc;
pub mod rules;
pub mod segment;
mod sink;
pub mod v1;
pub mod v2;

pub use endpoint::{Requester, Responder};
pub use error::{DecodeError, EncodeError, Reaction, Role};
pub use lists::Chunks;
pub use message::DecodedSend;
pub use private_data::PrivateData;
pub use reader::Reader;
pub use rpc::{RpcCall, RpcReply};
pub use segment::Segment;
pub use v1::{Body, ErrorReply, Header, Message};

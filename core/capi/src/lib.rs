//! The C interface of `rpcrdma`: what `rpcrdma.h` declares.
//!
//! Each function converts the arguments of C for `rpcrdma`, calls `rpcrdma`, and writes the result where the caller
//! wants the result. Nothing is kept between calls, nothing is allocated, and nothing is called back.
//!
//! ```text
//! argument      pointers from C: checked here       message_v2    a Send of version 2
//! status        what functions return               private_data  private data of the connection setup
//! lists         chunk lists and their cursors       rpc           RPC headers
//! message       a Send of version 1                 rules         what is wrong with a Send
//! channel       the version of a connection, and the credits of version 2
//! direction     which endpoint a Send of version 1 is for
//! configuration version and sizes of the library
//! names         numbers and rules as text
//! requester, responder, and endpoint, what they have in common
//! ```
//!
//! `rpcrdma.h` is made of the comments and declarations here by a test (`core/capi/header`), and the cursors that C programs
//! have inlined are in `cursors.h`.
//!
//! # Safety
//! Each function asks the same of the caller, and `rpcrdma.h` says so once at the top: a pointer with a length names
//! that many octets that can be read, or written if the parameter is not `const`, and nobody else writes these octets
//! during the call. Everything that can be checked is checked in `argument`.
#![no_std]
#![allow(non_camel_case_types, reason = "the names are those of C")]
#![allow(clippy::missing_safety_doc, reason = "said once, above")]
#![deny(clippy::arithmetic_side_effects)]
#![deny(unsafe_op_in_unsafe_fn)]
#![deny(clippy::undocumented_unsafe_blocks)]

mod argument;
#[cfg(feature = "version-2")]
mod channel;
mod configuration;
mod direction;
mod endpoint;
mod lists;
mod message;
mod message_v2;
mod names;
mod private_data;
mod requester;
mod responder;
mod rpc;
mod rules;
mod status;

#[cfg(feature = "version-2")]
pub use channel::*;
pub use configuration::*;
pub use direction::*;
pub use endpoint::*;
pub use lists::*;
pub use message::*;
pub use message_v2::*;
pub use names::*;
pub use private_data::*;
pub use requester::*;
pub use responder::*;
pub use rpc::*;
pub use rules::*;
pub use status::*;

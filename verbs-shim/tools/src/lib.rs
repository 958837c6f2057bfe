//! Programs over any provider of [`rpcrdma_verbs`]: an echo program with timed calls, NFS from memory, a probe of
//! responders, and a responder with defects.
#![forbid(unsafe_code)]

#[cfg(feature = "rdma")]
pub mod command_line;
pub mod delay;
pub mod echo;
pub mod misbehave;
pub mod nfs;
pub mod ping;
pub mod probe;
pub mod raw;
mod xdr;

//! What the programs `rpcrdma-ping` and `rpcrdma-serve` do, over any provider of [`rpcrdma_verbs`]: an echo program,
//! delays of known length, and timed calls.
#![forbid(unsafe_code)]

#[cfg(feature = "rdma")]
pub mod command_line;
pub mod delayed;
pub mod echo;
pub mod misbehave;
pub mod nfs;
pub mod ping;
pub mod probe;
pub mod raw;
mod xdr;

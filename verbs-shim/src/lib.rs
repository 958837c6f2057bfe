//! What will carry the [`rpcrdma`](https://docs.rs/rpcrdma) codec over real RDMA verbs.
//!
//! Nothing is here yet. Planned: one small trait (protection domain, memory registration, Send, Send With Invalidate,
//! RDMA Read, RDMA Write, completions, connection set-up with private data) with two providers: an in-process
//! loopback, which is the default and needs no hardware, and rdma-core behind a feature of its own.
#![forbid(unsafe_code)]

//! RPC-over-RDMA (RFC 8166).
#![no_std]
#![forbid(unsafe_code)]

pub mod reader;

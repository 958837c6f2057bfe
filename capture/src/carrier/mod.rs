//! What carries a connection, and what its two ends did: the packets of InfiniBand and RoCE, the TCP segments of iWARP.
//! Both give the same [`operation::Operation`]s, so that all that follows exists once.

pub mod account;
pub mod connection;
pub mod handler;
pub mod infiniband;
pub mod iwarp;
pub mod operation;
pub(crate) mod table;

//! What carries a connection, and what its two ends did: the packets of InfiniBand and RoCE, the TCP segments of iWARP.
//! Both yield the same [`operation::Operation`]s, so everything after them exists once.

pub mod account;
pub mod connection;
pub mod handler;
pub mod infiniband;
pub mod iwarp;
pub mod operation;
pub(crate) mod table;

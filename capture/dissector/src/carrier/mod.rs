//! Carriers of a connection, and the operations of the two ends: the packets of InfiniBand and RoCE, the TCP segments
//! of iWARP. Both yield the same [`operation::Operation`]s, so everything after the carriers exists once.

pub(crate) mod account;
pub(crate) mod acknowledgement;
pub(crate) mod connection;
pub(crate) mod duplicates;
pub(crate) mod framed;
pub(crate) mod handler;
pub(crate) mod infiniband;
pub(crate) mod iwarp;
pub(crate) mod nfs_over_tcp;
pub(crate) mod operation;
pub(crate) mod recovery;
pub(crate) mod rejection;
pub(crate) mod table;
pub(crate) mod terminate;

//! A part of an RPC or of a connection that has no row: a finding, or a packet that was retransmitted.

use answers::selection::Ends;

use crate::names::Name;

/// A part of an RPC or of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) connection: u32,
    pub(crate) xid: Option<u32>,
    pub(crate) frame: u64,
    pub(crate) time: u64,
    pub(crate) ends: Ends<Name>,
}

//! A reply in a responder-provided Read chunk.

use crate::carrier::operation::Side;
use crate::check::finding::About;
use crate::file::Time;

/// The most replies of a connection whose responder-provided Read chunks may still be read.
pub(super) const REPLY_READS: usize = 16;

/// A reply in a responder-provided Read chunk.
#[derive(Debug)]
pub(super) struct ReplyReads {
    pub(super) requester: Side,
    pub(super) about: About,
    /// Octets of the Read chunks.
    pub(super) length: u64,
    pub(super) asked: u64,
    /// Time of the reply, or of the last RDMA Read of the reply.
    pub(super) last: Time,
}

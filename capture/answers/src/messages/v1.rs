//! The words that only some messages of version 1 have.

use rpcrdma::v1::{Body, Header};
use rpcrdma_dissector::Message;
use serde::Serialize;

/// Fields that only an RDMA_MSGP has (RFC 8166 section 4.1, RFC 5666 section 3.8).
#[derive(Clone, Copy, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct MsgpObject {
    /// `rdma_align`, in octets.
    rdma_align: u32,
    /// `rdma_thresh`, in octets.
    rdma_thresh: u32,
    /// Octets of padding before the data; null if it is not known where they are.
    padding_octets: Option<usize>,
}

impl MsgpObject {
    /// Returns the fields of a message with this header.
    pub(crate) fn new(message: &Message, header: &Header<'_>) -> Option<Self> {
        let Body::Msgp { align, thresh, .. } = header.body else { return None };
        let padding = message.padding.as_ref();
        let padding_octets = padding.map(|padding| padding.iter().map(ExactSizeIterator::len).sum());
        Some(Self { rdma_align: align, rdma_thresh: thresh, padding_octets })
    }
}

//! Padding of an RDMA_MSGP (RFC 5666 section 3.9).
//!
//! RDMA_MSGP aligns data. The arguments or results are stepped through with the padding that the RDMA_MSGP's two words
//! ask for, and the padding is believed if the arguments or results then end exactly where the Send ends.

use core::ops::Range;

use rpcrdma::rpc::{AcceptStatus, Flavor, ReplyBody, RpcCall, RpcReply};

use super::describe::{Called, Way};
use crate::nfs::{self, Padding, Procedure, Reduced, RpcBody};

/// The part of an RDMA_MSGP's header that says where padding is (RFC 5666 section 3.9).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Msgp {
    pub(crate) header_length: usize,
    pub(crate) align: u32,
    pub(crate) thresh: u32,
}

impl Msgp {
    /// Returns the padding in a call, as ranges of the payload; `None` if unknown.
    pub(crate) fn padding_of_call(self, payload: &[u8], way: Way, reads: &[(u64, u64)]) -> Option<Paddings> {
        if self.pads_nothing(payload) {
            return Some(Vec::new());
        }
        let (header, arguments) = RpcCall::decode(payload).ok()?;
        let RpcCall { program, version, procedure, credential, .. } = header;
        let procedure = Procedure { program, version, procedure };
        if credential.flavor == Flavor::RPCSEC_GSS {
            return None;
        }
        let at = payload.len() - arguments.len();
        let callback = way.callback(program).is_callback();
        self.find(at, |padding| {
            let body = RpcBody { octets: arguments, position: at };
            nfs::padding_of_arguments(procedure, callback, body, Reduced::Call(reads), padding)
        })
    }

    /// Returns the padding in a reply, as ranges of the payload. `written` are the lengths of the reply's Write chunks.
    pub(crate) fn padding_of_reply(self, payload: &[u8], called: &Called, written: &[u64]) -> Option<Paddings> {
        let (header, results) = RpcReply::decode(payload).ok()?;
        let has_results = matches!(header.body, ReplyBody::Accepted { status: AcceptStatus::SUCCESS, .. });
        if !has_results || self.pads_nothing(payload) {
            return Some(Vec::new());
        }
        if !matches!(called.security, Ok(None)) {
            return None;
        }
        let at = payload.len() - results.len();
        self.find(at, |padding| {
            nfs::padding_of_results(
                called.procedure,
                called.callback.is_callback(),
                results,
                Reduced::Reply(written),
                padding,
            )
        })
    }

    /// Returns true if the payload has no room for an item that is padded.
    const fn pads_nothing(self, payload: &[u8]) -> bool {
        self.thresh as usize > payload.len()
    }

    /// Finds the padding. The RFC pads items of `rdma_thresh` octets, but tells the receiver to skip the padding of
    /// items that exceed `rdma_thresh`. An item of exactly that size may be either; the payload then ends where only
    /// one of the two readings says.
    fn find(self, at: usize, walk: impl Fn(Padding) -> Option<Paddings>) -> Option<Paddings> {
        let Self { header_length, align, thresh } = self;
        let before = header_length.saturating_add(at);
        let read = |least| walk(Padding { before, align, least });
        let found = match (read(thresh), thresh.checked_add(1).and_then(read)) {
            (Some(found), Some(other)) if found != other => return None,
            (found, other) => found.or(other)?,
        };
        Some(found.into_iter().map(|padding| padding.start + at..padding.end + at).collect())
    }
}

type Paddings = Vec<Range<usize>>;

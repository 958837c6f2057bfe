//! RPCs whose packets were captured at both ends, in one file.

use super::place::CapturedAt;

/// RPCs of a connection whose packets were captured at both ends: each packet is in the file twice, with the way between.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BothEnds {
    /// The calls of the client whose packets were all seen twice, up to a bound.
    pub rpcs: Vec<EndLatencies>,
}

impl BothEnds {
    /// The end at which the packets of these RPCs were captured first; `None` if the calls came first at one end, and the replies at the
    /// other.
    #[must_use]
    pub fn first_at(&self) -> Option<CapturedAt> {
        let is_all = |of: fn(&EndLatencies) -> u64| self.rpcs.iter().all(|rpc| of(rpc) == rpc.first);
        if is_all(|rpc| rpc.requester) {
            Some(CapturedAt::Client)
        } else {
            is_all(|rpc| rpc.responder).then_some(CapturedAt::Server)
        }
    }
}

/// Latency of an RPC as each end saw the RPC: from the first packet of the call to the last of the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndLatencies {
    /// Nanoseconds at the requester.
    pub requester: u64,
    /// Nanoseconds at the responder.
    pub responder: u64,
    /// Nanoseconds from where the call was seen first to where the reply was.
    pub first: u64,
}

//! RPCs whose packets were captured at both ends, in one file.

/// RPCs of a connection whose packets were captured at both ends: each packet is in the file twice, with the way between.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BothEnds {
    /// The calls of the client whose packets were all seen twice, up to a bound.
    pub rpcs: Vec<EndLatencies>,
}

/// The latency of an RPC as each end saw it: from the first packet of the call to the last of the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndLatencies {
    /// Nanoseconds at the requester.
    pub requester: u64,
    /// Nanoseconds at the responder.
    pub responder: u64,
    /// Nanoseconds from where the call was seen first to where the reply was.
    pub first: u64,
}

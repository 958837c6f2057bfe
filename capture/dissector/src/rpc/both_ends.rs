//! RPCs whose packets were captured at both ends, in one file or in two.

use super::capture_point::CapturePoint;

/// RPCs of a connection whose packets were captured at both ends: each packet was seen twice, with the way between.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BothEnds {
    /// The calls of the client whose packets were all seen twice, up to a bound.
    pub rpcs: Vec<EndLatencies>,
    /// True if each end has a file of its own; false if one file holds the packets of both.
    pub has_two_files: bool,
}

impl BothEnds {
    /// The end at which the packets of these RPCs were captured first; `None` if the calls came first at one end, and the replies at the
    /// other.
    #[must_use]
    pub fn first_at(&self) -> Option<CapturePoint> {
        let is_all = |of: fn(&EndLatencies) -> u64| self.rpcs.iter().all(|rpc| of(rpc) == rpc.first);
        if is_all(|rpc| rpc.requester) {
            Some(CapturePoint::Client)
        } else {
            is_all(|rpc| rpc.responder).then_some(CapturePoint::Server)
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

/// An RPC in two captures, each made at one end of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WitnessedRpc {
    /// Frame of the second capture that completed the call.
    pub call_frame: Option<u64>,
    /// Frame of the second capture that completed the reply.
    pub reply_frame: Option<u64>,
    /// Nanoseconds from the first packet of the call to the last packet of the reply, where the requester is.
    pub at_requester: u64,
    /// The same, where the responder is.
    pub at_responder: u64,
    /// Division of the time at the requester; `None` if the phases are unknown at an end, or if lost packets may have taken more
    /// time than is known.
    pub parts: Option<RpcParts>,
    /// Nanoseconds of the call's first packet from one capture to the other; `None` if the clocks are not known to agree.
    pub way_there: Option<WayBounds>,
    /// The same of the reply's last packet.
    pub way_back: Option<WayBounds>,
}

impl WitnessedRpc {
    /// Returns the nanoseconds between the two captures: the RPC took longer at the requester by that.
    #[must_use]
    pub const fn between(&self) -> u64 {
        self.at_requester.saturating_sub(self.at_responder)
    }
}

/// Division of the latency of an RPC among requester, responder and network. The sum is the latency at the requester.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RpcParts {
    /// Nanoseconds of the requester: data or requests were due from the requester, by the capture at the requester.
    pub requester: u64,
    /// Nanoseconds of the responder: a packet was due from the responder, by the capture at the responder.
    pub responder: u64,
    /// All else: packets were on their way, being sent, or lost.
    pub network: u64,
}

/// Least and most nanoseconds of a way: the clocks of two captures are known only so well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WayBounds {
    /// At least this.
    pub least: u64,
    /// At most this.
    pub most: u64,
}

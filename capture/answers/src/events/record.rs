//! A retransmitted packet, or another indication of loss.

use rpcrdma_dissector::{Files, Recovered, RecoveryKind};
use serde::Serialize;

use crate::record::place::{EndsObject, PlaceObject};
use crate::record::values::Hex32;

/// A retransmitted packet, or another indication of loss.
#[derive(Serialize, schemars::JsonSchema)]
pub struct RecoveredObject<'a> {
    #[serde(flatten)]
    place: PlaceObject<'a>,
    #[serde(flatten)]
    ends: EndsObject,
    /// `rdma_xid` of the RPC (RFC 8166 section 4.2.1), if known.
    rdma_xid: Option<Hex32>,
    /// Indication in the frame: `retransmitted`, `retransmitted, first not captured`, `time-out`, `implied NAK`, `cause
    /// not seen`, `NAK`, `RNR NAK` or `refused`.
    event: &'static str,
    /// Of a `time-out`: for how many nanoseconds the sender of the packet had sent nothing, or had got no acknowledgement.
    silence_ns: Option<u64>,
    /// Of an `RNR NAK`: for how many nanoseconds the sender has to wait.
    wait_ns: Option<u64>,
}

impl<'a> RecoveredObject<'a> {
    /// Returns the record of a sign of loss.
    #[must_use]
    pub fn new(recovered: &Recovered, files: &'a Files) -> Self {
        let Recovered { stamp, connection, from, to, kind, xid, requester, .. } = *recovered;
        let (silence_ns, wait_ns) = match kind {
            RecoveryKind::TimedOut { silence } => (Some(silence), None),
            RecoveryKind::NotReady { wait } => (None, Some(wait)),
            _ => (None, None),
        };
        Self {
            place: PlaceObject::new(stamp, connection, files),
            ends: EndsObject::new(from, to, requester),
            rdma_xid: xid.map(Hex32),
            event: kind.name(),
            silence_ns,
            wait_ns,
        }
    }
}

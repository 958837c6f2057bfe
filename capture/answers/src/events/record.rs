//! A retransmitted packet, or another indication of loss.

use rpcrdma_dissector::{Files, LostBetween, Recovered, RecoveryKind, WitnessedCopies};
use serde::Serialize;

use crate::record::frame::{EndsObject, FrameObject};
use crate::record::values::{EndObject, Hex32};

/// A retransmitted packet, or another indication of loss.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecoveredObject<'a> {
    #[serde(flatten)]
    place: FrameObject<'a>,
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
            place: FrameObject::new(stamp, connection, files),
            ends: EndsObject::new(from, to, requester),
            rdma_xid: xid.map(Hex32),
            event: kind.name(),
            silence_ns,
            wait_ns,
        }
    }
}

/// Copies of a packet that were lost between the places of two files, at the client and at the server.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LostBetweenObject {
    /// The address of the sender.
    from: EndObject,
    /// The address of the receiver.
    to: EndObject,
    /// Number of lost copies.
    lost: u32,
    /// Copies in the file at the client.
    at_client: CopiesObject,
    /// Copies in the file at the server.
    at_server: CopiesObject,
}

/// Copies of a packet in one of two files.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct CopiesObject {
    /// Number of copies.
    count: u32,
    /// Number of the frame of the first copy in that file, from 1.
    first_frame: u64,
    /// Time of that frame by the clock of the file, in nanoseconds since 1970-01-01 00:00 UTC.
    first_ns: u64,
    /// Number of the frame of the last copy.
    last_frame: u64,
    /// Time of that frame.
    last_ns: u64,
}

impl CopiesObject {
    const fn new(copies: WitnessedCopies) -> Self {
        let WitnessedCopies { count, earliest, latest, .. } = copies;
        Self {
            count,
            first_frame: earliest.frame,
            first_ns: earliest.time.0,
            last_frame: latest.frame,
            last_ns: latest.time.0,
        }
    }
}

impl LostBetweenObject {
    /// Returns the record of lost copies.
    #[must_use]
    pub const fn new(lost: &LostBetween) -> Self {
        let LostBetween { from, to, count, first, second, .. } = *lost;
        Self {
            from: EndObject(from),
            to: EndObject(to),
            lost: count,
            at_client: CopiesObject::new(first),
            at_server: CopiesObject::new(second),
        }
    }
}

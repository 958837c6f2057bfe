//! Promises that an RPC kept, as records.

use rpcrdma_dissector::{Promise, PromiseEnd};
use serde::Serialize;

use super::values::EndObject;
use crate::promises::status_name;

/// A promise of an earlier RPC that an RPC kept.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct KeptObject {
    /// Kind: `retry` (the server refused the operation for now), `lock`, `copy` (COPY whose results come later), `delegation` or
    /// `layout` (recalls), `state` (the server no longer knew the client).
    kind: &'static str,
    /// End: `kept`, `cancelled` (OFFLOAD_CANCEL) or `revoked` (the server no longer knows the state).
    end: &'static str,
    /// The number of the frame that completed the call of the first RPC.
    call_frame: u64,
    /// Time at which that call was complete, in nanoseconds since 1970-01-01 00:00 UTC.
    time_ns: u64,
    /// Nanoseconds from the first frame of that call to the end of the promise; null if the clock was set back meanwhile.
    waited_ns: Option<u64>,
    /// Number of replies that refused the operation for now.
    refusals: u64,
    /// Last status that refused the operation, or with which a COPY failed.
    status: Option<String>,
    /// The client whose delegation the operation waited for.
    holder: Option<EndObject>,
    /// The number of the frame of CB_RECALL.
    recall_frame: Option<u64>,
    /// Octets that a COPY copied.
    copied_octets: Option<u64>,
}

impl KeptObject {
    /// The promises that an RPC kept; `None` without any.
    pub(crate) fn list_kept(promises: &[Promise]) -> Option<Vec<Self>> {
        (!promises.is_empty()).then(|| promises.iter().map(Self::new).collect())
    }

    fn new(promise: &Promise) -> Self {
        Self {
            kind: promise.kind.name(),
            end: match promise.end {
                PromiseEnd::Cancelled(_) => "cancelled",
                PromiseEnd::Revoked(_) => "revoked",
                _ => "kept",
            },
            call_frame: promise.call.frame,
            time_ns: promise.call.time.0,
            waited_ns: promise.waited(),
            refusals: promise.refusals,
            status: status_name(promise),
            holder: promise.holder.map(|holder| EndObject(holder.client)),
            recall_frame: promise.holder.map(|holder| holder.recalled.frame),
            copied_octets: promise.copied,
        }
    }
}

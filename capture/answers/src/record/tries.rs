//! Tries of an RPC as records.

use rpcrdma_dissector::{Tries, Try};
use serde::Serialize;

use super::values::EndObject;

/// A try of an RPC on one connection.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct TryObject {
    /// The number of the connection, from 1.
    connection: u32,
    /// The number of the frame that completed the call.
    call_frame: u64,
    /// Time at which the call was complete, in nanoseconds since 1970-01-01 00:00 UTC.
    time_ns: u64,
    /// The number of the frame that completed the reply, if the responder sent one.
    reply_frame: Option<u64>,
    /// End of the try: `answered`, `responder ended the connection`, `requester ended the connection`, `call refused`, `call lost`,
    /// `reply lost`, `waits` (to the end of the capture) or `unknown`.
    ended: &'static str,
    /// The address of the end that ended the connection first.
    disconnected_by: Option<EndObject>,
    /// The number of the frame that ended the connection.
    disconnect_frame: Option<u64>,
    /// Execution by the responder: `executed` (the responder sent the reply, or data of it), `possible`, or `no` (the call did not
    /// arrive).
    execution: &'static str,
}

impl TryObject {
    /// The tries of an RPC, if there are several.
    pub(crate) fn list_tries(tries: Option<&Tries>) -> Option<Vec<Self>> {
        tries.map(|tries| tries.all.iter().map(Self::new).collect())
    }

    fn new(one: &Try) -> Self {
        let Try { connection, call, reply, end, disconnection, execution, .. } = *one;
        Self {
            connection,
            call_frame: call.frame,
            time_ns: call.time.0,
            reply_frame: reply.map(|reply| reply.frame),
            ended: end.name(),
            disconnected_by: disconnection.map(|disconnection| EndObject(disconnection.by)),
            disconnect_frame: disconnection.map(|disconnection| disconnection.stamp.frame),
            execution: execution.name(),
        }
    }
}

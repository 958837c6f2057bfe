//! A call without a reply.

use rpcrdma_dissector::{CaptureEnd, Delivery, Files, LastStep, Owed, WaitEnd};
use serde::Serialize;

use super::{PendingCall, sent};
use crate::record::called::CalledObject;
use crate::record::tries::TryObject;
use crate::record::values::{EndObject, Hex32};
use crate::user::RpcUser;

/// A call without a reply.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PendingObject<'a> {
    /// The number of the connection, from 1.
    connection: u32,
    /// `rdma_xid` (RFC 8166 section 4.2.1).
    rdma_xid: Hex32,
    /// The address of the end that sent the call.
    requester: EndObject,
    /// The address of the end that the call was sent to.
    responder: EndObject,
    /// The number of the frame that completed the call, from 1.
    call_frame: u64,
    /// The file that holds that frame.
    call_file: Option<&'a str>,
    /// The number of the frame in that file.
    call_file_frame: Option<u64>,
    /// Time at which the call was complete, in nanoseconds since 1970-01-01 00:00 UTC.
    time_ns: u64,
    /// Nanoseconds from the first frame of the call to the end of its connection, or to the last frame of the capture if the connection did
    /// not end. Null if the clock was set back meanwhile.
    age_ns: Option<u64>,
    /// Minimum wait in nanoseconds: `age_ns`, or the time since the clock was last set back.
    age_at_least_ns: u64,
    #[serde(flatten)]
    called: CalledObject,
    /// The user of the call; null if the capture does not show the credential.
    user: Option<&'a RpcUser>,
    /// Arrival of the call at the responder: `accepted`, `refused` (and not retransmitted), `unacknowledged` (sent more than once)
    /// or `unknown`.
    delivery: &'static str,
    /// Arrival of a sent reply: `refused` (and not retransmitted), `unacknowledged` (sent more than once) or `unknown`.
    reply_delivery: Option<&'static str>,
    /// Step that is owed: `reply`, `reply again` (the first was refused), `call` (the first was refused),
    /// `acknowledgement` (of a call that was sent more than once), `RDMA Read response`, `RDMA Read of the reply`,
    /// `nothing` or `unknown`.
    owed: &'static str,
    /// The address of the end that owes the step.
    owed_by: Option<EndObject>,
    /// The number of the frame in which the message that has to be retransmitted was refused.
    refused_frame: Option<u64>,
    /// Octets of RDMA Read responses that are owed.
    owed_octets: Option<u64>,
    /// Reason why the owed step is unknown.
    owed_unknown: Option<String>,
    /// True if a credit is owed too: waiting calls of the requester use all credits. Null if that is not known.
    owes_credit: Option<bool>,
    /// The number of the frame that ended the connection, if one did.
    disconnect_frame: Option<u64>,
    /// Last step of the requester for the RPC.
    requester_last: StepObject,
    /// Last step of the responder for the RPC; null without one.
    responder_last: Option<StepObject>,
    /// Number of tries: the client made the call again on another connection after the one before had
    /// ended.
    tries: u64,
    /// The tries, the first first; of more than 64, the ones before the last are left out. Null if there was one.
    each_try: Option<Vec<TryObject>>,
}

impl<'a> PendingObject<'a> {
    /// Returns the record of a call; `end` is that of the capture.
    #[must_use]
    pub fn new(pending: &'a PendingCall, end: CaptureEnd, files: &'a Files) -> Self {
        let (call_file, call_file_frame) = files.locate(pending.call.frame).unzip();
        let PendingCall { ref rpc, waiting, .. } = *pending;
        let octets = if let Owed::ReadResponse(octets) = waiting.owed { Some(octets) } else { None };
        let unknown = match waiting.owed {
            Owed::ReplyArrival(times) => Some(format!("the reply was sent {} and never acknowledged", sent(times))),
            Owed::Unknown(reason) => Some(reason.to_string()),
            _ => None,
        };
        let refused = match (waiting.reply_delivery, waiting.delivery) {
            (Some(Delivery::Refused(refusal)), _) | (_, Delivery::Refused(refusal)) => Some(refusal.stamp.frame),
            _ => None,
        };
        let disconnected = match waiting.end {
            WaitEnd::Disconnected { stamp, .. } => Some(stamp.frame),
            _ => None,
        };
        Self {
            connection: pending.connection,
            rdma_xid: Hex32(pending.xid),
            requester: EndObject(pending.from),
            responder: EndObject(pending.to),
            call_frame: pending.call.frame,
            call_file,
            call_file_frame,
            time_ns: pending.call.time.0,
            age_ns: pending.age(end),
            age_at_least_ns: pending.least_age(end),
            called: CalledObject::of_rpc(rpc),
            user: pending.user.as_ref(),
            delivery: waiting.delivery.name(),
            reply_delivery: waiting.reply_delivery.map(Delivery::name),
            owed: waiting.owed.name(),
            refused_frame: refused,
            owed_by: pending.debtor().map(EndObject),
            owed_octets: octets,
            owed_unknown: unknown,
            owes_credit: pending.owes_credit(),
            disconnect_frame: disconnected,
            requester_last: StepObject::new(waiting.requester),
            responder_last: waiting.responder.map(StepObject::new),
            tries: pending.tries.as_ref().map_or(1, |tries| tries.count),
            each_try: TryObject::list_tries(pending.tries.as_deref()),
        }
    }
}

/// Last step of an end for the RPC.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct StepObject {
    /// `call`, `RDMA Read request`, `RDMA Read response`, `RDMA Write` or `reply`.
    step: &'static str,
    /// The number of the frame that shows the step.
    frame: u64,
    /// Time of that frame, in nanoseconds since 1970-01-01 00:00 UTC.
    time_ns: u64,
}

impl StepObject {
    fn new(LastStep { step, stamp }: LastStep) -> Self {
        Self { step: step.name(), frame: stamp.frame, time_ns: stamp.time.0 }
    }
}

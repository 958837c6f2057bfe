//! A call without a reply.

use serde::Serialize;

use super::values::{EndObject, Hex32, Seconds};
use crate::carrier::operation::Stamp;
use crate::file::{Files, Time};
use crate::output::pending::PendingCall;
use crate::rpc::waiting::{Owed, Step, WaitEnd};

#[derive(Serialize)]
pub(super) struct PendingObject<'a> {
    r#type: &'static str,
    connection: u32,
    rdma_xid: Hex32,
    from: EndObject,
    to: EndObject,
    call_frame: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    call_file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call_file_frame: Option<u64>,
    time: Seconds,
    age_ns: u64,
    name: Option<&'static str>,
    operations: &'a [&'static str],
    owed: &'static str,
    owed_by: Option<EndObject>,
    owed_octets: Option<u64>,
    owed_unknown: Option<String>,
    disconnect_frame: Option<u64>,
    requester_last: StepObject,
    responder_last: Option<StepObject>,
}

impl<'a> PendingObject<'a> {
    pub(super) fn new(pending: &'a PendingCall, last: Time, files: &'a Files) -> Self {
        let located = files.locate(pending.call.frame);
        let waiting = pending.waiting;
        let (owed, octets, unknown) = match waiting.owed {
            Owed::Reply => ("reply", None, None),
            Owed::ReadResponse(octets) => ("RDMA Read response", Some(octets), None),
            Owed::Nothing => ("nothing", None, None),
            Owed::Unknown(reason) => ("unknown", None, Some(reason.to_string())),
        };
        let disconnected = match waiting.end {
            WaitEnd::Disconnected { stamp, .. } => Some(stamp.frame),
            _ => None,
        };
        Self {
            r#type: "pending",
            connection: pending.connection,
            rdma_xid: Hex32(pending.xid),
            from: EndObject(pending.from),
            to: EndObject(pending.to),
            call_frame: pending.call.frame,
            call_file: located.map(|(file, _)| file),
            call_file_frame: located.map(|(_, frame)| frame),
            time: Seconds(pending.call.time),
            age_ns: pending.age(last),
            name: pending.name,
            operations: &pending.operations,
            owed,
            owed_by: pending.debtor().map(EndObject),
            owed_octets: octets,
            owed_unknown: unknown,
            disconnect_frame: disconnected,
            requester_last: StepObject::new(waiting.requester),
            responder_last: waiting.responder.map(StepObject::new),
        }
    }
}

/// What an end did last for the RPC.
#[derive(Serialize)]
struct StepObject {
    step: &'static str,
    frame: u64,
    time: Seconds,
}

impl StepObject {
    fn new((step, stamp): (Step, Stamp)) -> Self {
        Self { step: step.name(), frame: stamp.frame, time: Seconds(stamp.time) }
    }
}

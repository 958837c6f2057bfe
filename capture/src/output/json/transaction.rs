//! An RPC with both its messages.

use serde::{Serialize, Serializer};

use super::arguments::ArgumentsObject;
use super::rpc::{is_compound, nfs_status};
use super::values::{EndObject, Hex32, Seconds, ShownObject, is_false};
use crate::file::Files;
use crate::nfs::{Callback, CompoundOperation};
use crate::rpc::known::{Security, Status};
use crate::rpc::not_rebuilt::NotRebuilt;
use crate::rpc::phases::{NotTimed, Phases};
use crate::rpc::recovery::{Recovery, RecoveryUnknown};
use crate::rpc::transaction::{Form, Half, Transaction};

#[derive(Serialize)]
pub(super) struct TransactionObject<'a> {
    r#type: &'static str,
    connection: u32,
    rdma_xid: Hex32,
    from: EndObject,
    to: EndObject,
    call_frame: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call_file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call_file_frame: Option<u64>,
    reply_frame: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_file_frame: Option<u64>,
    time: Option<Seconds>,
    latency: Option<f64>,
    latency_ns: Option<u64>,
    phases: Option<PhasesObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    phases_missing: Option<ShownObject<NotTimed>>,
    recovery: Option<RecoveryObject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recovery_missing: Option<ShownObject<RecoveryUnknown>>,
    #[serde(skip_serializing_if = "is_false")]
    reverse: bool,
    #[serde(skip_serializing_if = "is_false")]
    program_guessed: bool,
    program: Option<u32>,
    version: Option<u32>,
    procedure: Option<u32>,
    name: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operations: Option<Operations<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Vec<ArgumentsObject<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    security: Option<&'static str>,
    call: Option<HalfObject>,
    reply: Option<HalfObject>,
    read_octets: u64,
    write_octets: u64,
    status: Option<&'static str>,
    nfs_status: Option<u32>,
}

impl<'a> TransactionObject<'a> {
    pub(super) fn new(
        transaction: &'a Transaction,
        arguments: Option<Vec<ArgumentsObject<'a>>>,
        files: &'a Files,
    ) -> Self {
        let Transaction { call, reply, procedure, .. } = transaction;
        let locate = |half: &Option<Half>| half.as_ref().and_then(|half| files.locate(half.stamp.frame));
        let (call_file, reply_file) = (locate(call), locate(reply));
        Self {
            r#type: "transaction",
            connection: transaction.connection,
            rdma_xid: Hex32(transaction.xid),
            from: EndObject(transaction.from),
            to: EndObject(transaction.to),
            call_frame: call.as_ref().map(|half| half.stamp.frame),
            call_file: call_file.map(|(file, _)| file),
            call_file_frame: call_file.map(|(_, frame)| frame),
            reply_frame: reply.as_ref().map(|half| half.stamp.frame),
            reply_file: reply_file.map(|(file, _)| file),
            reply_file_frame: reply_file.map(|(_, frame)| frame),
            time: call.as_ref().or(reply.as_ref()).map(|half| Seconds(half.stamp.time)),
            latency: transaction.latency().map(|latency| latency as f64 / 1e9),
            latency_ns: transaction.latency(),
            phases: transaction.phases.ok().map(PhasesObject::new),
            phases_missing: transaction.phases.err().map(ShownObject),
            recovery: transaction.recovery.as_ref().ok().map(RecoveryObject::new),
            recovery_missing: transaction.recovery.as_ref().err().copied().map(ShownObject),
            reverse: transaction.reverse,
            program_guessed: transaction.callback == Callback::Guessed,
            program: procedure.map(|procedure| procedure.program),
            version: procedure.map(|procedure| procedure.version),
            procedure: procedure.map(|procedure| procedure.procedure),
            name: transaction.name,
            operations: is_compound(transaction.name).then_some(Operations(&transaction.operations)),
            arguments,
            security: transaction.security.map(Security::name),
            call: call.as_ref().map(HalfObject::new),
            reply: reply.as_ref().map(HalfObject::new),
            read_octets: transaction.read_octets,
            write_octets: transaction.write_octets,
            status: transaction.status.map(Status::name),
            nfs_status: nfs_status(transaction.status),
        }
    }
}

/// Where the time of an RPC went, in nanoseconds.
#[derive(Serialize)]
struct PhasesObject {
    call_ns: u64,
    responder_ns: u64,
    pull_ns: u64,
    push_ns: u64,
    reply_ns: u64,
    requester_ns: u64,
}

impl PhasesObject {
    const fn new(phases: Phases) -> Self {
        let Phases { call, responder, pull, push, reply, requester } = phases;
        Self {
            call_ns: call,
            responder_ns: responder,
            pull_ns: pull,
            push_ns: push,
            reply_ns: reply,
            requester_ns: requester,
        }
    }
}

/// How much of the latency was spent because packets were lost.
#[derive(Serialize)]
struct RecoveryObject<'a> {
    ns: u64,
    timeouts: u64,
    resent_packets: u64,
    duplicates: u64,
    naks: u64,
    rnr_naks: u64,
    rnr_wait_ns: u64,
    frames: &'a [u64],
    frames_left_out: u64,
}

impl<'a> RecoveryObject<'a> {
    fn new(recovery: &'a Recovery) -> Self {
        let Recovery { timeouts, resent_packets, duplicates, naks, rnr_naks, frames_left_out, .. } = *recovery;
        Self {
            ns: recovery.phases.total(),
            timeouts,
            resent_packets,
            duplicates,
            naks,
            rnr_naks,
            rnr_wait_ns: recovery.rnr_wait,
            frames: recovery.frames.as_slice(),
            frames_left_out,
        }
    }
}

struct Operations<'a>(&'a [CompoundOperation]);

impl Serialize for Operations<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(
            self.0.iter().map(|operation| OperationObject { name: operation.name, status: operation.status }),
        )
    }
}

#[derive(Serialize)]
struct OperationObject {
    name: &'static str,
    status: Option<u32>,
}

/// A call or a reply within a transaction.
#[derive(Serialize)]
struct HalfObject {
    form: &'static str,
    inline: usize,
    rebuilt: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    length: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<ShownObject<NotRebuilt>>,
}

impl HalfObject {
    fn new(half: &Half) -> Self {
        let (length, reason) = match &half.message {
            Ok(rebuilt) => (Some(rebuilt.len()), None),
            Err(reason) => (None, Some(ShownObject(*reason))),
        };
        Self { form: form(half.form), inline: half.inline, rebuilt: length.is_some(), length, reason }
    }
}

/// How an RPC message was sent, as RFC 8166 section 3.5 names it.
const fn form(form: Form) -> &'static str {
    match form {
        Form::Short => "short",
        Form::Chunked => "chunked",
        Form::Long => "long",
        Form::Continued => "continued",
    }
}

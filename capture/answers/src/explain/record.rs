//! An RPC with everything known about the RPC.

use rpcrdma_dissector::{Files, PacketRun, PhaseStretch, RecoveryKind, Stamp, Step, Steps, Time, Transaction};
use serde::Serialize;

use super::ExplainedRpc;
use crate::events::RecoveredObject;
use crate::file_names::FileNames;
use crate::findings::FindingObject;
use crate::messages::MessageObject;
use crate::record::RecordObject;
use crate::record::values::{EndObject, Hex32};
use crate::transactions::TransactionObject;
use crate::tries::try_end;

/// An RPC with everything known about the RPC.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExplainedObject<'a> {
    /// The number of the connection, from 1.
    connection: u32,
    /// `rdma_xid` (RFC 8166 section 4.2.1).
    rdma_xid: Hex32,
    /// The address of the end that sent the call.
    requester: EndObject,
    /// The address of the end that the call was sent to.
    responder: EndObject,
    /// Number of the try, from 1; null if the RPC has one try. Each try is a record of its own.
    try_number: Option<usize>,
    /// Number of tries of the RPC.
    tries: usize,
    /// End of the try, in words; null if the RPC has one try.
    try_ended: Option<String>,
    /// In the order of the capture; consecutive packets that did the same are one step.
    steps: Vec<PacketRunObject>,
    /// Packets that are in no step, because there were too many.
    packets_left_out: u64,
    /// Periods of the phases; null if unknown, or if the phases alternated too often.
    stretches: Option<Vec<StretchObject>>,
    /// The RPC.
    transaction: RecordObject<TransactionObject<'a>>,
    /// Messages of the RPC.
    messages: Vec<RecordObject<MessageObject<'a>>>,
    /// Rules that the RPC breaks.
    findings: Vec<RecordObject<FindingObject<'a>>>,
    /// Retransmissions after the end of the RPC.
    events_after: Vec<RecordObject<RecoveredObject<'a>>>,
}

impl<'a> ExplainedObject<'a> {
    /// Returns the record of an RPC, made of the objects that other commands print. `names` are the names of files.
    #[must_use]
    pub fn new(rpc: &'a ExplainedRpc, files: &'a Files, names: &'a mut FileNames) -> Self {
        let transaction = &rpc.transaction;
        let steps = transaction.steps.as_deref();
        let stretches = steps.filter(|_| transaction.phases.is_ok()).and_then(|steps| steps.stretches.as_ref());
        let messages = rpc.messages.iter().map(|one| RecordObject::new(MessageObject::new(one, files)));
        let findings = rpc.findings.iter().map(|found| RecordObject::new(FindingObject::new(found, files, false)));
        let after = rpc.after.iter().map(|one| RecordObject::new(RecoveredObject::new(one, files)));
        Self {
            connection: transaction.connection,
            rdma_xid: Hex32(transaction.xid),
            requester: EndObject(transaction.from),
            responder: EndObject(transaction.to),
            try_number: rpc.try_of.map(|place| place.number),
            tries: rpc.try_of.map_or(1, |place| place.count),
            try_ended: rpc.try_of.map(|_| try_end(transaction)),
            steps: steps.map(|steps| PacketRunObject::list_runs(steps, transaction)).unwrap_or_default(),
            packets_left_out: steps.and_then(|steps| steps.left_out).map_or(0, |left_out| left_out.packets),
            stretches: stretches.map(|stretches| stretches.iter().map(StretchObject::new).collect()),
            transaction: RecordObject::new(TransactionObject::new(transaction, files, names)),
            messages: messages.collect(),
            findings: findings.collect(),
            events_after: after.collect(),
        }
    }
}

/// A packet, or several in a row that did the same.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct PacketRunObject {
    /// The number of the first frame, from 1.
    first_frame: u64,
    /// The number of the last frame.
    last_frame: u64,
    /// Time of the first frame, in nanoseconds since 1970-01-01 00:00 UTC.
    time_ns: u64,
    /// Time of the last packet.
    last_time_ns: u64,
    /// Nanoseconds since the first packet of the RPC.
    since_first_ns: u64,
    /// Nanoseconds since the last packet of the step before.
    since_before_ns: u64,
    /// The address of the sender.
    from: EndObject,
    /// The address of the receiver.
    to: EndObject,
    /// Step of the packets: `call`, `RDMA Read request` and so on. Null for a negative acknowledgement, for a time-out,
    /// and for a TCP segment that was retransmitted and brought nothing new.
    step: Option<&'static str>,
    /// Sign of loss, as `events` names the sign.
    recovery: Option<&'static str>,
    /// Of a `time-out`: for how many nanoseconds the sender had sent nothing, or had got no acknowledgement.
    silence_ns: Option<u64>,
    /// Of an `RNR NAK`: for how many nanoseconds the sender has to wait.
    wait_ns: Option<u64>,
    /// The receiver discarded the packets, because an earlier packet was lost.
    discarded: bool,
    /// Number of packets.
    packets: u64,
    /// Octets of data in the packets.
    octets: u64,
}

impl PacketRunObject {
    fn list_runs(steps: &Steps, transaction: &Transaction) -> Vec<Self> {
        let runs = steps.runs();
        let began = transaction.began.unwrap_or_default();
        let before = [began].into_iter().chain(runs.iter().map(|run| run.last));
        runs.iter().zip(before).map(|(run, before)| Self::new(run, transaction, began, before)).collect()
    }

    fn new(run: &PacketRun, transaction: &Transaction, began: Stamp, before: Stamp) -> Self {
        let PacketRun { from, step, recovery, is_discarded, first, last, packets, octets, .. } = *run;
        let Transaction { from: requester, to: responder, .. } = *transaction;
        let (from, to) = if from == transaction.requester { (requester, responder) } else { (responder, requester) };
        let (silence_ns, wait_ns) = match recovery {
            Some(RecoveryKind::TimedOut { silence }) => (Some(silence), None),
            Some(RecoveryKind::NotReady { wait }) => (None, Some(wait)),
            _ => (None, None),
        };
        let since = |before: Stamp| first.time.0.saturating_sub(before.time.0);
        Self {
            first_frame: first.frame,
            last_frame: last.frame,
            time_ns: first.time.0,
            last_time_ns: last.time.0,
            since_first_ns: since(began),
            since_before_ns: since(before),
            from: EndObject(from),
            to: EndObject(to),
            step: step.map(Step::name),
            recovery: recovery.map(RecoveryKind::name),
            silence_ns,
            wait_ns,
            discarded: is_discarded,
            packets,
            octets,
        }
    }
}

/// A stretch of time that belongs to one phase.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct StretchObject {
    /// `call`, `responder`, `RDMA Read`, `RDMA Write`, `reply` or `requester`.
    phase: &'static str,
    /// Beginning, in nanoseconds since 1970-01-01 00:00 UTC.
    time_ns: u64,
    /// Length of the stretch in nanoseconds.
    duration_ns: u64,
}

impl StretchObject {
    fn new(stretch: &PhaseStretch) -> Self {
        let PhaseStretch { phase, from: Time(from), until: Time(until), .. } = *stretch;
        Self { phase: phase.name(), time_ns: from, duration_ns: until.saturating_sub(from) }
    }
}

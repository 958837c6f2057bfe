//! An RPC with all that is known of it.

use serde::Serialize;
use serde_json::value::RawValue;

use super::record::Record;
use super::values::{EndObject, Hex32};
use crate::carrier::operation::Stamp;
use crate::carrier::recovery::RecoveryKind;
use crate::file::Time;
use crate::output::explain::ExplainedRpc;
use crate::rpc::steps::{PacketRun, PhaseStretch, Steps};
use crate::rpc::transaction::Transaction;
use crate::rpc::waiting::Step;

#[derive(Serialize)]
pub(super) struct ExplainedObject {
    connection: u32,
    rdma_xid: Hex32,
    requester: EndObject,
    responder: EndObject,
    /// In the order of the capture; those in a row that did the same are one.
    steps: Vec<PacketRunObject>,
    /// Packets that are in no step, because there were too many.
    packets_left_out: u64,
    /// Where the phases were; null if they are not known, or alternated too often.
    stretches: Option<Vec<StretchObject>>,
    transaction: Box<RawValue>,
    messages: Vec<Box<RawValue>>,
    findings: Vec<Box<RawValue>>,
    /// What was sent again when the RPC was over.
    events_after: Vec<Box<RawValue>>,
}

impl Record for ExplainedObject {
    const TYPE: &'static str = "explain";
}

/// What belongs to an RPC, as the objects that other commands print.
pub(super) struct ExplainedParts {
    pub(super) transaction: Box<RawValue>,
    pub(super) messages: Vec<Box<RawValue>>,
    pub(super) findings: Vec<Box<RawValue>>,
    pub(super) events_after: Vec<Box<RawValue>>,
}

impl ExplainedObject {
    pub(super) fn new(rpc: &ExplainedRpc, parts: ExplainedParts) -> Self {
        let transaction = &rpc.transaction;
        let ExplainedParts { transaction: whole, messages, findings, events_after } = parts;
        let steps = transaction.steps.as_deref();
        let stretches = steps.filter(|_| transaction.phases.is_ok()).and_then(|steps| steps.stretches.as_ref());
        Self {
            connection: transaction.connection,
            rdma_xid: Hex32(transaction.xid),
            requester: EndObject(transaction.from),
            responder: EndObject(transaction.to),
            steps: steps.map(|steps| PacketRunObject::all(steps, transaction)).unwrap_or_default(),
            packets_left_out: steps.and_then(|steps| steps.left_out).map_or(0, |left_out| left_out.packets),
            stretches: stretches.map(|stretches| stretches.iter().map(StretchObject::new).collect()),
            transaction: whole,
            messages,
            findings,
            events_after,
        }
    }
}

/// A packet, or several in a row that did the same.
#[derive(Serialize)]
struct PacketRunObject {
    first_frame: u64,
    last_frame: u64,
    time_ns: u64,
    last_time_ns: u64,
    /// Since the first packet of the RPC.
    since_first_ns: u64,
    /// Since the last packet of the step before.
    since_before_ns: u64,
    from: EndObject,
    to: EndObject,
    /// Null of a negative acknowledgement, of a time-out, and of a TCP segment that was sent again and brought nothing new.
    step: Option<&'static str>,
    /// As `events` names it.
    recovery: Option<&'static str>,
    silence_ns: Option<u64>,
    wait_ns: Option<u64>,
    /// The receiver threw them away, because it had missed a packet before them.
    discarded: bool,
    packets: u64,
    octets: u64,
}

impl PacketRunObject {
    fn all(steps: &Steps, transaction: &Transaction) -> Vec<Self> {
        let runs = steps.runs();
        let began = transaction.began.unwrap_or_default();
        let before = [began].into_iter().chain(runs.iter().map(|run| run.last));
        runs.iter().zip(before).map(|(run, before)| Self::new(run, transaction, (began, before))).collect()
    }

    fn new(run: &PacketRun, transaction: &Transaction, (began, before): (Stamp, Stamp)) -> Self {
        let PacketRun { from, step, recovery, is_discarded, first, last, packets, octets } = *run;
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
struct StretchObject {
    phase: &'static str,
    time_ns: u64,
    duration_ns: u64,
}

impl StretchObject {
    fn new(stretch: &PhaseStretch) -> Self {
        let PhaseStretch { phase, from: Time(from), until: Time(until) } = *stretch;
        Self { phase: phase.name(), time_ns: from, duration_ns: until.saturating_sub(from) }
    }
}

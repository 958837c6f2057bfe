//! An RPC with both messages.

use rpcrdma_dissector::{
    CreditWaitUnknown, Files, Half, KernelTimes, MessageForm, NotRebuilt, NotTimed, Phases, PromiseKind, Recovery,
    RetryFailure, SlotWaitUnknown, Transaction, WitnessedRpc,
};
use serde::Serialize;

use super::arguments::ArgumentsObject;
use crate::file_names::{FileNames, main_arguments, readable, server};
use crate::record::called::{CalledObject, EndedObject};
use crate::record::kept::KeptObject;
use crate::record::sessions::SequenceObject;
use crate::record::tries::TryObject;
use crate::record::values::{EndObject, Hex32, ShownObject};
use crate::user::RpcUser;

/// An RPC: a call and its reply.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TransactionObject<'a> {
    /// The number of the connection, from 1.
    connection: u32,
    /// `rdma_xid` (RFC 8166 section 4.2.1).
    rdma_xid: Hex32,
    /// The address of the end that sent the call.
    requester: EndObject,
    /// The address of the end that the call was sent to.
    responder: EndObject,
    /// The number of the frame that completed the call, from 1; null if the capture does not hold the call.
    call_frame: Option<u64>,
    /// The file that holds the frame of the call.
    call_file: Option<&'a str>,
    /// The number of the frame of the call in the file.
    call_file_frame: Option<u64>,
    /// The number of the frame that completed the reply, in the copy that the requester accepted, if the capture shows
    /// which; null if the capture does not hold the reply, or the reply did not arrive.
    reply_frame: Option<u64>,
    /// The file that holds the frame of the reply.
    reply_file: Option<&'a str>,
    /// The number of the frame of the reply in the file.
    reply_file_frame: Option<u64>,
    /// Time at which the call was complete, in nanoseconds since 1970-01-01 00:00 UTC, or in a kernel
    /// trace since the kernel booted; without the call, that of the reply.
    time_ns: Option<u64>,
    /// Nanoseconds from the first packet of the call to the last packet of the reply, in the copy that the requester accepted;
    /// null if the capture does not show that (`phases_missing` says why), or without a reply.
    latency_ns: Option<u64>,
    /// Minimum latency in nanoseconds of an RPC whose call was sent before the capture began: from the first operation
    /// of the connection to the last packet of the reply. Null if the capture holds the call, or may have missed the
    /// call.
    latency_at_least_ns: Option<u64>,
    /// The phases of the latency, which add up to the whole.
    phases: Option<PhasesObject>,
    /// Times that only a kernel trace shows; null without one.
    kernel: Option<KernelObject>,
    /// Reason why the phases are not known.
    phases_missing: Option<ShownObject<NotTimed>>,
    /// The RPC at both ends of the network, if a second file holds the packets too; null otherwise.
    both_ends: Option<BothEndsObject>,
    /// Part of the latency that was spent on lost packets.
    recovery: Option<RecoveryObject<'a>>,
    /// Reason why the recovery is not known.
    recovery_missing: Option<ShownObject<NotTimed>>,
    /// Nanoseconds without a free credit before the call, up to the reply that returned a credit: as many calls of the
    /// requester waited as credits had been granted.
    credit_wait_ns: Option<u64>,
    /// Reason why the wait for a credit is not known.
    credit_wait_missing: Option<ShownObject<CreditWaitUnknown>>,
    /// For how many nanoseconds before the call all slots of its session were in use, up to the reply that freed one; null for an RPC in
    /// no session.
    slot_wait_ns: Option<u64>,
    /// Reason why the wait for a slot is not known.
    slot_wait_missing: Option<ShownObject<SlotWaitUnknown>>,
    #[serde(flatten)]
    called: CalledObject,
    /// The user of the call; null if the capture does not show the credential.
    user: Option<RpcUser>,
    /// The name of the file that the RPC is about, if the capture shows that: the file in the arguments of the main operation, or that of
    /// its handle. Octets that are no UTF-8 are written as `\xff`.
    file_name: Option<String>,
    /// The path of that file, from the root of the server, or behind `…` from the first folder that has a name; null if no folder is known.
    path: Option<String>,
    /// Offset in that file in octets.
    offset: Option<u64>,
    /// Octets of that file to be read, written or committed.
    count: Option<u32>,
    /// Fields of SEQUENCE or CB_SEQUENCE; null if the RPC begins with neither.
    sequence: Option<SequenceObject>,
    /// Arguments of the operations; null if unknown, or if none names anything.
    arguments: Option<Vec<ArgumentsObject<'a>>>,
    /// The call; null if the call was not captured.
    call: Option<HalfObject>,
    /// The reply; null if the reply was not captured, or did not arrive.
    reply: Option<HalfObject>,
    /// Octets of Read chunks that the responder read by RDMA Read.
    rdma_read_octets: u64,
    /// Octets that the responder wrote into Write chunks and the Reply chunk by RDMA Write.
    rdma_write_octets: u64,
    #[serde(flatten)]
    ended: EndedObject,
    /// Number of tries: the client made the call again on another connection after the one before had ended. With
    /// several tries, the call is from the first try; connection, reply and everything else are from the last.
    tries: u64,
    /// Failure that an earlier try explains: `of the retry` (that try was probably executed, so what was to be removed was gone, or
    /// what was to be made was there) or `in a session` (of NFSv4.1, whose reply cache gives a retry the reply to the first try). Null
    /// otherwise.
    retry_failure: Option<&'static str>,
    /// The tries, the first first; of more than 64, the ones before the last are left out. Null if there was one.
    each_try: Option<Vec<TryObject>>,
    /// Kind of the promise that the RPC opened, or left open: `retry` (the server refused the operation for now), `lock`, `copy` (COPY whose
    /// results come later), `delegation` or `layout` (recalls). Null otherwise.
    opens: Option<&'static str>,
    /// Promises of earlier RPCs that the RPC kept; null without any.
    keeps: Option<Vec<KeptObject>>,
}

impl<'a> TransactionObject<'a> {
    /// Returns the record of an RPC. `names` learns the names of files from the RPC, and knows the names in earlier
    /// RPCs.
    #[must_use]
    pub fn new(transaction: &'a Transaction, files: &'a Files, names: &'a mut FileNames) -> Self {
        let arguments = transaction.arguments();
        names.learn(transaction, &arguments);
        let about = main_arguments(transaction, &arguments);
        let file = names.file_of(transaction, &arguments);
        let Transaction { call, reply, .. } = transaction;
        let locate = |half: &Option<Half>| half.as_ref().and_then(|half| files.locate(half.stamp.frame)).unzip();
        let ((call_file, call_file_frame), (reply_file, reply_file_frame)) = (locate(call), locate(reply));
        Self {
            connection: transaction.connection,
            rdma_xid: Hex32(transaction.xid),
            requester: EndObject(transaction.from),
            responder: EndObject(transaction.to),
            call_frame: call.as_ref().map(|half| half.stamp.frame),
            call_file,
            call_file_frame,
            reply_frame: reply.as_ref().map(|half| half.stamp.frame),
            reply_file,
            reply_file_frame,
            time_ns: call.as_ref().or(reply.as_ref()).map(|half| half.stamp.time.0),
            latency_ns: transaction.latency(),
            latency_at_least_ns: transaction.joined.as_ref().map(|joined| joined.nanoseconds()),
            phases: transaction.phases.ok().map(PhasesObject::new),
            kernel: transaction.kernel.as_deref().map(KernelObject::new),
            phases_missing: transaction.phases.err().map(ShownObject),
            both_ends: transaction.witnessed.as_deref().map(BothEndsObject::new),
            recovery: transaction.recovery.as_ref().ok().map(RecoveryObject::new),
            recovery_missing: transaction.recovery.as_ref().err().copied().map(ShownObject),
            credit_wait_ns: transaction.credit_wait.ok(),
            credit_wait_missing: transaction.credit_wait.err().map(ShownObject),
            slot_wait_ns: transaction.slot_wait.and_then(Result::ok),
            slot_wait_missing: transaction.slot_wait.and_then(Result::err).map(ShownObject),
            called: CalledObject::of_transaction(transaction),
            user: RpcUser::from_transaction(transaction),
            file_name: file.as_ref().map(|file| readable(&file.name).into_owned()),
            path: file.and_then(|file| file.path),
            offset: about.and_then(|about| about.offset),
            count: about.and_then(|about| about.count),
            sequence: SequenceObject::new(arguments.first()),
            arguments: ArgumentsObject::list_arguments(&arguments, server(transaction), names),
            call: call.as_ref().map(HalfObject::new),
            reply: reply.as_ref().map(HalfObject::new),
            rdma_read_octets: transaction.read_octets,
            rdma_write_octets: transaction.write_octets,
            ended: EndedObject::new(transaction.status, transaction.procedure, transaction.callback),
            tries: transaction.tries.as_ref().map_or(1, |tries| tries.count),
            retry_failure: transaction.retry_failure().map(RetryFailure::name),
            each_try: TryObject::list_tries(transaction.tries.as_deref()),
            opens: transaction.opens.map(PromiseKind::name),
            keeps: KeptObject::list_kept(&transaction.keeps),
        }
    }
}

/// The parts of the time of an RPC, in nanoseconds.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhasesObject {
    /// The packets of the call.
    call_ns: u64,
    /// No packet; the next was due from the responder.
    responder_ns: u64,
    /// RDMA Reads: from the first request to the last response.
    rdma_read_ns: u64,
    /// RDMA Writes.
    rdma_write_ns: u64,
    /// The packets of the reply.
    reply_ns: u64,
    /// No packet; the next was due from the requester.
    requester_ns: u64,
}

impl PhasesObject {
    /// Returns the record of phases.
    #[must_use]
    pub const fn new(phases: Phases) -> Self {
        let Phases { call, responder, rdma_read, rdma_write, reply, requester } = phases;
        Self {
            call_ns: call,
            responder_ns: responder,
            rdma_read_ns: rdma_read,
            rdma_write_ns: rdma_write,
            reply_ns: reply,
            requester_ns: requester,
        }
    }
}

/// Times of an RPC from kernel traces. A time that no trace shows is null: a trace of the client has none of the server's times, and
/// an event that was not recorded leaves its time out.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct KernelObject {
    /// At the client: nanoseconds from the start of the task to the transmission of the call (`backlog` of `rpc_stats_latency`).
    queue_ns: Option<u64>,
    /// Part of `queue_ns` in which memory was registered for the call.
    registration_ns: Option<u64>,
    /// At the client: nanoseconds from the transmission of the call to the reply (`rtt` of `rpc_stats_latency`).
    round_trip_ns: Option<u64>,
    /// At the server: nanoseconds from the arrival of the call until a thread took the call.
    server_queue_ns: Option<u64>,
    /// At the server: nanoseconds of the RDMA Reads for the call (`svcrdma_wc_read`).
    rdma_read_ns: Option<u64>,
    /// At the server: nanoseconds from the arrival of the call to the post of the reply.
    served_ns: Option<u64>,
    /// At the server: nanoseconds of the execution (`svc_stats_latency`).
    execution_ns: Option<u64>,
    /// Part of `execution_ns` in which the file system read, wrote or committed.
    file_system_ns: Option<u64>,
    /// Transmissions of the call by the client; null if no trace of the client shows the call.
    transmissions: Option<u32>,
    /// True if the capture has no packets of the RPC: all of the record is from traces.
    without_packets: bool,
}

impl KernelObject {
    const fn new(times: &KernelTimes) -> Self {
        Self {
            queue_ns: times.queue,
            registration_ns: times.registration,
            round_trip_ns: times.round_trip,
            server_queue_ns: times.server_queue,
            rdma_read_ns: times.rdma_read,
            served_ns: times.served,
            execution_ns: times.execution,
            file_system_ns: times.file_system,
            transmissions: if times.transmissions > 0 { Some(times.transmissions) } else { None },
            without_packets: times.is_without_packets,
        }
    }
}

/// An RPC at both ends of the network: the time at the requester is divided among requester, network and responder.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct BothEndsObject {
    /// The number of the frame in the second file that completed the call, from 1.
    second_call_frame: Option<u64>,
    /// The number of the frame in the second file that completed the reply.
    second_reply_frame: Option<u64>,
    /// Nanoseconds from the first packet of the call to the last packet of the reply at the requester.
    requester_latency_ns: u64,
    /// The same at the responder.
    responder_latency_ns: u64,
    /// Nanoseconds of `requester_latency_ns` that the requester took: data or requests were due from the requester. With
    /// `network_ns` and `responder_ns`, the sum is `requester_latency_ns`. Null if the phases are not known at an end, or if lost packets
    /// may have taken more time than is known.
    requester_ns: Option<u64>,
    /// Nanoseconds in which packets were on their way, being sent, or lost.
    network_ns: Option<u64>,
    /// Nanoseconds in which a packet was due from the responder, by the file at the responder.
    responder_ns: Option<u64>,
    /// Least nanoseconds of the way of the call's first packet to the responder. Null if the clocks are not known to agree.
    way_there_least_ns: Option<u64>,
    /// Most nanoseconds of that way.
    way_there_most_ns: Option<u64>,
    /// Least nanoseconds of the way of the reply's last packet to the requester.
    way_back_least_ns: Option<u64>,
    /// Most nanoseconds of that way.
    way_back_most_ns: Option<u64>,
}

impl BothEndsObject {
    fn new(witnessed: &WitnessedRpc) -> Self {
        let WitnessedRpc { call_frame, reply_frame, at_requester, at_responder, parts, way_there, way_back, .. } =
            *witnessed;
        Self {
            second_call_frame: call_frame,
            second_reply_frame: reply_frame,
            requester_latency_ns: at_requester,
            responder_latency_ns: at_responder,
            requester_ns: parts.map(|parts| parts.requester),
            network_ns: parts.map(|parts| parts.network),
            responder_ns: parts.map(|parts| parts.responder),
            way_there_least_ns: way_there.map(|way| way.least),
            way_there_most_ns: way_there.map(|way| way.most),
            way_back_least_ns: way_back.map(|way| way.least),
            way_back_most_ns: way_back.map(|way| way.most),
        }
    }
}

/// Recovery work because packets were lost, or seemed to be.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct RecoveryObject<'a> {
    /// Nanoseconds of the latency that recovery took: the least, if there are `unassigned_indications`.
    ns: u64,
    /// Times that a sender got no acknowledgement.
    timeouts: u64,
    /// Number of times that an RDMA Read request was retransmitted because a response was missing.
    implied_naks: u64,
    /// Number of retransmissions whose cause the capture does not show.
    causes_not_seen: u64,
    /// Retransmitted packets.
    retransmitted_packets: u64,
    /// Negative acknowledgements; for TCP, gaps that duplicate acknowledgements reported.
    naks: u64,
    /// "Receiver not ready".
    rnr_naks: u64,
    /// Nanoseconds that these asked the sender to wait.
    rnr_wait_ns: u64,
    /// Indications of loss on the connection between call and reply that cannot be assigned to one RPC.
    unassigned_indications: u64,
    /// Numbers of the frames that show recovery, at most the first 64.
    frames: &'a [u64],
    /// Number of more frames there were.
    frames_left_out: u64,
}

impl<'a> RecoveryObject<'a> {
    fn new(recovery: &'a Recovery) -> Self {
        Self {
            ns: recovery.phases.total(),
            timeouts: recovery.timeouts,
            implied_naks: recovery.implied_naks,
            causes_not_seen: recovery.causes_not_seen,
            retransmitted_packets: recovery.retransmitted_packets,
            naks: recovery.naks,
            rnr_naks: recovery.rnr_naks,
            rnr_wait_ns: recovery.rnr_wait,
            unassigned_indications: recovery.unassigned,
            frames: recovery.frames.as_slice(),
            frames_left_out: recovery.frames_left_out,
        }
    }
}

/// A call or a reply within an RPC.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct HalfObject {
    /// Form of the message (RFC 8166 section 3.5): `short`, `chunked` or `long`, and in version 2 `continued`.
    form: &'static str,
    /// Octets of the Payload stream that were in the Send; null for an RPC that is known from a kernel trace.
    inline_octets: Option<usize>,
    /// True if the whole RPC message could be put together.
    rebuilt: bool,
    /// Octets of the whole RPC message; null if the message was not rebuilt.
    length_octets: Option<usize>,
    /// Reason why the message was not rebuilt.
    reason: Option<ShownObject<NotRebuilt>>,
}

impl HalfObject {
    fn new(half: &Half) -> Self {
        let (length_octets, reason) = match &half.message {
            Ok(rebuilt) => (Some(rebuilt.len()), None),
            Err(reason) => (None, Some(ShownObject(*reason))),
        };
        Self {
            form: match half.form {
                MessageForm::Short => "short",
                MessageForm::Chunked => "chunked",
                MessageForm::Long => "long",
                MessageForm::Continued => "continued",
            },
            inline_octets: (half.message != Err(NotRebuilt::KernelTrace)).then_some(half.inline),
            rebuilt: length_octets.is_some(),
            length_octets,
            reason,
        }
    }
}

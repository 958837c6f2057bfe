//! Waiting times by cause, added up while a capture is read.

use std::collections::BTreeSet;

use rpcrdma_dissector::{
    Address, CaptureEnd, DataTimes, Delivery, DisconnectionKind, JoinedWait, LastStep, NotTimed, OperationArguments,
    Owed, OwedUnknown, PacketRefusal, Phase, Phases, Recovery, RecoveryKind, RoundTrips, Stamp, Step, Transaction,
    WaitEnd, Waiting,
};

use super::cause::{Cause, CauseSet, DISTANT, PER_OCTET, RpcCauses, SLOW, UNANSWERED};
use super::facts::{Facts, WrongChecksums};
use super::kernel_waits::KernelWaits;
use super::promises::PromiseWaits;
use super::recalls::{ClientDelay, Conflict, RecallWaits, Recalls, ServerWait, is_recall};
use super::retries::Retries;
use super::tally::{RpcSubject, Tally};
use super::time_union::TimeUnion;
use super::transfer_waits::{DataWait, DataWaits, TransferWaits};
use crate::file_names::{FileNames, client, server};
use crate::format::number::duration;
use crate::operation_name::OperationName;
use crate::slow::done;
use crate::small_map::SmallMap;
use crate::stats::{Histogram, StatusName};
use crate::unanswered::{UNANSWERED_KEPT, UnansweredWait};

/// The most clients and servers that are counted.
const ENDS: usize = 10_000;

/// Maximum number of slow RPCs held until the recalls that these RPCs may have waited for are known.
const HELD: usize = 1000;

/// The last step of a responder that waits for the requester.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ResponderStep {
    /// The responder requested data by RDMA Read.
    Request,
    /// The responder refused the call.
    Refusal,
    /// The responder sent a reply in Read chunks, which the requester has to read.
    ProvidedReply,
}

/// A call without a reply.
#[derive(Clone, Debug)]
struct UnansweredCall {
    /// Place of the call among all RPCs.
    place: u64,
    cause: Cause,
    /// Last step of the responder, if the responder waits.
    step: Option<ResponderStep>,
    wait: UnansweredWait,
    /// The end that ended the connection; `None` if the call waited to the last frame.
    ended_by: Option<Address>,
    connection: u32,
    /// `true` if nothing shows that the call arrived.
    is_arrival_unknown: bool,
    /// `true` if the requester refused the reply.
    is_reply_refused: bool,
    /// `true` if the call or reply was sent once, behind octets that were retransmitted (TCP).
    is_behind: bool,
    /// Operation that conflicts with a delegation that the server recalled meanwhile.
    conflict: Option<Conflict>,
    subject: RpcSubject,
}

/// The end of a connection on which a call had waited for `age` nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConnectionEnd {
    pub(super) by: Address,
    pub(super) stamp: Stamp,
    pub(super) how: DisconnectionKind,
    pub(super) age: u64,
    pub(super) client: Address,
    pub(super) server: Address,
}

/// Calls that ended with their connections.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConnectionEnds {
    pub(super) calls: u64,
    /// The end after the longest wait.
    pub(super) longest: ConnectionEnd,
}

/// The least that an RPC waited whose call was sent before the capture.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeastWait {
    nanoseconds: u64,
    /// Frame of the reply.
    frame: u64,
}

impl LeastWait {
    /// A sentence about the longest wait of `rpcs` RPCs, with a space before the sentence.
    pub(super) fn sentence(&self, rpcs: u64) -> String {
        let Self { nanoseconds, frame } = *self;
        let longest = if rpcs == 1 { "It" } else { "One of them" };
        format!(" {longest} had waited for at least {} when its reply came in frame {frame}.", duration(nanoseconds))
    }
}

/// A slow RPC whose cause depends on recalls of delegations.
#[derive(Clone, Debug)]
struct HeldRpc {
    /// Place of the RPC among all RPCs.
    place: u64,
    /// Nanoseconds for which the responder had the call.
    nanoseconds: u64,
    /// Operation that conflicts with a delegation; `None` if the RPC is itself a recall.
    conflict: Option<Conflict>,
    began: Stamp,
    /// Frame of the reply.
    answered: u64,
    subject: RpcSubject,
}

/// An RPC with arguments, and known files and recalls.
pub(super) struct KnownRpc<'a> {
    pub(super) transaction: &'a Transaction,
    pub(super) arguments: &'a [OperationArguments<'a>],
    pub(super) names: &'a FileNames,
    pub(super) recalls: &'a Recalls,
}

/// Waiting times by cause.
#[derive(Clone, Debug, Default)]
pub(super) struct Waits {
    /// Latencies.
    pub(super) latencies: Histogram,
    /// Nanoseconds of all latencies.
    latency: u64,
    /// RPCs that needed several tries.
    pub(super) retries: Retries,
    /// Nanoseconds, at least, that RPCs waited whose calls were sent before the capture.
    joined: u64,
    /// The longest of these.
    pub(super) joined_longest: Option<LeastWait>,
    /// Times before calls for which their requesters had no credit.
    pub(super) credits: Tally,
    /// Times before calls for which no slot of their session was free, beyond the times without a credit.
    pub(super) slots: Tally,
    /// Times of recovery from loss.
    pub(super) loss: Tally,
    /// Time in which at least one of the RPCs of `loss` was delayed.
    delayed: TimeUnion,
    /// Times of waits for a receiver that was not ready.
    pub(super) not_ready: Tally,
    /// RPCs among these that were delayed behind refused packets of others.
    pub(super) behind_not_ready: u64,
    /// Times of responders that are unusually long.
    pub(super) responder: Tally,
    /// Times of requesters that are unusually long.
    pub(super) requester: Tally,
    /// Times for which data by RDMA was held up.
    pub(super) held_up: TransferWaits,
    /// Times of the way to an end and back.
    pub(super) distance: Tally,
    /// The longest usual round trips to each end of which these are.
    pub(super) distant: SmallMap<Address, u64>,
    /// RPCs of `responder` and `requester` for which the way to that end and back is not known.
    pub(super) undivided: u64,
    /// Times that may be recovery: long ones of RPCs with packets that were retransmitted.
    pub(super) affected: Tally,
    /// RPCs in both `loss` and `affected`.
    pub(super) affected_too: u64,
    /// Slow RPCs that may have waited for a recall of a delegation, and slow recalls: more of the capture shows that.
    held: Vec<HeldRpc>,
    /// RPCs that waited for a recall.
    recalled: RecallWaits,
    /// Causes of the RPCs that were held, by their places among all RPCs.
    settled: Vec<(u64, Cause)>,
    /// RPCs with a reply that came again at an unknown time.
    pub(super) arrival_unknown: Tally,
    /// Connections with a wait for a credit.
    waited: BTreeSet<u32>,
    /// RPCs of whose time the part of recovery is unknown.
    pub(super) unassigned: u64,
    /// RPCs in `loss` that recovery may have delayed for longer.
    pub(super) at_least: u64,
    /// RPCs with time of recovery, or with packets that were retransmitted and took an unknown time.
    pub(super) lossy: u64,
    /// The longest time that a responder took for a reply.
    longest: u64,
    unanswered: Vec<UnansweredCall>,
    /// Calls without a reply that were left out.
    pub(super) unanswered_left_out: u64,
    /// Calls without a reply whose next step nobody is known to owe.
    pub(super) undecided: u64,
    pub(super) clients: BTreeSet<Address>,
    pub(super) servers: BTreeSet<Address>,
    pub(super) rpcs: u64,
    pub(super) without_call: u64,
    pub(super) without_reply: u64,
    /// Times that kernel traces show.
    pub(super) kernel: KernelWaits,
    /// Waits above RPC.
    pub(super) promises: PromiseWaits,
}

/// Time that was waited for replies that did not come, by cause.
#[derive(Clone, Debug, Default)]
pub(super) struct Silence {
    pub(super) responder_silent: Tally,
    pub(super) responder_unreachable: Tally,
    pub(super) requester_silent: Tally,
    pub(super) requester_unreachable: Tally,
    /// Calls with a wrong checksum in a packet of the call or reply.
    pub(super) wrong_checksum: Tally,
    /// Calls that waited for a recall of a delegation, including answered calls.
    pub(super) recalled: RecallWaits,
    /// These packets, by their senders and connections.
    pub(super) wrong_checksums: SmallMap<(Address, u32), WrongChecksums>,
    /// Calls whose replies were refused for lack of a Receive.
    pub(super) reply_refused_for_lack: Tally,
    /// Calls that ended with their connections, by cause.
    pub(super) ends: SmallMap<Cause, ConnectionEnds>,
    /// Causes of calls that were sent once, or whose replies were, behind octets that were retransmitted (TCP).
    pub(super) behind_retransmitted: CauseSet,
    /// Calls of `requester_silent` by the last step of their responder.
    pub(super) steps: SmallMap<ResponderStep, u64>,
    /// Calls that ended with their connection, on which the protocol was broken.
    pub(super) died: Tally,
    /// Calls of `responder_silent` that may not have arrived.
    pub(super) arrival_unknown: u64,
    /// Calls of `responder_silent` whose reply was refused and not retransmitted.
    pub(super) reply_refused: u64,
    /// Nanoseconds of all calls without a reply.
    pub(super) age: u64,
    /// Calls that had waited for less than `least` when the capture ended.
    pub(super) recent: u64,
    /// The least number of nanoseconds for which a call without a reply waited.
    pub(super) least: u64,
    /// The calls that count, by their places among all RPCs.
    pub(super) causes: Vec<(u64, Cause)>,
}

impl Waits {
    /// Takes an RPC, and adds the causes of the RPC to `causes`.
    pub(super) fn add_rpc(&mut self, rpc: &KnownRpc<'_>, causes: &mut RpcCauses) {
        self.find_causes(rpc, causes);
        self.lossy += u64::from(causes.counted.contains(Cause::Loss));
    }

    fn find_causes(&mut self, rpc: &KnownRpc<'_>, causes: &mut RpcCauses) {
        let transaction = rpc.transaction;
        self.rpcs += 1;
        self.without_call += u64::from(transaction.call.is_none());
        self.without_reply += u64::from(transaction.reply.is_none());
        for (ends, end) in [(&mut self.clients, client(transaction)), (&mut self.servers, server(transaction))] {
            if ends.len() < ENDS {
                ends.insert(end);
            }
        }
        if let Some(call) = transaction.call.as_ref().filter(|_| transaction.opens.is_some()) {
            self.promises.note_opening(call.stamp.frame, self.rpcs - 1);
        }
        for promise in &transaction.keeps {
            self.promises.add_kept(promise, &rpc.subject(), &mut self.recalled, causes);
        }
        if let Some(tries) = &transaction.tries {
            causes.add_cause(Cause::Retried, self.retries.add_rpc(transaction, tries, &rpc.subject()));
        }
        if let Some(waiting) = transaction.waiting {
            return self.unanswered(rpc, &waiting);
        }
        // Before the first reply there is one credit (RFC 8166 section 3.3.3): that wait is no fault of a grant.
        if let Ok(wait @ 1..) = transaction.credit_wait
            && (self.waited.len() >= ENDS || !self.waited.insert(transaction.connection))
        {
            causes.add_cause(Cause::Credits, self.credits.add_rpc(wait, &rpc.subject()));
        }
        let credit_wait = transaction.credit_wait.unwrap_or_default();
        if let Some(Ok(wait)) = transaction.slot_wait
            && let wait @ 1.. = wait.saturating_sub(credit_wait)
        {
            causes.add_cause(Cause::Slots, self.slots.add_rpc(wait, &rpc.subject()));
        }
        if transaction.phases == Err(NotTimed::ArrivalUnknown) {
            self.arrival_unknown.add_rpc(1, &rpc.subject());
            causes.add_cause(Cause::Loss, false);
        }
        if let Some(joined) = &transaction.joined {
            self.joined(rpc, joined, causes);
        }
        self.kernel.add_rpc(transaction, || rpc.subject(), &mut self.responder, causes);
        let Some(latency) = transaction.latency() else { return };
        self.latencies.record(latency);
        self.latency = self.latency.saturating_add(latency);
        let last = transaction.tries.as_ref().map(|tries| (&tries.phases, &tries.recovery));
        if let (Ok(phases), Ok(recovery)) = last.unwrap_or((&transaction.phases, &transaction.recovery)) {
            self.timed(rpc, phases, recovery, causes);
        }
    }

    /// Adds the wait of an RPC whose call was sent before the capture. The time of the two ends is unknown.
    fn joined(&mut self, rpc: &KnownRpc<'_>, joined: &JoinedWait, causes: &mut RpcCauses) {
        self.joined = self.joined.saturating_add(joined.nanoseconds());
        let wait = LeastWait { nanoseconds: joined.nanoseconds(), frame: joined.until.frame };
        if self.joined_longest.is_none_or(|longest| wait.nanoseconds > longest.nanoseconds) {
            self.joined_longest = Some(wait);
        }
        self.timed(rpc, &joined.recovery.phases, &joined.recovery, causes);
    }

    /// Divides the time of an RPC between the two ends and recovery.
    fn timed(&mut self, rpc: &KnownRpc<'_>, phases: &Phases, recovery: &Recovery, causes: &mut RpcCauses) {
        let DataTimes { read, written } = rpc.transaction.data_times;
        let [responder, writing, reading] = [Phase::Responder, Phase::RdmaWrite, Phase::RdmaRead]
            .map(|phase| phases.phase_time(phase).saturating_sub(recovery.phases.phase_time(phase)));
        let written = DataWait::new(&written, responder.saturating_add(writing), rpc.transaction.write_octets);
        let whole_responder = responder;
        let responder = responder - written.total().saturating_sub(writing);
        let is_least = recovery.unassigned > 0;
        if !is_least {
            self.longest = self.longest.max(responder);
        }
        let late = read.late.min(reading);
        let read = DataWait::new(&read, reading - late, rpc.transaction.read_octets);
        let requester = late + phases.requester.saturating_sub(recovery.phases.requester);
        let lost = recovery.phases.total();
        let not_ready = recovery.not_ready.min(lost);
        self.behind_not_ready += u64::from(not_ready > 0 && recovery.rnr_naks == 0);
        if lost > not_ready {
            self.delay(recovery);
            self.at_least += u64::from(is_least);
        }
        self.unassigned += u64::from(is_least && lost == 0);
        // A sign that may be of another RPC accuses no end either.
        let has_signs = is_least || recovery.naks + recovery.rnr_naks + recovery.retransmitted_packets > 0;
        let RoundTrips { requester: to_requester, responder: to_responder } = rpc.transaction.round_trips;
        let away =
            |time: u64, round_trip: Option<u64>| if has_signs { 0 } else { time.min(round_trip.unwrap_or_default()) };
        // A file at the responder shows the time of the responder, without the way.
        let parts = rpc.transaction.witnessed.as_ref().and_then(|witnessed| witnessed.parts);
        let parts = parts.filter(|_| !has_signs && !rpc.transaction.reverse);
        let away_responder = match parts {
            Some(parts) => responder.saturating_sub(parts.responder),
            None => away(responder, to_responder),
        };
        let away_requester = away(requester, to_requester);
        let (of_responder, of_requester) = match has_signs {
            true => (0, 0),
            false => (responder - away_responder, requester - away_requester),
        };
        self.undivided += u64::from(of_responder >= SLOW && to_responder.is_none() && parts.is_none());
        self.undivided += u64::from(of_requester >= SLOW && to_requester.is_none());
        let distance = away_responder + away_requester;
        if distance >= DISTANT {
            let (end, round_trip) = match away_responder >= away_requester {
                true => (rpc.transaction.to, to_responder),
                false => (rpc.transaction.from, to_requester),
            };
            if let Some(longest) = self.distant.value(end, ENDS) {
                *longest = round_trip.unwrap_or_default().max(*longest);
            }
        }
        // A receiver that was not ready is no loss.
        let is_lossy = recovery.naks + recovery.timeouts + recovery.implied_naks + recovery.causes_not_seen > 0
            || recovery.retransmitted_packets > recovery.not_ready_packets;
        let moved = rpc.transaction.read_octets.saturating_mul(PER_OCTET);
        let whole_requester = requester - late + reading.saturating_sub(moved);
        let affected = if is_lossy && has_signs { whole_responder.max(whole_requester) } else { 0 };
        let of_responder = if self.hold(rpc, of_responder, causes) { 0 } else { of_responder };
        let Transaction { from, to, .. } = *rpc.transaction;
        let recovered = || done(recovery);
        let amounts: [(&mut Tally, _, _, _, &dyn Fn() -> String); 5] = [
            (&mut self.loss, lost - not_ready, 1, Cause::Loss, &recovered),
            (&mut self.not_ready, not_ready, 1, Cause::ReceiverNotReady, &recovered),
            (&mut self.distance, distance, DISTANT, Cause::Distance, &String::new),
            (&mut self.responder, of_responder, SLOW, Cause::ServerSlow, &|| due_from(to)),
            (&mut self.requester, of_requester, SLOW, Cause::ClientSlow, &|| due_from(from)),
        ];
        let mut subject = None;
        for (tally, amount, least, cause, waited_for) in amounts {
            if amount >= least {
                let subject = subject.get_or_insert_with(|| rpc.subject());
                causes.add_cause(cause, tally.add_with(amount, subject, waited_for));
            }
        }
        if !has_signs {
            let data = DataWaits { read, written, requester: from, responder: to };
            self.held_up.add_waits(&data, || rpc.subject(), causes);
        }
        if affected >= SLOW {
            self.affected_too += u64::from(causes.counted.contains(Cause::Loss));
            self.affected.add_with(affected, &rpc.subject(), recovered);
            causes.add_cause(Cause::Loss, false);
        }
    }

    /// Holds an RPC that was with the responder for so many nanoseconds, if recalls of delegations decide about the cause. Returns true if the RPC is held.
    fn hold(&mut self, rpc: &KnownRpc<'_>, nanoseconds: u64, causes: &mut RpcCauses) -> bool {
        if nanoseconds < SLOW || self.held.len() >= HELD {
            return false;
        }
        let Transaction { began: Some(began), reply: Some(reply), .. } = rpc.transaction else { return false };
        let conflict = rpc.conflict(*began);
        if conflict.is_none() && !is_recall(rpc.transaction) {
            return false;
        }
        if conflict.is_some() && self.held.iter().all(|held| held.nanoseconds < nanoseconds) {
            causes.greatest.push(Cause::DelegationRecall);
        }
        let (place, answered) = (self.rpcs - 1, reply.stamp.frame);
        self.held.push(HeldRpc { place, nanoseconds, conflict, began: *began, answered, subject: rpc.subject() });
        true
    }

    /// Divides the time of the held RPCs between clients that were late to return a delegation, and responders. `recalls` are
    /// those of the whole capture; `context` has the RPCs of the whole capture if `self` has selected ones.
    pub(super) fn settle_recalls(&mut self, recalls: &Recalls, context: Option<&Self>) {
        let (calls, callbacks): (Vec<_>, Vec<_>) =
            core::mem::take(&mut self.held).into_iter().partition(|held| held.conflict.is_some());
        for HeldRpc { place, nanoseconds, conflict, began, answered, subject } in &calls {
            let wait = conflict.as_ref().map(|conflict| ServerWait {
                subject,
                conflict,
                began: *began,
                nanoseconds: *nanoseconds,
            });
            let delay = wait.and_then(|wait| recalls.delay(&wait, *answered)).filter(|delay| delay.nanoseconds >= SLOW);
            if let Some(delay) = &delay {
                _ = self.recalled.add_call(delay, subject);
                self.settled.push((*place, Cause::DelegationRecall));
            }
            let late = delay.map_or(0, |delay| delay.nanoseconds);
            self.settle_slow(*place, nanoseconds - late, subject);
        }
        for HeldRpc { place, nanoseconds, subject, .. } in &callbacks {
            let is_awaited = |waits: &Self| waits.recalled.awaited.contains(&subject.frame);
            if is_awaited(self) {
                // Part of the time of a call that waited, which counts for the cause.
                self.recalled.add_callback(*nanoseconds, subject);
            } else if context.is_some_and(is_awaited) {
                self.recalled.add_callback(*nanoseconds, subject);
                self.settled.push((*place, Cause::DelegationRecall));
            } else {
                self.settle_slow(*place, *nanoseconds, subject);
            }
        }
    }

    /// Takes the RPC that was added last, which failed because the state of the client was gone.
    pub(super) fn hold_lost(&mut self, status: StatusName, subject: RpcSubject) {
        self.promises.hold_lost(status, subject, self.rpcs - 1);
    }

    /// Adds the waits above RPC that had not ended. Calls `failed` for each operation that a client gave up.
    pub(super) fn settle_promises(&mut self, end: CaptureEnd, failed: impl FnMut(StatusName, &RpcSubject)) {
        self.promises.settle_open(end, &mut self.recalled, failed);
    }

    /// Counts an RPC that was held, if the responder was slow.
    fn settle_slow(&mut self, place: u64, nanoseconds: u64, subject: &RpcSubject) {
        if nanoseconds >= SLOW {
            self.responder.add_with(nanoseconds, subject, || due_from(subject.responder()));
            self.settled.push((place, Cause::ServerSlow));
        }
    }

    /// Causes of the RPCs that were [held](Self::settle_recalls), by their places among all RPCs.
    pub(super) fn settled(&self) -> &[(u64, Cause)] {
        &self.settled
    }

    fn delay(&mut self, recovery: &Recovery) {
        recovery.stretches.iter().for_each(|(from, until)| self.delayed.add_interval(from.0, until.0));
        self.delayed.is_least |= recovery.stretches_left_out > 0 || recovery.unassigned > 0;
    }

    /// Nanoseconds in which at least one RPC was delayed by loss, and `true` if the real value may be higher. The union also
    /// covers waits of these RPCs for a receiver that was not ready, so the union can be longer than the sum of the delays: the
    /// result is at most that sum.
    pub(super) fn delayed(&self) -> (u64, bool) {
        (self.delayed.nanoseconds().min(self.loss.amount), self.delayed.is_least)
    }

    fn unanswered(&mut self, rpc: &KnownRpc<'_>, waiting: &Waiting) {
        let Some(began) = rpc.began() else { return };
        let ended_by = match waiting.end {
            WaitEnd::Capture => None,
            WaitEnd::Disconnected { by, .. } => {
                let Transaction { requester, from, to, .. } = *rpc.transaction;
                Some(if by == requester { from } else { to })
            }
            // The requester goes on with another call.
            WaitEnd::Repeated => return,
            _ => return self.undecided += 1,
        };
        let Some((cause, step)) = owing(waiting) else { return self.undecided += 1 };
        if self.unanswered.len() == UNANSWERED_KEPT {
            self.unanswered_left_out += 1;
            return;
        }
        let connection = rpc.transaction.connection;
        let is_arrival_unknown = waiting.delivery == Delivery::Unknown && waiting.responder.is_none();
        let is_reply_refused = matches!(waiting.reply_delivery, Some(Delivery::Refused(_)));
        let is_behind = waiting.reply_delivery.unwrap_or(waiting.delivery) == Delivery::Unacknowledged { times: 1 };
        let subject = rpc.subject();
        let place = self.rpcs - 1;
        self.unanswered.push(UnansweredCall {
            place,
            cause,
            step,
            wait: UnansweredWait { began, end: waiting.end },
            ended_by,
            connection,
            is_arrival_unknown,
            is_reply_refused,
            is_behind,
            conflict: rpc.conflict(began),
            subject,
        });
    }

    /// Time for which unanswered calls waited, until the `end` of the capture. A call does not wait beyond the end of the
    /// connection. `facts` are those of the whole capture; `context` has the RPCs of the whole capture if `self` has selected
    /// ones.
    pub(super) fn silence(&self, end: CaptureEnd, context: Option<&Self>, facts: &Facts) -> Silence {
        let least = context.unwrap_or(self).longest.saturating_mul(2).max(UNANSWERED);
        let mut silence = Silence { least, recalled: self.recalled.clone(), ..Silence::default() };
        let awaited = |waits: &Self| -> BTreeSet<u64> {
            waits.unanswered.iter().filter_map(|call| call.recall(end, facts)).map(|delay| delay.frame).collect()
        };
        silence.recalled.awaited.extend(awaited(self));
        let all_awaited = context.map(awaited).unwrap_or_default();
        for call in &self.unanswered {
            let UnansweredCall { place, cause, step, wait, ended_by, connection, subject, .. } = call;
            let age = wait.time(end);
            silence.age = silence.age.saturating_add(age);
            if age < least && ended_by.is_none() {
                silence.recent += 1;
                continue;
            }
            let from = unacknowledged_sender(*cause, subject);
            let wrong = from.and_then(|from| Some(((from, *connection), facts.wrong_checksums(*connection, from)?)));
            let recall = call.recall(end, facts);
            let is_awaited = silence.recalled.awaited.contains(&subject.frame) || all_awaited.contains(&subject.frame);
            let cause = match wrong {
                _ if recall.is_some() || is_awaited => Cause::DelegationRecall,
                _ if *cause == Cause::ReplyRefused => *cause,
                _ if ended_by.is_some() && facts.is_fatal_connection(*connection) => Cause::Protocol,
                Some((end, packets)) => {
                    silence.wrong_checksums.value_or(end, ENDS, || packets);
                    Cause::WrongChecksum
                }
                None => *cause,
            };
            silence.causes.push((*place, cause));
            silence.note_end(cause, call, age);
            if call.is_behind {
                silence.behind_retransmitted.insert(cause);
            }
            let tally = match cause {
                Cause::DelegationRecall => {
                    silence.recalled.add_unanswered(recall.as_ref(), age, subject);
                    continue;
                }
                Cause::Protocol => &mut silence.died,
                Cause::ServerUnreachable => &mut silence.responder_unreachable,
                Cause::ClientUnreachable => &mut silence.requester_unreachable,
                Cause::WrongChecksum => &mut silence.wrong_checksum,
                Cause::ReplyRefused => &mut silence.reply_refused_for_lack,
                Cause::ClientSilent => {
                    step.iter().for_each(|step| _ = silence.steps.add_amount(*step, 1, ENDS));
                    &mut silence.requester_silent
                }
                _ => {
                    silence.arrival_unknown += u64::from(call.is_arrival_unknown);
                    silence.reply_refused += u64::from(call.is_reply_refused);
                    &mut silence.responder_silent
                }
            };
            tally.add_rpc(age, subject);
        }
        silence
    }

    /// Nanoseconds for which RPCs waited, with the time of RPCs without a reply.
    pub(super) const fn sum_waits(&self, silence: &Silence) -> u64 {
        let answered = self.latency.saturating_add(self.joined);
        let before = self.credits.amount.saturating_add(self.slots.amount).saturating_add(self.kernel.before_calls);
        answered.saturating_add(before).saturating_add(silence.age).saturating_add(self.promises.between)
    }
}

impl Silence {
    /// Notes the end of the connection, if that ended, on which a call of a cause had waited for `age` nanoseconds.
    fn note_end(&mut self, cause: Cause, call: &UnansweredCall, age: u64) {
        let (Some(by), WaitEnd::Disconnected { stamp, how, .. }) = (call.ended_by, call.wait.end) else { return };
        let RpcSubject { client, server, .. } = call.subject;
        let end = ConnectionEnd { by, stamp, how, age, client, server };
        if let Some(ends) = self.ends.value_or(cause, ENDS, || ConnectionEnds { calls: 0, longest: end }) {
            ends.calls += 1;
            if age > ends.longest.age {
                ends.longest = end;
            }
        }
    }
}

impl UnansweredCall {
    /// The delay of a client that has not answered a recall, if the call waits for that.
    fn recall(&self, end: CaptureEnd, facts: &Facts) -> Option<ClientDelay> {
        let conflict =
            self.conflict.as_ref().filter(|_| self.cause == Cause::ServerSilent && self.ended_by.is_none())?;
        let (began, nanoseconds) = (self.wait.began, self.wait.time(end));
        let wait = ServerWait { subject: &self.subject, conflict, began, nanoseconds };
        facts.recalls.delay_without_answer(&wait, end)
    }
}

/// A wait for an end, in words.
fn due_from(end: Address) -> String {
    format!("the next packet was due from {end}")
}

impl KnownRpc<'_> {
    /// The operation that conflicts with a delegation, if the server recalled one while the server had the call.
    fn conflict(&self, began: Stamp) -> Option<Conflict> {
        let is_concerned = self.recalls.concerns(server(self.transaction), began);
        if is_concerned { Conflict::from_arguments(self.arguments) } else { None }
    }

    /// The first frame of the call, or of the connection if the call was sent before that.
    fn began(&self) -> Option<Stamp> {
        let Transaction { began, call, joined, .. } = self.transaction;
        began.or(call.as_ref().map(|call| call.stamp)).or(joined.as_ref().map(|joined| joined.since))
    }

    pub(super) fn subject(&self) -> RpcSubject {
        let Transaction { call, reply, joined, .. } = self.transaction;
        RpcSubject {
            client: client(self.transaction),
            server: server(self.transaction),
            operation: OperationName::of_transaction(self.transaction).to_string(),
            is_reverse: self.transaction.reverse,
            file: self.names.of_transaction(self.transaction, self.arguments),
            began: self.began().or(reply.as_ref().map(|reply| reply.stamp)).map_or(0, |stamp| stamp.time.0),
            latency: self.transaction.latency(),
            joined_wait: joined.as_ref().map(|joined| joined.nanoseconds()),
            frame: call.as_ref().or(reply.as_ref()).map_or(0, |half| half.stamp.frame),
        }
    }
}

/// The cause for which a call has no reply, as far as the capture shows, and the last step of a responder that waits.
const fn owing(waiting: &Waiting) -> Option<(Cause, Option<ResponderStep>)> {
    // If the connection ended, nothing is owed any longer, but the last step shows who waited.
    let is_over = matches!(waiting.owed, Owed::Nothing);
    let asked = matches!(waiting.responder, Some(LastStep { step: Step::ReadRequest, .. }));
    if matches!(waiting.reply_delivery, Some(Delivery::Unacknowledged { .. })) {
        return Some((Cause::ClientUnreachable, None));
    }
    if matches!(waiting.reply_delivery, Some(Delivery::Unknown)) {
        return None;
    }
    if let Some(Delivery::Refused(PacketRefusal { kind: RecoveryKind::NotReady { .. }, .. })) = waiting.reply_delivery {
        return Some((Cause::ReplyRefused, None));
    }
    if is_over && asked {
        return waits(ResponderStep::Request);
    }
    match (waiting.owed, waiting.delivery) {
        (Owed::Acknowledgement(_), _) | (Owed::Nothing, Delivery::Unacknowledged { .. }) => {
            Some((Cause::ServerUnreachable, None))
        }
        (Owed::Call(_), _) | (Owed::Nothing, Delivery::Refused(_)) => waits(ResponderStep::Refusal),
        (Owed::ReplyArrival(_) | Owed::Unknown(OwedUnknown::WriteArrival), _) => Some((Cause::ClientUnreachable, None)),
        (Owed::ReadReply, _) => waits(ResponderStep::ProvidedReply),
        (Owed::ReadResponse(_), _) => waits(ResponderStep::Request),
        (Owed::Reply | Owed::ReplyAgain(_) | Owed::Nothing, _) => Some((Cause::ServerSilent, None)),
        _ => None,
    }
}

/// The end whose packets were retransmitted and never acknowledged.
const fn unacknowledged_sender(cause: Cause, subject: &RpcSubject) -> Option<Address> {
    match (cause, subject.is_reverse) {
        (Cause::ServerUnreachable, false) | (Cause::ClientUnreachable, true) => Some(subject.client),
        (Cause::ClientUnreachable, false) | (Cause::ServerUnreachable, true) => Some(subject.server),
        _ => None,
    }
}

/// Cause of a responder that waits for the requester after this step.
const fn waits(step: ResponderStep) -> Option<(Cause, Option<ResponderStep>)> {
    Some((Cause::ClientSilent, Some(step)))
}

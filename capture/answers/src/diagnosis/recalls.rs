//! Recalls of delegations (CB_RECALL), and the time for which clients kept a delegation that other calls waited for.
//!
//! A call waits for a recall if the server sent the recall while the server held the call, and answered the call after the
//! client had answered the recall, or had returned the delegation. The client is late by the time from the arrival of the
//! recall, except for the time in which the client waited for the server.

use std::collections::{BTreeSet, VecDeque};

use rpcrdma_dissector::nfs::{CompoundOperation, DelegationConflict, OperationCode};
use rpcrdma_dissector::{
    Address, CaptureEnd, Delivery, Message, MessageDirection, OperationArguments, Owed, Recovered, RecoveryKind, Stamp,
    Time, Transaction, WaitEnd, Waiting,
};

use super::cause::SLOW;
use super::tally::{KeyAmounts, RpcSubject, Tally};
use super::time_union::TimeUnion;
use crate::format::number::duration;

/// The most recalls that are kept.
const RECALLS: usize = 1000;
/// The most recalls whose delegations have not been returned that are followed at a time.
const FOLLOWED: usize = 32;
/// Maximum number of RPCs kept per recall because the client may have waited for the RPC.
const MEANWHILE: usize = 256;
/// The longest handle of a file, in octets (`NFS4_FHSIZE`).
const HANDLE: usize = 128;

/// Reaction of a client to a recall.
#[derive(Clone, Copy, Debug)]
enum RecallAnswer {
    /// The capture does not show the answer, or not the time of the answer.
    Unknown,
    /// The client began the answer at this time, after so many nanoseconds.
    Sent { stamp: Stamp, took: u64 },
    /// The client has the recall, and has not answered up to the end of the capture.
    Owed,
}

/// Time from the beginning to the end of an RPC, in nanoseconds since 1970.
#[derive(Clone, Copy, Debug)]
struct RpcSpan {
    from: u64,
    /// `u64::MAX` without an end.
    until: u64,
}

/// A recall of a delegation.
#[derive(Clone, Debug)]
struct Recall {
    connection: u32,
    xid: u32,
    client: Address,
    server: Address,
    sent: Stamp,
    /// The last time that the recall was sent.
    latest: Stamp,
    /// Handle of the file, if readable.
    handle: Option<Box<[u8]>>,
    answer: RecallAnswer,
    /// First packet of DELEGRETURN.
    returned: Option<Stamp>,
    /// RPCs that the client may have waited for before answering: slow ones, and RPCs that bring data to the server.
    meanwhile: Vec<RpcSpan>,
    /// Beginning of the first of these RPCs that is not kept, in nanoseconds.
    left_out: Option<u64>,
}

/// Operation of an RPC that conflicts with delegations.
#[derive(Clone, Debug)]
pub(super) struct Conflict {
    /// Handle of the file, if the RPC shows one.
    handle: Option<Box<[u8]>>,
    /// `true` for READ and WRITE, which do not conflict with a delegation of the same client.
    is_data: bool,
}

/// A wait for the server that may be a wait for a recall.
#[derive(Clone, Copy, Debug)]
pub(super) struct ServerWait<'a> {
    pub(super) subject: &'a RpcSubject,
    pub(super) conflict: &'a Conflict,
    /// First packet of the call.
    pub(super) began: Stamp,
    /// Nanoseconds for which the server had the call.
    pub(super) nanoseconds: u64,
}

/// Time by which a client was late.
#[derive(Clone, Debug)]
pub(super) struct ClientDelay {
    pub(super) client: Address,
    pub(super) nanoseconds: u64,
    /// Frame of the recall.
    pub(super) frame: u64,
    /// The delay in words.
    pub(super) text: String,
}

/// Waits of RPCs for clients that were late to answer a recall, or to return a delegation.
#[derive(Clone, Debug, Default)]
pub(super) struct RecallWaits {
    /// Calls that waited, and for how long.
    pub(super) calls: Tally,
    /// Nanoseconds by the client that was late.
    holders: KeyAmounts<Address>,
    /// Frames of the recalls.
    pub(super) awaited: BTreeSet<u64>,
    /// Nanoseconds for which the server waited for answers to these recalls.
    pub(super) callbacks: u64,
    /// Calls that have no reply.
    pub(super) unanswered: u64,
}

impl RecallWaits {
    /// Adds a call that waited. Returns true if no earlier one waited as long.
    pub(super) fn add_call(&mut self, delay: &ClientDelay, subject: &RpcSubject) -> bool {
        self.holders.add_amount(&delay.client, delay.nanoseconds);
        self.awaited.insert(delay.frame);
        self.calls.add_with(delay.nanoseconds, subject, || delay.text.clone())
    }

    /// Adds an operation that the server refused until a client returned a delegation, or refuses because the client has not.
    /// Returns true if no earlier wait was as long.
    pub(super) fn add_retried(&mut self, delay: &ClientDelay, subject: &RpcSubject, is_open: bool) -> bool {
        self.unanswered += u64::from(is_open);
        self.add_call(delay, subject)
    }

    /// Adds a recall that calls waited for. If none of these calls is counted here, the recall is counted instead.
    pub(super) fn add_callback(&mut self, nanoseconds: u64, subject: &RpcSubject) {
        if self.awaited.contains(&subject.frame) {
            self.callbacks = self.callbacks.saturating_add(nanoseconds);
            return;
        }
        let (client, took, frame) = (subject.responder(), duration(nanoseconds), subject.frame);
        let text = format!("client {client} took {took} to answer CB_RECALL (frame {frame})");
        self.calls.add_with(nanoseconds, subject, || text);
        self.holders.add_amount(&client, nanoseconds);
    }

    /// Adds a call without a reply that waits, or a recall without an answer, which has waited for `age` nanoseconds.
    pub(super) fn add_unanswered(&mut self, delay: Option<&ClientDelay>, age: u64, subject: &RpcSubject) {
        match delay {
            Some(delay) => {
                _ = self.add_call(delay, subject);
                self.unanswered += 1;
            }
            None => self.add_callback(age, subject),
        }
    }

    /// The client that most of the time falls on.
    pub(super) fn holder(&self) -> Option<Address> {
        self.holders.dominant(self.calls.amount).copied()
    }
}

/// Recalls of a capture.
#[derive(Clone, Debug, Default)]
pub(super) struct Recalls {
    /// Recalls whose delegations have not been returned, the oldest first.
    followed: VecDeque<Recall>,
    others: Vec<Recall>,
}

/// Returns true if an RPC recalls a delegation.
pub(super) fn is_recall(transaction: &Transaction) -> bool {
    transaction.callback.is_callback() && has_recall(&transaction.operations)
}

fn has_recall(operations: &[CompoundOperation]) -> bool {
    operations.iter().any(|operation| operation.code == OperationCode::CB_RECALL)
}

impl Conflict {
    /// Returns the operation that conflicts with delegations; `None` if there is none.
    pub(super) fn from_arguments(arguments: &[OperationArguments<'_>]) -> Option<Self> {
        let mut conflicts = arguments.iter().filter_map(|operation| Some((operation.traits.conflict?, operation)));
        let (conflict, operation) = conflicts.next()?;
        let handle = match conflict {
            DelegationConflict::Opened => {
                operation.named_handle.or(operation.handle.filter(|_| operation.file_name.is_none()))
            }
            DelegationConflict::Data | DelegationConflict::Attributes => operation.handle,
            _ => None,
        };
        Some(Self { handle: kept(handle), is_data: conflict == DelegationConflict::Data })
    }
}

/// The first operation with this code.
fn find<'a, 'b>(arguments: &'a [OperationArguments<'b>], code: OperationCode) -> Option<&'a OperationArguments<'b>> {
    arguments.iter().find(|operation| operation.operation == Some(code))
}

fn kept(handle: Option<&[u8]>) -> Option<Box<[u8]>> {
    handle.filter(|handle| handle.len() <= HANDLE).map(Box::from)
}

impl Recalls {
    /// Takes a message. A recall is followed from the CB_RECALL call on.
    pub(super) fn message(&mut self, message: &Message) {
        let Some(rpc) = message.rpc.as_ref().filter(|rpc| rpc.callback.is_callback()) else { return };
        if rpc.direction != MessageDirection::Call || !has_recall(&rpc.operations) || self.others.len() >= RECALLS {
            return;
        }
        if self.followed.len() == FOLLOWED {
            self.others.extend(self.followed.pop_front());
        }
        self.followed.push_back(Recall {
            connection: message.connection,
            xid: message.rdma_xid().unwrap_or_default(),
            client: message.to,
            server: message.from,
            sent: message.stamp,
            latest: message.stamp,
            handle: None,
            answer: RecallAnswer::Unknown,
            returned: None,
            meanwhile: Vec::new(),
            left_out: None,
        });
    }

    /// Takes an indication of recovery: the client did not have a recall before the recall was sent for the last time.
    pub(super) fn recovered(&mut self, recovered: &Recovered) {
        let Recovered { connection, from, stamp, kind, xid, .. } = *recovered;
        if matches!(kind, RecoveryKind::Retransmitted | RecoveryKind::Replaced) {
            let may_be_it = |recall: &&mut Recall| {
                (recall.connection, recall.server) == (connection, from) && xid.is_none_or(|xid| xid == recall.xid)
            };
            self.followed.iter_mut().filter(may_be_it).for_each(|recall| recall.latest = stamp);
        }
    }

    /// Takes an RPC: the answer to a recall, the return of a delegation, or another one of a client that has a recall.
    pub(super) fn transaction(&mut self, transaction: &Transaction, arguments: &[OperationArguments<'_>]) {
        if self.followed.is_empty() {
            return;
        }
        if is_recall(transaction) {
            return self.answer(transaction, arguments);
        }
        let Some(began) = transaction.began else { return };
        let returned = find(arguments, OperationCode::DELEGRETURN).map(|operation| operation.handle);
        let is_end = |recall: &Recall| (recall.client, recall.server) == (transaction.from, transaction.to);
        for recall in self.followed.iter_mut().filter(|recall| is_end(recall)) {
            match returned {
                Some(handle) if handle.is_some() && handle == recall.handle.as_deref() => {
                    recall.returned = recall.returned.or(Some(began).filter(|began| began.frame > recall.sent.frame));
                }
                _ => recall.meanwhile(transaction, arguments, began),
            }
        }
        while let Some(place) =
            self.followed.iter().position(|recall| recall.returned.is_some() && recall.is_answered())
        {
            self.others.extend(self.followed.remove(place));
        }
    }

    fn answer(&mut self, transaction: &Transaction, arguments: &[OperationArguments<'_>]) {
        let key = (transaction.connection, transaction.xid, transaction.from);
        let is_it = |recall: &&mut Recall| (recall.connection, recall.xid, recall.server) == key;
        if let Some(recall) = self.followed.iter_mut().rev().chain(self.others.iter_mut().rev()).find(is_it) {
            let handle = find(arguments, OperationCode::CB_RECALL).and_then(|operation| operation.handle);
            recall.handle = kept(handle);
            recall.answer = RecallAnswer::from_transaction(transaction).unwrap_or(RecallAnswer::Unknown);
        }
    }

    /// Returns true if the server recalled a delegation while the server had the call that began at `began`.
    pub(super) fn concerns(&self, server: Address, began: Stamp) -> bool {
        self.iter_recalls().any(|recall| recall.server == server && recall.is_after(began))
    }

    fn iter_recalls(&self) -> impl Iterator<Item = &Recall> {
        self.others.iter().chain(&self.followed)
    }

    /// The longest delay by a client before the server answered a call in frame `until`.
    pub(super) fn delay(&self, wait: &ServerWait<'_>, until: u64) -> Option<ClientDelay> {
        let delays = self.iter_recalls().filter(|recall| recall.is_of(wait)).filter_map(|recall| recall.delay(until));
        Self::longest(wait, delays)
    }

    /// The longest delay by a client that has not answered, for a call without a reply.
    pub(super) fn delay_without_answer(&self, wait: &ServerWait<'_>, end: CaptureEnd) -> Option<ClientDelay> {
        let delays =
            self.iter_recalls().filter(|recall| recall.is_of(wait)).filter_map(|recall| recall.delay_until(end));
        Self::longest(wait, delays)
    }

    fn longest(wait: &ServerWait<'_>, delays: impl Iterator<Item = RecallDelay>) -> Option<ClientDelay> {
        // Without the handle of the file, the delay has to be most of the wait.
        let is_enough = |RecallDelay { delay, has_handle }: &RecallDelay| {
            *has_handle && wait.conflict.handle.is_some() || delay.nanoseconds.saturating_mul(2) >= wait.nanoseconds
        };
        let delay = delays.filter(is_enough).map(|recall| recall.delay).max_by_key(|delay| delay.nanoseconds)?;
        Some(ClientDelay { nanoseconds: delay.nanoseconds.min(wait.nanoseconds), ..delay })
    }
}

/// Delay of an RPC by the recall of a delegation.
struct RecallDelay {
    delay: ClientDelay,
    /// True if the handle of the file is known.
    has_handle: bool,
}

impl RecallAnswer {
    /// The answer of a client; `None` if the capture does not show the time of the answer, or the arrival of the recall.
    fn from_transaction(transaction: &Transaction) -> Option<Self> {
        if let Some(waiting) = &transaction.waiting {
            return Self::owed(waiting);
        }
        let (phases, recovery) = (transaction.phases.as_ref().ok()?, transaction.recovery.as_ref().ok()?);
        let reply = transaction.reply.as_ref()?.stamp;
        let stamp = Stamp { time: Time(reply.time.0.checked_sub(phases.reply)?), ..reply };
        Some(Self::Sent { stamp, took: phases.responder.saturating_sub(recovery.phases.responder) })
    }

    /// A recall that reached the client and was not answered.
    const fn owed(waiting: &Waiting) -> Option<Self> {
        match *waiting {
            Waiting { end: WaitEnd::Capture, delivery: Delivery::Accepted, owed: Owed::Reply, .. } => Some(Self::Owed),
            _ => None,
        }
    }
}

impl Recall {
    const fn is_answered(&self) -> bool {
        !matches!(self.answer, RecallAnswer::Unknown)
    }

    const fn is_after(&self, began: Stamp) -> bool {
        self.sent.frame > began.frame && self.sent.time.0 >= began.time.0
    }

    /// Adds an RPC of the client that the client may have waited for, unless the RPC may itself wait for the recall.
    fn meanwhile(&mut self, transaction: &Transaction, arguments: &[OperationArguments<'_>], began: Stamp) {
        let (from, until) = (began.time.0, transaction.reply.as_ref().map_or(u64::MAX, |reply| reply.stamp.time.0));
        let may_wait = || Conflict::from_arguments(arguments).is_some_and(|conflict| !conflict.is_data);
        let is_long = until.saturating_sub(from) >= SLOW;
        let flushes = || transaction.operations.iter().any(|operation| operation.code.traits().flushes);
        if until < self.sent.time.0 || !(is_long || flushes()) || self.is_after(began) && may_wait() {
            return;
        }
        if self.meanwhile.len() < MEANWHILE {
            self.meanwhile.push(RpcSpan { from, until });
        } else {
            self.left_out = self.left_out.or(Some(from));
        }
    }

    /// Returns true if a call may wait for the recall: the call was sent before the recall, and is not known to be about another file.
    fn is_of(&self, wait: &ServerWait<'_>) -> bool {
        let conflict = wait.conflict;
        let is_other = |(one, other): (&[u8], &[u8])| one != other;
        let is_other = self.handle.as_deref().zip(conflict.handle.as_deref()).is_some_and(is_other);
        let is_own = conflict.is_data && wait.subject.client == self.client;
        self.server == wait.subject.server && self.is_after(wait.began) && !is_other && !is_own
    }

    /// Delay of an RPC that the server answered in frame `until`.
    fn delay(&self, until: u64) -> Option<RecallDelay> {
        let is_before = |stamp: &Stamp| stamp.frame < until;
        let returned = self.returned.filter(is_before);
        let (since, answered) = match self.answer {
            RecallAnswer::Unknown => return None,
            RecallAnswer::Sent { stamp, took } => (stamp.time.0.checked_sub(took)?, Some(stamp).filter(is_before)),
            RecallAnswer::Owed => (self.latest.time.0, None),
        };
        let nanoseconds = self.without_meanwhile(since, returned.or(answered)?.time.0)?;
        let (client, frame) = (self.client, self.sent.frame);
        let took = duration(nanoseconds);
        let text = match (answered, returned) {
            (Some(answered), Some(returned)) if answered.time.0.saturating_sub(since) < nanoseconds / 2 => {
                let to_return = format!("and took {took} to return the delegation (frame {})", returned.frame);
                format!("client {client} answered CB_RECALL (frame {frame}) {to_return}")
            }
            (None, Some(returned)) => {
                let to_return = format!("to return the delegation (frame {})", returned.frame);
                format!("client {client} took {took} after CB_RECALL (frame {frame}) {to_return}")
            }
            _ => format!("client {client} took {took} to answer CB_RECALL (frame {frame})"),
        };
        let delay = ClientDelay { client, nanoseconds, frame, text };
        Some(RecallDelay { delay, has_handle: self.handle.is_some() })
    }

    /// Delay up to the end of the capture by a client that has not answered.
    fn delay_until(&self, end: CaptureEnd) -> Option<RecallDelay> {
        let since = self.latest;
        if self.returned.is_some() || !matches!(self.answer, RecallAnswer::Owed) {
            return None;
        }
        let until = since.time.0.checked_add(end.at_least_since(since))?;
        let nanoseconds = self.without_meanwhile(since.time.0, until)?;
        let (client, frame) = (self.client, self.sent.frame);
        let text = format!("client {client} has not answered CB_RECALL (frame {frame}) for {}", duration(nanoseconds));
        let delay = ClientDelay { client, nanoseconds, frame, text };
        Some(RecallDelay { delay, has_handle: self.handle.is_some() })
    }

    /// Nanoseconds between two times in which the client did not wait for the server.
    fn without_meanwhile(&self, since: u64, until: u64) -> Option<u64> {
        if self.left_out.is_some_and(|from| from < until) {
            return None;
        }
        let mut waits = TimeUnion::default();
        // What the client did next did not wait for an RPC that ended later.
        let is_owed = matches!(self.answer, RecallAnswer::Owed);
        let waited = self.meanwhile.iter().filter(|rpc| is_owed || rpc.until <= until);
        waited.for_each(|rpc| waits.add_interval(rpc.from.max(since), rpc.until.min(until)));
        until.checked_sub(since)?.checked_sub(waits.nanoseconds())
    }
}

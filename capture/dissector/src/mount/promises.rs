//! Promises above RPC: what one RPC opens, and a later one keeps.
//!
//! The [`Promises`] take RPCs as they end:
//!
//! | promise | opened by | kept by |
//! |---|---|---|
//! | retry | an operation that the server refuses for now | the same operation on the same file with another status |
//! | lock | LOCK with NFS4ERR_DENIED, if the client is willing to wait | the same LOCK with another status, or CB_NOTIFY_LOCK of the file |
//! | copy | COPY whose results come later | CB_OFFLOAD, OFFLOAD_STATUS or OFFLOAD_CANCEL with the state of the COPY |
//! | delegation, layout | CB_RECALL, CB_LAYOUTRECALL | DELEGRETURN, LAYOUTRETURN, or a status or a flag of SEQUENCE that shows that the state is gone |
//! | client state | a status that shows that the server no longer knows the client, the session or the lease | SETCLIENTID_CONFIRM, CREATE_SESSION |
//!
//! - A promise is one of a client and a server: any of their connections may keep the promise.
//! - RPCs may end in another order than that in which their messages were sent: frames decide about the order.
//! - All is bounded. A promise that makes room for another is given up, and nothing is said about the end of that promise.

use std::collections::VecDeque;

use super::operation_key::{OperationKey, refused_operation};
use crate::carrier::operation::{Side, Stamp};
use crate::event::Report;
use crate::link::Address;
use crate::nfs::{OperationCode, Procedure, v4};
use crate::rpc::arguments::OperationArguments;
use crate::rpc::promise::{DelegationHolder, Promise, PromiseEnd, PromiseKind, PromiseUnknown};
use crate::rpc::properties::Status;
use crate::rpc::transaction::Transaction;
use crate::rpc::waiting::Delivery;

/// The most promises that are open at a time.
const OPEN: usize = 1024;
/// The most RPCs that are remembered because they may keep a promise whose RPC has not ended.
const EARLY: usize = 64;
/// The most recalls that are remembered after their ends.
const RETURNED: usize = 64;
/// The most pairs of a client and a server of which callbacks and gaps are known.
const PAIRS: usize = 1000;
/// The longest handle or name that is kept, in octets.
const NAME: usize = 255;

// Statuses (RFC 8881 section 15.1, RFC 1813 section 2.6).
const JUKEBOX: u32 = 10_008;
const DENIED: u32 = 10_010;
const EXPIRED: u32 = 10_011;
const GRACE: u32 = 10_013;
const STALE_CLIENTID: u32 = 10_022;
const STALE_STATEID: u32 = 10_023;
const BAD_STATEID: u32 = 10_025;
const ADMIN_REVOKED: u32 = 10_047;
const BADSESSION: u32 = 10_052;
const LAYOUTTRYLATER: u32 = 10_058;
const NOMATCHING_LAYOUT: u32 = 10_060;
const RECALLCONFLICT: u32 = 10_061;
const DEADSESSION: u32 = 10_078;
const DELEG_REVOKED: u32 = 10_087;
const BADHANDLE: u32 = 10_001;

// Flags of SEQUENCE (RFC 8881 section 18.46.3): the server revoked all state of the client, or some.
const ALL_REVOKED: u32 = 0x8;
const SOME_REVOKED: u32 = 0x10 | 0x20 | 0x40;

/// A client and a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MountEnds {
    client: Address,
    server: Address,
}

impl MountEnds {
    const fn from_transaction(transaction: &Transaction) -> Self {
        let Transaction { from, to, reverse, .. } = *transaction;
        if reverse { Self { client: to, server: from } } else { Self { client: from, server: to } }
    }

    fn are_of(self, promise: &Promise) -> bool {
        (promise.client, promise.server) == (self.client, self.server)
    }
}

/// Callbacks and gaps of a client and a server.
#[derive(Clone, Copy, Debug)]
struct PairFacts {
    ends: MountEnds,
    callback: Option<Stamp>,
    /// The last RPC that cannot be read.
    unreadable: Option<Stamp>,
    /// The last reply that confirmed a client ID or created a session.
    set_up: Option<Stamp>,
    has_gaps: bool,
}

/// State that a promise is about: part of a `stateid4`, and a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct StateKey {
    /// The octets of the `stateid4` after the sequence number.
    other: Option<Box<[u8]>>,
    handle: Option<Box<[u8]>>,
}

impl StateKey {
    /// The state and the file of an operation.
    fn from_arguments(arguments: &OperationArguments<'_>) -> Self {
        Self { handle: kept(arguments.handle), ..Self::from_stateid(arguments) }
    }

    /// The state alone, for operations whose file is not that of the promise.
    fn from_stateid(arguments: &OperationArguments<'_>) -> Self {
        Self { other: arguments.stateid.and_then(|stateid| stateid.get(4..)).map(Box::from), handle: None }
    }

    /// Returns true if two keys may be of one state: the files are the same if both are known, and otherwise the states.
    fn is_same(&self, other: &Self) -> bool {
        match (&self.handle, &other.handle) {
            (Some(one), Some(another)) => one == another,
            _ => self.other.is_some() && self.other == other.other,
        }
    }
}

/// A key that tells promises of a client and a server apart.
#[derive(Clone, Debug)]
enum PromiseKey {
    Operation(OperationKey),
    State(StateKey),
    /// All state of the client.
    Client,
}

#[derive(Clone, Debug)]
struct OpenPromise {
    promise: Box<Promise>,
    key: PromiseKey,
    /// True if a later reply of the server had no flag that says that state was revoked.
    was_clear: bool,
}

/// An RPC that ends promises of one kind.
#[derive(Clone, Debug)]
struct Ending {
    kind: PromiseKind,
    ends: MountEnds,
    key: StateKey,
    /// `LAYOUTRETURN` or `CB_LAYOUTRECALL` of more than one file.
    is_of_all: bool,
    end: PromiseEnd,
    by: &'static str,
    copied: Option<u64>,
    status: Option<u32>,
}

/// Promises of all mounts.
#[derive(Debug, Default)]
pub(crate) struct Promises {
    open: VecDeque<OpenPromise>,
    /// RPCs that end promises whose RPCs may not have ended yet.
    early: VecDeque<Ending>,
    /// Recalls that have ended.
    returned: VecDeque<Promise>,
    pairs: Vec<PairFacts>,
    /// Promises that made room for others.
    left_out: VecDeque<Box<Promise>>,
}

/// PromisePart that an operation has in promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PromisePart {
    Copy,
    Offloaded,
    StreamProgress,
    Cancel,
    Recall(PromiseKind),
    Return(PromiseKind),
    Free,
    SetUp,
    Unlocked,
}

const fn part_of(code: OperationCode) -> Option<PromisePart> {
    Some(match code {
        OperationCode::COPY => PromisePart::Copy,
        OperationCode::CB_OFFLOAD => PromisePart::Offloaded,
        OperationCode::OFFLOAD_STATUS => PromisePart::StreamProgress,
        OperationCode::OFFLOAD_CANCEL => PromisePart::Cancel,
        OperationCode::CB_NOTIFY_LOCK => PromisePart::Unlocked,
        OperationCode::CB_RECALL => PromisePart::Recall(PromiseKind::Delegation),
        OperationCode::CB_LAYOUTRECALL => PromisePart::Recall(PromiseKind::Layout),
        OperationCode::DELEGRETURN => PromisePart::Return(PromiseKind::Delegation),
        OperationCode::LAYOUTRETURN => PromisePart::Return(PromiseKind::Layout),
        OperationCode::FREE_STATEID => PromisePart::Free,
        OperationCode::SETCLIENTID_CONFIRM | OperationCode::CREATE_SESSION => PromisePart::SetUp,
        _ => return None,
    })
}

/// Returns the status with which the server refuses an operation for now.
pub(crate) const fn refusal(transaction: &Transaction) -> Option<u32> {
    let (Some(Status::Success(Some(status))), Some(Procedure { program, version, .. })) =
        (transaction.status, transaction.procedure)
    else {
        return None;
    };
    let is_refusal = match (program, version) {
        (Procedure::NFS, 4) => matches!(status, JUKEBOX | DENIED | GRACE | LAYOUTTRYLATER | RECALLCONFLICT),
        (Procedure::NFS | Procedure::NFSACL, 3) => status == JUKEBOX,
        _ => false,
    };
    if is_refusal && !transaction.reverse { Some(status) } else { None }
}

/// Returns the status with which the server says that the state of the client is gone.
const fn lost_state(transaction: &Transaction) -> Option<u32> {
    let (Some(Status::Success(Some(status))), Some(Procedure { program: Procedure::NFS, version: 4, .. })) =
        (transaction.status, transaction.procedure)
    else {
        return None;
    };
    let is_lost = matches!(status, STALE_CLIENTID | STALE_STATEID | BADSESSION | DEADSESSION | EXPIRED);
    if is_lost && !transaction.reverse { Some(status) } else { None }
}

const fn is_revocation(status: u32) -> bool {
    matches!(status, EXPIRED | BAD_STATEID | ADMIN_REVOKED | DELEG_REVOKED)
}

fn kept(octets: Option<&[u8]>) -> Option<Box<[u8]>> {
    octets.filter(|octets| octets.len() <= NAME).map(Box::from)
}

impl Promises {
    /// Takes an RPC that has ended. Adds the promises that the RPC keeps, and the kind of the promise that the RPC opens.
    #[inline]
    pub(crate) fn take_rpc(&mut self, transaction: &mut Transaction) {
        if self.is_concerned(transaction) {
            self.take_concerned(transaction);
        }
    }

    /// Returns true if an RPC may open or end a promise.
    fn is_concerned(&self, transaction: &Transaction) -> bool {
        let operations = &transaction.operations;
        let is_failure = refusal(transaction).is_some() || lost_state(transaction).is_some();
        if is_failure || operations.iter().any(|operation| part_of(operation.code).is_some()) {
            return true;
        }
        let is_unreadable =
            || transaction.procedure.is_none_or(|procedure| procedure == v4::COMPOUND && operations.is_empty());
        transaction.reverse
            || !self.open.is_empty() && (is_unreadable() || self.is_awaited(transaction))
            || self.may_be_revoked(transaction)
    }

    /// Returns true if a reply may say that the server revoked what it recalled.
    fn may_be_revoked(&self, transaction: &Transaction) -> bool {
        let is_sequence = transaction.operations.first().is_some_and(|first| first.code == OperationCode::SEQUENCE);
        let ends = MountEnds::from_transaction(transaction);
        is_sequence && self.open.iter().any(|open| open.promise.is_recall() && ends.are_of(&open.promise))
    }

    /// Returns true if an open promise waits for an operation of an RPC, or the RPC shows that a state is gone.
    fn is_awaited(&self, transaction: &Transaction) -> bool {
        let ends = MountEnds::from_transaction(transaction);
        let Some(procedure) = transaction.procedure else { return false };
        let is_gone = transaction.operations.iter().any(|operation| operation.status.is_some_and(is_revocation));
        self.open.iter().any(|open| {
            ends.are_of(&open.promise)
                && match &open.key {
                    PromiseKey::Operation(key) => key.is_called(procedure, &transaction.operations),
                    PromiseKey::State(_) => is_gone,
                    PromiseKey::Client => false,
                }
        })
    }

    #[cold]
    fn take_concerned(&mut self, transaction: &mut Transaction) {
        let ends = MountEnds::from_transaction(transaction);
        self.note_pair(ends, transaction);
        let mut arguments = transaction.arguments();
        if arguments.is_empty() {
            arguments = transaction.results_alone();
        }
        let mut kept = Vec::new();
        let opens = if transaction.reverse {
            self.take_callback(transaction, &arguments, ends, &mut kept)
        } else {
            self.take_call(transaction, &arguments, ends, &mut kept)
        };
        (transaction.opens, transaction.keeps) = (opens, kept);
    }

    /// Notes a callback, or an RPC that cannot be read.
    fn note_pair(&mut self, ends: MountEnds, transaction: &Transaction) {
        let Transaction { call, reply, operations, procedure, .. } = transaction;
        let stamp = call.as_ref().or(reply.as_ref()).map(|half| half.stamp);
        let is_unread = procedure.is_none_or(|procedure| {
            let is_callback = transaction.callback.is_callback() && procedure.procedure == 1;
            (procedure == v4::COMPOUND || is_callback) && operations.is_empty()
        }) || call.as_ref().is_none_or(|call| call.message.is_err());
        let Some(pair) = self.find_pair(ends) else { return };
        if is_unread {
            pair.unreadable = later(pair.unreadable, reply.as_ref().map(|half| half.stamp).or(stamp));
        }
        if transaction.reverse {
            pair.callback = later(pair.callback, stamp);
        }
    }

    fn find_pair(&mut self, ends: MountEnds) -> Option<&mut PairFacts> {
        if !self.pairs.iter().any(|pair| pair.ends == ends) {
            if self.pairs.len() >= PAIRS {
                return None;
            }
            self.pairs.push(PairFacts { ends, callback: None, unreadable: None, set_up: None, has_gaps: false });
        }
        self.pairs.iter_mut().find(|pair| pair.ends == ends)
    }

    /// Takes the report on a connection: the capture may lack packets of the two ends.
    pub(crate) fn note_gaps(&mut self, report: &Report) {
        let is_whole = report.counts.active.missed == 0
            && report.counts.passive.missed == 0
            && report.missing_direction().is_none();
        if report.number.is_none() || is_whole {
            return;
        }
        let (one, other) =
            (report.connection.ends.get(Side::Active).address, report.connection.ends.get(Side::Passive).address);
        for ends in [MountEnds { client: one, server: other }, MountEnds { client: other, server: one }] {
            self.find_pair(ends).into_iter().for_each(|pair| pair.has_gaps = true);
        }
    }

    /// Takes a call of the server.
    fn take_callback(
        &mut self,
        transaction: &Transaction,
        arguments: &[OperationArguments<'_>],
        ends: MountEnds,
        kept: &mut Vec<Promise>,
    ) -> Option<PromiseKind> {
        let call = transaction.call.as_ref()?.stamp;
        let mut opens = None;
        for about in arguments {
            match about.operation.and_then(part_of) {
                Some(PromisePart::Offloaded) if !is_lost(transaction) => {
                    let offloaded = about.offloaded();
                    let ending = Ending {
                        copied: offloaded.map(|offloaded| offloaded.copied),
                        status: offloaded.map(|offloaded| offloaded.status).filter(|status| *status != 0),
                        ..Ending::new(PromiseKind::Copy, about, ends, PromiseEnd::Kept(call))
                    };
                    self.end_promises(ending, kept);
                }
                Some(PromisePart::Recall(kind)) if has_arrived(transaction) && !is_without_state(about.status) => {
                    opens = Some(kind);
                    let promise = Promise {
                        is_answered: transaction.reply.is_some(),
                        opened: call,
                        latest: call,
                        ..Self::promise(kind, ends, transaction, about)?
                    };
                    kept.extend(self.open_state(promise, StateKey::from_arguments(about)));
                }
                Some(PromisePart::Unlocked) if !is_lost(transaction) => self.end_locks(about, ends, call, kept),
                _ => {}
            }
        }
        opens
    }

    /// Ends the waits for locks of a file: the server says that a lock may be free.
    fn end_locks(&mut self, about: &OperationArguments<'_>, ends: MountEnds, call: Stamp, kept: &mut Vec<Promise>) {
        let is_it = |open: &OpenPromise| {
            let PromiseKey::Operation(key) = &open.key else { return false };
            open.promise.kind == PromiseKind::Lock && key.is_of_file(about.handle) && open.is_older(ends, call)
        };
        while let Some(open) = self.open.iter().position(is_it).and_then(|place| self.open.remove(place)) {
            kept.push(Promise { end: PromiseEnd::Kept(call), ended_by: Some(about.name), ..*open.promise });
        }
    }

    /// Takes the status flags of a reply: the server may have revoked what it recalled. If the flag was set before the recall, or several
    /// recalls are open, nothing shows which state is gone.
    fn take_flags(&mut self, transaction: &Transaction, ends: MountEnds, kept: &mut Vec<Promise>) {
        let Some((results, reply)) = transaction.sequence_results().zip(transaction.reply.as_ref()) else { return };
        let (flags, reply) = (results.status_flags.map_or(0, |flags| flags.0), reply.stamp);
        let is_recall = |open: &OpenPromise| open.promise.is_recall() && open.is_older(ends, reply);
        let is_one = flags & ALL_REVOKED != 0 || self.open.iter().filter(|open| is_recall(open)).count() == 1;
        let is_gone = |open: &OpenPromise| is_one && open.was_clear && is_recall(open);
        if flags & (ALL_REVOKED | SOME_REVOKED) == 0 {
            self.open.iter_mut().filter(|open| is_recall(open)).for_each(|open| open.was_clear = true);
            return;
        }
        while let Some(open) = self.open.iter().position(is_gone).and_then(|place| self.open.remove(place)) {
            kept.push(Promise { end: PromiseEnd::Revoked(reply), ended_by: Some("SEQUENCE"), ..*open.promise });
        }
        let others = self.open.iter_mut().filter(|open| is_recall(open));
        others.for_each(|open| open.promise.unknown = Some(PromiseUnknown::Revoked));
    }

    /// Takes a call of the client.
    fn take_call(
        &mut self,
        transaction: &Transaction,
        arguments: &[OperationArguments<'_>],
        ends: MountEnds,
        kept: &mut Vec<Promise>,
    ) -> Option<PromiseKind> {
        self.end_retries(transaction, arguments, ends, kept);
        let mut opens = refusal(transaction).and_then(|status| self.take_refusal(transaction, arguments, ends, status));
        let began = transaction.began.or(transaction.call.as_ref().map(|call| call.stamp))?;
        if let Some(status) = lost_state(transaction) {
            opens = self.take_lost_state(transaction, arguments, ends, status);
        }
        if self.may_be_revoked(transaction) {
            self.take_flags(transaction, ends, kept);
        }
        for about in arguments {
            if about.status.is_some_and(is_revocation) {
                self.revoke_state(about, ends, began, kept);
            }
            match about.operation.and_then(part_of) {
                Some(PromisePart::Copy) => opens = self.take_copy(transaction, about, ends, kept).or(opens),
                Some(PromisePart::Return(kind)) => {
                    let ending = Ending {
                        key: StateKey::from_arguments(about),
                        is_of_all: kind == PromiseKind::Layout && about.stateid.is_none(),
                        ..Ending::new(kind, about, ends, PromiseEnd::Kept(began))
                    };
                    self.end_promises(ending, kept);
                }
                Some(PromisePart::Cancel) if about.status == Some(0) => {
                    self.end_promises(Ending::new(PromiseKind::Copy, about, ends, PromiseEnd::Cancelled(began)), kept);
                }
                Some(PromisePart::StreamProgress) => self.take_progress(transaction, about, ends, kept),
                Some(PromisePart::SetUp) if about.status == Some(0) => {
                    self.set_up_state(transaction, about, ends, kept)
                }
                Some(PromisePart::Free) if about.status == Some(0) => self.revoke_state(about, ends, began, kept),
                _ => {}
            }
        }
        opens
    }

    /// A promise that an RPC opens.
    fn promise(
        kind: PromiseKind,
        MountEnds { client, server }: MountEnds,
        transaction: &Transaction,
        about: &OperationArguments<'_>,
    ) -> Option<Promise> {
        let call = transaction.call.as_ref()?.stamp;
        let opened = transaction.reply.as_ref().map_or(call, |reply| reply.stamp);
        Some(Promise {
            kind,
            client,
            server,
            procedure: transaction.procedure?,
            operation: about.name,
            operations: transaction.operations.iter().map(|operation| operation.name).collect(),
            handle: self::kept(about.named_handle.or(about.handle.filter(|_| about.file_name.is_none()))),
            file_name: self::kept(about.file_name),
            call,
            began: transaction.began.unwrap_or(call),
            opened,
            latest: opened,
            refusals: 0,
            refused_ns: 0,
            status: None,
            copied: None,
            is_answered: true,
            holder: None,
            callback: None,
            end: PromiseEnd::Open,
            ended_by: None,
            unknown: None,
        })
    }

    /// Adds a promise. Returns the promise if an RPC that ended earlier keeps the promise.
    fn open_state(&mut self, promise: Promise, key: StateKey) -> Option<Promise> {
        let is_known = |open: &OpenPromise| {
            let PromiseKey::State(known) = &open.key else { return false };
            (open.promise.kind, open.promise.client, open.promise.server)
                == (promise.kind, promise.client, promise.server)
                && known.is_same(&key)
        };
        if self.open.iter().any(is_known) {
            return None;
        }
        let is_end = |ending: &Ending| {
            let is_later = ending.end.stamp().is_some_and(|stamp| stamp.frame > promise.call.frame);
            is_later && ending.is_of(&promise, &key)
        };
        if let Some(ending) = self.early.iter().find(|ending| is_end(ending)).cloned() {
            return Some(self.remember(promise, &ending));
        }
        self.add_open(promise, PromiseKey::State(key));
        None
    }

    fn add_open(&mut self, promise: Promise, key: PromiseKey) {
        if self.open.len() == OPEN
            && let Some(oldest) = self.open.pop_front()
            && self.left_out.len() < OPEN
        {
            self.left_out.push_back(oldest.promise);
        }
        self.open.push_back(OpenPromise { promise: Box::new(promise), key, was_clear: false });
    }

    /// Returns a promise with the end of that promise. Recalls are remembered: an operation may have waited for them.
    fn remember(&mut self, promise: Promise, ending: &Ending) -> Promise {
        let Ending { end, by, copied, status, .. } = *ending;
        let (copied, status) = (copied.or(promise.copied), status.or(promise.status));
        let promise = Promise { end, ended_by: Some(by), copied, status, ..promise };
        if promise.is_recall() {
            if self.returned.len() == RETURNED {
                self.returned.pop_front();
            }
            self.returned.push_back(promise.clone());
        }
        promise
    }

    /// Ends the promises that an RPC keeps.
    fn end_promises(&mut self, ending: Ending, kept: &mut Vec<Promise>) {
        let is_end = |open: &OpenPromise| {
            let PromiseKey::State(key) = &open.key else { return false };
            let is_later = ending.end.stamp().is_some_and(|stamp| stamp.frame > open.promise.call.frame);
            is_later && ending.is_of(&open.promise, key)
        };
        while let Some(open) = self.open.iter().position(is_end).and_then(|place| self.open.remove(place)) {
            let promise = self.remember(*open.promise, &ending);
            kept.push(promise);
        }
        if self.early.len() == EARLY {
            self.early.pop_front();
        }
        self.early.push_back(ending);
    }

    /// Ends the promises about a state that the server no longer knows.
    fn revoke_state(&mut self, about: &OperationArguments<'_>, ends: MountEnds, stamp: Stamp, kept: &mut Vec<Promise>) {
        let key = StateKey::from_stateid(about);
        let mut others = VecDeque::with_capacity(self.open.len());
        while let Some(open) = self.open.pop_front() {
            let is_it = ends.are_of(&open.promise)
                && stamp.frame > open.promise.call.frame
                && matches!(&open.key, PromiseKey::State(known) if known.other.is_some() && known.other == key.other);
            if is_it {
                kept.push(Promise { end: PromiseEnd::Revoked(stamp), ended_by: Some(about.name), ..*open.promise });
            } else {
                others.push_back(open);
            }
        }
        self.open = others;
    }

    /// Takes a COPY whose results come later.
    fn take_copy(
        &mut self,
        transaction: &Transaction,
        about: &OperationArguments<'_>,
        ends: MountEnds,
        kept: &mut Vec<Promise>,
    ) -> Option<PromiseKind> {
        let copy = about.copy().filter(|copy| about.status == Some(0) && !copy.is_synchronous)?;
        let other = copy.callback_stateid?.get(4..).map(Box::from);
        let promise = Promise {
            copied: Some(copy.copied).filter(|copied| *copied > 0),
            ..Self::promise(PromiseKind::Copy, ends, transaction, about)?
        };
        kept.extend(self.open_state(promise, StateKey { other, handle: None }));
        Some(PromiseKind::Copy)
    }

    /// Takes the answer to OFFLOAD_STATUS.
    fn take_progress(
        &mut self,
        transaction: &Transaction,
        about: &OperationArguments<'_>,
        ends: MountEnds,
        kept: &mut Vec<Promise>,
    ) {
        let Some(reply) = transaction.reply.as_ref().map(|reply| reply.stamp) else { return };
        let Some(progress) = about.offload_progress().filter(|_| about.status == Some(0)) else { return };
        let ending = Ending {
            copied: Some(progress.copied),
            status: progress.complete.filter(|status| *status != 0),
            ..Ending::new(PromiseKind::Copy, about, ends, PromiseEnd::Kept(reply))
        };
        if progress.complete.is_some() {
            return self.end_promises(ending, kept);
        }
        let is_it =
            |open: &&mut OpenPromise| matches!(&open.key, PromiseKey::State(key) if ending.is_of(&open.promise, key));
        for open in self.open.iter_mut().filter(is_it) {
            (open.promise.latest, open.promise.copied) = (reply, Some(progress.copied));
        }
    }

    /// Takes an operation that the server refused for now.
    fn take_refusal(
        &mut self,
        transaction: &Transaction,
        arguments: &[OperationArguments<'_>],
        ends: MountEnds,
        status: u32,
    ) -> Option<PromiseKind> {
        let about = refused_operation(arguments, status)?;
        let key = OperationKey::from_arguments(transaction.procedure?, about, arguments)?;
        let kind = match status {
            DENIED if key.waits_for_lock() => PromiseKind::Lock,
            DENIED => return None,
            _ => PromiseKind::Retry,
        };
        let reply = transaction.reply.as_ref()?.stamp;
        let took = transaction.latency().unwrap_or_default();
        let began = transaction.began.unwrap_or(transaction.call.as_ref()?.stamp);
        let is_it = |open: &&mut OpenPromise| open.is_before(ends, &key, began);
        if let Some(OpenPromise { promise, .. }) = self.open.iter_mut().find(is_it) {
            promise.refuse_again(reply, took, Some(status));
            return Some(promise.kind);
        }
        let promise = Self::promise(kind, ends, transaction, about)?;
        self.add_open(
            Promise { refusals: 1, refused_ns: took, status: Some(status), ..promise },
            PromiseKey::Operation(key),
        );
        Some(kind)
    }

    /// Takes an RPC that failed because the server no longer knows the state of the client.
    fn take_lost_state(
        &mut self,
        transaction: &Transaction,
        arguments: &[OperationArguments<'_>],
        ends: MountEnds,
        status: u32,
    ) -> Option<PromiseKind> {
        let about = arguments.iter().find(|about| about.status == Some(status))?;
        let (reply, began) = (transaction.reply.as_ref()?.stamp, transaction.began?);
        // The call may have been on the way while the client set up the state again.
        let set_up = self.find_pair(ends).and_then(|pair| pair.set_up);
        if set_up.is_some_and(|set_up| began.frame < set_up.frame) {
            return Some(PromiseKind::ClientState);
        }
        let took = transaction.latency().unwrap_or_default();
        let is_it = |open: &&mut OpenPromise| matches!(open.key, PromiseKey::Client) && ends.are_of(&open.promise);
        if let Some(open) = self.open.iter_mut().find(is_it) {
            // A stale client ID says more than the loss of the session.
            let is_stale = matches!(status, STALE_CLIENTID | STALE_STATEID);
            let status = if is_stale { Some(status) } else { open.promise.status };
            open.promise.refuse_again(reply, took, status);
            return Some(PromiseKind::ClientState);
        }
        let promise = Self::promise(PromiseKind::ClientState, ends, transaction, about)?;
        let (handle, file_name, status) = (None, None, Some(status));
        self.add_open(
            Promise { refusals: 1, refused_ns: took, status, handle, file_name, ..promise },
            PromiseKey::Client,
        );
        Some(PromiseKind::ClientState)
    }

    /// Takes the reply that confirms a client ID, or creates a session.
    fn set_up_state(
        &mut self,
        transaction: &Transaction,
        about: &OperationArguments<'_>,
        ends: MountEnds,
        kept: &mut Vec<Promise>,
    ) {
        let Some(reply) = transaction.reply.as_ref().map(|reply| reply.stamp) else { return };
        self.find_pair(ends).into_iter().for_each(|pair| pair.set_up = Some(reply));
        let is_it = |open: &OpenPromise| matches!(open.key, PromiseKey::Client) && open.is_older(ends, reply);
        let open = self.open.iter().position(is_it).and_then(|place| self.open.remove(place));
        kept.extend(open.map(|open| Promise {
            end: PromiseEnd::Kept(reply),
            ended_by: Some(about.name),
            ..*open.promise
        }));
    }

    /// Takes the operations of an RPC that were not refused.
    fn end_retries(
        &mut self,
        transaction: &Transaction,
        arguments: &[OperationArguments<'_>],
        ends: MountEnds,
        kept: &mut Vec<Promise>,
    ) {
        let Some((procedure, began)) = transaction.procedure.zip(transaction.began) else { return };
        let refused = refusal(transaction);
        for about in arguments {
            let is_open = self.open.iter().any(|open| matches!(open.key, PromiseKey::Operation(_)));
            // Without a reply, the retry is on the way: the call waits, and not the promise.
            let was_reached = about.status.is_some() || transaction.reply.is_none();
            if !is_open || !was_reached || refused.is_some() && about.status == refused {
                continue;
            }
            let Some(key) = OperationKey::from_arguments(procedure, about, arguments) else { continue };
            let Some(place) = self.open.iter().position(|open| open.is_before(ends, &key, began)) else { continue };
            let Some(open) = self.open.remove(place) else { continue };
            let handle = self::kept(about.named_handle).or_else(|| open.promise.handle.clone());
            let mut promise =
                Promise { handle, end: PromiseEnd::Kept(began), ended_by: Some(about.name), ..*open.promise };
            promise.holder = self.find_holder(&promise);
            kept.push(promise);
        }
    }

    /// The client whose delegation an operation waited for, or waits for: the server recalled one for the same file before the
    /// last refusal, and the client returned the delegation after the first. If the capture does not show the file, the server
    /// recalled one delegation only while the server had the first call, or if none, within a second after the reply.
    fn find_holder(&self, promise: &Promise) -> Option<DelegationHolder> {
        let recalls = self.open.iter().map(|open| &*open.promise).chain(&self.returned);
        let recalls =
            recalls.filter(|recall| recall.kind == PromiseKind::Delegation && recall.server == promise.server);
        let until = promise.end.stamp();
        let is_during = |recall: &&Promise| {
            let is_before = until.is_none_or(|until| recall.opened.frame < until.frame);
            is_before && recall.end.stamp().is_none_or(|returned| returned.frame > promise.opened.frame)
        };
        let during: Vec<_> = recalls.filter(is_during).collect();
        let holder = |recall: &Promise| DelegationHolder {
            client: recall.client,
            recalled: recall.opened,
            returned: recall.end.stamp(),
        };
        if promise.handle.is_some() {
            let same = during.iter().filter(|recall| recall.handle == promise.handle);
            // The last to return the delegation, if several clients have one.
            return same
                .max_by_key(|recall| recall.end.stamp().map_or(u64::MAX, |end| end.frame))
                .map(|recall| holder(recall));
        }
        let began = promise.began.frame;
        let in_call = |recall: &&&Promise| (began..promise.opened.frame).contains(&recall.opened.frame);
        let soon = promise.opened.time.0.saturating_add(SOON);
        let after_reply = |recall: &&&Promise| recall.opened.frame > began && recall.opened.time.0 <= soon;
        let in_call: Vec<_> = during.iter().filter(in_call).collect();
        let first = if in_call.is_empty() { during.iter().filter(after_reply).collect() } else { in_call };
        match first[..] {
            [recall] => Some(holder(recall)),
            _ => None,
        }
    }

    /// The next promise of which the capture shows no end, once the capture has ended.
    pub(crate) fn release_open(&mut self) -> Option<Box<Promise>> {
        if let Some(promise) = self.left_out.pop_front() {
            return Some(Box::new(Promise { unknown: Some(PromiseUnknown::LeftOut), ..*promise }));
        }
        // A recall is needed until the last operation has gone that may wait for the recall.
        let is_retry = |open: &OpenPromise| matches!(open.key, PromiseKey::Operation(_));
        let place = self.open.iter().position(is_retry).unwrap_or_default();
        let OpenPromise { mut promise, .. } = self.open.remove(place)?;
        let ends = MountEnds { client: promise.client, server: promise.server };
        let facts = self.pairs.iter().find(|pair| pair.ends == ends);
        promise.callback = facts.and_then(|facts| facts.callback);
        let missing = facts.and_then(|facts| match facts.unreadable {
            _ if facts.has_gaps => Some(PromiseUnknown::PacketsMissing),
            Some(unreadable) if unreadable.frame > promise.opened.frame => Some(PromiseUnknown::Unreadable),
            _ => None,
        });
        promise.unknown = missing.or(promise.unknown);
        if promise.kind == PromiseKind::Retry {
            promise.holder = self.find_holder(&promise);
        }
        Some(promise)
    }
}

/// The later one of two frames.
fn later(one: Option<Stamp>, other: Option<Stamp>) -> Option<Stamp> {
    one.into_iter().chain(other).max_by_key(|stamp| stamp.frame)
}

/// Nanoseconds within which a server sends a recall after refusing an operation because of the delegation.
const SOON: u64 = 1_000_000_000;

/// Returns true if a call without a reply was never acknowledged, or was refused.
fn is_lost(transaction: &Transaction) -> bool {
    let delivery = transaction.waiting.map(|waiting| waiting.delivery);
    matches!(delivery, Some(Delivery::Unacknowledged { .. } | Delivery::Refused(_)))
}

/// Returns true if the client has a recall, as far as the capture shows.
fn has_arrived(transaction: &Transaction) -> bool {
    let is_accepted = transaction.waiting.is_some_and(|waiting| waiting.delivery == Delivery::Accepted);
    transaction.reply.is_some() || is_accepted
}

/// Returns true if a client answers a recall that there is nothing to return.
const fn is_without_state(status: Option<u32>) -> bool {
    matches!(status, Some(BADHANDLE | BAD_STATEID | NOMATCHING_LAYOUT))
}

impl Ending {
    /// The end of promises about the state of an operation.
    fn new(kind: PromiseKind, about: &OperationArguments<'_>, ends: MountEnds, end: PromiseEnd) -> Self {
        let key = StateKey::from_stateid(about);
        Self { kind, ends, key, is_of_all: false, end, by: about.name, copied: None, status: None }
    }

    fn is_of(&self, promise: &Promise, key: &StateKey) -> bool {
        // A recall of all layouts of a file system has neither a handle nor a state.
        let is_layout = self.kind == PromiseKind::Layout && (self.is_of_all || key.other.is_none());
        promise.kind == self.kind && self.ends.are_of(promise) && (is_layout || self.key.is_same(key))
    }
}

impl OpenPromise {
    /// Returns true for a promise of these ends that was opened by a call before a frame.
    fn is_older(&self, ends: MountEnds, stamp: Stamp) -> bool {
        ends.are_of(&self.promise) && self.promise.call.frame < stamp.frame
    }

    /// Returns true if the operation was refused before a call with the same key began.
    fn is_before(&self, ends: MountEnds, key: &OperationKey, began: Stamp) -> bool {
        let is_same = matches!(&self.key, PromiseKey::Operation(own) if own == key);
        is_same && ends.are_of(&self.promise) && self.promise.latest.frame < began.frame
    }
}

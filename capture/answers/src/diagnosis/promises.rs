//! Causes above RPC: operations that the server refused for now, asynchronous COPYs without an end, locks of others.

use std::collections::BTreeMap;

use rpcrdma_dissector::{Address, CaptureEnd, DelegationHolder, Promise, PromiseEnd, PromiseKind};

use super::cause::{Cause, RpcCauses, UNANSWERED};
use super::recalls::{ClientDelay, RecallWaits};
use super::tally::{RpcSubject, Tally};
use crate::format::number::{duration, times};
use crate::promises::{OpenState, abandoned, back_channel, lost, owed, owed_since, status_name, subject};
use crate::stats::StatusName;

/// Minimum age of a COPY without an end that counts as unfinished, in nanoseconds.
const UNFINISHED: u64 = 10_000_000_000;
/// The most RPCs that opened a promise whose places are known.
const OPENINGS: usize = 16_384;
/// The most servers and statuses that are told apart.
const KEYS: usize = 1000;

/// NFS4ERR_EXPIRED (RFC 8881 section 15.1.5.4): the lease of the client has ended.
const EXPIRED: u32 = 10_011;

/// Operations that a server refused in its grace period.
#[derive(Clone, Copy, Debug)]
pub(super) struct GracePeriod {
    /// Times of the first call and of the end of the last wait, in nanoseconds since 1970.
    pub(super) from: u64,
    pub(super) until: u64,
    pub(super) operations: u64,
    pub(super) refusals: u64,
    /// Operations that were not made again by the end of the capture.
    pub(super) open: u64,
}

/// An RPC that failed because the server no longer knew the state of the client.
#[derive(Clone, Debug)]
struct LostState {
    status: StatusName,
    subject: RpcSubject,
    /// Place among all RPCs.
    place: u64,
}

/// A recovery: a client set up state again that the server had lost.
#[derive(Clone, Debug)]
pub(super) struct SetUp {
    pub(super) client: Address,
    pub(super) server: Address,
    /// The failures in words.
    pub(super) lost: String,
    /// True if the lease of the client had ended.
    pub(super) is_expired: bool,
    /// The frames of the first call that failed and of the last reply, and the nanoseconds between.
    from: u64,
    until: u64,
    pub(super) took: u64,
}

/// Waits for promises above RPC.
#[derive(Clone, Debug, Default)]
pub(super) struct PromiseWaits {
    /// Operations that were refused in a grace period.
    pub(super) grace: Tally,
    pub(super) periods: BTreeMap<Address, GracePeriod>,
    /// Operations that were refused for now for another reason.
    pub(super) later: Tally,
    pub(super) statuses: BTreeMap<String, u64>,
    pub(super) later_open: u64,
    /// LOCKs that were denied.
    pub(super) locks: Tally,
    pub(super) locks_open: u64,
    /// COPYs without CB_OFFLOAD: those without an end, and those that the client gave up after a long time.
    pub(super) copies: Tally,
    pub(super) copies_open: u64,
    /// The one of these that lasted longest, and its state in words.
    pub(super) oldest_copy: Option<(u64, String)>,
    pub(super) has_back_channel: bool,
    /// The longest time that a COPY took, in nanoseconds.
    longest_copy: u64,
    /// RPCs that failed because the state of the client was gone: failures, unless the client set up the state again.
    lost: Vec<LostState>,
    pub(super) set_up: Vec<SetUp>,
    /// Waiting time that is in no latency.
    pub(super) between: u64,
    /// Promises without an end.
    open: Vec<Promise>,
    /// RPCs that opened promises: frame of the call, and place among all RPCs.
    openings: BTreeMap<u64, u64>,
    /// Causes of the RPCs that opened a promise without an end, by their places among all RPCs.
    settled: Vec<(u64, Cause)>,
}

/// Wait of an operation, from the first call.
struct PromiseWait<'a> {
    promise: &'a Promise,
    nanoseconds: u64,
    is_open: bool,
}

/// The cause that a wait was counted for.
struct CountedWait {
    cause: Cause,
    /// True if no earlier wait of the cause was as long.
    is_greatest: bool,
}

/// The operation of a promise as an RPC.
fn promise_subject(promise: &Promise, file: Option<String>) -> RpcSubject {
    let operation = match promise.procedure.version {
        4 => format!("NFSv4 {}", promise.operation),
        _ => promise.operation.to_owned(),
    };
    RpcSubject {
        client: promise.client,
        server: promise.server,
        operation,
        is_reverse: false,
        file,
        began: promise.began.time.0,
        frame: promise.call.frame,
        latency: None,
        joined_wait: None,
    }
}

fn file(promise: &Promise, known: Option<String>) -> Option<String> {
    promise.file_name.as_deref().map(crate::file_names::escaped).or(known)
}

impl PromiseWaits {
    /// Takes an RPC that opened a promise.
    pub(super) fn note_opening(&mut self, call_frame: u64, place: u64) {
        if self.openings.len() < OPENINGS {
            self.openings.insert(call_frame, place);
        }
    }

    /// Causes of the RPCs that opened a promise without an end, by their places among all RPCs.
    pub(super) fn settled(&self) -> &[(u64, Cause)] {
        &self.settled
    }

    /// Takes a promise that the RPC `keeper` kept.
    pub(super) fn add_kept(
        &mut self,
        promise: &Promise,
        keeper: &RpcSubject,
        recalled: &mut RecallWaits,
        causes: &mut RpcCauses,
    ) {
        self.openings.remove(&promise.call.frame);
        if promise.kind == PromiseKind::ClientState {
            return self.add_set_up(promise);
        }
        let Some(nanoseconds) = promise.waited() else { return };
        let is_abandoned = matches!(promise.end, PromiseEnd::Cancelled(_) | PromiseEnd::Revoked(_));
        if promise.kind == PromiseKind::Copy {
            if is_abandoned && nanoseconds < self.least(promise.kind) {
                return;
            }
            match is_abandoned {
                true => self.add_copy(promise, nanoseconds, abandoned(promise)),
                false => self.longest_copy = self.longest_copy.max(nanoseconds),
            }
        }
        let file = file(promise, keeper.file.clone());
        let subject = RpcSubject { frame: keeper.frame, ..promise_subject(promise, file) };
        let wait = PromiseWait { promise, nanoseconds, is_open: false };
        if let Some(counted) = self.add_wait(&wait, &subject, recalled) {
            causes.add_cause(counted.cause, counted.is_greatest);
        }
    }

    /// Takes an RPC that failed because the state of the client was gone, and the place of the RPC among all.
    pub(super) fn hold_lost(&mut self, status: StatusName, subject: RpcSubject, place: u64) {
        if self.lost.len() < OPENINGS {
            self.lost.push(LostState { status, subject, place });
        }
    }

    fn add_set_up(&mut self, promise: &Promise) {
        let Some(until) = promise.end.stamp().filter(|_| self.set_up.len() < KEYS) else { return };
        self.set_up.push(SetUp {
            client: promise.client,
            server: promise.server,
            lost: lost(promise),
            is_expired: promise.status == Some(EXPIRED),
            from: promise.call.frame,
            until: until.frame,
            took: promise.waited().unwrap_or_default(),
        });
    }

    /// Drops the RPCs whose clients set up their state again, as a part or the whole of the capture shows.
    pub(super) fn drop_set_up(&mut self, set_up: &[SetUp]) {
        let is_of = |lost: &LostState, again: &SetUp| {
            let ends = (lost.subject.client, lost.subject.server);
            ends == (again.client, again.server) && (again.from..again.until).contains(&lost.subject.frame)
        };
        self.lost.retain(|lost| !set_up.iter().any(|again| is_of(lost, again)));
    }

    /// Takes a promise without an end.
    pub(super) fn add_open(&mut self, promise: &Promise) {
        self.open.push(promise.clone());
    }

    /// Adds the waits for promises without an end. Calls `failed` for each operation that the client gave up.
    pub(super) fn settle_open(
        &mut self,
        end: CaptureEnd,
        recalled: &mut RecallWaits,
        mut failed: impl FnMut(StatusName, &RpcSubject),
    ) {
        let set_up = core::mem::take(&mut self.set_up);
        self.drop_set_up(&set_up);
        self.set_up = set_up;
        for LostState { status, subject, place } in core::mem::take(&mut self.lost) {
            failed(status, &subject);
            self.settled.push((place, Cause::Errors));
        }
        for promise in core::mem::take(&mut self.open) {
            let subject = promise_subject(&promise, file(&promise, None));
            let nanoseconds = end.at_least_since(promise.began);
            match OpenState::from_promise(&promise, end) {
                OpenState::GivenUp => {
                    if let Some((name, number)) = status_name(&promise).zip(promise.status) {
                        failed(StatusName { name, number }, &subject);
                    }
                }
                OpenState::Open if nanoseconds >= self.least(promise.kind) => {
                    let wait = PromiseWait { promise: &promise, nanoseconds, is_open: true };
                    if promise.kind == PromiseKind::Copy {
                        self.add_copy(&promise, nanoseconds, owed(&promise, end));
                    }
                    let counted = self.add_wait(&wait, &subject, recalled);
                    let place = self.openings.get(&promise.call.frame);
                    self.settled.extend(place.zip(counted).map(|(place, counted)| (*place, counted.cause)));
                }
                OpenState::Open | OpenState::Unknown(_) => {}
            }
        }
    }

    /// The least age of an open promise that is a wait. A COPY may take as long as another one.
    fn least(&self, kind: PromiseKind) -> u64 {
        match kind {
            PromiseKind::Copy => self.longest_copy.saturating_mul(2).max(UNFINISHED),
            _ => UNANSWERED,
        }
    }

    /// Takes a COPY without CB_OFFLOAD, and the state of that COPY in words.
    fn add_copy(&mut self, promise: &Promise, nanoseconds: u64, state: String) {
        self.has_back_channel |= promise.callback.is_some();
        if self.oldest_copy.as_ref().is_none_or(|(oldest, _)| nanoseconds > *oldest) {
            let text = format!("{} in frame {}: {state}", subject(promise), promise.call.frame);
            self.oldest_copy = Some((nanoseconds, text));
        }
    }

    /// Adds a wait to the cause of that wait. A COPY that CB_OFFLOAD ended, and a recall by itself, are no waits of an operation.
    fn add_wait(
        &mut self,
        wait: &PromiseWait<'_>,
        subject: &RpcSubject,
        recalled: &mut RecallWaits,
    ) -> Option<CountedWait> {
        let PromiseWait { promise, nanoseconds, is_open } = *wait;
        let words = || times_refused(promise);
        let (cause, is_greatest) = match promise.kind {
            PromiseKind::Retry if promise.is_in_grace() => {
                self.add_period(wait);
                (Cause::ServerGrace, self.grace.add_with(nanoseconds, subject, words))
            }
            PromiseKind::Retry if promise.holder.is_some() => {
                let delay = promise.holder.map(|holder| delay_of(wait, holder))?;
                (Cause::DelegationRecall, recalled.add_retried(&delay, subject, is_open))
            }
            PromiseKind::Retry => {
                let status = status_name(promise).unwrap_or_default();
                if self.statuses.len() < KEYS || self.statuses.contains_key(&status) {
                    *self.statuses.entry(status).or_default() += promise.refusals;
                }
                self.later_open += u64::from(is_open);
                (Cause::RefusedForNow, self.later.add_with(nanoseconds, subject, words))
            }
            PromiseKind::Lock => {
                self.locks_open += u64::from(is_open);
                (Cause::LockHeld, self.locks.add_with(nanoseconds, subject, words))
            }
            PromiseKind::Copy if !matches!(promise.end, PromiseEnd::Kept(_)) => {
                self.copies_open += u64::from(is_open);
                (Cause::CopyUnfinished, self.copies.add_with(nanoseconds, subject, || back_channel(promise)))
            }
            _ => return None,
        };
        self.between = self.between.saturating_add(nanoseconds.saturating_sub(promise.refused_ns));
        Some(CountedWait { cause, is_greatest })
    }

    fn add_period(&mut self, PromiseWait { promise, nanoseconds, is_open }: &PromiseWait<'_>) {
        if self.periods.len() >= KEYS && !self.periods.contains_key(&promise.server) {
            return;
        }
        let from = promise.began.time.0;
        let until = from.saturating_add(*nanoseconds);
        let new = GracePeriod { from, until, operations: 0, refusals: 0, open: 0 };
        let period = self.periods.entry(promise.server).or_insert(new);
        (period.from, period.until) = (period.from.min(from), period.until.max(until));
        period.operations += 1;
        period.refusals += promise.refusals;
        period.open += u64::from(*is_open);
    }
}

/// The refusals of the operation that waited longest.
fn times_refused(promise: &Promise) -> String {
    let since = promise.call.frame;
    let until = promise.end.stamp().map_or_else(
        || format!("last in frame {}, and not made again", promise.latest.frame),
        |_| "and made again then".to_owned(),
    );
    format!("refused {} since frame {since}, {until}", times(promise.refusals))
}

/// The wait for a client that has a delegation.
fn delay_of(wait: &PromiseWait<'_>, holder: DelegationHolder) -> ClientDelay {
    let PromiseWait { promise, nanoseconds, .. } = *wait;
    let DelegationHolder { client, recalled, returned, .. } = holder;
    let refused = format!("{} refused it {}", promise.server, times(promise.refusals));
    let text = match returned {
        Some(returned) => {
            let took = duration(returned.time.0.saturating_sub(recalled.time.0));
            format!(
                "{refused}, while client {client} took {took} after CB_RECALL (frame {}) to return the delegation (frame {})",
                recalled.frame, returned.frame
            )
        }
        None => {
            format!("{refused}, and client {client} owes DELEGRETURN since frame {} (CB_RECALL)", owed_since(promise))
        }
    };
    ClientDelay { client, nanoseconds, frame: recalled.frame, text }
}

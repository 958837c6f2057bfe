//! Promises above RPC in words, and counts of them: retries of refused operations, asynchronous COPYs, recalls, locks.

use std::collections::BTreeMap;

use rpcrdma_dissector::nfs::status;
use rpcrdma_dissector::{CaptureEnd, DelegationHolder, Promise, PromiseEnd, PromiseKind, PromiseUnknown, Transaction};

use crate::file_names::escaped;
use crate::format::number::{counted, duration, grouped, times};

/// Nanoseconds after a refusal within which a client makes an operation again: twice the longest wait of Linux.
const GIVEN_UP: u64 = 30_000_000_000;

/// State of a promise at the end of the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OpenState {
    /// The promise is open.
    Open,
    /// The client has not made the operation again for so long that the client has probably given up.
    GivenUp,
    /// The end may be missing from the capture.
    Unknown(PromiseUnknown),
}

impl OpenState {
    pub(crate) fn from_promise(promise: &Promise, end: CaptureEnd) -> Self {
        let is_retry = matches!(promise.kind, PromiseKind::Retry | PromiseKind::Lock);
        let waits_for_holder = matches!(promise.holder, Some(DelegationHolder { returned: None, .. }));
        match promise.unknown {
            Some(unknown) => Self::Unknown(unknown),
            None if is_retry && !waits_for_holder && end.at_least_since(promise.latest) > GIVEN_UP => Self::GivenUp,
            None => Self::Open,
        }
    }
}

/// Name of the last status that refused an operation, or of the failure of a COPY.
pub(crate) fn status_name(promise: &Promise) -> Option<String> {
    let number = promise.status?;
    let is_nfs4 = || status::nfs4_name(number);
    let name = match promise.kind {
        PromiseKind::Copy => is_nfs4(),
        _ => status::name(&promise.procedure, false, number).or_else(is_nfs4),
    };
    Some(name.map_or_else(|| format!("status {number}"), str::to_owned))
}

/// The promise about an operation that the server refused, if an RPC is the one in which the operation was made again.
pub(crate) fn refused_before(transaction: &Transaction) -> Option<&Promise> {
    let is_retry = |promise: &&Promise| matches!(promise.kind, PromiseKind::Retry | PromiseKind::Lock);
    transaction.keeps.iter().filter(|_| !transaction.reverse).filter(is_retry).max_by_key(|promise| promise.waited())
}

/// Nanoseconds that an operation took: the latency, and before that the time since the first call that the server refused.
pub(crate) fn operation_time(transaction: &Transaction) -> Option<u64> {
    let waited = refused_before(transaction).and_then(Promise::waited).unwrap_or_default();
    Some(transaction.latency()?.saturating_add(waited))
}

/// The operation, and the name of the file if the RPC has the name.
pub(crate) fn subject(promise: &Promise) -> String {
    match &promise.file_name {
        Some(name) => format!("{} of {}", promise.operation, escaped(name)),
        None => promise.operation.to_owned(),
    }
}

/// The step that is owed.
pub(crate) const fn owed_step(promise: &Promise) -> &'static str {
    match (promise.kind, promise.holder) {
        (PromiseKind::Copy, _) => "CB_OFFLOAD",
        (PromiseKind::Delegation, _) | (PromiseKind::Retry, Some(DelegationHolder { returned: None, .. })) => {
            "DELEGRETURN"
        }
        (PromiseKind::Layout, _) => "LAYOUTRETURN",
        (PromiseKind::Lock, _) => "lock",
        (PromiseKind::ClientState, _) => "state",
        _ => "retry",
    }
}

/// The frame since which the step is owed.
pub(crate) fn owed_since(promise: &Promise) -> u64 {
    match promise.holder {
        Some(DelegationHolder { returned: None, recalled, .. }) => recalled.frame,
        _ if promise.kind == PromiseKind::Retry || promise.kind == PromiseKind::Lock => promise.latest.frame,
        _ => promise.opened.frame,
    }
}

/// The calls of the server to the client, on which a COPY depends.
pub(crate) fn back_channel(promise: &Promise) -> String {
    let Promise { client, server, .. } = promise;
    match promise.callback {
        Some(callback) => format!("the last call of {server} to {client} is in frame {}", callback.frame),
        None => format!(
            "the capture holds no call of {server} to {client}: the back channel is missing, or on a connection that was not captured"
        ),
    }
}

/// The refusals of an operation.
pub(crate) fn refused(promise: &Promise) -> String {
    let status = status_name(promise).map(|name| format!(" ({name})")).unwrap_or_default();
    format!("refused {}{status}", times(promise.refusals))
}

/// The failures that showed the loss of a client's state.
pub(crate) fn lost(promise: &Promise) -> String {
    let (status, frame) = (status_name(promise).unwrap_or_default(), promise.call.frame);
    match promise.refusals {
        1 => format!("a call failed with {status} (frame {frame})"),
        calls => format!("{} calls failed from frame {frame} on, at least one of them with {status}", grouped(calls)),
    }
}

/// The end that owes the next step at the end of the capture, and that step, in words.
pub(crate) fn owed(promise: &Promise, end: CaptureEnd) -> String {
    let Promise { client, server, latest, .. } = promise;
    let since = owed_since(promise);
    let state = OpenState::from_promise(promise, end);
    if let OpenState::Unknown(reason) = state {
        return format!(
            "not known whether {}: {reason}",
            match promise.kind {
                PromiseKind::Retry | PromiseKind::Lock =>
                    format!("{client} made it again after frame {}", latest.frame),
                PromiseKind::ClientState => format!("{client} set up its state again"),
                _ => format!("{} followed", owed_step(promise)),
            }
        );
    }
    if state == OpenState::GivenUp {
        let silent = duration(end.at_least_since(*latest));
        return format!("{}; {client} has not made it again for {silent}, and has probably given up", refused(promise));
    }
    match (promise.kind, promise.holder) {
        (PromiseKind::Retry, Some(DelegationHolder { client: holder, returned: None, .. })) => {
            format!("{}: client {holder} owes DELEGRETURN since frame {since} (CB_RECALL)", refused(promise))
        }
        (PromiseKind::Retry, _) if promise.is_in_grace() => {
            format!("{}: {server} is in its grace period; {client} has to make it again", refused(promise))
        }
        (PromiseKind::Retry, _) => {
            format!("{}, last in frame {}; {client} has to make it again", refused(promise), latest.frame)
        }
        (PromiseKind::Lock, _) => format!(
            "{}, last in frame {}: another owner holds a lock; {client} asks again, or waits for CB_NOTIFY_LOCK",
            refused(promise),
            latest.frame
        ),
        (PromiseKind::Copy, _) => {
            let progress = match promise.copied {
                Some(copied) if latest.frame > promise.opened.frame => {
                    format!("; {} bytes were copied by frame {}", grouped(copied), latest.frame)
                }
                _ => String::new(),
            };
            format!("{server} owes CB_OFFLOAD since frame {since}{progress}; {}", back_channel(promise))
        }
        (PromiseKind::ClientState, _) => format!(
            "{}: {server} no longer knows the state of {client}, which has to set up the state again",
            lost(promise)
        ),
        (kind, _) => format!(
            "client {client} owes {} since frame {since}{}",
            owed_step(promise),
            if promise.is_answered {
                String::new()
            } else {
                format!(
                    ", and has not answered CB_{}",
                    if kind == PromiseKind::Layout { "LAYOUTRECALL" } else { "RECALL" }
                )
            }
        ),
    }
}

/// The end of a COPY that the client gave up, in words.
pub(crate) fn abandoned(promise: &Promise) -> String {
    let Promise { client, server, end, .. } = promise;
    let waited = promise.waited().map(|waited| format!(" after {}", duration(waited))).unwrap_or_default();
    let frame = end.stamp().map_or(0, |stamp| stamp.frame);
    let by = promise.ended_by.unwrap_or("its end");
    match end {
        PromiseEnd::Revoked(_) => {
            format!("{client} gave up{waited} ({by} in frame {frame}), and {server} no longer knew the COPY")
        }
        _ => format!("{client} gave up{waited} ({by} in frame {frame})"),
    }
}

/// A promise that an RPC kept, in a few words beside the RPC.
pub(crate) fn kept(promise: &Promise) -> String {
    let frame = promise.call.frame;
    let waited = promise.waited().map(|waited| format!(", {}", duration(waited))).unwrap_or_default();
    match (promise.kind, promise.end) {
        (PromiseKind::Retry | PromiseKind::Lock, _) => format!("refused {}{waited}", times(promise.refusals)),
        (PromiseKind::ClientState, _) => format!("state set up again{waited}"),
        (_, PromiseEnd::Revoked(_)) => format!("{frame} revoked"),
        (PromiseKind::Copy, PromiseEnd::Cancelled(_)) => format!("COPY {frame} cancelled"),
        (PromiseKind::Copy, _) if promise.status.is_some() => format!("COPY {frame} failed"),
        (PromiseKind::Copy, _) => format!("COPY {frame} done{waited}"),
        _ => format!("recalled in {frame}{waited}"),
    }
}

/// Promises of one kind between a client and a server.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PromiseStatistics {
    /// Kind: `retry` (the server refused an operation for now), `lock` (a lock that the client waits for), `copy` (COPY whose
    /// results come later), `delegation` or `layout` (the server recalled one), `state` (the server no longer knew the client).
    pub kind: &'static str,
    /// Promises whose end the capture shows.
    pub ended: u64,
    /// Those among these that ended otherwise than meant: a COPY that failed or was cancelled, a state that was revoked.
    pub failed: u64,
    /// Promises that are open at the end of the capture.
    pub open: u64,
    /// Operations that the client probably gave up: refused, and not made again for 30 s.
    pub given_up: u64,
    /// Promises whose end may be missing from the capture.
    pub unknown: u64,
    /// Replies that refused an operation for now.
    pub refusals: u64,
    /// Nanoseconds from the first call to the end, of all promises whose end the capture shows.
    pub waited_ns: u64,
    /// The promise that took longest; null if the capture shows no end.
    pub longest: Option<LongestPromise>,
    /// The open promise that is the oldest.
    pub oldest: Option<OldestPromise>,
}

/// A promise whose end the capture shows.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LongestPromise {
    /// The operation that opened the promise.
    pub operation: String,
    /// The name of the file in the arguments of the operation.
    pub file_name: Option<String>,
    /// The frame of the call that opened the promise.
    pub call_frame: u64,
    /// The frame of the end.
    pub end_frame: u64,
    /// Nanoseconds from the first call to the end.
    pub waited_ns: u64,
    /// The promise in words.
    pub text: String,
}

/// A promise without an end.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OldestPromise {
    /// The operation that opened the promise.
    pub operation: String,
    /// The name of the file in the arguments of the operation.
    pub file_name: Option<String>,
    /// The frame of the call that opened the promise.
    pub call_frame: u64,
    /// The operation, and what is owed by whom.
    pub text: String,
}

/// Counts of promises.
#[derive(Clone, Debug, Default)]
pub(crate) struct PromiseCounts {
    ended: BTreeMap<PromiseKind, PromiseStatistics>,
    /// Promises without an end: the dissector bounds their number.
    open: Vec<Promise>,
}

impl PromiseStatistics {
    const fn new(kind: PromiseKind) -> Self {
        Self {
            kind: kind.name(),
            ended: 0,
            failed: 0,
            open: 0,
            given_up: 0,
            unknown: 0,
            refusals: 0,
            waited_ns: 0,
            longest: None,
            oldest: None,
        }
    }

    fn take_ended(&mut self, promise: &Promise) {
        self.ended += 1;
        let is_failed = !matches!(promise.end, PromiseEnd::Kept(_))
            || promise.kind == PromiseKind::Copy && promise.status.is_some();
        self.failed += u64::from(is_failed);
        self.refusals += promise.refusals;
        let Some((waited, end)) = promise.waited().zip(promise.end.stamp()) else { return };
        self.waited_ns = self.waited_ns.saturating_add(waited);
        if self.longest.as_ref().is_none_or(|longest| waited > longest.waited_ns) {
            self.longest = Some(LongestPromise {
                operation: promise.operation.to_owned(),
                file_name: promise.file_name.as_deref().map(escaped),
                call_frame: promise.call.frame,
                end_frame: end.frame,
                waited_ns: waited,
                text: ended(promise, waited),
            });
        }
    }

    fn take_open(&mut self, promise: &Promise, end: CaptureEnd) {
        self.refusals += promise.refusals;
        match OpenState::from_promise(promise, end) {
            OpenState::Open => self.open += 1,
            OpenState::GivenUp => self.given_up += 1,
            OpenState::Unknown(_) => return self.unknown += 1,
        }
        if self.oldest.as_ref().is_none_or(|oldest| promise.call.frame < oldest.call_frame) {
            let (call_frame, owed) = (promise.call.frame, owed(promise, end));
            self.oldest = Some(OldestPromise {
                operation: promise.operation.to_owned(),
                file_name: promise.file_name.as_deref().map(escaped),
                call_frame,
                text: format!("{} in frame {call_frame}: {owed}", subject(promise)),
            });
        }
    }

    /// Adds promises of the same kind that have ended.
    fn add_ended(&mut self, later: Self) {
        let Self { longest, .. } = later;
        self.ended += later.ended;
        self.failed += later.failed;
        self.refusals += later.refusals;
        self.waited_ns = self.waited_ns.saturating_add(later.waited_ns);
        let waited = |longest: &Option<LongestPromise>| longest.as_ref().map(|longest| longest.waited_ns);
        if waited(&longest) > waited(&self.longest) {
            self.longest = longest;
        }
    }

    /// The promises of the kind in a line.
    #[must_use]
    pub fn line(&self) -> String {
        let what = match self.kind {
            "retry" => "operations refused for now",
            "lock" => "locks waited for",
            "copy" => "asynchronous COPYs",
            "delegation" => "delegations recalled",
            "state" => "losses of client state",
            _ => "recalls of layouts",
        };
        let done = match self.kind {
            "retry" | "lock" => "made again in the end",
            "copy" => "complete",
            "state" => "set up again",
            _ => "returned",
        };
        let counts = [
            (self.ended - self.failed, done),
            (self.failed, if self.kind == "copy" { "failed or cancelled" } else { "revoked" }),
            (self.open, "open"),
            (self.given_up, "given up"),
            (self.unknown, "with an unknown end"),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let counts: Vec<_> = counts.map(|(count, what)| format!("{} {what}", grouped(*count))).collect();
        let all = self.ended + self.open + self.given_up + self.unknown;
        let mut line = format!(
            "{what}: {}",
            if counts.len() == 1 { counts.join("") } else { format!("{}, {}", grouped(all), counts.join(", ")) }
        );
        if self.refusals > 0 && self.kind != "state" {
            line.push_str(&format!(", {}", counted(self.refusals, "refusal")));
        }
        if let Some(longest) = &self.longest {
            line.push_str(&format!("; {}{}", if self.ended > 1 { "the longest: " } else { "" }, longest.text));
        }
        if let Some(oldest) = &self.oldest {
            let of = oldest.file_name.as_ref().map(|name| format!(" of {name}")).unwrap_or_default();
            line.push_str(&format!("; without an end: {}{of} in frame {}", oldest.operation, oldest.call_frame));
        }
        line
    }
}

/// A promise that took so many nanoseconds, in words.
fn ended(promise: &Promise, waited: u64) -> String {
    let (call, end) = (promise.call.frame, promise.end.stamp().map_or(0, |end| end.frame));
    let (subject, waited) = (subject(promise), duration(waited));
    let by = promise.ended_by.unwrap_or("its end");
    match (promise.kind, promise.end) {
        (PromiseKind::Lock, _) if promise.ended_by == Some("CB_NOTIFY_LOCK") => {
            format!("{subject} in frame {call} {}, {by} in frame {end}, {waited} later", refused(promise))
        }
        (PromiseKind::Retry | PromiseKind::Lock, _) => {
            let holder = match promise.holder {
                Some(DelegationHolder { client, recalled, .. }) => {
                    format!(", while client {client} had a delegation (CB_RECALL in frame {})", recalled.frame)
                }
                None => String::new(),
            };
            format!(
                "{subject} in frame {call} {}, and made again in frame {end}, {waited} later{holder}",
                refused(promise)
            )
        }
        (PromiseKind::ClientState, _) => {
            format!("{}; {by} in frame {end}, {waited} later", lost(promise))
        }
        (PromiseKind::Copy, PromiseEnd::Kept(_)) => {
            let status = status_name(promise).map(|status| format!(" with {status}")).unwrap_or_default();
            format!("COPY in frame {call}, {by}{status} in frame {end}, {waited} later")
        }
        (_, PromiseEnd::Cancelled(_)) => format!("COPY in frame {call}, cancelled in frame {end}, {waited} later"),
        (PromiseKind::Copy, PromiseEnd::Revoked(_)) => {
            format!("COPY in frame {call}, no longer known in frame {end}, {waited} later")
        }
        (_, PromiseEnd::Revoked(_)) => format!("{subject} in frame {call}, revoked by frame {end}, {waited} later"),
        _ => format!("{subject} in frame {call}, {by} in frame {end}, {waited} later"),
    }
}

impl PromiseCounts {
    /// Takes a promise that an RPC kept, or one without an end.
    pub(crate) fn take_promise(&mut self, promise: &Promise) {
        match promise.end {
            PromiseEnd::Open => self.open.push(promise.clone()),
            _ => {
                let counts = self.ended.entry(promise.kind);
                counts.or_insert_with(|| PromiseStatistics::new(promise.kind)).take_ended(promise);
            }
        }
    }

    /// Adds the promises of other addresses of the mount.
    pub(crate) fn add_counts(&mut self, later: Self) {
        for (kind, counts) in later.ended {
            self.ended.entry(kind).or_insert_with(|| PromiseStatistics::new(kind)).add_ended(counts);
        }
        self.open.extend(later.open);
    }

    /// The counts by kind, once the capture has ended.
    pub(crate) fn count_kinds(self, end: CaptureEnd) -> Vec<PromiseStatistics> {
        let mut counts = self.ended;
        for promise in &self.open {
            let counts = counts.entry(promise.kind).or_insert_with(|| PromiseStatistics::new(promise.kind));
            counts.take_open(promise, end);
        }
        counts.into_values().collect()
    }
}

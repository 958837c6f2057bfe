//! Counts of a capture from which causes are judged, and the parts that all causes have.

use std::collections::BTreeSet;

use rpcrdma_dissector::{Address, Summary};

use super::attempts::Attempts;
use super::cause::{Cause, CauseOwner, MOST, SEVERAL, SLOW_SHARE, VERY_SLOW};
use super::facts::Facts;
use super::record::{CauseExample, DiagnosedCause, SeenAtBothEnds};
use super::tally::{GreatestRpc, RpcSubject, Tally};
use super::waits::{Silence, Waits};
use super::whole::WholeCapture;
use crate::connections::Flapping;
use crate::format::number::{counted, duration, grouped};
use crate::gaps::Gaps;
use crate::outliers::Outlier;
use crate::stats::MountStatistics;

/// The most directions, failures or rules that evidence names.
pub(super) const NAMED: usize = 3;

/// All that was counted of a capture.
pub(super) struct Judgement<'a> {
    pub(super) waits: &'a Waits,
    pub(super) silence: &'a Silence,
    pub(super) facts: &'a Facts,
    pub(super) attempts: &'a Attempts,
    /// Connections that end again and again; of a selection, the connections of selected RPCs.
    pub(super) flapping: &'a [Flapping],
    pub(super) gaps: &'a Gaps,
    /// Servers, clients, users and files that are far slower than others.
    pub(super) outliers: &'a [Outlier],
    /// Mounts of the whole capture; of a selection, none.
    pub(super) mounts: &'a [MountStatistics],
    pub(super) summary: &'a Summary,
    /// The whole capture, if a selection is diagnosed.
    pub(super) context: Option<&'a WholeCapture>,
    /// The names of the files, quoted for a shell.
    pub(super) files: &'a str,
}

/// Names of the two ends of the RPCs of a cause.
#[derive(Clone, Copy)]
pub(super) struct EndNames {
    /// The end that calls.
    pub(super) calling: &'static str,
    /// The end that answers.
    pub(super) answering: &'static str,
}

impl EndNames {
    /// The names for the RPCs of a tally: the server calls if all are callbacks.
    pub(super) const fn new(tally: &Tally) -> Self {
        if tally.is_of_callbacks() {
            Self { calling: "server", answering: "client" }
        } else {
            Self { calling: "client", answering: "server" }
        }
    }
}

/// Returns true if a part is at least `percent` of a whole.
pub(super) const fn is_part(part: u64, percent: u64, whole: u64) -> bool {
    part > 0 && part.saturating_mul(100) >= whole.saturating_mul(percent)
}

impl Judgement<'_> {
    /// Nanoseconds for which RPCs waited.
    pub(super) fn sum_waits(&self) -> u64 {
        let beyond = if self.both_ends().is_some() { self.facts.both_ends.beyond() } else { 0 };
        self.waits.sum_waits(self.silence).saturating_add(beyond)
    }

    /// Latencies at both ends, if the capture holds the packets of both ends of all connections.
    pub(super) fn both_ends(&self) -> Option<SeenAtBothEnds> {
        let Facts { both_ends, connections, .. } = self.facts;
        let is_whole = self.context.is_none() && both_ends.connections == *connections;
        both_ends.seen().filter(|_| is_whole && is_part(both_ends.rpcs, MOST, self.waits.rpcs))
    }

    /// Returns true if a cause is reported: `rpcs` are affected, and are enough, or the affected RPCs of the whole capture are.
    pub(super) fn stands_out(&self, cause: Cause, rpcs: u64, is_enough: bool) -> bool {
        is_enough || rpcs > 0 && self.context.is_some_and(|context| context.causes.contains(cause))
    }

    /// A cause without a time.
    pub(super) fn cause(
        &self,
        cause: Cause,
        owner: Option<CauseOwner>,
        evidence: Vec<String>,
        command: &str,
    ) -> DiagnosedCause {
        DiagnosedCause {
            time_base: self.summary.time_base,
            cause: cause.name(),
            title: cause.rule().title,
            owner: owner.map(CauseOwner::name),
            evidence,
            command: format!("rpcrdma {command} {}", self.files),
            ..DiagnosedCause::default()
        }
    }

    /// The only one of these ends, unless no other end of that role has RPCs.
    pub(super) fn only_of_several(&self, ends: &BTreeSet<Address>, all: &BTreeSet<Address>) -> Option<String> {
        ends.first().filter(|_| ends.len() == 1 && ends != all).map(ToString::to_string)
    }

    /// Adds the ends, operation and file with most of the tally to a cause.
    pub(super) fn tallied(&self, cause: DiagnosedCause, tally: &Tally) -> DiagnosedCause {
        let several = |count: usize, end: Option<Address>| end.filter(|_| count > 1).map(|end| end.to_string());
        let [calling, answering] = [CauseOwner::Client, CauseOwner::Server].map(CauseOwner::name);
        let ends = EndNames::new(tally);
        let (owner, address) = match cause.owner {
            Some(owner) if owner == calling => (Some(ends.calling), tally.requester()),
            Some(owner) if owner == answering => (Some(ends.answering), tally.responder()),
            owner => (owner, None),
        };
        DiagnosedCause {
            title: if tally.is_of_callbacks() { callback_title(cause.title) } else { cause.title },
            owner,
            owner_address: address.map(|end| end.to_string()).or(cause.owner_address),
            client: several(self.waits.clients.len(), tally.client()),
            server: several(self.waits.servers.len(), tally.server()),
            operation: tally.operation().map(str::to_owned),
            file: tally.file().map(str::to_owned),
            since_ns: tally.since,
            rpcs: Some(tally.rpcs),
            ..cause
        }
        .shown_by(tally.examples.iter().map(|(_, frame)| CauseExample { frame: *frame, waiting_ns: None }))
    }

    /// The part of all waiting that these nanoseconds are.
    pub(super) fn share(&self, nanoseconds: u64) -> Option<f64> {
        (self.sum_waits() > 0).then(|| nanoseconds as f64 / self.sum_waits() as f64)
    }

    /// Returns true if RPCs that waited for an end for `waiting` nanoseconds in all are enough for a cause.
    pub(super) fn are_slow(&self, tally: &Tally, waiting: u64) -> bool {
        let is_enough = tally.rpcs >= SEVERAL || tally.greatest() >= Some(VERY_SLOW);
        is_enough && is_part(waiting, SLOW_SHARE, self.sum_waits())
    }

    /// The command that shows the slowest RPCs of a cause.
    pub(super) fn slowest_of(&self, tally: &Tally) -> String {
        let operation = tally.operation().and_then(|name| name.rsplit(' ').next());
        let mut command = operation.map_or("slow".to_owned(), |operation| format!("slow --op {operation}"));
        if let Some(client) = tally.client().filter(|_| self.waits.clients.len() > 1) {
            command.push_str(&format!(" --client {client}"));
        }
        command
    }

    /// The same, with a time.
    pub(super) fn timed(&self, cause: DiagnosedCause, tally: &Tally) -> DiagnosedCause {
        let share = self.share(tally.amount);
        let examples = tally.examples.iter();
        let examples = examples.map(|(amount, frame)| CauseExample { frame: *frame, waiting_ns: Some(*amount) });
        self.tallied(DiagnosedCause { waiting_ns: Some(tally.amount), share, ..cause }, tally).shown_by(examples)
    }
}

/// The title of a cause for callbacks: the server calls, and the client answers.
fn callback_title(title: &'static str) -> &'static str {
    match title {
        "The client stopped responding" => "The server stopped responding",
        "The client was slow" => "The server was slow in callbacks",
        "The server was slow" => "The client was slow to answer callbacks",
        other => other,
    }
}

impl Judgement<'_> {
    /// Sentences about the RPCs that waited for an end: how many, for how long, and the longest wait.
    pub(super) fn waited(&self, tally: &Tally, what_for: &str) -> Option<Vec<String>> {
        let mut sentences = vec![format!(
            "{} of {} waited {what_for}: up to {}{}.",
            grouped(tally.rpcs),
            counted(self.waits.rpcs, "RPC"),
            duration(tally.greatest()?),
            added_up(tally)
        )];
        sentences.extend(longest("The longest wait", tally));
        Some(sentences)
    }
}

/// An RPC by operation, file and frame.
pub(super) fn named(RpcSubject { operation, file, frame, .. }: &RpcSubject) -> String {
    let operation = if operation == "unknown" { "an unknown call" } else { operation };
    let file = file.as_ref().map(|file| format!(" of {file}")).unwrap_or_default();
    format!("{operation}{file} in frame {frame}")
}

/// A sentence about the RPC with the largest share of a cause, and about the wait of that RPC.
pub(super) fn longest(title: &str, tally: &Tally) -> Option<String> {
    let GreatestRpc { subject, waited_for, .. } = tally.greatest_rpc.as_ref()?;
    let took = match (subject.latency, subject.joined_wait) {
        (Some(latency), _) => format!(", which took {}", duration(latency)),
        (None, Some(least)) => format!(", which took {} or more", duration(least)),
        (None, None) => String::new(),
    };
    let waited_for =
        waited_for.as_ref().filter(|text| !text.is_empty()).map(|text| format!(": {text}")).unwrap_or_default();
    Some(format!("{title}: {}{took}{waited_for}.", named(subject)))
}

/// The sum over several RPCs, of which some may have waited at the same time.
pub(super) fn added_up(tally: &Tally) -> String {
    if tally.rpcs < 2 { String::new() } else { format!(", {} in total", duration(tally.amount)) }
}

//! Diagnosis: the causes of waiting, their owners, and the limits of the capture.
//!
//! - `cause`: the causes, and the table of rules by which they are found;
//! - `waits`: waiting times by cause; `recalls`: recalls of delegations; `both_ends`: latencies at both ends, if the capture holds both;
//!   `losses`: losses by direction; `transfer_waits`: times for which data by RDMA was held up; `retries`: RPCs with several tries; `sessions`: slots and status flags; `facts`: other counts;
//!   `tally`: the client, operation and file with most of a cause; `time_union`: time in which at least one RPC was delayed;
//! - `whole`: the whole capture, on which the diagnosis of a selection rests; `attempts`: connection requests without success;
//! - `promises`: waits above RPC: refused operations, asynchronous COPYs, locks; `promise_causes`: the causes about these;
//! - `judgement`: all counts, and the parts that all causes have; `judge`: causes from these modules, with evidence; `connecting`: causes about connections; `tries`: the cause about tries; `outlier`: one of many that is slower;
//!   `limits`: limits of the capture;
//! - `kernel_waits`, `kernel_faults`, `kernel_causes`: times and faults that kernel traces show, and the causes from these;
//! - `record`, `text`: a diagnosis for programs, and for people.

mod attempts;
mod both_ends;
mod cause;
mod connecting;
mod credits;
mod facts;
mod judge;
mod judgement;
mod kernel_causes;
mod kernel_faults;
mod kernel_waits;
mod limits;
mod losses;
mod opening;
mod outlier;
mod promise_causes;
mod promises;
mod recalls;
mod record;
mod referrals;
mod retries;
mod sessions;
mod tally;
mod text;
mod time_union;
mod transfer_waits;
mod tries;
mod waits;
mod whole;

use std::collections::BTreeSet;

use rpcrdma_dissector::{
    Address, Event, Found, OperationArguments, PromiseKind, Status, Summary, Transaction, WaitEnd,
};

use crate::connections::Connections;
use crate::file_names::FileNames;
use crate::gaps::{Gaps, lost_events};
use crate::operation_name::OperationName;
use crate::outliers::Outliers;
use crate::selection::SpanningRpcs;
use crate::stats::{ConnectionCredits, Latency, MountStatistics, Mounts, failure};
use attempts::Attempts;
use facts::Facts;
use judgement::Judgement;
use tally::RpcSubject;
use waits::{KnownRpc, Waits};
use whole::WholeCapture;

pub use cause::{CAUSES, Cause, CauseOwner, CauseRule, CauseSet, RpcCauses};
pub use record::{
    CauseExample, DiagnosedCause, DiagnosedMount, Diagnosis, PartsAtBothEnds, SeenAtBothEnds, SelectedRpcs,
};

/// Takes the events of a capture, in bounded memory, and diagnoses the capture.
///
/// The [`Config`](rpcrdma_dissector::Config) of the dissector has to ask for RPCs, operations and recovery.
///
/// ```
/// use rpcrdma_answers::diagnosis::Diagnoser;
/// use rpcrdma_dissector::{Capture, Checker, Config, Events};
///
/// let mut config = Config::default();
/// (config.operations, config.recovery) = (true, true);
/// let mut events = Events::new(Capture::from_paths(["examples/nfs.pcap"]), config);
/// let (mut diagnoser, mut checker) = (Diagnoser::new("nfs.pcap"), Checker::default());
/// for event in events.by_ref() {
///     let event = event?;
///     checker.event(&event);
///     diagnoser.event(&event);
///     std::iter::from_fn(|| checker.finding()).for_each(|found| diagnoser.finding(&found));
/// }
/// let diagnosis = diagnoser.finish(events.summary());
/// assert_eq!((diagnosis.rpcs, diagnosis.causes.len()), (3, 0));
/// # Ok::<(), rpcrdma_dissector::FileError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Diagnoser {
    name: String,
    files: Option<String>,
    /// Names of files; for a selection, the whole capture has the names.
    names: FileNames,
    waits: Waits,
    facts: Facts,
    attempts: Attempts,
    lives: Connections,
    /// `None` if the caller gathers the mounts.
    mounts: Option<Mounts>,
    outliers: Outliers,
    gaps: Gaps,
    selected: Option<Box<SelectedPart>>,
}

/// Counts of a selection, in addition to the counts for a whole capture.
#[derive(Clone, Debug)]
struct SelectedPart {
    /// The whole capture.
    whole: Diagnoser,
    /// The selection, as on the command line.
    options: String,
    /// Selected messages, RPCs, indications of loss, and connection requests without success.
    items: u64,
    /// Connections of the selected RPCs, up to a bound.
    connections: BTreeSet<u32>,
    throughout: SpanningRpcs,
}

/// The most connections of a selection that are counted.
const CONNECTIONS: usize = 10_000;

impl Diagnoser {
    /// For a capture of this name.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            files: None,
            names: FileNames::default(),
            waits: Waits::default(),
            facts: Facts::default(),
            attempts: Attempts::default(),
            lives: Connections::default(),
            mounts: Some(Mounts::default()),
            outliers: Outliers::default(),
            gaps: Gaps::default(),
            selected: None,
        }
    }

    /// Leaves the mounts to the caller, who passes them at the [end](Self::finish_with_mounts).
    pub(crate) fn without_mounts(self) -> Self {
        Self { mounts: None, ..self }
    }

    /// Diagnoses a selection.
    ///
    /// Pass all events, in order, to [`context`](Self::context), and the selected events also to [`event`](Self::event).
    #[must_use]
    pub fn of_selection(self) -> Self {
        let selected = SelectedPart {
            whole: Self::new(""),
            options: String::new(),
            items: 0,
            connections: BTreeSet::new(),
            throughout: SpanningRpcs::default(),
        };
        Self { selected: Some(Box::new(selected)), ..self.without_mounts() }
    }

    /// Describes the [selection](Self::of_selection): `options` as on the command line, and the RPCs in flight throughout.
    pub fn describe_selection(&mut self, options: impl Into<String>, throughout: &SpanningRpcs) {
        if let Some(selected) = &mut self.selected {
            (selected.options, selected.throughout) = (options.into(), throughout.clone());
        }
    }

    /// Takes an event of the whole capture, if a [selection](Self::of_selection) is diagnosed.
    pub fn context(&mut self, event: &Event) {
        let Some(selected) = &mut self.selected else { return };
        if let Event::Transaction(transaction) = event {
            let arguments = transaction.arguments();
            selected.whole.gaps.event(event);
            selected.whole.transaction(transaction, &arguments);
            self.facts.referrals.add_rpc(transaction, &arguments);
            return self.facts.recalls.transaction(transaction, &arguments);
        }
        selected.whole.event(event);
        if let Event::Message(message) = event {
            self.gaps.event(event);
            self.facts.message(message);
        }
    }

    /// Takes a finding about the whole capture, if a [selection](Self::of_selection) is diagnosed.
    pub fn context_finding(&mut self, found: &Found) {
        if let Some(selected) = &mut self.selected {
            selected.whole.finding(found);
        }
    }

    /// Sets the names of the files, quoted for a shell: the suggested commands repeat the names.
    #[must_use]
    pub fn with_files(self, files: impl Into<String>) -> Self {
        Self { files: Some(files.into()), ..self }
    }

    /// Takes an event. A caller that has the arguments of an RPC calls [`transaction`](Self::transaction) instead.
    pub fn event(&mut self, event: &Event) {
        match &mut self.selected {
            Some(selected) => {
                selected.add_event(event);
                if !matches!(event, Event::Message(_)) {
                    self.gaps.event(event);
                }
            }
            None => self.gaps.event(event),
        }
        if !matches!(event, Event::Message(_) | Event::Transaction(_)) {
            self.lives.event(event);
        }
        match event {
            // Of a selection, the context has all messages.
            Event::Message(message) if self.selected.is_none() => self.facts.message(message),
            Event::Transaction(transaction) => _ = self.transaction(transaction, &transaction.arguments()),
            Event::Recovery(recovered) => self.facts.recovered(recovered),
            Event::Connection(report) => {
                self.facts.connection(report);
                if report.number.is_some() {
                    self.attempts.connection(report);
                    if let Some(mounts) = self.mounts.as_mut().filter(|mounts| mounts.knows(report)) {
                        mounts.connection(report, &ConnectionCredits::default());
                    }
                }
            }
            Event::KernelFault(fault) => self.facts.kernel_faults.add_fault(fault),
            Event::LostBetween(lost) => self.facts.both_ends.add_loss(lost),
            Event::AddressMoved(moved) => self.facts.address_moved(*moved),
            Event::Promise(promise) => {
                self.waits.promises.add_open(promise);
                self.mounts.iter_mut().for_each(|mounts| mounts.promise(promise));
            }
            Event::Rejected(rejected) => self.attempts.rejected(rejected),
            Event::UnansweredRequest(request) => self.attempts.unanswered(request),
            _ => {}
        }
    }

    /// Takes an RPC with its [arguments](Transaction::arguments), for a caller that needs the arguments, too. Returns the causes of the RPC.
    pub fn transaction(&mut self, transaction: &Transaction, arguments: &[OperationArguments<'_>]) -> RpcCauses {
        let mut causes = RpcCauses::default();
        let names = match &mut self.selected {
            Some(selected) => {
                selected.item(transaction.connection);
                &selected.whole.names
            }
            None => {
                self.facts.referrals.add_rpc(transaction, arguments);
                self.facts.recalls.transaction(transaction, arguments);
                self.names.learn(transaction, arguments);
                self.mounts.iter_mut().for_each(|mounts| mounts.transaction(transaction, Some(arguments)));
                &self.names
            }
        };
        self.outliers.add_rpc(transaction, arguments);
        self.facts.transaction(transaction);
        self.facts.kernel_faults.add_rpc(transaction);
        self.facts.both_ends.add_rpc(transaction);
        self.lives.transaction(transaction);
        if let Some(WaitEnd::Disconnected { stamp, .. }) = transaction.waiting.map(|waiting| waiting.end) {
            self.facts.death(transaction.connection, stamp.frame);
        }
        let tries = transaction.tries.iter().flat_map(|tries| tries.earlier());
        for (one, ended) in tries.filter_map(|one| Some((one, one.disconnection?))) {
            self.facts.death(one.connection, ended.stamp.frame);
        }
        let rpc = KnownRpc { transaction, arguments, names, recalls: &self.facts.recalls };
        // A refusal counts once the client has given up, and a loss of state unless the client set up the state again.
        let lost_state = transaction.opens == Some(PromiseKind::ClientState);
        let is_failure = transaction.opens.is_none() || lost_state;
        let status = transaction.status.filter(|status| !is_expected(*status) && is_failure);
        let failure = status.and_then(|status| failure(transaction, status));
        let failed = failure.map(|status| {
            let operation = OperationName::of_failure(transaction).to_string();
            (status, RpcSubject { operation, ..rpc.subject() })
        });
        self.waits.add_rpc(&rpc, &mut causes);
        let counted = |cause, wait: Option<u64>| wait.filter(|_| causes.counted.contains(cause));
        let slot_wait = transaction.slot_wait.and_then(Result::ok);
        self.facts.sessions.add_rpc(arguments, counted(Cause::Slots, slot_wait));
        let wait = transaction.credit_wait.as_ref().ok().copied();
        self.facts.credits.transaction(transaction, counted(Cause::Credits, wait));
        match failed {
            Some((status, subject)) if lost_state => self.waits.hold_lost(status, subject),
            Some((status, subject)) => causes.add_cause(Cause::Errors, self.facts.failure(status, &subject)),
            None => {}
        }
        causes
    }

    /// Takes a finding of the checker.
    pub fn finding(&mut self, found: &Found) {
        self.facts.finding(found);
    }

    /// Counts a file that could not be read completely.
    pub fn unread(&mut self) {
        self.gaps.files += 1;
        self.selected.iter_mut().for_each(|selected| selected.whole.unread());
    }

    /// The diagnosis, once all events were taken; `summary` is that of the same capture.
    #[must_use]
    pub fn finish(mut self, summary: &Summary) -> Diagnosis {
        let mounts = self.take_mounts(summary);
        self.finish_with_mounts(summary, &mounts)
    }

    /// The diagnosis, for a caller that [gathers the mounts](Self::without_mounts).
    pub(crate) fn finish_with_mounts(mut self, summary: &Summary, mounts: &[MountStatistics]) -> Diagnosis {
        let Some(selected) = self.selected.take() else { return self.diagnose(summary, mounts, None) };
        let SelectedPart { whole, options, items, connections, throughout } = *selected;
        let context = whole.into_context(summary);
        let mut diagnosis = self.diagnose(summary, &[], Some(&context));
        if items == 0 {
            (diagnosis.causes, diagnosis.limits, diagnosis.gap) = (Vec::new(), Vec::new(), None);
        }
        diagnosis.connections = connections.len() as u64;
        diagnosis.selection = Some(SelectedRpcs {
            options,
            rpcs: diagnosis.rpcs,
            all_rpcs: context.waits.rpcs,
            is_empty: items == 0,
            spanning_rpcs: throughout.rpcs,
            spanning_frames: throughout.frames.clone(),
            throughout: throughout.sentence(),
        });
        diagnosis
    }

    fn take_mounts(&mut self, summary: &Summary) -> Vec<MountStatistics> {
        self.mounts.take().map(|mounts| mounts.finish(summary.capture_end())).unwrap_or_default()
    }

    fn into_context(mut self, summary: &Summary) -> WholeCapture {
        let mounts = self.take_mounts(summary);
        let diagnosis = self.clone().diagnose(summary, &mounts, None);
        self.waits.settle_recalls(&self.facts.recalls, None);
        self.waits.settle_promises(summary.capture_end(), |status, subject| _ = self.facts.failure(status, subject));
        let mut causes = CauseSet::default();
        diagnosis.causes.iter().filter_map(|cause| Cause::of_name(cause.cause)).for_each(|cause| causes.insert(cause));
        let flapping = self.lives.flapping();
        WholeCapture {
            waits: self.waits,
            facts: self.facts,
            attempts: self.attempts,
            flapping,
            mounts,
            causes,
            names: self.names,
        }
    }

    fn diagnose(self, summary: &Summary, mounts: &[MountStatistics], context: Option<&WholeCapture>) -> Diagnosis {
        let Self { name, files, names, mut waits, mut facts, mut attempts, lives, outliers, gaps, .. } = self;
        let outliers = outliers.finish(summary.capture_end(), context.map_or(&names, |context| &context.names));
        context.iter().for_each(|context| attempts.know_connections(&context.attempts));
        context.iter().for_each(|context| waits.promises.drop_set_up(&context.waits.promises.set_up));
        waits.settle_promises(summary.capture_end(), |status, subject| _ = facts.failure(status, subject));
        let all_facts = context.map_or(&facts, |context| &context.facts);
        let all_waits = context.map(|context| &context.waits);
        waits.settle_recalls(&all_facts.recalls, all_waits);
        let silence = waits.silence(summary.capture_end(), all_waits, all_facts);
        let files = files.as_deref().unwrap_or("FILE");
        let flapping = lives.flapping();
        let judgement = Judgement {
            mounts,
            flapping: &flapping,
            waits: &waits,
            silence: &silence,
            facts: &facts,
            attempts: &attempts,
            gaps: &gaps,
            outliers: &outliers,
            summary,
            context,
            files,
        };
        let both_ends = judgement.both_ends();
        let only = |ends: &BTreeSet<Address>| ends.first().filter(|_| ends.len() == 1).map(ToString::to_string);
        Diagnosis {
            name,
            frames: summary.frames,
            time_base: summary.time_base,
            first_ns: summary.first.map(|time| time.0),
            last_ns: summary.last.map(|time| time.0),
            selection: None,
            captured_at: facts.places.keys().map(|place| place.name()).collect(),
            captured_at_connections: facts.places.values().sum(),
            clients: waits.clients.len(),
            servers: waits.servers.len(),
            client: only(&waits.clients),
            server: only(&waits.servers),
            connections: facts.connections,
            rpcs: waits.rpcs,
            without_reply: waits.without_reply,
            without_call: waits.without_call,
            mounts: mounts.iter().map(DiagnosedMount::new).collect(),
            latency: both_ends
                .map(|both| both.requester)
                .or_else(|| Latency::new(&waits.latencies))
                .filter(|_| !judgement.is_untimed()),
            both_ends,
            waiting_ns: if judgement.is_untimed() { 0 } else { judgement.sum_waits() },
            causes: judgement.causes(),
            gap: gaps.gravest().map(|gap| gap.to_string()).or_else(|| lost_events(summary)),
            limits: judgement.limits(),
            late_causes: [&silence.causes[..], waits.settled(), waits.promises.settled()].concat(),
        }
    }
}

impl SelectedPart {
    /// Takes a selected event, except for RPCs.
    fn add_event(&mut self, event: &Event) {
        let connection = match event {
            Event::Message(message) => message.connection,
            Event::Recovery(recovered) => recovered.connection,
            Event::Rejected(_) | Event::UnansweredRequest(_) => return self.items += 1,
            _ => return,
        };
        self.item(connection);
    }

    fn item(&mut self, connection: u32) {
        self.items += 1;
        if self.connections.len() < CONNECTIONS {
            self.connections.insert(connection);
        }
    }
}

/// Returns true for a status that is no failure of a mount: a file is not there or is there already, or the server does
/// not support something.
const fn is_expected(status: Status) -> bool {
    // NFS3ERR_NOENT and NFS3ERR_EXIST, and the same of NFSv4 (RFC 1813 section 2.6, RFC 8881 section 15.1); NOTSUPP of both.
    matches!(status, Status::Success(None | Some(0 | 2 | 17 | 10_004)))
}

//! An RPC as a sequence diagram: the packets between the two ends, a line for each packet, or for several consecutive ones with the
//! same effect. The requester is on the left, the responder on the right.

use rpcrdma_dissector::{PacketRun, RecoveryKind, Stamp, Step, StepsLeftOut, Transaction};

use crate::format::number::{Milliseconds, grouped};

/// Label of packets that their receiver threw away.
const DISCARDED: &str = "discarded";
/// Label of the first transmission of packets that were retransmitted, if the capture does not hold that transmission.
const LOST_BEFORE: &str = "first not captured";

/// Direction of a line of a sequence diagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrow {
    /// To the responder.
    Right,
    /// To the requester.
    Left,
    /// The requester sent nothing.
    ClientSilent,
    /// The responder sent nothing.
    ServerSilent,
    /// Packets of both that are not shown.
    LeftOut,
}

/// Subject of a line of a sequence diagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DiagramStepKind {
    /// A Send.
    Message,
    /// RDMA Reads and RDMA Writes.
    Data,
    /// An acknowledgement.
    Acknowledgement,
    /// Packets that were lost or retransmitted, and reports of loss.
    Loss,
    /// Packets that are not shown.
    LeftOut,
}

/// A line of a sequence diagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DiagramStep {
    pub(crate) first: Stamp,
    pub(crate) last: Stamp,
    /// Nanoseconds since the first packet of the RPC.
    pub(crate) at: u64,
    /// Nanoseconds since the line before.
    pub(crate) since: u64,
    pub(crate) arrow: Arrow,
    pub(crate) kind: DiagramStepKind,
    /// Description of the event: the parts that may be left out if there is no room come last.
    pub(crate) label: Vec<String>,
}

impl DiagramStep {
    /// Returns the description, in at most `room` columns if that is possible.
    pub(crate) fn label_within(&self, room: usize) -> String {
        (1..=self.label.len())
            .rev()
            .map(|parts| self.label.get(..parts).unwrap_or_default().join(", "))
            .find(|label| label.chars().count() <= room)
            .unwrap_or_else(|| self.label.first().cloned().unwrap_or_default())
    }

    /// Frame or frames of the step.
    pub(crate) fn frames(&self) -> String {
        match (self.first.frame, self.last.frame) {
            (first, last) if first == last => first.to_string(),
            (first, last) => format!("{first}–{last}"),
        }
    }
}

/// Returns the lines of a sequence diagram. A packet captured before the end of the line above counts as 0 nanoseconds after that line.
pub(crate) fn diagram_steps(transaction: &Transaction) -> Vec<DiagramStep> {
    let reply = transaction.reply.as_ref().map(|reply| reply.stamp);
    let Some(began) = transaction.began.or(reply) else { return Vec::new() };
    let (runs, left_out) = match &transaction.steps {
        Some(steps) => (steps.runs(), steps.left_out),
        // The capture lacks the call.
        None => (reply_alone(transaction), None),
    };
    let mut steps: Vec<DiagramStep> = Vec::with_capacity(runs.len() + 1);
    let mut left_out = left_out;
    for run in &runs {
        if let Some(missing) = left_out.take_if(|missing| missing.first.frame < run.first.frame) {
            steps.push(missing_step(&missing, &DiagramStepTimes::new(missing.first, began, steps.last())));
        }
        steps.push(diagram_step(run, transaction, &DiagramStepTimes::new(run.first, began, steps.last())));
    }
    steps
}

fn reply_alone(transaction: &Transaction) -> Vec<PacketRun> {
    let reply = transaction.reply.as_ref();
    let run = reply.map(|reply| {
        PacketRun::one(transaction.requester.other(), Some(Step::Reply), reply.stamp, reply.inline as u64)
    });
    run.into_iter().collect()
}

/// The times of a line.
struct DiagramStepTimes {
    /// Nanoseconds since the first packet of the RPC.
    at: u64,
    /// Nanoseconds since the line before.
    since: u64,
}

impl DiagramStepTimes {
    /// The times of a line that begins at `first`, of an RPC that began at `began`.
    fn new(first: Stamp, began: Stamp, before: Option<&DiagramStep>) -> Self {
        let before = before.map_or(began, |before| before.last);
        let since = |stamp: Stamp| first.time.0.saturating_sub(stamp.time.0);
        Self { at: since(began), since: since(before) }
    }
}

fn missing_step(missing: &StepsLeftOut, times: &DiagramStepTimes) -> DiagramStep {
    let StepsLeftOut { packets, first, last, .. } = *missing;
    let DiagramStepTimes { at, since } = *times;
    let label = vec![format!("{} packets are not shown", grouped(packets))];
    DiagramStep { first, last, at, since, arrow: Arrow::LeftOut, kind: DiagramStepKind::LeftOut, label }
}

fn diagram_step(run: &PacketRun, transaction: &Transaction, times: &DiagramStepTimes) -> DiagramStep {
    let PacketRun { from, step, recovery, first, last, .. } = *run;
    let DiagramStepTimes { at, since } = *times;
    let is_silence = recovery.is_some_and(RecoveryKind::is_cause);
    let arrow = match (from == transaction.requester, is_silence) {
        (true, false) => Arrow::Right,
        (false, false) => Arrow::Left,
        (true, true) => Arrow::ClientSilent,
        (false, true) => Arrow::ServerSilent,
    };
    let kind = match (step, recovery) {
        (_, Some(_)) | (None, _) => DiagramStepKind::Loss,
        _ if run.is_discarded => DiagramStepKind::Loss,
        (Some(Step::Acknowledgement), _) => DiagramStepKind::Acknowledgement,
        (Some(Step::Call | Step::Reply | Step::Done), _) => DiagramStepKind::Message,
        (Some(Step::ReadRequest | Step::ReadResponse | Step::Write), _) => DiagramStepKind::Data,
    };
    DiagramStep { first, last, at, since, arrow, kind, label: label(run) }
}

fn label(run: &PacketRun) -> Vec<String> {
    let PacketRun { step, recovery, is_discarded, packets, octets, first, last, .. } = *run;
    let name = match step {
        Some(Step::Call) => "Send: call",
        Some(Step::Reply) => "Send: reply",
        Some(Step::Done) => "Send: RDMA_DONE",
        Some(Step::Acknowledgement) => "call acknowledged",
        Some(step @ (Step::ReadRequest | Step::ReadResponse | Step::Write)) => step.name(),
        None => return vec![sign(recovery)],
    };
    let times = if packets > 1 { format!(" × {}", grouped(packets)) } else { String::new() };
    let fate = match recovery {
        Some(RecoveryKind::Replaced) => format!(", {LOST_BEFORE}"),
        Some(kind) => format!(", {}", kind.name()),
        None => String::new(),
    };
    let end = if is_discarded { format!(", {DISCARDED}") } else { String::new() };
    let mut label = vec![format!("{name}{times}{fate}{end}")];
    if octets > 0 {
        label.push(format!("{} bytes", grouped(octets)));
    }
    let duration = last.time.0.saturating_sub(first.time.0);
    if packets > 1 && duration > 0 {
        label.push(format!("{} ms", Milliseconds(duration)));
    }
    label
}

/// Returns the description of an indication of loss that is about no packet among the others.
fn sign(recovery: Option<RecoveryKind>) -> String {
    match recovery {
        Some(RecoveryKind::TimedOut { silence }) => {
            format!("time-out: had waited for {} ms", Milliseconds(silence))
        }
        Some(RecoveryKind::ImpliedNak) => "implied NAK: a response was missing".to_owned(),
        Some(RecoveryKind::NotReady { wait }) => format!("RNR NAK: wait {} ms", Milliseconds(wait)),
        Some(RecoveryKind::SequenceError) => "NAK: a packet was lost".to_owned(),
        Some(kind @ (RecoveryKind::Retransmitted | RecoveryKind::Replaced)) => {
            format!("TCP segment {}", kind.name())
        }
        Some(kind) => kind.name().to_owned(),
        None => String::new(),
    }
}

/// Returns explanations of the words that appear in a sequence diagram.
pub(crate) fn notes(steps: &[DiagramStep]) -> Vec<&'static str> {
    let has = |text: &str| steps.iter().any(|step| step.label.first().is_some_and(|label| label.contains(text)));
    let notes = [
        (DISCARDED, "discarded: the receiver missed a packet before these and threw them away; they came again later"),
        (
            RecoveryKind::Replaced.name(),
            "retransmitted, first not captured: the capture does not hold the packets from before",
        ),
    ];
    notes.into_iter().filter(|(text, _)| has(text)).map(|(_, note)| note).collect()
}

//! Summary of a capture in five sentences with figures.

use rpcrdma::rules::Severity;
use rpcrdma_dissector::{Counts, Transaction};

use super::Finished;
use crate::called::called_within;
use crate::diagnosis::SelectedRpcs;
use crate::format::line::sentence;
use crate::format::number::{counted, duration, grouped};
use crate::gaps::Gap;
use crate::promises::{operation_time, refused, refused_before};
use crate::slow::longest;
use crate::stats::text::twice;

/// Maximum number of connections whose missing direction gets a separate sentence.
const DIRECTIONS: usize = 3;
/// Columns for what the slowest RPC calls.
const CALLED: usize = 60;

/// The slowest RPC.
#[derive(Debug)]
pub(super) struct SlowestOne {
    latency: u64,
    frame: Option<u64>,
    called: String,
    /// Name of the file of the RPC.
    file: Option<String>,
    /// The phase that took longest, or the refusals before the call.
    longest: Option<String>,
}

impl SlowestOne {
    /// Replaces the slowest RPC so far by a slower one.
    pub(super) fn replace(
        slowest: &mut Option<Self>,
        transaction: &Transaction,
        file: impl FnOnce() -> Option<String>,
    ) {
        let Some(latency) = operation_time(transaction) else { return };
        if slowest.as_ref().is_some_and(|slowest| slowest.latency >= latency) {
            return;
        }
        *slowest = Some(Self {
            latency,
            frame: transaction.call.as_ref().map(|call| call.stamp.frame),
            called: called_within(CALLED, transaction),
            file: file(),
            longest: match refused_before(transaction) {
                Some(promise) => Some(format!("{} since frame {}", refused(promise), promise.call.frame)),
                None => transaction.phases.as_ref().ok().map(|phases| longest(phases, transaction)),
            },
        });
    }
}

/// The sentences.
pub(super) fn sentences(finished: &Finished<'_>) -> Vec<String> {
    if finished.gaps.messages == 0 {
        return vec!["Nothing to judge: there is no RPC-over-RDMA message.".to_owned()];
    }
    if finished.is_empty_selection() {
        return Vec::new();
    }
    let hidden = finished.gaps.hidden(DIRECTIONS).into_iter().map(|text| sentence(&text));
    let rest = [
        Some(traffic(finished)),
        latency(finished),
        Some(network(finished)),
        Some(rules(finished)),
        Some(missing(finished)),
    ];
    hidden.chain(rest.into_iter().flatten()).collect()
}

fn traffic(finished: &Finished<'_>) -> String {
    let statistics = &finished.statistics;
    let rpcs = &statistics.rpcs;
    let connections = statistics.connections.len() as u64 + statistics.connections_left_out;
    let (all, length) = (counted(rpcs.total, "RPC"), duration(statistics.capture.duration_ns));
    let text = match &finished.diagnosis.selection {
        None => format!("{all} on {} in {length}", counted(connections, "connection")),
        Some(SelectedRpcs { options, all_rpcs, throughout, .. }) => {
            let selected = grouped(rpcs.total);
            let throughout = throughout.as_ref().map(|text| format!(", {text}")).unwrap_or_default();
            format!("{selected} of {} selected ({options}){throughout}", counted(*all_rpcs, "RPC"))
        }
    };
    let calls = rpcs.total - rpcs.without_call;
    let whole = calls - rpcs.without_reply.min(calls);
    let answered = match (calls, rpcs.without_reply, finished.gaps.gravest()) {
        _ if rpcs.total == 0 => String::new(),
        (_, _, Some(Gap::MessageDirection)) => format!("; both call and reply were captured of {}", grouped(whole)),
        (0, ..) => "; no call was captured".to_owned(),
        (_, 0, _) if finished.diagnosis.selection.is_some() => "; each of their calls was answered".to_owned(),
        (_, 0, None) if finished.unacknowledged > 0 => {
            let unacknowledged = grouped(finished.unacknowledged);
            format!("; every call has a reply, {unacknowledged} of them not acknowledged in the capture")
        }
        (_, 0, None) => "; every call was answered".to_owned(),
        (_, 0, Some(_)) => "; every call that was captured was answered".to_owned(),
        (_, 1, _) => "; 1 call has no reply".to_owned(),
        (_, calls, _) => format!("; {} calls have no reply", grouped(calls)),
    };
    format!("{text}{answered}.")
}

/// Words for an empty list of calls without a reply.
pub(super) fn no_pending(finished: &Finished<'_>) -> String {
    match finished.gaps.gravest() {
        _ if finished.is_empty_selection() => "No RPC is selected.".to_owned(),
        None if finished.diagnosis.selection.is_some() => "Every selected call has its reply.".to_owned(),
        None => "Every call has its reply.".to_owned(),
        Some(gap) => format!("No call without a reply was captured, but {gap}."),
    }
}

/// Words for an empty list of findings.
pub(super) fn no_finding(finished: &Finished<'_>) -> String {
    match finished.gaps.gravest() {
        _ if finished.is_empty_selection() => "Nothing is selected.".to_owned(),
        None if finished.diagnosis.selection.is_some() => "No rule is broken in this selection.".to_owned(),
        None => "No rule of the protocol is broken.".to_owned(),
        Some(gap) => format!("No broken rule was found, but {gap}."),
    }
}

fn latency(finished: &Finished<'_>) -> Option<String> {
    finished.diagnosis.latency?;
    let (latency, slowest) = (finished.latency?, finished.slowest_one.as_ref()?);
    let frame = slowest.frame.map(|frame| format!(" in frame {frame}")).unwrap_or_default();
    let file = slowest.file.as_ref().map(|file| format!(" of {file}")).unwrap_or_default();
    let longest = slowest.longest.as_ref().map(|longest| format!(" ({longest})")).unwrap_or_default();
    let slowest = format!("{}{file}{frame}, took {}{longest}", slowest.called, duration(slowest.latency));
    let Some(percentiles) = latency.percentiles() else {
        return Some(format!("The only RPC with a known latency, {slowest}."));
    };
    let [half, most] = percentiles.map(duration);
    Some(format!("The median latency is {half}, the 99th percentile {most}; the slowest, {slowest}."))
}

fn network(finished: &Finished<'_>) -> String {
    let ends =
        || finished.statistics.connections.iter().flat_map(|connection| [&connection.active, &connection.passive]);
    let sum = |of: fn(&Counts) -> u64| ends().map(|end| of(&end.counts)).sum::<u64>();
    let (packets, again) = (sum(|counts| counts.packets), sum(|counts| counts.retransmitted + counts.replaced));
    let (naks, not_ready, failed) =
        (sum(|counts| counts.sequence_errors), sum(|counts| counts.not_ready), sum(|counts| counts.failed));
    let losses = [
        (naks, "negative acknowledgement", "negative acknowledgements"),
        (sum(|counts| counts.timeouts), "time-out", "time-outs"),
        (sum(|counts| counts.implied_naks), "implied negative acknowledgement", "implied negative acknowledgements"),
        (sum(|counts| counts.causes_not_seen), "cause not seen", "causes not seen"),
    ];
    let after = match losses.iter().map(|(count, ..)| count).sum() {
        0 => String::new(),
        1 => format!(" after 1 loss ({})", several(losses)),
        all => format!(" after {} losses ({})", grouped(all), several(losses)),
    };
    let again = match again {
        0 if finished.gaps.gravest().is_some() => "Nothing captured shows that a packet was retransmitted".to_owned(),
        0 => "No captured packet was retransmitted".to_owned(),
        1 => format!("1 of {} was retransmitted{after}", counted(packets, "packet")),
        again => {
            let share = 100.0 * again as f64 / packets.max(1) as f64;
            format!("{} of {} were retransmitted ({share:.1} %){after}", grouped(again), counted(packets, "packet"))
        }
    };
    let more = several([
        (not_ready, "'receiver not ready'", "'receiver not ready'"),
        (failed, "operation refused for good", "operations refused for good"),
    ]);
    let copies = match sum(|counts| counts.duplicates) {
        0 => String::new(),
        copies => format!(" Left out: {}.", twice(copies, packets)),
    };
    // Packets are counted by connection, not by time.
    let scope = if finished.diagnosis.selection.is_some() { ", at any time on these connections" } else { "" };
    let more = if more.is_empty() { more } else { format!("; there were {more}") };
    format!("{again}{scope}{more}.{copies}")
}

fn rules(finished: &Finished<'_>) -> String {
    let findings = finished.findings;
    let counts = [Severity::Error, Severity::Warning, Severity::Hazard]
        .map(|severity| (findings.count_severity(severity), severity))
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, severity)| counted(count, severity.name()));
    let counts = counts.collect::<Vec<_>>().join(", ");
    let sorted = findings.sorted();
    let Some(worst) = sorted.first() else { return no_finding(finished) };
    if let Some(known) = worst
        .accepted_deviation()
        .filter(|known| sorted.iter().all(|finding| finding.accepted_deviation() == Some(*known)))
    {
        return format!("No rule is broken but in ways that {known} is known for: {counts}.");
    }
    let known = worst.accepted_deviation().map(|known| format!(", known of {known}")).unwrap_or_default();
    let (slug, by) = (worst.first.rule.slug, &worst.by);
    format!("Rules of the protocol are broken: {counts}; the worst is {slug}, by {by}{known}.")
}

fn missing(finished: &Finished<'_>) -> String {
    let statistics = &finished.statistics;
    let missed: u64 = statistics
        .connections
        .iter()
        .map(|connection| connection.active.counts.missed + connection.passive.counts.missed)
        .sum();
    let late = statistics.connections.iter().filter(|connection| !connection.setup_captured).count() as u64;
    let directions = finished.gaps.directions.len() as u64 + finished.gaps.directions_left_out;
    let lacks = several([
        (directions, "direction of a connection", "directions of connections"),
        (finished.gaps.files, "rest of a file", "rests of files"),
        (missed, "packet", "packets"),
        (late, "connection setup", "connection setups"),
        (statistics.messages.incomplete, "part of a message", "parts of messages"),
    ]);
    if lacks.is_empty() && finished.gaps.two_clocks > 0 {
        return "What is missing from the capture is not known, because two clocks gave the times of packets."
            .to_owned();
    }
    if lacks.is_empty() {
        return "As far as can be seen, nothing is missing from the capture.".to_owned();
    }
    format!("Missing from the capture: {lacks}; what depends on them is not judged.")
}

/// Lists the counts that are not zero, with their names for one and for several.
fn several<const N: usize>(counts: [(u64, &str, &str); N]) -> String {
    let any = counts.into_iter().filter(|(count, ..)| *count > 0);
    let any = any.map(|(count, one, many)| format!("{} {}", grouped(count), if count == 1 { one } else { many }));
    any.collect::<Vec<_>>().join(", ")
}

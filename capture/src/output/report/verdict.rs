//! What is to be said of a capture in five sentences, each with its figures.

use rpcrdma::rules::Severity;
use rpcrdma::v2::{Credit, Family};

use super::Finished;
use crate::output::slow::longest;
use crate::output::stats::EndReport;
use crate::output::text::called_within;
use crate::rpc::header::Dialect;
use crate::rpc::known::Direction;
use crate::rpc::message::Message;
use crate::rpc::transaction::Transaction;

/// Columns for what the slowest RPC calls.
const CALLED: usize = 60;

/// The slowest RPC.
#[derive(Debug)]
pub(super) struct SlowestOne {
    latency: u64,
    frame: Option<u64>,
    called: String,
    /// The phase that took longest.
    longest: Option<String>,
}

impl SlowestOne {
    /// Puts an RPC in the place of the slowest so far, if it was slower.
    pub(super) fn replace(slowest: &mut Option<Self>, transaction: &Transaction) {
        let Some(latency) = transaction.latency() else { return };
        if slowest.as_ref().is_some_and(|slowest| slowest.latency >= latency) {
            return;
        }
        *slowest = Some(Self {
            latency,
            frame: transaction.call.as_ref().map(|call| call.stamp.frame),
            called: called_within(CALLED, transaction),
            longest: transaction.phases.as_ref().ok().map(|phases| longest(phases, transaction)),
        });
    }
}

/// The credits that a reply grants, where it is known what the word means.
pub(super) fn granted(message: &Message) -> Option<u32> {
    let is_reply = message.rpc.as_ref().is_some_and(|rpc| rpc.direction == Direction::Reply);
    let prefix = message.prefix().filter(|_| is_reply && message.is_malformed().is_none())?;
    match message.dialect {
        Dialect::Version1 => Some(prefix.credit),
        Dialect::Version2(Family::A) => Some(Credit(prefix.credit).granted().into()),
        Dialect::Version2(Family::B) | Dialect::Version2Unknown => None,
    }
}

/// The sentences.
pub(super) fn sentences(finished: &Finished<'_>) -> Vec<String> {
    [
        Some(traffic(finished)),
        latency(finished),
        Some(network(finished)),
        Some(rules(finished)),
        Some(missing(finished)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn traffic(finished: &Finished<'_>) -> String {
    let statistics = &finished.statistics;
    let rpcs = &statistics.rpcs;
    let connections = statistics.connections.len() as u64 + statistics.connections_left_out;
    let text = format!(
        "{} on {} in {}",
        counted(rpcs.total, "RPC"),
        counted(connections, "connection"),
        duration(statistics.capture.duration as f64)
    );
    match (rpcs.total, rpcs.without_reply) {
        (0, _) => format!("{text}."),
        (_, 0) => format!("{text}; every call was answered."),
        (_, 1) => format!("{text}; 1 call has no reply."),
        (_, calls) => format!("{text}; {} calls have no reply.", grouped(calls)),
    }
}

fn latency(finished: &Finished<'_>) -> Option<String> {
    let (latency, slowest) = (finished.latency?, finished.slowest_one.as_ref()?);
    let frame = slowest.frame.map(|frame| format!(" in frame {}", grouped(frame))).unwrap_or_default();
    let longest = slowest.longest.as_ref().map(|longest| format!(" ({longest})")).unwrap_or_default();
    Some(format!(
        "Half of the RPCs took no more than {}, 99 of 100 no more than {}; the slowest, {}{frame}, took {}{longest}.",
        duration(latency.median as f64),
        duration(latency.p99 as f64),
        slowest.called,
        duration(slowest.latency as f64)
    ))
}

fn network(finished: &Finished<'_>) -> String {
    let ends =
        || finished.statistics.connections.iter().flat_map(|connection| [&connection.active, &connection.passive]);
    let sum = |of: fn(&EndReport) -> u64| ends().map(of).sum::<u64>();
    let (packets, again) = (sum(|end| end.packets), sum(|end| end.retransmitted + end.replaced));
    let (naks, not_ready, failed) = (sum(|end| end.sequence_errors), sum(|end| end.not_ready), sum(|end| end.failed));
    let again = match again {
        0 => "No packet was sent again".to_owned(),
        1 => format!("1 of {} was sent again", counted(packets, "packet")),
        again => {
            let share = 100.0 * again as f64 / packets.max(1) as f64;
            format!("{} of {} were sent again ({share:.1} %)", grouped(again), counted(packets, "packet"))
        }
    };
    let more = several([
        (naks, "negative acknowledgement", "negative acknowledgements"),
        (not_ready, "'receiver not ready'", "'receiver not ready'"),
        (sum(|end| end.timeouts), "time-out", "time-outs"),
        (failed, "operation refused for good", "operations refused for good"),
    ]);
    if more.is_empty() { format!("{again}.") } else { format!("{again}; there were {more}.") }
}

fn rules(finished: &Finished<'_>) -> String {
    let findings = finished.findings;
    let counts = [Severity::Error, Severity::Warning, Severity::Hazard]
        .map(|severity| (findings.of(severity), severity))
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, severity)| counted(count, severity.name()));
    let counts: Vec<_> = counts.collect();
    let sorted = findings.sorted();
    let Some(worst) = sorted.first() else { return "No rule of the protocol is broken.".to_owned() };
    let known = worst.known.map(|known| format!(", known of {known}")).unwrap_or_default();
    format!(
        "Rules of the protocol are broken: {}; the worst is {}, by {}{known}.",
        counts.join(", "),
        worst.rule.slug,
        worst.by
    )
}

fn missing(finished: &Finished<'_>) -> String {
    let statistics = &finished.statistics;
    let missed: u64 =
        statistics.connections.iter().map(|connection| connection.active.missed + connection.passive.missed).sum();
    let late = statistics.connections.iter().filter(|connection| !connection.set_up).count() as u64;
    let lacks = several([
        (missed, "packet", "packets"),
        (late, "set-up of a connection", "set-ups of connections"),
        (statistics.messages.incomplete, "part of a message", "parts of messages"),
    ]);
    if lacks.is_empty() {
        return "As far as can be seen, nothing is missing from the capture.".to_owned();
    }
    format!("Missing from the capture: {lacks}; what depends on them is not judged.")
}

/// Those of which there are any, with their names for one and for several.
fn several<const N: usize>(counts: [(u64, &str, &str); N]) -> String {
    let any = counts.into_iter().filter(|(count, ..)| *count > 0);
    let any = any.map(|(count, one, many)| format!("{} {}", grouped(count), if count == 1 { one } else { many }));
    any.collect::<Vec<_>>().join(", ")
}

pub(super) fn counted(count: u64, name: &str) -> String {
    if count == 1 { format!("1 {name}") } else { format!("{} {name}s", grouped(count)) }
}

/// Digits in groups of three.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Nanoseconds in a unit that suits them, with three digits that matter.
pub(super) fn duration(nanoseconds: f64) -> String {
    scaled(nanoseconds, &[(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")])
}

/// Octets, likewise.
pub(super) fn octets(octets: f64) -> String {
    scaled(octets, &[(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")])
}

fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let unit = units.iter().find(|(factor, _)| value >= *factor).or(units.last());
    let Some(&(factor, unit)) = unit else { return value.to_string() };
    let value = value / factor;
    let decimals = if factor == 1.0 || value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_that_matter_and_a_unit() {
        for (nanoseconds, expected) in [
            (0.0, "0 ns"),
            (999.0, "999 ns"),
            (1_234.0, "1.23 µs"),
            (4_091_796_000.0, "4.09 s"),
            (12_345_678.0, "12.3 ms"),
            (812_345_678.0, "812 ms"),
            (3.6e12, "3600 s"),
        ] {
            assert_eq!(duration(nanoseconds), expected);
        }
        assert_eq!((octets(65_536.0), octets(7.0)), ("65.5 kB".to_owned(), "7 B".to_owned()));
        assert_eq!(["7", "1,000", "12,345,678"], [7, 1000, 12_345_678].map(grouped));
    }
}

//! Statements about captures whose two directions have the times of two clocks.

use super::{Found, Simulated, Verdict, counted, verdict};
use crate::synthetic::Packet;
use crate::transcode::shuffling;

/// Microseconds by which the clock of one direction is ahead.
const AHEAD: [u64; 3] = [200, 2_000, 50_000];
/// Causes that two clocks leave: what an end says of itself, whenever that was.
const LEFT: [&str; 4] = ["two-clocks", "errors", "protocol", "small-sends"];

/// Two clocks are named, and nothing is said of times, losses and retransmissions.
#[test]
fn two_clocks_are_named_without_times_or_losses() {
    verdict("clocks").assert([60, 60]);
    let [_, untimed] = verdict("clocks").counts;
    assert!(untimed > 1_000, "{untimed}");
}

/// Packets whose Sends and Writes ask for an acknowledgement with the last packet, as adapters do.
fn asking(captured: &[(u64, Packet)]) -> Vec<(u64, Packet)> {
    let mut captured = captured.to_vec();
    // Behind the headers of IPv4 and UDP: SEND and RDMA WRITE, last and only.
    let last = captured.iter_mut().filter(|(_, packet)| matches!(packet[28], 0x02..=0x05 | 0x08..=0x0b | 0x16 | 0x17));
    last.for_each(|(_, packet)| packet[36] |= 0x80);
    captured
}

/// Counts connections that were captured by two clocks, and RPCs of these connections without a latency.
pub(super) fn clocks(simulated: &Simulated, found: &Found, verdict: &mut Verdict) {
    let seed = simulated.chances.seed;
    let all = if simulated.is_roce { asking(&simulated.captured) } else { simulated.captured.clone() };
    if let Some(late) = found.report.late_clock {
        verdict.refuse(simulated, format!("one clock, and {late:?} is late"));
    }
    if !seed.is_multiple_of(4) {
        return;
    }
    if let Some(late) = Found::new(&all).report.late_clock {
        verdict.refuse(simulated, format!("one clock that adapters show, and {late:?} is late"));
    }
    let times = all.iter().map(|(time, _)| *time);
    let packets: Vec<Packet> = all.iter().map(|(_, packet)| packet.clone()).collect();
    let disordered: Vec<_> = times.zip(shuffling(&packets, seed, 100, 5)).collect();
    if let Some(late) = Found::new(&disordered).report.late_clock {
        verdict.refuse(simulated, format!("disorder, and {late:?} is late"));
    }
    let (host, ahead) = ([1, 2][seed as usize / 4 % 2], AHEAD[seed as usize % 3]);
    let mut captured = all;
    // The last octet of the source address.
    let late = captured.iter_mut().filter(|(_, packet)| packet[15] == host);
    late.for_each(|(time, _)| *time += ahead);
    captured.sort_by_key(|(time, _)| *time);
    let Found { transactions, report, diagnosis } = Found::new(&captured);
    let causes: Vec<_> = diagnosis.causes.iter().map(|cause| cause.cause).collect();
    let (active, passive) = (counted(report.counts.active), counted(report.counts.passive));
    let said = |text: &str| format!("{host} ahead by {ahead}: {text}, {causes:?} {active:?} {passive:?}");
    let lost = |[retransmitted, replaced, timeouts, implied_naks, causes_not_seen, .., missed]: [u64; 9]| {
        retransmitted + replaced + timeouts + implied_naks + causes_not_seen + missed
    };
    let timed = transactions.iter().filter(|transaction| transaction.latency().is_some()).count();
    let orders = [report.counts.active, report.counts.passive].map(|counts| counts.acknowledged);
    let acknowledgements: u64 = orders.iter().map(|order| order.before + order.after).sum();
    // A call that hangs may leave few.
    if report.late_clock.is_none() && acknowledgements < 16 {
        return;
    }
    if report.late_clock.is_none() {
        verdict.refuse(
            simulated,
            said(&format!(
                "not named, {:?} {:?}",
                report.counts.active.acknowledged, report.counts.passive.acknowledged
            )),
        );
    } else if lost(active) + lost(passive) > 0 || causes.iter().any(|cause| !LEFT.contains(cause)) {
        verdict.refuse(simulated, said("more is said"));
    } else if diagnosis.latency.is_some() || timed > 2 {
        verdict.refuse(simulated, said(&format!("{timed} latencies")));
    }
    verdict.counts[0] += 1;
    verdict.counts[1] += (transactions.len() - timed) as u64;
}

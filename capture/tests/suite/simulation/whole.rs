//! Statements about captures that hold every packet which passed.

use rpcrdma_dissector::{Counts, Owed, Phase, Phases};

use super::rpc::Rpc;
use super::{EndTruth, Found, Simulated, Verdict, counted, verdict};
use crate::synthetic::By::{Client, Server};

#[test]
fn a_latency_is_the_true_one_or_unknown() {
    let verdict = verdict("latencies");
    verdict.assert([0; 2]);
    let [known, unknown] = verdict.counts;
    assert!(unknown * 10 < known, "{unknown} of {known}");
}

/// Counts latencies that are known, and unknown.
pub(super) fn latencies(simulated: &Simulated, Found { transactions, .. }: &Found, verdict: &mut Verdict) {
    for transaction in transactions {
        let rpc = &simulated.rpcs[&transaction.xid];
        let expected = rpc.latency(rpc.ended);
        match transaction.latency() {
            found if found == expected => verdict.counts[0] += 1,
            None => verdict.counts[1] += 1,
            found => verdict.refuse(simulated, format!("{:#x}: {found:?}, not {expected:?}", transaction.xid)),
        }
    }
}

#[test]
fn retransmissions_and_their_causes_are_counted_as_simulated() {
    verdict("causes").assert([1_000; 2]);
}

/// Counts retransmitted packets, and causes.
pub(super) fn causes(simulated: &Simulated, Found { report, .. }: &Found, verdict: &mut Verdict) {
    let both = [(Client, report.counts.active), (Server, report.counts.passive)];
    for ((by, found), truth) in both.into_iter().zip(simulated.ends) {
        let Counts { retransmitted, replaced, timeouts, implied_naks, sequence_errors, not_ready, .. } = found;
        let has_refused = !simulated.is_roce || [sequence_errors, not_ready] == truth.refusals;
        // Packets that nothing in the capture asked for may be copies.
        let is_right = (truth.again.saturating_sub(found.duplicates)..=truth.again).contains(&retransmitted)
            && has_refused
            && replaced <= truth.only_again
            && timeouts <= truth.timeouts
            && implied_naks <= truth.implied_naks;
        if !is_right {
            verdict.refuse(simulated, format!("{by:?}: {:?}, not {truth:?}", counted(found)));
        }
        verdict.counts[0] += retransmitted + replaced;
        verdict.counts[1] += timeouts + implied_naks + sequence_errors;
    }
}

/// The time that is given to recovery, and to phases, is part of the latency.
#[test]
fn recovery_takes_no_longer_than_the_rpc() {
    verdict("recoveries").assert([1_000; 2]);
}

/// Counts RPCs whose recovery is known, and ones that lost packets.
pub(super) fn recoveries(simulated: &Simulated, Found { transactions, .. }: &Found, verdict: &mut Verdict) {
    for transaction in transactions {
        let (Some(latency), Ok(phases), Ok(recovery)) =
            (transaction.latency(), transaction.phases, &transaction.recovery)
        else {
            continue;
        };
        let of = |phases: Phases| Phase::ALL.map(|phase| phases.phase_time(phase));
        let (whole, part) = (of(phases), of(recovery.phases));
        if part.iter().zip(whole).any(|(part, whole)| *part > whole) || recovery.phases.total() > latency {
            verdict.refuse(simulated, format!("{:#x}: {latency} {phases:?} {:?}", transaction.xid, recovery.phases));
        }
        verdict.counts[0] += 1;
        verdict.counts[1] += u64::from(recovery.phases.total() > 0);
    }
}

#[test]
fn phases_of_lossless_rpcs_are_as_simulated() {
    verdict("phases").assert([1_000; 2]);
}

/// Counts RPCs whose packets were each sent and captured once, and the ones with RDMA Reads among them.
pub(super) fn phases(simulated: &Simulated, Found { transactions, .. }: &Found, verdict: &mut Verdict) {
    for transaction in transactions {
        let rpc = &simulated.rpcs[&transaction.xid];
        let (Some(expected), Ok(found)) = (rpc.phases(), transaction.phases) else { continue };
        let is_near = found.rdma_read.abs_diff(expected.rdma_read) <= ROUND_TRIPS && found.total() == expected.total();
        if found != expected && !(rpc.is_beside_copies && is_near) {
            verdict.refuse(simulated, format!("{:#x}: {found:?}, not {expected:?}", transaction.xid));
        }
        verdict.counts[0] += 1;
        verdict.counts[1] += u64::from(expected.rdma_read > 0);
    }
}

/// The server waits for data from its first RDMA Read request until all has arrived, whatever is lost and retransmitted meanwhile.
#[test]
fn read_time_is_server_time_waiting_for_data() {
    verdict("pulls").assert([200; 2]);
}

/// Nanoseconds of three round trips.
const ROUND_TRIPS: u64 = 240_000;

/// Counts RPCs with RDMA Reads that lost nothing, and ones that lost packets.
pub(super) fn pulls(simulated: &Simulated, Found { transactions, .. }: &Found, verdict: &mut Verdict) {
    for transaction in transactions {
        let rpc = &simulated.rpcs[&transaction.xid];
        let Ok(Phases { rdma_read: pull, .. }) = transaction.phases else { continue };
        // Of a request that was not captured, it is not known when it was sent; of responses that come several times within a few round
        // trips, which were accepted.
        let is_seen = rpc.pulls.iter().all(|pull| pull.is_seen);
        let [truth, most] = [false, true].map(|all| rpc.pulled(all));
        let least = if is_seen { truth.saturating_sub(ROUND_TRIPS) } else { 0 };
        let is_right = (least..=most + ROUND_TRIPS).contains(&pull);
        if !is_right {
            let Rpc { parts, ended, pulls, .. } = rpc;
            let found = transaction.phases;
            verdict.refuse(
                simulated,
                format!("{:#x}: {found:?}, {truth}, {ended:?} {parts:?} {pulls:?}", transaction.xid),
            );
        }
        if truth > 0 {
            verdict.counts[usize::from(rpc.is_lossy)] += 1;
        }
    }
}

/// The time in which the server could not have had a call or data is recovery, or that of the RDMA Reads.
#[test]
fn server_time_is_time_with_everything_needed() {
    verdict("servers").assert([1_000; 2]);
}

/// Counts RPCs that lost nothing, and ones that lost packets.
pub(super) fn servers(simulated: &Simulated, Found { transactions, .. }: &Found, verdict: &mut Verdict) {
    for transaction in transactions {
        let rpc = &simulated.rpcs[&transaction.xid];
        let (Ok(phases), Ok(recovery)) = (transaction.phases, &transaction.recovery) else { continue };
        // Nothing shows that a packet was lost before the capture if nothing that follows it was captured.
        if rpc.has_hidden_packet {
            continue;
        }
        let (found, most) = (phases.responder - recovery.phases.responder, rpc.served());
        // Of a segment that TCP retransmits before three acknowledgements report it, nothing shows that it fills a gap.
        let margin = if simulated.is_roce { ROUND_TRIPS } else { 2 * ROUND_TRIPS };
        if recovery.unassigned == 0 && most.is_some_and(|most| found > most + margin) {
            let Rpc { called, parts, ended, pulls, .. } = rpc;
            let text =
                format!("{found}, not {most:?}: {phases:?} {recovery:?}, {called:?} {ended:?} {parts:?} {pulls:?}");
            verdict.refuse(simulated, format!("{:#x}: {text}", transaction.xid));
        }
        verdict.counts[usize::from(rpc.is_lossy)] += 1;
    }
}

/// Each octet of a call and of a reply is the one that was sent.
#[test]
fn what_is_rebuilt_is_what_was_sent() {
    let verdict = verdict("messages");
    verdict.assert([0; 2]);
    let [not_rebuilt, rebuilt] = verdict.counts;
    assert!(not_rebuilt * 10 < rebuilt, "{not_rebuilt} of {rebuilt}");
}

/// Counts messages that are not rebuilt, and that are.
pub(super) fn messages(simulated: &Simulated, Found { transactions, .. }: &Found, verdict: &mut Verdict) {
    for transaction in transactions {
        let rpc = &simulated.rpcs[&transaction.xid];
        let halves = [(&transaction.call, &rpc.call), (&transaction.reply, &rpc.reply)];
        // The place of a Write chunk's data shows only in results that are known.
        let is_known = |is_reply: bool| !is_reply || transaction.write_octets == 0;
        let halves = halves.into_iter().zip([false, true]).filter(|(_, is_reply)| is_known(*is_reply));
        for (half, sent) in halves.filter_map(|((half, sent), _)| Some((half.as_ref()?, sent))) {
            let found = half.message.as_ref().ok().map(|rebuilt| rebuilt.octets());
            verdict.counts[usize::from(found.is_some())] += 1;
            if found.is_some_and(|found| found != sent) {
                verdict.refuse(simulated, format!("{:#x}: {} octets", transaction.xid, sent.len()));
            }
        }
    }
}

/// All packets arrive in the end, so a call waits only because the server does not answer it.
#[test]
fn an_unanswered_delivered_call_is_owed_by_the_server() {
    verdict("debts").assert([100, 0]);
}

/// Counts calls that hang, and ones of which the debtor is not known.
pub(super) fn debts(simulated: &Simulated, Found { transactions, .. }: &Found, verdict: &mut Verdict) {
    for transaction in transactions {
        let rpc = &simulated.rpcs[&transaction.xid];
        let Some(waiting) = transaction.waiting else { continue };
        let is_right = match (waiting.owed, rpc.hung.is_some()) {
            (Owed::Reply, true) => true,
            (Owed::ReplyArrival(times), false) => u64::from(times) == rpc.replies,
            (Owed::Unknown(_), _) => true,
            _ => false,
        };
        verdict.counts[0] += u64::from(rpc.hung.is_some());
        verdict.counts[1] += u64::from(matches!(waiting.owed, Owed::ReplyArrival(_) | Owed::Unknown(_)));
        if !is_right {
            verdict.refuse(simulated, format!("{:#x}: {waiting:?}", transaction.xid));
        }
    }
}

/// An adapter acknowledges what comes again once more, in the same words.
#[test]
fn acknowledgements_that_are_repeated_are_no_copies() {
    let verdict = verdict("copies");
    let [once, more] = verdict.counts;
    assert!(more * 100 < once, "{more} of {}", once + more);
}

/// Counts connections without copies, and with copies that are not packets which were retransmitted for no visible reason.
pub(super) fn copies(simulated: &Simulated, Found { report, .. }: &Found, verdict: &mut Verdict) {
    let ends = [report.counts.active, report.counts.passive].into_iter().zip(&simulated.ends);
    let has_more =
        |(found, truth): (Counts, &EndTruth)| found.duplicates > truth.again.saturating_sub(found.retransmitted);
    verdict.counts[usize::from(ends.into_iter().any(has_more))] += 1;
}

/// The longest time in nanoseconds that an end takes for an RPC, with the time that its packets wait for each other.
const BUSY: u64 = 5_000_000;

/// No end takes more than some milliseconds: all other time is that of the network, or of a receiver that was not ready.
#[test]
fn time_without_anything_to_do_blames_no_end() {
    verdict("blames").assert([1_000; 2]);
}

/// Counts RPCs without signs of loss, and with them. If nothing shows that a packet was sent, the time is its sender's.
pub(super) fn blames(simulated: &Simulated, Found { transactions, .. }: &Found, verdict: &mut Verdict) {
    for transaction in transactions.iter().filter(|transaction| !simulated.rpcs[&transaction.xid].is_hidden) {
        let (Ok(phases), Ok(recovery)) = (transaction.phases, &transaction.recovery) else { continue };
        let of = |phase| phases.phase_time(phase) - recovery.phases.phase_time(phase);
        let ends = [Phase::Responder, Phase::RdmaRead, Phase::Requester].map(of);
        if ends.iter().any(|time| *time > BUSY) {
            let (xid, rpc) = (transaction.xid, &simulated.rpcs[&transaction.xid]);
            verdict.refuse(simulated, format!("{xid:#x}: {ends:?} {recovery:?}, {}", rpc.fate()));
        }
        verdict.counts[usize::from(recovery.phases.total() > 0)] += 1;
    }
}

#[test]
fn a_diagnosis_names_only_what_happened() {
    verdict("diagnoses").assert([100, 10]);
}

/// Counts diagnoses of loss, and of receivers that were not ready.
pub(super) fn diagnoses(simulated: &Simulated, Found { diagnosis, .. }: &Found, verdict: &mut Verdict) {
    let [client, server] = simulated.dropped;
    let refusals = simulated.ends.map(|end| end.refusals[1]);
    let is_hidden = simulated.rpcs.values().any(|rpc| rpc.is_hidden);
    for cause in &diagnosis.causes {
        let evidence = cause.evidence.join("\n");
        let is_right = match cause.cause {
            "loss" => {
                verdict.counts[0] += 1;
                let directions = [("192.0.2.1 to 192.0.2.2", client), ("192.0.2.2 to 192.0.2.1", server)];
                let all: u64 = client.iter().chain(&server).sum();
                let of = |(direction, dropped)| {
                    losses(&evidence, direction).is_none_or(|said| said.is_possible(dropped, all))
                };
                cause.owner == Some("network") && directions.into_iter().all(of)
            }
            "receiver-not-ready" => {
                verdict.counts[1] += 1;
                let most = refusals.into_iter().max();
                let mut ends = [("192.0.2.1", "client"), ("192.0.2.2", "server")].into_iter().zip(refusals);
                ends.any(|((end, owner), refusals)| {
                    let times = if refusals == 1 { "once".to_owned() } else { format!("{refusals} times") };
                    let is_said = evidence.starts_with(&format!("{end} sent 'receiver not ready' (RNR NAK) {times}."));
                    is_said && Some(refusals) == most && cause.owner == Some(owner)
                })
            }
            "server-silent" => simulated.rpcs.values().any(|rpc| rpc.hung.is_some()),
            "server-slow" | "client-slow" => is_hidden,
            "credits" | "small-sends" => true,
            _ => false,
        };
        if !is_right {
            verdict.refuse(simulated, format!("{:?}: {} {evidence}", simulated.dropped, cause.cause));
        }
    }
}

/// Losses of one direction as a diagnosis counts them: all, and those on a side.
#[derive(Debug)]
struct SaidLosses {
    all: u64,
    before: u64,
    behind: u64,
    unacknowledged: u64,
}

impl SaidLosses {
    /// Returns true if these packets of the direction were dropped, and so many in all.
    fn is_possible(&self, [before, behind]: [u64; 2], all: u64) -> bool {
        self.before <= before && self.behind <= behind && self.behind + self.unacknowledged <= all && self.all <= all
    }
}

/// Reads the losses of a direction in the evidence of a diagnosis.
fn losses(evidence: &str, direction: &str) -> Option<SaidLosses> {
    let line =
        evidence.lines().find(|line| line.starts_with(&format!("From {direction}: ")) && line.contains("loss"))?;
    let (_, said) = line.split_once("after ")?;
    let number = |text: &str| text.split(' ').next()?.parse().ok();
    let all = number(said)?;
    let parts: Vec<&str> = said.split_once(": ").map_or(vec![said], |(_, parts)| parts.split(", ").collect());
    let (from, to) = direction.split_once(" to ")?;
    let of = |side: &str| {
        let part = parts.iter().find(|part| part.trim_end_matches('.').ends_with(side));
        part.map_or(Some(0), |part| number(part))
    };
    let before = of(&format!("between {from} and the capture point"))?;
    let behind = of(&format!("between the capture point and {to}"))?;
    let unacknowledged = of("(or only the acknowledgement was lost)")?;
    Some(SaidLosses { all, before, behind, unacknowledged })
}

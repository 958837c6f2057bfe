//! Statements about captures that end or begin in the middle, lack packets, or hold them twice.

use std::collections::BTreeMap;

use rpcrdma_answers::trace::Tracer;
use rpcrdma_dissector::{Counts, Owed, Sides, Transaction};
use serde_json::Value;

use super::{Found, Simulated, Verdict, counted, dissect, verdict};
use crate::synthetic::Packet;
use crate::transcode::Random;

/// A capture that ends in the middle shows the state of each RPC, or it is unknown.
#[test]
fn what_waits_when_the_capture_ends_is_what_waited() {
    verdict("ended").assert([0; 2]);
}

/// Counts RPCs that ended, and ones that wait.
pub(super) fn ended(simulated: &Simulated, _: &Found, verdict: &mut Verdict) {
    let captured = &simulated.captured;
    for part in 1..6 {
        let end = captured[captured.len() * part / 6].0;
        let kept = &captured[..captured.partition_point(|(time, _)| *time <= end)];
        for transaction in dissect(kept).0 {
            let rpc = &simulated.rpcs[&transaction.xid];
            verdict.counts[usize::from(transaction.waiting.is_some())] += 1;
            if !rpc.permits(&transaction, end) {
                let (latency, waiting) = (transaction.latency(), transaction.waiting);
                verdict.refuse(simulated, format!("at {end}: {latency:?} {waiting:?}, {}", rpc.fate()));
            }
        }
    }
}

/// A slice ends when its RPC did, or before; and one without an end is of a call that waits.
#[test]
fn a_trace_slice_is_no_longer_than_its_rpc() {
    verdict("slices").assert([100, 100]);
}

/// Counts slices without an end, and with one.
pub(super) fn slices(simulated: &Simulated, _: &Found, verdict: &mut Verdict) {
    if !simulated.chances.seed.is_multiple_of(10) {
        return;
    }
    let captured = &simulated.captured;
    let end = captured[captured.len() / 2].0;
    let mut tracer = Tracer::new(Vec::new()).unwrap();
    for transaction in dissect(&captured[..captured.partition_point(|(time, _)| *time <= end)]).0 {
        tracer.transaction(&transaction).unwrap();
    }
    let trace: Value = serde_json::from_slice(&tracer.finish(None).unwrap().0).unwrap();
    for slice in trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["args"]["rdma_xid"].is_string()) {
        let xid = u32::from_str_radix(&slice["args"]["rdma_xid"].as_str().unwrap()[2..], 16).unwrap();
        let rpc = &simulated.rpcs[&xid];
        let is_right = match slice["dur"].as_f64() {
            Some(microseconds) => {
                rpc.began.zip(rpc.ended).is_none_or(|(began, ended)| microseconds as u64 <= ended - began)
            }
            None => rpc.ended.is_none_or(|ended| ended > end),
        };
        verdict.counts[usize::from(slice["dur"].is_number())] += 1;
        if !is_right {
            verdict.refuse(simulated, format!("at {end}: {slice}, {}", rpc.fate()));
        }
    }
}

/// Of the frames that the mirror loses, nothing but their numbers may be left: a latency can then be of a later copy of the call, or of
/// an earlier one of the reply. That is rare, and no packet counts as retransmitted that was not.
#[test]
fn what_the_mirror_loses_is_not_lost_by_the_network() {
    verdict("gaps").assert([0; 2]);
    let [right, other] = verdict("gaps").counts;
    assert!(other * 50 < right, "{other} and {right}");
}

/// Counts latencies that are the true ones, and others.
pub(super) fn gaps(simulated: &Simulated, _: &Found, verdict: &mut Verdict) {
    let (seed, is_sample) = (simulated.chances.seed, simulated.is_sample());
    let (mut random, lost) = (Random(seed), [2, 20, 100][seed as usize % 3]);
    let (set_up, rest) = simulated.captured.split_at(simulated.set_up);
    let frames = rest.iter().filter(|_| !random.happens(lost));
    let (transactions, report) = dissect(&set_up.iter().chain(frames).cloned().collect::<Vec<_>>());
    for transaction in transactions {
        let rpc = &simulated.rpcs[&transaction.xid];
        let expected = rpc.latency(rpc.ended);
        let found = transaction.latency();
        verdict.counts[0] += u64::from(found == expected && is_sample);
        verdict.counts[1] += u64::from(found.is_some() && found != expected && is_sample);
    }
    let found = report.unwrap().counts;
    for (found, truth) in [found.active, found.passive].into_iter().zip(simulated.ends) {
        let Counts { retransmitted, replaced, timeouts, .. } = found;
        if retransmitted + replaced > truth.again + truth.only_again || timeouts > truth.timeouts {
            verdict.refuse(simulated, format!("{:?}, not {truth:?}", counted(found)));
        }
    }
}

/// Statements about RPCs and of losses.
type Said = (Vec<String>, [[u64; 9]; 2]);

/// Everything that is said of RPCs and of losses, except for the numbers of packets and of their copies.
fn said(captured: &[(u64, Packet)]) -> Said {
    let (transactions, report) = dissect(captured);
    let rpc = |rpc: &Transaction| {
        let recovery = rpc.recovery.as_ref().ok().map(|recovery| recovery.phases.total());
        let owed = rpc.waiting.map(|waiting| std::mem::discriminant(&waiting.owed));
        format!("{:#x} {:?} {:?} {recovery:?} {owed:?}", rpc.xid, rpc.latency(), rpc.phases)
    };
    let counts = report.unwrap().counts;
    (transactions.iter().map(rpc).collect(), [counts.active, counts.passive].map(counted))
}

/// Each packet, and so many microseconds later its copy.
fn doubled(captured: &[(u64, Packet)], delay: u64) -> Vec<(u64, Packet)> {
    let copies = captured.iter().map(|(time, packet)| (time + delay, packet.clone()));
    let mut doubled: Vec<_> = captured.iter().cloned().chain(copies).collect();
    doubled.sort_by_key(|(time, _)| *time);
    doubled
}

/// The first difference that copies make to what is said.
fn difference(once: &Said, twice: &Said) -> Option<String> {
    let rpcs = twice.0.iter().zip(&once.0).find(|(twice, once)| twice != once);
    let counts = (twice.1 != once.1).then(|| format!("{:?}, not {:?}", twice.1, once.1));
    counts.or(rpcs.map(|(twice, once)| format!("{twice}, not {once}")))
}

/// Hosts give each packet an identification: a mirror that captures each packet twice changes nothing, as long as no more than 16 RPCs
/// are retransmitted in the time in which the copies come.
#[test]
fn a_packet_that_the_mirror_doubles_counts_once() {
    verdict("doubled").assert([0; 2]);
}

/// Counts connections over iWARP, and over RoCE.
pub(super) fn doubled_packets(simulated: &Simulated, _: &Found, verdict: &mut Verdict) {
    if simulated.chances.in_flight > 16 {
        return;
    }
    let mut captured = simulated.captured.clone();
    for ((_, packet), number) in captured.iter_mut().filter(|_| simulated.is_roce).zip(1_u16..) {
        packet[4..6].copy_from_slice(&number.to_be_bytes());
    }
    let delay = [0, 2, 30, 90, 300, 900][simulated.chances.seed as usize % 6];
    let (once, twice) = (said(&captured), said(&doubled(&captured, delay)));
    if let Some(difference) = difference(&once, &twice) {
        verdict.refuse(simulated, format!("{delay}: {difference}"));
    }
    verdict.counts[usize::from(simulated.is_roce)] += 1;
}

/// Returns true if an end sent a packet again about so many microseconds after the packet: nothing tells it from a copy.
fn is_like_copy(captured: &[(u64, Packet)], delay: u64) -> bool {
    let mut last = BTreeMap::new();
    // Behind the headers of IPv4 and UDP: an acknowledgement that is repeated changes nothing.
    let packets = captured.iter().filter(|(_, packet)| packet[28] & 0x1f != 0x11);
    let mut apart = packets.filter_map(|(time, packet)| Some(*time - last.insert(packet, *time)?));
    apart.any(|apart| apart.abs_diff(delay) <= 1)
}

/// Adapters give packets no identification. What is retransmitted as long after a packet as its copy comes is taken for that: so only copies
/// that come at once change nothing, and a refusal counts once however late its copy is.
#[test]
fn a_refusal_that_the_mirror_doubles_counts_once() {
    verdict("refusals").assert([0; 2]);
}

/// Counts refusals.
pub(super) fn doubled_refusals(simulated: &Simulated, _: &Found, verdict: &mut Verdict) {
    if !simulated.is_roce {
        return;
    }
    let delay = [0, 2, 30, 90, 300, 600][simulated.chances.seed as usize % 6];
    let captured = &simulated.captured;
    let (once, twice) = (said(captured), said(&doubled(captured, delay)));
    if let Some(difference) = difference(&once, &twice).filter(|_| delay < 30 && !is_like_copy(captured, delay)) {
        verdict.refuse(simulated, format!("{delay}: {difference}"));
    }
    let refusals = |said: Said| said.1.map(|counts| [counts[5], counts[6]]);
    let (once, twice) = (refusals(once), refusals(twice));
    if once != twice {
        verdict.refuse(simulated, format!("{delay}: {twice:?} refusals, not {once:?}"));
    }
    verdict.counts[0] += once.as_flattened().iter().sum::<u64>();
}

/// Frames of one end alone show neither latencies nor debtors.
#[test]
fn one_end_alone_says_nothing_of_the_other() {
    verdict("one end").assert([0; 2]);
}

/// Counts RPCs by the end that the capture holds.
pub(super) fn one_end(simulated: &Simulated, _: &Found, verdict: &mut Verdict) {
    for (host, end) in [(1, 0), (2, 1)] {
        // The last octet of the source address.
        let frames = simulated.captured.iter().filter(|(_, packet)| packet[15] == host);
        let (transactions, report) = dissect(&frames.cloned().collect::<Vec<_>>());
        for transaction in transactions {
            let is_owed = transaction.waiting.is_some_and(|waiting| !matches!(waiting.owed, Owed::Unknown(_)));
            if transaction.latency().is_some() || is_owed {
                verdict.refuse(simulated, format!("{host}: {:?} {:?}", transaction.latency(), transaction.waiting));
            }
            verdict.counts[end] += 1;
        }
        let Some(report) = report else { continue };
        // Causes are in the other direction. Without its path MTU, an RDMA Read that begins again in the middle may be another.
        let (truth, counts) = (simulated.ends[end], report.counts);
        if counts.active.retransmitted + counts.passive.retransmitted > truth.again + truth.only_again {
            verdict.refuse(simulated, format!("{host}: {:?}, not {truth:?}", report.counts));
        }
    }
}

/// A capture that begins in the middle shows nothing of what was before.
#[test]
fn what_was_before_the_capture_is_not_said() {
    verdict("begun").assert([0; 2]);
}

/// Counts latencies that are unknown, and known.
pub(super) fn begun(simulated: &Simulated, _: &Found, verdict: &mut Verdict) {
    let captured = &simulated.captured;
    for part in 1..3 {
        let begin = captured[captured.len() * part / 3].0;
        let kept = &captured[captured.partition_point(|(time, _)| *time < begin)..];
        let (transactions, report) = dissect(kept);
        for transaction in transactions {
            let rpc = &simulated.rpcs[&transaction.xid];
            // A later copy of the call may be the first that was captured, and causes of what was retransmitted may be before that.
            let is_whole = rpc.began >= Some(begin) && !rpc.is_lossy;
            verdict.counts[usize::from(transaction.latency().is_some())] += 1;
            let latency = transaction.latency();
            if is_whole && latency != rpc.latency(rpc.replied[0]) && !rpc.permits(&transaction, u64::MAX / 2_000) {
                let waiting = transaction.waiting;
                verdict.refuse(simulated, format!("since {begin}: {latency:?} {waiting:?}, {}", rpc.fate()));
            }
        }
        let Some(report) = report else { continue };
        // Without the setup, it is not known which end is which, nor, at first, what the path MTU is: an RDMA Read that begins again
        // in the middle may be another.
        let Sides { active, passive } = report.counts;
        let found = [active.retransmitted + passive.retransmitted, active.timeouts + passive.timeouts];
        let [client, server] = simulated.ends;
        let again = client.again + client.only_again + server.again + server.only_again;
        let truth = [again, client.timeouts + server.timeouts];
        if found.iter().zip(truth).any(|(found, truth)| *found > truth) {
            verdict.refuse(simulated, format!("since {begin}: {found:?}, not {truth:?}"));
        }
    }
}

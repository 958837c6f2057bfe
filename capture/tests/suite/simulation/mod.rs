//! Two ends that call and answer over a network that loses packets, simulated event by event, so that it is known what was sent, what
//! arrived and why it was sent again. The dissector sees only what passed one point of the network. What it says must be true, or it
//! must say that it does not know.
//!
//! `network` is what both carriers have in common, `rpc` what the ends do with it, and `roce` and `iwarp` are the carriers.

mod iwarp;
mod network;
mod roce;
mod rpc;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use rpcrdma_dissector::output::diagnosis::{Diagnoser, Diagnosis};
use rpcrdma_dissector::output::trace::Tracer;
use rpcrdma_dissector::{
    Config, Counts, Delivery, Dissector, Event, Frame, LinkType, Owed, Phase, Phases, Report, Sides, Summary, Time,
    Transaction,
};

use serde_json::Value;

use self::iwarp::Tcp;
use self::network::Chances;
use self::roce::Roce;
use self::rpc::{Happening, Operation, Part, Rpc, World};
use crate::synthetic::By::{self, Client, Server};
use crate::synthetic::Packet;
use crate::transcode::{RAW_IP, Random};

/// Carries operations between two ends.
trait Carrier: Sized {
    type Event: Copy + Ord;

    /// A connection, and the packets that set it up.
    fn connect(chances: Chances) -> (Self, Vec<(u64, Packet)>);

    /// Takes an operation of an end for an RPC.
    fn post(&mut self, from: By, work: (u32, Operation));

    /// Sends what was posted.
    fn transmit(&mut self, from: By, world: &mut World<Self::Event>);

    /// Lets an event happen.
    fn happen(&mut self, event: Self::Event, world: &mut World<Self::Event>);

    /// Returns what the client and the server did.
    fn ends(self) -> [EndTruth; 2];
}

/// Packets that an end sent again, and why.
#[derive(Clone, Copy, Debug, Default)]
struct EndTruth {
    /// Captured copies of packets that had been captured before.
    again: u64,
    /// Packets of which a copy was captured and another one was not.
    only_again: u64,
    timeouts: u64,
    implied_naks: u64,
    /// Negative acknowledgements that were captured: NAK, RNR NAK.
    refusals: [u64; 2],
}

/// A simulated connection.
struct Simulated {
    chances: Chances,
    is_roce: bool,
    /// Packets that set it up.
    set_up: usize,
    rpcs: BTreeMap<u32, Rpc>,
    captured: Vec<(u64, Packet)>,
    ends: [EndTruth; 2],
    /// Packets of the client and of the server that were lost before the capture, and behind it.
    dropped: [[u64; 2]; 2],
}

impl Simulated {
    /// Lets so many calls be made, and everything happen that follows.
    fn run<C: Carrier>(chances: Chances, calls: u32, is_roce: bool) -> Self {
        let (mut carrier, packets) = C::connect(chances);
        let set_up = packets.len();
        let mut world = World::new(chances, packets, calls);
        while let Some(happening) = world.network.next() {
            let (from, operations): (_, Vec<(u32, Operation)>) = match happening {
                Happening::Call => (Client, world.call().into_iter().collect()),
                Happening::Pull(xid) => (Server, world.pull(xid).into_iter().map(|read| (xid, read)).collect()),
                Happening::Answer(xid) => (Server, world.answer(xid).into_iter().map(|sent| (xid, sent)).collect()),
                Happening::Carrier(event) => {
                    carrier.happen(event, &mut world);
                    continue;
                }
            };
            operations.into_iter().for_each(|operation| carrier.post(from, operation));
            carrier.transmit(from, &mut world);
        }
        let (mut captured, dropped) = (world.network.captured, world.network.dropped);
        captured.sort_by_key(|(time, _)| *time);
        Self { chances, is_roce, set_up, rpcs: world.rpcs, captured, ends: carrier.ends(), dropped }
    }
}

fn dissect(captured: &[(u64, Packet)]) -> (Vec<Transaction>, Option<Report>) {
    let (transactions, report, _) = dissect_with(captured, |_| {});
    (transactions, report)
}

/// Returns the RPCs, the connection and the summary of a capture; `each` sees all events.
fn dissect_with(
    captured: &[(u64, Packet)],
    mut each: impl FnMut(&Event),
) -> (Vec<Transaction>, Option<Report>, Summary) {
    let mut config = Config::default();
    config.recovery = true;
    let mut dissector = Dissector::new(config);
    for (number, (time, data)) in (1..).zip(captured) {
        let (time, length) = (Time(time * 1_000), data.len() as u32);
        dissector.frame(&Frame { number, time, link: LinkType(RAW_IP), data, length });
    }
    dissector.finish();
    let (mut transactions, mut report) = (Vec::new(), None);
    while let Some(event) = dissector.event() {
        each(&event);
        match event {
            Event::Transaction(transaction) => transactions.push(*transaction),
            Event::Connection(connection) => report = Some(*connection),
            _ => {}
        }
    }
    (transactions, report, dissector.summary().clone())
}

/// Calls of each connection.
const CALLS: u32 = 60;
/// Connections over RoCE, over iWARP, and over each with more calls in flight, or with fewer.
const ROCE: u64 = 340;
const IWARP: u64 = 120;
const CROWDED: u64 = 50;

/// Runs connections over both carriers.
fn connections() -> impl Iterator<Item = Simulated> {
    // The last ones are of connections with statements that were wrong once, or that were held to be wrong.
    let seeds = (1..=ROCE).chain([447, 519, 641, 734, 801, 893, 1071, 1147, 1394, 1472, 1743]).map(Chances::of);
    let roce = seeds.chain((1..=CROWDED).map(Chances::crowded)).map(|chances| {
        let chances = Chances { late: [0; 2], ..chances };
        Simulated::run::<Roce>(chances, CALLS, true)
    });
    let seeds = (1..=IWARP).chain([1014, 1180]).map(Chances::of);
    let iwarp = seeds.chain((1..=CROWDED).map(Chances::crowded)).map(|chances| {
        let chances = Chances { not_ready: 0, lost: chances.lost.map(|lost| lost.min(10)), ..chances };
        Simulated::run::<Tcp>(chances, CALLS, false)
    });
    roce.chain(iwarp)
}

/// Counts of what was said about connections, and the wrong statements.
#[derive(Default)]
struct Verdict {
    /// Numbers of what was found, in the order that the judge says.
    counts: [u64; 2],
    wrong: Vec<String>,
}

impl Verdict {
    fn refuse(&mut self, simulated: &Simulated, text: String) {
        let carrier = if simulated.is_roce { "RoCE" } else { "iWARP" };
        self.wrong.push(format!("{carrier} {:?} {text}", simulated.chances));
    }

    fn assert(&self) {
        let Self { counts, wrong } = self;
        println!("{counts:?}, {} wrong", wrong.len());
        assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(10)].join("\n"));
    }
}

/// Judges what was found in the whole capture of a connection.
type Judge = fn(&Simulated, (&[Transaction], &Report), &mut Verdict);

const JUDGES: [Judge; 10] = [latencies, causes, recoveries, phases, pulls, servers, messages, debts, copies, blames];

/// The verdict of each judge, and on the diagnosis, for which each connection is simulated and dissected once.
static VERDICTS: LazyLock<([Verdict; 10], Verdict)> = LazyLock::new(|| {
    let (mut verdicts, mut diagnosed) = <([Verdict; 10], Verdict)>::default();
    for simulated in connections() {
        let mut diagnoser = Diagnoser::new("capture");
        let (transactions, report, summary) = dissect_with(&simulated.captured, |event| diagnoser.event(event));
        let found = (transactions.as_slice(), &report.unwrap());
        JUDGES.iter().zip(&mut verdicts).for_each(|(judge, verdict)| judge(&simulated, found, verdict));
        diagnoses(&simulated, &diagnoser.finish(&summary), &mut diagnosed);
    }
    (verdicts, diagnosed)
});

#[test]
fn a_latency_is_the_true_one_or_unknown() {
    let [verdict, ..] = &VERDICTS.0;
    verdict.assert();
    let [known, unknown] = verdict.counts;
    assert!(unknown * 10 < known, "{unknown} of {known}");
}

/// Counts latencies that are known, and unknown.
fn latencies(simulated: &Simulated, (transactions, _): (&[Transaction], &Report), verdict: &mut Verdict) {
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
fn what_was_sent_again_and_why_is_counted_as_it_was() {
    let [_, verdict, ..] = &VERDICTS.0;
    verdict.assert();
}

/// Counts packets that were sent again, and causes.
fn causes(simulated: &Simulated, (_, report): (&[Transaction], &Report), verdict: &mut Verdict) {
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
    let [_, _, verdict, ..] = &VERDICTS.0;
    verdict.assert();
}

/// Counts RPCs whose recovery is known, and ones that lost packets.
fn recoveries(simulated: &Simulated, (transactions, _): (&[Transaction], &Report), verdict: &mut Verdict) {
    for transaction in transactions {
        let (Some(latency), Ok(phases), Ok(recovery)) =
            (transaction.latency(), transaction.phases, &transaction.recovery)
        else {
            continue;
        };
        let of = |phases: Phases| Phase::ALL.map(|phase| phases.of(phase));
        let (whole, part) = (of(phases), of(recovery.phases));
        if part.iter().zip(whole).any(|(part, whole)| *part > whole) || recovery.phases.total() > latency {
            verdict.refuse(simulated, format!("{:#x}: {latency} {phases:?} {:?}", transaction.xid, recovery.phases));
        }
        verdict.counts[0] += 1;
        verdict.counts[1] += u64::from(recovery.phases.total() > 0);
    }
}

#[test]
fn the_time_of_an_rpc_that_lost_nothing_is_divided_as_it_passed() {
    let [_, _, _, verdict, ..] = &VERDICTS.0;
    verdict.assert();
    assert!(verdict.counts[1] > 1_000);
}

/// Counts RPCs whose packets were each sent and captured once, and the ones with RDMA Reads among them.
fn phases(simulated: &Simulated, (transactions, _): (&[Transaction], &Report), verdict: &mut Verdict) {
    for transaction in transactions {
        let rpc = &simulated.rpcs[&transaction.xid];
        let (Some(expected), Ok(found)) = (rpc.phases(), transaction.phases) else { continue };
        if found != expected {
            verdict.refuse(simulated, format!("{:#x}: {found:?}, not {expected:?}", transaction.xid));
        }
        verdict.counts[0] += 1;
        verdict.counts[1] += u64::from(expected.pull > 0);
    }
}

/// The server waits for data from its first RDMA Read request until all has arrived, whatever is lost and sent again meanwhile.
#[test]
fn the_time_of_rdma_reads_is_that_in_which_the_server_waited_for_data() {
    let [_, _, _, _, verdict, ..] = &VERDICTS.0;
    verdict.assert();
    assert!(verdict.counts.iter().all(|count| *count > 200));
}

/// Nanoseconds of three round trips.
const ROUND_TRIPS: u64 = 240_000;

/// Counts RPCs with RDMA Reads that lost nothing, and ones that lost packets.
fn pulls(simulated: &Simulated, (transactions, _): (&[Transaction], &Report), verdict: &mut Verdict) {
    for transaction in transactions {
        let rpc = &simulated.rpcs[&transaction.xid];
        let Ok(Phases { pull, .. }) = transaction.phases else { continue };
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
fn the_time_of_the_server_is_that_in_which_it_had_what_it_needed() {
    let [_, _, _, _, _, verdict, ..] = &VERDICTS.0;
    verdict.assert();
    assert!(verdict.counts.iter().all(|count| *count > 1_000));
}

/// Counts RPCs that lost nothing, and ones that lost packets.
fn servers(simulated: &Simulated, (transactions, _): (&[Transaction], &Report), verdict: &mut Verdict) {
    for transaction in transactions {
        let rpc = &simulated.rpcs[&transaction.xid];
        let (Ok(phases), Ok(recovery)) = (transaction.phases, &transaction.recovery) else { continue };
        // Nothing shows that a packet was lost before the capture if nothing that follows it was captured.
        if rpc.has_hidden_packet {
            continue;
        }
        let (found, most) = (phases.responder - recovery.phases.responder, rpc.served());
        // Of a segment that TCP sends again before three acknowledgements report it, nothing shows that it fills a hole.
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
    let [_, _, _, _, _, _, verdict, ..] = &VERDICTS.0;
    verdict.assert();
    let [not_rebuilt, rebuilt] = verdict.counts;
    assert!(not_rebuilt * 10 < rebuilt, "{not_rebuilt} of {rebuilt}");
}

/// Counts messages that are not rebuilt, and that are.
fn messages(simulated: &Simulated, (transactions, _): (&[Transaction], &Report), verdict: &mut Verdict) {
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
fn a_call_that_the_server_never_answers_is_owed_by_the_server() {
    let [_, _, _, _, _, _, _, verdict, ..] = &VERDICTS.0;
    verdict.assert();
    assert!(verdict.counts[0] > 100);
}

/// Counts calls that hang, and ones of which the debtor is not known.
fn debts(simulated: &Simulated, (transactions, _): (&[Transaction], &Report), verdict: &mut Verdict) {
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
    let [.., verdict, _] = &VERDICTS.0;
    let [once, more] = verdict.counts;
    assert!(more * 100 < once, "{more} of {}", once + more);
}

/// Counts connections without copies, and with copies that are not packets which were sent again for no visible reason.
fn copies(simulated: &Simulated, (_, report): (&[Transaction], &Report), verdict: &mut Verdict) {
    let ends = [report.counts.active, report.counts.passive].into_iter().zip(&simulated.ends);
    let has_more =
        |(found, truth): (Counts, &EndTruth)| found.duplicates > truth.again.saturating_sub(found.retransmitted);
    verdict.counts[usize::from(ends.into_iter().any(has_more))] += 1;
}

/// The longest time in nanoseconds that an end takes for an RPC, with the time that its packets wait for each other.
const BUSY: u64 = 5_000_000;

/// No end takes more than some milliseconds: all other time is that of the network, or of a receiver that was not ready.
#[test]
fn time_in_which_an_end_could_do_nothing_is_not_its_own() {
    let [.., verdict] = &VERDICTS.0;
    verdict.assert();
    assert!(verdict.counts[1] > 1_000);
}

/// Counts RPCs without signs of loss, and with them. If nothing shows that a packet was sent, the time is its sender's.
fn blames(simulated: &Simulated, (transactions, _): (&[Transaction], &Report), verdict: &mut Verdict) {
    for transaction in transactions.iter().filter(|transaction| !simulated.rpcs[&transaction.xid].is_hidden) {
        let (Ok(phases), Ok(recovery)) = (transaction.phases, &transaction.recovery) else { continue };
        let of = |phase| phases.of(phase) - recovery.phases.of(phase);
        let ends = [Phase::Responder, Phase::Pull, Phase::Requester].map(of);
        if ends.iter().any(|time| *time > BUSY) {
            let (xid, rpc) = (transaction.xid, &simulated.rpcs[&transaction.xid]);
            verdict.refuse(simulated, format!("{xid:#x}: {ends:?} {recovery:?}, {}", rpc.fate()));
        }
        verdict.counts[usize::from(recovery.phases.total() > 0)] += 1;
    }
}

#[test]
fn a_diagnosis_names_what_happened_and_no_more_of_it_than_happened() {
    let verdict = &VERDICTS.1;
    verdict.assert();
    assert!(verdict.counts[0] > 100 && verdict.counts[1] > 10, "{:?}", verdict.counts);
}

/// Counts diagnoses of loss, and of receivers that were not ready.
fn diagnoses(simulated: &Simulated, diagnosis: &Diagnosis, verdict: &mut Verdict) {
    let [client, server] = simulated.dropped;
    let refusals: u64 = simulated.ends.iter().map(|end| end.refusals[1]).sum();
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
                // TCP takes segments that are out of order for lost ones.
                let is_late = simulated.chances.late != [0; 2];
                cause.owner == Some("network") && (is_late || directions.into_iter().all(of))
            }
            "receiver-not-ready" => {
                verdict.counts[1] += 1;
                refusals > 0
            }
            "responder-silent" => simulated.rpcs.values().any(|rpc| rpc.hung.is_some()),
            "responder-slow" | "requester-slow" => is_hidden,
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
    let before = of(&format!("between {from} and the capture"))?;
    let behind = of(&format!("between the capture and {to}"))?;
    let unacknowledged = of("or of an acknowledgement")?;
    Some(SaidLosses { all, before, behind, unacknowledged })
}

/// A capture that ends in the middle shows the state of each RPC, or it is unknown.
#[test]
fn what_waits_when_the_capture_ends_is_what_waited() {
    let mut verdict = Verdict::default();
    for simulated in connections() {
        let captured = &simulated.captured;
        for part in 1..6 {
            let end = captured[captured.len() * part / 6].0;
            let kept = &captured[..captured.partition_point(|(time, _)| *time <= end)];
            for transaction in dissect(kept).0 {
                let rpc = &simulated.rpcs[&transaction.xid];
                verdict.counts[usize::from(transaction.waiting.is_some())] += 1;
                if !rpc.permits(&transaction, end) {
                    let (latency, waiting) = (transaction.latency(), transaction.waiting);
                    verdict.refuse(&simulated, format!("at {end}: {latency:?} {waiting:?}, {}", rpc.fate()));
                }
            }
        }
    }
    verdict.assert();
}

impl Rpc {
    fn fate(&self) -> String {
        let Self { began, ended, called, replied, replies, hung, .. } = self;
        format!("{began:?} to {ended:?}, called {called:?}, replied {replied:?} {replies}, hung {hung:?}")
    }

    /// The latency in nanoseconds if the RPC ended at this time.
    fn latency(&self, ended: Option<u64>) -> Option<u64> {
        self.began.zip(ended).map(|(began, ended)| (ended - began) * 1_000)
    }

    /// The phases, if each of its packets was sent and captured once, in order.
    fn phases(&self) -> Option<Phases> {
        if self.is_lossy || self.is_overtaken || self.is_behind_hole() {
            return None;
        }
        let ended = self.ended?;
        let mut parts = self.parts.clone();
        parts.sort_by_key(|(time, _)| *time);
        let (mut phases, mut last, mut before, mut asked) = (Phases::default(), self.began?, Part::Call, 0);
        for (time, part) in parts.into_iter().filter(|(time, _)| *time <= ended) {
            let phase = match (before, part) {
                (_, Part::Call) => &mut phases.call,
                (Part::Write, Part::Write) => &mut phases.push,
                (Part::Reply, Part::Reply) => &mut phases.reply,
                _ if asked > 0 => &mut phases.pull,
                _ => &mut phases.responder,
            };
            *phase += (time - last) * 1_000;
            match part {
                Part::ReadRequest(_, octets) => asked += octets,
                Part::ReadResponse(_, octets, _) => asked -= octets,
                _ => {}
            }
            (last, before) = (time, part);
        }
        // Over TCP, it may arrive with what fills a hole before it.
        phases.reply += (ended - last) * 1_000;
        Some(phases)
    }

    /// Octets that were asked for with RDMA Read until then, and did not come: at least in the requests that the client accepted, at most
    /// in all that were captured. The client drops what comes behind a hole, which the capture shows if it has the hole too.
    fn lacks(&self, end: u64) -> RangeInclusive<u64> {
        let (mut captured, mut came) = (0, 0);
        for (_, part) in self.parts.iter().filter(|(time, _)| *time <= end) {
            match part {
                Part::ReadRequest(_, octets) => captured += octets,
                Part::ReadResponse(_, octets, _) => came += octets,
                _ => {}
            }
        }
        let accepted: u64 = self.asked.iter().filter(|(time, _)| *time <= end).map(|(_, octets)| octets).sum();
        accepted - came..=captured - came
    }

    /// Returns true if this may be said of the RPC when the capture ends at this time.
    fn permits(&self, found: &Transaction, end: u64) -> bool {
        let by_then = |time: Option<u64>| time.filter(|time| *time <= end);
        let ended = by_then(self.ended);
        let Some(waiting) = found.waiting else {
            // As far as the capture goes, the only copy of a reply may be the one that arrives.
            let may_end = self.replied[0].filter(|_| ended.is_none() && by_then(self.replied[1]).is_none());
            // Over TCP, so may the last segment that filled a hole before it.
            let may_be = |latency: Option<u64>| {
                may_end.is_some()
                    && !found.is_acknowledged
                    && self.latency(may_end) <= latency
                    && latency <= self.latency(Some(end))
            };
            return [None, self.latency(ended)].contains(&found.latency()) || may_be(found.latency());
        };
        let is_called = by_then(self.called).is_some();
        let is_right = match waiting.owed {
            // The arrival of the call may be unknown.
            Owed::Reply => ended.is_none(),
            Owed::ReplyAgain(_) => is_called && ended.is_none(),
            Owed::Call(_) => !is_called,
            Owed::ReadResponse(octets) => self.lacks(end).contains(&octets),
            Owed::Acknowledgement(_) | Owed::ReplyArrival(_) | Owed::Unknown(_) => true,
            _ => false,
        };
        is_right && (is_called || waiting.delivery != Delivery::Accepted)
    }
}

/// A slice ends when its RPC did, or before; and one without an end is of a call that waits.
#[test]
fn a_slice_of_a_trace_is_no_longer_than_its_rpc() {
    let mut verdict = Verdict::default();
    for simulated in connections().step_by(10) {
        let captured = &simulated.captured;
        let end = captured[captured.len() / 2].0;
        let mut tracer = Tracer::new(Vec::new()).unwrap();
        for transaction in dissect(&captured[..captured.partition_point(|(time, _)| *time <= end)]).0 {
            tracer.transaction(&transaction).unwrap();
        }
        let trace: Value = serde_json::from_slice(&tracer.finish(None).unwrap().0).unwrap();
        for slice in
            trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["args"]["rdma_xid"].is_string())
        {
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
                verdict.refuse(&simulated, format!("at {end}: {slice}, {}", rpc.fate()));
            }
        }
    }
    verdict.assert();
    assert!(verdict.counts[0] > 100);
}

/// Of the frames that the mirror loses, nothing but their numbers may be left: a latency can then be of a later copy of the call, or of
/// an earlier one of the reply. That is rare, and no packet counts as sent again that was not.
#[test]
fn what_the_mirror_loses_is_not_lost_by_the_network() {
    let mut verdict = Verdict::default();
    for simulated in connections() {
        let seed = simulated.chances.seed;
        let (mut random, lost) = (Random(seed), [2, 20, 100][seed as usize % 3]);
        let (set_up, rest) = simulated.captured.split_at(simulated.set_up);
        let frames = rest.iter().filter(|_| !random.happens(lost));
        let (transactions, report) = dissect(&set_up.iter().chain(frames).cloned().collect::<Vec<_>>());
        for transaction in transactions {
            let rpc = &simulated.rpcs[&transaction.xid];
            let expected = rpc.latency(rpc.ended);
            let found = transaction.latency();
            verdict.counts[0] += u64::from(found == expected);
            verdict.counts[1] += u64::from(found.is_some() && found != expected);
        }
        let found = report.unwrap().counts;
        for (found, truth) in [found.active, found.passive].into_iter().zip(simulated.ends) {
            let Counts { retransmitted, replaced, timeouts, .. } = found;
            if retransmitted + replaced > truth.again + truth.only_again || timeouts > truth.timeouts {
                verdict.refuse(&simulated, format!("{:?}, not {truth:?}", counted(found)));
            }
        }
    }
    verdict.assert();
    let [right, other] = verdict.counts;
    assert!(other * 50 < right, "{other} and {right}");
}

/// Counts of losses in a report.
fn counted(counts: Counts) -> [u64; 9] {
    let Counts { retransmitted, replaced, timeouts, implied_naks, causes_not_seen, .. } = counts;
    let Counts { sequence_errors, not_ready, failed, missed, .. } = counts;
    [retransmitted, replaced, timeouts, implied_naks, causes_not_seen, sequence_errors, not_ready, failed, missed]
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
/// are sent again in the time in which the copies come.
#[test]
fn a_packet_that_the_mirror_doubles_counts_once() {
    let mut verdict = Verdict::default();
    for mut simulated in connections().filter(|simulated| simulated.chances.in_flight <= 16) {
        for ((_, packet), number) in simulated.captured.iter_mut().filter(|_| simulated.is_roce).zip(1_u16..) {
            packet[4..6].copy_from_slice(&number.to_be_bytes());
        }
        let delay = [0, 2, 30, 90, 300, 900][simulated.chances.seed as usize % 6];
        let (once, twice) = (said(&simulated.captured), said(&doubled(&simulated.captured, delay)));
        if let Some(difference) = difference(&once, &twice) {
            verdict.refuse(&simulated, format!("{delay}: {difference}"));
        }
        verdict.counts[usize::from(simulated.is_roce)] += 1;
    }
    verdict.assert();
}

/// Adapters give packets no identification. What is sent again as long after a packet as its copy comes is taken for that: so only copies
/// that come at once change nothing, and a refusal counts once however late its copy is.
#[test]
fn a_refusal_that_the_mirror_doubles_counts_once() {
    let mut verdict = Verdict::default();
    for simulated in connections().take_while(|simulated| simulated.is_roce) {
        let delay = [0, 2, 30, 90, 300, 600][simulated.chances.seed as usize % 6];
        let (once, twice) = (said(&simulated.captured), said(&doubled(&simulated.captured, delay)));
        if let Some(difference) = difference(&once, &twice).filter(|_| delay < 30) {
            verdict.refuse(&simulated, format!("{delay}: {difference}"));
        }
        let refusals = |said: Said| said.1.map(|counts| [counts[5], counts[6]]);
        let (once, twice) = (refusals(once), refusals(twice));
        if once != twice {
            verdict.refuse(&simulated, format!("{delay}: {twice:?} refusals, not {once:?}"));
        }
        verdict.counts[0] += once.as_flattened().iter().sum::<u64>();
    }
    verdict.assert();
}

/// Frames of one end alone show neither latencies nor debtors.
#[test]
fn one_end_alone_says_nothing_of_the_other() {
    let mut verdict = Verdict::default();
    for simulated in connections() {
        for (host, end) in [(1, 0), (2, 1)] {
            // The last octet of the source address.
            let frames = simulated.captured.iter().filter(|(_, packet)| packet[15] == host);
            let (transactions, report) = dissect(&frames.cloned().collect::<Vec<_>>());
            for transaction in transactions {
                let is_owed = transaction.waiting.is_some_and(|waiting| !matches!(waiting.owed, Owed::Unknown(_)));
                if transaction.latency().is_some() || is_owed {
                    verdict
                        .refuse(&simulated, format!("{host}: {:?} {:?}", transaction.latency(), transaction.waiting));
                }
                verdict.counts[end] += 1;
            }
            let Some(report) = report else { continue };
            // Causes are in the other direction. Without its path MTU, an RDMA Read that begins again in the middle may be another.
            let (truth, counts) = (simulated.ends[end], report.counts);
            if counts.active.retransmitted + counts.passive.retransmitted > truth.again + truth.only_again {
                verdict.refuse(&simulated, format!("{host}: {:?}, not {truth:?}", report.counts));
            }
        }
    }
    verdict.assert();
}

/// A capture that begins in the middle shows nothing of what was before.
#[test]
fn what_was_before_the_capture_is_not_said() {
    let mut verdict = Verdict::default();
    for simulated in connections() {
        let captured = &simulated.captured;
        for part in 1..3 {
            let begin = captured[captured.len() * part / 3].0;
            let kept = &captured[captured.partition_point(|(time, _)| *time < begin)..];
            let (transactions, report) = dissect(kept);
            for transaction in transactions {
                let rpc = &simulated.rpcs[&transaction.xid];
                // A later copy of the call may be the first that was captured, and causes of what was sent again may be before that.
                let is_whole = rpc.began >= Some(begin) && !rpc.is_lossy;
                verdict.counts[usize::from(transaction.latency().is_some())] += 1;
                let latency = transaction.latency();
                if is_whole && latency != rpc.latency(rpc.replied[0]) && !rpc.permits(&transaction, u64::MAX / 2_000) {
                    let waiting = transaction.waiting;
                    verdict.refuse(&simulated, format!("since {begin}: {latency:?} {waiting:?}, {}", rpc.fate()));
                }
            }
            let Some(report) = report else { continue };
            // Without the set-up, it is not known which end is which, nor, at first, what the path MTU is: an RDMA Read that begins again
            // in the middle may be another.
            let Sides { active, passive } = report.counts;
            let found = [active.retransmitted + passive.retransmitted, active.timeouts + passive.timeouts];
            let [client, server] = simulated.ends;
            let again = client.again + client.only_again + server.again + server.only_again;
            let truth = [again, client.timeouts + server.timeouts];
            if found.iter().zip(truth).any(|(found, truth)| *found > truth) {
                verdict.refuse(&simulated, format!("since {begin}: {found:?}, not {truth:?}"));
            }
        }
    }
    verdict.assert();
}

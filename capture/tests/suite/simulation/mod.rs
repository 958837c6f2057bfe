//! Two ends that call and answer over a network that loses packets, simulated event by event, so that it is known what was sent, what
//! arrived and why it was retransmitted. The dissector sees only what passed one point of the network. What it says must be true, or it
//! must say that it does not know.
//!
//! `network` is what both carriers have in common, `rpc` what the ends do with it, and `roce` and `iwarp` are the carriers. `whole` judges
//! statements about whole captures, `altered` about captures that lack packets or hold them twice, and `clocks` about two clocks. `cargo test` simulates a few hundred
//! connections; the environment variable `SIMULATED_SEEDS` has other seeds for both carriers: `1-750` stands for 3,000 connections, and
//! `126,230` for eight.

mod altered;
mod both_ends;
mod clocks;
mod iwarp;
mod network;
mod roce;
mod rpc;
mod truth;
mod whole;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rpcrdma_answers::diagnosis::{Diagnoser, Diagnosis};
use rpcrdma_dissector::{Config, Counts, Dissector, Event, Frame, LinkType, Report, Summary, Time, Transaction};

use self::iwarp::Tcp;
use self::network::{Chances, FarTap};
use self::roce::Roce;
use self::rpc::{Happening, Operation, Rpc, World};
use crate::synthetic::By::{self, Client, Server};
use crate::synthetic::Packet;
use crate::transcode::{Pcap, RAW_IP, Record, write_pcap};

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

/// Packets that an end retransmitted, and why.
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
        Self::run_past::<C>(chances, calls, is_roce, None).0
    }

    /// The same, past a second place where packets are captured.
    fn run_past<C: Carrier>(
        chances: Chances,
        calls: u32,
        is_roce: bool,
        far: Option<FarTap>,
    ) -> (Self, Option<FarTap>) {
        let (mut carrier, packets) = C::connect(chances);
        let set_up = packets.len();
        let mut world = World::new(chances, packets, calls);
        world.network.far = far;
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
        let far = world.network.far;
        (Self { chances, is_roce, set_up, rpcs: world.rpcs, captured, ends: carrier.ends(), dropped }, far)
    }

    /// Returns false for a seed that was chosen because a statement was wrong.
    fn is_sample(&self) -> bool {
        let usual = match (self.chances.in_flight, self.is_roce) {
            (16, true) => ROCE,
            (16, false) => IWARP,
            _ => CROWDED,
        };
        seeds().is_some() || usual.contains(&self.chances.seed)
    }

    /// Returns the capture as a file.
    fn pcap(&self) -> Vec<u8> {
        let record = |(time, data): &(u64, Packet)| {
            let (time_ns, length) = (time * 1_000, data.len() as u32);
            Record { time_ns, link: RAW_IP, data: data.clone(), length }
        };
        write_pcap(&self.captured.iter().map(record).collect::<Vec<_>>(), Pcap::default())
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

/// Statements about a whole capture.
struct Found {
    transactions: Vec<Transaction>,
    report: Report,
    diagnosis: Diagnosis,
}

impl Found {
    fn new(captured: &[(u64, Packet)]) -> Self {
        let mut diagnoser = Diagnoser::new("capture");
        let (transactions, report, summary) = dissect_with(captured, |event| diagnoser.event(event));
        Self { transactions, report: report.unwrap(), diagnosis: diagnoser.finish(&summary) }
    }
}

/// Calls of each connection.
const CALLS: u32 = 60;
/// Seeds of connections over RoCE and over iWARP, and of ones over each with more calls in flight, or with fewer.
const ROCE: RangeInclusive<u64> = 1..=150;
const IWARP: RangeInclusive<u64> = 1..=60;
const CROWDED: RangeInclusive<u64> = 1..=30;
/// Seeds with statements that were wrong once, or that were held to be wrong.
const WRONG_ROCE: [u64; 15] = [447, 519, 557, 641, 693, 696, 714, 734, 801, 893, 1071, 1147, 1394, 1472, 1743];
const WRONG_IWARP: [u64; 3] = [1014, 1180, 1358];
const WRONG_CROWDED_ROCE: [u64; 4] = [58, 74, 110, 422];
const WRONG_CROWDED_IWARP: [u64; 12] = [91, 130, 168, 251, 279, 352, 364, 404, 506, 562, 746, 1066];

/// A connection that is to be simulated.
#[derive(Clone, Copy)]
enum Plan {
    Roce(Chances),
    Iwarp(Chances),
}

impl Plan {
    fn run(self) -> Simulated {
        match self {
            Self::Roce(chances) => {
                let chances = Chances { late: [0; 2], ..chances };
                Simulated::run::<Roce>(chances, CALLS, true)
            }
            Self::Iwarp(chances) => {
                let chances = Chances { not_ready: 0, lost: chances.lost.map(|lost| lost.min(10)), ..chances };
                Simulated::run::<Tcp>(chances, CALLS, false)
            }
        }
    }

    /// Returns the connections with these seeds, or the usual ones.
    fn list_plans(seeds: Option<&[u64]>) -> Vec<Self> {
        let usual = |seeds: RangeInclusive<u64>, wrong: &[u64]| seeds.chain(wrong.iter().copied()).collect::<Vec<_>>();
        let [roce, iwarp, crowded_roce, crowded_iwarp] = match seeds {
            Some(seeds) => [(); 4].map(|()| seeds.to_vec()),
            None => [
                usual(ROCE, &WRONG_ROCE),
                usual(IWARP, &WRONG_IWARP),
                usual(CROWDED, &WRONG_CROWDED_ROCE),
                usual(CROWDED, &WRONG_CROWDED_IWARP),
            ],
        };
        let chances = |seeds: Vec<u64>, crowded: Vec<u64>| {
            seeds.into_iter().map(Chances::from_seed).chain(crowded.into_iter().map(Chances::crowded))
        };
        chances(roce, crowded_roce).map(Self::Roce).chain(chances(iwarp, crowded_iwarp).map(Self::Iwarp)).collect()
    }
}

/// Returns the seeds that the environment asks for: `SEED` or `FIRST-LAST`, with commas between several.
fn seeds() -> Option<Vec<u64>> {
    let seeds = std::env::var("SIMULATED_SEEDS").ok()?;
    let range = |seeds: &str| {
        let (first, last) = seeds.split_once('-').unwrap_or((seeds, seeds));
        first.parse().unwrap()..=last.parse().unwrap()
    };
    Some(seeds.split(',').flat_map(range).collect())
}

/// Counts of what was said about connections, and the wrong statements.
#[derive(Clone, Default)]
struct Verdict {
    /// Numbers of what was found, in the order that the judge says.
    counts: [u64; 2],
    wrong: Vec<String>,
}

impl Verdict {
    fn refuse(&mut self, simulated: &Simulated, text: String) {
        let carrier = if simulated.is_roce { "RoCE" } else { "iWARP" };
        self.wrong.push(format!("{carrier} {:?} {text}", simulated.chances));
        if let Some(folder) = std::env::var_os("SIMULATED_CAPTURES") {
            let Chances { seed, in_flight, .. } = simulated.chances;
            let name = format!("{carrier}-{seed}-{in_flight}.pcap");
            std::fs::write(Path::new(&folder).join(name), simulated.pcap()).unwrap();
        }
    }

    fn add_verdict(&mut self, other: Self) {
        self.counts.iter_mut().zip(other.counts).for_each(|(count, more)| *count += more);
        self.wrong.extend(other.wrong);
    }

    /// Fails if a statement was wrong, or if there were too few of each kind.
    fn assert(&self, least: [u64; 2]) {
        let Self { counts, wrong } = self;
        println!("{counts:?}, {} wrong", wrong.len());
        assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(10)].join("\n"));
        let are_enough = counts.iter().zip(least).all(|(count, least)| *count >= least);
        assert!(are_enough || seeds().is_some(), "{counts:?}, not {least:?}");
    }
}

/// Judges what was found in the capture of a connection.
type Judge = fn(&Simulated, &Found, &mut Verdict);

const JUDGES: [(&str, Judge); 19] = [
    ("latencies", whole::latencies),
    ("causes", whole::causes),
    ("recoveries", whole::recoveries),
    ("phases", whole::phases),
    ("pulls", whole::pulls),
    ("servers", whole::servers),
    ("messages", whole::messages),
    ("debts", whole::debts),
    ("copies", whole::copies),
    ("blames", whole::blames),
    ("diagnoses", whole::diagnoses),
    ("ended", altered::ended),
    ("slices", altered::slices),
    ("gaps", altered::gaps),
    ("doubled", altered::doubled_packets),
    ("refusals", altered::doubled_refusals),
    ("one end", altered::one_end),
    ("begun", altered::begun),
    ("clocks", clocks::clocks),
];

/// The verdict of each judge. Each connection is simulated once, for all of them.
static VERDICTS: LazyLock<BTreeMap<&str, Verdict>> = LazyLock::new(|| {
    let (plans, next) = (Plan::list_plans(seeds().as_deref()), AtomicUsize::new(0));
    let judge_some = || {
        let mut verdicts = vec![Verdict::default(); JUDGES.len()];
        while let Some(plan) = plans.get(next.fetch_add(1, Ordering::Relaxed)) {
            let simulated = plan.run();
            let found = Found::new(&simulated.captured);
            JUDGES.iter().zip(&mut verdicts).for_each(|((_, judge), verdict)| judge(&simulated, &found, verdict));
        }
        verdicts
    };
    let mut verdicts: BTreeMap<_, Verdict> = BTreeMap::new();
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(judge_some)).collect();
        for thread in threads {
            for ((name, _), verdict) in JUDGES.iter().zip(thread.join().unwrap()) {
                verdicts.entry(*name).or_default().add_verdict(verdict);
            }
        }
    });
    verdicts
});

/// Returns the verdict of a judge.
fn verdict(judge: &str) -> &'static Verdict {
    &VERDICTS[judge]
}

/// Counts of losses in a report.
fn counted(counts: Counts) -> [u64; 9] {
    let Counts { retransmitted, replaced, timeouts, implied_naks, causes_not_seen, .. } = counts;
    let Counts { sequence_errors, not_ready, failed, missed, .. } = counts;
    [retransmitted, replaced, timeouts, implied_naks, causes_not_seen, sequence_errors, not_ready, failed, missed]
}

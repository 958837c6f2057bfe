//! Statements about two captures of one connection, whose clocks differ: at the client, or near, and at the server, or near.

use std::io::Cursor;

use rpcrdma_dissector::{
    Capture, Config, Event, Events, SamePackets, SecondWitness, Transaction, WayBounds, WitnessSummary, recognise,
};

use super::iwarp::Tcp;
use super::network::{Chances, DISTANCE, FarPacket, FarTap};
use super::roce::Roce;
use super::{CALLS, Simulated};
use crate::synthetic::By::{self, Client, Server};
use crate::transcode::{Pcap, RAW_IP, Record, write_pcap};

/// Begin of the simulated time, in nanoseconds.
const EPOCH: u64 = 1_700_000_000_000_000_000;

/// The clock of the capture at the server.
#[derive(Clone, Copy, Debug)]
struct FarClock {
    /// Nanoseconds by which the clock is ahead.
    ahead: i64,
    /// Parts in a million by which the clock is faster.
    drift: i64,
    /// Microsecond at which the clock is set, and by how many nanoseconds.
    step: Option<(u64, i64)>,
}

impl FarClock {
    fn from_seed(seed: u64) -> Self {
        let ahead = [0, 790_700_000, -5_300_000_000, 40_000][seed as usize % 4];
        let drift = [0, 100, -100][seed as usize % 3];
        let step =
            seed.is_multiple_of(7).then_some((20_000, [-2_000_000_000, 3_000_000, 700_000_000][seed as usize % 3]));
        Self { ahead, drift, step }
    }

    /// Nanoseconds by which the clock is ahead at this microsecond.
    fn ahead_at(&self, time: u64) -> i64 {
        let step = self.step.filter(|(at, _)| time >= *at).map_or(0, |(_, by)| by);
        self.ahead + self.drift * time as i64 / 1_000 + step
    }
}

fn pcap(packets: impl Iterator<Item = (u64, Vec<u8>)>) -> Vec<u8> {
    let record = |(time_ns, data): (u64, Vec<u8>)| Record { time_ns, link: RAW_IP, length: data.len() as u32, data };
    write_pcap(&packets.map(record).collect::<Vec<_>>(), Pcap { nanoseconds: true, ..Pcap::default() })
}

/// Findings in two captures.
struct FoundTwice {
    transactions: Vec<Transaction>,
    lost: [u64; 2],
    summary: WitnessSummary,
}

impl FoundTwice {
    fn new(first: Vec<u8>, second: Vec<u8>, is_turned: bool) -> Option<Self> {
        let [one, other] = if is_turned { [&second, &first] } else { [&first, &second] };
        let file = match recognise(&one[..], &other[..]).unwrap() {
            Some(SamePackets::ClientFirst(file)) if !is_turned => file,
            Some(SamePackets::ClientSecond(file)) if is_turned => file,
            None => return None,
            same => panic!("{same:?}"),
        };
        let [first, second] = [first, second]
            .map(|octets| Capture::from_streams([("file".to_owned(), Box::new(Cursor::new(octets)) as Box<_>)]));
        let mut events =
            Events::new(first, Config::default()).with_second(SecondWitness::new(second, Config::default(), file));
        let (mut transactions, mut lost) = (Vec::new(), [0; 2]);
        for event in events.by_ref() {
            match event.unwrap() {
                Event::Transaction(transaction) => transactions.push(*transaction),
                Event::LostBetween(found) => lost[usize::from(!found.is_from_first)] += u64::from(found.count),
                _ => {}
            }
        }
        let summary = events.summary().witness.as_deref().unwrap().clone();
        Some(Self { transactions, lost, summary })
    }
}

/// Counts of statements.
#[derive(Debug, Default)]
struct Said {
    captures: u64,
    rpcs: u64,
    witnessed: u64,
    divided: u64,
    bounded: u64,
    lost: u64,
    really_lost: u64,
    /// Nanoseconds of the bounds of ways.
    width: u64,
}

fn judge(simulated: &Simulated, far: &FarTap, clock: FarClock, said: &mut Said, wrong: &mut Vec<String>) {
    let far_time = |time: u64| (EPOCH + time * 1_000).wrapping_add_signed(clock.ahead_at(time));
    let first = pcap(simulated.captured.iter().map(|(time, data)| (EPOCH + time * 1_000, data.clone())));
    let mut packets: Vec<&FarPacket> = far.captured.iter().collect();
    packets.sort_by_key(|packet| packet.time);
    let second = pcap(packets.iter().map(|packet| (far_time(packet.time), packet.octets.clone())));
    let seed = simulated.chances.seed;
    let mut refuse = |text: String| wrong.push(format!("{seed} {} {clock:?}: {text}", simulated.is_roce));
    let Some(found) = FoundTwice::new(first, second, seed.is_multiple_of(2)) else { return };
    said.captures += 1;
    let way_of = |from: By, near: u64| {
        let mut same = packets.iter().filter(|packet| packet.from == from && packet.near == Some(near));
        same.next().map(|packet| packet.time.abs_diff(near) * 1_000)
    };
    let contains = |way: WayBounds, time: u64| (way.least..=way.most).contains(&time);
    for transaction in &found.transactions {
        let rpc = &simulated.rpcs[&transaction.xid];
        said.rpcs += 1;
        let Some(witnessed) = transaction.witnessed.as_deref() else { continue };
        said.witnessed += 1;
        let said_of = |text: String| format!("{:#x} {}: {text}, {witnessed:?}", transaction.xid, rpc.fate());
        if Some(witnessed.at_requester) != transaction.latency() {
            refuse(said_of("another latency".to_owned()));
        }
        if let Some(parts) = witnessed.parts {
            said.divided += 1;
            // From the second place to the server and back, for each turn of the server; packets wait for each other.
            let most = rpc.busy * 1_000 + (2 * (DISTANCE - far.at) * 2 + 70) * 1_000 + witnessed.at_requester / 4_000;
            if parts.responder > most && far.lost[1] == 0 {
                refuse(said_of(format!("server took {} µs", rpc.busy)));
            }
            let sum = parts.requester + parts.network + parts.responder;
            if sum != witnessed.at_requester {
                refuse(said_of(format!("{sum} in all")));
            }
        }
        let ways = [(Client, witnessed.way_there, rpc.began), (Server, witnessed.way_back, rpc.ended)];
        for (from, way, near) in ways {
            let (Some(way), Some(near)) = (way, near) else { continue };
            // Copies that were lost in between have no way.
            let Some(truth) = way_of(from, near).filter(|_| !rpc.is_lossy) else { continue };
            said.bounded += 1;
            said.width += way.most - way.least;
            if !contains(way, truth) {
                refuse(said_of(format!("{way:?}, not {truth}")));
            }
        }
    }
    for (found, dropped) in found.lost.into_iter().zip(far.dropped) {
        said.lost += found;
        said.really_lost += dropped;
        if found > dropped {
            refuse(format!("{found} lost, not {dropped}"));
        }
    }
    let end = simulated.captured.last().unwrap().0;
    if let Some((ahead, uncertainty)) = found.summary.clock_ahead.zip(found.summary.clock_uncertainty) {
        // The last packets of both ends may have come before the step.
        let truth = if clock.step.is_some() { ahead } else { clock.ahead_at(end) };
        let drifted = (clock.drift * 200).unsigned_abs();
        if ahead.abs_diff(truth) > uncertainty + drifted {
            refuse(format!("{ahead} ± {uncertainty} ahead, not {truth}"));
        }
    }
}

/// Two captures say nothing that is not so, whatever their clocks, and whatever was lost where.
#[test]
fn two_captures_of_a_connection_say_only_the_truth() {
    let (mut said, mut wrong) = (Said::default(), Vec::new());
    for seed in 1..=60 {
        let clock = FarClock::from_seed(seed);
        let chances = Chances { tap: [0, DISTANCE / 4][seed as usize % 2], late: [0; 2], ..Chances::from_seed(seed) };
        let (simulated, far) = Simulated::run_past::<Roce>(chances, CALLS, true, Some(FarTap::from_seed(seed)));
        judge(&simulated, &far.unwrap(), clock, &mut said, &mut wrong);
        if seed <= 30 {
            let chances = Chances { not_ready: 0, lost: chances.lost.map(|lost| lost.min(10)), ..chances };
            let (simulated, far) = Simulated::run_past::<Tcp>(chances, CALLS, false, Some(FarTap::from_seed(seed)));
            judge(&simulated, &far.unwrap(), clock, &mut said, &mut wrong);
        }
    }
    println!("{said:?}, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{said:?}, {} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(12)].join("\n"));
    assert!(said.captures >= 80 && said.witnessed * 10 > said.rpcs * 7 && said.divided * 2 > said.rpcs, "{said:?}");
    assert!(said.lost * 10 >= said.really_lost * 4, "{said:?}");
}

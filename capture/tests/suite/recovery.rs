//! Retransmissions, and the RPC of each, measured against the numbers in the packets.

use std::collections::{BTreeMap, BTreeSet};

use rpcrdma_dissector::{
    Config, Counts, Dissector, Event, Frame, LinkType, Reader, Recovered, Recovery, RecoveryKind, Report, Time,
    Transaction,
};

use crate::gaps;
use crate::synthetic::By::{Client, Server};
use crate::synthetic::rpc::{Lists, MSG, message, null, reply};
use crate::synthetic::{Packet, Wire};
use crate::transcode::{self, Mirror, MirrorKind, Pcap, Record};

/// A dissector's output about loss.
#[derive(Default)]
struct Lossy {
    transactions: Vec<Transaction>,
    events: Vec<Recovered>,
    reports: Vec<Report>,
}

impl Lossy {
    fn take_events(&mut self, dissector: &mut Dissector) {
        while let Some(event) = dissector.event() {
            match event {
                Event::Transaction(transaction) => self.transactions.push(*transaction),
                Event::Recovery(recovered) => self.events.push(recovered),
                Event::Connection(report) => self.reports.push(*report),
                _ => {}
            }
        }
    }

    fn of_records(records: &[Record]) -> Self {
        let file = transcode::write_pcap(records, Pcap { nanoseconds: true, ..Pcap::default() });
        let mut reader = Reader::new(file.as_slice()).unwrap();
        let (mut dissector, mut found) = (Dissector::new(config()), Self::default());
        while let Some(frame) = reader.next() {
            dissector.frame(&frame.unwrap());
            found.take_events(&mut dissector);
        }
        dissector.finish();
        found.take_events(&mut dissector);
        found
    }

    /// Of packets that were captured at these times, in microseconds.
    fn of_packets(packets: &[(u64, Packet)]) -> Self {
        let (mut dissector, mut found) = (Dissector::new(config()), Self::default());
        for (number, (time, data)) in (1..).zip(packets) {
            let (time, length) = (Time(time * 1000), data.len() as u32);
            dissector.frame(&Frame { number, time, link: LinkType(101), data, length });
            found.take_events(&mut dissector);
        }
        dissector.finish();
        found.take_events(&mut dissector);
        found
    }

    fn recovery(&self, xid: u32) -> &Recovery {
        let mut of = self.transactions.iter().filter(|transaction| transaction.xid == xid);
        of.next().unwrap().recovery.as_ref().unwrap()
    }

    fn counts(&self) -> [Counts; 2] {
        [self.reports[0].counts.active, self.reports[0].counts.passive]
    }

    /// The frames with signs of these names.
    fn frames(&self, names: &[&str]) -> Vec<u64> {
        let of = self.events.iter().filter(|event| names.contains(&event.kind.name()));
        let frames: BTreeSet<u64> = of.map(|event| event.stamp.frame).collect();
        frames.into_iter().collect()
    }

    /// The events, the counts of the connection, and what the RPCs had agree. `over` are the frames that were retransmitted after
    /// the RPC that they belong to was over.
    fn assert_sums(&self, over: &[u64]) {
        let count = |name: &str| self.events.iter().filter(|event| event.kind.name() == name).count() as u64;
        let all = |of: fn(&Counts) -> u64| self.counts().iter().map(of).sum::<u64>();
        assert_eq!(count("retransmitted"), all(|counts| counts.retransmitted));
        assert_eq!(count("retransmitted, first not captured"), all(|counts| counts.replaced));
        assert_eq!(count("time-out"), all(|counts| counts.timeouts));
        assert_eq!(count("implied NAK"), all(|counts| counts.implied_naks));
        assert_eq!(count("cause not seen"), all(|counts| counts.causes_not_seen));
        assert_eq!(count("NAK"), all(|counts| counts.sequence_errors));
        assert_eq!(count("RNR NAK"), all(|counts| counts.not_ready));
        let rpcs = |of: fn(&Recovery) -> u64| {
            self.transactions.iter().filter_map(|transaction| transaction.recovery.as_ref().ok()).map(of).sum::<u64>()
        };
        let is_over = |name: &&&str| {
            let is = |event: &&Recovered| event.kind.name() == **name && over.contains(&event.stamp.frame);
            self.events.iter().filter(is).count() as u64
        };
        let over = |names: &[&str]| names.iter().map(|name| is_over(&name)).sum::<u64>();
        let again = ["retransmitted", "retransmitted, first not captured"];
        assert_eq!(rpcs(|recovery| recovery.retransmitted_packets) + over(&again), count(again[0]) + count(again[1]));
        assert_eq!(rpcs(|recovery| recovery.timeouts) + over(&["time-out"]), count("time-out"));
        let causes = rpcs(|recovery| recovery.implied_naks + recovery.causes_not_seen);
        let unseen = ["implied NAK", "cause not seen"];
        assert_eq!(causes + over(&unseen), count(unseen[0]) + count(unseen[1]));
        assert_eq!(rpcs(|recovery| recovery.naks), count("NAK"));
        assert_eq!(rpcs(|recovery| recovery.rnr_naks), count("RNR NAK"));
        let listed = rpcs(|recovery| recovery.frames.len() as u64 + recovery.frames_left_out);
        let resent = rpcs(|recovery| recovery.retransmitted_packets + recovery.naks + recovery.rnr_naks);
        assert_eq!(listed, resent);
    }
}

fn config() -> Config {
    let mut config = Config::default();
    config.recovery = true;
    config
}

/// Frames of RoCEv2 over IPv4 with the numbers of requests and responses that were there before, those with numbers that were not
/// but are below one that was, and negative acknowledgements: read from the octets, by the numbers alone.
fn by_number(records: &[Record]) -> [Vec<u64>; 3] {
    let (mut seen, mut highest) = (BTreeSet::new(), BTreeMap::new());
    let [mut again, mut replaced, mut refused] = [const { Vec::new() }; 3];
    for (frame, Record { data, .. }) in (1..).zip(records) {
        if data[12..14] != [8, 0] || data[23] != 17 || data[36..38] != 4791_u16.to_be_bytes() {
            continue;
        }
        let packet = &data[42..];
        // Numbers are those of a queue pair.
        let host = (data[29], packet[5..8].to_vec());
        let number = u32::from_be_bytes([0, packet[9], packet[10], packet[11]]);
        let (is_response, numbers) = match packet[0] {
            0x00..=0x0b | 0x16 | 0x17 => (false, 1),
            // As many as there are packets of the answer, of 1024 octets each.
            0x0c => (false, u32::from_be_bytes(packet[24..28].try_into().unwrap()).div_ceil(1024)),
            0x0d..=0x10 => (true, 1),
            0x11 if packet[12] == 0x60 => {
                refused.push(frame);
                continue;
            }
            _ => continue,
        };
        let highest = highest.entry((host.clone(), is_response)).or_insert(0);
        if seen.contains(&(host.clone(), is_response, number)) {
            again.push(frame);
        } else if number < *highest {
            replaced.push(frame);
        }
        seen.extend((number..number + numbers).map(|number| (host.clone(), is_response, number)));
        *highest = number.max(*highest);
    }
    [again, replaced, refused]
}

#[test]
fn roce_retransmissions_are_those_that_packet_numbers_show() {
    let records = transcode::capture("nfs41_lossy");
    let found = Lossy::of_records(&records);
    let [again, replaced, refused] = by_number(&records);
    assert_eq!([again.len(), replaced.len(), refused.len()], [48 + 384, 5 + 15, 9]);
    assert_eq!(found.frames(&["retransmitted"]), again);
    assert_eq!(found.frames(&["retransmitted, first not captured"]), replaced);
    assert_eq!(found.frames(&["NAK"]), refused);
    found.assert_sums(&[]);
    // The server was silent from frame 352 to 353, and from 1442 to 1446, for more than two seconds each.
    let timeouts: Vec<_> = found.events.iter().filter(|event| event.kind.name() == "time-out").collect();
    let silence = |event: &Recovered| match event.kind {
        RecoveryKind::TimedOut { silence } => silence,
        _ => 0,
    };
    let expected = [353, 1446].map(|frame: usize| {
        let before = records[..frame - 1].iter().rev().find(|record| record.data[29] == 1 && record.data[42] != 0x11);
        (frame as u64, records[frame - 1].time_ns - before.unwrap().time_ns)
    });
    assert_eq!(timeouts.iter().map(|event| (event.stamp.frame, silence(event))).collect::<Vec<_>>(), expected);
    assert!(expected.iter().all(|(_, silence)| *silence > 2_000_000_000));
    assert!(found.events.iter().all(|event| event.xid.is_some()));
}

/// READ: call 246. The Writes 248 to 310 came in order up to the gap that frame 292 reports; the reply 310 came again in 406.
#[test]
fn recovery_is_the_time_after_what_would_have_come() {
    let records = transcode::capture("nfs41_lossy");
    let found = Lossy::of_records(&records);
    let microseconds = |from: usize, to: usize| (records[to - 1].time_ns - records[from - 1].time_ns) / 1000;
    let recovery = found.recovery(0xc73d_34c3);
    // The capture lacks packet 6704890; the next one is in frame 271. All that came from there on was retransmitted, up to 406.
    assert_eq!(recovery.phases.total() / 1000, microseconds(271, 406));
    assert_eq!((recovery.timeouts, recovery.naks, recovery.resent_from), (1, 3, Some(311)));
    assert_eq!((recovery.frames.len(), recovery.frames[0]), (64, 292));
    let in_its_time =
        by_number(&records).concat().into_iter().filter(|frame| (246..=406).contains(frame)).count() as u64;
    assert_eq!(recovery.frames.len() as u64 + recovery.frames_left_out, in_its_time);
    for transaction in &found.transactions {
        let (phases, recovery) = (transaction.phases.unwrap(), transaction.recovery.as_ref().unwrap());
        for phase in rpcrdma_dissector::Phase::ALL {
            assert!(recovery.phases.phase_time(phase) <= phases.phase_time(phase), "{:#x} {phase:?}", transaction.xid);
        }
    }
}

/// `tshark -Y 'tcp.port==20049 && (tcp.analysis.retransmission || tcp.analysis.out_of_order)'` lists these frames. It calls 356,
/// 606 and 711 out of order, but selective acknowledgements had reported the gaps that they fill (frames 355, 602, 708). Of 210
/// and 889, tshark shows that the octets were there before.
const RETRANSMITTED: [u64; 17] = [204, 210, 212, 259, 276, 354, 356, 379, 496, 581, 606, 703, 711, 889, 891, 910, 926];

#[test]
fn what_was_sent_again_over_iwarp_is_what_tshark_says() {
    let found = Lossy::of_records(&transcode::capture("iwarp_nfs3_lossy"));
    assert_eq!(found.frames(&["retransmitted", "retransmitted, first not captured"]), RETRANSMITTED);
    assert_eq!(found.frames(&["retransmitted"]), [210, 889]);
    // `tshark -Y tcp.options.sack_le -T fields -e ip.src -e tcp.ack -e tcp.options.sack_le`: 11 acknowledgements of the client and 2
    // of the server, each counted once, have a block beyond what they acknowledge.
    let [client, server] = found.counts();
    assert_eq!((client.sequence_errors, server.sequence_errors), (11, 2));
    // The replies in 209 and 888 were retransmitted 206 and 209 ms later. Which copy of these replies
    // arrived is not known, so neither is how much of their time was recovery. What 212 and 891 carry was lost
    // before it was captured, so nothing shows when it was first sent: 211 and 890 say only that it was.
    assert_eq!(found.frames(&["time-out"]), [210, 889]);
    assert_eq!(found.frames(&["cause not seen"]), [212, 891]);
    found.assert_sums(&[210, 889]);
    let late: Vec<_> = found.events.iter().filter(|event| [210, 889].contains(&event.stamp.frame)).collect();
    assert!(late.iter().all(|event| event.xid.is_some()));
}

/// Of the client and the server of each connection: retransmitted packets that the capture holds from before, those of
/// them that came twice, those that it does not hold from before, time-outs, and gaps that were reported.
type EndCounts = [[u64; 5]; 2];

/// Frames were lost on purpose, by `testdata/lab/scenarios/lost.sh`. What the kernels of both ends counted meanwhile is in the README
/// of the captures: all but what RoCE retransmits behind what was lost, which the packet numbers show.
const LOST: [EndCounts; 8] = [
    [[2, 0, 0, 2, 0], [0; 5]],
    [[0; 5], [2, 0, 0, 2, 0]],
    [[0, 0, 0, 0, 2], [7, 0, 0, 0, 0]],
    [[5, 0, 0, 0, 0], [2, 0, 0, 2, 0]],
    [[0, 0, 0, 0, 2], [5, 0, 2, 0, 0]],
    [[3, 0, 2, 0, 0], [2, 0, 0, 2, 0]],
    [[0, 8, 0, 0, 0], [0; 5]],
    [[0; 5], [0, 8, 0, 0, 0]],
];
const IWARP_LOST: [EndCounts; 8] = [
    [[3, 0, 0, 3, 0], [1, 0, 0, 1, 0]],
    [[3, 0, 0, 3, 0], [3, 0, 0, 3, 0]],
    [[0, 0, 0, 0, 2], [2, 0, 0, 0, 0]],
    [[2, 0, 0, 0, 0], [0, 0, 0, 0, 2]],
    [[0, 0, 0, 0, 2], [0, 0, 2, 0, 0]],
    [[0, 0, 2, 0, 0], [0, 0, 0, 0, 2]],
    [[0, 3, 0, 0, 0], [0; 5]],
    [[0; 5], [0, 2, 0, 0, 0]],
];

#[test]
fn loss_counts_equal_those_of_the_kernels() {
    for (name, expected) in [("lost", LOST.as_slice()), ("iwarp_lost", IWARP_LOST.as_slice())] {
        let found = Lossy::of_records(&transcode::capture(name));
        let counts = |counts: &Counts| {
            let Counts { retransmitted, duplicates, replaced, timeouts, sequence_errors, .. } = *counts;
            [retransmitted, duplicates, replaced, timeouts, sequence_errors]
        };
        let mut reports: Vec<_> = found.reports.iter().filter(|report| report.number.is_some()).collect();
        reports.sort_by_key(|report| report.number);
        let both = reports.iter().map(|report| [counts(&report.counts.active), counts(&report.counts.passive)]);
        assert_eq!(both.collect::<Vec<_>>(), expected, "{name}");
        assert!(found.events.iter().all(|event| event.xid.is_some()), "{name}");
    }
    let records = transcode::capture("lost");
    let found = Lossy::of_records(&records);
    let [again, replaced, refused] = by_number(&records);
    // On connections 7 and 8, some frames came twice, as they were.
    let is_copy = |frame: &u64| {
        let (before, from) = records.split_at(*frame as usize - 1);
        before.iter().any(|record| record.data == from[0].data)
    };
    let (copies, again): (Vec<_>, Vec<_>) = again.into_iter().partition(is_copy);
    assert_eq!(copies.len(), 8);
    assert_eq!(found.frames(&["retransmitted"]), again);
    assert_eq!(found.frames(&["retransmitted, first not captured"]), replaced);
    assert_eq!(found.frames(&["NAK"]), refused);
    // Each sign is that of an RPC, and counts for it, unless the capture does not show which copy of the reply arrived.
    let is_unknown = |event: &&Recovered| {
        let is = |transaction: &&Transaction| {
            (transaction.connection, Some(transaction.xid)) == (event.connection, event.xid)
        };
        found.transactions.iter().find(is).unwrap().recovery.is_err()
    };
    assert_eq!(found.transactions.iter().filter(|rpc| rpc.recovery.is_err()).count(), 2);
    for (names, of) in [
        (["time-out"].as_slice(), (|recovery| recovery.timeouts) as fn(&Recovery) -> u64),
        (&["NAK"], |recovery| recovery.naks),
        (&["retransmitted", "retransmitted, first not captured"], |recovery| recovery.retransmitted_packets),
    ] {
        let of_rpcs: u64 = found.transactions.iter().filter_map(|rpc| rpc.recovery.as_ref().ok()).map(of).sum();
        let signs = found.events.iter().filter(|event| names.contains(&event.kind.name()));
        assert_eq!(of_rpcs, signs.filter(|event| !is_unknown(event)).count() as u64, "{names:?}");
    }
}

#[test]
fn recovery_intervals_add_up_to_recovery_phases() {
    let mut several = 0;
    for name in [
        "nfs41_lossy",
        "iwarp_nfs3_lossy",
        "delays",
        "lost",
        "iwarp_lost",
        "network_requester",
        "situations/reply_not_ready",
    ] {
        for transaction in Lossy::of_records(&transcode::capture(name)).transactions {
            let (Ok(recovery), Some(began)) = (&transaction.recovery, transaction.began) else { continue };
            let length = recovery.stretches.iter().map(|(from, until)| until.0 - from.0).sum::<u64>();
            assert_eq!(
                length + recovery.stretches_left_out,
                recovery.phases.total(),
                "{name} {:#010x}",
                transaction.xid
            );
            let ends: Vec<u64> = recovery.stretches.iter().flat_map(|(from, until)| [from.0, until.0]).collect();
            assert!(ends.is_sorted() && ends.first().is_none_or(|first| *first >= began.time.0), "{name} {ends:?}");
            several += usize::from(recovery.stretches.len() > 1);
        }
    }
    assert!(several > 0);
}

#[test]
fn where_nothing_is_lost_nothing_is_recovered() {
    for name in ["nfs3", "nfs40", "nfs41", "nfs41_callback", "nfs42_mtu9000", "krb5i_reduced", "iwarp_nfs41"] {
        let records = transcode::capture(name);
        for records in [0, 1, 2, 3].map(|seed| transcode::shuffling(&records, seed, 40 * seed, 4)) {
            let found = Lossy::of_records(&records);
            assert_eq!(found.events.len(), 0, "{name}: {:?}", found.events.first());
            let is_none = |transaction: &Transaction| match &transaction.recovery {
                Ok(recovery) => *recovery == Recovery::default(),
                Err(_) => true,
            };
            assert!(found.transactions.iter().all(is_none), "{name}");
        }
    }
}

/// A capture that begins late or has one direction only: the signs before the first message of a connection are told too.
#[test]
fn events_are_as_many_as_the_connections_count() {
    for name in ["lost", "iwarp_lost", "nfs41_lossy", "iwarp_nfs3_lossy"] {
        let records = transcode::capture(name);
        let mut captures: Vec<_> = (1..40).map(|part| records[part * records.len() / 40..].to_vec()).collect();
        captures.extend([1, 2].map(|end| gaps::sent_by(name, end)));
        for (part, records) in (1..).zip(captures) {
            let found = Lossy::of_records(&records);
            let counts: Vec<_> =
                found.reports.iter().flat_map(|report| [report.counts.active, report.counts.passive]).collect();
            let counted = counts.iter().map(|counts| {
                let again = counts.retransmitted + counts.replaced;
                let causes = counts.timeouts + counts.implied_naks + counts.causes_not_seen;
                again + causes + counts.sequence_errors + counts.not_ready + counts.failed
            });
            assert_eq!(found.events.len() as u64, counted.sum::<u64>(), "{name}, part {part}");
        }
    }
}

#[test]
fn frames_that_were_captured_twice_were_not_sent_again() {
    for name in ["nfs41", "nfs42_mtu9000", "iwarp_nfs41"] {
        let mut records = transcode::capture(name);
        // The packets of the setup belong to no RPC.
        let rest = records.split_off(40);
        records.extend(transcode::duplicating(&rest, 1, 1000));
        let found = Lossy::of_records(&records);
        assert_eq!(found.events.len(), 0, "{name}");
        found.assert_sums(&[]);
        let time =
            |transaction: &Transaction| transaction.recovery.as_ref().map_or(0, |recovery| recovery.phases.total());
        assert_eq!(found.transactions.iter().map(time).sum::<u64>(), 0, "{name}");
        assert!(found.counts()[1].duplicates > 100, "{name}");
    }
}

/// After 2 microseconds; behind a router; tagged.
const MIRRORS: [Mirror; 5] = [
    Mirror { delay: 0, kind: MirrorKind::Same },
    Mirror { delay: 2000, kind: MirrorKind::Same },
    Mirror { delay: 2000, kind: MirrorKind::Tagged },
    Mirror { delay: 2000, kind: MirrorKind::Routed },
    Mirror { delay: 50_000, kind: MirrorKind::Routed },
];

/// A sign of loss without the numbers of frames, which copies change.
type TimedSign = (u64, &'static str, Option<u32>, String);

/// A capture whose frames are there twice says what it says without the copies: of what was lost, and in every count.
/// `is_exact`: acknowledgements of the same that follow each other are told from copies.
fn is_the_same_twice(name: &str, records: &[Record], mirrors: &[Mirror], is_exact: bool) {
    let (once, signs) = (Lossy::of_records(records), |found: &Lossy| -> Vec<TimedSign> {
        let sign = |event: &Recovered| (event.stamp.time.0, event.kind.name(), event.xid, event.from.to_string());
        found.events.iter().map(sign).collect()
    });
    let counts = |found: &Lossy, with_copies: bool| -> Vec<[Counts; 2]> {
        let of = |mut counts: Counts| {
            // Copies of frames before it change its number.
            counts.checksums.first_wrong = counts.checksums.first_wrong.map(|_| 0);
            if !with_copies {
                (counts.packets, counts.duplicates) = (counts.packets * u64::from(is_exact), 0);
            }
            counts
        };
        let each = |report: &Report| [of(report.counts.active), of(report.counts.passive)];
        found.reports.iter().map(each).collect()
    };
    for mirror in mirrors {
        let twice: Vec<_> =
            transcode::doubling(records, *mirror, |_| true).into_iter().map(|(_, record)| record).collect();
        let found = Lossy::of_records(&twice);
        assert_eq!(signs(&found), signs(&once), "{name} {mirror:?}");
        for (found, once) in counts(&found, false).iter().zip(counts(&once, false)) {
            assert_eq!(*found, once, "{name} {mirror:?}");
        }
        for counts in counts(&found, true).iter().flatten() {
            let enough = if is_exact { counts.packets } else { counts.packets * 3 / 4 };
            assert!(counts.duplicates >= enough, "{name} {mirror:?} {counts:?}");
        }
        let rpcs = |found: &Lossy| -> Vec<_> {
            let phases = |rpc: &Transaction| rpc.recovery.as_ref().ok().map(|recovery| recovery.phases);
            found.transactions.iter().map(|rpc| (rpc.xid, rpc.latency(), rpc.phases, phases(rpc))).collect()
        };
        assert_eq!(rpcs(&found), rpcs(&once), "{name} {mirror:?}");
    }
}

#[test]
fn what_a_mirror_doubled_was_not_sent_again() {
    // Copies are put in the order of their times, which a clock that was set back does not have.
    for name in transcode::shipped().into_iter().filter(|name| name != "situations/clock_set_back") {
        is_the_same_twice(&name, &transcode::capture(&name), &MIRRORS, true);
    }
}

/// RoCEv1, InfiniBand and IPv6 have no identification.
#[test]
fn copies_are_known_without_an_identification() {
    for name in ["nfs41_lossy", "lost", "nfs41", "nfs3"] {
        let records = transcode::capture(name);
        is_the_same_twice(name, &transcode::to_roce_v1(&records), &MIRRORS, false);
        is_the_same_twice(name, &transcode::to_infiniband(&records, true), &MIRRORS[..2], false);
    }
    for name in ["iwarp_lost", "iwarp_nfs3_lossy", "iwarp_nfs41"] {
        is_the_same_twice(name, &transcode::over_ipv6(&transcode::capture(name)), &MIRRORS, false);
    }
}

/// A mirror that holds its copies back for milliseconds, as one with a buffer does. IPv6 has no identification, and adapters that leave
/// it 0 in IPv4 look like that.
#[test]
fn copies_that_come_late_each_time_are_copies() {
    let late = [3_000_000, 20_000_000].map(|delay| Mirror { delay, kind: MirrorKind::Same });
    for name in ["nfs41", "nfs3", "nfs3_ipv6", "iwarp_nfs41"] {
        let records = transcode::capture(name);
        let without = [transcode::over_ipv6(&records), records.clone()]
            .map(|records| transcode::without_identification(&records));
        for records in without {
            for mirror in late {
                let once = Lossy::of_records(&records);
                let twice = transcode::doubling(&records, mirror, |_| true).into_iter().map(|(_, record)| record);
                let found = Lossy::of_records(&twice.collect::<Vec<_>>());
                assert_eq!(found.events.len(), once.events.len(), "{name} {mirror:?} {:?}", found.events.first());
                let latencies = |found: &Lossy| -> Vec<_> {
                    found.transactions.iter().map(|rpc| (rpc.xid, rpc.latency())).collect()
                };
                assert_eq!(latencies(&found), latencies(&once), "{name} {mirror:?}");
            }
        }
    }
}

#[test]
fn one_direction_may_be_doubled_alone() {
    for name in ["nfs41", "nfs41_lossy", "iwarp_nfs41", "iwarp_nfs3_lossy"] {
        let records = transcode::capture(name);
        let once = Lossy::of_records(&records);
        for host in [1, 2] {
            let is_doubled = |record: &Record| record.data[29] == host;
            let twice = transcode::doubling(&records, MIRRORS[1], is_doubled).into_iter().map(|(_, record)| record);
            let found = Lossy::of_records(&twice.collect::<Vec<_>>());
            assert_eq!(found.events.len(), once.events.len(), "{name}");
            let copies = |counts: Counts| (counts.packets, counts.duplicates);
            let ([was_active, was_passive], [active, passive]) = (once.counts(), found.counts());
            // The client is 192.0.2.2.
            let expected = |counts: Counts, is: bool| (counts.packets, if is { counts.packets } else { 0 });
            assert_eq!(copies(active), expected(was_active, host == 2), "{name}");
            assert_eq!(copies(passive), expected(was_passive, host == 1), "{name}");
        }
    }
}

/// Packets a microsecond apart, and what comes at a time.
struct Trace(Vec<(u64, Packet)>);

impl Trace {
    fn new(wire: &mut Wire) -> Self {
        let mut trace = Self(Vec::new());
        trace.at(0, wire.connect());
        trace
    }

    fn at(&mut self, time: u64, packets: impl IntoIterator<Item = Packet>) -> &mut Self {
        self.0.extend((time..).zip(packets));
        self
    }
}

fn call(wire: &mut Wire, xid: u32) -> Vec<Packet> {
    wire.send(Client, &message(MSG, xid, &Lists::default(), &null(xid)))
}

fn answer(wire: &mut Wire, xid: u32) -> Vec<Packet> {
    wire.send(Server, &message(MSG, xid, &Lists::default(), &reply(xid, &[])))
}

#[test]
fn a_call_lost_beyond_the_capture_times_out() {
    let mut wire = Wire::default();
    let mut trace = Trace::new(&mut wire);
    let packets = call(&mut wire, 1);
    trace.at(100, packets.clone()).at(67_100, packets).at(67_150, answer(&mut wire, 1));
    let found = Lossy::of_packets(&trace.0);
    let recovery = found.recovery(1);
    assert_eq!((recovery.timeouts, recovery.retransmitted_packets, recovery.naks), (1, 1, 0));
    assert_eq!(recovery.phases.responder, 67_000_000, "from the call to the copy of it, not to the reply");
    assert_eq!(recovery.frames, [5]);
    found.assert_sums(&[]);
}

/// The names of what each frame shows.
fn names(found: &Lossy) -> Vec<(u64, &'static str)> {
    found.events.iter().map(|event| (event.stamp.frame, event.kind.name())).collect()
}

/// The local ACK timeout is 536.9 ms (17).
#[test]
fn a_time_out_is_a_silence_as_announced() {
    for (silence, cause) in [(1_000, "cause not seen"), (400_000, "cause not seen"), (548_000, "time-out")] {
        let mut wire = Wire { ack_timeout: 17, ..Wire::default() };
        let mut trace = Trace::new(&mut wire);
        let packets = call(&mut wire, 1);
        trace.at(1_000_100, packets.clone()).at(1_000_100 + silence, packets);
        trace.at(2_000_000, answer(&mut wire, 1));
        let found = Lossy::of_packets(&trace.0);
        assert_eq!(names(&found), [(5, cause), (5, "retransmitted")], "{silence}");
        found.assert_sums(&[]);
        let [client, _] = found.counts();
        assert_eq!((client.timeouts, client.causes_not_seen), if silence > 537_000 { (1, 0) } else { (0, 1) });
    }
}

/// Packets that were asked for, and are lost once more, are retransmitted after a time-out.
#[test]
fn a_silence_after_a_nak_is_a_time_out() {
    let mut wire = Wire { ack_timeout: 17, ..Wire::default() };
    let mut trace = Trace::new(&mut wire);
    let number = wire.client.next;
    let calls: Vec<_> = (1..4).map(|xid| call(&mut wire, xid).remove(0)).collect();
    trace.at(100, calls.clone()).at(110, [wire.nak(Server, number + 1)]);
    // Of the two that are retransmitted, the second is lost.
    trace.at(120, calls[1..].to_vec()).at(130, [wire.ack(Server, number + 1)]);
    trace.at(548_130, calls[2..].to_vec());
    for xid in 1..4 {
        trace.at(600_000 + u64::from(xid), answer(&mut wire, xid));
    }
    let found = Lossy::of_packets(&trace.0);
    let again = [(8, "retransmitted"), (9, "retransmitted")];
    assert_eq!(names(&found), [&[(7, "NAK")], &again[..], &[(11, "time-out"), (11, "retransmitted")]].concat());
    found.assert_sums(&[]);
}

/// An end that goes on sending waits for an acknowledgement all the same.
#[test]
fn an_end_that_goes_on_sending_may_time_out() {
    let mut wire = Wire { ack_timeout: 17, ..Wire::default() };
    let mut trace = Trace::new(&mut wire);
    trace.at(50, call(&mut wire, 9)).at(60, [wire.ack_all(Server)]).at(70, answer(&mut wire, 9));
    let mut calls: Vec<_> = (1..4).map(|xid| call(&mut wire, xid).remove(0)).collect();
    // Each asks for an acknowledgement, and nothing arrives any more.
    calls.iter_mut().for_each(|call| call[36] |= 0x80);
    for (place, call) in (0..).zip(&calls) {
        trace.at(1_000_000 + 250_000 * place, [call.clone()]);
    }
    trace.at(1_540_000, calls);
    let found = Lossy::of_packets(&trace.0);
    let frames = |name| found.events.iter().filter(|event| event.kind.name() == name).count();
    assert_eq!(["time-out", "cause not seen", "retransmitted"].map(frames), [1, 0, 3]);
}

#[test]
fn an_rnr_wait_longer_than_the_time_out_is_none() {
    let mut wire = Wire { ack_timeout: 8, ..Wire::default() };
    let mut trace = Trace::new(&mut wire);
    let number = wire.client.next;
    let packets = call(&mut wire, 1);
    // The time-out is 1.05 ms, the wait 0.64 ms.
    trace.at(100, packets.clone()).at(500, [wire.not_ready(Server, number)]);
    trace.at(1_500, packets).at(1_600, answer(&mut wire, 1));
    assert_eq!(names(&Lossy::of_packets(&trace.0)), [(5, "RNR NAK"), (6, "retransmitted")]);
}

/// Responses that came after the one that is asked for again show that the requester misses it; a response that is the last one
/// does not.
#[test]
fn a_read_request_after_later_responses_is_an_implied_nak() {
    let data = vec![7; 4000];
    for (missing, cause) in [(1, "implied NAK"), (3, "cause not seen")] {
        let mut wire = Wire { ack_timeout: 17, ..Wire::default() };
        let mut trace = Trace::new(&mut wire);
        let memory = (0x77, 0x1000);
        let lists = Lists::reads(&[(40, (memory.0, memory.1, 4000))]);
        trace.at(100, wire.send(Client, &message(MSG, 1, &lists, &null(1))));
        let number = wire.server.next;
        trace.at(200, wire.read(Server, memory, &data));
        let at = 1024 * missing as usize;
        let again = wire.read_request_again(Server, number + missing, (memory.0, memory.1 + at as u64), 4000 - at);
        trace.at(3_200, [again]).at(3_300, wire.read_responses(Client, number + missing, &data[at..]));
        trace.at(4_000, answer(&mut wire, 1));
        let found = Lossy::of_packets(&trace.0);
        let server = found.reports[0].connection.ends.passive.address;
        let of_server = found.events.iter().filter(|event| event.from == server);
        assert_eq!(of_server.map(|event| event.kind.name()).collect::<Vec<_>>(), [cause, "retransmitted"]);
        let [_, server] = found.counts();
        assert_eq!(
            (server.timeouts, server.implied_naks, server.causes_not_seen),
            (0, u64::from(missing == 1), u64::from(missing == 3))
        );
    }
}

/// The capture lacks a packet, so the first request waits for it when the rest of the data is asked for again.
#[test]
fn a_read_restarted_while_waiting_is_retransmitted_once() {
    let data = vec![7; 4000];
    let mut wire = Wire::default();
    let mut trace = Trace::new(&mut wire);
    let memory = (0x77, 0x1000);
    let lists = Lists::reads(&[(40, (memory.0, memory.1, 4000))]);
    trace.at(100, wire.send(Client, &message(MSG, 1, &lists, &null(1))));
    // Not captured, and acknowledged.
    let lost = wire.server.next;
    _ = wire.write(Server, (0x78, 0), &[0; 8]);
    let number = wire.server.next;
    let mut packets = wire.read(Server, memory, &data);
    packets.remove(2);
    let behind = wire.write(Server, (0x78, 8), &[0; 8]);
    trace.at(200, packets).at(210, behind.clone()).at(280, [wire.ack(Client, lost)]);
    let rest = (memory.0, memory.1 + 1024);
    trace.at(2_300, [wire.read_request_again(Server, number + 1, rest, 4000 - 1024)]).at(2_301, behind);
    trace.at(2_400, wire.read_responses(Client, number + 1, &data[1024..])).at(3_000, answer(&mut wire, 1));
    let [_, server] = Lossy::of_packets(&trace.0).counts();
    assert_eq!((server.retransmitted, server.replaced, server.implied_naks), (2, 0, 1));
}

/// The same octets microseconds later, behind a negative acknowledgement, with an identification and without.
#[test]
fn what_was_asked_for_is_no_copy() {
    for identification in [false, true] {
        let mut wire = Wire::default();
        let mut trace = Trace::new(&mut wire);
        for xid in 1..20 {
            trace.at(100 * u64::from(xid), call(&mut wire, xid)).at(100 * u64::from(xid) + 50, answer(&mut wire, xid));
        }
        let number = wire.client.next;
        let calls: Vec<_> = (20..23).map(|xid| call(&mut wire, xid).remove(0)).collect();
        trace.at(3000, calls.clone()).at(3003, [wire.nak(Server, number)]).at(3004, calls);
        for xid in 20..23 {
            trace.at(3010 + u64::from(xid), answer(&mut wire, xid));
        }
        if identification {
            // Each packet that is retransmitted has another one.
            for (number, (_, packet)) in (1_u16..).zip(&mut trace.0) {
                packet[4..6].copy_from_slice(&number.to_be_bytes());
            }
        }
        let found = Lossy::of_packets(&trace.0);
        let [client, server] = found.counts();
        assert_eq!((client.retransmitted, client.duplicates, server.duplicates), (3, 0, 0), "{identification}");
    }
}

#[test]
fn an_rnr_nak_says_how_long_to_wait() {
    let mut wire = Wire::default();
    let mut trace = Trace::new(&mut wire);
    let number = wire.client.next;
    let packets = call(&mut wire, 1);
    trace.at(100, packets.clone()).at(110, [wire.not_ready(Server, number)]);
    trace.at(760, packets).at(800, answer(&mut wire, 1));
    let found = Lossy::of_packets(&trace.0);
    let recovery = found.recovery(1);
    assert_eq!((recovery.rnr_naks, recovery.timeouts, recovery.retransmitted_packets), (1, 0, 1));
    // The syndrome is 0x2c: code 12, 0.64 ms (InfiniBand Architecture, volume 1, table 45).
    assert_eq!(recovery.rnr_wait, 640_000);
    assert_eq!(recovery.phases.total(), 660_000);
    assert_eq!(recovery.frames, [5, 6]);
    found.assert_sums(&[]);
}

#[test]
fn retransmissions_count_for_their_own_rpc() {
    let mut wire = Wire::default();
    let mut trace = Trace::new(&mut wire);
    // Three calls; the second is lost before the capture, the third refused for it.
    let number = wire.client.next;
    let calls: Vec<_> = (1..4).map(|xid| call(&mut wire, xid)).collect();
    trace.at(100, calls[0].clone()).at(102, calls[2].clone()).at(110, [wire.nak(Server, number + 1)]);
    trace.at(120, calls[1].clone()).at(121, calls[2].clone());
    for xid in 1..4 {
        trace.at(200 + u64::from(xid), answer(&mut wire, xid));
    }
    let found = Lossy::of_packets(&trace.0);
    let done = |xid| {
        let Recovery { retransmitted_packets, naks, timeouts, .. } = *found.recovery(xid);
        (retransmitted_packets, naks, timeouts)
    };
    assert_eq!([1, 2, 3].map(done), [(0, 0, 0), (1, 1, 0), (1, 0, 0)]);
    let events: Vec<_> = found.events.iter().map(|event| (event.stamp.frame, event.kind.name(), event.xid)).collect();
    let expected =
        [(6, "NAK", Some(2)), (7, "retransmitted, first not captured", Some(2)), (8, "retransmitted", Some(3))];
    assert_eq!(events, expected);
    found.assert_sums(&[]);
}

#[test]
fn a_late_packet_of_a_capture_was_not_sent_again() {
    let mut wire = Wire::default();
    let mut trace = Trace::new(&mut wire);
    let calls: Vec<_> = (1..4).map(|xid| call(&mut wire, xid)).collect();
    for place in [0, 2, 1] {
        trace.at(100 + place, calls[place as usize].clone());
    }
    for xid in 1..4 {
        trace.at(200 + u64::from(xid), answer(&mut wire, xid));
    }
    let found = Lossy::of_packets(&trace.0);
    assert_eq!((found.events.len(), found.transactions.len()), (0, 3));
}

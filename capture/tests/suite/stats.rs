//! The numbers of the shipped captures, against what is known of their making and against tshark's.

use std::collections::BTreeMap;

use rpcrdma_answers::JsonRecord;
use rpcrdma_answers::format::screen::Screen;
use rpcrdma_answers::stats::{
    self, Forms, Inline, IntervalStatistics, Intervals, ProcedureStatistics, Range, Statistics, Stats,
};
use rpcrdma_dissector::{Capture, Config, Event, Events, Summary, Time, Transaction};

use crate::command::{run, stdout};
use crate::gaps::written;
use crate::synthetic::By::{Client, Server};
use crate::synthetic::rpc::{ERROR, words};
use crate::synthetic::trace::Trace;

fn events(name: &str) -> Events {
    let path = [env!("CARGO_MANIFEST_DIR"), "/../testdata/captures/", name, ".pcap"].concat();
    Events::new(Capture::from_paths([path]), Config::default())
}

fn statistics(name: &str) -> Statistics {
    let mut events = events(name);
    let mut stats = Stats::default();
    for event in events.by_ref() {
        stats.event(&event.unwrap());
    }
    stats.finish(events.summary())
}

fn procedure<'a>(statistics: &'a Statistics, name: &str) -> &'a ProcedureStatistics {
    statistics.procedures.iter().find(|procedure| procedure.operation == name).unwrap()
}

fn text(statistics: &Statistics) -> String {
    let mut out = Vec::new();
    statistics.write_text(&mut out, Screen::default()).unwrap();
    String::from_utf8(out).unwrap()
}

/// An RDMA_ERROR answers a call (RFC 8166 section 4.5), so that of the end that calls is none: the server never called it.
#[test]
fn an_rdma_error_of_the_calling_end_is_no_reply() {
    for (by, replies) in [(Client, 1), (Server, 2)] {
        let mut trace = Trace::new();
        let (call, reply) = (trace.call(1), trace.reply(1));
        let error = trace.wire.send(by, &words(&[9, 1, 32, ERROR, 2]));
        trace.at(100, &call).accept(110).at(200, &reply).acknowledge(210).at(300, &error);
        let output = run(&["stats", "--json", &written("error.pcap", &trace.frames())]);
        let statistics: serde_json::Value = serde_json::from_str(stdout(&output).lines().next().unwrap()).unwrap();
        let messages = &statistics["messages"];
        assert_eq!((&messages["total"], &messages["replies"]), (&3.into(), &replies.into()), "{by:?}: {messages}");
    }
}

/// The table in the README of the captures: messages by type, Send-with-Invalidate. In nfs41_lossy it counts 10 messages
/// twice.
#[test]
fn messages_are_as_many_as_are_known() {
    for (name, msg, nomsg, invalidating, again) in [
        ("nfs3", 112, 8, 16, 0),
        ("nfs3_ipv6", 124, 8, 22, 0),
        ("nfs40", 124, 10, 25, 0),
        ("nfs41", 123, 15, 26, 0),
        ("nfs41_callback", 48, 4, 6, 0),
        ("nfs42_mtu9000", 112, 12, 13, 0),
        ("nfs41_lossy", 122 - 10, 12, 31 - 10, 10),
        ("nfs41_krb5", 110, 12, 19, 0),
        ("nfs41_krb5i", 99, 23, 8, 0),
    ] {
        let messages = statistics(name).messages;
        let types: BTreeMap<&str, u64> =
            messages.by_type.iter().map(|counted| (counted.name.as_str(), counted.count)).collect();
        assert_eq!(types, BTreeMap::from([("RDMA_MSG", msg), ("RDMA_NOMSG", nomsg)]), "{name}");
        assert_eq!((messages.total, messages.invalidating, messages.retransmitted), (msg + nomsg, invalidating, again));
        assert_eq!(messages.calls * 2, messages.total, "{name}");
        assert_eq!((messages.malformed, messages.incomplete), (0, 0), "{name}");
    }
}

/// `tshark -2 -q -z rpc,srt,100003,3`: calls, least and greatest latency in microseconds. It counts WRITE from the last
/// Read response on, so WRITE is not compared.
#[test]
fn latencies_are_those_of_tshark() {
    let statistics = statistics("nfs3");
    for (name, calls, min, max) in [
        ("NFSv3 NULL", 1, 5410, 5410),
        ("NFSv3 GETATTR", 9, 1208, 3083),
        ("NFSv3 LOOKUP", 4, 1763, 2807),
        ("NFSv3 ACCESS", 5, 827, 7971),
        ("NFSv3 READLINK", 1, 3509, 3509),
        ("NFSv3 READ", 12, 2977, 9616),
        ("NFSv3 CREATE", 3, 1158, 3386),
        ("NFSv3 REMOVE", 3, 1691, 6031),
        ("NFSv3 READDIRPLUS", 3, 3873, 9639),
        ("NFSv3 FSINFO", 2, 1676, 18240),
    ] {
        let found = procedure(&statistics, name);
        let latency = found.latency.unwrap();
        assert_eq!((found.calls, found.replies), (calls, calls), "{name}");
        assert_eq!((latency.min_ns / 1000, latency.max_ns / 1000), (min, max), "{name}");
        assert!(
            latency.min_ns <= latency.p50_ns && latency.p50_ns <= latency.p99_ns && latency.p99_ns <= latency.max_ns
        );
    }
    // Of the sorted latencies of the five ACCESS calls, 1810 is the third.
    let median = procedure(&statistics, "NFSv3 ACCESS").latency.unwrap().p50_ns;
    assert!(median.abs_diff(1_810_000) < 18_100, "{median}");
    assert_eq!(
        (statistics.failures[0].operation.as_str(), statistics.failures[0].status.name.as_str()),
        ("NFSv3 LOOKUP", "NFS3ERR_NOENT")
    );
}

/// 197,001 octets of up.bin, 4,607 of another file and a symlink are written; the client's REQ and the server's REP say what
/// is agreed; the packets are counted by `tshark -Y 'udp.dstport == 4791 && infiniband.bth.destqp != 1'`.
#[test]
fn a_connection_is_told_with_what_was_agreed() {
    let statistics = statistics("nfs41_lossy");
    let [connection] = statistics.connections.as_slice() else { panic!("{:?}", statistics.connections) };
    assert_eq!((connection.connection, connection.port, connection.setup_captured), (1, Some(20049), true));
    assert_eq!((connection.active.address.as_str(), connection.passive.address.as_str()), ("192.0.2.2", "192.0.2.1"));
    assert_eq!((connection.active.counts.packets, connection.passive.counts.packets), (432, 1137));
    assert_eq!((connection.active.counts.sequence_errors, connection.passive.counts.missed), (9, 0));
    assert_eq!(connection.inline, Some(Inline { call_octets: 4096, reply_octets: 4096 }));
    assert_eq!(connection.active.remote_invalidation, Some(true));
    assert_eq!(connection.passive.remote_invalidation, Some(false));
    assert_eq!(connection.remote_invalidation, Some(false));
    let always = |value| Range { min: Some(value), max: Some(value), last: Some(value) };
    assert_eq!((connection.credits.requested, connection.credits.granted), (always(128), always(64)));
    assert!(connection.passive.counts.retransmitted > 0);
}

#[test]
fn a_callback_has_its_own_credits_and_its_own_name() {
    let statistics = statistics("nfs41_callback");
    assert_eq!(statistics.rpcs.reverse, 1);
    assert_eq!(procedure(&statistics, "NFSv4 CB_RECALL").calls, 1);
    // In the reverse direction the server requests and the client grants.
    let always = |value| Range { min: Some(value), max: Some(value), last: Some(value) };
    let [connection] = &statistics.connections[..] else { panic!("{:?}", statistics.connections) };
    assert_eq!((connection.credits.requested, connection.credits.granted), (always(128), always(64)));
    let reverse = connection.reverse_credits;
    assert_eq!((reverse.requested, reverse.granted), (always(2), always(16)));
}

#[test]
fn chunks_are_counted_by_what_they_are_for() {
    let krb5i = statistics("nfs41_krb5i");
    // Nothing is reduced: long calls and long replies only.
    assert_eq!((krb5i.chunks.reads.chunks, krb5i.chunks.writes.chunks), (0, 0));
    assert_eq!(krb5i.chunks.position_zero.chunks, krb5i.rpcs.calls_sent.long);
    assert_eq!(krb5i.rpcs.calls_sent.chunked + krb5i.rpcs.replies_sent.chunked, 0);
    let nfs3 = statistics("nfs3");
    assert_eq!(nfs3.rpcs.calls_sent, Forms { short: 56, chunked: 4, long: 0, continued: 0 });
    assert_eq!(nfs3.rpcs.replies_sent, Forms { short: 40, chunked: 12, long: 8, continued: 0 });
    assert_eq!(nfs3.chunks.reply_returned.chunks, 8);
    // Eight times 64 KiB of big.bin, up.bin, and two small files.
    assert_eq!(nfs3.chunks.writes_returned.octets, 8 * 65_536 + 197_001 + 6);
    assert_eq!(nfs3.rpcs.moved.write_octets, nfs3.chunks.writes_returned.octets + nfs3.chunks.reply_returned.octets);
    assert_eq!(nfs3.rpcs.moved.read_octets, nfs3.chunks.reads.octets);
}

/// README: RDMA_MSG 17, NOMSG 2, MSGP 1, DONE 1, ERROR 11; 27 connections. tshark passes over messages it cannot read.
#[test]
fn errors_are_counted_by_what_they_are() {
    let statistics = statistics("errors");
    assert_eq!(statistics.connections.len(), 27);
    let types: BTreeMap<&str, u64> =
        statistics.messages.by_type.iter().map(|counted| (counted.name.as_str(), counted.count)).collect();
    assert_eq!((types["RDMA_NOMSG"], types["RDMA_MSGP"], types["RDMA_DONE"]), (2, 1, 1));
    assert!(types["RDMA_MSG"] >= 17 && types["RDMA_ERROR"] >= 11);
    let failed =
        |status: &str| statistics.failures.iter().filter(|f| f.status.name == status).map(|f| f.count).sum::<u64>();
    assert_eq!(failed("ERR_CHUNK") + failed("ERR_VERS"), types["RDMA_ERROR"] - 1, "one answers no call");
    let reasons: u64 = statistics.rpcs.not_rebuilt.iter().map(|reason| reason.count).sum();
    assert_eq!(reasons, statistics.rpcs.calls_not_rebuilt + statistics.rpcs.replies_not_rebuilt);
}

#[test]
fn whole_sends_without_four_words_are_too_short() {
    let statistics = statistics("nfsd_deviations");
    let of =
        |name| statistics.messages.by_type.iter().find(|counted| counted.name == name).map(|counted| counted.count);
    // The two Sends of 4 and 12 octets.
    assert_eq!((of("too short"), of("not captured")), (Some(2), None));
}

#[test]
fn other_traffic_is_named() {
    let statistics = statistics("perftest");
    assert_eq!((statistics.messages.total, statistics.connections.len(), statistics.other.connections), (0, 0, 4));
    let text = text(&statistics);
    assert!(text.contains("340 packets on 4 connections that show no RPC-over-RDMA"), "{text}");
    assert!(text.contains("114 frames: TCP"), "{text}");
    assert!(!text.contains("Chunks"), "{text}");
}

#[test]
fn text_is_no_wider_than_120_columns() {
    for name in ["nfs3", "nfs3_ipv6", "nfs40", "nfs41_callback", "nfs42_mtu9000", "nfs41_lossy", "errors"] {
        for line in text(&statistics(name)).lines() {
            assert!(line.chars().count() <= 120 && line.trim_end() == line, "{name}: {line:?}");
        }
    }
}

#[test]
fn json_is_one_line_with_the_same_numbers() {
    let statistics = statistics("nfs42_mtu9000");
    let mut out = Vec::new();
    statistics.write_json(&mut out).unwrap();
    assert_eq!(out.iter().filter(|octet| **octet == b'\n').count(), 1);
    let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(json["type"], "stats");
    assert_eq!(json["messages"]["by_type"][0], serde_json::json!({"name": "RDMA_MSG", "count": 112}));
    let read = json["procedures"].as_array().unwrap().iter().find(|found| found["operation"] == "NFSv4 READ").unwrap();
    let max = procedure(&statistics, "NFSv4 READ").latency.unwrap().max_ns;
    assert_eq!(read["latency"]["max_ns"], max);
    assert_eq!(json["connections"][0]["inline"]["call_octets"], 4096);
}

#[test]
fn memory_is_bounded_and_what_is_beyond_is_counted() {
    let mut stats = Stats::default();
    let events: Vec<Event> = events("nfs41_callback").map(Result::unwrap).collect();
    for number in 0..stats::CONNECTIONS as u32 + 5 {
        for event in &events {
            match event {
                Event::Message(message) => {
                    let mut message = message.clone();
                    message.connection = number;
                    stats.event(&Event::Message(message));
                }
                Event::Transaction(transaction) => {
                    let mut transaction = transaction.clone();
                    transaction.operations.clear();
                    transaction.name = None;
                    if let Some(procedure) = &mut transaction.procedure {
                        procedure.procedure = number;
                    }
                    stats.event(&Event::Transaction(transaction));
                }
                Event::Connection(report) => {
                    let mut report = report.clone();
                    report.number = report.number.map(|_| number);
                    stats.event(&Event::Connection(report));
                }
                _ => {}
            }
        }
    }
    let statistics = stats.finish(&Summary::default());
    assert_eq!((statistics.connections.len(), statistics.connections_left_out), (stats::CONNECTIONS, 5));
    assert_eq!(statistics.procedures.len(), stats::NAMES);
    let counted: u64 = statistics.procedures.iter().map(|procedure| procedure.calls).sum();
    assert_eq!(counted + statistics.procedures_left_out, statistics.rpcs.total);
    assert!(text(&statistics).contains("more connections: 5"));
}

fn intervals(name: &str, length: u64) -> (Vec<IntervalStatistics>, Vec<Transaction>) {
    let mut events = events(name);
    let (mut intervals, mut all, mut transactions) = (Intervals::new(length), Vec::new(), Vec::new());
    let mut keep = |interval: &IntervalStatistics| {
        all.push(interval.clone());
        Ok(())
    };
    while let Some(event) = events.next() {
        let (event, first) = (event.unwrap(), events.summary().first.unwrap());
        intervals.event(first, &event, &mut keep).unwrap();
        if let Event::Transaction(transaction) = event {
            transactions.push(*transaction);
        }
    }
    intervals.finish(events.summary().last, &mut keep).unwrap();
    (all, transactions)
}

fn first_frame(name: &str) -> Time {
    let mut events = events(name);
    events.next();
    events.summary().first.unwrap()
}

/// Returns when each call and each reply was complete, in nanoseconds.
fn waits(transactions: &[Transaction]) -> Vec<(u64, u64)> {
    let wait = |transaction: &Transaction| {
        let (call, reply) = (transaction.call.as_ref().unwrap(), transaction.reply.as_ref().unwrap());
        (call.stamp.time.0, reply.stamp.time.0)
    };
    transactions.iter().map(wait).collect()
}

#[test]
fn intervals_together_are_the_whole_capture() {
    for (name, length) in
        [("nfs41", 1_000_000_000), ("nfs41_lossy", 100_000_000), ("nfs3", 7_000_000), ("nfs40", 1 << 60)]
    {
        let (all, transactions) = intervals(name, length);
        let first = first_frame(name);
        let whole = statistics(name);
        let sum = |of: fn(&IntervalStatistics) -> u64| all.iter().map(of).sum::<u64>();
        assert_eq!(sum(|interval| interval.rpcs.total), whole.rpcs.total, "{name}");
        assert_eq!(sum(|interval| interval.messages.total), whole.messages.total, "{name}");
        assert_eq!(sum(|interval| interval.rpcs.moved.write_octets), whole.rpcs.moved.write_octets, "{name}");
        assert_eq!(sum(|interval| interval.length_ns), whole.capture.duration_ns, "{name}");
        assert!(all.windows(2).all(|pair| pair[0].start_ns + pair[0].length_ns == pair[1].start_ns), "{name}");
        // Each call waits from its last packet to that of its reply, and counts in the interval of the reply.
        let waits = waits(&transactions);
        for interval in &all[..all.len() - 1] {
            let times = interval.start_ns..interval.start_ns + interval.length_ns;
            let ended = waits.iter().filter(|(_, reply)| times.contains(&(reply - first.0))).count() as u64;
            assert_eq!(interval.rpcs.total, ended, "{name}: {times:?}");
        }
        assert_eq!(
            sum(|interval| interval.calls.latency_sum_ns),
            waits.iter().map(|(call, reply)| reply - call).sum::<u64>(),
            "{name}"
        );
        let at = |time: u64| waits.iter().filter(|(call, reply)| (*call..*reply).contains(&time)).count() as u64;
        let most = waits.iter().map(|(call, _)| at(*call)).max();
        assert_eq!(all.iter().map(|interval| interval.calls.max).max(), most, "{name}");
        assert!(all.last().unwrap().calls.granted.is_some(), "{name}");
    }
}

#[test]
fn an_interval_without_messages_is_one_however_long() {
    let (event, first) = {
        let mut events = events("nfs3");
        let event = events.find_map(|event| match event.unwrap() {
            Event::Message(message) => Some(message),
            _ => None,
        });
        (event.unwrap(), events.summary().first.unwrap())
    };
    let mut late = event.clone();
    late.stamp.time = Time(u64::MAX);
    let (mut intervals, mut starts) = (Intervals::new(1), Vec::new());
    for message in [event, late] {
        let take = |interval: &IntervalStatistics| {
            starts.push((interval.start_ns, interval.messages.total));
            Ok(())
        };
        intervals.event(first, &Event::Message(message), take).unwrap();
    }
    assert!(starts.len() <= 4, "{starts:?}");
    assert_eq!(starts.iter().map(|(_, messages)| messages).sum::<u64>(), 1);
}

/// Octets of both messages as they were before they were reduced, which other tests compare with the files.
#[test]
fn rpcs_fit_inline_by_the_longer_of_their_messages() {
    for name in ["nfs3", "nfs41"] {
        let fits = statistics(name).rpcs.fit_inline;
        let lengths: Vec<usize> = intervals(name, 1)
            .1
            .iter()
            .map(|transaction| {
                let length = |half: &Option<rpcrdma_dissector::Half>| {
                    half.as_ref().unwrap().message.as_ref().unwrap().octets().len()
                };
                28 + length(&transaction.call).max(length(&transaction.reply))
            })
            .collect();
        let within = |octets| lengths.iter().filter(|length| **length <= octets).count() as u64;
        let expected = [4096, 8192, 16_384, 65_536, 131_072].map(within);
        assert_eq!([fits.kib_4, fits.kib_8, fits.kib_16, fits.kib_64, fits.kib_128], expected, "{name}");
        assert_eq!(fits.rpcs, lengths.len() as u64, "{name}");
    }
}

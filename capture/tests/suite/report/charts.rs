//! The charts, counted once more from what the other commands print of each RPC, call and packet.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{capture, json, report, text};
use crate::transcode;

const CAPTURES: [&str; 6] =
    ["delays", "hangs", "iwarp_nfs3_lossy", "nfs41", "nfs41_lossy", "situations/calls_unanswered"];

/// The intervals of a capture: from its first message to its last frame, of a millisecond, or of twice as long as long as there are
/// more than 192.
struct Intervals {
    start: u64,
    end: u64,
    length: u64,
    /// Time of each frame.
    frames: Vec<u64>,
}

impl Intervals {
    fn read_capture(name: &str) -> Self {
        let messages = json(&["decode", "--quiet", "--json", &capture(name)]);
        let frames: Vec<u64> = transcode::capture(name).iter().map(|record| record.time_ns).collect();
        let (start, end) = (number(&messages[0], "time_ns"), *frames.last().unwrap());
        let length = (0..).map(|doubled| 1_000_000 << doubled).find(|length| (end - start) / length < 192).unwrap();
        Self { start, end, length, frames }
    }

    fn count(&self) -> usize {
        self.column(self.end) + 1
    }

    fn column(&self, time: u64) -> usize {
        (time.saturating_sub(self.start) / self.length) as usize
    }

    /// The mean number of calls that wait in each interval.
    fn waiting(&self, waits: &[(u64, u64)]) -> Vec<f64> {
        let of = |column: usize| {
            let begin = self.start + column as u64 * self.length;
            let within =
                |(from, until): &(u64, u64)| (*until.min(&(begin + self.length))).saturating_sub(*from.max(&begin));
            waits.iter().map(within).sum::<u64>() as f64 / self.length as f64
        };
        (0..self.count()).map(of).collect()
    }

    /// The sum of the values in each interval.
    fn sums(&self, values: impl Iterator<Item = (u64, u64)>) -> Vec<u64> {
        let mut sums = vec![0; self.count()];
        values.for_each(|(time, value)| sums[self.column(time)] += value);
        sums
    }

    fn frame(&self, record: &Value, field: &str) -> Option<u64> {
        Some(self.frames[record[field].as_u64()? as usize - 1])
    }
}

fn number(record: &Value, field: &str) -> u64 {
    record[field].as_u64().unwrap_or_else(|| panic!("{field} in {record}"))
}

/// The chart with this title.
fn chart<'a>(page: &'a str, title: &str) -> &'a str {
    page.split(&format!("<figcaption>{title} ")).nth(1).unwrap().split("</figure>").next().unwrap()
}

/// The words of a chart for each of its intervals or cells, after the time.
fn words(chart: &str) -> Vec<String> {
    let titles = chart.split("<title>").skip(1).map(|rest| text(rest.split("</title>").next().unwrap()));
    titles.map(|title| title.split_once("): ").unwrap().1.to_owned()).collect()
}

/// A number of octets as the report writes it: three digits and a unit.
fn octets(text: &str) -> f64 {
    let (number, unit) = text.split_once(' ').unwrap();
    let factor = match unit {
        "B/s" => 1.0,
        "kB/s" => 1e3,
        "MB/s" => 1e6,
        "GB/s" => 1e9,
        _ => panic!("{text}"),
    };
    number.parse::<f64>().unwrap() * factor
}

fn transactions(name: &str) -> Vec<Value> {
    json(&["transactions", "--quiet", "--json", &capture(name)])
}

/// Three steps of latency per power of ten, from 100 ns.
#[test]
fn each_rpc_is_in_the_cell_of_its_latency() {
    for name in CAPTURES {
        let intervals = Intervals::read_capture(name);
        let mut expected: BTreeMap<(usize, usize), u64> = BTreeMap::new();
        for rpc in transactions(name) {
            let Some((latency, reply)) = rpc["latency_ns"].as_u64().zip(intervals.frame(&rpc, "reply_frame")) else {
                continue;
            };
            let step = (3.0 * (latency as f64 / 100.0).log10()) as usize;
            *expected.entry((intervals.column(reply), step)).or_default() += 1;
        }
        let highest = expected.keys().map(|(_, step)| *step).max().unwrap();
        let page = report(&capture(name));
        let chart = chart(&page, "Latency of the RPCs that ended");
        let mut found = BTreeMap::new();
        for (cell, words) in chart.split("<rect ").skip(1).zip(words(chart)) {
            let at = |axis: &str| {
                cell.split(&format!("{axis}=\"")).nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
            };
            let (x, y): (usize, usize) = (at("x"), at("y"));
            let count: u64 = words.split(" RPC").next().unwrap().parse().unwrap();
            assert_eq!(found.insert((x, highest - y), count), None, "{name}");
        }
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn calls_wait_in_the_intervals_before_their_reply() {
    for name in CAPTURES {
        let intervals = Intervals::read_capture(name);
        let answered: Vec<_> = transactions(name)
            .iter()
            .filter_map(|rpc| rpc["latency_ns"].as_u64().zip(intervals.frame(rpc, "reply_frame")))
            .map(|(latency, reply)| (reply - latency, reply))
            .collect();
        let unanswered: Vec<_> = json(&["pending", "--quiet", "--json", &capture(name)])
            .iter()
            .map(|call| (number(call, "time_ns"), intervals.frame(call, "disconnect_frame").unwrap_or(intervals.end)))
            .collect();
        let mut granted = vec![0; intervals.count()];
        for message in json(&["decode", "--quiet", "--json", &capture(name)]) {
            if message["rpc"]["direction"] == "reply" {
                let most = &mut granted[intervals.column(number(&message, "time_ns"))];
                *most = (*most).max(number(&message, "rdma_credit"));
            }
        }
        let (answered, unanswered) = (intervals.waiting(&answered), intervals.waiting(&unanswered));
        let expected = answered.iter().zip(&unanswered).zip(granted).map(|((answered, unanswered), granted)| {
            let unanswered_words =
                if *unanswered > 0.0 { format!(", {unanswered:.2} without a reply") } else { String::new() };
            let granted = if granted > 0 { format!(", {granted} credits granted") } else { String::new() };
            format!("{:.2} calls in flight{unanswered_words}{granted}", answered + unanswered)
        });
        let found = words(chart(&report(&capture(name)), "Calls in flight, on average"));
        assert_eq!(found, expected.collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn octets_count_where_rpcs_end_and_packets_where_retransmitted() {
    for name in ["iwarp_nfs3_lossy", "nfs41_lossy"] {
        let intervals = Intervals::read_capture(name);
        let (page, rpcs) = (report(&capture(name)), transactions(name));
        let moved = |field: &'static str| {
            let ended = rpcs.iter().filter_map(|rpc| Some((intervals.frame(rpc, "reply_frame")?, number(rpc, field))));
            intervals.sums(ended).into_iter().map(|octets| octets as f64 * 1e9 / intervals.length as f64)
        };
        let found = words(chart(&page, "Moved by RDMA"));
        assert_eq!(found.len(), intervals.count(), "{name}");
        for ((words, read), written) in found.iter().zip(moved("rdma_read_octets")).zip(moved("rdma_write_octets")) {
            let (said_read, said_written) =
                words.strip_prefix("RDMA Read ").unwrap().split_once(", RDMA Write ").unwrap();
            for (said, expected) in [(octets(said_read), read), (octets(said_written), written)] {
                assert!((said - expected).abs() <= 0.5_f64.max(expected / 199.0), "{name}: {words}, not {expected}");
            }
        }
        let events = json(&["events", "--quiet", "--json", &capture(name)]);
        let again = events
            .iter()
            .filter(|event| event["event"].as_str().is_some_and(|event| event.starts_with("retransmitted")));
        let again = intervals.sums(again.map(|event| (number(event, "time_ns"), 1)));
        let expected: Vec<_> = again.iter().map(|count| format!("{count} packets retransmitted")).collect();
        assert_eq!(words(chart(&page, "Packets retransmitted")), expected, "{name}");
    }
}

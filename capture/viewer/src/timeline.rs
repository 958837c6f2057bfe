//! The selected RPCs over time.

use serde::Serialize;

use crate::filter::Filter;
use crate::reading::Signs;
use crate::row::Row;
use crate::table::Table;

/// The most intervals.
const INTERVALS: usize = 2000;

/// A value for each interval, from the first frame to the last.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Timeline {
    /// Nanoseconds of an interval.
    length_ns: f64,
    /// The time that the filter selects, in nanoseconds since the first frame; null where it has no end.
    since_ns: Option<u64>,
    until_ns: Option<u64>,
    /// Greatest latency of the RPCs that ended in it, and of half of them the greatest.
    max_ns: Vec<Option<u64>>,
    p50_ns: Vec<Option<u64>>,
    read_octets: Vec<u64>,
    write_octets: Vec<u64>,
    /// Mean numbers of calls in flight: those that were answered, and those that were not.
    answered: Vec<f64>,
    waiting: Vec<f64>,
    /// Credits that replies granted; the last of them.
    credits: Vec<Option<u32>>,
    /// Packets that were sent again, for any RPC.
    resent: Vec<u64>,
}

/// Divides the time of a capture into intervals; the filter's times do not count.
pub(crate) fn timeline(table: &Table, signs: &Signs, filter: &Filter, intervals: usize) -> Timeline {
    let mut line = Line::new(table, intervals.clamp(1, INTERVALS));
    for (_, row) in table.matching(&filter.of_any_time()) {
        line.row(&row);
    }
    signs.resent.iter().for_each(|time| line.resent(*time));
    signs.credits.iter().for_each(|(time, credits)| line.granted(*time, *credits));
    let [since_ns, until_ns] = filter.times(table.first);
    Timeline { since_ns, until_ns, ..line.finished() }
}

struct Line {
    first: u64,
    last: u64,
    length: f64,
    latencies: Vec<Vec<u64>>,
    timeline: Timeline,
}

impl Line {
    fn new(table: &Table, count: usize) -> Self {
        // One more nanosecond, so that the last frame is in the last interval.
        let length = (table.last.saturating_sub(table.first) + 1) as f64 / count as f64;
        let timeline = Timeline {
            length_ns: length,
            read_octets: vec![0; count],
            write_octets: vec![0; count],
            answered: vec![0.0; count],
            waiting: vec![0.0; count],
            credits: vec![None; count],
            resent: vec![0; count],
            ..Timeline::default()
        };
        Self { first: table.first, last: table.last, length, latencies: vec![Vec::new(); count], timeline }
    }

    fn interval(&self, time: u64) -> usize {
        let interval = (time.saturating_sub(self.first) as f64 / self.length) as usize;
        interval.min(self.latencies.len().saturating_sub(1))
    }

    fn row(&mut self, row: &Row) {
        let end = row.end(self.last);
        let interval = self.interval(end);
        if let (Some(latencies), Some(latency)) = (self.latencies.get_mut(interval), row.latency) {
            latencies.push(latency);
        }
        let Timeline { read_octets, write_octets, answered, waiting, .. } = &mut self.timeline;
        for (series, octets) in [(read_octets, row.read), (write_octets, row.written)] {
            if let Some(value) = series.get_mut(interval) {
                *value += octets;
            }
        }
        let series = if row.is_waiting() { waiting } else { answered };
        spread(
            series,
            (row.time.saturating_sub(self.first) as f64, end.saturating_sub(self.first) as f64),
            self.length,
        );
    }

    fn resent(&mut self, time: u64) {
        let interval = self.interval(time);
        if let Some(count) = self.timeline.resent.get_mut(interval) {
            *count += 1;
        }
    }

    fn granted(&mut self, time: u64, credits: u32) {
        let interval = self.interval(time);
        if let Some(last) = self.timeline.credits.get_mut(interval) {
            *last = Some(credits);
        }
    }

    fn finished(self) -> Timeline {
        let Self { mut latencies, mut timeline, .. } = self;
        latencies.iter_mut().for_each(|latencies| latencies.sort_unstable());
        timeline.max_ns = latencies.iter().map(|latencies| latencies.last().copied()).collect();
        timeline.p50_ns = latencies.iter().map(|latencies| latencies.get(latencies.len() / 2).copied()).collect();
        timeline
    }
}

/// Adds to each interval the part of it between two times.
fn spread(series: &mut [f64], (from, until): (f64, f64), length: f64) {
    let first = (from / length) as usize;
    for (index, value) in series.iter_mut().enumerate().skip(first) {
        let begin = index as f64 * length;
        if begin >= until {
            break;
        }
        *value += ((until.min(begin + length) - from.max(begin)) / length).max(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_counts_in_each_interval_for_its_part_of_it() {
        let mut series = [0.0; 4];
        spread(&mut series, (5.0, 25.0), 10.0);
        assert_eq!(series, [0.5, 1.0, 0.5, 0.0]);
    }
}

//! Counts over time, in as many intervals as fit on a page, for a capture of any length.
//!
//! The length of the capture is not known before the end. So the intervals begin with a millisecond, and whenever the
//! capture outgrows the intervals, each two become one of twice the length. All counts can be added, so nothing is lost.

use rpcrdma_dissector::{Event, Message, MessageDirection, Time, Transaction};

use crate::selection::Window;

/// The most intervals. There are at least half as many, unless the capture is short.
pub(super) const INTERVALS: usize = 192;
/// Nanoseconds of an interval at first.
const FIRST_LENGTH: u64 = 1_000_000;
/// Steps of latency: three per power of ten, from 100 ns to more than 100 s.
pub(super) const STEPS: usize = 28;
const STEPS_PER_DECADE: f64 = 3.0;
/// The power of ten at which the steps begin, in nanoseconds.
const FIRST_DECADE: f64 = 2.0;

/// Counts over time: what [`timeline`](super::timeline) draws.
#[derive(Clone, Debug)]
pub struct TimeSeries {
    /// Nanoseconds since 1970 at which the first interval begins, once that is known.
    start: Option<u64>,
    /// Nanoseconds of an interval.
    length: u64,
    pub(super) intervals: Vec<Interval>,
}

/// The properties of an answered RPC that count over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnsweredRpc {
    /// Time of the reply, in nanoseconds since 1970.
    pub reply: u64,
    /// Latency in nanoseconds, if known.
    pub latency: Option<u64>,
    /// Octets moved by RDMA Reads for the RPC.
    pub read_octets: u64,
    /// Octets moved by RDMA Writes for the RPC.
    pub write_octets: u64,
}

impl AnsweredRpc {
    /// An RPC; `None` if the capture holds no reply.
    pub(super) fn new(transaction: &Transaction) -> Option<Self> {
        let Transaction { read_octets, write_octets, .. } = *transaction;
        let reply = transaction.reply.as_ref()?.stamp.time.0;
        Some(Self { reply, latency: transaction.latency(), read_octets, write_octets })
    }
}

/// Counts of an interval.
#[derive(Clone, Debug, Default)]
pub(super) struct Interval {
    /// RPCs that ended in the interval, by step of latency.
    pub(super) latencies: [u32; STEPS],
    /// Octets moved by RDMA Reads for these RPCs.
    pub(super) read_octets: u64,
    /// Octets moved by RDMA Writes for these RPCs.
    pub(super) write_octets: u64,
    /// Sum of the time each RPC waited for a reply during the interval, in nanoseconds.
    waited: u64,
    /// Sum of the time each call without a reply waited during the interval, in nanoseconds.
    waited_in_vain: u64,
    /// Packets that were retransmitted.
    pub(super) sent_again: u64,
    /// Maximum number of credits granted by a reply in the interval.
    pub(super) granted: Option<u32>,
}

/// Returns the credits that a message grants, if the message is a reply to the client.
#[must_use]
pub fn granted(message: &Message) -> Option<u32> {
    let is_reply = message.rpc.as_ref().is_some_and(|rpc| rpc.direction == MessageDirection::Reply && !rpc.reverse);
    message.credits().filter(|_| is_reply && message.is_malformed().is_none())
}

impl Default for TimeSeries {
    fn default() -> Self {
        Self { start: None, length: FIRST_LENGTH, intervals: Vec::new() }
    }
}

impl TimeSeries {
    /// Takes an event, of which the credits and the packets that were retransmitted count here. RPCs are given to
    /// [`answered`](Self::answered) and [`unanswered`](Self::unanswered).
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Message(message) => {
                let time = message.stamp.time.0;
                self.begin_at(time);
                granted(message).into_iter().for_each(|credits| self.grant(time, credits));
            }
            Event::Transaction(transaction) => {
                let reply = transaction.reply.as_ref().map(|reply| reply.stamp);
                reply.iter().for_each(|reply| self.begin_at(transaction.began.unwrap_or(*reply).time.0));
            }
            Event::Recovery(recovered) if recovered.kind.is_retransmission() => self.sent_again(recovered.stamp.time.0),
            _ => {}
        }
    }

    /// The same time without any count.
    #[must_use]
    pub fn emptied(&self) -> Self {
        Self { intervals: vec![Interval::default(); self.intervals.len()], ..*self }
    }

    /// The capture begins at this time, or there is something at this time.
    fn begin_at(&mut self, time: u64) {
        self.start.get_or_insert(time);
    }

    /// Takes an RPC with a reply.
    pub fn answered(&mut self, rpc: &AnsweredRpc) {
        let Some(interval) = self.at(rpc.reply) else { return };
        interval.read_octets += rpc.read_octets;
        interval.write_octets += rpc.write_octets;
        let Some(latency) = rpc.latency else { return };
        if let Some(count) = interval.latencies.get_mut(step(latency)) {
            *count = count.saturating_add(1);
        }
        self.wait(rpc.reply.saturating_sub(latency), rpc.reply, |interval| &mut interval.waited);
    }

    /// Takes a call without a reply, and the end of the wait.
    pub fn unanswered(&mut self, began: u64, until: u64) {
        self.begin_at(began);
        self.wait(began, until, |interval| &mut interval.waited_in_vain);
    }

    /// The capture ends at this time. Of a capture in which nothing was found there is nothing to show.
    pub fn end_at(&mut self, time: u64) {
        if self.start.is_some() {
            self.at(time);
        }
    }

    /// Leaves out the intervals outside of a window. The intervals in which the window begins and ends stay.
    pub fn clip(&mut self, window: Window) {
        let Some(start) = self.start else { return };
        let interval = |time: Time| (time.0.saturating_sub(start) / self.length) as usize;
        let last = window.until.map_or(self.intervals.len(), |until| interval(until) + 1);
        self.intervals.truncate(last);
        let first = window.since.map_or(0, interval).min(self.intervals.len().saturating_sub(1));
        self.intervals.drain(..first);
        self.start = Some(start + first as u64 * self.length);
    }

    /// Takes the credits that a reply granted.
    pub fn grant(&mut self, time: u64, credits: u32) {
        if let Some(interval) = self.at(time) {
            interval.granted = interval.granted.max(Some(credits));
        }
    }

    /// A packet was retransmitted.
    pub fn sent_again(&mut self, time: u64) {
        if let Some(interval) = self.at(time) {
            interval.sent_again += 1;
        }
    }

    /// Nanoseconds since 1970 at which the first interval begins.
    #[must_use]
    pub fn start(&self) -> u64 {
        self.start.unwrap_or_default()
    }

    /// Nanoseconds of an interval. Whenever the capture outgrows the intervals, the length doubles.
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// Nanoseconds from the beginning of the first interval to the end of the last one.
    #[must_use]
    pub const fn width(&self) -> u64 {
        self.length * self.intervals.len() as u64
    }

    /// The mean number of calls that waited for their reply during an interval.
    pub(super) fn in_flight(&self, interval: &Interval) -> f64 {
        interval.waited as f64 / self.length as f64
    }

    /// The mean number of calls without a reply that waited during an interval.
    pub(super) fn unanswered_in_flight(&self, interval: &Interval) -> f64 {
        interval.waited_in_vain as f64 / self.length as f64
    }

    /// The interval of a time. What is before the first belongs to that one: frames need not be in order.
    fn at(&mut self, time: u64) -> Option<&mut Interval> {
        let since = time.saturating_sub(*self.start.get_or_insert(time));
        while since / self.length >= INTERVALS as u64 {
            self.double();
        }
        let index = (since / self.length) as usize;
        if self.intervals.len() <= index {
            self.intervals.resize_with(index + 1, Interval::default);
        }
        self.intervals.get_mut(index)
    }

    /// Adds the time of a wait to all intervals of the wait.
    fn wait(&mut self, from: u64, until: u64, sum: fn(&mut Interval) -> &mut u64) {
        // There is room for it then.
        self.at(until);
        let (start, length) = (self.start.unwrap_or_default(), self.length);
        let (from, until) = (from.saturating_sub(start), until.saturating_sub(start));
        let first = (from / length) as usize;
        for (index, interval) in self.intervals.iter_mut().enumerate().skip(first) {
            let begin = index as u64 * length;
            if begin >= until {
                break;
            }
            *sum(interval) += until.min(begin + length).saturating_sub(from.max(begin));
        }
    }

    /// Makes each two intervals one.
    fn double(&mut self) {
        self.length = self.length.saturating_mul(2);
        let pairs = self.intervals.chunks(2).map(|pair| {
            let mut pair = pair.iter();
            let mut both = pair.next().cloned().unwrap_or_default();
            pair.for_each(|second| both.add_interval(second));
            both
        });
        self.intervals = pairs.collect();
    }
}

impl Interval {
    fn add_interval(&mut self, other: &Self) {
        for (count, more) in self.latencies.iter_mut().zip(&other.latencies) {
            *count = count.saturating_add(*more);
        }
        self.read_octets += other.read_octets;
        self.write_octets += other.write_octets;
        self.waited += other.waited;
        self.waited_in_vain += other.waited_in_vain;
        self.sent_again += other.sent_again;
        self.granted = self.granted.max(other.granted);
    }
}

/// The step of a latency in nanoseconds.
fn step(latency: u64) -> usize {
    let steps = ((latency.max(1) as f64).log10() - FIRST_DECADE) * STEPS_PER_DECADE;
    // Below the first step is the first, too.
    (steps.max(0.0) as usize).min(STEPS - 1)
}

/// The latency at which a step begins, in nanoseconds.
pub(super) fn latency_of(step: usize) -> u64 {
    10_f64.powf(FIRST_DECADE + step as f64 / STEPS_PER_DECADE).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waited(series: &mut TimeSeries, from: u64, until: u64) {
        series.wait(from, until, |interval| &mut interval.waited);
    }

    #[test]
    fn an_unanswered_call_waits_to_the_end_of_the_capture() {
        let mut series = TimeSeries::default();
        series.begin_at(0);
        waited(&mut series, 0, 1_000_000);
        series.unanswered(500_000, 3_000_000);
        series.end_at(9_000_000);
        let waits: Vec<_> = series.intervals.iter().map(|interval| series.unanswered_in_flight(interval)).collect();
        assert_eq!(waits, [0.5, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        // Frames need not be in the order of their times.
        series.unanswered(2_900_000, 2_100_000);
        assert_eq!(series.unanswered_in_flight(&series.intervals[2]), 1.0);
        let mut empty = TimeSeries::default();
        empty.end_at(9_000_000);
        assert!(empty.intervals.is_empty());
    }

    #[test]
    fn steps_are_a_third_of_a_power_of_ten() {
        for (latency, expected) in [(0, 0), (1, 0), (100, 0), (999, 2), (1_000, 3), (1_000_000, 12), (2_200_000, 13)] {
            assert_eq!(step(latency), expected, "{latency}");
        }
        assert_eq!(step(u64::MAX), STEPS - 1);
        assert_eq!(latency_of(12), 1_000_000);
    }

    /// A wait of 2.5 ms from 0.5 ms on, and one of a millisecond at 4 s.
    #[test]
    fn nothing_is_lost_where_intervals_are_joined() {
        let mut series = TimeSeries::default();
        series.begin_at(0);
        waited(&mut series, 500_000, 3_000_000);
        let all = |series: &TimeSeries| series.intervals.iter().map(|interval| interval.waited).collect::<Vec<_>>();
        assert_eq!(all(&series), [500_000, 1_000_000, 1_000_000, 0]);
        series.grant(1_000_000, 2);
        // Three in one interval.
        [1, 3, 2].into_iter().for_each(|credits| series.grant(2_000_000, credits));
        series.grant(3_000_000, 1);
        waited(&mut series, 4_000_000_000, 4_001_000_000);
        assert_eq!(series.length, 32_000_000);
        assert_eq!(series.intervals.len(), 126);
        let sums = all(&series);
        assert_eq!((sums[0], sums[125], sums.iter().sum::<u64>()), (2_500_000, 1_000_000, 3_500_000));
        assert_eq!(series.intervals[0].granted, Some(3));
        assert_eq!(series.in_flight(&series.intervals[0]), 2.5 / 32.0);
    }

    #[test]
    fn a_page_is_no_larger_for_a_longer_capture() {
        let mut series = TimeSeries::default();
        series.begin_at(0);
        for second in 0..100_000 {
            waited(&mut series, second * 1_000_000_000, second * 1_000_000_000 + 5);
        }
        assert!((INTERVALS / 2..=INTERVALS).contains(&series.intervals.len()));
        let waited: u64 = series.intervals.iter().map(|interval| interval.waited).sum();
        assert_eq!(waited, 500_000);
    }

    #[test]
    fn what_is_before_the_beginning_counts_for_it() {
        let mut series = TimeSeries::default();
        series.begin_at(1_000_000_000);
        series.grant(5, 7);
        waited(&mut series, 5, 6);
        assert_eq!((series.intervals.len(), series.intervals[0].granted), (1, Some(7)));
    }
}

//! The numbers of one interval of time after another, as the capture is read.

use std::io;

use rpcrdma_dissector::{Event, Recounted, Summary, Time};

use super::histogram::Histogram;
use super::in_flight::InFlight;
use super::record::{
    ChunkStatistics, Latency, MessageStatistics, ProcedureStatistics, RpcStatistics, StatusStatistics,
};
use super::{Statistics, Stats};

/// Counts what is in a capture, one interval after another.
#[derive(Debug)]
pub struct Intervals {
    /// Nanoseconds of an interval.
    length: u64,
    /// Time of the first frame.
    first: Option<Time>,
    /// The interval that is counted: how many came before.
    number: u64,
    stats: Stats,
    latency: Histogram,
    calls: CallsInFlight,
    in_flight: InFlight,
    /// The time until which `calls` is counted.
    reached: u64,
}

/// The numbers of an interval. An RPC belongs to the interval in which the RPC ended.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct IntervalStatistics {
    /// Beginning, in nanoseconds since 1970-01-01 00:00 UTC.
    pub time_ns: u64,
    /// Nanoseconds from the first frame to the beginning.
    pub start_ns: u64,
    /// Length in nanoseconds. Intervals without a message are one.
    pub length_ns: u64,
    /// The calls that waited.
    pub calls: CallsInFlight,
    /// The latencies of all RPCs.
    pub latency: Option<Latency>,
    /// The Sends that carry RPC-over-RDMA.
    pub messages: MessageStatistics,
    /// The chunks in these Sends.
    pub chunks: ChunkStatistics,
    /// The RPCs.
    pub rpcs: RpcStatistics,
    /// RPCs by procedure, the most frequent first.
    pub procedures: Vec<ProcedureStatistics>,
    /// The RPCs that did not succeed, by procedure and status.
    pub failures: Vec<StatusStatistics>,
}

/// Calls that waited for their replies during an interval, on all connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CallsInFlight {
    /// Sum of the time that each call waited during the interval, in nanoseconds. The sum divided by the interval's
    /// length is the mean number of waiting calls. As far as was known when the interval ended.
    pub latency_sum_ns: u64,
    /// The most at a time.
    pub max: u64,
    /// The last number of credits that a reply granted.
    pub granted: Option<u32>,
    /// Nanoseconds during which a requester had as many calls waiting as credits, as far as was known when the interval
    /// ended: a missed or refused reply may show later.
    pub at_limit_ns: u64,
}

impl Intervals {
    /// Intervals of so many nanoseconds; of one at least.
    #[must_use]
    pub fn new(length: u64) -> Self {
        Self {
            length: length.max(1),
            first: None,
            number: 0,
            stats: Stats::of_interval(),
            latency: Histogram::default(),
            calls: CallsInFlight::default(),
            in_flight: InFlight::default(),
            reached: 0,
        }
    }

    /// Takes an event of a capture whose first frame has this time. Gives `take` the earlier intervals.
    ///
    /// # Errors
    /// Errors from `take`.
    pub fn event(
        &mut self,
        first: Time,
        event: &Event,
        take: impl FnMut(&IntervalStatistics) -> io::Result<()>,
    ) -> io::Result<()> {
        self.first = Some(first);
        let time = match event {
            Event::Message(message) => Some(message.stamp.time),
            Event::Transaction(transaction) => transaction.reply.as_ref().map(|reply| reply.stamp.time),
            Event::Connection(report) => report.number.map(|_| report.until),
            Event::Recounted(recounted) => Some(recounted.stamp.time),
            Event::Ended(ended) => Some(ended.stamp.time),
            _ => None,
        };
        if let Some(time) = time {
            self.advance(time.0.saturating_sub(first.0), take)?;
        }
        self.stats.event(event);
        if let Event::Transaction(transaction) = event {
            transaction.latency().iter().for_each(|latency| self.latency.record(*latency));
        }
        if let Event::Recounted(recounted) = event
            && self.in_flight.knows(recounted.connection)
        {
            self.recount(recounted, first);
        }
        self.calls.granted = self.in_flight.event(event).or(self.calls.granted);
        self.calls.max = self.calls.max.max(self.in_flight.waiting);
        Ok(())
    }

    /// Ends the intervals before `time`, in nanoseconds after the first frame. Frames need not be in order: late events
    /// are counted on arrival.
    fn advance(&mut self, time: u64, mut take: impl FnMut(&IntervalStatistics) -> io::Result<()>) -> io::Result<()> {
        let number = time / self.length;
        if number > self.number {
            self.end_interval(1, &mut take)?;
        }
        // However far away the next message is, there is one line until then.
        if number > self.number {
            self.end_interval(number - self.number, &mut take)?;
        }
        self.wait(time);
        Ok(())
    }

    /// Ends an interval that is so many times as long as others.
    fn end_interval(
        &mut self,
        times: u64,
        take: &mut impl FnMut(&IntervalStatistics) -> io::Result<()>,
    ) -> io::Result<()> {
        let end = (self.number + times).saturating_mul(self.length);
        self.wait(end);
        let interval = self.interval(end);
        self.number += times;
        take(&interval)
    }

    /// Counts the time until then for what waits.
    fn wait(&mut self, until: u64) {
        let elapsed = until.saturating_sub(self.reached);
        self.reached = self.reached.max(until);
        self.calls.latency_sum_ns =
            self.calls.latency_sum_ns.saturating_add(elapsed.saturating_mul(self.in_flight.waiting));
        self.calls.at_limit_ns += if self.in_flight.is_at_limit() { elapsed } else { 0 };
    }

    /// Corrects what was counted, by the part of the correction that is for this interval.
    fn recount(&mut self, recounted: &Recounted, first: Time) {
        let since = recounted.since.0.saturating_sub(first.0);
        let whole = self.reached.saturating_sub(since);
        let part = self.reached.saturating_sub(since.max(self.number.saturating_mul(self.length)));
        let correct = |counted: &mut u64, by: i64| {
            let by = i128::from(by) * i128::from(part) / i128::from(whole.max(1));
            *counted = u64::try_from(i128::from(*counted).saturating_add(by)).unwrap_or_default();
        };
        correct(&mut self.calls.latency_sum_ns, recounted.waited_ns);
        correct(&mut self.calls.at_limit_ns, recounted.at_limit_ns);
    }

    /// The numbers of the interval that ends there; begins the next one.
    fn interval(&mut self, end: u64) -> IntervalStatistics {
        let stats = core::mem::replace(&mut self.stats, Stats::of_interval());
        let last = Time(self.first.unwrap_or_default().0.saturating_add(end));
        let mut summary = Summary::default();
        summary.last = Some(last);
        let Statistics { messages, chunks, rpcs, procedures, failures, .. } = stats.finish(&summary);
        let latency = Latency::new(&core::mem::take(&mut self.latency));
        let calls = self.calls;
        let max = self.in_flight.waiting;
        self.calls = CallsInFlight { latency_sum_ns: 0, max, granted: calls.granted, at_limit_ns: 0 };
        let start_ns = self.number.saturating_mul(self.length);
        let length_ns = end.saturating_sub(start_ns);
        let time_ns = self.first.unwrap_or_default().0.saturating_add(start_ns);
        IntervalStatistics {
            time_ns,
            start_ns,
            length_ns,
            calls,
            latency,
            messages,
            chunks,
            rpcs,
            procedures,
            failures,
        }
    }

    /// Ends the last interval, at the last frame.
    ///
    /// # Errors
    /// Errors from `take`.
    pub fn finish(
        mut self,
        last: Option<Time>,
        mut take: impl FnMut(&IntervalStatistics) -> io::Result<()>,
    ) -> io::Result<()> {
        let (Some(first), Some(last)) = (self.first, last) else { return Ok(()) };
        let end = last.0.saturating_sub(first.0);
        self.advance(end, &mut take)?;
        let interval = self.interval(end);
        take(&interval)
    }
}

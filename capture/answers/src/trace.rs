//! RPCs as trace events, which Perfetto and speedscope show on a time line: the Trace Event Format of Chrome, in JSON.
//!
//! In a trace, a connection is a process. Overlapping RPCs of a connection are on separate threads, named lanes here:
//! viewers show a thread's slices only if one is within another. The slice of an RPC contains a slice for each phase, if
//! the [steps](rpcrdma_dissector::Transaction::steps) show when; otherwise only `call`, at the beginning, and `reply`, at
//! the end. The total time of each phase is among the arguments of the slice.
//!
//! A call that waits when the capture ends begins a slice without an end; viewers draw such a slice up to the last event,
//! which is the end of the capture. An RPC with an unknown end has a slice up to the last packet that was certainly part of
//! the RPC.
//!
//! Perfetto leaves out events with a time below zero, and overlapping slices of one thread, if neither is within the other, even by a nanosecond.

use std::collections::BTreeMap;
use std::io::{self, Write};

use rpcrdma_dissector::{
    CaptureEnd, Delivery, Half, NotTimed, Owed, Phase, Phases, Time, Transaction, WaitEnd, Waiting,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::operation_name::OperationName;

/// The most connections, counted once for each direction, whose lanes are remembered. Past that, the oldest would be named again.
const REMEMBERED: usize = 8192;
/// Lanes of callbacks are numbered from here on.
const REVERSE: u32 = 1_000_000;

/// Takes RPCs and writes trace events.
///
/// ```
/// use rpcrdma_answers::trace::Tracer;
/// use rpcrdma_dissector::{Capture, Config, Event, Events};
///
/// let mut tracer = Tracer::new(Vec::new())?;
/// let mut events = Events::new(Capture::from_paths(["examples/nfs.pcap"]), Config::default());
/// while let Some(event) = events.next() {
///     if let Event::Transaction(transaction) = event? {
///         tracer.start_at(events.summary().first.unwrap_or_default());
///         tracer.transaction(&transaction)?;
///     }
/// }
/// let (file, traced) = tracer.finish(None)?;
/// assert_eq!((traced.timed, file.first()), (3, Some(&b'{')));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Tracer<W: Write> {
    out: W,
    /// Time from which times count: a double cannot hold nanoseconds since 1970.
    start: Option<Time>,
    /// End of the last RPC of each lane, by connection and direction.
    lanes: BTreeMap<(u32, bool), Vec<u64>>,
    traced: Traced,
    is_first: bool,
}

/// Numbers of RPCs that a [`Tracer`] took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Traced {
    /// RPCs of known latency.
    pub timed: u64,
    /// Calls that wait when the capture ends.
    pub waiting: u64,
    /// RPCs whose slice may be too short, because the end of the RPC is not known.
    pub at_least: u64,
    /// RPCs without a slice: the beginning or the order of the frames is unknown, or the RPC began before the zero of the time line.
    pub left_out: u64,
}

impl Traced {
    /// RPCs that have a slice.
    #[must_use]
    pub const fn written(&self) -> u64 {
        self.timed + self.waiting + self.at_least
    }
}

/// The end of the slice of an RPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SliceEnd {
    /// The reply arrived.
    Answered(Time),
    /// The connection ended, and the call was not answered.
    Unanswered(Time),
    /// The RPC ended at this time or later.
    AtLeast(Time),
    /// The call still waits.
    Open,
}

/// A trace event.
#[derive(Default, Serialize)]
struct TraceEvent<'a> {
    name: &'a str,
    ph: &'static str,
    pid: u32,
    tid: u32,
    /// Microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    /// Scope of an instant.
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'static str>,
    #[serde(skip_serializing_if = "Value::is_null")]
    args: Value,
}

impl<W: Write> Tracer<W> {
    /// Starts a file.
    ///
    /// # Errors
    /// Any error from writing to `out`.
    pub fn new(mut out: W) -> io::Result<Self> {
        out.write_all(b"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[")?;
        Ok(Self { out, start: None, lanes: BTreeMap::new(), traced: Traced::default(), is_first: true })
    }

    /// Sets the zero of the time line to the time of the first frame, unless the zero is already set. Without this call, the
    /// beginning of the first RPC passed to `transaction` is the zero, although another RPC may have begun earlier and end
    /// later.
    pub fn start_at(&mut self, first: Time) {
        self.start.get_or_insert(first);
    }

    /// Takes an RPC. One whose beginning is not known, or is before the time from which times count, has no slice.
    ///
    /// # Errors
    /// Any error from writing to `out`.
    pub fn transaction(&mut self, transaction: &Transaction) -> io::Result<()> {
        let start = self.start;
        let is_shown =
            |(began, end): &(Time, SliceEnd)| end.is_after(*began) && start.is_none_or(|start| *began >= start);
        let slice =
            transaction.began.map(|began| began.time).zip(SliceEnd::from_transaction(transaction)).filter(is_shown);
        let Some((began, end)) = slice else {
            self.traced.left_out += 1;
            return Ok(());
        };
        *match end {
            SliceEnd::Answered(_) => &mut self.traced.timed,
            SliceEnd::Open => &mut self.traced.waiting,
            SliceEnd::Unanswered(_) | SliceEnd::AtLeast(_) => &mut self.traced.at_least,
        } += 1;
        let start = *self.start.get_or_insert(began);
        let (pid, tid) = (transaction.connection, self.lane(transaction, began, end.time())?);
        let slice = |name, from, until: Option<Time>, args| TraceEvent {
            name,
            ph: if until.is_some() { "X" } else { "B" },
            pid,
            tid,
            ts: Some(since(start, from)),
            dur: until.map(|until| since(from, until)),
            args,
            ..TraceEvent::default()
        };
        let name = end.name(transaction);
        self.event(&slice(&name, began, end.time(), arguments(transaction, end)))?;
        for (phase, from, until) in stretches(transaction) {
            let length = until.0.saturating_sub(from.0);
            // An RPC that consists of one of them alone says so itself.
            if length > 0 && end.time().is_some_and(|end| length < end.0 - began.0) {
                self.event(&slice(transaction.phase_title(phase), from, Some(until), Value::Null))?;
            }
        }
        Ok(())
    }

    /// Ends the file, and marks the end of the capture if calls wait then. Returns the file, and the numbers of RPCs.
    ///
    /// # Errors
    /// Any error from writing to `out`.
    pub fn finish(mut self, end: Option<CaptureEnd>) -> io::Result<(W, Traced)> {
        if let Some((start, end)) = self.start.zip(end).filter(|_| self.traced.waiting > 0) {
            self.event(&TraceEvent {
                name: "end of the capture",
                ph: "i",
                ts: Some(since(start, end.time)),
                s: Some("g"),
                ..TraceEvent::default()
            })?;
        }
        self.out.write_all(b"\n]}\n")?;
        self.out.flush()?;
        Ok((self.out, self.traced))
    }

    /// Returns the first lane of the connection whose last RPC has ended, or a new lane. RPCs come in the order in which they
    /// end, so the lane has room up to that time.
    fn lane(&mut self, transaction: &Transaction, began: Time, end: Option<Time>) -> io::Result<u32> {
        let Transaction { connection, reverse, from, to, .. } = *transaction;
        let is_new = !self.lanes.contains_key(&(connection, reverse));
        if is_new && self.lanes.len() == REMEMBERED {
            self.lanes.pop_first();
        }
        let lanes = self.lanes.entry((connection, reverse)).or_default();
        let free = lanes.iter().position(|ended| *ended <= began.0);
        let lane = free.unwrap_or(lanes.len());
        let end = end.map_or(u64::MAX, |end| end.0);
        match lanes.get_mut(lane) {
            Some(ended) => *ended = end,
            None => lanes.push(end),
        }
        let tid = u32::try_from(lane).unwrap_or(u32::MAX) + if reverse { REVERSE } else { 0 };
        let named = |name, text: String| TraceEvent {
            name,
            ph: "M",
            pid: connection,
            tid,
            args: json!({ "name": text }),
            ..TraceEvent::default()
        };
        if is_new && !reverse {
            self.event(&named("process_name", format!("connection {connection}: {from} → {to}")))?;
        }
        if free.is_none() {
            let what = if reverse { "callbacks" } else { "calls" };
            self.event(&named("thread_name", format!("{what}, track {}", lane + 1)))?;
        }
        Ok(tid)
    }

    fn event(&mut self, event: &TraceEvent<'_>) -> io::Result<()> {
        self.out.write_all(if self.is_first { b"\n" } else { b",\n" })?;
        self.is_first = false;
        serde_json::to_writer(&mut self.out, event).map_err(io::Error::from)
    }
}

impl SliceEnd {
    /// Returns the end of the slice. `None` if times of frames do not show the end.
    fn from_transaction(transaction: &Transaction) -> Option<Self> {
        let began = transaction.began?.time;
        if let Some(latency) = transaction.latency() {
            return Some(Self::Answered(Time(began.0.saturating_add(latency))));
        }
        match (transaction.phases, &transaction.waiting) {
            (Err(NotTimed::OutOfOrder | NotTimed::ClockSetBack | NotTimed::TwoClocks), _) => None,
            (_, Some(waiting)) => Some(Self::of_wait(waiting)),
            _ => transaction.reply.as_ref().map(|reply| Self::AtLeast(reply.stamp.time)),
        }
    }

    fn of_wait(waiting: &Waiting) -> Self {
        let last = [Some(waiting.requester), waiting.responder].into_iter().flatten().map(|last| last.stamp.time).max();
        let last = Self::AtLeast(last.unwrap_or_default());
        let has_arrived = matches!(waiting.reply_delivery, Some(Delivery::Unacknowledged { .. } | Delivery::Unknown));
        match (waiting.end, waiting.owed) {
            (_, Owed::Unknown(_) | Owed::ReplyArrival(_)) => last,
            (WaitEnd::Capture, _) => Self::Open,
            (WaitEnd::Disconnected { stamp, .. }, _) if !has_arrived => Self::Unanswered(stamp.time),
            _ => last,
        }
    }

    const fn time(self) -> Option<Time> {
        match self {
            Self::Answered(time) | Self::Unanswered(time) | Self::AtLeast(time) => Some(time),
            Self::Open => None,
        }
    }

    /// Returns true unless the end is before the beginning, as with a clock that was set back.
    fn is_after(self, began: Time) -> bool {
        self.time().is_none_or(|time| time >= began)
    }

    /// The name of the slice.
    fn name(self, transaction: &Transaction) -> String {
        let name = OperationName::of_transaction(transaction);
        let Transaction { from, to, ref waiting, .. } = *transaction;
        let debtor = waiting.and_then(|waiting| waiting.owed.debtor(from, to));
        match (self, debtor) {
            (Self::Answered(_), _) => name.to_string(),
            (Self::Unanswered(_), _) => format!("{name}, not answered"),
            (Self::AtLeast(_), _) => format!("{name}, end not known"),
            (Self::Open, Some(debtor)) => format!("{name}, waiting for {debtor}"),
            (Self::Open, None) => format!("{name}, waiting"),
        }
    }
}

/// Microseconds from one time to another, rounded up. Perfetto multiplies microseconds by 1000 and cuts off the fraction:
/// rounded down, a slice would lose a nanosecond, and might seem to end after the slice around.
fn since(from: Time, until: Time) -> f64 {
    let nanoseconds = until.0.saturating_sub(from.0);
    let microseconds = nanoseconds as f64 / 1e3;
    if ((microseconds * 1e3) as u64) < nanoseconds { microseconds.next_up() } else { microseconds }
}

/// Arguments of the slice of an RPC: all properties except time.
fn arguments(transaction: &Transaction, end: SliceEnd) -> Value {
    let frame = |half: &Option<Half>| half.as_ref().map(|half| half.stamp.frame);
    let operations: Vec<_> = transaction.operations.iter().map(|operation| operation.name).collect();
    let phases = transaction.phases.ok().map(|phases| {
        let used = Phase::ALL.into_iter().filter(|phase| phases.phase_time(*phase) > 0);
        used.map(|phase| (transaction.phase_title(phase), phases.phase_time(phase))).collect::<BTreeMap<_, _>>()
    });
    let mut arguments = json!({
        "rdma_xid": format!("{:#010x}", transaction.xid),
        "call_frame": frame(&transaction.call),
        "reply_frame": frame(&transaction.reply),
        "operations": operations,
        "status": transaction.status.map(|status| status.name()),
        "rdma_read_octets": transaction.read_octets,
        "rdma_write_octets": transaction.write_octets,
        "phases_ns": phases,
    });
    let more = match (end, transaction.waiting, transaction.phases) {
        (SliceEnd::Open, Some(waiting), _) => Some(("owed", waiting.owed.name().to_owned())),
        (SliceEnd::AtLeast(_), Some(Waiting { owed: Owed::Unknown(reason), .. }), _) => {
            Some(("end_not_known", reason.to_string()))
        }
        (SliceEnd::AtLeast(_), _, Err(reason)) => Some(("end_not_known", reason.to_string())),
        _ => None,
    };
    if let Some(((name, value), arguments)) = more.zip(arguments.as_object_mut()) {
        arguments.insert(name.to_owned(), value.into());
    }
    arguments
}

/// Returns the stretches of the phases, if known.
fn stretches(transaction: &Transaction) -> Vec<(Phase, Time, Time)> {
    let (Ok(Phases { call, reply, .. }), Some(began)) = (transaction.phases, transaction.began) else {
        return Vec::new();
    };
    match transaction.steps.as_ref().and_then(|steps| steps.stretches.as_ref()) {
        Some(all) => all.iter().map(|stretch| (stretch.phase, stretch.from, stretch.until)).collect(),
        None => {
            let from = began.time.0;
            let until = from.saturating_add(transaction.latency().unwrap_or_default());
            let called = (Phase::Call, Time(from), Time(from.saturating_add(call)));
            vec![called, (Phase::Reply, Time(until.saturating_sub(reply)), Time(until))]
        }
    }
}

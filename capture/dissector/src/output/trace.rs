//! RPCs as trace events, which Perfetto and speedscope show on a time line: the Trace Event Format of Chrome, in JSON.
//!
//! A connection is a process there. RPCs of it that overlap are on threads of their own, named lanes here: viewers show a thread's
//! slices only if one is within another. Within the slice of an RPC are those of its phases, each where it was, if the
//! [steps](crate::Transaction::steps) show that; otherwise only its `call`, at the beginning, and its `reply`, at the end. How long
//! each phase took in all is among the arguments of the slice.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Value, json};

use crate::file::Time;
use crate::output::operation_name::OperationName;
use crate::rpc::phases::{Phase, Phases};
use crate::rpc::transaction::{Half, Transaction};

/// The most connections, counted once for each direction, whose lanes are remembered. Past that, the oldest would be named again.
const REMEMBERED: usize = 8192;
/// Lanes of callbacks are numbered from here on.
const REVERSE: u32 = 1_000_000;

/// Takes RPCs and writes trace events.
///
/// ```
/// use rpcrdma_dissector::output::trace::Tracer;
/// use rpcrdma_dissector::{Capture, Config, Events};
///
/// let mut tracer = Tracer::new(Vec::new())?;
/// for transaction in Events::new(Capture::from_paths(["examples/nfs.pcap"]), Config::default()).transactions() {
///     tracer.transaction(&transaction?)?;
/// }
/// let (file, traced) = tracer.finish()?;
/// assert_eq!((traced, file.first()), (3, Some(&b'{')));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Tracer<W: Write> {
    out: W,
    /// When the first RPC began, from which times count: a double cannot hold nanoseconds since 1970.
    start: Option<Time>,
    /// When the last RPC of each lane ended, by connection and direction.
    lanes: BTreeMap<(u32, bool), Vec<u64>>,
    traced: u64,
    is_first: bool,
}

/// A trace event.
#[derive(Serialize)]
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
        Ok(Self { out, start: None, lanes: BTreeMap::new(), traced: 0, is_first: true })
    }

    /// Takes an RPC. One whose latency is not known has no slice.
    ///
    /// # Errors
    /// Any error from writing to `out`.
    pub fn transaction(&mut self, transaction: &Transaction) -> io::Result<()> {
        let (Some(latency), Some(began)) = (transaction.latency(), transaction.began) else { return Ok(()) };
        let start = *self.start.get_or_insert(began.time);
        // Another RPC may have ended first and begun later: before the start is below zero.
        let since = |time: u64| time as i64 - start.0 as i64;
        let (pid, tid) = (transaction.connection, self.lane(transaction, began.time.0, latency)?);
        self.traced += 1;
        let frame = |half: &Option<Half>| half.as_ref().map(|half| half.stamp.frame);
        let name = OperationName::of_transaction(transaction).to_string();
        let operations: Vec<_> = transaction.operations.iter().map(|operation| operation.name).collect();
        let phases = transaction.phases.ok();
        let args = json!({
            "rdma_xid": format!("{:#010x}", transaction.xid),
            "call_frame": frame(&transaction.call),
            "reply_frame": frame(&transaction.reply),
            "operations": operations,
            "status": transaction.status.map(|status| status.name()),
            "rdma_read_octets": transaction.read_octets,
            "rdma_write_octets": transaction.write_octets,
            "phases_ns": phases.map(|phases| named(&phases)),
        });
        let slice = |name, from, length: u64, args| TraceEvent {
            name,
            ph: "X",
            pid,
            tid,
            ts: Some(from as f64 / 1e3),
            dur: Some(length as f64 / 1e3),
            args,
        };
        let from = since(began.time.0);
        self.event(&slice(&name, from, latency, args))?;
        for (phase, from, until) in stretches(transaction) {
            let length = until.0.saturating_sub(from.0);
            // An RPC that consists of one of them alone says so itself.
            if length > 0 && length < latency {
                self.event(&slice(phase.name(), since(from.0), length, Value::Null))?;
            }
        }
        Ok(())
    }

    /// Ends the file. Returns it, and how many RPCs are in it.
    ///
    /// # Errors
    /// Any error from writing to `out`.
    pub fn finish(mut self) -> io::Result<(W, u64)> {
        self.out.write_all(b"\n]}\n")?;
        self.out.flush()?;
        Ok((self.out, self.traced))
    }

    /// The first lane of the connection whose last RPC has ended; a new one if there is none. RPCs come in the order in which
    /// they end, so it has room until then.
    fn lane(&mut self, transaction: &Transaction, began: u64, latency: u64) -> io::Result<u32> {
        let Transaction { connection, reverse, from, to, .. } = *transaction;
        let is_new = !self.lanes.contains_key(&(connection, reverse));
        if is_new && self.lanes.len() == REMEMBERED {
            self.lanes.pop_first();
        }
        let lanes = self.lanes.entry((connection, reverse)).or_default();
        let free = lanes.iter().position(|ended| *ended <= began);
        let lane = free.unwrap_or(lanes.len());
        match lanes.get_mut(lane) {
            Some(ended) => *ended = began.saturating_add(latency),
            None => lanes.push(began.saturating_add(latency)),
        }
        let tid = u32::try_from(lane).unwrap_or(u32::MAX) + if reverse { REVERSE } else { 0 };
        let named = |name, text: String| TraceEvent {
            name,
            ph: "M",
            pid: connection,
            tid,
            ts: None,
            dur: None,
            args: json!({ "name": text }),
        };
        if is_new && !reverse {
            self.event(&named("process_name", format!("connection {connection}: {from} → {to}")))?;
        }
        if free.is_none() {
            let what = if reverse { "callbacks" } else { "calls" };
            self.event(&named("thread_name", format!("{what}, lane {}", lane + 1)))?;
        }
        Ok(tid)
    }

    fn event(&mut self, event: &TraceEvent<'_>) -> io::Result<()> {
        self.out.write_all(if self.is_first { b"\n" } else { b",\n" })?;
        self.is_first = false;
        serde_json::to_writer(&mut self.out, event).map_err(io::Error::from)
    }
}

/// Where the phases were, as far as that is known.
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

/// The phases that took time, in nanoseconds.
fn named(phases: &Phases) -> BTreeMap<&'static str, u64> {
    let used = Phase::ALL.into_iter().filter(|phase| phases.of(*phase) > 0);
    used.map(|phase| (phase.name(), phases.of(phase))).collect()
}

//! Output of `rpcrdma-ping --json`: one object per line, each with the same fields always.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::time::Duration;

use rpcrdma::endpoint::Terms;
use serde::Serialize;

use super::Summary;

/// Version of the records. Fields may be added; no field is removed or changes meaning.
const SCHEMA: u32 = 1;

/// One line.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Record {
    /// The terms of the connection, before the first call.
    Connection {
        schema: u32,
        responder: SocketAddr,
        rpcrdma_version: String,
        /// The inline thresholds, in octets.
        call_threshold: u32,
        reply_threshold: u32,
    },
    /// A call that is over.
    Call {
        schema: u32,
        responder: SocketAddr,
        rdma_xid: String,
        /// Length of the reply, or of the echoed data, in octets.
        octets: Option<usize>,
        latency_ns: Option<u64>,
        /// Reason for a failed call.
        fault: Option<String>,
    },
    /// All calls.
    Summary {
        schema: u32,
        responder: SocketAddr,
        calls: u32,
        replies: usize,
        min_ns: Option<u64>,
        median_ns: Option<u64>,
        p99_ns: Option<u64>,
        max_ns: Option<u64>,
        /// Reason for the early end.
        ended: Option<String>,
    },
}

pub(super) fn connection(responder: SocketAddr, terms: &Terms, out: &mut impl Write) -> io::Result<()> {
    let Terms { version, call_threshold, reply_threshold, .. } = *terms;
    let rpcrdma_version = version.to_string();
    Record::Connection { schema: SCHEMA, responder, rpcrdma_version, call_threshold, reply_threshold }.write(out)
}

/// Length and latency of the reply to a call.
pub(super) struct CallReply {
    pub(super) octets: usize,
    pub(super) took: Duration,
}

pub(super) fn call(
    responder: SocketAddr,
    xid: u32,
    reply: Result<CallReply, String>,
    out: &mut impl Write,
) -> io::Result<()> {
    let (octets, latency_ns, fault) = match reply {
        Ok(CallReply { octets, took }) => (Some(octets), Some(nanoseconds(took)), None),
        Err(fault) => (None, None, Some(fault)),
    };
    Record::Call { schema: SCHEMA, responder, rdma_xid: format!("{xid:#010x}"), octets, latency_ns, fault }.write(out)
}

pub(super) fn summary(responder: SocketAddr, summary: &Summary, out: &mut impl Write) -> io::Result<()> {
    let [min_ns, median_ns, p99_ns, max_ns] =
        [0, 50, 99, 100].map(|percent| summary.percentile(percent).map(nanoseconds));
    let (calls, replies) = (summary.calls, summary.latencies.len());
    let ended = summary.ended.as_ref().map(ToString::to_string);
    Record::Summary { schema: SCHEMA, responder, calls, replies, min_ns, median_ns, p99_ns, max_ns, ended }.write(out)
}

impl Record {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let text = serde_json::to_string(self)?;
        writeln!(out, "{text}")
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

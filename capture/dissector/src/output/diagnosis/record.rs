//! The record of a diagnosis.

#[cfg(feature = "json")]
use std::io;

#[cfg(feature = "json")]
use serde::Serialize;

#[cfg(feature = "json")]
use crate::output::record::{Record, write_record};
use crate::output::stats::Latency;

/// A diagnosis.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "json", derive(Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Diagnosis {
    /// The name of the capture.
    #[cfg_attr(feature = "json", serde(skip))]
    pub name: String,
    /// Frames in the capture.
    pub frames: u64,
    /// When the first frame was captured, in nanoseconds since 1970-01-01 00:00 UTC; null if there is none.
    pub first_ns: Option<u64>,
    /// When the last frame was captured.
    pub last_ns: Option<u64>,
    /// Where packets were captured, as far as that is known: at the `requester`, at the `responder`, or `between` them.
    pub captured_at: Vec<&'static str>,
    /// Number of clients.
    pub clients: usize,
    /// Number of servers.
    pub servers: usize,
    /// The client, if there is only one.
    pub client: Option<String>,
    /// The server, if there is only one.
    pub server: Option<String>,
    /// Connections that carry RPC-over-RDMA.
    pub connections: u64,
    /// RPCs.
    pub rpcs: u64,
    /// Calls without a reply.
    pub without_reply: u64,
    /// Replies without their call.
    pub without_call: u64,
    /// Latencies of RPCs; null if none is known.
    pub latency: Option<Latency>,
    /// Nanoseconds for which RPCs waited: their latencies, the times before calls for which there was no credit, and the ages of
    /// calls without a reply.
    pub waiting_ns: u64,
    /// The causes, in the order of their weight.
    pub causes: Vec<DiagnosedCause>,
    /// The gravest gap of the capture, in words, because of which the absence of causes proves nothing.
    #[cfg_attr(feature = "json", serde(skip))]
    pub gap: Option<String>,
    /// Limits of what the capture shows, as sentences.
    pub limits: Vec<String>,
}

/// A cause, with what shows it.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "json", derive(Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DiagnosedCause {
    /// The name of the cause.
    pub cause: &'static str,
    /// The cause in words.
    #[cfg_attr(feature = "json", serde(skip))]
    pub title: &'static str,
    /// The end or part that can do something about it: `requester`, `responder`, `network` or `capture`; null if the capture
    /// does not show which of two.
    pub owner: Option<&'static str>,
    /// The address of that end, if it is one.
    pub owner_address: Option<String>,
    /// Nanoseconds of waiting that it explains; null if no time is known for it.
    pub waiting_ns: Option<u64>,
    /// The part of all waiting that these are, from 0 to 1.
    pub share: Option<f64>,
    /// The client that four fifths or more of it fall on, if the capture holds several.
    pub client: Option<String>,
    /// The server that four fifths or more of it fall on, if the capture holds several.
    pub server: Option<String>,
    /// The operation that four fifths or more of it fall on.
    pub operation: Option<String>,
    /// The name of the file that four fifths or more of it fall on.
    pub file: Option<String>,
    /// When the first RPC began that it fell on, in nanoseconds since 1970-01-01 00:00 UTC; null if it fell on none.
    pub since_ns: Option<u64>,
    /// Frames that show it, at most eight.
    pub frames: Vec<u64>,
    /// The evidence, in sentences.
    pub evidence: Vec<String>,
    /// The command that shows more; `FILE` stands for files that were not given by name.
    pub command: String,
}

#[cfg(feature = "json")]
impl Record for Diagnosis {
    const TYPE: &'static str = "diagnosis";
}

#[cfg(feature = "json")]
impl Diagnosis {
    /// Writes the diagnosis as a JSON object and a line feed.
    ///
    /// # Errors
    /// Any error from writing to `out`.
    pub fn write_json(&self, out: &mut impl io::Write) -> io::Result<()> {
        write_record(out, self)
    }
}

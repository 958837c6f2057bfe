//! The record of a diagnosis.

use rpcrdma_dissector::TimeBase;
use serde::Serialize;

use super::cause::Cause;
use crate::promises::PromiseStatistics;
use crate::stats::{Latency, MountStatistics};

/// A diagnosis.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Diagnosis {
    /// The name of the capture.
    #[serde(skip)]
    pub name: String,
    /// Frames in the capture.
    pub frames: u64,
    /// Beginning of all times of the capture: `utc` for 1970-01-01 00:00 UTC; `boot` for the boot of the kernel, as in kernel traces.
    #[serde(serialize_with = "crate::record::values::as_time_base")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub time_base: TimeBase,
    /// Time of the first frame, in nanoseconds since 1970-01-01 00:00 UTC; null if there is none.
    pub first_ns: Option<u64>,
    /// Time of the last frame.
    pub last_ns: Option<u64>,
    /// The selected part, if the diagnosis is not about the whole capture; the fields above describe the whole capture.
    pub selection: Option<SelectedRpcs>,
    /// Known capture points: at the `client`, at the `server`, or `between` client and server. If the capture holds the
    /// packets of both ends, the point whose packets come first.
    pub captured_at: Vec<&'static str>,
    /// Number of connections for which the place of the capture is known.
    pub captured_at_connections: u64,
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
    /// The mounts, with the options that the RPCs show. Of a selection, the list is empty.
    pub mounts: Vec<DiagnosedMount>,
    /// Latencies of RPCs; null if none is known. If the capture holds the packets of both ends, these are latencies at the requester.
    pub latency: Option<Latency>,
    /// Latencies seen by each end, if the capture holds the packets of both ends of all connections.
    pub both_ends: Option<SeenAtBothEnds>,
    /// Nanoseconds for which RPCs waited: their latencies, the times before calls for which there was no credit or slot, and the ages of
    /// calls without a reply.
    pub waiting_ns: u64,
    /// The causes, in the order of their weight.
    pub causes: Vec<DiagnosedCause>,
    /// The gravest gap of the capture, in words, because of which the absence of causes proves nothing.
    #[serde(skip)]
    pub gap: Option<String>,
    /// Limits of what the capture shows, as sentences.
    pub limits: Vec<String>,
    /// Causes that only the end of the capture shows, of calls without a reply and of slow RPCs that may have waited for a recall: the place
    /// of each RPC among all RPCs, from 0, and the cause. An RPC may have two.
    #[serde(skip)]
    pub late_causes: Vec<(u64, Cause)>,
}

/// A mount, with the options in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DiagnosedMount {
    /// Address of the client.
    pub client: String,
    /// Address of the server: of several addresses, the one that was used first.
    pub server: String,
    /// The client and the server, with all addresses: several belong to one server if EXCHANGE_ID says so.
    pub ends: String,
    /// Versions, security, the largest READ and WRITE, and slots, as far as the capture shows these.
    pub options: String,
    /// Promises above RPC in words, a line for each kind.
    pub promises: Vec<String>,
    /// All that the capture shows of the mount, in lines with the frames that show it.
    pub lines: Vec<String>,
}

impl DiagnosedMount {
    pub(super) fn new(mount: &MountStatistics) -> Self {
        let promises = mount.promises.iter().map(PromiseStatistics::line).collect();
        let (client, server) = (mount.client.clone(), mount.server.clone());
        Self { client, server, ends: mount.ends(), options: mount.summary(), promises, lines: mount.lines() }
    }
}

/// Latencies of RPCs whose packets were captured at both ends.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SeenAtBothEnds {
    /// Number of RPCs whose packets were all captured twice.
    pub rpcs: u64,
    /// Latencies at the requester.
    pub requester: Latency,
    /// Latencies of the same RPCs at the responder; the network took the rest.
    pub responder: Latency,
    /// Division of the time of RPCs among client, network and server; null if one file holds the packets of both ends.
    pub parts: Option<PartsAtBothEnds>,
}

/// Time of RPCs that the packets of two files divide among client, network and server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PartsAtBothEnds {
    /// Number of RPCs whose time is divided.
    pub rpcs: u64,
    /// Nanoseconds in which data or requests were due from the client.
    pub client_ns: u64,
    /// Nanoseconds in which packets were on their way, being sent, or lost.
    pub network_ns: u64,
    /// Nanoseconds in which a packet was due from the server.
    pub server_ns: u64,
    /// Packets that were lost between the two files' places on the way to the server. A packet that a file lacks altogether is not
    /// counted.
    pub lost_to_server: u64,
    /// The same on the way to the client.
    pub lost_to_client: u64,
}

/// The part of a capture that a diagnosis is about.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SelectedRpcs {
    /// The selection, as options of the command line; times are UTC.
    pub options: String,
    /// Selected RPCs.
    pub rpcs: u64,
    /// RPCs of the whole capture.
    pub all_rpcs: u64,
    /// True if no RPC, no message and no indication of loss is selected: then nothing is said about the capture.
    pub is_empty: bool,
    /// Selected RPCs that were in flight before, during all of, and after the selected time.
    pub spanning_rpcs: u64,
    /// Frames of the calls of these RPCs, at most eight.
    pub spanning_frames: Vec<u64>,
    /// The same in words.
    #[serde(skip)]
    pub throughout: Option<String>,
}

/// An RPC that a cause fell on, or a frame that shows the cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CauseExample {
    /// The frame of the call, or that shows the cause.
    pub frame: u64,
    /// Nanoseconds of waiting that the cause explains of this RPC; null if no time is known.
    pub waiting_ns: Option<u64>,
}

/// A cause, with evidence.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DiagnosedCause {
    /// The name of the cause.
    pub cause: &'static str,
    /// The cause in words.
    #[serde(skip)]
    pub title: &'static str,
    /// Beginning of the times.
    #[serde(skip)]
    pub(crate) time_base: TimeBase,
    /// The end or part that can remove the cause: `client`, `server`, `network` or `capture`; null if the capture does
    /// not show which of two.
    pub owner: Option<&'static str>,
    /// The address of the owner, if the owner is an end.
    pub owner_address: Option<String>,
    /// Nanoseconds of waiting that the cause explains; null if no time is known.
    pub waiting_ns: Option<u64>,
    /// Nanoseconds of the capture in which the cause delayed at least one RPC; `waiting_ns` counts the same time once
    /// for each delayed RPC. Null if that is not known.
    pub disturbed_ns: Option<u64>,
    /// The part of all waiting that these are, from 0 to 1.
    pub share: Option<f64>,
    /// The client of four fifths or more of the cause, if the capture holds RPCs of several clients, or of none.
    pub client: Option<String>,
    /// The server of four fifths or more of the cause, if the capture holds RPCs of several servers, or of none.
    pub server: Option<String>,
    /// The operation of four fifths or more of the cause.
    pub operation: Option<String>,
    /// The file of four fifths or more of the cause: the path if known, or the name.
    pub file: Option<String>,
    /// The user that the cause is about: only `outlier` names users.
    pub user: Option<String>,
    /// Beginning of the first affected RPC, in nanoseconds since 1970-01-01 00:00 UTC; null without one.
    pub since_ns: Option<u64>,
    /// Affected RPCs; null if not counted.
    pub rpcs: Option<u64>,
    /// Frames that show the cause, at most eight.
    pub frames: Vec<u64>,
    /// The same frames with their times, the longest first.
    pub examples: Vec<CauseExample>,
    /// The evidence, in sentences.
    pub evidence: Vec<String>,
    /// The command that shows more; `FILE` stands for files that were not given by name.
    pub command: String,
}

impl DiagnosedCause {
    /// The same, shown by these frames.
    pub(super) fn shown_by(self, examples: impl Iterator<Item = CauseExample>) -> Self {
        let examples: Vec<_> = examples.collect();
        let mut frames: Vec<u64> = examples.iter().map(|example| example.frame).collect();
        frames.sort_unstable();
        Self { frames, examples, ..self }
    }
}

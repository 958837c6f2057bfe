//! The last record of a command, with the facts that the earlier records do not show.

use rpcrdma_dissector::{CapturePoint, CapturePointSource, Summary, TimeBase, WitnessSummary};
use serde::Serialize;

use crate::findings::FindingTotals;
use crate::gaps::MissingDirection;
use crate::stats::{ClockStatistics, NamedCount, TraceStatistics, named};

/// The end of what a command prints: the end of the run, and missing, damaged or ignored data.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CommandSummary {
    /// The name of the command.
    pub command: &'static str,
    /// Exit status of the command.
    pub exit_status: u8,
    /// True if Ctrl-C or SIGTERM ended the command: the records before are the results until then.
    pub interrupted: bool,
    /// The captures that were read: one, or the two of `compare`, or none for `header`.
    pub captures: Vec<CaptureSummary>,
    /// Number of findings `check` has; null for other commands.
    pub findings: Option<FindingTotals>,
    /// True if `compare` found a regression; null for other commands.
    pub regression: Option<bool>,
    /// True if `header` swapped the octets of each word of the dump; null for other commands.
    pub octets_swapped: Option<bool>,
    /// Items that the command omitted without a filter.
    pub left_out: LeftOut,
    /// Notices that the command prints on standard error, unless `--quiet` is given. `captures` has the notices about
    /// unreadable files.
    pub notices: Vec<String>,
}

/// The last record of `--separate`: outcomes of the captures, after the summary of each capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CapturesSummary {
    /// Captures that were given.
    pub captures: usize,
    /// Captures with which nothing is wrong (exit status 0).
    pub sound: usize,
    /// Captures that are damaged or incomplete, that have findings, or from which nothing was selected (exit status 1).
    pub wrong: usize,
    /// Captures that cannot be read (exit status 2).
    pub unusable: usize,
    /// Captures interrupted by Ctrl-C or SIGTERM (exit status 130).
    pub interrupted: usize,
    /// Captures not begun for the same reason.
    pub not_read: usize,
}

/// Items that a command left out because there were too many, or because the items do not belong there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LeftOut {
    /// Of `slow`: calls without a reply.
    pub unanswered_calls: u64,
    /// Of `pending`: calls under whose `rdma_xid` another was sent.
    pub repeated_calls: u64,
    /// Of `pending`: calls that are younger than as many as are kept.
    pub newer_calls: u64,
    /// Messages and events that exceeded the memory limit before the selection of the RPC was decided.
    pub undecided: u64,
    /// Of `check` and `compare`: findings that exceeded the memory limit before the selection of the RPC was decided.
    pub undecided_findings: u64,
    /// Of `explain`: RPCs beyond as many as are shown.
    pub unexplained_rpcs: u64,
    /// Findings and indications of loss that exceeded the limit (`explain`).
    pub omitted_findings_and_events: u64,
    /// RPCs of operations that exceeded the limit (`compare`).
    pub other_operations_rpcs: u64,
}

/// A capture that was read: of one file, or several.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CaptureSummary {
    /// Files of the capture, in the order of reading.
    pub files: Vec<String>,
    /// True if the files were read in the order of the first frames, and given in another order.
    pub reordered: bool,
    /// The frames.
    pub frames: u64,
    /// Captured octets of the frames.
    pub octets: u64,
    /// Beginning of all times of the capture: `utc` for 1970-01-01 00:00 UTC; `boot` for the boot of the kernel, as in kernel traces.
    #[serde(serialize_with = "crate::record::values::as_time_base")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub time_base: TimeBase,
    /// Time of the first frame, in nanoseconds since 1970-01-01 00:00 UTC; null if there is none.
    pub first_ns: Option<u64>,
    /// Time of the last frame.
    pub last_ns: Option<u64>,
    /// Messages of RPC-over-RDMA.
    pub messages: u64,
    /// Messages that the filters let pass.
    pub messages_selected: u64,
    /// RPCs; null if the command rebuilds no messages.
    pub rpcs: Option<u64>,
    /// RPCs that the filters let pass.
    pub rpcs_selected: Option<u64>,
    /// The options that filtered.
    pub filters: Vec<&'static str>,
    /// Known capture points, which tell the phases of RPCs that contain time in the network.
    pub captured_at: Vec<PlaceCount>,
    /// Data that the capture does not hold.
    pub missing: Missing,
    /// Damage to the capture itself.
    pub damaged: Damage,
    /// Data that was not looked at.
    pub ignored: Ignored,
    /// Lines of kernel traces; null if the capture holds none.
    pub trace: Option<TraceStatistics>,
    /// A second file with the same packets, captured at the server: everything else is about the file at the client. Null if there is
    /// none.
    pub second_file: Option<SecondFileSummary>,
}

/// A second file with the same packets, as compared with the first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SecondFileSummary {
    /// The name of the file.
    pub file: String,
    /// The frames of the file.
    pub frames: u64,
    /// Packets that both files hold.
    pub packets_in_both: u64,
    /// RPCs that both files hold.
    pub rpcs_in_both: u64,
    /// Nanoseconds by which the clock of the second file is ahead of the first, at the end; negative if behind. Null if unknown.
    pub clock_ahead_ns: Option<i64>,
    /// Nanoseconds by which `clock_ahead_ns` may be wrong.
    pub clock_uncertainty_ns: Option<u64>,
    /// Nanoseconds of each second by which the clock of the second file is faster; negative if slower. Null if unknown.
    pub clock_drift_ns_per_s: Option<i64>,
    /// Nanoseconds by which `clock_drift_ns_per_s` may be wrong.
    pub clock_drift_uncertainty_ns: Option<u64>,
    /// Number of times that one of the two clocks was set.
    pub clock_steps: u64,
    /// Packets of RPC-over-RDMA connections that the second file lacks.
    pub missing_packets: u64,
    /// Packets that the client sent and that were lost before the place of the second file.
    pub lost_to_server: u64,
    /// Packets that the server sent and that were lost before the place of the first file.
    pub lost_to_client: u64,
}

impl SecondFileSummary {
    fn new(witness: &WitnessSummary) -> Self {
        let [lost_to_server, lost_to_client] = witness.lost_copies;
        Self {
            file: witness.file.clone(),
            frames: witness.frames,
            packets_in_both: witness.packets,
            rpcs_in_both: witness.rpcs,
            clock_ahead_ns: witness.clock_ahead,
            clock_uncertainty_ns: witness.clock_uncertainty,
            clock_drift_ns_per_s: witness.clock_drift,
            clock_drift_uncertainty_ns: witness.clock_drift_uncertainty,
            clock_steps: witness.clock_steps,
            missing_packets: witness.missed,
            lost_to_server,
            lost_to_client,
        }
    }
}

impl CaptureSummary {
    /// One with these frames, and nothing known of the rest.
    #[must_use]
    pub fn new(summary: &Summary) -> Self {
        Self {
            frames: summary.frames,
            octets: summary.octets,
            time_base: summary.time_base,
            first_ns: summary.first.map(|time| time.0),
            last_ns: summary.last.map(|time| time.0),
            trace: summary.trace.map(TraceStatistics::new),
            missing: Missing { cut_frames: summary.cut, ..Missing::default() },
            damaged: Damage {
                verified_packets: summary.verified,
                bad_icrc_packets: summary.bad_icrc,
                bad_vcrc_packets: summary.bad_vcrc,
                bad_crc_fpdus: summary.bad_crc,
                clock_steps: ClockStatistics::new(summary.clock),
                ..Damage::default()
            },
            ignored: Ignored {
                unreadable_packets: summary.unreadable,
                other_services: named(&summary.other_services),
                other_frames: named(&summary.others),
                ..Ignored::default()
            },
            second_file: summary.witness.as_deref().map(SecondFileSummary::new),
            ..Self::default()
        }
    }
}

/// Connections that were captured at the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PlaceCount {
    /// At the `client`, at the `server`, or `between` client and server.
    pub captured_at: &'static str,
    /// Source of the capture point: the `option` --captured-at, or `inferred` from the acknowledgements of both ends.
    pub captured_at_source: &'static str,
    /// Number of connections.
    pub connections: u64,
}

impl PlaceCount {
    /// So many connections.
    #[must_use]
    pub const fn new(place: CapturePoint, known: CapturePointSource, connections: u64) -> Self {
        Self { captured_at: place.name(), captured_at_source: known.name(), connections }
    }
}

/// Data that a capture does not hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Missing {
    /// Connections with packets of one end only: answers, latencies and losses on such connections are unknown. At most
    /// 100.
    pub directions: Vec<MissingDirectionObject>,
    /// Such connections that the list omits.
    pub directions_left_out: u64,
    /// Messages of which the capture holds only a part.
    pub incomplete_messages: u64,
    /// RPCs that could not be rebuilt because octets are missing; null if the command rebuilds none.
    pub not_rebuilt_rpcs: Option<u64>,
    /// RPCs that `--slower-than` left out because their latency is not known.
    pub untimed_rpcs: u64,
    /// Packets of connections that carry RPC-over-RDMA.
    pub packets: u64,
    /// Frames cut by the capture (snaplen).
    pub cut_frames: u64,
}

/// A connection with packets of one end only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MissingDirectionObject {
    /// Number of the connection.
    pub connection: u32,
    /// Address of the end whose packets were captured.
    pub captured: String,
    /// Address of the other end.
    pub missing: String,
}

impl MissingDirectionObject {
    /// The same with addresses as text.
    #[must_use]
    pub fn new(direction: &MissingDirection) -> Self {
        let MissingDirection { connection, captured, missing, .. } = direction;
        Self { connection: *connection, captured: captured.to_string(), missing: missing.to_string() }
    }
}

/// Damage to a capture itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Damage {
    /// Files that could not be read to their end, or not at all.
    pub files: Vec<UnreadFile>,
    /// Files that begin before the end of the previously read file.
    pub overlapping_files: u64,
    /// InfiniBand packets whose checksums were verified (`--verify-crc`).
    pub verified_packets: u64,
    /// Packets whose ICRC is wrong.
    pub bad_icrc_packets: u64,
    /// Packets whose VCRC is wrong.
    pub bad_vcrc_packets: u64,
    /// FPDUs of iWARP whose CRC is in force and wrong.
    pub bad_crc_fpdus: u64,
    /// Steps back of the clock: latencies across one are wrong.
    pub clock_steps: ClockStatistics,
}

/// A file that could not be read to the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct UnreadFile {
    /// Name of the file, as given.
    pub file: String,
    /// True if the file was read up to here; false if nothing could be read.
    pub partly_read: bool,
    /// Octets of the file, uncompressed, before the record that could not be read.
    pub offset_octets: u64,
    /// Description of the problem.
    pub reason: String,
}

impl UnreadFile {
    /// Describes an error.
    #[must_use]
    pub fn new(error: &rpcrdma_dissector::FileError) -> Self {
        Self {
            file: error.file.clone(),
            partly_read: error.is_damage(),
            offset_octets: error.offset,
            reason: error.problem.to_string(),
        }
    }
}

/// Data that was not looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Ignored {
    /// InfiniBand packets that were cut within their own headers.
    pub unreadable_packets: u64,
    /// Connections that show no RPC-over-RDMA: a connection without captured setup may carry some.
    pub other_connections: u64,
    /// Packets of the other connections.
    pub other_packets: u64,
    /// InfiniBand packets of no reliable connection, by their transport service: `CNP`, `UC`, `RD`, `UD` (without connection
    /// management), or `unknown opcode`.
    pub other_services: Vec<NamedCount>,
    /// Duplicates of packets of connections that carry RPC-over-RDMA: the capture or the network made them.
    pub duplicate_packets: u64,
    /// Frames that are neither InfiniBand nor iWARP, by kind.
    pub other_frames: Vec<NamedCount>,
    /// Requests for a connection that were refused.
    pub rejected_connections: u64,
}

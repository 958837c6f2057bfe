//! The last record of a command, with the facts that the earlier records do not show.

use rpcrdma_dissector::{CapturedAt, PlaceKnown, Summary};
use serde::Serialize;

use crate::findings::FindingTotals;
use crate::gaps::MissingDirection;
use crate::stats::{ClockStatistics, NamedCount, named};

/// The end of what a command prints: how it ended, and what was missing, damaged or ignored.
#[derive(Clone, Debug, Default, Serialize, schemars::JsonSchema)]
#[non_exhaustive]
pub struct CommandSummary {
    /// The name of the command.
    pub command: &'static str,
    /// Exit status of the command.
    pub exit_status: u8,
    /// True if it was ended by Ctrl-C or SIGTERM: the records before are the results until then.
    pub interrupted: bool,
    /// The captures that were read: one, or the two of `compare`, or none for `header`.
    pub captures: Vec<CaptureSummary>,
    /// Number of findings `check` has; null for other commands.
    pub findings: Option<FindingTotals>,
    /// True if `compare` found a regression; null for other commands.
    pub regression: Option<bool>,
    /// True if `header` swapped the octets of each word of its dump; null for other commands.
    pub octets_swapped: Option<bool>,
    /// Items that the command left out on its own account.
    pub left_out: LeftOut,
    /// Notices that the command prints on standard error, unless it is told to be quiet. Notices about files that it
    /// could not read are in `captures`.
    pub notices: Vec<String>,
}

/// The last record of `--separate`: what became of the captures, each of which has ended with a summary of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
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

/// Items that a command left out because there were too many, or because they do not belong there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[non_exhaustive]
pub struct LeftOut {
    /// Of `slow`: calls without a reply.
    pub unanswered_calls: u64,
    /// Of `pending`: calls under whose `rdma_xid` another was sent.
    pub repeated_calls: u64,
    /// Of `pending`: calls that are younger than as many as are kept.
    pub newer_calls: u64,
    /// Messages and events for which there was no room until it was known whether their RPCs are selected.
    pub undecided: u64,
    /// Of `check` and `compare`: findings for which there was no room until it was known whether their RPCs are selected.
    pub undecided_findings: u64,
    /// Of `explain`: RPCs beyond as many as are shown.
    pub unexplained_rpcs: u64,
    /// Findings and signs of loss that exceeded the limit (`explain`).
    pub unkept_findings_and_events: u64,
    /// RPCs of operations that exceeded the limit (`compare`).
    pub other_operations_rpcs: u64,
}

/// A capture that was read: of one file, or several.
#[derive(Clone, Debug, Default, Serialize, schemars::JsonSchema)]
#[non_exhaustive]
pub struct CaptureSummary {
    /// Its files, in the order in which they were read.
    pub files: Vec<String>,
    /// True if that is another order than the one in which they were given: that of their first frames.
    pub reordered: bool,
    /// The frames.
    pub frames: u64,
    /// Captured octets of the frames.
    pub octets: u64,
    /// Time of the first frame, in nanoseconds since 1970-01-01 00:00 UTC; null if there is none.
    pub first_ns: Option<u64>,
    /// Time of the last frame.
    pub last_ns: Option<u64>,
    /// Messages of RPC-over-RDMA.
    pub messages: u64,
    /// Messages that the filters let pass.
    pub messages_selected: u64,
    /// RPCs; null if the command does not put them together.
    pub rpcs: Option<u64>,
    /// RPCs that the filters let pass.
    pub rpcs_selected: Option<u64>,
    /// The options that filtered.
    pub filters: Vec<&'static str>,
    /// Places of the capture, as far as they are known: they tell in which phases of RPCs the network is.
    pub captured_at: Vec<PlaceCount>,
    /// Data that the capture does not hold.
    pub missing: Missing,
    /// Damage to the capture itself.
    pub damaged: Damage,
    /// Data that was not looked at.
    pub ignored: Ignored,
}

impl CaptureSummary {
    /// One with these frames, and nothing known of the rest.
    #[must_use]
    pub fn new(summary: &Summary) -> Self {
        Self {
            frames: summary.frames,
            octets: summary.octets,
            first_ns: summary.first.map(|time| time.0),
            last_ns: summary.last.map(|time| time.0),
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
            ..Self::default()
        }
    }
}

/// Connections that were captured at the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[non_exhaustive]
pub struct PlaceCount {
    /// At the `requester`, at the `responder`, or `between` them.
    pub captured_at: &'static str,
    /// Source of that place: `given`, or `inferred` from the acknowledgements of both ends.
    pub captured_at_known: &'static str,
    /// Number of connections.
    pub connections: u64,
}

impl PlaceCount {
    /// So many connections.
    #[must_use]
    pub const fn new(place: CapturedAt, known: PlaceKnown, connections: u64) -> Self {
        Self { captured_at: place.name(), captured_at_known: known.name(), connections }
    }
}

/// Data that a capture does not hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[non_exhaustive]
pub struct Missing {
    /// Connections with packets of one end only: which calls were answered, how long they took and what was lost is not known
    /// of them. At most 100.
    pub directions: Vec<MissingDirectionObject>,
    /// Such connections beyond those in the list.
    pub directions_left_out: u64,
    /// Messages of which it holds only a part.
    pub incomplete_messages: u64,
    /// RPCs that could not be put together because octets of them are missing; null if the command does not put any together.
    pub not_rebuilt_rpcs: Option<u64>,
    /// RPCs that `--slower-than` left out because their latency is not known.
    pub untimed_rpcs: u64,
    /// Packets of connections that carry RPC-over-RDMA.
    pub packets: u64,
    /// Frames that were cut when they were captured (snaplen).
    pub cut_frames: u64,
}

/// A connection with packets of one end only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[non_exhaustive]
pub struct Damage {
    /// Files that could not be read to their end, or not at all.
    pub files: Vec<UnreadFile>,
    /// Files that begin before the one that was read before them ends.
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

/// A file that could not be read to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[non_exhaustive]
pub struct UnreadFile {
    /// Name of the file, as given.
    pub file: String,
    /// True if it was read up to here; otherwise none of it could be read.
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[non_exhaustive]
pub struct Ignored {
    /// InfiniBand packets that were cut within their own headers.
    pub unreadable_packets: u64,
    /// Connections that show no RPC-over-RDMA: those whose setup the capture lacks may carry some.
    pub other_connections: u64,
    /// Packets of the other connections.
    pub other_packets: u64,
    /// InfiniBand packets of no reliable connection, by their transport service: `CNP`, `UC`, `RD`, `UD` (without connection
    /// management), or `unknown opcode`.
    pub other_services: Vec<NamedCount>,
    /// Copies of packets of connections that carry RPC-over-RDMA: the capture or the network made them.
    pub copied_packets: u64,
    /// Frames that are neither InfiniBand nor iWARP, by what they are.
    pub other_frames: Vec<NamedCount>,
    /// Requests for a connection that were refused.
    pub rejected_connections: u64,
}

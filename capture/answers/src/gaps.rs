//! Gaps of a capture. Because of a gap, an event that the capture does not show may have happened nevertheless.

use core::fmt;
use std::borrow::Cow;

use rpcrdma_dissector::link::Other;
use rpcrdma_dissector::{Address, Captured, Event, RECORD_EVENTS, Report, Side, Summary, TraceClock};

use crate::format::number::{counted, duration};

/// The most connections with a missing direction that are listed.
const LISTED: usize = 100;

/// Counts of the gaps of a capture. The gaps decide whether the absence of a packet proves anything.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Gaps {
    /// Number of messages: Sends of RPC-over-RDMA.
    pub messages: u64,
    /// Number of messages that are incomplete in the capture.
    pub incomplete: u64,
    /// Number of these that frames were cut for (snaplen), and that show their RPC all the same.
    pub cut: u64,
    /// Number of messages that do not show their RPC, because frames were cut.
    pub cut_headers: u64,
    /// The most octets that were captured of one of these.
    pub longest_cut: usize,
    /// Number of packets of RPC-over-RDMA connections that are missing from the capture.
    pub packets: u64,
    /// Connections with packets of one end only: the first hundred.
    pub directions: Vec<MissingDirection>,
    /// Number of connections with a missing direction beyond the listed ones.
    pub directions_left_out: u64,
    /// Number of connections whose directions were captured by two clocks.
    pub two_clocks: u64,
    /// Number of files that could not be read to their end.
    pub files: u64,
    /// Number of connections without a message that were set up before the capture. Some may carry RPC-over-RDMA.
    pub joined: u64,
    /// Requests for RPC-over-RDMA connections that were rejected or not answered.
    pub requests: u64,
}

/// A connection with packets of one end only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissingDirection {
    /// Number of the connection.
    pub connection: u32,
    /// Address of the end whose packets were captured.
    pub captured: Address,
    /// Address of the other end.
    pub missing: Address,
    /// `true` if the setup of the connection, or the TCP ports, name both ends.
    pub paired: bool,
}

/// The gravest gap of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Gap {
    /// There is no message.
    Empty,
    /// One direction of a connection is missing.
    MessageDirection,
    /// A file could not be read completely.
    File,
    /// Packets are missing.
    Packets,
    /// Messages were cut.
    Messages,
    /// The order of packets is not known, because two clocks gave their times.
    TwoClocks,
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "the capture holds no RPC-over-RDMA message",
            Self::MessageDirection => "one direction of a connection is missing from the capture",
            Self::File => "a file could not be read to its end",
            Self::Packets => "packets are missing from the capture",
            Self::Messages => "messages are incomplete in the capture",
            Self::TwoClocks => "connections were captured by two clocks",
        })
    }
}

impl Gaps {
    /// Takes an event.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Message(message) => {
                self.messages += 1;
                self.incomplete += u64::from(message.captured != Captured::Whole);
                if message.captured == Captured::Cut {
                    let hides_rpc = message.hides_rpc();
                    self.cut += u64::from(!hides_rpc);
                    self.cut_headers += u64::from(hides_rpc);
                    if hides_rpc {
                        self.longest_cut = self.longest_cut.max(message.octets.len());
                    }
                }
            }
            Event::Transaction(transaction) if transaction.is_traced_only() => {
                let halves = [&transaction.call, &transaction.reply];
                self.messages += halves.iter().filter(|half| half.is_some()).count() as u64;
            }
            Event::Connection(report) => self.connection(report),
            Event::Rejected(rejected) => self.requests += u64::from(rejected.is_for_rpc),
            Event::UnansweredRequest(request) => self.requests += u64::from(request.is_for_rpc),
            _ => {}
        }
    }

    fn connection(&mut self, report: &Report) {
        let Some(number) = report.number else {
            self.joined += u64::from(!report.connection.setup_captured);
            return;
        };
        self.two_clocks += u64::from(report.late_clock.is_some());
        self.packets += report.counts.active.missed + report.counts.passive.missed;
        let Some(missing) = report.missing_direction() else { return };
        if self.directions.len() == LISTED {
            self.directions_left_out += 1;
            return;
        }
        let address = |side: Side| report.connection.ends.get(side).address;
        self.directions.push(MissingDirection {
            connection: number,
            captured: address(missing.other()),
            missing: address(missing),
            paired: report.connection.paired,
        });
    }

    /// The gravest gap; `None` if the capture shows no gap.
    #[must_use]
    pub fn gravest(&self) -> Option<Gap> {
        let gaps = [
            (self.messages == 0, Gap::Empty),
            (!self.directions.is_empty(), Gap::MessageDirection),
            (self.files > 0, Gap::File),
            (self.packets > 0, Gap::Packets),
            (self.incomplete > 0, Gap::Messages),
            (self.two_clocks > 0, Gap::TwoClocks),
        ];
        gaps.into_iter().find(|(is_there, _)| *is_there).map(|(_, gap)| gap)
    }

    /// Returns the data that each missing direction hides, as sentences without a full stop: the first `most`
    /// connections, then the number of others.
    #[must_use]
    pub fn hidden(&self, most: usize) -> Vec<String> {
        let mut lines: Vec<String> = self.directions.iter().take(most).map(|one| self.hidden_by(one)).collect();
        let more = self.directions.len().saturating_sub(most) as u64 + self.directions_left_out;
        match more {
            0 => {}
            1 => lines.push("one direction of 1 more connection is missing from the capture".to_owned()),
            _ => lines.push(format!("one direction of {more} more connections is missing from the capture")),
        }
        lines
    }

    /// The likely reason for a capture without messages, and what to try; `others` are connections without RPC-over-RDMA.
    #[must_use]
    pub fn why_empty(&self, summary: &Summary, others: u64) -> Cow<'static, str> {
        if summary.frames == 0 {
            "the capture has no frames".into()
        } else if summary.trace.is_some() {
            format!("the kernel trace holds no RPC: {RECORD_EVENTS}").into()
        } else if self.requests > 0 {
            "no connection was set up: rpcrdma diagnose says what became of the requests".into()
        } else if summary.packets + summary.segments == 0 {
            why_without_rdma(summary)
        } else if summary.cut > summary.frames / 2 {
            let cut = summary.cut;
            let all = summary.frames;
            format!(
                "{cut} of {all} frames were cut, before the headers of RPC-over-RDMA or within them: capture at least 256 octets of \
                 each packet (tcpdump -s 256)"
            )
            .into()
        } else if let Some(wrong) = why_unverified(summary, others) {
            wrong.into()
        } else if self.joined > 0 && self.joined == others {
            let (connections, it) =
                if others == 1 { ("its connection was", "it carries") } else { ("its connections were", "they carry") };
            format!(
                "{connections} set up before the capture, so what {it} is not known: capture for longer, or from before the mount"
            )
            .into()
        } else if others == 0 {
            "none of the RDMA packets belongs to a reliable connection".into()
        } else {
            "if NFS uses another port than 20049, add --port N".into()
        }
    }

    fn hidden_by(&self, one: &MissingDirection) -> String {
        const UNKNOWN: &str = "which calls were answered, how long they took and what was lost is not known";
        let MissingDirection { connection, captured, missing, .. } = one;
        let half = self.directions.iter().find(|other| one.may_be_half_of(other));
        let rest = match half {
            Some(half) => {
                format!("; it and connection {} may be the two directions of one connection", half.connection)
            }
            None => format!(", none of {missing}"),
        };
        format!("connection {connection}: the capture holds only packets of {captured}{rest}: {UNKNOWN}")
    }
}

/// Sentence about the trace events that the kernel lost, without a full stop; `None` without a loss.
#[must_use]
pub fn lost_events(summary: &Summary) -> Option<String> {
    let lost = summary.trace.map_or(0, |trace| trace.lost);
    let events = if lost == 1 { "1 event".to_owned() } else { format!("{lost} events") };
    (lost > 0).then(|| {
        format!(
            "{events} lost by the ring buffers of the kernel: record with larger ones (trace-cmd record -b KILOBYTES)"
        )
    })
}

/// Sentences about the clocks of kernel traces beside the clock of the packets, without a full stop.
#[must_use]
pub fn trace_clocks(summary: &Summary) -> Vec<String> {
    let clocks = summary.trace.map(|trace| trace.clocks).unwrap_or_default();
    let named = [("client", clocks.client), ("server", clocks.server)];
    let line = |(name, clock): (&str, Option<TraceClock>)| {
        let clock = clock?;
        let (rpcs, uncertainty) = (counted(clock.rpcs, "RPC"), duration(clock.bounds.uncertainty()));
        Some(format!(
            "the clock of the {name}'s trace was aligned with that of the packets by {rpcs}, to within {uncertainty}"
        ))
    };
    named.into_iter().filter_map(line).collect()
}

/// The packets whose checksum is wrong, if these were left out and that may be why no message is left.
fn why_unverified(summary: &Summary, others: u64) -> Option<String> {
    let (all, wrong) = (summary.verified, summary.bad_icrc.max(summary.bad_vcrc));
    let is_reason = wrong > 0 && (others == 0 || wrong > all / 2);
    is_reason.then(|| format!("{wrong} of {all} packets have a wrong checksum, and --verify-crc leaves these out"))
}

/// The likely reason for a capture without RDMA, and what to try.
fn why_without_rdma(summary: &Summary) -> Cow<'static, str> {
    // A mirror sends little else than what it wraps.
    let most = summary.others.iter().find(|(_, count)| *count > summary.frames / 2);
    match most {
        Some((other, count)) if other.may_encapsulate() => format!(
            "{count} of {} frames are {other}, which is not read; if the RDMA packets are inside, remove what is in front of \
             them; if that is 42 octets: editcap -C 42 -L IN OUT (with -T ether if Ethernet begins there, or -T rawip)",
            summary.frames
        )
        .into(),
        Some((other, _)) if *other == Other::OUTER_FRAGMENT => {
            "the packets that encapsulate frames are fragmented, and fragments are not put together; let the mirror cut frames, or \
             raise the MTU of the network between the mirror and the machine that captures"
                .into()
        }
        _ if !summary.nfs_over_tcp.is_empty() => why_over_tcp(summary),
        _ => "the capture holds no InfiniBand, RoCE or iWARP; an adapter hides RDMA traffic from its host, so capture UDP port \
              4791 (iWARP: TCP port 20049) on a mirror port, or use ibdump"
            .into(),
    }
}

/// The likely reason for a capture with NFS over TCP and without RDMA.
#[cold]
fn why_over_tcp(summary: &Summary) -> Cow<'static, str> {
    let servers: Vec<String> = summary.nfs_over_tcp.iter().map(|known| known.server.to_string()).collect();
    format!(
        "the capture holds NFS over TCP to {}, and no RDMA: these mounts use TCP (mount with proto=rdma,port=20049), or an adapter \
         hides its RDMA traffic from its host, so capture on a mirror port or use ibdump",
        servers.join(", ")
    )
    .into()
}

impl MissingDirection {
    /// Returns true if nothing in the capture ties the ends of the two connections together, and their packets go between the same
    /// addresses, in opposite directions.
    fn may_be_half_of(&self, other: &Self) -> bool {
        self.connection != other.connection
            && !self.paired
            && !other.paired
            && (self.captured, self.missing) == (other.missing, other.captured)
    }
}

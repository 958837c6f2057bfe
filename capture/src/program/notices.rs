//! What the user should know of an input beside what is in it.

use rpcrdma_capture::dissector::Summary;
use rpcrdma_capture::event::{Event, Report};
use rpcrdma_capture::message::{Captured, Status};
use rpcrdma_capture::operation::Sides;
use rpcrdma_capture::transaction::{Half, NotRebuilt, Transaction};

use super::{DAMAGED, UNUSABLE};

/// Counts what is noteworthy.
#[derive(Debug, Default)]
pub(super) struct Notices {
    /// A file could not be read at all.
    pub(super) unusable: bool,
    /// A file was damaged.
    pub(super) damaged: bool,
    messages: u64,
    incomplete: u64,
    rpcs_incomplete: u64,
    missed: u64,
    other_connections: u64,
    other_packets: u64,
    rejected: u64,
}

impl Notices {
    /// Takes note of an event.
    pub(super) fn event(&mut self, event: &Event) {
        match event {
            Event::Message(message) => {
                self.messages += 1;
                self.incomplete += u64::from(message.captured != Captured::Whole);
            }
            Event::Transaction(transaction) => {
                self.rpcs_incomplete += u64::from(is_incomplete(transaction));
            }
            Event::Connection(report) => self.connection(report),
            Event::Rejected(_) => self.rejected += 1,
            Event::Opened(_) | Event::Lost(_) | Event::Memory(_) => {}
            // It is shown among the messages.
            Event::Terminated(_) => {}
        }
    }

    fn connection(&mut self, report: &Report) {
        let Sides { active, passive } = report.counts;
        if report.number.is_some() {
            self.missed += active.missed + passive.missed;
        } else {
            self.other_connections += 1;
            self.other_packets += active.packets + passive.packets;
        }
    }

    /// The exit status.
    pub(super) fn status(&self, summary: &Summary) -> u8 {
        let incomplete = self.incomplete + self.rpcs_incomplete + self.missed > 0;
        if self.unusable {
            UNUSABLE
        } else if self.damaged || incomplete || bad(summary) + summary.bad_crc > 0 {
            DAMAGED
        } else {
            0
        }
    }

    /// The lines to say, in the order of their weight.
    pub(super) fn lines(&self, summary: &Summary, verified: bool) -> Vec<String> {
        let mut lines = Vec::new();
        let mut say = |count: u64, text: String| {
            if count > 0 {
                lines.push(text);
            }
        };
        if verified {
            let (all, bad) = (summary.verified, bad(summary));
            let has_any = all > 0 || summary.segments == 0;
            say(has_any.into(), format!("{bad} of {} with a wrong checksum, left out", counted(all, "packet")));
        }
        let left_out = if verified { ", left out" } else { "" };
        say(summary.bad_crc, format!("{} of iWARP with a wrong CRC{left_out}", counted(summary.bad_crc, "FPDU")));
        say(self.incomplete, format!("{} not whole in the capture", counted(self.incomplete, "message")));
        let rpcs = counted(self.rpcs_incomplete, "RPC");
        say(self.rpcs_incomplete, format!("{rpcs} not rebuilt, as the capture does not hold all of them"));
        let missed = counted(self.missed, "packet");
        say(self.missed, format!("{missed} of RPC-over-RDMA connections missed by the capture"));
        let cut = counted(summary.cut, "frame");
        say(summary.cut, format!("{cut} cut by the capture (snaplen)"));
        let (packets, connections) = (self.other_packets, self.other_connections);
        let (packets_text, connections) = (counted(packets, "packet"), counted(connections, "connection"));
        say(packets, format!("left alone: {packets_text} on {connections} without RPC-over-RDMA"));
        let others = summary.others.iter().map(|(name, count)| format!("{name} ({count})")).collect::<Vec<_>>();
        say(others.len() as u64, format!("left alone: frames of other kinds: {}", others.join(", ")));
        let unreadable = counted(summary.unreadable, "InfiniBand packet");
        say(summary.unreadable, format!("left alone: {unreadable} cut inside the headers"));
        if self.messages == 0 && !self.unusable {
            lines.push(self.nothing(summary));
        }
        lines
    }

    /// Why there may be no message, and what to try.
    fn nothing(&self, summary: &Summary) -> String {
        let hint = if summary.frames == 0 {
            "the capture has no frames"
        } else if summary.packets + summary.segments == 0 {
            "the capture holds no InfiniBand, RoCE or iWARP: capture UDP port 4791, or TCP port 20049 for iWARP, on a port that \
             mirrors RDMA traffic or with ibdump, as an adapter hides it from the host"
        } else if self.other_connections == 0 {
            "the RDMA packets belong to no reliable connection"
        } else {
            "if a connection of this capture carries it to a service port other than 20049, name that with --port"
        };
        format!("no RPC-over-RDMA message found: {hint}")
    }
}

/// Whether the capture does not hold all of an RPC. A server that refuses a call need not pull its Read chunks.
fn is_incomplete(transaction: &Transaction) -> bool {
    let lacks = |half: &Option<Half>| {
        half.as_ref().is_some_and(|half| matches!(half.message, Err(NotRebuilt::Send | NotRebuilt::Chunk { .. })))
    };
    lacks(&transaction.reply) || (lacks(&transaction.call) && matches!(transaction.status, Some(Status::Success(_))))
}

fn bad(summary: &Summary) -> u64 {
    summary.bad_icrc.max(summary.bad_vcrc)
}

fn counted(count: u64, name: &str) -> String {
    if count == 1 { format!("1 {name}") } else { format!("{count} {name}s") }
}

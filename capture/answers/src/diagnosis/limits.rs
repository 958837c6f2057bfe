//! Limits of what a capture shows.

use rpcrdma_dissector::Time;

use super::judgement::Judgement;
use crate::format::line::sentence;
use crate::format::number::{counted, duration, grouped};
use crate::gaps::{lost_events, trace_clocks};
use crate::stats::{REORDER, sorted_frames};

/// Words after the number of RPCs that ended with NFS4ERR_MOVED, if the client asked for no locations after them.
const UNFOLLOWED: &str = "ended with NFS4ERR_MOVED: the file system is on another server. That is no failure; the capture does not show \
                          that the client asks where (fs_locations), which it may know.";

impl Judgement<'_> {
    /// The limits of the capture as sentences, except those that are a cause.
    pub(super) fn limits(&self) -> Vec<String> {
        if self.gaps.messages == 0 {
            return Vec::new();
        }
        let Self { waits, silence, facts, summary, .. } = self;
        let missed = self.gaps.packets;
        let connections = counted(facts.connections, "connection");
        let longest = Time(summary.clock.longest_ns);
        let line = |count: u64, name: &str, rest: &str| (count > 0).then(|| format!("{} {rest}", counted(count, name)));
        let recent = format!("without a reply, which had waited for less than {} at the end.", duration(silence.least));
        let joined = format!(
            "{} of {connections}: set up before the capture, so inline thresholds and first credits are unknown.",
            grouped(facts.joined)
        );
        let unread = format!(
            "{} of {connections}: the private data of the setup was cut, so inline thresholds are unknown, and too small ones are not \
             found (tcpdump -s 512 captures private data).",
            grouped(facts.cut_setups)
        );
        let clock = format!("The clock steps back by up to {longest} s: times across that are wrong; {REORDER}.");
        let cut = match self.gaps.cut {
            0 => "cut by the capture (snaplen): checksums of these are not known.".to_owned(),
            messages => format!(
                "cut by the capture (snaplen): checksums of these, the ends of {} and data that RDMA moved are not known.",
                counted(messages, "message")
            ),
        };
        let lines = [
            (facts.joined > 0).then_some(joined),
            lost_events(summary).map(|text| sentence(&text)),
            (facts.cut_setups > 0).then_some(unread),
            line(if self.misses_packets() { 0 } else { missed }, "packet", "missing from the capture."),
            line(self.gaps.incomplete - self.gaps.cut, "message", "incomplete in the capture."),
            line(summary.cut, "frame", &cut),
            (summary.clock.count > 0).then_some(clock),
            sorted_frames(summary.clock.sorted).map(|text| sentence(&text)),
            line(
                waits.unassigned,
                "RPC",
                "or others: packets were retransmitted for one of these; the capture does not show which.",
            ),
            line(waits.undecided, "call", "without a reply: who owes the next step is unknown."),
            line(silence.recent, "call", &recent),
            line(waits.unanswered_left_out, "call", "more without a reply."),
            line(facts.referrals.followed, "RPC", &facts.referrals.describe_followed(&summary.nfs_over_tcp)),
            line(facts.referrals.unfollowed(), "RPC", UNFOLLOWED),
        ];
        let clocks = trace_clocks(summary).into_iter().map(|text| sentence(&text));
        lines.into_iter().flatten().chain(clocks).collect()
    }
}

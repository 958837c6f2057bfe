//! Limits of what a capture shows.

use super::judge::Judgement;
use crate::file::Time;
use crate::output::format::number::{counted, duration, grouped};

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
        let lines = [
            (
                facts.joined,
                format!(
                    "{} of {connections}: set up before the capture, so inline thresholds and first credits are unknown.",
                    grouped(facts.joined)
                ),
            ),
            (
                if self.misses_packets() { 0 } else { missed },
                format!("{} missing from the capture.", counted(missed, "packet")),
            ),
            (
                if summary.cut > 0 { 0 } else { self.gaps.incomplete },
                format!("{} incomplete in the capture.", counted(self.gaps.incomplete, "message")),
            ),
            (summary.cut, format!("{} cut by the capture.", counted(summary.cut, "frame"))),
            (summary.clock.count, format!("The clock steps back by up to {longest} s: times across that are wrong.")),
            (
                waits.unassigned,
                format!("{} or others: packets were sent again for one of them.", counted(waits.unassigned, "RPC")),
            ),
            (
                waits.undecided,
                format!("{} without a reply: who owes the next step is unknown.", counted(waits.undecided, "call")),
            ),
            (
                silence.recent,
                format!(
                    "{} without a reply, which had waited for less than {} at the end.",
                    counted(silence.recent, "call"),
                    duration(silence.least)
                ),
            ),
            (
                waits.unanswered_left_out,
                format!("{} more without a reply.", counted(waits.unanswered_left_out, "call")),
            ),
        ];
        lines.into_iter().filter(|(count, _)| *count > 0).map(|(_, line)| line).collect()
    }
}

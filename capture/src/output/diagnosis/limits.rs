//! What a capture cannot show.

use super::judge::Judgement;
use crate::file::Time;
use crate::output::stats::text::{counted, grouped};

impl Judgement<'_> {
    /// What the capture cannot show, as sentences, except for what is a cause.
    pub(super) fn limits(&self) -> Vec<String> {
        if self.gaps.messages() == 0 {
            return Vec::new();
        }
        let lines =
            [(self.facts.joined, "was set up before the capture: its inline thresholds and first credits are unknown")];
        let mut limits: Vec<String> = lines
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, text)| {
                format!("{} of {} {text}.", grouped(*count), counted(self.facts.connections, "connection"))
            })
            .collect();
        let missed = self.gaps.packets();
        if missed > 0 {
            limits.push(format!("{} missing from the capture.", counted(missed, "packet")));
        }
        if self.summary.cut > 0 {
            limits.push(format!("{} cut by the capture.", counted(self.summary.cut, "frame")));
        }
        let clock = self.summary.clock;
        if clock.count > 0 {
            let longest = Time(clock.longest_ns);
            limits.push(format!("The clock steps back by up to {longest} s: times across that are wrong."));
        }
        if self.waits.unassigned > 0 {
            limits.push(format!(
                "{}: packets were sent again, and nothing shows for which RPC.",
                counted(self.waits.unassigned, "RPC")
            ));
        }
        if self.waits.undecided > 0 {
            let calls = counted(self.waits.undecided, "call");
            limits.push(format!("{calls} without a reply: who owes the next step is unknown."));
        }
        if self.silence.recent > 0 {
            let calls = counted(self.silence.recent, "call");
            limits.push(format!("{calls} without a reply had not waited for long when the capture ended."));
        }
        if self.waits.unanswered_left_out > 0 {
            limits.push(format!("{} more without a reply.", counted(self.waits.unanswered_left_out, "call")));
        }
        limits
    }
}

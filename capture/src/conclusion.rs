//! End of a command: exit status, notices on standard error, and, as JSON, the last record.

use rpcrdma_answers::findings::FindingTotals;
use rpcrdma_answers::gaps::Gap;
use rpcrdma_answers::summary::{CommandSummary, LeftOut};

use crate::failure::{Failure, say};
use crate::judge::Judge;
use crate::output;
use crate::source::{Done, InputSource};
use crate::spool::write_record;

/// The end of a command.
pub(crate) struct Conclusion {
    summary: CommandSummary,
    /// True if the output ends with a record.
    is_record: bool,
    quiet: bool,
}

impl Conclusion {
    /// Returns the conclusion of a command, with a record if the output is JSON.
    pub(crate) fn new(command: &'static str, json: bool, quiet: bool) -> Self {
        let mut summary = CommandSummary::default();
        summary.command = command;
        Self { summary, is_record: json, quiet }
    }

    /// Says something, unless the user wants quiet.
    pub(crate) fn say(&mut self, text: String) {
        if !self.quiet {
            say(&text);
        }
        self.summary.notices.push(text);
    }

    /// Says that something is not there: `all_clear` if the capture lacks nothing, and `was_not_captured` otherwise.
    /// Of a capture without messages there is nothing to say.
    pub(crate) fn say_nothing(&mut self, all_clear: &str, was_not_captured: &str, gap: Option<Gap>) {
        match gap {
            None => self.say(all_clear.to_owned()),
            Some(Gap::Empty) => {}
            Some(gap) => self.say(format!("{was_not_captured}, but {gap}")),
        }
    }

    /// Adds the notices of a capture that was read, before all earlier ones.
    pub(crate) fn capture(&mut self, source: &InputSource<'_>, done: &Done) {
        self.summary.interrupted |= done.notices.interrupted;
        self.summary.left_out.undecided += done.notices.undecided;
        self.summary.notices.extend(source.order());
        self.summary.notices.extend(source.notes(&done.notices, &done.summary));
        self.summary.captures.push(source.summary(done));
    }

    /// Adds the findings that the judge had no room for.
    pub(crate) fn judge(&mut self, judge: &Judge<'_>) {
        self.summary.left_out.undecided_findings += judge.left_out();
        self.summary.notices.extend(judge.say_left_out(self.quiet));
    }

    /// Returns the counts of items that the command left out.
    pub(crate) const fn left_out(&mut self) -> &mut LeftOut {
        &mut self.summary.left_out
    }

    /// Sets the findings of `check`.
    pub(crate) const fn findings(&mut self, totals: FindingTotals) {
        self.summary.findings = Some(totals);
    }

    /// Sets the result of `compare`.
    pub(crate) const fn regression(&mut self, is_regression: bool) {
        self.summary.regression = Some(is_regression);
    }

    /// Notes if `header` read words in little-endian order.
    pub(crate) const fn octets_swapped(&mut self, are_swapped: bool) {
        self.summary.octets_swapped = Some(are_swapped);
    }

    /// Ends the output, and returns the exit status.
    pub(crate) fn end_output(mut self, status: u8) -> Result<u8, Failure> {
        if self.is_record {
            self.summary.exit_status = status;
            let mut out = Vec::new();
            write_record(&self.summary, &mut out)?;
            output::write(&out)?;
        }
        Ok(status)
    }
}

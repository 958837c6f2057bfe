//! The findings that were asked for.

use std::io;

use rpcrdma_answers::format::number::counted;
use rpcrdma_answers::selection::Verdict;
use rpcrdma_dissector::check::{Checker, Count, Found};
use rpcrdma_dissector::{Event, Time};

use crate::deferred_items::Undecided;
use crate::failure::say;
use crate::filters::Filters;
use crate::source::Known;

/// Use of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FindingUse {
    /// Context of the selected findings. Each finding is given as this first.
    Context,
    /// The filters let the finding pass.
    Shown,
}

/// Takes events, and gives the findings that the filters let pass.
pub(crate) struct Judge<'a> {
    filters: Filters<'a>,
    checker: Checker,
    undecided: Undecided<Found>,
}

impl<'a> Judge<'a> {
    pub(crate) fn new(filters: Filters<'a>) -> Self {
        Self { filters, checker: Checker::default(), undecided: Undecided::default() }
    }

    /// Judges an event, and hands the wanted findings to `show`.
    pub(crate) fn event(
        &mut self,
        event: &Event,
        known: Known<'_>,
        mut show: impl FnMut(&Found) -> io::Result<()>,
    ) -> io::Result<()> {
        self.event_in_context(event, known, only_shown(&mut show))
    }

    /// As [`event`](Self::event); gives every finding as context too.
    pub(crate) fn event_in_context(
        &mut self,
        event: &Event,
        known: Known<'_>,
        mut take: impl FnMut(&Found, FindingUse) -> io::Result<()>,
    ) -> io::Result<()> {
        self.checker.event(event);
        self.rest(known.first, &mut take)?;
        if self.filters.selection.selects_parts_by_rpc() {
            let late = self.undecided.settle(event, known.is_wanted_at_some_time, |_| 0);
            late.iter().try_for_each(|found| take(found, FindingUse::Shown))?;
        }
        Ok(())
    }

    /// Gives `show` what is left at the end and wanted. A message that belongs to no RPC, and so does not show which end is the client, is
    /// selected by either address.
    pub(crate) fn finish(&mut self, first: Time, mut show: impl FnMut(&Found) -> io::Result<()>) -> io::Result<()> {
        self.finish_in_context(first, only_shown(&mut show))
    }

    /// As [`finish`](Self::finish); gives every finding as context too.
    pub(crate) fn finish_in_context(
        &mut self,
        first: Time,
        mut take: impl FnMut(&Found, FindingUse) -> io::Result<()>,
    ) -> io::Result<()> {
        self.rest(first, &mut take)?;
        let mut of_no_rpc = self.undecided.take_waiting();
        if self.filters.selection.asks_for_rpcs() {
            return Ok(());
        }
        of_no_rpc.sort_by_key(|found| found.stamp.frame);
        of_no_rpc.iter().try_for_each(|found| take(found, FindingUse::Shown))
    }

    fn rest(&mut self, first: Time, mut take: impl FnMut(&Found, FindingUse) -> io::Result<()>) -> io::Result<()> {
        let selection = &self.filters.selection;
        while let Some(found) = self.checker.finding() {
            take(&found, FindingUse::Context)?;
            if !selection.window(first).contains(found.stamp.time) {
                continue;
            }
            let shown = match selection.judge_finding(&found) {
                Verdict::Wanted => Some(found),
                Verdict::Unwanted => None,
                Verdict::AsItsRpc(rpc) => self.undecided.add_item(rpc, 0, found),
            };
            shown.iter().try_for_each(|found| take(found, FindingUse::Shown))?;
        }
        Ok(())
    }

    /// Returns the number of findings for which there was no room until their RPCs ended, in words, and says it unless the user wants
    /// quiet.
    pub(crate) fn say_left_out(&self, quiet: bool) -> Option<String> {
        let count = self.left_out();
        let text = format!("{} left out: too many waited for their RPCs to end", counted(count, "finding"));
        (count > 0).then_some(text).inspect(|text| {
            if !quiet {
                say(text);
            }
        })
    }

    /// Number of findings left out.
    pub(crate) const fn left_out(&self) -> u64 {
        self.undecided.left_out
    }

    /// The outcome for each rule.
    pub(crate) fn counts(&self) -> impl Iterator<Item = Count> + '_ {
        self.checker.counts()
    }
}

/// Passes on the findings that the filters let pass.
fn only_shown(show: &mut impl FnMut(&Found) -> io::Result<()>) -> impl FnMut(&Found, FindingUse) -> io::Result<()> {
    move |found, given| if given == FindingUse::Shown { show(found) } else { Ok(()) }
}

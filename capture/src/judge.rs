//! The findings that were asked for.

use std::io;

use rpcrdma_dissector::check::{Checker, Count, Found};
use rpcrdma_dissector::output::format::number::counted;
use rpcrdma_dissector::{Event, Time};

use crate::failure::say;
use crate::filters::{Filters, Verdict};
use crate::source::Known;
use crate::undecided::Undecided;

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

    /// Takes an event, and what is known of it; gives `show` what follows from it and is wanted.
    pub(crate) fn event(
        &mut self,
        event: &Event,
        known: Known<'_>,
        mut show: impl FnMut(&Found) -> io::Result<()>,
    ) -> io::Result<()> {
        self.checker.event(event);
        self.rest(known.first, &mut show)?;
        if self.filters.select_findings_by_rpc() {
            self.undecided.settle(event, known.is_wanted, |_| 0).iter().try_for_each(show)?;
        }
        Ok(())
    }

    /// Gives `show` what is left at the end and wanted. A message that belongs to no RPC, and so does not show which end is the client, is
    /// selected by either address.
    pub(crate) fn finish(&mut self, first: Time, mut show: impl FnMut(&Found) -> io::Result<()>) -> io::Result<()> {
        self.rest(first, &mut show)?;
        let mut of_no_rpc = self.undecided.take_waiting();
        if self.filters.ask_for_rpcs() {
            return Ok(());
        }
        of_no_rpc.sort_by_key(|found| found.stamp.frame);
        of_no_rpc.iter().try_for_each(show)
    }

    fn rest(&mut self, first: Time, mut show: impl FnMut(&Found) -> io::Result<()>) -> io::Result<()> {
        while let Some(found) = self.checker.finding() {
            let shown = match self.filters.judge_finding(&found, first) {
                Verdict::Wanted => Some(found),
                Verdict::Unwanted => None,
                Verdict::AsItsRpc(rpc) => self.undecided.take(rpc, 0, found),
            };
            shown.iter().try_for_each(&mut show)?;
        }
        Ok(())
    }

    /// Says for how many findings there was no room until their RPCs ended.
    pub(crate) fn say_left_out(&self) -> Option<String> {
        let count = self.left_out();
        let text = format!("{} left out: too many waited for their RPCs to end", counted(count, "finding"));
        (count > 0).then_some(text).inspect(|text| say(text))
    }

    /// Their number.
    pub(crate) const fn left_out(&self) -> u64 {
        self.undecided.left_out
    }

    /// The outcome for each rule.
    pub(crate) fn counts(&self) -> impl Iterator<Item = Count> + '_ {
        self.checker.counts()
    }
}

//! Lines of text below a heading, for the commands that print one line per message or RPC.

use std::io;

use rpcrdma_answers::format::screen::Screen;
use rpcrdma_answers::format::time::ShownTimes;
use rpcrdma_answers::lines::Lines;
use rpcrdma_answers::messages::tree;
use rpcrdma_dissector::{Message, Recovered, Terminated, Time, Transaction};

use crate::arguments::{Color, TimeArguments};
use crate::output::{self, Output};
use crate::source::Known;

/// Lines of text below a heading.
pub(super) struct HeadedLines {
    screen: Screen,
    times: ShownTimes,
    lines: Option<Lines>,
}

impl HeadedLines {
    pub(super) fn new(color: Color, times: TimeArguments) -> Self {
        Self { screen: output::screen(color), times: times.shown(), lines: None }
    }

    fn lines(&mut self, first: Time, heading: impl FnOnce(&mut Lines) -> io::Result<()>) -> io::Result<&mut Lines> {
        match &mut self.lines {
            Some(lines) => Ok(lines),
            none => {
                let lines = none.insert(Lines::new(self.screen, first).with_times(self.times));
                heading(lines)?;
                Ok(lines)
            }
        }
    }

    pub(super) fn message(
        &mut self,
        out: &mut Output,
        message: &Message,
        known: Known<'_>,
        is_tree: bool,
    ) -> io::Result<()> {
        let colour = self.screen.colour;
        let lines = self.lines(known.first, |lines| lines.message_heading(out, message, known.files))?;
        lines.message(out, message, known.files)?;
        if is_tree { tree::write(out, message, colour) } else { Ok(()) }
    }

    pub(super) fn terminated(&mut self, out: &mut Output, terminated: &Terminated, known: Known<'_>) -> io::Result<()> {
        self.lines(known.first, |_| Ok(()))?.terminated(out, terminated, known.files)
    }

    pub(super) fn recovered(&mut self, out: &mut Output, recovered: &Recovered, known: Known<'_>) -> io::Result<()> {
        let lines = self.lines(known.first, |lines| lines.recovered_heading(out, recovered, known.files))?;
        lines.recovered(out, recovered, known.files)
    }

    pub(super) fn transaction(
        &mut self,
        out: &mut Output,
        transaction: &Transaction,
        known: Known<'_>,
    ) -> io::Result<()> {
        let lines = self.lines(known.first, |lines| lines.transaction_heading(out, transaction, known.files))?;
        lines.transaction(out, transaction, known.files)
    }
}

//! The first pass over a capture: rows, and what the diagnosis is made of.

use std::io;

use answers::diagnosis::{Diagnoser, Diagnosis};
use answers::file_names::FileNames;
use answers::format::number::{self, counted};
use dissector::{Checker, Config, Event, StepsWanted, Transaction};
use serde::Serialize;

use crate::findings::Findings;
use crate::row::Row;
use crate::source::Source;
use crate::table::Table;
use crate::traffic::Traffic;

/// Reads a capture into a table.
pub(crate) struct Reading {
    source: Source,
    pub(crate) table: Table,
    pub(crate) traffic: Traffic,
    diagnoser: Diagnoser,
    checker: Checker,
    pub(crate) findings: Findings,
    names: FileNames,
    is_ended: bool,
    is_stopped: bool,
}

/// Progress of reading.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ReadingProgress {
    rpcs: usize,
    /// Nanoseconds since 1970 as text: a number of the page would be rounded.
    first_ns: String,
    duration_ns: u64,
    ended: bool,
    /// Frames that were read before the user stopped reading; null if reading was not stopped.
    stopped_after: Option<u64>,
    /// Counts of the frames and RPCs read so far, in words.
    status: String,
    /// RPCs and findings that the page does not show, and reasons why files could not be read.
    notes: Vec<String>,
}

impl Reading {
    pub(crate) fn new(source: Source, name: &str, command_files: &str) -> Self {
        Self {
            source,
            table: Table::default(),
            traffic: Traffic::default(),
            diagnoser: Diagnoser::new(name).with_files(command_files),
            checker: Checker::default(),
            findings: Findings::default(),
            names: FileNames::default(),
            is_ended: false,
            is_stopped: false,
        }
    }

    /// Settings that every pass over the capture has, so that each sees the same RPCs.
    pub(crate) fn config(steps: StepsWanted) -> Config {
        let mut config = Config::default();
        (config.operations, config.recovery, config.steps) = (true, true, steps);
        config
    }

    /// Reads at most `frames` frames; `false` at the end.
    pub(crate) fn step(&mut self, frames: usize) -> io::Result<bool> {
        let Self { source, table, traffic, diagnoser, checker, findings, names, is_ended, .. } = self;
        let mut errors = source.errors().len();
        let is_more = source.step(frames, |event, files| {
            match event {
                Event::Transaction(transaction) => take_rpc(transaction, diagnoser, names, table),
                _ => diagnoser.event(event),
            }
            checker.event(event);
            while let Some(found) = checker.finding() {
                diagnoser.finding(&found);
                findings.push(found, files, &mut table.names)?;
            }
            traffic.event(event, &mut table.names);
            Ok(())
        })?;
        while errors < self.source.errors().len() {
            self.diagnoser.unread();
            errors += 1;
        }
        let summary = self.source.summary();
        self.table.first = summary.first.unwrap_or_default().0;
        self.table.last = summary.last.unwrap_or_default().0;
        self.table.end = summary.capture_end();
        *is_ended = !is_more;
        Ok(is_more)
    }

    /// Stops reading here, unless all was read: calls that wait have no reply.
    pub(crate) fn cancel(&mut self) -> io::Result<()> {
        self.is_stopped |= !self.is_ended;
        self.source.stop();
        while self.step(1)? {}
        Ok(())
    }

    /// Frames that were read before the user stopped reading; `None` if reading was not stopped.
    pub(crate) fn stopped_after(&self) -> Option<u64> {
        self.is_stopped.then(|| self.source.summary().frames)
    }

    /// Sentence about a capture of which the user stopped the reading.
    pub(crate) fn stopped(&self) -> Option<String> {
        let frames = counted(self.stopped_after()?, "frame");
        Some(format!("Reading was stopped by you after {frames}; what follows was not read."))
    }

    /// Number of files that could not be read to their end.
    pub(crate) fn errors(&self) -> usize {
        self.source.errors().len()
    }

    /// The diagnosis of what was read so far. The rows know their causes from then on.
    pub(crate) fn diagnosis(&mut self) -> Diagnosis {
        let diagnosis = self.diagnoser.clone().finish(self.source.summary());
        self.table.take_late_causes(&diagnosis.late_causes);
        diagnosis
    }

    /// Progress, when `read` of `size` octets were read.
    pub(crate) fn progress(&self, read: f64, size: f64) -> ReadingProgress {
        let rpcs = self.table.len();
        let stopped = if self.is_stopped { ": stopped by you, what follows was not read" } else { "" };
        let counts = format!("{}, {}", counted(self.source.summary().frames, "frame"), counted(rpcs as u64, "RPC"));
        ReadingProgress {
            rpcs,
            first_ns: self.table.first.to_string(),
            duration_ns: self.table.last.saturating_sub(self.table.first),
            ended: self.is_ended,
            stopped_after: self.stopped_after(),
            status: if self.is_ended {
                format!("{counts}{stopped}")
            } else {
                format!("{} of {}, {counts}", number::size(read), number::size(size))
            },
            notes: self.notes(),
        }
    }

    fn notes(&self) -> Vec<String> {
        let left_out = [
            (self.table.left_out, "more RPC", ": choose a part of the capture"),
            (self.findings.left_out, "more finding", ""),
        ];
        let left_out = left_out.into_iter().filter(|(count, ..)| *count > 0);
        let left_out = left_out.map(|(count, name, advice)| format!("Not shown: {}{advice}", counted(count, name)));
        self.source.errors().iter().cloned().chain(left_out).collect()
    }
}

/// Takes an RPC, whose arguments are decoded once for all.
fn take_rpc(transaction: &Transaction, diagnoser: &mut Diagnoser, names: &mut FileNames, table: &mut Table) {
    let arguments = transaction.arguments();
    let causes = diagnoser.transaction(transaction, &arguments).counted;
    names.learn(transaction, &arguments);
    let file = names.file_of(transaction, &arguments);
    let row = Row::new(transaction, file.as_ref(), causes, &mut table.names);
    table.push(&row);
}

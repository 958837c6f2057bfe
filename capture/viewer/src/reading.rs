//! The first pass over a capture: rows, and what the diagnosis is made of.

use std::io;

use dissector::output::diagnosis::{Diagnoser, Diagnosis};
use dissector::output::file_names::FileNames;
use dissector::output::findings::Findings;
use dissector::{Checker, Config, Event, RecoveryKind, StepsWanted, Transaction};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::row::{Row, record};
use crate::source::Source;
use crate::table::Table;

/// The most findings, signs of loss and changes of credits that are kept.
const FINDINGS: usize = 10_000;
const SIGNS: usize = 2_000_000;

/// Times of what belongs to no row.
#[derive(Debug, Default)]
pub(crate) struct Signs {
    /// Packets that were sent again.
    pub(crate) resent: Vec<u64>,
    /// Credits that replies granted, when they changed.
    pub(crate) credits: Vec<(u64, u32)>,
    pub(crate) left_out: u64,
}

/// Reads a capture into a table.
pub(crate) struct Reading {
    source: Source,
    pub(crate) table: Table,
    pub(crate) signs: Signs,
    diagnoser: Diagnoser,
    checker: Checker,
    /// Records of findings.
    pub(crate) findings: Vec<Box<RawValue>>,
    pub(crate) findings_left_out: u64,
    names: FileNames,
    is_ended: bool,
}

/// Progress of reading.
#[derive(Debug, Serialize)]
pub(crate) struct Progress {
    frames: u64,
    rpcs: usize,
    rpcs_left_out: u64,
    findings: usize,
    findings_left_out: u64,
    signs_left_out: u64,
    /// Nanoseconds since 1970 as text: a number of the page would be rounded.
    first_ns: String,
    duration_ns: u64,
    ended: bool,
    errors: Vec<String>,
}

impl Reading {
    pub(crate) fn new(source: Source, name: &str, command_files: &str) -> Self {
        Self {
            source,
            table: Table::default(),
            signs: Signs::default(),
            diagnoser: Diagnoser::new(name).with_files(command_files),
            checker: Checker::default(),
            findings: Vec::new(),
            findings_left_out: 0,
            names: FileNames::default(),
            is_ended: false,
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
        let Self { source, table, signs, diagnoser, checker, findings, findings_left_out, names, is_ended } = self;
        let mut errors = source.errors().len();
        let is_more = source.step(frames, |event, files| {
            match event {
                Event::Transaction(transaction) => take_rpc(transaction, diagnoser, names, table),
                _ => diagnoser.event(event),
            }
            checker.event(event);
            while let Some(found) = checker.finding() {
                diagnoser.finding(&found);
                match findings.len() < FINDINGS {
                    true => findings.push(record(|line| Findings::json().finding(line, &found, files))?),
                    false => *findings_left_out += 1,
                }
            }
            signs.event(event);
            Ok(())
        })?;
        while errors < self.source.errors().len() {
            self.diagnoser.unread();
            errors += 1;
        }
        let summary = self.source.summary();
        self.table.first = summary.first.unwrap_or_default().0;
        self.table.last = summary.last.unwrap_or_default().0;
        *is_ended = !is_more;
        Ok(is_more)
    }

    /// Ends reading here.
    pub(crate) const fn cancel(&mut self) {
        self.is_ended = true;
    }

    /// Number of files that could not be read to their end.
    pub(crate) fn errors(&self) -> usize {
        self.source.errors().len()
    }

    /// The diagnosis of what was read so far.
    pub(crate) fn diagnosis(&self) -> Diagnosis {
        self.diagnoser.clone().finish(self.source.summary())
    }

    pub(crate) fn progress(&self) -> Progress {
        Progress {
            frames: self.source.summary().frames,
            rpcs: self.table.len(),
            rpcs_left_out: self.table.left_out,
            findings: self.findings.len(),
            findings_left_out: self.findings_left_out,
            signs_left_out: self.signs.left_out,
            first_ns: self.table.first.to_string(),
            duration_ns: self.table.last.saturating_sub(self.table.first),
            ended: self.is_ended,
            errors: self.source.errors().to_vec(),
        }
    }
}

impl Signs {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Recovery(recovered)
                if matches!(recovered.kind, RecoveryKind::SentAgain | RecoveryKind::Replaced) =>
            {
                match self.resent.len() < SIGNS {
                    true => self.resent.push(recovered.stamp.time.0),
                    false => self.left_out += 1,
                }
            }
            Event::Message(message) => {
                let is_reply = message.rpc.as_ref().is_some_and(|rpc| rpc.direction == dissector::Direction::Reply);
                let granted = message.credits().filter(|_| is_reply && message.is_malformed().is_none());
                let last = self.credits.last().map(|(_, credits)| *credits);
                let changed = granted.filter(|credits| last != Some(*credits) && self.credits.len() < SIGNS);
                self.credits.extend(changed.map(|credits| (message.stamp.time.0, credits)));
            }
            _ => {}
        }
    }
}

/// Takes an RPC, whose arguments are decoded once for all.
fn take_rpc(transaction: &Transaction, diagnoser: &mut Diagnoser, names: &mut FileNames, table: &mut Table) {
    let arguments = transaction.arguments();
    diagnoser.transaction(transaction, &arguments);
    names.learn(transaction, &arguments);
    let file = names.of_transaction(transaction, &arguments).unwrap_or_default();
    let row = Row::new(transaction, &file, &mut table.names);
    table.push(&row);
}

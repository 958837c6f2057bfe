//! A pass over the capture that writes the selected RPCs to a file.

use std::cell::RefCell;
use std::collections::HashSet;
use std::io;
use std::rc::Rc;

use dissector::output::annotate::Annotator;
use dissector::output::csv::CsvTable;
use dissector::output::export::Exporter;
use dissector::output::file_names::FileNames;
use dissector::output::transactions;
use dissector::{Checker, Event, Files, Frame, StepsWanted, Transaction};
use serde::Deserialize;

use crate::row::{Row, RpcKey, key};
use crate::source::Source;

/// Format of a file to save.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    /// As `rpcrdma transactions --csv`.
    Csv,
    /// As `rpcrdma export`: RPC over TCP.
    Tcp,
    /// As `rpcrdma annotate`: the frames from the first of a selected RPC to the last, with comments.
    Annotated,
}

/// Writes the selected RPCs.
pub(crate) struct Saving {
    source: Source,
    selected: HashSet<RpcKey>,
    /// The first and the last frame of the selected RPCs.
    frames: (u64, u64),
    /// Files that the first pass could not read to their end.
    known_errors: usize,
    writer: Option<Writer>,
    checker: Checker,
    names: FileNames,
    written: Written,
}

enum Writer {
    Csv(CsvTable),
    Tcp(Exporter<Written>),
    Annotated(Box<Annotator<Written>>),
}

/// Octets that were written, until they are taken.
#[derive(Clone, Debug, Default)]
struct Written(Rc<RefCell<Vec<u8>>>);

impl io::Write for Written {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(octets);
        Ok(octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Saving {
    pub(crate) fn new(
        source: Source,
        known_errors: usize,
        format: Format,
        rows: impl Iterator<Item = Row>,
    ) -> io::Result<Self> {
        let (mut selected, mut frames) = (HashSet::new(), (u64::MAX, 0));
        for row in rows {
            let (.., call, reply) = row.key();
            selected.insert(row.key());
            for frame in [call, reply].into_iter().flatten() {
                frames = (frames.0.min(frame), frames.1.max(frame));
            }
        }
        let mut written = Written::default();
        let writer = match format {
            Format::Csv => {
                let table = CsvTable::of_records("transaction").ok_or(io::ErrorKind::NotFound)?;
                table.heading(&mut written)?;
                Writer::Csv(table)
            }
            Format::Tcp => Writer::Tcp(Exporter::pcapng(written.clone())?),
            Format::Annotated => Writer::Annotated(Box::new(Annotator::new(written.clone())?)),
        };
        let (checker, names) = (Checker::default(), FileNames::default());
        Ok(Self { source, selected, frames, known_errors, writer: Some(writer), checker, names, written })
    }

    pub(crate) const fn wanted(format: Format) -> StepsWanted {
        match format {
            Format::Annotated => StepsWanted::All,
            Format::Csv | Format::Tcp => StepsWanted::None,
        }
    }

    /// Reads at most `frames` frames; `false` once everything is written.
    pub(crate) fn step(&mut self, frames: usize) -> io::Result<bool> {
        let Self { source, selected, frames: (first, last), known_errors, writer, checker, names, written } = self;
        // Both closures write.
        let writer_cell = RefCell::new(&mut *writer);
        let see = |frame: &Frame<'_>| match &mut **writer_cell.borrow_mut() {
            Some(Writer::Annotated(annotator)) if (*first..=*last).contains(&frame.number) => annotator.frame(frame),
            _ => Ok(()),
        };
        let is_more = source.step_frames(frames, see, |event, files| match &mut **writer_cell.borrow_mut() {
            Some(Writer::Annotated(annotator)) => {
                annotate(annotator, event, checker);
                Ok(())
            }
            Some(Writer::Csv(table)) => match event {
                Event::Transaction(transaction) if selected.contains(&key(transaction)) => {
                    csv(table, written, transaction, (files, names))
                }
                Event::Transaction(transaction) => {
                    names.learn(transaction, &transaction.arguments());
                    Ok(())
                }
                _ => Ok(()),
            },
            Some(Writer::Tcp(exporter)) => match event {
                Event::Transaction(transaction) if selected.contains(&key(transaction)) => {
                    exporter.transaction(transaction)
                }
                _ => Ok(()),
            },
            None => Ok(()),
        })?;
        if !is_more {
            // Without what a changed file no longer holds, the saved file would not be the selection.
            if let Some(error) = source.errors().get(*known_errors) {
                return Err(io::Error::other(error.clone()));
            }
            match writer.take() {
                Some(Writer::Tcp(exporter)) => _ = exporter.finish()?,
                Some(Writer::Annotated(annotator)) => _ = annotator.finish()?,
                Some(Writer::Csv(_)) | None => {}
            }
        }
        Ok(is_more)
    }

    /// The octets that were written since the last time.
    pub(crate) fn take(&self) -> Vec<u8> {
        core::mem::take(&mut *self.written.0.borrow_mut())
    }
}

fn csv(
    table: &CsvTable,
    written: &mut Written,
    transaction: &Transaction,
    (files, names): (&Files, &mut FileNames),
) -> io::Result<()> {
    table.record(written, |line| transactions::write_json(line, transaction, files, names))
}

fn annotate(annotator: &mut Annotator<Written>, event: &Event, checker: &mut Checker) {
    match event {
        Event::Recovery(recovered) => annotator.recovered(recovered),
        Event::Transaction(transaction) => annotator.transaction(transaction),
        _ => {}
    }
    checker.event(event);
    while let Some(found) = checker.finding() {
        annotator.finding(&found);
    }
}

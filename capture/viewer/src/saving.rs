//! A pass over the capture that writes the selected RPCs to a file.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::io;
use std::rc::Rc;

use answers::annotate::Annotator;
use answers::csv::CsvTable;
use answers::export::Exporter;
use answers::file_names::FileNames;
use answers::transactions::TransactionObject;
use dissector::{Checker, Event, Frame, StepsWanted, Transaction};
use serde::Deserialize;

use crate::row::{Row, RpcKey, key};
use crate::source::Source;

/// Format of a file to save.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    /// As `rpcrdma transactions --csv`.
    Csv,
    /// As `rpcrdma export`: RPC over TCP.
    Tcp,
    /// As `rpcrdma annotate`: all frames from the beginning of the first selected RPC to the end of the last, with comments on the
    /// selected RPCs. Frames in between stay, because packets would seem to be lost otherwise.
    Annotated,
}

/// The RPCs to save.
struct Selected {
    rpcs: HashSet<RpcKey>,
    /// Connections and XIDs of the RPCs: nothing else is known of a retransmitted packet.
    xids: HashSet<(u32, u32)>,
    /// Time of the first call.
    began: u64,
    /// RPCs whose end was not read yet. An RPC ends with the acknowledgement of the reply, and a call without a reply with the capture.
    open: Cell<usize>,
}

impl Selected {
    fn new(rows: impl Iterator<Item = Row>) -> Self {
        let mut selected = Self { rpcs: HashSet::new(), xids: HashSet::new(), began: u64::MAX, open: Cell::default() };
        for row in rows {
            let (connection, xid, ..) = row.key();
            selected.rpcs.insert(row.key());
            selected.xids.insert((connection, xid));
            selected.began = selected.began.min(began(&row));
        }
        selected.open.set(selected.rpcs.len());
        selected
    }

    /// Notes the end of an RPC.
    fn note_end(&self, transaction: &Transaction) {
        self.open.set(self.open.get().saturating_sub(usize::from(self.has(transaction))));
    }

    fn has(&self, transaction: &Transaction) -> bool {
        self.rpcs.contains(&key(transaction))
    }

    fn has_xid(&self, connection: u32, xid: Option<u32>) -> bool {
        xid.is_some_and(|xid| self.xids.contains(&(connection, xid)))
    }

    /// Returns true for a frame from the beginning of the first RPC to the end of the last.
    const fn spans(&self, frame: &Frame<'_>) -> bool {
        self.began <= frame.time.0 && self.open.get() > 0
    }
}

/// Time of the first packet of an RPC; of a call without a reply, that of its last.
fn began(row: &Row) -> u64 {
    let first = row.ended.zip(row.latency).and_then(|(ended, latency)| ended.checked_sub(latency));
    first.map_or(row.time, |first| first.min(row.time))
}

/// Writes the selected RPCs.
pub(crate) struct Saving {
    source: Source,
    selected: Selected,
    /// Files that the first pass could not read to the end.
    known_errors: usize,
    writer: Option<Writer>,
    checker: Checker,
    names: FileNames,
    written: Written,
}

enum Writer {
    Csv(CsvTable),
    Tcp(Box<Exporter<Written>>),
    Annotated(Box<Annotator<Written>>),
}

/// Octets that were written and not taken yet.
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
        let selected = Selected::new(rows);
        let mut written = Written::default();
        let writer = match format {
            Format::Csv => {
                let table = CsvTable::of_records("transaction").ok_or(io::ErrorKind::NotFound)?;
                table.heading(&mut written)?;
                Writer::Csv(table)
            }
            Format::Tcp => Writer::Tcp(Box::new(Exporter::pcapng(written.clone())?)),
            Format::Annotated => Writer::Annotated(Box::new(Annotator::new(written.clone())?)),
        };
        let (checker, names) = (Checker::default(), FileNames::default());
        Ok(Self { source, selected, known_errors, writer: Some(writer), checker, names, written })
    }

    pub(crate) const fn wanted(format: Format) -> StepsWanted {
        match format {
            Format::Annotated => StepsWanted::All,
            Format::Csv | Format::Tcp => StepsWanted::None,
        }
    }

    /// Reads at most `frames` frames; `false` once everything is written.
    pub(crate) fn step(&mut self, frames: usize) -> io::Result<bool> {
        let Self { source, selected, known_errors, writer, checker, names, written } = self;
        // Both closures write.
        let writer_cell = RefCell::new(&mut *writer);
        let see = |frame: &Frame<'_>| match &mut **writer_cell.borrow_mut() {
            Some(Writer::Annotated(annotator)) if selected.spans(frame) => annotator.frame(frame),
            _ => Ok(()),
        };
        let is_more = source.step_frames(frames, see, |event, files| match &mut **writer_cell.borrow_mut() {
            Some(Writer::Annotated(annotator)) => {
                annotate(annotator, event, checker, selected);
                Ok(())
            }
            Some(Writer::Csv(table)) => match event {
                Event::Transaction(transaction) if selected.has(transaction) => {
                    table.record(written, &TransactionObject::new(transaction, files, names))
                }
                Event::Transaction(transaction) => {
                    names.learn(transaction, &transaction.arguments());
                    Ok(())
                }
                _ => Ok(()),
            },
            Some(Writer::Tcp(exporter)) => match event {
                Event::Transaction(transaction) if selected.has(transaction) => exporter.transaction(transaction),
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
    pub(crate) fn take_octets(&self) -> Vec<u8> {
        core::mem::take(&mut *self.written.0.borrow_mut())
    }
}

/// Comments on the selected RPCs.
fn annotate(annotator: &mut Annotator<Written>, event: &Event, checker: &mut Checker, selected: &Selected) {
    match event {
        Event::Recovery(recovered) if selected.has_xid(recovered.connection, recovered.xid) => {
            annotator.recovered(recovered);
        }
        Event::Transaction(transaction) if selected.has(transaction) => annotator.transaction(transaction),
        _ => {}
    }
    if let Event::Transaction(transaction) = event {
        selected.note_end(transaction);
    }
    checker.event(event);
    while let Some(found) = checker.finding() {
        if selected.has_xid(found.connection, found.xid) {
            annotator.finding(&found);
        }
    }
}

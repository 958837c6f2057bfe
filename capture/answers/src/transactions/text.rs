//! RPCs as lines of text in columns.

use std::io;

use rpcrdma_dissector::{Files, Half, NotRebuilt, Time, Transaction};

use crate::called::{called_within, ended};
use crate::format::column::{Column, TextColumn, frame, push, push_xid};
use crate::format::line::{CHUNK, DIM, NAME, PLAIN, WARNING, wrapped};
use crate::format::number::Milliseconds;
use crate::format::screen::Screen;
use crate::format::time::ShownTimes;
use crate::lines::{AddressPair, At, Lines, place_columns};

/// Columns before the reason for which an RPC was not rebuilt.
const REASON: usize = 14;
/// The fewest columns for what is called, before the operations that lead to another are left out.
const CALLED: usize = 27;

/// The place of a transaction.
fn at(transaction: &Transaction) -> At {
    let Transaction { connection, from, to, call, reply, .. } = transaction;
    let stamp = call.as_ref().or(reply.as_ref()).map(|half| half.stamp).unwrap_or_default();
    At { stamp, connection: *connection, ends: AddressPair { from: *from, to: *to } }
}

/// Content of a line about a transaction.
struct TransactionLine<'a> {
    transaction: &'a Transaction,
    at: At,
    files: &'a Files,
    times: ShownTimes,
    /// Requester and responder.
    pair: &'a str,
}

/// The column of what is called, before notes on how that ended.
const fn called_column<'a>() -> Column<TransactionLine<'a>> {
    Column {
        gap: 0,
        ..Column::left("RPC", &["operation", "operations"], 0, NAME, |row, room, text| {
            text.push_str(&called_within(room.max(CALLED), row.transaction));
        })
    }
}

/// Appends the latency, or the least possible one.
fn push_latency(text: &mut String, transaction: &Transaction) {
    match &transaction.joined {
        Some(joined) if transaction.latency().is_none() => {
            push(text, Some(format_args!("> {}", Milliseconds(joined.nanoseconds()))));
        }
        _ => push(text, transaction.latency().map(Milliseconds)),
    }
}

/// The columns of a transaction that a narrow screen has no room for.
#[derive(Clone, Copy, Default)]
struct TransactionColumns {
    /// Requester and responder, whom the number of the connection names too.
    ends: bool,
    /// Octets moved by RDMA Read and by RDMA Write.
    moved: bool,
}

pub(crate) fn text_columns() -> Vec<TextColumn> {
    let lines = Lines::new(Screen::default(), Time::default());
    let columns = lines.of_transactions(&Files::default());
    [TextColumn::list_columns(&columns), TextColumn::list_columns(&[called_column()])].concat()
}

impl Lines {
    /// The columns of transactions that there is room for, before what is called.
    fn of_transactions<'a>(&self, files: &Files) -> [Column<TransactionLine<'a>>; 11] {
        let all = self.transaction_columns(files, TransactionColumns { ends: true, moved: true });
        let without_moved = TransactionColumns { ends: true, moved: false };
        let fits = |columns: &[_]| self.screen.fits(Column::width_of(columns) + CALLED);
        if fits(&all) {
            return all;
        }
        let columns = self.transaction_columns(files, without_moved);
        if fits(&columns) { columns } else { self.transaction_columns(files, TransactionColumns::default()) }
    }

    fn transaction_columns<'a>(&self, files: &Files, shown: TransactionColumns) -> [Column<TransactionLine<'a>>; 11] {
        let (time, place, has_files) = (self.times.heading(), place_columns(files), files.width() > 0);
        [
            Column::right("call", &["call_frame"], 6, DIM, |row, _, text| push(text, frame(&row.transaction.call))),
            Column::right("reply", &["reply_frame"], 6, DIM, |row, _, text| push(text, frame(&row.transaction.reply))),
            Column {
                gap: 0,
                is_shown: has_files,
                ..Column::left("call in file", &["call_file", "call_file_frame"], place, DIM, |row, _, text| {
                    push(text, frame(&row.transaction.call).and_then(|frame| row.files.place(frame)));
                })
            },
            Column {
                gap: 0,
                is_shown: has_files,
                ..Column::left("reply in file", &["reply_file", "reply_file_frame"], place, DIM, |row, _, text| {
                    push(text, frame(&row.transaction.reply).and_then(|frame| row.files.place(frame)));
                })
            },
            Column::left(time, &["time_ns"], time.len(), DIM, |row, _, text| {
                push(text, Some(row.times.column(row.at.stamp.time)))
            }),
            Column::right("C", &["connection"], 2, DIM, |row, _, text| push(text, Some(row.at.connection))),
            Column {
                gap: 0,
                is_shown: shown.ends,
                ..Column::left("from → to", &["requester", "responder"], self.pair + 2, PLAIN, |row, _, text| {
                    text.push_str(row.pair)
                })
            },
            Column::left("rdma_xid", &["rdma_xid"], 10, PLAIN, |row, _, text| push_xid(text, row.transaction.xid)),
            Column {
                gap: if shown.moved { 1 } else { 2 },
                ..Column::right("ms", &["latency_ns", "latency_at_least_ns"], 9, PLAIN, |row, _, text| {
                    push_latency(text, row.transaction);
                })
            },
            Column {
                is_shown: shown.moved,
                ..Column::right("RDMA Read", &["rdma_read_octets"], 9, CHUNK, |row, _, text| {
                    push(text, Some(row.transaction.read_octets));
                })
            },
            Column {
                gap: 2,
                is_shown: shown.moved,
                ..Column::right("Write", &["rdma_write_octets"], 8, CHUNK, |row, _, text| {
                    push(text, Some(row.transaction.write_octets));
                })
            },
        ]
    }

    /// Writes the headings of the columns of [`transaction`](Self::transaction), above the `first` transaction.
    ///
    /// # Errors
    /// Any error from writing to `out`.
    pub fn transaction_heading(
        &mut self,
        out: &mut impl io::Write,
        first: &Transaction,
        files: &Files,
    ) -> io::Result<()> {
        self.make_room(at(first).ends);
        let mut line = self.line(files, 2).within(self.screen);
        line.headings(&self.of_transactions(files));
        line.headings(&[called_column()]);
        line.write(out)
    }

    /// Writes a transaction; if not rebuilt, lines below say why.
    ///
    /// The columns: frames of call and reply, seconds, connection, requester and responder, `rdma_xid`, latency in
    /// milliseconds, octets moved by RDMA Read and by RDMA Write, what was called, and the outcome unless that is
    /// success. If a capture consists of several files, the places of both frames in their files follow the frames. If
    /// a list of operations is too long, those that lead to another are left out. A narrow screen shows no octets
    /// moved, and a narrower one no requester and responder either.
    ///
    /// # Errors
    /// Any error from writing to `out`.
    pub fn transaction(
        &mut self,
        out: &mut impl io::Write,
        transaction: &Transaction,
        files: &Files,
    ) -> io::Result<()> {
        let Transaction { call, reply, .. } = transaction;
        let at = at(transaction);
        self.make_room(at.ends);
        let mut line = self.line(files, 2).within(self.screen);
        let (times, pair) = (self.times, self.pair());
        let row = TransactionLine { transaction, at, files, times, pair };
        line.cells(&self.of_transactions(files), &row);
        line.last_cell(&called_column(), &row, &ended(transaction));
        line.write(out)?;
        for (which, half) in [("call", call), ("reply", reply)] {
            if let Some(Half { message: Err(reason), .. }) = half
                && !matches!(reason, NotRebuilt::Error(_) | NotRebuilt::KernelTrace)
            {
                let reason = format!("{which} not rebuilt: {reason}");
                let room = self.line(files, 2).within(self.screen).room();
                for text in wrapped(&reason, room.saturating_sub(REASON)) {
                    self.text(REASON).with(WARNING, &text).write(out)?;
                }
            }
        }
        Ok(())
    }
}

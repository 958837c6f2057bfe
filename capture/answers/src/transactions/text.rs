//! RPCs as lines of text in columns.

use std::io;

use rpcrdma_dissector::{Files, Half, NotRebuilt, Transaction};

use crate::called::{called_within, ended};
use crate::format::line::{CHUNK, DIM, NAME, PLAIN, WARNING, wrapped};
use crate::format::number::Milliseconds;
use crate::lines::{At, Lines, add, place, place_columns};

/// Columns before the reason for which an RPC was not rebuilt.
const REASON: usize = 14;
/// Columns of the octets moved by RDMA.
const MOVED: usize = 19;
/// The fewest columns for what is called, before the operations that lead to another are left out.
const CALLED: usize = 27;

/// The place of a transaction.
fn at(transaction: &Transaction) -> At {
    let Transaction { connection, from, to, call, reply, .. } = transaction;
    let stamp = call.as_ref().or(reply.as_ref()).map(|half| half.stamp).unwrap_or_default();
    At { stamp, connection: *connection, ends: (*from, *to) }
}

/// The columns of a transaction that a narrow screen has no room for.
#[derive(Clone, Copy)]
struct TransactionColumns {
    /// Requester and responder; without them the number of the connection says who they are.
    ends: bool,
    /// Octets moved by RDMA Read and by RDMA Write.
    moved: bool,
}

impl Lines {
    /// The columns of transactions that there is room for.
    fn of_transactions(&self, files: &Files) -> TransactionColumns {
        let times = self.times.heading().chars().count();
        // Two frames, the connection, the XID and the latency.
        let least = 2 * (7 + place_columns(files)) + times + 4 + 11 + 10 + 1 + CALLED;
        let ends = least + self.pair + 2;
        TransactionColumns { ends: self.screen.fits(ends), moved: self.screen.fits(ends + MOVED) }
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
        let shown = self.of_transactions(files);
        let mut line = self.line(files, 2).within(self.screen);
        line.push(DIM, "  call  reply ");
        for name in ["call in file", "reply in file"] {
            line.column(DIM, if files.width() > 0 { name } else { "" }, place_columns(files));
        }
        line.push(DIM, self.times.heading());
        line.push(DIM, "  C ");
        if shown.ends {
            line.column(DIM, "requester → responder", self.pair + 2);
        }
        line.push(DIM, "rdma_xid          ms ");
        line.push(DIM, if shown.moved { "RDMA Read    Write  RPC" } else { " RPC" });
        line.write(out)
    }

    /// Writes a transaction and, if it was not rebuilt, lines below it that say why.
    ///
    /// The columns: frame of the call and of the reply, seconds, connection, requester and responder, `rdma_xid`,
    /// latency in milliseconds, octets moved by RDMA Read and by RDMA Write, what was called, and how it ended unless
    /// that is success. If a capture consists of several files, the places of both frames in their files follow the
    /// frames. If a list of operations is too long, those that lead to another are left out. A narrow screen shows no octets
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
        let Transaction { xid, call, reply, .. } = transaction;
        let at = at(transaction);
        self.make_room(at.ends);
        let shown = self.of_transactions(files);
        let mut line = self.line(files, 2).within(self.screen);
        let frames = [call, reply].map(|half: &Option<Half>| half.as_ref().map(|half| half.stamp.frame));
        for frame in frames {
            match frame {
                Some(frame) => line.print(DIM, format_args!("{frame:>6} ")),
                None => line.push(DIM, "     - "),
            }
        }
        for frame in frames {
            place(&mut line, frame, files);
        }
        self.rest(&mut line, &at, shown.ends);
        line.print(PLAIN, format_args!("{xid:#010x} "));
        match (transaction.latency(), &transaction.joined) {
            (Some(latency), _) => line.print(PLAIN, format_args!("{:>9} ", Milliseconds(latency))),
            (None, Some(joined)) => {
                let least = format!("> {}", Milliseconds(joined.nanoseconds()));
                line.print(PLAIN, format_args!("{least:>9} "));
            }
            (None, None) => line.push(PLAIN, "        - "),
        }
        if shown.moved {
            line.print(CHUNK, format_args!("{:>9} {:>8} ", transaction.read_octets, transaction.write_octets));
        }
        line.push(PLAIN, " ");
        let notes = ended(transaction);
        let width: usize = notes.iter().map(|(_, note)| note.chars().count() + 2).sum();
        let room = line.room().saturating_sub(width);
        line.push_within(NAME, &called_within(room.max(CALLED), transaction), room);
        add(&mut line, &notes);
        line.write(out)?;
        for (which, half) in [("call", call), ("reply", reply)] {
            if let Some(Half { message: Err(reason), .. }) = half
                && !matches!(reason, NotRebuilt::Error(_))
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

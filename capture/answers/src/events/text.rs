//! Signs of loss as lines of text in columns.

use std::io;

use rpcrdma_dissector::{Files, LostBetween, Recovered, RecoveryKind, WitnessedCopies};

use crate::format::column::{Column, TextColumn, push_xid};
use crate::format::line::{PLAIN, WARNING};
use crate::format::number::{Milliseconds, counted};
use crate::lines::{AddressPair, At, Lines};

/// The place of a sign of loss.
const fn at(recovered: &Recovered) -> At {
    At {
        stamp: recovered.stamp,
        connection: recovered.connection,
        ends: AddressPair { from: recovered.from, to: recovered.to },
    }
}

/// The columns of a sign of loss after the columns of the place.
const fn columns() -> [Column<Recovered>; 2] {
    [
        Column::left("rdma_xid", &["rdma_xid"], 10, PLAIN, |recovered, _, text| {
            recovered.xid.into_iter().for_each(|xid| push_xid(text, xid));
        }),
        Column {
            gap: 0,
            ..Column::left("event", &["event"], 0, WARNING, |recovered, _, text| text.push_str(recovered.kind.name()))
        },
    ]
}

pub(crate) fn text_columns() -> Vec<TextColumn> {
    Lines::text_columns(&["from", "to"], &columns())
}

/// Returns a line about copies of a packet that were lost between the places of two files.
#[must_use]
pub fn lost_between(lost: &LostBetween) -> String {
    let LostBetween { from, to, count, first, second, .. } = lost;
    let file = |copies: &WitnessedCopies, name: &str| {
        let WitnessedCopies { count, earliest, latest, .. } = copies;
        match count {
            1 => format!("frame {} at the {name}", earliest.frame),
            _ => format!("{count} copies at the {name} (frames {} to {})", earliest.frame, latest.frame),
        }
    };
    let lost = counted((*count).into(), "packet");
    format!("{lost} lost between {from} and {to}: {}, {}", file(first, "client"), file(second, "server"))
}

impl Lines {
    /// Writes the headings of the columns of [`recovered`](Self::recovered), above the `first`.
    ///
    /// # Errors
    /// Any error from writing to `out`.
    pub fn recovered_heading(&mut self, out: &mut impl io::Write, first: &Recovered, files: &Files) -> io::Result<()> {
        self.heading(&at(first), files, &columns()).write(out)
    }

    /// Writes a sign of loss in the columns of a place, with `rdma_xid` and the kind of the sign.
    ///
    /// # Errors
    /// Any error from writing to `out`.
    pub fn recovered(&mut self, out: &mut impl io::Write, recovered: &Recovered, files: &Files) -> io::Result<()> {
        let mut line = self.begin_line(&at(recovered), files);
        line.cells(&columns(), recovered);
        match recovered.kind {
            RecoveryKind::TimedOut { silence } => {
                line.print(PLAIN, format_args!("  after {} ms of silence", Milliseconds(silence)));
            }
            RecoveryKind::NotReady { wait } => line.print(PLAIN, format_args!("  wait {} ms", Milliseconds(wait))),
            _ => {}
        }
        line.write(out)
    }
}

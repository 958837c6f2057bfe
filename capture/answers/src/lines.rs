//! Lines of text about messages, RPCs and indications of loss, in common columns. The text after the common columns is in the `text.rs` of each answer.

use rpcrdma_dissector::{Address, Files, Stamp, Time};

use crate::format::column::{Column, Fields, TextColumn, push};
use crate::format::line::{DIM, Line, PLAIN};
use crate::format::screen::Screen;
use crate::format::time::{ShownTimes, TimeForm};

/// The most columns of a line, with IPv4 addresses and one file.
pub(super) const WIDTH: usize = 120;
/// Columns of seconds since the first frame.
const SECONDS: usize = 11;
/// Columns of the widest pair of IPv4 addresses.
const IPV4_PAIR: usize = 33;

/// Writes lines to one output, in columns that get wider if needed: messages, RPCs, and indications of loss.
#[derive(Debug)]
pub struct Lines {
    pub(super) screen: Screen,
    pub(super) times: ShownTimes,
    /// Columns of the widest pair of addresses.
    pub(super) pair: usize,
    /// The last pair of addresses, with the text of the pair.
    last: Option<(AddressPair, String)>,
}

impl Lines {
    /// Lines for a screen; times are shown as seconds since `start`.
    #[must_use]
    pub const fn new(screen: Screen, start: Time) -> Self {
        Self { screen, times: ShownTimes::new(TimeForm::Since, 0).starting_at(start), pair: 0, last: None }
    }

    /// The same with times in this form.
    #[must_use]
    pub const fn with_times(mut self, times: ShownTimes) -> Self {
        self.times = times.starting_at(self.times.start);
        self
    }

    /// A line of text, indented by `indent` columns.
    pub(super) fn text(&self, indent: usize) -> Line {
        let mut line = Line::new(self.screen.colour, usize::MAX);
        line.push(PLAIN, &" ".repeat(indent));
        line
    }

    /// Makes room for the pair of addresses of a line.
    pub(super) fn make_room(&mut self, ends: AddressPair) {
        if self.last.as_ref().is_none_or(|(last, _)| *last != ends) {
            let pair = format!("{} → {}", ends.from, ends.to);
            self.pair = self.pair.max(pair.chars().count());
            self.last = Some((ends, pair));
        }
    }

    /// The pair of addresses that there is [room](Self::make_room) for.
    pub(super) fn pair(&self) -> &str {
        self.last.as_ref().map_or("", |(_, pair)| pair)
    }

    /// Returns an empty line of the permitted width.
    pub(super) fn line(&self, files: &Files, places: usize) -> Line {
        let times = self.times.heading().len() - SECONDS;
        Line::new(
            self.screen.colour,
            WIDTH + times + self.pair.saturating_sub(IPV4_PAIR) + places * place_columns(files),
        )
    }

    /// The columns that lines about frames begin with.
    fn place_columns<'a>(&self, files: &Files) -> [Column<PlaceLine<'a>>; 5] {
        let time = self.times.heading();
        [
            Column::right("frame", &["frame"], 6, DIM, |row, _, text| push(text, Some(row.at.stamp.frame))),
            Column {
                gap: 0,
                is_shown: files.width() > 0,
                ..Column::left("in file", &["file", "file_frame"], place_columns(files), DIM, |row, _, text| {
                    push(text, row.files.place(row.at.stamp.frame));
                })
            },
            Column::left(time, &["time_ns"], time.len(), DIM, |row, _, text| {
                push(text, Some(row.times.column(row.at.stamp.time)));
            }),
            Column::right("C", &["connection"], 2, DIM, |row, _, text| push(text, Some(row.at.connection))),
            Column {
                gap: 0,
                ..Column::left("from → to", &["from", "to"], self.pair + 2, PLAIN, |row, _, text| {
                    text.push_str(row.pair)
                })
            },
        ]
    }

    /// The columns that lines about frames begin with, and others; `ends` are the fields of sender and receiver.
    pub(super) fn text_columns<R>(ends: Fields, columns: &[Column<R>]) -> Vec<TextColumn> {
        let [frame, place, time, connection, pair] =
            Self::new(Screen::default(), Time::default()).place_columns(&Files::default());
        let own = [frame, place, time, connection, Column { fields: ends, ..pair }];
        [TextColumn::list_columns(&own), TextColumn::list_columns(columns)].concat()
    }

    /// Begins a line: frame, seconds, connection, sender and receiver.
    pub(super) fn begin_line(&mut self, at: &At, files: &Files) -> Line {
        self.make_room(at.ends);
        let mut line = self.line(files, 1);
        let (times, pair) = (self.times, self.pair());
        line.cells(&self.place_columns(files), &PlaceLine { at, files, times, pair });
        line
    }

    /// The heading over such lines, of which `at` is the first: the columns of the place, and others.
    pub(super) fn heading<R>(&mut self, at: &At, files: &Files, columns: &[Column<R>]) -> Line {
        self.make_room(at.ends);
        let mut line = self.line(files, 1);
        line.headings(&self.place_columns(files));
        line.headings(columns);
        line
    }
}

/// Content of the columns that lines about frames begin with.
struct PlaceLine<'a> {
    at: &'a At,
    files: &'a Files,
    times: ShownTimes,
    /// Sender and receiver.
    pair: &'a str,
}

/// The message or transaction that a line is about.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    pub(super) stamp: Stamp,
    pub(super) connection: u32,
    pub(super) ends: AddressPair,
}

/// Sender and receiver, or client and server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AddressPair {
    pub(super) from: Address,
    pub(super) to: Address,
}

/// Columns of the place of a frame in a file: none if there is only one file.
pub(super) const fn place_columns(files: &Files) -> usize {
    if files.width() == 0 { 0 } else { files.width() + 1 }
}

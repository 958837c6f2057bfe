//! Lines of text about messages, RPCs and indications of loss, in common columns. The text after the common columns is in the `text.rs` of each answer.

use rpcrdma_dissector::{Address, Files, Stamp, Time};

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

    /// Begins a line: frame, seconds, connection, sender and receiver.
    pub(super) fn begin(&mut self, at: &At, files: &Files) -> Line {
        self.make_room(at.ends);
        let mut line = self.line(files, 1);
        line.print(DIM, format_args!("{:>6} ", at.stamp.frame));
        place(&mut line, Some(at.stamp.frame), files);
        line.print(DIM, format_args!("{} {:>2} ", self.times.column(at.stamp.time), at.connection));
        line.column(PLAIN, self.pair(), self.pair + 2);
        line
    }

    /// Begins the heading over such lines, of which `at` is the first.
    pub(super) fn heading(&mut self, at: &At, files: &Files) -> Line {
        self.make_room(at.ends);
        let mut line = self.line(files, 1);
        line.push(DIM, " frame ");
        line.column(DIM, if files.width() > 0 { "in file" } else { "" }, place_columns(files));
        line.push(DIM, self.times.heading());
        line.push(DIM, "  C ");
        line.column(DIM, "from → to", self.pair + 2);
        line
    }
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

/// Adds the file of the frame, and the frame's number in the file, if there are several files.
fn place(line: &mut Line, frame: Option<u64>, files: &Files) {
    if files.width() > 0 {
        let place = frame.and_then(|frame| files.place(frame)).unwrap_or_else(|| "-".to_owned());
        line.column(DIM, &place, place_columns(files));
    }
}

/// Columns of [`place`].
pub(super) const fn place_columns(files: &Files) -> usize {
    if files.width() == 0 { 0 } else { files.width() + 1 }
}

/// Adds notes to the end of a line.
pub(super) fn add(line: &mut Line, notes: &[(anstyle::Style, String)]) {
    for (style, note) in notes {
        line.push(PLAIN, "  ");
        line.push(*style, note);
    }
}

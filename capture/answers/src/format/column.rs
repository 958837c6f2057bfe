//! Columns of tables. One declaration of a column says all that the heading, each line and the width of the table need, in text and in the
//! report, and names the fields of the record with the same content: the descriptions of these fields describe the column.

use std::fmt::{Display, Write as _};

use anstyle::Style;
use rpcrdma_dissector::Half;

use super::line::{DIM, Line, PLAIN};
use super::number::{Milliseconds, duration, grouped, milliseconds, push_grouped, short, size};

/// Text before a note at the end of a line.
const NOTE_GAP: &str = "  ";

/// A column of lines that are about an `R` each.
pub(crate) struct Column<R> {
    /// Heading of text, with the unit.
    pub(crate) heading: &'static str,
    /// Heading in the report, where each cell has its unit.
    pub(crate) report_heading: &'static str,
    /// Paths of the fields with this content in the record of a line, such as `recovery.ns`.
    pub(crate) fields: Fields,
    /// Width of a cell, in columns of the screen.
    pub(crate) width: usize,
    /// Width of the gap after a cell, in columns of the screen.
    pub(crate) gap: usize,
    pub(crate) align: Align,
    pub(crate) style: CellStyle<R>,
    /// `false` if there is no room for the column.
    pub(crate) is_shown: bool,
    pub(crate) cell: Cell<R>,
}

/// Content of the cells of a column.
pub(crate) enum Cell<R> {
    /// Appends a text; the number is the columns of the screen that are left in the line.
    Text(fn(&R, usize, &mut String)),
    /// A number in a unit. The report sorts by the number.
    Number(Unit, fn(&R) -> Amount),
}

/// Unit of the numbers of a column.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    Count,
    /// Number of a frame.
    Frame,
    Octets,
    /// Nanoseconds, which text shows as milliseconds in three digits or more.
    Time,
    /// Nanoseconds, which text shows as milliseconds with three decimals.
    ExactTime,
    /// Nanoseconds, which text shows as seconds with six decimals.
    Age,
}

/// A number in a table.
#[derive(Clone, Copy)]
pub(crate) enum Amount {
    Exact(u64),
    /// A lower bound.
    AtLeast(u64),
    /// A number and the sum of all rows, shown as a percentage.
    Part {
        part: u64,
        all: u64,
    },
    Unknown,
    /// Nothing to count.
    Absent,
}

impl From<u64> for Amount {
    fn from(number: u64) -> Self {
        Self::Exact(number)
    }
}

impl From<Option<u64>> for Amount {
    fn from(number: Option<u64>) -> Self {
        number.map_or(Self::Unknown, Self::Exact)
    }
}

impl Amount {
    /// The number to sort by.
    pub(crate) const fn sort_key(self) -> Option<u64> {
        match self {
            Self::Exact(number) | Self::AtLeast(number) | Self::Part { part: number, .. } => Some(number),
            Self::Unknown | Self::Absent => None,
        }
    }

    fn percent(part: u64, all: u64) -> f64 {
        part as f64 / all.max(1) as f64 * 100.0
    }

    /// Appends the text of the number, whose unit is in the heading.
    fn push(self, unit: Unit, text: &mut String) {
        let number = match self {
            Self::Exact(number) => number,
            Self::AtLeast(number) => {
                text.push_str("> ");
                number
            }
            Self::Part { part, all } => return push(text, Some(format_args!("{:.1}%", Self::percent(part, all)))),
            Self::Unknown => return text.push('-'),
            Self::Absent => return,
        };
        match unit {
            Unit::Count => push_grouped(text, number),
            Unit::Frame => push(text, Some(number)),
            Unit::Octets => text.push_str(&short(number)),
            Unit::Time => text.push_str(&milliseconds(number)),
            Unit::ExactTime => push(text, Some(Milliseconds(number))),
            Unit::Age => {
                push(text, Some(format_args!("{}.{:06}", number / 1_000_000_000, number / 1000 % 1_000_000)));
            }
        }
    }

    /// The text of the number with its unit, as in the report.
    pub(crate) fn with_unit(self, unit: Unit) -> String {
        let number = |number| match unit {
            Unit::Count | Unit::Frame => grouped(number),
            Unit::Octets => size(number as f64),
            Unit::Time | Unit::ExactTime | Unit::Age => duration(number),
        };
        match self {
            Self::Exact(exact) => number(exact),
            Self::AtLeast(least) => format!("> {}", number(least)),
            Self::Part { part, all } => format!("{:.1} %", Self::percent(part, all)),
            Self::Unknown | Self::Absent => "–".to_owned(),
        }
    }
}

/// Paths of fields in a record.
pub(crate) type Fields = &'static [&'static str];

/// Heading of a column of text, and the fields of the record of a line that have the content of its cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextColumn {
    /// Heading, with the unit.
    pub heading: &'static str,
    /// Paths of the fields, such as `recovery.ns`.
    pub fields: Fields,
}

impl TextColumn {
    pub(crate) fn list_columns<R>(columns: &[Column<R>]) -> Vec<Self> {
        columns.iter().map(|Column { heading, fields, .. }| Self { heading: heading.trim_start(), fields }).collect()
    }
}

/// Style of the cells of a column.
pub(crate) enum CellStyle<R> {
    Always(Style),
    /// A style that depends on the content of the line.
    Of(fn(&R) -> Style),
}

/// Alignment of a cell in a column. A cell that is too wide moves the cells after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    /// A cell that is too wide takes of the gap, and leaves one column.
    Left,
    Right,
}

impl<R> Column<R> {
    /// A column of texts, with a gap of one.
    pub(crate) const fn left(
        heading: &'static str,
        fields: Fields,
        width: usize,
        style: Style,
        cell: fn(&R, usize, &mut String),
    ) -> Self {
        Self::new(heading, fields, width, style, Cell::Text(cell))
    }

    /// A column of numbers, with a gap of one.
    pub(crate) const fn right(
        heading: &'static str,
        fields: Fields,
        width: usize,
        style: Style,
        cell: fn(&R, usize, &mut String),
    ) -> Self {
        Self { align: Align::Right, ..Self::left(heading, fields, width, style, cell) }
    }

    /// A column of numbers in a unit, with a gap of one.
    pub(crate) const fn number(
        heading: &'static str,
        fields: Fields,
        width: usize,
        unit: Unit,
        number: fn(&R) -> Amount,
    ) -> Self {
        Self { align: Align::Right, ..Self::new(heading, fields, width, PLAIN, Cell::Number(unit, number)) }
    }

    const fn new(heading: &'static str, fields: Fields, width: usize, style: Style, cell: Cell<R>) -> Self {
        Self {
            heading,
            report_heading: heading,
            fields,
            width,
            gap: 1,
            align: Align::Left,
            style: CellStyle::Always(style),
            is_shown: true,
            cell,
        }
    }

    /// Appends the text of a cell, for which `room` columns are left.
    pub(crate) fn push_cell(&self, row: &R, room: usize, text: &mut String) {
        match self.cell {
            Cell::Text(write) => write(row, room, text),
            Cell::Number(unit, number) => number(row).push(unit, text),
        }
    }

    /// The columns of the screen that these columns take.
    pub(crate) fn width_of(columns: &[Self]) -> usize {
        columns.iter().filter(|column| column.is_shown).map(|column| column.width + column.gap).sum()
    }
}

/// Appends a value; a dash if there is none.
pub(crate) fn push(text: &mut String, value: Option<impl Display>) {
    match value {
        // Writing to a string cannot fail.
        Some(value) => _ = write!(text, "{value}"),
        None => text.push('-'),
    }
}

/// Appends an `rdma_xid`.
pub(crate) fn push_xid(text: &mut String, xid: u32) {
    push(text, Some(format_args!("{xid:#010x}")));
}

/// The frame that completed a call or a reply.
pub(crate) fn frame(half: &Option<Half>) -> Option<u64> {
    half.as_ref().map(|half| half.stamp.frame)
}

impl Line {
    /// Adds the headings of the columns that are shown.
    pub(crate) fn headings<R>(&mut self, columns: &[Column<R>]) {
        for column in columns.iter().filter(|column| column.is_shown) {
            self.cell(column, DIM, |text| text.push_str(column.heading));
        }
    }

    /// Adds the cells of the columns that are shown.
    pub(crate) fn cells<R>(&mut self, columns: &[Column<R>], row: &R) {
        for column in columns.iter().filter(|column| column.is_shown) {
            let room = self.room();
            let style = match column.style {
                CellStyle::Always(style) => style,
                CellStyle::Of(style) => style(row),
            };
            self.cell(column, style, |text| column.push_cell(row, room, text));
        }
    }

    /// Adds the cell of a last column, and notes after it. If there is not room for both, the cell is cut.
    pub(crate) fn last_cell<R>(&mut self, column: &Column<R>, row: &R, notes: &[(Style, String)]) {
        let limit = self.limit;
        let width: usize = notes.iter().map(|(_, note)| note.chars().count() + NOTE_GAP.len()).sum();
        self.limit = limit.saturating_sub(width);
        self.cells(core::slice::from_ref(column), row);
        self.limit = limit;
        self.notes(notes);
    }

    /// Adds notes to the end of the line.
    pub(crate) fn notes(&mut self, notes: &[(Style, String)]) {
        for (style, note) in notes {
            self.push(PLAIN, NOTE_GAP);
            self.push(*style, note);
        }
    }

    fn cell<R>(&mut self, column: &Column<R>, style: Style, write: impl FnOnce(&mut String)) {
        let Column { width, gap, .. } = *column;
        let room = self.room();
        if column.align == Align::Right {
            return self.add_text(style, room, |text| {
                let begin = text.len();
                write(text);
                let length = text.get(begin..).unwrap_or_default().chars().count();
                (length..width).for_each(|_| text.insert(begin, ' '));
                (0..gap).for_each(|_| text.push(' '));
            });
        }
        self.add_text(style, room, write);
        let left = self.room();
        let spaces = (width + gap).saturating_sub(room - left).max(gap.min(1)).min(left);
        self.add_text(PLAIN, left, |text| (0..spaces).for_each(|_| text.push(' ')));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(width: usize) -> Column<&'static str> {
        Column::left("h", &[], width, PLAIN, |row, _, text| text.push_str(row))
    }

    fn written(columns: &[Column<&'static str>], row: Option<&'static str>) -> String {
        let (mut line, mut out) = (Line::new(false, 80), Vec::new());
        match row {
            Some(row) => line.cells(columns, &row),
            None => line.headings(columns),
        }
        line.push(PLAIN, "|");
        line.write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn cells_align_with_headings_and_wide_cells_push_the_rest() {
        let right =
            Column { gap: 2, ..Column::right("h", &[], 4, PLAIN, |row: &&'static str, _, text| text.push_str(row)) };
        let columns = [Column { gap: 2, ..left(3) }, Column { is_shown: false, ..left(9) }, right];
        assert_eq!(written(&columns, None), "h       h  |\n");
        assert_eq!(written(&columns, Some("ab")), "ab     ab  |\n");
        assert_eq!(written(&columns, Some("abcdef")), "abcdef abcdef  |\n");
        assert_eq!(Column::width_of(&columns), 11);
        assert_eq!(written(&[Column { gap: 0, ..left(3) }], Some("abcdef")), "abcdef|\n");
    }

    #[test]
    fn spaces_for_which_there_is_no_room_are_left_out() {
        let (mut line, mut out) = (Line::new(false, 4), Vec::new());
        line.cells(&[left(9)], &"abcd");
        line.write(&mut out).unwrap();
        assert_eq!(out, b"abcd\n");
    }

    #[test]
    fn a_cell_knows_how_much_of_the_line_is_left() {
        let room = Column::right("h", &[], 0, PLAIN, |_: &&'static str, room, text| text.push_str(&room.to_string()));
        assert_eq!(written(&[left(9), room], Some("a")), "a         70 |\n");
    }

    #[test]
    fn a_number_has_its_unit_in_heading_or_cell() {
        for (unit, amount, text, with_unit) in [
            (Unit::Count, 12_345.into(), "12,345", "12,345"),
            (Unit::Frame, 12_345.into(), "12345", "12,345"),
            (Unit::Octets, 12_345.into(), "12,345", "12.3 kB"),
            (Unit::Time, 12_345_678.into(), "12.3", "12.3 ms"),
            (Unit::ExactTime, 12_345_678.into(), "12.345", "12.3 ms"),
            (Unit::Age, Amount::AtLeast(12_345_678_900), "> 12.345678", "> 12.3 s"),
            (Unit::Time, Amount::Part { part: 1, all: 8 }, "12.5%", "12.5 %"),
            (Unit::Time, Amount::Part { part: 0, all: 0 }, "0.0%", "0.0 %"),
            (Unit::Count, None.into(), "-", "–"),
            (Unit::Count, Amount::Absent, "", "–"),
        ] {
            let mut pushed = String::new();
            amount.push(unit, &mut pushed);
            assert_eq!((pushed.as_str(), amount.with_unit(unit).as_str()), (text, with_unit));
        }
    }
}

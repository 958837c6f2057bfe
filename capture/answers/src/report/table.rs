//! A table of the page: one list of columns, each with its heading and its cells. A column that a command prints too is made of the
//! same entry.

use maud::{Markup, html};

use super::diagrams::Drawn;
use crate::format::column::{Align, Amount, Cell, Column, Unit};

/// Columns of the screen for a cell of text.
const ROOM: usize = 90;

/// A column of a table of the page whose rows are about an `R` each.
pub(super) struct PageColumn<'a, R> {
    heading: &'static str,
    align: Align,
    /// True if the cell is the heading of its row.
    is_row_heading: bool,
    cell: Box<dyn Fn(&R) -> PageCell + 'a>,
}

/// A cell of a table.
pub(super) struct PageCell {
    /// The number that the script sorts by; without one, the text.
    sort_key: Option<u64>,
    class: Option<&'static str>,
    content: Markup,
}

impl<'a, R: 'a> From<Column<R>> for PageColumn<'a, R> {
    /// The column of a command.
    fn from(column: Column<R>) -> Self {
        let Column { report_heading: heading, align, cell, .. } = column;
        let cell: Box<dyn Fn(&R) -> PageCell + 'a> = match cell {
            Cell::Text(write) => Box::new(move |row| {
                let mut text = String::new();
                write(row, ROOM, &mut text);
                PageCell { sort_key: None, class: None, content: html! { (text) } }
            }),
            Cell::Number(unit, number) => return Self::number(heading, unit, number),
        };
        Self { heading, align, is_row_heading: false, cell }
    }
}

impl<'a, R: 'a> PageColumn<'a, R> {
    /// A column that no command prints.
    pub(super) fn new(heading: &'static str, content: impl Fn(&R) -> Markup + 'a) -> Self {
        let cell = Box::new(move |row: &R| PageCell { sort_key: None, class: None, content: content(row) });
        Self { heading, align: Align::Left, is_row_heading: false, cell }
    }

    /// A column of numbers that no command prints.
    pub(super) fn number(heading: &'static str, unit: Unit, number: impl Fn(&R) -> Amount + 'a) -> Self {
        let cell = Box::new(move |row: &R| {
            let amount = number(row);
            PageCell { sort_key: amount.sort_key(), class: None, content: html! { (amount.with_unit(unit)) } }
        });
        Self { heading, align: Align::Right, is_row_heading: false, cell }
    }

    /// The column of a command whose lines are about a part of each row.
    pub(super) fn of_part<P: 'a>(column: Column<P>, part: fn(&R) -> &P) -> Self {
        let PageColumn { heading, align, is_row_heading, cell } = PageColumn::from(column);
        Self { heading, align, is_row_heading, cell: Box::new(move |row| cell(part(row))) }
    }

    /// The same column, whose cells are headings of their rows.
    pub(super) fn of_row_headings(self) -> Self {
        Self { is_row_heading: true, ..self }
    }

    /// The same column with another content of the cells.
    pub(super) fn with_content(self, change: impl Fn(&R, Markup) -> Markup + 'a) -> Self {
        let before = self.cell;
        let cell = Box::new(move |row: &R| {
            let cell = before(row);
            PageCell { content: change(row, cell.content), ..cell }
        });
        Self { cell, ..self }
    }

    /// The same column, whose cells lead to the sequence diagram of an RPC, if there is one.
    pub(super) fn linked(self, diagram: impl Fn(&R) -> Option<&'a Drawn> + 'a) -> Self {
        self.with_content(move |row, content| match diagram(row) {
            Some(drawn) => html! { a href={ "#" (drawn.id) } { (content) } },
            None => content,
        })
    }

    /// The same column, whose cells have a class.
    pub(super) fn of_class(self, class: fn(&R) -> &'static str) -> Self {
        let before = self.cell;
        Self { cell: Box::new(move |row| PageCell { class: Some(class(row)), ..before(row) }), ..self }
    }

    fn heading(&self) -> Markup {
        html! {
            @match self.align {
                Align::Right => { th.number scope="col" { (self.heading) } }
                Align::Left => { th scope="col" { (self.heading) } }
            }
        }
    }

    fn cell(&self, row: &R) -> Markup {
        let PageCell { sort_key, class, content } = (self.cell)(row);
        html! {
            @if self.is_row_heading {
                th scope="row" { (content) }
            } @else if self.align == Align::Right {
                td.number data-value=[sort_key] { (content) }
            } @else {
                td class=[class] { (content) }
            }
        }
    }
}

/// A row of a table.
pub(super) fn row<R>(columns: &[PageColumn<'_, R>], row: &R) -> Markup {
    html! { tr { @for column in columns { (column.cell(row)) } } }
}

/// A table with headings; the script sorts by any column.
pub(super) fn table<'r, R: 'r>(
    caption: &str,
    columns: &[PageColumn<'_, R>],
    rows: impl IntoIterator<Item = &'r R>,
) -> Markup {
    let rows = rows.into_iter();
    table_of(caption, columns, html! { @for content in rows { (row(columns, content)) } })
}

/// A table of rows that were [made](row) before.
pub(super) fn table_of<R>(caption: &str, columns: &[PageColumn<'_, R>], rows: Markup) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(caption) {
            table.sortable {
                caption { (caption) }
                thead { tr { @for column in columns { (column.heading()) } } }
                tbody { (rows) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::column::push;
    use crate::format::line::PLAIN;

    #[test]
    fn the_page_shows_heading_and_cells_of_a_column() {
        let time =
            Column { report_heading: "time", ..Column::number("ms", &[], 9, Unit::Time, |row: &u64| (*row).into()) };
        let name = Column::left("<name>", &[], 3, PLAIN, |row: &u64, _, text| push(text, Some(row)));
        let columns = [PageColumn::from(name).of_row_headings(), time.into()];
        let page = table("Times", &columns, &[1500, 2_000_000]).into_string();
        for expected in [
            "<caption>Times</caption>",
            "<th scope=\"col\">&lt;name&gt;</th><th class=\"number\" scope=\"col\">time</th>",
            "<tr><th scope=\"row\">1500</th><td class=\"number\" data-value=\"1500\">1.50 µs</td></tr>",
            "<tr><th scope=\"row\">2000000</th><td class=\"number\" data-value=\"2000000\">2.00 ms</td></tr>",
        ] {
            assert!(page.contains(expected), "{expected}: {page}");
        }
    }
}

//! The terminal, or the file, that text is for.

/// The terminal, or the file, that text is for. By default a file: no colour, and no limit but each table's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Screen {
    /// True if text may be coloured.
    pub colour: bool,
    /// Columns of the terminal; `None` if lines may be longer, as in a file.
    pub columns: Option<usize>,
}

impl Screen {
    /// Columns for a table that has `most` where there is room.
    pub(crate) fn within(self, most: usize) -> usize {
        self.columns.map_or(most, |columns| columns.min(most))
    }

    /// Returns true if a line of this many columns fits.
    pub(crate) fn fits(self, columns: usize) -> bool {
        self.columns.is_none_or(|all| columns <= all)
    }
}

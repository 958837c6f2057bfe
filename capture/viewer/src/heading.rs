//! Headings of the page's tables. Each table declares a column once, with the value to sort by; `web/generated.ts` has the headings.

use serde::Serialize;

/// The heading of a column.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Heading {
    /// Name of the column in a query, and in the address of the page.
    pub(crate) name: &'static str,
    title: &'static str,
    /// `true` if the cells are numbers, which stand at the right.
    is_number: bool,
    /// `true` if the largest value comes first.
    is_descending: bool,
    /// Meaning of an order by the column, if the title does not say it.
    meaning: &'static str,
}

impl Heading {
    pub(crate) const fn text(name: &'static str, title: &'static str) -> Self {
        Self { name, title, is_number: false, is_descending: false, meaning: "" }
    }

    /// The heading of texts with an order of their own.
    pub(crate) const fn ranked(name: &'static str, title: &'static str) -> Self {
        Self { is_descending: true, ..Self::text(name, title) }
    }

    /// The same with a meaning.
    pub(crate) const fn meaning(self, meaning: &'static str) -> Self {
        Self { meaning, ..self }
    }

    pub(crate) const fn number(name: &'static str, title: &'static str) -> Self {
        Self { is_number: true, is_descending: true, ..Self::text(name, title) }
    }
}

/// A column of a table.
pub(crate) trait Column {
    fn heading(&self) -> &Heading;
}

/// The column with a name; without a name, the first one.
///
/// # Errors
/// A text for the user, if the table has no such column.
pub(crate) fn find<'a, C: Column>(columns: &'a [C], name: &str) -> Result<&'a C, String> {
    let found = columns.iter().find(|column| name.is_empty() || column.heading().name == name);
    found.ok_or_else(|| format!("there is no column {name}"))
}

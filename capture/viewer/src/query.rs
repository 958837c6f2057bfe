//! Rows to show, and the order.

use serde::Deserialize;

/// Rows that pass a filter, sorted by a column.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub(crate) struct Query {
    pub(crate) filter: String,
    /// Name of the column.
    pub(crate) sort: String,
    pub(crate) descending: bool,
}

/// Value to sort by. A column has values of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Value<'a> {
    Number(u64),
    Text(&'a str),
}

/// Sorts rows by value. Rows with the same value keep the order, and rows without a value come last, either way.
pub(crate) fn sort<'a, Row>(rows: &mut [&'a Row], descending: bool, value: impl Fn(&'a Row) -> Option<Value<'a>>) {
    rows.sort_by(|a, b| match (value(a), value(b)) {
        (Some(a), Some(b)) if descending => b.cmp(&a),
        (Some(a), Some(b)) => a.cmp(&b),
        (a, b) => b.is_some().cmp(&a.is_some()),
    });
}

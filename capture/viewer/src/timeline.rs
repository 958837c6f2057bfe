//! The selected RPCs over time, in the charts of the report.

use std::collections::HashSet;

use answers::report::{self, AnsweredRpc, TimeSeries};
use serde::Serialize;

use crate::filter::Filter;
use crate::row::Row;
use crate::table::Table;
use crate::traffic::Traffic;

/// Charts, and the times that the page needs for a selection in a chart. Times are nanoseconds since the first frame.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Timeline {
    /// HTML of the report.
    charts: String,
    /// Sentences about parts of the selection that are missing from the charts.
    notes: Vec<String>,
    /// The time that the charts show.
    start_ns: u64,
    width_ns: u64,
    /// Length of an interval.
    interval_ns: u64,
    /// Time of the last frame.
    last_ns: u64,
    /// The time that the filter selects; null for an end that is open.
    since_ns: Option<u64>,
    until_ns: Option<u64>,
}

/// Draws the rows that pass a filter, at any time, with their credits and packets retransmitted.
pub(crate) fn timeline(table: &Table, traffic: &mut Traffic, filter: &Filter) -> Timeline {
    let of_any_time = filter.of_any_time();
    let is_all = of_any_time == Filter::default();
    let mut series = if is_all { traffic.unfiltered_series().clone() } else { traffic.unfiltered_series().emptied() };
    let mut connections = HashSet::new();
    for (_, row) in table.matching(&of_any_time) {
        connections.insert(row.kind.connection);
        add_row(&mut series, &row, table.last);
    }
    let notes = if is_all { Vec::new() } else { traffic.select(&mut series, &of_any_time, table, &connections) };
    series.end_at(table.last);
    let [since_ns, until_ns] = filter.times(table.first);
    Timeline {
        charts: report::timeline(&series, table.first),
        notes,
        start_ns: series.start().saturating_sub(table.first),
        width_ns: series.width(),
        interval_ns: series.length(),
        last_ns: table.last.saturating_sub(table.first),
        since_ns,
        until_ns,
    }
}

fn add_row(series: &mut TimeSeries, row: &Row, last: u64) {
    if row.is_waiting() {
        series.unanswered(row.time, row.ended.unwrap_or(last));
    } else if let (Some(_), Some(reply)) = (row.reply, row.ended) {
        let Row { latency, read: read_octets, written: write_octets, .. } = *row;
        series.answered(&AnsweredRpc { reply, latency, read_octets, write_octets });
    }
}

//! The selected RPCs over time, in the charts of the report.

use dissector::output::report::{self, AnsweredRpc, TimeSeries};
use serde::Serialize;

use crate::filter::Filter;
use crate::row::Row;
use crate::table::Table;

/// Charts, and the times that the page needs for a selection in them. Times are nanoseconds since the first frame.
#[derive(Debug, Serialize)]
pub(crate) struct Timeline {
    /// HTML of the report.
    charts: String,
    /// The time that the charts show.
    start_ns: u64,
    width_ns: u64,
    /// The time that the filter selects; null if it has no end.
    since_ns: Option<u64>,
    until_ns: Option<u64>,
}

/// Draws the rows that pass a filter, of which its times do not count. `of_no_rpc` holds what belongs to no row.
pub(crate) fn timeline(table: &Table, of_no_rpc: &TimeSeries, filter: &Filter) -> Timeline {
    let mut series = of_no_rpc.clone();
    for (_, row) in table.matching(&filter.of_any_time()) {
        take(&mut series, &row, table.last);
    }
    series.end(table.last);
    let [since_ns, until_ns] = filter.times(table.first);
    Timeline {
        charts: report::timeline(&series, table.first),
        start_ns: series.start().saturating_sub(table.first),
        width_ns: series.width(),
        since_ns,
        until_ns,
    }
}

fn take(series: &mut TimeSeries, row: &Row, last: u64) {
    if row.is_waiting() {
        series.unanswered(row.time, row.ended.unwrap_or(last));
    } else if let (Some(_), Some(reply)) = (row.reply, row.ended) {
        let Row { latency, read: read_octets, written: write_octets, .. } = *row;
        series.answered(&AnsweredRpc { reply, latency, read_octets, write_octets });
    }
}

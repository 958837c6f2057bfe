//! Columns of the tables of statistics, in text and in the report.

use rpcrdma_dissector::Side;

use super::intervals::IntervalStatistics;
use super::record::{ConnectionStatistics, EndReport, Latency, ProcedureStatistics, StatusStatistics};
use crate::format::column::{Amount, Column, Fields, Unit, push};
use crate::format::line::{DIM, PLAIN};
use crate::format::screen::Screen;

/// Content of a line about an end of a connection.
pub(crate) struct EndLine<'a> {
    pub(crate) connection: &'a ConnectionStatistics,
    pub(crate) end: &'a EndReport,
    pub(crate) side: Side,
}

impl<'a> EndLine<'a> {
    /// The lines about both ends.
    pub(crate) const fn both(connection: &'a ConnectionStatistics) -> [Self; 2] {
        let ConnectionStatistics { active, passive, .. } = connection;
        [Self { connection, end: active, side: Side::Active }, Self { connection, end: passive, side: Side::Passive }]
    }

    /// Direction in which the end sends.
    pub(crate) const fn arrow(&self) -> &'static str {
        match self.side {
            Side::Active => "→",
            Side::Passive => "←",
        }
    }

    /// The queue pair, or the TCP port.
    fn endpoint(&self) -> String {
        let tcp_port = self.end.tcp_port.map(|port| format!("TCP {port}"));
        self.end.queue_pair.clone().or(tcp_port).unwrap_or_else(|| "?".to_owned())
    }
}

/// A column of counts, as wide as its content.
const fn count<R>(heading: &'static str, fields: Fields, number: fn(&R) -> Amount) -> Column<R> {
    Column::number(heading, fields, 0, Unit::Count, number)
}

/// The columns of a line about an end of a connection.
pub(crate) const fn of_ends<'a>() -> [Column<EndLine<'a>>; 11] {
    [
        Column::left("sent by", &["connection"], 0, PLAIN, |row, _, text| {
            push(text, Some(format_args!("{} {}", row.connection.connection, row.arrow())));
        }),
        Column::left("queue_pair", &["queue_pair", "tcp_port"], 0, PLAIN, |row, _, text| {
            text.push_str(&row.endpoint());
        }),
        count("packets", &["packets"], |row| row.end.counts.packets.into()),
        count("retransmitted", &["retransmitted"], |row| row.end.counts.retransmitted.into()),
        count("replaced", &["replaced"], |row| row.end.counts.replaced.into()),
        count("early", &["early"], |row| row.end.counts.early.into()),
        Column {
            report_heading: "NAKs",
            ..count("sequence_errors", &["sequence_errors"], |row| row.end.counts.sequence_errors.into())
        },
        Column {
            report_heading: "RNR NAKs",
            ..count("not_ready", &["not_ready"], |row| row.end.counts.not_ready.into())
        },
        Column { report_heading: "refused", ..count("failed", &["failed"], |row| row.end.counts.failed.into()) },
        count("missed", &["missed"], |row| row.end.counts.missed.into()),
        count("unmatched", &["unmatched"], |row| row.end.counts.unmatched.into()),
    ]
}

impl ProcedureStatistics {
    /// A latency of a statistic, which a single RPC does not have.
    fn percentile(&self, of: fn(&Latency) -> u64) -> Amount {
        self.latency.map_or(Amount::Absent, |latency| (latency.count > 1).then(|| of(&latency)).into())
    }

    /// The least or the greatest latency.
    fn extreme(&self, of: fn(&Latency) -> u64) -> Amount {
        self.latency.map_or(Amount::Absent, |latency| of(&latency).into())
    }
}

/// The columns of a line about the RPCs that call the same procedure.
pub(crate) const fn of_procedures() -> [Column<ProcedureStatistics>; 10] {
    const fn octets(
        heading: &'static str,
        fields: Fields,
        octets: fn(&ProcedureStatistics) -> Amount,
    ) -> Column<ProcedureStatistics> {
        Column::number(heading, fields, 0, Unit::Octets, octets)
    }
    const fn latency(
        heading: &'static str,
        fields: Fields,
        latency: fn(&ProcedureStatistics) -> Amount,
    ) -> Column<ProcedureStatistics> {
        Column::number(heading, fields, 0, Unit::Time, latency)
    }
    [
        Column {
            report_heading: "operation",
            ..Column::left("", &["operation"], 0, PLAIN, |row, _, text| text.push_str(&row.operation))
        },
        count("calls", &["calls"], |row| row.calls.into()),
        count("replies", &["replies"], |row| row.replies.into()),
        count("failed", &["failed"], |row| row.failed.into()),
        Column {
            report_heading: "RDMA Read",
            ..octets("Read", &["rdma_read_octets"], |row| row.moved.read_octets.into())
        },
        Column {
            report_heading: "RDMA Write",
            ..octets("Write", &["rdma_write_octets"], |row| row.moved.write_octets.into())
        },
        latency("min", &["latency.min_ns"], |row| row.extreme(|latency| latency.min_ns)),
        latency("median", &["latency.p50_ns"], |row| row.percentile(|latency| latency.p50_ns)),
        Column {
            report_heading: "99 %",
            ..latency("p99", &["latency.p99_ns"], |row| row.percentile(|latency| latency.p99_ns))
        },
        Column {
            report_heading: "slowest",
            ..latency("max", &["latency.max_ns"], |row| row.extreme(|latency| latency.max_ns))
        },
    ]
}

/// The columns of a line about RPCs that did not succeed; text has no room for headings.
pub(crate) const fn of_failures() -> [Column<StatusStatistics>; 3] {
    [
        Column {
            report_heading: "operation",
            ..Column::left("", &["operation"], 0, PLAIN, |row, _, text| text.push_str(&row.operation))
        },
        Column {
            report_heading: "status",
            ..Column::left("", &["status.name"], 0, PLAIN, |row, _, text| text.push_str(&row.status.name))
        },
        Column { report_heading: "RPCs", ..count("", &["count"], |row| row.count.into()) },
    ]
}

/// Columns of a line about an interval of time; a narrow screen has no room for all of them.
pub(super) fn of_intervals(screen: Screen) -> [Column<IntervalStatistics>; 12] {
    let all = intervals(true);
    if screen.fits(Column::width_of(&all)) { all } else { intervals(false) }
}

/// The columns of a line about an interval of time, those that are wide screens' own included or not.
fn intervals(is_shown: bool) -> [Column<IntervalStatistics>; 12] {
    type Of = fn(&IntervalStatistics) -> Amount;
    let count = |heading, fields, number: Of| Column::number(heading, fields, 8, Unit::Count, number);
    let latency = |heading, fields, number: Of| Column::number(heading, fields, 8, Unit::Time, number);
    [
        Column::right("seconds", &["start_ns"], 12, DIM, |row, _, text| rdma_write_seconds(text, row.start_ns)),
        count("RPCs", &["rpcs.total"], |row| row.rpcs.total.into()),
        count("no reply", &["rpcs.without_reply"], |row| row.rpcs.without_reply.into()),
        count("failed", &["procedures.failed"], |row| {
            row.procedures.iter().map(|procedure| procedure.failed).sum::<u64>().into()
        }),
        Column {
            is_shown,
            ..Column::number("RDMA Read", &["rpcs.rdma_read_octets"], 9, Unit::Octets, |row| {
                row.rpcs.moved.read_octets.into()
            })
        },
        Column {
            is_shown,
            ..Column::number("RDMA Write", &["rpcs.rdma_write_octets"], 10, Unit::Octets, |row| {
                row.rpcs.moved.write_octets.into()
            })
        },
        // The first is the latency of a single RPC.
        latency("p50 ms", &["latency.p50_ns"], |row| {
            row.latency.map(|latency| if latency.count > 1 { latency.p50_ns } else { latency.max_ns }).into()
        }),
        latency("p99 ms", &["latency.p99_ns"], |row| {
            row.latency.filter(|latency| latency.count > 1).map(|latency| latency.p99_ns).into()
        }),
        Column::right("in flight", &["calls.latency_sum_ns"], 10, PLAIN, |row, _, text| {
            let mean = row.calls.latency_sum_ns as f64 / row.length_ns.max(1) as f64;
            push(text, Some(format_args!("{mean:.3}")));
        }),
        Column {
            is_shown,
            ..Column::right("max", &["calls.max"], 6, PLAIN, |row, _, text| push(text, Some(row.calls.max)))
        },
        Column::right("grant", &["calls.granted"], 6, PLAIN, |row, _, text| push(text, row.calls.granted)),
        Column {
            is_shown,
            ..Column::right("limit s", &["calls.at_limit_ns"], 8, PLAIN, |row, _, text| {
                rdma_write_seconds(text, row.calls.at_limit_ns);
            })
        },
    ]
}

/// Appends nanoseconds as seconds with three decimals.
fn rdma_write_seconds(text: &mut String, nanoseconds: u64) {
    push(text, Some(format_args!("{:.3}", nanoseconds as f64 / 1e9)));
}

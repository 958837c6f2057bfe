//! RPCs by connection, client, server, file, operation or status.

use core::fmt;
use std::collections::HashMap;

use answers::format::number::{duration, grouped, size};
use dissector::CaptureEnd;
use serde::Deserialize;

use crate::names::Name;
use crate::query::{self, Query, Value};
use crate::row::Row;
use crate::table::Table;

/// The most groups that are shown.
const GROUPS: usize = 5000;

/// Property that the RPCs of a group have in common.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum GroupBy {
    Operation,
    Client,
    Server,
    File,
    Connection,
    Status,
}

/// Column to sort groups by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum GroupColumn {
    Name,
    Rpcs,
    Waiting,
    Failed,
    Resent,
    Read,
    Written,
    #[default]
    Time,
    Share,
    Median,
    P99,
    Slowest,
}

/// The name of a group, and its numbers as the page shows them, in the order of [`GroupColumn`].
pub(crate) type ShownGroup = (String, [String; 11]);

/// Counts of the RPCs of a group.
#[derive(Debug, Default)]
struct Group {
    name: GroupName,
    calls: u64,
    without_reply: u64,
    failed: u64,
    resent_packets: u64,
    read_octets: u64,
    write_octets: u64,
    /// Latencies, and the waits of calls without a reply.
    time_ns: u64,
    max_ns: Option<u64>,
    /// Half of the RPCs took no longer, and 99 of 100.
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
    latencies: Vec<u64>,
}

/// The groups of the rows that a query selects, in its order.
pub(crate) fn groups(table: &Table, query: &Query<GroupColumn>, by: GroupBy) -> Result<Vec<ShownGroup>, String> {
    let mut groups: HashMap<GroupKey, Group> = HashMap::new();
    for (_, row) in table.matching(&table.filter(&query.filter)?) {
        groups.entry(GroupKey::new(&row, by)).or_default().take(&row, table.end);
    }
    let named = groups.into_iter().map(|(key, group)| Group { name: key.name(table), ..group });
    let groups: Vec<Group> = named.map(Group::finished).collect();
    let time = groups.iter().map(|group| group.time_ns).sum();
    let mut sorted: Vec<&Group> = groups.iter().collect();
    // Groups with the same value are in the order of their names.
    for (column, descending) in [(GroupColumn::Name, false), (query.sort, query.descending)] {
        query::sort(&mut sorted, descending, |group| group.value(column));
    }
    Ok(sorted.into_iter().take(GROUPS).map(|group| group.shown(time)).collect())
}

/// Property that tells a group from all others.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum GroupKey {
    Connection(u32),
    Name(Name),
    File { name: Name, folder: Name },
}

impl GroupKey {
    fn new(row: &Row, by: GroupBy) -> Self {
        match by {
            GroupBy::Operation => Self::Name(row.kind.operation),
            GroupBy::Client => Self::Name(row.kind.client),
            GroupBy::Server => Self::Name(row.kind.server),
            GroupBy::File => Self::File { name: row.file, folder: row.folder },
            GroupBy::Status => Self::Name(row.kind.status),
            GroupBy::Connection => Self::Connection(row.kind.connection),
        }
    }

    /// The name of the group. If several files of the capture have a name, the folder is part of it.
    fn name(self, table: &Table) -> GroupName {
        let text = |name: Name| table.names.text(name);
        match self {
            Self::Connection(number) => GroupName::Number(number),
            Self::File { name, folder } if table.files.are_several(name) => {
                GroupName::Text(format!("{} in {}", text(name), text(folder)))
            }
            Self::Name(name) | Self::File { name, .. } => GroupName::Text(text(name).to_owned()),
        }
    }
}

/// Name of a group.
#[derive(Debug)]
enum GroupName {
    Text(String),
    /// Number of a connection.
    Number(u32),
}

impl GroupName {
    /// The value by which groups are sorted; `None` without a name.
    fn value(&self) -> Option<Value<'_>> {
        match self {
            Self::Number(number) => Some(Value::Number((*number).into())),
            Self::Text(text) => (!text.is_empty()).then_some(Value::Text(text)),
        }
    }
}

impl fmt::Display for GroupName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl Default for GroupName {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl Group {
    fn take(&mut self, row: &Row, end: CaptureEnd) {
        self.calls += 1;
        self.without_reply += u64::from(row.is_waiting());
        self.failed += u64::from(row.kind.has_failed);
        self.resent_packets += row.resent;
        self.read_octets += row.read;
        self.write_octets += row.written;
        self.time_ns += row.latency.unwrap_or_default() + row.waited(end);
        self.latencies.extend(row.latency);
    }

    fn finished(mut self) -> Self {
        let mut latencies = core::mem::take(&mut self.latencies);
        latencies.sort_unstable();
        let percentile =
            |percent: usize| latencies.get((latencies.len() * percent).div_ceil(100).saturating_sub(1)).copied();
        Self { p50_ns: percentile(50), p99_ns: percentile(99), max_ns: latencies.last().copied(), ..self }
    }

    /// The value in a column, if it has one.
    fn value(&self, column: GroupColumn) -> Option<Value<'_>> {
        let number = match column {
            GroupColumn::Name => return self.name.value(),
            GroupColumn::Rpcs => Some(self.calls),
            GroupColumn::Waiting => Some(self.without_reply),
            GroupColumn::Failed => Some(self.failed),
            GroupColumn::Resent => Some(self.resent_packets),
            GroupColumn::Read => Some(self.read_octets),
            GroupColumn::Written => Some(self.write_octets),
            // A share is one of the time of all groups.
            GroupColumn::Time | GroupColumn::Share => Some(self.time_ns),
            GroupColumn::Median => self.p50_ns,
            GroupColumn::P99 => self.p99_ns,
            GroupColumn::Slowest => self.max_ns,
        };
        number.map(Value::Number)
    }

    /// Name and numbers, if all groups took `all` nanoseconds.
    fn shown(&self, all: u64) -> ShownGroup {
        let latency = |latency: Option<u64>| latency.map_or_else(|| "–".to_owned(), duration);
        let numbers = [
            grouped(self.calls),
            grouped(self.without_reply),
            grouped(self.failed),
            grouped(self.resent_packets),
            size(self.read_octets as f64),
            size(self.write_octets as f64),
            duration(self.time_ns),
            format!("{:.1} %", 100.0 * self.time_ns as f64 / all.max(1) as f64),
            latency(self.p50_ns),
            latency(self.p99_ns),
            latency(self.max_ns),
        ];
        (self.name.to_string(), numbers)
    }
}

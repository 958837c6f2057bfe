//! RPCs by connection, client, server, file, operation or status.

use core::fmt;
use std::collections::HashMap;

use answers::format::number::{duration, grouped, size};
use dissector::CaptureEnd;
use serde::Deserialize;

use crate::heading::{self, Column, Heading};
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

/// The heading of the names of groups; the title is that of the table.
pub(crate) const NAME: Heading = Heading::text("name", "");

/// A column of a table of groups, after the names.
pub(crate) struct GroupColumn {
    heading: Heading,
    /// Number to sort by, if the group has one.
    number: fn(&Group) -> Option<u64>,
    /// Text of a number, in a table whose groups took so many nanoseconds.
    text: fn(u64, u64) -> String,
}

impl Column for GroupColumn {
    fn heading(&self) -> &Heading {
        &self.heading
    }
}

impl GroupColumn {
    const fn count(name: &'static str, title: &'static str, number: fn(&Group) -> Option<u64>) -> Self {
        Self { heading: Heading::number(name, title), number, text: |count, _| grouped(count) }
    }

    const fn size(name: &'static str, title: &'static str, number: fn(&Group) -> Option<u64>) -> Self {
        Self { text: |octets, _| size(octets as f64), ..Self::count(name, title, number) }
    }

    const fn duration(name: &'static str, title: &'static str, number: fn(&Group) -> Option<u64>) -> Self {
        Self { text: |nanoseconds, _| duration(nanoseconds), ..Self::count(name, title, number) }
    }

    /// The cell of a group, in a table whose groups took `all` nanoseconds.
    fn cell(&self, group: &Group, all: u64) -> String {
        (self.number)(group).map_or_else(|| "–".to_owned(), |number| (self.text)(number, all))
    }
}

/// The columns of all tables of groups, after the names.
pub(crate) const COLUMNS: [GroupColumn; 11] = [
    GroupColumn::count("rpcs", "RPCs", |group| Some(group.calls)),
    GroupColumn::count("waiting", "no reply", |group| Some(group.without_reply)),
    GroupColumn::count("failed", "failed", |group| Some(group.failed)),
    GroupColumn::count("retransmitted", "retransmitted", |group| Some(group.retransmitted_packets)),
    GroupColumn::size("read", "RDMA Read", |group| Some(group.read_octets)),
    GroupColumn::size("written", "RDMA Write", |group| Some(group.write_octets)),
    GroupColumn::duration("time", "time", |group| Some(group.time_ns)),
    GroupColumn {
        text: |time, all| format!("{:.1} %", 100.0 * time as f64 / all.max(1) as f64),
        ..GroupColumn::count("share", "share", |group| Some(group.time_ns))
    },
    GroupColumn::duration("median", "median", |group| group.p50_ns),
    GroupColumn::duration("p99", "99 %", |group| group.p99_ns),
    GroupColumn::duration("slowest", "slowest", |group| group.max_ns),
];

/// The name of a group, and the cells of the other columns.
pub(crate) type ShownGroup = (String, Vec<String>);

/// Counts of the RPCs of a group.
#[derive(Debug, Default)]
pub(crate) struct Group {
    name: GroupName,
    calls: u64,
    without_reply: u64,
    failed: u64,
    retransmitted_packets: u64,
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
pub(crate) fn groups(table: &Table, query: &Query, by: GroupBy) -> Result<Vec<ShownGroup>, String> {
    let is_by_name = query.sort == NAME.name;
    let column = if is_by_name { None } else { Some(heading::find(&COLUMNS, &query.sort)?) };
    let mut groups: HashMap<GroupKey, Group> = HashMap::new();
    for (_, row) in table.matching(&table.filter(&query.filter)?) {
        groups.entry(GroupKey::new(&row, by)).or_default().add_row(&row, table.end);
    }
    let named = groups.into_iter().map(|(key, group)| Group { name: key.name(table), ..group });
    let groups: Vec<Group> = named.map(Group::finished).collect();
    let time = groups.iter().map(|group| group.time_ns).sum();
    let mut sorted: Vec<&Group> = groups.iter().collect();
    // Groups with the same value are in the order of their names.
    query::sort(&mut sorted, is_by_name && query.descending, |group| group.name.value());
    if let Some(column) = column {
        query::sort(&mut sorted, query.descending, |group| (column.number)(group).map(Value::Number));
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
    fn add_row(&mut self, row: &Row, end: CaptureEnd) {
        self.calls += 1;
        self.without_reply += u64::from(row.is_waiting());
        self.failed += u64::from(row.kind.has_failed);
        self.retransmitted_packets += row.retransmitted;
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

    /// Name and numbers, if all groups took `all` nanoseconds.
    fn shown(&self, all: u64) -> ShownGroup {
        (self.name.to_string(), COLUMNS.iter().map(|column| column.cell(self, all)).collect())
    }
}

//! RPCs by connection, client, server, file, operation or status.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::filter::Filter;
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

/// Counts of the RPCs of a group.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Group {
    name: String,
    calls: u64,
    without_reply: u64,
    failed: u64,
    resent_packets: u64,
    read_octets: u64,
    write_octets: u64,
    time_ns: u64,
    max_ns: Option<u64>,
    /// Half of the RPCs took no longer, and 99 of 100.
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
    #[serde(skip)]
    latencies: Vec<u64>,
}

/// The groups of the rows that pass a filter: those with the most time first.
pub(crate) fn groups(table: &Table, filter: &Filter, by: GroupBy) -> Vec<Group> {
    let mut groups: HashMap<u32, Group> = HashMap::new();
    for (_, row) in table.matching(filter) {
        let (key, name) = key(table, &row, by);
        let group = groups.entry(key).or_insert_with(|| Group { name: name(), ..Group::default() });
        group.take(&row);
    }
    let mut groups: Vec<Group> = groups.into_values().map(Group::finished).collect();
    groups.sort_by(|a, b| b.time_ns.cmp(&a.time_ns).then_with(|| a.name.cmp(&b.name)));
    groups.truncate(GROUPS);
    groups
}

/// The number of a row's group, and its name.
fn key<'a>(table: &'a Table, row: &Row, by: GroupBy) -> (u32, impl FnOnce() -> String + use<'a>) {
    let connection = row.kind.connection;
    let name = match by {
        GroupBy::Operation => Some(row.kind.operation),
        GroupBy::Client => Some(row.kind.client),
        GroupBy::Server => Some(row.kind.server),
        GroupBy::File => Some(row.file),
        GroupBy::Status => Some(row.kind.status),
        GroupBy::Connection => None,
    };
    let text = move || name.map_or_else(|| connection.to_string(), |name| table.names.text(name).to_owned());
    (name.map_or(connection, |name| name.number()), text)
}

impl Group {
    fn take(&mut self, row: &Row) {
        self.calls += 1;
        self.without_reply += u64::from(row.is_waiting());
        self.failed += u64::from(row.kind.has_failed);
        self.resent_packets += row.resent;
        self.read_octets += row.read;
        self.write_octets += row.written;
        self.time_ns += row.latency.unwrap_or_default();
        self.latencies.extend(row.latency);
    }

    fn finished(mut self) -> Self {
        let mut latencies = core::mem::take(&mut self.latencies);
        latencies.sort_unstable();
        let percentile =
            |percent: usize| latencies.get((latencies.len() * percent).div_ceil(100).saturating_sub(1)).copied();
        Self { p50_ns: percentile(50), p99_ns: percentile(99), max_ns: latencies.last().copied(), ..self }
    }
}

//! Stepping through the RPCs that somebody looks for.

use serde::Deserialize;

use crate::row::Row;
use crate::table::Table;

/// One of so many RPCs is slow.
const SLOW: usize = 100;

/// Kind of RPC to step to.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Notable {
    Slow,
    Failed,
    Waiting,
}

/// The next row of a kind in the order of the capture, or the one before; after the last one comes the first.
pub(crate) fn next(table: &Table, from: u32, kind: Notable, backwards: bool) -> Option<u32> {
    let least = slow(table);
    let is_meant = |row: &Row| match kind {
        Notable::Slow => row.latency.is_some_and(|latency| latency >= least),
        Notable::Failed => row.kind.has_failed,
        Notable::Waiting => row.is_waiting(),
    };
    let mut places = table.rows().filter(|(_, row)| is_meant(row)).map(|(index, _)| index);
    if backwards {
        let places: Vec<u32> = places.collect();
        return places.iter().rev().find(|index| **index < from).or(places.last()).copied();
    }
    let first = places.next()?;
    [first].into_iter().chain(places).find(|index| *index > from).or(Some(first))
}

/// The least latency of the slowest hundredth.
fn slow(table: &Table) -> u64 {
    let mut latencies: Vec<u64> = table.rows().filter_map(|(_, row)| row.latency).collect();
    let place = latencies.len() - latencies.len().div_ceil(SLOW);
    match latencies.len() {
        0 => u64::MAX,
        _ => *latencies.select_nth_unstable(place).1,
    }
}

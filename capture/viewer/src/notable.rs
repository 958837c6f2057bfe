//! Stepping through the RPCs that somebody looks for.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};

use crate::row::Row;
use crate::table::Table;

/// One of so many RPCs is slow, and at least so many are: `rpcrdma slow` lists ten.
const SLOW: usize = 100;
const LEAST: usize = 10;

/// Kind of RPC to step to.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum Notable {
    /// The slowest RPCs in the order of `rpcrdma slow`.
    Slow,
    /// RPCs with an error in the order of the capture.
    Failed,
    /// Calls without a reply in the order of the capture.
    Waiting,
}

/// An RPC of a kind, and the place among all RPCs of that kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Stepped {
    index: u32,
    /// Counted from 1.
    place: usize,
    count: usize,
    /// True if the step went from one end to the other.
    is_round: bool,
}

/// The next row of a kind, or the one before; after the last one comes the first.
pub(crate) fn next(table: &Table, from: u32, kind: Notable, backwards: bool) -> Option<Stepped> {
    let is_meant: fn(&Row) -> bool = match kind {
        Notable::Slow => {
            let slowest = slowest(table);
            let own = slowest.iter().copied().find(|(_, index)| *index == from);
            return stepped(slowest.iter().map(|order| (*order, order.1)), own, backwards);
        }
        Notable::Failed => |row| row.kind.has_failed,
        Notable::Waiting => Row::is_waiting,
    };
    let meant = table.rows().filter(|(_, row)| is_meant(row)).map(|(index, _)| (index, index));
    let is_open = (from as usize) < table.len();
    stepped(meant, is_open.then_some(from), backwards)
}

/// The row after or before the one with the order `own`, in rows sorted by their order.
fn stepped<Order: Ord>(
    rows: impl Iterator<Item = (Order, u32)>,
    own: Option<Order>,
    backwards: bool,
) -> Option<Stepped> {
    let (mut first, mut before, mut after, mut last, mut count) = (None, None, None, None, 0);
    for (order, index) in rows {
        count += 1;
        let this = Some((index, count));
        first = first.or(this);
        if own.as_ref().is_some_and(|own| order < *own) {
            before = this;
        }
        if own.as_ref().is_some_and(|own| order > *own) {
            after = after.or(this);
        }
        last = this;
    }
    let (found, end) = if backwards { (before, last) } else { (after, first) };
    let (index, place) = found.or(end)?;
    Some(Stepped { index, place, count, is_round: own.is_some() && found.is_none() })
}

/// The slowest rows, slowest first, with their latencies. Of those that took the same time the first of the capture is taken for the
/// slowest.
fn slowest(table: &Table) -> Vec<(Reverse<u64>, u32)> {
    let answered = || table.rows().filter_map(|(index, row)| Some((Reverse(row.latency?), index)));
    let most = answered().count().div_ceil(SLOW).max(LEAST);
    let mut kept = BinaryHeap::with_capacity(most + 1);
    for order in answered() {
        kept.push(order);
        if kept.len() > most {
            kept.pop();
        }
    }
    kept.into_sorted_vec()
}

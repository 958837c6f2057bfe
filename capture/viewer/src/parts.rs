//! Parts of RPCs and of connections that have no row: findings and packets retransmitted. A filter selects a part as the command line does:
//! by the part's own connection, XID and time, and otherwise by its RPC.

use std::collections::HashMap;

use crate::filter::{Filter, Verdict};
use crate::part::Part;
use crate::table::Table;

/// Parts, and the rows of their RPCs. The rows are sought when a filter needs them.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    parts: Vec<Part>,
    owners: Vec<Option<u32>>,
    /// Number of rows in which the owners were sought.
    sought_in: usize,
}

impl Parts {
    pub(crate) const fn len(&self) -> usize {
        self.parts.len()
    }

    pub(crate) fn push(&mut self, part: Part) {
        self.parts.push(part);
    }

    /// The verdict of a filter on each part.
    pub(crate) fn judge<'a>(
        &'a mut self,
        filter: &'a Filter,
        table: &'a Table,
    ) -> impl Iterator<Item = (&'a Part, Verdict)> {
        if filter.needs_rpcs() {
            self.seek(table);
        }
        let owners = self.owners.iter().copied().chain(std::iter::repeat(None));
        self.parts.iter().zip(owners).map(|(part, owner)| {
            let row = owner.and_then(|owner| table.row(owner));
            (part, filter.judge(part, row.as_ref(), &table.names, table.first))
        })
    }

    /// Finds the rows of the parts, unless the rows are known.
    fn seek(&mut self, table: &Table) {
        if self.owners.len() != self.parts.len() || self.sought_in != table.len() {
            self.owners = owners(&self.parts, table);
            self.sought_in = table.len();
        }
    }
}

/// Parts with the same connection and XID, sorted by frame. Parts before `next` have an owner.
struct Run {
    next: usize,
    end: usize,
    /// The last row with the XID.
    last: Option<u32>,
}

/// Returns the row of each part: a row with the same connection and XID whose frames, from call to reply, include the frame of the part. A
/// part between two such rows belongs to the earlier one: the RPC has ended, and the packet is late.
fn owners(parts: &[Part], table: &Table) -> Vec<Option<u32>> {
    let mut owners = vec![None; parts.len()];
    let of = |place: usize| parts.get(place).and_then(|part| Some(((part.connection, part.xid?), part.frame)));
    let mut order: Vec<usize> = (0..parts.len()).filter(|place| of(*place).is_some()).collect();
    order.sort_unstable_by_key(|place| of(*place));
    let mut runs: HashMap<(u32, u32), Run> = HashMap::new();
    for (place, (key, _)) in order.iter().filter_map(|place| of(*place)).enumerate() {
        runs.entry(key).or_insert(Run { next: place, end: place, last: None }).end = place + 1;
    }
    if runs.is_empty() {
        return owners;
    }
    for (index, row) in table.rows() {
        let Some(run) = runs.get_mut(&(row.kind.connection, row.xid)) else { continue };
        let begin = row.call.or(row.reply).unwrap_or_default();
        let end = if row.is_waiting() { u64::MAX } else { row.reply.unwrap_or(begin) };
        while let Some((place, (_, frame))) = order.get(run.next).and_then(|place| Some((*place, of(*place)?)))
            && run.next < run.end
            && frame <= end
        {
            let is_late = frame < begin && run.last.is_some();
            if let Some(owner) = owners.get_mut(place) {
                *owner = if is_late { run.last } else { Some(index) };
            }
            run.next += 1;
        }
        run.last = Some(index);
    }
    for run in runs.values() {
        for place in order.get(run.next..run.end).into_iter().flatten() {
            owners.get_mut(*place).into_iter().for_each(|owner| *owner = run.last);
        }
    }
    owners
}

#[cfg(test)]
mod tests {
    use answers::selection::Ends;

    use super::*;
    use crate::names::Name;
    use crate::row::{Kind, Row};

    /// A row with the XID 7 on a connection.
    fn row(connection: u32, call: Option<u64>, reply: Option<u64>) -> Row {
        Row { kind: Kind { connection, ..Kind::default() }, xid: 7, call, reply, ..Row::default() }
    }

    fn part(connection: u32, xid: Option<u32>, frame: u64) -> Part {
        Part { connection, xid, frame, time: frame, ends: Ends::Either([Name::default(); 2]) }
    }

    #[test]
    fn parts_belong_to_the_rpc_of_their_xid_and_frame() {
        let mut table = Table::default();
        // An XID that is used three times on a connection: the last call has no reply. Another connection has it, too.
        for row in [
            row(1, Some(10), Some(20)),
            row(2, Some(12), Some(14)),
            row(1, Some(30), Some(40)),
            row(1, None, Some(45)),
            row(1, Some(50), None),
        ] {
            table.push(&row);
        }
        let parts = [
            (part(1, Some(7), 35), Some(2)),
            (part(1, Some(7), 10), Some(0)),
            (part(1, Some(7), 20), Some(0)),
            (part(1, Some(7), 25), Some(0)),
            (part(1, Some(7), 9), Some(0)),
            (part(2, Some(7), 35), Some(1)),
            (part(1, Some(7), 45), Some(3)),
            (part(1, Some(7), 99), Some(4)),
            (part(1, Some(8), 35), None),
            (part(1, None, 35), None),
            (part(3, Some(7), 35), None),
        ];
        let (given, expected): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        assert_eq!(owners(&given, &table), expected);
    }
}

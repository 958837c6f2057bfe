//! All RPCs of a capture, and those that are selected.

use std::cmp::{Ordering, Reverse};

use serde::{Deserialize, Serialize};

use crate::filter::Filter;
use crate::names::{Name, Names};
use crate::row::{Phases, Row};

/// Rows of a block. A table grows by blocks, so that it never exists twice while it is moved.
const BLOCK: usize = 1 << 15;
/// The most rows: with them, the module takes about 350 MB.
pub(crate) const ROWS: usize = 1_800_000;

/// All RPCs of a capture, in the order in which they ended.
#[derive(Debug, Default)]
pub(crate) struct Table {
    blocks: Vec<Vec<Row>>,
    length: usize,
    pub(crate) names: Names,
    /// Times of the first and the last frame.
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// RPCs beyond [`ROWS`].
    pub(crate) left_out: u64,
}

/// Column to sort by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Column {
    #[default]
    Time,
    Client,
    Server,
    Operation,
    File,
    Read,
    Written,
    Latency,
    Status,
    Recovery,
    Frame,
}

/// Rows to show, and their order.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Query {
    pub(crate) filter: String,
    pub(crate) sort: Column,
    pub(crate) descending: bool,
}

/// A row for the page. Times are since the first frame: the page's numbers hold 53 bits.
#[derive(Debug, Serialize)]
pub(crate) struct ShownRow<'a> {
    index: u32,
    connection: u32,
    xid: String,
    time_ns: u64,
    latency_ns: Option<u64>,
    phases: Option<Phases>,
    recovery_ns: u64,
    resent_packets: u64,
    call_frame: Option<u64>,
    reply_frame: Option<u64>,
    client: &'a str,
    server: &'a str,
    operation: &'a str,
    operations: &'a str,
    file: &'a str,
    status: &'a str,
    failed: bool,
    waiting: bool,
    read_octets: u64,
    write_octets: u64,
}

impl Table {
    pub(crate) fn push(&mut self, row: Row) {
        if self.length >= ROWS {
            self.left_out += 1;
            return;
        }
        match self.blocks.last_mut().filter(|block| block.len() < BLOCK) {
            Some(block) => block.push(row),
            None => {
                let mut block = Vec::with_capacity(BLOCK.min(self.length.max(64)));
                block.push(row);
                self.blocks.push(block);
            }
        }
        self.length += 1;
    }

    pub(crate) const fn len(&self) -> usize {
        self.length
    }

    pub(crate) fn row(&self, index: u32) -> Option<&Row> {
        self.blocks.get(index as usize / BLOCK)?.get(index as usize % BLOCK)
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = (u32, &Row)> {
        (0..).zip(self.blocks.iter().flatten())
    }

    /// The rows that pass a filter, in the order of the capture.
    pub(crate) fn matching<'a>(&'a self, filter: &'a Filter) -> impl Iterator<Item = (u32, &'a Row)> {
        self.rows().filter(move |(_, row)| filter.matches(row, &self.names, self.first))
    }

    /// The places of the rows that a query selects, in its order.
    pub(crate) fn select(&self, query: &Query) -> Result<Vec<u32>, String> {
        let filter = Filter::parse(&query.filter)?;
        let mut selected: Vec<u32> = self.matching(&filter).map(|(index, _)| index).collect();
        let ranks = self.names.ranks();
        let rank = |name: Name| u64::from(Names::rank(name, &ranks));
        let key = |index: &u32| self.row(*index).map_or((true, 0), |row| self.key(row, query.sort, rank));
        // Rows without a value come last either way, and rows with the same one in the order of the capture.
        let order = |a: &u32, b: &u32| -> Ordering {
            let ((a_lacks, a_key), (b_lacks, b_key)) = (key(a), key(b));
            let by_value = if query.descending { Reverse(a_key).cmp(&Reverse(b_key)) } else { a_key.cmp(&b_key) };
            a_lacks.cmp(&b_lacks).then(by_value)
        };
        selected.sort_by(order);
        Ok(selected)
    }

    /// The value of a row in a column, and `true` if it has none. A call without a reply has its age for a latency.
    fn key(&self, row: &Row, column: Column, rank: impl Fn(Name) -> u64) -> (bool, u64) {
        let text = |name: Name| (name == Name::default(), rank(name));
        let age = || row.is_waiting().then(|| self.last.saturating_sub(row.time));
        let latency = || row.latency.or_else(age);
        match column {
            Column::Time => (false, row.time),
            Column::Client => text(row.client),
            Column::Server => text(row.server),
            Column::Operation => text(row.operation),
            Column::File => text(row.file),
            Column::Status => text(row.status),
            Column::Read => (false, row.read),
            Column::Written => (false, row.written),
            Column::Latency => (latency().is_none(), latency().unwrap_or_default()),
            Column::Recovery => (false, row.recovery),
            Column::Frame => (false, row.call.or(row.reply).map_or(0, u64::from)),
        }
    }

    /// A row for the page.
    pub(crate) fn shown(&self, index: u32) -> Option<ShownRow<'_>> {
        let row = self.row(index)?;
        let text = |name| self.names.text(name);
        Some(ShownRow {
            index,
            connection: row.connection,
            xid: format!("{:#010x}", row.xid),
            time_ns: row.time.saturating_sub(self.first),
            latency_ns: row.latency,
            phases: row.phases,
            recovery_ns: row.recovery,
            resent_packets: row.resent,
            call_frame: row.call.map(u64::from),
            reply_frame: row.reply.map(u64::from),
            client: text(row.client),
            server: text(row.server),
            operation: text(row.operation),
            operations: text(row.operations),
            file: text(row.file),
            status: text(row.status),
            failed: row.has_failed,
            waiting: row.is_waiting(),
            read_octets: row.read,
            write_octets: row.written,
        })
    }
}

//! All RPCs of a capture, and the selection.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use answers::diagnosis::{Cause, CauseSet};
use answers::format::number;
use answers::format::time::{ShownTimes, TimeForm};
use answers::report::phase_bar;
use answers::selection::spans_frame;
use answers::transactions::PhasesObject;
use dissector::{CaptureEnd, Time};
use serde::Serialize;

use crate::filter::Filter;
use crate::heading::{self, Column, Heading};
use crate::names::{Name, Names};
use crate::packed::{self, Block};
use crate::query::Query;
use crate::row::{self, Kind, Row};

/// The most octets of rows and texts: about four million RPCs. Sorting takes a third more.
const OCTETS: usize = 200_000_000;

/// All RPCs of a capture, in the order of their ends.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// Blocks, so that a growing table is never moved and in memory twice.
    blocks: Vec<Block>,
    /// Octets of the full blocks.
    octets: usize,
    length: usize,
    kinds: Vec<Kind>,
    numbers: HashMap<Kind, u32>,
    pub(crate) names: Names,
    pub(crate) files: FoldersByName,
    /// Times of the first and the last frame.
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// The end of the capture, for the ages of calls that wait.
    pub(crate) end: CaptureEnd,
    /// RPCs beyond [`OCTETS`].
    pub(crate) left_out: u64,
    /// Causes that calls without a reply count for, by the places of the calls: only the whole capture shows such causes.
    late_causes: HashMap<u32, CauseSet>,
}

/// Folders of files, by the name of the file.
#[derive(Debug, Default)]
pub(crate) struct FoldersByName(HashMap<Name, Folders>);

/// Folders of the files that have a name.
#[derive(Debug, PartialEq, Eq)]
enum Folders {
    One(Name),
    Several,
}

impl FoldersByName {
    fn add_row(&mut self, row: &Row) {
        let folders = self.0.entry(row.file).or_insert(Folders::One(row.folder));
        if *folders != Folders::One(row.folder) {
            *folders = Folders::Several;
        }
    }

    /// Returns true if files in several folders have this name.
    pub(crate) fn are_several(&self, name: Name) -> bool {
        self.0.get(&name) == Some(&Folders::Several)
    }
}

/// A column of the table.
pub(crate) struct RpcColumn {
    heading: Heading,
    /// Fields of the record of an RPC with this content.
    #[cfg_attr(not(test), allow(dead_code, reason = "the tests compare with the columns of text"))]
    pub(crate) fields: &'static [&'static str],
    content: RpcContent,
}

/// Content of a column.
enum RpcContent {
    /// A text, sorted by the alphabet.
    Name(fn(&Row) -> Name),
    /// A number, and the text of a number; the cell of a zero is empty.
    Number(fn(&Row) -> u64, fn(u64) -> String),
    /// A value to sort by in a capture that ends at a time, if the row has one, and the cell.
    Own(fn(&Row, u64) -> Option<u64>, fn(&Row, &Table) -> String),
}

impl RpcColumn {
    const fn new(heading: Heading, fields: &'static [&'static str], content: RpcContent) -> Self {
        Self { heading, fields, content }
    }

    /// The value of a row to sort by, if there is one; `ranks` has the places of names in the alphabet.
    fn key(&self, row: &Row, ranks: &[u32], last: u64) -> Option<u64> {
        match self.content {
            RpcContent::Name(name) => {
                Some(name(row)).filter(|name| *name != Name::default()).map(|name| Names::rank(name, ranks).into())
            }
            RpcContent::Number(number, _) => Some(number(row)),
            RpcContent::Own(key, _) => key(row, last),
        }
    }

    fn cell(&self, row: &Row, table: &Table) -> String {
        match self.content {
            RpcContent::Name(name) => table.names.text(name(row)).to_owned(),
            RpcContent::Number(number, text) => {
                Some(number(row)).filter(|number| *number > 0).map(text).unwrap_or_default()
            }
            RpcContent::Own(_, cell) => cell(row, table),
        }
    }
}

impl Column for RpcColumn {
    fn heading(&self) -> &Heading {
        &self.heading
    }
}

/// The columns of the table, from left to right.
pub(crate) const COLUMNS: [RpcColumn; 12] = {
    use RpcContent::{Name, Number, Own};
    [
        RpcColumn::new(
            Heading::number("time", "time (UTC)"),
            &["time_ns"],
            Own(|row, _| Some(row.time), |row, table| table.time(row, TimeForm::Clock)),
        ),
        RpcColumn::new(Heading::text("client", "client"), &["requester", "responder"], Name(|row| row.kind.client)),
        RpcColumn::new(Heading::text("server", "server"), &["responder", "requester"], Name(|row| row.kind.server)),
        RpcColumn::new(Heading::text("operation", "operation"), &["operation"], Name(|row| row.kind.operation)),
        RpcColumn::new(
            Heading::text("file", "file"),
            &["arguments.file_name", "arguments.handle.file_name"],
            Name(|row| row.file),
        ),
        RpcColumn::new(Heading::number("read", "RDMA Read"), &["rdma_read_octets"], Number(|row| row.read, size)),
        RpcColumn::new(
            Heading::number("written", "RDMA Write"),
            &["rdma_write_octets"],
            Number(|row| row.written, size),
        ),
        RpcColumn::new(
            Heading::number("latency", "latency")
                .meaning("Latency; of a call without a reply, the time that it waited"),
            &["latency_ns", "tries"],
            Own(
                |row, last| row.latency.or_else(|| row.is_waiting().then(|| last.saturating_sub(row.time))),
                |row, _| latency(row),
            ),
        ),
        RpcColumn::new(
            Heading::ranked("phases", "phases").meaning(PHASES),
            &["phases"],
            // SVG of the report.
            Own(
                |row, _| row.phases.map(row::rank),
                |row, _| row.phases.map(|phases| phase_bar(&phases, &row.recovery)).unwrap_or_default(),
            ),
        ),
        RpcColumn::new(Heading::text("status", "status"), &["status", "nfs_status"], Name(|row| row.kind.status)),
        RpcColumn::new(
            Heading::number("recovery", "recovery"),
            &["recovery.ns"],
            Number(|row| row.recovery.total(), number::duration),
        ),
        RpcColumn::new(
            Heading::number("frame", "frame"),
            &["call_frame", "reply_frame"],
            Number(|row| row.call.or(row.reply).unwrap_or_default(), |frame| frame.to_string()),
        ),
    ]
};

/// Meaning of an order by the phases.
const PHASES: &str =
    "The phase that took longest, in the order of the legend; RPCs with the same one by their time in it";

fn latency(row: &Row) -> String {
    let mut text = match row.latency {
        _ if row.is_waiting() => row.kind.unanswered.to_owned(),
        latency => latency.map_or_else(|| "–".to_owned(), number::duration),
    };
    if row.kind.tries > 1 {
        text.push_str(&format!(", {} tries", row.kind.tries));
    }
    text
}

fn size(octets: u64) -> String {
    number::size(octets as f64)
}

/// A row for the page: numbers of the record, and the cells. Times are since the first frame: the page's numbers hold 53 bits.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ShownRow<'a> {
    index: u32,
    connection: u32,
    /// Number of tries.
    tries: u64,
    xid: String,
    time_ns: u64,
    latency_ns: Option<u64>,
    phases: Option<PhasesObject>,
    recovery_ns: u64,
    retransmitted_packets: u64,
    call_frame: Option<u64>,
    reply_frame: Option<u64>,
    operations: &'a str,
    failed: bool,
    waiting: bool,
    read_octets: u64,
    write_octets: u64,
    /// Seconds since the first frame.
    seconds: String,
    /// Cells by the names of the columns.
    cells: BTreeMap<&'static str, String>,
}

impl Table {
    pub(crate) fn push(&mut self, row: &Row) {
        if self.octets + self.names.size() > OCTETS {
            self.left_out += 1;
            return;
        }
        self.files.add_row(row);
        let kind = self.number(&row.kind);
        let is_in = self.blocks.last_mut().is_some_and(|block| block.push(row, kind));
        if !is_in {
            self.octets += self.blocks.last().map_or(0, Block::size);
            let mut block = Block::default();
            block.push(row, kind);
            self.blocks.push(block);
        }
        self.length += 1;
    }

    fn number(&mut self, kind: &Kind) -> u32 {
        if let Some(number) = self.numbers.get(kind) {
            return *number;
        }
        let number = u32::try_from(self.kinds.len()).unwrap_or_default();
        self.kinds.push(*kind);
        self.numbers.insert(*kind, number);
        number
    }

    pub(crate) const fn len(&self) -> usize {
        self.length
    }

    pub(crate) fn row(&self, index: u32) -> Option<Row> {
        let place = index as usize;
        let mut row = self.blocks.get(place / packed::ROWS)?.row(place % packed::ROWS, &self.kinds)?;
        row.causes.0 |= self.late_causes.get(&index).map_or(0, |causes| causes.0);
        Some(row)
    }

    /// Takes the causes of RPCs that only the end of the capture shows, from the diagnosis.
    pub(crate) fn take_late_causes(&mut self, causes: &[(u64, Cause)]) {
        for (place, cause) in causes {
            self.late_causes.entry(u32::try_from(*place).unwrap_or(u32::MAX)).or_default().insert(*cause);
        }
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = (u32, Row)> {
        (0..).map_while(|index| Some((index, self.row(index)?)))
    }

    /// Reads a filter of this capture; an error names the word.
    pub(crate) fn filter(&self, text: &str) -> Result<Filter, String> {
        let filter = Filter::parse(text)?;
        filter.refuse_astray(self.first)?;
        Ok(filter)
    }

    /// The rows that pass a filter, in the order of the capture.
    pub(crate) fn matching<'a>(&'a self, filter: &'a Filter) -> impl Iterator<Item = (u32, Row)> + 'a {
        self.rows().filter(move |(_, row)| filter.matches(row, &self.names, self.first))
    }

    /// The places of the rows that a query selects, in the order of the query.
    pub(crate) fn select(&self, query: &Query) -> Result<Vec<u32>, String> {
        let (filter, column) = (self.filter(&query.filter)?, heading::find(&COLUMNS, &query.sort)?);
        let ranks = self.names.ranks();
        // A vector that grows would exist twice while it is moved, and WebAssembly gives no memory back.
        let (mut keys, mut without) = (Vec::with_capacity(self.length), Vec::new());
        for (index, row) in self.matching(&filter) {
            match column.key(&row, &ranks, self.last) {
                Some(key) => keys.push((key, index)),
                None => without.push(index),
            }
        }
        // Rows with the same value are in the order of the capture, and rows without one come last, either way.
        match query.descending {
            true => keys.sort_unstable_by_key(|(key, index)| (Reverse(*key), *index)),
            false => keys.sort_unstable(),
        }
        Ok(keys.into_iter().map(|(_, index)| index).chain(without).collect())
    }

    /// The time of a row.
    fn time(&self, row: &Row, form: TimeForm) -> String {
        let times = ShownTimes::new(form, 0).starting_at(Time(self.first));
        times.column(Time(row.time)).to_string().trim_start().to_owned()
    }

    /// The first row whose call or reply is in a frame, or else that waited at that time.
    pub(crate) fn at_frame(&self, frame: u64) -> Option<u32> {
        let is_its_own = |row: &Row| [row.call, row.reply].contains(&Some(frame));
        let find = |is_meant: &dyn Fn(&Row) -> bool| self.rows().find(|(_, row)| is_meant(row)).map(|(index, _)| index);
        find(&is_its_own).or_else(|| find(&|row| spans_frame([row.call, row.reply], frame)))
    }

    /// A row for the page.
    pub(crate) fn shown(&self, index: u32) -> Option<ShownRow<'_>> {
        let row = self.row(index)?;
        Some(ShownRow {
            index,
            connection: row.kind.connection,
            tries: row.kind.tries,
            xid: format!("{:#010x}", row.xid),
            time_ns: row.time.saturating_sub(self.first),
            latency_ns: row.latency,
            phases: row.phases.map(PhasesObject::new),
            recovery_ns: row.recovery.total(),
            retransmitted_packets: row.retransmitted,
            call_frame: row.call,
            reply_frame: row.reply,
            operations: self.names.text(row.kind.operations),
            failed: row.kind.has_failed,
            waiting: row.is_waiting(),
            read_octets: row.read,
            write_octets: row.written,
            seconds: self.time(&row, TimeForm::Since),
            cells: COLUMNS.iter().map(|column| (column.heading.name, column.cell(&row, self))).collect(),
        })
    }
}

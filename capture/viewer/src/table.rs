//! All RPCs of a capture, and those that are selected.

use std::cmp::Reverse;
use std::collections::HashMap;

use answers::diagnosis::{Cause, CauseSet};
use answers::format::number;
use answers::format::time::{ShownTimes, TimeForm};
use answers::report::phase_bar;
use answers::selection::spans_frame;
use answers::transactions::PhasesObject;
use dissector::{CaptureEnd, Time};
use serde::{Deserialize, Serialize};

use crate::filter::Filter;
use crate::names::{Name, Names};
use crate::packed::{self, Block};
use crate::query::Query;
use crate::row::{self, Kind, Row};

/// The most octets of rows and texts: about four million RPCs. To sort them takes a third more.
const OCTETS: usize = 200_000_000;

/// All RPCs of a capture, in the order in which they ended.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// A table grows by blocks, so that it never exists twice while it is moved.
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
    /// Causes that calls without a reply count for, by their places: only the whole capture shows them.
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
    fn take(&mut self, row: &Row) {
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
    /// The phase that took longest, and the time in it.
    Phases,
    Status,
    Recovery,
    Frame,
}

/// A row for the page: numbers as the record has them, and their text. Times are since the first frame: the page's numbers hold 53 bits.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ShownRow<'a> {
    index: u32,
    connection: u32,
    xid: String,
    time_ns: u64,
    latency_ns: Option<u64>,
    phases: Option<PhasesObject>,
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
    text: RowText,
}

/// Numbers of a row as the page shows them; empty without a value.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RowText {
    /// Seconds since the first frame, and the time of day.
    time: String,
    clock: String,
    latency: String,
    recovery: String,
    read: String,
    written: String,
    /// SVG of the report.
    phases: String,
}

impl RowText {
    fn new(row: &Row, first: u64) -> Self {
        let time = |form| {
            let times = ShownTimes::new(form, 0).starting_at(Time(first));
            times.column(Time(row.time)).to_string().trim_start().to_owned()
        };
        let if_any = |value: u64, text: fn(u64) -> String| if value > 0 { text(value) } else { String::new() };
        let size = |octets: u64| number::size(octets as f64);
        let latency = match row.latency {
            _ if row.is_waiting() => row.kind.unanswered.to_owned(),
            latency => latency.map_or_else(|| "–".to_owned(), number::duration),
        };
        Self {
            time: time(TimeForm::Since),
            clock: time(TimeForm::Clock),
            latency,
            recovery: if_any(row.recovery.total(), number::duration),
            read: if_any(row.read, size),
            written: if_any(row.written, size),
            phases: row.phases.map(|phases| phase_bar(&phases, &row.recovery)).unwrap_or_default(),
        }
    }
}

impl Table {
    pub(crate) fn push(&mut self, row: &Row) {
        if self.octets + self.names.size() > OCTETS {
            self.left_out += 1;
            return;
        }
        self.files.take(row);
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

    /// The places of the rows that a query selects, in its order.
    pub(crate) fn select(&self, query: &Query<Column>) -> Result<Vec<u32>, String> {
        let filter = self.filter(&query.filter)?;
        let ranks = self.names.ranks();
        let rank = |name: Name| u64::from(Names::rank(name, &ranks));
        // A vector that grows would exist twice while it is moved, and WebAssembly gives no memory back.
        let (mut keys, mut without) = (Vec::with_capacity(self.length), Vec::new());
        for (index, row) in self.matching(&filter) {
            match self.key(&row, query.sort, rank) {
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

    /// The value of a row in a column, if it has one. A call without a reply has its age for a latency.
    fn key(&self, row: &Row, column: Column, rank: impl Fn(Name) -> u64) -> Option<u64> {
        let text = |name: Name| (name != Name::default()).then(|| rank(name));
        let age = || row.is_waiting().then(|| self.last.saturating_sub(row.time));
        match column {
            Column::Time => Some(row.time),
            Column::Client => text(row.kind.client),
            Column::Server => text(row.kind.server),
            Column::Operation => text(row.kind.operation),
            Column::File => text(row.file),
            Column::Status => text(row.kind.status),
            Column::Read => Some(row.read),
            Column::Written => Some(row.written),
            Column::Latency => row.latency.or_else(age),
            Column::Phases => row.phases.map(row::rank),
            Column::Recovery => Some(row.recovery.total()),
            Column::Frame => Some(row.call.or(row.reply).unwrap_or_default()),
        }
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
        let text = |name| self.names.text(name);
        Some(ShownRow {
            index,
            connection: row.kind.connection,
            xid: format!("{:#010x}", row.xid),
            time_ns: row.time.saturating_sub(self.first),
            latency_ns: row.latency,
            phases: row.phases.map(PhasesObject::new),
            recovery_ns: row.recovery.total(),
            resent_packets: row.resent,
            call_frame: row.call,
            reply_frame: row.reply,
            client: text(row.kind.client),
            server: text(row.kind.server),
            operation: text(row.kind.operation),
            operations: text(row.kind.operations),
            file: text(row.file),
            status: text(row.kind.status),
            failed: row.kind.has_failed,
            waiting: row.is_waiting(),
            read_octets: row.read,
            write_octets: row.written,
            text: RowText::new(&row, self.first),
        })
    }
}

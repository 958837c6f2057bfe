//! Ranking of RPCs by time: by client, server, operation, file, user, status or connection.

pub(super) mod record;

use std::collections::BTreeMap;
use std::io;

use rpcrdma_dissector::{Address, CaptureEnd, Half, NotRebuilt, OperationArguments, Status, Transaction};

use crate::file_names::{FileNames, NamedFile, client, hash, main_arguments, server};
use crate::format::column::{Amount, Column, TextColumn, Unit};
use crate::format::line::{Line, NAME, PLAIN};
use crate::format::number::{grouped, milliseconds};
use crate::format::screen::Screen;
use crate::operation_name::OperationName;
use crate::stats::histogram::Histogram;
use crate::stats::outcome;
use crate::unanswered::UnansweredWaits;
use crate::user::RpcUser;

/// The most columns of a line.
const WIDTH: usize = 120;
/// The fewest with which octets read and written are shown.
const WITH_OCTETS: usize = 100;
/// The fewest rows of which a typical one is shown.
const TYPICAL: usize = 3;
/// The most keys that are counted apart; past that, the half that took the least time is counted as one.
const KEYS: usize = 1000;

/// Property by which RPCs are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopBy {
    /// The address of the client.
    Client,
    /// The address of the server.
    Server,
    /// The procedure, or the operation that a COMPOUND is about.
    Operation,
    /// The handle of the file of the RPC.
    Handle,
    /// The name of that file.
    Name,
    /// The user and the machine that the credential names.
    User,
    /// The final status.
    Status,
    /// The number of the connection.
    Connection,
}

impl TopBy {
    /// All properties by which RPCs can be counted.
    pub const ALL: [Self; 8] = [
        Self::Client,
        Self::Server,
        Self::Operation,
        Self::Handle,
        Self::Name,
        Self::User,
        Self::Status,
        Self::Connection,
    ];

    /// Name of the property.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Operation => "operation",
            Self::Handle => "handle",
            Self::Name => "name",
            Self::User => "user",
            Self::Status => "status",
            Self::Connection => "connection",
        }
    }
}

/// Property that some RPCs share.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum TopKey {
    /// An address.
    Address(Address),
    /// The number of a connection.
    Connection(u32),
    /// A name.
    Text(String),
    /// The name of a file in the folder.
    Name(NamedFile),
    /// A user.
    User(RpcUser),
    /// A file of a server, by handle.
    File(Address, Vec<u8>),
    /// The RPC shows no value: there is no file, or the name of the file was not seen.
    None,
}

/// RPCs that are counted together.
#[derive(Clone, Debug, Default, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TopCounts {
    /// Calls.
    pub calls: u64,
    /// Calls without a reply.
    pub unanswered: u64,
    /// Replies without their call, which are not among `calls`.
    pub without_call: u64,
    /// RPCs that failed; NFS4ERR_MOVED is no failure.
    pub failed: u64,
    /// Octets of file data in results, inline or by RDMA.
    pub octets_read: u64,
    /// Octets of file data in their arguments.
    pub octets_written: u64,
    /// RPCs whose call or reply was not rebuilt, so that their file data is not counted.
    pub not_rebuilt: u64,
    /// Sum of the latencies, in nanoseconds.
    #[serde(rename = "latency_sum_ns")]
    pub latency_sum: u64,
    /// Nanoseconds for which calls without a reply waited, added up: to the end of their connection or of the capture.
    #[serde(rename = "unanswered_sum_ns")]
    pub unanswered_sum: u64,
    #[serde(skip)]
    latency: Histogram,
}

impl TopCounts {
    fn add_rpc(&mut self, transaction: &Transaction) {
        self.calls += u64::from(transaction.call.is_some());
        self.unanswered += u64::from(transaction.reply.is_none());
        self.without_call += u64::from(transaction.call.is_none());
        self.failed += u64::from(transaction.status.is_some_and(Status::is_failure));
        let data = [&transaction.reply, &transaction.call].map(data);
        let [read, written] = data.map(Option::unwrap_or_default);
        self.octets_read = self.octets_read.saturating_add(read);
        self.octets_written = self.octets_written.saturating_add(written);
        self.not_rebuilt += u64::from(data.contains(&None));
        if let Some(latency) = transaction.latency() {
            self.latency_sum = self.latency_sum.saturating_add(latency);
            self.latency.record(latency);
        }
    }

    fn merge(&mut self, other: &Self) {
        self.calls += other.calls;
        self.unanswered += other.unanswered;
        self.without_call += other.without_call;
        self.failed += other.failed;
        self.octets_read = self.octets_read.saturating_add(other.octets_read);
        self.octets_written = self.octets_written.saturating_add(other.octets_written);
        self.not_rebuilt += other.not_rebuilt;
        self.latency_sum = self.latency_sum.saturating_add(other.latency_sum);
        self.unanswered_sum = self.unanswered_sum.saturating_add(other.unanswered_sum);
        self.latency.merge(&other.latency);
    }

    /// Nanoseconds that they took: the latencies, and the waits of calls without a reply.
    #[must_use]
    pub const fn time(&self) -> u64 {
        self.latency_sum.saturating_add(self.unanswered_sum)
    }

    /// Median and 99th percentile for people: of a single RPC its latency, and no percentile.
    pub(crate) fn shown_percentiles(&self) -> [Option<u64>; 2] {
        [self.percentile(50), self.percentile(99).filter(|_| self.latency.count > 1)]
    }

    /// A percentile of the latencies, in nanoseconds; `None` if no latency is known.
    #[must_use]
    pub fn percentile(&self, percent: u64) -> Option<u64> {
        (self.latency.count > 0).then(|| self.latency.percentile(percent))
    }
}

/// Octets of file data in a message; `None` if it was not rebuilt.
fn data(half: &Option<Half>) -> Option<u64> {
    match half.as_ref().map(|half| &half.message) {
        Some(Ok(rebuilt)) => Some(rebuilt.items.iter().map(|item| u64::from(item.length)).sum()),
        // An error has no data.
        None | Some(Err(NotRebuilt::Error(_))) => Some(0),
        Some(Err(_)) => None,
    }
}

/// Counts RPCs by a property.
#[derive(Debug)]
pub struct Top {
    by: TopBy,
    keys: BTreeMap<TopKey, TopCounts>,
    others: TopOthers,
    /// Calls without a reply, which wait until the end of the capture or of their connection.
    waits: UnansweredWaits<TopKey>,
    /// The names of files that RPCs have shown so far.
    pub(crate) names: FileNames,
}

/// RPCs of keys that are not counted apart.
#[derive(Clone, Debug, Default)]
pub struct TopOthers {
    /// Number of their keys. A value that came back after its RPCs were counted here is counted again.
    pub keys: u64,
    /// Counts of all these RPCs.
    pub counts: TopCounts,
}

/// The counts of a capture.
#[derive(Debug)]
pub struct TopReport {
    /// Property by which RPCs were counted.
    pub by: TopBy,
    /// The keys that took the most time, with counts.
    pub rows: Vec<(TopKey, TopCounts)>,
    /// The rest.
    pub others: TopOthers,
    /// Nanoseconds that all RPCs took, with the waits of calls without a reply.
    pub time: u64,
    /// The names of files.
    pub names: FileNames,
}

/// A typical row: the median of each percentile over all rows, to compare a row with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TypicalRow {
    /// Number of rows.
    pub rows: usize,
    /// Median of the medians, in nanoseconds.
    pub p50: u64,
    /// Median of the 99th percentiles, in nanoseconds.
    pub p99: u64,
}

impl Top {
    /// Counts by this.
    #[must_use]
    pub fn new(by: TopBy) -> Self {
        let (keys, others, waits, names) = Default::default();
        Self { by, keys, others, waits, names }
    }

    /// Takes the names of files from an RPC that is not to be counted.
    pub fn pass(&mut self, transaction: &Transaction) {
        if matches!(self.by, TopBy::Handle | TopBy::Name) {
            self.names.learn(transaction, &transaction.arguments());
        }
    }

    /// Counts an RPC.
    pub fn add_rpc(&mut self, transaction: &Transaction) {
        match self.by {
            TopBy::Handle | TopBy::Name => self.take_with(transaction, &transaction.arguments()),
            _ => self.take_with(transaction, &[]),
        }
    }

    /// Counts an RPC with the arguments, which only files need.
    pub(crate) fn take_with(&mut self, transaction: &Transaction, arguments: &[OperationArguments<'_>]) {
        let key = self.key(transaction, arguments);
        if self.keys.len() >= KEYS && !self.keys.contains_key(&key) {
            let kept = self.fold(KEYS / 2);
            self.keys.extend(kept);
        }
        self.waits.add_rpc(transaction, || key.clone());
        self.keys.entry(key).or_default().add_rpc(transaction);
    }

    fn key(&mut self, transaction: &Transaction, arguments: &[OperationArguments<'_>]) -> TopKey {
        match self.by {
            TopBy::Client => TopKey::Address(client(transaction)),
            TopBy::Server => TopKey::Address(server(transaction)),
            TopBy::Operation => TopKey::Text(OperationName::of_transaction(transaction).to_string()),
            TopBy::Status => TopKey::Text(ending(transaction)),
            TopBy::User => RpcUser::from_transaction(transaction).map_or(TopKey::None, TopKey::User),
            TopBy::Connection => TopKey::Connection(transaction.connection),
            TopBy::Handle | TopBy::Name => {
                self.names.learn(transaction, arguments);
                let about = main_arguments(transaction, arguments);
                about.map_or(TopKey::None, |about| self.file(server(transaction), about))
            }
        }
    }

    /// The file that an operation is about: the one that it names, or else that of its handle.
    fn file(&self, server: Address, about: &OperationArguments<'_>) -> TopKey {
        let handle = about.named_handle.or(about.handle.filter(|_| about.file_name.is_none()));
        match (self.by, handle) {
            (TopBy::Handle, Some(handle)) => TopKey::File(server, handle.to_vec()),
            (TopBy::Name, _) => self.names.named(server, about).map_or(TopKey::None, TopKey::Name),
            _ => TopKey::None,
        }
    }

    /// Takes the `most` keys that took the most time, in this order, and counts all others as one.
    fn fold(&mut self, most: usize) -> Vec<(TopKey, TopCounts)> {
        let mut rows: Vec<_> = core::mem::take(&mut self.keys).into_iter().collect();
        rows.sort_by_key(|(_, counts)| core::cmp::Reverse((counts.time(), counts.calls)));
        for (_, counts) in rows.split_off(most.min(rows.len())) {
            self.others.keys += 1;
            self.others.counts.merge(&counts);
        }
        rows
    }

    /// The counts, of at most so many keys apart; `end` is that of the capture, to which calls without a reply waited.
    #[must_use]
    pub fn finish(mut self, most: usize, end: CaptureEnd) -> TopReport {
        for (key, time) in core::mem::take(&mut self.waits).times(end) {
            let counts = self.keys.get_mut(&key).unwrap_or(&mut self.others.counts);
            counts.unanswered_sum = counts.unanswered_sum.saturating_add(time);
        }
        let rows = self.fold(most);
        let times = rows.iter().map(|(_, counts)| counts.time()).chain([self.others.counts.time()]);
        let time = times.fold(0, u64::saturating_add);
        TopReport { by: self.by, rows, others: self.others, time, names: self.names }
    }
}

/// Returns the outcome of an RPC, in the words of `--status`.
fn ending(transaction: &Transaction) -> String {
    match transaction.status {
        None if transaction.reply.is_none() => "no reply".to_owned(),
        None => "status unknown".to_owned(),
        Some(status) => outcome(transaction, status).map_or_else(|| "SUCCESS".to_owned(), |outcome| outcome.name),
    }
}

/// Content of a line: RPCs that are counted together.
pub(crate) struct TopLine<'a> {
    pub(crate) counts: &'a TopCounts,
    median: Option<u64>,
    p99: Option<u64>,
    /// Nanoseconds that the RPCs of all lines took.
    all: u64,
    /// The property shared by the RPCs, in words.
    pub(crate) key: String,
}

impl<'a> TopLine<'a> {
    fn new(report: &TopReport, counts: &'a TopCounts, key: String) -> Self {
        let [median, p99] = counts.shown_percentiles();
        Self { counts, median, p99, all: report.time, key }
    }
}

/// The columns of a line; a narrow screen has no room for octets.
pub(crate) fn columns<'a>(by: TopBy, screen: Screen) -> [Column<TopLine<'a>>; 9] {
    let has_octets = screen.fits(WITH_OCTETS);
    [
        Column::number("calls", &["calls"], 8, Unit::Count, |row| row.counts.calls.into()),
        Column::number("no reply", &["unanswered"], 8, Unit::Count, |row| row.counts.unanswered.into()),
        Column::number("failed", &["failed"], 8, Unit::Count, |row| row.counts.failed.into()),
        Column {
            is_shown: has_octets,
            ..Column::number("read", &["octets_read"], 9, Unit::Octets, |row| row.counts.octets_read.into())
        },
        Column {
            is_shown: has_octets,
            ..Column::number("written", &["octets_written"], 9, Unit::Octets, |row| row.counts.octets_written.into())
        },
        Column {
            report_heading: "median",
            ..Column::number("p50 ms", &["p50_ns"], 8, Unit::Time, |row| row.median.into())
        },
        Column { report_heading: "99 %", ..Column::number("p99 ms", &["p99_ns"], 8, Unit::Time, |row| row.p99.into()) },
        Column {
            report_heading: "share",
            gap: 2,
            ..Column::number("time", &["share"], 6, Unit::Time, |row| Amount::Part {
                part: row.counts.time(),
                all: row.all,
            })
        },
        Column::left(by.name(), &["key"], 0, NAME, |row, _, text| text.push_str(&row.key)),
    ]
}

pub(crate) fn text_columns() -> Vec<TextColumn> {
    TextColumn::list_columns(&columns(TopBy::Operation, Screen::default()))
}

impl TopReport {
    /// RPCs that were not rebuilt, so that their file data is not counted.
    #[must_use]
    pub fn not_rebuilt(&self) -> u64 {
        self.rows.iter().map(|(_, counts)| counts.not_rebuilt).sum::<u64>() + self.others.counts.not_rebuilt
    }

    /// Replies without their call, which are not counted as calls.
    #[must_use]
    pub fn without_call(&self) -> u64 {
        self.rows.iter().map(|(_, counts)| counts.without_call).sum::<u64>() + self.others.counts.without_call
    }

    /// The part of all time that some RPCs took.
    #[must_use]
    pub fn share(&self, counts: &TopCounts) -> f64 {
        counts.time() as f64 / self.time.max(1) as f64
    }

    /// A typical row, of three or more that have a key and a latency.
    #[must_use]
    pub fn typical(&self) -> Option<TypicalRow> {
        let known = self.rows.iter().filter(|(key, _)| *key != TopKey::None);
        let median = |percent| {
            let mut values: Vec<u64> = known.clone().filter_map(|(_, counts)| counts.percentile(percent)).collect();
            values.sort_unstable();
            let median = values.get(values.len().saturating_sub(1) / 2)?;
            Some((values.len(), *median))
        };
        let ((rows, p50), (_, p99)) = median(50).zip(median(99))?;
        (rows >= TYPICAL).then_some(TypicalRow { rows, p50, p99 })
    }

    /// Writes the counts as a table of at most 120 columns, which a narrow screen shows without the octets.
    ///
    /// # Errors
    /// Any error from writing to `out`.
    pub fn write_text(&self, out: &mut impl io::Write, screen: Screen) -> io::Result<()> {
        let mut line = Line::new(screen.colour, screen.within(WIDTH));
        let columns = columns(self.by, screen);
        line.headings(&columns);
        line.write(out)?;
        for row in self.lines() {
            let mut line = Line::new(screen.colour, screen.within(WIDTH));
            line.cells(&columns, &row);
            line.write(out)?;
        }
        let Some(TypicalRow { rows, p50, p99 }) = self.typical() else { return Ok(()) };
        let [p50, p99] = [p50, p99].map(milliseconds);
        let typical = format!("Typical of {} rows, the median: p50 {p50} ms, p99 {p99} ms.", grouped(rows as u64));
        Line::new(screen.colour, screen.within(WIDTH)).with(PLAIN, &typical).write(out)
    }

    /// Content of the lines: the keys, and the rest.
    pub(crate) fn lines(&self) -> Vec<TopLine<'_>> {
        let rest = (self.others.keys > 0)
            .then(|| TopLine::new(self, &self.others.counts, format!("({} others)", grouped(self.others.keys))));
        self.rows.iter().map(|(key, counts)| TopLine::new(self, counts, self.shown(key))).chain(rest).collect()
    }

    /// The path of a file, or the name if no folder is known.
    fn path(&self, file: &NamedFile) -> String {
        let path = self.names.path_of(file.server, file.folder.as_deref(), &file.name);
        path.unwrap_or_else(|| file.shown_name())
    }

    /// Returns true if another row has the same path.
    fn is_ambiguous(&self, path: &str) -> bool {
        let is_same = |(key, _): &&(TopKey, TopCounts)| matches!(key, TopKey::Name(other) if self.path(other) == path);
        self.rows.iter().filter(is_same).nth(1).is_some()
    }

    /// A key in words.
    pub(crate) fn shown(&self, key: &TopKey) -> String {
        match key {
            TopKey::Address(address) => address.to_string(),
            TopKey::Connection(number) => number.to_string(),
            TopKey::Text(text) => text.escape_debug().to_string(),
            TopKey::User(user) => user.to_string(),
            TopKey::Name(file) => {
                let path = self.path(file);
                if self.is_ambiguous(&path) { format!("{path} in {}", file.shown_folder()) } else { path }
            }
            TopKey::File(server, handle) => {
                let name = self.names.shown(*server, handle).map(|name| format!(" {name}"));
                format!("{:#010x} on {server}{}", hash(handle), name.unwrap_or_default())
            }
            TopKey::None => match self.by {
                TopBy::User => "the capture does not show the credential".to_owned(),
                TopBy::Handle => "no file, or none whose handle is known".to_owned(),
                _ => "no file, or none whose name is known".to_owned(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use rpcrdma_dissector::{Capture, Config, Events, Phases};

    use super::*;

    #[test]
    fn past_the_bound_the_fastest_keys_are_merged_into_one() {
        let mut events = Events::new(Capture::from_paths(["examples/nfs.pcap"]), Config::default()).transactions();
        let any = events.next().unwrap().unwrap();
        // An RPC on a connection that took so many nanoseconds.
        let transaction = |connection, responder| {
            let mut transaction = any.clone();
            transaction.connection = connection;
            transaction.phases = Ok(Phases { responder, ..Phases::default() });
            transaction
        };
        let (mut top, keys) = (Top::new(TopBy::Connection), KEYS as u32);
        for connection in 0..3 * keys {
            // One key takes much time from the beginning.
            top.add_rpc(&transaction(connection, 10 + u64::from(connection)));
            top.add_rpc(&transaction(7, 1_000_000));
            assert!(top.keys.len() <= KEYS);
        }
        let report = top.finish(10, CaptureEnd::default());
        let (key, counts) = &report.rows[0];
        assert_eq!((key, counts.calls, report.rows.len()), (&TopKey::Connection(7), 3 * u64::from(keys) + 1, 10));
        let rest: u64 = report.rows[1..].iter().map(|(_, counts)| counts.calls).sum();
        assert_eq!((rest, report.others.counts.calls), (9, 3 * u64::from(keys) - 10));
        assert_eq!(report.others.keys, report.others.counts.calls);
        assert_eq!(report.time, (0..3 * u64::from(keys)).map(|n| n + 10).sum::<u64>() + 3_000_000 * u64::from(keys));
        assert_eq!(counts.percentile(50), Some(1_000_000));
    }
}

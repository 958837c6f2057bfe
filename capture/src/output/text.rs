//! Messages and transactions as lines of text in columns.

use std::fmt::{self, Write as _};
use std::io;

use rpcrdma::lists::Chunks;
use rpcrdma::v2::Family;

use super::screen::Screen;
use super::style::{CALL, CHUNK, DIM, FAULT, Line, NAME, PLAIN, REPLY, WARNING, wrapped};
use super::time::{ShownTimes, TimeForm};
use crate::carrier::operation::Stamp;
use crate::carrier::recovery::RecoveryKind;
use crate::event::{Recovered, Terminated};
use crate::file::{Files, Time};
use crate::link::Address;
use crate::nfs::{self, Callback, CompoundOperation, Procedure};
use crate::rpc::header::{Decoded, Dialect, Header, PayloadPlace};
use crate::rpc::known::{Direction, Rpc, Status};
use crate::rpc::message::{Captured, Message};
use crate::rpc::not_rebuilt::NotRebuilt;
use crate::rpc::phases::NotTimed;
use crate::rpc::transaction::{Half, Transaction};

/// The most columns of a line, with IPv4 addresses and one file.
pub(super) const WIDTH: usize = 120;
/// Columns of seconds since the first frame.
const SECONDS: usize = 11;
/// Columns of the widest pair of IPv4 addresses.
const IPV4_PAIR: usize = 33;
/// Columns before the reason for which an RPC was not rebuilt.
const REASON: usize = 14;
/// Columns of the octets moved by RDMA.
const MOVED: usize = 19;
/// The fewest columns for what is called, before the operations that lead to another are left out.
const CALLED: usize = 27;

/// Writes the lines of one output, in columns that get wider if they must.
#[derive(Debug)]
pub struct Lines {
    columns: Columns,
}

/// The columns that every line begins with.
#[derive(Debug)]
pub(super) struct Columns {
    screen: Screen,
    times: ShownTimes,
    /// Columns of the widest pair of addresses.
    pair: usize,
}

impl Columns {
    pub(super) const fn new(screen: Screen, start: Time) -> Self {
        Self { screen, times: ShownTimes::new(TimeForm::Since, 0).starting_at(start), pair: 0 }
    }

    /// Sets the time of the first frame.
    pub(super) const fn starts_at(&mut self, start: Time) {
        self.times = self.times.starting_at(start);
    }

    /// Sets what is shown of times.
    pub(super) const fn show_times(&mut self, times: ShownTimes) {
        self.times = times.starting_at(self.times.start);
    }

    /// A line of text, indented by `indent` columns.
    pub(super) fn text(&self, indent: usize) -> Line {
        let mut line = Line::new(self.screen.colour, usize::MAX);
        line.push(PLAIN, &" ".repeat(indent));
        line
    }

    /// Makes the pair of addresses fit, and returns it.
    fn pair(&mut self, (from, to): (Address, Address)) -> String {
        let pair = format!("{from} → {to}");
        self.pair = self.pair.max(pair.chars().count());
        pair
    }

    /// An empty line, as wide as it may be.
    fn line(&self, files: &Files, places: usize) -> Line {
        let times = self.times.heading().len() - SECONDS;
        Line::new(
            self.screen.colour,
            WIDTH + times + self.pair.saturating_sub(IPV4_PAIR) + places * place_columns(files),
        )
    }

    /// The columns of transactions that there is room for.
    fn of_transactions(&self, files: &Files) -> TransactionColumns {
        let times = self.times.heading().chars().count();
        // Two frames, the connection, the XID and the latency.
        let least = 2 * (7 + place_columns(files)) + times + 4 + 11 + 10 + 1 + CALLED;
        let ends = least + self.pair + 2;
        TransactionColumns { ends: self.screen.fits(ends), moved: self.screen.fits(ends + MOVED) }
    }

    /// Begins a line: frame, seconds, connection, and who sent it to whom.
    pub(super) fn begin(&mut self, at: &At, files: &Files) -> Line {
        let pair = self.pair(at.ends);
        let mut line = self.line(files, 1);
        line.push(DIM, &format!("{:>6} ", at.stamp.frame));
        place(&mut line, Some(at.stamp.frame), files);
        self.rest(&mut line, at, Some(&pair));
        line
    }

    /// Begins the heading over such lines, of which `at` is the first.
    pub(super) fn heading(&mut self, at: &At, files: &Files) -> Line {
        self.pair(at.ends);
        let mut line = self.line(files, 1);
        line.push(DIM, " frame ");
        line.column(DIM, if files.width() > 0 { "in file" } else { "" }, place_columns(files));
        line.push(DIM, self.times.heading());
        line.push(DIM, "  C ");
        line.column(DIM, "from → to", self.pair + 2);
        line
    }

    fn rest(&self, line: &mut Line, at: &At, pair: Option<&str>) {
        line.push(DIM, &format!("{} {:>2} ", self.times.column(at.stamp.time), at.connection));
        if let Some(pair) = pair {
            line.column(PLAIN, pair, self.pair + 2);
        }
    }
}

/// The columns of a transaction that a narrow screen has no room for.
#[derive(Clone, Copy)]
struct TransactionColumns {
    /// Requester and responder; without them the number of the connection says who they are.
    ends: bool,
    /// Octets moved by RDMA Read and by RDMA Write.
    moved: bool,
}

/// The message or transaction that a line is about.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    pub(super) stamp: Stamp,
    pub(super) connection: u32,
    pub(super) ends: (Address, Address),
}

impl At {
    fn message(message: &Message) -> Self {
        Self { stamp: message.stamp, connection: message.connection, ends: (message.from, message.to) }
    }

    const fn recovered(recovered: &Recovered) -> Self {
        Self { stamp: recovered.stamp, connection: recovered.connection, ends: (recovered.from, recovered.to) }
    }

    fn transaction(transaction: &Transaction) -> Self {
        let Transaction { connection, from, to, call, reply, .. } = transaction;
        let stamp = call.as_ref().or(reply.as_ref()).map(|half| half.stamp).unwrap_or_default();
        Self { stamp, connection: *connection, ends: (*from, *to) }
    }
}

/// If there are several files: that of the frame, and the frame's number in it.
fn place(line: &mut Line, frame: Option<u64>, files: &Files) {
    if files.width() > 0 {
        let place = frame.and_then(|frame| files.place(frame)).unwrap_or_else(|| "-".to_owned());
        line.column(DIM, &place, place_columns(files));
    }
}

/// Columns of [`place`].
const fn place_columns(files: &Files) -> usize {
    if files.width() == 0 { 0 } else { files.width() + 1 }
}

impl Lines {
    /// Lines for a screen; times are shown as seconds since `start`.
    #[must_use]
    pub const fn new(screen: Screen, start: Time) -> Self {
        Self { columns: Columns::new(screen, start) }
    }

    /// The same with times in this form.
    #[must_use]
    pub const fn with_times(mut self, times: ShownTimes) -> Self {
        self.columns.show_times(times);
        self
    }

    /// Writes the headings of the columns of [`message`](Self::message), above the `first` message.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn message_heading(&mut self, out: &mut impl io::Write, first: &Message, files: &Files) -> io::Result<()> {
        let mut line = self.columns.heading(&At::message(first), files);
        line.push(DIM, "proc  rdma_xid  inline       RPC, chunks");
        line.write(out)
    }

    /// Writes a message.
    ///
    /// The columns: frame, seconds, connection, who sent it to whom, `rdma_proc` without its `RDMA_`, `rdma_xid`,
    /// octets of the Payload stream in the Send, call or reply, and then what is called, the chunks, and anything
    /// unusual. If a capture consists of several files, the frame's place in its file follows the frame.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn message(&mut self, out: &mut impl io::Write, message: &Message, files: &Files) -> io::Result<()> {
        let mut line = self.columns.begin(&At::message(message), files);
        self.header(&mut line, message);
        let notes = notes(message);
        let width: usize = notes.iter().map(|(_, note)| note.chars().count() + 2).sum();
        if let Some(rpc) = &message.rpc {
            let room = line.room().saturating_sub(width);
            // The names of operations imply NFSv4, and leave little room.
            let name = if rpc.operations.is_empty() { rpc.name } else { Some("") };
            line.push_within(NAME, called(name, rpc.procedure, &rpc.operations).trim_start(), room);
        }
        add(&mut line, &notes);
        line.write(out)
    }

    /// Writes a Terminate, in the columns of a message: what it says follows its name.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn terminated(&mut self, out: &mut impl io::Write, terminated: &Terminated, files: &Files) -> io::Result<()> {
        let Terminated { stamp, connection, from, to, terminate } = *terminated;
        let mut line = self.columns.begin(&At { stamp, connection, ends: (from, to) }, files).unlimited();
        line.push(FAULT, "Terminate");
        line.push(PLAIN, &format!("  {terminate}"));
        line.write(out)
    }

    /// Writes the headings of the columns of [`recovered`](Self::recovered), above the `first`.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn recovered_heading(&mut self, out: &mut impl io::Write, first: &Recovered, files: &Files) -> io::Result<()> {
        let mut line = self.columns.heading(&At::recovered(first), files);
        line.push(DIM, "rdma_xid   event");
        line.write(out)
    }

    /// Writes a sign that something was lost: frame, seconds, connection, who sent it to whom, `rdma_xid` of what it is about,
    /// and what it is.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn recovered(&mut self, out: &mut impl io::Write, recovered: &Recovered, files: &Files) -> io::Result<()> {
        let mut line = self.columns.begin(&At::recovered(recovered), files);
        line.column(PLAIN, &recovered.xid.map(|xid| format!("{xid:#010x}")).unwrap_or_default(), 11);
        line.push(WARNING, recovered.kind.name());
        match recovered.kind {
            RecoveryKind::TimedOut { silence } => {
                line.push(PLAIN, &format!("  after {} ms of silence", milliseconds(silence)));
            }
            RecoveryKind::NotReady { wait } => line.push(PLAIN, &format!("  wait {} ms", milliseconds(wait))),
            _ => {}
        }
        line.write(out)
    }

    fn header(&self, line: &mut Line, message: &Message) {
        let Some(prefix) = message.prefix() else {
            let xid = message.rdma_xid().map_or_else(|| "?".to_owned(), |xid| format!("{xid:#010x}"));
            line.push(PLAIN, &format!("{:<5} {xid:<10} {:>5} {:<6}", "?", "", ""));
            return;
        };
        let procedure = match message.type_name() {
            Some(name) => short(name).to_owned(),
            None => prefix.procedure.0.to_string(),
        };
        let style = if message.error().is_some() { FAULT } else { PLAIN };
        line.column(style, &procedure, 6);
        let has_payload = |decoded: &Decoded<'_>| decoded.header.place() != PayloadPlace::Nowhere;
        let payload = message.decode().ok().filter(has_payload);
        // Without its end, a message may have any length.
        let payload = payload.filter(|_| message.captured != Captured::Head);
        let inline = payload.map(|decoded| message.length.saturating_sub(decoded.header_length).to_string());
        line.push(PLAIN, &format!("{:#010x} {:>5} ", prefix.xid, inline.unwrap_or_default()));
        match message.rpc.as_ref().map(|rpc| rpc.direction) {
            Some(Direction::Call) => line.column(CALL, "call", 6),
            Some(Direction::Reply) => line.column(REPLY, "reply", 6),
            None => line.column(PLAIN, "", 6),
        }
    }

    /// Writes the headings of the columns of [`transaction`](Self::transaction), above the `first` transaction.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn transaction_heading(
        &mut self,
        out: &mut impl io::Write,
        first: &Transaction,
        files: &Files,
    ) -> io::Result<()> {
        self.columns.pair(At::transaction(first).ends);
        let shown = self.columns.of_transactions(files);
        let mut line = self.columns.line(files, 2).within(self.columns.screen);
        line.push(DIM, "  call  reply ");
        for name in ["call in file", "reply in file"] {
            line.column(DIM, if files.width() > 0 { name } else { "" }, place_columns(files));
        }
        line.push(DIM, self.columns.times.heading());
        line.push(DIM, "  C ");
        if shown.ends {
            line.column(DIM, "requester → responder", self.columns.pair + 2);
        }
        line.push(DIM, "rdma_xid          ms ");
        line.push(DIM, if shown.moved { "RDMA Read    Write  RPC" } else { " RPC" });
        line.write(out)
    }

    /// Writes a transaction and, if it was not rebuilt, lines below it that say why.
    ///
    /// The columns: frame of the call and of the reply, seconds, connection, requester and responder, `rdma_xid`,
    /// latency in milliseconds, octets moved by RDMA Read and by RDMA Write, what was called, and how it ended unless
    /// that is success. If a capture consists of several files, the places of both frames in their files follow the
    /// frames. If a list of operations is too long, those that lead to another are left out. A narrow screen shows no octets
    /// moved, and a narrower one no requester and responder either.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn transaction(
        &mut self,
        out: &mut impl io::Write,
        transaction: &Transaction,
        files: &Files,
    ) -> io::Result<()> {
        let Transaction { xid, call, reply, .. } = transaction;
        let at = At::transaction(transaction);
        let pair = self.columns.pair(at.ends);
        let shown = self.columns.of_transactions(files);
        let mut line = self.columns.line(files, 2).within(self.columns.screen);
        let frames = [call, reply].map(|half: &Option<Half>| half.as_ref().map(|half| half.stamp.frame));
        for frame in frames {
            line.push(DIM, &format!("{:>6} ", frame.map_or("-".to_owned(), |frame| frame.to_string())));
        }
        for frame in frames {
            place(&mut line, frame, files);
        }
        self.columns.rest(&mut line, &at, Some(pair.as_str()).filter(|_| shown.ends));
        let latency = transaction.latency().map_or("-".to_owned(), milliseconds);
        line.push(PLAIN, &format!("{xid:#010x} {latency:>9} "));
        if shown.moved {
            line.push(CHUNK, &format!("{:>9} {:>8} ", transaction.read_octets, transaction.write_octets));
        }
        line.push(PLAIN, " ");
        let notes = ended(transaction);
        let width: usize = notes.iter().map(|(_, note)| note.chars().count() + 2).sum();
        let room = line.room().saturating_sub(width);
        line.push_within(NAME, &called_within(room.max(CALLED), transaction), room);
        add(&mut line, &notes);
        line.write(out)?;
        for (which, half) in [("call", call), ("reply", reply)] {
            if let Some(Half { message: Err(reason), .. }) = half
                && !matches!(reason, NotRebuilt::Error(_))
            {
                let reason = format!("{which} not rebuilt: {reason}");
                let room = self.columns.line(files, 2).within(self.columns.screen).room();
                for text in wrapped(&reason, room.saturating_sub(REASON)) {
                    let mut line = self.columns.text(REASON);
                    line.push(WARNING, &text);
                    line.write(out)?;
                }
            }
        }
        Ok(())
    }
}

/// Adds notes to the end of a line.
fn add(line: &mut Line, notes: &[(anstyle::Style, String)]) {
    for (style, note) in notes {
        line.push(PLAIN, "  ");
        line.push(*style, note);
    }
}

/// What a transaction calls. If the operations of a COMPOUND are wider than `room`, those before the one that it is
/// about are left out.
pub(super) fn called_within(room: usize, transaction: &Transaction) -> String {
    let Transaction { name, procedure, operations, .. } = transaction;
    operations_within(room, *name, *procedure, operations)
}

/// The same of its parts.
pub(super) fn operations_within(
    room: usize,
    name: Option<&'static str>,
    procedure: Option<Procedure>,
    operations: &[CompoundOperation],
) -> String {
    let name = if operations.is_empty() { name } else { Some("") };
    let text = called(name, procedure, operations);
    let about = operations.iter().position(|operation| !operation.leads()).unwrap_or_default();
    let rest = operations.get(about..).unwrap_or_default();
    if about == 0 || text.chars().count() <= room {
        return text;
    }
    format!("… {}", called(Some(""), procedure, rest))
}

pub(super) fn milliseconds(nanoseconds: u64) -> String {
    Milliseconds(nanoseconds).to_string()
}

/// So many nanoseconds as milliseconds, where no string is needed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Milliseconds(pub(super) u64);

impl fmt::Display for Milliseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1_000_000, self.0 / 1000 % 1000)
    }
}

/// What is called: the name, or the numbers, or the operations of a COMPOUND.
fn called(name: Option<&'static str>, procedure: Option<Procedure>, operations: &[CompoundOperation]) -> String {
    let mut text = match (name, procedure) {
        // The operations say it all.
        (Some(name), _) if !operations.is_empty() => {
            let name = name.strip_suffix(" COMPOUND").or_else(|| name.strip_suffix(" CB_COMPOUND")).unwrap_or(name);
            name.to_owned()
        }
        (Some(name), _) => name.to_owned(),
        (None, Some(Procedure { program, version, procedure })) => {
            format!("program {program} version {version} procedure {procedure}")
        }
        (None, None) => "procedure unknown".to_owned(),
    };
    for operation in operations {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(operation.name);
    }
    text
}

/// Notes about a message.
fn notes(message: &Message) -> Vec<(anstyle::Style, String)> {
    let mut notes = Vec::new();
    if let Some(error) = message.error() {
        notes.push((FAULT, without_prefix(&error.to_string())));
    } else if let Ok(decoded) = message.decode() {
        let call = decoded.header.call_chunk();
        let call = (!call.is_empty()).then(|| format!("call {}", call.length()));
        let chunks = decoded.header.chunks().as_ref().map(chunks).filter(|text| !text.is_empty());
        notes.extend(call.into_iter().chain(chunks).map(|text| (CHUNK, text)));
        notes.extend(continued(message, &decoded).map(|text| (CHUNK, text)));
    } else if let Some(error) = message.is_malformed() {
        notes.push((FAULT, format!("malformed at octet {}: {}", error.offset, error.kind.name())));
    }
    if message.dialect == Dialect::Version2Unknown && message.error().is_none() {
        notes.push((WARNING, "version 2, wire format unknown".to_owned()));
    }
    if message.earlier_missing().is_some() {
        notes.push((WARNING, "earlier parts missing".to_owned()));
    }
    notes.extend(message.dropped.map(|dropped| (FAULT, format!("dropped: {dropped}"))));
    notes.extend(message.rpc.as_ref().and_then(failure).map(|failure| (WARNING, failure)));
    if message.rpc.as_ref().is_some_and(|rpc| rpc.reverse) {
        notes.push((DIM, "reverse".to_owned()));
    }
    if message.rpc.as_ref().is_some_and(|rpc| rpc.callback == Callback::Guessed) {
        notes.push((DIM, "program guessed".to_owned()));
    }
    match message.captured {
        Captured::Whole => {}
        Captured::Cut => {
            notes.push((WARNING, format!("truncated: {} of {} octets", message.octets.len(), message.length)))
        }
        Captured::Head => notes.push((WARNING, "end missing".to_owned())),
        Captured::Tail => notes.push((WARNING, "start missing".to_owned())),
    }
    if message.retransmitted > 0 {
        notes.push((WARNING, format!("sent {} times", message.retransmitted.saturating_add(1))));
    }
    notes
}

/// The short name of `rdma_proc` or `rdma_htype` in a column.
fn short(name: &'static str) -> &'static str {
    match name {
        "RDMA2_CONNPROP" | "RDMA2_CONNPROP_FINAL" => "PROP",
        "RDMA2_CONNPROP_MIDDLE" => "PROP+",
        "RDMA2_CALL_EXTERNAL" => "CEXT",
        "RDMA2_CALL_MIDDLE" => "CMID",
        "RDMA2_CALL_INLINE" => "CALL",
        "RDMA2_REPLY_EXTERNAL" => "REXT",
        "RDMA2_REPLY_MIDDLE" => "RMID",
        "RDMA2_REPLY_INLINE" => "REPLY",
        _ => name.trim_start_matches("RDMA_").trim_start_matches("RDMA2_"),
    }
}

/// Names of version 2 without their common prefix.
fn without_prefix(text: &str) -> String {
    ["RDMA2_PROPID_", "RDMA2_RVRSDIR_", "RDMA2_"].iter().fold(text.to_owned(), |text, prefix| text.replace(prefix, ""))
}

/// What version 2 adds: parts of a Payload stream, transport properties, grants.
fn continued(message: &Message, decoded: &Decoded<'_>) -> Option<String> {
    let Header::V2(header) = &decoded.header else { return None };
    if let Some(properties) = header.properties() {
        let properties: Vec<String> = properties.iter().map(|property| without_prefix(&property.to_string())).collect();
        return Some(properties.join(" ")).filter(|text| !text.is_empty());
    }
    match decoded.header.place() {
        _ if header.is_grant() => Some(match header.family() {
            Family::A => format!("grants {}", header.credit().granted()),
            // By -03 and -04, or by -06 and -07.
            Family::B => format!("grants {} or up to {}", header.credit().granted(), header.credit().limit()),
        }),
        PayloadPlace::Part => Some("more follows".to_owned()),
        _ if message.earlier_length() > 0 => Some(format!("after {} octets", message.earlier_length())),
        _ => None,
    }
}

/// Octets of each chunk, or the sum if there are many Read chunks or Write chunks.
fn chunks(chunks: &Chunks<'_>) -> String {
    let mut text = String::new();
    let mut add = |arguments: core::fmt::Arguments<'_>| {
        if !text.is_empty() {
            text.push(' ');
        }
        // Writing to a string cannot fail.
        let _written = text.write_fmt(arguments);
    };
    match chunks.reads.chunks().count() {
        count @ 3.. => add(format_args!("{count} reads {}", chunks.reads.length())),
        _ => chunks
            .reads
            .chunks()
            .for_each(|chunk| add(format_args!("read {}@{}", chunk.segments.length(), chunk.position))),
    }
    match chunks.writes.len() {
        count @ 3.. => {
            let length = chunks.writes.iter().fold(0_u64, |sum, chunk| sum.saturating_add(chunk.length()));
            add(format_args!("{count} writes {length}"));
        }
        _ => chunks.writes.iter().for_each(|chunk| add(format_args!("write {}", chunk.length()))),
    }
    if let Some(chunk) = chunks.reply {
        add(format_args!("reply {}", chunk.length()));
    }
    text
}

/// How a call failed, if it did.
fn failure(rpc: &Rpc) -> Option<String> {
    match rpc.status? {
        Status::Success(None | Some(0)) => None,
        Status::Success(Some(code)) => Some(nfs_status(rpc.procedure, rpc.callback, code)),
        other => Some(other.name().to_owned()),
    }
}

/// The name of a status, or its number.
pub(super) fn nfs_status(procedure: Option<Procedure>, callback: Callback, code: u32) -> String {
    let name = procedure.and_then(|procedure| nfs::status::name(&procedure, callback.is_callback(), code));
    name.map_or_else(|| format!("status {code}"), str::to_owned)
}

/// Words for an RPC without a reply in the capture.
fn unanswered(transaction: &Transaction) -> &'static str {
    match transaction.waiting {
        Some(waiting) if waiting.is_direction_missing() => "reply unknown",
        _ => "no reply",
    }
}

/// How a transaction ended, unless it succeeded, and notes about it.
pub(super) fn ended(transaction: &Transaction) -> Vec<(anstyle::Style, String)> {
    let mut notes = Vec::new();
    match transaction.status {
        None if transaction.reply.is_none() => notes.push((WARNING, unanswered(transaction).to_owned())),
        None => notes.push((WARNING, "status unknown".to_owned())),
        Some(Status::Success(None | Some(0))) => {}
        Some(Status::Success(Some(code))) => {
            notes.push((WARNING, nfs_status(transaction.procedure, transaction.callback, code)));
        }
        Some(error @ Status::Error(_)) => notes.push((FAULT, without_prefix(error.name()))),
        Some(other) => notes.push((WARNING, other.name().to_owned())),
    }
    if transaction.phases == Err(NotTimed::ArrivalUnknown) {
        notes.push((WARNING, "end unknown".to_owned()));
    }
    if transaction.reverse {
        notes.push((DIM, "reverse".to_owned()));
    }
    if transaction.callback == Callback::Guessed {
        notes.push((DIM, "program guessed".to_owned()));
    }
    notes
}

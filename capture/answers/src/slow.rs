//! The slowest RPCs, and where their time went.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

use rpcrdma_dissector::{
    Files, KernelTimes, NotTimed, Phase, Phases, Promise, Recovery, RpcParts, TimeOut, Transaction, WayBounds,
    WitnessedRpc,
};

use crate::called::{called_within, ended};
use crate::file_names::{FileNames, client, server};
use crate::format::column::{CellStyle, Column, TextColumn, Unit, frame, push, push_xid};
use crate::format::line::{CHUNK, DIM, Line, NAME, PLAIN, WARNING, wrapped};
use crate::format::number::Milliseconds;
use crate::format::screen::Screen;
use crate::format::time::ShownTimes;
use crate::promises::{operation_time, refused, refused_before};
use crate::tries;

/// Columns of a line, where the terminal has no more.
const WIDTH: usize = 80;
/// The fewest columns of the terminal with which the time is shown.
const WITH_TIME: usize = 100;
/// The fewest with which the file is shown.
const WITH_FILE: usize = 120;
/// The fewest with which client and server are shown.
const WITH_ENDS: usize = 150;
/// Columns of client and server, as of two IPv4 addresses.
const ENDS: usize = 33;
/// Columns of the name of the call, if something follows.
const CALLED: usize = 28;
/// Before the lines that explain an RPC.
const INDENT: &str = "           ";
/// A wait before a call is printed if longer than this part of the latency.
const MATTERS: u64 = 10;
/// Columns of a bar.
const BAR: usize = 20;

/// The slowest RPCs seen so far, each kept as the text to print.
#[derive(Debug)]
pub struct Slowest {
    most: usize,
    least: u64,
    kept: BinaryHeap<Reverse<Slow>>,
    /// RPCs with a known latency, including the ones that are not printed.
    pub answered: u64,
    /// Calls without a reply.
    pub unanswered: u64,
}

/// One slow RPC. Of several that took the same time, the first counts as the slowest.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Slow {
    latency: u64,
    place: Reverse<u64>,
    shown: Vec<u8>,
}

impl Slowest {
    /// The `most` slowest RPCs that took `least` nanoseconds or longer.
    #[must_use]
    pub const fn new(most: usize, least: u64) -> Self {
        Self { most, least, kept: BinaryHeap::new(), answered: 0, unanswered: 0 }
    }

    /// Takes an RPC. If the RPC is one of the slowest so far, `show` writes the text.
    ///
    /// # Errors
    /// Errors from `show`.
    pub fn add_rpc(
        &mut self,
        transaction: &Transaction,
        show: impl FnOnce(&mut Vec<u8>) -> io::Result<()>,
    ) -> io::Result<()> {
        self.unanswered += u64::from(transaction.reply.is_none());
        let Some(latency) = operation_time(transaction) else { return Ok(()) };
        self.answered += 1;
        let is_full = self.kept.len() >= self.most;
        let is_slower = self.kept.peek().is_none_or(|Reverse(fastest)| latency > fastest.latency);
        if latency < self.least || (is_full && !is_slower) {
            return Ok(());
        }
        let mut shown = Vec::new();
        show(&mut shown)?;
        self.kept.push(Reverse(Slow { latency, place: Reverse(self.answered), shown }));
        if self.kept.len() > self.most {
            self.kept.pop();
        }
        Ok(())
    }

    /// Returns true if none was slow enough.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Writes the RPCs, the slowest first.
    ///
    /// # Errors
    /// Any error from writing to `out`.
    pub fn write(self, out: &mut impl io::Write) -> io::Result<()> {
        self.kept.into_sorted_vec().iter().try_for_each(|Reverse(slow)| out.write_all(&slow.shown))
    }
}

/// Writes the headings of the columns of [`lines`], and what the characters of a bar stand for.
///
/// # Errors
/// Any error from writing to `out`.
pub fn heading(out: &mut impl io::Write, screen: Screen, times: ShownTimes) -> io::Result<()> {
    let mut line = Line::new(screen.colour, WIDTH);
    line.push(DIM, "Bars:");
    for phase in Phase::ALL {
        line.print(DIM, format_args!("  {} {}", mark(phase), phase.title()));
    }
    line.write(out)?;
    let mut line = Line::new(screen.colour, width(screen));
    line.headings(&columns(screen, times));
    line.write(out)
}

/// Returns true if the screen is wide enough for the names of files, so that [`lines`] needs the names.
#[must_use]
pub fn shows_files(screen: Screen) -> bool {
    shows(screen, WITH_FILE)
}

/// The columns of the first line about an RPC.
fn width(screen: Screen) -> usize {
    screen.columns.unwrap_or_default().max(WIDTH)
}

/// Returns true if a terminal has so many columns. A file has none.
fn shows(screen: Screen, columns: usize) -> bool {
    screen.columns.is_some_and(|all| all >= columns)
}

/// Content of the first line about an RPC.
pub(crate) struct SlowLine<'a> {
    pub(crate) transaction: &'a Transaction,
    pub(crate) times: ShownTimes,
    /// The file that the RPC is about, if that is shown.
    pub(crate) file: Option<String>,
}

/// The columns of the first line about an RPC.
pub(crate) fn columns<'a>(screen: Screen, times: ShownTimes) -> [Column<SlowLine<'a>>; 10] {
    let time = times.heading();
    [
        Column {
            report_heading: "latency",
            gap: 2,
            ..Column::number("ms", &["latency_ns"], 9, Unit::ExactTime, |row| operation_time(row.transaction).into())
        },
        Column::left("phases", &["phases"], BAR, CHUNK, |row, _, text| {
            text.push_str(&row.transaction.phases.as_ref().map(bar).unwrap_or_default());
        }),
        Column {
            report_heading: "call in frame",
            style: CellStyle::Always(DIM),
            ..Column::number("call", &["call_frame"], 6, Unit::Frame, |row| frame(&row.transaction.call).into())
        },
        Column {
            report_heading: "reply in frame",
            style: CellStyle::Always(DIM),
            ..Column::number("reply", &["reply_frame"], 6, Unit::Frame, |row| frame(&row.transaction.reply).into())
        },
        Column::right("C", &["connection"], 2, DIM, |row, _, text| push(text, Some(row.transaction.connection))),
        Column::left("rdma_xid", &["rdma_xid"], 10, PLAIN, |row, _, text| push_xid(text, row.transaction.xid)),
        Column {
            gap: 2,
            is_shown: shows(screen, WITH_TIME),
            ..Column::left(time, &["time_ns"], time.len(), DIM, |row, _, text| {
                let began = row.transaction.began.map(|began| row.times.column(began.time).to_string());
                text.push_str(&began.unwrap_or_default());
            })
        },
        Column {
            gap: 2,
            is_shown: shows(screen, WITH_ENDS),
            ..Column::left("client → server", &["requester", "responder"], ENDS, PLAIN, |row, _, text| {
                push(text, Some(format_args!("{} → {}", client(row.transaction), server(row.transaction))));
            })
        },
        // Where no file follows, what is called may take the rest of the line.
        Column {
            gap: 2,
            ..Column::left("RPC", &["operation", "operations"], CALLED, NAME, |row, room, text| {
                let room = if row.file.is_some() { CALLED } else { room };
                text.push_str(&called_within(room, row.transaction));
            })
        },
        Column {
            is_shown: shows_files(screen),
            ..Column::left("file", &["arguments.file_name", "arguments.handle.file_name"], 0, PLAIN, |row, _, text| {
                text.push_str(row.file.as_deref().unwrap_or_default())
            })
        },
    ]
}

pub(crate) fn text_columns() -> Vec<TextColumn> {
    TextColumn::list_columns(&columns(Screen::default(), ShownTimes::default()))
}

/// Writes an RPC in two lines of at most 80 columns: milliseconds, phases as a bar, frames of call and reply, connection,
/// `rdma_xid` and what was called; then the phase that took longest. If a capture consists of several files, a third line
/// names those of the frames. A wider terminal also shows the time of the call, then the file, then client and server.
///
/// # Errors
/// Any error from writing to `out`.
pub fn lines(
    out: &mut impl io::Write,
    transaction: &Transaction,
    files: &Files,
    names: &FileNames,
    screen: Screen,
    times: ShownTimes,
) -> io::Result<()> {
    let file = if shows_files(screen) { names.of_transaction(transaction, &transaction.arguments()) } else { None };
    let mut line = Line::new(screen.colour, width(screen));
    line.cells(&columns(screen, times), &SlowLine { transaction, times, file });
    line.write(out)?;
    let (style, mut sentences) = match &transaction.phases {
        _ if transaction.tries.is_some() => (WARNING, tries::sentences(transaction)),
        Ok(phases) => (PLAIN, sentences(phases, transaction)),
        Err(reason) => (WARNING, vec![format!("phases unknown: {reason}")]),
    };
    sentences.extend(transaction.kernel.as_deref().and_then(kernel_times));
    sentences.extend(divided(transaction));
    sentences.extend(refused_before(transaction).map(|promise| since_refused(promise, transaction)));
    sentences.extend(before(transaction));
    let began = transaction.began.filter(|_| !shows(screen, WITH_TIME));
    let began = began.and_then(|began| times.clock_if_shown(began.time));
    sentences.extend(began.map(|began| format!("called at {began}")));
    let mut notes = ended(transaction);
    for text in sentences.iter().flat_map(|sentence| wrapped(sentence, WIDTH - INDENT.len())) {
        let mut line = Line::new(screen.colour, WIDTH);
        line.push(PLAIN, INDENT);
        line.push(style, &text);
        line.notes(&core::mem::take(&mut notes));
        line.write(out)?;
    }
    let frames = [&transaction.call, &transaction.reply].into_iter().filter_map(frame);
    let places: Vec<String> = frames.filter_map(|frame| files.place(frame)).collect();
    if places.is_empty() { Ok(()) } else { writeln!(out, "{INDENT}{}", places.join(" → ")) }
}

/// The phase that took longest, and why.
pub(super) fn longest(phases: &Phases, transaction: &Transaction) -> String {
    sentences(phases, transaction).into_iter().next().unwrap_or_default()
}

/// The phase that took longest and why, and what was done because packets were lost.
fn sentences(phases: &Phases, transaction: &Transaction) -> Vec<String> {
    let longest =
        Phase::ALL.into_iter().rev().max_by_key(|phase| phases.phase_time(*phase)).unwrap_or(Phase::Responder);
    let time = phases.phase_time(longest);
    let sentence = |why: &str| format!("{} {} ms: {why}", transaction.phase_title(longest), Milliseconds(time));
    let (recovery, done) = match &transaction.recovery {
        Ok(recovery) => (recovery, done(recovery)),
        // No trace shows what was lost.
        Err(NotTimed::KernelTrace) => return vec![sentence(&what(longest, transaction))],
        Err(reason) => return vec![sentence(&what(longest, transaction)), format!("recovery unknown: {reason}")],
    };
    if done.is_empty() {
        return vec![sentence(&what(longest, transaction))];
    }
    if recovery.phases.phase_time(longest) > time / 2 {
        return vec![sentence(&done)];
    }
    vec![sentence(&what(longest, transaction)), recovered(recovery, &done)]
}

/// Returns the time of recovery from lost packets, and what was done.
pub(super) fn recovered(recovery: &Recovery, done: &str) -> String {
    let at_least = if recovery.unassigned > 0 { "at least " } else { "" };
    format!("recovery {at_least}{} ms: {done}", Milliseconds(recovery.phases.total()))
}

/// Returns the times that only a kernel trace shows.
fn kernel_times(times: &KernelTimes) -> Option<String> {
    let registered = times.registration.filter(|time| *time > 0);
    let named = [
        (times.queue, "waited at the client"),
        (registered, "registration of memory"),
        (times.server_queue, "waited for a thread of the server"),
        (times.execution, "execution"),
        (times.file_system, "file system"),
    ];
    let listed = named.into_iter().filter_map(|(time, name)| Some(format!("{name} {} ms", Milliseconds(time?))));
    let listed = listed.collect::<Vec<_>>().join(", ");
    (!listed.is_empty()).then(|| format!("kernel trace: {listed}"))
}

/// Returns who took the time of an RPC, by the files of both ends.
pub(super) fn divided(transaction: &Transaction) -> Option<String> {
    let WitnessedRpc { at_requester, at_responder, parts, way_there, way_back, .. } =
        transaction.witnessed.as_deref()?;
    let Transaction { from, to, .. } = transaction;
    let [at_requester, at_responder] = [at_requester, at_responder].map(|time| Milliseconds(*time));
    let Some(RpcParts { requester, network, responder, .. }) = parts else {
        return Some(format!("{at_requester} ms at {from}, {at_responder} ms at {to}: the network took the rest"));
    };
    let way = |name: &str, way: &Option<WayBounds>| {
        way.map(|way| format!("{name} {} to {}", Milliseconds(way.least), Milliseconds(way.most)))
    };
    let ways: Vec<_> = [way("there", way_there), way("back", way_back)].into_iter().flatten().collect();
    let ways = if ways.is_empty() { String::new() } else { format!(" ({})", ways.join(", ")) };
    let [requester, network, responder] = [requester, network, responder].map(|time| Milliseconds(*time));
    Some(format!("both ends: network {network} ms{ways}, {to} {responder} ms, {from} {requester} ms"))
}

/// The refusals before an operation succeeded, and what the last call took.
fn since_refused(promise: &Promise, transaction: &Transaction) -> String {
    let last = Milliseconds(transaction.latency().unwrap_or_default());
    format!("{} since frame {}; the last call took {last} ms", refused(promise), promise.call.frame)
}

/// Returns the state before the call: no credit, for long enough to tell.
fn before(transaction: &Transaction) -> Option<String> {
    let least = transaction.latency().unwrap_or_default() / MATTERS;
    let [credit, slot] = [transaction.credit_wait.ok(), transaction.slot_wait.and_then(Result::ok)];
    let (wait, what) = if slot > credit { (slot, "slot of its session") } else { (credit, "credit") };
    let wait = wait.filter(|wait| *wait > least)?;
    Some(format!("before it, no {what} was free for {} ms", Milliseconds(wait)))
}

/// Returns a description of a phase.
fn what(phase: Phase, transaction: &Transaction) -> String {
    let Transaction { from, to, read_octets, write_octets, .. } = transaction;
    match phase {
        Phase::Call => "from the first packet of the call to the last".to_owned(),
        Phase::Responder if transaction.is_traced_only() => format!("{to} had the call and all of its data"),
        Phase::Responder => format!("no packet; the next was due from {to}"),
        Phase::RdmaRead => format!("RDMA Read of {read_octets} bytes"),
        Phase::RdmaWrite => format!("RDMA Write of {write_octets} bytes"),
        Phase::Reply => "from the first packet of the reply to the last".to_owned(),
        Phase::Requester => format!("no packet; the next was due from {from}"),
    }
}

/// Returns a description of the recovery from lost packets.
pub(super) fn done(recovery: &Recovery) -> String {
    let mut origin = recovery.resent_from.map(|frame| format!(" retransmitted from frame {frame}")).unwrap_or_default();
    // The NAK was for a packet before these.
    if recovery.not_ready_packets == recovery.retransmitted_packets && recovery.rnr_naks == 0 {
        origin.push_str(" behind one that its receiver was not ready for");
    }
    let wait = format!(" (wait {} ms)", Milliseconds(recovery.rnr_wait));
    let up_to = if recovery.timeouts > 1 { "up to " } else { "" };
    let longest = recovery
        .longest_timeout
        .map(|TimeOut { frame, silence, .. }| format!(" ({up_to}{} ms, frame {frame})", Milliseconds(silence)));
    let done = [
        (recovery.timeouts, "time-out", longest.as_deref().unwrap_or_default()),
        (recovery.implied_naks, "implied NAK", ""),
        (recovery.causes_not_seen, "retransmission", " without a visible cause"),
        (recovery.rnr_naks, "RNR NAK", &wait),
        (recovery.naks, "NAK", ""),
        (recovery.retransmitted_packets, "packet", &origin),
        (recovery.unassigned, "indication", " of loss for this RPC or another"),
    ];
    let done = done.into_iter().filter(|(count, ..)| *count > 0);
    let done = done.map(|(count, name, rest)| format!("{count} {name}{}{rest}", if count == 1 { "" } else { "s" }));
    let behind = recovery.behind.filter(|_| recovery.retransmitted_packets == 0);
    let behind = behind.map(|frame| format!("behind lost packets that were retransmitted up to frame {frame}"));
    done.chain(behind).collect::<Vec<_>>().join(", ")
}

const fn mark(phase: Phase) -> char {
    match phase {
        Phase::Call => 'c',
        Phase::Responder => '.',
        Phase::RdmaRead => '<',
        Phase::RdmaWrite => '>',
        Phase::Reply => 'r',
        Phase::Requester => 'w',
    }
}

/// The phases as a bar: the width of a phase is the share of the time.
fn bar(phases: &Phases) -> String {
    let total = u128::from(phases.total()).max(1);
    let (mut bar, mut reached, mut columns) = (String::new(), 0, 0);
    for phase in Phase::ALL {
        reached += u128::from(phases.phase_time(phase));
        // No phase is rounded on its own, so the bar is as wide as it should be.
        let end = usize::try_from((reached * BAR as u128 + total / 2) / total).unwrap_or(BAR);
        bar.extend(std::iter::repeat_n(mark(phase), end - columns));
        columns = end;
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_has_a_column_for_each_twentieth() {
        for (phases, expected) in [
            (Phases { responder: 1, ..Phases::default() }, "...................."),
            (Phases { call: 10, responder: 30, rdma_read: 60, ..Phases::default() }, "cc......<<<<<<<<<<<<"),
            (
                Phases { call: 1, responder: 1, rdma_write: 1, reply: 1, requester: 1, rdma_read: 1 },
                "ccc....<<<>>>rrrrwww",
            ),
            (Phases { call: 1, rdma_write: 1000, ..Phases::default() }, ">>>>>>>>>>>>>>>>>>>>"),
            (Phases { rdma_write: u64::MAX, ..Phases::default() }, ">>>>>>>>>>>>>>>>>>>>"),
            (Phases::default(), ""),
        ] {
            assert_eq!(bar(&phases), expected);
        }
    }
}

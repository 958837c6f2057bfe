//! A report on a capture: one HTML file without external resources.
//!
//! [`CaptureReport`] takes events and findings, in bounded memory; [`CaptureReport::write`] writes the page. Charts are SVG
//! in the page, and the page can be read without a script: the script sorts tables and magnifies charts.

mod charts;
mod diagrams;
mod findings;
mod page;
mod series;
mod table;
mod verdict;

use std::io;

use rpcrdma_dissector::{CaptureEnd, Event, Files, Found, Phases, Summary, Transaction, WaitEnd};

use super::selection::{SpanningRpcs, Window};
use crate::diagnosis::{Diagnoser, Diagnosis};
use crate::gaps::Gaps;
use crate::pending::Pending;
use crate::slow::Slowest;
use crate::stats::{Histogram, Latency, Statistics, Stats};
use crate::top::{Top, TopBy, TopReport};
use diagrams::Diagrams;
use findings::FindingsByPeer;
pub use series::{AnsweredRpc, TimeSeries, granted};

/// Draws an RPC as a sequence diagram: an HTML element `details` with a drawing in SVG, in the classes of the
/// report's style sheet. All text of the capture is escaped. Returns `None` if the capture holds no packet of the RPC.
#[must_use]
pub fn sequence_diagram(transaction: &Transaction, files: &Files) -> Option<String> {
    diagrams::Drawn::new(transaction, files, || None).map(|drawn| drawn.markup)
}

/// Draws the charts of the report's time line: HTML elements `figure`, each with a title, a legend and a drawing in SVG.
/// `first` is the time of the first frame, in nanoseconds since 1970.
#[must_use]
pub fn timeline(series: &TimeSeries, first: u64) -> String {
    charts::timeline(series, first).into_string()
}

/// Draws where the time of an RPC went as a bar in SVG. `recovery` is the part of each phase that was spent on lost packets.
#[must_use]
pub fn phase_bar(phases: &Phases, recovery: &Phases) -> String {
    charts::phase_bar(phases, recovery).into_string()
}

/// Draws the phases of an RPC, with the legend of the colours and each time in words.
#[must_use]
pub fn phases(phases: &Phases, recovery: &Phases) -> String {
    maud::html! { (charts::phase_legend()) (charts::phases(phases, recovery)) }.into_string()
}

/// The legend of the colours of [`phase_bar`] in HTML, with a few words about each.
#[must_use]
pub fn phase_legend() -> String {
    charts::phase_legend().into_string()
}

/// Escapes a text for HTML: the result is content or the value of an attribute.
#[must_use]
pub fn escaped(text: &str) -> String {
    maud::html! { (text) }.into_string()
}

/// The most of the slowest RPCs that are shown.
const SLOWEST: usize = 10;
/// The most clients, servers and files that are shown.
const TOP: usize = 20;

/// Takes the events of a capture, and writes a report on the capture.
///
/// ```
/// use rpcrdma_answers::report::CaptureReport;
/// use rpcrdma_dissector::{Capture, Config, Events, Files};
///
/// let mut events = Events::new(Capture::from_paths(["examples/nfs.pcap"]), Config::default());
/// let mut report = CaptureReport::new("nfs.pcap");
/// for event in events.by_ref() {
///     report.event(&event?, &Files::default())?;
/// }
/// let mut page = Vec::new();
/// report.write(&mut page, events.summary(), &[])?;
/// assert!(page.starts_with(b"<!DOCTYPE html>"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct CaptureReport {
    /// Name of the capture.
    name: String,
    stats: Stats,
    series: TimeSeries,
    latencies: Histogram,
    slowest: Slowest,
    diagrams: Diagrams,
    slowest_one: Option<verdict::SlowestOne>,
    pending: Pending,
    findings: FindingsByPeer,
    /// By client, server and file.
    tops: [Top; 3],
    gaps: Gaps,
    diagnoser: Diagnoser,
    unacknowledged: u64,
    /// The selected time, if the report shows a selection.
    window: Option<Window>,
}

/// Data that is complete at the end of the capture.
struct Finished<'a> {
    name: &'a str,
    diagnosis: Diagnosis,
    statistics: Statistics,
    series: &'a TimeSeries,
    latency: Option<Latency>,
    /// Rows of a table.
    slowest: Vec<u8>,
    diagrams: &'a Diagrams,
    slowest_one: Option<verdict::SlowestOne>,
    pending: Vec<super::pending::PendingCall>,
    pending_left_out: u64,
    pending_repeated: Option<String>,
    end: CaptureEnd,
    findings: &'a FindingsByPeer,
    tops: [TopReport; 3],
    gaps: &'a Gaps,
    /// Number of replies that the requester did not acknowledge in the capture.
    unacknowledged: u64,
    notes: &'a [String],
}

impl Finished<'_> {
    /// Returns true if the report shows a selection that selects nothing.
    fn is_empty_selection(&self) -> bool {
        self.diagnosis.selection.as_ref().is_some_and(|selection| selection.is_empty)
    }
}

impl CaptureReport {
    /// Begins a report on a capture with this name, for example the name of the file.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            diagnoser: Diagnoser::new(&name).without_mounts(),
            name,
            stats: Stats::default(),
            series: TimeSeries::default(),
            latencies: Histogram::default(),
            slowest: Slowest::new(SLOWEST, 0),
            diagrams: Diagrams::default(),
            slowest_one: None,
            pending: Pending::default(),
            findings: FindingsByPeer::default(),
            tops: [TopBy::Client, TopBy::Server, TopBy::Name].map(Top::new),
            gaps: Gaps::default(),
            unacknowledged: 0,
            window: None,
        }
    }

    /// Reports on a selection. Pass all events, in order, to [`context`](Self::context); the selected events, at any time, to
    /// [`over_time`](Self::over_time); and the selected events within the selected time also to [`event`](Self::event).
    #[must_use]
    pub fn of_selection(self) -> Self {
        Self { diagnoser: self.diagnoser.of_selection(), window: Some(Window::default()), ..self }
    }

    /// Describes the [selection](Self::of_selection): `options` as on the command line, the window, and the RPCs in flight throughout.
    pub fn describe_selection(&mut self, options: &str, window: Window, throughout: &SpanningRpcs) {
        self.diagnoser.describe_selection(options, throughout);
        self.window = Some(window);
    }

    /// Takes an event of the whole capture, if the report shows a [selection](Self::of_selection).
    pub fn context(&mut self, event: &Event) {
        if self.window.is_some() {
            self.gaps.event(event);
            self.diagnoser.context(event);
        }
    }

    /// Takes an event that is selected at any time, if the report shows a [selection](Self::of_selection).
    pub fn over_time(&mut self, event: &Event) {
        if self.window.is_some() {
            self.draw(event);
        }
    }

    fn draw(&mut self, event: &Event) {
        self.series.event(event);
        if let Event::Transaction(transaction) = event {
            AnsweredRpc::new(transaction).iter().for_each(|rpc| self.series.answered(rpc));
        }
    }

    /// Takes a finding about the whole capture, if the report shows a [selection](Self::of_selection).
    pub fn context_finding(&mut self, found: &Found) {
        self.diagnoser.context_finding(found);
    }

    /// Takes an event.
    ///
    /// # Errors
    /// None that can happen: rows are written to memory.
    pub fn event(&mut self, event: &Event, files: &Files) -> io::Result<()> {
        if self.window.is_none() {
            self.gaps.event(event);
            self.draw(event);
        }
        let Event::Transaction(transaction) = event else {
            self.stats.event(event);
            self.diagnoser.event(event);
            return Ok(());
        };
        self.unacknowledged += u64::from(transaction.reply.is_some() && !transaction.is_acknowledged);
        transaction.latency().iter().for_each(|latency| self.latencies.record(*latency));
        self.pending.add_rpc(transaction);
        let arguments = transaction.arguments();
        self.stats.transaction(transaction, Some(&arguments));
        let causes = self.diagnoser.transaction(transaction, &arguments);
        self.tops.iter_mut().for_each(|top| top.take_with(transaction, &arguments));
        let [.., by_name] = &self.tops;
        let file = || by_name.names.of_transaction(transaction, &arguments);
        verdict::SlowestOne::replace(&mut self.slowest_one, transaction, file);
        self.diagrams.draw_rpc(transaction, &arguments, &causes.greatest, files, &by_name.names);
        self.slowest.add_rpc(transaction, |out| page::slowest_row(out, transaction, files))
    }

    /// Takes a finding.
    pub fn finding(&mut self, found: &Found) {
        self.findings.add_finding(found);
        self.diagnoser.finding(found);
    }

    /// Counts a file that could not be read completely.
    pub fn unread(&mut self) {
        self.gaps.files += 1;
        self.diagnoser.unread();
    }

    /// Writes the page. `notes` are what else is to be known of the capture, for example what it lacks.
    ///
    /// # Errors
    /// Any error from writing to `out`.
    pub fn write(mut self, out: &mut impl io::Write, summary: &Summary, notes: &[String]) -> io::Result<()> {
        let mut rows = Vec::new();
        self.slowest.write(&mut rows)?;
        let (pending_left_out, pending_repeated) = (self.pending.newer, self.pending.repeated_note());
        let (pending, end) = (self.pending.into_calls(), summary.capture_end());
        for call in &pending {
            let until = match call.waiting.end {
                WaitEnd::Disconnected { stamp, .. } => stamp.time,
                _ => end.time,
            };
            self.series.unanswered(call.call.time.0, until.0);
        }
        self.series.end_at(end.time.0);
        self.window.iter().for_each(|window| self.series.clip(*window));
        let statistics = self.stats.finish(summary);
        let finished = Finished {
            name: &self.name,
            diagnosis: self.diagnoser.finish_with_mounts(summary, &statistics.mounts),
            statistics,
            series: &self.series,
            latency: Latency::new(&self.latencies),
            slowest: rows,
            diagrams: &self.diagrams,
            slowest_one: self.slowest_one,
            pending,
            pending_left_out,
            pending_repeated,
            end,
            findings: &self.findings,
            tops: self.tops.map(|top| top.finish(TOP, end)),
            gaps: &self.gaps,
            unacknowledged: self.unacknowledged,
            notes,
        };
        out.write_all(page::page(&finished).into_string().as_bytes())
    }
}

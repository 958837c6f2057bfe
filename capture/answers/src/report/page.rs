//! The page: summary and verdict first, then each question with a section.

use core::ops::RangeInclusive;
use std::io;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use rpcrdma_dissector::{Files, Found, Half, Side, Transaction};

use super::diagrams::Diagrams;
use super::findings::PeerFinding;
use super::table::{PageColumn, row, table, table_of};
use super::verdict::{no_finding, no_pending, sentences};
use super::{Finished, charts, diagrams};
use crate::called::ended;
use crate::diagnosis::{CauseExample, DiagnosedCause, Diagnosis};
use crate::format::column::{Amount, Unit};
use crate::format::date::moment;
use crate::format::number::{counted, duration, grouped, size};
use crate::format::screen::Screen;
use crate::format::time::ShownTimes;
use crate::pending::{PendingCall, PendingLine};
use crate::slow::SlowLine;
use crate::stats::columns::{self, EndLine};
use crate::stats::{ConnectionStatistics, ProcedureStatistics};
use crate::top::{TopLine, TopReport};
use crate::{findings, pending, slow, top};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The most rows of a table that may have thousands.
const ROWS: usize = 200;

/// The whole page.
pub(super) fn page(finished: &Finished<'_>) -> Markup {
    let first = finished.end.time.0.saturating_sub(finished.statistics.capture.duration_ns);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "NFS over RDMA: " (finished.name) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (top(finished, first))
                main {
                    @if !finished.is_empty_selection() {
                    (section("timeline", "Time line", charts::timeline(finished.series, first)))
                    (section("operations", "Operations", operations(finished)))
                    (section("top", "Clients, servers and files", tops(finished)))
                    (section("slowest", "The slowest RPCs", slowest(finished)))
                    (section("hung", "Calls without a reply", hung(finished)))
                    (section("rules", "Rules that were broken", rules(finished)))
                    (section("connections", "Connections", connections(finished)))
                    }
                    (section("capture", "The capture", capture(finished)))
                }
                footer { p { "Written by rpcrdma " (env!("CARGO_PKG_VERSION")) ". Times of day are UTC; seconds count from the first frame." } }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
}

fn top(finished: &Finished<'_>, first: u64) -> Markup {
    let capture = &finished.statistics.capture;
    html! {
        header {
            h1 { "NFS over RDMA: " (finished.name) }
            p.note {
                (grouped(capture.frames)) " frames, " (size(capture.octets as f64)) ", "
                (duration(capture.duration_ns))
                @if capture.frames > 0 { ", from " (moment(capture.time_base, first)) }
            }
            (diagnosed(finished))
            (mounts(finished))
            ul.verdict { @for sentence in sentences(finished) { li { (sentence) } } }
            @if !finished.is_empty_selection() { nav aria-label="Sections" {
                @for (id, name) in [
                    ("timeline", "Time line"), ("operations", "Operations"), ("top", "Clients"), ("slowest", "Slowest"),
                    ("hung", "Without a reply"), ("rules", "Rules"), ("connections", "Connections"),
                    ("capture", "Capture"),
                ] {
                    a href={ "#" (id) } { (name) } " "
                }
            } }
        }
    }
}

/// The section that shows more of a cause.
fn shown_in(cause: &str) -> &'static str {
    match cause {
        "server-silent" | "server-unreachable" | "client-silent" | "client-unreachable" | "wrong-checksum"
        | "reply-refused" => "hung",
        "small-sends"
        | "server-not-listening"
        | "connection-refused"
        | "connect-unanswered"
        | "flapping"
        | "completion-error"
        | "connection-lost" => "connections",
        "loss" | "receiver-not-ready" | "credits" | "slots" => "timeline",
        "retried" | "distance" | "delegation-recall" | "server-slow" | "client-slow" | "slow-transfer"
        | "congestion" | "window" | "link-full" | "outlier" | "rdma-read-slow" | "registration" | "client-queue"
        | "server-queue" | "replies-late" => "slowest",
        "errors" | "server-grace" | "refused-for-now" | "copy-unfinished" | "lock-held" => "operations",
        "protocol" => "rules",
        _ => "capture",
    }
}

/// The diagnosis: each cause with evidence, and a link to the section with the details.
fn diagnosed(finished: &Finished<'_>) -> Markup {
    let Diagnosis { causes, limits, .. } = &finished.diagnosis;
    html! {
        @if causes.is_empty() {
            p.sound { (finished.diagnosis.nothing_stands_out()) }
        } @else {
            @if let Some(opening) = finished.diagnosis.opening() { p.opening { (opening) } }
            ol.causes {
                @for cause in causes {
                    li {
                        b { (cause.title) } " (" (cause.weight()) "). "
                        @if let Some(text) = cause.falls_on() { (text) }
                        @for sentence in &cause.evidence { p { (sentence) } }
                        (shown_by(cause))
                        a href={ "#" (shown_in(cause.cause)) } { "Show it" }
                        @if let Some(drawn) = finished.diagrams.of_cause(cause.cause) {
                            " " a href={ "#" (drawn.id) } {
                                @if cause.cause == "errors" { "The first of them" } @else { "The RPC with most of it" }
                            }
                        }
                    }
                }
            }
        }
        @if !limits.is_empty() {
            p.note { "What the capture cannot show: " @for limit in limits { (limit) " " } }
        }
    }
}

/// The mounts, folded.
fn mounts(finished: &Finished<'_>) -> Markup {
    let mounts = &finished.statistics.mounts;
    html! {
        @if !mounts.is_empty() {
            details.mounts {
                summary { (counted(mounts.len() as u64, "mount")) ": versions, security, sizes, sessions" }
                @for mount in mounts.iter().take(ROWS) {
                    h3 { (mount.ends()) }
                    ul { @for line in mount.lines() { li { (line) } } }
                }
                (left_out(mounts.len(), 0, "mounts"))
            }
        }
    }
}

/// Time of day at which a cause began, and the frames with evidence.
fn shown_by(cause: &DiagnosedCause) -> Markup {
    let frames = cause.examples.iter().map(CauseExample::shown).collect::<Vec<_>>().join(", ");
    html! {
        p {
            @if let Some(since) = cause.since() { "Since " (since) ". " }
            @if let Some(introduction) = cause.examples_are() { (introduction) ": " (frames) "." }
        }
    }
}

fn section(id: &str, title: &str, content: Markup) -> Markup {
    html! {
        section id=(id) aria-labelledby={ (id) "-title" } {
            h2 id={ (id) "-title" } { (title) }
            (content)
        }
    }
}

/// A note on the omitted rows of a table: rows of `all` after the first [`ROWS`], and others.
fn left_out(all: usize, others: u64, what: &str) -> Markup {
    let count = all.saturating_sub(ROWS) as u64 + others;
    html! { @if count > 0 { p.note { (grouped(count)) " more " (what) " are not shown." } } }
}

fn operations(finished: &Finished<'_>) -> Markup {
    let mut procedures: Vec<_> = finished.statistics.procedures.iter().collect();
    if procedures.is_empty() {
        return html! { p { "No RPC was seen." } };
    }
    procedures.sort_by_key(|procedure| core::cmp::Reverse(procedure.time()));
    let all = procedures.iter().map(|procedure| procedure.time()).sum();
    let latencies = || procedures.iter().filter_map(|procedure| procedure.latency);
    let least = latencies().map(|latency| latency.min_ns).min().unwrap_or(1);
    let scale = least..=latencies().map(|latency| latency.max_ns).max().unwrap_or(1);
    let columns = operation_columns(finished.diagrams, &scale, all);
    html! {
        (table("RPCs by operation, those that took the most time first", &columns, procedures.iter().copied()))
        p.note {
            "Spread: from the least latency to the greatest on a scale of powers of ten, " (duration(*scale.start()))
            " to " (duration(*scale.end())) ", with the median and the 99th percentile."
        }
        (left_out(0, finished.statistics.procedures_left_out, "RPCs of other operations"))
        @if !finished.statistics.failures.is_empty() {
            (table("Failures", &columns::of_failures().map(PageColumn::from), &finished.statistics.failures))
        }
    }
}

/// The columns of the operations: those of `stats`, and how the latencies are spread.
fn operation_columns<'a>(
    diagrams: &'a Diagrams,
    scale: &'a RangeInclusive<u64>,
    all: u64,
) -> [PageColumn<'a, ProcedureStatistics>; 11] {
    let [name, calls, _, failed, read, write, _, median, p99, slowest] = columns::of_procedures().map(PageColumn::from);
    let diagram = |row: &ProcedureStatistics| diagrams.find(|drawn| drawn.operation == row.operation);
    let spread = move |row: &ProcedureStatistics| match &row.latency {
        Some(latency) => charts::spread(latency, scale),
        None => html! { "not known" },
    };
    [
        name.of_row_headings().linked(diagram),
        calls,
        failed,
        read,
        write,
        PageColumn::number("time", Unit::Time, |row: &ProcedureStatistics| row.time().into()),
        PageColumn::number("share", Unit::Time, move |row: &ProcedureStatistics| Amount::Part {
            part: row.time(),
            all,
        }),
        median,
        p99,
        slowest,
        PageColumn::new("spread", spread),
    ]
}

/// RPCs by client, server and file.
fn tops(finished: &Finished<'_>) -> Markup {
    html! {
        @for (top, caption) in finished.tops.iter().zip(["client", "server", "name of file"]) {
            (table(
                &format!("RPCs by {caption}, those that took the most time first"),
                &top_columns(top, finished.diagrams),
                &top.lines(),
            ))
        }
        p.note {
            "Read and written: bytes of file data in results and in arguments. Time: latencies, and the waits of calls without a
            reply."
        }
    }
}

/// The columns of `top`, the keys first, and the time.
fn top_columns<'a>(report: &TopReport, diagrams: &'a Diagrams) -> [PageColumn<'a, TopLine<'a>>; 10] {
    let by = report.by;
    let [calls, unanswered, failed, read, written, median, p99, share, key] =
        top::columns(by, Screen::default()).map(PageColumn::from);
    let time = PageColumn::number("time", Unit::Time, |row: &TopLine<'a>| row.counts.time().into());
    let key = key.of_row_headings().linked(move |row| diagrams.find(|drawn| drawn.is_about(by, &row.key)));
    [key, calls, unanswered, failed, read, written, time, share, median, p99]
}

/// A row of the table of the slowest RPCs.
pub(super) fn slowest_row(out: &mut Vec<u8>, transaction: &Transaction, files: &Files) -> io::Result<()> {
    let line = SlowLine { transaction, times: ShownTimes::default(), file: None };
    io::Write::write_all(out, row(&slowest_columns(files), &line).into_string().as_bytes())
}

/// The columns of `slow`: the outcome after the RPC, and the phases as a drawing.
fn slowest_columns<'a>(files: &'a Files) -> [PageColumn<'a, SlowLine<'a>>; 7] {
    let [latency, phases, call, reply, _, xid, _, ends, called, _] =
        slow::columns(Screen::default(), ShownTimes::default()).map(PageColumn::from);
    let placed = move |half: &Option<Half>, content: Markup| {
        let place = half.as_ref().and_then(|half| files.place(half.stamp.frame));
        html! { (content) @if let Some(place) = place { " (" (place) ")" } }
    };
    [
        latency,
        called.with_content(|row, content| {
            html! { (content) @for (_, note) in ended(row.transaction) { " " em { (note) } } }
        }),
        ends,
        xid.with_content(|row, content| html! { a href={ "#" (diagrams::id(row.transaction)) } { (content) } }),
        call.with_content(move |row, content| placed(&row.transaction.call, content)),
        reply.with_content(move |row, content| placed(&row.transaction.reply, content)),
        phases.with_content(|row, _| drawn_phases(row.transaction)),
    ]
}

fn drawn_phases(transaction: &Transaction) -> Markup {
    let recovery = transaction.recovery.as_ref().map(|recovery| recovery.phases).unwrap_or_default();
    html! {
        @match &transaction.phases {
            Ok(phases) => (charts::phases(phases, &recovery)),
            Err(reason) => { "phases unknown: " (reason) },
        }
    }
}

fn slowest(finished: &Finished<'_>) -> Markup {
    let rows = PreEscaped(String::from_utf8_lossy(&finished.slowest));
    if rows.0.is_empty() {
        return html! { p { "No RPC has a known latency." } };
    }
    let files = Files::default();
    html! {
        (charts::phase_legend())
        (table_of("The slowest RPCs, and where their time went", &slowest_columns(&files), html! { (rows) }))
        h3 { "What their ends sent each other" }
        p.note {
            "A line is a packet, or several in a row that did the same: frames, milliseconds since the first packet of the RPC, "
            "and since the line before."
        }
        (finished.diagrams.of_answered())
    }
}

fn hung(finished: &Finished<'_>) -> Markup {
    let calls = &finished.pending;
    let repeated = html! { @if let Some(note) = &finished.pending_repeated { p.note { (note) "." } } };
    if calls.is_empty() {
        return html! { p { (no_pending(finished)) } (repeated) };
    }
    let lines: Vec<_> = calls.iter().take(ROWS).map(|call| PendingLine { call, end: finished.end }).collect();
    html! {
        (table("Calls without a reply, the oldest first", &hung_columns(finished.diagrams), &lines))
        (left_out(calls.len(), finished.pending_left_out, "calls"))
        (repeated)
        h3 { "What the ends sent each other for the oldest" }
        (finished.diagrams.of_unanswered())
    }
}

/// The columns of `pending`, and the lines below a call.
fn hung_columns<'a>(diagrams: &'a Diagrams) -> [PageColumn<'a, PendingLine<'a>>; 6] {
    let [age, frame, _, xid, called] = pending::columns().map(PageColumn::from);
    let diagram = |call: &PendingCall| diagrams.find(|drawn| drawn.is_rpc(call.connection, call.xid, call.call.frame));
    [
        age,
        called,
        PageColumn::new("from → to", |row: &PendingLine<'a>| {
            html! { (row.call.from) " → " (row.call.to) }
        }),
        xid.linked(move |row| diagram(row.call)),
        frame,
        PageColumn::new("who owes what", |row: &PendingLine<'a>| html! { (row.call.owed()) }),
    ]
}

fn rules(finished: &Finished<'_>) -> Markup {
    let findings = finished.findings.sorted();
    if findings.is_empty() {
        return html! { p { (no_finding(finished)) } };
    }
    html! {
        (table("Broken rules, by who broke them", &rule_columns(finished.diagrams), findings.iter().copied().take(ROWS)))
        (left_out(findings.len(), finished.findings.left_out, "findings"))
    }
}

/// Severity and rule as `check` has them, and the end that broke the rule.
fn rule_columns<'a>(diagrams: &'a Diagrams) -> [PageColumn<'a, PeerFinding>; 6] {
    let [_, _, _, severity, rule] =
        findings::text::columns().map(|column| PageColumn::of_part(column, |row: &PeerFinding| &row.first));
    let diagram = |Found { stamp, connection, xid, .. }: &Found| {
        xid.and_then(|xid| diagrams.find(|drawn| drawn.is_rpc(*connection, xid, stamp.frame)))
    };
    [
        severity.of_class(|row| row.first.severity.name()),
        rule.of_row_headings(),
        PageColumn::new("broken by", |row: &PeerFinding| {
            html! { (row.by) @if let Some(known) = row.accepted_deviation() { " (known of " (known) ")" } }
        }),
        PageColumn::number("times", Unit::Count, |row: &PeerFinding| row.count.into()),
        PageColumn::number("first frame", Unit::Frame, |row: &PeerFinding| row.first.stamp.frame.into())
            .linked(move |row| diagram(&row.first)),
        PageColumn::new("what it says", |row: &PeerFinding| explained(&row.first)),
    ]
}

/// The message of a finding, and the rule below.
fn explained(Found { rule, message, .. }: &Found) -> Markup {
    html! {
        details {
            summary { (message) " (" (rule.section) ")" }
            p { b { "Rule: " } (rule.summary) "." }
            p { b { "Why: " } (rule.reason) }
            p { b { "Correct: " } (rule.correct) }
        }
    }
}

fn connections(finished: &Finished<'_>) -> Markup {
    let statistics = &finished.statistics;
    if statistics.connections.is_empty() {
        return html! { p { "No connection carries RPC-over-RDMA." } };
    }
    let ends: Vec<_> = statistics.connections.iter().take(ROWS).flat_map(EndLine::both).collect();
    html! {
        (table("What each end of a connection sent", &end_columns(), &ends))
        p.note { "→ requested the connection. Missed: packets that it sent and the capture does not hold." }
        (left_out(statistics.connections.len(), statistics.connections_left_out, "connections"))
    }
}

/// The columns of `stats`, with time-outs and credits.
fn end_columns<'a>() -> [PageColumn<'a, EndLine<'a>>; 12] {
    let [_, _, packets, retransmitted, replaced, _, naks, not_ready, refused, missed, _] =
        columns::of_ends().map(PageColumn::from);
    [
        PageColumn::number("connection", Unit::Count, |row: &EndLine<'a>| u64::from(row.connection.connection).into()),
        PageColumn::new("end", |row: &EndLine<'a>| html! { (row.arrow()) " " (row.end.address) }),
        PageColumn::new("carrier", |row: &EndLine<'a>| html! { (row.connection.carrier) }),
        packets,
        retransmitted,
        replaced,
        PageColumn::number("time-outs", Unit::Count, |row: &EndLine<'a>| row.end.counts.timeouts.into()),
        naks,
        not_ready,
        refused,
        missed,
        PageColumn::new("credits granted", |row: &EndLine<'a>| html! { (granted(row)) }),
    ]
}

/// Credits of one direction.
fn granted(line: &EndLine<'_>) -> String {
    let ConnectionStatistics { credits, reverse_credits, .. } = line.connection;
    let (granted, direction) = match line.side {
        Side::Active => (credits.granted, ""),
        Side::Passive => (reverse_credits.granted, "reverse direction: "),
    };
    match (granted.min, granted.max) {
        (Some(min), Some(max)) if min == max => format!("{direction}{min}"),
        (Some(min), Some(max)) => format!("{direction}{min} to {max}"),
        _ => "–".to_owned(),
    }
}

fn capture(finished: &Finished<'_>) -> Markup {
    html! {
        @if finished.notes.is_empty() {
            p { "There is nothing else to say of the capture." }
        } @else {
            ul { @for note in finished.notes { li { (note) } } }
        }
    }
}

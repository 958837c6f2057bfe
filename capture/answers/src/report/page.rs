//! The page: summary and verdict first, then each question with a section.

use core::ops::RangeInclusive;
use std::io;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use rpcrdma_dissector::{Files, Found, Stamp, Transaction};

use super::findings::PeerFinding;
use super::ladders::{Drawn, Ladders};
use super::verdict::{no_finding, no_pending, sentences};
use super::{Finished, charts, ladders};
use crate::called::{called_within, ended};
use crate::diagnosis::{CauseExample, DiagnosedCause, Diagnosis};
use crate::format::date::utc;
use crate::format::number::{counted, duration, grouped, size};
use crate::pending::PendingCall;
use crate::stats::{ConnectionStatistics, EndReport, ProcedureStatistics, Range};
use crate::top::{TopCounts, TopReport};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Columns for what an RPC calls.
const CALLED: usize = 90;
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
                @if capture.frames > 0 { ", from " (utc(first)) }
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
        "responder-silent"
        | "responder-unreachable"
        | "requester-silent"
        | "requester-unreachable"
        | "wrong-checksum"
        | "reply-refused" => "hung",
        "small-sends" | "connection-refused" | "connection-unanswered" | "flapping" => "connections",
        "loss" | "receiver-not-ready" | "credits" => "timeline",
        "retried" | "distance" | "delegation-recall" | "responder-slow" | "requester-slow" | "slow-transfer"
        | "congestion" | "window" | "link-full" => "slowest",
        "errors" => "operations",
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
            ol.causes {
                @for cause in causes {
                    li {
                        b { (cause.title) } " (" (cause.weight()) "). "
                        @if let Some(text) = cause.falls_on() { (text) }
                        @for sentence in &cause.evidence { p { (sentence) } }
                        (shown_by(cause))
                        a href={ "#" (shown_in(cause.cause)) } { "Show it" }
                        @if let Some(drawn) = finished.ladders.of_cause(cause.cause) {
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
                    h3 { (mount.client) " → " (mount.server) }
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

/// A table with headings; a heading of numbers begins with `#`, and the script sorts by any column.
fn table(caption: &str, headings: &[&str], rows: Markup) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(caption) {
            table.sortable {
                caption { (caption) }
                thead { tr {
                    @for heading in headings {
                        @match heading.strip_prefix('#') {
                            Some(heading) => { th.number scope="col" { (heading) } }
                            None => { th scope="col" { (heading) } }
                        }
                    }
                } }
                tbody { (rows) }
            }
        }
    }
}

/// A text that leads to the ladder, if there is one.
fn linked(text: &str, ladder: Option<&Drawn>) -> Markup {
    html! {
        @match ladder {
            Some(drawn) => { a href={ "#" (drawn.id) } { (text) } }
            None => (text),
        }
    }
}

/// A number in a table: the script sorts by `value`.
fn number(value: u64, text: impl AsRef<str>) -> Markup {
    html! { td.number data-value=(value) { (text.as_ref()) } }
}

fn count(value: u64) -> Markup {
    number(value, grouped(value))
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
    let ladder = |name: &str| finished.ladders.find(|drawn| drawn.operation == name);
    let rows = html! {
        @for procedure in &procedures { (operation(procedure, &scale, all, ladder(&procedure.operation))) }
    };
    html! {
        (table(
            "RPCs by operation, those that took the most time first",
            &["operation", "#calls", "#failed", "#RDMA Read", "#RDMA Write", "#time", "#share", "#median", "#99 %", "#slowest",
                "spread"],
            rows,
        ))
        p.note {
            "Spread: from the least latency to the greatest on a scale of powers of ten, " (duration(*scale.start()))
            " to " (duration(*scale.end())) ", with the median and the 99th percentile."
        }
        (left_out(0, finished.statistics.procedures_left_out, "RPCs of other operations"))
        @if !finished.statistics.failures.is_empty() {
            (table("Failures", &["operation", "status", "#RPCs"], html! {
                @for failure in &finished.statistics.failures {
                    tr { td { (failure.operation) } td { (failure.status.name) } (count(failure.count)) }
                }
            }))
        }
    }
}

fn operation(procedure: &ProcedureStatistics, scale: &RangeInclusive<u64>, all: u64, ladder: Option<&Drawn>) -> Markup {
    let share = 100.0 * procedure.time() as f64 / all.max(1) as f64;
    let time = |nanoseconds: u64| number(nanoseconds, duration(nanoseconds));
    html! {
        tr {
            th scope="row" { (linked(&procedure.operation, ladder)) }
            (count(procedure.calls))
            (count(procedure.failed))
            (number(procedure.moved.read_octets, size(procedure.moved.read_octets as f64)))
            (number(procedure.moved.write_octets, size(procedure.moved.write_octets as f64)))
            (time(procedure.time()))
            (number(procedure.time(), format!("{share:.1} %")))
            @if let Some(latency) = &procedure.latency {
                @match latency.percentiles() {
                    Some([median, p99]) => { (time(median)) (time(p99)) }
                    None => { td.number { "–" } td.number { "–" } }
                }
                (time(latency.max_ns))
                td { (charts::spread(latency, scale)) }
            } @else {
                td colspan="4" { "not known" }
            }
        }
    }
}

/// RPCs by client, server and file.
fn tops(finished: &Finished<'_>) -> Markup {
    html! {
        @for (top, caption) in finished.tops.iter().zip(["client", "server", "name of file"]) {
            (table(
                &format!("RPCs by {caption}, those that took the most time first"),
                &[caption, "#calls", "#no reply", "#failed", "#read", "#written", "#time", "#share", "#median", "#99 %"],
                html! {
                    @for (key, counts) in &top.rows {
                        @let name = top.shown(key);
                        @let ladder = finished.ladders.find(|drawn| drawn.is_about(top.by, &name));
                        (top_row(top, linked(&name, ladder), counts))
                    }
                    @if top.others.keys > 0 {
                        @let name = format!("{} others", grouped(top.others.keys));
                        (top_row(top, linked(&name, None), &top.others.counts))
                    }
                },
            ))
        }
        p.note {
            "Read and written: octets of file data in results and in arguments. Time: latencies, and the waits of calls without a
            reply."
        }
    }
}

fn top_row(top: &TopReport, name: Markup, counts: &TopCounts) -> Markup {
    let share = 100.0 * top.share(counts);
    let [median, p99] = counts.shown_percentiles();
    let percentile = |latency: Option<u64>| match latency {
        Some(latency) => number(latency, duration(latency)),
        None => html! { td.number { "–" } },
    };
    html! {
        tr {
            th scope="row" { (name) }
            (count(counts.calls)) (count(counts.unanswered)) (count(counts.failed))
            (number(counts.octets_read, size(counts.octets_read as f64)))
            (number(counts.octets_written, size(counts.octets_written as f64)))
            (number(counts.time(), duration(counts.time())))
            (number(counts.time(), format!("{share:.1} %")))
            (percentile(median)) (percentile(p99))
        }
    }
}

/// A row of the table of the slowest RPCs.
pub(super) fn slowest_row(out: &mut Vec<u8>, transaction: &Transaction, files: &Files) -> io::Result<()> {
    let latency = transaction.latency().unwrap_or_default();
    let frame = |frame: u64| match files.place(frame) {
        Some(place) => format!("{} ({place})", grouped(frame)),
        None => grouped(frame),
    };
    let frames = [&transaction.call, &transaction.reply];
    let recovery = transaction.recovery.as_ref().map(|recovery| recovery.phases).unwrap_or_default();
    let row = html! {
        tr {
            (number(latency, duration(latency)))
            td {
                (called_within(CALLED, transaction))
                @for (_, note) in ended(transaction) { " " em { (note) } }
            }
            td { (transaction.from) " → " (transaction.to) }
            td { a href={ "#" (ladders::id(transaction)) } { (format!("{:#010x}", transaction.xid)) } }
            @for half in frames {
                td.number { @if let Some(half) = half { (frame(half.stamp.frame)) } @else { "–" } }
            }
            td {
                @match &transaction.phases {
                    Ok(phases) => (charts::phases(phases, &recovery)),
                    Err(reason) => { "phases unknown: " (reason) },
                }
            }
        }
    };
    io::Write::write_all(out, row.into_string().as_bytes())
}

fn slowest(finished: &Finished<'_>) -> Markup {
    let rows = PreEscaped(String::from_utf8_lossy(&finished.slowest));
    if rows.0.is_empty() {
        return html! { p { "No RPC has a known latency." } };
    }
    html! {
        (charts::phase_legend())
        (table(
            "The slowest RPCs, and where their time went",
            &["#latency", "RPC", "requester → responder", "rdma_xid", "#call in frame", "#reply in frame", "phases"],
            html! { (rows) },
        ))
        h3 { "What their ends sent each other" }
        p.note {
            "A line is a packet, or several in a row that did the same: frames, milliseconds since the first packet of the RPC, "
            "and since the line before."
        }
        (finished.ladders.of_answered())
    }
}

fn hung(finished: &Finished<'_>) -> Markup {
    let calls = &finished.pending;
    let repeated = html! { @if let Some(note) = &finished.pending_repeated { p.note { (note) "." } } };
    if calls.is_empty() {
        return html! { p { (no_pending(finished)) } (repeated) };
    }
    let row = |call: &PendingCall| {
        let ladder = finished.ladders.find(|drawn| drawn.is_rpc(call.connection, call.xid, call.call.frame));
        html! {
            tr {
                (number(call.least_age(finished.end), call.shown_age(finished.end, duration)))
                td { (call.called) }
                td { (call.from) " → " (call.to) }
                td { (linked(&format!("{:#010x}", call.xid), ladder)) }
                (count(call.call.frame))
                td { (call.owed()) }
            }
        }
    };
    html! {
        (table(
            "Calls without a reply, the oldest first",
            &["#age", "RPC", "requester → responder", "rdma_xid", "#frame", "who owes what"],
            html! { @for call in calls.iter().take(ROWS) { (row(call)) } },
        ))
        (left_out(calls.len(), finished.pending_left_out, "calls"))
        (repeated)
        h3 { "What the ends sent each other for the oldest" }
        (finished.ladders.of_unanswered())
    }
}

fn rules(finished: &Finished<'_>) -> Markup {
    let findings = finished.findings.sorted();
    if findings.is_empty() {
        return html! { p { (no_finding(finished)) } };
    }
    html! {
        (table(
            "Broken rules, by who broke them",
            &["severity", "rule", "broken by", "#times", "#first frame", "what it says"],
            html! { @for finding in findings.iter().take(ROWS) { (finding_row(finding, finished.ladders)) } },
        ))
        (left_out(findings.len(), finished.findings.left_out, "findings"))
    }
}

fn finding_row(finding: &PeerFinding, ladders: &Ladders) -> Markup {
    let Found { rule, severity, stamp: Stamp { frame, .. }, connection, xid, message, .. } = &finding.first;
    let ladder = xid.and_then(|xid| ladders.find(|drawn| drawn.is_rpc(*connection, xid, *frame)));
    html! {
        tr {
            td class=(severity.name()) { (severity.name()) }
            th scope="row" { (rule.slug) }
            td { (finding.by) @if let Some(known) = finding.known() { " (known of " (known) ")" } }
            (count(finding.count))
            td.number data-value=(frame) { (linked(&grouped(*frame), ladder)) }
            td {
                details {
                    summary { (message) " (" (rule.section) ")" }
                    p { b { "Rule: " } (rule.summary) "." }
                    p { b { "Why: " } (rule.reason) }
                    p { b { "Correct: " } (rule.correct) }
                }
            }
        }
    }
}

fn connections(finished: &Finished<'_>) -> Markup {
    let statistics = &finished.statistics;
    if statistics.connections.is_empty() {
        return html! { p { "No connection carries RPC-over-RDMA." } };
    }
    html! {
        (table(
            "What each end of a connection sent",
            &["#connection", "end", "carrier", "#packets", "#sent again", "#time-outs", "#NAKs", "#RNR NAKs", "#refused", "#missed",
                "credits granted"],
            html! {
                @for connection in statistics.connections.iter().take(ROWS) {
                    (end_row(connection, &connection.active, "→", &granted(connection.credits.granted, "")))
                    (end_row(connection, &connection.passive, "←", &granted(connection.reverse_credits.granted, "reverse direction: ")))
                }
            },
        ))
        p.note { "→ requested the connection. Missed: packets that it sent and the capture does not hold." }
        (left_out(statistics.connections.len(), statistics.connections_left_out, "connections"))
    }
}

/// Credits of one direction.
fn granted(granted: Range, direction: &str) -> String {
    match (granted.min, granted.max) {
        (Some(min), Some(max)) if min == max => format!("{direction}{min}"),
        (Some(min), Some(max)) => format!("{direction}{min} to {max}"),
        _ => "–".to_owned(),
    }
}

fn end_row(connection: &ConnectionStatistics, end: &EndReport, arrow: &str, granted: &str) -> Markup {
    html! {
        tr {
            (count(u64::from(connection.connection)))
            td { (arrow) " " (end.address) }
            td { (connection.carrier) }
            (count(end.counts.packets)) (count(end.counts.retransmitted + end.counts.replaced)) (count(end.counts.timeouts)) (count(end.counts.sequence_errors)) (count(end.counts.not_ready))
            (count(end.counts.failed)) (count(end.counts.missed))
            td { (granted) }
        }
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

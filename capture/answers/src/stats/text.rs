//! The numbers as tables.

use std::io;

use rpcrdma_dissector::{Counts, Time, TimeBase};

use super::columns::{self, EndLine};
use super::credits::credits_of;
use super::intervals::IntervalStatistics;
use super::record::{ChunkTotals, ConnectionStatistics, EndReport, Forms, InlineFits, NamedCount, Statistics};
use crate::format::column::{Align, Column};
use crate::format::line::{DIM, Line, NAME, PLAIN, wrapped};
use crate::format::number::{bytes, counted, duration, grouped, times};
use crate::format::screen::Screen;

/// Columns of a line about an interval.
const INTERVAL_WIDTH: usize = 120;

impl Statistics {
    /// Writes the numbers as tables.
    ///
    /// # Errors
    /// Any error from writing to `out`.
    pub fn write_text(&self, out: &mut impl io::Write, screen: Screen) -> io::Result<()> {
        let mut text = StatsText { out, screen };
        self.capture(&mut text)?;
        self.connections(&mut text)?;
        self.mounts(&mut text)?;
        if self.messages.total + self.rpcs.total == 0 {
            return Ok(());
        }
        self.messages(&mut text)?;
        self.chunks(&mut text)?;
        self.rpcs(&mut text)?;
        self.procedures(&mut text)?;
        self.failures(&mut text)
    }

    fn capture<W: io::Write>(&self, text: &mut StatsText<'_, W>) -> io::Result<()> {
        let capture = &self.capture;
        if let Some(options) = &self.selection {
            text.heading("Selection")?;
            text.line(&format!(
                "{options}: of it are messages, chunks and RPCs; frames and packets are those of the whole capture"
            ))?;
        }
        text.heading("Capture")?;
        let (frames, length) = (counted(capture.frames, "frame"), duration(capture.duration_ns));
        text.line(&format!("{frames}, {}, {length}", bytes(capture.octets)))?;
        if let Some(first) = capture.first_ns.map(Time) {
            let since = match capture.time_base {
                TimeBase::Utc => "1970-01-01 UTC",
                TimeBase::Boot => "the boot of the kernel",
            };
            text.line(&format!("from {first} (seconds since {since})"))?;
        }
        if let Some(trace) = capture.trace {
            let (events, unused) = (counted(trace.events, "event"), grouped(trace.unused_events));
            text.line(&format!("kernel trace: {events}, of which {unused} say nothing about RPCs"))?;
            text.some(trace.lost_events, "events lost by the ring buffers of the kernel")?;
            text.some(trace.rpcs_left_out, "RPCs left out: too many were in flight")?;
        } else if capture.packets > 0 || capture.segments == 0 {
            text.line(&format!("{} InfiniBand packets", grouped(capture.packets)))?;
        }
        text.some(capture.segments, "iWARP TCP segments")?;
        for (count, name) in [
            (capture.cut, "frames truncated by the capture"),
            (capture.unreadable, "InfiniBand packets with truncated headers"),
            (capture.verified, "packets whose checksums were verified"),
            (capture.bad_icrc, "packets with a wrong ICRC"),
            (capture.bad_vcrc, "packets with a wrong VCRC"),
            (capture.bad_crc, "FPDUs with a wrong CRC"),
        ] {
            text.some(count, name)?;
        }
        for service in &capture.other_services {
            text.line(&format!("{}: {}", counted(service.count, "InfiniBand packet"), service.name))?;
        }
        for other in &capture.others {
            text.line(&format!("{}: {}", counted(other.count, "frame"), other.name))?;
        }
        let steps = &capture.clock_steps;
        if let (Some(first), Some(longest)) = (steps.first_frame, steps.longest_frame) {
            let (times, length) = (counted(steps.count, "time"), duration(steps.longest_ns));
            let places = format!("first in frame {first}, most in frame {longest}");
            text.line(&format!("the clock steps back {times}, {places}: {length}; {REORDER}"))?;
        }
        if let Some(sorted) = sorted_frames(steps.sorted_frames) {
            text.line(&sorted)?;
        }
        let ends = || self.connections.iter().flat_map(|connection| [&connection.active, &connection.passive]);
        let copies: u64 = ends().map(|end| end.counts.duplicates).sum();
        if copies > 0 {
            text.line(&twice(copies, ends().map(|end| end.counts.packets).sum()))?;
        }
        let other = self.other;
        if other.connections > 0 {
            let what = if other.connections == 1 { "connection that shows" } else { "connections that show" };
            let packets = grouped(other.packets);
            text.line(&format!("{packets} packets on {} {what} no RPC-over-RDMA", other.connections))?;
        }
        for rejected in &self.rejected {
            let port = rejected.port.map(|port| format!(" to port {port}")).unwrap_or_default();
            let (requests, meaning) = (counted(rejected.count, "connection request"), rejected.meaning);
            let reason = rejected.reason.map(|reason| format!(" (reason {reason})")).unwrap_or_default();
            text.line(&format!("{requests}{port} rejected: {meaning}{reason}"))?;
        }
        text.some(self.rejected_left_out, "more connection requests rejected")?;
        for requests in &self.unanswered {
            let port = requests.port.map(|port| format!(" to port {port}")).unwrap_or_default();
            let count = counted(requests.count, "connection request");
            text.line(&format!("{count}{port}, sent {}, not answered", times(requests.sent)))?;
        }
        text.some(self.unanswered_left_out, "more connection requests not answered")
    }

    fn connections<W: io::Write>(&self, text: &mut StatsText<'_, W>) -> io::Result<()> {
        text.heading("Connections")?;
        if self.connections.is_empty() {
            text.line("none carries RPC-over-RDMA")?;
        }
        for connection in &self.connections {
            if connection.is_traced() {
                let (client, server) = (&connection.active.address, &connection.passive.address);
                text.line(&format!("{}: {client} → {server}, {}", connection.connection, connection.carrier))?;
                continue;
            }
            let port = connection.port.map(|port| format!(" port {port}")).unwrap_or_default();
            let begin = if connection.setup_captured { "setup captured" } else { "setup not captured" };
            let number = connection.connection;
            let messages = counted(connection.messages, "message");
            let (active, passive) = (&connection.active.address, &connection.passive.address);
            text.line(&format!("{number}: {active} → {passive}{port}, {}, {begin}, {messages}", connection.carrier))?;
            if let Some(inline) = connection.inline {
                text.line(&format!("   {inline}; remote invalidation {}", invalidation(connection)))?;
            }
            if let Some(end) = connection.missing_direction {
                let (missing, captured) = if end == "active" { (active, passive) } else { (passive, active) };
                text.line(&format!("   only packets of {captured} captured, none of {missing}"))?;
            }
            if let Some(end) = connection.late_clock {
                let late = if end == "active" { active } else { passive };
                text.line(&format!("   captured by two clocks: packets of {late} come after their acknowledgements"))?;
            }
            text.line(&format!("   credits {}", credits(connection)))?;
            for end in [&connection.active, &connection.passive] {
                recoveries(text, end)?;
                if end.counts.duplicates > 0 {
                    text.line(&format!(
                        "   sent by {}: {}",
                        end.address,
                        twice(end.counts.duplicates, end.counts.packets)
                    ))?;
                }
            }
            if let Some((requester, responder)) = connection.requester_median_ns.zip(connection.responder_median_ns) {
                let [requester, responder] = [requester, responder].map(duration);
                text.line(&format!(
                    "   captured at both ends: median latency {requester} at the client, {responder} at the server"
                ))?;
            }
            if let Some(place) = connection.captured_at {
                let between = if place == "between" { "" } else { "at the " };
                let inferred = connection.captured_at_source.filter(|known| *known == "inferred");
                let why = inferred.map(|_| format!(": {}", acknowledged(connection))).unwrap_or_default();
                text.line(&format!("   captured {between}{place}{why}"))?;
            }
            // Before the first reply there is only one credit, so some time is normal.
            let least = self.capture.duration_ns / 100;
            for end in [&connection.active, &connection.passive].into_iter().filter(|end| end.at_limit_ns > least) {
                let unknown = match end.at_limit_unknown_ns {
                    0 => String::new(),
                    unknown => format!(", and may have had none for {} more", duration(unknown)),
                };
                let known = duration(end.at_limit_ns);
                text.line(&format!("   {} had no credit left for {known}{unknown}", end.address))?;
            }
            if connection.unmatched_transfers > 0 {
                text.line(&format!(
                    "   {} RDMA operations on memory that no call advertised",
                    connection.unmatched_transfers
                ))?;
            }
        }
        text.some(self.connections_left_out, "more connections")?;
        let with_packets = self.connections.iter().filter(|connection| !connection.is_traced());
        let rows: Vec<EndLine<'_>> = with_packets.flat_map(EndLine::both).collect();
        text.rows(&columns::of_ends(), &rows)
    }

    fn mounts<W: io::Write>(&self, text: &mut StatsText<'_, W>) -> io::Result<()> {
        if self.mounts.is_empty() {
            return Ok(());
        }
        text.heading("Mounts")?;
        for mount in &self.mounts {
            text.line(&mount.ends())?;
            mount.lines().iter().try_for_each(|line| text.line(&format!("   {line}")))?;
        }
        Ok(())
    }

    fn messages<W: io::Write>(&self, text: &mut StatsText<'_, W>) -> io::Result<()> {
        let messages = &self.messages;
        text.heading("Messages")?;
        let by_type = messages.by_type.iter().map(|NamedCount { name, count }| (name.as_str(), *count));
        let others = [
            ("calls", messages.calls),
            ("replies", messages.replies),
            ("with Invalidate", messages.invalidating),
            ("discarded", messages.retransmitted),
            ("malformed", messages.malformed),
            ("incomplete", messages.incomplete),
            ("bytes", messages.octets),
        ];
        let counts = [("all", messages.total)].into_iter().chain(by_type).chain(others);
        text.table(&[], 1, counts.map(|(name, count)| row(name, [count])).collect())
    }

    fn chunks<W: io::Write>(&self, text: &mut StatsText<'_, W>) -> io::Result<()> {
        let chunks = &self.chunks;
        let line = |name, ChunkTotals { chunks, segments, octets }: ChunkTotals| row(name, [chunks, segments, octets]);
        text.heading("Chunks")?;
        let rows = vec![
            line("Read", chunks.reads),
            line("Read at Position Zero", chunks.position_zero),
            line("Write, provided", chunks.writes),
            line("Write, returned", chunks.writes_returned),
            line("Reply, provided", chunks.reply),
            line("Reply, returned", chunks.reply_returned),
        ];
        text.table(&["", "chunks", "segments", "bytes"], 1, rows)
    }

    fn rpcs<W: io::Write>(&self, text: &mut StatsText<'_, W>) -> io::Result<()> {
        let rpcs = &self.rpcs;
        let line =
            |name, Forms { short, chunked, long, continued }: Forms| row(name, [short, chunked, long, continued]);
        text.heading("RPCs")?;
        let rows = vec![line("calls", rpcs.calls_sent), line("replies", rpcs.replies_sent)];
        text.table(&["", "short", "chunked", "long", "continued"], 1, rows)?;
        let (read, write) = (bytes(rpcs.moved.read_octets), bytes(rpcs.moved.write_octets));
        text.line(&format!("{} RPCs; {read} moved by RDMA Read, {write} by RDMA Write", grouped(rpcs.total)))?;
        let InlineFits { rpcs: all, kib_4, kib_8, kib_16, kib_64, kib_128 } = rpcs.fit_inline;
        if all > 0 {
            let fits = [(kib_4, 4), (kib_8, 8), (kib_16, 16), (kib_64, 64), (kib_128, 128)];
            let fits = fits.map(|(count, kib)| format!("{} with {kib}", grouped(count))).join(", ");
            text.line(&format!("inline if Sends had so many KiB: {fits}; of {}", grouped(all)))?;
        }
        text.some(rpcs.reverse, "RPCs in the reverse direction")?;
        text.some(rpcs.without_reply, "calls without a reply in the capture")?;
        text.some(rpcs.without_call, "replies without their call in the capture")?;
        text.some(rpcs.calls_not_rebuilt, "calls not rebuilt")?;
        text.some(rpcs.replies_not_rebuilt, "replies not rebuilt")?;
        for reason in &rpcs.not_rebuilt {
            text.line(&format!("  {}: {}", reason.name, grouped(reason.count)))?;
        }
        Ok(())
    }

    fn procedures<W: io::Write>(&self, text: &mut StatsText<'_, W>) -> io::Result<()> {
        if self.procedures.is_empty() {
            return Ok(());
        }
        text.heading("Procedures: bytes moved by RDMA, latencies in milliseconds")?;
        text.rows(&columns::of_procedures(), &self.procedures)?;
        text.some(self.procedures_left_out, "RPCs of other procedures")
    }

    fn failures<W: io::Write>(&self, text: &mut StatsText<'_, W>) -> io::Result<()> {
        if self.failures.is_empty() {
            return Ok(());
        }
        text.heading("Failures")?;
        text.rows(&columns::of_failures(), &self.failures)?;
        text.some(self.failures_left_out, "more failures")
    }
}

/// Writes the causes of the retransmissions of an end.
fn recoveries<W: io::Write>(text: &mut StatsText<'_, W>, end: &EndReport) -> io::Result<()> {
    let (address, Counts { timeouts, implied_naks, causes_not_seen, .. }) = (&end.address, &end.counts);
    let unseen = format!("cause not seen, {}", counted(*causes_not_seen, "time"));
    for (count, times, why) in [
        (timeouts, counted(*timeouts, "time-out"), "got no acknowledgement"),
        (
            implied_naks,
            counted(*implied_naks, "implied NAK"),
            "retransmitted an RDMA Read request, because a response was missing",
        ),
        (causes_not_seen, unseen, "retransmitted packets, and the capture does not show why"),
    ] {
        if *count > 0 {
            text.line(&format!("   {times}: {address} {why}"))?;
        }
    }
    Ok(())
}

/// Returns true if the capture holds nearly every packet twice.
pub(crate) const fn is_doubled(copies: u64, packets: u64) -> bool {
    copies > 0 && copies.saturating_mul(4) >= packets.saturating_mul(3)
}

/// Sentence that the capture holds duplicates of packets.
#[must_use]
pub fn twice(copies: u64, packets: u64) -> String {
    let packets_text = counted(packets, "packet");
    if is_doubled(copies, packets) {
        let times = if copies > packets { "several times" } else { "twice" };
        return format!(
            "nearly every packet is in the capture {times}: {} duplicates of {packets_text}",
            grouped(copies)
        );
    }
    let are = if copies == 1 { "duplicate" } else { "duplicates" };
    format!("{} {are} of {packets_text}: made by the capture or the network", grouped(copies))
}

/// Sentence that frames in disorder were sorted, if there were any.
#[must_use]
pub fn sorted_frames(frames: u64) -> Option<String> {
    let were = if frames == 1 { "was" } else { "were" };
    (frames > 0).then(|| {
        format!(
            "{} {were} out of order and sorted by time: frames are numbered as after reordercap",
            counted(frames, "frame")
        )
    })
}

/// Sentence that the directions of connections were captured by two clocks.
#[must_use]
pub fn by_two_clocks(connections: u64) -> String {
    format!(
        "{} captured by two clocks: latencies, losses and retransmissions are not known",
        if connections == 1 {
            "1 connection was".to_owned()
        } else {
            format!("{} connections were", grouped(connections))
        }
    )
}

/// Advice for a file whose clock steps back.
pub const REORDER: &str = "if frames are out of order, sort them first: reordercap IN OUT";

/// Writes the headings of the columns of [`IntervalStatistics::write_text`].
///
/// # Errors
/// Any error from writing to `out`.
pub fn interval_heading(out: &mut impl io::Write, screen: Screen) -> io::Result<()> {
    let mut line = Line::new(screen.colour, INTERVAL_WIDTH);
    line.headings(&columns::of_intervals(screen));
    line.write(out)
}

impl IntervalStatistics {
    /// Writes the numbers as a line of at most 120 columns. A narrow screen shows fewer of them.
    ///
    /// # Errors
    /// Any error from writing to `out`.
    pub fn write_text(&self, out: &mut impl io::Write, screen: Screen) -> io::Result<()> {
        let mut line = Line::new(screen.colour, INTERVAL_WIDTH);
        line.cells(&columns::of_intervals(screen), self);
        line.write(out)
    }
}

/// Lines of text.
struct StatsText<'a, W> {
    out: &'a mut W,
    screen: Screen,
}

impl<W: io::Write> StatsText<'_, W> {
    fn heading(&mut self, name: &str) -> io::Result<()> {
        Line::new(self.screen.colour, usize::MAX).with(NAME, name).write(self.out)
    }

    /// A text, whose further lines on a narrow screen are indented by three columns more.
    fn line(&mut self, text: &str) -> io::Result<()> {
        let (begins, _) = text.split_at(text.len() - text.trim_start().len());
        let room = self.screen.within(usize::MAX).saturating_sub(5 + begins.len());
        for (index, part) in wrapped(text, room).into_iter().enumerate() {
            let mut line = Line::new(self.screen.colour, usize::MAX);
            line.push(PLAIN, "  ");
            line.push(PLAIN, begins);
            line.push(PLAIN, if index == 0 { "" } else { "   " });
            line.push(PLAIN, &part);
            line.write(self.out)?;
        }
        Ok(())
    }

    /// A line, if there is something to count.
    fn some(&mut self, count: u64, name: &str) -> io::Result<()> {
        if count == 0 { Ok(()) } else { self.line(&format!("{name}: {}", grouped(count))) }
    }

    /// A line for each row, below headings if there are any.
    fn rows<R>(&mut self, columns: &[Column<R>], rows: &[R]) -> io::Result<()> {
        let has_headings = columns.iter().any(|column| !column.heading.is_empty());
        let names: Vec<&str> = columns.iter().filter(|_| has_headings).map(|column| column.heading).collect();
        let words = columns.iter().filter(|column| column.align == Align::Left).count();
        let cell = |column: &Column<R>, row| {
            let mut text = String::new();
            column.push_cell(row, usize::MAX, &mut text);
            text
        };
        let cells = |row| columns.iter().map(|column| cell(column, row)).collect();
        self.table(&names, words, rows.iter().map(cells).collect())
    }

    /// Rows under names: the first `words` columns are aligned left, and the numbers after them right. A table that is
    /// wider than the screen is turned, so that the names are on the left.
    fn table(&mut self, names: &[&str], words: usize, rows: Vec<Vec<String>>) -> io::Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let widths = widths(rows.iter().chain([&names]));
        if !names.is_empty() && !self.screen.fits(widths.iter().map(|width| width + 2).sum()) {
            return self.turned(&names, &rows);
        }
        let heading = (!names.is_empty()).then_some((&names, DIM));
        for (row, style) in heading.into_iter().chain(rows.iter().map(|row| (row, PLAIN))) {
            let mut line = Line::new(self.screen.colour, usize::MAX);
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                line.push(PLAIN, "  ");
                if column >= words {
                    line.push(PLAIN, &" ".repeat(width.saturating_sub(cell.chars().count())));
                    line.push(style, cell);
                } else {
                    line.column(style, cell, *width);
                }
            }
            line.write(self.out)?;
        }
        Ok(())
    }

    /// A column for each row, as many side by side as there is room for.
    fn turned(&mut self, names: &[String], rows: &[Vec<String>]) -> io::Result<()> {
        let name_width = names.iter().map(|name| name.chars().count()).max().unwrap_or_default();
        let mut rest = rows;
        while !rest.is_empty() {
            let fits = |count: &usize| {
                let widths = rest.iter().take(*count).map(|row| widest(row));
                self.screen.fits(2 + name_width + widths.map(|width| width + 2).sum::<usize>())
            };
            let count = (2..=rest.len()).take_while(fits).last().unwrap_or(1);
            let (block, after) = rest.split_at(count);
            for (index, name) in names.iter().enumerate() {
                let mut line = Line::new(self.screen.colour, usize::MAX);
                line.push(PLAIN, "  ");
                line.column(DIM, name, name_width);
                for row in block {
                    let cell = row.get(index).map(String::as_str).unwrap_or_default();
                    line.push(PLAIN, &" ".repeat(2 + widest(row).saturating_sub(cell.chars().count())));
                    line.push(PLAIN, cell);
                }
                line.write(self.out)?;
            }
            rest = after;
        }
        Ok(())
    }
}

/// The width of each column of a table.
fn widths<'a>(rows: impl Iterator<Item = &'a Vec<String>>) -> Vec<usize> {
    let mut widths: Vec<usize> = Vec::new();
    for row in rows {
        widths.resize(widths.len().max(row.len()), 0);
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    widths
}

/// The width of the widest cell.
fn widest(row: &[String]) -> usize {
    row.iter().map(|cell| cell.chars().count()).max().unwrap_or_default()
}

fn row<const N: usize>(name: &str, numbers: [u64; N]) -> Vec<String> {
    [name.to_owned()].into_iter().chain(numbers.map(grouped)).collect()
}

fn invalidation(connection: &ConnectionStatistics) -> String {
    match (connection.active.remote_invalidation, connection.passive.remote_invalidation) {
        (Some(true), Some(true)) => "agreed".to_owned(),
        (Some(true), _) => format!("offered by {} only", connection.active.address),
        (_, Some(true)) => format!("offered by {} only", connection.passive.address),
        _ => "not offered".to_owned(),
    }
}

/// Returns the acknowledgement times of both ends.
fn acknowledged(connection: &ConnectionStatistics) -> String {
    let end = |end: &EndReport| {
        let median = end.acknowledgement_median_ns.map_or("-".to_owned(), duration);
        let least = end.acknowledgement_least_ns.map_or("-".to_owned(), duration);
        format!("{} acknowledged in {median}, never below {least}", end.address)
    };
    format!("{}, {}", end(&connection.active), end(&connection.passive))
}

fn credits(connection: &ConnectionStatistics) -> String {
    let ConnectionStatistics { active, passive, credits, reverse_credits, .. } = connection;
    let permits = |end: &EndReport| {
        end.permitted_messages.map(|messages| format!("{} permitted {}", end.address, counted(messages, "message")))
    };
    let permitted: Vec<_> = [active, passive].into_iter().filter_map(permits).collect();
    match permitted.is_empty() {
        true => credits_of(credits, reverse_credits),
        false => format!("in version 2: {}", permitted.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies() {
        assert_eq!(twice(1, 84), "1 duplicate of 84 packets: made by the capture or the network");
        assert_eq!(twice(84, 84), "nearly every packet is in the capture twice: 84 duplicates of 84 packets");
        assert_eq!(twice(168, 84), "nearly every packet is in the capture several times: 168 duplicates of 84 packets");
    }
}

//! Charts: SVG that fills the available width, with labels of constant size beside the drawing.

use core::ops::RangeInclusive;

use maud::{Markup, PreEscaped, html};
use rpcrdma_dissector::{Phase, Phases};

use super::series::{Interval, STEPS, TimeSeries, latency_of};
use crate::format::date::time_of_day;
use crate::format::number::{counted, duration, grouped, size};
use crate::stats::Latency;

/// Height of a line chart, in units of the chart.
const HEIGHT: f64 = 100.0;
/// The most labels of the time axis, but for one.
const TICKS: u64 = 5;
/// Part of the width at both edges of a chart. In this part, a label centred below a tick would be cut off on a narrow screen.
const EDGE: f64 = 0.12;
/// Nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;
/// Round lengths between two labels: units of so many milliseconds (a second, a minute, an hour, a day), and how many of each.
const ROUND: [(u64, &[u64]); 5] = [
    (1, &[1, 2, 5, 10, 20, 50, 100, 200, 500]),
    (1000, &[1, 2, 5, 10, 20, 30]),
    (60_000, &[1, 2, 5, 10, 20, 30]),
    (3_600_000, &[1, 2, 4, 6, 12]),
    (86_400_000, &[1, 7]),
];

/// A chart over time.
struct Chart {
    title: &'static str,
    /// Classes of the series, with their names.
    legend: &'static [(&'static str, &'static str)],
    /// Draws the chart, given the time of the first frame, or returns the reason why there is nothing to draw.
    draw: fn(&TimeSeries, u64) -> Result<Markup, &'static str>,
}

/// The charts of the time line.
const CHARTS: [Chart; 4] = [
    Chart { title: "Latency of the RPCs that ended", legend: &[], draw: heat_map },
    Chart { title: "Moved by RDMA", legend: &[("read", "RDMA Read"), ("write", "RDMA Write")], draw: throughput },
    Chart {
        title: "Calls in flight, on average",
        legend: &[("calls", "answered"), ("unanswered", "without a reply")],
        draw: in_flight,
    },
    Chart { title: "Packets retransmitted", legend: &[("again", "packets")], draw: sent_again },
];

/// All charts, one below the other on the same time.
pub(super) fn timeline(series: &TimeSeries, first: u64) -> Markup {
    html! {
        @if let Some(note) = later_begin(series, first) { p.note { (note) } }
        @for Chart { title, legend, draw } in &CHARTS {
            figure {
                @match draw(series, first) {
                    Ok(drawing) => {
                        figcaption {
                            (title) " "
                            span.legend { @for (class, name) in *legend { span { i class=(class) {} (name) } " " } }
                        }
                        (drawing)
                    }
                    Err(reason) => { figcaption { (title) } p.note { (reason) } }
                }
            }
        }
    }
}

/// A sentence about the time before the charts, if the capture began noticeably earlier.
fn later_begin(series: &TimeSeries, first: u64) -> Option<String> {
    let before = series.start().saturating_sub(first);
    let is_noticeable = !series.intervals.is_empty() && before > series.length();
    let clock = || with_milliseconds(series.start(), series.length() < SECOND);
    is_noticeable.then(|| {
        format!(
            "The charts begin at {} UTC, {} after the first frame: the frames before hold no message of RPC-over-RDMA.",
            clock(),
            duration(before)
        )
    })
}

/// Latency over time: a cell for each interval and step of latency in which RPCs ended, darker for more RPCs.
fn heat_map(series: &TimeSeries, first: u64) -> Result<Markup, &'static str> {
    let intervals = &series.intervals;
    let used = |step: &usize| intervals.iter().any(|interval| interval.latencies.get(*step).is_some_and(|n| *n > 0));
    let (Some(lowest), Some(highest)) = ((0..STEPS).find(used), (0..STEPS).rev().find(used)) else {
        return Err("No RPC has a known latency.");
    };
    let most = intervals.iter().flat_map(|interval| interval.latencies).max().unwrap_or(1);
    let rows = highest - lowest + 1;
    let label = format!(
        "Heat map of latency over time: RPCs took {} to {}.",
        duration(latency_of(lowest)),
        duration(latency_of(highest + 1))
    );
    let cells = html! {
        @for (column, interval) in intervals.iter().enumerate() {
            @for (step, count) in interval.latencies.iter().enumerate().filter(|(_, count)| **count > 0) {
                // The square root keeps small counts visible beside large ones.
                rect x=(column) y=(highest - step) width="1" height="1"
                    fill-opacity=(format!("{:.2}", 0.15 + 0.85 * (f64::from(*count) / f64::from(most)).sqrt())) {
                    title {
                        (at(series, column, first)) ": " (counted(u64::from(*count), "RPC")) ", "
                        (duration(latency_of(step))) " to " (duration(latency_of(step + 1)))
                    }
                }
            }
        }
    };
    // Every third step is a power of ten. Without two of them, the edges are labelled.
    let powers: Vec<usize> = (lowest..=highest + 1).filter(|step| step % 3 == 0).collect();
    let labels = if powers.len() < 2 { vec![lowest, highest + 1] } else { powers }.into_iter();
    let labels = labels.map(|step| ((highest + 1 - step) as f64 / rows as f64, duration(latency_of(step))));
    Ok(html! {
        p.legend {
            "RPCs in a cell: "
            span { i.heat.faint[most > 1] {} "1" } " "
            @if most > 1 { span { i.heat {} (grouped(u64::from(most))) } }
        }
        (plot(&label, PlotSize { width: intervals.len() as f64, height: rows as f64 }, labels, &cells, series))
    })
}

/// Octets per second over time, moved by RDMA Reads and, stacked above, by RDMA Writes.
fn throughput(series: &TimeSeries, first: u64) -> Result<Markup, &'static str> {
    let rate = |octets: u64| octets as f64 * 1e9 / series.length() as f64;
    let reads = |interval: &Interval| rate(interval.read_octets);
    let both = |interval: &Interval| rate(interval.read_octets + interval.write_octets);
    let most = series.intervals.iter().map(both).fold(0.0, f64::max);
    if most == 0.0 {
        return Err("No RDMA Read or RDMA Write for an RPC was captured.");
    }
    let scale = |value: f64| HEIGHT * (1.0 - value / most);
    let areas = html! {
        path class="write" d=(area(series, |interval| scale(both(interval)))) {}
        path class="read" d=(area(series, |interval| scale(reads(interval)))) {}
        (tooltips(series, first, |interval| format!(
            "RDMA Read {}/s, RDMA Write {}/s", size(reads(interval)), size(rate(interval.write_octets))
        )))
    };
    let label = format!("Octets that RDMA moved per second over time, at most {} per second.", size(most));
    let labels = [(0.0, most), (0.5, most / 2.0)].map(|(place, rate)| (place, format!("{}/s", size(rate))));
    let labels = labels.into_iter().chain([(1.0, "0".to_owned())]);
    Ok(plot(&label, PlotSize { width: series.intervals.len() as f64, height: HEIGHT }, labels, &areas, series))
}

/// Packets that were retransmitted over time.
fn sent_again(series: &TimeSeries, first: u64) -> Result<Markup, &'static str> {
    let most = series.intervals.iter().map(|interval| interval.sent_again).max().unwrap_or_default();
    if most == 0 {
        return Err("Nothing captured shows that a packet was retransmitted.");
    }
    let scale = |interval: &Interval| HEIGHT * (1.0 - interval.sent_again as f64 / most as f64);
    let areas = html! {
        path class="again" d=(area(series, scale)) {}
        (tooltips(series, first, |interval| format!("{} packets retransmitted", grouped(interval.sent_again))))
    };
    let label = format!("Packets retransmitted over time, {} at most in an interval.", grouped(most));
    let labels = [(0.0, grouped(most)), (1.0, "0".to_owned())];
    Ok(plot(
        &label,
        PlotSize { width: series.intervals.len() as f64, height: HEIGHT },
        labels.into_iter(),
        &areas,
        series,
    ))
}

/// Calls that wait for a reply over time, with the calls that get none on top, and the grant if there is room.
fn in_flight(series: &TimeSeries, first: u64) -> Result<Markup, &'static str> {
    let answered = |interval: &Interval| series.in_flight(interval);
    let unanswered = |interval: &Interval| series.unanswered_in_flight(interval);
    let calls = |interval: &Interval| answered(interval) + unanswered(interval);
    let busiest = series.intervals.iter().map(calls).fold(0.0, f64::max);
    // None of a capture without replies, nor of one in version 2.
    let granted = series.intervals.iter().filter_map(|interval| interval.granted).max();
    if busiest == 0.0 {
        return Err("No call has a known duration.");
    }
    // A grant that is many times larger would leave no room for the calls.
    let drawn = granted.map(f64::from).filter(|granted| *granted <= 4.0 * busiest);
    let most = drawn.map_or(busiest, |granted| granted.max(busiest));
    let scale = |value: f64| HEIGHT * (1.0 - value / most);
    let areas = html! {
        path class="unanswered" d=(area(series, |interval| scale(calls(interval)))) {}
        path class="calls" d=(area(series, |interval| scale(answered(interval)))) {}
        @if let Some(granted) = drawn {
            path class="grant" d=(format!("M0 {0:.1}H{1}", scale(granted), series.intervals.len())) {}
        }
        (tooltips(series, first, |interval| {
            let granted = interval.granted.map(|granted| format!(", {granted} credits granted")).unwrap_or_default();
            let unanswered = match unanswered(interval) {
                0.0 => String::new(),
                unanswered => format!(", {unanswered:.2} without a reply"),
            };
            format!("{:.2} calls in flight{unanswered}{granted}", calls(interval))
        }))
    };
    let credits = granted.map(|granted| format!("; at most {granted} credits granted")).unwrap_or_default();
    let label = format!("Calls in flight over time, {busiest:.2} at most{credits}.");
    let decimals = if most < 1.0 { 2 } else { 1 };
    let labels = [(0.0, most), (0.5, most / 2.0)].map(|(place, calls)| (place, format!("{calls:.decimals$}")));
    let labels = labels.into_iter().chain([(1.0, "0".to_owned())]);
    Ok(html! {
        (plot(&label, PlotSize { width: series.intervals.len() as f64, height: HEIGHT }, labels, &areas, series))
        @if let Some(granted) = granted {
            p.note {
                "At most " (grouped(u64::from(granted))) " credits were granted on a connection"
                @if drawn.is_some() { " (" i.grant {} "the line)." } @else {
                    ". The chart, which ends at " (format!("{most:.decimals$}")) " calls, has no line for them: each interval says its "
                    "credits under the pointer, and rpcrdma stats those of each connection."
                }
            }
        }
    })
}

/// Least, median, 99th percentile and greatest latency on a scale of powers of ten that a table has in common.
pub(super) fn spread(latency: &Latency, scale: &RangeInclusive<u64>) -> Markup {
    let (least, most) = (*scale.start(), *scale.end());
    let log = |value: u64| (value.max(1) as f64).log10();
    let width = (log(most) - log(least)).max(0.01);
    let at = |value: u64| format!("{:.1}", 2.0 + 96.0 * (log(value) - log(least)) / width);
    html! {
        svg.spread viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" {
            path d={ "M" (at(latency.min_ns)) " 5H" (at(latency.max_ns)) } {}
            path.median d={ "M" (at(latency.p50_ns)) " 1V9" } {}
            path.p99 d={ "M" (at(latency.p99_ns)) " 2V8" } {}
        }
    }
}

/// The class, and the name, of time that was spent on lost packets.
const RECOVERY: &str = "recovery";

/// The phases of an RPC as a bar: a part for each phase, and a part for the recovery in each phase.
pub(super) fn phase_bar(phases: &Phases, recovery: &Phases) -> Markup {
    let share = |time: u64| 100.0 * time as f64 / phases.total().max(1) as f64;
    let words = phase_words(phases, recovery);
    let parts = used(phases).flat_map(|phase| {
        let lost = recovery.phase_time(phase).min(phases.phase_time(phase));
        [(class(phase), phases.phase_time(phase) - lost), (RECOVERY, lost)]
    });
    let parts = parts.filter(|(_, time)| *time > 0).scan(0, |before, (class, time)| {
        let begin = *before;
        *before += time;
        Some((class, share(begin), share(time)))
    });
    html! {
        svg.phases viewBox="0 0 100 1" preserveAspectRatio="none" role="img" aria-label=(words) {
            title { (words) }
            @for (class, begin, width) in parts {
                rect class=(class) x=(format!("{begin:.2}")) width=(format!("{width:.2}")) height="1" {}
            }
        }
    }
}

/// The phase bar, with the times in words.
pub(super) fn phases(phases: &Phases, recovery: &Phases) -> Markup {
    html! { (phase_bar(phases, recovery)) span.words { (phase_words(phases, recovery)) } }
}

/// The class of a phase in the style sheet.
const fn class(phase: Phase) -> &'static str {
    match phase {
        Phase::Call => "call",
        Phase::Responder => "server",
        Phase::RdmaRead => "rdma-read",
        Phase::RdmaWrite => "rdma-write",
        Phase::Reply => "reply",
        Phase::Requester => "client",
    }
}

fn used(phases: &Phases) -> impl Iterator<Item = Phase> {
    Phase::ALL.into_iter().filter(|phase| phases.phase_time(*phase) > 0)
}

fn phase_words(phases: &Phases, recovery: &Phases) -> String {
    let words = used(phases).map(|phase| {
        let lost = match recovery.phase_time(phase) {
            0 => String::new(),
            lost => format!(" ({} of it {RECOVERY})", duration(lost)),
        };
        format!("{} {}{lost}", phase.title(), duration(phases.phase_time(phase)))
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Returns the legend of the colours of [`phases`], with a few words about each.
pub(super) fn phase_legend() -> Markup {
    let phases = Phase::ALL.into_iter().map(|phase| (class(phase), phase.title(), phase.meaning()));
    let recovery = (RECOVERY, RECOVERY, "part of a phase in which lost packets were waited for and retransmitted");
    html! {
        ul.legend.phase-legend {
            @for (class, name, meaning) in phases.chain([recovery]) { li { i class=(class) {} b { (name) } " " (meaning) } }
        }
    }
}

/// An area below a line that is level in each interval.
fn area(series: &TimeSeries, height: impl Fn(&Interval) -> f64) -> String {
    let mut path = format!("M0 {HEIGHT}");
    for (column, interval) in series.intervals.iter().enumerate() {
        path.push_str(&format!("V{:.1}H{}", height(interval), column + 1));
    }
    path.push_str(&format!("V{HEIGHT}Z"));
    path
}

/// A transparent column for each interval that says what the chart shows there.
fn tooltips(series: &TimeSeries, first: u64, text: impl Fn(&Interval) -> String) -> Markup {
    html! {
        g.tooltips {
            @for (column, interval) in series.intervals.iter().enumerate() {
                rect x=(column) y="0" width="1" height=(HEIGHT) {
                    title { (at(series, column, first)) ": " (text(interval)) }
                }
            }
        }
    }
}

/// The time of an interval in words: the time of day of the beginning, and seconds from the first frame.
fn at(series: &TimeSeries, column: usize, first: u64) -> String {
    let seconds = |column: usize| seconds(series, column as u64, first);
    let begin = series.start() + column as u64 * series.length();
    let clock = with_milliseconds(begin, series.length() < SECOND);
    format!("{clock} UTC ({} to {})", seconds(column), seconds(column + 1))
}

/// The time of day, to the second or the millisecond.
fn with_milliseconds(time: u64, has_milliseconds: bool) -> String {
    let fraction = if has_milliseconds { format!(".{:03}", time % SECOND / 1_000_000) } else { String::new() };
    time_of_day(time).replace(" UTC", &fraction)
}

/// Seconds from the first frame to the beginning of an interval.
fn seconds(series: &TimeSeries, column: u64, first: u64) -> String {
    let time = series.start().saturating_sub(first).saturating_add(column.saturating_mul(series.length()));
    let decimals = if series.length() >= SECOND { 0 } else { 3 };
    format!("{:.decimals$} s", time as f64 / 1e9)
}

/// Size of a drawing, in units of the drawing.
#[derive(Clone, Copy)]
struct PlotSize {
    width: f64,
    height: f64,
}

/// A chart: labels on the left, each at a part of the height; the time of day below. Places are attributes of SVG and no
/// styles, which a page may forbid.
fn plot(
    label: &str,
    PlotSize { width, height }: PlotSize,
    labels: impl Iterator<Item = (f64, String)>,
    content: &Markup,
    series: &TimeSeries,
) -> Markup {
    html! {
        div.chart {
            svg.labels aria-hidden="true" {
                @for (place, text) in labels {
                    text x="100%" y=(percent(place)) { (text) }
                }
            }
            div.scroll {
                div.plot {
                    svg.drawing viewBox={ "0 0 " (width) " " (height) } preserveAspectRatio="none" role="img" aria-label=(label) {
                        (PreEscaped(content.0.as_str()))
                    }
                    svg.times aria-hidden="true" {
                        @for (place, text) in ticks(series) {
                            line x1=(percent(place)) x2=(percent(place)) y2="4" {}
                            text.begin[place < EDGE].end[place > 1.0 - EDGE] x=(percent(place)) y="100%" { (text) }
                        }
                    }
                }
            }
        }
    }
}

fn percent(part: f64) -> String {
    format!("{:.2}%", part * 100.0)
}

/// Round times of day on the axis, in UTC, each with a position as a part of the width.
fn ticks(series: &TimeSeries) -> Vec<(f64, String)> {
    let (start, width) = (series.start(), series.width());
    let mut round = ROUND.iter().flat_map(|(unit, counts)| counts.iter().map(move |count| count * unit * 1_000_000));
    let Some(step) = round.find(|step| width / step <= TICKS) else { return Vec::new() };
    let first = start.div_ceil(step) * step;
    (0..=TICKS)
        .map(|tick| first + tick * step)
        .take_while(|time| *time <= start + width)
        .map(|time| ((time - start) as f64 / width.max(1) as f64, with_milliseconds(time, step < SECOND)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::series::AnsweredRpc;
    use super::*;

    /// RPCs of these latencies, answered one after the other; the first call is at 10 s.
    fn in_turn(latencies: &[u64]) -> TimeSeries {
        let mut series = TimeSeries::default();
        let mut time = 10 * SECOND;
        series.unanswered(time, time);
        for latency in latencies {
            time += latency;
            series.answered(&AnsweredRpc { reply: time, latency: Some(*latency), read_octets: 0, write_octets: 0 });
        }
        series
    }

    #[test]
    fn the_latency_axis_has_two_labels_or_more() {
        for latency in [1, 150, 2_500_000, 1_000_000, 999_999, 4_000_000_000, 200 * SECOND] {
            let chart = heat_map(&in_turn(&[latency]), 0).unwrap().into_string();
            let labels = chart.split("<svg class=\"labels\"").nth(1).unwrap().split("</svg>").next().unwrap();
            assert!(labels.matches("<text ").count() >= 2, "{latency}: {labels}");
        }
        let chart = heat_map(&in_turn(&[1_000, 200_000_000]), 0).unwrap().into_string();
        assert!(chart.contains(">1.00 µs</text>") && chart.contains(">100 ms</text>"), "{chart}");
    }

    #[test]
    fn charts_that_begin_after_the_capture_say_so() {
        let said = |first| timeline(&in_turn(&[SECOND]), first).into_string();
        let note = "The charts begin at 00:00:10.000 UTC, 6.00 s after the first frame";
        assert!(said(4 * SECOND).contains(note), "{}", said(4 * SECOND));
        assert!(!said(10 * SECOND).contains("The charts begin"));
    }

    #[test]
    fn credits_that_the_chart_has_no_line_for_are_elsewhere() {
        let mut series = in_turn(&[SECOND]);
        series.grant(10 * SECOND, 128);
        let chart = in_flight(&series, 0).unwrap().into_string();
        assert!(
            chart.contains("At most 128 credits were granted on a connection. The chart, which ends at 1.0 calls,"),
            "{chart}"
        );
        assert!(chart.contains(", 128 credits granted</title>"));
        let mut series = in_turn(&[SECOND]);
        series.grant(10 * SECOND, 2);
        assert!(in_flight(&series, 0).unwrap().into_string().contains("the line)."));
    }

    /// No reply grants credits: the capture lacks the replies, or is of version 2.
    #[test]
    fn without_a_grant_nothing_is_said_of_credits() {
        let chart = in_flight(&in_turn(&[SECOND]), 0).unwrap().into_string();
        assert!(!chart.contains("credit") && !chart.contains("grant"), "{chart}");
    }

    const MILLISECOND: u64 = 1_000_000;
    /// Ten o'clock.
    const START: u64 = 36_000 * SECOND;

    fn answered(series: &mut TimeSeries, reply: u64, latency: u64, (read_octets, write_octets): (u64, u64)) {
        series.answered(&AnsweredRpc { reply: START + reply, latency: Some(latency), read_octets, write_octets });
    }

    /// Four intervals of a millisecond. A call without a reply waits in the first one and half of the second, and an RPC for all of
    /// the first; 25 RPCs wait for a quarter of the third.
    fn four_intervals(credits: u32) -> TimeSeries {
        let mut series = TimeSeries::default();
        series.unanswered(START, START + 1_500_000);
        answered(&mut series, MILLISECOND, MILLISECOND, (3000, 1000));
        (0..25).for_each(|_| answered(&mut series, 2_250_000, 250_000, (0, 80)));
        series.grant(START + 1_200_000, credits);
        [1_100_000, 1_200_000, 1_900_000].into_iter().for_each(|time| series.sent_again(START + time));
        (0..6).for_each(|_| series.sent_again(START + 3_999_999));
        series.end_at(START + 3_999_999);
        series
    }

    /// Returns the text after each `begin`, up to `end`.
    fn texts_between<'a>(html: &'a str, begin: &str, end: char) -> Vec<&'a str> {
        html.split(begin).skip(1).map(|rest| rest.split(end).next().unwrap()).collect()
    }

    #[test]
    fn charts_are_as_high_as_their_values() {
        let drawn = super::super::timeline(&four_intervals(10), START - SECOND / 2);
        assert_eq!(
            texts_between(&drawn, " d=\"", '"'),
            [
                // Of 4 MB/s: 3 and 1 in the second interval, 0 and 2 in the third.
                "M0 100V100.0H1V0.0H2V50.0H3V100.0H4V100Z",
                "M0 100V100.0H1V25.0H2V100.0H3V100.0H4V100Z",
                // Of 10 calls: 1 and 1, 0 and 0.5, 6.25 and 0; and the grant.
                "M0 100V80.0H1V95.0H2V37.5H3V100.0H4V100Z",
                "M0 100V90.0H1V100.0H2V37.5H3V100.0H4V100Z",
                "M0 0.0H4",
                // Of 6 packets: 3 in the second interval, 6 in the last.
                "M0 100V100.0H1V50.0H2V100.0H3V0.0H4V100Z",
            ]
        );
        // The scale ends above 1 ms and below 250 µs. The square root of 1 in 25 is a fifth.
        assert!(drawn.contains(r#"viewBox="0 0 4 3""#) && drawn.contains(r#"viewBox="0 0 4 100""#), "{drawn}");
        assert_eq!(
            texts_between(&drawn, "<rect x=\"", '>')[..2],
            [
                r#"1" y="0" width="1" height="1" fill-opacity="0.32""#,
                r#"2" y="2" width="1" height="1" fill-opacity="1.00""#,
            ]
        );
    }

    #[test]
    fn charts_say_their_values_in_words() {
        let drawn = super::super::timeline(&four_intervals(10), START - SECOND / 2);
        assert_eq!(
            texts_between(&drawn, "aria-label=\"", '"'),
            [
                "Heat map of latency over time: RPCs took 215 µs to 2.15 ms.",
                "Octets that RDMA moved per second over time, at most 4.00 MB per second.",
                "Calls in flight over time, 6.25 at most; at most 10 credits granted.",
                "Packets retransmitted over time, 6 at most in an interval.",
            ]
        );
        let intervals = [
            "10:00:00.000 UTC (0.500 s to 0.501 s): ",
            "10:00:00.001 UTC (0.501 s to 0.502 s): ",
            "10:00:00.002 UTC (0.502 s to 0.503 s): ",
            "10:00:00.003 UTC (0.503 s to 0.504 s): ",
        ];
        let cells = [(1, "1 RPC, 1.00 ms to 2.15 ms"), (2, "25 RPCs, 215 µs to 464 µs")];
        let charts = [
            "RDMA Read 0 B/s, RDMA Write 0 B/s",
            "RDMA Read 3.00 MB/s, RDMA Write 1.00 MB/s",
            "RDMA Read 0 B/s, RDMA Write 2.00 MB/s",
            "RDMA Read 0 B/s, RDMA Write 0 B/s",
            "2.00 calls in flight, 1.00 without a reply",
            "0.50 calls in flight, 0.50 without a reply, 10 credits granted",
            "6.25 calls in flight",
            "0.00 calls in flight",
            "0 packets retransmitted",
            "3 packets retransmitted",
            "0 packets retransmitted",
            "6 packets retransmitted",
        ];
        let columns = charts.iter().enumerate().map(|(place, text)| (place % 4, *text));
        let expected: Vec<String> =
            cells.into_iter().chain(columns).map(|(column, text)| format!("{}{text}", intervals[column])).collect();
        assert_eq!(texts_between(&drawn, "<title>", '<'), expected);
        assert_eq!(
            texts_between(&drawn, "<text x=\"100%\" y=\"", '<'),
            [
                "100.00%\">215 µs",
                "0.00%\">2.15 ms",
                "0.00%\">4.00 MB/s",
                "50.00%\">2.00 MB/s",
                "100.00%\">0",
                "0.00%\">10.0",
                "50.00%\">5.0",
                "100.00%\">0",
                "0.00%\">6",
                "100.00%\">0",
            ]
        );
        assert!(drawn.contains(r#"<i class="heat faint"></i>1</span> <span><i class="heat"></i>25</span>"#), "{drawn}");
    }

    /// Up to four times as many as wait: 25 to 6.25.
    #[test]
    fn a_grant_far_above_the_calls_is_not_drawn() {
        for (credits, line, note) in [
            (25, true, "At most 25 credits were granted on a connection (<i class=\"grant\"></i>the line)."),
            (
                26,
                false,
                "At most 26 credits were granted on a connection. The chart, which ends at 6.2 calls, has no line",
            ),
        ] {
            let drawn = in_flight(&four_intervals(credits), START).unwrap().0;
            assert_eq!((drawn.contains("class=\"grant\" d="), drawn.contains(note)), (line, true), "{drawn}");
        }
        // Fewer than one call on average has two decimals.
        for (until, label) in [(500_000, "0.50"), (MILLISECOND, "1.0")] {
            let mut series = TimeSeries::default();
            series.unanswered(START, START + until);
            assert_eq!(texts_between(&in_flight(&series, START).unwrap().0, "y=\"0.00%\">", '<'), [label]);
        }
        // One RPC in the darkest cell needs no second colour.
        let mut series = TimeSeries::default();
        answered(&mut series, 0, 10_000, (0, 0));
        let legend = "RPCs in a cell: <span><i class=\"heat\"></i>1</span> </p>";
        assert!(heat_map(&series, START).unwrap().0.contains(legend));
    }

    /// Four steps, from 46.4 µs to 1 ms.
    #[test]
    fn powers_of_ten_are_labelled_where_they_are() {
        let mut series = TimeSeries::default();
        answered(&mut series, MILLISECOND, 90_000, (0, 0));
        answered(&mut series, MILLISECOND, 900_000, (0, 0));
        let drawn = heat_map(&series, START).unwrap().0;
        assert_eq!(texts_between(&drawn, "<text x=\"100%\" y=\"", '<'), ["75.00%\">100 µs", "0.00%\">1.00 ms"]);
    }

    #[test]
    fn a_chart_without_values_says_so() {
        let mut empty = TimeSeries::default();
        empty.unanswered(START, START);
        let drawn = super::super::timeline(&empty, START);
        assert_eq!(
            texts_between(&drawn, "<p class=\"note\">", '<'),
            [
                "No RPC has a known latency.",
                "No RDMA Read or RDMA Write for an RPC was captured.",
                "No call has a known duration.",
                "Nothing captured shows that a packet was retransmitted.",
            ]
        );
    }

    /// At most six labels, at round times of day.
    #[test]
    fn the_axis_has_round_times() {
        for (start, end, expected) in [
            (0, 3, "10:00:00.000 0.00, 10:00:00.001 0.25, 10:00:00.002 0.50, 10:00:00.003 0.75, 10:00:00.004 1.00"),
            (7, 36, "10:00:00.010 0.10, 10:00:00.020 0.43, 10:00:00.030 0.77"),
            (
                0,
                99,
                "10:00:00.000 0.00, 10:00:00.020 0.20, 10:00:00.040 0.40, 10:00:00.060 0.60, 10:00:00.080 0.80, \
                 10:00:00.100 1.00",
            ),
            (0, 119, "10:00:00.000 0.00, 10:00:00.050 0.42, 10:00:00.100 0.83"),
            // Intervals of 32 ms: 157 of them.
            (500, 5500, "10:00:01 0.10, 10:00:02 0.30, 10:00:03 0.50, 10:00:04 0.70, 10:00:05 0.90"),
            (0, 86_400_000 * 50, ""),
        ] {
            let mut series = TimeSeries::default();
            let [start, end] = [start, end].map(|milliseconds| START + milliseconds * MILLISECOND);
            series.unanswered(start, start);
            series.end_at(end);
            let found: Vec<_> = ticks(&series).into_iter().map(|(place, text)| format!("{text} {place:.2}")).collect();
            assert_eq!(found.join(", "), expected, "{start} {end}");
        }
    }

    /// From a microsecond to 10 ms, four powers of ten are 96 units.
    #[test]
    fn latencies_are_spread_over_powers_of_ten() {
        let latency = Latency { count: 9, min_ns: 1000, p50_ns: 10_000, p99_ns: 100_000, max_ns: 1_000_000 };
        let drawn = spread(&latency, &(1000..=10_000_000)).0;
        assert_eq!(texts_between(&drawn, " d=\"", '"'), ["M2.0 5H74.0", "M26.0 1V9", "M50.0 2V8"]);
        let one = Latency { count: 2, min_ns: 0, p50_ns: 0, p99_ns: 0, max_ns: 1 };
        assert_eq!(texts_between(&spread(&one, &(0..=1)).0, " d=\"", '"'), ["M2.0 5H2.0", "M2.0 1V9", "M2.0 2V8"]);
    }

    /// Recovery is a part of the bar, and of the words of the phase.
    #[test]
    fn a_phase_is_as_wide_as_its_share() {
        let call = Phases { call: 100, responder: 500, reply: 400, ..Phases::default() };
        let push = Phases { responder: 10_000, rdma_write: 90_000, ..Phases::default() };
        let lost = Phases { rdma_write: 80_000, ..Phases::default() };
        for (phases, recovery, parts, words) in [
            (
                call,
                Phases::default(),
                "call 0.00 10.00, server 10.00 50.00, reply 60.00 40.00",
                "call 100 ns, server 500 ns, reply 400 ns",
            ),
            (
                push,
                Phases::default(),
                "server 0.00 10.00, rdma-write 10.00 90.00",
                "server 10.0 µs, RDMA Write 90.0 µs",
            ),
            (
                push,
                lost,
                "server 0.00 10.00, rdma-write 10.00 10.00, recovery 20.00 80.00",
                "server 10.0 µs, RDMA Write 90.0 µs (80.0 µs of it recovery)",
            ),
        ] {
            let drawn = super::phases(&phases, &recovery).0;
            let parts: Vec<_> = parts.split(", ").map(|part| part.split(' ').collect::<Vec<_>>()).collect();
            let parts = parts
                .iter()
                .map(|part| format!("class=\"{}\" x=\"{}\" width=\"{}\" height=\"1\"", part[0], part[1], part[2]));
            assert_eq!(texts_between(&drawn, "<rect ", '>'), parts.collect::<Vec<_>>());
            assert_eq!(
                [texts_between(&drawn, "<title>", '<'), texts_between(&drawn, "class=\"words\">", '<')],
                [[words], [words]]
            );
        }
        let legend = phase_legend().0;
        let names = Phase::ALL.map(Phase::title).into_iter().chain([RECOVERY]);
        assert_eq!(texts_between(&legend, "<b>", '<'), names.collect::<Vec<_>>());
        assert_eq!(legend.matches("<li>").count(), 7);
    }
}
